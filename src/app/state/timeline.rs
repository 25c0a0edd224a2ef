//! What one looks at in the timeline of a tab. It stays while another report shows.

use super::{Source, Tab};
use crate::app::client::Answer;
use crate::app::screens::{Step, TIMELINE};
use crate::app::view_state::{Action, TimelineLook};
use crate::app::words::words;
use leptos::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use tracedrop::analysis::Query;
use tracedrop::base::sort;
use tracedrop::base::units::Unit;
use tracedrop::engine::protocol::{
    ColumnView, OTHER_TIMELINE, Request, TableAsk, TimelineAnswer, TimelineAsk,
};
use tracedrop::report::view::TableQuery;
use tracedrop::report::{RowsOf, Value};
use tracedrop::timeline::Viewport;
use tracedrop::timeline::answers::{
    BoxLink, BoxName, ColorBy, Details, Found, Load, Stretch, TrackView, Tracks,
};

/// The timeline of a tab.
#[derive(Clone, Copy)]
pub struct TimelineState {
    /// Settings of the reports when the tracks came.
    pub query: StoredValue<Option<Query>>,
    /// `None` until the worker has sent it.
    pub load: RwSignal<Option<Arc<Load>>>,
    /// `None` until the worker has sent them.
    pub tracks: RwSignal<Option<Arc<Tracks>>>,
    /// Why there are none.
    pub problem: RwSignal<Option<String>>,
    pub view: RwSignal<Option<Viewport>>,
    /// Collapsed tracks: only their first row shows.
    pub folded: RwSignal<BTreeSet<u32>>,
    /// Those that start collapsed.
    pub idle: RwSignal<BTreeSet<u32>>,
    pub selected: RwSignal<Option<BoxName>>,
    pub details: RwSignal<Option<Arc<Details>>>,
    /// Selected times in nanoseconds from the start, the earlier one first.
    pub stretch: RwSignal<Option<(f64, f64)>>,
    pub sums: RwSignal<Option<Arc<Stretch>>>,
    /// Times of the rows of a table that led here, in nanoseconds from the start and in the order of the rows.
    pub times: RwSignal<Vec<(f64, f64)>>,
    /// A time that was marked, in nanoseconds from the start: a second mark makes a stretch of it.
    pub mark: RwSignal<Option<f64>>,
    /// `None` until the worker has sent them.
    pub steps: RwSignal<Option<Vec<Step>>>,
    /// Only tracks with this text in their names or processes show.
    pub only: RwSignal<String>,
    /// Tracks that stay at the top, in the order in which they were put there.
    pub pinned: RwSignal<Vec<u32>>,
    /// Text that is searched for.
    pub lit: RwSignal<String>,
    pub color_by: RwSignal<ColorBy>,
    /// What the colors stand for; empty for names.
    pub legend: RwSignal<Vec<(String, u8)>>,
    pub found: RwSignal<Option<Found>>,
    /// Something has led to the timeline, which is to have the keys.
    pub takes_focus: RwSignal<bool>,
    /// Something has led to the timeline, and nobody has done anything there since: what it shows belongs to that step.
    pub is_arriving: StoredValue<bool>,
}

impl TimelineState {
    pub fn new() -> TimelineState {
        TimelineState {
            query: StoredValue::new(None),
            load: RwSignal::new(None),
            tracks: RwSignal::new(None),
            problem: RwSignal::new(None),
            view: RwSignal::new(None),
            folded: RwSignal::default(),
            idle: RwSignal::default(),
            selected: RwSignal::new(None),
            details: RwSignal::new(None),
            stretch: RwSignal::new(None),
            sums: RwSignal::new(None),
            times: RwSignal::default(),
            mark: RwSignal::new(None),
            steps: RwSignal::new(None),
            only: RwSignal::default(),
            pinned: RwSignal::default(),
            lit: RwSignal::default(),
            color_by: RwSignal::default(),
            legend: RwSignal::default(),
            found: RwSignal::new(None),
            takes_focus: RwSignal::new(false),
            is_arriving: StoredValue::new(false),
        }
    }

    /// There are steps or phases to show above the tracks.
    pub fn has_steps(self) -> bool {
        self.steps.with(|steps| steps.as_ref().is_some_and(|steps| !steps.is_empty()))
    }

    /// The file is read again: what was there is no longer.
    pub fn reset(self) {
        self.query.set_value(None);
        self.load.set(None);
        self.tracks.set(None);
        self.problem.set(None);
        self.view.set(None);
        self.selected.set(None);
        self.details.set(None);
        self.stretch.set(None);
        self.sums.set(None);
        self.times.set(Vec::new());
        self.found.set(None);
        self.mark.set(None);
        self.steps.set(None);
        self.pinned.set(Vec::new());
        self.only.set(String::new());
    }

    /// Only a part of the files is parsed so far.
    pub fn is_of_part(self) -> bool {
        self.tracks.with(|tracks| tracks.as_ref().is_some_and(|tracks| tracks.so_far.is_some()))
    }

    /// Selects a stretch of time, or nothing, in place of what was selected.
    pub fn select_stretch(self, stretch: Option<(f64, f64)>) {
        self.selected.set(None);
        self.details.set(None);
        self.sums.set(None);
        self.stretch.set(stretch);
    }

    /// Which of the marked times is selected.
    pub fn time_number(self) -> Option<usize> {
        let stretch = self.stretch.get()?;
        self.times.with(|times| times.iter().position(|time| *time == stretch))
    }

    /// The timeline that questions are to; `None` for any, because there is one only.
    pub fn number(self) -> Option<u32> {
        self.tracks
            .with_untracked(|tracks| tracks.as_ref().filter(|it| it.so_far.is_some()).map(|it| it.number))
    }

    /// The worker has sent the tracks. Those that are idle nearly all the time start folded. What one looks at stays where there
    /// were tracks before, of a smaller part of the files.
    pub fn has_come(self, tracks: Tracks) {
        let is_idle = |track: &TrackView| track.is_folded || (track.n_rows > 1 && track.busy < IDLE);
        let numbers = (0..).zip(&tracks.tracks).filter(|(_, track)| is_idle(track)).map(|(number, _)| number);
        let mut idle = BTreeSet::new();
        // Collecting would sort them, with a sort of its own.
        idle.extend(numbers);
        let mut folded = idle.clone();
        if let Some(before) = self.tracks.get_untracked() {
            let now = |number: &u32| before.number_in(&tracks, *number);
            let toggled: Vec<u32> = self.folded.with_untracked(|folded| {
                self.idle.with_untracked(|idle| folded.symmetric_difference(idle).filter_map(now).collect())
            });
            for number in toggled {
                if !folded.remove(&number) {
                    folded.insert(number);
                }
            }
            let pinned = self.pinned.with_untracked(|pinned| pinned.iter().filter_map(now).collect());
            self.pinned.set(pinned);
            let earlier_ns = earlier_ns(&before, &tracks);
            let moved = |ns: f64| ns + earlier_ns;
            self.view.update(|view| *view = view.map(|view| view.of_more(tracks.span_ns, earlier_ns)));
            self.stretch.update(|stretch| *stretch = stretch.map(|(from, to)| (moved(from), moved(to))));
            self.times.update(|times| times.iter_mut().for_each(|it| *it = (moved(it.0), moved(it.1))));
            self.mark.update(|mark| *mark = mark.map(moved));
            self.found.set(None);
        }
        self.problem.set(None);
        self.idle.set(idle);
        self.folded.set(folded);
        self.tracks.set(Some(Arc::new(tracks)));
    }
}

/// By how many nanoseconds the timeline of more of the files starts before the one of less.
pub fn earlier_ns(before: &Tracks, after: &Tracks) -> f64 {
    match before.is_each_from_zero || after.is_each_from_zero {
        true => 0.0,
        false => before.start_ns.wrapping_sub(after.start_ns) as f64,
    }
}

/// Rows whose times are marked, or whose names are looked for, at once.
const MAX_SOUGHT: u64 = 50;

/// Whether rows with these columns can be found in a timeline: they have a time, or are named as events are.
pub fn has_place(columns: &[ColumnView]) -> bool {
    columns.iter().any(|column| column.is_symbol || column.unit == Unit::NsOffset)
}

/// Start and end in nanoseconds from the start of the trace, if the row says them.
pub fn row_times(columns: &[ColumnView], values: &[Value]) -> Option<(f64, f64)> {
    let number = |at: usize| match values.get(at)? {
        Value::Unsigned(ns) => Some(*ns as f64),
        Value::Integer(ns) => Some(*ns as f64),
        Value::Float(ns) => Some(*ns),
        _ => None,
    };
    let at = |is_it: &dyn Fn(&ColumnView) -> bool| number(columns.iter().position(is_it)?);
    let start = at(&|column| column.unit == Unit::NsOffset)?;
    let is_length = |column: &ColumnView| {
        column.unit == Unit::Ns
            && matches!(column.id.as_str(), "dur" | "duration" | "length" | "time" | "gpu_time" | "cpu_time")
    };
    let is_end =
        |column: &ColumnView| column.unit == Unit::NsOffset && matches!(column.id.as_str(), "end" | "last");
    let end = at(&is_end).unwrap_or_else(|| start + at(&is_length).unwrap_or(0.0));
    Some((start, end.max(start)))
}

/// Column with the names of the events that rows are about.
fn key_symbol(columns: &[ColumnView]) -> Option<usize> {
    columns.iter().position(|column| column.is_symbol && column.key)
}

/// What rows call the events that they are about.
fn names_of(columns: &[ColumnView], rows: &[Vec<Value>]) -> Vec<String> {
    let place = key_symbol(columns).or_else(|| columns.iter().position(|column| column.is_symbol));
    let names = place.into_iter().flat_map(|place| rows.iter().filter_map(move |row| row.get(place)));
    let mut names: Vec<String> = names.map(Value::plain).collect();
    sort::by(&mut names, Ord::cmp);
    names.dedup();
    names
}

/// A search for events with one of these very names.
fn search_for(names: &[String]) -> String {
    match names {
        // Quotes would end it.
        [name] if name.contains('"') => name.clone(),
        names => {
            let quoted = names.iter().filter(|name| !name.contains('"')).map(|name| format!("\"{name}\""));
            quoted.collect::<Vec<_>>().join("|")
        }
    }
}

/// A search for the events that rows stand for; empty if their names are not those of events.
pub fn search_for_rows(columns: &[ColumnView], rows: &[Vec<Value>]) -> String {
    search_for(&names_of(columns, rows))
}

impl Tab {
    /// Of a comparison: the tabs of A and B, if both are still open and have a timeline.
    pub fn timeline_pair(self) -> Option<[Tab; 2]> {
        let of = self.source.with_value(|source| match source {
            Some(Source::Sides(sides)) => Some(sides.of()),
            _ => None,
        })?;
        let is_swapped = self.document.with(|it| Some(it.as_ref()?.sides.as_ref()?.is_swapped))?;
        let tab = |id: u32| {
            let tab = self.app.tabs.with(|tabs| tabs.iter().find(|tab| tab.id == id).copied())?;
            tab.document.with(|it| it.as_ref().is_some_and(|it| it.has_timeline)).then_some(tab)
        };
        let [a, b] = of.map(tab);
        if is_swapped { Some([b?, a?]) } else { Some([a?, b?]) }
    }

    /// Whether there is a timeline to show: of this tab, or of both sides of a comparison.
    pub fn has_timeline(self) -> bool {
        self.document.with(|it| it.as_ref().is_some_and(|it| it.has_timeline && it.link.is_none()))
            || self.timeline_pair().is_some()
    }

    /// Whether the rows of a table can be found in the timeline.
    pub fn has_in_timeline(self, rows: &RowsOf) -> bool {
        let has_timeline = self.has_timeline();
        self.document.with(|document| {
            let Some(document) = document.as_ref().filter(|_| has_timeline) else { return false };
            document.table(&rows.report, &rows.table).is_some_and(|table| has_place(&table.columns))
        })
    }

    /// Shows in the timeline what some rows of a table are about.
    pub fn show_in_timeline(self, rows: RowsOf) {
        let columns = self.document.with_untracked(|document| {
            Some(document.as_ref()?.table(&rows.report, &rows.table)?.columns.clone())
        });
        let Some(columns) = columns else { return };
        let query = TableQuery { filter: rows.filter, ..TableQuery::default() };
        let ask = TableAsk { query, ..TableAsk::whole(&rows.report, &rows.table) };
        self.ask(
            move |ticket| Request::Rows { ticket, ask, offset: 0, limit: MAX_SOUGHT },
            move |answer| {
                if let Answer::Rows { rows, .. } = answer {
                    self.show_rows_in_timeline(&columns, &rows.rows);
                }
            },
        );
    }

    /// Marks the times of rows that have one, selects that of the first row, and lights all events that have the name of one of
    /// the rows.
    pub fn show_rows_in_timeline(self, columns: &[ColumnView], rows: &[Vec<Value>]) {
        let text = || search_for_rows(columns, rows);
        if let Some(sides) = untrack(|| self.timeline_pair()) {
            // On both sides, without going anywhere.
            sides.iter().for_each(|side| side.timeline.lit.set(text()));
            return self.go_to_timeline();
        }
        let is_single = self.document.with_untracked(|it| it.as_ref().is_some_and(|it| it.files.is_empty()));
        let times: Vec<(f64, f64)> = rows.iter().filter_map(|row| row_times(columns, row)).collect();
        let state = self.timeline;
        let Some((from, to)) = times.first().copied().filter(|_| is_single) else {
            state.times.set(Vec::new());
            return self.find_if_there(text(), times.is_empty());
        };
        state.times.set(times);
        state.lit.set(String::new());
        state.found.set(None);
        self.show_time(from, to);
        // Other names are those of events beside the time, such as the kernel after a gap.
        if key_symbol(columns).is_some() {
            self.find_if_there(text(), false);
        }
    }

    /// Shows the timeline, which then has the keys.
    pub fn go_to_timeline(self) {
        let is_there = self.report.with_untracked(|report| report.as_deref() == Some(TIMELINE));
        if !is_there {
            self.timeline.is_arriving.set_value(true);
            // A frame leaves the focus to the page around it.
            self.timeline.takes_focus.set(self.app.embed.is_none());
        }
        self.show_report(Some(TIMELINE.to_string()));
    }

    /// Shows an event in the timeline, with all about it.
    pub fn show_event(self, link: &BoxLink) {
        let (of, start) = (link.of, link.start_ns as f64);
        self.look_around(start, start + link.dur_ns.unwrap_or(0) as f64);
        let state = self.timeline;
        state.stretch.set(None);
        state.sums.set(None);
        state.details.set(None);
        state.selected.set(Some(of));
        self.go_to_timeline();
        let details = move |ticket| Request::Timeline { ticket, of: None, ask: TimelineAsk::Details { of } };
        self.ask(details, move |answer| {
            if let Answer::Timeline(TimelineAnswer::Details(Some(details))) = answer
                && state.selected.get_untracked() == Some(of)
            {
                state.details.set(Some(Arc::from(details)));
            }
        });
    }

    /// Adds up what is in the selected stretch of time.
    pub fn show_sums(self) {
        let state = self.timeline;
        let Some(stretch) = state.stretch.get_untracked() else { return state.sums.set(None) };
        if untrack(|| state.is_of_part()) {
            return;
        }
        let (from_ns, to_ns) = (stretch.0.max(0.0) as u64, stretch.1.max(0.0) as u64);
        let of = state.number();
        let ask =
            move |ticket| Request::Timeline { ticket, of, ask: TimelineAsk::Stretch { from_ns, to_ns } };
        self.ask(ask, move |answer| match answer {
            Answer::Timeline(TimelineAnswer::Stretch(sums))
                if state.stretch.get_untracked() == Some(stretch) =>
            {
                state.sums.set(Some(Arc::new(sums)));
            }
            // The tracks of the other one come with the next document.
            Answer::Refused(failure) if failure.code != OTHER_TIMELINE => {
                state.problem.set(Some(failure.to_string()));
            }
            _ => {}
        });
    }

    /// The stretch of time that the address says.
    pub fn stretch_in_address(self) -> Option<(u64, u64)> {
        self.app.view.with(|view| view.tab(self.id)?.timeline.as_ref()?.stretch)
    }

    /// Selects a stretch of time while another report than the timeline shows, or none, and says so in the address.
    pub fn choose_stretch(self, stretch: Option<(f64, f64)>) {
        // As in the address.
        let stretch = stretch.map(|(from, to)| (from.max(0.0) as u64, to.max(0.0) as u64));
        self.timeline.select_stretch(stretch.map(|(from, to)| (from as f64, to as f64)));
        let before = self.app.view.with_untracked(|view| view.tab(self.id)?.timeline.clone());
        let span_ns = self.timeline.load.with_untracked(|load| load.as_ref().map_or(0, |load| load.span_ns));
        let whole = TimelineLook { view: (0, span_ns), ..TimelineLook::default() };
        let look = TimelineLook { stretch, selected: None, ..before.unwrap_or_else(|| whole.clone()) };
        let look = (look != whole).then_some(look);
        self.app.act(Action::LookAtTime { tab: self.id, look, is_step: true });
    }

    /// Shows a range of time in the timeline, in nanoseconds from the start of the trace, and selects it.
    pub fn show_time(self, from: f64, to: f64) {
        self.look_around(from, to);
        if to > from && self.timeline.stretch.get_untracked() != Some((from, to)) {
            self.timeline.select_stretch(Some((from, to)));
        }
        self.go_to_timeline();
    }

    /// Puts a range of time in the middle of the timeline, in nanoseconds from the start of the trace.
    fn look_around(self, from: f64, to: f64) {
        let of_document = || self.document.with_untracked(|it| it.as_ref().and_then(|it| it.span_ns));
        // Not all that is drawn is in the span of the document.
        let of_load = self.timeline.load.with_untracked(|load| load.as_ref().map(|load| load.span_ns));
        let length = of_load.unwrap_or_else(|| of_document().unwrap_or(1).max(1) as u64);
        let view = self.timeline.view.get_untracked();
        let view = view.unwrap_or_else(|| Viewport::whole(length, 1000.0));
        self.timeline.view.set(Some(view.around(from, to)));
    }

    /// Shows the timeline with a search for that text, if it finds something there, and says so otherwise.
    pub fn find_in_timeline(self, text: String) {
        if let Some(sides) = untrack(|| self.timeline_pair()) {
            sides.iter().for_each(|side| side.timeline.lit.set(text.clone()));
            return self.go_to_timeline();
        }
        self.timeline.times.set(Vec::new());
        self.find_if_there(text, true);
    }

    fn find_if_there(self, text: String, says_so: bool) {
        if text.is_empty() {
            return;
        }
        let lit = text.clone();
        let find = move |ticket| {
            let ask = TimelineAsk::Find { text, from: None, is_back: false };
            Request::Timeline { ticket, of: None, ask }
        };
        self.ask(find, move |answer| {
            let Answer::Timeline(TimelineAnswer::Found(found)) = answer else { return };
            if found.n > 0 {
                self.timeline.lit.set(lit.clone());
                self.timeline.found.set(Some(found));
                self.go_to_timeline();
            } else if says_so {
                self.app.say((words().table.not_in_timeline)(&lit));
            }
        });
    }
}

/// Share of the time below which a track counts as idle.
const IDLE: f64 = 0.001;
