//! A small made-up file, read for nothing but to have the browser compile this code well before it is needed.
//!
//! Browsers start wasm with quick, slow code, and compile a function again once it has run for a while. Without this
//! the first file a person opens is read at half the speed.

use super::{Session, Shown};
use crate::analysis::Query;
use std::fmt::Write;

/// Events a piece; all pieces together take less than a tenth of a second.
const EVENTS_A_PIECE: u64 = 2_000;
const PIECES: u64 = 10;

/// Reads the made-up file, a piece with every step, so that other work gets its turn in between.
pub fn steps() -> impl Iterator<Item = ()> {
    let mut session = Some(Session::new("warm-up", 0, None, Query::default()));
    (0..=PIECES).map(move |piece| match session.as_mut() {
        Some(reading) if piece < PIECES => reading.feed(text(piece).as_bytes()),
        _ => {
            if let Some(mut whole) = session.take() {
                // There is nobody to tell of a problem, and nothing to lose.
                let _ = whole.finish();
                drop(whole.document());
            }
        }
    })
}

fn text(piece: u64) -> String {
    let mut text = String::new();
    if piece == 0 {
        text.push_str("{\"traceEvents\":[\n");
    }
    for i in piece * EVENTS_A_PIECE..(piece + 1) * EVENTS_A_PIECE {
        let (name, ts, tid) = (i % 97, 1_000_000_000 + i * 7, 1 + i % 3);
        let dur = if i % 5 == 0 { 25 } else { 3 };
        // Writing to a text can not fail.
        let _ = write!(
            text,
            "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"operation number {name}\", \"pid\": 1, \"tid\": {tid},\n    \
             \"ts\": {ts}.{:03}, \"dur\": {dur}.250,\n    \"args\": {{\n      \"id\": {i}, \"sizes\": [[{name}, 4096], [4096]]\n    }}\n  }},\n",
            i % 1000
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_made_up_file_is_read() {
        let mut session = Session::new("warm-up", 0, None, Query::default());
        (0..PIECES).for_each(|piece| session.feed(text(piece).as_bytes()));
        session.finish().unwrap();
        let kept = session.run().traces[0].ledger.kept.records;
        assert_eq!(kept, PIECES * EVENTS_A_PIECE);
        assert_eq!(steps().count() as u64, PIECES + 1);
    }
}
