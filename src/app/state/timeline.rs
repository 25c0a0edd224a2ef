//! What one looks at in the timeline of a tab. It stays while another report shows.

use super::Tab;
use crate::app::client::Answer;
use crate::app::screens::TIMELINE;
use crate::app::words::words;
use leptos::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use tracedrop::base::units::Unit;
use tracedrop::engine::protocol::{ColumnView, Request, TableAsk, TableId, TimelineAnswer, TimelineAsk};
use tracedrop::report::view::TableQuery;
use tracedrop::report::{RowsOf, Value};
use tracedrop::timeline::Viewport;
use tracedrop::timeline::answers::{BoxName, Details, Found, Load, Stretch, TrackView, Tracks};

/// The timeline of a tab.
#[derive(Clone, Copy)]
pub struct TimelineState {
    /// `None` until the worker has sent it.
    pub load: RwSignal<Option<Arc<Load>>>,
    /// `None` until the worker has sent them.
    pub tracks: RwSignal<Option<Arc<Tracks>>>,
    /// Why there are none.
    pub problem: RwSignal<Option<String>>,
    pub view: RwSignal<Option<Viewport>>,
    /// Collapsed tracks: only their first row shows.
    pub folded: RwSignal<BTreeSet<u32>>,
    pub selected: RwSignal<Option<BoxName>>,
    pub details: RwSignal<Option<Arc<Details>>>,
    /// Selected times in nanoseconds from the start, the earlier one first.
    pub stretch: RwSignal<Option<(f64, f64)>>,
    pub sums: RwSignal<Option<Arc<Stretch>>>,
    /// Text that is searched for.
    pub lit: RwSignal<String>,
    pub found: RwSignal<Option<Found>>,
}

impl TimelineState {
    pub fn new() -> TimelineState {
        TimelineState {
            load: RwSignal::new(None),
            tracks: RwSignal::new(None),
            problem: RwSignal::new(None),
            view: RwSignal::new(None),
            folded: RwSignal::default(),
            selected: RwSignal::new(None),
            details: RwSignal::new(None),
            stretch: RwSignal::new(None),
            sums: RwSignal::new(None),
            lit: RwSignal::default(),
            found: RwSignal::new(None),
        }
    }

    /// The file is read again: what was there is no longer.
    pub fn reset(self) {
        self.load.set(None);
        self.tracks.set(None);
        self.problem.set(None);
        self.view.set(None);
        self.selected.set(None);
        self.details.set(None);
        self.stretch.set(None);
        self.sums.set(None);
        self.found.set(None);
    }

    /// The worker has sent the tracks. Those that are idle nearly all the time start folded.
    pub fn has_come(self, tracks: Tracks) {
        let is_idle = |track: &TrackView| track.n_rows > 1 && track.busy < IDLE;
        let folded = (0..).zip(&tracks.tracks).filter(|(_, track)| is_idle(track)).map(|(number, _)| number);
        self.folded.set(folded.collect());
        self.tracks.set(Some(Arc::new(tracks)));
    }
}

/// Rows whose names are looked for at once.
const MAX_SOUGHT: u64 = 50;

/// Whether rows with these columns can be found in a timeline: they have a time, or are named as events are.
pub fn has_place(columns: &[ColumnView]) -> bool {
    columns.iter().any(|column| column.is_symbol || column.unit == Unit::NsOffset)
}

/// Start and end in nanoseconds from the start of the trace, if the row says them.
fn times_of(columns: &[ColumnView], values: &[Value]) -> Option<(f64, f64)> {
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
            && matches!(column.id.as_str(), "dur" | "duration" | "length" | "time" | "gpu_time")
    };
    let is_end =
        |column: &ColumnView| column.unit == Unit::NsOffset && matches!(column.id.as_str(), "end" | "last");
    let end = at(&is_end).unwrap_or_else(|| start + at(&is_length).unwrap_or(0.0));
    Some((start, end.max(start)))
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

impl Tab {
    /// Whether the rows of a table can be found in the timeline.
    pub fn has_in_timeline(self, rows: &RowsOf) -> bool {
        self.document.with(|document| {
            let Some(document) = document.as_ref().filter(|it| it.has_timeline) else { return false };
            document.table(&rows.report, &rows.table).is_some_and(|table| has_place(&table.columns))
        })
    }

    /// Shows in the timeline what some rows of a table are about.
    pub fn show_in_timeline(self, rows: RowsOf) {
        let columns = self.document.with_untracked(|document| {
            Some(document.as_ref()?.table(&rows.report, &rows.table)?.columns.clone())
        });
        let Some(columns) = columns else { return };
        let table = TableId { report: rows.report, table: rows.table };
        let query = TableQuery { filter: rows.filter, ..TableQuery::default() };
        let ask = TableAsk { table, query, sort_by: None };
        self.ask(
            move |ticket| Request::Rows { ticket, ask, offset: 0, limit: MAX_SOUGHT },
            move |answer| {
                if let Answer::Rows { rows, .. } = answer {
                    self.show_rows_in_timeline(&columns, &rows.rows);
                }
            },
        );
    }

    /// Shows the time of the first row, and all events that have the name of one of the rows.
    pub fn show_rows_in_timeline(self, columns: &[ColumnView], rows: &[Vec<Value>]) {
        let is_single = self.document.with_untracked(|it| it.as_ref().is_some_and(|it| it.files.is_empty()));
        let times = rows.first().and_then(|row| times_of(columns, row));
        if let Some((from, to)) = times.filter(|_| is_single) {
            let length =
                self.document.with_untracked(|it| it.as_ref().and_then(|it| it.span_ns)).unwrap_or(1);
            let view = self.timeline.view.get_untracked();
            let view = view.unwrap_or_else(|| Viewport::whole(length.max(1) as u64, 1000.0));
            self.timeline.view.set(Some(view.around(from, to)));
            if to > from {
                self.timeline.stretch.set(Some((from, to)));
            }
            self.show_report(Some(TIMELINE.to_string()));
        }
        let place = columns.iter().position(|column| column.is_symbol && column.key);
        let place = place.or_else(|| columns.iter().position(|column| column.is_symbol));
        let Some(place) = place else { return };
        let mut names: Vec<String> = rows.iter().filter_map(|row| row.get(place)).map(Value::plain).collect();
        names.sort();
        names.dedup();
        let text = search_for(&names);
        let lit = text.clone();
        let find = move |ticket| {
            let ask = TimelineAsk::Find { text, from: None, is_back: false };
            Request::Timeline { ticket, ask }
        };
        self.ask(find, move |answer| {
            let Answer::Timeline(TimelineAnswer::Found(found)) = answer else { return };
            if found.n > 0 {
                self.timeline.lit.set(lit.clone());
                self.timeline.found.set(Some(found));
                self.show_report(Some(TIMELINE.to_string()));
            } else if times.is_none() {
                self.app.say((words().table.not_in_timeline)(&lit));
            }
        });
    }
}

/// Share of the time below which a track counts as idle.
const IDLE: f64 = 0.001;
