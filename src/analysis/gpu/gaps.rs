//! Gaps on a GPU and their causes, shared by all reports.
//!
//! ```text
//! CPU      [schedule        ][launch]
//! stream   [kernel ]                              [kernel ]
//!                   ←─ waiting ────→←─ stalled ─→
//! ```
//! A gap that starts before its launch call and ends after it is split at the end of the call: before, the GPU had nothing to run;
//! after, the kernel waited on the GPU.

use super::model::NONE;
use super::spans::Span;
use super::{GpuTrace, Work};

/// Shorter gaps count as ordinary gaps between kernels: HTA's limit (documented there in nanoseconds, applied to microseconds).
const KERNEL_WAIT_NS: i64 = 30_000;

/// Cause of a gap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// The next kernel was not launched yet.
    Host,
    /// It was launched, and started within `KERNEL_WAIT_NS`.
    Kernel,
    /// It was launched, and waited longer: for an event, another stream, or a resource.
    OnGpu,
    /// It is a page migration of unified memory, which no call launches.
    Migration,
    /// Its launch isn't recorded.
    Unknown,
    /// It starts before its own launch (clock skew).
    Clocks,
    /// Launches without a device record may have run, so this is not idle time.
    NotRecorded,
}

/// Names of causes in tables.
pub const HOST: &str = "waiting for the host";
pub const BETWEEN_KERNELS: &str = "between kernels";
pub const ON_GPU: &str = "stalled after launch";
pub const MIGRATION: &str = "before a page migration";
pub const UNKNOWN: &str = "launch not recorded";
pub const CLOCKS: &str = "clocks disagree";
pub const NO_DEVICE_RECORD: &str = "work not recorded";

impl Cause {
    /// In the order of tables.
    pub const ALL: [Cause; 7] = [
        Cause::Host,
        Cause::Kernel,
        Cause::OnGpu,
        Cause::Migration,
        Cause::Unknown,
        Cause::Clocks,
        Cause::NotRecorded,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Host => HOST,
            Cause::Kernel => BETWEEN_KERNELS,
            Cause::OnGpu => ON_GPU,
            Cause::Migration => MIGRATION,
            Cause::Unknown => UNKNOWN,
            Cause::Clocks => CLOCKS,
            Cause::NotRecorded => NO_DEVICE_RECORD,
        }
    }

    /// Cause of a gap of `ns` after the launch.
    fn of_launched(ns: i64) -> Cause {
        if ns < KERNEL_WAIT_NS { Cause::Kernel } else { Cause::OnGpu }
    }
}

/// Time in which nothing ran, before `next`. Kept small, since there may be hundreds of thousands.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    /// Indices of the kernels before and after.
    pub previous: u32,
    pub next: u32,
    /// Whether launches without a device record may have run in it.
    pub may_hide_work: bool,
}

/// A gap, or a part of one with a single cause.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    pub gap: Gap,
    pub cause: Cause,
    /// Nanoseconds on the trace's clock.
    pub span: Span,
    /// Whether this is the rest of a gap with a late launch.
    pub is_after_late_launch: bool,
}

impl Stretch {
    /// Nanoseconds.
    pub fn ns(&self) -> i64 {
        self.span.1.saturating_sub(self.span.0)
    }
}

impl Gap {
    /// Nanoseconds on the trace's clock.
    pub fn start(&self, gpu: &GpuTrace<'_>) -> i64 {
        gpu.work[self.previous as usize].end
    }

    /// Nanoseconds on the trace's clock.
    pub fn end(&self, gpu: &GpuTrace<'_>) -> i64 {
        gpu.work[self.next as usize].start
    }

    /// Nanoseconds.
    pub fn ns(&self, gpu: &GpuTrace<'_>) -> i64 {
        self.end(gpu).saturating_sub(self.start(gpu))
    }

    /// Parts of the gap, in order: one, or two if the launch came late. They add up to the gap.
    pub fn stretches(self, gpu: &GpuTrace<'_>) -> impl Iterator<Item = Stretch> + use<> {
        let (start, end) = (self.start(gpu), self.end(gpu));
        let next = &gpu.work[self.next as usize];
        let launch = next.launch;
        let stretch = |cause, span| Stretch { gap: self, cause, span, is_after_late_launch: false };
        let of_launched = |span: Span| stretch(Cause::of_launched(span.1.saturating_sub(span.0)), span);
        let (first, rest) = if self.may_hide_work {
            (stretch(Cause::NotRecorded, (start, end)), None)
        } else if next.is_before_launch {
            (stretch(Cause::Clocks, (start, end)), None)
        } else if gpu.is_migration(next) {
            (stretch(Cause::Migration, (start, end)), None)
        } else if launch == NONE {
            (stretch(Cause::Unknown, (start, end)), None)
        } else if gpu.trace.slices.ts[launch as usize] > start {
            // Up to the end of the call: some calls load code first or wait for space in a queue.
            let launched = gpu.end_of(launch).min(end);
            let rest = Stretch { is_after_late_launch: true, ..of_launched((launched, end)) };
            (stretch(Cause::Host, (start, launched)), (launched < end).then_some(rest))
        } else {
            (of_launched((start, end)), None)
        };
        std::iter::once(first).chain(rest)
    }
}

/// Gaps of each of `n` groups of kernels: between the end of everything before and the next start.
pub fn gaps(gpu: &GpuTrace<'_>, n: usize, group: impl Fn(&Work) -> usize) -> Vec<Vec<Gap>> {
    let mut out: Vec<Vec<Gap>> = vec![Vec::new(); n];
    // Latest end so far, and the kernel that ends there.
    let mut last: Vec<Option<(i64, u32)>> = vec![None; n];
    for (work, next) in gpu.work.iter().zip(0..) {
        let group = group(work);
        if let Some((end, previous)) = last[group]
            && work.start > end
        {
            let device = gpu.streams[work.stream as usize].device;
            let may_hide_work = gpu.may_have_worked(device, &gpu.work[previous as usize], work);
            out[group].push(Gap { previous, next, may_hide_work });
        }
        if last[group].is_none_or(|(end, _)| work.end > end) {
            last[group] = Some((work.end, next));
        }
    }
    out
}

/// Gaps of each GPU, with nothing running on any stream.
pub fn of_devices(gpu: &GpuTrace<'_>) -> Vec<Vec<Gap>> {
    gaps(gpu, gpu.devices.len(), |work| gpu.streams[work.stream as usize].device as usize)
}
