//! What the browser keeps of files that were opened: the list of indexes, and whether anything is kept at all.

use super::browser::{self, Local, Neighbours};
use super::client::{Answer, Client};
use leptos::prelude::*;
use tracedrop::engine::protocol::{KeptView, Request};

const REMEMBERED_AS: &str = "tracedrop-keep";
const NOTHING: &str = "nothing";
const NEIGHBOURS: &str = "tracedrop-indexes";

/// The list, and who is asked for it.
#[derive(Clone, Copy)]
pub struct Shelf {
    /// The one written last first. `None` if it is not known, or nothing can be kept here.
    pub entries: RwSignal<Option<Vec<KeptView>>>,
    /// Indexes of files that are opened from now on are kept.
    pub keeps: RwSignal<bool>,
    /// Lives while it is asked; `n_asked` answers are not there yet.
    librarian: Local<Option<Client>>,
    n_asked: StoredValue<u32>,
    /// Other pages that list the same.
    neighbours: Local<Option<Neighbours>>,
}

impl Shelf {
    pub fn new() -> Shelf {
        Shelf {
            entries: RwSignal::new(None),
            keeps: RwSignal::new(browser::remembered(REMEMBERED_AS).as_deref() != Some(NOTHING)),
            librarian: StoredValue::new_local(None),
            n_asked: StoredValue::new(0),
            neighbours: StoredValue::new_local(None),
        }
    }

    /// Reads the list, and from now on again whenever another page has changed it.
    pub fn follow(self) {
        self.neighbours.set_value(Neighbours::on_change(NEIGHBOURS, move || self.refresh()));
        self.refresh();
    }

    /// Something has been kept or removed: reads the list anew, here and in all other pages.
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

    /// Reads the list anew.
    pub fn refresh(self) {
        self.ask(|ticket| Request::ListKept { ticket }, || {});
    }

    /// Forgets one file.
    pub fn forget(self, key: String) {
        self.forget_and_tell(Some(key));
    }

    pub fn forget_all(self) {
        self.forget_and_tell(None);
    }

    fn forget_and_tell(self, key: Option<String>) {
        self.ask(|ticket| Request::Forget { ticket, key }, move || self.tell_neighbours());
    }

    /// Who wants nothing to be kept wants nothing to stay there either.
    ///
    /// Workers that are about to keep something have to be told: see [`super::state::App::set_keeps`].
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
                    // Not from within its own message, and not while it has something to do.
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
