//! Secrets in raw JSON, including broken or truncated JSON.

use super::names::{Telling, telling};
use super::{HIDDEN, hide, hide_value, is_harmless, may_hold};
use crate::base::json::write::push_string;
use crate::base::json::{RawStr, unescape_to_string};

/// Depth from which containers are treated as part of their parent.
const MAX_DEPTH: usize = 256;

/// An open container.
#[derive(Default)]
struct Open {
    is_object: bool,
    /// Next key of an object; for a list, the key of the list.
    key: String,
    /// Previous text in a list.
    before: String,
    /// Number of texts in a list so far.
    n_texts: usize,
    /// Name that a member `name` or `key` gives to the member `value`.
    named: String,
    /// Everything in it is secret, since its key is, for instance, `secrets`.
    is_secret: bool,
}

/// Raw JSON without its secrets, all other bytes unchanged, and their number; `None` if there are none.
pub fn hide_json(raw: &[u8]) -> Option<(Vec<u8>, u64)> {
    hide_under("", raw)
}

/// Like [`hide_json`], for the value of `key`.
pub fn hide_under(key: &str, raw: &[u8]) -> Option<(Vec<u8>, u64)> {
    let is_secret = telling(key) == Telling::Strong;
    if !is_secret && !may_hold(raw) {
        return None;
    }
    let mut out: Vec<u8> = Vec::with_capacity(raw.len());
    let mut n = 0;
    let mut open: Vec<Open> = vec![Open { key: key.to_string(), is_secret, ..Open::default() }];
    let (mut at, mut copied) = (0, 0);
    while at < raw.len() {
        match raw[at] {
            byte @ (b'{' | b'[') => {
                if open.len() < MAX_DEPTH
                    && let Some(around) = open.last()
                {
                    let is_secret = around.is_secret || telling(&around.key) == Telling::Strong;
                    let key = if byte == b'[' { around.key.clone() } else { String::new() };
                    open.push(Open { is_object: byte == b'{', key, is_secret, ..Open::default() });
                }
                at += 1;
            }
            b'}' | b']' => {
                if open.len() > 1 {
                    open.pop();
                }
                at += 1;
            }
            b'"' => {
                let start = at + 1;
                let end = string_end(raw, start);
                at = (end + 1).min(raw.len());
                let bytes = &raw[start..end];
                let text = unescape_to_string(RawStr { bytes, escaped: bytes.contains(&b'\\') });
                let is_key = raw[at..].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
                let Some(around) = open.last_mut() else { break };
                // A key announces nothing about itself, but may be a setting with its value, or a key of a service.
                let judged = match is_key {
                    true => hide(&text).map(|without| (without.text, without.n)),
                    false => around.judge(&text),
                };
                if let Some((hidden, found)) = judged {
                    out.extend_from_slice(&raw[copied..start - 1]);
                    push_string(&hidden, &mut out);
                    // A truncated text stays truncated.
                    if end == raw.len() {
                        out.pop();
                    }
                    copied = at;
                    n += found;
                }
                match is_key {
                    true => around.key = text,
                    false => around.take(text),
                }
            }
            byte if byte.is_ascii_digit() || byte == b'-' => {
                let start = at;
                at += raw[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
                    .count();
                let Some(around) = open.last() else { break };
                // One digit is an answer, not a password.
                if at - start > 1
                    && around.is_object
                    && telling(&around.key) == Telling::Strong
                    && may_be_number(&around.key)
                {
                    out.extend_from_slice(&raw[copied..start]);
                    push_string(HIDDEN, &mut out);
                    copied = at;
                    n += 1;
                }
            }
            _ => at += 1,
        }
    }
    out.extend_from_slice(&raw[copied..]);
    (n > 0).then_some((out, n))
}

/// Whether it is one JSON value and nothing else.
pub fn is_whole(raw: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(raw).is_ok()
}

/// Whether a number can be the secret: for a password, but not for `secret_size`.
fn may_be_number(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    ["passw", "passcode", "pwd", "secret"].iter().any(|word| key.contains(word))
}

impl Open {
    /// Replacement of a text, and the number of secrets in it.
    fn judge(&self, text: &str) -> Option<(String, u64)> {
        let whole = Some((HIDDEN.to_string(), 1));
        let key = if self.is_object && is_value(&self.key) && !self.named.is_empty() {
            &self.named
        } else {
            &self.key
        };
        if !self.is_object && self.n_texts > 0 && follows(&self.before, text, self.n_texts) {
            return whole;
        }
        if self.is_secret && !is_harmless(text, key) {
            return whole;
        }
        hide_value(key, text).map(|without| (without.text, without.n))
    }

    /// Records a text.
    fn take(&mut self, text: String) {
        if self.is_object {
            if is_name(&self.key) && telling(&text) == Telling::Strong {
                self.named = text;
            }
        } else {
            self.before = text;
            self.n_texts += 1;
        }
    }
}

fn is_name(key: &str) -> bool {
    ["name", "key", "header"].iter().any(|name| key.eq_ignore_ascii_case(name))
}

fn is_value(key: &str) -> bool {
    key.eq_ignore_ascii_case("value")
}

/// Whether `text` is a secret announced by the text before it in a list: a flag and its value, or a variable and its value as
/// the only items.
fn follows(before: &str, text: &str, n_before: usize) -> bool {
    let is_bare =
        |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if !is_bare(before) || is_harmless(text, before) {
        return false;
    }
    let is_flag = before.starts_with('-') && !text.starts_with('-');
    let is_token = before.trim_start_matches('-').eq_ignore_ascii_case("token");
    let is_variable =
        n_before == 1 && before.contains('_') && !before.bytes().any(|byte| byte.is_ascii_lowercase());
    let is_other_variable =
        is_bare(text) && text.contains('_') && !text.bytes().any(|byte| byte.is_ascii_lowercase());
    (is_flag && (is_token || telling(before) == Telling::Strong))
        || (is_variable && !is_other_variable && telling(before) == Telling::Strong)
}

/// End of the text that starts at `from`: at its quote or the end of the bytes.
fn string_end(raw: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &raw[at.min(raw.len())..]) {
        at += found;
        if raw[at] == b'"' {
            return at;
        }
        at += 2;
    }
    raw.len()
}
