//! Splits an XSpace that comes in chunks into pieces: where planes and lines begin and end, and their other fields whole.
//!
//! ```text
//! XSpace ├ plane ├ name
//!        │       ├ line ├ name
//!        │       │      └ event …
//!        │       └ metadata …
//!        └ error …
//! ```
//! Planes and lines are as large as the file, so they are never kept as a whole.

use crate::base::protobuf::{Fields, Value, varint};
use crate::import::kineto::Place;

/// Larger fields are passed over.
const MAX_FIELD_BYTES: u64 = 64 << 20;

const PLANES: u64 = 1;
const LINES: u64 = 3;

/// Which message a field is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    Space,
    Plane,
    Line,
}

/// A piece of the file.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    Begin(Level),
    End(Level),
    /// A field by its number, other than a plane of the file and a line of a plane.
    Field(Level, u64, Value<'a>),
    /// A field of this number that is too large.
    TooLarge(u64),
    /// A line that is passed over, with [`Framing::without_lines`].
    Passed,
    /// The rest of a message, which has something else than fields.
    Damaged(Level),
}

#[derive(Default)]
pub struct Framing {
    /// Offset of the next byte that belongs to no piece so far.
    position: u64,
    /// Ends of the open plane and line.
    plane_end: Option<u64>,
    line_end: Option<u64>,
    rest: Vec<u8>,
    /// Bytes that the next piece needs.
    wanted: usize,
    /// Bytes to pass over.
    n_to_pass: u64,
    /// Bytes that were passed over: damaged or too large.
    n_passed: u64,
    /// Nothing can be read from here on.
    is_lost: bool,
    passes_lines: bool,
}

/// Start of a field.
enum Head {
    /// Its key, the bytes of the key and length, and all of its bytes.
    Field {
        key: u64,
        n_head: usize,
        len: u64,
    },
    Cut,
    Broken,
}

fn head(bytes: &[u8]) -> Head {
    let mut at = 0;
    let next = |at: &mut usize| {
        let start = *at;
        // A varint has up to ten bytes.
        varint(bytes, at).ok_or(if *at - start < 10 { Head::Cut } else { Head::Broken })
    };
    let key = match next(&mut at) {
        Ok(key) => key,
        Err(head) => return head,
    };
    if key >> 3 == 0 {
        return Head::Broken;
    }
    let len = match key & 7 {
        1 => 8,
        5 => 4,
        0 | 2 => match next(&mut at) {
            Ok(len) => {
                if key & 7 == 2 {
                    len
                } else {
                    0
                }
            }
            Err(head) => return head,
        },
        _ => return Head::Broken,
    };
    Head::Field { key, n_head: at, len: (at as u64).saturating_add(len) }
}

impl Framing {
    /// Passes over lines.
    pub fn without_lines() -> Framing {
        Framing { passes_lines: true, ..Framing::default() }
    }

    /// Bytes of the next chunks, at most `n`, that don't have to be fed.
    pub fn pass(&mut self, n: u64) -> u64 {
        let n = self.n_to_pass.min(n);
        self.n_to_pass -= n;
        self.n_passed += n;
        self.position = self.position.saturating_add(n);
        n
    }

    /// Takes the next chunk, and calls `each` for every piece that ends in it.
    pub fn feed(&mut self, mut bytes: &[u8], each: &mut impl FnMut(Piece<'_>, Place)) {
        let n_passed = self.pass(bytes.len() as u64);
        bytes = &bytes[n_passed as usize..];
        if self.rest.is_empty() {
            let n_used = self.split(bytes, each);
            self.rest.extend_from_slice(&bytes[n_used..]);
            return;
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.len() < self.wanted {
            return;
        }
        let mut rest = std::mem::take(&mut self.rest);
        let n_used = self.split(&rest, each);
        rest.drain(..n_used);
        self.rest = rest;
    }

    fn level(&self) -> Level {
        match (self.plane_end, self.line_end) {
            (None, _) => Level::Space,
            (_, None) => Level::Plane,
            _ => Level::Line,
        }
    }

    /// Closes messages that end here.
    fn close(&mut self, each: &mut impl FnMut(Piece<'_>, Place)) {
        let place = Place { offset: self.position, len: 0 };
        if self.line_end.is_some_and(|end| end <= self.position) {
            self.line_end = None;
            each(Piece::End(Level::Line), place);
        }
        if self.line_end.is_none() && self.plane_end.is_some_and(|end| end <= self.position) {
            self.plane_end = None;
            each(Piece::End(Level::Plane), place);
        }
    }

    /// Returns how many bytes are done with.
    fn split(&mut self, bytes: &[u8], each: &mut impl FnMut(Piece<'_>, Place)) -> usize {
        let mut at = 0;
        self.wanted = 0;
        loop {
            at += self.pass((bytes.len() - at) as u64) as usize;
            if self.n_to_pass > 0 {
                return at;
            }
            self.close(each);
            if at == bytes.len() {
                return at;
            }
            let left = &bytes[at..];
            let end = self.line_end.or(self.plane_end);
            let n_inside = end.map_or(u64::MAX, |end| end.saturating_sub(self.position));
            let inside = &left[..usize::try_from(n_inside).map_or(left.len(), |n| n.min(left.len()))];
            let place = |len: u64| Place { offset: self.position, len };
            let (key, n_head, len) = match head(inside) {
                Head::Field { key, n_head, len } if len <= n_inside => (key, n_head, len),
                Head::Cut if (inside.len() as u64) < n_inside => {
                    self.wanted = left.len() + 1;
                    return at;
                }
                // Not a field, or one that is longer than its message.
                _ => {
                    let level = self.level();
                    each(Piece::Damaged(level), place(0));
                    self.is_lost = level == Level::Space;
                    self.n_to_pass = n_inside;
                    continue;
                }
            };
            let (level, number) = (self.level(), key >> 3);
            let used = match (level, key & 7, number) {
                (Level::Space, 2, PLANES) => {
                    each(Piece::Begin(Level::Plane), place(n_head as u64));
                    self.plane_end = Some(self.position.saturating_add(len));
                    n_head
                }
                (Level::Plane, 2, LINES) if self.passes_lines => {
                    each(Piece::Passed, place(0));
                    self.n_to_pass = len;
                    continue;
                }
                (Level::Plane, 2, LINES) => {
                    each(Piece::Begin(Level::Line), place(n_head as u64));
                    self.line_end = Some(self.position.saturating_add(len));
                    n_head
                }
                _ if len > MAX_FIELD_BYTES => {
                    each(Piece::TooLarge(number), place(0));
                    self.n_to_pass = len;
                    continue;
                }
                _ => {
                    let Some(field) = inside.get(..len as usize) else {
                        self.wanted = len as usize;
                        return at;
                    };
                    if let Some((_, value)) = Fields::new(field).next() {
                        each(Piece::Field(level, number, value), place(len));
                    }
                    len as usize
                }
            };
            at += used;
            self.position = self.position.saturating_add(used as u64);
        }
    }

    /// Ends the content: closes what is open. Returns whether it was cut off, and how many bytes belong to no piece.
    pub fn finish(&mut self, each: &mut impl FnMut(Piece<'_>, Place)) -> (bool, u64) {
        let is_cut = !self.rest.is_empty() || self.plane_end.is_some() || self.n_to_pass > 0 && !self.is_lost;
        let n_left = self.n_passed + self.rest.len() as u64;
        self.rest = Vec::new();
        self.n_to_pass = 0;
        self.line_end = self.line_end.map(|_| 0);
        self.plane_end = self.plane_end.map(|_| 0);
        self.close(each);
        (is_cut, n_left)
    }

    /// Offset of the next byte that belongs to no piece so far.
    pub fn position(&self) -> u64 {
        self.position
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::protobuf::PushFields;

    fn split(bytes: &[u8], size: usize, mut framing: Framing) -> String {
        use std::fmt::Write;
        let mut told = String::new();
        let mut each = |piece: Piece<'_>, place: Place| {
            let _ = write!(told, "{piece:?} {}+{}; ", place.offset, place.len);
        };
        bytes.chunks(size).for_each(|chunk| framing.feed(chunk, &mut each));
        let cut = framing.finish(&mut each);
        let _ = write!(told, "{cut:?}");
        told
    }

    fn space() -> Vec<u8> {
        let mut space = Vec::new();
        space.message(1, |plane| {
            plane.number(1, 7);
            plane.bytes(2, b"/host:CPU");
            plane.message(3, |line| {
                line.number(3, 300);
                line.message(4, |event| event.number(1, 2));
                line.message(4, |_| {});
            });
            plane.message(3, |_| {});
            plane.bytes(6, b"\x08\x01");
        });
        space.bytes(2, b"error");
        space.message(1, |_| {});
        space
    }

    #[test]
    fn pieces_do_not_depend_on_chunks() {
        let whole = space();
        let mut odd: Vec<Vec<u8>> = (0..whole.len()).map(|cut| whole[..cut].to_vec()).collect();
        // Each byte as one that no field has, and as a length that is too large.
        for at in 0..whole.len() {
            for value in [0, 0x07, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                odd.push(changed);
            }
        }
        odd.push(whole);
        for bytes in odd {
            for lines in [true, false] {
                let of = |size| {
                    let framing = if lines { Framing::default() } else { Framing::without_lines() };
                    split(&bytes, size, framing)
                };
                let told = of(usize::MAX);
                for size in [1, 2, 3, 7] {
                    assert_eq!(of(size), told, "{bytes:?} by {size}");
                }
            }
        }
    }

    #[test]
    fn bytes_of_pieces_add_up() {
        let bytes = space();
        let mut n_bytes = 0;
        let mut framing = Framing::default();
        framing.feed(&bytes, &mut |_, place| n_bytes += place.len);
        assert_eq!(framing.finish(&mut |_, place| n_bytes += place.len), (false, 0));
        assert_eq!(n_bytes, bytes.len() as u64);
    }
}
