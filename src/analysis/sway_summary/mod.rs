//! "Forward passes": time of an evaluation's scoring calls.
//!
//! Takes the scoring calls of a run; gives totals by probe, view and operation, the slowest calls, and duplicate
//! cache misses. The first tables are those of `sway trace`, see `export::reference`.

mod findings;
mod grid;
pub mod summary;

use self::summary::{Bucket, CallRef, ProbeName, Summary, find_repeated_misses, probe_of, top_k_of};
use super::findings::quoted;
use super::overview::time_of;
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::strings::StringId;
use crate::base::units::{Unit, counted, format_ratio};
use crate::report::{Column, Content, Facts, Report, Table, TextCells};
use crate::trace::Run;
use crate::trace::scoring_calls::ProbeKind;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "sway-summary",
    title: "Forward passes",
    applies,
    run: report,
    group: Group::Summary,
    is_late: false,
};

/// Tables that findings link to.
pub const PER_PROBE: TableHandle = TableHandle { report: &INFO, id: "per_probe" };
pub const PER_VIEW: TableHandle = TableHandle { report: &INFO, id: "per_view" };
pub const SLOWEST: TableHandle = TableHandle { report: &INFO, id: "slowest" };
pub const REPEATED_MISSES: TableHandle = TableHandle { report: &INFO, id: "repeated_misses" };

/// `id` of the format whose files get this report even if they contain no valid call.
const FORMAT: &str = "sway";

/// Row limit of tables by name; the rest is only counted.
const MAX_ROWS: usize = 10_000;

fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| !trace.scoring_calls.is_empty() || trace.source.format == FORMAT)
}

/// How the saving was found, for how many hits.
fn saved_in_words(saved: &grid::Saved) -> String {
    let hits = |n: u64| counted(n, "hit", "hits");
    let mut parts = Vec::new();
    if saved.n_exact > 0 {
        parts.push(format!(
            "{}: duration of the miss that stored the result, less that of the hit",
            hits(saved.n_exact)
        ));
    }
    if saved.n_estimated > 0 {
        parts.push(format!(
            "{} whose miss is not in the file: mean of the misses of the same operation and view, less the hit",
            hits(saved.n_estimated)
        ));
    }
    if saved.n_unknown > 0 {
        parts.push(format!("{} without any such miss: unknown, not included", hits(saved.n_unknown)));
    }
    parts.join("; ")
}

fn report(context: &Context<'_>) -> Report {
    let (run, query) = (context.run, context.query);
    let summary = Summary::compute(run, query.top as usize);
    let clock = read_clock(run);
    let repeated = find_repeated_misses(run);
    let mut report = Report::new(INFO.id, INFO.title);
    let saved = grid::saved_by_cache(run);
    let saving = saved.filter(|saved| saved.ms > 0.0).map(|saved| {
        let about = if saved.is_exact() { "" } else { "about " };
        format!(", which saved {about}{}", findings::format_ms(saved.ms))
    });
    report.summary = format!(
        "{} took {}; cache hit rate {}{}.{}",
        counted(summary.n_events, "call", "calls"),
        findings::format_ms(summary.total_wall_ms),
        format_ratio(summary.hit_rate()),
        saving.unwrap_or_default(),
        largest(&summary).unwrap_or_default()
    );
    if summary.n_events == 0 {
        report.warning("The file has no scoring calls.");
    }

    let repeated_ms = repeated.iter().map(|miss| miss.repeated_ms).fold(0.0, |sum: f64, ms| sum + ms);
    // The picture answers which probe and view take the time; the findings follow with words.
    if let Some(chart) = grid::chart(run, &summary) {
        report.chart(chart);
    }
    for findings in findings::of(run, &summary, &repeated, repeated_ms, clock.n_back > 0) {
        report.findings(findings);
    }
    let mut facts = Facts::new("Forward passes");
    facts
        .push("total_wall_ms", "Total time", summary.total_wall_ms, Unit::Ms)
        .hint("sum of wall_ms over all calls (compensated summation)");
    if let Some(saved) = saved {
        let label = if saved.is_exact() { "Saved by the cache" } else { "Saved by the cache (estimate)" };
        facts.push("cache_saved_ms", label, saved.ms, Unit::Ms).hint(saved_in_words(&saved));
    }
    facts
        .push("overall_hit_rate", "Cache hit rate", summary.hit_rate(), Unit::Ratio)
        .hint("cache hits / all calls");
    facts.push("events", "Calls", summary.n_events, Unit::Count).hint("lines parsed");
    facts.push("cache_hits", "Hits", summary.hits, Unit::Count);
    facts.push("cache_misses", "Misses", summary.n_events - summary.hits, Unit::Count);
    let is_outside = |probe: &ProbeName| probe.kind == ProbeKind::Text && probe.text == summary::UNASSIGNED;
    let n_probes = summary.probes.iter().filter(|probe| !is_outside(&probe.key)).count();
    facts.push("probes", "Probes", n_probes as u64, Unit::Count).hint("excludes calls outside of probes");
    facts.push("views", "Views", summary.views.len() as u64, Unit::Count);
    facts
        .push("repeated_ms", "Time in duplicate misses", repeated_ms, Unit::Ms)
        .hint("misses whose result was already computed earlier in the same file");
    for (trace, range) in
        run.traces.iter().filter_map(|it| it.part.and(it.reported()).map(|range| (it, range)))
    {
        facts
            .push("range", "Time range", time_of(trace, range), Unit::None)
            .hint("everything here is of the calls that touch it");
    }
    facts.push("first_ts", "First call ended", clock.first, Unit::UnixSeconds);
    facts.push("last_ts", "Last call ended", clock.last, Unit::UnixSeconds);
    if let Some(span_ms) = clock.span_ms {
        facts
            .push("span_ms", "Wall clock", span_ms, Unit::Ms)
            .hint("from the start of the first call to the end of the last");
        if span_ms > 0.0 && (0.0..=span_ms * 1.001).contains(&summary.total_wall_ms) {
            facts
                .push("busy_share", "Time in backend calls", summary.total_wall_ms / span_ms, Unit::Ratio)
                .hint("total time of calls / wall clock; the rest is outside the scoring backend");
        }
    }
    report.facts(facts);

    if clock.n_back > 0 {
        report.warning(format!(
            "Timestamps go backwards {}, so there is no wall-clock duration. Either the file contains several runs or the clock \
             was reset.",
            counted(clock.n_back, "time", "times")
        ));
    }
    if clock.n_not_finite > 0 {
        report.warning(format!(
            "{} a non-finite duration, so sums that include {} are non-finite too.",
            counted(clock.n_not_finite, "call has", "calls have"),
            if clock.n_not_finite == 1 { "it" } else { "them" }
        ));
    }

    report.table(bucket_table(
        (PER_PROBE.id, "Time by probe"),
        ("probe", "probe", Content::Plain),
        "One row per probe of the suite. Calls outside of probes are <unassigned>.",
        &summary.probes,
        |name| name.text.as_str(),
        summary.total_wall_ms,
    ));
    report.table(bucket_table(
        (PER_VIEW.id, "Time by view"),
        ("view_id", "view", Content::Plain),
        "One row per model state: base, fine-tuned (ft), scaled or randomized (null).",
        &summary.views,
        String::as_str,
        summary.total_wall_ms,
    ));
    report.table(bucket_table(
        ("per_op", "Time by operation"),
        ("op", "operation", Content::Symbol),
        "One row per operation of the scoring backend.",
        &summary.ops,
        String::as_str,
        summary.total_wall_ms,
    ));
    if query.top > 0 {
        report.table(slowest_table(run, &summary.slowest));
    }
    report.table(repeated_table(run, &repeated));
    report
}

/// ` Most time: probe null_calibration, 50.5%; view base, 38.7%.`, where there are several. `None` without any.
fn largest(summary: &Summary) -> Option<String> {
    let of = |noun: &str, name: &str, total_ms: f64, n: usize| {
        let share = share(total_ms, summary.total_wall_ms).filter(|_| n > 1)?;
        Some(format!("{noun} {}, {}", quoted(name), format_ratio(share)))
    };
    let probe = summary.probes.first();
    let probe = probe.and_then(|it| of("probe", &it.key.text, it.total_ms, summary.probes.len()));
    let view = summary.views.first();
    let view = view.and_then(|it| of("view", &it.key, it.total_ms, summary.views.len()));
    let all: Vec<String> = probe.into_iter().chain(view).collect();
    (!all.is_empty()).then(|| format!(" Most time: {}.", all.join("; ")))
}

/// Key fields of a call: probe (as in the report), view, operation, prompt and number of tokens.
pub fn call_names(run: &Run, trace: usize, row: usize) -> [String; 5] {
    let call = CallRef { trace, row };
    let (strings, calls) = (&run.traces[trace].strings, &run.traces[trace].scoring_calls);
    let probe = probe_of(run, call);
    let probe = if probe.is_unassigned() { summary::UNASSIGNED.to_string() } else { probe.text };
    let text = |id: StringId| strings.get(id).to_string();
    [probe, text(calls.view_id[row]), text(calls.op[row]), text(calls.prompt_hash[row]), top_k_of(run, call)]
}

/// Facts derived from the timestamps.
#[derive(Default)]
struct Clock {
    first: Option<f64>,
    last: Option<f64>,
    /// Present only if timestamps never go backwards and every call has one.
    span_ms: Option<f64>,
    n_back: u64,
    /// Calls whose `wall_ms` is NaN or infinite.
    n_not_finite: u64,
}

fn read_clock(run: &Run) -> Clock {
    let mut clock = Clock::default();
    let mut start = None;
    let mut sound = run.traces.len() == 1;
    for trace in &run.traces {
        let mut previous = f64::NEG_INFINITY;
        for (ts, wall_ms) in trace.scoring_calls.ts.iter().zip(&trace.scoring_calls.wall_ms) {
            clock.n_not_finite += u64::from(!wall_ms.is_finite());
            // A missing timestamp is parsed as zero.
            if !ts.is_finite() || *ts <= 0.0 {
                sound = false;
                continue;
            }
            clock.n_back += u64::from(*ts < previous);
            previous = *ts;
            start.get_or_insert(ts - wall_ms / 1000.0);
            clock.first = Some(clock.first.map_or(*ts, |first| first.min(*ts)));
            clock.last = Some(clock.last.map_or(*ts, |last| last.max(*ts)));
        }
    }
    if sound && clock.n_back == 0 {
        let span = start.zip(clock.last).map(|(start, last)| (last - start) * 1000.0);
        clock.span_ms = span.filter(|span| span.is_finite() && *span >= 0.0);
    }
    clock
}

/// `part / whole` if finite.
fn share(part: f64, whole: f64) -> Option<f64> {
    Some(part / whole).filter(|share| share.is_finite() && whole > 0.0)
}

fn bucket_table<K>(
    (id, title): (&'static str, &str),
    (key_id, key_label, content): (&'static str, &str, Content),
    caption: &str,
    buckets: &[Bucket<K>],
    name: impl Fn(&K) -> &str,
    total_wall_ms: f64,
) -> Table {
    let n_left_out = buckets.len().saturating_sub(MAX_ROWS);
    let buckets = &buckets[..buckets.len() - n_left_out];
    let floats = |value: &dyn Fn(&Bucket<K>) -> Option<f64>| buckets.iter().map(value).collect::<Vec<_>>();
    let columns = vec![
        Column::key(key_id, key_label, content, buckets.iter().map(|bucket| name(&bucket.key)).collect()),
        Column::counts("n_events", "calls", Unit::Count, buckets.iter().map(|bucket| bucket.n_events))
            .adds_up(),
        Column::float("total_ms", "total ms", Unit::Ms, floats(&|bucket| Some(bucket.total_ms)))
            .with_bar()
            .adds_up(),
        Column::float(
            "share",
            "% of time",
            Unit::Ratio,
            floats(&|bucket| share(bucket.total_ms, total_wall_ms)),
        )
        .hint("percentage of the total time of all calls"),
        Column::counts("cache_hits", "hits", Unit::Count, buckets.iter().map(|bucket| bucket.hits)).adds_up(),
        Column::counts("cache_misses", "misses", Unit::Count, buckets.iter().map(Bucket::misses)).adds_up(),
        Column::float("hit_rate", "hit rate", Unit::Ratio, floats(&|bucket| Some(bucket.hit_rate()))),
        Column::float(
            "mean_ms",
            "mean ms",
            Unit::Ms,
            floats(&|bucket| Some(bucket.total_ms / bucket.n_events as f64)),
        )
        .hint("including hits"),
        Column::float(
            "max_ms",
            "max ms",
            Unit::Ms,
            floats(&|bucket| Some(bucket.max_ms).filter(|max| *max > f64::NEG_INFINITY)),
        ),
    ];
    let mut table = Table::new(id, title, columns).sorted_by("total_ms", true).caption(caption);
    table.empty = "No calls.".to_string();
    table.n_left_out = n_left_out as u64;
    table
}

/// Text cells of one column of the calls.
fn call_texts(
    run: &Run,
    calls: impl Iterator<Item = CallRef>,
    column: impl Fn(&crate::trace::scoring_calls::ScoringCallTable) -> &[StringId],
) -> TextCells {
    calls
        .map(|call| {
            let trace = &run.traces[call.trace];
            trace.strings.get(column(&trace.scoring_calls)[call.row])
        })
        .collect()
}

/// `top_k` as a column: numbers if all fit, else their digits.
fn top_k_column(run: &Run, calls: &[CallRef]) -> Column {
    let digits: Vec<String> = calls.iter().map(|call| top_k_of(run, *call)).collect();
    let numbers: Option<Vec<i64>> = digits.iter().map(|digits| digits.parse().ok()).collect();
    match numbers {
        Some(numbers) => {
            Column::integer("top_k", "top k", Unit::Count, numbers.into_iter().map(Some).collect())
        }
        None => Column::text("top_k", "top k", Content::Plain, digits.iter().map(String::as_str).collect()),
    }
}

fn slowest_table(run: &Run, slowest: &[CallRef]) -> Table {
    let calls = || slowest.iter().copied();
    let number = |column: &dyn Fn(&crate::trace::scoring_calls::ScoringCallTable, usize) -> f64| {
        calls().map(|call| Some(column(&run.traces[call.trace].scoring_calls, call.row))).collect::<Vec<_>>()
    };
    let mut probes = TextCells::default();
    for call in calls() {
        let name = probe_of(run, call);
        probes.push(Some(name.text.as_str()).filter(|_| !name.is_unassigned()));
    }
    let columns = vec![
        Column::text("probe", "probe", Content::Plain, probes),
        Column::text("view_id", "view", Content::Plain, call_texts(run, calls(), |calls| &calls.view_id)),
        Column::text("op", "operation", Content::Symbol, call_texts(run, calls(), |calls| &calls.op)),
        Column::text(
            "prompt_hash",
            "prompt",
            Content::Plain,
            call_texts(run, calls(), |calls| &calls.prompt_hash),
        )
        .hint("hash of the scored prompt"),
        top_k_column(run, slowest),
        Column::float("wall_ms", "ms", Unit::Ms, number(&|calls, row| calls.wall_ms[row])).with_bar(),
        Column::bool(
            "hit",
            "hit",
            calls().map(|call| Some(run.traces[call.trace].scoring_calls.hit[call.row])).collect(),
        ),
        Column::float("ts", "ended at", Unit::UnixSeconds, number(&|calls, row| calls.ts[row]))
            .hint("wall clock, seconds since the Unix epoch"),
    ];
    Table::new(SLOWEST.id, format!("Slowest {} calls", slowest.len()), columns)
        .sorted_by("wall_ms", true)
        .caption("One row per call; ties in file order.")
        .if_empty("No calls.")
}

fn repeated_table(run: &Run, repeated: &[summary::RepeatedMiss]) -> Table {
    let n_left_out = repeated.len().saturating_sub(MAX_ROWS);
    let repeated = &repeated[..repeated.len() - n_left_out];
    let firsts: Vec<CallRef> = repeated.iter().map(|miss| miss.first).collect();
    let calls = || firsts.iter().copied();
    let columns = vec![
        Column::text("op", "operation", Content::Symbol, call_texts(run, calls(), |calls| &calls.op))
            .as_key(),
        Column::text("view_id", "view", Content::Plain, call_texts(run, calls(), |calls| &calls.view_id))
            .as_key(),
        Column::text(
            "prompt_hash",
            "prompt",
            Content::Plain,
            call_texts(run, calls(), |calls| &calls.prompt_hash),
        )
        .as_key(),
        top_k_column(run, &firsts).as_key(),
        Column::counts("cache_misses", "misses", Unit::Count, repeated.iter().map(|miss| miss.misses)),
        Column::float(
            "total_ms",
            "total ms",
            Unit::Ms,
            repeated.iter().map(|miss| Some(miss.total_ms)).collect(),
        ),
        Column::float(
            "repeated_ms",
            "duplicate ms",
            Unit::Ms,
            repeated.iter().map(|miss| Some(miss.repeated_ms)).collect(),
        )
        .with_bar()
        .hint("time of all misses after the first: what a larger or persistent cache would save"),
    ];
    let mut table = Table::new(REPEATED_MISSES.id, "Duplicate cache misses", columns)
        .sorted_by("repeated_ms", true)
        .caption(
            "One row per cache key with more than one miss. If the file contains several runs, each starts with an empty cache, \
             so some duplicates are expected.",
        )
        .if_empty("No duplicate cache misses.");
    table.n_left_out = n_left_out as u64;
    table
}
