//! Writes a Tracedrop file, member by member.

use super::manifest::{Manifest, Member};
use super::{
    CHARTS, FORMAT, INDEX, MANIFEST, MAX_CHARTS_BYTES, MAX_INDEX_BYTES, MAX_NOTES_BYTES, MAX_REPORT_BYTES,
    MAX_ROWS, NOTES, REPORT, TABLES, VERSION, charts,
};
use crate::archive::{ArchiveWriter, Effort};
use crate::base::json::typed::{self, Lenient};
use crate::base::{steps, text};
use crate::export::link::content::FileContent;
use crate::export::link::{LinkOptions, content};
use crate::export::{Input, Options, index, notes, parquet};
use sha2::{Digest, Sha256};
use std::io::{self, Write};

/// Factor by which table rows are reduced until the report is small enough.
const FEWER: u32 = 4;

/// A writer that counts and hashes the bytes it forwards.
struct Measured<'a> {
    out: &'a mut dyn Write,
    bytes: u64,
    hasher: Sha256,
}

impl Write for Measured<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        self.bytes += n as u64;
        self.hasher.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The archive and its members so far.
struct Members<'a> {
    archive: ArchiveWriter<&'a mut dyn Write>,
    list: Vec<Member>,
}

impl Members<'_> {
    fn add(
        &mut self,
        path: &str,
        effort: Effort,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let list = &mut self.list;
        self.archive.add(path, effort, |out| {
            let mut out = Measured { out, bytes: 0, hasher: Sha256::new() };
            write(&mut out)?;
            let digest = out.hasher.finalize();
            let sha256 = text::hex(&digest);
            list.push(Member {
                path: Lenient(path.to_string()),
                bytes: Lenient(Some(out.bytes)),
                sha256: Lenient(sha256),
            });
            Ok(())
        })
    }
}

impl Members<'_> {
    /// Fails if the last member exceeds the limit that readers enforce.
    fn hold_last(&self, max: u64, why: &str) -> io::Result<()> {
        match self.list.last() {
            Some(last) if last.bytes.0 > Some(max) => Err(io::Error::new(io::ErrorKind::Unsupported, why)),
            _ => Ok(()),
        }
    }
}

/// Writes the file. Fails with [`io::ErrorKind::Unsupported`] if an index is requested but not possible.
pub fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let with_index = input.options.with_index;
    if with_index && !(index::INFO.applies)(input.run) {
        let why = "there is no index of this trace; write the file without it";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    }
    let (report, max_rows) = report(input)?;
    let mut members = Members { archive: ArchiveWriter::new(out, input.options.now_ms), list: Vec::new() };
    members.add(REPORT, Effort::Usual, |out| out.write_all(report.as_bytes()))?;
    if !input.notes().is_empty() {
        members.add(NOTES, Effort::Usual, |out| out.write_all(notes::to_json(input.notes()).as_bytes()))?;
        members.hold_last(MAX_NOTES_BYTES, "the notes are too long for a Tracedrop file")?;
    }
    let charts = charts::write(input.document.reports);
    if let Some(charts) = charts.filter(|charts| charts.len() as u64 <= MAX_CHARTS_BYTES) {
        members.add(CHARTS, Effort::Usual, |out| out.write_all(charts.as_bytes()))?;
    }
    for (name, bytes) in parquet::files(input.document) {
        // Already compressed.
        members.add(&format!("{TABLES}{name}"), Effort::None, |out| out.write_all(&bytes))?;
    }
    if with_index {
        // At once: the archive takes a member from a function.
        members.add(INDEX, Effort::Fast, |out| steps::run(index::INFO.write.call(input, out)).map(drop))?;
        members.hold_last(
            MAX_INDEX_BYTES,
            "the index is too large for a Tracedrop file; write the file without it",
        )?;
    }
    let manifest = manifest(input, max_rows, &members.list);
    members.archive.add(MANIFEST, Effort::Usual, |out| out.write_all(manifest.as_bytes()))?;
    members.archive.finish().map(drop)
}

/// The report with as many rows as fit, and the resulting row limit of each table.
fn report(input: &Input<'_>) -> io::Result<(String, u32)> {
    let mut rows = MAX_ROWS;
    loop {
        let link = LinkOptions { all_reports: true, whole_tables: true, rows, ..input.options.link.clone() };
        // Notes have their own member.
        let options = Options { link, notes: None, ..input.options.clone() };
        let text = content::write(&Input { options: &options, ..*input });
        if text.len() as u64 <= MAX_REPORT_BYTES {
            // Readers limit the length of lists, so dropping rows doesn't always help.
            return match content::read(text.as_bytes()) {
                Ok(_) => Ok((text, rows)),
                Err(refusal) => {
                    let why = format!("cannot write the report into a Tracedrop file: {refusal}");
                    Err(io::Error::new(io::ErrorKind::Unsupported, why))
                }
            };
        }
        if rows == 0 {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the report is too large for a Tracedrop file",
            ));
        }
        rows /= FEWER;
    }
}

fn manifest(input: &Input<'_>, max_rows: u32, members: &[Member]) -> String {
    typed::write(&Manifest {
        format: Lenient(FORMAT.to_string()),
        version: Lenient(VERSION),
        by: concat!("tracedrop ", env!("CARGO_PKG_VERSION")),
        made_ms: Lenient(input.options.now_ms),
        rows_per_table: max_rows,
        sources: content::files(input).iter().map(FileContent::of).collect(),
        members: Lenient(members.to_vec()),
    })
}
