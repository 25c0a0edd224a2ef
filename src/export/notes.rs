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

use super::link::json::JsonWriter;
use crate::base::json::{Json, JsonError};
use crate::base::text;
use crate::report::Report;
use crate::report::notes::{Anchor, MAX_NOTES, MAX_TEXT_CHARS, Notes, Remark, TableWords, words_in};

/// Notes without content.
pub(super) static NONE: Notes = Notes { title: String::new(), list: Vec::new() };

/// Notes as a separate JSON document.
pub fn to_json(notes: &Notes) -> String {
    let mut json = JsonWriter::default();
    json.object(|json| write_members(notes, "title", json));
    json.into_text()
}

/// Parses a separate JSON document. The error is a sentence fragment.
pub fn from_json(bytes: &[u8]) -> Result<Notes, String> {
    let json = Json::parse(bytes).ok_or("not valid JSON")?;
    match &json {
        Json::Object(_) => read_members(&json, "title").map_err(str::to_string),
        _ => Err("expected a JSON object with title and notes".to_string()),
    }
}

/// Parses a notes file for the command, or the notes of a JSON report. Unlike for other files, unknown data is an error,
/// reported with its position as a sentence fragment.
pub fn of_file(bytes: &[u8]) -> Result<Notes, String> {
    let json = Json::parse_or_why(bytes).map_err(|error| match error {
        JsonError::Cut => "not valid JSON: unexpected end of file".to_string(),
        JsonError::Syntax { at, expected } => {
            let before = &bytes[..at.min(bytes.len())];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            format!("not valid JSON: line {line} (byte {at}): expected {expected}")
        }
    })?;
    let Json::Object(members) = &json else {
        return Err("expected a JSON object with 'title' and 'notes'".to_string());
    };
    // JSON reports have a member with the notes.
    if let Some(notes @ Json::Object(_)) = json.get("notes").filter(|_| json.get("reports").is_some()) {
        return of_members(notes);
    }
    if !members.is_empty() && json.get("title").is_none() && json.get("notes").is_none() {
        let names = members
            .iter()
            .take(MAX_NAMES)
            .map(|(name, _)| text::shortened(&text::visible(name), MAX_NAME_CHARS));
        return Err(format!("expected 'title' or 'notes', found {}", names.collect::<Vec<_>>().join(", ")));
    }
    of_members(&json)
}

/// Parses an object that contains only title and notes.
fn of_members(json: &Json) -> Result<Notes, String> {
    if json.get("title").is_some_and(|title| title.as_str().is_none()) {
        return Err("'title' must be a string".to_string());
    }
    let list = match json.get("notes") {
        None => &[],
        Some(notes) => notes.as_array().ok_or("'notes' must be a list")?,
    };
    if list.len() > MAX_NOTES {
        return Err(format!("{} notes; the limit is {MAX_NOTES}", list.len()));
    }
    for (number, note) in (1..).zip(list) {
        note_is_whole(note).map_err(|why| format!("note {number} {why}"))?;
    }
    read_members(json, "title").map_err(str::to_string)
}

/// Limits on member names in a message, and on characters of each.
const MAX_NAMES: usize = 5;
const MAX_NAME_CHARS: usize = 40;

/// Checks a note; the error completes a sentence about it.
fn note_is_whole(note: &Json) -> Result<(), String> {
    let is_text = |key: &str| note.get(key).and_then(Json::as_str).is_some();
    let is_number = |key: &str| note.get(key).and_then(Json::as_i64).is_some();
    if !matches!(note, Json::Object(_)) {
        return Err("must be an object".to_string());
    }
    let text = note.get("text").and_then(Json::as_str).ok_or("has no 'text'")?;
    let n_chars = text.chars().count();
    if n_chars > MAX_TEXT_CHARS {
        return Err(format!("has {n_chars} characters; the limit is {MAX_TEXT_CHARS}"));
    }
    let on = note.get("on").and_then(Json::as_str).unwrap_or("whole");
    let (texts, numbers): (&[&str], &[&str]) = match on {
        "row" => (&["report", "table"], &[]),
        "range" => (&[], &["from_ns", "to_ns"]),
        "event" => (&["name"], &["at_ns"]),
        _ => (&[], &[]),
    };
    let missing = texts.iter().find(|key| !is_text(key)).map(|key| (key, "as a string"));
    let missing = missing.or(numbers.iter().find(|key| !is_number(key)).map(|key| (key, "as an integer")));
    if let Some((key, kind)) = missing {
        return Err(format!("is on '{on}', which needs '{key}' {kind}"));
    }
    if on == "row" && note.get("key").and_then(Json::as_array).is_none() {
        return Err("is on 'row', which needs 'key' as a list".to_string());
    }
    Ok(())
}

/// Writes title and notes as members of an object; `title` is the key of the title.
pub(super) fn write_members(notes: &Notes, title: &str, json: &mut JsonWriter) {
    json.member(title, &notes.title);
    if !notes.list.is_empty() {
        json.key("notes");
        json.list(&notes.list, |note, json| json.object(|json| write_note(note, json)));
    }
}

fn write_note(note: &Remark, json: &mut JsonWriter) {
    json.member("text", &note.text);
    match &note.on {
        Anchor::Whole => json.member("on", "whole"),
        Anchor::Range { from_ns, to_ns } => {
            json.member("on", "range");
            json.key("from_ns");
            json.number(from_ns);
            json.key("to_ns");
            json.number(to_ns);
        }
        Anchor::Event { name, at_ns } => {
            json.member("on", "event");
            json.member("name", name);
            json.key("at_ns");
            json.number(at_ns);
        }
        Anchor::Row { report, table, key } => {
            json.member("on", "row");
            json.member("report", report);
            json.member("table", table);
            json.key("key");
            json.list(key, |(id, value), json| {
                json.list([id, value], |text, json| json.text(text));
            });
        }
    }
}

/// Parses notes from the members of an object. The error is a sentence fragment.
pub(super) fn read_members(json: &Json, title: &str) -> Result<Notes, &'static str> {
    let text = |json: &Json, key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default().to_string();
    let number = |json: &Json, key: &str| json.get(key).and_then(Json::as_i64).unwrap_or(0);
    let list = json.get("notes").and_then(Json::as_array).unwrap_or_default();
    if list.len() > MAX_NOTES {
        return Err("too many notes");
    }
    let cell = |cell: &Json| match cell.as_array() {
        Some([Json::String(id), Json::String(value)]) => Some((id.clone(), value.clone())),
        _ => None,
    };
    let note = |note: &Json| {
        let on = match text(note, "on").as_str() {
            "row" => Anchor::Row {
                report: text(note, "report"),
                table: text(note, "table"),
                key: note
                    .get("key")
                    .and_then(Json::as_array)
                    .unwrap_or_default()
                    .iter()
                    .filter_map(cell)
                    .collect(),
            },
            "range" => Anchor::Range { from_ns: number(note, "from_ns"), to_ns: number(note, "to_ns") },
            "event" => Anchor::Event { name: text(note, "name"), at_ns: number(note, "at_ns") },
            _ => Anchor::Whole,
        };
        Remark { on, text: text(note, "text") }
    };
    Ok(Notes { title: text(json, title), list: list.iter().map(note).collect() }.tidied())
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
