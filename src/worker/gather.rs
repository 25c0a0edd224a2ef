//! Reads several files one after the other, and puts them together.

use crate::index::{self, Opened};
use crate::reading::Ports;
use crate::reporter::Reporter;
use crate::{Given, State, in_run, reading, show};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::engine::protocol::{Failure, FileProgress};
use tracedrop::engine::{Gathering, HandedOn, Session};
use tracedrop::import::{ImportError, ImportProgress};

/// Reads `files` in this order and shows what they are together. Those that can not be read, or that are not reached when
/// reading is stopped, are left out, and that is said. The workers behind `ports` help with one after the other.
pub async fn open(state: Rc<State>, files: Vec<Given>, mut ports: Ports, query: Query) {
    let sizes: Vec<u64> = files.iter().map(|file| file.blob.size() as u64).collect();
    let mut reporter = Reporter::new(sizes.iter().sum());
    let n_files = files.len() as u32;
    let mut gathering = Gathering::new(query.clone());
    for (number, (file, size)) in (1..).zip(files.iter().zip(sizes)) {
        let Given { name, blob, .. } = file;
        if state.stop.get() {
            gathering.leave_out(name, not_reached());
            continue;
        }
        reporter.begin(FileProgress { name: name.clone(), number, n_files });
        let mut read = ImportProgress::default();
        let session = match index::open(blob, name, query.clone(), None).await {
            Some(Opened::Index(session)) => session.map(|session| *session),
            Some(Opened::Kept(session, ..)) => Ok(*session),
            Some(Opened::HandedOn(handed_on)) => trace_of(handed_on),
            None => read_one(&state, &gathering, file, &mut ports, &mut reporter, &mut read).await,
        };
        reporter.end(read, size);
        gathering.add(name, session);
    }
    reporter.finishing_all();
    show(&state, gathering.finish());
}

/// Reads one of the files, and says how much that was.
async fn read_one(
    state: &State,
    gathering: &Gathering,
    file: &Given,
    ports: &mut Ports,
    reporter: &mut Reporter,
    progress: &mut ImportProgress,
) -> Result<Session, ImportError> {
    let Given { name, blob, .. } = file;
    let beside = file.read_beside().await;
    let begin = || in_run(gathering.begin(name, blob.size() as u64), &beside);
    let result = reading::read(state, blob, ports, &begin, reporter).await;
    // It is there: `read` has put it there.
    let mut session = state.session.borrow_mut().take().unwrap_or_else(begin);
    *progress = session.progress();
    reading::end(state, &mut session, result)?;
    Ok(session)
}

/// What was handed on, if there is a trace in it.
fn trace_of(handed_on: Result<HandedOn, Failure>) -> Result<Session, ImportError> {
    match handed_on {
        Ok(HandedOn::Session(session)) => Ok(*session),
        Ok(HandedOn::Linked(_)) => Err(ImportError {
            code: "no-trace",
            what: "a report was handed on in it, and no trace".to_string(),
            hint: "open it by itself".to_string(),
        }),
        Err(Failure { what, hint, .. }) => Err(ImportError { code: "tracedrop-file", what, hint }),
    }
}

fn not_reached() -> Failure {
    Failure {
        code: "not-reached".to_string(),
        what: "reading was stopped before it".to_string(),
        hint: String::new(),
    }
}
