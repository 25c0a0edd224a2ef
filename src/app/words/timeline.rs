//! Texts of the timeline.

use super::number;
use tracedrop::base::units::{Unit, counted, format_float, format_ns, format_signed_ns};
use tracedrop::engine::protocol::{AlignedKernel, AlignedStep};
use tracedrop::timeline::answers::{ColorBy, LoadSort, Place};

/// A name and nanoseconds.
type NamedTime = (String, i64);

/// Texts of the timeline.
pub struct TimelineWords {
    pub title: &'static str,
    /// Tracks, boxes, and nanoseconds from the first to the last.
    pub summary: fn(usize, u64, u64) -> String,
    pub making: &'static str,
    pub is_partial: &'static str,
    pub each_from_zero: &'static str,
    pub search: &'static str,
    pub search_hint: &'static str,
    /// Of two timelines.
    pub pair_summary: &'static str,
    /// Label of the choice of a step; of A or else of B.
    pub align: fn(bool) -> &'static str,
    /// Label of the choice of what is aligned, what it is of aligned kernels, and else.
    pub align_by: &'static str,
    pub median_step: fn(&str) -> String,
    pub chosen_steps: &'static str,
    /// What is between the timelines.
    pub aligned_step: fn(&AlignedStep) -> String,
    /// Name and duration of a kernel of A, and of the one of B.
    pub aligned: fn(Option<NamedTime>, Option<NamedTime>) -> String,
    /// Label of the choice of what gives boxes their colors, and its entries.
    pub color_by: &'static str,
    pub color_by_name: fn(ColorBy) -> &'static str,
    pub no_category: &'static str,
    pub only: &'static str,
    pub save_picture: &'static str,
    pub steps: &'static str,
    pub pin: fn(&str) -> String,
    /// Number of the hit if one is shown, and of all; the share of events that is still to be searched.
    pub found: fn(u64, u64, f64) -> String,
    /// Number of the selected one among marked times, and of all.
    pub times: fn(Option<u64>, u64) -> String,
    pub previous: &'static str,
    pub next: &'static str,
    pub zoom_in: &'static str,
    pub zoom_out: &'static str,
    pub show_all: &'static str,
    pub keys: &'static str,
    /// Name of the load, and what it means.
    pub load: fn(LoadSort) -> (&'static str, &'static str),
    /// What clicking and dragging in it do; whether the timeline shows.
    pub load_keys: fn(bool) -> &'static str,
    pub not_read: &'static str,
    /// Share of the files that is parsed and shown.
    pub so_far: fn(f64) -> String,
    /// In place of details and sums, until all is parsed.
    pub not_yet: &'static str,
    pub in_view: &'static str,
    /// Name, duration and start of an event.
    pub listed: fn(&str, Option<u64>, u64) -> String,
    /// Title and process of a track, its events, and the share of the time in which something is on it.
    pub track_in_words: fn(&str, &str, u64, f64) -> String,
    /// What is in view: from and to in nanoseconds, tracks in view and all, events in view with a name on them.
    pub in_words: fn((i64, i64), (usize, usize), usize) -> String,
    pub tracks: &'static str,
    pub canvas: &'static str,
    pub busy: fn(f64) -> String,
    pub about_track: fn(u64, f64) -> String,
    pub counter_value: fn(f64) -> String,
    pub no_end: &'static str,
    pub self_time: fn(u64) -> String,
    /// Boxes in one pixel, and the share of it that they cover.
    pub boxes_here: fn(u32, f64) -> String,
    /// Name, duration and track of the selected box.
    pub spoken: fn(&str, Option<u64>, &str) -> String,
    pub panel: &'static str,
    pub close: &'static str,
    pub duration: &'static str,
    pub start: &'static str,
    pub self_title: &'static str,
    pub track: &'static str,
    pub category: &'static str,
    pub place: fn(Place) -> &'static str,
    pub among: &'static str,
    pub only_one: &'static str,
    /// Its number in time, the number of all, its rank by duration; mean, shortest and longest in nanoseconds.
    pub one_of: fn(u64, u64, Option<u64>, u64, u64, u64) -> String,
    pub arguments: &'static str,
    pub in_reports: &'static str,
    pub copy_json: &'static str,
    pub copied: &'static str,
    pub add_note: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    pub parents: &'static str,
    pub children: &'static str,
    pub and_more: fn(u64) -> String,
    /// Its length in nanoseconds, and the number of boxes in it if that is known.
    pub stretch: fn(u64, Option<u64>) -> String,
    pub chosen_stretch: &'static str,
    pub clear_stretch: &'static str,
    /// Beside a report: the row that is looked at, its events, and the longest of these.
    pub row: &'static str,
    /// While no row is.
    pub choose_row: &'static str,
    /// Number of events, and how long they take together in nanoseconds.
    pub of_row: fn(u64, u64) -> String,
    /// Events by duration: number of them, shortest and longest in nanoseconds, whether bins are logarithmic.
    pub lengths: fn(u64, u64, u64, bool) -> String,
    pub longest: &'static str,
    pub longest_of_row: &'static str,
    pub callers: &'static str,
    /// Name of a device, and how long it worked and did not in nanoseconds.
    pub device_busy: fn(&str, u64, u64) -> String,
    /// Idle time by cause, and what is left of it.
    pub idle_by_cause: fn(&[(String, u64)], u64) -> String,
    pub report_on_stretch: &'static str,
    pub name: &'static str,
    pub count: &'static str,
    pub total: &'static str,
    pub share: &'static str,
    pub more_names: fn(u64) -> String,
    pub counter: &'static str,
    pub min: &'static str,
    pub mean: &'static str,
    pub max: &'static str,
}

pub const ENGLISH: TimelineWords = TimelineWords {
    title: "Timeline",
    summary: |n_tracks, n_boxes, span_ns| {
        format!(
            "{} in {} over {}.",
            counted(n_boxes, "event", "events"),
            counted(n_tracks as u64, "track", "tracks"),
            format_ns(span_ns as i64)
        )
    },
    making: "Arranging events in tracks…",
    is_partial: "The trace has more events than fit in memory: only the longest ones are here.",
    each_from_zero: "These traces have no clock in common, so each one starts at 0.",
    search: "Find events by name",
    search_hint: "Name, cat:…, arg:…, /regex/",
    pair_summary: "A and B on one scale, one step of each aligned. They move together.",
    align: |is_a| if is_a { "Align A at" } else { "with B at" },
    align_by: "Align by",
    median_step: |step| format!("median {step}"),
    chosen_steps: "steps of your choice",
    aligned_step: |step| {
        let n = |in_a: bool, in_b: bool| {
            let is = |kernel: &&AlignedKernel| kernel.spans.map(|span| span.is_some()) == [in_a, in_b];
            step.kernels.iter().filter(is).count() as u64
        };
        let (both, only_a, only_b) = (n(true, true), n(true, false), n(false, true));
        format!(
            "{} aligned; {only_a} only in A, {only_b} only in B. Red kernels take longer in B, teal ones less.",
            counted(both, "kernel", "kernels")
        )
    },
    aligned: |a, b| match (a, b) {
        (Some((a, a_ns)), Some((b, b_ns))) => {
            let name = if a == b { a } else { format!("{a} → {b}") };
            let (a, b, change) = (format_ns(a_ns), format_ns(b_ns), format_signed_ns(b_ns - a_ns));
            format!("{name}: A {a}, B {b} ({change})")
        }
        (Some((name, ns)), None) => format!("Only in A: {name}, {}", format_ns(ns)),
        (None, Some((name, ns))) => format!("Only in B: {name}, {}", format_ns(ns)),
        (None, None) => String::new(),
    },
    color_by: "Color by",
    color_by_name: |by| match by {
        ColorBy::Name => "name",
        ColorBy::Category => "category",
        ColorBy::Operation => "operation",
        ColorBy::Phase => "phase",
    },
    no_category: "no category",
    only: "Filter tracks",
    save_picture: "Save this view as a PNG picture",
    steps: "Steps and phases",
    pin: |track| format!("Pin {track} to the top"),
    found: |at, n, left| {
        let hits = match (at, n) {
            (_, 0) => "no match".to_string(),
            (0, n) => counted(n, "match", "matches"),
            (at, n) => format!("{} of {}", number(at), number(n)),
        };
        if left == 0.0 {
            return hits;
        }
        // Screen readers say each change.
        let tenths = ((1.0 - left) * 10.0).floor();
        format!("{hits} so far, {}% searched", tenths * 10.0)
    },
    times: |at, n| match at {
        Some(at) => format!("time {} of {}", number(at), number(n)),
        None => counted(n, "time", "times"),
    },
    previous: "Previous match (Shift+Enter)",
    next: "Next match (Enter)",
    zoom_in: "Zoom in (w)",
    zoom_out: "Zoom out (s)",
    show_all: "Show all",
    keys: "Drag to pan, Ctrl+wheel to zoom, Shift+drag to select a time range, click for details. Keys: w a s d, f fits the selection, 0 shows all, m selects the time of the selected event or else marks a time (two marks select what is between them), [ ] step through events with the same name.",
    load: |sort| match sort {
        LoadSort::Gpu => ("GPU busy", "Share of the time in which any kernel, copy or fill ran."),
        LoadSort::Calls => ("Forward passes", "Share of the time in which a forward pass or lookup ran."),
        LoadSort::Thread => {
            ("Busiest thread", "Share of the time in which the busiest thread was in any event.")
        }
        LoadSort::Events => (
            "Events",
            "Samples, instants, counter values and memory accesses over time; nothing in this trace has a duration.",
        ),
    },
    load_keys: |is_timeline| match is_timeline {
        true => "Click or drag to go there.",
        false => "Click to show that time in the timeline, drag to select a range.",
    },
    not_read: "The timeline appears once the file is parsed.",
    so_far: |share| {
        let percent = (share * 100.0).floor();
        format!("Read so far: {percent}%. Details, search and sums follow once all is parsed.")
    },
    not_yet: "Details follow once all is parsed",
    in_view: "Widest events in view",
    listed: |name, dur, start| match dur {
        Some(dur) => format!("{name}, {} at {}", format_ns(dur as i64), format_ns(start as i64)),
        None => format!("{name}, no end in the file, at {}", format_ns(start as i64)),
    },
    track_in_words: |title, group, n, busy| {
        let group = if group.is_empty() { String::new() } else { format!(", {group}") };
        format!("{title}{group}: {}, busy {:.1}% of the time", counted(n, "event", "events"), busy * 100.0)
    },
    in_words: |(from, to), (n_shown, n_all), n_named| {
        format!(
            "{} to {}, {n_shown} of {}, {} with a name",
            format_ns(from),
            format_ns(to),
            counted(n_all as u64, "track", "tracks"),
            counted(n_named as u64, "event", "events")
        )
    },
    tracks: "Tracks",
    canvas: "Timeline. Shift and the up and down arrows walk the tracks, Enter selects the first event in view, and arrows step from event to event.",
    busy: |share| match share * 100.0 {
        percent if percent < 0.1 => "<0.1%".to_string(),
        percent if percent < 10.0 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    },
    about_track: |n, busy| {
        format!("{}, busy {:.1}% of the time", counted(n, "event", "events"), busy * 100.0)
    },
    counter_value: |value| format_float(value, Unit::None),
    no_end: "no end in the file",
    self_time: |ns| format!("self {}", format_ns(ns as i64)),
    boxes_here: |n, cover| format!("longest of {} here, {:.0}% busy", number(n.into()), cover * 100.0),
    spoken: |name, ns, track| match ns {
        Some(ns) => format!("{name}, {}, on {track}", format_ns(ns as i64)),
        None => format!("{name}, no end in the file, on {track}"),
    },
    panel: "Details",
    close: "Close details (Esc)",
    duration: "Duration",
    start: "Start",
    self_title: "Self",
    track: "Track",
    category: "Category",
    place: |place| match place {
        Place::Step => "Step",
        Place::Module => "Module",
        Place::Operator => "Operator",
        Place::Frame => "Python",
    },
    among: "Same name",
    only_one: "the only one",
    one_of: |at, n, rank, mean, min, max| {
        let rank = rank.map(|rank| format!("{} longest; ", ordinal(rank))).unwrap_or_default();
        format!(
            "{rank}number {} of {}; mean {}, from {} to {}",
            number(at),
            number(n),
            format_ns(mean as i64),
            format_ns(min as i64),
            format_ns(max as i64)
        )
    },
    arguments: "Arguments",
    in_reports: "In the reports",
    copy_json: "Copy as JSON",
    copied: "Event copied as JSON",
    add_note: "Add a note",
    from: "Launched by",
    to: "Launched",
    parents: "All parents",
    children: "Children",
    and_more: |n| format!("and {} more", number(n)),
    row: "Selected row",
    choose_row: "Select a row that names an event, such as a kernel or function, to see its durations and longest events.",
    of_row: |n, ns| {
        format!("{} of this name, {} in total", counted(n, "event", "events"), format_ns(ns as i64))
    },
    lengths: |n, min, max, is_log| {
        let scale = if is_log { ", logarithmic" } else { "" };
        let (min, max) = (format_ns(min as i64), format_ns(max as i64));
        format!("Durations of {}, {min} to {max}{scale}", counted(n, "event", "events"))
    },
    longest: "Longest",
    longest_of_row: "The longest event",
    callers: "Parents",
    stretch: |ns, n| match n {
        Some(n) => format!("{} selected, {}", format_ns(ns as i64), counted(n, "event", "events")),
        None => format!("{} selected", format_ns(ns as i64)),
    },
    chosen_stretch: "Selected time range",
    clear_stretch: "Clear the selection",
    device_busy: |name, busy_ns, rest_ns| {
        format!(
            "{name}: busy {}, no activity recorded for {}",
            format_ns(busy_ns as i64),
            format_ns(rest_ns as i64)
        )
    },
    idle_by_cause: |causes, rest_ns| {
        let outside = (rest_ns > 0).then_some(("before the first or after the last kernel", rest_ns));
        let causes = causes.iter().map(|(cause, ns)| (cause.as_str(), *ns)).chain(outside);
        let texts: Vec<String> =
            causes.map(|(cause, ns)| format!("{} {cause}", format_ns(ns as i64))).collect();
        texts.join(", ")
    },
    report_on_stretch: "Report on this range only",
    name: "Name",
    count: "Count",
    total: "Total",
    share: "% of range",
    more_names: |n| format!("and {}", counted(n, "more name", "more names")),
    counter: "Counter",
    min: "Min",
    mean: "Mean",
    max: "Max",
};

/// `1st`, `22nd`.
fn ordinal(n: u64) -> String {
    let ending = match (n % 10, n % 100) {
        (1, 11) | (2, 12) | (3, 13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{}{ending}", number(n))
}
