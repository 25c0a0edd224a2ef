//! Finding about steps that are slower than comparable steps.

use super::reader::Row;
use super::{Evidence, with_facts};
use crate::analysis::gpu::annotation::unknown_word;
use crate::analysis::gpu::stats::{SumNs, percent};
use crate::analysis::gpu_breakdown;
use crate::base::units::{Unit, format_ns};
use crate::report::{Facts, Finding};

/// Minimum number of comparable steps for a meaningful median.
const MIN_STEPS: usize = 5;
/// Slow-step threshold, in quarters of the median.
const SLOW_QUARTERS: i64 = 5;

/// Parts of a step's time: column id and the words for it.
const PARTS: [(&str, &str); 4] = [
    ("idle", "idle time"),
    ("computation", "computation"),
    ("exposed_communication", "communication"),
    ("exposed_copies", "copies"),
];

/// Device, phase, the annotation's own word if it has one (such as `DRAFT` and `TARGET_VERIFY` of one phase), and tokens: steps that
/// should take the same time.
type Kind = (String, String, String, Option<i64>);

/// Steps of one kind that are far above the median.
pub fn slow_steps(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let Some(table) = evidence.reader.table(gpu_breakdown::STEPS) else { return };
    let mut kinds: Vec<(Kind, Vec<Row<'_>>)> = Vec::new();
    for row in table.rows().filter(|row| row.integer("gpu_time").is_some()) {
        let word = unknown_word(&row.text("step")).map_or(String::new(), str::to_string);
        let kind = (row.text("device"), row.text("phase"), word, row.integer("tokens"));
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, rows)) => rows.push(row),
            None => kinds.push((kind, vec![row])),
        }
    }
    let mut worst: Option<(i64, Finding)> = None;
    for ((_, phase, _, tokens), rows) in kinds.iter().filter(|(_, rows)| rows.len() >= MIN_STEPS) {
        let time = |row: &Row<'_>| row.integer("gpu_time").unwrap_or(0);
        let median = median(rows.iter().map(time).collect());
        let is_slow = |row: &&Row<'_>| time(row).saturating_mul(4) > median.saturating_mul(SLOW_QUARTERS);
        let slow: Vec<&Row<'_>> = rows.iter().filter(is_slow).collect();
        let excess: i64 = slow.iter().map(|row| time(row).saturating_sub(median)).sum_ns();
        let Some(slowest) = slow.iter().max_by_key(|row| time(row)) else { continue };
        if !evidence.is_worth_saying(excess) || worst.as_ref().is_some_and(|(known, _)| *known >= excess) {
            continue;
        }
        let usual = |column: &str| self::median(rows.iter().filter_map(|row| row.integer(column)).collect());
        let grown = PARTS.map(|(column, name)| {
            (
                slow.iter()
                    .filter_map(|row| row.integer(column))
                    .map(|ns| ns.saturating_sub(usual(column)))
                    .sum_ns(),
                name,
            )
        });
        let kind = if phase.is_empty() || phase == "unknown" { String::new() } else { format!("{phase} ") };
        let mut text = format!(
            "{} of {} {kind}steps took over 1.25× the median of {}, the slowest {}",
            slow.len(),
            rows.len(),
            format_ns(median),
            format_ns(time(slowest)),
        );
        if let Some((ns, name)) = grown.iter().max_by_key(|(ns, _)| *ns)
            && *ns > 0
            && excess > 0
        {
            let share = (*ns as f64 / excess as f64).min(1.0);
            text.push_str(&format!("; {} of the excess is {name}", percent(share)));
        }
        text.push('.');
        let mut facts = Facts::default();
        facts.push("slow", "slow steps", slow.len() as u64, Unit::Count);
        facts.push("median", "median", median, Unit::Ns);
        facts.push("excess", "total above median", excess, Unit::Ns);
        if let Some(tokens) = tokens {
            facts.push("tokens", "tokens per step", *tokens, Unit::Count);
        }
        let mut finding = evidence.finding("slow-steps", text, Some(excess));
        finding.rows = Some(table.rows_where(&[("step", &slowest.text("step"))]));
        worst = Some((excess, with_facts(finding, facts)));
    }
    findings.extend(worst.map(|(_, finding)| finding));
}

/// Lower median; 0 for an empty list.
fn median(mut values: Vec<i64>) -> i64 {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0)
}
