//! One pass over all slices, for every report that adds them up by name.

use crate::analysis::timeline::{Class, Names};
use crate::base::strings::StringId;
use crate::trace::slices::UNFINISHED;
use crate::trace::{Run, Trace};
use rustc_hash::FxHashMap;

/// What is added up for one row: a name in a category, in one class.
#[derive(Clone, Copy)]
pub struct Sums {
    /// Number in the names of the whole run; so is `category`.
    pub name: u32,
    pub category: u32,
    pub class: Class,
    pub count: u64,
    /// Slices whose end is not in the file.
    pub unfinished: u64,
    /// Sum of durations, in nanoseconds; `self_ns` is without direct children, `min_ns` and `max_ns` are of one slice.
    pub total_ns: i64,
    pub self_ns: i64,
    pub min_ns: i64,
    pub max_ns: i64,
}

impl Sums {
    /// A row without slices.
    pub fn new(name: u32, category: u32, class: Class) -> Sums {
        Sums {
            name,
            category,
            class,
            count: 0,
            unfinished: 0,
            total_ns: 0,
            self_ns: 0,
            min_ns: i64::MAX,
            max_ns: 0,
        }
    }

    #[inline]
    fn add(&mut self, dur: i64, self_ns: i64, unfinished: bool) {
        self.count += 1;
        self.unfinished += u64::from(unfinished);
        self.total_ns = self.total_ns.saturating_add(dur);
        self.self_ns = self.self_ns.saturating_add(self_ns);
        self.min_ns = self.min_ns.min(dur);
        self.max_ns = self.max_ns.max(dur);
    }
}

/// Times of all slices of a run by name, category and class.
pub struct SliceSums<'a> {
    /// Texts of the names and categories.
    pub names: Names<'a>,
    /// All slices, a row a name in a category, in one class.
    pub all: Vec<Sums>,
    /// The same rows without the slices that say nothing of where time went: those drawn to the end of the trace, as
    /// their own end is missing, and those around nearly all of it.
    pub inner: Vec<Sums>,
    /// Slices of threads that `inner` is without.
    pub n_outer: u64,
    /// Row of every slice, by trace.
    rows: Vec<Vec<u32>>,
}

/// What a slice belongs to, within its trace.
type Key = (StringId, StringId, Class);

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
        let mut by_key = FxHashMap::default();
        let spans = run.traces.iter().filter_map(Trace::span);
        let longest_span = spans.map(|(start, end)| end.saturating_sub(start)).max().unwrap_or(0);
        for trace in &run.traces {
            sums.add_trace(trace, longest_span / 10 * 9, &mut by_key);
        }
        sums
    }

    fn add_trace(&mut self, trace: &'a Trace, too_long: i64, by_key: &mut FxHashMap<(u32, u32, Class), u32>) {
        self.names.start(trace);
        let end = trace.span().map_or(0, |(_, end)| end);
        let slices = &trace.slices;
        let mut rows = Vec::with_capacity(slices.len());
        // By name: what it was last, so that nothing is hashed while a name keeps its category.
        let mut last: Vec<(Key, u32)> =
            vec![((StringId::NONE, StringId::NONE, Class::Thread), u32::MAX); trace.strings.len() + 1];
        for i in 0..slices.len() {
            let key = (slices.name[i], slices.category[i], Class::of(slices.kind[i]));
            let slot = (key.0.0 as usize).min(last.len() - 1);
            if last[slot].0 != key || last[slot].1 == u32::MAX {
                last[slot] = (key, self.row(trace, key, by_key));
            }
            let row = last[slot].1;
            rows.push(row);
            let (row, dur) = (row as usize, slices.end(i, end).saturating_sub(slices.ts[i]));
            let unfinished = slices.dur[i] == UNFINISHED;
            self.all[row].add(dur, slices.self_ns[i], unfinished);
            if unfinished || dur > too_long {
                self.n_outer += u64::from(key.2 == Class::Thread);
            } else {
                self.inner[row].add(dur, slices.self_ns[i], false);
            }
        }
        self.rows.push(rows);
    }

    fn row(&mut self, trace: &'a Trace, key: Key, by_key: &mut FxHashMap<(u32, u32, Class), u32>) -> u32 {
        let (name, category) = (self.names.get(trace, key.0), self.names.get(trace, key.1));
        *by_key.entry((name, category, key.2)).or_insert_with(|| {
            self.all.push(Sums::new(name, category, key.2));
            self.inner.push(Sums::new(name, category, key.2));
            self.all.len() as u32 - 1
        })
    }

    /// Self time of all slices of threads.
    pub fn self_total(&self) -> i64 {
        let of_threads = self.all.iter().filter(|row| row.class == Class::Thread);
        of_threads.fold(0, |sum: i64, row| sum.saturating_add(row.self_ns))
    }

    /// The lower median of the durations of each row; 0 for instants.
    pub fn medians(&self, run: &Run) -> Vec<i64> {
        // The durations of a row lie together: each row gets a range as long as its count.
        let mut at = Vec::with_capacity(self.all.len());
        let mut n_durations = 0usize;
        for row in &self.all {
            at.push(n_durations);
            n_durations += if row.class == Class::Instant { 0 } else { row.count as usize };
        }
        let starts = at.clone();
        let mut durations = vec![0i64; n_durations];
        for (trace, rows) in run.traces.iter().zip(&self.rows) {
            let end = trace.span().map_or(0, |(_, end)| end);
            let slices = &trace.slices;
            for (i, row) in rows.iter().enumerate() {
                if Class::of(slices.kind[i]) == Class::Instant {
                    continue;
                }
                let at = &mut at[*row as usize];
                if let Some(place) = durations.get_mut(*at) {
                    *place = slices.end(i, end).saturating_sub(slices.ts[i]);
                    *at += 1;
                }
            }
        }
        (0..self.all.len())
            .map(|row| {
                let range = &mut durations[starts[row]..at[row]];
                if range.is_empty() {
                    return 0;
                }
                let middle = (range.len() - 1) / 2;
                *range.select_nth_unstable(middle).1
            })
            .collect()
    }
}

/// Indexes of `rows` by falling self time; ties go to the more frequent, then by name.
pub fn by_self_time(rows: &[Sums], names: &Names<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (&rows[*a], &rows[*b]);
        let text = |row: &Sums| (names.text(row.name), names.text(row.category), row.class);
        b.self_ns.cmp(&a.self_ns).then(b.count.cmp(&a.count)).then_with(|| text(a).cmp(&text(b)))
    });
    order
}
