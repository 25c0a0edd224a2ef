//! Reads a path into a finished session, with a progress bar and parsing issues on standard error.

use crate::arguments::InputArgs;
use crate::crew;
use crate::place::{Input, Place};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sha2::{Digest, Sha256};
use std::fs::{File, Metadata};
use std::io::{self, IsTerminal, Read};
use std::path::Path;
use std::rc::Rc;
use tracedrop::analysis::Query;
use tracedrop::archive::{self, Entry};
use tracedrop::base::units::group_digits;
use tracedrop::base::{progress, text};
use tracedrop::engine::{HandedOn, Linked, Session, Shown, folder, open_tracedrop_file};
use tracedrop::export::tracedrop_file;
use tracedrop::import::{FORMATS, FormatInfo, ImportError};
use tracedrop::index::{self, Index};
use tracedrop::trace::Severity;
use tracedrop::trace::args::Content;
use tracedrop::trace::ledger::Ledger;

/// Bytes per read.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// Path for messages, with control characters escaped.
pub fn shown(path: &Path) -> String {
    text::visible(&path.display().to_string())
}

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

/// Reads the trace that lies at `place`; see [`open_any`].
pub fn open(
    place: &Place,
    format: Option<&'static FormatInfo>,
    query: Query,
    args: &InputArgs,
) -> Option<Session> {
    match open_any(place, format, query, args, &[])? {
        Opened::Session(session) => Some(*session),
        Opened::Linked(_) => {
            say!("tracedrop: {}: this file contains a report but no trace", place.shown());
            None
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
    let name = place.shown();
    let complain = |what: &dyn std::fmt::Display| {
        say!("tracedrop: {name}: {what}");
        None
    };
    let input = match place.input(args.quiet) {
        Ok(input) => input,
        Err(why) => return complain(&why),
    };
    let Input { reader: mut input, n_bytes: size, file_name, content, path, sidecar_files } = input;
    let is_of_trace_only =
        || complain(&"--only works on traces; this file was made from one. Open the original trace");
    let mut head = [0; index::MAGIC.len()];
    if let Some(content) = &content
        && content.read_at(0, &mut head).is_ok()
        && Index::sniff(&head)
    {
        if args.only.is_some() {
            return is_of_trace_only();
        }
        let index = Index::open(content.clone());
        if let (Ok(index), false) = (&index, args.quiet) {
            let trace = text::visible(&index.head.source.file_name);
            say!("tracedrop: {name}: note: index of {trace}; the trace itself was not read");
        }
        let session = index.and_then(|index| Session::of_index(index, None, query));
        return match session {
            Ok(session) => Some(Opened::Session(Box::new(session))),
            Err(error) => complain(&error),
        };
    }
    if let Some(content) = &content
        && tracedrop_file::is_one(&**content, &file_name)
    {
        if args.only.is_some() {
            return is_of_trace_only();
        }
        // The sender's query applies unless the options ask for another.
        let asked = Some(&query).filter(|query| **query != Query::default());
        return match open_tracedrop_file(&**content, asked, |entry| unpacked(&**content, entry)) {
            Ok(HandedOn::Session(session)) => Some(Opened::Session(session)),
            Ok(HandedOn::Linked(linked)) => {
                if let (Some(why), false) = (linked.problem(), args.quiet) {
                    say!("tracedrop: {name}: note: shown without the trace: {why}");
                }
                if asked.is_some() && !args.quiet {
                    say!(
                        "tracedrop: {name}: note: options that change reports have no effect: the file has no trace"
                    );
                }
                Some(Opened::Linked(linked))
            }
            Err(failure) => complain(&failure.what),
        };
    }
    let mut session = Session::new(&file_name, size, format, query);
    if !wanted.is_empty() {
        session.make_only(wanted.to_vec());
    }
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
    let result = loop {
        match fill(&mut input, &mut chunk, CHUNK_BYTES) {
            Ok(false) => break finish(&mut session, &bar),
            Ok(true) => {
                session.feed(&chunk);
                bar.inc(chunk.len() as u64);
                if session.has_given_up() {
                    break finish(&mut session, &bar);
                }
                if let Some(path) = path.as_deref().filter(|_| crew::is_worth_starting(size))
                    && let Some(import) = session.import()
                    && let Some(parts) = import.parts()
                {
                    match crew::read_rest(path, size, import, parts, &|at| bar.set_position(at)) {
                        Ok(()) => break finish(&mut session, &bar),
                        Err(error) => break session.stop(&error.to_string()),
                    }
                }
            }
            Err(error) => break session.stop(&error.to_string()),
        }
    };
    bar.finish_and_clear();
    if let Err(error) = result {
        return complain(&error);
    }
    let trace = session.run().traces.first()?;
    if args.only.is_some()
        && !FORMATS.iter().any(|format| format.id == trace.source.format && format.has_events)
    {
        return complain(&"--only needs a format with events");
    }
    if !args.quiet {
        tell(&name, &trace.ledger);
    }
    // Files next to a trace are shown without it; the caller reports the error.
    if let Some(why) = session.why_useless().filter(|_| session.lies_alone()) {
        return complain(&why);
    }
    Some(Opened::Session(Box::new(session)))
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

/// SHA-256 of a file in hexadecimal. `None` if it is not a regular file or cannot be read again.
pub fn sha256(path: &Path) -> Option<String> {
    std::fs::metadata(path).ok().filter(Metadata::is_file)?;
    let mut file = File::open(path).ok()?;
    let mut hasher = Sha256::new();
    let mut chunk = Vec::new();
    while fill(&mut file, &mut chunk, CHUNK_BYTES).ok()? {
        hasher.update(&chunk);
    }
    Some(text::hex(&hasher.finalize()))
}

/// Replaces `chunk` by the next bytes, at most `len`; false at the end.
pub fn fill(input: &mut dyn Read, chunk: &mut Vec<u8>, len: u64) -> io::Result<bool> {
    chunk.clear();
    input.take(len).read_to_end(chunk)?;
    Ok(!chunk.is_empty())
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
    };
    progress::listening(each, || session.finish())
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

/// Prints the parsing issues.
fn tell(name: &str, ledger: &Ledger) {
    for issue in &ledger.issues {
        let word = match issue.kind.severity {
            Severity::Note => "note",
            Severity::Repaired => "repaired",
            Severity::Skipped => "skipped",
        };
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
        // The first example goes on the line, others below it.
        let mut examples = issue.example.lines();
        let example = examples.next().map_or(String::new(), |example| format!(": {example}"));
        say!("tracedrop: {name}: {word}: {}{times}{place}{example}", issue.kind.what);
        examples.for_each(|example| say!("tracedrop: {name}:   also: {example}"));
    }
}
