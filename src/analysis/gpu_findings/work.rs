//! Findings about the kernels themselves.

use super::reader::{Row, TableOf};
use super::{Evidence, with_facts};
use crate::analysis::gpu::stats::{SumNs, percent};
use crate::analysis::{gpu_kernels, gpu_ops};
use crate::base::sort;
use crate::base::text::{IN_A_SENTENCE, cut_in_middle};
use crate::base::units::{Unit, counted, format_ns};
use crate::gpu::kernels::OTHER;
use crate::gpu::names::readable;
use crate::report::{Content, Facts, Finding};
use std::cmp::Reverse;

/// IDs of findings that a file may have several times.
pub const FAR_FROM_ROOFLINE: &str = "far-from-roofline";
pub const LARGEST_OPERATION: &str = "largest-operation";

/// Operators below this share of the roofline are reported if they take [`super::WORTH`].
const FAR: f64 = 0.5;
/// Maximum number of such operators.
const N_FAR: usize = 2;
/// Minimum share of memory-bound kernels that could be fused.
const MUCH_UNFUSED: f64 = 0.15;
/// Minimum share of kernel time of an operation among the largest, and their maximum number.
const LARGEST: f64 = 0.1;
const N_LARGEST: usize = 3;

/// Operations that mostly move memory, by the names of classes in `kernels.rules`.
const UNFUSED: [&str; 3] = ["Elementwise", "Copy/Memory", "Layout"];

/// Operators far below the roofline.
pub fn far_from_roofline(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let Some(table) = evidence.reader.table(gpu_ops::SHAPES) else { return };
    let lost = |row: &Row<'_>| {
        let reached = row.float("of_roofline").filter(|reached| (0.0..FAR).contains(reached))?;
        let lost = (row.integer("direct")? as f64 * (1.0 - reached)) as i64;
        // What runs beside other kernels costs nothing.
        Some(lost.min(row.integer("alone").unwrap_or(lost)))
    };
    let mut rows: Vec<(i64, Row<'_>)> = table.rows().filter_map(|row| Some((lost(&row)?, row))).collect();
    rows.retain(|(lost, _)| evidence.is_worth_saying(*lost));
    sort::by_key(&mut rows, |(lost, _)| Reverse(*lost));
    for (lost, row) in rows.into_iter().take(N_FAR) {
        let (name, shapes) = (row.text("name"), row.text("shapes"));
        let reached = row.float("of_roofline").unwrap_or(0.0);
        let direct = row.integer("direct").unwrap_or(0);
        let text = format!(
            "{name} on {shapes} reaches {} of the roofline ({}-bound) and takes {} of the time.",
            percent(reached),
            row.text("bound"),
            percent(evidence.share(direct)),
        );
        let mut facts = Facts::default();
        facts.push("direct", "busy time", direct, Unit::Ns);
        facts.push("calls", "calls", row.integer("calls").unwrap_or(0), Unit::Count);
        facts.push("types", "types", row.text("types"), Unit::None).content(Content::Argument);
        let mut finding = evidence.finding(FAR_FROM_ROOFLINE, text, Some(lost));
        finding.rows = Some(table.rows_where(&[("name", &name), ("shapes", &shapes)]));
        findings.push(with_facts(finding, facts));
    }
}

/// Much kernel time in elementwise and copy kernels.
pub fn unfused(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let Some(table) = evidence.reader.table(gpu_kernels::OPERATIONS) else { return };
    let is_unfused = |row: &Row<'_>| UNFUSED.contains(&row.text("operation").as_str());
    let rows: Vec<Row<'_>> = table.rows().filter(is_unfused).collect();
    let share: f64 = rows.iter().filter_map(|row| row.float("share")).sum();
    if share < MUCH_UNFUSED {
        return;
    }
    let sum = |column: &str| -> i64 { rows.iter().filter_map(|row| row.integer(column)).sum_ns() };
    let (total, count) = (sum("total"), sum("count"));
    // What runs beside other kernels costs nothing.
    let at_stake = sum("alone");
    // A single kernel has nothing to be fused with.
    if !evidence.is_worth_saying(at_stake) || count < 2 {
        return;
    }
    let text = format!(
        "{} of kernel time is elementwise and copy kernels that could be fused: {}, {} each. Each is another round trip through \
         memory. Try torch.compile or fused kernels.",
        percent(share),
        counted(count.max(0) as u64, "kernel", "kernels"),
        format_ns(total / count.max(1)),
    );
    let mut facts = Facts::default();
    for row in &rows {
        let name = row.text("operation");
        facts.push(&name.to_lowercase(), &name, row.integer("total").unwrap_or(0), Unit::Ns);
    }
    let mut finding = evidence.finding("unfused", text, Some(at_stake));
    let names: Vec<String> = rows.iter().map(|row| row.text("operation")).collect();
    finding.rows = Some(table.rows_of_any("operation", &names));
    findings.push(with_facts(finding, facts));
}

/// Kernels too small for the GPU: they launch fewer blocks than there are SMs or CUs.
pub fn few_blocks(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let Some(table) = evidence.reader.table(gpu_kernels::CONFIGURATIONS) else { return };
    let rows: Vec<Row<'_>> = table.rows().filter(|row| row.integer("lost").is_some()).collect();
    let sum = |column: &str| rows.iter().filter_map(|row| row.integer(column)).sum_ns();
    let at_stake = sum("lost");
    let Some(most) = rows.iter().min_by_key(|row| Reverse(row.integer("lost"))) else { return };
    if !evidence.is_worth_saying(at_stake) {
        return;
    }
    let (alone, count) = (sum("alone"), sum("count"));
    let name = most.text("name");
    // The column has the vendor's word, such as `unused SMs`.
    let units = table.label("unused").trim_start_matches("unused ");
    let text = format!(
        "{} fewer blocks than there are {units}. {} of the time nothing else runs, with {} of {units} unused; most in {} (grid {}). \
         Use larger batches, smaller tiles, or concurrent streams.",
        counted(count.max(0) as u64, "kernel launches", "kernels launch"),
        percent(evidence.share(alone)),
        percent(at_stake as f64 / alone.max(1) as f64),
        in_a_sentence(&name),
        most.text("grid"),
    );
    let mut facts = Facts::default();
    facts.push("total", "kernel time", sum("total"), Unit::Ns);
    facts.push("count", "kernels", count, Unit::Count);
    let mut finding = evidence.finding("few-blocks", text, Some(at_stake));
    finding.rows = Some(table.rows_where(&[("name", &name)]));
    findings.push(with_facts(finding, facts));
}

/// The operations with the most kernel time, and kernels that no rule knows: these have nothing in common, so each counts for itself.
pub fn largest(evidence: &Evidence<'_>, findings: &mut Vec<Finding>) {
    let rows_of = |handle| evidence.reader.table(handle).into_iter().flat_map(TableOf::rows);
    let share = |row: &Row<'_>| row.float("share").unwrap_or(0.0);
    let is_known = |row: &Row<'_>| row.text("operation") != OTHER;
    type Said = fn(&Evidence<'_>, &Row<'_>, f64) -> Option<Finding>;
    let operations = rows_of(gpu_kernels::OPERATIONS).filter(is_known).map(|row| (row, operation as Said));
    let unknown = rows_of(gpu_kernels::KERNELS).filter(|row| !is_known(row));
    let unknown = unknown.map(|row| (row, unclassified as Said));
    let mut rows: Vec<(Row<'_>, Said)> =
        operations.chain(unknown).filter(|(row, _)| share(row) >= LARGEST).collect();
    sort::by_key(&mut rows, |(row, _)| Reverse(row.integer("total")));
    for (row, said) in rows.into_iter().take(N_LARGEST) {
        findings.extend(said(evidence, &row, share(&row)));
    }
}

/// An operation with its share of kernel time. `None` if its time is unknown.
fn operation(evidence: &Evidence<'_>, row: &Row<'_>, share: f64) -> Option<Finding> {
    // Kernels on several streams overlap.
    let total = row.integer("total").map(|total| total.min(evidence.time)).filter(|total| *total > 0)?;
    let operation = row.text("operation");
    let kernels = evidence.reader.table(gpu_kernels::KERNELS);
    let of_operation =
        kernels.iter().flat_map(|table| table.rows()).filter(|row| row.text("operation") == operation);
    let mut text = format!("{operation} accounts for {} of kernel time", percent(share));
    let mut facts = Facts::default();
    facts.push("total", "kernel time", row.integer("total").unwrap_or(0), Unit::Ns);
    // The first of equals, as in the table.
    if let Some(kernel) = of_operation.min_by_key(|row| Reverse(row.integer("total"))) {
        let of_it = kernel.float("share").map_or(0.0, |kernel| kernel / share);
        let of_it = if of_it > 0.9995 { "all".to_string() } else { percent(of_it) };
        text.push_str(&format!(
            "; {} is {of_it} of that, {}",
            in_a_sentence(&kernel.text("name")),
            counted(kernel.integer("count").unwrap_or(0).max(0) as u64, "launch", "launches")
        ));
        if let Some(p50) = kernel.integer("p50") {
            facts.push("p50", "kernel p50", p50, Unit::Ns);
        }
    }
    text.push('.');
    let mut finding = evidence.finding(LARGEST_OPERATION, text, Some(total));
    finding.rows = kernels.map(|table| table.rows_where(&[("operation", &operation)]));
    Some(with_facts(finding, facts))
}

/// A kernel that no rule knows, with its share of kernel time. `None` if its time is unknown.
fn unclassified(evidence: &Evidence<'_>, kernel: &Row<'_>, share: f64) -> Option<Finding> {
    let total = kernel.integer("total").filter(|total| *total > 0)?;
    let name = kernel.text("name");
    let text = format!(
        "{} accounts for {} of kernel time, {}.",
        in_a_sentence(&name),
        percent(share),
        counted(kernel.integer("count").unwrap_or(0).max(0) as u64, "launch", "launches")
    );
    let mut facts = Facts::default();
    facts.push("total", "kernel time", total, Unit::Ns);
    if let Some(p50) = kernel.integer("p50") {
        facts.push("p50", "kernel p50", p50, Unit::Ns);
    }
    // Kernels on several streams overlap.
    let mut finding = evidence.finding(LARGEST_OPERATION, text, Some(total.min(evidence.time)));
    let kernels = evidence.reader.table(gpu_kernels::KERNELS);
    finding.rows = kernels.map(|table| table.rows_where(&[("name", &name)]));
    Some(with_facts(finding, facts))
}

/// Name of a kernel in a sentence.
fn in_a_sentence(name: &str) -> String {
    cut_in_middle(&readable(name), IN_A_SENTENCE)
}
