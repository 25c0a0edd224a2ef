//! A trace opened from its index gives the same results as the trace; anything else is rejected.

use crate::support::{Random, data_dirs, files, own_dir};
use std::cell::Cell;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::engine::protocol::{self, BlockView};
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{self, Options};
use tracedrop::index::{self, Identity, Index, SectionWriter};
use tracedrop::trace::args::Content;

/// All test inputs up to some size, to keep this fast.
fn inputs() -> Vec<PathBuf> {
    let folders = [
        ("chrome", ""),
        ("chrome", "ours"),
        ("sway", ""),
        ("pysampling", ""),
        ("stacks", ""),
        ("pytorch", ""),
        ("pytorch", "edge"),
        ("mrm", "real"),
    ];
    let folders = folders
        .into_iter()
        .flat_map(|(system, folder)| data_dirs(system).into_iter().map(move |dir| dir.join(folder)));
    let all =
        folders.filter(|dir| dir.is_dir()).flat_map(|dir| files(&dir, &[".json", ".jsonl", ".gz", ".trace"]));
    all.filter(|path| path.metadata().unwrap().len() < 4 << 20).collect()
}

/// Reads the file whole; with `again`, arguments stay in it.
fn open(bytes: &[u8], again: bool) -> Option<Session> {
    let mut session = Session::new("trace", bytes.len() as u64, None, Query::default());
    if again {
        session.can_read_again(Rc::new(bytes.to_vec()));
    }
    session.feed(bytes);
    session.finish().ok()?;
    Some(session)
}

fn export(session: &mut Session, id: &str) -> Vec<u8> {
    let mut out = Vec::new();
    session.export(export::find(id).unwrap(), &Options::default(), &mut out).unwrap();
    out
}

/// Exports except the index, by exporter. The compressed Chrome trace is the plain one, which is compared; without the content of the
/// file the others differ from those with it in nothing that the index has.
fn exports(session: &mut Session, again: bool) -> Vec<(&'static str, Vec<u8>)> {
    let is_compared = |id: &str| match again {
        true => !matches!(id, "index" | "chrome-trace-gz"),
        false => matches!(id, "chrome-trace" | "perfetto"),
    };
    let exporters = session.exporters().into_iter().filter(|exporter| is_compared(exporter.id));
    let ids: Vec<&'static str> = exporters.map(|exporter| exporter.id).collect();
    ids.into_iter().map(|id| (id, export(session, id))).collect()
}

fn reopen(index: &[u8], again: Option<&[u8]>, query: Query) -> Session {
    let index = Index::open(Rc::new(index.to_vec())).unwrap();
    let again = again.map(|bytes| Rc::new(bytes.to_vec()) as Rc<dyn tracedrop::trace::args::Content>);
    Session::of_index(index, again, query).ok().unwrap()
}

/// Content of the page except its source, as bytes, so that NaN equals NaN.
fn shown(session: &Session) -> Vec<u8> {
    let mut document = session.document().unwrap();
    // Unknown before the tables are read.
    document.span_ns = None;
    // Nor is the number of earlier documents part of its content.
    document.revision = 0;
    document.file.index = None;
    // Reported where they are missing.
    for report in &mut document.reports {
        report
            .blocks
            .retain(|block| !matches!(block, BlockView::Note(note) if note.text.starts_with("Arguments")));
    }
    protocol::encode(&document)
}

#[test]
fn an_index_says_what_the_trace_says() {
    let mut n = 0;
    for path in inputs() {
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).unwrap();
        for again in [true, false] {
            let Some(mut session) = open(&bytes, again) else { continue };
            n += 1;
            let index = export(&mut session, "index");
            let mut reopened = reopen(&index, again.then_some(&bytes), Query::default());
            assert!(shown(&reopened) == shown(&session), "{name}");
            let (ours, theirs) = (exports(&mut reopened, again), exports(&mut session, again));
            assert_eq!(ours.len(), theirs.len(), "{name}");
            for ((id, ours), (_, theirs)) in ours.iter().zip(&theirs) {
                assert!(ours == theirs, "{name}: {id} differs");
            }
            // An index read and written again is the same.
            assert!(export(&mut reopened, "index") == index, "{name}");
            // Other queries are answered from the tables.
            let query = Query { top: 3, ..Query::default() };
            session.set_query(query.clone()).unwrap();
            assert!(
                shown(&reopen(&index, again.then_some(&bytes), query.clone())) == shown(&session),
                "{name}"
            );
            reopened.set_query(query).unwrap();
            assert!(shown(&reopened) == shown(&session), "{name}");
        }
    }
    assert!(n > 40, "only {n} files");
}

fn sample() -> Vec<u8> {
    std::fs::read(own_dir("chrome").join("ferrum_decode.json")).unwrap()
}

#[test]
fn what_is_damaged_is_refused() {
    let mut random = Random(5);
    let index = export(&mut open(&sample(), true).unwrap(), "index");
    for _ in 0..3000 {
        let mut bytes = index.clone();
        let at = random.below(bytes.len() as u64) as usize;
        match random.below(3) {
            0 => bytes.truncate(at),
            1 => bytes[at] ^= 1 << random.below(8),
            _ => drop(bytes.splice(at..at, [0, 1, 2])),
        }
        let Ok(damaged) = Index::open(Rc::new(bytes)) else { continue };
        let Ok(mut session) = Session::of_index(damaged, None, Query::default()) else { continue };
        // The head was intact, so the damage is in the tables, between sections, or in the digest.
        let _ = session.set_query(Query { top: 7, ..Query::default() });
    }
    assert!(Index::open(Rc::new(Vec::new())).is_err());
    assert!(Index::open(Rc::new(index::MAGIC.to_vec())).is_err());
}

/// Bytes that become unreadable.
struct Vanishing(Vec<u8>, Cell<bool>);

impl Content for Vanishing {
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if self.1.get() { Err(io::ErrorKind::NotFound.into()) } else { self.0.read_at(offset, out) }
    }

    fn n_bytes(&self) -> u64 {
        self.0.n_bytes()
    }
}

/// The cached file may be deleted while another page shows it.
#[test]
fn what_was_forgotten_is_not_called_damaged() {
    let index = export(&mut open(&sample(), true).unwrap(), "index");
    let content = Rc::new(Vanishing(index, Cell::new(false)));
    let opened = Index::open(content.clone()).unwrap();
    let mut session = Session::of_index(opened, None, Query::default()).unwrap();
    let before = shown(&session);
    content.1.set(true);
    let error = session.set_query(Query { top: 7, ..Query::default() }).unwrap_err();
    assert_eq!((error.code, session.query().top), (index::GONE, Query::default().top));
    assert!(shown(&session) == before);
}

/// Sections with valid checksums and inconsistent contents never cause a panic.
#[test]
fn what_is_made_up_is_refused() {
    let mut random = Random(6);
    let session = open(&sample(), true).unwrap();
    for round in 0..1500 {
        let mut out = Vec::new();
        let mut writer = SectionWriter::new(&mut out).unwrap();
        let mut bytes = Vec::new();
        let mut number = 0;
        let chosen = random.below(70) as usize;
        while let Some(name) = session.index_section(number, &mut bytes) {
            if number == chosen && !bytes.is_empty() {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.below(256) as u8;
            }
            writer.write(name, &bytes).unwrap();
            number += 1;
        }
        let identity = Identity::of(&b"x".to_vec(), 1).unwrap();
        for (number, (name, mut bytes)) in session.index_end(identity, 1).unwrap().into_iter().enumerate() {
            if round % 3 == number {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.below(256) as u8;
            }
            writer.write(name, &bytes).unwrap();
        }
        writer.finish(None).unwrap();
        let Ok(index) = Index::open(Rc::new(out)) else { continue };
        let Ok(mut session) = Session::of_index(index, None, Query { top: 4, ..Query::default() }) else {
            continue;
        };
        for exporter in session.exporters() {
            let result = session.export(exporter, &Options::default(), &mut io::sink());
            assert!(result.is_ok(), "{result:?}");
        }
    }
}

/// Data missing from a Chrome trace export.
fn left_out(session: &mut Session) -> Vec<String> {
    let exporter = export::find("chrome-trace").unwrap();
    session.export(exporter, &Options::default(), &mut io::sink()).unwrap().0
}

#[test]
fn arguments_that_are_not_at_hand_are_said_to_be_missing() {
    let bytes = br#"[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"args":{"n":7}}]"#;
    let index = export(&mut open(bytes, true).unwrap(), "index");
    let text =
        String::from_utf8(export(&mut reopen(&index, None, Query::default()), "chrome-trace")).unwrap();
    assert!(text.contains(r#""arguments":"left out"#) && !text.contains(r#""n":7"#), "{text}");
    assert_eq!(left_out(&mut reopen(&index, None, Query::default())).len(), 1);
    assert!(left_out(&mut reopen(&index, Some(bytes), Query::default())).is_empty());
    let text = export(&mut reopen(&index, Some(bytes), Query::default()), "chrome-trace");
    assert!(String::from_utf8(text).unwrap().contains(r#""n":7"#));
}
