//! Findings: what fills the peak, out-of-memory events, fragmentation, what is never freed, and growth over steps.

use super::sites::Site;
use super::{OUT_OF_MEMORY, POOLS, PROGRAM_SITES, Snapshot, label, ranges, ratio, segments};
use crate::analysis::findings::{quoted, rows_of};
use crate::analysis::{TableHandle, findings::LEAST};
use crate::base::units::{Unit, counted, format_bytes, format_ratio};
use crate::report::{Facts, Finding, Findings, RowsOf, Stakes};

/// Sites of the peak that are named.
const N_SITES: usize = 3;
/// Share of reserved memory that is inactive from which on it is said.
const FRAGMENTED: f64 = 0.2;
/// Steps that must grow one after the other before that is called a leak.
const MIN_STEPS: usize = 3;

/// The findings; `None` without any.
pub fn findings(snapshot: &Snapshot<'_>, sites: &[Site], id: &dyn Fn(&str) -> String) -> Option<Findings> {
    let mut found = Vec::new();
    let rows = |table: TableHandle, column: &str, text: &str| RowsOf {
        table: id(table.id),
        ..rows_of(table, column, text)
    };
    out_of_memory(snapshot, &rows, &mut found);
    peak(snapshot, sites, &rows, &mut found);
    growth(snapshot, &mut found);
    fragmentation(snapshot, &rows, &mut found);
    never_freed(snapshot, sites, &rows, &mut found);
    let caption = "Percentages are per GPU.".to_string();
    (!found.is_empty()).then_some(Findings {
        title: "Findings".to_string(),
        caption,
        empty: String::new(),
        stakes: Stakes::Spent,
        findings: found,
    })
}

type Rows<'a> = &'a dyn Fn(TableHandle, &str, &str) -> RowsOf;

fn finding(id: &str, text: String, share: Option<f64>, evidence: Facts, rows: Option<RowsOf>) -> Finding {
    Finding { id: id.to_string(), text, time: None, share, evidence: evidence.facts, rows }
}

fn bytes(value: i64) -> String {
    format_bytes(value.max(0) as u64)
}

fn out_of_memory(snapshot: &Snapshot<'_>, rows: Rows<'_>, found: &mut Vec<Finding>) {
    let all = segments::all_out_of_memory(snapshot);
    let Some(last) = all.last() else { return };
    let head = match all.len() {
        1 => format!("Out of memory on {}", label(last.device)),
        n => format!("{n} out-of-memory events; the last on {}", label(last.device)),
    };
    let mut text = format!(
        "{head}: {} requested, {} free on the device",
        bytes(last.requested),
        bytes(last.device_free),
    );
    let reachable = last.usage.reserved.max(0).saturating_add(last.device_free);
    match last.unused() {
        unused if unused >= last.requested => text.push_str(&format!(
            ", {} reserved but not active, so fragmentation is the cause. Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
            bytes(unused)
        )),
        unused if unused.saturating_add(last.device_free) >= last.requested => text.push_str(&format!(
            ", {} reserved but not active. Together they would have been enough. Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
            bytes(unused)
        )),
        _ if reachable < last.requested => text.push_str(&format!(
            ", {} reserved by this process. The request is larger than both together, so freeing this process's memory would not have been enough.",
            bytes(last.usage.reserved)
        )),
        unused => text.push_str(&format!(
            ", {} reserved but not active. The memory was full.",
            bytes(unused)
        )),
    }
    let mut evidence = Facts::default();
    evidence.push("active", "active then", last.usage.active, Unit::Bytes);
    evidence.push("reserved", "reserved then", last.usage.reserved, Unit::Bytes);
    let rows = rows(OUT_OF_MEMORY, "device", &label(last.device));
    found.push(finding("out-of-memory", text, None, evidence, Some(rows)));
}

fn peak(snapshot: &Snapshot<'_>, sites: &[Site], rows: Rows<'_>, found: &mut Vec<Finding>) {
    let Some((number, device)) = snapshot.fullest() else { return };
    let of_device = sites.iter().filter(|site| site.device == number);
    for site in of_device.take(N_SITES) {
        let share = site.share.filter(|share| *share >= LEAST);
        let Some(share) = share else { continue };
        let text = format!(
            "{} of the peak of {} was allocated {}: {} in {}.",
            format_ratio(share),
            label(number),
            site.place.phrase(),
            format_bytes(site.at_peak.bytes),
            counted(site.at_peak.n, "allocation", "allocations"),
        );
        let mut evidence = Facts::default();
        evidence.push("peak", "peak", device.peak.bytes, Unit::Bytes);
        let rows = rows(PROGRAM_SITES, "function", &site.place.function);
        found.push(finding("peak", text, Some(share), evidence, Some(rows)));
    }
}

/// Growth that repeats over the ranges of one name. A name that ends with a number is one with those of other numbers.
fn growth(snapshot: &Snapshot<'_>, found: &mut Vec<Finding>) {
    let all = ranges::ranges(snapshot);
    let base = |name: &str| name.trim_end_matches(|digit: char| digit.is_ascii_digit()).to_string();
    let mut keys: Vec<(usize, String)> = all.iter().map(|range| (range.device, base(range.name))).collect();
    keys.sort();
    keys.dedup();
    for (device, name) in keys {
        let own = all.iter().filter(|range| range.device == device && base(range.name) == name);
        let active: Vec<u64> = own.filter_map(|range| range.active.map(|(.., after)| after)).collect();
        // The first step allocates what stays, such as the state of the optimizer.
        let later = active.get(1..).unwrap_or_default();
        if later.len() < MIN_STEPS || !later.windows(2).all(|pair| pair[0] < pair[1]) {
            continue;
        }
        let grown = later[later.len() - 1] - later[0];
        let per_step = grown / (later.len() as u64 - 1);
        let text = format!(
            "Possible leak: memory of {} grows in {} {} ranges in a row, by {} each on average.",
            label(device),
            later.len() - 1,
            quoted(&name),
            format_bytes(per_step),
        );
        let mut evidence = Facts::default();
        evidence.push("grown", "grown by", grown, Unit::Bytes);
        found.push(finding("growth", text, None, evidence, None));
    }
}

fn fragmentation(snapshot: &Snapshot<'_>, rows: Rows<'_>, found: &mut Vec<Finding>) {
    for (number, device) in snapshot.devices() {
        let end = &snapshot.at_end[number];
        // Little memory is no matter.
        if ratio(end.inactive, device.peak.bytes).is_none_or(|share| share < LEAST) {
            continue;
        }
        let Some(share) = ratio(end.inactive, end.total).filter(|share| *share >= FRAGMENTED) else {
            continue;
        };
        let text = format!(
            "{} of the {} reserved on {} is inactive at the end: {}, the largest {}.",
            format_ratio(share),
            format_bytes(end.total),
            label(number),
            counted(end.n_inactive, "block", "blocks"),
            format_bytes(end.largest_inactive),
        );
        let mut evidence = Facts::default();
        evidence.push("inactive", "inactive", end.inactive, Unit::Bytes);
        found.push(finding(
            "fragmentation",
            text,
            Some(share),
            evidence,
            Some(rows(POOLS, "device", &label(number))),
        ));
    }
}

fn never_freed(snapshot: &Snapshot<'_>, sites: &[Site], rows: Rows<'_>, found: &mut Vec<Finding>) {
    for (number, device) in snapshot.devices() {
        let of_device = || sites.iter().filter(|site| site.device == number);
        let sum = of_device().fold(0u64, |sum, site| sum.saturating_add(site.never_freed.bytes));
        let most = of_device().max_by_key(|site| site.never_freed.bytes);
        let (Some(share), Some(most)) = (ratio(sum, device.peak.bytes).filter(|share| *share >= LEAST), most)
        else {
            continue;
        };
        let text = format!(
            "{} allocated on {} during the recording were still live at the end. Most were allocated {}: {}.",
            format_bytes(sum),
            label(number),
            most.place.phrase(),
            format_bytes(most.never_freed.bytes),
        );
        let mut evidence = Facts::default();
        evidence.push("at_end", "active at end", device.active_at_end, Unit::Bytes);
        let rows = rows(PROGRAM_SITES, "device", &label(number));
        found.push(finding("never-freed", text, Some(share), evidence, Some(rows)));
    }
}
