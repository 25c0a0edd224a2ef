//! Texts of the time range form.

/// Texts of the time range form.
pub struct RangeWords {
    pub title: &'static str,
    pub what: fn(&str) -> String,
    pub what_again: fn(&str) -> String,
    pub far_away: &'static str,
    pub without_far_away: &'static str,
    pub from: &'static str,
    pub to: &'static str,
    pub hold: &'static str,
    pub wrong: &'static str,
    pub holding: fn(&str, &str) -> String,
    pub held: fn(&str, &str) -> String,
}

pub const ENGLISH: RangeWords = RangeWords {
    title: "Report on a time range",
    what: |span| {
        format!(
            "Keeps only events that overlap this range, which saves memory. Enter milliseconds from the start of the trace; {span} ms are parsed so far."
        )
    },
    what_again: |span| {
        format!(
            "Parses the file again and keeps only events that overlap this range. Enter milliseconds from the start of the trace, which is {span} ms long."
        )
    },
    from: "From",
    to: "to",
    hold: "Keep only this range",
    wrong: "\u{201c}From\u{201d} must be before \u{201c}to\u{201d}.",
    holding: |from, to| format!("Keeping {from} to {to} ms; parsing continues to the end of the file."),
    held: |from, to| {
        format!("These reports cover {from} to {to} ms only. Slices that overlap the range are kept whole.")
    },
    far_away: "A few events are hours or more away from all others and distort every number that depends on the trace duration.",
    without_far_away: "Report without them",
};
