//! Helpers that parse parts of large files for other workers. They start with the page, and again before another file is opened.
//! They exist only while files are parsed, because each takes about 30 MB.

use super::browser::{self, Port, WorkerHandle};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use tracedrop::engine::protocol::{self, Request};

/// Maximum number of workers for one file, including the one that joins the parts.
const MAX_READERS: usize = 4;

/// Idle helpers.
#[derive(Default)]
pub struct HelperPool {
    free: Vec<Helper>,
    /// Busy helpers.
    n_out: usize,
    is_started: bool,
}

impl HelperPool {
    /// Starts the helpers.
    pub fn start(&mut self) {
        self.is_started = true;
        let n_helpers = browser::n_processors().min(MAX_READERS) - 1;
        self.free.retain(|helper| !helper.is_dead());
        // Without helpers, parsing works but takes longer.
        let n_there = self.free.len() + self.n_out;
        self.free.extend((n_there..n_helpers).map_while(|_| Helper::start().ok()));
    }

    /// Restarts ended helpers before a file is opened, if there were any.
    pub fn expect_file(&mut self) {
        if self.is_started {
            self.start();
        }
    }

    /// All idle helpers, restarting those that have ended. Empty if all are busy.
    pub fn take(&mut self) -> Vec<Helper> {
        if self.is_started && self.n_out == 0 {
            self.start();
        }
        self.n_out += self.free.len();
        std::mem::take(&mut self.free)
    }

    /// Ends helpers after use: WebAssembly never returns memory, and the parsing worker is going to need it.
    pub fn dismiss(&mut self, helpers: Vec<Helper>) {
        self.n_out -= helpers.len().min(self.n_out);
    }
}

type OnDeath = Rc<RefCell<Option<Box<dyn Fn()>>>>;

/// A worker that parses parts of files for others.
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

    /// Makes it help the worker at the other end of the returned port. Calls `on_death` if it ends meanwhile.
    pub fn help(&self, on_death: impl Fn() + 'static) -> Option<Port> {
        let (near, far) = browser::channel()?;
        *self.on_death.borrow_mut() = Some(Box::new(on_death));
        self.worker.post(&protocol::encode(&Request::Help), &[], vec![far]).ok()?;
        Some(near)
    }
}
