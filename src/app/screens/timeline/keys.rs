//! What keys do in the timeline: they move the view, and walk the tree of tracks and events.

use super::layout::RULER;
use super::stage::{Stage, ends};
use super::tree::shown_tracks;
use crate::app::browser;
use crate::app::shortcuts::SHOWN_TIMELINE;
use leptos::ev;
use leptos::prelude::*;
use tracedrop::timeline::Viewport;
use tracedrop::timeline::answers::{At, RowName};

/// Where one goes among the tracks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Towards {
    Before,
    After,
    First,
    Last,
}

impl Stage {
    pub fn key(self, event: &ev::KeyboardEvent) {
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        self.is_used();
        // These take away or replace what is in the panel, and would take the focus with it.
        let panel =
            self.panel.get_untracked().filter(|_| matches!(event.key().as_str(), "Escape" | "[" | "]"));
        if panel.is_some_and(|panel| browser::focused_inside(&panel)) {
            self.focus();
        }
        let step = |view: &Viewport| view.width * 0.15;
        let details = self.tab.timeline.details.get_untracked();
        let track = self.track.get_untracked();
        match (event.key().as_str(), details) {
            ("ArrowUp", _) if event.shift_key() => self.go_to_track(Towards::Before),
            ("ArrowDown", _) if event.shift_key() => self.go_to_track(Towards::After),
            ("ArrowUp", None) if track.is_some() => self.go_to_track(Towards::Before),
            ("ArrowDown", None) if track.is_some() => self.go_to_track(Towards::After),
            ("Home", None) if track.is_some() => self.go_to_track(Towards::First),
            ("End", None) if track.is_some() => self.go_to_track(Towards::Last),
            ("Escape", None) if track.is_some() => self.track.set(None),
            ("Escape", Some(details)) if track.is_some() => {
                self.clear();
                self.track.set(Some(details.link.row.track));
            }
            ("a", _) | ("ArrowLeft", None) => self.change(|view| view.panned(-step(&view))),
            ("d", _) => self.change(|view| view.panned(step(&view))),
            ("ArrowRight", None) if track.is_none() => self.change(|view| view.panned(step(&view))),
            ("w" | "+" | "=", _) => self.zoom(1.0 / 1.4),
            ("s" | "-", _) => self.zoom(1.4),
            ("0", _) => self.show_all(),
            ("f", _) => self.fit(),
            ("[", _) => self.go_to_same_name(true),
            ("]", _) => self.go_to_same_name(false),
            ("Escape", _) => self.clear(),
            ("/", _) => {
                // Two timelines have no search of their own.
                if !browser::focus_first(&format!("{SHOWN_TIMELINE} .timeline-search input")) {
                    return;
                }
            }
            ("m", None) => self.mark(),
            ("m", Some(details)) => {
                let (from, to) = ends(&details.link);
                if let Some(to) = to {
                    self.tab.timeline.stretch.set(Some((from, to)));
                    self.show_sums();
                }
            }
            ("ArrowUp", Some(details)) => self.go(details.parents.first()),
            ("ArrowDown", Some(details)) => self.go(details.children.first()),
            ("ArrowLeft", Some(details)) => self.go_beside(&details.link, true),
            ("ArrowRight", Some(details)) => self.go_beside(&details.link, false),
            ("Enter" | "ArrowRight", None) if track.is_some() => self.enter_track(track),
            ("Enter", None) => {
                let middle = self.tab.timeline.view.get_untracked().map_or(0.0, |view| view.width / 2.0);
                // Below the ruler and the steps.
                let (height, scrolled) = (self.height.get_untracked(), self.scrolled.get_untracked());
                let first = self.layout.with_untracked(|layout| {
                    layout.rows(scrolled, scrolled + height).first().map_or(0.0, |row| row.1 - scrolled)
                });
                self.ask_at(middle, RULER + first.max(0.0) + 1.0, move |found| {
                    if let Some(At { of: Some(of), .. }) = found {
                        self.show_details(of);
                    }
                });
            }
            _ => return,
        }
        event.prevent_default();
        event.stop_propagation();
    }

    /// Makes another track the current one, without an event.
    fn go_to_track(self, towards: Towards) {
        let shown = self.layout.with_untracked(shown_tracks);
        let at = untrack(|| self.current_track())
            .and_then(|track| shown.iter().position(|number| *number == track));
        let next = match (towards, at) {
            (Towards::First, _) | (_, None) => 0,
            (Towards::Last, _) => shown.len().saturating_sub(1),
            (Towards::Before, Some(at)) => at.saturating_sub(1),
            (Towards::After, Some(at)) => (at + 1).min(shown.len().saturating_sub(1)),
        };
        let Some(number) = shown.get(next) else { return };
        self.clear();
        self.track.set(Some(*number));
        self.scroll_to(RowName { track: *number, row: 0 });
    }

    /// Selects the first event of a track that is in view.
    fn enter_track(self, track: Option<u32>) {
        let first = self.in_view.with_untracked(|in_view| {
            let of_track = in_view.iter().filter(|event| Some(event.row.track) == track);
            of_track.min_by_key(|event| (event.start_ns, event.row.row)).map(|event| event.of)
        });
        if let Some(of) = first {
            return self.show_details(of);
        }
        // None of them is wide enough for a text.
        let middle = self.tab.timeline.view.get_untracked().map_or(0.0, |view| view.width / 2.0);
        let row = track.map(|track| RowName { track, row: 0 });
        let top = row.and_then(|row| self.layout.with_untracked(|layout| layout.top_of(row)));
        let Some((top, _)) = top else { return };
        let y = RULER + top - self.scrolled.get_untracked() + 1.0;
        self.ask_at(middle, y, move |found| {
            if let Some(At { of: Some(of), .. }) = found {
                self.show_details(of);
            }
        });
    }

    /// The track of the selected event, or else the one that keys have led to.
    pub fn current_track(self) -> Option<u32> {
        let of_event = self.tab.timeline.details.with(|it| it.as_ref().map(|it| it.link.row.track));
        of_event.or(self.track.get())
    }
}
