//! Stack profiles over time: what is drawn at a sample is its stack, and sums equal the tables.

use crate::support::{data_dirs, files, import};
use std::collections::{BTreeMap, BTreeSet};
use tracedrop::analysis::{self, Query};
use tracedrop::timeline::answers::{At, LoadSort, RowName, TimelineAnswer, TimelineAsk, TrackSort};
use tracedrop::timeline::load::load_of;
use tracedrop::timeline::{Timeline, of_run};
use tracedrop::trace::labels::shown;
use tracedrop::trace::samples::StackId;
use tracedrop::trace::stack_profiles::StackProfile;
use tracedrop::trace::{Run, Trace};

/// Stack profiles of all formats, with their names.
fn profiles() -> Vec<(String, Trace)> {
    let dirs = data_dirs("stacks").into_iter().chain(data_dirs("pysampling"));
    let paths = dirs.flat_map(|dir| files(&dir, &[""]));
    let small = paths.filter(|path| path.metadata().is_ok_and(|data| data.len() < 1_200_000));
    let read = small.filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_string();
        let trace = import(&name, &std::fs::read(&path).ok()?, None).ok()?;
        (!trace.stack_profiles.is_empty()).then_some((name, trace))
    });
    read.collect()
}

/// Samples of a thread: time in nanoseconds, functions from the outermost one, and whether it lasts any time.
type Samples<'a> = Vec<(i64, Vec<&'a str>, bool)>;

fn functions(trace: &Trace, mut stack: StackId) -> Vec<&str> {
    let mut names = Vec::new();
    while stack != StackId::NONE {
        let frame = trace.frames.get(trace.stacks.frame[stack.0 as usize]);
        names.push(shown(trace.strings.get_opt(frame.name)));
        stack = trace.stacks.parent[stack.0 as usize];
    }
    names.reverse();
    names
}

/// Samples with times of each thread and event, by a plain look at the numbers of the file.
fn plain(trace: &Trace) -> Vec<Samples<'_>> {
    let mut threads: BTreeMap<[u32; 5], Samples<'_>> = BTreeMap::new();
    for profile in &trace.stack_profiles {
        let text = |id| trace.strings.get_opt(id).unwrap_or("");
        let places = match text(profile.time_unit) {
            "seconds" => 9,
            "milliseconds" => 6,
            "microseconds" => 3,
            "nanoseconds" => 0,
            _ => continue,
        };
        let is_of_time = text(profile.unit) == "samples" || profile.unit == profile.time_unit;
        if !is_of_time || text(profile.measure) == "period" {
            continue;
        }
        let StackProfile { event, process_id, thread_id, thread, name, .. } = profile;
        let key = [*event, *process_id, *thread_id, *thread, *name].map(|id| id.0);
        for (row, stack) in profile.stack.iter().enumerate() {
            let time = profile.time.get(row).and_then(|time| i64::try_from(time.at(places)?).ok());
            if let Some(time) = time {
                let weight = profile.weight.get(row).map_or(0.0, |weight| weight.to_f64());
                let lasts = profile.unit != profile.time_unit || weight > 0.0;
                threads.entry(key).or_default().push((time, functions(trace, *stack), lasts));
            }
        }
    }
    let mut threads: Vec<Samples<'_>> = threads.into_values().collect();
    threads.iter_mut().for_each(|samples| samples.sort_by_key(|sample| sample.0));
    threads
}

/// Names of the boxes of a track at a time, from the top.
fn names_at(run: &Run, timeline: &Timeline, track: u32, ns: u64) -> Vec<String> {
    let n_rows = timeline.tracks[track as usize].view.n_rows;
    let name = |row| {
        let ask = TimelineAsk::At { row: RowName { track, row }, ns, around_ns: 1 };
        match timeline.answer(run, &ask) {
            TimelineAnswer::At(Some(At { name, .. })) => Some(name),
            TimelineAnswer::At(None) => None,
            _ => panic!(),
        }
    };
    (0..n_rows).map_while(name).collect()
}

#[test]
fn what_is_drawn_at_a_sample_is_its_stack() {
    let mut formats = BTreeSet::new();
    let mut n_checked = 0;
    for (name, trace) in profiles() {
        let run = Run::single(trace);
        let trace = &run.traces[0];
        let mut threads: Vec<Samples<'_>> = plain(trace).into_iter().filter(|it| !it.is_empty()).collect();
        // Those that any track could have come last.
        threads.sort_by_key(|samples| std::cmp::Reverse(samples.len()));
        let timeline = of_run(&run).filter(|timeline| !timeline.tracks.is_empty());
        assert_eq!(trace.has_times(), !threads.is_empty(), "{name}");
        let Some(timeline) = timeline else {
            let has_stacks = threads.iter().flatten().any(|sample| !sample.1.is_empty());
            assert!(!has_stacks, "{name}: no timeline");
            continue;
        };
        assert!(timeline.tracks.iter().all(|track| track.view.sort == TrackSort::Stacks), "{name}");
        assert_eq!(timeline.tracks.len(), threads.len(), "{name}");
        formats.insert(trace.source.format);
        let mut free: BTreeSet<u32> = (0..timeline.tracks.len() as u32).collect();
        for samples in &threads {
            let origin = timeline.starts[0];
            // Samples at one time are on top of each other, and the last one of a profile may last no time.
            let is_alone = |at: &usize| {
                let differs = |other: Option<usize>| {
                    other.and_then(|it| samples.get(it)).map(|it| it.0) != Some(samples[*at].0)
                };
                differs(at.checked_sub(1)) && differs(Some(at + 1)) && at + 1 < samples.len()
            };
            let seen = (0..samples.len()).filter(is_alone).map(|at| &samples[at]);
            let seen: Vec<_> = seen.filter(|sample| sample.2).step_by(1 + samples.len() / 300).collect();
            let is_track = |track: &u32| {
                seen.iter().all(|(ns, stack, _)| {
                    let drawn = names_at(&run, &timeline, *track, ns.wrapping_sub(origin) as u64);
                    drawn.iter().map(String::as_str).eq(stack.iter().copied())
                })
            };
            let track = free.iter().copied().find(is_track);
            let track =
                track.unwrap_or_else(|| panic!("{name}: no track has these {} samples", samples.len()));
            free.remove(&track);
            n_checked += seen.len();
        }
    }
    assert!(formats.len() >= 5, "{formats:?}");
    assert!(n_checked > 2_000, "{n_checked}");
}

/// Where weights are times, what a stretch of all of the time says is what the tables say.
#[test]
fn self_times_equal_the_tables() {
    let mut n = 0;
    for (name, trace) in profiles() {
        let lasts = |it: &StackProfile| {
            let weights = || (0..it.len()).filter_map(|row| it.weight.get(row));
            it.unit == it.time_unit && weights().all(|weight| !weight.is_negative())
        };
        if !trace.stack_profiles.iter().all(lasts) {
            continue;
        }
        let run = Run::single(trace);
        let Some(timeline) = of_run(&run) else { continue };
        let ask = TimelineAsk::Stretch { from_ns: 0, to_ns: timeline.span_ns };
        let TimelineAnswer::Stretch(stretch) = timeline.answer(&run, &ask) else { panic!() };
        let drawn: BTreeMap<String, u64> =
            stretch.names.iter().map(|sums| (sums.name.clone(), sums.self_ns)).collect();
        let reports = analysis::reports(&run, &Query::default());
        let tables = reports.iter().filter(|report| report.id == "stack-functions");
        let table = tables.flat_map(|report| report.tables()).find(|table| table.id == "functions").unwrap();
        let mut wanted: BTreeMap<String, f64> = BTreeMap::new();
        for row in 0..table.n_rows() {
            let text = |id: &str| table.column(id).unwrap().cells.get(row).plain();
            *wanted.entry(shown(Some(&text("function"))).to_string()).or_default() +=
                text("self").parse::<f64>().unwrap();
        }
        // Times are rounded to nanoseconds.
        let most = run.traces[0].stack_profiles.iter().map(StackProfile::len).sum::<usize>() as f64;
        // 292 years are all that 64 bits have.
        for (function, own) in wanted.iter().filter(|(_, own)| **own < 9e15) {
            // Only the first names are listed.
            let Some(found) = drawn.get(function).copied().or((stretch.n_more == 0).then_some(0)) else {
                continue;
            };
            let found = found as f64;
            assert!((found - own).abs() <= most, "{name}: {function}: {found}, not {own}");
            n += 1;
        }
        assert!(drawn.keys().all(|function| wanted.contains_key(function)), "{name}");
    }
    assert!(n > 100, "{n}");
}

/// A profile of the Gecko profiler of one thread: times in milliseconds, and stacks by number of functions, `a` called by `b`.
fn gecko(samples: &[(f64, &str)]) -> Vec<u8> {
    let names = ["a", "b", "c"];
    let mut rows: Vec<(Option<usize>, usize)> = Vec::new();
    let mut of = |stack: &str| {
        stack.chars().fold(None, |below, letter| {
            let frame = names.iter().position(|name| name.starts_with(letter)).unwrap();
            rows.push((below, frame));
            Some(rows.len() - 1)
        })
    };
    let data: Vec<String> = samples
        .iter()
        .map(|(ms, stack)| {
            let stack = of(stack).map_or("null".to_string(), |row| row.to_string());
            format!("[{stack},{ms},0]")
        })
        .collect();
    let stacks: Vec<String> = rows
        .iter()
        .map(|(below, frame)| {
            format!("[{},{frame}]", below.map_or("null".to_string(), |row| row.to_string()))
        })
        .collect();
    format!(
        r#"{{"meta":{{"version":24,"interval":1,"startTime":0,"processType":0,"stackwalk":1}},"libs":[],"threads":[{{"name":"main","tid":7,"pid":3,
        "samples":{{"schema":{{"stack":0,"time":1,"eventDelay":2}},"data":[{}]}},
        "stackTable":{{"schema":{{"prefix":0,"frame":1}},"data":[{}]}},
        "frameTable":{{"schema":{{"location":0}},"data":[[0],[1],[2]]}},"stringTable":["a","b","c"],"markers":{{"schema":{{"name":0}},"data":[]}}}}]}}"#,
        data.join(","),
        stacks.join(",")
    )
    .into_bytes()
}

/// Pauses are gaps, a missing stack ends all calls, and consecutive samples are one box.
#[test]
fn calls_last_while_samples_have_them() {
    let samples =
        [(1.0, "a"), (2.0, "ab"), (3.0, "ab"), (4.0, "abc"), (5.0, "a"), (6.0, ""), (7.0, "a"), (30.0, "c")];
    let run = Run::single(import("made", &gecko(&samples), None).unwrap());
    let timeline = of_run(&run).unwrap();
    let [track] = &timeline.tracks[..] else { panic!() };
    assert_eq!((track.view.title.as_str(), track.view.n_rows), ("main (thread 7, process 3)", 3));
    let part = &timeline.parts[0];
    let boxes = part.own.as_ref().unwrap();
    let ms = |ns: i64| ns as f64 / 1e6;
    let name = |id: usize| run.traces[0].strings.get(boxes.name[id]);
    let found: Vec<_> = (0..boxes.start.len())
        .map(|id| (name(id), boxes.depth[id], ms(boxes.start[id]), ms(boxes.length[id])))
        .collect();
    let wanted = [
        ("a", 0, 1.0, 5.0),
        ("b", 1, 2.0, 3.0),
        ("c", 2, 4.0, 1.0),
        // A pause: the sample lasts an interval.
        ("a", 0, 7.0, 1.0),
        ("c", 0, 30.0, 1.0),
    ];
    assert_eq!(found, wanted);
    // `b` without `c`.
    let ask = TimelineAsk::Stretch { from_ns: 0, to_ns: timeline.span_ns };
    let TimelineAnswer::Stretch(stretch) = timeline.answer(&run, &ask) else { panic!() };
    let own = |name: &str| stretch.names.iter().find(|sums| sums.name == name).unwrap().self_ns;
    assert_eq!((own("a"), own("b"), own("c")), (3_000_000, 2_000_000, 2_000_000));
    // Both calls of `a`: 5 ms and 1 ms.
    let ask = TimelineAsk::Named { text: "\"a\"".to_string() };
    let TimelineAnswer::Named(Some(named)) = timeline.answer(&run, &ask) else { panic!() };
    assert_eq!((named.n, named.total_ns), (2, 6_000_000));
    let load = load_of(&run).unwrap();
    assert_eq!((load.sort, load.span_ns), (LoadSort::Thread, 30_000_000));
}
