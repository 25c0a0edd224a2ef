//! Timelines of A and B as pictures, A above B on one time axis: a typical step kernel by kernel, and all of both traces.
//!
//! The page draws both from the traces; this is for exports, which no trace is needed for.

use super::gpu::sequence::{AlignedKernel, AlignedStep, Change};
use crate::analysis::tracks::{Drawn, INFO};
use crate::base::sort;
use crate::base::units::{counted, format_ns};
use crate::report::Report;
use crate::report::chart::{Chart, Plot, Spans, Stretch, Tone};

/// Stretches of a step, beyond which neighbors are merged.
const MAX_STRETCHES: usize = 4_000;
/// Rows for kernels of a side that run at the same time.
const MAX_LANES: usize = 6;
/// Tone of kernels that take as long on both sides.
const SAME: Tone = Tone::Other(0);

/// The report. `None` if there is nothing to draw. `steps` are those of [`super::aligned_steps`], `drawn` what is drawn of A and B.
pub fn report(steps: &[AlignedStep], drawn: [Option<&Drawn>; 2]) -> Option<Report> {
    let mut report = Report::new(INFO.id, INFO.title);
    let aligned = steps.iter().find_map(|step| Some((step, step.offset()?)));
    if let Some((step, offset)) = aligned {
        report.summary = format!("A above B on one scale, aligned at the median {}.", step.title);
        report.chart(step_chart(step, offset));
    }
    if let [Some(a), Some(b)] = drawn {
        let of_steps = a.first_step_ns.zip(b.first_step_ns).map(|(a, b)| b.saturating_sub(a));
        let (offset, at) = match (aligned, of_steps) {
            (Some((step, offset)), _) => (offset, format!("the median {}", step.title)),
            (None, Some(offset)) => (offset, "the first step of each".to_string()),
            (None, None) => (0, "their starts".to_string()),
        };
        if report.summary.is_empty() {
            report.summary = format!("A above B on one scale, aligned at {at}.");
        }
        report.chart(whole_chart([a, b], offset, &at));
    }
    (!report.summary.is_empty()).then_some(report)
}

/// A typical step of both sides, from its first kernel on.
fn step_chart(step: &AlignedStep, offset: i64) -> Chart {
    let (mut labels, mut spans) = (Vec::new(), Vec::new());
    let starts = |kernel: &AlignedKernel| {
        let [a, b] = kernel.spans.map(|span| span.map(|(start, _)| start));
        a.into_iter().chain(b.map(|b| b.saturating_sub(offset)))
    };
    let first = step.kernels.iter().flat_map(starts).min().unwrap_or(0);
    for (side, letter) in ["A", "B"].into_iter().enumerate() {
        let shift = if side == 0 { first } else { first.saturating_add(offset) };
        let mut kernels: Vec<(i64, i64, &AlignedKernel)> = (step.kernels.iter())
            .filter_map(|kernel| kernel.spans[side].map(|(start, dur)| (start, dur, kernel)))
            .collect();
        sort::by_key(&mut kernels, |(start, ..)| *start);
        let first_row = labels.len() as u32;
        // By lane: where its last kernel ends.
        let mut ends: Vec<i64> = Vec::new();
        for (start, dur, kernel) in kernels {
            let lane = ends.iter().position(|end| *end <= start).unwrap_or_else(|| {
                if ends.len() < MAX_LANES {
                    ends.push(start);
                }
                ends.len() - 1
            });
            ends[lane] = start.saturating_add(dur).max(ends[lane]);
            let name = kernel.names[side].and_then(|name| step.names.get(name as usize));
            spans.push(Stretch {
                name: name.cloned().unwrap_or_default(),
                tone: match kernel.change() {
                    Change::Same => SAME,
                    Change::More => Tone::More,
                    Change::Less => Tone::Less,
                },
                row: first_row + lane as u32,
                start: start.saturating_sub(shift),
                dur,
            });
        }
        labels.push(letter.to_string());
        labels.extend((1..ends.len()).map(|_| String::new()));
    }
    let legend =
        [("longer or only in B", Tone::More), ("shorter in B or only in A", Tone::Less), ("same", SAME)];
    let legend = legend.map(|(meaning, tone)| (meaning.to_string(), tone)).to_vec();
    let mut plot = Spans { labels, legend, spans, has_names: true };
    if plot.spans.len() > MAX_STRETCHES {
        plot = plot.at_most(MAX_STRETCHES);
    }
    Chart {
        id: "aligned_chart".into(),
        title: format!("Kernels of the median {}", step.title),
        caption: format!(
            "{}. Times count from the first of them, {} into A; {}.",
            counted(step.kernels.len() as u64, "kernel or aligned pair", "kernels and aligned pairs"),
            format_ns(first),
            shifted(offset)
        ),
        plot: Plot::Spans(plot),
    }
}

/// All of both sides, times as in A.
fn whole_chart(sides: [&Drawn; 2], offset: i64, at: &str) -> Chart {
    let (mut labels, mut spans) = (Vec::new(), Vec::new());
    for (side, drawn) in sides.into_iter().enumerate() {
        labels.push(["A", "B"][side].to_string());
        let first_row = labels.len() as u32;
        labels.extend(drawn.labels.iter().cloned());
        let shift = if side == 0 { 0 } else { offset };
        spans.extend(drawn.spans.iter().map(|span| Stretch {
            row: span.row + first_row,
            start: span.start.saturating_sub(shift),
            ..span.clone()
        }));
    }
    let caption = format!(
        "Aligned at {at}: times are those of A; {}. A: {}; B: {}. Colors stand for names. Events too short to draw are merged.",
        shifted(offset),
        sides[0].extent(),
        sides[1].extent()
    );
    Chart {
        id: "timelines_chart".into(),
        title: "Events over time".to_string(),
        caption,
        plot: Plot::Spans(Spans { labels, legend: Vec::new(), spans, has_names: true }),
    }
}

/// `B is drawn 3 ms earlier`.
fn shifted(offset: i64) -> String {
    let by = format_ns(offset.saturating_abs());
    match offset {
        0 => "B is not shifted".to_string(),
        1.. => format!("B is drawn {by} earlier"),
        _ => format!("B is drawn {by} later"),
    }
}
