//! Notes as JSON, for links, Tracedrop files and the command line.
//!
//! ```text
//! { "title": "Slow since Tuesday", "notes": [
//!   { "text": "why twice?", "on": "row", "report": "slices", "table": "slices", "key": [["name", "aten::mm"]] },
//!   { "text": …, "on": "event", "name": "aten::mm", "at_ns": 1200 },
//!   { "text": …, "on": "range", "from_ns": 0, "to_ns": 5000 },
//!   { "text": …, "on": "whole" } ] }
//! ```
//! Readers ignore unknown members; a note with an unknown anchor applies to the whole trace.

use crate::base::json::typed::{self, Lenient, Raw, Unreadable};
use crate::base::text;
use crate::report::Report;
use crate::report::notes::{Anchor, MAX_NOTES, MAX_TEXT_CHARS, Notes, Remark, TableWords, words_in};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// Notes without content.
pub(super) static NONE: Notes = Notes { title: String::new(), list: Vec::new() };

/// A separate document, or any other with these members.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Document<'a> {
    #[serde(borrow)]
    title: Raw<'a>,
    #[serde(borrow)]
    notes: Raw<'a>,
    #[serde(borrow)]
    reports: Raw<'a>,
}

/// A separate document, to be written.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<Note>,
}

/// A note. What an anchor does not need is `None`, and so is what has another type.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct Note {
    #[serde(skip_serializing_if = "Lenient::is_default")]
    text: Lenient<Option<String>>,
    #[serde(skip_serializing_if = "Lenient::is_default")]
    on: Lenient<Option<String>>,
    #[serde(skip_serializing_if = "Lenient::is_default")]
    from_ns: Lenient<Option<i64>>,
    #[serde(skip_serializing_if = "Lenient::is_default")]
    to_ns: Lenient<Option<i64>>,
    #[serde(skip_serializing_if = "Lenient::is_default")]
    name: Lenient<Option<String>>,
    #[serde(skip_serializing_if = "Lenient::is_default")]
    at_ns: Lenient<Option<i64>>,
    #[serde(skip_serializing_if = "Lenient::is_default")]
    report: Lenient<Option<String>>,
    #[serde(skip_serializing_if = "Lenient::is_default")]
    table: Lenient<Option<String>>,
    /// Entries of another type are skipped.
    #[serde(skip_serializing_if = "Lenient::is_default")]
    key: Lenient<Option<Vec<KeyEntry>>>,
}

/// Column and text; `None` for an entry of another type.
type KeyEntry = Lenient<Option<(String, String)>>;

impl Note {
    fn of(note: &Remark) -> Note {
        let text = |text: &String| Lenient(Some(text.clone()).filter(|text| !text.is_empty()));
        let on = |on: &str| Lenient(Some(on.to_string()));
        let written = Note { text: text(&note.text), ..Note::default() };
        match &note.on {
            Anchor::Whole => Note { on: on("whole"), ..written },
            Anchor::Range { from_ns, to_ns } => Note {
                on: on("range"),
                from_ns: Lenient(Some(*from_ns)),
                to_ns: Lenient(Some(*to_ns)),
                ..written
            },
            Anchor::Event { name, at_ns } => {
                Note { on: on("event"), name: text(name), at_ns: Lenient(Some(*at_ns)), ..written }
            }
            Anchor::Row { report, table, key } => {
                let cells = key.iter().map(|cell| Lenient(Some(cell.clone()))).collect();
                let (report, table) = (text(report), text(table));
                Note { on: on("row"), report, table, key: Lenient(Some(cells)), ..written }
            }
        }
    }

    fn remark(self) -> Remark {
        let text = |text: Lenient<Option<String>>| text.0.unwrap_or_default();
        let number = |number: Lenient<Option<i64>>| number.0.unwrap_or(0);
        let on = match text(self.on).as_str() {
            "row" => Anchor::Row {
                report: text(self.report),
                table: text(self.table),
                key: self.key.0.unwrap_or_default().into_iter().filter_map(|cell| cell.0).collect(),
            },
            "range" => Anchor::Range { from_ns: number(self.from_ns), to_ns: number(self.to_ns) },
            "event" => Anchor::Event { name: text(self.name), at_ns: number(self.at_ns) },
            _ => Anchor::Whole,
        };
        Remark { on, text: text(self.text) }
    }

    /// Checks a note of a person; the error completes a sentence about it.
    fn check(&self) -> Result<(), String> {
        let text = self.text.0.as_deref().ok_or("has no 'text'")?;
        let n_chars = text.chars().count();
        if n_chars > MAX_TEXT_CHARS {
            return Err(format!("has {n_chars} characters; the limit is {MAX_TEXT_CHARS}"));
        }
        let on = self.on.0.as_deref().unwrap_or("whole");
        let text = |key, value: &Lenient<Option<String>>| (key, "as a string", value.0.is_some());
        let number = |key, value: &Lenient<Option<i64>>| (key, "as an integer", value.0.is_some());
        let needs = match on {
            "row" => vec![
                text("report", &self.report),
                text("table", &self.table),
                ("key", "as a list", self.key.0.is_some()),
            ],
            "range" => vec![number("from_ns", &self.from_ns), number("to_ns", &self.to_ns)],
            "event" => vec![text("name", &self.name), number("at_ns", &self.at_ns)],
            _ => Vec::new(),
        };
        match needs.into_iter().find(|(_, _, is_there)| !is_there) {
            Some((key, kind, _)) => Err(format!("is on '{on}', which needs '{key}' {kind}")),
            None => Ok(()),
        }
    }
}

/// Notes as a separate JSON document.
pub fn to_json(notes: &Notes) -> String {
    typed::write(&Written { title: &notes.title, notes: notes.list.iter().map(Note::of).collect() })
}

/// The list of notes alone; `None` without any.
pub(super) fn list_json(notes: &Notes) -> Option<String> {
    let list: Vec<Note> = notes.list.iter().map(Note::of).collect();
    (!list.is_empty()).then(|| typed::write(&list))
}

/// Parses a separate JSON document. The error is a sentence fragment.
pub fn from_json(bytes: &[u8]) -> Result<Notes, String> {
    let document: Document<'_> = typed::read(bytes).map_err(|why| why_unreadable(&why, "title and notes"))?;
    read_members(document.title, document.notes).map_err(str::to_string)
}

fn why_unreadable(why: &Unreadable, members: &str) -> String {
    if why.is_syntax { why.to_string() } else { format!("expected a JSON object with {members}") }
}

/// Parses a notes file for the command, or the notes of a JSON report. Unlike for other files, unknown data is an error,
/// reported with its position as a sentence fragment.
pub fn of_file(bytes: &[u8]) -> Result<Notes, String> {
    let why = |why: Unreadable| why_unreadable(&why, "'title' and 'notes'");
    // Editors on Windows write a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let document: Document<'_> = typed::read(bytes).map_err(why)?;
    // JSON reports have a member with the notes.
    if document.notes.is_object() && !document.reports.is_missing() {
        return of_members(&typed::read(document.notes.literal().as_bytes()).map_err(why)?);
    }
    if document.title.is_missing() && document.notes.is_missing() {
        let Names(names) = typed::read(bytes).map_err(why)?;
        if !names.is_empty() {
            return Err(format!("expected 'title' or 'notes', found {}", names.join(", ")));
        }
    }
    of_members(&document)
}

/// Parses an object that contains only title and notes.
fn of_members(document: &Document<'_>) -> Result<Notes, String> {
    if !document.title.is_missing() && document.title.text().is_none() {
        return Err("'title' must be a string".to_string());
    }
    let list = match document.notes.is_missing() {
        true => Vec::new(),
        false => document.notes.list().ok_or("'notes' must be a list")?,
    };
    if list.len() > MAX_NOTES {
        return Err(format!("{} notes; the limit is {MAX_NOTES}", list.len()));
    }
    for (number, note) in (1..).zip(list) {
        let whole = match typed::read::<Note>(note.literal().as_bytes()) {
            Ok(note) => note.check(),
            Err(_) if !note.is_object() => Err("must be an object".to_string()),
            Err(why) => Err(format!("cannot be read: {}", why.what)),
        };
        whole.map_err(|why| format!("note {number} {why}"))?;
    }
    read_members(document.title, document.notes).map_err(str::to_string)
}

/// Limits on member names in a message, and on characters of each.
const MAX_NAMES: usize = 5;
const MAX_NAME_CHARS: usize = 40;

/// The first names of an object's members, as in a message.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Names;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some((name, _)) = members.next_entry::<String, IgnoredAny>()? {
                    if names.len() < MAX_NAMES {
                        names.push(text::shortened(&text::visible(&name), MAX_NAME_CHARS));
                    }
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Parses title and notes, each a member of an object. The error is a sentence fragment.
pub(super) fn read_members(title: Raw<'_>, notes: Raw<'_>) -> Result<Notes, &'static str> {
    let list = notes.list().unwrap_or_default();
    if list.len() > MAX_NOTES {
        return Err("too many notes");
    }
    // What is no note has no text, so it is dropped.
    let note = |note: Raw<'_>| typed::read::<Note>(note.literal().as_bytes()).unwrap_or_default().remark();
    Ok(Notes { title: title.text().unwrap_or_default(), list: list.into_iter().map(note).collect() }.tidied())
}

/// Describes what notes are on, with titles from these reports.
pub(super) fn words_of<'a>(reports: &'a [Report]) -> impl Fn(&Anchor) -> String + 'a {
    let find = words_in(reports);
    move |anchor| anchor.words(&|report, table| -> Option<TableWords> { find(report, table) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_order_mark_is_skipped() {
        let notes = of_file("\u{feff}{\"title\": \"x\"}".as_bytes()).unwrap();
        assert_eq!(notes.title, "x");
    }

    #[test]
    fn what_is_written_is_read() {
        let key = vec![("name".to_string(), "a\"<b>\n".to_string()), ("n".to_string(), "7".to_string())];
        let on = [
            Anchor::Whole,
            Anchor::Row { report: "r".to_string(), table: "t".to_string(), key },
            Anchor::Range { from_ns: -5, to_ns: i64::MAX },
            Anchor::Event { name: "é".to_string(), at_ns: i64::MIN },
        ];
        let list = on.map(|on| Remark { on, text: "first line\nsecond \u{202e}line".to_string() }).to_vec();
        let notes = Notes { title: "T".to_string(), list };
        assert_eq!(from_json(to_json(&notes).as_bytes()), Ok(notes));
        assert_eq!(from_json(to_json(&NONE).as_bytes()), Ok(Notes::default()));
        let odd = br#"{"notes":[{"text":"x","on":"moon"},{"on":"row"},7,{"text":"y","on":"row","key":[1,["a"],["b","c"]]}]}"#;
        let odd = from_json(odd).unwrap();
        assert_eq!(odd.list.len(), 2);
        assert_eq!(odd.list[0].on, Anchor::Whole);
        for bad in ["", "[]", "7", "{"] {
            assert!(from_json(bad.as_bytes()).is_err(), "{bad}");
        }
        let sound = br#"{"notes":[{"text":"x","on":"moon"},{"text":"y","on":"row","report":"r","table":"t","key":[["b","c"]]}]}"#;
        assert_eq!(of_file(sound), from_json(sound));
        let in_report =
            [br#"{"schema":1,"title":"t.json","notes":"#, &sound[..], br#","reports":[]}"#].concat();
        assert_eq!(of_file(&in_report), from_json(sound));
        assert_eq!(of_file(b"{}"), Ok(Notes::default()));
        for (bad, why) in [
            ("", "not valid JSON: unexpected end of file"),
            ("{\n \"title\" 1}", "not valid JSON: line 2 (byte 11): expected ':'"),
            ("[]", "expected a JSON object with 'title' and 'notes'"),
            ("{\"traceEvents\":[]}", "expected 'title' or 'notes', found traceEvents"),
            ("{\"title\":7}", "'title' must be a string"),
            ("{\"notes\":{}}", "'notes' must be a list"),
            ("{\"notes\":[{\"text\":\"x\"},7]}", "note 2 must be an object"),
            ("{\"notes\":[{\"on\":\"whole\"}]}", "note 1 has no 'text'"),
            (
                "{\"notes\":[{\"text\":\"x\",\"on\":\"range\",\"from_ns\":1.5}]}",
                "note 1 is on 'range', which needs 'from_ns' as an integer",
            ),
            (
                "{\"notes\":[{\"text\":\"x\",\"on\":\"row\",\"report\":\"r\",\"table\":\"t\"}]}",
                "note 1 is on 'row', which needs 'key' as a list",
            ),
        ] {
            assert_eq!(of_file(bad.as_bytes()), Err(why.to_string()));
        }
        let many = format!("{{\"notes\":[{}1]}}", "1,".repeat(MAX_NOTES));
        assert_eq!(from_json(many.as_bytes()), Err("too many notes".to_string()));
    }
}
