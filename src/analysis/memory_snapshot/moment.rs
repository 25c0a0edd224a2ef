//! Memory that is active at a chosen moment, by code location.

use super::places::{Choice, Place, Places};
use super::usage::Axis;
use super::{Snapshot, device_column, ratio, signed};
use crate::analysis::timeline::{cut, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::{Unit, format_ns};
use crate::report::chart::Over;
use crate::report::{Column, Content, Table};
use crate::trace::memory_snapshot::Amount;
use crate::trace::samples::StackId;
use std::collections::BTreeMap;

/// Memory of a device at the moment, by code location.
struct Row {
    device: usize,
    place: Place,
    active: Amount,
    share: Option<f64>,
}

/// Calls `each` with device, stack and bytes of what is active after the last event up to `moment`, in nanoseconds since the start.
/// `None` without times.
pub fn active_at(
    snapshot: &Snapshot<'_>,
    moment: i64,
    mut each: impl FnMut(usize, StackId, u64),
) -> Option<()> {
    let mut has_times = false;
    for (number, _) in snapshot.devices() {
        let axis = Axis::new(snapshot, number);
        if axis.over != Over::Time {
            continue;
        }
        has_times = true;
        let event = axis.at.partition_point(|at| *at <= moment).checked_sub(1);
        snapshot.snapshot.for_each_allocation(number, |it| {
            if it.is_active_after(event) {
                each(number, it.stack, it.size);
            }
        });
    }
    has_times.then_some(())
}

/// Memory active after the last event up to `moment`, in nanoseconds since the start; `None` without times.
pub fn table(
    snapshot: &Snapshot<'_>,
    moment: i64,
    id: String,
    title: &dyn Fn(&str) -> String,
) -> Option<Table> {
    let mut places = Places::new(snapshot.trace, Choice::Program);
    let mut sums: BTreeMap<usize, HashMap<usize, Amount>> = BTreeMap::new();
    active_at(snapshot, moment, |device, stack, bytes| {
        sums.entry(device).or_default().entry(places.number(stack)).or_default().add(bytes);
    })?;
    let mut rows: Vec<Row> = Vec::new();
    for (device, sums) in sums {
        let all = sums.values().fold(0u64, |all, active| all.saturating_add(active.bytes));
        rows.extend(sums.into_iter().map(|(place, active)| Row {
            device,
            place: places.get(place).clone(),
            active,
            share: ratio(active.bytes, all),
        }));
    }
    sort::by(&mut rows, |a, b| {
        b.active.bytes.cmp(&a.active.bytes).then_with(|| (a.device, &a.place).cmp(&(b.device, &b.place)))
    });
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        id,
        title(&format!("Active memory at {}", format_ns(moment))),
        vec![
            device_column(rows.iter().map(|row| row.device)),
            Column::key(
                "function",
                "function",
                Content::Symbol,
                texts(rows.iter().map(|row| Some(&*row.place.function))),
            ),
            Column::key("file", "file", Content::Path, texts(rows.iter().map(|row| Some(&*row.place.file)))),
            Column::integer("line", "line", Unit::Id, rows.iter().map(|row| row.place.line).collect())
                .as_key(),
            Column::integer(
                "active",
                "active",
                Unit::Bytes,
                rows.iter().map(|row| Some(signed(row.active.bytes))).collect(),
            )
            .adds_up()
            .with_bar(),
            Column::float("share", "% of active", Unit::Ratio, rows.iter().map(|row| row.share).collect())
                .hint("of the active memory of the device at that moment"),
            Column::counts("allocations", "allocations", Unit::Count, rows.iter().map(|row| row.active.n))
                .adds_up(),
        ],
    )
    .sorted_by("active", true)
    .caption("One row per device and innermost frame that isn't PyTorch's own.")
    .if_empty("Nothing is active at that moment.");
    Some(with_left_out(table, n_left_out))
}
