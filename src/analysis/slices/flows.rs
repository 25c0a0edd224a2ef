//! Flows by name, with the delay from the start of one slice to the start of the next.

use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::{Column, Content, Report, Table};
use crate::trace::Run;

/// Totals of one name in one category.
struct Row<'a> {
    name: Option<&'a str>,
    category: Option<&'a str>,
    count: u64,
    sum_ns: i64,
    max_ns: i64,
}

/// Adds the table if there are flows.
pub fn add(report: &mut Report, run: &Run) {
    let mut rows: Vec<Row<'_>> = Vec::new();
    let mut by_key: HashMap<(Option<&str>, Option<&str>), usize> = HashMap::default();
    for trace in &run.traces {
        let flows = &trace.flows;
        // Flows of one kind usually follow each other.
        let mut last: Option<((StringId, StringId), usize)> = None;
        for i in 0..flows.len() {
            let start = |id: crate::trace::slices::SliceId| trace.slices.ts.get(id.0 as usize).copied();
            let (Some(from), Some(to)) = (start(flows.from[i]), start(flows.to[i])) else { continue };
            let ids = (flows.name[i], flows.category[i]);
            let row = match last {
                Some((of, row)) if of == ids => row,
                _ => {
                    let (name, category) = (trace.strings.get_opt(ids.0), trace.strings.get_opt(ids.1));
                    *by_key.entry((name, category)).or_insert_with(|| {
                        rows.push(Row { name, category, count: 0, sum_ns: 0, max_ns: i64::MIN });
                        rows.len() - 1
                    })
                }
            };
            last = Some((ids, row));
            let delay = to.saturating_sub(from);
            let row = &mut rows[row];
            row.count += 1;
            row.sum_ns = row.sum_ns.saturating_add(delay);
            row.max_ns = row.max_ns.max(delay);
        }
    }
    if rows.is_empty() {
        return;
    }
    sort::by(&mut rows, |a, b| {
        b.count.cmp(&a.count).then_with(|| (a.name, a.category).cmp(&(b.name, b.category)))
    });
    let n_left_out = cut(&mut rows);
    let table = Table::new(
        "flows",
        "Flows by name",
        vec![
            Column::key("name", "name", Content::Symbol, texts(rows.iter().map(|row| row.name))),
            Column::key("category", "category", Content::Plain, texts(rows.iter().map(|row| row.category))),
            Column::counts("count", "flows", Unit::Count, rows.iter().map(|row| row.count))
                .with_bar()
                .adds_up(),
            Column::float(
                "mean_delay",
                "mean delay",
                Unit::Ns,
                rows.iter().map(|row| Some(row.sum_ns as f64 / row.count.max(1) as f64)).collect(),
            )
            .hint("from the start of the source slice to the start of the target slice"),
            integers("max_delay", "max delay", Unit::Ns, rows.iter().map(|row| row.max_ns)),
        ],
    )
    .caption("Flow arrows that connect one slice to another.")
    .sorted_by("count", true);
    report.table(with_left_out(table, n_left_out));
}
