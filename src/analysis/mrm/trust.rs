//! Whether the trace can be trusted: what is known of the run, what the rows say, and what they do not.

use crate::analysis::Context;
use crate::analysis::memory_query::MemoryQuery;
use crate::analysis::mrm_run::{metadata_of, n_differing};
use crate::base::hash::HashMap;
use crate::base::json::{Dialect, Number, Parser, Token, unescape_to_string};
use crate::base::strings::StringId;
use crate::base::units::{Unit, counted};
use crate::memory::quality::{Collector, Coverage, Grade};
use crate::memory::telemetry::{RunValidity, StoredSummary, validity};
use crate::memory::{Kind, View};
use crate::memory_run::{check_beside, metadata};
use crate::report::{Block, Facts, Mark, Note, NoteLevel, Report};
use crate::trace::builder::issues::{MANIFEST_DIFFERS, RUN_CONTAMINATED};
use crate::trace::{Position, Trace};

/// Adds what stands at the top.
pub fn add(view: &View<'_>, context: &Context<'_>, report: &mut Report) {
    let mut facts = Facts::new("Trust");
    let (judgement, reasons, is_derived) = run_validity(view.trace, &context.query.memory);
    let said = judgement.map_or("not known", RunValidity::name);
    let validity = facts.push("run_validity", "Run", said, Unit::None);
    validity.mark(judgement.map(|judgement| match judgement {
        RunValidity::Clean => Mark::Good,
        RunValidity::Marginal => Mark::Fair,
        RunValidity::Contaminated => Mark::Bad,
    }));
    validity.hint(match (judgement, is_derived) {
        (None, _) => "the file says nothing of what watching the run cost",
        (_, true) => "derived from what the file says of the observer",
        (_, false) => "as the file says",
    });
    if !reasons.is_empty() {
        facts.push("failure_reasons", "Because", reasons.join("; "), Unit::None);
    }
    let n_differing = n_differing(&check_beside(&view.trace.beside));
    if n_differing > 0 {
        let files = counted(n_differing as u64, "file differs", "files differ");
        facts.push("manifest", "Manifest", files, Unit::None).mark(Some(Mark::Bad));
    }
    let coverage = &view.coverage;
    let collector = collector_of(view);
    let grade = coverage.grade(collector);
    facts.push("quality", "What it can tell", what_it_tells(grade, collector, coverage), Unit::None).hint(
        match collector {
            Collector::Memray => {
                "allocations have no latency and no level of memory, so nothing is asked of them".to_string()
            }
            _ => format!(
                "by the share of accesses with a latency and a level of memory; mrm-trace calls it {}",
                grade.name()
            ),
        },
    );
    for (id, label, n) in [
        ("latency_coverage", "With latency", coverage.with_latency),
        ("cache_level_coverage", "With level of memory", coverage.with_cache_level),
        ("symbol_coverage", "With symbol", coverage.with_symbol),
    ] {
        facts.push(id, label, coverage.share(n), Unit::Ratio);
    }
    report.facts(facts);
    tell_of_clock(view, report);
    if n_differing > 0 {
        let files =
            counted(n_differing as u64, "file of the run directory is", "files of the run directory are");
        report.warning(format!("{files} not as its manifest says; see the report on the run directory."));
    }
    if grade == Grade::Fail && collector != Collector::Memray && coverage.n_rows > 0 {
        report.info(
            "Most accesses have no latency or no level of memory. The metrics here need neither; record with perf mem to have them.",
        );
    }
    if look_like_instructions(view) {
        report.warning(
            "These look like addresses of instructions, not of data: each function has its addresses close together. \
             Record with `perf record -d` or `perf mem record`, and print with `perf script -F +addr`.",
        );
    }
}

/// What is said of a run that was disturbed, wherever something of it is shown or written; `None` of one that was not.
pub fn contamination(trace: &Trace, query: &MemoryQuery) -> Option<&'static str> {
    (run_validity(trace, query).0 == Some(RunValidity::Contaminated)).then_some(
        "Contaminated run: it was disturbed while it was watched, so mrm-trace would leave it out where runs are put together.",
    )
}

/// What comes before any number of a run that cannot be trusted.
pub fn first_word(trace: &Trace, query: &MemoryQuery) -> Option<&'static str> {
    if contamination(trace, query).is_some() {
        Some("Contaminated run.")
    } else if n_differing(&check_beside(&trace.beside)) > 0 {
        Some("Files of the run differ from its manifest.")
    } else {
        None
    }
}

/// Files in the ledger what makes a run untrustworthy, once all of it is read.
pub fn file_issues(trace: &mut Trace) {
    let n_differing = n_differing(&check_beside(&trace.beside));
    let is_contaminated = contamination(trace, &MemoryQuery::default()).is_some();
    for (kind, n) in [(&MANIFEST_DIFFERS, n_differing), (&RUN_CONTAMINATED, usize::from(is_contaminated))] {
        if trace.ledger.count_of(kind.code) == 0 {
            (0..n).for_each(|_| trace.ledger.file(kind, Position::NOWHERE, b""));
        }
    }
}

/// What the titles of pictures of such a run begin with, as pictures go on alone.
const CONTAMINATED: &str = "Contaminated run: ";

/// Has a report on a run that was disturbed say so: at its top and in each picture.
pub fn mark(trace: &Trace, query: &MemoryQuery, report: &mut Report) {
    let Some(warning) = contamination(trace, query) else { return };
    let note = Note { level: NoteLevel::Warning, text: warning.to_string() };
    report.blocks.insert(0, Block::Note(note));
    for block in &mut report.blocks {
        if let Block::Chart(chart) = block {
            chart.title.insert_str(0, CONTAMINATED);
        }
    }
}

/// Says so if times are no more than about right.
pub fn tell_of_clock(view: &View<'_>, report: &mut Report) {
    if view.trace.accesses.is_empty() {
        return;
    }
    if view.trace.source.format == "memray-seed" {
        report.info("All times are 0, as mrm-trace 0.1.0 reads records of memray: what follows from times says nothing.");
    } else if collector_of(view) == Collector::Memray {
        report.info(
            "Times are approximate (10 ms): records of memray have none of their own, so each has that of the last measurement of \
             memory before it. What is kept shorter than that, and intervals below it, say nothing.",
        );
    }
}

/// What a trace of that grade answers, or does not.
fn what_it_tells(grade: Grade, collector: Collector, coverage: &Coverage) -> &'static str {
    let knows_no_kind =
        collector == Collector::PerfMemLabelled && coverage.share(coverage.classified) < 0.001;
    match grade {
        _ if coverage.n_rows == 0 => "nothing",
        Grade::Pass if collector == Collector::Memray => "what is allocated and freed",
        Grade::Pass => "everything",
        Grade::Warn => "everything, with gaps",
        Grade::Fail if knows_no_kind => "nothing by kind",
        Grade::Fail => "no latency or levels",
    }
}

/// What was written about it, else what the format tells.
fn collector_of(view: &View<'_>) -> Collector {
    let metadata = metadata_of(view.trace);
    let told = metadata.as_ref().and_then(|metadata| metadata.at("collector.type")?.as_str());
    if let Some(told) = told {
        return Collector::of_name(told);
    }
    match view.trace.source.format {
        "memray" | "memray-seed" => Collector::Memray,
        "perf-text" | "perf-text-seed" => Collector::PerfMem,
        _ if view.trace.accesses.is_labelled() => Collector::PerfMemLabelled,
        _ => Collector::Other,
    }
}

/// What the file says of itself, or what follows from that; the reasons, and whether it was derived.
pub fn run_validity(trace: &Trace, query: &MemoryQuery) -> (Option<RunValidity>, Vec<String>, bool) {
    let beside = metadata_of(trace).as_ref().map(metadata::observer).unwrap_or_default();
    let told = || trace.source.metadata.iter().chain(&beside);
    let raw = |name: &str| told().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let plain = |value: &str| match Parser::new(value.as_bytes(), Dialect::Lenient).token() {
        Ok(Token::String(text)) => unescape_to_string(text),
        _ => value.to_string(),
    };
    if let Some(stored) = raw("run_validity").and_then(|value| RunValidity::of_name(&plain(value))) {
        return (Some(stored), Vec::new(), false);
    }
    let number = |name: &str| Number::as_f64(raw(name)?.as_bytes());
    let count = |name: &str| Number::as_i64(raw(name)?.as_bytes());
    let stored = StoredSummary {
        observer_cpu_overhead_pct_max: number("observer_cpu_overhead_pct_max"),
        observer_cpu_overhead_pct_mean: number("observer_cpu_overhead_pct_mean"),
        observer_memory_overhead_mb_peak: number("observer_memory_overhead_mb_peak"),
        observer_memory_overhead_frac: number("observer_memory_overhead_frac"),
        thermal_throttle_events: count("thermal_throttle_events"),
        baseline_cpu_pct: number("baseline_cpu_pct"),
        io_contention_detected: raw("io_contention_detected").map(|value| value == "true"),
        peak_temp_c: number("peak_temp_c"),
    };
    if stored == StoredSummary::default() {
        return (None, Vec::new(), false);
    }
    let rules = query.validity_rules;
    let target = number("target_rss_mb_peak").unwrap_or(0.0);
    let (judgement, reasons) = validity(&stored.conditions(target, rules), rules);
    (Some(judgement), reasons, true)
}

/// A function is rarely longer than this.
const MAX_FUNCTION_BYTES: u64 = 1 << 20;

/// Whether the addresses of each symbol lie as close together as a function's instructions, in a trace in which nothing
/// else says that they are data.
fn look_like_instructions(view: &View<'_>) -> bool {
    let mut of_symbols: HashMap<(StringId, Option<StringId>), (u64, u64)> = HashMap::default();
    let mut n = 0u64;
    for (row, label) in view.accesses() {
        // Levels of memory are said of data only, and nobody labels instructions.
        let symbol = row.symbol.map(|id| view.trace.strings.get(id)).unwrap_or_default();
        if row.cache_level.is_some()
            || symbol.is_empty()
            || symbol.starts_with('[')
            || label.kind == Kind::KV_CACHE
        {
            return false;
        }
        n += 1;
        let (low, high) = of_symbols
            .entry((row.symbol.unwrap_or(StringId::EMPTY), row.dso))
            .or_insert((row.address, row.address));
        *low = (*low).min(row.address);
        *high = (*high).max(row.address);
        if *high - *low > MAX_FUNCTION_BYTES {
            return false;
        }
    }
    // Few accesses prove nothing.
    n >= 50 && of_symbols.len() >= 5 && of_symbols.len() as u64 * 4 <= n * 3
}
