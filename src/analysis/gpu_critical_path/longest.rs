//! Longest path of a graph: one pass in topological order, linear in the number of edges.

use super::graph::{Edge, Graph, Node};
use crate::base::sort;
use std::collections::VecDeque;

/// The edges of a path, in order.
#[derive(Clone, Default, Debug)]
pub struct Longest {
    /// Indices into [`Graph::edges`].
    pub edges: Vec<u32>,
    /// Sum of their weights, in nanoseconds.
    pub length: i64,
    /// Edges left out because they close a cycle.
    pub n_circular: u64,
}

/// Start of a path: no incoming edge.
const NO_EDGE: u32 = u32::MAX;

struct Search<'a> {
    graph: &'a Graph,
    /// Edges by source node: those of node `n` are `order[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    order: Vec<u32>,
    /// Number of unvisited edges into each node.
    n_open: Vec<u32>,
    is_queued: Vec<bool>,
    n_queued: usize,
    /// Nodes to be visited. The longest path to each is known.
    queue: VecDeque<Node>,
    /// Length of the longest path to each node, and its last edge.
    length: Vec<i64>,
    via: Vec<u32>,
    /// Of the nodes visited, the first with the longest path.
    end: Option<Node>,
    n_circular: u64,
}

/// The longest path. Ties are broken as in NetworkX, which HTA uses, so both paths are equal edge by edge: the edge added first
/// wins, and the end reached first.
pub fn longest(graph: &Graph) -> Longest {
    let mut search = Search::new(graph);
    search.start();
    search.run();
    search.result()
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph) -> Search<'a> {
        let n = graph.n_nodes();
        let mut first = vec![0u32; n + 1];
        let mut n_open = vec![0u32; n];
        for edge in &graph.edges {
            first[edge.from as usize + 1] += 1;
            n_open[edge.to as usize] += 1;
        }
        for i in 0..n {
            first[i + 1] += first[i];
        }
        // Counts up from where the edges of each node start to where those of the next one do, and is moved back.
        let mut order = vec![0u32; graph.edges.len()];
        for (i, edge) in graph.edges.iter().enumerate() {
            let place = &mut first[edge.from as usize];
            order[*place as usize] = i as u32;
            *place += 1;
        }
        first.rotate_right(1);
        first[0] = 0;
        Search {
            graph,
            first,
            order,
            n_open,
            is_queued: vec![false; n],
            n_queued: 0,
            queue: VecDeque::new(),
            length: vec![0; n],
            via: vec![NO_EDGE; n],
            end: None,
            n_circular: 0,
        }
    }

    fn push(&mut self, node: Node) {
        if !std::mem::replace(&mut self.is_queued[node as usize], true) {
            self.n_queued += 1;
            self.queue.push_back(node);
        }
    }

    /// Queues all nodes without incoming edges, in the order in which edges name them.
    fn start(&mut self) {
        let graph = self.graph;
        for edge in &graph.edges {
            for node in [edge.from, edge.to] {
                if self.n_open[node as usize] == 0 {
                    self.push(node);
                }
            }
        }
    }

    fn run(&mut self) {
        // Nodes remain after the queue runs empty only if there are cycles; they are taken in order of time.
        let mut rest: Option<std::vec::IntoIter<Node>> = None;
        loop {
            while let Some(node) = self.queue.pop_front() {
                self.walk(node);
            }
            if self.n_queued == self.graph.n_nodes() {
                return;
            }
            let rest = rest.get_or_insert_with(|| self.nodes_left().into_iter());
            match rest.find(|node| !self.is_queued[*node as usize]) {
                Some(node) => self.push(node),
                None => return,
            }
        }
    }

    fn nodes_left(&self) -> Vec<Node> {
        let all = 0..self.graph.n_nodes() as Node;
        let mut left: Vec<Node> = all.filter(|node| !self.is_queued[*node as usize]).collect();
        sort::rows(&mut left, |a, b| (self.graph.time(a), a).cmp(&(self.graph.time(b), b)));
        left
    }

    fn walk(&mut self, node: Node) {
        if self.end.is_none_or(|end| self.length[node as usize] > self.length[end as usize]) {
            self.end = Some(node);
        }
        let (from, to) = (self.first[node as usize], self.first[node as usize + 1]);
        for place in from..to {
            let number = self.order[place as usize];
            let edge: &Edge = &self.graph.edges[number as usize];
            let next = edge.to as usize;
            if self.is_queued[next] {
                self.n_circular += 1;
                continue;
            }
            let length = self.length[node as usize].saturating_add(self.graph.weight(edge));
            // A path of negative length is worse than starting a new one here.
            let is_better = length > self.length[next]
                || (length == self.length[next] && (self.via[next] == NO_EDGE || number < self.via[next]));
            if length >= 0 && is_better {
                self.length[next] = length;
                self.via[next] = number;
            }
            self.n_open[next] -= 1;
            if self.n_open[next] == 0 {
                self.push(edge.to);
            }
        }
    }

    fn result(self) -> Longest {
        let mut longest = Longest { n_circular: self.n_circular, ..Longest::default() };
        let Some(mut node) = self.end else { return longest };
        longest.length = self.length[node as usize];
        while self.via[node as usize] != NO_EDGE {
            let edge = self.via[node as usize];
            longest.edges.push(edge);
            node = self.graph.edges[edge as usize].from;
        }
        longest.edges.reverse();
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::{EdgeKind, Event};
    use super::*;

    /// A graph of events at random times with edges between random nodes; acyclic if `is_forward`.
    fn graph(seed: u64, is_forward: bool) -> Graph {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |n: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % n
        };
        let mut graph = Graph::default();
        for slice in 0..2 + below(8) as u32 {
            let start = below(20) as i64;
            graph.events.push(Event { slice, start, end: start + below(9) as i64 });
        }
        graph.n_cpu = graph.events.len();
        let n = graph.n_nodes() as u64;
        for _ in 0..below(4 * n) {
            let (mut from, mut to) = (below(n) as Node, below(n) as Node);
            let key = |node: Node| (graph.time(node), node);
            if is_forward && key(from) > key(to) {
                (from, to) = (to, from);
            }
            let kind = [EdgeKind::Inside, EdgeKind::Dependency, EdgeKind::Launch][below(3) as usize];
            if from != to {
                graph.connect(from, to, kind, from / 2);
            }
        }
        graph
    }

    /// Reference implementation: relaxes all edges repeatedly.
    fn plain(graph: &Graph) -> i64 {
        let mut length = vec![0; graph.n_nodes()];
        for _ in 0..graph.n_nodes() {
            for edge in &graph.edges {
                let by = length[edge.from as usize] + graph.weight(edge);
                length[edge.to as usize] = by.max(length[edge.to as usize]);
            }
        }
        length.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn it_is_the_longest() {
        for seed in 1..2000 {
            let graph = graph(seed, true);
            let longest = longest(&graph);
            assert_eq!((longest.length, longest.n_circular), (plain(&graph), 0), "{seed}");
            let edges: Vec<&Edge> = longest.edges.iter().map(|edge| &graph.edges[*edge as usize]).collect();
            assert_eq!(edges.iter().map(|edge| graph.weight(edge)).sum::<i64>(), longest.length);
            assert!(edges.windows(2).all(|pair| pair[0].to == pair[1].from));
        }
    }

    #[test]
    fn circles_end() {
        let mut n_circular = 0;
        for seed in 1..2000 {
            let graph = graph(seed, false);
            let longest = longest(&graph);
            assert!(longest.length >= 0 && longest.edges.len() < graph.n_nodes(), "{seed}");
            n_circular += longest.n_circular;
        }
        assert!(n_circular > 0);
    }
}
