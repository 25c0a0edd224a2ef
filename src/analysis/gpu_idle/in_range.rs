//! Idle time of devices within any range of time, by cause.

use super::super::Context;
use super::super::gpu::gaps::{self, Cause};
use super::super::gpu::spans::Span;
use crate::timeline::Timeline;
use crate::timeline::answers::Stretch;
use crate::trace::tracks::ProcessId;

/// The gaps of one device: those of the table of idle time.
pub struct DeviceIdle {
    /// Position of its trace in the run.
    trace: usize,
    process: ProcessId,
    /// In order of time, without overlaps; nanoseconds on the clock of the trace.
    gaps: Vec<(Span, Cause)>,
}

impl DeviceIdle {
    /// Of each device of a run.
    pub fn all(context: &Context<'_>) -> Vec<DeviceIdle> {
        let place = |gpu: &super::GpuTrace<'_>| {
            context.run.traces.iter().position(|trace| std::ptr::eq(trace, gpu.trace)).unwrap_or_default()
        };
        let of_trace = |gpu| {
            let trace = place(gpu);
            let devices = gpu.devices.iter().zip(gaps::of_devices(gpu));
            devices.map(move |(device, gaps)| {
                let parts = gaps.into_iter().flat_map(|gap| gap.stretches(gpu));
                let gaps = parts.map(|part| (part.span, part.cause)).collect();
                DeviceIdle { trace, process: device.process, gaps }
            })
        };
        context.gpu().iter().flat_map(of_trace).collect()
    }

    /// Nanoseconds within `range`, on the clock of the trace, of each cause that has some.
    pub fn within(&self, range: Span) -> Vec<(Cause, u64)> {
        let first = self.gaps.partition_point(|(span, _)| span.1 <= range.0);
        let there = self.gaps[first..].iter().take_while(|(span, _)| span.0 < range.1);
        let mut by_cause = [0_u64; Cause::ALL.len()];
        for (span, cause) in there {
            let ns = span.1.min(range.1).saturating_sub(span.0.max(range.0));
            if let Some(at) = Cause::ALL.iter().position(|it| it == cause) {
                by_cause[at] += ns.max(0) as u64;
            }
        }
        Cause::ALL.into_iter().zip(by_cause).filter(|(_, ns)| *ns > 0).collect()
    }

    /// Adds why the devices in a range of a timeline of the same run were idle.
    pub fn add_to(all: &[DeviceIdle], timeline: &Timeline, range: &mut Stretch) {
        for device in &mut range.devices {
            let is_it =
                |idle: &&DeviceIdle| (idle.trace as u32, idle.process.0) == (device.trace, device.process);
            let Some(idle) = all.iter().find(is_it) else { continue };
            let Some(start) = timeline.starts.get(idle.trace) else { continue };
            let on_clock = |ns: u64| start.saturating_add_unsigned(ns);
            let within = idle.within((on_clock(range.from_ns), on_clock(range.to_ns)));
            device.idle = within.into_iter().map(|(cause, ns)| (cause.name().to_string(), ns)).collect();
        }
    }
}
