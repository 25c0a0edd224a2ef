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
use std::borrow::Cow;
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
    pub kind: Kind,
}

/// What the cells of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Text,
    Number,
    /// Shown as yes and no; CSV and JSON have true and false.
    Bool,
}

/// What is wrong with a filter, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterError {
    /// Bytes of the filter that it is about.
    pub at: Range<usize>,
    /// A sentence: what is wrong, and what to write.
    pub what: String,
    pub misfit: Misfit,
}

/// Whether a filter with an error may be right for another table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// It is wrong for any table.
    None,
    /// The table lacks this column.
    Lacks(String),
    /// The table has that column, but of another unit or kind: samples, where the filter has a time.
    OtherKind,
}

impl ColumnInfo<'_> {
    /// Heading of the column in CSV.
    fn csv_heading(&self) -> Cow<'_, str> {
        match self.kind {
            Kind::Number => self.unit.with_symbol(self.id),
            Kind::Text | Kind::Bool => Cow::Borrowed(self.id),
        }
    }
}

impl FilterError {
    fn wrong(at: Range<usize>, what: String) -> FilterError {
        FilterError { at, what, misfit: Misfit::None }
    }
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
        let read = syntax::terms(text)?;
        if let Some(error) = read.windows(2).find_map(|pair| unit_apart(&pair[0], &pair[1], columns)) {
            return Err(error);
        }
        let mut terms = Vec::new();
        for syntax::Term { is_negated, any } in read {
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
                    CellRef::Bool(value) => (truth(text) == Some(value)) != *is_negated,
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

/// Whether a text is this number exactly, with any of its units: `50 us` and `0.05 ms` are 50,000 nanoseconds.
pub fn is_number(text: &str, unit: Unit, cell: CellRef<'_>) -> bool {
    Operand::parse(text, unit).is_ok_and(|operand| operand.ordering(cell) == Some(Ordering::Equal))
}

/// The number that someone wrote, in the smallest unit of `unit`; an error sentence if it is none, or lacks its unit, in a test of
/// `name` with the sign `op`.
pub fn number(text: &str, unit: Unit, name: &str, op: &str) -> Result<f64, String> {
    Operand::parse(text, unit).map(|operand| operand.value()).map_err(|why| why.sentence(name, op))
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
            // By either name.
            CellRef::Bool(value) => if *value { "yes\ntrue" } else { "no\nfalse" }.to_string(),
        }
    }
}

/// Value of a cell that is yes or no, from its text in lower case: as tables show it, or as CSV and JSON have it.
fn truth(text: &str) -> Option<bool> {
    match text {
        "yes" | "true" => Some(true),
        "no" | "false" => Some(false),
        _ => None,
    }
}

/// The error of a number whose unit is the next word, `self>10 us`: that word would be looked for in the rows.
fn unit_apart(
    term: &syntax::Term<'_>,
    next: &syntax::Term<'_>,
    columns: &[ColumnInfo<'_>],
) -> Option<FilterError> {
    let (atom, word) = (term.any.last()?, next.any.first()?);
    let (name, relation) = atom.test.as_ref()?;
    let syntax::Relation::Compares(op) = relation else { return None };
    let column = &columns[find(name, columns)?];
    let is_bare = |atom: &syntax::Atom<'_>| atom.value.kind == syntax::Kind::Bare;
    if next.is_negated
        || word.test.is_some()
        || !is_bare(word)
        || !is_bare(atom)
        || column.kind != Kind::Number
    {
        return None;
    }
    let (number, unit) = (&atom.value.text, &word.value.text);
    let is_unit = operand::is_unit_of(unit, number, column.unit);
    is_unit.then(|| {
        FilterError::wrong(
            atom.at.start..word.at.end,
            format!("Write the unit without a blank before it: {name}{0}{number}{unit}.", op.text()),
        )
    })
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
            // Names of kernels are full of `<` and `:`, so these make a test only where more speaks for one.
            let is_number =
                matches!(value.kind, syntax::Kind::Bare) && operand::starts_as_number(&value.text);
            let is_test = match relation {
                syntax::Relation::Compares(Op::Equal | Op::NotEqual) => true,
                syntax::Relation::Compares(_) => is_number,
                syntax::Relation::Contains => false,
            };
            if is_test || atom.is_quoted_name || is_known(name) {
                let ids = columns.iter().map(|column| column.id);
                let what = unknown_column(name, &text[atom.at.clone()], ids);
                return Err(FilterError {
                    at: atom.at.clone(),
                    what,
                    misfit: Misfit::Lacks(name.to_string()),
                });
            }
            return Ok(Test::Row(Pattern::Contains(text[atom.at.clone()].to_lowercase())));
        };
        let of = &columns[column];
        let wrong = |what: String| Err(FilterError::wrong(atom.at.clone(), what));
        let other_kind =
            |what: String| Err(FilterError { at: atom.at.clone(), what, misfit: Misfit::OtherKind });
        if value.text.is_empty() {
            return wrong(format!("A value is missing after {name}."));
        }
        let op = match relation {
            syntax::Relation::Contains => return Ok(Test::Column(column, pattern(value, &atom.at)?)),
            syntax::Relation::Compares(op) => op,
        };
        if of.kind == Kind::Number {
            return match Operand::parse(&value.text, of.unit) {
                Ok(operand) => Ok(Test::Compare { column, op, operand }),
                Err(why) if why.is_of_other_kind() => other_kind(why.sentence(name, op.text())),
                Err(why) => wrong(why.sentence(name, op.text())),
            };
        }
        let text = value.text.to_lowercase();
        match op {
            _ if value.kind == syntax::Kind::Regex => {
                wrong(format!("A regular expression goes after a colon: {name}:/{}/.", value.text))
            }
            Op::Equal | Op::NotEqual if of.kind == Kind::Text || truth(&text).is_some() => {
                Ok(Test::Is { column, text, is_negated: op == Op::NotEqual })
            }
            _ if of.kind == Kind::Bool => {
                other_kind(format!("{name} is yes or no: use {name}=yes or {name}=no."))
            }
            _ => other_kind(format!("{name} is text: use {name}:{0} or {name}={0}.", value.text)),
        }
    }
}

fn pattern(value: &syntax::Value<'_>, at: &Range<usize>) -> Result<Pattern, FilterError> {
    if value.kind != syntax::Kind::Regex {
        return Ok(Pattern::Contains(value.text.to_lowercase()));
    }
    let error = |what: String| FilterError::wrong(at.clone(), what);
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

/// Place of the column of that id, or else of that label, or else of that heading in CSV, in either case of letters.
pub fn find(name: &str, columns: &[ColumnInfo<'_>]) -> Option<usize> {
    let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
    let by_id = columns.iter().position(|column| same(column.id, name));
    let by_label = || columns.iter().position(|column| same(column.label, name));
    let by_heading = || columns.iter().position(|column| same(&column.csv_heading(), name));
    by_id.or_else(by_label).or_else(by_heading)
}

/// Message about a name that none of the columns has, in the test `written`; `ids` are theirs.
pub fn unknown_column<'a>(name: &str, written: &str, ids: impl Iterator<Item = &'a str>) -> String {
    let ids = ids.collect::<Vec<&str>>().join(", ");
    let mut what = format!("There is no column “{name}” here. Columns: {ids}.");
    if !written.contains('"') {
        what.push_str(&format!(" To search for the text itself, write \"{written}\"."));
    }
    what
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [ColumnInfo<'_>; 7] = [
        ColumnInfo { id: "name", label: "name", unit: Unit::None, kind: Kind::Text },
        ColumnInfo { id: "phase", label: "phase", unit: Unit::None, kind: Kind::Text },
        ColumnInfo { id: "self", label: "self time", unit: Unit::Ns, kind: Kind::Number },
        ColumnInfo { id: "calls", label: "calls", unit: Unit::Count, kind: Kind::Number },
        ColumnInfo { id: "self_share", label: "share", unit: Unit::Ratio, kind: Kind::Number },
        ColumnInfo { id: "size", label: "size", unit: Unit::Bytes, kind: Kind::Number },
        ColumnInfo { id: "hit", label: "cache hit", unit: Unit::None, kind: Kind::Bool },
    ];

    type Cells = [CellRef<'static>; 7];

    fn rows() -> [Cells; 4] {
        use CellRef::{Bool, Float, Missing, Text, Whole};
        [
            [
                Text("aten::mm"),
                Text("decode"),
                Whole(2_000_000),
                Whole(10),
                Float(0.5),
                Whole(4096),
                Bool(true),
            ],
            [
                Text("aten::add_"),
                Text("prefill"),
                Whole(500_000),
                Whole(9),
                Float(0.1),
                Whole(4095),
                Bool(false),
            ],
            [
                Text("Kernel<float> one|two"),
                Text("decode step"),
                Whole(1_500_000),
                Missing,
                Float(0.02),
                Missing,
                Bool(true),
            ],
            [Text("-start /usr/lib"), Missing, Whole(0), Whole(12_000), Missing, Whole(1 << 30), Missing],
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
        // As CSV has them.
        assert_eq!(matching("self_ns>1ms size_bytes>=4KiB self_share_ratio>=10%"), [0]);
    }

    /// Tables show yes and no, CSV and JSON true and false.
    #[test]
    fn yes_and_no_go_by_either_name() {
        for (filter, rows) in [
            ("hit=yes", &[0, 2][..]),
            ("hit=TRUE", &[0, 2]),
            ("hit=no", &[1]),
            ("hit=false", &[1]),
            ("hit!=true", &[1]),
            ("-hit=false", &[0, 2, 3]),
            ("hit:true", &[0, 2]),
            ("hit:/^no$/", &[1]),
        ] {
            assert_eq!(matching(filter), rows, "{filter}");
        }
        for filter in ["hit=maybe", "hit=1", "hit>0"] {
            let error = Filter::parse(filter, &COLUMNS).expect_err(filter);
            assert_eq!(error.what, "hit is yes or no: use hit=yes or hit=no.");
        }
    }

    #[test]
    fn units_belong_to_their_numbers() {
        for (filter, at, wanted) in [
            ("calls>=1 k", "calls>=1 k", "calls>=1k"),
            ("mm self>10 us add", "self>10 us", "self>10us"),
            ("share > 10\t%", "share > 10\t%", "share>10%"),
            ("mm|size<4 MiB|add", "size<4 MiB", "size<4MiB"),
        ] {
            let error = Filter::parse(filter, &COLUMNS).expect_err(filter);
            assert_eq!(error.what, format!("Write the unit without a blank before it: {wanted}."));
            assert_eq!(&filter[error.at], at);
        }
        // These words are no units of the column, or are not meant as one.
        for filter in
            ["calls>=1 \"k\"", "calls>=1 -k", "calls>=1k k", "calls>=1 kernel", "calls>=1 5", "phase=1 k"]
        {
            assert!(Filter::parse(filter, &COLUMNS).is_ok(), "{filter}");
        }
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
        assert_eq!(
            error("fase=decode").1,
            "There is no column “fase” here. Columns: name, phase, self, calls, self_share, size, hit. To search \
             for the text itself, write \"fase=decode\"."
        );
        assert_eq!(error("mm fase!=decode").0, "fase!=decode");
        assert!(error("\"se lf\"=1us").1.ends_with("size, hit."));
        assert_eq!(error("phase>decode").1, "phase is text: use phase:decode or phase=decode.");
        assert_eq!(error("calls>ten").1, "“ten” is not a number.");
        assert_eq!(
            error("self>0,3ms").1,
            "0,3 has a comma that doesn't group three digits: write decimals with a point, 0.3."
        );
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
