//! Texts while a file is parsed.

use super::{duration, number};
use tracedrop::base::units::format_bytes;

/// Texts while a file is parsed.
pub struct ReadingWords {
    pub reading: &'static str,
    pub making_reports: &'static str,
    /// Percentage of the reports that are built.
    pub making_percent: fn(u8) -> String,
    /// Reports are rebuilt after a setting was changed.
    pub making_again: &'static str,
    pub making_again_percent: fn(u8) -> String,
    pub stopping: &'static str,
    pub stop: &'static str,
    pub discard: &'static str,
    pub read_so_far: &'static str,
    pub bytes_of: fn(u64, u64) -> String,
    pub speed: &'static str,
    pub bytes_per_second: fn(f64) -> String,
    pub time_left: &'static str,
    pub seconds_left: fn(f64) -> String,
    pub records: &'static str,
    pub count: fn(u64) -> String,
    pub format_unknown_yet: &'static str,
    pub spoken_progress: fn(u64) -> String,
}

pub const ENGLISH: ReadingWords = ReadingWords {
    reading: "Parsing",
    making_reports: "Building reports",
    making_percent: |percent| format!("Building reports: {percent}%"),
    making_again: "Rebuilding reports",
    making_again_percent: |percent| format!("Rebuilding reports: {percent}%"),
    stopping: "Stopping; keeping what was parsed",
    stop: "Stop",
    discard: "Discard",
    read_so_far: "Read",
    bytes_of: |read, total| match total {
        0 => format_bytes(read),
        total => format!("{} of {}", format_bytes(read), format_bytes(total)),
    },
    speed: "Speed",
    bytes_per_second: |rate| format!("{}/s", format_bytes(rate as u64)),
    time_left: "Time left",
    seconds_left: duration,
    records: "Records",
    count: number,
    format_unknown_yet: "detecting…",
    spoken_progress: |percent| format!("{percent}% read"),
};
