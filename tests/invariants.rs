//! Invariants of slices in every trace file, also with some bytes changed.
//!
//! - The self time of a slice is at most its duration.
//! - Self times of a thread add up to the time in which anything is open on it.
//! - A slice is entirely inside its parent, and no shorter slice of its thread contains it.
//! - Sums by name and by thread are the same time, counted in two ways.

use crate::support::{Random, all_files, changed, data_dirs, files, import, own_dir};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tracedrop::import::{FormatInfo, chrome_trace};
use tracedrop::trace::Trace;
use tracedrop::trace::builder::Ways;
use tracedrop::trace::slices::{Class, SliceKind, UNFINISHED};
use tracedrop::trace::sums::{Counts, SumsByName};
use tracedrop::trace::tracks::TrackKind;

const CHROME: Option<&FormatInfo> = Some(&chrome_trace::INFO);

/// Larger files are read once and not changed.
const MAX_CHANGED_BYTES: usize = 200_000;
/// Number of changed variants of each other file.
const N_CHANGED: u64 = 12;
/// Threads with more slices are not compared with the brute-force search for parents.
const MAX_SEARCHED: usize = 1500;

/// Slices by thread, including overflow lanes.
fn slices_by_thread(trace: &Trace) -> BTreeMap<u32, Vec<usize>> {
    let mut threads: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for slice in 0..trace.slices.len() {
        let track = trace.slices.track[slice].0 as usize;
        let is_of_thread = matches!(trace.tracks.kind[track], TrackKind::Thread | TrackKind::ThreadOverflow);
        if let Some(thread) = trace.tracks.thread[track].filter(|_| is_of_thread) {
            threads.entry(thread.0).or_default().push(slice);
        }
    }
    threads
}

fn check(what: &str, trace: &Trace) {
    let end_of_trace = trace.span().map_or(0, |(_, end)| end);
    let slices = &trace.slices;
    let length = |slice: usize| slices.length(slice, end_of_trace);
    for slice in 0..slices.len() {
        let own = slices.self_ns.get(slice);
        assert!(
            (0..=length(slice)).contains(&own),
            "{what}: slice {slice} has {own} to itself of {}",
            length(slice)
        );
    }
    let counts = Counts::of(trace);
    for (thread, of_thread) in slices_by_thread(trace) {
        let (mut busy, mut until, mut own) = (0i128, i128::MIN, 0i128);
        for slice in &of_thread {
            let start = i128::from(slices.ts[*slice]);
            let end = start + i128::from(length(*slice));
            busy += (end - start.max(until)).max(0);
            until = until.max(end);
            own += i128::from(slices.self_ns.get(*slice));
        }
        // Sums saturate.
        if busy <= i128::from(i64::MAX) {
            assert_eq!(own, busy, "{what}: self times of thread {thread}");
            let counted = counts.threads[thread as usize].busy_ns;
            assert_eq!(i128::from(counted), busy, "{what}: busy time of thread {thread}");
        }
    }
    let mut sums = SumsByName::default();
    sums.add(trace, i64::MAX, |_, _, _| {});
    // Wrappers that summarize others are a class of their own.
    let is_summed = |class: Class| matches!(class, Class::Thread | Class::Async | Class::Summary);
    let of_class = |slice: &usize| is_summed(Class::of(slices.kind[*slice]));
    let by_slice: i128 =
        (0..slices.len()).filter(of_class).map(|slice| i128::from(slices.self_ns.get(slice))).sum();
    let rows = sums.rows.iter().filter(|row| is_summed(row.key.2));
    let by_name: i128 = rows.map(|row| i128::from(row.all.self_ns)).sum();
    if by_slice <= i128::from(i64::MAX) {
        assert_eq!(by_name, by_slice, "{what}: self times by name");
    }
}

/// Compares parents with those found by checking every slice of the thread.
fn check_parents(what: &str, trace: &Trace) {
    let slices = &trace.slices;
    let known = |slice: usize| slices.dur.get(slice) != UNFINISHED;
    let end = |slice: usize| match slices.dur.get(slice) {
        UNFINISHED => i64::MAX,
        dur => slices.ts[slice].saturating_add(dur),
    };
    let length = |slice: usize| if known(slice) { slices.dur.get(slice) } else { i64::MAX };
    for (thread, of_thread) in slices_by_thread(trace) {
        if of_thread.len() > MAX_SEARCHED {
            continue;
        }
        for (at, slice) in of_thread.iter().copied().enumerate().filter(|(_, slice)| known(*slice)) {
            let ts = slices.ts[slice];
            let shortest = of_thread[..at]
                .iter()
                .copied()
                .filter(|around| end(*around) >= end(slice) && end(*around) > ts)
                .map(length)
                .min();
            let parent = slices.parent[slice].some().map(|parent| parent.0 as usize);
            // Zero-length slices nest in file order with what is open at that time, and the duration of a slice without an end
            // is unknown.
            let is_begin = |parent: usize| slices.kind[parent] == SliceKind::BeginEnd;
            let touches = |parent: usize| slices.dur.get(slice) == 0 && end(parent) == ts && is_begin(parent);
            let is_loose = |parent: usize| length(parent) == 0 || !known(parent) || touches(parent);
            if slices.dur.get(slice) > 0 || shortest.is_none() == parent.is_none() {
                assert!(
                    parent.map(length) == shortest || parent.is_some_and(is_loose),
                    "{what}: slice {slice} of thread {thread} is in {parent:?}, the shortest around it lasts {shortest:?}"
                );
            }
        }
    }
}

fn traces() -> Vec<PathBuf> {
    let mut all = all_files(&own_dir("situations"), &[".json"]);
    for system in ["chrome", "pytorch", "sway"] {
        for dir in data_dirs(system) {
            all.extend(files(&dir, &[".json", ".jsonl", ".gz"]));
        }
    }
    all
}

#[test]
fn self_times_add_up_in_every_file() {
    for path in traces() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let Ok(trace) = import(name, &std::fs::read(&path).unwrap(), None) else { continue };
        check(name, &trace);
        // In profiles with rounded times a slice may outlast its parent.
        if ways_of(&trace) == Ways::Format {
            check_parents(name, &trace);
        }
    }
}

fn ways_of(trace: &Trace) -> Ways {
    let is_kineto = |(name, _): &(String, String)| {
        [
            "schemaVersion",
            "deviceProperties",
            "distributedInfo",
            "record_shapes",
            "trace_id",
            "baseTimeNanoseconds",
        ]
        .iter()
        .any(|own| name.contains(own))
    };
    if trace.source.metadata.iter().any(is_kineto) || trace.source.producer.is_some() {
        Ways::Kineto
    } else {
        Ways::Format
    }
}

#[test]
fn self_times_add_up_in_changed_files() {
    let mut random = Random(25);
    for path in traces() {
        let bytes = std::fs::read(&path).unwrap();
        if bytes.is_empty()
            || bytes.len() > MAX_CHANGED_BYTES
            || path.extension().is_none_or(|end| end == "gz")
        {
            continue;
        }
        for turn in 0..N_CHANGED {
            let bytes = changed(&bytes, &mut random);
            let what = format!("{}, turn {turn}", path.display());
            if let Ok(trace) = import("changed.json", &bytes, None) {
                check(&what, &trace);
                if ways_of(&trace) == Ways::Format {
                    check_parents(&what, &trace);
                }
            }
        }
    }
}

/// Random slices of one thread, many of them overlapping.
fn overlapping(n: u64, spread: u64, random: &mut Random) -> String {
    let events: Vec<String> = (0..n)
        .map(|i| {
            let longest = 1 + spread / (1 + random.below(20));
            let (ts, dur) = (random.below(spread), random.below(longest));
            let tid = random.below(2);
            match random.below(4) {
                0 => format!(r#"{{"ph":"B","name":"n{}","ts":{ts},"pid":1,"tid":{tid}}}"#, i % 5),
                1 => format!(r#"{{"ph":"E","name":"n{}","ts":{ts},"pid":1,"tid":{tid}}}"#, i % 5),
                _ => format!(r#"{{"ph":"X","name":"n{}","ts":{ts},"dur":{dur},"pid":1,"tid":{tid}}}"#, i % 5),
            }
        })
        .collect();
    format!("[{}]", events.join(","))
}

#[test]
fn self_times_add_up_where_everything_overlaps() {
    let mut random = Random(6);
    for turn in 0..200 {
        let (n, spread) = (2 + random.below(120), 1 + random.below(200));
        let text = overlapping(n, spread, &mut random);
        let trace = import("overlapping.json", text.as_bytes(), CHROME).unwrap();
        check(&format!("turn {turn}"), &trace);
        check_parents(&format!("turn {turn}: {text}"), &trace);
    }
}

/// A thread in which everything overlaps takes no quadratic time: a few seconds even in a debug build.
#[test]
fn many_overlapping_slices_are_nested_in_little_time() {
    let n = 300_000;
    // Start and duration of the slice of a number.
    type Shape = fn(u64) -> (u64, u64);
    let shapes: [(&str, Shape); 3] = [
        ("each is longer", |i| (i, 1_000_000 + 3 * i)),
        ("staggered", |i| (10 * i, 25)),
        ("nested beside one that sticks out", |i| (10 * i, if i == 0 { 15 } else { 9 })),
    ];
    for (what, shape) in shapes {
        let events: Vec<String> = (0..n)
            .map(|i| {
                let (ts, dur) = shape(i);
                format!(r#"{{"ph":"X","name":"a","ts":{ts},"dur":{dur},"pid":1,"tid":1}}"#)
            })
            .collect();
        let start = std::time::Instant::now();
        let trace = import("many.json", format!("[{}]", events.join(",")).as_bytes(), CHROME).unwrap();
        assert_eq!(trace.slices.len(), n as usize, "{what}");
        check(what, &trace);
        assert!(start.elapsed().as_secs() < 60, "{what}: {:?}", start.elapsed());
    }
}
