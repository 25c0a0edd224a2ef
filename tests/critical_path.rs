//! The critical path: against what HolisticTraceAnalysis 0.5.0 says of the same traces, and what must hold of any.
//!
//! `golden/hta/critical-path.json` in `tests/data` holds the numbers of seven windows: a whole trace where the annotation is
//! empty. Its generator is HTA itself, with `nodes` those that edges lead to or from. The goldens beside the corpus
//! have the path of two of these windows edge by edge.

mod support;

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use support::{data_dirs, files, import};
use tracedrop::analysis::gpu::GpuTrace;
use tracedrop::analysis::gpu_critical_path::{Bound, CriticalPath, EdgeKind, INFO, Segment};
use tracedrop::analysis::{Context, Query};
use tracedrop::report::{Block, Report};
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
    found.sort_by_key(|i| slices.offset[*i]);
    let i = found[instance];
    (slices.ts[i], slices.ts[i] + slices.dur[i])
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
    let path = data_dirs("pytorch").remove(0).join("golden/hta/critical-path.json");
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
