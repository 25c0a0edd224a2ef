//! Charts of both sides; each has a table with the same numbers.

use super::super::words::differences_drawn;
use super::Pair;
use super::side::whole;
use crate::base::units::Unit;
use crate::report::Chart;
use crate::report::chart::{Bars, Part, Plot, Tone};

/// Maximum bars drawn.
const MAX_BARS: usize = 14;
/// Maximum steps drawn per side.
const MAX_STEPS: usize = 200;

fn sides(pair: &Pair<'_>) -> [String; 2] {
    [format!("A: {}", pair.labels[0]), format!("B: {}", pair.labels[1])]
}

/// One bar per operation and side.
pub fn operations(pair: &Pair<'_>) -> Chart {
    let rows = pair.operation_rows();
    let shown: Vec<_> = rows.iter().filter(|row| Some(row.slot) == pair.main()).take(MAX_BARS).collect();
    let mut labels = Vec::new();
    let mut values = [Vec::new(), Vec::new()];
    for row in shown {
        for (side, letter) in ["A", "B"].into_iter().enumerate() {
            labels.push(format!("{} {letter}", row.name));
            values[side].push(row.per_step(side).unwrap_or(0) as f64);
            values[1 - side].push(0.0);
        }
    }
    let [a, b] = values;
    let [name_a, name_b] = sides(pair);
    Chart {
        id: "operations".into(),
        title: "Operations per step, A vs B".to_string(),
        caption: "Time per step of the operations that changed most. See the table Operations.".to_string(),
        plot: Plot::Bars(Bars {
            labels,
            parts: vec![
                Part { name: name_a, tone: Tone::SideA, values: a },
                Part { name: name_b, tone: Tone::SideB, values: b },
            ],
            unit: Unit::Ns,
            is_strip: false,
            what: "operation".to_string(),
        }),
    }
}

/// Differences of the largest changes.
pub fn differences<'a>(lines: impl Iterator<Item = (&'a str, i64)>) -> Chart {
    let lines = lines.map(|(name, difference)| (name.to_string(), difference as f64));
    Chart {
        title: "Where B is slower (▲) and faster (▼)".to_string(),
        caption: "Differences per step, as listed above.".to_string(),
        ..differences_drawn(lines.take(MAX_BARS), Unit::Ns)
    }
}

/// All steps of the main phase, A first, each side sorted by duration. `None` for a single step on each side.
pub fn spread(pair: &Pair<'_>) -> Option<Chart> {
    let slot = pair.main()?;
    if pair.durations(slot).iter().map(|of| of.n).sum::<usize>() < 3 {
        return None;
    }
    let (mut labels, mut parts) = (Vec::new(), Vec::new());
    let [name_a, name_b] = sides(pair);
    let mut before = 0;
    for (side, (name, tone)) in [(name_a, Tone::SideA), (name_b, Tone::SideB)].into_iter().enumerate() {
        let mut walls: Vec<i64> =
            whole(pair.side(side).of_slot(slot)).map(|stretch| stretch.time.wall()).collect();
        walls.sort_unstable();
        let letter = if side == 0 { "A" } else { "B" };
        let bars = Bars {
            labels: (1..=walls.len()).map(|n| format!("{letter} {n}")).collect(),
            parts: vec![Part {
                name: name.clone(),
                tone,
                values: walls.iter().map(|ns| *ns as f64).collect(),
            }],
            unit: Unit::Ns,
            is_strip: true,
            what: String::new(),
        }
        .at_most(MAX_STEPS);
        let n = bars.labels.len();
        labels.extend(bars.labels);
        let mut values = vec![0.0; before];
        values.extend(bars.parts.into_iter().flat_map(|part| part.values));
        before += n;
        parts.push(Part { name, tone, values });
    }
    parts.iter_mut().for_each(|part| part.values.resize(before, 0.0));
    Some(Chart {
        id: "spread".into(),
        title: format!("Wall time of each {}, A vs B", slot.one()),
        caption: "Each side sorted from shortest to longest. Where the sides overlap, don't compare single steps. See the table \
                  Phases for medians and deviations."
            .to_string(),
        plot: Plot::Bars(Bars { labels, parts, unit: Unit::Ns, is_strip: true, what: "step".to_string() }),
    })
}
