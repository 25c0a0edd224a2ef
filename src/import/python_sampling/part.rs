//! Parts of a file, read independently and joined in order.
//!
//! A part resolves nothing: frames and counts are logged in order, by the ids of the file ([`Log`]), and applied when the part
//! is joined. So a definition may come from any part, a later one replaces an earlier one, and rows come in the order of
//! sequential reading. Of each string the part keeps the last definition.
//!
//! Only the first header of a run counts; whether a part contains it is known only when it is joined.

use super::issues::{self, DUPLICATE_META};
use super::log::{Entry, Log};
use super::{MAX_RUNS, Place, Records, RunTables};
use crate::base::strings::StringId;
use crate::import::parts::PartRows;
use crate::trace::TraceBuilder;
use crate::trace::ledger::{Issue, NamedIssue};
use serde::{Deserialize, Serialize};

/// State of a part besides its records.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(super) struct OfPart {
    /// First header of each run that has one, in file order.
    pub metas: Vec<FirstMeta>,
    /// The part has more runs than the limit.
    pub has_too_many_runs: bool,
}

/// A header that is the first of its run unless an earlier part has one.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct FirstMeta {
    /// Number of the run in the part.
    run: usize,
    n_bytes: u64,
    /// Number of issue kinds in the part before it.
    n_issues_before: usize,
    /// Issue to report if it is a duplicate.
    issue: NamedIssue,
}

impl FirstMeta {
    /// The header in `line`.
    pub fn new(run: usize, place: Place, line: &[u8], n_issues_before: usize) -> FirstMeta {
        let issue = Issue::new(&DUPLICATE_META, place.position(), line);
        FirstMeta { run, n_bytes: line.len() as u64, n_issues_before, issue: issue.into() }
    }
}

/// Everything except texts, ledger and logs, which follow it.
#[derive(Serialize, Deserialize)]
struct Head {
    runs: Vec<RunTables>,
    /// Bytes of the log of each run.
    log_lens: Vec<usize>,
    n_by_type: [u64; 6],
    of_part: OfPart,
}

/// Encodes the records of a part. `None` if their treatment depends on what precedes the part.
pub(super) fn to_bytes(records: &mut Records) -> Option<Vec<u8>> {
    let of_part = records.part.take().unwrap_or_default();
    if of_part.has_too_many_runs {
        return None;
    }
    let runs = std::mem::take(&mut records.runs);
    let logs: Vec<&[u8]> = runs.iter().map(|run| run.log.bytes()).collect();
    let (log_lens, logs) = (logs.iter().map(|log| log.len()).collect(), logs.concat());
    let mut bytes =
        postcard::to_allocvec(&Head { runs, log_lens, n_by_type: records.n_by_type, of_part }).ok()?;
    bytes.extend_from_slice(&logs);
    Some(bytes)
}

/// Joins the part with these `rows` and `notes`, preceded by `n_lines` lines. Returns false and changes nothing if it has to
/// be read again.
pub(super) fn join(
    records: &mut Records,
    rows: PartRows,
    notes: &[u8],
    n_lines: u64,
    out: &mut TraceBuilder,
) -> bool {
    let Ok((head, mut rest)) = postcard::take_from_bytes::<Head>(notes) else { return false };
    let Head { runs, log_lens, n_by_type, of_part } = head;
    let mut logs = Vec::with_capacity(runs.len());
    for (run, len) in runs.iter().zip(&log_lens) {
        let Some((log, after)) = rest.split_at_checked(*len) else { return false };
        rest = after;
        if run.string_ids.len() != run.strings.len() || !Log::is_sound(log, run.tables.len()) {
            return false;
        }
        logs.push(log);
    }
    if logs.len() != runs.len() {
        return false;
    }
    let number = |run: &RunTables| records.run_by_id.get(&run.run.run_id).copied();
    let n_new = runs.iter().filter(|run| number(run).is_none()).count();
    if records.runs.len() + n_new > MAX_RUNS {
        return false;
    }
    let mut other_metas = Vec::new();
    for meta in of_part.metas {
        let Some(run) = runs.get(meta.run) else { return false };
        let Some(issue) = meta.issue.of_kind(|code| (code == DUPLICATE_META.code).then_some(&DUPLICATE_META))
        else {
            return false;
        };
        if number(run).is_some_and(|own| records.runs.get(own).is_some_and(|own| own.run.has_meta)) {
            other_metas.push((meta.n_bytes, meta.n_issues_before, issue));
        }
    }
    let texts = rows.merge_amended(out, issues::ALL, n_lines, |ledger| {
        for (n_bytes, n_before, issue) in other_metas {
            ledger.kept_to_skipped(n_bytes);
            ledger.file_late(n_before, issue);
        }
    });
    let Some(texts) = texts else { return false };
    for (own, of_part) in records.n_by_type.iter_mut().zip(n_by_type) {
        *own += of_part;
    }
    for (run, log) in runs.into_iter().zip(logs) {
        let number = match records.run_by_id.get(&run.run.run_id) {
            Some(number) => *number,
            None => records.add_run(run.run.run_id.clone(), run.first.behind(n_lines)),
        };
        if let Some(own) = records.runs.get_mut(number) {
            own.add_part(run, log, &texts, n_lines);
        }
    }
    true
}

impl RunTables {
    /// Adds the part's data of this run; `texts` maps the part's text ids to ids here.
    fn add_part(&mut self, part: RunTables, log: &[u8], texts: &[StringId], n_lines: u64) {
        for (id, text) in part.string_ids.iter().zip(&part.strings) {
            let row = self.string_row(*id);
            if let Some(text) = texts.get(text.0 as usize) {
                self.run.n_strings += u64::from(self.strings[row].is_none());
                self.strings[row] = *text;
            }
        }
        let n_tables = self.tables.len() as u32;
        self.tables.extend(part.tables.iter().map(|place| place.behind(n_lines)));
        Log::for_each(log, |table, entry| match entry {
            Entry::Frame(entry) => self.add_frame(&entry, n_tables + table),
            Entry::Count(entry) => self.add_count(&entry, n_tables + table),
        });
        self.end = part.end.map(|place| place.behind(n_lines)).or(self.end);
        let (run, of_part) = (&mut self.run, part.run);
        run.n_duplicate_meta += of_part.n_duplicate_meta + u64::from(run.has_meta && of_part.has_meta);
        if of_part.has_meta && !run.has_meta {
            run.has_meta = true;
            run.mode = of_part.mode;
            run.sample_interval_us = of_part.sample_interval_us;
        }
        run.complete |= of_part.complete;
        run.end_samples_total = of_part.end_samples_total.or(run.end_samples_total);
        run.agg_samples_total = of_part.agg_samples_total.or(run.agg_samples_total);
        run.n_end_records += of_part.n_end_records;
        run.n_unsupported_version += of_part.n_unsupported_version;
        run.unsupported_version = run.unsupported_version.take().or(of_part.unsupported_version);
        run.n_ignored_agg += of_part.n_ignored_agg;
        run.n_skipped_entries += of_part.n_skipped_entries;
    }
}
