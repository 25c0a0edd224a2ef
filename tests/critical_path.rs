//! The critical path: against what HolisticTraceAnalysis 0.5.0 says of the same traces, and what must hold of any.
//!
//! `golden/hta/critical-path.json` in `tests/data` holds the numbers of seven windows: a whole trace where the annotation is
//! empty. Its generator is HTA itself, with `nodes` those that edges lead to or from. The goldens beside the corpus
//! have the path of two of these windows edge by edge.

mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use support::{Random, data_dirs, files, import, own_dir, stem};
use tracedrop::analysis::gpu::GpuTrace;
use tracedrop::analysis::gpu_critical_path::{Bound, CriticalPath, EdgeKind, INFO, Segment};
use tracedrop::analysis::{Context, Query};
use tracedrop::report::{Block, Report, Value as Cell};
use tracedrop::trace::{Run, Trace};

/// Where we do not say what HTA says, and why: trace, field, ours, theirs.
const EXCEPTIONS: &[(&str, &str, i64, i64)] = &[];

fn path_of(name: &str) -> Option<PathBuf> {
    let file = format!("{name}.json.gz");
    data_dirs("pytorch").into_iter().map(|dir| dir.join(&file)).find(|path| path.is_file())
}

fn unpacked(name: &str) -> Option<Vec<u8>> {
    let packed = std::fs::read(path_of(name)?).unwrap();
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut text).unwrap();
    Some(text)
}

/// The window of the instance of an annotation: those whose names contain it, in the order of the file. Of nothing it is
/// the whole trace.
fn window(trace: &Trace, annotation: &str, instance: usize) -> (i64, i64) {
    if annotation.is_empty() {
        return trace.span().unwrap();
    }
    let slices = &trace.slices;
    let mut found: Vec<usize> =
        (0..slices.len()).filter(|i| trace.strings.get(slices.name[*i]).contains(annotation)).collect();
    found.sort_by_key(|i| slices.offset(*i));
    let i = found[instance];
    (slices.ts[i], slices.ts[i] + slices.dur.get(i))
}

/// Times rounded inwards to whole microseconds, as HTA does with every event that has a fraction.
fn rounded(text: &[u8]) -> Vec<u8> {
    let mut trace: Value = serde_json::from_slice(text).unwrap();
    for event in trace["traceEvents"].as_array_mut().unwrap() {
        let us = |value: &Value| value.to_string().parse::<f64>().ok();
        let (Some(ts), Some(dur)) = (us(&event["ts"]), event.get("dur").and_then(us)) else { continue };
        let (start, end) = (ts.ceil() as i64, (ts + dur).floor() as i64);
        event["ts"] = json!(start);
        // What is shorter than its rounding has no duration, and is left out by HTA too.
        event["dur"] = json!((end - start).max(0));
    }
    serde_json::to_vec(&trace).unwrap()
}

fn goldens() -> Vec<Value> {
    let path = own_dir("pytorch").join("golden/hta/critical-path.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn hta_kind(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Inside => "critical_path_operator",
        EdgeKind::Dependency => "critical_path_dependency",
        EdgeKind::Launch => "critical_path_kernel_launch_delay",
        EdgeKind::BetweenWork => "critical_path_kernel_kernel_delay",
        EdgeKind::Sync => "critical_path_sync_dependency",
    }
}

fn hta_bound(bound: Bound) -> &'static str {
    match bound {
        Bound::Cpu => "cpu_bound",
        Bound::Compute | Bound::Memory => "gpu_compute_bound",
        Bound::Communication => "gpu_communication_bound",
        Bound::Launch => "gpu_kernel_launch_overhead",
        Bound::BetweenWork => "gpu_kernel_kernel_overhead",
        Bound::Link => "",
    }
}

/// The numbers of a path under the names that the goldens have for them; times in nanoseconds.
fn numbers(path: &CriticalPath) -> BTreeMap<String, i64> {
    let mut numbers = BTreeMap::new();
    let mut add = |key: String, value: i64| *numbers.entry(key).or_default() += value;
    add("nodes".into(), path.n_nodes as i64);
    add("edges".into(), path.n_edges as i64);
    add("critical_path_edges".into(), path.segments.len() as i64);
    add("critical_path_nodes".into(), path.segments.len() as i64 + 1);
    add("ns critical_path_length".into(), path.length);
    for segment in &path.segments {
        add(format!("path_edges_by_type {}", hta_kind(segment.kind)), 1);
        add(format!("ns by_type {}", hta_kind(segment.kind)), segment.dur());
        add(format!("ns by_bound {}", hta_bound(segment.bound)), segment.dur());
    }
    numbers
}

fn golden_numbers(golden: &Value) -> BTreeMap<String, i64> {
    let mut numbers = BTreeMap::new();
    for key in ["nodes", "edges", "critical_path_edges", "critical_path_nodes"] {
        numbers.insert(key.to_string(), golden[key].as_i64().unwrap());
    }
    let length = golden["critical_path_length"].as_i64().unwrap();
    numbers.insert("ns critical_path_length".to_string(), 1000 * length);
    for (key, unit) in [("path_edges_by_type", 1), ("by_type", 1000), ("by_bound", 1000)] {
        for (name, value) in golden[key].as_object().unwrap() {
            let prefix = if unit == 1 { "" } else { "ns " };
            numbers.insert(format!("{prefix}{key} {name}"), unit * value.as_i64().unwrap());
        }
    }
    numbers
}

#[test]
fn numbers_are_those_of_hta() {
    let mut n_checked = 0;
    let mut met = vec![false; EXCEPTIONS.len()];
    for golden in goldens() {
        let name = golden["trace"].as_str().unwrap();
        let Some(text) = unpacked(name) else { continue };
        let trace = import(name, &rounded(&text), None).unwrap();
        let instance = golden["instance"].as_u64().unwrap() as usize;
        let window = window(&trace, golden["annotation"].as_str().unwrap(), instance);
        let path = CriticalPath::new(&GpuTrace::new(&trace), window);
        check(&path);
        let (ours, theirs) = (numbers(&path), golden_numbers(&golden));
        let keys: std::collections::BTreeSet<_> = ours.keys().chain(theirs.keys()).collect();
        for key in keys {
            let of = |numbers: &BTreeMap<String, i64>| numbers.get(key).copied().unwrap_or(0);
            let (ours, theirs) = (of(&ours), of(&theirs));
            let is = |exception: &&(&str, &str, i64, i64)| **exception == (name, key.as_str(), ours, theirs);
            if let Some(at) = EXCEPTIONS.iter().position(|exception| is(&exception)) {
                met[at] = true;
                continue;
            }
            assert_eq!(ours, theirs, "{name}, instance {instance}: {key}");
        }
        n_checked += 1;
    }
    assert!(n_checked >= 4 && met.iter().all(|met| *met), "{n_checked} {met:?}");
}

/// What someone asks for is what HTA is asked for.
#[test]
fn a_range_can_be_chosen() {
    let mut n_checked = 0;
    for golden in goldens() {
        let (name, annotation) = (golden["trace"].as_str().unwrap(), golden["annotation"].as_str().unwrap());
        let instance = golden["instance"].as_u64().unwrap() as usize;
        let Some(text) = unpacked(name).filter(|_| !annotation.is_empty()) else { continue };
        let run = Run::single(import(name, &rounded(&text), None).unwrap());
        let report_of = |path: String| {
            let query = Query { path, ..Query::default() };
            (INFO.run)(&Context::new(&run, &query))
        };
        let report = report_of(format!("{annotation} @ {instance}"));
        let length = 1000 * golden["critical_path_length"].as_i64().unwrap();
        let facts = report.blocks.iter().find_map(|block| match block {
            Block::Facts(facts) => Some(&facts.facts),
            _ => None,
        });
        let is_length = |fact: &tracedrop::report::Fact| fact.value == Cell::Integer(length);
        assert!(facts.unwrap().iter().any(is_length), "{name}, {annotation} @ {instance}: {facts:?}");
        let says = |report: &Report, what: &str| {
            let is = |block: &Block| matches!(block, Block::Note(note) if note.text.contains(what));
            report.blocks.iter().any(is)
        };
        assert!(!says(&report, "not of what was asked for"));
        assert!(says(&report_of("no such thing".to_string()), "no range, operator or frame"));
        assert!(says(&report_of(format!("{annotation} @ 99999")), "none has number 99999"));
        n_checked += 1;
    }
    assert!(n_checked >= 2, "{n_checked}");
}

/// What must hold of every path.
fn check(path: &CriticalPath) {
    let takes_time = |segment: &Segment| segment.dur() > 0;
    assert!(path.segments.iter().all(|segment| segment.end >= segment.start));
    assert_eq!(path.segments.iter().map(Segment::dur).sum::<i64>(), path.length);
    assert_eq!(Bound::ALL.iter().map(|bound| path.sum(|s| s.bound == *bound).0).sum::<i64>(), path.length);
    for pair in path.segments.windows(2) {
        assert!(pair[0].end <= pair[1].start, "{pair:?}");
        if takes_time(&pair[0]) && takes_time(&pair[1]) {
            assert_eq!(pair[0].end, pair[1].start, "{pair:?}");
        }
    }
    let window = path.extent.map_or(0, |(start, end)| end - start);
    assert!((0..=window).contains(&path.length), "{} {window}", path.length);
}

/// Rounding moves each end by less than a microsecond: the whole is off by less than two, each part by that for each
/// stretch of it.
#[test]
fn without_rounding_numbers_are_near() {
    for golden in goldens().iter().filter(|golden| golden["trace"] == "ns-resolution-v100") {
        let Some(text) = unpacked("ns-resolution-v100") else { continue };
        let trace = import("trace", &text, None).unwrap();
        let instance = golden["instance"].as_u64().unwrap() as usize;
        let window = window(&trace, golden["annotation"].as_str().unwrap(), instance);
        let path = CriticalPath::new(&GpuTrace::new(&trace), window);
        check(&path);
        let (ours, theirs) = (numbers(&path), golden_numbers(golden));
        assert!((ours["ns critical_path_length"] - theirs["ns critical_path_length"]).abs() < 2000);
        assert_eq!(ours["critical_path_edges"], theirs["critical_path_edges"]);
        for (key, theirs) in theirs.iter().filter(|(key, _)| key.starts_with("ns by_")) {
            let bound = 2000 * path.segments.len() as i64;
            assert!((ours[key] - theirs).abs() < bound, "{key}: {} instead of {theirs}", ours[key]);
        }
    }
}

/// The longest edges of the path, as the goldens beside the corpus list them.
#[test]
fn edges_are_those_of_hta() {
    let Some(dir) = data_dirs("pytorch").into_iter().nth(1) else { return };
    let mut n_checked = 0;
    for file in files(&dir.join("golden/hta"), &[".json"]) {
        let golden: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        if !stem(&file).starts_with("critical-path-") || golden["breakdown"].is_null() {
            continue;
        }
        let name = golden["trace"].as_str().unwrap();
        let trace = import(name, &rounded(&unpacked(name).unwrap()), None).unwrap();
        let instance = golden["instance"].as_u64().unwrap() as usize;
        let window = window(&trace, golden["annotation"].as_str().unwrap(), instance);
        let path = CriticalPath::new(&GpuTrace::new(&trace), window);
        let rows = golden["breakdown"]["rows"].as_array().unwrap();
        let text = |cell: &Value| cell.as_str().unwrap_or("").to_string();
        let mut theirs: Vec<(i64, String, String)> =
            rows.iter().map(|row| (1000 * row[2].as_i64().unwrap(), text(&row[3]), text(&row[10]))).collect();
        let mut ours: Vec<(i64, String, String)> = path
            .segments
            .iter()
            .map(|s| (s.dur(), hta_kind(s.kind).to_string(), hta_bound(s.bound).to_string()))
            .collect();
        ours.sort_by(|a, b| b.cmp(a));
        theirs.sort_by(|a, b| b.cmp(a));
        // The list is cut: of the shortest in it others may be meant.
        let shortest = theirs.last().unwrap().0;
        theirs.retain(|row| row.0 > shortest);
        ours.retain(|row| row.0 > shortest);
        assert!(theirs.len() > 30);
        assert_eq!(ours, theirs, "{name}");
        n_checked += 1;
    }
    assert_eq!(n_checked, 2);
}

fn report(trace: Trace) -> Report {
    let run = Run::single(trace);
    assert!((INFO.applies)(&run));
    (INFO.run)(&Context::new(&run, &Query::default()))
}

fn column_sum(report: &Report, table: &str, column: &str) -> i64 {
    let table = report.tables().find(|found| found.id == table).unwrap();
    let column = table.column(column).unwrap();
    (0..table.n_rows())
        .map(|row| match column.cells.get(row) {
            Cell::Integer(value) => value,
            other => panic!("{other:?}"),
        })
        .sum()
}

fn notes(report: &Report) -> String {
    let notes = report.blocks.iter().filter_map(|block| match block {
        Block::Note(note) => Some(note.text.as_str()),
        _ => None,
    });
    notes.collect::<Vec<_>>().join("\n")
}

#[test]
fn tables_add_up() {
    let trace = import("trace", &unpacked("alexnet-a100-sync").unwrap(), None).unwrap();
    let path = CriticalPath::new(&GpuTrace::new(&trace), trace.span().unwrap());
    let report = report(trace);
    for table in ["critical_path", "critical_names", "critical_segments"] {
        assert_eq!(column_sum(&report, table, "time"), path.length, "{table}");
    }
    assert!(
        report.summary.starts_with("The critical path of the whole trace takes 43"),
        "{}",
        report.summary
    );
    assert!(!notes(&report).contains("cuda_sync)"));
}

/// ```text
/// step   [ProfilerStep#1 ][ProfilerStep#2            ]
/// CPU    [op [launch] ]   [op [launch] ][op [wait]   ]
/// GPU             [kernel ]        [kernel         ]
/// ```
fn small(wait: bool) -> Vec<u8> {
    let mut events = vec![
        json!({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 0, "dur": 100}),
        json!({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#2", "pid": 1, "tid": 1, "ts": 100, "dur": 200}),
        json!({"ph": "X", "cat": "cpu_op", "name": "last", "pid": 1, "tid": 1, "ts": 160, "dur": 110}),
        json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1, "ts": 170, "dur": 90,
            "args": {"correlation": 9}}),
    ];
    for (at, correlation, dur) in [(10, 1, 40), (110, 2, 100)] {
        events.extend([
            json!({"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": at, "dur": 40}),
            json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 10, "dur": 10,
                "args": {"correlation": correlation}}),
            json!({"ph": "X", "cat": "kernel", "name": "kernel", "pid": 0, "tid": 7, "ts": at + 30, "dur": dur,
                "args": {"correlation": correlation, "stream": 7, "device": 0}}),
        ]);
    }
    if wait {
        events.push(json!({"ph": "X", "cat": "cuda_sync", "name": "Context Sync", "pid": 0, "tid": -1, "ts": 172, "dur": 86,
            "args": {"stream": -1, "correlation": 9}}));
    }
    serde_json::to_vec(&json!({"schemaVersion": 1, "traceEvents": events})).unwrap()
}

#[test]
fn the_path_goes_from_thread_to_stream_and_back() {
    let trace = import("trace", &small(true), None).unwrap();
    let path = CriticalPath::new(&GpuTrace::new(&trace), (100_000, 300_000));
    check(&path);
    let stretches: Vec<(i64, i64, EdgeKind)> =
        path.segments.iter().map(|s| (s.start / 1000, s.dur() / 1000, s.kind)).collect();
    let wanted = [
        (110, 10, EdgeKind::Inside),
        (120, 20, EdgeKind::Launch),
        (140, 100, EdgeKind::Inside),
        (240, 0, EdgeKind::Sync),
        (260, 10, EdgeKind::Inside),
    ];
    assert_eq!(stretches, wanted);
    let report = report(trace);
    assert!(
        report.summary.contains("the longest of 2 steps (ProfilerStep#2) takes 140"),
        "{}",
        report.summary
    );
}

#[test]
fn without_waits_it_is_said_to_be_a_guess() {
    let trace = import("trace", &small(false), None).unwrap();
    let path = CriticalPath::new(&GpuTrace::new(&trace), (100_000, 300_000));
    // The kernel's end leads nowhere.
    assert_eq!(path.length, 130_000);
    assert!(!path.has_sync && notes(&report(trace)).contains("is a guess"));
}

/// Operators in each other, calls, work that may start before its call or overlap, and waits of every kind for anything.
fn messy(seed: u64) -> Vec<u8> {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut events = Vec::new();
    let mut correlation = 0;
    for thread in 0..=random.below(2) {
        let mut ts = random.below(20);
        for _ in 0..random.below(8) {
            let dur = 1 + random.below(60);
            events.push(json!({"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": thread, "ts": ts, "dur": dur}));
            for at in (ts..ts + dur).step_by(9) {
                correlation += 1;
                let names = [
                    "cudaLaunchKernel",
                    "cudaMemcpyAsync",
                    "cudaStreamSynchronize",
                    "cudaEventRecord",
                    "cudaStreamWaitEvent",
                    "cudaEventSynchronize",
                    "cudaDeviceSynchronize",
                    "cudaGraphLaunch",
                ];
                let name = names[random.below(8) as usize];
                let args = json!({"correlation": correlation});
                events.push(
                    json!({"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1, "tid": thread, "ts": at,
                    "dur": 1 + random.below(9), "args": args}),
                );
                for _ in 0..random.below(3) {
                    let stream = random.below(3);
                    let ts = (at + random.below(40)).saturating_sub(5);
                    let other = 1 + random.below(correlation);
                    let (cat, name) = [
                        ("kernel", "gemm"),
                        ("kernel", "ncclKernel_AllReduce"),
                        ("gpu_memcpy", "Memcpy"),
                        ("cuda_sync", "Stream Sync"),
                        ("cuda_sync", "Context Sync"),
                        ("cuda_sync", "Event Sync"),
                        ("cuda_sync", "Stream Wait Event"),
                    ][random.below(7) as usize];
                    events.push(
                        json!({"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": ts,
                        "dur": random.below(30), "args": {"correlation": correlation, "stream": stream,
                        "wait_on_stream": random.below(3), "wait_on_cuda_event_record_corr_id": other}}),
                    );
                }
            }
            ts += dur + random.below(10);
        }
    }
    serde_json::to_vec(&json!({"schemaVersion": 1, "traceEvents": events})).unwrap()
}

/// No work of the window and no call that does not wait, nor one inside of it, takes longer than the path.
fn check_items(trace: &Trace, gpu: &GpuTrace<'_>, window: (i64, i64), path: &CriticalPath) {
    let slices = &trace.slices;
    let is_in = |call: u32| {
        (window.0..=window.1).contains(&slices.ts[call as usize]) && slices.dur.get(call as usize) > 0
    };
    let work =
        gpu.work.iter().filter(|work| work.launch != u32::MAX && is_in(work.launch)).map(|work| work.dur());
    let waits = ["Synchronize", "Memcpy"];
    let place = |call: u32| {
        let at = call as usize;
        (slices.ts[at], slices.ts[at] + slices.dur.get(at))
    };
    let waiting: Vec<_> = gpu
        .calls
        .iter()
        .filter(|call| waits.iter().any(|wait| gpu.name(call.slice).contains(wait)))
        .map(|call| place(call.slice))
        .collect();
    let calls = gpu.calls.iter().filter(|call| is_in(call.slice)).filter_map(|call| {
        let (start, end) = place(call.slice);
        // Waiting takes no time of the path, whatever it is inside of.
        let waits = waiting.iter().any(|wait| wait.0 <= end && wait.1 >= start);
        (!waits).then(|| slices.dur.get(call.slice as usize))
    });
    let longest = work.chain(calls).max().unwrap_or(0);
    assert!(path.n_circular > 0 || path.length >= longest, "{} {longest}", path.length);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_trace_has_a_path(seed in any::<u64>(), start in 0i64..200, len in 0i64..400) {
        let trace = import("trace", &messy(seed), None);
        let Ok(trace) = trace else { return Ok(()) };
        let gpu = GpuTrace::new(&trace);
        for window in [(start * 1000, (start + len) * 1000), trace.span().unwrap_or((0, 0))] {
            let path = CriticalPath::new(&gpu, window);
            check(&path);
            check_items(&trace, &gpu, window, &path);
            prop_assert_eq!(&path.segments, &CriticalPath::new(&gpu, window).segments);
        }
    }
}

/// A call that outlasts its operator by a microsecond is not around what comes next.
#[test]
fn rounding_does_not_swallow_a_call() {
    let trace = import("trace", &messy(15780119533992343482), None).unwrap();
    let gpu = GpuTrace::new(&trace);
    let path = CriticalPath::new(&gpu, (0, 0));
    check(&path);
    check_items(&trace, &gpu, (0, 0), &path);
}

#[test]
fn every_recording_has_a_path() {
    let mut n = 0;
    for file in data_dirs("pytorch").iter().flat_map(|dir| files(dir, &[".json.gz"])) {
        // The others take long.
        if std::fs::metadata(&file).unwrap().len() > 2_000_000 {
            continue;
        }
        let Some(text) = unpacked(&stem(&file)) else { continue };
        let Ok(trace) = import(&stem(&file), &text, None) else { continue };
        let gpu = GpuTrace::new(&trace);
        let mut windows: Vec<(i64, i64)> =
            gpu.steps.steps.iter().map(|step| (step.start, step.end)).collect();
        windows.truncate(4);
        windows.extend(trace.span());
        for window in windows {
            let path = CriticalPath::new(&gpu, window);
            check(&path);
            check_items(&trace, &gpu, window, &path);
            println!(
                "{}: {} ns of {:?}, {} segments, {} edges, {} circular",
                stem(&file),
                path.length,
                path.extent.map(|(a, b)| b - a),
                path.segments.len(),
                path.n_edges,
                path.n_circular
            );
        }
        n += 1;
    }
    assert!(n >= 2);
}

/// `n` launches in operators with a kernel each on one of four streams, and a wait every thousand.
fn large(n: u64) -> Vec<u8> {
    use std::fmt::Write;
    let mut text = String::from("{\"schemaVersion\":1,\"traceEvents\":[");
    for i in 0..n {
        let (ts, stream) = (i * 10, i % 4);
        let call = if i % 1000 == 999 { "cudaDeviceSynchronize" } else { "cudaLaunchKernel" };
        let (cat, name) = if i % 1000 == 999 { ("cuda_sync", "Context Sync") } else { ("kernel", "gemm") };
        write!(
            text,
            r#"{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{ts},"dur":9}},
{{"ph":"X","cat":"cuda_runtime","name":"{call}","pid":1,"tid":1,"ts":{},"dur":5,"args":{{"correlation":{}}}}},
{{"ph":"X","cat":"{cat}","name":"{name}","pid":0,"tid":{stream},"ts":{},"dur":6,"args":{{"correlation":{},"stream":{stream}}}}},"#,
            ts + 2,
            i + 1,
            ts + 4,
            i + 1,
        )
        .unwrap();
    }
    text.pop();
    text.push_str("]}");
    text.into_bytes()
}

fn walk_large(n: u64) {
    let trace = import("large", &large(n), None).unwrap();
    let gpu = GpuTrace::new(&trace);
    let start = std::time::Instant::now();
    let path = CriticalPath::new(&gpu, trace.span().unwrap());
    println!("{} nodes, {} edges: {:?}", path.n_nodes, path.n_edges, start.elapsed());
    check(&path);
    assert!(path.n_nodes as u64 > 5 * n && path.segments.len() as u64 > n);
}

#[test]
fn long_windows_are_walked() {
    walk_large(20_000);
}

/// To be timed with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "takes a gigabyte"]
fn a_million_launches_are_walked() {
    walk_large(1_000_000);
}
