//! Aggregates of the report, computed once for its tables and for the reference layouts.
//!
//! Sums match the reference: plain left to right by probe and by view, compensated over all events.

use crate::base::compat::python;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::Run;
use crate::trace::scoring_calls::{ProbeKind, ScoringCallTable};
use std::cmp::Ordering;

/// Name of the bucket for calls without a probe.
pub const UNASSIGNED: &str = "<unassigned>";

/// Whether Python considers a probe falsy, so that calls are outside of probes: none, the empty text, zero.
pub fn is_unassigned(kind: ProbeKind, text: &str) -> bool {
    match kind {
        ProbeKind::Null => true,
        ProbeKind::Text => text.is_empty(),
        ProbeKind::Integer => text == "0",
        ProbeKind::Float => matches!(text, "0.0" | "-0.0"),
        ProbeKind::Bool => text == "False",
    }
}

/// A probe's name: text, or one of the few other JSON values allowed there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProbeName {
    pub kind: ProbeKind,
    /// As in [`ScoringCallTable::probe`]; empty for no probe.
    pub text: String,
}

impl ProbeName {
    pub fn of(kind: ProbeKind, text: &str) -> ProbeName {
        ProbeName { kind, text: text.to_string() }
    }

    /// See [`is_unassigned`].
    pub fn is_unassigned(&self) -> bool {
        is_unassigned(self.kind, &self.text)
    }

    /// Key that is equal for names Python treats as the same key: 1, 1.0 and True are equal, 5 and "5" are not.
    fn key(&self) -> (bool, String) {
        let number = match self.kind {
            _ if self.is_unassigned() => return (true, UNASSIGNED.to_string()),
            ProbeKind::Null | ProbeKind::Text => return (true, self.text.clone()),
            ProbeKind::Integer => self.text.clone(),
            ProbeKind::Bool => "1".to_string(),
            ProbeKind::Float => match self.text.parse::<f64>() {
                // Print all digits of integral doubles, so that they equal the integer of the same value.
                Ok(value) if value.is_finite() && value == value.trunc() => format!("{value:.0}"),
                _ => self.text.clone(),
            },
        };
        (false, number)
    }

    /// As a JSON value.
    pub fn push_json(&self, out: &mut String) {
        match self.kind {
            ProbeKind::Null => out.push_str("null"),
            ProbeKind::Text => python::push_json_string(&self.text, out),
            ProbeKind::Integer => out.push_str(&self.text),
            ProbeKind::Float => out.push_str(&python::float_json(self.text.parse().unwrap_or(f64::NAN))),
            ProbeKind::Bool => out.push_str(if self.text == "True" { "true" } else { "false" }),
        }
    }
}

/// Counts and times of the calls of one probe, view or operation.
#[derive(Clone, Debug)]
pub struct Bucket<K> {
    pub key: K,
    pub n_events: u64,
    pub hits: u64,
    /// Plain sum in file order.
    pub total_ms: f64,
    /// Largest single call; negative infinity if all are NaN.
    pub max_ms: f64,
}

impl<K> Bucket<K> {
    fn new(key: K) -> Bucket<K> {
        Bucket { key, n_events: 0, hits: 0, total_ms: 0.0, max_ms: f64::NEG_INFINITY }
    }

    fn add(&mut self, wall_ms: f64, hit: bool) {
        self.n_events += 1;
        self.hits += u64::from(hit);
        self.total_ms += wall_ms;
        self.max_ms = self.max_ms.max(wall_ms);
    }

    pub fn misses(&self) -> u64 {
        self.n_events - self.hits
    }

    pub fn hit_rate(&self) -> f64 {
        rate(self.hits, self.n_events)
    }
}

/// Position of a call: trace of the run and row of its table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CallRef {
    pub trace: usize,
    pub row: usize,
}

/// Aggregates of the calls of a run.
pub struct Summary {
    pub n_events: u64,
    pub hits: u64,
    /// Compensated sum over all events.
    pub total_wall_ms: f64,
    /// Largest total first; ties in order of first appearance.
    pub probes: Vec<Bucket<ProbeName>>,
    pub views: Vec<Bucket<String>>,
    pub ops: Vec<Bucket<String>>,
    /// The longest calls, longest first.
    pub slowest: Vec<CallRef>,
}

impl Summary {
    /// Aggregates all calls in one pass; keeps the `top` slowest.
    pub fn compute(run: &Run, top: usize) -> Summary {
        let mut total = CompensatedSum::default();
        let (mut n_events, mut hits) = (0, 0);
        let mut probes = Buckets::default();
        let mut views = Buckets::default();
        let mut ops = Buckets::default();
        for trace in &run.traces {
            let calls = &trace.scoring_calls;
            let text = |id: StringId| trace.strings.get(id).to_string();
            let mut probe_ids = Recent::default();
            let mut view_ids = Recent::default();
            let mut op_ids = Recent::default();
            for row in 0..calls.len() {
                let (wall_ms, hit) = (calls.wall_ms[row], calls.hit[row]);
                n_events += 1;
                hits += u64::from(hit);
                total.add(wall_ms);
                let (kind, id) = (calls.probe_kind[row], calls.probe[row]);
                let probe = probe_ids.find(id.0 as usize, (kind, id), || {
                    let name = ProbeName::of(kind, trace.strings.get(id));
                    let key = name.key();
                    let unassigned = name.is_unassigned();
                    probes.find(key, || {
                        if unassigned { ProbeName::of(ProbeKind::Text, UNASSIGNED) } else { name }
                    })
                });
                probes.list[probe].add(wall_ms, hit);
                let id = calls.view_id[row];
                let view = view_ids.find(id.0 as usize, id, || views.find(text(id), || text(id)));
                views.list[view].add(wall_ms, hit);
                let id = calls.op[row];
                let op = op_ids.find(id.0 as usize, id, || ops.find(text(id), || text(id)));
                ops.list[op].add(wall_ms, hit);
            }
        }
        Summary {
            n_events,
            hits,
            total_wall_ms: total.result(),
            probes: probes.sorted(),
            views: views.sorted(),
            ops: ops.sorted(),
            slowest: find_slowest(run, top),
        }
    }

    pub fn hit_rate(&self) -> f64 {
        rate(self.hits, self.n_events)
    }
}

/// `part / whole`; 0 if `whole` is 0.
pub fn rate(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The name of the probe of a call.
pub fn probe_of(run: &Run, call: CallRef) -> ProbeName {
    let trace = &run.traces[call.trace];
    let calls = &trace.scoring_calls;
    ProbeName::of(calls.probe_kind[call.row], trace.strings.get(calls.probe[call.row]))
}

/// The decimal digits of a call's `top_k`.
pub fn top_k_of(run: &Run, call: CallRef) -> String {
    let trace = &run.traces[call.trace];
    match trace.scoring_calls.wide_top_k(call.row) {
        Some(digits) => trace.strings.get(digits).to_string(),
        None => trace.scoring_calls.top_k[call.row].to_string(),
    }
}

struct Buckets<Key, K> {
    list: Vec<Bucket<K>>,
    places: HashMap<Key, usize>,
}

impl<Key, K> Default for Buckets<Key, K> {
    fn default() -> Self {
        Buckets { list: Vec::new(), places: HashMap::default() }
    }
}

impl<Key: Eq + std::hash::Hash, K> Buckets<Key, K> {
    fn find(&mut self, key: Key, name: impl FnOnce() -> K) -> usize {
        *self.places.entry(key).or_insert_with(|| {
            self.list.push(Bucket::new(name()));
            self.list.len() - 1
        })
    }

    fn sorted(mut self) -> Vec<Bucket<K>> {
        sort::by(&mut self.list, |a, b| descending(a.total_ms, b.total_ms));
        self.list
    }
}

/// Slots of [`Recent`]; a power of two.
const RECENT: usize = 256;

/// Small cache of places for keys that keep recurring.
struct Recent<Key> {
    slots: Vec<Option<(Key, usize)>>,
}

impl<Key: Copy> Default for Recent<Key> {
    fn default() -> Self {
        Recent { slots: vec![None; RECENT] }
    }
}

impl<Key: Copy + Eq> Recent<Key> {
    /// The place of `key`; calls `find` on a miss in the slot of `hash`.
    #[inline]
    fn find(&mut self, hash: usize, key: Key, find: impl FnOnce() -> usize) -> usize {
        let slot = &mut self.slots[hash % RECENT];
        match slot {
            Some((known, place)) if *known == key => *place,
            _ => slot.insert((key, find())).1,
        }
    }
}

/// Larger first, NaN after every number; zeros of either sign are equal.
pub fn descending(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn find_slowest(run: &Run, top: usize) -> Vec<CallRef> {
    let wall_ms = |call: &CallRef| run.traces[call.trace].scoring_calls.wall_ms[call.row];
    let by_time = |a: &CallRef, b: &CallRef| descending(wall_ms(a), wall_ms(b)).then(a.cmp(b));
    let mut calls: Vec<CallRef> = Vec::new();
    if top == 0 {
        return calls;
    }
    for (trace, content) in run.traces.iter().enumerate() {
        for row in 0..content.scoring_calls.len() {
            calls.push(CallRef { trace, row });
            // Truncate only at twice the size, so that the cost per call stays small.
            if calls.len() >= top.saturating_mul(2).max(1024) {
                sort::by(&mut calls, by_time);
                calls.truncate(top);
            }
        }
    }
    sort::by(&mut calls, by_time);
    calls.truncate(top);
    calls
}

/// Neumaier sum, like Python's `sum` since 3.12.
#[derive(Default)]
pub struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
    pub fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost +=
            if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
    }

    pub fn result(&self) -> f64 {
        if self.lost != 0.0 && self.lost.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

/// Misses of one cache key with more than one miss.
#[derive(Clone, Debug)]
pub struct RepeatedMiss {
    pub first: CallRef,
    pub misses: u64,
    pub total_ms: f64,
    /// Time of all misses but the first.
    pub repeated_ms: f64,
}

/// Duplicate misses, most duplicate time first. Each file has its own cache.
pub fn find_repeated_misses(run: &Run) -> Vec<RepeatedMiss> {
    let mut repeated = Vec::new();
    for (trace, content) in run.traces.iter().enumerate() {
        let calls = &content.scoring_calls;
        // Group misses by prompt, so that only a few have to be compared with each other: nearly all misses have a unique
        // key, and a table of all keys would not fit in the CPU cache.
        let rows = || (0..calls.len()).filter(|row| !calls.hit[*row]);
        let n_prompts = content.strings.len() + 1;
        let prompt = |row: usize| (calls.prompt_hash[row].0 as usize).min(n_prompts - 1);
        let mut starts = vec![0u32; n_prompts + 1];
        for row in rows() {
            starts[prompt(row) + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        // The rest of the key has few distinct values, so these get numbers.
        let mut numbers: HashMap<CacheKey, usize> = HashMap::default();
        let mut recent = Recent::default();
        let mut at = starts.clone();
        let mut sorted = vec![(0u32, 0u32); starts.last().copied().unwrap_or(0) as usize];
        for row in rows() {
            let key = cache_key(calls, row);
            let hash =
                (key.0.0 as usize).wrapping_mul(37) ^ (key.1.0 as usize).wrapping_mul(11) ^ key.2 as usize;
            let number = recent.find(hash, key, || {
                let next = numbers.len();
                *numbers.entry(key).or_insert(next)
            });
            let place = &mut at[prompt(row)];
            sorted[*place as usize] = (number as u32, row as u32);
            *place += 1;
        }
        let first_of_file = repeated.len();
        for range in starts.windows(2) {
            let misses = &mut sorted[range[0] as usize..range[1] as usize];
            misses.sort_unstable();
            for same in misses.chunk_by(|a, b| a.0 == b.0) {
                let [first, others @ ..] = same else { continue };
                if others.is_empty() {
                    continue;
                }
                // Sum in file order, for reproducible rounding.
                let wall_ms = |(_, row): &(u32, u32)| calls.wall_ms[*row as usize];
                repeated.push(RepeatedMiss {
                    first: CallRef { trace, row: first.1 as usize },
                    misses: same.len() as u64,
                    total_ms: others.iter().fold(wall_ms(first), |sum, miss| sum + wall_ms(miss)),
                    repeated_ms: others.iter().fold(0.0, |sum, miss| sum + wall_ms(miss)),
                });
            }
        }
        sort::by_key(&mut repeated[first_of_file..], |miss| miss.first);
    }
    // Ties stay in file order.
    sort::by(&mut repeated, |a, b| descending(a.repeated_ms, b.repeated_ms));
    repeated
}

/// Cache key of the writer, besides the prompt.
type CacheKey = (StringId, StringId, i64, Option<StringId>);

fn cache_key(calls: &ScoringCallTable, row: usize) -> CacheKey {
    // Only the extremes of `i64` may stand for a wider number.
    let wide = matches!(calls.top_k[row], i64::MIN | i64::MAX).then(|| calls.wide_top_k(row)).flatten();
    (calls.op[row], calls.view_id[row], calls.top_k[row], wide)
}
