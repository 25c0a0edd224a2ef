//! What must hold between the reports on one trace, of every file there is.
//!
//! - Nothing has more to itself than in total, and no part is more than its whole.
//! - Shares of a table are shares of one whole.
//! - One quantity is the same number, and the same share, wherever it stands.
//! - Parts of a window add up to it: time of a GPU, its idle time by cause, the critical path.
//! - Traces of two ranks in one file are what each is by itself: nothing is linked across them.

use crate::support::{Random, all_files, changed, data_dirs, files, own_dir};
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use tracedrop::analysis::Query;
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{self, Options};

/// Packed files above this many bytes are left to the tests on single reports.
const MAX_BYTES: usize = 3_000_000;
/// Text of at most this many bytes is changed.
const MAX_CHANGED_BYTES: usize = 60_000;
/// Times each of these is changed.
const N_CHANGED: u64 = 3;

/// The reports on a file as the JSON export has them; `None` where nothing can be read.
fn document(name: &str, bytes: &[u8]) -> Option<Value> {
    let mut session =
        Session::new(name, bytes.len() as u64, None, Query { top: u32::MAX, ..Query::default() });
    session.feed(bytes);
    session.finish().ok()?;
    let mut json = Vec::new();
    session.export(export::find("json").unwrap(), &Options::default(), &mut json).ok()?;
    // Forward passes are written as their reference tool writes them, NaN included.
    let is_own = json.windows(8).any(|text| text == b"\"schema\"");
    is_own.then(|| serde_json::from_slice(&json).expect("an export in JSON is JSON"))
}

/// One table of a document.
struct Table<'a> {
    id: &'a str,
    columns: Vec<&'a str>,
    units: Vec<&'a str>,
    rows: &'a [Value],
}

impl Table<'_> {
    fn has(&self, column: &str) -> bool {
        self.columns.contains(&column)
    }

    fn cell(&self, row: usize, column: &str) -> &Value {
        let at = self.columns.iter().position(|id| *id == column);
        at.map_or(&Value::Null, |at| &self.rows[row][at])
    }

    fn number(&self, row: usize, column: &str) -> Option<f64> {
        self.cell(row, column).as_f64()
    }

    /// Sum of a column over rows whose cell of `key` is this text.
    fn sum(&self, column: &str, key: Option<(&str, &str)>) -> i128 {
        let is_of = |row: &usize| key.is_none_or(|(key, text)| self.cell(*row, key) == text);
        (0..self.rows.len()).filter(is_of).map(|row| integer(self.cell(row, column))).sum()
    }
}

fn integer(value: &Value) -> i128 {
    value.as_i64().map(i128::from).or(value.as_u64().map(i128::from)).unwrap_or(0)
}

fn tables(document: &Value) -> HashMap<(&str, &str), Table<'_>> {
    let mut tables = HashMap::new();
    for report in document["reports"].as_array().into_iter().flatten() {
        for block in
            report["blocks"].as_array().into_iter().flatten().filter(|block| block["type"] == "table")
        {
            let (report, id) = (report["id"].as_str().unwrap(), block["id"].as_str().unwrap());
            let columns = block["columns"].as_array().unwrap();
            let of = |member: &str| columns.iter().map(|it| it[member].as_str().unwrap_or("")).collect();
            let rows = block["rows"].as_array().unwrap();
            tables.insert((report, id), Table { id, columns: of("id"), units: of("unit"), rows });
        }
    }
    tables
}

/// The smaller and the larger of columns that hold parts and wholes of the same rows.
const PARTS: [(&str, &str); 8] = [
    ("self", "total"),
    ("own", "inside"),
    ("direct", "subtree"),
    ("min", "max"),
    ("min", "mean"),
    ("mean", "max"),
    ("p50", "p99"),
    ("p50", "max"),
];

/// Columns that are shares of one whole, with the columns that they are shares of.
const SHARES: [(&str, &str); 4] =
    [("self_share", "self"), ("share", "total"), ("share", "direct"), ("own_share", "own")];

fn check_rows(file: &str, report: &str, table: &Table<'_>) {
    for (part, whole) in PARTS.into_iter().filter(|(a, b)| table.has(a) && table.has(b)) {
        let unit = |column: &str| table.columns.iter().position(|id| *id == column).map(|at| table.units[at]);
        if unit(part) != unit(whole) {
            continue;
        }
        for row in 0..table.rows.len() {
            if let (Some(part_value), Some(whole_value)) = (table.number(row, part), table.number(row, whole))
            {
                // Means are doubles, and rounded to nanoseconds in some tables.
                let slack = 1.0 + whole_value.abs() * 1e-9;
                assert!(
                    part_value <= whole_value + slack,
                    "{file}: {report}/{}: {part} {part_value} of {whole} {whole_value} in row {row}",
                    table.id
                );
            }
        }
    }
    for (at, unit) in table.units.iter().enumerate() {
        let column = table.columns[at];
        if *unit == "ratio" && (column == "share" || column.ends_with("_share")) {
            for (row, cells) in table.rows.iter().enumerate() {
                if let Some(share) = cells[at].as_f64() {
                    assert!(
                        (-1e-9..=1.0 + 1e-9).contains(&share),
                        "{file}: {report}/{}: {column} is {share} in row {row}",
                        table.id
                    );
                }
            }
        }
    }
    for (share, of) in SHARES.into_iter().filter(|(share, of)| table.has(share) && table.has(of)) {
        // Tables by step, phase or device have a whole for each.
        if ["step", "phase", "device", "where", "layer"].into_iter().any(|key| table.has(key)) {
            continue;
        }
        let whole = |row: usize| {
            let (share, of) = (table.number(row, share)?, table.number(row, of)?);
            (share > 1e-6).then(|| of / share)
        };
        let wholes: Vec<f64> = (0..table.rows.len()).filter_map(whole).collect();
        if let Some(first) = wholes.first() {
            for other in &wholes {
                assert!(
                    (first - other).abs() <= first.abs() * 1e-6 + 1.0,
                    "{file}: {report}/{}: {share} is of {first} and of {other}",
                    table.id
                );
            }
        }
    }
}

/// Rows that stand in two tables by the same key: the same numbers.
fn check_same(file: &str, a: &Table<'_>, b: &Table<'_>, key: &[&str], columns: &[(&str, &str)]) {
    let key_of = |table: &Table<'_>, row: usize| -> Vec<String> {
        key.iter().map(|column| table.cell(row, column).to_string()).collect()
    };
    let mut rows: HashMap<Vec<String>, Vec<usize>> = HashMap::new();
    (0..b.rows.len()).for_each(|row| rows.entry(key_of(b, row)).or_default().push(row));
    for row in 0..a.rows.len() {
        // A name may have a row for each sort of slice.
        let Some(others) = rows.get(&key_of(a, row)) else {
            panic!("{file}: {:?} of {} is not in {}", key_of(a, row), a.id, b.id);
        };
        // Slices around nearly all of the trace, or without an end, are left out where the hottest lead, which is said there.
        let is_part = |other: &usize| integer(a.cell(row, "count")) < integer(b.cell(*other, "count"));
        let same = |other: &usize| {
            is_part(other) || columns.iter().all(|(of_a, of_b)| a.cell(row, of_a) == b.cell(*other, of_b))
        };
        assert!(
            others.iter().any(same),
            "{file}: {:?} differs between {} and {}",
            key_of(a, row),
            a.id,
            b.id
        );
    }
}

fn check_sums(file: &str, document: &Value, tables: &HashMap<(&str, &str), Table<'_>>) {
    let fact = |report: &str, id: &str| {
        let report = document["reports"].as_array()?.iter().find(|it| it["id"] == report)?;
        let facts = report["blocks"].as_array()?.iter().filter(|block| block["type"] == "facts");
        let found =
            facts.flat_map(|block| block["facts"].as_array().unwrap()).find(|fact| fact["id"] == id)?;
        found["value"].as_i64().map(i128::from)
    };
    let table = |report, id| tables.get(&(report, id));
    if let (Some(breakdown), Some(all)) =
        (table("gpu-breakdown", "breakdown"), fact("gpu-breakdown", "gpu_time"))
        && document["reports"][0]["id"] != "gpu-ranks"
    {
        // Idle or not recorded: causes tell them apart as well.
        let idle: i128 =
            ["idle", "not recorded"].map(|part| breakdown.sum("time", Some(("part", part)))).iter().sum();
        assert_eq!(breakdown.sum("time", None), all, "{file}: parts of GPU time");
        if let Some(by_cause) = table("gpu-idle", "idle") {
            assert_eq!(by_cause.sum("time", None), idle, "{file}: idle time by cause");
        }
    }
    if let (Some(operations), Some(kernels)) =
        (table("gpu-kernels", "operations"), table("gpu-kernels", "kernels"))
    {
        assert_eq!(operations.sum("total", None), kernels.sum("total", None), "{file}: kernels by operation");
        assert_eq!(operations.sum("count", None), kernels.sum("count", None), "{file}: number of kernels");
        let by_step = table("gpu-kernels", "operations_by_step");
        if let Some(by_step) = by_step {
            assert!(by_step.sum("total", None) <= operations.sum("total", None), "{file}: kernels by step");
        }
    }
    if let (Some(path), Some(length)) =
        (table("gpu-critical-path", "critical_path"), fact("gpu-critical-path", "length"))
    {
        assert_eq!(path.sum("time", None), length, "{file}: parts of the critical path");
        let names = table("gpu-critical-path", "critical_names").unwrap();
        assert_eq!(names.sum("time", None), length, "{file}: names on the critical path");
    }
}

fn corpus() -> Vec<PathBuf> {
    let mut all = all_files(&own_dir("situations"), &[".json", ".jsonl"]);
    for system in ["chrome", "pytorch", "sway", "pysampling", "mrm"] {
        for dir in data_dirs(system) {
            all.extend(files(&dir, &[".json", ".jsonl", ".gz", ".bin", ".csv", ".parquet"]));
        }
    }
    all
}

/// Holds all of it of one document.
fn check(name: &str, document: &Value) {
    let tables = tables(document);
    for ((report, _), table) in &tables {
        check_rows(name, report, table);
    }
    if let (Some(hottest), Some(slices)) =
        (tables.get(&("overview", "hottest")), tables.get(&("slices", "slices")))
    {
        let columns =
            [("total", "total"), ("self", "self"), ("self_share", "self_share"), ("count", "count")];
        check_same(name, hottest, slices, &["name", "category"], &columns);
    }
    check_sums(name, document, &tables);
}

#[test]
fn reports_agree_with_each_other() {
    let mut n_documents = 0;
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        if bytes.len() > MAX_BYTES {
            continue;
        }
        if let Some(document) = document(name, &bytes) {
            n_documents += 1;
            check(name, &document);
        }
    }
    assert!(n_documents > 20, "{n_documents} documents");
}

#[test]
fn reports_on_changed_files_agree_with_each_other() {
    let mut random = Random(7);
    for path in corpus() {
        let bytes = std::fs::read(&path).unwrap();
        let is_text = path.extension().is_some_and(|end| end == "json" || end == "jsonl");
        if !is_text || bytes.is_empty() || bytes.len() > MAX_CHANGED_BYTES {
            continue;
        }
        for turn in 0..N_CHANGED {
            if let Some(document) = document("changed.json", &changed(&bytes, &mut random)) {
                check(&format!("{}, turn {turn}", path.display()), &document);
            }
        }
    }
}

/// The events of a rank, as another rank of the same job has them: other processes and devices, the same ids otherwise.
fn as_rank(events: &[Value], rank: i64) -> Vec<Value> {
    let mut events = events.to_vec();
    for event in &mut events {
        if let Some(pid) = event["pid"].as_i64() {
            // Devices are processes of small numbers there.
            event["pid"] = Value::from(if pid < 64 { pid + 64 * rank } else { pid + 10_000_000 * rank });
        }
        if let Some(device) = event["args"]["device"].as_i64() {
            event["args"]["device"] = Value::from(device + 64 * rank);
        }
    }
    events
}

#[test]
fn ranks_in_one_file_are_what_each_is_by_itself() {
    let mut n_checked = 0;
    for dir in data_dirs("pytorch") {
        for path in files(&dir, &[".json.gz"]) {
            let name = path.file_name().unwrap().to_str().unwrap().trim_end_matches(".gz").to_string();
            let packed = std::fs::read(&path).unwrap();
            if packed.len() > 300_000 {
                continue;
            }
            let mut text = String::new();
            let mut unpacked = flate2::read::MultiGzDecoder::new(&packed[..]);
            if std::io::Read::read_to_string(&mut unpacked, &mut text).is_err() {
                continue;
            }
            let Ok(Value::Object(mut whole)) = serde_json::from_str(&text) else { continue };
            let Some(Value::Array(events)) = whole.remove("traceEvents") else { continue };
            // Clocks and devices of one rank are in the head of its file.
            ["deviceProperties", "distributedInfo"].iter().for_each(|member| drop(whole.remove(*member)));
            let both: Vec<Value> = (0..2).flat_map(|rank| as_rank(&events, rank)).collect();
            let text = |events: Vec<Value>| {
                let mut whole = whole.clone();
                whole.insert("traceEvents".to_string(), Value::Array(events));
                serde_json::to_vec(&whole).unwrap()
            };
            let Some(one) = document(&name, &text(events)) else { continue };
            let two = document(&name, &text(both)).expect("two ranks can be read where one can");
            let (one, two) = (tables(&one), tables(&two));
            let Some(kernels) = one.get(&("gpu-kernels", "kernels")) else { continue };
            n_checked += 1;
            let of_both = &two[&("gpu-kernels", "kernels")];
            assert_eq!(of_both.sum("total", None), 2 * kernels.sum("total", None), "{name}: kernels");
            // What an operator launched: of its own rank, or it is not known whose it was.
            if let (Some(ops), Some(of_both)) = (one.get(&("gpu-ops", "ops")), two.get(&("gpu-ops", "ops"))) {
                for row in 0..of_both.rows.len() {
                    let op = of_both.cell(row, "name").as_str().unwrap();
                    let alone = ops.sum("direct", Some(("name", op)));
                    let together = of_both.sum("direct", Some(("name", op)));
                    assert!(together <= 2 * alone, "{name}: {op} has {together}, alone {alone}");
                }
            }
        }
    }
    assert!(n_checked > 0);
}
