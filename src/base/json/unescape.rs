//! JSON string escapes to text.

use super::RawStr;

/// Irregularities of a string, for the ledger.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Unescape {
    /// A `\uD800`–`\uDFFF` without its partner became U+FFFD.
    pub lone_surrogate: bool,
    /// Bytes that are not UTF-8 became U+FFFD.
    pub bad_utf8: bool,
    /// An unknown escape; its backslash was kept.
    pub unknown_escape: bool,
}

impl Unescape {
    pub fn is_clean(self) -> bool {
        self == Unescape::default()
    }
}

/// Appends the text of `raw` to `out`.
///
/// Surrogate pairs are joined, lone surrogates and bad UTF-8 become U+FFFD, and `\x` stays as it is: it usually comes from a
/// Windows path.
pub fn unescape(raw: RawStr<'_>, out: &mut String) -> Unescape {
    let mut odd = Unescape::default();
    if !raw.escaped {
        push_utf8(raw.bytes, out, &mut odd);
        return odd;
    }
    let bytes = raw.bytes;
    let mut at = 0;
    while at < bytes.len() {
        let plain = memchr::memchr(b'\\', &bytes[at..]).unwrap_or(bytes.len() - at);
        push_utf8(&bytes[at..at + plain], out, &mut odd);
        at += plain;
        let Some(escape) = bytes.get(at + 1) else { break };
        at += 2;
        match escape {
            b'"' | b'\\' | b'/' => out.push(*escape as char),
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            b'n' => out.push('\n'),
            b'r' => out.push('\r'),
            b't' => out.push('\t'),
            b'u' => match hex4(bytes, at) {
                Some(unit) => {
                    at += 4;
                    let mut code = u32::from(unit);
                    if (0xd800..0xdc00).contains(&code)
                        && bytes.get(at) == Some(&b'\\')
                        && bytes.get(at + 1) == Some(&b'u')
                        && let Some(low @ 0xdc00..=0xdfff) = hex4(bytes, at + 2)
                    {
                        at += 6;
                        code = 0x10000 + ((code - 0xd800) << 10) + (u32::from(low) - 0xdc00);
                    }
                    odd.lone_surrogate |= (0xd800..0xe000).contains(&code);
                    out.push(char::from_u32(code).unwrap_or('\u{fffd}'));
                }
                None => {
                    odd.unknown_escape = true;
                    out.push_str("\\u");
                }
            },
            _ => {
                // The byte after it may start a longer character.
                odd.unknown_escape = true;
                out.push('\\');
                at -= 1;
                let len = bytes[at + 1..].iter().take_while(|byte| (**byte & 0xc0) == 0x80).count() + 1;
                push_utf8(&bytes[at..at + len], out, &mut odd);
                at += len;
            }
        }
    }
    odd
}

/// Decoded text of `raw`.
pub fn unescape_to_string(raw: RawStr<'_>) -> String {
    let mut out = String::with_capacity(raw.bytes.len());
    unescape(raw, &mut out);
    out
}

fn push_utf8(bytes: &[u8], out: &mut String, odd: &mut Unescape) {
    match std::str::from_utf8(bytes) {
        Ok(text) => out.push_str(text),
        Err(_) => {
            odd.bad_utf8 = true;
            out.push_str(&String::from_utf8_lossy(bytes));
        }
    }
}

/// Four hexadecimal digits at `at`.
pub(super) fn hex4(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 4)?;
    let mut value = 0;
    for digit in digits {
        value = value << 4 | (*digit as char).to_digit(16)? as u16;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let check = |raw: &[u8], text: &str, clean: bool| {
            let mut out = String::new();
            let odd = unescape(RawStr { bytes: raw, escaped: raw.contains(&b'\\') }, &mut out);
            assert_eq!((out.as_str(), odd.is_clean()), (text, clean));
        };
        check(br#"a\"\\\/\b\f\n\r\t\u00e9"#, "a\"\\/\u{8}\u{c}\n\r\t\u{e9}", true);
        check(br"\ud83d\ude00", "\u{1f600}", true);
        check(br"\ud83d!\ude00", "\u{fffd}!\u{fffd}", false);
        check(br"\ud83d\u0041", "\u{fffd}A", false);
        check(br"\x\u12", "\\x\\u12", false);
        check(b"\\\xc3\xa9", "\\\u{e9}", false);
        check(br"torch\cuda\__init__.py", "torch\\cuda\\__init__.py", false);
        check(b"a\xffb", "a\u{fffd}b", false);
        check(b"tail\\", "tail", true);
    }
}
