//! Trees of callers or callees as far as they can be seen: what is thin is counted, and not divided further.
//!
//! A tree of all callers may have as many nodes as all stacks have frames, in another order for each function; a picture shows some
//! thousand of them. So nodes with little weight are only counted where they would begin.

use super::graph::{NodeId, ROOT};
use super::lanes::{LaneColumn, Lanes};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Share of what shows below which nodes are only counted; boxes are wider.
const MIN_DIVIDED: f64 = 1e-4;

/// A node of the divided stacks that goes into a node with `label`.
#[derive(Clone, Copy, Default)]
pub struct Item {
    pub label: u32,
    pub node: NodeId,
    /// The node whose weight it has.
    pub source: NodeId,
}

/// How far to divide.
pub struct Division<'a> {
    pub n_labels: usize,
    /// Nodes of more than this depth, from 0, are not divided.
    pub max_depth: u32,
    /// Labels from the root to what shows in full width. That path is divided in any case, and nothing beside it.
    pub focus: &'a [u32],
}

/// Nodes in depth-first order; siblings in order of their labels.
pub struct Divided {
    pub key: Vec<u32>,
    pub parent: Vec<NodeId>,
    /// Weight that ends in a node, or that of all of a node that is not divided.
    pub own: LaneColumn,
    /// Number and weight of the thin nodes below a node, or below the root.
    pub rest: BTreeMap<NodeId, (u64, Lanes)>,
}

/// A node to come. Its items are at the end of those of all waiting ones.
struct Waiting {
    label: u32,
    parent: NodeId,
    depth: usize,
    first_item: usize,
    within: Lanes,
    /// What is too little, once what shows is reached.
    least: Option<Lanes>,
    is_beside: bool,
}

/// Items with a label.
#[derive(Clone, Copy, Default)]
struct Slot {
    n: usize,
    sum: Lanes,
    /// Where the next one goes; `None` if they are not needed.
    next: Option<usize>,
}

impl Division<'_> {
    /// The tree with `items` right below the root. `weights` are by source; `below` gives the items below one, and adds what ends
    /// in it.
    pub fn divide(
        &self,
        weights: &LaneColumn,
        items: impl Iterator<Item = Item>,
        below: impl Fn(Item, &mut Vec<Item>, &mut Lanes),
    ) -> Divided {
        let weight = |item: &Item| weights.get(item.source as usize);
        let mut out = Divided {
            key: Vec::new(),
            parent: Vec::new(),
            own: LaneColumn::new(0, weights.is_difference()),
            rest: BTreeMap::new(),
        };
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut all: Vec<Item> = Vec::new();
        let mut children: Vec<Item> = items.collect();
        let mut slots = vec![Slot::default(); self.n_labels];
        let mut labels: Vec<u32> = Vec::new();
        let mut within = Lanes::default();
        children.iter().for_each(|item| within.add(weight(item)));
        let (mut around, mut depth) = (ROOT, 0);
        let mut least = self.least(0, within);
        loop {
            for item in &children {
                let slot = &mut slots[item.label as usize];
                if slot.n == 0 {
                    labels.push(item.label);
                }
                slot.n += 1;
                slot.sum.add(weight(item));
            }
            let mut rest = (0, Lanes::default());
            labels.retain(|label| {
                let slot = &mut slots[*label as usize];
                let is_thin = least.is_some_and(|least| !slot.sum.reaches(least));
                if is_thin {
                    rest.0 += 1;
                    rest.1.add(slot.sum);
                    *slot = Slot::default();
                }
                !is_thin
            });
            if rest.0 > 0 {
                out.rest.insert(around, rest);
            }
            // The first one is taken from the end.
            labels.sort_unstable_by_key(|label| Reverse(*label));
            for label in &labels {
                let slot = &mut slots[*label as usize];
                let is_beside = least.is_none() && self.focus[depth] != *label;
                let first_item = all.len();
                if !is_beside {
                    slot.next = Some(first_item);
                    all.resize(first_item + slot.n, Item::default());
                }
                let (label, parent, depth, within) = (*label, around, depth + 1, slot.sum);
                waiting.push(Waiting { label, parent, depth, first_item, within, least, is_beside });
            }
            for item in &children {
                if let Some(next) = &mut slots[item.label as usize].next {
                    all[*next] = *item;
                    *next += 1;
                }
            }
            labels.drain(..).for_each(|label| slots[label as usize] = Slot::default());
            children.clear();
            let Some(next) = waiting.pop() else { return out };
            around = out.key.len() as NodeId;
            out.key.push(next.label);
            out.parent.push(next.parent);
            depth = next.depth;
            least = next.least.or_else(|| self.least(depth, next.within));
            let is_whole =
                least.is_some_and(|least| depth as u32 > self.max_depth || !next.within.reaches(least));
            let mut own = Lanes::default();
            if next.is_beside || is_whole {
                own = next.within;
            } else {
                all[next.first_item..].iter().for_each(|item| below(*item, &mut children, &mut own));
            }
            all.truncate(next.first_item);
            out.own.push(own);
        }
    }

    /// What is too little below a node that shows in full width.
    fn least(&self, depth: usize, within: Lanes) -> Option<Lanes> {
        (depth == self.focus.len()).then(|| within.times(MIN_DIVIDED))
    }
}
