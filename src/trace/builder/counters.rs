//! Counter events: every member of the arguments is a point of its own series.

use super::issues::{COUNTER_VALUE, COUNTER_WITHOUT_ARGS};
use super::members::{as_string, for_each_member};
use super::pairing::Walk;
use crate::base::hash::HashMap;
use crate::base::json::{Number, unescape};
use crate::base::strings::StringId;
use crate::trace::event_table::EventRow;
use crate::trace::events::EventKey;
use crate::trace::tracks::ProcessId;

#[derive(Default)]
pub(super) struct Counters {
    /// Series by process, name, id, key.
    series: HashMap<(ProcessId, StringId, StringId, StringId), u32>,
    /// By series: its last point.
    last: Vec<u32>,
    key: String,
}

impl Counters {
    pub fn event(&mut self, walk: &mut Walk<'_>, i: u32) {
        let EventRow { ts, name, .. } = walk.event(i);
        let args = walk.place(i).args();
        let process = walk.process_of(i);
        let id = match walk.events.id_of(i).key {
            EventKey::Text(text) | EventKey::Digits(text) => text,
            EventKey::Int(number) => walk.trace().strings.intern(&number.to_string()),
            _ => StringId::NONE,
        };
        let trace = &mut walk.builder.trace;
        let Some(raw) = trace.args.kept(args) else {
            return walk.drop_event(i, &COUNTER_WITHOUT_ARGS);
        };
        let (mut n_used, mut n_bad) = (0, 0);
        let first = trace.counters.len();
        for_each_member(&raw, |key, value| {
            let Some(value) = counter_value(value) else {
                n_bad += 1;
                return;
            };
            n_used += 1;
            let key = if key.escaped {
                self.key.clear();
                unescape(key, &mut self.key);
                trace.strings.intern(&self.key)
            } else {
                trace.strings.intern_bytes(key.bytes)
            };
            let series = *self.series.entry((process, name, id, key)).or_insert_with(|| {
                let table = &mut trace.counter_series;
                table.process.push(process);
                table.name.push(name);
                table.id.push(id);
                table.key.push(key);
                self.last.push(u32::MAX);
                table.name.len() as u32 - 1
            });
            // Of members with one name, the last one counts.
            let last = &mut self.last[series as usize];
            if *last != u32::MAX && *last as usize >= first {
                trace.counters.value[*last as usize] = value;
                return;
            }
            *last = trace.counters.len() as u32;
            trace.counters.ts.push(ts);
            trace.counters.series.push(series);
            trace.counters.value.push(value);
        });
        drop(raw);
        for _ in 0..n_bad {
            walk.note(i, &COUNTER_VALUE);
        }
        if n_bad > 0 && n_used == 0 {
            walk.uncount(i);
        }
    }
}

/// Finite number, or text with one in C notation.
fn counter_value(raw: &[u8]) -> Option<f64> {
    let value = match as_string(raw) {
        Some(text) => parse_c_double(text.bytes)?,
        None => Number::as_f64(raw)?,
    };
    value.is_finite().then_some(value)
}

/// Parses the whole text like `strtod`: leading white space, sign, decimal or hexadecimal with exponent.
fn parse_c_double(bytes: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(bytes).ok()?.trim_start_matches([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']);
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let value = match body.strip_prefix("0x").or_else(|| body.strip_prefix("0X")) {
        Some(hex) => parse_hex_double(hex)?,
        None => {
            // Rust's grammar equals C's once words and a second sign are excluded.
            let starts_well = body.starts_with(|c: char| c.is_ascii_digit() || c == '.');
            if !starts_well {
                return None;
            }
            body.parse::<f64>().ok()?
        }
    };
    Some(if negative { -value } else { value })
}

fn parse_hex_double(hex: &str) -> Option<f64> {
    let (mantissa, exponent) = match hex.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (hex, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0f64;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let shift = exponent.saturating_sub(i32::try_from(fraction.len()).ok()?.saturating_mul(4));
    Some(value * 2f64.powi(shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_doubles() {
        for (text, value) in [
            (".75", 0.75),
            ("+10.5", 10.5),
            ("246.", 246.0),
            ("0x10", 16.0),
            (" 7", 7.0),
            ("-1e3", -1000.0),
            ("0x1.8p1", 3.0),
        ] {
            assert_eq!(parse_c_double(text.as_bytes()), Some(value), "{text}");
        }
        for bad in ["", " 7 ", "zz", "inf", "nan", "1e", "0x", "+-1", "1 2"] {
            assert_eq!(parse_c_double(bad.as_bytes()), None, "{bad}");
        }
    }
}
