//! Traces with more events than are held: what is added up is the same as if all had been held.

mod support;

use std::path::PathBuf;
use support::{data_dirs, files};
use tracedrop::analysis::Query;
use tracedrop::engine::Session;
use tracedrop::import::Import;
use tracedrop::report::{Block, Report, Table};

fn inputs() -> Vec<PathBuf> {
    let folders = [("chrome", ""), ("chrome", "ours"), ("pytorch", ""), ("pytorch", "edge")];
    let folders = folders
        .into_iter()
        .flat_map(|(system, folder)| data_dirs(system).into_iter().map(move |dir| dir.join(folder)));
    let all = folders.filter(|dir| dir.is_dir()).flat_map(|dir| files(&dir, &[".json", ".gz"]));
    all.filter(|path| path.metadata().unwrap().len() < 4 << 20).collect()
}

/// Reads the file; holds `max_events` at most if given.
fn read(bytes: &[u8], max_events: Option<usize>) -> Option<Session> {
    let mut import = Import::new("trace", bytes.len() as u64);
    if let Some(max_events) = max_events {
        import.hold_at_most(max_events);
    }
    bytes.chunks(5000).for_each(|chunk| import.feed(chunk));
    Some(Session::of_trace(import.finish().ok()?, Query { top: 50 }))
}

fn report<'a>(session: &'a Session, id: &str) -> Option<&'a Report> {
    session.reports().iter().find(|report| report.id == id)
}

/// What differs because it was given up: arrows, and when a process was busy of whose threads not all were looked at together.
fn comparable(table: &Table) -> Option<Table> {
    let mut table = table.clone();
    if table.id.starts_with("flows") || table.id == "kinds" {
        return None;
    }
    if table.id == "processes" {
        table.columns.retain(|column| column.id != "busy");
    }
    Some(table)
}

fn tables(report: Option<&Report>) -> Vec<Table> {
    report.into_iter().flat_map(Report::tables).filter_map(comparable).collect()
}

#[test]
fn sums_are_exact() {
    let mut n_folded = 0;
    for path in inputs() {
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).unwrap();
        let Some(whole) = read(&bytes, None) else { continue };
        let trace = &whole.run().traces[0];
        let has_stacks = !trace.slices.stacks.is_empty();
        for max_events in [0, 7, 400] {
            let folded = read(&bytes, Some(max_events)).unwrap();
            let of = &folded.run().traces[0];
            if of.folded.is_none() {
                continue;
            }
            n_folded += 1;
            let what = format!("{name}, {max_events} events held");
            assert_eq!(of.span(), trace.span(), "{what}");
            for id in ["overview", "slices", "longest", "counters"] {
                let (ours, theirs) = (tables(report(&folded, id)), tables(report(&whole, id)));
                let differs = |(a, b): (&Table, &Table)| (a != b).then(|| (a.id.clone(), shown(a), shown(b)));
                let first = ours.iter().zip(&theirs).find_map(differs);
                assert_eq!(ours.len(), theirs.len(), "{what}: {id}");
                // Arguments of nan and the like are no matter here.
                assert!(first.is_none() || has_stacks, "{what}: {id}: {first:?}");
            }
            let (ours, theirs) = (&of.ledger, &trace.ledger);
            assert_eq!(ours.n_records(), theirs.n_records(), "{what}");
            assert!(ours.count_of("too-many-to-hold") == 1, "{what}");
            for issue in theirs.issues.iter().filter(|issue| !issue.kind.code.contains("flow")) {
                assert_eq!(ours.count_of(issue.kind.code), issue.count, "{what}: {}", issue.kind.code);
            }
            assert!(report(&folded, "overview").is_some_and(|report| report.blocks.iter().any(
                |block| matches!(block, Block::Note(note) if note.text.contains("more events than are held"))
            )));
            assert!(
                folded.exporters().iter().all(|exporter| !["chrome-trace", "index"].contains(&exporter.id))
            );
        }
    }
    assert!(n_folded > 60, "only {n_folded}");
}

fn shown(table: &Table) -> String {
    let rows: Vec<u32> = (0..table.n_rows().min(40) as u32).collect();
    tracedrop::export::csv::table_csv(table, &rows)
}
