//! One pass over all slices, for every report that adds them up by name.

use crate::analysis::timeline::Names;
use crate::base::hash::HashMap;
use crate::trace::slices::Class;
use crate::trace::sums::{NameSums, SumsByName, median, too_long};
use crate::trace::{Run, Trace};

pub use crate::trace::sums::Sums;

/// A row of [`SliceSums`]: a name in a category, in one class.
#[derive(Clone, Copy)]
pub struct Row {
    /// Number in the names of the whole run; so is `category`.
    pub name: u32,
    pub category: u32,
    pub class: Class,
    pub sums: Sums,
}

/// Times of all slices of a run by name, category and class.
pub struct SliceSums<'a> {
    /// Texts of the names and categories.
    pub names: Names<'a>,
    /// All slices, a row a name in a category, in one class.
    pub all: Vec<Row>,
    /// The same rows without the slices that say nothing of where time went: those drawn to the end of the trace, as
    /// their own end is missing, and those around nearly all of it.
    pub inner: Vec<Row>,
    /// Slices of threads that `inner` is without.
    pub n_outer: u64,
    /// By trace: the row of each of its own rows, and the own row of every slice.
    rows: Vec<(Vec<u32>, Vec<u32>)>,
}

impl<'a> SliceSums<'a> {
    /// Goes once over all slices of `run`.
    pub fn new(run: &'a Run) -> SliceSums<'a> {
        let mut sums = SliceSums {
            names: Names::default(),
            all: Vec::new(),
            inner: Vec::new(),
            n_outer: 0,
            rows: Vec::new(),
        };
        let mut by_key = HashMap::default();
        let too_long = run.traces.iter().map(|trace| too_long(trace.span())).max().unwrap_or(0);
        for trace in &run.traces {
            if let Some(folded) = &trace.folded {
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

    /// Adds the rows of one trace; gives the numbers they have here.
    fn absorb(
        &mut self,
        trace: &'a Trace,
        of_trace: &SumsByName,
        by_key: &mut HashMap<(u32, u32, Class), u32>,
    ) -> Vec<u32> {
        self.names.start(trace);
        self.n_outer += of_trace.n_outer;
        let number = |NameSums { key, all, inner }: &NameSums| {
            let (name, category) = (self.names.get(trace, key.0), self.names.get(trace, key.1));
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

    /// Of all slices of the name, category and class of one, in the trace of that number; `None` where slices were let go of.
    pub fn of_slice(&self, trace: usize, slice: usize) -> Option<&Sums> {
        let (numbers, rows) = self.rows.get(trace)?;
        let row = numbers.get(*rows.get(slice)? as usize)?;
        self.all.get(*row as usize).map(|row| &row.sums)
    }

    /// What shares of self time are of, in all reports: the self time of all slices of threads. Summaries are none of them.
    pub fn self_total(&self) -> i64 {
        self_total(&self.all)
    }

    /// The lower median of the durations of each row; 0 for instants. Nothing where it takes single slices that are not held.
    pub fn medians(&self, run: &Run) -> Vec<Option<i64>> {
        if run.traces.iter().any(|trace| trace.folded.is_some()) {
            return self.known_medians(run);
        }
        // The durations of a row lie together: each row gets a range as long as its count.
        let mut at = Vec::with_capacity(self.all.len());
        let mut n_durations = 0usize;
        for row in &self.all {
            at.push(n_durations);
            n_durations += if row.class == Class::Instant { 0 } else { row.sums.count as usize };
        }
        let starts = at.clone();
        // Half the memory for as good as all of them.
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

    /// Those of a trace that has computed them before it let go of its slices. Several can not be put together.
    fn known_medians(&self, run: &Run) -> Vec<Option<i64>> {
        let mut medians = vec![None; self.all.len()];
        if let ([trace], [(numbers, _)]) = (run.traces.as_slice(), self.rows.as_slice())
            && let Some(folded) = &trace.folded
        {
            for (number, median) in numbers.iter().zip(&folded.medians) {
                medians[*number as usize] = Some(*median);
            }
        }
        medians
    }
}

fn self_total(rows: &[Row]) -> i64 {
    let of_threads = rows.iter().filter(|row| row.class == Class::Thread);
    of_threads.fold(0, |sum: i64, row| sum.saturating_add(row.sums.self_ns))
}

/// Indexes of `rows` by falling self time; ties go to the more frequent, then by name.
pub fn by_self_time(rows: &[Row], names: &Names<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| {
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
