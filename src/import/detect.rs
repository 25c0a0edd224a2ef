//! Which format content is in: content first, the file's name only breaks ties.

use super::{Confidence, FORMATS, FormatInfo};

/// How much of the content formats are shown.
pub const HEAD_BYTES: usize = 64 << 10;

/// The format that is surest of `head`. `None` if no format can be it.
pub fn detect(head: &[u8], file_name: &str) -> Option<&'static FormatInfo> {
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
    best.map(|(_, _, format)| format)
}

/// Whether every other byte of the beginning is 0, and the others are not, as in UTF-16 of Latin text without a byte order mark.
fn is_utf16(head: &[u8]) -> bool {
    let (pairs, _) = head[..head.len().min(64)].as_chunks::<2>();
    pairs.len() >= 4
        && (pairs.iter().all(|[low, high]| low.is_ascii() && *low != 0 && *high == 0)
            || pairs.iter().all(|[high, low]| low.is_ascii() && *low != 0 && *high == 0))
}

/// A guess at what unrecognised content is, for the message: well-known signatures and the kind of text; and whether it is text
/// whose start is worth showing.
pub fn describe(head: &[u8]) -> (&'static str, bool) {
    const SIGNATURES: &[(&[u8], &str)] = &[
        (b"PK\x03\x04", "a zip archive; open it as a file whose name ends in .zip"),
        (b"BZh", "a bzip2 file; unpack it first"),
        (b"\xfd7zXZ\0", "an xz file; unpack it first"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it first"),
        (b"PERFILE2", "a perf.data file; convert it with `perf script`"),
        (
            b"SQLite format 3\0",
            "an SQLite database (an Nsight Systems export?); export a Chrome trace instead",
        ),
        (b"\x7fELF", "an ELF program"),
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"%PDF", "a PDF document"),
        (b"\0asm", "a WebAssembly module"),
        (b"<!DOCTYPE", "an HTML page"),
        (b"<!doctype", "an HTML page"),
        (b"<html", "an HTML page"),
        (b"<?xml", "an XML document"),
        (b"# tracer:", "ftrace text, which is not read yet"),
        (b"\xff\xfe\0\0", "UTF-32 text; save it as UTF-8"),
        (b"\0\0\xfe\xff", "UTF-32 text; save it as UTF-8"),
        (b"\xff\xfe", "UTF-16 text; save it as UTF-8"),
        (b"\xfe\xff", "UTF-16 text; save it as UTF-8"),
    ];
    if let Some((_, what)) = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature)) {
        return (what, false);
    }
    if is_utf16(head) {
        return ("UTF-16 text; save it as UTF-8", false);
    }
    if head.first() == Some(&0x0a) && head.len() > 2 && head[1..].contains(&0) {
        return ("binary data, perhaps a Perfetto protobuf trace; convert it with `traceconv json`", false);
    }
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
