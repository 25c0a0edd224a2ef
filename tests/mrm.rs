//! Accesses to memory: what is read of text of perf script, how it is labelled, and every number against those of mrm-trace
//! 0.1.0.
//!
//! `perf-text-seed` reads as that version does and must give its rows to the digest; `perf-text` must give the rows that
//! are known to be right. Numbers such as Q27 are those of the list of quirks in the description of the tool.

mod cases;
mod corpus;
mod labels;
mod perf_text;
mod units;
