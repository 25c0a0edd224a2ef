//! Outlier timestamps: a few events far from all others, with a wrong clock or from another trace.
//!
//! ```text
//! [main: 2.3 s]                    14 years                  |x|
//! ```
//! A single outlier stretches the trace: shares of the span, idle time and unfinished slices, which are drawn
//! to the end of the trace, all extend to it.

use crate::base::strings::StringId;
use crate::base::units::{format_ns, group_digits};
use crate::trace::Trace;
use crate::trace::activity::{Activity, MIN_GAP_NS, Stretch};

const SECOND_NS: i64 = 1_000_000_000;
/// Smallest ratio of that gap to the span of the other events.
const MIN_TIMES: i64 = 10;
/// Outliers allowed regardless of the number of events; beyond that, at most one in a hundred.
const FEW: u64 = 3;
/// Events far from nearly all others in a trace.
pub struct FarAway {
    pub n: u64,
    /// Nanoseconds from the other events to the farthest outlier, and whether outliers come after the others; `None` if on both sides.
    pub gap_ns: i64,
    pub is_after: Option<bool>,
    /// Name of the first slice among the outliers.
    pub name: Option<StringId>,
    /// First and last nanosecond of the other events, from the start of the trace.
    pub others: (i64, i64),
}

impl FarAway {
    /// Finds outliers; `None` if there are none. Traces shorter than an hour are not scanned.
    pub fn of(trace: &Trace) -> Option<FarAway> {
        let (start, end) = trace.extent()?;
        if end.saturating_sub(start) < MIN_GAP_NS {
            return None;
        }
        let stretches = stretches(trace)?;
        let main = stretches.iter().max_by_key(|stretch| stretch.n)?;
        let n = stretches.iter().map(|stretch| stretch.n).sum::<u64>() - main.n;
        let is_few = n > 0 && n < main.n && (n <= FEW || n <= main.n / 100);
        let length = main.end.saturating_sub(main.start);
        let outside = end.saturating_sub(start).saturating_sub(length);
        if !is_few || outside / MIN_TIMES < length {
            return None;
        }
        let others = || stretches.iter().filter(|stretch| stretch.start != main.start);
        let is_after = |stretch: &Stretch| stretch.start > main.start;
        let gap = |stretch: &Stretch| match is_after(stretch) {
            true => stretch.start.saturating_sub(main.end),
            false => main.start.saturating_sub(stretch.end),
        };
        let farthest = others().max_by_key(|stretch| gap(stretch))?;
        let are_on_one_side = others().all(|stretch| is_after(stretch) == is_after(farthest));
        let (origin, _) = trace.span()?;
        Some(FarAway {
            n,
            gap_ns: gap(farthest),
            is_after: are_on_one_side.then_some(is_after(farthest)),
            name: farthest.name,
            others: (main.start.saturating_sub(origin), main.end.saturating_sub(origin)),
        })
    }

    /// Time range that excludes the outliers: first and last nanosecond from the start of the trace. Rounded to whole milliseconds
    /// for readability, with one extra before, as the command parses them as doubles.
    pub fn stretch_without(&self) -> (i64, i64) {
        let (from, to) = self.others;
        let from = (from / 1_000_000 - i64::from(from > 0)).max(0) * 1_000_000;
        (from, (to.div_euclid(1_000_000) + 1).saturating_mul(1_000_000))
    }

    /// Text of the warning in the report.
    pub fn words(&self, trace: &Trace) -> String {
        let name = self.name.and_then(|name| trace.strings.get_opt(name));
        let (what, verb) = match self.n {
            1 => ("event", "is"),
            _ => ("events", "are"),
        };
        let gap = long_time(self.gap_ns);
        let far = match self.is_after {
            Some(true) => format!("{gap} after"),
            Some(false) => format!("{gap} before"),
            None => format!("up to {gap} from"),
        };
        let (from, to) = self.stretch_without();
        let (from, to) = (from / 1_000_000, to / 1_000_000);
        let named = match (name, self.n) {
            (Some(name), 1) => format!(" (\u{201c}{}\u{201d})", crate::base::text::visible(name)),
            (Some(name), _) => format!(" (including \u{201c}{}\u{201d})", crate::base::text::visible(name)),
            (None, _) => String::new(),
        };
        format!(
            "{} {what}{named} {verb} {far} all others, which span {}. This inflates the trace span and unfinished slices, and \
             distorts percentages of the span. To exclude them, use `--only {from}ms..{to}ms`, or \
             \u{201c}Report on a time range\u{201d} on the page.",
            group_digits(i128::from(self.n)),
            format_ns(self.others.1.saturating_sub(self.others.0)),
        )
    }
}

/// A duration of an hour or more: `14.2 years`, `3.5 days`, `7.0 hours`.
fn long_time(ns: i64) -> String {
    let hours = ns as f64 / (3600.0 * SECOND_NS as f64);
    match hours {
        hours if hours >= 24.0 * 365.25 => format!("{:.1} years", hours / (24.0 * 365.25)),
        hours if hours >= 48.0 => format!("{:.1} days", hours / 24.0),
        _ => format!("{hours:.1} hours"),
    }
}

/// Everything with a timestamp, split at long gaps; `None` if there are too many gaps.
fn stretches(trace: &Trace) -> Option<Vec<Stretch>> {
    let mut found = match &trace.aggregated {
        Some(folded) => folded.activity.clone(),
        None => {
            let mut found = Activity::default();
            found.add_slices(&trace.slices);
            found
        }
    };
    for times in [&trace.counters.ts, &trace.samples.ts, &trace.objects.ts] {
        found.add_points(times);
    }
    found.stretches().map(<[Stretch]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tracks::ProcessId;

    /// A trace with objects at these times, in nanoseconds.
    fn trace(times: impl IntoIterator<Item = i64>) -> Trace {
        let mut trace = Trace::default();
        trace.processes.push(crate::trace::tracks::Key::Number(1));
        for ts in times {
            let objects = &mut trace.objects;
            objects.event.push(crate::trace::objects::ObjectEvent::ClockSync);
            objects.ts.push(ts);
            objects.process.push(ProcessId(0));
            objects.name.push(crate::base::strings::StringId::EMPTY);
            objects.id.push(crate::base::strings::StringId::NONE);
            objects.args.push(crate::trace::args::ArgsPlace::NONE);
        }
        trace
    }

    #[test]
    fn one_event_years_after_all_others_is_found() {
        let year = 8766 * MIN_GAP_NS;
        let far = trace((0..20).chain([14 * year]));
        let found = FarAway::of(&far).unwrap();
        assert_eq!((found.n, found.is_after, found.others), (1, Some(true), (0, 19)));
        assert!(
            found.words(&far).starts_with("1 event is 14.0 years after all others"),
            "{}",
            found.words(&far)
        );
        let before = FarAway::of(&trace([0].into_iter().chain((0..20).map(|i| 51 * year + i)))).unwrap();
        assert_eq!((before.n, before.is_after), (1, Some(false)));
        let both = trace([0].into_iter().chain((0..20).map(|i| year + i)).chain([3 * year]));
        let found = FarAway::of(&both).unwrap();
        assert_eq!((found.n, found.is_after), (2, None));
        assert!(
            found.words(&both).starts_with("2 events are up to 2.0 years from all others"),
            "{}",
            found.words(&both)
        );
    }

    #[test]
    fn the_range_without_outliers_may_reach_the_end_of_all_time() {
        let others = i64::MAX - 100;
        let far = trace([0].into_iter().chain((0..20).map(|i| others + i)));
        let found = FarAway::of(&far).unwrap();
        let (from, to) = found.stretch_without();
        assert!(from <= others && to == i64::MAX, "{from} to {to}");
        assert!(found.words(&far).contains("--only"));
    }

    #[test]
    fn traces_with_pauses_are_as_they_should_be() {
        let hour = MIN_GAP_NS;
        let cases: [Vec<i64>; 5] = [
            // Short; with one long pause; two events; as many groups as events.
            (0..20).collect(),
            (0..20).chain((0..20).map(|i| 90 * hour + i)).collect(),
            vec![0, 90 * hour],
            (0..100).map(|i| i * 2 * hour).collect(),
            // The other events span hours themselves.
            (0..100).map(|i| i * hour / 2).chain([80 * hour]).collect(),
        ];
        for times in cases {
            assert!(FarAway::of(&trace(times.clone())).is_none(), "{times:?}");
        }
    }
}
