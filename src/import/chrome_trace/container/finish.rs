//! The end of the content: what is still open, and why nothing could be read.

use super::Container;
use super::state::{Resync, Skipping, State, Unclosed};
use crate::base::units::counted;
use crate::import::ImportError;
use crate::import::chrome_trace::issues::*;
use crate::trace::TraceBuilder;
use crate::trace::ledger::Position;

impl Container {
    /// Ends the content.
    pub fn finish(&mut self, out: &mut TraceBuilder) -> Result<(), ImportError> {
        self.limit = u64::MAX;
        let carry = std::mem::take(&mut self.carry).into_bytes();
        let used = self.run(&carry, true, out);
        let rest = carry.get(used..).unwrap_or(&[]);
        self.file_text_after_end(out);
        self.count_rest(rest, out);
        let end = self.position_of(rest.len());
        let unclosed = self.state.unclosed();
        match unclosed {
            Some(Unclosed::Object) => out.trace.ledger.file(&OBJECT_UNCLOSED, end, b""),
            Some(Unclosed::List) => out.trace.ledger.file(&ARRAY_UNCLOSED, end, b""),
            None => {}
        }
        self.offset = end.byte;
        let is_empty = self.members.n_event_lists == 0 && self.rows.seen.n_elements == 0;
        match self.reason_for_no_events(unclosed) {
            Some(error) if is_empty => Err(error),
            _ => Ok(()),
        }
    }

    /// Counts the last bytes, which belong to nothing complete.
    fn count_rest(&mut self, rest: &[u8], out: &mut TraceBuilder) {
        let at = self.position_of(0);
        let n_bytes = rest.len() as u64;
        let end = at.byte + n_bytes;
        let is_blank = rest.iter().all(u8::is_ascii_whitespace);
        let ledger = &mut out.trace.ledger;
        match self.state {
            State::Skipping(Skipping { start, enclosing, .. }) => {
                let position = Position { byte: start, line: None };
                if enclosing.has_elements() {
                    self.rows.seen.n_elements += 1;
                    ledger.skip_record(&HUGE_EVENT, position, end - start, rest);
                } else {
                    ledger.leave_out(end - start);
                    ledger.file(&HUGE_MEMBER, position, b"");
                }
            }
            State::Resync(Resync { start, .. }) => self.skip_abandoned(start, rest.len(), out),
            _ if is_blank => ledger.frame(n_bytes),
            State::List(_) | State::Lines => {
                self.rows.seen.n_elements += 1;
                ledger.skip_record(&CUT_EVENT, at, n_bytes, rest);
            }
            State::Object | State::Frames => {
                ledger.leave_out(n_bytes);
                ledger.file(&CUT_MEMBER, at, rest);
            }
            State::Start | State::End(_) => ledger.leave_out(n_bytes),
        }
    }

    /// Why a file has no events; `None` if it is simply empty.
    fn reason_for_no_events(&self, unclosed: Option<Unclosed>) -> Option<ImportError> {
        if self.members.events_not_a_list {
            return Some(ImportError {
                code: "unsupported",
                what: "traceEvents is not a list".to_string(),
                hint: "check the tool that wrote the file".to_string(),
            });
        }
        if self.members.foreign_key {
            return Some(ImportError {
                code: "unsupported",
                what: "this JSON contains distributed-tracing spans, not Chrome trace events".to_string(),
                hint: "export it as Chrome trace JSON with a traceEvents list".to_string(),
            });
        }
        if self.members.has_rows {
            return None;
        }
        if unclosed == Some(Unclosed::Object) {
            return Some(ImportError {
                code: "no-events",
                what: format!(
                    "the file is truncated: it ends after {}, before the event list (traceEvents)",
                    counted(self.offset, "byte", "bytes")
                ),
                hint: "copy the file again, or wait until the tool has finished writing it".to_string(),
            });
        }
        if !self.members.first_keys.is_empty() {
            return Some(ImportError {
                code: "no-events",
                what: format!(
                    "this JSON is not a trace: it has no traceEvents; it starts with members {}",
                    self.members.first_keys.join(", ")
                ),
                hint: "see the supported formats, on the start page or with `tracedrop formats`".to_string(),
            });
        }
        None
    }
}
