//! The timeline: what is drawn equals a plain painter that looks at every box.

mod memory;
mod sampled;
mod so_far;

use crate::support;
use crate::support::{Random, data_dirs, files, import, own_dir};
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use tracedrop::analysis::gpu_idle::in_range::DeviceIdle;
use tracedrop::analysis::{ANALYSES, AnalysisCache, Context, Query, gpu_place, timeline_groups};
use tracedrop::base::steps;
use tracedrop::timeline::answers::{
    BoxName, COUNTER, ColorBy, Found, LIT, N_COLORS, Picture, Place, RowName, TimelineAnswer, TimelineAsk,
};
use tracedrop::timeline::colors::Groups;
use tracedrop::timeline::load::load_of;
use tracedrop::timeline::tracks::Content;
use tracedrop::timeline::{
    BoxTable, Pixel, RowLine, SliceBoxes, Timeline, TimelineIndex, Viewport, Window, of_run, read_all_boxes,
    read_by_groups,
};
use tracedrop::trace::labels::shown;
use tracedrop::trace::tracks::{TrackId, TrackKind};
use tracedrop::trace::{Run, Trace};

/// All traces with slices below 3 MB.
fn traces() -> Vec<(PathBuf, Trace)> {
    let mut dirs = data_dirs("chrome");
    dirs.extend(data_dirs("pytorch"));
    dirs.push(own_dir("situations"));
    let paths = dirs.iter().flat_map(|dir| files(dir, &[".json", ".json.gz"]));
    let small = paths.filter(|path| path.metadata().is_ok_and(|data| data.len() < 3_000_000));
    let traces: Vec<(PathBuf, Trace)> = small
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?;
            let trace = import(name, &std::fs::read(&path).ok()?, None).ok()?;
            (!trace.slices.is_empty()).then_some((path, trace))
        })
        .collect();
    assert!(traces.len() > 20, "{}", traces.len());
    traces
}

/// Every pixel of a row, by looking at every box of it.
fn plain(trace: &Trace, order: &[u32], origin: i64, window: &Window) -> Vec<Pixel> {
    let boxes = SliceBoxes::new(trace);
    let pixel = |at: u64| {
        let start = i128::from(at) << window.bits;
        let end = start + (1 << window.bits);
        let mut pixel = Pixel::NONE;
        let mut longest_ns = -1;
        for id in order {
            let from = i128::from(boxes.start(*id as usize)) - i128::from(origin);
            let length = boxes.length(*id as usize);
            let to = from + i128::from(length);
            let overlaps = from < end && to > start || length == 0 && (start..end).contains(&from);
            if !overlaps {
                continue;
            }
            pixel.count += 1;
            pixel.covered_ns += (to.min(end) - from.max(start)) as u64;
            if length > longest_ns {
                (pixel.longest, longest_ns) = (*id, length);
            }
        }
        pixel
    };
    (0..u64::from(window.n_pixels)).map(|i| pixel(window.first_pixel + i)).collect()
}

fn index_of(trace: &Trace) -> TimelineIndex {
    TimelineIndex::new(SliceBoxes::new(trace), trace.span().unwrap().0)
}

fn check_rows(name: &str, trace: &Trace, index: &TimelineIndex) {
    let boxes = SliceBoxes::new(trace);
    let mut seen = HashSet::new();
    assert!(index.rows.is_sorted());
    for (at, row) in index.rows.iter().enumerate() {
        let order: Vec<u32> = index.row(at).numbers.iter_from(0).collect();
        assert!(!order.is_empty() && order.is_sorted(), "{name}");
        for id in &order {
            assert!(seen.insert(*id));
            let (track, depth) = (trace.slices.track[*id as usize], trace.slices.depth.get(*id as usize));
            let is_beside = trace.tracks.kind[track.0 as usize] == TrackKind::ThreadOverflow;
            // Slices that overlap others of their thread are among those if some contain them.
            assert!(is_beside || track.0 == row.track, "{name}");
            assert_eq!(depth, row.depth, "{name}");
            assert_eq!(trace.tracks.place(track), trace.tracks.place(TrackId(row.track)), "{name}");
        }
        for pair in order.windows(2) {
            assert!(boxes.end(pair[0] as usize) <= boxes.start(pair[1] as usize), "{name}: no overlap");
        }
        let middle = order.len() / 2;
        assert_eq!(index.row_of(boxes, order[middle] as usize), at, "{name}");
        assert_eq!(index.position_of(at, order[middle] as usize), Some(middle), "{name}");
    }
    assert_eq!(seen.len(), trace.slices.len(), "{name}: every slice has a row");
}

fn check_window(name: &str, trace: &Trace, index: &TimelineIndex, at: usize, window: Window) {
    // 64 bits end somewhere.
    let n_pixels = u64::from(window.n_pixels).min((u64::MAX >> window.bits) - window.first_pixel);
    let window = &Window { n_pixels: n_pixels as u32, ..window };
    let row = index.row(at);
    let boxes = SliceBoxes::new(trace);
    let wanted = plain(trace, &row.numbers.iter_from(0).collect::<Vec<_>>(), index.origin, window);
    let mut lines: Vec<RowLine> = Vec::new();
    for read in [read_all_boxes::<SliceBoxes<'_>>, read_by_groups] {
        read(index, boxes, &[at], window, &mut lines);
        assert_eq!(lines[0].pixels, wanted, "{name}: row {at}, {window:?}");
    }
    // What is under the pointer is what is drawn.
    for (pixel, number) in wanted.iter().zip(window.first_pixel..).step_by(7) {
        let picked = row.pick(boxes, number << window.bits, window.pixel_ns());
        let drawn = (pixel.longest != Pixel::EMPTY).then_some((pixel.longest, pixel.count));
        assert_eq!(picked, drawn, "{name}: row {at}, pixel {number} of {window:?}");
    }
}

#[test]
fn every_trace_is_drawn_as_a_plain_painter_draws_it() {
    let mut random = Random(1);
    for (path, trace) in traces() {
        let name = path.file_name().unwrap().to_string_lossy();
        let index = index_of(&trace);
        check_rows(&name, &trace, &index);
        let (start, end) = trace.span().unwrap();
        let span = end.wrapping_sub(start) as u64;
        let span_bits = u64::BITS - span.leading_zeros();
        for _ in 0..60 {
            let at = random.below(index.rows.len() as u64) as usize;
            let bits = (random.below(u64::from(span_bits) + 2) as u32).min(62);
            let n_pixels = 1 + random.below(200) as u32;
            // Around a box, where there is something to see.
            let order: Vec<u32> = index.row(at).numbers.iter_from(0).collect();
            let near = trace.slices.ts[order[random.below(order.len() as u64) as usize] as usize]
                .wrapping_sub(index.origin) as u64;
            let first_pixel = (near >> bits).saturating_sub(random.below(u64::from(n_pixels)));
            check_window(&name, &trace, &index, at, Window { first_pixel, bits, n_pixels });
        }
    }
}

/// Rows of tracks, with the starts and lengths of their events.
type Events = Vec<(RowName, Vec<(u64, u64)>)>;

fn events_by_row(run: &Run, timeline: &Timeline) -> Events {
    let mut rows = Vec::new();
    for (track, number) in timeline.tracks.iter().zip(0..) {
        let Content::Rows { part, rows: of_track } = &track.content else { continue };
        let part = &timeline.parts[*part];
        for (row, at) in of_track.iter().zip(0..) {
            let of_box = |id: u32| {
                let (start, end) = part.span(&run.traces[part.trace], id as usize);
                (timeline.from_start(part, start), end.wrapping_sub(start) as u64)
            };
            let events = part.index.row(*row).numbers.iter_from(0).map(of_box).collect();
            rows.push((RowName { track: number, row: at }, events));
        }
    }
    rows
}

#[test]
fn boxes_of_a_picture_stand_for_every_event() {
    for (path, trace) in traces() {
        let name = path.file_name().unwrap().to_string_lossy();
        let run = Run::single(trace);
        let timeline = of_run(&run).unwrap();
        let rows = events_by_row(&run, &timeline);
        let names: Vec<RowName> = rows.iter().map(|(name, _)| *name).collect();
        for n_pixels in [15, 400] {
            let window = Window::around(0, timeline.span_ns, n_pixels, 0.0);
            let drawn = timeline.drawn(&run, window, &names);
            assert!(drawn.is_sorted_by_key(|it| (it.row, it.start_ns)), "{name}");
            assert!(drawn.len() <= names.len() * window.n_pixels as usize, "{name}");
            let pixels =
                |start: u64, dur: u64| start >> window.bits..=(start + dur.max(1) - 1) >> window.bits;
            let mut covered: HashSet<(usize, u64)> = HashSet::new();
            let mut exact: HashMap<(usize, u64, u64), usize> = HashMap::new();
            for it in &drawn {
                covered.extend(pixels(it.start_ns, it.dur_ns).map(|pixel| (it.row as usize, pixel)));
                if it.count == 1 {
                    *exact.entry((it.row as usize, it.start_ns, it.dur_ns)).or_default() += 1;
                }
            }
            for (at, (_, events)) in rows.iter().enumerate() {
                for (start, dur) in events {
                    let is_exact = exact.get(&(at, *start, *dur)) == Some(&1);
                    assert!(is_exact || *dur < 2 * window.pixel_ns(), "{name}: row {at}, {start} {dur}");
                    let first = *pixels(*start, *dur).start();
                    assert!(is_exact || covered.contains(&(at, first)), "{name}: row {at}, {start} {dur}");
                }
            }
        }
    }
}

/// What an answer says of a stretch, a name and a search equals a plain loop over the slices.
#[test]
fn answers_equal_a_plain_loop() {
    let mut random = Random(3);
    for (path, trace) in traces() {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let run = Run::single(trace);
        let timeline = of_run(&run).unwrap();
        if timeline.parts.len() > 1 {
            // Calls of sampled stacks count too.
            continue;
        }
        let trace = &run.traces[0];
        let (slices, boxes) = (&trace.slices, SliceBoxes::new(trace));
        let origin = timeline.starts[0];
        let from_start = |ns: i64| ns.wrapping_sub(origin) as u64;
        let name = |slice: usize| shown(trace.strings.get_opt(slices.name[slice])).to_string();
        let span = |slice: usize| (from_start(boxes.start(slice)), from_start(boxes.end(slice)));
        for _ in 0..12 {
            let (a, b) = (random.below(timeline.span_ns + 1), random.below(timeline.span_ns + 1));
            let (from, to) = (a.min(b), a.max(b));
            let is_in = |slice: usize| {
                let (start, end) = span(slice);
                start < to && (start >= from || end > from)
            };
            let within = |slice: usize| span(slice).1.min(to).saturating_sub(span(slice).0.max(from));
            let mut wanted: HashMap<String, (u64, u64, i64)> = HashMap::new();
            for slice in (0..slices.len()).filter(|slice| is_in(*slice)) {
                let sums = wanted.entry(name(slice)).or_default();
                sums.0 += 1;
                sums.1 += within(slice);
                sums.2 += within(slice) as i64;
                if let Some(parent) = slices.parent[slice].some() {
                    wanted.entry(name(parent.0 as usize)).or_default().2 -= within(slice) as i64;
                }
            }
            let ask = TimelineAsk::Stretch { from_ns: from, to_ns: to };
            let TimelineAnswer::Stretch(got) = timeline.answer(&run, &ask) else { panic!() };
            wanted.retain(|_, sums| sums.0 > 0);
            assert_eq!(got.n, wanted.values().map(|sums| sums.0).sum::<u64>(), "{file}: {from} to {to}");
            assert_eq!(got.names.len() as u64 + got.n_more, wanted.len() as u64, "{file}: {from} to {to}");
            assert!(got.names.is_sorted_by(|a, b| a.total_ns >= b.total_ns));
            for sums in &got.names {
                let (count, total, own) = wanted[&sums.name];
                let found = (sums.count, sums.total_ns, sums.self_ns);
                assert_eq!(
                    found,
                    (count, total, own.max(0) as u64),
                    "{file}: {} in {from} to {to}",
                    sums.name
                );
            }
        }
        let slice = random.below(slices.len() as u64) as usize;
        let same: Vec<usize> =
            (0..slices.len()).filter(|it| slices.name[*it] == slices.name[slice]).collect();
        let of = BoxName { part: 0, id: slice as u32 };
        let TimelineAnswer::Details(Some(details)) = timeline.answer(&run, &TimelineAsk::Details { of })
        else {
            panic!()
        };
        let length = boxes.length(slice);
        let n_longer = same.iter().filter(|it| boxes.length(**it) > length).count() as u64;
        assert_eq!(
            (details.same_name.count, details.same_name.n_longer),
            (same.len() as u64, n_longer),
            "{file}"
        );
        let children = (0..slices.len()).filter(|it| slices.parent[*it].0 as usize == slice).count();
        assert_eq!(details.n_children, children as u64, "{file}");
        let find = |text: &str| {
            let ask = TimelineAsk::Find { text: text.to_string(), from: None, is_back: false };
            match timeline.answer(&run, &ask) {
                TimelineAnswer::Found(found) => found,
                other => panic!("{other:?}"),
            }
        };
        let n_named = |is_it: &dyn Fn(&str) -> bool| {
            let own = |slice: &usize| trace.strings.get_opt(slices.name[*slice]).unwrap_or_default();
            (0..slices.len()).filter(|slice| is_it(own(slice))).count() as u64
        };
        let ends_in_digit = |name: &str| name.ends_with(|letter: char| letter.is_ascii_digit());
        assert_eq!(find("/[0-9]$/").n, n_named(&ends_in_digit), "{file}");
        assert!(!find("/(/").problem.is_empty());
        // All of that very name at once.
        // Those without a name have another one on the page.
        if !name(slice).contains('"') && trace.strings.get_opt(slices.name[slice]) == Some(&*name(slice)) {
            let text = format!("\"{}\"", name(slice));
            let TimelineAnswer::Named(Some(named)) =
                timeline.answer(&run, &TimelineAsk::Named { text: text.clone() })
            else {
                panic!("{file}: {text}")
            };
            let mut lengths: Vec<u64> = same.iter().map(|it| boxes.length(*it) as u64).collect();
            lengths.sort_unstable();
            assert_eq!(
                (named.n, named.total_ns),
                (lengths.len() as u64, lengths.iter().sum()),
                "{file}: {text}"
            );
            assert_eq!(
                (named.lengths.min_ns, named.lengths.max_ns),
                (lengths[0], lengths[lengths.len() - 1]),
                "{file}: {text}"
            );
            assert_eq!(named.lengths.bins.iter().sum::<u64>(), named.n, "{file}: {text}");
            let of_longest = named.longest.iter().map(|link| boxes.length(link.of.id as usize) as u64);
            assert!(of_longest.eq(lengths.iter().rev().take(5).copied()), "{file}: {text}");
            let has_parent = same.iter().filter(|it| slices.parent[**it].some().is_some()).count() as u64;
            if named.n_callers <= 5 {
                assert_eq!(named.callers.iter().map(|(_, n)| n).sum::<u64>(), has_parent, "{file}: {text}");
            }
        }
        // All that is found, step by step.
        let text: String = name(slice).chars().take(6).collect();
        let is_hit = |slice: &usize| {
            let own = trace.strings.get_opt(slices.name[*slice]).unwrap_or_default();
            own.to_lowercase().contains(&text.to_lowercase())
        };
        let hits: Vec<u32> = (0..slices.len()).filter(is_hit).map(|slice| slice as u32).collect();
        let mut at = None;
        for hit in hits.iter().take(20) {
            let ask = TimelineAsk::Find { text: text.clone(), from: at, is_back: false };
            let TimelineAnswer::Found(found) = timeline.answer(&run, &ask) else { panic!() };
            at = found.link.map(|link| link.of);
            assert_eq!((found.n, at.unwrap().id), (hits.len() as u64, *hit), "{file}: {text}");
        }
    }
}

/// PyTorch's steps start in the call that starts them, and end long after it: `step` and `enter` of the profiler are around the
/// start of `ProfilerStep` only. So it is below `run`, which contains it, and its own calls are below it, not below all others.
/// What nothing contains (`late`) is below everything.
#[test]
fn steps_that_overlap_the_call_that_starts_them_are_below_what_contains_them() {
    let events = [
        ("run", 0, 100),
        ("step", 10, 20),
        ("enter", 12, 16),
        ("ProfilerStep", 20, 70),
        ("forward", 40, 40),
        ("matmul", 50, 10),
        ("late", 85, 30),
        ("copy", 95, 10),
    ];
    let event = |(name, ts, dur): &(&str, u32, u32)| {
        format!(r#"{{"ph":"X","pid":1,"tid":1,"name":"{name}","ts":{ts},"dur":{dur}}}"#)
    };
    let text = format!("[{}]", events.iter().map(event).collect::<Vec<_>>().join(","));
    let run = Run::single(import("steps.json", text.as_bytes(), None).unwrap());
    let timeline = of_run(&run).unwrap();
    assert_eq!(timeline.tracks.len(), 1);
    let Content::Rows { part, rows } = &timeline.tracks[0].content else { panic!() };
    let (part, trace) = (&timeline.parts[*part], &run.traces[0]);
    let names = |row: &usize| {
        let ids = part.index.row(*row).numbers.iter_from(0);
        ids.map(|id| trace.strings.get(part.name(trace, id as usize))).collect::<Vec<_>>().join(" ")
    };
    let shown: Vec<String> = rows.iter().map(names).collect();
    assert_eq!(shown, ["run", "step", "ProfilerStep", "enter forward", "matmul", "late", "copy"]);
}

/// Two GPUs: one works all the time, the other half of it, in an annotation that lasts as long as the first one works.
#[test]
fn gpus_are_as_busy_as_their_kernels_and_the_strip_is_their_mean() {
    let events = [
        ("k", "kernel", 0, 100),
        ("step", "gpu_user_annotation", 1, 100),
        ("k", "kernel", 1, 50),
        ("f", "cpu_op", 2, 100),
    ];
    let event = |(name, category, pid, dur): &(&str, &str, u32, u32)| {
        format!(r#"{{"ph":"X","pid":{pid},"tid":7,"name":"{name}","cat":"{category}","ts":0,"dur":{dur}}}"#)
    };
    let text = format!("[{}]", events.iter().map(event).collect::<Vec<_>>().join(","));
    let run = Run::single(import("two.json", text.as_bytes(), None).unwrap());
    let timeline = of_run(&run).unwrap();
    let tracks: Vec<(bool, f64)> =
        timeline.tracks.iter().map(|it| (it.view.is_device, it.view.busy)).collect();
    assert_eq!(tracks, [(true, 1.0), (true, 0.5), (false, 1.0)]);
    // Without names they are called as in the reports, and a process without work is none.
    let groups: Vec<&str> = timeline.tracks.iter().map(|it| &*it.view.group).collect();
    assert_eq!(groups, ["GPU 0", "GPU 1", "Process 2"]);
    let ask = TimelineAsk::Stretch { from_ns: 0, to_ns: 100_000 };
    let TimelineAnswer::Stretch(range) = timeline.answer(&run, &ask) else { panic!() };
    let devices: Vec<&str> = range.devices.iter().map(|device| &*device.name).collect();
    assert_eq!(devices, ["GPU 0", "GPU 1"]);
    let shares = load_of(&run).unwrap().shares;
    let (first, second) = shares.split_at(shares.len() / 2);
    assert!(
        first.iter().all(|share| *share == 1.0) && second.iter().all(|share| *share == 0.5),
        "{shares:?}"
    );
}

/// Bursts of slices with gaps and lengths of all sizes, on one thread.
fn burst() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let burst = (0..40_u32, 0..36_u32, 1..200_usize);
    prop::collection::vec(burst, 1..12).prop_map(|bursts| {
        let mut boxes = Vec::new();
        for (gap_bits, length_bits, n) in bursts {
            for i in 0..n as u64 {
                let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                boxes.push((mixed >> 8 & ((1 << gap_bits) - 1), mixed >> 20 & ((1 << length_bits) - 1)));
            }
        }
        boxes
    })
}

/// A trace of slices on one thread; gaps before them, and lengths, in nanoseconds.
fn trace_of(boxes: &[(u64, u64)]) -> Trace {
    let mut at = 0;
    let mut text = String::from("[");
    for (gap, length) in boxes {
        at += gap;
        // Microseconds with three digits.
        let us = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
        text += &format!(r#"{{"ph":"X","pid":1,"tid":1,"name":"n","ts":{},"dur":{}}},"#, us(at), us(*length));
        at += length;
    }
    text.pop();
    text.push(']');
    import("made.json", text.as_bytes(), None).unwrap()
}

#[test]
fn more_slices_in_a_pixel_than_a_group_holds_are_all_drawn() {
    let mut boxes: Vec<(u64, u64)> = (0..140_000).map(|i| (1 + i % 3, 2 + i % 5)).collect();
    // They end in the middle of a pixel, and the last one reaches far beyond.
    boxes.extend([(3, 20_000_000_000), (1, 7)]);
    let trace = trace_of(&boxes);
    let index = index_of(&trace);
    for (bits, first_pixel, n_pixels) in [(18, 0, 12), (20, 0, 4), (30, 0, 30), (34, 1, 3), (12, 150, 9)] {
        check_window("made", &trace, &index, 0, Window { first_pixel, bits, n_pixels });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn groups_are_what_their_boxes_are(boxes in burst(), bits in 0..44_u32, near in any::<prop::sample::Index>()) {
        let trace = trace_of(&boxes);
        prop_assert_eq!(trace.slices.len(), boxes.len());
        let index = index_of(&trace);
        check_rows("made", &trace, &index);
        let row = near.index(index.rows.len());
        let near = trace.slices.ts[near.index(boxes.len())].wrapping_sub(index.origin) as u64;
        let window = Window { first_pixel: (near >> bits).saturating_sub(50), bits, n_pixels: 100 };
        check_window("made", &trace, &index, row, window);
    }
}

/// The idle time of a range, by cause, adds up to that of the report on the whole trace.
#[test]
fn idle_time_of_ranges_adds_up_to_the_report() {
    let mut n_devices = 0;
    for path in data_dirs("pytorch").iter().flat_map(|dir| files(dir, &[".json", ".json.gz"])) {
        if path.metadata().is_ok_and(|data| data.len() > 2_000_000) {
            continue;
        }
        let file = path.file_name().unwrap().to_str().unwrap().to_string();
        let Ok(trace) = import(&file, &std::fs::read(&path).unwrap(), None) else { continue };
        let run = Run::single(trace);
        let Some(timeline) = of_run(&run) else { continue };
        let query = Query::default();
        let context = Context::new(&run, &query);
        let all = DeviceIdle::all(&context);
        let mut random = Random(7);
        let in_range = |from_ns, to_ns| {
            let ask = TimelineAsk::Stretch { from_ns, to_ns };
            let TimelineAnswer::Stretch(mut range) = timeline.answer(&run, &ask) else { panic!() };
            DeviceIdle::add_to(&all, &timeline, &mut range);
            for device in &range.devices {
                let known: u64 = device.idle.iter().map(|(_, ns)| ns).sum();
                assert!(device.busy_ns + known <= to_ns - from_ns, "{file}: {}", device.name);
            }
            range.devices
        };
        let mut by_cause: HashMap<String, u64> = HashMap::new();
        let mut from = 0;
        while from < timeline.span_ns {
            let to = timeline.span_ns.min(from + 1 + random.below(timeline.span_ns / 5 + 1));
            for device in in_range(from, to) {
                for (cause, ns) in device.idle {
                    *by_cause.entry(cause).or_default() += ns;
                }
            }
            from = to;
        }
        let reports = ANALYSES.iter().find(|it| it.id == "gpu-idle" && (it.applies)(&run));
        let Some(report) = reports.map(|it| (it.run)(&context)) else { continue };
        let mut wanted: HashMap<String, u64> = HashMap::new();
        for table in report.tables().filter(|table| table.id == "idle") {
            let (cause, time) = (table.column("cause").unwrap(), table.column("time").unwrap());
            for row in 0..table.n_rows() {
                n_devices += 1;
                let ns: u64 = time.cells.get(row).plain().parse().unwrap();
                *wanted.entry(cause.cells.get(row).plain()).or_default() += ns;
            }
        }
        wanted.retain(|_, ns| *ns > 0);
        assert_eq!(by_cause, wanted, "{file}");
    }
    assert!(n_devices > 20, "{n_devices}");
}

/// A kernel runs long after its step; it belongs to what launched it. Calls belong to what is around them.
#[test]
fn events_belong_to_the_step_and_module_of_their_launch() {
    let x = |name: &str, cat: &str, ts: i64, dur: i64, on: (&str, &str), args: &str| {
        let (pid, tid) = on;
        format!(
            r#"{{"ph":"X","name":"{name}","cat":"{cat}","ts":{ts},"dur":{dur},"pid":{pid},"tid":{tid},"args":{{{args}}}}}"#
        )
    };
    let (cpu, gpu) = (("5", "5"), ("0", "7"));
    let events = [
        x("ProfilerStep#1", "user_annotation", 0, 100, cpu, ""),
        x("nn.Module: Linear_0", "python_function", 1, 90, cpu, r#""Python id":1"#),
        x("model.py(3): forward", "python_function", 2, 80, cpu, r#""Python id":2,"Python parent id":1"#),
        x("aten::linear", "cpu_op", 3, 70, cpu, ""),
        x("aten::addmm", "cpu_op", 4, 60, cpu, ""),
        x("cudaLaunchKernel", "cuda_runtime", 5, 5, cpu, r#""correlation":9"#),
        x("ProfilerStep#2", "user_annotation", 100, 100, cpu, ""),
        x("gemm", "kernel", 150, 40, gpu, r#""correlation":9,"device":0,"stream":7"#),
    ];
    let run = Run::single(import("t.json", format!("[{}]", events.join(",")).as_bytes(), None).unwrap());
    let timeline = of_run(&run).unwrap();
    let query = Query::default();
    let context = Context::new(&run, &query);
    let of = |name: &str| {
        let slices = &run.traces[0].slices;
        let id = (0..slices.len()).find(|id| run.traces[0].strings.get(slices.name[*id]) == name).unwrap();
        let ask = TimelineAsk::Details { of: BoxName { part: 0, id: id as u32 } };
        let TimelineAnswer::Details(Some(mut details)) = timeline.answer(&run, &ask) else {
            panic!("{name}")
        };
        gpu_place::add_to(&context, &timeline, &mut details);
        details.places.into_iter().map(|(place, link)| (place, link.name)).collect::<Vec<_>>()
    };
    let named = |places: &[(Place, &str)]| -> Vec<(Place, String)> {
        places.iter().map(|(place, name)| (*place, name.to_string())).collect()
    };
    let (step, module) = ((Place::Step, "ProfilerStep#1"), (Place::Module, "nn.Module: Linear_0"));
    let operator = (Place::Operator, "aten::addmm");
    assert_eq!(of("gemm"), named(&[step, module, operator, (Place::Frame, "model.py(3): forward")]));
    assert_eq!(of("aten::addmm"), named(&[step, module]));
    assert_eq!(of("ProfilerStep#2"), named(&[]));
}

/// Colors by category, operation or phase change colors alone, and the legend has each of them.
#[test]
fn colors_stand_for_names_categories_operations_or_phases() {
    let operations = (ColorBy::Operation, ["GEMM", "Attention", "Normalisation"].as_slice());
    let phases = (ColorBy::Phase, ["prefill", "decode", "mixed"].as_slice());
    for (path, legends) in [
        (own_dir("pytorch").join("small-bert-h100.json.gz"), vec![operations]),
        (PathBuf::from("www/samples/gpu-serving.json"), vec![operations, phases]),
    ] {
        let run = Run::single(import("t", &support::unpacked(&path), None).unwrap());
        let timeline = of_run(&run).unwrap();
        let TimelineAnswer::Tracks(tracks) = timeline.answer(&run, &TimelineAsk::Tracks) else { panic!() };
        let rows: Vec<RowName> = (0..)
            .zip(&tracks.tracks)
            .flat_map(|(track, view)| (0..view.n_rows).map(move |row| RowName { track, row }))
            .collect();
        let picture = |color_by: ColorBy| -> Picture {
            let window = Viewport::whole(tracks.span_ns, 2000.0).window(1.0);
            let ask = TimelineAsk::Picture { window, rows: rows.clone(), lit: String::new(), color_by };
            let groups = groups(&run, color_by);
            match timeline.answer_with(&run, &ask, groups.as_ref()) {
                TimelineAnswer::Picture(picture) => picture,
                _ => panic!(),
            }
        };
        let by_name = picture(ColorBy::Name);
        assert!(by_name.legend.is_empty());
        let categories = (ColorBy::Category, ["kernel", "cpu_op", "cuda_runtime"].as_slice());
        for (by, expected) in legends.into_iter().chain([categories]) {
            let picture = picture(by);
            assert_eq!(picture.covers, by_name.covers);
            let known: Vec<&str> = picture.legend.iter().map(|(text, _)| text.as_str()).collect();
            assert!(expected.iter().all(|text| known.contains(text)), "{known:?}");
            assert_eq!(known.iter().collect::<HashSet<_>>().len(), known.len());
            let mut in_legend: HashSet<u8> = picture.legend.iter().map(|(_, color)| *color).collect();
            // What has no operation or phase has the color that none of them has.
            if by != ColorBy::Category {
                assert!(in_legend.insert(N_COLORS - 1));
            }
            let drawn = picture.colors.0.iter().filter(|code| **code != 0 && **code & COUNTER == 0);
            assert_eq!(drawn.map(|code| code & 0x1F).collect::<HashSet<u8>>(), in_legend);
        }
    }
}

fn groups(run: &Run, by: ColorBy) -> Option<Groups> {
    match by {
        ColorBy::Name | ColorBy::Category => None,
        ColorBy::Operation => Some(steps::run(timeline_groups::operations(run, ""))),
        ColorBy::Phase => {
            Some(steps::run(timeline_groups::phases(run, &Query::default(), AnalysisCache::default())).0)
        }
    }
}

/// Operations and phases that boxes are colored by are those of the reports, and phases are offered where there are some.
#[test]
fn operations_and_phases_are_those_of_the_reports() {
    let (mut n_work, mut n_steps, mut n_with_phases) = (0, 0, 0);
    for (path, trace) in traces() {
        let file = path.file_name().unwrap().to_str().unwrap().to_string();
        let run = Run::single(trace);
        let query = Query::default();
        let context = Context::new(&run, &query);
        let [gpu] = context.gpu() else { continue };
        let (operations, phases) = (groups(&run, ColorBy::Operation), groups(&run, ColorBy::Phase));
        let (operations, phases) = (operations.unwrap(), phases.unwrap());
        let mut is_work = HashSet::new();
        for work in &gpu.work {
            is_work.insert(work.slice);
            n_work += 1;
            let operation = operations.text_of(0, work.slice as usize);
            assert_eq!(operation, Some(gpu.class(work).operation.as_str()), "{file}");
            let phase = gpu.step(work.step).map(|step| step.phase(gpu.trace));
            assert_eq!(phases.text_of(0, work.slice as usize), phase, "{file}");
        }
        // Kernels without an end are no work, but have an operation.
        for unfinished in &gpu.unfinished {
            is_work.insert(unfinished.slice);
            assert!(operations.text_of(0, unfinished.slice as usize).is_some(), "{file}");
        }
        let n_slices = gpu.trace.slices.len();
        let others = (0..n_slices as u32).step_by(1 + n_slices / 2000);
        for slice in others.filter(|slice| !is_work.contains(slice)) {
            assert_eq!(operations.text_of(0, slice as usize), None, "{file}");
            let places = gpu_place::places(gpu, slice);
            let Some((_, step)) = places.iter().find(|(place, _)| *place == Place::Step) else { continue };
            let step = gpu.steps.steps.iter().find(|it| it.slice == *step).unwrap();
            assert_eq!(phases.text_of(0, slice as usize), Some(step.phase(gpu.trace)), "{file}");
            n_steps += 1;
        }
        let has_phases = gpu.steps.steps.iter().any(|step| step.phase(gpu.trace) != "unknown");
        assert_eq!(timeline_groups::has_phases(&run, ""), has_phases, "{file}");
        n_with_phases += usize::from(has_phases);
    }
    assert!(n_work > 1000 && n_steps > 1000 && n_with_phases > 3, "{n_work} {n_steps} {n_with_phases}");
}

/// Asks until all arguments are searched; the answers on the way count less, and lead nowhere else.
fn find_in_arguments(run: &Run, timeline: &Timeline, text: &str, from: Option<BoxName>) -> Found {
    let mut before = Found { left: 1.0, ..Found::default() };
    loop {
        let ask = TimelineAsk::Find { text: text.to_string(), from, is_back: false };
        let TimelineAnswer::Found(found) = timeline.answer(run, &ask) else { panic!() };
        assert!(found.n >= before.n && found.left <= before.left);
        if let Some(link) = before.link {
            assert_eq!(found.link.as_ref().map(|link| link.of), Some(link.of));
        }
        if found.left == 0.0 {
            return found;
        }
        before = found;
    }
}

/// A search of arguments finds the slices whose arguments have the text, and lights them.
#[test]
fn arguments_are_searched_like_names() {
    let mut random = Random(9);
    let mut n_found = 0;
    for (path, trace) in traces() {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let run = Run::single(trace);
        let timeline = of_run(&run).unwrap();
        let trace = &run.traces[0];
        if trace.slices.len() > 20_000 {
            continue;
        }
        let args_of = |slice: usize| {
            let of = [trace.args.get(trace.slices.args_of(slice)), trace.slice_end_args(slice)];
            let texts = of.into_iter().flatten().map(|args| String::from_utf8_lossy(&args).to_lowercase());
            texts.collect::<Vec<_>>()
        };
        let args: Vec<Vec<String>> = (0..trace.slices.len()).map(args_of).collect();
        let with_args: Vec<usize> = (0..args.len()).filter(|slice| !args[*slice].is_empty()).collect();
        if with_args.is_empty() {
            continue;
        }
        let one = with_args[random.below(with_args.len() as u64) as usize];
        let text: String = args[one][0].chars().skip(1 + random.below(5) as usize).take(7).collect();
        let hits: Vec<u32> = (0..trace.slices.len())
            .filter(|slice| args[*slice].iter().any(|args| args.contains(&text)))
            .map(|slice| slice as u32)
            .collect();
        let text = format!("arg:{text}");
        let mut at = None;
        for hit in hits.iter().take(5).chain(hits.first().filter(|_| hits.len() <= 5)) {
            let found = find_in_arguments(&run, &timeline, &text, at);
            assert_eq!(found.n, hits.len() as u64, "{file}: {text}");
            at = found.link.map(|link| link.of);
            assert_eq!(at, Some(BoxName { part: 0, id: *hit }), "{file}: {text}");
            n_found += 1;
        }
        // Their pixels are lit, and no others.
        let link = timeline.link_to_slice(&run, 0, hits[0]).unwrap();
        let window = Window::around(0, timeline.span_ns, 500, 0.0);
        let ask =
            TimelineAsk::Picture { window, rows: vec![link.row], lit: text.clone(), color_by: ColorBy::Name };
        let TimelineAnswer::Picture(picture) = timeline.answer(&run, &ask) else { panic!() };
        let mut wanted = HashSet::new();
        for hit in &hits {
            let link_of_hit = timeline.link_to_slice(&run, 0, *hit).unwrap();
            if link_of_hit.row == link.row {
                let start = link_of_hit.start_ns;
                let length = SliceBoxes::new(trace).length(*hit as usize).max(1) as u64;
                wanted.extend(start >> window.bits..=(start + length - 1) >> window.bits);
            }
        }
        let lit =
            (0..u64::from(window.n_pixels)).filter(|pixel| picture.colors.0[*pixel as usize] & LIT != 0);
        let lit: HashSet<u64> = lit.map(|pixel| window.first_pixel + pixel).collect();
        wanted.retain(|pixel| {
            (window.first_pixel..window.first_pixel + u64::from(window.n_pixels)).contains(pixel)
        });
        assert_eq!(lit, wanted, "{file}: {text}");
        let problem = find_in_arguments(&run, &timeline, "arg:/(/", None).problem;
        assert!(!problem.is_empty());
        assert_eq!(find_in_arguments(&run, &timeline, "arg:", None), Found::default());
    }
    assert!(n_found > 30, "{n_found}");
}

/// Long arguments are searched in pieces; without the file, a search says so.
#[test]
fn arguments_are_searched_piece_by_piece() {
    let event = |i: usize| {
        let filler = "x".repeat(2000);
        format!(
            r#"{{"ph":"X","name":"n","pid":1,"tid":1,"ts":{i},"dur":1,"args":{{"number":"<{i}>","f":"{filler}"}}}}"#
        )
    };
    let n = 6000;
    let text = format!("[{}]", (0..n).map(event).collect::<Vec<_>>().join(","));
    let mut trace = import("t.json", text.as_bytes(), None).unwrap();
    let run = Run::single(trace.clone());
    let timeline = of_run(&run).unwrap();
    let mut lefts = Vec::new();
    let last = loop {
        let ask = TimelineAsk::Find { text: "arg:/<(7|5999)>/".to_string(), from: None, is_back: false };
        let TimelineAnswer::Found(found) = timeline.answer(&run, &ask) else { panic!() };
        assert_eq!(found.link.as_ref().map(|link| link.of.id), Some(7));
        lefts.push(found.left);
        if found.left == 0.0 {
            break found;
        }
        assert_eq!(found.n, 1);
    };
    assert_eq!(last.n, 2);
    assert!(lefts.len() >= 3 && lefts.is_sorted_by(|a, b| a > b), "{lefts:?}");
    // Backward, nothing is known before all is searched.
    let timeline = of_run(&run).unwrap();
    let ask = TimelineAsk::Find { text: "arg:<7>".to_string(), from: None, is_back: true };
    let TimelineAnswer::Found(found) = timeline.answer(&run, &ask) else { panic!() };
    assert_eq!((found.n, found.link), (1, None));
    trace.args.set_missing();
    let run = Run::single(trace);
    let found = find_in_arguments(&run, &of_run(&run).unwrap(), "arg:x", None);
    assert!(found.problem.contains("open the file"), "{}", found.problem);
}
