//! Memory accesses by kind of memory: how long data is kept, how it is written and read, how large it is, how accesses step, and
//! whether memory of managed retention would suit it. The tables have the names and columns of mrm-trace.

pub mod charts;
pub mod glance;
pub mod histograms;
pub mod tables;
pub mod trust;

use super::{AnalysisInfo, Context, mrm_run};
use crate::base::units::{Unit, counted, group_digits};
use crate::memory::labelling::Stopped;
use crate::memory::suitability::Thresholds;
use crate::memory::summary::{self, KindSummary};
use crate::memory::{Kind, View};
use crate::memory_run::KV_RANGES;
use crate::report::{Block, Facts, Report};
use crate::trace::Run;
use crate::trace::accesses::PAGE_BITS;
use crate::trace::builder::issues::ACCESSES_LEFT_OUT;
use tables::Source;

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "mrm", title: "Memory by kind", applies, run, reference: None, is_late: false };

/// Whether any trace is one of accesses to memory. One without any has the same tables, without rows.
fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| trace.accesses.is_expected())
}

/// The kinds of a view together, by the thresholds that were asked for.
pub fn kinds_of(view: &View<'_>, thresholds: &Thresholds) -> Vec<KindSummary> {
    summary::by_kind(&view.metrics, &view.kinds, thresholds)
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let views = context.memory();
    if let Some(problem) = context.query.memory.problem() {
        report.warning(format!("What was asked for can not be read and counts for nothing: {problem}."));
    }
    let differences = context.query.memory.differences();
    if !differences.is_empty() {
        report.info(format!("Not as by default: {}.", differences.join("; ")));
    }
    for (number, view) in views.iter().enumerate() {
        let thresholds = mrm_run::thresholds_of(view.trace, &context.query.memory);
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

/// Appends the part on a trace, of the views of all traces the one with that number, to a report on all of them. Its summary is that of the
/// first trace, and says so if there are others.
pub fn append_part(mut part: Report, number: usize, views: &[View<'_>], report: &mut Report) {
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
                    "{n} traces with {} accesses to memory, each in a part of its own. {name}: {}",
                    group_digits(n_accesses.into()),
                    part.summary
                )
            }
        };
    }
    report.blocks.append(&mut part.blocks);
}

/// Tables and pictures of one of several traces carry its name in their titles, and but for the first one its number in their ids; so do
/// notes.
pub fn number_blocks(report: &mut Report, number: usize, file_name: &str) {
    for block in &mut report.blocks {
        let (id, title) = match block {
            Block::Table(table) => (&mut table.id, &mut table.title),
            Block::Chart(chart) => (&mut chart.id, &mut chart.title),
            Block::Facts(facts) => {
                facts.title = format!("{}: {file_name}", facts.title);
                continue;
            }
            Block::Note(note) => {
                note.text = format!("{file_name}: {}", note.text);
                continue;
            }
            Block::Findings(_) => continue,
        };
        if number > 0 {
            *id = format!("{id}_{}", number + 1).into();
        }
        *title = format!("{title}: {file_name}");
    }
}

fn headline(view: &View<'_>, kinds: &[KindSummary]) -> String {
    if view.trace.accesses.is_empty() {
        return "There are no accesses to memory in the file, so all tables are empty.".to_string();
    }
    let n = group_digits(i128::from(view.coverage.n_rows));
    let largest =
        kinds.iter().filter(|row| row.kind != Kind::UNKNOWN).max_by_key(|row| row.reads + row.writes);
    match largest {
        Some(row) => {
            let share = (row.reads + row.writes) as f64 / view.coverage.n_rows.max(1) as f64 * 100.0;
            let name = view.kinds.name(row.kind);
            format!("{n} accesses to memory; most of those of a known kind are to {name} ({share:.1}%).")
        }
        None => format!("{n} accesses to memory, none of which is of a known kind."),
    }
}

fn add_trace(
    view: &View<'_>,
    kinds: &[KindSummary],
    thresholds: &Thresholds,
    context: &Context<'_>,
    report: &mut Report,
) {
    trust::add(view, context, report);
    warn_of_the_rest(view, report);
    if view.n_left_out > 0 {
        let n = group_digits(i128::from(view.n_left_out));
        report.warning(format!("{n} accesses of no known kind are left out, as was asked for."));
    }
    tell_of_labels(view, report);
    warn_of_phases(view, context, report);
    tell_ranges(view, context, report);
    add_facts(view, report);
    let source = Source { view, kinds };
    if mrm_run::noted_thresholds(view.trace).is_some_and(|noted| noted == *thresholds) {
        report.info(format!(
            "Suitability is {}, as the metadata of the run note (by default {}).",
            thresholds.told(),
            Thresholds::default().told()
        ));
    }
    if !kinds.is_empty() {
        report.facts(glance::suitability(&source, thresholds));
    }
    report.table(glance::table(&source, thresholds));
    glance::notes(&source, report);
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

/// Of a trace that came with labels: whether they are shown, or others.
fn tell_of_labels(view: &View<'_>, report: &mut Report) {
    if !view.trace.accesses.is_labelled() {
        return;
    }
    report.info(match view.has_labels_of_source {
        true => {
            "Kinds and regions are those that stand in the file. Rules, address ranges, or a choice for accesses of no known kind \
             label it anew; phases do not."
        }
        false => {
            "Labelled anew, by the rules, address ranges or choice for accesses of no known kind that were given: kinds that stand in \
             the file stay, as in mrm-trace, accesses without one get theirs, and regions have other numbers than in the file."
        }
    });
}

/// Says where address ranges are from that nobody has given.
fn tell_ranges(view: &View<'_>, context: &Context<'_>, report: &mut Report) {
    if !context.query.memory.ranges.trim().is_empty() {
        return;
    }
    match mrm_run::ranges_beside(view.trace) {
        Some(Ok(ranges)) => {
            let n = counted(ranges.len() as u64, "address range", "address ranges");
            report.info(format!("{KV_RANGES}, which lies beside the trace, tells of {n}."));
        }
        Some(Err(problem)) => report.warning(format!(
            "{KV_RANGES} lies beside the trace, but can not be read and counts for nothing: {problem}."
        )),
        None => {}
    }
}

/// Says so if reports are on the first accesses only.
fn warn_of_the_rest(view: &View<'_>, report: &mut Report) {
    let n_left_out = view.trace.ledger.count_of(ACCESSES_LEFT_OUT.code);
    if n_left_out > 0 {
        let n_held = group_digits(view.trace.accesses.len() as i128);
        let n = group_digits(i128::from(n_left_out));
        report.warning(format!(
            "There is no memory for all accesses: all reports are on the first {n_held}, and {n} behind them are in none. \
             The tracedrop command reads as many as the computer has memory for."
        ));
    }
    match &view.stopped {
        Some(Stopped::Unclassified(unclassified)) => report.warning(format!(
            "Labelling stopped at an access of no known kind, as was asked for: {unclassified}"
        )),
        Some(Stopped::Full) => {
            let n_regions = group_digits(view.regions.regions().len() as i128);
            let n_labelled = group_digits(view.labels.len() as i128);
            let n = group_digits(view.trace.accesses.len().saturating_sub(view.labels.len()) as i128);
            report.warning(format!(
                "There is no memory for more regions than {n_regions}: all reports are on the first {n_labelled} accesses, and {n} \
                 behind them are in none. The tracedrop command labels as many as the computer has memory for."
            ));
        }
        None => {}
    }
}

fn add_facts(view: &View<'_>, report: &mut Report) {
    let mut facts = Facts::new("Accesses");
    let coverage = &view.coverage;
    facts.push("accesses", "Accesses", coverage.n_rows, Unit::Count);
    facts
        .push("regions", "Regions", view.regions.regions().len() as u64, Unit::Count)
        .hint("without region 0 of tables, which is all memory of no known kind");
    let bytes = view.pages.len().saturating_mul(1 << PAGE_BITS);
    facts.push("bytes", "Touched", bytes, Unit::Bytes).hint(
        "pages of 4 KiB that a sample hit, each once; tables of regions count a page in two regions twice",
    );
    if let Some((start, end)) = view.trace.accesses.span() {
        facts.push("span", "Time", end.saturating_sub(start), Unit::Ns);
        // To the nanosecond, for who says when which phase was.
        for (id, label, ns) in [("first_ns", "First access", start), ("last_ns", "Last access", end)] {
            facts
                .push(id, label, ns, Unit::NsClock)
                .hint(format!("on the clock of the capture; as phases are given: {ns} ns"));
        }
    }
    facts
        .push("classified", "Of a known kind", coverage.share(coverage.classified), Unit::Ratio)
        .hint("by what the file says, by the page, or by the rules");
    add_phases(view, &mut facts);
    if view.n_registered_pages > 0 {
        facts.push("registered_pages", "Pages known beforehand", view.n_registered_pages, Unit::Count);
    }
    report.facts(facts);
}

/// When which phase was, and what was added to the times that were given.
fn add_phases(view: &View<'_>, facts: &mut Facts) {
    let phases = &view.phases;
    if phases.is_empty() {
        return;
    }
    let told = phases.boundaries.iter().map(|phase| match phase.end_ns {
        i64::MAX => format!("{} from {} ns on", phase.phase, phase.start_ns),
        end_ns => format!("{} {}–{end_ns} ns", phase.phase, phase.start_ns),
    });
    let told: Vec<String> = told.collect();
    facts.push("phases", "Phases", told.join(", "), Unit::None).hint("on the clock of the capture");
    let hint = match phases.clock {
        Some(clock) => format!(
            "added to the times of the engine's {} clock; perf's clock is often another one",
            clock.name()
        ),
        None => "added to the times that were given".to_string(),
    };
    facts.push("phase_offset", "Offset of phases", phases.offset_ns, Unit::Ns).hint(hint);
}

/// Among so many first accesses there is one with a phase, where the source gives any.
const LOOKED_AT_FOR_PHASES: usize = 10_000;

/// Says so if the phases that were given hold for no access, as accesses have their own, or as all phases lie before or after the trace;
/// and what would have to be added for the first of them to start with it.
fn warn_of_phases(view: &View<'_>, context: &Context<'_>, report: &mut Report) {
    let is_given = !context.query.memory.options().phases.is_empty();
    if is_given && view.trace.accesses.iter().take(LOOKED_AT_FOR_PHASES).any(|row| row.phase.is_some()) {
        report.info(
            "Accesses have phases of their own in the file, which stay; those that were given hold for accesses without one.",
        );
    }
    if let Some(problem) = view.phases.first_inverted() {
        report.warning(format!("A phase that was given counts for nothing: {problem}."));
    }
    let Some(span) = view.trace.accesses.span() else { return };
    let starts = view.phases.boundaries.iter().map(|phase| phase.start_ns);
    let Some(first) = starts.min().filter(|_| !view.phases.touch(span)) else { return };
    let offset = i128::from(span.0) - i128::from(first) + i128::from(view.phases.offset_ns);
    report.warning(format!(
        "No phase lies within the time of the trace, so they count for nothing: they may be by another clock. \
         With an offset_ns of {offset} the first one would start with the first access."
    ));
}
