//! Scoring backend calls as a timeline.
//!
//! A call's timestamp is its end; it started one duration earlier.
//!
//! ```text
//! probes        [probe A                    ][probe B      ]
//! base          [miss     ]  [hit]            [hit]
//! ft                        [miss      ]             [miss]
//! cache         cumulative hits and misses; cumulative hit rate
//! ```
//! One process per file, one thread per view in order of first appearance. Timestamps and durations come from two clocks, so
//! neighbors can overlap by microseconds: the start of the later one is moved by at most [`CLOCK_SLACK_NS`].
//! Calls that overlap by more go to separate threads. Arguments always contain the duration as recorded.

use super::Options;
use super::ids::Numbers;
use super::writer::Writer;
use crate::analysis::sway_summary::summary::{UNASSIGNED, is_unassigned};
use crate::base::hash::HashMap;
use crate::base::json::{is_number, write};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::scoring_calls::{ProbeKind, ScoringCallTable};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Limit on flow arrows unless requested: more of them would clutter the view.
pub const MAX_CALL_FLOWS: usize = 2_000;

/// Largest overlap of two calls that is attributed to clock differences.
const CLOCK_SLACK_NS: i64 = 10_000;

/// Limit on the threads for the calls of one view.
const MAX_LANES: usize = 64;

/// Timestamps further from the origin than this (about 146 years) are invalid.
const MAX_NS: f64 = 4.6e18;

/// A call with its position on the timeline, in nanoseconds since the origin.
struct Call {
    row: usize,
    start: i64,
    end: i64,
    /// Index into the lanes.
    lane: usize,
}

struct Lane {
    view: StringId,
    /// Position among the lanes of its view.
    number: usize,
    tid: u64,
}

/// Calls that are not written, by the reason.
#[derive(Clone, Copy, Default)]
pub struct CallsLeftOut {
    /// Without a valid timestamp.
    pub no_time: u64,
    /// With a valid timestamp, but without a valid duration.
    pub no_duration: u64,
    /// Beyond the threads of their view, at the same time as the calls on them.
    pub overlapping: u64,
}

impl CallsLeftOut {
    pub fn sum(self) -> u64 {
        self.no_time + self.no_duration + self.overlapping
    }
}

impl std::ops::AddAssign for CallsLeftOut {
    fn add_assign(&mut self, more: CallsLeftOut) {
        self.no_time += more.no_time;
        self.no_duration += more.no_duration;
        self.overlapping += more.overlapping;
    }
}

/// Writes the calls of `trace`; returns how many are left out.
pub fn write(
    trace: &Trace,
    options: &Options,
    numbers: &mut Numbers,
    w: &mut Writer<'_>,
    notes: &mut Vec<(&'static str, String)>,
) -> CallsLeftOut {
    let table = &trace.scoring_calls;
    if table.is_empty() {
        return CallsLeftOut::default();
    }
    let origin_s = origin_seconds(table);
    let (mut calls, mut left_out) = place_calls(table, origin_s);
    let pid = numbers.new_pid();
    let probes_tid = numbers.new_tid();
    let lanes = assign_lanes(table, &mut calls, numbers, &mut left_out.overlapping);

    let name = format!("sway: {}", trace.source.file_name);
    w.name_and_index(pid, None, Some(probes_tid), Some(&name), 0);
    w.name_and_index(pid, Some(probes_tid), None, Some("probes"), -1);
    for (index, lane) in lanes.iter().enumerate() {
        let view = match trace.strings.get(lane.view) {
            "" => "(no view)",
            view => view,
        };
        let name =
            if lane.number > 0 { format!("{view} (overlap {})", lane.number + 1) } else { view.to_string() };
        w.name_and_index(pid, Some(lane.tid), None, Some(&name), index as i64);
    }
    write_probes(trace, &calls, pid, probes_tid, w);
    for call in &calls {
        write_call(trace, call, pid, lanes[call.lane].tid, w);
    }
    write_cache(table, &calls, pid, probes_tid, w);
    let n_flows = write_flows(trace, options, &calls, &lanes, pid, w);

    notes.push(("clock", "\"unix\"".to_string()));
    notes.push(("origin_unix_us", format!("{}", (origin_s as i128) * 1_000_000)));
    if left_out.sum() > 0 {
        notes.push(("calls_left_out", left_out.sum().to_string()));
    }
    if n_flows > 0 {
        notes.push(("flows_not_written", n_flows.to_string()));
    }
    left_out
}

/// The whole second before the first call. Timestamps are doubles in seconds since 1970; subtracting it first loses no
/// precision.
fn origin_seconds(table: &ScoringCallTable) -> f64 {
    let starts = table.ts.iter().zip(&table.wall_ms).map(|(ts, wall_ms)| ts - wall_ms.max(0.0) / 1e3);
    let first = starts.filter(|start| start.is_finite()).fold(f64::INFINITY, f64::min);
    if first.is_finite() && first.abs() < 1e18 { first.floor() } else { 0.0 }
}

/// Calls with valid times, by start; and the numbers of others.
fn place_calls(table: &ScoringCallTable, origin_s: f64) -> (Vec<Call>, CallsLeftOut) {
    let mut calls = Vec::with_capacity(table.len());
    let mut left_out = CallsLeftOut::default();
    for row in 0..table.len() {
        let end = (table.ts[row] - origin_s) * 1e9;
        let dur = table.wall_ms[row].max(0.0) * 1e6;
        // A comparison with NaN is false, so NaN is left out too.
        let (has_time, has_duration) = (end.abs() < MAX_NS, dur < MAX_NS && table.wall_ms[row].is_finite());
        if has_time && has_duration {
            let end = end.round() as i64;
            calls.push(Call { row, start: end - dur.round() as i64, end, lane: 0 });
        } else if has_time {
            left_out.no_duration += 1;
        } else {
            left_out.no_time += 1;
        }
    }
    sort::by_key(&mut calls, |call| (call.start, call.row));
    (calls, left_out)
}

/// Assigns each call a lane of its view without overlaps; moves starts within the clock slack.
fn assign_lanes(
    table: &ScoringCallTable,
    calls: &mut Vec<Call>,
    numbers: &mut Numbers,
    n_overlapping: &mut u64,
) -> Vec<Lane> {
    // Views in order of first appearance in the file, not in time.
    let mut views: Vec<StringId> = Vec::new();
    let mut view_index: HashMap<StringId, usize> = HashMap::default();
    for view in &table.view_id {
        view_index.entry(*view).or_insert_with(|| {
            views.push(*view);
            views.len() - 1
        });
    }
    // By view: end of each lane, earliest first.
    let mut free: Vec<BinaryHeap<Reverse<(i64, usize)>>> = vec![BinaryHeap::new(); views.len()];
    let mut placed: Vec<(usize, usize)> = Vec::with_capacity(calls.len());
    calls.retain_mut(|call| {
        let view = view_index[&table.view_id[call.row]];
        let lanes = &mut free[view];
        let reusable = lanes.peek().is_some_and(|Reverse((end, _))| {
            *end <= call.start || (*end - call.start <= CLOCK_SLACK_NS && *end <= call.end)
        });
        let number = if reusable && let Some(Reverse((end, number))) = lanes.pop() {
            call.start = call.start.max(end);
            number
        } else if lanes.len() < MAX_LANES {
            lanes.len()
        } else {
            *n_overlapping += 1;
            return false;
        };
        lanes.push(Reverse((call.end, number)));
        placed.push((view, number));
        true
    });
    let mut lanes = Vec::new();
    let mut first_of_view = Vec::with_capacity(views.len());
    for (view, free) in views.iter().zip(&free) {
        first_of_view.push(lanes.len());
        for number in 0..free.len() {
            lanes.push(Lane { view: *view, number, tid: numbers.new_tid() });
        }
    }
    for (call, (view, number)) in calls.iter_mut().zip(placed) {
        call.lane = first_of_view[view] + number;
    }
    lanes
}

/// Writes one slice per run of consecutive calls of a probe, from first start to last end.
fn write_probes(trace: &Trace, calls: &[Call], pid: u64, tid: u64, w: &mut Writer<'_>) {
    let table = &trace.scoring_calls;
    let mut by_row: Vec<&Call> = calls.iter().collect();
    sort::by_key(&mut by_row, |call| call.row);
    // `None` outside of probes.
    let probe = |call: &Call| {
        let (kind, id) = (table.probe_kind[call.row], table.probe[call.row]);
        (!is_unassigned(kind, trace.strings.get(id))).then_some((kind, id))
    };
    let mut runs: Vec<_> = by_row
        .chunk_by(|a, b| probe(a) == probe(b))
        .filter_map(|run| {
            let start = run.iter().map(|call| call.start).min()?;
            let end = run.iter().map(|call| call.end).max()?;
            Some((start, end, probe(run.first()?)))
        })
        .collect();
    sort::by_key(&mut runs, |(start, end, _)| (*start, *end));
    let mut until = i64::MIN;
    for (start, end, probe) in runs {
        // Runs don't overlap; where the clock went back, the later one is cut.
        let start = start.max(until);
        let end = end.max(start);
        until = end;
        let name = probe.map_or(UNASSIGNED, |(_, id)| trace.strings.get(id));
        w.open(name, Some("sway,probe"), "X");
        w.time(start);
        w.raw(",\"dur\":");
        w.micros(end - start);
        w.place(pid, Some(tid));
        w.close();
    }
}

fn write_call(trace: &Trace, call: &Call, pid: u64, tid: u64, w: &mut Writer<'_>) {
    let table = &trace.scoring_calls;
    let row = call.row;
    let hit = table.hit[row];
    w.open(trace.strings.get(table.op[row]), Some(if hit { "sway,hit" } else { "sway,miss" }), "X");
    w.time(call.start);
    w.raw(",\"dur\":");
    w.micros(call.end - call.start);
    w.place(pid, Some(tid));
    w.raw(if hit { ",\"cname\":\"good\"" } else { ",\"cname\":\"generic_work\"" });
    w.raw(",\"args\":{\"probe\":");
    push_probe(trace, row, w);
    w.raw(",\"view_id\":");
    w.string(trace.strings.get(table.view_id[row]));
    w.raw(",\"prompt_hash\":");
    w.string(trace.strings.get(table.prompt_hash[row]));
    w.raw(",\"top_k\":");
    match table.wide_top_k(row) {
        Some(digits) => push_digits(trace.strings.get(digits), w),
        None => w.integer(table.top_k[row]),
    }
    w.raw(if hit { ",\"hit\":true" } else { ",\"hit\":false" });
    w.raw(",\"wall_ms\":");
    w.float(table.wall_ms[row]);
    w.raw("}");
    w.close();
}

fn push_probe(trace: &Trace, row: usize, w: &mut Writer<'_>) {
    let table = &trace.scoring_calls;
    let text = trace.strings.get(table.probe[row]);
    match table.probe_kind[row] {
        ProbeKind::Null => w.raw("null"),
        ProbeKind::Text => w.string(text),
        ProbeKind::Integer | ProbeKind::Float => push_digits(text, w),
        ProbeKind::Bool => w.raw(if text == "True" { "true" } else { "false" }),
    }
}

/// A number, as a string if JSON cannot represent it.
fn push_digits(text: &str, w: &mut Writer<'_>) {
    if is_number(text.as_bytes()) {
        w.raw(text);
    } else {
        write::push_string(text, &mut w.buffer);
    }
}

/// The cache over time, at the end of each call.
fn write_cache(table: &ScoringCallTable, calls: &[Call], pid: u64, tid: u64, w: &mut Writer<'_>) {
    let mut by_end: Vec<&Call> = calls.iter().collect();
    sort::by_key(&mut by_end, |call| (call.end, call.row));
    let mut hits = 0u64;
    for (n, call) in (1u64..).zip(by_end) {
        hits += u64::from(table.hit[call.row]);
        w.open("cache", None, "C");
        w.time(call.end);
        w.place(pid, Some(tid));
        w.raw(",\"args\":{\"hits\":");
        w.unsigned(hits);
        w.raw(",\"misses\":");
        w.unsigned(n - hits);
        w.raw("}");
        w.close();
        w.open("hit rate %", None, "C");
        w.time(call.end);
        w.place(pid, Some(tid));
        w.raw(",\"args\":{\"hit rate\":");
        w.float(hits as f64 * 100.0 / n as f64);
        w.raw("}");
        w.close();
    }
}

/// Flows from the miss that filled the cache to each later hit of the same key. Returns the number of flows not written.
fn write_flows(
    trace: &Trace,
    options: &Options,
    calls: &[Call],
    lanes: &[Lane],
    pid: u64,
    w: &mut Writer<'_>,
) -> usize {
    let table = &trace.scoring_calls;
    let mut miss_of: HashMap<(StringId, StringId, StringId, i64, Option<StringId>), &Call> =
        HashMap::default();
    let mut arrows: Vec<(&Call, &Call)> = Vec::new();
    for call in calls {
        let row = call.row;
        let key = (
            table.op[row],
            table.view_id[row],
            table.prompt_hash[row],
            table.top_k[row],
            table.wide_top_k(row),
        );
        if !table.hit[row] {
            miss_of.insert(key, call);
        } else if let Some(miss) = miss_of.get(&key) {
            arrows.push((miss, call));
        }
    }
    if !options.flows.unwrap_or(arrows.len() <= MAX_CALL_FLOWS) {
        return arrows.len();
    }
    sort::by_key(&mut arrows, |(miss, hit)| (miss.row, hit.row));
    let mut started = None;
    for (miss, hit) in arrows {
        if started != Some(miss.row) {
            started = Some(miss.row);
            open_flow("s", miss, miss.row, pid, lanes, w);
            w.close();
        }
        open_flow("f", hit, miss.row, pid, lanes, w);
        w.raw(",\"bp\":\"e\"");
        w.close();
    }
    0
}

fn open_flow(phase: &str, call: &Call, id: usize, pid: u64, lanes: &[Lane], w: &mut Writer<'_>) {
    w.open("cached", Some("sway"), phase);
    w.time(call.start);
    w.place(pid, Some(lanes[call.lane].tid));
    w.raw(",\"id\":");
    w.hex(id as u64);
}
