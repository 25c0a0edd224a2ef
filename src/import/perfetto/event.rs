//! Fields of a `TrackEvent`.

use crate::base::protobuf::{Fields, Value, key};

/// Kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Begin,
    End,
    Instant,
    Counter,
    State,
    /// By the phase of its [`Legacy`] part.
    Legacy,
    Unknown,
}

/// Part of an event that has the members of a Chrome trace.
#[derive(Default)]
pub struct Legacy {
    pub name: Option<u64>,
    /// A character; 0 if there is none.
    pub phase: u8,
    /// Microseconds.
    pub duration_us: Option<i64>,
    pub id: Option<u64>,
    pub local_id: Option<u64>,
    pub global_id: Option<u64>,
    pub bind_id: Option<u64>,
    pub binds_to_enclosing: bool,
    /// 1 for in, 2 for out, 3 for both.
    pub flow_direction: u64,
    /// 1 for the trace, 2 for the process, 3 for the thread.
    pub instant_scope: u64,
    pub pid: Option<i64>,
    pub tid: Option<i64>,
}

/// Text given as such, or by its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Text<'a> {
    Given(&'a [u8]),
    Interned(u64),
}

/// Value of a counter.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Whole(i64),
    Double(f64),
}

impl Number {
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Whole(number) => number as f64,
            Number::Double(number) => number,
        }
    }
}

/// What is read of an event. Reused from event to event.
pub struct Event<'a> {
    pub kind: Type,
    pub track: Option<u64>,
    pub name: Option<Text<'a>>,
    pub delta_us: Option<i64>,
    pub absolute_us: Option<i64>,
    pub value: Option<Number>,
    pub legacy: Option<Legacy>,
    pub stack: Option<&'a [u8]>,
    pub stack_iid: Option<u64>,
    /// Ids of arrows, and whether they end here.
    pub flows: Vec<(u64, bool)>,
    pub categories: Vec<Text<'a>>,
    pub annotations: Vec<&'a [u8]>,
    /// Tracks of further counters and their values.
    pub counters: Vec<u64>,
    pub values: Vec<i64>,
    pub double_counters: Vec<u64>,
    pub double_values: Vec<f64>,
    /// There are arguments of a form that only their writer knows.
    pub has_unknown: bool,
    pub bytes: &'a [u8],
}

impl<'a> Event<'a> {
    /// `None` if it is not a message.
    pub fn parse(bytes: &'a [u8]) -> Option<Event<'a>> {
        let mut event = Event {
            kind: Type::Legacy,
            track: None,
            name: None,
            delta_us: None,
            absolute_us: None,
            value: None,
            legacy: None,
            stack: None,
            stack_iid: None,
            flows: Vec::new(),
            categories: Vec::new(),
            annotations: Vec::new(),
            counters: Vec::new(),
            values: Vec::new(),
            double_counters: Vec::new(),
            double_values: Vec::new(),
            has_unknown: false,
            bytes,
        };
        let (mut given, mut interned) = (None, None);
        let mut fields = Fields::new(bytes);
        while let Some((field, value)) = fields.next_keyed() {
            match value {
                Value::Number(number) => match field {
                    key if key == key::varint(9) => {
                        event.kind = match number {
                            0 => Type::Legacy,
                            1 => Type::Begin,
                            2 => Type::End,
                            3 => Type::Instant,
                            4 => Type::Counter,
                            5 => Type::State,
                            _ => Type::Unknown,
                        };
                    }
                    key if key == key::varint(11) => event.track = Some(number),
                    key if key == key::varint(10) => interned = Some(number),
                    key if key == key::varint(3) => event.categories.push(Text::Interned(number)),
                    key if key == key::varint(1) => event.delta_us = Some(number as i64),
                    key if key == key::varint(16) => event.absolute_us = Some(number as i64),
                    key if key == key::varint(30) => event.value = Some(Number::Whole(number as i64)),
                    key if key == key::fixed64(44) => {
                        event.value = Some(Number::Double(f64::from_bits(number)));
                    }
                    key if key == key::fixed64(47) || key == key::varint(36) => {
                        event.flows.push((number, false));
                    }
                    key if key == key::fixed64(48) || key == key::varint(42) => {
                        event.flows.push((number, true));
                    }
                    key if key == key::varint(31) => event.counters.push(number),
                    key if key == key::varint(12) => event.values.push(number as i64),
                    key if key == key::varint(45) => event.double_counters.push(number),
                    key if key == key::fixed64(46) => event.double_values.push(f64::from_bits(number)),
                    key if key == key::varint(56) => event.stack_iid = Some(number),
                    _ => {}
                },
                Value::Bytes(bytes) => match field >> 3 {
                    23 => given = Some(bytes),
                    22 => event.categories.push(Text::Given(bytes)),
                    4 => event.annotations.push(bytes),
                    6 => legacy(bytes, event.legacy.get_or_insert_default()),
                    55 => event.stack = Some(bytes),
                    // The same numbers without a tag each.
                    3 => value.numbers(|number| event.categories.push(Text::Interned(number))),
                    36 => value.numbers(|number| event.flows.push((number, false))),
                    42 => value.numbers(|number| event.flows.push((number, true))),
                    31 => value.numbers(|number| event.counters.push(number)),
                    12 => value.numbers(|number| event.values.push(number as i64)),
                    45 => value.numbers(|number| event.double_counters.push(number)),
                    47 => words(bytes, |number| event.flows.push((number, false))),
                    48 => words(bytes, |number| event.flows.push((number, true))),
                    46 => words(bytes, |bits| event.double_values.push(f64::from_bits(bits))),
                    // Source locations and what is known.
                    1..=21 | 30 | 33 | 34 | 44 | 52..=57 => {}
                    _ => event.has_unknown = true,
                },
            }
        }
        event.name = given.map(Text::Given).or(interned.map(Text::Interned));
        if event.name.is_none() {
            event.name = event.legacy.as_ref().and_then(|legacy| legacy.name).map(Text::Interned);
        }
        (!fields.is_broken).then_some(event)
    }
}

/// Packed numbers of 64 bits.
fn words(bytes: &[u8], each: impl FnMut(u64)) {
    let (words, _) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).for_each(each);
}

fn legacy(bytes: &[u8], out: &mut Legacy) {
    for (number, value) in Fields::new(bytes) {
        let Value::Number(value) = value else { continue };
        match number {
            1 => out.name = Some(value),
            2 => out.phase = u8::try_from(value).unwrap_or(0),
            3 => out.duration_us = Some(value as i64),
            6 => out.id = Some(value),
            8 => out.bind_id = Some(value),
            10 => out.local_id = Some(value),
            11 => out.global_id = Some(value),
            12 => out.binds_to_enclosing = value != 0,
            13 => out.flow_direction = value,
            14 => out.instant_scope = value,
            18 => out.pid = Some(value as i64),
            19 => out.tid = Some(value as i64),
            _ => {}
        }
    }
}

/// Scope of ids of the [`Legacy`] part, if given.
pub fn id_scope(event: &[u8]) -> Option<&[u8]> {
    let parts = Fields::new(event).filter(|(number, _)| *number == 6);
    let scopes = parts.filter_map(|(_, value)| Some(Fields::new(value.bytes()?))).flatten();
    scopes.filter(|(number, _)| *number == 7).filter_map(|(_, value)| value.bytes()).last()
}
