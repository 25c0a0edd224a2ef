//! Arguments as debug annotations.

use super::sequence::Sequence;
use crate::base::json::{Dialect, Number, Parser, RawStr, Token, unescape_to_string};
use crate::base::protobuf::PushFields;
use crate::trace::builder::{for_each_element, for_each_member};

/// Levels of nested values; deeper ones are written as text.
const MAX_DEPTH: u32 = 64;

/// Fields of a `DebugAnnotation`.
pub mod field {
    pub const NAME_IID: u64 = 1;
    pub const BOOL: u64 = 2;
    pub const UINT: u64 = 3;
    pub const INT: u64 = 4;
    pub const DOUBLE: u64 = 5;
    pub const TEXT: u64 = 6;
    pub const NESTED: u64 = 8;
    pub const NAME: u64 = 10;
    pub const DICT_ENTRY: u64 = 11;
    pub const LIST_VALUE: u64 = 12;
}

/// Kinds of an empty `NestedValue`, the only form that empty values have.
const EMPTY_DICT: u64 = 1;
const EMPTY_LIST: u64 = 2;

/// Interns the names of all members of an object.
pub fn intern_names(raw: &[u8], sequence: &mut Sequence) {
    for_each_member(raw, |key, _| {
        sequence.argument_name(&text(key));
    });
}

/// Appends the members of a raw object to an event, as annotations in `field`.
pub fn push_members(raw: &[u8], field: u64, sequence: &Sequence, out: &mut Vec<u8>) {
    for_each_member(raw, |key, value| {
        out.message(field, |out| {
            let name = text(key);
            match sequence.known_argument_name(&name) {
                Some(iid) => out.number(field::NAME_IID, iid),
                None => out.bytes(field::NAME, name.as_bytes()),
            }
            push_value(value, MAX_DEPTH, out);
        });
    });
}

fn text(raw: RawStr<'_>) -> String {
    unescape_to_string(raw)
}

fn push_value(raw: &[u8], depth: u32, out: &mut Vec<u8>) {
    match raw.first() {
        Some(b'{') if depth > 0 => {
            let mut is_empty = true;
            for_each_member(raw, |key, value| {
                is_empty = false;
                out.message(field::DICT_ENTRY, |out| {
                    out.bytes(field::NAME, text(key).as_bytes());
                    push_value(value, depth - 1, out);
                });
            });
            if is_empty {
                out.message(field::NESTED, |out| out.number(1, EMPTY_DICT));
            }
        }
        Some(b'[') if depth > 0 => {
            let mut is_empty = true;
            for_each_element(raw, |value| {
                is_empty = false;
                out.message(field::LIST_VALUE, |out| push_value(value, depth - 1, out));
            });
            if is_empty {
                out.message(field::NESTED, |out| out.number(1, EMPTY_LIST));
            }
        }
        Some(b't') => out.number(field::BOOL, 1),
        Some(b'f') => out.number(field::BOOL, 0),
        // There is no value for it.
        Some(b'n') => {}
        Some(b'"') => match Parser::new(raw, Dialect::Lenient).token() {
            Ok(Token::String(raw)) => out.bytes(field::TEXT, text(raw).as_bytes()),
            _ => out.bytes(field::TEXT, raw),
        },
        _ => push_number(raw, out),
    }
}

/// Whole numbers of 64 bits keep their digits; others are doubles, or texts where a double is not enough.
fn push_number(raw: &[u8], out: &mut Vec<u8>) {
    let is_whole = raw.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') && raw != b"-0";
    if let Some(number) = Number::as_i64(raw).filter(|_| is_whole) {
        return out.number(field::INT, number as u64);
    }
    if let Some(number) = Number::as_u64(raw).filter(|_| is_whole) {
        return out.number(field::UINT, number);
    }
    match Number::as_f64(raw).filter(|number| number.is_finite() && !is_whole) {
        Some(number) => out.fixed(field::DOUBLE, number.to_bits()),
        None => out.bytes(field::TEXT, raw),
    }
}
