//! Comparison of GPU activity: time, then operations and kernels, per step of a phase, with a significance test.
//!
//! Table sums are exact and cover everything that ran. Numbers per step are means over the steps of the same phase, counted per GPU,
//! without the last step of each GPU: nothing follows it, so its idle time is unknown. If the sides have no phase in common, whole
//! traces are compared.

mod charts;
mod findings;
mod kernels;
mod notes;
pub mod sequence;
pub mod side;
mod steps;
mod words;

use super::{CompareQuery, Comparison, Digest, Measure, PhaseFilter, Problem, percent};
use crate::analysis::gpu::Tool;
use crate::analysis::gpu::stats::SumNs;
use crate::base::sort;
use crate::base::units::{Unit, counted, format_ns};
use crate::compare::noise::{MIN_SHARE, OfStep, Sample, Verdict, band, verdict};
use crate::report::{Facts, Report, Value};
use sequence::AlignedStep;
use side::{GpuSide, Slot, Stretch};
use std::borrow::Cow;
use std::cell::OnceCell;

/// Id of the GPU comparison report.
pub(super) const REPORT: &str = "compare-gpu";

/// Both sides, and the phases that are compared.
pub(super) struct Pair<'a> {
    pub a: Cow<'a, GpuSide>,
    pub b: Cow<'a, GpuSide>,
    /// File names.
    pub labels: [String; 2],
    /// The tool that wrote each side; [`Tool::Other`] if there are several.
    pub tools: [Tool; 2],
    /// Phases with activity or steps on either side that pass the filter; the one with the most time on both sides first.
    pub slots: Vec<Slot>,
    /// See [`Pair::main`].
    main: Option<Slot>,
    /// Whether whole traces are compared because the sides have no step kind in common.
    pub is_made_whole: bool,
    /// Whether idle time is left out on both sides because a side has missing device records. Time is then busy time.
    is_busy_only: bool,
    /// Phases for which the same holds because no step of one side, but of the other, has an end: [`GpuSide::is_endless`].
    pub endless: Vec<Slot>,
    pub filter: PhaseFilter,
    /// See [`Pair::operation_rows`].
    operation_rows: OnceCell<Vec<steps::Row>>,
}

/// The tool that wrote a side; [`Tool::Other`] if there are several.
fn tool_of(digest: &Digest) -> Tool {
    let producer =
        |facts: &Facts| match facts.facts.iter().find(|fact| fact.id == "producer").map(|fact| &fact.value) {
            Some(Value::Text(text)) => text.clone(),
            _ => String::new(),
        };
    let [format] = &digest.formats[..] else { return Tool::Other };
    let mut tools = digest.source.iter().map(|facts| Tool::of_format(format, &producer(facts)));
    let first = tools.next().unwrap_or(Tool::Other);
    if tools.all(|tool| tool == first) { first } else { Tool::Other }
}

impl<'a> Pair<'a> {
    fn new(a: &'a Digest, b: &'a Digest, filter: PhaseFilter) -> Result<Pair<'a>, Problem> {
        let side = |digest: &'a Digest| match &digest.gpu {
            Some(side) => Cow::Borrowed(side),
            None => Cow::Owned(GpuSide::default()),
        };
        let (mut a_side, mut b_side) = (side(a), side(b));
        let (in_a, in_b) = (a_side.slots(), b_side.slots());
        let mut is_made_whole = false;
        if filter == PhaseFilter::All {
            let common = in_a.iter().any(|slot| *slot != Slot::Outside && in_b.contains(slot));
            if !common && !in_a.is_empty() && !in_b.is_empty() {
                (a_side, b_side) = (Cow::Owned(a_side.as_a_whole()), Cow::Owned(b_side.as_a_whole()));
                is_made_whole = true;
            }
        } else if !in_a.iter().chain(&in_b).any(|slot| slot.passes(filter)) {
            let names = |slots: &[Slot]| match slots {
                [] => "none".to_string(),
                slots => slots.iter().map(|slot| slot.name()).collect::<Vec<_>>().join(", "),
            };
            let wanted = if filter == PhaseFilter::Prefill { Slot::Prefill } else { Slot::Decode };
            return Err(Problem::NoSuchPhase(wanted.name(), names(&in_a), names(&in_b)));
        }
        let is_busy_only = a_side.is_busy_only || b_side.is_busy_only;
        let is_unlike = |slot: &Slot| {
            let [n_a, n_b] = [&a_side, &b_side].map(|side| side.of_slot(*slot).count());
            n_a > 0 && n_b > 0 && a_side.is_endless(*slot) != b_side.is_endless(*slot)
        };
        let endless: Vec<Slot> = a_side.slots().into_iter().filter(is_unlike).collect();
        if is_busy_only || !endless.is_empty() {
            let is_in = |slot: Slot| is_busy_only || endless.contains(&slot);
            (a_side, b_side) = (Cow::Owned(a_side.busy_only(is_in)), Cow::Owned(b_side.busy_only(is_in)));
        }
        let mut pair = Pair {
            a: a_side,
            b: b_side,
            labels: [a.label(), b.label()],
            tools: [a, b].map(tool_of),
            slots: Vec::new(),
            main: None,
            is_made_whole,
            is_busy_only,
            endless,
            filter,
            operation_rows: OnceCell::new(),
        };
        let mut slots: Vec<Slot> = pair.a.slots().into_iter().chain(pair.b.slots()).collect();
        sort::by(&mut slots, Ord::cmp);
        slots.dedup();
        slots.retain(|slot| slot.passes(filter));
        sort::by_key(&mut slots, |slot| {
            let is_common = pair.n(0, *slot) > 0 && pair.n(1, *slot) > 0;
            let wall: i64 =
                [0, 1].iter().map(|side| pair.sum(*side, *slot, |stretch| stretch.time.wall())).sum_ns();
            (*slot == Slot::Outside, !is_common, std::cmp::Reverse(wall), *slot)
        });
        pair.slots = slots;
        pair.main = pair.find_main();
        Ok(pair)
    }

    /// A side by index: 0 is A.
    pub fn side(&self, number: usize) -> &GpuSide {
        if number == 0 { &self.a } else { &self.b }
    }

    /// Whether idle time of a phase is left out, so that time is busy time.
    pub fn is_busy_only(&self, slot: Slot) -> bool {
        self.is_busy_only || self.endless.contains(&slot)
    }

    /// Number of steps of a phase on a side.
    pub fn n(&self, side: usize, slot: Slot) -> usize {
        self.side(side).of_slot(slot).count()
    }

    /// Sum over the steps of a phase.
    pub fn sum(&self, side: usize, slot: Slot, get: impl Fn(&Stretch) -> i64) -> i64 {
        self.side(side).of_slot(slot).map(get).sum_ns()
    }

    /// Samples of one number per step, for both sides, over [`whole`] steps.
    pub fn samples(&self, slot: Slot, get: impl Fn(usize, &Stretch) -> i64) -> [Sample; 2] {
        samples_of([0, 1].map(|side| self.side(side).of_slot(slot)), get)
    }

    /// Samples of durations of steps, for both sides.
    pub fn durations(&self, slot: Slot) -> [Sample; 2] {
        self.samples(slot, |_, stretch| stretch.time.wall())
    }

    /// The phase that headlines, the largest changes and measures are of: of the phases on both sides the one with the most time, or, if
    /// that did not change, the next that changed significantly.
    pub fn main(&self) -> Option<Slot> {
        self.main
    }

    /// Phases on both sides, the one with the most time first.
    fn common(&self) -> impl Iterator<Item = Slot> {
        let is_common =
            move |slot: &Slot| *slot != Slot::Outside && self.n(0, *slot) > 0 && self.n(1, *slot) > 0;
        self.slots.iter().copied().filter(is_common)
    }

    fn find_main(&self) -> Option<Slot> {
        let first = self.common().next()?;
        // What a few steps of another phase took must not exceed a budget.
        let changed = || self.common().find(|slot| self.is_changed(*slot) && self.is_tested(*slot));
        if self.is_changed(first) { Some(first) } else { changed().or(Some(first)) }
    }

    /// Whether steps of a phase take significantly more or less time; by more than 1% with too few to test that.
    pub fn is_changed(&self, slot: Slot) -> bool {
        let [a, b] = self.durations(slot);
        verdict(&a, &b) != Verdict::Noise && (b.mean - a.mean).abs() > MIN_SHARE * a.mean.max(b.mean)
    }

    /// Whether a phase has enough steps to tell changes from noise.
    pub fn is_tested(&self, slot: Slot) -> bool {
        let [a, b] = self.durations(slot);
        band(&a, &b).is_some()
    }

    /// Phases besides the main one that changed, in time or in parts that make up for each other.
    pub fn also_changed(&self) -> impl Iterator<Item = Slot> {
        let is_other = move |slot: &Slot| Some(*slot) != self.main;
        self.common()
            .filter(is_other)
            .filter(|slot| self.is_changed(*slot) || words::has_changed_parts(self, *slot))
    }

    /// Operations of all phases, made once: tables, charts and texts need them.
    pub fn operation_rows(&self) -> &[steps::Row] {
        self.operation_rows.get_or_init(|| kernels::operation_rows(self))
    }

    /// Names of the operations of both sides.
    pub fn operations(&self) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.a.operations.iter().chain(&self.b.operations).map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Time and count of an operation in a step of a side.
    pub fn of_operation(&self, side: usize, stretch: &Stretch, operation: &str) -> (i64, u64) {
        let operations = &self.side(side).operations;
        let found = stretch
            .by_operation
            .iter()
            .find(|(number, ..)| operations.get(*number as usize).is_some_and(|name| name == operation));
        found.map_or((0, 0), |(_, ns, n)| (*ns, *n))
    }
}

/// Samples of one number per step of both sides, over [`whole`] steps.
fn samples_of<'s>(
    steps: [impl Iterator<Item = &'s Stretch> + Clone; 2],
    get: impl Fn(usize, &Stretch) -> i64,
) -> [Sample; 2] {
    let mut side = 0..2;
    Sample::of_kinds(steps.map(|steps| {
        let side = side.next().unwrap_or(0);
        let of = |step: &'s Stretch| OfStep {
            kind: step.kind(),
            gpu: step.device,
            is_cut: step.is_cut,
            value: get(side, step),
        };
        steps.map(of).collect()
    }))
}

/// `total / n`, rounded to the nearest nanosecond; `None` if `n` is 0.
pub(super) fn per_step(total: i64, n: usize) -> Option<i64> {
    let n = i128::try_from(n).ok().filter(|n| *n > 0)?;
    let total = i128::from(total);
    Some(super::narrow((2 * total + total.signum() * n) / (2 * n)))
}

/// The aligned steps of A and B. Empty without steps on both sides, and if a side has several files, whose clocks differ.
pub fn aligned_steps(a: &Digest, b: &Digest, filter: PhaseFilter) -> Vec<AlignedStep> {
    if a.files.len() != 1 || b.files.len() != 1 {
        return Vec::new();
    }
    Pair::new(a, b, filter).map_or_else(|_| Vec::new(), |pair| sequence::aligned_steps(&pair))
}

/// Adds the GPU reports, and measures for performance budgets.
pub(super) fn compare(
    a: &Digest,
    b: &Digest,
    query: &CompareQuery,
    comparison: &mut Comparison,
) -> Result<(), Problem> {
    let pair = Pair::new(a, b, query.phase)?;
    let mut report = Report::new(REPORT, "What changed");
    report.summary = words::headline(&pair);
    let also_changed: Vec<Slot> = pair.also_changed().collect();
    if let Some(slot) = pair.main() {
        let (findings, chart) = words::answer(&pair, slot);
        // Without changes it is left out where another phase has some.
        if !findings.findings.is_empty() || also_changed.is_empty() {
            report.findings(findings);
            report.chart(chart);
        }
    }
    for slot in also_changed {
        report.findings(words::answer(&pair, slot).0);
    }
    // What is good to know comes behind the answer, and what limits it before.
    notes::add(&pair, &mut report);
    report.lead_with_warnings();
    for side in [0, 1] {
        report.facts(facts(&pair, side));
    }
    report.table(steps::parts(&pair));
    report.chart(charts::operations(&pair));
    report.table(kernels::operations(&pair));
    report.table(kernels::names(&pair));
    report.table(kernels::same(&pair));
    report.table(steps::phases(&pair));
    if let Some(chart) = charts::spread(&pair) {
        report.chart(chart);
    }
    if let Some(table) = steps::by_tokens(&pair) {
        report.table(table);
    }
    if let Some(table) = steps::layers(&pair) {
        report.table(table);
    }
    comparison.reports.push(report);
    if let Some(report) = sequence::report(&pair) {
        comparison.reports.push(report);
    }
    measures(&pair, &mut comparison.measures);
    Ok(())
}

/// Facts on a step of the main phase on a side.
fn facts(pair: &Pair<'_>, number: usize) -> Facts {
    let side = pair.side(number);
    let letter = if number == 0 { "A" } else { "B" };
    let mut facts = Facts::new(format!("{letter}: {}", pair.labels[number]));
    if let Some(slot) = pair.main() {
        let mean = |get: fn(&Stretch) -> i64| {
            Some(pair.samples(slot, |_, stretch| get(stretch))[number].mean.round() as i64)
        };
        let per = format!("per {}", slot.one());
        for (id, label, get) in [
            ("wall", "Wall time", (|stretch| stretch.time.wall()) as fn(&Stretch) -> i64),
            ("busy", "Busy", |stretch| stretch.time.busy()),
            ("idle", "Idle", |stretch| stretch.time.idle),
            ("exposed_communication", "Exposed communication", |stretch| stretch.time.exposed_communication),
        ] {
            let is_known = !pair.is_busy_only(slot) || !matches!(id, "wall" | "idle");
            facts.push(id, &format!("{label} {per}"), mean(get).filter(|_| is_known), Unit::Ns);
        }
        let launches = pair.samples(slot, |_, stretch| stretch.launches() as i64)[number];
        facts
            .push("launches", &format!("Launches {per}"), launches.mean, Unit::Plain)
            .hint("kernels, copies and fills");
        let left_out = match launches.n < pair.n(number, slot) {
            true => ", without the last step of each GPU: it has no end",
            false => "",
        };
        facts
            .push("steps", "Samples", launches.n as u64, Unit::Count)
            .hint(format!("one per {}{left_out}", slot.one()));
    }
    facts
        .push("work", "Kernel time, total", side.work(pair.filter), Unit::Ns)
        .hint("total duration of kernels, copies and fills");
    let gpus = if side.gpus.is_empty() { "no GPU".to_string() } else { side.gpus.clone() };
    facts.push("gpus", "GPU", gpus, Unit::None);
    facts.push("devices", "GPUs in use", u64::from(side.n_devices), Unit::Count);
    facts
}

/// Measures for performance budgets that every GPU trace has.
pub const MEASURES: &[(&str, &str)] = &[
    (
        "gpu.per_step",
        "wall time per step of the phase with the most time, or of the next that changed if it did not",
    ),
    ("gpu.busy", "busy time per step"),
    ("gpu.idle", "idle time per step"),
    ("gpu.computation", "computation per step"),
    ("gpu.exposed_communication", "exposed communication per step"),
    ("gpu.exposed_copies", "exposed copies per step"),
    ("gpu.work", "total duration of kernels, copies and fills per step"),
    ("gpu.launches", "kernels, copies and fills per step"),
];

/// Whether GPU comparisons have such a metric, if both sides have data for it.
pub(super) fn is_metric(id: &str) -> bool {
    let mut phases =
        [Slot::Prefill, Slot::Decode, Slot::Mixed, Slot::Idle, Slot::Step, Slot::Whole].into_iter();
    MEASURES.iter().any(|(known, _)| *known == id) || phases.any(|slot| metric_of(slot) == id)
}

/// The wall time per step of a phase.
fn metric_of(slot: Slot) -> String {
    format!("gpu.{}", slot.name().replace(' ', "_"))
}

/// Adds the measures of one side, as both A and B; none without a GPU.
pub(super) fn add_measures_of(side: &Digest, out: &mut Vec<Measure>) {
    // Only the measures: no tables are joined and no steps aligned.
    if let (Some(_), Ok(pair)) = (&side.gpu, Pair::new(side, side, PhaseFilter::default())) {
        measures(&pair, out);
    }
}

fn measures(pair: &Pair<'_>, out: &mut Vec<Measure>) {
    let mut push = |id: String, what: String, unit: Unit, samples: [Sample; 2]| {
        let [a, b] = samples;
        out.push(Measure { id, what, unit, a: a.mean, b: b.mean, noise: band(&a, &b) });
    };
    // A budget is always for the same phase, but for the time of a step, whichever kind changed.
    let (Some(main), Some(slot)) = (pair.main(), pair.common().next()) else { return };
    let is_known = |id: &str| match id {
        "gpu.per_step" => !pair.is_busy_only(main),
        "gpu.idle" => !pair.is_busy_only(slot),
        _ => true,
    };
    for (id, what) in MEASURES.iter().filter(|(id, _)| is_known(id)) {
        let get = |stretch: &Stretch| match *id {
            "gpu.per_step" => stretch.time.wall(),
            "gpu.busy" => stretch.time.busy(),
            "gpu.idle" => stretch.time.idle,
            "gpu.computation" => stretch.time.computation,
            "gpu.exposed_communication" => stretch.time.exposed_communication,
            "gpu.exposed_copies" => stretch.time.exposed_copies,
            "gpu.work" => stretch.work(),
            _ => stretch.launches() as i64,
        };
        let unit = if *id == "gpu.launches" { Unit::Plain } else { Unit::Ns };
        let of = if *id == "gpu.per_step" { main } else { slot };
        push((*id).to_string(), (*what).to_string(), unit, pair.samples(of, |_, stretch| get(stretch)));
    }
    let on_both = |slot: &&Slot| pair.n(0, **slot) > 0 && pair.n(1, **slot) > 0;
    for slot in pair.slots.iter().filter(on_both).filter(|slot| !pair.is_busy_only(**slot)) {
        let what = format!("wall time per {}", slot.one());
        push(metric_of(*slot), what, Unit::Ns, pair.durations(*slot));
    }
    for operation in pair.operations() {
        let id = format!("gpu.op.{}", operation.replace(' ', "_"));
        let what = format!("{operation}, time per {}", slot.one());
        let get = |side: usize, stretch: &Stretch| pair.of_operation(side, stretch, operation).0;
        push(id, what, Unit::Ns, pair.samples(slot, get));
    }
}

/// `12.3 ms per decode step in A, 9.4 ms in B`.
fn per_step_words(slot: Slot, a: &Sample, b: &Sample) -> String {
    format!(
        "{} per {} in A, {} in B",
        format_ns(a.mean.round() as i64),
        slot.one(),
        format_ns(b.mean.round() as i64)
    )
}

/// `B takes 31.0% less time per decode step`.
fn faster(slot: Slot, a: &Sample, b: &Sample) -> String {
    if a.mean == 0.0 || b.mean == 0.0 {
        return format!("{} per {}", percent(a.mean, b.mean), slot.one());
    }
    if b.mean >= 2.0 * a.mean {
        return format!("B takes {:.2}× as long per {}", b.mean / a.mean, slot.one());
    }
    let change = 100.0 * (b.mean - a.mean) / a.mean;
    if change.abs() < 0.05 {
        return format!("B takes as long as A per {}", slot.one());
    }
    let word = if change < 0.0 { "less" } else { "more" };
    format!("B takes {:.1}% {word} time per {}", change.abs(), slot.one())
}

fn steps_words(n: usize) -> String {
    counted(n as u64, "step", "steps")
}
