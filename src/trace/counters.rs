//! Values over time. A value is valid until the next one of its series.

use super::tracks::ProcessId;
use crate::base::sort;
use crate::base::strings::StringId;

/// One series: a member of a counter's arguments.
#[derive(Clone, Default)]
pub struct CounterSeriesTable {
    pub process: Vec<ProcessId>,
    pub name: Vec<StringId>,
    /// [`StringId::NONE`] if the counter has no text id.
    pub id: Vec<StringId>,
    /// Key of the argument.
    pub key: Vec<StringId>,
    /// In a trace that is a part in time: the value at its start, set before; NaN if there is none or a point sets one then. Shorter
    /// than the other columns, by series without one.
    pub held: Vec<f64>,
}

impl CounterSeriesTable {
    pub fn len(&self) -> usize {
        self.name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.name.is_empty()
    }

    /// Value of a series at the start of a part of a trace: see [`CounterSeriesTable::held`].
    pub fn held(&self, series: usize) -> Option<f64> {
        self.held.get(series).copied().filter(|value| value.is_finite())
    }
}

/// Points of all series, sorted by time, then file order.
#[derive(Clone, Default)]
pub struct CounterTable {
    /// Nanoseconds on the trace's own clock.
    pub ts: Vec<i64>,
    /// Index into [`CounterSeriesTable`].
    pub series: Vec<u32>,
    pub value: Vec<f64>,
}

impl CounterTable {
    /// Sorts by time; points of one time keep their order.
    pub fn sort(&mut self) {
        if self.ts.is_sorted() {
            return;
        }
        let mut order: Vec<u32> = (0..self.ts.len() as u32).collect();
        sort::rows(&mut order, |a, b| self.ts[a as usize].cmp(&self.ts[b as usize]));
        self.ts = order.iter().map(|row| self.ts[*row as usize]).collect();
        self.series = order.iter().map(|row| self.series[*row as usize]).collect();
        self.value = order.iter().map(|row| self.value[*row as usize]).collect();
    }

    pub fn len(&self) -> usize {
        self.ts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ts.is_empty()
    }
}
