//! CPU time by frame, operator and call, those that the GPU waited for first.

use super::gpu::gaps::{self, Cause};
use super::gpu::model::NONE;
use super::gpu::spans::{self, Span};
use super::gpu::stats::{SumNs, share};
use super::gpu::{self, GpuTrace, Kind, Lack, NamedTrace};
use super::timeline::{cut, integers, texts, with_left_out};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::text::visible;
use crate::base::units::{Unit, format_ns};
use crate::report::{Column, Content, Report, Table};
use crate::trace::sweep::Sweep;
use crate::trace::tracks::{Place, TrackId};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "gpu-cpu",
    title: "Python and CPU",
    applies: gpu::applies,
    run,
    group: Group::Gpu,
    is_late: true,
};

/// Table that findings read.
pub const CPU: TableHandle = TableHandle { report: &INFO, id: "cpu" };
/// Its row on waits in which the launching thread ran nothing that says what it did.
pub const NOTHING: &str = "(nothing recorded)";
/// Kind of its rows on the profiler's overhead.
pub const PROFILER: &str = "profiler";

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    NamedTrace::each(context.gpu(), &mut report, |named, report| add(named, report));
    report
}

/// Sums of one name and kind.
#[derive(Clone, Copy, Default)]
struct Sums {
    count: u64,
    own: i64,
    /// Part of `own` during which the GPU waited for this thread.
    waited: i64,
}

impl Sums {
    fn add_wait(&mut self, ns: i64) {
        self.waited = self.waited.saturating_add(ns);
    }
}

/// Name of a kind; `None` for kinds that are not listed.
fn kind_name(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Op => "operator",
        Kind::Annotation => "range",
        Kind::Python => "Python",
        Kind::Call => "GPU call",
        Kind::Overhead => PROFILER,
        _ => return None,
    })
}

fn add(named: &NamedTrace<'_, '_>, report: &mut Report) {
    let gpu = named.gpu;
    let waits = waits(gpu);
    let waited = waits.total();
    let mut rows: Vec<((StringId, Kind), Sums)> = sums(gpu, &waits);
    // Calls that nothing waited for are in the table of launches.
    if waited == 0 && rows.iter().all(|row| matches!(row.0.1, Kind::Call | Kind::Overhead)) {
        return;
    }
    let text = |id: StringId| gpu.group_text(id).unwrap_or(NOTHING);
    sort::by(&mut rows, |a, b| {
        let key = |row: &((StringId, Kind), Sums)| (row.1.waited, row.1.own);
        key(b).cmp(&key(a)).then_with(|| text(a.0.0).cmp(text(b.0.0)))
    });
    let own: i64 = rows.iter().map(|row| row.1.own).sum_ns();
    if report.summary.is_empty() {
        // More may have been a wait where launches have no device record.
        let hides_wait = gaps::of_devices(gpu).iter().flatten().any(|gap| gap.may_hide_work);
        let at_least = if hides_wait { "at least " } else { "" };
        let part = |sums: &Sums| 100.0 * share(sums.waited, waited).unwrap_or(0.0);
        let waited_for = match waits.of_gpus > waited {
            false => format!("The GPU waited {at_least}{} for the host", format_ns(waited)),
            true => format!(
                "The host kept GPUs waiting for {at_least}{} ({} summed over GPUs)",
                format_ns(waited),
                format_ns(waits.of_gpus)
            ),
        };
        report.summary = match rows.first() {
            Some(((StringId::NONE, _), sums)) => format!(
                "{waited_for}; nothing was recorded on the launching thread in {:.1}% of that wait.",
                part(sums)
            ),
            Some(((name, _), sums)) if sums.waited > 0 => format!(
                "{waited_for}; `{}` accounts for {:.1}% of that wait.",
                visible(text(*name)),
                part(sums)
            ),
            Some(((name, _), sums)) => {
                format!("`{}` has the most self time: {}.", visible(text(*name)), format_ns(sums.own))
            }
            None => "No CPU activity in this trace.".to_string(),
        };
    }
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        named.id(CPU.id),
        named.title("Frames, operators and calls"),
        vec![
            Column::key("name", "name", Content::Symbol, texts(rows.iter().map(|row| Some(text(row.0.0))))),
            Column::key("kind", "kind", Content::Plain, texts(rows.iter().map(|row| kind_name(row.0.1)))),
            integers("waited", "GPU waited", Unit::Ns, rows.iter().map(|row| row.1.waited))
                .with_bar()
                .hint("self time during host-bound gaps, on the thread that launched the next kernel; several GPUs that wait for it \
                       at once count once"),
            Column::float("waited_share", "% of wait", Unit::Ratio, rows.iter().map(|row| share(row.1.waited, waited)).collect()),
            integers("own", "self time", Unit::Ns, rows.iter().map(|row| row.1.own))
                .hint("excluding callees, on all threads"),
            Column::float("own_share", "% of self time", Unit::Ratio, rows.iter().map(|row| share(row.1.own, own)).collect()),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.1.count)),
            integers("mean", "mean self time", Unit::Ns, rows.iter().map(|row| row.1.own / (row.1.count.max(1) as i64))),
        ],
    )
    .sorted_by("waited", true)
    .caption(
        "Self time on CPU threads. “GPU waited” counts what the launching thread did during host-bound gaps, until its launch \
         call ended. Overhead of the profiler inside a launch call counts as overhead, and steps don't say what was done in them.",
    )
    .if_empty("No CPU activity in this trace.");
    report.table(with_left_out(table, n_left_out));
    if !gpu.kinds.has(|kind| kind == Kind::Python) && !rows.is_empty() {
        report.info(format!("No Python frames in this trace.{}", gpu.advice(Lack::Frames)));
    }
}

/// Host-bound gaps, by launching thread.
#[derive(Default)]
struct Waits {
    spans: HashMap<Place, Vec<Span>>,
    /// Sum of the gaps of each GPU, in nanoseconds: more than [`Waits::total`] where several wait for one thread at once.
    of_gpus: i64,
    /// The thread that made the calls of a track for calls only.
    callers: HashMap<Place, Place>,
}

impl Waits {
    /// Nanoseconds.
    fn total(&self) -> i64 {
        self.spans.values().map(|spans| spans::total(spans)).sum_ns()
    }
}

fn waits(gpu: &GpuTrace<'_>) -> Waits {
    let (slices, tracks) = (&gpu.trace.slices, &gpu.trace.tracks);
    let mut waits = Waits::default();
    let gaps = gaps::of_devices(gpu);
    let stretches = gaps.iter().flatten().flat_map(|gap| gap.stretches(gpu));
    for stretch in stretches.filter(|stretch| stretch.cause == Cause::Host && stretch.ns() > 0) {
        let launch = gpu.work[stretch.gap.next as usize].launch;
        let place = |slice: u32| tracks.place(slices.track[slice as usize]);
        let (own, caller) = (place(launch), place(gpu.parent_of(launch).unwrap_or(launch)));
        if own != caller {
            waits.callers.insert(own, caller);
        }
        waits.spans.entry(caller).or_default().push(stretch.span);
        waits.of_gpus = waits.of_gpus.saturating_add(stretch.ns());
    }
    for spans in waits.spans.values_mut() {
        // Several GPUs may wait for one thread at once.
        spans.sort_unstable();
        *spans = spans::union(std::mem::take(spans).into_iter());
    }
    waits
}

/// Self times by name and kind.
fn sums(gpu: &GpuTrace<'_>, waits: &Waits) -> Vec<((StringId, Kind), Sums)> {
    let (slices, tracks) = (&gpu.trace.slices, &gpu.trace.tracks);
    let first = slices.ts.first().copied().unwrap_or(0);
    let mut waiting: Vec<(Cover<'_>, Sweep)> = Vec::new();
    let mut of_place: HashMap<Place, usize> = HashMap::default();
    for (place, spans) in &waits.spans {
        of_place.insert(*place, waiting.len());
        waiting.push((Cover::new(spans), Sweep::default()));
    }
    let of_track: Vec<Option<usize>> = (0..tracks.len() as u32)
        .map(|track| {
            let place = tracks.place(TrackId(track));
            of_place.get(waits.callers.get(&place).unwrap_or(&place)).copied()
        })
        .collect();
    let mut by_name = SumsByName::new(gpu.trace.strings.len());
    let wrappers = gpu.wrappers();
    let overhead = if waits.spans.is_empty() { HashMap::default() } else { overhead_in_calls(gpu) };
    // Time in which what ran is of no kind that is listed.
    let mut of_others = 0i64;
    // Wait time is attributed like self time: to the innermost slice running on the thread.
    let mut wait = |by_name: &mut SumsByName, cover: &mut Cover<'_>, slice: u32, from: u64, to: u64| {
        let kind = gpu.kind_of(slice as usize);
        let (from, to) = (first.wrapping_add_unsigned(from), first.wrapping_add_unsigned(to));
        let mut waited = cover.within(from, to);
        if waited <= 0 || wrappers.contains(&slices.name[slice as usize]) {
            return;
        }
        if kind_name(kind).is_none() {
            of_others = of_others.saturating_add(waited);
            return;
        }
        for ((start, end), name) in overhead.get(&slice).into_iter().flatten() {
            let part = cover.within(from.max(*start), to.min(*end));
            by_name.of(*name, Kind::Overhead).add_wait(part);
            waited = waited.saturating_sub(part);
        }
        by_name.of(gpu.group_name(slice as usize), kind).add_wait(waited);
    };
    // Slices are in order of their starts.
    for i in 0..slices.len() {
        let (ts, dur) = (slices.ts[i], slices.dur.get(i));
        if let Some(at) = of_track[slices.track[i].0 as usize].filter(|_| dur > 0) {
            let (cover, sweep) = &mut waiting[at];
            let start = ts.wrapping_sub(first) as u64;
            let give = |slice, from, to| wait(&mut by_name, cover, slice, from, to);
            sweep.start(i as u32, start, start.saturating_add(dur as u64), give);
        }
        let kind = gpu.kind_of(i);
        if kind_name(kind).is_some() && dur >= 0 {
            let sums = by_name.of(gpu.group_name(i), kind);
            sums.count += 1;
            sums.own = sums.own.saturating_add(gpu.self_ns(i));
        }
    }
    for (cover, sweep) in &mut waiting {
        sweep.advance(u64::MAX, |slice, from, to| wait(&mut by_name, cover, slice, from, to));
    }
    let mut all = by_name.all;
    let told = all.iter().map(|(_, sums)| sums.waited).sum_ns().saturating_add(of_others);
    let waited = waits.total().saturating_sub(told);
    if waited > 0 {
        all.push(((StringId::NONE, Kind::Other), Sums { waited, ..Sums::default() }));
    }
    all
}

/// Overhead of the profiler inside of calls, by call, in order of start and without overlaps. It has a track of its own, but the call
/// lasts until it is done. What lies in the calls of several threads is left out, since nothing says which of them waited for it.
fn overhead_in_calls(gpu: &GpuTrace<'_>) -> HashMap<u32, Vec<(Span, StringId)>> {
    let slices = &gpu.trace.slices;
    let mut found: HashMap<u32, Vec<(Span, StringId)>> = HashMap::default();
    if !gpu.kinds.has(|kind| kind == Kind::Overhead) {
        return found;
    }
    // Last call of each track; slices are in order of start.
    let mut last: HashMap<TrackId, u32> = HashMap::default();
    for i in 0..slices.len() {
        let slice = i as u32;
        let kind = gpu.kind_of(i);
        if kind == Kind::Call {
            last.insert(slices.track[i], slice);
        }
        // On the thread itself, it is inside of the call already.
        if kind != Kind::Overhead || gpu.parent_of(slice).is_some() {
            continue;
        }
        let (start, end) = (slices.ts[i], gpu.end_of(slice));
        let holding = |last: &u32| {
            let mut call = *last;
            while gpu.end_of(call) < end {
                call = gpu.around(call, |_, kind| kind == Kind::Call)?;
            }
            Some(call)
        };
        let mut calls = last.values().filter_map(holding);
        let (Some(call), None) = (calls.next(), calls.next()) else { continue };
        let of_call = found.entry(call).or_default();
        let start = of_call.last().map_or(start, |((_, end), _)| start.max(*end));
        if start < end {
            of_call.push(((start, end), gpu.group_name(i)));
        }
    }
    found
}

/// Sums by name and kind. Nearly all slices of a name have one kind, so most lookups need no hashing.
struct SumsByName {
    all: Vec<((StringId, Kind), Sums)>,
    numbers: HashMap<(StringId, Kind), u32>,
    /// By name: the last kind seen and the index of its sums; [`NONE`] if none yet.
    recent: Vec<(Kind, u32)>,
}

impl SumsByName {
    fn new(n_strings: usize) -> SumsByName {
        SumsByName {
            all: Vec::new(),
            numbers: HashMap::default(),
            recent: vec![(Kind::Other, NONE); n_strings],
        }
    }

    #[inline]
    fn of(&mut self, name: StringId, kind: Kind) -> &mut Sums {
        let at = match self.recent.get(name.0 as usize) {
            Some((known, at)) if *known == kind && *at != NONE => *at,
            _ => self.find(name, kind),
        };
        &mut self.all[at as usize].1
    }

    fn find(&mut self, name: StringId, kind: Kind) -> u32 {
        let at = *self.numbers.entry((name, kind)).or_insert_with(|| {
            self.all.push(((name, kind), Sums::default()));
            self.all.len() as u32 - 1
        });
        if let Some(recent) = self.recent.get_mut(name.0 as usize) {
            *recent = (kind, at);
        }
        at
    }
}

/// Overlap of time intervals with given spans. Fast for short intervals in ascending order.
struct Cover<'a> {
    spans: &'a [Span],
    /// Time in all spans before each.
    before: Vec<i64>,
    /// Number of spans that start before the last interval.
    behind: usize,
}

impl<'a> Cover<'a> {
    fn new(spans: &'a [Span]) -> Cover<'a> {
        let mut sum = 0i64;
        let before = spans
            .iter()
            .map(|(start, end)| {
                let before = sum;
                sum = sum.saturating_add(end.saturating_sub(*start));
                before
            })
            .collect();
        Cover { spans, before, behind: 0 }
    }

    /// Number of spans that start before `ts`, found by galloping search from `near`.
    fn behind(&self, ts: i64, near: usize) -> usize {
        let is_behind = |span: &Span| span.0 < ts;
        let mut from = near;
        if from > 0 && !is_behind(&self.spans[from - 1]) {
            from = 0;
        }
        let mut stride = 1;
        while let Some(span) = self.spans.get(from + stride - 1)
            && is_behind(span)
        {
            from += stride;
            stride *= 2;
        }
        let to = self.spans.len().min(from + stride);
        from + self.spans[from..to].partition_point(is_behind)
    }

    /// Time in spans up to `ts`, before which `behind` of them start.
    fn up_to(&self, ts: i64, behind: usize) -> i64 {
        match behind.checked_sub(1) {
            Some(last) => {
                let (start, end) = self.spans[last];
                self.before[last].saturating_add(ts.min(end).saturating_sub(start))
            }
            None => 0,
        }
    }

    fn within(&mut self, start: i64, end: i64) -> i64 {
        if end <= start {
            return 0;
        }
        self.behind = self.behind(start, self.behind);
        let behind_end = self.behind(end, self.behind);
        self.up_to(end, behind_end).saturating_sub(self.up_to(start, self.behind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn covered_time() {
        let spans = [(10, 20), (30, 35), (40, 41)];
        let mut cover = Cover::new(&spans);
        let plain = |start: i64, end: i64| {
            (start..end).filter(|at| spans.iter().any(|span| (span.0..span.1).contains(at))).count() as i64
        };
        for start in 0..50 {
            for end in start..50 {
                assert_eq!(cover.within(start, end), plain(start, end), "{start} {end}");
            }
        }
    }
}
