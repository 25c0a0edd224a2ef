//! speedscope's own format: JSON with frames shared by all profiles, and profiles of samples or of begins and ends.

use super::issues::*;
use super::json::{Document, JsonReader, Shape, amount, index, skip_sample};
use super::{MISSING, UNKNOWN, note, push_sample};
use crate::base::json::tape::Item;
use crate::base::strings::StringId;
use crate::import::{Confidence, FormatInfo, ImportError};
use crate::trace::TraceBuilder;
use crate::trace::samples::{Frame, NO_LINE, StackId};
use crate::trace::stack_profiles::{Amount, StackProfile, nanoseconds_exponent};

pub static INFO: FormatInfo = FormatInfo {
    id: "speedscope",
    title: "speedscope JSON",
    producers: "py-spy, pyinstrument, rbspy, dotnet-trace, Tracedrop and others",
    extensions: &["speedscope.json", "speedscope", "json"],
    sniff,
    reader: || Box::new(JsonReader::new(build)),
    parts: None,
    has_events: true,
    issues: super::issues::ALL,
};

const SCHEMA: &str = "speedscope.app/file-format-schema.json";
const UNITS: [&str; 6] = ["none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"];

fn sniff(head: &[u8]) -> Confidence {
    let Some(shape) = Shape::of(head) else { return Confidence::No };
    let has_frames = shape.has_in("shared", "frames");
    match () {
        () if shape.has("$schema") && shape.mentions(SCHEMA) => Confidence::Certain,
        () if has_frames && shape.has("profiles") => Confidence::Certain,
        () if has_frames => Confidence::Likely,
        () if shape.has("profiles") && (shape.mentions("\"evented\"") || shape.mentions("\"sampled\"")) => {
            Confidence::Likely
        }
        () => Confidence::No,
    }
}

fn build(mut document: Document<'_>, out: &mut TraceBuilder) -> Result<(), ImportError> {
    let root = document.root;
    let frames = root.get("shared").and_then(|shared| shared.get("frames"));
    let frames: Vec<Option<Frame>> = frames
        .into_iter()
        .flat_map(Item::items)
        .map(|item| item.is_object().then(|| frame_of(item, &mut document, out)))
        .collect();
    out.trace.source.producer = root.get("exporter").and_then(Item::text).map(str::to_string);
    if let Some(name) = root.get("name").and_then(Item::text) {
        out.trace.source.metadata.push(("name".to_string(), name.to_string()));
    }
    let mut frames = Frames { frames, missing: out.trace.strings.intern(MISSING) };
    for item in root.get("profiles").into_iter().flat_map(Item::items) {
        if !item.is_object() {
            note(out, &BAD_VALUE, "a profile that is no object");
            continue;
        }
        let profile = profile_of(item, &mut frames, &mut document, out);
        out.trace.stack_profiles.push(profile);
    }
    Ok(())
}

fn frame_of(item: Item<'_>, document: &mut Document<'_>, out: &mut TraceBuilder) -> Frame {
    let texts = &mut document.texts;
    let mut name = texts.id(item.get("name"), out);
    if name.is_none() || name == StringId::EMPTY {
        name = out.trace.strings.intern(UNKNOWN);
    }
    let file = texts.id(item.get("file"), out);
    let number = |key: &str| item.get(key).and_then(Item::whole).unwrap_or(NO_LINE);
    Frame {
        file: if file == StringId::EMPTY { StringId::NONE } else { file },
        line: number("line"),
        column: number("col"),
        ..Frame::named(name)
    }
}

struct Frames {
    frames: Vec<Option<Frame>>,
    missing: StringId,
}

impl Frames {
    /// Frame of a reference, whatever that is.
    fn get(&mut self, item: Item<'_>, out: &mut TraceBuilder) -> Frame {
        match index(item).and_then(|index| self.frames.get(index).copied().flatten()) {
            Some(frame) => frame,
            None => {
                note(out, &DANGLING_ID, "frame");
                Frame::named(self.missing)
            }
        }
    }
}

fn profile_of(
    item: Item<'_>,
    frames: &mut Frames,
    document: &mut Document<'_>,
    out: &mut TraceBuilder,
) -> StackProfile {
    let text = |key: &str| item.get(key).and_then(Item::text);
    let unit = text("unit").unwrap_or("none");
    if !UNITS.contains(&unit) {
        note(out, &UNKNOWN_UNIT, unit);
    }
    let mut profile = StackProfile::new(out.trace.strings.intern(unit));
    profile.name = document.texts.id(item.get("name"), out);
    profile.kind = document.texts.id(item.get("type"), out);
    let number = |key: &str| item.get(key).and_then(amount);
    let span = (number("startValue"), number("endValue"));
    profile.time_unit = profile.unit;
    match text("type") {
        Some("sampled") => read_samples(&mut profile, item, span, frames, out),
        Some("evented") => read_events(&mut profile, item, span, frames, out),
        other => {
            profile.time_unit = StringId::NONE;
            note(out, &UNKNOWN_TYPE, other.unwrap_or(""));
        }
    }
    profile
}

type Span = (Option<Amount>, Option<Amount>);

/// Samples with their weights; each lasts as long as it weighs.
fn read_samples(
    profile: &mut StackProfile,
    item: Item<'_>,
    (start, end): Span,
    frames: &mut Frames,
    out: &mut TraceBuilder,
) {
    let list = |key: &str| item.get(key).into_iter().flat_map(Item::items);
    let (mut samples, mut weights) = (list("samples"), list("weights"));
    let mut at = start.unwrap_or_default();
    loop {
        let (sample, weight) = match (samples.next(), weights.next()) {
            (Some(sample), Some(weight)) => (sample, weight),
            (None, None) => break,
            _ => {
                note(out, &LENGTH_MISMATCH, "samples and weights");
                break;
            }
        };
        let Some(weight) = amount(weight).filter(|_| sample.is_array()) else {
            skip_sample(out, "a sample");
            continue;
        };
        let mut stack = StackId::NONE;
        for frame in sample.items() {
            let frame = frames.get(frame, out);
            stack = out.stack(stack, frame);
        }
        push_sample(profile, stack, weight, out);
        profile.time.push(at);
        at = at.plus(weight);
    }
    // Values of other units are no times.
    let is_time = out.trace.strings.get_opt(profile.unit).and_then(nanoseconds_exponent).is_some();
    let end = end.map(|end| {
        if end >= at || !is_time {
            return end;
        }
        // Writers add up doubles, so an end can be off by their rounding.
        let lacking = at.minus(end).to_f64();
        if lacking <= at.to_f64().abs() * ROUNDING {
            return end;
        }
        note(out, &END_BEFORE_LAST, &end.to_string());
        at
    });
    profile.span = start.zip(end);
}

/// Share of a sum of weights that is rounding.
const ROUNDING: f64 = 1e-9;

/// Frames that begin and end; between two times, what is open lasts.
fn read_events(
    profile: &mut StackProfile,
    item: Item<'_>,
    (start, end): Span,
    frames: &mut Frames,
    out: &mut TraceBuilder,
) {
    // Number of the frame, and the stack with it.
    let mut open: Vec<(Option<i64>, StackId)> = Vec::new();
    let mut latest = start;
    let top = |open: &[(Option<i64>, StackId)]| open.last().map_or(StackId::NONE, |(_, stack)| *stack);
    let last_until = |profile: &mut StackProfile, stack: StackId, from: Amount, to: Amount| {
        if to > from {
            profile.push_at(stack, to.minus(from), Some(from));
        }
    };
    for event in item.get("events").into_iter().flat_map(Item::items) {
        let kind = event.get("type").and_then(Item::text);
        let at = event.get("at").and_then(amount);
        let (Some(kind @ ("O" | "C")), Some(at), Some(frame)) = (kind, at, event.get("frame")) else {
            note(out, &BAD_VALUE, "an event");
            continue;
        };
        let before = *latest.get_or_insert(at);
        if at < before {
            note(out, &NON_MONOTONIC, &at.to_string());
        } else {
            last_until(profile, top(&open), before, at);
            latest = Some(at);
        }
        let number = frame.whole();
        if kind == "O" {
            let frame = frames.get(frame, out);
            let stack = out.stack(top(&open), frame);
            open.push((number, stack));
            continue;
        }
        match open.iter().rposition(|(other, _)| *other == number) {
            Some(at) => {
                if at + 1 < open.len() {
                    note(out, &UNBALANCED, "");
                }
                open.truncate(at);
            }
            None => note(out, &UNBALANCED, ""),
        }
    }
    let Some(latest) = latest else { return };
    let end = match end {
        Some(end) if end < latest => {
            note(out, &END_BEFORE_LAST, &end.to_string());
            latest
        }
        Some(end) => end,
        None => latest,
    };
    if !open.is_empty() {
        note(out, &UNCLOSED, "");
    }
    last_until(profile, top(&open), latest, end);
    profile.span = start.map(|start| (start, end));
}
