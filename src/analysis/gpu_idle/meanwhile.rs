//! CPU activity during a gap on the GPU.

use crate::analysis::gpu::GpuTrace;
use crate::analysis::gpu::spans::Span;
use crate::base::hash::{HashMap, HashSet};
use crate::base::strings::StringId;
use crate::trace::sweep::Sweep;
use crate::trace::tracks::TrackId;

/// Slices before the window among which those of a lane are looked for.
const MAX_SEARCHED: usize = 1 << 16;

/// The slice with the most self time within `window` on the thread of `launch`; `None` if nothing was open there but the ranges of
/// `wrappers`, or nothing else for most of the time. Cost is linear in the slices that start in the window, on any track.
pub fn busiest(gpu: &GpuTrace<'_>, launch: u32, window: Span, wrappers: &HashSet<StringId>) -> Option<u32> {
    let slices = &gpu.trace.slices;
    let tracks = &gpu.trace.tracks;
    // Of a call on a track of its own, the thread that made it.
    let caller = gpu.parent_of(launch).unwrap_or(launch);
    let place = tracks.place(*slices.track.get(caller as usize)?);
    let is_here = |slice: &usize| tracks.place(slices.track[*slice]) == place;
    let (start, end) = window;
    let first = slices.ts.partition_point(|ts| *ts < start);
    let behind = slices.ts.partition_point(|ts| *ts < end);
    // Slices open at the start of the window, outermost first, then those that start in it.
    // A thread has a lane for each slice that overlaps others, so the last one of each lane is looked for.
    let mut lanes: Vec<TrackId> =
        (0..tracks.len() as u32).map(TrackId).filter(|track| tracks.place(*track) == place).collect();
    let mut open = Vec::new();
    for slice in (0..first).rev().take(MAX_SEARCHED) {
        let Some(at) = lanes.iter().position(|lane| *lane == slices.track[slice]) else { continue };
        let mut around = Some(slice);
        while let Some(slice) = around {
            open.push(slice);
            around = slices.parent[slice].some().map(|parent| parent.0 as usize);
        }
        lanes.swap_remove(at);
        if lanes.is_empty() {
            break;
        }
    }
    open.sort_unstable();
    open.dedup();
    let mut own: HashMap<u32, u64> = HashMap::default();
    let mut ran = |slice: u32, from: u64, to: u64| *own.entry(slice).or_default() += to.saturating_sub(from);
    let mut sweep = Sweep::default();
    for slice in open.into_iter().chain((first..behind).filter(is_here)) {
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
    (most.1 > 0 && !wrappers.contains(&slices.name[most.0 as usize])).then_some(most.0)
}
