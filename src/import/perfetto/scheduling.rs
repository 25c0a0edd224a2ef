//! Task switches of the kernel (`sched_switch` of ftrace), in both of their forms: an event each, and compact columns.

use crate::base::hash::HashMap;
use crate::base::protobuf::{Fields, Value};

/// Clocks of events, as in `ClockSnapshot`.
const BOOTTIME: u32 = 6;
const MONOTONIC_RAW: u32 = 5;
/// `FTRACE_CLOCK_MONO_RAW`.
const MONO_RAW: u64 = 4;

/// A switch of a CPU from one thread to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch<'a> {
    /// Nanoseconds on the clock of the bundle.
    pub ts: i64,
    /// Thread and its state from then on; `None` if the thread is unknown.
    pub from: Option<(i64, i64)>,
    pub from_name: &'a [u8],
    pub to: i64,
    pub to_name: &'a [u8],
}

/// What is read of a `FtraceEventBundle`.
#[derive(Default)]
pub struct Bundle<'a> {
    pub switches: Vec<Switch<'a>>,
    /// Other events.
    pub n_others: u64,
    /// Events were lost before the first one.
    pub is_after_loss: bool,
    pub clock: u32,
}

/// The last thread that each CPU switched to, by machine and CPU.
#[derive(Default)]
pub struct Running {
    last: HashMap<(u32, u64), i64>,
}

/// Columns of compact switches.
#[derive(Default)]
struct Columns<'a> {
    names: Vec<&'a [u8]>,
    times: Vec<u64>,
    states: Vec<i64>,
    threads: Vec<i64>,
    name_of: Vec<u64>,
    n_wakeups: u64,
}

impl Running {
    /// Reads a bundle.
    pub fn read<'a>(&mut self, message: &'a [u8], machine: u32) -> Bundle<'a> {
        let mut bundle = Bundle { clock: BOOTTIME, ..Bundle::default() };
        let (mut cpu, mut columns, mut clock) = (0, Columns::default(), 0);
        let (mut own, mut boot) = (0i64, 0i64);
        for (number, value) in Fields::new(message) {
            match (number, value) {
                (1, Value::Number(number)) => cpu = number,
                (2, Value::Bytes(event)) => match switch(event) {
                    Some(switch) => bundle.switches.push(switch),
                    None => bundle.n_others += 1,
                },
                (3, Value::Number(number)) => bundle.is_after_loss |= number != 0,
                (4, Value::Bytes(compact)) => columns.read(compact),
                (5, Value::Number(number)) => clock = number,
                (6, Value::Number(number)) => own = number as i64,
                (7, Value::Number(number)) => boot = number as i64,
                _ => {}
            }
        }
        bundle.n_others += columns.n_wakeups;
        if clock == MONO_RAW {
            bundle.clock = MONOTONIC_RAW;
        } else if own != 0 && boot != 0 {
            // Another clock of the kernel: the bundle has one instant on both.
            let shift = boot.saturating_sub(own);
            bundle.switches.iter_mut().for_each(|it| it.ts = it.ts.saturating_add(shift));
            columns.times.iter_mut().take(1).for_each(|time| *time = time.wrapping_add_signed(shift));
        }
        let last = self.last.entry((machine, cpu)).or_insert(-1);
        if bundle.is_after_loss {
            *last = -1;
        }
        let mut before = *last;
        columns.push_to(&mut bundle.switches, &mut before);
        if let Some(latest) = bundle.switches.iter().max_by_key(|switch| switch.ts) {
            *last = latest.to;
        }
        bundle
    }
}

impl<'a> Columns<'a> {
    fn read(&mut self, message: &'a [u8]) {
        for (number, value) in Fields::new(message) {
            match number {
                1 => value.numbers(|number| self.times.push(number)),
                2 => value.numbers(|number| self.states.push(number as i64)),
                3 => value.numbers(|number| self.threads.push(i64::from(number as i32))),
                5 => self.names.extend(value.bytes()),
                6 => value.numbers(|number| self.name_of.push(number)),
                7 => value.numbers(|_| self.n_wakeups += 1),
                _ => {}
            }
        }
    }

    /// Each time is the distance from the one before; the thread that a CPU leaves is the one it last switched to.
    fn push_to(&self, switches: &mut Vec<Switch<'a>>, before: &mut i64) {
        let mut ts = 0u64;
        for (at, ((delta, to), state)) in self.times.iter().zip(&self.threads).zip(&self.states).enumerate() {
            ts = ts.wrapping_add(*delta);
            let name = self.name_of.get(at).and_then(|name| self.names.get(usize::try_from(*name).ok()?));
            switches.push(Switch {
                ts: ts as i64,
                from: (*before >= 0).then_some((*before, *state)),
                from_name: b"",
                to: *to,
                to_name: name.copied().unwrap_or_default(),
            });
            *before = *to;
        }
    }
}

/// The switch that an event is.
fn switch(event: &[u8]) -> Option<Switch<'_>> {
    let (mut ts, mut message) = (0, None);
    for (number, value) in Fields::new(event) {
        match (number, value) {
            (1, Value::Number(number)) => ts = number as i64,
            (4, Value::Bytes(bytes)) => message = Some(bytes),
            _ => {}
        }
    }
    let mut found = Switch { ts, from: None, from_name: b"", to: 0, to_name: b"" };
    let (mut from, mut state) = (0, 0);
    for (number, value) in Fields::new(message?) {
        match (number, value) {
            (1, Value::Bytes(name)) => found.from_name = name,
            (2, Value::Number(number)) => from = i64::from(number as i32),
            (4, Value::Number(number)) => state = number as i64,
            (5, Value::Bytes(name)) => found.to_name = name,
            (6, Value::Number(number)) => found.to = i64::from(number as i32),
            _ => {}
        }
    }
    found.from = Some((from, state));
    Some(found)
}

/// Name of the state of a thread that does not run: bits of Linux (`include/linux/sched.h`).
pub fn state_name(state: i64) -> &'static str {
    match state & 0xff {
        0 if state == 0 => "Runnable",
        // Bits above are those of a thread that another one displaced, by kernel version.
        0 => "Runnable (preempted)",
        bits if bits & 0x02 != 0 => "Uninterruptible sleep",
        bits if bits & 0x01 != 0 => "Sleeping",
        bits if bits & 0x04 != 0 => "Stopped",
        bits if bits & 0x08 != 0 => "Traced",
        bits if bits & 0x30 != 0 => "Dead",
        bits if bits & 0x40 != 0 => "Parked",
        _ => "Idle",
    }
}
