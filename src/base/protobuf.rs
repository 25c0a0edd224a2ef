//! Protocol buffer messages: fields of a message in memory, and of one that comes in chunks; and messages written front to back.

/// Value of a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// Varint, or a fixed number of 32 or 64 bits.
    Number(u64),
    /// Text, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
}

/// Reads a varint; `None` if it is cut off or too long.
pub fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        // The tenth byte has one bit of use.
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Appends a varint.
pub fn push_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends fields to a message.
pub trait PushFields {
    fn varint(&mut self, value: u64);
    fn number(&mut self, field: u64, value: u64);
    fn fixed(&mut self, field: u64, value: u64);
    fn bytes(&mut self, field: u64, value: &[u8]);
    /// Appends a message that `write` writes.
    fn message(&mut self, field: u64, write: impl FnOnce(&mut Vec<u8>));
}

impl PushFields for Vec<u8> {
    fn varint(&mut self, value: u64) {
        push_varint(value, self);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(key::varint(field));
        self.varint(value);
    }

    fn fixed(&mut self, field: u64, value: u64) {
        self.varint(key::fixed64(field));
        self.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(key::bytes(field));
        self.varint(value.len() as u64);
        self.extend_from_slice(value);
    }

    fn message(&mut self, field: u64, write: impl FnOnce(&mut Vec<u8>)) {
        self.varint(key::bytes(field));
        // One byte for the length, which is enough for nearly all; more are inserted.
        let at = self.len();
        self.push(0);
        write(self);
        let len = self.len() - at - 1;
        if len < 0x80 {
            self[at] = len as u8;
            return;
        }
        let mut length = Vec::with_capacity(5);
        length.varint(len as u64);
        self.splice(at..=at, length);
    }
}

/// Why the next field is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stop {
    /// The bytes end inside it; this many are needed in all, as far as known.
    Cut(usize),
    Broken,
}

/// The field at the start of `bytes`: its number, its value, and its length.
fn field(bytes: &[u8]) -> Result<(u64, Value<'_>, usize), Stop> {
    keyed_field(bytes).map(|(key, value, len)| (key >> 3, value, len))
}

/// Like [`field`], with its key: its number and, in the lowest three bits, its wire type.
fn keyed_field(bytes: &[u8]) -> Result<(u64, Value<'_>, usize), Stop> {
    let mut at = 0;
    let varint = |at: &mut usize| match varint(bytes, at) {
        Some(value) => Ok(value),
        None if bytes.len() - *at < 10 && *at == bytes.len() => Err(Stop::Cut(bytes.len() + 1)),
        None => Err(Stop::Broken),
    };
    let key = varint(&mut at)?;
    let number = key >> 3;
    if number == 0 {
        return Err(Stop::Broken);
    }
    let take = |at: usize, len: u64| -> Result<&[u8], Stop> {
        let end = usize::try_from(len).ok().and_then(|len| at.checked_add(len)).ok_or(Stop::Broken)?;
        bytes.get(at..end).ok_or(Stop::Cut(end))
    };
    let value = match key & 7 {
        0 => Value::Number(varint(&mut at)?),
        1 => {
            let bytes = take(at, 8)?;
            at += 8;
            Value::Number(bytes.try_into().map_or(0, u64::from_le_bytes))
        }
        2 => {
            let len = varint(&mut at)?;
            let bytes = take(at, len)?;
            at += bytes.len();
            Value::Bytes(bytes)
        }
        5 => {
            let bytes = take(at, 4)?;
            at += 4;
            Value::Number(bytes.try_into().map_or(0, |bytes| u64::from(u32::from_le_bytes(bytes))))
        }
        _ => return Err(Stop::Broken),
    };
    Ok((key, value, at))
}

/// Fields of a message; ends early if it is damaged.
#[derive(Clone)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    /// The message ends inside a field, or has something else than fields.
    pub is_broken: bool,
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Fields<'a> {
        Fields { bytes, is_broken: false }
    }

    /// Next field by its key, for formats in which a field of another wire type is another field: see [`key`].
    pub fn next_keyed(&mut self) -> Option<(u64, Value<'a>)> {
        if self.bytes.is_empty() || self.is_broken {
            return None;
        }
        match keyed_field(self.bytes) {
            Ok((key, value, len)) => {
                self.bytes = &self.bytes[len..];
                Some((key, value))
            }
            Err(_) => {
                self.is_broken = true;
                None
            }
        }
    }
}

/// Keys of fields: number and wire type.
pub mod key {
    pub const fn varint(number: u64) -> u64 {
        number << 3
    }

    pub const fn fixed64(number: u64) -> u64 {
        number << 3 | 1
    }

    /// Text, bytes, a message, or packed numbers.
    pub const fn bytes(number: u64) -> u64 {
        number << 3 | 2
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Value<'a>);

    fn next(&mut self) -> Option<(u64, Value<'a>)> {
        self.next_keyed().map(|(key, value)| (key >> 3, value))
    }
}

impl<'a> Value<'a> {
    /// Calls `each` for the number, or for each of packed numbers.
    pub fn numbers(self, mut each: impl FnMut(u64)) {
        match self {
            Value::Number(number) => each(number),
            Value::Bytes(bytes) => {
                let mut at = 0;
                while let Some(number) = varint(bytes, &mut at) {
                    each(number);
                }
            }
        }
    }

    pub fn number(self) -> Option<u64> {
        match self {
            Value::Number(number) => Some(number),
            Value::Bytes(_) => None,
        }
    }

    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Value::Bytes(bytes) => Some(bytes),
            Value::Number(_) => None,
        }
    }
}

/// How a message ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    Whole,
    /// Inside a field, this many bytes before the end.
    Cut(u64),
    /// This many bytes before the end is no field.
    Broken(u64),
}

/// Splits a message that comes in chunks into its fields.
#[derive(Default)]
pub struct FieldSplitter {
    rest: Vec<u8>,
    /// Bytes that the next field needs.
    wanted: usize,
    /// Bytes from what is no field on.
    n_broken: Option<u64>,
}

impl FieldSplitter {
    /// Takes the next chunk and calls `each` for each field that ends in it.
    pub fn feed(&mut self, bytes: &[u8], mut each: impl FnMut(u64, Value<'_>)) {
        if let Some(n_broken) = &mut self.n_broken {
            *n_broken += bytes.len() as u64;
            return;
        }
        if self.rest.is_empty() {
            let n_used = self.split(bytes, &mut each);
            self.rest.extend_from_slice(&bytes[n_used..]);
        } else {
            self.rest.extend_from_slice(bytes);
            if self.rest.len() < self.wanted {
                return;
            }
            let rest = std::mem::take(&mut self.rest);
            let n_used = self.split(&rest, &mut each);
            self.rest = rest;
            self.rest.drain(..n_used);
        }
        if let Some(n_broken) = &mut self.n_broken {
            *n_broken = self.rest.len() as u64;
            self.rest = Vec::new();
        }
    }

    fn split(&mut self, bytes: &[u8], each: &mut impl FnMut(u64, Value<'_>)) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            match field(&bytes[at..]) {
                Ok((number, value, len)) => {
                    each(number, value);
                    at += len;
                }
                Err(Stop::Cut(wanted)) => {
                    self.wanted = wanted;
                    break;
                }
                Err(Stop::Broken) => {
                    self.n_broken = Some(0);
                    break;
                }
            }
        }
        at
    }

    pub fn finish(&mut self) -> Ending {
        match self.n_broken {
            Some(n) => Ending::Broken(n),
            None if self.rest.is_empty() => Ending::Whole,
            None => Ending::Cut(self.rest.len() as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_split_however_the_message_is_cut() {
        let message = b"\x08\x96\x01\x12\x03abc\x1d\x01\0\0\0\x21\x02\0\0\0\0\0\0\0\x2a\x03\x01\x96\x01";
        for size in 1..message.len() + 1 {
            let (mut splitter, mut found) = (FieldSplitter::default(), Vec::new());
            for chunk in message.chunks(size) {
                splitter.feed(chunk, |number, value| {
                    let mut numbers = Vec::new();
                    value.numbers(|number| numbers.push(number));
                    found.push((number, numbers));
                });
            }
            assert_eq!(splitter.finish(), Ending::Whole);
            let bytes = vec![97, 98, 99];
            assert_eq!(found, [(1, vec![150]), (2, bytes), (3, vec![1]), (4, vec![2]), (5, vec![1, 150])]);
        }
    }

    #[test]
    fn damage_is_told() {
        for (message, wanted) in [
            (&b"\x08\x01\x12\x09abc"[..], Ending::Cut(5)),
            (b"\x08\x01\x96", Ending::Cut(1)),
            (b"\x08\x01\x0b\x00", Ending::Broken(2)),
            (b"\x08\x01\x00", Ending::Broken(1)),
            (b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", Ending::Broken(13)),
        ] {
            for size in [1, 2, 100] {
                let mut splitter = FieldSplitter::default();
                message.chunks(size).for_each(|chunk| splitter.feed(chunk, |_, _| {}));
                assert_eq!(splitter.finish(), wanted, "{message:?}");
            }
        }
    }
}
