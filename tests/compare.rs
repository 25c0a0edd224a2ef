//! Comparisons: checked with outputs of other tools on the same pairs, and with invariants of any pair.
//! Quirks such as Q5 refer to the list in the description of the tools; if one prevents a comparison, the test names it.

mod command;
mod hta;
mod made;
mod others;
mod repeats;
mod sides;
mod steps;
mod sums;
mod wafer;
