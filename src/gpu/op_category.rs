//! What kind of operator it is: `GEMM`, `CONV_fwd`, `SDPA_bwd`, `elementwise` …
//!
//! The rules are data (`op_categories.tsv`), so that a user can put rules of his own before them. Categories are
//! TraceLens' (Part C of the specification): the operator's name decides, and for the few operators that say nothing by
//! their name, what its first kernel is called.

use std::fmt;

const BUILTIN: &str = include_str!("op_categories.tsv");

/// The category of what no rule fits.
pub const OTHER: &str = "other";

/// The category of a kernel that no operator launched: `graph` if the runtime call that did launches a whole graph
/// (`hipGraphLaunch`, `cudaGraphLaunch`), else `runtime`, also where the call is not in the trace.
pub fn without_op(call: Option<&str>) -> &'static str {
    if call.is_some_and(|call| call.contains("GraphLaunch")) { "graph" } else { "runtime" }
}

/// What a rule looks at.
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

/// Rules, the first that fits counts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Categories {
    rules: Vec<Rule>,
}

/// What is wrong with a line of rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CategoriesError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub what: String,
}

impl fmt::Display for CategoriesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for CategoriesError {}

impl Categories {
    /// The rules that come with the program.
    pub fn builtin() -> Categories {
        // A test reads them strictly.
        Categories { rules: parse(BUILTIN).unwrap_or_default() }
    }

    /// The rules in `text` before those that come with the program. Each line has three fields with tabs between them:
    /// `op` or `kernel`, a pattern in which `*` stands for anything, and a category. Empty lines and lines that start
    /// with `#` do not count.
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
                "{n} fields; write what, pattern and category, with tabs between them"
            )));
        };
        let subject = match subject {
            "op" => Subject::Op,
            "kernel" => Subject::Kernel,
            _ => return Err(error(format!("'{subject}' is no subject; write op or kernel"))),
        };
        if pattern.is_empty() || category.is_empty() {
            return Err(error("a field is empty; write * for a pattern that fits everything".to_string()));
        }
        rules.push(Rule { subject, pattern: pattern.to_string(), category: category.to_string() });
    }
    Ok(rules)
}

/// Whether `name` is `pattern`, in which `*` stands for any run of characters.
///
/// Every piece between two stars is taken where it first occurs, which is never worse than a later place; so this takes
/// time in proportion to the name, however many stars there are.
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
            assert!(!twice, "{} stands there twice", rule.pattern);
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
        assert_eq!(error.to_string(), "line 2: 'ops' is no subject; write op or kernel");
        assert!(Categories::with("op aten::mm").unwrap_err().to_string().contains("1 fields"));
    }
}
