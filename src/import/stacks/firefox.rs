//! Profiles of the Firefox Profiler, as Firefox records them (Gecko: tables by row) and as the profiler saves them (processed:
//! tables by column).
//!
//! What is where differs by version; it is read from where it is. Times are in milliseconds.

mod gecko;
mod processed;

use super::issues::*;
use super::json::{Document, JsonReader, Shape, Texts, amount, skip_sample};
use super::{MISSING, StackRows, UNKNOWN, counts_in_words, note, push_sample};
use crate::base::hash::{HashMap, HashSet};
use crate::base::json::tape::{Ending, Item, Tape};
use crate::base::strings::StringId;
use crate::base::text::first_names;
use crate::import::{Confidence, FormatInfo, ImportError};
use crate::trace::TraceBuilder;
use crate::trace::samples::{Frame, NO_LINE, StackId};
use crate::trace::stack_profiles::{Amount, StackProfile, firefox_facts};

pub static INFO: FormatInfo = FormatInfo {
    id: "firefox-profile",
    title: "Firefox Profiler JSON",
    producers: "Firefox, samply, Python's profiling.sampling (--gecko), vernier, Tracedrop",
    extensions: &["json", "gecko"],
    sniff,
    reader: || Box::new(JsonReader::new(build)),
    parts: None,
    has_events: true,
    issues: super::issues::ALL,
};

fn sniff(head: &[u8]) -> Confidence {
    let Some(shape) = Shape::of(head) else { return Confidence::No };
    let is_gecko_thread =
        || ["\"stackTable\"", "\"frameTable\""].into_iter().any(|word| shape.mentions(word));
    let mentions_meta = ["\"preprocessedProfileVersion\"", "\"stackwalk\"", "\"processType\""];
    let has_meta = mentions_meta.into_iter().any(|word| shape.mentions(word));
    match () {
        () if shape.has_in("meta", "preprocessedProfileVersion") => Confidence::Certain,
        () if shape.has("meta") && shape.has("threads") && (has_meta || is_gecko_thread()) => {
            Confidence::Certain
        }
        () if shape.has("profile") && shape.has_in("profile", "meta") && (has_meta || is_gecko_thread()) => {
            Confidence::Certain
        }
        () if shape.has("meta") && shape.has("threads") => Confidence::Likely,
        // As the old performance tool saved them: the profile comes after long lists.
        () if ["label", "duration", "markers"].into_iter().all(|key| shape.has(key)) => Confidence::Likely,
        () if (shape.has("threads") || shape.has("meta"))
            && (is_gecko_thread() || shape.mentions("\"stackwalk\"")) =>
        {
            Confidence::Likely
        }
        // What comes first can be long.
        () if (shape.has("shared") || shape.has("libs")) && (has_meta || is_gecko_thread()) => {
            Confidence::Likely
        }
        () => Confidence::No,
    }
}

/// Counters that are named.
const MAX_COUNTERS: usize = 20;

/// Texts that contain further documents, in these, and so on.
const MAX_NESTED_TEXTS: u32 = 4;

fn build(mut document: Document<'_>, out: &mut TraceBuilder) -> Result<(), ImportError> {
    let root = match document.root.get("profile").filter(|profile| profile.get("threads").is_some()) {
        Some(profile) => profile,
        None => document.root,
    };
    let meta = root.get("meta");
    let text = |key: &str| meta.and_then(|meta| meta.get(key)).and_then(Item::text);
    out.trace.source.producer = text("importedFrom").or(text("product")).map(str::to_string);
    for key in ["preprocessedProfileVersion", "version", "interval"] {
        if let Some(number) = meta.and_then(|meta| meta.get(key)).and_then(amount) {
            out.trace.source.metadata.push((key.to_string(), number.to_string()));
        }
    }
    let mut markers = Markers::default();
    read_profile(root, &mut document.texts, (0, start_time(root)), &mut markers, out);
    let counters = names_of_counters(root);
    if !counters.is_empty() {
        let words = first_names(&counters, MAX_COUNTERS);
        out.trace.source.metadata.push((firefox_facts::COUNTERS.to_string(), words));
    }
    if !markers.is_empty() {
        let strings = &out.trace.strings;
        let named = markers.into_iter().map(|(name, n)| match strings.get_opt(name) {
            Some(name) if !name.is_empty() => (name.to_string(), n),
            _ => (UNKNOWN.to_string(), n),
        });
        let words = counts_in_words(named);
        out.trace.source.metadata.push((firefox_facts::MARKERS.to_string(), words));
    }
    Ok(())
}

/// Counters of a profile and its processes, such as memory; each name once. They are no stacks.
fn names_of_counters(root: Item<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut known: HashSet<&str> = HashSet::default();
    let mut left = vec![root];
    while let Some(profile) = left.pop() {
        for counter in profile.get("counters").into_iter().flat_map(Item::items) {
            let name = counter.get("name").and_then(Item::text).unwrap_or(UNKNOWN);
            if known.insert(name) {
                names.push(name.to_string());
            }
        }
        left.extend(profile.get("processes").into_iter().flat_map(Item::items));
    }
    names
}

/// Milliseconds since the epoch from which the times of a process count.
fn start_time(profile: Item<'_>) -> Option<Amount> {
    profile.get("meta")?.get("startTime").and_then(amount)
}

/// How deep in texts a profile is, and [`start_time`] of the profile around all.
type Around = (u32, Option<Amount>);

/// Number of markers by name, of all threads. They are no stacks.
type Markers = HashMap<StringId, u64>;

/// All threads of a profile and its processes.
fn read_profile(
    root: Item<'_>,
    texts: &mut Texts,
    around: Around,
    markers: &mut Markers,
    out: &mut TraceBuilder,
) {
    let mut left = vec![root];
    while let Some(profile) = left.pop() {
        if !profile.is_object() {
            note(out, &BAD_VALUE, "a process");
            continue;
        }
        read_threads(profile, texts, around, markers, out);
        let first = left.len();
        left.extend(profile.get("processes").into_iter().flat_map(Item::items));
        left[first..].reverse();
    }
}

fn read_threads(
    profile: Item<'_>,
    texts: &mut Texts,
    around: Around,
    markers: &mut Markers,
    out: &mut TraceBuilder,
) {
    let offset = match (start_time(profile), around.1) {
        (Some(own), Some(of_all)) => own.minus(of_all),
        _ => Amount::ZERO,
    };
    let meta = profile.get("meta");
    let is_bytes = meta
        .and_then(|meta| meta.get("sampleUnits"))
        .and_then(|units| units.get("time"))
        .and_then(Item::text)
        == Some("bytes");
    let categories: Vec<StringId> = meta
        .and_then(|meta| meta.get("categories"))
        .into_iter()
        .flat_map(Item::items)
        .map(|category| texts.id(category.get("name"), out))
        .collect();
    let mut shared: Option<processed::Tables<'_>> = None;
    let mut shared_strings: Option<Vec<Item<'_>>> = None;
    for thread in profile.get("threads").into_iter().flat_map(Item::items) {
        if let Some(text) = thread.text() {
            read_text(text, around, markers, out);
            continue;
        }
        if !thread.is_object() {
            note(out, &BAD_VALUE, "a thread");
            continue;
        }
        let has_times = !is_bytes;
        let mut about = Thread { thread, texts: &mut *texts, categories: &categories, has_times, offset };
        let is_gecko = thread.get("samples").is_some_and(|samples| samples.get("schema").is_some())
            || thread.get("stackTable").is_some_and(|table| table.get("schema").is_some());
        if is_gecko {
            gecko::read(&mut about, profile, out);
            gecko::count_markers(&mut about, markers, out);
        } else {
            processed::read(&mut about, profile, &mut shared, out);
            processed::count_markers(&mut about, profile, &mut shared_strings, markers, out);
        }
    }
}

/// A process that is a text of JSON, as in old profiles.
fn read_text(text: &str, (n_nested, start): Around, markers: &mut Markers, out: &mut TraceBuilder) {
    if n_nested >= MAX_NESTED_TEXTS {
        return note(out, &BAD_VALUE, "a process in a text");
    }
    let mut tape = Tape::default();
    tape.feed(text.as_bytes());
    if tape.finish() != Ending::Whole {
        note(out, &TRUNCATED, "a process in a text");
    }
    let mut texts = Texts::new(&tape);
    let root = tape.root();
    if root.is_object() {
        read_profile(root, &mut texts, (n_nested + 1, start), markers, out);
    } else {
        note(out, &BAD_VALUE, "a process in a text");
    }
}

/// A thread, and what its profile says about all.
struct Thread<'a, 'b> {
    thread: Item<'a>,
    texts: &'b mut Texts,
    categories: &'b [StringId],
    has_times: bool,
    /// To be added to its times, which count from the start of its process.
    offset: Amount,
}

impl Thread<'_, '_> {
    /// An empty profile of this thread.
    fn profile(&mut self, kind: &str, unit: &str, out: &mut TraceBuilder) -> StackProfile {
        let mut profile = StackProfile::new(out.trace.strings.intern(unit));
        profile.kind = out.trace.strings.intern(kind);
        profile.name = self.texts.id(self.thread.get("name"), out);
        profile.thread = profile.name;
        let is_own = out.trace.source.producer.as_deref() == Some(firefox_facts::OWN_PRODUCER);
        let mut number = |key: &str| match self.thread.get(key) {
            Some(item) if is_own && item.text().is_some_and(firefox_facts::is_stand_in) => StringId::NONE,
            Some(item) if item.text().is_some() => self.texts.id(Some(item), out),
            Some(item) => {
                amount(item).map_or(StringId::NONE, |number| out.trace.strings.intern(&number.to_string()))
            }
            None => StringId::NONE,
        };
        profile.process_id = number("pid");
        profile.thread_id = number("tid");
        if self.has_times {
            profile.time_unit = out.trace.strings.intern("milliseconds");
            profile.offset = self.offset;
        }
        profile
    }

    fn category(&self, item: Option<Item<'_>>) -> StringId {
        let index = item.and_then(super::json::index);
        index.and_then(|index| self.categories.get(index).copied()).unwrap_or(StringId::NONE)
    }
}

/// Adds a sample with its time, if it has one, and notes times that go back.
fn push_timed(
    profile: &mut StackProfile,
    stack: StackId,
    weight: Amount,
    time: Option<Amount>,
    last: &mut Option<Amount>,
    out: &mut TraceBuilder,
) {
    push_sample(profile, stack, weight, out);
    match time {
        Some(time) => {
            if last.is_some_and(|last| time < last) {
                note(out, &NON_MONOTONIC, &time.to_string());
            }
            *last = Some(time);
            profile.time.push(time);
        }
        None => {
            note(out, &BAD_TIME, "");
            profile.time.push_missing();
        }
    }
}

/// A code location in one text, as Gecko writes them.
#[derive(PartialEq, Eq, Debug)]
enum Location<'a> {
    /// `name (file:line:column)`; without a name, it is anonymous.
    Script {
        name: Option<&'a str>,
        file: &'a str,
        line: i64,
        column: i64,
    },
    /// `symbol (in library)`
    Native {
        name: &'a str,
        module: &'a str,
    },
    Address(u64),
    Label(&'a str),
}

/// `file:line` or `file:line:column`.
fn file_line(text: &str) -> Option<(&str, i64, i64)> {
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<i64>().ok())?
    };
    let (rest, last) = text.rsplit_once(':')?;
    let last = number(last)?;
    match rest.rsplit_once(':').and_then(|(file, line)| Some((file, number(line)?))) {
        Some((file, line)) if !file.is_empty() => Some((file, line, last)),
        _ => (!rest.is_empty()).then_some((rest, last, NO_LINE)),
    }
}

/// Without the number of a source at the end: `[2]`.
fn without_source(text: &str) -> &str {
    let source = text.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    match source {
        Some((rest, digits)) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            rest
        }
        _ => text,
    }
}

impl<'a> Location<'a> {
    fn of(text: &'a str) -> Location<'a> {
        if let Some(digits) = text.strip_prefix("0x")
            && let Ok(address) = u64::from_str_radix(digits, 16)
        {
            return Location::Address(address);
        }
        // The offset in the symbol does not count.
        let without_offset = match text.rsplit_once(" (+ ") {
            Some((rest, offset)) if offset.ends_with(')') => rest,
            _ => text,
        };
        if let Some((name, module)) =
            without_offset.strip_suffix(')').and_then(|text| text.rsplit_once(" (in "))
        {
            return Location::Native { name, module };
        }
        let script = without_source(text);
        if let Some((name, place)) = script.strip_suffix(')').and_then(|text| text.rsplit_once(" ("))
            && let Some((file, line, column)) = file_line(place)
        {
            return Location::Script { name: Some(name).filter(|name| !name.is_empty()), file, line, column };
        }
        if let Some(place) = script.strip_prefix('(').and_then(|text| text.strip_suffix(')'))
            && let Some((file, line, column)) = file_line(place)
        {
            return Location::Script { name: None, file, line, column };
        }
        if let Some((file, line, column)) = file_line(script) {
            let last = file.rsplit(" -> ").next().unwrap_or(file);
            let is_file = !last.contains(char::is_whitespace) && last.contains(['/', '.', '\\'])
                || file == "self-hosted";
            if is_file {
                return Location::Script { name: None, file, line, column };
            }
        }
        Location::Label(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_say_where() {
        let script = |name, file, line, column| Location::Script { name, file, line, column };
        for (text, wanted) in [
            ("f (http://h/x.js:3:4)", script(Some("f"), "http://h/x.js", 3, 4)),
            ("f (x.js:3)[7]", script(Some("f"), "x.js", 3, NO_LINE)),
            ("http://h:80/x.js:3", script(None, "http://h:80/x.js", 3, NO_LINE)),
            ("a.js -> b.js:5", script(None, "a.js -> b.js", 5, NO_LINE)),
            ("ns::f(int) (in libz.so) (+ 17)", Location::Native { name: "ns::f(int)", module: "libz.so" }),
            ("0x1F", Location::Address(31)),
            ("plain (root)", Location::Label("plain (root)")),
            ("PresShell::DoReflow http://h:1234/", Location::Label("PresShell::DoReflow http://h:1234/")),
            ("at 12:30", Location::Label("at 12:30")),
            ("", Location::Label("")),
        ] {
            assert_eq!(Location::of(text), wanted, "{text}");
        }
    }
}
