//! What one looks at in the timeline of a tab. It stays while another report shows.

use leptos::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
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

/// Share of the time below which a track counts as idle.
const IDLE: f64 = 0.001;
