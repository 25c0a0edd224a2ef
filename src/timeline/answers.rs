//! Questions to a timeline, and its answers: what crosses to the page.

use super::line::Window;
use serde::{Deserialize, Serialize};

/// A row of a track: rows of a track are numbered from its top.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct RowName {
    pub track: u32,
    pub row: u32,
}

/// A box: the number of its part of the timeline, and its number there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct BoxName {
    pub part: u32,
    pub id: u32,
}

/// Starts a search of arguments.
pub const ARGUMENTS: &str = "arg:";

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TimelineAsk {
    /// How busy the run was over time, which takes no index.
    Load,
    /// What tracks there are.
    Tracks,
    /// Rows in a window, with the boxes that a search for `lit` finds.
    Picture { window: Window, rows: Vec<RowName>, lit: String, color_by: ColorBy },
    /// What is at a time, or within the `around_ns` after it.
    At { row: RowName, ns: u64, around_ns: u64 },
    /// All about a box.
    Details { of: BoxName },
    /// The next box of the same name, or the one before.
    SameName { of: BoxName, is_back: bool },
    /// The next box in the same row, or the one before.
    Beside { of: BoxName, is_back: bool },
    /// The next box in time that the text finds, or the one before; the first or last one if `from` is `None`. The text finds names,
    /// after `cat:` categories, and after `arg:` arguments.
    Find { text: String, from: Option<BoxName>, is_back: bool },
    /// What is between two times.
    Stretch { from_ns: u64, to_ns: u64 },
    /// What all boxes that the text finds have in common.
    Named { text: String },
}

/// What boxes of one color have in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum ColorBy {
    #[default]
    Name,
    Category,
    /// The operation of a kernel, copy or fill; all else has one color.
    Operation,
    /// The phase of the step in which a slice starts, or in which a kernel was launched; all else has one color.
    Phase,
}

impl ColorBy {
    pub const ALL: [ColorBy; 4] = [ColorBy::Name, ColorBy::Category, ColorBy::Operation, ColorBy::Phase];

    /// Stable name, for addresses.
    pub fn id(self) -> &'static str {
        match self {
            ColorBy::Name => "name",
            ColorBy::Category => "category",
            ColorBy::Operation => "operation",
            ColorBy::Phase => "phase",
        }
    }
}

/// An answer, of the kind of its question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum TimelineAnswer {
    Load(Load),
    Tracks(Tracks),
    Picture(Picture),
    At(Option<At>),
    Details(Option<Box<Details>>),
    Found(Found),
    Stretch(Stretch),
    Named(Option<Box<Named>>),
}

/// All tracks, in the order in which they are shown.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct Tracks {
    /// Nanoseconds from the first time to the last one.
    pub span_ns: u64,
    pub tracks: Vec<TrackView>,
    /// Only some slices were kept, so others are missing.
    pub is_partial: bool,
    /// The traces have no clock in common, so each starts at 0.
    pub is_each_from_zero: bool,
    /// Some steps have a phase, so boxes can be colored by it. The timeline itself does not know.
    pub has_phases: bool,
    /// Time on the clock of the traces at which it starts; 0 if each starts at its own.
    pub start_ns: i64,
    /// Its number among the timelines that were made of the traces. The timeline itself does not know.
    pub number: u32,
    /// Share of the bytes of all files that it is of, from 0 to 1; `None` once they are parsed. The timeline itself does not know.
    pub so_far: Option<f64>,
}

impl Tracks {
    /// Number that the track `track` has in `later`, which is of a larger part of the file.
    pub fn number_in(&self, later: &Tracks, track: u32) -> Option<u32> {
        let known = self.tracks.get(track as usize)?;
        let is_same = |other: &TrackView| {
            (&other.group, &other.title, other.sort) == (&known.group, &known.title, known.sort)
        };
        // Threads may have one name.
        let before = self.tracks[..track as usize].iter().filter(|track| is_same(track)).count();
        let mut same = (0..).zip(&later.tracks).filter(|(_, track)| is_same(track));
        same.nth(before).map(|(number, _)| number)
    }
}

impl TrackView {
    /// Number of its events; values of a counter are none.
    pub fn n_events(&self) -> u64 {
        if self.sort == TrackSort::Counter { 0 } else { self.n_boxes }
    }
}

/// How busy a run was over time.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Load {
    pub sort: LoadSort,
    /// Nanoseconds from the first time to the last one.
    pub span_ns: u64,
    /// Busy share of each of equal stretches of time, from 0 to 1; of several GPUs or traces the mean.
    pub shares: Vec<f32>,
}

/// What was busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum LoadSort {
    /// Kernels, copies and fills; of several GPUs the mean.
    Gpu,
    /// Forward passes.
    Calls,
    /// The busiest thread.
    #[default]
    Thread,
    /// Samples, points in time, counter values and memory accesses, as a share of the most in any stretch: nothing in the trace has a
    /// duration.
    Events,
}

/// What a track shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum TrackSort {
    /// Slices of a thread or of a GPU stream.
    Thread,
    /// Slices that belong to no thread.
    Async,
    /// Points in time.
    Instants,
    /// A value over time.
    Counter,
    /// Forward passes of a view.
    Calls,
    /// Call stacks of a thread, from samples.
    Stacks,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TrackView {
    /// Its process, or its file if there are several.
    pub group: String,
    pub title: String,
    pub sort: TrackSort,
    /// Kernels, copies or fills of a device.
    pub is_device: bool,
    /// Only its first row is in view until someone unfolds it.
    pub is_folded: bool,
    pub n_rows: u32,
    pub n_boxes: u64,
    /// Share of the time in which something is on the track.
    pub busy: f64,
    /// Largest value of a counter.
    pub max: f64,
}

/// Bytes that are written and read at once.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

/// Rows in a window.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct Picture {
    pub window: Window,
    pub rows: Vec<RowName>,
    /// For each row and pixel: the color by number, with [`START`] and [`LIT`] added; 0 where there is nothing.
    pub colors: Bytes,
    /// For each row and pixel: how much of it is covered, from 0 to 255; of a counter, the largest value of its maximum.
    pub covers: Bytes,
    /// Boxes that are wide enough for a text.
    pub labels: Vec<Label>,
    /// Their names.
    pub names: Vec<String>,
    /// What the colors stand for, with their numbers, in order of appearance; empty for names.
    pub legend: Vec<(String, u8)>,
}

/// Number of colors; they are numbered from 1.
pub const N_COLORS: u8 = 12;

/// Color of a name, from 1: the same for the same name in every trace.
pub fn color_of(name: &str) -> u8 {
    1 + crate::base::text::color_hash(name) as u8 % N_COLORS
}
/// Added to the color of a counter.
pub const COUNTER: u8 = 0x20;
/// Added to the color of a pixel where a wide box starts.
pub const START: u8 = 0x80;
/// Added to the color of a pixel with a box that was searched for.
pub const LIT: u8 = 0x40;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Label {
    /// Its row, by position in [`Picture::rows`].
    pub row: u32,
    pub of: BoxName,
    /// Nanoseconds from the start of the timeline.
    pub start_ns: u64,
    pub end_ns: u64,
    /// By position in [`Picture::names`].
    pub name: u32,
    pub color: u8,
}

/// What is under the pointer.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct At {
    /// The longest box there; `None` on a counter.
    pub of: Option<BoxName>,
    pub name: String,
    pub start_ns: u64,
    /// `None` if it has no end in the file.
    pub dur_ns: Option<u64>,
    /// Of a slice: the time in which no slice within it ran.
    pub self_ns: Option<u64>,
    /// Number of boxes there.
    pub count: u32,
    /// Value of a counter.
    pub value: Option<f64>,
}

/// Another box.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct BoxLink {
    pub of: BoxName,
    pub row: RowName,
    pub name: String,
    pub start_ns: u64,
    pub dur_ns: Option<u64>,
}

/// All about a box.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Details {
    pub link: BoxLink,
    pub category: String,
    pub self_ns: Option<u64>,
    pub group: String,
    pub track: String,
    /// Its arguments as JSON; empty if it has none.
    pub args: String,
    /// Boxes around it, the closest first.
    pub parents: Vec<BoxLink>,
    /// The longest boxes directly in it, and the number of all.
    pub children: Vec<BoxLink>,
    pub n_children: u64,
    /// Where arrows to it come from, and where those from it lead.
    pub from: Vec<BoxLink>,
    pub to: Vec<BoxLink>,
    pub same_name: SameName,
    /// In traces of a GPU, what it belongs to.
    pub places: Vec<(Place, BoxLink)>,
}

/// What a box belongs to: that of the call that launched it, if it is work of a GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Place {
    Step,
    /// The innermost `nn.Module`.
    Module,
    /// The innermost operator.
    Operator,
    /// The innermost Python function.
    Frame,
}

/// A box among all of its name.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SameName {
    pub count: u64,
    /// Its number in time, from 1.
    pub number: u64,
    /// Number of longer ones.
    pub n_longer: u64,
    pub total_ns: u64,
    pub min_ns: u64,
    pub max_ns: u64,
}

/// How long boxes are: numbers of them in bins between the shortest and the longest.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Lengths {
    pub min_ns: u64,
    pub max_ns: u64,
    /// Each bin is wider than the one before by the same factor, instead of all being alike.
    pub is_log: bool,
    pub bins: Vec<u64>,
}

/// Boxes that a search finds, looked at together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Named {
    pub n: u64,
    /// Nanoseconds; of calls of sampled stacks, those in none of the others.
    pub total_ns: u64,
    pub lengths: Lengths,
    /// The longest ones, the longest first.
    pub longest: Vec<BoxLink>,
    /// Names of the boxes directly around them and how many each is around, the most frequent first; and the number of all names.
    pub callers: Vec<(String, u64)>,
    pub n_callers: u64,
    /// Of the longest.
    pub details: Details,
}

/// Result of a search.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct Found {
    /// Number of boxes that match.
    pub n: u64,
    /// Share of the events that is still to be searched, where that takes long: the same question again goes on. Until then, `n` is the
    /// number so far, and the box is `None` if another one may be closer.
    pub left: f64,
    /// Number in time of the box that was found, from 1.
    pub number: u64,
    pub link: Option<BoxLink>,
    /// What is wrong with the text; empty if nothing.
    pub problem: String,
}

/// What is between two times.
#[derive(Clone, Default, PartialEq, Debug, Serialize, Deserialize)]
pub struct Stretch {
    /// Nanoseconds from the start of the timeline.
    pub from_ns: u64,
    pub to_ns: u64,
    /// Number of boxes that overlap it.
    pub n: u64,
    /// By name, those with the most time first.
    pub names: Vec<NameSums>,
    /// Number of names beyond those.
    pub n_more: u64,
    pub counters: Vec<CounterSums>,
    /// Devices with kernels, copies or fills anywhere in the run.
    pub devices: Vec<DeviceBusy>,
}

/// How long a device worked in a stretch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DeviceBusy {
    pub name: String,
    /// Position of its trace in the run, and its process there.
    pub trace: u32,
    pub process: u32,
    /// Time in which it ran any kernel, copy or fill.
    pub busy_ns: u64,
    /// Nanoseconds in gaps between them by cause, if known. What is missing to the whole range is before its first or after its
    /// last work.
    pub idle: Vec<(String, u64)>,
}

/// Boxes of one name in a stretch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NameSums {
    pub name: String,
    pub count: u64,
    /// Time within the stretch; without that of boxes directly in them.
    pub total_ns: u64,
    pub self_ns: u64,
    /// The longest one.
    pub longest: BoxLink,
}

/// A counter in a stretch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CounterSums {
    pub name: String,
    pub min: f64,
    /// Weighted by time.
    pub mean: f64,
    pub max: f64,
}
