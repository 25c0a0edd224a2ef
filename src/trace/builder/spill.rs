//! More events than fit in memory: events of threads are packed away, joined thread by thread at the end, and aggregated.
//!
//! The result equals that of keeping all events: every event is paired and nested with all others of its thread. But only the
//! longest slices remain. Links between threads (arrows) and rare data (stacks, CPU times) are dropped, and that is reported.

use super::{TraceBuilder, Ways, issues, joined, nesting, pairing, renumbered, samples};
use crate::base::bytepack;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::Trace;
use crate::trace::aggregated::Aggregator;
use crate::trace::event_table::{EventTable, IS_JOINED};
use crate::trace::events::{Event, EventExtra, EventKey, NO_EXTRA, Phase, flag};
use crate::trace::ledger::Position;
use crate::trace::links::{LinkTable, SignatureTable};
use crate::trace::tracks::ThreadId;

/// Events packed together.
const BLOCK_EVENTS: usize = 1 << 19;
/// Bytes per event needed to compute medians.
const BYTES_TO_ADD_UP: usize = 8;
/// Numbers of a packed event.
const LANES: usize = 10;

/// Flags of arrows.
const ARROWS: u16 = flag::FLOW_IN | flag::FLOW_OUT | flag::BIND_ENCLOSING;

/// Packed events in file order.
#[derive(Clone, Default)]
pub struct SpilledEvents {
    blocks: Vec<Vec<u8>>,
    /// Number of events by thread.
    n_by_thread: Vec<u64>,
    n_bytes: usize,
    /// First and last time; the extreme values if there is nothing.
    first: i64,
    last: i64,
    n_flow_events: u64,
    /// Times are not whole microseconds.
    has_decimals: bool,
    /// Number of events joined at once.
    batch_rows: u64,
    /// Offset of the first packed event.
    since: u64,
}

/// Whether an event belongs to a thread and stands on its own.
fn is_of_thread(event: &Event) -> bool {
    let elsewhere = flag::PROCESS_SCOPE | flag::GLOBAL_SCOPE;
    match event.phase {
        Phase::Complete | Phase::Begin | Phase::End => true,
        Phase::Instant => event.flags & elsewhere == 0,
        _ => false,
    }
}

fn lanes(event: &Event) -> [i64; LANES] {
    [
        event.ts,
        event.dur,
        event.offset as i64,
        event.len.into(),
        event.args_at.into(),
        event.args_len.into(),
        event.thread.0.into(),
        // Missing ids are the largest number, or -1.
        i64::from(event.name.0 as i32),
        i64::from(event.category.0 as i32),
        event.phase as i64 | i64::from(event.flags) << 8,
    ]
}

impl SpilledEvents {
    fn pack(&mut self, events: &[Event]) {
        for block in events.chunks(BLOCK_EVENTS) {
            let mut packed = Vec::new();
            let mut values = Vec::with_capacity(block.len());
            for lane in 0..LANES {
                values.clear();
                values.extend(block.iter().map(|event| lanes(event)[lane]));
                let start = packed.len();
                packed.extend_from_slice(&[0; 8]);
                bytepack::write(&values, &mut packed);
                let len = (packed.len() - start - 8) as u64;
                packed[start..start + 8].copy_from_slice(&len.to_le_bytes());
            }
            packed.shrink_to_fit();
            self.n_bytes += packed.len();
            self.blocks.push(packed);
        }
        for event in events {
            let thread = event.thread.0 as usize;
            if self.n_by_thread.len() <= thread {
                self.n_by_thread.resize(thread + 1, 0);
            }
            self.n_by_thread[thread] += 1;
        }
    }

    /// Adds the events of the threads in `wanted` to `events`.
    ///
    /// Running out of memory here aborts the program, as it does elsewhere, so that no block is lost silently.
    fn unpack(&self, wanted: &[bool], events: &mut EventTable) {
        for block in &self.blocks {
            let mut rest = block.as_slice();
            let mut columns: [Vec<i64>; LANES] = Default::default();
            for lane in &mut columns {
                let Some((len, behind)) = rest.split_first_chunk::<8>() else { break };
                let (packed, behind) = behind.split_at(u64::from_le_bytes(*len) as usize);
                // Packed by this module, so only memory can be lacking.
                *lane = bytepack::read(packed).unwrap_or_else(|| std::process::abort());
                rest = behind;
            }
            let [ts, dur, offset, len, args_at, args_len, thread, name, category, phase] = &columns;
            for i in (0..ts.len()).filter(|i| wanted[thread[*i] as usize]) {
                events.add(Event {
                    ts: ts[i],
                    dur: dur[i],
                    offset: offset[i] as u64,
                    len: len[i] as u32,
                    args_at: args_at[i] as u32,
                    args_len: args_len[i] as u32,
                    thread: ThreadId(thread[i] as u32),
                    name: StringId(name[i] as u32),
                    category: StringId(category[i] as u32),
                    extra: NO_EXTRA,
                    phase: match phase[i] & 0xff {
                        phase if phase == Phase::Complete as i64 => Phase::Complete,
                        phase if phase == Phase::Begin as i64 => Phase::Begin,
                        phase if phase == Phase::End as i64 => Phase::End,
                        _ => Phase::Instant,
                    },
                    unused: 0,
                    flags: (phase[i] >> 8) as u16,
                });
            }
        }
    }
}

impl TraceBuilder {
    /// Whether events should be packed away.
    pub fn is_full(&self) -> bool {
        self.max_rows.is_some_and(|max_rows| self.events.n_events() > max_rows)
    }

    /// Whether events are being aggregated.
    pub fn is_spilling(&self) -> bool {
        self.spilled.is_some()
    }

    /// Bytes of packed events, including those that aggregation will need for each.
    pub fn n_packed_bytes(&self) -> usize {
        self.spilled.as_ref().map_or(0, |spilled| {
            let n_events: u64 = spilled.n_by_thread.iter().sum();
            spilled.n_bytes + BYTES_TO_ADD_UP * n_events as usize
        })
    }

    /// Maximum number of events needed in memory at once: those without a thread, and those of the largest thread.
    pub fn n_held_together(&self) -> u64 {
        let of_threads = self.spilled.as_ref().and_then(|spilled| spilled.n_by_thread.iter().max().copied());
        of_threads.unwrap_or(0).max(self.events.n_events() as u64)
    }

    /// Packs events of threads away.
    pub fn spill(&mut self) {
        let is_first = self.spilled.is_none();
        let mut spilled = self.spilled.take().unwrap_or_else(|| {
            let since = self.events.places.last().map_or(0, |place| place.offset);
            // Leaves memory for slices.
            let batch_rows = self.max_rows.map_or(u64::MAX, |max_rows| max_rows as u64 / 2);
            Box::new(SpilledEvents {
                first: i64::MAX,
                last: i64::MIN,
                since,
                batch_rows,
                ..SpilledEvents::default()
            })
        });
        let mut events = std::mem::take(&mut self.events);
        let waiting = match self.ways {
            Ways::Tracks => joined::join_groups(self, &mut events),
            _ => HashMap::default(),
        };
        spilled.n_flow_events += events.chained.len() as u64;
        let mut kept =
            EventTable { in_groups: std::mem::take(&mut events.in_groups), ..EventTable::default() };
        let mut packed = Vec::with_capacity(BLOCK_EVENTS);
        for (index, event) in events.iter().enumerate() {
            if let Some(writer) = waiting.get(&(index as u32)) {
                let row = kept.push(Event { extra: NO_EXTRA, ..event }, None);
                if kept.writers.last().is_none_or(|(_, last)| last != writer) {
                    kept.writers.push((row, *writer));
                }
                continue;
            }
            // Its slice is whole.
            if event.phase == Phase::End && event.dur == IS_JOINED {
                continue;
            }
            let is_flow = matches!(event.phase, Phase::FlowStart | Phase::FlowStep | Phase::FlowEnd);
            let is_bound = event.flags & (flag::FLOW_IN | flag::FLOW_OUT) != 0;
            spilled.n_flow_events += u64::from(is_flow || is_bound);
            spilled.has_decimals |= pairing::has_decimals(event.phase, event.ts, event.dur);
            if is_of_thread(&event) {
                let end = if event.phase == Phase::Complete { event.dur } else { 0 };
                spilled.first = spilled.first.min(event.ts);
                spilled.last = spilled.last.max(event.ts.saturating_add(end));
                packed.push(Event { extra: NO_EXTRA, flags: event.flags & !ARROWS, ..event });
                if packed.len() == BLOCK_EVENTS {
                    spilled.pack(&packed);
                    packed.clear();
                }
            } else if !is_flow {
                let extra = events.extras.get(event.extra as usize).cloned();
                let extra = extra.map(|extra| EventExtra { bind_id: EventKey::None, ..extra });
                kept.push(Event { flags: event.flags & !ARROWS, ..event }, extra);
            }
        }
        spilled.pack(&packed);
        if is_first {
            // Frees the large table; later events are packed away sooner.
            self.max_rows = self.max_rows.map(|max_rows| kept.n_events() + max_rows / 4);
        } else if let Some(max_rows) = self.max_rows.as_mut() {
            *max_rows = (*max_rows).max(kept.n_events() * 2);
        }
        self.events = kept;
        // Reports on single events are not made, so their data is dropped.
        self.trace.links = LinkTable::default();
        self.trace.signatures = SignatureTable::default();
        self.spilled = Some(spilled);
    }

    /// Joins and aggregates packed events, and everything else.
    pub(super) fn put_together_spilled(mut self) -> Trace {
        self.spill();
        let Some(spilled) = self.spilled.take() else { return self.trace };
        self.trace.ledger.file(&issues::SPILLED, Position { byte: spilled.since, line: None }, b"");
        let events = std::mem::take(&mut self.events);
        let estimate = (spilled.first <= spilled.last).then_some((spilled.first, spilled.last));
        let mut span = events.rows.iter().filter(|event| event.phase != Phase::Metadata).fold(
            estimate,
            |span, event| {
                let (first, last) = span.unwrap_or((event.ts, event.ts));
                Some((first.min(event.ts), last.max(event.ts)))
            },
        );
        self.tolerance = Some(pairing::tolerance_of(self.ways, || spilled.has_decimals));
        let settle = |builder: &TraceBuilder, mut span| loop {
            let (trace, found) = builder.copy().aggregate_with(&spilled, &events, span);
            // Stray ends and truncated slices may have overestimated the span. The second pass uses the right one.
            if found == span {
                return (trace, span);
            }
            span = found;
        };
        // Threads are joined in batches, and no batch knows the span of the whole.
        if let Some(range) = self.range.take() {
            span = settle(&self, span).1;
            self.range = Some(range.of_span(span));
        }
        settle(&self, span).0
    }

    /// Joins everything for a trace of that span; returns the actual span.
    fn aggregate_with(
        mut self,
        spilled: &SpilledEvents,
        kept: &EventTable,
        span: Option<(i64, i64)>,
    ) -> (Trace, Option<(i64, i64)>) {
        let mut aggregator = Aggregator::default();
        let mut found: Option<(i64, i64)> = None;
        let mut has_samples = true;
        let mut aggregate = |builder: &mut TraceBuilder, events: &EventTable| {
            builder.trace.forget_computed();
            pairing::pair(builder, events);
            // Once, with the first batch.
            if std::mem::take(&mut has_samples) {
                samples::finish(builder);
            }
            builder.cut_to_range();
            let own = builder.trace.extent();
            found = match (found, own) {
                (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
                (a, b) => a.or(b),
            };
            builder.trace.set_extent(span);
            nesting::compute_self_times(&mut builder.trace);
            aggregator.add(&mut builder.trace);
        };
        aggregate(&mut self, kept);
        for wanted in self.batches(spilled) {
            let mut events = EventTable::default();
            let n_rows = spilled
                .n_by_thread
                .iter()
                .zip(&wanted)
                .filter(|(_, wanted)| **wanted)
                .map(|(n, _)| n)
                .sum::<u64>();
            events.reserve_exact(n_rows as usize);
            spilled.unpack(&wanted, &mut events);
            aggregate(&mut self, &events);
        }
        aggregator.finish(&mut self.trace, spilled.n_flow_events);
        renumbered::undo(&mut self);
        self.note_left_out();
        (self.trace, found)
    }

    /// Threads joined at once, at most [`SpilledEvents::batch_rows`] events per batch unless a single thread has more.
    fn batches(&self, spilled: &SpilledEvents) -> Vec<Vec<bool>> {
        let threads = &self.trace.threads;
        let n_threads = threads.len().max(spilled.n_by_thread.len());
        // A thread shown as part of another belongs to it.
        let owner = |thread: usize| {
            threads.overlap_of.get(thread).copied().flatten().map_or(thread, |of| of.0 as usize)
        };
        let mut n_by_owner = vec![0u64; n_threads];
        for (thread, n) in spilled.n_by_thread.iter().enumerate() {
            n_by_owner[owner(thread)] += n;
        }
        // Threads of a process together, so that its busy time can be computed.
        let mut order: Vec<usize> = (0..n_threads).filter(|thread| n_by_owner[*thread] > 0).collect();
        sort::by_key(&mut order, |thread| threads.process.get(*thread).map(|process| process.0));
        let mut n_by_process = vec![0u64; self.trace.processes.len() + 1];
        let process = |thread: usize| threads.process.get(thread).map_or(0, |process| process.0 as usize);
        for thread in &order {
            n_by_process[process(*thread)] += n_by_owner[*thread];
        }
        let mut batch_of = vec![usize::MAX; n_threads];
        let mut n_batches = 0;
        let mut n_rows = 0;
        let mut last = None;
        for thread in order {
            let is_next = last.replace(process(thread)) != Some(process(thread));
            let wants = if is_next { n_by_process[process(thread)] } else { n_by_owner[thread] };
            let fits = n_rows + wants <= spilled.batch_rows;
            if n_batches == 0 || !fits {
                n_batches += 1;
                n_rows = 0;
            }
            n_rows += n_by_owner[thread];
            batch_of[thread] = n_batches - 1;
        }
        let mut batches = vec![vec![false; n_threads]; n_batches];
        for part in 0..n_threads {
            if let Some(batch) = batches.get_mut(batch_of[owner(part)]) {
                batch[part] = true;
            }
        }
        batches
    }
}
