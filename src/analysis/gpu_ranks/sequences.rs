//! Which collective of one rank is which of another.

use super::files::Rank;
use crate::analysis::gpu::collective::{Collective, CollectiveKind, kernel_collective};
use crate::analysis::gpu::steps::NO_STEP;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::Entry;

/// A collective on one rank.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Nanoseconds since the epoch, by the clock of the rank's own computer.
    pub start: i64,
    pub end: i64,
    /// Bytes of the whole message; see [`Collective::message_bytes`].
    pub message: Option<u64>,
    /// Index into [`Sequences::kinds`].
    pub kind: u32,
}

impl Part {
    /// Nanoseconds.
    pub fn dur(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }
}

/// What one rank did of a sequence.
pub struct Line {
    /// Index into the ranks.
    pub rank: usize,
    /// The k-th of each line of a sequence are parts of one collective.
    pub parts: Vec<Part>,
}

/// How the k-th of one rank is known to be that of another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchedBy {
    /// The group numbers its collectives (`Seq`).
    Number,
    /// All ranks have as many: in order of start.
    Order,
    /// Ranks have different numbers in all, but the same in some steps: in order of start in those.
    Step,
    /// Ranks have different numbers: in order of start from the first one on, which may be wrong.
    UnequalOrder,
}

impl MatchedBy {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            MatchedBy::Number => "number",
            MatchedBy::Order => "order",
            MatchedBy::Step => "order in a step",
            MatchedBy::UnequalOrder => "order, numbers differ",
        }
    }
}

/// All collectives of one name and one group, on all its ranks.
pub struct Sequence {
    /// The group, or [`ALL_RANKS`] where the file does not say.
    pub group: String,
    /// How many ranks take part, as files say.
    pub group_size: Option<u64>,
    pub matched_by: MatchedBy,
    /// In order of rank; all as long. At least two.
    pub lines: Vec<Line>,
    /// Parts that have no counterpart on some rank, and are left out.
    pub n_unmatched: u64,
    /// Collectives whose message has another size on another rank, though it can not: they may not be the same.
    pub n_differing: u64,
    /// Nobody can be through before everybody has begun; so of barriers and of collectives in which all ranks give and
    /// get, but not of a broadcast.
    pub is_synchronising: bool,
}

/// The group of collectives whose group is not said.
pub const ALL_RANKS: &str = "all ranks";

/// What is shared between ranks.
pub struct Sequences {
    pub sequences: Vec<Sequence>,
    /// Collectives without sizes.
    pub kinds: Vec<Collective>,
    /// Collectives of groups of which there is only one rank.
    pub n_alone: u64,
    /// Whether groups, names or sizes of collectives are not said by some file, so that kernels' names count.
    pub is_by_kernel: bool,
}

/// Collectives that are counted together.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    group: String,
    ranks: String,
    name: String,
}

/// A part and what it may be known by.
struct Found {
    part: Part,
    number: Option<i64>,
    /// Number of the step's name; [`NO_STEP`] if it is in none.
    step: u32,
}

/// Collects and matches. Time goes with the number of collectives of all ranks.
struct Finder {
    by_key: FxHashMap<Key, Vec<(usize, Vec<Found>)>>,
    kinds: FxHashMap<Collective, u32>,
    steps: FxHashMap<String, u32>,
    is_by_kernel: bool,
}

impl Sequences {
    /// Of all `ranks`.
    ///
    /// Collectives are told apart by process group (name and ranks) and name, from the arguments of the kernel or of the
    /// operator around its launch; where there are none, all ranks are taken for one group and the name is the kernel's.
    /// The k-th on each rank is the same one (TraceLens), k being the group's own number where the profiler says it.
    pub fn new(ranks: &[Rank<'_, '_>]) -> Sequences {
        let mut finder = Finder {
            by_key: FxHashMap::default(),
            kinds: FxHashMap::default(),
            steps: FxHashMap::default(),
            is_by_kernel: false,
        };
        for (number, rank) in ranks.iter().enumerate() {
            finder.add(number, rank);
        }
        finder.finish()
    }
}

impl Finder {
    fn add(&mut self, number: usize, rank: &Rank<'_, '_>) {
        let gpu = rank.gpu;
        let steps: Vec<u32> = gpu.steps.steps.iter().map(|step| self.step(gpu.name(step.slice))).collect();
        for work in gpu.work.iter().filter(|work| gpu.is_communication(work)) {
            let (mut collective, of_group) = Collective::with_number(gpu, work);
            let key = self.key(&collective, gpu.name(work.slice));
            let message = collective.message_bytes();
            (collective.elements_in, collective.elements_out) = (None, None);
            let next = self.kinds.len() as u32;
            let part = Part {
                start: rank.wall(work.start),
                end: rank.wall(work.end),
                message,
                kind: *self.kinds.entry(collective).or_insert(next),
            };
            let step = steps.get(work.step as usize).copied().unwrap_or(NO_STEP);
            let lines = self.by_key.entry(key).or_default();
            if lines.last().is_none_or(|(last, _)| *last != number) {
                lines.push((number, Vec::new()));
            }
            if let Some((_, found)) = lines.last_mut() {
                found.push(Found { part, number: of_group, step });
            }
        }
    }

    fn step(&mut self, name: &str) -> u32 {
        let next = self.steps.len() as u32;
        match self.steps.get(name) {
            Some(step) => *step,
            None => *self.steps.entry(name.to_string()).or_insert(next),
        }
    }

    fn key(&mut self, collective: &Collective, kernel: &str) -> Key {
        let Collective { group, ranks, name, .. } = collective;
        if group.is_empty() && ranks.is_empty() {
            self.is_by_kernel = true;
            // Of the range around the launch there is none where the launch was not recorded.
            let name = kernel_collective(kernel).to_string();
            return Key { group: String::new(), ranks: String::new(), name };
        }
        Key { group: group.clone(), ranks: ranks.clone(), name: name.clone() }
    }

    fn finish(self) -> Sequences {
        let mut kinds: Vec<(Collective, u32)> = self.kinds.into_iter().collect();
        kinds.sort_by_key(|(_, number)| *number);
        let kinds: Vec<Collective> = kinds.into_iter().map(|(kind, _)| kind).collect();
        let mut keys: Vec<(Key, _)> = self.by_key.into_iter().collect();
        keys.sort_by(|(a, _), (b, _)| (&a.group, &a.ranks, &a.name).cmp(&(&b.group, &b.ranks, &b.name)));
        let (together, alone): (Vec<_>, Vec<_>) = keys.into_iter().partition(|(_, lines)| lines.len() > 1);
        Sequences {
            sequences: together.into_iter().map(|(key, lines)| sequence(key, lines, &kinds)).collect(),
            kinds,
            n_alone: alone.iter().flat_map(|(_, lines)| lines).map(|(_, found)| found.len() as u64).sum(),
            is_by_kernel: self.is_by_kernel,
        }
    }
}

fn sequence(key: Key, mut lines: Vec<(usize, Vec<Found>)>, kinds: &[Collective]) -> Sequence {
    let n_found: usize = lines.iter().map(|(_, found)| found.len()).sum();
    let matched_by = match_lines(&mut lines);
    let lines: Vec<Line> = lines
        .into_iter()
        .map(|(rank, found)| Line { rank, parts: found.into_iter().map(|found| found.part).collect() })
        .collect();
    let n_matched: usize = lines.iter().map(|line| line.parts.len()).sum();
    let first = lines.first().map_or(&[][..], |line| &line.parts);
    let kind = |part: &Part| kinds.get(part.kind as usize);
    let n_synchronising =
        first.iter().filter(|part| kind(part).is_some_and(Collective::is_synchronising)).count();
    Sequence {
        group: match (key.group.is_empty(), key.ranks.is_empty()) {
            (true, true) => ALL_RANKS.to_string(),
            (true, false) => key.ranks,
            (false, true) => key.group,
            (false, false) => format!("{} {}", key.group, key.ranks),
        },
        group_size: first.first().and_then(kind).and_then(|kind| kind.group_size),
        matched_by,
        n_unmatched: (n_found - n_matched) as u64,
        n_differing: count_differing(&lines, kinds),
        is_synchronising: 2 * n_synchronising > first.len(),
        lines,
    }
}

/// Leaves in each line what all of them have, in the same order.
fn match_lines(lines: &mut [(usize, Vec<Found>)]) -> MatchedBy {
    if match_by_number(lines) {
        return MatchedBy::Number;
    }
    let lens = || lines.iter().map(|(_, found)| found.len());
    let shortest = lens().min().unwrap_or(0);
    if lens().all(|len| len == shortest) {
        return MatchedBy::Order;
    }
    if match_by_step(lines) {
        return MatchedBy::Step;
    }
    lines.iter_mut().for_each(|(_, found)| found.truncate(shortest));
    MatchedBy::UnequalOrder
}

/// False, and nothing happens, if not every part has a number of its own, or none is on all ranks.
fn match_by_number(lines: &mut [(usize, Vec<Found>)]) -> bool {
    let mut n_lines: FxHashMap<i64, (usize, usize)> = FxHashMap::default();
    for (line, (_, found)) in lines.iter().enumerate() {
        for found in found {
            let Some(number) = found.number else { return false };
            match n_lines.entry(number) {
                Entry::Vacant(entry) => drop(entry.insert((line, 1))),
                Entry::Occupied(entry) if entry.get().0 == line => return false,
                Entry::Occupied(mut entry) => *entry.get_mut() = (line, entry.get().1 + 1),
            }
        }
    }
    let n = lines.len();
    let common: FxHashSet<i64> =
        n_lines.into_iter().filter(|(_, (_, in_lines))| *in_lines == n).map(|(number, _)| number).collect();
    if common.is_empty() {
        return false;
    }
    for (_, found) in lines {
        found.retain(|found| found.number.is_some_and(|number| common.contains(&number)));
        found.sort_by_key(|found| found.number);
    }
    true
}

/// False, and nothing happens, if no step has as many parts on all ranks.
fn match_by_step(lines: &mut [(usize, Vec<Found>)]) -> bool {
    let counts: Vec<FxHashMap<u32, usize>> = lines
        .iter()
        .map(|(_, found)| {
            let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
            found.iter().for_each(|found| *counts.entry(found.step).or_default() += 1);
            counts
        })
        .collect();
    let Some((first, others)) = counts.split_first() else { return false };
    let is_equal =
        |step: u32| step != NO_STEP && others.iter().all(|counts| counts.get(&step) == first.get(&step));
    let equal: FxHashSet<u32> = first.keys().copied().filter(|step| is_equal(*step)).collect();
    if equal.is_empty() {
        return false;
    }
    for (_, found) in lines {
        found.retain(|found| equal.contains(&found.step));
        // In order of start within each.
        found.sort_by_key(|found| found.step);
    }
    true
}

/// Sizes of all-to-all and of reduce-scatter may differ by rank; those of the others can not.
fn count_differing(lines: &[Line], kinds: &[Collective]) -> u64 {
    let Some((first, others)) = lines.split_first() else { return 0 };
    let differs = |(k, part): &(usize, &Part)| {
        let is_equal_sized = kinds
            .get(part.kind as usize)
            .is_some_and(|kind| matches!(kind.kind(), CollectiveKind::AllReduce | CollectiveKind::AllGather));
        let other = |line: &Line| line.parts.get(*k).and_then(|part| part.message);
        is_equal_sized && others.iter().any(|line| other(line).zip(part.message).is_some_and(|(a, b)| a != b))
    };
    first.parts.iter().enumerate().filter(differs).count() as u64
}
