//! Sample counts by place in the source, without stacks or times.

/// One run of a sampling profiler.
#[derive(Clone, Default)]
pub struct ProfileRun {
    /// The run's own id; empty for records without one.
    pub run_id: String,
}
