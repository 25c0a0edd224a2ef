//! Events in compact form until they are paired.
//!
//! Memory peaks while slices are built from events and both exist. So columns that slices take over unchanged are moved one at
//! a time and freed, and numbers use as few bytes as most of them need. A row with a larger number refers to an entry of full
//! size.

use super::args::ArgsPlace;
use super::compact_columns::Places;
use super::events::{Event, EventExtra, EventId, NO_EXTRA, Phase, flag};
use super::tracks::ThreadId;
use crate::base::hash::HashMap;
use crate::base::strings::StringId;

/// Duration of an end whose begin is known.
pub const IS_JOINED: i64 = 1;

/// Part of an [`Event`] that pairing uses.
#[derive(Clone, Copy, Debug)]
pub struct EventRow {
    pub ts: i64,
    pub dur: i64,
    pub thread: ThreadId,
    pub name: StringId,
    pub extra: u32,
    pub phase: Phase,
    pub flags: u16,
}

/// Part of an [`Event`] that is mostly just copied.
#[derive(Clone, Copy, Debug)]
pub struct EventPlace {
    pub offset: u64,
    pub len: u32,
    pub args_at: u32,
    pub args_len: u32,
    pub category: StringId,
}

impl EventPlace {
    /// Place of its arguments.
    pub fn args(&self) -> ArgsPlace {
        ArgsPlace { offset: self.offset + u64::from(self.args_at), len: self.args_len }
    }
}

/// Rows of events in columns, moved to slices one column at a time.
///
/// A row with a long duration, a thread beyond the compact range, or rare members is wide.
#[derive(Clone, Default)]
pub struct EventRows {
    pub ts: Vec<i64>,
    /// Nanoseconds; for a wide row, its index into [`EventRows::wide`].
    dur: Vec<u32>,
    pub name: Vec<StringId>,
    marks: Vec<Marks>,
    wide: Vec<WideRow>,
}

/// Thread, phase and flags of a row.
#[derive(Clone, Copy)]
struct Marks {
    thread: u16,
    /// Bits of [`flag`] from bit 0, [`Marks::IS_WIDE`], and the phase from [`Marks::PHASE_AT`].
    bits: u16,
}

/// Values of a wide row.
#[derive(Clone, Copy)]
struct WideRow {
    dur: i64,
    thread: ThreadId,
    extra: u32,
}

impl Marks {
    const IS_WIDE: u16 = 1 << 10;
    const PHASE_AT: u32 = 11;
    const FLAGS: u16 = Self::IS_WIDE - 1;

    #[inline(always)]
    fn phase(self) -> Phase {
        // Made from a valid phase.
        bytemuck::checked::try_cast((self.bits >> Self::PHASE_AT) as u8).unwrap_or(Phase::Complete)
    }
}

// Both have to fit side by side.
const _: () = assert!(flag::ALL & !Marks::FLAGS == 0 && (Phase::LAST as u16) < 1 << (16 - Marks::PHASE_AT));

impl EventRows {
    pub fn len(&self) -> usize {
        self.ts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ts.is_empty()
    }

    #[inline]
    fn push(&mut self, row: EventRow) {
        let EventRow { ts, dur, thread, name, extra, phase, flags } = row;
        let mut marks =
            Marks { thread: thread.0 as u16, bits: flags & Marks::FLAGS | (phase as u16) << Marks::PHASE_AT };
        let mut short = dur as u32;
        if i64::from(short) != dur || u32::from(marks.thread) != thread.0 || extra != NO_EXTRA {
            short = self.wide.len() as u32;
            marks.bits |= Marks::IS_WIDE;
            self.wide.push(WideRow { dur, thread, extra });
        }
        self.ts.push(ts);
        self.dur.push(short);
        self.name.push(name);
        self.marks.push(marks);
    }

    fn reserve_exact(&mut self, n: usize) {
        self.ts.reserve_exact(n);
        self.dur.reserve_exact(n);
        self.name.reserve_exact(n);
        self.marks.reserve_exact(n);
    }

    fn reserve(&mut self, n: usize) {
        self.ts.reserve(n);
        self.dur.reserve(n);
        self.name.reserve(n);
        self.marks.reserve(n);
    }

    /// Replaces thread, phase, duration and flags of a row.
    pub fn replace(&mut self, index: u32, row: EventRow) {
        let EventRow { dur, thread, extra, phase, flags, .. } = row;
        let index = index as usize;
        let mut marks =
            Marks { thread: thread.0 as u16, bits: flags & Marks::FLAGS | (phase as u16) << Marks::PHASE_AT };
        let was = self.marks[index];
        let mut short = dur as u32;
        if i64::from(short) != dur || u32::from(marks.thread) != thread.0 || extra != NO_EXTRA {
            marks.bits |= Marks::IS_WIDE;
            let wide = WideRow { dur, thread, extra };
            if was.bits & Marks::IS_WIDE != 0 {
                short = self.dur[index];
                self.wide[short as usize] = wide;
            } else {
                short = self.wide.len() as u32;
                self.wide.push(wide);
            }
        }
        self.marks[index] = marks;
        self.dur[index] = short;
    }

    /// Replaces threads by others.
    pub fn move_threads(&mut self, others: &HashMap<ThreadId, ThreadId>) {
        for index in 0..self.len() as u32 {
            let row = self.get(index);
            if let Some(thread) = others.get(&row.thread) {
                self.replace(index, EventRow { thread: *thread, ..row });
            }
        }
    }

    /// Row of an event.
    #[inline(always)]
    pub fn get(&self, index: u32) -> EventRow {
        let index = index as usize;
        let marks = self.marks[index];
        let WideRow { dur, thread, extra } = if marks.bits & Marks::IS_WIDE != 0 {
            self.wide[self.dur[index] as usize]
        } else {
            let thread = ThreadId(u32::from(marks.thread));
            WideRow { dur: i64::from(self.dur[index]), thread, extra: NO_EXTRA }
        };
        let flags = marks.bits & Marks::FLAGS;
        EventRow {
            ts: self.ts[index],
            dur,
            thread,
            name: self.name[index],
            extra,
            phase: marks.phase(),
            flags,
        }
    }

    #[inline(always)]
    pub fn phase(&self, index: u32) -> Phase {
        self.marks[index as usize].phase()
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = EventRow> + Clone {
        (0..self.len()).map(|index| self.get(index as u32))
    }

    /// Phases of all rows, in order.
    pub fn phases(&self) -> impl ExactSizeIterator<Item = Phase> + Clone {
        self.marks.iter().map(|marks| marks.phase())
    }

    /// Frees everything but times and names.
    pub fn into_times_and_names(self) -> (Vec<i64>, Vec<StringId>) {
        (self.ts, self.name)
    }
}

/// Places of events in the file.
#[derive(Clone, Default)]
pub struct EventPlaces {
    places: Places,
    /// Length of the event in bits 0 to 14 and its category above; with [`EventPlaces::IS_WIDE`] set, an index into
    /// [`EventPlaces::wide`].
    rest: Vec<u32>,
    /// Length and category of events that do not fit.
    wide: Vec<(u32, StringId)>,
}

impl EventPlaces {
    const IS_WIDE: u32 = 1 << 31;
    const LEN_BITS: u32 = 15;
    /// Stands for [`StringId::NONE`].
    const NO_CATEGORY: u32 = u16::MAX as u32;

    #[inline]
    fn push(&mut self, place: EventPlace) {
        let EventPlace { offset, len, args_at, args_len, category } = place;
        self.places.push(offset, (args_at, args_len));
        let rest = self.packed(len, category);
        self.rest.push(rest);
    }

    fn reserve_exact(&mut self, n: usize) {
        self.places.near.reserve_exact(n);
        self.rest.reserve_exact(n);
    }

    fn reserve(&mut self, n: usize) {
        self.places.near.reserve(n);
        self.rest.reserve(n);
    }

    /// Place of an event.
    #[inline]
    pub fn get(&self, index: u32) -> EventPlace {
        let (offset, (args_at, args_len)) = self.places.get(index as usize);
        let rest = self.rest[index as usize];
        let (len, category) = if rest & Self::IS_WIDE != 0 {
            self.wide[(rest & !Self::IS_WIDE) as usize]
        } else {
            let category = rest >> Self::LEN_BITS;
            let category = if category == Self::NO_CATEGORY { StringId::NONE } else { StringId(category) };
            (rest & ((1 << Self::LEN_BITS) - 1), category)
        };
        EventPlace { offset, len, args_at, args_len, category }
    }

    /// Replaces the category of an event.
    pub fn set_category(&mut self, index: u32, category: StringId) {
        let EventPlace { len, .. } = self.get(index);
        let rest = self.rest[index as usize];
        if rest & Self::IS_WIDE != 0 {
            self.wide[(rest & !Self::IS_WIDE) as usize].1 = category;
            return;
        }
        self.rest[index as usize] = self.packed(len, category);
    }

    /// Length and category as in [`EventPlaces::rest`].
    fn packed(&mut self, len: u32, category: StringId) -> u32 {
        let is_narrow = len >> Self::LEN_BITS == 0 && (category.is_none() || category.0 < Self::NO_CATEGORY);
        if is_narrow {
            return len | category.some().map_or(Self::NO_CATEGORY, |category| category.0) << Self::LEN_BITS;
        }
        self.wide.push((len, category));
        (self.wide.len() as u32 - 1) | Self::IS_WIDE
    }

    /// Place of the last event.
    pub fn last(&self) -> Option<EventPlace> {
        Some(self.get((self.rest.len() as u32).checked_sub(1)?))
    }
}

/// Raw timeline events in file order.
///
/// Pairing goes through them in time order, which is mostly close to file order.
#[derive(Clone, Default)]
pub struct EventTable {
    pub rows: EventRows,
    /// One per row of [`EventTable::rows`].
    pub places: EventPlaces,
    pub extras: Vec<EventExtra>,
    /// Sparse, sorted by event: CPU time of the thread, and CPU duration if given.
    pub thread_time: Vec<(u32, i64, Option<i64>)>,
    /// Sparse, sorted by event: writer of the event and those after it. Only with [`Ways::Tracks`](super::builder::Ways::Tracks),
    /// as the next ones.
    pub writers: Vec<(u32, u32)>,
    /// Writers that are known to write in groups, of whose events most are no longer here.
    pub in_groups: Vec<u32>,
    /// Places of events in chains of arrows, in file order.
    pub chained: Vec<Chained>,
    /// Sparse, sorted by event once begins and ends are joined: arguments of the end event.
    pub end_args: Vec<(u32, ArgsPlace)>,
}

/// An event on a chain of arrows: all events of an id, in order of time.
#[derive(Clone, Copy, Debug)]
pub struct Chained {
    pub event: u32,
    pub id: u64,
    /// The chain ends here; the id may begin another one.
    pub is_last: bool,
}

impl EventTable {
    pub fn n_events(&self) -> usize {
        self.rows.len()
    }

    /// Takes an event out of consideration: it becomes an end whose begin is known.
    pub fn leave_out(&mut self, event: u32) {
        let row = self.rows.get(event);
        self.rows.replace(event, EventRow { phase: Phase::End, dur: IS_JOINED, ..row });
    }

    /// Reserves memory for exactly `n` more events.
    pub fn reserve_exact(&mut self, n: usize) {
        self.rows.reserve_exact(n);
        self.places.reserve_exact(n);
    }

    /// Reserves memory for at least `n` more events.
    pub fn reserve(&mut self, n: usize) {
        self.rows.reserve(n);
        self.places.reserve(n);
    }

    /// All events, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> {
        (0..self.rows.len()).map(|index| {
            let index = index as u32;
            let row = self.rows.get(index);
            let place = self.places.get(index);
            Event {
                ts: row.ts,
                dur: row.dur,
                offset: place.offset,
                len: place.len,
                args_at: place.args_at,
                args_len: place.args_len,
                thread: row.thread,
                name: row.name,
                category: place.category,
                extra: row.extra,
                phase: row.phase,
                unused: 0,
                flags: row.flags,
            }
        })
    }

    /// Adds an event whose rare members, if any, are already added.
    #[inline]
    pub fn add(&mut self, event: Event) {
        let Event {
            ts,
            dur,
            offset,
            len,
            args_at,
            args_len,
            thread,
            name,
            category,
            extra,
            phase,
            flags,
            ..
        } = event;
        self.rows.push(EventRow { ts, dur, thread, name, extra, phase, flags });
        self.places.push(EventPlace { offset, len, args_at, args_len, category });
    }

    /// Adds an event; returns its index.
    #[inline]
    pub fn push(&mut self, mut event: Event, extra: Option<EventExtra>) -> u32 {
        if let Some(extra) = extra {
            event.extra = self.extras.len() as u32;
            self.extras.push(extra);
        }
        self.add(event);
        self.rows.len() as u32 - 1
    }

    /// Rare members of an event.
    #[inline]
    pub fn extra_of(&self, index: u32) -> Option<&EventExtra> {
        self.extras.get(self.rows.get(index).extra as usize)
    }

    /// Id of an event; mostly a plain number stored in its row.
    #[inline]
    pub fn id_of(&self, index: u32) -> EventId {
        let event = self.rows.get(index);
        EventId::of(event.flags, event.dur, self.extras.get(event.extra as usize))
    }

    /// CPU time of the thread, and CPU duration if given.
    #[inline]
    pub fn thread_time_of(&self, index: u32) -> Option<(i64, Option<i64>)> {
        if self.thread_time.is_empty() {
            return None;
        }
        let at = self.thread_time.binary_search_by_key(&index, |row| row.0).ok()?;
        self.thread_time.get(at).map(|row| (row.1, row.2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers near the limits of the narrow forms, and of events.
    fn number(max: u64) -> impl Strategy<Value = u64> {
        let ends = [
            0,
            1,
            0x7FFF,
            0x8000,
            0xFFFE,
            0xFFFF,
            0x1_0000,
            0xFFFF_FFFE,
            0xFFFF_FFFF,
            0x1_0000_0000,
            u64::MAX,
        ];
        prop_oneof![
            3 => 0..1000_u64,
            2 => proptest::sample::select(ends.to_vec()),
            1 => any::<u64>(),
        ]
        .prop_map(move |number| number.min(max))
    }

    fn event() -> impl Strategy<Value = Event> {
        let u32s = || number(u64::from(u32::MAX)).prop_map(|number| number as u32);
        let times = (any::<i64>(), number(u64::MAX), number(u64::MAX));
        let phase = (0..=Phase::LAST as u8)
            .prop_map(|phase| bytemuck::checked::try_cast(phase).unwrap_or(Phase::Complete));
        (times, [u32s(), u32s(), u32s(), u32s(), u32s()], u32s(), phase, 0..=flag::ALL).prop_map(
            |((ts, dur, offset), [len, args_at, args_len, thread, name], category, phase, flags)| Event {
                ts,
                dur: dur as i64,
                offset,
                len,
                args_at,
                args_len,
                thread: ThreadId(thread),
                name: StringId(name),
                category: StringId(category),
                extra: if name % 3 == 0 { category } else { NO_EXTRA },
                phase,
                unused: 0,
                flags,
            },
        )
    }

    proptest! {
        #[test]
        fn events_come_back_as_they_were(events in prop::collection::vec(event(), 1..40)) {
            let mut table = EventTable::default();
            // More than one block.
            for event in events.iter().cycle().take(10_000) {
                table.add(*event);
            }
            let bytes = |event: &Event| bytemuck::bytes_of(event).to_vec();
            for (event, back) in events.iter().cycle().zip(table.iter()) {
                prop_assert_eq!(bytes(event), bytes(&back));
            }
                    }
    }
}
