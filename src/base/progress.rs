//! Progress of synchronous work, which occupies its thread: it reports to a listener on that thread.
//!
//! Work reports its progress from 0 to 1; callers use [`within`] to map it to a range of the larger task. On other threads,
//! and without a listener, reporting does nothing.

use std::cell::{Cell, RefCell};

type Listener = Box<dyn FnMut(f64)>;

thread_local! {
    static LISTENER: RefCell<Option<Listener>> = RefCell::default();
    /// Range of the whole that 0 and 1 map to.
    static RANGE: Cell<(f64, f64)> = const { Cell::new((0.0, 1.0)) };
}

/// Runs `work` and calls `each` with its progress from 0 to 1, ascending, in irregular steps. Repeated values, as from work
/// done in two passes, are dropped.
pub fn listening<T>(mut each: impl FnMut(f64) + 'static, work: impl FnOnce() -> T) -> T {
    let mut furthest = 0.0;
    let ascending = move |share: f64| {
        if share > furthest {
            furthest = share;
            each(share);
        }
    };
    let before = LISTENER.with_borrow_mut(|listener| listener.replace(Box::new(ascending)));
    let range = RANGE.replace((0.0, 1.0));
    let made = work();
    RANGE.set(range);
    LISTENER.with_borrow_mut(|listener| *listener = before);
    made
}

/// Runs `work` as the range from `start` to `end` of the caller's task.
pub fn within<T>(start: f64, end: f64, work: impl FnOnce() -> T) -> T {
    let (from, to) = RANGE.get();
    let at = |share: f64| from + (to - from) * share;
    RANGE.set((at(start), at(end)));
    let made = work();
    RANGE.set((from, to));
    made
}

/// Reports progress from 0 to 1.
pub fn tell(share: f64) {
    let (from, to) = RANGE.get();
    // Taken out during the call, in case the listener reports progress itself.
    if let Some(mut listener) = LISTENER.take() {
        listener(from + (to - from) * share.clamp(0.0, 1.0));
        LISTENER.set(Some(listener));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn shares_of_parts_are_shares_of_the_whole() {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let hears = heard.clone();
        tell(0.3);
        let made = listening(
            move |share| hears.borrow_mut().push(share),
            || {
                tell(0.0);
                within(0.5, 1.0, || {
                    tell(0.5);
                    within(0.5, 1.0, || tell(2.0));
                });
                std::thread::spawn(|| tell(0.1)).join().unwrap();
                tell(0.25);
                7
            },
        );
        tell(0.9);
        assert_eq!((made, heard.take()), (7, vec![0.75, 1.0]));
    }
}
