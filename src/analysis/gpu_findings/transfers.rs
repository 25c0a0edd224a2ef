//! Findings about communication and copies that don't overlap with compute.

use super::reader::Row;
use super::{Evidence, with_facts};
use crate::analysis::gpu::collective::NOT_RECORDED;
use crate::analysis::gpu::model::is_migration;
use crate::analysis::gpu::stats::{SumNs, percent};
use crate::analysis::{gpu_breakdown, gpu_communication, gpu_memory};
use crate::base::sort;
use crate::base::units::{Unit, counted, format_bytes, format_decimal_prefix, format_ns};
use crate::report::{Facts, Finding};

/// Ratio of longest to shortest from which collectives of one kind count as uneven.
const UNEVEN: i64 = 3;
/// Minimum number of collectives for a meaningful comparison.
const MIN_COLLECTIVES: i64 = 5;
/// Share of exposed communication from which a collective is named.
const MUCH_EXPOSED: f64 = 0.1;

fn part(evidence: &Evidence<'_>, name: &str) -> i64 {
    let table = evidence.reader.table(gpu_breakdown::BREAKDOWN);
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
    let table = evidence.reader.table(gpu_communication::COLLECTIVES);
    let share_of = |row: &Row<'_>| row.integer("exposed").unwrap_or(0) as f64 / exposed as f64;
    let mut rows: Vec<Row<'_>> = table.iter().flat_map(|table| table.rows()).collect();
    sort::by(&mut rows, |a, b| share_of(b).total_cmp(&share_of(a)));
    let mut text = format!(
        "Exposed communication takes {} of the time (GPU communicating with no overlapping compute)",
        percent(evidence.share(exposed))
    );
    let mut facts = Facts::default();
    facts.push("exposed", "exposed communication", exposed, Unit::Ns);
    let mut filter: Vec<String> = Vec::new();
    if let Some(row) = rows.first() {
        let is_known = |row: &Row<'_>| row.text("collective") != NOT_RECORDED;
        let share = share_of(row);
        if share >= MUCH_EXPOSED && is_known(row) {
            let n = counted(row.integer("count").unwrap_or(0).max(0) as u64, "call", "calls");
            let p50 = row.integer("p50").map_or(String::new(), |p50| format!(", p50 {}", format_ns(p50)));
            text.push_str(&format!(
                "; {} accounts for {} of that: {n}{p50}",
                collective(row),
                percent(share.min(1.0))
            ));
            filter.push(row.text("collective"));
            // Two that run at once share their time.
            if let Some(second) = rows.get(1).filter(|row| 2.0 * share_of(row) >= share && is_known(row)) {
                text.push_str(&format!("; {} for {}", collective(second), percent(share_of(second))));
                filter.push(second.text("collective"));
            }
        }
    }
    // As the summary of the report on communication has it.
    let total = |row: &Row<'_>| row.integer("total").unwrap_or(0) as f64;
    let hidden: f64 = rows.iter().map(|row| row.float("hidden").unwrap_or(0.0) * total(row)).sum();
    let all: f64 = rows.iter().map(total).sum();
    if all > 0.0 {
        facts.push("hidden", "overlapped", hidden / all, Unit::Ratio);
    }
    text.push('.');
    let mut finding = evidence.finding("exposed-communication", text, Some(exposed));
    finding.rows = table.map(|table| match filter.is_empty() {
        true => table.all_rows(),
        false => table.rows_of_any("collective", &filter),
    });
    findings.push(with_facts(finding, facts));
}

/// The same collective takes much longer some of the time.
pub fn uneven_collectives(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    // With traces of the other ranks, the report on ranks names the straggler.
    if evidence.is_one_of_several {
        return;
    }
    let Some(table) = evidence.reader.table(gpu_communication::COLLECTIVES) else { return };
    let excess = |row: &Row<'_>| -> Option<i64> {
        // Only collectives of one size are comparable.
        row.integer("message")?;
        let (n, min, max) = (row.integer("count")?, row.integer("min")?, row.integer("max")?);
        let is_uneven = n >= MIN_COLLECTIVES && min > 0 && max >= min.saturating_mul(UNEVEN);
        // What overlaps with compute costs nothing.
        is_uneven.then(|| row.integer("excess"))?
    };
    let Some(row) = table.rows().max_by_key(|row| excess(row).unwrap_or(i64::MIN)) else { return };
    let Some(excess) = excess(&row).filter(|excess| evidence.is_worth_saying(*excess)) else { return };
    let time = |column: &str| row.integer(column).map_or(String::new(), format_ns);
    let text = format!(
        "{} takes {} to {}; if all were as fast as the fastest, {} would be saved. This is usually waiting for a straggler: open \
         the traces of all ranks together to find it.",
        collective(&row),
        time("min"),
        time("max"),
        format_ns(excess),
    );
    let mut facts = Facts::default();
    facts.push("count", "collectives", row.integer("count").unwrap_or(0), Unit::Count);
    facts.push("p50", "p50", row.integer("p50").unwrap_or(0), Unit::Ns);
    let mut finding = evidence.finding("uneven-collectives", text, Some(excess));
    finding.rows = Some(table.rows_where(&[("collective", &row.text("collective"))]));
    findings.push(with_facts(finding, facts));
}

pub fn exposed_copies(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let exposed = part(evidence, "exposed copies");
    if !evidence.is_worth_saying(exposed) {
        return;
    }
    let mut text = format!(
        "Exposed copies take {} of the time (no overlapping compute)",
        percent(evidence.share(exposed))
    );
    let mut facts = Facts::default();
    facts.push("exposed", "exposed copies", exposed, Unit::Ns);
    let table = evidence.reader.table(gpu_memory::COPIES);
    let copies = table.iter().flat_map(|table| table.rows()).filter(|row| row.text("name").contains("cpy"));
    let mut rows = table.map(|table| table.all_rows());
    if let Some(most) = copies.max_by_key(|row| row.integer("exposed")) {
        let name = most.text("name");
        let of_all = most.integer("exposed").unwrap_or(0) as f64 / exposed as f64;
        text.push_str(&match of_all > 0.5 {
            true => format!(", mostly {name}"),
            false => format!("; {} of that is {name}", percent(of_all)),
        });
        if let Some(rate) = most.float("bandwidth") {
            text.push_str(&format!(" at {}", format_decimal_prefix(rate, "B/s")));
        }
        if is_migration(&name) {
            text.push_str(
                ". These are page migrations of unified memory: prefetch the pages (cudaMemPrefetchAsync)",
            );
        } else if name.contains("Pageable") {
            text.push_str(". Pinned memory copies faster and can overlap with compute");
        }
        facts.push("copies", "copies of this kind", most.integer("count").unwrap_or(0), Unit::Count);
        rows = table.map(|table| table.rows_where(&[("name", &name)]));
    }
    text.push('.');
    let mut finding = evidence.finding("exposed-copies", text, Some(exposed));
    finding.rows = rows;
    findings.push(with_facts(finding, facts));
}
