//! Detection of experiment configurations for mrm-trace (YAML). Parsing is left to [`crate::memory_config`].
//!
//! ```text
//! experiment: {name: pilot}
//! models:
//!   - {id: tiny, engine: vllm, path: /models/tiny}
//! sweep: {context_lengths: [512, 2048], repetitions: 3}
//! ```

use super::whole_text::WholeText;
use super::{Confidence, FormatInfo, detect};
use memchr::memchr;

pub static INFO: FormatInfo = FormatInfo {
    id: "memory-config",
    title: "Experiment configuration (mrm-trace YAML)",
    producers: "hand-written configurations for mrm-trace",
    extensions: &["yaml", "yml"],
    sniff,
    reader: || Box::new(WholeText::default()),
    parts: None,
    has_events: false,
    issues: &[],
};

/// Top-level keys.
const KEYS: [&[u8]; 9] = [
    b"experiment",
    b"models",
    b"sweep",
    b"prompts",
    b"collector",
    b"telemetry",
    b"labeller",
    b"analyser",
    b"output",
];

fn sniff(head: &[u8]) -> Confidence {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let is_cut = head.len() >= detect::HEAD_BYTES;
    if head.contains(&0) {
        return Confidence::No;
    }
    let (mut known, mut n_others) = ([false; KEYS.len()], 0);
    let mut lines = head.split(|byte| *byte == b'\n').peekable();
    while let Some(line) = lines.next() {
        let is_last = is_cut && lines.peek().is_none();
        match key_of(line.trim_ascii_end()) {
            _ if is_last => {}
            Some(key) => match KEYS.iter().position(|known| *known == key) {
                Some(at) => known[at] = true,
                None => n_others += 1,
            },
            None => {}
        }
    }
    let n_known = known.iter().filter(|is_there| **is_there).count();
    match (known[0], known[1]) {
        (true, true) => Confidence::Certain,
        (true, _) | (_, true) if n_known > n_others => Confidence::Likely,
        _ if n_known > 1 && n_others == 0 => Confidence::Likely,
        _ => Confidence::No,
    }
}

/// Top-level key at the start of a line.
fn key_of(line: &[u8]) -> Option<&[u8]> {
    let end = memchr(b':', line)?;
    let is_key = line.get(end + 1).is_none_or(u8::is_ascii_whitespace);
    let key = line[..end].trim_ascii_end();
    let is_indented =
        line.first().is_some_and(|byte| byte.is_ascii_whitespace() || *byte == b'#' || *byte == b'-');
    let bare = [b'"', b'\''].iter().find_map(|quote| key.strip_prefix(&[*quote])?.strip_suffix(&[*quote]));
    (is_key && !is_indented).then_some(bare.unwrap_or(key)).filter(|key| !key.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_are_told_by_their_keys() {
        for (text, wanted) in [
            ("experiment:\n  name: a\nmodels:\n- id: b\n", Confidence::Certain),
            ("\u{feff}# a note\r\n\"experiment\": {name: a}\r\n'models' : []\r\n", Confidence::Certain),
            ("experiment: {name: a}\n", Confidence::Likely),
            ("sweep:\noutput:\n", Confidence::Likely),
            ("models: []\nservices:\nvolumes:\n", Confidence::No),
            ("output: x\n", Confidence::No),
            ("  experiment: a\n  models: b\n", Confidence::No),
            ("experiment:a\n", Confidence::No),
            ("{\"experiment\": 1}", Confidence::No),
            ("", Confidence::No),
        ] {
            assert_eq!(sniff(text.as_bytes()), wanted, "{text}");
        }
    }
}
