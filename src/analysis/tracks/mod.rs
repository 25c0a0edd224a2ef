//! The timeline as a picture, with a table of its tracks. Made on request only: the page draws a timeline of its own, and the index
//! behind it takes as long as all other reports.

use super::timeline::{integers, texts};
use super::{AnalysisInfo, Context, Group};
use crate::base::units::{Unit, counted, format_ns};
use crate::report::chart::{Chart, Plot, Spans, Stretch, Tone};
use crate::report::{Cells, Column, Content, Report, Table};
use crate::timeline::answers::{COUNTER, Picture, RowName, TrackSort};
use crate::timeline::{Timeline, Window, of_run};
use crate::trace::{Run, Trace};

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "timeline", title: "Timeline", applies, run, group: Group::Timeline, is_late: true };

/// Rows in the picture, and rows of one track.
const MAX_ROWS: usize = 40;
const MAX_ROWS_OF_TRACK: u32 = 6;
/// Stretches of a row, about.
const MAX_STRETCHES: u32 = 300;
/// Colors that a chart has for anything else.
const N_TONES: u8 = 6;

fn applies(run: &Run) -> bool {
    run.traces.iter().any(Trace::has_times)
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let Some(timeline) = of_run(context.run) else {
        report.summary = "Nothing in this trace has a time.".to_string();
        return report;
    };
    let n_events: u64 = timeline.tracks.iter().map(|track| track.view.n_boxes).sum();
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
    let (picture, n_left_out) = picture(context.run, &timeline);
    report.chart(picture);
    if n_left_out > 0 {
        report.info(format!("The picture leaves out {}.", counted(n_left_out, "row", "rows")));
    }
    report.table(table(&timeline));
    report
}

/// The first rows of each track, and the number of rows that are left out.
fn picture(run: &Run, timeline: &Timeline) -> (Chart, u64) {
    let mut rows: Vec<RowName> = Vec::new();
    let mut n_all = 0;
    for (track, number) in timeline.tracks.iter().zip(0..) {
        if track.view.sort == TrackSort::Counter {
            continue;
        }
        n_all += u64::from(track.view.n_rows);
        let n = track.view.n_rows.min(MAX_ROWS_OF_TRACK);
        rows.extend((0..n).map(|row| RowName { track: number, row }));
    }
    rows.truncate(MAX_ROWS);
    let window = Window::around(0, timeline.span_ns, MAX_STRETCHES, 0.0);
    let drawn = timeline.picture(run, window, &rows, "");
    let n = drawn.window.n_pixels as usize;
    let pixel_ns = drawn.window.pixel_ns() as i64;
    let mut spans = Vec::new();
    for (at, (colors, covers)) in drawn.colors.0.chunks(n).zip(drawn.covers.0.chunks(n)).enumerate() {
        for (pixel, (color, cover)) in colors.iter().zip(covers).enumerate() {
            let color = color & 0x1F;
            if color == 0 || color & COUNTER != 0 {
                continue;
            }
            // As long as what is covered, so that a row that is hardly busy does not look full.
            let dur = (pixel_ns as i128 * i128::from(*cover) / 255) as i64;
            spans.push(Stretch {
                name: String::new(),
                tone: Tone::Other((color - 1) % N_TONES),
                row: at as u32,
                start: pixel as i64 * pixel_ns,
                dur: dur.max(1),
            });
        }
    }
    let spans = joined(spans, &drawn);
    let label = |row: &RowName| {
        let view = &timeline.tracks[row.track as usize].view;
        if row.row == 0 { view.title.clone() } else { String::new() }
    };
    let chart = Chart {
        id: "timeline_chart".into(),
        title: "Timeline".to_string(),
        caption: "Colors stand for names. Where a stretch stands for many events, it is as long as they take together."
            .to_string(),
        plot: Plot::Spans(Spans { labels: rows.iter().map(label).collect(), legend: Vec::new(), spans }),
    };
    (chart, n_all - rows.len() as u64)
}

/// Stretches that one event covers whole are one, with its name.
fn joined(spans: Vec<Stretch>, drawn: &Picture) -> Vec<Stretch> {
    let pixel_ns = drawn.window.pixel_ns() as i64;
    let mut out: Vec<Stretch> = Vec::new();
    // Labels are of events that are wide; what they cover is drawn once.
    let mut wide: Vec<(u32, i64, i64)> = Vec::new();
    for label in &drawn.labels {
        let (start, end) = (label.start_ns as i64, label.end_ns as i64);
        let name = drawn.names.get(label.name as usize).cloned().unwrap_or_default();
        let tone = Tone::Other((label.color.max(1) - 1) % N_TONES);
        wide.push((label.row, start, end));
        out.push(Stretch { name, tone, row: label.row, start, dur: end.saturating_sub(start) });
    }
    wide.sort_unstable();
    let is_in_wide = |span: &Stretch| {
        let at = wide.partition_point(|(row, start, _)| (*row, *start) <= (span.row, span.start));
        at.checked_sub(1).is_some_and(|at| {
            let (row, _, end) = wide[at];
            row == span.row && span.start + pixel_ns <= end
        })
    };
    out.extend(spans.into_iter().filter(|span| !is_in_wide(span)));
    out.sort_by_key(|span| (span.row, span.start));
    out
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
