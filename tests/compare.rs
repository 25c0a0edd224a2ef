//! Comparisons: against what other tools say of the same pairs, and against what must hold of any pair.
//!
//! Quirks such as Q5 are those of the list in the description of the tools; where one keeps a number from being compared,
//! the test names it.

mod support;

#[path = "compare/command.rs"]
mod command;
#[path = "gpu/golden.rs"]
mod golden;
#[path = "compare/hta.rs"]
mod hta;
#[path = "compare/made.rs"]
mod made;
#[path = "compare/others.rs"]
mod others;
#[path = "compare/repeats.rs"]
mod repeats;
#[path = "compare/sides.rs"]
mod sides;
#[path = "compare/sums.rs"]
mod sums;
#[path = "compare/wafer.rs"]
mod wafer;
