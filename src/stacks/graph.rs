//! Stacks with weights as plain data, apart from the trace they are from: what flame graphs are made of.

use super::tree::{self, Place};
use crate::base::children::ChildIndex;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::Unit;
use serde::{Deserialize, Serialize};

/// What kind of code a frame is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum FrameClass {
    /// A process or a thread around all of its frames.
    Place,
    /// A phase of serving, such as decode.
    Phase,
    /// A user annotation.
    Annotation,
    Python,
    /// A module of a model.
    Module,
    /// An operator of a framework.
    Operator,
    /// A call of the GPU's runtime or driver.
    Call,
    /// A kernel, copy or fill.
    Gpu,
    /// Time in which the GPU had nothing to run.
    Idle,
    JavaScript,
    Native,
    /// Code of the operating system's kernel.
    Kernel,
    /// The collector of garbage.
    Gc,
    Other,
}

impl FrameClass {
    /// All classes, from the outermost.
    pub const ALL: [FrameClass; 14] = [
        FrameClass::Place,
        FrameClass::Phase,
        FrameClass::Annotation,
        FrameClass::Python,
        FrameClass::Module,
        FrameClass::Operator,
        FrameClass::Call,
        FrameClass::Gpu,
        FrameClass::Idle,
        FrameClass::JavaScript,
        FrameClass::Native,
        FrameClass::Kernel,
        FrameClass::Gc,
        FrameClass::Other,
    ];

    /// Its name in lists.
    pub fn name(self) -> &'static str {
        match self {
            FrameClass::Place => "process or thread",
            FrameClass::Phase => "phase",
            FrameClass::Annotation => "annotation",
            FrameClass::Python => "Python",
            FrameClass::Module => "nn.Module",
            FrameClass::Operator => "operator",
            FrameClass::Call => "runtime call",
            FrameClass::Gpu => "GPU kernel or copy",
            FrameClass::Idle => "idle",
            FrameClass::JavaScript => "JavaScript",
            FrameClass::Native => "native",
            FrameClass::Kernel => "OS kernel",
            FrameClass::Gc => "garbage collection",
            FrameClass::Other => "other",
        }
    }
}

/// No text, no line.
pub const NO_TEXT: u32 = u32::MAX;
pub const NO_LINE: i64 = i64::MIN;

/// A code location; texts are numbers in [`StackGraph::texts`], or [`NO_TEXT`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct GraphFrame {
    pub name: u32,
    pub file: u32,
    pub module: u32,
    /// From 1; [`NO_LINE`] if not known.
    pub line: i64,
    pub class: FrameClass,
}

/// Node of a [`StackGraph`]; [`ROOT`] is around all.
pub type NodeId = u32;
pub const ROOT: NodeId = u32::MAX;

/// Weight of the stacks that end in a node, on one thread.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Own {
    pub node: NodeId,
    /// Index into [`StackGraph::threads`].
    pub thread: u32,
    /// Of B in a difference. Negative where frees and differences outweigh the rest.
    pub weight: f64,
    /// Of A in a difference, else 0.
    pub before: f64,
}

/// Stacks and their weights. Nodes are in depth-first order; siblings have different frames.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StackGraph {
    pub title: String,
    /// How to read it.
    pub caption: String,
    pub unit: Unit,
    /// What a file calls its unit, where it is no [`StackGraph::unit`]: `kilobytes`; else empty.
    pub other_unit: String,
    /// Threads, or what else divides the weights; empty if nothing does.
    pub threads: Vec<String>,
    pub texts: Vec<String>,
    pub frames: Vec<GraphFrame>,
    pub node_frame: Vec<u32>,
    pub parent: Vec<NodeId>,
    /// In order of node, then of thread.
    pub own: Vec<Own>,
    /// Each sample in order of time: node, thread, weight. Empty if there are no times, or too many samples.
    pub order: Vec<(NodeId, u32, f64)>,
    /// `own` has weights of two sides.
    pub is_difference: bool,
    /// Steps of the trace, of A and of B; 0 if none are known.
    pub n_steps: (u64, u64),
    /// Seconds that were recorded, of A and of B, summed over files; 0 if unknown, or if weights do not grow with time.
    pub seconds: (f64, f64),
}

/// Samples beyond which their order is not kept.
pub const MAX_ORDERED: usize = 5_000_000;

impl StackGraph {
    pub fn is_empty(&self) -> bool {
        self.own.iter().all(|own| own.weight <= 0.0 && own.before <= 0.0)
    }

    /// Text of a number; empty for [`NO_TEXT`].
    pub fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", String::as_str)
    }

    /// Weight of all stacks.
    pub fn total(&self) -> f64 {
        self.own.iter().map(|own| own.weight).sum()
    }

    /// Classes of its frames, from the outermost.
    pub fn classes(&self) -> Vec<FrameClass> {
        let is_there = |class: &FrameClass| self.frames.iter().any(|frame| frame.class == *class);
        FrameClass::ALL.into_iter().filter(is_there).collect()
    }

    /// Whether the numbers of nodes, frames and texts are all there; it may come from another worker.
    pub fn is_sound(&self) -> bool {
        let has_text = |number: u32| number == NO_TEXT || (number as usize) < self.texts.len();
        let n_nodes = self.node_frame.len();
        self.parent.len() == n_nodes
            && self.parent.iter().zip(0..).all(|(parent, node)| *parent == ROOT || *parent < node)
            && self.node_frame.iter().all(|frame| (*frame as usize) < self.frames.len())
            && self.frames.iter().all(|it| [it.name, it.file, it.module].into_iter().all(has_text))
            && self.own.iter().all(|own| own.node == ROOT || (own.node as usize) < n_nodes)
            && self.order.iter().all(|(node, _, _)| *node == ROOT || (*node as usize) < n_nodes)
    }

    /// A as it was and B as it is, in one graph: frames are the same if name, file, module, line and class are.
    pub fn difference(a: &StackGraph, b: &StackGraph) -> StackGraph {
        let graph = StackGraph::joined(b, &[(a, true), (b, false)]);
        StackGraph {
            is_difference: true,
            n_steps: (a.n_steps.0, b.n_steps.0),
            seconds: (a.seconds.0, b.seconds.0),
            ..graph
        }
    }

    /// Graphs of several files as one. `None` without any.
    pub fn sum(graphs: &[&StackGraph]) -> Option<StackGraph> {
        let parts: Vec<(&StackGraph, bool)> = graphs.iter().map(|graph| (*graph, false)).collect();
        let graph = StackGraph::joined(graphs.first()?, &parts);
        let n_steps = graphs.iter().map(|graph| graph.n_steps.0).sum();
        // Unknown for one is unknown for all.
        let are_known = graphs.iter().all(|graph| graph.seconds.0 > 0.0);
        let seconds = if are_known { graphs.iter().map(|graph| graph.seconds.0).sum() } else { 0.0 };
        Some(StackGraph { n_steps: (n_steps, n_steps), seconds: (seconds, seconds), ..graph })
    }

    /// Weights of several graphs in one, each as those before or not.
    fn joined(like: &StackGraph, parts: &[(&StackGraph, bool)]) -> StackGraph {
        let mut builder = GraphBuilder::new(&like.title, &like.caption, like.unit);
        for (graph, is_before) in parts {
            let threads: Vec<u32> = graph.threads.iter().map(|name| builder.thread(name)).collect();
            let text = |builder: &mut GraphBuilder, number| match number {
                NO_TEXT => NO_TEXT,
                number => builder.text(graph.text(number)),
            };
            let frames: Vec<u32> = graph
                .frames
                .iter()
                .map(|frame| {
                    let (name, file) = (text(&mut builder, frame.name), text(&mut builder, frame.file));
                    let module = text(&mut builder, frame.module);
                    builder.frame(GraphFrame { name, file, module, ..*frame })
                })
                .collect();
            let mut nodes: Vec<NodeId> = Vec::with_capacity(graph.node_frame.len());
            for (frame, parent) in graph.node_frame.iter().zip(&graph.parent) {
                let parent = if *parent == ROOT { ROOT } else { nodes[*parent as usize] };
                nodes.push(builder.child(parent, frames[*frame as usize]));
            }
            for own in &graph.own {
                let node = if own.node == ROOT { ROOT } else { nodes[own.node as usize] };
                let thread = threads.get(own.thread as usize).copied().unwrap_or(0);
                let lanes = if *is_before { (0.0, own.weight) } else { (own.weight, 0.0) };
                builder.add_lanes(node, thread, lanes);
            }
        }
        builder.finish()
    }

    /// The graph without nodes of less than a share of the weight, whose weights their callers keep below a frame that says so;
    /// for a limit on its size. Times are dropped.
    pub fn reduced(&self, max_nodes: usize) -> StackGraph {
        let mut out = StackGraph { order: Vec::new(), ..self.clone() };
        if self.node_frame.len() <= max_nodes {
            return out;
        }
        let n_nodes = self.node_frame.len();
        let mut totals = vec![0.0; n_nodes];
        for own in self.own.iter().filter(|own| own.node != ROOT) {
            totals[own.node as usize] += own.weight;
        }
        for node in (0..n_nodes).rev() {
            if self.parent[node] != ROOT {
                totals[self.parent[node] as usize] += totals[node];
            }
        }
        let mut ranked: Vec<u32> = (0..n_nodes as u32).collect();
        // Callers are as heavy as what they call, and come first.
        sort::rows(&mut ranked, |a, b| totals[b as usize].total_cmp(&totals[a as usize]).then(a.cmp(&b)));
        let mut is_kept = vec![false; n_nodes];
        ranked[..max_nodes].iter().for_each(|node| is_kept[*node as usize] = true);
        let mut builder = GraphBuilder::new(&self.title, &self.caption, self.unit);
        builder.graph.threads = std::mem::take(&mut out.threads);
        builder.graph.texts = std::mem::take(&mut out.texts);
        builder.graph.frames = std::mem::take(&mut out.frames);
        let rest = builder.named(SMALLER, FrameClass::Other);
        let mut nodes: Vec<NodeId> = Vec::with_capacity(n_nodes);
        for node in 0..n_nodes {
            let parent = if self.parent[node] == ROOT { ROOT } else { nodes[self.parent[node] as usize] };
            let is_below_rest =
                parent != ROOT && builder.graph.node_frame[parent as usize] == rest && !is_kept[node];
            nodes.push(match is_kept[node] {
                true => builder.child(parent, self.node_frame[node]),
                false if is_below_rest => parent,
                false => builder.child(parent, rest),
            });
        }
        for own in &self.own {
            let node = if own.node == ROOT { ROOT } else { nodes[own.node as usize] };
            builder.add_lanes(node, own.thread, (own.weight, own.before));
        }
        builder.graph.is_difference = self.is_difference;
        builder.graph.n_steps = self.n_steps;
        builder.graph.seconds = self.seconds;
        builder.finish()
    }
}

/// Name of a frame that stands for nodes that were dropped.
const SMALLER: &str = "(smaller frames)";

/// Makes a [`StackGraph`].
pub struct GraphBuilder {
    graph: StackGraph,
    texts: HashMap<String, u32>,
    threads: HashMap<String, u32>,
    frames: HashMap<GraphFrame, u32>,
    children: ChildIndex,
    /// By node, for the first thread that ends in it; others are in `more`.
    first: Vec<Own>,
    more: HashMap<(NodeId, u32), (f64, f64)>,
}

impl GraphBuilder {
    pub fn new(title: &str, caption: &str, unit: Unit) -> GraphBuilder {
        let graph = StackGraph {
            title: title.to_string(),
            caption: caption.to_string(),
            unit,
            other_unit: String::new(),
            threads: Vec::new(),
            texts: Vec::new(),
            frames: Vec::new(),
            node_frame: Vec::new(),
            parent: Vec::new(),
            own: Vec::new(),
            order: Vec::new(),
            is_difference: false,
            n_steps: (0, 0),
            seconds: (0.0, 0.0),
        };
        GraphBuilder {
            graph,
            texts: HashMap::default(),
            threads: HashMap::default(),
            frames: HashMap::default(),
            children: ChildIndex::default(),
            first: Vec::new(),
            more: HashMap::default(),
        }
    }

    /// Number of steps that the weights are of.
    pub fn set_steps(&mut self, n_steps: u64) {
        self.graph.n_steps = (n_steps, n_steps);
    }

    /// Sets [`StackGraph::other_unit`].
    pub fn set_other_unit(&mut self, unit: &str) {
        self.graph.other_unit = unit.to_string();
    }

    pub fn text(&mut self, text: &str) -> u32 {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let number = self.graph.texts.len() as u32;
        self.graph.texts.push(text.to_string());
        self.texts.insert(text.to_string(), number);
        number
    }

    /// Number of a thread with that label.
    pub fn thread(&mut self, label: &str) -> u32 {
        if let Some(known) = self.threads.get(label) {
            return *known;
        }
        let number = self.graph.threads.len() as u32;
        self.graph.threads.push(label.to_string());
        self.threads.insert(label.to_string(), number);
        number
    }

    pub fn frame(&mut self, frame: GraphFrame) -> u32 {
        let next = self.graph.frames.len() as u32;
        let number = *self.frames.entry(frame).or_insert(next);
        if number == next {
            self.graph.frames.push(frame);
        }
        number
    }

    /// A frame that has only a name.
    pub fn named(&mut self, name: &str, class: FrameClass) -> u32 {
        let name = self.text(name);
        self.frame(GraphFrame { name, file: NO_TEXT, module: NO_TEXT, line: NO_LINE, class })
    }

    /// The node of a frame below another node.
    pub fn child(&mut self, parent: NodeId, frame: u32) -> NodeId {
        let next = self.graph.node_frame.len() as NodeId;
        let node = self.children.child(parent, frame, next);
        if node == next { self.add_node(parent, frame) } else { node }
    }

    /// A new node of a frame below another node, for trees that have each only once. If there is one already, the graph has
    /// both as one.
    pub fn add_node(&mut self, parent: NodeId, frame: u32) -> NodeId {
        let node = self.graph.node_frame.len() as NodeId;
        self.graph.node_frame.push(frame);
        self.graph.parent.push(parent);
        self.first.push(Own { node, thread: u32::MAX, weight: 0.0, before: 0.0 });
        node
    }

    /// Adds weight that ends in a node.
    pub fn add(&mut self, node: NodeId, thread: u32, weight: f64) {
        if weight != 0.0 && !weight.is_nan() {
            self.add_lanes(node, thread, (weight, 0.0));
        }
    }

    /// Adds a sample; samples come in order of time.
    pub fn sample(&mut self, node: NodeId, thread: u32, weight: f64) {
        self.add(node, thread, weight);
        if self.graph.order.len() <= MAX_ORDERED {
            self.graph.order.push((node, thread, weight.max(0.0)));
        }
    }

    fn add_lanes(&mut self, node: NodeId, thread: u32, (weight, before): (f64, f64)) {
        let own = match self.first.get_mut(node as usize) {
            Some(own) if own.thread == thread || own.thread == u32::MAX => {
                own.thread = thread;
                (&mut own.weight, &mut own.before)
            }
            _ => {
                let own = self.more.entry((node, thread)).or_default();
                (&mut own.0, &mut own.1)
            }
        };
        *own.0 += weight;
        *own.1 += before;
    }

    pub fn finish(mut self) -> StackGraph {
        drop(self.children);
        let graph = &mut self.graph;
        let n_frames = graph.frames.len();
        let tree = tree::ordered(&graph.parent, &graph.node_frame, n_frames).unwrap_or_else(|| {
            let child = |node: NodeId, _| Place::Child { label: graph.node_frame[node as usize] };
            tree::merge(&graph.parent, n_frames, child)
        });
        let place = |node: NodeId| if node == ROOT { ROOT } else { tree.node_of[node as usize] };
        let own =
            tree.sources.iter().map(|node| self.first[*node as usize]).filter(|own| own.thread != u32::MAX);
        let mut own: Vec<Own> = own.map(|own| Own { node: place(own.node), ..own }).collect();
        let mut more: Vec<_> = self.more.into_iter().collect();
        sort::by_key(&mut more, |(key, _)| *key);
        own.extend(more.into_iter().map(|((node, thread), (weight, before))| Own {
            node: place(node),
            thread,
            weight,
            before,
        }));
        // Mostly in order already.
        own.sort_by_key(|own| (own.node, own.thread));
        own.dedup_by(|next, own| {
            let is_same = (next.node, next.thread) == (own.node, own.thread);
            if is_same {
                own.weight += next.weight;
                own.before += next.before;
            }
            is_same
        });
        // Too many to keep: none, rather than those at the start.
        if graph.order.len() > MAX_ORDERED {
            graph.order = Vec::new();
        }
        graph.order.iter_mut().for_each(|(node, _, _)| *node = place(*node));
        graph.own = own;
        (graph.node_frame, graph.parent) = (tree.label, tree.parent);
        self.graph
    }
}
