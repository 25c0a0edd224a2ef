//! Texts of exports.

use super::{not_in_it, sentence};
use tracedrop::base::units::Unit;
use tracedrop::base::units::format_bytes;
use tracedrop::report::Value;

/// Texts of exports.
pub struct ExportWords {
    pub export_needs: fn(&str) -> String,
    pub export: &'static str,
    pub exporting: fn(&str, u64) -> String,
    pub exported: fn(&str, u64, &[String]) -> String,
    pub refused: fn(&str, &str) -> String,
}

pub const ENGLISH: ExportWords = ExportWords {
    export_needs: |needs| format!("needs {needs}"),
    export: "Export",
    exporting: |title, bytes| match bytes {
        0 => format!("Writing {title}…"),
        bytes => format!("Writing {title}: {}…", format_bytes(bytes)),
    },
    exported: |name, bytes, left_out| {
        format!("Saved {name}, {}.{}", Value::Unsigned(bytes).display(Unit::Bytes), not_in_it(left_out))
    },
    refused: |what, hint| {
        if hint.is_empty() { sentence(what) } else { format!("{} {}", sentence(what), sentence(hint)) }
    },
};
