//! Comparisons: checked with outputs of other tools on the same pairs, and with invariants of any pair.
//! Quirks such as Q5 refer to the list in the description of the tools; if one prevents a comparison, the test names it.

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
#[path = "compare/steps.rs"]
mod steps;
#[path = "compare/sums.rs"]
mod sums;
#[path = "compare/wafer.rs"]
mod wafer;
