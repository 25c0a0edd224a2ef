//! Exports that the worker of a tab writes.

use super::Tab;
use crate::app::browser;
use crate::app::client::Answer;
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::base::text;
use tracedrop::engine::protocol::{ExporterView, Request, ShareOptions};

/// An export that is being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exporting {
    pub title: String,
    pub bytes: u64,
}

impl Tab {
    pub fn export(self, exporter: ExporterView) {
        self.export_with(exporter, ShareOptions::default());
    }

    /// The same for a part or redacted. Includes notes if the format can contain them.
    pub fn export_with(self, exporter: ExporterView, options: ShareOptions) {
        let options = self.with_notes(options);
        if self.run.exporting.with_untracked(Option::is_some) {
            return;
        }
        let ExporterView { id, title, takes_notes, .. } = exporter;
        // Redacted notes are not saved.
        let saved = options.notes.clone().filter(|_| takes_notes && options.redact.is_none());
        self.run.exporting.set(Some(Exporting { title, bytes: 0 }));
        let app = self.app;
        self.ask(
            |ticket| Request::Share { ticket, exporter: id, options },
            move |answer| match answer {
                Answer::ExportProgress(bytes) => self.run.exporting.update(|exporting| {
                    if let Some(exporting) = exporting {
                        exporting.bytes = bytes;
                    }
                }),
                Answer::Exported { file_name, bytes, left_out, blob } => {
                    self.run.exporting.set(None);
                    browser::download(&file_name, &blob);
                    if let Some(notes) = &saved {
                        self.mark_saved(notes);
                    }
                    app.say((words().export.exported)(&text::visible(&file_name), bytes, &left_out));
                }
                Answer::Refused(failure) => {
                    self.run.exporting.set(None);
                    app.alert((words().export.refused)(&failure.what, &failure.hint));
                }
                _ => {}
            },
        );
    }

    /// Adds the current notes.
    pub fn with_notes(self, options: ShareOptions) -> ShareOptions {
        ShareOptions { notes: Some(self.notes.get_untracked()), ..options }
    }
}
