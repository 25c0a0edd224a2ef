//! Values of each file of a side: their spread shows which differences are noise.

use super::tables::{amounts, essence_of_main, key_text_of, main_measure};
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
    /// 0 if files are of no interest.
    pub n_files: usize,
    /// By key text: the value in each file, 0 without such a row. `None` if unknown.
    rows: Option<HashMap<String, Vec<i128>>>,
    /// Values are whole numbers of 10^-`places`.
    places: u32,
}

impl Repeats {
    /// `each` contains the tables of one kind, by file.
    pub fn new(each: &[Vec<Cow<'_, Table>>]) -> Repeats {
        let n_files = each.len();
        let of_table = |table: &Table| main_measure(table).map(|main| amounts(&table.columns[main]));
        let all: Vec<_> =
            each.iter().map(|tables| tables.iter().map(|it| of_table(it)).collect::<Vec<_>>()).collect();
        let places = all.iter().flatten().flatten().map(|(_, places)| *places).max().unwrap_or(0);
        let mut rows: HashMap<String, Vec<i128>> = HashMap::default();
        for (file, (tables, values)) in each.iter().zip(all).enumerate() {
            for (table, (values, own)) in
                tables.iter().zip(values).filter_map(|(table, it)| Some((table, it?)))
            {
                let factor = 10i128.pow(places - own);
                for (row, value) in values.into_iter().enumerate() {
                    let of_row = rows.entry(key_text_of(table, row)).or_insert_with(|| vec![0; n_files]);
                    of_row[file] = of_row[file].saturating_add(value.saturating_mul(factor));
                }
            }
        }
        Repeats { n_files, rows: Some(rows), places }
    }

    /// Files whose values were not kept.
    pub fn unknown(n_files: usize) -> Repeats {
        Repeats { n_files, ..Repeats::default() }
    }

    /// Sample of a row over files, with that many decimal places, no fewer than those of the files. `None` if unknown.
    pub fn sample(&self, key: &str, places: u32) -> Option<Sample> {
        let sample = match self.rows.as_ref()?.get(key) {
            Some(values) => Sample::of(values.iter().copied()),
            None => Sample::of(std::iter::repeat_n(0, self.n_files)),
        };
        Some(self.scaled(sample, places))
    }

    /// Sample of the totals over files; see [`Self::sample`].
    pub fn total(&self, places: u32) -> Option<Sample> {
        let rows = self.rows.as_ref()?;
        let of_file = |file| {
            let values = rows.values().filter_map(|values| values.get(file));
            values.fold(0i128, |sum, value| sum.saturating_add(*value))
        };
        Some(self.scaled(Sample::of((0..self.n_files).map(of_file)), places))
    }

    fn scaled(&self, sample: Sample, places: u32) -> Sample {
        match places.saturating_sub(self.places) {
            0 => sample,
            more => sample.times(10f64.powi(more as i32)),
        }
    }
}
