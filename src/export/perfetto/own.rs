//! Tracks of Tracedrop's own: steps and phases as the reports have them, and notes.
//!
//! ```text
//! Tracedrop
//!   Steps: GPU 0    [step 0 ][step 1 ][step 2 ]
//!   Phases: GPU 0   [prefill][decode          ]
//!   Notes              [slow here]
//! ```
//! Their sibling merge key starts with [`OWN_TRACK`], so readers know that nothing on them was recorded. Their events have the
//! category `tracedrop`, by which a query leaves them out.

use super::field;
use super::sequence::Sequence;
use super::tracks::{self, Numbers};
use crate::analysis::gpu_breakdown::{HOST_STEPS, STEPS};
use crate::analysis::several::numbered;
use crate::base::protobuf::PushFields;
use crate::base::sort;
use crate::export::Input;
use crate::report::notes::Anchor;
use crate::report::{Cells, Report, Table};
use crate::trace::builder::{OWN_NOTES, OWN_TRACK};

/// Category of all events here.
const CATEGORY: &str = "tracedrop";
/// Name of the track above all others here, and of that for notes.
const GROUP: &str = "Tracedrop";
const NOTES_TRACK: &str = "Notes";

/// Something with a time, in nanoseconds; without a duration, it is an instant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Mark {
    from: i64,
    to: i64,
    name: String,
    /// Arguments.
    members: Vec<(&'static str, String)>,
}

/// Marks of one track.
struct MarkTrack {
    name: String,
    key: String,
    marks: Vec<Mark>,
}

impl MarkTrack {
    fn new(name: String, marks: Vec<Mark>) -> MarkTrack {
        MarkTrack { key: format!("{OWN_TRACK}:{name}"), name, marks }
    }
}

/// A step of a table, in nanoseconds from the start of its trace.
struct Step<'a> {
    device: Option<&'a str>,
    name: String,
    phase: Option<&'a str>,
    from: i64,
    to: i64,
}

/// A part of the trace, and how long after its start something is.
pub struct Origin {
    /// Start of a whole trace on the clock of the file, in nanoseconds.
    pub start: i64,
    /// Rank of the trace, if it is one of several.
    pub rank: Option<i64>,
}

/// Appends all of these tracks. `gpus` are the traces that GPU reports are about; `start` is that of the whole run.
pub fn write(input: &Input<'_>, gpus: &[Origin], start: i64, numbers: &mut Numbers, out: &mut Vec<u8>) {
    let mut all = Vec::new();
    for (number, origin) in gpus.iter().enumerate() {
        all.extend(step_tracks(input, number, origin));
    }
    let notes = notes(input, start);
    if !notes.is_empty() {
        all.push(MarkTrack { name: NOTES_TRACK.to_string(), key: OWN_NOTES.to_string(), marks: notes });
    }
    if all.is_empty() {
        return;
    }
    let group = numbers.new_track();
    tracks::describe_own(group, None, GROUP, OWN_TRACK, out);
    for mut track in all {
        sort::by(&mut track.marks, Ord::cmp);
        write_track(&track, group, numbers, out);
    }
}

/// Texts of the events here, for the preview of exported text.
pub fn texts(input: &Input<'_>) -> Vec<String> {
    let mut texts = Vec::new();
    let n_gpus = input.whole.traces.len();
    for step in (0..n_gpus).flat_map(|number| steps(input, number)) {
        texts.push(step.name);
        texts.extend(step.phase.map(str::to_string));
    }
    for remark in &input.notes().list {
        texts.push(remark.text.clone());
        if let Anchor::Event { name, .. } = &remark.on {
            texts.push(name.clone());
        }
    }
    texts
}

/// Appends the events of a track. Those that overlap others are on siblings with the same key, which Perfetto shows as one track.
fn write_track(track: &MarkTrack, group: u64, numbers: &mut Numbers, out: &mut Vec<u8>) {
    let mut lanes: Vec<(i64, Sequence)> = Vec::new();
    for mark in &track.marks {
        let lane = lanes.iter().position(|(end, _)| *end <= mark.from).unwrap_or_else(|| {
            let uuid = numbers.new_track();
            tracks::describe_own(uuid, Some(group), &track.name, &track.key, out);
            lanes.push((i64::MIN, numbers.new_sequence(uuid)));
            lanes.len() - 1
        });
        let (end, sequence) = &mut lanes[lane];
        *end = mark.to;
        sequence.push_event(mark.from, out, |_, out| {
            out.number(field::TYPE, if mark.to > mark.from { super::BEGIN } else { super::INSTANT });
            out.bytes(field::CATEGORY, CATEGORY.as_bytes());
            out.bytes(field::NAME, mark.name.as_bytes());
            for (name, value) in &mark.members {
                out.message(field::ANNOTATION, |out| {
                    out.bytes(super::arguments::field::NAME, name.as_bytes());
                    out.bytes(super::arguments::field::TEXT, value.as_bytes());
                });
            }
        });
        if mark.to > mark.from {
            sequence.push_event(mark.to, out, |_, out| out.number(field::TYPE, super::END));
        }
    }
}

/// Steps of the trace with that number among those with GPU reports, by device: a track each, and one for their phases.
fn step_tracks(input: &Input<'_>, number: usize, origin: &Origin) -> Vec<MarkTrack> {
    let window = input.options.cut.window;
    let is_in = |step: &Step<'_>| window.is_none_or(|(from, to)| step.from <= to && step.to >= from);
    let mut of_devices: Vec<(Option<&str>, Vec<Step<'_>>)> = Vec::new();
    for step in steps(input, number).into_iter().filter(is_in) {
        match of_devices.iter_mut().find(|(device, _)| *device == step.device) {
            Some((_, steps)) => steps.push(step),
            None => of_devices.push((step.device, vec![step])),
        }
    }
    let mut tracks = Vec::new();
    for (device, mut steps) in of_devices {
        sort::by_key(&mut steps, |step| step.from);
        let rank = origin.rank.map(|rank| format!("rank {rank}"));
        let of: Vec<&str> = rank.as_deref().into_iter().chain(device).collect();
        let title = |what: &str| match of.is_empty() {
            true => what.to_string(),
            false => format!("{what}: {}", of.join(", ")),
        };
        let at = |ns: i64| origin.start.saturating_add(ns);
        let phases = phases(&steps).into_iter();
        let phases: Vec<Mark> =
            phases.map(|mark| Mark { from: at(mark.from), to: at(mark.to), ..mark }).collect();
        let mark = |step: &Step<'_>| Mark {
            from: at(step.from),
            to: at(step.to),
            name: step.name.clone(),
            members: step.phase.map(|phase| ("phase", phase.to_string())).into_iter().collect(),
        };
        tracks.push(MarkTrack::new(title("Steps"), steps.iter().map(mark).collect()));
        if !phases.is_empty() {
            tracks.push(MarkTrack::new(title("Phases"), phases));
        }
    }
    tracks
}

/// Runs of steps of the same phase, with how many steps they are.
fn phases(steps: &[Step<'_>]) -> Vec<Mark> {
    let runs = steps.chunk_by(|one, next| one.phase == next.phase);
    let mark = |run: &[Step<'_>]| {
        let (first, phase) = (run.first()?, run.first()?.phase?);
        let to = run.iter().map(|step| step.to).max()?;
        let members = vec![("steps", run.len().to_string())];
        Some(Mark { from: first.from, to, name: phase.to_string(), members })
    };
    runs.filter_map(mark).collect()
}

/// Steps with a known time, from the tables of a trace: GPU times, or CPU times where no step has GPU activity. With redaction,
/// steps are numbered and their phases are left out, as both are words of the program.
fn steps<'a>(input: &Input<'a>, number: usize) -> Vec<Step<'a>> {
    let reports = input.document.reports;
    let is_redacted = !input.options.redact.is_none();
    let mut found = Vec::new();
    for (handle, duration) in [(&STEPS, "gpu_time"), (&HOST_STEPS, "cpu_time")] {
        let report = reports.iter().find(|report| report.id == handle.report.id);
        let table = report.and_then(|report| table(report, &numbered(handle.id, number)));
        found = table.map(|table| steps_in(table, duration, is_redacted)).unwrap_or_default();
        if !found.is_empty() {
            break;
        }
    }
    found
}

fn table<'a>(report: &'a Report, id: &str) -> Option<&'a Table> {
    report.tables().find(|table| table.id == id)
}

fn steps_in<'a>(table: &'a Table, duration: &str, is_redacted: bool) -> Vec<Step<'a>> {
    let text = |column: &str, row: usize| match &table.column(column)?.cells {
        Cells::Text(cells) => cells.get(row),
        _ => None,
    };
    let ns = |column: &str, row: usize| match &table.column(column)?.cells {
        Cells::Integer(cells) => cells.get(row).copied().flatten(),
        _ => None,
    };
    let step = |row: usize| {
        // Times before the first step and between steps have no phase.
        let phase = text("phase", row)?;
        let (from, duration) = (ns("start", row)?, ns(duration, row).filter(|ns| *ns > 0)?);
        let name = match is_redacted {
            true => format!("Step {}", row + 1),
            false => text("step", row)?.to_string(),
        };
        let phase = Some(phase).filter(|_| !is_redacted);
        Some(Step { device: text("device", row), name, phase, from, to: from.saturating_add(duration) })
    };
    (0..table.n_rows()).filter_map(step).collect()
}

/// Notes at their times, or at the start; without those outside of the part that is exported.
fn notes(input: &Input<'_>, start: i64) -> Vec<Mark> {
    let window = input.options.cut.window;
    let mut marks = Vec::new();
    for remark in &input.notes().list {
        let (from, to, on) = match &remark.on {
            Anchor::Whole | Anchor::Row { .. } => {
                let first = window.map_or(0, |(from, _)| from);
                (first, first, None)
            }
            Anchor::Range { from_ns, to_ns } => (*from_ns, *to_ns, None),
            Anchor::Event { name, at_ns } => (*at_ns, *at_ns, Some(name.clone())),
        };
        let (from, to) = (from.max(0), to.max(from).max(0));
        if window.is_some_and(|(first, last)| to < first || from > last) {
            continue;
        }
        let mut members = vec![("note", remark.text.clone())];
        members.extend(on.map(|name| ("on", name)));
        marks.push(Mark {
            from: start.saturating_add(from),
            to: start.saturating_add(to),
            name: remark.text.lines().next().unwrap_or_default().to_string(),
            members,
        });
    }
    marks
}
