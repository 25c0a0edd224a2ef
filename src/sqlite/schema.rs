//! Tables and their columns, from the `CREATE TABLE` statements that a database keeps.

use super::PageNumber;

/// Where the value of a column is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Column {
    /// In the record, at this index.
    Stored(usize),
    /// The same; rows that are older than the column have this value.
    Defaulted(usize, i64),
    /// It is the id of the row (`INTEGER PRIMARY KEY`).
    RowId,
}

/// A table with rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    pub name: String,
    /// Root page of its B-tree.
    pub root: PageNumber,
    /// Names of columns, and where they are.
    pub columns: Vec<(String, Column)>,
}

impl Table {
    /// The column of a name, whatever its case.
    pub fn column(&self, name: &str) -> Option<Column> {
        self.columns.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, column)| *column)
    }
}

/// Words that begin a constraint of a column, after its type.
const CONSTRAINTS: &[&str] = &[
    "CONSTRAINT",
    "PRIMARY",
    "NOT",
    "NULL",
    "UNIQUE",
    "CHECK",
    "DEFAULT",
    "COLLATE",
    "REFERENCES",
    "GENERATED",
    "AS",
    "ON",
];
/// Words that begin a constraint of a table.
const TABLE_CONSTRAINTS: &[&str] = &["PRIMARY", "UNIQUE", "FOREIGN", "CHECK", "CONSTRAINT"];

/// Columns of a `CREATE TABLE` statement; `None` if it is another statement, or a table without row ids.
pub fn columns(sql: &str) -> Option<Vec<(String, Column)>> {
    let mut tokens = Tokens { rest: sql };
    let mut head = Vec::new();
    loop {
        match tokens.next()? {
            Token::Open => break,
            Token::Word(word) => head.push(word),
            _ => {}
        }
    }
    let is = |word: &str, wanted: &str| word.eq_ignore_ascii_case(wanted);
    if !head.iter().any(|word| is(word, "TABLE")) || head.iter().any(|word| is(word, "VIRTUAL")) {
        return None;
    }
    let mut entries: Vec<Vec<Token>> = vec![Vec::new()];
    let mut depth = 0u32;
    // The statement may be cut.
    for token in tokens.by_ref() {
        match token {
            Token::Close if depth == 0 => break,
            Token::Comma if depth == 0 => {
                entries.push(Vec::new());
                continue;
            }
            Token::Open => depth += 1,
            Token::Close => depth -= 1,
            _ => {}
        }
        if let Some(entry) = entries.last_mut() {
            entry.push(token);
        }
    }
    let tail: Vec<Token> = tokens.collect();
    let is_word = |token: &Token, wanted: &str| matches!(token, Token::Word(word) if is(word, wanted));
    if tail.windows(2).any(|pair| is_word(&pair[0], "WITHOUT") && is_word(&pair[1], "ROWID")) {
        return None;
    }
    let mut columns: Vec<(String, Column)> = Vec::new();
    let mut integers = Vec::new();
    let mut key = None;
    let mut n_stored = 0;
    for entry in &entries {
        let (Some(first), rest) = (entry.first(), entry.get(1..).unwrap_or_default()) else { continue };
        if TABLE_CONSTRAINTS.iter().any(|word| is_word(first, word)) {
            key = key.or_else(|| table_key(entry));
            continue;
        }
        let (Token::Word(name) | Token::Quoted(name)) = first else { continue };
        let type_end = rest.iter().position(|token| CONSTRAINTS.iter().any(|word| is_word(token, word)));
        let (kind, constraints) = rest.split_at(type_end.unwrap_or(rest.len()));
        let is_integer = matches!(kind, [kind] if is_word(kind, "INTEGER"));
        let primary =
            constraints.windows(2).position(|pair| is_word(&pair[0], "PRIMARY") && is_word(&pair[1], "KEY"));
        // A quirk of SQLite: with DESC, the column is not the id of the row.
        let is_row_id = is_integer
            && primary.is_some_and(|at| !constraints.get(at + 2).is_some_and(|next| is_word(next, "DESC")));
        let is_virtual = constraints.iter().any(|token| is_word(token, "AS"))
            && !constraints.iter().any(|token| is_word(token, "STORED"));
        if is_virtual {
            continue;
        }
        if is_integer {
            integers.push(columns.len());
        }
        let column = match default_of(kind, constraints) {
            _ if is_row_id => Column::RowId,
            Some(default) => Column::Defaulted(n_stored, default),
            None => Column::Stored(n_stored),
        };
        columns.push((name.clone(), column));
        n_stored += 1;
    }
    if let Some(key) = key {
        for at in integers {
            if columns[at].0.eq_ignore_ascii_case(&key) {
                columns[at].1 = Column::RowId;
            }
        }
    }
    Some(columns)
}

/// The integer of `DEFAULT integer`, in a column whose type keeps integers.
fn default_of(kind: &[Token], constraints: &[Token]) -> Option<i64> {
    let has = |parts: &[&str]| {
        kind.iter().any(|token| {
            let Token::Word(word) = token else { return false };
            parts.iter().any(|part| word.to_ascii_uppercase().contains(part))
        })
    };
    // The type decides in this order: https://sqlite.org/datatype3.html#determination_of_column_affinity
    if !has(&["INT"]) && has(&["CHAR", "CLOB", "TEXT", "REAL", "FLOA", "DOUB"]) {
        return None;
    }
    let is_default =
        |token: &Token| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("DEFAULT"));
    let at = constraints.iter().position(is_default)?;
    let (sign, rest) = match constraints.get(at + 1..)? {
        [Token::Other('-'), rest @ ..] => (-1, rest),
        [Token::Other('+') | Token::Open, rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    match rest {
        // A fraction follows, or an expression.
        [Token::Word(_), Token::Other(_), ..] => None,
        [Token::Word(digits), ..] => digits.parse::<i64>().ok().map(|value| sign * value),
        _ => None,
    }
}

/// The only column of `PRIMARY KEY (column)`.
fn table_key(entry: &[Token]) -> Option<String> {
    let at = entry
        .iter()
        .position(|token| matches!(token, Token::Word(word) if word.eq_ignore_ascii_case("PRIMARY")))?;
    match entry.get(at + 2..)? {
        [Token::Open, Token::Word(name) | Token::Quoted(name), rest @ ..] => {
            let is_only =
                !rest.iter().take_while(|token| **token != Token::Close).any(|token| *token == Token::Comma);
            is_only.then(|| name.clone())
        }
        _ => None,
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Token {
    Word(String),
    Quoted(String),
    Open,
    Close,
    Comma,
    Other(char),
}

/// Tokens of SQL, without comments.
struct Tokens<'a> {
    rest: &'a str,
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        loop {
            self.rest = self.rest.trim_start();
            if let Some(comment) = self.rest.strip_prefix("--") {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else {
                break;
            }
        }
        let first = self.rest.chars().next()?;
        let after = &self.rest[first.len_utf8()..];
        let token = match first {
            '(' => Token::Open,
            ')' => Token::Close,
            ',' => Token::Comma,
            '"' | '\'' | '`' | '[' => {
                let end = if first == '[' { ']' } else { first };
                let mut text = String::new();
                let mut chars = after.char_indices().peekable();
                let mut n_bytes = after.len();
                while let Some((at, char)) = chars.next() {
                    if char != end {
                        text.push(char);
                    } else if end != ']' && chars.peek().is_some_and(|(_, next)| *next == end) {
                        // A doubled quote stands for one.
                        chars.next();
                        text.push(char);
                    } else {
                        n_bytes = at + char.len_utf8();
                        break;
                    }
                }
                self.rest = &after[n_bytes..];
                return Some(Token::Quoted(text));
            }
            _ if is_word(first) => {
                let end = self.rest.find(|char| !is_word(char)).unwrap_or(self.rest.len());
                let word = self.rest[..end].to_string();
                self.rest = &self.rest[end..];
                return Some(Token::Word(word));
            }
            _ => Token::Other(first),
        };
        self.rest = after;
        Some(token)
    }
}

fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == '_' || char == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(sql: &str) -> String {
        columns(sql).map_or("none".to_string(), |columns| {
            let shown = columns.iter().map(|(name, column)| match column {
                Column::Stored(at) => format!("{name}:{at}"),
                Column::Defaulted(at, default) => format!("{name}:{at}={default}"),
                Column::RowId => format!("{name}:id"),
            });
            shown.collect::<Vec<_>>().join(" ")
        })
    }

    #[test]
    fn columns_are_found_in_every_notation() {
        assert_eq!(
            names(
                "CREATE TABLE T ( -- a table (of things), see\n id INTEGER NOT NULL PRIMARY KEY, -- its id, unique\n \
                 /* , x */ \"end\" INTEGER, [a b] VARCHAR(10, 2), `q``q` TEXT DEFAULT 'a,b)', CHECK (a > 1), \
                 UNIQUE (\"end\", id), last)"
            ),
            "id:id end:1 a b:2 q`q:3 last:4"
        );
        assert_eq!(
            names("create table \"a(b\" (x integer, y INT PRIMARY KEY, PRIMARY KEY (\"x\"))"),
            "x:id y:1"
        );
        assert_eq!(
            names("CREATE TABLE t(x INTEGER PRIMARY KEY DESC, y AS (x + 1), z AS (x) STORED)"),
            "x:0 z:1"
        );
        assert_eq!(names("CREATE TABLE t(x INTEGER, y INTEGER, PRIMARY KEY (x, y))"), "x:0 y:1");
        assert_eq!(
            names("CREATE TABLE t(id integer NOT NULL PRIMARY KEY AUTOINCREMENT, s varchar(9))"),
            "id:id s:1"
        );
    }

    #[test]
    fn integers_are_defaults() {
        assert_eq!(
            names(
                "CREATE TABLE t(a INTEGER DEFAULT 5, b DEFAULT -6 NOT NULL, c INT DEFAULT (7), d TEXT DEFAULT 8, \
                 e REAL DEFAULT 9, f DEFAULT 1.5, g DEFAULT NULL, h DEFAULT 'x', i DEFAULT (1 + 2))"
            ),
            "a:0=5 b:1=-6 c:2=7 d:3 e:4 f:5 g:6 h:7 i:8"
        );
    }

    #[test]
    fn other_statements_have_no_columns() {
        for sql in [
            "CREATE VIRTUAL TABLE t USING fts5(x)",
            "CREATE TABLE t(x PRIMARY KEY) WITHOUT ROWID",
            "CREATE VIEW v AS SELECT (1)",
            "CREATE TABLE t",
            "",
        ] {
            assert_eq!(names(sql), "none", "{sql}");
        }
        // A statement that is cut.
        assert_eq!(names("CREATE TABLE t(x, y 'z"), "x:0 y:1");
    }
}
