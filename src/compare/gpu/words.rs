//! Largest changes from A to B, as lines that add up to the total difference.

use super::super::words::each;
use super::kernels::operation_rows;
use super::side::{Slot, Stretch};
use super::steps::Row;
use super::{Pair, REPORT, charts, faster, per_step, per_step_words, steps_words};
use crate::analysis::gpu::kernel_names::readable;
use crate::base::units::{Unit, format_ns, format_signed_ns};
use crate::compare::noise::{MIN_STEPS, Sample, Verdict, band, verdict};
use crate::filter::exactly;
use crate::report::{Chart, Facts, Finding, Findings, RowsOf, Stakes};
use std::cmp::Reverse;

/// Tables that lines link to, by id and title.
const PARTS: (&str, &str) = ("time", "GPU time");
const OPERATIONS: (&str, &str) = ("operations", "Operations");
const KERNELS: (&str, &str) = ("kernels", "Kernels");

/// Headline: the difference and its significance, after a hint at incomplete sides.
pub fn headline(pair: &Pair<'_>) -> String {
    let incomplete = match [0, 1].map(|side| pair.side(side).is_busy_only) {
        [true, true] => "A and B are incomplete",
        [true, false] => "A is incomplete",
        [false, true] => "B is incomplete",
        [false, false] => return difference(pair),
    };
    let difference = difference(pair);
    format!("{incomplete}, so only busy time is compared. {difference}")
}

fn difference(pair: &Pair<'_>) -> String {
    let Some(slot) = pair.main() else {
        return match (pair.side(0).sums.is_empty(), pair.side(1).sums.is_empty()) {
            (true, true) => "No GPU activity on either side.".to_string(),
            (true, false) => "Only B has GPU activity.".to_string(),
            (false, true) => "Only A has GPU activity.".to_string(),
            (false, false) => "A and B have no phase in common.".to_string(),
        };
    };
    let [a, b] = pair.samples(slot, |_, stretch| stretch.time.wall());
    let numbers = per_step_words(slot, &a, &b);
    match verdict(&a, &b) {
        Verdict::Same => format!("No change: {numbers}."),
        Verdict::Noise => format!(
            "No significant change: {numbers} (noise is up to {}).",
            format_ns(band(&a, &b).unwrap_or(0.0).round() as i64)
        ),
        Verdict::More | Verdict::Less => format!("{}: {numbers}.", faster(slot, &a, &b)),
        Verdict::MaybeMore | Verdict::MaybeLess => {
            let n = |sample: &Sample| match slot {
                Slot::Whole => super::super::counted(sample.n as u64, "sample", "samples"),
                _ => steps_words(sample.n),
            };
            format!(
                "{}: {numbers}. Not enough to test significance: {} in A, {} in B (need {MIN_STEPS} per side).",
                faster(slot, &a, &b),
                n(&a),
                n(&b)
            )
        }
    }
}

/// A line of the list of changes.
struct Line {
    /// Short name.
    name: String,
    /// Text without the time.
    text: String,
    /// Nanoseconds per step, of A and B.
    sides: [i64; 2],
    verdict: Verdict,
    /// Table with its rows, and their filter; empty for all.
    table: (&'static str, &'static str),
    filter: String,
}

impl Line {
    fn difference(&self) -> i64 {
        self.sides[1].saturating_sub(self.sides[0])
    }
}

/// Ranked list of changes in the phase with the most time, and its chart. `None` if no phase is on both sides.
pub fn answer(pair: &Pair<'_>) -> Option<(Findings, Chart)> {
    let slot = pair.main()?;
    let mut lines = lines(pair, slot);
    lines.retain(|line| line.difference() != 0);
    lines.sort_by(|a, b| {
        let size = |line: &Line| Reverse(line.difference().unsigned_abs());
        (size(a), &a.text).cmp(&(size(b), &b.text))
    });
    let wall = pair.samples(slot, |_, stretch| stretch.time.wall());
    let n = [0, 1].map(|side| pair.n(side, slot));
    let walls = [0, 1]
        .map(|side| per_step(pair.sum(side, slot, |stretch| stretch.time.wall()), n[side]).unwrap_or(0));
    let chart = charts::differences(lines.iter().map(|line| (line.name.as_str(), line.difference())));
    let findings = Findings {
        title: "Largest changes".to_string(),
        caption: format!(
            "Differences per {}; they add up to {}: {}.",
            slot.one(),
            format_signed_ns(walls[1].saturating_sub(walls[0])),
            per_step_words(slot, &wall[0], &wall[1])
        ),
        empty: "No changes.".to_string(),
        stakes: Stakes::Difference,
        findings: lines.into_iter().map(|line| finding(line, walls[0])).collect(),
    };
    Some((findings, chart))
}

fn finding(line: Line, wall_a: i64) -> Finding {
    let mut evidence = Facts::new("");
    evidence.push("a", "A", line.sides[0], Unit::Ns);
    evidence.push("b", "B", line.sides[1], Unit::Ns);
    evidence.push("status", "status", line.verdict.name(), Unit::None);
    let (table, title) = line.table;
    Finding {
        id: "difference".to_string(),
        time: Some(line.difference()),
        share: super::super::tables::ratio(i128::from(wall_a), i128::from(line.difference())),
        evidence: evidence.facts,
        rows: Some(RowsOf {
            report: REPORT.to_string(),
            table: table.to_string(),
            label: if line.filter == line.name {
                format!("{title}: {}", line.name)
            } else {
                title.to_string()
            },
            filter: exactly(&line.filter),
        }),
        text: line.text,
    }
}

/// Changes of the time of a step; they add up to its change.
fn lines(pair: &Pair<'_>, slot: Slot) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in operation_rows(pair).iter().filter(|row| row.slot == slot) {
        lines.push(operation_line(row));
    }
    let n = [0, 1].map(|side| pair.n(side, slot));
    let mut part = |get: fn(&Stretch) -> i64,
                    words: &dyn Fn(i64) -> String,
                    (name, table, filter): (&str, (&'static str, &'static str), &str)| {
        let [a, b] = [0, 1].map(|side| per_step(pair.sum(side, slot, get), n[side]).unwrap_or(0));
        let [in_a, in_b] = pair.samples(slot, |_, stretch| get(stretch));
        if a != 0 || b != 0 {
            lines.push(Line {
                text: words(b - a),
                sides: [a, b],
                verdict: verdict(&in_a, &in_b),
                name: name.to_string(),
                table,
                filter: filter.to_string(),
            });
        }
    };
    part(
        |stretch| stretch.time.idle_for_host,
        &|difference| {
            let word = if difference > 0 { "more" } else { "less" };
            format!("{word} host-bound idle time")
        },
        ("idle for the host", PARTS, "host"),
    );
    part(
        |stretch| stretch.time.idle.saturating_sub(stretch.time.idle_for_host),
        &|difference| {
            let word = if difference > 0 { "more" } else { "less" };
            format!("{word} idle time between queued kernels")
        },
        ("idle, other", PARTS, "other"),
    );
    // Overlapping kernels take less wall time than the sum of their durations.
    part(
        |stretch| stretch.time.busy().saturating_sub(stretch.work()),
        &|difference| {
            if difference > 0 { "less overlap between kernels" } else { "more overlap between kernels" }
                .to_string()
        },
        ("overlap", OPERATIONS, ""),
    );
    lines
}

/// `Attention (same kernel count, 2.7× longer each)`.
fn operation_line(row: &Row) -> Line {
    let by_step = |side: usize| row.count[side] as f64 / row.n[side].max(1) as f64;
    let (a, b) = (by_step(0), by_step(1));
    let mean = |side: usize| row.total[side] as f64 / row.count[side].max(1) as f64;
    let why = match (row.count[0], row.count[1]) {
        (0, _) => format!("only in B, {} per step", count(b)),
        (_, 0) => format!("only in A, {} per step", count(a)),
        _ => {
            let counts = if (a - b).abs() < 0.005 * a.max(b) {
                "same kernel count".to_string()
            } else {
                format!("{} {}, was {}", count(b), if b == 1.0 { "kernel" } else { "kernels" }, count(a))
            };
            format!("{counts}, {}", each(mean(0), mean(1)))
        }
    };
    Line {
        text: format!("{} ({why})", readable(&row.name)),
        sides: [0, 1].map(|side| row.per_step(side).unwrap_or(0)),
        verdict: verdict(&row.samples[0], &row.samples[1]),
        name: row.name.clone(),
        table: KERNELS,
        filter: row.name.clone(),
    }
}

fn count(n: f64) -> String {
    if n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.1}") }
}
