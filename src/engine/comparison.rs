//! Two sides that were read, as one document: reports on what changed, exports, limits.

use super::Session;
use crate::analysis::Query;
use crate::compare::{self, CompareQuery, Comparison, Digest, Problem};
use crate::export::{self, ExporterInfo, Input, Options};
use crate::report::{Document, Report};
use crate::trace::Run;
use std::io::{self, Write};

/// Side A, side B and what changed between them.
pub struct Compared {
    a: Digest,
    b: Digest,
    comparison: Comparison,
}

impl Compared {
    /// Compares side B with side A; see [`Session::digest`]. An error if they have nothing to compare.
    pub fn new(a: Digest, b: Digest, query: &CompareQuery) -> Result<Compared, Problem> {
        let comparison = compare::compare(&a, &b, query)?;
        Ok(Compared { a, b, comparison })
    }

    /// The reports, and numbers that limits can be set on.
    pub fn comparison(&self) -> &Comparison {
        &self.comparison
    }

    /// What changed.
    pub fn reports(&self) -> &[Report] {
        &self.comparison.reports
    }

    /// Both sides by letter, and what changed.
    pub fn document(&self) -> Document<'_> {
        compare::document(&self.a, &self.b, &self.comparison)
    }

    /// Writes the reports in an exporter's format. An error of `out` is passed on.
    pub fn export(&self, exporter: &ExporterInfo, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let (document, run, query) = (self.document(), Run::default(), Query::default());
        // Layouts of other tools are of single runs.
        (exporter.write)(&Input { run: &run, document: &document, query: &query, options }, out)
    }

    /// Writes the reports as a comment on a pull request: short, with tables folded.
    pub fn comment(&self, out: &mut dyn Write) -> io::Result<()> {
        export::comment::write(&self.document(), out)
    }
}

impl Session {
    /// What this side gives to a comparison. An error if the tables can not be read from the index.
    pub fn digest(&mut self) -> Result<Digest, crate::import::ImportError> {
        self.load_tables()?;
        Ok(Digest::of(self.run(), self.reports(), self.query(), &super::format_title))
    }
}
