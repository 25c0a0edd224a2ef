//! What a person types to find names.

use crate::base::hash::HashSet;
use regex_lite::{Regex, RegexBuilder};

/// Bytes of a compiled regular expression.
const MAX_BYTES: usize = 1 << 20;

/// Which names a text finds: those that contain it in any case; `/expression/` is a regular expression, `"a"|"b"` the very names.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// In small letters.
    Part(String),
    Names(HashSet<String>),
    Expression(Regex),
}

impl Pattern {
    /// An error, in the words of the expression's parser, if it is none.
    pub fn new(text: &str) -> Result<Pattern, String> {
        let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        match quoted.filter(|names| !names.is_empty()) {
            Some(names) => Ok(Pattern::Names(names.split("\"|\"").map(str::to_string).collect())),
            None => Pattern::in_text(text),
        }
    }

    /// What finds texts that are no names: quotes are part of what is looked for. Errors as above.
    pub fn in_text(text: &str) -> Result<Pattern, String> {
        match text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).filter(|it| !it.is_empty()) {
            Some(expression) => {
                let built =
                    RegexBuilder::new(expression).case_insensitive(true).size_limit(MAX_BYTES).build();
                built.map(Pattern::Expression).map_err(|error| error.to_string())
            }
            None => Ok(Pattern::Part(text.to_lowercase())),
        }
    }

    /// Whether it finds a name.
    pub fn finds(&self, name: &str) -> bool {
        match self {
            Pattern::Part(part) => name.to_lowercase().contains(part.as_str()),
            Pattern::Names(names) => names.contains(name),
            Pattern::Expression(expression) => expression.is_match(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_names_and_expressions() {
        let finds = |text: &str, name: &str| Pattern::new(text).unwrap().finds(name);
        assert!(finds("GEMM", "sm90_gemm_bf16") && !finds("gemm", "softmax"));
        assert!(finds("\"a\"|\"b.c\"", "b.c") && !finds("\"a\"|\"b.c\"", "ab"));
        assert!(finds("/^s.*x$/", "Softmax") && !finds("/^s.*x$/", "a softmax"));
        assert!(finds("/", "a/b") && finds("\"", "say \"a\""));
        assert!(Pattern::new("/(/").is_err());
        assert!(Pattern::in_text("\"dtype\"").unwrap().finds("{\"dtype\":\"bf16\"}"));
    }
}
