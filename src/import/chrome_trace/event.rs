//! Members of one event, as written and borrowed from the bytes of the file.

use crate::base::json::{RawStr, unescape_to_string};

/// Time member in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Time {
    #[default]
    Absent,
    /// Present, but not a number of microseconds in range.
    Bad,
    Ns(i64),
}

/// Id as written. Values of other types count as absent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RawId<'a> {
    #[default]
    Absent,
    /// Integer, also one that is written with a point or an exponent.
    Int(i64),
    Text(RawStr<'a>),
    /// Number that is no `i64`, as written: beyond 64 bits, or with a fraction (Intel's OpenCL Intercept Layer has `1.2` for a
    /// second queue).
    Digits(RawStr<'a>),
}

impl RawId<'_> {
    pub fn is_absent(self) -> bool {
        self == RawId::Absent
    }
}

/// Scope of an instant, from `s`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Scope {
    #[default]
    Thread,
    Process,
    Global,
}

/// Members of one event. The last of duplicate keys wins.
#[derive(Clone, Default, Debug)]
pub struct RawEvent<'a> {
    /// First byte of `ph`; 0 if absent, empty or not a text.
    pub phase: u8,
    pub ts: Time,
    pub dur: Time,
    pub pid: RawId<'a>,
    pub tid: RawId<'a>,
    pub name: Option<RawStr<'a>>,
    pub cat: Option<RawStr<'a>>,
    /// If not 0, all events with this number have the same `cat`.
    pub cat_number: u16,
    pub id: RawId<'a>,
    /// From `{` to `}`; `None` if absent or not an object.
    pub args: Option<&'a [u8]>,
    /// A member had the wrong type and counts as absent. `null` is simply absent.
    pub wrong_type: bool,
    /// An id was neither number nor text and counts as absent.
    pub odd_id: bool,
    /// A skipped container has nested brackets. Only then can it contain other events.
    pub has_brackets: bool,
    /// A known key occurs more than once.
    pub repeated: bool,
    /// Known keys so far, one bit each.
    pub seen: u32,
    /// `rare` is not empty.
    pub has_rare: bool,
    pub n_keys: u32,
    /// Key codes in order of appearance, four bits each; identifies the writer.
    pub key_order: u64,
    pub rare: RareMembers<'a>,
}

/// Members that few events have.
#[derive(Clone, Default, Debug)]
pub struct RareMembers<'a> {
    pub instant_scope: Scope,
    /// `bp` is `"e"`.
    pub bind_enclosing: bool,
    pub flow_in: bool,
    pub flow_out: bool,
    pub tts: Time,
    pub tdur: Time,
    pub id2_global: RawId<'a>,
    pub id2_local: RawId<'a>,
    pub bind_id: RawId<'a>,
    pub scope: Option<RawStr<'a>>,
    pub sf: RawId<'a>,
    pub esf: RawId<'a>,
    /// Raw JSON array.
    pub stack: Option<&'a [u8]>,
    /// Weight of a sample.
    pub weight: Option<&'a [u8]>,
    /// A state that lasts to the end of the trace, in an export of Tracedrop.
    pub unfinished: bool,
}

impl RawEvent<'_> {
    /// Whether `id` is the only rare member that goes into a table.
    pub fn has_only_id(&self) -> bool {
        let rare = &self.rare;
        !self.id.is_absent()
            && (!self.has_rare
                || (rare.bind_id.is_absent()
                    && rare.sf.is_absent()
                    && rare.esf.is_absent()
                    && rare.scope.is_none()
                    && rare.stack.is_none()))
    }

    /// Resets it for the next event, which is cheaper than a new one: it is large and mostly unused.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.phase = 0;
        (self.ts, self.dur) = (Time::Absent, Time::Absent);
        (self.pid, self.tid, self.id) = (RawId::Absent, RawId::Absent, RawId::Absent);
        (self.name, self.cat, self.args) = (None, None, None);
        (self.wrong_type, self.has_brackets) = (false, false);
        (self.odd_id, self.repeated, self.seen) = (false, false, 0);
        self.cat_number = 0;
        (self.n_keys, self.key_order) = (0, 0);
        if self.has_rare {
            self.has_rare = false;
            self.rare = RareMembers::default();
        }
    }
}

/// [`RawEvent::key_order`] of `name cat ph ts dur pid tid`.
pub const ORDER_NAME_CAT_PH_TS_DUR_PID_TID: u64 = 0x0123_4567;
/// [`RawEvent::key_order`] of the same keys, then `args`.
pub const ORDER_NAME_CAT_PH_TS_DUR_PID_TID_ARGS: u64 = 0x1234_5678;

/// Member by which exports of Tracedrop mark a state without an end; its `dur` reaches the end of the trace, as other readers need
/// one.
const UNFINISHED_MEMBER: &[u8] = crate::trace::builder::UNFINISHED_STATE.as_bytes();

/// Member of an event, by its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    Name,
    Category,
    Phase,
    Ts,
    Dur,
    Pid,
    Tid,
    Args,
    Id,
    Tts,
    Tdur,
    /// `s`: scope of an instant.
    InstantScope,
    BindPoint,
    Id2,
    BindId,
    /// `scope`: scope of `id`.
    IdScope,
    FlowIn,
    FlowOut,
    StartFrame,
    EndFrame,
    Stack,
    Weight,
    Unfinished,
    /// Any other; skipped.
    Unknown,
}

impl Field {
    #[inline(always)]
    pub(super) fn of(key: RawStr<'_>) -> Field {
        if key.escaped {
            Field::of_bytes(unescape_to_string(key).as_bytes())
        } else {
            Field::of_bytes(key.bytes)
        }
    }

    #[inline(always)]
    fn of_bytes(key: &[u8]) -> Field {
        match key {
            b"name" => Field::Name,
            b"cat" => Field::Category,
            b"ph" => Field::Phase,
            b"ts" => Field::Ts,
            b"dur" => Field::Dur,
            b"pid" => Field::Pid,
            b"tid" => Field::Tid,
            b"args" => Field::Args,
            b"id" => Field::Id,
            b"tts" => Field::Tts,
            b"tdur" => Field::Tdur,
            b"s" => Field::InstantScope,
            b"bp" => Field::BindPoint,
            b"id2" => Field::Id2,
            b"bind_id" => Field::BindId,
            b"scope" => Field::IdScope,
            b"flow_in" => Field::FlowIn,
            b"flow_out" => Field::FlowOut,
            b"sf" => Field::StartFrame,
            b"esf" => Field::EndFrame,
            b"stack" => Field::Stack,
            b"weight" => Field::Weight,
            UNFINISHED_MEMBER => Field::Unfinished,
            _ => Field::Unknown,
        }
    }

    /// Bit of the key in [`RawEvent::seen`]; none for unknown keys.
    #[inline(always)]
    pub(super) const fn bit(self) -> u32 {
        if let Field::Unknown = self { 0 } else { 1 << self as u32 }
    }

    /// Code of the key in [`RawEvent::key_order`], four bits.
    #[inline(always)]
    pub(super) fn order_code(self) -> u64 {
        if (self as u64) < Field::InstantScope as u64 { self as u64 + 1 } else { 15 }
    }
}
