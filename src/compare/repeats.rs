//! Values of each file of a side: their spread shows which differences are noise.

use super::tables::{essence_of_main, key_text_of, main_measure, narrow, whole};
use crate::analysis::{self, Query};
use crate::base::hash::HashMap;
use crate::compare::noise::Sample;
use crate::report::{Report, Table};
use crate::trace::Run;
use std::borrow::Cow;

/// Sides with more files are compared by their sums only.
const MAX_FILES: usize = 64;

/// The tables of each file of `run`, reduced to keys and main column. Empty with one file, with very many, and for GPU traces,
/// where steps are the repeats.
///
/// `run` is unchanged afterwards.
pub fn of(run: &mut Run, query: &Query) -> Vec<Vec<Report>> {
    let n_files = run.traces.len();
    if !(2..=MAX_FILES).contains(&n_files) || (analysis::gpu_breakdown::INFO.applies)(run) {
        return Vec::new();
    }
    let mut out = Vec::with_capacity(n_files);
    for at in 0..n_files {
        let alone = Run::single(std::mem::take(&mut run.traces[at]));
        let reports = analysis::reports(&alone, query);
        out.push(reports.iter().chain(&super::calls::report(&alone)).filter_map(slim).collect());
        if let Some(trace) = alone.traces.into_iter().next() {
            run.traces[at] = trace;
        }
    }
    out
}

/// A report reduced to the keys and main columns of its tables.
fn slim(report: &Report) -> Option<Report> {
    let mut out = Report { blocks: Vec::new(), ..report.clone() };
    report.tables().filter_map(essence_of_main).for_each(|table| out.table(table));
    (!out.blocks.is_empty()).then_some(out)
}

/// One kind of table in each file of a side.
#[derive(Default)]
pub struct Repeats {
    /// By key text: the value in each file, 0 without such a row.
    rows: HashMap<String, Vec<i64>>,
    n_files: usize,
}

impl Repeats {
    /// `each` contains the tables of one kind, by file.
    pub fn new(each: &[Vec<Cow<'_, Table>>]) -> Repeats {
        let mut repeats = Repeats { rows: HashMap::default(), n_files: each.len() };
        for (file, tables) in each.iter().enumerate() {
            for table in tables {
                repeats.add(file, table);
            }
        }
        repeats
    }

    fn add(&mut self, file: usize, table: &Table) {
        let Some(main) = main_measure(table) else { return };
        let column = &table.columns[main];
        for row in 0..table.n_rows() {
            let value = whole(&column.cells.get(row)).map_or(0, narrow);
            let values = self.rows.entry(key_text_of(table, row)).or_insert_with(|| vec![0; self.n_files]);
            if let Some(of_file) = values.get_mut(file) {
                *of_file = of_file.saturating_add(value);
            }
        }
    }

    /// Sample of a row over files.
    pub fn sample(&self, key: &str) -> Sample {
        match self.rows.get(key) {
            Some(values) => Sample::of(values.iter().copied()),
            None => Sample::of(std::iter::repeat_n(0, self.n_files)),
        }
    }

    /// Sample of the totals over files.
    pub fn total(&self) -> Sample {
        Sample::of((0..self.n_files).map(|file| {
            self.rows
                .values()
                .filter_map(|values| values.get(file))
                .fold(0i64, |sum, value| sum.saturating_add(*value))
        }))
    }
}
