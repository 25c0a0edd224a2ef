//! Distributes parts of a file to helpers and collects the results.

use crate::port;
use crate::wake::Wake;
use js_sys::{ArrayBuffer, Uint8Array};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use tracedrop::engine::protocol::{HelperRequest, HelperResponse};
use tracedrop::import::hand_out::HandOut;
use tracedrop::import::part_scheduler::PartScheduler;
use tracedrop::import::parts::{MAX_PART_BYTES, Part, PartsInfo};
use tracedrop::import::{FormatInfo, Import, part_scheduler};
use wasm_bindgen::prelude::*;
use web_sys::{Blob, MessageEvent, MessagePort};

/// Helpers are of no use for smaller files.
pub const MIN_FILE_BYTES: u64 = 8 << 20;
/// Minimum size of a part: smaller reads are slow.
const MIN_STRETCH_BYTES: u64 = 4 << 20;
/// Parts of a file per worker, unless they get too small.
const STRETCHES_EACH: u64 = 6;
/// Maximum fraction of the file in a larger part, so that workers finish at about the same time.
const LONG_STRETCHES: u64 = 64;
/// Parts queued per helper.
const AHEAD: usize = 2;
/// Maximum parts in progress or waiting to be joined, per worker.
const MAX_UNJOINED: usize = 2;

type OnMessage = Closure<dyn FnMut(MessageEvent)>;

/// All workers on one file.
pub struct Helpers {
    parts: RefCell<HandOut>,
    ports: Vec<MessagePort>,
    /// Buffers to return to each helper.
    spent: RefCell<Vec<Option<ArrayBuffer>>>,
    /// Signals results.
    wake: Wake,
    /// Message handlers of the ports.
    on_message: RefCell<Vec<OnMessage>>,
}

impl Helpers {
    /// Makes the workers behind `ports` parse the bytes `rest` of `blob`, in parts that end at `cuts`, if any. The ports stay open.
    pub fn start(
        ports: Vec<MessagePort>,
        blob: &Blob,
        rest: Range<u64>,
        format: &FormatInfo,
        parts: &PartsInfo,
        cuts: Vec<u64>,
    ) -> Rc<Helpers> {
        let n_shares = STRETCHES_EACH * (ports.len() as u64 + 1);
        let n_bytes = rest.end - rest.start;
        let most = (n_bytes / LONG_STRETCHES).clamp(MAX_PART_BYTES, parts.max_bytes.max(MAX_PART_BYTES));
        let stretch_bytes = (n_bytes / n_shares).clamp(MIN_STRETCH_BYTES, most);
        let crew = PartScheduler::new(rest, stretch_bytes).cut_at(cuts);
        let max_unjoined = MAX_UNJOINED * (ports.len() + 1);
        let helpers = Rc::new(Helpers {
            parts: RefCell::new(HandOut::new(crew, ports.len(), AHEAD, max_unjoined)),
            spent: RefCell::new(vec![None; ports.len()]),
            ports,
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

    /// Sends parts to a helper.
    fn give(&self, index: usize) {
        let range = self.parts.borrow_mut().give(index);
        if let Some(range) = range {
            let spent = self.spent.borrow_mut().get_mut(index).and_then(Option::take);
            self.post(index, &HelperRequest::Read(range), &spent.map_or(JsValue::UNDEFINED, JsValue::from));
        }
    }

    fn hear(&self, index: usize, event: &MessageEvent) {
        let (range, part) = match port::received(event) {
            Some((HelperResponse::Read(range), sent)) => {
                let sent = sent.dyn_into::<Uint8Array>().ok();
                // Return the buffer: allocating is expensive.
                if let Some(spent) = self.spent.borrow_mut().get_mut(index) {
                    *spent = sent.as_ref().map(Uint8Array::buffer);
                }
                (range, sent.and_then(|sent| Part::from_bytes(sent.to_vec())))
            }
            Some((HelperResponse::Lost(range), _)) => (range, None),
            _ => return,
        };
        self.parts.borrow_mut().take_back(index, &range, part);
        self.give(index);
        self.wake();
    }

    /// Reassigns the parts of a lost helper.
    pub fn lose(&self, index: usize) {
        self.parts.borrow_mut().lose(index);
        self.wake();
    }

    /// Whether all helpers are alive and idle.
    pub fn are_idle(&self) -> bool {
        self.parts.borrow().are_idle()
    }

    /// A part for the joining worker, while it waits for others.
    pub fn take(&self) -> Option<Range<u64>> {
        self.parts.borrow_mut().give_own()
    }

    /// Takes the result of a part that [`Helpers::take`] returned.
    pub fn put(&self, range: &Range<u64>, part: Option<Part>) {
        self.parts.borrow_mut().take_back_own(range, part);
    }

    /// See [`PartScheduler::advance`].
    pub fn advance(&self, import: &mut Import) -> part_scheduler::Next {
        let next = self.parts.borrow_mut().advance(import);
        // Joined parts make room for more.
        (0..self.ports.len()).for_each(|index| self.give(index));
        next
    }

    /// Waits for a result, or for [`Helpers::wake`].
    pub async fn wait(&self) {
        self.wake.wait().await;
    }

    /// Ends waiting.
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
