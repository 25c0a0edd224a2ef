//! Recursion in a tree: which nodes are the outermost of their kind.

/// What [`outermost`] takes as the parent of a root.
const NONE: u32 = u32::MAX;

/// For each of `n_nodes` nodes, whether no node around it has the same number, of `n_numbers`. Parents come before their children;
/// that of a root is `u32::MAX`.
pub fn outermost(
    n_nodes: usize,
    parent_of: impl Fn(usize) -> u32,
    number_of: impl Fn(usize) -> u32,
    n_numbers: usize,
) -> Vec<bool> {
    let (mut first_child, mut next_sibling) = (vec![NONE; n_nodes], vec![NONE; n_nodes]);
    let mut first_root = NONE;
    for node in (0..n_nodes).rev() {
        let first = match parent_of(node) {
            NONE => &mut first_root,
            parent => &mut first_child[parent as usize],
        };
        next_sibling[node] = std::mem::replace(first, node as u32);
    }
    // How often each number is on the path to the current node.
    let mut n_on_path = vec![0u32; n_numbers];
    let mut is_outermost = vec![false; n_nodes];
    let mut node = first_root;
    let mut path: Vec<u32> = Vec::new();
    while node != NONE || !path.is_empty() {
        if node == NONE {
            let Some(done) = path.pop() else { break };
            n_on_path[number_of(done as usize) as usize] -= 1;
            node = next_sibling[done as usize];
            continue;
        }
        let count = &mut n_on_path[number_of(node as usize) as usize];
        is_outermost[node as usize] = *count == 0;
        *count += 1;
        path.push(node);
        node = first_child[node as usize];
    }
    is_outermost
}
