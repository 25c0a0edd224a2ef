//! GPU reports, compared with outputs of other tools on the same recordings, and with the known contents of hand-made files.
//! Outputs of the tools are in `golden/<tool>/` next to the recordings. If a tool is known to be wrong or to mean something else,
//! the tests say so where they skip it; numbers such as Q4 refer to the list of quirks in the description of the tools.

pub mod golden;
mod hostile;
mod hta;
mod tables;
mod tracelens;
mod wafer;

use crate::support::{Random, data_dirs, files, import, own_dir};
use golden::{Read, Recording, each_golden, each_recording, recordings};
use serde_json::Value;
use std::collections::BTreeMap;
use tracedrop::analysis::gpu::annotation::{Annotation, Phase};
use tracedrop::analysis::gpu::model::NONE;
use tracedrop::analysis::gpu::parts::{Activity, Parts, step_windows};
use tracedrop::analysis::gpu::steps::NO_STEP;
use tracedrop::analysis::gpu::{GpuTrace, Kind};
use tracedrop::analysis::{self, Query};
use tracedrop::trace::{Run, Trace};

#[test]
fn times_agree_with_hta() {
    each_golden("hta", hta::compare);
}

#[test]
fn times_and_operators_agree_with_tracelens() {
    each_golden("tracelens", tracelens::compare);
}

#[test]
fn kernels_agree_with_wafer() {
    each_golden("wafer", wafer::compare);
}

#[test]
fn sums_add_up() {
    each_recording(|Read { trace, .. }, check| {
        let run = Run::single(trace.clone());
        let query = Query::default();
        let context = analysis::Context::new(&run, &query);
        for gpu in context.gpu() {
            for device in 0..gpu.devices.len() as u32 {
                let activity = Activity::new(gpu, device);
                let Some(window) = activity.window else { continue };
                let whole = activity.parts(window);
                let busy = whole.computation + whole.exposed_communication + whole.exposed_copies;
                let sum = busy + whole.idle + whole.unrecorded;
                check.same("parts", sum, window.1 - window.0);
                check.same("total", whole.total, window.1 - window.0);
                check.same(
                    "communication",
                    whole.hidden_communication,
                    whole.communication - whole.exposed_communication,
                );
                // Steps cover the window without gaps, so their sum equals the whole.
                let steps = step_windows(gpu, device, window);
                if let (Some(first), Some(last)) = (steps.first(), steps.last()) {
                    check.same("steps", (first.window.0, last.window.1), window);
                    check.that(
                        "steps follow each other",
                        steps.windows(2).all(|pair| pair[0].window.1 == pair[1].window.0),
                    );
                    let mut sum = Parts::default();
                    steps.iter().for_each(|step| sum.add(&activity.parts(step.window)));
                    check.same("parts of steps", sum, whole);
                }
            }
            let work: i64 = gpu.work.iter().map(|work| work.dur()).sum();
            // Without launches in steps there is no table of steps.
            let has_steps = |device: &u32| {
                gpu.work
                    .iter()
                    .any(|work| work.step != NO_STEP && gpu.streams[work.stream as usize].device == *device)
            };
            let window =
                |device: u32| Activity::new(gpu, device).window.map_or(0, |window| window.1 - window.0);
            let devices = || 0..gpu.devices.len() as u32;
            let wanted = [
                ("kernels", "total", work),
                ("operations", "total", work),
                ("breakdown", "time", devices().map(window).sum()),
                ("steps", "gpu_time", devices().filter(has_steps).map(window).sum()),
            ];
            let reports = analysis::reports(&run, &query);
            for (table, column, wanted) in wanted {
                let cells = golden::cells(&reports, table, &[column]);
                // Steps have no time where device records are missing.
                if table == "steps" && gpu.recorded.n_missing() > 0 {
                    continue;
                }
                let sum: i64 = cells.iter().map(|cells| cells[0].parse::<i64>().unwrap()).sum();
                check.same(table, sum, wanted);
            }
            for report in &reports {
                for table in report.tables().filter(|table| table.id == "coverage") {
                    let coverage = &table.column("coverage").unwrap().cells;
                    let values = (0..coverage.len()).filter_map(|row| coverage.get(row).as_f64());
                    check.that("coverage", values.into_iter().all(|value| (0.0..=1.0).contains(&value)));
                }
                check.that("tables", report.tables().all(|table| table.is_sound()));
            }
        }
    });
}

/// Killed profilers leave truncated files. Large files are cut less often: some 60 MB are parsed for each.
#[test]
fn a_cut_file_is_no_trouble() {
    let mut random = Random(23);
    for Recording { name, bytes } in recordings() {
        let n_cuts = (60_000_000 / (bytes.len() + 1)).clamp(1, 20);
        for _ in 0..n_cuts {
            let at = random.below(bytes.len() as u64) as usize;
            let Ok(trace) = import(&name, &bytes[..at], None) else { continue };
            let reports = analysis::reports(&Run::single(trace), &Query::default());
            assert!(
                reports.iter().flat_map(|report| report.tables()).all(|table| table.is_sound()),
                "{name} cut at {at}"
            );
        }
    }
}

/// Annotation forms found in practice, and attribution of kernels that ran long after the annotation had ended.
#[test]
fn steps_of_servers_are_known() {
    let wanted = |name: &str| match name {
        "vllm-b200-prefill" => Some((Phase::Prefill, Some(888))),
        "vllm-mi300-mixed-piecewise" => Some((Phase::Mixed, Some(8155 + 37))),
        // A scheduler step around a model step, or around nothing: one step either way.
        "vllm-mi300-decode-fullgraph" | "sglang-mi300-decode" => Some((Phase::Decode, Some(32))),
        _ => None,
    };
    each_recording(|Read { name, trace }, check| {
        let gpu = GpuTrace::new(trace);
        let found: Vec<_> =
            gpu.steps.steps.iter().map(|step| (step.what.phase, step.what.tokens())).collect();
        if let Some(wanted) = wanted(name) {
            check.same("steps", found, vec![wanted]);
            check.that("some work is in no step", gpu.work.iter().all(|work| work.step == 0));
        } else {
            check.that("a phase", found.iter().all(|step| *step == (Phase::Unknown, None)));
        }
        check.same("captures", gpu.steps.n_captures, usize::from(name == "vllm-mi300-graph-capture"));
        if name == "triton-a100" {
            // Its only step is in a different process than all calls.
            check.that("the kernel is in no step", gpu.work.iter().all(|work| work.step == 0));
        }
    });
}

fn edge(name: &str) -> Trace {
    let path = own_dir("pytorch").join("edge").join(name);
    import(name, &std::fs::read(path).unwrap(), None).unwrap()
}

/// The sample has content in every report.
#[test]
fn the_sample_shows_what_the_reports_can_do() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/www/samples/gpu-serving.json");
    let trace = import("gpu-serving.json", &std::fs::read(path).unwrap(), None).unwrap();
    assert_eq!((trace.ledger.repaired.records, trace.ledger.skipped.records), (0, 0));
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let summary = |id: &str| {
        let report = reports.iter().find(|report| report.id == id);
        report.unwrap_or_else(|| panic!("no {id}")).summary.clone()
    };
    let cells = |table: &str, columns: &[&str]| golden::cells(&reports, table, columns);
    let numbers = |table: &str, column: &str| -> Vec<f64> {
        cells(table, &[column]).iter().filter_map(|row| row[0].parse().ok()).collect()
    };
    let coverage = numbers("coverage", "coverage");
    assert!(coverage.len() == 6 && coverage.iter().all(|share| *share > 0.99), "{coverage:?}");
    assert_eq!(cells("phases", &["phase", "steps"]), [["prefill", "1"], ["decode", "8"], ["mixed", "1"]]);
    assert!(summary("gpu-layers").starts_with("8 layers"), "{}", summary("gpu-layers"));
    assert!(summary("gpu-cpu").contains(": schedule` accounts for "), "{}", summary("gpu-cpu"));
    assert!(cells("operations", &["operation"]).iter().all(|row| row[0] != "Other"));
    // Matrix products are neither at the roofline nor near 0.
    let mut n_products = 0;
    for row in cells("shapes", &["name", "of_roofline"]).iter().filter(|row| row[0] == "aten::mm") {
        n_products += 1;
        let share: f64 = row[1].parse().unwrap();
        assert!((0.2..=0.8).contains(&share), "{row:?}");
    }
    assert!(n_products > 10, "{n_products}");
    // Some of the communication overlaps with compute, most of it doesn't.
    let hidden = numbers("collectives", "hidden");
    assert!(hidden.iter().any(|share| *share > 0.3) && hidden.contains(&0.0), "{hidden:?}");
    assert!(!cells("live", &["op"]).is_empty());
}

#[test]
fn annotations_tell_phases() {
    let trace = edge("annotations.json");
    let slices = &trace.slices;
    let found: Vec<_> = (0..slices.len())
        .map(|i| {
            Annotation::parse(
                trace.strings.get(slices.name[i]),
                tracedrop::gpu::kernels::Rules::builtin().phases(),
            )
        })
        .map(|step| {
            step.map(|step| (step.phase, step.context.map_or(0, |c| c.1), step.generation.map_or(0, |g| g.1)))
        })
        .collect();
    // Prompt tokens and generated tokens. The last two steps have an unknown phase.
    let wanted = [
        Some((Phase::Prefill, 300, 0)),
        Some((Phase::Prefill, 888, 0)),
        Some((Phase::Decode, 0, 8)),
        Some((Phase::Mixed, 64, 3)),
        Some((Phase::Idle, 0, 0)),
        Some((Phase::Mixed, 8155, 37)),
        Some((Phase::Decode, 0, 32)),
        Some((Phase::Decode, 0, 32)),
        Some((Phase::Prefill, 15360, 0)),
        None,
        Some((Phase::Unknown, 0, 0)),
        Some((Phase::Unknown, 0, 0)),
    ];
    assert_eq!(found, wanted);
    // A report lists all steps, though no GPU was recorded.
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let text = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
    let rows: Vec<Vec<String>> =
        golden::cells(&reports, "host_steps", &["phase", "prompt_tokens", "generated_tokens"]);
    let said = wanted.iter().flatten().map(|(phase, prompt, generated)| {
        vec![phase.name().to_string(), text(Some(*prompt)), text(Some(*generated))]
    });
    let zero = |cell: &String| if cell.is_empty() { "0".to_string() } else { cell.clone() };
    let shown = rows.iter().map(|row| vec![row[0].clone(), zero(&row[1]), zero(&row[2])]);
    assert_eq!(shown.collect::<Vec<_>>(), said.collect::<Vec<_>>());
}

#[test]
fn kernels_without_ids_are_work_where_the_profiler_says_that_it_wrote_the_file() {
    let event = r#"{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2}"#;
    let kernels_of = |text: String| {
        let trace = import("k.json", text.as_bytes(), None).unwrap();
        let reports = analysis::reports(&Run::single(trace), &Query::default());
        golden::cells(&reports, "kernels", &["name", "total"])
    };
    assert_eq!(kernels_of(format!(r#"{{"schemaVersion":1,"traceEvents":[{event}]}}"#)), [["k", "2000"]]);
    // In other files the category may mean anything.
    assert!(kernels_of(format!(r#"{{"traceEvents":[{event}]}}"#)).is_empty());
}

#[test]
fn mangled_kernels_are_shown_as_their_source_names_them() {
    let events: Vec<String> = [
        "_ZN5aiter4gemmIfEEvPT_.kd",
        "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i",
        "plain_kernel",
    ]
    .iter()
    .enumerate()
    .map(|(at, name)| {
        let ts = at * 10;
        format!(r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":{},"args":{{"correlation":{at}}}}}"#, 3 - at)
    })
    .collect();
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
    let trace = import("mangled.json", text.as_bytes(), None).unwrap();
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let rows = golden::cells(&reports, "kernels", &["function", "name"]);
    let functions: Vec<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    // Names that cannot be demangled are shown by their leading identifiers.
    let wanted =
        ["void aiter::gemm<float>(float*)", "sgl_hip::activation::act_and_mul_kernel<…>", "plain_kernel"];
    assert_eq!(functions, wanted);
    assert!(rows[0][1].starts_with("_ZN5aiter"), "{rows:?}");
}

/// Kernels with the phase and the call that each belongs to.
fn kernels(gpu: &GpuTrace<'_>) -> Vec<(String, Option<Phase>, String)> {
    let launch = |launch: u32| if launch == NONE { "" } else { gpu.name(launch) }.to_string();
    let of = gpu.work.iter().filter(|work| work.kind == Kind::Kernel);
    of.map(|work| {
        let phase = gpu.annotation(work.step).map(|what| what.phase);
        (gpu.name(work.slice).to_string(), phase, launch(work.launch))
    })
    .collect()
}

#[test]
fn work_belongs_to_the_step_that_launched_it() {
    let trace = edge("late-gpu-work.json");
    let of = |name: &str, phase| (name.to_string(), Some(phase), "cudaLaunchKernel".to_string());
    assert_eq!(
        kernels(&GpuTrace::new(&trace)),
        [of("k_prefill", Phase::Prefill), of("k_decode", Phase::Decode)]
    );
}

#[test]
fn work_between_steps_is_in_none() {
    let event = |cat: &str, name: &str, tid: u32, span: (u32, u32), args: &str| {
        let (ts, dur) = (span.0, span.1 - span.0);
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":1,"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
        )
    };
    let mut events = vec![
        event("user_annotation", "ProfilerStep#1", 1, (0, 10), r#""External id":8"#),
        event("user_annotation", "ProfilerStep#2", 1, (20, 30), r#""External id":9"#),
        event("gpu_user_annotation", "ProfilerStep#2", 7, (200, 220), r#""External id":9"#),
    ];
    // Launch time of each, on a different thread than the steps, and its step.
    let launches = [(0, 0), (5, 0), (10, NO_STEP), (15, NO_STEP), (20, 1), (29, 1), (30, NO_STEP)];
    for (i, (ts, _)) in launches.iter().enumerate() {
        let ids = format!(r#""correlation":{}"#, i + 1);
        events.push(event("cuda_runtime", "cudaLaunchKernel", 2, (*ts, ts + 1), &ids));
        events.push(event("kernel", "k", 7, (100 + i as u32, 101 + i as u32), &ids));
    }
    // Without a launch, it belongs to the step annotation on the GPU that contains it, if any.
    for (correlation, ts) in [(50, 200), (51, 219), (52, 230)] {
        events.push(event("kernel", "k", 7, (ts, ts + 1), &format!(r#""correlation":{correlation}"#)));
    }
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
    let trace = import("steps", text.as_bytes(), None).unwrap();
    let found: Vec<u32> = GpuTrace::new(&trace).work.iter().map(|work| work.step).collect();
    let wanted = launches.iter().map(|launch| launch.1).chain([1, 1, NO_STEP]);
    assert_eq!(found, wanted.collect::<Vec<_>>());
}

/// An event of process 1 (CPU, thread 1) or 0 (GPU, stream 7); times in µs.
fn event_of(cat: &str, name: &str, (pid, tid): (u32, u32), (ts, dur): (u32, u32), args: &str) -> String {
    format!(
        r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
    )
}

const CPU: (u32, u32) = (1, 1);
const STREAM: (u32, u32) = (0, 7);

fn profile(events: &[String]) -> Trace {
    let text = format!(r#"{{"schemaVersion":1,"deviceProperties":[],"traceEvents":[{}]}}"#, events.join(","));
    import("profile", text.as_bytes(), None).unwrap()
}

/// GPUs are in the order of their numbers, whichever runs something first.
#[test]
fn gpus_are_in_order_of_their_numbers() {
    let numbers = [10, 2, 0];
    let kernels: Vec<String> = numbers
        .iter()
        .zip(1..)
        .map(|(gpu, ts)| {
            let args = format!(r#""device":{gpu},"stream":7,"correlation":{ts}"#);
            event_of("kernel", "k", (*gpu, 7), (100 * ts, 10 * ts), &args)
        })
        .collect();
    let trace = profile(&kernels);
    let gpu = GpuTrace::new(&trace);
    let found: Vec<Option<i64>> = gpu.devices.iter().map(|device| device.number).collect();
    assert_eq!(found, [Some(0), Some(2), Some(10)]);
    let of_work: Vec<(u32, i64)> =
        (gpu.work.iter()).map(|work| (gpu.streams[work.stream as usize].device, work.dur())).collect();
    assert_eq!(of_work, [(2, 10_000), (1, 20_000), (0, 30_000)]);
}

/// Of the gap of 100 µs, the first 15 end with the call at 210 µs that takes 5.
#[test]
fn calls_of_every_backend_are_linked() {
    for (category, call) in [
        ("cuda_runtime", "cudaLaunchKernel"),
        ("mtia_runtime", "mtiaLaunch_kernel"),
        ("xpu_runtime", "urEnqueueKernelLaunch"),
        ("xpu_driver", "zeCommandListAppendLaunchKernel"),
        ("privateuse1_runtime", "launchKernel"),
        ("privateuse1_driver", "launchKernel"),
    ] {
        let trace = profile(&[
            event_of("cpu_op", "aten::mm", CPU, (0, 60), ""),
            event_of(category, call, CPU, (10, 5), r#""correlation":1"#),
            event_of("kernel", "k", STREAM, (100, 100), r#""stream":7,"correlation":1"#),
            event_of(category, call, CPU, (210, 5), r#""correlation":2"#),
            event_of("kernel", "k", STREAM, (300, 100), r#""stream":7,"correlation":2"#),
        ]);
        let gpu = GpuTrace::new(&trace);
        let linked: Vec<(&str, bool)> =
            gpu.work.iter().map(|work| (gpu.name(work.launch), work.op != NONE)).collect();
        assert_eq!(linked, [(call, true), (call, false)], "{category}");
        let reports = analysis::reports(&Run::single(trace), &Query::default());
        assert_eq!(
            golden::cells(&reports, "idle", &["cause", "time"]),
            [["waiting for the host", "15000"], ["stalled after launch", "85000"]],
            "{category}"
        );
    }
}

#[test]
fn external_ids_link_kernels_whose_launches_are_missing() {
    let op = |name: &str, process: u32, ts: u32, id: u32| {
        event_of("cpu_op", name, (process, 1), (ts, 20), &format!(r#""External id":{id}"#))
    };
    let kernel = |ts: u32, dur: u32, ids: &str| {
        event_of("kernel", "k", STREAM, (ts, dur), &format!(r#""stream":7,{ids}"#))
    };
    let launch =
        event_of("cuda_runtime", "cudaLaunchKernel", CPU, (61, 5), r#""correlation":102,"External id":7"#);
    let rows = |events: &[String]| {
        let reports = analysis::reports(&Run::single(profile(events)), &Query::default());
        let mut rows = golden::cells(&reports, "ops", &["name", "direct"]);
        rows.sort();
        rows
    };
    let mut events = vec![
        op("aten::mm", 1, 0, 5),
        op("aten::add", 1, 30, 6),
        op("aten::mul", 1, 60, 7),
        launch,
        kernel(100, 100, r#""correlation":100,"External id":5"#),
        kernel(300, 50, r#""correlation":101,"External id":6"#),
        kernel(500, 50, r#""correlation":102,"External id":7"#),
        // Copies of correlation ids, as profilers of 2022 and 2023 write them, are no ids of operators.
        kernel(600, 10, r#""correlation":6,"External id":6"#),
    ];
    assert_eq!(rows(&events), [["aten::add", "50000"], ["aten::mm", "100000"], ["aten::mul", "50000"]]);
    // Without any calls and correlation ids.
    let bare = [
        op("aten::mm", 1, 0, 5),
        op("aten::add", 1, 30, 6),
        kernel(100, 100, r#""External id":5"#),
        kernel(300, 50, r#""External id":6"#),
    ];
    assert_eq!(rows(&bare), [["aten::add", "50000"], ["aten::mm", "100000"]]);
    // The operator of another program has the same id: either may have launched the kernel.
    events.push(op("aten::other", 2, 30, 6));
    assert_eq!(rows(&events), [["aten::mm", "100000"], ["aten::mul", "50000"]]);
}

/// One kernel of 100 µs within three operators, two of the same name.
#[test]
fn an_operator_that_calls_itself_counts_once() {
    let trace = profile(&[
        event_of("cpu_op", "aten::to", CPU, (0, 60), ""),
        event_of("cpu_op", "aten::to", CPU, (5, 50), ""),
        event_of("cpu_op", "aten::copy_", CPU, (8, 40), ""),
        event_of("cuda_runtime", "cudaLaunchKernel", CPU, (10, 5), r#""correlation":1"#),
        event_of("kernel", "k", STREAM, (100, 100), r#""stream":7,"correlation":1"#),
    ]);
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let mut rows = golden::cells(&reports, "ops", &["name", "direct", "subtree"]);
    rows.sort();
    assert_eq!(rows, [["aten::copy_", "100000", "100000"], ["aten::to", "0", "100000"]]);
}

#[test]
fn operators_without_time_are_no_maximum() {
    let trace = profile(&[
        event_of("cpu_op", "aten::mm", CPU, (0, 60), ""),
        event_of("cuda_runtime", "cudaLaunchKernel", CPU, (10, 5), r#""correlation":1"#),
        event_of("kernel", "k", STREAM, (100, 0), r#""stream":7,"correlation":1"#),
        event_of("kernel", "k", STREAM, (300, 10), r#""stream":7"#),
    ]);
    let reports = analysis::reports(&Run::single(trace), &Query::default());
    let summary = &reports.iter().find(|report| report.id == "gpu-ops").unwrap().summary;
    assert_eq!(summary, "Kernels of operators take no time in this trace.");
}

#[test]
fn ids_may_be_texts() {
    let trace = edge("ids-as-strings.json");
    let gpu = GpuTrace::new(&trace);
    assert_eq!(kernels(&gpu), [("k".to_string(), None, "cudaLaunchKernel".to_string())]);
    assert_eq!((gpu.devices.len(), gpu.streams[0].number), (1, Some(7)));
}

#[test]
fn a_graph_is_one_launch() {
    let run = Run::single(edge("graph-launch.json"));
    let query = Query::default();
    let context = analysis::Context::new(&run, &query);
    let gpu = &context.gpu()[0];
    assert_eq!(gpu.work.len(), 100);
    assert!(
        gpu.work
            .iter()
            .all(|work| work.launch == gpu.work[0].launch && work.op == NONE && work.step == NO_STEP)
    );
    assert!(gpu.is_graph_launch(gpu.work[0].launch));
    let cells =
        |table: &str, columns: &[&str]| golden::cells(&analysis::reports(&run, &query), table, columns);
    assert_eq!(cells("launches", &["call", "calls", "work"]), [["cudaGraphLaunch", "1", "100"]]);
    assert_eq!(cells("queues", &["stream", "max"]), [["7", "1"]]);
}

#[test]
fn frames_whose_parents_are_in_a_circle_nest_by_time() {
    let trace = edge("python-cycle.json");
    let kinds = tracedrop::analysis::gpu::Kinds::of(&trace);
    assert!(trace.slices.category.iter().all(|category| kinds.get(*category) == Kind::Python));
    assert_eq!(trace.slices.depth.iter().collect::<Vec<_>>(), [0, 1, 2]);
}

/// Every trace with a dialect quirk has all reports.
#[test]
fn oddities_have_sound_reports() {
    let dir = own_dir("pytorch").join("edge");
    let expected: BTreeMap<String, Value> =
        serde_json::from_slice(&std::fs::read(dir.join("expected.json")).unwrap()).unwrap();
    for name in expected.keys() {
        let Ok(trace) = import(name, &std::fs::read(dir.join(name)).unwrap(), None) else { continue };
        for report in analysis::reports(&Run::single(trace), &Query::default()) {
            assert!(report.tables().all(|table| table.is_sound()), "{name}: {}", report.id);
        }
    }
}

/// Bytes over time add up to those of all copies and fills with a recorded size.
#[test]
fn bytes_over_time_add_up() {
    for path in data_dirs("pytorch").iter().flat_map(|dir| files(dir, &[".json.gz"])) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let Ok(trace) = import(name, &std::fs::read(&path).unwrap(), None) else { continue };
        let reports = analysis::reports(&Run::single(trace), &Query::default());
        let Some(report) = reports.iter().find(|report| report.id == "gpu-memory") else { continue };
        let sum = |id: &str, with_kernels: bool| -> f64 {
            let Some(table) = report.tables().find(|table| table.id == id) else { return 0.0 };
            let names = table.columns.iter().find(|column| column.id == "name");
            let is_meant = |row: &usize| {
                with_kernels || names.is_none_or(|names| names.cells.get(*row).plain().starts_with("Mem"))
            };
            let bytes = &table.column("bytes").unwrap().cells;
            (0..table.n_rows()).filter(is_meant).filter_map(|row| bytes.get(row).as_f64()).sum()
        };
        assert_eq!(sum("copies", false), sum("bandwidth", true), "{name}");
    }
}

/// A trace with allocator events at 1, 2, … µs, each with bytes, address and the allocator's total.
fn with_allocations(events: &[(i64, u64, Option<u64>)]) -> Trace {
    let events = events.iter().zip(1..).map(|((bytes, address, total), ts)| {
        let mut args = serde_json::json!({"Bytes": bytes, "Addr": address, "Device Type": 1, "Device Id": 0});
        if let Some(total) = total {
            args["Total Allocated"] = (*total).into();
        }
        serde_json::json!({
            "ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts,
            "args": args,
        })
    });
    let operator = serde_json::json!({
        "ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 1, "tid": 1, "ts": 0, "dur": 60,
    });
    let events: Vec<Value> = std::iter::once(operator).chain(events).collect();
    let json = serde_json::json!({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events});
    import("memory.json", json.to_string().as_bytes(), None).unwrap()
}

/// What is freed without a recorded allocation was in use before, so memory in use is never below zero.
#[test]
fn memory_in_use_counts_what_was_there_before() {
    // Events, then the peak, the end and the values over time; the first one is before the first event.
    type Case<'a> = (&'a [(i64, u64, Option<u64>)], (f64, f64), &'a [f64], &'a str);
    let cases: [Case<'_>; 5] = [
        // 5000 bytes at address 9 were there before.
        (
            &[(1000, 1, None), (3000, 2, None), (-1000, 1, None), (-5000, 9, None)],
            (9000.0, 3000.0),
            &[5000.0, 6000.0, 9000.0, 8000.0, 3000.0],
            "Peak memory: at least 8.79 KiB on GPU 0.",
        ),
        // Without addresses, the sum shows that 2000 bytes were there: 1000 − 3000.
        (
            &[(1000, 0, None), (-3000, 0, None)],
            (3000.0, 0.0),
            &[2000.0, 3000.0, 0.0],
            "Peak memory: at least 2.93 KiB on GPU 0.",
        ),
        // The peak is before the first event.
        (
            &[(-2000, 1, None), (500, 1, None)],
            (2000.0, 500.0),
            &[2000.0, 0.0, 500.0],
            "Peak memory: at least 1.95 KiB on GPU 0.",
        ),
        // A total says what was there: 11000 − 1000. Events without one go on from it.
        (
            &[(1000, 1, Some(11000)), (500, 2, None), (-8000, 3, Some(3500))],
            (11500.0, 3500.0),
            &[10000.0, 11000.0, 11500.0, 3500.0],
            "Peak memory: 11.2 KiB on GPU 0.",
        ),
        (
            &[(1000, 1, None), (-1000, 1, None)],
            (1000.0, 0.0),
            &[1000.0, 0.0],
            "Peak memory: at least 1000 B on GPU 0.",
        ),
    ];
    for (events, (peak, end), over_time, says) in cases {
        let reports = analysis::reports(&Run::single(with_allocations(events)), &Query::default());
        let report = reports.iter().find(|report| report.id == "gpu-memory").unwrap();
        assert!(report.tables().all(|table| table.is_sound()), "{events:?}");
        let column = |id: &str, column: &str| -> Vec<f64> {
            let table = report.tables().find(|table| table.id == id).unwrap();
            let column = table.column(column).unwrap();
            (0..table.n_rows()).filter_map(|row| column.cells.get(row).as_f64()).collect()
        };
        assert_eq!(column("allocations", "peak"), [peak], "{events:?}");
        assert_eq!(column("allocations", "end"), [end], "{events:?}");
        assert_eq!(column("memory_over_time", "in_use"), over_time, "{events:?}");
        assert!(report.summary.ends_with(says), "{}", report.summary);
    }
}
