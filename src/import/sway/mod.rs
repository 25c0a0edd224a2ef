//! Forward-pass traces of dlm-sway 0.1.0 (its backend instrumentation): JSON Lines, one object per scoring call.
//!
//! ```text
//! {"ts": 1795252179.9499438, "probe": null, "view_id": "base", "prompt_hash": "b648df64f46f", "top_k": 8, "op": "next_token_dist", "wall_ms": 1.1007630000676727, "hit": false}
//! ```
//!
//! Quirks: `ts` is taken at the *end* of the call; files are appended to, so several runs may follow one another; `probe` is
//! null outside of probes. dlm-sway's reader is Python: it accepts much more than the writer emits (see [`line`]), and
//! fails on some lines that this one skips with an issue. This module keeps calls as they are and computes nothing.

mod issues;
mod line;

use self::issues::*;
use self::line::{Call, LineIssues, Refusal, TopK, find_keys, parse_any, parse_usual};
use super::by_line::{LinePart, LineReader, LineRows};
use super::parts::{MAX_PART_BYTES, PartsInfo};
use super::{Confidence, FormatInfo, detect};
use crate::base::compat::python;
use crate::base::lines::{Line, LineEnds, LineSplitter};
use crate::base::strings::{RecentStrings, StringId};
use crate::trace::scoring_calls::ProbeKind;
use crate::trace::{IssueKind, Position, TraceBuilder};
use memchr::memmem;
use std::borrow::Cow;

pub static INFO: FormatInfo = FormatInfo {
    id: "sway",
    title: "Forward-pass trace (dlm-sway JSONL)",
    producers: "dlm-sway",
    extensions: &["jsonl", "ndjson"],
    sniff,
    reader: || Box::new(LineReader::new(Calls::default())),
    parts: Some(&PartsInfo {
        reader: || Box::new(LinePart::new(Calls::default)),
        min_readers: 2,
        max_bytes: MAX_PART_BYTES,
    }),
    has_events: true,
    issues: issues::ALL,
};

/// Longest line; those of the writer are below one kilobyte.
const MAX_LINE_BYTES: usize = 16 << 20;

impl Refusal {
    fn kind(self, last_line: bool) -> &'static IssueKind {
        match self {
            Refusal::Cut if last_line => &CUT,
            Refusal::NotJson | Refusal::Cut => &NOT_JSON,
            Refusal::ByteOrderMark => &BYTE_ORDER_MARK,
            Refusal::NotAnObject => &NOT_AN_OBJECT,
            Refusal::TooDeep => &TOO_DEEP,
            Refusal::IntegerTooLong => &INTEGER_TOO_LONG,
            Refusal::OutOfRange => &OUT_OF_RANGE,
            Refusal::BadTs => &BAD_TS,
            Refusal::BadWallMs => &BAD_WALL_MS,
            Refusal::BadTopK => &BAD_TOP_K,
            Refusal::BadProbe => &BAD_PROBE,
        }
    }
}

/// Caches of recent texts: probes, views and operations are few.
#[derive(Default)]
struct Calls(RecentStrings);

impl LineRows for Calls {
    const MAX_LINE_BYTES: usize = MAX_LINE_BYTES;
    const ISSUES: &'static [&'static IssueKind] = issues::ALL;

    fn read(&mut self, line: Line<'_>, is_last: bool, out: &mut TraceBuilder) {
        read_line(line, is_last, &mut self.0, out);
    }

    fn describe(&self, out: &mut TraceBuilder) {
        describe_source(out);
    }
}

fn describe_source(out: &mut TraceBuilder) {
    let calls = &out.trace.scoring_calls;
    if calls.is_empty() {
        return;
    }
    let hits = calls.hit.iter().filter(|hit| **hit).count() as u64;
    let misses = calls.len() as u64 - hits;
    out.trace.source.producer = Some("dlm-sway".to_string());
    out.trace.source.record_kinds = vec![("hit".to_string(), hits), ("miss".to_string(), misses)];
}

/// Turns one line into a call or a ledger entry; blank lines are framing.
fn read_line(line: Line<'_>, last_line: bool, recent: &mut RecentStrings, out: &mut TraceBuilder) {
    if !line.too_long
        && let Some(call) = parse_usual(line.bytes)
    {
        out.trace.ledger.keep(line.text_bytes);
        push_call(call, line.offset, recent, out);
        return;
    }
    let at = Position { byte: line.offset, line: Some(line.number) };
    let ledger = &mut out.trace.ledger;
    if line.too_long {
        ledger.skip_record(&TOO_LONG, at, line.text_bytes, line.bytes);
        return;
    }
    let text = String::from_utf8_lossy(line.bytes);
    let stripped = python::strip(&text);
    if stripped.is_empty() {
        return;
    }
    let (call, odd) = match parse_any(stripped) {
        Ok(parsed) => parsed,
        Err(refusal) => {
            ledger.skip_record(refusal.kind(last_line), at, line.text_bytes, line.bytes);
            return;
        }
    };
    let bad_utf8 = matches!(text, Cow::Owned(_));
    if bad_utf8 || odd.lone_surrogate {
        ledger.repair(line.text_bytes);
    } else {
        ledger.keep(line.text_bytes);
    }
    if bad_utf8 || odd != LineIssues::default() {
        for (there, kind) in [
            (bad_utf8, &BAD_UTF8),
            (odd.lone_surrogate, &LONE_SURROGATE),
            (odd.missing_field, &MISSING_FIELD),
            (odd.unknown_field, &UNKNOWN_FIELD),
            (odd.repeated_field, &REPEATED_FIELD),
            (odd.converted, &CONVERTED),
        ] {
            if there {
                ledger.file(kind, at, line.bytes);
            }
        }
    }
    push_call(call, line.offset, recent, out);
}

fn push_call(call: Call<'_>, offset: u64, recent: &mut RecentStrings, out: &mut TraceBuilder) {
    let strings = &mut out.trace.strings;
    let calls = &mut out.trace.scoring_calls;
    calls.ts.push(call.ts);
    calls.wall_ms.push(call.wall_ms);
    calls.probe_kind.push(call.probe_kind);
    calls.probe.push(match call.probe_kind {
        ProbeKind::Null => StringId::NONE,
        _ => recent.intern(&call.probe, strings),
    });
    calls.view_id.push(recent.intern(&call.view_id, strings));
    calls.prompt_hash.push(strings.intern(&call.prompt_hash));
    calls.op.push(recent.intern(&call.op, strings));
    calls.top_k.push(match call.top_k {
        TopK::Small(value) => value,
        TopK::Wide(digits) => {
            let row = calls.ts.len() as u64 - 1;
            calls.wide_top_k.push((row, strings.intern(&digits)));
            if digits.starts_with('-') { i64::MIN } else { i64::MAX }
        }
    });
    calls.hit.push(call.hit);
    calls.offset.push(offset);
}

/// Keys of other line formats and of Chrome traces: an object with one of them is not a call.
const FOREIGN_KEYS: [&str; 5] = ["ph", "type", "traceEvents", "run_id", "pid"];

/// Looks for a line with the writer's keys anywhere in the head, since it may start with garbage.
fn sniff(head: &[u8]) -> Confidence {
    // A full head is cut somewhere; its last line counts only by its keywords.
    let is_cut = head.len() >= detect::HEAD_BYTES;
    let mut best = Confidence::No;
    let mut all_ours = true;
    let mut judge = |line: Line<'_>, whole: bool| {
        let text = String::from_utf8_lossy(line.bytes);
        let text = python::strip(&text);
        if best == Confidence::Certain || text.is_empty() {
            return;
        }
        let confidence = judge_line(text, whole);
        all_ours &= confidence > Confidence::No;
        best = best.max(confidence);
    };
    let mut lines = LineSplitter::new(LineEnds::Universal, usize::MAX);
    lines.feed(head, |line| judge(line, true));
    lines.finish(|line| judge(line, !is_cut));
    // An object or two without our keys prove little if there are other lines.
    if best == Confidence::Possible && !all_ours { Confidence::No } else { best }
}

fn judge_line(text: &str, whole: bool) -> Confidence {
    if whole && let Some((seen, foreign)) = find_keys(text, &FOREIGN_KEYS) {
        // In the writer's order; ts and probe are too common to count.
        let [_, _, view_id, prompt_hash, top_k, op, wall_ms, hit] = seen;
        let telling =
            [view_id, prompt_hash, top_k, op, wall_ms, hit].into_iter().filter(|seen| *seen).count();
        return match telling {
            _ if foreign => Confidence::No,
            3.. => Confidence::Certain,
            _ if view_id || prompt_hash || wall_ms => Confidence::Likely,
            _ if seen.contains(&true) || text.trim_matches(['{', '}', ' ']).is_empty() => {
                Confidence::Possible
            }
            _ => Confidence::No,
        };
    }
    let has = |key: &str| memmem::find(text.as_bytes(), key.as_bytes()).is_some();
    let telling = ["\"wall_ms\"", "\"view_id\"", "\"prompt_hash\"", "\"top_k\"", "\"hit\"", "\"probe\""];
    let likely = text.starts_with('{')
        && telling.into_iter().filter(|key| has(key)).count() >= 2
        && !FOREIGN_KEYS.iter().any(|key| has(&format!("\"{key}\"")));
    if likely { Confidence::Likely } else { Confidence::No }
}
