//! Detection and hiding of passwords, tokens and keys, so that reports and exports can be shared.
//!
//! Takes text or raw JSON; returns it with [`HIDDEN`] in place of each secret, or `None` if there is none. Secrets are found
//! by what precedes them (`--api-key …`, `DB_PASSWORD=…`, `Authorization: Bearer …`, `?token=…`, `user:…@host`) or by their
//! own form (`ghp_…`, `AKIA…`, JSON web tokens, private keys). A hash, a UUID or a long name alone is no secret, nor are model
//! tokens.
//!
//! Most texts have none: [`may_hold`] decides that in one pass, before any parsing.

mod json;
mod names;
mod shapes;

pub use json::hide_json;

use super::units::counted;
use crate::base::sort;
use names::{Telling, telling};
use std::ops::Range;

/// Placeholder for a secret.
pub const HIDDEN: &str = "(hidden)";

/// A text without its secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Without {
    pub text: String,
    /// Number of secrets replaced.
    pub n: u64,
}

/// Starts of everything that [`find`] looks for, in lower case; the first three or four bytes are compared.
const NEEDLES: [&str; 49] = [
    "token",
    "secret",
    "passw",
    "passphrase",
    "pwd",
    "key",
    "credential",
    "authoriz",
    "auth",
    "bearer",
    "cookie",
    "basic ",
    "://",
    "sig=",
    "signature=",
    "session=",
    "code=",
    "-----begin",
    "sk-",
    "sk_live",
    "sk_test",
    "rk_live",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "akia",
    "asia",
    "xox",
    "xapp-",
    "hf_",
    "eyj",
    "aiza",
    "ya29.",
    "npm_",
    "pypi-",
    "sg.",
    "nvapi-",
    "gsk_",
    "r8_",
    "dop_v1",
    "hvs.",
    "tskey-",
    "shpat_",
    "dapi",
    " -u ",
];

/// Bit tables indexed by a hash of the first bytes of each start.
struct Openings {
    /// Three bytes of each.
    three: [u64; 1024],
    /// Starts of three bytes only.
    only_three: [u64; 1024],
    /// Four bytes of the others.
    four: [u64; 1024],
}

const fn hash(word: u32) -> usize {
    (word.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

const fn has(bits: &[u64; 1024], word: u32) -> bool {
    let bit = hash(word);
    bits[bit / 64] >> (bit % 64) & 1 != 0
}

const fn set(bits: &mut [u64; 1024], word: u32) {
    let bit = hash(word);
    bits[bit / 64] |= 1 << (bit % 64);
}

/// A byte in lower case if it is a letter; some other bytes are conflated, which only costs a second look.
const fn folded(byte: u8) -> u32 {
    (byte | 0x20) as u32
}

static OPENINGS: Openings = {
    let mut openings = Openings { three: [0; 1024], only_three: [0; 1024], four: [0; 1024] };
    let mut at = 0;
    while at < NEEDLES.len() {
        let needle = NEEDLES[at].as_bytes();
        let three = folded(needle[0]) << 8 | folded(needle[1]) << 16 | folded(needle[2]) << 24;
        set(&mut openings.three, three);
        if needle.len() == 3 {
            set(&mut openings.only_three, three);
        } else {
            set(&mut openings.four, three >> 8 | folded(needle[3]) << 24);
        }
        at += 1;
    }
    openings
};

/// Says how many secrets were hidden.
pub fn hidden_text(n: u64) -> String {
    format!("Hidden: {}.", counted(n, "password, token or key", "passwords, tokens and keys"))
}

/// Whether `bytes` may contain a secret: false for most texts, at about a nanosecond per byte.
pub fn may_hold(bytes: &[u8]) -> bool {
    // The last three bytes above a zero byte, the latest one highest.
    let mut three = 0u32;
    for (at, byte) in bytes.iter().enumerate() {
        three = three >> 8 & 0x00ff_ff00 | folded(*byte) << 24;
        if has(&OPENINGS.three, three)
            && (has(&OPENINGS.only_three, three)
                || bytes
                    .get(at + 1)
                    .is_some_and(|next| has(&OPENINGS.four, three >> 8 | folded(*next) << 24)))
        {
            return true;
        }
    }
    false
}

/// `text` without its secrets; `None` if there are none.
pub fn hide(text: &str) -> Option<Without> {
    if !may_hold(text.as_bytes()) {
        return None;
    }
    without(text, find(text))
}

/// `text`, the value of `key`, without its secrets; `None` if there are none. JSON in it is searched too.
pub fn hide_value(key: &str, text: &str) -> Option<Without> {
    let is_in_brackets = text.starts_with(['{', '[']);
    let is_json = is_in_brackets && json::is_whole(text.as_bytes());
    let is_whole = match telling(key) {
        // A list or an object has members of its own.
        _ if is_json => false,
        Telling::Strong => !is_harmless(text, key),
        Telling::Weak => is_random(text, WEAK_MIN),
        Telling::Cookie => text.contains('='),
        Telling::Not => false,
    };
    if is_whole {
        return Some(Without { text: HIDDEN.to_string(), n: 1 });
    }
    if is_in_brackets {
        let in_json = json::hide_under(key, text.as_bytes())
            .map(|(raw, n)| Without { text: String::from_utf8_lossy(&raw).into_owned(), n });
        if is_json {
            return in_json;
        }
        // A dictionary of Python, a line of a log that begins with a time: the brackets do not make it JSON.
        let rest = hide(in_json.as_ref().map_or(text, |without| &without.text));
        return match (in_json, rest) {
            (Some(first), Some(rest)) => Some(Without { text: rest.text, n: first.n + rest.n }),
            (first, rest) => rest.or(first),
        };
    }
    // An environment variable may have blanks in it.
    if is_environment(key)
        && let Some((name, value)) = text.split_once('=')
        && telling(name) == Telling::Strong
        && !is_harmless(value, name)
    {
        return Some(Without { text: format!("{name}={HIDDEN}"), n: 1 });
    }
    hide(text)
}

/// Whether `key` lists environment variables.
fn is_environment(key: &str) -> bool {
    let key = key.rsplit('.').next().unwrap_or(key).to_ascii_lowercase();
    matches!(key.as_str(), "env" | "environ" | "environment" | "env_vars" | "envs" | "vars")
}

fn without(text: &str, mut found: Vec<Range<usize>>) -> Option<Without> {
    found.retain(|range| range.start < range.end);
    sort::by_key(&mut found, |range| (range.start, std::cmp::Reverse(range.end)));
    let mut out = String::with_capacity(text.len());
    let (mut at, mut n) = (0, 0);
    for range in found {
        if range.end <= at {
            continue;
        }
        // Overlaps the previous one.
        if range.start >= at {
            out.push_str(&text[at..range.start]);
            out.push_str(HIDDEN);
            n += 1;
        }
        at = range.end;
    }
    if n == 0 {
        return None;
    }
    out.push_str(&text[at..]);
    Some(Without { text: out, n })
}

/// Minimum length of a random value that counts as a secret after a weak name.
const WEAK_MIN: usize = 12;
/// Minimum length if only a blank separates name and value.
const LOOSE_MIN: usize = 16;

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Ranges of secrets in a text, unsorted; may overlap.
fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    private_keys(text, &mut found);
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"://") {
            user_info(text, at + 3, &mut found);
            at += 3;
            continue;
        }
        if !is_name(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_name(bytes[at]) {
            at += 1;
        }
        shapes::find(text, start..at, &mut found);
        named(text, start..at, &mut found);
    }
    found
}

/// Checks what follows the word at `name`: the value of a setting, flag, header or query parameter.
fn named(text: &str, name: Range<usize>, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let word = text[name.clone()].trim_end_matches('.');
    let before = name.start.checked_sub(1).map(|at| bytes[at]);
    let is_query = matches!(before, Some(b'?' | b'&' | b';' | b'#'));
    let mut strength = telling(word);
    let flag = word.trim_start_matches('-');
    let is_flag = flag.len() < word.len()
        && !matches!(before, Some(before) if before != b' ' && before != b'"' && before != b'\'');
    if (is_flag || is_query) && flag.eq_ignore_ascii_case("token") {
        strength = Telling::Strong;
    }
    let mut min = WEAK_MIN;
    if is_query
        && matches!(
            word,
            "sig" | "signature" | "key" | "code" | "session" | "X-Amz-Signature" | "X-Goog-Signature"
        )
    {
        strength = Telling::Weak;
    }
    // User credentials, as for curl.
    if is_flag
        && matches!(word, "-u" | "--user" | "--proxy-user")
        && let Some(value) = next_word(text, name.end)
        && let Some(colon) = text[value.clone()].find(':')
    {
        found.push(value.start + colon + 1..value.end);
    }
    let is_scheme = matches!(word, "Bearer" | "bearer" | "BEARER" | "Basic");
    if strength == Telling::Not && !is_scheme {
        return;
    }
    let Some((value, separator)) = value_behind(text, name.end) else { return };
    let value_text = &text[value.clone()];
    match separator {
        // `Bearer abc123`, `--password abc`, `token abc123…`
        b' ' if is_scheme => {
            let min = if word == "Basic" { 12 } else { 8 };
            let is_one = value_text.len() >= min && value_text.bytes().all(is_of_key);
            if is_one
                && (value_text.bytes().any(|byte| byte.is_ascii_digit() || byte == b'=')
                    || value_text.len() >= LOOSE_MIN)
            {
                found.push(value);
            }
            return;
        }
        b' ' if is_flag
            && strength == Telling::Strong
            && !value_text.starts_with('-')
            && !is_harmless(value_text, word) =>
        {
            found.push(value);
            return;
        }
        b' ' if is_flag => {}
        b' ' => min = LOOSE_MIN,
        _ => {}
    }
    let is_hidden = match strength {
        Telling::Not => false,
        Telling::Cookie => {
            let end = line_end(text, value.start);
            if separator == b':' && text[value.start..end].contains('=') {
                found.push(value.start..end);
            }
            return;
        }
        Telling::Strong if separator == b' ' => is_random(value_text, min),
        Telling::Strong => {
            // `password: wrong` in a sentence.
            let is_prose = separator == b':'
                && bytes.get(value.start.wrapping_sub(1)) == Some(&b' ')
                && value_text.bytes().all(|byte| byte.is_ascii_alphabetic())
                && text[value.end..].trim_start().starts_with(|c: char| c.is_alphanumeric());
            let scheme = scheme_of(value_text);
            if scheme {
                if let Some(next) =
                    next_word(text, value.end).filter(|next| !is_harmless(&text[next.clone()], ""))
                {
                    found.push(next);
                }
                return;
            }
            !is_prose && !is_harmless(value_text, word)
        }
        Telling::Weak => is_random(value_text, min),
    };
    if is_hidden {
        found.push(value);
    }
}

/// Whether a word is the scheme of an `Authorization` header, before the secret itself.
fn scheme_of(word: &str) -> bool {
    ["bearer", "basic", "token", "digest", "negotiate", "apikey", "aws4-hmac-sha256", "ntlm"]
        .iter()
        .any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn line_end(text: &str, from: usize) -> usize {
    text[from..].find(['\n', '\r', '"', '\'']).map_or(text.len(), |end| from + end)
}

/// The value after a name that ends at `end`, and its separator: `=`, `:` or a blank.
fn value_behind(text: &str, end: usize) -> Option<(Range<usize>, u8)> {
    let bytes = text.as_bytes();
    let mut at = end;
    // The name may be quoted, with backslashes in JSON inside JSON.
    while matches!(bytes.get(at), Some(b'"' | b'\'' | b'\\')) {
        at += 1;
    }
    let was_quoted = at > end;
    let mut blank = at;
    while bytes.get(blank) == Some(&b' ') && blank < at + 2 {
        blank += 1;
    }
    let separator = match bytes.get(blank)? {
        b'=' | b':' => {
            let separator = bytes[blank];
            // `==`, `::`, `=>`, `:=`
            if matches!(bytes.get(blank + 1), Some(b'=' | b':' | b'>'))
                || bytes[..blank].last() == Some(&b':')
            {
                return None;
            }
            at = blank + 1;
            separator
        }
        b'%' if bytes[blank..].len() > 2 && bytes[blank + 1..].starts_with(b"3D") => {
            at = blank + 3;
            b'='
        }
        _ if blank > at && !was_quoted => {
            at = blank;
            b' '
        }
        _ => return None,
    };
    let mut n_blanks = 0;
    while bytes.get(at) == Some(&b' ') && n_blanks < 2 {
        (at, n_blanks) = (at + 1, n_blanks + 1);
    }
    Some((value_at(text, at)?, separator))
}

/// Next word after blanks.
fn next_word(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut at = from;
    while matches!(bytes.get(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    if at == from { None } else { value_at(text, at) }
}

/// The value at `at`: up to its closing quote, else up to a usual terminator. `None` if it is empty.
fn value_at(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut start = at;
    while bytes.get(start) == Some(&b'\\') {
        start += 1;
    }
    let quote = bytes.get(start).copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    start = if quote.is_some() { start + 1 } else { at };
    let is_end = |byte: &u8| match quote {
        Some(quote) => *byte == quote || *byte == b'\n',
        None => {
            matches!(
                byte,
                b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b'|' | b')' | b']' | b'}' | b'<' | b'>' | b'#'
            ) || byte.is_ascii_whitespace()
        }
    };
    let rest = bytes.get(start..)?;
    let mut end = start + rest.iter().position(is_end).unwrap_or(rest.len());
    // A backslash before a quote belongs to the quote.
    while end > start && quote.is_some() && bytes[end - 1] == b'\\' {
        end -= 1;
    }
    (end > start).then_some(start..end)
}

/// Finds passwords in the URL whose host starts at `at`.
fn user_info(text: &str, at: usize, found: &mut Vec<Range<usize>>) {
    let rest = &text[at..];
    let end = rest.find(|c: char| c.is_whitespace() || "/?#\"'<>`,;()".contains(c)).unwrap_or(rest.len());
    let Some(user_end) = rest[..end].rfind('@') else { return };
    match rest[..user_end].find(':') {
        Some(colon) if is_harmless(&rest[colon + 1..user_end], "") => {}
        Some(colon) => found.push(at + colon + 1..at + user_end),
        None if is_random(&rest[..user_end], LOOSE_MIN) => found.push(at..at + user_end),
        None => {}
    }
}

/// Finds the text between the lines around a private key, or everything after the first line if it is truncated.
fn private_keys(text: &str, found: &mut Vec<Range<usize>>) {
    const BEGIN: &str = "-----BEGIN ";
    let mut at = 0;
    while let Some(begin) = text[at..].find(BEGIN) {
        let label = at + begin + BEGIN.len();
        let Some(dashes) = text[label..].find("-----") else { return };
        let start = label + dashes + 5;
        at = start;
        if !text[label..start].contains("PRIVATE KEY") {
            continue;
        }
        let end = text[start..].find("-----END").map_or(text.len(), |end| start + end);
        found.push(start..end);
        at = end;
    }
}

/// Characters of keys and tokens, in base64 and variants.
fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'+' | b'/' | b'_' | b'=' | b'.' | b'~' | b'-' | b'%' | b':')
}

/// Whether a value looks random: mixed letters and digits, at least `min` characters, neither a path nor words.
fn is_random(value: &str, min: usize) -> bool {
    let bytes = value.as_bytes();
    if bytes.len() < min
        || !bytes.iter().all(|byte| is_of_key(*byte))
        || is_path(value)
        || value.contains("::")
    {
        return false;
    }
    let n_digits = bytes.iter().filter(|byte| byte.is_ascii_digit()).count();
    let n_letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let mut seen = [false; 256];
    bytes.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    let n_distinct = seen.iter().filter(|seen| **seen).count();
    // Words with a trailing number change from letters to digits once or twice.
    let n_changes =
        bytes.windows(2).filter(|pair| pair[0].is_ascii_digit() != pair[1].is_ascii_digit()).count();
    n_digits >= 2 && n_letters >= 2 && n_distinct >= 8 && n_changes >= 4
}

/// Whether a text is a path.
fn is_path(value: &str) -> bool {
    let starts = value.starts_with(['/', '~'])
        || value.starts_with("./")
        || value.starts_with("../")
        || value.get(1..3) == Some(":\\");
    let has_ending = value.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty()
            && (1..=5).contains(&ending.len())
            && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    starts && (has_ending || value.bytes().filter(|byte| *byte == b'/').count() >= 2)
        || has_ending && value.contains('/')
}

/// Whether the value of a secret name is harmless: absent, a placeholder, a type, or the place where the secret is stored.
fn is_harmless(value: &str, name: &str) -> bool {
    const WORDS: [&str; 34] = [
        "none",
        "null",
        "nil",
        "undefined",
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "0",
        "1",
        "-",
        "str",
        "string",
        "bool",
        "int",
        "bytes",
        "optional",
        "required",
        "any",
        "unset",
        "set",
        "empty",
        "redacted",
        "hidden",
        "masked",
        "removed",
        "missing",
        "invalid",
        "expired",
        "default",
        "nan",
        "auto",
    ];
    let bare = value.trim_matches(|c: char| "\"'`()[]{}<>* \\".contains(c));
    let lower = bare.to_ascii_lowercase();
    let kept_elsewhere = |value: &str| {
        value.starts_with('$')
            || value.starts_with("%(")
            || value.starts_with("{{")
            || value.starts_with('<')
            || value.starts_with(HIDDEN)
            || value.starts_with("(hidden ")
    };
    let last = name.rsplit(['_', '-', '.']).next().unwrap_or(name).to_ascii_lowercase();
    let may_be_file = last.starts_with("key")
        || last.ends_with("key")
        || last.starts_with("credential")
        || last == "pwd"
        || last == "secrets";
    bare.is_empty()
        || WORDS.contains(&lower.as_str())
        || lower.bytes().all(|byte| matches!(byte, b'x' | b'.' | b'*' | b'-'))
        || kept_elsewhere(value)
        || may_be_file && is_path(value)
}

#[cfg(test)]
mod tests;
