//! Small documents as typed structs, by serde_json: notes, manifests, the content of links.
//!
//! The pull parser of [`super::Parser`] stays for everything else: traces (streams of gigabytes, damaged or cut), lists that
//! people write by hand (trailing commas, messages about each entry), and documents of Python programs (`NaN`, numbers as
//! written; [`super::Json`]).
//!
//! Structs for these documents keep to a few rules, so that no feature another crate turns on in serde_json (our tests turn on
//! `arbitrary_precision`) changes the result, and no input can nest too deep:
//! - no `serde_json::Value`, no `flatten`, no untagged or internally tagged enums: they look at numbers of unknown type, and
//!   recurse. Unknown members and [`Raw`] values are skipped without recursion.
//! - no `f64`: serde_json's default is up to one digit off. [`Float`] reads the literal as the standard library does.
//! - [`Lenient`] where a member of another type counts as missing, as readers of later versions' files must.

use super::Number;
use serde::de::value::{MapAccessDeserializer, UnitDeserializer};
use serde::de::{DeserializeOwned, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::error::Category;
use serde_json::value::RawValue;
use std::fmt;
use std::marker::PhantomData;

/// Reason why a document cannot be read; displayed as a sentence fragment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// Not JSON at all, as opposed to JSON with the wrong content.
    pub is_syntax: bool,
    /// Line from 1 and offset in bytes; `None` at the end.
    pub place: Option<(usize, usize)>,
    pub what: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_syntax {
            f.write_str("not valid JSON: ")?;
        }
        if let Some((line, at)) = self.place {
            write!(f, "line {line} (byte {at}): ")?;
        }
        f.write_str(&self.what)
    }
}

impl Unreadable {
    fn new(error: &serde_json::Error, bytes: &[u8]) -> Unreadable {
        let is_syntax = !matches!(error.classify(), Category::Data);
        if error.is_eof() {
            return Unreadable { is_syntax, place: None, what: "unexpected end of file".to_string() };
        }
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let message = message.strip_suffix(&format!(" at line {line} column {column}")).unwrap_or(&message);
        let ends = memchr::memchr_iter(b'\n', bytes);
        let line_start =
            std::iter::once(0).chain(ends.map(|end| end + 1)).nth(line.saturating_sub(1)).unwrap_or(0);
        let at = line_start + column.saturating_sub(1);
        Unreadable { is_syntax, place: Some((line, at)), what: message.replace('`', "'") }
    }
}

/// Reads a document, which must be an object.
pub fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, Unreadable> {
    let object: Result<Object<T>, _> = serde_json::from_slice(bytes);
    object.map(|object| object.0).map_err(|error| {
        // The wrong type may come first in what is not even JSON.
        let syntax = serde_json::from_slice::<IgnoredAny>(bytes).err();
        Unreadable::new(&syntax.unwrap_or(error), bytes)
    })
}

/// Writes a document without white space.
pub fn write<T: Serialize>(document: &T) -> String {
    // Fails only for maps with keys that are no texts, which the documents do not have.
    serde_json::to_string(document).unwrap_or_default()
}

/// A struct from an object only: derived structs also accept lists of their members.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfMembers<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OfMembers<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members))
            }
        }
        deserializer.deserialize_map(OfMembers(PhantomData)).map(Object)
    }
}

/// A value as written; `None` if the member is missing.
#[derive(Clone, Copy, Default, Debug)]
pub struct Raw<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(deserializer).map(|raw| Raw(Some(raw)))
    }
}

impl<'a> Raw<'a> {
    /// The literal; empty if missing.
    pub fn literal(self) -> &'a str {
        self.0.map_or("", RawValue::get)
    }

    pub fn is_missing(self) -> bool {
        self.0.is_none()
    }

    pub fn is_object(self) -> bool {
        self.literal().starts_with('{')
    }

    pub fn is_text(self) -> bool {
        self.literal().starts_with('"')
    }

    /// The text, if it is one.
    pub fn text(self) -> Option<String> {
        serde_json::from_str(self.literal()).ok()
    }

    /// The values of a list, if it is one.
    pub fn list(self) -> Option<Vec<Raw<'a>>> {
        serde_json::from_str(self.literal()).ok()
    }
}

/// A value; the default if it has another type.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Lenient<T>(pub T);

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        Ok(Lenient(serde_json::from_str(raw.get()).unwrap_or_default()))
    }
}

impl<T: Serialize> Serialize for Lenient<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<T: Default + PartialEq> Lenient<T> {
    /// Whether a writer leaves it out.
    pub fn is_default(&self) -> bool {
        self.0 == T::default()
    }
}

/// A finite number, as the nearest double; any text counts as NaN.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Float(pub f64);

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        let number = if raw.is_text() { Some(f64::NAN) } else { Number::as_f64(raw.literal().as_bytes()) };
        number.map(Float).ok_or_else(|| D::Error::custom("expected a number"))
    }
}

/// The first entries of a list as a tuple. Later versions may add more, which are skipped; missing ones count as null.
#[derive(Clone, Debug)]
pub struct First<T>(pub T);

macro_rules! first {
    ($($entry:ident),+; $expecting:literal) => {
        impl<'de, $($entry: Deserialize<'de>),+> Deserialize<'de> for First<($($entry,)+)> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Entries<$($entry),+>(PhantomData<($($entry,)+)>);
                impl<'de, $($entry: Deserialize<'de>),+> Visitor<'de> for Entries<$($entry),+> {
                    type Value = ($($entry,)+);

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }

                    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
                        let entries = ($(
                            match list.next_element::<$entry>()? {
                                Some(entry) => entry,
                                None => $entry::deserialize(UnitDeserializer::<S::Error>::new())?,
                            },
                        )+);
                        while list.next_element::<IgnoredAny>()?.is_some() {}
                        Ok(entries)
                    }
                }
                deserializer.deserialize_seq(Entries(PhantomData)).map(First)
            }
        }
    };
}

first!(A, B; "a list of 2 entries");
first!(A, B, C; "a list of 3 entries");
first!(A, B, C, E, F; "a list of 5 entries");

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize, Serialize, PartialEq, Debug, Default)]
    #[serde(default)]
    struct Document {
        name: Lenient<String>,
        count: u64,
        #[serde(skip_serializing_if = "Lenient::is_default")]
        maybe: Lenient<Option<i64>>,
    }

    #[test]
    fn reads_what_it_writes() {
        let document = Document { name: Lenient("a\"é".to_string()), count: u64::MAX, maybe: Lenient(None) };
        assert_eq!(write(&document), r#"{"name":"a\"é","count":18446744073709551615}"#);
        assert_eq!(read(write(&document).as_bytes()), Ok(document));
    }

    #[test]
    fn other_types_count_as_missing_where_that_is_allowed() {
        let read = |text: &str| read::<Document>(text.as_bytes());
        assert_eq!(read(r#"{"name":7,"maybe":1.5,"unknown":[{}]}"#), Ok(Document::default()));
        assert_eq!(read(r#"{"name":null}"#), Ok(Document::default()));
        let deep = format!(r#"{{"unknown":{}1{},"name":{0}1{1}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read(&deep), Ok(Document::default()), "any depth");
        for (bad, why) in [
            ("", "not valid JSON: unexpected end of file"),
            ("{\"name\":", "not valid JSON: unexpected end of file"),
            ("{\n \"name\" 1}", "not valid JSON: line 2 (byte 10): expected ':'"),
            ("[]", "line 1 (byte 0): invalid type: sequence, expected an object"),
            ("{\"count\":\n\"x\"}", "line 2 (byte 12): invalid type: string \"x\", expected u64"),
        ] {
            let unreadable = read(bad).unwrap_err();
            assert_eq!(unreadable.to_string(), why, "{bad}");
            assert_eq!(unreadable.is_syntax, why.starts_with("not valid"), "{bad}");
        }
    }

    #[test]
    fn digits_and_further_entries() {
        let read = |text: &str| {
            serde_json::from_str::<First<(String, Float, Option<u64>)>>(text).map(|it| it.0).ok()
        };
        // One unit in the last place off in serde_json's default.
        assert_eq!(
            read(r#"["a",1.2345678901234567e-289,3,[],{}]"#),
            Some(("a".to_string(), Float(1.2345678901234567e-289), Some(3)))
        );
        assert_eq!(read(r#"["a",1]"#), Some(("a".to_string(), Float(1.0), None)));
        assert_eq!(read(r#"["a"]"#), None);
        assert_eq!(read(r#"["a",null]"#), None);
        assert!(read(r#"["a","NaN"]"#).is_some_and(|(_, float, _)| float.0.is_nan()));
        assert_eq!(read("{}"), None);
    }
}
