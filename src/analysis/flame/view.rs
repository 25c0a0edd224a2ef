//! A flame graph as someone looks at it: which stacks, from which end, how wide, and what is found.

use super::boxes::{MAX_DEPTH, Picture, in_order};
use crate::base::pattern::Pattern;
use crate::base::sort;
use crate::base::units::{format_ratio, in_words};
use crate::report::chart::Flame;
use crate::stacks::graph::{FrameClass, ROOT, StackGraph};
use crate::stacks::lanes::Lanes;
use crate::stacks::merged::{Label, LabelSum, Merged, StackQuery};
use crate::stacks::tree::IGNORED;
use crate::stacks::{NO_STACK, is_pseudo_frame};
use serde::{Deserialize, Serialize};

/// Where a graph starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Direction {
    /// At the outermost callers.
    #[default]
    Callers,
    /// At what the weight ends in; its callers are below.
    Ends,
    /// At the outermost callers, with samples in order of time; of one thread.
    Time,
    /// At one function: its callers on one side, what it calls on the other.
    Around,
}

/// What the width of a box is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Widths {
    /// The weight; that of B in a difference.
    #[default]
    Weight,
    /// The weight of A.
    Before,
    /// The changes within, whatever their sign.
    Change,
}

impl Widths {
    /// The width of a box with these weights.
    pub fn of(self, lanes: Lanes) -> f64 {
        match self {
            Widths::Weight => lanes.weight,
            Widths::Before => lanes.before,
            Widths::Change => lanes.change,
        }
    }
}

/// What the weights of a difference are made comparable by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Scale {
    /// As they are.
    #[default]
    None,
    /// The weight of A is that of B in all.
    Total,
    /// Weight of one step on both sides.
    Step,
    /// Weight of a second of recording on both sides.
    Second,
}

/// Order of the table of functions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum RowOrder {
    #[default]
    Own,
    Total,
    /// Change of the self weight, whatever its sign.
    Change,
}

/// Name and place of a box; see [`Label`].
pub type LabelKey = (String, String);

/// A question to the flame graphs of a document.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FlameQuery {
    /// Index among the graphs.
    pub graph: u32,
    pub direction: Direction,
    pub stacks: StackQuery,
    /// The function of [`Direction::Around`].
    pub center: Option<LabelKey>,
    /// Boxes from the root to the one in full width.
    pub focus: Vec<LabelKey>,
    /// What to light; see [`Pattern::new`].
    pub search: String,
    pub widths: Widths,
    pub scale: Scale,
    pub rows: RowOrder,
}

/// A graph to choose.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlameInfo {
    pub title: String,
    pub caption: String,
    pub threads: Vec<String>,
    pub classes: Vec<FrameClass>,
    pub has_order: bool,
    pub has_steps: bool,
    pub has_seconds: bool,
    pub is_difference: bool,
}

/// A function beside the graph. Weights of A are 0 without a difference.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlameRow {
    pub name: String,
    pub place: String,
    pub own: f64,
    pub total: f64,
    pub own_before: f64,
    pub total_before: f64,
}

/// The answer to a [`FlameQuery`].
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlameView {
    pub graphs: Vec<FlameInfo>,
    /// Index of the shown one.
    pub graph: u32,
    /// Thread that [`Direction::Time`] shows.
    pub thread: Option<u32>,
    pub flame: Flame,
    /// For [`Direction::Around`]: the callers; `flame` is what it calls.
    pub callers: Option<Flame>,
    /// Weight of the stacks that the search finds, each counted once, and its share of all that can be drawn; `None` without a
    /// search.
    pub matched: Option<(f64, f64)>,
    /// Weight of all stacks that take part, of B and of A; including negative weights, which `flame` leaves out.
    pub total: (f64, f64),
    /// Weight of the samples without a stack in `total`, of B and of A. Shares of functions are of the others.
    pub no_stack: (f64, f64),
    /// The first functions, and that of the box in full width or in the center.
    pub rows: Vec<FlameRow>,
    pub n_rows: u64,
    /// What should be known about the picture.
    pub notes: Vec<String>,
}

impl FlameView {
    /// The function among `rows` with the most self weight, and its share of the samples with a stack; the share is `None` if their
    /// weights add up to nothing or less. Threads and such only if nothing else has weight.
    pub fn hottest(&self) -> Option<(&FlameRow, Option<f64>)> {
        // Whatever the table is sorted by; the first of equals.
        let is_function = |row: &FlameRow| !row.place.is_empty() || !is_pseudo_frame(&row.name);
        let stacks = self.rows.iter().filter(|row| row.own > 0.0 && !is_no_stack(&row.name, &row.place));
        let rank = |row: &&FlameRow| (is_function(row), row.own);
        let first = stacks.reduce(|first, row| if rank(&row) > rank(&first) { row } else { first })?;
        let whole = self.total.0 - self.no_stack.0;
        Some((first, (whole > 0.0).then(|| first.own / whole)))
    }
}

fn is_no_stack(name: &str, place: &str) -> bool {
    place.is_empty() && name == NO_STACK
}

/// Functions in the table.
const MAX_ROWS: usize = 200;

/// Stacks that were merged for the last query, which the next one often needs as they are.
#[derive(Default)]
pub struct Cache(Option<Kept>);

struct Kept {
    graph: usize,
    stacks: StackQuery,
    scale: Scale,
    /// Without negative weights, whose sum is `negative`; `sums` and `total` have them.
    all: Merged,
    negative: f64,
    sums: Vec<LabelSum>,
    total: Lanes,
    /// From the ends, with the focus that it is for.
    inverted: Option<(Vec<u32>, Merged)>,
}

/// Answers a query. `None` if there is no graph. An error, in words, if a pattern is none. The `cache` is of these graphs.
pub fn view(
    graphs: &[StackGraph],
    query: &FlameQuery,
    cache: &mut Cache,
) -> Result<Option<FlameView>, String> {
    let at = (query.graph as usize).min(graphs.len().saturating_sub(1));
    let Some(graph) = graphs.get(at) else { return Ok(None) };
    let mut stacks = query.stacks.clone();
    if stacks.thread.is_some_and(|thread| thread as usize >= graph.threads.len()) {
        stacks.thread = None;
    }
    let is_in_time = query.direction == Direction::Time && !graph.order.is_empty();
    if is_in_time && stacks.thread.is_none() {
        stacks.thread = heaviest_thread(graph);
    }
    let known = cache.0.take().filter(|it| it.graph == at && it.stacks == stacks && it.scale == query.scale);
    let Kept { all, negative, sums, total, inverted, .. } = match known {
        Some(known) => cache.0.insert(known),
        None => {
            let mut all = Merged::new(graph, &stacks, scale_of(graph, query.scale))?;
            let (sums, total) = (all.sums(), all.total);
            let negative = all.leave_out_negative();
            let (stacks, scale) = (stacks.clone(), query.scale);
            cache.0.insert(Kept { graph: at, stacks, scale, all, negative, sums, total, inverted: None })
        }
    };
    let focus = all.labels_of(&query.focus);
    let pattern = match query.search.trim() {
        "" => None,
        text => Some(Pattern::new(text)?),
    };
    let finds = |label: &Label| pattern.as_ref().is_some_and(|pattern| pattern.finds(&label.name));
    // By label, as all forms of the merged stacks have the same.
    let is_hit: Vec<bool> = all.labels.iter().map(finds).collect();
    let widths = if graph.is_difference { query.widths } else { Widths::Weight };
    let (unit, is_difference) = (graph.unit, graph.is_difference);
    let picture_of = |merged: &Merged, focus, is_from_ends| {
        Picture { merged, unit, is_difference, widths, is_from_ends, focus, is_hit: &is_hit }.flame()
    };
    let picture = |merged: &Merged, focus| picture_of(merged, focus, false);
    let mut callers = None;
    // The function that someone looks at.
    let mut looked_at = focus.last().copied();
    let flame = match query.direction {
        Direction::Callers => picture(all, all.walk(&focus)),
        Direction::Time if !is_in_time => picture(all, all.walk(&focus)),
        Direction::Ends => {
            inverted.take_if(|(of, _)| *of != focus);
            let (_, inverted) =
                inverted.get_or_insert_with(|| (focus.clone(), all.inverted(MAX_DEPTH, &focus)));
            picture_of(inverted, inverted.walk(&focus), true)
        }
        Direction::Time => {
            let (mut nodes, node_of) = Merged::of_nodes(graph, &stacks)?;
            let hidden = nodes.all_hidden();
            let mut samples = Vec::new();
            for (node, thread, weight) in &graph.order {
                if Some(*thread) != stacks.thread {
                    continue;
                }
                match node_of.get(*node as usize).copied().unwrap_or(ROOT) {
                    IGNORED => {}
                    ROOT => samples.push((hidden, *weight)),
                    node => samples.push((node, *weight)),
                }
            }
            let total = samples.iter().map(|(_, weight)| weight).sum();
            in_order(&nodes, &samples, total, unit, &is_hit)
        }
        Direction::Around => {
            let known = all.labels_of(query.center.as_slice()).first().copied();
            // Without one, the function that most ends in.
            let center = known.or_else(|| {
                let width = |label: &u32| widths.of(sums[*label as usize].own);
                (0..sums.len() as u32).max_by(|a, b| width(a).total_cmp(&width(b)))
            });
            looked_at = center;
            let (above, below) = all.around(center.unwrap_or(0), MAX_DEPTH);
            callers = Some(picture_of(&above, None, true));
            picture(&below, None)
        }
    };
    let no_stack = all.labels.iter().zip(&*sums).filter(|(label, _)| is_no_stack(&label.name, &label.place));
    let no_stack = no_stack.fold((0.0, 0.0), |(b, a), (_, sum)| (b + sum.own.weight, a + sum.own.before));
    // A part of the stacks has none of these.
    let drawn_without_stack = match query.direction {
        Direction::Around => (0.0, 0.0),
        Direction::Time if is_in_time => (0.0, 0.0),
        _ => no_stack,
    };
    let matched = pattern.is_some().then(|| {
        let (found, drawn) = (widths.of(all.weight_of(&is_hit)), widths.of(all.total));
        (found, if drawn > 0.0 { found / drawn } else { 0.0 })
    });
    let undrawn = if is_difference { undrawn(all, widths) } else { None };
    let (rows, n_rows) = rows(all, sums, query.rows, pattern.is_some().then_some(&is_hit), looked_at);
    let info = |graph: &StackGraph| FlameInfo {
        title: graph.title.clone(),
        caption: graph.caption.clone(),
        threads: graph.threads.clone(),
        classes: graph.classes(),
        has_order: !graph.order.is_empty(),
        has_steps: graph.n_steps.0 > 0 && graph.n_steps.1 > 0,
        has_seconds: graph.seconds.0 > 0.0 && graph.seconds.1 > 0.0,
        is_difference: graph.is_difference,
    };
    Ok(Some(FlameView {
        graphs: graphs.iter().map(info).collect(),
        graph: at as u32,
        thread: stacks.thread,
        notes: notes(graph, (total.weight, drawn_without_stack), *negative, undrawn, &flame, query.scale),
        flame,
        callers,
        matched,
        total: (total.weight, total.before),
        no_stack,
        rows,
        n_rows,
    }))
}

/// What weights of B and A are multiplied by.
fn scale_of(graph: &StackGraph, scale: Scale) -> (f64, f64) {
    let (n_a, n_b) = graph.n_steps;
    let (seconds_a, seconds_b) = graph.seconds;
    match scale {
        Scale::Total if graph.is_difference => {
            let before: f64 = graph.own.iter().map(|own| own.before).sum();
            let total = graph.total();
            if before > 0.0 && total > 0.0 { (1.0, total / before) } else { (1.0, 1.0) }
        }
        Scale::Step if n_a > 0 && n_b > 0 => (1.0 / n_b as f64, 1.0 / n_a as f64),
        Scale::Second if seconds_a > 0.0 && seconds_b > 0.0 => (1.0 / seconds_b, 1.0 / seconds_a),
        _ => (1.0, 1.0),
    }
}

fn heaviest_thread(graph: &StackGraph) -> Option<u32> {
    let mut weights = vec![0.0; graph.threads.len()];
    for own in &graph.own {
        if let Some(weight) = weights.get_mut(own.thread as usize) {
            *weight += own.weight;
        }
    }
    // The first one wins ties.
    (0..weights.len()).rev().max_by(|a, b| weights[*a].total_cmp(&weights[*b])).map(|at| at as u32)
}

/// Functions that the search finds, if there is one, and how many they are. The one that someone looks at is among the first.
fn rows(
    all: &Merged,
    sums: &[LabelSum],
    order: RowOrder,
    is_hit: Option<&Vec<bool>>,
    looked_at: Option<u32>,
) -> (Vec<FlameRow>, u64) {
    let mut found: Vec<usize> = (0..sums.len())
        .filter(|at| {
            let total = sums[*at].total;
            let is_there = total.weight > 0.0 || total.before > 0.0;
            is_there && is_hit.is_none_or(|is_hit| is_hit[*at])
        })
        .collect();
    let key = |sum: &LabelSum| match order {
        RowOrder::Own => (sum.own.weight, sum.own.before),
        RowOrder::Total => (sum.total.weight, sum.total.before),
        RowOrder::Change => ((sum.own.weight - sum.own.before).abs(), sum.own.weight),
    };
    sort::by(&mut found, |a, b| {
        let (of_a, of_b) = (key(&sums[*a]), key(&sums[*b]));
        let totals = || sums[*b].total.weight.total_cmp(&sums[*a].total.weight);
        let names = || all.labels[*a].name.cmp(&all.labels[*b].name);
        of_b.0.total_cmp(&of_a.0).then(of_b.1.total_cmp(&of_a.1)).then_with(totals).then_with(names)
    });
    let row = |at: &usize| {
        let (LabelSum { own, total }, Label { name, place, .. }) = (sums[*at], all.labels[*at].clone());
        FlameRow {
            name,
            place,
            own: own.weight,
            total: total.weight,
            own_before: own.before,
            total_before: total.before,
        }
    };
    let n_found = found.len() as u64;
    let later = found.iter().skip(MAX_ROWS).copied().find(|at| looked_at == Some(*at as u32));
    found.truncate(MAX_ROWS);
    found.extend(later);
    (found.iter().map(row).collect(), n_found)
}

/// The side of a difference that is not in all boxes, and its weight in those that have no width. `None` if nothing is lost.
fn undrawn(all: &Merged, widths: Widths) -> Option<(&'static str, f64)> {
    type Own = fn(&Lanes) -> f64;
    let (side, own): (_, Own) = match widths {
        Widths::Weight => ("A", |own| own.before),
        Widths::Before => ("B", |own| own.weight),
        Widths::Change => return None,
    };
    let without = all.own.iter().zip(all.totals.iter()).filter(|(_, total)| widths.of(*total) <= 0.0);
    let weight: f64 = without.map(|(of, _)| own(&of)).sum();
    (weight > 0.0).then_some((side, weight))
}

/// Notes on a picture of stacks whose weights add up to `total`, without the `negative` ones. See [`undrawn`].
fn notes(
    graph: &StackGraph,
    (total, no_stack): (f64, (f64, f64)),
    negative: f64,
    undrawn: Option<(&str, f64)>,
    flame: &Flame,
    scale: Scale,
) -> Vec<String> {
    let mut notes = Vec::new();
    if no_stack.0 > 0.0 || no_stack.1 > 0.0 {
        let amount = |weight: f64| in_words(weight, graph.unit);
        let without = match graph.is_difference {
            true => format!("{} in A and {} in B", amount(no_stack.1), amount(no_stack.0)),
            false => amount(no_stack.0),
        };
        notes.push(format!("Widths include {without} without a stack."));
    }
    if let Some((side, weight)) = undrawn {
        notes.push(format!(
            "Stacks that only {side} has are not drawn: {} in all.",
            in_words(weight, graph.unit)
        ));
    }
    if negative < 0.0 {
        notes.push(format!(
            "Weights below zero are not drawn: {} in all. Widths are shares of the rest.",
            in_words(negative, graph.unit)
        ));
    }
    let graph_total = graph.total();
    let left_out = graph_total - total;
    let is_scaled = graph.is_difference || scale != Scale::None;
    if !is_scaled && left_out > graph_total * 1e-9 && graph_total > 0.0 {
        notes.push(format!(
            "Excluded: {} of the weight (other threads, ignored stacks).",
            format_ratio(left_out / graph_total)
        ));
    }
    if flame.boxes.iter().any(|it| it.depth + 1 >= MAX_DEPTH) {
        notes.push(format!("Stacks deeper than {MAX_DEPTH} frames are truncated."));
    }
    notes
}
