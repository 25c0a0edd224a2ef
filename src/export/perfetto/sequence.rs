//! One writer: a track with its interned texts and its clock.

use crate::base::hash::HashMap;
use crate::base::protobuf::PushFields;
use crate::base::strings::StringId;

/// Names of arguments that are interned; with more, the file has them in full.
const MAX_ARGUMENT_NAMES: usize = 4096;
/// The clock of a sequence that counts from one packet to the next.
const DELTA_CLOCK: u64 = 64;
/// The clock of the trace.
const BOOTTIME: u64 = 6;

/// Fields of a packet.
pub mod packet {
    pub const PACKET: u64 = 1;
    pub const CLOCK_SNAPSHOT: u64 = 6;
    pub const TIMESTAMP: u64 = 8;
    pub const SEQUENCE: u64 = 10;
    pub const EVENT: u64 = 11;
    pub const INTERNED: u64 = 12;
    pub const FLAGS: u64 = 13;
    pub const CLOCK: u64 = 58;
    pub const DEFAULTS: u64 = 59;
    pub const TRACK: u64 = 60;
    pub const IS_FIRST: u64 = 87;
}

/// Flags of a packet: the state before it is dropped, it needs the state.
const CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// Numbers of texts that were written, and of those to be written with the next event.
struct Texts<K> {
    iids: HashMap<K, u64>,
    new: Vec<(u64, String)>,
}

impl<K> Default for Texts<K> {
    fn default() -> Self {
        Texts { iids: HashMap::default(), new: Vec::new() }
    }
}

impl<K: std::hash::Hash + Eq> Texts<K> {
    fn iid(&mut self, key: K, text: &str) -> u64 {
        let next = self.iids.len() as u64 + 1;
        *self.iids.entry(key).or_insert_with(|| {
            self.new.push((next, text.to_string()));
            next
        })
    }
}

#[derive(Default)]
pub struct Sequence {
    /// From 1; unique in the file.
    number: u64,
    track: u64,
    /// Nanoseconds of the last event; `None` before the first.
    last: Option<i64>,
    names: Texts<StringId>,
    categories: Texts<StringId>,
    argument_names: Texts<String>,
}

impl Sequence {
    pub fn new(number: u64, track: u64) -> Sequence {
        Sequence { number, track, ..Sequence::default() }
    }

    pub fn name(&mut self, id: StringId, text: &str) -> u64 {
        self.names.iid(id, text)
    }

    pub fn category(&mut self, id: StringId, text: &str) -> u64 {
        self.categories.iid(id, text)
    }

    /// Interns the name of an argument, up to a limit.
    pub fn argument_name(&mut self, text: &str) {
        if self.argument_names.iids.len() < MAX_ARGUMENT_NAMES && !self.argument_names.iids.contains_key(text)
        {
            self.argument_names.iid(text.to_string(), text);
        }
    }

    pub fn known_argument_name(&self, text: &str) -> Option<u64> {
        self.argument_names.iids.get(text).copied()
    }

    /// Appends the packet of an event whose fields `write` writes, at `ts` nanoseconds on the clock of the file, which must not
    /// be less than before.
    pub fn push_event(&mut self, ts: i64, out: &mut Vec<u8>, write: impl FnOnce(&Sequence, &mut Vec<u8>)) {
        let last = match self.last {
            Some(last) => last,
            None => {
                self.push_start(ts, out);
                ts
            }
        };
        self.last = Some(ts);
        let new = [
            (1, std::mem::take(&mut self.categories.new)),
            (2, std::mem::take(&mut self.names.new)),
            (3, std::mem::take(&mut self.argument_names.new)),
        ];
        out.message(packet::PACKET, |out| {
            out.number(packet::TIMESTAMP, ts.saturating_sub(last).max(0) as u64);
            out.number(packet::SEQUENCE, self.number);
            if new.iter().any(|(_, texts)| !texts.is_empty()) {
                out.message(packet::INTERNED, |out| {
                    for (field, texts) in &new {
                        for (iid, text) in texts {
                            out.message(*field, |out| {
                                out.number(1, *iid);
                                out.bytes(2, text.as_bytes());
                            });
                        }
                    }
                });
            }
            out.message(packet::EVENT, |out| write(self, out));
            out.number(packet::FLAGS, NEEDS_STATE);
        });
    }

    /// Appends the first packet: the value of the sequence's clock, and its defaults.
    fn push_start(&self, ts: i64, out: &mut Vec<u8>) {
        out.message(packet::PACKET, |out| {
            out.message(packet::CLOCK_SNAPSHOT, |out| {
                out.message(1, |out| {
                    out.number(1, BOOTTIME);
                    out.number(2, ts as u64);
                });
                out.message(1, |out| {
                    out.number(1, DELTA_CLOCK);
                    out.number(2, ts as u64);
                    out.number(3, 1);
                });
                out.number(2, BOOTTIME);
            });
            out.number(packet::SEQUENCE, self.number);
            out.number(packet::FLAGS, CLEARED);
            out.message(packet::DEFAULTS, |out| {
                out.message(packet::EVENT, |out| out.number(11, self.track));
                out.number(packet::CLOCK, DELTA_CLOCK);
            });
            out.number(packet::IS_FIRST, 1);
        });
    }
}
