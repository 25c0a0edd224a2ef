//! Impossible times: nothing overflows, and the report warns about them.

use crate::support::{Random, import};
use serde_json::{Value, json};
use tracedrop::analysis::{self, Query};
use tracedrop::compare::{CompareQuery, Digest, compare};
use tracedrop::engine::format_title;
use tracedrop::trace::{Run, Trace};

/// Microseconds as a file may write them: usual ones, and some at the limits of 64-bit nanoseconds.
fn odd_time(random: &mut Random) -> String {
    match random.below(10) {
        0..5 => random.below(5000).to_string(),
        5 => "9223372036854775".to_string(),
        6 => "-9223372036854775".to_string(),
        7 => format!("{}000000000000000", random.below(10)),
        8 => format!("-{}000000000000000", random.below(10)),
        _ => "1e300".to_string(),
    }
}

/// A trace of `n` events of every kind that reports look at, at odd times.
fn odd_trace(random: &mut Random, n: u64, rank: u64) -> String {
    let mut events: Vec<String> = Vec::new();
    for i in 0..n {
        let correlation = random.below(n / 2 + 1) + 1;
        let stream = random.below(4);
        let (cat, name, pid, tid, args): (&str, String, u64, u64, Value) = match random.below(12) {
            0..3 => (
                "kernel",
                format!("kernel_{}", random.below(3)),
                random.below(2),
                stream,
                json!({"correlation": correlation, "stream": stream, "grid": [1, 1, 1], "block": [32, 1, 1]}),
            ),
            3 => (
                "kernel",
                "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)".to_string(),
                0,
                stream,
                json!({"correlation": correlation, "stream": stream, "Collective name": "allreduce", "In msg nelems": i64::MAX,
                       "dtype": "Float", "Group size": 2, "Process Group Ranks": "[0, 1]", "Process Group Name": "0"}),
            ),
            4 => (
                "gpu_memcpy",
                "Memcpy HtoD (Pinned -> Device)".to_string(),
                0,
                stream,
                json!({"correlation": correlation, "stream": stream, "bytes": i64::MAX, "memory bandwidth (GB/s)": 1e300}),
            ),
            5..7 => (
                "cuda_runtime",
                ["cudaLaunchKernel", "cudaGraphLaunch", "cudaStreamSynchronize"][random.below(3) as usize]
                    .to_string(),
                9,
                9,
                json!({"correlation": correlation}),
            ),
            7 => (
                "cpu_op",
                format!("aten::op{}", random.below(3)),
                9,
                9,
                json!({"Input Dims": [[i64::MAX, i64::MAX], [i64::MAX, 8]], "Input type": ["float", "float"]}),
            ),
            8 => ("user_annotation", format!("execute_context_1({i})_generation_0(0)"), 9, 9, json!({})),
            9 => (
                "python_function",
                ["nn.Module: Linear_3", "a.py(1): f"][random.below(2) as usize].to_string(),
                9,
                9,
                json!({"Python id": i}),
            ),
            10 => (
                "cuda_sync",
                "Stream Sync".to_string(),
                0,
                stream,
                json!({"stream": stream, "correlation": correlation}),
            ),
            _ => {
                let memory = json!({"Bytes": i64::MAX, "Addr": i, "Device Type": 1, "Device Id": 0, "Total Allocated": u64::MAX});
                let ts = odd_time(random);
                events.push(format!(
                    r#"{{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 9, "tid": 9, "ts": {ts}, "args": {memory}}}"#
                ));
                continue;
            }
        };
        let (ts, dur) = (odd_time(random), odd_time(random));
        events.push(format!(
            r#"{{"ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid}, "ts": {ts}, "dur": {dur}, "args": {args}}}"#
        ));
    }
    format!(
        r#"{{"schemaVersion": 1, "distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": 2}}, "traceEvents": [{}]}}"#,
        events.join(",\n")
    )
}

fn check(traces: Vec<Trace>, path: &str) {
    let mut run = Run { traces };
    let query = Query { path: path.to_string(), ..Query::default() };
    let reports = analysis::reports(&run, &query);
    assert!(reports.iter().flat_map(|report| report.tables()).all(|table| table.is_sound()));
    let digest = Digest::of(&mut run, &reports, &query, &format_title, Default::default());
    let compared = compare(&digest, &digest, &CompareQuery::default());
    if let Ok(comparison) = compared {
        assert!(comparison.reports.iter().flat_map(|report| report.tables()).all(|table| table.is_sound()));
    }
}

#[test]
fn no_time_is_too_far() {
    let mut random = Random(61);
    let mut n_with_work = 0;
    for round in 0..150 {
        let n = 20 + random.below(200);
        let text = odd_trace(&mut random, n, 0);
        let trace = import("odd.json", text.as_bytes(), None).unwrap();
        n_with_work += usize::from(!trace.links.is_empty());
        let other = import("other.json", odd_trace(&mut random, n, 1).as_bytes(), None).unwrap();
        check(vec![trace.clone()], if round % 2 == 0 { "" } else { "execute_context @ 0..9" });
        check(vec![trace, other], "");
    }
    assert!(n_with_work > 100);
}

#[test]
fn it_is_said_that_times_are_impossible() {
    let event = |name: &str, ts: &str, dur: &str| {
        format!(
            r#"{{"ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7, "ts": {ts}, "dur": {dur}, "args": {{"stream": 7, "correlation": 1}}}}"#
        )
    };
    let warnings = |events: &[String]| {
        let text = format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(","));
        let run = Run::single(import("t.json", text.as_bytes(), None).unwrap());
        let reports = analysis::reports(&run, &Query::default());
        let shown = serde_json::to_string(&reports).unwrap();
        shown.contains("This file is damaged")
    };
    assert!(!warnings(&[event("a", "1712195496123456", "5"), event("b", "1712195496123556", "5")]));
    assert!(warnings(&[event("a", "-9000000000000000", "5"), event("b", "9000000000000000", "5")]));
    assert!(warnings(&[event("a", "0", "9000000000000000"), event("b", "0", "9000000000000000")]));
}
