//! Reads a path into a finished session, with a progress bar and parsing issues on standard error.

use crate::cli::arguments::InputArgs;
use crate::cli::content::{CHUNK_BYTES, fill};
use crate::cli::crew;
use crate::cli::place::{Input, Place};
use crate::cli::watch::{self, Doing};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal};
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::archive::{self, Entry};
use tracedrop::base::units::{counted, group_digits};
use tracedrop::base::{progress, sort, text};
use tracedrop::engine::{self, HandedOn, Linked, ReportStep, Session, Shown, folder};
use tracedrop::import::{FORMATS, FormatInfo, ImportError};
use tracedrop::trace::args::Content;
use tracedrop::trace::ledger::{Issue, Ledger};
use tracedrop::trace::{IssueKind, Severity};

/// Content of a path.
pub enum Opened {
    /// A trace.
    Session(Box<Session>),
    /// A shared report without its trace.
    Linked(Box<Linked>),
}

impl Opened {
    pub fn shown(&mut self) -> &mut dyn Shown {
        match self {
            Opened::Session(session) => &mut **session,
            Opened::Linked(linked) => &mut **linked,
        }
    }
}

/// What lies at a place.
enum Begun {
    /// It needs no parsing.
    Opened(Opened),
    /// A trace to parse.
    Input(Input),
}

/// Reads the trace that lies at `place`; see [`open_any`].
pub fn open(
    place: &Place,
    format: Option<&'static FormatInfo>,
    query: Query,
    args: &InputArgs,
) -> Option<Session> {
    match open_any(place, format, query, args, &[])? {
        Opened::Session(session) => Some(*session),
        Opened::Linked(_) => no_trace(place),
    }
}

/// Reads the traces that lie at `places` into `all`, made by [`Session::of_several`]. `false` if one of them cannot be read; the
/// reason is on standard error then, and it is left out.
pub fn add_all(
    all: &mut Session,
    places: &[Place],
    format: Option<&'static FormatInfo>,
    args: &InputArgs,
) -> bool {
    let mut issues = Issues::default();
    let mut are_read = true;
    let shown: Vec<String> = places.iter().map(Place::shown).collect();
    let mut names = names_apart(&shown).map(Vec::into_iter);
    for place in places {
        let name = names.as_mut().and_then(Iterator::next);
        are_read &= add(all, place, name, format, args, &mut issues).is_some();
        if watch::is_stopped() {
            break;
        }
    }
    if !args.quiet {
        issues.tell();
    }
    are_read
}

/// Names with as many of their folders as tell them apart, where files of several folders have one name: `rank0/trace.json`. `None` where
/// all have names of their own.
fn names_apart(paths: &[String]) -> Option<Vec<String>> {
    let parts: Vec<Vec<&str>> =
        paths.iter().map(|path| path.trim_end_matches('/').split('/').collect()).collect();
    let mut names: Vec<&str> = parts.iter().filter_map(|parts| parts.last().copied()).collect();
    sort::by(&mut names, Ord::cmp);
    names.dedup();
    if names.len() == paths.len() {
        return None;
    }
    let ending = |parts: &[&str], n: usize| parts[parts.len().saturating_sub(n)..].join("/");
    // As few folders as tell a file from the others.
    let apart = |own: &Vec<&str>| {
        let is_other = |other: &&Vec<&str>| *other != own;
        let is_enough = |n: &usize| {
            let own = ending(own, *n);
            !parts.iter().filter(is_other).any(|other| ending(other, *n) == own)
        };
        ending(own, (1..own.len()).find(is_enough).unwrap_or(own.len()))
    };
    Some(parts.iter().map(apart).collect())
}

/// Reads the trace that lies at `place` into `all`, under another `name` than its own if given; `None`, with the reason on standard
/// error, if there is nothing to report on.
fn add(
    all: &mut Session,
    place: &Place,
    name: Option<String>,
    format: Option<&'static FormatInfo>,
    args: &InputArgs,
    issues: &mut Issues,
) -> Option<()> {
    match begin(place, all.query(), args)? {
        Begun::Opened(Opened::Session(session)) => match all.take_session(*session) {
            Ok(()) => Some(()),
            Err(failure) => complain(place, &failure),
        },
        Begun::Opened(Opened::Linked(_)) => no_trace(place),
        Begun::Input(input) => {
            // Runs and parts of datasets have other names than their paths.
            let is_own = |path: &String| path.rsplit('/').next() == Some(&*text::visible(&input.file_name));
            let name = name.filter(is_own).unwrap_or_else(|| input.file_name.clone());
            all.begin_file(&name, input.n_bytes, format);
            let parsed = parse(all, place, input, args, issues);
            match parsed {
                Some(()) => all.keep_file(),
                None => all.drop_file(),
            }
            parsed
        }
    }
}

/// Reads all of `place`. `None`, with the reason on standard error, if there is nothing to report on.
///
/// Makes only the reports with ids in `wanted`, or all if it is empty.
pub fn open_any(
    place: &Place,
    format: Option<&'static FormatInfo>,
    query: Query,
    args: &InputArgs,
    wanted: &[String],
) -> Option<Opened> {
    match begin(place, &query, args)? {
        Begun::Opened(opened) => Some(opened),
        Begun::Input(input) => {
            let mut session = Session::new(&input.file_name, input.n_bytes, format, query);
            if !wanted.is_empty() {
                session.make_only(wanted.to_vec());
            }
            let mut issues = Issues::default();
            let parsed = parse(&mut session, place, input, args, &mut issues);
            if !args.quiet {
                issues.tell();
            }
            parsed?;
            Some(Opened::Session(Box::new(session)))
        }
    }
}

fn complain<T>(place: &Place, what: &dyn std::fmt::Display) -> Option<T> {
    say!("tracedrop: {}: {what}", place.shown());
    None
}

fn no_trace<T>(place: &Place) -> Option<T> {
    complain(place, &"this file contains a report but no trace")
}

/// Opens what needs no parsing. `None`, with the reason on standard error, if that or reading fails.
fn begin(place: &Place, query: &Query, args: &InputArgs) -> Option<Begun> {
    let input = match place.input(args.quiet) {
        Ok(input) => input,
        Err(why) => return complain(place, &why),
    };
    let note = |what: &dyn std::fmt::Display| {
        if !args.quiet {
            say!("tracedrop: {}: note: {what}", place.shown());
        }
    };
    // The sender's query applies unless the options ask for another.
    let asked = Some(query).filter(|query| **query != Query::default());
    let opened = input.content.as_ref().and_then(|content| {
        let unpack = |entry: &Entry| unpacked(&**content, entry);
        engine::open(content, &input.file_name, query, asked, unpack)
    });
    let Some(opened) = opened else { return Some(Begun::Input(input)) };
    if args.only.is_some() {
        let what = "--only works on traces; this file was made from one. Open the original trace";
        return complain(place, &what);
    }
    let opened = match opened {
        Ok(engine::Opened::Index(session)) => {
            if let Some(trace) = session.run().traces.first() {
                let trace = text::visible(&trace.source.file_name);
                note(&format!("index of {trace}; the trace itself was not read"));
            }
            Opened::Session(session)
        }
        Ok(engine::Opened::HandedOn(HandedOn::Session(session))) => Opened::Session(session),
        Ok(engine::Opened::HandedOn(HandedOn::Linked(linked))) => {
            if let Some(why) = linked.problem() {
                note(&format!("shown without the trace: {why}"));
            }
            if asked.is_some() {
                note(&"options that change reports have no effect: the file has no trace");
            }
            Opened::Linked(linked)
        }
        Err(failure) => return complain(place, &failure),
    };
    Some(Begun::Opened(opened))
}

/// Parses `input` as the current file of `session`, and finishes it. `None`, with the reason on standard error, if there is
/// nothing to report on.
fn parse(
    session: &mut Session,
    place: &Place,
    input: Input,
    args: &InputArgs,
    issues: &mut Issues,
) -> Option<()> {
    let Input { reader: mut input, n_bytes: size, file_name, content, path, sidecar_files } = input;
    if let Some(content) = content {
        session.can_read_again(content);
    }
    if let Some(sidecar_files) = sidecar_files {
        session.lies_in_run(folder::TRACE_OF_RUN, sidecar_files);
    }
    if let (Some(import), Some(n_events)) = (session.import(), args.hold) {
        import.hold_at_most(n_events);
    }
    if let Some((from_ns, to_ns)) = args.only {
        session.hold_only_from_start(from_ns, to_ns);
    }
    let mut chunk = Vec::with_capacity(CHUNK_BYTES as usize);
    let bar = progress_bar(size, &file_name);
    let mut n_read = 0;
    let result = loop {
        if watch::is_stopped() {
            break Ok(());
        }
        match fill(&mut input, &mut chunk, CHUNK_BYTES) {
            Ok(false) => break finish(session, &bar),
            Ok(true) => {
                session.feed(&chunk);
                n_read += chunk.len() as u64;
                bar.set_position(n_read);
                tell_read(n_read, size);
                if session.has_given_up() {
                    break finish(session, &bar);
                }
                if let Some(path) = path.as_deref().filter(|_| crew::is_worth_starting(size))
                    && let Some(import) = session.import()
                    && let Some(parts) = import.parts()
                {
                    let progress = |at| {
                        bar.set_position(at);
                        tell_read(at, size);
                    };
                    match crew::read_rest(path, size, import, parts, &progress) {
                        Ok(()) => break finish(session, &bar),
                        Err(error) => break session.stop(&error.to_string()),
                    }
                }
            }
            Err(error) => break session.stop(&error.to_string()),
        }
    };
    bar.finish_and_clear();
    if watch::is_stopped() {
        return complain(place, &INTERRUPTED);
    }
    if let Err(error) = result {
        return complain(place, &error);
    }
    let trace = session.run().traces.last()?;
    if args.only.is_some() {
        // What has none is whole.
        let has_times = trace.part.is_some_and(|part| part.whole.is_some());
        let is_sampled = !trace.stack_profiles.is_empty() || !trace.profiles.is_empty();
        if (is_sampled || !trace.scoring_calls.is_empty()) && !has_times {
            return complain(place, &"--only needs times, and this file has none");
        }
        let format = FORMATS.iter().find(|format| format.id == trace.source.format);
        if let Some(format) = format.filter(|format| !format.has_events) {
            let has_none = format!("this file ({}) has none", format.title);
            let what = format!("--only needs events, samples or forward passes; {has_none}");
            return complain(place, &what);
        }
    }
    issues.add(&place.shown(), &trace.ledger);
    // Files next to a trace are shown without it; the caller reports the error.
    let lies_alone = trace.sidecar_files.is_empty();
    match session.why_useless().filter(|_| lies_alone) {
        Some(why) => complain(place, &why),
        None => Some(()),
    }
}

/// Decompressed bytes of a file in an archive.
fn unpacked(content: &dyn Content, entry: &Entry) -> Result<Rc<dyn Content>, String> {
    let mut out = Vec::new();
    // One exact allocation: doubling would briefly take up to three times as much. The size stated is an upper bound.
    let len = usize::try_from(entry.n_bytes).unwrap_or(usize::MAX);
    out.try_reserve_exact(len)
        .map_err(|_| format!("its index of {} bytes does not fit in memory", entry.n_bytes))?;
    archive::unpack(content, entry, &mut |piece| {
        out.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(Rc::new(out))
}

/// Reason for a file that was not read because the listener stopped it.
const INTERRUPTED: &str = "interrupted";

/// Passes on how much of a file is read; a `size` of 0 is unknown.
fn tell_read(n_read: u64, size: u64) {
    let share = (size > 0).then(|| (n_read as f64 / size as f64).min(1.0));
    watch::progress(Doing::Reading, share);
}

/// Makes the reports and shows their progress on `bar`.
fn finish(session: &mut Session, bar: &ProgressBar) -> Result<(), ImportError> {
    let shown = bar.clone();
    let mut is_told = false;
    let each = move |share: f64| {
        if !is_told
            && let Ok(style) = ProgressStyle::with_template("{msg} [{wide_bar}] {percent}% of reports")
        {
            is_told = true;
            shown.set_style(style);
            shown.set_length(1000);
        }
        shown.set_position((share * 1000.0) as u64);
        watch::progress(Doing::Reports, Some(share));
    };
    progress::listening(each, || {
        session.finish_parsing()?;
        while !watch::is_stopped() && session.step_reports() != ReportStep::Idle {}
        Ok(())
    })
}

/// Progress bar, hidden unless standard error is a terminal.
fn progress_bar(size: u64, file_name: &str) -> ProgressBar {
    let (bar, template) = if size > 0 {
        (ProgressBar::new(size), "{msg} [{wide_bar}] {bytes}/{total_bytes} {bytes_per_sec} {eta} left")
    } else {
        (ProgressBar::new_spinner(), "{msg} {spinner} {bytes} {bytes_per_sec}")
    };
    if !io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.set_message(text::visible(file_name));
    bar
}

/// Files up to this many have their parsing issues told one by one.
const MAX_TOLD: usize = 3;

/// Parsing issues of files, by kind.
#[derive(Default)]
struct Issues(Vec<IssueOfFiles>);

/// Issues of one kind.
struct IssueOfFiles {
    kind: &'static IssueKind,
    /// Occurrences in all files.
    n: u64,
    /// Lines of each file.
    lines: Vec<Vec<String>>,
}

impl Issues {
    fn add(&mut self, name: &str, ledger: &Ledger) {
        for issue in &ledger.issues {
            let lines = lines(name, issue);
            match self.0.iter_mut().find(|of_files| of_files.kind.code == issue.kind.code) {
                Some(of_files) => {
                    of_files.n += issue.count;
                    of_files.lines.push(lines);
                }
                None => self.0.push(IssueOfFiles { kind: issue.kind, n: issue.count, lines: vec![lines] }),
            }
        }
    }

    /// Prints them; an issue of many files only once, with the first of them.
    fn tell(&self) {
        for IssueOfFiles { kind, n, lines } in &self.0 {
            if lines.len() > MAX_TOLD {
                let n_files = counted(lines.len() as u64, "file", "files");
                let (word, what, n) = (word(kind.severity), kind.what, group_digits((*n).into()));
                say!("tracedrop: {n_files}: {word}: {what}; {n} times; first file:");
                lines.iter().take(1).flatten().for_each(|line| say!("  {line}"));
            } else {
                lines.iter().flatten().for_each(|line| say!("tracedrop: {line}"));
            }
        }
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Repaired => "repaired",
        Severity::Skipped => "skipped",
    }
}

/// Lines of an issue: the first example on the first one, others below it.
fn lines(name: &str, issue: &Issue) -> Vec<String> {
    let place = issue.first.known_byte().map(|byte| match issue.first.line {
        Some(line) => format!(" at line {line} (byte {byte})"),
        None => format!(" at byte {byte}"),
    });
    let times = match (issue.count, &place) {
        (2.., Some(_)) => format!("; {} times, first", group_digits(issue.count.into())),
        (2.., None) => format!("; {} times", group_digits(issue.count.into())),
        (_, Some(_)) => ";".to_string(),
        (_, None) => String::new(),
    };
    let place = place.unwrap_or_default();
    let mut examples = issue.example.lines();
    let example = examples.next().map_or(String::new(), |example| format!(": {example}"));
    let word = word(issue.kind.severity);
    let first = format!("{name}: {word}: {}{times}{place}{example}", issue.kind.what);
    std::iter::once(first).chain(examples.map(|example| format!("{name}:   also: {example}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::names_apart;

    #[test]
    fn files_of_one_name_are_told_apart_by_their_folders() {
        let apart =
            |paths: &[&str]| names_apart(&paths.iter().map(|path| path.to_string()).collect::<Vec<_>>());
        let right = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(
            apart(&["runs/rank0/t.json", "runs/rank1/t.json"]),
            right(&["rank0/t.json", "rank1/t.json"])
        );
        assert_eq!(apart(&["t.json", "b/t.json", "b/u.json"]), right(&["t.json", "b/t.json", "u.json"]));
        assert_eq!(apart(&["t.json", "t.json"]), right(&["t.json", "t.json"]));
        assert_eq!(apart(&["a/t.json", "b/u.json"]), None);
        assert_eq!(apart(&["t.json"]), None);
    }
}
