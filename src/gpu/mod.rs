//! What a GPU does, from names: kernel names taken apart and put into classes.
//!
//! Text in, class out: nothing here knows of traces, reports or browsers.
//! [`names`] takes a name apart, [`kernels`] holds it against a table of rules that anyone can read and extend,
//! [`reference`] is what another tool says of the same name.

pub mod kernels;
pub mod names;
pub mod reference;
