//! Bandwidth of copies and fills as their arguments have it, or computed when the file was parsed, and bandwidth by size.
//!
//! The first is HTA's memory bandwidth summary: at each start and end, the bandwidths of all running copies are added up, and the
//! nonzero sums are described. Copies of zero duration count as 1 µs, as in HTA. A copy that starts when another ends does not
//! overlap with it; in HTA that depends on sort order.

use crate::analysis::gpu::stats::Durations;
use crate::analysis::gpu::{GpuTrace, Kind, NamedTrace, Tool, Work};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::{Unit, counted};
use crate::report::{Column, Content, Table};
use crate::trace::builder::find_member;
use crate::trace::links::LinkTable;
use std::cmp::Reverse;

/// Duration assumed for copies of zero duration.
const MIN_NS: i64 = 1000;

/// `Memcpy HtoD`, `Memset`: HTA's memory kernel type. HTA takes the first 11 characters of a copy's name, which would be one for
/// all copies of managed memory (`Memcpy Unified HtoD`).
fn kind(name: &str) -> &str {
    if name.starts_with("Memset") {
        return "Memset";
    }
    match name.split_once(" (") {
        Some((kind, _)) if kind != "Memcpy" => kind,
        _ => name,
    }
}

fn moves<'a, 'b>(gpu: &'a GpuTrace<'b>) -> impl Iterator<Item = &'a Work> + use<'a, 'b> {
    gpu.work.iter().filter(|work| work.kind != Kind::Kernel)
}

/// Both tables, if the trace has the data they need.
pub fn tables(named: &NamedTrace<'_, '_>) -> Vec<Table> {
    [summary(named), sizes(named)].into_iter().flatten().collect()
}

/// Bandwidth of a copy in its arguments, in GB/s.
fn claimed(gpu: &GpuTrace<'_>, work: &Work) -> Option<f64> {
    let slice = work.slice as usize;
    let number = if gpu.is_marked(slice) {
        f64::from_bits(gpu.trace.signatures.get(gpu.trace.slices.offset(slice))?)
    } else {
        let raw = gpu.trace.args.get(gpu.trace.slices.args_of(slice))?;
        let value = find_member(&raw, "memory bandwidth (GB/s)")?;
        std::str::from_utf8(value).ok()?.trim_matches('"').parse().ok()?
    };
    // An index may contain anything.
    (number.is_finite() && number > 0.0).then_some(number)
}

/// Total bandwidth after each start and end, without zeros.
fn running(mut changes: Vec<(i64, bool, f64)>) -> Vec<f64> {
    // Ends before starts.
    sort::by_key(&mut changes, |change| (change.0, change.1));
    let (mut n, mut sum) = (0u64, 0.0);
    let mut values = Vec::new();
    for (_, starts, rate) in changes {
        if starts {
            (n, sum) = (n + 1, sum + rate);
        } else {
            (n, sum) = (n.saturating_sub(1), sum - rate);
        }
        if n == 0 {
            // Drops rounding errors.
            sum = 0.0;
        } else if sum > 0.0 {
            values.push(sum);
        }
    }
    values
}

/// Mean, standard deviation and quantiles of bandwidths, in bytes a second, as pandas' `describe` has them.
struct Described {
    sorted: Vec<f64>,
}

impl Described {
    fn new(mut values: Vec<f64>) -> Described {
        values.iter_mut().for_each(|value| *value *= 1e9);
        values.sort_by(f64::total_cmp);
        Described { sorted: values }
    }

    fn mean(&self) -> Option<f64> {
        (!self.sorted.is_empty()).then(|| self.sorted.iter().sum::<f64>() / self.sorted.len() as f64)
    }

    fn deviation(&self) -> Option<f64> {
        let (n, mean) = (self.sorted.len(), self.mean()?);
        let squares: f64 = self.sorted.iter().map(|value| (value - mean).powi(2)).sum();
        (n > 1).then(|| (squares / (n - 1) as f64).sqrt())
    }

    /// Linear interpolation.
    fn quantile(&self, q: f64) -> Option<f64> {
        let place = q * self.sorted.len().checked_sub(1)? as f64;
        let (low, high) =
            (*self.sorted.get(place.floor() as usize)?, *self.sorted.get(place.ceil() as usize)?);
        Some(low + (high - low) * place.fract())
    }
}

fn summary(named: &NamedTrace<'_, '_>) -> Option<Table> {
    let gpu = named.gpu;
    // In file order, for the read cache.
    let mut order: Vec<&Work> = moves(gpu).collect();
    sort::by_key(&mut order, |work| gpu.trace.slices.offset(work.slice as usize));
    let mut found: HashMap<&str, Vec<(i64, bool, f64)>> = HashMap::default();
    let mut n_without = 0u64;
    for work in order {
        let Some(rate) = claimed(gpu, work) else {
            n_without += 1;
            continue;
        };
        let changes = found.entry(kind(gpu.name(work.slice))).or_default();
        let dur = if work.dur() == 0 { MIN_NS } else { work.dur() };
        changes.push((work.start, true, rate));
        changes.push((work.start.saturating_add(dur), false, rate));
    }
    let mut rows: Vec<(&str, Described)> =
        found.into_iter().map(|(kind, changes)| (kind, Described::new(running(changes)))).collect();
    if rows.is_empty() {
        return None;
    }
    sort::by_key(&mut rows, |row| (Reverse(row.1.sorted.len()), row.0));
    let n_left_out = cut(&mut rows);
    sort::by_key(&mut rows, |row| row.0);
    let column = |id, label: &str, get: &dyn Fn(&Described) -> Option<f64>| {
        Column::float(id, label, Unit::BytesPerSecond, rows.iter().map(|row| get(&row.1)).collect())
    };
    let table = Table::new(
        named.id("copy_rates"),
        named.title("Bandwidth by copy type"),
        vec![
            Column::key("kind", "kind", Content::Plain, texts(rows.iter().map(|row| Some(row.0)))),
            Column::counts(
                "changes",
                "changes",
                Unit::Count,
                rows.iter().map(|row| row.1.sorted.len() as u64),
            )
            .hint("starts and ends after which at least one copy ran"),
            column("mean", "mean", &Described::mean).with_bar(),
            column("deviation", "deviation", &Described::deviation),
            column("min", "min", &|row| row.quantile(0.0)),
            column("p25", "p25", &|row| row.quantile(0.25)),
            column("p50", "p50", &|row| row.quantile(0.5)),
            column("p75", "p75", &|row| row.quantile(0.75)),
            column("max", "max", &|row| row.quantile(1.0)),
        ],
    );
    let source = match Tool::of(gpu.trace) {
        // Their files have sizes only.
        Tool::Nsight | Tool::Rocprof | Tool::Rpd | Tool::Xprof => "size ÷ duration",
        Tool::PyTorch | Tool::Other => "the bandwidth in the arguments",
    };
    let table = table.caption(format!(
        "Statistics of the total bandwidth of running copies, sampled at each start and end (HTA's memory bandwidth summary). Uses \
         {source} of each copy.{}",
        match n_without {
            0 => String::new(),
            n => format!(" Excludes {} without a bandwidth.", counted(n, "copy or fill", "copies and fills")),
        }
    ));
    Some(with_left_out(table, n_left_out))
}

/// Copies of one kind and size.
fn sizes(named: &NamedTrace<'_, '_>) -> Option<Table> {
    let gpu = named.gpu;
    let mut found: HashMap<(&str, u64), Vec<i64>> = HashMap::default();
    for work in moves(gpu) {
        let given = gpu.link_of(work).map(|link| link.bytes).filter(|bytes| *bytes != LinkTable::NONE);
        if let Some(bytes) = given.and_then(|bytes| u64::try_from(bytes).ok()) {
            found.entry((gpu.name(work.slice), bytes)).or_default().push(work.dur());
        }
    }
    if found.is_empty() {
        return None;
    }
    let mut rows: Vec<((&str, u64), Durations)> =
        found.into_iter().map(|(key, durations)| (key, Durations::new(durations))).collect();
    sort::by(&mut rows, |a, b| (b.1.total(), a.0).cmp(&(a.1.total(), b.0)));
    let n_left_out = cut(&mut rows);
    let moved = |row: &((&str, u64), Durations)| row.0.1.saturating_mul(row.1.count());
    let bandwidth = |row: &((&str, u64), Durations)| {
        (row.1.total() > 0).then(|| moved(row) as f64 / (row.1.total() as f64 / 1e9))
    };
    let each =
        |get: &dyn Fn(&Durations) -> Option<i64>| rows.iter().map(|row| get(&row.1)).collect::<Vec<_>>();
    let table = Table::new(
        named.id("copy_sizes"),
        named.title("Copies by size"),
        vec![
            Column::key("name", "name", Content::Symbol, texts(rows.iter().map(|row| Some(row.0.0)))),
            Column::counts("size", "size", Unit::Bytes, rows.iter().map(|row| row.0.1)).as_key(),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.1.count())),
            Column::counts("bytes", "total bytes", Unit::Bytes, rows.iter().map(moved)),
            integers("total", "time", Unit::Ns, rows.iter().map(|row| row.1.total())).with_bar(),
            Column::float(
                "bandwidth",
                "bandwidth",
                Unit::BytesPerSecond,
                rows.iter().map(bandwidth).collect(),
            ),
            Column::integer("mean", "mean", Unit::Ns, each(&Durations::mean)),
            Column::integer("p50", "p50", Unit::Ns, each(&|row| row.quantile(0.5))),
            Column::integer("p99", "p99", Unit::Ns, each(&|row| row.quantile(0.99))),
        ],
    )
    .sorted_by("total", true)
    .caption("Copies and fills with a recorded size. Small ones are bound by start-up latency.");
    Some(with_left_out(table, n_left_out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_add_up_while_copies_run() {
        let changes = vec![
            (0, true, 2.0),
            (10, false, 2.0),
            (10, true, 3.0),
            (15, true, 1.0),
            (20, false, 3.0),
            (30, false, 1.0),
        ];
        assert_eq!(running(changes), [2.0, 3.0, 4.0, 1.0]);
        let described = Described::new(vec![1.0, 2.0, 4.0]);
        assert_eq!(described.quantile(0.25), Some(1.5e9));
        assert_eq!(described.quantile(1.0), Some(4e9));
        assert_eq!(Described::new(Vec::new()).quantile(0.5), None);
        assert_eq!(Described::new(vec![1.0]).deviation(), None);
    }

    #[test]
    fn kinds_are_names_without_kinds_of_memory() {
        for (name, wanted) in [
            ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD"),
            ("Memset (Device)", "Memset"),
            ("dma", "dma"),
            ("Memcpy Unified HtoD", "Memcpy Unified HtoD"),
            ("Memcpy Unified DtoH (Managed -> Pageable)", "Memcpy Unified DtoH"),
            ("Memcpy kind 99", "Memcpy kind 99"),
            ("Memcpy (CopyX)", "Memcpy (CopyX)"),
            ("CopyDeviceToHost", "CopyDeviceToHost"),
        ] {
            assert_eq!(kind(name), wanted);
        }
    }
}
