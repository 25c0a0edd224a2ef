//! Object events and markers, counted by event and name.

use crate::analysis::timeline::{cut, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::Unit;
use crate::report::{Column, Content, Report, Table};
use crate::trace::Run;
use crate::trace::objects::ObjectEvent;

/// Adds the table if there are any.
pub fn add(report: &mut Report, run: &Run) {
    let mut rows: Vec<(&str, &str, u64)> = Vec::new();
    let mut by_key: HashMap<(&str, &str), usize> = HashMap::default();
    for trace in &run.traces {
        for (event, name) in trace.objects.event.iter().zip(&trace.objects.name) {
            let key = (event_name(*event), trace.strings.get(*name));
            let next = rows.len();
            let row = *by_key.entry(key).or_insert(next);
            if row == next {
                rows.push((key.0, key.1, 0));
            }
            rows[row].2 += 1;
        }
    }
    if rows.is_empty() {
        return;
    }
    sort::by(&mut rows, |a, b| b.2.cmp(&a.2).then_with(|| (a.0, a.1).cmp(&(b.0, b.1))));
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        "objects",
        "Objects and markers",
        vec![
            Column::key("event", "event", Content::Symbol, texts(rows.iter().map(|row| Some(row.0)))),
            Column::key("name", "name", Content::Symbol, texts(rows.iter().map(|row| Some(row.1)))),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.2)).with_bar(),
        ],
    )
    .sorted_by("count", true);
    report.table(with_left_out(table, n_left_out));
}

/// Display name, as in the column `event`.
fn event_name(event: ObjectEvent) -> &'static str {
    match event {
        ObjectEvent::Created => "created",
        ObjectEvent::Snapshot => "snapshot",
        ObjectEvent::Destroyed => "destroyed",
        ObjectEvent::ProcessMemoryDump => "process memory dump",
        ObjectEvent::GlobalMemoryDump => "global memory dump",
        ObjectEvent::ClockSync => "clock sync",
    }
}
