//! Columns of tables that say which kernel a row is of.

use crate::analysis::timeline::texts;
use crate::report::Column;
use std::borrow::Cow;

pub use crate::gpu::names::readable;

/// Inserts names of kernels, as the trace has them, at place `at` of `columns`.
///
/// Where any is mangled there are two columns: at that place `function`, the [`readable`] name, and behind all others the name
/// in the trace under `id`, by which other tools know the kernel.
pub fn insert<'a>(
    columns: &mut Vec<Column>,
    at: usize,
    (id, label): (&'static str, &str),
    names: impl Iterator<Item = Option<&'a str>>,
) {
    let names: Vec<Option<&str>> = names.collect();
    let functions: Vec<Option<Cow<'_, str>>> = names.iter().map(|name| name.map(readable)).collect();
    if functions.iter().all(|function| !matches!(function, Some(Cow::Owned(_)))) {
        columns.insert(at, Column::key(id, label, texts(names)));
        return;
    }
    columns.insert(at, Column::key("function", label, texts(functions)));
    columns.push(Column::key(id, "symbol", texts(names)).hint("the name in the trace"));
}
