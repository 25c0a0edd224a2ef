//! What each file of a side says by itself: from their spread it is known which differences are noise.

use super::tables::{essence_of_main, key_text_of, main_measure, narrow, whole};
use crate::analysis::{self, Query};
use crate::base::hash::HashMap;
use crate::compare::noise::Sample;
use crate::report::{Report, Table};
use crate::trace::Run;

/// Sides with more files are not looked at file by file: what they add up to is compared.
const MAX_FILES: usize = 64;

/// The tables of each file of `run` by itself, in the order of its files, with nothing but their keys and what they are
/// about. Empty with one file, with very many, and where a GPU did the work: its steps are the repeats.
///
/// `run` is the same afterwards.
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

/// A report with nothing but the keys and main columns of its tables.
fn slim(report: &Report) -> Option<Report> {
    let mut out = Report { blocks: Vec::new(), ..report.clone() };
    report.tables().filter_map(essence_of_main).for_each(|table| out.table(table));
    (!out.blocks.is_empty()).then_some(out)
}

/// One kind of table in each file of a side.
#[derive(Default)]
pub struct Repeats {
    /// By the text of the keys: the value of each file, 0 where it has no such row.
    rows: HashMap<String, Vec<i64>>,
    n_files: usize,
}

impl Repeats {
    /// `each` has the tables of one kind of each file.
    pub fn new(each: &[Vec<&Table>]) -> Repeats {
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

    /// What the files say of a row.
    pub fn sample(&self, key: &str) -> Sample {
        match self.rows.get(key) {
            Some(values) => Sample::of(values.iter().copied()),
            None => Sample::of(std::iter::repeat_n(0, self.n_files)),
        }
    }

    /// What all rows of a file add up to.
    pub fn total(&self) -> Sample {
        Sample::of((0..self.n_files).map(|file| {
            self.rows
                .values()
                .filter_map(|values| values.get(file))
                .fold(0i64, |sum, value| sum.saturating_add(*value))
        }))
    }
}
