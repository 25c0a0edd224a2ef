//! Rules that classify memory by symbol, operation and phase: the first match wins.
//!
//! Regular expressions are searched in the symbol, ignoring case. As `_` and digits are word characters,
//! `ggml_q4_0` matches neither form of the rule for quantised kernels, in the reference and here.

use super::settings::{self, Problem};
use crate::base::json::write;
use crate::base::strings::StringId;
use crate::trace::accesses::{Op, RegionType};
use regex_lite::{Regex, RegexBuilder};
use std::borrow::Cow;
use std::sync::LazyLock;

/// One rule. Fields that are not set match everything.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Resulting kind, by its name in files.
    pub region: String,
    pub phase: Option<String>,
    pub op: Option<String>,
    pub symbol: Option<Regex>,
    pub dso: Option<Regex>,
}

/// Rules in order of precedence.
#[derive(Clone, Debug)]
pub struct Rules {
    pub rules: Vec<Rule>,
    /// Whether these are the built-in rules.
    is_builtin: bool,
}

/// Phase, operation, expression for the symbol, kind of memory.
type BuiltinRule = (Option<&'static str>, Option<&'static str>, Option<&'static str>, RegionType);

const BUILTIN: [BuiltinRule; 7] = [
    (Some("weight_load"), Some("store"), None, RegionType::Weight),
    (Some("weight_load"), None, None, RegionType::Weight),
    (None, None, Some("kv_cache|kv_update|kv_read|kv_write|attn_cache|llama_kv"), RegionType::KvCache),
    (
        None,
        None,
        Some(r"ggml_vec_dot|ggml_mul_mat|ggml_q4_k|ggml_q8_k|ggml_q4\b|ggml_q8\b"),
        RegionType::Weight,
    ),
    (
        None,
        None,
        Some("ggml_init|ggml_new_tensor|ggml_set_|model_load|load_model|load_weight"),
        RegionType::Weight,
    ),
    (
        None,
        None,
        Some("ggml_compute|ggml_add|ggml_silu|ggml_norm|ggml_rms_norm|ggml_rope"),
        RegionType::Activation,
    ),
    (None, None, Some(r"^(?:malloc|calloc|realloc|free|mmap|munmap|brk)\n?$"), RegionType::Runtime),
];

/// Replaces non-ASCII letters and digits of a symbol by ASCII ones that the built-in rules treat the way Python would:
/// Python's expressions know the word characters and cases of all scripts, those here only ASCII.
fn in_ascii(symbol: &str) -> Cow<'_, str> {
    if symbol.is_ascii() {
        return Cow::Borrowed(symbol);
    }
    let plain = |letter: char| match letter {
        'İ' | 'ı' => 'i',
        'ſ' => 's',
        '\u{212a}' => 'k',
        // No rule contains this digit, so it only acts as a word character.
        other if !other.is_ascii() && other.is_alphanumeric() => '0',
        other => other,
    };
    Cow::Owned(symbol.chars().map(plain).collect())
}

/// Limit on the size of a compiled pattern, as patterns are user input.
const MAX_PATTERN_BYTES: usize = 1 << 20;

fn expression(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).case_insensitive(true).size_limit(MAX_PATTERN_BYTES).build().ok()
}

/// Built once: compiling the expressions takes longer than labelling a small trace.
static ALONG: LazyLock<Rules> = LazyLock::new(|| {
    let rules = BUILTIN.iter().map(|(phase, op, symbol, region)| Rule {
        region: region.name().unwrap_or_default().to_string(),
        phase: phase.map(str::to_string),
        op: op.map(str::to_string),
        symbol: symbol.and_then(expression),
        dso: None,
    });
    Rules { rules: rules.collect(), is_builtin: true }
});

impl Default for Rules {
    fn default() -> Rules {
        ALONG.clone()
    }
}

impl Rules {
    /// The built-in rules as JSON, one per line.
    pub fn builtin_json() -> String {
        let mut out = Vec::new();
        for (n, (phase, op, symbol, region)) in BUILTIN.iter().enumerate() {
            out.extend_from_slice(if n == 0 {
                b"[\n  {\"region_type\": "
            } else {
                b",\n  {\"region_type\": "
            });
            write::push_string(region.name().unwrap_or_default(), &mut out);
            for (key, value) in [("phase", phase), ("op_type", op), ("symbol_re", symbol)] {
                if let Some(value) = value {
                    out.extend_from_slice(format!(", \"{key}\": ").as_bytes());
                    write::push_string(value, &mut out);
                }
            }
            out.push(b'}');
        }
        out.extend_from_slice(b"\n]\n");
        String::from_utf8(out).unwrap_or_default()
    }

    /// Whether these are the built-in rules.
    pub fn are_builtin(&self) -> bool {
        self.is_builtin
    }

    /// Parses JSON: `[{"region_type": …, "phase": …, "op_type": …, "symbol_re": …, "dso_re": …}]`; only `region_type` is
    /// required. The rules replace the built-in ones.
    pub fn parse(json: &str) -> Result<Rules, Problem> {
        let mut rules = Vec::new();
        settings::for_each_object(json, |object| {
            let pattern = |name: &str| match object.text(name)? {
                None => Ok(None),
                Some(pattern) => match expression(&pattern) {
                    Some(expression) => Ok(Some(expression)),
                    None => Err(Problem::new(format!("{name} is not a valid regular expression: {pattern}"))),
                },
            };
            rules.push(Rule {
                region: object
                    .text("region_type")?
                    .ok_or_else(|| Problem::new("a rule is missing region_type"))?,
                phase: object.text("phase")?,
                op: object.text("op_type")?,
                symbol: pattern("symbol_re")?,
                dso: pattern("dso_re")?,
            });
            Ok(())
        })?;
        // The built-in rules, written out, compare equal.
        let is_builtin = json.trim() == Rules::builtin_json().trim();
        Ok(Rules { rules, is_builtin })
    }

    /// Kind from the first matching rule; `None` without a match.
    pub fn classify(&self, symbol: &str, dso: &str, phase: Option<&str>, op: &str) -> Option<&str> {
        let symbol = if self.is_builtin { in_ascii(symbol) } else { Cow::Borrowed(symbol) };
        let fits = |rule: &&Rule| {
            rule.phase.as_deref().is_none_or(|wanted| Some(wanted) == phase)
                && rule.op.as_deref().is_none_or(|wanted| wanted == op)
                && rule.symbol.as_ref().is_none_or(|wanted| wanted.is_match(&symbol))
                && rule.dso.as_ref().is_none_or(|wanted| wanted.is_match(dso))
        };
        self.rules.iter().find(fits).map(|rule| rule.region.as_str())
    }
}

/// Inputs of a classification, as a cache key.
pub type Question = (Option<StringId>, Option<StringId>, u32, Op, Option<StringId>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_that_come_along_can_be_written_out_and_read() {
        let json = Rules::builtin_json();
        let read = Rules::parse(&json).unwrap();
        let told = |rules: &Rules| format!("{:?}", rules.rules);
        assert_eq!((told(&read), read.are_builtin()), (told(&Rules::default()), true));
        assert!(!Rules::parse(&json.replace("kv_update|", "")).unwrap().are_builtin());
    }

    /// Expected results of Python's expressions, which know letters of all scripts.
    #[test]
    fn words_and_cases_are_those_of_all_scripts() {
        assert!(BUILTIN.iter().all(|(.., pattern, _)| pattern.is_none_or(|pattern| !pattern.contains('0'))));
        let rules = Rules::default();
        for (symbol, wanted) in [
            ("ggml_q4", Some("weight")),
            ("ggml_q4é", None),
            ("ggml_q4字", None),
            ("ggml_q8٣", None),
            ("ggml_q8\u{fffd}", Some("weight")),
            ("ggml_q4 é", Some("weight")),
            ("ggml_q4→", Some("weight")),
            ("ggml_ſet_x", Some("weight")),
            ("ggml_İnit", Some("weight")),
            ("ggml_sılu", Some("activation")),
            ("\u{212a}v_cache", Some("kv_cache")),
            ("br\u{212a}", Some("runtime")),
            ("mallocé", None),
            ("émalloc", None),
        ] {
            assert_eq!(rules.classify(symbol, "", None, "load"), wanted, "{symbol}");
        }
        let own = Rules::parse(r#"[{"region_type": "own", "symbol_re": "q4é"}]"#).unwrap();
        assert_eq!(own.classify("ggml_q4é", "", None, "load"), Some("own"));
        assert_eq!(own.classify("ggml_q40", "", None, "load"), None);
    }
}
