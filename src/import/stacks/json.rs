//! Reader of profiles in JSON: the document as a whole, then its tables.

use super::issues::*;
use super::note;
use super::text::{Decoder, decoded, note_encoding};
use crate::base::json::tape::{Ending, Item, Tape};
use crate::base::json::{Dialect, JsonError, Parser, unescape_to_string};
use crate::base::strings::StringId;
use crate::import::{ImportError, Reader};
use crate::trace::stack_profiles::Amount;
use crate::trace::{Position, TraceBuilder};

/// Makes profiles of a document.
pub type Build = fn(Document<'_>, &mut TraceBuilder) -> Result<(), ImportError>;

/// A document that was read.
pub struct Document<'a> {
    pub root: Item<'a>,
    pub texts: Texts,
}

/// Ids of the document's texts in the trace, as far as they are used.
pub struct Texts {
    known: Vec<StringId>,
}

impl Texts {
    pub fn new(tape: &Tape) -> Texts {
        Texts { known: vec![StringId::NONE; tape.n_texts()] }
    }

    /// Id of a text; [`StringId::NONE`] of anything else.
    pub fn id(&mut self, item: Option<Item<'_>>, out: &mut TraceBuilder) -> StringId {
        let Some((text, number)) = item.and_then(Item::text_and_number) else { return StringId::NONE };
        let known = &mut self.known[number];
        if known.is_none() {
            *known = out.trace.strings.intern(text);
        }
        *known
    }
}

/// Exact number; `None` of anything else.
pub fn amount(item: Item<'_>) -> Option<Amount> {
    match item.number()? {
        Ok((digits, exponent)) => Amount::with_exponent(i128::from(digits), exponent),
        Err(literal) => Amount::parse(literal.as_bytes()),
    }
}

/// Index that an item may be, of a table; `None` if it is none.
pub fn index(item: Item<'_>) -> Option<usize> {
    usize::try_from(item.whole()?).ok()
}

pub struct JsonReader {
    decoder: Decoder,
    tape: Tape,
    build: Build,
}

impl JsonReader {
    pub fn new(build: Build) -> JsonReader {
        JsonReader { decoder: Decoder::default(), tape: Tape::default(), build }
    }
}

impl Reader for JsonReader {
    fn feed(&mut self, bytes: &[u8], _out: &mut TraceBuilder) -> Result<(), ImportError> {
        let JsonReader { decoder, tape, .. } = self;
        decoder.feed(bytes, &mut |piece| tape.feed(piece));
        Ok(())
    }

    fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        let JsonReader { decoder, tape, build, .. } = self;
        out.trace.ledger.record_noun = "samples".into();
        let n_left = decoder.finish(&mut |piece| tape.feed(piece));
        out.trace.ledger.leave_out(n_left);
        note_encoding(decoder, out);
        let place = |byte: u64| Position { byte: byte + decoder.n_mark, line: None };
        let ending = tape.finish();
        let content_bytes = out.trace.ledger.content_bytes;
        let ledger = &mut out.trace.ledger;
        // Numbers at the end that are dropped, and what is not read; in UTF-16 their sizes are not exact.
        let n_skipped = match ending {
            Ending::Whole => 0,
            Ending::Cut { n_dropped } => {
                ledger.file(&TRUNCATED, place(content_bytes.saturating_sub(decoder.n_mark)), b"");
                n_dropped
            }
            Ending::Broken { at } => {
                ledger.file(&BROKEN, place(at), b"");
                content_bytes.saturating_sub(at + decoder.n_mark)
            }
            Ending::Full { at } => {
                ledger.file(&TOO_LARGE, place(at), b"");
                content_bytes.saturating_sub(at + decoder.n_mark)
            }
        };
        if let Some(at) = tape.trailing {
            ledger.file(&TRAILING_DATA, place(at), b"");
            ledger.frame(at.saturating_sub(tape.end));
            let n_unused = content_bytes
                .saturating_sub(ledger.accounted_bytes())
                .min(content_bytes.saturating_sub(at + decoder.n_mark));
            ledger.leave_out(n_unused);
        }
        let n_skipped = n_skipped.min(content_bytes.saturating_sub(ledger.accounted_bytes()));
        ledger.skip_records(0, n_skipped);
        if tape.has_bad_utf8 {
            ledger.file(&BAD_UTF8, Position::NOWHERE, b"");
        }
        let document = Document { root: tape.root(), texts: Texts::new(tape) };
        build(document, out)?;
        let n_samples: usize = out.trace.stack_profiles.iter().map(|profile| profile.len()).sum();
        let ledger = &mut out.trace.ledger;
        let n_bytes = content_bytes.saturating_sub(ledger.accounted_bytes());
        ledger.keep_records(n_samples as u64, n_bytes);
        Ok(())
    }
}

/// Counts a sample that could not be used.
pub fn skip_sample(out: &mut TraceBuilder, example: &str) {
    out.trace.ledger.skip_records(1, 0);
    note(out, &BAD_VALUE, example);
}

/// What the start of a JSON document shows of its shape.
#[derive(Default, Debug)]
pub struct Shape {
    /// Keys of the outermost object, as far as they are seen.
    keys: Vec<String>,
    /// Keys of the objects in these.
    inner: Vec<(String, String)>,
    /// The start, to look for words in.
    text: Vec<u8>,
}

impl Shape {
    /// `None` unless the content is an object.
    pub fn of(head: &[u8]) -> Option<Shape> {
        let text = decoded(head);
        let mut shape = Shape { text: text.to_vec(), ..Shape::default() };
        let mut parser = Parser::new(&text, Dialect::Lenient);
        if parser.peek() != Some(b'{') {
            return None;
        }
        parser.eat(b'{');
        let mut is_first = true;
        while let Ok(Some(key)) = parser.next_key(&mut is_first) {
            let key = unescape_to_string(key);
            let start = parser.position();
            shape.look_into(&text, start, &key);
            shape.keys.push(key);
            if parser.skip_value().is_err() {
                break;
            }
        }
        Some(shape)
    }

    fn look_into(&mut self, text: &[u8], at: usize, key: &str) {
        let mut parser = Parser::at(text, at, Dialect::Lenient);
        if parser.peek() != Some(b'{') {
            return;
        }
        parser.eat(b'{');
        let mut is_first = true;
        while let Ok(Some(inner)) = parser.next_key(&mut is_first) {
            self.inner.push((key.to_string(), unescape_to_string(inner)));
            if self.inner.len() > 1000 || parser.skip_value() == Err(JsonError::Cut) {
                break;
            }
        }
    }

    pub fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|known| known == key)
    }

    pub fn has_in(&self, key: &str, inner: &str) -> bool {
        self.inner.iter().any(|(outer, known)| outer == key && known == inner)
    }

    /// Whether the start contains a word anywhere.
    pub fn mentions(&self, word: &str) -> bool {
        memchr::memmem::find(&self.text, word.as_bytes()).is_some()
    }
}
