//! Comparison with HolisticTraceAnalysis (HTA).
//! HTA differs in what it counts as GPU activity, in what it skips, and in rounding. [`Events`] does the same, so that the rest can
//! be compared to the microsecond, without tolerances other than those named where they are used.
//! Reports don't round: if files have fractions of microseconds, they may be off by 2 µs per event or gap.

use crate::gpu::golden::{Check, cells, rows};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use tracedrop::analysis::gpu::facts::integer;
use tracedrop::analysis::gpu::model::NONE;
use tracedrop::analysis::gpu::parts::Activity;
use tracedrop::analysis::gpu::spans::{self, Span};
use tracedrop::analysis::gpu::{GpuTrace, Kind, Work};
use tracedrop::analysis::{self, Query, gpu_idle};
use tracedrop::base::strings::StringId;
use tracedrop::report::Report;
use tracedrop::trace::builder::find_member;
use tracedrop::trace::links::LinkTable;
use tracedrop::trace::{Run, Trace};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Type {
    Computation,
    Communication,
    Memory,
    Other,
}

impl Type {
    /// HTA counts custom all-reduce kernels and copies by kernels as computation.
    fn of(name: &str) -> Type {
        if name.starts_with("nccl") && name.contains("Kernel") {
            Type::Communication
        } else if ["Memcpy", "Memset", "dma"].iter().any(|prefix| name.starts_with(prefix)) {
            Type::Memory
        } else if ["Memcpy", "Sync"].iter().any(|part| name.contains(part)) {
            Type::Other
        } else {
            Type::Computation
        }
    }
}

/// GPU activity according to HTA: everything with a stream, including waits and Triton operators.
struct Event<'a> {
    name: &'a str,
    kind: Kind,
    slice: u32,
    stream: i64,
    correlation: i64,
    /// Whole microseconds.
    span: Span,
    /// Index in [`GpuTrace::work`], if it counts as GPU activity here too.
    work: Option<usize>,
}

/// Events of one rank that HTA uses.
struct Events<'a, 'b> {
    gpu: &'a GpuTrace<'b>,
    all: Vec<Event<'a>>,
    /// Some are skipped, as they were launched in the last step or have no launch.
    is_cut: bool,
    /// Whether the file has fractions of microseconds.
    is_fractional: bool,
    /// Where HTA places unrecorded launches: at the first event of the file.
    first: Option<i64>,
}

/// Shrinks events to the whole microseconds within. Uses doubles, as HTA does.
fn inwards(ts: i64, dur: i64) -> Span {
    let us = |ns: i64| format!("{}.{:03}", ns / 1000, ns % 1000).parse::<f64>().unwrap();
    let (start, dur) = (us(ts), us(dur.max(0)));
    (start.ceil() as i64, (start + dur).floor() as i64)
}

fn is_fractional(trace: &Trace) -> bool {
    let slices = &trace.slices;
    slices.ts.iter().zip(slices.dur.iter()).any(|(ts, dur)| ts % 1000 != 0 || dur % 1000 != 0)
}

impl<'a, 'b> Events<'a, 'b> {
    fn new(gpu: &'a GpuTrace<'b>, n_steps: usize) -> Events<'a, 'b> {
        let trace = gpu.trace;
        let slices = &trace.slices;
        let is_fractional = is_fractional(trace);
        let work: BTreeMap<u32, usize> =
            gpu.work.iter().enumerate().map(|(i, work)| (work.slice, i)).collect();
        let links = &trace.links;
        let mut all = Vec::new();
        let mut calls: Vec<(i64, i64)> = Vec::new();
        let mut last_step = i64::MIN;
        let first = (0..slices.len()).min_by_key(|i| slices.offset(*i));
        for i in 0..slices.len() {
            let kind = gpu.kinds.get(slices.category[i]);
            if matches!(kind, Kind::Python | Kind::Other) {
                continue;
            }
            let row = links.find(slices.offset(i), 0);
            let stream = match row.map(|row| links.stream(row)) {
                Some(stream) if stream != LinkTable::NO_STREAM => stream.into(),
                // Waits on the host have stream 4294967295 in some files.
                _ if matches!(kind, Kind::Op | Kind::Sync) => {
                    let args = trace.args.get(slices.args_of(i));
                    args.and_then(|args| find_member(&args, "stream").and_then(integer)).unwrap_or(-1)
                }
                _ => -1,
            };
            let correlation = row.map_or(-1, |row| links.correlation.get(row).max(-1));
            let span = inwards(slices.ts[i], slices.dur.get(i));
            let name = gpu.name(i as u32);
            if stream == -1 || correlation == -1 {
                calls.push((correlation, span.0));
                if name.contains("ProfilerStep") {
                    last_step = last_step.max(span.0);
                }
            }
            if stream != -1 {
                let work = work.get(&(i as u32)).copied();
                all.push(Event { name, kind, slice: i as u32, stream, correlation, span, work });
            }
        }
        let is_cut = n_steps > 1;
        if is_cut {
            calls.retain(|call| call.1 < last_step);
            let known: BTreeSet<i64> = calls.iter().map(|call| call.0).collect();
            all.retain(|event| match event.correlation {
                -1 => event.span.0 < last_step,
                correlation => known.contains(&correlation),
            });
        }
        all.sort_by_key(|event| event.span.0);
        let first = first.map(|i| inwards(slices.ts[i], slices.dur.get(i)).0);
        Events { gpu, all, is_cut, is_fractional, first }
    }

    /// Events within a microsecond have -1 µs in HTA, which reduces sums.
    fn n_negative(&self) -> f64 {
        self.all.iter().filter(|event| event.span.1 < event.span.0).count() as f64
    }

    fn launch(&self, event: &Event<'_>) -> Option<u32> {
        event.work.map(|work| self.gpu.work[work].launch).filter(|launch| *launch != NONE)
    }

    fn span_of(&self, slice: u32) -> Span {
        let slices = &self.gpu.trace.slices;
        inwards(slices.ts[slice as usize], slices.dur.get(slice as usize))
    }

    fn union(&self, wanted: Type) -> Vec<Span> {
        let of_type = self.all.iter().filter(|event| Type::of(event.name) == wanted);
        let spans = of_type.map(|event| event.span).filter(|span| span.0 < span.1);
        spans::union(spans)
    }

    /// Time of each type and of each overlap of types.
    fn types(&self) -> BTreeMap<String, i64> {
        let types = [
            (Type::Computation, "COMPUTATION"),
            (Type::Communication, "COMMUNICATION"),
            (Type::Memory, "MEMORY"),
        ];
        let layers = types.map(|(of, _)| self.union(of));
        let start = self.all.iter().map(|event| event.span.0).min().unwrap_or(0);
        let end = self.all.iter().map(|event| event.span.1).max().unwrap_or(0);
        let mut sums = BTreeMap::new();
        spans::pieces([&layers[0], &layers[1], &layers[2]], (start, end), |piece, mask| {
            let names: Vec<&str> =
                (0..3).filter(|bit| mask & (1 << bit) != 0).map(|bit: usize| types[bit].1).collect();
            if !names.is_empty() {
                *sums.entry(names.join(" overlapping ")).or_default() += piece.1 - piece.0;
            }
        });
        sums
    }
}

/// Ranks, and HTA's output on all of them.
pub fn compare(traces: &BTreeMap<i64, Trace>, golden: &Value, check: &mut Check) {
    if golden.get("temporal_breakdown").is_none() {
        return;
    }
    // Over all ranks: with two, the last one of each rank is skipped.
    let mut steps = BTreeSet::new();
    for trace in traces.values() {
        let names = trace.slices.name.iter().filter_map(|name| trace.strings.get_opt(*name));
        steps.extend(names.filter(|name| name.contains("ProfilerStep")));
    }
    let mut types: BTreeMap<String, i64> = BTreeMap::new();
    let mut n_negative = 0.0;
    for (rank, trace) in traces {
        if trace.links.is_empty() {
            continue;
        }
        let run = Run::single(cut(trace, steps.len()));
        let query = Query::default();
        let context = analysis::Context::new(&run, &query);
        let Some(gpu) = context.gpu().first() else { continue };
        let events = Events::new(gpu, steps.len());
        let numbers = golden["profiler_steps"].as_array().map(Vec::as_slice);
        profiler_steps(&events, numbers.unwrap_or_default(), check);
        let is_rank = |row: &&BTreeMap<&str, &Value>| row["rank"].as_i64() == Some(*rank);
        n_negative += events.n_negative();
        for (name, time) in events.types() {
            *types.entry(name).or_default() += time;
        }
        for row in rows(&golden["temporal_breakdown"]).iter().filter(is_rank) {
            temporal(&events, row, check);
        }
        for row in rows(&golden["comm_comp_overlap"]).iter().filter(is_rank) {
            overlap(&events, row, check);
        }
        let table = &golden["kernel_breakdown_all"][1];
        let by_name: Vec<_> = rows(table).into_iter().filter(|row| is_rank(&row)).collect();
        // Long tables are truncated.
        let is_whole = table["row_count"].as_u64() == Some(rows(table).len() as u64);
        names(&events, &by_name, is_whole, check);
        let idle = &golden["idle_time_breakdown"][rank.to_string()]["breakdown"];
        let report = (gpu_idle::INFO.run)(&context);
        idle_by_stream(&events, &rows(idle), &report, check);
        let queues = rows(&golden["queue_length_summary"]);
        queue(&events, queues.into_iter().filter(|row| is_rank(&row)).collect(), &report, check);
        launches(&events, &golden["launch_stats"][rank.to_string()], &report, check);
    }
    for (rank, trace) in traces {
        let is_rank = |row: &&BTreeMap<&str, &Value>| row["rank"].as_i64() == Some(*rank);
        let of_rank = |table: &'static str| -> Vec<BTreeMap<&str, &Value>> {
            rows(&golden[table]).into_iter().filter(|row| is_rank(&row)).collect()
        };
        let run = Run::single(cut(trace, steps.len()));
        let reports = analysis::reports(&run, &Query::default());
        let is_fractional = is_fractional(trace);
        for (place, table) in [("CPU", "cpu_user_annotations"), ("GPU", "gpu_user_annotations")] {
            ranges(&of_rank(table), place, is_fractional, steps.len() > 1, &reports, check);
        }
        if !is_fractional {
            copy_rates(trace, &of_rank("memory_bw_summary"), &reports, check);
            op_launches(&rows(&golden["aten_launch_stats"][rank.to_string()]), &reports, check);
        }
        counters(&golden["cupti_counters"][0], &reports, check);
    }
    for row in rows(&golden["kernel_breakdown_all"][0]) {
        let name = row["kernel_type"].as_str().unwrap();
        let time = types.get(name).copied().unwrap_or(0);
        check.near(format_args!("types: {name}"), time as f64, float(row["sum"]), n_negative);
    }
}

/// The trace reduced to the GPU activity that HTA uses.
fn cut(trace: &Trace, n_steps: usize) -> Trace {
    let gpu = GpuTrace::new(trace);
    let events = Events::new(&gpu, n_steps);
    let kept: BTreeSet<u32> = events.all.iter().map(|event| event.slice).collect();
    let mut trace = trace.clone();
    for work in gpu.work.iter().filter(|work| !kept.contains(&work.slice)) {
        trace.slices.category[work.slice as usize] = StringId::NONE;
        // A launch without its kernel would count as missing a device record.
        if work.launch != NONE {
            trace.slices.category[work.launch as usize] = StringId::NONE;
        }
    }
    trace
}

/// The last step is usually skipped.
fn profiler_steps(events: &Events<'_, '_>, golden: &[Value], check: &mut Check) {
    let gpu = events.gpu;
    let numbers =
        gpu.steps.steps.iter().filter_map(|step| gpu.name(step.slice).strip_prefix("ProfilerStep#"));
    let mut numbers: Vec<i64> = numbers.map(|number| number.parse().unwrap()).collect();
    if events.is_cut && numbers.len() > golden.len() {
        numbers.pop();
    }
    check.same("steps", numbers, golden.iter().filter_map(Value::as_i64).collect());
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Our time breakdown, applied to HTA's events.
fn temporal(events: &Events<'_, '_>, row: &BTreeMap<&str, &Value>, check: &mut Check) {
    let gpu = events.gpu;
    let mut model = GpuTrace::new(gpu.trace);
    let fills = gpu.trace.slices.name[0];
    let plain = model.classes.of(gpu.trace, fills, Kind::Fill);
    model.work = events
        .all
        .iter()
        .filter_map(|event| {
            let mut work = match event.work {
                Some(work) => gpu.work[work],
                None => Work { slice: event.slice, class: plain, ..*gpu.work.first()? },
            };
            let ours = match work.kind {
                _ if event.work.is_none() => Type::Other,
                Kind::Kernel if gpu.is_communication(&work) => Type::Communication,
                Kind::Kernel if !gpu.is_copy(&work) => Type::Computation,
                _ => Type::Memory,
            };
            match Type::of(event.name) {
                same if same == ours => {}
                Type::Computation => (work.kind, work.class) = (Kind::Kernel, plain),
                Type::Memory | Type::Other => work.kind = Kind::Copy,
                Type::Communication => panic!("{} is no communication", event.name),
            }
            (work.start, work.end) = (event.span.0, event.span.1.max(event.span.0));
            Some(work)
        })
        .collect();
    let activity = Activity::new(&model, 0);
    let Some(window) = activity.window else { return };
    let parts = activity.parts(window);
    let n = events.n_negative();
    check.near("kernel_time", parts.total as f64, float(row["kernel_time(us)"]), 0.0);
    check.near("idle_time", parts.idle as f64, float(row["idle_time(us)"]), n);
    check.near("compute_time", parts.kernels_only as f64, float(row["compute_time(us)"]), n);
    let non_compute = parts.total - parts.idle - parts.kernels_only;
    check.near("non_compute_time", non_compute as f64, float(row["non_compute_time(us)"]), n);
    // Tolerance without rounding, if the same events count: 1 µs per end of the window, 2 µs per event.
    if events.all.iter().all(|event| event.work.is_some()) {
        let activity = Activity::new(gpu, 0);
        let Some(window) = activity.window else { return };
        let parts = activity.parts(window);
        let n = if events.is_fractional { events.all.len() as f64 } else { 0.0 };
        let us = |ns: i64| ns as f64 / 1000.0;
        check.near("GPU time", us(parts.total), float(row["kernel_time(us)"]), 2.0 * n.min(1.0));
        check.near("idle", us(parts.idle), float(row["idle_time(us)"]), 2.0 * n);
    }
}

fn overlap(events: &Events<'_, '_>, row: &BTreeMap<&str, &Value>, check: &mut Check) {
    let communication = spans::total(&events.union(Type::Communication));
    let both: i64 = events
        .types()
        .iter()
        .filter(|(name, _)| name.starts_with("COMPUTATION overlapping COMMUNICATION"))
        .map(|(_, time)| *time)
        .sum();
    let got = (communication > 0).then(|| 100.0 * both as f64 / communication as f64);
    check.same("some overlap", got.is_some(), row["comp_comm_overlap_pctg"].is_number());
    if let Some(got) = got {
        // Two decimals.
        check.near("overlap", got, float(row["comp_comm_overlap_pctg"]), 0.0051);
    }
}

/// Kernels by name, all of them.
fn names(events: &Events<'_, '_>, golden: &[BTreeMap<&str, &Value>], is_whole: bool, check: &mut Check) {
    let mut by_name: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    for event in events.all.iter().filter(|event| Type::of(event.name) != Type::Other) {
        by_name.entry(event.name).or_default().push(event.span.1 - event.span.0);
    }
    if is_whole {
        check.same("names", by_name.len(), golden.len());
    }
    for row in golden {
        let name = row["name"].as_str().unwrap();
        let Some(durations) = by_name.get(name) else {
            check.that(format_args!("{name} is not there"), false);
            continue;
        };
        let sum: i64 = durations.iter().sum();
        let (min, max) = (durations.iter().min().unwrap(), durations.iter().max().unwrap());
        for (column, got) in [("sum (us)", sum), ("min (us)", *min), ("max (us)", *max)] {
            check.near(format_args!("{column} of {name}"), got as f64, float(row[column]), 0.0);
        }
        // The mean implies the count.
        let mean = sum as f64 / durations.len() as f64;
        check.near(format_args!("mean of {name}"), mean, float(row["mean (us)"]), 1e-6 + 1e-9 * mean.abs());
    }
}

/// Gaps start at the end of the event that started before; HTA's limit of 30 is in microseconds.
fn idle_by_stream(
    events: &Events<'_, '_>,
    golden: &[BTreeMap<&str, &Value>],
    report: &Report,
    check: &mut Check,
) {
    let mut sums: BTreeMap<(i64, &str), i64> = BTreeMap::new();
    // Ends of the event before, and of all before.
    let mut last: BTreeMap<i64, Span> = BTreeMap::new();
    let mut unknown = BTreeSet::new();
    let mut tolerance: BTreeMap<i64, i64> = BTreeMap::new();
    for event in events.all.iter().filter(|event| event.kind.is_gpu_work()) {
        let (start, end) = event.span;
        let Some((previous, latest)) = last.insert(event.stream, (end, end)) else { continue };
        last.insert(event.stream, (end, latest.max(end)));
        let gap = start - previous;
        let launch = events.launch(event).map(|launch| events.span_of(launch).0);
        let cause = match launch.or(events.first) {
            Some(launch) if launch > previous => "host_wait",
            _ if gap < 30 => "kernel_wait",
            _ => "other",
        };
        *sums.entry((event.stream, cause)).or_default() += gap;
        if launch.is_none() {
            unknown.insert(event.stream);
        }
        // Overlaps are negative gaps in HTA.
        let overlap = gap - (start - latest).max(0);
        *tolerance.entry(event.stream).or_default() +=
            overlap.abs() + if events.is_fractional { 2 } else { 0 };
    }
    let ours = report_of_idle(events, report);
    let mut golden_sums: BTreeMap<i64, f64> = BTreeMap::new();
    for row in golden {
        let (stream, cause) = (row["stream"].as_i64().unwrap(), row["idle_category"].as_str().unwrap());
        let wanted = float(row["idle_time"]);
        *golden_sums.entry(stream).or_default() += wanted;
        let got = sums.get(&(stream, cause)).copied().unwrap_or(0);
        check.near(format_args!("{cause} of stream {stream}"), got as f64, wanted, 0.0);
        // HTA takes the first event of the file for unrecorded launches.
        if !unknown.contains(&stream) {
            let got = ours.get(&(stream, cause.to_string())).copied().unwrap_or(0.0);
            let tolerance = tolerance.get(&stream).copied().unwrap_or(0) as f64;
            check.near(format_args!("report: {cause} of stream {stream}"), got, wanted, tolerance);
        }
    }
    for (stream, wanted) in golden_sums {
        let got = ours.iter().filter(|((of, _), _)| *of == stream).map(|(_, time)| *time).sum();
        let tolerance = tolerance.get(&stream).copied().unwrap_or(0) as f64;
        check.near(format_args!("report: idle of stream {stream}"), got, wanted, tolerance);
    }
}

/// Microseconds by stream and HTA's name of the cause.
fn report_of_idle(events: &Events<'_, '_>, report: &Report) -> BTreeMap<(i64, String), f64> {
    let table = if events.gpu.streams.len() > 1 { "idle_by_stream" } else { "idle" };
    let mut sums = BTreeMap::new();
    // HTA attributes the whole gap to the host if its launch came late.
    for row in cells(std::slice::from_ref(report), table, &["where", "cause", "time", "after_late_launch"]) {
        let number = row[0].split_once("stream ").and_then(|(_, number)| number.parse().ok());
        let stream = number.or(events.gpu.streams[0].number).unwrap();
        let cause = match row[1].as_str() {
            "waiting for the host" => "host_wait",
            "between kernels" => "kernel_wait",
            "stalled after launch" => "other",
            other => other,
        };
        let late = row[3].parse::<f64>().unwrap_or(0.0) / 1000.0;
        *sums.entry((stream, cause.to_string())).or_default() +=
            row[2].parse::<f64>().unwrap() / 1000.0 - late;
        *sums.entry((stream, "host_wait".to_string())).or_default() += late;
    }
    sums
}

/// Calls that HTA knows to enqueue something.
const QUEUEING: &[&str] = &[
    "cudaLaunchKernel",
    "cudaLaunchKernelExC",
    "cuLaunchKernel",
    "cudaMemcpyAsync",
    "cudaMemsetAsync",
    "hipLaunchKernel",
    "hipExtModuleLaunchKernel",
    "hipMemcpyAsync",
    "hipMemsetAsync",
    "hipMemcpyWithStream",
];

fn queue(events: &Events<'_, '_>, golden: Vec<BTreeMap<&str, &Value>>, report: &Report, check: &mut Check) {
    let mut changes: BTreeMap<i64, Vec<(i64, i64)>> = BTreeMap::new();
    let mut has_others = false;
    for event in &events.all {
        let Some(launch) = events.launch(event) else { continue };
        if !QUEUEING.contains(&events.gpu.name(launch)) {
            has_others = true;
            continue;
        }
        changes.entry(event.stream).or_default().extend([(events.span_of(launch).0, 1), (event.span.0, -1)]);
    }
    check.same("streams with queues", changes.len(), golden.len());
    let ours = cells(std::slice::from_ref(report), "queues", &["stream", "max"]);
    for row in golden {
        let stream = row["stream"].as_i64().unwrap();
        let mut of_stream = changes.remove(&stream).unwrap_or_default();
        check.near("queue_length_count", of_stream.len() as f64, float(row["queue_length_count"]), 0.0);
        of_stream.sort_by_key(|(ts, by)| (*ts, -by));
        let (mut length, mut max, mut max_settled) = (0, 0, 0);
        for (i, (ts, by)) in of_stream.iter().enumerate() {
            length += by;
            max = max.max(length);
            if of_stream.get(i + 1).is_none_or(|next| next.0 != *ts) {
                max_settled = max_settled.max(length);
            }
        }
        let wanted = float(row["queue_length_max"]);
        check.near(format_args!("longest queue of {stream}"), max as f64, wanted, 0.0);
        if !has_others {
            let ours = ours.iter().find(|row| row[0] == stream.to_string());
            let ours = ours.map_or(f64::NAN, |row| row[1].parse().unwrap());
            // Queue depths of zero duration are skipped here: a start in the microsecond of the next launch.
            check.near(
                format_args!("report: longest queue of {stream}"),
                ours,
                wanted - (max - max_settled) as f64,
                0.0,
            );
        }
    }
}

const LAUNCHES: &[&str] = &["cudaLaunchKernel", "cudaLaunchKernelExC", "cudaMemcpyAsync", "cudaMemsetAsync"];

fn launches(events: &Events<'_, '_>, golden: &Value, report: &Report, check: &mut Check) {
    let mut pairs: Vec<[i64; 4]> = Vec::new();
    for event in &events.all {
        let Some(launch) = events.launch(event) else { continue };
        if LAUNCHES.contains(&events.gpu.name(launch)) {
            let call = events.span_of(launch);
            let delay = (event.span.0 - call.1).max(0);
            pairs.push([event.correlation, call.1 - call.0, event.span.1 - event.span.0, delay]);
        }
    }
    check.near("pairs", pairs.len() as f64, float(&golden["pairs"]), 0.0);
    for (number, column) in [(1, "cpu_duration"), (2, "gpu_duration"), (3, "launch_delay")] {
        let mut values: Vec<i64> = pairs.iter().map(|pair| pair[number]).collect();
        values.sort_unstable();
        let of = &golden[column];
        if !values.is_empty() {
            let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
            let half = (values[(values.len() - 1) / 2] + values[values.len() / 2]) as f64 / 2.0;
            check.near(format_args!("mean {column}"), mean, float(&of["mean"]), 1e-6);
            check.near(format_args!("median {column}"), half, float(&of["50%"]), 1e-6);
            check.near(format_args!("least {column}"), values[0] as f64, float(&of["min"]), 0.0);
            check.near(
                format_args!("most {column}"),
                values[values.len() - 1] as f64,
                float(&of["max"]),
                0.0,
            );
        }
    }
    for row in rows(&golden["head"]) {
        let wanted = ["correlation", "cpu_duration", "gpu_duration", "launch_delay"]
            .map(|id| row[id].as_i64().unwrap());
        check.that(format_args!("no launch {wanted:?}"), pairs.contains(&wanted));
    }
    let n = |is: &dyn Fn(&[i64; 4]) -> bool| pairs.iter().filter(|pair| is(pair)).count() as f64;
    let wanted = [
        ("short", "short_kernels", n(&|pair| pair[1] <= 50 && pair[2] < pair[1])),
        ("slow", "runtime_outliers_over_50us", n(&|pair| pair[1] > 50)),
        ("delayed", "launch_delay_over_100us", n(&|pair| pair[3] > 100)),
        ("work", "pairs", pairs.len() as f64),
    ];
    let ours = cells(std::slice::from_ref(report), "launches", &["call", "short", "slow", "delayed", "work"]);
    for (i, (column, theirs, got)) in wanted.into_iter().enumerate() {
        check.near(theirs, got, float(&golden[theirs]), 0.0);
        // Rounding affects values at a limit.
        if !events.is_fractional {
            let of_launches = ours.iter().filter(|row| LAUNCHES.contains(&row[0].as_str()));
            let sum: f64 = of_launches.map(|row| row[i + 1].parse::<f64>().unwrap()).sum();
            check.near(format_args!("report: {column}"), sum, float(&golden[theirs]), 0.0);
        }
    }
}

/// User annotations. HTA skips those of the last step.
fn ranges(
    golden: &[BTreeMap<&str, &Value>],
    place: &str,
    is_fractional: bool,
    is_cut: bool,
    reports: &[Report],
    check: &mut Check,
) {
    let ours =
        cells(reports, "ranges", &["where", "name", "count", "total", "max", "min", "mean", "deviation"]);
    for row in golden {
        let name = row["name"].as_str().unwrap();
        let Some(of_name) = ours.iter().find(|row| row[0] == place && row[1] == name) else {
            check.that(format_args!("no range {name} on the {place}"), false);
            continue;
        };
        let us = |column: usize| of_name[column].parse::<f64>().map_or(0.0, |ns| ns / 1000.0);
        let n: f64 = of_name[2].parse().unwrap();
        let theirs = (float(row["sum (us)"]) / float(row["mean (us)"])).round();
        if is_cut && theirs != n {
            continue;
        }
        let each = if is_fractional { 2.0 } else { 0.0 };
        check.near(format_args!("sum of {name}"), us(3), float(row["sum (us)"]), each * n);
        check.near(format_args!("max of {name}"), us(4), float(row["max (us)"]), each);
        check.near(format_args!("min of {name}"), us(5), float(row["min (us)"]), each);
        check.near(format_args!("mean of {name}"), us(6), float(row["mean (us)"]), each + 0.001);
        // Undefined for a single one; 0 in HTA.
        check.near(format_args!("deviation of {name}"), us(7), float(row["stddev"]), 2.0 * each + 0.001);
    }
}

/// Bandwidths, if overlap is unambiguous: HTA sorts events within one microsecond arbitrarily.
fn copy_rates(trace: &Trace, golden: &[BTreeMap<&str, &Value>], reports: &[Report], check: &mut Check) {
    let gpu = GpuTrace::new(trace);
    let ours = cells(
        reports,
        "copy_rates",
        &["kind", "changes", "mean", "deviation", "min", "p25", "p50", "p75", "max"],
    );
    for row in golden {
        let kind = row["name"].as_str().unwrap();
        let of_kind = gpu.work.iter().filter(|work| gpu.name(work.slice).starts_with(kind));
        let ends: Vec<(i64, i64)> = of_kind
            .map(|work| (work.start, work.end.max(work.start + 1000 * i64::from(work.dur() == 0))))
            .collect();
        let starts: BTreeSet<i64> = ends.iter().map(|(start, _)| *start).collect();
        let has_ties = starts.len() < ends.len() || ends.iter().any(|(_, end)| starts.contains(end));
        // HTA's sums don't return exactly to 0.
        let overlaps = ends.windows(2).any(|pair| pair[1].0 < pair[0].1);
        if has_ties || overlaps {
            continue;
        }
        let Some(of_kind) = ours.iter().find(|row| row[0] == kind) else {
            check.that(format_args!("no bandwidth of {kind}"), false);
            continue;
        };
        check.same(
            format_args!("changes of {kind}"),
            of_kind[1].parse::<f64>().unwrap(),
            float(row["memory_bw_gbps_count"]),
        );
        for (column, theirs) in
            [(2, "mean"), (3, "std"), (4, "min"), (5, "25%"), (6, "50%"), (7, "75%"), (8, "max")]
        {
            let theirs = row[format!("memory_bw_gbps_{theirs}").as_str()];
            if theirs.is_null() {
                check.same(format_args!("deviation of one {kind}"), of_kind[column].as_str(), "");
                continue;
            }
            let ours = of_kind[column].parse::<f64>().unwrap() / 1e9;
            check.near(format_args!("bandwidth of {kind}"), ours, float(theirs), 1e-6 + 1e-6 * ours);
        }
    }
}

/// Launches by operator.
fn op_launches(golden: &[BTreeMap<&str, &Value>], reports: &[Report], check: &mut Check) {
    let ours = cells(reports, "op_launches", &["op", "sequence", "calls", "to_launch", "to_start"]);
    let (mut n_same, mut n_there) = (0, 0);
    for row in golden {
        let (op, sequence) =
            (row["aten_op_name"].as_str().unwrap(), row["kernel_sequence"].as_str().unwrap());
        let Some(of_op) = ours.iter().find(|row| row[0] == op && row[1].replace(" → ", " -> ") == sequence)
        else {
            continue;
        };
        n_there += 1;
        if of_op[2].parse::<f64>().unwrap() != float(row["occurrence_count"]) {
            continue;
        }
        n_same += 1;
        for (column, theirs) in [(3, "avg_aten_op_launch_delay"), (4, "avg_runtime_delay")] {
            let us = of_op[column].parse::<f64>().unwrap() / 1000.0;
            check.near(format_args!("{theirs} of {op}"), us, float(row[theirs]), 0.0011);
        }
    }
    if !golden.is_empty() {
        println!(
            "{}: launches of {} operators, {n_there} there, {n_same} as often",
            check.name,
            golden.len()
        );
    }
}

/// Operators of kernels with counters.
fn counters(golden: &Value, reports: &[Report], check: &mut Check) {
    let ours = cells(reports, "kernel_counters", &["kernel", "outer_op"]);
    for row in rows(golden) {
        let wanted = [row["name"].as_str().unwrap(), row["top_level_op"].as_str().unwrap()];
        check.that(format_args!("no counters of {wanted:?}"), ours.iter().any(|row| row[..] == wanted[..]));
    }
}
