//! Format detection by content; the file name only breaks ties.

use super::{Confidence, FORMATS, FormatInfo};

/// Bytes of content that formats get to see.
pub const HEAD_BYTES: usize = 64 << 10;

/// Format with the highest confidence for `head`; `None` if no format matches.
pub fn detect(head: &[u8], file_name: &str) -> Option<(&'static FormatInfo, Confidence)> {
    let name = file_name.to_ascii_lowercase();
    let name = name.trim_end_matches(".gz").trim_end_matches(".zst").trim_end_matches(".lz4");
    let mut best: Option<(Confidence, bool, &'static FormatInfo)> = None;
    for format in FORMATS {
        let confidence = (format.sniff)(head);
        let named = format
            .extensions
            .iter()
            .any(|extension| name.strip_suffix(extension).is_some_and(|stem| stem.ends_with('.')));
        if confidence > Confidence::No
            && best.is_none_or(|(other, other_named, _)| (confidence, named) > (other, other_named))
        {
            best = Some((confidence, named, format));
        }
    }
    best.map(|(confidence, _, format)| (format, confidence))
}

/// Guess at what unrecognized text is, for the error message. `None` if it isn't text.
pub fn describe(head: &[u8]) -> Option<&'static str> {
    if is_binary(head) {
        return None;
    }
    Some(match head.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => "JSON of an unsupported kind",
        Some(_) => "text, but not a supported trace",
        None => "only white space",
    })
}

/// Text in UTF-8 and in encodings of one byte a letter has hardly any control characters: of random bytes, every tenth is one.
fn is_binary(head: &[u8]) -> bool {
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x08\x0c\x1b".contains(byte);
    head.contains(&0) || head.iter().filter(|byte| is_control(byte)).count() * 50 > head.len()
}
