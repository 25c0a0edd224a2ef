//! Stacks merged from the root, and the boxes of a flame graph.

use crate::base::hash::HashMap;
use crate::base::units::{Unit, counted};
use crate::report::chart::{Flame, FlameBox};
use std::cmp::Reverse;

/// Boxes of a graph, and the share of its weight below which a box is too thin.
const MAX_BOXES: usize = 3_000;
const MIN_SHARE: f64 = 1.0 / 4_000.0;
/// Deeper frames are left out.
const MAX_DEPTH: u32 = 300;

/// Node of a [`Tree`]; [`ROOT`] is around all.
pub type NodeId = u32;
pub const ROOT: NodeId = u32::MAX;

/// Stacks of `K` merged from the root, with the weight that ends in each node.
pub struct Tree<K> {
    keys: Vec<K>,
    parents: Vec<NodeId>,
    own: Vec<f64>,
    children: HashMap<(NodeId, K), NodeId>,
}

impl<K: Copy + Eq + std::hash::Hash> Tree<K> {
    pub fn new() -> Tree<K> {
        Tree { keys: Vec::new(), parents: Vec::new(), own: Vec::new(), children: HashMap::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.own.iter().all(|weight| *weight <= 0.0)
    }

    /// The node of a frame below another.
    pub fn child(&mut self, parent: NodeId, key: K) -> NodeId {
        let next = self.keys.len() as NodeId;
        let node = *self.children.entry((parent, key)).or_insert(next);
        if node == next {
            self.keys.push(key);
            self.parents.push(parent);
            self.own.push(0.0);
        }
        node
    }

    /// Adds weight that ends in a node.
    pub fn add(&mut self, node: NodeId, weight: f64) {
        if let Some(own) = self.own.get_mut(node as usize) {
            *own += weight.max(0.0);
        }
    }

    /// Stacks from their ends: what ends in a function, by who called it.
    pub fn inverted(&self) -> Tree<K> {
        let mut inverted = Tree::new();
        for (node, weight) in self.own.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let (mut at, mut below) = (node as NodeId, ROOT);
            let mut depth = 0;
            while at != ROOT && depth < MAX_DEPTH {
                below = inverted.child(below, self.keys[at as usize]);
                at = self.parents[at as usize];
                depth += 1;
            }
            inverted.add(below, *weight);
        }
        inverted
    }

    /// Weight of the stacks through each node.
    fn totals(&self) -> Vec<f64> {
        let mut totals = self.own.clone();
        // Parents come before their children.
        for node in (0..totals.len()).rev() {
            if self.parents[node] != ROOT {
                totals[self.parents[node] as usize] += totals[node];
            }
        }
        totals
    }

    /// The boxes: the heaviest sibling first, thin ones as one.
    pub fn flame(&self, unit: Unit, name: impl Fn(K) -> String) -> Flame {
        let totals = self.totals();
        let total: f64 = self.own.iter().sum();
        let mut order: Vec<NodeId> = (0..self.keys.len() as NodeId).collect();
        order.sort_by(|a, b| totals[*b as usize].total_cmp(&totals[*a as usize]).then(a.cmp(b)));
        let last = order.get(MAX_BOXES).map_or(0.0, |node| totals[*node as usize]);
        let least = last.max(total * MIN_SHARE);
        let is_shown = |node: NodeId| totals[node as usize] >= least && totals[node as usize] > 0.0;
        // By parent: shown children with the heaviest first, and the number and weight of the others.
        let mut shown: HashMap<NodeId, Vec<NodeId>> = HashMap::default();
        let mut rest: HashMap<NodeId, (u64, f64)> = HashMap::default();
        for node in order {
            let parent = self.parents[node as usize];
            if is_shown(node) {
                shown.entry(parent).or_default().push(node);
            } else if parent == ROOT || is_shown(parent) {
                let rest = rest.entry(parent).or_default();
                *rest = (rest.0 + 1, rest.1 + totals[node as usize]);
            }
        }
        let mut boxes = Vec::new();
        // Callers before what they call.
        let mut waiting = vec![(ROOT, 0.0, 0)];
        while let Some((parent, start, depth)) = waiting.pop() {
            let mut at: f64 = start;
            if depth >= MAX_DEPTH {
                continue;
            }
            let mut below = Vec::new();
            for node in shown.get(&parent).into_iter().flatten() {
                let weight = totals[*node as usize];
                let name = name(self.keys[*node as usize]);
                boxes.push(FlameBox { name, start: at, weight, depth, is_rest: false });
                below.push((*node, at, depth + 1));
                at += weight;
            }
            if let Some((n, weight)) = rest.get(&parent).filter(|(_, weight)| *weight > 0.0) {
                let name = counted(*n, "smaller frame", "smaller frames");
                boxes.push(FlameBox { name, start: at, weight: *weight, depth, is_rest: true });
            }
            below.sort_by_key(|(node, _, _)| Reverse(*node));
            waiting.extend(below);
        }
        Flame { boxes, total, unit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> Tree<char> {
        let mut tree = Tree::new();
        for (stack, weight) in [("ab", 3.0), ("abc", 5.0), ("ad", 1.0), ("eb", 2.0)] {
            let node = stack.chars().fold(ROOT, |node, letter| tree.child(node, letter));
            tree.add(node, weight);
        }
        tree
    }

    fn rows(flame: &Flame) -> Vec<(String, f64, f64, u32)> {
        flame.boxes.iter().map(|it| (it.name.clone(), it.start, it.weight, it.depth)).collect()
    }

    #[test]
    fn stacks_merge_from_the_root_and_from_their_ends() {
        let flame = tree().flame(Unit::Count, |letter| letter.to_string());
        assert_eq!(flame.total, 11.0);
        let mut found = rows(&flame);
        found.sort_by(|a, b| a.3.cmp(&b.3).then(a.1.total_cmp(&b.1)));
        let row = |name: &str, start, weight, depth| (name.to_string(), start, weight, depth);
        assert_eq!(
            found,
            [
                row("a", 0.0, 9.0, 0),
                row("e", 9.0, 2.0, 0),
                row("b", 0.0, 8.0, 1),
                row("d", 8.0, 1.0, 1),
                row("b", 9.0, 2.0, 1),
                row("c", 0.0, 5.0, 2),
            ]
        );
        let inverted = rows(&tree().inverted().flame(Unit::Count, |letter| letter.to_string()));
        assert!(inverted.contains(&row("b", 0.0, 5.0, 0)) && inverted.contains(&row("c", 5.0, 5.0, 0)));
        assert!(inverted.contains(&row("a", 0.0, 3.0, 1)) && inverted.contains(&row("e", 3.0, 2.0, 1)));
    }

    #[test]
    fn a_match_counts_once_a_stack_and_a_focus_keeps_its_callers() {
        let flame = tree().flame(Unit::Count, |letter| letter.to_string());
        assert_eq!(flame.weight_of(|name| name == "b"), 10.0);
        assert_eq!(flame.weight_of(|name| "abc".contains(name)), 11.0);
        let at = flame.boxes.iter().position(|it| it.name == "b").unwrap();
        let focused = flame.focused(at);
        assert_eq!(focused.total, 8.0);
        assert_eq!(rows(&focused).iter().map(|row| row.0.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(focused.boxes.iter().all(|it| it.start == 0.0 && it.weight <= 8.0));
    }

    #[test]
    fn thin_frames_are_one_box_and_deep_ones_end() {
        let mut tree = Tree::new();
        let top = tree.child(ROOT, 0_u32);
        tree.add(top, 1e6);
        for number in 1..=5_000 {
            let node = tree.child(top, number);
            tree.add(node, 1.0);
        }
        let flame = tree.flame(Unit::Count, |number| number.to_string());
        assert_eq!(flame.boxes.len(), 2);
        assert_eq!((flame.boxes[1].name.as_str(), flame.boxes[1].weight), ("5,000 smaller frames", 5_000.0));
        let mut deep = Tree::new();
        let node = (0..100_000_u32).fold(ROOT, |node, number| deep.child(node, number));
        deep.add(node, 1.0);
        assert_eq!(deep.flame(Unit::Count, |number| number.to_string()).boxes.len(), MAX_DEPTH as usize);
    }
}
