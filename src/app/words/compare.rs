//! Texts on comparisons.

use super::number;
use tracedrop::base::units::counted;
use tracedrop::compare::PhaseFilter;

/// Texts on comparisons.
pub struct CompareWords {
    pub compare: &'static str,
    pub compare_with: &'static str,
    pub compare_with_file: &'static str,
    /// Name of a comparison tab, from the names of A and B.
    pub sides_name: fn(&str, &str) -> String,
    pub sides_card: &'static str,
    pub sides_title: &'static str,
    pub swap: &'static str,
    pub swap_hint: &'static str,
    pub phase_label: &'static str,
    pub phase: fn(PhaseFilter) -> &'static str,
    /// Number of files of A or B, and of skipped files.
    pub files_of_side: fn(u64, u64) -> String,
    /// Difference as a share of A's time; 0.01 is 1%.
    pub of_side_a: fn(f64) -> String,
    pub rank: fn(i64) -> String,
}

pub const ENGLISH: CompareWords = CompareWords {
    compare: "Compare",
    compare_with: "Compare with",
    compare_with_file: "Compare with another file…",
    sides_name: |a, b| format!("{a} ↔ {b}"),
    sides_card: "A and B",
    sides_title: "B vs A",
    swap: "Swap",
    swap_hint: "Swap A and B",
    phase_label: "Steps",
    phase: |phase| match phase {
        PhaseFilter::All => "all, phase by phase",
        PhaseFilter::Prefill => "prefill only",
        PhaseFilter::Decode => "decode only",
    },
    files_of_side: |n, n_left_out| match (n, n_left_out) {
        (1, 0) => String::new(),
        (n, 0) => format!("{}.", counted(n, "file", "files")),
        (n, left_out) => format!("{}, {} skipped.", counted(n, "file", "files"), number(left_out)),
    },
    of_side_a: |share| match 100.0 * share {
        percent if percent != 0.0 && percent.abs() < 0.05 => "<0.1% of A’s time".to_string(),
        percent => format!("{percent:+.1}% of A’s time").replace('-', "−"),
    },
    rank: |rank| format!("rank {rank}"),
};
