//! What a thread did while the GPU waited for it.

use crate::analysis::gpu::GpuTrace;
use crate::analysis::gpu::spans::Span;
use crate::base::hash::HashMap;
use crate::trace::sweep::Sweep;

/// The slice that took most of `window` for itself on the thread of `launch`; `None` if nothing was open on it. Takes time by
/// the slices that start in the window, on any track.
pub fn busiest(gpu: &GpuTrace<'_>, launch: u32, window: Span) -> Option<u32> {
    let slices = &gpu.trace.slices;
    let tracks = &gpu.trace.tracks;
    let place = tracks.place(*slices.track.get(launch as usize)?);
    let is_here = |slice: &usize| tracks.place(slices.track[*slice]) == place;
    let (start, end) = window;
    let first = slices.ts.partition_point(|ts| *ts < start);
    let behind = slices.ts.partition_point(|ts| *ts < end);
    // What is open at the beginning of the window, outermost first, and what begins in it.
    let mut open = Vec::new();
    let mut around = (0..first).rev().find(is_here);
    while let Some(slice) = around {
        open.push(slice);
        around = slices.parent[slice].some().map(|parent| parent.0 as usize);
    }
    let mut own: HashMap<u32, u64> = HashMap::default();
    let mut ran = |slice: u32, from: u64, to: u64| *own.entry(slice).or_default() += to.saturating_sub(from);
    let mut sweep = Sweep::default();
    for slice in open.into_iter().rev().chain((first..behind).filter(is_here)) {
        let from = slices.ts[slice].max(start);
        let to = slices.ts[slice].saturating_add(slices.dur.get(slice).max(0)).min(end);
        if from < to {
            sweep.start(
                slice as u32,
                from.wrapping_sub(start) as u64,
                to.wrapping_sub(start) as u64,
                &mut ran,
            );
        }
    }
    sweep.advance(u64::MAX, &mut ran);
    let most = own.into_iter().max_by_key(|(slice, own)| (*own, std::cmp::Reverse(*slice)))?;
    (most.1 > 0).then_some(most.0)
}
