//! Operator categories: `GEMM`, `CONV_fwd`, `SDPA_bwd`, `elementwise` …
//!
//! The rules are data (`op_categories.tsv`), so that custom rules can come before them. Categories follow TraceLens (Part C of the
//! specification): they depend on the operator's name, or else on the name of its first kernel.

use std::fmt;

const BUILTIN: &str = include_str!("op_categories.tsv");

/// Category if no rule matches.
pub const OTHER: &str = "other";

/// Category of a kernel without an operator: `graph` if its runtime call launches a graph (`hipGraphLaunch`, `cudaGraphLaunch`),
/// else `runtime`, also if the call is not in the trace.
pub fn without_op(call: Option<&str>) -> &'static str {
    if call.is_some_and(|call| call.contains("GraphLaunch")) { "graph" } else { "runtime" }
}

/// What a rule checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Subject {
    Op,
    Kernel,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    subject: Subject,
    pattern: String,
    category: String,
}

/// Rules; the first match wins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Categories {
    rules: Vec<Rule>,
}

/// Error in a line of rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CategoriesError {
    /// Line number, from 1.
    pub line: usize,
    /// Problem and suggestion.
    pub what: String,
}

impl fmt::Display for CategoriesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for CategoriesError {}

impl Categories {
    /// Builtin rules.
    pub fn builtin() -> Categories {
        // A test parses them strictly.
        Categories { rules: parse(BUILTIN).unwrap_or_default() }
    }

    /// Builtin rules preceded by those in `text`. Each line has three tab-separated fields: `op` or `kernel`, a pattern in which
    /// `*` matches anything, and a category. Empty lines and lines that start with `#` are ignored.
    pub fn with(text: &str) -> Result<Categories, CategoriesError> {
        let mut rules = parse(text)?;
        rules.extend(Categories::builtin().rules);
        Ok(Categories { rules })
    }

    /// The category of operator `op` whose first kernel is `kernel`, if it has one.
    pub fn of(&self, op: &str, kernel: Option<&str>) -> &str {
        let by_op = self.first(Subject::Op, op);
        let found = by_op.or_else(|| kernel.and_then(|kernel| self.first(Subject::Kernel, kernel)));
        found.unwrap_or(OTHER)
    }

    fn first(&self, subject: Subject, name: &str) -> Option<&str> {
        let rule = self.rules.iter().find(|rule| rule.subject == subject && fits(&rule.pattern, name))?;
        Some(&rule.category)
    }
}

fn parse(text: &str) -> Result<Vec<Rule>, CategoriesError> {
    let mut rules = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let error = |what: String| CategoriesError { line: number + 1, what };
        let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
        let [subject, pattern, category] = fields[..] else {
            let n = fields.len();
            return Err(error(format!(
                "expected 3 tab-separated fields (op or kernel, pattern, category), found {n}"
            )));
        };
        let subject = match subject {
            "op" => Subject::Op,
            "kernel" => Subject::Kernel,
            _ => return Err(error(format!("unknown subject '{subject}'; use op or kernel"))),
        };
        if pattern.is_empty() || category.is_empty() {
            return Err(error("empty field; use * as a pattern that matches everything".to_string()));
        }
        rules.push(Rule { subject, pattern: pattern.to_string(), category: category.to_string() });
    }
    Ok(rules)
}

/// Whether `name` matches `pattern`, in which `*` matches any run of characters.
///
/// Every piece between two stars is matched at its first occurrence, so this takes linear time however many stars there are.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*') {
        match name.find(piece) {
            Some(at) => name = &name[at + piece.len()..],
            None => return false,
        }
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_that_come_along_are_sound() {
        let rules = parse(BUILTIN).unwrap();
        assert!(rules.len() > 100);
        for (i, rule) in rules.iter().enumerate() {
            let twice = rules[..i].iter().any(|other| other.pattern == rule.pattern);
            assert!(!twice, "duplicate rule {}", rule.pattern);
        }
    }

    #[test]
    fn patterns() {
        assert!(fits("a*c", "abc") && fits("a*", "a") && fits("*", "") && fits("a*b*c", "a-b-b-c"));
        assert!(!fits("a*c", "ab") && !fits("ab*ba", "aba") && !fits("a", "ab") && !fits("a*x*c", "abc"));
    }

    #[test]
    fn names_decide_then_kernels() {
        let categories = Categories::builtin();
        let elementwise = "void at::native::vectorized_elementwise_kernel<4>";
        assert_eq!(categories.of("aten::mm", Some(elementwise)), "GEMM");
        assert_eq!(categories.of("aten::sqrt", Some(elementwise)), "elementwise");
        assert_eq!(categories.of("aten::sqrt", None), "other");
        assert_eq!(categories.of("aten::native_layer_norm_backward", None), "NORM_bwd");
        assert_eq!(categories.of("aten::_scaled_dot_product_flash_attention_backward", None), "SDPA_bwd");
        assert_eq!(categories.of("triton_poi_fused_add_0", None), "triton");
    }

    #[test]
    fn own_rules_come_first() {
        let categories = Categories::with("# mine\n\nop\taten::mm\tMatrices\n").unwrap();
        assert_eq!(categories.of("aten::mm", None), "Matrices");
        assert_eq!(categories.of("aten::bmm", None), "GEMM");
        let error = Categories::with("op\taten::mm\tX\nops\ta\tb").unwrap_err();
        assert_eq!(error.to_string(), "line 2: unknown subject 'ops'; use op or kernel");
        assert!(Categories::with("op aten::mm").unwrap_err().to_string().contains("found 1"));
    }
}
