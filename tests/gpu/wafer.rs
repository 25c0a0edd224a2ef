//! Comparison with wafer-core's `trace_compare`.

use crate::gpu::golden::{Check, cells};
use serde_json::Value;
use std::collections::BTreeMap;
use tracedrop::analysis::gpu::facts::Vendor;
use tracedrop::analysis::gpu::{GpuTrace, Kind};
use tracedrop::analysis::{self, Query, gpu_kernels};
use tracedrop::trace::{Run, Trace};

/// A trace, and the tool's output on it.
pub fn compare(traces: &BTreeMap<i64, Trace>, golden: &Value, check: &mut Check) {
    for trace in traces.values() {
        let run = Run::single(trace.clone());
        let query = Query::default();
        let context = analysis::Context::new(&run, &query);
        let Some(gpu) = context.gpu().first() else { continue };
        facts(gpu, golden, check);
        // It only supports current categories (Q14).
        let is_old = trace.strings.find("Kernel").is_some() && trace.strings.find("kernel").is_none();
        if golden.get("error").is_some() || is_old {
            continue;
        }
        let report = (gpu_kernels::INFO.run)(&context);
        let names = cells(std::slice::from_ref(&report), "kernels", &["name", "count", "total"]);
        kernels(gpu, &names, golden, check);
        copies(gpu, golden, check);
        phases(gpu, golden, check);
    }
}

fn facts(gpu: &GpuTrace<'_>, golden: &Value, check: &mut Check) {
    if let Some(platform) = golden["platform"].as_str() {
        // It reports unknown vendors as NVIDIA.
        if gpu.vendor != Vendor::Unknown || platform == "AMD" {
            check.same("platform", gpu.vendor.name(), platform);
        }
    }
    // It doesn't support the GPU list of 2021.
    let is_listed = gpu.trace.source.metadata.iter().all(|(key, _)| key != "computeProperties");
    let first = gpu.facts.gpus.first().filter(|_| is_listed);
    if let Some(wanted) = golden["gpu_name"].as_str() {
        check.same("gpu_name", first.map_or("Unknown GPU", |gpu| &gpu.name), wanted);
    }
    let props = &golden["device_props"];
    if let Some(first) = first.filter(|_| props["total_memory_gb"].is_number()) {
        check.same("sm_count", first.n_sms, props["sm_count"].as_u64());
        check.same("warp_size", first.warp_size, props["warp_size"].as_u64());
        let gb = first.memory_bytes.map(|bytes| bytes as f64 / f64::from(1 << 30));
        check.near(
            "memory",
            gb.unwrap_or(f64::NAN),
            props["total_memory_gb"].as_f64().unwrap_or(f64::NAN),
            1e-6,
        );
    }
    // Its defaults for missing data are empty, rank 0 and world size 1.
    let distributed = &golden["distributed"];
    if distributed["rank"].is_number() {
        check.same("rank", gpu.facts.rank.unwrap_or(0), distributed["rank"].as_i64().unwrap());
        check.same(
            "world_size",
            gpu.facts.world_size.unwrap_or(1),
            distributed["world_size"].as_i64().unwrap(),
        );
        let backend = gpu.facts.backend.as_deref().unwrap_or("");
        check.same("backend", backend, distributed["backend"].as_str().unwrap());
        let version = gpu.facts.nccl_version.as_deref().unwrap_or("");
        check.same("nccl_version", version, distributed["nccl_version"].as_str().unwrap());
    }
}

/// Kernels by name, as in our table: equal counts, and times within 1e-6.
fn kernels(gpu: &GpuTrace<'_>, names: &[Vec<String>], golden: &Value, check: &mut Check) {
    let mut ours: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for row in names {
        ours.insert(&row[0], (row[1].parse().unwrap(), row[2].parse::<f64>().unwrap() / 1000.0));
    }
    let kernels = || gpu.work.iter().filter(|work| work.kind == Kind::Kernel);
    check.same("kernels", kernels().count() as u64, golden["kernels"].as_u64().unwrap_or(0));
    let total = kernels().map(|work| work.dur()).sum::<i64>() as f64 / 1000.0;
    let near = |wanted: f64| 1e-6 * wanted;
    if let Some(wanted) = golden["total_us"].as_f64() {
        check.near("total_us", total, wanted, near(wanted));
    }
    let table = golden["kernel_table"].as_array().map(Vec::as_slice).unwrap_or_default();
    let n_others = ours.len() - table.len().min(ours.len());
    for row in table {
        let name = row["name"].as_str().unwrap();
        let (count, time) = ours.remove(name).unwrap_or_default();
        check.same(format_args!("count of {name}"), count, row["count"].as_u64().unwrap());
        let wanted = row["total_us"].as_f64().unwrap();
        check.near(format_args!("time of {name}"), time, wanted, near(wanted));
    }
    // It doesn't count copies and fills as kernels.
    check.same("other names", ours.len(), n_others);
    check.that("other names are copies and fills", ours.keys().all(|name| name.starts_with("Mem")));
}

fn copies(gpu: &GpuTrace<'_>, golden: &Value, check: &mut Check) {
    let Some(golden) = golden["memcpy"].as_object() else { return };
    let mut ours: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for work in gpu.work.iter().filter(|work| work.kind == Kind::Copy) {
        let name = gpu.name(work.slice);
        let direction = ["HtoD", "DtoD", "DtoH"]
            .into_iter()
            .find(|direction| name.contains(direction))
            .unwrap_or("Other");
        let sum = ours.entry(direction).or_default();
        *sum = (sum.0 + 1, sum.1 + work.dur() as f64 / 1000.0);
    }
    check.same("directions", ours.len(), golden.len());
    for (direction, wanted) in golden {
        let (count, time) = ours.get(direction.as_str()).copied().unwrap_or_default();
        check.same(format_args!("{direction}"), count, wanted["count"].as_u64().unwrap());
        let wanted = wanted["total_us"].as_f64().unwrap();
        check.near(format_args!("time of {direction}"), time, wanted, 1e-6 * wanted);
    }
}

/// It assigns kernels to phases by when they ran and calls the rest decode (Q4), so only the annotations are compared, and their
/// phases only in the one form it parses, without a second number (Q4b).
fn phases(gpu: &GpuTrace<'_>, golden: &Value, check: &mut Check) {
    let Some(phases) = golden["phases"].as_array() else { return };
    let is_of_form = |name: &str| name.starts_with("execute_context_");
    let ours: Vec<_> = gpu.steps.steps.iter().filter(|step| is_of_form(gpu.name(step.slice))).collect();
    check.same("phases", ours.len(), phases.len());
    for (step, phase) in ours.iter().zip(phases) {
        for (ours, theirs) in [(step.start, "ts_start"), (step.end, "ts_end")] {
            check.near(theirs, ours as f64 / 1000.0, phase[theirs].as_f64().unwrap(), 0.25);
        }
        let tokens = |part: Option<(u64, u64)>| part.map_or(0, |(_, tokens)| tokens);
        let name = gpu.name(step.slice);
        if name.bytes().filter(|byte| *byte == b'_').count() == 4 {
            check.same(name, step.what.phase.name(), phase["type"].as_str().unwrap());
            check.same(name, tokens(step.what.context), phase["num_ctx_tokens"].as_u64().unwrap());
            check.same(name, tokens(step.what.generation), phase["num_gen_tokens"].as_u64().unwrap());
        }
    }
}
