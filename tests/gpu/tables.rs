//! Tables by step, phase, layer and launch configuration, compared with independently computed sums.

use crate::gpu::golden::{Check, cells, each_recording, recordings};
use crate::support::import;
use serde_json::Value;
use std::collections::BTreeMap;
use tracedrop::analysis::gpu::annotation::Phase;
use tracedrop::analysis::gpu::{Kind, Work};
use tracedrop::analysis::gpu_layers::{Basis, Layers};
use tracedrop::analysis::{self, Context, Query};
use tracedrop::report::Report;
use tracedrop::trace::Run;

/// Sums of a column, grouped by other columns.
fn sums(reports: &[Report], table: &str, by: &[&str], of: &str) -> BTreeMap<Vec<String>, i128> {
    let mut sums = BTreeMap::new();
    let columns: Vec<&str> = by.iter().copied().chain([of]).collect();
    for row in cells(reports, table, &columns) {
        let (value, key) = row.split_last().unwrap();
        *sums.entry(key.to_vec()).or_default() += value.parse::<i128>().unwrap();
    }
    sums
}

fn of_work<'a>(
    work: impl Iterator<Item = &'a Work>,
    key: impl Fn(&Work) -> Option<Vec<String>>,
) -> (BTreeMap<Vec<String>, i128>, BTreeMap<Vec<String>, i128>) {
    let (mut times, mut counts) = (BTreeMap::new(), BTreeMap::new());
    for work in work {
        if let Some(key) = key(work) {
            *times.entry(key.clone()).or_default() += i128::from(work.dur());
            *counts.entry(key).or_default() += 1;
        }
    }
    (times, counts)
}

#[test]
fn work_is_counted_once_in_each_table() {
    each_recording(|read, check| {
        let run = Run::single(read.trace.clone());
        let query = Query::default();
        let context = Context::new(&run, &query);
        let Some(gpu) = context.gpu().first() else { return };
        let reports = analysis::reports(&run, &query);
        let phase = |work: &Work| {
            let phase = gpu.annotation(work.step)?.phase;
            (phase != Phase::Unknown).then(|| phase.name().to_string())
        };
        let name = |work: &Work| gpu.name(work.slice).to_string();
        let operation = |work: &Work| gpu.class(work).operation.clone();
        let step = |work: &Work| gpu.step(work.step).map(|_| (work.step + 1).to_string());
        let mut tables = |table: &str, by: &[&str], key: &dyn Fn(&Work) -> Option<Vec<String>>| {
            let (times, counts) = of_work(gpu.work.iter(), key);
            check.same(format_args!("{table}: time"), sums(&reports, table, by, "total"), times);
            check.same(format_args!("{table}: count"), sums(&reports, table, by, "count"), counts);
        };
        tables("kernels_by_phase", &["phase", "name"], &|work| Some(vec![phase(work)?, name(work)]));
        tables("operations_by_phase", &["phase", "operation"], &|work| {
            Some(vec![phase(work)?, operation(work)])
        });
        tables("operations_by_step", &["number", "operation"], &|work| {
            Some(vec![step(work)?, operation(work)])
        });
        let kernels = |work: &Work| (work.kind == Kind::Kernel).then(|| vec![name(work)]);
        if !cells(&reports, "configurations", &["name"]).is_empty() {
            tables("configurations", &["name"], &kernels);
        }
        layers(gpu, &reports, check);
        // Every kernel with an operator counts for some operator.
        let direct = sums(&reports, "ops", &[], "direct").into_values().next().unwrap_or(0);
        let in_steps = sums(&reports, "ops_by_step", &[], "direct").into_values().next().unwrap_or(0);
        check.that(format_args!("operators in steps: {in_steps} of {direct}"), in_steps <= direct);
        if gpu.work.iter().all(|work| gpu.step(work.step).is_some()) && !gpu.work.is_empty() {
            check.same("operators in steps", in_steps, direct);
        }
        // A class sums its modules without double counting.
        let own = |table: &str| sums(&reports, table, &[], "own");
        check.same("modules by class", own("module_classes"), own("modules"));
        let calls = |table: &str| sums(&reports, table, &[], "calls");
        check.same("calls of modules", calls("module_classes"), calls("modules"));
    });
}

fn layers(gpu: &analysis::gpu::GpuTrace<'_>, reports: &[Report], check: &mut Check) {
    let Some(layers) = Layers::new(gpu) else {
        check.that("layers from nowhere", cells(reports, "layers", &["layer"]).is_empty());
        return;
    };
    println!("{}: {:?}, {} layers", check.name, layers.basis, layers.n());
    let mut times: BTreeMap<Vec<String>, i128> = BTreeMap::new();
    let mut by_kernel: BTreeMap<Vec<String>, i128> = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    for layer in &layers.layers {
        for at in &layer.work {
            check.that("work is in two layers", seen.insert(*at));
            let work = &gpu.work[*at];
            let dur = i128::from(work.dur());
            *times.entry(vec![layer.number.to_string(), gpu.class(work).operation.clone()]).or_default() +=
                dur;
            *by_kernel.entry(vec![gpu.name(work.slice).to_string()]).or_default() += dur;
        }
    }
    check.same(
        "operations of layers",
        sums(reports, "layer_operations", &["layer", "operation"], "total"),
        times,
    );
    check.same("kernels of layers", sums(reports, "layer_kernels", &["name"], "total"), by_kernel);
    if layers.basis == Basis::Repeated {
        // Every repetition has as many kernels as the one before, or a new run starts.
        for pair in layers
            .layers
            .windows(2)
            .filter(|pair| (pair[0].step, pair[0].device) == (pair[1].step, pair[1].device))
        {
            check.that("numbers follow each other", pair[1].number == pair[0].number + 1);
        }
    }
}

/// Launch configurations, from a plain JSON parser.
#[test]
fn configurations_are_those_of_the_file() {
    let mut n_compared = 0;
    for recording in recordings().filter(|recording| recording.bytes.len() < 30_000_000) {
        let Ok(file) = serde_json::from_slice::<Value>(&recording.bytes) else { continue };
        let mut wanted: BTreeMap<Vec<String>, i128> = BTreeMap::new();
        let events = file["traceEvents"].as_array().unwrap();
        // ROCm has grid and block at the call, but not always at the kernel.
        let mut calls: BTreeMap<i64, &Value> = BTreeMap::new();
        for event in events {
            let is_call = matches!(event["cat"].as_str(), Some("cuda_runtime" | "cuda_driver" | "Runtime"));
            if let (true, Some(correlation)) = (is_call, event["args"]["correlation"].as_i64()) {
                let first = calls.entry(correlation).or_insert(event);
                if event["ts"].as_f64() < first["ts"].as_f64() {
                    *first = event;
                }
            }
        }
        for event in events {
            let is_kernel = matches!(event["cat"].as_str(), Some("kernel" | "Kernel"));
            if !is_kernel || event["ph"] != "X" {
                continue;
            }
            let args = &event["args"];
            let dims = |key: &str| {
                let of_call = args["correlation"].as_i64().and_then(|correlation| calls.get(&correlation));
                let given = args[key].as_array().or_else(|| of_call?["args"][key].as_array());
                let numbers = given.map(Vec::as_slice).unwrap_or_default();
                numbers.iter().map(Value::to_string).collect::<Vec<_>>().join(" × ")
            };
            let number = |key: &str| args[key].as_u64().map_or(String::new(), |number| number.to_string());
            let name = event["name"].as_str().unwrap().to_string();
            let key = vec![
                name,
                dims("grid"),
                dims("block"),
                number("registers per thread"),
                number("shared memory"),
            ];
            *wanted.entry(key).or_default() += 1;
        }
        let says_something = wanted.keys().any(|key| key[1..].iter().any(|text| !text.is_empty()));
        let trace = import(&recording.name, &recording.bytes, None).unwrap();
        let reports = analysis::reports(&Run::single(trace), &Query::default());
        let columns = ["name", "grid", "block", "registers", "shared"];
        let got = sums(&reports, "configurations", &columns, "count");
        if says_something {
            assert_eq!(got, wanted, "{}", recording.name);
            n_compared += 1;
        } else {
            assert!(got.is_empty(), "{}", recording.name);
        }
    }
    assert!(n_compared > 0);
}

/// All hardware counters, by kernel.
#[test]
fn counters_are_those_of_the_file() {
    let Some(recording) = recordings().find(|recording| recording.name == "cupti-counters-a100") else {
        return;
    };
    let file: Value = serde_json::from_slice(&recording.bytes).unwrap();
    let mut wanted: BTreeMap<(String, String), i128> = BTreeMap::new();
    let mut n_ranges = 0;
    for event in file["traceEvents"].as_array().unwrap() {
        if event["cat"] == "cuda_profiler_range" {
            n_ranges += 1;
            for (counter, value) in event["args"].as_object().unwrap() {
                let key = (event["name"].as_str().unwrap().to_string(), counter.clone());
                *wanted.entry(key).or_default() += i128::from(value.as_i64().unwrap());
            }
        }
    }
    let trace = import(&recording.name, &recording.bytes, None).unwrap();
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let table = reports
        .iter()
        .flat_map(|report| report.tables())
        .find(|table| table.id == "kernel_counters")
        .unwrap();
    let mut got: BTreeMap<(String, String), i128> = BTreeMap::new();
    let kernel = &table.column("kernel").unwrap().cells;
    for column in table.columns.iter().filter(|column| column.id.starts_with("counter_")) {
        for row in 0..table.n_rows() {
            if let Ok(value) = column.cells.get(row).plain().parse::<i128>() {
                *got.entry((kernel.get(row).plain(), column.label.clone())).or_default() += value;
            }
        }
    }
    assert_eq!(got, wanted);
    let count: i128 = sums(&reports, "kernel_counters", &[], "count").into_values().sum();
    assert_eq!(count, n_ranges);
}
