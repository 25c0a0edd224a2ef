//! Charts of GPU time.

use super::DeviceTime;
use crate::analysis::gpu::NamedTrace;
use crate::analysis::gpu::annotation::Phase;
use crate::analysis::gpu::parts::{OUTSIDE_STEPS, Parts, STEP_EXTENT, StepWindow, chart_parts};
use crate::analysis::gpu::spans::Span;
use crate::analysis::gpu::steps::Step;
use crate::base::units::Unit;
use crate::report::chart::{Bars, Chart, Plot, Spans, Stretch, Tone};
use std::borrow::Cow;

/// Maximum bars of a strip: more would be too narrow to see, and each costs rendering time.
const MAX_BARS: usize = 160;

/// Title of [`devices`].
pub const DEVICES: &str = "GPU time by part";

/// One bar per device.
pub fn devices(id: Cow<'static, str>, title: String, devices: &[DeviceTime]) -> Chart {
    let bars = Bars {
        labels: devices.iter().map(|device| device.label.clone()).collect(),
        parts: chart_parts(devices.iter().map(|device| &device.parts)),
        unit: Unit::Ns,
        is_strip: false,
        what: "GPU".to_string(),
    };
    Chart { id, title, caption: String::new(), plot: Plot::Bars(bars) }
}

/// One bar per step, in order. `None` with fewer than two steps.
pub fn steps(named: &NamedTrace<'_, '_>, devices: &[DeviceTime]) -> Option<Chart> {
    // Time outside steps has no place in their order.
    let is_in_order = |row: &&(StepWindow, Parts)| row.0.step != OUTSIDE_STEPS;
    let rows: Vec<_> = devices.iter().flat_map(|device| &device.steps).filter(is_in_order).collect();
    let step = |number| named.gpu.step(number);
    if rows.iter().filter(|row| step(row.0.step).is_some()).count() < 2 {
        return None;
    }
    let several = devices.len() > 1;
    let label = |at: usize| {
        let window = &rows[at].0;
        let name = step(window.step).map_or("(before the first step)", |step| named.gpu.name(step.slice));
        if several { format!("{}, {name}", named.gpu.device_label(window.device)) } else { name.to_string() }
    };
    let n = rows.len();
    let bars = Bars {
        labels: (0..n).map(label).collect(),
        parts: chart_parts(rows.iter().map(|row| &row.1)),
        unit: Unit::Ns,
        is_strip: true,
        what: format!("{n} steps in order"),
    }
    .at_most(MAX_BARS);
    let caption = if n > MAX_BARS { "Each bar is the mean of adjacent steps." } else { "" };
    Some(Chart {
        id: named.id("steps_chart"),
        title: named.title("Time per step"),
        caption: caption.to_string(),
        plot: Plot::Bars(bars),
    })
}

/// Maximum spans of a row; more would be too narrow to see.
const MAX_STRETCHES: usize = 400;

/// Steps over time, on the CPU and on each GPU, colored by phase. `None` with fewer than two steps.
pub fn strip(named: &NamedTrace<'_, '_>, devices: &[DeviceTime]) -> Option<Chart> {
    let gpu = named.gpu;
    if gpu.steps.len() < 2 {
        return None;
    }
    let origin = gpu.trace.span().map_or(0, |(start, _)| start);
    let stretch = |step: &Step, row: usize, (start, end): Span| Stretch {
        name: gpu.name(step.slice).to_string(),
        tone: tone(step.what.phase),
        row: row as u32,
        start: start.saturating_sub(origin),
        dur: end.saturating_sub(start).max(0),
    };
    let mut spans: Vec<Stretch> =
        gpu.steps.steps.iter().map(|step| stretch(step, 0, (step.start, step.end))).collect();
    for (number, device) in devices.iter().enumerate() {
        let steps = device.steps.iter().filter(|(window, _)| window.step != OUTSIDE_STEPS);
        spans.extend(
            steps.filter_map(|(window, _)| Some(stretch(gpu.step(window.step)?, number + 1, window.window))),
        );
    }
    let is_there = |phase: &Phase| gpu.steps.steps.iter().any(|step| step.what.phase == *phase);
    let name = |phase: Phase| if phase == Phase::Unknown { "step" } else { phase.name() };
    let legend: Vec<(String, Tone)> =
        Phase::ALL.into_iter().filter(is_there).map(|phase| (name(phase).to_string(), tone(phase))).collect();
    // A single phase needs no legend.
    let legend = if legend.len() > 1 { legend } else { Vec::new() };
    let n_all = spans.len();
    let labels = std::iter::once("CPU".to_string()).chain(devices.iter().map(|device| device.label.clone()));
    let spans = Spans { labels: labels.collect(), legend, spans, has_names: false }.at_most(MAX_STRETCHES);
    let mut caption = match devices {
        [] => "A step on the CPU is its annotation.".to_string(),
        _ => format!("A step on the CPU is its annotation. {STEP_EXTENT}."),
    };
    if spans.spans.len() < n_all {
        caption.push_str(" Steps too short to draw are merged, in the color of the longest.");
    }
    Some(Chart {
        id: named.id("strip_chart"),
        title: named.title("Steps over time"),
        caption,
        plot: Plot::Spans(spans),
    })
}

/// Color of a phase.
fn tone(phase: Phase) -> Tone {
    match phase {
        Phase::Prefill => Tone::Other(0),
        Phase::Decode => Tone::Other(1),
        Phase::Mixed => Tone::Other(2),
        Phase::Idle => Tone::Idle,
        Phase::Unknown => Tone::Other(3),
    }
}
