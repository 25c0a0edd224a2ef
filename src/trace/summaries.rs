//! Slices that summarize others: wrappers around a whole trace, totals, a second copy of the critical path. Reports must not
//! lead with them or add them to the rest.
//!
//! A table of rules defines them, in one place.

use super::Trace;
use super::tracks::{ProcessId, TrackId};
use crate::base::strings::StringId;

/// Slices of a producer that summarize others. All conditions given must hold.
struct Rule {
    /// Name, or its start before a `*`.
    name: Option<&'static str>,
    /// Thread name.
    thread: Option<&'static str>,
    /// Start of the process name.
    process: Option<&'static str>,
    /// End of the process name, after that of a device whose streams have processes with slices of their own.
    beside_streams: Option<&'static str>,
    /// The text matched by `*` is itself a name in the trace, and the slice begins at 0 on a track of its own. Other programs call
    /// a phase `Total loss`.
    is_total: bool,
}

const ANY: Rule = Rule { name: None, thread: None, process: None, beside_streams: None, is_total: false };

const RULES: &[Rule] = &[
    // PyTorch: the runtime of the profiler itself, around everything.
    Rule { name: Some("PyTorch Profiler (*"), ..ANY },
    // clang -ftime-trace: summed durations of all slices of a name.
    Rule { name: Some("Total *"), is_total: true, ..ANY },
    // Bazel: actions of other threads repeated.
    Rule { thread: Some("Critical Path"), ..ANY },
    // TensorFlow 1 (`DeviceTracer`): kernels of all streams, and copies, which also are on their streams. `Timeline` can leave out
    // the streams.
    Rule { beside_streams: Some("/stream:all Compute"), ..ANY },
    Rule { beside_streams: Some("/memcpy Compute"), ..ANY },
    // JAX and TensorFlow (XProf): device lines that group operations.
    Rule { thread: Some("Steps"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("Steps"), process: Some("/host:"), ..ANY },
    Rule { thread: Some("XLA Ops"), process: Some("/device:GPU:"), ..ANY },
    Rule { thread: Some("XLA Modules"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("TensorFlow Name Scope"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("Framework Name Scope"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("Framework Ops"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("TensorFlow Ops"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("Source code"), process: Some("/device:"), ..ANY },
];

/// Summary slices of one trace.
pub struct Summaries {
    /// Names that are summaries on any track.
    names: Vec<StringId>,
    /// By track: whether all its slices are summaries.
    tracks: Vec<bool>,
    is_empty: bool,
}

impl Summaries {
    /// Finds them from names of processes, threads and slices.
    pub fn of(trace: &Trace) -> Summaries {
        let text = |id: StringId| trace.strings.get_opt(id).unwrap_or("");
        let process_name =
            |process: ProcessId| trace.processes.name.get(process.0 as usize).map_or("", |name| text(*name));
        let of_tracks = (0..trace.tracks.len() as u32).map(TrackId);
        let streams: Vec<&str> = of_tracks
            .filter_map(|track| trace.tracks.process_of(track, &trace.threads))
            .map(process_name)
            .filter(|name| name.contains("/stream:"))
            .collect();
        let has_streams = |device: &str| {
            let mut of_device =
                streams.iter().filter_map(|name| name.strip_prefix(device)?.strip_prefix("/stream:"));
            of_device.any(|stream| !stream.starts_with("all "))
        };
        let is_of_track = |rule: &Rule, track: usize| {
            let Some(thread) = trace.tracks.thread[track].map(|thread| thread.0 as usize) else {
                return false;
            };
            let process = trace.threads.process.get(thread).map_or("", |process| process_name(*process));
            let name = trace.threads.name.get(thread).map_or("", |name| text(*name));
            rule.name.is_none()
                && rule.thread.is_none_or(|wanted| wanted == name)
                && rule.process.is_none_or(|start| process.starts_with(start))
                && rule.beside_streams.is_none_or(|end| process.strip_suffix(end).is_some_and(has_streams))
        };
        let mut tracks: Vec<bool> =
            (0..trace.tracks.len()).map(|track| RULES.iter().any(|rule| is_of_track(rule, track))).collect();
        let is_name = |name: &str, is_total: bool| {
            let of_kind = RULES.iter().filter(|rule| rule.is_total == is_total);
            of_kind.filter_map(|rule| rule.name).any(|pattern| {
                let Some(start) = pattern.strip_suffix('*') else { return pattern == name };
                let rest = name.strip_prefix(start);
                rest.is_some_and(|rest| !is_total || trace.strings.find(rest).is_some())
            })
        };
        let (mut names, mut totals) = (Vec::new(), Vec::new());
        for id in (0..trace.strings.len() as u32).map(StringId) {
            let name = trace.strings.get(id);
            if is_name(name, false) {
                names.push(id);
            }
            if is_name(name, true) {
                totals.push(id);
            }
        }
        add_totals(trace, &totals, &mut tracks);
        let is_empty = names.is_empty() && !tracks.contains(&true);
        Summaries { names, tracks, is_empty }
    }

    /// Whether a slice of this name on this track is a summary.
    #[inline]
    pub fn has(&self, name: StringId, track: TrackId) -> bool {
        !self.is_empty
            && (self.tracks.get(track.0 as usize).copied().unwrap_or(false)
                || self.names.binary_search(&name).is_ok())
    }
}

/// Marks the tracks that have one of the slices `totals`, which is sorted, and nothing else. See [`Rule::is_total`].
fn add_totals(trace: &Trace, totals: &[StringId], tracks: &mut [bool]) {
    if totals.is_empty() {
        return;
    }
    let slices = &trace.slices;
    // By track: number of slices, and of totals.
    let mut counts = vec![(0u64, 0u64); tracks.len()];
    for ((track, ts), name) in slices.track.iter().zip(&slices.ts).zip(&slices.name) {
        if let Some((n, n_totals)) = counts.get_mut(track.0 as usize) {
            *n += 1;
            *n_totals += u64::from(*ts == 0 && totals.binary_search(name).is_ok());
        }
    }
    for (is_summary, counts) in tracks.iter_mut().zip(counts) {
        *is_summary |= counts == (1, 1);
    }
}
