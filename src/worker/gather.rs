//! Parses several files one after the other and combines them.

use crate::index::{self, Opened};
use crate::reading::Ports;
use crate::reporter::Reporter;
use crate::{Given, State, forget_found, in_run, post, post_document, reading};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::engine::protocol::{Failure, FileProgress, Response};
use tracedrop::engine::{Gathering, HandedOn, Session};
use tracedrop::import::{ImportError, ImportProgress};
use wasm_bindgen_futures::spawn_local;

/// Parses `files` in this order and shows them combined. Reports unreadable files, and those not reached when parsing is
/// stopped, as skipped. The workers behind `ports` help with each file.
pub async fn open(state: Rc<State>, files: Vec<Given>, mut ports: Ports, query: Query) {
    let sizes: Vec<u64> = files.iter().map(|file| file.blob.size() as u64).collect();
    let mut reporter = Reporter::new(sizes.iter().sum());
    let n_files = files.len() as u32;
    let gathering = Gathering::new();
    *state.session.borrow_mut() = Some(gathering.start(query.clone()));
    for (number, (file, size)) in (1..).zip(files.iter().zip(sizes)) {
        let Given { name, blob, .. } = file;
        if state.stop.get() {
            with_session(&state, |session| gathering.leave_out(session, name, not_reached()));
            continue;
        }
        reporter.begin(FileProgress { name: name.clone(), number, n_files });
        let mut read = ImportProgress::default();
        let opened = match index::open(blob, name, query.clone(), None).await {
            Some(Opened::Index(session)) => Some(session.map(|session| *session)),
            Some(Opened::Kept(session, ..)) => Some(Ok(*session)),
            Some(Opened::HandedOn(handed_on)) => Some(trace_of(handed_on)),
            None => None,
        };
        let is_read = opened.is_none();
        match opened {
            Some(opened) => with_session(&state, |session| gathering.add(session, name, opened)),
            None => read = read_one(&state, &gathering, file, &mut ports, &mut reporter).await,
        }
        with_session(&state, |session| {
            // The file of an index is not available here.
            let blob = Some(blob.clone()).filter(|_| is_read);
            state.blobs.borrow_mut().resize(session.run().traces.len(), blob);
        });
        reporter.end(read, size);
    }
    drop(ports);
    let mut ended = Ok(());
    with_session(&state, |session| ended = reporter.finishing_all(|| gathering.finish(session)));
    match ended {
        Ok(()) => {
            if reporter.has_read_much() {
                with_session(&state, |session| post_document(session));
                reading::finish_reports(&state).await;
            }
            with_session(&state, |session| {
                session.finish_reports();
                post_document(session);
            });
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
async fn read_one(
    state: &State,
    gathering: &Gathering,
    file: &Given,
    ports: &mut Ports,
    reporter: &mut Reporter,
) -> ImportProgress {
    let Given { name, blob, .. } = file;
    let beside = file.read_sidecar_files().await;
    let begin = |session: &mut Option<Session>| {
        if let Some(session) = session {
            gathering.begin(session, name, blob.size() as u64);
            in_run(session, &beside);
        }
    };
    let result = reading::read(state, blob, ports, &begin, reporter).await;
    let mut progress = ImportProgress::default();
    with_session(state, |session| {
        progress = session.progress();
        let ended = reading::end(state, session, result);
        gathering.end(session, name, ended);
    });
    progress
}

/// Session of a Tracedrop file, if it contains a trace.
fn trace_of(handed_on: Result<HandedOn, Failure>) -> Result<Session, ImportError> {
    match handed_on {
        Ok(HandedOn::Session(session)) => Ok(*session),
        Ok(HandedOn::Linked(_)) => Err(ImportError {
            code: "no-trace",
            what: "it contains a report but no trace".to_string(),
            hint: "open it on its own".to_string(),
        }),
        Err(Failure { what, hint, .. }) => Err(ImportError { code: "tracedrop-file", what, hint }),
    }
}

fn not_reached() -> Failure {
    Failure {
        code: "not-reached".to_string(),
        what: "parsing was stopped before it".to_string(),
        hint: String::new(),
    }
}
