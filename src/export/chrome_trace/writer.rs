//! Buffered writer for events.

use crate::base::json::write::{push_f64, push_if_json, push_string};
use crate::base::steps::pause;

/// Buffer size in bytes before a flush.
const CHUNK_BYTES: usize = 256 << 10;

pub struct Writer<'a> {
    pub buffer: Vec<u8>,
    sink: &'a mut dyn FnMut(&[u8]),
    n_events: u64,
    /// A chunk was passed on since the last pause.
    is_pause_due: bool,
}

impl<'a> Writer<'a> {
    pub fn new(sink: &'a mut dyn FnMut(&[u8])) -> Writer<'a> {
        Writer {
            buffer: Vec::with_capacity(CHUNK_BYTES + (64 << 10)),
            sink,
            n_events: 0,
            is_pause_due: false,
        }
    }

    /// Flushes the buffer if it is full.
    pub fn pass_on(&mut self) {
        if self.buffer.len() >= CHUNK_BYTES {
            (self.sink)(&self.buffer);
            self.buffer.clear();
            self.is_pause_due = true;
        }
    }

    /// Ends a step once per chunk. For loops over events.
    pub async fn pause(&mut self) {
        if std::mem::take(&mut self.is_pause_due) {
            pause().await;
        }
    }

    pub fn finish(self) {
        (self.sink)(&self.buffer);
    }

    pub fn raw(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    pub fn string(&mut self, text: &str) {
        push_string(text, &mut self.buffer);
    }

    pub fn integer(&mut self, value: i64) {
        if value < 0 {
            self.buffer.push(b'-');
        }
        self.unsigned(value.unsigned_abs());
    }

    pub fn unsigned(&mut self, mut value: u64) {
        let mut digits = [0u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.buffer.extend_from_slice(&digits[at..]);
    }

    pub fn float(&mut self, value: f64) {
        push_f64(value, &mut self.buffer);
    }

    /// Writes nanoseconds as microseconds: without a fraction if whole, else with three decimals.
    pub fn micros(&mut self, ns: i64) {
        if ns < 0 {
            self.buffer.push(b'-');
        }
        let ns = ns.unsigned_abs();
        self.unsigned(ns / 1000);
        let rest = ns % 1000;
        if rest > 0 {
            let digit = |n: u64| b'0' + (n % 10) as u8;
            self.buffer.extend_from_slice(&[b'.', digit(rest / 100), digit(rest / 10), digit(rest)]);
        }
    }

    /// Writes a hexadecimal string: `"0x1f"`.
    pub fn hex(&mut self, value: u64) {
        use std::io::Write;
        let _ = write!(self.buffer, "\"0x{value:x}\"");
    }

    /// Writes text that usually is JSON; anything else as a JSON string.
    pub fn json_or_text(&mut self, text: &str) {
        // A value that only begins like one, such as `[host 1]`, is text.
        if !push_if_json(text.as_bytes(), &mut self.buffer) {
            self.string(text);
        }
    }

    /// Starts an event with name, category and phase; [`Writer::close`] ends it.
    pub fn open(&mut self, name: &str, category: Option<&str>, phase: &str) {
        self.pass_on();
        self.raw(if self.n_events > 0 { ",\n" } else { "\n" });
        self.n_events += 1;
        self.raw("{\"name\":");
        self.string(name);
        if let Some(category) = category {
            self.raw(",\"cat\":");
            self.string(category);
        }
        self.raw(",\"ph\":\"");
        self.raw(phase);
        self.raw("\"");
    }

    pub fn time(&mut self, ns: i64) {
        self.raw(",\"ts\":");
        self.micros(ns);
    }

    pub fn place(&mut self, pid: u64, tid: Option<u64>) {
        self.raw(",\"pid\":");
        self.unsigned(pid);
        if let Some(tid) = tid {
            self.raw(",\"tid\":");
            self.unsigned(tid);
        }
    }

    pub fn close(&mut self) {
        self.raw("}");
    }

    /// Writes a metadata event about a process or thread; `value` writes JSON.
    pub fn metadata(&mut self, what: &str, pid: u64, tid: Option<u64>, key: &str, value: &dyn Fn(&mut Self)) {
        self.open(what, None, "M");
        self.place(pid, tid);
        self.raw(",\"args\":{\"");
        self.raw(key);
        self.raw("\":");
        value(self);
        self.raw("}");
        self.close();
    }

    /// Writes name and sort index of a thread, or of a process if `tid` is `None`.
    ///
    /// `main` is a thread of the process: without a tid, readers would invent a main thread.
    pub fn name_and_index(
        &mut self,
        pid: u64,
        tid: Option<u64>,
        main: Option<u64>,
        name: Option<&str>,
        index: i64,
    ) {
        let (name_event, index_event) = match tid {
            None => ("process_name", "process_sort_index"),
            Some(_) => ("thread_name", "thread_sort_index"),
        };
        let tid = tid.or(main);
        if let Some(name) = name {
            self.metadata(name_event, pid, tid, "name", &|w| w.string(name));
        }
        self.metadata(index_event, pid, tid, "sort_index", &|w| w.integer(index));
    }
}
