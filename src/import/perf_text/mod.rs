//! Text of `perf script`: one line per sampled load or store, with its data address.
//!
//! ```text
//!        llama-cli  46817 [003] 12345.000120:       4000           cpu/mem-stores/P:     7f3a40064700 … (/opt/llama/lib/libllama.so)
//! ```
//!
//! perf prints the selected and recorded fields in a fixed order, and nothing says which these are: see [`tolerant`].
//! [`SEED_INFO`] parses by the grammar of mrm-trace 0.1.0 instead, to compare with its output; it is never detected, only
//! requested.
//!
//! Quirks: the number after the command is a thread id in perf's default output; timestamps count from system start; the
//! weight of a memory event is in cycles; a file without data addresses has instruction addresses in their place, and the text
//! does not show which.

mod issues;
pub mod sample;
pub mod seed;
pub mod tolerant;

use self::issues::*;
use self::sample::{Problem, Sample, is_blank};
use super::by_line::{LinePart, LineReader, LineRows};
use super::parts::{MAX_PART_BYTES, PartsInfo};
use super::{Confidence, FormatInfo, detect};
use crate::base::lines::{Line, LineEnds, LineSplitter};
use crate::base::strings::{RecentStrings, StringId, StringTable};
use crate::trace::accesses::{Access, Op};
use crate::trace::{IssueKind, Position, TraceBuilder};
use memchr::memchr;

pub static INFO: FormatInfo = FormatInfo {
    id: "perf-text",
    title: "perf script text",
    producers: "perf mem and perf record -d, printed by perf script",
    extensions: &["txt", "perf"],
    sniff,
    reader: || Box::new(LineReader::new(Samples::new(Grammar::Tolerant))),
    parts: Some(&PartsInfo {
        reader: || Box::new(LinePart::new(|| Samples::new(Grammar::Tolerant))),
        min_readers: 2,
        max_bytes: MAX_PART_BYTES,
    }),
    has_events: false,
    issues: issues::ALL,
};

/// `perf script` text, parsed by the grammar of mrm-trace 0.1.0.
pub static SEED_INFO: FormatInfo = FormatInfo {
    id: "perf-text-seed",
    title: "perf script text, parsed as in mrm-trace 0.1.0",
    producers: "perf script (to compare with mrm-trace)",
    extensions: &[],
    sniff: |_| Confidence::No,
    reader: || Box::new(LineReader::new(Samples::new(Grammar::Seed))),
    parts: Some(&PartsInfo {
        reader: || Box::new(LinePart::new(|| Samples::new(Grammar::Seed))),
        min_readers: 2,
        max_bytes: MAX_PART_BYTES,
    }),
    has_events: false,
    issues: issues::ALL,
};

/// Grammar: which lines are samples, and how they are parsed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grammar {
    Tolerant,
    Seed,
}

/// Longest line; those of perf are below one kilobyte, except for C++ names.
const MAX_LINE_BYTES: usize = 1 << 20;

/// State between lines, and the grammar.
struct Samples {
    grammar: Grammar,
    recent: RecentStrings,
    /// Ids of memory levels; there are few of them.
    levels: Vec<(&'static str, StringId)>,
}

impl Samples {
    fn new(grammar: Grammar) -> Samples {
        Samples { grammar, recent: RecentStrings::default(), levels: Vec::new() }
    }

    #[inline]
    fn text(&mut self, bytes: &[u8], strings: &mut StringTable) -> StringId {
        match self.recent.intern_bytes(bytes, strings) {
            Some(id) => id,
            None => strings.intern_bytes(bytes),
        }
    }

    fn level(&mut self, level: &'static str, strings: &mut StringTable) -> StringId {
        match self.levels.iter().find(|(known, _)| *known == level) {
            Some((_, id)) => *id,
            None => {
                let id = strings.intern(level);
                self.levels.push((level, id));
                id
            }
        }
    }

    /// Reads a line with several samples, the further ones starting at `starts`; each is a record.
    fn read_several(&mut self, line: Line<'_>, starts: &[usize], out: &mut TraceBuilder) {
        let at = |place: usize| Position { byte: line.offset + place as u64, line: Some(line.number) };
        out.trace.ledger.file(&SEVERAL_SAMPLES, at(0), line.bytes);
        let ends = starts.iter().copied().chain([line.bytes.len()]);
        let mut start = 0;
        for end in ends {
            let part = line.bytes.get(start..end).unwrap_or_default();
            match tolerant::parse(part) {
                Some(Ok(sample)) => {
                    out.trace.ledger.repair(part.len() as u64);
                    if sample.is_negative_thread {
                        out.trace.ledger.file(&NEGATIVE_THREAD, at(start), part);
                    }
                    self.push(&sample, out);
                }
                Some(Err(Problem::OutOfRange)) => {
                    out.trace.ledger.skip_record(&OUT_OF_RANGE, at(start), part.len() as u64, part);
                }
                None => out.trace.ledger.skip_record(&NOT_A_SAMPLE, at(start), part.len() as u64, part),
            }
            start = end;
        }
    }

    fn push(&mut self, sample: &Sample<'_>, out: &mut TraceBuilder) {
        let strings = &mut out.trace.strings;
        let symbol = self.text(sample.symbol, strings);
        let dso = self.text(sample.dso, strings);
        let cache_level = sample.cache_level.map(|level| self.level(level, strings));
        let accesses = &mut out.trace.accesses;
        accesses.push(&Access {
            sample: accesses.len() as u64,
            ts: sample.ts,
            address: sample.address,
            op: if sample.is_store { Op::Store } else { Op::Load },
            symbol: Some(symbol),
            dso: Some(dso),
            latency: sample.latency,
            cache_level,
            remote: sample.remote,
            cpu: sample.cpu,
            thread: sample.thread,
            ..Access::default()
        });
    }
}

impl LineRows for Samples {
    const MAX_LINE_BYTES: usize = MAX_LINE_BYTES;
    const ISSUES: &'static [&'static IssueKind] = issues::ALL;

    /// Turns one line into an access or a ledger entry; blank lines are framing.
    fn read(&mut self, line: Line<'_>, _is_last: bool, out: &mut TraceBuilder) {
        out.trace.accesses.set_expected();
        let at = Position { byte: line.offset, line: Some(line.number) };
        if line.too_long {
            out.trace.ledger.skip_record(&TOO_LONG, at, line.text_bytes, line.bytes);
            return;
        }
        if self.grammar == Grammar::Tolerant && !matches!(line.bytes.first(), Some(b'#' | b'\t')) {
            match tolerant::further_samples(line.bytes) {
                Some(starts) if starts.is_empty() => {}
                Some(starts) => return self.read_several(line, &starts, out),
                None => {
                    out.trace.ledger.skip_record(&SEVERAL_UNCLEAR, at, line.text_bytes, line.bytes);
                    return;
                }
            }
        }
        let parsed = match self.grammar {
            Grammar::Seed => seed::parse(line.bytes),
            Grammar::Tolerant => match line.bytes.first() {
                Some(b'#') => {
                    out.trace.ledger.file(&COMMENT, at, line.bytes);
                    out.trace.ledger.frame(line.text_bytes);
                    return;
                }
                Some(b'\t') if !line.bytes.iter().all(|byte| is_blank(*byte)) => {
                    out.trace.ledger.file(&CALL_CHAIN, at, line.bytes);
                    out.trace.ledger.frame(line.text_bytes);
                    return;
                }
                _ => tolerant::parse(line.bytes),
            },
        };
        match parsed {
            Some(Ok(sample)) => {
                out.trace.ledger.keep(line.text_bytes);
                if sample.is_negative_thread {
                    out.trace.ledger.file(&NEGATIVE_THREAD, at, line.bytes);
                }
                self.push(&sample, out);
            }
            Some(Err(Problem::OutOfRange)) => {
                out.trace.ledger.skip_record(&OUT_OF_RANGE, at, line.text_bytes, line.bytes);
            }
            None if line.bytes.iter().all(|byte| is_blank(*byte)) => {}
            None => out.trace.ledger.skip_record(&NOT_A_SAMPLE, at, line.text_bytes, line.bytes),
        }
    }

    fn describe(&self, out: &mut TraceBuilder) {
        out.trace.accesses.set_expected();
        out.trace.source.producer = Some("perf script".to_string());
    }
}

/// Starts of lines of other formats. A command name may start with a bracket like a JSON list, but continues differently.
fn is_foreign(line: &[u8]) -> bool {
    let mut said = line.iter().filter(|byte| !is_blank(**byte));
    match said.next() {
        Some(b'{' | b'"' | b'<') => true,
        Some(b'[') => matches!(said.next(), None | Some(b'{' | b'[' | b'"' | b']')),
        _ => false,
    }
}

/// Start of the second line of `perf script --header`, which identifies a file without samples.
const HEADER: &[u8] = b"# captured on";

fn sniff(head: &[u8]) -> Confidence {
    if head.contains(&0) {
        return Confidence::No;
    }
    let is_cut = head.len() >= detect::HEAD_BYTES;
    let (mut n_lines, mut n_samples, mut n_telling) = (0u32, 0u32, 0u32);
    let mut has_header = false;
    let mut judge = |line: Line<'_>| {
        let bytes = line.bytes;
        has_header |= bytes.starts_with(HEADER);
        let is_framing =
            bytes.iter().all(|byte| is_blank(*byte)) || matches!(bytes.first(), Some(b'#' | b'\t'));
        if is_framing {
            return;
        }
        n_lines += 1;
        if !is_foreign(bytes) && matches!(tolerant::parse(bytes), Some(Ok(_))) {
            n_samples += 1;
            // With a CPU in brackets, or an event before the address; other formats have no such lines.
            let has_event = memchr(b'[', bytes).is_some() || memchr::memchr_iter(b':', bytes).count() > 1;
            n_telling += u32::from(has_event);
        }
    };
    let mut lines = LineSplitter::new(LineEnds::Universal, MAX_LINE_BYTES);
    lines.feed(head, &mut judge);
    if !is_cut {
        lines.finish(&mut judge);
    }
    match (n_samples, n_telling) {
        (0, _) if n_lines == 0 && has_header => Confidence::Likely,
        (0, _) => Confidence::No,
        (samples, 1..) if samples * 2 >= n_lines => Confidence::Certain,
        (_, 1..) => Confidence::Likely,
        (samples, 0) if samples * 2 >= n_lines => Confidence::Likely,
        _ => Confidence::Possible,
    }
}
