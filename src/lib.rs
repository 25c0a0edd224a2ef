//! Tracedrop: bytes → trace → report.
