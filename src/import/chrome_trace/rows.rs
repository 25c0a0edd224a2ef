//! From a scanned event to a row of the event table.
//!
//! Takes borrowed members and returns ids: texts are interned, processes and threads looked up. Events that are unusable by
//! themselves are counted as skipped here.

use super::event::{
    ORDER_NAME_CAT_PH_TS_DUR_PID_TID, ORDER_NAME_CAT_PH_TS_DUR_PID_TID_ARGS, RawEvent, RawId, Scope, Time,
};
use super::issues::*;
use super::links::{Linked, LinkedCategories, Taken, taken_of};
use crate::base::json::{Number, RawStr, unescape};
use crate::base::strings::{RecentStrings, StringId, StringTable};
use crate::trace::args::ArgsPlace;
use crate::trace::events::{Event, EventExtra, EventKey, ListedSample, NO_EXTRA, Phase, flag};
use crate::trace::ledger::{IssueKind, Position, Severity};
use crate::trace::slices::UNFINISHED;
use crate::trace::tracks::{Key, ThreadId};
use crate::trace::{Trace, TraceBuilder};

/// Extracts the arguments that reports need from the event at `offset`; `args` has their place and bytes.
#[inline]
fn take(taken: Taken, offset: u64, args: (u64, &[u8]), trace: &mut Trace) {
    if let Some(link) = taken.link {
        trace.links.push(offset, link);
    }
    if let Some(signature) = taken.signature {
        trace.signatures.push(offset, signature);
    }
    if taken.keep && !trace.args.keeps_all() {
        trace.args.keep(args.0, args.1);
    }
}

/// Slots of the thread cache; a power of two.
const THREAD_SLOTS: usize = 64;

/// Facts about all events so far.
#[derive(Clone)]
pub struct Seen {
    pub n_by_phase: [u64; 256],
    /// Every event so far looks like those of ferrum-bench.
    pub only_ferrum_like: bool,
    pub n_elements: u64,
}

pub struct Rows {
    pub seen: Seen,
    recent: RecentStrings,
    /// Category ids by [`RawEvent::cat_number`]; [`StringId::NONE`] if not seen yet, and at 0.
    numbered: Vec<StringId>,
    threads: Vec<Option<((i64, i64), ThreadId)>>,
    linked: LinkedCategories,
    text: String,
    /// A text of the current event was repaired.
    bad_text: bool,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { n_by_phase: [0; 256], only_ferrum_like: true, n_elements: 0 }
    }
}

impl Default for Rows {
    fn default() -> Self {
        Rows {
            seen: Seen::default(),
            recent: RecentStrings::default(),
            numbered: Vec::new(),
            threads: vec![None; THREAD_SLOTS],
            linked: LinkedCategories::default(),
            text: String::new(),
            bad_text: false,
        }
    }
}

/// Place of an element.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub offset: u64,
    pub bytes: &'a [u8],
}

impl Place<'_> {
    fn position(&self) -> Position {
        Position { byte: self.offset, line: None }
    }

    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Place in the content of `part`, which must be a subslice of the bytes.
    fn of(&self, part: &[u8]) -> ArgsPlace {
        let at = (part.as_ptr() as usize).saturating_sub(self.bytes.as_ptr() as usize);
        ArgsPlace { offset: self.offset + at as u64, len: part.len() as u32 }
    }
}

impl Rows {
    /// Adds an event, or counts it as skipped.
    #[inline]
    pub fn add(&mut self, event: &RawEvent<'_>, place: Place<'_>, out: &mut TraceBuilder) {
        self.seen.n_elements += 1;
        if let Err(kind) = self.try_add(event, place, out) {
            out.trace.ledger.skip_record(kind, place.position(), place.len(), place.bytes);
        }
    }

    #[inline]
    fn try_add(
        &mut self,
        event: &RawEvent<'_>,
        place: Place<'_>,
        out: &mut TraceBuilder,
    ) -> Result<(), &'static IssueKind> {
        if event.phase == 0 {
            self.seen.only_ferrum_like = false;
            return Err(if event.n_keys == 0 { &EMPTY_EVENT } else { &NO_PHASE });
        }
        self.seen.n_by_phase[event.phase as usize] += 1;
        self.seen.only_ferrum_like &= event.phase == b'X'
            && event.pid == RawId::Int(0)
            && matches!(
                event.key_order,
                ORDER_NAME_CAT_PH_TS_DUR_PID_TID | ORDER_NAME_CAT_PH_TS_DUR_PID_TID_ARGS
            );
        let ts = match event.ts {
            Time::Ns(ts) => ts,
            // Metadata events need no time.
            _ if event.phase == b'M' => 0,
            Time::Absent => return Err(&NO_TIME),
            Time::Bad => return Err(&BAD_TIME),
        };
        let dur = match event.dur {
            Time::Ns(dur) => Some(dur),
            Time::Absent => None,
            Time::Bad => return Err(&BAD_DURATION),
        };
        self.bad_text = false;
        let thread = self.thread(event, out);
        let phase = phase_of(event.phase, dur.is_some()).ok_or(&NOT_USED)?;
        let (dur, odd_duration) = match (phase, dur) {
            (Phase::Complete | Phase::ThreadState, None) => (0, Some(&NO_DURATION)),
            (Phase::Complete | Phase::ThreadState, Some(dur)) if dur < 0 => (0, Some(&NEGATIVE_DURATION)),
            (Phase::ThreadState, Some(_)) if event.has_rare && event.rare.unfinished => (UNFINISHED, None),
            (Phase::Complete | Phase::ThreadState, Some(dur)) => (dur, None),
            _ => (0, None),
        };
        let name = match event.name {
            Some(name) => self.text(name, &mut out.trace.strings),
            None => StringId::EMPTY,
        };
        let category = match event.cat {
            Some(cat) if !cat.bytes.is_empty() => match self.numbered.get(usize::from(event.cat_number)) {
                Some(known) if !known.is_none() => *known,
                _ => self.category(cat, event.cat_number, &mut out.trace.strings),
            },
            _ => StringId::NONE,
        };
        let extra = self.extra(event, phase, place, out);
        // Most ids are plain numbers of events without a duration.
        let (extra, int_id) = match extra {
            Some(EventExtra { id: EventKey::Int(id), .. }) if event.has_only_id() => (None, Some(id)),
            extra => (extra, None),
        };
        let dur = int_id.unwrap_or(dur);
        let mut is_repaired = self.file_issues(event, place, out);
        if let Some(kind) = odd_duration {
            out.trace.ledger.file(kind, place.position(), place.bytes);
            is_repaired = true;
        }
        let args = match event.args {
            // An empty object matters only for counters.
            Some(raw) if raw.len() > 2 || phase == Phase::Counter => place.of(raw),
            _ => ArgsPlace::NONE,
        };
        let is_untimed = ts == 0
            && dur == 0
            && phase == Phase::Complete
            && odd_duration.is_none()
            && matches!(self.linked.get(category, &out.trace.strings), Linked::Kernel | Linked::Copy);
        let is_held = is_untimed || !out.lets_go(phase, ts, dur, place.offset);
        if !args.is_none() && is_held && (out.trace.args.keeps_all() || phase.needs_args()) {
            out.trace.args.keep(args.offset, event.args.unwrap_or_default());
        }
        if phase == Phase::Counter && !is_held {
            let id = int_id.map_or(extra.as_ref().map_or(EventKey::None, |extra| extra.id), EventKey::Int);
            out.hold_counter(ts, thread, name, id, event.args.unwrap_or_default());
        }
        if matches!(phase, Phase::Complete | Phase::Begin) && !args.is_none() && is_held && !out.is_spilling()
        {
            let raw = event.args.unwrap_or_default();
            let linked = self.linked.get(category, &out.trace.strings);
            if linked != Linked::No {
                let taken = taken_of(linked, raw);
                let has_link = taken.link.is_some();
                take(taken, place.offset, (args.offset, raw), &mut out.trace);
                if is_untimed && has_link {
                    out.trace.links.mark_untimed(name);
                }
            }
        }
        if is_untimed {
            out.trace.ledger.file(&UNTIMED_WORK, place.position(), place.bytes);
            is_repaired = true;
        }
        let mut flags = 0;
        let mut set = |on: bool, bit: u16| flags |= if on { bit } else { 0 };
        set(!event.pid.is_absent(), flag::HAS_PID);
        set(!event.tid.is_absent(), flag::HAS_TID);
        if event.has_rare {
            set(event.rare.instant_scope == Scope::Process, flag::PROCESS_SCOPE);
            set(event.rare.instant_scope == Scope::Global, flag::GLOBAL_SCOPE);
            set(event.rare.bind_enclosing, flag::BIND_ENCLOSING);
            set(event.rare.flow_in, flag::FLOW_IN);
            set(event.rare.flow_out, flag::FLOW_OUT);
        }
        set(is_repaired, flag::REPAIRED);
        set(odd_duration.is_some(), flag::NO_DURATION);
        set(int_id.is_some(), flag::INT_ID);
        if is_repaired {
            out.trace.ledger.repair(place.len());
        } else {
            out.trace.ledger.keep(place.len());
        }
        // It would stretch the trace by the age of its clock.
        if !is_held || is_untimed {
            return Ok(());
        }
        let len = u32::try_from(place.bytes.len()).unwrap_or(u32::MAX);
        let offset = place.offset;
        let (args_at, args_len) = (args.offset.saturating_sub(offset) as u32, args.len);
        let row = Event {
            ts,
            dur,
            offset,
            len,
            args_at,
            args_len,
            thread,
            name,
            category,
            extra: NO_EXTRA,
            phase,
            flags,
            unused: 0,
        };
        let index = out.events.push(row, extra);
        if event.has_rare
            && let Time::Ns(tts) = event.rare.tts
        {
            let tdur = match event.rare.tdur {
                Time::Ns(tdur) => Some(tdur.max(0)),
                _ => None,
            };
            let has_use = match phase {
                Phase::Complete => tdur.is_some(),
                Phase::Begin | Phase::End => true,
                _ => false,
            };
            if has_use {
                out.events.thread_time.push((index, tts, tdur));
            }
        }
        Ok(())
    }

    /// Reports issues of an event that is kept; returns whether anything was repaired.
    #[inline]
    fn file_issues(&self, event: &RawEvent<'_>, place: Place<'_>, out: &mut TraceBuilder) -> bool {
        if !(self.bad_text || event.wrong_type || event.odd_id || event.repeated || event.has_rare) {
            return false;
        }
        let bad_thread_time = event.has_rare && (event.rare.tts == Time::Bad || event.rare.tdur == Time::Bad);
        let mut is_repaired = false;
        for (there, kind) in [
            (bad_thread_time, &BAD_THREAD_TIME),
            (event.wrong_type, &WRONG_TYPE),
            (event.odd_id, &ODD_ID),
            (self.bad_text, &BAD_TEXT),
            (event.repeated, &REPEATED_MEMBER),
        ] {
            if there {
                out.trace.ledger.file(kind, place.position(), place.bytes);
                is_repaired |= kind.severity == Severity::Repaired;
            }
        }
        is_repaired
    }

    /// Collects the rare members of an event, if any are useful.
    #[inline]
    fn extra(
        &mut self,
        event: &RawEvent<'_>,
        phase: Phase,
        place: Place<'_>,
        out: &mut TraceBuilder,
    ) -> Option<EventExtra> {
        if !event.has_rare && event.id.is_absent() {
            return None;
        }
        let uses_id = !matches!(
            phase,
            Phase::Complete
                | Phase::Begin
                | Phase::End
                | Phase::Instant
                | Phase::Metadata
                | Phase::ThreadState
        );
        let is_given =
            !event.id.is_absent() || !event.rare.id2_global.is_absent() || !event.rare.id2_local.is_absent();
        let has_id = uses_id && is_given;
        let has_frames =
            !event.rare.sf.is_absent() || !event.rare.esf.is_absent() || event.rare.stack.is_some();
        if !has_id && !has_frames && event.rare.bind_id.is_absent() {
            return None;
        }
        let mut extra = EventExtra::default();
        if has_id {
            let (id, is_local) = if !event.id.is_absent() {
                (event.id, false)
            } else if !event.rare.id2_global.is_absent() {
                (event.rare.id2_global, false)
            } else {
                (event.rare.id2_local, true)
            };
            extra.id = self.key(id, out);
            extra.id_is_local = is_local;
            if let Some(scope) = event.rare.scope {
                extra.scope = self.text(scope, &mut out.trace.strings);
            }
        }
        extra.bind_id = self.key(event.rare.bind_id, out);
        extra.start_frame = self.frame(event.rare.sf, out);
        extra.end_frame = self.frame(event.rare.esf, out);
        if let Some(stack) = event.rare.stack {
            extra.stack = place.of(stack);
            out.trace.args.keep(extra.stack.offset, stack);
        }
        Some(extra)
    }

    fn key(&mut self, id: RawId<'_>, out: &mut TraceBuilder) -> EventKey {
        match id {
            RawId::Absent => EventKey::None,
            RawId::Int(value) => EventKey::Int(value),
            RawId::Text(text) => EventKey::Text(self.text(text, &mut out.trace.strings)),
            RawId::Digits(digits) => EventKey::Digits(self.text(digits, &mut out.trace.strings)),
        }
    }

    /// Frames are named by texts; a number becomes its digits.
    fn frame(&mut self, id: RawId<'_>, out: &mut TraceBuilder) -> StringId {
        match id {
            RawId::Absent => StringId::NONE,
            RawId::Int(value) => out.trace.strings.intern(&value.to_string()),
            RawId::Text(text) | RawId::Digits(text) => self.text(text, &mut out.trace.strings),
        }
    }

    /// Id of a text, through a cache of recent ones.
    #[inline]
    fn text(&mut self, raw: RawStr<'_>, strings: &mut StringTable) -> StringId {
        if raw.escaped {
            return self.odd_text(raw, strings);
        }
        match self.recent.intern_bytes(raw.bytes, strings) {
            Some(id) => id,
            None => self.odd_text(raw, strings),
        }
    }

    /// Id of a category, cached by its number.
    #[cold]
    fn category(&mut self, raw: RawStr<'_>, number: u16, strings: &mut StringTable) -> StringId {
        let id = self.text(raw, strings);
        let number = usize::from(number);
        // A text that was repaired is reported every time.
        if number > 0 && !self.bad_text {
            if self.numbered.len() <= number {
                self.numbered.resize(number + 1, StringId::NONE);
            }
            self.numbered[number] = id;
        }
        id
    }

    #[cold]
    fn odd_text(&mut self, raw: RawStr<'_>, strings: &mut StringTable) -> StringId {
        self.text.clear();
        if !unescape(raw, &mut self.text).is_clean() {
            self.bad_text = true;
        }
        strings.intern(&self.text)
    }

    #[inline]
    fn thread(&mut self, event: &RawEvent<'_>, out: &mut TraceBuilder) -> ThreadId {
        if let (RawId::Int(pid), RawId::Int(tid)) = (event.pid, event.tid) {
            let hash = (pid as u64).wrapping_mul(31).wrapping_add(tid as u64);
            let slot = (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (THREAD_SLOTS - 1);
            if let Some((key, thread)) = self.threads[slot]
                && key == (pid, tid)
            {
                return thread;
            }
            let thread = self.find_thread(event.pid, event.tid, out);
            self.threads[slot] = Some(((pid, tid), thread));
            return thread;
        }
        self.find_thread(event.pid, event.tid, out)
    }

    fn find_thread(&mut self, pid: RawId<'_>, tid: RawId<'_>, out: &mut TraceBuilder) -> ThreadId {
        let process_key = self.process_key(pid, out);
        let process = out.process(process_key);
        let thread_key = match tid {
            // As in Perfetto: an event without a thread, or with thread 0, belongs to the main thread, whose id is the process
            // id.
            RawId::Absent | RawId::Int(0) => process_key,
            tid => self.process_key(tid, out),
        };
        out.thread(process, thread_key)
    }

    fn process_key(&mut self, id: RawId<'_>, out: &mut TraceBuilder) -> Key {
        match id {
            RawId::Absent => Key::Number(0),
            RawId::Int(value) => Key::Number(value),
            RawId::Text(text) => Key::Text(self.text(text, &mut out.trace.strings)),
            RawId::Digits(digits) => Key::Digits(self.text(digits, &mut out.trace.strings)),
        }
    }

    /// Adds an element of the list of samples.
    pub fn add_sample(&mut self, event: &RawEvent<'_>, place: Place<'_>, out: &mut TraceBuilder) {
        let Time::Ns(ts) = event.ts else {
            return out.trace.ledger.skip_record(&BAD_SAMPLE, place.position(), place.len(), place.bytes);
        };
        if event.tid.is_absent() {
            return out.trace.ledger.skip_record(&BAD_SAMPLE, place.position(), place.len(), place.bytes);
        }
        self.bad_text = false;
        let process = match event.pid {
            RawId::Absent => None,
            pid => {
                let key = self.process_key(pid, out);
                Some(out.process(key))
            }
        };
        let thread_key = self.process_key(event.tid, out);
        let name = match event.name {
            Some(name) if !name.bytes.is_empty() => self.text(name, &mut out.trace.strings),
            _ => StringId::NONE,
        };
        let frame = self.frame(event.rare.sf, out);
        let weight =
            event.rare.weight.and_then(Number::as_f64).filter(|weight| weight.is_finite()).unwrap_or(1.0);
        if self.file_issues(event, place, out) {
            out.trace.ledger.repair(place.len());
        } else {
            out.trace.ledger.keep(place.len());
        }
        let len = u32::try_from(place.bytes.len()).unwrap_or(u32::MAX);
        let offset = place.offset;
        out.listed_samples.push(ListedSample { ts, process, thread_key, name, frame, weight, offset, len });
    }
}

/// Phase of an event; `None` if unsupported.
fn phase_of(byte: u8, has_dur: bool) -> Option<Phase> {
    Some(match byte {
        b'X' => Phase::Complete,
        b'B' => Phase::Begin,
        b'E' => Phase::End,
        b'i' | b'I' | b'R' => Phase::Instant,
        b'b' => Phase::AsyncBegin,
        b'n' => Phase::AsyncInstant,
        b'e' => Phase::AsyncEnd,
        b'S' => Phase::LegacyStart,
        b'T' if has_dur => Phase::ThreadState,
        b'T' => Phase::LegacyStepInto,
        b'p' => Phase::LegacyStepPast,
        b'F' => Phase::LegacyFinish,
        b'C' => Phase::Counter,
        b's' => Phase::FlowStart,
        b't' => Phase::FlowStep,
        b'f' => Phase::FlowEnd,
        b'P' => Phase::Sample,
        b'M' => Phase::Metadata,
        b'N' => Phase::ObjectCreated,
        b'O' => Phase::ObjectSnapshot,
        b'D' => Phase::ObjectDestroyed,
        b'v' => Phase::ProcessMemoryDump,
        b'V' => Phase::GlobalMemoryDump,
        b'c' => Phase::ClockSync,
        _ => return None,
    })
}

/// Phases and their names, in listing order.
pub const PHASE_NAMES: &[(u8, &str)] = &[
    (b'X', "X complete"),
    (b'B', "B begin"),
    (b'E', "E end"),
    (b'i', "i instant"),
    (b'I', "I instant"),
    (b'R', "R mark"),
    (b'b', "b async begin"),
    (b'n', "n async instant"),
    (b'e', "e async end"),
    (b'S', "S async start (legacy)"),
    (b'T', "T async step into (legacy) or thread state"),
    (b'p', "p async step past (legacy)"),
    (b'F', "F async finish (legacy)"),
    (b'C', "C counter"),
    (b's', "s flow start"),
    (b't', "t flow step"),
    (b'f', "f flow end"),
    (b'P', "P sample"),
    (b'M', "M metadata"),
    (b'N', "N object created"),
    (b'O', "O object snapshot"),
    (b'D', "D object destroyed"),
    (b'v', "v process memory dump"),
    (b'V', "V global memory dump"),
    (b'c', "c clock sync"),
    (b'(', "( context enter"),
    (b')', ") context leave"),
    (b'=', "= link ids"),
];
