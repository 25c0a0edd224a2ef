//! Findings: each is based on existing rows, has their numbers, and is left out if the trace lacks the data.

use crate::support::{data_dirs, files, import, own_dir};
use std::path::PathBuf;
use tracedrop::analysis::{Query, reports};
use tracedrop::report::view::{TableQuery, row_order};
use tracedrop::report::{Block, Finding, Findings, Report, Stakes};
use tracedrop::trace::Run;

fn traces() -> Vec<PathBuf> {
    let sample = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("www/samples/gpu-serving.json");
    let mut all = vec![sample];
    for dir in data_dirs("pytorch") {
        all.extend(files(&dir, &[".json.gz"]));
        if dir.join("edge").is_dir() {
            all.extend(files(&dir.join("edge"), &[".json", ".json.gz"]));
        }
    }
    all
}

fn reports_of(path: &PathBuf) -> Option<Vec<Report>> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let trace = import(name, &std::fs::read(path).unwrap(), None).ok()?;
    Some(reports(&Run::single(trace), &Query::default()))
}

fn findings(reports: &[Report]) -> Option<Vec<Finding>> {
    let report = reports.iter().find(|report| report.id == "gpu-findings")?;
    Some(lists(report).into_iter().flat_map(|list| list.findings.clone()).collect())
}

/// The lists of findings: what takes the time, then what could be gained.
fn lists(report: &Report) -> Vec<&Findings> {
    let lists = report.blocks.iter().filter_map(|block| match block {
        Block::Findings(findings) => Some(findings),
        _ => None,
    });
    lists.collect()
}

fn table<'a>(reports: &'a [Report], report: &str, table: &str) -> &'a tracedrop::report::Table {
    let report = reports.iter().find(|candidate| candidate.id == report).unwrap();
    report.tables().find(|candidate| candidate.id == table).unwrap()
}

#[test]
fn each_leads_to_rows_and_is_in_order() {
    let mut n = 0;
    for path in traces() {
        let Some(reports) = reports_of(&path) else { continue };
        let Some(findings) = findings(&reports) else { continue };
        let place = path.display();
        let report = reports.iter().find(|report| report.id == "gpu-findings").unwrap();
        for list in lists(report) {
            let times: Vec<Option<i64>> = list.findings.iter().map(|finding| finding.time).collect();
            assert!(times.windows(2).all(|pair| pair[0] >= pair[1]), "{place}: {times:?}");
            // What takes the most time is no opportunity: it may be needed.
            let is_spent = |finding: &Finding| finding.id == "largest-operation";
            let are_spent = matches!(list.stakes, Stakes::Spent | Stakes::SelfTime | Stakes::Samples);
            assert!(list.findings.iter().all(|it| is_spent(it) == are_spent), "{place}");
        }
        for finding in findings {
            n += 1;
            assert!(!finding.evidence.is_empty(), "{place}: {}", finding.text);
            assert!(finding.time.is_none_or(|ns| ns > 0), "{place}: {}", finding.text);
            assert!(finding.share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{place}: {finding:?}");
            let rows =
                finding.rows.as_ref().unwrap_or_else(|| panic!("{place}: {} leads nowhere", finding.id));
            let table = table(&reports, &rows.report, &rows.table);
            let query = TableQuery { sort: None, filter: rows.filter.clone() };
            assert!(!row_order(table, &query).unwrap().is_empty(), "{place}: no rows for {rows:?}");
        }
    }
    assert!(n > 15, "only {n} findings");
}

/// A renamed column id would silence a rule.
#[test]
fn every_rule_speaks() {
    let mut said: Vec<String> = Vec::new();
    for path in traces() {
        let found = reports_of(&path).and_then(|reports| findings(&reports)).unwrap_or_default();
        said.extend(found.into_iter().map(|finding| finding.id));
    }
    let mut expected = vec![
        "waits-for-host",
        "gaps-between-kernels",
        "exposed-communication",
        "uneven-collectives",
        "slow-steps",
        "unfused",
        "largest-operation",
    ];
    if data_dirs("pytorch").len() > 1 {
        expected.extend([
            "exposed-copies",
            "launches-not-recorded",
            "far-from-roofline",
            "few-blocks",
            "waits-for-launches",
        ]);
    }
    for id in expected {
        assert!(said.iter().any(|known| known == id), "{id} is never said");
    }
}

#[test]
fn numbers_are_those_of_the_tables() {
    let reports = reports_of(&traces()[0]).unwrap();
    let findings = findings(&reports).unwrap();
    let host = findings.iter().find(|finding| finding.id == "waits-for-host").unwrap();
    let idle = table(&reports, "gpu-idle", "idle");
    let cause = &idle.column("cause").unwrap().cells;
    let row = (0..idle.n_rows()).find(|row| cause.get(*row) == "waiting for the host".into()).unwrap();
    let cell = |table: &tracedrop::report::Table, column: &str, row| {
        table.column(column).unwrap().cells.get(row).as_f64().unwrap()
    };
    let waited = cell(idle, "time", row);
    assert_eq!(waited, host.time.unwrap() as f64);
    let phases = table(&reports, "gpu-idle", "idle_by_phase");
    let decode = (0..phases.n_rows()).find(|row| {
        phases.column("phase").unwrap().cells.get(*row) == "decode".into()
            && phases.column("cause").unwrap().cells.get(*row) == "waiting for the host".into()
    });
    let of = |column: &str| cell(phases, column, decode.unwrap());
    assert!(host.text.contains(&format!("{:.1}% of decode time", 100.0 * of("share"))), "{}", host.text);
    assert!(
        host.text.contains("; `schedule` accounts for ") && host.text.ends_with(" of that wait."),
        "{}",
        host.text
    );
    // The share of the CPU slice refers to the same wait.
    let cpu = table(&reports, "gpu-cpu", "cpu");
    let by_name: Vec<f64> = (0..cpu.n_rows()).map(|row| cell(cpu, "waited", row)).collect();
    let most = by_name.iter().copied().fold(0.0, f64::max);
    assert!(
        host.text.contains(&format!("accounts for {:.1}% of that wait", 100.0 * most / waited)),
        "{}",
        host.text
    );
    assert!(by_name.iter().sum::<f64>() <= waited + 1.0);
}

/// Idle time by phase adds up to the idle time of the phases.
#[test]
fn idle_by_phase_is_the_idle_time_of_the_phases() {
    let reports = reports_of(&traces()[0]).unwrap();
    let by_phase = table(&reports, "gpu-idle", "idle_by_phase");
    let steps = table(&reports, "gpu-breakdown", "steps");
    let sum = |table: &tracedrop::report::Table, column: &str, phase: &str| -> i64 {
        let phases = &table.column("phase").unwrap().cells;
        let values = &table.column(column).unwrap().cells;
        let rows = (0..table.n_rows()).filter(|row| phases.get(*row) == phase.into());
        rows.map(|row| values.get(row).as_f64().unwrap_or(0.0) as i64).sum()
    };
    for phase in ["prefill", "decode", "mixed"] {
        assert_eq!(sum(by_phase, "time", phase), sum(steps, "idle", phase), "{phase}");
    }
}

/// Without recorded launches there are no findings about waiting.
#[test]
fn without_launches_nothing_is_said_of_waiting() {
    let text = std::fs::read_to_string(own_dir("pytorch").join("edge/gpu_only.json")).unwrap_or_else(|_| {
        // A trace with only kernels, 100 µs apart.
        let kernel = |i: u64| {
            format!(
                r#"{{"ph":"X","cat":"kernel","name":"k{i}","pid":0,"tid":7,"ts":{},"dur":10,"args":{{"stream":7,"device":0,"correlation":{}}}}}"#,
                i * 110,
                i + 1
            )
        };
        let events: Vec<String> = (0..20).map(kernel).collect();
        format!(r#"{{"schemaVersion":1,"deviceProperties":[],"traceEvents":[{}]}}"#, events.join(","))
    });
    let trace = import("gpu-only.json", text.as_bytes(), None).unwrap();
    let reports = reports(&Run::single(trace), &Query::default());
    let findings = findings(&reports).unwrap();
    assert!(findings.iter().any(|finding| finding.id == "launches-not-recorded"), "{findings:?}");
    assert!(findings.iter().all(|finding| !finding.id.starts_with("waits-")), "{findings:?}");
    let report = reports.iter().find(|report| report.id == "gpu-findings").unwrap();
    let says_why =
        |block: &Block| matches!(block, Block::Note(note) if note.text.contains("no recorded launch"));
    assert!(report.blocks.iter().any(says_why));
}

/// Kernels whose correlation id several calls have are not linked, and it is said whose calls these are.
#[test]
fn launches_that_are_ambiguous_are_not_said_to_be_missing() {
    let event = |category: &str, name: &str, pid: u64, ts: u64| {
        format!(
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":{pid},"tid":7,"ts":{ts},"dur":10,"args":{{"stream":7,"correlation":1}}}}"#
        )
    };
    for (pids, whose) in
        [([1000, 2000], "used by several processes"), ([1000, 1000], "of several calls of one process")]
    {
        let events = [
            event("cuda_runtime", "cudaLaunchKernel", pids[0], 0),
            event("cuda_runtime", "cudaLaunchKernel", pids[1], 12),
            event("kernel", "a", 0, 30),
            event("kernel", "b", 0, 60),
        ];
        let events = events.join(",");
        let text = format!(r#"{{"schemaVersion":1,"deviceProperties":[],"traceEvents":[{events}]}}"#);
        let trace = import("merged.json", text.as_bytes(), None).unwrap();
        let reports = reports(&Run::single(trace), &Query::default());
        let have = format!("2 kernels and copies have a correlation id {whose}");
        let findings = findings(&reports).unwrap();
        let idle = findings.iter().find(|finding| finding.id == "launches-not-recorded").unwrap();
        assert!(idle.text.ends_with(&format!("is unknown, since {have}.")), "{}", idle.text);
        let report = reports.iter().find(|report| report.id == "gpu-findings").unwrap();
        let warnings: Vec<&str> = report.warnings().filter(|text| text.contains("correlation id")).collect();
        let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
        assert!(warning.starts_with(&have), "{warning}");
        let told = format!("{reports:?}");
        for wrong in [
            "Start recording earlier",
            "launch is not recorded",
            "no recorded launch",
            "No launches in this trace",
        ] {
            assert!(!told.contains(wrong), "{whose}: {wrong}");
        }
    }
}

/// A gap of 100 µs whose next kernel is launched in the middle: 45 µs up to the end of the call are host-bound, 55 µs are not. All
/// reports agree, and the finding links to its row.
#[test]
fn a_gap_is_split_at_its_launch_everywhere() {
    let trace = import("late.json", &late_launch(), None).unwrap();
    let run = Run::single(trace);
    let reports = reports(&run, &Query::default());
    let time = |report: &str, name: &str, key: &str, value: &str, column: &str| -> i64 {
        let table = table(&reports, report, name);
        let keys = &table.column(key).unwrap().cells;
        let row = (0..table.n_rows()).find(|row| keys.get(*row) == value.into()).unwrap();
        table.column(column).unwrap().cells.get(row).as_f64().unwrap() as i64
    };
    for table in ["idle", "gaps"] {
        assert_eq!(time("gpu-idle", table, "cause", "waiting for the host", "time"), 45_000, "{table}");
        assert_eq!(time("gpu-idle", table, "cause", "stalled after launch", "time"), 55_000, "{table}");
    }
    assert_eq!(time("gpu-idle", "gaps", "cause", "stalled after launch", "gap"), 100_000);
    assert_eq!(time("gpu-cpu", "cpu", "name", "schedule", "waited"), 35_000);
    assert_eq!(time("gpu-cpu", "cpu", "name", "cudaLaunchKernel", "waited"), 5_000);
    assert_eq!(time("gpu-critical-path", "critical_path", "bound", "launch", "time"), 55_000);
    let findings = findings(&reports).unwrap();
    let said = |id: &str| findings.iter().find(|finding| finding.id == id).unwrap();
    assert_eq!(said("waits-for-host").time, Some(45_000));
    assert_eq!(said("waits-on-gpu").time, Some(55_000));
    for (id, cause) in [("waits-for-host", "waiting for the host"), ("waits-on-gpu", "stalled after launch")]
    {
        let rows = said(id).rows.as_ref().unwrap();
        assert_eq!((rows.report.as_str(), rows.table.as_str()), ("gpu-idle", "gaps"), "{id}");
        let shown = table(&reports, &rows.report, &rows.table);
        let order = row_order(shown, &TableQuery { sort: None, filter: rows.filter.clone() }).unwrap();
        let causes: Vec<_> =
            order.iter().map(|row| shown.column("cause").unwrap().cells.get(*row as usize)).collect();
        assert_eq!(causes, [cause.into()], "{id}");
    }
}

#[test]
fn a_single_kernel_is_fused_with_nothing() {
    let said = |n: u64| {
        let kernel = |at: u64| {
            let ts = 100 * at;
            format!(
                r#"{{"ph":"X","cat":"kernel","name":"vectorized_elementwise_kernel","pid":0,"tid":7,"ts":{ts},"dur":100,"args":{{"stream":7}}}}"#
            )
        };
        let events: Vec<String> = (0..n).map(kernel).collect();
        let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
        let trace = import("k.json", text.as_bytes(), None).unwrap();
        let reports = reports(&Run::single(trace), &Query::default());
        findings(&reports).unwrap().into_iter().any(|finding| finding.id == "unfused")
    };
    assert_eq!((said(1), said(2)), (false, true));
}

/// Kernels from 10 to 100 µs and from 200 to 300 µs; the second one is launched from 140 to 145 µs.
fn late_launch() -> Vec<u8> {
    let x = |cat: &str, name: &str, tid: u64, ts: u64, dur: u64, args: &str| {
        let pid = u64::from(tid == 1);
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":{pid},"tid":{tid},"ts":{ts},"dur":{dur},"args":{{{args}}}}}"#
        )
    };
    let on_gpu = |correlation: u64| format!(r#""stream":7,"device":0,"correlation":{correlation}"#);
    let events = [
        x("cuda_runtime", "cudaLaunchKernel", 1, 1, 5, r#""correlation":1"#),
        x("kernel", "first", 7, 10, 90, &on_gpu(1)),
        x("cpu_op", "schedule", 1, 105, 35, ""),
        x("cuda_runtime", "cudaLaunchKernel", 1, 140, 5, r#""correlation":2"#),
        x("kernel", "second", 7, 200, 100, &on_gpu(2)),
    ];
    format!(r#"{{"schemaVersion":1,"deviceProperties":[],"traceEvents":[{}]}}"#, events.join(","))
        .into_bytes()
}

/// Kernels that are captured into a graph don't run: the GPU's idle time is nobody's fault.
#[test]
fn captures_of_graphs_are_not_host_bound() {
    let opportunities = |annotation: &str| {
        let mut events = vec![format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"{annotation}","pid":1,"tid":1,"ts":0,"dur":1000}}"#
        )];
        // Two kernels of 2 µs, each launched right before it runs, 900 µs apart.
        for (n, ts) in [(1, 50), (2, 950)] {
            let launch = ts - 5;
            events.push(format!(
                r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{launch},"dur":4,
                "args":{{"correlation":{n}}}}}"#
            ));
            events.push(format!(
                r#"{{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{ts},"dur":2,
                "args":{{"correlation":{n},"device":0,"stream":7}}}}"#
            ));
        }
        let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
        let trace = import("a.json", text.as_bytes(), None).unwrap();
        let reports = reports(&Run::single(trace), &Query::default());
        let report = reports.iter().find(|report| report.id == "gpu-findings").unwrap();
        let ids: Vec<String> = findings(&reports).unwrap().into_iter().map(|it| it.id).collect();
        (report.summary.clone(), ids)
    };
    let (summary, ids) = opportunities("forward");
    assert!(summary.starts_with("The GPU was busy"), "{summary}");
    assert!(ids.iter().any(|id| id == "waits-for-host"), "{ids:?}");
    let (summary, ids) = opportunities("capture_32_FULL");
    assert!(summary.contains("graphs: kernels are recorded, not run"), "{summary}");
    assert!(!ids.iter().any(|id| id == "waits-for-host"), "{ids:?}");
}

/// Shares say what they are of: threads run beside each other, and some profiles count only some of their samples.
#[test]
fn shares_of_self_time_and_of_samples_are_called_that() {
    let reports = |name: &str, text: &str| {
        let trace = import(name, text.as_bytes(), None).unwrap();
        reports(&Run::single(trace), &Query::default())
    };
    // Two threads wait at the same time: 20 µs of self time in the first 10 µs.
    let wait = |tid: u32| format!(r#"{{"ph":"X","name":"wait","pid":1,"tid":{tid},"ts":0,"dur":10}}"#);
    let load = r#"{"ph":"X","name":"load","pid":1,"tid":3,"ts":10,"dur":10}"#;
    let reports_of_slices = reports("a.json", &format!("[{},{},{load}]", wait(1), wait(2)));
    let overview = reports_of_slices.iter().find(|report| report.id == "overview").unwrap();
    let largest = lists(overview)[0];
    assert_eq!((largest.stakes, largest.findings[0].time), (Stakes::SelfTime, Some(20_000)));

    let path = own_dir("situations").join("profile-that-waits.jsonl");
    let text = std::fs::read_to_string(path).unwrap().replace(r#""mode":"wall""#, r#""mode":"gil""#);
    let reports = reports("a.jsonl", &text);
    let frames = reports.iter().find(|report| report.id == "hot-frames").unwrap();
    assert!(frames.summary.ends_with("samples of threads holding the GIL)."), "{}", frames.summary);
    assert_eq!(lists(frames)[0].stakes, Stakes::Samples);
    assert!(lists(frames)[0].caption.starts_with("Percentages of all samples of threads holding the GIL."));
}

/// Slices of one name that take too long are one finding, with the time beyond the median in all of them.
#[test]
fn outliers_of_one_name_are_one_finding() {
    // 37 slices of 10 µs, and three of 100, 101 and 102 µs: 90 + 91 + 92 = 273 µs too many.
    let durations = (0..37).map(|_| 10).chain([100, 101, 102]);
    let mut at = 0;
    let event = |dur: u32| {
        at += dur;
        format!(r#"{{"ph":"X","name":"gemm","pid":1,"tid":1,"ts":{},"dur":{dur}}}"#, at - dur)
    };
    let events: Vec<String> = durations.map(event).collect();
    let trace = import("a.json", format!("[{}]", events.join(",")).as_bytes(), None).unwrap();
    let reports = reports(&Run::single(trace), &Query::default());
    let overview = reports.iter().find(|report| report.id == "overview").unwrap();
    let unusual: Vec<&Finding> = lists(overview)
        .into_iter()
        .flat_map(|list| &list.findings)
        .filter(|it| it.id == "unusual-slice")
        .collect();
    assert_eq!(unusual.len(), 1);
    let text = "3 “gemm” took 100.0 µs to 102.0 µs, compared with a median of 10.00 µs over 40 slices.";
    assert_eq!((&*unusual[0].text, unusual[0].time), (text, Some(273_000)));
}

/// Kernels that no rule knows have nothing in common, so the largest is named instead of them all.
#[test]
fn unknown_kernels_are_named_one_by_one() {
    let kernel = |name: &str, ts: u32, dur: u32| {
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":{dur},
            "args":{{"device":0,"stream":7}}}}"#
        )
    };
    let events = [kernel("gossip_quiet", 0, 60), kernel("search_beam", 60, 40)].join(",");
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{events}]}}"#);
    let trace = import("a.json", text.as_bytes(), None).unwrap();
    let found = findings(&reports(&Run::single(trace), &Query::default())).unwrap();
    let largest = found.iter().find(|finding| finding.id == "largest-operation").unwrap();
    assert_eq!(largest.text, "gossip_quiet accounts for 60.0% of kernel time, 1 launch.");
    assert_eq!(largest.time, Some(60_000));
}

/// Data that is partly there is summed up in one sentence, and its share is of what it covers.
#[test]
fn partly_recorded_data_is_told_once() {
    let event = |cat: &str, name: &str, ts: u32, correlation: u32| {
        format!(
            r#"{{"ph":"X","cat":"{cat}","name":"{name}","pid":0,"tid":7,"ts":{ts},"dur":2,
            "args":{{"correlation":{correlation},"device":0,"stream":7}}}}"#
        )
    };
    // Of two kernels, the second was launched before recording started.
    let events = [
        event("cuda_runtime", "cudaLaunchKernel", 0, 1),
        event("kernel", "gemm", 10, 1),
        event("kernel", "gemm", 20, 2),
    ];
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
    let trace = import("a.json", text.as_bytes(), None).unwrap();
    let reports = reports(&Run::single(trace), &Query::default());
    let report = reports.iter().find(|report| report.id == "gpu-findings").unwrap();
    let notes = report.blocks.iter().filter_map(|block| match block {
        Block::Note(note) => Some(note.text.as_str()),
        _ => None,
    });
    let detail = notes.filter(|text| text.starts_with("Trace detail: ")).collect::<String>();
    let told = "Launches cover only 50.0% of kernel time; no operators, Python frames, steps, modules, shapes or \
                synchronization events. See";
    assert!(detail.contains(told), "{detail}");
}
