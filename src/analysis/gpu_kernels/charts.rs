//! Charts of kernels.

use crate::analysis::gpu::stats::{Durations, SumNs, share};
use crate::analysis::gpu::{Kind, NamedTrace, Work};
use crate::analysis::timeline::integers;
use crate::base::units::{Unit, format_ns};
use crate::report::chart::{Bars, Chart, Part, Plot, Tone};
use crate::report::{Column, Table};

/// Number of operations with a bar of their own.
const N_BARS: usize = 12;

/// Time by operation.
pub fn operations(named: &NamedTrace<'_, '_>, rows: &[(&str, Durations)]) -> Chart {
    let mut labels: Vec<String> = rows.iter().take(N_BARS).map(|row| row.0.to_string()).collect();
    let mut values: Vec<f64> = rows.iter().take(N_BARS).map(|row| row.1.total() as f64).collect();
    if let Some(rest @ [_, ..]) = rows.get(N_BARS..) {
        labels.push(format!("{} more", rest.len()));
        values.push(rest.iter().map(|row| row.1.total() as f64).sum());
    }
    let part = Part { name: String::new(), tone: Tone::Computation, values };
    let bars =
        Bars { labels, parts: vec![part], unit: Unit::Ns, is_strip: false, what: "operation".to_string() };
    Chart {
        id: named.id("operations_chart"),
        title: named.title("Time by operation"),
        caption: String::new(),
        plot: Plot::Bars(bars),
    }
}

/// Histogram of kernel durations with bins that double: count and total time per bin, as a chart and a table. `None` without
/// kernels.
pub fn durations(named: &NamedTrace<'_, '_>) -> Option<(Chart, Table)> {
    let kernels = || named.gpu.work.iter().filter(|work| work.kind == Kind::Kernel).map(Work::dur);
    // Bin 0 is below 2 ns.
    let bin = |dur: i64| (63 - (dur.max(1) as u64).leading_zeros()) as usize;
    let first = kernels().map(bin).min()?;
    let last = kernels().map(bin).max()?;
    let mut bins = vec![(0u64, 0i64); last - first + 1];
    for dur in kernels() {
        let (n, time) = &mut bins[bin(dur) - first];
        (*n, *time) = (*n + 1, time.saturating_add(dur));
    }
    let total = bins.iter().map(|bin| bin.1).sum_ns();
    let length = |bin: usize| if bin == 0 { 0 } else { 1i64 << bin };
    let table = Table::new(
        named.id("durations"),
        named.title("Kernels by duration"),
        vec![
            integers("from", "from", Unit::Ns, (first..=last).map(length)).as_key(),
            integers(
                "below",
                "to",
                Unit::Ns,
                (first..=last).map(|bin| 1i64.checked_shl(bin as u32 + 1).unwrap_or(i64::MAX)),
            ),
            Column::counts("kernels", "kernels", Unit::Count, bins.iter().map(|bin| bin.0)),
            integers("time", "time", Unit::Ns, bins.iter().map(|bin| bin.1)).with_bar(),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                bins.iter().map(|bin| share(bin.1, total)).collect(),
            ),
        ],
    )
    .caption("Histogram of kernel durations; each bin is twice as wide as the one before.");
    let times: Vec<f64> = bins.iter().map(|bin| bin.1 as f64).collect();
    let label = |bin: usize| {
        format!(
            "{} to {}",
            format_ns(1 << bin),
            format_ns(1i64.checked_shl(bin as u32 + 1).unwrap_or(i64::MAX))
        )
    };
    let bars = Bars {
        labels: (first..=last).map(label).collect(),
        parts: vec![Part { name: String::new(), tone: Tone::Computation, values: times }],
        unit: Unit::Ns,
        is_strip: true,
        what: "longer kernels".to_string(),
    };
    let chart = Chart {
        id: named.id("durations_chart"),
        title: named.title("Time by kernel duration"),
        caption: "Total time of kernels by duration; each bin is twice as wide as the one before. Much time on the left means many \
                  short kernels that cost more to launch than to run."
            .to_string(),
        plot: Plot::Bars(bars),
    };
    Some((chart, table))
}
