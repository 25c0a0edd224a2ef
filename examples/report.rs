//! Minimal use of the library: parses a file and writes its reports as Markdown.
//!
//! `cargo run --example report -- trace.json`

use tracedrop::analysis::Query;
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{Options, markdown};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: report FILE")?;
    let bytes = std::fs::read(&path)?;
    let mut session = Session::new(&path, bytes.len() as u64, None, Query::default());
    // Bytes may come in chunks of any size; a real program would not read the whole file first.
    for chunk in bytes.chunks(1 << 20) {
        session.feed(chunk);
    }
    session.finish()?;
    session.export(&markdown::INFO, &Options::default(), &mut std::io::stdout().lock())?;
    Ok(())
}
