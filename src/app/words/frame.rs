//! Texts of the page in a frame.

use tracedrop::base::units::counted;

/// Texts of the page in a frame.
pub struct FrameWords {
    /// Id of a report.
    pub no_such_report: fn(&str) -> String,
    pub frame_waits: &'static str,
    pub budget_kept: fn(usize) -> String,
    /// Limits not met, all limits.
    pub budget_passed: fn(usize, usize) -> String,
    pub budget_empty: &'static str,
    pub limit_kept: &'static str,
    pub limit_passed: &'static str,
    pub limit_unknown: &'static str,
}

pub const ENGLISH: FrameWords = FrameWords {
    no_such_report: |id| format!("this trace has no report {id}; showing the first one"),
    frame_waits: "Waiting for a trace from the embedding page.",
    budget_kept: |n| format!("Within budget: {} met", counted(n as u64, "limit", "limits")),
    budget_passed: |n, all| format!("Over budget: {n} of {} not met", counted(all as u64, "limit", "limits")),
    budget_empty: "The limits file contains no limits.",
    limit_kept: "met",
    limit_passed: "exceeded",
    limit_unknown: "not measured",
};
