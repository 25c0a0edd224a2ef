//! Stats of events, planes and metadata.

use crate::base::protobuf::{Fields, Value};
use crate::base::units::counted;
use crate::import::kineto::Args;

/// Value of a stat.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Stat<'a> {
    Float(f64),
    Unsigned(u64),
    Signed(i64),
    /// Text, which may be no UTF-8.
    Text(&'a [u8]),
    /// This many bytes, which are not read.
    Bytes(usize),
    /// Id of the metadata of a stat, whose name is the text.
    Ref(u64),
    None,
}

/// Id of the metadata of a stat, and its value: the last one of several. False if the message is damaged.
pub fn parse(message: &[u8]) -> (u64, Stat<'_>, bool) {
    let (mut id, mut stat) = (0, Stat::None);
    let mut fields = Fields::new(message);
    for (number, value) in fields.by_ref() {
        match (number, value) {
            (1, Value::Number(value)) => id = value,
            (2, Value::Number(bits)) => stat = Stat::Float(f64::from_bits(bits)),
            (3, Value::Number(value)) => stat = Stat::Unsigned(value),
            (4, Value::Number(value)) => stat = Stat::Signed(value as i64),
            (5, Value::Bytes(text)) => stat = Stat::Text(text),
            (6, Value::Bytes(bytes)) => stat = Stat::Bytes(bytes.len()),
            (7, Value::Number(value)) => stat = Stat::Ref(value),
            _ => {}
        }
    }
    (id, stat, !fields.is_broken)
}

impl Stat<'_> {
    /// A number that is not negative.
    pub fn number(self) -> Option<u64> {
        match self {
            Stat::Unsigned(value) => Some(value),
            Stat::Signed(value) => u64::try_from(value).ok(),
            _ => None,
        }
    }

    /// A number above 0.
    pub fn positive(self) -> Option<u64> {
        self.number().filter(|value| *value > 0)
    }

    /// As a text for people.
    pub fn shown(self) -> String {
        match self {
            Stat::Float(value) => value.to_string(),
            Stat::Unsigned(value) | Stat::Ref(value) => value.to_string(),
            Stat::Signed(value) => value.to_string(),
            Stat::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Stat::Bytes(n) => counted(n as u64, "byte", "bytes"),
            Stat::None => String::new(),
        }
    }

    /// Adds it to arguments.
    pub fn put(self, name: &str, args: &mut Args) {
        match self {
            Stat::Float(value) => args.float(name, value),
            Stat::Unsigned(value) | Stat::Ref(value) => args.unsigned(name, value),
            Stat::Signed(value) => args.int(name, Some(value)),
            Stat::Text(_) | Stat::Bytes(_) => args.text(name, self.shown().as_bytes()),
            Stat::None => args.null(name),
        }
    }
}

/// Value of `name` in `regs:32 grid:1,2,3 block:4,1,1`.
pub fn detail<'a>(details: &'a str, name: &str) -> Option<&'a str> {
    details.split_ascii_whitespace().find_map(|part| part.strip_prefix(name)?.strip_prefix(':'))
}

/// `1,2,3`.
pub fn triple(text: &str) -> Option<[u64; 3]> {
    let mut numbers = text.split(',').map(|number| number.trim().parse().ok());
    let triple = [numbers.next()??, numbers.next()??, numbers.next()??];
    numbers.next().is_none().then_some(triple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_stat_counts() {
        assert_eq!(parse(b"\x08\x03\x18\x05\x38\x06"), (3, Stat::Ref(6), true));
        assert_eq!(
            parse(b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
            (0, Stat::Unsigned(u64::MAX), true)
        );
        assert_eq!(parse(b"\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), (0, Stat::Signed(-1), true));
        assert_eq!(parse(b"\x11\0\0\0\0\0\0\xf8\x3f"), (0, Stat::Float(1.5), true));
        assert_eq!(parse(b"\x08\x03\x2a\x05ab"), (3, Stat::None, false));
    }

    #[test]
    fn details_of_kernels_and_copies() {
        let text = "regs:32 static_shared:0 dynamic_shared:8 grid:1280,1,1 block:256,1,1 occ_pct:0";
        assert_eq!(detail(text, "grid").and_then(triple), Some([1280, 1, 1]));
        assert_eq!(detail(text, "regs"), Some("32"));
        assert_eq!((detail(text, "size"), triple("1,2"), triple("1,2,3,4")), (None, None, None));
    }
}
