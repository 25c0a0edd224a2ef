//! A stretch of a file as bytes, on its way from the worker that read it to the one that joins it to the rest.
//!
//! Rows of events go as they lie in memory; everything else is a few postcard values before them. Both ends are the same
//! program, so there is no version; what does not fit is refused all the same, since a message may come from anywhere.
//!
//! ```text
//! [length of head: u32][head: postcard][rows of events: 56 bytes each]
//! ```

use super::TraceBuilder;
use super::args::ArgsTable;
use super::events::{Event, EventExtra};
use super::ledger::{Issue, IssueKind, Ledger, Position, Tally};
use super::tracks::{Key, ProcessId};
use crate::base::strings::StringId;
use bytemuck::checked;
use serde::{Deserialize, Serialize};

/// All but the rows. Texts lie one after the other, with their lengths apart.
#[derive(Serialize, Deserialize)]
struct Head<'a> {
    text: &'a str,
    text_lens: Vec<u32>,
    processes: Vec<Key>,
    threads: Vec<(u32, Key)>,
    extras: Vec<EventExtra>,
    thread_time: Vec<(u32, i64, Option<i64>)>,
    #[serde(borrow)]
    args: Vec<(u64, &'a [u8])>,
    kept: Tally,
    repaired: Tally,
    skipped: Tally,
    issues: Vec<IssueOnWire>,
}

#[derive(Serialize, Deserialize)]
struct IssueOnWire {
    code: String,
    count: u64,
    first: Position,
    example: String,
}

/// Appends what [`TraceBuilder::absorb`] takes of `part` to `out`.
pub fn encode(part: &TraceBuilder, out: &mut Vec<u8>) {
    let trace = &part.trace;
    let n_texts = trace.strings.len() as u32;
    let texts = || (0..n_texts).map(|id| trace.strings.get(StringId(id)));
    let mut text = String::with_capacity(texts().map(str::len).sum());
    texts().for_each(|next| text.push_str(next));
    let threads = &trace.threads;
    let head = Head {
        text: &text,
        text_lens: texts().map(|text| text.len() as u32).collect(),
        processes: trace.processes.key.clone(),
        threads: threads.process.iter().zip(&threads.key).map(|(process, key)| (process.0, *key)).collect(),
        extras: part.events.extras.clone(),
        thread_time: part.events.thread_time.clone(),
        args: trace.args.all_kept().collect(),
        kept: trace.ledger.kept,
        repaired: trace.ledger.repaired,
        skipped: trace.ledger.skipped,
        issues: trace
            .ledger
            .issues
            .iter()
            .map(|issue| IssueOnWire {
                code: issue.kind.code.to_string(),
                count: issue.count,
                first: issue.first,
                example: issue.example.clone(),
            })
            .collect(),
    };
    // Writing into memory has no way to fail.
    let head = postcard::to_allocvec(&head).unwrap_or_default();
    out.extend_from_slice(&(head.len() as u32).to_le_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(bytemuck::must_cast_slice(part.events.rows.as_slice()));
}

/// What was encoded, with the kinds of issues that the format knows. `None` if `bytes` are something else.
pub fn decode(bytes: &[u8], kinds: &[&'static IssueKind]) -> Option<TraceBuilder> {
    let (head_len, rest) = bytes.split_first_chunk::<4>()?;
    let (head, rows) = rest.split_at_checked(u32::from_le_bytes(*head_len) as usize)?;
    let head: Head<'_> = postcard::from_bytes(head).ok()?;
    let mut part = TraceBuilder::default();
    let mut rest = head.text;
    for len in &head.text_lens {
        let (text, after) = rest.split_at_checked(*len as usize)?;
        part.trace.strings.intern(text);
        rest = after;
    }
    head.processes.into_iter().for_each(|key| {
        part.process(key);
    });
    head.threads.into_iter().for_each(|(process, key)| {
        part.thread(ProcessId(process), key);
    });
    // A number stands for a place in a list only if nothing was there twice.
    let is_sound = part.trace.strings.len() == head.text_lens.len() && rest.is_empty();
    let row_bytes = size_of::<Event>();
    if !is_sound || rows.len() % row_bytes != 0 {
        return None;
    }
    part.events.rows.reserve_exact(rows.len() / row_bytes);
    for row in rows.chunks_exact(row_bytes) {
        part.events.rows.push(checked::try_pod_read_unaligned(row).ok()?);
    }
    part.events.extras = head.extras;
    part.events.thread_time = head.thread_time;
    part.trace.args = ArgsTable::of_part();
    for (offset, raw) in head.args {
        part.trace.args.keep(offset, raw);
    }
    let issues = head.issues.into_iter().map(|issue| {
        let kind = kinds.iter().copied().find(|kind| kind.code == issue.code)?;
        Some(Issue { kind, count: issue.count, first: issue.first, example: issue.example })
    });
    part.trace.ledger = Ledger {
        kept: head.kept,
        repaired: head.repaired,
        skipped: head.skipped,
        issues: issues.collect::<Option<Vec<Issue>>>()?,
        ..Ledger::default()
    };
    Some(part)
}
