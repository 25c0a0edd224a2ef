//! Heap profiles (`ProfilePacket` of heapprofd): memory by process, heap and call stack.
//!
//! A profile is dumped once, or again and again, in one packet or several. Each dump has totals since the recording started, so the
//! last one of a call stack counts. A call stack that a later dump leaves out was freed completely.

use super::issues::*;
use super::rows::Place;
use super::sampled::stack_of;
use super::sequence::Sequence;
use crate::base::hash::HashMap;
use crate::base::protobuf::{Fields, Value};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::TraceBuilder;
use crate::trace::samples::StackId;
use crate::trace::stack_profiles::{Amount, StackProfile};

/// A heap: machine, process and name; and a call stack of a writer, while its ids are the same.
type Key = (u32, u64, StringId, (u32, u32, u64));

/// Totals of one call stack.
#[derive(Clone, Copy, Default)]
struct Totals {
    allocated: u64,
    freed: u64,
    n_allocated: u64,
    n_freed: u64,
    /// When the heap was largest.
    most: u64,
    n_most: u64,
}

struct Row {
    heap: (u32, u64, StringId),
    stack: StackId,
    totals: Totals,
}

#[derive(Default)]
pub struct Heaps {
    rows: Vec<Row>,
    number_of: HashMap<Key, u32>,
}

/// A weight: its name, its unit, and its value.
type Weight = (&'static str, &'static str, fn(&Totals) -> u64);

const WEIGHTS: [Weight; 6] = [
    ("memory not freed", "bytes", |it| it.allocated.saturating_sub(it.freed)),
    ("allocations not freed", "count", |it| it.n_allocated.saturating_sub(it.n_freed)),
    ("memory at peak", "bytes", |it| it.most),
    ("allocations at peak", "count", |it| it.n_most),
    ("memory allocated", "bytes", |it| it.allocated),
    ("allocations", "count", |it| it.n_allocated),
];

impl Heaps {
    /// Takes a `ProfilePacket`.
    pub fn add(
        &mut self,
        message: &[u8],
        machine: u32,
        sequence: &mut Sequence,
        place: Place,
        out: &mut TraceBuilder,
    ) {
        let dumps = Fields::new(message).filter(|(number, _)| *number == 5);
        for dump in dumps.filter_map(|(_, value)| value.bytes()) {
            let (mut pid, mut name, mut is_cut) = (0, StringId::NONE, false);
            for (number, value) in Fields::new(dump) {
                match (number, value) {
                    (1, Value::Number(number)) => pid = number,
                    (4 | 7 | 8 | 10 | 14, Value::Number(number)) => is_cut |= number != 0,
                    (11, Value::Bytes(text)) => name = out.trace.strings.intern_bytes(text),
                    _ => {}
                }
            }
            if is_cut {
                out.trace.ledger.file(&HEAP_CUT, place.position(), pid.to_string().as_bytes());
            }
            let samples = Fields::new(dump).filter(|(number, _)| *number == 2);
            for sample in samples.filter_map(|(_, value)| value.bytes()) {
                self.sample(sample, (machine, pid, name), sequence, place, out);
            }
        }
    }

    fn sample(
        &mut self,
        message: &[u8],
        heap: (u32, u64, StringId),
        sequence: &mut Sequence,
        place: Place,
        out: &mut TraceBuilder,
    ) {
        let (mut iid, mut totals) = (0, Totals::default());
        for (number, value) in Fields::new(message) {
            let Some(value) = value.number() else { continue };
            match number {
                1 => iid = value,
                2 => totals.allocated = value,
                3 => totals.freed = value,
                5 => totals.n_allocated = value,
                6 => totals.n_freed = value,
                8 => totals.most = value,
                9 => totals.n_most = value,
                _ => {}
            }
        }
        let key = (heap.0, heap.1, heap.2, (sequence.number, sequence.n_cleared, iid));
        let row = match self.number_of.get(&key) {
            Some(row) => *row as usize,
            None => {
                let stack = stack_of(iid, sequence, place, out);
                self.rows.push(Row { heap, stack, totals });
                self.number_of.insert(key, self.rows.len() as u32 - 1);
                self.rows.len() - 1
            }
        };
        self.rows[row].totals = totals;
    }

    /// Adds a stack profile for each heap and weight.
    pub fn put(&self, out: &mut TraceBuilder) {
        let mut order: Vec<&Row> = self.rows.iter().collect();
        // Heaps in order of their first rows.
        let mut first: HashMap<(u32, u64, StringId), usize> = HashMap::default();
        for (number, row) in self.rows.iter().enumerate() {
            first.entry(row.heap).or_insert(number);
        }
        sort::by_key(&mut order, |row| (first.get(&row.heap).copied(), row.stack.0));
        for of_heap in order.chunk_by(|a, b| a.heap == b.heap) {
            let (_, pid, name) = of_heap[0].heap;
            let mut has_default = false;
            for (measure, unit, get) in WEIGHTS {
                let strings = &mut out.trace.strings;
                let mut profile = StackProfile::new(strings.intern(unit));
                profile.measure = strings.intern(measure);
                profile.name = name;
                profile.process_id = strings.intern(&pid.to_string());
                profile.thread = strings.intern(&format!("Process {pid}"));
                for of_stack in of_heap.chunk_by(|a, b| a.stack == b.stack) {
                    let sum = of_stack.iter().fold(0u64, |sum, row| sum.saturating_add(get(&row.totals)));
                    if sum > 0 {
                        profile.push(of_stack[0].stack, Amount::whole(sum));
                    }
                }
                if !profile.is_empty() {
                    profile.is_default = !has_default;
                    has_default = true;
                    out.trace.stack_profiles.push(profile);
                }
            }
        }
    }
}
