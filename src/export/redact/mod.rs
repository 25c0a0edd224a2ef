//! What is taken out before something is handed on: paths, hosts, symbols, arguments, prompts.
//!
//! What is taken out leaves a token, `[path 3]`; the same text has the same token wherever it stands in one export, so that
//! what belongs together still does. Tokens are numbered as they come and say nothing of the text.
//!
//! - paths: files and folders by their form, anywhere in a text: `/srv/x.py`, `C:\x`, `torch/nn/module.py`, `train.py`
//! - hosts: addresses, mail addresses, names under the usual domains; values of what is called host, user, node
//! - symbols: names of slices, frames and arrows, and what tables have as names, as a whole and in sentences; arguments that
//!   are such a name, or are called stack, function, kernel, module
//! - arguments: those of events, all of them, and what tables have of them (shapes, types, groups); examples of broken records
//! - prompts: texts of more than so many letters with blanks in them; values of what is called prompt, text, messages
//!
//! Nobody can tell by its form that `blue-harbour` is the name of a machine: [`outgoing`] lists what is left, to be looked at.

mod document;
mod outgoing;
mod trace;

pub use document::Redacted;
pub use outgoing::{Outgoing, Sort, outgoing};
pub use trace::redacted;

use crate::base::hash::HashMap;
use crate::report::{Document, view};
use regex_lite::{Captures, Regex};
use serde::{Deserialize, Serialize};

/// What is taken out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Classes {
    pub paths: bool,
    pub hosts: bool,
    pub symbols: bool,
    pub arguments: bool,
    pub prompts: bool,
}

/// Names of the classes, as the command takes them.
pub const CLASSES: [&str; 5] = ["paths", "hosts", "symbols", "arguments", "prompts"];

impl Classes {
    /// Whether everything goes out.
    pub fn is_none(&self) -> bool {
        *self == Classes::default()
    }

    /// Class by name; `None` if there is no such class.
    pub fn by_name(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "paths" => &mut self.paths,
            "hosts" => &mut self.hosts,
            "symbols" => &mut self.symbols,
            "arguments" => &mut self.arguments,
            "prompts" => &mut self.prompts,
            _ => return None,
        })
    }
}

/// Texts above this length with blanks in them are taken for prose.
const PROSE_LETTERS: usize = 120;
const PROSE_BLANKS: usize = 8;

/// Texts that were looked at are remembered, as most come again.
const MAX_KNOWN: usize = 200_000;

/// Endings of files that are told without a folder before them.
const ENDINGS: &str = "py|pyc|pyx|so|dll|dylib|exe|cc|cpp|cxx|hpp|cu|cuh|rs|js|ts|json|jsonl|gz|zst|txt|log|yaml|yml|toml|pt|pth|bin|onnx|safetensors|gguf|parquet|csv|html|sh|ipynb|tdx";

/// Usual ends of names of hosts.
const DOMAINS: &str = "com|org|net|io|ai|dev|edu|gov|local|lan|internal|intra|corp|home|cloud|app";

/// Takes out what it is told to, the same everywhere.
pub struct Redactor {
    pub classes: Classes,
    tokens: HashMap<(&'static str, String), usize>,
    n_tokens: HashMap<&'static str, usize>,
    known: HashMap<String, String>,
    address: Option<Regex>,
    paths: Vec<Regex>,
    /// A word with a folder in it, where it is known to be a path.
    with_folder: Option<Regex>,
    hosts: Vec<Regex>,
}

/// Patterns of this file, which a test has tried.
fn patterns(texts: &[&str]) -> Vec<Regex> {
    texts.iter().filter_map(|text| Regex::new(text).ok()).collect()
}

impl Redactor {
    pub fn new(classes: Classes) -> Redactor {
        Redactor {
            classes,
            tokens: HashMap::default(),
            n_tokens: HashMap::default(),
            known: HashMap::default(),
            address: Regex::new(r#"([A-Za-z][A-Za-z0-9+.-]*://)([^\s/"'<>?#]*)([^\s"'<>]*)"#).ok(),
            // What stands before a path is the first group, and stays.
            paths: patterns(&[
                // Behind the name of a host, as those of images of containers: `nvcr.io/team/image`.
                &format!(r"(\[host \d+\]|\b(?:[A-Za-z0-9-]+\.)+(?:{DOMAINS})\b(?::\d+)?)(?:/[\w.@%+~=-]+)+"),
                r#"()(?:[A-Za-z]:\\|\\\\)[^\s"'<>|*?:;,]+"#,
                r#"(^|[\s"'(=:,\[<>])(?:~|\.{1,2})?(?:/[\w.@%+~=-]+)+/?"#,
                r"()[\w.@+~-]+(?:/[\w.@+~-]+)+\.[A-Za-z]\w{0,11}",
                &format!(r"()\b[\w-]+\.(?:{ENDINGS})\b"),
            ]),
            with_folder: Regex::new(r#"[^\s"'=,;:]*[/\\][^\s"',;:]*"#).ok(),
            hosts: patterns(&[
                r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*",
                r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\b(?:[0-9A-Fa-f]{1,4}:){4,7}[0-9A-Fa-f]{1,4}\b",
                &format!(r"\b(?:[A-Za-z0-9-]+\.)+(?:{DOMAINS})\b(?::\d+)?"),
            ]),
        }
    }

    /// What stands for a text of a class: `[path 3]`.
    pub fn token(&mut self, class: &'static str, text: &str) -> String {
        let key = (class, text.to_string());
        let number = match self.tokens.get(&key) {
            Some(number) => *number,
            None => {
                let n = self.n_tokens.entry(class).or_default();
                *n += 1;
                self.tokens.insert(key, *n);
                *n
            }
        };
        format!("[{class} {number}]")
    }

    /// Any text: what can be told by its form is taken out.
    pub fn text(&mut self, text: &str) -> String {
        let Classes { paths, hosts, prompts, .. } = self.classes;
        if !(paths || hosts || prompts) || text.len() < 3 {
            return text.to_string();
        }
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let redacted = self.look_at(text);
        if self.known.len() < MAX_KNOWN {
            self.known.insert(text.to_string(), redacted.clone());
        }
        redacted
    }

    /// Lets go of what texts have become, to be given back to [`Redactor::remember_known`].
    fn forget_known(&mut self) -> HashMap<String, String> {
        std::mem::take(&mut self.known)
    }

    fn remember_known(&mut self, known: HashMap<String, String>) {
        self.known = known;
    }

    fn look_at(&mut self, text: &str) -> String {
        let Classes { paths, hosts, prompts, .. } = self.classes;
        if prompts && is_prose(text) {
            return format!("{} ({} letters)", self.token("prompt", text), text.chars().count());
        }
        let has = |letters: &[char]| text.contains(letters);
        let mut out = text.to_string();
        if has(&[':'])
            && out.contains("://")
            && let Some(address) = self.address.clone()
        {
            out = replaced(&address, &out, |found| self.address_of(found));
        }
        if hosts && has(&['.', '@', ':']) {
            for pattern in self.hosts.clone() {
                out = replaced(&pattern, &out, |found| self.token("host", &found[0]));
            }
        }
        if paths && has(&['/', '\\', '.']) {
            for pattern in self.paths.clone() {
                out = replaced(&pattern, &out, |found| {
                    let before = found.get(1).map_or("", |before| before.as_str());
                    format!("{before}{}", self.path(&found[0][before.len()..]))
                });
            }
        }
        out
    }

    /// An address as a scheme, a host and the rest.
    fn address_of(&mut self, found: &Captures<'_>) -> String {
        let part = |at: usize| found.get(at).map_or("", |part| part.as_str());
        let (scheme, mut host, mut path) = (part(1), part(2).to_string(), part(3).to_string());
        if self.classes.hosts && !host.is_empty() {
            host = self.token("host", &host);
        }
        if self.classes.paths && path.len() > 1 {
            path = format!("/{}", self.token("path", &path));
        }
        format!("{scheme}{host}{path}")
    }

    /// A path or, where that is none, itself: a part of a token, or of an address that has been looked at.
    fn path(&mut self, found: &str) -> String {
        let is_mark = found.starts_with("//") || found.trim_matches(['/', '.']).is_empty();
        if is_mark { found.to_string() } else { self.token("path", found) }
    }

    /// The name of a file that was opened.
    pub fn file_name(&mut self, name: &str) -> String {
        if self.classes.paths && !name.is_empty() { self.token("path", name) } else { self.text(name) }
    }

    /// A name of code, as a whole.
    pub fn symbol(&mut self, name: &str) -> String {
        if self.classes.symbols && !name.trim().is_empty() {
            self.token("symbol", name)
        } else {
            self.text(name)
        }
    }

    /// A value among the arguments of an event. Names of code are told once the trace's own have been taken out.
    pub fn argument(&mut self, key: &str, text: &str) -> String {
        if self.classes.symbols && !text.trim().is_empty() {
            let lower = key.to_ascii_lowercase();
            let is_code = ["stack", "function", "kernel", "module"].iter().any(|name| lower.contains(name));
            if is_code || self.tokens.contains_key(&("symbol", text.to_string())) {
                return self.token("symbol", text);
            }
        }
        self.value_of(key, text)
    }

    /// A value of something that is called `key`.
    pub fn value_of(&mut self, key: &str, text: &str) -> String {
        let key = key.to_ascii_lowercase();
        let is_one_of = |names: &[&str]| names.iter().any(|name| key.contains(name));
        if self.classes.hosts
            && !text.is_empty()
            && is_one_of(&["host", "user", "node", "machine", "domain", "ip_addr"])
        {
            return self.token("host", text);
        }
        if self.classes.prompts
            && !text.is_empty()
            && (key == "text" || is_one_of(&["prompt", "message", "completion", "content", "chat", "_text"]))
        {
            return format!("{} ({} letters)", self.token("prompt", text), text.chars().count());
        }
        let text = self.text(text);
        // Relative ones without an ending are told by what they are called alone: `out/Release/chrome --headless`.
        if self.classes.paths
            && is_one_of(&["path", "file", "folder", "directory", "command", "cmdline", "argv"])
            && let Some(with_folder) = self.with_folder.clone()
        {
            return replaced(&with_folder, &text, |found| self.path(&found[0]));
        }
        text
    }
}

/// What was chosen, with the texts in it taken out: names of files and filters of tables in a link. Rows are chosen here, of
/// the tables as they were.
pub fn options(options: &super::Options, document: &Document<'_>, redactor: &mut Redactor) -> super::Options {
    let mut options = options.clone();
    for file in &mut options.link.files {
        file.name = redactor.file_name(&file.name);
    }
    for spot in &mut options.link.tables {
        let report = document.reports.iter().find(|report| report.id == spot.report);
        let table = report.and_then(|report| report.tables().find(|table| table.id == spot.table));
        spot.chosen = table.map(|table| view::row_order_or_all(table, &spot.query));
        // What was looked for may be what is to be hidden.
        spot.query.filter.clear();
    }
    options
}

/// All places of a pattern, each replaced by what `by` gives.
fn replaced(pattern: &Regex, text: &str, mut by: impl FnMut(&Captures<'_>) -> String) -> String {
    pattern.replace_all(text, |found: &Captures<'_>| by(found)).into_owned()
}

/// Whether a text reads like something that a person wrote.
fn is_prose(text: &str) -> bool {
    text.len() > PROSE_LETTERS && text.split_whitespace().nth(PROSE_BLANKS).is_some() && !text.contains("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_form_is_taken_out() {
        let mut redactor =
            Redactor::new(Classes { paths: true, hosts: true, prompts: true, ..Classes::default() });
        let mut check = |text: &str, wanted: &str| assert_eq!(redactor.text(text), wanted, "{text}");
        check("/srv/models/x.bin: open", "[path 1]: open");
        check("again /srv/models/x.bin", "again [path 1]");
        check("torch/nn/modules/module.py(1501): _call_impl", "[path 2](1501): _call_impl");
        check("train.py(3): step", "[path 3](3): step");
        check(r"C:\Users\ada\x.py:7", "[path 4]:7");
        check("https://db.corp:80/q?x=1 from 10.0.0.7:443", "https://[host 1]/[path 5] from [host 2]");
        check("ada@blue.example", "[host 3]");
        check("aten::mm", "aten::mm");
        check("void gemm<float, 128/2>(a)", "void gemm<float, 128/2>(a)");
        check("3.5 ms, 1/2 of 0.25", "3.5 ms, 1/2 of 0.25");
        let prose = "the quick brown fox jumps over the lazy dog ".repeat(4);
        check(&prose, "[prompt 1] (176 letters)");
    }

    #[test]
    fn what_is_not_asked_for_stays() {
        let text = "/srv/x.bin at 10.0.0.7";
        assert_eq!(Redactor::new(Classes::default()).text(text), text);
        let mut hosts = Redactor::new(Classes { hosts: true, ..Classes::default() });
        assert_eq!(hosts.text(text), "/srv/x.bin at [host 1]");
        assert_eq!(hosts.value_of("hostname", "blue-harbour"), "[host 2]");
        assert_eq!(hosts.symbol("f"), "f");
        let mut paths = Redactor::new(Classes { paths: true, ..Classes::default() });
        assert_eq!(paths.text("nvcr.io/team/serve:24.01"), "nvcr.io[path 1]:24.01");
        assert_eq!(paths.value_of("command_line", "out/Release/chrome --x=a/b"), "[path 2] --x=[path 3]");
        assert_eq!(paths.value_of("unit", "tokens/s"), "tokens/s");
        let mut both = Redactor::new(Classes { paths: true, hosts: true, ..Classes::default() });
        assert_eq!(both.text("nvcr.io/team/serve:24.01"), "[host 1][path 1]:24.01");
        let mut symbols = Redactor::new(Classes { symbols: true, ..Classes::default() });
        assert_eq!(
            [symbols.symbol("f"), symbols.symbol("g"), symbols.symbol("f")],
            ["[symbol 1]", "[symbol 2]", "[symbol 1]"]
        );
        // Also as an argument, by itself or by what it is called.
        let mut argument = |key: &str, text: &str| symbols.argument(key, text);
        assert_eq!(
            [argument("op", "g"), argument("op", "h"), argument("Call stack", "h;k")],
            ["[symbol 2]", "h", "[symbol 3]"]
        );
    }
}
