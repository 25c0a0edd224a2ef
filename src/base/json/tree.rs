//! Documents of Python programs as trees: metadata of runs, prompts, configurations.
//!
//! Not serde_json's values, because these documents are shown and written again as Python has them: `NaN` is a number, numbers
//! keep their digits, members their order, duplicates included, and output is that of `json.dumps`. Documents with known members are
//! read by [`super::typed`].

use super::{Dialect, JsonError, Number, Parser, Token, unescape_to_string};
use crate::base::compat::python;

/// Maximum nesting depth.
const MAX_DEPTH: usize = 200;

/// A value; numbers as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Json>),
    /// Members in document order.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Parses a document like Python (`NaN` and the like are numbers); `None` if it is invalid or nests too deep.
    pub fn parse(bytes: &[u8]) -> Option<Json> {
        let mut parser = Parser::new(bytes, Dialect::Python);
        let value = read(&mut parser, 0).ok()?;
        parser.skip_space();
        (parser.position() == bytes.len()).then_some(value)
    }

    /// Member by name; the last one wins.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => {
                members.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Value at a path of names separated by dots.
    pub fn at(&self, path: &str) -> Option<&Json> {
        path.split('.').try_fold(self, |value, key| value.get(key))
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Json::Number(text) => Number::as_u64(text.as_bytes()),
            _ => None,
        }
    }

    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Json::Number(text) => Number::as_i64(text.as_bytes()),
            _ => None,
        }
    }

    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Json::Number(text) => python::parse_float(text),
            _ => None,
        }
    }

    pub fn as_array(&self) -> Option<&[Json]> {
        match self {
            Json::Array(values) => Some(values),
            _ => None,
        }
    }

    /// Text as Python's `json.dumps` writes it with `indent` spaces per level; ASCII only.
    pub fn to_python_text(&self, indent: usize) -> String {
        let mut out = String::new();
        self.push(indent, 0, &mut python::push_json_string, &mut out);
        out
    }

    /// Like [`Json::to_python_text`], with `ensure_ascii=False`.
    pub fn to_python_text_unescaped(&self, indent: usize) -> String {
        let mut out = String::new();
        let mut plain = |text: &str, out: &mut String| {
            for (n, run) in text.split_inclusive(|c: char| !c.is_ascii()).enumerate() {
                // Each run but the last ends with one non-ASCII character.
                let end = run
                    .char_indices()
                    .next_back()
                    .filter(|(_, c)| !c.is_ascii())
                    .map_or(run.len(), |(at, _)| at);
                let start = out.len();
                python::push_json_string(&run[..end], out);
                // Drops its quotes, which belong around the whole text.
                out.pop();
                if n > 0 {
                    out.remove(start);
                }
                out.push_str(&run[end..]);
            }
            out.push_str(if text.is_empty() { "\"\"" } else { "\"" });
        };
        self.push(indent, 0, &mut plain, &mut out);
        out
    }

    fn push(
        &self,
        indent: usize,
        depth: usize,
        push_text: &mut dyn FnMut(&str, &mut String),
        out: &mut String,
    ) {
        let new_line = |depth: usize, out: &mut String| {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent * depth));
        };
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(text) => out.push_str(text),
            Json::String(text) => push_text(text, out),
            Json::Array(values) if values.is_empty() => out.push_str("[]"),
            Json::Object(members) if members.is_empty() => out.push_str("{}"),
            Json::Array(values) => {
                out.push('[');
                for (n, value) in values.iter().enumerate() {
                    out.push_str(if n > 0 { "," } else { "" });
                    new_line(depth + 1, out);
                    value.push(indent, depth + 1, push_text, out);
                }
                new_line(depth, out);
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (n, (name, value)) in members.iter().enumerate() {
                    out.push_str(if n > 0 { "," } else { "" });
                    new_line(depth + 1, out);
                    push_text(name, out);
                    out.push_str(": ");
                    value.push(indent, depth + 1, push_text, out);
                }
                new_line(depth, out);
                out.push('}');
            }
        }
    }
}

fn read(parser: &mut Parser<'_>, depth: usize) -> Result<Json, JsonError> {
    if depth > MAX_DEPTH {
        return Err(JsonError::Syntax { at: parser.position(), expected: "less depth" });
    }
    let token = parser.token()?;
    Ok(match token {
        Token::Null => Json::Null,
        Token::True => Json::Bool(true),
        Token::False => Json::Bool(false),
        Token::NonFinite(value) => Json::Number(python::float_json(value)),
        Token::Number(text) => Json::Number(String::from_utf8_lossy(text).into_owned()),
        Token::String(raw) => Json::String(unescape_to_string(raw)),
        Token::Array => {
            let (mut values, mut first) = (Vec::new(), true);
            while parser.next_element(&mut first)? {
                values.push(read(parser, depth + 1)?);
            }
            Json::Array(values)
        }
        Token::Object => {
            let (mut members, mut first) = (Vec::new(), true);
            while let Some(name) = parser.next_key(&mut first)? {
                members.push((unescape_to_string(name), read(parser, depth + 1)?));
            }
            Json::Object(members)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_python_come_back() {
        let text = "{\n  \"a\": [\n    1,\n    2.50,\n    NaN\n  ],\n  \"b\": {},\n  \"\\u00e9\": {\n    \"c\": \"\\ud83d\\ude00\\n\"\n  },\n  \"d\": [],\n  \"e\": null\n}";
        let tree = Json::parse(text.as_bytes()).unwrap();
        assert_eq!(tree.to_python_text(2), text);
        assert_eq!(Json::parse(tree.to_python_text_unescaped(2).as_bytes()), Some(tree.clone()));
        let plain = Json::String("aé\n😀".to_string());
        assert_eq!(plain.to_python_text_unescaped(0), "\"aé\\n😀\"");
        assert_eq!(Json::String(String::new()).to_python_text_unescaped(0), "\"\"");
        assert_eq!(tree.at("é.c").and_then(Json::as_str), Some("😀\n"));
        for bad in ["", "{", "[1] 2", "{\"a\"}", &"[".repeat(100_000)] {
            assert_eq!(Json::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
