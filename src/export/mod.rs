//! Reports and traces to bytes.
