//! Time range chosen while a file is read: events outside are parsed and dropped.
//!
//! Events that stand alone are dropped at once, those that have to be paired afterwards. So the result does not depend on when
//! the range was chosen.

use super::issues::OUTSIDE_RANGE;
use super::{TraceBuilder, Ways};
use crate::base::units::format_ns;
use crate::trace::TimePart;
use crate::trace::cut::{Cut, span_beside_events};
use crate::trace::events::{Event, EventExtra, EventId, Phase};
use crate::trace::ledger::{Issue, Position};
use crate::trace::slices::UNFINISHED;
use std::borrow::Cow;

/// Time range, including both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeRange {
    /// First and last nanosecond on the trace's clock.
    OnClock(i64, i64),
    /// First and last nanosecond from the start of the trace, which is known once all is read.
    FromStart(i64, i64),
}

/// Range to keep, and counts of what was dropped.
#[derive(Clone, Copy)]
pub(super) struct Held {
    range: TimeRange,
    /// Number of dropped events.
    n_outside: u64,
    /// Offset of the first one.
    first: u64,
    /// First and last time of those that were dropped at once.
    dropped: Option<(i64, i64)>,
    /// Span of the whole trace, if it is known before all is joined.
    whole: Option<(i64, i64)>,
}

/// The time around both.
fn join(a: Option<(i64, i64)>, b: Option<(i64, i64)>) -> Option<(i64, i64)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}

impl Held {
    /// The same, for a trace whose span without what was dropped is `span`.
    pub(super) fn of_span(self, span: Option<(i64, i64)>) -> Held {
        let whole = join(span, self.dropped);
        let start = whole.map_or(0, |(start, _)| start);
        let range = match self.range {
            TimeRange::FromStart(from, to) => {
                TimeRange::OnClock(start.saturating_add(from), start.saturating_add(to))
            }
            on_clock => on_clock,
        };
        Held { range, whole, ..self }
    }

    /// Counts an event that is dropped at once.
    fn drop_event(&mut self, phase: Phase, ts: i64, dur: i64, offset: u64) {
        self.n_outside += 1;
        self.first = self.first.min(offset);
        // Arrows are no part of the span.
        if !matches!(phase, Phase::FlowStart | Phase::FlowStep | Phase::FlowEnd) {
            let has_length = matches!(phase, Phase::Complete | Phase::ThreadState);
            let end = if has_length { ts.saturating_add(dur.max(0)) } else { ts };
            self.dropped = join(self.dropped, Some((ts, end)));
        }
    }
}

impl TimeRange {
    /// Whether a stand-alone event is outside. False for events that have to be paired or have no time, and for slices that end
    /// where the range starts or the other way round: they are cut afterwards.
    #[inline]
    fn leaves_out(self, phase: Phase, ts: i64, dur: i64) -> bool {
        let TimeRange::OnClock(from, to) = self else { return false };
        match phase {
            Phase::ThreadState if dur == UNFINISHED => ts > to,
            Phase::Complete | Phase::ThreadState => ts > to || ts.saturating_add(dur) < from,
            Phase::Instant
            | Phase::Counter
            | Phase::Sample
            | Phase::FlowStart
            | Phase::FlowStep
            | Phase::FlowEnd => ts > to || ts < from,
            _ => false,
        }
    }
}

impl TraceBuilder {
    /// Keeps only [what is of `range`](crate::trace::cut::is_of_window), of past and future events. May be called once.
    pub fn hold_only(&mut self, range: TimeRange) {
        self.range = Some(Held { range, n_outside: 0, first: u64::MAX, dropped: None, whole: None });
        // Everything is cut once it is joined.
        if self.ways == Ways::Tracks {
            return;
        }
        let mut all = std::mem::take(&mut self.events);
        let extras = std::mem::take(&mut all.extras);
        self.take_events(all.iter(), extras, &all.thread_time);
    }

    /// Whether an event is dropped; counts it if so.
    #[inline]
    pub fn lets_go(&mut self, phase: Phase, ts: i64, dur: i64, offset: u64) -> bool {
        match &mut self.range {
            Some(_) if self.ways == Ways::Tracks => false,
            Some(held) if held.range.leaves_out(phase, ts, dur) => {
                held.drop_event(phase, ts, dur, offset);
                true
            }
            _ => false,
        }
    }

    /// Whether `ts` is before the range, as far as it is known while reading.
    pub(super) fn is_before_range(&self, ts: i64) -> bool {
        let range = self.range.as_ref().map(|held| held.range);
        matches!(range, Some(TimeRange::OnClock(from, _)) if ts < from)
    }

    /// Removes the range. Call before there are events.
    pub(crate) fn hold_all(&mut self) {
        self.range = None;
    }

    /// Whether there is no range.
    pub(crate) fn holds_all(&self) -> bool {
        self.range.is_none()
    }

    /// Adds the kept events of a table with these rows, rare members and CPU times.
    pub(crate) fn take_events(
        &mut self,
        rows: impl Iterator<Item = Event>,
        extras: Vec<EventExtra>,
        thread_time: &[(u32, i64, Option<i64>)],
    ) {
        let n_extras = self.events.extras.len() as u32;
        let mut times = thread_time.iter().peekable();
        for (i, event) in rows.enumerate() {
            let time = times.next_if(|time| time.0 as usize == i);
            if self.lets_go(event.phase, event.ts, event.dur, event.offset) {
                if event.phase == Phase::Counter
                    && let Some(raw) = self.trace.args.kept(event.args()).map(Cow::into_owned)
                {
                    let extra = event.extra.checked_sub(n_extras).and_then(|at| extras.get(at as usize));
                    self.hold_counter(
                        event.ts,
                        event.thread,
                        event.name,
                        EventId::of(event.flags, event.dur, extra).key,
                        &raw,
                    );
                }
                continue;
            }
            if let Some((_, tts, tdur)) = time {
                let number = self.events.n_events() as u32;
                self.events.thread_time.push((number, *tts, *tdur));
            }
            self.events.add(event);
        }
        self.events.extras.extend(extras);
    }

    /// Drops the rest from the finished tables, and reports it.
    pub(super) fn leave_out_rest(&mut self) {
        self.cut_to_range();
        self.note_left_out();
    }

    /// Drops what could not be dropped before pairing.
    pub(super) fn cut_to_range(&mut self) {
        let Some(held) = &mut self.range else { return };
        let known = held.whole;
        let beside_events = || span_beside_events(&self.trace);
        let on_clock = held.of_span(known.or_else(|| self.trace.extent()).or_else(beside_events));
        let TimeRange::OnClock(from, to) = on_clock.range else { return };
        let start = on_clock.whole.map_or(0, |(start, _)| start);
        // Slices without an end reach the end of the whole trace.
        self.trace.part = Some(TimePart { whole: on_clock.whole, range: (from, to) });
        let window = (from.saturating_sub(start), to.saturating_sub(start));
        held.n_outside += Cut { window: Some(window), max_depth: None }.apply_to(&mut self.trace);
    }

    /// Reports what was dropped; the last step.
    pub(super) fn note_left_out(&mut self) {
        if let Some(TimePart { range: (from, _), .. }) = self.trace.part {
            self.settle_held_counters(from);
        }
        let Some(Held { range, n_outside, first, .. }) = self.range.filter(|held| held.n_outside > 0) else {
            return;
        };
        let length = match range {
            TimeRange::OnClock(from, to) | TimeRange::FromStart(from, to) => to.saturating_sub(from),
        };
        let first = if first == u64::MAX { 0 } else { first };
        self.trace.ledger.issues.push(Issue {
            kind: &OUTSIDE_RANGE,
            count: n_outside,
            first: Position { byte: first, line: None },
            example: format!("{} chosen", format_ns(length)),
        });
    }
}
