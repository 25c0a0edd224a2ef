//! Parses several files one after the other and combines them.

use crate::index::{self, Opened};
use crate::reading::Ports;
use crate::reporter::{Making, Reporter};
use crate::{Given, State, forget_found, in_run, post, reading, schedule, timeline};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::engine::protocol::{Failure, FileProgress, Response};
use tracedrop::engine::{self, HandedOn, Session};
use tracedrop::import::ImportProgress;
use wasm_bindgen_futures::spawn_local;

/// Parses `files` in this order and shows them combined. Reports unreadable files, and those not reached when parsing is
/// stopped, as skipped. The workers behind `ports` help with each file.
pub async fn open(state: Rc<State>, files: Vec<Given>, mut ports: Ports, query: Query) {
    let sizes: Vec<u64> = files.iter().map(|file| file.blob.size() as u64).collect();
    let mut reporter = Reporter::new(sizes.iter().sum());
    let n_files = files.len() as u32;
    *state.session.borrow_mut() = Some(Session::of_several(query.clone()));
    for (number, (file, size)) in (1..).zip(files.iter().zip(sizes)) {
        let Given { name, blob, .. } = file;
        if state.stop.get() {
            with_session(&state, |session| session.leave_out(name, not_reached()));
            continue;
        }
        reporter.begin(FileProgress { name: name.clone(), number, n_files });
        let mut read = ImportProgress::default();
        let opened = match index::open(blob, name, query.clone(), None).await {
            Some(Opened::File(opened)) => Some(opened.and_then(trace_of)),
            Some(Opened::Kept(session, ..)) => Some(Ok(*session)),
            None => None,
        };
        let is_read = opened.is_none();
        match opened {
            Some(opened) => {
                timeline::let_go(&state, Some(reporter.share_after(size)));
                with_session(&state, |session| session.add_session(name, opened));
            }
            None => read = read_one(&state, file, &mut ports, &mut reporter).await,
        }
        with_session(&state, |session| {
            // The file of an index is not available here.
            let blob = Some(blob.clone()).filter(|_| is_read);
            state.blobs.borrow_mut().resize(session.run().traces.len(), blob);
        });
        reporter.end(read, size);
    }
    drop(ports);
    let making = Making::new(reporter.finishing_all());
    let mut ended = Ok(());
    timeline::let_go(&state, None);
    with_session(&state, |session| ended = session.end_files());
    match ended {
        Ok(()) => {
            schedule::make_reports(&state, making, reporter.has_read_much(), reading::FOR_ROWS_MS).await;
            spawn_local(forget_found(state));
        }
        Err(failure) => {
            *state.session.borrow_mut() = None;
            post(&Response::Failed(failure));
        }
    }
}

fn with_session(state: &State, act: impl FnOnce(&mut Session)) {
    if let Some(session) = state.session.borrow_mut().as_mut() {
        act(session);
    }
}

/// Parses one of the files; returns its final progress.
async fn read_one(state: &State, file: &Given, ports: &mut Ports, reporter: &mut Reporter) -> ImportProgress {
    let Given { name, blob, format, .. } = file;
    let beside = file.read_sidecar_files().await;
    let begin = |session: &mut Option<Session>| {
        if let Some(session) = session {
            session.begin_file(name, blob.size() as u64, *format);
            in_run(session, &beside);
        }
    };
    let result = reading::read(state, blob, ports, &begin, reporter).await;
    let mut progress = ImportProgress::default();
    with_session(state, |session| {
        progress = session.progress();
        let so_far = Some(reporter.share_after(blob.size() as u64));
        let ended = reading::end(state, session, result, so_far);
        session.end_file(name, ended);
    });
    progress
}

/// The trace of an index or of a Tracedrop file, if it contains one.
fn trace_of(opened: engine::Opened) -> Result<Session, Failure> {
    match opened {
        engine::Opened::Index(session) | engine::Opened::HandedOn(HandedOn::Session(session)) => Ok(*session),
        engine::Opened::HandedOn(HandedOn::Linked(_)) => Err(Failure {
            code: "no-trace".to_string(),
            what: "it contains a report but no trace".to_string(),
            hint: "open it on its own".to_string(),
        }),
    }
}

fn not_reached() -> Failure {
    Failure {
        code: "not-reached".to_string(),
        what: "parsing was stopped before this file".to_string(),
        hint: String::new(),
    }
}
