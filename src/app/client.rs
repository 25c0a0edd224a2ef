//! Connection to one worker: sends requests, routes answers to callers and everything else to the tab.

use super::browser::{Attached, Blob, Port, WorkerHandle};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use tracedrop::base::hash::HashMap;
use tracedrop::engine::protocol::{
    self, AddedReport, AlignedStep, BudgetView, DocumentView, Failure, FlameView, FormatView, KeptView,
    LeftOutView, NamedFile, PreviewView, Progress, Request, Response, SearchHits, TimelineAnswer,
};
use tracedrop::report::view::{ColumnSum, TableRows};

/// Unsolicited message of a worker.
pub enum Event {
    Ready {
        formats: Vec<FormatView>,
    },
    Progress(Progress),
    Document(Arc<DocumentView>),
    /// A report of the document that was sent last.
    ReportAdded(Box<AddedReport>),
    Failed(Failure),
    /// The list of cached indexes has changed.
    KeptChanged,
    /// SHA-256 of each parsed file, hexadecimal.
    Digests(Vec<Option<String>>),
    /// The index behind the document no longer matches the file.
    Stale(Failure),
    /// The worker is gone.
    Died {
        /// Message of the browser; empty if it just ended the worker.
        why: String,
        /// No answer was pending.
        was_idle: bool,
    },
}

/// Answer to a request with a ticket.
pub enum Answer {
    Searched(Vec<SearchHits>),
    Sums {
        /// Revision of their document.
        revision: u32,
        sums: Vec<ColumnSum>,
    },
    Rows {
        /// Revision of their document.
        revision: u32,
        rows: TableRows,
    },
    Copied {
        text: String,
        n_rows: u64,
    },
    /// Progress in bytes written; more answers follow.
    ExportProgress(u64),
    Exported {
        file_name: String,
        bytes: u64,
        /// Descriptions of what the export lacks.
        left_out: Vec<String>,
        blob: Blob,
    },
    Refused(Failure),
    /// `None` if there is no cache.
    Kept(Option<Vec<KeptView>>),
    /// Data of the trace for a comparison; opaque here.
    Side(Vec<u8>),
    /// What is drawn of its timeline in a comparison's export; opaque here.
    Drawn(Vec<u8>),
    /// Content of an archive.
    Archive {
        files: Vec<(NamedFile, Blob)>,
        left_out: Vec<LeftOutView>,
        is_cut: bool,
    },
    /// Results of checking limits.
    Held(BudgetView),
    /// Texts in an export.
    Preview(PreviewView),
    Timeline(TimelineAnswer),
    Flame(Box<FlameView>),
    AlignedSteps(Vec<AlignedStep>),
}

/// A worker that serves one tab. Dropping it ends the worker and drops pending answers.
pub struct Client {
    worker: WorkerHandle,
    mail: Rc<Mail>,
    next_ticket: Cell<u32>,
}

type Waiting = Rc<dyn Fn(Answer)>;

struct Mail {
    waiting: RefCell<HashMap<u32, Waiting>>,
    listener: RefCell<Rc<dyn Fn(Event)>>,
    dead: Cell<bool>,
}

impl Client {
    pub fn start(listener: impl Fn(Event) + 'static) -> Result<Client, String> {
        let mail = Rc::new(Mail {
            waiting: RefCell::default(),
            listener: RefCell::new(Rc::new(listener)),
            dead: Cell::new(false),
        });
        let (on_message, on_death) = (mail.clone(), mail.clone());
        let worker = WorkerHandle::start(
            move |bytes, blobs| on_message.take(&bytes, blobs),
            move |why| on_death.die(why),
        )?;
        Ok(Client { worker, mail, next_ticket: Cell::new(0) })
    }

    /// Sends all unsolicited messages to `listener` from now on.
    pub fn listen(&self, listener: impl Fn(Event) + 'static) {
        *self.mail.listener.borrow_mut() = Rc::new(listener);
    }

    pub fn is_dead(&self) -> bool {
        self.mail.dead.get()
    }

    /// Whether no answer is pending.
    pub fn is_idle(&self) -> bool {
        self.mail.waiting.borrow().is_empty()
    }

    pub fn send(&self, request: &Request) {
        self.send_with(request, &[], Vec::new());
    }

    /// The same, with files and ports to helpers attached.
    pub fn send_with(&self, request: &Request, blobs: &[Blob], ports: Vec<Port>) {
        if let Err(why) = self.worker.post(&protocol::encode(request), blobs, ports) {
            self.mail.die(why);
        }
    }

    /// Sends the request that `request` builds from a new ticket; answers go to `answer`.
    pub fn ask(&self, request: impl FnOnce(u32) -> Request, answer: impl Fn(Answer) + 'static) {
        self.ask_with(request, &[], answer);
    }

    /// The same, with files attached.
    pub fn ask_with(
        &self,
        request: impl FnOnce(u32) -> Request,
        blobs: &[Blob],
        answer: impl Fn(Answer) + 'static,
    ) {
        let ticket = self.next_ticket.get();
        self.next_ticket.set(ticket.wrapping_add(1));
        self.mail.waiting.borrow_mut().insert(ticket, Rc::new(answer));
        self.send_with(&request(ticket), blobs, Vec::new());
    }
}

impl Mail {
    fn tell(&self, event: Event) {
        // Release the cell first: the listener may set another one.
        let listener = self.listener.borrow().clone();
        listener(event);
    }

    fn die(&self, why: String) {
        if !self.dead.replace(true) {
            let was_idle = self.waiting.take().is_empty();
            self.tell(Event::Died { why, was_idle });
        }
    }

    fn answer(&self, ticket: u32, answer: Answer) {
        let waiting = match answer {
            Answer::ExportProgress(_) => self.waiting.borrow().get(&ticket).cloned(),
            _ => self.waiting.borrow_mut().remove(&ticket),
        };
        if let Some(waiting) = waiting {
            waiting(answer);
        }
    }

    fn take(&self, bytes: &[u8], blobs: Attached) {
        match protocol::decode::<Response>(bytes) {
            // The exporters for a file come with its document.
            Some(Response::Ready { formats, .. }) => self.tell(Event::Ready { formats }),
            Some(Response::Progress(progress)) => self.tell(Event::Progress(progress)),
            Some(Response::Document(document)) => self.tell(Event::Document(Arc::new(*document))),
            Some(Response::ReportAdded(added)) => self.tell(Event::ReportAdded(added)),
            Some(Response::Failed(failure)) => self.tell(Event::Failed(failure)),
            Some(Response::Rows { ticket, revision, rows, .. }) => {
                self.answer(ticket, Answer::Rows { revision, rows });
            }
            Some(Response::Copied { ticket, text, n_rows, .. }) => {
                self.answer(ticket, Answer::Copied { text, n_rows });
            }
            Some(Response::ExportProgress { ticket, bytes }) => {
                self.answer(ticket, Answer::ExportProgress(bytes));
            }
            Some(Response::Exported { ticket, file_name, bytes, left_out }) => {
                if let Some(blob) = blobs.into_iter().next() {
                    self.answer(ticket, Answer::Exported { file_name, bytes, left_out, blob });
                }
            }
            Some(Response::Kept { ticket, entries }) => self.answer(ticket, Answer::Kept(entries)),
            Some(Response::KeptChanged) => self.tell(Event::KeptChanged),
            Some(Response::Digests(digests)) => self.tell(Event::Digests(digests)),
            Some(Response::Stale(failure)) => self.tell(Event::Stale(failure)),
            Some(Response::Side { ticket, side }) => self.answer(ticket, Answer::Side(side)),
            Some(Response::Drawn { ticket, drawn }) => self.answer(ticket, Answer::Drawn(drawn)),
            Some(Response::Archive { ticket, files, left_out, is_cut }) => {
                let files = files.into_iter().zip(blobs).collect();
                self.answer(ticket, Answer::Archive { files, left_out, is_cut });
            }
            Some(Response::Sums { ticket, revision, sums }) => {
                self.answer(ticket, Answer::Sums { revision, sums });
            }
            Some(Response::Searched { ticket, hits }) => self.answer(ticket, Answer::Searched(hits)),
            Some(Response::Held { ticket, budget }) => self.answer(ticket, Answer::Held(budget)),
            Some(Response::Preview { ticket, preview }) => self.answer(ticket, Answer::Preview(preview)),
            Some(Response::Timeline { ticket, answer }) => self.answer(ticket, Answer::Timeline(answer)),
            Some(Response::Flame { ticket, view }) => self.answer(ticket, Answer::Flame(view)),
            Some(Response::AlignedSteps { ticket, steps }) => {
                self.answer(ticket, Answer::AlignedSteps(steps))
            }
            Some(Response::Refused { ticket, failure }) => self.answer(ticket, Answer::Refused(failure)),
            None => self.die(String::new()),
        }
    }
}
