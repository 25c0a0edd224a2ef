//! Events as they stand in a file, before begins are paired with ends.

/// Raw timeline events in file order.
#[derive(Clone, Default)]
pub struct EventTable {
    /// Nanoseconds on the trace's own clock.
    pub ts: Vec<i64>,
}
