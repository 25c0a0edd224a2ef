//! Timers.

use super::Local;
use gloo::timers::callback::Timeout;
use leptos::prelude::{SetValue, StoredValue, set_timeout, untrack};
use std::time::Duration;

/// Calls `act` after `ms` milliseconds, in any case.
pub fn after(ms: u32, act: impl FnOnce() + 'static) {
    // Not a `Timeout`: one that nobody holds has to be forgotten, and then its closure stays in memory after the call.
    set_timeout(act, Duration::from_millis(ms.into()));
}

/// A pause before an action, for example in typing. It ends without the action when the next one starts, and with its component.
#[derive(Clone, Copy)]
pub struct Pause(Local<Option<Timeout>>);

impl Pause {
    /// A pause of the current component, not started.
    pub fn new() -> Pause {
        Pause(StoredValue::new_local(None))
    }

    /// Starts again, and calls `act` after `ms` milliseconds.
    pub fn start(self, ms: u32, act: impl FnOnce() + 'static) {
        self.set(Some(Timeout::new(ms, move || untrack(act))));
    }

    /// Ends it without the action.
    pub fn cancel(self) {
        self.set(None);
    }

    fn set(self, timeout: Option<Timeout>) {
        // Without its component there is nothing to wait for, and the returned timeout is dropped.
        let _ = self.0.try_set_value(timeout);
    }
}
