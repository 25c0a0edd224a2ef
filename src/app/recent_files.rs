//! Cached files: the list of indexes, and whether caching is on.

use super::browser::{self, Local, Neighbours, PendingHandle, Picked};
use super::client::{Answer, Client};
use leptos::prelude::*;
use leptos::task::spawn_local;
use tracedrop::engine::protocol::{KeptView, Request};

const REMEMBERED_AS: &str = "tracedrop-keep";
const NOTHING: &str = "nothing";
const NEIGHBOURS: &str = "tracedrop-indexes";

/// The list, and the worker that reads it.
#[derive(Clone, Copy)]
pub struct RecentFiles {
    /// Newest first. `None` if unknown, or if there is no cache.
    pub entries: RwSignal<Option<Vec<KeptView>>>,
    /// Names of dropped files that can be opened again without a dialog.
    pub reopenable: RwSignal<Vec<String>>,
    /// Whether to cache files from now on.
    pub keeps: RwSignal<bool>,
    /// Exists while requests are pending; `n_asked` is their number.
    librarian: Local<Option<Client>>,
    n_asked: StoredValue<u32>,
    /// Other pages with the same list.
    neighbours: Local<Option<Neighbours>>,
}

impl RecentFiles {
    pub fn new() -> RecentFiles {
        RecentFiles {
            entries: RwSignal::new(None),
            reopenable: RwSignal::default(),
            keeps: RwSignal::new(browser::remembered(REMEMBERED_AS).as_deref() != Some(NOTHING)),
            librarian: StoredValue::new_local(None),
            n_asked: StoredValue::new(0),
            neighbours: StoredValue::new_local(None),
        }
    }

    /// Reads the list, now and whenever another page changes it.
    pub fn follow(self) {
        self.neighbours.set_value(Neighbours::on_change(NEIGHBOURS, move || self.refresh()));
        self.refresh();
        spawn_local(async move { self.reopenable.set(browser::handle_names().await) });
    }

    /// Reads the list again, here and in all other pages, after a change.
    pub fn has_changed(self) {
        self.refresh();
        self.tell_neighbours();
    }

    fn tell_neighbours(self) {
        self.neighbours.with_value(|neighbours| {
            if let Some(neighbours) = neighbours {
                neighbours.tell();
            }
        });
    }

    /// Reads the list again.
    pub fn refresh(self) {
        self.ask(|ticket| Request::ListKept { ticket }, || {});
    }

    /// Cached file of that name.
    pub fn entry_of(self, name: &str) -> Option<KeptView> {
        self.entries.with(|entries| entries.iter().flatten().find(|entry| entry.file_name == name).cloned())
    }

    /// Removes one file from the cache.
    pub fn forget(self, key: String) {
        self.forget_and_tell(Some(key));
    }

    pub fn forget_all(self) {
        self.forget_and_tell(None);
    }

    /// Keeps the handles of dropped files, unless nothing is to be kept.
    pub fn keep_handles(self, handles: Vec<PendingHandle>) {
        if handles.is_empty() || !self.keeps.get_untracked() {
            return;
        }
        spawn_local(async move {
            for handle in handles {
                browser::keep_handle(handle).await;
            }
            self.reopenable.set(browser::handle_names().await);
        });
    }

    /// Opens a file by its handle and passes it to `then`, or `None` if that is refused or the file is gone.
    pub fn reopen(self, name: String, then: impl FnOnce(Option<Picked>) + 'static) {
        spawn_local(async move {
            let file = browser::file_by_handle(&name).await;
            if file.is_none() {
                browser::forget_handles(Some(&name)).await;
                self.reopenable.update(|names| names.retain(|other| *other != name));
            }
            then(file);
        });
    }

    fn forget_handles(self, name: Option<String>) {
        self.reopenable.update(|names| names.retain(|other| name.as_ref().is_some_and(|name| other != name)));
        spawn_local(async move {
            browser::forget_handles(name.as_deref()).await;
        });
    }

    fn forget_and_tell(self, key: Option<String>) {
        let name = key.as_ref().and_then(|key| {
            self.entries.with_untracked(|entries| {
                entries.iter().flatten().find(|entry| entry.key == *key).map(|entry| entry.file_name.clone())
            })
        });
        if key.is_none() || name.is_some() {
            self.forget_handles(name);
        }
        self.ask(|ticket| Request::Forget { ticket, key }, move || self.tell_neighbours());
    }

    /// Switches caching on or off; off also clears the cache.
    ///
    /// Workers about to write an index have to be notified: see [`super::state::App::set_keeps`].
    pub fn set_keeps(self, keeps: bool) {
        self.keeps.set(keeps);
        browser::remember(REMEMBERED_AS, (!keeps).then_some(NOTHING));
        if keeps { self.refresh() } else { self.forget_all() }
    }

    fn ask(self, request: impl FnOnce(u32) -> Request, then: impl Fn() + 'static) {
        if self.librarian.with_value(|client| client.as_ref().is_none_or(Client::is_dead)) {
            self.n_asked.set_value(0);
            self.librarian.set_value(Client::start(|_| {}).ok());
        }
        self.librarian.with_value(|client| {
            if let Some(client) = client {
                self.n_asked.update_value(|n| *n += 1);
                client.ask(request, move |answer| {
                    if let Answer::Kept(entries) = answer {
                        self.entries.set(entries);
                        then();
                    }
                    self.n_asked.update_value(|n| *n = n.saturating_sub(1));
                    // Not inside its own message handler, and not while it is busy.
                    browser::after(0, move || {
                        if self.n_asked.get_value() == 0 {
                            self.librarian.set_value(None);
                        }
                    });
                });
            }
        });
    }
}
