//! The grammar: text to terms and atoms, without knowing columns.

use super::{FilterError, Op};
use std::borrow::Cow;
use std::ops::Range;
use winnow::combinator::{alt, opt};
use winnow::error::{ErrMode, ParserError};
use winnow::stream::{Location, Stream};
use winnow::token::{take_till, take_while};
use winnow::{LocatingSlice, ModalResult, Parser};

pub(super) struct Term<'a> {
    pub is_negated: bool,
    pub any: Vec<Atom<'a>>,
}

/// One thing to look for.
pub(super) struct Atom<'a> {
    /// Where it stands.
    pub at: Range<usize>,
    /// The name before a sign, if there is one, and how the value follows from it.
    pub test: Option<(Cow<'a, str>, Relation)>,
    /// That name stands in quotes, so it is meant as one.
    pub is_quoted_name: bool,
    pub value: Value<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    Contains,
    Compares(Op),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Value<'a> {
    pub kind: Kind,
    pub text: Cow<'a, str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Bare,
    Phrase,
    Regex,
}

/// Never seen: a filter that has one of these would have been read as a word.
const NO_FILTER: &str = "Cannot parse this filter.";

type Input<'a> = LocatingSlice<&'a str>;
type Parsed<T> = ModalResult<T, Wrong>;

/// What is wrong, from which byte on.
#[derive(Debug)]
pub(super) struct Wrong {
    from: usize,
    what: &'static str,
}

impl<'a> ParserError<Input<'a>> for Wrong {
    type Inner = Self;

    fn from_input(input: &Input<'a>) -> Self {
        Wrong { from: input.current_token_start(), what: NO_FILTER }
    }

    fn into_inner(self) -> Result<Self::Inner, Self> {
        Ok(self)
    }
}

fn is_blank(letter: char) -> bool {
    letter.is_whitespace()
}

fn blanks<'a>(input: &mut Input<'a>) -> Parsed<&'a str> {
    take_while(0.., is_blank).parse_next(input)
}

/// Text between two of `mark`; a backslash before one makes it part of the text. Backtracks where the text does not start with
/// one, and is wrong for good where the second is missing.
fn between<'a>(mark: char, missing: &'static str, input: &mut Input<'a>) -> Parsed<Cow<'a, str>> {
    let from = input.current_token_start();
    let Some(inner) = input.peek_finish().strip_prefix(mark) else {
        return Err(ErrMode::Backtrack(Wrong { from, what: missing }));
    };
    let mut is_escaped = false;
    let is_end = |(_, letter): &(usize, char)| {
        let is_end = *letter == mark && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        is_end
    };
    let Some((end, _)) = inner.char_indices().find(is_end) else {
        return Err(ErrMode::Cut(Wrong { from, what: missing }));
    };
    let text = &inner[..end];
    input.next_slice(end + 2 * mark.len_utf8());
    if !text.contains('\\') {
        return Ok(text.into());
    }
    // In a regular expression a backslash has its own meaning, but for one before the mark.
    let is_special = |letter: char| letter == mark || (mark == '"' && letter == '\\');
    let mut unescaped = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letters.next_if(|next| letter == '\\' && is_special(*next)) {
            Some(next) => unescaped.push(next),
            None => unescaped.push(letter),
        }
    }
    Ok(unescaped.into())
}

fn phrase<'a>(input: &mut Input<'a>) -> Parsed<Value<'a>> {
    let text = between('"', "The closing quote is missing.", input)?;
    Ok(Value { kind: Kind::Phrase, text })
}

/// Paths such as `/usr/lib` are words: a regular expression ends with a slash before a blank, a bar or the end.
fn regex<'a>(input: &mut Input<'a>) -> Parsed<Value<'a>> {
    let (start, from) = (input.checkpoint(), input.current_token_start());
    if let Ok(text) = between('/', "", input)
        && !text.is_empty()
        && input.peek_token().is_none_or(|next| is_blank(next) || next == '|')
    {
        return Ok(Value { kind: Kind::Regex, text });
    }
    input.reset(&start);
    Err(ErrMode::Backtrack(Wrong { from, what: "" }))
}

fn bare<'a>(input: &mut Input<'a>) -> Parsed<Value<'a>> {
    take_till(1.., |letter| is_blank(letter) || letter == '|')
        .map(|text: &str| Value { kind: Kind::Bare, text: text.into() })
        .parse_next(input)
}

fn value<'a>(input: &mut Input<'a>) -> Parsed<Value<'a>> {
    alt((phrase, regex, bare)).parse_next(input)
}

fn comparison(input: &mut Input<'_>) -> Parsed<Op> {
    alt((
        ">=".value(Op::GreaterOrEqual),
        "<=".value(Op::LessOrEqual),
        "!=".value(Op::NotEqual),
        ">".value(Op::Greater),
        "<".value(Op::Less),
        "=".value(Op::Equal),
    ))
    .parse_next(input)
}

/// A sign behind the name of a column, and its value; empty where there is none. Blanks may stand around signs that compare.
fn relation<'a>(input: &mut Input<'a>) -> Parsed<(Relation, Value<'a>)> {
    let sign = alt((
        (blanks, comparison, blanks).map(|(_, op, _)| Relation::Compares(op)),
        ":".value(Relation::Contains),
    ));
    let none = || Value { kind: Kind::Bare, text: "".into() };
    (sign, opt(value).map(|value| value.unwrap_or_else(none))).parse_next(input)
}

/// A name before a sign, bare.
fn name<'a>(input: &mut Input<'a>) -> Parsed<&'a str> {
    let is_end = |letter| is_blank(letter) || matches!(letter, '|' | '"' | ':' | '<' | '>' | '=' | '!');
    take_till(1.., is_end).parse_next(input)
}

fn atom<'a>(input: &mut Input<'a>) -> Parsed<Atom<'a>> {
    let quoted = (phrase, opt(relation)).map(|(head, tail)| match tail {
        Some((relation, value)) => (Some((head.text, relation)), true, value),
        None => (None, true, head),
    });
    let test = (name, relation)
        .map(|(name, (relation, value))| (Some((Cow::Borrowed(name), relation)), false, value));
    let alone = |value| (None, false, value);
    // A regular expression before a test, as it may contain the signs of one.
    let ((test, is_quoted_name, value), at) =
        alt((quoted, regex.map(alone), test, bare.map(alone))).with_span().parse_next(input)?;
    Ok(Atom { at, test, is_quoted_name, value })
}

/// Reads a whole filter.
pub(super) fn terms(text: &str) -> Result<Vec<Term<'_>>, FilterError> {
    read(&mut LocatingSlice::new(text)).map_err(|error| match error {
        ErrMode::Backtrack(wrong) | ErrMode::Cut(wrong) => {
            FilterError::wrong(wrong.from..text.len(), wrong.what.to_string())
        }
        ErrMode::Incomplete(_) => FilterError::wrong(0..text.len(), NO_FILTER.to_string()),
    })
}

fn read<'a>(input: &mut Input<'a>) -> Parsed<Vec<Term<'a>>> {
    let mut terms = Vec::new();
    loop {
        blanks(input)?;
        if input.eof_offset() == 0 {
            return Ok(terms);
        }
        // A dash alone is a word.
        let behind = input.peek_finish().strip_prefix('-').and_then(|rest| rest.chars().next());
        let is_negated = behind.is_some_and(|next| !is_blank(next));
        if is_negated {
            input.next_slice(1);
        }
        let mut any = Vec::new();
        loop {
            let from = input.current_token_start();
            let one = opt(atom).parse_next(input)?;
            any.push(one.ok_or(ErrMode::Cut(Wrong { from, what: "A word is missing next to |." }))?);
            if opt('|').parse_next(input)?.is_none() {
                break;
            }
        }
        terms.push(Term { is_negated, any });
    }
}
