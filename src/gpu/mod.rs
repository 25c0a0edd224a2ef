//! Classification of kernels by name, and cost models of operators from their arguments.
//!
//! Text in, classes and numbers out: independent of traces, reports and browsers.
//! [`names`] parses kernel names, [`kernels`] classifies them with an extensible table of rules, and [`mod@reference`] reproduces
//! the classes of another tool.
//! [`op_args`] parses operator arguments recorded by the PyTorch profiler, [`op_category`] classifies operators, [`op_work`]
//! computes the minimum FLOPs and bytes, and [`peaks`] the time that these take at the GPU's peaks.

pub mod kernels;
pub mod names;
pub mod op_args;
pub mod op_category;
pub mod op_work;
pub mod peaks;
pub mod phases;
pub mod reference;
