//! Joins the rows of a part of a file to the rows before it.
//!
//! A part has its own ids of texts, processes and threads; they are mapped to those of the whole. Joining part by part gives
//! exactly the ids of sequential reading, since new texts and threads come in file order either way.

use super::TraceBuilder;
use super::accesses::AccessTable;
use super::events::{Event, EventExtra, EventKey, NO_EXTRA};
use super::ledger::Ledger;
use super::links::{LinkTable, SignatureTable};
use super::scoring_calls::ScoringCallTable;
use super::tracks::{Key, ProcessId, ThreadId};
use crate::base::strings::StringId;
use std::borrow::Cow;

/// Joined data: events, kept arguments, links, scoring calls, accesses and the ledger of a part. Samples, frames, profiles and
/// metadata are not included: readers do not put them in parts, or join them themselves.
pub struct PartTables<'a, R> {
    /// Texts, indexed by id.
    pub texts: Vec<&'a str>,
    pub processes: Vec<Key>,
    /// Process and key of each thread.
    pub threads: Vec<(u32, Key)>,
    /// Events.
    pub rows: R,
    pub extras: Vec<EventExtra>,
    pub thread_time: Vec<(u32, i64, Option<i64>)>,
    /// Kept arguments, with their places in the file.
    pub args: Vec<(u64, Cow<'a, [u8]>)>,
    pub links: LinkTable,
    pub signatures: SignatureTable,
    pub scoring_calls: ScoringCallTable,
    pub accesses: AccessTable,
    pub ledger: Ledger,
}

/// Maps ids of the part to those of the whole.
struct Numbers {
    strings: Vec<StringId>,
    threads: Vec<ThreadId>,
}

impl Numbers {
    /// [`StringId::NONE`] maps to itself.
    #[inline]
    fn text(&self, id: StringId) -> StringId {
        self.strings.get(id.0 as usize).copied().unwrap_or(StringId::NONE)
    }

    fn key(&self, key: Key) -> Key {
        match key {
            Key::Text(text) => Key::Text(self.text(text)),
            Key::Digits(text) => Key::Digits(self.text(text)),
            number @ Key::Number(_) => number,
        }
    }

    fn event_key(&self, key: EventKey) -> EventKey {
        match key {
            EventKey::Text(text) => EventKey::Text(self.text(text)),
            EventKey::Digits(text) => EventKey::Digits(self.text(text)),
            other @ (EventKey::None | EventKey::Int(_)) => other,
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
    /// Tables to be joined to those of another builder.
    pub fn part_tables(&self) -> PartTables<'_, impl ExactSizeIterator<Item = Event>> {
        let strings = &self.trace.strings;
        let threads = &self.trace.threads;
        PartTables {
            texts: (0..strings.len() as u32).map(|id| strings.get(StringId(id))).collect(),
            processes: self.trace.processes.key.clone(),
            threads: threads.process.iter().zip(&threads.key).map(|(of, key)| (of.0, *key)).collect(),
            rows: self.events.iter(),
            extras: self.events.extras.clone(),
            thread_time: self.events.thread_time.clone(),
            args: self.trace.args.all_kept().collect(),
            links: self.trace.links.clone(),
            signatures: self.trace.signatures.clone(),
            scoring_calls: self.trace.scoring_calls.clone(),
            accesses: self.trace.accesses.clone(),
            ledger: self.trace.ledger.clone(),
        }
    }

    /// Appends `part`, which directly follows what is here. Returns the new id of each text of the part.
    pub fn absorb<R: ExactSizeIterator<Item = Event>>(&mut self, part: PartTables<'_, R>) -> Vec<StringId> {
        let numbers = self.number(&part);
        for (offset, raw) in part.args {
            self.trace.args.keep(offset, &raw);
        }
        let n_before = self.events.rows.len() as u32;
        let n_extras = self.events.extras.len() as u32;
        let renumbered = part.rows.map(|mut event| {
            event.thread = numbers.threads.get(event.thread.0 as usize).copied().unwrap_or(ThreadId(0));
            event.name = numbers.text(event.name);
            event.category = numbers.text(event.category);
            if event.extra != NO_EXTRA {
                event.extra += n_extras;
            }
            event
        });
        let extras = part.extras.into_iter().map(|extra| numbers.extra(extra));
        if self.holds_all() {
            self.events.reserve(renumbered.len());
            renumbered.for_each(|event| self.events.add(event));
            self.events.extras.extend(extras);
            let thread_time = part.thread_time.into_iter();
            let moved = thread_time.map(|(event, tts, tdur)| (event + n_before, tts, tdur));
            self.events.thread_time.extend(moved);
        } else {
            self.take_events(renumbered, extras.collect(), &part.thread_time);
        }
        if !self.is_spilling() {
            self.trace.links.append(part.links, |id| numbers.text(id));
            self.trace.signatures.append(part.signatures);
        }
        self.trace.scoring_calls.append(part.scoring_calls, |id| numbers.text(id));
        self.trace.accesses.append(&part.accesses, &numbers.strings);
        self.trace.ledger.absorb(part.ledger);
        numbers.strings
    }

    /// Finds or adds the ids of `part`.
    fn number<R>(&mut self, part: &PartTables<'_, R>) -> Numbers {
        let strings = part.texts.iter().map(|text| self.trace.strings.intern(text)).collect();
        let mut numbers = Numbers { strings, threads: Vec::new() };
        let processes: Vec<ProcessId> =
            part.processes.iter().map(|key| self.process(numbers.key(*key))).collect();
        numbers.threads = part
            .threads
            .iter()
            .map(|(process, key)| {
                let process = processes.get(*process as usize).copied().unwrap_or(ProcessId(0));
                self.thread(process, numbers.key(*key))
            })
            .collect();
        numbers
    }
}
