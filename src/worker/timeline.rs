//! Answers questions to the timeline.

use crate::{State, failure, now_ms, post, schedule};
use std::rc::{Rc, Weak};
use tracedrop::analysis::gpu_idle::in_range::DeviceIdle;
use tracedrop::analysis::tracks::Drawn;
use tracedrop::analysis::{AnalysisCache, Context, Query, memory_timeline, timeline_groups};
use tracedrop::base::steps::{Steps, pause};
use tracedrop::engine::protocol::{self, ColorBy, OTHER_TIMELINE, Response, TimelineAnswer, TimelineAsk};
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
    /// Timelines made so far, which is the number of the last one.
    n_made: u32,
    /// Milliseconds that it took to make the last one.
    cost_ms: f64,
    /// While files are parsed: share of their bytes that is in the traces.
    so_far: Option<f64>,
}

impl Cached {
    /// Milliseconds that it took to make the timeline of the traces as they are now. `None` if nobody looks at it.
    pub fn cost_ms(&self) -> Option<f64> {
        self.made.is_some().then_some(self.cost_ms)
    }

    fn is_of(&self, run: &Rc<Run>) -> bool {
        Weak::ptr_eq(&self.run, &Rc::downgrade(run))
    }
}

/// Share of the bytes that is in the traces, while files are parsed.
pub fn so_far(state: &State) -> Option<f64> {
    state.timeline.borrow().so_far
}

/// Drops the timeline and questions to it, before its traces change: nothing may hold these, since there is no memory for two
/// versions. `so_far` is the share of the bytes that will be in the traces; `None` for the complete ones.
pub fn let_go(state: &State, so_far: Option<f64>) {
    schedule::cancel_timeline(state);
    let n_made = state.timeline.borrow().n_made;
    *state.timeline.borrow_mut() = Cached { n_made, so_far, ..Cached::default() };
}

/// A timeline that was made.
#[derive(Clone)]
struct Made {
    timeline: Rc<Timeline>,
    /// The traces as it draws them, if they are others than those of the reports.
    converted: Option<Rc<Run>>,
}

/// Job that answers. The first one makes the index, in steps. With `of`, answers only if the timeline has that number.
pub async fn answer(state: Rc<State>, ticket: u32, of: Option<u32>, ask: TimelineAsk) {
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
    let is_here = |of: u32| {
        let cached = state.timeline.borrow();
        cached.is_of(&run) && cached.made.is_some() && cached.n_made == of
    };
    if !of.is_none_or(is_here) {
        return refuse(OTHER_TIMELINE, "more of the file is parsed");
    }
    if so_far(&state).is_some() && run.traces.iter().any(memory_timeline::applies_to) {
        // Labeling them again and again would take longer than parsing.
        return refuse("not-read", "the timeline of memory accesses appears once the file is parsed");
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
        (tracks.number, tracks.so_far) = (state.timeline.borrow().n_made, so_far(&state));
        // Whether steps have phases takes all of the trace.
        let kernel_rules = kernel_rules(&state).unwrap_or_default();
        tracks.has_phases = tracks.so_far.is_none() && timeline_groups::has_phases(&run, &kernel_rules);
    }
    if let TimelineAnswer::Stretch(range) = &mut answer {
        let mut cached = state.timeline.borrow_mut();
        let all = || DeviceIdle::all(&Context::new(&run, &Query::default()));
        let idle = cached.idle.get_or_insert_with(all);
        DeviceIdle::add_to(idle, &timeline, range);
    }
    let details = match &mut answer {
        TimelineAnswer::Details(details) => details.as_deref_mut(),
        TimelineAnswer::Named(named) => named.as_mut().map(|named| &mut named.details),
        _ => None,
    };
    if let Some(details) = details
        && let Some(session) = state.session.borrow_mut().as_mut()
    {
        session.add_places(&timeline, details);
    }
    post(&Response::Timeline { ticket, answer });
}

/// The timeline of a run, made in steps unless it is known. `None` if nothing has a time.
async fn timeline_of(state: &State, run: &Rc<Run>) -> Option<Made> {
    let known =
        Some(state.timeline.borrow()).filter(|cached| cached.is_of(run)).and_then(|it| it.made.clone());
    if known.is_some() {
        return known;
    }
    // The old one goes first.
    let (n_made, so_far) = (state.timeline.borrow().n_made + 1, so_far(state));
    *state.timeline.borrow_mut() = Cached { n_made, so_far, ..Cached::default() };
    let (query, found) = lend(state)?;
    let (drawn, found) = memory_timeline::drawn(run, &query, found).await;
    return_found(state, run, &query, found);
    let (timeline, cost_ms) = measured(Timeline::in_steps(&drawn)).await;
    let timeline = Rc::new(timeline?);
    let made = Made { timeline, converted: (!Rc::ptr_eq(&drawn, run)).then_some(drawn) };
    let (run, new) = (Rc::downgrade(run), Some(made.clone()));
    let cached = Cached { run, made: new, n_made, cost_ms, so_far, ..Cached::default() };
    *state.timeline.borrow_mut() = cached;
    Some(made)
}

/// Result of a computation in steps, and how many milliseconds these took.
async fn measured<T>(work: impl Future<Output = T>) -> (T, f64) {
    let mut steps = Steps::new(work);
    let mut cost_ms = 0.0;
    loop {
        let start = now_ms();
        let result = steps.step();
        cost_ms += now_ms() - start;
        match result {
            Some(result) => return (result, cost_ms),
            None => pause().await,
        }
    }
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
