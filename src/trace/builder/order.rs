//! Order in which events are processed.

use super::nesting::OpenBegins;
use super::{TraceBuilder, Ways};
use crate::base::hash::{HashMap, HashSet};
use crate::base::strings::StringId;
use crate::trace::event_table::EventTable;
use crate::trace::events::Phase;
use crate::trace::links::{CALL_CATEGORIES, OPERATOR_CATEGORIES};
use crate::trace::slices::UNFINISHED;
use crate::trace::tracks::ThreadId;

/// Indexes of all events by time. At equal times: ends of slices that began earlier, then complete slices from long to short,
/// then the rest; ties keep file order. So a parent comes before its child wherever it is in the file, and a zero-length slice
/// takes nothing from its parent.
///
/// Among complete slices whose durations differ by at most `tolerance` (nanoseconds), the first one in the file is the parent. A call
/// of a runtime is never that of an operator, an annotation or a frame.
pub fn processing_order(events: &EventTable, tolerance: i64, builder: &TraceBuilder) -> Vec<u32> {
    let mut order = order_of_time(events);
    let (rows, ways) = (&events.rows, builder.ways);
    let find = |category: &&str| builder.trace.strings.find(category);
    let ids = |categories: &[&str]| match tolerance {
        0 => Vec::new(),
        _ => categories.iter().filter_map(find).collect::<Vec<StringId>>(),
    };
    let (calls, makers) = (ids(CALL_CATEGORIES), ids(&[OPERATOR_CATEGORIES, MAKER_CATEGORIES].concat()));
    // Ends of slices that begin at the same time.
    let mut own_ends: HashSet<u32> = HashSet::default();
    let rank = |index: u32, own_ends: &HashSet<u32>| {
        let row = rows.get(index);
        match row.phase {
            Phase::End if own_ends.contains(&index) => (2, 0),
            Phase::End => (0, 0),
            Phase::Complete if row.dur > 0 => (1, i64::MAX - row.dur),
            // Lasts to the end of the trace.
            Phase::Complete if row.dur == UNFINISHED => (1, 0),
            _ => (2, 0),
        }
    };
    let mut start = 0;
    while let Some(first) = order.get(start) {
        let ts = rows.ts[*first as usize];
        let n = order[start..].iter().take_while(|index| rows.ts[**index as usize] == ts).count();
        if n > 1 {
            let order = &mut order[start..start + n];
            own_ends.clear();
            find_own_ends(order, events, ways, &mut own_ends);
            order.sort_by_key(|index| rank(*index, &own_ends));
            if tolerance > 0 {
                put_parents_first(order, events, tolerance, [&calls, &makers]);
            }
        }
        start += n;
    }
    order
}

/// Finds the ends in `order` (events of one time, in file order) whose begins precede them there.
fn find_own_ends(order: &[u32], events: &EventTable, ways: Ways, own_ends: &mut HashSet<u32>) {
    let rows = &events.rows;
    let phase = |index: &u32| rows.phase(*index);
    let Some(first) = order.iter().position(|index| phase(index) == Phase::Begin) else { return };
    if !order[first..].iter().any(|index| phase(index) == Phase::End) {
        return;
    }
    let mut begins: HashMap<ThreadId, OpenBegins> = HashMap::default();
    for index in &order[first..] {
        let phase = phase(index);
        if !matches!(phase, Phase::Begin | Phase::End) {
            continue;
        }
        let (row, category) = (rows.get(*index), events.places.get(*index).category);
        if phase == Phase::Begin {
            begins.entry(row.thread).or_default().push(*index, row.name, category);
        } else if let Some(begins) = begins.get_mut(&row.thread) {
            let name = Some(row.name).filter(|name| *name != StringId::EMPTY);
            let begin = match ways {
                Ways::Format | Ways::Tracks => begins.take(name, category.some()),
                Ways::Kineto => begins.take(None, None),
            };
            if begin.is_some() {
                own_ends.insert(*index);
            }
        }
    }
}

/// How many slices with equal start are searched for the previous one of the same thread.
const LOOK_BACK: usize = 64;

/// How many slices a parent is put before.
const MAX_MOVES: usize = 8;

/// Categories of what makes calls, other than operators.
const MAKER_CATEGORIES: &[&str] = &["user_annotation", "python_function"];

/// Sorts neighbors in `order` that are complete slices of one thread with about equal durations into file order, and calls behind
/// what makes them. `calls` and `makers` are categories.
fn put_parents_first(
    order: &mut [u32],
    events: &EventTable,
    tolerance: i64,
    [calls, makers]: [&[StringId]; 2],
) {
    let rows = &events.rows;
    let is_of = |index: u32, categories: &[StringId]| {
        !categories.is_empty() && categories.contains(&events.places.get(index).category)
    };
    for from in 1..order.len() {
        let mut at = from;
        // Several calls may stand before the operator that makes them.
        for _ in 0..MAX_MOVES {
            let this = rows.get(order[at]);
            let mut near = (at.saturating_sub(LOOK_BACK)..at).rev();
            let Some(before) = near.find(|before| rows.get(order[*before]).thread == this.thread) else {
                break;
            };
            let long = rows.get(order[before]);
            let are_slices =
                [&long, &this].iter().all(|event| event.phase == Phase::Complete && event.dur > 0);
            if !are_slices || long.dur - this.dur > tolerance {
                break;
            }
            let is_parent_behind = match (order[before], order[at]) {
                (first, second) if is_of(first, calls) && is_of(second, makers) => true,
                (first, second) if is_of(first, makers) && is_of(second, calls) => false,
                (first, second) => first > second,
            };
            if !is_parent_behind {
                break;
            }
            order.swap(before, at);
            at = before;
        }
    }
}

/// Indexes by time, then by file order.
pub(super) fn order_of_time(events: &EventTable) -> Vec<u32> {
    let rows = &events.rows;
    if rows.ts.is_sorted() {
        return (0..rows.len() as u32).collect();
    }
    let times = || rows.ts.iter().copied();
    let (first, last) = (times().min().unwrap_or(0), times().max().unwrap_or(0));
    let index_bits = usize::BITS - rows.len().leading_zeros();
    let time_bits = u64::BITS - last.abs_diff(first).leading_zeros();
    if time_bits + index_bits > u64::BITS {
        let mut order: Vec<(i64, u32)> = times().zip(0..).collect();
        order.sort();
        return order.into_iter().map(|(_, index)| index).collect();
    }
    // One word for both: half the memory, and fast to compare. Files consist of sorted runs, which a stable sort exploits.
    let mut order: Vec<u64> =
        times().zip(0u64..).map(|(ts, index)| ts.abs_diff(first) << index_bits | index).collect();
    order.sort();
    let mask = (1 << index_bits) - 1;
    order.into_iter().map(|word| (word & mask) as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::strings::StringId;
    use crate::trace::events::{Event, NO_EXTRA};
    use crate::trace::tracks::ThreadId;

    fn table(times: &[i64]) -> EventTable {
        let mut table = EventTable::default();
        for ts in times {
            table.add(Event {
                ts: *ts,
                dur: 0,
                offset: 0,
                len: 0,
                args_at: 0,
                args_len: 0,
                thread: ThreadId(0),
                name: StringId::EMPTY,
                category: StringId::NONE,
                extra: NO_EXTRA,
                phase: Phase::Instant,
                unused: 0,
                flags: 0,
            });
        }
        table
    }

    #[test]
    fn times_of_any_size_are_sorted() {
        let cases: [(&[i64], &[u32]); 4] = [
            (&[], &[]),
            (&[1, 2, 3], &[0, 1, 2]),
            (&[3, -1, 3, 2, -1], &[1, 4, 3, 0, 2]),
            (&[i64::MAX, 0, i64::MIN, 0], &[2, 1, 3, 0]),
        ];
        for (times, order) in cases {
            assert_eq!(processing_order(&table(times), 0, &TraceBuilder::default()), order);
        }
    }
}
