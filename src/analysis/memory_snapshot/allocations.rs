//! Allocations over time, stacked: each as high as its bytes, from its allocation until the allocator has the memory again.
//!
//! ```text
//! bytes   ┌────────────┐ other allocations, one band
//!       ┌─┴──┐ ┌───────┴──┐
//!       │ C  │ │    C     │    C moves down when B ends
//!       ├────┴─┤          │
//!       │  B   ├──────────┤
//!       ├──────┴──────────┤
//!       │        A        │
//!       └─────────────────┘ time
//! ```

use super::places::{Choice, Place, Places};
use super::usage::Axis;
use super::{Snapshot, device_column, label, signed};
use crate::analysis::timeline::texts;
use crate::base::sort;
use crate::base::units::{Unit, counted, format_bytes};
use crate::report::chart::{Boxes, Plot, Tone, ValueBox};
use crate::report::{Chart, Column, Content, Table};
use crate::trace::memory_snapshot::{Lifetime, NO_TIME};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Allocations with a box of their own, which is at most some thousand boxes as they move: the largest of those active at the peak, and those with the most bytes × time.
const N_AT_PEAK: usize = 60;
const N_SHOWN: usize = 150;
/// Boxes of the band of other allocations, roughly.
const N_BINS: usize = 400;
/// Code locations with a color of their own.
const N_COLORS: usize = 5;
/// Colors of allocations, with that of all other code locations.
pub const N_TONES: usize = N_COLORS + 1;

/// The allocations of a device that have a box of their own, from the lowest to the highest.
struct Shown {
    axis: Axis,
    allocations: Vec<Lifetime>,
    /// Number of allocations in all.
    n_all: u64,
}

/// Keeps the `n` items with the greatest keys.
fn keep<K: Ord>(list: &mut BTreeSet<K>, n: usize, item: K) {
    if list.len() < n || list.first().is_some_and(|least| item > *least) {
        list.insert(item);
        if list.len() > n {
            list.pop_first();
        }
    }
}

impl Shown {
    fn new(snapshot: &Snapshot<'_>, number: usize) -> Shown {
        let axis = Axis::new(snapshot, number);
        let peak = snapshot.snapshot.devices.get(number).and_then(|device| device.peak.event);
        let peak = peak.map(|row| row as usize);
        // Ties go to the earlier one.
        let mut by_size: BTreeSet<(u64, Reverse<Key>)> = BTreeSet::new();
        let mut by_area: BTreeSet<(u128, Reverse<Key>)> = BTreeSet::new();
        let mut n_all = 0;
        snapshot.snapshot.for_each_allocation(number, |it| {
            n_all += 1;
            let key = Reverse(key_of(&it));
            if it.is_active_after(peak) {
                keep(&mut by_size, N_AT_PEAK, (it.size, key));
            }
            let (start, end) = span(&axis, &it);
            let length = end.saturating_sub(start).max(0) as u128;
            keep(&mut by_area, N_SHOWN, (u128::from(it.size) * length, key));
        });
        let mut chosen: BTreeSet<Key> = by_size.into_iter().map(|(_, Reverse(key))| key).collect();
        for (_, Reverse(key)) in by_area.into_iter().rev() {
            if chosen.len() < N_SHOWN {
                chosen.insert(key);
            }
        }
        let mut allocations = Vec::new();
        snapshot.snapshot.for_each_allocation(number, |it| {
            if chosen.contains(&key_of(&it)) {
                allocations.push(it);
            }
        });
        sort::by_key(&mut allocations, key_of);
        Shown { axis, allocations, n_all }
    }
}

/// What identifies an allocation, in the order of their starts: the event that made it, and its address.
type Key = (Option<usize>, i64);

fn key_of(it: &Lifetime) -> Key {
    (it.start, it.address)
}

/// Start and end on the axis.
pub fn span(axis: &Axis, it: &Lifetime) -> (i64, i64) {
    (it.start.map_or(axis.start(), |row| axis.at[row]), it.end.map_or(axis.end(), |row| axis.at[row]))
}

/// The chart of a device; `None` without allocations.
pub fn chart(
    snapshot: &Snapshot<'_>,
    number: usize,
    id: &dyn Fn(&str) -> String,
    title: &dyn Fn(&str) -> String,
) -> Option<Chart> {
    let shown = Shown::new(snapshot, number);
    if shown.allocations.is_empty() {
        return None;
    }
    let (boxes, most) = boxes(snapshot, number, &shown);
    let n_shown = shown.allocations.len() as u64;
    let caption = match shown.n_all.saturating_sub(n_shown) {
        0 => "Active allocations by code location.".to_string(),
        n => format!(
            "Active allocations by code location: {} of {} on their own. The band on top is the other {}, at most {} at once.",
            n_shown,
            counted(shown.n_all, "allocation", "allocations"),
            n,
            format_bytes(most),
        ),
    };
    Some(Chart {
        id: id(&format!("allocations_chart_gpu{number}")).into(),
        title: title(&format!("Allocations over time, {}", label(number))),
        caption,
        plot: Plot::Boxes(boxes),
    })
}

/// The boxes, and the most bytes in the band of other allocations.
fn boxes(snapshot: &Snapshot<'_>, number: usize, shown: &Shown) -> (Boxes, u64) {
    let Shown { axis, allocations, .. } = shown;
    let mut places = Places::new(snapshot.trace, Choice::Program);
    let place_of: Vec<usize> = allocations.iter().map(|it| places.number(it.stack)).collect();
    let palette = Palette::of(&places, &place_of, allocations);
    let tones: Vec<Tone> = place_of.iter().map(|place| palette.tone(places.get(*place))).collect();
    let to_box = |it: usize, start: i64, end: i64, low: u64| {
        let size = allocations[it].size;
        ValueBox {
            name: places.get(place_of[it]).label(),
            tone: tones[it],
            start,
            end,
            low: low as f64,
            high: low.saturating_add(size) as f64,
        }
    };

    // Changes of the stack in order of events; what ends at an event does so before what starts.
    let mut changes: Vec<(Option<usize>, bool, usize)> = Vec::new();
    for (at, it) in allocations.iter().enumerate() {
        changes.push((it.start, true, at));
        if it.end.is_some() {
            changes.push((it.end, false, at));
        }
    }
    sort::by(&mut changes, Ord::cmp);
    let mut drawn: Vec<ValueBox> = Vec::new();
    // The stack: number of the allocation, start of its current box, and where that lies.
    let mut stack: Vec<(usize, i64, u64)> = Vec::new();
    // Height of the stack after each event that changes it.
    let mut tops: Vec<(Option<usize>, u64)> = Vec::new();
    for group in changes.chunk_by(|a, b| a.0 == b.0) {
        let event = group[0].0;
        let now = event.map_or(axis.start(), |row| axis.at[row]);
        for (_, starts, it) in group {
            if *starts {
                let top = stack.last().map_or(0, |(it, _, low)| low.saturating_add(allocations[*it].size));
                stack.push((*it, now, top));
            } else if let Some(at) = stack.iter().position(|(own, ..)| own == it) {
                let (_, start, low) = stack.remove(at);
                drawn.push(to_box(*it, start, now, low));
            }
        }
        let mut top = 0u64;
        for (it, start, low) in &mut stack {
            if *low != top {
                drawn.push(to_box(*it, *start, now, *low));
                (*start, *low) = (now, top);
            }
            top = top.saturating_add(allocations[*it].size);
        }
        tops.push((event, top));
    }
    drawn.extend(stack.iter().map(|(it, start, low)| to_box(*it, *start, axis.end(), *low)));
    drawn.retain(|it| it.end > it.start);

    let (rest, most) = others(snapshot, number, axis, &tops);
    let mut legend = palette.legend();
    if most > 0 {
        legend.push(("other allocations".to_string(), Tone::Idle));
    }
    drawn.extend(rest);
    (Boxes { unit: Unit::Bytes, over: axis.over, legend, boxes: drawn }, most)
}

/// Colors of the allocations of a device: the code locations with the most bytes have their own.
pub struct Palette {
    named: Vec<Place>,
    has_others: bool,
}

impl Palette {
    /// That of the chart of a device.
    pub fn new(snapshot: &Snapshot<'_>, number: usize) -> Palette {
        let shown = Shown::new(snapshot, number);
        let mut places = Places::new(snapshot.trace, Choice::Program);
        let place_of: Vec<usize> = shown.allocations.iter().map(|it| places.number(it.stack)).collect();
        Palette::of(&places, &place_of, &shown.allocations)
    }

    fn of(places: &Places<'_>, place_of: &[usize], allocations: &[Lifetime]) -> Palette {
        let mut sums: Vec<(u64, Reverse<usize>)> = Vec::new();
        for (place, it) in place_of.iter().zip(allocations) {
            match sums.iter_mut().find(|(_, Reverse(own))| own == place) {
                Some((sum, _)) => *sum = sum.saturating_add(it.size),
                None => sums.push((it.size, Reverse(*place))),
            }
        }
        sort::by(&mut sums, |a, b| b.cmp(a));
        let named = sums.iter().take(N_COLORS).map(|(_, Reverse(place))| places.get(*place).clone());
        Palette { named: named.collect(), has_others: sums.len() > N_COLORS }
    }

    /// Number of the tone of a code location, below [`N_TONES`].
    pub fn number(&self, place: &Place) -> usize {
        self.named.iter().position(|own| own == place).unwrap_or(N_COLORS)
    }

    fn tone(&self, place: &Place) -> Tone {
        Palette::tone_of(self.number(place))
    }

    /// Whether the tone of that number is that of several code locations.
    pub fn is_other(&self, number: usize) -> bool {
        number >= N_COLORS
    }

    pub fn tone_of(number: usize) -> Tone {
        Tone::Other(number.min(N_COLORS) as u8)
    }

    /// Meaning of the tones of the chart.
    fn legend(&self) -> Vec<(String, Tone)> {
        self.legend_with(self.has_others)
    }

    /// Meaning of the tones, where there are other code locations or not.
    pub fn legend_with(&self, has_others: bool) -> Vec<(String, Tone)> {
        let named = self.named.iter().map(Place::label).zip((0..).map(Palette::tone_of));
        let others = has_others.then(|| ("other code locations".to_string(), Palette::tone_of(N_COLORS)));
        named.chain(others).collect()
    }
}

/// The band of the allocations without a box, on top of the stack, whose heights are `tops`; and its most bytes at once.
///
/// A box is the maximum of some events, and ends where the stack below changes.
fn others(
    snapshot: &Snapshot<'_>,
    number: usize,
    axis: &Axis,
    tops: &[(Option<usize>, u64)],
) -> (Vec<ValueBox>, u64) {
    let per_bin = axis.at.len().div_ceil(N_BINS).max(1);
    // Start, top of the stack, and bytes above it.
    let mut pieces: Vec<(i64, u64, u64)> = Vec::new();
    let (mut next, mut top, mut bin, mut most) = (0, 0, usize::MAX, 0);
    snapshot.snapshot.replay(number, |row, usage| {
        let mut is_new = false;
        while let Some((event, height)) = tops.get(next).filter(|(event, _)| *event <= row) {
            is_new |= *event == row;
            (top, next) = (*height, next + 1);
        }
        let own = row.map_or(usize::MAX, |row| row / per_bin);
        is_new |= own != bin || row.is_none();
        bin = own;
        let rest = usage.active.saturating_sub(top);
        most = most.max(rest);
        let now = row.map_or(axis.start(), |row| axis.at[row]);
        match pieces.last_mut() {
            Some(last) if !is_new => last.2 = last.2.max(rest),
            // Only the last of what happens at one time is seen.
            Some(last) if last.0 == now => (last.1, last.2) = (top, rest),
            _ => pieces.push((now, top, rest)),
        }
    });
    pieces.dedup_by_key(|piece| (piece.1, piece.2));
    let ends = pieces.iter().skip(1).map(|piece| piece.0).chain([axis.end()]);
    let boxes = pieces.iter().zip(ends).filter(|((start, _, rest), end)| end > start && *rest > 0);
    let boxes = boxes.map(|((start, top, rest), end)| ValueBox {
        name: "other allocations".to_string(),
        tone: Tone::Idle,
        start: *start,
        end,
        low: *top as f64,
        high: top.saturating_add(*rest) as f64,
    });
    (boxes.collect(), most)
}

/// The allocations of the charts that have a box of their own.
pub fn table(snapshot: &Snapshot<'_>, id: String, title: String) -> Table {
    let mut places = Places::new(snapshot.trace, Choice::Program);
    let mut rows: Vec<(usize, usize, Lifetime)> = Vec::new();
    let mut n_left_out = 0;
    for (number, _) in snapshot.devices().filter(|(_, device)| !device.events.is_empty()) {
        let shown = Shown::new(snapshot, number);
        n_left_out += shown.n_all.saturating_sub(shown.allocations.len() as u64);
        rows.extend(shown.allocations.iter().map(|it| (number, places.number(it.stack), *it)));
    }
    sort::by_key(&mut rows, |(number, _, it)| (Reverse(it.size), *number, key_of(it)));
    let table = table_of(snapshot, id, title, &places, &rows).sorted_by("size", true).caption(
        "One row per allocation with its own box in the charts: the largest at the peak, then the most bytes × time.",
    );
    crate::analysis::timeline::with_left_out(table, n_left_out)
}

/// Allocations: number of the device, number of the code location, and when each is active.
pub fn table_of(
    snapshot: &Snapshot<'_>,
    id: String,
    title: String,
    places: &Places<'_>,
    rows: &[(usize, usize, Lifetime)],
) -> Table {
    let number = |id: &'static str, label: &str, unit, get: &dyn Fn(usize, &Lifetime) -> Option<i64>| {
        Column::integer(id, label, unit, rows.iter().map(|(number, _, it)| get(*number, it)).collect())
    };
    let time = |number: usize, row: Option<usize>| {
        let device = snapshot.snapshot.devices.get(number)?;
        snapshot.offset(device.events.time_us.get(row?).copied().unwrap_or(NO_TIME))
    };
    let place = |at: usize| places.get(at);
    Table::new(
        id,
        title,
        vec![
            device_column(rows.iter().map(|row| row.0)),
            Column::text(
                "function",
                "function",
                Content::Symbol,
                texts(rows.iter().map(|row| Some(&*place(row.1).function))),
            ),
            Column::text(
                "file",
                "file",
                Content::Path,
                texts(rows.iter().map(|row| Some(&*place(row.1).file))),
            ),
            Column::integer("line", "line", Unit::Id, rows.iter().map(|row| place(row.1).line).collect()),
            number("size", "size", Unit::Bytes, &|_, it| Some(signed(it.size)))
                .hint("what was asked for")
                .with_bar(),
            number("address", "address", Unit::Address, &|_, it| Some(it.address)).as_key(),
            number("event", "event", Unit::Id, &|_, it| Some(it.start.map_or(-1, |row| row as i64)))
                .hint("index in the file of the event that allocated it; negative before the first event")
                .as_key(),
            number("start", "start", Unit::NsOffset, &|device, it| time(device, it.start)),
            number("end_event", "end event", Unit::Id, &|_, it| it.end.map(|row| row as i64))
                .hint("index in the file of the event that ends it; empty if it is active at the end"),
            number("end", "end", Unit::NsOffset, &|device, it| time(device, it.end)),
        ],
    )
    .if_empty("No allocations.")
    .not_compared()
}
