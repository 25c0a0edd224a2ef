//! Phases of a run: lookup by timestamp.

use super::settings::{self, Problem};
use crate::base::{sort, text};
use std::collections::BTreeSet;

/// One time range of a phase, nanoseconds on the trace clock, end exclusive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Boundary {
    pub phase: String,
    pub start_ns: i64,
    pub end_ns: i64,
}

/// Time ranges, with gaps and overlaps allowed; the first one that contains a timestamp wins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Phases {
    /// On the trace clock: the offset is already added.
    pub boundaries: Vec<Boundary>,
    /// Offset added to the given timestamps, in nanoseconds.
    pub offset_ns: i64,
    /// The engine clock of the given timestamps; `None` for the trace clock, and if not specified.
    pub clock: Option<EngineClock>,
    /// Events that begin or end no phase, each once, in words: `prefill_start`, `teardown_end without a start`.
    pub unused: Vec<String>,
}

/// An event logged by an engine: a phase begins or ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineEvent {
    /// `generation_start` and the like.
    pub event: String,
    /// Nanoseconds on one of the engine's clocks.
    pub ns: i64,
}

/// Which engine clock to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EngineClock {
    /// Since the Unix epoch.
    Wall,
    /// Since boot or another fixed moment; usually perf's default clock.
    Monotonic,
}

impl EngineClock {
    /// Member of events with the timestamp.
    fn member(self) -> &'static str {
        match self {
            EngineClock::Wall => "wall_ns",
            EngineClock::Monotonic => "mono_ns",
        }
    }

    /// `wall` or `monotonic`, also `mono`.
    pub fn of_name(name: &str) -> Option<EngineClock> {
        match name {
            "wall" => Some(EngineClock::Wall),
            "monotonic" | "mono" => Some(EngineClock::Monotonic),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            EngineClock::Wall => "wall",
            EngineClock::Monotonic => "monotonic",
        }
    }
}

/// Names of the events that begin and end phases, without `_start` and `_end`, and the phase.
const PHASE_EVENTS: [(&str, &str); 3] =
    [("model_load", "weight_load"), ("generation", "generation"), ("teardown", "teardown")];

/// Further events of engines, within phases.
const OTHER_EVENTS: [&str; 2] = ["kv_cache_alloc", "token_emitted"];

impl Phases {
    /// Parses JSON: a list of time ranges on the trace clock (`[{"phase": …, "start_ns": …, "end_ns": …}]`), or of engine
    /// events (`[{"event": "generation_start", "wall_ns": …, "mono_ns": …}]`), using the engine's monotonic clock. An object
    /// adds options to such a list: `{"offset_ns": …, "clock": "wall" or "monotonic", "phases": […] or "events": […]}`. The
    /// offset is added to its timestamps to get those of the trace.
    pub fn parse(json: &str) -> Result<Phases, Problem> {
        let Some(object) = settings::one_object(json) else { return Phases::of_list(json, 0, None) };
        let clock = match object.text("clock")?.as_deref() {
            None | Some("trace") => None,
            Some(name) => Some(EngineClock::of_name(name).ok_or_else(|| {
                Problem::new(format!("unknown clock '{name}': use wall, monotonic or trace"))
            })?),
        };
        if object.json("phases").is_some() && object.json("events").is_some() {
            return Err(Problem::new("the object has both phases and events; remove one of them"));
        }
        let list = object.json("phases").or_else(|| object.json("events"));
        let list = list.ok_or_else(|| Problem::new("the object needs phases or events"))?;
        Phases::of_list(list, object.integer("offset_ns")?.unwrap_or(0), clock)
    }

    /// Parses a list; events use `clock`, by default the monotonic one.
    fn of_list(json: &str, offset_ns: i64, clock: Option<EngineClock>) -> Result<Phases, Problem> {
        let by = clock.unwrap_or(EngineClock::Monotonic);
        let mut phases = Phases { offset_ns, clock, ..Phases::default() };
        let mut events = Vec::new();
        settings::for_each_object(json, |object| {
            if let Some(event) = object.text("event")? {
                let ns = object.integer(by.member())?;
                let ns = ns.ok_or_else(|| Problem::new(format!("an event is missing {}", by.member())))?;
                events.push(EngineEvent { event, ns });
                return Ok(());
            }
            let needed = |name: &str| {
                object.time(name)?.ok_or_else(|| Problem::new(format!("a phase is missing {name}")))
            };
            let phase = object.text("phase")?.ok_or_else(|| Problem::new("a time range is missing phase"))?;
            let (start_ns, end_ns) = (needed("start_ns")?, needed("end_ns")?);
            phases.boundaries.push(Boundary {
                phase,
                start_ns: start_ns.saturating_add(offset_ns),
                end_ns: end_ns.saturating_add(offset_ns),
            });
            Ok(())
        })?;
        if !events.is_empty() {
            phases.clock = Some(by);
        }
        let Phases { boundaries, unused, .. } = Phases::of_events(&events, offset_ns);
        phases.boundaries.extend(boundaries);
        phases.unused = unused;
        Ok(phases)
    }

    /// Builds phases from pairs of events; `offset_ns` is added to the engine's clock to get the trace clock. A start without
    /// an end lasts forever; an end without a start is unused.
    pub fn of_events(events: &[EngineEvent], offset_ns: i64) -> Phases {
        let mut boundaries: Vec<Boundary> = Vec::new();
        let mut open: Vec<(&str, usize)> = Vec::new();
        let mut unused: Vec<String> = Vec::new();
        let phase_of =
            |stem: &str| PHASE_EVENTS.iter().find(|(name, _)| *name == stem).map(|(_, phase)| *phase);
        for event in events {
            let ns = event.ns.saturating_add(offset_ns);
            let name = event.event.as_str();
            let why_unused = if let Some(phase) = name.strip_suffix("_start").and_then(phase_of) {
                open.push((phase, boundaries.len()));
                boundaries.push(Boundary { phase: phase.to_string(), start_ns: ns, end_ns: i64::MAX });
                continue;
            } else if let Some(phase) = name.strip_suffix("_end").and_then(phase_of) {
                if let Some(at) = open.iter().rposition(|(opened, _)| *opened == phase) {
                    let (_, at) = open.remove(at);
                    boundaries[at].end_ns = ns;
                    continue;
                }
                format!("{name} without a start")
            } else if OTHER_EVENTS.contains(&name) {
                continue;
            } else {
                text::shortened(name, text::IN_A_SENTENCE)
            };
            if !unused.contains(&why_unused) {
                unused.push(why_unused);
            }
        }
        Phases { boundaries, offset_ns, clock: None, unused }
    }

    pub fn is_empty(&self) -> bool {
        self.boundaries.is_empty()
    }

    /// Problem with the first time range that ends before it starts, and so is empty.
    pub fn first_inverted(&self) -> Option<Problem> {
        let inverted = self.boundaries.iter().find(|phase| phase.end_ns < phase.start_ns)?;
        Some(Problem::new(format!("the phase '{}' ends before it starts", inverted.phase)))
    }

    /// Whether some time range overlaps these timestamps (inclusive).
    pub fn touch(&self, (first, last): (i64, i64)) -> bool {
        self.boundaries
            .iter()
            .any(|phase| phase.start_ns <= last && first < phase.end_ns && phase.start_ns < phase.end_ns)
    }

    /// Number of the first time range that contains `ts`.
    pub fn at(&self, ts: i64) -> Option<usize> {
        self.boundaries.iter().position(|phase| phase.start_ns <= ts && ts < phase.end_ns)
    }

    /// Index for many lookups.
    pub fn by_time(&self) -> PhasesByTime {
        let all = self.boundaries.iter().enumerate().filter(|(_, phase)| phase.start_ns < phase.end_ns);
        let edges = all.flat_map(|(at, phase)| [(phase.start_ns, at, true), (phase.end_ns, at, false)]);
        let mut edges: Vec<(i64, usize, bool)> = edges.collect();
        sort::by(&mut edges, Ord::cmp);
        let mut open = BTreeSet::new();
        let mut from: Vec<(i64, Option<usize>)> = Vec::new();
        for (ns, at, is_start) in edges {
            if is_start {
                open.insert(at);
            } else {
                open.remove(&at);
            }
            let first = open.first().copied();
            match from.last_mut() {
                Some(last) if last.0 == ns => last.1 = first,
                _ => from.push((ns, first)),
            }
        }
        PhasesByTime { from }
    }

    pub fn name(&self, at: usize) -> Option<&str> {
        self.boundaries.get(at).map(|phase| phase.phase.as_str())
    }
}

/// Index from timestamp to time range.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PhasesByTime {
    /// Timestamps, ascending, with the number of the first range that applies from then on.
    from: Vec<(i64, Option<usize>)>,
}

impl PhasesByTime {
    /// Number of the first time range that contains `ts`, and the interval (end exclusive) in which this applies.
    pub fn at_and_until(&self, ts: i64) -> (Option<usize>, i64, i64) {
        let next = self.from.partition_point(|(from, _)| *from <= ts);
        let until = self.from.get(next).map_or(i64::MAX, |(from, _)| *from);
        match next.checked_sub(1).and_then(|at| self.from.get(at)) {
            Some((from, at)) => (*at, *from, until),
            None => (None, i64::MIN, until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn offsets_are_added() {
        let of = |json: &str| {
            let phases = Phases::parse(json).unwrap();
            let times = phases.boundaries.iter().map(|phase| (phase.start_ns, phase.end_ns));
            (times.collect::<Vec<_>>(), phases.offset_ns, phases.clock)
        };
        let stretch = r#"[{"phase": "a", "start_ns": 10, "end_ns": 20}]"#;
        assert_eq!(of(stretch), (vec![(10, 20)], 0, None));
        assert_eq!(of(&format!(r#"{{"phases": {stretch}}}"#)), (vec![(10, 20)], 0, None));
        let moved = format!(r#" {{"offset_ns": -30, "clock": "wall", "phases": {stretch}}}"#);
        assert_eq!(of(&moved), (vec![(-20, -10)], -30, Some(EngineClock::Wall)));
        let event = |edge: &str, ns: i64| {
            format!(r#"{{"event": "generation_{edge}", "wall_ns": {}, "mono_ns": {ns}}}"#, ns + 1000)
        };
        let events = format!("[{}, {}]", event("start", 5), event("end", 8));
        assert_eq!(of(&events), (vec![(5, 8)], 0, Some(EngineClock::Monotonic)));
        for member in ["phases", "events"] {
            let json = format!(r#"{{"clock": "wall", "offset_ns": 7, "{member}": {events}}}"#);
            assert_eq!(of(&json), (vec![(1012, 1015)], 7, Some(EngineClock::Wall)));
        }
        let unused = |names: &[&str]| {
            let events = names.iter().map(|name| format!(r#"{{"event": "{name}", "mono_ns": 1}}"#));
            Phases::parse(&format!("[{}]", events.collect::<Vec<_>>().join(", "))).unwrap().unused
        };
        assert_eq!(unused(&["generation_start", "kv_cache_alloc", "generation_end"]), [""; 0]);
        let odd = ["prefill_start", "teardown_end", "teardown_start", "prefill_start", "teardown_end"];
        assert_eq!(unused(&odd), ["prefill_start", "teardown_end without a start"]);
        // Fractional bounds: the whole timestamps between them.
        for (times, wanted) in [
            (r#""start_ns": 1e11, "end_ns": 103000000000.0"#, (100_000_000_000, 103_000_000_000)),
            (r#""start_ns": 1.5, "end_ns": 3.0001"#, (2, 4)),
            (r#""start_ns": -1.5, "end_ns": 1e30"#, (-1, i64::MAX)),
        ] {
            assert_eq!(of(&format!(r#"[{{"phase": "a", {times}}}]"#)).0, [wanted], "{times}");
        }
        let latest = format!(r#"{{"offset_ns": {}, "phases": {stretch}}}"#, i64::MAX);
        assert_eq!(of(&latest).0, [(i64::MAX, i64::MAX)]);
        for wrong in [
            "{}",
            r#"{"phases": 1}"#,
            r#"{"clock": "sun", "phases": []}"#,
            r#"{"offset_ns": "x", "phases": []}"#,
            r#"[{"phase": "a", "start_ns": "1", "end_ns": 2}]"#,
            r#"[{"phase": "a", "start_ns": NaN, "end_ns": 2}]"#,
            r#"[{"phase": "a", "start_ns": 1}]"#,
            "{",
        ] {
            assert!(Phases::parse(wrong).is_err(), "{wrong}");
        }
        // As in the reference, a range that ends before it starts is empty.
        let inverted = Phases::parse(r#"[{"phase": "a", "start_ns": 3.5, "end_ns": 3}]"#).unwrap();
        assert_eq!(inverted.first_inverted().unwrap().0, "the phase 'a' ends before it starts");
        assert!(inverted.at(3).is_none() && !inverted.touch((0, 10)));
        let phases = Phases::parse(stretch).unwrap();
        assert_eq!(phases.first_inverted(), None);
        assert_eq!(
            [(0, 9), (0, 10), (19, 30), (20, 30)].map(|span| phases.touch(span)),
            [false, true, true, false]
        );
    }

    proptest! {
        #[test]
        fn one_time_and_many_give_the_same(
            edges in prop::collection::vec((-20i64..20, -20i64..20), 0..12),
            ts in -25i64..25,
        ) {
            let boundary = |(start_ns, end_ns)| Boundary { phase: String::new(), start_ns, end_ns };
            let boundaries = edges.into_iter().map(boundary).collect();
            let phases = Phases { boundaries, ..Phases::default() };
            let (at, from, until) = phases.by_time().at_and_until(ts);
            prop_assert_eq!(at, phases.at(ts));
            prop_assert!(from <= ts && ts < until);
            for ts in from.max(-30)..until.min(30) {
                prop_assert_eq!(at, phases.at(ts));
            }
        }
    }
}
