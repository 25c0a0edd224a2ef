//! Does the jobs of a worker in steps, and handles messages of the page in between; [`Queue`] decides on the order.
//!
//! Reading a file is no job: it waits for the browser, and jobs are done meanwhile.

use crate::reporter::Making;
use crate::source::breathe;
use crate::{State, failure, now_ms, post, post_document};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tracedrop::base::steps::{Steps, pause};
use tracedrop::engine::protocol::{OTHER_TIMELINE, Response};
use tracedrop::engine::schedule::{JobKind, Queue};
use tracedrop::engine::{ReportStep, Session};
use wasm_bindgen_futures::spawn_local;

/// Time after which messages of the page are handled.
const SLICE_MS: f64 = 20.0;

/// Jobs to do.
#[derive(Default)]
pub struct Schedule {
    queue: RefCell<Queue<Steps<'static, ()>>>,
    is_running: Cell<bool>,
}

/// Adds a job. It may pause, but not wait for the browser.
pub fn add(state: &Rc<State>, kind: JobKind, ticket: Option<u32>, job: impl Future<Output = ()> + 'static) {
    state.schedule.queue.borrow_mut().add(kind, ticket, Steps::new(job));
    if !state.schedule.is_running.replace(true) {
        spawn_local(run(state.clone()));
    }
}

async fn run(state: Rc<State>) {
    let Schedule { queue, is_running } = &state.schedule;
    loop {
        let until = now_ms() + SLICE_MS;
        while now_ms() < until {
            // Taken out, since the job may add others.
            let next = queue.borrow_mut().take();
            let Some(mut queued) = next else {
                is_running.set(false);
                return;
            };
            if queued.job.step().is_none() {
                queue.borrow_mut().put_back(queued);
            }
        }
        breathe().await;
    }
}

/// Drops exports, and refuses them.
pub fn cancel_exports(state: &State) {
    let tickets = state.schedule.queue.borrow_mut().cancel(&[JobKind::Export]);
    for ticket in tickets {
        post(&Response::Refused { ticket, failure: failure("stopped", "stopped before it was done", "") });
    }
}

/// Whether a question to the timeline is being answered.
pub fn is_at_timeline(state: &State) -> bool {
    state.schedule.queue.borrow().has(JobKind::Timeline)
}

/// Drops questions to the timeline, and refuses them: its traces are about to change.
pub fn cancel_timeline(state: &State) {
    let tickets = state.schedule.queue.borrow_mut().cancel(&[JobKind::Timeline]);
    for ticket in tickets {
        let failure = failure(OTHER_TIMELINE, "more of the file is parsed", "");
        post(&Response::Refused { ticket, failure });
    }
}

/// Drops jobs that make reports; [`Session::start_query`] decides what becomes of those that were being made.
pub fn cancel_reports(state: &State) {
    state.schedule.queue.borrow_mut().cancel(&[JobKind::Reports, JobKind::LateReports, JobKind::Ahead]);
}

/// Takes a step in making the reports, and sends what there is to show.
pub fn step_reports(state: &State, session: &mut Session, making: &Making) -> ReportStep {
    let step = making.listen(|| session.step_reports());
    match step {
        ReportStep::Early if state.shows_early.get() => post_document(session),
        ReportStep::Added(at) if state.shows_early.get() => {
            if let Some(added) = session.added_report(at) {
                post(&Response::ReportAdded(Box::new(added)));
            }
        }
        ReportStep::All => {
            post_document(session);
            state.reports_made.wake();
        }
        ReportStep::Nothing | ReportStep::Early | ReportStep::Added(_) | ReportStep::Idle => {}
    }
    step
}

/// Job that makes reports: only the early ones, or all that are missing.
async fn reports(state: Rc<State>, making: Making, only_early: bool) {
    loop {
        let step = match state.session.borrow_mut().as_mut() {
            Some(session) => step_reports(&state, session, &making),
            None => ReportStep::Idle,
        };
        match step {
            ReportStep::Early if only_early => break,
            ReportStep::All | ReportStep::Idle => break,
            ReportStep::Nothing | ReportStep::Early | ReportStep::Added(_) => pause().await,
        }
    }
    state.reports_made.wake();
}

/// Makes the reports of what was parsed, and sends the document. With `shows_early`, shows the early ones first, gives the page
/// `for_rows_ms` to request their rows, and adds the late ones one by one.
pub async fn make_reports(state: &Rc<State>, making: Making, shows_early: bool, for_rows_ms: i32) {
    state.shows_early.set(shows_early);
    add(state, JobKind::Reports, None, reports(state.clone(), making.clone(), shows_early));
    state.reports_made.wait().await;
    if shows_early {
        crate::source::wait(for_rows_ms).await;
        add(state, JobKind::LateReports, None, reports(state.clone(), making, false));
    }
    // Meanwhile the page may have asked for other settings, which is another job.
    while state.session.borrow().as_ref().is_some_and(Session::is_building) {
        state.reports_made.wait().await;
    }
    look_ahead(state);
}

/// Adds a job that makes what someone will probably look at next.
fn look_ahead(state: &Rc<State>) {
    let later = state.clone();
    add(state, JobKind::Ahead, None, async move {
        if let Some(session) = later.session.borrow_mut().as_mut() {
            session.look_ahead();
        }
    });
}

/// Job that makes the reports for another query, after [`Session::start_query`], and sends the document.
pub async fn reports_again(state: Rc<State>) {
    let making = Making::again();
    loop {
        let step = match state.session.borrow_mut().as_mut() {
            Some(session) => {
                let step = step_reports(&state, session, &making);
                if step == ReportStep::Idle {
                    post_document(session);
                }
                step
            }
            None => ReportStep::Idle,
        };
        if matches!(step, ReportStep::All | ReportStep::Idle) {
            break;
        }
        pause().await;
    }
    state.reports_made.wake();
    look_ahead(&state);
}

/// Job that needs the traces for itself, and all reports. `None` without a trace.
pub async fn with_whole<T>(state: Rc<State>, act: impl FnOnce(&mut Session) -> T) -> Option<T> {
    let making = Making::again();
    loop {
        match state.session.borrow_mut().as_mut() {
            Some(session) if session.is_building() => {
                step_reports(&state, session, &making);
            }
            Some(session) => return Some(act(session)),
            None => return None,
        }
        pause().await;
    }
}
