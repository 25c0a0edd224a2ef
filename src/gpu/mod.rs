//! What work on a GPU does, from names, and what it should cost, from the arguments of operators.
//!
//! Texts in, classes and numbers out: nothing here knows of traces, reports or browsers.
//! [`names`] takes the name of a kernel apart, [`kernels`] holds it against a table of rules that anyone can read and
//! extend, [`mod@reference`] is what another tool says of the same name.
//! [`op_args`] reads the arguments that the PyTorch profiler writes beside an operator, [`op_category`] says what kind of
//! operator it is, [`op_work`] how many floating-point operations and bytes it needs at least, and [`peaks`] how long
//! that would take a given GPU at its best.

pub mod kernels;
pub mod names;
pub mod op_args;
pub mod op_category;
pub mod op_work;
pub mod peaks;
pub mod phases;
pub mod reference;
