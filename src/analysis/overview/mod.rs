//! Overview of a trace: event counts, processes and threads, and caveats for the other reports.

pub mod far_away;
mod findings;

use self::far_away::FarAway;
use super::several::name_notes;
use super::timeline::{self, cut, integers, key_text, process_label, texts, with_left_out};
use super::{AnalysisInfo, Context, Group, slices};
use crate::base::units::{Unit, counted, format_ns, group_digits};
use crate::report::{Column, Content, Facts, Report, Table};
use crate::trace::aggregated::N_LONGEST;
use crate::trace::sums::{Activity, Counts};
use crate::trace::{Run, Trace};

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "overview", title: "Overview", applies, run, group: Group::Trace, is_late: false };

/// An empty timeline gets an overview too, which says that it is empty.
pub fn applies(run: &Run) -> bool {
    timeline::applies(run) || run.traces.iter().any(|trace| !has_no_events(trace) && trace.text.is_empty())
}

/// Scoring calls, profiles, and parts of fleets: nothing that has threads or slices.
fn has_no_events(trace: &Trace) -> bool {
    !trace.scoring_calls.is_empty()
        || !trace.profiles.is_empty()
        || !trace.stack_profiles.is_empty()
        || trace.fleet.is_some()
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let run = context.run;
    for findings in findings::of(run, context.sums()) {
        report.findings(findings);
    }
    let top = context.query.top as usize;
    let hottest = slices::hottest(context.sums(), top);
    let has_slices = hottest.is_some();
    let mut hottest = hottest.filter(|_| top > 0);
    let sentence = hottest.as_ref().map(|(_, sentence)| sentence.clone());
    let (mut n_slices, mut n_threads) = (0u64, 0);
    // Rows of fleets are no events: their report has all there is.
    for trace in run.traces.iter().filter(|trace| trace.fleet.is_none()) {
        // The hottest names are listed once, for all traces together, right after the facts of the first one.
        let n_before = report.blocks.len();
        let (slices, threads) = add_trace(&mut report, trace, run.traces.len() > 1, hottest.take());
        name_notes(&mut report, n_before, trace, run.traces.len());
        n_slices += slices;
        n_threads += threads;
    }
    if run.traces.len() > 1 && n_slices > 0 {
        report.summary = format!(
            "{} on {} in {} files.",
            counted(n_slices, "slice", "slices"),
            counted(n_threads, "thread", "threads"),
            run.traces.len()
        );
    }
    if let Some(sentence) = sentence {
        report.summary = format!("{} {sentence}", report.summary);
    }
    if !has_slices && let Some(hottest) = slices::hottest_sample(run) {
        report.summary = format!("{} {hottest}", report.summary);
    }
    report
}

/// Adds what there is of a trace. Returns its numbers of slices, and of threads with a name or with activity.
fn add_trace(
    report: &mut Report,
    trace: &Trace,
    named: bool,
    hottest: Option<(Table, String)>,
) -> (u64, u64) {
    let span = trace.reported();
    let counts = match &trace.aggregated {
        Some(folded) => folded.counts.clone(),
        None => Counts::of(trace),
    };
    let n_threads = threads_of_note(trace, &counts).len() as u64;
    let title = if named { trace.source.file_name.clone() } else { "Trace".to_string() };
    let mut facts = Facts::new(title);
    // Memory accesses, scoring calls and counts per code location have no threads or slices, so 0 would say nothing.
    let is_timeline = span.is_some() || (!trace.accesses.is_expected() && !has_no_events(trace));
    if is_timeline {
        facts.push("span", "Span", span.map(|(start, end)| end.saturating_sub(start)), Unit::Ns).hint(
            match trace.part {
                Some(_) => "of the chosen time range, within the trace",
                None => "from the first to the last timestamp in the trace",
            },
        );
    }
    for (id, label, value, hint) in [
        ("processes", "Processes", trace.processes.len() as u64, ""),
        ("threads", "Threads", n_threads, "threads with a name or with activity"),
        ("events", "Events", trace.ledger.n_records(), "records in the file, including skipped ones"),
        ("slices", "Slices", counts.slices, "time spans on threads"),
        ("accesses", "Memory accesses", trace.accesses.len() as u64, ""),
        ("async_slices", "Async slices", counts.async_slices, "from an async begin to its end"),
        ("states", "Thread states", counts.states, ""),
        ("instants", "Instants", counts.instants, "points in time"),
        ("counters", "Counter points", trace.counters.len() as u64, ""),
        ("flows", "Flows", trace.flows.len() as u64, "arrows between slices"),
        ("samples", "Samples", trace.samples.len() as u64, "stacks at points in time"),
        ("objects", "Objects and markers", trace.objects.len() as u64, ""),
        (
            "unfinished",
            "Unfinished",
            counts.unfinished.saturating_add(counts.open_states),
            "slices and states with no end in the file",
        ),
        (
            "overlapping",
            "Overlapping",
            counts.overlapping,
            "slices that partly overlap another on the same thread",
        ),
    ] {
        // Optional kinds are listed only if the trace has some.
        let always = id == "events" || (is_timeline && matches!(id, "processes" | "threads" | "slices"));
        if always || value > 0 {
            facts.push(id, label, value, Unit::Count).hint(hint);
        }
    }
    let span_text = span.map(|span| time_of(trace, span));
    if report.summary.is_empty() {
        report.summary = match span_text {
            Some(span) if counts.slices > 0 => format!(
                "{} on {} in {}.",
                counted(counts.slices, "slice", "slices"),
                counted(n_threads, "thread", "threads"),
                span
            ),
            span => summary_without_slices(trace, &counts, span),
        };
    }
    report.facts(facts);
    add_notes(report, trace, &counts);
    if let Some((table, _)) = hottest {
        report.table(table);
    }
    if !trace.processes.is_empty() {
        report.table(process_table(trace, &counts));
        report.table(thread_table(trace, &counts));
    }
    if !trace.source.record_kinds.is_empty() {
        report.table(
            Table::new(
                "kinds",
                "Events by kind",
                vec![
                    Column::key(
                        "kind",
                        "kind",
                        Content::Plain,
                        trace.source.record_kinds.iter().map(|(kind, _)| kind.as_str()).collect(),
                    ),
                    Column::counts(
                        "count",
                        "count",
                        Unit::Count,
                        trace.source.record_kinds.iter().map(|(_, n)| *n),
                    )
                    .with_bar(),
                ],
            )
            .caption("Names as in the format, before begin/end pairing."),
        );
    }
    if let Some(table) = metadata_table(trace) {
        report.table(table);
    }
    (counts.slices, n_threads)
}

/// The facts that the file has about itself. `None` without any.
pub fn metadata_table(trace: &Trace) -> Option<Table> {
    let facts = &trace.source.metadata;
    let names = facts.iter().map(|(name, _)| name.as_str()).collect();
    let values = facts.iter().map(|(_, value)| value.as_str()).collect();
    (!facts.is_empty()).then(|| {
        Table::new(
            "metadata",
            "File metadata",
            vec![
                Column::key("name", "name", Content::Plain, names),
                Column::text("value", "value", Content::Value, values),
            ],
        )
    })
}

/// The length of a trace, or its chosen range `span`, which is on the trace's clock.
pub fn time_of(trace: &Trace, span: (i64, i64)) -> String {
    let length = format_ns(span.1.saturating_sub(span.0));
    match trace.part {
        Some(part) => {
            let start = part.whole.map_or(0, |(start, _)| start);
            let at = |ts: i64| format_ns(ts.saturating_sub(start));
            format!("{length} ({} to {})", at(span.0), at(span.1))
        }
        None => length,
    }
}

/// Lists what the trace contains, the most informative first.
fn summary_without_slices(trace: &Trace, counts: &Counts, span: Option<String>) -> String {
    let accesses = trace.accesses.span().map(|(start, end)| format_ns(end.saturating_sub(start)));
    let all = [
        (trace.accesses.len() as u64, "memory access", "memory accesses"),
        (trace.samples.len() as u64, "sample", "samples"),
        (counts.async_slices, "async slice", "async slices"),
        (counts.states, "thread state", "thread states"),
        (trace.counters.len() as u64, "counter value", "counter values"),
        (counts.instants, "instant", "instants"),
        (trace.objects.len() as u64, "object or marker", "objects and markers"),
    ];
    let told: Vec<String> =
        all.into_iter().filter(|of| of.0 > 0).map(|(n, one, many)| counted(n, one, many)).collect();
    match (told.is_empty(), span.or(accesses)) {
        (true, _) if trace.part.is_some() => "No events in the chosen time range.".to_string(),
        (true, _) => "The trace is empty.".to_string(),
        (false, Some(span)) => format!("{} in {span}.", told.join(", ")),
        (false, None) => format!("{}.", told.join(", ")),
    }
}

fn number(n: u64) -> String {
    group_digits(i128::from(n))
}

fn add_notes(report: &mut Report, trace: &Trace, counts: &Counts) {
    if let Some(folded) = &trace.aggregated {
        report.warning(format!(
            "The trace is too large to keep in memory. Totals are exact and cover all events, but only the {} longest slices \
             of each kind are kept. Missing: flows ({}), stacks and CPU times of slices, busy time of some processes, and the \
             timeline export.",
            number(N_LONGEST as u64),
            counted(folded.n_flow_events, "event", "events")
        ));
    }
    if let Some(far_away) = FarAway::of(trace) {
        report.warning(far_away.words(trace));
    }
    let has_slices = counts.slices + counts.async_slices + counts.states > 0;
    let has_others = !trace.accesses.is_empty() || !trace.sidecar_files.is_empty() || has_no_events(trace);
    let whole = trace.part.and_then(|part| part.whole);
    if trace.extent().is_none() && !has_others {
        report.info(match whole {
            Some((start, end)) => {
                let length = format_ns(end.saturating_sub(start));
                format!("No events in the chosen time range; the trace is from 0 to {length}.")
            }
            None => "The trace is empty: no event has a timestamp.".to_string(),
        });
    } else if trace.extent().is_some() && !has_slices && trace.samples.is_empty() {
        report.info("The trace has no slices, so time can't be attributed to names.");
    }
    if counts.unfinished > 0 {
        report.warning(format!(
            "{} no end. Durations extend to the end of the trace and are upper bounds.",
            counted(counts.unfinished, "slice has", "slices have")
        ));
    }
    if counts.open_states > 0 {
        report.info(format!(
            "{} no end and {} to the end of the trace.",
            counted(counts.open_states, "thread state has", "thread states have"),
            if counts.open_states == 1 { "lasts" } else { "last" },
        ));
    }
    if counts.overlapping > 0 {
        report.warning(format!(
            "{} another slice on the same thread, which shouldn't happen. Overlapping slices are on separate rows, and self time \
             goes to the one that started last.",
            counted(counts.overlapping, "slice partly overlaps", "slices partly overlap")
        ));
    }
    if counts.async_slices > 0 {
        report.info(format!(
            "{} listed separately. Async slices can overlap others, so they don't count as busy time.",
            counted(counts.async_slices, "async slice is", "async slices are")
        ));
    }
    if counts.legacy > 0 {
        let slices = counted(counts.legacy, "async slice uses", "async slices use");
        report.info(format!("{slices} the legacy event phases S, T, p and F."));
    }
}

fn known(time: i64, none: i64) -> Option<i64> {
    (time != none).then_some(time)
}

/// Threads with a name or with activity. A process that is only named implies a main thread without activity, which is
/// left out.
fn threads_of_note(trace: &Trace, counts: &Counts) -> Vec<usize> {
    let mut sampled = vec![false; trace.threads.len()];
    for thread in &trace.samples.thread {
        if let Some(sampled) = sampled.get_mut(thread.0 as usize) {
            *sampled = true;
        }
    }
    let of_note = |thread: &usize| {
        let thread = *thread;
        if trace.threads.overlap_of[thread].is_some() {
            return sampled[thread];
        }
        sampled[thread] || counts.threads[thread].is_active() || !trace.threads.name[thread].is_none()
    };
    (0..trace.threads.len()).filter(of_note).collect()
}

fn known_busy(activity: &Activity) -> Option<i64> {
    (!activity.busy_unknown).then_some(activity.busy_ns)
}

const BUSY_HINT: &str =
    "time with at least one open slice on a thread; excludes async slices and thread states";

fn process_table(trace: &Trace, counts: &Counts) -> Table {
    let mut threads = vec![0u64; trace.processes.len()];
    for thread in threads_of_note(trace, counts) {
        if let Some(n) = threads.get_mut(trace.threads.process[thread].0 as usize) {
            *n += 1;
        }
    }
    let mut rows: Vec<usize> = (0..trace.processes.len()).collect();
    let n_left_out = cut(&mut rows);
    let table = &trace.processes;
    let text = |id: &crate::base::strings::StringId| trace.strings.get_opt(*id);
    let table = Table::new(
        "processes",
        "Processes",
        vec![
            Column::key(
                "key",
                "pid",
                Content::Plain,
                texts(rows.iter().map(|row| Some(key_text(trace, table.key[*row])))),
            )
            .hint("as in the file; text in quotes"),
            Column::key(
                "name",
                "name",
                Content::Symbol,
                texts(rows.iter().map(|row| text(&table.name[*row]))),
            ),
            Column::text(
                "labels",
                "labels",
                Content::Plain,
                texts(rows.iter().map(|row| text(&table.labels[*row]))),
            ),
            Column::counts("threads", "threads", Unit::Count, rows.iter().map(|row| threads[*row])),
            Column::counts(
                "slices",
                "slices",
                Unit::Count,
                rows.iter().map(|row| counts.processes[*row].slices),
            )
            .hint("including async ones"),
            Column::counts(
                "instants",
                "instants",
                Unit::Count,
                rows.iter().map(|row| counts.processes[*row].instants),
            ),
            Column::integer(
                "busy",
                "busy",
                Unit::Ns,
                rows.iter().map(|row| &counts.processes[*row]).map(known_busy).collect(),
            )
            .with_bar()
            .hint(BUSY_HINT),
        ],
    );
    with_left_out(table, n_left_out)
}

fn thread_table(trace: &Trace, counts: &Counts) -> Table {
    let mut rows = threads_of_note(trace, counts);
    let n_left_out = cut(&mut rows);
    let start = trace.span().map_or(0, |(start, _)| start);
    let table = &trace.threads;
    let time = |get: &dyn Fn(&Activity) -> Option<i64>| -> Vec<Option<i64>> {
        rows.iter().map(|row| get(&counts.threads[*row]).map(|ts| ts.saturating_sub(start))).collect()
    };
    let (first, last) = (time(&|row| known(row.first, i64::MAX)), time(&|row| known(row.last, i64::MIN)));
    let table = Table::new(
        "threads",
        "Threads",
        vec![
            Column::key(
                "process",
                "process",
                Content::Plain,
                texts(rows.iter().map(|row| Some(process_label(trace, table.process[*row].0 as usize)))),
            ),
            Column::key(
                "key",
                "tid",
                Content::Plain,
                texts(rows.iter().map(|row| Some(key_text(trace, table.key[*row])))),
            )
            .hint("as in the file; text in quotes"),
            Column::key(
                "name",
                "name",
                Content::Symbol,
                texts(rows.iter().map(|row| trace.strings.get_opt(table.name[*row]))),
            ),
            Column::counts(
                "slices",
                "slices",
                Unit::Count,
                rows.iter().map(|row| counts.threads[*row].slices),
            ),
            Column::counts(
                "instants",
                "instants",
                Unit::Count,
                rows.iter().map(|row| counts.threads[*row].instants),
            ),
            Column::counts(
                "max_depth",
                "max depth",
                Unit::Count,
                rows.iter().map(|row| u64::from(counts.threads[*row].max_depth)),
            )
            .hint("largest number of nested slices"),
            integers("busy", "busy", Unit::Ns, rows.iter().map(|row| counts.threads[*row].busy_ns))
                .with_bar()
                .hint(BUSY_HINT),
            Column::integer("first", "first", Unit::NsOffset, first).hint("from the start of the trace"),
            Column::integer("last", "last", Unit::NsOffset, last).hint("from the start of the trace"),
        ],
    );
    with_left_out(table, n_left_out)
}
