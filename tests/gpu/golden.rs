//! Recordings, outputs of other tools on them, and collected differences.

use crate::support::{data_dirs, files, import, stem};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::path::{Path, PathBuf};
use tracedrop::import::{ImportError, chrome_trace, unpack};
use tracedrop::report::Report;
use tracedrop::trace::Trace;

/// A file of a profiler, inflated.
pub struct Recording {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// A parsed recording.
pub struct Read {
    pub name: String,
    pub trace: Trace,
}

/// Collects differences to show them all at once.
#[derive(Default)]
pub struct Check {
    pub name: String,
    pub n: usize,
    failures: Vec<String>,
}

impl Check {
    pub fn that(&mut self, what: impl Display, holds: bool) {
        self.n += 1;
        if !holds {
            self.failures.push(format!("{}: {what}", self.name));
        }
    }

    pub fn same<T: PartialEq + Debug>(&mut self, what: impl Display, got: T, wanted: T) {
        self.that(format_args!("{what}: {got:?} instead of {wanted:?}"), got == wanted);
    }

    pub fn near(&mut self, what: impl Display, got: f64, wanted: f64, tolerance: f64) {
        let is_near = (got - wanted).abs() <= tolerance;
        self.that(format_args!("{what}: {got} instead of {wanted} ± {tolerance}"), is_near);
    }

    pub fn finish(self) {
        let n = self.failures.len();
        assert!(n == 0, "{n} of {} differ:\n{}", self.n, self.failures.join("\n"));
        assert!(self.n > 0, "nothing was compared");
    }
}

/// Outputs with nothing to compare.
const WITHOUT_REFERENCE: &[(&str, &str, &str)] = &[
    ("wafer", "cpu-only-gloo", "it fails without a GPU (Q13)"),
    ("hta", "large-integers", "it fails where nothing names a call"),
    ("tracelens", "large-integers", "it fails where nothing names a call"),
    ("tracelens", "cpu-only-gloo", "it fails without a GPU"),
    ("tracelens", "diff-control-a100", "it fails"),
    ("tracelens", "sampled-rank0", "it fails"),
    ("tracelens", "legacy-gpu-metrics", "it knows no categories of 2021"),
    ("tracelens", "legacy-resnet50-v100", "it knows no categories of 2021"),
];

pub fn paths() -> Vec<PathBuf> {
    let folders = data_dirs("pytorch").into_iter().flat_map(|dir| [dir.clone(), dir.join("dlrm8")]);
    folders.flat_map(|folder| files(&folder, &[".json.gz"])).collect()
}

/// All recordings, including those of multi-rank sets.
pub fn recordings() -> impl Iterator<Item = Recording> {
    paths().into_iter().map(|path| recording(&path))
}

fn recording(path: &Path) -> Recording {
    let packed = std::fs::read(path).unwrap();
    let mut bytes = Vec::new();
    let mut unpacker = unpack::Unpacker::new(unpack::Packing::sniff(&packed).unwrap());
    unpacker
        .feed(&packed, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok::<(), ImportError>(())
        })
        .unwrap();
    Recording { name: stem(path), bytes }
}

pub fn read(path: &Path) -> Read {
    let Recording { name, bytes } = recording(path);
    let trace = import(&name, &bytes, Some(&chrome_trace::INFO)).unwrap();
    Read { name, trace }
}

/// Checks every recording on its own.
pub fn each_recording(mut each: impl FnMut(&Read, &mut Check)) {
    let mut check = Check::default();
    for path in paths() {
        check.name = stem(&path);
        each(&read(&path), &mut check);
    }
    check.finish();
}

/// Checks every output of a tool against the recordings it was made from, by rank.
pub fn each_golden(tool: &str, mut each: impl FnMut(&BTreeMap<i64, Trace>, &Value, &mut Check)) {
    let mut check = Check::default();
    for dir in data_dirs("pytorch") {
        for golden in files(&dir.join("golden").join(tool), &[".json"]) {
            check.name = format!("{tool}, {}", stem(&golden));
            let name = stem(&golden);
            let golden: Value = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
            let ranks = golden["ranks"]
                .as_array()
                .map_or(vec![0], |ranks| ranks.iter().filter_map(Value::as_i64).collect());
            let traces: BTreeMap<i64, Trace> = ranks
                .into_iter()
                .filter_map(|rank| {
                    // `dlrm8` is a folder, `sampled2` is two files, and `dlrm8_rank0` is one of a folder.
                    let names = match name.as_str() {
                        "dlrm8" => format!("dlrm8/rank{rank}"),
                        "sampled2" => format!("sampled-rank{rank}"),
                        name => name.replacen("dlrm8_", "dlrm8/", 1),
                    };
                    let path = dir.join(names + ".json.gz");
                    path.is_file().then(|| (rank, read(&path).trace))
                })
                .collect();
            // Outputs on pairs of recordings, or of analyses without a report here.
            if !traces.is_empty() {
                let n = check.n;
                each(&traces, &golden, &mut check);
                println!("{}: {} comparisons", check.name, check.n - n);
                let is_listed =
                    WITHOUT_REFERENCE.iter().any(|(of, without, _)| (*of, *without) == (tool, &name));
                check.that("nothing is compared, or what should not be", is_listed == (check.n == n));
            }
        }
    }
    check.finish();
}

/// Rows of a table in a tool's output, by column. `None` if the tool has none.
pub fn rows(table: &Value) -> Vec<BTreeMap<&str, &Value>> {
    let columns = table["columns"].as_array().map(Vec::as_slice).unwrap_or_default();
    let rows = table["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    let row = |row: &'_ Value| row.as_array().unwrap().len();
    assert!(rows.iter().all(|cells| row(cells) == columns.len()));
    rows.iter()
        .map(|row| columns.iter().filter_map(Value::as_str).zip(row.as_array().unwrap()).collect())
        .collect()
}

/// Some columns of a table of our own, as plain text.
pub fn cells(reports: &[Report], table: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let Some(table) = reports.iter().flat_map(|report| report.tables()).find(|known| known.id == table)
    else {
        return Vec::new();
    };
    let cell =
        |row: usize, id: &str| table.column(id).unwrap_or_else(|| panic!("no {id}")).cells.get(row).plain();
    (0..table.n_rows()).map(|row| columns.iter().map(|id| cell(row, id)).collect()).collect()
}
