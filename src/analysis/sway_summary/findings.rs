//! Findings for scoring calls: the most expensive probes and views, avoidable cache misses, calls far slower than others of the same
//! operation.

use super::summary::{Bucket, RepeatedMiss, Summary, UNASSIGNED};
use super::{PER_PROBE, PER_VIEW, REPEATED_MISSES, SLOWEST, share};
use crate::analysis::TableHandle;
use crate::analysis::findings::{consumers, opportunities, quoted, rows_of, worth_saying};
use crate::analysis::gpu::stats::percent;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::{Unit, counted, format_float, format_ns, group_digits};
use crate::report::{Facts, Finding, Findings};
use crate::trace::Run;

/// Smallest share of time that makes a probe or view a finding if there are several, and the maximum number of each.
const LARGEST: f64 = 0.1;
const MAX_LARGEST: usize = 5;
/// Fewest misses of an operation needed for a meaningful median.
const MIN_COUNT: usize = 8;
/// A call is slow from this multiple of the median on.
const FAR: f64 = 4.0;
/// Largest share of an operation's calls that may be slow.
const RARE: f64 = 0.1;

/// Milliseconds as whole nanoseconds; `None` if out of range.
fn to_ns(ms: f64) -> Option<i64> {
    let ns = (ms * 1e6).round();
    (0.0..i64::MAX as f64).contains(&ns).then_some(ns as i64)
}

/// Milliseconds in the unit that suits them.
pub fn format_ms(ms: f64) -> String {
    to_ns(ms).map_or_else(|| format!("{} ms", format_float(ms, Unit::Ms)), format_ns)
}

/// Findings of the run. `repeated_ms` is the time of the repeated misses. With `is_appended`, the file
/// may contain several runs, and then each began with an empty cache.
pub fn of(
    run: &Run,
    summary: &Summary,
    repeated: &[RepeatedMiss],
    repeated_ms: f64,
    is_appended: bool,
) -> Vec<Findings> {
    let total = summary.total_wall_ms;
    let mut largest = consumers_of("probe", PER_PROBE, &summary.probes, total, |name| &name.text);
    largest.extend(consumers_of("view", PER_VIEW, &summary.views, total, |name| name));
    sort::by_key(&mut largest, |finding| std::cmp::Reverse(finding.time));
    let share_again = share(repeated_ms, total);
    let mut gains: Vec<Finding> = share_again
        .map(|share| computed_again(repeated, repeated_ms, share, is_appended))
        .into_iter()
        .collect();
    gains.extend(slow_calls(run, summary));
    sort::by_key(&mut gains, |finding| std::cmp::Reverse(finding.time));
    worth_saying([consumers(largest), opportunities(gains)])
}

/// The most expensive probes or views, if there are several.
fn consumers_of<K>(
    noun: &'static str,
    table: TableHandle,
    buckets: &[Bucket<K>],
    total_ms: f64,
    name: impl Fn(&K) -> &String,
) -> Vec<Finding> {
    if buckets.len() < 2 {
        return Vec::new();
    }
    let column = if noun == "view" { "view_id" } else { noun };
    let finding = |(rank, bucket): (usize, &Bucket<K>)| {
        let share = share(bucket.total_ms, total_ms).filter(|share| *share >= LARGEST)?;
        let name = name(&bucket.key);
        let mut facts = Facts::default();
        facts.push("total_ms", "total time", bucket.total_ms, Unit::Ms);
        facts.push("n_events", "calls", bucket.n_events, Unit::Count);
        facts.push("hit_rate", "cache hit rate", bucket.hit_rate(), Unit::Ratio);
        let (share_text, n_calls) = (percent(share), counted(bucket.n_events, "call", "calls"));
        let text = match noun {
            "view" => format!("View {} accounts for {share_text} of the time ({n_calls}).", quoted(name)),
            // Nothing that could be dropped.
            _ if name == UNASSIGNED => {
                format!("Calls outside of probes account for {share_text} of the time ({n_calls}).")
            }
            _ => format!(
                "Probe {} accounts for {share_text} of the time ({n_calls}); dropping it saves up to {}.",
                quoted(name),
                format_ms(bucket.total_ms)
            ),
        };
        Some(Finding {
            id: if rank == 0 { format!("largest-{noun}") } else { format!("large-{noun}") },
            text,
            time: to_ns(bucket.total_ms),
            share: Some(share),
            evidence: facts.facts,
            rows: Some(rows_of(table, column, name)),
        })
    };
    buckets.iter().take(MAX_LARGEST).enumerate().filter_map(finding).collect()
}

/// Time spent on misses whose result was already computed earlier in the same file.
fn computed_again(repeated: &[RepeatedMiss], again_ms: f64, share: f64, is_appended: bool) -> Finding {
    let n_misses: u64 = repeated.iter().map(|miss| miss.misses.saturating_sub(1)).sum();
    let mut facts = Facts::default();
    facts.push("repeated_ms", "time in duplicate misses", again_ms, Unit::Ms);
    facts.push("misses", "duplicate misses", n_misses, Unit::Count);
    let after =
        if is_appended { " If the file contains several runs, each starts with an empty cache." } else { "" };
    Finding {
        id: "computed-again".to_string(),
        text: format!(
            "Duplicate cache misses account for {} of the time ({} in {}). A larger or persistent cache would avoid them.{after}",
            percent(share),
            format_ms(again_ms),
            counted(n_misses, "call", "calls")
        ),
        time: to_ns(again_ms),
        share: Some(share),
        evidence: facts.facts,
        rows: Some(rows_of(REPEATED_MISSES, "", "")),
    }
}

/// Slow misses by operation; the time is the sum of their excess over the median.
fn slow_calls(run: &Run, summary: &Summary) -> Vec<Finding> {
    let mut by_op: HashMap<&str, Vec<f64>> = HashMap::default();
    for trace in &run.traces {
        let calls = &trace.scoring_calls;
        for row in (0..calls.len()).filter(|row| !calls.hit[*row] && calls.wall_ms[*row].is_finite()) {
            by_op.entry(trace.strings.get(calls.op[row])).or_default().push(calls.wall_ms[row]);
        }
    }
    let mut found = Vec::new();
    for op in &summary.ops {
        let Some(calls) = by_op.get_mut(op.key.as_str()).filter(|calls| calls.len() >= MIN_COUNT) else {
            continue;
        };
        calls.sort_by(f64::total_cmp);
        let median = calls[(calls.len() - 1) / 2];
        let n_slow = calls.len() - calls.partition_point(|ms| *ms < FAR * median);
        if median <= 0.0 || n_slow == 0 || n_slow as f64 > RARE * calls.len() as f64 {
            continue;
        }
        let slow = &calls[calls.len() - n_slow..];
        let (slowest_ms, excess_ms) = (slow[n_slow - 1], slow.iter().map(|ms| ms - median).sum::<f64>());
        let mut facts = Facts::default();
        facts.push("excess_ms", "above the median", excess_ms, Unit::Ms);
        facts.push("n_slow", "slow calls", n_slow as u64, Unit::Count);
        facts.push("max_ms", "slowest", slowest_ms, Unit::Ms);
        facts.push("median_ms", "median", median, Unit::Ms);
        found.push(Finding {
            id: "slow-calls".to_string(),
            text: format!(
                "{} of {} {} calls took at least {FAR}× the median of {}; the slowest took {}.",
                group_digits(n_slow as i128),
                group_digits(calls.len() as i128),
                quoted(&op.key),
                format_ms(median),
                format_ms(slowest_ms),
            ),
            time: to_ns(excess_ms),
            share: share(excess_ms, summary.total_wall_ms),
            evidence: facts.facts,
            // The table exists only if slowest calls are requested.
            rows: (!summary.slowest.is_empty()).then(|| rows_of(SLOWEST, "op", &op.key)),
        });
    }
    found
}
