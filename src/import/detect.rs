//! Which format content is in: content first, the file's name only breaks ties.

use super::{Confidence, FORMATS, FormatInfo};

/// How much of the content formats are shown.
pub const HEAD_BYTES: usize = 64 << 10;

/// The format that is surest of `head`, and how sure it is. `None` if no format can be it.
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

/// A guess at what unrecognised content is, for the message, and whether it is text whose start is worth showing.
pub fn describe(head: &[u8]) -> (&'static str, bool) {
    if head.contains(&0) {
        return ("binary data", false);
    }
    let what = match head.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => "JSON, but not of a kind that is read",
        Some(_) => "text, but not a trace that is read",
        None => "only white space",
    };
    (what, true)
}
