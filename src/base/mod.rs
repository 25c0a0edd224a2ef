//! What every stage uses and what knows nothing of traces: text, numbers, lines, JSON.

pub mod json;
pub mod lines;
pub mod pace;
pub mod strings;
pub mod text;
pub mod time;
pub mod units;
