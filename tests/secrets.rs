//! Secrets are in no output unless requested, and nothing else is hidden.

use crate::support::{data_dirs, files, import};
use std::collections::BTreeSet;
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::engine::{Linked, Session, Shown};
use tracedrop::export::{self, Options};
use tracedrop::index::Index;
use tracedrop::trace::sidecar_files::SidecarFile;

/// Secrets in recorded traces, by the words before them.
const REAL: [&str; 1] = ["HF_TOKEN"];

/// The corpus contains a token that was set while recording; every other text stays as it is.
#[test]
fn nothing_else_is_hidden_in_the_recordings() {
    let mut n_files = 0;
    for system in ["chrome", "pytorch", "pysampling", "stacks", "sway", "mrm"] {
        for path in data_dirs(system).iter().flat_map(|dir| files(dir, &[""])) {
            let bytes = std::fs::read(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            if bytes.len() > 1_000_000 {
                continue;
            }
            let Ok(trace) = import(&name, &bytes, None) else { continue };
            n_files += 1;
            let is_hidden = |text: &str| text.contains("(hidden");
            for text in trace.strings.all() {
                assert!(!is_hidden(text), "{name}: {text}");
            }
            for (key, value) in &trace.source.metadata {
                if is_hidden(value) {
                    let around: Vec<&str> = value.lines().chain([key.as_str()]).collect();
                    let is_real = |line: &&&str| REAL.iter().any(|real| line.contains(real));
                    assert!(around.iter().any(|line| is_real(&line)), "{name}: {key}: {value}");
                    assert_eq!(value.matches("(hidden").count(), 1, "{name}: {key}: {value}");
                }
            }
            for slice in 0..trace.slices.len().min(20_000) {
                let Some(raw) = trace.args.get(trace.slices.args_of(slice)) else { continue };
                assert!(
                    !is_hidden(&String::from_utf8_lossy(&raw)),
                    "{name}: {}",
                    String::from_utf8_lossy(&raw)
                );
            }
            assert_eq!(trace.args.take_n_hidden(), 0, "{name}");
        }
    }
    assert!(n_files > 20, "{n_files}");
}

const TRACE: &[u8] = include_bytes!("data/situations/secrets-in-a-trace.json");

fn open(query: Query) -> Session {
    let mut session = Session::new("a.json", TRACE.len() as u64, None, query);
    session.can_read_again(Rc::new(TRACE.to_vec()));
    session.feed(TRACE);
    session.finish().unwrap();
    session
}

fn written(session: &mut Session, id: &str) -> (Vec<u8>, Vec<String>) {
    let mut out = Vec::new();
    let left_out = session.export(export::find(id).unwrap(), &Options::default(), &mut out).unwrap();
    (out, left_out.0)
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn every_export_is_without_and_one_switch_shows_them() {
    let mut session = open(Query::default());
    for exporter in session.exporters() {
        let (bytes, left_out) = written(&mut session, exporter.id);
        assert!(!holds(&bytes, "FAKE"), "{}", exporter.id);
        if exporter.id == "chrome-trace" {
            assert_eq!(left_out, ["4 passwords, tokens and keys in arguments"]);
        }
    }
    // There and back.
    let shown = Query { show_secrets: true, ..Query::default() };
    session.set_query(shown.clone()).unwrap();
    let (bytes, left_out) = written(&mut session, "chrome-trace");
    let numbers: BTreeSet<usize> = (1..=14)
        .filter(|n| holds(&bytes, &format!("FAKE{n:04}")) || holds(&bytes, &format!("FAKE {n:04}")))
        .collect();
    assert_eq!((numbers.len(), left_out), (14, Vec::new()));
    assert!(!session.can_be_kept());
    session.set_query(Query::default()).unwrap();
    assert!(!holds(&written(&mut session, "chrome-trace").0, "FAKE"));
    assert!(holds(&written(&mut open(shown), "json").0, "FAKE0005"));
}

/// Someone may have sent a report in which secrets are shown, or written one by hand.
#[test]
fn reports_that_others_wrote_are_judged_again() {
    let mut session = open(Query { show_secrets: true, ..Query::default() });
    let (fragment, _) = written(&mut session, "link");
    let mut linked = Linked::open(std::str::from_utf8(&fragment).unwrap()).unwrap();
    assert!(linked.document().unwrap().link.unwrap().n_secrets > 0);
    let mut json = Vec::new();
    linked.export(export::find("json").unwrap(), &Options::default(), &mut json).unwrap();
    assert!(!holds(&json, "FAKE") && holds(&json, "(hidden"));
    assert!(holds(&json, "Hidden: "));
    // A sound link stays as it is.
    let (fragment, _) = written(&mut open(Query::default()), "link");
    let linked = Linked::open(std::str::from_utf8(&fragment).unwrap()).unwrap();
    assert_eq!(linked.document().unwrap().link.unwrap().n_secrets, 0);
}

#[test]
fn partial_reports_and_the_index_are_without() {
    for cut in (200..TRACE.len()).step_by(97) {
        let mut session = Session::new("a.json", 0, None, Query::default());
        session.feed(&TRACE[..cut]);
        if session.make_partial() {
            assert!(!holds(&written(&mut session, "json").0, "FAKE"), "{cut}");
        }
        session.feed(&TRACE[cut..]);
        session.finish().unwrap();
        let (index, _) = written(&mut session, "index");
        assert!(!holds(&index, "FAKE"));
        // It contains all arguments, since the file cannot be read again.
        let index = Index::open(Rc::new(index)).unwrap();
        let mut again =
            Session::of_index(index, None, Query { show_secrets: true, top: 3, ..Query::default() }).unwrap();
        assert!(!holds(&written(&mut again, "chrome-trace").0, "FAKE"), "{cut}");
    }
}

#[test]
fn files_beside_a_trace_are_looked_through() {
    let session = open(Query::default());
    let mut trace = session.run().traces[0].clone();
    let content =
        br#"{"run_id":"r","command":["serve","--api-key","FAKE0099"],"environment":{"HF_TOKEN":"FAKE0098"}}"#;
    trace.sidecar_files = vec![SidecarFile {
        name: "metadata.json".to_string(),
        n_bytes: content.len() as u64,
        sha256: String::new(),
        content: Some(content.to_vec()),
    }];
    trace.hide_beside();
    let hidden = String::from_utf8(trace.sidecar_files[0].content.clone().unwrap()).unwrap();
    assert!(!hidden.contains("FAKE") && hidden.contains("--api-key"), "{hidden}");
    trace.show_secrets();
    assert_eq!(trace.sidecar_files[0].content.as_deref(), Some(&content[..]));
    assert!(!session.reports().is_empty() && session.document().is_some());
}

/// Notes may quote an argument, and an exported file says what the page shows of it when it is opened.
#[test]
fn secrets_in_notes_are_in_no_export() {
    use tracedrop::report::notes::{Anchor, Notes, Remark};
    let text = "run with --password hunter22x and API_KEY=abcd1234efgh5678".to_string();
    let list = vec![Remark { on: Anchor::Whole, text }];
    let options = Options {
        notes: Some(Notes { title: "password=hunter22x".to_string(), list }),
        ..Options::default()
    };
    for show_secrets in [false, true] {
        let mut session = open(Query { show_secrets, ..Query::default() });
        for id in ["terminal", "markdown", "json", "html", "perfetto"] {
            let mut out = Vec::new();
            let left_out = session.export(export::find(id).unwrap(), &options, &mut out).unwrap();
            let out = String::from_utf8_lossy(&out);
            assert_eq!(out.contains("hunter22x") || out.contains("abcd1234"), show_secrets, "{id}");
            let is_said = left_out.0.iter().any(|what| what.contains("keys in notes"));
            assert_eq!(is_said, !show_secrets, "{id}: {left_out:?}");
        }
    }
}
