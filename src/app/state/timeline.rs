//! What one looks at in the timeline of a tab. It stays while another report shows.

use super::Tab;
use crate::app::client::Answer;
use crate::app::screens::TIMELINE;
use crate::app::words::words;
use leptos::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use tracedrop::engine::protocol::{Request, TimelineAnswer, TimelineAsk};
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

impl Tab {
    /// Shows a range of time, or else all events of a name.
    pub fn show_in_timeline(self, name: String, times: Option<(f64, f64)>) {
        let is_single = self.document.with_untracked(|it| it.as_ref().is_some_and(|it| it.files.is_empty()));
        if let Some((from, to)) = times.filter(|_| is_single) {
            let length =
                self.document.with_untracked(|it| it.as_ref().and_then(|it| it.span_ns)).unwrap_or(1);
            let view = self.timeline.view.get_untracked();
            let view = view.unwrap_or_else(|| Viewport::whole(length.max(1) as u64, 1000.0));
            self.timeline.view.set(Some(view.around(from, to)));
            self.show_report(Some(TIMELINE.to_string()));
        }
        let text = name.clone();
        let find = move |ticket| {
            let ask = TimelineAsk::Find { text, from: None, is_back: false };
            Request::Timeline { ticket, ask }
        };
        self.ask(find, move |answer| {
            let Answer::Timeline(TimelineAnswer::Found(found)) = answer else { return };
            if found.n > 0 {
                self.timeline.lit.set(name.clone());
                self.timeline.found.set(Some(found));
                self.show_report(Some(TIMELINE.to_string()));
            } else if times.is_none() {
                self.app.say((words().table.not_in_timeline)(&name));
            }
        });
    }
}

/// Share of the time below which a track counts as idle.
const IDLE: f64 = 0.001;
