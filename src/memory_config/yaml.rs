//! YAML as PyYAML's `safe_load` reads it: the values of YAML 1.1 (`yes` is a boolean, `0x10` a number).

use super::ConfigError;
use crate::base::hash::HashMap;
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

/// Limits on nesting depth and on the number of values, with aliases expanded.
const MAX_DEPTH: usize = 100;
const MAX_VALUES: usize = 20_000;
/// A string counts as one value per this many bytes.
const VALUE_BYTES: usize = 256;

/// A value.
#[derive(Clone, PartialEq, Debug)]
pub enum Yaml {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    /// A date or timestamp, which is not a string.
    Date,
    /// An alias to an enclosing value.
    Loop,
    List(Vec<Yaml>),
    /// Keys as strings; the last of duplicate keys wins.
    Map(Vec<(String, Yaml)>),
}

impl Yaml {
    /// The member of that name.
    pub fn get(&self, key: &str) -> Option<&Yaml> {
        match self {
            Yaml::Map(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Number of values in it, including itself; long strings count as several.
    fn n_values(&self) -> usize {
        let of_text = |text: &str| text.len() / VALUE_BYTES;
        match self {
            Yaml::List(values) => 1 + values.iter().map(Yaml::n_values).sum::<usize>(),
            Yaml::Map(members) => {
                1 + members.iter().map(|(name, value)| of_text(name) + value.n_values()).sum::<usize>()
            }
            Yaml::Text(text) => 1 + of_text(text),
            _ => 1,
        }
    }
}

/// A container that is still open.
enum Open {
    List(Vec<Yaml>),
    /// Members, merged members, and the key of the next value.
    Map(Vec<(String, Yaml)>, Vec<(String, Yaml)>, Option<String>),
}

/// Parses the single document of `text`; an empty one is null.
pub fn read(text: &str) -> Result<Yaml, ConfigError> {
    let mut open: Vec<(Open, usize)> = Vec::new();
    let mut anchors: HashMap<usize, Yaml> = HashMap::default();
    let (mut document, mut n_documents, mut n_values) = (Yaml::Null, 0, 0);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let mark = error.marker();
            ConfigError::Yaml { line: mark.line(), column: mark.col() + 1, what: error.info().to_string() }
        })?;
        let at = |what: &str| ConfigError::Yaml {
            line: span.start.line(),
            column: span.start.col() + 1,
            what: what.to_string(),
        };
        let value = match event {
            Event::DocumentStart(_) => {
                n_documents += 1;
                if n_documents > 1 {
                    return Err(at("more than one document"));
                }
                continue;
            }
            Event::SequenceStart(_, tag) | Event::MappingStart(_, tag) if !is_known(tag.as_deref()) => {
                return Err(at("custom tags are not supported"));
            }
            Event::SequenceStart(anchor, _) => {
                open.push((Open::List(Vec::new()), anchor));
                None
            }
            Event::MappingStart(anchor, _) => {
                open.push((Open::Map(Vec::new(), Vec::new(), None), anchor));
                None
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().map(|(container, anchor)| match container {
                Open::List(values) => (Yaml::List(values), anchor),
                Open::Map(members, merged, _) => (Yaml::Map(with_merged(members, merged)), anchor),
            }),
            Event::Scalar(text, style, anchor, tag) => {
                let is_text =
                    tag.as_ref().is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
                if !is_known(tag.as_deref()) {
                    return Err(at("custom tags are not supported"));
                }
                let is_plain = style == ScalarStyle::Plain && !is_text;
                Some((if is_plain { scalar(&text) } else { Yaml::Text(text.into_owned()) }, anchor))
            }
            Event::Alias(anchor) => {
                // The aliased value is still open, so it encloses this one.
                let value = anchors.get(&anchor).cloned().unwrap_or(Yaml::Loop);
                n_values += value.n_values();
                Some((value, 0))
            }
            _ => continue,
        };
        n_values += 1;
        if open.len() > MAX_DEPTH || n_values > MAX_VALUES {
            return Err(at("nested too deeply, or too large"));
        }
        let Some((value, anchor)) = value else { continue };
        if anchor > 0 {
            n_values += value.n_values();
            anchors.insert(anchor, value.clone());
        }
        match open.last_mut() {
            None => document = value,
            Some((Open::List(values), _)) => values.push(value),
            Some((Open::Map(members, merged, key), _)) => match key.take() {
                None => *key = Some(key_text(value).ok_or_else(|| at("a key is not a string"))?),
                Some(name) if name == "<<" => {
                    merge(value, merged).ok_or_else(|| at("a merged value is not a map"))?
                }
                Some(name) => put(name, value, members),
            },
        }
    }
    Ok(document)
}

/// Whether the tag is absent or allowed: tags that Python turns into plain values.
fn is_known(tag: Option<&Tag>) -> bool {
    const KNOWN: [&str; 12] =
        ["null", "bool", "int", "float", "binary", "timestamp", "omap", "pairs", "set", "str", "seq", "map"];
    tag.is_none_or(|tag| tag.is_yaml_core_schema() && KNOWN.contains(&tag.suffix.as_str()))
}

/// Finds the first illegal character: line, column, and the problem. The reference accepts only UTF-8 without control characters.
pub fn first_unreadable(bytes: &[u8]) -> Option<(usize, usize, &'static str)> {
    let (text, is_cut) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(), true),
    };
    let is_control = |c: char| {
        c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}') || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    let (at, what) = match text.find(is_control) {
        Some(at) => (at, "control characters are not allowed"),
        None if is_cut => (text.len(), "not valid UTF-8"),
        None => return None,
    };
    let before = &text[..at];
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    Some((line, column, what))
}

fn put(name: String, value: Yaml, members: &mut Vec<(String, Yaml)>) {
    match members.iter_mut().find(|(other, _)| *other == name) {
        Some((_, old)) => *old = value,
        None => members.push((name, value)),
    }
}

/// Adds the members of a map, or of each map in a list; earlier ones win.
fn merge(value: Yaml, merged: &mut Vec<(String, Yaml)>) -> Option<()> {
    match value {
        Yaml::Map(members) => {
            for (name, value) in members {
                if !merged.iter().any(|(other, _)| *other == name) {
                    merged.push((name, value));
                }
            }
        }
        Yaml::List(values) => {
            for value in values {
                if !matches!(value, Yaml::Map(_)) {
                    return None;
                }
                merge(value, merged)?;
            }
        }
        _ => return None,
    }
    Some(())
}

fn with_merged(mut members: Vec<(String, Yaml)>, merged: Vec<(String, Yaml)>) -> Vec<(String, Yaml)> {
    for (name, value) in merged {
        if !members.iter().any(|(other, _)| *other == name) {
            members.push((name, value));
        }
    }
    members
}

fn key_text(value: Yaml) -> Option<String> {
    match value {
        Yaml::Text(text) => Some(text),
        Yaml::Int(value) => Some(value.to_string()),
        Yaml::Bool(value) => Some(value.to_string()),
        Yaml::Float(value) => Some(value.to_string()),
        Yaml::Null => Some(String::new()),
        _ => None,
    }
}

/// Value of an unquoted scalar (YAML 1.1, types `null`, `bool`, `int`, `float`, `timestamp`; numbers with colons are base 60).
fn scalar(text: &str) -> Yaml {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Yaml::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Yaml::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => return Yaml::Bool(false),
        "=" => return Yaml::Text(text.to_string()),
        _ => {}
    }
    if let Some(value) = int(text) {
        return Yaml::Int(value);
    }
    if let Some(value) = float(text) {
        return Yaml::Float(value);
    }
    if is_date(text) { Yaml::Date } else { Yaml::Text(text.to_string()) }
}

fn int(text: &str) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x', _, ..] => (16, &digits[2..]),
        [b'0', b'b', _, ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        [b'0'..=b'9', ..] => (10, digits),
        _ => return None,
    };
    let digits = digits.replace('_', "");
    if digits.starts_with(['+', '-']) {
        return None;
    }
    if radix == 10
        && let Some((first, rest)) = digits.split_once(':')
    {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let mut value: i128 = first.parse().ok().filter(|_| is_number(first))?;
        for part in rest.split(':') {
            let part: i128 =
                part.parse().ok().filter(|value| *value < 60 && is_number(part) && part.len() <= 2)?;
            value = value.checked_mul(60)?.checked_add(part)?;
        }
        return Some(if negative { -value } else { value });
    }
    let value = i128::from_str_radix(&digits, radix).ok()?;
    Some(if negative { -value } else { value })
}

fn float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if unsigned.len() == text.len() => return Some(f64::NAN),
        _ => {}
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        // An exponent needs a sign.
        Some((mantissa, exponent)) => {
            (mantissa, exponent.strip_prefix(['+', '-']).filter(|digits| !digits.is_empty())?)
        }
        None => (unsigned, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.')?;
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let starts_well = match (whole.as_bytes().first(), fraction.as_bytes().first()) {
        (Some(first), _) => first.is_ascii_digit(),
        (None, Some(first)) => first.is_ascii_digit(),
        (None, None) => false,
    };
    let is_float = starts_well
        && is_digits(whole)
        && is_digits(fraction)
        && exponent.bytes().all(|byte| byte.is_ascii_digit());
    if !is_float {
        return None;
    }
    text.replace('_', "").parse().ok()
}

/// `2026-01-02`, optionally followed by a time.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (Some(year), Some(month), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_number = |text: &str, lengths: std::ops::RangeInclusive<usize>| {
        lengths.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let n_day = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (day, time) = rest.split_at(n_day);
    if !is_number(year, 4..=4) || !is_number(month, 1..=2) || !is_number(day, 1..=2) {
        return false;
    }
    if time.is_empty() {
        return month.len() == 2 && day.len() == 2;
    }
    let clock = time.trim_start_matches(['T', 't', ' ', '\t']);
    clock.len() < time.len()
        && clock.split(':').count() >= 3
        && clock.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn references_to_long_texts_are_bounded() {
        let text = |n: usize| format!("a: &a {}\nb: [{}]", "x".repeat(100_000), vec!["*a"; n].join(", "));
        assert!(read(&text(3)).is_ok());
        assert!(read(&text(5_000)).is_err());
    }

    #[test]
    fn plain_texts() {
        for (text, value) in [
            ("12", Yaml::Int(12)),
            ("-0x1F", Yaml::Int(-31)),
            ("010", Yaml::Int(8)),
            ("1_000", Yaml::Int(1000)),
            ("0", Yaml::Int(0)),
            ("1.5", Yaml::Float(1.5)),
            ("1e5", Yaml::Text("1e5".into())),
            ("1.0e+5", Yaml::Float(1e5)),
            (".5", Yaml::Float(0.5)),
            ("5.", Yaml::Float(5.0)),
            ("Yes", Yaml::Bool(true)),
            ("off", Yaml::Bool(false)),
            ("y", Yaml::Text("y".into())),
            ("~", Yaml::Null),
            ("2026-01-02", Yaml::Date),
            ("2026-1-2", Yaml::Text("2026-1-2".into())),
            ("2026-01-02 03:04:05", Yaml::Date),
            ("09", Yaml::Text("09".into())),
            ("1:30", Yaml::Int(90)),
            ("-1:0:5", Yaml::Int(-3605)),
            ("1:60", Yaml::Text("1:60".into())),
            ("1:", Yaml::Text("1:".into())),
            ("0:30", Yaml::Text("0:30".into())),
            ("-.inf", Yaml::Float(f64::NEG_INFINITY)),
            ("0x", Yaml::Text("0x".into())),
            ("-", Yaml::Text("-".into())),
            (".", Yaml::Text(".".into())),
        ] {
            assert_eq!(scalar(text), value, "{text}");
        }
    }

    #[test]
    fn references_and_merging() {
        let yaml = read("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\nc: [*x, 'yes', !!str 5]\n").unwrap();
        let map = |members: &[(&str, i128)]| {
            Yaml::Map(members.iter().map(|(name, value)| (name.to_string(), Yaml::Int(*value))).collect())
        };
        assert_eq!(yaml.get("b"), Some(&map(&[("q", 3), ("p", 1)])));
        let c = vec![map(&[("p", 1), ("q", 2)]), Yaml::Text("yes".into()), Yaml::Text("5".into())];
        assert_eq!(yaml.get("c"), Some(&Yaml::List(c)));
        // Each line references the previous one twice.
        let mut bomb = "a0: &a0 [x]\n".to_string();
        for n in 1..40 {
            bomb += &format!("a{n}: &a{n} [*a{}, *a{}]\n", n - 1, n - 1);
        }
        assert!(read(&bomb).is_err());
        assert!(read(&"[".repeat(5000)).is_err());
        assert!(read("a: 1\n---\nb: 2\n").is_err());
        assert!(read("a: !python/object:os.system x\n").is_err());
        for tag in ["!!python/object/apply:os.system", "!mine", "!!nothing"] {
            assert!(read(&format!("a: {tag} x\n")).is_err() && read(&format!("a: {tag} [x]\n")).is_err());
        }
        assert!(read("a: !!set {x, y}\nb: !!seq [z]\n").is_ok());
        assert_eq!(read("a: &a [*a]\n").unwrap().get("a"), Some(&Yaml::List(vec![Yaml::Loop])));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[-a-c0-9:?,{}\\[\\]&*!|>'\"%#~<. \t\n]{0,80}", other: String) {
            let _ = read(&text);
            let _ = read(&other);
        }
    }
}
