//! The boxes of a flame graph: those wide enough to see, and how many others there are.

use super::view::Widths;
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use crate::base::units::{Unit, counted};
use crate::report::chart::{Flame, FlameBox};
use crate::stacks::graph::{NodeId, ROOT};
use crate::stacks::lanes::Lanes;
use crate::stacks::merged::{Label, Merged};
use std::cmp::Reverse;

/// Boxes of a graph, and the share of its weight below which a box is too thin.
const MAX_BOXES: usize = 3_000;
const MIN_SHARE: f64 = 1.0 / 4_000.0;
/// Deeper frames are left out.
pub const MAX_DEPTH: u32 = 300;

/// What is drawn of merged stacks.
pub struct Picture<'a> {
    pub merged: &'a Merged,
    pub unit: Unit,
    pub is_difference: bool,
    pub widths: Widths,
    /// Boxes begin where samples end: what ends in one is all of the first row, and no part of another.
    pub is_from_ends: bool,
    /// This node in full width, below its callers.
    pub focus: Option<NodeId>,
    /// By label: whether a search finds it.
    pub is_hit: &'a [bool],
}

impl Picture<'_> {
    fn width(&self, lanes: Lanes) -> f64 {
        self.widths.of(lanes)
    }

    fn box_of(&self, node: NodeId, total: Lanes, start: f64, depth: u32) -> FlameBox {
        let key = self.merged.key[node as usize];
        let Label { name, place, .. } = self.merged.labels[key as usize].clone();
        FlameBox {
            name,
            place,
            start,
            weight: self.width(total),
            own: if self.is_from_ends { 0.0 } else { self.width(self.merged.own.get(node as usize)) },
            depth,
            is_rest: false,
            is_hit: self.is_hit.get(key as usize).copied().unwrap_or(false),
            sides: self.is_difference.then_some((total.before, total.weight)),
        }
    }

    /// The boxes: the heaviest sibling first, in differences by name; thin ones as one.
    pub fn flame(&self) -> Flame {
        let merged = self.merged;
        let totals = &merged.totals;
        let width_of = |node: NodeId| self.width(totals.get(node as usize));
        let total = self.focus.map_or(self.width(merged.total), width_of);
        let (first, end) =
            self.focus.map_or((0, merged.key.len() as NodeId), |focus| (focus, merged.end[focus as usize]));
        // No box is wider than the one around it, so nothing within a thin one is looked at.
        let mut order: Vec<NodeId> = Vec::new();
        let mut node = first;
        while node < end {
            let width = width_of(node);
            let is_wide = width > 0.0 && width >= total * MIN_SHARE;
            node = if is_wide {
                order.push(node);
                node + 1
            } else {
                merged.end[node as usize]
            };
        }
        sort::rows(&mut order, |a, b| width_of(b).total_cmp(&width_of(a)).then(a.cmp(&b)));
        // As wide as the last box that fits: all of them or none.
        let least = order.get(MAX_BOXES).map_or(0.0, |node| width_of(*node));
        if order.len() > MAX_BOXES {
            order.retain(|node| width_of(*node) >= least);
        }
        let is_shown: HashSet<NodeId> = order.iter().copied().collect();
        // By parent: shown children with the heaviest first, and the number and weight of the others.
        let mut shown: HashMap<NodeId, Vec<NodeId>> = HashMap::default();
        let mut rest: HashMap<NodeId, (u64, Lanes)> = HashMap::default();
        let mut leave_out = |parent: NodeId, children: &mut dyn Iterator<Item = NodeId>| {
            let mut others = merged.rest.get(&parent).copied().unwrap_or_default();
            for node in children.filter(|node| !is_shown.contains(node)) {
                others.0 += 1;
                others.1.add(totals.get(node as usize));
            }
            rest.insert(parent, others);
        };
        match self.focus {
            Some(focus) if is_shown.contains(&focus) => {}
            Some(focus) => leave_out(ROOT, &mut std::iter::once(focus)),
            None => leave_out(ROOT, &mut merged.children(ROOT)),
        }
        for node in order {
            leave_out(node, &mut merged.children(node));
            let parent = if Some(node) == self.focus { ROOT } else { merged.parent[node as usize] };
            shown.entry(parent).or_default().push(node);
        }
        if self.is_difference {
            // So that the same box is at the same place whichever side gives the widths.
            let label = |node: NodeId| &merged.labels[merged.key[node as usize] as usize];
            shown.values_mut().for_each(|children| {
                sort::rows(children, |a, b| {
                    (&label(a).name, &label(a).place).cmp(&(&label(b).name, &label(b).place))
                });
            });
        }
        let mut boxes = Vec::new();
        let mut top = 0;
        if let Some(focus) = self.focus {
            let path = merged.path_to(focus);
            for node in &path[..path.len() - 1] {
                let above = FlameBox { own: 0.0, ..self.box_of(*node, totals.get(focus as usize), 0.0, top) };
                boxes.push(above);
                top += 1;
            }
        }
        // Callers before what they call.
        let mut waiting = vec![(ROOT, 0.0, top)];
        while let Some((parent, start, depth)) = waiting.pop() {
            let mut at: f64 = start;
            if depth >= MAX_DEPTH {
                continue;
            }
            let mut below = Vec::new();
            for node in shown.get(&parent).into_iter().flatten() {
                let it = self.box_of(*node, totals.get(*node as usize), at, depth);
                below.push((*node, at, depth + 1));
                at += it.weight;
                boxes.push(it);
            }
            if let Some((n, sum)) = rest.get(&parent).filter(|(_, sum)| self.width(*sum) > 0.0) {
                boxes.push(FlameBox {
                    sides: self.is_difference.then_some((sum.before, sum.weight)),
                    ..rest_box(*n, at, self.width(*sum), depth)
                });
            }
            sort::by_key(&mut below, |(node, _, _)| Reverse(*node));
            waiting.extend(below);
        }
        Flame { boxes, total, unit: self.unit }
    }
}

fn rest_box(n: u64, start: f64, weight: f64, depth: u32) -> FlameBox {
    let name = counted(n, "smaller frame", "smaller frames");
    FlameBox { name, start, weight, depth, is_rest: true, ..FlameBox::default() }
}

/// A frame that is open, with the boxes of what it called so far.
struct Open {
    node: NodeId,
    start: f64,
    own: f64,
    within: Vec<FlameBox>,
}

/// The boxes of samples in their order: neighbors in the same node are one box. Samples are node of `merged` and weight; all of
/// their weights are `total`.
pub fn in_order(
    merged: &Merged,
    samples: &[(NodeId, f64)],
    total: f64,
    unit: Unit,
    is_hit: &[bool],
) -> Flame {
    let depths = merged.depths();
    let mut least = total * MIN_SHARE;
    loop {
        let boxes = runs(merged, &depths, samples, least, is_hit);
        if boxes.len() <= 2 * MAX_BOXES || least >= total {
            return Flame { boxes, total, unit };
        }
        least *= 2.0;
    }
}

fn runs(
    merged: &Merged,
    depths: &[u32],
    samples: &[(NodeId, f64)],
    least: f64,
    is_hit: &[bool],
) -> Vec<FlameBox> {
    let mut open: Vec<Open> = Vec::new();
    let mut boxes: Vec<FlameBox> = Vec::new();
    // Where the current sample starts, in weight.
    let mut at = 0.0;
    let close = |open: &mut Vec<Open>, boxes: &mut Vec<FlameBox>, n_left: usize, at: f64| {
        while open.len() > n_left {
            let Some(it) = open.pop() else { break };
            let around = open.last_mut().map_or(&mut *boxes, |around| &mut around.within);
            let (weight, depth) = (at - it.start, depths[it.node as usize]);
            if weight < least {
                // With those right before it.
                let before = around.last_mut().filter(|last| {
                    last.is_rest && last.depth == depth && last.start + last.weight >= it.start - least * 1e-6
                });
                match before {
                    Some(last) => (last.weight, last.own) = (at - last.start, last.own + 1.0),
                    None => around.push(FlameBox { own: 1.0, ..rest_box(1, it.start, weight, depth) }),
                }
                continue;
            }
            let key = merged.key[it.node as usize];
            let Label { name, place, .. } = merged.labels[key as usize].clone();
            let is_hit = is_hit.get(key as usize).copied().unwrap_or(false);
            let (start, own) = (it.start, it.own);
            around.push(FlameBox { name, place, start, weight, own, depth, is_hit, ..FlameBox::default() });
            around.extend(it.within);
        }
    };
    let mut last = ROOT;
    for (node, weight) in samples {
        if *node != last || open.is_empty() {
            let path = merged.path_to(*node);
            let n_same = open.iter().zip(&path).take_while(|(open, node)| open.node == **node).count();
            close(&mut open, &mut boxes, n_same, at);
            for node in path.into_iter().take(MAX_DEPTH as usize).skip(n_same) {
                open.push(Open { node, start: at, own: 0.0, within: Vec::new() });
            }
            last = *node;
        }
        if let Some(innermost) = open.last_mut() {
            innermost.own += weight;
        }
        at += weight;
    }
    close(&mut open, &mut boxes, 0, at);
    for it in boxes.iter_mut().filter(|it| it.is_rest) {
        // It counted them.
        it.name = counted(it.own as u64, "smaller frame", "smaller frames");
        it.own = 0.0;
    }
    boxes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::graph::{FrameClass, GraphBuilder, StackGraph};
    use crate::stacks::merged::StackQuery;

    /// A graph whose frames are letters.
    fn graph(stacks: &[(&str, f64)]) -> StackGraph {
        let mut builder = GraphBuilder::new("", "", Unit::Count);
        let thread = builder.thread("t");
        for (stack, weight) in stacks {
            let mut node = ROOT;
            for letter in stack.chars() {
                let frame = builder.named(&letter.to_string(), FrameClass::Other);
                node = builder.child(node, frame);
            }
            builder.sample(node, thread, *weight);
        }
        builder.finish()
    }

    fn merged(graph: &StackGraph, query: &StackQuery) -> Merged {
        Merged::new(graph, query, (1.0, 1.0)).unwrap()
    }

    fn picture(merged: &Merged) -> Picture<'_> {
        let (widths, is_difference) = (Widths::Weight, false);
        let is_from_ends = false;
        Picture { merged, unit: Unit::Count, is_difference, widths, is_from_ends, focus: None, is_hit: &[] }
    }

    fn rows(flame: &Flame) -> Vec<(String, f64, f64, u32)> {
        let mut rows: Vec<_> =
            flame.boxes.iter().map(|it| (it.name.clone(), it.start, it.weight, it.depth)).collect();
        rows.sort_by(|a, b| a.3.cmp(&b.3).then(a.1.total_cmp(&b.1)));
        rows
    }

    fn row(name: &str, start: f64, weight: f64, depth: u32) -> (String, f64, f64, u32) {
        (name.to_string(), start, weight, depth)
    }

    const STACKS: [(&str, f64); 4] = [("ab", 3.0), ("abc", 5.0), ("ad", 1.0), ("eb", 2.0)];

    #[test]
    fn stacks_merge_from_the_root_and_from_their_ends() {
        let graph = graph(&STACKS);
        let all = merged(&graph, &StackQuery::default());
        let flame = picture(&all).flame();
        assert_eq!(flame.total, 11.0);
        let wanted = [
            row("a", 0.0, 9.0, 0),
            row("e", 9.0, 2.0, 0),
            row("b", 0.0, 8.0, 1),
            row("d", 8.0, 1.0, 1),
            row("b", 9.0, 2.0, 1),
            row("c", 0.0, 5.0, 2),
        ];
        assert_eq!(rows(&flame), wanted);
        let inverted = all.inverted(MAX_DEPTH, &[]);
        let inverted = rows(&picture(&inverted).flame());
        assert!(inverted.contains(&row("b", 0.0, 5.0, 0)) && inverted.contains(&row("c", 5.0, 5.0, 0)));
        assert!(inverted.contains(&row("a", 0.0, 3.0, 1)) && inverted.contains(&row("e", 3.0, 2.0, 1)));
    }

    /// In a box from the ends, the stacks that begin there are no self weight: that of the first row is all of it.
    #[test]
    fn boxes_from_the_ends_have_no_self_weight() {
        // f ends 100 on its own and 7 within g within f.
        let all = graph(&[("f", 100.0), ("fgf", 7.0)]);
        let all = merged(&all, &StackQuery::default());
        let inverted = all.inverted(MAX_DEPTH, &[]);
        let flame = Picture { is_from_ends: true, ..picture(&inverted) }.flame();
        assert!(rows(&flame).contains(&row("f", 0.0, 107.0, 0)));
        assert!(flame.boxes.iter().all(|it| it.own == 0.0));
        assert_eq!(picture(&all).flame().boxes[0].own, 100.0);
    }

    /// Stacks of letters with their weights: some heavy, most too thin to see.
    fn many_stacks() -> Vec<(String, f64)> {
        let mut seed = 11u32;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        };
        let mut stack = |_| {
            let n_frames = 1 + next(9);
            let n_letters = 1 + next(20);
            let letters = (0..n_frames).map(|_| char::from(b'a' + next(n_letters) as u8)).collect();
            let weight = f64::from(1 + next(1_000_000)) * if next(50) == 0 { 1_000.0 } else { 1.0 };
            (letters, weight)
        };
        (0..6_000).map(&mut stack).collect()
    }

    #[test]
    fn callers_and_callees_are_those_of_plain_trees() {
        let stacks = many_stacks();
        let of = |change: &dyn Fn(&str) -> Option<String>| {
            let changed: Vec<(String, f64)> =
                stacks.iter().filter_map(|(stack, weight)| Some((change(stack)?, *weight))).collect();
            let changed: Vec<(&str, f64)> =
                changed.iter().map(|(stack, weight)| (stack.as_str(), *weight)).collect();
            merged(&graph(&changed), &StackQuery::default())
        };
        let backwards = |stack: &str| stack.chars().rev().collect::<String>();
        let all = of(&|stack| Some(stack.to_string()));
        let plain = of(&|stack| Some(backwards(stack)));
        let fast = all.inverted(MAX_DEPTH, &[]);
        let wanted = picture(&plain).flame();
        assert_eq!(rows(&picture(&fast).flame()), rows(&wanted));
        assert!(fast.key.len() * 2 < plain.key.len() && wanted.boxes.iter().any(|it| it.is_rest));
        // With each path of two labels in full width.
        for node in (0..plain.key.len() as NodeId).filter(|node| plain.path_to(*node).len() == 2).take(60) {
            let path: Vec<(String, String)> = plain
                .path_to(node)
                .iter()
                .map(|node| (plain.labels[plain.key[*node as usize] as usize].name.clone(), String::new()))
                .collect();
            let focus = all.labels_of(&path);
            let fast = all.inverted(MAX_DEPTH, &focus);
            let fast = Picture { focus: fast.walk(&focus), ..picture(&fast) }.flame();
            assert_eq!(rows(&fast), rows(&Picture { focus: Some(node), ..picture(&plain) }.flame()));
        }
        for letter in ["a", "f", "s"] {
            let label = all.labels.iter().position(|label| label.name == letter).unwrap() as u32;
            let (callers, callees) = all.around(label, MAX_DEPTH);
            let above = of(&|stack| {
                stack.split_once(letter).map(|(above, _)| backwards(&format!("{above}{letter}")))
            });
            let below = of(&|stack| stack.split_once(letter).map(|(_, below)| format!("{letter}{below}")));
            assert_eq!(rows(&picture(&callers).flame()), rows(&picture(&above).flame()));
            assert_eq!(rows(&picture(&callees).flame()), rows(&picture(&below).flame()));
        }
    }

    #[test]
    fn a_match_counts_once_a_stack_and_a_focus_keeps_its_callers() {
        let graph = graph(&STACKS);
        let all = merged(&graph, &StackQuery::default());
        let weight_of = |names: &str| {
            let is_it: Vec<bool> = all.labels.iter().map(|label| names.contains(&label.name)).collect();
            all.weight_of(&is_it).weight
        };
        assert_eq!(weight_of("b"), 10.0);
        assert_eq!(weight_of("abc"), 11.0);
        let path = [("a".to_string(), String::new()), ("b".to_string(), String::new())];
        let focused = Picture { focus: all.walk(&all.labels_of(&path)), ..picture(&all) }.flame();
        assert_eq!(focused.total, 8.0);
        assert_eq!(rows(&focused), [row("a", 0.0, 8.0, 0), row("b", 0.0, 8.0, 1), row("c", 0.0, 5.0, 2)]);
    }

    #[test]
    fn frames_are_hidden_ignored_folded_and_turned_around() {
        let graph = graph(&[("abab", 4.0), ("aab", 2.0), ("x", 1.0)]);
        let hidden = StackQuery { hidden: vec!["\"a\"".to_string()], ..StackQuery::default() };
        let flame = picture(&merged(&graph, &hidden)).flame();
        assert_eq!(rows(&flame), [row("b", 0.0, 6.0, 0), row("x", 6.0, 1.0, 0), row("b", 0.0, 4.0, 1)]);
        let all_hidden = StackQuery { hidden: vec!["/[ab]/".to_string()], ..StackQuery::default() };
        let flame = picture(&merged(&graph, &all_hidden)).flame();
        assert_eq!(rows(&flame), [row("(only hidden frames)", 0.0, 6.0, 0), row("x", 6.0, 1.0, 0)]);
        let ignored = StackQuery { ignored: vec!["b".to_string()], ..StackQuery::default() };
        assert_eq!(rows(&picture(&merged(&graph, &ignored)).flame()), [row("x", 0.0, 1.0, 0)]);
        let folded = StackQuery { folds_recursion: true, ..StackQuery::default() };
        let folded = rows(&picture(&merged(&graph, &folded)).flame());
        assert!(folded.contains(&row("b", 0.0, 6.0, 1)));
        assert!(
            Merged::new(
                &graph,
                &StackQuery { hidden: vec!["/(/".to_string()], ..StackQuery::default() },
                (1.0, 1.0)
            )
            .is_err()
        );
        // A function around which the others are: recursion is within its outermost call.
        let all = merged(&graph, &StackQuery::default());
        let label = all.labels.iter().position(|label| label.name == "b").unwrap() as u32;
        let (callers, callees) = all.around(label, MAX_DEPTH);
        assert_eq!(rows(&picture(&callees).flame())[..2], [row("b", 0.0, 6.0, 0), row("a", 0.0, 4.0, 1)]);
        assert_eq!(
            rows(&picture(&callers).flame()),
            [row("b", 0.0, 6.0, 0), row("a", 0.0, 6.0, 1), row("a", 0.0, 2.0, 2)]
        );
        let sums = all.sums();
        assert_eq!((sums[label as usize].own.weight, sums[label as usize].total.weight), (6.0, 6.0));
    }

    #[test]
    fn samples_in_their_order_are_runs() {
        let graph = graph(&[("ab", 1.0), ("ab", 2.0), ("ac", 1.0), ("ab", 1.0), ("d", 3.0)]);
        let (merged, node_of) = Merged::of_nodes(&graph, &StackQuery::default()).unwrap();
        let samples: Vec<_> =
            graph.order.iter().map(|(node, _, weight)| (node_of[*node as usize], *weight)).collect();
        let flame = in_order(&merged, &samples, 8.0, Unit::Count, &[]);
        let wanted = [
            row("a", 0.0, 5.0, 0),
            row("d", 5.0, 3.0, 0),
            row("b", 0.0, 3.0, 1),
            row("c", 3.0, 1.0, 1),
            row("b", 4.0, 1.0, 1),
        ];
        assert_eq!(rows(&flame), wanted);
    }

    #[test]
    fn a_difference_has_both_sides_and_adds_up() {
        let (a, b) = (graph(&STACKS), graph(&[("ab", 4.0), ("new", 1.0)]));
        let difference = StackGraph::difference(&a, &b);
        let all = Merged::new(&difference, &StackQuery::default(), (1.0, 1.0)).unwrap();
        let total = all.total;
        assert_eq!((total.weight, total.before), (5.0, 11.0));
        let by_a = Picture { widths: Widths::Before, is_difference: true, ..picture(&all) }.flame();
        assert_eq!(by_a.total, 11.0);
        let b_in_a = by_a.boxes.iter().find(|it| it.name == "b" && it.start == 0.0).unwrap();
        assert_eq!((b_in_a.weight, b_in_a.sides), (8.0, Some((8.0, 4.0))));
        // ab +1, abc −5, ad −1, eb −2, new +1.
        assert_eq!(
            Picture { widths: Widths::Change, is_difference: true, ..picture(&all) }.flame().total,
            10.0
        );
        // A against A changes nothing, and turned around every change has the other sign.
        let same = StackGraph::difference(&a, &a);
        assert!(same.own.iter().all(|own| own.weight == own.before));
        let back = StackGraph::difference(&b, &a);
        let total = Merged::new(&back, &StackQuery::default(), (1.0, 1.0)).unwrap().total;
        assert_eq!((total.weight, total.before), (11.0, 5.0));
    }

    #[test]
    fn thin_frames_are_one_box_and_deep_ones_end() {
        let mut builder = GraphBuilder::new("", "", Unit::Count);
        let frame = builder.named("top", FrameClass::Other);
        let top = builder.child(ROOT, frame);
        builder.add(top, 0, 1e6);
        for number in 1..=5_000 {
            let frame = builder.named(&number.to_string(), FrameClass::Other);
            let node = builder.child(top, frame);
            builder.add(node, 0, 1.0);
        }
        let graph = builder.finish();
        let flame = picture(&merged(&graph, &StackQuery::default())).flame();
        assert_eq!(flame.boxes.len(), 2);
        assert_eq!((flame.boxes[1].name.as_str(), flame.boxes[1].weight), ("5,000 smaller frames", 5_000.0));
        // A limit on nodes keeps the weight.
        let reduced = graph.reduced(100);
        assert!(reduced.is_sound() && reduced.node_frame.len() < 210 && reduced.total() == graph.total());
        let mut builder = GraphBuilder::new("", "", Unit::Count);
        let mut node = ROOT;
        for number in 0..100_000 {
            let frame = builder.named(&number.to_string(), FrameClass::Other);
            node = builder.child(node, frame);
        }
        builder.add(node, 0, 1.0);
        let deep = builder.finish();
        let deep = picture(&merged(&deep, &StackQuery::default())).flame();
        assert_eq!(deep.boxes.len(), MAX_DEPTH as usize);
    }
}
