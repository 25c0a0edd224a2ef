//! Issues that leave a part of the file unread, so that all numbers are of the rest: by their codes, for all formats.

use super::{Ledger, Run};
use crate::base::units::counted;

/// Why a part of a file was not read, the most telling first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Loss {
    /// The file ends too early.
    Truncated,
    /// Parts of the file can't be parsed.
    Damaged,
    /// Reading ended before the file did.
    Stopped,
}

/// Codes of the issues. Records that are skipped one by one, since they are invalid, are counted in the ledger instead.
pub const LOSSES: &[(&str, Loss)] = &[
    ("packed-cut-off", Loss::Truncated),
    ("cut-event", Loss::Truncated),
    ("cut-member", Loss::Truncated),
    ("object-not-closed", Loss::Truncated),
    ("sqlite-truncated", Loss::Truncated),
    ("capture-truncated", Loss::Truncated),
    ("stacks-truncated", Loss::Truncated),
    ("xplane-truncated", Loss::Truncated),
    ("perfetto-truncated", Loss::Truncated),
    ("memray-cut", Loss::Truncated),
    ("memory-snapshot-cut", Loss::Truncated),
    ("sway-cut", Loss::Truncated),
    ("packed-damaged", Loss::Damaged),
    ("sqlite-damaged-page", Loss::Damaged),
    ("capture-damaged-table", Loss::Damaged),
    ("capture-damaged-column", Loss::Damaged),
    ("stacks-broken", Loss::Damaged),
    ("xplane-damaged", Loss::Damaged),
    ("perfetto-corrupt", Loss::Damaged),
    ("memray-damaged", Loss::Damaged),
    ("memory-snapshot-damaged", Loss::Damaged),
    ("mrm-damaged-group", Loss::Damaged),
    ("fleet-damaged-group", Loss::Damaged),
    ("read-stopped", Loss::Stopped),
    ("size-changed", Loss::Stopped),
    ("zstd-window-too-large", Loss::Stopped),
    ("stacks-too-large", Loss::Stopped),
];

impl Loss {
    /// The loss that an issue with that code tells of, if any.
    pub fn of_code(code: &str) -> Option<Loss> {
        LOSSES.iter().find(|(known, _)| *known == code).map(|(_, loss)| *loss)
    }

    /// Sentence on `files`, in the words of a subject: `The file`, `a.json and 2 other files`.
    fn words(self, files: &str, n_files: usize) -> String {
        let are = if n_files == 1 { "is" } else { "are" };
        match self {
            Loss::Truncated => format!("{files} {are} truncated: numbers cover only what could be read."),
            Loss::Damaged => format!("{files} {are} damaged: numbers cover only what could be read."),
            Loss::Stopped => {
                let have = if n_files == 1 { "was" } else { "were" };
                format!("{files} {have} read only in part: numbers cover only that.")
            }
        }
    }
}

impl Ledger {
    /// Why a part of the file was not read; the most telling reason if there are several.
    pub fn loss(&self) -> Option<Loss> {
        self.issues.iter().filter_map(|issue| Loss::of_code(issue.kind.code)).min()
    }
}

/// What is missing from the files of `run`, a sentence per kind of loss.
pub fn sentences(run: &Run) -> Vec<String> {
    sentences_on(run, (run.traces.len() == 1).then_some("The file"))
}

/// Like [`sentences`], for a place where several runs are told of: a file is always named.
pub fn of_named_files(run: &Run) -> Vec<String> {
    sentences_on(run, None)
}

fn sentences_on(run: &Run, only_file: Option<&str>) -> Vec<String> {
    let all = [Loss::Truncated, Loss::Damaged, Loss::Stopped];
    let sentence = |loss: Loss| {
        let with_it = || run.traces.iter().filter(|trace| trace.ledger.loss() == Some(loss));
        let (n, name) = (with_it().count(), &with_it().next()?.source.file_name);
        let files = match (only_file, n) {
            (Some(file), _) => file.to_string(),
            (None, 1) => name.clone(),
            (None, n) => format!("{name} and {}", counted(n as u64 - 1, "other file", "other files")),
        };
        Some(loss.words(&files, n))
    };
    all.into_iter().filter_map(sentence).collect()
}
