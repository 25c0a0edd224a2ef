//! Rank of each file, and the files that belong to one run.

use crate::analysis::gpu::GpuTrace;
use crate::analysis::gpu::facts::integer;
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use crate::base::text::number_behind;
use crate::base::units::format_ns;

/// Upper bound for clock differences between hosts. Files farther apart were recorded at different times.
const MAX_APART_NS: i64 = 60_000_000_000;

/// Metadata that says when a file's times begin, in nanoseconds since the Unix epoch: of the PyTorch profiler and of Nsight Systems.
const BASES: [&str; 2] = ["baseTimeNanoseconds", "utcEpochNs"];

/// Most ranks that a warning lists.
pub const MAX_LISTED: usize = 8;

/// A file whose rank is known.
pub struct Rank<'a, 'b> {
    /// Its GPU activity.
    pub gpu: &'a GpuTrace<'b>,
    /// Rank in the run.
    pub rank: i64,
    /// Whether the rank comes from the file name because the file has none.
    pub is_from_name: bool,
    /// Nanoseconds to add to get times since the Unix epoch, by one of `BASES`, or 0 if times already are.
    pub base: i64,
    /// Clock resolution in nanoseconds: 1000 if all times are whole microseconds, else 1.
    pub resolution: i64,
}

/// A file that is not compared.
pub struct LeftOut<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Its rank, if known.
    pub rank: Option<i64>,
    /// Reason, as a clause.
    pub why: String,
}

/// The files of one run.
pub struct Files<'a, 'b> {
    /// In order of rank, without duplicates.
    pub ranks: Vec<Rank<'a, 'b>>,
    /// Files left out, with the reason.
    pub left_out: Vec<LeftOut<'b>>,
    /// Number of ranks in the run, from the files.
    pub world_size: Option<i64>,
}

/// Ranks of a run that are not compared.
pub struct Missing {
    pub n: u64,
    /// The first of them, in order.
    pub first: Vec<i64>,
    /// Those that have files, which are left out.
    pub left_out: Vec<i64>,
}

impl<'a, 'b> Files<'a, 'b> {
    /// Sorts `traces` by rank. Leaves out files without GPU activity, with unknown rank, recorded at a different time or with a
    /// different world size than most, and all files of a rank that has several.
    pub fn new(traces: &'a [GpuTrace<'b>]) -> Files<'a, 'b> {
        let mut files = Files { ranks: Vec::new(), left_out: Vec::new(), world_size: None };
        for gpu in traces {
            files.add(gpu);
        }
        files.leave_out_other_times();
        files.leave_out_other_sizes();
        files.leave_out_doubles();
        sort::by_key(&mut files.ranks, |rank| rank.rank);
        files
    }

    fn add(&mut self, gpu: &'a GpuTrace<'b>) {
        let file = gpu.trace.source.file_name.as_str();
        let said = gpu.facts.rank;
        let Some(rank) = said.or_else(|| rank_in_name(file)) else {
            let why =
                "unknown rank: no distributedInfo in the file, and no rank or worker number in its name";
            return self.left_out.push(LeftOut { file, rank: None, why: why.to_string() });
        };
        if gpu.work.is_empty() {
            let why = "no GPU activity".to_string();
            return self.left_out.push(LeftOut { file, rank: Some(rank), why });
        }
        let base = gpu.trace.source.metadata.iter().find(|(key, _)| BASES.contains(&key.as_str()));
        self.ranks.push(Rank {
            gpu,
            rank,
            is_from_name: said.is_none(),
            base: base.and_then(|(_, value)| integer(value.as_bytes())).unwrap_or(0),
            resolution: resolution(gpu),
        });
    }

    /// Leaves out every file for which `why` returns a reason.
    fn leave_out(&mut self, why: impl Fn(&Rank<'_, '_>) -> Option<String>) {
        let left_out = &mut self.left_out;
        self.ranks.retain(|rank| {
            let Some(why) = why(rank) else { return true };
            left_out.push(LeftOut {
                file: rank.gpu.trace.source.file_name.as_str(),
                rank: Some(rank.rank),
                why,
            });
            false
        });
    }

    fn leave_out_other_times(&mut self) {
        let mut windows: Vec<(i64, i64)> = self.ranks.iter().map(Rank::window).collect();
        windows.sort_unstable();
        // Files within the limit of each other were recorded together.
        let mut times: Vec<(i64, i64, usize)> = Vec::new();
        for (start, end) in windows {
            match times.last_mut() {
                Some((_, last, n)) if start.saturating_sub(*last) <= MAX_APART_NS => {
                    *last = end.max(*last);
                    *n += 1;
                }
                _ => times.push((start, end, 1)),
            }
        }
        // At equal counts, the first.
        let Some((from, to, _)) = times.into_iter().rev().max_by_key(|(_, _, n)| *n) else { return };
        self.leave_out(|rank| {
            let (start, end) = rank.window();
            let (apart, word) = match start {
                start if start > to => (start.saturating_sub(to), "after"),
                _ => (from.saturating_sub(end), "before"),
            };
            (apart > 0 && !(from..=to).contains(&start)).then(|| {
                format!(
                    "recorded {} {word} the others, so it is from another run or another part of it",
                    format_ns(apart)
                )
            })
        });
    }

    fn leave_out_other_sizes(&mut self) {
        let mut counts: Vec<(i64, usize)> = Vec::new();
        for size in self.ranks.iter().filter_map(|rank| rank.gpu.facts.world_size) {
            match counts.iter_mut().find(|(known, _)| *known == size) {
                Some((_, n)) => *n += 1,
                None => counts.push((size, 1)),
            }
        }
        let Some((most, _)) = counts.into_iter().rev().max_by_key(|(_, n)| *n) else { return };
        self.world_size = Some(most);
        self.leave_out(|rank| {
            let size = rank.gpu.facts.world_size.filter(|size| *size != most)?;
            Some(format!("world size is {size}, but {most} in the other files"))
        });
    }

    fn leave_out_doubles(&mut self) {
        let mut counts: HashMap<i64, u64> = HashMap::default();
        self.ranks.iter().for_each(|rank| *counts.entry(rank.rank).or_default() += 1);
        self.leave_out(|rank| {
            let n = counts.get(&rank.rank).copied().filter(|n| *n > 1)?;
            Some(format!("ambiguous: {n} files have rank {}", rank.rank))
        });
    }

    /// Ranks of the run without a file that is compared; `None` if the world size is unknown.
    pub fn missing(&self) -> Option<Missing> {
        let world = self.world_size?;
        let compared: HashSet<i64> =
            self.ranks.iter().map(|rank| rank.rank).filter(|rank| (0..world).contains(rank)).collect();
        let n = u64::try_from(world).unwrap_or(0).saturating_sub(compared.len() as u64);
        // A world may be of any size.
        let first = (0..world).filter(|rank| !compared.contains(rank)).take(MAX_LISTED).collect();
        let left_out = self.left_out.iter().filter_map(|file| file.rank);
        let mut left_out: Vec<i64> =
            left_out.filter(|rank| (0..world).contains(rank) && !compared.contains(rank)).collect();
        left_out.sort_unstable();
        left_out.dedup();
        Some(Missing { n, first, left_out })
    }

    /// Compared ranks that the world size rules out.
    pub fn impossible(&self) -> Vec<i64> {
        let Some(world) = self.world_size else { return Vec::new() };
        self.ranks.iter().map(|rank| rank.rank).filter(|rank| !(0..world).contains(rank)).collect()
    }
}

impl Rank<'_, '_> {
    /// Nanoseconds since the epoch, on the clock of its own host.
    pub fn wall(&self, ts: i64) -> i64 {
        ts.saturating_add(self.base)
    }

    /// From the start of its first kernel or copy to the end of its last, by [`Rank::wall`].
    fn window(&self) -> (i64, i64) {
        let start = self.gpu.work.first().map_or(0, |work| work.start);
        let end = self.gpu.work.iter().map(|work| work.end).max().unwrap_or(start);
        (self.wall(start), self.wall(end))
    }
}

fn resolution(gpu: &GpuTrace<'_>) -> i64 {
    let is_whole = gpu.work.iter().all(|work| work.start % 1000 == 0 && work.end % 1000 == 0);
    if is_whole { 1000 } else { 1 }
}

/// The number after the last `rank` in a file name, or else after the last `worker`, optionally separated by `-`, `_`, `.`, `=`
/// or a space: `rank-3.json`, `worker12_step_4.json`, `dp0_tp1_rank1.pt.trace.json`.
pub fn rank_in_name(name: &str) -> Option<i64> {
    number_behind(name, &["rank", "worker"]).map(|(_, rank)| rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_in_names() {
        for (name, rank) in [
            ("rank0.json.gz", Some(0)),
            ("sampled-rank1.json.gz", Some(1)),
            ("trace_rank_12.json", Some(12)),
            ("Rank-3.pt.trace.json", Some(3)),
            ("worker7_step_12.1694128201545.pt.trace.json", Some(7)),
            ("dp0_pp0_tp1_rank5.168.pt.trace.json.gz", Some(5)),
            ("worker4_rank2.json", Some(2)),
            ("crank4.json", None),
            ("ranking.json", None),
            ("rank99999999999999999999.json", None),
            ("step3.json", None),
            ("été_rank.json", None),
        ] {
            assert_eq!(rank_in_name(name), rank, "{name}");
        }
    }
}
