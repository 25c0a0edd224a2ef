//! pprof: a protocol buffer (`profile.proto`), nearly always in gzip.
//!
//! Fields come in any order; Go writes the texts last. So samples are kept by the file's own numbers, and resolved at the end.

mod prune;

use super::issues::*;
use super::{MISSING, UNKNOWN, note, push_sample};
use crate::base::hash::{HashMap, HashSet};
use crate::base::protobuf::{Ending, FieldSplitter, Fields, Value};
use crate::base::strings::StringId;
use crate::base::units::counted;
use crate::import::{Confidence, FormatInfo, ImportError, Reader, detect};
use crate::trace::samples::{Frame, NO_LINE, StackId};
use crate::trace::stack_profiles::{Amount, StackProfile, pprof_facts};
use crate::trace::{Position, TraceBuilder};
use prune::Pruning;

pub static INFO: FormatInfo = FormatInfo {
    id: "pprof",
    title: "pprof profile",
    producers: "Go's runtime/pprof, Node.js, Rust, jemalloc, Java and other profilers that write profile.proto",
    extensions: &["pb", "pprof", "prof"],
    sniff,
    reader: || Box::new(Pprof::default()),
    parts: None,
    has_events: false,
    issues: super::issues::ALL,
};

/// Start of the content that shows whether it is binary.
const TEXT_BYTES: usize = 4096;
/// Fields that are looked at.
const MAX_FIELDS: usize = 2000;

fn sniff(head: &[u8]) -> Confidence {
    let is_text = |byte: &u8| *byte >= 0x20 || matches!(byte, b'\t' | b'\n' | b'\r');
    if head[..head.len().min(TEXT_BYTES)].iter().all(is_text) {
        return Confidence::No;
    }
    let mut seen = [false; 16];
    let (mut n_fields, mut n_unknown) = (0, 0);
    let mut first_text = None;
    let mut fields = Fields::new(head);
    for (number, value) in fields.by_ref().take(MAX_FIELDS) {
        n_fields += 1;
        let is_right = match (number, value) {
            // Types are a pair of numbers; other messages have packets in this field.
            (1 | 11, Value::Bytes(bytes)) => {
                bytes.len() <= 24 && Fields::new(bytes).all(|(_, value)| value.number().is_some())
            }
            (2..=5, Value::Bytes(bytes)) => {
                let mut fields = Fields::new(bytes);
                fields.by_ref().for_each(drop);
                !fields.is_broken
            }
            (6, Value::Bytes(text)) => {
                first_text = first_text.or(Some(text));
                true
            }
            (7..=10 | 12..=15, Value::Number(_)) => true,
            (13, Value::Bytes(_)) => true,
            (1..=15, _) => false,
            _ => {
                n_unknown += 1;
                true
            }
        };
        if !is_right {
            return Confidence::No;
        }
        if let Some(seen) = seen.get_mut(number as usize) {
            *seen = true;
        }
    }
    let n_tables = seen[2..7].iter().filter(|seen| **seen).count();
    let is_cut = head.len() >= detect::HEAD_BYTES || n_fields == MAX_FIELDS;
    match () {
        () if n_unknown * 4 > n_fields => Confidence::No,
        () if n_tables >= 2 => Confidence::Certain,
        // Many samples may precede everything else.
        () if seen[1] && seen[2] => Confidence::Certain,
        () if seen[2] && is_cut => Confidence::Likely,
        // Nothing was sampled. The first of the texts is always empty.
        () if seen[1] && first_text == Some(b"") => Confidence::Likely,
        () => Confidence::No,
    }
}

/// Rows of messages with an id, by that.
#[derive(Default)]
struct ById<T> {
    rows: Vec<T>,
    by_id: HashMap<u64, u32>,
    has_duplicates: bool,
}

impl<T> ById<T> {
    /// Adds a row; of two with one id, the last one counts.
    fn add(&mut self, id: u64, row: T) {
        self.has_duplicates |= self.by_id.insert(id, self.rows.len() as u32).is_some();
        self.rows.push(row);
    }

    fn get(&self, id: u64) -> Option<(usize, &T)> {
        let row = *self.by_id.get(&id)? as usize;
        Some((row, &self.rows[row]))
    }
}

#[derive(Clone, Copy, Default)]
struct Line {
    function: u64,
    line: i64,
    column: i64,
}

#[derive(Default)]
struct Location {
    mapping: u64,
    address: u64,
    /// Range of the lines, the innermost first.
    lines: std::ops::Range<usize>,
}

#[derive(Default)]
struct Function {
    name: i64,
    system_name: i64,
    file: i64,
}

/// Everything read so far, by the file's own numbers.
#[derive(Default)]
struct Pprof {
    fields: FieldSplitter,
    profile: Profile,
}

#[derive(Default)]
struct Profile {
    /// Type and unit of each value.
    types: Vec<(i64, i64)>,
    /// Ends of each sample's locations and values.
    sample_ends: Vec<(usize, usize)>,
    locations_of_samples: Vec<u64>,
    values: Vec<i64>,
    /// Distinct keys and values of labels.
    labels: HashSet<(i64, Label)>,
    locations: ById<Location>,
    lines: Vec<Line>,
    functions: ById<Function>,
    /// File name by mapping.
    mappings: ById<i64>,
    strings: Vec<StringId>,
    drop_frames: i64,
    keep_frames: i64,
    time_ns: i64,
    duration_ns: i64,
    period_type: Option<(i64, i64)>,
    period: i64,
    default_type: i64,
    comments: Vec<i64>,
    n_broken: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Label {
    Text(i64),
    /// With its unit.
    Number(i64, i64),
}

impl Reader for Pprof {
    fn feed(&mut self, bytes: &[u8], out: &mut TraceBuilder) -> Result<(), ImportError> {
        let Pprof { fields, profile } = self;
        fields.feed(bytes, |number, value| profile.add(number, value, out));
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "samples".into();
        let ledger = &mut out.trace.ledger;
        let content_bytes = ledger.content_bytes;
        let (kind, n_lost) = match self.fields.finish() {
            Ending::Whole => (None, 0),
            Ending::Cut(n) => (Some(&TRUNCATED), n),
            Ending::Broken(n) => (Some(&BROKEN), n),
        };
        if let Some(kind) = kind {
            ledger.file(kind, Position { byte: content_bytes.saturating_sub(n_lost), line: None }, b"");
            ledger.skip_records(0, n_lost);
        }
        let profile = std::mem::take(&mut self.profile);
        let n_samples = profile.sample_ends.len() as u64;
        let n_used = profile.hand_over(out);
        let ledger = &mut out.trace.ledger;
        ledger.skip_records(n_samples - n_used, 0);
        let n_bytes = content_bytes.saturating_sub(ledger.accounted_bytes());
        ledger.keep_records(n_used, n_bytes);
        Ok(())
    }
}

/// The two numbers of a type.
fn pair(bytes: &[u8]) -> (i64, i64) {
    let mut pair = (0, 0);
    for (number, value) in Fields::new(bytes) {
        match (number, value.number()) {
            (1, Some(value)) => pair.0 = value as i64,
            (2, Some(value)) => pair.1 = value as i64,
            _ => {}
        }
    }
    pair
}

impl Profile {
    /// Adds a field of the file.
    fn add(&mut self, number: u64, value: Value<'_>, out: &mut TraceBuilder) {
        match (number, value) {
            (1, Value::Bytes(bytes)) => self.types.push(pair(bytes)),
            (2, Value::Bytes(bytes)) => self.add_sample(bytes),
            (3, Value::Bytes(bytes)) => {
                let (mut id, mut file) = (0, 0);
                for (number, value) in self.fields_of(bytes) {
                    match (number, value) {
                        (1, Value::Number(value)) => id = value,
                        (5, Value::Number(value)) => file = value as i64,
                        _ => {}
                    }
                }
                self.mappings.add(id, file);
            }
            (4, Value::Bytes(bytes)) => self.add_location(bytes),
            (5, Value::Bytes(bytes)) => {
                let (mut id, mut function) = (0, Function::default());
                for (number, value) in self.fields_of(bytes) {
                    let Value::Number(value) = value else { continue };
                    match number {
                        1 => id = value,
                        2 => function.name = value as i64,
                        3 => function.system_name = value as i64,
                        4 => function.file = value as i64,
                        _ => {}
                    }
                }
                self.functions.add(id, function);
            }
            (6, Value::Bytes(bytes)) => {
                if std::str::from_utf8(bytes).is_err() {
                    note(out, &BAD_UTF8, &String::from_utf8_lossy(bytes));
                }
                self.strings.push(out.trace.strings.intern_bytes(bytes));
            }
            (7, Value::Number(value)) => self.drop_frames = value as i64,
            (8, Value::Number(value)) => self.keep_frames = value as i64,
            (9, Value::Number(value)) => self.time_ns = value as i64,
            (10, Value::Number(value)) => self.duration_ns = value as i64,
            (11, Value::Bytes(bytes)) => self.period_type = Some(pair(bytes)),
            (12, Value::Number(value)) => self.period = value as i64,
            (13, value) => value.numbers(|number| self.comments.push(number as i64)),
            (14, Value::Number(value)) => self.default_type = value as i64,
            _ => {}
        }
    }

    /// Fields of a message in the file; notes if it is damaged.
    fn fields_of<'a>(&mut self, bytes: &'a [u8]) -> Vec<(u64, Value<'a>)> {
        let mut fields = Fields::new(bytes);
        let all = fields.by_ref().collect();
        self.n_broken += u64::from(fields.is_broken);
        all
    }

    fn add_sample(&mut self, bytes: &[u8]) {
        let mut fields = Fields::new(bytes);
        for (number, value) in fields.by_ref() {
            match (number, value) {
                (1, value) => value.numbers(|id| self.locations_of_samples.push(id)),
                (2, value) => value.numbers(|value| self.values.push(value as i64)),
                (3, Value::Bytes(bytes)) => {
                    let (mut key, mut text, mut count, mut unit) = (0, 0, 0, 0);
                    for (number, value) in Fields::new(bytes) {
                        let Value::Number(value) = value else { continue };
                        match number {
                            1 => key = value as i64,
                            2 => text = value as i64,
                            3 => count = value as i64,
                            4 => unit = value as i64,
                            _ => {}
                        }
                    }
                    let label = if text == 0 { Label::Number(count, unit) } else { Label::Text(text) };
                    self.labels.insert((key, label));
                }
                _ => {}
            }
        }
        self.n_broken += u64::from(fields.is_broken);
        self.sample_ends.push((self.locations_of_samples.len(), self.values.len()));
    }

    fn add_location(&mut self, bytes: &[u8]) {
        let first = self.lines.len();
        let (mut id, mut location) = (0, Location::default());
        let mut fields = Fields::new(bytes);
        for (number, value) in fields.by_ref() {
            match (number, value) {
                (1, Value::Number(value)) => id = value,
                (2, Value::Number(value)) => location.mapping = value,
                (3, Value::Number(value)) => location.address = value,
                (4, Value::Bytes(bytes)) => {
                    let mut line = Line::default();
                    for (number, value) in Fields::new(bytes) {
                        let Value::Number(value) = value else { continue };
                        match number {
                            1 => line.function = value,
                            2 => line.line = value as i64,
                            3 => line.column = value as i64,
                            _ => {}
                        }
                    }
                    self.lines.push(line);
                }
                _ => {}
            }
        }
        self.n_broken += u64::from(fields.is_broken);
        location.lines = first..self.lines.len();
        self.locations.add(id, location);
    }

    /// A text of the file; [`StringId::NONE`] for number 0.
    fn text(&self, number: i64, out: &mut TraceBuilder) -> StringId {
        if number == 0 {
            return StringId::NONE;
        }
        match usize::try_from(number).ok().and_then(|at| self.strings.get(at)) {
            Some(text) if *text == StringId::EMPTY => StringId::NONE,
            Some(text) => *text,
            None => {
                note(out, &DANGLING_ID, "text");
                out.trace.strings.intern(MISSING)
            }
        }
    }

    /// Frames of a location, the outermost first, without those that are dropped wherever they are.
    fn frames_of(&self, row: usize, dropped: &Pruning, out: &mut TraceBuilder) -> Vec<Frame> {
        let location = &self.locations.rows[row];
        let mapping = match location.mapping {
            0 => None,
            id => {
                let mapping = self.mappings.get(id);
                if mapping.is_none() {
                    note(out, &DANGLING_ID, "mapping");
                }
                mapping
            }
        };
        let module = mapping.map_or(StringId::NONE, |(_, file)| self.text(*file, out));
        let address = |out: &mut TraceBuilder| {
            let strings = &mut out.trace.strings;
            let name = match location.address {
                0 => strings.intern(UNKNOWN),
                address => strings.intern(&format!("{address:#x}")),
            };
            Frame { module, ..Frame::named(name) }
        };
        let lines = &self.lines[location.lines.clone()];
        if lines.is_empty() {
            return vec![address(out)];
        }
        let mut frames = Vec::with_capacity(lines.len());
        for line in lines[dropped.first_line(row)..].iter().rev() {
            let number = |number: i64| if number == 0 { NO_LINE } else { number };
            frames.push(match line.function {
                0 => address(out),
                id => match self.functions.get(id) {
                    Some((_, function)) => Frame {
                        file: self.text(function.file, out),
                        module,
                        line: number(line.line),
                        column: number(line.column),
                        ..Frame::named(self.name_of(function, out))
                    },
                    None => {
                        note(out, &DANGLING_ID, "function");
                        Frame { module, ..Frame::named(out.trace.strings.intern(MISSING)) }
                    }
                },
            });
        }
        frames
    }

    fn name_of(&self, function: &Function, out: &mut TraceBuilder) -> StringId {
        let name = self.text(function.name, out);
        let name = if name.is_none() { self.text(function.system_name, out) } else { name };
        name.some().unwrap_or_else(|| out.trace.strings.intern(UNKNOWN))
    }

    /// Number of values of each sample.
    fn n_values(&self) -> usize {
        let mut start = 0;
        let n_values = self.sample_ends.iter().map(|(_, end)| {
            let n = end - start;
            start = *end;
            n
        });
        if self.types.is_empty() { n_values.max().unwrap_or(0) } else { self.types.len() }
    }

    /// One profile for each kind of value.
    fn profiles(&self, out: &mut TraceBuilder) -> Vec<StackProfile> {
        let kind = out.trace.strings.intern("sample_type");
        let count = out.trace.strings.intern("count");
        let names: Vec<(StringId, StringId)> = match self.types.is_empty() {
            false => self
                .types
                .iter()
                .map(|(name, unit)| (self.text(*name, out), self.text(*unit, out).some().unwrap_or(count)))
                .collect(),
            true => (0..self.n_values())
                .map(|number| (out.trace.strings.intern(&format!("value{number}")), count))
                .collect(),
        };
        let of_name = self.text(self.default_type, out);
        let default = names.iter().position(|(name, _)| *name == of_name && !of_name.is_none());
        let default = default.unwrap_or(names.len().saturating_sub(1));
        let mut profiles: Vec<StackProfile> = Vec::with_capacity(names.len());
        let mut n_of: HashMap<(StringId, StringId), u32> = HashMap::default();
        for (number, (name, unit)) in names.into_iter().enumerate() {
            // Weights of one measure and unit are added, which those of one file are not.
            let n = n_of.entry((name, unit)).or_default();
            *n += 1;
            let mut measure = name;
            if *n > 1 {
                let numbered = format!("{} ({n})", out.trace.strings.get_opt(name).unwrap_or_default());
                measure = out.trace.strings.intern(&numbered);
                // Without texts, none has a name.
                if !self.strings.is_empty() {
                    note(out, &DUPLICATE_TYPE, &numbered);
                }
            }
            let is_default = number == default;
            profiles.push(StackProfile { name, measure, kind, is_default, ..StackProfile::new(unit) });
        }
        profiles
    }

    /// Adds profiles to the trace. Returns how many samples have at least one value.
    fn hand_over(self, out: &mut TraceBuilder) -> u64 {
        if self.n_broken > 0 {
            note(out, &BAD_VALUE, "a message that is cut off");
        }
        if self.locations.has_duplicates || self.functions.has_duplicates || self.mappings.has_duplicates {
            note(out, &DUPLICATE_ID, "");
        }
        if self.strings.is_empty() {
            note(out, &NO_STRINGS, "");
        }
        if self.types.is_empty() && !self.sample_ends.is_empty() {
            note(out, &NO_SAMPLE_TYPE, "");
        }
        self.describe(out);
        let mut profiles = self.profiles(out);
        let pruning = Pruning::of(&self, out);
        let mut frames: Vec<Option<Vec<Frame>>> = (0..self.locations.rows.len()).map(|_| None).collect();
        let missing = Frame::named(out.trace.strings.intern(MISSING));
        let (mut n_used, mut starts) = (0, (0, 0));
        for ends in &self.sample_ends {
            let locations = &self.locations_of_samples[starts.0..ends.0];
            let values = &self.values[starts.1..ends.1];
            starts = *ends;
            if values.len() != profiles.len() {
                note(out, &LENGTH_MISMATCH, "values of a sample");
            }
            n_used += u64::from(!values.is_empty());
            let mut stack = StackId::NONE;
            let (mut is_below_first, mut is_dropped) = (true, false);
            for id in locations.iter().rev() {
                let Some((row, _)) = self.locations.get(*id) else {
                    note(out, &DANGLING_ID, "location");
                    stack = out.stack(stack, missing);
                    is_below_first = false;
                    continue;
                };
                match pruning.of_location(row) {
                    None => is_below_first = false,
                    // All of it goes, with what it calls; at the root it stays.
                    Some(prune::All) if !is_below_first => {
                        is_dropped = true;
                        break;
                    }
                    Some(_) => {}
                }
                let known = match &mut frames[row] {
                    Some(known) => known,
                    unknown => unknown.insert(self.frames_of(row, &pruning, out)),
                };
                for frame in known.iter() {
                    stack = out.stack(stack, *frame);
                }
                if pruning.of_location(row) == Some(prune::Inner) && !is_below_first {
                    is_dropped = true;
                    break;
                }
            }
            if is_dropped {
                note(out, &DROPPED_FRAMES, "");
            }
            for (profile, value) in profiles.iter_mut().zip(values) {
                push_sample(profile, stack, Amount::whole(*value), out);
            }
        }
        out.trace.stack_profiles = profiles;
        n_used
    }

    /// Facts about the profile.
    fn describe(&self, out: &mut TraceBuilder) {
        let mut facts: Vec<(String, String)> = Vec::new();
        for (name, number) in [
            (pprof_facts::TIME, self.time_ns),
            (pprof_facts::DURATION, self.duration_ns),
            (pprof_facts::PERIOD, self.period),
        ] {
            if number != 0 {
                facts.push((name.to_string(), number.to_string()));
            }
        }
        let mut text = |number: i64| {
            let id = self.text(number, out);
            out.trace.strings.get_opt(id).unwrap_or_default().to_string()
        };
        if let Some((kind, unit)) = self.period_type {
            facts.push((pprof_facts::PERIOD_TYPE.to_string(), format!("{} ({})", text(kind), text(unit))));
        }
        let mut labels: std::collections::BTreeMap<String, u64> = Default::default();
        for (key, _) in &self.labels {
            *labels.entry(text(*key)).or_default() += 1;
        }
        if !labels.is_empty() {
            let list: Vec<String> =
                labels.iter().map(|(key, n)| format!("{key} ({})", counted(*n, "value", "values"))).collect();
            facts.push((pprof_facts::LABELS.to_string(), list.join(", ")));
        }
        for comment in &self.comments {
            facts.push((pprof_facts::COMMENT.to_string(), text(*comment)));
        }
        out.trace.source.metadata = facts;
    }
}
