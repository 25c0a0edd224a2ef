//! Kernel name columns of tables.

use crate::analysis::timeline::texts;
use crate::report::{Column, Content};
use std::borrow::Cow;

pub use crate::gpu::names::readable;

/// Inserts kernel names from the trace at index `at` of `columns`.
///
/// If any name is mangled, there are two columns: `function` with the [`readable`] name at that index, and `id` with the name in
/// the trace at the end.
pub fn insert<'a>(
    columns: &mut Vec<Column>,
    at: usize,
    (id, label): (&'static str, &str),
    names: impl Iterator<Item = Option<&'a str>>,
) {
    let names: Vec<Option<&str>> = names.collect();
    let functions: Vec<Option<Cow<'_, str>>> = names.iter().map(|name| name.map(readable)).collect();
    if functions.iter().all(|function| !matches!(function, Some(Cow::Owned(_)))) {
        columns.insert(at, Column::key(id, label, Content::Symbol, texts(names)));
        return;
    }
    columns.insert(at, Column::key("function", label, Content::Symbol, texts(functions)));
    columns.push(Column::key(id, "symbol", Content::Symbol, texts(names)).hint("name in the trace"));
}
