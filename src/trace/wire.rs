//! Encoding of a part of a file, for sending it from the worker that read it to the one that joins it.
//!
//! Events are sent as plain memory, accesses as they are packed, everything else as postcard values before them. Both ends are
//! the same program, so there is no version; invalid data is still rejected, since a message can come from anywhere.
//!
//! ```text
//! [length of head: u32][length of accesses: u32][head: postcard][accesses][events: 56 bytes each]
//! ```

use super::TraceBuilder;
use super::accesses::AccessTable;
use super::events::{Event, EventExtra};
use super::ledger::{Issue, IssueKind, Ledger, NamedIssue, Tally};
use super::links::{LinkTable, SignatureTable};
use super::merge::PartTables;
use super::scoring_calls::ScoringCallTable;
use super::tracks::Key;
use bytemuck::checked;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Everything but the rows. Texts are concatenated, with separate lengths.
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
    links: LinkTable,
    signatures: SignatureTable,
    scoring_calls: ScoringCallTable,
    kept: Tally,
    repaired: Tally,
    skipped: Tally,
    unused_bytes: u64,
    framing_bytes: u64,
    issues: Vec<NamedIssue>,
}

/// Appends the encoded tables of `part` to `out`.
pub fn encode(part: &TraceBuilder, out: &mut Vec<u8>) {
    let tables = part.part_tables();
    let ledger = tables.ledger;
    let text = tables.texts.concat();
    let head = Head {
        text: &text,
        text_lens: tables.texts.iter().map(|text| text.len() as u32).collect(),
        processes: tables.processes,
        threads: tables.threads,
        extras: tables.extras,
        thread_time: tables.thread_time,
        args: tables.args.iter().map(|(offset, raw)| (*offset, &**raw)).collect(),
        links: tables.links,
        signatures: tables.signatures,
        scoring_calls: tables.scoring_calls,
        kept: ledger.kept,
        repaired: ledger.repaired,
        skipped: ledger.skipped,
        unused_bytes: ledger.unused_bytes,
        framing_bytes: ledger.framing_bytes,
        issues: ledger.issues.into_iter().map(NamedIssue::from).collect(),
    };
    // Writing to memory cannot fail.
    let head = postcard::to_allocvec(&head).unwrap_or_default();
    let accesses = &tables.accesses;
    out.reserve(8 + head.len() + accesses.n_bytes() + part.events.n_events() * size_of::<Event>());
    out.extend_from_slice(&(head.len() as u32).to_le_bytes());
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&head);
    let start = out.len();
    // Likewise; blocks are appended directly.
    *out = postcard::to_extend(accesses, std::mem::take(out)).unwrap_or_default();
    let n_bytes = (out.len() - start) as u32;
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&n_bytes.to_le_bytes());
    }
    for event in part.events.iter() {
        out.extend_from_slice(bytemuck::bytes_of(&event));
    }
}

/// Decodes what was encoded after the first `at` bytes, with the issue kinds of the format. Accesses stay in place. `None` if
/// `bytes` are invalid.
pub fn decode<'a>(
    bytes: &'a Arc<Vec<u8>>,
    at: usize,
    kinds: &[&'static IssueKind],
) -> Option<PartTables<'a, impl ExactSizeIterator<Item = Event>>> {
    let (head_len, rest) = bytes.get(at..)?.split_first_chunk::<4>()?;
    let (accesses_len, rest) = rest.split_first_chunk::<4>()?;
    let (head_len, accesses_len) = (u32::from_le_bytes(*head_len), u32::from_le_bytes(*accesses_len));
    let (head, rest) = rest.split_at_checked(head_len as usize)?;
    let (_, rows) = rest.split_at_checked(accesses_len as usize)?;
    let end = bytes.len() - rows.len();
    let accesses = AccessTable::within(bytes, end - accesses_len as usize..end)?;
    let head: Head<'a> = postcard::from_bytes(head).ok()?;
    let mut texts = Vec::with_capacity(head.text_lens.len());
    let mut rest = head.text;
    for len in head.text_lens {
        let (text, after) = rest.split_at_checked(len as usize)?;
        texts.push(text);
        rest = after;
    }
    let (rows, odd) = rows.as_chunks::<{ size_of::<Event>() }>();
    let row = |row: &[u8; size_of::<Event>()]| checked::try_pod_read_unaligned::<Event>(row).ok();
    let first = row(rows.first().unwrap_or(&[0; size_of::<Event>()]))?;
    if !odd.is_empty()
        || !head.scoring_calls.is_sound()
        || !head.links.is_sound()
        || !head.signatures.is_sound()
        || !rows.iter().all(|bytes| row(bytes).is_some())
    {
        return None;
    }
    let kind_of = |code: &str| kinds.iter().copied().find(|kind| kind.code == code);
    let issues = head.issues.into_iter().map(|issue| issue.of_kind(kind_of));
    Some(PartTables {
        texts,
        processes: head.processes,
        threads: head.threads,
        // All rows were validated above.
        rows: rows.iter().map(move |bytes| row(bytes).unwrap_or(first)),
        extras: head.extras,
        thread_time: head.thread_time,
        args: head.args.into_iter().map(|(offset, raw)| (offset, Cow::Borrowed(raw))).collect(),
        links: head.links,
        signatures: head.signatures,
        scoring_calls: head.scoring_calls,
        accesses,
        ledger: Ledger {
            kept: head.kept,
            repaired: head.repaired,
            skipped: head.skipped,
            unused_bytes: head.unused_bytes,
            framing_bytes: head.framing_bytes,
            issues: issues.collect::<Option<Vec<Issue>>>()?,
            ..Ledger::default()
        },
    })
}
