//! What stands out among scoring calls: work that the cache could have saved, the probe that takes the most, calls that take far
//! longer than others of their operation.

use super::summary::{CallRef, RepeatedMiss, Summary};
use super::{INFO, share};
use crate::analysis::gpu::stats::percent;
use crate::base::hash::HashMap;
use crate::base::text::{IN_A_SENTENCE, shortened, visible};
use crate::base::units::{Unit, counted, format_ns, group_digits};
use crate::report::{Facts, Finding, Findings, RowsOf, Stakes};
use crate::trace::Run;

/// A finding is at least this share of the time of all calls.
const WORTH: f64 = 0.01;
/// A probe is worth naming from this share on, where there are several.
const LARGEST: f64 = 0.25;
/// What "usual" is takes so many misses of an operation to know.
const MIN_COUNT: usize = 8;
/// So many times the median is unusual.
const FAR: f64 = 4.0;
/// More calls of an operation than this share are not unusual.
const RARE: f64 = 0.1;

/// Milliseconds as whole nanoseconds, where that many can be told.
fn to_ns(ms: f64) -> Option<i64> {
    let ns = (ms * 1e6).round();
    (0.0..i64::MAX as f64).contains(&ns).then_some(ns as i64)
}

fn format_ms(ms: f64) -> String {
    to_ns(ms).map_or_else(|| format!("{ms:e} ms"), format_ns)
}

fn quoted(name: &str) -> String {
    format!("\u{201c}{}\u{201d}", visible(&shortened(name, IN_A_SENTENCE)))
}

fn rows_of(table: &str, filter: &str) -> RowsOf {
    RowsOf {
        report: INFO.id.to_string(),
        table: table.to_string(),
        filter: filter.to_string(),
        label: INFO.title.to_string(),
    }
}

/// `None` where nothing stands out. `is_appended` says that the file holds several runs, each of which began with an empty cache.
///
/// The slowest calls are a table where they are asked for.
pub fn of(run: &Run, summary: &Summary, repeated: &[RepeatedMiss], is_appended: bool) -> Option<Findings> {
    let total_ms = summary.total_wall_ms;
    let mut findings: Vec<Finding> = largest_probe(summary).into_iter().collect();
    findings.extend(computed_again(repeated, total_ms, is_appended));
    findings.extend(slow_calls(run, summary));
    findings.retain(|finding| finding.share.is_some_and(|share| share >= WORTH));
    if findings.is_empty() {
        return None;
    }
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.time));
    Some(Findings {
        title: "Findings".to_string(),
        caption: "Times are upper bounds: the most that fixing one could save.".to_string(),
        empty: String::new(),
        stakes: Stakes::Gain,
        findings,
    })
}

/// The probe with the most time, where there are several.
fn largest_probe(summary: &Summary) -> Option<Finding> {
    let largest = summary.probes.first().filter(|_| summary.probes.len() > 1)?;
    let share = share(largest.total_ms, summary.total_wall_ms).filter(|share| *share >= LARGEST)?;
    let mut facts = Facts::default();
    facts.push("total_ms", "total time", largest.total_ms, Unit::Ms);
    facts.push("n_events", "calls", largest.n_events, Unit::Count);
    facts.push("hit_rate", "cache hit rate", largest.hit_rate(), Unit::Ratio);
    let name = if largest.key.is_unassigned() { super::summary::UNASSIGNED } else { &largest.key.text };
    Some(Finding {
        id: "largest-probe".to_string(),
        text: format!(
            "Probe {} takes {} of the time, in {}.",
            quoted(name),
            percent(share),
            counted(largest.n_events, "call", "calls")
        ),
        time: to_ns(largest.total_ms),
        share: Some(share),
        evidence: facts.facts,
        rows: Some(rows_of("per_probe", name)),
    })
}

/// What had been computed before in the same file.
fn computed_again(repeated: &[RepeatedMiss], total_ms: f64, is_appended: bool) -> Option<Finding> {
    let again_ms: f64 = repeated.iter().map(|miss| miss.repeated_ms).sum();
    let n_misses: u64 = repeated.iter().map(|miss| miss.misses.saturating_sub(1)).sum();
    let share = share(again_ms, total_ms)?;
    let mut facts = Facts::default();
    facts.push("repeated_ms", "computed again", again_ms, Unit::Ms);
    facts.push("misses", "misses of known results", n_misses, Unit::Count);
    let after = if is_appended { " Runs appended to one file each start with an empty cache." } else { "" };
    Some(Finding {
        id: "computed-again".to_string(),
        text: format!(
            "{} ({}) went into {} that had been computed before: a larger or lasting cache would save them.{after}",
            format_ms(again_ms),
            percent(share),
            counted(n_misses, "result", "results")
        ),
        time: to_ns(again_ms),
        share: Some(share),
        evidence: facts.facts,
        rows: Some(rows_of("repeated_misses", "")),
    })
}

/// By operation, calls that were computed and took far longer than others; each one's excess over the median counts.
fn slow_calls(run: &Run, summary: &Summary) -> Vec<Finding> {
    let mut by_op: HashMap<&str, Vec<(f64, CallRef)>> = HashMap::default();
    for (trace, content) in run.traces.iter().enumerate() {
        let calls = &content.scoring_calls;
        for row in (0..calls.len()).filter(|row| !calls.hit[*row] && calls.wall_ms[*row].is_finite()) {
            let op = content.strings.get(calls.op[row]);
            by_op.entry(op).or_default().push((calls.wall_ms[row], CallRef { trace, row }));
        }
    }
    let mut found = Vec::new();
    for op in &summary.ops {
        let Some(calls) = by_op.get_mut(op.key.as_str()).filter(|calls| calls.len() >= MIN_COUNT) else {
            continue;
        };
        calls.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let median = calls[(calls.len() - 1) / 2].0;
        let n_slow = calls.len() - calls.partition_point(|call| call.0 < FAR * median);
        if median <= 0.0 || n_slow == 0 || n_slow as f64 > RARE * calls.len() as f64 {
            continue;
        }
        let slow = &calls[calls.len() - n_slow..];
        let (slowest_ms, excess_ms) =
            (slow[n_slow - 1].0, slow.iter().map(|call| call.0 - median).sum::<f64>());
        let mut facts = Facts::default();
        facts.push("excess_ms", "above the median", excess_ms, Unit::Ms);
        facts.push("n_slow", "slow calls", n_slow as u64, Unit::Count);
        facts.push("max_ms", "slowest", slowest_ms, Unit::Ms);
        facts.push("median_ms", "median", median, Unit::Ms);
        let verb = if n_slow == 1 { "takes" } else { "take" };
        found.push(Finding {
            id: "slow-calls".to_string(),
            text: format!(
                "{} of {} {} calls {verb} at least {FAR} times the median of {}; the slowest takes {}.",
                group_digits(n_slow as i128),
                group_digits(calls.len() as i128),
                quoted(&op.key),
                format_ms(median),
                format_ms(slowest_ms),
            ),
            time: to_ns(excess_ms),
            share: share(excess_ms, summary.total_wall_ms),
            evidence: facts.facts,
            rows: (!summary.slowest.is_empty()).then(|| rows_of("slowest", &op.key)),
        });
    }
    found
}
