//! Counter events: every member of the arguments is a point of its own series.

use super::TraceBuilder;
use super::issues::{COUNTER_VALUE, COUNTER_WITHOUT_ARGS};
use super::members::{as_string, for_each_member};
use super::pairing::Walk;
use crate::base::hash::HashMap;
use crate::base::json::{Number, unescape};
use crate::base::sort;
use crate::base::strings::{StringId, StringTable};
use crate::trace::Trace;
use crate::trace::counters::CounterSeriesTable;
use crate::trace::event_table::EventRow;
use crate::trace::events::EventKey;
use crate::trace::tracks::{ProcessId, ThreadId};

#[derive(Default)]
pub(super) struct Counters {
    /// Number of each series.
    series: HashMap<SeriesKey, u32>,
    /// By series: its last point.
    last: Vec<u32>,
    key: String,
}

impl Counters {
    pub fn event(&mut self, walk: &mut Walk<'_>, i: u32) {
        let EventRow { ts, name, .. } = walk.event(i);
        let args = walk.place(i).args();
        let process = walk.process_of(i);
        let id = id_text(walk.events.id_of(i).key, &mut walk.builder.trace.strings);
        let Trace { args: all_args, strings, counter_series: table, counters, .. } = &mut walk.builder.trace;
        let Some(raw) = all_args.kept(args) else {
            return walk.drop_event(i, &COUNTER_WITHOUT_ARGS);
        };
        let (mut n_used, mut n_bad) = (0, 0);
        let first = counters.len();
        for_each_value(&raw, strings, &mut self.key, |point| {
            let Some((key, value)) = point else {
                n_bad += 1;
                return;
            };
            n_used += 1;
            let series = *self.series.entry((process, name, id, key)).or_insert_with(|| {
                self.last.push(u32::MAX);
                add_series(table, (process, name, id, key))
            });
            // Of members with one name, the last one counts.
            let last = &mut self.last[series as usize];
            if *last != u32::MAX && *last as usize >= first {
                counters.value[*last as usize] = value;
                return;
            }
            *last = counters.len() as u32;
            counters.ts.push(ts);
            counters.series.push(series);
            counters.value.push(value);
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

/// Process, name, id and key of a series.
type SeriesKey = (ProcessId, StringId, StringId, StringId);

fn add_series(table: &mut CounterSeriesTable, (process, name, id, key): SeriesKey) -> u32 {
    table.process.push(process);
    table.name.push(name);
    table.id.push(id);
    table.key.push(key);
    table.len() as u32 - 1
}

/// Text of the id of a counter; [`StringId::NONE`] if it has none.
fn id_text(id: EventKey, strings: &mut StringTable) -> StringId {
    match id {
        EventKey::Text(text) | EventKey::Digits(text) => text,
        EventKey::Int(number) => strings.intern(&number.to_string()),
        EventKey::None => StringId::NONE,
    }
}

/// Calls `found` with the key and value of each member of the arguments `raw`; with `None` where the value is no finite number.
/// `text` is for keys with escapes.
fn for_each_value(
    raw: &[u8],
    strings: &mut StringTable,
    text: &mut String,
    mut found: impl FnMut(Option<(StringId, f64)>),
) {
    for_each_member(raw, |key, value| {
        let Some(value) = counter_value(value) else { return found(None) };
        let key = if key.escaped {
            text.clear();
            unescape(key, text);
            strings.intern(text)
        } else {
            strings.intern_bytes(key.bytes)
        };
        found(Some((key, value)));
    });
}

/// Last values of counters whose events were dropped because they come before a chosen range.
#[derive(Clone, Default)]
pub(super) struct EarlierCounters {
    /// Time and value by series.
    last: HashMap<SeriesKey, (i64, f64)>,
    text: String,
}

impl EarlierCounters {
    /// Takes the values of an event; `raw` is its arguments. Events of one time come in file order.
    fn add(
        &mut self,
        ts: i64,
        [name, id]: [StringId; 2],
        process: ProcessId,
        raw: &[u8],
        strings: &mut StringTable,
    ) {
        for_each_value(raw, strings, &mut self.text, |point| {
            let Some((key, value)) = point else { return };
            let last = self.last.entry((process, name, id, key)).or_insert((ts, value));
            if ts >= last.0 {
                *last = (ts, value);
            }
        });
    }
}

impl TraceBuilder {
    /// Keeps the values of a counter's event that is dropped, for the start of the chosen range. `raw`: its arguments.
    pub fn hold_counter(&mut self, ts: i64, thread: ThreadId, name: StringId, id: EventKey, raw: &[u8]) {
        if !self.is_before_range(ts) {
            return;
        }
        let Trace { strings, threads, .. } = &mut self.trace;
        let process = threads.process.get(thread.0 as usize).copied().unwrap_or(ProcessId(0));
        let id = id_text(id, strings);
        self.earlier_counters.add(ts, [name, id], process, raw, strings);
    }

    /// Gives the series what was kept by [`TraceBuilder::hold_counter`], unless a point at the start of the range, `from`, sets
    /// another value. Call once, when all points are there.
    pub(super) fn settle_held_counters(&mut self, from: i64) {
        let earlier = std::mem::take(&mut self.earlier_counters.last);
        if earlier.is_empty() {
            return;
        }
        let Trace { counter_series: table, counters, .. } = &mut self.trace;
        let mut numbers: HashMap<SeriesKey, u32> = HashMap::default();
        for i in 0..table.len() {
            numbers.insert((table.process[i], table.name[i], table.id[i], table.key[i]), i as u32);
        }
        let mut earlier: Vec<_> = earlier.into_iter().collect();
        sort::by(&mut earlier, |a, b| a.0.cmp(&b.0));
        for (key, (_, value)) in earlier {
            let series = *numbers.entry(key).or_insert_with(|| add_series(table, key)) as usize;
            if table.held.len() <= series {
                table.held.resize(series + 1, f64::NAN);
            }
            table.held[series] = value;
        }
        let at_start = counters.ts.iter().zip(&counters.series).filter(|(ts, _)| **ts == from);
        for (_, series) in at_start {
            if let Some(held) = table.held.get_mut(*series as usize) {
                *held = f64::NAN;
            }
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
