//! Thrift compact protocol, used for headers and footer.

use super::Error;
use crate::base::protobuf::push_varint;

/// Maximum nesting depth.
const MAX_DEPTH: usize = 24;

/// A value of a message.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'a> {
    Bool(bool),
    Int(i64),
    Double(f64),
    Binary(&'a [u8]),
    List(Vec<Value<'a>>),
    Struct(Fields<'a>),
}

/// Fields of a message by number.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fields<'a>(Vec<(i16, Value<'a>)>);

impl<'a> Fields<'a> {
    pub fn get(&self, id: i16) -> Option<&Value<'a>> {
        self.0.iter().find(|(other, _)| *other == id).map(|(_, value)| value)
    }

    pub fn int(&self, id: i16) -> Option<i64> {
        match self.get(id)? {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    pub fn bool(&self, id: i16) -> Option<bool> {
        match self.get(id)? {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    pub fn text(&self, id: i16) -> Option<String> {
        match self.get(id)? {
            Value::Binary(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    pub fn list(&self, id: i16) -> &[Value<'a>] {
        match self.get(id) {
            Some(Value::List(values)) => values,
            _ => &[],
        }
    }

    pub fn fields(&self, id: i16) -> Option<&Fields<'a>> {
        match self.get(id)? {
            Value::Struct(fields) => Some(fields),
            _ => None,
        }
    }
}

/// Reads a message of at most `max_values` values, since each takes far more memory than bytes in the file. Returns it and the
/// bytes consumed.
pub fn read(bytes: &[u8], max_values: usize) -> Result<(Fields<'_>, usize), Error> {
    let mut reader = Reader { bytes, at: 0, n_values_left: max_values };
    let fields = reader.fields(0)?;
    Ok((fields, reader.at))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    n_values_left: usize,
}

const DAMAGED: Error = Error::Damaged("Thrift message");

impl<'a> Reader<'a> {
    fn u8(&mut self) -> Result<u8, Error> {
        let byte = *self.bytes.get(self.at).ok_or(DAMAGED)?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, n: u64) -> Result<&'a [u8], Error> {
        let n = usize::try_from(n).map_err(|_| DAMAGED)?;
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..n)).ok_or(DAMAGED)?;
        self.at += n;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let (value, n) = varint(self.bytes.get(self.at..).unwrap_or_default()).ok_or(DAMAGED)?;
        self.at += n;
        Ok(value)
    }

    fn fields(&mut self, depth: usize) -> Result<Fields<'a>, Error> {
        let mut fields = Fields::default();
        let mut id = 0i16;
        loop {
            let head = self.u8()?;
            if head == 0 {
                return Ok(fields);
            }
            id = match head >> 4 {
                0 => i16::try_from(zigzag(self.varint()?)).map_err(|_| DAMAGED)?,
                step => id.checked_add(i16::from(step)).ok_or(DAMAGED)?,
            };
            self.n_values_left = self.n_values_left.checked_sub(1).ok_or(DAMAGED)?;
            let value = match head & 15 {
                1 => Value::Bool(true),
                2 => Value::Bool(false),
                kind => self.value(kind, depth)?,
            };
            fields.0.push((id, value));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<Value<'a>, Error> {
        if depth > MAX_DEPTH {
            return Err(DAMAGED);
        }
        Ok(match kind {
            // List elements take one byte each.
            1 | 2 => Value::Bool(self.u8()? == 1),
            3 => Value::Int(i64::from(self.u8()? as i8)),
            4..=6 => Value::Int(zigzag(self.varint()?)),
            7 => {
                let bytes: [u8; 8] = self.take(8)?.try_into().map_err(|_| DAMAGED)?;
                Value::Double(f64::from_le_bytes(bytes))
            }
            8 => {
                let n = self.varint()?;
                Value::Binary(self.take(n)?)
            }
            9 | 10 => {
                let head = self.u8()?;
                let n = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                let mut values = Vec::new();
                for _ in 0..n {
                    self.n_values_left = self.n_values_left.checked_sub(1).ok_or(DAMAGED)?;
                    values.push(self.value(head & 15, depth + 1)?);
                }
                Value::List(values)
            }
            12 => Value::Struct(self.fields(depth + 1)?),
            _ => return Err(DAMAGED),
        })
    }
}

/// LEB128 at the start of `bytes`, and its size.
pub fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for (n, byte) in bytes.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f).checked_shl(7 * n as u32)?;
        if byte & 0x80 == 0 {
            return Some((value, n + 1));
        }
    }
    None
}

pub fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Message writer. Fields must come in ascending order.
#[derive(Default)]
pub struct Message {
    bytes: Vec<u8>,
    last: i16,
}

impl Message {
    fn head(&mut self, id: i16, kind: u8) {
        let step = id - self.last;
        self.last = id;
        if (1..=15).contains(&step) {
            self.bytes.push((step as u8) << 4 | kind);
        } else {
            self.bytes.push(kind);
            push_varint((id as u16 as u64) << 1, &mut self.bytes);
        }
    }

    pub fn bool(mut self, id: i16, value: bool) -> Message {
        self.head(id, if value { 1 } else { 2 });
        self
    }

    pub fn i8(mut self, id: i16, value: i8) -> Message {
        self.head(id, 3);
        self.bytes.push(value as u8);
        self
    }

    pub fn i32(self, id: i16, value: i32) -> Message {
        self.int(id, 5, i64::from(value))
    }

    pub fn i64(self, id: i16, value: i64) -> Message {
        self.int(id, 6, value)
    }

    fn int(mut self, id: i16, kind: u8, value: i64) -> Message {
        self.head(id, kind);
        push_int(value, &mut self.bytes);
        self
    }

    pub fn binary(mut self, id: i16, value: &[u8]) -> Message {
        self.head(id, 8);
        push_binary(value, &mut self.bytes);
        self
    }

    pub fn message(mut self, id: i16, value: Message) -> Message {
        self.head(id, 12);
        self.bytes.extend(value.finish());
        self
    }

    pub fn messages(mut self, id: i16, values: Vec<Message>) -> Message {
        self.head(id, 9);
        push_list_head(values.len(), 12, &mut self.bytes);
        self.bytes.extend(values.into_iter().flat_map(Message::finish));
        self
    }

    pub fn ints(mut self, id: i16, values: &[i32]) -> Message {
        self.head(id, 9);
        push_list_head(values.len(), 5, &mut self.bytes);
        for value in values {
            push_int(i64::from(*value), &mut self.bytes);
        }
        self
    }

    pub fn binaries(mut self, id: i16, values: &[&[u8]]) -> Message {
        self.head(id, 9);
        push_list_head(values.len(), 8, &mut self.bytes);
        for value in values {
            push_binary(value, &mut self.bytes);
        }
        self
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

/// Inverse of [`varint`] and [`zigzag`].
pub fn push_int(value: i64, out: &mut Vec<u8>) {
    push_varint((value << 1 ^ value >> 63) as u64, out);
}

fn push_binary(value: &[u8], out: &mut Vec<u8>) {
    push_varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

fn push_list_head(n: usize, kind: u8, out: &mut Vec<u8>) {
    if n < 15 {
        out.push((n as u8) << 4 | kind);
    } else {
        out.push(0xf0 | kind);
        push_varint(n as u64, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let inner = Message::default().bool(1, true).i8(2, -3).i64(40, i64::MIN);
        let many = (0..20).map(|n| Message::default().i32(1, n)).collect();
        let message = Message::default()
            .i32(1, -7)
            .binary(2, b"abc")
            .message(5, inner)
            .messages(6, many)
            .ints(7, &[1, -2]);
        let bytes = message.finish();
        let (fields, n) = read(&bytes, 100).unwrap();
        assert_eq!(n, bytes.len());
        assert_eq!((fields.int(1), fields.text(2).as_deref()), (Some(-7), Some("abc")));
        let inner = fields.fields(5).unwrap();
        assert_eq!((inner.bool(1), inner.int(2), inner.int(40)), (Some(true), Some(-3), Some(i64::MIN)));
        assert_eq!(fields.list(6).len(), 20);
        assert_eq!(fields.list(7), [Value::Int(1), Value::Int(-2)]);
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut], 100).is_err());
        }
        assert!(read(&bytes, 20).is_err());
    }
}
