//! Pictures of where the time of the GPU went.

use super::DeviceTime;
use crate::analysis::gpu::Named;
use crate::analysis::gpu::parts::{OUTSIDE_STEPS, Parts, StepWindow, chart_parts};
use crate::base::units::Unit;
use crate::report::chart::{Bars, Chart, Plot};
use std::borrow::Cow;

/// Bars of a strip, at most: more could not be told apart, and each costs the page time.
const MAX_BARS: usize = 160;

/// Title of [`devices`].
pub const DEVICES: &str = "Where the time went";

/// One bar a device.
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

/// One bar a step, in order. `None` where there are fewer than two.
pub fn steps(named: &Named<'_, '_>, devices: &[DeviceTime]) -> Option<Chart> {
    // What belongs to no step has no place in their order.
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
    let caption = if n > MAX_BARS { "A bar is the mean of neighbouring steps." } else { "" };
    Some(Chart {
        id: named.id("steps_chart"),
        title: named.title("Step by step"),
        caption: caption.to_string(),
        plot: Plot::Bars(bars),
    })
}
