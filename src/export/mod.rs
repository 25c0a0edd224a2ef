//! Reports and traces to bytes.

pub mod terminal_table;
