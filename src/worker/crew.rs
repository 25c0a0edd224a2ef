//! Has other workers read parts of a file, and hears from them.

use crate::port;
use crate::wake::Wake;
use js_sys::{ArrayBuffer, Uint8Array};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use tracedrop::engine::protocol::{HelperRequest, HelperResponse};
use tracedrop::import::crew::Crew;
use tracedrop::import::parts::{MAX_PART_BYTES, Part, PartsInfo};
use tracedrop::import::{FormatInfo, Import, crew};
use wasm_bindgen::prelude::*;
use web_sys::{Blob, MessageEvent, MessagePort};

/// Smaller files are read before others are of any help.
pub const MIN_FILE_BYTES: u64 = 8 << 20;
/// What one reads before it hands over: files are read slowly in smaller pieces.
const MIN_STRETCH_BYTES: u64 = 4 << 20;
/// Stretches of a file for each who reads it, where that gives no smaller ones.
const STRETCHES_EACH: u64 = 6;
/// Stretches longer than usual are such parts of the file at most: who is done early should not wait long.
const LONG_STRETCHES: u64 = 64;
/// Stretches that a helper is given ahead.
const AHEAD: usize = 2;
/// Stretches out or waiting to be joined for each who reads, at most.
const MAX_UNJOINED: usize = 2;

/// Stretches that a helper has; `None` once it is lost.
type Given = Option<Vec<Range<u64>>>;

type OnMessage = Closure<dyn FnMut(MessageEvent)>;

/// All who read one file.
pub struct Helpers {
    crew: RefCell<Crew>,
    ports: Vec<MessagePort>,
    /// What each has.
    given: RefCell<Vec<Given>>,
    /// Memory that each can have back.
    spent: RefCell<Vec<Option<ArrayBuffer>>>,
    /// Something has come back.
    wake: Wake,
    /// Called by the ports for as long as this lives.
    on_message: RefCell<Vec<OnMessage>>,
}

impl Helpers {
    /// Has the workers behind `ports` read the bytes `rest` of `blob`, in stretches that end at `cuts` if there are any. The ports stay open.
    pub fn start(
        ports: Vec<MessagePort>,
        blob: &Blob,
        rest: Range<u64>,
        format: &FormatInfo,
        parts: &PartsInfo,
        cuts: Vec<u64>,
    ) -> Rc<Helpers> {
        let given = RefCell::new(vec![Some(Vec::new()); ports.len()]);
        let n_shares = STRETCHES_EACH * (ports.len() as u64 + 1);
        let n_bytes = rest.end - rest.start;
        let most = (n_bytes / LONG_STRETCHES).clamp(MAX_PART_BYTES, parts.max_bytes.max(MAX_PART_BYTES));
        let stretch_bytes = (n_bytes / n_shares).clamp(MIN_STRETCH_BYTES, most);
        let helpers = Rc::new(Helpers {
            crew: RefCell::new(Crew::new(rest, stretch_bytes).cut_at(cuts)),
            spent: RefCell::new(vec![None; ports.len()]),
            ports,
            given,
            wake: Wake::default(),
            on_message: RefCell::default(),
        });
        for (index, port) in helpers.ports.iter().enumerate() {
            let hears = Rc::downgrade(&helpers);
            let on_message = OnMessage::new(move |event: MessageEvent| {
                if let Some(helpers) = hears.upgrade() {
                    helpers.hear(index, &event);
                }
            });
            port.set_onmessage(Some(on_message.as_ref().unchecked_ref()));
            helpers.on_message.borrow_mut().push(on_message);
            helpers.post(index, &HelperRequest::Begin { format: format.id.to_string() }, blob);
        }
        for _ in 0..AHEAD {
            (0..helpers.ports.len()).for_each(|index| helpers.give(index));
        }
        helpers
    }

    fn post(&self, index: usize, request: &HelperRequest, attachment: &JsValue) {
        if port::send(&self.ports[index], request, attachment).is_err() {
            self.lose(index);
        }
    }

    /// Gives a helper something to do.
    fn give(&self, index: usize) {
        if self.is_full() {
            return;
        }
        let range = match self.given.borrow_mut().get_mut(index) {
            Some(Some(given)) if given.len() < AHEAD => {
                let range = self.crew.borrow_mut().take();
                given.extend(range.clone());
                range
            }
            _ => None,
        };
        if let Some(range) = range {
            let spent = self.spent.borrow_mut().get_mut(index).and_then(Option::take);
            self.post(index, &HelperRequest::Read(range), &spent.map_or(JsValue::UNDEFINED, JsValue::from));
        }
    }

    fn hear(&self, index: usize, event: &MessageEvent) {
        let (range, part) = match port::received(event) {
            Some((HelperResponse::Read(range), sent)) => {
                let sent = sent.dyn_into::<Uint8Array>().ok();
                // Fresh memory is dear: the helper uses this again.
                if let Some(spent) = self.spent.borrow_mut().get_mut(index) {
                    *spent = sent.as_ref().map(Uint8Array::buffer);
                }
                (range, sent.and_then(|sent| Part::from_bytes(sent.to_vec())))
            }
            Some((HelperResponse::Lost(range), _)) => (range, None),
            _ => return,
        };
        if let Some(Some(given)) = self.given.borrow_mut().get_mut(index) {
            given.retain(|other| *other != range);
        }
        self.crew.borrow_mut().put(&range, part);
        self.give(index);
        self.wake();
    }

    /// A helper will not answer any more; what it had is read by others.
    pub fn lose(&self, index: usize) {
        let lost = self.given.borrow_mut().get_mut(index).and_then(Option::take);
        for range in lost.into_iter().flatten() {
            self.crew.borrow_mut().put(&range, None);
        }
        self.wake();
    }

    /// Whether all are there, and have nothing to do.
    pub fn are_idle(&self) -> bool {
        self.given.borrow().iter().all(|given| given.as_ref().is_some_and(Vec::is_empty))
    }

    /// Whether as many stretches are under way as there should be.
    fn is_full(&self) -> bool {
        self.crew.borrow().n_unjoined() >= MAX_UNJOINED * (self.ports.len() + 1)
    }

    /// A stretch for the one who joins, while it waits for others.
    pub fn take(&self) -> Option<Range<u64>> {
        if self.is_full() { None } else { self.crew.borrow_mut().take() }
    }

    /// Takes back a stretch.
    pub fn put(&self, range: &Range<u64>, part: Option<Part>) {
        self.crew.borrow_mut().put(range, part);
    }

    /// See [`Crew::advance`].
    pub fn advance(&self, import: &mut Import) -> crew::Next {
        let next = self.crew.borrow_mut().advance(import);
        // What is joined makes room for more.
        (0..self.ports.len()).for_each(|index| self.give(index));
        next
    }

    /// Waits until something has come back, or someone calls [`Helpers::wake`].
    pub async fn wait(&self) {
        self.wake.wait().await;
    }

    /// Ends the waiting.
    pub fn wake(&self) {
        self.wake.wake();
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        for port in &self.ports {
            port.set_onmessage(None);
        }
    }
}
