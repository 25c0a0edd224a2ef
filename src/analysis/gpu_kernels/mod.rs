//! Kernels by operation, name and phase.

mod by_step;
mod charts;
mod configurations;
mod counters;
mod folded;

use super::gpu::active::{ActiveSteps, PHASES, per_step};
use super::gpu::alone::{Role, each_alone};
use super::gpu::annotation::Phase;
use super::gpu::facts::Vendor;
use super::gpu::stats::{self, Durations, SumNs, share};
use super::gpu::{self, Class, GpuTrace, Kind, NamedTrace, Work, kernel_names};
use super::timeline::{cut, integers, texts, with_left_out};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::text::{IN_A_SENTENCE, cut_in_middle, visible};
use crate::base::units::{Unit, format_ns};
use crate::gpu::kernels::OTHER;
use crate::gpu::reference::{self, Platform};
use crate::report::{Column, Content, Facts, Report, Table};
use crate::trace::Run;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-kernels",
    title: "Kernels",
    applies: has_work_or_counters,
    run,
    group: Group::Gpu,
    is_late: true,
};

/// Tables that findings read.
pub const OPERATIONS: TableHandle = TableHandle { report: &INFO, id: "operations" };
pub const KERNELS: TableHandle = TableHandle { report: &INFO, id: "kernels" };
pub const CONFIGURATIONS: TableHandle = TableHandle { report: &INFO, id: "configurations" };

/// Whether any trace has GPU activity.
pub fn applies(run: &Run) -> bool {
    run.traces.iter().any(gpu::has_work)
}

/// Whether any trace has GPU activity, kernel counters (recorded instead of times), or sums of dropped kernels.
fn has_work_or_counters(run: &Run) -> bool {
    applies(run)
        || run.traces.iter().any(folded::has_work)
        || (gpu::applies(run) && run.traces.iter().any(counters::are_in))
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    if let Some(first) = context.gpu().first() {
        for problem in &first.classes.problems {
            report.warning(format!("Custom kernel rules ignored: {problem}"));
        }
    }
    NamedTrace::each(context.gpu(), &mut report, |named, report| add(named, report));
    if let Some(summary) = summary_of_all(context.gpu()) {
        report.summary = summary;
    }
    for trace in context.run.traces.iter().filter(|trace| folded::has_work(trace)) {
        folded::add(trace, &context.query.kernel_rules, &mut report);
    }
    report
}

/// Durations of one name.
struct NameSums<'a> {
    name: StringId,
    class: &'a Class,
    is_kernel: bool,
    durations: Durations,
}

fn add(named: &NamedTrace<'_, '_>, report: &mut Report) {
    let gpu = named.gpu;
    if let Some(table) = counters::table(named, report) {
        report.table(table);
    }
    if gpu.work.is_empty() {
        return;
    }
    let steps = ActiveSteps::new(gpu);
    let mut by_name: HashMap<(StringId, u32, bool), Vec<i64>> = HashMap::default();
    for work in &gpu.work {
        let name = gpu.trace.slices.name[work.slice as usize];
        by_name.entry((name, work.class, work.kind == Kind::Kernel)).or_default().push(work.dur());
    }
    let mut sums: Vec<NameSums<'_>> = by_name
        .into_iter()
        .map(|((name, class, is_kernel), durations)| NameSums {
            name,
            is_kernel,
            class: gpu.classes.get(class),
            durations: Durations::new(durations),
        })
        .collect();
    let text = |name: StringId| gpu.trace.strings.get_opt(name).unwrap_or("");
    sort::by(&mut sums, |a, b| (b.durations.total(), text(a.name)).cmp(&(a.durations.total(), text(b.name))));
    let total: i64 = sums.iter().map(|sums| sums.durations.total()).sum_ns();
    let operations = by_operation(gpu);
    if report.summary.is_empty() {
        report.summary = summary(&operations, &sums, total, gpu);
    }
    report.facts(facts(named, &sums, total));
    if !operations.is_empty() {
        report.chart(charts::operations(named, &operations));
    }
    report.table(operation_table(named, &operations, total, &steps));
    if let Some(table) = phase_table(named, &steps) {
        report.table(table);
    }
    if let Some(table) = by_step::operations(named) {
        report.table(table);
    }
    if let Some((chart, table)) = charts::durations(named) {
        report.chart(chart);
        report.table(table);
    }
    report.table(name_table(named, sums, total, &steps));
    if let Some(table) = by_step::kernels_by_phase(named, &steps) {
        report.table(table);
    }
    if let Some(table) = configurations::table(named, total) {
        report.table(table);
    }
}

fn summary(
    operations: &[(&str, Durations)],
    names: &[NameSums<'_>],
    total: i64,
    gpu: &GpuTrace<'_>,
) -> String {
    let percent = |ns: i64| stats::percent(share(ns, total).unwrap_or(0.0));
    let hottest =
        |name: &NameSums<'_>| visible(&cut_in_middle(gpu.shown_name(name.name).unwrap_or(""), IN_A_SENTENCE));
    match (operations.first(), names.first()) {
        // Kernels that no rule knows have nothing in common.
        (Some((OTHER, _)), Some(name)) => format!(
            "{} is the hottest kernel: {} of {} of kernel time.",
            hottest(name),
            percent(name.durations.total()),
            format_ns(total),
        ),
        (Some((operation, sums)), Some(name)) => format!(
            "{operation} accounts for {} of {} of kernel time; the hottest kernel is {} with {}.",
            percent(sums.total()),
            format_ns(total),
            hottest(name),
            percent(name.durations.total())
        ),
        _ => "No GPU activity in this trace.".to_string(),
    }
}

/// The largest operation and kernel of several traces together; `None` for one trace.
fn summary_of_all(traces: &[GpuTrace<'_>]) -> Option<String> {
    let n_files = traces.iter().filter(|gpu| !gpu.work.is_empty()).count();
    if n_files < 2 {
        return None;
    }
    let (mut operations, mut kernels) = (HashMap::<&str, i64>::default(), HashMap::<&str, i64>::default());
    for gpu in traces {
        for work in &gpu.work {
            let name = gpu.shown_name(gpu.trace.slices.name[work.slice as usize]).unwrap_or("");
            let operation = gpu.classes.get(work.class).operation.as_str();
            for (sums, key) in [(&mut operations, operation), (&mut kernels, name)] {
                let sum = sums.entry(key).or_insert(0);
                *sum = sum.saturating_add(work.dur());
            }
        }
    }
    let total = operations.values().copied().sum_ns();
    // Ties must not depend on the order of the map.
    let largest = |sums: &HashMap<&str, i64>| {
        let most = sums.iter().max_by_key(|(name, ns)| (**ns, std::cmp::Reverse(**name)))?;
        Some((most.0.to_string(), stats::percent(share(*most.1, total)?)))
    };
    let ((operation, of_operation), (kernel, of_kernel)) = (largest(&operations)?, largest(&kernels)?);
    let kernel = visible(&cut_in_middle(&kernel, IN_A_SENTENCE));
    let of = format!("{} of kernel time in {n_files} files", format_ns(total));
    Some(match operation == OTHER {
        true => format!("{kernel} is the hottest kernel: {of_kernel} of {of}."),
        false => {
            format!(
                "{operation} accounts for {of_operation} of {of}; the hottest kernel is {kernel} with {of_kernel}."
            )
        }
    })
}

fn facts(named: &NamedTrace<'_, '_>, names: &[NameSums<'_>], total: i64) -> Facts {
    let sum = |is: &dyn Fn(&NameSums<'_>) -> bool| -> i64 {
        names.iter().filter(|sums| is(sums)).map(|sums| sums.durations.total()).sum_ns()
    };
    let mut facts = Facts::new(named.title("Kernels"));
    facts
        .push("work_time", "Kernel time", total, Unit::Ns)
        .hint("total duration of kernels, copies and fills; overlapping ones count multiple times");
    let count: u64 = names.iter().map(|sums| sums.durations.count()).sum();
    facts.push("count", "Launches", count, Unit::Count).hint("kernels, copies and fills");
    facts.push("names", "Distinct", names.len() as u64, Unit::Count).hint("distinct names");
    facts
        .push("unclassified", "Unclassified", share(sum(&|sums| sums.class.is_unknown), total), Unit::Ratio)
        .hint("share of kernel time matched by no rule");
    facts
}

/// Durations by operation, longest total first.
fn by_operation<'a>(gpu: &'a GpuTrace<'_>) -> Vec<(&'a str, Durations)> {
    group(gpu, gpu.work.iter(), |class| &class.operation)
}

fn group<'a, 'b>(
    gpu: &'a GpuTrace<'_>,
    work: impl Iterator<Item = &'b Work>,
    key: impl Fn(&'a Class) -> &'a str,
) -> Vec<(&'a str, Durations)> {
    let mut by_class: Vec<Vec<i64>> = vec![Vec::new(); gpu.classes.all().len()];
    for work in work {
        by_class[work.class as usize].push(work.dur());
    }
    let mut by_key: HashMap<&str, Vec<i64>> = HashMap::default();
    for (class, durations) in gpu.classes.all().iter().zip(by_class) {
        if !durations.is_empty() {
            by_key.entry(key(class)).or_default().extend(durations);
        }
    }
    let mut rows: Vec<(&str, Durations)> =
        by_key.into_iter().map(|(key, durations)| (key, Durations::new(durations))).collect();
    sort::by(&mut rows, |a, b| (b.1.total(), a.0).cmp(&(a.1.total(), b.0)));
    rows
}

/// Time of kernels and copies launched in steps, by class number.
fn times_in_steps(gpu: &GpuTrace<'_>) -> Vec<i64> {
    let mut times = vec![0i64; gpu.classes.all().len()];
    for work in gpu.work.iter().filter(|work| gpu.step(work.step).is_some()) {
        let time = &mut times[work.class as usize];
        *time = time.saturating_add(work.dur());
    }
    times
}

/// Columns of duration statistics.
fn time_columns(rows: &[&Durations], total: i64) -> Vec<Column> {
    let each = |get: &dyn Fn(&Durations) -> Option<i64>| rows.iter().map(|row| get(row)).collect::<Vec<_>>();
    vec![
        Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.count())).adds_up(),
        integers("total", "total", Unit::Ns, rows.iter().map(|row| row.total())).with_bar().adds_up(),
        Column::float(
            "share",
            "share",
            Unit::Ratio,
            rows.iter().map(|row| share(row.total(), total)).collect(),
        )
        .hint("of the total duration of all kernels, copies and fills"),
        Column::integer("mean", "mean", Unit::Ns, each(&Durations::mean)),
        Column::integer("p50", "p50", Unit::Ns, each(&|row| row.quantile(0.5))),
        Column::integer("p99", "p99", Unit::Ns, each(&|row| row.quantile(0.99))),
        Column::integer("min", "min", Unit::Ns, each(&Durations::min)),
        Column::integer("max", "max", Unit::Ns, each(&Durations::max)),
    ]
}

fn operation_table(
    named: &NamedTrace<'_, '_>,
    rows: &[(&str, Durations)],
    total: i64,
    steps: &ActiveSteps,
) -> Table {
    let gpu = named.gpu;
    let durations: Vec<&Durations> = rows.iter().map(|row| &row.1).collect();
    let mut columns = vec![Column::key(
        "operation",
        "operation",
        Content::Plain,
        texts(rows.iter().map(|row| Some(row.0))),
    )];
    columns.extend(time_columns(&durations, total));
    if let Some(n) = steps.n() {
        let times = times_in_steps(gpu);
        let of_steps = |operation: &str| {
            let of_operation =
                gpu.classes.all().iter().zip(&times).filter(|(class, _)| class.operation == operation);
            per_step(of_operation.map(|(_, time)| *time).sum_ns(), n)
        };
        let values = rows.iter().map(|row| of_steps(row.0)).collect();
        let column = Column::integer("per_step", "per step", Unit::Ns, values);
        columns.insert(
            3,
            column.hint("time of kernels launched in steps, divided by the steps with GPU activity"),
        );
    }
    columns.push(
        integers("alone", "not overlapped", Unit::Ns, alone(gpu, rows))
            .hint("time in which nothing else ran on the GPU: no kernel of another operation and no copy")
            .adds_up(),
    );
    Table::new(named.id(OPERATIONS.id), named.title("Operations"), columns).sorted_by("total", true).caption(
        "Kernels grouped by operation, based on their names. Durations are summed, so overlapping kernels count multiple times, \
         unlike in busy time.",
    )
}

/// Time in which only kernels of one operation ran, of each row, in nanoseconds.
fn alone(gpu: &GpuTrace<'_>, rows: &[(&str, Durations)]) -> Vec<i64> {
    let number = |class: &Class| rows.iter().position(|row| row.0 == class.operation);
    let numbers: Vec<u32> =
        gpu.classes.all().iter().map(|class| number(class).map_or(u32::MAX, |it| it as u32)).collect();
    let group = |work: &Work| numbers[work.class as usize];
    let mut sums = vec![0.0; rows.len()];
    each_alone(gpu, &|work| Some(Role::of(group(work))), &mut |work, alone| {
        if let Some(sum) = sums.get_mut(group(work) as usize) {
            *sum += alone.ns;
        }
    });
    sums.into_iter().map(|ns: f64| ns.round() as i64).collect()
}

/// Operations of each phase.
fn phase_table(named: &NamedTrace<'_, '_>, steps: &ActiveSteps) -> Option<Table> {
    let gpu = named.gpu;
    let phase_of = |work: &Work| gpu.annotation(work.step).map(|what| what.phase);
    let mut rows: Vec<(Phase, &str, Durations, i64)> = Vec::new();
    for phase in PHASES {
        let of_phase = || gpu.work.iter().filter(|work| phase_of(work) == Some(phase));
        let total: i64 = of_phase().map(Work::dur).sum_ns();
        for (operation, durations) in group(gpu, of_phase(), |class| &class.operation) {
            rows.push((phase, operation, durations, total));
        }
    }
    if rows.is_empty() {
        return None;
    }
    let table = Table::new(
        named.id("operations_by_phase"),
        named.title("Operations by phase"),
        vec![
            Column::key("phase", "phase", Content::Plain, texts(rows.iter().map(|row| Some(row.0.name())))),
            Column::key("operation", "operation", Content::Plain, texts(rows.iter().map(|row| Some(row.1)))),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.2.count())).adds_up(),
            integers("total", "total", Unit::Ns, rows.iter().map(|row| row.2.total())).with_bar().adds_up(),
            Column::integer(
                "per_step",
                "per step",
                Unit::Ns,
                rows.iter().map(|row| per_step(row.2.total(), steps.of_phase(row.0))).collect(),
            )
            .hint("total divided by the phase's steps with GPU activity"),
            Column::float(
                "share",
                "% of phase",
                Unit::Ratio,
                rows.iter().map(|row| share(row.2.total(), row.3)).collect(),
            ),
            Column::integer("mean", "mean", Unit::Ns, rows.iter().map(|row| row.2.mean()).collect()),
            Column::integer("p50", "p50", Unit::Ns, rows.iter().map(|row| row.2.quantile(0.5)).collect()),
            Column::integer("p99", "p99", Unit::Ns, rows.iter().map(|row| row.2.quantile(0.99)).collect()),
        ],
    );
    Some(table.caption("A kernel belongs to the phase of the step that launched it."))
}

fn name_table(
    named: &NamedTrace<'_, '_>,
    mut rows: Vec<NameSums<'_>>,
    total: i64,
    steps: &ActiveSteps,
) -> Table {
    let n_left_out = cut(&mut rows);
    let trace = named.gpu.trace;
    let durations: Vec<&Durations> = rows.iter().map(|row| &row.durations).collect();
    let platform = match named.gpu.vendor {
        Vendor::Amd => Platform::Amd,
        _ => Platform::Nvidia,
    };
    let reference = |row: &NameSums<'_>| {
        let name = trace.strings.get_opt(row.name).filter(|_| row.is_kernel)?;
        Some(reference::operation(name, platform).0)
    };
    let text = |get: &dyn Fn(&Class) -> &str| {
        texts(rows.iter().map(|row| Some(get(row.class).to_string()).filter(|text| !text.is_empty())))
    };
    let mut columns = vec![
        Column::key("operation", "operation", Content::Plain, text(&|class| &class.operation)),
        Column::text("family", "family", Content::Plain, text(&|class| &class.family)),
        Column::text("library", "library", Content::Plain, text(&|class| &class.library)),
        Column::text(
            "trace_compare",
            "trace_compare class",
            Content::Plain,
            texts(rows.iter().map(reference)),
        )
        .hint("class assigned by wafer's trace_compare"),
    ];
    columns.splice(1..1, time_columns(&durations, total));
    if let Some(n) = steps.n() {
        let times = by_step::times_of_names(named.gpu);
        let key = |row: &NameSums<'_>| (row.name, row.is_kernel);
        let values = rows.iter().map(|row| per_step(times.get(&key(row)).copied().unwrap_or(0), n)).collect();
        let column = Column::integer("per_step", "per step", Unit::Ns, values);
        columns.insert(
            3,
            column.hint("time of those launched in steps, divided by the steps with GPU activity"),
        );
    }
    kernel_names::insert(
        &mut columns,
        0,
        ("name", "name"),
        rows.iter().map(|row| trace.strings.get_opt(row.name)),
    );
    let table =
        Table::new(named.id(KERNELS.id), named.title("Kernels by name"), columns).sorted_by("total", true);
    with_left_out(table, n_left_out)
}
