//! Captures of memray against what memray's own reader makes of them.

use crate::support::{data_dirs, files, for_each_cut, import, own_dir};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use tracedrop::analysis::{Context, Query, memray};
use tracedrop::base::strings::StringTable;
use tracedrop::import::memray::decode::{Decoder, Next};
use tracedrop::import::memray::{INFO, SEED_INFO};
use tracedrop::import::unpack::{Packing, Unpacker};
use tracedrop::report::Block;
use tracedrop::trace::accesses::Op;
use tracedrop::trace::samples::StackId;
use tracedrop::trace::{Run, Trace};

/// Captures and what memray says of each, of all places where there are some.
fn captures() -> Vec<(String, Vec<u8>, Value)> {
    let mut captures = Vec::new();
    for path in data_dirs("mrm").iter().flat_map(|dir| files(&dir.join("memray"), &[".bin"])) {
        let golden = std::fs::read(path.with_extension("expected.json.gz")).unwrap();
        let mut text = String::new();
        flate2::read::GzDecoder::new(golden.as_slice()).read_to_string(&mut text).unwrap();
        let expected = serde_json::from_str(&text).unwrap();
        captures.push((path.display().to_string(), std::fs::read(&path).unwrap(), expected));
    }
    assert!(captures.len() >= 12);
    captures
}

fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let Some(packing) = Packing::sniff(bytes) else { return bytes.to_vec() };
    let mut out = Vec::new();
    let mut unpacker = Unpacker::new(packing);
    unpacker
        .feed(bytes, &mut |piece| -> Result<(), ()> {
            out.extend_from_slice(piece);
            Ok(())
        })
        .unwrap();
    unpacker.finish(&mut |_| -> Result<(), ()> { Ok(()) }).unwrap();
    assert!(unpacker.problem().is_none());
    out
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// All that memray's reader tells but: the heap at the time of a measurement and its peak, which it adds up itself from the
/// records; names of threads.
#[test]
fn records_are_those_of_memray() {
    for (name, bytes, expected) in captures() {
        let content = unpacked(&bytes);
        let mut strings = StringTable::default();
        let mut decoder = Decoder::default();
        decoder.push(&content);
        let (mut records, mut snapshots, mut at_peak) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            match decoder.next(&mut strings) {
                Next::More | Next::Version(_) | Next::Bad => panic!("{name}"),
                Next::End => break,
                Next::Header | Next::Padding | Next::ThreadName { .. } => {}
                Next::Other(oddity) => assert_eq!(oddity, None, "{name}"),
                Next::Memory { ms, rss } => snapshots.push(json!([ms, rss])),
                Next::Sums { sums, .. } if sums.at_peak.n == 0 => {}
                Next::Sums { sums, .. } => at_peak.push((sums.at_peak.bytes, sums.at_peak.n)),
                Next::Allocation(it) => {
                    let with_stack = !it.allocator.is_free;
                    let stack: Vec<Value> = decoder
                        .stack(it.tid)
                        .filter(|_| with_stack)
                        .map(|frame| {
                            let frame = frame.unwrap();
                            json!([
                                strings.get(frame.function),
                                strings.get(frame.file),
                                frame.line.unwrap_or(0)
                            ])
                        })
                        .collect();
                    records.push((it.tid, it.address, it.size, it.allocator.name.to_uppercase(), stack));
                }
            }
        }
        let header = decoder.header().unwrap();
        let meta = &expected["metadata"];
        let got = json!({
            "start_time_ms": header.start_ms, "end_time_ms": header.end_ms, "total_allocations": header.n_allocations,
            "total_frames": header.n_frames, "command_line": header.command_line, "pid": header.pid,
            "main_thread_id": header.main_tid, "python_allocator": header.python_allocator_name(),
            "has_native_traces": header.native_traces, "trace_python_allocators": header.trace_python_allocators,
            "file_format": if header.file_format == 0 { "ALL_ALLOCATIONS" } else { "AGGREGATED_ALLOCATIONS" },
            "peak_memory": meta["peak_memory"],
        });
        // Sums are counted by memray when it reads them, not in the header.
        let mut meta = meta.clone();
        if header.file_format == 1 {
            meta["total_allocations"] = json!(0);
        }
        assert_eq!(got, meta, "{name}");
        let wanted: Vec<Value> = expected["memory_snapshots"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| json!([row[0], row[1]]))
            .collect();
        assert_eq!(snapshots, wanted, "{name}");
        if header.file_format == 1 {
            assert!(expected.get("error").is_some());
            let wanted = expected["high_water_mark"].as_array().unwrap().iter();
            let mut wanted: Vec<(u64, u64)> =
                wanted.map(|row| (row[0].as_u64().unwrap(), row[1].as_u64().unwrap())).collect();
            wanted.sort_unstable();
            at_peak.sort_unstable();
            assert_eq!(at_peak, wanted, "{name}");
            continue;
        }
        let wanted = expected["records"].as_array().unwrap();
        assert_eq!(records.len(), wanted.len(), "{name}");
        for (n, ((tid, address, size, allocator, stack), wanted)) in records.iter().zip(wanted).enumerate() {
            let what = format!("{name}, record {n}");
            assert_eq!(json!([tid, address, size]), json!([wanted[0], wanted[1], wanted[2]]), "{what}");
            assert_eq!(allocator, text_of(&wanted[4]), "{what}");
            // Where memory is given back there is none.
            let wanted = wanted[5].as_array().map(Vec::as_slice).unwrap_or_default();
            assert_eq!(stack.len(), wanted.len(), "{what}");
            for (frame, wanted) in stack.iter().zip(wanted) {
                assert_eq!(frame, wanted, "{what}");
            }
        }
    }
}

/// Bytes and allocations by thread and stack, outermost frame first, as `function (file:line)`.
type Table = BTreeMap<(u64, Vec<String>), (u64, u64)>;

/// `memray table`, with `--leaks` and with `--temporary-allocations`: tables of memray itself, by name of the capture. Those of
/// version 11 are of memray 1.17.2, of 12 of 1.19.3, of 13 of 1.20.0.
fn tables_of_memray() -> Value {
    let packed = std::fs::read(own_dir("mrm").join("memray/tables.json.gz")).unwrap();
    serde_json::from_reader(flate2::read::GzDecoder::new(packed.as_slice())).unwrap()
}

fn table_of(rows: &Value) -> Table {
    let mut table = Table::new();
    for row in rows.as_array().unwrap() {
        let frames = row[3].as_array().unwrap().iter().rev();
        let frame = |it: &Value| format!("{} ({}:{})", text_of(&it[0]), text_of(&it[1]), it[2]);
        // Stacks that differ only in native frames are one.
        let sum = table.entry((row[0].as_u64().unwrap(), frames.map(frame).collect())).or_default();
        (sum.0, sum.1) = (sum.0 + row[1].as_u64().unwrap(), sum.1 + row[2].as_u64().unwrap());
    }
    table
}

/// The two weights of a table as profiles have them.
fn table_in(trace: &Trace, what: &str) -> Table {
    let text = |id| trace.strings.get(id);
    let mut table = Table::new();
    for profile in &trace.stack_profiles {
        let is_bytes = match text(profile.measure) {
            it if it == format!("{what} memory") => true,
            it if it == format!("{what} allocations") => false,
            _ => continue,
        };
        assert_eq!(text(profile.unit), if is_bytes { "bytes" } else { "count" });
        for (row, stack) in profile.stack.iter().enumerate() {
            let (mut frames, mut at) = (Vec::new(), *stack);
            while at != StackId::NONE {
                let frame = trace.frames.get(trace.stacks.frame[at.0 as usize]);
                frames.push(format!("{} ({}:{})", text(frame.name), text(frame.file), frame.line));
                at = trace.stacks.parent[at.0 as usize];
            }
            frames.reverse();
            let sum = table.entry((text(profile.thread_id).parse().unwrap(), frames)).or_default();
            let amount = profile.weight.digits_at(row).unwrap() as u64;
            *(if is_bytes { &mut sum.0 } else { &mut sum.1 }) += amount;
        }
    }
    table
}

#[test]
fn stacks_are_those_of_memrays_tables() {
    let wanted = tables_of_memray();
    for (name, bytes, _) in captures() {
        let short = std::path::Path::new(&name).file_stem().unwrap().to_str().unwrap().to_string();
        let Some(tables) = wanted.get(&short) else { continue };
        for_each_cut(&name, &bytes, None, &mut |how, trace| {
            let trace = trace.unwrap();
            for what in ["peak", "leaked", "temporary"] {
                assert_eq!(table_in(&trace, what), table_of(&tables[what]), "{name} {how}, {what}");
            }
        });
    }
}

/// What a trace says, as one text.
fn told(trace: &Trace) -> String {
    let strings = &trace.strings;
    let mut out = format!("{:?} {:?}\n", trace.source, trace.ledger);
    for it in trace.accesses.iter() {
        let (symbol, dso) = (strings.get_opt(it.symbol.unwrap()), strings.get_opt(it.dso.unwrap()));
        out += &format!(
            "{} {} {} {:?} {symbol:?} {dso:?} {:?}\n",
            it.sample, it.ts, it.address, it.op, it.thread
        );
    }
    out
}

/// Bytes that were asked for, in all and by thread, and the names of threads.
/// The peak is memray's own, and threads and allocators share it out.
fn the_peak_is_that_of_memray(name: &str, trace: Trace, expected: &Value) {
    let peak = expected["metadata"]["peak_memory"].as_u64().unwrap();
    let run = Run::single(trace);
    let report = (memray::INFO.run)(&Context::new(&run, &Query::default()));
    let facts = report.blocks.iter().find_map(|block| match block {
        Block::Facts(facts) => Some(&facts.facts),
        _ => None,
    });
    let told = facts.unwrap().iter().find(|fact| fact.id == "peak").unwrap();
    assert_eq!(told.value.plain(), peak.to_string(), "{name}");
    for table in report.tables() {
        let cells = &table.column("bytes").or_else(|| table.column("peak")).unwrap().cells;
        let sum: u64 = (0..table.n_rows()).map(|row| cells.get(row).plain().parse::<u64>().unwrap()).sum();
        assert_eq!(sum, peak, "{name}: {}", table.id);
    }
}

fn sizes_and_threads_are_told(name: &str, trace: &Trace, records: &[Value]) {
    let told = |key: &str| &trace.source.metadata.iter().find(|(known, _)| known == key).unwrap().1;
    let is_free = |record: &&Value| matches!(text_of(&record[4]), "FREE" | "PYMALLOC_FREE" | "MUNMAP");
    let given: Vec<&Value> = records.iter().filter(|record| !is_free(record)).collect();
    let size = |record: &&&Value| record[2].as_u64().unwrap();
    assert_eq!(*told("allocated_bytes"), given.iter().map(|it| size(&it)).sum::<u64>().to_string(), "{name}");
    let largest = given.iter().map(|it| size(&it)).max().unwrap_or(0);
    assert_eq!(*told("largest_allocation_bytes"), largest.to_string(), "{name}");
    for record in &given {
        let thread = match record[6].as_str() {
            Some(thread) if !thread.is_empty() => format!("{} {thread}:", record[0]),
            _ => format!("{}", record[0]),
        };
        assert!(told("threads").split("; ").any(|told| told.starts_with(&thread)), "{name}: {thread}");
    }
}

#[test]
fn accesses_follow_records_however_the_file_is_cut() {
    for (name, bytes, expected) in captures() {
        let mut whole = None;
        for_each_cut(&name, &bytes, None, &mut |how, trace| {
            let trace = trace.unwrap();
            let Some(records) = expected["records"].as_array() else {
                assert!(trace.accesses.is_empty() && trace.ledger.issues.is_empty(), "{name} {how}");
                assert_eq!(trace.ledger.accounted_bytes(), trace.ledger.content_bytes, "{name} {how}");
                the_peak_is_that_of_memray(&name, trace, &expected);
                return;
            };
            let text = told(&trace);
            let first = whole.get_or_insert_with(|| text.clone());
            assert!(*first == text, "{name} {how}");
            assert_eq!(trace.accesses.len(), records.len(), "{name}");
            for (it, record) in trace.accesses.iter().zip(records) {
                let is_free = matches!(text_of(&record[4]), "FREE" | "PYMALLOC_FREE" | "MUNMAP");
                assert_eq!(it.op, if is_free { Op::Load } else { Op::Store });
                assert_eq!(json!([it.thread.unwrap(), it.address]), json!([record[0], record[1]]));
                let innermost = &record[5][0];
                let function = if innermost.is_null() {
                    ["", ""]
                } else {
                    [text_of(&innermost[0]), text_of(&innermost[1])]
                };
                let got = [it.symbol, it.dso].map(|text| trace.strings.get(text.unwrap()));
                assert_eq!(got, function, "{name}");
            }
            let start = expected["metadata"]["start_time_ms"].as_i64().unwrap();
            let end = expected["metadata"]["end_time_ms"].as_i64().unwrap();
            assert!(
                trace.accesses.iter().all(|it| (start..=end + 20).contains(&(it.ts / 1_000_000))),
                "{name}"
            );
            assert!(trace.accesses.iter().is_sorted_by_key(|it| it.ts));
            sizes_and_threads_are_told(&name, &trace, records);
            assert_eq!(trace.ledger.count_of("memray-approximate-clock"), 1);
            assert_eq!(trace.ledger.issues.len(), 1, "{name}: {:?}", trace.ledger.issues);
            assert_eq!(trace.ledger.skipped.records, 0);
            the_peak_is_that_of_memray(&name, trace, &expected);
        });
    }
}

/// A capture whose program was killed: whatever was read before the cut is kept, and said to be cut.
#[test]
fn cut_captures_keep_what_was_read() {
    for (name, bytes, expected) in captures() {
        let Some(records) = expected["records"].as_array() else { continue };
        let content = unpacked(&bytes);
        // Files that were written straight to disk are filled up with zeros.
        let n_bytes = content.iter().rposition(|byte| *byte != 0).unwrap();
        for part in [2, 3, 5] {
            let cut = &content[..n_bytes * (part - 1) / part];
            let trace = match import(&name, cut, Some(&INFO)) {
                Ok(trace) => trace,
                // The header of version 13 holds the import path, which is most of a small capture.
                Err(error) => {
                    assert_eq!(error.code, "memray-cut");
                    continue;
                }
            };
            assert!(trace.accesses.len() < records.len(), "{name}");
            let why = trace.ledger.count_of("memray-cut") + trace.ledger.count_of("memray-no-trailer");
            assert_eq!(why, 1, "{name}: {:?}", trace.ledger.issues);
        }
        // A file that was mapped ends with zeros.
        let padded = [&content[..], &[0; 500]].concat();
        let trace = import(&name, &padded, None).unwrap();
        assert_eq!(trace.ledger.issues.len(), 1, "{name}: {:?}", trace.ledger.issues);
        let trailing = [&content[..], b"\0\0more"].concat();
        let trace = import(&name, &trailing, None).unwrap();
        assert_eq!(trace.ledger.issue("memray-trailing").unwrap().first.byte, content.len() as u64 + 2);
    }
    let bytes = unpacked(&captures().into_iter().find(|(name, ..)| name.contains("v12-cli")).unwrap().1);
    let cut = &bytes[..bytes.len() / 2];
    // 0x0f is no record of version 12.
    let damaged = [cut, &[0x0f; 30]].concat();
    for_each_cut("damaged.bin", &damaged, None, &mut |how, trace| {
        let trace = trace.unwrap();
        assert!(!trace.accesses.is_empty(), "{how}");
        let ledger = &trace.ledger;
        assert_eq!(ledger.count_of("memray-damaged") + ledger.count_of("memray-cut"), 1, "{how}");
    });
}

#[test]
fn other_versions_are_named() {
    for version in [10i32, 14, -1] {
        let bytes = [b"memray\0", &version.to_le_bytes()[..], &[0; 100]].concat();
        let error = import("x.bin", &bytes, None).err().unwrap();
        assert_eq!(error.code, "memray-version");
        assert!(error.what.contains(&format!("version {version};")), "{}", error.what);
    }
}

/// What an aggregated capture does not hold is not told, and what follows a cut or damage neither.
#[test]
fn aggregated_captures_tell_what_they_hold() {
    let (name, bytes, _) =
        captures().into_iter().find(|(name, ..)| name.contains("v13-agg-threads")).unwrap();
    let content = unpacked(&bytes);
    let run = Run::single(import(&name, &content, None).unwrap());
    let report = (memray::INFO.run)(&Context::new(&run, &Query::default()));
    // memray 1.20.0 adds up 5,225,230 bytes in 129 allocations at the peak.
    assert_eq!(report.summary, "Peak memory: 4.98 MiB in 129 allocations; 97.1% from thread 1.");
    let told: Vec<&str> = report
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Facts(facts) => Some(facts.facts.iter().map(|fact| fact.id.as_ref())),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!(told, ["peak", "peak_allocations", "at_end", "leaked_allocations", "max_rss"]);
    let sites = report.tables().find(|table| table.id == "allocation_sites").unwrap();
    assert!(sites.column("leaked").is_some() && sites.column("temporary").is_none());
    // The largest first, in every form.
    let cell = |id: &str, row: usize| sites.column(id).unwrap().cells.get(row).plain();
    let first: Vec<String> =
        (0..2).map(|row| format!("{} {}", cell("function", row), cell("peak", row))).collect();
    assert_eq!(first, ["<listcomp> 5000050", "leak 150030"]);
    let end = content.iter().rposition(|byte| *byte != 0).unwrap();
    let cut = import(&name, &content[..end - 100], None).unwrap();
    assert_eq!(cut.ledger.count_of("memray-cut"), 1);
    assert!(!cut.stack_profiles.is_empty());
    // A sum of a stack that is not there.
    let mut wrong = content.clone();
    wrong[end - 72 + 24 + 4] = 0xff;
    let damaged = import(&name, &wrong, None).unwrap();
    assert_eq!(damaged.ledger.count_of("memray-damaged"), 1, "{:?}", damaged.ledger.issues);
    let mut unknown = content;
    unknown[7 + 4 + 4 + 1] = 2;
    assert_eq!(import(&name, &unknown, None).err().unwrap().code, "memray-version");
}

/// As mrm-trace 0.1.0 reads them: the same accesses, at time 0.
#[test]
fn times_can_be_those_of_mrm_trace() {
    for (name, bytes, _) in captures() {
        let seed = import("capture.bin", &bytes, Some(&SEED_INFO));
        let usual = match import("capture.bin", &bytes, Some(&INFO)) {
            Ok(usual) => usual,
            Err(error) => {
                assert_eq!(seed.err().map(|error| error.code), Some(error.code), "{name}");
                continue;
            }
        };
        let seed = seed.unwrap();
        assert_eq!(seed.source.format, "memray-seed");
        assert_eq!(usual.accesses.len(), seed.accesses.len(), "{name}");
        assert!(seed.accesses.iter().all(|row| row.ts == 0), "{name}");
        assert!(seed.ledger.issue("memray-approximate-clock").is_none());
    }
}

/// Times of a capture are those of memory samples, one every 10 ms, so blocks that are freed sooner have no lifetime to tell.
#[test]
fn times_below_the_resolution_are_not_told_as_zero() {
    let (name, bytes, _) = captures().into_iter().find(|(name, ..)| name.contains("v13-raw")).unwrap();
    let run = Run::single(import(&name, &unpacked(&bytes), None).unwrap());
    let reports = tracedrop::analysis::reports(&run, &Query::default());
    let report = |id: &str| reports.iter().find(|report| report.id == id).unwrap();
    assert!(
        report("mrm").summary.contains("Block lifetime of kv_cache: under 10 ms"),
        "{}",
        report("mrm").summary
    );
    assert_eq!(report("mrm-kv").summary, "42 blocks: lifetime under 10 ms.");
    assert_eq!(report("mrm-kv").charts().count(), 0);
    assert!(report("memray").summary.contains("under 10 ms after the start"), "{}", report("memray").summary);
    // All accesses are at one sample.
    let over_time = report("mrm-time");
    assert!(over_time.summary.ends_with("All accesses have one timestamp, so nothing is over time."));
    assert_eq!(over_time.charts().count(), 0);
    assert!(!report("mrm").charts().any(|chart| chart.id == "retention_chart"));
}
