//! Captures of memray 1.11 to 1.20 (header versions 11 to 13): every allocation of a Python program.
//!
//! A capture is a header and records of one or more bytes. Records depend on earlier ones: address deltas, pushed and popped
//! functions, code ids. They are read as they come. A compressed capture is one LZ4 frame, which is decompressed like any
//! other file.
//!
//! The result is memory accesses: an allocation is a store by the innermost Python function, a deallocation a load without a
//! function. Records have no timestamps; each gets the time of the preceding memory sample. File layout: memray,
//! `src/memray/_memray/records.h` and `record_reader.cpp`. Memory at the peak, leaked memory and temporary allocations are also
//! stack profiles, by thread (`stacks`).
//!
//! Aggregated captures state the memory of each stack at the peak and at the end, and nothing else: no accesses, no totals, no
//! temporary allocations, no time of the peak.

mod aggregated;
mod allocators;
mod cursor;
pub mod decode;
pub mod header;
mod issues;
mod lines;
mod live;
mod records;
mod stacks;

use self::allocators::Allocator;
use self::decode::{Allocation, Decoder, Next, NodeId, Oddity};
use self::header::{AGGREGATED, MAGIC, VERSIONS};
use self::issues::*;
use self::live::{Amount, Live, Place, PlaceAmounts};
use self::records::Sums;
use super::{Confidence, FormatInfo, ImportError, Reader};
use crate::base::json::write::push_string;
use crate::base::strings::{StringId, StringTable};
use crate::base::units::{counted, format_bytes};
use crate::trace::accesses::{Access, Op};
use crate::trace::{Position, TraceBuilder};

pub static INFO: FormatInfo = FormatInfo {
    id: "memray",
    title: "memray capture",
    producers: "memray 1.11 to 1.20",
    extensions: &["bin"],
    sniff: |head| if head.starts_with(MAGIC) { Confidence::Certain } else { Confidence::No },
    reader: || Box::new(MemrayReader::default()),
    parts: None,
    has_events: false,
    issues: issues::ALL,
};

/// memray captures with the timestamps of mrm-trace 0.1.0, which are all 0.
pub static SEED_INFO: FormatInfo = FormatInfo {
    id: "memray-seed",
    title: "memray capture, timestamps as in mrm-trace 0.1.0",
    producers: "memray (to compare with mrm-trace)",
    extensions: &[],
    sniff: |_| Confidence::No,
    reader: || Box::new(MemrayReader { has_no_clock: true, ..MemrayReader::default() }),
    parts: None,
    has_events: false,
    issues: issues::ALL,
};

#[derive(Default)]
struct MemrayReader {
    /// All timestamps are 0.
    has_no_clock: bool,
    decoder: Decoder,
    /// Allocation counts by allocator, in order of first appearance.
    counts: Vec<(Allocator, u64)>,
    /// Threads in order of first appearance.
    threads: Vec<Thread>,
    /// Bytes allocated in total, and peak bytes.
    allocated_bytes: u64,
    largest_bytes: u64,
    max_rss: u64,
    live: Live,
    is_closed: bool,
    /// An invalid record was found; reading stopped there.
    is_damaged: bool,
    /// First non-zero byte after the end, if any, and the read position there.
    trailing: Option<u64>,
    n_bytes: u64,
}

/// Facts about a thread.
struct Thread {
    tid: u64,
    /// Its last name.
    name: Option<StringId>,
    n_allocations: u64,
    allocated_bytes: u64,
}

/// Maximum number of threads whose allocations are listed.
const MAX_THREADS_TOLD: usize = 64;

impl Reader for MemrayReader {
    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "records".into();
        if self.is_closed {
            self.look_behind_end(bytes, out);
        }
        self.n_bytes += bytes.len() as u64;
        if self.is_closed || self.is_damaged {
            return Ok(());
        }
        self.decoder.push(bytes);
        self.read(out)
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "records".into();
        self.decoder.finish();
        if !self.is_closed && !self.is_damaged {
            self.read(out)?;
        }
        let Some(header) = self.decoder.header() else { return Err(cut_in_header()) };
        let ledger = &mut out.trace.ledger;
        let (_, end) = self.decoder.last_record();
        let at = Position { byte: end, line: None };
        if self.is_damaged {
            // How many bytes follow depends on chunk boundaries, so only one is shown.
            let first = self.decoder.rest().get(..1).unwrap_or_default();
            ledger.skip_record(&DAMAGED, at, self.n_bytes.saturating_sub(end), hex(first).as_bytes());
        } else if !self.decoder.rest().is_empty() && !self.is_closed {
            let rest = self.decoder.rest();
            ledger.skip_record(&CUT, at, rest.len() as u64, hex(rest).as_bytes());
        } else if !self.is_closed {
            let counts =
                format!("the header states {}", counted(header.n_allocations, "allocation", "allocations"));
            ledger.file(&NO_TRAILER, at, counts.as_bytes());
        }
        if let Some(byte) = self.trailing {
            ledger.file(&TRAILING, Position { byte, line: None }, b"");
        }
        self.describe(out);
        Ok(())
    }

    fn snapshot(&self, out: &mut TraceBuilder) {
        self.describe(out);
    }
}

impl MemrayReader {
    fn read(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        loop {
            match self.decoder.next(&mut out.trace.strings) {
                Next::More => return Ok(()),
                Next::Header => {
                    let format = self.decoder.header().map_or(0, |header| header.file_format);
                    if format > AGGREGATED {
                        return Err(unknown_format(format));
                    }
                    self.frame(out);
                }
                Next::Version(version) => return Err(unknown_version(version)),
                Next::Allocation(allocation) => {
                    self.keep(out);
                    self.push(allocation, out);
                }
                Next::Sums { node, sums } => {
                    self.keep(out);
                    self.add_sums(node, sums);
                }
                Next::Memory { rss, .. } => {
                    self.max_rss = self.max_rss.max(rss);
                    self.keep(out);
                }
                Next::ThreadName { tid, name } => {
                    self.keep(out);
                    if let Some(thread) = self.thread(tid) {
                        thread.name = Some(name);
                    }
                }
                Next::Other(oddity) => {
                    self.keep(out);
                    if let Some(oddity) = oddity {
                        let kind = match oddity {
                            Oddity::UnknownFrame => &UNKNOWN_FRAME,
                            Oddity::Underflow => &UNDERFLOW,
                        };
                        let at = Position { byte: self.decoder.last_record().0, line: None };
                        out.trace.ledger.file(kind, at, b"");
                    }
                }
                Next::Padding => self.frame(out),
                Next::End => {
                    self.keep(out);
                    self.is_closed = true;
                    let (_, end) = self.decoder.last_record();
                    let (rest, n_bytes) = (self.decoder.rest().to_vec(), self.n_bytes);
                    self.n_bytes = end;
                    self.look_behind_end(&rest, out);
                    self.n_bytes = n_bytes;
                    return Ok(());
                }
                Next::Bad => {
                    self.is_damaged = true;
                    return Ok(());
                }
            }
        }
    }

    /// Bytes that are not records count as framing.
    fn frame(&self, out: &mut TraceBuilder) {
        let (start, end) = self.decoder.last_record();
        out.trace.ledger.frame(end - start);
    }

    fn keep(&self, out: &mut TraceBuilder) {
        let (start, end) = self.decoder.last_record();
        out.trace.ledger.keep(end - start);
    }

    fn push(&mut self, allocation: Allocation, out: &mut TraceBuilder) {
        let Allocation { tid, address, allocator, ms, size } = allocation;
        if !allocator.is_free {
            self.allocated_bytes = self.allocated_bytes.saturating_add(size);
            self.largest_bytes = self.largest_bytes.max(size);
            if let Some(thread) = self.thread(tid) {
                thread.n_allocations += 1;
                thread.allocated_bytes = thread.allocated_bytes.saturating_add(size);
            }
        }
        let number = self.count(allocator);
        if allocator.is_free {
            let is_part = !allocator.is_simple_free();
            self.live.free(tid, address, is_part.then_some(size), ms);
        } else {
            let place = self.place(tid, self.decoder.node(tid), number);
            self.live.allocate(tid, address, size, place, allocator.is_mapping(), ms);
        }
        let frame = if allocator.is_free { None } else { self.decoder.stack(tid).next().flatten() };
        let (symbol, dso) =
            frame.map_or((StringId::EMPTY, StringId::EMPTY), |frame| (frame.function, frame.file));
        let accesses = &mut out.trace.accesses;
        accesses.push(&Access {
            sample: accesses.len() as u64,
            ts: if self.has_no_clock { 0 } else { ms.saturating_mul(1_000_000) },
            address,
            op: if allocator.is_free { Op::Load } else { Op::Store },
            symbol: Some(symbol),
            dso: Some(dso),
            thread: i64::try_from(tid).ok(),
            ..Access::default()
        });
    }

    /// Adds memory that an aggregated capture states.
    fn add_sums(&mut self, node: NodeId, Sums { tid, allocator, at_peak, now }: Sums) {
        let number = self.count(allocator);
        // It is listed from now on.
        self.thread(tid);
        let place = self.place(tid, node, number);
        self.live.add_stated(place, at_peak, now);
    }

    /// Counts a record of an allocator. Returns the number of the allocator.
    fn count(&mut self, allocator: Allocator) -> usize {
        match self.counts.iter_mut().position(|(other, _)| *other == allocator) {
            Some(at) => {
                self.counts[at].1 += 1;
                at
            }
            None => {
                self.counts.push((allocator, 1));
                self.counts.len() - 1
            }
        }
    }

    fn place(&self, tid: u64, node: NodeId, allocator: usize) -> Place {
        let thread = self.threads.iter().position(|thread| thread.tid == tid);
        Place { thread: thread.unwrap_or(MAX_THREADS_TOLD) as u32, node, allocator: allocator as u32 }
    }

    /// Facts about a thread; `None` for threads beyond the limit.
    fn thread(&mut self, tid: u64) -> Option<&mut Thread> {
        if let Some(at) = self.threads.iter().position(|thread| thread.tid == tid) {
            return self.threads.get_mut(at);
        }
        if self.threads.len() < MAX_THREADS_TOLD {
            self.threads.push(Thread { tid, name: None, n_allocations: 0, allocated_bytes: 0 });
            return self.threads.last_mut();
        }
        None
    }

    /// Memory-mapped files are padded with zeros; anything else after the end is an issue.
    fn look_behind_end(&mut self, bytes: &[u8], out: &mut TraceBuilder) {
        let n_zeros = match self.trailing {
            None => bytes.iter().take_while(|byte| **byte == 0).count(),
            Some(_) => 0,
        };
        out.trace.ledger.frame(n_zeros as u64);
        out.trace.ledger.leave_out((bytes.len() - n_zeros) as u64);
        if n_zeros < bytes.len() {
            self.trailing.get_or_insert(self.n_bytes + n_zeros as u64);
        }
    }

    fn describe(&self, out: &mut TraceBuilder) {
        let Some(header) = self.decoder.header() else { return };
        let is_aggregated = header.is_aggregated();
        let threads = self.threads_told(&out.trace.strings, is_aggregated);
        if !is_aggregated {
            out.trace.accesses.set_expected();
        }
        if !out.trace.accesses.is_empty() && !self.has_no_clock {
            out.trace.ledger.file(&APPROXIMATE_CLOCK, Position::NOWHERE, b"");
        }
        let source = &mut out.trace.source;
        source.producer = Some("memray".to_string());
        let kind = |allocator: &Allocator| match is_aggregated {
            true => format!("{}, by stack", allocator.name),
            false => allocator.name.to_string(),
        };
        source.record_kinds = self.counts.iter().map(|(it, count)| (kind(it), *count)).collect();
        let mut facts = vec![
            ("header_version", header.version.to_string()),
            ("command_line", header.command_line.clone()),
            ("pid", header.pid.to_string()),
            ("main_thread_id", header.main_tid.to_string()),
            ("start_time_ms", header.start_ms.to_string()),
            ("end_time_ms", header.end_ms.to_string()),
            ("python_allocator", header.python_allocator_name().to_string()),
            ("trace_python_allocators", header.trace_python_allocators.to_string()),
            ("native_traces", header.native_traces.to_string()),
            ("max_rss_bytes", self.max_rss.to_string()),
            ("threads", threads),
        ];
        let (mut peak, mut at_end) = (Amount::default(), Amount::default());
        let names = self.threads.iter().map(|thread| {
            let name = thread.name.map(|name| out.trace.strings.get(name)).filter(|name| !name.is_empty());
            name.map_or_else(|| thread.tid.to_string(), |name| format!("{} {name}", thread.tid))
        });
        let mut by_thread: Vec<(String, Amount)> =
            names.chain(["other threads".to_string()]).map(|name| (name, Amount::default())).collect();
        let mut by_allocator: Vec<(String, Amount)> =
            self.counts.iter().map(|(it, _)| (it.name.to_string(), Amount::default())).collect();
        let places: Vec<PlaceAmounts> = self.live.places().collect();
        for PlaceAmounts { place, at_peak, now, .. } in &places {
            peak.add(at_peak.bytes, at_peak.n);
            at_end.add(now.bytes, now.n);
            let thread = (place.thread as usize).min(self.threads.len());
            by_thread[thread].1.add(at_peak.bytes, at_peak.n);
            by_allocator[place.allocator as usize].1.add(at_peak.bytes, at_peak.n);
        }
        facts.extend([
            ("peak_live_bytes", peak.bytes.to_string()),
            ("peak_live_allocations", peak.n.to_string()),
            ("live_at_end_bytes", at_end.bytes.to_string()),
            ("peak_by_thread", amounts_told(&by_thread)),
            ("peak_by_allocator", amounts_told(&by_allocator)),
        ]);
        if is_aggregated {
            facts.push(("aggregated", "true".to_string()));
        } else {
            // Timestamps are relative to the start, or to 1970.
            let peak_ms = self.live.peak_ms();
            let after_ms = Some(peak_ms.saturating_sub(header.start_ms)).filter(|ms| *ms >= 0);
            facts.extend([
                ("allocated_bytes", self.allocated_bytes.to_string()),
                ("largest_allocation_bytes", self.largest_bytes.to_string()),
                ("peak_after_ms", after_ms.unwrap_or(peak_ms).to_string()),
                ("frees_of_unknown_memory", self.live.n_unknown_frees.to_string()),
            ]);
        }
        if let Some(version) = header.python_version_text() {
            facts.insert(1, ("python_version", version));
        }
        source.metadata.extend(facts.into_iter().map(|(name, text)| (name.to_string(), text)));
        let threads: Vec<_> = self.threads.iter().map(|thread| (thread.tid, thread.name)).collect();
        stacks::add_profiles(&self.decoder, &places, &threads, &mut out.trace);
    }
}

impl MemrayReader {
    /// Allocations of each thread, by name if it has one, as JSON. Aggregated captures have only the names.
    fn threads_told(&self, strings: &StringTable, is_aggregated: bool) -> String {
        let told = self.threads.iter().map(|thread| {
            let name = thread.name.map(|name| strings.get(name)).filter(|name| !name.is_empty());
            let name = name.map_or(String::new(), |name| format!(" {name}"));
            if is_aggregated {
                return format!("{}{name}", thread.tid);
            }
            let n = counted(thread.n_allocations, "allocation", "allocations");
            format!("{}{name}: {n}, {}", thread.tid, format_bytes(thread.allocated_bytes))
        });
        told.collect::<Vec<_>>().join("; ")
    }
}

/// Amounts above 0 as JSON.
fn amounts_told(amounts: &[(String, Amount)]) -> String {
    let told = amounts.iter().filter(|(_, amount)| amount.n > 0).map(|(name, amount)| {
        let mut quoted = Vec::new();
        push_string(name, &mut quoted);
        let name = String::from_utf8_lossy(&quoted);
        format!(r#"{{"name":{name},"bytes":{},"allocations":{}}}"#, amount.bytes, amount.n)
    });
    format!("[{}]", told.collect::<Vec<_>>().join(","))
}

/// First bytes in hexadecimal, for an example.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(16).map(|byte| format!("{byte:02x} ")).collect::<String>().trim_end().to_string()
}

fn unknown_format(format: u8) -> ImportError {
    ImportError {
        code: "memray-version",
        what: format!("this memray capture is of an unknown kind: {format}"),
        hint: "record again with a supported version".to_string(),
    }
}

fn unknown_version(version: Option<i32>) -> ImportError {
    let read =
        format!("versions {} to {} are supported (memray 1.11 to 1.20)", VERSIONS.start(), VERSIONS.end());
    let what = match version {
        Some(version) => format!("this memray capture has header version {version}; {read}"),
        None => format!("this is not a memray capture; {read}"),
    };
    ImportError { code: "memray-version", what, hint: "record again with a supported version".to_string() }
}

fn cut_in_header() -> ImportError {
    ImportError {
        code: "memray-cut",
        what: "the capture ends inside its header".to_string(),
        hint: "check that the file was copied completely".to_string(),
    }
}
