//! Parses a Tracedrop file, which is untrusted input.

use super::manifest::{self, Manifest};
use super::{
    CHARTS, EXTENSION, FORMAT, INDEX, MANIFEST, MAX_CHARTS_BYTES, MAX_INDEX_BYTES, MAX_MANIFEST_BYTES,
    MAX_NOTES_BYTES, MAX_REPORT_BYTES, NOTES, REPORT, VERSION, charts,
};
use crate::archive::{self, Archive, Entry};
use crate::base::json::typed::{self, Unreadable};
use crate::base::text;
use crate::export::link::{self, LinkedReport, content};
use crate::export::notes;
use crate::trace::args::Content;
use sha2::{Digest, Sha256};
use std::fmt;

/// Content of a Tracedrop file. Its index, if any, is not decompressed.
#[derive(Clone, PartialEq, Debug)]
pub struct TracedropFile {
    pub report: LinkedReport,
    /// Location of the index; [`archive::unpack`] returns its bytes, at most [`MAX_INDEX_BYTES`].
    /// Or the reason why it is unusable.
    pub index: Result<Option<Entry>, Refusal>,
    /// Creation time in milliseconds since the Unix epoch; 0 if unknown.
    pub made_ms: u64,
}

/// Reason why a file cannot be parsed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Not a complete archive; a sentence fragment.
    Archive(String),
    /// A required member is missing or unreadable.
    Missing(&'static str),
    /// A later version of the format.
    OtherVersion(u64),
    /// A member differs from its manifest entry, or is malformed.
    Damaged(&'static str),
    /// A member claims this many bytes, which exceeds the limit.
    TooLarge(&'static str, u64),
    /// Invalid report.
    Report(link::Refusal),
    /// Invalid notes; a sentence fragment.
    Notes(String),
}

impl Refusal {
    /// Of a member with other content than expected.
    fn of(why: Unreadable, member: &'static str) -> Refusal {
        if why.is_syntax { Refusal::Damaged(member) } else { Refusal::Report(why.into()) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Archive(why) => write!(f, "incomplete Tracedrop file: {why}"),
            Refusal::Missing(member) => write!(f, "not a Tracedrop file: {member} is missing"),
            Refusal::OtherVersion(version) => write!(
                f,
                "unsupported version {version} of the format; this version of Tracedrop reads up to version {VERSION}"
            ),
            Refusal::Damaged(member) => {
                write!(f, "damaged Tracedrop file: {member} doesn't match the manifest")
            }
            Refusal::TooLarge(member, bytes) => {
                write!(f, "{member} claims {bytes} bytes, which exceeds the limit")
            }
            Refusal::Report(link::Refusal::NoReport(what)) => {
                write!(f, "no valid report in the file ({what})")
            }
            Refusal::Report(refusal) => write!(f, "{refusal}"),
            Refusal::Notes(why) => write!(f, "cannot parse its notes ({why})"),
        }
    }
}

/// Whether the content is a Tracedrop file, by its manifest, or by file name if it is an archive.
pub fn is_one(content: &dyn Content, file_name: &str) -> bool {
    let mut head = [0; 4];
    if content.read_at(0, &mut head).is_err() || !archive::is_archive(&head) {
        return false;
    }
    let ending = file_name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ending.eq_ignore_ascii_case(EXTENSION)
        || archive::list(content).is_ok_and(|listed| manifest(content, &listed).is_ok())
}

/// Parses everything except the index.
pub fn open(content: &dyn Content) -> Result<TracedropFile, Refusal> {
    let listed = archive::list(content).map_err(Refusal::Archive)?;
    let manifest = manifest(content, &listed)?;
    let version = manifest.version.0;
    if version == 0 {
        return Err(Refusal::Damaged(MANIFEST));
    }
    if version > VERSION {
        return Err(Refusal::OtherVersion(version));
    }
    let members = Members { content, listed: &listed, manifest: &manifest };
    let bytes = members.checked(REPORT, MAX_REPORT_BYTES)?.ok_or(Refusal::Missing(REPORT))?;
    let parsed = typed::read(&bytes).map_err(|why| Refusal::of(why, REPORT))?;
    let mut report = content::report_of(parsed).map_err(Refusal::Report)?;
    if let Some(bytes) = members.checked(NOTES, MAX_NOTES_BYTES)? {
        report.notes = notes::from_json(&bytes).map_err(Refusal::Notes)?;
    }
    if let Some(bytes) = members.checked(CHARTS, MAX_CHARTS_BYTES)? {
        let charts = typed::read(&bytes).map_err(|why| Refusal::of(why, CHARTS))?;
        charts::read_into(charts, &mut report.reports).map_err(Refusal::Report)?;
    }
    let index = members.listed(INDEX).and_then(|index| match index {
        Some(index) if index.n_bytes > MAX_INDEX_BYTES => Err(Refusal::TooLarge(INDEX, index.n_bytes)),
        index => Ok(index.cloned()),
    });
    Ok(TracedropFile { report, index, made_ms: manifest.made_ms.0 })
}

/// The manifest, if the archive is a Tracedrop file.
fn manifest(content: &dyn Content, listed: &Archive) -> Result<Manifest, Refusal> {
    let entry = entry(listed, MANIFEST).ok_or(Refusal::Missing(MANIFEST))?;
    let bytes = unpacked(content, entry, MANIFEST, MAX_MANIFEST_BYTES)?;
    let manifest: Manifest = typed::read(&bytes).map_err(|_| Refusal::Damaged(MANIFEST))?;
    if manifest.format.0 == FORMAT { Ok(manifest) } else { Err(Refusal::Missing(MANIFEST)) }
}

fn entry<'a>(listed: &'a Archive, path: &str) -> Option<&'a Entry> {
    listed.files.iter().find(|entry| entry.path == path)
}

/// All bytes of a member, unless it claims more than `max`.
fn unpacked(content: &dyn Content, entry: &Entry, name: &'static str, max: u64) -> Result<Vec<u8>, Refusal> {
    if entry.n_bytes > max {
        return Err(Refusal::TooLarge(name, entry.n_bytes));
    }
    let mut out = Vec::new();
    let taken = archive::unpack(content, entry, &mut |piece| {
        out.extend_from_slice(piece);
        Ok(())
    });
    taken.map(|()| out).map_err(|_| Refusal::Damaged(name))
}

/// The members of the file, by archive directory and manifest.
struct Members<'a> {
    content: &'a dyn Content,
    listed: &'a Archive,
    manifest: &'a Manifest,
}

impl Members<'_> {
    /// Location of a member that the manifest lists, if its size matches.
    fn listed(&self, name: &'static str) -> Result<Option<&Entry>, Refusal> {
        let Some(told) = self.told(name) else { return Ok(None) };
        let entry = entry(self.listed, name).ok_or(Refusal::Missing(name))?;
        if told.bytes.0 == Some(entry.n_bytes) { Ok(Some(entry)) } else { Err(Refusal::Damaged(name)) }
    }

    /// The bytes of a member, checked against the manifest. `None` if there is no such member.
    fn checked(&self, name: &'static str, max: u64) -> Result<Option<Vec<u8>>, Refusal> {
        let Some(entry) = self.listed(name)? else { return Ok(None) };
        let bytes = unpacked(self.content, entry, name, max)?;
        let digest = text::hex(&Sha256::digest(&bytes));
        if self.told(name).is_some_and(|told| told.sha256.0 == digest) {
            Ok(Some(bytes))
        } else {
            Err(Refusal::Damaged(name))
        }
    }

    /// The manifest entry of a member.
    fn told(&self, name: &str) -> Option<&manifest::Member> {
        self.manifest.members.0.iter().find(|member| member.path.0 == name)
    }
}
