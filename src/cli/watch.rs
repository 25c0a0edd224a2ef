//! What a program that runs the command's functions hears of them: messages, progress, and a way to stop.
//!
//! A listener belongs to a thread. Without one, messages go to standard error and nothing stops early.

use std::cell::RefCell;
use std::fmt;
use std::io::Write;
use std::rc::Rc;

/// What is being done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doing {
    Reading,
    Reports,
}

/// Hears of the work on its thread.
pub trait Listener {
    /// A message that the command prints to standard error: one line without its line end.
    fn said(&self, line: &str);

    /// Progress from 0 to 1; `None` where the size of a file is unknown.
    fn progress(&self, _doing: Doing, _share: Option<f64>) {}

    /// Whether to stop reading and making reports.
    fn is_stopped(&self) -> bool {
        false
    }
}

thread_local! {
    static LISTENER: RefCell<Option<Rc<dyn Listener>>> = const { RefCell::new(None) };
}

/// Runs `work` with a listener on this thread.
pub fn with<T>(listener: Rc<dyn Listener>, work: impl FnOnce() -> T) -> T {
    let before = LISTENER.replace(Some(listener));
    let made = work();
    LISTENER.set(before);
    made
}

fn listener() -> Option<Rc<dyn Listener>> {
    LISTENER.with_borrow(Clone::clone)
}

/// Passes on a message. A closed pipe, as with `2>&1 | head`, is not a failure.
pub fn say(line: fmt::Arguments<'_>) {
    match listener() {
        Some(listener) => listener.said(&line.to_string()),
        None => {
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}

pub fn progress(doing: Doing, share: Option<f64>) {
    if let Some(listener) = listener() {
        listener.progress(doing, share);
    }
}

pub fn is_stopped() -> bool {
    listener().is_some_and(|listener| listener.is_stopped())
}
