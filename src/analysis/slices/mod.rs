//! Time by slice name and by category; instants by name; flows; samples by frame; objects.
//!
//! ```text
//! A [                    ]   total of A = 20, self of A = 20 - 8 - 5 = 7
//!     B [      ]  C [  ]     total of B = 8,  self of B = 8
//! ```
//! Total is the sum of durations, so a slice nested in another of the same name counts in both.
//! Self is the time that no direct child covers, so the self times of a track add up to the time it is busy.
//! An unfinished slice counts as if it ended with the trace. Thread slices, async slices and thread states
//! measure different things and are never added up.

mod flows;
mod objects;
mod samples;

pub use self::samples::hottest as hottest_sample;
mod sums;

use super::timeline::{self, Names, cut, integers, shown, texts, with_left_out};
use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::text::visible;
use crate::base::units::{Unit, counted, format_ns};
use crate::report::{Column, Content, Report, Table};
use crate::trace::Run;
use crate::trace::slices::Class;
use std::cmp::Reverse;
pub use sums::SliceSums;
use sums::by_self_time;
use sums::{Row, Sums};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "slices",
    title: "Slices by name",
    applies: timeline::applies,
    run,
    group: Group::Trace,
    is_late: false,
};

/// Table that findings link to.
pub const SLICES: TableHandle = TableHandle { report: &INFO, id: "slices" };

/// The `n_rows` names with the most self time on threads, for the top of another report, and a sentence on the
/// first of them. `None` if no thread has slices.
pub fn hottest(sums: &SliceSums<'_>, n_rows: usize) -> Option<(Table, String)> {
    let names = &sums.names;
    let (rows, n_outer) = sums.telling();
    let rows = &*rows;
    let mut order = by_self_time(rows, names);
    order.retain(|row| rows[*row].class == Class::Thread && rows[*row].sums.count > 0);
    let first = rows.get(*order.first()?)?;
    let sentence = format!("Most self time: {}.", self_time_of(first, names));
    let n_names = order.len();
    order.truncate(n_rows);
    let mut columns = name_columns(&order, rows, names);
    columns.push(self_share_column(&order, rows, sums.self_total()));
    let mut caption = String::new();
    if n_names > order.len() {
        caption = format!(
            "Top {} of {}. See {} for all.",
            order.len(),
            counted(n_names as u64, "name", "names"),
            INFO.title
        );
    }
    if n_outer > 0 {
        caption = format!("{caption} {}", excludes(n_outer));
    }
    // A top list is not a total, and another trace may have other names at the top.
    let table = Table::new("hottest", "Most self time", columns).sorted_by("self", true).not_compared();
    Some((if caption.is_empty() { table } else { table.caption(caption.trim()) }, sentence))
}

/// Sentence on the slices that [`SliceSums::telling`] leaves out.
fn excludes(n_outer: u64) -> String {
    let slices = counted(n_outer, "slice", "slices");
    format!("Excludes {slices} without an end or spanning nearly the whole trace.")
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let (run, sums) = (context.run, context.sums());
    let (names, rows) = (&sums.names, &sums.all);
    let medians = sums.medians(run);
    let order = by_self_time(rows, names);
    let of_class = |class: Class| -> Vec<usize> {
        order.iter().copied().filter(|row| rows[*row].class == class).collect()
    };
    // Instants have no duration and get a separate table.
    let instants = of_class(Class::Instant);
    // Thread slices come first; the other classes can overlap them.
    let timed: Vec<usize> = TIMED.iter().flat_map(|class| of_class(*class)).collect();

    let summaries = of_class(Class::Summary);
    report.summary = summary(run, sums, &timed, &summaries);
    for class in TIMED {
        let of_class = of_class(class);
        // Async slices, states or summaries alone need no empty table of slices.
        let says_none = class == Class::Thread && summaries.is_empty() && timed.is_empty();
        if says_none || !of_class.is_empty() {
            report.table(slice_table(class, of_class, sums, &medians));
        }
    }
    if !timed.is_empty() || summaries.is_empty() {
        report.table(category_table(&timed, sums));
    }
    if !summaries.is_empty() {
        report.table(slice_table(Class::Summary, summaries, sums, &medians).not_compared());
    }
    if !instants.is_empty() {
        report.table(instant_table(instants, rows, names));
    }
    flows::add(&mut report, run);
    samples::add(&mut report, run);
    objects::add(&mut report, run);
    report
}

fn summary(run: &Run, sums: &SliceSums<'_>, timed: &[usize], summaries: &[usize]) -> String {
    let Some(first) = timed.first() else {
        if !summaries.is_empty() {
            let n: u64 = summaries.iter().map(|row| sums.all[*row].sums.count).sum();
            let only = format!("Only summaries ({}).", counted(n, "slice", "slices"));
            return samples::hottest(run).map_or(only.clone(), |hottest| format!("{only} {hottest}"));
        }
        let nothing = || "No slices: no event in this trace has a duration.".to_string();
        return samples::hottest(run)
            .map_or_else(nothing, |hottest| format!("No slices, only samples. {hottest}"));
    };
    let (rows, names) = (&sums.all, &sums.names);
    let class = rows[*first].class;
    let n_names = timed.iter().filter(|row| rows[**row].class == class).count();
    let n_names = counted(n_names as u64, "name", "names");
    let what = if class == Class::State { "time" } else { "self time" };
    let most_is = |most: &Row| format!("{n_names}. Most {what}: {}.", self_time_of(most, names));
    // As in the overview: slices around everything are rarely informative. Async slices and states are around nothing.
    let (telling, n_outer) = sums.telling();
    let is_inner = |row: &&Row| class == Class::Thread && row.class == class && row.sums.count > 0;
    let inner = timed.iter().map(|row| &telling[*row]).filter(is_inner);
    match inner.min_by_key(|row| Reverse(row.sums.self_ns)) {
        // The first row of the table says something else.
        Some(most) if most.sums != rows[*first].sums => format!("{} {}", most_is(most), excludes(n_outer)),
        _ => most_is(&rows[*first]),
    }
}

/// `attention (1.250 ms in 40 slices)`.
fn self_time_of(row: &Row, names: &Names<'_>) -> String {
    let (one, many) = if row.class == Class::State { ("state", "states") } else { ("slice", "slices") };
    format!(
        "{} ({} in {})",
        visible(shown(names.text(row.name))),
        format_ns(row.sums.self_ns),
        counted(row.sums.count, one, many)
    )
}

const TOTAL_HINT: &str = "sum of durations; a slice nested in another of the same name counts in both";
const SELF_HINT: &str = "exclusive time: without children and without overlapping slices that started later";
const UNFINISHED_HINT: &str =
    "slices with no end in the file; their durations extend to the end of the trace";

/// Classes of slices with a duration, in table order.
const TIMED: [Class; 3] = [Class::Thread, Class::State, Class::Async];

fn slice_table(class: Class, mut order: Vec<usize>, sums: &SliceSums<'_>, medians: &[Option<i64>]) -> Table {
    let (rows, names) = (&sums.all, &sums.names);
    let n_left_out = cut(&mut order);
    let row = |index: &usize| &rows[*index];
    let column = |id, label: &str, get: &dyn Fn(&Row) -> i64| {
        integers(id, label, Unit::Ns, order.iter().map(|index| get(row(index))))
    };
    let (id, title, caption) = match class {
        Class::Async => (
            "async_slices",
            "Async slices by name",
            "Durations from begin to end across threads. They can overlap, so totals can exceed wall time.",
        ),
        Class::State => (
            "states",
            "Thread states",
            "States of threads and tracks, such as running or waiting; they are no slices.",
        ),
        Class::Summary => (
            "summaries",
            "Summaries",
            "Slices that summarize others: wrappers around the whole trace, totals, groups. Not included in any other table.",
        ),
        _ => (SLICES.id, INFO.title, "One row per name and category. Durations are wall time."),
    };
    let mut columns = name_columns(&order, rows, names);
    if class == Class::Thread {
        columns.push(self_share_column(&order, rows, sums.self_total()));
    }
    columns.extend([
        Column::float(
            "mean",
            "mean",
            Unit::Ns,
            order
                .iter()
                .map(|index| Some(row(index).sums.total_ns as f64 / row(index).sums.count.max(1) as f64))
                .collect(),
        )
        .hint("total / count"),
        Column::integer("median", "median", Unit::Ns, order.iter().map(|index| medians[*index]).collect())
            .hint("p50"),
        column("min", "min", &|row| row.sums.min_ns),
        column("max", "max", &|row| row.sums.max_ns),
        Column::counts(
            "unfinished",
            "unfinished",
            Unit::Count,
            order.iter().map(|index| row(index).sums.unfinished),
        )
        .hint(UNFINISHED_HINT),
    ]);
    let table = Table::new(id, title, columns)
        .caption(caption)
        .if_empty("The trace has no slices.")
        .sorted_by("self", true);
    with_left_out(table, n_left_out)
}

/// Columns for name, category, count, total and self time of the rows at `order`.
fn name_columns(order: &[usize], rows: &[Row], names: &Names<'_>) -> Vec<Column> {
    let row = |index: &usize| &rows[*index];
    let times =
        |id, get: &dyn Fn(&Row) -> i64| integers(id, id, Unit::Ns, order.iter().map(|index| get(row(index))));
    vec![
        Column::key(
            "name",
            "name",
            Content::Symbol,
            texts(order.iter().map(|index| Some(shown(names.text(row(index).name))))),
        ),
        Column::key(
            "category",
            "category",
            Content::Plain,
            texts(order.iter().map(|index| names.text(row(index).category))),
        ),
        Column::counts("count", "count", Unit::Count, order.iter().map(|index| row(index).sums.count))
            .adds_up(),
        times("total", &|row| row.sums.total_ns).with_bar().hint(TOTAL_HINT).adds_up(),
        times("self", &|row| row.sums.self_ns).with_bar().hint(SELF_HINT).adds_up(),
    ]
}

const SELF_SHARE_HINT: &str = "percentage of the self time of all thread slices";

/// The self time of `rows` as a share of all self time; the denominator is the same in all reports.
fn self_share_column(order: &[usize], rows: &[Row], self_total: i64) -> Column {
    let share = |index: &usize| {
        let row = &rows[*index];
        (row.class == Class::Thread && self_total > 0).then(|| row.sums.self_ns as f64 / self_total as f64)
    };
    Column::float("self_share", "self %", Unit::Ratio, order.iter().map(share).collect())
        .hint(SELF_SHARE_HINT)
}

fn category_table(order: &[usize], sums: &SliceSums<'_>) -> Table {
    let names = &sums.names;
    let mut groups: Vec<Row> = Vec::new();
    let mut by_key: HashMap<(u32, Class), usize> = HashMap::default();
    for row in order.iter().map(|index| &sums.all[*index]) {
        let next = groups.len();
        let group = *by_key.entry((row.category, row.class)).or_insert(next);
        if group == next {
            groups.push(Row { name: 0, sums: Sums::default(), ..*row });
        }
        groups[group].sums.absorb(&row.sums);
    }
    sort::by(&mut groups, |a, b| {
        let text = |row: &Row| (names.text(row.category), row.class);
        let place = |row: &Row| TIMED.iter().position(|class| *class == row.class);
        place(a)
            .cmp(&place(b))
            .then(b.sums.self_ns.cmp(&a.sums.self_ns))
            .then(b.sums.count.cmp(&a.sums.count))
            .then_with(|| text(a).cmp(&text(b)))
    });
    let n_left_out = cut(&mut groups);
    let all: Vec<usize> = (0..groups.len()).collect();
    let shares = self_share_column(&all, &groups, sums.self_total());
    // Asynchronous slices and states run beside threads: they are in no sum with these.
    let is_one_class = groups.windows(2).all(|pair| pair[0].class == pair[1].class);
    let sum = |column: Column| if is_one_class { column.adds_up() } else { column };
    let table = Table::new(
        "categories",
        "Slices by category",
        vec![
            Column::key(
                "category",
                "category",
                Content::Plain,
                texts(groups.iter().map(|row| names.text(row.category))),
            ),
            Column::key(
                "kind",
                "kind",
                Content::Plain,
                texts(groups.iter().map(|row| Some(row.class.name()))),
            ),
            sum(Column::counts("count", "count", Unit::Count, groups.iter().map(|row| row.sums.count))),
            sum(integers("total", "total", Unit::Ns, groups.iter().map(|row| row.sums.total_ns))
                .hint(TOTAL_HINT)),
            sum(integers("self", "self", Unit::Ns, groups.iter().map(|row| row.sums.self_ns))
                .with_bar()
                .hint(SELF_HINT)),
            shares,
            integers("max", "max", Unit::Ns, groups.iter().map(|row| row.sums.max_ns)),
            Column::counts(
                "unfinished",
                "unfinished",
                Unit::Count,
                groups.iter().map(|row| row.sums.unfinished),
            )
            .hint(UNFINISHED_HINT),
        ],
    )
    .if_empty("The trace has no slices.");
    // Several classes are one below the other.
    let table = if is_one_class { table.sorted_by("self", true) } else { table };
    with_left_out(table, n_left_out)
}

fn instant_table(mut order: Vec<usize>, rows: &[Row], names: &Names<'_>) -> Table {
    sort::by_key(&mut order, |index| Reverse(rows[*index].sums.count));
    let n_left_out = cut(&mut order);
    let table = Table::new(
        "instants",
        "Instants by name",
        vec![
            Column::key(
                "name",
                "name",
                Content::Symbol,
                texts(order.iter().map(|index| Some(shown(names.text(rows[*index].name))))),
            ),
            Column::key(
                "category",
                "category",
                Content::Plain,
                texts(order.iter().map(|index| names.text(rows[*index].category))),
            ),
            Column::counts("count", "count", Unit::Count, order.iter().map(|index| rows[*index].sums.count))
                .with_bar()
                .adds_up(),
        ],
    )
    .caption("Points in time, without a duration.")
    .sorted_by("count", true);
    with_left_out(table, n_left_out)
}
