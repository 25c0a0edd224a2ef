//! Recognition by content.

use crate::base::protobuf::{Fields, Value, key, varint};
use crate::import::{Confidence, detect};

/// Packets that are looked at.
const MAX_PACKETS: usize = 8;

/// Packets are looked for fields that other messages do not have in their first field. Damage behind a known packet is no sign
/// against it, only a weaker one for it.
pub fn sniff(head: &[u8]) -> Confidence {
    if head.first() != Some(&0x0a) {
        return Confidence::No;
    }
    let (mut at, mut n_known, mut is_damaged) = (0, 0, false);
    for _ in 0..MAX_PACKETS {
        if at >= head.len() {
            break;
        }
        let Some(tag) = varint(head, &mut at) else { break };
        let Some(len) = varint(head, &mut at).and_then(|len| usize::try_from(len).ok()) else { break };
        if tag != key::bytes(1) {
            // Another field of the trace, another message, or damage.
            if !matches!(tag & 7, 0 | 2) {
                is_damaged = true;
                break;
            }
            if n_known == 0 {
                return Confidence::No;
            }
            at = if tag & 7 == 2 { at.saturating_add(len) } else { at };
            continue;
        }
        let end = at.saturating_add(len);
        let packet = &head[at..end.min(head.len())];
        let is_whole = end <= head.len();
        // What is shorter than a head ends within its last packet only if it was cut.
        match looks_known(packet, is_whole) {
            Some(true) => n_known += 1,
            Some(false) => {}
            None if is_whole => {}
            None => {
                is_damaged = true;
                break;
            }
        }
        if n_known == 0 && !is_whole && head.len() < detect::HEAD_BYTES && packet.len() < 2 {
            return Confidence::No;
        }
        at = end;
    }
    match (n_known, is_damaged) {
        (0, _) => Confidence::No,
        (_, true) => Confidence::Likely,
        (_, false) => Confidence::Certain,
    }
}

/// Whether a packet has a field that says that it is one; `None` if it is no message, or another one.
fn looks_known(packet: &[u8], is_whole: bool) -> Option<bool> {
    let mut is_known = false;
    let mut fields = Fields::new(packet);
    while let Some((field, value)) = fields.next_keyed() {
        match (field >> 3, value) {
            // The number and the name of a plane, or a pair of numbers.
            (1, Value::Number(_)) => return None,
            // Registers, memory and time of a kernel, in TensorFlow's kernel statistics.
            (2 | 4 | 7, Value::Number(_)) => return None,
            (2, Value::Bytes(name)) if name.starts_with(b"/") || name.starts_with(b"Task Environment") => {
                return None;
            }
            (8 | 10 | 41, Value::Number(_)) if field & 7 == 0 => is_known = true,
            (11 | 12 | 36 | 43 | 44 | 50 | 58..=60 | 6 | 33 | 133, Value::Bytes(_)) => is_known = true,
            _ => {}
        }
    }
    if fields.is_broken && is_whole {
        return None;
    }
    if is_known {
        return Some(true);
    }
    // The packet is cut, and its first field with it.
    let mut at = 0;
    let field = varint(packet, &mut at).filter(|_| !is_whole)?;
    Some(matches!(field >> 3, 11 | 12 | 36 | 43 | 44 | 50 | 59 | 60 | 6 | 33 | 133) && field & 7 == 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::protobuf::PushFields;

    /// Their packed grid size is in the field of clock snapshots, and their shortest time in that of times.
    #[test]
    fn kernel_statistics_are_no_packets() {
        let mut report = Vec::new();
        report.message(1, |report| {
            report.bytes(1, b"volta_sgemm");
            report.bytes(6, &[10, 1, 1]);
            report.number(7, 1_000);
            report.number(8, 100);
        });
        assert_eq!(sniff(&report), Confidence::No);
    }

    #[test]
    fn damage_behind_a_known_packet_is_no_sign_against_it() {
        let mut known = Vec::new();
        known.message(1, |packet| packet.number(10, 1));
        let with = |rest: &[u8]| sniff(&[known.as_slice(), rest].concat());
        assert_eq!(with(b""), Confidence::Certain);
        // Wire type 3, and a length that is cut.
        assert_eq!([with(b"\x0b\x03\xff\xff"), with(b"\x0a\x05\x08\x01")], [Confidence::Likely; 2]);
        assert_eq!(sniff(b"\x0b\x03\xff\xff"), Confidence::No);
        assert_eq!(sniff(b"\x0a\x02\x08\x01\x0b\x03"), Confidence::No);
    }
}
