//! The speedscope file format: one evented profile per track, with open and close events of slices, and one sampled profile
//! per thread.
//!
//! Times are nanoseconds from the start of the run. Zero-length slices are kept; the format has no instants, counters or
//! flows. Frames are names: slices with the same name are one frame, whatever their category.

use super::{
    ByTrack, Out, Step, beside_stacks, file_prefix, has_samples, has_slices, samples_by_thread, span,
    track_path, walk,
};
use super::{Place, other_weights_of_units, place_of, profiles};
use super::{place_of_row, profile_name, stack_frames, thread_path};
use crate::analysis::timeline::shown;
use crate::base::hash::HashMap;
use crate::base::steps::{Steps, pause};
use crate::base::strings::StringId;
use crate::export::{ExporterInfo, Input, TextsIn, WriteFn};
use crate::trace::profiles::ProfileRun;
use crate::trace::stack_profiles::{Amount, StackProfile};
use crate::trace::{Run, Trace};
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "speedscope",
    title: "speedscope",
    extension: "speedscope.json",
    media_type: "application/json",
    in_menu: true,
    needs: "slices with a duration, or samples",
    applies: |run| has_slices(run) || has_samples(run),
    write: WriteFn::InSteps(|input, out| {
        Steps::new(async move {
            write(input, out).await?;
            let mut left_out = other_weights_of_units(input.run, unit_of);
            left_out.0.append(&mut beside_stacks(input.run));
            Ok(left_out)
        })
    }),
    reference: None,
    converts: None,
    texts: TextsIn::Json,
    takes_part: true,
    can_redact: true,
    takes_notes: false,
};

/// Frames of all profiles, in order of first appearance.
#[derive(Default)]
struct Frames {
    list: Vec<Place>,
    known: HashMap<Place, u32>,
}

impl Frames {
    fn get(&mut self, name: &str) -> u32 {
        self.place(Place { name: name.to_string(), ..Place::default() })
    }

    fn place(&mut self, place: Place) -> u32 {
        if let Some(known) = self.known.get(&place) {
            return *known;
        }
        let number = self.list.len() as u32;
        self.list.push(place.clone());
        self.known.insert(place, number);
        number
    }
}

async fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (run, mut out) = (input.run, Out::new(out));
    let mut frames = Frames::default();
    let mut n_profiles = 0;
    out.raw("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\"exporter\":\"Tracedrop ");
    out.raw(env!("CARGO_PKG_VERSION"));
    out.raw("\",\"name\":");
    out.string(&input.document.title);
    out.raw(",\"profiles\":[");
    for trace in &run.traces {
        let prefix = file_prefix(run, trace);
        let by_track = ByTrack::new(trace);
        let mut known: HashMap<StringId, u32> = HashMap::default();
        for track in (0..trace.tracks.len()).filter(|track| by_track.takes_time(trace, *track)) {
            let name = format!("{prefix}{}", track_path(trace, track));
            head(&mut n_profiles, "evented", &name, "nanoseconds", &mut out);
            let mut frame = |id: StringId| {
                *known.entry(id).or_insert_with(|| frames.get(shown(trace.strings.get_opt(id))))
            };
            write_events(run, trace, (&by_track, track), &mut frame, &mut out)?;
            pause().await;
        }
        write_samples(trace, &prefix, &mut n_profiles, &mut frames, &mut out).await?;
        write_profiles(run, trace, &prefix, &mut n_profiles, &mut frames, &mut out).await?;
        for (number, profile) in trace.profiles.iter().enumerate() {
            let name = format!("{prefix}{}", profile_name(profile, number + 1, trace.profiles.len()));
            head(&mut n_profiles, "sampled", &name, "none", &mut out);
            write_counts(trace, profile, &mut frames, &mut out)?;
        }
    }
    out.raw("\n],\"shared\":{\"frames\":[");
    for (i, place) in frames.list.iter().enumerate() {
        out.raw(if i > 0 { ",\n{\"name\":" } else { "\n{\"name\":" });
        out.string(&place.name);
        if let Some(file) = &place.file {
            out.raw(",\"file\":");
            out.string(file);
        }
        for (name, number) in [(",\"line\":", place.line), (",\"col\":", place.column)] {
            if let Some(number) = number {
                out.raw(name);
                out.integer(number);
            }
        }
        out.raw("}");
        out.pass_on()?;
    }
    out.raw("\n]}}\n");
    out.flush()
}

/// Starts a profile, up to the start of its range of values.
fn head(n_profiles: &mut u32, kind: &str, name: &str, unit: &str, out: &mut Out<'_>) {
    out.raw(if *n_profiles > 0 { ",\n{\"type\":\"" } else { "\n{\"type\":\"" });
    *n_profiles += 1;
    out.raw(kind);
    out.raw("\",\"name\":");
    out.string(name);
    out.raw(",\"unit\":\"");
    out.raw(unit);
    out.raw("\",\"startValue\":");
}

/// Writes the events in order.
fn write_events(
    run: &Run,
    trace: &Trace,
    (by_track, track): (&ByTrack, usize),
    frame: &mut dyn FnMut(StringId) -> u32,
    out: &mut Out<'_>,
) -> io::Result<()> {
    let (start, end) = span(run);
    out.raw("0,\"endValue\":");
    out.integer(end.saturating_sub(start));
    out.raw(",\"events\":[");
    // Frames of the open slices; events never go back in time.
    let mut open: Vec<u32> = Vec::new();
    let (mut last, mut is_first) = (start, true);
    walk(trace, by_track, track, |step| {
        let (letter, frame, at) = match step {
            Step::Alone { .. } => return Ok(()),
            Step::Open { slice, at } => {
                let frame = frame(trace.slices.name[slice]);
                open.push(frame);
                ("O", frame, at)
            }
            Step::Close { at } => {
                let Some(frame) = open.pop() else { return Ok(()) };
                ("C", frame, at)
            }
        };
        last = last.max(at);
        out.raw(if std::mem::take(&mut is_first) { "\n{\"type\":\"" } else { ",\n{\"type\":\"" });
        out.raw(letter);
        out.raw("\",\"frame\":");
        out.integer(i64::from(frame));
        out.raw(",\"at\":");
        out.integer(last.saturating_sub(start));
        out.raw("}");
        out.pass_on()
    })?;
    out.raw("]}");
    Ok(())
}

/// The samples of each thread, with the weights of the file.
async fn write_samples(
    trace: &Trace,
    prefix: &str,
    n_profiles: &mut u32,
    frames: &mut Frames,
    out: &mut Out<'_>,
) -> io::Result<()> {
    let samples = &trace.samples;
    for (thread, rows) in samples_by_thread(trace) {
        let rows = || rows.iter().copied();
        let name = format!("{prefix}{} (samples)", thread_path(trace, thread.0 as usize));
        head(n_profiles, "sampled", &name, "none", out);
        let weight = |row: usize| if samples.weight[row].is_finite() { samples.weight[row] } else { 0.0 };
        out.raw("0,\"endValue\":");
        out.float(rows().map(weight).sum());
        out.raw(",\"samples\":[");
        for (i, row) in rows().enumerate() {
            out.raw(if i > 0 { ",[" } else { "[" });
            for (depth, frame) in stack_frames(trace, samples.stack[row]).into_iter().enumerate() {
                out.raw(if depth > 0 { "," } else { "" });
                out.integer(i64::from(frames.place(place_of(trace, frame))));
            }
            out.raw("]");
            out.pass_on()?;
        }
        out.raw("],\"weights\":[");
        for (i, row) in rows().enumerate() {
            out.raw(if i > 0 { "," } else { "" });
            out.float(weight(row));
            out.pass_on()?;
        }
        out.raw("]}");
        pause().await;
    }
    Ok(())
}

/// How the format writes a unit.
fn unit_of(unit: &str) -> &str {
    match unit {
        "nanoseconds" | "microseconds" | "milliseconds" | "seconds" | "bytes" => unit,
        _ => "none",
    }
}

/// Where a profile starts, in its unit, so that threads are beside each other as they were. If its samples last as long as they weigh,
/// they follow one another from there; others have no times in this format and start at 0. Times are those of the file, or from the
/// start of a part of it or of the slices beside the profile.
fn start_of(run: &Run, trace: &Trace, profile: &StackProfile) -> Amount {
    let is_lasting = profile.unit == profile.time_unit;
    let Some((exponent, first)) = profile.time_exponent(&trace.strings).zip(profile.time_of(0)) else {
        return Amount::ZERO;
    };
    let start = match trace.part {
        _ if !trace.slices.is_empty() => span(run).0,
        Some(part) => part.range.0,
        None => 0,
    };
    if is_lasting { first.minus(Amount::of_nanoseconds(start, exponent)) } else { Amount::ZERO }
}

/// Stack profiles, one each, with the weights and the unit of the file.
async fn write_profiles(
    run: &Run,
    trace: &Trace,
    prefix: &str,
    n_profiles: &mut u32,
    frames: &mut Frames,
    out: &mut Out<'_>,
) -> io::Result<()> {
    for of in profiles(trace, unit_of).into_iter().filter(|it| it.is_first_of_unit) {
        head(n_profiles, "sampled", &format!("{prefix}{}", of.name), unit_of(of.unit), out);
        let profile = of.profile;
        let weight = |row: usize| profile.weight.get(row).unwrap_or(Amount::ZERO);
        let total = (0..profile.len()).fold(Amount::ZERO, |sum, row| sum.plus(weight(row)));
        let start = start_of(run, trace, profile);
        out.raw(&start.to_string());
        out.raw(",\"endValue\":");
        out.raw(&start.plus(total).to_string());
        out.raw(",\"samples\":[");
        for (i, stack) in profile.stack.iter().enumerate() {
            out.raw(if i > 0 { ",[" } else { "[" });
            for (depth, frame) in stack_frames(trace, *stack).into_iter().enumerate() {
                out.raw(if depth > 0 { "," } else { "" });
                out.integer(i64::from(frames.place(place_of(trace, frame))));
            }
            out.raw("]");
            out.pass_on()?;
        }
        out.raw("],\"weights\":[");
        for row in 0..profile.len() {
            out.raw(if row > 0 { "," } else { "" });
            out.raw(&weight(row).to_string());
            out.pass_on()?;
        }
        out.raw("]}");
        pause().await;
    }
    Ok(())
}

/// Counts by code location as stacks of one frame: the file has no real stacks.
fn write_counts(
    trace: &Trace,
    profile: &ProfileRun,
    frames: &mut Frames,
    out: &mut Out<'_>,
) -> io::Result<()> {
    let counts = &profile.frames.self_samples;
    let rows = || (0..counts.len()).filter(|row| counts[*row] > 0);
    out.raw("0,\"endValue\":");
    out.raw(&profile.sum_self().to_string());
    out.raw(",\"samples\":[");
    for (i, row) in rows().enumerate() {
        out.raw(if i > 0 { ",[" } else { "[" });
        out.integer(i64::from(frames.place(place_of_row(trace, profile, row))));
        out.raw("]");
        out.pass_on()?;
    }
    out.raw("],\"weights\":[");
    for (i, row) in rows().enumerate() {
        out.raw(if i > 0 { "," } else { "" });
        out.raw(&counts[row].to_string());
        out.pass_on()?;
    }
    out.raw("]}");
    Ok(())
}
