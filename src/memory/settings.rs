//! JSON lists of objects supplied by the user: phases, rules, address ranges.
//!
//! Read by our own parser: people write them by hand, so trailing commas are accepted, times may have fractions, and each problem
//! names the member.

use crate::base::json::{Dialect, Number, Parser, RawStr, Token, unescape_to_string};
use crate::base::text;

/// Problem with a list: lower case, no final period.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem(pub String);

impl Problem {
    pub fn new(what: impl Into<String>) -> Problem {
        Problem(what.into())
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Members of one object, values unparsed.
pub struct Object<'a> {
    members: Vec<(RawStr<'a>, &'a [u8])>,
}

impl<'a> Object<'a> {
    /// Value of the last member of that name; `None` if missing or null.
    fn get(&self, name: &str) -> Option<&'a [u8]> {
        let found = self.members.iter().rev().find(|(key, _)| unescape_to_string(*key) == name);
        found.map(|(_, value)| *value).filter(|value| *value != b"null")
    }

    /// A string member, if present.
    pub fn text(&self, name: &str) -> Result<Option<String>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match Parser::new(value, Dialect::Lenient).token() {
            Ok(Token::String(text)) => Ok(Some(unescape_to_string(text))),
            _ => Err(Problem::new(format!("{name} is not a string"))),
        }
    }

    /// An unparsed member, if present.
    pub fn json(&self, name: &str) -> Option<&'a str> {
        self.get(name).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// An integer member, if present.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        Number::as_i64(value).map(Some).ok_or_else(|| Problem::new(format!("{name} is not an integer")))
    }

    /// A timestamp in nanoseconds, if present. Fractions are rounded up, so that no earlier whole timestamp is included.
    pub fn time(&self, name: &str) -> Result<Option<i64>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let no_number = || Problem::new(format!("{name} is not a number"));
        if let Some(ns) = Number::as_i64(value) {
            return Ok(Some(ns));
        }
        let text = std::str::from_utf8(value).ok().filter(|_| Number::parse(value).is_some());
        let ns: f64 = text.and_then(|text| text.parse().ok()).ok_or_else(no_number)?;
        // The cast saturates for timestamps out of range.
        Ok(Some(ns.ceil() as i64))
    }

    /// An address, if present: a number, or a string such as `"0x7f3a40e79300"`.
    pub fn address(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let printed = || {
            let text = self.text(name).ok()??;
            match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
                // `from_str_radix` would accept a sign.
                Some(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                    u64::from_str_radix(digits, 16).ok()
                }
                Some(_) => None,
                None => Number::as_u64(text.as_bytes()),
            }
        };
        let no_address = || {
            let shown = text::example(value, text::IN_A_SENTENCE);
            Problem::new(format!(r#"{name} is not an address: {shown}; use 4096 or "0x1000""#))
        };
        Number::as_u64(value).or_else(printed).map(Some).ok_or_else(no_address)
    }
}

/// Parses one object; `None` for anything else, such as a list.
pub fn one_object(json: &str) -> Option<Object<'_>> {
    let mut parser = Parser::new(json.as_bytes(), Dialect::Lenient);
    (parser.token() == Ok(Token::Object)).then(|| read_object(&mut parser))?
}

/// Parses the members of an opened object; `None` if malformed.
fn read_object<'a>(parser: &mut Parser<'a>) -> Option<Object<'a>> {
    let mut object = Object { members: Vec::new() };
    let mut first = true;
    while let Some(key) = parser.next_key(&mut first).ok()? {
        object.members.push((key, parser.skip_value().ok()?));
    }
    Some(object)
}

/// Calls `each` for the objects of a list.
pub fn for_each_object(
    json: &str,
    mut each: impl FnMut(&Object<'_>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let no_list = || Problem::new("expected a list of JSON objects");
    let mut parser = Parser::new(json.as_bytes(), Dialect::Lenient);
    if parser.token() != Ok(Token::Array) {
        return Err(no_list());
    }
    let mut first = true;
    while parser.next_element(&mut first).map_err(|_| no_list())? {
        if parser.token() != Ok(Token::Object) {
            return Err(no_list());
        }
        each(&read_object(&mut parser).ok_or_else(no_list)?)?;
    }
    Ok(())
}
