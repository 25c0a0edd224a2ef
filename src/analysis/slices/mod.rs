//! Time by slice name and by category; instants by name; arrows; samples by frame; objects.
//!
//! ```text
//! A [                    ]   total of A = 20, self of A = 20 - 8 - 5 = 7
//!     B [      ]  C [  ]     total of B = 8,  self of B = 8
//! ```
//! Total is the sum of durations: a slice inside another of its own name counts in both.
//! Self is the time that no direct child covers, so the self times of a track add up to the time it is busy.
//! An unfinished slice counts as if it ended with the trace. Thread slices, asynchronous slices and thread states
//! are different times and are never added to each other.

use super::timeline::{self, Class, Names, cut, integers, shown, texts, with_left_out};
use super::{AnalysisInfo, Query};
use crate::base::text::visible;
use crate::base::units::{Unit, counted, format_ns};
use crate::report::{Column, Report, Table};
use crate::trace::objects::ObjectEvent;
use crate::trace::samples::StackId;
use crate::trace::slices::UNFINISHED;
use crate::trace::{Run, Trace};
use rustc_hash::FxHashMap;

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "slices", title: "Slices by name", applies: timeline::applies, run, reference: None };

/// What is added up for one row.
#[derive(Clone, Copy)]
struct Sums {
    name: u32,
    category: u32,
    class: Class,
    count: u64,
    unfinished: u64,
    total_ns: i64,
    self_ns: i64,
    min_ns: i64,
    max_ns: i64,
}

impl Sums {
    fn new(name: u32, category: u32, class: Class) -> Sums {
        Sums {
            name,
            category,
            class,
            count: 0,
            unfinished: 0,
            total_ns: 0,
            self_ns: 0,
            min_ns: i64::MAX,
            max_ns: 0,
        }
    }

    #[inline]
    fn add(&mut self, dur: i64, self_ns: i64, unfinished: bool) {
        self.count += 1;
        self.unfinished += u64::from(unfinished);
        self.total_ns = self.total_ns.saturating_add(dur);
        self.self_ns = self.self_ns.saturating_add(self_ns);
        self.min_ns = self.min_ns.min(dur);
        self.max_ns = self.max_ns.max(dur);
    }
}

/// Rows by (name, category, class), found without hashing while the same name keeps its category.
#[derive(Default)]
struct Groups {
    rows: Vec<Sums>,
    by_key: FxHashMap<(u32, u32, Class), u32>,
    /// By name: the row it was last counted in.
    last: Vec<u32>,
}

impl Groups {
    #[inline]
    fn row(&mut self, name: u32, category: u32, class: Class) -> usize {
        let slot = name as usize;
        if let Some(last) = self.last.get(slot)
            && let Some(row) = self.rows.get(*last as usize)
            && (row.name, row.category, row.class) == (name, category, class)
        {
            return *last as usize;
        }
        let next = self.rows.len() as u32;
        let row = *self.by_key.entry((name, category, class)).or_insert(next);
        if row == next {
            self.rows.push(Sums::new(name, category, class));
        }
        if self.last.len() <= slot {
            self.last.resize(slot + 1, u32::MAX);
        }
        self.last[slot] = row;
        row as usize
    }
}

impl Groups {
    /// Self time of all thread slices.
    fn self_total(&self) -> i64 {
        self.rows
            .iter()
            .filter(|row| row.class == Class::Thread)
            .fold(0, |sum: i64, row| sum.saturating_add(row.self_ns))
    }

    /// Rows by falling self time; ties go to the more frequent, then by name.
    fn by_self_time(&self, names: &Names<'_>) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|a, b| {
            let (a, b) = (&self.rows[*a], &self.rows[*b]);
            let text = |row: &Sums| (names.text(row.name), names.text(row.category), row.class);
            b.self_ns.cmp(&a.self_ns).then(b.count.cmp(&a.count)).then_with(|| text(a).cmp(&text(b)))
        });
        order
    }
}

/// The `n_rows` names with the most self time on threads, for another report to lead with, and a sentence on the
/// first of them. `None` if no thread has slices.
pub fn hottest(run: &Run, n_rows: usize) -> Option<(Table, String)> {
    let mut names = Names::default();
    let mut groups = Groups::default();
    let spans = run.traces.iter().filter_map(timeline::span);
    let longest_span = spans.map(|(start, end)| end.saturating_sub(start)).max().unwrap_or(0);
    let mut n_left_out = 0u64;
    let mut self_total = 0i64;
    for_each_slice(run, &mut names, &mut groups, |row, dur, self_ns, unfinished| {
        if row.class == Class::Thread {
            self_total = self_total.saturating_add(self_ns);
        }
        // What is drawn to the end of the trace, or stands around all of it, says nothing of where time went.
        if unfinished || dur > longest_span / 10 * 9 {
            n_left_out += u64::from(row.class == Class::Thread);
        } else {
            row.add(dur, self_ns, unfinished);
        }
    });
    let mut order = groups.by_self_time(&names);
    order.retain(|row| groups.rows[*row].class == Class::Thread && groups.rows[*row].count > 0);
    let first = groups.rows.get(*order.first()?)?;
    let sentence = format!("Most self time: {}.", self_time_of(first, &names));
    let n_names = order.len();
    order.truncate(n_rows);
    let mut columns = name_columns(&order, &groups.rows, &names);
    columns.push(self_share_column(&order, &groups.rows, self_total));
    let mut caption = String::new();
    if n_names > order.len() {
        caption = format!(
            "The first {} of {}; all are in the report {}.",
            order.len(),
            counted(n_names as u64, "name", "names"),
            INFO.title
        );
    }
    if n_left_out > 0 {
        let slices = counted(n_left_out, "slice", "slices");
        caption = format!("{caption} Left out: {slices} around nearly all of the trace or without an end.");
    }
    let table = Table::new("hottest", "Most self time", columns).sorted_by("self", true);
    Some((if caption.is_empty() { table } else { table.caption(caption.trim()) }, sentence))
}

fn sums(run: &Run) -> (Names<'_>, Groups) {
    let mut names = Names::default();
    let mut groups = Groups::default();
    for_each_slice(run, &mut names, &mut groups, |row, dur, self_ns, unfinished| {
        row.add(dur, self_ns, unfinished)
    });
    (names, groups)
}

fn run(run: &Run, _query: &Query) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let (mut names, mut groups) = sums(run);
    let self_total = groups.self_total();
    let medians = medians(run, &mut names, &mut groups);
    let order = groups.by_self_time(&names);
    let of_class = |class: Class| -> Vec<usize> {
        order.iter().copied().filter(|row| groups.rows[*row].class == class).collect()
    };
    // Instants have no duration and go to a table of their own.
    let instants = of_class(Class::Instant);
    // Work of threads is what is asked for first; the others may run at the same time as it.
    let timed: Vec<usize> = TIMED.iter().flat_map(|class| of_class(*class)).collect();

    report.summary = summary(&groups.rows, &names, &timed);
    for class in TIMED {
        let rows = of_class(class);
        if class == Class::Thread || !rows.is_empty() {
            report.table(slice_table(class, rows, &groups.rows, &medians, &names, self_total));
        }
    }
    report.table(category_table(&timed, &groups.rows, &names, self_total));
    if !instants.is_empty() {
        report.table(instant_table(instants, &groups.rows, &names));
    }
    add_flows(&mut report, run);
    add_samples(&mut report, run);
    add_objects(&mut report, run);
    report
}

/// Calls `each` with the row of every slice, its duration, its self time and whether its end is missing.
fn for_each_slice<'a>(
    run: &'a Run,
    names: &mut Names<'a>,
    groups: &mut Groups,
    mut each: impl FnMut(&mut Sums, i64, i64, bool),
) {
    for trace in &run.traces {
        names.start(trace);
        let end = timeline::span(trace).map_or(0, |(_, end)| end);
        let slices = &trace.slices;
        for i in 0..slices.len() {
            let name = names.get(trace, slices.name[i]);
            let category = names.get(trace, slices.category[i]);
            let row = groups.row(name, category, Class::of(slices.kind[i]));
            let unfinished = slices.dur[i] == UNFINISHED;
            let dur = slices.end(i, end).saturating_sub(slices.ts[i]);
            each(&mut groups.rows[row], dur, slices.self_ns[i], unfinished);
        }
    }
}

/// The lower median of the durations of each row.
fn medians<'a>(run: &'a Run, names: &mut Names<'a>, groups: &mut Groups) -> Vec<i64> {
    // The durations of a row lie together: each row gets a range as long as its count.
    let mut at = Vec::with_capacity(groups.rows.len());
    let mut n_durations = 0usize;
    for row in &groups.rows {
        at.push(n_durations);
        n_durations += if row.class == Class::Instant { 0 } else { row.count as usize };
    }
    let mut durations = vec![0i64; n_durations];
    let starts = at.clone();
    for trace in &run.traces {
        names.start(trace);
        let end = timeline::span(trace).map_or(0, |(_, end)| end);
        let slices = &trace.slices;
        for i in 0..slices.len() {
            let class = Class::of(slices.kind[i]);
            if class == Class::Instant {
                continue;
            }
            let row =
                groups.row(names.get(trace, slices.name[i]), names.get(trace, slices.category[i]), class);
            if let Some(place) = durations.get_mut(at[row]) {
                *place = slices.end(i, end).saturating_sub(slices.ts[i]);
                at[row] += 1;
            }
        }
    }
    (0..groups.rows.len())
        .map(|row| {
            let range = &mut durations[starts[row]..at[row]];
            if range.is_empty() {
                return 0;
            }
            let middle = (range.len() - 1) / 2;
            *range.select_nth_unstable(middle).1
        })
        .collect()
}

fn summary(rows: &[Sums], names: &Names<'_>, timed: &[usize]) -> String {
    let Some(first) = timed.first() else {
        return "No slices: nothing in this trace has a duration.".to_string();
    };
    let first = &rows[*first];
    let n_names = timed.iter().filter(|row| rows[**row].class == first.class).count();
    format!("{}; most self time: {}.", counted(n_names as u64, "name", "names"), self_time_of(first, names))
}

/// `attention (1.250 ms in 40 slices)`.
fn self_time_of(row: &Sums, names: &Names<'_>) -> String {
    format!(
        "{} ({} in {})",
        visible(shown(names.text(row.name))),
        format_ns(row.self_ns),
        counted(row.count, "slice", "slices")
    )
}

const TOTAL_HINT: &str = "sum of durations; a slice inside another of the same name counts in both";
const SELF_HINT: &str = "time not covered by direct children";
const UNFINISHED_HINT: &str = "slices whose end is not in the file; counted up to the end of the trace";

/// Kinds of slices that have a duration, in the order of their tables.
const TIMED: [Class; 3] = [Class::Thread, Class::State, Class::Async];

fn slice_table(
    class: Class,
    mut order: Vec<usize>,
    rows: &[Sums],
    medians: &[i64],
    names: &Names<'_>,
    self_total: i64,
) -> Table {
    let n_left_out = cut(&mut order);
    let row = |index: &usize| &rows[*index];
    let column = |id, label: &str, get: &dyn Fn(&Sums) -> i64| {
        integers(id, label, Unit::Ns, order.iter().map(|index| get(row(index))))
    };
    let (id, title, caption) = match class {
        Class::Async => (
            "async_slices",
            "Asynchronous slices by name",
            "From begin to end across threads; they may overlap, so their sum can exceed the time that passed.",
        ),
        Class::State => ("states", "Thread states", "What threads were in; not work of their own."),
        _ => ("slices", INFO.title, "A row is a name in a category. Durations are wall time."),
    };
    let mut columns = name_columns(&order, rows, names);
    if class == Class::Thread {
        columns.push(self_share_column(&order, rows, self_total));
    }
    columns.extend([
        Column::float(
            "mean",
            "mean",
            Unit::Ns,
            order
                .iter()
                .map(|index| Some(row(index).total_ns as f64 / row(index).count.max(1) as f64))
                .collect(),
        )
        .hint("total / count"),
        integers("median", "median", Unit::Ns, order.iter().map(|index| medians[*index]))
            .hint("half of the slices took this long or less"),
        column("min", "min", &|row| row.min_ns),
        column("max", "max", &|row| row.max_ns),
        Column::counts(
            "unfinished",
            "unfinished",
            Unit::Count,
            order.iter().map(|index| row(index).unfinished),
        )
        .hint(UNFINISHED_HINT),
    ]);
    let table = Table::new(id, title, columns)
        .caption(caption)
        .if_empty("The trace holds no slices.")
        .sorted_by("self", true);
    with_left_out(table, n_left_out)
}

/// Name, category, count, total and self time of the rows at `order`.
fn name_columns(order: &[usize], rows: &[Sums], names: &Names<'_>) -> Vec<Column> {
    let row = |index: &usize| &rows[*index];
    let times = |id, get: &dyn Fn(&Sums) -> i64| {
        integers(id, id, Unit::Ns, order.iter().map(|index| get(row(index))))
    };
    vec![
        Column::key(
            "name",
            "name",
            texts(order.iter().map(|index| Some(shown(names.text(row(index).name))))),
        ),
        Column::key("category", "category", texts(order.iter().map(|index| names.text(row(index).category)))),
        Column::counts("count", "count", Unit::Count, order.iter().map(|index| row(index).count)),
        times("total", &|row| row.total_ns).with_bar().hint(TOTAL_HINT),
        times("self", &|row| row.self_ns).with_bar().hint(SELF_HINT),
    ]
}

fn self_share_column(order: &[usize], rows: &[Sums], self_total: i64) -> Column {
    let share = |index: &usize| {
        let row = &rows[*index];
        (row.class == Class::Thread && self_total > 0).then(|| row.self_ns as f64 / self_total as f64)
    };
    Column::float("self_share", "self %", Unit::Ratio, order.iter().map(share).collect())
        .hint("share of the self time of all thread slices")
}

fn category_table(order: &[usize], rows: &[Sums], names: &Names<'_>, self_total: i64) -> Table {
    let mut groups: Vec<Sums> = Vec::new();
    let mut by_key: FxHashMap<(u32, Class), usize> = FxHashMap::default();
    for row in order.iter().map(|index| &rows[*index]) {
        let next = groups.len();
        let group = *by_key.entry((row.category, row.class)).or_insert(next);
        if group == next {
            groups.push(Sums::new(0, row.category, row.class));
        }
        let sums = &mut groups[group];
        sums.count += row.count;
        sums.unfinished += row.unfinished;
        sums.total_ns = sums.total_ns.saturating_add(row.total_ns);
        sums.self_ns = sums.self_ns.saturating_add(row.self_ns);
        sums.max_ns = sums.max_ns.max(row.max_ns);
    }
    groups.sort_by(|a, b| {
        let text = |row: &Sums| (names.text(row.category), row.class);
        let place = |row: &Sums| TIMED.iter().position(|class| *class == row.class);
        place(a)
            .cmp(&place(b))
            .then(b.self_ns.cmp(&a.self_ns))
            .then(b.count.cmp(&a.count))
            .then_with(|| text(a).cmp(&text(b)))
    });
    let n_left_out = cut(&mut groups);
    let all: Vec<usize> = (0..groups.len()).collect();
    let table = Table::new(
        "categories",
        "Slices by category",
        vec![
            Column::key("category", "category", texts(groups.iter().map(|row| names.text(row.category)))),
            Column::key("kind", "kind", texts(groups.iter().map(|row| Some(row.class.name())))),
            Column::counts("count", "count", Unit::Count, groups.iter().map(|row| row.count)),
            integers("total", "total", Unit::Ns, groups.iter().map(|row| row.total_ns)).hint(TOTAL_HINT),
            integers("self", "self", Unit::Ns, groups.iter().map(|row| row.self_ns))
                .with_bar()
                .hint(SELF_HINT),
            self_share_column(&all, &groups, self_total),
            integers("max", "max", Unit::Ns, groups.iter().map(|row| row.max_ns)),
            Column::counts("unfinished", "unfinished", Unit::Count, groups.iter().map(|row| row.unfinished))
                .hint(UNFINISHED_HINT),
        ],
    )
    .if_empty("The trace holds no slices.")
    .sorted_by("self", true);
    with_left_out(table, n_left_out)
}

fn instant_table(mut order: Vec<usize>, rows: &[Sums], names: &Names<'_>) -> Table {
    order.sort_by_key(|index| std::cmp::Reverse(rows[*index].count));
    let n_left_out = cut(&mut order);
    let table = Table::new(
        "instants",
        "Instants by name",
        vec![
            Column::key(
                "name",
                "name",
                texts(order.iter().map(|index| Some(shown(names.text(rows[*index].name))))),
            ),
            Column::key(
                "category",
                "category",
                texts(order.iter().map(|index| names.text(rows[*index].category))),
            ),
            Column::counts("count", "count", Unit::Count, order.iter().map(|index| rows[*index].count))
                .with_bar(),
        ],
    )
    .caption("Points in time; they have no duration.")
    .sorted_by("count", true);
    with_left_out(table, n_left_out)
}

/// Arrows by what they are called, with the time from the start of one slice to the start of the other.
fn add_flows(report: &mut Report, run: &Run) {
    // Name, category, arrows, sum and greatest of the delays.
    type Row<'a> = (Option<&'a str>, Option<&'a str>, u64, i64, i64);
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut by_key: FxHashMap<(Option<&str>, Option<&str>), usize> = FxHashMap::default();
    for trace in &run.traces {
        let flows = &trace.flows;
        for i in 0..flows.len() {
            let key = (trace.strings.get_opt(flows.name[i]), trace.strings.get_opt(flows.category[i]));
            let start = |id: crate::trace::slices::SliceId| trace.slices.ts.get(id.0 as usize).copied();
            let (Some(from), Some(to)) = (start(flows.from[i]), start(flows.to[i])) else { continue };
            let delay = to.saturating_sub(from);
            let next = rows.len();
            let row = *by_key.entry(key).or_insert(next);
            if row == next {
                rows.push((key.0, key.1, 0, 0, i64::MIN));
            }
            rows[row].2 += 1;
            rows[row].3 = rows[row].3.saturating_add(delay);
            rows[row].4 = rows[row].4.max(delay);
        }
    }
    if rows.is_empty() {
        return;
    }
    rows.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (a.0, a.1).cmp(&(b.0, b.1))));
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        "flows",
        "Flows by name",
        vec![
            Column::key("name", "name", texts(rows.iter().map(|row| row.0))),
            Column::key("category", "category", texts(rows.iter().map(|row| row.1))),
            Column::counts("count", "arrows", Unit::Count, rows.iter().map(|row| row.2)).with_bar(),
            Column::float(
                "mean_delay",
                "mean delay",
                Unit::Ns,
                rows.iter().map(|row| Some(row.3 as f64 / row.2.max(1) as f64)).collect(),
            )
            .hint("from the start of one slice to the start of the other"),
            integers("max_delay", "max delay", Unit::Ns, rows.iter().map(|row| row.4)),
        ],
    )
    .caption("Arrows from one slice to another.")
    .sorted_by("count", true);
    report.table(with_left_out(table, n_left_out));
}

/// Self and total weight by frame. A frame that is on a stack twice counts once in its total.
fn add_samples(report: &mut Report, run: &Run) {
    // Frame name, module, self weight, total weight, samples on top.
    let mut rows: Vec<(&str, Option<&str>, f64, f64, u64)> = Vec::new();
    let mut by_key: FxHashMap<(&str, Option<&str>), usize> = FxHashMap::default();
    let mut all = 0.0;
    for trace in &run.traces {
        add_trace_samples(trace, &mut rows, &mut by_key, &mut all);
    }
    if run.traces.iter().all(|trace| trace.samples.is_empty()) {
        return;
    }
    rows.sort_by(|a, b| {
        b.2.total_cmp(&a.2).then(b.3.total_cmp(&a.3)).then_with(|| (a.0, a.1).cmp(&(b.0, b.1)))
    });
    let n_left_out = cut(&mut rows);
    let share = |weight: f64| (all > 0.0).then(|| weight / all);
    let table = Table::new(
        "frames",
        "Samples by frame",
        vec![
            Column::key("frame", "frame", texts(rows.iter().map(|row| Some(row.0)))),
            Column::key("module", "module", texts(rows.iter().map(|row| row.1))),
            Column::counts("samples", "samples", Unit::Count, rows.iter().map(|row| row.4))
                .hint("with this frame on top"),
            Column::float("self", "self", Unit::Plain, rows.iter().map(|row| Some(row.2)).collect())
                .with_bar()
                .hint("weight of samples with this frame on top"),
            Column::float("self_share", "self %", Unit::Ratio, rows.iter().map(|row| share(row.2)).collect()),
            Column::float("total", "total", Unit::Plain, rows.iter().map(|row| Some(row.3)).collect())
                .hint("weight of samples with this frame anywhere on the stack, once a sample"),
            Column::float(
                "total_share",
                "total %",
                Unit::Ratio,
                rows.iter().map(|row| share(row.3)).collect(),
            ),
        ],
    )
    .caption("Weights are as in the file, 1 where it gives none.")
    .if_empty("The samples have no stacks.")
    .sorted_by("self", true);
    report.table(with_left_out(table, n_left_out));
}

type FrameRow<'a> = (&'a str, Option<&'a str>, f64, f64, u64);

fn add_trace_samples<'a>(
    trace: &'a Trace,
    rows: &mut Vec<FrameRow<'a>>,
    by_key: &mut FxHashMap<(&'a str, Option<&'a str>), usize>,
    all: &mut f64,
) {
    let stacks = &trace.stacks;
    // Weight and samples with each stack exactly, then pushed down: parents have smaller numbers.
    let mut self_weight = vec![0.0; stacks.len()];
    let mut n_samples = vec![0u64; stacks.len()];
    for (stack, weight) in trace.samples.stack.iter().zip(&trace.samples.weight) {
        let weight = if weight.is_finite() { *weight } else { 0.0 };
        *all += weight;
        if let Some(sum) = self_weight.get_mut(stack.0 as usize) {
            *sum += weight;
            n_samples[stack.0 as usize] += 1;
        }
    }
    let row_of_frame: Vec<usize> = (0..trace.frames.len())
        .map(|frame| {
            let key = (
                trace.strings.get(trace.frames.name[frame]),
                trace.strings.get_opt(trace.frames.module[frame]),
            );
            *by_key.entry(key).or_insert_with(|| {
                rows.push((key.0, key.1, 0.0, 0.0, 0));
                rows.len() - 1
            })
        })
        .collect();
    let row_of = |stack: usize| row_of_frame.get(stacks.frame[stack].0 as usize).copied();
    let mut total_weight = self_weight.clone();
    for stack in (0..stacks.len()).rev() {
        if let Some(row) = row_of(stack) {
            rows[row].2 += self_weight[stack];
            rows[row].4 += n_samples[stack];
        }
        if let Some(parent) = usable_parent(stack, stacks.parent[stack]) {
            total_weight[parent] += total_weight[stack];
        }
    }
    // A stack node adds its weight to its frame unless the frame is already below it on the stack.
    // Walking the tree with one counter a frame finds that in one pass.
    let mut first_child = vec![u32::MAX; stacks.len()];
    let mut sibling = vec![u32::MAX; stacks.len()];
    let mut roots = Vec::new();
    for stack in (0..stacks.len()).rev() {
        match usable_parent(stack, stacks.parent[stack]) {
            Some(parent) => {
                sibling[stack] = first_child[parent];
                first_child[parent] = stack as u32;
            }
            None => roots.push(stack),
        }
    }
    let mut open = vec![0u32; rows.len()];
    let mut walk: Vec<(usize, bool)> = roots.into_iter().map(|root| (root, false)).collect();
    while let Some((stack, leave)) = walk.pop() {
        let row = row_of(stack);
        if leave {
            if let Some(row) = row {
                open[row] -= 1;
            }
            continue;
        }
        if let Some(row) = row {
            if open[row] == 0 {
                rows[row].3 += total_weight[stack];
            }
            open[row] += 1;
        }
        walk.push((stack, true));
        let mut child = first_child[stack];
        while child != u32::MAX {
            walk.push((child as usize, false));
            child = sibling[child as usize];
        }
    }
}

fn usable_parent(stack: usize, parent: StackId) -> Option<usize> {
    (parent != StackId::NONE && (parent.0 as usize) < stack).then_some(parent.0 as usize)
}

fn add_objects(report: &mut Report, run: &Run) {
    let mut rows: Vec<(&str, &str, u64)> = Vec::new();
    let mut by_key: FxHashMap<(&str, &str), usize> = FxHashMap::default();
    for trace in &run.traces {
        for (event, name) in trace.objects.event.iter().zip(&trace.objects.name) {
            let key = (event_name(*event), trace.strings.get(*name));
            let next = rows.len();
            let row = *by_key.entry(key).or_insert(next);
            if row == next {
                rows.push((key.0, key.1, 0));
            }
            rows[row].2 += 1;
        }
    }
    if rows.is_empty() {
        return;
    }
    rows.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| (a.0, a.1).cmp(&(b.0, b.1))));
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        "objects",
        "Objects and markers",
        vec![
            Column::key("event", "event", texts(rows.iter().map(|row| Some(row.0)))),
            Column::key("name", "name", texts(rows.iter().map(|row| Some(row.1)))),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.2)).with_bar(),
        ],
    )
    .sorted_by("count", true);
    report.table(with_left_out(table, n_left_out));
}

/// For people, as in the column `event`.
fn event_name(event: ObjectEvent) -> &'static str {
    match event {
        ObjectEvent::Created => "created",
        ObjectEvent::Snapshot => "snapshot",
        ObjectEvent::Destroyed => "destroyed",
        ObjectEvent::ProcessMemoryDump => "process memory dump",
        ObjectEvent::GlobalMemoryDump => "global memory dump",
        ObjectEvent::ClockSync => "clock sync",
    }
}
