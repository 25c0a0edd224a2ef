//! Preview of the texts in an export, extracted from the exported bytes.

use super::super::{
    ExporterInfo, Input, Options, TextsIn, chrome_trace, json as json_export, link, render_in_steps,
    tracedrop_file,
};
use super::document::prose_of;
use super::{Classes, Redactor};
use crate::base::hash::HashMap;
use crate::base::json::write::push_string;
use crate::base::json::{RawStr, unescape_to_string};
use crate::base::secrets::HIDDEN;
use crate::base::sort;
use crate::base::steps;
use crate::base::strings::StringId;
use std::io::{self, Write};

/// Limit on distinct texts; further ones are only counted.
const MAX_TEXTS: usize = 500_000;
/// Bytes kept of a text.
const MAX_TEXT_BYTES: usize = 4096;

/// Class of a text, in listing order: most revealing first, redacted last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
pub enum Sort {
    Path,
    Host,
    Prompt,
    /// Any other text.
    Other,
    /// JSON key.
    Key,
    /// Token for redacted text.
    Token,
}

impl Sort {
    /// Display name.
    pub fn name(self) -> &'static str {
        match self {
            Sort::Token => "token",
            Sort::Path => "path",
            Sort::Host => "host",
            Sort::Prompt => "prompt",
            Sort::Other => "text",
            Sort::Key => "key",
        }
    }
}

/// The texts of an export with class and count, most revealing first.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Outgoing {
    pub texts: Vec<(Sort, String, u64)>,
    /// Number of texts beyond the limit.
    pub n_more: u64,
}

impl Outgoing {
    /// Texts that contain `search`, ignoring case.
    pub fn matching<'a>(&'a self, search: &str) -> impl Iterator<Item = &'a (Sort, String, u64)> {
        let search = search.to_lowercase();
        self.texts
            .iter()
            .filter(move |(_, text, _)| search.is_empty() || text.to_lowercase().contains(&search))
    }

    /// Count by class.
    pub fn sorts(&self) -> Vec<(Sort, u64)> {
        let mut sorts: Vec<(Sort, u64)> = Vec::new();
        for (sort, ..) in &self.texts {
            match sorts.iter_mut().find(|(known, _)| known == sort) {
                Some((_, n)) => *n += 1,
                None => sorts.push((*sort, 1)),
            }
        }
        sorts
    }
}

/// A writer that extracts the strings from JSON.
#[derive(Default)]
struct Picker {
    counts: HashMap<(bool, Vec<u8>), u64>,
    n_more: u64,
    text: Vec<u8>,
    in_text: bool,
    escaped: bool,
    /// A string has ended; a following colon makes it a key.
    pending: bool,
}

impl Picker {
    fn settle(&mut self, is_key: bool) {
        if std::mem::take(&mut self.pending) {
            let text = std::mem::take(&mut self.text);
            // Not revealing.
            if text.is_empty() {
                return;
            }
            let key = (is_key, text);
            if let Some(n) = self.counts.get_mut(&key) {
                *n += 1;
            } else if self.counts.len() < MAX_TEXTS {
                self.counts.insert(key, 1);
            } else {
                self.n_more += 1;
            }
        }
    }
}

impl Write for Picker {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            if self.in_text {
                if *byte == b'"' && !self.escaped {
                    (self.in_text, self.pending) = (false, true);
                    continue;
                }
                self.escaped = *byte == b'\\' && !self.escaped;
                if self.text.len() < MAX_TEXT_BYTES {
                    self.text.push(*byte);
                }
            } else {
                match byte {
                    b'"' => {
                        self.settle(false);
                        self.text.clear();
                        self.in_text = true;
                    }
                    b':' => self.settle(true),
                    b' ' | b'\n' | b'\r' | b'\t' => {}
                    _ => self.settle(false),
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The texts that `exporter` writes for `input`, found as its [`TextsIn`] says.
pub fn outgoing(exporter: &ExporterInfo, input: &Input<'_>) -> io::Result<Outgoing> {
    steps::run(outgoing_in_steps(exporter, input))
}

/// [`outgoing`] in steps.
pub async fn outgoing_in_steps(exporter: &ExporterInfo, input: &Input<'_>) -> io::Result<Outgoing> {
    let mut picker = Picker::default();
    match exporter.texts {
        TextsIn::Json => drop(render_in_steps(exporter, input, &mut picker).await?),
        TextsIn::JsonOf(other) => drop(render_in_steps(other, input, &mut picker).await?),
        TextsIn::Document => in_document(exporter, input, &mut picker).await?,
        TextsIn::TracedropFile => {
            in_document(exporter, input, &mut picker).await?;
            picker.write_all(b",")?;
            render_in_steps(&tracedrop_file::charts::INFO, input, &mut picker).await?;
            in_tracedrop_file(input, &mut picker).await?;
        }
        TextsIn::Link => {
            let mut fragment = Vec::new();
            render_in_steps(exporter, input, &mut fragment).await?;
            let content = link::decode(&String::from_utf8_lossy(&fragment));
            picker.write_all(&content.map_err(|refusal| io::Error::other(refusal.to_string()))?)?;
        }
        TextsIn::Stacks => {
            let mut lines = Vec::new();
            render_in_steps(exporter, input, &mut lines).await?;
            in_stacks(&lines, &mut picker)?;
        }
    }
    picker.settle(false);
    let every = Classes { paths: true, hosts: true, prompts: true, ..Classes::default() };
    let mut judge = Redactor::new(every);
    let mut judge_of_own = Redactor::new(Classes { prompts: false, ..every });
    // Sentences of reports are long, but no prompts, unless they quote one.
    let is_report = matches!(exporter.texts, TextsIn::Document | TextsIn::Link);
    let prose = is_report.then(|| prose_of(input.document, input.run));
    let mut texts: Vec<(Sort, String, u64)> = picker
        .counts
        .into_iter()
        .map(|((is_key, text), n)| {
            let text = unescape_to_string(RawStr { bytes: &text, escaped: text.contains(&b'\\') });
            let may_be_prompt = match &prose {
                // A prompt has several words.
                Some(prose) => text.contains(' ') && prose.iter().any(|start| text.contains(start.as_str())),
                None => true,
            };
            let judge = if may_be_prompt { &mut judge } else { &mut judge_of_own };
            (if is_key { Sort::Key } else { sort_of(&text, judge) }, text, n)
        })
        .collect();
    sort::by(&mut texts, |a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    Ok(Outgoing { texts, n_more: picker.n_more })
}

/// Texts of the document.
async fn in_document(exporter: &ExporterInfo, input: &Input<'_>, picker: &mut Picker) -> io::Result<()> {
    let notes = input.options.notes.clone().filter(|_| exporter.takes_notes);
    let options = Options { notes, ..input.options.clone() };
    let input = Input { options: &options, ..*input };
    render_in_steps(&json_export::INFO, &input, picker).await.map(drop)
}

/// Frames of stacks, which are separated by semicolons, with a weight at the end of the line.
fn in_stacks(lines: &[u8], picker: &mut Picker) -> io::Result<()> {
    let mut quoted = Vec::new();
    for line in String::from_utf8_lossy(lines).lines() {
        let stack = line.rsplit_once(' ').map_or(line, |(stack, _)| stack);
        for frame in stack.split(';') {
            push_string(frame, &mut quoted);
            quoted.push(b',');
        }
        picker.write_all(&quoted)?;
        quoted.clear();
    }
    Ok(())
}

/// Texts of a Tracedrop file besides report and notes: table filters, and the trace if its index is included. The index contains
/// event arguments only if they cannot be read again; they are listed here in any case.
async fn in_tracedrop_file(input: &Input<'_>, picker: &mut Picker) -> io::Result<()> {
    if !input.options.redact.is_none() {
        return Ok(());
    }
    let mut quoted = Vec::new();
    for spot in input.options.link.tables.iter().filter(|spot| !spot.query.filter.is_empty()) {
        quoted.push(b',');
        push_string(&spot.query.filter, &mut quoted);
    }
    picker.write_all(&quoted)?;
    if !input.options.with_index {
        return Ok(());
    }
    let mut quoted = Vec::new();
    // Event exports don't contain the texts of memory accesses.
    for trace in &input.run.traces {
        for id in 0..trace.strings.len() as u32 {
            quoted.push(b',');
            push_string(trace.strings.get(StringId(id)), &mut quoted);
        }
    }
    // Settings are included, with custom rules and tables.
    for text in input.query.texts().into_iter().filter(|text| !text.is_empty()) {
        quoted.push(b',');
        push_string(text, &mut quoted);
    }
    picker.write_all(&quoted)?;
    render_in_steps(&chrome_trace::INFO, input, picker).await.map(drop)
}

fn sort_of(text: &str, judge: &mut Redactor) -> Sort {
    let redacted = judge.text(text);
    let is_new = |token: &str| redacted.contains(token) && !text.contains(token);
    if is_new("[prompt ") {
        Sort::Prompt
    } else if is_new("[host ") {
        Sort::Host
    } else if is_new("[path ") {
        Sort::Path
    } else if ["[path ", "[host ", "[symbol ", "[prompt ", "[example ", HIDDEN]
        .iter()
        .any(|token| text.contains(token))
    {
        Sort::Token
    } else {
        Sort::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_keys_are_told_apart_wherever_the_pieces_are_cut() {
        let json = br#"{"a":["x","say \"x\"",1,"x"],"b" : "a:b"}"#;
        for step in 1..json.len() {
            let mut picker = Picker::default();
            json.chunks(step).for_each(|chunk| drop(picker.write_all(chunk)));
            picker.settle(false);
            let count = |is_key: bool, text: &[u8]| picker.counts.get(&(is_key, text.to_vec())).copied();
            assert_eq!(
                (count(true, b"a"), count(true, b"b"), count(false, b"x")),
                (Some(1), Some(1), Some(2))
            );
            assert_eq!((count(false, br#"say \"x\""#), count(false, b"a:b")), (Some(1), Some(1)));
            assert_eq!(picker.counts.len(), 5);
        }
    }
}
