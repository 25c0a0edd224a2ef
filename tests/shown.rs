//! Answers name the table they are for, even if the document has changed since the request.

use std::path::Path;
use tracedrop::analysis::Query;
use tracedrop::engine::protocol::{BlockView, CopyFormat, TableAsk, TableView};
use tracedrop::engine::{Session, Shown};
use tracedrop::export::csv::table_csv;
use tracedrop::report::view::{TableQuery, row_order};
use tracedrop::report::{Amounts, Sort, Table};

/// Session of the GPU sample with its early reports; the others are still to be made.
fn early() -> Session {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/samples/gpu-serving.json");
    let mut session = Session::new("gpu-serving.json", 0, None, Query::default());
    session.feed(&std::fs::read(path).unwrap());
    assert!(session.finish_early().unwrap());
    session
}

/// Every table shown on the page, with its report.
fn shown_tables(session: &Session) -> Vec<(String, TableView)> {
    let document = session.document().unwrap();
    let mut tables = Vec::new();
    for report in document.reports {
        for block in report.blocks {
            if let BlockView::Table(table) = block {
                tables.push((report.id.clone(), table));
            }
        }
    }
    tables
}

fn table<'a>(session: &'a Session, report: &str, table: &str) -> &'a Table {
    let report = session.reports().iter().find(|it| it.id == report).unwrap();
    report.tables().find(|it| it.id == table).unwrap()
}

#[test]
fn a_copy_is_of_the_table_clicked_while_late_reports_are_inserted() {
    let mut session = early();
    let shown = shown_tables(&session);
    let first = session.revision();
    assert_eq!(session.document().unwrap().revision, first);
    let mut n_moved = 0u32;
    loop {
        let place = |session: &Session| session.reports().iter().position(|it| it.id == "overview");
        let before = place(&session);
        let has_more = session.make_next_report();
        n_moved += u32::from(place(&session) != before);
        for (report, view) in &shown {
            let ask = TableAsk::whole(report, &view.id);
            let right = table(&session, report, &view.id);
            let right = table_csv(right, &row_order(right, &TableQuery::default()).unwrap());
            let (text, n_rows) = session.copy(&ask, CopyFormat::Csv, Amounts::Absolute).unwrap();
            assert_eq!((text, n_rows), (right, view.n_rows), "{report} {}", view.id);
            assert_eq!(session.rows(&ask, 0, 60).rows, view.first.rows, "{report} {}", view.id);
        }
        if !has_more {
            break;
        }
    }
    // Later reports came before existing ones, and each change has its own revision.
    assert!(n_moved > 3, "{n_moved}");
    assert!(session.revision() >= first + n_moved);
    assert_eq!(session.document().unwrap().revision, session.revision());
}

#[test]
fn a_table_that_is_gone_is_said_to_be_gone() {
    let mut session = early();
    let ask = TableAsk::whole("overview", "hottest");
    assert!(session.copy(&ask, CopyFormat::Tsv, Amounts::Absolute).is_some());
    session.keep_reports(&|id| id != "overview");
    assert_eq!(session.copy(&ask, CopyFormat::Tsv, Amounts::Absolute), None);
    assert!(session.rows(&ask, 0, 10).rows.is_empty());
    assert_eq!(
        session.copy(&TableAsk::whole("slices", "no_such_table"), CopyFormat::Tsv, Amounts::Absolute),
        None
    );
}

#[test]
fn rows_are_sorted_by_the_column_clicked_wherever_it_stands() {
    let mut session = early();
    let (report, view) = shown_tables(&session).into_iter().find(|(report, _)| report == "overview").unwrap();
    let at = view.columns.iter().position(|column| column.id == "total").unwrap() as u32;
    let by = |column, sort_by: Option<&str>| TableAsk {
        query: TableQuery { sort: Some(Sort { column, descending: true }), filter: String::new() },
        sort_by: sort_by.map(str::to_string),
        ..TableAsk::whole(&report, &view.id)
    };
    let right = session.rows(&by(at, None), 0, 60);
    assert_ne!(right.rows, view.first.rows);
    // The position is that of a document with other columns.
    assert_eq!(session.rows(&by(at + 3, Some("total")), 0, 60), right);
    assert_eq!(session.rows(&by(0, Some("total")), 0, 60), right);
    // A missing column sorts nothing.
    assert_eq!(session.rows(&by(at, Some("gone")), 0, 60).rows, view.first.rows);
}
