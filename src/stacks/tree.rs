//! Merging a tree of stacks into one without hashing: its nodes come in depth-first order, so whatever goes through them touches
//! memory in order.
//!
//! ```text
//! source: 0 a   1 b below a   2 a   3 c below 2      merged: 0 a   1 b below 0   2 c below 0
//! ```

use super::graph::{NodeId, ROOT};
use std::cmp::Reverse;

/// In place of a merged node: the stacks through it are left out.
pub const IGNORED: NodeId = u32::MAX - 1;

/// Where a node of the source goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A child of the node around it.
    Child { label: u32 },
    /// Into the node around it.
    Around,
    /// Nowhere, and neither do the nodes below it.
    Nowhere,
}

/// A merged tree. Siblings have different labels, and are in the order in which the source has the first node of each.
#[derive(Default, PartialEq, Debug)]
pub struct Tree {
    pub label: Vec<u32>,
    pub parent: Vec<NodeId>,
    /// By node of the source: its merged node, [`ROOT`], or [`IGNORED`].
    pub node_of: Vec<NodeId>,
    /// Nodes of the source that became children, in order of the merged ones.
    pub sources: Vec<NodeId>,
}

/// Nodes that will be one, as a list through `next_member`.
struct Waiting {
    parent: NodeId,
    label: u32,
    first: NodeId,
    last: NodeId,
    least: NodeId,
}

/// Merges the tree of `parents`, in which parents come before their children. Labels are below `n_labels`; `place` says where a
/// node goes, given the label of the merged node around it, `None` at the root.
pub fn merge(parents: &[NodeId], n_labels: usize, place: impl Fn(NodeId, Option<u32>) -> Place) -> Tree {
    let n_nodes = parents.len();
    let (mut first_child, mut next_sibling) = (vec![ROOT; n_nodes], vec![ROOT; n_nodes]);
    let mut first_root = ROOT;
    for (node, parent) in (0..n_nodes as NodeId).zip(parents).rev() {
        let first = if *parent == ROOT { &mut first_root } else { &mut first_child[*parent as usize] };
        next_sibling[node as usize] = std::mem::replace(first, node);
    }
    let mut tree = Tree {
        label: Vec::with_capacity(n_nodes),
        parent: Vec::with_capacity(n_nodes),
        node_of: vec![IGNORED; n_nodes],
        sources: Vec::with_capacity(n_nodes),
    };
    let mut next_member = vec![ROOT; n_nodes];
    let mut waiting: Vec<Waiting> = Vec::new();
    // By label: the merged node that last had a child with it, and where that child waits.
    let mut slots: Vec<(NodeId, usize)> = vec![(IGNORED, 0); n_labels];
    let (mut around, mut around_label) = (ROOT, None);
    // Nodes in `around`, whose children are its children.
    let mut within = vec![ROOT];
    loop {
        let n_before = waiting.len();
        let mut n_done = 0;
        while let Some(node) = within.get(n_done) {
            n_done += 1;
            let mut child = if *node == ROOT { first_root } else { first_child[*node as usize] };
            while child != ROOT {
                match place(child, around_label) {
                    Place::Nowhere => {}
                    Place::Around => {
                        tree.node_of[child as usize] = around;
                        within.push(child);
                    }
                    Place::Child { label } => {
                        let slot = &mut slots[label as usize];
                        if slot.0 == around {
                            let it = &mut waiting[slot.1];
                            next_member[it.last as usize] = child;
                            it.last = child;
                            it.least = it.least.min(child);
                        } else {
                            *slot = (around, waiting.len());
                            let (first, last, least) = (child, child, child);
                            waiting.push(Waiting { parent: around, label, first, last, least });
                        }
                    }
                }
                child = next_sibling[child as usize];
            }
        }
        // The first one is taken from the end.
        match within.len() {
            1 => waiting[n_before..].reverse(),
            _ => waiting[n_before..].sort_unstable_by_key(|it| Reverse(it.least)),
        }
        let Some(next) = waiting.pop() else { return tree };
        (around, around_label) = (tree.label.len() as NodeId, Some(next.label));
        tree.label.push(next.label);
        tree.parent.push(next.parent);
        within.clear();
        let mut member = next.first;
        while member != ROOT {
            tree.node_of[member as usize] = around;
            tree.sources.push(member);
            within.push(member);
            member = next_member[member as usize];
        }
    }
}

/// A tree of `parents`, in which parents come before their children, as [`merge`] makes it of children alone; `None` if siblings
/// have the same label. Nearly as fast as its memory: most profiles have each stack once, and this is all there is to do.
pub fn ordered(parents: &[NodeId], labels: &[u32], n_labels: usize) -> Option<Tree> {
    let n_nodes = parents.len();
    let mut size: Vec<NodeId> = vec![1; n_nodes];
    for (node, parent) in parents.iter().enumerate().rev() {
        if *parent != ROOT {
            size[*parent as usize] += size[node];
        }
    }
    // By node of the source: where its next child goes.
    let mut next: Vec<NodeId> = Vec::with_capacity(n_nodes);
    let mut next_root = 0;
    let mut node_of: Vec<NodeId> = Vec::with_capacity(n_nodes);
    for (parent, size) in parents.iter().zip(&size) {
        let place = if *parent == ROOT { &mut next_root } else { &mut next[*parent as usize] };
        let node = *place;
        *place += size;
        node_of.push(node);
        next.push(node + 1);
    }
    let mut tree =
        Tree { label: vec![0; n_nodes], parent: vec![ROOT; n_nodes], node_of, sources: vec![ROOT; n_nodes] };
    // By node of the tree: the one after all that are below it, in the memory of `next`.
    let mut end = next;
    for (source, node) in (0..).zip(&tree.node_of) {
        let (from, node) = (source as usize, *node as usize);
        tree.label[node] = labels[from];
        tree.sources[node] = source;
        end[node] = node as NodeId + size[from];
        if parents[from] != ROOT {
            tree.parent[node] = tree.node_of[parents[from] as usize];
        }
    }
    // By label: the node that last had a child with it.
    let mut slots: Vec<NodeId> = vec![IGNORED; n_labels];
    let mut are_different = |parent: NodeId, mut child: NodeId, end_of_all: NodeId| {
        while child < end_of_all {
            let slot = &mut slots[tree.label[child as usize] as usize];
            if std::mem::replace(slot, parent) == parent {
                return false;
            }
            child = end[child as usize];
        }
        true
    };
    let n_nodes = n_nodes as NodeId;
    let is_tree = are_different(ROOT, 0, n_nodes)
        && (0..n_nodes).all(|node| are_different(node, node + 1, end[node as usize]));
    is_tree.then_some(tree)
}

/// For each node of a tree in depth-first order, the node after all that are below it.
pub fn ends(parents: &[NodeId]) -> Vec<NodeId> {
    let mut ends: Vec<NodeId> = (1..=parents.len() as NodeId).collect();
    for node in (0..parents.len()).rev() {
        if parents[node] != ROOT {
            let around = parents[node] as usize;
            ends[around] = ends[around].max(ends[node]);
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hash::HashMap;

    /// The plain way: nodes in the order of the source.
    fn plain(
        parents: &[NodeId],
        place: impl Fn(NodeId, Option<u32>) -> Place,
    ) -> (Vec<u32>, Vec<NodeId>, Vec<NodeId>) {
        let (mut labels, mut merged_parents, mut node_of) = (Vec::new(), Vec::new(), Vec::new());
        let mut children: HashMap<(NodeId, u32), NodeId> = HashMap::default();
        for (node, parent) in (0..).zip(parents) {
            let around = if *parent == ROOT { ROOT } else { node_of[*parent as usize] };
            if around == IGNORED {
                node_of.push(IGNORED);
                continue;
            }
            node_of.push(match place(node, labels.get(around as usize).copied()) {
                Place::Nowhere => IGNORED,
                Place::Around => around,
                Place::Child { label } => *children.entry((around, label)).or_insert_with(|| {
                    labels.push(label);
                    merged_parents.push(around);
                    labels.len() as NodeId - 1
                }),
            });
        }
        (labels, merged_parents, node_of)
    }

    /// The labels from the root to a node.
    fn path(labels: &[u32], parents: &[NodeId], mut node: NodeId) -> Vec<u32> {
        let mut path = Vec::new();
        while node < IGNORED {
            path.push(labels[node as usize]);
            node = parents[node as usize];
        }
        path.push(node);
        path
    }

    #[test]
    fn trees_merge_as_in_the_plain_way() {
        let mut seed = 7u32;
        let mut next = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        };
        for n_nodes in (0..300).chain([5_000]) {
            let (n_labels, n_hidden) = (1 + next(12), next(3));
            let parents: Vec<NodeId> =
                (0..n_nodes).map(|node| if node == 0 || next(9) == 0 { ROOT } else { next(node) }).collect();
            let of_node: Vec<u32> = parents.iter().map(|_| next(n_labels)).collect();
            let fates: Vec<u32> = parents.iter().map(|_| next(20)).collect();
            let place = |node: NodeId, around: Option<u32>| {
                let label = of_node[node as usize];
                match fates[node as usize] {
                    0 if n_hidden > 0 => Place::Nowhere,
                    1..4 if n_hidden > 1 => Place::Around,
                    _ if n_hidden > 1 && around == Some(label) => Place::Around,
                    _ => Place::Child { label },
                }
            };
            let tree = merge(&parents, n_labels as usize, place);
            let (labels, merged_parents, node_of) = plain(&parents, place);
            assert_eq!(tree.label.len(), labels.len());
            for (a, b) in tree.node_of.iter().zip(&node_of) {
                assert_eq!(path(&tree.label, &tree.parent, *a), path(&labels, &merged_parents, *b));
            }
            // In depth-first order, and siblings in that of the source.
            let ends = ends(&tree.parent);
            let mut open: Vec<NodeId> = Vec::new();
            for (node, parent) in (0..).zip(&tree.parent) {
                while open.last().is_some_and(|last| last != parent) {
                    assert_eq!(open.pop().map(|closed| ends[closed as usize]), Some(node));
                }
                assert_eq!(open.last().copied().unwrap_or(ROOT), *parent);
                open.push(node);
            }
            let least = |node: usize| node_of.iter().position(|of| *of == node as NodeId);
            assert!((1..labels.len()).all(|node| least(node - 1) < least(node)));
            assert!(tree.sources.is_sorted_by_key(|source| tree.node_of[*source as usize]));
            // Without siblings of one label, the short way makes the same tree.
            let all_children = |node: NodeId, _| Place::Child { label: of_node[node as usize] };
            let merged = merge(&parents, n_labels as usize, all_children);
            let is_merged = merged.label.len() < parents.len();
            assert_eq!(ordered(&parents, &of_node, n_labels as usize).is_none(), is_merged);
            let own: Vec<u32> = (0..n_nodes).collect();
            let short = ordered(&parents, &own, n_nodes as usize);
            let long = merge(&parents, n_nodes as usize, |node, _| Place::Child { label: node });
            assert_eq!(short, Some(long));
        }
    }
}
