//! Directories of runs, opened as such: the trace with what lies beside it.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use support::data_dirs;
use tracedrop::analysis::Query;
use tracedrop::engine::{Session, Shown};
use tracedrop::export::mrm_run;
use tracedrop::memory_run::dataset::{self, Dataset};
use tracedrop::memory_run::{TRACE, file_beside, is_directory};
use tracedrop::report::{Report, Table};

/// Every folder below `dir` that holds a trace.
fn runs_in(dir: &Path) -> Vec<PathBuf> {
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

fn open(dir: &Path) -> Session {
    let mut beside: Vec<(String, Vec<u8>)> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    beside.sort();
    let at = beside.iter().position(|(name, _)| name == TRACE).unwrap();
    let (_, trace) = beside.remove(at);
    let beside = beside.into_iter().map(|(name, content)| file_beside(name, content)).collect();
    let name = dir.file_name().unwrap().to_str().unwrap();
    let mut session = Session::new(name, trace.len() as u64, None, Query::default());
    session.lies_in_run(TRACE, beside);
    trace.chunks(1000).for_each(|piece| session.feed(piece));
    session.finish().unwrap();
    session
}

fn report(session: &Session) -> &Report {
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
            let report = report(&session);
            assert_eq!(report.summary, "All 5 files are as the manifest says.", "{}", run.display());
            assert_eq!(column(table(report, "files"), "state"), vec!["✓ ok"; 5]);
            let agrees = column(table(report, "stored_metrics"), "agrees");
            assert!(!agrees.is_empty() && agrees.iter().all(|agrees| agrees == "✓ the same"), "{agrees:?}");
            assert!(
                column(table(report, "metadata"), "key").contains(&"phase_boundaries.0.start_ns".to_string())
            );
            // What is written about the run is what it is trusted by.
            let trust = session.reports().iter().find(|report| report.id == "mrm").unwrap();
            let trust = format!("{:?}", trust.blocks.first());
            assert!(trust.contains("clean") && trust.contains("as the file says"), "{trust}");
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
        let report = report(&session);
        assert_eq!(report.summary, "2 of 5 files are not as the manifest says.");
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
        let mut markdown = Vec::new();
        let exporter = tracedrop::export::find("markdown").unwrap();
        session.export(exporter, &Default::default(), &mut markdown).unwrap();
        assert!(String::from_utf8(markdown).unwrap().contains("not as its manifest says"));
    }
}

#[test]
fn a_trace_that_is_not_read_to_its_end_is_not_called_changed() {
    for dir in data_dirs("mrm") {
        let run = &runs_in(&dir.join("runs"))[0];
        let trace = std::fs::read(run.join(TRACE)).unwrap();
        let manifest = std::fs::read(run.join("manifest.json")).unwrap();
        let mut session = Session::new("run", trace.len() as u64, None, Query::default());
        session.lies_in_run(TRACE, vec![file_beside("manifest.json".to_string(), manifest)]);
        session.feed(&trace[..trace.len() / 2]);
        // Whether anything can be made of half a file is not what this is about.
        if session.stop("enough").is_ok() {
            let files = table(report(&session), "files");
            let at = column(files, "path").iter().position(|path| path == TRACE).unwrap();
            assert_eq!(column(files, "state")[at], "? not read to its end");
        }
    }
}

#[test]
fn several_runs_are_the_reference_s_data_set() {
    for dir in data_dirs("mrm") {
        let latest = dir.join("runs-latest");
        let golden = Dataset::read(&std::fs::read(latest.join("manifest.csv")).unwrap()).unwrap();
        let session = Session::together(runs_in(&latest).iter().map(|run| open(run)).collect()).unwrap();
        let runs = table(report(&session), "dataset");
        let ids: Vec<&str> = runs.columns.iter().map(|column| &*column.id).collect();
        assert_eq!(ids, dataset::COLUMNS);
        assert_eq!(runs.n_rows(), golden.rows.len());
        for row in 0..runs.n_rows() {
            // The reference takes the time once more when it writes its table.
            for id in ids.iter().filter(|id| **id != "recorded_at") {
                assert_eq!(Some(column(runs, id)[row].as_str()), golden.get(row, id), "{id}");
            }
        }
        let groups = table(report(&session), "dataset_groups");
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
        assert!(one.contains("2 of 5 files are not as the manifest says."));
        let all = text(&["report", "runs-latest", "--together", report[0], report[1]]);
        assert!(all.contains("2 runs, none of which is known to be contaminated."));
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

#[test]
fn what_lies_in_the_way_is_not_read() {
    assert!(!tracedrop::memory_run::is_read("perf.data", 10));
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
