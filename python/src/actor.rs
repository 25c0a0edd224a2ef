//! A document on a thread of its own.
//!
//! A session belongs to one thread, and Python calls from any. So a thread holds the document and answers questions; the caller
//! waits without the GIL, passes on progress, and notices Ctrl-C.

use crate::cli::watch::{self, Doing, Listener};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::process;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;
use tracedrop::engine::{Compared, Linked, Session, Shown};
use tracedrop::trace::Run;

/// Time between two looks at progress and signals.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A thread needs the stack of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// What is open.
pub enum Held {
    Nothing,
    Session(Box<Session>),
    Linked(Box<Linked>),
    Compared(Box<Compared>),
}

impl Held {
    pub fn shown(&mut self) -> Option<&mut dyn Shown> {
        match self {
            Held::Nothing => None,
            Held::Session(session) => Some(&mut **session),
            Held::Linked(linked) => Some(&mut **linked),
            Held::Compared(compared) => Some(&mut **compared),
        }
    }
}

/// What the thread of a document holds.
pub struct State {
    pub held: Held,
    /// Traces that tables of events refer to: a document that changes its own then changes a copy.
    pub lent: Vec<Rc<Run>>,
}

type Job = Box<dyn FnOnce(&mut State) + Send>;

/// Handle of the thread, which ends with the last handle.
pub struct Actor {
    jobs: Mutex<Sender<Job>>,
    /// Process of the thread; a fork of it has none.
    process: u32,
}

/// Progress and messages of one question, shared by both threads.
#[derive(Default)]
struct Progress {
    is_stopped: AtomicBool,
    is_at_reports: AtomicBool,
    /// Bits of a double; NaN if unknown.
    share: AtomicU64,
}

/// Listens on the thread of the document.
struct Ear {
    progress: Arc<Progress>,
    said: RefCell<Vec<String>>,
}

impl Listener for Ear {
    fn said(&self, line: &str) {
        self.said.borrow_mut().push(line.to_string());
    }

    fn progress(&self, doing: Doing, share: Option<f64>) {
        self.progress.is_at_reports.store(doing == Doing::Reports, Ordering::Relaxed);
        self.progress.share.store(share.unwrap_or(f64::NAN).to_bits(), Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.progress.is_stopped.load(Ordering::Relaxed)
    }
}

impl Actor {
    pub fn start() -> PyResult<Arc<Actor>> {
        let (jobs, work) = mpsc::channel::<Job>();
        thread::Builder::new().name("tracedrop".to_string()).stack_size(STACK_BYTES).spawn(move || {
            let mut state = State { held: Held::Nothing, lent: Vec::new() };
            for job in work {
                job(&mut state);
            }
        })?;
        Ok(Arc::new(Actor { jobs: Mutex::new(jobs), process: process::id() }))
    }

    /// Answer of the document to `question`, and the messages on the way. `listener` is called with what is being done
    /// (`"reading"`, `"reports"`) and its share from 0 to 1, or `None`.
    pub fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        listener: Option<&Bound<'_, PyAny>>,
        question: impl FnOnce(&mut State) -> T + Send + 'static,
    ) -> PyResult<(T, Vec<String>)> {
        if self.process != process::id() {
            return Err(PyRuntimeError::new_err(
                "this trace was opened before the process was forked, which copies no threads; open it in the new process",
            ));
        }
        let progress = Arc::new(Progress::default());
        progress.share.store(f64::NAN.to_bits(), Ordering::Relaxed);
        let (reply, mut answers) = mpsc::channel();
        let of_job = progress.clone();
        let job: Job = Box::new(move |state| {
            let ear = Rc::new(Ear { progress: of_job, said: RefCell::default() });
            let answer = watch::with(ear.clone(), || question(state));
            let _ = reply.send((answer, ear.said.take()));
        });
        let sent = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).send(job);
        sent.map_err(|_| ended())?;
        let mut told = (false, f64::NAN.to_bits());
        loop {
            // A receiver is not shared between threads, so it goes into the closure and comes back.
            let (receiver, answer) = py.detach(move || {
                let answer = answers.recv_timeout(LOOK_EVERY);
                (answers, answer)
            });
            answers = receiver;
            match answer {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now =
                (progress.is_at_reports.load(Ordering::Relaxed), progress.share.load(Ordering::Relaxed));
            let heard = match listener.filter(|_| now != told) {
                Some(listener) => {
                    told = now;
                    let doing = if now.0 { "reports" } else { "reading" };
                    let share = Some(f64::from_bits(now.1)).filter(|share| !share.is_nan());
                    listener.call1((doing, share)).map(drop)
                }
                None => Ok(()),
            };
            if let Err(error) = heard.and_then(|()| py.check_signals()) {
                // The thread stops at its next chunk or report; nobody waits for it.
                progress.is_stopped.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
    }
}

fn ended() -> PyErr {
    PyRuntimeError::new_err(
        "the thread of this trace ended unexpectedly, which is an error in tracedrop; open the trace again",
    )
}
