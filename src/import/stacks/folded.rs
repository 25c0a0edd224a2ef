//! Folded (collapsed) stacks: one stack a line, the outermost frame first, with its count.
//!
//! ```text
//! main;parse;token 12
//! ```
//!
//! Austin writes what it measured into comments (`# mode: wall`), and in its full mode three numbers: wall time in µs, whether the
//! thread was idle, and the change of the process's memory in bytes (`400,0,1024`). Austin 3.0 wrote time, allocated and freed
//! memory instead (`400 1024 0`), at first in KB.
//!
//! Some tools put more into the names: threads, files, lines. Whether they did is known only at the end, as all lines must have
//! it; so frames are kept as written until then, as a tree.
//!
//! A line with a count alone is a sample without a stack, and so is one with `(no stack)`, as Tracedrop writes it in differences.

use super::issues::*;
use super::text::{TextLine, TextLines, TextReader, decoded};
use super::{note, push_sample};
use crate::base::children::{ChildIndex, NONE as ROOT};
use crate::base::hash::HashMap;
use crate::base::strings::{StringId, StringTable};
use crate::base::text::is_decimal;
use crate::import::{Confidence, FormatInfo, ImportError, detect};
use crate::trace::labels::numbers_of_thread;
use crate::trace::samples::{Frame, FrameId, NO_LINE, StackId};
use crate::trace::stack_profiles::{Amount, Amounts, NO_STACK, StackProfile};
use crate::trace::{Position, TraceBuilder};
use memchr::{memchr, memchr_iter};

pub static INFO: FormatInfo = FormatInfo {
    id: "folded",
    title: "Folded stacks",
    producers: "FlameGraph and inferno collapsers, async-profiler, py-spy, austin, Python's profiling.sampling, bpftrace",
    extensions: &["folded", "collapsed", "txt"],
    sniff,
    reader: || Box::new(TextReader::new(Folded::default())),
    parts: None,
    has_events: false,
    issues: super::issues::ALL,
};

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |at| at + 1);
    &text[..end]
}

fn trim_start(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_blank(*byte)).unwrap_or(text.len());
    &text[start..]
}

/// What precedes the last word of a text, and that word; `None` unless it is a count behind white space.
fn split_count(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = trim_end(text);
    let blank = text.iter().rposition(|byte| is_blank(*byte))?;
    let word = &text[blank + 1..];
    let is_count = std::str::from_utf8(word).is_ok_and(is_decimal);
    is_count.then(|| (trim_end(&text[..blank]), word))
}

/// The stack of a line and its counts: one, or the three of Austin's full mode, else empty.
fn counts_of(text: &[u8]) -> Option<(&[u8], [&[u8]; 3])> {
    if let Some((stack, count)) = split_count(text) {
        return Some((stack, [count, b"", b""]));
    }
    let text = trim_end(text);
    // `P12;T34;…`
    let blank = text.iter().rposition(|byte| is_blank(*byte)).filter(|_| text.starts_with(b"P"))?;
    let mut words = text[blank + 1..].split(|byte| *byte == b',');
    let counts = [words.next()?, words.next()?, words.next()?];
    let is_count = |word: &[u8]| std::str::from_utf8(word).is_ok_and(is_decimal);
    let are_counts = words.next().is_none() && counts.iter().all(|word| is_count(word));
    are_counts.then(|| (trim_end(&text[..blank]), counts))
}

/// Number of counts at the end of a stack, at most `most`, if something precedes them.
fn n_counts_at_end(mut stack: &[u8], most: usize) -> usize {
    let mut n = 0;
    while n < most
        && let Some((rest, _)) = split_count(stack)
        && !rest.is_empty()
    {
        (stack, n) = (rest, n + 1);
    }
    n
}

/// Starts of JSON and HTML; a frame can be `[unknown]` or `<module>`.
fn is_markup(start: &[u8]) -> bool {
    let mut said = start.iter().filter(|byte| !is_blank(**byte));
    match said.next() {
        None | Some(b'{') => true,
        Some(b'[') => matches!(said.next(), None | Some(b'{' | b'[' | b'"' | b']' | b'0'..=b'9')),
        Some(b'<') => {
            matches!(said.next(), Some(b'!' | b'?'))
                || [&b"<html"[..], b"<svg"].iter().any(|tag| start.starts_with(tag))
        }
        _ => false,
    }
}

/// Whether a line without count may be a stack: its last frame is a name, not the empty end of a statement or a number of a table.
fn ends_with_name(line: &[u8]) -> bool {
    let last = line.rsplit(|byte| *byte == b';').next().map(<[u8]>::trim_ascii).unwrap_or_default();
    !last.is_empty() && !std::str::from_utf8(last).is_ok_and(is_decimal)
}

/// Whether a text has blanks as no name has them: outside of brackets, and not before the place in `main (app.py)`.
fn is_sentence(text: &[u8]) -> bool {
    let mut depth = 0_usize;
    text.iter().zip(text.iter().skip(1)).any(|(byte, next)| {
        match byte {
            b'(' | b'<' | b'[' => depth += 1,
            b')' | b'>' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && is_blank(*byte) && *next != b'('
    })
}

fn sniff(head: &[u8]) -> Confidence {
    let is_cut = head.len() >= detect::HEAD_BYTES;
    let text = decoded(head);
    if text.contains(&0) || is_markup(trim_start(&text)) {
        return Confidence::No;
    }
    let (mut n_stacks, mut n_deep, mut n_sentences, mut n_bare, mut n_other) = (0, 0, 0, 0, 0);
    let mut lines = text.split(|byte| *byte == b'\n').peekable();
    let mut n_seen = 0;
    while let Some(line) = lines.next() {
        let is_last = lines.peek().is_none();
        let start = trim_start(line);
        let has_frames = memchr(b';', line).is_some();
        if start.is_empty() || start[0] == b'#' && !has_frames || is_last && is_cut {
            continue;
        }
        match counts_of(line) {
            Some((stack, _)) if !stack.is_empty() => {
                n_stacks += 1;
                n_deep += i32::from(has_frames);
                n_sentences += i32::from(is_sentence(stack));
            }
            // A sample without a stack could be a number of anything.
            Some(_) => {}
            None if has_frames && ends_with_name(line) => n_bare += 1,
            None => n_other += 1,
        }
        n_seen += 1;
        if n_seen == 200 {
            break;
        }
    }
    match () {
        () if n_deep > 0 && n_stacks * 2 >= n_other + n_bare => Confidence::Likely,
        // Without calls, few names have blanks; lines of a log do.
        () if n_stacks > 0 && n_other + n_bare == 0 && n_sentences * 2 <= n_stacks => Confidence::Possible,
        () if n_stacks == 0 && n_bare > n_other => Confidence::Possible,
        () if n_deep > 0 => Confidence::Possible,
        () => Confidence::No,
    }
}

/// Frames as written, each on top of others.
#[derive(Default)]
struct Nodes {
    text: Vec<StringId>,
    parent: Vec<u32>,
    children: ChildIndex,
}

impl Nodes {
    fn child(&mut self, parent: u32, text: StringId) -> u32 {
        let next = self.text.len() as u32;
        let node = self.children.child(parent, text.0, next);
        if node == next {
            self.text.push(text);
            self.parent.push(parent);
        }
        node
    }
}

/// The stack of the last line: neighbors have much in common, as most tools sort them.
#[derive(Default)]
struct LastStack {
    text: Vec<u8>,
    /// By frame: where its text ends, and its node.
    frames: Vec<(usize, u32)>,
}

/// Number of bytes that two texts start with alike.
fn n_alike(a: &[u8], b: &[u8]) -> usize {
    let (words_a, words_b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let words =
        words_a.iter().zip(words_b).position(|(a, b)| a != b).unwrap_or(words_a.len().min(words_b.len()));
    let (a, b) = (&a[words * 8..], &b[words * 8..]);
    words * 8 + a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Stacks as written.
struct Folded {
    texts: StringTable,
    nodes: Nodes,
    last: LastStack,
    /// Node and count of each line with one.
    node: Vec<u32>,
    count: Amounts,
    /// Further weights of each line: CPU time and memory, or allocated and freed memory; mostly empty.
    metrics: [Amounts; 2],
    /// Lines have the three counts of Austin's full mode, with commas.
    has_metrics: bool,
    /// Number of counts that each stack has before the last one, at most 2.
    n_before: usize,
    /// Comments of Austin: names and values.
    comments: Vec<(String, String)>,
    /// Lines with frames and no count: their nodes and bytes, as long as no line had a count.
    uncounted: Vec<(u32, u64)>,
    first_uncounted: Position,
}

impl Default for Folded {
    fn default() -> Folded {
        Folded {
            texts: StringTable::default(),
            nodes: Nodes::default(),
            last: LastStack::default(),
            node: Vec::new(),
            count: Amounts::default(),
            metrics: Default::default(),
            has_metrics: false,
            n_before: 2,
            comments: Vec::new(),
            uncounted: Vec::new(),
            first_uncounted: Position::default(),
        }
    }
}

impl Folded {
    fn node_of(&mut self, stack: &[u8]) -> u32 {
        if stack.is_empty() {
            return ROOT;
        }
        let Folded { texts, nodes, last: LastStack { text: last, frames }, .. } = self;
        let n_alike = n_alike(stack, last);
        let n_frames = frames.partition_point(|(end, _)| *end <= n_alike);
        frames.truncate(n_frames);
        frames.pop_if(|(end, _)| *end < stack.len() && stack[*end] != b';');
        let (mut start, mut node) = frames.last().map_or((0, ROOT), |(end, node)| (*end + 1, *node));
        last.truncate(n_alike);
        last.extend_from_slice(&stack[n_alike..]);
        if start > stack.len() {
            return node;
        }
        // Mostly it is text, which needs no check of each frame.
        let text = std::str::from_utf8(stack);
        let first = start;
        for end in memchr_iter(b';', &stack[first..]).map(|at| first + at).chain([stack.len()]) {
            let text = match text {
                Ok(text) => texts.intern(&text[start..end]),
                Err(_) => texts.intern_bytes(&stack[start..end]),
            };
            node = nodes.child(node, text);
            frames.push((end, node));
            start = end + 1;
        }
        node
    }

    fn text(&self, node: u32) -> &str {
        self.texts.get(self.nodes.text[node as usize])
    }

    /// A stack as written.
    fn stack_text(&self, node: u32) -> String {
        let mut frames = Vec::new();
        let mut at = node;
        while at != ROOT {
            frames.push(self.text(at));
            at = self.nodes.parent[at as usize];
        }
        frames.reverse();
        frames.join(";")
    }

    /// Lines without a count are no stacks once another line has one.
    fn give_up_uncounted(&mut self, out: &mut TraceBuilder) {
        for (node, n_bytes) in std::mem::take(&mut self.uncounted) {
            let example = self.stack_text(node);
            out.trace.ledger.skip_record(&BAD_LINE, self.first_uncounted, n_bytes, example.as_bytes());
        }
    }
}

impl TextLines for Folded {
    fn line(&mut self, line: TextLine<'_>, out: &mut TraceBuilder) {
        let TextLine { text, at, n_bytes, is_too_long } = line;
        let ledger = &mut out.trace.ledger;
        if is_too_long {
            return ledger.skip_record(&LINE_TOO_LONG, at, n_bytes, text);
        }
        let has_frames = memchr(b';', text).is_some();
        let start = trim_start(text);
        if start.is_empty() || start[0] == b'#' && !has_frames {
            ledger.frame(n_bytes);
            return self
                .comments
                .extend(austin_comment(start).filter(|_| self.comments.len() < MAX_COMMENTS));
        }
        let Some((stack, [count, idle, memory])) = counts_of(text) else {
            if has_frames && self.node.is_empty() {
                if self.uncounted.is_empty() {
                    self.first_uncounted = at;
                }
                let node = self.node_of(trim_end(start));
                self.uncounted.push((node, n_bytes));
                return;
            }
            return ledger.skip_record(&BAD_LINE, at, n_bytes, text);
        };
        let has_metrics = !memory.is_empty();
        let is_alike = self.node.is_empty() || has_metrics == self.has_metrics;
        let Some(count) = Amount::parse(count).filter(|_| is_alike) else {
            return ledger.skip_record(&BAD_LINE, at, n_bytes, text);
        };
        self.has_metrics = has_metrics;
        if has_metrics {
            let [cpu, of_memory] = &mut self.metrics;
            cpu.push(if idle == b"0" { count } else { Amount::ZERO });
            of_memory.push(Amount::parse(memory).unwrap_or_default());
        }
        if std::str::from_utf8(text).is_ok() {
            ledger.keep(n_bytes);
        } else {
            ledger.file(&BAD_UTF8, at, text);
            ledger.repair(n_bytes);
        }
        if !self.uncounted.is_empty() {
            self.give_up_uncounted(out);
        }
        let stack = match trim_start(stack) {
            stack if stack == NO_STACK.as_bytes() => b"",
            stack => stack,
        };
        if !stack.is_empty() {
            self.n_before = if has_metrics { 0 } else { n_counts_at_end(stack, self.n_before) };
        }
        let node = self.node_of(stack);
        self.node.push(node);
        self.count.push(count);
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        out.trace.ledger.record_noun = "stacks".into();
        let uncounted = std::mem::take(&mut self.uncounted);
        if !uncounted.is_empty() {
            out.trace.ledger.file(&NO_COUNTS, self.first_uncounted, b"");
        }
        for (node, n_bytes) in uncounted {
            out.trace.ledger.keep(n_bytes);
            self.node.push(node);
            self.count.push(Amount::ONE);
            self.n_before = 0;
        }
        if self.node.is_empty() {
            return Err(ImportError {
                code: "no-events",
                what: "no line has a stack and its count".to_string(),
                hint: "folded stacks are lines such as `main;parse;token 12`".to_string(),
            });
        }
        let mut folded = std::mem::take(self);
        if !folded.nodes.parent.is_empty() && folded.nodes.parent.iter().all(|parent| *parent == ROOT) {
            note(out, &ONE_FRAME, folded.text(0));
        }
        // Samples without a stack fit all.
        if folded.node.iter().all(|node| *node == ROOT) {
            folded.n_before = 0;
        }
        if folded.n_before == 2 {
            folded = folded.with_three_counts().unwrap_or(folded);
        }
        folded.hand_over(out);
        Ok(())
    }
}

/// What tools put into the names of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Style {
    Plain,
    /// `tid:N`, then `file:function:line`.
    Python,
    /// `function (file:line)`.
    PySpy,
    /// `thread (N): name`, then as `PySpy`.
    PySpyThreads,
    /// `P<pid>`, `T<tid>`, then `file:function:line`.
    Austin,
    /// `name (thread N, process N)`, then `function (file:line)`, `function (module)` or plain names.
    Own,
}

impl Style {
    const ALL: [Style; 5] = [Style::Own, Style::Python, Style::PySpyThreads, Style::PySpy, Style::Austin];

    fn producer(self) -> Option<&'static str> {
        match self {
            Style::Plain => None,
            Style::Python => Some("CPython profiling.sampling"),
            Style::PySpy | Style::PySpyThreads => Some("py-spy"),
            Style::Austin => Some("austin"),
            Style::Own => Some("Tracedrop"),
        }
    }
}

/// Where a stack belongs: process, thread, name of the thread.
type Place = (Option<u64>, Option<u64>, StringId);

fn thread_of_python(text: &str) -> Option<u64> {
    text.strip_prefix("tid:")?.parse().ok()
}

fn number_of(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

/// Number and name in `thread (N): name`.
fn thread_of_py_spy(text: &str) -> Option<(u64, Option<&str>)> {
    let (number, rest) = text.strip_prefix("thread (")?.split_once(')')?;
    let name = match rest {
        "" => None,
        rest => Some(rest.strip_prefix(':')?.trim_start()),
    };
    Some((number_of(number)?, name.filter(|name| !name.is_empty())))
}

fn process_of_austin(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('P')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn thread_of_austin(text: &str) -> Option<u64> {
    let text = text.strip_prefix('T')?;
    number_of(text.rsplit_once(':').map_or(text, |(_, number)| number))
}

/// File, function and line in `file:function:line`.
fn file_function_line(text: &str) -> Option<(&str, &str, i64)> {
    let (rest, line) = text.rsplit_once(':')?;
    let (file, function) = rest.rsplit_once(':')?;
    let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !file.is_empty()).then_some(())?;
    Some((file, function, line.parse().ok()?))
}

/// Function, file and line in `function (file:line)`.
fn function_file_line(text: &str) -> Option<(&str, &str, i64)> {
    let (function, place) = text.strip_suffix(')')?.rsplit_once(" (")?;
    let (file, line) = place.rsplit_once(':')?;
    let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| Some((function, file, line.parse().ok()?)))?
}

/// Comments that are kept.
const MAX_COMMENTS: usize = 20;

/// Name and value of `# mode: wall`, for what Austin says of a recording.
fn austin_comment(line: &[u8]) -> Option<(String, String)> {
    const NAMES: [&str; 7] = ["austin", "duration", "gc", "interval", "mode", "multiprocess", "python"];
    let (name, value) = std::str::from_utf8(line).ok()?.strip_prefix('#')?.split_once(':')?;
    let (name, value) = (name.trim(), value.trim());
    (NAMES.contains(&name) && value.len() <= 40).then(|| (name.to_string(), value.to_string()))
}

/// Marks at the end of names, and what they mean.
const ANNOTATIONS: [(&str, &str); 6] = [
    ("_[k]", "kernel"),
    ("_[i]", "inlined"),
    ("_[j]", "JIT-compiled"),
    ("_[0]", "interpreted"),
    ("_[1]", "compiled by C1"),
    ("_[w]", "waker"),
];

impl Folded {
    /// The style that all stacks have.
    fn style(&self) -> Style {
        Style::ALL.into_iter().find(|style| self.has_style(*style)).unwrap_or(Style::Plain)
    }

    /// Whether each stack looks like `style`; samples without any frame fit all.
    fn has_style(&self, style: Style) -> bool {
        if self.nodes.text.is_empty() {
            return false;
        }
        // By text, as each is in many nodes.
        let is_of_py_spy: Vec<bool> =
            self.texts.all().map(|text| function_file_line(text).is_some()).collect();
        // Whether the frames up to each node fit; a frame of py-spy's files is needed once a stack.
        let mut has_file = vec![false; self.nodes.text.len()];
        let mut place_in_stack = vec![0u32; self.nodes.text.len()];
        for node in 0..self.nodes.text.len() {
            let parent = self.nodes.parent[node];
            let (above, depth) = match parent {
                ROOT => (false, 0),
                parent => (has_file[parent as usize], place_in_stack[parent as usize] + 1),
            };
            place_in_stack[node] = depth;
            let text = || self.text(node as u32);
            let fits = match (style, depth) {
                (Style::Plain, _) => true,
                (Style::Own, 0) => numbers_of_thread(text()).is_some(),
                (Style::Python, 0) => thread_of_python(text()).is_some(),
                (Style::PySpyThreads, 0) => thread_of_py_spy(text()).is_some(),
                (Style::Austin, 0) => process_of_austin(text()).is_some(),
                (Style::Austin, 1) => thread_of_austin(text()).is_some(),
                (Style::Python, _) => is_python_frame(text()),
                (Style::PySpy | Style::PySpyThreads | Style::Austin | Style::Own, _) => true,
            };
            if !fits {
                return false;
            }
            has_file[node] = above || is_of_py_spy[self.nodes.text[node].0 as usize];
        }
        match style {
            Style::PySpy => self.node.iter().all(|node| *node == ROOT || has_file[*node as usize]),
            Style::Austin => {
                self.node.iter().all(|node| *node == ROOT || place_in_stack[*node as usize] >= 1)
            }
            // Samples without any frame are summed up in a line of no thread.
            Style::Own => true,
            // A sample without any frame has no thread.
            _ => self.node.iter().all(|node| *node != ROOT),
        }
    }

    /// Austin's time, allocated and freed memory, of stacks that end with three counts; `None` of other tools, as nothing says what
    /// the counts are.
    fn with_three_counts(&self) -> Option<Folded> {
        let mut with = Folded { n_before: 2, comments: self.comments.clone(), ..Folded::default() };
        for (row, node) in self.node.iter().enumerate() {
            let text = self.stack_text(*node);
            let (rest, allocated) = split_count(text.as_bytes())?;
            let (stack, time) = split_count(rest)?;
            let parsed = [Amount::parse(time), Amount::parse(allocated), self.count.get(row)];
            let [Some(time), Some(allocated), Some(freed)] = parsed else { return None };
            let node = with.node_of(stack);
            with.node.push(node);
            with.count.push(time);
            with.metrics[0].push(allocated);
            with.metrics[1].push(freed);
        }
        (with.style() == Style::Austin).then_some(with)
    }

    /// Name and unit of each weight of a line.
    fn weights(&self) -> Vec<(&'static str, &'static str)> {
        if self.has_metrics {
            return vec![("wall time", "microseconds"), ("CPU time", "microseconds"), ("memory", "bytes")];
        }
        if !self.metrics[0].is_empty() {
            return vec![("time", "microseconds"), ("allocated memory", "none"), ("freed memory", "none")];
        }
        // Austin's are microseconds or bytes by its mode, which is shown: other readers of such files count samples.
        vec![("", "samples")]
    }

    /// What Austin says of the recording; its times are in microseconds.
    fn describe(&self, out: &mut TraceBuilder) {
        for (name, value) in &self.comments {
            let unit = if ["interval", "duration"].contains(&name.as_str()) { " µs" } else { "" };
            out.trace.source.metadata.push((name.clone(), format!("{value}{unit}")));
        }
    }

    fn hand_over(self, out: &mut TraceBuilder) {
        if self.n_before == 1 {
            return self.hand_over_difference(out);
        }
        let style = self.style();
        if style == Style::Austin {
            self.describe(out);
        }
        out.trace.source.producer = style.producer().map(str::to_string);
        let n_nodes = self.nodes.text.len();
        let mut places: Vec<Place> = vec![(None, None, StringId::NONE)];
        // By node, a number of `places`.
        let mut place_of = vec![0; n_nodes];
        let mut depths = vec![0u32; n_nodes];
        let mut stacks = vec![StackId::NONE; n_nodes];
        // By text.
        let mut frames: Vec<Option<FrameId>> = vec![None; self.texts.len()];
        for node in 0..n_nodes {
            let text = self.nodes.text[node];
            let (depth, below, around) = match self.nodes.parent[node] {
                ROOT => (0, StackId::NONE, 0),
                parent => (depths[parent as usize] + 1, stacks[parent as usize], place_of[parent as usize]),
            };
            depths[node] = depth;
            let mut place = places[around];
            let name = || self.texts.get(text);
            let is_place = match (style, depth) {
                (Style::Python, 0) => {
                    place.1 = thread_of_python(name());
                    true
                }
                (Style::Own, 0) => {
                    if let Some((process, thread, name)) = numbers_of_thread(name()) {
                        let name = name.map(|name| out.trace.strings.intern(name));
                        place = (process, thread, name.unwrap_or(StringId::NONE));
                    }
                    true
                }
                (Style::PySpyThreads, 0) => {
                    if let Some((number, name)) = thread_of_py_spy(name()) {
                        let name = name.map(|name| out.trace.strings.intern(name));
                        place = (None, Some(number), name.unwrap_or(StringId::NONE));
                    }
                    true
                }
                (Style::Austin, 0) => {
                    place.0 = process_of_austin(name());
                    true
                }
                (Style::Austin, 1) => {
                    place.1 = thread_of_austin(name());
                    true
                }
                _ => false,
            };
            if is_place {
                place_of[node] = places.len();
                places.push(place);
                stacks[node] = below;
                continue;
            }
            place_of[node] = around;
            let frame = *frames[text.0 as usize].get_or_insert_with(|| {
                let frame = frame_of(name(), style, &mut out.trace.strings);
                out.frame(frame)
            });
            stacks[node] = out.stack_on(below, frame);
        }
        let weights = self.weights();
        let amounts = [&self.count, &self.metrics[0], &self.metrics[1]];
        let mut profiles: Vec<StackProfile> = Vec::new();
        let mut numbers: HashMap<Place, usize> = HashMap::default();
        let mut of_place: Vec<Option<usize>> = vec![None; places.len()];
        for (row, node) in self.node.iter().enumerate() {
            let end = self.without_empty_frames(*node, out);
            let at = if *node == ROOT { 0 } else { place_of[*node as usize] };
            let place = places[at];
            let number = *of_place[at].get_or_insert_with(|| {
                // Others may repeat the numbers of a thread with another name.
                let name = if style == Style::Own { place.2 } else { StringId::NONE };
                *numbers.entry((place.0, place.1, name)).or_insert_with(|| {
                    let number = profiles.len();
                    for (name, unit) in &weights {
                        let mut profile = StackProfile::new(out.trace.strings.intern(unit));
                        if !name.is_empty() {
                            profile.measure = out.trace.strings.intern(name);
                        }
                        profile.process_id = super::number_text(place.0, out);
                        profile.thread_id = super::number_text(place.1, out);
                        profiles.push(profile);
                    }
                    number
                })
            });
            let stack = if end == ROOT { StackId::NONE } else { stacks[end as usize] };
            for (profile, amounts) in profiles[number..].iter_mut().zip(amounts).take(weights.len()) {
                if profile.thread.is_none() {
                    profile.thread = place.2;
                }
                if let Some(amount) = amounts.get(row) {
                    push_sample(profile, stack, amount, out);
                }
            }
        }
        out.trace.stack_profiles = profiles;
    }

    /// The node without the empty frames at its end.
    fn without_empty_frames(&self, node: u32, out: &mut TraceBuilder) -> u32 {
        let mut end = node;
        while end != ROOT && self.nodes.text[end as usize] == StringId::EMPTY {
            end = self.nodes.parent[end as usize];
        }
        if end != node {
            note(out, &EMPTY_FRAME, "");
        }
        end
    }

    /// Two profiles: the first and the second count of each line.
    fn hand_over_difference(mut self, out: &mut TraceBuilder) {
        let (unit, names) = {
            let strings = &mut out.trace.strings;
            (strings.intern("samples"), ["before", "after"].map(|name| strings.intern(name)))
        };
        let mut profiles = names.map(|name| StackProfile { name, measure: name, ..StackProfile::new(unit) });
        let mut frames: HashMap<StringId, Frame> = HashMap::default();
        for row in 0..self.node.len() {
            let Some(after) = self.count.get(row) else { continue };
            let node = self.node[row];
            let (mut path, mut before) = (Vec::new(), Amount::ZERO);
            let mut at = node;
            while at != ROOT {
                path.push(self.nodes.text[at as usize]);
                at = self.nodes.parent[at as usize];
            }
            if let Some(leaf) = path.first_mut()
                && let Some((name, count)) = split_count(self.texts.get(*leaf).as_bytes())
            {
                before = Amount::parse(count).unwrap_or_default();
                let name = name.to_vec();
                *leaf = self.texts.intern_bytes(&name);
            }
            if let [only] = path[..]
                && self.texts.get(only) == NO_STACK
            {
                path.clear();
            }
            let n_empty = path.iter().take_while(|text| **text == StringId::EMPTY).count();
            if n_empty > 0 {
                note(out, &EMPTY_FRAME, "");
            }
            let mut stack = StackId::NONE;
            for text in path[n_empty..].iter().rev() {
                let (name, strings) = (self.texts.get(*text), &mut out.trace.strings);
                let frame = *frames.entry(*text).or_insert_with(|| frame_of(name, Style::Plain, strings));
                stack = out.stack(stack, frame);
            }
            let [first, second] = &mut profiles;
            push_sample(first, stack, before, out);
            push_sample(second, stack, after, out);
        }
        out.trace.stack_profiles = profiles.into();
    }
}

fn is_python_frame(text: &str) -> bool {
    file_function_line(text).is_some() || text.starts_with('<') && text.ends_with('>')
}

/// Frame of a name as written.
fn frame_of(text: &str, style: Style, strings: &mut StringTable) -> Frame {
    let split = match style {
        Style::Plain => None,
        Style::Python | Style::Austin => {
            file_function_line(text).map(|(file, name, line)| (name, file, line))
        }
        Style::PySpy | Style::PySpyThreads | Style::Own => function_file_line(text),
    };
    if let Some((name, file, line)) = split {
        let (name, file) = (strings.intern(name), strings.intern(file));
        return Frame { file, line, ..Frame::named(name) };
    }
    if matches!(style, Style::PySpy | Style::PySpyThreads | Style::Own)
        && let Some((name, module)) = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("))
    {
        let (name, module) = (strings.intern(name), strings.intern(module));
        return Frame { module, line: NO_LINE, ..Frame::named(name) };
    }
    let annotation = ANNOTATIONS.iter().find_map(|(mark, meaning)| {
        let name = text.strip_suffix(mark).filter(|name| !name.is_empty())?;
        matches!(style, Style::Plain | Style::Own).then_some((name, *meaning))
    });
    match annotation {
        Some((name, category)) => {
            let category = strings.intern(category);
            Frame { category, ..Frame::named(strings.intern(name)) }
        }
        None => Frame::named(strings.intern(text)),
    }
}
