//! Matching of collectives across ranks.

use super::files::Rank;
use crate::analysis::gpu::collective::{Collective, CollectiveKind, of_kernel};
use crate::analysis::gpu::steps::NO_STEP;
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use std::collections::hash_map::Entry;

/// A collective on one rank.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Nanoseconds since the epoch, on the clock of the rank's own host.
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

/// The collectives of one rank in a sequence.
pub struct Line {
    /// Index into the ranks.
    pub rank: usize,
    /// The k-th parts of all lines of a sequence form one collective.
    pub parts: Vec<Part>,
}

/// How the k-th collectives of ranks are matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchedBy {
    /// The group numbers its collectives (`Seq`).
    Number,
    /// All ranks have the same count, and no steps contradict it: in order of start.
    Order,
    /// Total counts differ, or ranks recorded other steps, but some steps have equal counts: in order of start within those.
    Step,
    /// Counts differ: in order of start, shifted to the clearly smallest variation of end differences.
    Fit,
    /// Counts differ and no match is found: in order of start from the first. Not comparable.
    UnequalOrder,
}

impl MatchedBy {
    /// Name in the report.
    pub fn name(self) -> &'static str {
        match self {
            MatchedBy::Number => "number",
            MatchedBy::Order => "order",
            MatchedBy::Step => "order in a step",
            MatchedBy::Fit => "order, moved to fit",
            MatchedBy::UnequalOrder => "order, numbers differ",
        }
    }
}

/// All collectives of one name and one group, on all its ranks.
pub struct Sequence {
    /// The group, or [`ALL_RANKS`] if not recorded.
    pub group: String,
    /// Number of participating ranks, from the files.
    pub group_size: Option<u64>,
    pub matched_by: MatchedBy,
    /// In order of rank, all of equal length. At least two.
    pub lines: Vec<Line>,
    /// Collectives left out because some rank has no counterpart.
    pub n_unmatched: u64,
    /// Ranks left out because they have another number of collectives than most, and no match is found.
    pub uneven: Vec<usize>,
    /// Collectives whose message size differs between ranks though it must not: the match may be wrong.
    pub n_differing: u64,
    /// Whether no rank can finish before all have started: true for barriers and collectives in which all ranks send and receive,
    /// but not for a broadcast.
    pub is_synchronising: bool,
}

/// Group of collectives without a recorded group.
pub const ALL_RANKS: &str = "all ranks";

/// Collectives shared between ranks.
pub struct Sequences {
    pub sequences: Vec<Sequence>,
    /// Collectives without sizes.
    pub kinds: Vec<Collective>,
    /// Collectives of groups with only one rank loaded.
    pub n_alone: u64,
    /// Whether some file lacks groups, names or sizes of collectives, so that kernel names are used.
    pub is_by_kernel: bool,
}

/// Collectives that are counted together.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    group: String,
    ranks: String,
    name: String,
}

/// A part with the keys it may be matched by.
#[derive(Clone)]
struct Found {
    part: Part,
    number: Option<i64>,
    /// Number of the step's name; [`NO_STEP`] if it is in none.
    step: u32,
}

/// All of one key on one rank, in order of start.
#[derive(Clone)]
struct Raw {
    rank: usize,
    found: Vec<Found>,
}

/// Collects and matches collectives, in linear time.
struct Finder {
    by_key: HashMap<Key, Vec<Raw>>,
    kinds: HashMap<Collective, u32>,
    steps: HashMap<String, u32>,
    is_by_kernel: bool,
}

impl Sequences {
    /// Sequences of all `ranks`.
    ///
    /// Collectives are keyed by process group (name and ranks) and name, from the arguments of the kernel or of the operator around
    /// its launch; without these, all ranks form one group and the name is the kernel's. The k-th on each rank is the same
    /// collective (as in TraceLens), with k the group's sequence number if recorded.
    pub fn new(ranks: &[Rank<'_, '_>]) -> Sequences {
        let mut finder = Finder {
            by_key: HashMap::default(),
            kinds: HashMap::default(),
            steps: HashMap::default(),
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
            let key = self.key(&collective, || of_kernel(gpu, work));
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
            if lines.last().is_none_or(|line| line.rank != number) {
                lines.push(Raw { rank: number, found: Vec::new() });
            }
            if let Some(line) = lines.last_mut() {
                line.found.push(Found { part, number: of_group, step });
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

    fn key(&mut self, collective: &Collective, kernel: impl Fn() -> String) -> Key {
        let Collective { group, ranks, name, .. } = collective;
        if group.is_empty() && ranks.is_empty() {
            self.is_by_kernel = true;
            // Without a recorded launch there is no annotation around it.
            return Key { group: String::new(), ranks: String::new(), name: kernel() };
        }
        Key { group: group.clone(), ranks: ranks.clone(), name: name.clone() }
    }

    fn finish(self) -> Sequences {
        let mut kinds: Vec<(Collective, u32)> = self.kinds.into_iter().collect();
        sort::by_key(&mut kinds, |(_, number)| *number);
        let kinds: Vec<Collective> = kinds.into_iter().map(|(kind, _)| kind).collect();
        let mut keys: Vec<(Key, Vec<Raw>)> = self.by_key.into_iter().collect();
        sort::by(&mut keys, |(a, _), (b, _)| {
            (&a.group, &a.ranks, &a.name).cmp(&(&b.group, &b.ranks, &b.name))
        });
        let (together, alone): (Vec<_>, Vec<_>) = keys.into_iter().partition(|(_, lines)| lines.len() > 1);
        Sequences {
            sequences: together.into_iter().map(|(key, lines)| sequence(key, lines, &kinds)).collect(),
            kinds,
            n_alone: alone.iter().flat_map(|(_, lines)| lines).map(|line| line.found.len() as u64).sum(),
            is_by_kernel: self.is_by_kernel,
        }
    }
}

fn sequence(key: Key, mut lines: Vec<Raw>, kinds: &[Collective]) -> Sequence {
    let Matched { by: matched_by, n_unmatched, uneven } = match_lines(&mut lines);
    let lines: Vec<Line> = lines
        .into_iter()
        .map(|line| Line { rank: line.rank, parts: line.found.into_iter().map(|found| found.part).collect() })
        .collect();
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
        n_unmatched: n_unmatched as u64,
        uneven,
        n_differing: count_differing(&lines, kinds),
        is_synchronising: 2 * n_synchronising > first.len(),
        lines,
    }
}

/// Result of a match.
struct Matched {
    by: MatchedBy,
    /// See [`Sequence::n_unmatched`].
    n_unmatched: usize,
    /// See [`Sequence::uneven`].
    uneven: Vec<usize>,
}

/// Keeps in each line what all of them have, in the same order; if that fails, only the lines of equal length, if most are.
fn match_lines(lines: &mut Vec<Raw>) -> Matched {
    let matched = |by, n_unmatched| Matched { by, n_unmatched, uneven: Vec::new() };
    if let Some(n_unmatched) = match_by_number(lines) {
        return matched(MatchedBy::Number, n_unmatched);
    }
    let lens: Vec<usize> = lines.iter().map(|line| line.found.len()).collect();
    let (shortest, longest) =
        (lens.iter().copied().min().unwrap_or(0), lens.iter().copied().max().unwrap_or(0));
    if shortest == longest {
        return match match_by_other_steps(lines) {
            Some(n_unmatched) => matched(MatchedBy::Step, n_unmatched),
            None => matched(MatchedBy::Order, 0),
        };
    }
    if let Some(n_unmatched) = match_by_step(lines) {
        return matched(MatchedBy::Step, n_unmatched);
    }
    if let Some(n_unmatched) = match_by_fit(lines) {
        return matched(MatchedBy::Fit, n_unmatched);
    }
    let is_of_most = |len: &&usize| 2 * lens.iter().filter(|other| *other == *len).count() > lens.len();
    if let Some(most) = lens.iter().find(is_of_most).copied().filter(|_| lens.len() > 2) {
        let uneven = lines.iter().filter(|line| line.found.len() != most).map(|line| line.rank).collect();
        lines.retain(|line| line.found.len() == most);
        return Matched { by: MatchedBy::Order, n_unmatched: 0, uneven };
    }
    lines.iter_mut().for_each(|line| line.found.truncate(shortest));
    matched(MatchedBy::UnequalOrder, longest - shortest)
}

/// Returns how many collectives it drops. `None`, and changes nothing, unless every part has a unique number and some numbers are
/// on all ranks.
fn match_by_number(lines: &mut [Raw]) -> Option<usize> {
    let mut n_lines: HashMap<i64, (usize, usize)> = HashMap::default();
    for (line, raw) in lines.iter().enumerate() {
        for found in &raw.found {
            let number = found.number?;
            match n_lines.entry(number) {
                Entry::Vacant(entry) => drop(entry.insert((line, 1))),
                Entry::Occupied(entry) if entry.get().0 == line => return None,
                Entry::Occupied(mut entry) => *entry.get_mut() = (line, entry.get().1 + 1),
            }
        }
    }
    let (n, n_numbers) = (lines.len(), n_lines.len());
    let common: HashSet<i64> =
        n_lines.into_iter().filter(|(_, (_, in_lines))| *in_lines == n).map(|(number, _)| number).collect();
    if common.is_empty() {
        return None;
    }
    for Raw { found, .. } in lines {
        found.retain(|found| found.number.is_some_and(|number| common.contains(&number)));
        sort::by_key(found, |found| found.number);
    }
    Some(n_numbers - common.len())
}

/// Returns how many collectives it drops. `None`, and changes nothing, if no step has the same number of parts on all ranks.
fn match_by_step(lines: &mut [Raw]) -> Option<usize> {
    let counts: Vec<HashMap<u32, usize>> = lines
        .iter()
        .map(|line| {
            let mut counts: HashMap<u32, usize> = HashMap::default();
            line.found.iter().for_each(|found| *counts.entry(found.step).or_default() += 1);
            counts
        })
        .collect();
    let (first, others) = counts.split_first()?;
    let is_equal =
        |step: u32| step != NO_STEP && others.iter().all(|counts| counts.get(&step) == first.get(&step));
    let equal: HashSet<u32> = first.keys().copied().filter(|step| is_equal(*step)).collect();
    if equal.is_empty() {
        return None;
    }
    // Of a step that is dropped, the rank with most parts has at least all its collectives.
    let mut dropped: HashMap<u32, usize> = HashMap::default();
    for (step, n) in counts.iter().flatten().filter(|(step, _)| !equal.contains(step)) {
        let most = dropped.entry(*step).or_default();
        *most = (*most).max(*n);
    }
    for Raw { found, .. } in lines {
        found.retain(|found| equal.contains(&found.step));
        // In order of start within each.
        sort::by_key(found, |found| found.step);
    }
    Some(dropped.into_values().sum())
}

/// As [`match_by_step`], for equal counts by chance: recordings of as many steps, but of other ones. `None`, and changes nothing,
/// unless the k-th parts are in different steps and their ends agree no better than those of equal steps: in how much their
/// differences vary, or, if that is equal, in how large these are on the clocks of the hosts.
fn match_by_other_steps(lines: &mut Vec<Raw>) -> Option<usize> {
    let differs = |line: &Raw, first: &Raw| {
        let mut both = line.found.iter().zip(&first.found).map(|(a, b)| (a.step, b.step));
        both.any(|(a, b)| a != b && a != NO_STEP && b != NO_STEP)
    };
    let (first, others) = lines.split_first()?;
    let is_contradicted = others.iter().any(|line| differs(line, first));
    if !is_contradicted || !lines.iter().all(has_distinct_steps) {
        return None;
    }
    let mut by_step = lines.clone();
    let n_unmatched = match_by_step(&mut by_step)?;
    if disagreement(lines).zip(disagreement(&by_step)).is_some_and(|(by_order, by_step)| by_order < by_step) {
        return None;
    }
    *lines = by_step;
    Some(n_unmatched)
}

/// Whether the parts of each step follow one another: names such as `execute_context_0(0)_generation_8(8)` are of many steps.
fn has_distinct_steps(line: &Raw) -> bool {
    let mut steps: Vec<u32> = line.found.iter().map(|found| found.step).collect();
    steps.retain(|step| *step != NO_STEP);
    steps.dedup();
    let n = steps.len();
    steps.sort_unstable();
    steps.dedup();
    steps.len() == n
}

/// [`spread`] and size of the end differences of the line that agrees least with the first, in nanoseconds.
fn disagreement(lines: &[Raw]) -> Option<(i64, i64)> {
    let (first, others) = lines.split_first()?;
    let of = |line: &Raw| {
        let differences = end_differences(&first.found, &line.found, 0)?;
        Some((spread(&differences)?, differences.get(differences.len() / 2)?.saturating_abs()))
    };
    let all: Option<Vec<(i64, i64)>> = others.iter().map(of).collect();
    all?.into_iter().max()
}

/// Maximum shift between recordings, in collectives.
const MAX_MOVE: usize = 32;

/// Number of collectives sampled to judge a shift.
const N_SAMPLES: usize = 256;

/// Shifts lines relative to the first to where end differences vary least, since a collective ends on all ranks at once. Returns
/// how many collectives it drops. `None`, and changes nothing, if no shift is clearly the best.
fn match_by_fit(lines: &mut [Raw]) -> Option<usize> {
    let (first, others) = lines.split_first()?;
    let mut moves: Vec<isize> = vec![0];
    for line in others {
        moves.push(best_move(&first.found, &line.found)?);
    }
    // Range of the first line that is in all others.
    let from = moves.iter().map(|by| (-by).max(0)).max().unwrap_or(0);
    let len = |line: &Raw| line.found.len() as isize;
    let to = lines.iter().zip(&moves).map(|(line, by)| len(line) - by).min().unwrap_or(0);
    if to <= from {
        return None;
    }
    let (mut before, mut after) = (0, 0);
    for (line, by) in lines.iter_mut().zip(&moves) {
        (before, after) = (before.max(from + by), after.max(len(line) - to - by));
        line.found.truncate((to + by) as usize);
        line.found.drain(..(from + by) as usize);
    }
    Some((before + after) as usize)
}

/// Shift of `b` relative to `a`, in places.
fn best_move(a: &[Found], b: &[Found]) -> Option<isize> {
    let n = MAX_MOVE as isize;
    let mut tried: Vec<(i64, usize, isize)> = (-n..=n)
        .filter_map(|by| Some((spread(&end_differences(a, b, by)?)?, by.unsigned_abs(), by)))
        .collect();
    sort::by(&mut tried, Ord::cmp);
    let (best, _, by) = *tried.first()?;
    let is_clear = tried.get(1).is_none_or(|(next, _, _)| *next > best.saturating_mul(2));
    is_clear.then_some(by)
}

/// Sorted end differences, in nanoseconds, with `b` shifted by that many places; `None` if too few remain.
fn end_differences(a: &[Found], b: &[Found], by: isize) -> Option<Vec<i64>> {
    let a = a.get((-by).max(0) as usize..)?;
    let b = b.get(by.max(0) as usize..)?;
    let n = a.len().min(b.len());
    if 2 * n < a.len().max(b.len()) || n < 4 {
        return None;
    }
    let both = a.iter().zip(b).step_by(n.div_ceil(N_SAMPLES));
    let mut differences: Vec<i64> = both.map(|(a, b)| a.part.end.saturating_sub(b.part.end)).collect();
    differences.sort_unstable();
    Some(differences)
}

/// Width of the central 90% of sorted differences.
fn spread(differences: &[i64]) -> Option<i64> {
    let margin = differences.len() / 20;
    Some(differences.get(differences.len() - 1 - margin)?.saturating_sub(*differences.get(margin)?))
}

/// Number of collectives whose sizes differ. Only all-to-all and reduce-scatter may differ by rank.
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
