//! Several files read one after the other into one run: skipped files are named, and the rest equals combining files read one
//! by one.

use crate::support::own_dir;
use std::fs;
use std::path::PathBuf;
use tracedrop::analysis::Query;
use tracedrop::engine::protocol::{DocumentView, Failure};
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{self, Options};
use tracedrop::import::ImportError;

fn file(name: &str) -> (String, Vec<u8>) {
    let path: PathBuf = own_dir("pytorch").join("dlrm8").join(name);
    (name.to_string(), fs::read(path).unwrap())
}

fn read(mut session: Session, content: &[u8]) -> Result<Session, ImportError> {
    for chunk in content.chunks(1000) {
        session.feed(chunk);
        if session.has_given_up() {
            break;
        }
    }
    session.finish().map(|()| session)
}

fn several() -> Session {
    Session::of_several(Query::default())
}

fn gather(mut so_far: Session, files: &[(String, Vec<u8>)]) -> Result<Session, Failure> {
    for (name, content) in files {
        so_far.begin_file(name, content.len() as u64, None);
        for chunk in content.chunks(1000) {
            so_far.feed(chunk);
            if so_far.has_given_up() {
                break;
            }
        }
        let read = so_far.finish();
        so_far.end_file(name, read);
    }
    so_far.end_files()?;
    so_far.finish_reports();
    Ok(so_far)
}

fn json(session: &mut Session) -> String {
    let mut out = Vec::new();
    session.export(&export::json::INFO, &Options::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn files_that_can_not_be_read_stop_nothing() {
    let good = [file("rank0.json.gz"), file("rank1.json.gz")];
    let notes = ("notes.txt".to_string(), b"remember the milk".to_vec());
    let empty = ("empty.json".to_string(), Vec::new());
    let useless = ("useless.json".to_string(), b"[7, 8]".to_vec());
    let all = [notes.clone(), good[0].clone(), empty.clone(), useless.clone(), good[1].clone()];
    let mut session = gather(several(), &all).unwrap();

    let document = session.document().unwrap();
    let names: Vec<&str> = document.left_out.iter().map(|file| file.file_name.as_str()).collect();
    assert_eq!(names, ["notes.txt", "empty.json", "useless.json"]);
    assert_eq!(document.left_out[0].why.code, "unknown-format");
    assert_eq!(document.files.len(), 2);
    assert_eq!(document.files[1].file.rank.map(|rank| (rank.rank, rank.world_size)), Some((1, Some(8))));
    let records: u64 = document.files.iter().map(|account| account.ledger.records()).sum();
    assert_eq!(document.ledger.records(), records);
    assert!(document.file.rank.is_none());
    assert_eq!(
        (document.reports[0].id.as_str(), document.reports[1].id.as_str()),
        ("gpu-findings", "gpu-ranks")
    );
    assert_eq!(session.export_file_name(&export::markdown::INFO), "rank0-and-1-more.md");

    let one_by_one = good.iter().map(|(name, content)| {
        read(Session::new(name, content.len() as u64, None, Query::default()), content).unwrap()
    });
    let mut together = Session::together(one_by_one.collect()).unwrap();
    assert_eq!(json(&mut session), json(&mut together));

    let failure = gather(several(), &[notes, empty]).err().unwrap();
    assert_eq!(failure.code, "nothing-read");
    assert!(failure.what.contains("notes.txt: ") && failure.what.contains("empty.json: "));
    assert_eq!(gather(several(), &[]).err().unwrap().code, "nothing-read");
}

#[test]
fn what_has_no_room_beside_the_others_is_left_out() {
    let files = [file("rank0.json.gz"), file("rank1.json.gz")];
    let n_events = |(name, content): &(String, Vec<u8>)| {
        let session = read(Session::new(name, 0, None, Query::default()), content).unwrap();
        session.run().traces[0].ledger.n_records()
    };
    let (first, both) = (n_events(&files[0]), files.iter().map(n_events).sum::<u64>());
    let limited = |n| gather(several().hold_at_most(n), &files);

    let document = limited(both + 1000).unwrap().document().unwrap();
    assert!(document.left_out.is_empty());
    let document = limited(first + 1000).unwrap().document().unwrap();
    assert_eq!(document.left_out.len(), 1);
    assert_eq!(
        (document.left_out[0].file_name.as_str(), document.left_out[0].why.code.as_str()),
        ("rank1.json.gz", "no-room")
    );
    assert_eq!(limited(10).err().unwrap().code, "nothing-read");
}

/// While several files are read, partial results of all of them show; looking at them, or starting a file twice, does not
/// change the final result.
#[test]
fn what_has_been_read_of_all_shows_while_reading() {
    let files = [file("rank0.json.gz"), file("rank1.json.gz")];
    let mut so_far = several();
    assert!(so_far.document().is_none());
    let mut n_records = 0;
    for (n_before, (name, content)) in files.iter().enumerate() {
        for _ in 0..2 {
            so_far.begin_file(name, content.len() as u64, None);
            so_far.feed(&content[..content.len() / 2]);
            assert!(so_far.make_partial());
            let document = so_far.document().unwrap();
            assert!(document.partial && !document.is_read && document.range.start_ns.is_none());
            assert_eq!(document.files.len(), if n_before == 0 { 0 } else { n_before + 1 });
            assert!(!document.reports.is_empty());
            assert!(document.ledger.records() > n_records);
        }
        so_far.feed(&content[content.len() / 2..]);
        let read = so_far.finish();
        so_far.end_file(name, read);
        // The last partial result still shows.
        assert!(so_far.document().is_some_and(|document| document.partial && !document.reports.is_empty()));
        n_records = so_far.document().unwrap().ledger.records();
    }
    so_far.end_files().unwrap();
    so_far.finish_early_reports();
    let early = so_far.document().unwrap();
    assert!(early.partial && early.is_read && early.reports.iter().any(|report| report.id == "gpu-ranks"));
    so_far.finish_reports();
    // The number of earlier documents is not part of the content.
    let as_first = |session: &Session| DocumentView { revision: 0, ..session.document().unwrap() };
    assert_eq!(as_first(&so_far), as_first(&gather(several(), &files).unwrap()));
}
