//! Ranks that hold up others.

use super::reader::{Reader, Row};
use crate::analysis::gpu::stats::percent;
use crate::base::units::{Unit, counted, format_ns};
use crate::report::{Facts, Finding, Report};

/// A rank is a straggler if so much of the time of collectives goes by waiting for it.
const WORTH: f64 = 0.05;
/// Computation of ranks differs if the most is this much above the least.
const UNEVEN: f64 = 0.1;

/// Of several ranks that were read together.
pub fn findings(reports: &[Report]) -> Vec<Finding> {
    let reader = Reader::new(reports, 0);
    [straggler(&reader), uneven(&reader)].into_iter().flatten().collect()
}

fn rank(row: &Row<'_>) -> String {
    row.integer("rank").map_or_else(|| "a rank".to_string(), |rank| format!("rank {rank}"))
}

/// Who comes last most.
fn straggler(reader: &Reader<'_>) -> Option<Finding> {
    let table = reader.table("gpu-ranks", "stragglers")?;
    let last = table.rows().max_by_key(|row| row.integer("held_up"))?;
    let held_up = last.integer("held_up").filter(|ns| *ns > 0)?;
    let communication: i64 = table.rows().filter_map(|row| row.integer("communication")).max()?;
    let share = held_up as f64 / communication.max(1) as f64;
    if share < WORTH {
        return None;
    }
    let n = |column: &str| last.integer(column).unwrap_or(0).max(0) as u64;
    let text = format!(
        "The others wait for {}: it came last in {} of {} and held them up for {}, {} of the time in collectives.",
        rank(&last),
        n("last"),
        counted(n("collectives"), "collective", "collectives"),
        format_ns(held_up),
        percent(share),
    );
    let mut facts = Facts::default();
    facts.push("held_up", "held up", held_up, Unit::Ns);
    facts.push("wait", "waited itself", last.integer("wait").unwrap_or(0), Unit::Ns);
    Some(Finding {
        id: "straggler".to_string(),
        text,
        time: Some(held_up),
        share: Some(share),
        evidence: facts.facts,
        rows: Some(table.rows_of("")),
    })
}

/// Ranks that compute much longer than others.
fn uneven(reader: &Reader<'_>) -> Option<Finding> {
    let table = reader.table("gpu-ranks", "ranks")?;
    let computation = |row: &Row<'_>| row.integer("computation");
    let most = table.rows().filter(|row| computation(row).is_some()).max_by_key(computation)?;
    let least = table.rows().filter(|row| computation(row).is_some()).min_by_key(computation)?;
    let (high, low) = (computation(&most)?, computation(&least)?);
    if low <= 0 || (high.saturating_sub(low) as f64) < UNEVEN * low as f64 {
        return None;
    }
    let text = format!(
        "Ranks compute for unequal times: {} for {}, {} for {}.",
        rank(&most),
        format_ns(high),
        rank(&least),
        format_ns(low)
    );
    let mut facts = Facts::default();
    facts.push("difference", "difference", high.saturating_sub(low), Unit::Ns);
    let total = most.integer("total").unwrap_or(0).max(1);
    Some(Finding {
        id: "uneven-ranks".to_string(),
        text,
        time: Some(high.saturating_sub(low)),
        share: Some(high.saturating_sub(low) as f64 / total as f64),
        evidence: facts.facts,
        rows: Some(table.rows_of("")),
    })
}
