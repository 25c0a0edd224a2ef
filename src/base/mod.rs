//! Utilities for every stage that know nothing of traces: text, numbers, lines, JSON.

pub mod bitpack;
pub mod bytepack;
pub mod children;
pub mod compat;
pub mod eta;
pub mod hash;
pub mod json;
pub mod lines;
pub mod pattern;
pub mod progress;
pub mod protobuf;
pub mod secrets;
pub mod sort;
pub mod source;
pub mod steps;
pub mod strings;
pub mod text;
pub mod threads;
pub mod time;
pub mod units;
pub mod zstd;
