//! Times in input fields: milliseconds since the start of the trace.

use tracedrop::base::time::parse_ns;

/// Nanoseconds from a text in milliseconds; `None` if it is not a valid time.
pub fn nanoseconds(millis: &str) -> Option<i64> {
    // A time may have as many digits as a double, and has to survive a round trip.
    parse_ns(millis.trim().as_bytes(), 3).filter(|ns| *ns >= 0)
}

/// Nanoseconds as milliseconds, with all their digits.
pub fn millis(ns: i64) -> String {
    let size = ns.unsigned_abs();
    let text = format!("{}{}.{:06}", if ns < 0 { "-" } else { "" }, size / 1_000_000, size % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}
