//! Invariants for arbitrary bytes. `make fuzz` calls them with bytes that a fuzzer makes up, `tests/fuzz.rs` with the test files.

use ruzstd::decoding::StreamingDecoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use sha2::{Digest, Sha256};
use std::io::Read;
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::archive::{ArchiveWriter, Effort, Entry};
use tracedrop::base::zstd;
use tracedrop::compare::CompareQuery;
use tracedrop::engine::{Compared, HandedOn, Linked, Session, Shown, open_tracedrop_file};
use tracedrop::export::{self, Options, link};
use tracedrop::import::part_scheduler::{Next, PartScheduler};
use tracedrop::import::parts::Part;
use tracedrop::import::{FORMATS, FormatInfo};
use tracedrop::index::Index;
use tracedrop::trace::args::Content;

/// Exports that contain everything, which are compared between ways of reading. Others are only made.
const TOLD: [&str; 3] = ["markdown", "json", "chrome-trace"];

/// Panics where something does not hold.
type Check = fn(&[u8]);

/// What is not the reader of one format.
const OTHERS: [(&str, Check); 5] = [
    ("anything", anything),
    ("archive", archive),
    ("link", link),
    ("tracedrop-file", tracedrop_file),
    ("zstd", zstd),
];

/// Names of all targets: the ids of all formats, then the others.
pub fn targets() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.id).chain(OTHERS.map(|(name, _)| name))
}

/// Checks what the target named `target` says of `data`.
pub fn run(target: &str, data: &[u8]) {
    if let Some(format) = FORMATS.iter().find(|format| format.id == target) {
        return reader(format, data);
    }
    let (_, check) = OTHERS.iter().find(|(name, _)| *name == target).expect("a name out of `targets`");
    check(data);
}

/// Reads `data` as `format`, whole and in pieces: same parsing details, nothing lost, every report and export works.
fn reader(format: &'static FormatInfo, data: &[u8]) {
    let whole = read(Some(format), data, usize::MAX);
    for step in [1, 7, 61] {
        // Byte by byte is slow on long inputs and finds nothing more there.
        if step == 1 && data.len() > 4096 {
            continue;
        }
        assert_eq!(whole, read(Some(format), data, step), "pieces of {step}");
    }
    if format.parts.is_some() {
        for stretch in [5, 53, 509] {
            assert_eq!(whole, read_in_parts(format, data, stretch), "parts of {stretch}");
        }
    }
}

/// Decompresses `data` as zstd, and compresses it: in-memory and streaming decompression must agree.
fn zstd(data: &[u8]) {
    const MAX_BYTES: u64 = 1 << 20;
    let mut decoder = zstd::Decoder::default();
    let mut out = Vec::new();
    let streamed = StreamingDecoder::new(data).ok().and_then(|stream| {
        let mut streamed = Vec::new();
        stream.take(MAX_BYTES).read_to_end(&mut streamed).ok()?;
        Some(streamed)
    });
    match streamed {
        // The streaming decoder does not check checksums.
        Some(streamed) => {
            if decoder.unpack(data, streamed.len(), &mut out).is_ok() {
                assert_eq!(streamed, out);
            }
        }
        None => drop(decoder.unpack(data, data.len(), &mut out)),
    }
    let packed = compress_to_vec(data, CompressionLevel::Fastest);
    assert_eq!(decoder.unpack(&packed, data.len(), &mut out), Ok(()));
    assert_eq!(out, data);
}

/// Reads `data` as whatever it looks like: plain, compressed, or unknown.
fn anything(data: &[u8]) {
    assert_eq!(read(None, data, usize::MAX), read(None, data, 13));
}

/// Parsing details and Markdown reports, or the error.
fn read(format: Option<&'static FormatInfo>, data: &[u8], step: usize) -> String {
    let mut session = Session::new("fuzz", data.len() as u64, format, Query::default());
    for (n, chunk) in data.chunks(step.min(data.len().max(1))).enumerate() {
        session.feed(chunk);
        if n == 3 {
            session.make_partial();
        }
    }
    account(session, step == usize::MAX)
}

/// Like [`read`], in parts as by several workers.
fn read_in_parts(format: &'static FormatInfo, data: &[u8], stretch: u64) -> String {
    let mut session = Session::new("fuzz", data.len() as u64, Some(format), Query::default());
    session.can_read_again(Rc::new(data.to_vec()));
    let mut at = 0;
    while at < data.len() && session.import().is_some_and(|import| import.parts().is_none()) {
        session.feed(&data[at..at + 1]);
        at += 1;
    }
    if let (Some(parts), Some(import)) = (format.parts, session.import()) {
        let mut scheduler = PartScheduler::new(at as u64..data.len() as u64, stretch);
        let mut reader = (parts.reader)();
        loop {
            while let Some(range) = scheduler.next_range() {
                reader.start(range.start, range.end);
                data[range.start as usize..].chunks(40).any(|chunk| !reader.feed(chunk));
                scheduler.put_back(&range, Part::from_bytes(reader.finish().into_bytes()));
            }
            match scheduler.advance(import) {
                Next::Feed(range) => import.feed(&data[range.start as usize..range.end as usize]),
                _ => break,
            }
        }
    }
    account(session, false)
}

/// Parsing details, reports and exports of a session, or the error; `is_thorough` makes all exports and a comparison.
fn account(mut session: Session, is_thorough: bool) -> String {
    if let Err(error) = session.finish() {
        return error.to_string();
    }
    let ledger = &session.run().traces[0].ledger;
    let in_records = ledger.kept.bytes + ledger.repaired.bytes + ledger.skipped.bytes;
    assert!(in_records <= ledger.content_bytes, "{in_records} bytes in records of {}", ledger.content_bytes);
    let mut out = format!("{ledger:?}\n");
    for exporter in session.exporters() {
        if !is_thorough && !TOLD.contains(&exporter.id) {
            continue;
        }
        let mut bytes = Vec::new();
        session.export(exporter, &Options::default(), &mut bytes).expect("memory takes all");
        // An index shows how arguments are stored, which may differ.
        if exporter.id == "index" {
            let index = Index::open(Rc::new(bytes))
                .and_then(|index| Session::of_index(index, None, Query { top: 3, ..Query::default() }));
            assert!(index.is_ok(), "an index opens");
            continue;
        }
        if TOLD.contains(&exporter.id) {
            out.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    if !is_thorough {
        return out;
    }
    let side = session.side().expect("the tables are there");
    let mut compared =
        Compared::new(side.clone(), side, &CompareQuery::default()).expect("a file is like itself");
    for exporter in compared.exporters() {
        compared.export(exporter, &Options::default(), &mut Vec::new()).expect("memory takes all");
    }
    let changed = compared.comparison().measures.iter().find(|measure| measure.a != measure.b);
    assert!(changed.is_none(), "a file differs from itself: {changed:?}");
    out
}

/// Reads `data` as a zip archive: listed files are inside it, and no file decompresses to more than its stated size.
fn archive(data: &[u8]) {
    let content = data.to_vec();
    let Ok(archive) = tracedrop::archive::list(&content) else { return };
    for entry in &archive.files {
        assert!(entry.range.end <= data.len() as u64 && !entry.path.split('/').any(|name| name == ".."));
        let mut n_bytes = 0;
        let _ = tracedrop::archive::unpack(&content, entry, &mut |piece| {
            n_bytes += piece.len() as u64;
            // No time is spent on sizes claimed by hostile files.
            if n_bytes > 16 << 20 { Err("enough".to_string()) } else { Ok(()) }
        });
        assert!(n_bytes <= entry.n_bytes);
    }
}

/// Reads `data` as a Tracedrop file, and as its report, notes and charts separated by zeros, with a matching manifest.
/// Everything that is read can be shown and shared again.
fn tracedrop_file(data: &[u8]) {
    handed_on(data.to_vec());
    let mut parts = data.splitn(3, |byte| *byte == 0);
    let mut part = || parts.next().unwrap_or(b"{}");
    let (report, notes, charts) = (part(), part(), part());
    let mut archive = ArchiveWriter::new(Vec::new(), 0);
    let mut members = Vec::new();
    for (path, bytes) in [("report.json", report), ("notes.json", notes), ("charts.json", charts)] {
        archive.add(path, Effort::None, |out| out.write_all(bytes)).expect("memory takes all");
        let sha256: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        members.push(format!(r#"{{"path":"{path}","bytes":{},"sha256":"{sha256}"}}"#, bytes.len()));
    }
    let manifest = format!(r#"{{"format":"tracedrop","version":1,"members":[{}]}}"#, members.join(","));
    archive
        .add("manifest.json", Effort::None, |out| out.write_all(manifest.as_bytes()))
        .expect("memory takes all");
    let Some(mut linked) = handed_on(archive.finish().expect("memory takes all")) else { return };
    let notes = linked.report().notes.clone();
    for exporter in [&export::markdown::INFO, &export::html::INFO, &export::json::INFO] {
        linked.export(exporter, &Options::default(), &mut Vec::new()).expect("memory takes all");
    }
    let mut again = Vec::new();
    linked.export(&export::tracedrop_file::INFO, &Options::default(), &mut again).expect("memory takes all");
    assert_eq!(handed_on(again).expect("what was written is read").report().notes, notes);
}

/// Report of a Tracedrop file without a trace.
fn handed_on(file: Vec<u8>) -> Option<Linked> {
    let unpack = |entry: &Entry| {
        let mut out = Vec::new();
        tracedrop::archive::unpack(&file, entry, &mut |piece| {
            out.extend_from_slice(piece);
            if out.len() > 16 << 20 { Err("enough".to_string()) } else { Ok(()) }
        })?;
        Ok(Rc::new(out) as Rc<dyn Content>)
    };
    match open_tracedrop_file(&file, None, unpack) {
        Ok(HandedOn::Linked(linked)) => {
            assert!(linked.document().is_some(), "what is read can be shown");
            Some(*linked)
        }
        _ => None,
    }
}

/// Reads `data` as a link: as text, and as content without a checksum. Everything that is read can be shown.
fn link(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = link::read(text);
    let Ok(fragment) = link::encode(text) else { return };
    assert_eq!(link::decode(&fragment).as_deref(), Ok(data));
    if let Ok(mut linked) = Linked::open(&fragment) {
        assert!(linked.document().is_some(), "what is read can be shown");
        for exporter in [&export::markdown::INFO, &export::html::INFO] {
            linked.export(exporter, &Options::default(), &mut Vec::new()).expect("memory takes all");
        }
    }
}
