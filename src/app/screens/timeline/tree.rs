//! What screen readers have in place of the canvas: a tree of the tracks, with the events in view below the current one.

use super::layout::{Layout, What};
use crate::app::words::words;
use tracedrop::base::sort;
use tracedrop::timeline::answers::{BoxLink, BoxName, RowName, Tracks};

/// Tracks in the tree before and after the current one.
const AROUND: usize = 25;

/// An event in view, in words.
#[derive(Clone, PartialEq, Debug)]
pub struct Listed {
    pub of: BoxName,
    pub row: RowName,
    /// Nanoseconds from the start of the timeline.
    pub start_ns: u64,
    pub text: String,
}

/// What an item stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Of {
    Track(u32),
    Event(BoxName),
}

impl Of {
    /// `id` of its element; `tab` is the number of the tab.
    pub fn id(self, tab: u32) -> String {
        match self {
            Of::Track(number) => format!("timeline-{tab}-track-{number}"),
            Of::Event(BoxName { part, id }) => format!("timeline-{tab}-event-{part}-{id}"),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct TreeItem {
    pub of: Of,
    /// 1 for tracks; an event is one below the row around it.
    pub level: u32,
    /// Number among the tracks that show, from 1, and the number of these.
    pub position: Option<(usize, usize)>,
    /// Whether its events are in the tree; `None` of an event.
    pub is_open: Option<bool>,
    pub is_current: bool,
    pub text: String,
}

/// Numbers of the tracks that show, from top to bottom.
pub fn shown_tracks(layout: &Layout) -> Vec<u32> {
    let number = |what: &What| match what {
        What::Track { number, .. } => Some(*number),
        What::Steps | What::Heading(_) => None,
    };
    layout.items.iter().filter_map(|item| number(&item.what)).collect()
}

/// The tracks around the current one, and its events: those in view, and the selected one.
pub fn items(
    tracks: &Tracks,
    layout: &Layout,
    current: Option<u32>,
    in_view: &[Listed],
    selected: Option<&BoxLink>,
) -> Vec<TreeItem> {
    let shown = shown_tracks(layout);
    let at = current.and_then(|current| shown.iter().position(|number| *number == current));
    let first = at.unwrap_or(0).saturating_sub(AROUND);
    let around = shown.iter().enumerate().skip(first).take(2 * AROUND + 1);
    let mut items = Vec::new();
    for (position, number) in around {
        let Some(track) = tracks.tracks.get(*number as usize) else { continue };
        let is_current = current == Some(*number);
        items.push(TreeItem {
            of: Of::Track(*number),
            level: 1,
            position: Some((position + 1, shown.len())),
            is_open: Some(is_current),
            is_current: is_current && selected.is_none(),
            text: (words().timeline.track_in_words)(&track.title, &track.group, track.n_boxes, track.busy),
        });
        if is_current {
            push_events(*number, in_view, selected, &mut items);
        }
    }
    items
}

fn push_events(track: u32, in_view: &[Listed], selected: Option<&BoxLink>, items: &mut Vec<TreeItem>) {
    let mut events: Vec<Listed> = in_view.iter().filter(|it| it.row.track == track).cloned().collect();
    if let Some(link) = selected.filter(|link| events.iter().all(|event| event.of != link.of)) {
        let BoxLink { of, row, ref name, start_ns, dur_ns } = *link;
        let text = (words().timeline.listed)(name, dur_ns, start_ns);
        events.push(Listed { of, row, start_ns, text });
    }
    sort::by_key(&mut events, |event| (event.start_ns, event.row.row));
    let item = |event: Listed| TreeItem {
        of: Of::Event(event.of),
        level: 2 + event.row.row,
        position: None,
        is_open: None,
        is_current: selected.is_some_and(|link| link.of == event.of),
        text: event.text,
    };
    items.extend(events.into_iter().map(item));
}
