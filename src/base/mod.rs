//! Utilities for every stage that know nothing of traces: text, numbers, lines, JSON.

pub mod column;
pub mod hash;
pub mod json;
pub mod lines;
pub mod pace;
pub mod progress;
pub mod python;
pub mod secrets;
pub mod strings;
pub mod terminal_table;
pub mod text;
pub mod threads;
pub mod tight;
pub mod time;
pub mod units;
pub mod zstd;
