//! Workers that help others to read large files. They are started with the page, and again when another file is in sight, and
//! belong to whoever reads: each takes some 30 MB, which who looks at a report has no use for.

use super::browser::{self, Port, WorkerHandle};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tracedrop::engine::protocol::{self, Request};

/// Workers that read one file, at most, with the one that joins.
const MAX_READERS: usize = 4;

/// Helpers that have nothing to do.
#[derive(Default)]
pub struct Pool {
    free: Vec<Helper>,
    /// Those that help somebody.
    n_out: usize,
    is_started: bool,
}

impl Pool {
    /// Starts the helpers.
    pub fn start(&mut self) {
        self.is_started = true;
        let n_helpers = browser::n_processors().min(MAX_READERS) - 1;
        self.free.retain(|helper| !helper.is_dead());
        // Without helpers reading takes longer, and works.
        let n_there = self.free.len() + self.n_out;
        self.free.extend((n_there..n_helpers).map_while(|_| Helper::start().ok()));
    }

    /// A file is in sight: those that have ended are started anew, if there have been any.
    pub fn expect_file(&mut self) {
        if self.is_started {
            self.start();
        }
    }

    /// All that are free; those that have ended are started anew. None if all of them help somebody.
    pub fn take(&mut self) -> Vec<Helper> {
        if self.is_started && self.n_out == 0 {
            self.start();
        }
        self.n_out += self.free.len();
        std::mem::take(&mut self.free)
    }

    /// Helpers have done their work. They end: a program for the web never gives back memory that it has taken, and who
    /// reads is going to need it.
    pub fn dismiss(&mut self, helpers: Vec<Helper>) {
        self.n_out -= helpers.len().min(self.n_out);
    }
}

type OnDeath = Rc<RefCell<Option<Box<dyn Fn()>>>>;

/// A worker that reads parts of files for others.
pub struct Helper {
    worker: WorkerHandle,
    dead: Rc<Cell<bool>>,
    on_death: OnDeath,
}

impl Helper {
    fn start() -> Result<Helper, String> {
        let (dead, on_death) = (Rc::new(Cell::new(false)), OnDeath::default());
        let (is_dead, hears) = (dead.clone(), on_death.clone());
        let worker = WorkerHandle::start(
            |_, _| {},
            move |_| {
                is_dead.set(true);
                if let Some(listener) = hears.borrow_mut().take() {
                    listener();
                }
            },
        )?;
        Ok(Helper { worker, dead, on_death })
    }

    fn is_dead(&self) -> bool {
        self.dead.get()
    }

    /// Has it help the worker at the other end of the port that comes back. `on_death` is told if it ends meanwhile.
    pub fn help(&self, on_death: impl Fn() + 'static) -> Option<Port> {
        let (near, far) = browser::channel()?;
        *self.on_death.borrow_mut() = Some(Box::new(on_death));
        self.worker.post(&protocol::encode(&Request::Help), &[], vec![far]).ok()?;
        Some(near)
    }
}
