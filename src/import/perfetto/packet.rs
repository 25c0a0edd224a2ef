//! Fields of a `TracePacket`.

use super::issues::*;
use crate::base::protobuf::{Fields, Value, key};
use crate::trace::IssueKind;
use std::borrow::Cow;

/// Bits of `sequence_flags`.
const CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// A message that may have been written in pieces.
type Message<'a> = Option<Cow<'a, [u8]>>;

/// What is read of a packet.
#[derive(Default)]
pub struct Packet<'a> {
    pub timestamp: Option<u64>,
    pub clock: Option<u32>,
    /// 0 if there is none.
    pub sequence: u32,
    pub machine: u32,
    pub is_cleared: bool,
    pub needs_state: bool,
    pub is_after_loss: bool,
    pub defaults: Message<'a>,
    pub interned: Message<'a>,
    pub snapshot: Message<'a>,
    pub event: Message<'a>,
    pub track: Message<'a>,
    pub process: Message<'a>,
    pub thread: Message<'a>,
    pub samples: Message<'a>,
    pub perf: Message<'a>,
    pub heap: Message<'a>,
    pub kernel: Message<'a>,
    pub process_tree: Message<'a>,
    pub deflated: Option<&'a [u8]>,
    pub zstd: Option<&'a [u8]>,
    /// Field of its data, if that is not one of the above.
    pub other: Option<u64>,
}

fn merge<'a>(message: &mut Message<'a>, bytes: &'a [u8]) {
    *message = Some(match message.take() {
        None => Cow::Borrowed(bytes),
        Some(before) => Cow::Owned([&before, bytes].concat()),
    });
}

impl<'a> Packet<'a> {
    /// `None` if it is not a message.
    pub fn parse(bytes: &'a [u8]) -> Option<Packet<'a>> {
        let mut packet = Packet::default();
        let mut fields = Fields::new(bytes);
        while let Some((field, value)) = fields.next_keyed() {
            match value {
                Value::Number(number) => match field {
                    key if key == key::varint(8) => packet.timestamp = Some(number),
                    key if key == key::varint(10) => packet.sequence = number as u32,
                    key if key == key::varint(13) => {
                        packet.is_cleared |= number & CLEARED != 0;
                        packet.needs_state = number & NEEDS_STATE != 0;
                    }
                    key if key == key::varint(41) => packet.is_cleared |= number != 0,
                    key if key == key::varint(42) => packet.is_after_loss = number != 0,
                    key if key == key::varint(58) => packet.clock = Some(number as u32),
                    key if key == key::varint(98) => packet.machine = number as u32,
                    _ => {}
                },
                Value::Bytes(bytes) => match field >> 3 {
                    11 => merge(&mut packet.event, bytes),
                    12 => merge(&mut packet.interned, bytes),
                    59 => merge(&mut packet.defaults, bytes),
                    60 => merge(&mut packet.track, bytes),
                    6 => merge(&mut packet.snapshot, bytes),
                    43 => merge(&mut packet.process, bytes),
                    44 => merge(&mut packet.thread, bytes),
                    54 => merge(&mut packet.samples, bytes),
                    66 => merge(&mut packet.perf, bytes),
                    37 => merge(&mut packet.heap, bytes),
                    1 => merge(&mut packet.kernel, bytes),
                    2 => merge(&mut packet.process_tree, bytes),
                    50 => packet.deflated = Some(bytes),
                    133 => packet.zstd = Some(bytes),
                    // Numbers of another type than theirs.
                    3 | 8 | 10 | 13 | 41 | 42 | 58 | 79 | 87 | 98 => {}
                    other => packet.other = packet.other.or(Some(other)),
                },
            }
        }
        (!fields.is_broken).then_some(packet)
    }
}

/// Kind of data in a field of a packet: plural noun, and why it is not shown; `None` for data about the recording itself.
pub fn data_kind(field: u64) -> (&'static str, Option<&'static IssueKind>) {
    match field {
        9 => ("process statistics", Some(&PROCESS_INFO)),
        7 => ("system statistics", Some(&PROCESS_INFO)),
        56 => ("heap graphs", Some(&SAMPLES)),
        135 => ("stack samples", Some(&SAMPLES)),
        52 => ("GPU counters", Some(&GPU_PACKETS)),
        53 => ("GPU render stages", Some(&GPU_PACKETS)),
        63 | 39 => ("log messages", Some(&LOGS)),
        33 => ("trace configurations", None),
        35 => ("trace statistics", None),
        36 => ("synchronization markers", None),
        45 => ("system information", None),
        69 => ("service events", None),
        89 => ("trace ids", None),
        90 => ("ranges of interest", None),
        _ => ("other packets", Some(&OTHER_PACKETS)),
    }
}
