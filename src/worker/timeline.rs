//! Answers questions to the timeline.

use crate::{State, failure, post};
use std::rc::{Rc, Weak};
use tracedrop::analysis::gpu_idle::in_range::DeviceIdle;
use tracedrop::analysis::tracks::Drawn;
use tracedrop::analysis::{AnalysisCache, Context, Query, memory_timeline, timeline_groups};
use tracedrop::engine::protocol::{self, ColorBy, Response, TimelineAnswer, TimelineAsk};
use tracedrop::engine::{Session, Shown};
use tracedrop::timeline::Timeline;
use tracedrop::timeline::colors::Groups;
use tracedrop::timeline::load::load_of;
use tracedrop::trace::Run;

/// The timeline, and the traces that it is of. It does not hold them, so that they can change without a copy of them.
#[derive(Default)]
pub struct Cached {
    run: Weak<Run>,
    made: Option<Made>,
    /// Why the devices were idle; made for the first range of time.
    idle: Option<Vec<DeviceIdle>>,
    /// What the last pictures were colored by, and the kernel rules that it is by.
    groups: Option<(ColorBy, String, Rc<Groups>)>,
}

/// A timeline that was made.
#[derive(Clone)]
struct Made {
    timeline: Rc<Timeline>,
    /// The traces as it draws them, if they are others than those of the reports.
    converted: Option<Rc<Run>>,
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
    let Some(Made { timeline, converted }) = timeline_of(&state, &run).await else {
        return refuse("no-times", "nothing in this trace has a timestamp");
    };
    let drawn = converted.as_ref().unwrap_or(&run);
    let groups = match &ask {
        TimelineAsk::Picture { color_by, .. } => groups(&state, &run, *color_by).await,
        _ => None,
    };
    let mut answer = timeline.answer_with(drawn, &ask, groups.as_deref());
    if let TimelineAnswer::Tracks(tracks) = &mut answer {
        let kernel_rules = kernel_rules(&state).unwrap_or_default();
        tracks.has_phases = timeline_groups::has_phases(&run, &kernel_rules);
    }
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

/// The timeline of a run, made in steps unless it is known. `None` if nothing has a time.
async fn timeline_of(state: &State, run: &Rc<Run>) -> Option<Made> {
    let is_known = |cached: &Cached| Weak::ptr_eq(&cached.run, &Rc::downgrade(run));
    let known =
        Some(state.timeline.borrow()).filter(|cached| is_known(cached)).and_then(|it| it.made.clone());
    if known.is_some() {
        return known;
    }
    // The old one goes first.
    *state.timeline.borrow_mut() = Cached::default();
    let (query, found) = lend(state)?;
    let (drawn, found) = memory_timeline::drawn(run, &query, found).await;
    return_found(state, run, &query, found);
    let timeline = Rc::new(Timeline::in_steps(&drawn).await?);
    let made = Made { timeline, converted: (!Rc::ptr_eq(&drawn, run)).then_some(drawn) };
    let cached = Cached { run: Rc::downgrade(run), made: Some(made.clone()), ..Cached::default() };
    *state.timeline.borrow_mut() = cached;
    Some(made)
}

/// The settings, and results of the reports; [`return_found`] gives these back.
fn lend(state: &State) -> Option<(Query, AnalysisCache)> {
    let lend = |session: &mut Session| (session.query().clone(), session.lend_found());
    state.session.borrow_mut().as_mut().map(lend)
}

fn return_found(state: &State, run: &Rc<Run>, query: &Query, found: AnalysisCache) {
    if let Some(session) = state.session.borrow_mut().as_mut() {
        session.return_found(run, query, found);
    }
}

fn kernel_rules(state: &State) -> Option<String> {
    state.session.borrow().as_ref().map(|session| session.query().kernel_rules.clone())
}

/// What a picture is colored by that only the reports know; made once for a run and its settings.
async fn groups(state: &State, run: &Rc<Run>, by: ColorBy) -> Option<Rc<Groups>> {
    let rules = kernel_rules(state).filter(|_| matches!(by, ColorBy::Operation | ColorBy::Phase))?;
    if let Some((of, with, groups)) = &state.timeline.borrow().groups
        && (*of, with) == (by, &rules)
    {
        return Some(groups.clone());
    }
    // The old ones go first.
    state.timeline.borrow_mut().groups = None;
    let groups = match by {
        ColorBy::Phase => {
            let (query, found) = lend(state)?;
            let (groups, found) = timeline_groups::phases(run, &query, found).await;
            return_found(state, run, &query, found);
            groups
        }
        _ => timeline_groups::operations(run, &rules).await,
    };
    let groups = Rc::new(groups);
    state.timeline.borrow_mut().groups = Some((by, rules, groups.clone()));
    Some(groups)
}

/// Job that answers with what is drawn of the timeline in a comparison's export.
pub async fn draw(state: Rc<State>, ticket: u32) {
    let run = match state.session.borrow_mut().as_mut().map(|session| session.shared_run()) {
        Some(Ok(run)) => run,
        Some(Err(error)) => return post(&Response::Refused { ticket, failure: error.into() }),
        None => {
            let failure = failure("not-read", "the trace is not parsed yet", "");
            return post(&Response::Refused { ticket, failure });
        }
    };
    let made = timeline_of(&state, &run).await;
    let draw = |session: &Session| {
        let Made { timeline, converted } = made.as_ref()?;
        Drawn::of(converted.as_ref().unwrap_or(&run), timeline, session.reports())
    };
    let drawn = state.session.borrow().as_ref().and_then(draw);
    post(&Response::Drawn { ticket, drawn: protocol::encode(&drawn) });
}

/// Gives a comparison what is drawn of both sides.
pub fn set_drawings(state: &State, sides: &[Vec<u8>; 2]) {
    let sides = sides.each_ref().map(|side| protocol::decode::<Option<Drawn>>(side).flatten());
    let mut compared = state.compared.borrow_mut();
    if compared.as_mut().is_some_and(|compared| compared.set_drawn(sides)) {
        // The preview has texts of an export without them.
        *state.outgoing.borrow_mut() = None;
    }
}
