//! Memory accesses as a timeline, for the page, pictures and exports.
//!
//! It contains aggregates, not individual accesses, and they are those of the tables: labels from the same pass, counters by the time
//! bins of [`mrm_time`](super::mrm_time).
//!
//! ```text
//! phases        [weight_load ][generation                      ][teardown]
//! weight        [region 1                                      ]
//! kv_cache      [region 3          ]   [region 7        ]
//! kv_cache (2)        [region 4                ]
//! kv block      block lifetimes, async, as many overlap
//! accesses         reads and writes in each of a few hundred time bins
//! touched so far   cumulative bytes of distinct pages by kind
//! working set      bytes of distinct pages in each time bin of the tables
//! ```
//! One process per trace, one thread per memory kind, and more where regions overlap. The result is a trace with slices and
//! counters, which is then cut, redacted and written like any other.

use super::memory_query::MemoryQuery;
use super::mrm::trust::contamination;
use super::mrm_time::{N_TIMES, OverTime};
use super::{AnalysisCache, Context, Query};
use crate::base::json::write::{push_f64, push_string};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::memory::kv::KvLife;
use crate::memory::labeller::Region;
use crate::memory::metrics::RegionMetrics;
use crate::memory::phase_spans::{PhaseSpan, phase_spans};
use crate::memory::{Kind, LabelledTrace};
use crate::memory_run::run_id::run_id;
use crate::trace::accesses::PAGE_BITS;
use crate::trace::builder::OWN_FACT;
use crate::trace::events::{Event, NO_EXTRA, Phase, flag};
use crate::trace::tracks::{Key, ProcessId, ThreadId};
use crate::trace::{Run, SourceInfo, Trace, TraceBuilder};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Limits on the regions and block lifetimes written per trace; those with the most accesses are kept.
const MAX_REGIONS: usize = 20_000;
const MAX_LIVES: usize = 20_000;
/// Limit on the threads for the regions of one kind.
const MAX_LANES: usize = 1_000;
/// Limit on phase ranges; with more, each phase is merged into one range.
const MAX_PHASES: usize = 2_000;
/// Time bins of accesses and of touched memory: each of the tables' is divided into these.
const N_STEPS: usize = 5 * N_TIMES;

/// Whether a trace has memory accesses to show.
pub fn applies_to(trace: &Trace) -> bool {
    !trace.accesses.is_empty()
}

/// Traces with memory accesses as slices and counters instead, and whether each was made of accesses; the others are copies. `None`
/// without accesses.
pub fn converted(context: &Context<'_>) -> Option<(Run, Vec<bool>)> {
    let are_made: Vec<bool> = context.run.traces.iter().map(applies_to).collect();
    if !are_made.contains(&true) {
        return None;
    }
    let mut timelines = Timelines::default();
    let mut made = Run::default();
    for trace in &context.run.traces {
        let view = context.memory().iter().find(|view| std::ptr::eq(view.trace, trace) && applies_to(trace));
        made.traces.push(match view {
            Some(view) => timelines.make(view, &context.query.memory),
            None => trace.clone(),
        });
    }
    Some((made, are_made))
}

/// [`converted`] in steps. `cache` is of the run and query; returns it with what was added.
pub async fn converted_in_steps(
    run: &Run,
    query: &Query,
    cache: AnalysisCache,
) -> (Option<(Run, Vec<bool>)>, AnalysisCache) {
    let cache = match run.traces.iter().any(applies_to) {
        true => cache.with_labels(run, query).await,
        false => return (None, cache),
    };
    let context = Context::from_cache(run, query, cache);
    let converted = converted(&context);
    (converted, context.into_cache())
}

/// The traces that a timeline draws: those of the run, with [`converted`] accesses.
pub async fn drawn(run: &Rc<Run>, query: &Query, cache: AnalysisCache) -> (Rc<Run>, AnalysisCache) {
    let (converted, cache) = converted_in_steps(run, query, cache).await;
    (converted.map_or_else(|| run.clone(), |(converted, _)| Rc::new(converted)), cache)
}

/// Builds timelines, one trace after the other.
#[derive(Default)]
struct Timelines {
    n_traces: i64,
    n_threads: i64,
}

/// An interval on a thread.
struct Stretch {
    start: i64,
    end: i64,
    name: String,
    args: Vec<u8>,
}

/// A trace under construction.
struct Timeline<'a> {
    view: &'a LabelledTrace<'a>,
    builder: TraceBuilder,
    process: ProcessId,
    main: ThreadId,
    /// Offset of the next event's arguments, as if in a file.
    offset: u64,
    span: (i64, i64),
}

impl Timelines {
    /// Converts accesses to slices and counters; `query` is what they were labelled with.
    fn make(&mut self, view: &LabelledTrace<'_>, query: &MemoryQuery) -> Trace {
        let trace = view.trace;
        let span = trace.accesses.span().unwrap_or_default();
        let mut source = SourceInfo { record_kinds: Vec::new(), ..trace.source.clone() };
        self.n_traces += 1;
        let warning = contamination(trace, query);
        if let Some(warning) = warning {
            // Number the facts, as several traces share one namespace.
            let number = if self.n_traces > 1 { format!("_{}", self.n_traces) } else { String::new() };
            let facts = [("run_validity", "contaminated"), ("warning", warning)];
            let told = facts.map(|(name, fact)| (format!("otherData.{name}{number}"), quoted(fact)));
            source.metadata.retain(|(name, _)| told.iter().all(|(other, _)| other != name));
            source.metadata.extend(told);
        }
        let mut builder = TraceBuilder::new(source);
        let process = builder.process(Key::Number(self.n_traces));
        let name = match warning {
            Some(_) => format!("{} (contaminated run)", run_id(trace)),
            None => run_id(trace),
        };
        builder.trace.processes.name[process.0 as usize] = builder.trace.strings.intern(&name);
        let main = self.thread(&mut builder, process, "phases");
        let mut made = Timeline { view, builder, process, main, offset: 0, span };
        made.add_phases();
        let n_regions = self.add_regions(&mut made);
        let n_lives = made.add_lives();
        made.add_counters();
        let left_out = [("regions_left_out", n_regions), ("blocks_left_out", n_lives)];
        let left_out = left_out.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!(",\"{name}\":{n}"));
        let left_out: String = left_out.collect();
        if !left_out.is_empty() {
            let told = format!("{{\"origin_ns\":0{left_out}}}");
            made.builder.trace.source.metadata.push((OWN_FACT.to_string(), told));
        }
        let mut timeline = made.builder.finish();
        timeline.ledger = trace.ledger.clone();
        timeline.joins_namesakes = true;
        timeline
    }

    /// Adds a thread with an unused number, sorted after the previous one.
    fn thread(&mut self, builder: &mut TraceBuilder, process: ProcessId, name: &str) -> ThreadId {
        self.n_threads += 1;
        let thread = builder.thread(process, Key::Number(self.n_threads));
        let threads = &mut builder.trace.threads;
        threads.name[thread.0 as usize] = builder.trace.strings.intern(name);
        threads.sort_index[thread.0 as usize] = i32::try_from(self.n_threads).ok();
        thread
    }

    /// Adds regions by kind, each from its first to its last access. Returns how many are left out.
    fn add_regions(&mut self, made: &mut Timeline<'_>) -> u64 {
        let view = made.view;
        let all = view.regions.regions();
        let weight = |region: &Region| (region.access_count, region.last_seen_ns - region.first_seen_ns);
        let chosen = most(all.iter().copied(), MAX_REGIONS, weight);
        let mut by_kind: BTreeMap<&str, (Kind, Vec<Region>)> = BTreeMap::new();
        for region in chosen {
            let kind = by_kind.entry(view.kinds.name(region.kind)).or_insert((region.kind, Vec::new()));
            kind.1.push(region);
        }
        let mut n_written = 0;
        for (name, (_, regions)) in by_kind {
            let spans = regions.iter().map(|region| (start_of(region, view), region.last_seen_ns));
            let weights: Vec<u64> = regions.iter().map(|region| region.access_count).collect();
            let lanes = lanes(&spans.collect::<Vec<_>>(), &weights);
            // Lanes have the same name: a timeline joins them, and other programs tell threads apart by their numbers.
            for lane in &lanes {
                let thread = self.thread(&mut made.builder, made.process, name);
                for at in lane {
                    let Some(region) = regions.get(*at) else { continue };
                    n_written += 1;
                    made.add(thread, name, region_stretch(region, name, view));
                }
            }
        }
        all.len().saturating_sub(n_written) as u64
    }
}

impl Timeline<'_> {
    fn event(&mut self, thread: ThreadId, phase: Phase, category: Option<&str>, stretch: &Stretch) -> Event {
        let strings = &mut self.builder.trace.strings;
        let name = strings.intern(&stretch.name);
        let category = category.map_or(StringId::NONE, |category| strings.intern(category));
        let offset = self.offset;
        let len = stretch.args.len() as u32;
        if len > 0 {
            self.builder.trace.args.keep(offset, &stretch.args);
        }
        // Each event needs a unique position.
        self.offset += u64::from(len.max(1));
        Event {
            ts: stretch.start,
            dur: 0,
            offset,
            len: len.max(1),
            args_at: 0,
            args_len: len,
            thread,
            name,
            category,
            extra: NO_EXTRA,
            phase,
            unused: 0,
            flags: flag::HAS_PID | flag::HAS_TID,
        }
    }

    fn add(&mut self, thread: ThreadId, category: &str, stretch: Stretch) {
        let event = self.event(thread, Phase::Complete, Some(category), &stretch);
        let dur = stretch.end.saturating_sub(stretch.start).max(0);
        self.builder.events.add(Event { dur, ..event });
    }

    /// Adds phases: as given or, if accesses have their own phases, from the first to the last access of each
    /// range.
    fn add_phases(&mut self) {
        for PhaseSpan { phase, first, last } in phase_spans(self.view, MAX_PHASES) {
            let stretch = Stretch { start: first, end: last, name: phase, args: Vec::new() };
            self.add(self.main, "phase", stretch);
        }
    }

    /// Adds block lifetimes of the key/value cache, from the first store, or the start of the trace, to the last read.
    /// Returns how many are left out.
    fn add_lives(&mut self) -> u64 {
        let blocks = &self.view.kv_blocks;
        let weight = |life: &KvLife| (life.reads + life.writes, life.lifetime_ns().unwrap_or(0));
        let mut chosen = most(blocks.lives(), MAX_LIVES, weight);
        let n_left_out = blocks.len().saturating_sub(chosen.len()) as u64;
        let first = self.span.0;
        sort::by_key(&mut chosen, |life| (life.write_ns.unwrap_or(first), life.address, life.generation));
        for (at, life) in chosen.iter().enumerate() {
            let start = life.write_ns.unwrap_or(first);
            let end = life.last_read_ns.unwrap_or(start).max(start);
            // A common name: viewers put equal names on one track.
            let name = "kv block".to_string();
            let stretch = Stretch { start, end, name, args: life_args(life) };
            let begin = self.event(self.main, Phase::AsyncBegin, Some("kv_cache"), &stretch);
            let flags = begin.flags | flag::INT_ID;
            let id = at as i64 + 1;
            self.builder.events.add(Event { dur: id, flags, ..begin });
            let stretch = Stretch { start: end, args: Vec::new(), ..stretch };
            let end = self.event(self.main, Phase::AsyncEnd, Some("kv_cache"), &stretch);
            self.builder.events.add(Event { dur: id, flags, ..end });
        }
        n_left_out
    }

    /// Adds the working set in the time bins of the tables; reads and writes in shorter ones, and the cumulative memory touched by
    /// each kind.
    fn add_counters(&mut self) {
        self.add_working_set();
        let Some(over_time) = OverTime::new(self.view, N_STEPS) else { return };
        let mut pages = vec![0u64; over_time.kinds.len()];
        let totals: Vec<u64> = (0..pages.len())
            .map(|kind| over_time.stretches.iter().filter_map(|it| it.new_pages.get(kind)).sum())
            .collect();
        for (start, stretch) in bins(&over_time, self.span.0) {
            pages.iter_mut().zip(&stretch.new_pages).for_each(|(all, new)| *all += new);
            let touched =
                pages.iter().zip(&totals).zip(&over_time.kinds).filter(|((_, total), _)| **total > 0);
            let touched = touched.map(|((n, _), kind)| {
                (self.view.kinds.name(*kind).to_string(), n.saturating_mul(1 << PAGE_BITS))
            });
            let touched: Vec<(String, u64)> = touched.collect();
            self.add_counter(start, "touched so far (bytes)", &touched);
            let n = [("reads".to_string(), stretch.reads), ("writes".to_string(), stretch.writes)];
            self.add_counter(start, "accesses", &n);
        }
    }

    fn add_working_set(&mut self) {
        let Some(over_time) = OverTime::new(self.view, N_TIMES) else { return };
        for (start, stretch) in bins(&over_time, self.span.0) {
            let within = stretch.pages.saturating_mul(1 << PAGE_BITS);
            self.add_counter(start, "working set (bytes)", &[("touched".to_string(), within)]);
        }
    }

    fn add_counter(&mut self, start: i64, name: &str, values: &[(String, u64)]) {
        let mut args = Args::default();
        values.iter().for_each(|(key, value)| args.number(key, *value));
        let stretch = Stretch { start, end: start, name: name.to_string(), args: args.finish() };
        let event = self.event(self.main, Phase::Counter, None, &stretch);
        self.builder.events.add(event);
    }
}

/// Event arguments as a JSON object.
#[derive(Default)]
struct Args(Vec<u8>);

/// Start and content of each bin of a trace that starts at `first`. In a short one, several bins start at the same time, and only one
/// of them is not empty; the others are left out.
fn bins(over_time: &OverTime, first: i64) -> impl Iterator<Item = (i64, &super::mrm_time::Stretch)> {
    let mut last = None;
    over_time.stretches.iter().enumerate().filter_map(move |(at, stretch)| {
        let start = first.saturating_add(over_time.start_of(at));
        let is_another = stretch.pages > 0 || last != Some(start);
        is_another.then(|| {
            last = Some(start);
            (start, stretch)
        })
    })
}

impl Args {
    fn key(&mut self, key: &str) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        push_string(key, &mut self.0);
        self.0.push(b':');
    }

    fn number(&mut self, key: &str, value: impl ToString) {
        self.key(key);
        self.0.extend_from_slice(value.to_string().as_bytes());
    }

    fn address(&mut self, key: &str, address: u64) {
        self.key(key);
        push_string(&format!("{address:#x}"), &mut self.0);
    }

    fn finish(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    push_string(text, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn metrics_of<'a>(region: &Region, view: &'a LabelledTrace<'_>) -> Option<&'a RegionMetrics> {
    let all = &view.metrics.regions;
    let at = all.binary_search_by_key(&region.id, |metrics| metrics.region_id).ok()?;
    all.get(at)
}

/// Earliest known time of a region, which can be before its first access in file order.
fn start_of(region: &Region, view: &LabelledTrace<'_>) -> i64 {
    let first_write = metrics_of(region, view).map(|metrics| metrics.first_write_ns);
    first_write.map_or(region.first_seen_ns, |first| first.min(region.first_seen_ns))
}

fn region_stretch(region: &Region, kind: &str, view: &LabelledTrace<'_>) -> Stretch {
    let mut args = Args::default();
    args.number("region_id", region.id);
    let metrics = metrics_of(region, view);
    if let Some(metrics) = metrics {
        args.number("pages", metrics.unique_pages);
    }
    args.address("first_address", region.page_min << PAGE_BITS);
    args.address("last_address", (region.page_max << PAGE_BITS) | ((1 << PAGE_BITS) - 1));
    args.number("accesses", region.access_count);
    if let Some(metrics) = metrics {
        args.number("reads", metrics.reads);
        args.number("writes", metrics.writes);
        args.number("retention_ns", metrics.retention_ns());
        if let Some(ratio) = metrics.write_once_ratio() {
            args.key("write_once_ratio");
            push_f64(ratio, &mut args.0);
        }
    }
    Stretch {
        start: start_of(region, view),
        end: region.last_seen_ns,
        name: format!("{kind} {}", region.id),
        args: args.finish(),
    }
}

fn life_args(life: &KvLife) -> Vec<u8> {
    let mut args = Args::default();
    args.number("block_id", life.block_id);
    args.address("address", life.address);
    args.number("life", life.generation);
    args.number("reads", life.reads);
    args.number("writes", life.writes);
    if let Some(lifetime) = life.lifetime_ns() {
        args.number("lifetime_ns", lifetime);
    }
    if life.write_ns.is_none() {
        args.key("stored");
        push_string("before the trace started", &mut args.0);
    }
    if let Some(evicted) = life.evict_ns {
        args.number("overwritten_ns", evicted);
    }
    args.finish()
}

/// At most `n` of `all`, by largest weight; ties in order.
fn most<T: Copy, W: Ord>(all: impl Iterator<Item = T>, n: usize, weight: impl Fn(&T) -> W) -> Vec<T> {
    let mut chosen: Vec<(W, Reverse<usize>, T)> = Vec::new();
    let cut = |chosen: &mut Vec<(W, Reverse<usize>, T)>| {
        if chosen.len() > n && n > 0 {
            sort::by(chosen, |a, b| (&b.0, b.1).cmp(&(&a.0, a.1)));
            chosen.truncate(n);
        }
    };
    for (at, item) in all.enumerate() {
        chosen.push((weight(&item), Reverse(at), item));
        if chosen.len() >= 2 * n.max(1) {
            cut(&mut chosen);
        }
    }
    cut(&mut chosen);
    chosen.into_iter().map(|(_, _, item)| item).collect()
}

/// Distributes intervals over lanes without overlaps; returns their indexes by lane, in time order. Where
/// more than [`MAX_LANES`] overlap, those with the least weight are left out.
fn lanes(spans: &[(i64, i64)], weights: &[u64]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    sort::by_key(&mut order, |at| (spans[*at], *at));
    let mut lanes: Vec<Vec<usize>> = Vec::new();
    for at in order {
        // Some readers would nest an interval that touches the end of another.
        let is_free = |lane: &Vec<usize>| lane.last().is_none_or(|last| spans[*last].1 < spans[at].0);
        if let Some(lane) = lanes.iter_mut().find(|lane| is_free(lane)) {
            lane.push(at);
        } else if lanes.len() < MAX_LANES {
            lanes.push(vec![at]);
        } else {
            let weight = |lane: &Vec<usize>| lane.last().map_or(0, |last| weights[*last]);
            let lightest = lanes.iter_mut().min_by_key(|lane| weight(lane));
            if let Some(lane) = lightest.filter(|lane| weight(lane) < weights[at]) {
                lane.pop();
                lane.push(at);
            }
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_hold_what_does_not_overlap() {
        let spans = [(0, 10), (5, 6), (7, 9), (10, 12), (11, 20)];
        assert_eq!(lanes(&spans, &[1; 5]), [vec![0, 4], vec![1, 2, 3]]);
        // With too many at one time, leave out those with the least weight.
        let n = MAX_LANES + 2;
        let weights: Vec<u64> = (0..n as u64).collect();
        let many = lanes(&vec![(0, 1); n], &weights);
        let mut kept: Vec<usize> = many.into_iter().flatten().collect();
        kept.sort_unstable();
        assert_eq!(kept, (2..n).collect::<Vec<_>>());
    }

    #[test]
    fn the_heaviest_are_chosen() {
        let mut chosen = most((0..100u32).map(|n| n * 37 % 101), 5, |n| *n / 2);
        chosen.sort_unstable();
        let mut all: Vec<u32> = (0..100u32).map(|n| n * 37 % 101).collect();
        all.sort_by_key(|n| Reverse(*n / 2));
        all[..5].sort_unstable();
        assert_eq!(chosen, all[..5]);
    }
}
