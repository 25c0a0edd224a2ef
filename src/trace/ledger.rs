//! Parsing details: counts of records, bytes and issues, so that nothing is lost silently.
//!
//! Every record is counted once, as kept, repaired or skipped, with its bytes. Unused text outside of records is counted
//! separately; white space, brackets and other framing is counted where it is seen. So the sum is a check: bytes that are not
//! counted belong to something that was lost ([`Ledger::unaccounted_bytes`]). Issues are counted by kind, with the place of
//! the first one and a short example.

use crate::base::text;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Severity of an issue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Worth knowing; nothing was changed or lost.
    Note,
    /// The record was kept, with the stated change.
    Repaired,
    /// Something was not used.
    Skipped,
}

/// Kind of an issue, declared as a constant next to the code that finds it.
#[derive(PartialEq, Eq, Debug)]
pub struct IssueKind {
    /// Stable name in kebab case, unique in the library.
    pub code: &'static str,
    pub severity: Severity,
    /// Problem and treatment, lower case, no final dot: `line is not JSON, skipped`.
    pub what: &'static str,
    /// Advice for the user; empty if there is nothing to do.
    pub hint: &'static str,
    /// Number of offending texts kept as examples.
    pub n_examples: u64,
}

/// Declares the issue kinds of a module: a static for each, and `ALL` of them. One example is kept by default.
macro_rules! issue_kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $severity:ident, $what:literal, $hint:literal $(, $n_examples:literal)?;)*) => {
        $($(#[$doc])* pub static $name: $crate::trace::IssueKind = $crate::trace::IssueKind {
            code: $code,
            severity: $crate::trace::Severity::$severity,
            what: $what,
            hint: $hint,
            n_examples: [$($n_examples,)? 1][0],
        };)*

        /// All kinds of this module.
        pub static ALL: &[&$crate::trace::IssueKind] = &[$(&$name),*];
    };
}
pub(crate) use issue_kinds;

/// Position in the decompressed file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Position {
    /// Offset in bytes.
    pub byte: u64,
    /// Line from 1, in formats that have lines.
    pub line: Option<u64>,
}

impl Position {
    /// Position of an issue that concerns the whole file, or several places.
    pub const NOWHERE: Position = Position { byte: u64::MAX, line: None };

    /// Offset in bytes, if there is one place.
    pub fn known_byte(&self) -> Option<u64> {
        (*self != Position::NOWHERE).then_some(self.byte)
    }
}

/// All issues of one kind.
#[derive(Clone, Debug)]
pub struct Issue {
    pub kind: &'static IssueKind,
    pub count: u64,
    pub first: Position,
    /// Start of the first offending text, with control characters escaped; some kinds have more examples, one per line
    /// ([`IssueKind::n_examples`]).
    pub example: String,
}

impl Issue {
    /// Creates one issue with `example` as its text.
    pub fn new(kind: &'static IssueKind, at: Position, example: &[u8]) -> Issue {
        Issue { kind, count: 1, first: at, example: text::example(example, EXAMPLE_CHARS) }
    }

    /// Adds others of the same kind, which are all after these, or all before.
    fn add(&mut self, mut other: Issue) {
        self.count += other.count;
        if other.first.byte < self.first.byte {
            self.first = other.first;
            std::mem::swap(&mut self.example, &mut other.example);
        }
        let n_own = self.example.lines().count() as u64;
        for example in other.example.lines().take(self.kind.n_examples.saturating_sub(n_own) as usize) {
            self.example.push('\n');
            self.example.push_str(example);
        }
    }
}

/// [`Issue`] for another program, with the code of its kind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NamedIssue {
    code: String,
    count: u64,
    first: Position,
    example: String,
}

impl From<Issue> for NamedIssue {
    fn from(Issue { kind, count, first, example }: Issue) -> NamedIssue {
        NamedIssue { code: kind.code.to_string(), count, first, example }
    }
}

impl NamedIssue {
    /// Resolves the kind by its code with `find`; `None` if unknown.
    pub fn of_kind(self, find: impl FnOnce(&str) -> Option<&'static IssueKind>) -> Option<Issue> {
        let kind = find(&self.code)?;
        Some(Issue { kind, count: self.count, first: self.first, example: self.example })
    }
}

/// Number of records and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    pub records: u64,
    pub bytes: u64,
}

impl Tally {
    fn add(&mut self, bytes: u64) {
        self.records += 1;
        self.bytes += bytes;
    }

    fn remove(&mut self, bytes: u64) {
        self.records = self.records.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// Parsing details of one file.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// File size on disk; 0 if unknown (standard input).
    pub file_bytes: u64,
    /// Bytes read from the file; less than `file_bytes` if reading stopped early.
    pub file_bytes_read: u64,
    /// Bytes after decompression, equal to `file_bytes_read` without compression.
    pub content_bytes: u64,
    pub kept: Tally,
    pub repaired: Tally,
    pub skipped: Tally,
    /// Bytes that are neither records nor framing: stray text, and text after the end.
    pub unused_bytes: u64,
    /// Bytes between records, as far as recognized: see [`Ledger::frame`].
    pub framing_bytes: u64,
    /// Plural noun for records: `events`, `lines`, `records`.
    pub record_noun: Cow<'static, str>,
    /// In order of first appearance.
    pub issues: Vec<Issue>,
}

/// Longest example, in characters.
const EXAMPLE_CHARS: usize = 80;

impl Ledger {
    /// Counts a record of `bytes` as kept unchanged.
    #[inline]
    pub fn keep(&mut self, bytes: u64) {
        self.kept.add(bytes);
    }

    /// Counts `n` records, together `bytes`, as kept unchanged.
    pub fn keep_records(&mut self, n: u64, bytes: u64) {
        self.kept.records += n;
        self.kept.bytes += bytes;
    }

    /// Counts `n` records as skipped; report the reason with [`Ledger::file`].
    pub fn skip_records(&mut self, n: u64, bytes: u64) {
        self.skipped.records += n;
        self.skipped.bytes += bytes;
    }

    /// Counts a record of `bytes` as repaired; report the change with [`Ledger::file`].
    pub fn repair(&mut self, bytes: u64) {
        self.repaired.add(bytes);
    }

    /// Counts a record of `bytes` as skipped; report the reason with [`Ledger::file`].
    pub fn skip(&mut self, bytes: u64) {
        self.skipped.add(bytes);
    }

    /// Counts `bytes` outside of records as unused; report the reason with [`Ledger::file`].
    pub fn leave_out(&mut self, bytes: u64) {
        self.unused_bytes += bytes;
    }

    /// Counts `bytes` as framing: white space, brackets, commas, line ends, comments, headers, keys around lists.
    #[inline]
    pub fn frame(&mut self, bytes: u64) {
        self.framing_bytes += bytes;
    }

    /// Moves a kept record to the skipped ones, if it turns out unusable when events are joined.
    pub fn kept_to_skipped(&mut self, bytes: u64) {
        self.kept.remove(bytes);
        self.skipped.add(bytes);
    }

    /// Moves `n` kept records, together `bytes`, to the skipped ones, because of an issue of `kind` from `at` on.
    pub fn kept_to_skipped_records(&mut self, kind: &'static IssueKind, n: u64, bytes: u64, at: Position) {
        self.kept.records = self.kept.records.saturating_sub(n);
        self.kept.bytes = self.kept.bytes.saturating_sub(bytes);
        self.skip_records(n, bytes);
        self.issues.push(Issue { kind, count: n, first: at, example: String::new() });
    }

    /// Moves a repaired record to the skipped ones, if it turns out unusable when events are joined.
    pub fn repaired_to_skipped(&mut self, bytes: u64) {
        self.repaired.remove(bytes);
        self.skipped.add(bytes);
    }

    /// Moves a kept record to the repaired ones, if it is changed when events are joined.
    pub fn kept_to_repaired(&mut self, bytes: u64) {
        self.kept.remove(bytes);
        self.repaired.add(bytes);
    }

    /// Reports one issue. Records are counted separately, since one may have several issues.
    pub fn file(&mut self, kind: &'static IssueKind, at: Position, example: &[u8]) {
        match self
            .issues
            .iter_mut()
            .find(|issue| std::ptr::eq(issue.kind, kind) || issue.kind.code == kind.code)
        {
            // No example is needed, so none is made.
            Some(issue) if at.byte >= issue.first.byte && issue.count >= kind.n_examples => issue.count += 1,
            Some(issue) => issue.add(Issue::new(kind, at, example)),
            None => self.issues.push(Issue::new(kind, at, example)),
        }
    }

    /// Reports `issue` as if it had come up when there were `n_before` kinds of issues, although others were reported since.
    pub fn file_late(&mut self, n_before: usize, mut issue: Issue) {
        match self.issues.iter().position(|own| own.kind.code == issue.kind.code) {
            Some(at) if at < n_before => {
                if let Some(own) = self.issues.get_mut(at) {
                    own.add(issue);
                }
            }
            Some(at) => {
                issue.add(self.issues.remove(at));
                self.issues.insert(n_before.min(self.issues.len()), issue);
            }
            None => self.issues.insert(n_before.min(self.issues.len()), issue),
        }
    }

    /// Shifts line numbers by the `n_lines` lines before the first one.
    pub fn count_lines_from(&mut self, n_lines: u64) {
        for line in self.issues.iter_mut().filter_map(|issue| issue.first.line.as_mut()) {
            *line = line.saturating_add(n_lines);
        }
    }

    /// Adds the ledger of another part of the same file. `file_bytes`, `file_bytes_read` and `content_bytes` stay.
    pub fn absorb(&mut self, other: Ledger) {
        for (own, other) in [
            (&mut self.kept, other.kept),
            (&mut self.repaired, other.repaired),
            (&mut self.skipped, other.skipped),
        ] {
            own.records += other.records;
            own.bytes += other.bytes;
        }
        self.unused_bytes += other.unused_bytes;
        self.framing_bytes += other.framing_bytes;
        for issue in other.issues {
            match self.issues.iter_mut().find(|own| own.kind.code == issue.kind.code) {
                Some(own) => own.add(issue),
                None => self.issues.push(issue),
            }
        }
    }

    /// Counts a record as skipped and reports why.
    pub fn skip_record(&mut self, kind: &'static IssueKind, at: Position, bytes: u64, example: &[u8]) {
        self.skip(bytes);
        self.file(kind, at, example);
    }

    /// Number of records: kept + repaired + skipped.
    pub fn n_records(&self) -> u64 {
        self.kept.records + self.repaired.records + self.skipped.records
    }

    /// Bytes counted as records, framing or unused; equal to [`Ledger::content_bytes`] once a file is read.
    pub fn accounted_bytes(&self) -> u64 {
        self.kept.bytes + self.repaired.bytes + self.skipped.bytes + self.unused_bytes + self.framing_bytes
    }

    /// Bytes not counted as anything.
    pub fn unaccounted_bytes(&self) -> u64 {
        self.content_bytes.saturating_sub(self.accounted_bytes())
    }

    /// Issue of `code`, if any.
    pub fn issue(&self, code: &str) -> Option<&Issue> {
        self.issues.iter().find(|issue| issue.kind.code == code)
    }

    /// Number of issues of `code`.
    pub fn count_of(&self, code: &str) -> u64 {
        self.issue(code).map_or(0, |issue| issue.count)
    }

    /// Highest severity of all issues.
    pub fn severity(&self) -> Option<Severity> {
        self.issues.iter().map(|issue| issue.kind.severity).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: IssueKind =
        IssueKind { code: "odd", severity: Severity::Skipped, what: "odd, skipped", hint: "", n_examples: 1 };
    static ODD_KIND: IssueKind = ODD;

    static OTHER_KIND: IssueKind =
        IssueKind { code: "other", severity: Severity::Note, what: "other", hint: "", n_examples: 3 };

    /// An issue reported late is in the place it would have had.
    #[test]
    fn what_turns_out_late_is_filed_in_its_place() {
        let at = |byte| Position { byte, line: None };
        let filed = [(&ODD_KIND, 10), (&OTHER_KIND, 20), (&ODD_KIND, 30), (&OTHER_KIND, 40)];
        let mut in_order = Ledger::default();
        filed.iter().for_each(|(kind, byte)| in_order.file(kind, at(*byte), b""));
        for late in 0..filed.len() {
            let (mut ledger, mut n_before) = (Ledger::default(), 0);
            for (index, (kind, byte)) in filed.iter().enumerate() {
                if index == late {
                    n_before = ledger.issues.len();
                } else {
                    ledger.file(kind, at(*byte), b"");
                }
            }
            ledger.file_late(n_before, Issue::new(filed[late].0, at(filed[late].1), b""));
            let shape = |ledger: &Ledger| -> Vec<(&str, u64, u64)> {
                ledger.issues.iter().map(|issue| (issue.kind.code, issue.count, issue.first.byte)).collect()
            };
            assert_eq!(shape(&ledger), shape(&in_order), "{late}");
        }
    }

    /// Kinds with several examples keep the first ones, across parts.
    #[test]
    fn several_examples_are_the_first_ones() {
        let file = |range: std::ops::Range<u64>| {
            let mut ledger = Ledger::default();
            for byte in range {
                ledger.file(&OTHER_KIND, Position { byte, line: None }, format!("no {byte}").as_bytes());
            }
            ledger
        };
        for cut in 0..=7 {
            let mut ledger = file(0..cut);
            ledger.absorb(file(cut..7));
            let issue = ledger.issue("other").unwrap();
            assert_eq!((issue.count, issue.example.as_str()), (7, "no 0\nno 1\nno 2"), "{cut}");
        }
    }

    #[test]
    fn keeps_the_first_place() {
        let mut ledger = Ledger { content_bytes: 100, ..Ledger::default() };
        ledger.keep(40);
        ledger.skip_record(&ODD_KIND, Position { byte: 70, line: None }, 10, b"later");
        ledger.skip_record(&ODD_KIND, Position { byte: 50, line: Some(2) }, 20, b"ear\nlier");
        ledger.frame(25);
        let issue = ledger.issue("odd").unwrap();
        assert_eq!((issue.count, issue.first.byte, issue.example.as_str()), (2, 50, "ear\\nlier"));
        assert_eq!((ledger.n_records(), ledger.framing_bytes, ledger.unaccounted_bytes()), (3, 25, 5));
    }
}
