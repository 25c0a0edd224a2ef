//! Header of a capture.

use super::cursor::{Cursor, Stop};

/// First bytes of every capture.
pub const MAGIC: &[u8] = b"memray\0";

/// Supported header versions: memray 1.11 to 1.18, 1.19, 1.20.
pub const VERSIONS: std::ops::RangeInclusive<i32> = 11..=13;

/// [`Header::file_format`] of captures made with `--aggregate`.
pub const AGGREGATED: u8 = 1;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Header {
    pub version: i32,
    /// `sys.hexversion`; not recorded before version 12.
    pub python_version: Option<i32>,
    pub native_traces: bool,
    /// 0: every allocation; [`AGGREGATED`]: sums by stack.
    pub file_format: u8,
    /// 0 until the capture is closed.
    pub n_allocations: u64,
    pub n_frames: u64,
    /// Milliseconds since the Unix epoch.
    pub start_ms: i64,
    /// Milliseconds since the Unix epoch; 0 until the capture is closed.
    pub end_ms: i64,
    pub command_line: String,
    pub pid: i32,
    pub main_tid: u64,
    /// Outermost frames of the main thread that belong to memray.
    pub skipped_frames: u64,
    pub python_allocator: u8,
    pub trace_python_allocators: bool,
    pub track_object_lifetimes: bool,
}

impl Header {
    /// Reads what follows [`MAGIC`] and a supported version.
    pub fn read(version: i32, cursor: &mut Cursor<'_>) -> Result<Header, Stop> {
        let header = Header {
            version,
            python_version: if version >= 12 { Some(cursor.i32()?) } else { None },
            native_traces: cursor.flag()?,
            file_format: cursor.u8()?,
            n_allocations: cursor.u64()?,
            n_frames: cursor.u64()?,
            start_ms: cursor.i64()?,
            end_ms: cursor.i64()?,
            command_line: String::from_utf8_lossy(cursor.text()?).into_owned(),
            pid: cursor.i32()?,
            main_tid: cursor.u64()?,
            skipped_frames: cursor.u64()?,
            python_allocator: cursor.u8()?,
            trace_python_allocators: cursor.flag()?,
            track_object_lifetimes: if version >= 12 { cursor.flag()? } else { false },
        };
        if version >= 13 {
            cursor.text()?;
            // Site-packages, then the import path.
            for _ in 0..2 {
                while !cursor.text()?.is_empty() {}
            }
        }
        Ok(header)
    }

    pub fn is_aggregated(&self) -> bool {
        self.file_format == AGGREGATED
    }

    /// Name of Python's allocator, as memray prints it.
    pub fn python_allocator_name(&self) -> &'static str {
        match self.python_allocator {
            1 => "pymalloc",
            2 => "pymalloc debug",
            3 => "malloc",
            5 => "mimalloc",
            6 => "mimalloc debug",
            _ => "other",
        }
    }

    /// `3.12.1`, if recorded.
    pub fn python_version_text(&self) -> Option<String> {
        let version = self.python_version? as u32;
        Some(format!("{}.{}.{}", version >> 24, version >> 16 & 0xff, version >> 8 & 0xff))
    }
}
