//! Slices that summarize others: wrappers around a whole trace, totals, a second copy of the critical path. Reports must not
//! lead with them or add them to the rest.
//!
//! A table of rules defines them, in one place.

use super::Trace;
use crate::base::strings::StringId;

/// Slices of a producer that summarize others. All conditions given must hold.
struct Rule {
    /// Name, or its start before a `*`.
    name: Option<&'static str>,
    /// Thread name.
    thread: Option<&'static str>,
    /// Start of the process name.
    process: Option<&'static str>,
    /// End of the process name.
    process_end: Option<&'static str>,
    /// The text matched by `*` is itself a name in the trace.
    is_of_other: bool,
}

const ANY: Rule = Rule { name: None, thread: None, process: None, process_end: None, is_of_other: false };

const RULES: &[Rule] = &[
    // PyTorch: the runtime of the profiler itself, around everything.
    Rule { name: Some("PyTorch Profiler (*"), ..ANY },
    // clang -ftime-trace: summed durations of all slices of a name.
    Rule { name: Some("Total *"), is_of_other: true, ..ANY },
    // Bazel: actions of other threads repeated.
    Rule { thread: Some("Critical Path"), ..ANY },
    // TensorFlow 1 (`DeviceTracer`): kernels of all streams, and copies, which also are on their streams.
    Rule { process_end: Some("/stream:all Compute"), ..ANY },
    Rule { process_end: Some("/memcpy Compute"), ..ANY },
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
    /// Finds them from thread names and texts, without looking at slices.
    pub fn of(trace: &Trace) -> Summaries {
        let text = |id: StringId| trace.strings.get_opt(id).unwrap_or("");
        let is_of_track = |rule: &Rule, track: usize| {
            let Some(thread) = trace.tracks.thread[track].map(|thread| thread.0 as usize) else {
                return false;
            };
            let process = trace.threads.process.get(thread).map_or(usize::MAX, |process| process.0 as usize);
            let process = trace.processes.name.get(process).map_or("", |name| text(*name));
            let name = trace.threads.name.get(thread).map_or("", |name| text(*name));
            rule.name.is_none()
                && rule.thread.is_none_or(|wanted| wanted == name)
                && rule.process.is_none_or(|start| process.starts_with(start))
                && rule.process_end.is_none_or(|end| process.ends_with(end))
        };
        let tracks: Vec<bool> =
            (0..trace.tracks.len()).map(|track| RULES.iter().any(|rule| is_of_track(rule, track))).collect();
        let is_name = |name: &str| {
            RULES.iter().filter_map(|rule| Some((rule, rule.name?))).any(|(rule, pattern)| {
                let Some(start) = pattern.strip_suffix('*') else { return pattern == name };
                let rest = name.strip_prefix(start);
                rest.is_some_and(|rest| !rule.is_of_other || trace.strings.find(rest).is_some())
            })
        };
        let ids = (0..trace.strings.len() as u32).map(StringId);
        let names: Vec<StringId> = ids.filter(|id| is_name(trace.strings.get(*id))).collect();
        let is_empty = names.is_empty() && !tracks.contains(&true);
        Summaries { names, tracks, is_empty }
    }

    /// Whether a slice of this name on this track is a summary.
    #[inline]
    pub fn has(&self, name: StringId, track: super::tracks::TrackId) -> bool {
        !self.is_empty
            && (self.tracks.get(track.0 as usize).copied().unwrap_or(false)
                || self.names.binary_search(&name).is_ok())
    }
}
