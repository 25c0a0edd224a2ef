//! Clock offsets between ranks.
//!
//! A synchronizing collective ends on all ranks at about the same time, and on none before it has started on all. The first
//! gives an estimate of the offset, the second a consistency check.

use super::files::Rank;
use super::sequences::{Line, MatchedBy, Sequences};
use crate::base::hash::HashMap;

/// Tolerance for the order of starts and ends, in nanoseconds: the profiler converts GPU times to the host clock with an error of
/// some microseconds.
const SLACK_NS: i64 = 20_000;

/// Minimum collectives to derive the uncertainty from their spread.
pub const MIN_FOR_SPREAD: usize = 8;

/// One in `TOLERATED` collectives may contradict the match between two ranks.
const TOLERATED: usize = 10;

/// The clock of one rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    /// Index of the rank whose clock is the reference. Times with different references are not comparable.
    pub reference: usize,
    /// Nanoseconds to add to get times on the reference clock.
    pub offset: i64,
    /// Uncertainty of [`Clock::offset`], in nanoseconds.
    pub uncertainty: i64,
    /// Collectives used for the estimate, the fewest on the way to the reference; 0 for the reference itself.
    pub n_collectives: usize,
}

/// The clocks of all ranks.
pub struct Clocks {
    /// By rank; `None` if it has no collective in common with any other.
    pub clocks: Vec<Option<Clock>>,
    /// By sequence and line: whether these match the collectives of most other ranks.
    pub is_same: Vec<Vec<bool>>,
}

/// Clock differences between two ranks.
#[derive(Default)]
struct Pair {
    /// End on the first minus end on the second, collective by collective.
    differences: Vec<i64>,
    /// Lower and upper bound of the offset.
    bounds: Option<(i64, i64)>,
}

/// An estimate from a [`Pair`].
#[derive(Clone, Copy)]
struct Estimate {
    offset: i64,
    uncertainty: i64,
    n: usize,
}

impl Clocks {
    /// Takes all clocks as they are (as TraceLens does), and assumes that all collectives match.
    pub fn raw(n_ranks: usize, sequences: &Sequences) -> Clocks {
        let clock = Clock { reference: 0, offset: 0, uncertainty: 0, n_collectives: 0 };
        let all = |lines: &Vec<Line>| vec![true; lines.len()];
        Clocks {
            clocks: vec![Some(clock); n_ranks],
            is_same: sequences.sequences.iter().map(|sequence| all(&sequence.lines)).collect(),
        }
    }

    /// Estimates them.
    /// In each group, the lowest rank is compared with all others over the synchronizing collectives of the group. The offset of a
    /// pair is the median difference of ends. Its uncertainty is the larger distance from there to the 5th and 95th percentile of
    /// the differences, but at least the time resolution; with fewer than eight collectives it is the distance to the bounds given
    /// by starts and ends. The percentiles do not include a bias shared by all collectives (one rank always ends last). Offsets
    /// across groups are summed along the path of least uncertainty. If a clock agrees with the reference within the uncertainty,
    /// its offset is set to 0 and the uncertainty grows by the same amount. Clock drift during recording is part of the
    /// uncertainty.
    pub fn aligned(ranks: &[Rank<'_, '_>], sequences: &Sequences) -> Clocks {
        let mut pairs: HashMap<(usize, usize), Pair> = HashMap::default();
        let mut is_same = Vec::with_capacity(sequences.sequences.len());
        for sequence in &sequences.sequences {
            if !sequence.is_synchronising || sequence.matched_by == MatchedBy::UnequalOrder {
                is_same.push(vec![sequence.matched_by != MatchedBy::UnequalOrder; sequence.lines.len()]);
                continue;
            }
            let (hub, same) = agreement(&sequence.lines);
            for (line, _) in sequence.lines.iter().zip(&same).filter(|(_, same)| **same) {
                let hub = &sequence.lines[hub];
                if line.rank != hub.rank {
                    pairs.entry((hub.rank, line.rank)).or_default().add(hub, line);
                }
            }
            is_same.push(same);
        }
        let estimates: Vec<((usize, usize), Estimate)> = pairs
            .into_iter()
            .filter_map(|((a, b), pair)| {
                let resolution = ranks.get(a)?.resolution.max(ranks.get(b)?.resolution);
                Some(((a, b), pair.estimate(resolution)?))
            })
            .collect();
        Clocks { clocks: join(ranks.len(), &estimates), is_same }
    }

    /// Time on the reference clock of the rank, in nanoseconds; unchanged without a reference.
    pub fn time(&self, rank: usize, wall: i64) -> i64 {
        self.clocks.get(rank).copied().flatten().map_or(wall, |clock| wall.saturating_add(clock.offset))
    }

    /// Uncertainty between times of two ranks, in nanoseconds; `None` if they are not comparable.
    pub fn uncertainty(&self, a: usize, b: usize) -> Option<i64> {
        let (first, second) = (self.clocks.get(a).copied()??, self.clocks.get(b).copied()??);
        let sum = first.uncertainty.saturating_add(second.uncertainty);
        (first.reference == second.reference).then_some(if a == b { 0 } else { sum })
    }

    /// Whether any ranks are comparable.
    pub fn are_any_comparable(&self) -> bool {
        self.clocks.iter().any(Option::is_some)
    }
}

impl Pair {
    fn add(&mut self, first: &Line, second: &Line) {
        for (a, b) in first.parts.iter().zip(&second.parts) {
            self.differences.push(a.end.saturating_sub(b.end));
            let (low, high) = (a.start.saturating_sub(b.end), a.end.saturating_sub(b.start));
            let (lowest, highest) = self.bounds.unwrap_or((low, high));
            self.bounds = Some((low.max(lowest), high.min(highest)));
        }
    }

    fn estimate(mut self, resolution: i64) -> Option<Estimate> {
        let n = self.differences.len();
        let offset = median(&mut self.differences)?;
        let at =
            |percent: usize| self.differences.get(((n * percent).div_ceil(100)).clamp(1, n) - 1).copied();
        let (low, high) = if n < MIN_FOR_SPREAD { self.bounds? } else { (at(5)?, at(95)?) };
        // Bounds may contradict each other slightly.
        let distance = |bound: i64| bound.saturating_sub(offset).saturating_abs();
        let uncertainty = distance(low).max(distance(high)).max(resolution);
        Some(Estimate { offset, uncertainty, n })
    }
}

/// Lower median. Sorts `values`.
fn median(values: &mut [i64]) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

/// The line to compare with (the first, or the second if most disagree with the first), and which lines agree with it.
fn agreement(lines: &[Line]) -> (usize, Vec<bool>) {
    let of = |hub: usize| {
        let same: Vec<bool> =
            (0..lines.len()).map(|line| line == hub || agrees(&lines[hub], &lines[line])).collect();
        let n = same.iter().filter(|same| **same).count();
        (n, hub, same)
    };
    let (n, hub, same) = of(0);
    if 2 * n > lines.len() || lines.len() < 3 {
        return (hub, same);
    }
    let second = of(1);
    if second.0 > n { (second.1, second.2) } else { (hub, same) }
}

/// Whether the collectives of two lines can match: with corrected clocks, they run at the same time.
fn agrees(a: &Line, b: &Line) -> bool {
    let both = || a.parts.iter().zip(&b.parts);
    let mut differences: Vec<i64> = both().map(|(a, b)| a.end.saturating_sub(b.end)).collect();
    let Some(offset) = median(&mut differences) else { return false };
    let contradicts = both().filter(|(a, b)| {
        let (start, end) = (b.start.saturating_add(offset), b.end.saturating_add(offset));
        a.start.max(start) > a.end.min(end).saturating_add(SLACK_NS)
    });
    contradicts.count() * TOLERATED <= differences.len()
}

/// Clocks relative to the lowest reachable rank, along the path of least uncertainty (Dijkstra).
fn join(n_ranks: usize, estimates: &[((usize, usize), Estimate)]) -> Vec<Option<Clock>> {
    let mut ways: Vec<Vec<(usize, Estimate)>> = vec![Vec::new(); n_ranks];
    for ((a, b), estimate) in estimates {
        // Offsets from the second to the first, and back.
        ways[*a].push((*b, *estimate));
        ways[*b].push((*a, Estimate { offset: estimate.offset.saturating_neg(), ..*estimate }));
    }
    let mut clocks: Vec<Option<Clock>> = vec![None; n_ranks];
    for reference in 0..n_ranks {
        if clocks[reference].is_none() && !ways[reference].is_empty() {
            walk(reference, &ways, &mut clocks);
        }
    }
    for clock in clocks.iter_mut().flatten() {
        if clock.offset.saturating_abs() <= clock.uncertainty {
            clock.uncertainty = clock.uncertainty.saturating_add(clock.offset.saturating_abs());
            clock.offset = 0;
        }
    }
    clocks
}

fn walk(reference: usize, ways: &[Vec<(usize, Estimate)>], clocks: &mut [Option<Clock>]) {
    let first = Clock { reference, offset: 0, uncertainty: 0, n_collectives: 0 };
    let mut open: std::collections::BTreeMap<(i64, usize), Clock> = [((0, reference), first)].into();
    while let Some(((_, rank), clock)) = open.pop_first() {
        if clocks[rank].is_some() {
            continue;
        }
        clocks[rank] = Some(clock);
        for (next, estimate) in &ways[rank] {
            let n_collectives =
                if rank == reference { estimate.n } else { clock.n_collectives.min(estimate.n) };
            let next_clock = Clock {
                reference,
                offset: clock.offset.saturating_add(estimate.offset),
                uncertainty: clock.uncertainty.saturating_add(estimate.uncertainty),
                n_collectives,
            };
            if clocks[*next].is_none() {
                open.insert((next_clock.uncertainty, *next), next_clock);
            }
        }
    }
}
