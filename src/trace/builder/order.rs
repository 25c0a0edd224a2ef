//! The order in which events are put together.

use crate::trace::events::{EventTable, Phase};

/// Indexes of all events by time; at equal times first the ends, then complete slices with a length from long to
/// short, then the rest; ties keep file order. So a parent comes before its child wherever it stands in the file.
pub fn processing_order(events: &EventTable) -> Vec<u32> {
    let mut order: Vec<(i64, u32)> =
        events.rows.iter().enumerate().map(|(index, event)| (event.ts, index as u32)).collect();
    if !order.is_sorted() {
        order.sort_by_key(|(ts, _)| *ts);
    }
    let rank = |index: u32| match events.rows[index as usize].phase {
        Phase::End => (0, 0),
        Phase::Complete if events.rows[index as usize].dur > 0 => {
            (1, i64::MAX - events.rows[index as usize].dur)
        }
        _ => (2, 0),
    };
    let mut start = 0;
    while start < order.len() {
        let mut end = start + 1;
        while end < order.len() && order[end].0 == order[start].0 {
            end += 1;
        }
        if end - start > 1 {
            order[start..end].sort_by_key(|(_, index)| rank(*index));
        }
        start = end;
    }
    order.into_iter().map(|(_, index)| index).collect()
}
