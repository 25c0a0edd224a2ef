//! Findings: what fills the peak, out-of-memory events, fragmentation, what is never freed, and growth over steps.

use super::segments::{Fragmentation, OutOfMemory};
use super::sites::Site;
use super::{OUT_OF_MEMORY, POOLS, PROGRAM_SITES, Snapshot, label, ranges, ratio, segments, signed};
use crate::analysis::findings::{quoted, rows_of};
use crate::analysis::{TableHandle, findings::LEAST};
use crate::base::sort;
use crate::base::units::{Unit, counted, format_bytes, format_ratio};
use crate::report::{Facts, Finding, Findings, RowsOf, Stakes};
use crate::trace::memory_snapshot::Action;

/// Sites of the peak that are named.
const N_SITES: usize = 3;
/// Share of reserved memory that is inactive from which on it is said.
const FRAGMENTED: f64 = 0.2;
/// Steps after the first one that must grow one after the other before that is called a leak.
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

/// Whether the allocator of a device uses expandable segments.
fn is_expandable(snapshot: &Snapshot<'_>, device: usize) -> bool {
    let text = |id| snapshot.trace.strings.get_opt(id).unwrap_or_default();
    let is_set = |(name, value): (&str, &str)| match name {
        "expandable_segments" => value == "True",
        _ => value.replace(' ', "").contains("expandable_segments:True"),
    };
    snapshot.snapshot.settings.iter().any(|(name, value)| is_set((text(*name), text(*value))))
        || snapshot.snapshot.segments_of(device).any(|segment| segment.is_expandable)
        || snapshot
            .snapshot
            .devices
            .get(device)
            .is_some_and(|it| it.events.action.contains(&Action::SegmentMap))
}

/// Why memory ran out, as far as it is known: the rest of the sentence that says what was requested and what was free.
fn cause(snapshot: &Snapshot<'_>, it: &OutOfMemory) -> String {
    let requested = it.requested;
    let with_free = |unused: i64| unused.saturating_add(it.device_free);
    if it.device_free >= it.new_segment() {
        return ", which is enough. A limit of this process, such as torch.cuda.set_per_process_memory_fraction, is the likely cause; \
                or another process freed memory right after."
            .to_string();
    }
    let advice = match is_expandable(snapshot, it.device) {
        true => "Expandable segments are on already.",
        false => "Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
    };
    let inactive = bytes(it.unused());
    let of_full = full(snapshot, it);
    let Some(blocks) = it.blocks(snapshot) else {
        return match it.unused() {
            unused if unused >= requested => format!(
                ", up to {inactive} reserved but not active, so fragmentation is the likely cause. {advice}"
            ),
            unused if with_free(unused) >= it.new_segment() => format!(
                ", up to {inactive} reserved but not active. Together they would have been enough. {advice}"
            ),
            _ => of_full,
        };
    };
    let usable = signed(blocks.usable);
    if signed(blocks.largest_usable) >= requested {
        format!(
            ", {inactive} reserved but not active. A block of {} on the stream of the request is large enough, so fragmentation is not the cause. \
             The request may have been for a private pool, such as that of a CUDA graph.",
            format_bytes(blocks.largest_usable)
        )
    } else if signed(blocks.largest_other) >= requested {
        format!(
            ", {inactive} reserved but not active. A block of {} is large enough, but belongs to {}. Blocks are only reused on their \
             stream and in their pool, so fragmentation is not the cause.",
            format_bytes(blocks.largest_other),
            blocks.other
        )
    } else if usable >= requested {
        format!(
            ", {} reserved but not active on its stream and in its pool, the largest block {}, so fragmentation is the cause. {advice}",
            format_bytes(blocks.usable),
            format_bytes(blocks.largest_usable)
        )
    } else if with_free(usable) >= it.new_segment() {
        format!(
            ", {} reserved but not active on its stream and in its pool. Together they would have been enough. {advice}",
            format_bytes(blocks.usable)
        )
    } else if with_free(it.unused()) >= it.new_segment() || it.unused() >= requested {
        format!(
            ", {inactive} reserved but not active, only {} of it on its stream and in its pool. Blocks are only reused there.",
            format_bytes(blocks.usable)
        )
    } else {
        of_full
    }
}

/// What to say where everything unused and free would not have been enough.
fn full(snapshot: &Snapshot<'_>, it: &OutOfMemory) -> String {
    let is_least = snapshot.snapshot.devices.get(it.device).is_some_and(|device| device.is_reserved_least);
    if !is_least && it.usage.reserved.max(0).saturating_add(it.device_free) < it.requested {
        return format!(
            ", {} reserved by this process. The request is larger than both together, so freeing this process's memory would not have been enough.",
            bytes(it.usage.reserved)
        );
    }
    let mut text = match is_least {
        true => format!(", at least {} reserved but not active.", bytes(it.unused())),
        false => format!(", {} reserved but not active. The memory was full.", bytes(it.unused())),
    };
    let rounding = snapshot.at_end.get(it.device).and_then(Fragmentation::rounding).unwrap_or(0);
    if it.inactive.is_some() && signed(rounding) >= it.requested {
        text.push_str(&format!(
            " {} is rounding: the blocks are larger than what was asked for. Allocate fewer, larger tensors.",
            format_bytes(rounding)
        ));
    }
    if it.device_free >= it.requested {
        text.push_str(&format!(
            " A request of this size needs a new segment of {}.",
            bytes(it.new_segment())
        ));
    }
    text
}

fn out_of_memory(snapshot: &Snapshot<'_>, rows: Rows<'_>, found: &mut Vec<Finding>) {
    let all = segments::all_out_of_memory(snapshot);
    let Some(last) = all.last() else { return };
    let head = match all.len() {
        1 => format!("Out of memory on {}", label(last.device)),
        n => format!("{n} out-of-memory events; the last on {}", label(last.device)),
    };
    let text = format!(
        "{head}: {} requested, {} free on the device{}",
        bytes(last.requested),
        bytes(last.device_free),
        cause(snapshot, last)
    );
    let mut evidence = Facts::default();
    evidence.push("active", "active then", last.usage.active, Unit::Bytes);
    evidence.push("reserved", "reserved then", last.usage.reserved, Unit::Bytes);
    let rows = rows(OUT_OF_MEMORY, "device", &label(last.device));
    found.push(finding("out-of-memory", text, None, evidence, Some(rows)));
}

/// What fills the peak, or without events, what was live at the end.
fn peak(snapshot: &Snapshot<'_>, sites: &[Site], rows: Rows<'_>, found: &mut Vec<Finding>) {
    let Some((number, device)) = snapshot.fullest() else { return };
    let of_device = sites.iter().filter(|site| site.device == number);
    let (id, of, label_of_whole) = match snapshot.snapshot.has_events() {
        true => ("peak", "peak", "peak"),
        false => ("live", "live memory", "live at end"),
    };
    for site in of_device.take(N_SITES) {
        let share = site.share.filter(|share| *share >= LEAST);
        let Some(share) = share else { continue };
        let text = format!(
            "{} of the {of} of {} was allocated {}: {} in {}.",
            format_ratio(share),
            label(number),
            site.place.phrase(),
            format_bytes(site.at_peak.bytes),
            counted(site.at_peak.n, "allocation", "allocations"),
        );
        let mut evidence = Facts::default();
        evidence.push(id, label_of_whole, device.peak.bytes, Unit::Bytes);
        let rows = rows(PROGRAM_SITES, "function", &site.place.function);
        found.push(finding(id, text, Some(share), evidence, Some(rows)));
    }
}

/// Name of the ranges that are compared with a range. `ProfilerStep#2` follows `ProfilerStep#1`; other numbers, as in `layer2`, tell
/// parts of one step apart.
fn step_name(name: &str) -> &str {
    let base = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let word = base.trim_end_matches(|sign: char| !sign.is_alphanumeric()).to_ascii_lowercase();
    match ["step", "iteration", "iter", "epoch"].iter().any(|step| word.ends_with(step)) {
        true => base,
        false => name,
    }
}

/// Allocations by events of a device that are live at its end.
struct LeftAtEnd {
    /// Event and bytes, in order of the events.
    allocations: Vec<(usize, u64)>,
}

impl LeftAtEnd {
    fn of(snapshot: &Snapshot<'_>, device: usize) -> LeftAtEnd {
        let mut allocations = Vec::new();
        snapshot.snapshot.for_each_allocation(device, |it| {
            if it.end.is_none() {
                allocations.extend(it.start.map(|event| (event, it.size)));
            }
        });
        sort::by(&mut allocations, Ord::cmp);
        LeftAtEnd { allocations }
    }

    /// Bytes of those by events after `first` and up to `last`.
    fn bytes(&self, first: usize, last: usize) -> u64 {
        let n_until = |last: usize| self.allocations.partition_point(|(event, _)| *event <= last);
        let own = self.allocations.get(n_until(first)..n_until(last)).unwrap_or_default();
        own.iter().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

/// Growth that repeats over ranges of one name, and is still there at the end.
fn growth(snapshot: &Snapshot<'_>, found: &mut Vec<Finding>) {
    let mut all = ranges::ranges(snapshot);
    sort::by_key(&mut all, |range| (range.device, step_name(range.name)));
    for of_device in all.chunk_by(|a, b| a.device == b.device) {
        let device = of_device[0].device;
        let mut left: Option<LeftAtEnd> = None;
        for own in of_device.chunk_by(|a, b| step_name(a.name) == step_name(b.name)) {
            // Memory of a range that is still open may yet be freed in it.
            let closed = own.iter().filter(|range| range.end.is_some());
            let ends: Vec<(usize, u64)> =
                closed.filter_map(|range| Some((range.last_event?, range.active?.2))).collect();
            // The first step allocates what stays, such as the state of the optimizer, so growth counts from its end.
            let n_grown = ends.len().saturating_sub(1);
            if n_grown < MIN_STEPS || !ends.windows(2).all(|pair| pair[0].1 < pair[1].1) {
                continue;
            }
            let left = left.get_or_insert_with(|| LeftAtEnd::of(snapshot, device));
            let kept: Vec<u64> = ends.windows(2).map(|pair| left.bytes(pair[0].0, pair[1].0)).collect();
            if kept.contains(&0) {
                continue;
            }
            let kept = kept.into_iter().fold(0u64, u64::saturating_add);
            let grown = ends[n_grown].1.saturating_sub(ends[0].1).min(kept);
            let text = format!(
                "Possible leak: memory of {} grows in {} {} ranges in a row after the first one, by {} each on average. Each leaves \
                 memory that is still live at the end.",
                label(device),
                n_grown,
                quoted(step_name(own[0].name)),
                format_bytes(grown / n_grown as u64),
            );
            let mut evidence = Facts::default();
            evidence.push("grown", "grown by", grown, Unit::Bytes);
            found.push(finding("growth", text, None, evidence, None));
        }
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

/// Which part of `sum` bytes was allocated at the place with the most; `n_others` have as much.
fn most_of(sum: u64, most: u64, place: &str, n_others: u64) -> String {
    let bytes = format_bytes(most);
    let others = counted(n_others, "other place", "other places");
    match n_others {
        _ if most == sum => format!("All were allocated {place}."),
        _ if bytes == format_bytes(sum) => format!("Nearly all were allocated {place}."),
        0 if most > sum / 2 => format!("Most were allocated {place}: {bytes}."),
        0 => format!("The largest part was allocated {place}: {bytes}."),
        _ => format!("The largest parts were allocated {place} and at {others}: {bytes} each."),
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
        let n_as_much = of_device().filter(|site| site.never_freed.bytes == most.never_freed.bytes).count();
        let text = format!(
            "{} allocated on {} during the recording were still live at the end. {}",
            format_bytes(sum),
            label(number),
            most_of(sum, most.never_freed.bytes, &most.place.phrase(), (n_as_much as u64).saturating_sub(1)),
        );
        let mut evidence = Facts::default();
        evidence.push("at_end", "active at end", device.active_at_end, Unit::Bytes);
        let rows = rows(PROGRAM_SITES, "device", &label(number));
        found.push(finding("never-freed", text, Some(share), evidence, Some(rows)));
    }
}

#[cfg(test)]
mod tests {
    use super::most_of;

    #[test]
    fn the_most_is_said_as_what_it_is() {
        let mib = 1 << 20;
        let told = |sum: u64, most: u64, n_others| most_of(sum * mib, most * mib, "in f", n_others);
        assert_eq!(told(4, 4, 0), "All were allocated in f.");
        assert_eq!(told(4, 3, 0), "Most were allocated in f: 3.00 MiB.");
        // Both would read 4.00 MiB.
        assert_eq!(most_of(4 * mib + 100, 4 * mib, "in f", 0), "Nearly all were allocated in f.");
        // Other places have 6 of 10 MiB, none of them as much.
        assert_eq!(told(10, 4, 0), "The largest part was allocated in f: 4.00 MiB.");
        assert_eq!(
            told(4, 2, 1),
            "The largest parts were allocated in f and at 1 other place: 2.00 MiB each."
        );
    }
}
