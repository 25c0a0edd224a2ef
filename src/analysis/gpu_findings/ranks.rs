//! Findings about stragglers and imbalance between ranks.

use super::reader::{Reader, Row};
use crate::analysis::gpu::stats::{SumNs, percent};
use crate::analysis::gpu_ranks;
use crate::base::text::capitalized;
use crate::base::units::{Unit, format_ns};
use crate::report::{Block, Facts, Finding, Report, Value};

/// Minimum share of collective time, over all ranks, spent waiting for a rank that makes it a straggler.
const WORTH: f64 = 0.05;
/// Minimum excess of the longest compute time over the shortest, relative to the shortest.
const UNEVEN: f64 = 0.1;

/// Findings across ranks that were opened together.
pub fn findings(reports: &[Report]) -> Vec<Finding> {
    let reader = Reader::new(reports, 0);
    // Recordings that cannot be compared have no such value.
    let blocks =
        reports.iter().filter(|report| report.id == gpu_ranks::INFO.id).flat_map(|report| &report.blocks);
    let is_balance_known = blocks
        .filter_map(|block| if let Block::Facts(facts) = block { Some(&facts.facts) } else { None })
        .flatten()
        .any(|fact| fact.id == "imbalance" && fact.value != Value::Missing);
    let uneven = if is_balance_known { uneven(&reader) } else { None };
    [straggler(&reader), uneven].into_iter().flatten().collect()
}

fn rank(row: &Row<'_>) -> String {
    row.integer("rank").map_or_else(|| "a rank".to_string(), |rank| format!("rank {rank}"))
}

/// `Rank 3` for the file of that rank; `None` if the file is not one of the compared ranks, or not the only one of its name.
pub fn rank_of(reports: &[Report], file: &str) -> Option<String> {
    let table = Reader::new(reports, 0).table(gpu_ranks::RANKS)?;
    let of_file =
        || table.rows().filter(|row| row.text("file") == file).filter_map(|row| row.integer("rank"));
    let first = of_file().next()?;
    of_file().all(|rank| rank == first).then(|| format!("Rank {first}"))
}

/// The rank that delays the others most, or the ranks that do so equally.
fn straggler(reader: &Reader<'_>) -> Option<Finding> {
    let table = reader.table(gpu_ranks::STRAGGLERS)?;
    let last = table.rows().max_by_key(|row| row.integer("held_up"))?;
    let held_up = last.integer("held_up").filter(|ns| *ns > 0)?;
    let tied = || table.rows().filter(|row| row.integer("held_up") == Some(held_up));
    let caused = tied().filter_map(|row| row.integer("caused_wait")).sum_ns();
    // Over all ranks, as the share of waiting in the summary.
    let share = caused as f64 / table.sum("communication").max(1) as f64;
    if share < WORTH {
        return None;
    }
    let n = |column: &str| last.integer(column).unwrap_or(0).max(0) as u64;
    let mut ranks: Vec<i64> = tied().filter_map(|row| row.integer("rank")).collect();
    ranks.sort_unstable();
    let text = match ranks.len() {
        0 | 1 => format!(
            "{} is the straggler: {}, it delayed the others by {}; {} of collective time is waiting for it.",
            capitalized(&rank(&last)),
            gpu_ranks::last_in(n("last"), n("last_known"), n("collectives")),
            format_ns(held_up),
            percent(share),
        ),
        _ => format!(
            "{}; {} of collective time is waiting for them.",
            gpu_ranks::no_single_straggler(&ranks, held_up),
            percent(share)
        ),
    };
    let mut facts = Facts::default();
    facts.push("held_up", "delay caused", held_up, Unit::Ns);
    if ranks.len() <= 1 {
        facts.push("wait", "own wait", last.integer("wait").unwrap_or(0), Unit::Ns);
    }
    Some(Finding {
        id: "straggler".to_string(),
        text,
        time: Some(held_up),
        share: Some(share),
        evidence: facts.facts,
        rows: Some(table.all_rows()),
    })
}

/// Compute imbalance between ranks.
fn uneven(reader: &Reader<'_>) -> Option<Finding> {
    let table = reader.table(gpu_ranks::RANKS)?;
    let (column, per_step) = match table.label(gpu_ranks::PER_STEP) {
        "" => ("computation", ""),
        _ => (gpu_ranks::PER_STEP, " per step"),
    };
    let computation = |row: &Row<'_>| row.integer(column);
    let most = table.rows().filter(|row| computation(row).is_some()).max_by_key(computation)?;
    let least = table.rows().filter(|row| computation(row).is_some()).min_by_key(computation)?;
    let (high, low) = (computation(&most)?, computation(&least)?);
    if low <= 0 || (high.saturating_sub(low) as f64) < UNEVEN * low as f64 {
        return None;
    }
    let text = format!(
        "Compute imbalance: {} computes for {}{per_step}, {} for {}.",
        rank(&most),
        format_ns(high),
        rank(&least),
        format_ns(low)
    );
    let mut facts = Facts::default();
    let difference = high.saturating_sub(low);
    facts.push("difference", &format!("difference{per_step}"), difference, Unit::Ns);
    // In as much of its computation.
    let of_most = difference as f64 / high as f64;
    let lost = (most.integer("computation").unwrap_or(0) as f64 * of_most).round() as i64;
    let total = most.integer("total").unwrap_or(0).max(1);
    Some(Finding {
        id: "uneven-ranks".to_string(),
        text,
        time: Some(lost),
        share: Some(lost as f64 / total as f64),
        evidence: facts.facts,
        rows: Some(table.all_rows()),
    })
}
