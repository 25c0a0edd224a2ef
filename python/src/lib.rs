//! The Python package: the library and the command in one extension module.
//!
//! `tracedrop/__init__.py` is what users import; this module is private to it.

#[path = "../../src/cli/mod.rs"]
mod cli;

mod actor;
mod arrow;
mod document;
mod tables;

use pyo3::prelude::*;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command, whose first argument is its name; returns its exit code. Wrong usage, `--help` and `--version` end the process.
#[pyfunction]
fn run_command(py: Python<'_>, args: Vec<OsString>) -> u8 {
    let code = py.detach(|| cli::run(args));
    // An exit code does not give its number away.
    (0..=u8::MAX).find(|number| ExitCode::from(*number) == code).unwrap_or(1)
}

#[pymodule(gil_used = false)]
fn _tracedrop(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("TracedropError", module.py().get_type::<document::TracedropError>())?;
    module.add_class::<document::Document>()?;
    module.add_class::<document::ArrowTable>()?;
    module.add_function(wrap_pyfunction!(document::export_formats, module)?)?;
    module.add_function(wrap_pyfunction!(document::event_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(run_command, module)?)
}
