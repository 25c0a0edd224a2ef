//! Which child of a node has a number: for prefix trees that grow, such as those of stacks.
//!
//! Most nodes of such trees have few children, and most look-ups are for one that is there. So the first children of a node are
//! a list, which takes less memory than a hash map, is faster, and never moves; further children are in a map.

use super::hash::HashMap;

/// No node; as a parent, that of the roots.
pub const NONE: u32 = u32::MAX;

/// Children of a node that are in its list.
const MAX_LISTED: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Link {
    key: u32,
    first_child: u32,
    next_sibling: u32,
}

const NO_LINK: Link = Link { key: NONE, first_child: NONE, next_sibling: NONE };

/// Children by node and key. Nodes are numbers, given by the owner of the tree.
#[derive(Clone, Default, Debug)]
pub struct ChildIndex {
    links: Vec<Link>,
    first_root: Option<u32>,
    more: HashMap<(u32, u32), u32>,
}

impl ChildIndex {
    /// The child of `parent` with that key; `new`, which then is that child, if there is none.
    #[inline]
    pub fn child(&mut self, parent: u32, key: u32, new: u32) -> u32 {
        let mut last = NONE;
        let mut at = match parent {
            NONE => self.first_root.unwrap_or(NONE),
            parent => self.links.get(parent as usize).map_or(NONE, |link| link.first_child),
        };
        let mut n_seen = 0;
        while at != NONE {
            let link = &self.links[at as usize];
            if link.key == key {
                return at;
            }
            n_seen += 1;
            (last, at) = (at, link.next_sibling);
        }
        if n_seen == MAX_LISTED {
            return *self.more.entry((parent, key)).or_insert(new);
        }
        let n_links = (new as usize + 1).max(if parent == NONE { 0 } else { parent as usize + 1 });
        if self.links.len() < n_links {
            self.links.resize(n_links, NO_LINK);
        }
        self.links[new as usize].key = key;
        match (last, parent) {
            (NONE, NONE) => self.first_root = Some(new),
            (NONE, parent) => self.links[parent as usize].first_child = new,
            (last, _) => self.links[last as usize].next_sibling = new,
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_children_are_found() {
        let (mut index, mut plain) = (ChildIndex::default(), HashMap::default());
        let mut n_nodes = 0;
        for step in 0..40_000u32 {
            // Some nodes have many children, most have few, and some numbers are those of other trees.
            let scattered = step.wrapping_mul(0x9e37_79b9) >> 12;
            let parent = match scattered % 5 {
                0 => NONE,
                1 => scattered % 7,
                _ => scattered % (n_nodes + 1),
            };
            let parent = if parent >= n_nodes { NONE } else { parent };
            let key = (scattered >> 5) % 90;
            let wanted = *plain.entry((parent, key)).or_insert(n_nodes);
            assert_eq!(index.child(parent, key, n_nodes), wanted, "{parent} {key}");
            n_nodes += u32::from(wanted == n_nodes) + u32::from(step % 100 == 0);
        }
        assert!(!index.more.is_empty() && n_nodes > 1_000);
    }
}
