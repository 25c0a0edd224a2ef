//! Walking the raw JSON of arguments.

use crate::base::json::{Dialect, Parser, RawStr, Token};

/// Calls `each` with key and raw value of every member of a raw object, up to the first error.
pub fn for_each_member<'a>(raw: &'a [u8], mut each: impl FnMut(RawStr<'a>, &'a [u8])) {
    let mut parser = Parser::new(raw, Dialect::Lenient);
    if parser.token() != Ok(Token::Object) {
        return;
    }
    let mut first = true;
    while let Ok(Some(key)) = parser.next_key(&mut first) {
        let Ok(value) = parser.skip_value() else { return };
        each(key, value);
    }
}

/// Calls `each` with every raw element of a raw array, up to the first error.
pub fn for_each_element<'a>(raw: &'a [u8], mut each: impl FnMut(&'a [u8])) {
    let mut parser = Parser::new(raw, Dialect::Lenient);
    if parser.token() != Ok(Token::Array) {
        return;
    }
    let mut first = true;
    while let Ok(true) = parser.next_element(&mut first) {
        let Ok(value) = parser.skip_value() else { return };
        each(value);
    }
}

/// The raw value of the last member `name` of a raw object. Keys written with escapes are not found.
pub fn find_member<'a>(raw: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut found = None;
    for_each_member(raw, |key, value| {
        if key.bytes == name.as_bytes() {
            found = Some(value);
        }
    });
    found
}

/// The string in a raw value; `None` if it is none.
pub(super) fn as_string(raw: &[u8]) -> Option<RawStr<'_>> {
    match Parser::new(raw, Dialect::Lenient).token() {
        Ok(Token::String(text)) => Some(text),
        _ => None,
    }
}

/// The text of a number, or of a string that holds one.
pub(super) fn number_text(raw: &[u8]) -> &[u8] {
    as_string(raw).map_or(raw, |text| text.bytes)
}
