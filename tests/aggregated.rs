//! Traces with more events than fit in memory: aggregates equal those of keeping all events.

use crate::support::{Random, data_dirs, files, finish_in_parts, own_dir};
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::engine::{Session, Shown, protocol};
use tracedrop::export::redact::{Classes, Redactor, redacted};
use tracedrop::import::Import;
use tracedrop::report::{Block, Cells, Report, Table};
use tracedrop::trace::Trace;

fn inputs() -> Vec<PathBuf> {
    let folders = [("chrome", ""), ("chrome", "ours"), ("pytorch", ""), ("pytorch", "edge")];
    let folders = folders
        .into_iter()
        .flat_map(|(system, folder)| data_dirs(system).into_iter().map(move |dir| dir.join(folder)));
    let all = folders.filter(|dir| dir.is_dir()).flat_map(|dir| files(&dir, &[".json", ".gz"]));
    all.filter(|path| path.metadata().unwrap().len() < 4 << 20).collect()
}

/// Reads the file, with at most `max_events` in memory if given.
fn read(bytes: &[u8], max_events: Option<usize>) -> Option<Session> {
    let mut import = Import::new("trace", bytes.len() as u64);
    if let Some(max_events) = max_events {
        import.hold_at_most(max_events);
    }
    bytes.chunks(5000).for_each(|chunk| import.feed(chunk));
    Some(Session::of_trace(import.finish().ok()?, Query { top: 50, ..Query::default() }))
}

fn report<'a>(session: &'a Session, id: &str) -> Option<&'a Report> {
    session.reports().iter().find(|report| report.id == id)
}

/// Whether a table does not depend on dropped data: arrows, and stacks of slices, which some files have.
fn is_comparable(table: &Table, has_stacks: bool) -> bool {
    !table.id.starts_with("flows") && (table.id != "frames" || !has_stacks)
}

/// Whether `folded` agrees with `whole`. The busy time of a process is unknown if its threads were processed in separate
/// batches.
fn agrees(folded: &Table, whole: &Table) -> bool {
    let (mut folded, mut whole) = (folded.clone(), whole.clone());
    for column in 0..folded.columns.len().min(whole.columns.len()) {
        let of = (&folded.columns[column].cells, &whole.columns[column].cells);
        if let (Cells::Integer(ours), Cells::Integer(theirs)) = of
            && folded.id == "processes"
            && folded.columns[column].id == "busy"
        {
            let known = ours.iter().zip(theirs).all(|(ours, theirs)| ours.is_none() || ours == theirs);
            let theirs = if known { ours.clone() } else { theirs.clone() };
            whole.columns[column].cells = Cells::Integer(theirs);
        }
    }
    folded.caption.clear();
    whole.caption.clear();
    // As bytes, NaN equals NaN.
    protocol::encode(&folded) == protocol::encode(&whole)
}

fn tables(report: Option<&Report>, has_stacks: bool) -> Vec<Table> {
    report
        .into_iter()
        .flat_map(Report::tables)
        .filter(|table| is_comparable(table, has_stacks))
        .cloned()
        .collect()
}

#[test]
fn sums_are_exact() {
    let (mut n_folded, mut n_divided) = (0, 0);
    for path in inputs() {
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).unwrap();
        let Some(whole) = read(&bytes, None) else { continue };
        let trace = &whole.run().traces[0];
        let has_stacks = !trace.slices.stacks.is_empty();
        for max_events in [0, 7, 400] {
            let folded = read(&bytes, Some(max_events)).unwrap();
            let of = &folded.run().traces[0];
            if of.aggregated.is_none() {
                continue;
            }
            n_folded += 1;
            let what = format!("{name}, {max_events} events held");
            assert_eq!(of.span(), trace.span(), "{what}");
            for id in ["overview", "slices", "longest", "counters"] {
                let (ours, theirs) =
                    (tables(report(&folded, id), has_stacks), tables(report(&whole, id), has_stacks));
                let differs =
                    |(a, b): (&Table, &Table)| (!agrees(a, b)).then(|| (a.id.clone(), shown(a), shown(b)));
                let first = ours.iter().zip(&theirs).find_map(differs);
                assert_eq!(ours.len(), theirs.len(), "{what}: {id}");
                assert!(first.is_none(), "{what}: {id}: {first:?}");
            }
            // The GPU time breakdown is known for all kernels and copies, unlike the rest of that report.
            let divided = |session: &Session| {
                let report = report(session, "gpu-breakdown")?;
                let table = report.tables().find(|table| table.id == "breakdown")?.clone();
                Some((shown(&table), report.summary.clone(), table.caption))
            };
            // Kernels without any launch have no reports of their own when kept. Launches without a device record are unknown
            // when launches are dropped.
            let has_all_records = |(rows, ..): &(String, String, String)| !rows.contains("not recorded");
            // Nor does it know then whether any are missing, so its sentence calls nothing idle as a fact.
            let in_folded = |summary: &str| {
                // Annotations of captures are dropped as well.
                let summary = summary.split_once("idle time is expected. ").map_or(summary, |(_, rest)| rest);
                let summary = summary.replace("As far as recorded, the GPU", "The GPU");
                let summary = summary.replace("As far as recorded, ", "");
                summary.replace("; idle ", "; idle or not recorded ")
            };
            if let Some((rows, summary, caption)) = divided(&whole).filter(has_all_records) {
                let expected = (rows, in_folded(&summary), caption);
                assert_eq!(divided(&folded), Some(expected), "{what}");
                n_divided += 1;
            }
            let (ours, theirs) = (&of.ledger, &trace.ledger);
            assert_eq!(ours.n_records(), theirs.n_records(), "{what}");
            assert!(ours.count_of("too-many-to-hold") == 1, "{what}");
            for issue in theirs.issues.iter().filter(|issue| !issue.kind.code.contains("flow")) {
                assert_eq!(ours.count_of(issue.kind.code), issue.count, "{what}: {}", issue.kind.code);
            }
            assert!(report(&folded, "overview").is_some_and(|report| report.blocks.iter().any(
                |block| matches!(block, Block::Note(note) if note.text.contains("too large to keep in memory"))
            )));
            assert!(
                folded.exporters().iter().all(|exporter| !["chrome-trace", "index"].contains(&exporter.id))
            );
        }
    }
    assert!(n_folded > 60 && n_divided > 20, "only {n_folded}, {n_divided} of GPUs");
}

fn shown(table: &Table) -> String {
    let rows: Vec<u32> = (0..table.n_rows().min(40) as u32).collect();
    tracedrop::export::csv::table_csv(table, &rows)
}

/// Arrows between any events are counted once and not drawn between dropped slices.
#[test]
fn arrows_are_given_up_and_counted() {
    let one = |ph: &str, id: u64, ts: u64, more: &str| {
        format!(
            r#"{{"ph":"{ph}","name":"a","cat":"c","pid":1,"tid":1,"id":{id},"ts":{ts},"bind_id":7,{more}"args":{{}}}}"#
        )
    };
    let events = [
        one("b", 1, 1, r#""flow_out":true,"#),
        one("e", 1, 5, ""),
        one("b", 2, 6, r#""flow_in":true,"#),
        one("e", 2, 9, ""),
        one("s", 3, 2, ""),
        one("f", 3, 4, ""),
        one("X", 4, 2, r#""dur":3,"flow_out":true,"#),
    ];
    let bytes = format!("[{}]", events.join(",")).into_bytes();
    assert!(!read(&bytes, None).unwrap().run().traces[0].flows.is_empty());
    for max_events in 0..5 {
        let mut import = Import::new("trace", bytes.len() as u64);
        import.hold_at_most(max_events);
        bytes.chunks(40).for_each(|chunk| import.feed(chunk));
        let trace = import.finish().unwrap();
        assert!(trace.flows.is_empty());
        assert_eq!(trace.aggregated.unwrap().n_flow_events, 5);
    }
}

/// Parts read by other workers are aggregated like those read here.
#[test]
fn parts_are_folded_too() {
    let mut n_folded = 0;
    for path in inputs().into_iter().filter(|path| path.metadata().unwrap().len() > 20_000) {
        let bytes = std::fs::read(&path).unwrap();
        let Some(whole) = read(&bytes, Some(300)) else { continue };
        let mut import = Import::new("trace", bytes.len() as u64);
        import.hold_at_most(300);
        let trace = finish_in_parts(import, &bytes, &mut Random(11), 6000).unwrap();
        if trace.aggregated.is_none() {
            continue;
        }
        n_folded += 1;
        let parts = Session::of_trace(trace, Query { top: 50, ..Query::default() });
        let (ours, theirs) = (tables(report(&parts, "slices"), true), tables(report(&whole, "slices"), true));
        assert!(ours.iter().zip(&theirs).all(|(a, b)| agrees(a, b)), "{}", path.display());
    }
    assert!(n_folded > 3, "only {n_folded}");
}

/// Sums of kernels by name are those of the whole trace.
#[test]
fn kernels_are_added_up() {
    let mut n_folded = 0;
    for path in inputs() {
        let bytes = std::fs::read(&path).unwrap();
        let (Some(whole), Some(folded)) = (read(&bytes, None), read(&bytes, Some(100))) else { continue };
        let (Some(theirs), Some(ours)) = (report(&whole, "gpu-kernels"), report(&folded, "gpu-kernels"))
        else {
            continue;
        };
        if folded.run().traces[0].aggregated.is_none() {
            continue;
        }
        n_folded += 1;
        let columns: [(&str, &[&str]); 2] = [
            ("operations", &["operation", "count", "total", "share", "mean", "min", "max"]),
            (
                "kernels",
                &["name", "operation", "count", "total", "share", "mean", "p50", "min", "max", "family"],
            ),
        ];
        for (id, columns) in columns {
            let rows = |report: &Report| -> Vec<Vec<String>> {
                let table = report.tables().find(|table| table.id == id).unwrap();
                let cell = |row: usize, id: &&str| table.column(id).unwrap().cells.get(row).plain();
                let mut rows: Vec<Vec<String>> =
                    (0..table.n_rows()).map(|row| columns.iter().map(|id| cell(row, id)).collect()).collect();
                rows.sort();
                rows
            };
            assert_eq!(rows(ours), rows(theirs), "{}: {id}", path.display());
        }
    }
    assert!(n_folded > 0);
}

/// The warning of a far-away event is that of the trace with all events in memory.
#[test]
fn far_away_events_are_found() {
    let path = own_dir("situations").join("one-event-years-later.json");
    let bytes = std::fs::read(path).unwrap();
    let warnings = |max_events: Option<usize>| -> Vec<String> {
        let session = read(&bytes, max_events).unwrap();
        let overview = report(&session, "overview").unwrap();
        let texts = overview.blocks.iter().filter_map(|block| match block {
            Block::Note(note) if note.text.contains("all others") => Some(note.text.clone()),
            _ => None,
        });
        texts.collect()
    };
    let whole = warnings(None);
    assert_eq!(whole.len(), 1, "{whole:?}");
    assert_eq!(warnings(Some(4)), whole);
}

/// Its span is that of all events, which are not in its tables, and its texts have other ids.
#[test]
fn redacted_traces_keep_their_span_and_categories() {
    let mut n_told = 0;
    for path in inputs() {
        let bytes = std::fs::read(&path).unwrap();
        let mut import = Import::new("trace", bytes.len() as u64);
        import.hold_at_most(50);
        import.feed(&bytes);
        let Ok(trace) = import.finish() else { continue };
        let texts = |trace: &Trace| -> Vec<String> {
            trace.slice_categories().iter().map(|id| trace.strings.get(*id).to_string()).collect()
        };
        let (span, categories) = (trace.span(), texts(&trace));
        let classes = Classes { symbols: true, ..Classes::default() };
        let redacted = redacted(&trace, classes, &Rc::new(RefCell::new(Redactor::new(classes))));
        assert_eq!((redacted.span(), texts(&redacted)), (span, categories), "{}", path.display());
        let ends = (0..trace.slices.len()).map(|at| trace.slices.ts[at] + trace.slices.dur.get(at));
        n_told += usize::from(trace.aggregated.is_some() && ends.max() < span.map(|(_, end)| end));
    }
    assert!(n_told > 0);
}

/// The command has no limit of its own.
#[test]
fn the_command_is_not_advised_to_use_the_command() {
    let kernel = |at: u64| {
        let ts = 10 * at;
        format!(
            r#"{{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{ts},"dur":5,"args":{{"stream":7,"correlation":{at}}}}}"#
        )
    };
    let events: Vec<String> = (0..50).map(kernel).collect();
    let text = format!(r#"{{"schemaVersion":1,"traceEvents":[{}]}}"#, events.join(","));
    let session = read(text.as_bytes(), Some(3)).unwrap();
    let warnings: Vec<&str> = report(&session, "gpu-kernels").unwrap().warnings().collect();
    assert!(warnings.iter().any(|text| text.ends_with("or raise --hold.")), "{warnings:?}");
}
