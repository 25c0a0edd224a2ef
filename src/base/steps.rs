//! Long computations in steps, so that a single thread can do other work in between.
//!
//! A computation is an `async` function that calls [`pause`] every few thousand rows or bytes. Whoever needs the result at once
//! calls [`run`], to which pauses cost next to nothing; a scheduler calls [`Steps::step`] until time is up, goes on later, or drops
//! the rest. Nothing here waits for anything: there are no timers, threads or wake-ups.

use super::progress;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A computation in steps.
pub struct Steps<'a, T>(Pin<Box<dyn Future<Output = T> + 'a>>);

impl<'a, T> Steps<'a, T> {
    /// Starts nothing yet.
    pub fn new(work: impl Future<Output = T> + 'a) -> Steps<'a, T> {
        Steps(Box::pin(work))
    }

    /// Goes on to the next pause. The result at the end, after which it must not be called again.
    pub fn step(&mut self) -> Option<T> {
        match self.0.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => Some(result),
            Poll::Pending => None,
        }
    }
}

impl<T> Future for Steps<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        self.0.as_mut().poll(context)
    }
}

/// Ends a step.
pub async fn pause() {
    let mut has_paused = false;
    poll_fn(|_| match std::mem::replace(&mut has_paused, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// Runs all steps.
pub fn run<T>(work: impl Future<Output = T>) -> T {
    let mut work = Box::pin(work);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = work.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// [`progress::within`] for a computation in steps. Boxed, because a computation contains all others that it awaits, twice where it
/// takes them as arguments, and stacks are small.
pub fn within<T>(start: f64, end: f64, work: impl Future<Output = T>) -> impl Future<Output = T> {
    let mut work = Box::pin(work);
    poll_fn(move |context| progress::within(start, end, || work.as_mut().poll(context)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    async fn sum(n: u64) -> u64 {
        let mut sum = 0;
        for i in 0..n {
            sum += i;
            progress::tell((i + 1) as f64 / n as f64);
            pause().await;
        }
        sum
    }

    #[test]
    fn a_step_ends_at_a_pause() {
        let mut steps = Steps::new(async { sum(3).await + sum(2).await });
        let mut n_steps = 0;
        let result = loop {
            n_steps += 1;
            if let Some(result) = steps.step() {
                break result;
            }
        };
        assert_eq!((result, n_steps), (4, 6));
        assert_eq!(run(sum(1000)), 499_500);
    }

    #[test]
    fn shares_of_steps_are_shares_of_the_whole() {
        let heard = Rc::new(RefCell::new(Vec::new()));
        let hears = heard.clone();
        let mut steps = Steps::new(within(0.5, 1.0, sum(2)));
        progress::listening(move |share| hears.borrow_mut().push(share), || while steps.step().is_none() {});
        assert_eq!(heard.take(), [0.75, 1.0]);
    }
}
