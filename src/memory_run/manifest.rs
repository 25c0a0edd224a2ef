//! `manifest.json`: sizes and checksums of the files in a run directory.

use super::{KV_BLOCKS, MANIFEST, METADATA, METRICS, REGION_MAP, TRACE};
use crate::base::hash::{HashMap, HashSet};
use crate::base::json::Json;
use crate::base::json::typed::{self, Lenient, Raw};
use crate::base::sort;
use crate::base::text;
use crate::base::time::utc_text;
use crate::trace::sidecar_files::SidecarFile;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::borrow::Cow;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Manifest {
    pub run_id: String,
    /// ISO 8601.
    pub created_at_utc: String,
    /// Ordered by name.
    pub files: Vec<ListedFile>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedFile {
    /// Bare name.
    pub path: String,
    /// `None` if not given.
    pub size_bytes: Option<u64>,
    /// Lower-case hexadecimal digits; empty if not given.
    pub sha256: String,
    /// Only of tables with a defined layout.
    pub schema_version: Option<String>,
}

/// The file as it is read.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Content<'a> {
    run_id: Lenient<String>,
    created_at_utc: Lenient<String>,
    #[serde(borrow)]
    files: Raw<'a>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Entry {
    path: Lenient<Option<String>>,
    size_bytes: Lenient<Option<u64>>,
    sha256: Lenient<String>,
    schema_version: Lenient<Option<String>>,
}

/// Result of comparing a file with its manifest entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Same,
    /// Different size.
    Resized,
    /// Same size, different checksum.
    Changed,
    /// Same size, but not read to the end.
    Unread,
    Missing,
    NotListed,
    /// Present, but the manifest has no size or checksum.
    Unchecked,
}

/// Check result of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileCheck {
    pub path: String,
    pub state: State,
}

/// Identity of a file for the check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fingerprint<'a> {
    /// Bare name.
    pub path: &'a str,
    pub n_bytes: u64,
    /// Lower-case hexadecimal digits; empty if unknown.
    pub sha256: Cow<'a, str>,
}

impl<'a> Fingerprint<'a> {
    pub fn of(path: &'a str, content: &[u8]) -> Fingerprint<'a> {
        Fingerprint { path, n_bytes: content.len() as u64, sha256: sha256(content).into() }
    }
}

impl<'a> From<&'a SidecarFile> for Fingerprint<'a> {
    fn from(file: &'a SidecarFile) -> Fingerprint<'a> {
        Fingerprint { path: &file.name, n_bytes: file.n_bytes, sha256: file.sha256.as_str().into() }
    }
}

/// Files with a defined layout.
const WITH_VERSION: [&str; 5] = [TRACE, REGION_MAP, KV_BLOCKS, METRICS, METADATA];

/// Checksum in lower-case hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let mut checksum = Checksum::default();
    checksum.take(bytes);
    checksum.finish()
}

/// Checksum of content that comes in chunks.
#[derive(Clone, Default)]
pub struct Checksum(Sha256);

impl Checksum {
    pub fn take(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn finish(self) -> String {
        text::hex(&self.0.finalize())
    }
}

impl Manifest {
    /// Parses the file; the error is a sentence fragment. Entries without a name are skipped.
    pub fn read(bytes: &[u8]) -> Result<Manifest, String> {
        let content: Content<'_> = typed::read(bytes).map_err(|why| why.to_string())?;
        let entries = content.files.list().ok_or("no list of files")?;
        let file = |entry: Raw<'_>| {
            let entry: Entry = typed::read(entry.literal().as_bytes()).ok()?;
            Some(ListedFile {
                path: entry.path.0?,
                size_bytes: entry.size_bytes.0,
                sha256: entry.sha256.0.to_ascii_lowercase(),
                schema_version: entry.schema_version.0,
            })
        };
        Ok(Manifest {
            run_id: content.run_id.0,
            created_at_utc: content.created_at_utc.0,
            files: entries.into_iter().filter_map(file).collect(),
        })
    }

    /// Manifest of `files`, without an entry for itself.
    pub fn of<'a>(run_id: &str, now_ms: u64, files: impl IntoIterator<Item = Fingerprint<'a>>) -> Manifest {
        let mut listed: Vec<ListedFile> = files
            .into_iter()
            .filter(|file| file.path != MANIFEST)
            .map(|file| ListedFile {
                path: file.path.to_string(),
                size_bytes: Some(file.n_bytes),
                schema_version: WITH_VERSION.contains(&file.path).then(|| "1.0".to_string()),
                sha256: file.sha256.into_owned(),
            })
            .collect();
        sort::by(&mut listed, |a, b| a.path.cmp(&b.path));
        Manifest { run_id: run_id.to_string(), created_at_utc: utc_text(now_ms), files: listed }
    }

    /// As mrm-trace writes it, which is a matter of bytes: [`Json::to_python_text`].
    pub fn to_json(&self) -> Json {
        let text = |text: &str| Json::String(text.to_string());
        let files = self.files.iter().map(|file| {
            let size = file.size_bytes.map(|size| ("size_bytes".to_string(), Json::Number(size.to_string())));
            let sum = Some(("sha256".to_string(), text(&file.sha256))).filter(|_| !file.sha256.is_empty());
            let mut members = vec![("path".to_string(), text(&file.path))];
            members.extend(size.into_iter().chain(sum));
            members.extend(
                file.schema_version.iter().map(|version| ("schema_version".to_string(), text(version))),
            );
            Json::Object(members)
        });
        Json::Object(vec![
            ("manifest_schema_version".to_string(), text("1.0")),
            ("run_id".to_string(), text(&self.run_id)),
            ("created_at_utc".to_string(), text(&self.created_at_utc)),
            ("files".to_string(), Json::Array(files.collect())),
        ])
    }

    /// Checks every listed file in the order of the manifest, then adds the files that are not listed.
    pub fn check(&self, files: &[Fingerprint<'_>]) -> Vec<FileCheck> {
        let by_path: HashMap<&str, &Fingerprint<'_>> = files.iter().map(|file| (file.path, file)).collect();
        let listed = self.files.iter().map(|file| {
            let state = match by_path.get(file.path.as_str()) {
                None => State::Missing,
                Some(found) if file.size_bytes.is_some_and(|size| size != found.n_bytes) => State::Resized,
                Some(_) if file.sha256.is_empty() => State::Unchecked,
                Some(found) if found.sha256.is_empty() => State::Unread,
                Some(found) if found.sha256 != file.sha256 => State::Changed,
                Some(_) => State::Same,
            };
            FileCheck { path: file.path.clone(), state }
        });
        let names: HashSet<&str> = self.files.iter().map(|file| file.path.as_str()).collect();
        let others = files.iter().filter(|file| file.path != MANIFEST && !names.contains(file.path));
        let others = others.map(|file| FileCheck { path: file.path.to_string(), state: State::NotListed });
        listed.chain(others).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_manifest_does_not_say_is_not_held_against_a_file() {
        let text = br#"{"files": [{"path": "a"}, {"path": "b", "size_bytes": 3}, {"path": "c", "size_bytes": 4},
            {"path": "d", "sha256": "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD"}, {"path": "e"}]}"#;
        let manifest = Manifest::read(text).unwrap();
        let files: Vec<Fingerprint<'_>> =
            ["a", "b", "c", "d", "z"].map(|path| Fingerprint::of(path, b"abc")).into();
        let states: Vec<State> = manifest.check(&files).iter().map(|check| check.state).collect();
        let wanted = [
            State::Unchecked,
            State::Unchecked,
            State::Resized,
            State::Same,
            State::Missing,
            State::NotListed,
        ];
        assert_eq!(states, wanted);
        let again = manifest.to_json().to_python_text(2);
        assert_eq!(Manifest::read(again.as_bytes()), Ok(manifest));
    }
}
