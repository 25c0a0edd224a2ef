//! The widest boxes of flame graphs as tables, for documents without pictures, such as links.

use super::{INFO, summary_of};
use crate::base::sort;
use crate::base::units::Unit;
use crate::report::{Column, Content, Report, Table, TextCells};
use crate::stacks::graph::{NodeId, StackGraph};
use crate::stacks::lanes::Lanes;
use crate::stacks::merged::{Label, Merged, StackQuery};

/// Graphs with tables, and rows of each.
const MAX_GRAPHS: usize = 4;
const MAX_ROWS: usize = 200;
/// Callers that a row names, from the innermost.
const MAX_CALLERS: usize = 3;

/// The top of each of the first graphs, as a report in place of the flame graphs. `None` without any.
pub fn report_of_tops(graphs: &[StackGraph]) -> Option<Report> {
    let mut report = Report::new(INFO.id, INFO.title);
    for (number, graph) in graphs.iter().take(MAX_GRAPHS).enumerate() {
        // Queries without patterns have no errors.
        let Ok(all) = Merged::new(graph, &StackQuery::default(), (1.0, 1.0)) else { continue };
        if report.summary.is_empty() {
            report.summary = summary_of(graph);
        }
        report.table(table(graph, &all, number));
    }
    report.has_content().then_some(report)
}

fn table(graph: &StackGraph, all: &Merged, number: usize) -> Table {
    let width = |lanes: Lanes| lanes.weight.max(lanes.before);
    let mut nodes: Vec<NodeId> = (0..all.key.len() as NodeId).collect();
    let total = |node: &NodeId| all.totals.get(*node as usize);
    // Callers come before what they call.
    sort::rows(&mut nodes, |a, b| width(total(&b)).total_cmp(&width(total(&a))).then(a.cmp(&b)));
    let n_left_out = nodes.len().saturating_sub(MAX_ROWS) as u64;
    nodes.truncate(MAX_ROWS);
    let label = |node: NodeId| &all.labels[all.key[node as usize] as usize];
    let texts = |text: &dyn Fn(NodeId) -> String| {
        let mut cells = TextCells::default();
        nodes.iter().for_each(|node| {
            cells.push(Some(&text(*node)).filter(|text| !text.is_empty()).map(String::as_str))
        });
        cells
    };
    let floats =
        |value: &dyn Fn(usize) -> f64| nodes.iter().map(|node| Some(value(*node as usize))).collect();
    let amounts =
        |id, label, value: &dyn Fn(usize) -> f64| Column::float(id, label, graph.unit, floats(value));
    let place = |node: NodeId| {
        let Label { place, .. } = label(node);
        place.clone()
    };
    let mut columns = vec![
        Column::key("function", "function", Content::Symbol, texts(&|node| label(node).name.clone())),
        Column::key("callers", "called by", Content::Symbol, texts(&|node| callers(all, node))),
        Column::text("file", "file", Content::Path, texts(&place)),
    ];
    if graph.is_difference {
        columns.push(amounts("total_a", "total in A", &|node| all.totals.get(node).before));
        columns.push(amounts("total_b", "total in B", &|node| all.totals.get(node).weight).with_bar());
        let change = |node: usize| all.totals.get(node).weight - all.totals.get(node).before;
        columns.push(amounts("change", "change", &change));
    } else {
        columns.push(amounts("total", "total", &|node| all.totals.get(node).weight).with_bar());
        let whole = Some(all.total.weight).filter(|whole| *whole > 0.0);
        let share = |node: &NodeId| Some(all.totals.get(*node as usize).weight / whole?);
        columns.push(Column::float("share", "share", Unit::Ratio, nodes.iter().map(share).collect()));
        columns.push(amounts("self", "self", &|node| all.own.get(node).weight));
    }
    let mut table = Table::new(format!("boxes_{}", number + 1), graph.title.clone(), columns)
        .caption("One row per box of the flame graph, the widest first.")
        .if_empty("No stacks.");
    table.n_left_out = n_left_out;
    table
}

/// The innermost callers of a box, the outermost of them first.
fn callers(all: &Merged, node: NodeId) -> String {
    let mut path = all.path_to(node);
    path.pop();
    let n_more = path.len().saturating_sub(MAX_CALLERS);
    let names =
        path.iter().skip(n_more).map(|node| all.labels[all.key[*node as usize] as usize].name.as_str());
    let names: Vec<&str> = (n_more > 0).then_some("…").into_iter().chain(names).collect();
    names.join(" › ")
}
