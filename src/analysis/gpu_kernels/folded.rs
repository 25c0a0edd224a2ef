//! Kernels of a trace whose slices were dropped: exact sums by name. Steps, operators, launches and overlap need every event.

use crate::analysis::TO_HOLD_MORE;
use crate::analysis::gpu::class::{Class, Classes};
use crate::analysis::gpu::stats::{SumNs, share};
use crate::analysis::gpu::{Kind, kernel_names, kind};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::{Unit, format_ns};
use crate::report::{Column, Content, Report, Table};
use crate::trace::Trace;
use crate::trace::sums::Sums;

/// Sums of one name, or of one operation.
struct Row<'a> {
    name: Option<StringId>,
    class: &'a Class,
    sums: Sums,
    /// Lower median; unknown for an operation.
    median: Option<i64>,
}

/// Whether a trace has dropped slices of GPU activity.
pub fn has_work(trace: &Trace) -> bool {
    trace
        .aggregated
        .as_ref()
        .is_some_and(|folded| folded.by_name.rows.iter().any(|row| kind_of(trace, row.key.1).is_gpu_work()))
}

fn kind_of(trace: &Trace, category: StringId) -> Kind {
    trace.strings.get_opt(category).map_or(Kind::Other, kind::Kind::of)
}

/// Adds the tables of kernels by name and by operation.
pub fn add(trace: &Trace, kernel_rules: &str, report: &mut Report) {
    let Some(folded) = &trace.aggregated else { return };
    let mut classes = Classes::new(kernel_rules);
    let found: Vec<(StringId, u32, Sums, Option<i64>)> = folded
        .by_name
        .rows
        .iter()
        .enumerate()
        .filter(|(_, row)| kind_of(trace, row.key.1).is_gpu_work())
        .map(|(at, row)| {
            let (name, category, _) = row.key;
            let class = classes.of(trace, name, kind_of(trace, category));
            (name, class, row.all, folded.medians.get(at).copied())
        })
        .collect();
    let total = found.iter().map(|row| row.2.total_ns).sum_ns();
    let mut names: Vec<Row<'_>> = found
        .iter()
        .map(|(name, class, sums, median)| Row {
            name: Some(*name),
            class: classes.get(*class),
            sums: *sums,
            median: *median,
        })
        .collect();
    let mut by_operation: HashMap<&str, Row<'_>> = HashMap::default();
    for row in &names {
        let of = by_operation.entry(&row.class.operation).or_insert_with(|| Row {
            name: None,
            class: row.class,
            sums: Sums::default(),
            median: None,
        });
        of.sums.absorb(&row.sums);
    }
    let mut operations: Vec<Row<'_>> = by_operation.into_values().collect();
    let text =
        |row: &Row<'_>| row.name.and_then(|name| trace.strings.get_opt(name)).unwrap_or("").to_string();
    sort::by_cached_key(&mut names, |row| (std::cmp::Reverse(row.sums.total_ns), text(row)));
    sort::by_cached_key(&mut operations, |row| {
        (std::cmp::Reverse(row.sums.total_ns), row.class.operation.clone())
    });
    if report.summary.is_empty()
        && let Some(first) = operations.first()
    {
        report.summary = format!(
            "{} accounts for {} of {} of kernel time.",
            first.class.operation,
            crate::analysis::gpu::stats::percent(share(first.sums.total_ns, total).unwrap_or(0.0)),
            format_ns(total)
        );
    }
    report.warning(format!(
        "This trace has too many events to keep them all in memory, so only exact sums by name are available. For steps, \
         operators, launches, memory and the critical path, record fewer steps, select a time range, or {TO_HOLD_MORE}.",
    ));
    let mut columns = vec![Column::key(
        "operation",
        "operation",
        Content::Plain,
        texts(operations.iter().map(|row| Some(&row.class.operation))),
    )];
    columns.extend(time_columns(&operations, total));
    report.table(Table::new(super::OPERATIONS.id, "Operations", columns).sorted_by("total", true));
    let n_left_out = cut(&mut names);
    let class_text = |get: &dyn Fn(&Class) -> &str| {
        texts(names.iter().map(|row| Some(get(row.class).to_string()).filter(|text| !text.is_empty())))
    };
    let mut columns =
        vec![Column::key("operation", "operation", Content::Plain, class_text(&|class| &class.operation))];
    columns.extend(time_columns(&names, total));
    columns.push(Column::integer("p50", "p50", Unit::Ns, names.iter().map(|row| row.median).collect()));
    columns.push(Column::text("family", "family", Content::Plain, class_text(&|class| &class.family)));
    columns.push(Column::text("library", "library", Content::Plain, class_text(&|class| &class.library)));
    let name = |row: &Row<'_>| row.name.and_then(|name| trace.strings.get_opt(name));
    kernel_names::insert(&mut columns, 0, ("name", "name"), names.iter().map(name));
    let table = Table::new(super::KERNELS.id, "Kernels by name", columns).sorted_by("total", true);
    report.table(with_left_out(table, n_left_out));
}

fn time_columns(rows: &[Row<'_>], total: i64) -> Vec<Column> {
    let mean = |sums: &Sums| {
        let n = i64::try_from(sums.count).ok().filter(|n| *n > 0)?;
        Some(sums.total_ns.saturating_add(n / 2) / n)
    };
    vec![
        Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.sums.count)).adds_up(),
        integers("total", "total", Unit::Ns, rows.iter().map(|row| row.sums.total_ns)).with_bar().adds_up(),
        Column::float(
            "share",
            "share",
            Unit::Ratio,
            rows.iter().map(|row| share(row.sums.total_ns, total)).collect(),
        )
        .hint("of the total duration of all kernels, copies and fills"),
        Column::integer("mean", "mean", Unit::Ns, rows.iter().map(|row| mean(&row.sums)).collect()),
        integers("min", "min", Unit::Ns, rows.iter().map(|row| row.sums.min_ns)),
        integers("max", "max", Unit::Ns, rows.iter().map(|row| row.sums.max_ns)),
    ]
}
