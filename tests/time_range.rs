//! A time range chosen while reading: the result is what reaches into it, no matter when it was chosen.

use crate::support::{Random, data_dirs, files, finish_in_parts};
use std::path::PathBuf;
use tracedrop::analysis::{self, Query};
use tracedrop::base::strings::StringId;
use tracedrop::engine::{Session, Shown};
use tracedrop::import::Import;
use tracedrop::report::{Block, Report, Value};
use tracedrop::trace::builder::TimeRange;
use tracedrop::trace::cut::{Cut, is_of_window, profiles};
use tracedrop::trace::stack_profiles::{Amount, StackProfile, n_samples};
use tracedrop::trace::sums::Counts;
use tracedrop::trace::{Run, Trace};

fn inputs() -> Vec<PathBuf> {
    let folders = [("chrome", ""), ("chrome", "ours"), ("pytorch", "")];
    let folders = folders
        .into_iter()
        .flat_map(|(system, folder)| data_dirs(system).into_iter().map(move |dir| dir.join(folder)));
    let all = folders.filter(|dir| dir.is_dir()).flat_map(|dir| files(&dir, &[".json", ".gz"]));
    all.filter(|path| path.metadata().unwrap().len() < 2 << 20).collect()
}

/// Start, duration, name and kind of every slice, in order.
type Slices = Vec<(i64, i64, String, String)>;

fn slices(trace: &Trace, is: impl Fn(i64, i64) -> bool) -> Slices {
    let all = &trace.slices;
    let end = trace.span().map_or(0, |(_, end)| end);
    let mut slices: Slices = (0..all.len())
        .filter(|i| is(all.ts[*i], all.end(*i, end)))
        .map(|i| {
            let name = trace.strings.get(all.name[i]).to_string();
            (all.ts[i], all.dur.get(i), name, format!("{:?}", all.kind[i]))
        })
        .collect();
    slices.sort();
    slices
}

/// Name, start, duration and self time of every slice, in order.
fn self_times(trace: &Trace) -> Vec<(String, i64, i64, i64)> {
    let all = &trace.slices;
    let of_slice = |i: usize| {
        let name = trace.strings.get(all.name[i]).to_string();
        (name, all.ts[i], all.dur.get(i), all.self_ns.get(i))
    };
    let mut times: Vec<_> = (0..all.len()).map(of_slice).collect();
    times.sort();
    times
}

fn import(bytes: &[u8], begin: impl FnOnce(&mut Import)) -> Import {
    let mut import = Import::new("trace.json", bytes.len() as u64);
    begin(&mut import);
    import
}

/// Values at the start of the range that counters were set to before it, with the texts of their series, sorted.
fn held_values(trace: &Trace) -> Vec<String> {
    let table = &trace.counter_series;
    let text = |id| trace.strings.get_opt(id).unwrap_or("-");
    let of = |i: usize| {
        let names = [table.name[i], table.id[i], table.key[i]].map(text);
        Some(format!("{} {names:?}: {}", table.process[i].0, table.held(i)?))
    };
    let mut all: Vec<String> = (0..table.len()).filter_map(of).collect();
    all.sort();
    all
}

#[test]
fn what_is_held_is_what_reaches_into_it() {
    let (mut n_checked, mut n_folded) = (0, 0);
    for path in inputs() {
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).unwrap();
        let mut whole = import(&bytes, |_| {});
        whole.feed(&bytes);
        let Ok(whole) = whole.finish() else { continue };
        let Some((start, end)) = whole.span() else { continue };
        // A begin cut at the end of its parent is longer if the parent is dropped.
        if whole.ledger.count_of("misplaced-end") > 0 || whole.slices.len() < 20 {
            continue;
        }
        let length = end.saturating_sub(start);
        let (from, to) = (start + length / 10 * 3, start + length / 10 * 6);
        let expected = slices(&whole, |ts, end| is_of_window((from, to), ts, end));
        let n_left_out = whole.slices.len() - expected.len();
        let mut part = whole.clone();
        Cut { window: Some((from - start, to - start)), max_depth: None }.apply_to(&mut part);
        let check = |how: &str, trace: &Trace| {
            assert_eq!(slices(trace, |_, _| true), expected, "{name}, {how}");
            assert_eq!(self_times(trace), self_times(&part), "{name}, {how}");
            assert_eq!(trace.span(), whole.span(), "{name}, {how}");
            assert_eq!(trace.reported(), Some((from, to)), "{name}, {how}");
            assert!(trace.ledger.count_of("outside-range") >= n_left_out as u64, "{name}, {how}");
            assert_eq!(trace.ledger.n_records(), whole.ledger.n_records(), "{name}, {how}");
            assert!(trace.counters.ts.iter().all(|ts| (from..=to).contains(ts)), "{name}, {how}");
            assert_eq!(held_values(trace), held_values(&part), "{name}, {how}");
        };
        let on_clock = TimeRange::OnClock(from, to);
        let from_start = TimeRange::FromStart(from - start, to - start);

        let mut first = import(&bytes, |import| assert!(import.hold_only(from_start)));
        first.feed(&bytes);
        check("said first, from the start", &first.finish().unwrap());

        let mut first = import(&bytes, |import| assert!(import.hold_only(on_clock)));
        first.feed(&bytes);
        let held = first.finish().unwrap();
        check("said first", &held);

        // Thread by thread, with events aggregated.
        for range in [on_clock, from_start] {
            let mut folded = import(&bytes, |import| {
                import.hold_at_most(7);
                assert!(import.hold_only(range));
            });
            bytes.chunks(5000).for_each(|chunk| folded.feed(chunk));
            let folded = folded.finish().unwrap();
            let Some(sums) = &folded.aggregated else { continue };
            let counts = |counts: &Counts| {
                [counts.slices, counts.instants, counts.async_slices, counts.states, counts.unfinished]
            };
            assert_eq!(counts(&sums.counts), counts(&Counts::of(&held)), "{name}, folded, {range:?}");
            assert_eq!(folded.span(), held.span(), "{name}, folded, {range:?}");
            n_folded += 1;
        }

        let (head, rest) = bytes.split_at(bytes.len() / 2);
        let mut later = import(&bytes, |_| {});
        later.feed(head);
        assert!(later.hold_only(on_clock), "{name}");
        assert!(!later.hold_only(on_clock), "{name}: it can be said once");
        later.feed(rest);
        check("said in the middle", &later.finish().unwrap());

        let parted = import(&bytes, |import| assert!(import.hold_only(on_clock)));
        let max_stretch = bytes.len() as u64 / 5 + 1;
        check("in parts", &finish_in_parts(parted, &bytes, &mut Random(7), max_stretch).unwrap());
        n_checked += 1;
    }
    assert!(n_checked >= 10 && n_folded >= 10, "{n_checked}, {n_folded}");
}

/// Weights of all samples of a trace's profiles, by profile.
fn weights(trace: &Trace) -> Vec<Amount> {
    let of_profile = |profile: &StackProfile| {
        let weights = (0..profile.len()).filter_map(|row| profile.weight.get(row));
        weights.fold(Amount::ZERO, Amount::plus)
    };
    trace.stack_profiles.iter().map(of_profile).collect()
}

#[test]
fn stack_profiles_have_their_samples_in_the_range() {
    let (mut n_checked, mut n_without) = (0, 0);
    let all = data_dirs("stacks").into_iter().flat_map(|dir| files(&dir, &[""]));
    for path in all.filter(|path| path.metadata().unwrap().len() < 2 << 20) {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        let import = |range: Option<TimeRange>| {
            let mut import = Import::new(&file, bytes.len() as u64);
            range.map(|range| import.hold_only(range));
            bytes.chunks(5000).for_each(|chunk| import.feed(chunk));
            import.finish()
        };
        let Ok(whole) = import(None) else { continue };
        let Some((start, end)) = profiles::span(&whole) else {
            // Nothing says which samples are in the range, so all are kept.
            let part = import(Some(TimeRange::FromStart(0, 1))).unwrap();
            assert_eq!(weights(&part), weights(&whole), "{file}");
            assert!(part.part.is_none_or(|part| part.whole.is_none()), "{file}");
            n_without += 1;
            continue;
        };
        let n_samples = |trace: &Trace| n_samples(&trace.stack_profiles);
        let third = end.saturating_sub(start) / 3;
        let (from, to) = (start + third, start + 2 * third);
        let mut expected = whole.clone();
        Cut { window: Some((third, 2 * third)), max_depth: None }.apply_to(&mut expected);
        for range in [TimeRange::OnClock(from, to), TimeRange::FromStart(third, 2 * third)] {
            let part = import(Some(range)).unwrap();
            assert_eq!(part.stack_profiles, expected.stack_profiles, "{file}, {range:?}");
            assert_eq!((part.span(), part.reported()), (Some((start, end)), Some((from, to))), "{file}");
            let n_left_out = n_samples(&whole).saturating_sub(n_samples(&part)) as u64;
            assert_eq!(part.ledger.count_of("outside-range"), n_left_out, "{file}");
            assert_eq!(part.ledger.n_records(), whole.ledger.n_records(), "{file}");
            // In other pieces.
            let mut held = Import::new(&file, bytes.len() as u64);
            held.hold_only(range);
            let in_parts = finish_in_parts(held, &bytes, &mut Random(7), bytes.len() as u64 / 5 + 1).unwrap();
            assert_eq!(weights(&in_parts), weights(&part), "{file}, {range:?}, in parts");
            // A part of the part is on the same clock.
            let mut again = part.clone();
            Cut { window: Some((third, 2 * third)), max_depth: None }.apply_to(&mut again);
            assert_eq!(weights(&again), weights(&part), "{file}");
        }
        // What all parts weigh is what the whole weighs: samples that last are split where a part ends, others are in one.
        let is_lasting = |profile: &StackProfile| profile.unit == profile.time_unit;
        let has_all_times = |it: &StackProfile| (0..it.len()).all(|row| it.time.get(row).is_some());
        let is_whole_ns = |it: &StackProfile| {
            it.exponent_of_times(&whole.strings).is_some_and(|exponent| it.time.places() <= exponent)
        };
        let is_simple =
            whole.stack_profiles.iter().all(|it| !is_lasting(it) && is_whole_ns(it) && has_all_times(it));
        let parts = [(0, third), (third + 1, 2 * third), (2 * third + 1, i64::MAX)];
        if is_simple {
            let parts = parts.map(|(from, to)| import(Some(TimeRange::FromStart(from, to))).unwrap());
            let sums = (0..whole.stack_profiles.len())
                .map(|at| parts.iter().map(|part| weights(part)[at]).fold(Amount::ZERO, Amount::plus));
            assert_eq!(sums.collect::<Vec<_>>(), weights(&whole), "{file}");
        }
        n_checked += 1;
    }
    assert!(n_checked >= 20 && n_without >= 10, "{n_checked}, {n_without}");
}

/// `perf script` has two weights of each sample, a period and one: these are four samples, at 0, 1, 2 and 5 ms.
#[test]
fn a_sample_with_two_weights_is_left_out_once() {
    let sample = |thread: u64, ms: u64| {
        format!(
            "app 7/{thread} [002] 10.00{ms}000: 250000 cpu-clock:u: \n\t55d0a1 leaf+0x10 (/srv/app)\n\t55d0b1 main+0x20 (/srv/app)\n\n"
        )
    };
    let text = [sample(8, 0), sample(8, 1), sample(9, 2), sample(9, 5)].concat();
    for ((from, to), n_left_out) in [((2, 4), 3), ((0, 4), 1), ((0, 5), 0)] {
        let mut import = Import::new("perf.txt", text.len() as u64);
        import.hold_only(TimeRange::FromStart(from * 1_000_000, to * 1_000_000));
        import.feed(text.as_bytes());
        let part = import.finish().unwrap();
        assert_eq!(part.ledger.count_of("outside-range"), n_left_out, "{from} to {to}");
    }
}

/// All columns of the forward passes of a trace that reach into a range of nanoseconds.
fn calls(trace: &Trace, range: (i64, i64)) -> Vec<String> {
    let all = &trace.scoring_calls;
    let text = |id: StringId| trace.strings.get_opt(id).map(str::to_string);
    let is_in = |row: &usize| all.span_of(*row).is_some_and(|(start, end)| is_of_window(range, start, end));
    let call = |row: usize| {
        let texts = [all.probe[row], all.view_id[row], all.prompt_hash[row], all.op[row]].map(text);
        let numbers = (all.ts[row], all.wall_ms[row], all.top_k[row], all.wide_top_k(row).map(text));
        format!("{texts:?} {:?} {numbers:?} {} {}", all.probe_kind[row], all.hit[row], all.offset[row])
    };
    (0..all.len()).filter(is_in).map(call).collect()
}

#[test]
fn forward_passes_in_a_range_are_those_that_reach_into_it() {
    const ALL: (i64, i64) = (i64::MIN, i64::MAX);
    let (mut n_checked, mut n_without) = (0, 0);
    for path in data_dirs("sway").into_iter().flat_map(|dir| files(&dir, &[".jsonl", ".jsonl.gz"])) {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = std::fs::read(&path).unwrap();
        if bytes.len() > 4 << 20 {
            continue;
        }
        let mut whole = Import::new(&file, bytes.len() as u64);
        bytes.chunks(5000).for_each(|chunk| whole.feed(chunk));
        let Ok(whole) = whole.finish() else { continue };
        let Some((start, end)) = whole.span_beside_events() else {
            n_without += 1;
            continue;
        };
        let third = end.saturating_sub(start) / 3;
        let (from, to) = (start + third, start + 2 * third);
        let expected = calls(&whole, (from, to));
        let n_left_out = (whole.scoring_calls.len() - expected.len()) as u64;
        for range in [TimeRange::OnClock(from, to), TimeRange::FromStart(third, 2 * third)] {
            let held = || import(&bytes, |import| assert!(import.hold_only(range)));
            let mut pieces = held();
            bytes.chunks(777).for_each(|chunk| pieces.feed(chunk));
            let max_stretch = bytes.len() as u64 / 5 + 1;
            let in_parts = finish_in_parts(held(), &bytes, &mut Random(7), max_stretch);
            for part in [pieces.finish().unwrap(), in_parts.unwrap()] {
                assert_eq!(calls(&part, ALL), expected, "{file}, {range:?}");
                assert_eq!((part.span(), part.reported()), (Some((start, end)), Some((from, to))), "{file}");
                assert_eq!(part.ledger.count_of("outside-range"), n_left_out, "{file}");
                assert_eq!(part.ledger.n_records(), whole.ledger.n_records(), "{file}");
                let reports = analysis::reports(&Run::single(part), &Query::default());
                let report = reports.iter().find(|it| it.id == "sway-summary").unwrap();
                let facts = report.blocks.iter().find_map(|block| match block {
                    Block::Facts(facts) => Some(&facts.facts),
                    _ => None,
                });
                let fact = |id: &str| facts.unwrap().iter().find(|it| it.id == id).map(|it| it.value.plain());
                assert_eq!(fact("events"), Some(expected.len().to_string()), "{file}");
                assert!(fact("range").is_some(), "{file}");
            }
        }
        n_checked += 1;
    }
    assert!(n_checked >= 10, "{n_checked}, {n_without}");
}

#[test]
fn a_partial_report_tells_the_times() {
    let event = |i: u64| {
        format!(r#"{{"ph":"X","name":"op {}","ts":{},"dur":5,"pid":1,"tid":1}}"#, i % 7, 1000 + 10 * i)
    };
    let text = format!("[{}]", (0..9000).map(event).collect::<Vec<_>>().join(",\n"));
    let mut session = Session::new("trace.json", text.len() as u64, None, Query::default());
    session.feed(&text.as_bytes()[..text.len() / 2]);
    assert!(session.make_partial());
    let start = session.document().unwrap().range.start_ns.unwrap();
    assert_eq!(start, 1_000_000);
    assert!(session.hold_only(start, 100_000, 200_000));
    assert!(session.make_partial());
    let range = session.document().unwrap().range;
    assert_eq!((range.start_ns, range.chosen), (None, Some((100_000, 200_000))));
    session.feed(&text.as_bytes()[text.len() / 2..]);
    session.finish().unwrap();
    // From 100 µs to 200 µs: events 10 to 19; number 20 starts where it ends.
    assert_eq!(session.run().traces[0].slices.len(), 10);
    assert_eq!(session.document().unwrap().range.chosen, Some((100_000, 200_000)));
    assert!(!session.can_be_kept());
}

#[test]
fn what_has_no_events_is_held_whole() {
    for dir in data_dirs("mrm") {
        let Some(path) = files(&dir, &[".txt"]).into_iter().next() else { continue };
        let bytes = std::fs::read(path).unwrap();
        let mut held = import(&bytes, |import| {
            import.hold_only(TimeRange::FromStart(0, 1));
        });
        held.feed(&bytes);
        assert!(!held.can_hold_only() || held.snapshot().is_none());
        let mut whole = import(&bytes, |_| {});
        whole.feed(&bytes);
        assert_eq!(held.finish().unwrap().accesses.len(), whole.finish().unwrap().accesses.len());
    }
}

/// The reports on a range in nanoseconds from the start: chosen before reading as in the command, and while reading as on the page.
fn reports_on(text: &str, (from, to): (i64, i64)) -> [Vec<Report>; 2] {
    let make = |is_page: bool| {
        let mut session = Session::new("trace.json", text.len() as u64, None, Query::default());
        let (head, rest) = text.as_bytes().split_at(text.len() / 2);
        if is_page {
            session.feed(head);
            assert!(session.hold_only(0, from, to));
            session.feed(rest);
        } else {
            session.hold_only_from_start(from, to);
            session.feed(text.as_bytes());
        }
        session.finish().unwrap();
        analysis::reports(session.run(), &Query::default())
    };
    [make(false), make(true)]
}

/// A cell of a report's table in the first row whose first column is `row`.
fn cell(reports: &[Report], report: &str, table: &str, row: &str, column: &str) -> Value {
    let report = reports.iter().find(|known| known.id == report).unwrap();
    let table = report.tables().find(|known| known.id == table).unwrap();
    let name = table.column("name").unwrap();
    let row = (0..table.n_rows()).find(|at| name.cells.get(*at).plain() == row).unwrap();
    table.column(column).unwrap().cells.get(row)
}

fn says(reports: &[Report], words: &str) -> bool {
    let is_note = |block: &Block| matches!(block, Block::Note(note) if note.text.contains(words));
    reports.iter().any(|report| report.summary.contains(words) || report.blocks.iter().any(is_note))
}

#[test]
fn times_of_a_range_count_from_the_start_of_the_trace() {
    // Slice `n i` starts at i · 100 us and lasts 50 us.
    let event = |i: u64| format!(r#"{{"ph":"X","name":"n{i}","ts":{},"dur":50,"pid":1,"tid":1}}"#, i * 100);
    let text = format!("[{}]", (0..60).map(event).collect::<Vec<_>>().join(","));
    for reports in reports_on(&text, (3_000_000, 3_300_000)) {
        let start = |name: &str| cell(&reports, "longest", "thread_slices", name, "start");
        assert_eq!(start("n30"), Value::Integer(3_000_000));
        assert_eq!(start("n32"), Value::Integer(3_200_000));
        assert!(says(&reports, "in 300.0 µs (3.000 ms to 3.300 ms)"), "{}", reports[0].summary);
    }
}

#[test]
fn self_time_counts_in_the_range_only() {
    // `inner` is all that runs from 100 us to 200 us; its other run takes its time from `outer` outside of the range.
    let text = r#"[{"ph":"X","name":"outer","ts":0,"dur":1000,"pid":1,"tid":1},
        {"ph":"X","name":"inner","ts":100,"dur":200,"pid":1,"tid":1},
        {"ph":"X","name":"inner","ts":400,"dur":300,"pid":1,"tid":1},
        {"ph":"C","name":"held","ts":0,"pid":1,"args":{"v":1}},
        {"ph":"C","name":"held","ts":1000,"pid":1,"args":{"v":3}},
        {"ph":"C","name":"moved","ts":150,"pid":1,"args":{"v":2}},
        {"ph":"B","name":"open","ts":50,"pid":1,"tid":2}]"#;
    for reports in reports_on(text, (100_000, 200_000)) {
        let of = |name: &str, column: &str| cell(&reports, "slices", "slices", name, column);
        assert_eq!(of("outer", "total"), Value::Integer(1_000_000));
        assert_eq!(of("outer", "self"), Value::Integer(0));
        assert_eq!(of("inner", "total"), Value::Integer(200_000));
        assert_eq!(of("inner", "self"), Value::Integer(100_000));
        // Without an end, to the end of the whole trace.
        assert_eq!(of("open", "total"), Value::Integer(950_000));
        // Set before the range, to 1 all through it; and in its middle.
        let counter = |name: &str| {
            ["points", "first", "min", "max", "mean"]
                .map(|column| cell(&reports, "counters", "counters", name, column))
        };
        assert_eq!(counter("held")[0], Value::Integer(0));
        assert!(
            counter("held")[1..].iter().all(|value| *value == Value::Float(1.0)),
            "{:?}",
            counter("held")
        );
        assert_eq!(counter("moved")[0], Value::Integer(1));
        assert!(
            counter("moved")[1..].iter().all(|value| *value == Value::Float(2.0)),
            "{:?}",
            counter("moved")
        );
        // Only the time in the range is busy: thread 1 all of it, thread 2 too.
        let tracks = reports.iter().flat_map(Report::tables).find(|known| known.id == "threads").unwrap();
        let busy = tracks.column("busy").unwrap();
        assert_eq!([0, 1].map(|at| busy.cells.get(at).plain()), ["100000", "100000"]);
    }
}

#[test]
fn a_range_beyond_the_trace_is_not_an_empty_trace() {
    let text = r#"[{"ph":"X","name":"a","ts":0,"dur":2000,"pid":1,"tid":1},{"ph":"X","name":"b","ts":5,"dur":7,"pid":1,"tid":1}]"#;
    for reports in reports_on(text, (5_000_000_000, 6_000_000_000)) {
        assert!(says(&reports, "No events in the chosen time range; the trace is from 0 to 2.000 ms."));
        assert!(!says(&reports, "empty"));
    }
}
