//! Situations that once gave a wrong number: small files in `tests/data/situations`, each with the right answers next to it.
//!
//! A situation is a file, or a folder of files that are read together, and `NAME.right`, whose lines are explained in
//! `tests/data/situations/README.md`. Each one is read whole, in pieces, in parts by several readers, through the index,
//! aggregated (folded), together with another trace, and from its own export as a Chrome trace.

use crate::support;
use crate::support::{files, for_each_cut, own_dir};
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::compare::{CompareQuery, Digest, compare};
use tracedrop::engine::{Session, Shown, format_title};
use tracedrop::export::{self, EXPORTERS, Options};
use tracedrop::import::{Import, ImportError};
use tracedrop::index::Index;
use tracedrop::report::{Block, Fact, Finding, Report, Table, Value};
use tracedrop::trace::Trace;

/// Origin of the reports that a line is checked with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// The file itself, whole or in pieces, or its index: everything must hold.
    Itself,
    /// Aggregated events: whatever is still reported must be right.
    Folded,
    /// Together with another trace: whatever is still reported under the same name must be right.
    Together,
    /// Read back from a Chrome trace export: numbers of slices must be right.
    ReadBack,
}

/// One line of `NAME.right`.
struct Line {
    number: usize,
    text: String,
    /// It applies to the file itself only, not to anything made from it.
    is_here_only: bool,
}

struct Situation {
    name: String,
    inputs: Vec<PathBuf>,
    lines: Vec<Line>,
}

fn situations() -> Vec<Situation> {
    let dir = own_dir("situations");
    let mut all = Vec::new();
    for right in files(&dir, &[".right"]) {
        let name = right.file_stem().unwrap().to_str().unwrap().to_string();
        let folder = dir.join(&name);
        let inputs = match folder.is_dir() {
            true => files(&folder, &[""]),
            false => files(&dir, &[""])
                .into_iter()
                .filter(|path| {
                    let file = path.file_name().unwrap().to_str().unwrap();
                    path != &right && file.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'))
                })
                .collect(),
        };
        assert!(!inputs.is_empty(), "{name}: no input file for {name}.right");
        let text = fs::read_to_string(&right).unwrap();
        let lines = text.lines().enumerate().filter_map(|(index, line)| {
            let line = line.trim();
            let here = line.strip_prefix("here ");
            (!line.is_empty() && !line.starts_with('#')).then(|| Line {
                number: index + 1,
                text: here.unwrap_or(line).trim().to_string(),
                is_here_only: here.is_some(),
            })
        });
        let lines: Vec<Line> = lines.collect();
        assert!(!lines.is_empty(), "{name}: no checks");
        assert!(text.starts_with('#'), "{name}: start with a sentence that describes the situation");
        all.push(Situation { name, inputs, lines });
    }
    all
}

/// All texts of a report, one per line.
fn words(report: &Report) -> String {
    let mut out = vec![report.title.clone(), report.summary.clone()];
    let fact = |fact: &Fact| format!("{}: {} {}", fact.label, fact.value.display(fact.unit), fact.hint);
    let finding = |finding: &Finding| {
        let evidence: Vec<String> = finding.evidence.iter().map(fact).collect();
        format!("{} {} {}", finding.id, finding.text, evidence.join(" "))
    };
    for block in &report.blocks {
        match block {
            Block::Note(note) => out.push(note.text.clone()),
            Block::Facts(facts) => out.extend(facts.facts.iter().map(fact)),
            Block::Findings(findings) => {
                out.extend([findings.title.clone(), findings.caption.clone()]);
                match findings.findings.is_empty() {
                    true => out.push(findings.empty.clone()),
                    false => out.extend(findings.findings.iter().map(finding)),
                }
            }
            Block::Table(table) => {
                out.extend([table.title.clone(), table.caption.clone()]);
                for row in 0..table.n_rows() {
                    let cell =
                        |column: &tracedrop::report::Column| column.cells.get(row).display(column.unit);
                    out.push(table.columns.iter().map(cell).collect::<Vec<_>>().join(" | "));
                }
                if table.n_rows() == 0 {
                    out.push(table.empty.clone());
                }
            }
            Block::Chart(_) => {}
        }
    }
    out.join("\n")
}

fn table<'a>(reports: &'a [Report], report: &str, id: &str) -> Result<&'a Table, String> {
    let report = reports.iter().find(|known| known.id == report).ok_or_else(|| {
        let ids: Vec<_> = reports.iter().map(|report| report.id.as_ref()).collect();
        format!("no report {report}, there are {ids:?}")
    })?;
    report.tables().find(|table| table.id == id).ok_or_else(|| {
        let ids: Vec<_> = report.tables().map(|table| table.id.as_ref()).collect();
        format!("no table {id} in {}, there are {ids:?}", report.id)
    })
}

/// Raw value of `REPORT/TABLE[KEY=VALUE,…].COLUMN`.
fn cell(reports: &[Report], path: &str) -> Result<Value, String> {
    let (report, rest) = path.split_once('/').ok_or("no `/`")?;
    let (id, rest) = rest.split_once('[').ok_or("no `[`")?;
    let (keys, column) = rest.rsplit_once("].").ok_or("no `].`")?;
    let table = table(reports, report, id)?;
    let columns = || table.columns.iter().map(|column| column.id.as_ref()).collect::<Vec<_>>();
    let mut rows: Vec<usize> = (0..table.n_rows()).collect();
    // A comma is part of the value unless another key follows it.
    let mut parts: Vec<String> = Vec::new();
    for part in keys.split(',') {
        match parts.last_mut() {
            Some(last) if !part.contains('=') => *last = format!("{last},{part}"),
            _ => parts.push(part.to_string()),
        }
    }
    for key in &parts {
        let (key, wanted) = key.split_once('=').ok_or("no `=` in the key")?;
        let of = table.column(key).ok_or_else(|| format!("no column {key}, there are {:?}", columns()))?;
        rows.retain(|row| of.cells.get(*row).plain() == wanted);
    }
    let cells =
        &table.column(column).ok_or_else(|| format!("no column {column}, there are {:?}", columns()))?.cells;
    match rows[..] {
        [row] => Ok(cells.get(row)),
        _ => {
            Err(format!("{} rows match in\n{}", rows.len(), export::csv::table_csv(table, &all_rows(table))))
        }
    }
}

fn all_rows(table: &Table) -> Vec<u32> {
    (0..table.n_rows() as u32).collect()
}

/// Whether `value` equals `wanted`: doubles to the digits written, `-` for a missing value.
fn is_written_so(value: &Value, wanted: &str) -> bool {
    match value {
        Value::Missing => wanted == "-",
        Value::Float(value) => match wanted.split_once('.') {
            Some((_, digits)) => format!("{value:.*}", digits.len()) == wanted,
            None => format!("{value:.0}") == wanted,
        },
        value => value.plain() == wanted,
    }
}

fn ledger_number(trace: &Trace, what: &str) -> Option<u64> {
    let ledger = &trace.ledger;
    Some(match what {
        "kept" => ledger.kept.records,
        "repaired" => ledger.repaired.records,
        "skipped" => ledger.skipped.records,
        "records" => ledger.n_records(),
        "unused" => ledger.unused_bytes,
        _ => return None,
    })
}

/// Checks one line against the reports of a file. `Ok(false)` if this origin has no answer.
fn holds(
    line: &str,
    way: Way,
    reports: &[Report],
    traces: &[Trace],
    read: &mut Read<'_>,
) -> Result<bool, String> {
    let it_is_itself = way == Way::Itself;
    if let Some(rest) = line.strip_prefix("ledger ") {
        let (what, wanted) = rest.split_once(" = ").ok_or("no ` = `")?;
        if !it_is_itself {
            return Ok(false);
        }
        let sum = traces.iter().map(|trace| ledger_number(trace, what)).sum::<Option<u64>>();
        let got = sum.ok_or_else(|| format!("the ledger has no {what}"))?;
        return if got.to_string() == wanted { Ok(true) } else { Err(format!("it is {got}")) };
    }
    if let Some(rest) = line.strip_prefix("issue ") {
        let (code, wanted) = rest.split_once(" = ").ok_or("no ` = `")?;
        if !it_is_itself {
            return Ok(false);
        }
        let got: u64 = traces.iter().map(|trace| trace.ledger.count_of(code)).sum();
        let known = || {
            let issues = traces.iter().flat_map(|trace| &trace.ledger.issues);
            issues.map(|issue| format!("{} {}", issue.kind.code, issue.count)).collect::<Vec<_>>()
        };
        return if got.to_string() == wanted {
            Ok(true)
        } else {
            Err(format!("it is {got}; there are {:?}", known()))
        };
    }
    if let Some(rest) = line.strip_prefix("rows ") {
        let (path, wanted) = rest.split_once(" = ").ok_or("no ` = `")?;
        let (report, id) = path.split_once('/').ok_or("no `/`")?;
        if !it_is_itself {
            return Ok(false);
        }
        let got = table(reports, report, id)?.n_rows();
        return if got.to_string() == wanted { Ok(true) } else { Err(format!("it has {got}")) };
    }
    if let Some(wanted) = line.strip_prefix("first report is ") {
        let got = reports.first().map_or("none", |report| report.id.as_ref());
        return match it_is_itself {
            true if got != wanted => Err(format!("it is {got}")),
            is => Ok(is),
        };
    }
    if let Some(rest) = line.strip_prefix("report ") {
        let (id, wanted) = rest.split_once(" is ").ok_or("no ` is `")?;
        let is_there = reports.iter().any(|report| report.id == id);
        return match it_is_itself {
            true if is_there == (wanted == "missing") => {
                Err(format!("it is {}", if is_there { "there" } else { "missing" }))
            }
            is => Ok(is),
        };
    }
    if let Some(secret) = line.strip_prefix("exports are silent on: ") {
        if !it_is_itself {
            return Ok(false);
        }
        for (id, text) in read.exports() {
            if let Some(at) = text.find(secret) {
                let from = text[..at].char_indices().rev().nth(40).map_or(0, |(from, _)| from);
                return Err(format!("{id} has it: {:?}", text[from..].chars().take(120).collect::<String>()));
            }
        }
        return Ok(true);
    }
    if let Some(rest) = line.strip_prefix("export ") {
        let (id, says, wanted) = says(rest)?;
        if !it_is_itself {
            return Ok(false);
        }
        let exports = read.exports();
        let (_, text) = exports
            .iter()
            .find(|(known, _)| *known == id)
            .ok_or_else(|| format!("there is no export {id}"))?;
        return if text.contains(wanted) == says { Ok(true) } else { Err(text.chars().take(2000).collect()) };
    }
    if let Some(wanted) = line.strip_prefix("all are silent on: ") {
        return match reports.iter().find(|report| words(report).contains(wanted)) {
            Some(report) if it_is_itself => Err(format!("{} says it", report.id)),
            _ => Ok(it_is_itself),
        };
    }
    if line.contains(" says: ") || line.contains(" is silent on: ") {
        let (id, says, wanted) = says(line)?;
        if !it_is_itself {
            return Ok(false);
        }
        let report = reports
            .iter()
            .find(|report| report.id == id)
            .ok_or_else(|| format!("there is no report {id}"))?;
        let text = words(report);
        return if text.contains(wanted) == says { Ok(true) } else { Err(text) };
    }
    let (path, wanted) = line.rsplit_once(" = ").ok_or("no ` = `")?;
    match cell(reports, path) {
        Ok(value) if is_written_so(&value, wanted) => Ok(true),
        // With several files, rows are split by file, and some reports need single events.
        Err(_) if !it_is_itself => Ok(false),
        // Dropped by aggregation: missing, but not wrong.
        Ok(Value::Missing) if way == Way::Folded => Ok(false),
        Ok(value) => {
            Err(format!("it is {}", if value == Value::Missing { "-".into() } else { value.plain() }))
        }
        Err(why) => Err(why),
    }
}

/// `ID says: WORDS` or `ID is silent on: WORDS`.
fn says(line: &str) -> Result<(&str, bool, &str), String> {
    let is = line.split_once(" says: ").map(|(id, words)| (id, true, words));
    is.or_else(|| line.split_once(" is silent on: ").map(|(id, words)| (id, false, words)))
        .ok_or_else(|| "neither `says:` nor `is silent on:`".to_string())
}

/// A session with its text exports, made on first use.
struct Read<'a> {
    session: &'a mut Session,
    texts: Option<Vec<(&'static str, String)>>,
}

impl Read<'_> {
    fn exports(&mut self) -> &[(&'static str, String)] {
        let Read { session, texts } = self;
        texts.get_or_insert_with(|| {
            let known: Vec<_> = session.exporters().iter().map(|exporter| exporter.id).collect();
            let wanted =
                EXPORTERS.iter().filter(|exporter| exporter.is_text() && known.contains(&exporter.id));
            wanted
                .map(|exporter| {
                    let mut out = Vec::new();
                    session.export(exporter, &Options::default(), &mut out).unwrap();
                    (exporter.id, String::from_utf8_lossy(&out).into_owned())
                })
                .collect()
        })
    }
}

fn session_of(traces: Vec<Trace>) -> Session {
    let mut sessions = traces.into_iter().map(|trace| Session::of_trace(trace, Query::default()));
    match sessions.len() {
        1 => sessions.next().unwrap(),
        _ => Session::together(sessions.collect()).unwrap(),
    }
}

/// Number of lines checked, and failures.
#[derive(Default)]
struct Outcome {
    n_held: usize,
    wrong: Vec<String>,
}

impl Outcome {
    fn look(&mut self, situation: &Situation, how: &str, way: Way, session: &mut Session) {
        let reports = session.reports().to_vec();
        let traces = session.run().traces.clone();
        let mut read = Read { session, texts: None };
        for line in &situation.lines {
            let is_special = ["refused: ", "compared", "comparison is refused: "]
                .iter()
                .any(|start| line.text.starts_with(start));
            if is_special || line.is_here_only && way != Way::Itself {
                continue;
            }
            match holds(&line.text, way, &reports, &traces, &mut read) {
                Ok(held) => self.n_held += usize::from(held),
                Err(why) => {
                    let at = format!("{}.right:{}: ", situation.name, line.number);
                    // The first origin that fails is the most telling.
                    if !self.wrong.iter().any(|known| known.starts_with(&at)) {
                        self.wrong.push(format!("{at}{how}\n    {}\n    {why}", line.text));
                    }
                }
            }
        }
    }

    fn look_at_comparison(&mut self, situation: &Situation, own: &Trace) {
        let Some(with) = situation.lines.iter().find_map(|line| line.text.strip_prefix("compared with "))
        else {
            return;
        };
        let path = own_dir("situations").join(with);
        let other = import_whole(&path).unwrap();
        let digest = |trace: Trace| {
            let (mut session, query) = (Session::of_trace(trace, Query::default()), Query::default());
            let reports = session.reports().to_vec();
            let mut run = session.run().clone();
            let _ = &mut session;
            Digest::of(&mut run, &reports, &query, &format_title, Default::default())
        };
        let (a, b) = (digest(own.clone()), digest(other));
        let compared = compare(&a, &b, &CompareQuery::default());
        for line in &situation.lines {
            let wrong = match (
                &compared,
                line.text.strip_prefix("compared: "),
                line.text.strip_prefix("comparison is refused: "),
            ) {
                (Ok(comparison), Some(line), _) => {
                    let mut empty = session_of(vec![Trace::default()]);
                    let mut read = Read { session: &mut empty, texts: None };
                    holds(line, Way::Itself, &comparison.reports, &[], &mut read).err()
                }
                (Err(why), Some(_), _) => Some(format!("refused: {why:?}")),
                (Ok(_), _, Some(_)) => Some("it was compared".to_string()),
                (Err(why), _, Some(words)) => {
                    let why = why.to_string();
                    (!why.contains(words)).then_some(why)
                }
                _ => continue,
            };
            self.n_held += 1;
            let at =
                format!("{}.right:{}: compared with {with}\n    {}", situation.name, line.number, line.text);
            self.wrong.extend(wrong.map(|why| format!("{at}\n    {why}")));
        }
    }
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

fn import_whole(path: &Path) -> Result<Trace, ImportError> {
    support::import(name_of(path), &fs::read(path).unwrap(), None)
}

fn export(session: &mut Session, id: &str) -> Option<Vec<u8>> {
    let exporter = export::find(id).unwrap();
    session.exporters().iter().any(|known| known.id == id).then(|| {
        let mut out = Vec::new();
        session.export(exporter, &Options::default(), &mut out).unwrap();
        out
    })
}

/// Another rank with slices that are unrelated to the situation.
fn other_rank() -> Trace {
    let text = r#"[{"ph":"X","name":"of another rank","ts":5,"dur":10,"pid":77,"tid":78}]"#;
    support::import("other.json", text.as_bytes(), None).unwrap()
}

/// Through the index, folded, together with another, and read back.
fn look_at_what_is_made_of(situation: &Situation, name: &str, bytes: &[u8], outcome: &mut Outcome) {
    let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
    session.can_read_again(Rc::new(bytes.to_vec()));
    session.feed(bytes);
    if session.finish().is_err() {
        return;
    }
    outcome.look(situation, "with arguments left in the file", Way::Itself, &mut session);
    if let Some(index) = export(&mut session, "index") {
        let index = Index::open(Rc::new(index)).unwrap();
        let again: Rc<dyn tracedrop::trace::args::Content> = Rc::new(bytes.to_vec());
        let mut reopened = Session::of_index(index, Some(again), Query::default()).ok().unwrap();
        // Another query reads the tables; then the first one again.
        reopened.set_query(Query { top: 3, ..Query::default() }).unwrap();
        reopened.set_query(Query::default()).unwrap();
        outcome.look(situation, "through the index", Way::Itself, &mut reopened);
    }
    if let Some(text) = export(&mut session, "chrome-trace")
        && let Ok(trace) = support::import("again.json", &text, None)
    {
        outcome.look(
            situation,
            "read back from its Chrome trace",
            Way::ReadBack,
            &mut session_of(vec![trace]),
        );
    }
    for max_events in [0, 7] {
        let mut import = Import::new(name, bytes.len() as u64);
        import.hold_at_most(max_events);
        bytes.chunks(100).for_each(|chunk| import.feed(chunk));
        if let Ok(trace) = import.finish()
            && trace.aggregated.is_some()
        {
            let how = format!("{max_events} events held");
            outcome.look(situation, &how, Way::Folded, &mut session_of(vec![trace]));
        }
    }
    if let Ok(trace) = support::import(name, bytes, None) {
        let mut both = session_of(vec![trace, other_rank()]);
        outcome.look(situation, "together with another rank", Way::Together, &mut both);
    }
}

fn look_at(situation: &Situation) -> Outcome {
    let mut outcome = Outcome::default();
    let refusals: Vec<&Line> =
        situation.lines.iter().filter(|line| line.text.starts_with("refused: ")).collect();
    if let [path] = &situation.inputs[..] {
        let (name, bytes) = (name_of(path), fs::read(path).unwrap());
        let mut first = None;
        for_each_cut(name, &bytes, None, &mut |how, read| {
            let refusal = match read {
                Ok(trace) => {
                    let mut session = session_of(vec![trace]);
                    first.get_or_insert_with(|| session.run().traces[0].clone());
                    let useless = session.why_useless();
                    if useless.is_none() || refusals.is_empty() {
                        outcome.look(situation, how, Way::Itself, &mut session);
                    }
                    useless
                }
                Err(why) => Some(why),
            };
            for line in &refusals {
                let words = line.text.strip_prefix("refused: ").unwrap();
                let text = refusal.as_ref().map_or("it was read".to_string(), ToString::to_string);
                outcome.n_held += 1;
                if refusal.is_none() || !text.contains(words) {
                    outcome.wrong.push(format!(
                        "{}.right:{}: {how}\n    {}\n    {text}",
                        situation.name, line.number, line.text
                    ));
                }
            }
            if refusals.is_empty()
                && let Some(why) = refusal
            {
                outcome.wrong.push(format!("{}: {how}: refused: {why}", situation.name));
            }
        });
        if refusals.is_empty() {
            look_at_what_is_made_of(situation, name, &bytes, &mut outcome);
        }
        if let Some(trace) = &first {
            outcome.look_at_comparison(situation, trace);
        }
    } else {
        let traces = situation.inputs.iter().map(|path| import_whole(path).unwrap()).collect();
        outcome.look(situation, "all files together", Way::Itself, &mut session_of(traces));
    }
    outcome
}

#[test]
fn situations_give_the_right_numbers() {
    let only = std::env::var("SITUATION").unwrap_or_default();
    let (mut n_held, mut wrong) = (0, Vec::new());
    for situation in situations().iter().filter(|situation| situation.name.contains(&only)) {
        let outcome = look_at(situation);
        assert!(outcome.n_held > 0 || !outcome.wrong.is_empty(), "{}: no line was checked", situation.name);
        n_held += outcome.n_held;
        wrong.extend(outcome.wrong);
    }
    assert!(wrong.is_empty(), "{} of {n_held} lines are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
