//! Pictures of kernels.

use crate::analysis::gpu::stats::Durations;
use crate::analysis::gpu::{Kind, Named, Work};
use crate::base::units::{Unit, format_ns};
use crate::report::chart::{Bars, Chart, Part, Plot, Tone};

/// Operations with a bar of their own.
const N_BARS: usize = 12;

/// Time by operation.
pub fn operations(named: &Named<'_, '_>, rows: &[(&str, Durations)]) -> Chart {
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

/// How many kernels take how long, and how much time those take together, with bins that double. `None` without kernels.
pub fn durations(named: &Named<'_, '_>) -> Option<Chart> {
    let kernels = || named.gpu.work.iter().filter(|work| work.kind == Kind::Kernel).map(Work::dur);
    // Bin 0 is below 2 ns.
    let bin = |dur: i64| (63 - (dur.max(1) as u64).leading_zeros()) as usize;
    let first = kernels().map(bin).min()?;
    let last = kernels().map(bin).max()?;
    let mut times = vec![0.0; last - first + 1];
    for dur in kernels() {
        times[bin(dur) - first] += dur as f64;
    }
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
    Some(Chart {
        id: named.id("durations_chart"),
        title: named.title("Time by length of kernels"),
        caption: "The time that kernels of a length take together; each bar is for kernels up to twice as long as the one before. Much time on \
                  the left means many short kernels, which cost more to launch than to run."
            .to_string(),
        plot: Plot::Bars(bars),
    })
}
