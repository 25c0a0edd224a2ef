//! Exports that the worker of a tab writes.

use super::Tab;
use crate::app::browser;
use crate::app::client::Answer;
use crate::app::words::words;
use leptos::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use tracedrop::base::text;
use tracedrop::engine::protocol::{ExporterView, Request, ShareOptions};

/// `id` of the format whose reports have pictures of timelines.
const WITH_PICTURES: &str = "html";

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
        let id = exporter.id.clone();
        self.with_drawings(&id, move || self.export_now(exporter.clone(), options.clone()));
    }

    /// Gives a comparison what is drawn of both timelines, if the format has pictures and both files are open, and then acts.
    pub fn with_drawings(self, exporter: &str, act: impl Fn() + 'static) {
        let sides = untrack(|| self.timeline_pair()).filter(|_| exporter == WITH_PICTURES);
        let Some(sides) = sides else { return act() };
        let act = Rc::new(act);
        let got: Rc<RefCell<[Option<Vec<u8>>; 2]>> = Rc::default();
        for (at, side) in sides.into_iter().enumerate() {
            let (act, got) = (act.clone(), got.clone());
            side.ask(
                |ticket| Request::Drawn { ticket },
                move |answer| {
                    // What cannot be drawn is left out.
                    let drawn = if let Answer::Drawn(drawn) = answer { drawn } else { Vec::new() };
                    got.borrow_mut()[at] = Some(drawn);
                    let both = got.borrow().clone();
                    if let [Some(a), Some(b)] = both {
                        self.send(&Request::Drawings { sides: [a, b] });
                        act();
                    }
                },
            );
        }
    }

    fn export_now(self, exporter: ExporterView, options: ShareOptions) {
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
