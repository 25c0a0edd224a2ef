//! The timeline as a picture, with a table of its tracks. Made on request, and for HTML reports: the page draws a timeline of its own,
//! and the index behind it takes as long as all other reports.

use super::timeline::{integers, texts};
use super::{AnalysisCache, AnalysisInfo, Context, Group, Query, memory_timeline};
use crate::base::sort;
use crate::base::text::shortened;
use crate::base::units::{Unit, counted, format_ns, group_digits};
use crate::report::chart::{Chart, Plot, Spans, Stretch, Tone};
use crate::report::{Cells, Column, Content, Report, Table, Value};
use crate::timeline::answers::{RowName, TrackSort};
use crate::timeline::{DrawnBox, Timeline, Window, of_run};
use crate::trace::labels::shown;
use crate::trace::{Run, Trace};
use serde::{Deserialize, Serialize};
use std::rc::Rc;

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "timeline", title: "Timeline", applies, run, group: Group::Timeline, is_late: true };

/// Rows in the picture, and rows that a track is cut to for the sake of other tracks.
const MAX_ROWS: u32 = 40;
const ROWS_OF_TRACK: u32 = 6;
/// Pixels of a row at the least, if the boxes are few enough.
const N_PIXELS: u32 = 400;
/// Boxes in the picture. With more of them, pixels are longer.
const MAX_BOXES: usize = 8_000;
/// Characters of a name.
const MAX_NAME: usize = 100;
/// Colors that a chart has for anything else.
const N_TONES: u8 = 6;

fn applies(run: &Run) -> bool {
    run.traces.iter().any(Trace::has_times)
}

fn run(context: &Context<'_>) -> Report {
    let converted = memory_timeline::converted(context);
    let run = converted.as_ref().map_or(context.run, |(converted, _)| converted);
    of_run(run).map_or_else(
        || Report {
            summary: "Nothing in this trace has a time.".to_string(),
            ..Report::new(INFO.id, INFO.title)
        },
        |timeline| report(run, &timeline),
    )
}

/// The report, in steps, for a document with all reports. `None` if nothing has a time.
pub async fn in_steps(run: &Rc<Run>, query: &Query) -> Option<Report> {
    let (run, _) = memory_timeline::drawn(run, query, AnalysisCache::default()).await;
    Some(report(&run, &Timeline::in_steps(&run).await?))
}

fn report(run: &Run, timeline: &Timeline) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let n_events: u64 = timeline.tracks.iter().map(|track| track.view.n_events()).sum();
    report.summary = format!(
        "{} in {} over {}.",
        counted(n_events, "event", "events"),
        counted(timeline.tracks.len() as u64, "track", "tracks"),
        format_ns(timeline.span_ns as i64)
    );
    if timeline.is_partial {
        report.warning("The trace has more events than fit in memory: only the longest ones are here.");
    }
    if timeline.is_each_from_zero {
        report.warning("These traces have no clock in common, so each one starts at 0.");
    }
    if let Some(picture) = picture(run, timeline) {
        report.chart(picture);
    }
    report.table(table(timeline));
    report
}

/// Rows of a timeline over all of its time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Drawn {
    /// By row; names of processes have rows between them.
    pub labels: Vec<String>,
    /// In nanoseconds from the start of the timeline.
    pub spans: Vec<Stretch>,
    /// Tracks that are drawn, and all of them.
    pub n_tracks: [u64; 2],
    /// Rows that tracks are cut to, if any is.
    pub most: Option<u32>,
    /// Start of the first step, if there are steps or phases.
    pub first_step_ns: Option<i64>,
}

impl Drawn {
    /// Rows of the GPUs, or of all tracks without one, for a picture of two timelines. `None` if there are only counters. `reports` are
    /// those of the run.
    pub fn of(run: &Run, timeline: &Timeline, reports: &[Report]) -> Option<Drawn> {
        let has_devices = timeline.tracks.iter().any(|track| track.view.is_device);
        let drawn = Drawn::new(run, timeline, has_devices)?;
        Some(Drawn { first_step_ns: first_step(reports).filter(|_| run.traces.len() == 1), ..drawn })
    }

    /// The first rows of tracks. `None` if there are only counters.
    fn new(run: &Run, timeline: &Timeline, only_devices: bool) -> Option<Drawn> {
        let (tracks, most) = drawn_tracks(timeline, only_devices);
        let view = |number: usize| &timeline.tracks[number].view;
        let has_groups = tracks.iter().any(|number| view(*number).group != view(tracks[0]).group);
        let (mut rows, mut labels) = (Vec::new(), Vec::new());
        // By row of the timeline: its row in the picture.
        let mut places: Vec<u32> = Vec::new();
        let mut group = None;
        for number in &tracks {
            let view = view(*number);
            let is_next = group.replace(&view.group) != Some(&view.group);
            if has_groups && is_next && !view.group.is_empty() {
                labels.push(view.group.clone());
            }
            for row in 0..view.n_rows.min(most) {
                rows.push(RowName { track: *number as u32, row });
                places.push(labels.len() as u32);
                labels.push(if row == 0 { view.title.clone() } else { String::new() });
            }
        }
        let boxes = boxes(run, timeline, &rows);
        let spans: Vec<Stretch> = boxes.iter().map(|it| stretch(run, it, &places)).collect();
        let is_cut = tracks.iter().any(|number| view(*number).n_rows > most);
        (!spans.is_empty()).then_some(Drawn {
            labels,
            spans,
            n_tracks: [tracks.len() as u64, timeline.tracks.len() as u64],
            most: is_cut.then_some(most),
            first_step_ns: None,
        })
    }

    /// First and last nanosecond of what is drawn.
    pub fn span(&self) -> Option<(i64, i64)> {
        let start = self.spans.iter().map(|span| span.start).min()?;
        Some((start, self.spans.iter().map(Stretch::end).max()?))
    }

    /// `5 of 12 tracks, 6 rows of each at most`.
    pub fn extent(&self) -> String {
        let [shown, all] = self.n_tracks;
        let tracks = format!("{} of {}", group_digits(i128::from(shown)), counted(all, "track", "tracks"));
        match self.most {
            Some(most) => format!("{tracks}, {most} rows of each at most"),
            None => tracks,
        }
    }
}

/// Start of the first step or phase in a table of those.
fn first_step(reports: &[Report]) -> Option<i64> {
    let tables = reports.iter().flat_map(Report::tables);
    let mut of_steps = tables.filter(|table| matches!(&*table.id, "steps" | "host_steps" | "phases"));
    let starts = of_steps.find_map(|table| {
        let start = table.column("start").filter(|column| column.unit == Unit::NsOffset)?;
        Some((0..table.n_rows()).filter_map(|row| nanoseconds(&start.cells.get(row))).min())
    });
    starts.flatten()
}

fn nanoseconds(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(ns) => Some(*ns),
        Value::Unsigned(ns) => i64::try_from(*ns).ok(),
        _ => None,
    }
}

/// Tracks of the picture in their order, and how many rows each has at most. Tracks of GPUs come first, then the busiest, as far as
/// there is room.
fn drawn_tracks(timeline: &Timeline, only_devices: bool) -> (Vec<usize>, u32) {
    let view = |number: usize| &timeline.tracks[number].view;
    let mut numbers: Vec<usize> = (0..timeline.tracks.len())
        .filter(|number| view(*number).sort != TrackSort::Counter && view(*number).n_rows > 0)
        .filter(|number| view(*number).is_device || !only_devices)
        .collect();
    sort::by(&mut numbers, |a, b| {
        let (a, b) = (view(*a), view(*b));
        b.is_device.cmp(&a.is_device).then_with(|| b.busy.total_cmp(&a.busy))
    });
    let mut n_rows = 0;
    numbers.retain(|number| {
        let more = view(*number).n_rows.min(ROWS_OF_TRACK);
        let fits = n_rows + more <= MAX_ROWS;
        n_rows += if fits { more } else { 0 };
        fits
    });
    numbers.sort_unstable();
    let fits = |most: &u32| numbers.iter().map(|it| view(*it).n_rows.min(*most)).sum::<u32>() <= MAX_ROWS;
    let most = (ROWS_OF_TRACK..=MAX_ROWS).take_while(fits).last().unwrap_or(ROWS_OF_TRACK);
    (numbers, most)
}

/// The first rows of tracks over all of the time. `None` if there are only counters.
fn picture(run: &Run, timeline: &Timeline) -> Option<Chart> {
    let drawn = Drawn::new(run, timeline, false)?;
    let (first, last) = drawn.span()?;
    let caption = format!(
        "{} to {}, {}. Colors stand for names. Events too short to draw are merged.",
        format_ns(first),
        format_ns(last),
        drawn.extent()
    );
    let Drawn { labels, spans, .. } = drawn;
    Some(Chart {
        id: "timeline_chart".into(),
        title: "Events over time".to_string(),
        caption,
        plot: Plot::Spans(Spans { labels, legend: Vec::new(), spans, has_names: true }),
    })
}

/// Boxes of rows, at most [`MAX_BOXES`] of them, or else those of few pixels.
fn boxes(run: &Run, timeline: &Timeline, rows: &[RowName]) -> Vec<DrawnBox> {
    let mut n_pixels = N_PIXELS;
    loop {
        let window = Window::around(0, timeline.span_ns, n_pixels, 0.0);
        let boxes = timeline.drawn(run, window, rows);
        // A row has at most a box per pixel, and a window at most two times the pixels.
        if boxes.len() <= MAX_BOXES || n_pixels * 2 * MAX_ROWS <= MAX_BOXES as u32 {
            return boxes;
        }
        n_pixels /= 2;
    }
}

fn stretch(run: &Run, it: &DrawnBox, places: &[u32]) -> Stretch {
    let name = shortened(shown(run.traces[it.trace].strings.get_opt(it.name)), MAX_NAME);
    Stretch {
        name: match it.count {
            0 | 1 => name,
            n => format!("{name} and {} more", group_digits(i128::from(n - 1))),
        },
        tone: Tone::Other((it.color.max(1) - 1) % N_TONES),
        row: places[it.row as usize],
        start: it.start_ns as i64,
        dur: it.dur_ns as i64,
    }
}

fn table(timeline: &Timeline) -> Table {
    let views = || timeline.tracks.iter().map(|track| &track.view);
    let kind = |sort: TrackSort| match sort {
        TrackSort::Thread => "thread",
        TrackSort::Async => "async",
        TrackSort::Instants => "instants",
        TrackSort::Counter => "counter",
        TrackSort::Calls => "forward passes",
        TrackSort::Stacks => "samples",
    };
    let busy = views().map(|view| (view.sort != TrackSort::Counter).then_some(view.busy)).collect();
    let columns = vec![
        Column::key(
            "process",
            "process",
            Content::Symbol,
            texts(views().map(|view| Some(view.group.as_str()))),
        ),
        Column::key("track", "track", Content::Symbol, texts(views().map(|view| Some(view.title.as_str())))),
        Column::new(
            "kind",
            "kind",
            Unit::None,
            Content::Plain,
            Cells::Text(texts(views().map(|view| Some(kind(view.sort))))),
        ),
        integers("events", "events", Unit::Count, views().map(|view| view.n_boxes as i64)),
        integers("rows", "rows", Unit::Count, views().map(|view| i64::from(view.n_rows))),
        Column::new("busy", "busy", Unit::Ratio, Content::Plain, Cells::Float(busy)).with_bar(),
    ];
    Table::new("tracks", "Tracks", columns)
        .caption("Busy is the share of the time in which the fullest row of the track has an event.")
}
