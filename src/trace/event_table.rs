//! Events as they are held until they are paired: as few bytes as most of them need.
//!
//! A large trace needs most memory while slices are made of its events, when both are there. So events lie in two halves,
//! of which one is gone before what the other says is copied, and numbers in both take the bytes that they mostly need. A row
//! with a number that needs more says where it stands at full length.

use super::args::ArgsPlace;
use super::events::{Event, EventExtra, EventId, EventKey, NO_EXTRA, Phase, flag};
use super::tracks::ThreadId;
use crate::base::strings::StringId;

/// The part of an [`Event`] that pairing goes by.
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

/// The part of an [`Event`] that is mostly only handed on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EventPlace {
    pub offset: u64,
    pub len: u32,
    pub args_at: u32,
    pub args_len: u32,
    pub category: StringId,
}

impl EventPlace {
    /// Where its arguments are.
    pub fn args(&self) -> ArgsPlace {
        ArgsPlace { offset: self.offset + u64::from(self.args_at), len: self.args_len }
    }
}

/// An [`EventRow`] of a short duration, on one of the first threads, without rare members.
#[derive(Clone, Copy)]
struct NarrowRow {
    /// The lower half of the time first. Not an `i64`, which would leave a gap of four bytes in each row.
    ts: [u32; 2],
    /// Index into [`EventRows::wide`] if [`NarrowRow::IS_WIDE`].
    dur: u32,
    name: StringId,
    thread: u16,
    /// Bits of [`flag`] from bit 0, [`NarrowRow::IS_WIDE`], and the phase from [`NarrowRow::PHASE_AT`].
    bits: u16,
}

/// What a [`NarrowRow`] has no room for.
#[derive(Clone, Copy)]
struct WideRow {
    dur: i64,
    thread: ThreadId,
    extra: u32,
}

impl NarrowRow {
    const IS_WIDE: u16 = 1 << 10;
    const PHASE_AT: u32 = 11;
    const FLAGS: u16 = Self::IS_WIDE - 1;

    #[inline(always)]
    fn ts(&self) -> i64 {
        (u64::from(self.ts[1]) << 32 | u64::from(self.ts[0])) as i64
    }

    #[inline(always)]
    fn phase(&self) -> Phase {
        // It was one.
        bytemuck::checked::try_cast((self.bits >> Self::PHASE_AT) as u8).unwrap_or(Phase::Complete)
    }
}

// Both have to fit into the bits beside each other.
const _: () =
    assert!(flag::ALL & !NarrowRow::FLAGS == 0 && (Phase::LAST as u16) < 1 << (16 - NarrowRow::PHASE_AT));

/// The rows of many events.
#[derive(Clone, Default)]
pub struct EventRows {
    narrow: Vec<NarrowRow>,
    wide: Vec<WideRow>,
}

impl EventRows {
    pub fn len(&self) -> usize {
        self.narrow.len()
    }

    pub fn is_empty(&self) -> bool {
        self.narrow.is_empty()
    }

    #[inline]
    fn push(&mut self, row: EventRow) {
        let EventRow { ts, dur, thread, name, extra, phase, flags } = row;
        let mut narrow = NarrowRow {
            ts: [ts as u32, (ts as u64 >> 32) as u32],
            dur: dur as u32,
            name,
            thread: thread.0 as u16,
            bits: flags & NarrowRow::FLAGS | (phase as u16) << NarrowRow::PHASE_AT,
        };
        if i64::from(narrow.dur) != dur || u32::from(narrow.thread) != thread.0 || extra != NO_EXTRA {
            narrow.dur = self.wide.len() as u32;
            narrow.bits |= NarrowRow::IS_WIDE;
            self.wide.push(WideRow { dur, thread, extra });
        }
        self.narrow.push(narrow);
    }

    /// The row of an event.
    #[inline(always)]
    pub fn get(&self, index: u32) -> EventRow {
        self.row_of(&self.narrow[index as usize])
    }

    /// Nanoseconds at which an event starts.
    #[inline(always)]
    pub fn ts(&self, index: u32) -> i64 {
        self.narrow[index as usize].ts()
    }

    #[inline(always)]
    pub fn phase(&self, index: u32) -> Phase {
        self.narrow[index as usize].phase()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = EventRow> + Clone {
        self.narrow.iter().map(|row| self.row_of(row))
    }

    /// The times of all, in order.
    pub fn times(&self) -> impl ExactSizeIterator<Item = i64> + Clone {
        self.narrow.iter().map(NarrowRow::ts)
    }

    /// The phases of all, in order.
    pub fn phases(&self) -> impl ExactSizeIterator<Item = Phase> + Clone {
        self.narrow.iter().map(NarrowRow::phase)
    }

    #[inline(always)]
    fn row_of(&self, row: &NarrowRow) -> EventRow {
        let WideRow { dur, thread, extra } = if row.bits & NarrowRow::IS_WIDE != 0 {
            self.wide[row.dur as usize]
        } else {
            WideRow { dur: i64::from(row.dur), thread: ThreadId(u32::from(row.thread)), extra: NO_EXTRA }
        };
        let flags = row.bits & NarrowRow::FLAGS;
        EventRow { ts: row.ts(), dur, thread, name: row.name, extra, phase: row.phase(), flags }
    }
}

/// An [`EventPlace`] of an event of less than 64 KiB, with one of the first categories.
#[derive(Clone, Copy)]
struct NarrowPlace {
    /// Bytes behind the first event of its block; index into [`EventPlaces::wide`] if the length is [`NarrowPlace::WIDE`].
    offset: u32,
    len: u16,
    args_at: u16,
    args_len: u16,
    category: u16,
}

impl NarrowPlace {
    const WIDE: u16 = u16::MAX;
    /// [`StringId::NONE`].
    const NO_CATEGORY: u16 = u16::MAX;
}

/// Events of which the first says where they are, as a power of two.
const BLOCK_BITS: u32 = 12;

/// The places of many events.
#[derive(Clone, Default)]
pub struct EventPlaces {
    narrow: Vec<NarrowPlace>,
    /// Byte where the first event of each block starts.
    blocks: Vec<u64>,
    wide: Vec<EventPlace>,
}

impl EventPlaces {
    #[inline]
    fn push(&mut self, place: EventPlace) {
        let EventPlace { offset, len, args_at, args_len, category } = place;
        let block = self.narrow.len() >> BLOCK_BITS;
        let base = match self.blocks.get(block) {
            Some(base) => *base,
            None => {
                self.blocks.push(offset);
                offset
            }
        };
        let category_bits = if category.is_none() { NarrowPlace::NO_CATEGORY } else { category.0 as u16 };
        let narrow = NarrowPlace {
            offset: offset.wrapping_sub(base) as u32,
            len: len as u16,
            args_at: args_at as u16,
            args_len: args_len as u16,
            category: category_bits,
        };
        if narrow.len == NarrowPlace::WIDE || narrow.unpacked(base) != place {
            let at = self.wide.len() as u32;
            self.wide.push(place);
            self.narrow.push(NarrowPlace { offset: at, len: NarrowPlace::WIDE, ..narrow });
        } else {
            self.narrow.push(narrow);
        }
    }

    /// The place of an event.
    #[inline]
    pub fn get(&self, index: u32) -> EventPlace {
        let narrow = &self.narrow[index as usize];
        if narrow.len == NarrowPlace::WIDE {
            self.wide[narrow.offset as usize]
        } else {
            narrow.unpacked(self.blocks[(index >> BLOCK_BITS) as usize])
        }
    }

    /// That of the last event.
    pub fn last(&self) -> Option<EventPlace> {
        Some(self.get((self.narrow.len() as u32).checked_sub(1)?))
    }
}

impl NarrowPlace {
    #[inline(always)]
    fn unpacked(&self, base: u64) -> EventPlace {
        EventPlace {
            offset: base.wrapping_add(u64::from(self.offset)),
            len: u32::from(self.len),
            args_at: u32::from(self.args_at),
            args_len: u32::from(self.args_len),
            category: if self.category == NarrowPlace::NO_CATEGORY {
                StringId::NONE
            } else {
                StringId(u32::from(self.category))
            },
        }
    }
}

/// Raw timeline events in file order.
///
/// Rows, not columns: pairing goes through them in the order of time and needs most of a row.
#[derive(Clone, Default)]
pub struct EventTable {
    pub rows: EventRows,
    /// As many as [`EventTable::rows`].
    pub places: EventPlaces,
    pub extras: Vec<EventExtra>,
    /// Sparse, sorted by event: CPU time of the thread, and CPU duration if given.
    pub thread_time: Vec<(u32, i64, Option<i64>)>,
}

impl EventTable {
    pub fn n_events(&self) -> usize {
        self.rows.len()
    }

    /// Makes room for `n` more events.
    pub fn reserve_exact(&mut self, n: usize) {
        self.rows.narrow.reserve_exact(n);
        self.places.narrow.reserve_exact(n);
    }

    /// Makes room for `n` more events, and some beyond.
    pub fn reserve(&mut self, n: usize) {
        self.rows.narrow.reserve(n);
        self.places.narrow.reserve(n);
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

    /// Adds an event whose rare members, if it has any, are there already.
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

    /// Adds an event; gives its index.
    #[inline]
    pub fn push(&mut self, mut event: Event, extra: Option<EventExtra>) -> u32 {
        if let Some(extra) = extra {
            event.extra = self.extras.len() as u32;
            self.extras.push(extra);
        }
        self.add(event);
        self.rows.len() as u32 - 1
    }

    /// The rare members of an event.
    #[inline]
    pub fn extra_of(&self, index: u32) -> Option<&EventExtra> {
        self.extras.get(self.rows.get(index).extra as usize)
    }

    /// The id of an event. Mostly it is a plain number and stands in its row.
    #[inline]
    pub fn id_of(&self, index: u32) -> EventId {
        let event = self.rows.get(index);
        if event.flags & flag::INT_ID != 0 {
            return EventId { key: EventKey::Int(event.dur), is_local: false, scope: StringId::NONE };
        }
        match self.extras.get(event.extra as usize) {
            Some(extra) => EventId { key: extra.id, is_local: extra.id_is_local, scope: extra.scope },
            None => EventId { key: EventKey::None, is_local: false, scope: StringId::NONE },
        }
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

    /// Numbers near the ends of what the narrow forms hold, and of what events hold.
    fn number(max: u64) -> impl Strategy<Value = u64> {
        let ends = [0, 1, 0xFFFE, 0xFFFF, 0x1_0000, 0xFFFF_FFFE, 0xFFFF_FFFF, 0x1_0000_0000, u64::MAX];
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
            for event in events.iter().cycle().take(2 << BLOCK_BITS) {
                table.add(*event);
            }
            let bytes = |event: &Event| bytemuck::bytes_of(event).to_vec();
            for (event, back) in events.iter().cycle().zip(table.iter()) {
                prop_assert_eq!(bytes(event), bytes(&back));
            }
            let times: Vec<i64> = table.rows.times().take(events.len()).collect();
            prop_assert_eq!(times, events.iter().map(|event| event.ts).collect::<Vec<_>>());
        }
    }
}
