//! XPlane profiles: what is read equals the answers of another decoder, however the file is cut.
//!
//! Answers are picoseconds. Events whose ends are not whole nanoseconds have them in their arguments, so sums are compared exactly;
//! first and last times are compared after rounding.

use crate::support;
use crate::support::{
    Slice, all_files, data_dirs, dump, files, for_each_cut, import, own_dir, slices, stem, unpacked,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::rc::Rc;
use tracedrop::analysis::gpu::model::NONE;
use tracedrop::analysis::gpu::{GpuTrace, Kind};
use tracedrop::analysis::{self, Query};
use tracedrop::base::protobuf::PushFields;
use tracedrop::import::Import;
use tracedrop::trace::tracks::Key;
use tracedrop::trace::{Run, Trace};

/// Files with answers.
fn cases() -> Vec<(PathBuf, Value)> {
    let mut cases = Vec::new();
    for dir in data_dirs("xplane") {
        for path in files(&dir, &[".pb", ".pb.gz"]) {
            let expected = dir.join("expected").join(format!("{}.json", stem(&path)));
            let expected: Value = serde_json::from_slice(&std::fs::read(expected).unwrap()).unwrap();
            if !expected["planes"].is_null() {
                cases.push((path, expected));
            }
        }
    }
    assert!(cases.len() >= 5);
    cases
}

impl Slice {
    fn duration_ps(&self) -> i128 {
        self.args["duration_ps"].as_i64().map_or(i128::from(self.dur) * 1000, i128::from)
    }
}

/// Arguments that are not stats.
const ADDED: &[&str] = &[
    "correlation",
    "device",
    "stream",
    "bytes",
    "memory bandwidth (GB/s)",
    "grid",
    "block",
    "registers per thread",
    "shared memory",
    "offset_ps",
    "duration_ps",
];

fn facts(trace: &Trace, name: &str) -> Vec<String> {
    let own = trace.source.metadata.iter().filter(|(own, _)| own == name);
    own.map(|(_, value)| value.clone()).collect()
}

fn check(name: &str, trace: &Trace, wanted: &Value) {
    assert_eq!(trace.source.format, "xplane", "{name}");
    let all = slices(trace);
    let aggregated: Vec<Value> = facts(trace, "aggregated_events")
        .iter()
        .flat_map(|json| serde_json::from_str::<Vec<Value>>(json).unwrap())
        .collect();
    let mut thread = 0;
    for plane in wanted["planes"].as_array().unwrap() {
        let plane_name = plane["name"].as_str().unwrap();
        for (key, value) in plane["stats"].as_object().unwrap() {
            if value.as_str().is_some_and(|text| text.ends_with(" bytes>")) {
                continue;
            }
            let key =
                if plane_name == "Task Environment" { key.clone() } else { format!("{plane_name}: {key}") };
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            assert!(facts(trace, &key).contains(&value), "{name}: {key} is not {value}");
        }
        for line in plane["lines"].as_array().unwrap() {
            let line_name = line["name"].as_str().unwrap();
            let what = format!("{name}, {plane_name}, {line_name}");
            let of_line = |value: &&Value| value["plane"] == plane_name && value["line"] == line_name;
            let mut by_name: BTreeMap<String, (i64, i128)> = BTreeMap::new();
            let (mut n_aggregated, mut sum) = (0, 0i128);
            for value in aggregated.iter().filter(of_line) {
                let n = value["count"].as_i64().unwrap();
                let ps = i128::from(value["duration_ps"].as_i64().unwrap());
                let own = by_name.entry(value["name"].as_str().unwrap().to_string()).or_default();
                (own.0, own.1) = (own.0 + n, own.1 + ps);
                n_aggregated += n;
                sum += ps;
            }
            assert_eq!(n_aggregated > 0, line["aggregated"] != 0, "{what}: aggregated events");
            let own: Vec<&Slice> = all.iter().filter(|slice| slice.thread == thread).collect();
            assert_eq!(json!(own.len()), line["events"], "{what}: events");
            if own.is_empty() {
                continue;
            }
            let process = trace.threads.process[thread].0 as usize;
            assert_eq!(trace.strings.get(trace.processes.name[process]), plane_name, "{what}: process");
            let shown = [&line["display_name"], &line["name"]].into_iter().find(|name| **name != "");
            let thread_name = trace.strings.get(trace.threads.name[thread]);
            assert_eq!(json!(thread_name), *shown.unwrap(), "{what}: thread");
            thread += 1;
            for slice in &own {
                let of_name = by_name.entry(slice.name.clone()).or_default();
                (of_name.0, of_name.1) = (of_name.0 + 1, of_name.1 + slice.duration_ps());
                sum += slice.duration_ps();
            }
            let ps = |value: &Value| value.to_string().parse::<i128>().unwrap();
            assert_eq!(sum, ps(&line["sum_ps"]), "{what}: durations");
            assert_eq!(json!(by_name.len()), line["names"], "{what}: names");
            for top in line["top"].as_array().unwrap() {
                let own = by_name.get(top["name"].as_str().unwrap()).copied().unwrap_or_default();
                assert_eq!(own, (top["count"].as_i64().unwrap(), ps(&top["sum_ps"])), "{what}: {top}");
            }
            let rounded = |value: &Value| (ps(value) + 500).div_euclid(1000) as i64;
            let first = own.iter().map(|slice| slice.start).min().unwrap();
            let last = own.iter().map(|slice| slice.start + slice.dur).max().unwrap();
            assert_eq!(
                (first, last),
                (rounded(&line["first_ps"]), rounded(&line["last_ps"])),
                "{what}: times"
            );
            if n_aggregated == 0 {
                let stats = |slice: &Slice| {
                    let args = slice.args.as_object();
                    args.map_or(0, |args| args.keys().filter(|key| !ADDED.contains(&key.as_str())).count())
                };
                assert_eq!(
                    json!(own.iter().map(|slice| stats(slice)).sum::<usize>()),
                    line["stats"],
                    "{what}: stats"
                );
                let with_stats = own.iter().filter(|slice| stats(slice) > 0).count();
                assert_eq!(json!(with_stats), line["with_stats"], "{what}: events with stats");
            }
        }
    }
    let hosts = wanted["hostnames"].as_array().cloned().unwrap_or_default();
    assert_eq!(json!(facts(trace, "hostname")), json!(hosts), "{name}: hosts");
    let ledger = &trace.ledger;
    for (issue, texts) in [("xplane-error", &wanted["errors"]), ("xplane-warning", &wanted["warnings"])] {
        let texts: Vec<&str> = texts
            .as_array()
            .map(|texts| texts.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        let own = ledger.issue(issue).map_or(Vec::new(), |issue| issue.example.lines().collect());
        assert_eq!(own, texts, "{name}: {issue}");
    }
    assert_eq!(ledger.count_of("xplane-truncated"), u64::from(wanted["cut"] == true), "{name}: cut");
    assert_eq!(ledger.unaccounted_bytes(), 0, "{name}");
    for issue in ["xplane-damaged", "xplane-damaged-event", "bytes-unaccounted"] {
        assert_eq!(ledger.count_of(issue), 0, "{name}: {issue}");
    }
}

#[test]
fn profiles_have_the_numbers_of_another_decoder() {
    for (path, wanted) in cases() {
        let name = stem(&path);
        let file = path.file_name().unwrap().to_str().unwrap();
        // Compressed without random access, and with it.
        let trace = import(file, &std::fs::read(&path).unwrap(), None).unwrap();
        check(&name, &trace, &wanted);
        let bytes = unpacked(&path);
        let mut import = Import::new("unknown", bytes.len() as u64);
        import.can_read_again(Rc::new(bytes.clone()));
        bytes.chunks(50_001).for_each(|chunk| import.feed(chunk));
        check(&name, &import.finish().unwrap(), &wanted);
    }
}

#[test]
fn profiles_do_not_depend_on_how_they_are_cut() {
    for path in all_files(&own_dir("xplane"), &[".pb", ".gz"]) {
        let name = stem(&path);
        let mut first: Option<String> = None;
        for_each_cut("unknown", &unpacked(&path), None, &mut |way, trace| {
            let told = trace.map_or_else(|error| error.to_string(), |trace| dump(&trace));
            let first = first.get_or_insert_with(|| told.clone());
            support::assert_same_text(&format!("{name}, {way}"), &told, first);
        });
    }
}

#[test]
fn kernels_are_linked_to_the_calls_of_their_correlation_ids() {
    let mut n_linked = 0;
    for (path, _) in cases().into_iter().filter(|(path, _)| stem(path).starts_with("tracelens")) {
        let name = stem(&path);
        let trace = import("unknown", &unpacked(&path), None).unwrap();
        let all = slices(&trace);
        let process = |slice: &Slice| {
            let process = trace.threads.process[slice.thread].0 as usize;
            trace.strings.get(trace.processes.name[process])
        };
        let id = |slice: &Slice| slice.args["correlation_id"].as_u64().unwrap_or(0);
        let calls: HashSet<u64> = all.iter().filter(|slice| process(slice) == "/host:CPU").map(id).collect();
        let work: Vec<&Slice> =
            all.iter().filter(|slice| process(slice).starts_with("/device:GPU:")).collect();
        let wanted = work.iter().filter(|slice| id(slice) != 0 && calls.contains(&id(slice))).count();
        let gpu = GpuTrace::new(&trace);
        assert_eq!(gpu.work.len(), work.len(), "{name}: kernels and copies");
        let linked = gpu.work.iter().filter(|work| work.launch != NONE).count();
        assert_eq!((linked, gpu.ambiguous.n()), (wanted, 0), "{name}: linked");
        for work in &gpu.work {
            let device = gpu.devices[gpu.streams[work.stream as usize].device as usize];
            assert_eq!(trace.processes.key[device.process.0 as usize], Key::Number(device.number.unwrap()));
        }
        let copies = gpu.work.iter().filter(|work| work.kind == Kind::Copy).count();
        assert_eq!(copies, if name.ends_with("legacy") { 53 } else { 0 }, "{name}: copies");
        n_linked += linked;
    }
    assert!(n_linked > 0);
}

/// Writes the metadata of an event or a stat.
fn name(plane: &mut Vec<u8>, map: u64, id: u64, name: &str, rest: &[(u64, &[u8])]) {
    plane.message(map, |entry| {
        entry.number(1, id);
        entry.message(2, |meta| {
            meta.number(1, id);
            meta.bytes(2, name.as_bytes());
            rest.iter().for_each(|(field, bytes)| meta.bytes(*field, bytes));
        });
    });
}

/// Writes an event: id, start and duration in picoseconds, texts by id of their stat, numbers by id of their stat.
fn event(
    line: &mut Vec<u8>,
    (id, offset, dur): (u64, u64, u64),
    texts: &[(u64, &str)],
    numbers: &[(u64, u64)],
) {
    line.message(4, |event| {
        event.number(1, id);
        event.number(2, offset);
        event.number(3, dur);
        for (stat, text) in texts {
            event.message(4, |message| {
                message.number(1, *stat);
                message.bytes(5, text.as_bytes());
            });
        }
        for (stat, number) in numbers {
            event.message(4, |message| {
                message.number(1, *stat);
                message.number(3, *number);
            });
        }
    });
}

fn line(plane: &mut Vec<u8>, id: u64, name: &str, events: impl FnOnce(&mut Vec<u8>)) {
    plane.message(3, |line| {
        line.number(1, id);
        line.bytes(2, name.as_bytes());
        line.number(3, 1000);
        events(line);
    });
}

/// All that is told about the slices of a trace: thread, category, name, start, duration.
fn told(trace: &Trace) -> Vec<String> {
    let all = slices(trace).into_iter().map(|slice| {
        let thread = trace.strings.get_opt(trace.threads.name[slice.thread]).unwrap_or("-");
        format!("{thread} | {} | {} | {} {}", slice.category, slice.name, slice.start, slice.dur)
    });
    all.collect()
}

#[test]
fn a_tpu_is_a_device_whose_loops_are_not_counted_twice() {
    let mut space = Vec::new();
    space.message(1, |plane| {
        plane.bytes(2, b"/device:TPU:0");
        // Names come behind the lines.
        line(plane, 1, "XLA Ops", |line| {
            event(line, (1, 0, 10_000_000), &[], &[]);
            event(line, (2, 1_000_400, 2_000_000), &[], &[]);
            event(line, (2, 4_000_000, 5_000_000), &[], &[(1, u64::MAX)]);
            event(line, (3, 10_000_000, 1_000_000), &[], &[]);
        });
        line(plane, 2, "Steps", |line| {
            event(line, (4, 0, 9_500_000), &[], &[]);
            event(line, (5, 9_500_000, 3_000_000), &[], &[]);
        });
        line(plane, 3, "Async XLA Ops", |line| event(line, (3, 0, 9_000_000), &[], &[]));
        name(plane, 4, 1, "%while.1 = (s32[]) while(%p)", &[(4, b"while.1")]);
        name(
            plane,
            4,
            2,
            "%fusion.2 = f32[8]{0} fusion(%p)",
            &[(4, b"fusion.2"), (5, b"\x08\x02\x18\x80\x08")],
        );
        name(plane, 4, 3, "copy.3", &[]);
        name(plane, 4, 4, "7", &[]);
        name(plane, 4, 5, "8", &[]);
        name(plane, 5, 1, "run_id", &[]);
        name(plane, 5, 2, "flops", &[]);
    });
    let trace = import("x.xplane.pb", &space, None).unwrap();
    let mut told = told(&trace);
    told.sort();
    assert_eq!(
        told,
        [
            "Async XLA Ops |  | copy.3 | 1000 9000",
            "Steps |  | 7 | 1000 9500",
            "Steps |  | 8 | 10500 3000",
            "XLA Ops |  | while.1 | 1000 10000",
            "XLA Ops | kernel | copy.3 | 11000 1000",
            "XLA Ops | kernel | fusion.2 | 2000 2000",
            "XLA Ops | kernel | fusion.2 | 5000 5000",
        ]
    );
    let all = slices(&trace);
    let fusions: Vec<&Value> =
        all.iter().filter(|slice| slice.name == "fusion.2").map(|slice| &slice.args).collect();
    let text = "%fusion.2 = f32[8]{0} fusion(%p)";
    assert_eq!(
        *fusions[0],
        json!({"flops": 1024, "offset_ps": 1_000_400, "duration_ps": 2_000_000, "long_name": text})
    );
    assert_eq!(*fusions[1], json!({"run_id": u64::MAX, "flops": 1024}));
    assert_eq!(trace.ledger.count_of("xplane-picoseconds"), 1);
    let gpu = GpuTrace::new(&trace);
    assert_eq!((gpu.devices.len(), gpu.work.len(), gpu.steps.len()), (1, 3, 2));
    assert_eq!(gpu.work.iter().map(|work| work.step).collect::<Vec<_>>(), [0, 0, 1]);
    assert_eq!(gpu.device_label(0), "/device:TPU:0");
}

/// Operations of 200, 200, 300 and 300 µs, the last two of them collectives. Nothing is between 900 and 1,000 µs.
#[test]
fn a_tpu_has_the_reports_of_a_gpu() {
    let us = 1_000_000;
    let mut space = Vec::new();
    space.message(1, |plane| {
        plane.bytes(2, b"/device:TPU:0");
        line(plane, 3, "XLA Ops", |line| {
            event(line, (1, 0, 200 * us), &[], &[]);
            event(line, (1, 200 * us, 200 * us), &[], &[]);
            event(line, (2, 600 * us, 300 * us), &[], &[]);
            event(line, (3, 1000 * us, 300 * us), &[], &[]);
        });
        name(plane, 4, 1, "%fusion.2 = f32[8]{0} fusion(%p)", &[(4, b"fusion.2")]);
        name(plane, 4, 2, "%all-reduce.3 = f32[8]{0} all-reduce(%p)", &[(4, b"all-reduce.3")]);
        name(plane, 4, 3, "%all-gather.1 = f32[8]{0} all-gather(%p)", &[(4, b"all-gather.1")]);
    });
    let trace = import("x.xplane.pb", &space, None).unwrap();
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let cells = |table: &str, columns: [&str; 2]| -> Vec<[String; 2]> {
        let table = reports.iter().flat_map(|report| report.tables()).find(|own| own.id == table).unwrap();
        let cell = |row: usize, id: &str| table.column(id).unwrap().cells.get(row).plain();
        let mut rows: Vec<_> = (0..table.n_rows()).map(|row| columns.map(|id| cell(row, id))).collect();
        rows.sort();
        rows
    };
    let time = |part: &str| {
        let parts = cells("breakdown", ["part", "time"]);
        parts.into_iter().find(|row| row[0] == part).unwrap()[1].clone()
    };
    let parts = ["computation", "exposed communication", "idle"].map(time);
    assert_eq!(parts, ["400000", "600000", "300000"]);
    assert_eq!(
        cells("collectives", ["collective", "total"]),
        [["all-gather", "300000"], ["all-reduce", "300000"]]
    );
    assert_eq!(
        cells("kernels", ["name", "total"]),
        [["all-gather.1", "300000"], ["all-reduce.3", "300000"], ["fusion.2", "400000"]]
    );
    assert!(reports.iter().any(|report| report.id == "gpu-idle"));
}

#[test]
fn kernels_copies_and_fills_have_the_layout_of_kineto() {
    let mut space = Vec::new();
    space.message(1, |plane| {
        plane.bytes(2, b"/device:GPU:1");
        for (id, stat) in
            [(1, "kernel_details"), (2, "memcpy_details"), (3, "memset_details"), (4, "correlation_id")]
        {
            name(plane, 5, id, stat, &[]);
        }
        for (id, text) in [(1, "fusion"), (2, "MemcpyH2D"), (3, "Memset"), (4, "fusion.1")] {
            name(plane, 4, id, text, &[]);
        }
        line(plane, 7, "Stream #7(Kernel,MemcpyH2D,Memset)", |line| {
            let details = "regs:32 static_shared:16 dynamic_shared:8 grid:9,1,1 block:64,2,1 occ_pct:50";
            event(line, (1, 0, 1_000_000), &[(1, details)], &[(4, 5)]);
            event(
                line,
                (2, 1_000_000, 1_000_000),
                &[(2, "kind_src:host kind_dst:device size:4000 dest:1 async:1")],
                &[],
            );
            event(line, (3, 2_000_000, 0), &[(3, "kind:device num_bytes:64 async:1")], &[]);
        });
        // What is derived takes no time of the GPU.
        line(plane, 100, "XLA Ops", |line| event(line, (4, 0, 3_000_000), &[], &[]));
    });
    space.message(1, |plane| {
        plane.bytes(2, b"/host:CPU");
        name(plane, 4, 1, "cuLaunchKernel", &[]);
        name(plane, 4, 2, "train", &[]);
        name(plane, 4, 3, "$train.py:7 step", &[]);
        name(plane, 5, 1, "correlation_id", &[]);
        name(plane, 5, 2, "step_num", &[]);
        // Name and start behind the events.
        plane.message(3, |line| {
            event(line, (2, 0, 900_000), &[], &[(2, 12)]);
            event(line, (3, 0, 800_000), &[], &[]);
            event(line, (1, 100_000, 0), &[], &[(1, 5)]);
            line.number(3, 500);
            line.bytes(2, b"python");
            line.bytes(11, b"main/1");
        });
    });
    let trace = import("x.xplane.pb", &space, None).unwrap();
    let mut told = told(&trace);
    told.sort();
    assert_eq!(
        told,
        [
            "Steps |  | 12 | 500 900",
            "Stream #7(Kernel,MemcpyH2D,Memset) | gpu_memcpy | MemcpyH2D | 2000 1000",
            "Stream #7(Kernel,MemcpyH2D,Memset) | gpu_memset | Memset | 3000 0",
            "Stream #7(Kernel,MemcpyH2D,Memset) | kernel | fusion | 1000 1000",
            "XLA Ops |  | fusion.1 | 1000 3000",
            "main/1 | cuda_driver | cuLaunchKernel | 600 0",
            "main/1 | python_function | $train.py:7 step | 500 800",
            "main/1 | user_annotation | train | 500 900",
        ]
    );
    let all = slices(&trace);
    let args =
        |name: &str| all.iter().find(|slice| slice.name == name).map(|slice| slice.args.clone()).unwrap();
    let kernel = args("fusion");
    assert_eq!(
        (&kernel["correlation"], &kernel["grid"], &kernel["block"]),
        (&json!(5), &json!([9, 1, 1]), &json!([64, 2, 1]))
    );
    assert_eq!((&kernel["registers per thread"], &kernel["shared memory"]), (&json!(32), &json!(24)));
    assert_eq!(
        (&args("MemcpyH2D")["bytes"], &args("MemcpyH2D")["memory bandwidth (GB/s)"]),
        (&json!(4000), &json!(4))
    );
    assert_eq!(args("Memset")["bytes"], json!(64));
    assert!(all.iter().any(|slice| slice.name == "cuLaunchKernel" && slice.is_instant));
    let gpu = GpuTrace::new(&trace);
    assert_eq!((gpu.work.len(), gpu.steps.len()), (3, 1));
    assert_eq!((gpu.name(gpu.work[0].launch), gpu.work[0].step), ("cuLaunchKernel", 0));
}

#[test]
fn groups_of_kernels_are_steps_where_nothing_else_is() {
    let mut space = Vec::new();
    space.message(1, |plane| {
        plane.bytes(2, b"/device:GPU:0");
        name(plane, 4, 1, "fusion", &[]);
        name(plane, 5, 1, "group_id", &[]);
        line(plane, 1, "Stream #1(Kernel)", |line| {
            event(line, (1, 0, 1_000_000), &[], &[(1, 3)]);
            event(line, (1, 5_000_000, 1_000_000), &[], &[(1, 4)]);
        });
        line(plane, 2, "Stream #2(Kernel)", |line| event(line, (1, 2_000_000, 1_000_000), &[], &[(1, 3)]));
    });
    let trace = import("x.xplane.pb", &space, None).unwrap();
    let told: Vec<String> = told(&trace).into_iter().filter(|told| told.starts_with("Steps")).collect();
    assert_eq!(told, ["Steps |  | 3 | 1000 3000", "Steps |  | 4 | 6000 1000"]);
    let gpu = GpuTrace::new(&trace);
    assert_eq!(gpu.work.iter().map(|work| work.step).collect::<Vec<_>>(), [0, 0, 1]);
}

/// A line of operations without the streams that it sums up.
#[test]
fn summaries_alone_are_no_empty_trace() {
    let mut space = Vec::new();
    space.message(1, |plane| {
        plane.bytes(2, b"/device:GPU:0");
        name(plane, 4, 1, "fusion.1", &[]);
        line(plane, 1, "XLA Ops", |line| event(line, (1, 0, 100_000_000), &[], &[]));
    });
    let trace = import("x.xplane.pb", &space, None).unwrap();
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let report = reports.iter().find(|report| report.id == "slices").unwrap();
    assert_eq!(report.summary, "Only summaries (1 slice).");
    let tables: Vec<(&str, usize)> = report.tables().map(|table| (&*table.id, table.n_rows())).collect();
    assert_eq!(tables, [("summaries", 1)]);
}

#[test]
fn profiles_that_were_converted_as_text_are_named() {
    let bytes = std::fs::read(own_dir("xplane").join("odd_text_converted.xplane.pb")).unwrap();
    let error = import("x.xplane.pb", &bytes, None).err().unwrap();
    assert!(error.what.contains("converted as text"), "{error}");
}

#[test]
fn changed_and_cut_profiles_never_panic() {
    for path in all_files(&own_dir("xplane"), &["made_odd.xplane.pb", "made_times_zero.xplane.pb"]) {
        let bytes = unpacked(&path);
        let mut random = support::Random(7);
        for i in 0..150 {
            let mut changed = bytes.clone();
            for _ in 0..1 + random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                changed[at] = random.next() as u8;
            }
            if i % 3 == 0 {
                changed.truncate(random.below(bytes.len() as u64) as usize);
            }
            if let Ok(trace) = import("unknown", &changed, Some(&tracedrop::import::xplane::INFO)) {
                assert_eq!(trace.ledger.unaccounted_bytes(), 0, "{}", path.display());
                assert_eq!(trace.ledger.count_of("bytes-unaccounted"), 0, "{}", path.display());
            }
        }
    }
}
