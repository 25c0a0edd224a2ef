//! Metadata of a file: top-level members, and the tool that wrote it.

use super::issues::{FTRACE_TEXT, LONG_VALUE};
use super::rows::{PHASE_NAMES, Seen};
use crate::base::json::{RawStr, unescape_to_string};
use crate::trace::builder::{Ways, for_each_member};
use crate::trace::ledger::Position;
use crate::trace::links::PROFILER_MEMBERS;
use crate::trace::{SourceInfo, TraceBuilder};

/// Longest metadata text, in bytes.
const MAX_VALUE_BYTES: usize = 64 << 10;
/// Maximum number of metadata entries.
const MAX_FACTS: usize = 2000;
/// Members whose own members are metadata entries.
const NESTED: &[&[u8]] = &[b"metadata", b"otherData"];

#[derive(Clone, Default)]
pub struct Facts {
    /// The file is a bare list of events.
    pub is_bare_list: bool,
}

impl Facts {
    /// Adds a top-level member. Returns false if it has events that are not read.
    pub fn member(&mut self, key: RawStr<'_>, value: &[u8], at: Position, out: &mut TraceBuilder) -> bool {
        let name = unescape_to_string(key);
        if PROFILER_MEMBERS.iter().any(|member| member.as_bytes() == key.bytes) {
            out.ways = Ways::Kineto;
        }
        if NESTED.contains(&key.bytes) && value.first() == Some(&b'{') {
            for_each_member(value, |inner, value| {
                let name = format!("{name}.{}", unescape_to_string(inner));
                push(name, value, at, out);
            });
            return true;
        }
        let mut is_used = true;
        if key.bytes == b"systemTraceEvents" && value.first() == Some(&b'"') {
            let text = unescape_to_string(text_of(value));
            if text.lines().any(|line| !line.is_empty() && !line.starts_with('#')) {
                out.trace.ledger.file(&FTRACE_TEXT, at, text.as_bytes());
                is_used = false;
            }
        }
        push(name, value, at, out);
        is_used
    }

    /// Fills in what is known so far.
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
    out.trace.source.metadata.push((name, text));
}

/// Inside of a raw string.
fn text_of(value: &[u8]) -> RawStr<'_> {
    let bytes = value.get(1..value.len().saturating_sub(1)).unwrap_or(&[]);
    RawStr { bytes, escaped: bytes.contains(&b'\\') }
}
