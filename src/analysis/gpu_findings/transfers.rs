//! Communication and copies that nothing hides.

use super::reader::Row;
use super::{Evidence, with_facts};
use crate::analysis::gpu::stats::{SumNs, percent};
use crate::base::units::{Unit, counted, format_bytes, format_decimal_prefix, format_ns};
use crate::report::{Facts, Finding};

/// Collectives of one kind are uneven if the longest takes so many times as long as the shortest.
const UNEVEN: i64 = 3;
/// Of fewer nobody can tell what is usual.
const MIN_COLLECTIVES: i64 = 5;

fn part(evidence: &Evidence<'_>, name: &str) -> i64 {
    let table = evidence.reader.table("gpu-breakdown", "breakdown");
    let rows = table.iter().flat_map(|table| table.rows()).filter(|row| row.text("part") == name);
    rows.filter_map(|row| row.integer("time")).sum_ns()
}

/// `allreduce of 128 KiB`.
fn collective(row: &Row<'_>) -> String {
    let name = row.text("collective");
    match row.integer("message") {
        Some(bytes) => format!("{name} of {}", format_bytes(bytes.max(0) as u64)),
        None => name,
    }
}

pub fn exposed_communication(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let exposed = part(evidence, "exposed communication");
    if !evidence.is_worth_saying(exposed) {
        return;
    }
    let table = evidence.reader.table("gpu-communication", "collectives");
    let open = |row: &Row<'_>| {
        let total = row.integer("total").unwrap_or(0) as f64;
        total * (1.0 - row.float("hidden").unwrap_or(0.0))
    };
    let most = table.and_then(|table| table.rows().max_by(|a, b| open(a).total_cmp(&open(b))));
    let mut text = format!(
        "For {} of the time the GPU communicates and computes nothing",
        percent(evidence.share(exposed))
    );
    let mut facts = Facts::default();
    facts.push("exposed", "exposed communication", exposed, Unit::Ns);
    let mut filter = String::new();
    if let Some(row) = most {
        let n = row.integer("count").unwrap_or(0).max(0) as u64;
        let p50 = row.integer("p50").map_or(String::new(), |p50| format!(", {} each (p50)", format_ns(p50)));
        let share = open(&row) / exposed as f64;
        if (0.1..=1.0).contains(&share) && row.text("collective") != "not said" {
            let n = counted(n, "time", "times");
            text.push_str(&format!("; {} of that is {}, {n}{p50}", percent(share), collective(&row)));
            filter = row.text("collective");
        }
        if let Some(hidden) = row.float("hidden") {
            facts.push("hidden", "of it hidden", hidden, Unit::Ratio);
        }
    }
    text.push('.');
    let mut finding = evidence.finding("exposed-communication", text, Some(exposed));
    finding.rows = table.map(|table| table.rows_of(&filter));
    findings.push(with_facts(finding, facts));
}

/// The same collective takes much longer some of the time.
pub fn uneven_collectives(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    // With the other ranks at hand it is known who came late.
    if evidence.is_one_of_several {
        return;
    }
    let Some(table) = evidence.reader.table("gpu-communication", "collectives") else { return };
    let excess = |row: &Row<'_>| -> Option<i64> {
        // Without its size nobody knows whether it is the same one.
        row.integer("message")?;
        let (n, min, max) = (row.integer("count")?, row.integer("min")?, row.integer("max")?);
        let is_uneven = n >= MIN_COLLECTIVES && min > 0 && max >= min.saturating_mul(UNEVEN);
        is_uneven.then(|| row.integer("total").map(|total| total.saturating_sub(n.saturating_mul(min))))?
    };
    let Some(row) = table.rows().max_by_key(|row| excess(row).unwrap_or(i64::MIN)) else { return };
    let Some(excess) = excess(&row).filter(|excess| evidence.is_worth_saying(*excess)) else { return };
    let time = |column: &str| row.integer(column).map_or(String::new(), format_ns);
    let text = format!(
        "{} takes {} at best and {} at most: {} more than if each were as fast as the fastest. Most often that is waiting for ranks that \
         come late; open the files of all ranks together to see which.",
        collective(&row),
        time("min"),
        time("max"),
        format_ns(excess),
    );
    let mut facts = Facts::default();
    facts.push("count", "collectives", row.integer("count").unwrap_or(0), Unit::Count);
    facts.push("p50", "p50", row.integer("p50").unwrap_or(0), Unit::Ns);
    let mut finding = evidence.finding("uneven-collectives", text, Some(excess));
    finding.rows = Some(table.rows_of(&row.text("collective")));
    findings.push(with_facts(finding, facts));
}

pub fn exposed_copies(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let exposed = part(evidence, "exposed copies");
    if !evidence.is_worth_saying(exposed) {
        return;
    }
    let mut text =
        format!("For {} of the time the GPU copies and does nothing else", percent(evidence.share(exposed)));
    let mut facts = Facts::default();
    facts.push("exposed", "exposed copies", exposed, Unit::Ns);
    let table = evidence.reader.table("gpu-memory", "copies");
    let copies = table.iter().flat_map(|table| table.rows()).filter(|row| row.text("name").contains("cpy"));
    let mut rows = table.map(|table| table.rows_of(""));
    if let Some(most) = copies.max_by_key(|row| row.integer("total")) {
        let name = most.text("name");
        text.push_str(&format!(", mostly {name}"));
        if let Some(rate) = most.float("bandwidth") {
            text.push_str(&format!(" at {}", format_decimal_prefix(rate, "B/s")));
        }
        if name.contains("Pageable") {
            text.push_str("; memory that is pinned is copied faster, and beside other work");
        }
        facts.push("copies", "copies of that kind", most.integer("count").unwrap_or(0), Unit::Count);
        rows = table.map(|table| table.rows_of(&name));
    }
    text.push('.');
    let mut finding = evidence.finding("exposed-copies", text, Some(exposed));
    finding.rows = rows;
    findings.push(with_facts(finding, facts));
}
