//! Tables of a trace as sections of an index: one function lists them all, for both directions.

use crate::base::bytepack::{Cell, MAX_LANES};
use crate::base::strings::{StringId, StringTable};
use crate::trace::Trace;
use crate::trace::args::{ArgsPlace, ArgsTable};
use crate::trace::objects::ObjectEvent;
use crate::trace::samples::{FrameId, StackId};
use crate::trace::scoring_calls::ProbeKind;
use crate::trace::slices::{SliceId, SliceKind};
use crate::trace::split_column::SplitColumn;
use crate::trace::tracks::{Key, ProcessId, ThreadId, TrackId, TrackKind};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Error: the index is damaged or invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Damaged;

/// Visitor that writes each part of a trace.
pub trait Put {
    fn column<T: Cell>(&mut self, name: &str, rows: &[T]) -> Result<(), Damaged>;
    fn split<L: Cell>(&mut self, name: &str, column: &SplitColumn<L>) -> Result<(), Damaged> {
        self.column(&format!("{name}.low"), &column.low)?;
        self.column(&format!("{name}.high"), &column.high)?;
        self.column(&format!("{name}.highs"), &column.highs)?;
        self.column(&format!("{name}.aside"), &column.aside)
    }
    fn value<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), Damaged>;
    fn strings(&mut self, name: &str, strings: &StringTable) -> Result<(), Damaged>;
    fn args(&mut self, name: &str, args: &ArgsTable) -> Result<(), Damaged>;
}

/// Visitor that fills in each part of a trace.
pub trait Fill {
    fn column<T: Cell>(&mut self, name: &str, rows: &mut Vec<T>) -> Result<(), Damaged>;
    fn split<L: Cell>(&mut self, name: &str, column: &mut SplitColumn<L>) -> Result<(), Damaged> {
        self.column(&format!("{name}.low"), &mut column.low)?;
        self.column(&format!("{name}.high"), &mut column.high)?;
        self.column(&format!("{name}.highs"), &mut column.highs)?;
        self.column(&format!("{name}.aside"), &mut column.aside)
    }
    fn value<T: DeserializeOwned>(&mut self, name: &str, value: &mut T) -> Result<(), Damaged>;
    fn strings(&mut self, name: &str, strings: &mut StringTable) -> Result<(), Damaged>;
    fn args(&mut self, name: &str, args: &mut ArgsTable) -> Result<(), Damaged>;
}

/// Both directions, from one list of all tables.
macro_rules! for_each_table {
    ($(#[$doc:meta])* $name:ident, $way:ident $(, $mut:tt)?) => {
        $(#[$doc])*
        pub fn $name(trace: &$($mut)? Trace, visit: &mut impl $way) -> Result<(), Damaged> {
            visit.strings("strings", &$($mut)? trace.strings)?;
            visit.column("processes.key", &$($mut)? trace.processes.key)?;
            visit.column("processes.name", &$($mut)? trace.processes.name)?;
            visit.column("processes.labels", &$($mut)? trace.processes.labels)?;
            visit.column("processes.sort_index", &$($mut)? trace.processes.sort_index)?;
            visit.column("threads.process", &$($mut)? trace.threads.process)?;
            visit.column("threads.key", &$($mut)? trace.threads.key)?;
            visit.column("threads.name", &$($mut)? trace.threads.name)?;
            visit.column("threads.sort_index", &$($mut)? trace.threads.sort_index)?;
            visit.column("threads.overlap_of", &$($mut)? trace.threads.overlap_of)?;
            visit.column("tracks.kind", &$($mut)? trace.tracks.kind)?;
            visit.column("tracks.name", &$($mut)? trace.tracks.name)?;
            visit.column("tracks.process", &$($mut)? trace.tracks.process)?;
            visit.column("tracks.thread", &$($mut)? trace.tracks.thread)?;
            visit.column("tracks.shown_as", &$($mut)? trace.tracks.shown_as)?;
            visit.column("slices.ts", &$($mut)? trace.slices.ts)?;
            visit.column("slices.dur", &$($mut)? trace.slices.dur.short)?;
            visit.column("slices.long_dur", &$($mut)? trace.slices.dur.long)?;
            visit.column("slices.self_ns", &$($mut)? trace.slices.self_ns.short)?;
            visit.column("slices.long_self_ns", &$($mut)? trace.slices.self_ns.long)?;
            visit.column("slices.name", &$($mut)? trace.slices.name)?;
            visit.column("slices.category", &$($mut)? trace.slices.category)?;
            visit.column("slices.track", &$($mut)? trace.slices.track)?;
            visit.column("slices.kind", &$($mut)? trace.slices.kind)?;
            visit.column("slices.depth", &$($mut)? trace.slices.depth.shallow)?;
            visit.column("slices.deep_depth", &$($mut)? trace.slices.depth.deep)?;
            visit.column("slices.parent", &$($mut)? trace.slices.parent)?;
            visit.column("slices.places", &$($mut)? trace.slices.places.near)?;
            visit.column("slices.place_blocks", &$($mut)? trace.slices.places.blocks)?;
            visit.column("slices.far_places", &$($mut)? trace.slices.places.far)?;
            visit.column("slices.end_args", &$($mut)? trace.slices.end_args)?;
            visit.column("slices.stacks", &$($mut)? trace.slices.stacks)?;
            visit.column("slices.no_duration", &$($mut)? trace.slices.no_duration)?;
            visit.column("slices.thread_time", &$($mut)? trace.slices.thread_time)?;
            visit.column("counter_series.process", &$($mut)? trace.counter_series.process)?;
            visit.column("counter_series.name", &$($mut)? trace.counter_series.name)?;
            visit.column("counter_series.id", &$($mut)? trace.counter_series.id)?;
            visit.column("counter_series.key", &$($mut)? trace.counter_series.key)?;
            visit.column("counter_series.held", &$($mut)? trace.counter_series.held)?;
            visit.column("counters.ts", &$($mut)? trace.counters.ts)?;
            visit.column("counters.series", &$($mut)? trace.counters.series)?;
            visit.column("counters.value", &$($mut)? trace.counters.value)?;
            visit.column("flows.from", &$($mut)? trace.flows.from)?;
            visit.column("flows.to", &$($mut)? trace.flows.to)?;
            visit.column("flows.name", &$($mut)? trace.flows.name)?;
            visit.column("flows.category", &$($mut)? trace.flows.category)?;
            visit.column("objects.event", &$($mut)? trace.objects.event)?;
            visit.column("objects.ts", &$($mut)? trace.objects.ts)?;
            visit.column("objects.process", &$($mut)? trace.objects.process)?;
            visit.column("objects.name", &$($mut)? trace.objects.name)?;
            visit.column("objects.id", &$($mut)? trace.objects.id)?;
            visit.column("objects.args", &$($mut)? trace.objects.args)?;
            visit.column("frames.name", &$($mut)? trace.frames.name)?;
            visit.column("frames.module", &$($mut)? trace.frames.module)?;
            visit.column("frames.file", &$($mut)? trace.frames.file)?;
            visit.column("frames.line", &$($mut)? trace.frames.line)?;
            visit.column("frames.column", &$($mut)? trace.frames.column)?;
            visit.column("frames.category", &$($mut)? trace.frames.category)?;
            visit.column("stacks.frame", &$($mut)? trace.stacks.frame)?;
            visit.column("stacks.parent", &$($mut)? trace.stacks.parent)?;
            visit.column("samples.ts", &$($mut)? trace.samples.ts)?;
            visit.column("samples.thread", &$($mut)? trace.samples.thread)?;
            visit.column("samples.stack", &$($mut)? trace.samples.stack)?;
            visit.column("samples.weight", &$($mut)? trace.samples.weight)?;
            visit.column("samples.name", &$($mut)? trace.samples.name)?;
            visit.split("links.offset", &$($mut)? trace.links.offset)?;
            visit.split("links.correlation", &$($mut)? trace.links.correlation)?;
            visit.split("links.external", &$($mut)? trace.links.external)?;
            visit.split("links.stream", &$($mut)? trace.links.stream)?;
            visit.column("links.bytes", &$($mut)? trace.links.bytes)?;
            visit.column("links.untimed", &$($mut)? trace.links.untimed)?;
            visit.split("signatures.offset", &$($mut)? trace.signatures.offset)?;
            visit.column("signatures.hash", &$($mut)? trace.signatures.hash)?;
            visit.column("scoring_calls.ts", &$($mut)? trace.scoring_calls.ts)?;
            visit.column("scoring_calls.wall_ms", &$($mut)? trace.scoring_calls.wall_ms)?;
            visit.column("scoring_calls.probe_kind", &$($mut)? trace.scoring_calls.probe_kind)?;
            visit.column("scoring_calls.probe", &$($mut)? trace.scoring_calls.probe)?;
            visit.column("scoring_calls.view_id", &$($mut)? trace.scoring_calls.view_id)?;
            visit.column("scoring_calls.prompt_hash", &$($mut)? trace.scoring_calls.prompt_hash)?;
            visit.column("scoring_calls.op", &$($mut)? trace.scoring_calls.op)?;
            visit.column("scoring_calls.top_k", &$($mut)? trace.scoring_calls.top_k)?;
            visit.column("scoring_calls.hit", &$($mut)? trace.scoring_calls.hit)?;
            visit.column("scoring_calls.offset", &$($mut)? trace.scoring_calls.offset)?;
            visit.column("scoring_calls.wide_top_k", &$($mut)? trace.scoring_calls.wide_top_k)?;
            visit.value("accesses", &$($mut)? trace.accesses)?;
            visit.value("profiles", &$($mut)? trace.profiles)?;
            visit.value("stack_profiles", &$($mut)? trace.stack_profiles)?;
            visit.value("memory_snapshot", &$($mut)? trace.memory_snapshot)?;
            visit.value("fleet", &$($mut)? trace.fleet)?;
            visit.args("args", &$($mut)? trace.args)?;
            Ok(())
        }
    };
}

for_each_table! {
    /// Writes all tables, in a fixed order. File metadata and the ledger are in the head of an index.
    put, Put
}
for_each_table! {
    /// Fills in all tables.
    fill, Fill, mut
}

/// Whether the tables are consistent, so that no index is out of bounds: an index file can come from anywhere.
pub fn are_sound(trace: &Trace) -> bool {
    let n_strings = trace.strings.len();
    let texts = |ids: &[StringId]| ids.iter().all(|id| id.is_none() || (id.0 as usize) < n_strings);
    let keys = |keys: &[Key]| {
        keys.iter().all(|key| match key {
            Key::Number(_) => true,
            Key::Text(id) | Key::Digits(id) => (id.0 as usize) < n_strings,
        })
    };
    let Trace { processes, threads, tracks, slices, counter_series, counters, flows, objects, .. } = trace;
    let Trace { frames, stacks, samples, scoring_calls: calls, profiles, stack_profiles, .. } = trace;
    let process = |id: &ProcessId| (id.0 as usize) < processes.len();
    let thread = |id: &ThreadId| (id.0 as usize) < threads.len();
    let fits = |place: &ArgsPlace| place.offset.checked_add(u64::from(place.len)).is_some();
    let slice = |id: &SliceId| (id.0 as usize) < slices.len();
    let stack = |id: &StackId| *id == StackId::NONE || (id.0 as usize) < stacks.len();

    same([processes.key.len(), processes.name.len(), processes.labels.len(), processes.sort_index.len()])
        && keys(&processes.key)
        && texts(&processes.name)
        && texts(&processes.labels)
        && same([
            threads.process.len(),
            threads.key.len(),
            threads.name.len(),
            threads.sort_index.len(),
            threads.overlap_of.len(),
        ])
        && threads.process.iter().all(process)
        && keys(&threads.key)
        && texts(&threads.name)
        && threads.overlap_of.iter().flatten().all(thread)
        && same([
            tracks.kind.len(),
            tracks.name.len(),
            tracks.process.len(),
            tracks.thread.len(),
            tracks.shown_as.len(),
        ])
        && texts(&tracks.name)
        && tracks.process.iter().flatten().all(process)
        && tracks.thread.iter().chain(&tracks.shown_as).flatten().all(thread)
        && same([
            slices.ts.len(),
            slices.dur.len(),
            slices.self_ns.len(),
            slices.name.len(),
            slices.category.len(),
            slices.track.len(),
            slices.kind.len(),
            slices.depth.len(),
            slices.parent.len(),
            slices.places.len(),
        ])
        && texts(&slices.name)
        && texts(&slices.category)
        && slices.track.iter().all(|id| (id.0 as usize) < tracks.len())
        && slices
            .parent
            .iter()
            .zip(0..)
            .all(|(parent, child): (&SliceId, u32)| parent.some().is_none_or(|id| id.0 < child))
        && slices.dur.is_sound()
        && slices.self_ns.is_sound()
        && slices.depth.is_sound()
        && slices.places.is_sound()
        && slices.end_args.iter().map(|(_, place)| place).chain(&objects.args).all(fits)
        && slices.end_args.iter().all(|(id, _)| slice(id))
        && slices.stacks.iter().all(|(id, start, end)| slice(id) && stack(start) && stack(end))
        && slices.no_duration.iter().all(slice)
        && slices.thread_time.iter().all(|(id, ..)| slice(id))
        && same([
            counter_series.process.len(),
            counter_series.name.len(),
            counter_series.id.len(),
            counter_series.key.len(),
        ])
        && counter_series.held.len() <= counter_series.len()
        && counter_series.process.iter().all(process)
        && texts(&counter_series.name)
        && texts(&counter_series.id)
        && texts(&counter_series.key)
        && same([counters.ts.len(), counters.series.len(), counters.value.len()])
        && counters.series.iter().all(|id| (*id as usize) < counter_series.len())
        && same([flows.from.len(), flows.to.len(), flows.name.len(), flows.category.len()])
        && flows.from.iter().chain(&flows.to).all(slice)
        && texts(&flows.name)
        && texts(&flows.category)
        && same([
            objects.event.len(),
            objects.ts.len(),
            objects.process.len(),
            objects.name.len(),
            objects.id.len(),
            objects.args.len(),
        ])
        && objects.process.iter().all(process)
        && texts(&objects.name)
        && texts(&objects.id)
        && same([
            frames.name.len(),
            frames.module.len(),
            frames.file.len(),
            frames.line.len(),
            frames.column.len(),
            frames.category.len(),
        ])
        && texts(&frames.name)
        && texts(&frames.module)
        && texts(&frames.file)
        && texts(&frames.category)
        && same([stacks.frame.len(), stacks.parent.len()])
        && stacks.frame.iter().all(|id| (id.0 as usize) < frames.len())
        && stacks
            .parent
            .iter()
            .zip(0..)
            .all(|(parent, child): (&StackId, u32)| *parent == StackId::NONE || parent.0 < child)
        && same([
            samples.ts.len(),
            samples.thread.len(),
            samples.stack.len(),
            samples.weight.len(),
            samples.name.len(),
        ])
        && samples.thread.iter().all(thread)
        && samples.stack.iter().all(stack)
        && texts(&samples.name)
        && trace.links.is_sound()
        && trace.links.untimed.iter().all(|(_, id)| (id.0 as usize) < n_strings)
        && trace.signatures.is_sound()
        && calls.is_sound()
        && texts(&calls.probe)
        && texts(&calls.view_id)
        && texts(&calls.prompt_hash)
        && texts(&calls.op)
        && calls.wide_top_k.iter().all(|(_, id)| (id.0 as usize) < n_strings)
        && trace.accesses.texts_are_below(n_strings)
        && profiles.iter().all(|profile| {
            let frames = &profile.frames;
            frames.is_sound() && texts(&frames.path) && texts(&frames.func)
        })
        && stack_profiles.iter().all(|profile| profile.is_sound(stacks.len()) && texts(&profile.texts()))
        && trace.memory_snapshot.as_ref().is_none_or(|it| it.is_sound(stacks.len(), n_strings))
        && trace.fleet.as_ref().is_none_or(|it| it.is_sound(n_strings))
}

fn same<const N: usize>(lens: [usize; N]) -> bool {
    lens.windows(2).all(|pair| pair[0] == pair[1])
}

/// Rows of one number.
macro_rules! number_cells {
    ($($row:ty: $to:expr, $from:expr;)*) => {
        $(impl Cell for $row {
            const LANES: usize = 1;

            #[inline]
            fn lane(self, _: usize) -> i64 {
                let to: fn($row) -> i64 = $to;
                to(self)
            }

            #[inline]
            fn from_lanes([value, ..]: [i64; MAX_LANES]) -> Option<$row> {
                let from: fn(i64) -> Option<$row> = $from;
                from(value)
            }
        })*
    };
}

number_cells! {
    u64: |value| value as i64, |value| Some(value as u64);
    u8: i64::from, |value| value.try_into().ok();
    u16: i64::from, |value| value.try_into().ok();
    u32: i64::from, |value| value.try_into().ok();
    i32: i64::from, |value| value.try_into().ok();
    f64: |value| value.to_bits() as i64, |value| Some(f64::from_bits(value as u64));
    bool: i64::from, |value| Some(value != 0);
    // Missing ids are the largest number, or -1.
    StringId: |id| i64::from(id.0 as i32), |value| Some(StringId(narrow(value)?));
    SliceId: |id| i64::from(id.0 as i32), |value| Some(SliceId(narrow(value)?));
    StackId: |id| i64::from(id.0 as i32), |value| Some(StackId(narrow(value)?));
    ProcessId: |id| i64::from(id.0), |value| Some(ProcessId(value.try_into().ok()?));
    ThreadId: |id| i64::from(id.0), |value| Some(ThreadId(value.try_into().ok()?));
    TrackId: |id| i64::from(id.0), |value| Some(TrackId(value.try_into().ok()?));
    FrameId: |id| i64::from(id.0), |value| Some(FrameId(value.try_into().ok()?));
    SliceKind: |kind| kind as i64, |value| at(&SliceKind::ALL, value);
    TrackKind: |kind| kind as i64, |value| at(&TrackKind::ALL, value);
    ProbeKind: |kind| kind as i64, |value| at(&ProbeKind::ALL, value);
    ObjectEvent: |event| event as i64, |value| at(&ObjectEvent::ALL, value);
}

fn narrow(value: i64) -> Option<u32> {
    i32::try_from(value).ok().map(|value| value as u32)
}

fn at<T: Copy>(all: &[T], value: i64) -> Option<T> {
    all.get(usize::try_from(value).ok()?).copied()
}

/// Optional rows, pairs and the like of those above.
macro_rules! pair_cells {
    ($($row:ty: $n:literal, $to:expr, $from:expr;)*) => {
        $(impl Cell for $row {
            const LANES: usize = $n;

            #[inline]
            fn lane(self, lane: usize) -> i64 {
                let to: fn($row) -> [i64; $n] = $to;
                to(self)[lane]
            }

            #[inline]
            fn from_lanes(lanes: [i64; MAX_LANES]) -> Option<$row> {
                let from: fn([i64; MAX_LANES]) -> Option<$row> = $from;
                from(lanes)
            }
        })*
    };
}

pair_cells! {
    Key: 2,
        |key| match key {
            Key::Number(number) => [0, number],
            Key::Text(id) => [1, one(id)],
            Key::Digits(id) => [2, one(id)],
        },
        |[kind, value, _]| match kind {
            0 => Some(Key::Number(value)),
            1 => StringId::from_lanes([value, 0, 0]).map(Key::Text),
            _ => StringId::from_lanes([value, 0, 0]).map(Key::Digits),
        };
    Option<i32>: 2, |value| [value.is_some().into(), value.unwrap_or(0).into()],
        |[is_some, value, _]| if is_some == 0 { Some(None) } else { Some(Some(value.try_into().ok()?)) };
    Option<ProcessId>: 1, |id| [id.map_or(-1, one)],
        |lanes| if lanes[0] < 0 { Some(None) } else { Some(Some(Cell::from_lanes(lanes)?)) };
    Option<ThreadId>: 1, |id| [id.map_or(-1, one)],
        |lanes| if lanes[0] < 0 { Some(None) } else { Some(Some(Cell::from_lanes(lanes)?)) };
    ArgsPlace: 2, |place| [place.offset as i64, place.len.into()],
        |[offset, len, _]| Some(ArgsPlace { offset: offset as u64, len: len.try_into().ok()? });
    (u32, u16, u16): 3, |(a, b, c)| [a.into(), b.into(), c.into()],
        |[a, b, c]| Some((a.try_into().ok()?, b.try_into().ok()?, c.try_into().ok()?));
    (u64, u32, u32): 3, |(a, b, c)| [a as i64, b.into(), c.into()],
        |[a, b, c]| Some((a as u64, b.try_into().ok()?, c.try_into().ok()?));
    (u32, u32): 2, |(row, value)| [row.into(), value.into()],
        |[row, value, _]| Some((row.try_into().ok()?, value.try_into().ok()?));
    (u32, i64): 2, |(row, value)| [row.into(), value], |[row, value, _]| Some((row.try_into().ok()?, value));
    (u64, StringId): 2, |(row, id)| [row as i64, one(id)], |[row, id, _]| Some((row as u64, Cell::from_lanes([id, 0, 0])?));
    (SliceId, ArgsPlace): 3, |(id, place)| [one(id), place.offset as i64, place.len.into()],
        |[id, offset, len]| Some((Cell::from_lanes([id, 0, 0])?, Cell::from_lanes([offset, len, 0])?));
    (SliceId, StackId, StackId): 3, |(id, start, end)| [one(id), one(start), one(end)],
        |[id, start, end]| Some((Cell::from_lanes([id, 0, 0])?, Cell::from_lanes([start, 0, 0])?, Cell::from_lanes([end, 0, 0])?));
    (SliceId, i64, i64): 3, |(id, start, dur)| [one(id), start, dur], |[id, start, dur]| Some((Cell::from_lanes([id, 0, 0])?, start, dur));
}

fn one(row: impl Cell) -> i64 {
    row.lane(0)
}
