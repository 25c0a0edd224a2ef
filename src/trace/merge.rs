//! Joins the rows of a stretch of a file, read by itself, to the rows of what comes before it.
//!
//! Takes two builders whose numbers for texts, processes and threads mean nothing to each other; the second one's are
//! given the first one's numbers. Joining stretch by stretch gives what reading in one go gives, number by number,
//! since new texts and threads come in the order in which they stand in the file either way.

use super::TraceBuilder;
use super::events::{EventExtra, EventKey, NO_EXTRA};
use super::tracks::{Key, ProcessId, ThreadId};
use crate::base::strings::StringId;

/// The first builder's numbers by the second one's.
struct Numbers {
    strings: Vec<StringId>,
    threads: Vec<ThreadId>,
}

impl Numbers {
    /// [`StringId::NONE`] stays what it is.
    #[inline]
    fn text(&self, id: StringId) -> StringId {
        self.strings.get(id.0 as usize).copied().unwrap_or(StringId::NONE)
    }

    fn event_key(&self, key: EventKey) -> EventKey {
        match key {
            EventKey::Text(text) => EventKey::Text(self.text(text)),
            other => other,
        }
    }

    fn extra(&self, extra: EventExtra) -> EventExtra {
        EventExtra {
            id: self.event_key(extra.id),
            scope: self.text(extra.scope),
            bind_id: self.event_key(extra.bind_id),
            start_frame: self.text(extra.start_frame),
            end_frame: self.text(extra.end_frame),
            ..extra
        }
    }
}

impl TraceBuilder {
    /// Adds the events, kept arguments and account of `part`, which comes right behind all that is here.
    /// Samples, frames, profiles and facts on the file are not part of it: readers do not put them into parts.
    pub fn absorb(&mut self, part: TraceBuilder) {
        let numbers = self.number(&part);
        let n_before = self.events.rows.len() as u32;
        let n_extras = self.events.extras.len() as u32;
        self.events.rows.reserve(part.events.rows.len());
        self.events.rows.extend(part.events.rows.into_iter().map(|mut event| {
            event.thread = numbers.threads.get(event.thread.0 as usize).copied().unwrap_or(ThreadId(0));
            event.name = numbers.text(event.name);
            event.category = numbers.text(event.category);
            if event.extra != NO_EXTRA {
                event.extra += n_extras;
            }
            event
        }));
        self.events.extras.extend(part.events.extras.into_iter().map(|extra| numbers.extra(extra)));
        let thread_time = part.events.thread_time.into_iter();
        self.events.thread_time.extend(thread_time.map(|(event, tts, tdur)| (event + n_before, tts, tdur)));
        for (offset, raw) in part.trace.args.all_kept() {
            self.trace.args.keep(offset, raw);
        }
        self.trace.ledger.absorb(part.trace.ledger);
    }

    /// Finds or adds what `part` gives numbers to.
    fn number(&mut self, part: &TraceBuilder) -> Numbers {
        let strings = &part.trace.strings;
        let strings = (0..strings.len() as u32).map(|id| strings.get(StringId(id)));
        let strings: Vec<StringId> = strings.map(|text| self.trace.strings.intern(text)).collect();
        let mut numbers = Numbers { strings, threads: Vec::new() };
        let key = |numbers: &Numbers, key: Key| match key {
            Key::Text(text) => Key::Text(numbers.text(text)),
            number => number,
        };
        let table = &part.trace.processes;
        let processes: Vec<ProcessId> =
            table.key.iter().map(|process| self.process(key(&numbers, *process))).collect();
        let table = &part.trace.threads;
        numbers.threads = table
            .key
            .iter()
            .zip(&table.process)
            .map(|(thread, process)| {
                let process = processes.get(process.0 as usize).copied().unwrap_or(ProcessId(0));
                self.thread(process, key(&numbers, *thread))
            })
            .collect();
        numbers
    }
}
