//! Iteration over raw JSON arguments.

use crate::base::json::{Dialect, Parser, RawStr, Token, plain_member};

/// Calls `each` with key and raw value of every member of a raw object, up to the first error.
pub fn for_each_member<'a>(raw: &'a [u8], mut each: impl FnMut(RawStr<'a>, &'a [u8])) {
    let mut parser = Parser::new(raw, Dialect::Lenient);
    if parser.token() != Ok(Token::Object) {
        return;
    }
    let mut first = true;
    loop {
        if let Some(member) = plain_member(raw, parser.position(), first) {
            first = false;
            parser.set_position(member.end);
            each(RawStr { bytes: member.key, escaped: false }, member.value);
            continue;
        }
        let Ok(Some(key)) = parser.next_key(&mut first) else { return };
        let Ok(value) = parser.skip_value() else { return };
        each(key, value);
        parser.skip_space();
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

/// Raw value of the last member `name` of a raw object. Keys written with escapes are not found.
pub fn find_member<'a>(raw: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut found = None;
    for_each_member(raw, |key, value| {
        if key.bytes == name.as_bytes() {
            found = Some(value);
        }
    });
    found
}

/// String of a raw value; `None` if it is not a string.
pub(super) fn as_string(raw: &[u8]) -> Option<RawStr<'_>> {
    match Parser::new(raw, Dialect::Lenient).token() {
        Ok(Token::String(text)) => Some(text),
        _ => None,
    }
}

/// Text of a number, or of a string that contains one.
pub(super) fn number_text(raw: &[u8]) -> &[u8] {
    as_string(raw).map_or(raw, |text| text.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference implementation without the fast path.
    fn slowly(raw: &[u8]) -> Vec<(RawStr<'_>, &[u8])> {
        let mut parser = Parser::new(raw, Dialect::Lenient);
        let mut found = Vec::new();
        let mut first = true;
        if parser.token() == Ok(Token::Object) {
            while let Ok(Some(key)) = parser.next_key(&mut first) {
                let Ok(value) = parser.skip_value() else { break };
                found.push((key, value));
            }
        }
        found
    }

    /// Objects as programs write them, and with all kinds of mistakes.
    fn objects() -> impl Strategy<Value = String> {
        let value = prop_oneof![
            6 => "-?[0-9]{1,6}(\\.[0-9]{1,3})?",
            1 => "-?[0-9.eE+-]{1,6}",
            6 => "\"[a-z {}\\[\\],:]{0,40}\"",
            2 => "\"([a-z]|\\\\[n\"u\\\\]){0,20}\"",
            4 => "\\[([0-9]{1,3}, ?){0,6}[0-9]{0,2}\\]",
            2 => "\\{\"a\": ?\\[\"[\\]}]\"\\]\\}",
            2 => "true|false|null|NaN|-Infinity|nan|inf|nul",
            1 => "[\\]}{\"\\\\,:]{0,3}",
        ];
        let key = prop_oneof![9 => "\"[a-zA-Z ]{0,24}\"", 1 => "\"[a-z]{0,3}\\\\[\"n\\\\][a-z]{0,3}\"", 1 => "[a-z\"]{0,3}"];
        let member = ("[ \n]{0,2}", key, ":| : |: ", value, "[ \n]{0,2}")
            .prop_map(|(before, key, colon, value, after)| format!("{before}{key}{colon}{value}{after}"));
        (proptest::collection::vec(member, 0..8), "\\{|\\{ | \\{,?", ",}|}|} x|")
            .prop_map(|(members, open, close)| format!("{open}{}{close}", members.join(",")))
    }

    proptest! {
        #[test]
        fn plain_members_are_what_they_are_to_the_parser(text in objects(), cut in 0usize..200) {
            for raw in [text.as_bytes(), &text.as_bytes()[..cut.min(text.len())]] {
                let mut found = Vec::new();
                for_each_member(raw, |key, value| found.push((key, value)));
                prop_assert_eq!(found, slowly(raw));
            }
        }
    }
}
