//! The native command `tracedrop`; [`cli`] is all of it.

#[allow(dead_code, reason = "the Python package uses more of it")]
#[path = "mod.rs"]
mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os())
}
