//! Text of `perf script` with call chains: a head, then one line a frame, the innermost first, then an empty line.
//!
//! ```text
//! app 7/8 [000]   100.000000:    1000000 cpu-clock:u:
//!             1040 parse+0x1 (parse.py)
//!             1000 main+0x0 (app.py)
//! ```
//!
//! Which fields a head has differs, and names may contain anything, so a head is read from its time. Samples with an address and no
//! call chain are memory accesses and belong to [`super::super::perf_text`].

mod lines;

use super::issues::*;
use super::text::{TextLine, TextLines, TextReader, decoded};
use super::{counts_in_words, note, push_sample};
use crate::base::hash::{HashMap, HashSet};
use crate::base::strings::{StringId, StringTable};
use crate::import::perf_text::tolerant;
use crate::import::{Confidence, FormatInfo, ImportError, detect};
use crate::trace::TraceBuilder;
use crate::trace::samples::{Frame, StackId};
use crate::trace::stack_profiles::{Amount, StackProfile};
use lines::{FrameLine, Head, frame_line, head, source_line};
use std::collections::BTreeMap;

pub static INFO: FormatInfo = FormatInfo {
    id: "perf-stacks",
    title: "perf script text with call chains",
    producers: "perf record -g, printed by perf script; simpleperf",
    extensions: &["perf", "txt"],
    sniff,
    reader: || Box::new(TextReader::new(Samples::default())),
    parts: None,
    has_events: true,
    issues: super::issues::ALL,
};

/// Lines that decide.
const MAX_LINES: usize = 1000;

fn sniff(start: &[u8]) -> Confidence {
    let is_cut = start.len() >= detect::HEAD_BYTES;
    let text = decoded(start);
    if text.contains(&0) {
        return Confidence::No;
    }
    let (mut n_heads, mut n_accesses, mut n_frames, mut n_others) = (0, 0, 0, 0);
    let mut lines = text.split(|byte| *byte == b'\n').take(MAX_LINES).peekable();
    while let Some(line) = lines.next() {
        if lines.peek().is_none() && is_cut {
            break;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() || line.starts_with(b"#") {
            continue;
        }
        if frame_line(line).is_some() {
            n_frames += 1;
        } else if matches!(tolerant::parse(line), Some(Ok(_))) {
            n_accesses += 1;
        } else if head(line).is_some() {
            n_heads += 1;
        } else if source_line(line).is_none() {
            n_others += 1;
        }
    }
    match () {
        () if n_heads == 0 || n_accesses >= n_heads => Confidence::No,
        () if n_frames > 0 => Confidence::Certain,
        () if n_heads > n_others => Confidence::Likely,
        () => Confidence::Possible,
    }
}

/// Whether the text starts with a sample whose head has no time, `app 12`, before the lines of its call chain.
pub fn is_without_times(start: &[u8]) -> bool {
    let text = decoded(start);
    let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut lines =
        lines.filter(|line| !line.starts_with(b"#")).skip_while(|line| line.trim_ascii().is_empty());
    let (Some(first), Some(next)) = (lines.next(), lines.next()) else { return false };
    let is_bare_head = first.first().is_some_and(|byte| !byte.is_ascii_whitespace()) && head(first).is_none();
    // The module is in parentheses: `1f40 main+0x10 (/usr/bin/app)`.
    is_bare_head && frame_line(next).is_some_and(|frame| frame.text.ends_with(b")"))
}

/// Samples of one event and thread.
struct Series {
    event: StringId,
    process: Option<i64>,
    thread: Option<i64>,
    /// The last name the thread had.
    name: StringId,
    stack: Vec<StackId>,
    time: Vec<Option<Amount>>,
    last_time: Option<Amount>,
    /// As long as all samples have one.
    period: Option<Vec<u64>>,
    has_clock: bool,
}

/// A frame as printed, and its address.
#[derive(Clone, Copy)]
struct Printed {
    frame: Frame,
    address: u64,
    is_inlined: bool,
}

/// The sample being read.
struct Open {
    series: usize,
    time: Option<Amount>,
    period: Option<u64>,
    /// The innermost first.
    frames: Vec<Printed>,
}

#[derive(Default)]
struct Samples {
    series: Vec<Series>,
    by_key: HashMap<(StringId, Option<i64>, Option<i64>), usize>,
    open: Option<Open>,
    /// Records that are no samples, by kind.
    others: BTreeMap<Vec<u8>, u64>,
    /// Symbol and module as printed, and the frames of those that were met.
    printed: StringTable,
    known: Vec<Option<Printed>>,
}

impl Samples {
    fn head(&mut self, line: Head<'_>, out: &mut TraceBuilder) {
        self.end_sample(out);
        let strings = &mut out.trace.strings;
        let name = strings.intern_bytes(line.command);
        let event = line.event.map_or(StringId::NONE, |event| strings.intern_bytes(event));
        let series = *self.by_key.entry((event, line.process, line.thread)).or_insert_with(|| {
            let event_name = line.event.unwrap_or_default();
            let base = event_name.split(|byte| *byte == b':').next().unwrap_or_default();
            self.series.push(Series {
                event,
                process: line.process,
                thread: line.thread,
                name,
                stack: Vec::new(),
                time: Vec::new(),
                last_time: None,
                period: Some(Vec::new()),
                has_clock: matches!(base, b"cpu-clock" | b"task-clock"),
            });
            self.series.len() - 1
        });
        self.series[series].name = name;
        self.open = Some(Open { series, time: line.time, period: line.period, frames: Vec::new() });
    }

    fn frame(&mut self, line: FrameLine<'_>, out: &mut TraceBuilder) {
        let printed = self.printed_frame(line, out);
        if let Some(open) = &mut self.open {
            open.frames.push(printed);
        }
    }

    fn printed_frame(&mut self, line: FrameLine<'_>, out: &mut TraceBuilder) -> Printed {
        if line.text.is_empty() {
            let name = out.trace.strings.intern(&format!("{:#x}", line.address));
            return Printed { frame: Frame::named(name), address: line.address, is_inlined: false };
        }
        let id = self.printed.intern_bytes(line.text);
        if self.known.len() <= id.0 as usize {
            self.known.resize(id.0 as usize + 1, None);
        }
        let known = *self.known[id.0 as usize].get_or_insert_with(|| {
            let (symbol, module) = line.symbol_and_module();
            let strings = &mut out.trace.strings;
            let name =
                if symbol.is_empty() { strings.intern(super::UNKNOWN) } else { strings.intern_bytes(symbol) };
            let is_inlined = module == Some(b"inlined");
            let (module, category) = match module {
                Some(b"inlined") => (StringId::NONE, "inlined"),
                Some(b"[unknown]") | None => (StringId::NONE, "user"),
                Some(module) => {
                    (strings.intern_bytes(module), if lines::is_kernel(module) { "kernel" } else { "user" })
                }
            };
            let category = strings.intern(category);
            Printed { frame: Frame { module, category, ..Frame::named(name) }, address: 0, is_inlined }
        });
        Printed { address: line.address, ..known }
    }

    /// File and line of the frame before.
    fn source(&mut self, (file, line): (&[u8], i64), out: &mut TraceBuilder) {
        if let Some(frame) = self.open.as_mut().and_then(|open| open.frames.last_mut()) {
            frame.frame.file = out.trace.strings.intern_bytes(file);
            frame.frame.line = line;
        }
    }

    fn end_sample(&mut self, out: &mut TraceBuilder) {
        let Some(mut open) = self.open.take() else { return };
        let mut stack = StackId::NONE;
        // The frame around an inlined one says where that is.
        let mut around: Option<(u64, StringId)> = None;
        for printed in open.frames.iter_mut().rev() {
            if printed.is_inlined {
                printed.frame.module = match around {
                    Some((address, module)) if address == printed.address => module,
                    _ => StringId::NONE,
                };
            }
            around = Some((printed.address, printed.frame.module));
            stack = out.stack(stack, printed.frame);
        }
        let series = &mut self.series[open.series];
        if let Some(time) = open.time {
            if series.last_time.is_some_and(|last| time < last) {
                note(out, &NON_MONOTONIC, &time.to_string());
            }
            series.last_time = Some(time);
        }
        series.stack.push(stack);
        series.time.push(open.time);
        match (&mut series.period, open.period) {
            (Some(periods), Some(period)) => periods.push(period),
            (periods, _) => *periods = None,
        }
    }
}

impl TextLines for Samples {
    fn line(&mut self, line: TextLine<'_>, out: &mut TraceBuilder) {
        let TextLine { text, at, n_bytes, is_too_long } = line;
        if is_too_long {
            return out.trace.ledger.skip_record(&LINE_TOO_LONG, at, n_bytes, text);
        }
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.trim_ascii().is_empty() {
            out.trace.ledger.frame(n_bytes);
            return self.end_sample(out);
        }
        if text.starts_with(b"#") {
            return out.trace.ledger.frame(n_bytes);
        }
        if std::str::from_utf8(text).is_err() {
            out.trace.ledger.file(&BAD_UTF8, at, text);
        }
        if let Some(frame) = frame_line(text) {
            if self.open.is_some() {
                out.trace.ledger.keep_records(0, n_bytes);
                return self.frame(frame, out);
            }
        } else if let Some(head) = head(text) {
            if let Some(kind) = head.record {
                out.trace.ledger.keep_records(0, n_bytes);
                *self.others.entry(kind.to_vec()).or_default() += 1;
                return self.end_sample(out);
            }
            out.trace.ledger.keep(n_bytes);
            return self.head(head, out);
        } else if let Some(source) = source_line(text)
            && self.open.as_ref().is_some_and(|open| !open.frames.is_empty())
        {
            out.trace.ledger.keep_records(0, n_bytes);
            if let Some(source) = source {
                self.source(source, out);
            }
            return;
        }
        out.trace.ledger.skip_record(&BAD_LINE, at, n_bytes, text);
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.end_sample(out);
        out.trace.ledger.record_noun = "samples".into();
        out.trace.source.producer = Some("perf script".to_string());
        if !self.others.is_empty() {
            let others = self.others.iter().map(|(kind, n)| (String::from_utf8_lossy(kind).into_owned(), *n));
            out.trace.source.metadata.push(("other records".to_string(), counts_in_words(others)));
        }
        if self.series.is_empty() {
            return Err(ImportError {
                code: "no-events",
                what: "no line starts a sample".to_string(),
                hint: "print samples with perf script, after perf record -g".to_string(),
            });
        }
        let units = ["samples", "nanoseconds", "events", "seconds", "period"];
        let [samples, nanoseconds, events, seconds, period] =
            units.map(|unit| out.trace.strings.intern(unit));
        let all = std::mem::take(&mut self.series);
        // Events some of whose threads have no weight by period.
        let lacking: HashSet<StringId> =
            all.iter().filter(|series| series.period.is_none()).map(|series| series.event).collect();
        for series in all {
            let mut text = |number: Option<i64>| {
                number.map_or(StringId::NONE, |number| out.trace.strings.intern(&number.to_string()))
            };
            let (process_id, thread_id) = (text(series.process), text(series.thread));
            let mut profile = StackProfile::new(samples);
            profile.kind = samples;
            profile.measure = samples;
            profile.event = series.event;
            profile.thread = series.name;
            profile.process_id = process_id;
            profile.thread_id = thread_id;
            profile.time_unit = seconds;
            for time in &series.time {
                match time {
                    Some(time) => profile.time.push(*time),
                    None => profile.time.push_missing(),
                }
            }
            profile.span_of_times();
            let mut by_period = StackProfile {
                kind: period,
                measure: period,
                // The weight that counts where samples come at a rate, unless it leaves threads out.
                is_default: !lacking.contains(&series.event),
                unit: if series.has_clock { nanoseconds } else { events },
                ..profile.clone()
            };
            for stack in &series.stack {
                profile.push(*stack, Amount::ONE);
            }
            out.trace.stack_profiles.push(profile);
            if let Some(periods) = series.period {
                if lacking.contains(&series.event) {
                    let event = out.trace.strings.get_opt(series.event).unwrap_or_default().to_string();
                    note(out, &NO_PERIOD, &event);
                }
                for (stack, period) in series.stack.iter().zip(periods) {
                    push_sample(&mut by_period, *stack, Amount::whole(period), out);
                }
                out.trace.stack_profiles.push(by_period);
            }
        }
        Ok(())
    }
}
