//! Findings for traces without GPU activity: the largest consumer of self time, and slices that take far longer than others of the
//! same name, with the child slice responsible.

use crate::analysis::findings::{consumers_of_self_time, opportunities, quoted, rows_of, worth_saying};
use crate::analysis::gpu;
use crate::analysis::gpu::stats::percent;
use crate::analysis::slices::{self, SliceSums};
use crate::base::sort;
use crate::base::text::visible;
use crate::base::units::{Unit, counted, format_ns, group_digits};
use crate::report::{Facts, Finding, Findings, RowsOf};
use crate::trace::slices::{Class, SliceId, UNFINISHED};
use crate::trace::summaries::Summaries;
use crate::trace::sums::too_long;
use crate::trace::{Run, Trace};

/// Smallest share of self time that makes the largest consumer a finding.
const LARGEST: f64 = 0.25;
/// Fewest slices of a name needed for a meaningful median.
const MIN_COUNT: u64 = 5;
/// A slice is an outlier from this multiple of the median on.
const FAR: i64 = 4;
/// Largest share of a name's slices that may be outliers.
const RARE: f64 = 0.25;
/// Smallest share of the excess that a child slice must cover to explain an outlier.
const EXPLAINS: f64 = 0.5;
/// Most outliers reported.
const N_OUTLIERS: usize = 5;
/// Most candidates considered; with more, durations in the trace are not meaningful.
const MAX_CANDIDATES: usize = 10_000;

/// Findings of the run; none if there is GPU activity, which has its own report.
pub fn of(run: &Run, sums: &SliceSums<'_>) -> Vec<Findings> {
    if run.traces.iter().any(|trace| gpu::has_work(trace) || trace.aggregated.is_some()) {
        return Vec::new();
    }
    let mut unusual: Vec<Finding> = Vec::new();
    for (number, trace) in run.traces.iter().enumerate() {
        let mut of_trace = outliers(number, trace, sums);
        if run.traces.len() > 1 {
            let file = visible(&trace.source.file_name);
            of_trace.iter_mut().for_each(|finding| finding.text = format!("{file}: {}", finding.text));
        }
        unusual.extend(of_trace);
    }
    sort::by_key(&mut unusual, |finding| std::cmp::Reverse(finding.time));
    worth_saying([consumers_of_self_time(largest(sums).into_iter().collect()), opportunities(unusual)])
}

/// Slices of that name.
fn named(name: &str) -> RowsOf {
    rows_of(slices::SLICES, "name", name)
}

/// The name with the most self time.
fn largest(sums: &SliceSums<'_>) -> Option<Finding> {
    let (rows, _) = sums.telling();
    let of_threads = rows.iter().filter(|row| row.class == Class::Thread);
    let row = of_threads.min_by_key(|row| std::cmp::Reverse(row.sums.self_ns))?;
    let (own, total) = (row.sums.self_ns, sums.self_total());
    let share = (total > 0).then(|| own as f64 / total as f64).filter(|share| *share >= LARGEST)?;
    let name = sums.names.text(row.name).unwrap_or("");
    let text = format!(
        "{} accounts for {} of all self time ({}).",
        quoted(name),
        percent(share),
        counted(row.sums.count, "slice", "slices")
    );
    let mut facts = Facts::default();
    facts.push("self", "self time", own, Unit::Ns);
    facts.push("count", "slices", row.sums.count, Unit::Count);
    Some(Finding {
        id: "largest-self-time".to_string(),
        text,
        time: Some(own),
        share: Some(share),
        evidence: facts.facts,
        rows: Some(named(name)),
    })
}

/// A slice that takes far longer than others of its name.
struct Outlier {
    slice: usize,
    dur: i64,
    median: i64,
    count: u64,
    /// Innermost descendant that explains the excess; the slice itself if there is none.
    leaf: usize,
}

impl Outlier {
    /// Time beyond the median, in nanoseconds.
    fn excess(&self) -> i64 {
        self.dur.saturating_sub(self.median)
    }
}

fn outliers(number: usize, trace: &Trace, sums: &SliceSums<'_>) -> Vec<Finding> {
    let slices = &trace.slices;
    let reported = trace.reported().map_or(0, |(start, end)| end.saturating_sub(start));
    let (limit, too_long) = ((reported / 100).max(1), too_long(trace.extent()));
    let summaries = Summaries::of(trace);
    let is_of_thread = |i: usize| Class::of(slices.kind[i]) == Class::Thread;
    let is_candidate = |i: &usize| {
        let dur = slices.dur.get(*i);
        dur >= limit
            && dur <= too_long
            && is_of_thread(*i)
            && !summaries.has(slices.name[*i], slices.track[*i])
    };
    // Means include the outliers, so half the factor used with medians is enough here.
    let may_be = |i: &usize| {
        sums.of_slice(number, *i).is_some_and(|row| {
            let mean = row.total_ns / row.count.max(1) as i64;
            row.count >= MIN_COUNT && slices.dur.get(*i) >= mean.saturating_mul(FAR / 2)
        })
    };
    let candidates: Vec<usize> =
        (0..slices.len()).filter(is_candidate).filter(may_be).take(MAX_CANDIDATES + 1).collect();
    if candidates.is_empty() || candidates.len() > MAX_CANDIDATES {
        return Vec::new();
    }
    let key = |i: usize| (slices.name[i], slices.category[i]);
    let mut keys: Vec<_> = candidates.iter().map(|i| key(*i)).collect();
    sort::by(&mut keys, Ord::cmp);
    keys.dedup();
    let mut durations: Vec<Vec<i64>> = vec![Vec::new(); keys.len()];
    for i in (0..slices.len()).filter(|i| is_of_thread(*i) && slices.dur.get(*i) != UNFINISHED) {
        if let Ok(at) = keys.binary_search(&key(i)) {
            durations[at].push(slices.dur.get(i));
        }
    }
    durations.iter_mut().for_each(|durations| durations.sort_unstable());
    let mut found: Vec<Outlier> = Vec::new();
    for slice in candidates {
        let Ok(at) = keys.binary_search(&key(slice)) else { continue };
        let (all, dur) = (&durations[at], slices.dur.get(slice));
        let median = all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or(0);
        let is_far = |dur: i64| dur >= median.saturating_mul(FAR) && dur.saturating_sub(median) >= limit;
        let n_far = all.len() - all.partition_point(|dur| !is_far(*dur));
        if (all.len() as u64) < MIN_COUNT || !is_far(dur) || n_far as f64 > RARE * all.len() as f64 {
            continue;
        }
        let mut outlier = Outlier { slice, dur, median, count: all.len() as u64, leaf: slice };
        outlier.leaf = leaf(number, trace, sums, &outlier);
        found.push(outlier);
    }
    // Among nested slices explained by the same slice, keep the innermost.
    sort::by_key(&mut found, |outlier| (outlier.leaf, std::cmp::Reverse(outlier.slice)));
    found.dedup_by_key(|outlier| outlier.leaf);
    sort::by_key(&mut found, |outlier| std::cmp::Reverse(outlier.excess()));
    // One finding per name, and per name of what explains it.
    let mut groups: Vec<Vec<Outlier>> = Vec::new();
    for outlier in found {
        let same = groups.iter_mut().find(|group| {
            let first = &group[0];
            (key(first.slice), key(first.leaf)) == (key(outlier.slice), key(outlier.leaf))
        });
        match same {
            Some(group) => group.push(outlier),
            None => groups.push(vec![outlier]),
        }
    }
    sort::by_key(&mut groups, |group| std::cmp::Reverse(excess(group)));
    groups.truncate(N_OUTLIERS);
    groups.iter().map(|group| finding(trace, group, reported)).collect()
}

/// Time beyond the median in all slices of a group, in nanoseconds.
fn excess(group: &[Outlier]) -> i64 {
    group.iter().map(Outlier::excess).fold(0, i64::saturating_add)
}

/// Descends to the slice that causes an outlier: its longest child, as long as that explains the excess and is itself an outlier or
/// the only one of its name.
fn leaf(number: usize, trace: &Trace, sums: &SliceSums<'_>, outlier: &Outlier) -> usize {
    let slices = &trace.slices;
    let excess = outlier.dur.saturating_sub(outlier.median);
    let mut at = outlier.slice;
    loop {
        let end = slices.ts[at].saturating_add(slices.dur.get(at).max(0));
        let inside = (at + 1..slices.len()).take_while(|i| slices.ts[*i] < end);
        let children = inside.filter(|i| slices.parent[*i] == SliceId(at as u32));
        let Some(longest) = children.max_by_key(|i| (slices.dur.get(*i), std::cmp::Reverse(*i))) else {
            return at;
        };
        let dur = slices.dur.get(longest);
        let is_unusual = sums.of_slice(number, longest).is_some_and(|row| {
            let others = row.count.saturating_sub(1);
            others == 0 || dur / 2 >= row.total_ns.saturating_sub(dur) / others as i64
        });
        if (dur as f64) < EXPLAINS * excess as f64 || !is_unusual {
            return at;
        }
        at = longest;
    }
}

/// `group` has outliers of one name, the longest first.
fn finding(trace: &Trace, group: &[Outlier], span: i64) -> Finding {
    let slices = &trace.slices;
    let outlier = &group[0];
    let name = |i: usize| trace.strings.get_opt(slices.name[i]).unwrap_or("");
    let (outer, leaf) = (quoted(name(outlier.slice)), name(outlier.leaf));
    let median = format!(
        "compared with a median of {} over {} slices",
        format_ns(outlier.median),
        group_digits(i128::from(outlier.count))
    );
    let n = group_digits(group.len() as i128);
    // `224.1 µs`, or `219.4 µs to 224.1 µs`.
    let shortest = group.last().map_or(outlier.dur, |last| last.dur);
    let took = match (format_ns(shortest), format_ns(outlier.dur)) {
        (from, to) if from == to => to,
        (from, to) => format!("{from} to {to}"),
    };
    let mut facts = Facts::default();
    let text = if outlier.leaf == outlier.slice {
        match group {
            [_] => format!("One {outer} took {took}, {median}."),
            _ => format!("{n} {outer} took {took}, {median}."),
        }
    } else {
        let of_leaf = |it: &Outlier| slices.dur.get(it.leaf);
        let inside = group.iter().map(of_leaf).fold(0, i64::saturating_add);
        facts.push("inside", &format!("in {}", visible(leaf)), inside, Unit::Ns);
        let accounts = format!("{} accounts for {} of that", quoted(leaf), format_ns(inside));
        match group {
            [_] => format!("One {outer} took {took}, {median}; {accounts}."),
            _ => format!("{n} {outer} took {took} each, {median}; {accounts}."),
        }
    };
    facts.push("duration", "duration", outlier.dur, Unit::Ns);
    facts.push("median", "median", outlier.median, Unit::Ns);
    facts.push("count", "slices with this name", outlier.count, Unit::Count);
    let excess = excess(group);
    Finding {
        id: "unusual-slice".to_string(),
        text,
        time: Some(excess),
        // Slices beside each other add up to more than the trace lasts.
        share: Some((excess as f64 / span.max(1) as f64).min(1.0)),
        evidence: facts.facts,
        rows: Some(named(leaf)),
    }
}
