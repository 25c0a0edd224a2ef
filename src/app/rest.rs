//! Ends the workers of hidden tabs and restarts them on demand: browsers allow one or two hundred workers, and each takes about
//! 30 MB. The report stays as it is meanwhile, with the order and filters of its tables.

use super::browser;
use super::client::{Answer, Client};
use super::state::{App, Phase, Tab};
use super::words::words;
use leptos::prelude::*;
use std::rc::Rc;
use tracedrop::base::sort;
use tracedrop::compare::PhaseFilter;
use tracedrop::engine::protocol::{Failure, Request};

/// Maximum number of tabs with a worker, as far as tabs can do without.
const MAX_AWAKE: usize = 12;

/// Whether a tab has its worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rest {
    #[default]
    Awake,
    /// The worker has ended; the document is there.
    Asleep,
    /// Another worker reads the same again.
    Waking,
}

/// A request waiting for a worker.
pub enum Waiting {
    Told(Request),
    Asked { request: Box<dyn FnOnce(u32) -> Request>, answer: Rc<dyn Fn(Answer)> },
}

impl App {
    /// Ends the workers of the tabs hidden the longest, if there are many.
    pub fn let_idle_rest(self) {
        // Not inside a message handler of one of them.
        browser::after(0, move || self.end_idle());
    }

    fn end_idle(self) {
        let active = self.active.get_untracked();
        let with_worker: Vec<Tab> =
            self.tabs.with_untracked(|tabs| tabs.iter().copied().filter(|tab| tab.has_worker()).collect());
        let n_too_many = with_worker.len().saturating_sub(MAX_AWAKE);
        if n_too_many == 0 {
            return;
        }
        let is_awaited =
            |tab: &Tab| self.to_compare.with_value(|waiting| waiting.iter().any(|ids| ids.contains(&tab.id)));
        let may_rest = |tab: &Tab| Some(tab.id) != active && tab.may_rest() && !is_awaited(tab);
        let mut idle: Vec<Tab> = with_worker.into_iter().filter(may_rest).collect();
        sort::by(&mut idle, |a, b| a.run.seen_ms.get_value().total_cmp(&b.run.seen_ms.get_value()));
        idle.into_iter().take(n_too_many).for_each(Tab::fall_asleep);
    }
}

impl Tab {
    fn has_worker(self) -> bool {
        self.run.client.with_value(Option::is_some)
    }

    /// Whether it is parsed, and parsing again would give the same.
    pub fn can_come_back(self) -> bool {
        let is_whole = self.document.with_untracked(|document| {
            document.as_ref().is_some_and(|document| {
                // A comparison is repeated as it was made.
                let sides = document.sides.as_ref();
                let is_first = sides.is_none_or(|sides| !sides.is_swapped && sides.phase == PhaseFilter::All);
                !document.partial && document.range.chosen.is_none() && is_first
            })
        });
        is_whole
            && self.run.rest.get_value() == Rest::Awake
            && self.run.phase.with_untracked(|phase| *phase == Phase::Done)
            && self.run.stopped_ms.get_value() == 0.0
            && self.run.made_again.with_untracked(Option::is_none)
    }

    /// Whether nothing is in progress that would be lost.
    fn may_rest(self) -> bool {
        let is_idle = self.run.client.with_value(|client| client.as_ref().is_some_and(Client::is_idle))
            && self.run.exporting.with_untracked(Option::is_none)
            && self.share.with_untracked(Option::is_none)
            && !self.awaits_digests.get_value()
            && self.link_match.with_value(Option::is_none);
        // An index being written would be lost; the SHA-256 comes last.
        let is_kept = !self.may_be_kept() || self.digests.with_untracked(Option::is_some);
        self.can_come_back() && is_idle && is_kept
    }

    fn fall_asleep(self) {
        self.run.rest.set_value(Rest::Asleep);
        self.run.client.set_value(None);
    }

    /// Parses the same again in a new worker, for the waiting requests.
    fn wake(self) {
        let Some(source) = self.source.with_value(Clone::clone) else { return };
        let Some(query) = self.document.with_untracked(|document| Some(document.as_ref()?.query.clone()))
        else {
            return;
        };
        self.run.rest.set_value(Rest::Waking);
        self.start_worker(source, query, false);
    }

    /// Queues a request until there is a worker; returns it if there is one.
    pub fn keep_waiting(self, waiting: Waiting) -> Option<Waiting> {
        match self.run.rest.get_value() {
            Rest::Awake => return Some(waiting),
            Rest::Asleep => {
                self.run.waiting.update_value(|all| all.push(waiting));
                self.wake();
            }
            Rest::Waking => self.run.waiting.update_value(|all| all.push(waiting)),
        }
        None
    }

    /// Sends the queued requests to the new worker.
    pub fn woke_up(self) {
        self.run.rest.set_value(Rest::Awake);
        for waiting in self.run.waiting.try_update_value(std::mem::take).unwrap_or_default() {
            self.run.client.with_value(|client| match (client, waiting) {
                (Some(client), Waiting::Told(request)) => client.send(&request),
                (Some(client), Waiting::Asked { request, answer }) => {
                    client.ask(request, move |it| answer(it));
                }
                (None, _) => {}
            });
        }
    }

    /// After a failed restart: the view stays, queued requests are refused.
    pub fn stays_asleep(self, failure: &Failure) {
        self.run.rest.set_value(Rest::Asleep);
        self.run.made_again.set(None);
        // Not inside its own message handler.
        browser::after(0, move || {
            if self.run.rest.get_value() == Rest::Asleep {
                self.run.client.set_value(None);
            }
        });
        self.refuse_waiting(failure);
        self.n_refused.update(|n| *n += 1);
        self.app.alert((words().export.refused)(&failure.what, &failure.hint));
    }

    /// Drops the queued requests.
    pub fn refuse_waiting(self, failure: &Failure) {
        for waiting in self.run.waiting.try_update_value(std::mem::take).unwrap_or_default() {
            if let Waiting::Asked { answer, .. } = waiting {
                answer(Answer::Refused(failure.clone()));
            }
        }
    }

    /// Ends the worker of a tab that cannot be queried, after the current message.
    pub fn end_worker(self) {
        browser::after(0, move || {
            let is_over =
                self.run.phase.with_untracked(|phase| matches!(phase, Phase::Failed(_) | Phase::Died(_)));
            if is_over {
                self.run.client.set_value(None);
            }
        });
    }
}
