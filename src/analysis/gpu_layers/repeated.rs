//! Layers by repetition: the same sequence of kernels several times in a step.
//!
//! ```text
//! a b [c d e][c d e][c d e][c d e] f      4 repetitions of 3 kernels
//! ```
//! In a run of period `p`, every kernel equals the one `p` places before. The longest run is taken, at equal length the one with
//! the shortest period. The kernels before and after it are then searched in the same way, since a training step repeats once
//! forward and once backward.

use super::Layer;
use crate::analysis::gpu::{GpuTrace, Kind};
use crate::base::hash::HashMap;
use crate::base::sort;

/// A repeating run: `n` times `period` elements, starting at `start`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    pub start: usize,
    pub period: usize,
    pub n: usize,
}

impl Run {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.period * self.n
    }
}

/// Minimum repetitions for a structure.
const MIN_REPEATS: usize = 3;
/// A run must cover at least 1/`MIN_SHARE` of the kernels of a step.
const MIN_SHARE: usize = 10;
/// Maximum runs in a step.
const MAX_RUNS: usize = 4;
/// Maximum comparisons per search. Longer steps are searched for short periods only.
const MAX_WORK: usize = 50_000_000;

/// Layers of each step and GPU, numbered in order.
pub fn layers(gpu: &GpuTrace<'_>) -> Vec<Layer> {
    let mut by_step: HashMap<(u32, u32), HashMap<u32, Vec<usize>>> = HashMap::default();
    for (i, work) in gpu.work.iter().enumerate().filter(|(_, work)| work.kind == Kind::Kernel) {
        let device = gpu.streams.get(work.stream as usize).map_or(0, |stream| stream.device);
        by_step.entry((work.step, device)).or_default().entry(work.stream).or_default().push(i);
    }
    let mut steps: Vec<((u32, u32), Vec<usize>)> = by_step
        .into_iter()
        .filter_map(|(step, streams)| {
            // Only the stream with the most kernels is searched.
            let main = streams.into_iter().max_by_key(|(stream, work)| (work.len(), u32::MAX - stream))?;
            Some((step, main.1))
        })
        .collect();
    sort::by_key(&mut steps, |(step, _)| *step);
    let mut out = Vec::new();
    // Steps of a kind run the same kernels.
    let mut known: HashMap<Vec<u32>, Vec<Run>> = HashMap::default();
    for ((step, device), work) in steps {
        let names: Vec<u32> =
            work.iter().map(|at| gpu.trace.slices.name[gpu.work[*at].slice as usize].0).collect();
        let runs = known.entry(names).or_insert_with_key(|names| {
            let by_name = runs(names);
            if 2 * covered(&by_name) >= names.len() {
                return by_name;
            }
            // Layers may use different tile sizes for the same operation.
            let classes: Vec<u32> = work.iter().map(|at| gpu.work[*at].class).collect();
            let by_class = runs(&classes);
            if covered(&by_class) > covered(&by_name) { by_class } else { by_name }
        });
        let mut number = 0;
        for run in runs.iter() {
            for kernels in work[run.start..run.start + run.len()].chunks(run.period) {
                out.push(Layer { step, device, number, work: kernels.to_vec() });
                number += 1;
            }
        }
    }
    out
}

fn covered(runs: &[Run]) -> usize {
    runs.iter().map(Run::len).sum()
}

/// The longest runs of a sequence, in order.
pub fn runs(sequence: &[u32]) -> Vec<Run> {
    let mut found = Vec::new();
    // Ranges still to search: start and end.
    let mut open: Vec<(usize, usize)> = vec![(0, sequence.len())];
    while let Some((from, to)) = open.pop() {
        if found.len() >= MAX_RUNS {
            break;
        }
        let Some(best) = best_run(&sequence[from..to]) else { continue };
        if best.len() * MIN_SHARE < sequence.len() {
            continue;
        }
        let start = from + best.start;
        found.push(Run { start, ..best });
        open.push((from, start));
        open.push((start + best.len(), to));
    }
    sort::by_key(&mut found, |run| run.start);
    found
}

/// The longest run; at equal length the one with the shortest period, then the first.
fn best_run(sequence: &[u32]) -> Option<Run> {
    let n = sequence.len();
    let longest = (n / MIN_REPEATS).min(MAX_WORK / n.max(1));
    let mut best: Option<Run> = None;
    for period in 2..=longest {
        let mut start = 0;
        while start + period < n {
            let same = (start..n - period).take_while(|at| sequence[*at] == sequence[at + period]).count();
            let run = Run { start, period, n: same / period + 1 };
            let is_better = best.is_none_or(|best| run.len() > best.len());
            // A single repeated kernel is not a layer.
            if run.n >= MIN_REPEATS
                && is_better
                && sequence[start..start + period].iter().any(|name| *name != sequence[start])
            {
                best = Some(run);
            }
            start += same + 1;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Brute-force version that tries every start, period and count.
    fn plain(sequence: &[u32]) -> Option<Run> {
        let n = sequence.len();
        let mut best: Option<Run> = None;
        for period in 2..=n {
            for start in 0..n {
                for repeats in MIN_REPEATS.. {
                    let Some(part) = sequence.get(start..start + period * repeats) else { break };
                    let first = &part[..period];
                    let repeats_it = part.chunks(period).all(|chunk| chunk == first);
                    let is_one = first.iter().all(|name| *name == first[0]);
                    let run = Run { start, period, n: repeats };
                    if repeats_it && !is_one && best.is_none_or(|best| run.len() > best.len()) {
                        best = Some(run);
                    }
                }
            }
        }
        best
    }

    #[test]
    fn the_best_run_is_found() {
        let mut state = 7u64;
        let mut below = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n
        };
        for _ in 0..3000 {
            let n_names = 1 + below(4);
            let mut sequence: Vec<u32> = (0..below(8)).map(|_| below(n_names) as u32).collect();
            let part: Vec<u32> = (0..1 + below(5)).map(|_| below(n_names) as u32).collect();
            for _ in 0..below(6) {
                sequence.extend(&part);
            }
            sequence.extend((0..below(8)).map(|_| below(n_names) as u32));
            assert_eq!(best_run(&sequence), plain(&sequence), "{sequence:?}");
        }
    }

    #[test]
    fn a_step_may_repeat_twice() {
        // Forward four times three kernels, backward four times four.
        let mut sequence = vec![100, 101];
        (0..4).for_each(|_| sequence.extend([1, 2, 3]));
        sequence.push(102);
        (0..4).for_each(|_| sequence.extend([4, 5, 6, 4]));
        sequence.push(103);
        let wanted = [Run { start: 2, period: 3, n: 4 }, Run { start: 15, period: 4, n: 4 }];
        assert_eq!(runs(&sequence), wanted);
        assert_eq!(runs(&[1; 50]), []);
        assert_eq!(runs(&[]), []);
    }
}
