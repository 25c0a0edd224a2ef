//! Redaction before sharing: paths, hosts, symbols, arguments, prompts.
//!
//! Redacted text is replaced by a token such as `[path 3]`. Within one export, equal texts get the same token, so that
//! related data stays related. Tokens are numbered in order of appearance and reveal nothing about the text.
//!
//! - paths: files and folders, recognized anywhere in a text: `/srv/x.py`, `C:\x`, `torch/nn/module.py`, `train.py`; files and
//!   libraries of frames and columns of files, whatever their form
//! - hosts: network addresses, mail addresses, names in common domains; values of keys such as host, user, node
//! - symbols: names of slices, frames and flows, and name columns of tables, in cells and in sentences; arguments that
//!   equal such a name, or are called stack, function, kernel, module
//! - arguments: all event arguments, and table columns derived from them (shapes, types, groups); examples of broken records
//! - prompts: long texts with spaces; values of keys such as prompt, text, messages
//!
//! No pattern can recognize `blue-harbour` as a host name, so [`outgoing`] lists the remaining texts for review.

mod document;
mod outgoing;
mod trace;

pub use document::Redacted;
pub use outgoing::{Outgoing, Sort, outgoing, outgoing_in_steps};
pub use trace::redacted;

use crate::base::hash::HashMap;
use crate::base::secrets::{Without, hide, hide_value};
use crate::report::{Document, view};
use regex_lite::{Captures, Regex};
use serde::{Deserialize, Serialize};

/// Classes of text to redact.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Classes {
    pub paths: bool,
    pub hosts: bool,
    pub symbols: bool,
    pub arguments: bool,
    pub prompts: bool,
}

/// Names of the classes on the command line.
pub const CLASSES: [&str; 5] = ["paths", "hosts", "symbols", "arguments", "prompts"];

impl Classes {
    /// Whether nothing is redacted.
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

/// Longer texts with spaces in them count as prose.
const PROSE_LETTERS: usize = 120;
const PROSE_BLANKS: usize = 8;

/// Limit on cached texts; most recur.
const MAX_KNOWN: usize = 200_000;

/// File extensions that identify a path even without a folder.
const ENDINGS: &str = "py|pyc|pyx|so|dll|dylib|exe|cc|cpp|cxx|hpp|cu|cuh|rs|js|ts|json|jsonl|gz|zst|txt|log|yaml|yml|toml|pt|pth|bin|onnx|safetensors|gguf|parquet|csv|html|sh|ipynb|tdx";

/// Letters, digits and `_` in classes of patterns, beyond the ASCII that `\w` stands for; no punctuation.
const LETTERS: &str = r"\w\u{C0}-\u{D6}\u{D8}-\u{F6}\u{F8}-\u{1FFF}\u{2C00}-\u{2DFF}\u{3040}-\u{D7FF}\u{F900}-\u{FAFF}\u{20000}-\u{3FFFF}";

/// Common domain endings of host names.
const DOMAINS: &str = "com|org|net|io|ai|dev|edu|gov|local|lan|internal|intra|corp|home|cloud|app";

/// Redacts the selected classes consistently.
pub struct Redactor {
    pub classes: Classes,
    /// Passwords, tokens and keys hidden so far; `None` leaves them as they are, because those of a trace are hidden where it
    /// is read.
    n_secrets: Option<u64>,
    tokens: HashMap<(&'static str, String), usize>,
    n_tokens: HashMap<&'static str, usize>,
    known: HashMap<String, String>,
    address: Option<Regex>,
    paths: Vec<Regex>,
    /// A word with a folder in it, for values known to be paths.
    with_folder: Option<Regex>,
    hosts: Vec<Regex>,
    /// A word with two colons, which may be a shortened IPv6 address.
    with_colons: Option<Regex>,
}

/// Compiles the patterns of this file; a test checks that they are valid.
fn patterns(texts: &[&str]) -> Vec<Regex> {
    texts.iter().filter_map(|text| Regex::new(text).ok()).collect()
}

impl Redactor {
    pub fn new(classes: Classes) -> Redactor {
        Redactor {
            classes,
            n_secrets: None,
            tokens: HashMap::default(),
            n_tokens: HashMap::default(),
            known: HashMap::default(),
            address: Regex::new(r#"([A-Za-z][A-Za-z0-9+.-]*://)([^\s/"'<>?#]*)([^\s"'<>]*)"#).ok(),
            // The first group precedes the path and is kept.
            paths: patterns(&[
                // After a host name, such as container images: `nvcr.io/team/image`.
                &format!(
                    r"(\[host \d+\]|\b(?:[A-Za-z0-9-]+\.)+(?:{DOMAINS})\b(?::\d+)?)(?:/[{LETTERS}.@%+~=-]+)+"
                ),
                // Folders may have spaces in their names; the last name ends at one, as a sentence goes on there.
                r#"()(?:[A-Za-z]:\\|\\\\)(?:[^\s"'<>|*?:;,\\/]+(?: [^\s"'<>|*?:;,\\/]+)*\\)*[^\s"'<>|*?:;,]+"#,
                // `-I/usr/include` is an option with its value.
                &format!(
                    r#"((?:^|[\s"'`“”‘’„«»…(=:,;|&!?\[<>{{}}])(?:-[A-Za-z])?)(?:~|\.{{1,2}})?(?:/[{LETTERS}.@%+~=-]+)+/?"#
                ),
                &format!(r"()[{LETTERS}.@+~-]+(?:/[{LETTERS}.@+~-]+)+\.[A-Za-z]\w{{0,11}}"),
                &format!(r"()[{LETTERS}-]+\.(?:{ENDINGS})\b"),
            ]),
            with_folder: Regex::new(r#"[^\s"'=,;:]*[/\\][^\s"',;:]*"#).ok(),
            hosts: patterns(&[
                r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*",
                r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\b(?:[0-9A-Fa-f]{1,4}:){4,7}[0-9A-Fa-f]{1,4}\b",
                &format!(r"\b(?:[A-Za-z0-9-]+\.)+(?:{DOMAINS})\b(?::\d+)?"),
            ]),
            // Not what follows `x[`, a slice of Python.
            with_colons: Regex::new(r"(\w\[)?[\w:]*::[\w:]*").ok(),
        }
    }

    /// Hides passwords, tokens and keys, and nothing else.
    fn of_secrets() -> Redactor {
        Redactor { n_secrets: Some(0), ..Redactor::new(Classes::default()) }
    }

    /// Token for a text of a class: `[path 3]`.
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

    /// Redacts what can be recognized by pattern in any text.
    pub fn text(&mut self, text: &str) -> String {
        let Classes { paths, hosts, prompts, .. } = self.classes;
        if self.n_secrets.is_some() {
            return self.without_secrets(hide(text), text);
        }
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

    fn without_secrets(&mut self, without: Option<Without>, text: &str) -> String {
        let Some(Without { text, n }) = without else { return text.to_string() };
        self.n_secrets = self.n_secrets.map(|before| before + n);
        text
    }

    /// Takes the cache of redacted texts, to be returned to [`Redactor::remember_known`].
    fn forget_known(&mut self) -> HashMap<String, String> {
        std::mem::take(&mut self.known)
    }

    fn remember_known(&mut self, known: HashMap<String, String>) {
        self.known = known;
    }

    fn look_at(&mut self, text: &str) -> String {
        let Classes { paths, hosts, prompts, .. } = self.classes;
        if prompts && is_prose(text) {
            return format!("{} ({} characters)", self.token("prompt", text), text.chars().count());
        }
        if paths && is_path_with_spaces(text) {
            return self.token("path", text);
        }
        let has = |letters: &[char]| text.contains(letters);
        let mut out = text.to_string();
        if has(&[':'])
            && out.contains("://")
            && let Some(address) = self.address.clone()
        {
            out = replaced(&address, &out, |found| self.address_of(found));
        }
        if hosts
            && out.contains("::")
            && let Some(with_colons) = self.with_colons.clone()
        {
            out = replaced(&with_colons, &out, |found| {
                let word = &found[0];
                // A colon at the end goes on with the sentence, unless it is one of the two.
                let address = word.strip_suffix(':').filter(|rest| !rest.ends_with(':')).unwrap_or(word);
                match found.get(1).is_none() && is_short_ipv6(address) {
                    true => format!("{}{}", self.token("host", address), &word[address.len()..]),
                    false => word.to_string(),
                }
            });
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

    /// Redacts a URL by scheme, host and the rest.
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

    /// Redacts a path; leaves parts of tokens and of already redacted URLs alone.
    fn path(&mut self, found: &str) -> String {
        let is_mark = found.starts_with("//") || found.trim_matches(['/', '.']).is_empty();
        if is_mark { found.to_string() } else { self.token("path", found) }
    }

    /// Redacts the name of an opened file.
    pub fn file_name(&mut self, name: &str) -> String {
        if self.classes.paths && !name.is_empty() { self.token("path", name) } else { self.text(name) }
    }

    /// Redacts the file or library of a frame; a line number behind it stays, and so does a name of no file: `<string>`,
    /// `[kernel]`, `~`.
    pub fn file(&mut self, text: &str) -> String {
        let (file, line) = match text.rsplit_once(':') {
            Some((file, line)) if !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit()) => {
                (file, &text[file.len()..])
            }
            _ => (text, ""),
        };
        if !self.classes.paths || file.trim().is_empty() || file.starts_with(['<', '[', '(']) || file == "~" {
            return self.text(text);
        }
        format!("{}{line}", self.token("path", file))
    }

    /// Redacts a whole symbol.
    pub fn symbol(&mut self, name: &str) -> String {
        if self.classes.symbols && !name.trim().is_empty() {
            self.token("symbol", name)
        } else {
            self.text(name)
        }
    }

    /// Redacts an argument value of an event. Symbols are recognized once those of the trace have tokens.
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

    /// Redacts the value of `key`.
    pub fn value_of(&mut self, key: &str, text: &str) -> String {
        if self.n_secrets.is_some() {
            return self.without_secrets(hide_value(key, text), text);
        }
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
            return format!("{} ({} characters)", self.token("prompt", text), text.chars().count());
        }
        let words = || key.split(['_', '-', '.', ' ']);
        let is_folder =
            words().any(|word| ["path", "file", "folder", "dir", "directory", "cwd", "home"].contains(&word));
        if self.classes.paths && is_folder && text.contains(' ') && is_absolute(text) && is_one_name(text) {
            return self.token("path", text);
        }
        let text = self.text(text);
        // Only the key identifies relative paths without an extension: `out/Release/chrome --headless`.
        if self.classes.paths
            && is_one_of(&["path", "file", "folder", "directory", "command", "cmdline", "argv"])
            && let Some(with_folder) = self.with_folder.clone()
        {
            return replaced(&with_folder, &text, |found| self.path(&found[0]));
        }
        text
    }
}

/// Redacts the texts in the options: file names and table filters of a link. Rows are selected here, from the unredacted
/// tables.
pub fn options(options: &super::Options, document: &Document<'_>, redactor: &mut Redactor) -> super::Options {
    let mut options = options.clone();
    for file in &mut options.link.files {
        file.name = redactor.file_name(&file.name);
    }
    for spot in &mut options.link.tables {
        let report = document.reports.iter().find(|report| report.id == spot.report);
        let table = report.and_then(|report| report.tables().find(|table| table.id == spot.table));
        spot.chosen = table.map(|table| view::row_order_or_all(table, &spot.query));
        // A search text may itself be sensitive.
        spot.query.filter.clear();
    }
    options
}

/// Replaces all matches of a pattern by the result of `by`.
fn replaced(pattern: &Regex, text: &str, mut by: impl FnMut(&Captures<'_>) -> String) -> String {
    pattern.replace_all(text, |found: &Captures<'_>| by(found)).into_owned()
}

/// Whether a text starts as a path from a root.
fn is_absolute(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.starts_with("~/")
        || text.starts_with(r"\\")
        || bytes.first() == Some(&b'/') && bytes.get(1).is_some_and(|next| !b"/ *".contains(next))
        || bytes.len() > 3 && bytes[0].is_ascii_alphabetic() && matches!(&bytes[1..3], [b':', b'/' | b'\\'])
}

/// Whether nothing in a text separates several names: options, other paths, quotes, a sentence.
fn is_one_name(text: &str) -> bool {
    !text.contains(['"', '\'', '<', '>', '|', '*', '?', ';', ',', '=', '\n', '\t'])
        && ![": ", " -", " /", " ~", " \\", "://"].iter().any(|mark| text.contains(mark))
}

/// Whether a text is an absolute path with spaces in the names of its folders: `/Users/Jane Doe/proj`.
fn is_path_with_spaces(text: &str) -> bool {
    let Some((_, rest)) = text.split_once(' ') else { return false };
    is_absolute(text) && rest.contains(['/', '\\']) && is_one_name(text)
}

/// Whether a text is an IPv6 address shortened by `::`, and no name of C++ such as `a::b` or `c10::d`.
fn is_short_ipv6(text: &str) -> bool {
    let Some((before, after)) = text.split_once("::") else { return false };
    let groups = || before.split(':').chain(after.split(':')).filter(|group| !group.is_empty());
    let is_group = |group: &str| group.len() <= 4 && group.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_whole =
        |part: &str| part.is_empty() || part.split(':').all(|group| !group.is_empty() && is_group(group));
    let n_groups = groups().count();
    if n_groups > 7
        || !is_whole(before)
        || !is_whole(after)
        || !text.bytes().any(|byte| byte.is_ascii_digit())
    {
        return false;
    }
    // A name in C++ has two parts between which is nothing but `::`. Addresses of two groups start with a prefix in use.
    let starts_as_prefix = before.len() == 4 && {
        let lower = before.to_ascii_lowercase();
        lower.starts_with(['2', '3'])
            || lower.starts_with("fe8")
            || ["fc", "fd", "ff"].iter().any(|it| lower.starts_with(it))
    };
    n_groups >= 3 || text == "::1" || starts_as_prefix
}

/// Whether a text looks like prose.
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
        // Signs around a path, other letters, options and folders with spaces.
        check("x|/home/bob", "x|[path 6]");
        check("{/home/bob} `/home/bob` “/home/bob”", "{[path 6]} `[path 6]` “[path 6]”");
        check(";/home/bob;/home/ann", ";[path 6];[path 7]");
        check("cc -I/home/bob -c x", "cc -I[path 6] -c x");
        check("in /home/bøb/straße", "in [path 8]");
        check("straße/größe.py", "[path 9]");
        check("/Users/Jane Doe/proj", "[path 10]");
        check(r"open C:\Program Files\Acme Secret\x now", "open [path 11] now");
        check("/usr/bin/python -m a.b --lr 1", "[path 12] -m a.b --lr 1");
        check("5 m²/s, a (b)/c", "5 m²/s, a (b)/c");
        // Addresses, and names of C++.
        check("from fe80::1ff:fe23:4567:890a: refused", "from [host 4]: refused");
        check("[2001:db8::1]:443, ::1", "[[host 5]]:443, [host 6]");
        for name in [
            "std::vector",
            "a::b",
            "a::b2",
            "c10::d",
            "c10::cuda",
            "::ada",
            "x[::1]",
            "x[1::2]",
            "de::ad::be",
        ] {
            check(name, name);
        }
        check("aten::mm", "aten::mm");
        check("void gemm<float, 128/2>(a)", "void gemm<float, 128/2>(a)");
        check("3.5 ms, 1/2 of 0.25", "3.5 ms, 1/2 of 0.25");
        let prose = "the quick brown fox jumps over the lazy dog ".repeat(4);
        check(&prose, "[prompt 1] (176 characters)");
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
        assert_eq!(paths.value_of("cwd", "/Users/Jane Doe"), "[path 4]");
        // A file of a frame goes by what it is, not by its form.
        assert_eq!(
            ["Makefile", "main.go:7", "lib m.so", "<string>", "[kernel]"].map(|file| paths.file(file)),
            ["[path 5]", "[path 6]:7", "[path 7]", "<string>", "[kernel]"]
        );
        let mut both = Redactor::new(Classes { paths: true, hosts: true, ..Classes::default() });
        assert_eq!(both.text("nvcr.io/team/serve:24.01"), "[host 1][path 1]:24.01");
        let mut symbols = Redactor::new(Classes { symbols: true, ..Classes::default() });
        assert_eq!(
            [symbols.symbol("f"), symbols.symbol("g"), symbols.symbol("f")],
            ["[symbol 1]", "[symbol 2]", "[symbol 1]"]
        );
        // Also as an argument, by value or by key.
        let mut argument = |key: &str, text: &str| symbols.argument(key, text);
        assert_eq!(
            [argument("op", "g"), argument("op", "h"), argument("Call stack", "h;k")],
            ["[symbol 2]", "h", "[symbol 3]"]
        );
    }
}
