//! Largest changes from A to B, as lines that add up to the total difference.

use super::super::words::each;
use super::side::{Slot, Stretch, Time};
use super::steps::{
    EXPOSED_COMMUNICATION, EXPOSED_COPIES, IDLE, IDLE_FOR_HOST, IDLE_QUEUED, IDLE_UNKNOWN, MOSTLY_UNKNOWN,
    Row, per, row, unknown_share,
};
use super::{Pair, REPORT, charts, faster, per_step_words, steps_words};
use crate::analysis::gpu::kernel_names::readable;
use crate::analysis::gpu::stats::SumNs;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::{Unit, counted, format_float, format_ns, format_signed_ns, group_digits};
use crate::compare::noise::{MIN_SHARE, MIN_STEPS, Sample, Verdict, band, verdict};
use crate::compare::tables::ratio;
use crate::filter;
use crate::report::{Chart, Facts, Finding, Findings, RowsOf, Stakes};
use std::cmp::Reverse;

/// Tables that lines link to, by id and title.
const PARTS: (&str, &str) = ("time", "GPU time");
const OPERATIONS: (&str, &str) = ("operations", "Operations");
const KERNELS: (&str, &str) = ("kernels", "Kernels");

/// Headline: the difference and its significance, after a hint at incomplete sides.
pub fn headline(pair: &Pair<'_>) -> String {
    let incomplete = match [0, 1].map(|side| pair.side(side).is_busy_only) {
        [true, true] => Some("A and B are incomplete".to_string()),
        [true, false] => Some("A is incomplete".to_string()),
        [false, true] => Some("B is incomplete".to_string()),
        [false, false] => {
            pair.main().filter(|slot| pair.endless.contains(slot)).map(|slot| no_end(pair, slot))
        }
    };
    let difference = difference(pair);
    match incomplete {
        Some(why) => format!("{why}, so only busy time is compared. {difference}"),
        None => difference,
    }
}

/// `No step follows the only decode step in A`.
pub fn no_end(pair: &Pair<'_>, slot: Slot) -> String {
    let number = usize::from(!pair.side(0).is_endless(slot));
    let side = if number == 0 { "A" } else { "B" };
    match pair.n(number, slot) {
        1 => format!("No step follows the only {} in {side}", slot.one()),
        n => format!("No step follows any of the {n} {}s in {side}", slot.one()),
    }
}

fn difference(pair: &Pair<'_>) -> String {
    let Some(slot) = pair.main() else {
        return match (pair.side(0).sums.is_empty(), pair.side(1).sums.is_empty()) {
            (true, true) => "No GPU activity on either side.".to_string(),
            (true, false) => "Only B has GPU activity.".to_string(),
            (false, true) => "Only A has GPU activity.".to_string(),
            (false, false) => "A and B have no phase in common.".to_string(),
        };
    };
    let [a, b] = pair.durations(slot);
    if let Some(counts) = different_work_in_equal_time(pair, slot) {
        return format!(
            "Equal capture times: {} per GPU in A and B, but {} kernels and copies in A, {} in B. Total time says nothing about \
             speed then: compare kernels by mean duration, or record a fixed number of steps.",
            format_ns(a.mean as i64),
            group_digits(i128::from(counts[0])),
            group_digits(i128::from(counts[1]))
        );
    }
    let numbers = per_step_words(slot, &a, &b);
    let opposite = opposite(pair, slot);
    let mostly = || if opposite.is_none() { mostly(pair, slot, b.mean - a.mean) } else { String::new() };
    let others = others(pair, slot);
    let numbers = match &opposite {
        Some(parts) => format!("{parts}. {numbers}"),
        None => numbers,
    };
    match verdict(&a, &b) {
        Verdict::Same => format!("No change: {numbers}{others}."),
        Verdict::Noise => format!(
            "No significant change: {numbers} (noise is up to {}){others}.",
            format_ns(band(&a, &b).unwrap_or(0.0).round() as i64)
        ),
        Verdict::More | Verdict::Less => {
            let clocks = match like_clocks(pair, slot) {
                Some(ratio) if ratio > 1.0 => " That suggests lower clocks in B.",
                Some(_) => " That suggests higher clocks in B.",
                None => "",
            };
            format!("{}: {numbers}{}{others}.{clocks}", faster(slot, &a, &b), mostly())
        }
        Verdict::MaybeMore | Verdict::MaybeLess => {
            let n = |sample: &Sample| match slot {
                Slot::Whole => counted(sample.n as u64, "sample", "samples"),
                _ => steps_words(sample.n),
            };
            let without_last = match [a.n < pair.n(0, slot), b.n < pair.n(1, slot)] {
                [false, false] => "",
                [true, true] => ", not counting the last",
                [true, false] => ", not counting the last in A",
                [false, true] => ", not counting the last in B",
            };
            format!(
                "{}: {numbers}{}{others}. Not enough to test significance: {} in A, {} in B{without_last} (need {MIN_STEPS} whole ones per side).",
                faster(slot, &a, &b),
                mostly(),
                n(&a),
                n(&b)
            )
        }
    }
}

/// The other phases that changed, and the one with the most time if another one leads:
/// `; 14.7% more time per decode step (340.0 µs in A, 390.0 µs in B)`.
fn others(pair: &Pair<'_>, slot: Slot) -> String {
    let also_changed: Vec<Slot> = pair.also_changed().collect();
    let changed = also_changed.iter().map(|other| {
        let other = *other;
        let is_tested = pair.is_tested(other);
        if !pair.is_changed(other) {
            return match is_tested {
                true => format!("; no significant change per {}, but in its parts", other.one()),
                false => format!("; no change above 1% per {}, but in its parts (not tested)", other.one()),
            };
        }
        let [a, b] = pair.durations(other);
        let change = faster(other, &a, &b);
        let [a, b] = [a, b].map(|of| format_ns(of.mean.round() as i64));
        let not_tested = if is_tested { "" } else { ", not tested" };
        format!("; {} ({a} in A, {b} in B{not_tested})", change.strip_prefix("B takes ").unwrap_or(&change))
    });
    let unchanged = pair.common().next().filter(|first| *first != slot && !also_changed.contains(first));
    let unchanged = unchanged.map(|first| format!("; no significant change per {}", first.one()));
    changed.chain(unchanged).collect()
}

/// Relative difference of times up to which captures are taken to have lasted the same, and of counts from which their work is taken
/// to differ.
const EQUAL_TIME: f64 = 0.005;
const OTHER_WORK: f64 = 0.01;

/// Numbers of kernels, copies and fills of A and B, if whole traces of equal length ran different amounts of work: a recording of a
/// fixed duration ends whatever has been done by then.
pub fn different_work_in_equal_time(pair: &Pair<'_>, slot: Slot) -> Option<[u64; 2]> {
    if slot != Slot::Whole || pair.is_busy_only(slot) {
        return None;
    }
    let [a, b] = pair.durations(slot);
    let counts = [0, 1].map(|side| pair.side(side).sums.iter().map(|sum| sum.count).sum::<u64>());
    let per_gpu = [0, 1].map(|side| counts[side] as f64 / pair.n(side, slot).max(1) as f64);
    let differ = |a: f64, b: f64, by: f64| (a - b).abs() > by * a.max(b);
    let is_equal_time = a.mean > 0.0 && !differ(a.mean, b.mean, EQUAL_TIME);
    (is_equal_time && differ(per_gpu[0], per_gpu[1], OTHER_WORK)).then_some(counts)
}

/// The parts of a change whose total hides that the busy time of the GPU changed the other way:
/// `1.256 ms less host-bound idle time; its kernels take 26.1% more, mostly Attention (+76.25 µs)`.
fn opposite(pair: &Pair<'_>, slot: Slot) -> Option<String> {
    let [busy_a, busy_b] = pair.samples(slot, |_, stretch| stretch.time.busy());
    let [a, b] = pair.durations(slot);
    let (wall, busy) = (b.mean - a.mean, busy_b.mean - busy_a.mean);
    let is_large = busy.abs() >= MIN_SHARE * busy_a.mean && verdict(&busy_a, &busy_b) != Verdict::Noise;
    if pair.is_busy_only(slot) || busy_a.mean <= 0.0 || wall * busy >= 0.0 || !is_large {
        return None;
    }
    let mut lines = lines(pair, slot);
    lines.retain(|line| {
        ratio(a.mean as i128, line.difference().into()).is_some_and(|of| of.abs() >= MIN_SHARE)
    });
    sort::by_key(&mut lines, |line| Reverse(line.difference().unsigned_abs()));
    // Idle time in the direction of the total first.
    let of_idle = |is_with: bool| {
        let idle = lines.iter().filter(|line| line.filter.contains("idle"));
        let chosen = idle.filter(move |line| (line.difference() as f64 * wall > 0.0) == is_with);
        chosen.map(|line| format!("{} {}", format_ns(line.difference().saturating_abs()), line.text))
    };
    let mut parts: Vec<String> = of_idle(true).chain(of_idle(false)).collect();
    let most = lines.iter().find(|line| line.table == KERNELS && line.difference() as f64 * busy > 0.0);
    let most = most
        .map(|line| format!(", mostly {} ({})", readable(&line.name), format_signed_ns(line.difference())));
    parts.push(format!(
        "its kernels take {:.1}% {}{}",
        100.0 * busy.abs() / busy_a.mean,
        if busy > 0.0 { "more" } else { "less" },
        most.unwrap_or_default()
    ));
    Some(parts.join("; "))
}

/// Whether operations or other parts of the steps of a phase take more or less time, by at least 1% of a step: significantly, if there
/// are enough steps to test that.
pub fn has_changed_parts(pair: &Pair<'_>, slot: Slot) -> bool {
    let wall = pair.durations(slot)[0].mean;
    lines(pair, slot).iter().any(|line| {
        let is_large = line.difference().unsigned_abs() as f64 >= MIN_SHARE * wall;
        is_large && !matches!(line.verdict, Verdict::Noise | Verdict::Same)
    })
}

/// Share of a change from which a line explains it.
const MUCH_OF_CHANGE: f64 = 0.2;

/// What most of a change of `wall` nanoseconds is: `, mostly GEMM (+20.97 ms) and host-bound idle (+17.65 ms)`. Empty if it has no large
/// parts.
fn mostly(pair: &Pair<'_>, slot: Slot, wall: f64) -> String {
    if let Some(ratio) = uniform(pair, slot).filter(|ratio| (ratio - 1.0) * wall > 0.0) {
        let word = if ratio > 1.0 { "slower" } else { "faster" };
        return format!(", nearly all kernels {:.1}% {word}", 100.0 * (ratio - 1.0).abs());
    }
    let mut lines = lines(pair, slot);
    let share = |line: &Line| line.difference() as f64 / wall;
    lines.retain(|line| share(line) >= MUCH_OF_CHANGE && line.verdict != Verdict::Noise);
    sort::by(&mut lines, |a, b| share(b).total_cmp(&share(a)));
    let named = |line: &Line| format!("{} ({})", readable(&line.name), format_signed_ns(line.difference()));
    match &lines[..] {
        [] => String::new(),
        [one] => format!(", mostly {}", named(one)),
        [first, second, ..] => format!(", mostly {} and {}", named(first), named(second)),
    }
}

/// Kernels change alike if those with [`NEARLY_ALL`] of the time, and at least this number of them, differ by about the same factor.
const MIN_ALIKE: usize = 4;
const NEARLY_ALL: f64 = 0.8;
const ALIKE: f64 = 0.015;

/// B / A of the mean duration of kernels in steps that numbers per step are of, if it is about the same for nearly all kernels of a phase,
/// the busy time of a step changed by that, and its whole time mostly by that.
fn uniform(pair: &Pair<'_>, slot: Slot) -> Option<f64> {
    let mut sums: HashMap<&str, [(i64, u64); 2]> = HashMap::default();
    let mut all = [0.0; 2];
    for number in [0, 1] {
        let side = pair.side(number);
        let leaves_out_cut = side.leaves_out_cut(slot);
        for sum in side.sums.iter().filter(|sum| sum.slot == slot) {
            let Some(name) = side.names.get(sum.name as usize).filter(|name| name.is_kernel) else {
                continue;
            };
            let (count, total) = sum.per_step(leaves_out_cut);
            sums.entry(&name.text).or_default()[number] = (total, count);
            all[number] += total as f64;
        }
    }
    // Total of A, total of B, and B / A of the mean.
    let common = sums.into_values().filter(|[a, b]| a.0 > 0 && b.0 > 0);
    let kernels: Vec<(f64, f64, f64)> = common
        .map(|[a, b]| {
            let (of_a, of_b) = (a.0 as f64, b.0 as f64);
            (of_a, of_b, of_b / b.1 as f64 * a.1 as f64 / of_a)
        })
        .collect();
    let total: f64 = kernels.iter().map(|kernel| kernel.0).sum();
    let ratio = kernels.iter().map(|kernel| kernel.0 * kernel.2).sum::<f64>() / total;
    let alike = || kernels.iter().filter(|kernel| (kernel.2 - ratio).abs() <= ALIKE);
    let is_all = alike().map(|kernel| kernel.0).sum::<f64>() >= NEARLY_ALL * all[0]
        && alike().map(|kernel| kernel.1).sum::<f64>() >= NEARLY_ALL * all[1];
    let [a, b] = pair.samples(slot, |_, stretch| stretch.time.busy());
    let is_changed = matches!(verdict(&a, &b), Verdict::More | Verdict::Less);
    let is_that = (b.mean - ratio * a.mean).abs() <= ALIKE * a.mean && (ratio - 1.0).abs() > ALIKE;
    let [wall_a, wall_b] = pair.durations(slot);
    let is_most = (b.mean - a.mean).abs() >= NEARLY_ALL * (wall_b.mean - wall_a.mean).abs();
    let is_uniform =
        total > 0.0 && alike().count() >= MIN_ALIKE && is_all && is_changed && is_that && is_most;
    is_uniform.then_some(ratio)
}

/// [`uniform`], where GPUs of the same model leave other clocks as the likely reason.
fn like_clocks(pair: &Pair<'_>, slot: Slot) -> Option<f64> {
    let is_known = (0..2).all(|side| pair.side(side).has_models) && pair.side(0).gpus == pair.side(1).gpus;
    uniform(pair, slot).filter(|_| is_known && opposite(pair, slot).is_none())
}

/// A line of the list of changes.
struct Line {
    /// Short name.
    name: String,
    /// Text without the time.
    text: String,
    /// Nanoseconds per step, of A and B. Overlap counts as negative time.
    sides: [i64; 2],
    /// Whether [`Line::sides`] are overlap.
    is_overlap: bool,
    verdict: Verdict,
    /// As in the tables.
    status: &'static str,
    /// Table with its rows, and their filter; empty for all.
    table: (&'static str, &'static str),
    filter: String,
}

/// Short name of a line, and the rows it leads to.
struct LineOf<'a> {
    name: &'a str,
    table: (&'static str, &'static str),
    filter: String,
}

impl Line {
    fn difference(&self) -> i64 {
        self.sides[1].saturating_sub(self.sides[0])
    }
}

/// Ranked list of changes in a phase, and its chart.
pub fn answer(pair: &Pair<'_>, slot: Slot) -> (Findings, Chart) {
    let mut lines = lines(pair, slot);
    lines.retain(|line| line.difference() != 0);
    sort::by(&mut lines, |a, b| {
        let size = |line: &Line| Reverse(line.difference().unsigned_abs());
        (size(a), &a.text).cmp(&(size(b), &b.text))
    });
    let wall = pair.durations(slot);
    let walls = wall.map(|of| of.mean.round() as i64);
    let chart = charts::differences(lines.iter().map(|line| (line.name.as_str(), line.difference())));
    let (large, small): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(|line| {
        let share = ratio(walls[0].into(), line.difference().into());
        share.is_none_or(|share| share.abs() >= MIN_SHARE)
    });
    let mut changes: Vec<Finding> = large.into_iter().map(|line| finding(line, walls[0])).collect();
    changes.extend(rest(&small, walls[0]));
    let findings = Findings {
        title: match pair.main() == Some(slot) {
            true => "Largest changes".to_string(),
            false => format!("Largest changes per {}", slot.one()),
        },
        caption: format!(
            "Differences per {}; they add up to {}: {}.",
            slot.one(),
            format_signed_ns(walls[1].saturating_sub(walls[0])),
            per_step_words(slot, &wall[0], &wall[1])
        ),
        empty: "No changes.".to_string(),
        stakes: Stakes::Difference,
        findings: changes,
    };
    (findings, chart)
}

fn finding(line: Line, wall_a: i64) -> Finding {
    let mut evidence = Facts::new("");
    if line.is_overlap {
        let [a, b] = line.sides.map(i64::saturating_neg);
        evidence.push("overlap_a", "overlap in A", a, Unit::Ns);
        evidence.push("overlap_b", "overlap in B", b, Unit::Ns);
    } else {
        evidence.push("a", "A", line.sides[0], Unit::Ns);
        evidence.push("b", "B", line.sides[1], Unit::Ns);
    }
    // The headline says it if nothing was tested, and the sign of the time which side is slower.
    if !matches!(line.verdict, Verdict::MaybeMore | Verdict::MaybeLess) {
        evidence.push("status", "status", line.status, Unit::None);
    }
    let (table, title) = line.table;
    Finding {
        id: "difference".to_string(),
        time: Some(line.difference()),
        share: ratio(i128::from(wall_a), i128::from(line.difference())),
        evidence: evidence.facts,
        rows: Some(RowsOf {
            report: REPORT.to_string(),
            table: table.to_string(),
            label: if line.table == KERNELS { format!("{title}: {}", line.name) } else { title.to_string() },
            filter: line.filter,
        }),
        text: line.text,
    }
}

/// The changes that are too small for a line each, in one, so that lines add up.
fn rest(lines: &[Line], wall_a: i64) -> Option<Finding> {
    let sides = [0, 1].map(|side: usize| lines.iter().map(|line| line.sides[side]).sum_ns());
    let difference = lines.iter().map(Line::difference).sum_ns();
    let mut evidence = Facts::new("");
    // Times less overlap are times of nothing.
    if !lines.iter().any(|line| line.is_overlap) {
        evidence.push("a", "A", sides[0], Unit::Ns);
        evidence.push("b", "B", sides[1], Unit::Ns);
    }
    let table =
        lines.first().map(|line| line.table).filter(|table| lines.iter().all(|line| line.table == *table));
    let changes = counted(lines.len() as u64, "smaller change,", "smaller changes, each");
    (!lines.is_empty()).then(|| Finding {
        id: "difference".to_string(),
        text: format!("{changes} below 1% of A’s time"),
        time: Some(difference),
        share: ratio(wall_a.into(), difference.into()),
        evidence: evidence.facts,
        // Idle time and operations are in different tables.
        rows: table.map(|(table, title)| RowsOf {
            report: REPORT.to_string(),
            table: table.to_string(),
            filter: String::new(),
            label: title.to_string(),
        }),
    })
}

/// Changes of the time of a step; they add up to its change.
fn lines(pair: &Pair<'_>, slot: Slot) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for row in pair.operation_rows().iter().filter(|row| row.slot == slot) {
        lines.push(operation_line(row));
    }
    let mut part = |text: &dyn Fn(&str) -> String, get: &dyn Fn(&Stretch) -> i64, of: LineOf<'_>| {
        let row = row(pair, slot, of.name, get);
        let sides = row.samples.map(|sample| sample.mean.round() as i64);
        if sides != [0, 0] {
            lines.push(Line {
                text: text(if sides[1] > sides[0] { "more" } else { "less" }),
                sides,
                is_overlap: false,
                verdict: verdict(&row.samples[0], &row.samples[1]),
                status: row.verdict(),
                name: of.name.to_string(),
                table: of.table,
                filter: of.filter,
            });
        }
    };
    let of_part = |name| LineOf { name, table: PARTS, filter: filter::is("part", name) };
    let idle_unknown = |word: &str| format!("{word} idle time, cause unknown");
    let is_unknown =
        |side: usize| unknown_share(pair, side, slot).is_some_and(|share| share >= MOSTLY_UNKNOWN);
    let unknown = [0, 1].map(is_unknown);
    if unknown != [false; 2] {
        // What is unknown on one side cannot be compared by cause: all of the idle time.
        let (name, side) = match unknown {
            [true, true] => (IDLE_UNKNOWN, ""),
            [true, false] => (IDLE, " in A"),
            [false, _] => (IDLE, " in B"),
        };
        let text = |word: &str| format!("{word} idle time, cause unknown{side}");
        let of_idle = LineOf { name, table: PARTS, filter: "part:idle".to_string() };
        part(&text, &|stretch| stretch.time.idle, of_idle);
    } else {
        let for_host = |word: &str| format!("{word} host-bound idle time");
        part(&for_host, &|stretch| stretch.time.idle_for_host, of_part(IDLE_FOR_HOST));
        let queued = |word: &str| format!("{word} idle time between queued kernels");
        part(&queued, &|stretch| stretch.time.idle_queued(), of_part(IDLE_QUEUED));
        part(&idle_unknown, &|stretch| stretch.time.idle_unknown, of_part(IDLE_UNKNOWN));
    }
    let outside = format!("kernels launched outside steps{}", outside_operation(pair, slot));
    // A filter by phase leaves them out of the table.
    let filter = if pair.slots.contains(&Slot::Outside) { Slot::Outside.name() } else { "" };
    let of_outside = LineOf { name: &outside, table: OPERATIONS, filter: filter::is("phase", filter) };
    part(&|_| outside.clone(), &|stretch| stretch.time.outside, of_outside);
    // Overlapping kernels take less wall time than the sum of their durations.
    let overlap = |stretch: &Stretch| {
        stretch.time.busy().saturating_sub(stretch.time.outside).saturating_sub(stretch.work())
    };
    let change = |[a, b]: [Sample; 2]| b.mean - a.mean;
    let overlaps = pair.samples(slot, |_, stretch| overlap(stretch));
    let less_overlap = change(overlaps);
    let explains = |by: f64| less_overlap * by > 0.0 && by.abs() >= NEARLY_ALL * less_overlap.abs();
    let rounded = |samples: [Sample; 2]| samples.map(|sample| sample.mean.round() as i64);
    let mut line = Line {
        name: if less_overlap > 0.0 { "less overlap" } else { "more overlap" }.to_string(),
        text: String::new(),
        sides: rounded(overlaps),
        is_overlap: true,
        verdict: verdict(&overlaps[0], &overlaps[1]),
        status: verdict(&overlaps[0], &overlaps[1]).name(),
        table: OPERATIONS,
        filter: String::new(),
    };
    line.text = format!("{} between kernels", line.name);
    /// Nanoseconds in which anything of a kind ran, and those that are exposed.
    type Exposed = fn(&Time) -> (i64, i64);
    let kinds: [(&str, &str, Exposed); 2] = [
        (EXPOSED_COMMUNICATION, "compute", |time| (time.communication, time.exposed_communication)),
        (EXPOSED_COPIES, "kernels", |time| (time.copies, time.exposed_copies)),
    ];
    for (name, with, get) in kinds {
        let hidden = change(pair.samples(slot, |_, stretch| {
            let (all, exposed) = get(&stretch.time);
            all.saturating_sub(exposed)
        }));
        // What is hidden may also just have become shorter.
        let row = row(pair, slot, name, |stretch| get(&stretch.time).1);
        if !explains(-hidden) || !explains(change(row.samples)) {
            continue;
        }
        let (word, other) = if less_overlap > 0.0 { ("more", "less") } else { ("less", "more") };
        line.text = format!("{word} {name} ({other} overlap with {with})");
        line.name = name.to_string();
        (line.table, line.filter) = (PARTS, filter::is("part", name));
        let [a, b] = rounded(row.samples);
        // Else a part of the change is a change of the kind itself, which has a line of its own.
        if b.saturating_sub(a) == line.difference() {
            (line.sides, line.is_overlap, line.status) = ([a, b], false, row.verdict());
        }
        break;
    }
    lines.push(line);
    lines
}

/// The operation that changed most per step among the kernels launched outside steps: ` (Sampling)`. Empty if there is none.
fn outside_operation(pair: &Pair<'_>, slot: Slot) -> String {
    if !pair.slots.contains(&Slot::Outside) {
        return String::new();
    }
    let n = [0, 1].map(|side| pair.n(side, slot).max(1) as f64);
    let change = |row: &Row| (row.total[1] as f64 / n[1] - row.total[0] as f64 / n[0]).abs();
    let mut rows: Vec<&Row> = pair.operation_rows().iter().collect();
    rows.retain(|row| row.slot == Slot::Outside && change(row) > 0.0);
    sort::by(&mut rows, |a, b| change(b).total_cmp(&change(a)));
    match &rows[..] {
        [] => String::new(),
        [one] => format!(" ({})", readable(&one.name)),
        [most, ..] => format!(" (mostly {})", readable(&most.name)),
    }
}

/// `Attention (same kernel count, 2.7× longer each)`.
fn operation_line(row: &Row) -> Line {
    let [a, b] = row.count_per_step;
    // Of the steps that the numbers per step are of.
    let mean = |side: usize| row.samples[side].mean / row.count_per_step[side];
    let per = per(&[row]);
    let why = match (row.count[0], row.count[1]) {
        (0, _) => format!("only in B, {} {per}", count(b)),
        (_, 0) => format!("only in A, {} {per}", count(a)),
        _ => {
            let counts = if (a - b).abs() < 0.005 * a.max(b) {
                "same kernel count".to_string()
            } else {
                let (one, many) = match &*row.name {
                    name if name.starts_with("Memcpy") => ("copy", "copies"),
                    name if name.starts_with("Memset") => ("fill", "fills"),
                    _ => ("kernel", "kernels"),
                };
                format!("{} {} {per}, was {}", count(b), if b == 1.0 { one } else { many }, count(a))
            };
            // All of a side may be in steps that are cut off.
            if a > 0.0 && b > 0.0 { format!("{counts}, {}", each(mean(0), mean(1))) } else { counts }
        }
    };
    Line {
        text: format!("{} ({why})", readable(&row.name)),
        sides: [0, 1].map(|side| row.per_step(side).unwrap_or(0)),
        is_overlap: false,
        verdict: verdict(&row.samples[0], &row.samples[1]),
        status: row.verdict(),
        name: row.name.clone(),
        table: KERNELS,
        filter: filter::is("operation", &row.name),
    }
}

/// A mean of counts; what few steps have is not 0.
fn count(n: f64) -> String {
    format_float(n, Unit::Plain)
}
