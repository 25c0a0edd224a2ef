//! CUDA memory snapshots: numbers equal those of an independent script, however the file is cut.

use crate::support;
use crate::support::{data_dirs, files, for_each_cut, import, own_dir, stem, unpacked};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use tracedrop::analysis::{Context, Query, flame, memory_addresses, memory_snapshot, stack_functions};
use tracedrop::base::units::format_ns;
use tracedrop::import::ImportError;
use tracedrop::import::memory_snapshot::INFO;
use tracedrop::report::address_map::Moment;
use tracedrop::report::chart::{Boxes, Plot};
use tracedrop::report::{Block, Report};
use tracedrop::scene::{Direction, Mark, cell_at, layout, next_cell, svg};
use tracedrop::trace::memory_snapshot::{Action, Amount, Device, MemorySnapshot, NO_TIME, Segment, Use};
use tracedrop::trace::samples::{NO_LINE, StackId};
use tracedrop::trace::{Run, Trace};

/// Snapshots with their answers, of all places.
fn cases() -> Vec<(PathBuf, Value)> {
    let mut cases = Vec::new();
    for dir in data_dirs("memsnapshot") {
        for path in files(&dir, &[".pickle", ".pickle.gz"]) {
            let expected = dir.join("expected").join(format!("{}.json", stem(&path)));
            cases.push((path, serde_json::from_slice(&std::fs::read(expected).unwrap()).unwrap()));
        }
    }
    assert!(cases.len() >= 12);
    cases
}

fn snapshot(trace: &Trace) -> &MemorySnapshot {
    trace.memory_snapshot.as_deref().unwrap()
}

/// Innermost frame as the answers have it.
fn top(trace: &Trace, stack: StackId) -> String {
    if stack == StackId::NONE {
        return "(no stack)".to_string();
    }
    let frame = trace.frames.get(trace.stacks.frame[stack.0 as usize]);
    let line = if frame.line == NO_LINE { 0 } else { frame.line };
    format!("{} ({}:{line})", trace.strings.get(frame.name), trace.strings.get(frame.file))
}

/// Amounts by innermost frame, as a map.
fn by_top(trace: &Trace, device: &Device, get: fn(&Use) -> Amount) -> Value {
    let mut sums: Map<String, Value> = Map::new();
    for (it, amount) in device.uses.iter().map(|it| (it, get(it))).filter(|(_, amount)| amount.n > 0) {
        let own = sums.entry(top(trace, it.stack)).or_insert(json!([0, 0]));
        let add = |at: usize, n: u64| json!(own[at].as_u64().unwrap() + n);
        *own = json!([add(0, amount.n), add(1, amount.bytes)]);
    }
    Value::Object(sums)
}

/// Rows of the answers as a map.
fn rows_by_top(rows: &Value) -> Value {
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| (row["top"].as_str().unwrap().to_string(), json!([row["count"], row["bytes"]])))
        .collect::<Map<_, _>>()
        .into()
}

fn sum(segments: &[&Segment], get: fn(&Segment) -> u64) -> u64 {
    segments.iter().map(|segment| get(segment)).sum()
}

/// A device in the form of the answers.
fn told(trace: &Trace, number: usize, device: &Device) -> Value {
    let text = |id| trace.strings.get(id).to_string();
    let counts: Map<String, Value> = device.counts.iter().map(|(name, n)| (text(*name), json!(n))).collect();
    let skipped: Map<String, Value> = [
        ("alloc_over_live", device.n_alloc_over_live),
        ("free_of_unknown", device.n_free_of_unknown),
        ("bad_value", device.n_bad_values),
        ("not_an_event", device.n_not_events),
    ]
    .into_iter()
    .filter(|(_, n)| *n > 0)
    .map(|(name, n)| (name.to_string(), json!(n)))
    .collect();
    let ooms = device.events.iter().enumerate().filter(|(_, event)| event.action == Action::Oom);
    let ooms: Vec<Value> = ooms
        .map(|(row, event)| {
            json!({
                "event": row, "size": event.size, "device_free": event.address, "top": top(trace, event.stack),
            })
        })
        .collect();
    let segments: Vec<&Segment> = snapshot(trace).segments_of(number).collect();
    let mut by_pool: Map<String, Value> = Map::new();
    for segment in &segments {
        let own = by_pool.entry(text(segment.kind)).or_insert(json!(0));
        *own = json!(own.as_u64().unwrap() + segment.total_size);
    }
    json!({
        "device": number,
        "events": device.events.len(),
        "counts": counts,
        "skipped": skipped,
        "live_before_first_event": device.live_before,
        "peak_active": {
            "bytes": device.peak.bytes,
            "event": device.peak.event.map_or(-1, |row| row as i64),
            "time_us": device.peak.time_us,
        },
        "peak_allocated": device.peak_allocated,
        "live_at_peak": by_top(trace, device, |it| it.at_peak),
        "never_freed": by_top(trace, device, |it| it.never_freed),
        "still_live_from_before": by_top(trace, device, |it| it.left_from_before),
        "active_at_end": device.active_at_end,
        "ooms": ooms,
        "segments": {
            "count": segments.len(),
            "reserved": sum(&segments, |it| it.total_size),
            "active": sum(&segments, |it| it.active_size),
            "allocated": sum(&segments, |it| it.allocated_size),
            "requested": sum(&segments, |it| it.requested_size),
            "inactive": sum(&segments, |it| it.inactive().0),
            "inactive_blocks": sum(&segments, |it| it.inactive().1),
            "largest_inactive": segments.iter().map(|it| it.inactive().2).max().unwrap_or(0),
            "by_pool": by_pool,
        },
    })
}

fn check(name: &str, expected: &Value, read: Result<Trace, ImportError>) {
    let trace = read.unwrap_or_else(|error| panic!("{name}: {error}"));
    let own = snapshot(&trace);
    let mut keys: Vec<&str> = own.keys.iter().map(|id| trace.strings.get(*id)).collect();
    keys.sort_unstable();
    assert_eq!(json!(keys), expected["keys"], "{name}");
    let devices = own.devices.iter().enumerate();
    let devices: Vec<Value> = devices
        .filter(|(number, device)| !device.events.is_empty() || own.segments_of(*number).next().is_some())
        .map(|(number, device)| told(&trace, number, device))
        .collect();
    let wanted: Vec<Value> = expected["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| {
            let mut device = device.clone();
            for list in ["live_at_peak", "never_freed", "still_live_from_before"] {
                device[list] = rows_by_top(&device[list]);
            }
            device
        })
        .collect();
    assert_eq!(devices.len(), wanted.len(), "{name}");
    for (got, wanted) in devices.iter().zip(&wanted) {
        for (key, wanted) in wanted.as_object().unwrap() {
            assert_eq!(&got[key], wanted, "{name}: {key} of device {}", got["device"]);
        }
    }
    assert!(trace.memory_snapshot.as_ref().unwrap().is_sound(trace.stacks.len(), trace.strings.len()));
    assert_eq!(trace.ledger.unaccounted_bytes(), 0, "{name}");
}

#[test]
fn numbers_equal_the_answers() {
    for (path, expected) in cases() {
        if expected["devices"].as_array().is_none_or(|devices| devices.is_empty()) {
            continue;
        }
        let name = path.display().to_string();
        for_each_cut(&name, &unpacked(&path), None, &mut |way, read| {
            check(&format!("{name}, {way}"), &expected, read);
        });
    }
}

#[test]
fn other_pickles_are_refused() {
    for path in data_dirs("memsnapshot").iter().map(|dir| dir.join("odd_other_pickle.pickle")) {
        let bytes = std::fs::read(path).unwrap();
        let error = import("x.pickle", &bytes, None).err().unwrap().to_string();
        assert!(error.contains("without a memory snapshot"), "{error}");
        let error = import("x.pickle", &bytes, Some(&INFO)).err().unwrap().to_string();
        assert!(error.contains("no memory snapshot"), "{error}");
    }
}

/// A file cut anywhere has the events of its part, in their order, and never more segments.
#[test]
fn cut_files_are_read_as_far_as_they_go() {
    let dir = own_dir("memsnapshot");
    for name in ["one_device_p2.pickle", "one_device_p4.pickle", "odd_protocol0.pickle", "odd_entries.pickle"]
    {
        let bytes = std::fs::read(dir.join(name)).unwrap();
        let whole = import(name, &bytes, None).unwrap();
        let mut n_events = 0;
        for end in (0..bytes.len()).step_by(37) {
            let Ok(part) = import(name, &bytes[..end], Some(&INFO)) else {
                assert!(end < 200, "{name} cut at {end}");
                continue;
            };
            assert_eq!(part.ledger.count_of("memory-snapshot-cut"), 1, "{name} cut at {end}");
            assert_eq!(part.ledger.unaccounted_bytes(), 0, "{name} cut at {end}");
            let (whole, part) = (snapshot(&whole), snapshot(&part));
            assert!(part.segments.len() <= whole.segments.len());
            let Some(of_part) = part.devices.first() else { continue };
            let of_part = &of_part.events;
            assert!(of_part.len() >= n_events, "{name} cut at {end}");
            n_events = of_part.len();
            let of_whole = &whole.devices[0].events;
            for row in 0..n_events {
                let key = |events: &tracedrop::trace::memory_snapshot::EventColumns| {
                    (events.action[row], events.address[row], events.size[row], events.time_us[row])
                };
                assert_eq!(key(of_part), key(of_whole), "{name} cut at {end}, event {row}");
            }
        }
        assert!(n_events + 2 >= snapshot(&whole).devices[0].events.len(), "{name}: {n_events}");
    }
    for path in data_dirs("memsnapshot").iter().map(|dir| dir.join("odd_cut.pickle")) {
        let trace = import("odd_cut.pickle", &std::fs::read(path).unwrap(), None).unwrap();
        assert_eq!(trace.ledger.count_of("memory-snapshot-cut"), 1);
        assert!(!snapshot(&trace).segments.is_empty() && !snapshot(&trace).devices[0].events.is_empty());
    }
}

/// Instances of classes are named and never built.
#[test]
fn classes_are_only_named() {
    let bytes = std::fs::read(own_dir("memsnapshot").join("odd_class.pickle")).unwrap();
    let trace = import("odd_class.pickle", &bytes, None).unwrap();
    let issue = trace.ledger.issue("memory-snapshot-opaque").unwrap();
    assert_eq!((issue.count, issue.example.as_str()), (1, "__main__.Nope"));
}

/// Bytes changed at random end in an error or a report.
#[test]
fn damaged_files_are_read_as_far_as_they_go() {
    let dir = own_dir("memsnapshot");
    let mut random = support::Random(7);
    for name in ["no_segments.pickle", "odd_entries.pickle", "odd_protocol0.pickle"] {
        let bytes = std::fs::read(dir.join(name)).unwrap();
        for _ in 0..300 {
            let mut bytes = bytes.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] = random.next() as u8;
            }
            if let Ok(trace) = import(name, &bytes, Some(&INFO)) {
                assert_eq!(trace.ledger.unaccounted_bytes(), 0, "{name}");
                assert!(snapshot(&trace).is_sound(trace.stacks.len(), trace.strings.len()));
            }
        }
    }
}

/// Events in one list without batches, as the C++ side writes them, and more than wait on the stack.
#[test]
fn long_lists_are_taken_while_they_are_read() {
    const N: usize = 20_000;
    let mut bytes = b"\x80\x02}q\0(X\x0d\0\0\0device_traces]q\x01(]q\x02(".to_vec();
    let text = |text: &str, bytes: &mut Vec<u8>| {
        bytes.push(b'X');
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    };
    let mut slot = 3u32;
    let mut shared = None;
    for row in 0..N {
        bytes.push(b'}');
        bytes.push(b'r');
        bytes.extend_from_slice(&slot.to_le_bytes());
        slot += 1;
        bytes.push(b'(');
        text("action", &mut bytes);
        text("alloc", &mut bytes);
        text("addr", &mut bytes);
        bytes.extend_from_slice(b"\x8a\x06");
        bytes.extend_from_slice(&(0x7f00_0000_0000u64 + 512 * row as u64).to_le_bytes()[..6]);
        text("size", &mut bytes);
        bytes.extend_from_slice(b"M\x10\0");
        text("frames", &mut bytes);
        match shared {
            Some(slot) if row % 7 > 0 => {
                bytes.push(b'j');
                bytes.extend_from_slice(&u32::to_le_bytes(slot));
            }
            _ => {
                bytes.extend_from_slice(b"]r");
                bytes.extend_from_slice(&slot.to_le_bytes());
                shared = Some(slot);
                slot += 1;
                bytes.extend_from_slice(b"(}(");
                text("filename", &mut bytes);
                text("a.py", &mut bytes);
                text("line", &mut bytes);
                bytes.extend_from_slice(b"K\x07");
                text("name", &mut bytes);
                text(&format!("f{}", row % 5), &mut bytes);
                bytes.extend_from_slice(b"ue");
            }
        }
        bytes.push(b'u');
    }
    bytes.extend_from_slice(b"eeu.");
    let mut seen = None;
    for_each_cut("long", &bytes, None, &mut |way, read| {
        let trace = read.unwrap();
        let device = &snapshot(&trace).devices[0];
        assert_eq!((device.events.len(), device.peak.bytes), (N, 16 * N as u64), "{way}");
        assert!(device.events.stack.iter().all(|stack| *stack != StackId::NONE), "{way}");
        assert!(device.events.time_us.iter().all(|time| *time == NO_TIME));
        assert_eq!(trace.frames.len(), 5);
        let sums = by_top(&trace, device, |it| it.at_peak);
        assert_eq!(seen.get_or_insert_with(|| sums.clone()), &sums, "{way}");
    });
}

fn report(trace: Trace) -> Report {
    report_at(trace, None)
}

fn report_at(trace: Trace, memory_at: Option<i64>) -> Report {
    let run = Run::single(trace);
    let query = Query { memory_at, ..Query::default() };
    (memory_snapshot::INFO.run)(&Context::new(&run, &query))
}

/// The report's tables add up to the answers.
#[test]
fn report_says_what_the_answers_say() {
    for (path, expected) in cases() {
        let Some(devices) = expected["devices"].as_array().filter(|devices| !devices.is_empty()) else {
            continue;
        };
        let name = path.display().to_string();
        let report = report(import(&name, &unpacked(&path), None).unwrap());
        assert!(report.tables().all(|table| table.is_sound()), "{name}");
        let table = |id: &str| report.tables().find(|table| table.id == id).unwrap();
        let column = |id: &str, column: &str| {
            let table = table(id);
            let column = table.column(column).unwrap();
            (0..table.n_rows()).map(|row| column.cells.get(row).as_f64().unwrap_or(0.0)).collect::<Vec<_>>()
        };
        let wanted = |get: &dyn Fn(&Value) -> &Value| {
            devices.iter().map(|device| get(device).as_f64().unwrap()).collect::<Vec<_>>()
        };
        let has_events = column("devices", "events").iter().any(|n| *n > 0.0);
        // Without events, the answers have what was live at the end as the peak, and the report has no peak.
        let (peak, at_peak) = if has_events { ("peak", "at_peak") } else { ("active_at_end", "at_end") };
        assert_eq!(column("devices", peak), wanted(&|it| &it["peak_active"]["bytes"]), "{name}");
        match has_events {
            true => assert_eq!(
                column("devices", "peak_event"),
                wanted(&|it| &it["peak_active"]["event"]),
                "{name}"
            ),
            false => assert_eq!(column("devices", "peak_event"), [0.0], "{name}: unknown"),
        }
        assert_eq!(column("devices", "reserved"), wanted(&|it| &it["segments"]["reserved"]), "{name}");
        assert_eq!(column("devices", "inactive"), wanted(&|it| &it["segments"]["inactive"]), "{name}");
        let total = |id: &str, of: &str| column(id, of).iter().sum::<f64>();
        let peaks: f64 = wanted(&|it| &it["peak_active"]["bytes"]).iter().sum();
        assert_eq!(total("allocation_sites", at_peak), peaks, "{name}");
        assert_eq!(total("program_sites", at_peak), peaks, "{name}");
        let at_end: f64 = wanted(&|it| &it["active_at_end"]).iter().sum();
        assert_eq!(total("program_sites", "at_end"), at_end, "{name}");
        let reserved: f64 = wanted(&|it| &it["segments"]["reserved"]).iter().sum();
        assert_eq!(
            (total("pools", "reserved"), total("segments", "reserved")),
            (reserved, reserved),
            "{name}"
        );
        let n_oom: usize = devices.iter().map(|device| device["ooms"].as_array().unwrap().len()).sum();
        assert_eq!(table("out_of_memory").n_rows(), n_oom, "{name}");
        let start = if has_events { "Peak GPU memory: " } else { "GPU memory: " };
        assert!(report.summary.starts_with(start), "{name}: {}", report.summary);
        let says = |id: &str| {
            report.blocks.iter().any(|block| match block {
                Block::Findings(it) => it.findings.iter().any(|finding| finding.id == id),
                _ => false,
            })
        };
        assert_eq!(says("out-of-memory"), n_oom > 0, "{name}");
        // The end of the line of reserved memory is what the segments hold.
        let n_charts = devices.iter().filter(|device| device["events"] != 0).count();
        assert_eq!(report.charts().count(), 2 * n_charts, "{name}");
    }
}

/// The earliest time of a snapshot, at which axes begin.
fn first_time(snapshot: &MemorySnapshot) -> Option<i64> {
    let annotated = snapshot.annotations.iter().map(|it| it.time_us);
    let times = snapshot.devices.iter().flat_map(|device| &device.events.time_us).copied().chain(annotated);
    times.filter(|time| *time != NO_TIME).min()
}

/// The stacked allocations fill exactly what is active, whatever is in the band of those without a box.
#[test]
fn allocations_over_time_add_up_to_active_memory() {
    let mut n_checked = 0;
    for (path, expected) in cases() {
        if expected["devices"].as_array().is_none_or(|devices| devices.is_empty()) {
            continue;
        }
        let name = path.display().to_string();
        let trace = import(&name, &unpacked(&path), None).unwrap();
        let own = snapshot(&trace);
        let first = first_time(own);
        let devices: Vec<(usize, Vec<(i64, u64)>)> = (0..own.devices.len())
            .filter(|number| !own.devices[*number].events.is_empty())
            .map(|number| {
                let times = &own.devices[number].events.time_us;
                let timed = times.iter().copied().find(|time| *time != NO_TIME);
                let mut now = timed;
                let mut active = Vec::new();
                own.replay(number, |row, usage| {
                    // The axis does not go back.
                    now = now.max(row.map(|row| times[row]).filter(|time| *time != NO_TIME));
                    let at = match (now, first) {
                        (Some(now), Some(first)) => (now - first) * 1000,
                        _ => row.map_or(1, |row| row as i64 + 2),
                    };
                    active.push((at, usage.active));
                });
                (number, active)
            })
            .collect();
        let report = report(import(&name, &unpacked(&path), None).unwrap());
        for (number, active) in devices {
            let id = format!("allocations_chart_gpu{number}");
            let chart = report.charts().find(|chart| chart.id == id).unwrap();
            let Plot::Boxes(Boxes { boxes, .. }) = &chart.plot else { panic!("{name}: {chart:?}") };
            assert!(boxes.iter().all(|it| it.start < it.end && it.low < it.high), "{name}");
            for pair in active.windows(2).filter(|pair| pair[0].0 < pair[1].0) {
                let at = pair[0].0;
                let mut here: Vec<(f64, f64)> = boxes
                    .iter()
                    .filter(|it| it.start <= at && at < it.end)
                    .map(|it| (it.low, it.high))
                    .collect();
                here.sort_by(|a, b| a.partial_cmp(b).unwrap());
                let top = here.last().map_or(0.0, |it| it.1);
                assert_eq!(here.first().map_or(0.0, |it| it.0), 0.0, "{name} at {at}");
                assert!(here.windows(2).all(|pair| pair[0].1 == pair[1].0), "{name} at {at}: {here:?}");
                // A box of the band is the maximum of several events in longer recordings.
                if active.len() <= 400 {
                    assert_eq!(top, pair[0].1 as f64, "{name} at {at}");
                    n_checked += 1;
                } else {
                    assert!(top >= pair[0].1 as f64, "{name} at {at}");
                }
            }
        }
    }
    assert!(n_checked > 100, "{n_checked}");
}

fn addresses(trace: Trace) -> Report {
    let run = Run::single(trace);
    (memory_addresses::INFO.run)(&Context::new(&run, &Query::default()))
}

/// Rectangles and cells of the pictures by address cover exactly the bytes × time of all blocks, and say what they are of.
#[test]
fn pictures_by_address_cover_what_blocks_do() {
    let mut n_pictures = 0;
    for (path, expected) in cases() {
        if expected["devices"].as_array().is_none_or(|devices| devices.is_empty()) {
            continue;
        }
        let name = path.display().to_string();
        let trace = import(&name, &unpacked(&path), None).unwrap();
        let own = snapshot(&trace);
        let first = first_time(own);
        let report = addresses(import(&name, &unpacked(&path), None).unwrap());
        let is_cut = trace.ledger.count_of("memory-snapshot-cut") > 0;
        assert!(report.tables().all(|table| table.is_sound()), "{name}");
        for (number, device) in own.devices.iter().enumerate().filter(|(_, it)| !it.events.is_empty()) {
            // The axis does not go back.
            let mut now = device.events.time_us.iter().copied().find(|time| *time != NO_TIME);
            let at: Vec<i64> = (device.events.time_us.iter().zip(2..))
                .map(|(time, number)| {
                    now = now.max((*time != NO_TIME).then_some(*time));
                    now.zip(first).map_or(number, |(now, first)| (now - first) * 1000)
                })
                .collect();
            let is_timed = first.is_some() && now.is_some();
            let (start, end) = (if is_timed { at[0] } else { 1 }, *at.last().unwrap());
            let (mut n, mut wanted) = (0, 0f64);
            own.for_each_allocation(number, |it| {
                n += 1;
                let from = it.start.map_or(start, |row| at[row]);
                let to = it.end.map_or(end, |row| at[row]);
                wanted += it.size as f64 * (to - from) as f64;
            });
            let id = format!("addresses_chart_gpu{number}");
            let Some(chart) = report.charts().find(|chart| chart.id == id) else {
                assert_eq!(n, 0, "{name}");
                continue;
            };
            let Plot::Addresses(map) = &chart.plot else { panic!("{name}: {chart:?}") };
            n_pictures += 1;
            let of_blocks: f64 =
                map.blocks.iter().map(|it| it.bytes as f64 * (it.end - it.start) as f64).sum();
            let of_cells: f64 = (map.cells.iter())
                .map(|cell| {
                    let band = &map.bands[cell.band as usize];
                    let bytes = band.row_start(cell.row + 1) - band.row_start(cell.row);
                    let length = map.column_start(cell.column + 1) - map.column_start(cell.column);
                    assert!((0.0..=1.0).contains(&cell.share) && cell.n > 0, "{name}: {cell:?}");
                    cell.share * bytes as f64 * length as f64
                })
                .sum();
            let found = of_blocks + of_cells;
            // Where memory is handed out that is not free, as if events of a cut file were missing, cells cannot be more than full.
            let is_sound = device.n_alloc_over_live == 0 && !is_cut;
            if is_sound {
                assert!((found - wanted).abs() <= 1e-9 * wanted, "{name}: {found} instead of {wanted}");
            } else {
                assert!(found <= wanted * (1.0 + 1e-9), "{name}");
            }
            for block in &map.blocks {
                let band = &map.bands[block.band as usize];
                assert!(block.low + block.bytes <= band.bytes && block.start <= block.end, "{name}");
            }
            let n_oom = device.events.action.iter().filter(|action| **action == Action::Oom).count();
            // Each event is in a mark, and marks do not lie on one another.
            let events = |moment: &Moment| match moment.text.split_once(" times. ") {
                Some((of, _)) => of.trim_start_matches("Out of memory ").parse::<usize>().unwrap(),
                None => 1,
            };
            let marks = map.moments.iter().filter(|moment| moment.is_bad);
            assert_eq!(marks.clone().map(events).sum::<usize>(), n_oom, "{name}");
            assert!(marks.count() <= 41, "{name}");

            // What is drawn can be reached by keys, and by a click where it is not covered.
            for width in [330.0, 1200.0] {
                let scene = layout(chart, width);
                let rects = scene.marks.iter().filter(|mark| matches!(mark, Mark::Rect { .. })).count();
                assert_eq!(rects, map.blocks.len(), "{name}");
                let mut chosen = next_cell(chart, width, None).unwrap();
                for direction in [Direction::Left, Direction::Up, Direction::Right, Direction::Down] {
                    for _ in 0..10 {
                        chosen = next_cell(chart, width, Some((chosen.at, direction))).unwrap();
                        assert!(!chosen.title.is_empty(), "{name}");
                        let (x, y) = (chosen.x + chosen.width / 2.0, chosen.y + chosen.height / 2.0);
                        assert!(cell_at(chart, width, (x, y)).is_some(), "{name}: {chosen:?}");
                    }
                }
                assert_eq!(cell_at(chart, width, (-5.0, -5.0)), None);
            }
            let picture = svg::picture(chart, svg::FILE_WIDTH);
            assert!(picture.contains(">peak</text>") || map.moments.len() > 1, "{name}");
        }
    }
    assert!(n_pictures > 10, "{n_pictures}");
}

/// A picture says size, address, life and stack of a block, and when memory ran out.
#[test]
fn pictures_by_address_say_what_blocks_are() {
    let bytes = std::fs::read(own_dir("memsnapshot").join("one_device_p4.pickle")).unwrap();
    let report = addresses(import("x.pickle", &bytes, None).unwrap());
    let chart = report.charts().next().unwrap();
    let Plot::Addresses(map) = &chart.plot else { panic!("{chart:?}") };
    let largest = next_cell(chart, 1000.0, None).unwrap();
    let block = map.blocks.iter().find(|it| largest.title.contains(&format!("{:#x}", it.address))).unwrap();
    for part in [" at 0x", "iB", " to ", map.name_of(block)] {
        assert!(largest.title.contains(part), "{part} in {}", largest.title);
    }
    assert!(largest.lines.iter().any(|line| line.contains(".py:")), "{:?}", largest.lines);
    assert!(map.moments.iter().any(|moment| moment.text.starts_with("Peak: ")), "{:?}", map.moments);
    // Colors are those of the allocations over time.
    let stacked = self::report(import("x.pickle", &bytes, None).unwrap());
    let boxes = stacked.charts().find_map(|chart| match &chart.plot {
        Plot::Boxes(boxes) => Some(boxes),
        _ => None,
    });
    let boxes = boxes.unwrap();
    for block in &map.blocks {
        let same =
            boxes.boxes.iter().filter(|it| it.name == map.name_of(block) && it.name != "other allocations");
        assert!(same.clone().all(|it| it.tone == block.tone), "{}", map.name_of(block));
    }
}

/// At the time of the peak, memory at a moment is the peak; after everything, it is what is left.
#[test]
fn memory_at_a_moment_is_what_is_active_then() {
    let bytes = std::fs::read(own_dir("memsnapshot").join("one_device_p4.pickle")).unwrap();
    let trace = || import("x.pickle", &bytes, None).unwrap();
    let of_trace = trace();
    let device = &snapshot(&of_trace).devices[0];
    let annotated = snapshot(&of_trace).annotations.iter().map(|it| it.time_us);
    let start = device.events.time_us.iter().copied().chain(annotated).min().unwrap();
    let active_at = |at: i64| -> u64 {
        let report = report_at(trace(), Some(at));
        let table = report.tables().find(|table| table.id == "active_at").unwrap();
        assert!(table.is_sound());
        let column = table.column("active").unwrap();
        (0..table.n_rows()).map(|row| column.cells.get(row).as_f64().unwrap() as u64).sum()
    };
    assert_eq!(active_at((device.peak.time_us.unwrap() - start) * 1000), device.peak.bytes);
    assert_eq!(active_at(i64::MAX), device.active_at_end);
    // So do the stacks of the flame graph, and the chart marks the moment.
    let peak_at = (device.peak.time_us.unwrap() - start) * 1000;
    let query = Query { memory_at: Some(peak_at), ..Query::default() };
    let run = Run::single(trace());
    let graphs = flame::graphs(&Context::new(&run, &query));
    let title = format!("Stacks by memory at {}", format_ns(peak_at));
    let graph = graphs.iter().find(|graph| graph.title == title).unwrap();
    assert_eq!(graph.total() as u64, device.peak.bytes);
    assert_eq!(graph.threads, ["GPU 0"]);
    let of_moment = report_at(trace(), Some(peak_at));
    let charts = of_moment.charts().filter_map(|chart| match &chart.plot {
        Plot::Lines(lines) => Some(lines.periods.iter().map(|it| it.start).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(charts.collect::<Vec<_>>(), [[peak_at]]);
    assert_eq!(report(trace()).tables().filter(|table| table.id == "active_at").count(), 0);
    // Without times there is no such table.
    let report = report_at(import("x.pickle", &native_stacks(), None).unwrap(), Some(0));
    assert!(report.tables().all(|table| table.id != "active_at"));
}

/// Stacks with C++ frames are named by Python, or by the node of the backward pass, not by the recorder.
#[test]
fn stacks_with_native_frames_are_named_by_what_allocated() {
    let report = report(import("x.pickle", &native_stacks(), None).unwrap());
    let functions = |id: &str| {
        let table = report.tables().find(|table| table.id == id).unwrap();
        let column = table.column("function").unwrap();
        let mut cells: Vec<String> = (0..table.n_rows()).map(|row| column.display(row)).collect();
        cells.sort();
        cells
    };
    assert_eq!(
        functions("allocation_sites"),
        ["at::native::foo", "layer_norm", "torch::autograd::generated::PowBackward0::apply"]
    );
    assert_eq!(functions("program_sites"), ["(backward pass)", "(only PyTorch)", "forward"]);
}

/// A snapshot with three allocations, whose stacks start with the C++ frames of PyTorch 2.9.
fn native_stacks() -> Vec<u8> {
    const RECORDER: [(&str, &str, u8); 3] = [
        ("torch::unwind::unwind()", "??", 0),
        ("torch::CapturedTraceback::gather(bool, bool, bool)", "??", 0),
        ("c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(unsigned long)", "", 0),
    ];
    let stacks: [&[(&str, &str, u8)]; 3] = [
        &[
            ("at::_ops::layer_norm::call(at::Tensor const&)", "??", 0),
            ("layer_norm", "/site-packages/torch/nn/functional.py", 29),
            ("_PyEval_EvalFrameDefault", "??", 0),
            ("forward", "/home/me/model.py", 10),
        ],
        &[
            ("at::_ops::mul_Tensor::call(at::Tensor const&)", "??", 0),
            (
                "torch::autograd::generated::PowBackward0::apply(std::vector<at::Tensor>&&)",
                "Functions.cpp",
                0,
            ),
            ("torch::autograd::Node::operator()(std::vector<at::Tensor>&&)", "", 0),
            ("__clone", "??", 0),
        ],
        &[("at::native::foo(at::Tensor const&)", "??", 0), ("_start", "??", 0)],
    ];
    let mut bytes = b"\x80\x02}(X\x08\0\0\0segments]X\x0d\0\0\0device_traces](](".to_vec();
    let text = |text: &str, bytes: &mut Vec<u8>| {
        bytes.push(b'X');
        bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
    };
    for (at, stack) in stacks.iter().enumerate() {
        bytes.extend_from_slice(b"}(");
        text("action", &mut bytes);
        text("alloc", &mut bytes);
        text("addr", &mut bytes);
        bytes.extend_from_slice(&[b'M', 0, at as u8 + 1]);
        text("size", &mut bytes);
        bytes.extend_from_slice(b"M\0\x02");
        text("frames", &mut bytes);
        bytes.extend_from_slice(b"](");
        for (name, file, line) in RECORDER.iter().chain(*stack) {
            bytes.extend_from_slice(b"}(");
            text("name", &mut bytes);
            text(name, &mut bytes);
            text("filename", &mut bytes);
            text(file, &mut bytes);
            text("line", &mut bytes);
            bytes.extend_from_slice(&[b'K', *line, b'u']);
        }
        bytes.extend_from_slice(b"eu");
    }
    bytes.extend_from_slice(b"eeu.");
    bytes
}

/// Reserved memory ends at the sum of the segments. Without them, or without the last events, it is what the events need at least.
#[test]
fn reserved_memory_ends_at_the_segments() {
    for (path, expected) in cases() {
        if expected["devices"].as_array().is_none_or(|devices| devices.is_empty()) {
            continue;
        }
        let trace = import("x.pickle", &unpacked(&path), None).unwrap();
        let own = snapshot(&trace);
        for number in 0..own.devices.len() {
            let (mut last, mut least_unused) = (0, i64::MAX);
            own.replay(number, |_, usage| {
                last = usage.reserved;
                least_unused = least_unused.min(last - usage.in_blocks as i64);
            });
            if own.devices[number].is_reserved_least {
                assert_eq!(least_unused, 0, "{} device {number}", path.display());
                assert!(own.is_cut || !own.knows_reserved(number));
                continue;
            }
            let wanted: u64 = own.segments_of(number).map(|segment| segment.total_size).sum();
            assert_eq!(last, wanted as i64, "{} device {number}", path.display());
        }
    }
}

/// Stack profiles have the weights of the devices.
#[test]
fn stack_profiles_add_up() {
    for (path, _) in cases() {
        let Ok(trace) = import("x.pickle", &unpacked(&path), None) else { continue };
        for (number, device) in snapshot(&trace).devices.iter().enumerate() {
            let total = |measure: &str| -> i128 {
                let own = trace.stack_profiles.iter().filter(|profile| {
                    trace.strings.get(profile.measure) == measure
                        && trace.strings.get(profile.thread) == format!("GPU {number}")
                });
                own.flat_map(|it| (0..it.len()).filter_map(|row| it.weight.digits_at(row))).sum()
            };
            let peak = if snapshot(&trace).has_events() { device.peak.bytes } else { 0 };
            assert_eq!(total("memory at peak"), i128::from(peak));
            assert_eq!(total("memory live at end"), i128::from(device.active_at_end));
            assert_eq!(total("memory allocated"), i128::from(device.allocated_total.bytes));
        }
    }
}

/// A pickle of protocol 2.
fn pickled(value: &Value) -> Vec<u8> {
    fn add(value: &Value, bytes: &mut Vec<u8>) {
        let text = |text: &str, bytes: &mut Vec<u8>| {
            bytes.push(b'X');
            bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        };
        match value {
            Value::Null => bytes.push(b'N'),
            Value::Bool(is_true) => bytes.push(if *is_true { 0x88 } else { 0x89 }),
            Value::Number(number) => {
                bytes.extend_from_slice(b"\x8a\x08");
                bytes.extend_from_slice(&number.as_i64().unwrap().to_le_bytes());
            }
            Value::String(own) => text(own, bytes),
            Value::Array(elements) => {
                bytes.extend_from_slice(b"](");
                elements.iter().for_each(|element| add(element, bytes));
                bytes.push(b'e');
            }
            Value::Object(pairs) => {
                bytes.extend_from_slice(b"}(");
                for (key, value) in pairs {
                    text(key, bytes);
                    add(value, bytes);
                }
                bytes.push(b'u');
            }
        }
    }
    let mut bytes = b"\x80\x02".to_vec();
    add(value, &mut bytes);
    bytes.push(b'.');
    bytes
}

fn made(value: &Value) -> Trace {
    import("made.pickle", &pickled(value), None).unwrap()
}

const MIB: i64 = 1 << 20;

/// An event of 1 MiB of memory, or of a few bytes, at an address in MiB.
fn event(action: &str, at: i64, size: i64, time: i64) -> Value {
    let frames = json!([{"filename": "/app/train.py", "line": 10, "name": "forward"}]);
    json!({"action": action, "addr": at * MIB, "size": size, "stream": 0, "time_us": time, "frames": frames})
}

fn freed(at: i64, size: i64, time: i64) -> [Value; 2] {
    [event("free_requested", at, size, time), event("free_completed", at, size, time)]
}

fn oom(size: i64, free: i64, time: i64) -> Value {
    json!({"action": "oom", "size": size, "device_free": free, "stream": 0, "time_us": time, "frames": []})
}

/// A segment of blocks, each with its size in MiB and whether it is active.
fn segment(at: i64, stream: i64, pool: [i64; 2], is_expandable: bool, blocks: &[(i64, bool)]) -> Value {
    let state = |is_active: bool| if is_active { "active_allocated" } else { "inactive" };
    let mut address = at * MIB;
    let blocks = blocks.iter().map(|(size, is_active)| {
        let block = json!({
            "address": address, "size": size * MIB, "requested_size": size * MIB, "state": state(*is_active),
            "frames": [],
        });
        address += size * MIB;
        block
    });
    let blocks: Vec<Value> = blocks.collect();
    json!({
        "device": 0, "address": at * MIB, "total_size": address - at * MIB, "stream": stream,
        "segment_type": "large", "segment_pool_id": pool, "is_expandable": is_expandable, "frames": [],
        "blocks": blocks,
    })
}

/// Text of the finding with an ID; empty without one.
fn says(value: &Value, id: &str) -> String {
    let report = report(made(value));
    assert!(report.tables().all(|table| table.is_sound()));
    let all = report.blocks.iter().filter_map(|block| match block {
        Block::Findings(it) => Some(&it.findings),
        _ => None,
    });
    all.flatten().find(|finding| finding.id == id).map_or(String::new(), |finding| finding.text.clone())
}

/// Fragmentation is the cause only where blocks that the request could use are too small, but together large enough.
#[test]
fn causes_of_out_of_memory_are_told_apart() {
    let text = |segments: Value, events: &[Value], settings: Value| {
        let all = json!({"segments": segments, "device_traces": [events], "allocator_settings": settings});
        says(&all, "out-of-memory")
    };
    let check = |text: String, with: &[&str], without: &[&str]| {
        assert!(with.iter().all(|part| text.contains(part)), "{text}");
        assert!(without.iter().all(|part| !text.contains(part)), "{text}");
    };
    const TRY: &str = "Try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.";
    let none = || json!({});
    let reserved = |size: i64| event("segment_alloc", 0, size * MIB, 1);

    // 10 + 30 MiB: a block of 30 MiB is enough for 15 MiB, but another stream's.
    let events = [reserved(40), event("alloc", 0, 10 * MIB, 2), oom(15 * MIB, 2 * MIB, 3)];
    let blocks = [(10, true), (30, false)];
    check(
        text(json!([segment(0, 7, [0, 0], false, &blocks)]), &events, none()),
        &[
            "30.0 MiB reserved but not active. A block of 30.0 MiB is large enough, but belongs to stream 7 (the request: stream 0).",
            "fragmentation is not the cause",
        ],
        &[TRY],
    );
    // Or of a CUDA graph.
    check(
        text(json!([segment(0, 0, [0, 1], false, &blocks)]), &events, none()),
        &["A block of 30.0 MiB is large enough, but belongs to private pool (0, 1).", "not the cause"],
        &[TRY],
    );
    // On its own stream, it is unknown why the block was not used.
    check(
        text(json!([segment(0, 0, [0, 0], false, &blocks)]), &events, none()),
        &["A block of 30.0 MiB on the stream of the request is large enough", "not the cause"],
        &[TRY],
    );
    // Blocks of 10 and 20 MiB of another stream: 30 MiB are enough for 25 MiB, but none of it on stream 0.
    let events_25 = [reserved(40), event("alloc", 10, 10 * MIB, 2), oom(25 * MIB, 2 * MIB, 3)];
    check(
        text(
            json!([segment(0, 7, [0, 0], false, &[(10, false), (10, true), (20, false)])]),
            &events_25,
            none(),
        ),
        &["30.0 MiB reserved but not active, only 0 B of it on its stream and in its pool."],
        &[TRY, "fragmentation"],
    );

    // 5 + 15 MiB between active blocks are together enough for 18 MiB.
    let events = [
        reserved(40),
        event("alloc", 0, 10 * MIB, 2),
        event("alloc", 15, 10 * MIB, 2),
        oom(18 * MIB, 2 * MIB, 3),
    ];
    let blocks = [(10, true), (5, false), (10, true), (15, false)];
    let fragmented = "20.0 MiB reserved but not active on its stream and in its pool, the largest block 15.0 MiB, so fragmentation is the cause.";
    check(
        text(json!([segment(0, 0, [0, 0], false, &blocks)]), &events, none()),
        &[fragmented, TRY],
        &["are on"],
    );
    // The advice is no use where it was followed.
    let is_on = [
        (false, json!({"expandable_segments": true})),
        (false, json!({"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64,expandable_segments:True"})),
        (true, json!({"expandable_segments": false})),
    ];
    for (is_expandable, settings) in is_on {
        check(
            text(json!([segment(0, 0, [0, 0], is_expandable, &blocks)]), &events, settings),
            &[fragmented, "Expandable segments are on already."],
            &[TRY],
        );
    }
    // With a free of what was active, the blocks at the time are unknown: 40 − 20 MiB is the most.
    let mut later = events.to_vec();
    later.extend(freed(0, 10 * MIB, 4));
    let blocks = [(15, false), (10, true), (15, false)];
    check(
        text(json!([segment(0, 0, [0, 0], false, &blocks)]), &later, none()),
        &["up to 20.0 MiB reserved but not active, so fragmentation is the likely cause.", TRY],
        &[],
    );

    // 100 MiB are free and 50 MiB requested.
    let events = [reserved(40), event("alloc", 0, 40 * MIB, 2), oom(50 * MIB, 100 * MIB, 3)];
    check(
        text(json!([segment(0, 0, [0, 0], false, &[(40, true)])]), &events, none()),
        &["100.0 MiB free on the device, which is enough.", "set_per_process_memory_fraction"],
        &[TRY, "reserved but"],
    );
    // 12 MiB are free and 5 MiB requested, but the allocator reserves 20 MiB for them.
    let events = [reserved(40), event("alloc", 0, 40 * MIB, 2), oom(5 * MIB, 12 * MIB, 3)];
    check(
        text(json!([segment(0, 0, [0, 0], false, &[(40, true)])]), &events, none()),
        &["0 B reserved but not active. The memory was full.", "needs a new segment of 20.0 MiB."],
        &[TRY, "which is enough"],
    );
}

/// Blocks of 512 bytes for 4 bytes each fill a segment: that is rounding, and nothing is inactive.
#[test]
fn rounding_is_no_fragmentation() {
    let rows = 0..4096i64;
    let at = |row: i64| 512 * row;
    let mut events = vec![event("segment_alloc", 0, 2 * MIB, 1)];
    events.extend(rows.clone().map(
        |row| json!({"action": "alloc", "addr": at(row), "size": 4, "stream": 0, "time_us": 2, "frames": []}),
    ));
    events.push(oom(MIB, 0, 3));
    let blocks: Vec<Value> = rows
        .map(|row| {
            json!({
                "address": at(row), "size": 512, "requested_size": 4, "state": "active_allocated", "frames": [],
            })
        })
        .collect();
    let mut segment = segment(0, 0, [0, 0], false, &[]);
    segment["segment_type"] = json!("small");
    segment["total_size"] = json!(2 * MIB);
    segment["blocks"] = json!(blocks);
    let all = json!({"segments": [segment], "device_traces": [events]});
    // 2 MiB − 4096 × 4 B = 1.98 MiB.
    let text = says(&all, "out-of-memory");
    assert!(
        text.contains("0 B reserved but not active. The memory was full. 1.98 MiB is rounding"),
        "{text}"
    );
    let report = report(made(&all));
    let table = report.tables().find(|table| table.id == "out_of_memory").unwrap();
    assert_eq!(table.column("unused").unwrap().cells.get(0).as_f64(), Some(0.0));
    // Without the blocks, sizes as multiples of 512 bytes show the same.
    let mut without = all.clone();
    without["segments"][0]["blocks"] = json!([]);
    let text = says(&without, "out-of-memory");
    assert!(text.contains("0 B reserved but not active. The memory was full."), "{text}");
}

/// Growth is that of steps after the first one, and only of what is still there at the end.
#[test]
fn growth_is_counted_by_steps_and_lasts() {
    // Ranges of a name each, in which 1 MiB is allocated; 4 MiB more come and go.
    let snapshot = |names: &[&str], free_at: Option<i64>| {
        let (mut events, mut annotations) = (Vec::new(), Vec::new());
        for (name, at) in names.iter().zip(0i64..) {
            let start = at * 1000;
            let mark =
                |stage: &str, time: i64| json!({"stage": stage, "name": name, "device": 0, "time_us": time});
            annotations.extend([mark("START", start), mark("END", start + 900)]);
            events.push(event("alloc", at, MIB, start + 100));
            events.push(event("alloc", 500, 4 * MIB, start + 200));
            events.extend(freed(500, 4 * MIB, start + 300));
        }
        if let Some(time) = free_at {
            (0..names.len() as i64).for_each(|at| events.extend(freed(at, MIB, time)));
        }
        json!({"segments": [], "device_traces": [events], "external_annotations": annotations})
    };
    let steps = ["ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4"];
    let growth = |names: &[&str], free_at| says(&snapshot(names, free_at), "growth");
    let text = growth(&steps, None);
    assert!(
        text.contains("grows in 4 “ProfilerStep#” ranges in a row after the first one, by 1.00 MiB each"),
        "{text}"
    );
    assert!(growth(&steps[..4], None).contains("grows in 3 "));
    assert_eq!(growth(&steps[..3], None), "");
    // Ranges of one name are steps, too.
    assert!(growth(&["forward"; 5], None).contains("grows in 4 “forward” ranges"));
    // Freed by the end.
    assert_eq!(growth(&steps, Some(9000)), "");
    // Layers of one pass, whether they are freed or not.
    let layers = ["layer0", "layer1", "layer2", "layer3", "layer4"];
    assert_eq!(growth(&layers, Some(9000)), "");
    assert_eq!(growth(&layers, None), "");
}

/// The advice for snapshots without stacks names the setting that records them.
#[test]
fn missing_stacks_come_with_the_setting_that_records_them() {
    let mut event = event("alloc", 1, MIB, 1);
    let notes = |event: &Value| -> Vec<String> {
        let report = report(made(&json!({"segments": [], "device_traces": [[event]]})));
        let notes = report.blocks.iter().filter_map(|block| match block {
            Block::Note(note) => Some(note.text.clone()),
            _ => None,
        });
        notes.filter(|text| text.contains("stack")).collect()
    };
    assert_eq!(notes(&event), [""; 0]);
    event["frames"] = Value::Null;
    let found = notes(&event);
    assert!(found[0].contains("context=\"all\"") && !found[0].contains("stacks="), "{found:?}");
}

/// Without events only the end is known.
#[test]
fn without_events_the_peak_is_unknown() {
    let all =
        json!({"segments": [segment(1, 0, [0, 0], false, &[(20, true), (4, false)])], "device_traces": [[]]});
    let summary = report(made(&all)).summary;
    assert!(
        summary.starts_with(
            "GPU memory: 20.0 MiB on GPU 0 when the snapshot was taken; its peak was not recorded"
        ),
        "{summary}"
    );
}

/// GPUs peak at different moments, so stacks of several are never added up.
#[test]
fn stacks_of_gpus_stay_apart() {
    let alloc = |name: &str, size: i64| {
        json!({
            "action": "alloc", "addr": MIB, "size": size, "stream": 0, "time_us": 1,
            "frames": [{"filename": "/app/train.py", "line": 1, "name": name}],
        })
    };
    // GPU 1 is fuller than GPU 0, and GPU 2 has nothing.
    let two = || {
        let traces = json!([[alloc("backward", 8 * MIB)], [alloc("forward", 30 * MIB)], []]);
        made(&json!({"segments": [], "device_traces": traces}))
    };
    let run = Run::single(two());
    let query = Query { memory_at: Some(0), ..Query::default() };
    let context = Context::new(&run, &query);
    let report = (stack_functions::INFO.run)(&context);
    assert_eq!(report.summary, "forward has the most on GPU 1: 100.0% self (30.0 MiB of 30.0 MiB).");
    let titles: Vec<&str> = report.tables().map(|table| table.title.as_str()).collect();
    assert!(titles.contains(&"Functions by GPU 0, memory at peak"), "{titles:?}");
    assert!(titles.contains(&"Functions by GPU 1, memory at peak"), "{titles:?}");
    assert!(titles.contains(&"Functions by GPU 1, allocations"), "{titles:?}");
    assert!(!titles.contains(&"Functions by memory at peak"), "{titles:?}");
    let graphs = flame::graphs(&context);
    let total = |title: &str| graphs.iter().find(|graph| graph.title == title).map(|graph| graph.total());
    let mib = MIB as f64;
    assert_eq!(total("Stacks by GPU 0, memory at peak"), Some(8.0 * mib));
    assert_eq!(total("Stacks by GPU 1, memory at peak"), Some(30.0 * mib));
    assert_eq!(total("Stacks by GPU 0, memory allocated"), Some(8.0 * mib));
    assert_eq!(total("Stacks by GPU 0, memory at 0 ns"), Some(8.0 * mib));
    assert_eq!(total("Stacks by GPU 1, memory at 0 ns"), Some(30.0 * mib));
    assert_eq!(graphs[0].title, "Stacks by GPU 1, memory at peak");

    // With one GPU, names are as before.
    let one = made(&json!({"segments": [], "device_traces": [[], [alloc("forward", 30 * MIB)]]}));
    let run = Run::single(one);
    let context = Context::new(&run, &query);
    let graphs = flame::graphs(&context);
    assert_eq!(graphs[0].title, "Stacks by memory at peak");
    assert!(graphs.iter().any(|graph| graph.title == "Stacks by memory at 0 ns"));
    let summary = (stack_functions::INFO.run)(&context).summary;
    assert_eq!(summary, "forward has the most: 100.0% self (30.0 MiB of 30.0 MiB).");
}
