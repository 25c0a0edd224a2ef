//! Ranks of one run on one clock.
//!
//! Times of a file count from its own start (`baseTimeNanoseconds`, `utcEpochNs`), on the clock of its own host. Both are undone
//! as in the report on ranks, whose clock offsets these are.

use crate::analysis::gpu_ranks::Ranks;
use crate::analysis::{Context, Query};
use crate::trace::Run;

/// Where a trace of a run is.
#[derive(Clone, Copy, Default)]
pub struct Placed {
    /// Nanoseconds to add to its times, for times on the clock of the first rank.
    pub shift: i64,
    /// `None` if it is not one of several ranks of one run.
    pub rank: Option<i64>,
}

/// Places of all traces, and the number of ranks whose clocks have nothing that aligns them: these keep that of their host.
pub fn place(run: &Run, query: &Query) -> (Vec<Placed>, u64) {
    let mut placed = vec![Placed::default(); run.traces.len()];
    if run.traces.len() < 2 {
        return (placed, 0);
    }
    let context = Context::new(run, query);
    let ranks = Ranks::new(context.gpu());
    let all = &ranks.files.ranks;
    let clock = |at: usize| ranks.clocks.clocks.get(at).copied().flatten();
    let shift = |at: usize| all[at].base.saturating_add(clock(at).map_or(0, |clock| clock.offset));
    let mut n_unaligned = 0;
    for (at, rank) in all.iter().enumerate().filter(|_| all.len() > 1) {
        let Some(of) = run.traces.iter().position(|trace| std::ptr::eq(trace, rank.gpu.trace)) else {
            continue;
        };
        placed[of] = Placed { shift: shift(at).saturating_sub(shift(0)), rank: Some(rank.rank) };
        n_unaligned += u64::from(at > 0 && ranks.clocks.uncertainty(0, at).is_none());
    }
    (placed, n_unaligned)
}
