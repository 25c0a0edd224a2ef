//! Clocks of a trace and conversion between them.
//!
//! A snapshot has the values of several clocks at one instant. Between two clocks, the difference is that of the last snapshot
//! before the time; between clocks that are never in one snapshot, it goes over others.

use super::issues::{BAD_TIMESTAMP, UNKNOWN_CLOCK};
use crate::base::hash::HashMap;
use crate::base::protobuf::{Fields, Value, key};
use crate::trace::IssueKind;

/// Clock of traces that name none.
const BOOTTIME: u32 = 6;
/// The clock of times in microseconds.
pub const MONOTONIC: u32 = 3;
/// First clock that belongs to a sequence, and the first that is global again.
const OWN_CLOCKS: std::ops::Range<u32> = 64..128;
/// Clocks of one snapshot that are used.
const MAX_CLOCKS: usize = 64;
/// Clocks between two.
const MAX_STEPS: usize = 4;

/// A clock and the sequence that it belongs to; 0 if it is global.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Clock {
    id: u32,
    sequence: u32,
}

impl Clock {
    /// `sequence` is counted from 1.
    pub fn new(id: u32, sequence: u32) -> Clock {
        Clock { id, sequence: if OWN_CLOCKS.contains(&id) { sequence } else { 0 } }
    }

    fn is_builtin(self) -> bool {
        self.id < OWN_CLOCKS.start
    }
}

/// Unit and current value of a clock.
#[derive(Clone, Copy)]
struct Ticks {
    /// Value, in units, that the next timestamp is added to.
    last: Option<i64>,
    /// That value was dropped, and the clock is unknown until the next snapshot.
    is_lost: bool,
    /// Nanoseconds.
    unit: i64,
}

/// Result of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Converted {
    /// Nanoseconds on the clock of the trace.
    Time(i64),
    /// No snapshot so far relates the clock to that of the trace. The value is in nanoseconds of its own clock.
    Unknown(Clock, i64),
    /// The value it counts from was lost.
    Lost,
    /// Not within 63 bits, or negative.
    Bad,
}

impl Converted {
    /// Time on the clock of the trace, or on the clock that nothing relates to it so far.
    pub fn known(self) -> Result<(i64, Option<Clock>), &'static IssueKind> {
        match self {
            Converted::Time(ts) => Ok((ts, None)),
            Converted::Unknown(clock, ts) => Ok((ts, Some(clock))),
            Converted::Lost => Err(&UNKNOWN_CLOCK),
            Converted::Bad => Err(&BAD_TIMESTAMP),
        }
    }
}

#[derive(Default)]
pub struct Clocks {
    /// Clock of the trace, once known.
    primary: Option<u32>,
    /// There was a snapshot.
    has_snapshot: bool,
    ticks: HashMap<Clock, Ticks>,
    /// Incremental clocks of each sequence.
    incremental: HashMap<u32, Vec<Clock>>,
    /// Values of two clocks in the same snapshots, by value of the first one.
    pairs: HashMap<(Clock, Clock), Vec<(i64, i64)>>,
    /// Clocks that are in a snapshot with a clock.
    next: HashMap<Clock, Vec<Clock>>,
    /// Known ways to the clock of the trace; dropped with each snapshot.
    paths: HashMap<Clock, Option<Vec<Clock>>>,
}

impl Clocks {
    fn primary(&self) -> Clock {
        Clock::new(self.primary.unwrap_or(BOOTTIME), 0)
    }

    /// Drops incremental clocks of a sequence.
    pub fn clear(&mut self, sequence: u32) {
        for clock in self.incremental.remove(&sequence).unwrap_or_default() {
            if let Some(ticks) = self.ticks.get_mut(&clock) {
                ticks.is_lost |= ticks.last.is_some();
            }
        }
    }

    /// Takes a `ClockSnapshot`.
    pub fn snapshot(&mut self, message: &[u8], sequence: u32) {
        let mut values: Vec<(Clock, i64)> = Vec::new();
        for (number, value) in Fields::new(message) {
            match (number, value) {
                (2, Value::Number(id)) if !self.has_snapshot && id > 0 => {
                    self.primary = u32::try_from(id).ok()
                }
                (1, Value::Bytes(clock)) if values.len() < MAX_CLOCKS => {
                    let (mut id, mut time, mut is_incremental, mut unit) = (0, 0i64, false, 1i64);
                    let mut fields = Fields::new(clock);
                    while let Some((field, value)) = fields.next_keyed() {
                        let Value::Number(number) = value else { continue };
                        match field {
                            key if key == key::varint(1) => id = number as u32,
                            key if key == key::varint(2) => time = number as i64,
                            key if key == key::varint(3) => is_incremental = number != 0,
                            key if key == key::varint(4) => unit = (number as i64).max(1),
                            _ => {}
                        }
                    }
                    let clock = Clock::new(id, sequence);
                    if is_incremental {
                        let own = self.incremental.entry(clock.sequence).or_default();
                        if !own.contains(&clock) {
                            own.push(clock);
                        }
                    }
                    if is_incremental || unit != 1 {
                        self.ticks.insert(
                            clock,
                            Ticks { last: is_incremental.then_some(time), is_lost: false, unit },
                        );
                    } else {
                        self.ticks.remove(&clock);
                    }
                    values.push((clock, time.saturating_mul(unit)));
                }
                _ => {}
            }
        }
        self.has_snapshot = true;
        for (from, at) in &values {
            for (to, other) in values.iter().filter(|(to, _)| to != from) {
                let pairs = self.pairs.entry((*from, *to)).or_insert_with(|| {
                    self.next.entry(*from).or_default().push(*to);
                    Vec::new()
                });
                let place = pairs.partition_point(|(value, _)| value <= at);
                pairs.insert(place, (*at, *other));
            }
        }
        self.paths.clear();
    }

    /// Converts a timestamp of a packet; advances incremental clocks.
    pub fn convert(&mut self, time: u64, clock: Option<Clock>) -> Converted {
        let clock = clock.unwrap_or_else(|| self.primary());
        let time = match self.ticks.get_mut(&clock) {
            Some(Ticks { is_lost: true, .. }) => return Converted::Lost,
            Some(Ticks { last: Some(last), unit, .. }) => {
                *last = last.saturating_add(time as i64);
                last.saturating_mul(*unit)
            }
            Some(Ticks { unit, .. }) => (time as i64).saturating_mul(*unit),
            None => time as i64,
        };
        self.convert_ns(time, clock)
    }

    /// Converts nanoseconds of a clock.
    pub fn convert_ns(&mut self, time: i64, clock: Clock) -> Converted {
        let result = if clock == self.primary() { Some(time) } else { self.along(time, clock) };
        match result {
            Some(i64::MAX) => Converted::Bad,
            Some(time) if time >= 0 => Converted::Time(time),
            Some(_) => Converted::Bad,
            None => Converted::Unknown(clock, time),
        }
    }

    /// Converts what could not be converted when it came, once all is read.
    pub fn convert_late(&mut self, time: i64, clock: Clock) -> Converted {
        match self.convert_ns(time, clock) {
            Converted::Unknown(..) if !self.has_snapshot && clock.is_builtin() && time >= 0 => {
                Converted::Time(time)
            }
            other => other,
        }
    }

    fn along(&mut self, time: i64, clock: Clock) -> Option<i64> {
        if !self.paths.contains_key(&clock) {
            let path = self.path(clock);
            self.paths.insert(clock, path);
        }
        let path = self.paths.get(&clock)?.as_ref()?;
        let (mut time, mut from) = (time, clock);
        for to in path {
            let pairs = self.pairs.get(&(from, *to))?;
            let at = pairs.partition_point(|(value, _)| *value <= time).saturating_sub(1);
            let (value, other) = pairs.get(at)?;
            time = time.saturating_sub(*value).saturating_add(*other);
            from = *to;
        }
        Some(time)
    }

    /// Shortest way to the clock of the trace.
    fn path(&self, clock: Clock) -> Option<Vec<Clock>> {
        let primary = self.primary();
        let mut from: HashMap<Clock, Clock> = HashMap::default();
        let mut reached = vec![clock];
        for _ in 0..MAX_STEPS {
            let mut further = Vec::new();
            for at in &reached {
                for next in self.next.get(at).into_iter().flatten() {
                    if *next != clock && !from.contains_key(next) {
                        from.insert(*next, *at);
                        further.push(*next);
                    }
                }
            }
            if from.contains_key(&primary) {
                let mut path = vec![primary];
                while let Some(before) =
                    path.last().and_then(|last| from.get(last)).filter(|at| **at != clock)
                {
                    path.push(*before);
                }
                path.reverse();
                return Some(path);
            }
            reached = further;
        }
        None
    }
}
