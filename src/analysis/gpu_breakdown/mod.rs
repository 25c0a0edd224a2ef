//! GPU time: total, per step and per phase, and the detail grade of the trace.

mod charts;
mod folded;
mod grade;
mod host_steps;
mod ranges;
mod records;

pub use grade::{ENOUGH, NO_FRAMES_AROUND, WHOLE_FILE};

use super::gpu::advice::Way;
use super::gpu::annotation::Phase;
use super::gpu::captures;
use super::gpu::facts::RunFacts;
use super::gpu::parts::{
    Activity, NOT_RECORDED, OUTSIDE_STEPS, Parts, STEP_EXTENT, StepWindow, step_windows,
};
use super::gpu::spans::Span;
use super::gpu::stats::{self, Durations, SumNs, share};
use super::gpu::steps::NO_STEP;
use super::gpu::{self, GpuTrace, Lack, NamedTrace, Tool};
use super::timeline::{cut, integers, texts, with_left_out};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::hash::{HashMap, HashSet};
use crate::base::units::{Unit, counted, format_ns, group_digits};
use crate::report::{Block, Column, Content, Facts, Report, Table, Value};
use crate::trace::{Run, Trace};
use std::borrow::Cow;

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "gpu-breakdown", title: "GPU time", applies, run, group: Group::Gpu, is_late: false };

/// Tables that findings and exports read.
pub const BREAKDOWN: TableHandle = TableHandle { report: &INFO, id: "breakdown" };
pub const STEPS: TableHandle = TableHandle { report: &INFO, id: "steps" };
pub const HOST_STEPS: TableHandle = TableHandle { report: &INFO, id: "host_steps" };
pub const COVERAGE: TableHandle = TableHandle { report: &INFO, id: "coverage" };
/// Row of [`COVERAGE`] about launches, by its `what`.
pub const LAUNCHES: &str = "launches";

/// Facts of each trace with GPU activity, and among them the number of its steps.
const GPU_TIME: &str = "gpu_time";
const N_STEPS: &str = "steps";

/// Number of steps, from the reports of a run, if there are several. Traces of one run count if each has the same number.
pub fn n_steps(reports: &[Report]) -> Option<u64> {
    let report = reports.iter().find(|report| report.id == INFO.id)?;
    let mut of_traces = report.blocks.iter().filter_map(|block| match block {
        Block::Facts(Facts { facts, .. }) if facts.iter().any(|fact| fact.id == GPU_TIME) => {
            Some(facts.iter().find(|fact| fact.id == N_STEPS).map(|fact| fact.value.clone()))
        }
        _ => None,
    });
    let first = of_traces.next()??;
    match first {
        Value::Unsigned(n_steps)
            if n_steps > 1 && of_traces.all(|it| it == Some(Value::Unsigned(n_steps))) =>
        {
            Some(n_steps)
        }
        _ => None,
    }
}

/// A trace without GPU activity may still have steps and annotations.
fn applies(run: &Run) -> bool {
    has_work(run) || (gpu::applies(run) && run.traces.iter().any(has_ranges))
}

/// Whether any trace has GPU activity.
pub fn has_work(run: &Run) -> bool {
    run.traces.iter().any(|trace| gpu::has_work(trace) || folded::has_work(trace))
}

fn has_ranges(trace: &Trace) -> bool {
    gpu::Kinds::of(trace).has(|kind| kind == gpu::Kind::Annotation)
}

fn run(context: &Context<'_>) -> Report {
    let title = if has_work(context.run) { INFO.title } else { "Steps and annotations" };
    let mut report = Report::new(INFO.id, title);
    NamedTrace::each(context.gpu(), &mut report, |named, report| {
        TraceReport { gpu: named.gpu, named }.add(report)
    });
    for trace in context.run.traces.iter().filter(|trace| folded::has_work(trace)) {
        folded::add(trace, &context.query.kernel_rules, &mut report);
    }
    report
}

/// GPU time of each step of a device, as this report has it. A row for what belongs to no step comes last, if any does.
pub fn times_of_steps(named: &NamedTrace<'_, '_>, device: u32) -> Vec<(StepWindow, Parts)> {
    let activity = Activity::new(named.gpu, device);
    let report = TraceReport { gpu: named.gpu, named };
    activity.window.map_or(Vec::new(), |whole| report.times_of_steps(device, whole, &activity))
}

/// The reports of one trace.
struct TraceReport<'a, 'b> {
    gpu: &'a GpuTrace<'b>,
    named: &'a NamedTrace<'a, 'b>,
}

/// Title of the table of parts.
const BREAKDOWN_TITLE: &str = "Time breakdown";

/// Time of a device, total and per step.
struct DeviceTime {
    label: String,
    parts: Parts,
    steps: Vec<(StepWindow, Parts)>,
}

/// The steps of one phase.
struct PhaseRow<'a> {
    phase: Phase,
    /// Name of the phase; for an unknown one, the step's own word.
    name: &'a str,
    /// However many GPUs work on a step, it is one.
    n_steps: u64,
    n_complete: u64,
    /// GPU times of complete steps on each GPU, in nanoseconds, without those that are cut off unless there are no others.
    times: Durations,
    /// Whether [`PhaseRow::times`] leaves out steps that are cut off.
    leaves_out_cut: bool,
    /// Breakdown of the complete steps, over all GPUs.
    parts: Parts,
    /// Total of all its steps, since annotations count tokens whatever was recorded; `None` if any of them has no count.
    tokens: Option<u64>,
    /// Nanoseconds over all GPUs per token, of the steps of [`PhaseRow::times`].
    per_token: Option<u64>,
}

impl PhaseRow<'_> {
    /// Whether all of its steps have a time.
    fn is_complete(&self) -> bool {
        self.n_complete == self.n_steps
    }
}

/// Parts of the time of all devices.
fn all_parts(devices: &[DeviceTime]) -> Parts {
    let mut all = Parts::default();
    devices.iter().for_each(|device| all.add(&device.parts));
    all
}

/// What is known about launches without a device record.
enum Missing {
    None,
    /// Described in words.
    Some(String),
    /// Launches were dropped, so nothing is known.
    Unknown,
}

/// Time breakdown in a sentence.
fn summary(devices: &[DeviceTime], missing: &Missing) -> String {
    let all = all_parts(devices);
    let Some(busy) = share(all.busy(), all.total) else {
        return "No GPU activity in this trace.".to_string();
    };
    if let (Missing::Some(missing), 1..) = (missing, all.unrecorded) {
        return format!(
            "GPU idle time is unknown: {missing}. Known: {} busy and {} idle of {}.",
            format_ns(all.busy()),
            format_ns(all.idle),
            format_ns(all.total),
        );
    }
    let percent = |ns: i64| stats::percent(share(ns, all.total).unwrap_or(0.0));
    let mut text = match devices {
        [one] => format!("The GPU was busy {:.1}% of {}", 100.0 * busy, format_ns(one.parts.total)),
        _ => format!("{} GPUs were busy {:.1}% of the time", devices.len(), 100.0 * busy),
    };
    text.push_str(&format!(": {} computation", percent(all.computation)));
    // Parts that would show as 0.0% are left out.
    let worth_saying = |ns: i64| ns.saturating_mul(2000) >= all.total;
    for (ns, what) in
        [(all.exposed_communication, "exposed communication"), (all.exposed_copies, "exposed copies")]
    {
        if worth_saying(ns) {
            text.push_str(&format!(", {} {what}", percent(ns)));
        }
    }
    let idle = if matches!(missing, Missing::Unknown) { "idle or not recorded" } else { "idle" };
    text.push_str(&format!("; {idle} {}.", percent(all.idle)));
    match missing {
        // The times say nothing about what isn't recorded.
        Missing::Some(_) => format!("As far as recorded, {}", text.replacen("The GPU", "the GPU", 1)),
        _ => text,
    }
}

/// Adds total GPU time and the busy share.
fn push_times(facts: &mut Facts, devices: &[DeviceTime]) {
    let all = all_parts(devices);
    if !devices.is_empty() {
        facts
            .push(GPU_TIME, "GPU time", all.total, Unit::Ns)
            .hint("first kernel or copy to the end of the last, summed over GPUs");
        facts
            .push("busy", "Busy", share(all.busy(), all.total).filter(|_| all.unrecorded == 0), Unit::Ratio)
            .hint(match all.unrecorded {
                0 => "share of GPU time with anything running",
                _ => "unknown: launches without a device record may have run in the gaps",
            });
    }
}

/// Adds rank and world size, if recorded.
fn push_rank(facts: &mut Facts, of: &RunFacts) {
    if let Some(rank) = of.rank {
        let world = of.world_size.map_or(String::new(), |size| format!(" of {size}"));
        facts.push("rank", "Rank", format!("{rank}{world}"), Unit::None);
    }
}

/// One row per device and part of its time.
fn breakdown(id: impl Into<Cow<'static, str>>, title: String, devices: &[DeviceTime]) -> Table {
    let mut rows: Vec<(String, &str, i64, i64)> = Vec::new();
    for DeviceTime { label, parts, .. } in devices {
        for (part, ns) in [
            ("computation", parts.computation),
            ("exposed communication", parts.exposed_communication),
            ("exposed copies", parts.exposed_copies),
            ("idle", parts.idle),
            (NOT_RECORDED, parts.unrecorded),
        ] {
            if part == NOT_RECORDED && ns == 0 {
                continue;
            }
            rows.push((label.clone(), part, ns, parts.total));
        }
    }
    let table = Table::new(
        id,
        title,
        vec![
            Column::key("device", "GPU", Content::Plain, texts(rows.iter().map(|row| Some(row.0.as_str())))),
            Column::key("part", "part", Content::Plain, texts(rows.iter().map(|row| Some(row.1)))),
            integers("time", "time", Unit::Ns, rows.iter().map(|row| row.2)).with_bar().adds_up(),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                rows.iter().map(|row| share(row.2, row.3)).collect(),
            )
            .hint("of the time from the GPU's first kernel or copy to the end of its last"),
        ],
    );
    let all = all_parts(devices);
    let mut caption = "Parts add up to 100%. Computation (kernels, fills) counts first; communication and copies count only \
                       where nothing is computed."
        .to_string();
    if all.communication > 0 {
        caption.push_str(&format!(
            " Communication took {}, {:.1}% overlapped with compute.",
            format_ns(all.communication),
            100.0 * share(all.hidden_communication, all.communication).unwrap_or(0.0)
        ));
    }
    if all.unrecorded > 0 {
        caption.push_str(" \"Not recorded\" is time in which launches without a device record may have run.");
    }
    if all.copies > all.exposed_copies {
        caption.push_str(&format!(" Copies took {}.", format_ns(all.copies)));
    }
    table.caption(caption)
}

impl TraceReport<'_, '_> {
    fn add(&self, report: &mut Report) {
        let devices = self.devices();
        if devices.is_empty() {
            self.add_without_work(report);
            return;
        }
        let grade = grade::Grade::new(self.gpu);
        let missing = records::missing(self.gpu).map_or(Missing::None, Missing::Some);
        if report.summary.is_empty() {
            let summary = summary(&devices, &missing);
            report.summary = captures::said_first(self.gpu.trace, self.gpu.vendor, summary);
        }
        report.facts(self.facts(&devices, &grade));
        if let Missing::Some(missing) = &missing {
            let hide_idle = all_parts(&devices).unrecorded > 0;
            report.warning(format!("{missing}. {}", records::consequence(hide_idle, self.gpu)));
        }
        records::say_more(self.gpu, report);
        if self.gpu.has_impossible_times() {
            report.warning(
                "This file is damaged: its times span or add up to decades. Sums and differences are capped at 292 years.",
            );
        }
        let strip = charts::strip(self.named, &devices);
        {
            let title = |title: &str| self.named.title(title);
            report.chart(charts::devices(self.named.id("breakdown_chart"), title(charts::DEVICES), &devices));
            report.table(breakdown(self.named.id(BREAKDOWN.id), title(BREAKDOWN_TITLE), &devices));
            if let Some(chart) = strip {
                report.chart(chart);
            }
            if let Some(chart) = charts::steps(self.named, &devices) {
                report.chart(chart);
            }
            if let Some(table) = self.phases(&devices) {
                report.table(table);
            }
            if let Some(table) = self.steps(&devices) {
                report.table(table);
            } else if self.gpu.steps.is_empty() && self.gpu.has_steps_on_gpu() {
                report.info(
                    "Steps are marked on the GPU only, so times cover the whole trace: it doesn't record which kernels belong to a step. \
                     See “User annotations” for the times of steps.",
                );
            } else if self.gpu.steps.is_empty() {
                report.info(format!(
                    "No steps in this trace, so times cover all of it. Annotations such as ProfilerStep#3, \
                     execute_context_…_generation_… or step[DECODE bs=32] mark steps.{}",
                    self.gpu.advice(Lack::Steps)
                ));
            }
        }
        if let Some(table) = host_steps::table(self.named, &self.has_work(&devices)) {
            report.table(table);
        }
        if let Some(table) = ranges::table(self.named) {
            report.table(table);
        }
        report
            .table(grade.table(self.named.id(COVERAGE.id), self.named.title("Data available in this trace")));
        if let Some(facts) = self.setup() {
            report.facts(facts);
        }
    }

    /// Adds steps and annotations, all that this report has for a trace without GPU activity.
    fn add_without_work(&self, report: &mut Report) {
        let gpu = self.gpu;
        let n_steps = gpu.steps.len() as u64;
        if report.summary.is_empty() {
            let steps = if n_steps > 0 { counted(n_steps, "step", "steps") } else { "No steps".to_string() };
            report.summary = format!("{steps}; no GPU activity in this trace.");
        }
        if gpu.trace.links.is_empty() {
            report.info("No GPU activity in this trace: it wasn't recorded, or the program used no GPU.");
        } else {
            let how = match gpu.way(Lack::Work) {
                Way::Do(how) => format!(" {how}."),
                _ => String::new(),
            };
            report.warning(format!("No GPU activity in this trace, though it has GPU calls.{how}"));
        }
        if let Some(chart) = charts::strip(self.named, &[]) {
            report.chart(chart);
        }
        if let Some(table) = host_steps::table(self.named, &self.has_work(&[])) {
            report.table(table);
        }
        if let Some(table) = ranges::table(self.named) {
            report.table(table);
        }
    }

    fn devices(&self) -> Vec<DeviceTime> {
        let of_device = |device: u32| {
            let activity = Activity::new(self.gpu, device);
            let whole = activity.window?;
            let steps = self.times_of_steps(device, whole, &activity);
            Some(DeviceTime { label: self.gpu.device_label(device), parts: activity.parts(whole), steps })
        };
        (0..self.gpu.devices.len() as u32).filter_map(of_device).collect()
    }

    /// Time of each step; activity that belongs to no step is a row of its own at the end.
    fn times_of_steps(&self, device: u32, whole: Span, activity: &Activity) -> Vec<(StepWindow, Parts)> {
        let windows = step_windows(self.gpu, device, whole);
        if windows.is_empty() {
            // Only other GPUs have steps, if any does.
            let has_steps = self.gpu.work.iter().any(|work| self.gpu.step(work.step).is_some());
            let parts = activity.parts(whole);
            let is_complete = parts.unrecorded == 0;
            let all = StepWindow { is_complete, ..StepWindow::whole(OUTSIDE_STEPS, device, whole) };
            return has_steps.then_some((all, parts)).into_iter().collect();
        }
        let Some([inside, outside]) = Activity::in_steps_and_outside(self.gpu, device) else {
            return windows.into_iter().map(|step| (step, activity.parts(step.window))).collect();
        };
        let mut of_none = Parts::default();
        let mut steps = Vec::with_capacity(windows.len() + 1);
        for step in windows {
            // Before the first step there is nothing else.
            let parts = if step.step == NO_STEP {
                activity.parts(step.window)
            } else {
                let [own, others] = inside.parts_beside(&outside, step.window);
                of_none.add(&others);
                own
            };
            steps.push((step, parts));
        }
        if of_none.total > 0 {
            steps.push((StepWindow::whole(OUTSIDE_STEPS, device, whole), of_none));
        }
        steps
    }

    fn facts(&self, devices: &[DeviceTime], grade: &grade::Grade) -> Facts {
        let gpu = self.gpu;
        let mut facts = Facts::new(self.named.title("GPU"));
        push_times(&mut facts, devices);
        facts
            .push("grade", "Trace detail", grade.letter(), Unit::None)
            .hint("A to D; see “Data available in this trace”");
        if !gpu.steps.is_empty() {
            facts
                .push(N_STEPS, "Steps", gpu.steps.len() as u64, Unit::Count)
                .hint("annotations that mark steps");
        }
        let n_kernels = gpu.work.iter().filter(|work| work.kind == gpu::Kind::Kernel).count();
        facts.push("kernels", "Kernels", n_kernels as u64, Unit::Count);
        facts.push("gpu", "Model", self.gpu_names(), Unit::None);
        push_rank(&mut facts, &gpu.facts);
        facts
    }

    /// Models of the GPUs with activity, or the vendor.
    fn gpu_names(&self) -> String {
        let gpu = self.gpu;
        let mut names: Vec<String> = Vec::new();
        for device in &gpu.devices {
            let name = device.number.and_then(|number| gpu.facts.gpu_of(number)).map_or("", |gpu| &gpu.name);
            if !name.is_empty() && !names.iter().any(|known| known == name) {
                names.push(name.to_string());
            }
        }
        match (names.is_empty(), gpu.vendor) {
            (false, _) => names.join(", "),
            (true, gpu::facts::Vendor::Unknown) => "unknown".to_string(),
            (true, vendor) => format!("{} (model not recorded)", vendor.name()),
        }
    }

    /// One row per step and device.
    fn steps(&self, devices: &[DeviceTime]) -> Option<Table> {
        let mut rows: Vec<&(StepWindow, Parts)> = devices.iter().flat_map(|device| &device.steps).collect();
        if rows.is_empty() {
            return None;
        }
        let n_left_out = cut(&mut rows);
        let gpu = self.gpu;
        let start = gpu.trace.span().map_or(0, |(start, _)| start);
        let n_kernels = self.kernels_by_step();
        let step = |row: &(StepWindow, Parts)| gpu.step(row.0.step);
        let is_outside = |work: &gpu::Work, device: u32| {
            gpu.streams[work.stream as usize].device == device && gpu.is_outside_steps(work)
        };
        let name = |row: &&&(StepWindow, Parts)| match step(row) {
            Some(step) => gpu.name(step.slice),
            None if row.0.step == OUTSIDE_STEPS => {
                let is_known = gpu.work.iter().any(|work| is_outside(work, row.0.device));
                if is_known { "(outside steps)" } else { "(step unknown)" }
            }
            None => "(before the first step)",
        };
        // Unrecorded activity would be missing from these numbers, so they are left out.
        let own = |get: fn(&Parts) -> i64| {
            rows.iter().map(move |row| (row.0.n_missing == 0).then(|| get(&row.1))).collect::<Vec<_>>()
        };
        let whole = |get: fn(&Parts) -> i64| {
            rows.iter().map(move |row| row.0.is_complete.then(|| get(&row.1))).collect::<Vec<_>>()
        };
        let any_missing = rows.iter().any(|row| !row.0.is_complete);
        let mut table = Table::new(
            self.named.id(STEPS.id),
            self.named.title("Steps"),
            vec![
                Column::key(
                    "device",
                    "GPU", Content::Plain,
                    texts(rows.iter().map(|row| Some(gpu.device_label(row.0.device)))),
                ),
                Column::key("step", "step", Content::Plain, texts(rows.iter().map(|row| Some(name(&row))))),
                Column::text(
                    "phase",
                    "phase", Content::Plain,
                    texts(rows.iter().map(|row| step(row).map(|step| step.phase(gpu.trace)))),
                ),
                Column::unsigned(
                    "tokens",
                    "tokens",
                    Unit::Count,
                    rows.iter().map(|row| step(row)?.what.tokens()).collect(),
                )
                .hint("prompt tokens and generated tokens, from the annotation"),
                Column::integer(
                    "start",
                    "GPU start",
                    Unit::NsOffset,
                    rows.iter().map(|row| row.0.start().map(|at| at.saturating_sub(start))).collect(),
                ),
                Column::integer("gpu_time", "GPU time", Unit::Ns, whole(|parts| parts.total))
                    .with_bar()
                    .hint("from the start of the step on the GPU to that of the next step, excluding time when only kernels \
                           launched outside steps ran"),
                Column::integer("computation", "computation", Unit::Ns, own(|parts| parts.computation)),
                Column::integer(
                    "exposed_communication",
                    "exposed comm.",
                    Unit::Ns,
                    own(|parts| parts.exposed_communication),
                ),
                Column::integer(
                    "exposed_copies",
                    "exposed copies",
                    Unit::Ns,
                    own(|parts| parts.exposed_copies),
                ),
                Column::integer("idle", "idle", Unit::Ns, whole(|parts| parts.idle)),
                Column::integer(
                    "cpu_time",
                    "CPU time",
                    Unit::Ns,
                    rows.iter()
                        .map(|row| step(row).and_then(|step| gpu.steps.cpu_ns(step)))
                        .collect(),
                )
                .hint("duration of the annotation on the CPU"),
                Column::unsigned(
                    "kernels",
                    "kernels",
                    Unit::Count,
                    rows.iter()
                        .map(|row| {
                            let key = (row.0.device, row.0.step);
                            step(row).map(|_| n_kernels.get(&key).copied().unwrap_or(0))
                        })
                        .collect(),
                )
                .hint("launched in the step"),
            ],
        );
        if any_missing {
            table.columns.push(
                Column::counts(
                    "missing",
                    "missing launches",
                    Unit::Count,
                    rows.iter().map(|row| row.0.n_missing),
                )
                .hint("kernel and graph launches in the step without a device record; affected times are left out"),
            );
        }
        let mut caption = format!(
            "A kernel or copy belongs to the step that launched it. {STEP_EXTENT}, so steps add up to the total. Excludes time when \
             only kernels launched outside steps ran."
        );
        match gpu.n_of_unknown_step() {
            0 => {}
            n => caption.push_str(&format!(
                " Kernels and copies whose launch is unknown ({}) count in the step in which they run.",
                group_digits(i128::from(n))
            )),
        }
        Some(with_left_out(table.caption(caption), n_left_out))
    }

    /// Whether each step has GPU activity.
    fn has_work(&self, devices: &[DeviceTime]) -> Vec<bool> {
        let mut has_work = vec![false; self.gpu.steps.len()];
        for (window, _) in devices.iter().flat_map(|device| &device.steps) {
            if let Some(has) = has_work.get_mut(window.step as usize) {
                *has = true;
            }
        }
        has_work
    }

    fn kernels_by_step(&self) -> HashMap<(u32, u32), u64> {
        let mut n_kernels = HashMap::default();
        for work in self.gpu.work.iter().filter(|work| work.kind == gpu::Kind::Kernel) {
            let device = self.gpu.streams[work.stream as usize].device;
            *n_kernels.entry((device, work.step)).or_default() += 1;
        }
        n_kernels
    }

    /// One row per phase, if annotations name phases.
    fn phases(&self, devices: &[DeviceTime]) -> Option<Table> {
        let gpu = self.gpu;
        let mut rows: Vec<PhaseRow<'_>> = Vec::new();
        let of_step = |window: &StepWindow| Some((gpu.step(window.step)?, gpu.annotation(window.step)?));
        // Unknown phase names are phases of their own.
        let mut phases: Vec<(Phase, &str)> =
            Phase::ALL.into_iter().map(|phase| (phase, phase.name())).collect();
        for (step, what) in devices.iter().flat_map(|device| &device.steps).filter_map(|(at, _)| of_step(at))
        {
            let phase = (what.phase, step.phase(gpu.trace));
            if !phases.contains(&phase) {
                phases.push(phase);
            }
        }
        for (phase, name) in phases {
            let of_phase: Vec<(&StepWindow, &Parts, Option<u64>)> = (devices.iter())
                .flat_map(|device| &device.steps)
                .filter_map(|(window, parts)| {
                    let (step, what) = of_step(window)?;
                    (what.phase == phase && step.phase(gpu.trace) == name).then_some((
                        window,
                        parts,
                        what.tokens(),
                    ))
                })
                .collect();
            if of_phase.is_empty() {
                continue;
            }
            let steps = |windows: &[(&StepWindow, &Parts, Option<u64>)]| -> HashMap<u32, Option<u64>> {
                windows.iter().map(|(window, _, tokens)| (window.step, *tokens)).collect()
            };
            // A partial token count would overstate the time per token.
            let tokens_of = |steps: &HashMap<u32, Option<u64>>| {
                let add = |sum: u64, tokens: &Option<u64>| Some(sum.saturating_add((*tokens)?));
                steps.values().try_fold(0, add).filter(|tokens| *tokens > 0)
            };
            let incomplete: HashSet<u32> = (of_phase.iter())
                .filter(|(window, ..)| !window.is_complete)
                .map(|(window, ..)| window.step)
                .collect();
            let mut complete = of_phase.clone();
            complete.retain(|(window, ..)| !incomplete.contains(&window.step));
            let mut parts = Parts::default();
            complete.iter().for_each(|(_, of_step, _)| parts.add(of_step));
            let cut: HashSet<u32> = (complete.iter())
                .filter(|(window, ..)| window.is_cut)
                .map(|(window, ..)| window.step)
                .collect();
            let mut whole = complete.clone();
            whole.retain(|(window, ..)| !window.is_cut);
            let leaves_out_cut = !whole.is_empty() && whole.len() < complete.len();
            let timed = if whole.is_empty() { &complete } else { &whole };
            let times = Durations::new(timed.iter().map(|(_, parts, _)| parts.total).collect());
            // The tokens of a step are those of all of its GPUs.
            let mut with_tokens = complete.clone();
            with_tokens.retain(|(window, ..)| !cut.contains(&window.step));
            let with_tokens = if with_tokens.is_empty() { &complete } else { &with_tokens };
            let of_tokens = with_tokens.iter().map(|(_, parts, _)| parts.total).sum_ns();
            let per_token = tokens_of(&steps(with_tokens)).map(|tokens| of_tokens as u64 / tokens);
            rows.push(PhaseRow {
                phase,
                name,
                n_steps: steps(&of_phase).len() as u64,
                n_complete: steps(&complete).len() as u64,
                times,
                leaves_out_cut,
                parts,
                tokens: tokens_of(&steps(&of_phase)),
                per_token,
            });
        }
        let any_missing = rows.iter().any(|row| !row.is_complete());
        if rows.iter().all(|row| row.n_steps < 2 && row.phase == Phase::Unknown) {
            return None;
        }
        let time =
            |get: fn(&Durations) -> Option<i64>| rows.iter().map(|row| get(&row.times)).collect::<Vec<_>>();
        let part = |get: fn(&Parts) -> i64| {
            rows.iter().map(|row| share(get(&row.parts), row.parts.total)).collect::<Vec<_>>()
        };
        let mut table = Table::new(
            self.named.id("phases"),
            self.named.title("Phases"),
            vec![
                Column::key("phase", "phase", Content::Plain, texts(rows.iter().map(|row| Some(row.name)))),
                Column::counts("steps", "steps", Unit::Count, rows.iter().map(|row| row.n_steps)),
                Column::integer(
                    "gpu_time",
                    "GPU time",
                    Unit::Ns,
                    rows.iter().map(|row| row.is_complete().then_some(row.parts.total)).collect(),
                )
                .with_bar(),
                Column::integer("mean", "mean step", Unit::Ns, time(|times| times.mean())),
                Column::integer("p50", "p50", Unit::Ns, time(|times| times.quantile(0.5))),
                Column::integer("p99", "p99", Unit::Ns, time(|times| times.quantile(0.99))),
                Column::float("computation", "computation", Unit::Ratio, part(|parts| parts.computation)),
                Column::float(
                    "exposed_communication",
                    "exposed comm.",
                    Unit::Ratio,
                    part(|parts| parts.exposed_communication),
                ),
                Column::float(
                    "exposed_copies",
                    "exposed copies",
                    Unit::Ratio,
                    part(|parts| parts.exposed_copies),
                ),
                Column::float("idle", "idle", Unit::Ratio, part(|parts| parts.idle)),
                Column::unsigned(
                    "tokens",
                    "tokens",
                    Unit::Count,
                    rows.iter().map(|row| row.tokens).collect(),
                ),
                Column::unsigned(
                    "per_token",
                    "GPU time per token",
                    Unit::Ns,
                    rows.iter().map(|row| row.per_token).collect(),
                )
                .hint("GPU time summed over GPUs, divided by the tokens of the steps"),
            ],
        );
        if any_missing {
            table.columns.push(
                Column::counts(
                    "complete",
                    "complete steps",
                    Unit::Count,
                    rows.iter().map(|row| row.n_complete),
                )
                .hint(
                    "steps whose launches all have device records; means, percentiles and shares cover these only",
                ),
            );
        }
        let last = match rows.iter().any(|row| row.leaves_out_cut) {
            true => {
                "The last one of a GPU ends with its last kernel or copy: it counts in GPU time and shares, but not in mean, p50, \
                 p99 and time per token."
            }
            false => "The last one of a GPU ends with its last kernel or copy, so it lacks idle time.",
        };
        let mut caption = format!(
            "A step lasts until the GPU starts the next one. {last} p50 and p99 are GPU times of single steps."
        );
        let processes: HashSet<_> = gpu.steps.steps.iter().filter_map(|step| step.process).collect();
        if rows.iter().any(|row| row.tokens.is_some()) && processes.len() > 1 {
            caption.push_str(&format!(
                " Each of {} processes counts its own steps and tokens. Processes that share steps, as with tensor parallelism, count \
                 the same tokens: divide tokens by the number of these processes, and multiply GPU time per token by it.",
                processes.len()
            ));
        }
        Some(table.caption(caption))
    }

    /// Versions and options.
    fn setup(&self) -> Option<Facts> {
        let gpu = self.gpu;
        let mut facts = Facts::new(self.named.title("Setup"));
        facts.push("vendor", "Vendor", gpu.vendor.name(), Unit::None);
        if !gpu.facts.gpus.is_empty() {
            facts
                .push("gpus", "GPUs in host", gpu.facts.gpus.len() as u64, Unit::Count)
                .hint("listed by the profiler, used or not");
            let used = || gpu.devices.iter().map(|device| device.number);
            if let Some(bytes) = gpu.facts.common(used(), |gpu| gpu.memory_bytes) {
                facts.push("gpu_memory", "Memory per GPU", bytes, Unit::Bytes);
            }
            if let Some(n) = gpu.facts.common(used(), |gpu| gpu.n_sms) {
                let words = gpu.vendor.words();
                facts.push("sms", &format!("{}s per GPU", words.unit), n, Unit::Count).hint(words.full);
            }
        }
        for (label, value) in &gpu.facts.versions {
            let id = label.to_lowercase().replace(' ', "_");
            facts.push(&id, label, value.clone(), Unit::None);
        }
        if let Some(backend) = &gpu.facts.backend {
            facts.push("backend", "Backend", backend.clone(), Unit::None).hint("torch.distributed backend");
        }
        if let Some(version) = &gpu.facts.nccl_version {
            facts.push("nccl", "NCCL", version.clone(), Unit::None);
        }
        let options =
            if gpu.facts.options.is_empty() { "none".to_string() } else { gpu.facts.options.join(", ") };
        // Other tools write no such options.
        if Tool::of(gpu.trace) == Tool::PyTorch {
            facts.push("options", "Profiler options", options, Unit::None);
        }
        if gpu.steps.n_captures > 0 {
            let n = counted(gpu.steps.n_captures as u64, "annotation", "annotations");
            facts.push("captures", "Graph captures", n, Unit::None).hint("not counted as steps");
        }
        Some(facts)
    }
}
