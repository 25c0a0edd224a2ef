//! Perfetto traces: a protocol buffer of packets, as PyTorch, rocprofv3, Chrome, Android and tracing libraries write them.
//!
//! ```text
//! 0A len  TracePacket { timestamp: 100, trusted_packet_sequence_id: 1, track_event { type: BEGIN, track_uuid: 2, name: "x" } }
//! 0A len  TracePacket { timestamp: 150, trusted_packet_sequence_id: 1, track_event { type: END, track_uuid: 2 } }
//! ```
//! Bytes go through `framing` (packets) to `rows` (events of the builder), with the state of their writer (`sequence`), of
//! `clocks` and of `tracks`. Packets are in no order of time; the builder sorts, joins and nests. Specification: the `.proto`
//! files of google/perfetto, v58.
//!
//! Offsets count compressed packets as if they were written unpacked behind their packet, so that each event has its own.
//! Arguments are kept as JSON. CPU samples and task switches (`sampled`, `scheduling`) are on the threads of the tracks, heap profiles
//! (`heap`) are stack profiles. Not read: other kernel events and other data that is not on tracks; these are counted.

mod arguments;
mod clocks;
mod event;
mod framing;
mod gpu;
mod heap;
mod issues;
mod packet;
mod rows;
mod sampled;
mod scheduling;
mod sequence;
mod sniff;
mod tracks;

use super::unpack::{Packing, Unpacker};
use super::{FormatInfo, ImportError, Reader};
use crate::trace::builder::Ways;
use crate::trace::{Position, TraceBuilder};
use flate2::{Decompress, FlushDecompress, Status};
use framing::{Framing, Piece};
use issues::*;
use packet::Packet;
use rows::{Place, Rows};

pub static INFO: FormatInfo = FormatInfo {
    id: "perfetto",
    title: "Perfetto trace",
    producers: "PyTorch (CUPTI monitor), rocprofv3, Chrome, Android, tracing libraries",
    extensions: &["pftrace", "perfetto-trace", "perfetto", "proto"],
    sniff: sniff::sniff,
    reader: || Box::new(PerfettoReader::default()),
    parts: None,
    has_events: true,
    issues: issues::ALL,
};

/// Bytes that compressed packets are unpacked to at once.
const PIECE_BYTES: usize = 1 << 16;

#[derive(Default)]
struct PerfettoReader {
    framing: Framing,
    /// Offset of the next piece in the content.
    position: u64,
    /// Bytes that came out of compressed packets so far.
    n_unpacked: u64,
    rows: Rows,
}

impl PerfettoReader {
    /// Takes a piece of the trace, or of compressed packets in it, which have no bytes of their own.
    fn piece(&mut self, piece: Piece<'_>, place: Place, is_inner: bool, out: &mut TraceBuilder) {
        let at = Position { byte: place.offset, line: None };
        let ledger = &mut out.trace.ledger;
        match piece {
            Piece::Packet(bytes) => match Packet::parse(bytes) {
                None => ledger.skip_record(&BAD_PACKET, at, place.len, bytes),
                Some(Packet { deflated: None, zstd: None, .. }) if bytes.is_empty() => ledger.keep(place.len),
                Some(packet) if packet.deflated.is_some() || packet.zstd.is_some() => {
                    if is_inner {
                        return ledger.skip_record(&NESTED_COMPRESSED, at, place.len, b"");
                    }
                    self.compressed(&packet, place, out);
                }
                Some(packet) => self.rows.packet(&packet, place, out),
            },
            Piece::Other => {
                ledger.leave_out(place.len);
                ledger.file(&OTHER_FIELD, at, b"");
            }
            Piece::TooLarge => ledger.skip_record(&TOO_LARGE, at, place.len, b""),
            Piece::Corrupt => {
                ledger.leave_out(place.len);
                ledger.file(&CORRUPT, at, b"");
            }
        }
    }

    /// Reads the packets in a compressed one.
    fn compressed(&mut self, packet: &Packet<'_>, place: Place, out: &mut TraceBuilder) {
        let mut framing = Framing::default();
        let mut position = 0;
        let mut feed = |piece: &[u8]| {
            framing.feed(piece, &mut |piece, len| {
                self.piece(piece, Place { offset: place.offset + 1 + position, len: 0 }, true, out);
                position += len;
            });
        };
        let is_sound = match (packet.deflated, packet.zstd) {
            (Some(bytes), _) => inflate(bytes, &mut feed),
            (None, Some(bytes)) => {
                let mut unpacker = Unpacker::new(Packing::Zstd);
                let mut emit = |piece: &[u8]| {
                    feed(piece);
                    Ok::<(), ()>(())
                };
                unpacker.feed(bytes, &mut emit).is_ok()
                    && unpacker.finish(&mut emit).is_ok()
                    && unpacker.problem().is_none()
            }
            (None, None) => true,
        };
        let (n_cut, _) = framing.finish();
        self.n_unpacked += position + n_cut;
        let at = Position { byte: place.offset, line: None };
        let ledger = &mut out.trace.ledger;
        if !is_sound {
            ledger.skip_record(&BAD_COMPRESSED, at, place.len, b"");
        } else {
            ledger.keep(place.len);
            if n_cut > 0 {
                ledger.file(&TRUNCATED, at, b"");
            }
        }
    }

    fn feed_pieces(&mut self, bytes: &[u8], out: &mut TraceBuilder) {
        let mut framing = std::mem::take(&mut self.framing);
        framing.feed(bytes, &mut |piece, len| {
            let place = Place { offset: self.position + self.n_unpacked, len };
            self.piece(piece, place, false, out);
            self.position += len;
        });
        self.framing = framing;
    }
}

/// Unpacks a zlib stream; false if it is damaged or cut.
fn inflate(mut bytes: &[u8], feed: &mut impl FnMut(&[u8])) -> bool {
    let mut inflater = Decompress::new(true);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let (read, written) = (inflater.total_in(), inflater.total_out());
        let status = inflater.decompress(bytes, &mut piece, FlushDecompress::None);
        let n_read = (inflater.total_in() - read) as usize;
        let n_written = (inflater.total_out() - written) as usize;
        feed(&piece[..n_written]);
        bytes = bytes.get(n_read..).unwrap_or_default();
        match status {
            Ok(Status::StreamEnd) => return true,
            Ok(_) if n_read > 0 || n_written > 0 => {}
            _ => return false,
        }
    }
}

impl Reader for PerfettoReader {
    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "packets".into();
        out.ways = Ways::Tracks;
        self.feed_pieces(bytes, out);
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "packets".into();
        let (n_rest, is_corrupt) = self.framing.finish();
        let at = Position { byte: self.position + self.n_unpacked, line: None };
        if n_rest > 0 {
            let ledger = &mut out.trace.ledger;
            ledger.leave_out(n_rest);
            ledger.file(if is_corrupt { &CORRUPT } else { &TRUNCATED }, at, b"");
        }
        let n_missing = self.framing.n_missing();
        if n_missing > 0 {
            let ledger = &mut out.trace.ledger;
            ledger.skipped.bytes = ledger.skipped.bytes.saturating_sub(n_missing);
            ledger.file(&TRUNCATED, at, b"");
        }
        self.rows.finish(out);
        Ok(())
    }

    fn snapshot(&self, out: &mut TraceBuilder) {
        self.rows.snapshot(out);
    }
}
