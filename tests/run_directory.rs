//! Directories of runs, opened as such: the trace with what lies beside it.

use crate::support;
use crate::support::data_dirs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tracedrop::analysis::Query;
use tracedrop::analysis::memory_query::MemoryQuery;
use tracedrop::base::compat::python::float_repr;
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{Options, mrm_run, terminal};
use tracedrop::memory_run::dataset::{self, Dataset};
use tracedrop::memory_run::{TRACE, is_directory, sidecar_file};
use tracedrop::report::{Block, Cells, Mark, Report, Table};
use tracedrop::trace::{Severity, Trace};

/// Every folder below `dir` that holds a trace.
pub fn runs_in(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(if path.join(TRACE).is_file() { vec![path] } else { runs_in(&path) });
        }
    }
    found.sort();
    found
}

pub fn open(dir: &Path) -> Session {
    open_cut(dir, usize::MAX)
}

/// With no more than the first bytes of the trace.
fn open_cut(dir: &Path, max_bytes: usize) -> Session {
    let files = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    open_files(dir.file_name().unwrap().to_str().unwrap(), files, max_bytes)
}

fn open_files(name: &str, mut beside: Vec<(String, Vec<u8>)>, max_bytes: usize) -> Session {
    beside.sort();
    let at = beside.iter().position(|(name, _)| name == TRACE).unwrap();
    let (_, mut trace) = beside.remove(at);
    trace.truncate(max_bytes);
    let beside = beside.into_iter().map(|(name, content)| sidecar_file(name, content)).collect();
    let mut session = Session::new(name, trace.len() as u64, None, Query::default());
    session.lies_in_run(TRACE, beside);
    trace.chunks(1000).for_each(|piece| session.feed(piece));
    session.finish().unwrap();
    session
}

fn report_on(session: &Session) -> &Report {
    session.reports().iter().find(|report| report.id == "mrm-run").expect("a report on the directory")
}

fn table<'a>(report: &'a Report, id: &str) -> &'a Table {
    report.tables().find(|table| table.id == id).unwrap_or_else(|| panic!("no {id}"))
}

fn column(table: &Table, id: &str) -> Vec<String> {
    let column = table.column(id).unwrap_or_else(|| panic!("no {id} in {}", table.id));
    (0..table.n_rows()).map(|row| column.cells.get(row).plain()).collect()
}

#[test]
fn runs_are_as_their_manifests_say_and_their_metrics_follow_from_their_traces() {
    for dir in data_dirs("mrm") {
        for run in runs_in(&dir.join("runs")) {
            let session = open(&run);
            let report = report_on(&session);
            assert_eq!(report.summary, "All 5 files match the manifest.", "{}", run.display());
            assert_eq!(column(table(report, "files"), "state"), vec!["✓ ok"; 5]);
            let agrees = column(table(report, "stored_metrics"), "agrees");
            assert!(!agrees.is_empty() && agrees.iter().all(|agrees| agrees == "✓ the same"), "{agrees:?}");
            assert!(
                column(table(report, "metadata"), "key").contains(&"phase_boundaries.0.start_ns".to_string())
            );
            // What is written about the run is what it is trusted by.
            let trust = session.reports().iter().find(|report| report.id == "mrm").unwrap();
            let trust = format!("{:?}", trust.blocks.first());
            assert!(trust.contains("clean") && trust.contains("from the file"), "{trust}");
            // An index would be without all this.
            assert!(!session.can_be_kept());
        }
    }
}

#[test]
fn what_was_tampered_with_is_told() {
    for dir in data_dirs("mrm") {
        let mut session = open(&dir.join("runs-bad/tampered"));
        assert!(session.document().is_some());
        let report = report_on(&session);
        assert_eq!(report.summary, "2 of 5 files differ from the manifest.");
        let files = table(report, "files");
        let states: Vec<(String, String)> =
            column(files, "path").into_iter().zip(column(files, "state")).collect();
        for (path, state) in [
            ("kv_block_lifecycle.parquet", "✓ ok"),
            ("metadata.json", "✗ missing"),
            ("metrics.csv", "✗ changed"),
            ("region_map.parquet", "✓ ok"),
            ("trace.parquet", "✓ ok"),
            ("notes.txt", "? not listed"),
        ] {
            assert!(states.contains(&(path.to_string(), state.to_string())), "{path}: {states:?}");
        }
        assert!(column(table(report, "stored_metrics"), "agrees").contains(&"✗ differs".to_string()));
        // Each cell that differs is named, with what stands there and what ought to.
        let differing = table(report, "metric_differences");
        let cells = ["region_type", "column", "stored", "computed"].map(|id| column(differing, id).join(" "));
        assert_eq!(cells, ["weight", "suitability", "medium_mrl", "medium_mrm"]);
        let mut markdown = Vec::new();
        let exporter = tracedrop::export::find("markdown").unwrap();
        session.export(exporter, &Default::default(), &mut markdown).unwrap();
        assert!(
            String::from_utf8(markdown)
                .unwrap()
                .contains("from its manifest. See the report on the run directory.")
        );
    }
}

#[test]
fn what_lies_beside_a_trace_that_can_not_be_read_is_shown() {
    for dir in data_dirs("mrm") {
        for run in runs_in(&dir.join("runs")) {
            let session = open_cut(&run, 1000);
            let report = report_on(&session);
            assert_eq!(report.summary, "1 of 5 files differs from the manifest.");
            let files = table(report, "files");
            let at = column(files, "path").iter().position(|path| path == TRACE).unwrap();
            assert_eq!(column(files, "state")[at], "✗ size differs");
            assert!(
                column(table(report, "metadata"), "key").contains(&"phase_boundaries.0.start_ns".to_string())
            );
            let [trace] = &session.run().traces[..] else { panic!() };
            assert_eq!((trace.ledger.count_of("unreadable"), trace.ledger.skipped.bytes), (1, 1000));
            // It is no run among others, and no success.
            let why = session.shortfall().expect("nothing was read");
            assert!(why.contains("Parquet"), "{why}");
            assert_eq!(session.why_useless().map(|why| why.what), Some(why));
        }
    }
}

/// A trace of accesses in a directory with that `metadata.json`.
fn with_metadata(name: &str, metadata: &str) -> Session {
    let bytes = std::fs::read(support::own_dir("mrm").join("parquet-variants/codec-none.parquet")).unwrap();
    let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
    session.lies_in_run(TRACE, vec![sidecar_file("metadata.json".to_string(), metadata.as_bytes().to_vec())]);
    session.feed(&bytes);
    session.finish().unwrap();
    session
}

/// What is derived from the cost of watching counts as what was written down; heat alone says nothing of that.
#[test]
fn runs_that_were_disturbed_are_left_out_of_what_runs_have_in_common() {
    let disturbed = r#"{"observer_effect_summary": {"observer_cpu_overhead_pct_max": 55}}"#;
    let cases = [
        (disturbed, "contaminated (derived)"),
        (r#"{"run_validity": "contaminated"}"#, "contaminated"),
        (r#"{"thermal": {"run_validity": "clean", "peak_temp_c": 95}}"#, "clean"),
        (r#"{"observer_effect_summary": {"observer_cpu_overhead_pct_max": 1}}"#, "clean (derived)"),
        (r#"{"run_id": "x", "thermal": {"peak_temp_c": 95, "throttle_events": 0}}"#, ""),
        ("{}", ""),
    ];
    let sessions = cases.iter().map(|(metadata, _)| with_metadata("run", metadata)).collect();
    let together = Session::together(sessions).unwrap();
    let report = report_on(&together);
    assert_eq!(
        report.summary,
        "6 runs, 2 contaminated; 2 of unknown validity. Contaminated runs are listed but excluded from the means."
    );
    // Only runs that are known to be clean are called valid.
    let overhead =
        |percent| format!(r#"{{"observer_effect_summary": {{"observer_cpu_overhead_pct_max": {percent}}}}}"#);
    for (runs, said) in [
        (vec![overhead(1), overhead(2)], "2 runs, both valid."),
        (vec![overhead(1), overhead(2), overhead(3)], "3 runs, all valid."),
        (
            vec![overhead(1), overhead(15), "{}".to_string()],
            "3 runs, none known to be contaminated; 1 marginal; 1 of unknown validity.",
        ),
        (vec!["{}".to_string(); 2], "2 runs, none known to be contaminated; 2 of unknown validity."),
    ] {
        let sessions = runs.iter().map(|metadata| with_metadata("run", metadata)).collect();
        assert_eq!(report_on(&Session::together(sessions).unwrap()).summary, said);
    }
    // Nothing of the trace was changed.
    let issues = together.run().traces.iter().flat_map(|trace| &trace.ledger.issues);
    let of_runs: Vec<_> = issues.filter(|issue| issue.kind.code == "run-contaminated").collect();
    assert_eq!(of_runs.len(), 2);
    assert!(of_runs.iter().all(|issue| issue.kind.severity == Severity::Note));
    assert_eq!(column(table(report, "dataset"), "run_validity"), cases.map(|(_, said)| said));
    assert!(column(table(report, "dataset_groups"), "runs").iter().all(|runs| runs == "4"));
}

/// The id of the run is that of the manifest; metadata that name another one are perhaps those of that run.
#[test]
fn metadata_of_another_run_are_told() {
    let trace = std::fs::read(support::own_dir("mrm").join("parquet-variants/codec-none.parquet")).unwrap();
    let warnings = |metadata: &str| -> Vec<String> {
        let manifest = r#"{"run_id": "p", "created_at_utc": "2026-01-01T00:00:00Z", "files": []}"#;
        let files =
            [("manifest.json", manifest.as_bytes()), ("metadata.json", metadata.as_bytes()), (TRACE, &trace)];
        let files = files.map(|(name, content)| (name.to_string(), content.to_vec())).to_vec();
        let session = open_files("run", files, usize::MAX);
        let notes = report_on(&session).blocks.iter().filter_map(|block| match block {
            Block::Note(note) if note.text.contains("another run:") => Some(note.text.clone()),
            _ => None,
        });
        notes.collect()
    };
    assert!(warnings(r#"{"run_id": "p"}"#).is_empty());
    assert!(warnings(r#"{"batch": 1}"#).is_empty());
    assert_eq!(
        warnings(r#"{"run_id": "r2"}"#),
        ["metadata.json names another run: r2. It may belong to that run."]
    );
}

/// What may be asked of a trace follows from its collector.
#[test]
fn the_collector_that_was_written_down_decides_what_a_trace_can_tell() {
    for (collector, said) in [
        ("memray", "allocations and frees"),
        ("perf_mem", "no latency or memory levels"),
        ("perf_mem_labelled", "no latency or memory levels"),
        ("other", "no latency or memory levels"),
    ] {
        let session = with_metadata("run", &format!(r#"{{"collector": {{"type": "{collector}"}}}}"#));
        let mrm = session.reports().iter().find(|report| report.id == "mrm").unwrap();
        let quality = mrm
            .blocks
            .iter()
            .find(|block| matches!(block, Block::Facts(facts) if facts.title == "Data quality"));
        let trust = format!("{quality:?}");
        assert!(trust.contains(said), "{collector}: {trust}");
    }
}

/// Phases that were written down are those of the run, or it is said that they are not.
#[test]
fn phases_that_can_not_be_used_are_told() {
    let phase = |start: &str, end: &str| {
        format!(r#"{{"phase": "weight_load", "start_ns": {start}, "end_ns": {end}}}"#)
    };
    let event = |edge: &str| format!(r#"{{"event": "model_load_{edge}", "mono_ns": 5}}"#);
    let all = phase("0", "9e18");
    let none = "metadata.json: cannot use the phases: ";
    let one = "metadata.json: ignored 1 of 2 phases: ";
    let inverted = "the phase 'weight_load' ends before it starts.";
    let cases = [
        (format!("[{}]", phase("0", "9000000000000000000")), 1, None),
        (format!("[{all}]"), 1, None),
        ("[]".to_string(), 0, None),
        ("null".to_string(), 0, None),
        (r#""x""#.to_string(), 0, Some(format!("{none}expected a list of JSON objects."))),
        ("3".to_string(), 0, Some(format!("{none}expected a list of JSON objects."))),
        (format!("[{}]", phase("5", "3")), 0, Some(format!("{none}{inverted}"))),
        (format!("[{}]", phase("\"0\"", "3")), 0, Some(format!("{none}start_ns is not a number."))),
        (format!("[{}, {all}]", phase("5", "3")), 1, Some(format!("{one}{inverted}"))),
        (format!("[{all}, 7]"), 1, Some(format!("{one}expected a list of JSON objects."))),
        (format!("[{}, {}]", event("start"), phase("5", "3")), 0, Some(format!("{none}{inverted}"))),
    ];
    let bytes = std::fs::read(support::own_dir("mrm").join("parquet-variants/codec-none.parquet")).unwrap();
    for (phases, n_phases, said) in cases {
        let metadata = format!(r#"{{"phase_boundaries": {phases}}}"#);
        let mut session = Session::new("run", bytes.len() as u64, None, Query::default());
        session.lies_in_run(TRACE, vec![sidecar_file("metadata.json".to_string(), metadata.into_bytes())]);
        session.feed(&bytes);
        session.finish().unwrap();
        let notes: Vec<String> = report_on(&session)
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Note(note) => Some(note.text.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(notes, said.into_iter().collect::<Vec<_>>(), "{phases}");
        let trace = &session.run().traces[0];
        let view = tracedrop::analysis::run_files::view_of(trace, &MemoryQuery::default());
        assert_eq!(view.phases.boundaries.len(), n_phases, "{phases}");
    }
}

#[test]
fn a_trace_that_is_not_read_to_its_end_is_not_called_changed() {
    for dir in data_dirs("mrm") {
        let run = &runs_in(&dir.join("runs"))[0];
        let trace = std::fs::read(run.join(TRACE)).unwrap();
        let manifest = std::fs::read(run.join("manifest.json")).unwrap();
        let mut session = Session::new("run", trace.len() as u64, None, Query::default());
        session.lies_in_run(TRACE, vec![sidecar_file("manifest.json".to_string(), manifest)]);
        session.feed(&trace[..trace.len() / 2]);
        // Whether anything can be made of half a file is not what this is about.
        if session.stop("enough").is_ok() {
            let files = table(report_on(&session), "files");
            let at = column(files, "path").iter().position(|path| path == TRACE).unwrap();
            assert_eq!(column(files, "state")[at], "? not read to the end");
        }
    }
}

#[test]
fn several_runs_are_the_reference_s_data_set() {
    for dir in data_dirs("mrm") {
        let latest = dir.join("runs-latest");
        let golden = Dataset::read(&std::fs::read(latest.join("manifest.csv")).unwrap()).unwrap();
        let session = Session::together(runs_in(&latest).iter().map(|run| open(run)).collect()).unwrap();
        let runs = table(report_on(&session), "dataset");
        let ids: Vec<&str> = runs.columns.iter().map(|column| &*column.id).collect();
        assert_eq!(ids, dataset::COLUMNS);
        assert_eq!(runs.n_rows(), golden.rows.len());
        for row in 0..runs.n_rows() {
            // The reference takes the time once more when it writes its table.
            for id in ids.iter().filter(|id| **id != "recorded_at") {
                let ours = match &runs.column(id).unwrap().cells {
                    Cells::Float(cells) => cells[row].map_or(String::new(), float_repr),
                    Cells::Bool(cells) => if cells[row] == Some(true) { "True" } else { "False" }.to_string(),
                    cells => cells.get(row).plain(),
                };
                assert_eq!(Some(ours.as_str()), golden.get(row, id), "{id}");
            }
        }
        // What counts something is a number, and so it is in JSON.
        for (id, is_number) in [("context_length", true), ("rep", true), ("peak_temp_c", true), ("os", false)]
        {
            assert_eq!(runs.column(id).unwrap().cells.is_numeric(), is_number, "{id}");
        }
        let groups = table(report_on(&session), "dataset_groups");
        let of_kinds: Vec<(String, String)> =
            column(groups, "region_type").into_iter().zip(column(groups, "runs")).collect();
        for kind in ["kv_cache", "weight"] {
            let n: i64 = of_kinds
                .iter()
                .filter(|(name, _)| name == kind)
                .map(|(_, n)| n.parse::<i64>().unwrap())
                .sum();
            assert!(n > 0, "{of_kinds:?}");
        }
    }
}

/// Version 0.1.0 writes no settings down; the names of runs say them.
#[test]
fn names_of_runs_say_what_metadata_do_not() {
    for dir in data_dirs("mrm") {
        let folders = runs_in(&dir.join("runs"));
        let session = Session::together(folders.iter().map(|run| open(run)).collect()).unwrap();
        // What compares them is looked at first, and each part of the others says which run it is of.
        assert_eq!(session.reports()[0].id, "mrm-run");
        let by_kind = session.reports().iter().find(|report| report.id == "mrm").unwrap();
        let n = folders.len();
        assert!(by_kind.summary.starts_with(&format!("{n} traces with ")), "{}", by_kind.summary);
        let first = folders[0].file_name().unwrap().to_str().unwrap();
        assert!(table(by_kind, "kinds").title.ends_with(first), "{}", table(by_kind, "kinds").title);
        let runs = table(report_on(&session), "dataset");
        for (id, wanted) in
            [("context_length", "2048"), ("batch_size", "1"), ("max_tokens_per_prompt", "64"), ("rep", "0")]
        {
            assert!(column(runs, id).iter().all(|told| told == wanted), "{id}: {:?}", column(runs, id));
        }
        let groups = table(report_on(&session), "dataset_groups");
        assert!(column(groups, "context_length").iter().all(|context| context == "2048"));
    }
}

#[test]
fn the_command_opens_folders_of_runs() {
    for dir in data_dirs("mrm") {
        let text = |args: &[&str]| {
            let output =
                Command::new(env!("CARGO_BIN_EXE_tracedrop")).current_dir(&dir).args(args).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap()
        };
        let report = ["--report", "mrm-run"];
        let one = text(&["report", "runs-bad/tampered", report[0], report[1]]);
        assert!(one.contains("2 of 5 files differ from the manifest."));
        let all = text(&["report", "runs-latest", "--together", report[0], report[1]]);
        assert!(all.contains("2 runs, both valid."));
        let list_in = |all: &str| {
            let (_, list) = all.split_once("Dataset list vs runs\n").expect(all);
            list.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(list_in(&all).matches("✓ the same").count(), 2, "{all}");
        // A list that says something else, names a run that is not there, and lacks one that is.
        let copy = std::env::temp_dir().join(format!("tracedrop-list-{}", std::process::id()));
        // The folder that is named is above the data set.
        let set = copy.join("set");
        for (n, run) in runs_in(&dir.join("runs-latest")).into_iter().enumerate() {
            let to = set.join(format!("machine{n}/run"));
            std::fs::create_dir_all(&to).unwrap();
            for file in ["trace.parquet", "metadata.json"] {
                std::fs::copy(run.join(file), to.join(file)).unwrap();
            }
        }
        let list = std::fs::read_to_string(dir.join("runs-latest/manifest.csv")).unwrap();
        let list: Vec<&str> = list.lines().collect();
        let list = format!(
            "{}\n{}\n{}\n",
            list[0],
            list[1].replace(",61.0,", ",62,"),
            list[2].replacen("node-b", "node-c", 1)
        );
        std::fs::write(set.join("manifest.csv"), list).unwrap();
        let all = text(&["report", copy.to_str().unwrap(), "--together", report[0], report[1]]);
        for said in ["✗ differs", "✗ run not found", "? not listed"] {
            assert!(list_in(&all).contains(said), "{said}: {all}");
        }
        // There are no prompts beside the copies.
        for said in
            ["peak_temp_c         62               61\n", "has_prompt_outputs  True             false\n"]
        {
            assert!(all.contains(said), "{said}: {all}");
        }
        std::fs::write(set.join("manifest.csv"), "a,b\n1,2\n").unwrap();
        let all = text(&["report", copy.to_str().unwrap(), "--together", report[0], report[1]]);
        assert!(all.contains("Cannot parse manifest.csv of the dataset: missing column run_id."), "{all}");
        std::fs::remove_dir_all(copy).unwrap();
    }
}

/// Accesses that nothing tells the kind of end the command where they may not be there.
#[test]
fn the_command_fails_at_what_may_not_be_there() {
    for dir in data_dirs("mrm") {
        let out = std::env::temp_dir().join(format!("tracedrop-unknown-{}", std::process::id()));
        let run = |args: &[&str]| {
            let command = &mut Command::new(env!("CARGO_BIN_EXE_tracedrop"));
            let output = command.current_dir(dir.join("inputs")).args(args).output().unwrap();
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let file = "tiny-24.txt";
        assert_eq!(run(&["report", file, "--unknown", "keep"]).0, Some(0));
        let (code, said) = run(&["report", file, "--unknown", "error"]);
        assert!(code == Some(1) && said.contains("Could not classify row: address_page=0x"), "{said}");
        let folder = out.to_str().unwrap();
        let (code, said) = run(&["export", file, "--to", "mrm-run", "-o", folder, "--unknown", "error"]);
        assert!(code == Some(1) && said.contains("nothing was written"), "{said}");
        assert!(!out.exists());
    }
}

#[test]
fn a_run_that_is_written_again_has_what_was_written_about_it() {
    for dir in data_dirs("mrm") {
        for run in runs_in(&dir.join("runs")) {
            let session = open(&run);
            let (trace, query) = (&session.run().traces[0], &session.query().memory);
            let mut files: Vec<(String, Vec<u8>)> = Vec::new();
            mrm_run::write_run(trace, query, "again", 0, Vec::new(), &mut files).unwrap();
            for name in ["metadata.json", "metrics.csv"] {
                let (_, bytes) = files.iter().find(|(other, _)| *other == name).expect(name);
                assert!(*bytes == std::fs::read(run.join(name)).unwrap(), "{}: {name}", run.display());
            }
        }
    }
}

/// What was chosen for labels and suitability is noted with the run, stays when it is opened and written again, and goes with labels that
/// are made anew.
#[test]
fn what_was_chosen_for_a_run_is_noted_with_it() {
    let dir = data_dirs("mrm").remove(0);
    let run = runs_in(&dir.join("runs")).remove(0);
    let rules = r#"[{"region_type": "mine", "symbol_re": "."}]"#;
    let chosen = MemoryQuery {
        rules: rules.to_string(),
        unknown: "skip".to_string(),
        thresholds: "0.7,0.5,0.25,0".to_string(),
        ..MemoryQuery::default()
    };
    let written = |trace: &Trace, query: &MemoryQuery| {
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        mrm_run::write_run(trace, query, "again", 0, Vec::new(), &mut files).unwrap();
        files
    };
    let content = |files: &[(String, Vec<u8>)], name: &str| {
        let (_, bytes) = files.iter().find(|(other, _)| *other == name).expect(name);
        String::from_utf8(bytes.clone()).unwrap()
    };
    let session = open(&run);
    let first = written(&session.run().traces[0], &chosen);
    let metadata: serde_json::Value = serde_json::from_str(&content(&first, "metadata.json")).unwrap();
    let noted = &metadata["tracedrop"];
    assert_eq!(noted["rules"], serde_json::from_str::<serde_json::Value>(rules).unwrap());
    assert_eq!(noted["unknown"], "skip");
    assert_eq!(noted["suitability"]["high_p99_s"], 0.5);
    assert!(content(&first, "metrics.csv").contains("high_mrm"));
    let session = open_files("again", first.clone(), usize::MAX);
    let second = written(&session.run().traces[0], &MemoryQuery::default());
    for name in ["metadata.json", "metrics.csv"] {
        assert_eq!(content(&first, name), content(&second, name));
    }
    let report = session.reports().iter().find(|report| report.id == "mrm").unwrap();
    let told = |block: &Block| matches!(block, Block::Note(note) if note.text.contains("from the metadata of the run"));
    assert!(report.blocks.iter().any(told));
    assert!(
        column(table(report_on(&session), "stored_metrics"), "agrees").iter().all(|it| it == "✓ the same")
    );
    // Labels made anew by other means, and the usual thresholds.
    let anew = MemoryQuery {
        unknown: "runtime".to_string(),
        thresholds: "0.8,10,0.5,1".to_string(),
        ..MemoryQuery::default()
    };
    let third = written(&session.run().traces[0], &anew);
    let metadata: serde_json::Value = serde_json::from_str(&content(&third, "metadata.json")).unwrap();
    assert_eq!(metadata["tracedrop"], serde_json::json!({"unknown": "runtime"}));
}

#[test]
fn what_lies_in_the_way_is_not_read() {
    assert!(!tracedrop::memory_run::is_read("perf.data", 1 << 30));
    assert!(tracedrop::memory_run::is_read("write_once.png", 10));
    assert!(!tracedrop::memory_run::is_read("manifest.json", 1 << 40));
    assert!(tracedrop::memory_run::is_read("manifest.json", 1 << 10));
}

#[test]
fn a_directory_of_a_run_has_a_trace_and_something_else_of_it() {
    let is = |names: &[&str]| is_directory(names.iter().copied());
    assert!(is(&["trace.parquet", "metrics.csv"]) && is(&["manifest.json", "notes.txt", "trace.parquet"]));
    assert!(
        !is(&["trace.parquet"])
            && !is(&["metrics.csv", "manifest.json"])
            && !is(&["trace.parquet", "a.json"])
    );
}

/// A judgement has a mark, which text says with a sign and with what it rests on.
#[test]
fn whether_a_run_was_disturbed_is_marked_and_said() {
    let disturbed = |percent: u32| {
        format!(r#"{{"observer_effect_summary": {{"observer_cpu_overhead_pct_max": {percent}}}}}"#)
    };
    for (metadata, mark, line) in [
        (disturbed(55), Some(Mark::Bad), "✗ contaminated (derived from the profiler overhead in the file)"),
        (disturbed(1), Some(Mark::Good), "✓ clean (derived from the profiler overhead in the file)"),
        (r#"{"run_validity": "clean"}"#.to_string(), Some(Mark::Good), "✓ clean (from the file)"),
        ("{}".to_string(), Some(Mark::Fair), "! unknown (the profiler overhead was not recorded)"),
    ] {
        let mut session = with_metadata("run", &metadata);
        let mrm = session.reports().iter().find(|report| report.id == "mrm").unwrap();
        let Some(Block::Facts(facts)) = mrm.blocks.iter().find(|block| matches!(block, Block::Facts(_)))
        else {
            panic!()
        };
        assert_eq!((facts.facts[0].id.as_str(), facts.facts[0].mark), ("run_validity", mark));
        let mut out = Vec::new();
        session.export(&terminal::INFO, &Options::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(&format!("  {line}\n")), "{line}: {text}");
    }
}

/// Address ranges that lie beside a trace are known without being given; those that are given count in their place.
#[test]
fn address_ranges_beside_a_trace_are_used() {
    let labelled =
        std::fs::read(support::own_dir("mrm").join("parquet-variants/codec-none.parquet")).unwrap();
    let notes_on = |trace: &[u8], content: &str, query: Query| -> Vec<String> {
        let mut session = Session::new("run", trace.len() as u64, None, query);
        session.lies_in_run(
            TRACE,
            vec![sidecar_file("kv_ranges.json".to_string(), content.as_bytes().to_vec())],
        );
        session.feed(trace);
        session.finish().unwrap();
        let mrm = session.reports().iter().find(|report| report.id == "mrm").unwrap();
        let notes = mrm.blocks.iter().filter_map(|block| match block {
            Block::Note(note) => Some(note.text.clone()),
            _ => None,
        });
        notes.collect()
    };
    let ranges = r#"[{"addr_start": 0, "addr_end": 4096, "region_type": "kv_cache"}]"#;
    let has = |notes: &[String], what: &str| notes.iter().any(|note| note.contains(what));
    // Without kinds of its own.
    let text = b"app 100 [000] 1.000000000: cpu/mem-stores/P: 10 f (/usr/lib/l.so)\n";
    let notes = |content: &str, query: Query| notes_on(text, content, query);
    let of_labelled = notes_on(&labelled, ranges, Query::default());
    assert!(has(&of_labelled, "has 1 address range, not used because kinds"), "{of_labelled:?}");
    let found = notes(ranges, Query::default());
    assert!(has(&found, "Using 1 address range from kv_ranges.json next to the trace."), "{found:?}");
    let broken = notes("[{}]", Query::default());
    assert!(has(&broken, "Ignored kv_ranges.json next to the trace"), "{broken:?}");
    let memory = MemoryQuery { ranges: ranges.to_string(), ..MemoryQuery::default() };
    let given = notes(ranges, Query { memory, ..Query::default() });
    assert!(has(&given, "Custom settings: 1 address range supplied."), "{given:?}");
    assert!(!has(&given, "Using"), "{given:?}");
}
