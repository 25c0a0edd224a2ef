//! The binary format of CPython 3.15's `profiling.sampling`, as its documentation describes it.
//!
//! Samples come first, the tables of texts and frames last, so the file is kept until its end. A sample says how its stack differs
//! from the one before of its thread.

use super::issues::*;
use super::{MISSING, note, push_sample};
use crate::base::hash::HashMap;
use crate::base::protobuf::varint;
use crate::base::strings::StringId;
use crate::import::unpack::{Packing, Unpacker};
use crate::import::{Confidence, FormatInfo, ImportError, Reader};
use crate::trace::samples::{Frame, NO_LINE, StackId};
use crate::trace::stack_profiles::{Amount, StackProfile};
use crate::trace::{Position, TraceBuilder};

pub static INFO: FormatInfo = FormatInfo {
    id: "python-binary",
    title: "Python sampling profile (binary)",
    producers: "CPython 3.15's python -m profiling.sampling (--binary)",
    extensions: &["bin"],
    sniff: |head| match head.get(..4) {
        Some(b"HCAT" | b"TACH") => Confidence::Certain,
        _ => Confidence::No,
    },
    reader: || Box::new(Binary::default()),
    parts: None,
    has_events: true,
    issues: super::issues::ALL,
};

/// Which threads are sampled, by number, named as in the JSONL format.
const MODES: [&str; 5] = ["wall", "cpu", "gil", "all", "exception"];

const HEADER_BYTES: usize = 64;
const FOOTER_BYTES: usize = 32;
/// Most bytes that are kept; pages have less memory.
const MAX_BYTES: usize = if usize::BITS == 32 { 1 << 30 } else { usize::MAX >> 16 };
/// Most bytes that compressed samples may unpack to.
const MAX_UNPACKED: usize = if usize::BITS == 32 { 1 << 30 } else { usize::MAX >> 28 };

#[derive(Default)]
struct Binary {
    bytes: Vec<u8>,
    n_dropped: u64,
}

impl Reader for Binary {
    fn feed(&mut self, bytes: &[u8], _out: &mut TraceBuilder) -> Result<(), ImportError> {
        let n_kept = bytes.len().min(MAX_BYTES - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..n_kept]);
        self.n_dropped += (bytes.len() - n_kept) as u64;
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        let bytes = std::mem::take(&mut self.bytes);
        out.trace.ledger.record_noun = "samples".into();
        if self.n_dropped > 0 {
            out.trace.ledger.file(&TOO_LARGE, Position { byte: bytes.len() as u64, line: None }, b"");
            out.trace.ledger.skip_records(0, self.n_dropped);
        }
        read(&bytes, out);
        let n_samples: usize = out.trace.stack_profiles.iter().map(StackProfile::len).sum();
        let ledger = &mut out.trace.ledger;
        let n_bytes = ledger.content_bytes.saturating_sub(ledger.accounted_bytes());
        ledger.keep_records(n_samples as u64, n_bytes);
        Ok(())
    }
}

/// Fixed numbers in the byte order of the file.
struct Numbers<'a> {
    bytes: &'a [u8],
    is_big_endian: bool,
}

impl Numbers<'_> {
    /// A number of `len` bytes; `None` if the file ends before.
    fn at(&self, at: usize, len: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(len)?)?;
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(match self.is_big_endian {
            true => bytes.iter().fold(0, add),
            false => bytes.iter().rev().fold(0, add),
        })
    }

    fn offset(&self, at: usize) -> Option<usize> {
        usize::try_from(self.at(at, 8)?).ok()
    }
}

/// Unpacks samples, as far as possible. Returns whether all of them are there.
fn unpack(packed: &[u8], out: &mut Vec<u8>) -> bool {
    let mut unpacker = Unpacker::new(Packing::Zstd);
    let mut emit = |piece: &[u8]| {
        let fits = piece.len() <= MAX_UNPACKED - out.len();
        out.extend_from_slice(if fits { piece } else { &[] });
        if fits { Ok(()) } else { Err(()) }
    };
    unpacker.feed(packed, &mut emit).and_then(|()| unpacker.finish(&mut emit)).is_ok()
        && unpacker.problem().is_none()
}

fn zigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn read(bytes: &[u8], out: &mut TraceBuilder) {
    let numbers = Numbers { bytes, is_big_endian: bytes.starts_with(b"TACH") };
    let version = numbers.at(4, 4).unwrap_or(0);
    let is_first = version == 1;
    if !(1..=2).contains(&version) {
        note(out, &UNKNOWN_VERSION, &version.to_string());
    }
    // The first version has shorter counts, so what follows them is elsewhere.
    let (at_strings, at_frames, at_compression) = if is_first { (36, 44, 52) } else { (40, 48, 56) };
    let start_us = numbers.at(12, 8).unwrap_or(0);
    let interval_us = numbers.at(20, 8).unwrap_or(0);
    let python = bytes.get(8..11).map(|version| format!("{}.{}.{}", version[0], version[1], version[2]));
    out.trace.source.producer = Some(format!("CPython {} profiling.sampling", python.unwrap_or_default()));
    out.trace.source.metadata = vec![("sample_interval_usec".to_string(), interval_us.to_string())];
    // One more than the number of the mode, 0 if unknown; the first version has none.
    let mode = numbers.at(60, 4).filter(|_| !is_first).and_then(|number| number.checked_sub(1));
    if let Some(mode) = mode {
        let name = usize::try_from(mode).ok().and_then(|mode| MODES.get(mode));
        let name = name.map_or_else(|| mode.to_string(), |name| name.to_string());
        out.trace.source.metadata.push(("mode".to_string(), name));
    }

    let size = bytes.len().checked_sub(FOOTER_BYTES).filter(|at| *at >= HEADER_BYTES);
    let footer = size.filter(|at| numbers.at(at + 8, 8) == Some(bytes.len() as u64));
    let strings_at = numbers.offset(at_strings);
    let tables = footer.and_then(|footer| {
        let (n_strings, n_frames) = (numbers.at(footer, 4)?, numbers.at(footer + 4, 4)?);
        let (strings, frames) = (strings_at?, numbers.offset(at_frames)?);
        Some((bytes.get(strings..footer)?, n_strings, bytes.get(frames..footer)?, n_frames))
    });
    if tables.is_none() {
        note(out, &TRUNCATED, "");
    }
    let frames = tables.map(|(strings, n_strings, frames, n_frames)| {
        let strings = read_strings(strings, n_strings, out);
        read_frames(frames, n_frames, &strings, out)
    });
    let end = strings_at.filter(|at| (HEADER_BYTES..=bytes.len()).contains(at)).unwrap_or(bytes.len());
    let samples = bytes.get(HEADER_BYTES..end).unwrap_or_default();
    let mut unpacked = Vec::new();
    let samples = match numbers.at(at_compression, 4) {
        Some(1) => {
            if !unpack(samples, &mut unpacked) {
                note(out, &TRUNCATED, "compressed samples");
            }
            &unpacked
        }
        _ => samples,
    };
    let mut reader = Samples {
        numbers: Numbers { bytes: samples, is_big_endian: numbers.is_big_endian },
        at: 0,
        start: Amount::whole(start_us),
        frames: frames.unwrap_or_default(),
        missing: Frame::named(out.trace.strings.intern(MISSING)),
        threads: Vec::new(),
        by_key: HashMap::default(),
    };
    while reader.at < samples.len() {
        if reader.record(out).is_none() {
            note(out, &TRUNCATED, "");
            break;
        }
    }
    let first = reader.threads.first().map(|thread| thread.interpreter);
    let has_several = reader.threads.iter().any(|thread| Some(thread.interpreter) != first);
    for mut thread in reader.threads {
        thread.profile.span_of_times();
        if has_several {
            // A thread can run in several, one after the other.
            thread.profile.thread = out.trace.strings.intern(&format!("Interpreter {}", thread.interpreter));
        }
        out.trace.stack_profiles.push(thread.profile);
    }
}

fn read_strings(bytes: &[u8], n: u64, out: &mut TraceBuilder) -> Vec<StringId> {
    let (mut strings, mut at) = (Vec::new(), 0);
    for _ in 0..n {
        let text = varint(bytes, &mut at)
            .and_then(|len| usize::try_from(len).ok())
            .and_then(|len| bytes.get(at..at.checked_add(len)?));
        let Some(text) = text else {
            note(out, &TRUNCATED, "texts");
            break;
        };
        at += text.len();
        strings.push(out.trace.strings.intern_bytes(text));
    }
    strings
}

fn read_frames(bytes: &[u8], n: u64, strings: &[StringId], out: &mut TraceBuilder) -> Vec<Frame> {
    let (mut frames, mut at) = (Vec::new(), 0);
    for _ in 0..n {
        let mut next = || varint(bytes, &mut at);
        let fields = (|| Some([next()?, next()?, next()?, next()?, next()?, next()?]))();
        let Some([file, function, line, _, column, _]) = fields else {
            note(out, &TRUNCATED, "frames");
            break;
        };
        // The operation is not used.
        at += 1;
        let mut text = |number: u64| match usize::try_from(number).ok().and_then(|at| strings.get(at)) {
            Some(text) => *text,
            None => {
                note(out, &DANGLING_ID, "text");
                out.trace.strings.intern(MISSING)
            }
        };
        let (file, name) = (text(file), text(function));
        let number = |number: u64| Some(zigzag(number)).filter(|number| *number >= 0).unwrap_or(NO_LINE);
        let file = if file == StringId::EMPTY { StringId::NONE } else { file };
        frames.push(Frame { file, line: number(line), column: number(column), ..Frame::named(name) });
    }
    frames
}

/// A thread, and the stack it had last.
struct Thread {
    profile: StackProfile,
    interpreter: u64,
    /// Stacks from the outermost frame to the innermost one.
    stacks: Vec<StackId>,
    time: Amount,
}

struct Samples<'a> {
    numbers: Numbers<'a>,
    at: usize,
    start: Amount,
    frames: Vec<Frame>,
    missing: Frame,
    threads: Vec<Thread>,
    by_key: HashMap<(u64, u64), usize>,
}

impl Samples<'_> {
    fn varint(&mut self) -> Option<u64> {
        varint(self.numbers.bytes, &mut self.at)
    }

    fn fixed(&mut self, len: usize) -> Option<u64> {
        let number = self.numbers.at(self.at, len)?;
        self.at += len;
        Some(number)
    }

    /// Reads a record; `None` if it is cut off, or of an unknown kind.
    fn record(&mut self, out: &mut TraceBuilder) -> Option<()> {
        let (thread, interpreter) = (self.fixed(8)?, self.fixed(4)?);
        let code = self.fixed(1)?;
        let known = self.by_key.get(&(interpreter, thread)).copied();
        let number = known.unwrap_or_else(|| {
            let mut profile = StackProfile::new(out.trace.strings.intern("samples"));
            profile.thread_id = out.trace.strings.intern(&thread.to_string());
            profile.time_unit = out.trace.strings.intern("microseconds");
            self.threads.push(Thread { profile, interpreter, stacks: Vec::new(), time: self.start });
            self.by_key.insert((interpreter, thread), self.threads.len() - 1);
            self.threads.len() - 1
        });
        if code == 0 {
            for _ in 0..self.varint()? {
                let delta = self.varint()?;
                self.fixed(1)?;
                self.sample(number, delta, out);
            }
            return Some(());
        }
        let delta = self.varint()?;
        self.fixed(1)?;
        let n_last = self.threads[number].stacks.len();
        let n_kept = match code {
            1 => 0,
            2 => usize::try_from(self.varint()?).ok()?.min(n_last),
            3 => n_last.saturating_sub(usize::try_from(self.varint()?).ok()?),
            _ => return None,
        };
        let mut new = Vec::new();
        for _ in 0..self.varint()? {
            new.push(self.varint()?);
        }
        self.threads[number].stacks.truncate(n_kept);
        for frame in new.into_iter().rev() {
            let frame = match usize::try_from(frame).ok().and_then(|frame| self.frames.get(frame)) {
                Some(frame) => *frame,
                None => {
                    note(out, &DANGLING_ID, "frame");
                    self.missing
                }
            };
            let stacks = &mut self.threads[number].stacks;
            let below = stacks.last().copied().unwrap_or(StackId::NONE);
            stacks.push(out.stack(below, frame));
        }
        self.sample(number, delta, out);
        Some(())
    }

    fn sample(&mut self, number: usize, delta: u64, out: &mut TraceBuilder) {
        let thread = &mut self.threads[number];
        thread.time = thread.time.plus(Amount::whole(delta));
        let stack = thread.stacks.last().copied().unwrap_or(StackId::NONE);
        push_sample(&mut thread.profile, stack, Amount::ONE, out);
        thread.profile.time.push(thread.time);
    }
}
