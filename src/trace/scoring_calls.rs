//! Calls of a scoring backend: one row a forward pass or a cache look-up.

/// Rows in file order.
#[derive(Clone, Default)]
pub struct ScoringCallTable {
    /// Wall clock at the end of the call, seconds since the Unix epoch.
    pub ts: Vec<f64>,
}

impl ScoringCallTable {
    pub fn len(&self) -> usize {
        self.ts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ts.is_empty()
    }
}
