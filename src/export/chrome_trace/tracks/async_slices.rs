//! Async slices, and instants without a thread.

use super::super::writer::Writer;
use super::flows::Bound;
use super::layout::Layout;
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::slices::{SliceKind, UNFINISHED};
use crate::trace::tracks::TrackKind;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Async slices written under one id.
#[derive(Default)]
struct Unit {
    slices: Vec<u32>,
    is_local: bool,
    /// The first slice has no name.
    is_unnamed: bool,
    /// By name: ends of the open slices, innermost last.
    open: HashMap<StringId, Vec<i64>>,
}

impl Unit {
    /// Whether ends still match their begins by name if the next slice is added: of two with the same name, the inner one
    /// must end first.
    fn takes(&mut self, trace: &Trace, slice: usize) -> bool {
        let slices = &trace.slices;
        let (ts, end) = match slices.dur.get(slice) {
            UNFINISHED => (slices.ts[slice], i64::MAX),
            dur => (slices.ts[slice], slices.ts[slice].saturating_add(dur)),
        };
        // The end of an unnamed slice matches any begin, so with those all slices must nest.
        let name = slices.name[slice];
        let is_new = self.slices.is_empty();
        self.is_unnamed |= is_new && name == StringId::EMPTY;
        if name == StringId::EMPTY && !self.is_unnamed {
            return false;
        }
        let open = self.open.entry(if self.is_unnamed { StringId::EMPTY } else { name }).or_default();
        while open.pop_if(|end| *end < ts || (*end == ts && *end != i64::MAX)).is_some() {}
        let fits = open.last().is_none_or(|around| *around >= end);
        if fits
            && matches!(slices.kind[slice], SliceKind::Async | SliceKind::LegacyAsync | SliceKind::LegacyStep)
        {
            open.push(end);
        }
        fits
    }
}

/// Common fields of the events of one async identity.
struct Identity<'a> {
    id: u64,
    /// Scoped to its process.
    local: bool,
    pid: u64,
    tid: Option<u64>,
    category: Option<&'a str>,
}

impl Layout<'_> {
    /// Writes process-wide and global instants.
    pub(super) fn write_loose_instants(&self, w: &mut Writer<'_>) {
        for track in 0..self.trace.tracks.len() {
            let scope = match self.trace.tracks.kind[track] {
                TrackKind::ProcessInstants => ",\"s\":\"p\"",
                TrackKind::GlobalInstants => ",\"s\":\"g\"",
                _ => continue,
            };
            let pid = self.pid(self.process_of(track));
            let tid = self.main_tid(self.process_of(track));
            for slice in self.slices_of(track) {
                self.open_slice(*slice as usize, "i", pid, tid, w);
                w.raw(scope);
                self.write_args(*slice as usize, w);
                w.close();
            }
        }
    }

    /// Writes async slices: a top-level one and everything nested in it get a separate id.
    ///
    /// Tracks are lanes shared by identities that do not overlap, so an id cannot represent a whole track.
    pub(super) async fn write_async(&self, bound: &HashMap<u32, Bound>, w: &mut Writer<'_>) {
        let (slices, tracks) = (&self.trace.slices, &self.trace.tracks);
        let is_async =
            |kind| matches!(kind, TrackKind::AsyncGlobal | TrackKind::AsyncProcess | TrackKind::AsyncLegacy);
        let mut units: Vec<Unit> = Vec::new();
        let mut unit_of: HashMap<u32, usize> = HashMap::default();
        // Slices are numbered by start, then in file order, so that a reader of this output numbers them alike.
        for slice in 0..slices.len() {
            let track = slices.track[slice].0 as usize;
            let Some(kind) = tracks.kind.get(track).copied().filter(|kind| is_async(*kind)) else { continue };
            let around = slices.parent[slice].some().and_then(|parent| unit_of.get(&parent.0)).copied();
            let number = match around.filter(|unit| units[*unit].takes(self.trace, slice)) {
                Some(unit) => unit,
                None => {
                    units.push(Unit { is_local: kind == TrackKind::AsyncProcess, ..Unit::default() });
                    let unit = units.len() - 1;
                    units[unit].takes(self.trace, slice);
                    unit
                }
            };
            units[number].slices.push(slice as u32);
            unit_of.insert(slice as u32, number);
        }
        for (i, unit) in units.iter().enumerate() {
            let Some(top) = unit.slices.first().map(|top| *top as usize) else { continue };
            let process = self.process_of(slices.track[top].0 as usize);
            let identity = Identity {
                id: i as u64 + 1,
                local: unit.is_local,
                pid: self.pid(process),
                tid: self.main_tid(process),
                // The category is part of the identity, so it must be the same in all events.
                category: self.text(slices.category[top]),
            };
            self.write_identity(&unit.slices, &identity, bound, w);
            w.pause().await;
        }
    }

    fn write_identity(
        &self,
        unit: &[u32],
        identity: &Identity<'_>,
        bound: &HashMap<u32, Bound>,
        w: &mut Writer<'_>,
    ) {
        let slices = &self.trace.slices;
        // Among slices with the same end, the last to start comes first.
        let mut open: BinaryHeap<(Reverse<i64>, u32)> = BinaryHeap::new();
        let end = |slice: usize, w: &mut Writer<'_>| {
            self.open_async(slice, "e", slices.ts[slice].saturating_add(slices.dur.get(slice)), identity, w);
            self.write_end_args(slice, w);
            w.close();
        };
        for slice in unit.iter().map(|slice| *slice as usize) {
            // Slices that don't enclose this one have ended by now, even if they end at exactly this time.
            while let Some((Reverse(at), last)) = open.peek().copied()
                && at <= slices.ts[slice]
                && !(at == slices.ts[slice] && self.lies_in(slice, last))
            {
                end(last as usize, w);
                open.pop();
            }
            let instant = matches!(slices.kind[slice], SliceKind::AsyncInstant | SliceKind::Instant);
            self.open_async(slice, if instant { "n" } else { "b" }, slices.ts[slice], identity, w);
            self.write_stacks(slice, w);
            self.write_bound(slice, bound, w);
            self.write_begin_args(slice, w);
            w.close();
            let dur = slices.dur.get(slice);
            if !instant && dur != UNFINISHED {
                open.push((Reverse(slices.ts[slice].saturating_add(dur)), slice as u32));
            }
        }
        while let Some((_, last)) = open.pop() {
            end(last as usize, w);
        }
    }

    /// Whether `outer` is an ancestor of `slice`.
    fn lies_in(&self, slice: usize, outer: u32) -> bool {
        let mut around = self.trace.slices.parent[slice].some();
        while let Some(parent) = around.filter(|parent| parent.0 > outer) {
            around = self.trace.slices.parent[parent.0 as usize].some();
        }
        around.is_some_and(|parent| parent.0 == outer)
    }

    fn open_async(&self, slice: usize, phase: &str, ts: i64, identity: &Identity<'_>, w: &mut Writer<'_>) {
        w.open(self.trace.strings.get(self.trace.slices.name[slice]), identity.category, phase);
        w.time(self.time(ts));
        w.place(identity.pid, identity.tid);
        if identity.local {
            w.raw(",\"id2\":{\"local\":");
            w.hex(identity.id);
            w.raw("}");
        } else {
            w.raw(",\"id\":");
            w.hex(identity.id);
        }
    }
}
