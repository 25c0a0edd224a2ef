//! Where the data lies, rows as the goldens write them, and tables held against theirs.

use crate::support::data_dirs;
use serde_json::Value;
use std::io::Read;
use std::path::PathBuf;
use tracedrop::analysis::memory_query::MemoryQuery;
use tracedrop::analysis::{Context, Query, mrm, mrm_kv};
use tracedrop::base::strings::StringId;
use tracedrop::memory::LabelledTrace;
use tracedrop::report::{Cells, Report, Table};
use tracedrop::trace::accesses::{Access, Op, RegionType};
use tracedrop::trace::{Run, Trace};

/// A file of the collection, unpacked; `None` if it is in none of the folders that are there.
pub fn find(name: &str) -> Option<Vec<u8>> {
    let dirs = data_dirs("mrm");
    let paths = dirs.iter().flat_map(|dir| [dir.join(name), dir.join(format!("{name}.gz"))]);
    let path: PathBuf = paths.into_iter().find(|path| path.is_file())?;
    let bytes = std::fs::read(&path).unwrap();
    if path.extension().is_none_or(|extension| extension != "gz") {
        return Some(bytes);
    }
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut out).unwrap();
    Some(out)
}

/// A file that is there.
pub fn read(name: &str) -> Vec<u8> {
    find(name).unwrap_or_else(|| panic!("{name} is missing"))
}

pub fn json(name: &str) -> Value {
    serde_json::from_slice(&read(name)).unwrap()
}

/// A row in the order and words of the canonical table, without the first column.
pub fn canonical(
    trace: &Trace,
    row: &Access,
    phase: Option<&str>,
    region: &str,
    region_id: u32,
) -> Vec<String> {
    let text = |id: Option<StringId>| id.map_or(String::new(), |id| trace.strings.get(id).to_string());
    let number = |value: Option<i128>| value.map_or(String::new(), |value| value.to_string());
    vec![
        row.sample.to_string(),
        row.ts.to_string(),
        phase.unwrap_or("").to_string(),
        row.address.to_string(),
        row.page().to_string(),
        match row.op {
            Op::Load => "load".to_string(),
            Op::Store => "store".to_string(),
            Op::Other => text(row.op_text),
        },
        text(row.symbol),
        text(row.dso),
        region.to_string(),
        region_id.to_string(),
        number(row.latency.map(i128::from)),
        text(row.cache_level),
        number(row.remote.map(i128::from)),
        number(row.cpu.map(i128::from)),
        number(row.thread.map(i128::from)),
        number(row.token_index.map(i128::from)),
        number(row.context_tokens.map(i128::from)),
    ]
}

/// Digest of labelled rows as the goldens take it.
pub fn digest(run_id: &str, rows: impl Iterator<Item = Vec<String>>) -> String {
    use sha2::Digest;
    let mut hash = sha2::Sha256::new();
    for row in rows {
        hash.update(format!("{run_id}\t{}\n", row.join("\t")));
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Labelled rows.
pub fn labelled<'v>(view: &'v LabelledTrace<'_>) -> impl Iterator<Item = Vec<String>> + 'v {
    view.accesses().zip(view.phase_names()).map(|((row, label), phase)| {
        canonical(view.trace, &row, phase, view.kinds.name(label.kind), label.region_id)
    })
}

/// A row of a golden, of which only some members may be there.
pub fn access(row: &Value, trace: &mut Trace) -> Access {
    let mut text = |name: &str| row.get(name).and_then(Value::as_str).map(|text| trace.strings.intern(text));
    let (phase, symbol, dso) = (text("phase"), text("symbol"), text("dso"));
    let op = row["op_type"].as_str().unwrap();
    // One that is there and null is another thing than none.
    let region = row.get("region_type").map_or(Some("unknown"), Value::as_str);
    let (op_text, region_text) =
        (trace.strings.intern(op), region.map(|region| trace.strings.intern(region)));
    let region = region.map_or(RegionType::Other, RegionType::of_name);
    Access {
        sample: row.get("sample_id").and_then(Value::as_u64).unwrap_or(0),
        ts: row["timestamp_ns"].as_i64().unwrap(),
        address: row["address"].as_u64().unwrap(),
        op: match op {
            "load" => Op::Load,
            "store" => Op::Store,
            _ => Op::Other,
        },
        op_text: Some(op_text).filter(|_| !matches!(op, "load" | "store")),
        phase,
        symbol,
        dso,
        region,
        region_text: region_text.filter(|_| region == RegionType::Other),
        region_id: row.get("region_id").and_then(Value::as_u64).unwrap_or(0) as u32,
        ..Access::default()
    }
}

/// The reports on a trace.
pub fn reports(trace: &Trace, memory: MemoryQuery) -> [Report; 2] {
    let run = Run::single(trace.clone());
    let query = Query { memory, ..Query::default() };
    let context = Context::new(&run, &query);
    [(mrm::INFO.run)(&context), (mrm_kv::INFO.run)(&context)]
}

pub fn table<'r>(reports: &'r [Report], id: &str) -> &'r Table {
    let mut tables = reports.iter().flat_map(Report::tables);
    tables.find(|table| table.id == id).unwrap_or_else(|| panic!("there is no table {id}"))
}

fn cell(cells: &Cells, row: usize) -> Value {
    match cells {
        Cells::Text(cells) => cells.get(row).into(),
        Cells::Unsigned(cells) => cells[row].into(),
        Cells::Integer(cells) => cells[row].into(),
        Cells::Float(cells) => cells[row].into(),
        Cells::Bool(cells) => cells[row].into(),
    }
}

/// Equal to the last bit, whether written as integer or not.
pub fn is_same(ours: &Value, golden: &Value) -> bool {
    match (ours, golden) {
        (Value::Number(a), Value::Number(b)) if a != b => {
            let float = |number: &serde_json::Number| number.to_string().parse::<f64>().unwrap();
            let is_float = |number: &serde_json::Number| number.to_string().contains(['.', 'e']);
            (is_float(a) || is_float(b)) && float(a).to_bits() == float(b).to_bits()
        }
        (a, b) => a == b,
    }
}

/// Holds a table against `{"columns", "rows"}` of a golden, whole; `but` are cells that are known to be wrong there, as row
/// and column.
pub fn assert_table(what: &str, table: &Table, golden: &Value, but: &[(usize, &str)]) {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.id.as_ref()).collect();
    let wanted: Vec<&str> =
        golden["columns"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert_eq!(columns, wanted, "{what}: columns of {}", table.id);
    let rows = golden["rows"].as_array().unwrap();
    assert_eq!(table.n_rows(), rows.len(), "{what}: rows of {}", table.id);
    assert_eq!(table.n_left_out, 0);
    for (at, row) in rows.iter().enumerate() {
        for (column, golden) in table.columns.iter().zip(row.as_array().unwrap()) {
            let ours = cell(&column.cells, at);
            let is_excepted = but.contains(&(at, column.id.as_ref()));
            assert!(
                is_same(&ours, golden) != is_excepted,
                "{what}: {}, row {at}, {}: {ours} instead of {golden}",
                table.id,
                column.id
            );
        }
    }
}

/// Holds a table against a list of objects.
pub fn assert_objects(what: &str, table: &Table, golden: &Value) {
    let rows = golden.as_array().unwrap();
    assert_eq!(table.n_rows(), rows.len(), "{what}: rows of {}", table.id);
    for (at, row) in rows.iter().enumerate() {
        assert_eq!(row.as_object().unwrap().len(), table.columns.len());
        for column in &table.columns {
            let (ours, golden) = (cell(&column.cells, at), &row[column.id.as_ref()]);
            assert!(
                is_same(&ours, golden),
                "{what}: {}, row {at}, {}: {ours} instead of {golden}",
                table.id,
                column.id
            );
        }
    }
}

/// The results, in the reference's order.
pub const RESULTS: [&str; 11] = [
    "retention_per_region",
    "retention_summary",
    "write_once",
    "read_freq",
    "working_set_per_region",
    "working_set_summary",
    "locality_per_region",
    "locality_summary",
    "iai",
    "suitability",
    "metrics",
];

/// All results, and the file of metrics to the byte.
pub fn assert_results(what: &str, reports: &[Report], golden: &Value, but: &[(&str, usize, &str)]) {
    for id in RESULTS {
        let but: Vec<(usize, &str)> =
            but.iter().filter(|(table, ..)| *table == id).map(|(_, row, column)| (*row, *column)).collect();
        assert_table(what, table(reports, id), &golden[id], &but);
    }
    if but.iter().all(|(table, ..)| *table != "metrics") {
        assert_eq!(metrics_csv(table(reports, "metrics")), golden["metrics_csv"].as_str().unwrap(), "{what}");
    }
}

/// The table of metrics as the reference writes it.
fn metrics_csv(table: &Table) -> String {
    use tracedrop::base::compat::python::float_repr;
    let mut out = table.columns.iter().map(|column| column.id.as_ref()).collect::<Vec<_>>().join(",") + "\n";
    for row in 0..table.n_rows() {
        let cells = table.columns.iter().map(|column| match &column.cells {
            Cells::Float(cells) => cells[row].map_or(String::new(), float_repr),
            cells => cells.get(row).plain(),
        });
        out += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    out
}
