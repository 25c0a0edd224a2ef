//! Comparison with TraceLens.

use crate::gpu::golden::{Check, rows};
use serde_json::Value;
use std::collections::BTreeMap;
use tracedrop::analysis::gpu::model::NONE;
use tracedrop::analysis::gpu::parts::{Activity, Parts};
use tracedrop::analysis::gpu::spans::{self, Span};
use tracedrop::analysis::gpu::{GpuTrace, Kind, Work};
use tracedrop::trace::Trace;

/// A trace, and the sheets of the tool's report on it.
pub fn compare(traces: &BTreeMap<i64, Trace>, golden: &Value, check: &mut Check) {
    let Some(sheets) = golden.get("sheets") else { return };
    for trace in traces.values() {
        let gpu = GpuTrace::new(trace);
        timeline(&gpu, &sheets["gpu_timeline"], check);
        short_kernels(&gpu, &sheets["short_kernel_histogram"], check);
        launchers(&gpu, &sheets["kernel_summary"], check);
    }
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// Error of an end in µs. TraceLens uses doubles of microseconds: mostly 1e12 since boot, some 1e15 since 1970, and ends are sums
/// of these. Whole microseconds are exact.
fn error(gpu: &GpuTrace<'_>) -> f64 {
    if gpu.work.iter().all(|work| work.start % 1000 == 0 && work.end % 1000 == 0) {
        return 0.0;
    }
    let latest = gpu.work.iter().map(|work| work.end).max().unwrap_or(0) as f64 / 1000.0;
    latest.next_up() - latest
}

fn timeline(gpu: &GpuTrace<'_>, sheet: &Value, check: &mut Check) {
    let activity = Activity::new(gpu, 0);
    let Some(window) = activity.window else { return };
    let parts = with_their_communication(gpu, activity.parts(window), window);
    let end = error(gpu) * 2.0;
    for row in rows(sheet) {
        let name = row["type"].as_str().unwrap();
        let got = match name {
            "computation_time" => parts.computation,
            "exposed_comm_time" => parts.exposed_communication,
            "exposed_memcpy_time" => parts.exposed_copies,
            "busy_time" => parts.busy(),
            "idle_time" => parts.idle,
            "total_time" => parts.total,
            "total_comm_time" => parts.communication,
            "total_memcpy_time" => parts.copies,
            other => panic!("{other}"),
        };
        // Nine digits are written.
        let digits = 1e-8 * float(row["time ms"]);
        let n = if name == "total_time" { 1.0 } else { gpu.work.len() as f64 };
        check.near(name, got as f64 / 1e6, float(row["time ms"]), 1e-9 + digits + n * end / 1000.0);
    }
}

/// TraceLens detects communication by three words in names, so it counts kernels such as `multimem_all_reduce_kernel` as
/// computation. Where we differ, its parts follow its own rule.
fn with_their_communication(gpu: &GpuTrace<'_>, ours: Parts, window: Span) -> Parts {
    let theirs = |work: &Work| {
        let name = gpu.name(work.slice).to_lowercase();
        ["nccl", "rccl", "cross_device_reduce"].iter().any(|word| name.contains(word))
    };
    let differs = |work: &&Work| gpu.is_communication(work) != theirs(work);
    if !gpu.work.iter().any(|work| differs(&work)) {
        return ours;
    }
    // Theirs are fewer, never more.
    assert!(gpu.work.iter().filter(differs).all(|work| gpu.is_communication(work)));
    let communication = gpu.busy(0, theirs);
    let computation = gpu.busy(0, |work| !theirs(work) && !gpu.is_copy(work));
    let mut parts = Parts { computation: 0, exposed_communication: 0, communication: 0, ..ours };
    spans::pieces([&computation[..], &communication], window, |(start, end), mask| {
        parts.computation += if mask & 1 != 0 { end - start } else { 0 };
        parts.exposed_communication += if mask == 2 { end - start } else { 0 };
        parts.communication += if mask & 2 != 0 { end - start } else { 0 };
    });
    parts
}

/// Kernels of less than 10 µs, in bins from the shortest to the longest of them.
fn short_kernels(gpu: &GpuTrace<'_>, sheet: &Value, check: &mut Check) {
    let kernels = gpu.work.iter().filter(|work| work.kind == Kind::Kernel);
    let short: Vec<f64> = kernels.map(|work| work.dur() as f64 / 1000.0).filter(|dur| *dur < 10.0).collect();
    let bins = rows(sheet);
    let count: f64 = bins.iter().map(|bin| float(bin["count"])).sum();
    check.near("short kernels", short.len() as f64, count, 0.0);
    // Cumulative up to the end of each bin; values at the edge may be on either side.
    let mut wanted = 0.0;
    for bin in &bins {
        wanted += float(bin["count"]);
        let end = float(bin["bin_end"]);
        let below = |slack: f64| short.iter().filter(|dur| **dur < end + slack).count() as f64;
        let slack = 1e-6 * end;
        check.that(format_args!("kernels below {end} µs"), (below(-slack)..=below(slack)).contains(&wanted));
    }
}

/// Kernels by the operator around their launch, or by the call if there is none.
fn launchers(gpu: &GpuTrace<'_>, sheet: &Value, check: &mut Check) {
    let rows = rows(sheet);
    let has_ops = rows.iter().any(|row| row.contains_key("Parent cpu_op"));
    let launcher = |work: &Work| match (work.op, work.launch) {
        // A file without any operator has no such column.
        _ if !has_ops => "",
        (NONE, NONE) => "",
        (NONE, call) => gpu.name(call),
        (op, _) => gpu.name(op),
    };
    let mut ours: BTreeMap<(String, String, i64), (u64, i64)> = BTreeMap::new();
    for work in gpu.work.iter().filter(|work| work.kind == Kind::Kernel) {
        let stream = gpu.streams[work.stream as usize].number.unwrap_or(-1);
        let sum =
            ours.entry((launcher(work).to_string(), gpu.name(work.slice).to_string(), stream)).or_default();
        *sum = (sum.0 + 1, sum.1 + work.dur());
    }
    // With times of 1e15 µs TraceLens cannot tell whether one operator is nested in another.
    let slack = if error(gpu) > 0.1 { 1.0 } else { 0.0 };
    check.near("launchers", ours.len() as f64, rows.len() as f64, slack);
    for row in rows {
        let text = |id: &str| row.get(id).and_then(|cell| cell.as_str()).unwrap_or("").to_string();
        let key = (text("Parent cpu_op"), text("Kernel name"), row["Kernel stream"].as_i64().unwrap_or(-1));
        let (count, time) = ours.get(&key).copied().unwrap_or_default();
        let wanted = float(row["Kernel duration (µs)_count"]);
        check.near(format_args!("count of {key:?}"), count as f64, wanted, slack);
        if count as f64 != wanted {
            continue;
        }
        let wanted = float(row["Kernel duration (µs)_sum"]);
        check.near(format_args!("time of {key:?}"), time as f64 / 1000.0, wanted, 1e-8 * wanted);
    }
}
