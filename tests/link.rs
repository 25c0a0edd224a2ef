//! Links: what goes in comes out, version 1 stays what it is, and nothing else is taken for one.

use crate::support::{Random, assert_same_text, data_dirs, files, import, own_dir};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use tracedrop::analysis::{self, Query};
use tracedrop::base::text;
use tracedrop::base::units::Unit;
use tracedrop::compare::CompareQuery;
use tracedrop::engine::protocol::{BlockView, CopyFormat, TableAsk};
use tracedrop::engine::{Compared, Linked, Session, Shown, format_title};
use tracedrop::export::link::{
    self, LinkOptions, LinkedFile, LinkedSide, MAX_SHORT_FRAGMENT_BYTES, Refusal, TableSpot,
};
use tracedrop::export::{self, Input, Options};
use tracedrop::report::view::{TableQuery, row_order};
use tracedrop::report::{Amounts, Block, Column, Content, Document, Facts, Report, Sort, Table};
use tracedrop::trace::Run;

fn fragment(document: &Document<'_>, run: &Run, link: LinkOptions) -> Result<String, String> {
    let options = Options { link, ..Options::default() };
    let query = Query::default();
    let input = Input::new(run, document, &query, &options);
    let mut out = Vec::new();
    export::render(&link::INFO, &input, &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

/// A report with a value of every kind.
fn report() -> Report {
    let mut report = Report::new("r", "Report");
    report.summary = "One summary — with “signs” ☃.".to_string();
    let mut facts = Facts::new("Facts");
    facts.push("n", "things", u64::MAX, Unit::Count);
    facts.push("missing", "missing", None::<u64>, Unit::Ns);
    report.facts(facts);
    report.warning("look out: <b>");
    let names = ["b", "a;c", "<script>alert(1)</script>"];
    let mut table = Table::new(
        "t",
        "Table",
        vec![
            Column::key("name", "name", Content::Symbol, names.into_iter().collect()),
            Column::unsigned("total", "total", Unit::Ns, vec![Some(u64::MAX), None, Some(3)]).with_bar(),
            Column::integer("change", "change", Unit::Ns, vec![Some(i64::MIN), Some(0), Some(7)]),
            Column::float(
                "mean",
                "mean",
                Unit::Ratio,
                vec![Some(f64::NAN), Some(f64::NEG_INFINITY), Some(0.1)],
            ),
        ],
    )
    .sorted_by("total", true)
    .caption("A row is a name.");
    table.n_left_out = 5;
    report.table(table);
    report
}

fn document(reports: &[Report]) -> Document<'_> {
    Document {
        title: "trace.json".to_string(),
        source: Vec::new(),
        ledger: Report::new("ledger", "Read"),
        reports,
    }
}

/// Ids of the columns with what they contain, which decides how they are redacted.
fn contents(table: &Table) -> Vec<(String, Content)> {
    table.columns.iter().map(|column| (column.id.to_string(), column.content)).collect()
}

/// A table as it is shown, in an order.
fn rows(table: &Table, order: &[u32]) -> String {
    let cell = |row: u32, column: &Column| column.cells.get(row as usize).display(column.unit);
    let line =
        |row: &u32| table.columns.iter().map(|column| cell(*row, column)).collect::<Vec<_>>().join("|");
    order.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_report_comes_out_as_it_went_in() {
    let reports = [report()];
    let fragment = fragment(&document(&reports), &Run::default(), LinkOptions::default()).unwrap();
    let got = link::read(&fragment).unwrap();
    assert_eq!((got.title.as_str(), got.show.as_str(), got.top), ("trace.json", "r", Query::default().top));
    assert_eq!(got.reports.len(), 1);
    let (got, sent) = (&got.reports[0], &reports[0]);
    assert_eq!((&got.id, &got.title, &got.summary), (&sent.id, &sent.title, &sent.summary));
    assert_eq!(got.blocks[..2], sent.blocks[..2]);
    let (Block::Table(got), Block::Table(sent)) = (&got.blocks[2], &sent.blocks[2]) else { panic!() };
    assert_eq!(rows(got, &[0, 1, 2]), rows(sent, &[0, 1, 2]));
    assert_eq!((got.sort, got.n_left_out, &got.caption), (sent.sort, 5, &sent.caption));
    assert!(got.columns[0].key && got.columns[1].bar && got.columns[2].unit == Unit::Ns);
}

#[test]
fn order_filter_and_number_of_rows_go_along() {
    let reports = [report()];
    let query = TableQuery { sort: Some(Sort { column: 2, descending: false }), filter: "a".to_string() };
    let spot = TableSpot { report: "r".to_string(), table: "t".to_string(), query, chosen: None };
    let options = LinkOptions { tables: vec![spot.clone()], rows: 1, ..LinkOptions::default() };
    let got = link::read(&fragment(&document(&reports), &Run::default(), options).unwrap()).unwrap();
    assert_eq!(got.tables, [spot]);
    let table = got.reports[0].tables().next().unwrap();
    assert_eq!(table.n_rows(), 1);
    assert_eq!(table.columns[0].cells.get(0).plain(), "a;c");
    // Two that are there and five that never were.
    assert_eq!(table.n_left_out, 7);
}

#[test]
fn links_of_real_reports_show_the_same_numbers() {
    let mut n_checked = 0;
    for (system, ending) in
        [("chrome", ".json"), ("pytorch", ".gz"), ("sway", ".jsonl"), ("pysampling", ".jsonl")]
    {
        for path in data_dirs(system).iter().flat_map(|dir| files(dir, &[ending])) {
            let bytes = std::fs::read(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            if bytes.len() > 200_000 {
                continue;
            }
            let Ok(trace) = import(name, &bytes, None) else { continue };
            let run = Run::single(trace);
            let reports = analysis::reports(&run, &Query::default());
            let document = analysis::document(&run, &reports, &format_title);
            for sent in &reports {
                let options = LinkOptions { report: Some(sent.id.to_string()), ..LinkOptions::default() };
                let got = link::read(&fragment(&document, &run, options).unwrap()).unwrap();
                assert_eq!(got.files[0].bytes, bytes.len() as u64, "{name}");
                assert_eq!(got.reports.len(), 1);
                assert_eq!(got.reports[0].tables().count(), sent.tables().count());
                for (got, sent) in got.reports[0].tables().zip(sent.tables()) {
                    n_checked += 1;
                    assert_eq!(contents(got), contents(sent), "{name}: {}: {}", got.id, sent.id);
                    let order = row_order(sent, &TableQuery::default()).unwrap();
                    let order = &order[..order.len().min(10)];
                    let all: Vec<u32> = (0..got.n_rows() as u32).collect();
                    assert_same_text(name, &rows(got, &all), &rows(sent, order));
                }
            }
        }
    }
    assert!(n_checked > 100, "{n_checked}");
}

#[test]
fn a_comparison_of_ten_rows_fits_in_two_kilobytes() {
    let dir = own_dir("pytorch");
    let side = |name: &str| {
        let bytes = std::fs::read(dir.join(name)).unwrap();
        let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
        session.feed(&bytes);
        session.finish().unwrap();
        session.side().unwrap()
    };
    let (a, b) = (side("compare-base.json.gz"), side("compare-test.json.gz"));
    let mut compared = Compared::new(a, b, &CompareQuery::default()).unwrap();
    // The link of a comparison names the files of both sides.
    let mut out = Vec::new();
    compared.export(&link::INFO, &Options::default(), &mut out).unwrap();
    let linked = Linked::open(std::str::from_utf8(&out).unwrap()).unwrap();
    let files = linked.report().files.clone();
    assert_eq!(files.len(), 2);
    assert!(files.iter().all(|file| file.sha256.is_none()));
    let sides: Vec<Option<LinkedSide>> = files.iter().map(|file| file.side).collect();
    assert_eq!(sides, [Some(LinkedSide::A), Some(LinkedSide::B)]);
    // And the SHA-256 of those of which whoever asks knows it, by name and size.
    let digest = "5c".repeat(32);
    let known = LinkedFile { sha256: Some(digest.clone()), ..files[1].clone() };
    let other = LinkedFile { bytes: known.bytes + 1, ..known.clone() };
    let options = Options {
        link: LinkOptions { files: vec![other, known], ..LinkOptions::default() },
        ..Options::default()
    };
    let mut out = Vec::new();
    compared.export(&link::INFO, &options, &mut out).unwrap();
    let linked = Linked::open(std::str::from_utf8(&out).unwrap()).unwrap();
    let digests: Vec<Option<&str>> =
        linked.report().files.iter().map(|file| file.sha256.as_deref()).collect();
    assert_eq!(digests, [None, Some(digest.as_str())]);
    // Of one name and size they are told apart by their order, unless one is missing.
    let mut same =
        Compared::new(side("compare-base.json.gz"), side("compare-base.json.gz"), &CompareQuery::default())
            .unwrap();
    let [first, then] =
        ["1a", "2b"].map(|digits| LinkedFile { sha256: Some(digits.repeat(32)), ..files[0].clone() });
    for (given, wanted) in [
        (vec![first.clone(), then.clone()], [first.sha256.clone(), then.sha256.clone()]),
        (vec![then], [None, None]),
    ] {
        let options =
            Options { link: LinkOptions { files: given, ..LinkOptions::default() }, ..Options::default() };
        let mut out = Vec::new();
        same.export(&link::INFO, &options, &mut out).unwrap();
        let linked = Linked::open(std::str::from_utf8(&out).unwrap()).unwrap();
        let digests: Vec<Option<String>> =
            linked.report().files.iter().map(|file| file.sha256.clone()).collect();
        assert_eq!(digests, wanted);
    }
    // Ten rows of what changed, with their headline.
    let mut smallest = usize::MAX;
    for report in compared.reports() {
        for table in report.tables().filter(|table| table.n_rows() >= 10) {
            let mut alone = Report { blocks: Vec::new(), ..report.clone() };
            alone.table(table.clone());
            let reports = [alone];
            let made = fragment(&document(&reports), &Run::default(), LinkOptions::default()).unwrap();
            assert_eq!(link::read(&made).unwrap().reports[0].tables().next().unwrap().n_rows(), 10);
            smallest = smallest.min(made.len());
        }
    }
    assert!(smallest <= 2048, "{smallest}");
}

/// Two traces of `dir`, read and compared, with a SHA-256 of each.
fn compared(dir: &Path, names: [&str; 2]) -> (Compared, Vec<LinkedFile>) {
    let mut known = Vec::new();
    let [a, b] = names.map(|name| {
        let name = format!("{name}.json.gz");
        let bytes = std::fs::read(dir.join(&name)).unwrap();
        known.push(LinkedFile {
            name: name.clone(),
            bytes: bytes.len() as u64,
            sha256: Some(text::hex(&Sha256::digest(&bytes))),
            side: None,
        });
        let mut session = Session::new(&name, bytes.len() as u64, None, Query::default());
        session.feed(&bytes);
        session.finish().unwrap();
        session.side().unwrap()
    });
    (Compared::new(a, b, &CompareQuery::default()).unwrap(), known)
}

fn short_link(compared: &mut Compared, link: LinkOptions) -> String {
    let options = Options { link: LinkOptions { is_short: true, ..link }, ..Options::default() };
    let mut out = Vec::new();
    compared.export(&link::INFO, &options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn short_links_of_comparisons_are_short_and_say_what_they_leave_out() {
    let mut n_cut = 0;
    for names in [
        ["compare-base", "compare-test"],
        ["diff-control-a100", "diff-test-v100"],
        ["small-bert-h100", "small-bert-mi300"],
    ] {
        let is_there =
            |dir: &&PathBuf| names.iter().all(|name| dir.join(format!("{name}.json.gz")).is_file());
        let dirs = data_dirs("pytorch");
        let Some(dir) = dirs.iter().find(is_there) else { continue };
        let (mut compared, files) = compared(dir, names);
        for at in 0..compared.reports().len() {
            let sent = compared.reports()[at].clone();
            let what = format!("{names:?} {}", sent.id);
            let link = LinkOptions {
                report: Some(sent.id.to_string()),
                files: files.clone(),
                ..LinkOptions::default()
            };
            let fragment = short_link(&mut compared, link.clone());
            assert!(fragment.len() <= MAX_SHORT_FRAGMENT_BYTES, "{what}: {}", fragment.len());
            let read = link::read(&fragment).unwrap();
            let told: Vec<LinkedFile> =
                read.files.iter().map(|file| LinkedFile { side: None, ..file.clone() }).collect();
            assert_eq!(told, files, "{what}");
            let report = &read.reports[0];
            assert_eq!((&report.id, &report.summary), (&sent.id, &sent.summary));
            let findings = |report: &Report| {
                report.blocks.iter().find_map(|block| match block {
                    Block::Findings(findings) => Some(findings.findings.len()),
                    _ => None,
                })
            };
            // The ten that matter most are there.
            assert_eq!(findings(report), findings(&sent).map(|n| n.min(10)).or(findings(report)), "{what}");
            let is_cut = matches!(
                &report.blocks[0],
                Block::Note(note) if note.text.starts_with("Shortened for a link. Omitted: explanations")
            );
            let is_whole = report.tables().count() == sent.tables().count()
                && report
                    .tables()
                    .zip(sent.tables())
                    .all(|(a, b)| (&a.caption, a.columns.len()) == (&b.caption, b.columns.len()));
            assert_eq!(is_cut, !is_whole, "{what}");
            n_cut += usize::from(is_cut);
            // What someone looked at is there, with as many rows, in that order, and with the columns of that.
            for table in sent.tables().filter(|table| table.n_rows() > 1) {
                let column = table.columns.len() as u32 - 1;
                let query =
                    TableQuery { sort: Some(Sort { column, descending: true }), ..TableQuery::default() };
                let order = row_order(table, &query).unwrap();
                let spot = TableSpot {
                    report: sent.id.to_string(),
                    table: table.id.to_string(),
                    query,
                    chosen: None,
                };
                let fragment = short_link(&mut compared, LinkOptions { tables: vec![spot], ..link.clone() });
                let what = format!("{what} {}", table.id);
                assert!(fragment.len() <= MAX_SHORT_FRAGMENT_BYTES, "{what}: {}", fragment.len());
                let read = link::read(&fragment).unwrap();
                let got = read.reports[0].tables().find(|it| it.id == table.id).expect(&what);
                let known = contents(table);
                assert!(contents(got).iter().all(|content| known.contains(content)), "{what}");
                assert_eq!(got.n_rows(), table.n_rows().min(10), "{what}");
                let sort = read.tables[0].query.sort.expect(&what);
                assert_eq!(got.sort, Some(sort), "{what}");
                let place = got.columns.iter().position(|it| it.id == table.columns[column as usize].id);
                assert_eq!(Some(sort.column as usize), place, "{what}");
                for (row, sent_row) in order.iter().take(10).enumerate() {
                    let (cell, sent) = (
                        got.columns[sort.column as usize].cells.get(row),
                        table.columns[column as usize].cells.get(*sent_row as usize),
                    );
                    let unit = table.columns[column as usize].unit;
                    let (cell, sent) = (cell.display(unit), sent.display(unit));
                    assert!(
                        cell == sent || cell.ends_with('…') && sent.starts_with(cell.trim_end_matches('…')),
                        "{what}: {cell}, {sent}"
                    );
                }
            }
        }
    }
    assert!(n_cut >= 7, "{n_cut}");
}

#[test]
fn the_table_that_a_report_is_called_after_goes_along_in_a_short_link() {
    let bytes = std::fs::read(own_dir("pytorch").join("small-bert-h100.json.gz")).unwrap();
    let mut session = Session::new("t.json.gz", bytes.len() as u64, None, Query::default());
    session.feed(&bytes);
    session.finish().unwrap();
    let link =
        LinkOptions { report: Some("gpu-kernels".to_string()), is_short: true, ..LinkOptions::default() };
    let mut out = Vec::new();
    session.export(&link::INFO, &Options { link, ..Options::default() }, &mut out).unwrap();
    assert!(out.len() <= MAX_SHORT_FRAGMENT_BYTES, "{}", out.len());
    let read = link::read(std::str::from_utf8(&out).unwrap()).unwrap();
    let kernels = read.reports[0].tables().find(|table| table.id == "kernels").unwrap();
    assert_eq!(kernels.n_rows(), 10);
}

#[test]
fn what_is_too_long_is_refused_with_a_reason() {
    let mut random = Random(7);
    let names: Vec<String> = (0..20_000).map(|_| format!("{:x}", random.next())).collect();
    let column = Column::key("name", "name", Content::Symbol, names.iter().map(String::as_str).collect());
    let mut report = Report::new("r", "Report");
    report.table(Table::new("t", "Table", vec![column]));
    let reports = [report];
    let options = LinkOptions { rows: u32::MAX, ..LinkOptions::default() };
    let refusal = fragment(&document(&reports), &Run::default(), options).unwrap_err();
    assert!(refusal.contains("the limit is 65536"), "{refusal}");
}

/// Blocks of `key: value` lines: a fragment with its content, a table of it and the sides of its files, or with the reason why it is refused.
#[test]
fn version_1_stays_what_it_is() {
    let text = std::fs::read_to_string(own_dir("link").join("vectors.txt")).unwrap();
    let mut n_vectors = 0;
    for block in text.split("\n\n").filter(|block| !block.trim().is_empty() && !block.starts_with('#')) {
        let member = |key: &str| {
            block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).unwrap_or_default()
        };
        let (name, fragment) = (member("name"), member("fragment"));
        match member("refused") {
            "" => {
                let content = link::decode(fragment).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
                assert_same_text(name, std::str::from_utf8(&content).unwrap(), member("content"));
                let mut linked = Linked::open(fragment).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
                let shown = linked.document().unwrap();
                assert!(!shown.reports.is_empty(), "{name}");
                let report = &shown.reports[0];
                let BlockView::Table(table) = &report.blocks[1] else { panic!("{name}: no table") };
                let ask = TableAsk::whole(&report.id, &table.id);
                let (csv, _) = linked.copy(&ask, CopyFormat::Csv, Amounts::Absolute).unwrap();
                assert_eq!(csv.replace("\r\n", "|"), member("table"), "{name}");
                let side = |file: &LinkedFile| Some(format!("{} {}", file.name, file.side?.letter()));
                let sides: Vec<String> = linked.report().files.iter().filter_map(side).collect();
                assert_eq!(sides.join(", "), member("files"), "{name}");
            }
            reason => {
                let refusal = link::read(fragment).map(drop).expect_err(name);
                assert_eq!(refusal.to_string(), reason, "{name}");
            }
        }
        n_vectors += 1;
    }
    assert!(n_vectors >= 8, "{n_vectors}");
}

#[test]
fn any_letters_at_all_are_refused_or_read() {
    let reports = [report()];
    let good = fragment(&document(&reports), &Run::default(), LinkOptions::default()).unwrap();
    let mut random = Random(3);
    for _ in 0..20_000 {
        let mut bytes = good.clone().into_bytes();
        for _ in 0..=random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = 32 + random.below(95) as u8;
        }
        let _ = link::read(std::str::from_utf8(&bytes).unwrap());
    }
    assert_eq!(link::read(""), Err(Refusal::OtherVersion(String::new())));
}

/// A link made from the flame graph has the widest boxes; others do not.
#[test]
fn links_have_the_top_of_the_flame_graph() {
    let stacks = b"main;work;gemm 8\nmain;work;copy 2\nmain;idle 5\n";
    let mut session = Session::new("a.folded", stacks.len() as u64, None, Query::default());
    session.feed(stacks);
    session.finish().unwrap();
    session.finish_reports();
    let mut linked = |report: &str| {
        let link = LinkOptions { report: Some(report.to_string()), rows: 3, ..LinkOptions::default() };
        let mut out = Vec::new();
        let options = Options { link, ..Options::default() };
        session.export(export::find("link").unwrap(), &options, &mut out).unwrap();
        link::read(std::str::from_utf8(&out).unwrap()).unwrap()
    };
    let top = linked("flame-graph");
    assert_eq!(top.reports.len(), 1);
    assert_eq!(top.reports[0].summary, "gemm is hottest: 53.3% self (8 of 15 samples).");
    let table = top.reports[0].tables().next().unwrap();
    let rows = |id: &str| -> Vec<String> {
        let cells = &table.column(id).unwrap().cells;
        (0..table.n_rows()).map(|row| cells.get(row).plain()).collect()
    };
    assert_eq!(rows("function"), ["main", "work", "gemm"]);
    assert_eq!(rows("callers"), ["", "main", "main › work"]);
    assert_eq!(rows("total"), ["15", "10", "8"]);
    assert_eq!(table.n_left_out, 2);
    assert!(linked("stack-functions").reports.iter().all(|report| report.id != "flame-graph"));
}
