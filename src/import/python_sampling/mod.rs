//! JSONL of the sampling profiler in CPython 3.15 and later: `python -m profiling.sampling run --jsonl`.
//!
//! In: lines with one JSON object each. Out: one [`ProfileRun`] for each `run_id`. A run is a header, tables of
//! strings and frames, counts by frame, and a closing record:
//!
//! ```json
//! {"type":"meta","v":0,"run_id":"fe46899fb0374896b4f01539039be6d8","sample_interval_usec":500,"mode":"wall"}
//! {"type":"string_table","v":0,"run_id":"…","strings":[{"str_id":0,"value":"main"},{"str_id":1,"value":"app.py"}]}
//! {"type":"frame_table","v":0,"run_id":"…","frames":[{"frame_id":0,"path_str_id":1,"func_str_id":0,"line":7}]}
//! {"type":"agg","v":0,"run_id":"…","kind":"frame","scope":"final","samples_total":9,"entries":[{"frame_id":0,"self":9,"cumulative":9}]}
//! {"type":"end","v":0,"run_id":"…","samples_total":9}
//! ```
//!
//! Quirks handled: runs one after another or interleaved, records in any order and repeated, truncated files, names with lone
//! surrogates (file names that are not UTF-8), fields and record types of later versions. Stacks and timestamps, which the
//! format lacks, are not made up.
//!
//! Lines refer to others by id, and the last definition of an id wins. So a part of a file only logs its table entries, by the
//! ids of the file, and they are applied when the part is joined (`part`, `log`).

mod canonical;
mod ids;
pub mod issues;
mod log;
mod part;
mod record;

use super::by_line::{LinePart, LineReader, LineRows};
use super::parts::{MAX_PART_BYTES, PartRows, PartsInfo};
use super::{Confidence, FormatInfo, ImportError};
use crate::base::json::JsonError;
use crate::base::lines::{Line, LineEnds};
use crate::base::strings::StringId;
use crate::base::text;
use crate::base::units::{counted, format_bytes};
use crate::trace::profiles::ProfileRun;
use crate::trace::{IssueKind, Ledger, Position, TraceBuilder};
use ids::IdIndex;
use issues::*;
use log::Log;
use memchr::memmem;
use record::{AggEntry, FrameEntry, Record, RecordType, SkippedEntries};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub static INFO: FormatInfo = FormatInfo {
    id: "python-sampling",
    title: "Python sampling profile (JSONL)",
    producers: "CPython 3.15+ python -m profiling.sampling",
    extensions: &["jsonl", "ndjson"],
    sniff,
    reader: || Box::new(LineReader::new(Records::default())),
    parts: Some(&PartsInfo {
        reader: || Box::new(LinePart::new(Records::of_part)),
        min_readers: 3,
        max_bytes: MAX_PART_BYTES,
    }),
    has_events: false,
    issues: issues::ALL,
};

/// Longest line; those of the profiler have some 30 kB. Entries of a line are held until the whole line proves valid.
const MAX_LINE_BYTES: usize = 64 << 20;

/// Maximum number of runs: each has its own tables, so a file of nothing but new run ids would need far more memory than its
/// size.
const MAX_RUNS: usize = 1 << 16;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Looks at every line of the head, since it may start with noise.
fn sniff(head: &[u8]) -> Confidence {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let mut record = Record::default();
    let mut best = Confidence::No;
    for line in head.split(|byte| *byte == b'\n') {
        let line = trim(line).1;
        if line.first() != Some(&b'{') {
            continue;
        }
        let confidence = match record.parse_head(line) {
            Ok(()) | Err(JsonError::Cut) => judge(&record, line),
            Err(JsonError::Syntax { .. }) => continue,
        };
        best = best.max(confidence);
        if best == Confidence::Certain {
            break;
        }
    }
    best
}

/// Confidence from the fields of a line, which may be cut off.
fn judge(record: &Record, line: &[u8]) -> Confidence {
    let ours = match record.kind {
        // A list of entries before the type can fill the whole head.
        RecordType::Other => {
            let is_table = [&b"{\"str_id\":"[..], b"{\"frame_id\":"]
                .iter()
                .any(|entry| memmem::find(&line[..line.len().min(512)], entry).is_some());
            return if is_table { Confidence::Likely } else { Confidence::No };
        }
        RecordType::Meta => record.interval_us.is_some() || record.mode.is_some(),
        RecordType::End => record.samples_total.is_some(),
        RecordType::StringTable | RecordType::FrameTable | RecordType::Agg => true,
    };
    match (record.has_run_id || record.has_version, ours) {
        (true, _) => Confidence::Certain,
        (false, true) => Confidence::Likely,
        // Many JSON Lines formats have a `meta` or an `end`.
        (false, false) => Confidence::Possible,
    }
}

/// Trims blanks, tabs and CRs; returns the number of bytes removed at the start, and the rest.
fn trim(line: &[u8]) -> (usize, &[u8]) {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let start = line.iter().take_while(|byte| is_blank(byte)).count();
    let rest = &line[start..];
    let end = rest.iter().rev().take_while(|byte| is_blank(byte)).count();
    (start, &rest[..rest.len() - end])
}

impl LineRows for Records {
    const MAX_LINE_BYTES: usize = MAX_LINE_BYTES;
    const LINE_ENDS: LineEnds = LineEnds::Lf;
    const RECORD_NOUN: &'static str = "records";
    const ISSUES: &'static [&'static IssueKind] = issues::ALL;

    fn read(&mut self, line: Line<'_>, _is_last: bool, out: &mut TraceBuilder) {
        self.line(line, out);
    }

    fn describe(&self, out: &mut TraceBuilder) {
        let records = Records { runs: self.runs.clone(), n_by_type: self.n_by_type, ..Records::default() };
        records.hand_over(out);
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        if self.runs.is_empty() {
            return Err(nothing_found(&out.trace.ledger));
        }
        std::mem::take(self).hand_over(out);
        Ok(())
    }

    fn notes(&mut self) -> Option<Vec<u8>> {
        part::to_bytes(self)
    }

    fn merge(&mut self, rows: PartRows, notes: &[u8], n_lines: u64, out: &mut TraceBuilder) -> bool {
        part::join(self, rows, notes, n_lines, out)
    }
}

fn nothing_found(ledger: &Ledger) -> ImportError {
    let first = ledger.issues.first();
    let example = first.map_or("", |issue| issue.example.as_str());
    // A line that was too long to parse must not look like one that was parsed.
    let first = match first.filter(|issue| issue.kind.code == LINE_TOO_LONG.code) {
        Some(_) => format!(
            "the first line is longer than {}, the limit, and starts with",
            format_bytes(MAX_LINE_BYTES as u64)
        ),
        None => "the first line is".to_string(),
    };
    ImportError {
        code: "unknown-format",
        what: format!(
            "no Python sampling profile record in {}; {first}: {example}",
            counted(ledger.n_records(), "line", "lines")
        ),
        hint: "write one with python -m profiling.sampling run --jsonl -o FILE".to_string(),
    }
}

/// Everything read so far.
#[derive(Default)]
struct Records {
    record: Record,
    runs: Vec<RunTables>,
    run_by_id: BTreeMap<String, usize>,
    /// Run of the last record.
    last_run: usize,
    n_by_type: [u64; 6],
    /// State of a part; `None` for the whole file.
    part: Option<part::OfPart>,
}

/// A run being read. Ids are mapped to row numbers at once, in whatever order the tables come.
#[derive(Clone, Default, Serialize, Deserialize)]
struct RunTables {
    /// Until the run is handed over, paths and functions of its frames are row numbers of `strings`.
    run: ProfileRun,
    #[serde(skip)]
    string_rows: IdIndex,
    /// Id of each string in the file, in order of first appearance.
    string_ids: Vec<u64>,
    /// [`StringId::NONE`]: referred to, but not defined so far.
    strings: Vec<StringId>,
    #[serde(skip)]
    frame_rows: IdIndex,
    /// Index into `tables` of the last table that touched each row of the frames.
    frame_table: Vec<u32>,
    /// Places of records with frames or counts.
    tables: Vec<Place>,
    /// In a part: the entries of these records.
    #[serde(skip)]
    log: Log,
    first: Place,
    end: Option<Place>,
}

/// Compact file position.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Place {
    byte: u64,
    line: u64,
}

impl Place {
    fn position(self) -> Position {
        Position { byte: self.byte, line: Some(self.line) }
    }

    /// The same place after `n_lines` more lines.
    fn behind(self, n_lines: u64) -> Place {
        Place { line: self.line.saturating_add(n_lines), ..self }
    }
}

impl Records {
    /// Creates the state at the start of a part.
    fn of_part() -> Records {
        Records { part: Some(part::OfPart::default()), ..Records::default() }
    }

    fn line(&mut self, line: Line<'_>, out: &mut TraceBuilder) {
        let mark = if line.offset == 0 && line.bytes.starts_with(BYTE_ORDER_MARK) { 3 } else { 0 };
        let (blanks, bytes) = trim(&line.bytes[mark..]);
        let place = Place { byte: line.offset + (mark + blanks) as u64, line: line.number };
        let ledger = &mut out.trace.ledger;
        if line.too_long {
            ledger.skip_record(&LINE_TOO_LONG, place.position(), line.text_bytes, bytes);
            return;
        }
        if bytes.is_empty() {
            return;
        }
        let n_bytes = bytes.len() as u64;
        if self.record.parse(bytes).is_err() {
            ledger.skip_record(&BAD_LINE, place.position(), n_bytes, bytes);
            return;
        }
        self.n_by_type[self.record.kind as usize] += 1;
        if self.record.kind == RecordType::Other {
            ledger.skip_record(&IGNORED_RECORD, place.position(), n_bytes, bytes);
            return;
        }
        let Some(run) = self.run(place) else {
            if let Some(part) = &mut self.part {
                part.has_too_many_runs = true;
            }
            ledger.skip_record(&TOO_MANY_RUNS, place.position(), n_bytes, bytes);
            return;
        };
        let had_meta = self.runs[run].run.has_meta;
        if let Some(part) = &mut self.part
            && self.record.is_meta_read()
            && !had_meta
        {
            part.metas.push(part::FirstMeta::new(run, place, bytes, out.trace.ledger.issues.len()));
        }
        self.runs[run].add(&self.record, bytes, place, self.part.is_some(), out);
    }

    /// Number of the run of the record.
    fn run(&mut self, place: Place) -> Option<usize> {
        let run_id = &self.record.run_id;
        if self.runs.get(self.last_run).is_some_and(|last| last.run.run_id == *run_id) {
            return Some(self.last_run);
        }
        self.last_run = match self.run_by_id.get(run_id) {
            Some(run) => *run,
            None if self.runs.len() == MAX_RUNS => return None,
            None => self.add_run(run_id.clone(), place),
        };
        Some(self.last_run)
    }

    /// Adds a run whose first record is at `place`.
    fn add_run(&mut self, run_id: String, place: Place) -> usize {
        let number = self.runs.len();
        let run = ProfileRun { run_id: run_id.clone(), ..ProfileRun::default() };
        self.runs.push(RunTables { run, first: place, ..RunTables::default() });
        self.run_by_id.insert(run_id, number);
        number
    }

    /// Adds the runs to the trace.
    fn hand_over(self, out: &mut TraceBuilder) {
        let trace = &mut out.trace;
        const NAMES: [&str; 6] = ["meta", "string_table", "frame_table", "agg", "end", "other"];
        let kinds = NAMES.iter().zip(self.n_by_type).filter(|(_, n)| *n > 0);
        trace.source.record_kinds = kinds.map(|(name, n)| (name.to_string(), n)).collect();
        trace.profiles = self.runs.into_iter().map(|run| run.hand_over(&mut trace.ledger)).collect();
        if trace.profiles.is_empty() {
            return;
        }
        let newer = trace.profiles.iter().find_map(|run| run.unsupported_version.as_deref());
        trace.source.producer = Some(match newer {
            None => "CPython profiling.sampling (format version 0)".to_string(),
            Some(version) => format!("CPython profiling.sampling (format version {version})"),
        });
        if let [run] = &trace.profiles[..] {
            let facts = [
                ("run_id", Some(run.run_id.clone())),
                ("mode", run.mode.clone()),
                ("sample_interval_usec", run.sample_interval_us.map(|interval| interval.to_string())),
            ];
            trace.source.metadata = facts
                .into_iter()
                .filter_map(|(name, value)| Some((name.to_string(), value.filter(|text| !text.is_empty())?)))
                .collect();
        }
    }
}

impl RunTables {
    /// Applies one record of the run; `line` is its text. In a part, frames and counts are only logged.
    fn add(&mut self, record: &Record, line: &[u8], place: Place, is_part: bool, out: &mut TraceBuilder) {
        let n_bytes = line.len() as u64;
        let at = place.position();
        if let Some(version) = &record.unsupported {
            self.run.n_unsupported_version += 1;
            let version = || text::example(&line[version.clone()], 20);
            self.run.unsupported_version.get_or_insert_with(version);
            return out.trace.ledger.skip_record(&UNSUPPORTED_VERSION, at, n_bytes, line);
        }
        match record.kind {
            RecordType::Meta if self.run.has_meta => {
                self.run.n_duplicate_meta += 1;
                return out.trace.ledger.skip_record(&DUPLICATE_META, at, n_bytes, line);
            }
            RecordType::Meta => {
                self.run.has_meta = true;
                self.run.mode = record.mode.clone();
                self.run.sample_interval_us = record.interval_us;
            }
            RecordType::StringTable => {
                for entry in &record.strings {
                    let id = out.trace.strings.intern(&record.text[entry.text.clone()]);
                    let row = self.string_row(entry.id);
                    self.run.n_strings += u64::from(self.strings[row].is_none());
                    self.strings[row] = id;
                    if entry.replaced {
                        let example = record.text[entry.text.clone()].as_bytes();
                        out.trace.ledger.file(&REPLACED_TEXT, at, example);
                    }
                }
            }
            RecordType::FrameTable => {
                let table = self.tables.len() as u32;
                self.tables.push(place);
                match is_part {
                    true => self.log.add_frames(table, &record.frames),
                    false => record.frames.iter().for_each(|entry| self.add_frame(entry, table)),
                }
            }
            RecordType::Agg if !(record.counts_frames && record.is_final) => {
                self.run.n_ignored_agg += 1;
                return out.trace.ledger.skip_record(&IGNORED_AGG, at, n_bytes, line);
            }
            RecordType::Agg => {
                let table = self.tables.len() as u32;
                self.tables.push(place);
                match is_part {
                    true => self.log.add_counts(table, &record.entries),
                    false => record.entries.iter().for_each(|entry| self.add_count(entry, table)),
                }
                self.run.agg_samples_total = record.samples_total.or(self.run.agg_samples_total);
            }
            RecordType::End => {
                self.end = Some(place);
                self.run.complete = true;
                self.run.n_end_records += 1;
                self.run.end_samples_total = record.samples_total.or(self.run.end_samples_total);
            }
            RecordType::Other => {}
        }
        let ledger = &mut out.trace.ledger;
        if matches!(record.kind, RecordType::Agg | RecordType::End) && record.samples_total.is_none() {
            ledger.file(&BAD_TOTAL, at, line);
        }
        let none = SkippedEntries::default();
        let (skipped, replaced) = match record.kind {
            RecordType::StringTable => {
                (&record.skipped_strings, record.strings.iter().any(|entry| entry.replaced))
            }
            RecordType::FrameTable => (&record.skipped_frames, false),
            RecordType::Agg => (&record.skipped_entries, false),
            _ => (&none, false),
        };
        self.run.n_skipped_entries += skipped.n;
        if let Some(first) = &skipped.first {
            let at = Position { byte: place.byte + first.start as u64, line: Some(place.line) };
            for _ in 0..skipped.n {
                ledger.file(&SKIPPED_ENTRY, at, &line[first.clone()]);
            }
        }
        if skipped.n == 0 && !replaced { ledger.keep(n_bytes) } else { ledger.repair(n_bytes) }
    }

    /// Sets the code location of a frame, from a table given by number.
    #[inline]
    fn add_frame(&mut self, entry: &FrameEntry, table: u32) {
        let row = self.frame_row(entry.id, table);
        let path = self.string_row(entry.path) as u32;
        let func = self.string_row(entry.func) as u32;
        let frames = &mut self.run.frames;
        frames.path[row] = StringId(path);
        frames.func[row] = StringId(func);
        frames.line.set(row, Some(entry.line));
        frames.end_line.set(row, entry.end_line);
        frames.col.set(row, entry.col);
        frames.end_col.set(row, entry.end_col);
        frames.has_frame[row] = true;
    }

    /// Sets the counts of a frame, from a table given by number.
    #[inline]
    fn add_count(&mut self, entry: &AggEntry, table: u32) {
        let row = self.frame_row(entry.frame, table);
        let frames = &mut self.run.frames;
        frames.self_samples[row] = entry.self_samples;
        frames.cumulative[row] = entry.cumulative;
        frames.has_counts[row] = true;
    }

    /// Row of a string id, added if new.
    fn string_row(&mut self, id: u64) -> usize {
        let (row, new) = self.string_rows.row(id);
        if new {
            self.string_ids.push(id);
            self.strings.push(StringId::NONE);
        }
        row
    }

    /// Row of a frame id, added if new and marked as touched by a table given by number.
    #[inline]
    fn frame_row(&mut self, id: u64, table: u32) -> usize {
        let (row, new) = self.frame_rows.row(id);
        if new {
            self.run.frames.push(id);
            self.frame_table.push(0);
        }
        self.frame_table[row] = table;
        row
    }

    /// Resolves row numbers to names and sorts rows by id; missing data and wrong sums go to the ledger.
    fn hand_over(mut self, ledger: &mut Ledger) -> ProfileRun {
        let frames = &mut self.run.frames;
        for row in 0..frames.len() {
            if frames.has_frame[row] {
                let resolve = |name: &mut StringId| {
                    *name = self.strings[name.0 as usize];
                    name.is_none()
                };
                let at = self.tables[self.frame_table[row] as usize].position();
                let missing = [resolve(&mut frames.path[row]), resolve(&mut frames.func[row])];
                for _ in missing.iter().filter(|missing| **missing) {
                    ledger.file(&DANGLING_STRING, at, example_of(frames.frame_id[row]).as_bytes());
                }
            }
        }
        let order = frames.sort_by_id();
        let stated = self.run.stated_samples();
        let frames = &self.run.frames;
        for (row, old_row) in order.iter().enumerate() {
            let at = self.tables[self.frame_table[*old_row as usize] as usize].position();
            let mut file = |kind: &'static IssueKind| {
                ledger.file(kind, at, example_of(frames.frame_id[row]).as_bytes());
            };
            match (frames.has_frame[row], frames.has_counts[row]) {
                (false, _) => file(&DANGLING_FRAME),
                (true, false) => file(&FRAME_WITHOUT_COUNTS),
                (true, true) => {}
            }
            if frames.self_samples[row] > frames.cumulative[row] {
                file(&SELF_OVER_CUMULATIVE);
            }
            if stated.is_some_and(|stated| frames.cumulative[row] > stated) {
                file(&CUMULATIVE_OVER_TOTAL);
            }
        }
        let checks = self.run.checks();
        let at = self.end.unwrap_or(self.first).position();
        if let Some(sum) = checks.sum_self_differs {
            let example = format!("{sum} instead of {}", self.run.samples());
            ledger.file(&SELF_NOT_TOTAL, at, example.as_bytes());
        }
        if let Some((agg, end)) = checks.totals_differ {
            ledger.file(&TOTALS_DIFFER, at, format!("{agg} and {end}").as_bytes());
        }
        // A run without any readable record is reported as such already.
        if !self.run.complete && (self.run.has_meta || !self.tables.is_empty() || self.run.n_strings > 0) {
            ledger.file(&INCOMPLETE_RUN, self.first.position(), self.run.run_id.as_bytes());
        }
        self.run
    }
}

fn example_of(frame_id: u64) -> String {
    format!("frame {frame_id}")
}
