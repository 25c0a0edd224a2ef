//! Sums over all slices in one pass, for every report that aggregates them by name.

use crate::analysis::timeline::Names;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::trace::emit_nvtx;
use crate::trace::slices::Class;
use crate::trace::sums::{NameSums, SumsByName, median, too_long};
use crate::trace::{Run, Trace};
use std::borrow::Cow;

pub use crate::trace::sums::Sums;

/// Category of ranges that programs annotate. Those of `emit_nvtx` are summed by operator.
const RANGE: &str = "user_annotation";

/// A row of [`SliceSums`]: a name in a category, in one class.
#[derive(Clone, Copy)]
pub struct Row {
    /// Index into the names of the whole run, as is `category`.
    pub name: u32,
    pub category: u32,
    pub class: Class,
    pub sums: Sums,
}

/// Times of all slices of a run by name, category and class.
pub struct SliceSums<'a> {
    /// Texts of the names and categories.
    pub names: Names<'a>,
    /// All slices, one row per name, category and class.
    pub all: Vec<Row>,
    /// The same rows without uninformative slices: unfinished ones, which are drawn to the end of the trace, and
    /// those around nearly all of it.
    pub inner: Vec<Row>,
    /// Thread slices left out of `inner`.
    pub n_outer: u64,
    /// By trace: the row of each of its own rows, and the own row of every slice.
    rows: Vec<(Vec<u32>, Vec<u32>)>,
}

impl<'a> SliceSums<'a> {
    /// Aggregates all slices of `run` in one pass.
    pub fn new(run: &'a Run) -> SliceSums<'a> {
        let mut sums = SliceSums {
            names: Names::default(),
            all: Vec::new(),
            inner: Vec::new(),
            n_outer: 0,
            rows: Vec::new(),
        };
        let mut by_key = HashMap::default();
        let too_long = run.traces.iter().map(|trace| too_long(trace.extent())).max().unwrap_or(0);
        for trace in &run.traces {
            if let Some(folded) = &trace.aggregated {
                let numbers = sums.absorb(trace, &folded.by_name, &mut by_key);
                sums.rows.push((numbers, Vec::new()));
                continue;
            }
            let mut rows = Vec::with_capacity(trace.slices.len());
            let mut of_trace = SumsByName::default();
            of_trace.add(trace, too_long, |row, _, _| rows.push(row));
            let numbers = sums.absorb(trace, &of_trace, &mut by_key);
            sums.rows.push((numbers, rows));
        }
        sums
    }

    /// Adds the rows of one trace; returns their numbers here.
    fn absorb(
        &mut self,
        trace: &'a Trace,
        of_trace: &SumsByName,
        by_key: &mut HashMap<(u32, u32, Class), u32>,
    ) -> Vec<u32> {
        self.names.start(trace);
        self.n_outer += of_trace.n_outer;
        let number = |NameSums { key, all, inner }: &NameSums| {
            let category = self.names.get(trace, key.1);
            let operator = || emit_nvtx::operator(trace.strings.get_opt(key.0)?);
            let operator = (self.names.text(category) == Some(RANGE)).then(operator).flatten();
            let name = match operator {
                Some(operator) => self.names.of_text(operator),
                None => self.names.get(trace, key.0),
            };
            let number = *by_key.entry((name, category, key.2)).or_insert_with(|| {
                let row = Row { name, category, class: key.2, sums: Sums::default() };
                self.all.push(row);
                self.inner.push(row);
                self.all.len() as u32 - 1
            });
            self.all[number as usize].sums.absorb(all);
            self.inner[number as usize].sums.absorb(inner);
            number
        };
        of_trace.rows.iter().map(number).collect()
    }

    /// Sums of all slices with the name, category and class of `slice` in trace number `trace`; `None` if slices were discarded.
    pub fn of_slice(&self, trace: usize, slice: usize) -> Option<&Sums> {
        let (numbers, rows) = self.rows.get(trace)?;
        let row = numbers.get(*rows.get(slice)? as usize)?;
        self.all.get(*row as usize).map(|row| &row.sums)
    }

    /// Denominator of self-time shares in all reports: the self time of all thread slices, without summaries.
    pub fn self_total(&self) -> i64 {
        self_total(&self.all)
    }

    /// The rows that tell where time went, and the slices of threads that are left out of them: [`SliceSums::inner`], unless a slice
    /// around nearly all of the trace spent more time itself than all others together.
    pub fn telling(&self) -> (Cow<'_, [Row]>, u64) {
        let others = self_total(&self.inner);
        let is_hot = |at: &usize| {
            let (all, inner) = (&self.all[*at], &self.inner[*at]);
            all.class == Class::Thread
                && all.sums.unfinished == 0
                && all.sums.self_ns.saturating_sub(inner.sums.self_ns) > others
        };
        let hot: Vec<usize> = (0..self.all.len().min(self.inner.len())).filter(is_hot).collect();
        if hot.is_empty() {
            return (Cow::Borrowed(&self.inner), self.n_outer);
        }
        let (mut rows, mut n_outer) = (self.inner.clone(), self.n_outer);
        for at in hot {
            n_outer = n_outer.saturating_sub(self.all[at].sums.count - rows[at].sums.count);
            rows[at] = self.all[at];
        }
        (Cow::Owned(rows), n_outer)
    }

    /// Lower median of the durations of each row; 0 for instants. `None` if it would need slices that were discarded.
    pub fn medians(&self, run: &Run) -> Vec<Option<i64>> {
        if run.traces.iter().any(|trace| trace.aggregated.is_some()) {
            return self.known_medians(run);
        }
        // The durations of a row are contiguous: each row gets a range as long as its count.
        let mut at = Vec::with_capacity(self.all.len());
        let mut n_durations = 0usize;
        for row in &self.all {
            at.push(n_durations);
            n_durations += if row.class == Class::Instant { 0 } else { row.sums.count as usize };
        }
        let starts = at.clone();
        // Half the memory for nearly all of them.
        let mut durations = vec![0u32; n_durations];
        let mut long: HashMap<u32, Vec<i64>> = HashMap::default();
        for (trace, (numbers, rows)) in run.traces.iter().zip(&self.rows) {
            let end = trace.span().map_or(0, |(_, end)| end);
            let slices = &trace.slices;
            for (i, row) in rows.iter().enumerate() {
                if Class::of(slices.kind[i]) == Class::Instant {
                    continue;
                }
                let row = numbers[*row as usize];
                let at = &mut at[row as usize];
                let duration = slices.length(i, end);
                match u32::try_from(duration) {
                    Ok(duration) => {
                        if let Some(place) = durations.get_mut(*at) {
                            *place = duration;
                            *at += 1;
                        }
                    }
                    Err(_) => long.entry(row).or_default().push(duration),
                }
            }
        }
        (0..self.all.len())
            .map(|row| {
                let long = long.get_mut(&(row as u32)).map_or(&mut [][..], Vec::as_mut_slice);
                Some(median(&mut durations[starts[row]..at[row]], long))
            })
            .collect()
    }

    /// Medians that a trace computed before it discarded its slices. Medians of several traces cannot be merged.
    fn known_medians(&self, run: &Run) -> Vec<Option<i64>> {
        let mut medians = vec![None; self.all.len()];
        if let ([trace], [(numbers, _)]) = (run.traces.as_slice(), self.rows.as_slice())
            && let Some(folded) = &trace.aggregated
        {
            let mut is_sum = vec![false; self.all.len()];
            for (number, median) in numbers.iter().zip(&folded.medians) {
                let number = *number as usize;
                // Nor can those of several names of an operator.
                medians[number] = (!is_sum[number]).then_some(*median);
                is_sum[number] = true;
            }
        }
        medians
    }
}

fn self_total(rows: &[Row]) -> i64 {
    let of_threads = rows.iter().filter(|row| row.class == Class::Thread);
    of_threads.fold(0, |sum: i64, row| sum.saturating_add(row.sums.self_ns))
}

/// Indexes of `rows` by descending self time; ties by descending count, then by name.
pub fn by_self_time(rows: &[Row], names: &Names<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    sort::by(&mut order, |a, b| {
        let (a, b) = (&rows[*a], &rows[*b]);
        let text = |row: &Row| (names.text(row.name), names.text(row.category), row.class);
        b.sums
            .self_ns
            .cmp(&a.sums.self_ns)
            .then(b.sums.count.cmp(&a.sums.count))
            .then_with(|| text(a).cmp(&text(b)))
    });
    order
}
