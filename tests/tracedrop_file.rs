//! Notes, and files that hand on a report with them: what goes in comes out, and nothing else is taken for one.

use crate::support::{Random, import, own_dir};
use sha2::{Digest, Sha256};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::archive::{self, ArchiveWriter, Effort};
use tracedrop::engine::protocol::{DocumentView, SentView, TableSpot};
use tracedrop::engine::{HandedOn, Linked, Session, Shown, open_tracedrop_file};
use tracedrop::export::link::{self, LinkOptions};
use tracedrop::export::redact::Classes;
use tracedrop::export::tracedrop_file::{self, MAX_REPORT_BYTES, MAX_ROWS, Refusal};
use tracedrop::export::{self, Options, notes};
use tracedrop::report::notes::{key_columns, row_key};
use tracedrop::report::view::TableQuery;
use tracedrop::report::{Anchor, Block, Notes, Remark, Report, Table};
use tracedrop::scene;
use tracedrop::trace::args::Content;

const SECRET: &str = "see /srv/secret/run.json on blue.example.com";

fn session() -> Session {
    let path = own_dir("pytorch").join("small-bert-h100.json.gz");
    let bytes = std::fs::read(path).unwrap();
    let mut session = Session::new("small-bert-h100.json.gz", bytes.len() as u64, None, Query::default());
    session.feed(&bytes);
    session.finish().unwrap();
    session
}

/// A table with names of code, and the report it is in.
fn a_table(session: &Session) -> (&Report, &Table) {
    let tables =
        session.reports().iter().flat_map(|report| report.tables().map(move |table| (report, table)));
    tables.into_iter().find(|(report, table)| report.id == "slices" && table.n_rows() > 20).unwrap()
}

fn row(report: &Report, table: &Table, row: usize) -> Anchor {
    let key = row_key(&key_columns(table), &|at| table.columns[at].cells.get(row));
    Anchor::Row { report: report.id.to_string(), table: table.id.to_string(), key }
}

fn some_notes(session: &Session) -> Notes {
    let (report, table) = a_table(session);
    let remark = |on, text: &str| Remark { on, text: text.to_string() };
    let event = Anchor::Event { name: "aten::mm".to_string(), at_ns: 1200 };
    Notes {
        title: "Slow since <b>Tuesday</b>".to_string(),
        list: vec![
            remark(row(report, table, 3), "why <script>alert(1)</script> so often?\nsecond line"),
            remark(Anchor::Range { from_ns: 0, to_ns: 5000 }, "warm-up"),
            remark(event, "the first one"),
            remark(Anchor::Whole, SECRET),
        ],
    }
}

fn options(session: &Session) -> Options {
    let (report, table) = a_table(session);
    let query = TableQuery { sort: None, filter: "gemm".to_string() };
    let spot = TableSpot { report: report.id.to_string(), table: table.id.to_string(), query, chosen: None };
    let link = LinkOptions {
        report: Some(report.id.to_string()),
        tables: vec![spot],
        sha256: vec![Some("ab".repeat(32))],
        ..LinkOptions::default()
    };
    Options { notes: Some(some_notes(session)), link, ..Options::default() }
}

fn written(shown: &mut dyn Shown, id: &str, options: &Options) -> Vec<u8> {
    let mut out = Vec::new();
    shown.export(export::find(id).unwrap(), options, &mut out).unwrap();
    out
}

fn text(shown: &mut dyn Shown, id: &str, options: &Options) -> String {
    String::from_utf8(written(shown, id, options)).unwrap()
}

fn open(file: &[u8]) -> Result<HandedOn, String> {
    let content = file.to_vec();
    let unpack = |entry: &archive::Entry| {
        let mut out = Vec::new();
        archive::unpack(&content, entry, &mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(Rc::new(out) as Rc<dyn Content>)
    };
    open_tracedrop_file(&content, None, unpack).map_err(|failure| failure.what)
}

fn linked(file: &[u8]) -> Linked {
    match open(file) {
        Ok(HandedOn::Linked(linked)) => *linked,
        Ok(HandedOn::Session(_)) => panic!("there is an index"),
        Err(why) => panic!("{why}"),
    }
}

/// Tables as CSV, by report and table.
fn tables(shown: &dyn Shown) -> Vec<(String, String)> {
    let of = |report: &Report, table: &Table| {
        let order: Vec<u32> = (0..table.n_rows() as u32).collect();
        (format!("{} {}", report.id, table.id), export::csv::table_csv(table, &order))
    };
    let reports = shown.reports().iter();
    reports.flat_map(|report| report.tables().map(move |table| of(report, table))).collect()
}

/// The same texts; doubles have nine digits in such a file.
fn assert_same_tables(ours: &dyn Shown, theirs: &dyn Shown) {
    let is_same = |a: &str, b: &str| match (a.trim().parse::<f64>(), b.trim().parse::<f64>()) {
        (Ok(x), Ok(y)) => (x - y).abs() <= 1e-8 * x.abs().max(y.abs()).max(1e-3),
        _ => a == b,
    };
    let (ours, theirs) = (tables(ours), tables(theirs));
    assert_eq!(ours.len(), theirs.len());
    for ((name, ours), (other, theirs)) in ours.iter().zip(&theirs) {
        assert_eq!(name, other);
        let cells = |csv: &'_ str| csv.split([',', '\n']).map(str::to_string).collect::<Vec<_>>();
        let (ours, theirs) = (cells(ours), cells(theirs));
        assert_eq!(ours.len(), theirs.len(), "{name}");
        let other = ours.iter().zip(&theirs).find(|(a, b)| !is_same(a, b));
        assert_eq!(other, None, "{name}");
    }
}

#[test]
fn notes_are_in_every_layout_that_takes_them_and_in_no_other() {
    let mut session = session();
    let options = options(&session);
    let plain = Options { notes: Some(Notes::default()), ..options.clone() };
    for exporter in session.exporters() {
        if exporter.media_type.contains("zip") || !exporter.is_text() {
            continue;
        }
        let with = text(&mut session, exporter.id, &options);
        let without = text(&mut session, exporter.id, &plain);
        assert_eq!(with.contains("warm-up"), exporter.takes_notes, "{}", exporter.id);
        assert_eq!(with == without, !exporter.takes_notes, "{}", exporter.id);
        assert!(!without.contains("Tuesday"), "{}", exporter.id);
    }
    let page = text(&mut session, "html", &options);
    assert!(page.contains("<h1>Slow since &lt;b&gt;Tuesday&lt;/b&gt;</h1>"));
    assert!(!page.contains("<script>alert") && page.contains("why &lt;script&gt;"));
    // The note leads to its row, and the row to its note.
    assert!(page.contains("<a href=\"#slices.") && page.contains(".row-3\">"));
    assert!(page.contains("<tr id=\"slices.") && page.contains("<a class=\"mark\" href=\"#note-1\">"));
    // Links have those of the report that goes along.
    let fragment = text(&mut session, "link", &options);
    assert_eq!(link::read(&fragment).unwrap().notes, some_notes(&session));
    let link = LinkOptions { report: Some("gpu".to_string()), ..options.link.clone() };
    let other = text(&mut session, "link", &Options { link, ..options.clone() });
    assert_eq!(link::read(&other).unwrap().notes.list, some_notes(&session).list[1..]);
}

#[test]
fn what_is_taken_out_is_not_in_notes_either() {
    let mut session = session();
    let redact = Classes { paths: true, hosts: true, symbols: true, ..Classes::default() };
    let mut options = Options { redact, ..options(&session) };
    let (report, table) = a_table(&session);
    let name = table.columns[0].cells.get(3).plain();
    options.notes.as_mut().unwrap().list[0].text = format!("{name} again");
    assert!(report.id == "slices" && name.len() > 3);
    for exporter in session.exporters().into_iter().filter(|exporter| exporter.takes_notes) {
        let outgoing = session.outgoing(exporter, &options).unwrap();
        for secret in ["secret", "blue.example", &name] {
            assert!(
                !outgoing.texts.iter().any(|(_, text, _)| text.contains(secret)),
                "{}: {secret}",
                exporter.id
            );
        }
        assert!(outgoing.texts.iter().any(|(_, text, _)| text == "warm-up"), "{}", exporter.id);
        if exporter.is_text() {
            assert!(!text(&mut session, exporter.id, &options).contains("blue.example"), "{}", exporter.id);
        }
    }
    // Neither is it in any part of a file, nor is the name of the trace.
    let file = written(&mut session, "tracedrop", &options);
    for (path, bytes) in members(&file) {
        for secret in ["secret", "blue.example", "small-bert", &name] {
            let is_in = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!is_in, "{path}: {secret}");
        }
    }
    // A note stays at its row.
    let linked = linked(&file);
    let table =
        linked.reports().iter().find(|report| report.id == "slices").unwrap().tables().next().unwrap();
    let on = linked.report().notes.on_table("slices", table);
    assert_eq!(on, [(3, vec![0])]);
    assert!(linked.report().notes.list[0].text.starts_with("[symbol "));
    // Others are not asked about what they do not take.
    let json = export::find("csv").unwrap();
    let told = session.outgoing(json, &Options { redact: Classes::default(), ..options.clone() }).unwrap();
    assert!(!told.texts.iter().any(|(_, text, _)| text == "warm-up"));
    // Nothing can be taken out of an index.
    options.with_index = true;
    let refused = session.export(&tracedrop_file::INFO, &options, &mut Vec::new()).unwrap_err();
    assert!(refused.to_string().contains("cannot be redacted"), "{refused}");
}

#[test]
fn a_report_is_handed_on_with_notes_and_view() {
    let mut session = session();
    let options = options(&session);
    let file = written(&mut session, "tracedrop", &options);
    assert!(tracedrop_file::is_one(&file, "any name"));
    let mut linked = linked(&file);
    assert_same_tables(&linked, &session);
    let view = linked.document().and_then(|document| document.link).unwrap();
    assert!(view.is_file && view.problem.is_none());
    assert_eq!((view.notes, view.show.as_str()), (some_notes(&session), "slices"));
    assert_eq!(view.tables, options.link.tables);
    assert_eq!(view.files[0].sha256, options.link.sha256[0]);
    // Pictures stand where they stood.
    let kinds = |shown: &dyn Shown| {
        let kind = |block: &Block| match block {
            Block::Chart(chart) => format!("{} {}", chart.id, chart.title),
            Block::Table(table) => table.id.to_string(),
            _ => String::new(),
        };
        let reports = shown.reports().iter().filter(|report| report.id != "flame-graph");
        reports.map(|report| report.blocks.iter().map(kind).collect()).collect::<Vec<Vec<String>>>()
    };
    assert_eq!(kinds(&linked), kinds(&session));
    // Flame graphs are made on demand, so those of a file without the trace are pictures.
    let flames = linked.reports().iter().find(|report| report.id == "flame-graph").unwrap();
    assert!(flames.charts().count() > 0 && session.reports().iter().all(|report| report.id != "flame-graph"));
    assert!(session.reports().iter().flat_map(Report::charts).count() > 3);
    // Handed on once more it says the same, with notes, files and all.
    let again =
        Options { link: LinkOptions { sha256: Vec::new(), ..options.link.clone() }, notes: None, ..options };
    let handed_on = members(&written(&mut linked, "tracedrop", &again));
    for (path, bytes) in
        members(&file).iter().filter(|(path, _)| path.ends_with(".json") && path != "manifest.json")
    {
        let other = handed_on.iter().find(|(other, _)| other == path).map(|(_, bytes)| bytes);
        assert!(other == Some(bytes), "{path}");
    }
    // And so is a link of it.
    let fragment = text(&mut linked, "link", &again);
    let read = link::read(&fragment).unwrap();
    assert_eq!(read.files[0].sha256.as_deref(), Some("ab".repeat(32).as_str()));
    assert_eq!(read.notes, some_notes(&session));
}

/// One of two lines has no readable count, so all numbers are of the other: whoever gets them reads that.
#[test]
fn what_was_skipped_is_handed_on() {
    let lines = b"main;work 3\nmain;rest 1e3\n";
    let mut session = Session::new("a.folded", lines.len() as u64, None, Query::default());
    session.feed(lines);
    session.finish().unwrap();
    let mut received = linked(&written(&mut session, "tracedrop", &Options::default()));
    let told = "When the report was made: 1 of 2 stacks was skipped.";
    for _ in 0..2 {
        assert_eq!(received.document().unwrap().link.unwrap().parsed.as_deref(), Some(told));
        assert!(text(&mut received, "markdown", &Options::default()).contains(told));
        // And handed on again.
        let fragment = text(&mut received, "link", &Options::default());
        received = Linked::open(&fragment).unwrap();
    }
    let mut whole = self::session();
    let received = linked(&written(&mut whole, "tracedrop", &Options::default()));
    assert_eq!(received.report().parsed, "");
}

/// Reports on several files have a table of each; ids tell them apart.
#[test]
fn traces_opened_together_are_handed_on() {
    let open_one = |name: &str| {
        let bytes = std::fs::read(own_dir("pytorch").join(name)).unwrap();
        let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
        session.feed(&bytes);
        session.finish().unwrap();
        session
    };
    let names = ["compare-base.json.gz", "compare-test.json.gz", "compare-base.json.gz"];
    let mut session = Session::together(names.map(open_one).into()).unwrap();
    let ids: Vec<String> = tables(&session).into_iter().map(|(id, _)| id).collect();
    for id in ["overview processes", "overview processes_2", "overview processes_3", "overview metadata_3"] {
        assert_eq!(ids.iter().filter(|other| *other == id).count(), 1, "{id}");
    }
    let file = written(&mut session, "tracedrop", &Options::default());
    assert_same_tables(&linked(&file), &session);
    // A file for each table, parsing issues of the three files included.
    let members = members(&file);
    let mut paths: Vec<&String> =
        members.iter().map(|(path, _)| path).filter(|path| path.starts_with("tables/")).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), ids.len() + 3);
    let options = LinkOptions { report: Some("overview".to_string()), ..LinkOptions::default() };
    let fragment = text(&mut session, "link", &Options { link: options, ..Options::default() });
    let read = link::read(&fragment).unwrap();
    assert!(read.reports.iter().flat_map(Report::tables).any(|table| table.id == "threads_3"));
}

#[test]
fn with_the_index_all_that_was_read_goes_along() {
    let mut session = session();
    let options = Options { with_index: true, ..options(&session) };
    let file = written(&mut session, "tracedrop", &options);
    let Ok(HandedOn::Session(mut opened)) = open(&file) else { panic!("there is an index") };
    assert!(opened.reports() == session.reports());
    let document = opened.document().unwrap();
    let DocumentView { sent: Some(SentView { show, tables, notes, .. }), .. } = document else { panic!() };
    assert_eq!((show.as_str(), notes), ("slices", some_notes(&session)));
    assert_eq!(tables, options.link.tables);
    // What the reports do not answer is answered from the tables.
    opened.set_query(Query { top: 3, ..Query::default() }).unwrap();
    session.set_query(Query { top: 3, ..Query::default() }).unwrap();
    assert!(opened.reports() == session.reports());
    let markdown = text(&mut *opened, "markdown", &Options::default());
    assert!(markdown.contains("# Slow since") && markdown.contains("warm-up"), "{}", &markdown[..400]);
    // With an index that is of no use the report is shown, and it is said why.
    let damaged = with_member(&file, "index.tdx", |bytes| *bytes.last_mut().unwrap() ^= 1);
    let Ok(HandedOn::Linked(linked)) = open(&damaged) else { panic!("it should show the report") };
    assert!(linked.problem().unwrap().contains("index is damaged"), "{:?}", linked.problem());
}

#[test]
fn tables_are_parquet_with_all_rows() {
    let events: Vec<String> = (0..MAX_ROWS + 50)
        .map(|i| format!(r#"{{"name":"op {i}","ph":"X","ts":{i},"dur":1,"pid":1,"tid":1}}"#))
        .collect();
    let trace = import("many.json", format!("[{}]", events.join(",")).as_bytes(), None).unwrap();
    let mut session = Session::of_trace(trace, Query::default());
    let file = written(&mut session, "tracedrop", &Options::default());
    let (report, table) = a_table(&session);
    let n_rows = table.n_rows();
    assert!(n_rows > MAX_ROWS as usize, "{n_rows}");
    let path = format!("tables/{}.{}.parquet", report.id, table.id);
    let entry = archive::list(&file).unwrap().files.into_iter().find(|entry| entry.path == path).unwrap();
    // It lies in the archive as it is, so that other tools read it where it lies.
    assert_eq!(entry.packing, archive::Packing::Stored);
    let bytes = file[entry.range.start as usize..entry.range.end as usize].to_vec();
    let warning = report.warnings().collect::<Vec<_>>().join("\n");
    assert!(bytes == export::parquet::table_file(table, &warning));
    // What is not in the report is said.
    let linked = linked(&file);
    let shown = linked.reports().iter().find(|known| known.id == report.id).unwrap().tables().next().unwrap();
    assert_eq!(shown.n_rows() as u64 + shown.n_left_out, n_rows as u64);
    assert_eq!(shown.n_rows(), MAX_ROWS as usize);
}

/// What is in an archive, by path.
fn members(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let content = file.to_vec();
    let bytes = |entry: &archive::Entry| {
        let mut out = Vec::new();
        let taken = archive::unpack(&content, entry, &mut |piece| {
            out.extend_from_slice(piece);
            Ok(())
        });
        taken.map(|()| out).unwrap()
    };
    let files = archive::list(&content).unwrap().files;
    files.into_iter().map(|entry| (entry.path.clone(), bytes(&entry))).collect()
}

/// The same archive with other bytes of one member, and the manifest as it was.
fn with_member(file: &[u8], path: &str, change: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = ArchiveWriter::new(Vec::new(), 0);
    for (name, mut bytes) in members(file) {
        if name == path {
            change(&mut bytes);
        }
        if !bytes.is_empty() {
            out.add(&name, Effort::Fast, |out| out.write_all(&bytes)).unwrap();
        }
    }
    out.finish().unwrap()
}

fn small() -> Vec<u8> {
    let json = br#"[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"args":{"n":7}}]"#;
    let mut session = Session::of_trace(import("a.json", json, None).unwrap(), Query::default());
    let list = vec![Remark { on: Anchor::Whole, text: "x".to_string() }];
    let notes = Some(Notes { title: "T".to_string(), list });
    written(&mut session, "tracedrop", &Options { notes, with_index: true, ..Options::default() })
}

#[test]
fn other_versions_and_damage_are_said() {
    let file = small();
    let refused = |file: &[u8]| open(file).err().unwrap_or_default();
    let replaced = |from: &'static str, to: &'static str| {
        move |bytes: &mut Vec<u8>| *bytes = String::from_utf8_lossy(bytes).replace(from, to).into_bytes()
    };
    let manifest = |from, to| refused(&with_member(&file, "manifest.json", replaced(from, to)));
    assert!(open(&with_member(&file, "none", |_| {})).is_ok());
    assert!(manifest("\"version\":1", "\"version\":2").contains("version 2 of the format"));
    assert!(manifest("\"format\":\"tracedrop\"", "\"format\":\"x\"").contains("not a Tracedrop file"));
    assert!(manifest("\"version\":1", "\"version\":\"one\"").contains("manifest.json doesn't match"));
    assert!(
        refused(&with_member(&file, "report.json", |bytes| bytes[2] ^= 1))
            .contains("report.json doesn't match")
    );
    assert!(refused(&with_member(&file, "notes.json", |bytes| bytes.truncate(3))).contains("notes.json"));
    assert!(refused(&with_member(&file, "manifest.json", Vec::clear)).contains("manifest.json is missing"));
    assert!(refused(&with_member(&file, "report.json", Vec::clear)).contains("report.json is missing"));
    assert!(refused(b"PK\x03\x04 and no more").contains("incomplete Tracedrop file"));
    assert!(refused(b"").contains("incomplete Tracedrop file"));
    assert!(tracedrop_file::is_one(&file[..file.len() / 2].to_vec(), "cut.tracedrop"));
    assert!(!tracedrop_file::is_one(&file[..file.len() / 2].to_vec(), "cut.zip"));
    assert!(!tracedrop_file::is_one(&b"{}".to_vec(), "x.tracedrop"));
    for end in 0..file.len() {
        assert!(open(&file[..end]).is_err(), "{end}");
    }
}

#[test]
fn bombs_are_not_unpacked() {
    let bytes = vec![b' '; MAX_REPORT_BYTES as usize + 1];
    let sha256 = "0".repeat(64);
    let mut out = ArchiveWriter::new(Vec::new(), 0);
    out.add("report.json", Effort::Usual, |out| out.write_all(&bytes)).unwrap();
    let manifest = format!(
        r#"{{"format":"tracedrop","version":1,"members":[{{"path":"report.json","bytes":{},"sha256":"{sha256}"}}]}}"#,
        bytes.len()
    );
    out.add("manifest.json", Effort::Usual, |out| out.write_all(manifest.as_bytes())).unwrap();
    let why = open(&out.finish().unwrap()).err().unwrap();
    assert!(why.contains("report.json claims 16777217 bytes"), "{why}");
}

#[test]
fn any_bytes_at_all_are_refused_or_read() {
    let file = small();
    let mut random = Random(11);
    for _ in 0..3000 {
        let mut bytes = file.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] ^= 1 << random.below(8),
                _ => drop(bytes.splice(at..at, [0, 1, 2])),
            }
        }
        if let Ok(HandedOn::Linked(linked)) = open(&bytes) {
            assert!(linked.document().is_some());
        }
    }
}

/// The same archive with other pictures, and a manifest that fits them.
fn with_charts(file: &[u8], charts: &[u8]) -> Vec<u8> {
    let digest =
        |bytes: &[u8]| Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let told = |bytes: &[u8]| format!("\"bytes\":{},\"sha256\":\"{}\"", bytes.len(), digest(bytes));
    let old = members(file).into_iter().find(|(path, _)| path == "charts.json").unwrap().1;
    let (old, new) = (told(&old), told(charts));
    let file = with_member(file, "charts.json", |bytes| *bytes = charts.to_vec());
    with_member(&file, "manifest.json", |bytes| {
        *bytes = String::from_utf8_lossy(bytes).replace(&old, &new).into_bytes();
    })
}

#[test]
fn pictures_of_any_numbers_are_refused_or_drawn() {
    let mut session = session();
    let options = Options::default();
    let file = written(&mut session, "tracedrop", &options);
    let charts = members(&file).into_iter().find(|(path, _)| path == "charts.json").unwrap().1;
    assert!(open(&with_charts(&file, b"{}")).is_ok());
    assert_eq!(open(&with_charts(&file, b"7x")).err().unwrap(), Refusal::Damaged("charts.json").to_string());
    let (mut random, mut n_read) = (Random(7), 0);
    for _ in 0..60 {
        let mut charts = charts.clone();
        for _ in 0..3 {
            let at = random.below(charts.len() as u64) as usize;
            let letters = b"0123456789-.eE,[]n";
            charts[at] = letters[random.below(letters.len() as u64) as usize];
        }
        let Ok(HandedOn::Linked(mut linked)) = open(&with_charts(&file, &charts)) else { continue };
        n_read += 1;
        written(&mut *linked, "html", &options);
        for chart in linked.reports().iter().flat_map(Report::charts) {
            for width in [0.0, 330.0, 1e9] {
                assert!(scene::layout(chart, width).height.is_finite());
            }
        }
    }
    assert!(n_read > 5, "{n_read}");
}

#[test]
fn notes_of_a_link_are_members_that_older_readers_step_over() {
    let content =
        r#"{"by":"x","title":"t","given_title":"T","notes":[{"text":"n","on":"whole"}],"reports":[]}"#;
    let read = link::read(&link::encode(content).unwrap()).unwrap();
    assert_eq!(read.notes.title, "T");
    assert_eq!(read.notes.list.len(), 1);
    let plain = r#"{"by":"x","title":"t","reports":[]}"#;
    assert_eq!(link::read(&link::encode(plain).unwrap()).unwrap().notes, Notes::default());
    assert_eq!(notes::from_json(notes::to_json(&read.notes).as_bytes()), Ok(read.notes));
}
