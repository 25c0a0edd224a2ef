//! Splits a trace that comes in chunks into its packets.

use crate::base::protobuf::varint;

/// Largest packet that is read. Writers flush far smaller ones.
pub const MAX_PACKET_BYTES: usize = 64 << 20;
/// Longest tag and length in front of a packet.
const MAX_HEAD_BYTES: usize = 20;
/// Tag of a packet: field 1, length-delimited.
const PACKET: u64 = 1 << 3 | 2;
/// Field of a packet by which readers find their way after damage.
pub const MARKER: [u8; 16] = *b"\x82\x47\x7a\x76\xb2\x8d\x42\xba\x81\xdc\x33\x32\x6d\x57\xa0\x79";
/// Bytes of a packet in front of its marker that are searched for its start.
const MAX_BEFORE_MARKER: usize = 64;

/// Part of a trace.
#[derive(PartialEq, Eq, Debug)]
pub enum Piece<'a> {
    Packet(&'a [u8]),
    /// Another field of the trace.
    Other,
    /// A packet above [`MAX_PACKET_BYTES`].
    TooLarge,
    /// Bytes that are no field.
    Corrupt,
}

/// Splits bytes into pieces. Their lengths add up to all bytes but those cut off at the end.
#[derive(Default)]
pub struct Framing {
    rest: Vec<u8>,
    /// Bytes needed before `rest` is looked at again.
    wanted: usize,
    /// Bytes to pass over: of something too large to keep.
    n_passed: u64,
    /// After damage, until the next marker.
    is_lost: bool,
}

/// Outcome of looking at the start of some bytes.
enum Step<'a> {
    Piece(Piece<'a>, usize),
    /// This many bytes are needed.
    Wanted(usize),
    /// The next bytes of a piece that is not kept: as many of these.
    Pass(Piece<'a>, u64),
    Lost,
}

impl Framing {
    /// Takes the next chunk; calls `each` for every piece that ends in it, with its bytes in the trace. A piece passed over is
    /// reported at its start, with all of its bytes.
    pub fn feed(&mut self, mut bytes: &[u8], each: &mut impl FnMut(Piece<'_>, u64)) {
        if self.n_passed > 0 {
            let n = self.n_passed.min(bytes.len() as u64);
            self.n_passed -= n;
            bytes = &bytes[n as usize..];
        }
        if self.rest.is_empty() {
            let n_used = self.split(bytes, each);
            self.rest.extend_from_slice(&bytes[n_used.min(bytes.len())..]);
            return;
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.len() < self.wanted {
            return;
        }
        let mut rest = std::mem::take(&mut self.rest);
        let n_used = self.split(&rest, each);
        rest.drain(..n_used.min(rest.len()));
        self.rest = rest;
    }

    fn split(&mut self, bytes: &[u8], each: &mut impl FnMut(Piece<'_>, u64)) -> usize {
        let mut at = 0;
        self.wanted = 0;
        while at < bytes.len() {
            if self.is_lost {
                let (n_corrupt, is_found) = find_packet(&bytes[at..]);
                if n_corrupt > 0 {
                    each(Piece::Corrupt, n_corrupt as u64);
                }
                at += n_corrupt;
                if !is_found {
                    self.wanted = bytes.len() - at + 1;
                    break;
                }
                self.is_lost = false;
                continue;
            }
            match step(&bytes[at..]) {
                Step::Piece(piece, len) => {
                    each(piece, len as u64);
                    at += len;
                }
                Step::Wanted(wanted) => {
                    self.wanted = wanted;
                    break;
                }
                Step::Pass(piece, len) => {
                    each(piece, len);
                    let here = len.min((bytes.len() - at) as u64);
                    self.n_passed = len - here;
                    at += here as usize;
                }
                Step::Lost => self.is_lost = true,
            }
        }
        at
    }

    /// Ends the trace: bytes of what was cut off, and whether they are corrupt instead.
    pub fn finish(&self) -> (u64, bool) {
        (self.rest.len() as u64, self.is_lost)
    }

    /// Bytes of the last piece that never came, if it was passed over.
    pub fn n_missing(&self) -> u64 {
        self.n_passed
    }
}

fn step(bytes: &[u8]) -> Step<'_> {
    let mut at = 0;
    // A varint has up to ten bytes.
    let is_cut = |at: usize| at == bytes.len() && at < MAX_HEAD_BYTES;
    let Some(tag) = varint(bytes, &mut at) else {
        return if is_cut(at) { Step::Wanted(bytes.len() + 1) } else { Step::Lost };
    };
    if tag >> 3 == 0 {
        return Step::Lost;
    }
    let fixed = match tag & 7 {
        0 => {
            return match varint(bytes, &mut at) {
                Some(_) => Step::Piece(Piece::Other, at),
                None if is_cut(at) => Step::Wanted(bytes.len() + 1),
                None => Step::Lost,
            };
        }
        1 => 8,
        2 => match varint(bytes, &mut at) {
            Some(len) => len,
            None if is_cut(at) => return Step::Wanted(bytes.len() + 1),
            None => return Step::Lost,
        },
        5 => 4,
        _ => return Step::Lost,
    };
    let is_packet = tag == PACKET;
    if fixed > MAX_PACKET_BYTES as u64 {
        let piece = if is_packet { Piece::TooLarge } else { Piece::Other };
        return Step::Pass(piece, (at as u64).saturating_add(fixed));
    }
    let end = at + fixed as usize;
    match bytes.get(at..end) {
        Some(packet) if is_packet => Step::Piece(Piece::Packet(packet), end),
        Some(_) => Step::Piece(Piece::Other, end),
        None => Step::Wanted(end),
    }
}

/// Bytes before the next packet with a marker, and whether there is one; else bytes that cannot belong to one.
fn find_packet(bytes: &[u8]) -> (usize, bool) {
    let mut from = 0;
    while let Some(found) = memchr::memmem::find(&bytes[from..], &MARKER) {
        let marker = from + found;
        let first = marker.saturating_sub(MAX_BEFORE_MARKER);
        let around = |start: usize| {
            let mut at = start + 1;
            let len = varint(bytes, &mut at).and_then(|len| usize::try_from(len).ok());
            // The marker is a field of its own.
            bytes[start] == 0x0a
                && at < marker
                && len.is_some_and(|len| len < 1 << 16 && at.saturating_add(len) >= marker + MARKER.len())
                && leads_to(&bytes[at..], marker - at)
        };
        if let Some(start) = (first..marker).find(|start| around(*start)) {
            return (start, true);
        }
        from = marker + MARKER.len();
    }
    (bytes.len().saturating_sub(MAX_BEFORE_MARKER + MARKER.len()).max(from), false)
}

/// Whether fields of a packet end exactly where a marker of 16 bytes starts, `at` bytes into it.
fn leads_to(packet: &[u8], at: usize) -> bool {
    let mut position = 0;
    while position < at {
        let Some(key) = varint(packet, &mut position) else { return false };
        match key & 7 {
            0 => {
                if varint(packet, &mut position).is_none() {
                    return false;
                }
            }
            1 => position += 8,
            5 => position += 4,
            2 => {
                let Some(len) = varint(packet, &mut position) else { return false };
                if position == at {
                    return key >> 3 == 36 && len == MARKER.len() as u64;
                }
                position = position.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
            }
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kind and length of each piece, with `size` bytes at a time.
    fn split(bytes: &[u8], size: usize) -> (Vec<(String, u64)>, (u64, bool)) {
        let (mut framing, mut found): (_, Vec<(String, u64)>) = (Framing::default(), Vec::new());
        for chunk in bytes.chunks(size) {
            framing.feed(chunk, &mut |piece, len| {
                let text = match piece {
                    Piece::Packet(packet) => format!("packet {packet:?}"),
                    other => format!("{other:?}"),
                };
                match found.last_mut().filter(|last| last.0 == "Corrupt" && text == "Corrupt") {
                    Some(last) => last.1 += len,
                    None => found.push((text, len)),
                }
            });
        }
        let (n_rest, is_corrupt) = framing.finish();
        if is_corrupt && n_rest > 0 {
            match found.last_mut().filter(|last| last.0 == "Corrupt") {
                Some(last) => last.1 += n_rest,
                None => found.push(("Corrupt".into(), n_rest)),
            }
            return (found, (0, true));
        }
        (found, (n_rest, is_corrupt))
    }

    #[test]
    fn pieces_do_not_depend_on_chunks() {
        let marked = [&b"\x0a\x15\x18\x05\xa2\x02\x10"[..], &MARKER].concat();
        let damaged = [&b"\x0a\x02ab\x0b\xff\x82\x47 noise"[..], &marked, b"\x0a\x01c"].concat();
        let large = [&b"\x0a\x80\x80\x80\x40"[..], &[7; 100]].concat();
        for bytes in [
            &b"\x0a\x03abc\x0a\x00\x12\x01x\x18\x07\x21\0\0\0\0\0\0\0\0\x0a\x05ab"[..],
            &damaged,
            &damaged[..30],
            &large,
            b"\x0a",
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            let whole = split(bytes, bytes.len());
            for size in 1..bytes.len() {
                assert_eq!(split(bytes, size), whole, "{bytes:?} by {size}");
            }
        }
        let (found, _) = split(&damaged, 1000);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!((found[1].0.as_str(), found[1].1), ("Corrupt", 10));
    }
}
