//! Tables of a capture, in whichever file format they are stored.

use super::rows::Row;
use crate::import::ImportError;
use crate::sqlite::{Column, Table};
use crate::trace::TraceBuilder;

/// Tables that can be read in any order.
pub trait Tables {
    fn tables(&self) -> &[Table];

    /// Calls `each` with the rows of the table of that number, in no particular order; reports damage.
    fn rows_of(
        &self,
        table: usize,
        out: &mut TraceBuilder,
        each: &mut dyn FnMut(&Row<'_>),
    ) -> Result<(), ImportError>;
}

impl dyn Tables + '_ {
    /// Number of the table with a name.
    pub fn table_named(&self, name: &str) -> Option<usize> {
        self.tables().iter().position(|table| table.name == name)
    }

    /// A column of a table by their number and name.
    pub fn column(&self, table: usize, name: &str) -> Option<Column> {
        self.tables().get(table)?.column(name)
    }

    /// Calls `each` with the rows of a dictionary, in no particular order; reports damage.
    pub fn each_row(
        &self,
        table: usize,
        out: &mut TraceBuilder,
        mut each: impl FnMut(&Row<'_>),
    ) -> Result<(), ImportError> {
        self.rows_of(table, out, &mut each)
    }
}
