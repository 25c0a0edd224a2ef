//! XPlane profiles (`.xplane.pb`): a protocol buffer (`XSpace`) of the profilers of JAX, TensorFlow and PyTorch/XLA, for GPUs and TPUs.
//!
//! ```text
//! plane /device:GPU:0
//!   line Stream #17(Kernel), timestamp_ns 911061
//!     event metadata_id 4, offset_ps 44445516000, duration_ps 4280000, correlation_id 243
//!   event_metadata 4 → loop_transpose_fusion.kd
//! plane /host:CPU …
//! ```
//! Definition: `xplane.proto` of openxla/xprof 2.24. Planes become processes, lines threads, streams of GPUs those of Kineto, so that
//! all GPU reports work on them. Lines derived from others (`XLA Modules`, `Steps`) are shown, and are no time of a GPU. Operations of
//! a TPU are its kernels, unless others run inside of them (loops).
//!
//! Names may come after what refers to them, so those of all planes are read first, from the lent file, past the lines; events are
//! decoded as they stream by (`import::lent`).
//!
//! Quirks: values of 0 are not written; the maps may come after the lines; `timestamp_ns` is 0 in some writers; times are picoseconds,
//! which are rounded; aggregated events have a count and no time.

mod framing;
mod issues;
mod names;
mod rows;
mod stats;

use self::framing::{Framing, Level, Piece};
use self::issues::*;
use self::rows::Rows;
use super::kineto::Place;
use super::lent::{self, LentReader};
use super::{Confidence, FormatInfo, ImportError};
use crate::base::protobuf::{Fields, Value, key, varint};
use crate::trace::args::Content;
use crate::trace::{Position, TraceBuilder};
use std::rc::Rc;

pub static INFO: FormatInfo = FormatInfo {
    id: "xplane",
    title: "XPlane profile (XProf)",
    producers: "jax.profiler, TensorFlow, PyTorch/XLA",
    extensions: &["xplane.pb", "pb"],
    sniff,
    reader: || Box::new(LentReader::<Profile>::default()),
    parts: None,
    has_events: true,
    issues: issues::ALL,
};

/// The first plane has its number, or its name: `/host:CPU`, `/device:GPU:0`, `Task Environment`.
fn sniff(head: &[u8]) -> Confidence {
    let mut at = 0;
    if varint(head, &mut at) != Some(key::bytes(1)) {
        return Confidence::No;
    }
    if is_converted(head) {
        return Confidence::No;
    }
    let Some(len) = varint(head, &mut at).and_then(|len| usize::try_from(len).ok()) else {
        return Confidence::No;
    };
    let plane = &head[at..at.saturating_add(len).min(head.len())];
    for (i, field) in Fields::new(plane).enumerate() {
        match field {
            (1, Value::Number(_)) if i == 0 => {}
            (2, Value::Bytes(name)) if name.starts_with(b"/") || name == b"Task Environment" => {
                return Confidence::Certain;
            }
            (2, _) => return Confidence::No,
            // Other fields may come before the name.
            (3..=6, Value::Bytes(_)) if i > 0 => {}
            _ => return Confidence::No,
        }
    }
    Confidence::No
}

/// Whether the content is a message that was converted as text: the length of its first field became U+FFFD, and all is UTF-8.
pub fn is_converted(head: &[u8]) -> bool {
    let is_text =
        |text: &[u8]| std::str::from_utf8(text).map_or_else(|error| error.error_len().is_none(), |_| true);
    head.starts_with(b"\x0a\xef\xbf\xbd") && is_text(head)
}

/// A profile whose names were read.
struct Profile {
    framing: Framing,
    rows: Rows,
}

/// Takes a piece of the file, and counts its bytes.
fn take(piece: Piece<'_>, place: Place, rows: &mut Rows, out: &mut TraceBuilder) {
    let at = Position { byte: place.offset, line: None };
    match piece {
        Piece::Field(Level::Line, number, value) => return rows.line_field(number, value, place, out),
        Piece::Begin(Level::Line) => rows.begin_line(),
        Piece::Begin(_) => rows.begin_plane(),
        Piece::End(Level::Line) => rows.end_line(out),
        Piece::End(_) => rows.end_plane(),
        Piece::Field(Level::Space, 2, Value::Bytes(text)) => out.trace.ledger.file(&FILE_ERROR, at, text),
        Piece::Field(Level::Space, 3, Value::Bytes(text)) => out.trace.ledger.file(&FILE_WARNING, at, text),
        Piece::Field(Level::Space, 4, Value::Bytes(name)) => rows.fact("hostname", name),
        Piece::Field(Level::Space, ..) => out.trace.ledger.file(&OTHER_FIELD, at, b""),
        // Names were read before.
        Piece::Field(..) | Piece::Passed => {}
        Piece::TooLarge(number) => {
            out.trace.ledger.file(&TOO_LARGE, at, format!("field {number}").as_bytes())
        }
        Piece::Damaged(level) => {
            out.trace.ledger.file(&DAMAGED, at, format!("{level:?}").to_lowercase().as_bytes());
        }
    }
    out.trace.ledger.frame(place.len);
}

impl lent::Opened for Profile {
    const RECORDS: &'static str = "events";
    const FILES: &'static str = "XPlane profiles";
    const TOO_LARGE: &'static str = "xplane-too-large";

    /// Reads the names.
    fn open(content: &Rc<dyn Content>, out: &mut TraceBuilder) -> Result<Profile, ImportError> {
        let planes = names::read(&**content).map_err(|error| ImportError {
            code: "read-failed",
            what: format!("the file cannot be read: {error}"),
            hint: "open the file again".to_string(),
        })?;
        Ok(Profile { framing: Framing::default(), rows: Rows::new(planes, out) })
    }

    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        let rows = &mut self.rows;
        self.framing.feed(bytes, &mut |piece, place| take(piece, place, rows, out));
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        let rows = &mut self.rows;
        let end = self.framing.position();
        let (is_cut, n_left) = self.framing.finish(&mut |piece, place| take(piece, place, rows, out));
        out.trace.ledger.leave_out(n_left);
        if is_cut {
            out.trace.ledger.file(&TRUNCATED, Position { byte: end, line: None }, b"");
        }
        rows.finish(end + n_left, out);
        Ok(())
    }

    fn snapshot(&self, out: &mut TraceBuilder) {
        self.rows.snapshot(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_are_told_by_their_names() {
        let is_one = |head: &[u8]| sniff(head) == Confidence::Certain;
        assert!(is_one(b"\x0a\x10\x08\x01\x12\x09/host:CPU\x1a\x01\0"));
        assert!(is_one(b"\x0a\xff\x01\x12\x0d/device:GPU:0\x1a"));
        assert!(is_one(b"\x0a\x12\x12\x10Task Environment"));
        // A packet of Perfetto, types of pprof, and a text.
        assert!(!is_one(b"\x0a\x04\x40\x01\x50\x01\x0a\x02\x40\x02"));
        assert!(!is_one(b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04"));
        assert!(!is_one(b"\n/host:CPU\n"));
        // Its length is U+FFFD only if the rest is text as well.
        let converted = b"\x0a\xef\xbf\xbd\x06\x08\x02\x12\x0d/device:TPU:0\x1a";
        assert!(!is_one(converted));
        assert!(is_one(&[&converted[..], b"\xff\xfe"].concat()));
    }
}
