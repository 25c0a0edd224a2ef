//! Summary of all kinds, with notes where the numbers are misleading.

use super::clock::Clock;
use super::tables::Source;
use super::trust;
use crate::analysis::timeline::texts;
use crate::base::sort;
use crate::base::units::{Unit, counted, format_float, format_ratio};
use crate::memory::Kind;
use crate::memory::kept::Kept;
use crate::memory::suitability::{Suitability, Thresholds};
use crate::memory::summary::KindSummary;
use crate::report::{Column, Content, Facts, Mark, Report, Table};
use crate::trace::accesses::PAGE_BITS;

/// Reads per write of a kind; `None` without writes, where it would be infinite.
fn reads_per_write(row: &KindSummary) -> Option<f64> {
    (row.writes > 0).then(|| row.reads as f64 / row.writes as f64)
}

/// The kind whose retention readers ask for first: the key/value cache if there is one, else the most accessed known kind.
fn kind_in_question<'a>(source: &Source<'a, '_>) -> Option<&'a KindSummary> {
    let known = || source.kinds.iter().filter(|row| row.kind != Kind::UNKNOWN && row.n_regions > 0);
    let cache = known().find(|row| row.kind == Kind::KV_CACHE);
    cache.or_else(|| known().max_by_key(|row| row.reads + row.writes))
}

/// How long data of a kind is kept: by block for the key/value cache, else by region; and the noun for what is counted.
fn kept_of(source: &Source<'_, '_>, kind: Kind) -> (Kept, &'static str) {
    if kind == Kind::KV_CACHE {
        return (Kept::of_blocks(&source.view.kv_blocks), "block");
    }
    let regions = source.view.metrics.regions.iter().filter(|region| region.kind == kind);
    (Kept::of_regions(regions), "region")
}

/// `348 blocks: 51.4% are never read after being written; lifetime p50 of the others 672.5 ms, p90 1.680 s, p99 2.330 s`. Without
/// the median where a fact already shows it.
pub fn kept_in_words(kept: &Kept, noun: &str, with_median: bool, clock: Clock) -> String {
    let n = counted(kept.n as u64, noun, &format!("{noun}s"));
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| clock.words(kept.quantile(q).unwrap_or(0)));
    // All the same to the clock.
    let is_single = kept.n_read() == 1 || p50 == p99 && clock != Clock::Exact;
    let spread = |others: &str| match (with_median, is_single) {
        (true, true) => format!("{}{others} {p50}", of_noun(noun)),
        (true, false) => format!("{} p50{others} {p50}, p90 {p90}, p99 {p99}", of_noun(noun)),
        (false, true) => String::new(),
        (false, false) => format!("p90{others} {p90}, p99 {p99}"),
    };
    let share = kept.never_read().unwrap_or(0.0);
    let never = match kept.n_never_read {
        _ if kept.n_read() == 0 => "never read after being written".to_string(),
        0 => String::new(),
        1 => format!("{} is never read after being written", format_ratio(share)),
        _ => format!("{} are never read after being written", format_ratio(share)),
    };
    let spread = match (kept.n_read(), kept.n_never_read) {
        (0, _) => String::new(),
        (_, 0) => spread(""),
        (1, _) => spread(" of the other"),
        _ => spread(" of the others"),
    };
    let parts: Vec<String> = [never, spread].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { n } else { format!("{n}: {}", parts.join("; ")) }
}

/// What is measured of blocks and of regions: the word in all texts and tables.
fn of_noun(noun: &str) -> &'static str {
    if noun == "block" { "lifetime" } else { "retention" }
}

/// ` Block lifetime of kv_cache: 672.5 ms (p50 of blocks read).`; `None` if none is read.
pub fn kept_sentence(source: &Source<'_, '_>) -> Option<String> {
    let row = kind_in_question(source)?;
    let (kept, noun) = kept_of(source, row.kind);
    let clock = trust::clock_of(source.view);
    let median = kept.quantile(0.5).filter(|_| kept.n_read() > 0 && clock != Clock::None)?;
    Some(format!(
        " {} {} of {}: {} (p50 of {noun}s read).",
        if noun == "block" { "Block" } else { "Region" },
        of_noun(noun),
        source.view.kinds.name(row.kind),
        clock.words(median)
    ))
}

/// How long data is kept, how much memory is touched, and how many accesses say so.
pub fn facts(source: &Source<'_, '_>, facts: &mut Facts) {
    let (view, clock) = (source.view, trust::clock_of(source.view));
    if let Some(row) = kind_in_question(source) {
        let (kept, noun) = kept_of(source, row.kind);
        let hint = match kept.n {
            0 => "no store in the trace".to_string(),
            _ => kept_in_words(&kept, noun, false, clock),
        };
        let (median, unit) = clock.value(kept.quantile(0.5));
        let label = format!("{} {noun} {} (p50 of those read)", view.kinds.name(row.kind), of_noun(noun));
        facts.push("kept", &label, median, unit).hint(hint);
    }
    let bytes = view.pages.len().saturating_mul(1 << PAGE_BITS);
    facts
        .push("bytes", "Memory touched", bytes, Unit::Bytes)
        .hint("distinct 4 KiB pages hit by a sample; the working sets of the kinds add up to more if regions share pages");
    facts.push("accesses", "Accesses", view.coverage.n_rows, Unit::Count);
}

fn ns_of(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// Reason for the suitability of a kind.
fn reason(thresholds: &Thresholds, row: &KindSummary, clock: Clock) -> String {
    let time = |seconds| match clock.can_tell(ns_of(seconds)) {
        true => format_float(seconds, Unit::Seconds),
        false => clock.words(ns_of(seconds)),
    };
    thresholds.reason(row.write_once_ratio_mean, row.retention_p99_s, row.retention_p50_s, &time)
}

/// Summary table with one row per kind.
pub fn table(source: &Source<'_, '_>, thresholds: &Thresholds) -> Table {
    let mut rows: Vec<&KindSummary> = source.kinds.iter().collect();
    sort::by_key(&mut rows, |row| std::cmp::Reverse(row.total_pages));
    let all: u64 = source.view.coverage.n_rows.max(1);
    let share = |row: &&KindSummary| Some(row.n_accesses as f64 / all as f64);
    let clock = trust::clock_of(source.view);
    let kept = |row: &&KindSummary| Some(row.retention_p50_s).filter(|s| clock.can_tell(ns_of(*s)));
    let reason = |row: &KindSummary| reason(thresholds, row, clock);
    let mut caption = "MRM (managed-retention memory) keeps data for a limited time. It suits data that is written once and kept \
                       long."
        .to_string();
    if rows.iter().any(|row| row.kind == Kind::KV_CACHE) {
        caption.push_str(
            " Region retention counts regions never read as 0, as in mrm-trace. Block lifetimes of the KV cache are another \
             measure: of single blocks, and only of those that are read.",
        );
    }
    Table::new(
        "kinds",
        "Memory kinds",
        vec![
            Column::key(
                "kind",
                "kind",
                Content::Plain,
                texts(rows.iter().map(|row| Some(source.view.kinds.name(row.kind)))),
            ),
            Column::text(
                "suitability",
                "MRM suitability",
                Content::Plain,
                texts(rows.iter().map(|row| Some(row.suitability.words()))),
            )
            .by_row(),
            Column::float("share", "% of accesses", Unit::Ratio, rows.iter().map(share).collect()).with_bar(),
            Column::float(
                "kept",
                "region retention p50",
                Unit::Seconds,
                rows.iter().map(kept).collect(),
            )
            .hint(
                "by region, over all of them; 0 for those never read after the first write; interpolated between two \
                 regions, as in mrm-trace",
            )
            .by_row(),
            Column::counts("reads", "reads", Unit::Count, rows.iter().map(|row| row.reads)).adds_up(),
            Column::counts("writes", "writes", Unit::Count, rows.iter().map(|row| row.writes)).adds_up(),
            Column::float(
                "ratio",
                "reads per write",
                Unit::Plain,
                rows.iter().map(|row| reads_per_write(row)).collect(),
            )
            .hint("over all accesses of the kind; empty without writes")
            .by_row(),
            Column::counts(
                "bytes",
                "working set",
                Unit::Bytes,
                rows.iter().map(|row| row.total_pages.saturating_mul(4096)),
            )
            .hint("4 KiB pages hit by a sample; a page counts once per region")
            .with_bar()
            // Kinds share pages.
            .by_row(),
            Column::float(
                "written_once",
                "written once",
                Unit::Ratio,
                rows.iter().map(|row| row.write_once_ratio_mean).collect(),
            )
            .hint("mean over the regions with stores; empty without stores")
            .by_row(),
            Column::text("reason", "reason", Content::Plain, texts(rows.iter().map(|row| Some(reason(row))))),
        ],
    )
    .sorted_by("bytes", true)
    .caption(caption)
}

/// MRM suitability of each kind with the reason, as facts at the top: a table has no room for sentences.
pub fn suitability(source: &Source<'_, '_>, thresholds: &Thresholds) -> Facts {
    let mut facts = Facts::new("MRM suitability");
    for row in source.kinds {
        let name = source.view.kinds.name(row.kind);
        let id: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        let mark = match row.suitability {
            Suitability::High => Mark::Good,
            Suitability::Medium => Mark::Plain,
            Suitability::Low => Mark::Fair,
        };
        let why = reason(thresholds, row, trust::clock_of(source.view));
        facts.push(&format!("suits_{id}"), name, row.suitability.words(), Unit::None).hint(why).mark(mark);
    }
    facts
}

/// Notes on misleading numbers.
pub fn notes(source: &Source<'_, '_>, report: &mut Report) {
    let view = source.view;
    let names = |wanted: &dyn Fn(&KindSummary) -> bool| {
        let rows = source.kinds.iter().filter(|row| wanted(row));
        let name = |row: &KindSummary| match row.kind {
            Kind::UNKNOWN => "unknown kind".to_string(),
            kind => format!("kind {}", view.kinds.name(kind)),
        };
        rows.map(name).collect::<Vec<_>>().join(" or ")
    };
    let unwritten = names(&|row| row.writes == 0 && row.reads > 0);
    if !unwritten.is_empty() {
        report.info(format!(
            "Memory of {unwritten} was never written in this trace, so tables by region show 0 reads per write. For data \
             written before the trace started, retention counts from the first read."
        ));
    }
    let unread = names(&|row| row.reads == 0 && row.writes > 0);
    if !unread.is_empty() {
        report.info(format!(
            "Memory of {unread} was never read in this trace, so its retention is unknown and shown as 0."
        ));
    }
    if !view.trace.accesses.is_in_time_order() {
        report.info(
            "Accesses aren't sorted by time. Metrics and block lifetimes sort them; labels use file order, as in mrm-trace, so a \
             region's first_seen_ns can be later than some of its accesses.",
        );
    }
    if source.kinds.iter().any(|row| row.kind == Kind::UNKNOWN) {
        report.info(
            "Accesses of unknown kind count as one region, so its metrics are not meaningful. To classify them, add rules, address \
             ranges or phases.",
        );
    }
}
