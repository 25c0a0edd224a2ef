//! What a thread did while the GPU waited for it.

use crate::analysis::gpu::GpuTrace;
use crate::analysis::gpu::spans::Span;
use crate::base::hash::HashMap;

/// The slice that took most of `window` for itself on the track of `launch`; `None` if nothing was open on it. Takes time by
/// the slices that start in the window, on any track.
pub fn busiest(gpu: &GpuTrace<'_>, launch: u32, window: Span) -> Option<u32> {
    let slices = &gpu.trace.slices;
    let track = *slices.track.get(launch as usize)?;
    let (start, end) = window;
    let first = slices.ts.partition_point(|ts| *ts < start);
    let behind = slices.ts.partition_point(|ts| *ts < end);
    // Own time in the window of all that is open in it: what begins in it, and what was open when it began.
    let mut own: HashMap<u32, i64> = HashMap::default();
    let mut add = |slice: usize| {
        let slice_end = slices.ts[slice].saturating_add(slices.dur.get(slice).max(0));
        let shared = slice_end.min(end).saturating_sub(slices.ts[slice].max(start));
        if shared <= 0 {
            return;
        }
        let time = own.entry(slice as u32).or_default();
        *time = time.saturating_add(shared);
        if let Some(parent) = slices.parent[slice].some() {
            let time = own.entry(parent.0).or_default();
            *time = time.saturating_sub(shared);
        }
    };
    (first..behind).filter(|slice| slices.track[*slice] == track).for_each(&mut add);
    let mut open = (0..first).rev().find(|slice| slices.track[*slice] == track);
    while let Some(slice) = open {
        add(slice);
        open = slices.parent[slice].some().map(|parent| parent.0 as usize);
    }
    let most = own.into_iter().max_by_key(|(slice, own)| (*own, std::cmp::Reverse(*slice)))?;
    (most.1 > 0).then_some(most.0)
}
