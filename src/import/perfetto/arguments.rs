//! Debug annotations of an event as one JSON object.

use super::sequence::{MISSING, Sequence};
use crate::base::hash::HashMap;
use crate::base::json::write::{push_continued, push_f64, push_string};
use crate::base::protobuf::{Fields, Value, key};
use crate::base::strings::StringTable;
use std::borrow::Cow;
use std::io::Write;

/// Levels of nested values that are read.
const MAX_DEPTH: u32 = 64;
/// Repeated names that are joined in one object; further ones are written as they are.
const MAX_CONTINUED: u32 = 256;
/// Members up to which names are compared one by one.
const FEW_MEMBERS: usize = 16;

/// What was found while writing arguments.
#[derive(Default)]
pub struct Found {
    pub n_missing: u64,
    pub is_too_deep: bool,
    /// A value of a form that only its writer knows.
    pub has_unknown: bool,
}

/// Writes arguments with the texts of a sequence.
pub struct Arguments<'a> {
    pub sequence: &'a Sequence,
    pub strings: &'a StringTable,
    pub found: Found,
}

/// Members of an object under construction.
struct Members {
    /// Where each value is: from, to.
    values: Vec<(String, usize, usize)>,
    by_name: HashMap<String, usize>,
}

impl<'a> Arguments<'a> {
    /// Appends the object of these annotations.
    pub fn push_object<'b>(&mut self, annotations: impl Iterator<Item = &'b [u8]>, out: &mut Vec<u8>) {
        self.push_members(annotations, MAX_DEPTH, out);
    }

    fn push_members<'b>(
        &mut self,
        annotations: impl Iterator<Item = &'b [u8]>,
        depth: u32,
        out: &mut Vec<u8>,
    ) {
        let mut n_continued = 0;
        let mut members = Members { values: Vec::new(), by_name: HashMap::default() };
        out.push(b'{');
        for annotation in annotations {
            let from = out.len();
            let name = self.name_of(annotation).into_owned();
            if members.values.is_empty() {
                push_string(&name, out);
            } else {
                out.push(b',');
                push_string(&name, out);
            }
            out.push(b':');
            let value = out.len();
            self.push_value(annotation, depth, out);
            let found = members.find(&name).filter(|_| n_continued < MAX_CONTINUED);
            let Some(before) = found else {
                members.add(name, value, out.len());
                continue;
            };
            n_continued += 1;
            // A name that was there: its value is continued, and what is behind it moves.
            let (_, old_from, old_to) = members.values[before];
            let mut joined = Vec::new();
            push_continued(&out[old_from..old_to], &out[value..], &mut joined);
            out.truncate(from);
            let change = joined.len() as isize - (old_to - old_from) as isize;
            out.splice(old_from..old_to, joined);
            members.values[before].2 = old_to.saturating_add_signed(change);
            for (_, from, to) in &mut members.values[before + 1..] {
                *from = from.saturating_add_signed(change);
                *to = to.saturating_add_signed(change);
            }
        }
        out.push(b'}');
    }

    fn name_of<'b>(&mut self, annotation: &'b [u8]) -> Cow<'b, str>
    where
        'a: 'b,
    {
        let (mut iid, mut text) = (None, None);
        let mut fields = Fields::new(annotation);
        while let Some((field, value)) = fields.next_keyed() {
            match value {
                Value::Number(number) if field == key::varint(1) => iid = Some(number),
                Value::Bytes(bytes) if field == key::bytes(10) => text = Some(bytes),
                _ => {}
            }
        }
        match (text, iid) {
            (Some(text), _) => String::from_utf8_lossy(text),
            (None, Some(iid)) => match self.sequence.argument_names.get(iid) {
                Some(name) => Cow::Borrowed(self.strings.get(*name)),
                None => {
                    self.found.n_missing += 1;
                    Cow::Borrowed(MISSING)
                }
            },
            (None, None) => Cow::Borrowed(""),
        }
    }

    fn push_value(&mut self, annotation: &[u8], depth: u32, out: &mut Vec<u8>) {
        let Some(depth) = depth.checked_sub(1) else {
            self.found.is_too_deep = true;
            return out.extend_from_slice(b"null");
        };
        // Of several values, the last one counts.
        let mut last = None;
        let mut fields = Fields::new(annotation);
        while let Some((field, value)) = fields.next_keyed() {
            let is_value = matches!(field >> 3, 2..=9 | 11 | 12 | 17);
            if is_value {
                last = Some((field, value));
            } else {
                self.found.has_unknown |= !matches!(field >> 3, 1 | 10);
            }
        }
        let Some((field, value)) = last else { return out.extend_from_slice(b"null") };
        match (field, value) {
            (key, Value::Number(number)) if key == key::varint(2) => push_bool(number != 0, out),
            (key, Value::Number(number)) if key == key::varint(3) => push_display(number, out),
            (key, Value::Number(number)) if key == key::varint(4) => push_display(number as i64, out),
            (key, Value::Number(bits)) if key == key::fixed64(5) => push_double(f64::from_bits(bits), out),
            (key, Value::Bytes(text)) if key == key::bytes(6) || key == key::bytes(9) => push_text(text, out),
            (key, Value::Number(iid)) if key == key::varint(17) => match self.sequence.texts.get(iid) {
                Some(text) => push_text(text, out),
                None => {
                    self.found.n_missing += 1;
                    push_text(MISSING.as_bytes(), out);
                }
            },
            (key, Value::Number(address)) if key == key::varint(7) => {
                let _ = write!(out, "\"0x{address:x}\"");
            }
            (key, Value::Bytes(nested)) if key == key::bytes(8) => self.push_nested(nested, depth, out),
            (key, Value::Bytes(_)) if key == key::bytes(11) => {
                self.push_members(repeated(annotation, 11), depth, out);
            }
            (key, Value::Bytes(_)) if key == key::bytes(12) => {
                self.push_list(repeated(annotation, 12), out, |own, value, out| {
                    own.push_value(value, depth, out);
                });
            }
            _ => out.extend_from_slice(b"null"),
        }
    }

    fn push_list<'b>(
        &mut self,
        values: impl Iterator<Item = &'b [u8]>,
        out: &mut Vec<u8>,
        mut push: impl FnMut(&mut Self, &'b [u8], &mut Vec<u8>),
    ) {
        out.push(b'[');
        for (i, value) in values.enumerate() {
            if i > 0 {
                out.push(b',');
            }
            push(self, value, out);
        }
        out.push(b']');
    }

    /// Appends a `NestedValue` of older writers.
    fn push_nested(&mut self, nested: &[u8], depth: u32, out: &mut Vec<u8>) {
        let Some(depth) = depth.checked_sub(1) else {
            self.found.is_too_deep = true;
            return out.extend_from_slice(b"null");
        };
        let mut last = None;
        let mut kind = 0;
        let mut fields = Fields::new(nested);
        while let Some((field, value)) = fields.next_keyed() {
            match (field, value) {
                (key, Value::Number(number)) if key == key::varint(1) => kind = number,
                (key, value) if matches!(key >> 3, 5..=8) => last = Some((key, value)),
                _ => {}
            }
        }
        match kind {
            1 => {
                let mut values = repeated(nested, 3);
                out.push(b'{');
                for (i, name) in repeated(nested, 2).enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    push_text(name, out);
                    out.push(b':');
                    match values.next() {
                        Some(value) => self.push_nested(value, depth, out),
                        None => out.extend_from_slice(b"null"),
                    }
                }
                out.push(b'}');
            }
            2 => {
                self.push_list(repeated(nested, 4), out, |own, value, out| own.push_nested(value, depth, out))
            }
            _ => match last {
                Some((key, Value::Number(number))) if key == key::varint(5) => {
                    push_display(number as i64, out);
                }
                Some((key, Value::Number(bits))) if key == key::fixed64(6) => {
                    push_double(f64::from_bits(bits), out);
                }
                Some((key, Value::Number(number))) if key == key::varint(7) => push_bool(number != 0, out),
                Some((key, Value::Bytes(text))) if key == key::bytes(8) => push_text(text, out),
                _ => out.extend_from_slice(b"null"),
            },
        }
    }
}

impl Members {
    fn find(&self, name: &str) -> Option<usize> {
        if self.values.len() <= FEW_MEMBERS {
            return self.values.iter().position(|(own, ..)| own == name);
        }
        self.by_name.get(name).copied()
    }

    fn add(&mut self, name: String, from: usize, to: usize) {
        if self.values.len() == FEW_MEMBERS {
            let names = self.values.iter().enumerate();
            self.by_name = names.map(|(at, (name, ..))| (name.clone(), at)).collect();
        }
        if self.values.len() >= FEW_MEMBERS {
            self.by_name.insert(name.clone(), self.values.len());
        }
        self.values.push((name, from, to));
    }
}

/// Messages in a repeated field.
fn repeated(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    let is_wanted = move |(field, value): (u64, Value<'_>)| field == number && value.bytes().is_some();
    Fields::new(message).filter(move |field| is_wanted(*field)).filter_map(|(_, value)| value.bytes())
}

fn push_text(text: &[u8], out: &mut Vec<u8>) {
    push_string(&String::from_utf8_lossy(text), out);
}

fn push_bool(value: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

fn push_display(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    let _ = write!(out, "{value}");
}

fn push_double(value: f64, out: &mut Vec<u8>) {
    match value {
        _ if value.is_finite() => push_f64(value, out),
        _ if value.is_nan() => out.extend_from_slice(b"\"nan\""),
        _ if value > 0.0 => out.extend_from_slice(b"\"inf\""),
        _ => out.extend_from_slice(b"\"-inf\""),
    }
}
