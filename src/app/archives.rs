//! Zip archives: each is opened as a folder of files. A worker lists and unpacks them.

use super::browser::{self, Dropped, Folder, Picked};
use super::client::{Answer, Client, Event};
use super::file_groups::listed;
use super::state::App;
use super::words::words;
use leptos::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use tracedrop::base::text;
use tracedrop::engine::folder::may_be_archive;
use tracedrop::engine::protocol::Request;

/// Opening larger ones may take a moment, so a message is shown.
const LARGE_BYTES: f64 = 64e6;

/// Dropped files whose archives are being opened.
pub struct Opening {
    dropped: Dropped,
    waiting: Vec<Waiting>,
    then: Box<dyn FnOnce(Dropped)>,
}

/// An archive that is not opened yet.
pub struct Waiting {
    archive: Picked,
    /// Its folder among those that were dropped.
    folder: Option<usize>,
}

/// Continuation for an archive that the worker opens; `None` once called.
pub type Work = Rc<RefCell<Option<(Opening, Waiting)>>>;

impl App {
    /// Replaces archives by their files, then calls `then`. Files that only have the name of an archive stay.
    pub fn with_archives_opened(self, mut dropped: Dropped, then: impl FnOnce(Dropped) + 'static) {
        let mut waiting = Vec::new();
        let mut sort_out = |files: &mut Vec<Picked>, folder| {
            let (archives, others) =
                std::mem::take(files).into_iter().partition(|file| may_be_archive(&file.name));
            *files = others;
            let archives: Vec<Picked> = archives;
            waiting.extend(archives.into_iter().map(|archive| Waiting { archive, folder }));
        };
        sort_out(&mut dropped.files, None);
        for (at, folder) in dropped.folders.iter_mut().enumerate() {
            sort_out(&mut folder.files, Some(at));
        }
        // Taken from the end.
        waiting.reverse();
        self.open_next_archive(Opening { dropped, waiting, then: Box::new(then) });
    }

    fn open_next_archive(self, mut opening: Opening) {
        let Some(next) = opening.waiting.pop() else {
            return (opening.then)(opening.dropped);
        };
        if next.archive.blob.size() > LARGE_BYTES {
            self.say((words().opening.opening_archive)(&text::visible(&next.archive.name)));
        }
        if self.services.unpacker.with_value(|client| client.as_ref().is_none_or(Client::is_dead)) {
            self.services.n_unpacking.set_value(0);
            let on_event = move |event| {
                if let Event::Died { why, .. } = event {
                    self.alert((words().opening.archive_died)(&why));
                    // Only the archive is lost, not the files dropped with it.
                    let works = self.services.unpacking.try_update_value(std::mem::take).unwrap_or_default();
                    let lost = works.into_iter().filter_map(|work| work.take());
                    lost.for_each(|(opening, _)| browser::after(0, move || self.open_next_archive(opening)));
                }
            };
            self.services.unpacker.set_value(Client::start(on_event).ok());
        }
        let blob = next.archive.blob.clone();
        // An answer comes once.
        let work: Work = Rc::new(RefCell::new(Some((opening, next))));
        self.services.unpacking.update_value(|works| {
            works.retain(|work| work.borrow().is_some());
            works.push(work.clone());
        });
        let own = work.clone();
        let answer = move |answer| {
            let Some((mut opening, next)) = own.take() else { return };
            self.take_archive(&mut opening.dropped, next, answer);
            self.services.n_unpacking.update_value(|n| *n = n.saturating_sub(1));
            // Not inside its own message handler.
            browser::after(0, move || {
                self.open_next_archive(opening);
                if self.services.n_unpacking.get_value() == 0 {
                    self.services.unpacker.set_value(None);
                }
            });
        };
        self.services.n_unpacking.update_value(|n| *n += 1);
        self.services.unpacker.with_value(|client| match client {
            Some(client) => client.ask_with(|ticket| Request::ListArchive { ticket }, &[blob], answer),
            None => {
                self.alert((words().opening.archive_died)(""));
                if let Some((opening, _)) = work.take() {
                    browser::after(0, move || self.open_next_archive(opening));
                }
            }
        });
    }

    /// Replaces an archive by the files that the worker has found.
    fn take_archive(self, dropped: &mut Dropped, waiting: Waiting, answer: Answer) {
        let Waiting { archive, folder } = waiting;
        let shown = text::visible(&archive.name);
        match answer {
            Answer::Archive { files, left_out, is_cut } => {
                let inside = files.into_iter().map(|(file, blob)| {
                    let name = file.name.rsplit('/').next().unwrap_or_default().to_string();
                    let unpacked_bytes = Some(file.n_bytes);
                    let path = format!("{}/{}", archive.path, file.name);
                    Picked { path, unpacked_bytes, ..Picked::of_blob(name, blob) }
                });
                match folder.and_then(|at| dropped.folders.get_mut(at)) {
                    Some(folder) => folder.files.extend(inside),
                    None => {
                        let (name, files) = (archive.name.clone(), inside.collect());
                        dropped.folders.push(Folder { name, files, ..Folder::default() });
                    }
                }
                if !left_out.is_empty() {
                    let files = left_out
                        .iter()
                        .map(|file| format!("{} ({})", text::visible(&file.file_name), file.why.what));
                    self.alert((words().opening.left_out_of_archive)(
                        &shown,
                        &listed(&files.collect::<Vec<_>>()),
                    ));
                }
                if is_cut {
                    self.alert((words().opening.folder_is_cut)(&shown));
                }
            }
            // Its content decides.
            Answer::Refused(failure) if failure.code == "no-archive" => {
                match folder.and_then(|at| dropped.folders.get_mut(at)) {
                    Some(folder) => folder.files.push(archive),
                    None => dropped.files.push(archive),
                }
            }
            Answer::Refused(failure) => self.alert((words().opening.archive_refused)(&shown, &failure.what)),
            _ => {}
        }
    }
}
