//! Memory accesses by kind of memory: retention, reads and writes, working set, locality, and suitability for managed-retention
//! memory (MRM). The tables have the names and columns of mrm-trace.

pub mod charts;
pub mod clock;
pub mod glance;
pub mod histograms;
pub mod tables;
pub mod trust;

use super::{AnalysisInfo, Context, Group, run_files};
use crate::base::text::first_names;
use crate::base::units::{Unit, counted, format_integer, group_digits};
use crate::memory::labelling::Stopped;
use crate::memory::ranges::{self, AddressRange};
use crate::memory::suitability::Thresholds;
use crate::memory::summary::{self, KindSummary};
use crate::memory::{Kind, LabelledTrace};
use crate::memory_run::KV_RANGES;
use crate::report::{Block, Facts, Report, of_file};
use crate::trace::Run;
use crate::trace::builder::issues::ACCESSES_LEFT_OUT;
use tables::Source;

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "mrm", title: "Memory by kind", applies, run, group: Group::Summary, is_late: false };

/// Whether any trace is a memory trace. A memory trace without accesses gets the same tables, without rows.
fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| trace.accesses.is_expected())
}

/// Summary of the kinds of a view, judged by `thresholds`.
pub fn kinds_of(view: &LabelledTrace<'_>, thresholds: &Thresholds) -> Vec<KindSummary> {
    summary::by_kind(&view.metrics, &view.kinds, thresholds)
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let views = context.memory();
    if let Some(problem) = context.query.memory.problem() {
        report.warning(format!("Ignored an invalid setting: {problem}."));
    }
    let differences = context.query.memory.differences();
    if !differences.is_empty() {
        report.info(format!("Custom settings: {}.", differences.join("; ")));
    }
    for (number, view) in views.iter().enumerate() {
        let thresholds = run_files::thresholds_of(view.trace, &context.query.memory);
        let kinds = kinds_of(view, &thresholds);
        let mut part = Report::new(INFO.id, INFO.title);
        add_trace(view, &kinds, &thresholds, context, &mut part);
        trust::mark(view.trace, &context.query.memory, &mut part);
        part.summary = headline(view, &kinds);
        if let Some(warning) = trust::first_word(view.trace, &context.query.memory) {
            part.summary = format!("{warning} {}", part.summary);
        }
        append_part(part, number, views, &mut report);
    }
    report
}

/// Appends the part on trace `number` of `views` to the report on all of them. The report's summary is that of the
/// first trace, and names it if there are others.
pub fn append_part(mut part: Report, number: usize, views: &[LabelledTrace<'_>], report: &mut Report) {
    let name = views.get(number).map_or("", |view| view.trace.source.file_name.as_str());
    if views.len() > 1 {
        number_blocks(&mut part, number, name);
    }
    if report.summary.is_empty() {
        report.summary = match views.len() {
            0 | 1 => part.summary,
            n => {
                let n_accesses: u64 = views.iter().map(|view| view.coverage.n_rows).sum();
                format!(
                    "{n} traces with {} memory accesses, shown separately. {name}: {}",
                    group_digits(n_accesses.into()),
                    part.summary
                )
            }
        };
    }
    report.blocks.append(&mut part.blocks);
}

/// Adds the file name to the titles and notes of one of several traces, and its number to the ids of tables and charts
/// except for the first one.
pub fn number_blocks(report: &mut Report, number: usize, file_name: &str) {
    for block in &mut report.blocks {
        let (id, title) = match block {
            Block::Table(table) => (&mut table.id, &mut table.title),
            Block::Chart(chart) => (&mut chart.id, &mut chart.title),
            Block::Facts(facts) => {
                facts.title = of_file::titled(&facts.title, file_name);
                continue;
            }
            Block::Note(note) => {
                note.text = of_file::noted(&note.text, file_name);
                continue;
            }
            Block::Findings(_) => continue,
        };
        if number > 0 {
            *id = format!("{id}_{}", number + 1).into();
        }
        *title = of_file::titled(title, file_name);
    }
}

fn headline(view: &LabelledTrace<'_>, kinds: &[KindSummary]) -> String {
    if view.trace.accesses.is_empty() {
        return "The file has no memory accesses, so all tables are empty.".to_string();
    }
    let n = group_digits(i128::from(view.coverage.n_rows));
    let accesses = if view.coverage.n_rows == 1 { "memory access" } else { "memory accesses" };
    let largest =
        kinds.iter().filter(|row| row.kind != Kind::UNKNOWN).max_by_key(|row| row.reads + row.writes);
    match largest {
        Some(row) => {
            let share = (row.reads + row.writes) as f64 / view.coverage.n_rows.max(1) as f64 * 100.0;
            let name = view.kinds.name(row.kind);
            let kept = glance::kept_sentence(&Source { view, kinds }).unwrap_or_default();
            format!("{n} {accesses}; {share:.1}% go to {name}, the largest known kind.{kept}")
        }
        None => format!("{n} {accesses}, all of unknown kind."),
    }
}

fn add_trace(
    view: &LabelledTrace<'_>,
    kinds: &[KindSummary],
    thresholds: &Thresholds,
    context: &Context<'_>,
    report: &mut Report,
) {
    // What most readers came for, before how it was found: whether the run is valid, how long data was kept, how much was touched.
    let source = Source { view, kinds };
    let mut glance = Facts::new("At a glance");
    let n_differing = trust::n_files_differing(view.trace);
    trust::judge(view, context, n_differing, &mut glance);
    glance::facts(&source, &mut glance);
    report.facts(glance);
    trust::warn(view, n_differing, report);
    warn_of_the_rest(view, report);
    report.table(glance::table(&source, thresholds));
    glance::notes(&source, report);
    if view.n_left_out > 0 {
        let n = counted(view.n_left_out, "access", "accesses");
        report.warning(format!("Skipped {n} of unknown kind, as requested."));
    }
    tell_of_labels(view, report);
    warn_of_phases(view, context, report);
    tell_ranges(view, context, report);
    trust::add_coverage(view, report);
    add_facts(view, report);
    if run_files::noted_thresholds(view.trace).is_some_and(|noted| noted == *thresholds) {
        report.info(format!(
            "MRM suitability thresholds are {}, from the metadata of the run (default: {}).",
            thresholds.told(),
            Thresholds::default().told()
        ));
    }
    if !kinds.is_empty() {
        report.facts(glance::suitability(&source, thresholds));
    }
    let intervals = charts::intervals(&source);
    let interval_table = charts::intervals_table(&intervals);
    for chart in charts::all(&source, thresholds, intervals) {
        report.chart(chart);
    }
    source.all().into_iter().for_each(|table| report.table(table));
    report.table(source.region_map());
    histograms::tables(view).into_iter().for_each(|table| report.table(table));
    report.table(interval_table);
}

/// For a trace with labels: notes whether these or new ones are shown.
fn tell_of_labels(view: &LabelledTrace<'_>, report: &mut Report) {
    if !view.trace.accesses.is_labelled() {
        return;
    }
    report.info(match view.has_labels_of_source {
        true => {
            "Kinds and regions come from the file. Setting rules, address ranges or a policy for unknown kinds relabels it; phases \
             don't."
        }
        false => {
            "Relabeled with the given rules, address ranges or policy for unknown kinds. As in mrm-trace, kinds in the file are \
             kept and only accesses without one get a new label. Region numbers differ from those in the file."
        }
    });
}

/// Notes the source of address ranges that come from the run directory.
fn tell_ranges(view: &LabelledTrace<'_>, context: &Context<'_>, report: &mut Report) {
    if !context.query.memory.ranges.trim().is_empty() {
        warn_of_inverted(&context.query.memory.options().ranges, report);
        return;
    }
    match run_files::ranges_beside(view.trace) {
        Some(Ok(ranges)) => {
            warn_of_inverted(&ranges, report);
            let n = counted(ranges.len() as u64, "address range", "address ranges");
            report.info(match view.has_labels_of_source {
                true => format!(
                    "{KV_RANGES} next to the trace has {n}, not used because kinds come from the trace."
                ),
                false => format!("Using {n} from {KV_RANGES} next to the trace."),
            });
        }
        Some(Err(problem)) => report
            .warning(format!("Ignored {KV_RANGES} next to the trace, which cannot be parsed: {problem}.")),
        None => {}
    }
}

fn warn_of_inverted(ranges: &[AddressRange], report: &mut Report) {
    if let Some(warning) = ranges::inverted_warning(ranges) {
        report.warning(warning);
    }
}

/// Warns if reports only cover the first accesses.
fn warn_of_the_rest(view: &LabelledTrace<'_>, report: &mut Report) {
    let n_left_out = view.trace.ledger.count_of(ACCESSES_LEFT_OUT.code);
    if n_left_out > 0 {
        let n_held = group_digits(view.trace.accesses.len() as i128);
        let n = group_digits(i128::from(n_left_out));
        report.warning(format!(
            "The trace is too large for this page: reports cover the first {n_held} accesses and skip the other {n}. To \
             include more, use the tracedrop command."
        ));
    }
    match &view.stopped {
        Some(Stopped::Unclassified(unclassified)) => report
            .warning(format!("Labeling stopped at an access of unknown kind, as requested: {unclassified}")),
        Some(Stopped::Full) => {
            let n_regions = group_digits(view.regions.regions().len() as i128);
            let n_labelled = group_digits(view.labels.len() as i128);
            let n = group_digits(view.trace.accesses.len().saturating_sub(view.labels.len()) as i128);
            report.warning(format!(
                "Out of memory after {n_regions} regions: reports cover the first {n_labelled} accesses and skip the other {n}. \
                 To include more, use the tracedrop command."
            ));
        }
        None => {}
    }
}

fn add_facts(view: &LabelledTrace<'_>, report: &mut Report) {
    let mut facts = Facts::new("Accesses");
    let coverage = &view.coverage;
    facts
        .push("regions", "Regions", view.regions.regions().len() as u64, Unit::Count)
        .hint("excludes region 0, which is all memory of unknown kind");
    if let Some((start, end)) = view.trace.accesses.span() {
        facts.push("span", "Span", end.saturating_sub(start), Unit::Ns);
        // In full nanoseconds, so that they can be used to define phases.
        for (id, label, ns) in [("first_ns", "First access", start), ("last_ns", "Last access", end)] {
            facts
                .push(id, label, ns, Unit::NsClock)
                .hint(format!("on the capture clock, as used for phases: {ns} ns"));
        }
    }
    facts
        .push("classified", "Known kind", coverage.share(coverage.classified), Unit::Ratio)
        .hint("share of accesses classified by the file, their page, or a rule");
    add_phases(view, &mut facts);
    if view.n_registered_pages > 0 && !view.has_labels_of_source {
        facts.push("registered_pages", "Pages from address ranges", view.n_registered_pages, Unit::Count);
    }
    report.facts(facts);
}

/// Phase boundaries, and the offset added to the given times.
fn add_phases(view: &LabelledTrace<'_>, facts: &mut Facts) {
    let phases = &view.phases;
    if phases.is_empty() {
        return;
    }
    let clock = |ns: i64| format_integer(i128::from(ns), Unit::NsClock);
    let told = phases.boundaries.iter().map(|phase| match phase.end_ns {
        i64::MAX => format!("{} from {} on", phase.phase, clock(phase.start_ns)),
        end_ns => format!("{} {}–{}", phase.phase, clock(phase.start_ns), clock(end_ns)),
    });
    let told: Vec<String> = told.collect();
    facts.push("phases", "Phases", told.join(", "), Unit::None).hint("on the capture clock");
    let hint = match phases.clock {
        Some(clock) => format!(
            "added to times of the engine's {} clock, which often differs from perf's clock",
            clock.name()
        ),
        None => "added to the given times".to_string(),
    };
    facts.push("phase_offset", "Phase offset", phases.offset_ns, Unit::Ns).hint(hint);
}

/// Accesses checked for phases; a source with phases has one among them.
const LOOKED_AT_FOR_PHASES: usize = 10_000;

/// Unused events that are named.
const MAX_NAMED: usize = 5;

/// Warns if given events are unused, and if the given phases apply to no access, because accesses have their own or because all
/// phases are outside the trace; suggests the offset that aligns the first phase with the start of the trace.
fn warn_of_phases(view: &LabelledTrace<'_>, context: &Context<'_>, report: &mut Report) {
    let is_given = !context.query.memory.options().phases.is_empty();
    if is_given && view.trace.accesses.iter().take(LOOKED_AT_FOR_PHASES).any(|row| row.phase.is_some()) {
        report
            .info("Phases in the file take precedence. The given phases only apply to accesses without one.");
    }
    let unused = &view.phases.unused;
    if !unused.is_empty() {
        let names = first_names(unused, MAX_NAMED);
        report.warning(format!(
            "Events without effect: {names}. Phases are made of the events model_load, generation and teardown, each with \
             _start and _end."
        ));
    }
    if let Some(problem) = view.phases.first_inverted() {
        report.warning(format!("Ignored a given phase: {problem}."));
    }
    let Some(span) = view.trace.accesses.span() else { return };
    let some_time = view.phases.boundaries.iter().filter(|phase| phase.start_ns < phase.end_ns);
    let Some(first) = some_time.map(|phase| phase.start_ns).min().filter(|_| !view.phases.touch(span)) else {
        return;
    };
    let offset = i128::from(span.0) - i128::from(first) + i128::from(view.phases.offset_ns);
    report.warning(format!(
        "All phases are outside the trace, so none applies. They may use another clock. \
         To align the first phase with the first access, set offset_ns to {offset}."
    ));
}
