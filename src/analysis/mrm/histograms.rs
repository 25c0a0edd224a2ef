//! Histograms of retention and strides, and their tables.

use crate::analysis::timeline::texts;
use crate::base::sort;
use crate::base::units::{Unit, format_bytes, format_ns};
use crate::memory::{Kind, LabelledTrace};
use crate::report::{Column, Content, Table};

/// A histogram bin with counts by kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Bin<T> {
    pub label: String,
    /// Lower edge, and upper edge (exclusive).
    pub edges: (T, T),
    /// Nonzero counts by kind.
    counts: Vec<(Kind, u64)>,
}

impl<T: PartialEq> Bin<T> {
    fn new(label: String, from: T, to: T) -> Bin<T> {
        Bin { label, edges: (from, to), counts: Vec::new() }
    }

    fn add(&mut self, kind: Kind, n: u64) {
        match self.counts.iter_mut().find(|(other, _)| *other == kind) {
            Some((_, count)) => *count += n,
            None if n > 0 => self.counts.push((kind, n)),
            None => {}
        }
    }

    pub fn count_of(&self, kind: Kind) -> u64 {
        self.counts.iter().find(|(other, _)| *other == kind).map_or(0, |(_, n)| *n)
    }
}

/// Drops empty bins at both ends.
fn trimmed<T: PartialEq>(mut bins: Vec<Bin<T>>) -> Vec<Bin<T>> {
    let is_used = |bin: &Bin<T>| !bin.counts.is_empty();
    bins.truncate(bins.iter().rposition(is_used).map_or(0, |last| last + 1));
    let first = bins.iter().position(is_used).unwrap_or(0);
    bins.drain(..first);
    bins
}

/// Bin edges at 1, 2 and 5 times powers of ten, starting at 1 µs; the first bin contains everything below.
fn edge_ns(number: usize) -> i64 {
    let factor = [1, 2, 5][number % 3];
    10i64.checked_pow(3 + (number / 3) as u32).and_then(|power| power.checked_mul(factor)).unwrap_or(i64::MAX)
}

/// Regions by retention in nanoseconds.
pub fn retention(view: &LabelledTrace<'_>) -> Vec<Bin<i64>> {
    let mut bins = vec![Bin::new(format!("below {}", format_ns(edge_ns(0))), 0, edge_ns(0))];
    while bins.last().is_some_and(|bin| bin.edges.1 < i64::MAX) {
        let (from, to) = (edge_ns(bins.len() - 1), edge_ns(bins.len()));
        bins.push(Bin::new(format!("{} – {}", format_ns(from), format_ns(to)), from, to));
    }
    for region in &view.metrics.regions {
        let kept = region.retention_ns();
        let at = bins.partition_point(|bin| bin.edges.1 <= kept).min(bins.len() - 1);
        if let Some(bin) = bins.get_mut(at) {
            bin.add(region.kind, 1);
        }
    }
    trimmed(bins)
}

/// Strides in bytes; negative towards lower addresses.
pub fn strides(view: &LabelledTrace<'_>) -> Vec<Bin<i128>> {
    let length = |power: usize| 1i128 << power;
    let name = |power: usize| format_bytes(1u64.checked_shl(power as u32).unwrap_or(u64::MAX));
    let mut bins: Vec<Bin<i128>> = Vec::new();
    for power in (0..64).rev() {
        let mut bin = Bin::new(format!("≥ {} back", name(power)), 1 - length(power + 1), 1 - length(power));
        for (kind, strides) in &view.metrics.strides {
            bin.add(*kind, strides.backward[power]);
        }
        bins.push(bin);
    }
    let mut none = Bin::new("0".to_string(), 0, 1);
    for (kind, strides) in &view.metrics.strides {
        none.add(*kind, strides.n_none);
    }
    bins.push(none);
    for power in 0..64 {
        let mut bin = Bin::new(format!("≥ {} forward", name(power)), length(power), length(power + 1));
        for (kind, strides) in &view.metrics.strides {
            bin.add(*kind, strides.forward[power]);
        }
        bins.push(bin);
    }
    trimmed(bins)
}

/// One row per bin and kind.
fn rows<'b, T>(view: &LabelledTrace<'_>, bins: &'b [Bin<T>]) -> Vec<(&'b Bin<T>, Kind, u64)> {
    let sorted = view.kinds.sorted();
    let of_bin = |bin: &'b Bin<T>| {
        let mut counts = bin.counts.clone();
        sort::by_key(&mut counts, |(kind, _)| sorted.iter().position(|other| other == kind));
        counts.into_iter().map(move |(kind, n)| (bin, kind, n))
    };
    bins.iter().flat_map(of_bin).collect()
}

/// Data of both charts.
pub fn tables(view: &LabelledTrace<'_>) -> [Table; 2] {
    let bins = retention(view);
    let kept = rows(view, &bins);
    let kinds = |kinds: &mut dyn Iterator<Item = Kind>| {
        Column::key(
            "region_type",
            "kind",
            Content::Plain,
            texts(kinds.map(|kind| Some(view.kinds.name(kind)))),
        )
    };
    let edge = |id, label: &str, value: fn(&(i64, i64)) -> i64| {
        Column::integer(id, label, Unit::Ns, kept.iter().map(|row| Some(value(&row.0.edges))).collect())
    };
    let retention = Table::new(
        "retention_bins",
        "Regions by retention",
        vec![
            edge("from_ns", "from", |edges| edges.0).as_key(),
            edge("to_ns", "to (exclusive)", |edges| edges.1),
            kinds(&mut kept.iter().map(|row| row.1)),
            Column::counts("regions", "regions", Unit::Count, kept.iter().map(|row| row.2)).with_bar(),
        ],
    )
    .caption("Nonempty bins of the chart “Regions by retention”.");
    let bins = strides(view);
    let steps = rows(view, &bins);
    let narrow = |bytes: i128| i64::try_from(bytes).unwrap_or(if bytes < 0 { i64::MIN } else { i64::MAX });
    let edge = |id, label: &str, value: fn(&(i128, i128)) -> i128| {
        Column::integer(
            id,
            label,
            Unit::Bytes,
            steps.iter().map(|row| Some(narrow(value(&row.0.edges)))).collect(),
        )
    };
    let strides = Table::new(
        "stride_bins",
        "Strides between accesses",
        vec![
            edge("from_bytes", "from", |edges| edges.0).as_key(),
            edge("to_bytes", "to (exclusive)", |edges| edges.1),
            kinds(&mut steps.iter().map(|row| row.1)),
            Column::counts("steps", "strides", Unit::Count, steps.iter().map(|row| row.2)).with_bar(),
        ],
    )
    .caption("Nonempty bins of the chart “Strides between accesses”. Backward strides are negative.");
    [retention, strides]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_1_2_and_5_of_each_power_of_ten() {
        let edges: Vec<i64> = (0..7).map(edge_ns).collect();
        assert_eq!(edges, [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000]);
        assert_eq!(edge_ns(100), i64::MAX);
    }
}
