//! Findings for Python profiles: the hottest functions, waiting, garbage collection, imports.

use super::totals::{FunctionKey, Total};
use super::{FUNCTIONS, function_name, places, ratio, sampled, thread_time_ns};
use crate::analysis::findings::{LEAST, consumers_of_samples, quoted, rows_of, worth_saying};
use crate::analysis::gpu::stats::percent;
use crate::base::sort;
use crate::base::text::{IN_A_SENTENCE, shortened, visible};
use crate::base::units::{Unit, counted, group_digits};
use crate::report::{Facts, Finding, Findings, RowsOf};
use crate::trace::Trace;
use crate::trace::profiles::ProfileRun;

/// Fewest samples for meaningful findings.
const MIN_SAMPLES: u128 = 20;
/// Smallest share of samples that makes a function a finding, and their maximum number.
const HOTTEST: f64 = 0.05;
const N_HOTTEST: usize = 5;

/// Standard library functions in which a thread only waits: file name, function names.
const WAITING: &[(&str, &[&str])] = &[
    (
        "threading.py",
        &["Condition.wait", "Event.wait", "Thread.join", "Thread._wait_for_tstate_lock", "Barrier._wait"],
    ),
    (
        "selectors.py",
        &["EpollSelector.select", "PollSelector.select", "SelectSelector.select", "KqueueSelector.select"],
    ),
    ("queue.py", &["Queue.get", "Queue.put"]),
    ("socket.py", &["SocketIO.readinto", "socket.accept"]),
    ("subprocess.py", &["Popen._wait", "Popen._try_wait", "Popen.wait"]),
    ("popen_fork.py", &["Popen.poll", "Popen.wait"]),
    ("connection.py", &["Connection._recv", "wait"]),
];

/// The function through which Python loads modules.
const IMPORT: (&str, &str) = ("<frozen importlib._bootstrap>", "_find_and_load");

fn is_waiting((path, func): (Option<&str>, Option<&str>)) -> bool {
    let (Some(file), Some(func)) = (path.map(places::display_name), func) else { return false };
    WAITING.iter().any(|(of_file, functions)| *of_file == file && functions.contains(&func))
}

/// Findings of a profile; `None` if there are none. `table` is the id of the table of functions; `of` names the profile among several, and
/// is empty for one that is alone, which the headline is about.
pub fn of(
    trace: &Trace,
    profile: &ProfileRun,
    functions: &[Total<FunctionKey>],
    table: &str,
    of: &str,
) -> Option<Findings> {
    let samples = profile.whole();
    if samples < MIN_SAMPLES {
        return None;
    }
    let names =
        |total: &Total<FunctionKey>| (trace.strings.get_opt(total.key.0), trace.strings.get_opt(total.key.1));
    let finding = |id: &str, count: u128, worth: f64, filter: &str, text: &dyn Fn(&str) -> String| {
        let share = ratio(count, samples).filter(|share| *share >= worth && *share <= 1.0)?;
        let time = thread_time_ns(profile, count).and_then(|time| i64::try_from(time).ok());
        let mut facts = Facts::default();
        facts.push("samples", "samples", u64::try_from(count).ok(), Unit::Samples);
        if let Some(time) = time {
            facts.push("thread_time_ns", "thread time (estimate)", time, Unit::Ns);
        }
        Some(Finding {
            id: id.to_string(),
            text: text(&percent(share)),
            time,
            share: Some(share),
            evidence: facts.facts,
            rows: Some(RowsOf { table: table.to_string(), ..rows_of(FUNCTIONS, "function", filter) }),
        })
    };
    let mut found: Vec<Finding> = Vec::new();

    let is_gc = |total: &Total<FunctionKey>| {
        let (path, func) = names(total);
        places::kind(path, func) == "gc"
    };
    let works = |total: &&Total<FunctionKey>| !is_waiting(names(total)) && !is_gc(total);
    let hottest = functions.iter().filter(works).filter(|total| total.self_samples > 0).take(N_HOTTEST);
    for (rank, total) in hottest.enumerate() {
        let name = function_name(profile, total.first_row as usize, &trace.strings);
        let name = name.as_deref().unwrap_or("");
        let quoted = match name {
            "" => "An unnamed function".to_string(),
            name => quoted(name),
        };
        let place = names(total).0.map(places::display_name).filter(|place| *place != "~");
        let place =
            place.map_or(String::new(), |place| format!(" ({})", visible(&shortened(place, IN_A_SENTENCE))));
        let (id, is) = if rank == 0 { ("hottest-function", " is hottest") } else { ("hot-function", "") };
        let func = names(total).1.unwrap_or("");
        // The headline has the rest of this one.
        if of.is_empty() && functions.first().is_some_and(|first| first.key == total.key) {
            found.extend(finding(id, total.self_samples, HOTTEST, func, &|share| {
                format!("{quoted}{place}: {share} of samples are in the function itself.")
            }));
            continue;
        }
        found.extend(finding(id, total.self_samples, HOTTEST, func, &|share| {
            format!(
                "{quoted}{place}{is}: {share} self ({} of {}{}).",
                group_digits(i128::try_from(total.self_samples).unwrap_or(i128::MAX)),
                counted(samples as u64, "sample", "samples"),
                sampled(profile)
            )
        }));
    }

    let waiting: Vec<&Total<FunctionKey>> =
        functions.iter().filter(|total| is_waiting(names(total))).collect();
    let waited: u128 = waiting.iter().map(|total| total.self_samples).sum();
    if let Some((first, most)) = waiting.first().and_then(|total| Some((total, names(total).1?))) {
        let mostly = if first.self_samples > waited / 2 { "mostly" } else { "most often" };
        found.extend(finding("waiting", waited, LEAST, most, &|share| {
            format!("Threads were waiting in {share} of samples, {mostly} in \u{201c}{most}\u{201d}.")
        }));
    }

    let collected: u128 = functions.iter().filter(|total| is_gc(total)).map(|total| total.self_samples).sum();
    found.extend(finding("garbage-collection", collected, LEAST, "<GC>", &|share| {
        format!("The garbage collector was running in {share} of samples.")
    }));

    let n_without_imports = found.len();
    let import = functions.iter().find(|total| names(total) == (Some(IMPORT.0), Some(IMPORT.1)));
    if let Some(total) = import {
        // Samples with this function on the stack, counted once each: everything called from it belongs to the import.
        let least = if total.is_exact(samples) { "" } else { "at least " };
        found.extend(finding("imports", total.cumulative_at_least(), HOTTEST, IMPORT.1, &|share| {
            format!("Modules were being imported in {least}{share} of samples.")
        }));
    }
    let has_imports = found.len() > n_without_imports;
    sort::by(&mut found, |a, b| b.share.unwrap_or(0.0).total_cmp(&a.share.unwrap_or(0.0)));
    let overlap = if has_imports { " Imports can overlap the other findings." } else { "" };
    let caption = format!("Percentages of all samples{}{of}.{overlap}", sampled(profile));
    worth_saying([Findings { caption, ..consumers_of_samples(found) }]).pop()
}
