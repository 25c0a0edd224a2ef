//! A time range chosen while reading: the result is what touches it, no matter when it was chosen.

mod support;

use std::path::PathBuf;
use support::{Random, data_dirs, files, finish_in_parts};
use tracedrop::analysis::Query;
use tracedrop::engine::{Session, Shown};
use tracedrop::import::Import;
use tracedrop::trace::Trace;
use tracedrop::trace::builder::TimeRange;
use tracedrop::trace::sums::Counts;

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

fn import(bytes: &[u8], begin: impl FnOnce(&mut Import)) -> Import {
    let mut import = Import::new("trace.json", bytes.len() as u64);
    begin(&mut import);
    import
}

#[test]
fn what_is_held_is_what_touches_it() {
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
        let expected = slices(&whole, |ts, end| ts <= to && end >= from);
        let n_left_out = whole.slices.len() - expected.len();
        let check = |how: &str, trace: &Trace| {
            assert_eq!(slices(trace, |_, _| true), expected, "{name}, {how}");
            assert!(trace.ledger.count_of("outside-range") >= n_left_out as u64, "{name}, {how}");
            assert_eq!(trace.ledger.n_records(), whole.ledger.n_records(), "{name}, {how}");
            assert!(trace.counters.ts.iter().all(|ts| (from..=to).contains(ts)), "{name}, {how}");
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
    // From 100 µs to 200 µs: events 10 to 20; the one that ends at the start does not count.
    assert_eq!(session.run().traces[0].slices.len(), 11);
    assert_eq!(session.document().unwrap().range.chosen, Some((100_000, 200_000)));
    assert!(!session.can_be_kept());
}

#[test]
fn what_has_no_events_is_held_whole() {
    for dir in data_dirs("sway") {
        let Some(path) = files(&dir, &[".jsonl"]).into_iter().next() else { continue };
        let bytes = std::fs::read(path).unwrap();
        let mut held = import(&bytes, |import| {
            import.hold_only(TimeRange::FromStart(0, 1));
        });
        held.feed(&bytes);
        assert!(!held.can_hold_only() || held.snapshot().is_none());
        let mut whole = import(&bytes, |_| {});
        whole.feed(&bytes);
        assert_eq!(held.finish().unwrap().scoring_calls.len(), whole.finish().unwrap().scoring_calls.len());
    }
}
