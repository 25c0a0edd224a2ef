//! Answers questions to the timeline.

use crate::{State, failure, post};
use std::rc::{Rc, Weak};
use tracedrop::analysis::gpu_idle::in_range::DeviceIdle;
use tracedrop::analysis::{Context, Query};
use tracedrop::engine::protocol::{ColorBy, Response, TimelineAnswer, TimelineAsk};
use tracedrop::timeline::Timeline;
use tracedrop::timeline::load::load_of;
use tracedrop::trace::Run;

/// The timeline, and the traces that it is of. It does not hold them, so that they can change without a copy of them.
#[derive(Default)]
pub struct Cached {
    run: Weak<Run>,
    timeline: Option<Rc<Timeline>>,
    /// Why the devices were idle; made for the first range of time.
    idle: Option<Vec<DeviceIdle>>,
}

/// Job that answers. The first one makes the index, in steps.
pub async fn answer(state: Rc<State>, ticket: u32, ask: TimelineAsk) {
    let refuse = |code: &str, what: &str| {
        post(&Response::Refused { ticket, failure: failure(code, what, "") });
    };
    let run = match state.session.borrow_mut().as_mut().map(|session| session.shared_run()) {
        Some(Ok(run)) => run,
        Some(Err(error)) => return post(&Response::Refused { ticket, failure: error.into() }),
        None => return refuse("not-read", "the trace is not parsed yet"),
    };
    if ask == TimelineAsk::Load {
        return match load_of(&run) {
            Some(load) => post(&Response::Timeline { ticket, answer: TimelineAnswer::Load(load) }),
            None => refuse("no-times", "nothing in this trace has a time"),
        };
    }
    let cached = || {
        let cached = state.timeline.borrow();
        cached.timeline.clone().filter(|_| Weak::ptr_eq(&cached.run, &Rc::downgrade(&run)))
    };
    let timeline = match cached() {
        Some(timeline) => timeline,
        None => {
            // The old one goes first.
            *state.timeline.borrow_mut() = Cached::default();
            let Some(timeline) = Timeline::in_steps(&run).await.map(Rc::new) else {
                return refuse("no-times", "nothing in this trace has a timestamp");
            };
            let cached = Cached { run: Rc::downgrade(&run), timeline: Some(timeline.clone()), idle: None };
            *state.timeline.borrow_mut() = cached;
            timeline
        }
    };
    let operations = || state.session.borrow().as_ref().map(|session| session.operations());
    let by_operation = matches!(ask, TimelineAsk::Picture { color_by: ColorBy::Operation, .. });
    let operations = by_operation.then(operations).flatten();
    let operation_of = |name: &str| operations.as_ref()?(name);
    let mut answer = timeline.answer_with(&run, &ask, &operation_of);
    if let TimelineAnswer::Stretch(range) = &mut answer {
        let mut cached = state.timeline.borrow_mut();
        let all = || DeviceIdle::all(&Context::new(&run, &Query::default()));
        let idle = cached.idle.get_or_insert_with(all);
        DeviceIdle::add_to(idle, &timeline, range);
    }
    if let TimelineAnswer::Details(Some(details)) = &mut answer
        && let Some(session) = state.session.borrow_mut().as_mut()
    {
        session.add_places(&timeline, details);
    }
    post(&Response::Timeline { ticket, answer });
}
