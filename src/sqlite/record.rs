//! Records: the values of a row.

/// Reads a big-endian varint of at most nine bytes (a ninth byte has eight bits); moves `at` behind it.
#[inline]
pub fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    // Nearly all are short.
    match bytes.get(*at) {
        Some(byte) if *byte < 0x80 => {
            *at += 1;
            Some(u64::from(*byte))
        }
        _ => long_varint(bytes, at),
    }
}

fn long_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for i in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if i == 8 {
            return Some(value << 8 | u64::from(byte));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            break;
        }
    }
    Some(value)
}

/// A value of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    Null,
    Int(i64),
    Real(f64),
    /// In the encoding of the database.
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

impl Value<'_> {
    /// The integer; `None` for all other types.
    pub fn as_int(self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(value),
            _ => None,
        }
    }
}

/// Places of the values of one record; reused for many.
#[derive(Default, Debug)]
pub struct Record {
    /// Serial type and offset of each value.
    values: Vec<(u32, u32)>,
}

/// Serial types and lengths of the values of a record, up to the first damaged one: `Err` for that.
struct Header<'a> {
    header: &'a [u8],
    at: usize,
}

impl<'a> Header<'a> {
    fn of(payload: &'a [u8]) -> Option<Header<'a>> {
        let mut at = 0;
        let n_header = usize::try_from(varint(payload, &mut at)?).ok().filter(|n| *n > 0)?;
        Some(Header { header: payload.get(..n_header)?, at })
    }
}

impl Iterator for Header<'_> {
    type Item = Result<(u32, usize), ()>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.header.len() {
            return None;
        }
        let serial = varint(self.header, &mut self.at).and_then(|serial| u32::try_from(serial).ok());
        Some(serial.and_then(|serial| Some((serial, length(serial)?))).ok_or(()))
    }
}

impl Record {
    /// Reads the header of a record. Returns false if it is damaged, or a value ends after the end of the record.
    pub fn parse(&mut self, payload: &[u8]) -> bool {
        self.values.clear();
        let Some(header) = Header::of(payload) else { return false };
        let mut end = header.header.len();
        for value in header {
            let Ok((serial, n_bytes)) = value else { return false };
            self.values.push((serial, end as u32));
            end += n_bytes;
            if end > payload.len() {
                return false;
            }
        }
        true
    }

    /// Value in a column of the record in `payload`, for which [`Record::parse`] returned true. `None` in rows that are older
    /// than the column.
    pub fn get<'a>(&self, payload: &'a [u8], column: usize) -> Option<Value<'a>> {
        let (serial, at) = self.values.get(column)?;
        Some(value(payload, *serial, *at as usize))
    }

    /// The integer in a column; `None` for all other types, and in rows that are older than the column.
    pub fn int(&self, payload: &[u8], column: usize) -> Option<i64> {
        let (serial, at) = self.values.get(column)?;
        match (serial, payload.get(*at as usize..)?.first_chunk()) {
            (0, _) => None,
            (8 | 9, _) => Some(i64::from(*serial) - 8),
            // Sign extension: the first byte counts with its sign.
            (1..=4, Some(word)) => Some(i64::from_be_bytes(*word) >> (64 - 8 * serial)),
            _ => value(payload, *serial, *at as usize).as_int(),
        }
    }
}

/// Value in one column of a record: cheaper than [`Record::parse`] if no other is needed. Null in damaged records.
pub fn value_at(payload: &[u8], column: usize) -> Option<Value<'_>> {
    let Some(mut header) = Header::of(payload) else { return Some(Value::Null) };
    let mut at = header.header.len();
    for _ in 0..column {
        let Ok((_, n_bytes)) = header.next()? else { return Some(Value::Null) };
        at = at.saturating_add(n_bytes);
    }
    Some(header.next()?.map_or(Value::Null, |(serial, _)| value(payload, serial, at)))
}

/// The value of a serial type at an offset.
fn value(payload: &[u8], serial: u32, at: usize) -> Value<'_> {
    let n_bytes = length(serial).unwrap_or(0);
    let Some(bytes) = payload.get(at..at.saturating_add(n_bytes)) else { return Value::Null };
    match serial {
        1..=6 => {
            // Sign extension: the first byte counts with its sign.
            if let Some(word) = payload[at..].first_chunk() {
                return Value::Int(i64::from_be_bytes(*word) >> (64 - 8 * n_bytes));
            }
            let first = bytes.first().map_or(0, |first| i64::from(first.cast_signed()));
            Value::Int(bytes[1..].iter().fold(first, |value, byte| value << 8 | i64::from(*byte)))
        }
        7 => Value::Real(bytes.first_chunk().map_or(0.0, |bytes| f64::from_be_bytes(*bytes))),
        8 => Value::Int(0),
        9 => Value::Int(1),
        12.. if serial.is_multiple_of(2) => Value::Blob(bytes),
        12.. => Value::Text(bytes),
        _ => Value::Null,
    }
}

/// Bytes of a value; `None` for reserved types.
#[inline]
fn length(serial: u32) -> Option<usize> {
    Some(match serial {
        0 | 8 | 9 => 0,
        1..=4 => serial as usize,
        5 => 6,
        6 | 7 => 8,
        10 | 11 => return None,
        _ => (serial as usize - 12) / 2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_have_up_to_nine_bytes() {
        let read = |bytes: &[u8]| varint(bytes, &mut 0);
        assert_eq!(
            (read(&[0x7f]), read(&[0x81, 0]), read(&[0x81]), read(&[])),
            (Some(127), Some(128), None, None)
        );
        assert_eq!(read(&[0xff; 9]), Some(u64::MAX));
        assert_eq!(read(&[0xff; 8]), None);
    }

    #[test]
    fn values_have_their_types() {
        let mut record = Record::default();
        let payload = [
            10, 0, 1, 3, 6, 7, 8, 9, 17, 14, 0xff, 0xff, 0xfe, 0xfd, 0x7f, 0, 0, 0, 0, 0, 0, 1, 0x3f, 0xf8,
            0, 0, 0, 0, 0, 0, b'h', b'i', 5,
        ];
        assert!(record.parse(&payload));
        assert!((0..11).all(|column| value_at(&payload, column) == record.get(&payload, column)));
        let int = |column| record.get(&payload, column).and_then(Value::as_int);
        assert!((0..11).all(|column| record.int(&payload, column) == int(column)));
        let values: Vec<Value<'_>> = (0..10).filter_map(|column| record.get(&payload, column)).collect();
        assert_eq!(
            values,
            [
                Value::Null,
                Value::Int(-1),
                Value::Int(-259),
                Value::Int(0x7f00_0000_0000_0001),
                Value::Real(1.5),
                Value::Int(0),
                Value::Int(1),
                Value::Text(b"hi"),
                Value::Blob(&[5]),
            ]
        );
        assert!(
            !record.parse(&payload[..payload.len() - 1]) && !record.parse(&[2, 10]) && !record.parse(&[])
        );
        assert!(!record.parse(&[9, 1]) && !record.parse(&[0]));
    }
}
