//! A part of a fleet dataset: rows of one table for some files of a run, as `tracedrop fleet add` writes them.
//!
//! Columns and units are in `docs/tables.md`. Times are nanoseconds. `None` and [`StringId::NONE`]: the value is missing.

use crate::base::strings::StringId;
use serde::{Deserialize, Serialize};

/// A part.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FleetPart {
    /// Run, from the folder of the part.
    pub run: StringId,
    /// File name of the part, which is the same in all tables.
    pub name: StringId,
    pub rows: FleetRows,
}

/// Rows in file order, by table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum FleetRows {
    Runs(Vec<RunRow>),
    Files(Vec<FileRow>),
    Steps(Vec<StepRow>),
    /// Rows of a table that is not read.
    NotRead,
}

/// Sums over the files of a part.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct RunRow {
    pub build: StringId,
    pub n_files: Option<i64>,
    pub n_unreadable: Option<i64>,
}

/// A trace file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FileRow {
    pub rank: Option<i64>,
    pub host: StringId,
    pub file: StringId,
    pub grade: StringId,
    /// Reason why the file cannot be read.
    pub error: StringId,
}

/// A step on a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepRow {
    pub rank: Option<i64>,
    pub device: StringId,
    pub step: StringId,
    pub phase: StringId,
    /// From the start of the trace.
    pub start: Option<i64>,
    pub gpu_time: i64,
    pub computation: Option<i64>,
    pub exposed_communication: Option<i64>,
    pub exposed_copies: Option<i64>,
    pub idle: Option<i64>,
}

impl FleetPart {
    /// Calls `each` with every text.
    pub fn for_each_text(&mut self, mut each: impl FnMut(&mut StringId)) {
        [&mut self.run, &mut self.name].into_iter().for_each(&mut each);
        match &mut self.rows {
            FleetRows::Runs(rows) => rows.iter_mut().for_each(|row| each(&mut row.build)),
            FleetRows::Files(rows) => rows
                .iter_mut()
                .flat_map(|row| [&mut row.host, &mut row.file, &mut row.grade, &mut row.error])
                .for_each(each),
            FleetRows::Steps(rows) => rows
                .iter_mut()
                .flat_map(|row| [&mut row.device, &mut row.step, &mut row.phase])
                .for_each(each),
            FleetRows::NotRead => {}
        }
    }

    /// Whether no text is out of bounds: it may come from untrusted data.
    pub fn is_sound(&self, n_strings: usize) -> bool {
        let mut is_sound = true;
        self.clone().for_each_text(|id| is_sound &= id.is_none() || (id.0 as usize) < n_strings);
        is_sound
    }
}
