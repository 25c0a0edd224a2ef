//! Data quality of a memory trace: run validity, manifest, and coverage of optional fields.

use super::clock::Clock;
use crate::analysis::Context;
use crate::analysis::memory_query::MemoryQuery;
use crate::analysis::run_files::{metadata_of, n_differing};
use crate::base::hash::HashMap;
use crate::base::json::{Dialect, Number, Parser, Token, unescape_to_string};
use crate::base::strings::StringId;
use crate::base::text::visible;
use crate::base::units::{Unit, counted};
use crate::memory::quality::{Collector, Coverage, Grade};
use crate::memory::telemetry::{RunValidity, StoredSummary, validity};
use crate::memory::{Kind, LabelledTrace};
use crate::memory_run::{check_sidecar_files, metadata};
use crate::report::{Block, Facts, Mark, Note, NoteLevel, Report};
use crate::trace::builder::issues::{MANIFEST_DIFFERS, RUN_CONTAMINATED};
use crate::trace::{Position, Trace};

/// Number of files of the run directory that are not those of its manifest. Reads the manifest.
pub fn n_files_differing(trace: &Trace) -> usize {
    n_differing(&check_sidecar_files(&trace.sidecar_files))
}

/// Adds whether the run can be trusted: its validity with the reasons, and whether its files are those of the manifest.
/// `n_differing` is that of [`n_files_differing`].
pub fn judge(view: &LabelledTrace<'_>, context: &Context<'_>, n_differing: usize, facts: &mut Facts) {
    // Files that are not those that were recorded make all else doubtful.
    if n_differing > 0 {
        let files = counted(n_differing as u64, "file differs", "files differ");
        facts.push("manifest", "Manifest", files, Unit::None).mark(Some(Mark::Bad));
    }
    let (judgement, reasons, is_derived) = run_validity(view.trace, &context.query.memory);
    let said = judgement.map_or("unknown", RunValidity::name);
    let validity = facts.push("run_validity", "Run validity", said, Unit::None);
    // Of a memray capture, only the times can be disturbed, and those are approximate anyway.
    let is_exact = collector_of(view) == Collector::Memray;
    validity.mark(match judgement {
        Some(RunValidity::Clean) => Some(Mark::Good),
        Some(RunValidity::Marginal) => Some(Mark::Fair),
        Some(RunValidity::Contaminated) => Some(Mark::Bad),
        None => (!is_exact).then_some(Mark::Fair),
    });
    let source = match (judgement, is_derived) {
        (None, _) => why_unknown(view.trace),
        (_, true) => "derived from the profiler overhead in the file".to_string(),
        (_, false) => "from the file".to_string(),
    };
    validity.hint(source);
    if !reasons.is_empty() {
        facts.push("failure_reasons", "Reasons", reasons.join("; "), Unit::None);
    }
    let coverage = &view.coverage;
    if !is_exact && coverage.n_rows > 0 && coverage.grade(collector_of(view)) == Grade::Fail {
        facts
            .push("grade", "mrm-trace grade", Grade::Fail.name(), Unit::None)
            .mark(Mark::Fair)
            .hint(what_it_tells(Grade::Fail, collector_of(view), coverage));
    }
}

/// Warns of what makes the numbers of a trace wrong. `n_differing` is that of [`n_files_differing`].
pub fn warn(view: &LabelledTrace<'_>, n_differing: usize, report: &mut Report) {
    tell_of_clock(view, report);
    if n_differing > 0 {
        let files = counted(
            n_differing as u64,
            "file in the run directory differs",
            "files in the run directory differ",
        );
        report.warning(format!("{files} from its manifest. See the report on the run directory."));
    }
    if look_like_instructions(view) {
        report.warning(
            "These look like instruction addresses, not data addresses: the addresses of each function are close together. \
             Record with `perf record -d` or `perf mem record`, and print with `perf script -F +addr`.",
        );
    }
}

/// Adds how much of the optional data was recorded.
pub fn add_coverage(view: &LabelledTrace<'_>, report: &mut Report) {
    let mut facts = Facts::new("Data quality");
    let coverage = &view.coverage;
    let collector = collector_of(view);
    let grade = coverage.grade(collector);
    facts.push("quality", "Available data", what_it_tells(grade, collector, coverage), Unit::None).hint(
        match collector {
            Collector::Memray => {
                "allocations have no latency or memory level, so none is expected".to_string()
            }
            _ => format!(
                "based on the share of accesses with latency and memory level; mrm-trace grade: {}",
                grade.name()
            ),
        },
    );
    for (id, label, n) in [
        ("latency_coverage", "With latency", coverage.with_latency),
        ("cache_level_coverage", "With memory level", coverage.with_cache_level),
        ("symbol_coverage", "With symbol", coverage.with_symbol),
    ] {
        facts.push(id, label, coverage.share(n), Unit::Ratio);
    }
    report.facts(facts);
    if grade == Grade::Fail && collector != Collector::Memray && coverage.n_rows > 0 {
        report.info(
            "Most accesses have no latency or memory level. The metrics here don't need them. To record them, use perf mem.",
        );
    }
}

/// Warning about a contaminated run, for everything that shows or exports its data; `None` for other runs.
pub fn contamination(trace: &Trace, query: &MemoryQuery) -> Option<&'static str> {
    (run_validity(trace, query).0 == Some(RunValidity::Contaminated)).then_some(
        "Contaminated run: something disturbed it during profiling. mrm-trace excludes such runs when it aggregates.",
    )
}

/// Short warning that precedes the numbers of an untrustworthy run.
pub fn first_word(trace: &Trace, query: &MemoryQuery) -> Option<&'static str> {
    if contamination(trace, query).is_some() {
        Some("Contaminated run.")
    } else if n_files_differing(trace) > 0 {
        Some("Run files differ from the manifest.")
    } else {
        None
    }
}

/// Adds parsing issues for an untrustworthy run, once everything is parsed.
pub fn file_issues(trace: &mut Trace) {
    let n_differing = n_files_differing(trace);
    let is_contaminated = contamination(trace, &MemoryQuery::default()).is_some();
    for (kind, n) in [(&MANIFEST_DIFFERS, n_differing), (&RUN_CONTAMINATED, usize::from(is_contaminated))] {
        if trace.ledger.count_of(kind.code) == 0 {
            (0..n).for_each(|_| trace.ledger.file(kind, Position::NOWHERE, b""));
        }
    }
}

/// Prefix for chart titles of a contaminated run, as charts are shared without the report.
const CONTAMINATED: &str = "Contaminated run: ";

/// Marks a report on a contaminated run: at the top and in each chart title.
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

/// Notes if timestamps are only approximate.
pub fn tell_of_clock(view: &LabelledTrace<'_>, report: &mut Report) {
    if view.trace.accesses.is_empty() {
        return;
    }
    match clock_of(view) {
        Clock::None => report.info(
            "All timestamps are 0, as in mrm-trace 0.1.0 with memray records. Ignore all metrics that depend on time.",
        ),
        Clock::TenMs => report.info(
            "Timestamps are accurate to about 10 ms: memray records have none, so each gets the time of the preceding memory \
             sample. Ignore retention times and intervals shorter than that.",
        ),
        Clock::Exact => {}
    }
}

/// How exact the times of the accesses are.
pub fn clock_of(view: &LabelledTrace<'_>) -> Clock {
    match collector_of(view) {
        _ if view.trace.source.format == "memray-seed" => Clock::None,
        Collector::Memray => Clock::TenMs,
        _ => Clock::Exact,
    }
}

/// Data available at a grade.
fn what_it_tells(grade: Grade, collector: Collector, coverage: &Coverage) -> &'static str {
    let knows_no_kind =
        collector == Collector::PerfMemLabelled && coverage.share(coverage.classified) < 0.001;
    match grade {
        _ if coverage.n_rows == 0 => "none",
        Grade::Pass if collector == Collector::Memray => "allocations and frees",
        Grade::Pass => "complete",
        Grade::Warn => "complete, with gaps",
        Grade::Fail if knows_no_kind => "no kinds",
        Grade::Fail => "no latency or memory levels",
    }
}

/// Collector from the metadata, else derived from the format.
fn collector_of(view: &LabelledTrace<'_>) -> Collector {
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

/// Run validity from the file or derived from its telemetry; the reasons, and whether it was derived.
pub fn run_validity(trace: &Trace, query: &MemoryQuery) -> (Option<RunValidity>, Vec<String>, bool) {
    let told = told_of(trace);
    let raw = |name: &str| told.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
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

/// Names and JSON values of what the file and the metadata of its run say.
fn told_of(trace: &Trace) -> Vec<(String, String)> {
    let beside = metadata_of(trace).as_ref().map(metadata::observer).unwrap_or_default();
    trace.source.metadata.iter().cloned().chain(beside).collect()
}

/// The text of a JSON string; other values as they are.
fn plain(value: &str) -> String {
    match Parser::new(value.as_bytes(), Dialect::Lenient).token() {
        Ok(Token::String(text)) => unescape_to_string(text),
        _ => value.to_string(),
    }
}

/// The reason why [`run_validity`] is unknown.
fn why_unknown(trace: &Trace) -> String {
    let told = told_of(trace);
    let is_told = |value: &str| !matches!(value, "" | "null" | "\"\"");
    let find = |is: &dyn Fn(&str) -> bool| {
        told.iter().find(|(name, value)| is(name) && is_told(value)).map(|(name, value)| (name, plain(value)))
    };
    if let Some((_, value)) = find(&|name| name == "run_validity") {
        return format!("“{}” in the file is neither clean, marginal nor contaminated", visible(&value));
    }
    match find(&|name| name.starts_with("observer_") && name != "observer_effect_summary") {
        Some((name, value)) => format!("{name} in the file is no number: “{}”", visible(&value)),
        None => "the profiler overhead was not recorded".to_string(),
    }
}

/// Size that functions rarely exceed.
const MAX_FUNCTION_BYTES: u64 = 1 << 20;

/// Whether the addresses of each symbol are as close together as a function's instructions, in a trace without other
/// evidence that they are data addresses.
fn look_like_instructions(view: &LabelledTrace<'_>) -> bool {
    let mut of_symbols: HashMap<(StringId, Option<StringId>), (u64, u64)> = HashMap::default();
    let mut n = 0u64;
    for (row, label) in view.accesses() {
        // Only data accesses have memory levels, and instructions don't get labels. Code may lack its symbol.
        let symbol = row.symbol.map(|id| view.trace.strings.get(id)).unwrap_or_default();
        if symbol == "[unknown]" && row.cache_level.is_none() {
            continue;
        }
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
    // A few accesses are not enough evidence.
    n >= 50 && of_symbols.len() >= 5 && of_symbols.len() as u64 * 4 <= n * 3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_but_of_no_use_is_named() {
        let of = |name: &str, value: &str| {
            let mut trace = Trace::default();
            trace.source.metadata.push((name.to_string(), value.to_string()));
            (run_validity(&trace, &MemoryQuery::default()).0, why_unknown(&trace))
        };
        let unknown = |why: &str| (None, why.to_string());
        assert_eq!(
            of("run_validity", "\"weird\""),
            unknown("“weird” in the file is neither clean, marginal nor contaminated")
        );
        assert_eq!(
            of("observer_cpu_overhead_pct_max", "\"11\""),
            unknown("observer_cpu_overhead_pct_max in the file is no number: “11”")
        );
        assert_eq!(of("run_validity", "null"), unknown("the profiler overhead was not recorded"));
    }
}
