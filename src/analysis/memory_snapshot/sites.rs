//! Memory by code location: at the peak, never freed, and the rest.

use super::places::{Choice, Place, Places};
use super::{Snapshot, device_column, ratio, signed};
use crate::analysis::timeline::{cut, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::{Column, Content, Table};
use crate::trace::memory_snapshot::{Amount, Use};

/// Memory that one code location of a device allocated.
pub struct Site {
    pub device: usize,
    pub place: Place,
    pub at_peak: Amount,
    pub never_freed: Amount,
    pub left_from_before: Amount,
    pub allocated: Amount,
    /// Of the peak of its device; without events, of what was live at the end.
    pub share: Option<f64>,
}

impl Site {
    fn add(&mut self, it: &Use) {
        self.at_peak = self.at_peak.plus(it.at_peak);
        self.never_freed = self.never_freed.plus(it.never_freed);
        self.left_from_before = self.left_from_before.plus(it.left_from_before);
        self.allocated = self.allocated.plus(it.allocated);
    }
}

/// Memory by code location, most at the peak first.
pub fn by_place(snapshot: &Snapshot<'_>, choice: Choice) -> Vec<Site> {
    let mut places = Places::new(snapshot.trace, choice);
    let mut sites: Vec<Site> = Vec::new();
    let mut number_of: HashMap<(usize, usize), usize> = HashMap::default();
    for (number, device) in snapshot.devices() {
        for it in &device.uses {
            let place = places.number(it.stack);
            let row = *number_of.entry((number, place)).or_insert_with(|| {
                sites.push(Site {
                    device: number,
                    place: places.get(place).clone(),
                    at_peak: Amount::default(),
                    never_freed: Amount::default(),
                    left_from_before: Amount::default(),
                    allocated: Amount::default(),
                    share: None,
                });
                sites.len() - 1
            });
            sites[row].add(it);
        }
    }
    for site in &mut sites {
        let peak = snapshot.snapshot.devices.get(site.device).map_or(0, |device| device.peak.bytes);
        site.share = ratio(site.at_peak.bytes, peak);
    }
    sort::by(&mut sites, |a, b| {
        let key = |it: &Site| (it.at_peak.bytes, it.never_freed.bytes, it.allocated.bytes);
        key(b).cmp(&key(a)).then_with(|| (a.device, &a.place).cmp(&(b.device, &b.place)))
    });
    sites
}

/// A value of a row.
type Get<T> = fn(&T) -> Amount;

/// Main column: what is asked of a snapshot first. Without events there is no peak.
fn main_id(snapshot: &Snapshot<'_>) -> &'static str {
    if snapshot.snapshot.has_events() { "at_peak" } else { AT_END }
}

/// The only amount that is known without events.
const AT_END: &str = "at_end";

/// Columns of amounts: id, label and meaning of the bytes, and id and label of the allocations.
const AMOUNTS: [[&str; 5]; 5] = [
    ["at_peak", "at peak", "active at the peak of the device", "at_peak_n", "allocations at peak"],
    [
        "never_freed",
        "never freed",
        "allocated by an event and live at the end",
        "never_freed_n",
        "allocations never freed",
    ],
    [
        "left_from_before",
        "left from before",
        "live before the first event and at the end",
        "left_from_before_n",
        "allocations left from before",
    ],
    [AT_END, "live at end", "live when the snapshot was taken", "at_end_n", "allocations live at end"],
    ["allocated", "allocated in total", "by events", "allocated_n", "allocations"],
];

/// Columns of amounts; the first has bars. `get`: at the peak, never freed, left from before, and allocated.
fn amounts<T>(snapshot: &Snapshot<'_>, rows: &[T], get: [Get<T>; 4]) -> Vec<Column> {
    let [at_peak, never_freed, left_from_before, allocated] = get;
    let at_end = |row: &T| never_freed(row).plus(left_from_before(row));
    // In the order of AMOUNTS.
    let gets: [&dyn Fn(&T) -> Amount; 5] = [&at_peak, &never_freed, &left_from_before, &at_end, &allocated];
    let has_events = snapshot.snapshot.has_events();
    let mut columns = Vec::new();
    for ([id, label, hint, count, count_label], get) in AMOUNTS.into_iter().zip(gets) {
        if !(has_events || id == AT_END) {
            continue;
        }
        let bytes = rows.iter().map(|row| Some(signed(get(row).bytes))).collect();
        let column = Column::integer(id, label, Unit::Bytes, bytes).hint(hint).adds_up();
        columns.push(if columns.is_empty() { column.with_bar() } else { column });
        let n = rows.iter().map(|row| get(row).n);
        columns.push(Column::counts(count, count_label, Unit::Count, n).adds_up());
    }
    columns
}

pub fn table(snapshot: &Snapshot<'_>, id: String, title: String, sites: &[Site]) -> Table {
    let mut rows: Vec<&Site> = sites.iter().collect();
    let n_left_out = cut(&mut rows);
    let mut columns = vec![
        device_column(rows.iter().map(|site| site.device)),
        Column::key(
            "function",
            "function",
            Content::Symbol,
            texts(rows.iter().map(|site| Some(&*site.place.function))),
        ),
        Column::key("file", "file", Content::Path, texts(rows.iter().map(|site| Some(&*site.place.file)))),
        Column::integer("line", "line", Unit::Id, rows.iter().map(|site| site.place.line).collect()).as_key(),
    ];
    columns.extend(amounts(
        snapshot,
        &rows,
        [|it| it.at_peak, |it| it.never_freed, |it| it.left_from_before, |it| it.allocated],
    ));
    let shares = rows.iter().map(|site| site.share).collect();
    let share = if snapshot.snapshot.has_events() { "% of peak" } else { "% of live" };
    columns.insert(5, Column::float("share", share, Unit::Ratio, shares));
    let table = Table::new(id, title, columns).sorted_by(main_id(snapshot), true).if_empty("No allocations.");
    with_left_out(table, n_left_out)
}

/// Memory by the text that the program attached to its allocations; `None` if it attached none.
pub fn by_metadata(snapshot: &Snapshot<'_>, id: String, title: String) -> Option<Table> {
    let mut rows: Vec<(usize, &str, [Amount; 4])> = Vec::new();
    let mut number_of: HashMap<(usize, StringId), usize> = HashMap::default();
    let mut has_any = false;
    for (number, device) in snapshot.devices() {
        for it in &device.uses {
            let row = *number_of.entry((number, it.metadata)).or_insert_with(|| {
                let text = snapshot.trace.strings.get_opt(it.metadata);
                has_any |= text.is_some();
                rows.push((number, text.unwrap_or("(none)"), [Amount::default(); 4]));
                rows.len() - 1
            });
            let own = &mut rows[row].2;
            let of_use = [it.at_peak, it.never_freed, it.left_from_before, it.allocated];
            own.iter_mut().zip(of_use).for_each(|(own, amount)| *own = own.plus(amount));
        }
    }
    if !has_any {
        return None;
    }
    sort::by(&mut rows, |a, b| b.2[0].bytes.cmp(&a.2[0].bytes).then_with(|| (a.0, a.1).cmp(&(b.0, b.1))));
    let n_left_out = cut(&mut rows);
    let mut columns = vec![
        device_column(rows.iter().map(|row| row.0)),
        Column::key(
            "user_metadata",
            "metadata",
            Content::Argument,
            texts(rows.iter().map(|row| Some(row.1))),
        ),
    ];
    columns.extend(amounts(snapshot, &rows, [|it| it.2[0], |it| it.2[1], |it| it.2[2], |it| it.2[3]]));
    let table = Table::new(id, title, columns)
        .sorted_by(main_id(snapshot), true)
        .caption("One row per text that the program attached to allocations (user_metadata).");
    Some(with_left_out(table, n_left_out))
}
