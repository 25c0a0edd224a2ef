//! The library as request and response, for the native command, the web worker, fuzz targets and benches.
//!
//! A [`Session`] handles one file from its first byte to its reports. It does no I/O and has no clock: the caller feeds bytes,
//! decides when a partial report is due, and delivers the answers.

mod comparison;
mod export_source;
pub mod folder;
mod linked;
mod multi_file;
mod open;
pub mod protocol;
pub mod schedule;
mod session;
mod shown;
mod views;
pub mod warm_up;

pub use comparison::{Compared, Side};
pub use export_source::ExportSource;
pub use linked::Linked;
pub use open::{HandedOn, Opened, open, open_tracedrop_file};
pub use session::{ReportStep, Session};
pub use shown::{RowOrder, Shown, TableRef, search_report};

use crate::export::{EXPORTERS, ExporterInfo};
use crate::import::FORMATS;
use protocol::{ExporterView, FormatView};

/// Supported formats and the tools that write them, for display.
pub fn formats() -> Vec<FormatView> {
    FORMATS
        .iter()
        .map(|format| FormatView {
            id: format.id.to_string(),
            title: format.title.to_string(),
            producers: format.producers.to_string(),
            extensions: format.extensions.iter().map(|extension| extension.to_string()).collect(),
        })
        .collect()
}

/// Display name of a format.
pub fn format_title(id: &str) -> String {
    FORMATS.iter().find(|format| format.id == id).map_or(id, |format| format.title).to_string()
}

/// Export formats of reports and traces, for the page's menu.
pub fn exporters() -> Vec<ExporterView> {
    EXPORTERS.iter().filter(|exporter| exporter.in_menu).map(|exporter| exporter_view(exporter)).collect()
}

fn exporter_view(exporter: &ExporterInfo) -> ExporterView {
    ExporterView {
        id: exporter.id.to_string(),
        title: exporter.title.to_string(),
        extension: exporter.extension.to_string(),
        takes_part: exporter.takes_part,
        can_redact: exporter.can_redact,
        takes_notes: exporter.takes_notes,
        // Unknown without a document.
        opens_in_perfetto: false,
    }
}
