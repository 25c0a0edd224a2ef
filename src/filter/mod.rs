//! The filter language of tables: one line of text to a test of rows.
//!
//! ```text
//! filter  = term { space term }          all terms have to match
//! term    = [ "-" ] atom { "|" atom }    any of the atoms; "-" turns it around
//! atom    = word | "phrase" | /regex/
//!         | column ":" value             the column contains it
//!         | column op value              op is = != < <= > >=
//! ```
//! Letters match in either case. A column goes by its id or its label, in quotes if that has blanks. Numbers are compared in the unit of
//! their column and take its prefixes: `self>1.5ms`, `size>=4MiB`, `share>10%`, `calls>10k`.
//!
//! Names are full of `:` and `<`, so `aten::mm` and `Kernel<float>` are words: a test starts with the name of a column. `docs/filter.md`
//! is the page for users, and its examples are tests here.

mod operand;
mod syntax;

use crate::base::units::Unit;
use operand::Operand;
use regex_lite::{Regex, RegexBuilder};
use std::cmp::Ordering;
use std::ops::Range;

/// Longest regular expression, in bytes, and the memory that it may take once compiled.
const MAX_REGEX_BYTES: usize = 500;
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// What a filter has to know of a column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnInfo<'a> {
    pub id: &'a str,
    pub label: &'a str,
    pub unit: Unit,
    pub is_number: bool,
}

/// What is wrong with a filter, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterError {
    /// Bytes of the filter that it is about.
    pub at: Range<usize>,
    /// A sentence: what is wrong, and what to write.
    pub what: String,
}

/// One cell, as filters see it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CellRef<'a> {
    Missing,
    Text(&'a str),
    Whole(i128),
    /// Shown in hexadecimal.
    Address(u64),
    Float(f64),
    Bool(bool),
}

/// A filter of the rows of one table.
#[derive(Debug, Default)]
pub struct Filter {
    /// All of them have to match.
    terms: Vec<Term>,
}

#[derive(Debug)]
struct Term {
    is_negated: bool,
    /// Any of them.
    any: Vec<Test>,
}

#[derive(Debug)]
enum Test {
    /// The texts of the row contain it.
    Row(Pattern),
    Column(usize, Pattern),
    /// The text of the column is this, in either case of letters.
    Is {
        column: usize,
        text: String,
        is_negated: bool,
    },
    Compare {
        column: usize,
        op: Op,
        operand: Operand,
    },
}

#[derive(Debug)]
enum Pattern {
    /// In lower case.
    Contains(String),
    Regex(Regex),
}

/// How a number is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Op {
    fn holds(self, ordering: Ordering) -> bool {
        match self {
            Op::Equal => ordering.is_eq(),
            Op::NotEqual => ordering.is_ne(),
            Op::Less => ordering.is_lt(),
            Op::LessOrEqual => ordering.is_le(),
            Op::Greater => ordering.is_gt(),
            Op::GreaterOrEqual => ordering.is_ge(),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Op::Equal => "=",
            Op::NotEqual => "!=",
            Op::Less => "<",
            Op::LessOrEqual => "<=",
            Op::Greater => ">",
            Op::GreaterOrEqual => ">=",
        }
    }
}

impl Pattern {
    fn matches(&self, text: &str, lower: &str) -> bool {
        match self {
            Pattern::Contains(part) => lower.contains(part.as_str()),
            Pattern::Regex(regex) => regex.is_match(text),
        }
    }
}

impl Filter {
    /// Reads a filter of a table with these columns.
    pub fn parse(text: &str, columns: &[ColumnInfo<'_>]) -> Result<Filter, FilterError> {
        Filter::parse_among(text, columns, &|_| false)
    }

    /// The same of one of several tables: `is_known` says of a name whether another one has such a column, so that it is no word here.
    pub fn parse_among(
        text: &str,
        columns: &[ColumnInfo<'_>],
        is_known: &dyn Fn(&str) -> bool,
    ) -> Result<Filter, FilterError> {
        let mut terms = Vec::new();
        for syntax::Term { is_negated, any } in syntax::terms(text)? {
            let any = any
                .into_iter()
                .map(|atom| Test::of(atom, text, columns, is_known))
                .collect::<Result<_, _>>()?;
            terms.push(Term { is_negated, any });
        }
        Ok(Filter { terms })
    }

    /// Whether every row matches, as with an empty text.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether a row matches: `cell` gives its cells, `texts` all that a word is looked for in, one text a line.
    pub fn matches<'a>(&self, cell: impl Fn(usize) -> CellRef<'a>, texts: impl Fn(&mut String)) -> bool {
        let (mut text, mut lower) = (String::new(), String::new());
        if self.terms.iter().flat_map(|term| &term.any).any(|test| matches!(test, Test::Row(_))) {
            texts(&mut text);
            lower = text.to_lowercase();
        }
        self.terms.iter().all(|term| {
            let holds = |test: &Test| match test {
                Test::Row(pattern) => pattern.matches(&text, &lower),
                Test::Column(column, pattern) => {
                    let text = cell(*column).text();
                    pattern.matches(&text, &text.to_lowercase())
                }
                Test::Is { column, text, is_negated } => match cell(*column) {
                    CellRef::Missing => false,
                    cell => (cell.text().to_lowercase() == *text) != *is_negated,
                },
                Test::Compare { column, op, operand } => {
                    operand.ordering(cell(*column)).is_some_and(|ordering| op.holds(ordering))
                }
            };
            term.any.iter().any(holds) != term.is_negated
        })
    }
}

/// The filter that finds this text as it stands, whatever signs are in it.
pub fn exactly(text: &str) -> String {
    let is_sign = |letter: char| letter.is_whitespace() || "\"|:<>=!/\\".contains(letter);
    match text.is_empty() || !(text.contains(is_sign) || text.starts_with('-')) {
        true => text.to_string(),
        false => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// The filter that finds the rows in which a column of text is exactly this; all rows for an empty text.
pub fn is(column: &str, text: &str) -> String {
    match text.is_empty() {
        true => String::new(),
        false => format!("{column}={}", exactly(text)),
    }
}

impl CellRef<'_> {
    fn text(&self) -> String {
        match self {
            CellRef::Missing => String::new(),
            CellRef::Text(text) => (*text).to_string(),
            CellRef::Whole(value) => value.to_string(),
            CellRef::Address(address) => format!("{address:#x}"),
            CellRef::Float(value) => value.to_string(),
            CellRef::Bool(value) => if *value { "yes" } else { "no" }.to_string(),
        }
    }
}

impl Test {
    fn of(
        atom: syntax::Atom<'_>,
        text: &str,
        columns: &[ColumnInfo<'_>],
        is_known: &dyn Fn(&str) -> bool,
    ) -> Result<Test, FilterError> {
        let (name, relation, value) = match &atom.test {
            None => return Ok(Test::Row(pattern(&atom.value, &atom.at)?)),
            Some((name, relation)) => (name.as_ref(), *relation, &atom.value),
        };
        let Some(column) = find(name, columns) else {
            let is_number =
                matches!(value.kind, syntax::Kind::Bare) && operand::starts_as_number(&value.text);
            let is_test = matches!(relation, syntax::Relation::Compares(_)) && is_number;
            if is_test || atom.is_quoted_name || is_known(name) {
                return Err(FilterError { at: atom.at.clone(), what: unknown_column(name, columns) });
            }
            return Ok(Test::Row(Pattern::Contains(text[atom.at.clone()].to_lowercase())));
        };
        let of = &columns[column];
        if value.text.is_empty() {
            return Err(FilterError {
                at: atom.at.clone(),
                what: format!("A value is missing after {name}."),
            });
        }
        match relation {
            syntax::Relation::Contains => Ok(Test::Column(column, pattern(value, &atom.at)?)),
            syntax::Relation::Compares(op) if !of.is_number => {
                let is_negated = op == Op::NotEqual;
                match op {
                    _ if value.kind == syntax::Kind::Regex => Err(FilterError {
                        at: atom.at.clone(),
                        what: format!("A regular expression goes after a colon: {name}:/{}/.", value.text),
                    }),
                    Op::Equal | Op::NotEqual => {
                        Ok(Test::Is { column, text: value.text.to_lowercase(), is_negated })
                    }
                    _ => Err(FilterError {
                        at: atom.at.clone(),
                        what: format!("{name} is text: use {name}:{0} or {name}={0}.", value.text),
                    }),
                }
            }
            syntax::Relation::Compares(op) => {
                let operand = Operand::parse(&value.text, of.unit).map_err(|why| FilterError {
                    at: atom.at.clone(),
                    what: why.sentence(name, op.text()),
                })?;
                Ok(Test::Compare { column, op, operand })
            }
        }
    }
}

fn pattern(value: &syntax::Value<'_>, at: &Range<usize>) -> Result<Pattern, FilterError> {
    if value.kind != syntax::Kind::Regex {
        return Ok(Pattern::Contains(value.text.to_lowercase()));
    }
    let error = |what: String| FilterError { at: at.clone(), what };
    if value.text.len() > MAX_REGEX_BYTES {
        return Err(error(format!("The regular expression is longer than {MAX_REGEX_BYTES} bytes.")));
    }
    RegexBuilder::new(&value.text)
        .case_insensitive(true)
        .multi_line(true)
        .size_limit(MAX_COMPILED_BYTES)
        .build()
        .map(Pattern::Regex)
        .map_err(|why| error(format!("/{}/ is not a valid regular expression: {why}.", value.text)))
}

/// Place of the column of that id, or else of that label, in either case of letters.
pub fn find(name: &str, columns: &[ColumnInfo<'_>]) -> Option<usize> {
    let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
    let by_id = columns.iter().position(|column| same(column.id, name));
    by_id.or_else(|| columns.iter().position(|column| same(column.label, name)))
}

fn unknown_column(name: &str, columns: &[ColumnInfo<'_>]) -> String {
    let ids: Vec<&str> = columns.iter().map(|column| column.id).collect();
    format!("There is no column “{name}” here. Columns: {}.", ids.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [ColumnInfo<'_>; 6] = [
        ColumnInfo { id: "name", label: "name", unit: Unit::None, is_number: false },
        ColumnInfo { id: "phase", label: "phase", unit: Unit::None, is_number: false },
        ColumnInfo { id: "self", label: "self time", unit: Unit::Ns, is_number: true },
        ColumnInfo { id: "calls", label: "calls", unit: Unit::Count, is_number: true },
        ColumnInfo { id: "share", label: "share", unit: Unit::Ratio, is_number: true },
        ColumnInfo { id: "size", label: "size", unit: Unit::Bytes, is_number: true },
    ];

    type Cells = [CellRef<'static>; 6];

    fn rows() -> [Cells; 4] {
        use CellRef::{Float, Missing, Text, Whole};
        [
            [Text("aten::mm"), Text("decode"), Whole(2_000_000), Whole(10), Float(0.5), Whole(4096)],
            [Text("aten::add_"), Text("prefill"), Whole(500_000), Whole(9), Float(0.1), Whole(4095)],
            [
                Text("Kernel<float> one|two"),
                Text("decode step"),
                Whole(1_500_000),
                Missing,
                Float(0.02),
                Missing,
            ],
            [Text("-start /usr/lib"), Missing, Whole(0), Whole(12_000), Missing, Whole(1 << 30)],
        ]
    }

    fn matching(filter: &str) -> Vec<usize> {
        let filter =
            Filter::parse(filter, &COLUMNS).unwrap_or_else(|error| panic!("{filter}: {}", error.what));
        let texts = |row: &Cells| {
            let row = *row;
            move |text: &mut String| {
                for cell in row {
                    if let CellRef::Text(cell) = cell {
                        text.push_str(cell);
                        text.push('\n');
                    }
                }
            }
        };
        let rows = rows();
        (0..rows.len())
            .filter(|row| filter.matches(|column| rows[*row][column], texts(&rows[*row])))
            .collect()
    }

    #[test]
    fn words_phrases_and_their_opposites() {
        assert_eq!(matching(""), [0, 1, 2, 3]);
        assert_eq!(matching("ATEN"), [0, 1]);
        assert_eq!(matching("aten mm"), [0]);
        assert_eq!(matching("aten -mm"), [1]);
        assert_eq!(matching("-aten"), [2, 3]);
        assert_eq!(matching("mm|add_"), [0, 1]);
        assert_eq!(matching("-mm|add_"), [2, 3]);
        assert_eq!(matching("\"one|two\""), [2]);
        assert_eq!(matching("\"-start\""), [3]);
        assert_eq!(matching("-"), [3]);
        assert_eq!(matching("decode"), [0, 2]);
    }

    #[test]
    fn names_with_signs_are_words() {
        assert_eq!(matching("aten::mm"), [0]);
        assert_eq!(matching("Kernel<float>"), [2]);
        assert_eq!(matching("/usr/lib"), [3]);
        assert!(matching("x<y").is_empty());
    }

    #[test]
    fn any_text_can_be_looked_for() {
        for row in rows() {
            let CellRef::Text(name) = row[0] else { continue };
            let found = matching(&exactly(name));
            assert!(found.iter().any(|at| rows()[*at][0] == row[0]), "{name}");
        }
        assert_eq!(exactly("a \"b\""), "\"a \\\"b\\\"\"");
        assert_eq!(exactly("decode"), "decode");
        for name in ["C:\\dir\\", "x\\\"y", "\\"] {
            let filter = Filter::parse(&exactly(name), &COLUMNS).unwrap();
            assert!(filter.matches(|_| CellRef::Missing, |text| text.push_str(name)), "{name}");
        }
    }

    #[test]
    fn regular_expressions() {
        assert_eq!(matching("/^aten::(mm|add_)$/"), [0, 1]);
        assert_eq!(matching("-/ATEN/"), [2, 3]);
        assert_eq!(matching("name:/^kernel/"), [2]);
        assert_eq!(matching(r"/one\|two/"), [2]);
        assert_eq!(matching(r"/usr\/lib/"), [3]);
    }

    #[test]
    fn columns() {
        assert_eq!(matching("phase:decode"), [0, 2]);
        assert_eq!(matching("phase=decode"), [0]);
        assert_eq!(matching("phase=\"Decode Step\""), [2]);
        assert_eq!(matching("phase!=decode"), [1, 2]);
        assert_eq!(matching("-phase=decode"), [1, 2, 3]);
        assert_eq!(matching("calls>=10"), [0, 3]);
        assert_eq!(matching("calls > 10k"), [3]);
        assert_eq!(matching("calls:12"), [3]);
        assert_eq!(matching("self>1ms"), [0, 2]);
        assert_eq!(matching("self=0.5ms"), [1]);
        assert_eq!(matching("\"self time\" >= 1500us"), [0, 2]);
        assert_eq!(matching("self<0.001s -self=0"), [1]);
        assert_eq!(matching("share>=10%"), [0, 1]);
        assert_eq!(matching("share<0.1"), [2]);
        assert_eq!(matching("size>=4KiB"), [0, 3]);
        assert_eq!(matching("size<4096"), [1]);
        assert_eq!(matching("size=1GiB|calls=9"), [1, 3]);
        assert_eq!(matching("phase=decode calls>=10 self>1ms mm"), [0]);
    }

    #[test]
    fn errors_say_where_and_what_to_write() {
        let error = |filter: &str| {
            let error = Filter::parse(filter, &COLUMNS).expect_err(filter);
            (filter[error.at].to_string(), error.what)
        };
        let (at, what) = error("a self>1");
        assert_eq!(at, "self>1");
        assert_eq!(what, "1 needs a unit: self>1ms, self>1us.");
        assert_eq!(error("slef>1ms").1.split(". ").next(), Some("There is no column “slef” here"));
        assert_eq!(error("phase>decode").1, "phase is text: use phase:decode or phase=decode.");
        assert_eq!(error("calls>ten").1, "“ten” is not a number.");
        assert_eq!(error("share>10").1, "10 is more than 100%: for 10%, write share>10%.");
        assert_eq!(error("self>1kg").1, "“kg” is not a unit of time: use ns, us, ms, s, min or h.");
        assert_eq!(error("a \"b c").0, "\"b c");
        assert!(error("a \"b c").1.contains("closing quote"));
        assert!(error("/(/").1.contains("not a valid regular expression"));
        assert!(error("self>").1.contains("after"));
        assert!(error("a||b").1.contains("|"));
    }

    #[test]
    fn nothing_panics() {
        let signs =
            ["-", "|", "\"", "/", ":", "<", "=", "!", "self", " ", "µ", "1", "ms", "\\", "é", "\u{0}"];
        let mut filters = vec![String::new()];
        for _ in 0..3 {
            filters = filters.iter().flat_map(|head| signs.map(|sign| format!("{head}{sign}"))).collect();
            for filter in &filters {
                if let Err(error) = Filter::parse(filter, &COLUMNS) {
                    assert!(filter.get(error.at).is_some() && !error.what.is_empty(), "{filter}");
                }
            }
        }
    }

    /// The page for users has one filter a line in its code blocks, each with a comment behind it.
    #[test]
    fn examples_of_the_documentation_are_filters() {
        let page = include_str!("../../docs/filter.md");
        let mut is_code = false;
        let mut n = 0;
        for line in page.lines() {
            match line {
                "```text" => is_code = true,
                "```" => is_code = false,
                _ if is_code => {
                    let filter = line.split("    ").next().unwrap_or_default();
                    Filter::parse(filter, &COLUMNS)
                        .unwrap_or_else(|error| panic!("{filter}: {}", error.what));
                    n += 1;
                }
                _ => {}
            }
        }
        assert!(n >= 12, "{n} examples");
    }
}
