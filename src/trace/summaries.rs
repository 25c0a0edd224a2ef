//! Slices that sum up what other slices hold: wrappers around a whole recording, totals, a critical path drawn once more. No report
//! may lead with one or add it to the rest.
//!
//! Which ones they are is a table of rules, so that it is said once.

use super::Trace;
use crate::base::strings::StringId;

/// Slices that a producer writes beside what they sum up. All that is given has to hold.
struct Rule {
    /// The name, or its start in front of a `*`.
    name: Option<&'static str>,
    /// The name of the thread.
    thread: Option<&'static str>,
    /// How the name of the process starts.
    process: Option<&'static str>,
    /// What stands for `*` is itself a name in the trace.
    is_of_other: bool,
}

const ANY: Rule = Rule { name: None, thread: None, process: None, is_of_other: false };

const RULES: &[Rule] = &[
    // PyTorch: the time of the profiler itself, around everything.
    Rule { name: Some("PyTorch Profiler (*"), ..ANY },
    // clang -ftime-trace: durations of all slices of a name, added up.
    Rule { name: Some("Total *"), is_of_other: true, ..ANY },
    // Bazel: actions of other threads once more.
    Rule { thread: Some("Critical Path"), ..ANY },
    // JAX and TensorFlow (XProf): lines of a device that group its operations.
    Rule { thread: Some("Steps"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("XLA Modules"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("TensorFlow Name Scope"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("Framework Name Scope"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("Framework Ops"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("TensorFlow Ops"), process: Some("/device:"), ..ANY },
    Rule { thread: Some("Source code"), process: Some("/device:"), ..ANY },
];

/// The summaries of one trace.
pub struct Summaries {
    /// Names that are some wherever they stand.
    names: Vec<StringId>,
    /// By track: all of it is.
    tracks: Vec<bool>,
    is_empty: bool,
}

impl Summaries {
    /// Looks at the names of threads and at texts, not at slices.
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

    /// Whether a slice of that name on that track is one.
    #[inline]
    pub fn has(&self, name: StringId, track: super::tracks::TrackId) -> bool {
        !self.is_empty
            && (self.tracks.get(track.0 as usize).copied().unwrap_or(false)
                || self.names.binary_search(&name).is_ok())
    }
}
