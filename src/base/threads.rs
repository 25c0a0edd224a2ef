//! Thread pool sizes, and running tasks in parallel.
//!
//! On the web a program has one thread here; other workers are used through messages, which is not the task of this layer.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Maximum threads: more mostly wait for memory.
const MAX_THREADS: usize = 8;

thread_local! {
    static IS_ONE_OF_SEVERAL: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as one of several workers, so that it starts no threads.
pub fn be_one_of_several() {
    IS_ONE_OF_SEVERAL.set(true);
}

/// Number of useful threads, including the current one.
pub fn n_threads() -> usize {
    if cfg!(target_family = "wasm") || IS_ONE_OF_SEVERAL.get() {
        return 1;
    }
    std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS)
}

/// Results of `task` for each number below `n_tasks`, in order. Runs one thread per element of `states`, each taking the next
/// number; the current thread is one of them and does what others cannot.
pub fn map<S: Send, T: Send>(
    n_tasks: usize,
    states: &mut [S],
    task: impl Fn(usize, &mut S) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(n_tasks));
    let work = |state: &mut S| {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= n_tasks {
                return;
            }
            let result = task(number, state);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
        }
    };
    let Some((own, others)) = states.split_first_mut() else { return Vec::new() };
    if others.is_empty() {
        return (0..n_tasks).map(|number| task(number, own)).collect();
    }
    std::thread::scope(|scope| {
        let work = &work;
        for state in others.iter_mut().take(n_tasks.saturating_sub(1)) {
            // If a thread cannot be started, the others do its work.
            drop(std::thread::Builder::new().spawn_scoped(scope, move || work(state)));
        }
        work(own);
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// A task to run once.
pub type Task<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Runs all `tasks` in order on at most `n_threads` threads, including the current one.
pub fn run(n_threads: usize, tasks: Vec<Task<'_>>) {
    let n_others = n_threads.min(tasks.len()).saturating_sub(1);
    let tasks = Mutex::new(tasks.into_iter());
    let work = || {
        loop {
            let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(task) = task else { return };
            task();
        }
    };
    if n_others == 0 {
        return work();
    }
    std::thread::scope(|scope| {
        for _ in 0..n_others {
            // If a thread cannot be started, the others do its work.
            drop(std::thread::Builder::new().spawn_scoped(scope, work));
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order_however_many_threads() {
        for n_states in 1..6 {
            for n_tasks in [0, 1, 3, 100] {
                let mut states = vec![0usize; n_states];
                let results = map(n_tasks, &mut states, |number, n_done| {
                    *n_done += 1;
                    number * 2
                });
                assert_eq!(results, (0..n_tasks).map(|number| number * 2).collect::<Vec<_>>());
                assert_eq!(states.iter().sum::<usize>(), n_tasks);
            }
        }
    }

    #[test]
    fn tasks_are_done_once_however_many_threads() {
        for n_threads in 0..4 {
            let mut done = [0; 20];
            run(n_threads, done.iter_mut().map(|done| Box::new(move || *done += 1) as Task<'_>).collect());
            assert_eq!(done, [1; 20], "{n_threads} threads");
        }
    }
}
