//! Begins and ends of track events, states, and chains of arrows: see [`Ways::Tracks`](super::Ways::Tracks).
//!
//! Begins become complete slices before the pass over all events, because some writers write neither in order of time nor nested:
//!
//! ```text
//! file order   B(a) B(b) B(c)  E E E     all begins of a group, then all ends: the i-th end is that of the i-th begin
//! time         a[    ]  b[]c[   ]
//! ```

use super::TraceBuilder;
use super::issues::{FLOW_NO_START, NEGATIVE_SLICE, UNFINISHED_SLICE};
use super::nesting::OpenBegins;
use super::order::order_of_time;
use crate::base::hash::HashMap;
use crate::base::json::write::push_joined;
use crate::base::strings::StringId;
use crate::trace::Position;
use crate::trace::args::ArgsPlace;
use crate::trace::event_table::{EventRow, EventTable, IS_JOINED};
use crate::trace::events::{Phase, flag};
use crate::trace::links::WORK_CATEGORIES;
use crate::trace::slices::{SliceId, UNFINISHED};
use crate::trace::tracks::ThreadId;

/// What joining found.
#[derive(Default)]
pub(super) struct Ends {
    /// Last time of any event.
    pub last: Option<i64>,
    /// Begin event of ends that are in a chain of arrows.
    begin_of: HashMap<u32, u32>,
}

/// Begins and ends of one writer, as long as they come in groups.
#[derive(Default)]
struct Groups {
    /// Begins of the current group, and how many of them have their end.
    begins: Vec<(u32, ThreadId)>,
    n_ended: usize,
    /// Begins with their ends.
    pairs: Vec<(u32, u32)>,
    is_broken: bool,
    /// On some track, time goes back.
    goes_back: bool,
    last: HashMap<ThreadId, i64>,
}

impl Groups {
    fn add(&mut self, event: u32, events: &EventTable) {
        if self.is_broken {
            return;
        }
        let row = events.rows.get(event);
        let last = self.last.entry(row.thread).or_insert(row.ts);
        self.goes_back |= row.ts < *last;
        *last = row.ts;
        if row.phase == Phase::Begin {
            if self.n_ended == self.begins.len() {
                self.begins.clear();
                self.n_ended = 0;
            }
            self.is_broken = self.n_ended > 0;
            self.begins.push((event, row.thread));
        } else if let Some((begin, thread)) = self.begins.get(self.n_ended).copied()
            && thread == row.thread
            && may_end(events, begin, event)
        {
            self.pairs.push((begin, event));
            self.n_ended += 1;
        } else {
            self.is_broken = true;
        }
    }

    fn is_grouped(&self) -> bool {
        self.goes_back && !self.is_broken
    }

    /// Begins whose ends were cut off, or have not come yet.
    fn unended(&self) -> &[(u32, ThreadId)] {
        self.begins.get(self.n_ended..).unwrap_or_default()
    }
}

/// Whether an end may be that of a begin: it has neither another name nor another category.
fn may_end(events: &EventTable, begin: u32, end: u32) -> bool {
    let name = events.rows.name[end as usize];
    let category = events.places.get(end).category;
    (name == StringId::EMPTY || name == events.rows.name[begin as usize])
        && category.some().is_none_or(|category| category == events.places.get(begin).category)
}

/// Writers of a table, by their numbers.
struct Writers<'a> {
    runs: std::iter::Peekable<std::slice::Iter<'a, (u32, u32)>>,
    current: Option<u32>,
}

impl Writers<'_> {
    fn new(events: &EventTable) -> Writers<'_> {
        Writers { runs: events.writers.iter().peekable(), current: None }
    }

    /// Writer of an event, which comes after those asked for before.
    fn of(&mut self, event: u32) -> Option<u32> {
        while let Some((_, writer)) = self.runs.next_if(|(first, _)| *first <= event) {
            self.current = Some(*writer);
        }
        self.current
    }
}

fn groups_of(events: &EventTable) -> HashMap<u32, Groups> {
    let mut groups: HashMap<u32, Groups> = HashMap::default();
    let mut writers = Writers::new(events);
    for event in 0..events.rows.len() as u32 {
        if matches!(events.rows.phase(event), Phase::Begin | Phase::End)
            && let Some(writer) = writers.of(event)
        {
            groups.entry(writer).or_default().add(event, events);
        }
    }
    for (writer, groups) in &mut groups {
        groups.goes_back |= events.in_groups.contains(writer);
    }
    groups.retain(|_, groups| groups.is_grouped());
    groups
}

/// Joins what is whole of groups, before events are packed away thread by thread. Returns begins that wait for their ends, with
/// their writers; these must stay.
pub(super) fn join_groups(builder: &mut TraceBuilder, events: &mut EventTable) -> HashMap<u32, u32> {
    let mut waiting = HashMap::default();
    for (writer, groups) in groups_of(events) {
        for (begin, end) in &groups.pairs {
            join_pair(builder, events, *begin, *end);
        }
        waiting.extend(groups.unended().iter().map(|(event, _)| (*event, writer)));
        if !events.in_groups.contains(&writer) {
            events.in_groups.push(writer);
        }
    }
    waiting
}

/// Makes complete slices of begins with an end; marks these ends.
pub(super) fn join(builder: &mut TraceBuilder, events: &mut EventTable) -> Ends {
    let mut ends = Ends::default();
    let mut in_chain: HashMap<u32, ()> = HashMap::default();
    for chained in &events.chained {
        if events.rows.phase(chained.event) == Phase::End {
            in_chain.insert(chained.event, ());
        }
    }
    let mut unended = Vec::new();
    for groups in groups_of(events).into_values() {
        for (begin, end) in &groups.pairs {
            join_pair(builder, events, *begin, *end);
            if in_chain.contains_key(end) {
                ends.begin_of.insert(*end, *begin);
            }
        }
        unended.extend(groups.unended().iter().map(|(event, _)| *event));
    }
    unended.sort_unstable();
    for begin in unended {
        let row = events.rows.get(begin);
        let category = builder.trace.strings.get_opt(events.places.get(begin).category);
        if category.is_some_and(|text| WORK_CATEGORIES.contains(&text)) {
            // Reports on GPUs, also on what is exported, leave out what has no end; a length of 0 would be a number.
            events.rows.replace(begin, EventRow { phase: Phase::Complete, dur: UNFINISHED, ..row });
            continue;
        }
        note(builder, events, begin, &UNFINISHED_SLICE);
        let flags = row.flags | flag::NO_DURATION;
        events.rows.replace(begin, EventRow { phase: Phase::Complete, dur: 0, flags, ..row });
    }
    join_rest(builder, events, &in_chain, &mut ends);
    events.end_args.sort_unstable_by_key(|row| row.0);
    ends.last = events
        .rows
        .iter()
        .filter(|row| row.phase != Phase::Metadata)
        .map(|row| match row.phase {
            Phase::Complete => row.ts.saturating_add(row.dur.max(0)),
            _ => row.ts,
        })
        .chain(builder.trace.counters.ts.iter().copied())
        .max();
    ends
}

/// Joins what does not come in groups, in order of time. Sets durations of states.
fn join_rest(
    builder: &mut TraceBuilder,
    events: &mut EventTable,
    in_chain: &HashMap<u32, ()>,
    ends: &mut Ends,
) {
    let is_rest = |phase: Phase| matches!(phase, Phase::Begin | Phase::End | Phase::ThreadState);
    if !events.rows.phases().any(is_rest) {
        return;
    }
    let mut begins: HashMap<ThreadId, OpenBegins> = HashMap::default();
    let mut states: HashMap<ThreadId, u32> = HashMap::default();
    for event in order_of_time(events) {
        let row = events.rows.get(event);
        match row.phase {
            Phase::Begin => {
                let category = events.places.get(event).category;
                begins.entry(row.thread).or_default().push(event, row.name, category);
            }
            Phase::End if row.dur != IS_JOINED => {
                let name = Some(row.name).filter(|name| *name != StringId::EMPTY);
                let category = events.places.get(event).category.some();
                let begin = begins.get_mut(&row.thread).and_then(|begins| begins.take(name, category));
                if let Some(begin) = begin {
                    join_pair(builder, events, begin, event);
                    if in_chain.contains_key(&event) {
                        ends.begin_of.insert(event, begin);
                    }
                }
            }
            Phase::ThreadState => {
                if let Some(before) = states.insert(row.thread, event) {
                    let state = events.rows.get(before);
                    let dur = row.ts.saturating_sub(state.ts).max(0);
                    events.rows.replace(before, EventRow { dur, ..state });
                }
            }
            _ => {}
        }
    }
    for event in 0..events.rows.len() as u32 {
        if events.rows.phase(event) == Phase::Begin {
            let row = events.rows.get(event);
            events.rows.replace(event, EventRow { phase: Phase::Complete, dur: UNFINISHED, ..row });
        }
    }
    for event in states.into_values() {
        let row = events.rows.get(event);
        events.rows.replace(event, EventRow { dur: UNFINISHED, ..row });
    }
}

fn join_pair(builder: &mut TraceBuilder, events: &mut EventTable, begin: u32, end: u32) {
    let (row, end_row) = (events.rows.get(begin), events.rows.get(end));
    let mut flags = row.flags;
    if end_row.ts < row.ts {
        note(builder, events, begin, &NEGATIVE_SLICE);
        if flags & flag::REPAIRED == 0 {
            let bytes = u64::from(events.places.get(begin).len);
            builder.trace.ledger.kept_to_repaired(bytes);
        }
        flags |= flag::NO_DURATION | flag::REPAIRED;
    }
    let dur = end_row.ts.saturating_sub(row.ts).max(0);
    events.rows.replace(begin, EventRow { phase: Phase::Complete, dur, flags, ..row });
    events.rows.replace(end, EventRow { dur: IS_JOINED, ..end_row });
    let args = events.places.get(end).args();
    if !args.is_none() {
        let args = builder.with_begin_args(events.places.get(begin).args(), args);
        events.end_args.push((begin, args));
    }
}

fn note(builder: &mut TraceBuilder, events: &EventTable, event: u32, kind: &'static crate::trace::IssueKind) {
    let at = Position { byte: events.places.get(event).offset, line: None };
    let trace = &mut builder.trace;
    trace.ledger.file(kind, at, trace.strings.get(events.rows.name[event as usize]).as_bytes());
}

impl TraceBuilder {
    /// Arguments of an end, with what a begin has under the same names added: lists are continued, objects merged.
    pub(super) fn with_begin_args(&mut self, begin: ArgsPlace, end: ArgsPlace) -> ArgsPlace {
        let args = &mut self.trace.args;
        let joined = args.kept(begin).zip(args.kept(end)).and_then(|(begin, end)| {
            let mut joined = Vec::new();
            push_joined(&begin, &end, &mut joined).then_some(joined)
        });
        match joined {
            Some(joined) => args.replace(end, &joined),
            None => end,
        }
    }
}

/// Draws the arrows of all chains. `event_of` has the event of each slice.
pub(super) fn link(builder: &mut TraceBuilder, events: &EventTable, event_of: &[u32], ends: &Ends) {
    if events.chained.is_empty() {
        return;
    }
    let mut slice_of = vec![u32::MAX; events.rows.len()];
    for (slice, event) in event_of.iter().enumerate() {
        slice_of[*event as usize] = slice as u32;
    }
    let mut order: Vec<u32> = (0..events.chained.len() as u32).collect();
    order.sort_by_key(|at| {
        let chained = &events.chained[*at as usize];
        (chained.id, events.rows.ts[chained.event as usize])
    });
    let mut before: Option<(u64, u32)> = None;
    for at in order {
        let chained = events.chained[at as usize];
        let event = ends.begin_of.get(&chained.event).copied().unwrap_or(chained.event);
        // An event that was dropped.
        let Some(slice) = slice_of.get(event as usize).copied().filter(|slice| *slice != u32::MAX) else {
            continue;
        };
        let from = before.filter(|(id, _)| *id == chained.id).map(|(_, slice)| slice);
        match from {
            Some(from) if from != slice => {
                let flows = &mut builder.trace.flows;
                // Slices are numbered by start.
                flows.from.push(SliceId(from.min(slice)));
                flows.to.push(SliceId(from.max(slice)));
                flows.name.push(StringId::NONE);
                flows.category.push(StringId::NONE);
            }
            None if chained.is_last => note(builder, events, chained.event, &FLOW_NO_START),
            _ => {}
        }
        before = (!chained.is_last).then_some((chained.id, slice));
    }
}
