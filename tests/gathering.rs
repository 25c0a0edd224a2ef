//! Several files read one after the other into one run: what is left out, and that the rest is what putting together files that
//! were read one by one gives.

mod support;

use std::fs;
use std::path::PathBuf;
use support::own_dir;
use tracedrop::analysis::Query;
use tracedrop::engine::protocol::Failure;
use tracedrop::engine::{Gathering, Session, Shown};
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

fn gather(mut gathering: Gathering, files: &[(String, Vec<u8>)]) -> Result<Session, Failure> {
    for (name, content) in files {
        let session = read(gathering.begin(name, content.len() as u64), content);
        gathering.add(name, session);
    }
    gathering.finish()
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
    let mut session = gather(Gathering::new(Query::default()), &all).unwrap();

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

    let failure = gather(Gathering::new(Query::default()), &[notes, empty]).err().unwrap();
    assert_eq!(failure.code, "nothing-read");
    assert!(failure.what.contains("notes.txt: ") && failure.what.contains("empty.json: "));
    assert_eq!(gather(Gathering::new(Query::default()), &[]).err().unwrap().code, "nothing-read");
}

#[test]
fn what_has_no_room_beside_the_others_is_left_out() {
    let files = [file("rank0.json.gz"), file("rank1.json.gz")];
    let n_events = |(name, content): &(String, Vec<u8>)| {
        let session = read(Session::new(name, 0, None, Query::default()), content).unwrap();
        session.run().traces[0].ledger.n_records()
    };
    let (first, both) = (n_events(&files[0]), files.iter().map(n_events).sum::<u64>());
    let limited = |n| gather(Gathering::new(Query::default()).hold_at_most(n), &files);

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
