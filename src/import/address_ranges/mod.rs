//! Address ranges of a memory-access trace and their kinds: `kv_ranges.json` and the like.
//!
//! ```text
//! [{"addr_start": 4096, "addr_end": 8192, "region_type": "kv_cache"}]
//! ```

use super::whole_text::WholeText;
use super::{Confidence, FormatInfo};
use memchr::{memchr, memmem};

pub static INFO: FormatInfo = FormatInfo {
    id: "address-ranges",
    title: "Address ranges (kv_ranges.json)",
    producers: "inference engines, for mrm-trace",
    extensions: &["json"],
    sniff,
    reader: || Box::new(WholeText::default()),
    parts: None,
    has_events: false,
    issues: &[],
};

/// A list whose first object has the start of a range, and no key of an event.
fn sniff(head: &[u8]) -> Confidence {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let Some(object) =
        head.strip_prefix(b"[").map(<[u8]>::trim_ascii_start).filter(|rest| rest.starts_with(b"{"))
    else {
        return Confidence::No;
    };
    let first = &object[..memchr(b'}', object).unwrap_or(object.len())];
    let has = |key: &[u8]| memmem::find(first, key).is_some();
    if has(b"\"addr_start\"") && !has(b"\"ph\"") { Confidence::Certain } else { Confidence::No }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_from_events() {
        for (text, wanted) in [
            (r#"[{"addr_start": 1, "addr_end": 2, "region_type": "kv_cache"}]"#, Confidence::Certain),
            ("\u{feff} [ \n {\"layer\": 0, \"addr_start\": 1", Confidence::Certain),
            (r#"[{"ph": "X", "args": {"addr_start": 1}}]"#, Confidence::No),
            (r#"[{"ph": "X"}, {"addr_start": 1}]"#, Confidence::No),
            (r#"{"addr_start": 1}"#, Confidence::No),
            ("[]", Confidence::No),
            ("", Confidence::No),
        ] {
            assert_eq!(sniff(text.as_bytes()), wanted, "{text}");
        }
    }
}
