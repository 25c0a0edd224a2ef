//! Where tracks and rows are, from top to bottom.

use std::collections::BTreeSet;
use tracedrop::timeline::answers::{RowName, TrackSort, TrackView, Tracks};

/// Heights in pixels: of a row, between tracks, of the name of a process, of a counter, of the ruler.
pub const ROW: f64 = 18.0;
const GAP: f64 = 6.0;
const HEADING: f64 = 26.0;
const COUNTER: f64 = 30.0;
pub const RULER: f64 = 26.0;

/// What is at a height.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub what: What,
    /// Pixels below the ruler.
    pub top: f64,
    pub height: f64,
}

#[derive(Clone, PartialEq, Debug)]
pub enum What {
    /// Steps and phases.
    Steps,
    /// Name of a process.
    Heading(String),
    Track {
        number: u32,
        n_rows: u32,
        row_height: f64,
    },
}

/// All items, and their height together.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Layout {
    pub items: Vec<Item>,
    pub height: f64,
}

/// Which tracks show, and how.
pub struct Choice<'a> {
    /// These show their first row only.
    pub folded: &'a BTreeSet<u32>,
    /// Only tracks with this text in their names or processes show, in any case; empty for all.
    pub only: &'a str,
    /// These come first.
    pub pinned: &'a [u32],
    pub has_steps: bool,
}

impl Layout {
    pub fn new(tracks: &Tracks, choice: &Choice<'_>) -> Layout {
        let all: Vec<u32> = (0..tracks.tracks.len() as u32).collect();
        Layout::of(tracks, &all, choice)
    }

    /// Of some tracks only, in their order.
    pub fn of(tracks: &Tracks, shown: &[u32], choice: &Choice<'_>) -> Layout {
        let mut layout = Layout::default();
        if choice.has_steps {
            layout.push(What::Steps, ROW + GAP);
        }
        let numbered = || tracks.tracks.iter().zip(0_u32..);
        let pinned = choice.pinned.iter().filter_map(|number| numbered().find(|(_, at)| at == number));
        pinned.for_each(|(track, number)| layout.push_track(track, number, choice.folded));
        if !choice.pinned.is_empty() {
            layout.height += GAP;
        }
        let only = choice.only.to_lowercase();
        let has_text = |text: &str| text.to_lowercase().contains(&only);
        let mut group = None;
        for (track, number) in numbered() {
            if shown.binary_search(&number).is_err()
                || choice.pinned.contains(&number)
                || !(has_text(&track.title) || has_text(&track.group))
            {
                continue;
            }
            if group != Some(&track.group) {
                group = Some(&track.group);
                if !track.group.is_empty() {
                    layout.push(What::Heading(track.group.clone()), HEADING);
                }
            }
            layout.push_track(track, number, choice.folded);
        }
        layout
    }

    fn push_track(&mut self, track: &TrackView, number: u32, folded: &BTreeSet<u32>) {
        let n_rows = if folded.contains(&number) { 1 } else { track.n_rows.max(1) };
        let row_height = if track.sort == TrackSort::Counter { COUNTER } else { ROW };
        let height = row_height * f64::from(n_rows) + GAP;
        self.push(What::Track { number, n_rows, row_height }, height);
    }

    /// Height from the top of the steps, if there are any.
    pub fn steps_top(&self) -> Option<f64> {
        self.items.first().filter(|item| item.what == What::Steps).map(|item| item.top)
    }

    fn push(&mut self, what: What, height: f64) {
        self.items.push(Item { what, top: self.height, height });
        self.height += height;
    }

    /// Items that are between two heights.
    pub fn between(&self, top: f64, bottom: f64) -> &[Item] {
        let from = self.items.partition_point(|item| item.top + item.height <= top);
        let to = self.items.partition_point(|item| item.top < bottom);
        &self.items[from..to.max(from)]
    }

    /// Rows between two heights, each with its own height from the top and how tall it is.
    pub fn rows(&self, top: f64, bottom: f64) -> Vec<(RowName, f64, f64)> {
        let mut rows = Vec::new();
        for item in self.between(top, bottom) {
            if let What::Track { number, n_rows, row_height } = item.what {
                for row in 0..n_rows {
                    let y = item.top + f64::from(row) * row_height;
                    if y < bottom && y + row_height > top {
                        rows.push((RowName { track: number, row }, y, row_height));
                    }
                }
            }
        }
        rows
    }

    /// The row at a height.
    pub fn row_at(&self, y: f64) -> Option<RowName> {
        let rows = self.rows(y, y + 0.5);
        rows.into_iter().map(|row| row.0).next()
    }

    /// Height of a row from the top. One of a folded track is where the track is.
    pub fn top_of(&self, row: RowName) -> Option<(f64, f64)> {
        self.items.iter().find_map(|item| match item.what {
            What::Track { number, n_rows, row_height } if number == row.track => {
                let at = row.row.min(n_rows - 1);
                Some((item.top + f64::from(at) * row_height, row_height))
            }
            _ => None,
        })
    }
}
