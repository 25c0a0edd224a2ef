//! What a file says of itself: top-level members as facts, and which tool wrote it.

use super::issues::{FTRACE_TEXT, LONG_VALUE, SECRET};
use super::rows::{PHASE_NAMES, Seen};
use crate::base::json::{RawStr, unescape_to_string};
use crate::trace::builder::{Ways, for_each_member};
use crate::trace::ledger::Position;
use crate::trace::links::PROFILER_MEMBERS;
use crate::trace::{SourceInfo, TraceBuilder};

/// Longest text of one fact, in bytes.
const MAX_VALUE_BYTES: usize = 64 << 10;
/// Most facts that are kept.
const MAX_FACTS: usize = 2000;
/// Members whose own members are facts.
const NESTED: &[&[u8]] = &[b"metadata", b"otherData"];

#[derive(Clone, Default)]
pub struct Facts {
    /// The file is a list of events without anything around it.
    pub is_bare_list: bool,
}

impl Facts {
    /// A top-level member.
    pub fn member(&mut self, key: RawStr<'_>, value: &[u8], at: Position, out: &mut TraceBuilder) {
        let name = unescape_to_string(key);
        if PROFILER_MEMBERS.iter().any(|member| member.as_bytes() == key.bytes) {
            out.ways = Ways::Kineto;
        }
        if NESTED.contains(&key.bytes) && value.first() == Some(&b'{') {
            for_each_member(value, |inner, value| {
                let name = format!("{name}.{}", unescape_to_string(inner));
                push(name, value, at, out);
            });
            return;
        }
        if key.bytes == b"systemTraceEvents" && value.first() == Some(&b'"') {
            let text = unescape_to_string(text_of(value));
            if text.lines().any(|line| !line.is_empty() && !line.starts_with('#')) {
                out.trace.ledger.file(&FTRACE_TEXT, at, text.as_bytes());
            }
        }
        push(name, value, at, out);
    }

    /// Fills in what can be said now.
    pub fn apply(&self, seen: &Seen, source: &mut SourceInfo) {
        source.record_kinds.clear();
        let mut n_other = seen.n_by_phase.iter().sum::<u64>();
        for (phase, name) in PHASE_NAMES {
            let n = seen.n_by_phase[*phase as usize];
            n_other -= n;
            if n > 0 {
                source.record_kinds.push(((*name).to_string(), n));
            }
        }
        if n_other > 0 {
            source.record_kinds.push(("other phases".to_string(), n_other));
        }
        source.producer = self.producer(seen, &source.metadata);
    }

    fn producer(&self, seen: &Seen, facts: &[(String, String)]) -> Option<String> {
        let fact = |name: &str| facts.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let has_any = |names: &[&str]| names.iter().any(|name| fact(name).is_some());
        if fact("schemaVersion").is_some()
            && has_any(&["deviceProperties", "distributedInfo", "record_shapes", "with_stack", "trace_id"])
        {
            return Some("PyTorch profiler".to_string());
        }
        if let Some(version) = fact("metadata.product-version").or(fact("metadata.chrome-version")) {
            return Some(version.to_string());
        }
        if fact("metadata.source") == Some("DevTools") {
            return Some("Chrome DevTools".to_string());
        }
        if has_any(&["metadata.clock-domain", "metadata.trace-config", "metadata.v8-version"]) {
            return Some("Chrome".to_string());
        }
        let n_complete = seen.n_by_phase[b'X' as usize];
        if self.is_bare_list && seen.only_ferrum_like && n_complete > 0 && n_complete == seen.n_elements {
            return Some("ferrum-bench".to_string());
        }
        None
    }
}

fn push(name: String, value: &[u8], at: Position, out: &mut TraceBuilder) {
    if out.trace.source.metadata.len() >= MAX_FACTS {
        return;
    }
    let mut text = if value.first() == Some(&b'"') {
        unescape_to_string(text_of(value))
    } else {
        String::from_utf8_lossy(value).into_owned()
    };
    if text.len() > MAX_VALUE_BYTES {
        out.trace.ledger.file(&LONG_VALUE, at, name.as_bytes());
        let end = (0..=MAX_VALUE_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
    let n_hidden = if is_secret(&name) { hide_whole(&mut text) } else { hide_members(&mut text) };
    if n_hidden > 0 {
        out.trace.ledger.file(&SECRET, at, name.as_bytes());
    }
    out.trace.source.metadata.push((name, text));
}

const HIDDEN: &str = "(hidden)";

/// Whether a setting of that name holds what opens doors. Profilers write the whole environment of a program into
/// its trace, and reports are made to be passed on.
fn is_secret(name: &str) -> bool {
    const WORDS: [&str; 8] =
        ["token", "secret", "password", "passwd", "api_key", "apikey", "credential", "private_key"];
    // Counts of a model's tokens are no secrets.
    const HARMLESS: [&str; 3] = ["tokens", "tokeniz", "token_id"];
    let name = name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase().replace('-', "_");
    let harmless = HARMLESS.iter().any(|word| name.contains(word));
    !harmless && (WORDS.iter().any(|word| name.contains(word)) || name.ends_with("access_key"))
}

fn hide_whole(text: &mut String) -> usize {
    if text.is_empty() {
        return 0;
    }
    HIDDEN.clone_into(text);
    1
}

/// Hides the texts of secret members anywhere in JSON text; gives how many.
fn hide_members(text: &mut String) -> usize {
    if !text.starts_with(['{', '[']) {
        return 0;
    }
    let string_end = |from: usize| {
        let mut escaped = false;
        text.as_bytes()[from..].iter().position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        })
    };
    let mut out = String::with_capacity(text.len());
    let mut n_hidden = 0;
    let mut at = 0;
    while let Some(quote) = text[at..].find('"') {
        let start = at + quote + 1;
        let Some(len) = string_end(start) else { break };
        let end = start + len + 1;
        out.push_str(&text[at..end]);
        at = end;
        let value = text[end..].trim_start().strip_prefix(':').map(str::trim_start);
        if let Some(value) = value.filter(|value| value.starts_with('"'))
            && is_secret(&text[start..end - 1])
        {
            let value_start = text.len() - value.len() + 1;
            out.push_str(&text[end..value_start]);
            out.push_str(HIDDEN);
            n_hidden += 1;
            // A text that was cut off is hidden to its end.
            at = string_end(value_start).map_or(text.len(), |len| value_start + len);
            if let Some(rest) = text[at..].strip_prefix('"') {
                out.push('"');
                at = text.len() - rest.len();
            }
        }
    }
    out.push_str(&text[at..]);
    *text = out;
    n_hidden
}

/// The inside of a raw string.
fn text_of(value: &[u8]) -> RawStr<'_> {
    let bytes = value.get(1..value.len().saturating_sub(1)).unwrap_or(&[]);
    RawStr { bytes, escaped: bytes.contains(&b'\\') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden() {
        let mut text = r#"{"HF_TOKEN": "hf_a\"b", "n_tokens":"7","env":{"AWS_SECRET_ACCESS_KEY":"x","PATH":"/bin"},"DB_PASSWORD":"cut"#
            .to_string();
        assert_eq!(hide_members(&mut text), 3);
        assert_eq!(
            text,
            r#"{"HF_TOKEN": "(hidden)", "n_tokens":"7","env":{"AWS_SECRET_ACCESS_KEY":"(hidden)","PATH":"/bin"},"DB_PASSWORD":"(hidden)"#
        );
        assert!(is_secret("metadata.OPENAI_API_KEY") && !is_secret("metadata.max_tokens"));
    }
}
