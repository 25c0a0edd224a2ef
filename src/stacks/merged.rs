//! Stacks merged for one view: by function, file, module, line or class, without what someone hid.

use super::graph::{FrameClass, NO_LINE, NO_TEXT, NodeId, ROOT, StackGraph};
use super::outermost::outermost;
use crate::base::hash::HashMap;
use crate::base::pattern::Pattern;
use serde::{Deserialize, Serialize};
use std::hash::Hash;

/// What makes frames one box.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum By {
    /// Name, and file or else module.
    #[default]
    Function,
    File,
    Module,
    /// A line of a function.
    Line,
    Class,
}

impl By {
    pub const ALL: [By; 5] = [By::Function, By::File, By::Module, By::Line, By::Class];
}

/// Which stacks and frames take part, and how they merge.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StackQuery {
    pub by: By,
    /// Index into [`StackGraph::threads`]; `None` for all.
    pub thread: Option<u32>,
    /// Names of frames, or of boxes, that are left out; what they call moves to their callers. See [`Pattern::new`].
    pub hidden: Vec<String>,
    /// Classes of frames that are left out in the same way.
    pub hidden_classes: Vec<FrameClass>,
    /// Stacks with such frames are left out.
    pub ignored: Vec<String>,
    /// Leave out frames of libraries: those whose file, module or name contains one of these; see [`LIBRARIES`].
    pub libraries: Vec<String>,
    /// A function that calls itself directly is one box.
    pub folds_recursion: bool,
}

/// What is in the paths of libraries: Python's own and installed packages, Node's, Rust's, and the system's.
pub const LIBRARIES: [&str; 14] = [
    "site-packages/",
    "dist-packages/",
    "lib/python3",
    "<frozen ",
    "<built-in",
    "<native>",
    "torch/",
    "node_modules/",
    "node:internal",
    ".cargo/registry/",
    "/rustc/",
    "/usr/lib/",
    "/lib/x86_64-linux-gnu/",
    "[kernel",
];

/// Name of the frame for stacks all of whose frames are left out.
const ALL_HIDDEN: &str = "(only hidden frames)";

/// A kind of box.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Label {
    pub name: String,
    /// File or module, and line; may be empty.
    pub place: String,
    pub class: FrameClass,
}

/// A weight of B, or the only one; and of A.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Lanes {
    pub weight: f64,
    pub before: f64,
    /// Sum of the changes of all nodes within, whatever their sign.
    pub change: f64,
}

impl Lanes {
    fn new(weight: f64, before: f64) -> Lanes {
        Lanes { weight, before, change: 0.0 }
    }

    pub fn add(&mut self, other: Lanes) {
        self.weight += other.weight;
        self.before += other.before;
        self.change += other.change;
    }

    /// With the change between the two as that of this node.
    fn changed(self) -> Lanes {
        Lanes { change: (self.weight - self.before).abs(), ..self }
    }

    fn times(self, factor: f64) -> Lanes {
        let Lanes { weight, before, change } = self;
        Lanes { weight: weight * factor, before: before * factor, change: change * factor }
    }

    /// Whether any of its numbers reaches that of `least`.
    fn reaches(self, least: Lanes) -> bool {
        let reaches = |own: f64, least: f64| own > 0.0 && own >= least;
        reaches(self.weight, least.weight)
            || reaches(self.before, least.before)
            || reaches(self.change, least.change)
    }

    fn is_nothing(self) -> bool {
        self.weight <= 0.0 && self.before <= 0.0
    }
}

/// Merged stacks. Parents come before their children.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    pub labels: Vec<Label>,
    /// Index into `labels`, by node.
    pub key: Vec<u32>,
    pub parent: Vec<NodeId>,
    /// Weight of the stacks that end in each node.
    pub own: Vec<Lanes>,
    children: HashMap<(NodeId, u32), NodeId>,
}

/// Share of what shows below which callers are not divided further; boxes are much wider.
const MIN_DIVIDED: f64 = 1e-5;

/// Self and total weight of one kind of box.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct LabelSum {
    pub own: Lanes,
    /// Of the stacks that it is in, each counted once.
    pub total: Lanes,
}

/// How the frames of a graph take part.
struct Rules {
    /// By frame: index into `labels`.
    label: Vec<u32>,
    is_hidden: Vec<bool>,
    is_ignored: Vec<bool>,
    labels: Vec<Label>,
    /// Neighbors with the same label are one box.
    folds: bool,
}

impl Rules {
    fn new(graph: &StackGraph, query: &StackQuery) -> Result<Rules, String> {
        let patterns =
            |texts: &[String]| texts.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<_>, _>>();
        let (hidden, ignored) = (patterns(&query.hidden)?, patterns(&query.ignored)?);
        let by_text =
            |is_it: &dyn Fn(&str) -> bool| graph.texts.iter().map(|text| is_it(text)).collect::<Vec<bool>>();
        let is_hidden_name = by_text(&|text| hidden.iter().any(|pattern| pattern.finds(text)));
        let is_ignored_name = by_text(&|text| ignored.iter().any(|pattern| pattern.finds(text)));
        let is_library_text = by_text(&|text| {
            // With both kinds of slashes.
            let text = text.replace('\\', "/");
            query.libraries.iter().any(|part| !part.is_empty() && text.contains(part.as_str()))
        });
        let has = |of: &[bool], number: u32| of.get(number as usize).copied().unwrap_or(false);
        let mut known: HashMap<Label, u32> = HashMap::default();
        // By label, whether its name is hidden, and whether it is ignored.
        let mut of_label: Vec<(bool, bool)> = Vec::new();
        let mut rules = Rules {
            label: Vec::with_capacity(graph.frames.len()),
            is_hidden: Vec::with_capacity(graph.frames.len()),
            is_ignored: Vec::with_capacity(graph.frames.len()),
            labels: Vec::new(),
            folds: query.folds_recursion || !matches!(query.by, By::Function | By::Line),
        };
        for frame in &graph.frames {
            let is_library =
                [frame.name, frame.file, frame.module].into_iter().any(|it| has(&is_library_text, it));
            let place = if frame.file == NO_TEXT { frame.module } else { frame.file };
            let (name, place, line) = match query.by {
                By::Function => (graph.text(frame.name), graph.text(place), NO_LINE),
                By::Line => (graph.text(frame.name), graph.text(place), frame.line),
                By::File if place == NO_TEXT => (graph.text(frame.name), "", NO_LINE),
                By::File => (graph.text(place), "", NO_LINE),
                By::Module if frame.module == NO_TEXT && place == NO_TEXT => {
                    (graph.text(frame.name), "", NO_LINE)
                }
                By::Module if frame.module == NO_TEXT => (graph.text(place), "", NO_LINE),
                By::Module => (graph.text(frame.module), "", NO_LINE),
                By::Class => (frame.class.name(), "", NO_LINE),
            };
            let place = if line == NO_LINE { place.to_string() } else { format!("{place}:{line}") };
            let label = Label { name: name.to_string(), place, class: frame.class };
            // Frames of one function are one box, whatever classes a profiler gives them.
            let key = Label { class: FrameClass::Other, ..label.clone() };
            let next = rules.labels.len() as u32;
            let number = *known.entry(key).or_insert(next);
            if number == next {
                let finds = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.finds(&label.name));
                of_label.push((finds(&hidden), finds(&ignored)));
                rules.labels.push(label);
            }
            let (is_label_hidden, is_label_ignored) = of_label[number as usize];
            rules.is_hidden.push(
                is_library
                    || has(&is_hidden_name, frame.name)
                    || is_label_hidden
                    || query.hidden_classes.contains(&frame.class),
            );
            rules.is_ignored.push(has(&is_ignored_name, frame.name) || is_label_ignored);
            rules.label.push(number);
        }
        Ok(rules)
    }
}

impl Merged {
    /// The stacks of a graph that take part. `scale` is what the weights of B and A are multiplied by. An error if a pattern is
    /// none.
    pub fn new(graph: &StackGraph, query: &StackQuery, scale: (f64, f64)) -> Result<Merged, String> {
        let (mut merged, node_of) = Merged::of_nodes(graph, query)?;
        for own in &graph.own {
            if query.thread.is_some_and(|thread| own.thread != thread) {
                continue;
            }
            let node = node_of.get(own.node as usize).copied().unwrap_or(Some(ROOT));
            if let Some(node) = node {
                merged.add(node, Lanes::new(own.weight * scale.0, own.before * scale.1));
            }
        }
        merged.own.iter_mut().for_each(|own| *own = own.changed());
        Ok(merged)
    }

    /// The merged nodes without weights; and by node of the graph its merged one, `None` if its stacks are ignored.
    pub fn of_nodes(graph: &StackGraph, query: &StackQuery) -> Result<(Merged, Vec<Option<NodeId>>), String> {
        let rules = Rules::new(graph, query)?;
        let mut merged = Merged { labels: rules.labels, ..Merged::default() };
        let mut node_of: Vec<Option<NodeId>> = Vec::with_capacity(graph.node_frame.len());
        for (frame, parent) in graph.node_frame.iter().zip(&graph.parent) {
            let frame = *frame as usize;
            let around = if *parent == ROOT { Some(ROOT) } else { node_of[*parent as usize] };
            node_of.push(around.filter(|_| !rules.is_ignored[frame]).map(|around| {
                let label = rules.label[frame];
                let is_same = rules.folds && merged.key.get(around as usize) == Some(&label);
                if rules.is_hidden[frame] || is_same { around } else { merged.child(around, label) }
            }));
        }
        Ok((merged, node_of))
    }

    fn child(&mut self, parent: NodeId, label: u32) -> NodeId {
        let next = self.key.len() as NodeId;
        let node = *self.children.entry((parent, label)).or_insert(next);
        if node == next {
            self.key.push(label);
            self.parent.push(parent);
            self.own.push(Lanes::default());
        }
        node
    }

    fn add(&mut self, node: NodeId, lanes: Lanes) {
        let node = match node {
            ROOT => self.all_hidden(),
            node => node,
        };
        self.own[node as usize].add(lanes);
    }

    /// The node for stacks without a frame to show.
    pub fn all_hidden(&mut self) -> NodeId {
        let known = self.labels.iter().position(|label| label.name == ALL_HIDDEN);
        let label = known.unwrap_or_else(|| {
            let (name, place) = (ALL_HIDDEN.to_string(), String::new());
            self.labels.push(Label { name, place, class: FrameClass::Other });
            self.labels.len() - 1
        });
        self.child(ROOT, label as u32)
    }

    /// Weight of all stacks.
    pub fn total(&self) -> Lanes {
        let mut total = Lanes::default();
        self.own.iter().for_each(|own| total.add(*own));
        total
    }

    /// Weight of the stacks through each node.
    pub fn totals(&self) -> Vec<Lanes> {
        let mut totals = self.own.clone();
        for node in (0..totals.len()).rev() {
            if self.parent[node] != ROOT {
                let within = totals[node];
                totals[self.parent[node] as usize].add(within);
            }
        }
        totals
    }

    /// Number of nodes around each node.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.key.len());
        for parent in &self.parent {
            depths.push(if *parent == ROOT { 0 } else { depths[*parent as usize] + 1 });
        }
        depths
    }

    /// An empty tree with the same labels.
    fn like(&self) -> Merged {
        Merged { labels: self.labels.clone(), ..Merged::default() }
    }

    /// Stacks from their ends: what ends in a box, by who called it. `focus` is the path of labels to what shows in full width;
    /// see `Merged::callers`.
    pub fn inverted(&self, max_depth: u32, focus: &[u32]) -> Merged {
        let ends = (0..).zip(&self.own).filter(|(_, own)| !own.is_nothing());
        self.callers(ends.map(|(node, own)| (node, *own)).collect(), max_depth, focus)
    }

    /// The callers of nodes with some weight each, below them; at most `max_depth` callers.
    ///
    /// A tree of all callers may have as many nodes as all stacks have frames. So what is less than a thousandth of a percent of
    /// what shows is not divided further; `focus`, the path of labels to that, is divided in any case.
    fn callers(&self, ends: Vec<(NodeId, Lanes)>, max_depth: u32, focus: &[u32]) -> Merged {
        let mut callers = self.like();
        let sum = |ends: &[(NodeId, Lanes)]| {
            let mut sum = Lanes::default();
            ends.iter().for_each(|(_, own)| sum.add(*own));
            sum
        };
        // Ends below a node, its number of labels, and what is too little; that is decided by the weight in full width.
        let mut waiting = vec![(ROOT, ends, 0usize, None)];
        while let Some((around, ends, depth, least)) = waiting.pop() {
            let within = sum(&ends);
            let least = least.or_else(|| (depth == focus.len()).then(|| within.times(MIN_DIVIDED)));
            let is_whole = least.is_some_and(|least| depth as u32 > max_depth || !within.reaches(least));
            if around != ROOT && is_whole {
                callers.own[around as usize].add(within);
                continue;
            }
            let mut by_label: Vec<(u32, NodeId, Lanes)> = Vec::with_capacity(ends.len());
            for (node, own) in ends {
                // At the start these are the ends themselves.
                match if around == ROOT { node } else { self.parent[node as usize] } {
                    ROOT => callers.own[around as usize].add(own),
                    next => by_label.push((self.key[next as usize], next, own)),
                }
            }
            by_label.sort_by_key(|(label, _, _)| *label);
            for group in by_label.chunk_by(|a, b| a.0 == b.0) {
                let label = group[0].0;
                let child = callers.child(around, label);
                let ends: Vec<(NodeId, Lanes)> = group.iter().map(|(_, node, own)| (*node, *own)).collect();
                match least.is_none() && focus[depth] != label {
                    // Beside what shows.
                    true => callers.own[child as usize].add(sum(&ends)),
                    false => waiting.push((child, ends, depth + 1, least)),
                }
            }
        }
        callers
    }

    /// One box with all that calls it, and with all that it calls; where it recurs in a stack, from the outermost one.
    pub fn around(&self, label: u32, max_depth: u32) -> (Merged, Merged) {
        let mut callees = self.like();
        let mut centers = Vec::new();
        let totals = self.totals();
        // By node, if it is within the box: its node among the callees.
        let mut within: Vec<NodeId> = Vec::with_capacity(self.key.len());
        for (node, parent) in self.parent.iter().enumerate() {
            let around = if *parent == ROOT { ROOT } else { within[*parent as usize] };
            let is_box = self.key[node] == label;
            let own = if around != ROOT || is_box { callees.child(around, self.key[node]) } else { ROOT };
            if own != ROOT {
                callees.own[own as usize].add(self.own[node]);
            }
            if is_box && around == ROOT {
                centers.push((node as NodeId, totals[node]));
            }
            within.push(own);
        }
        (self.callers(centers, max_depth, &[]), callees)
    }

    /// Weight of the stacks with a box whose label `is_it`, each counted once.
    pub fn weight_of(&self, is_it: &[bool]) -> Lanes {
        let mut sum = Lanes::default();
        // By node, whether it or one around it counts.
        let mut has: Vec<bool> = Vec::with_capacity(self.key.len());
        for (node, total) in self.totals().into_iter().enumerate() {
            let parent = self.parent[node];
            let around = parent != ROOT && has[parent as usize];
            let own = is_it[self.key[node] as usize];
            if own && !around {
                sum.add(total);
            }
            has.push(own || around);
        }
        sum
    }

    /// Self and total weight by label.
    pub fn sums(&self) -> Vec<LabelSum> {
        let totals = self.totals();
        let mut sums = vec![LabelSum::default(); self.labels.len()];
        let label_of = |node: usize| self.key[node];
        let is_outermost = outermost(self.key.len(), |node| self.parent[node], label_of, sums.len());
        for (node, is_outermost) in is_outermost.into_iter().enumerate() {
            let sum = &mut sums[self.key[node] as usize];
            sum.own.add(self.own[node]);
            if is_outermost {
                sum.total.add(totals[node]);
            }
        }
        sums
    }

    /// Labels by name and place, as far as they are known.
    pub fn labels_of(&self, path: &[(String, String)]) -> Vec<u32> {
        let number = |(name, place): &(String, String)| {
            self.labels.iter().position(|label| label.name == *name && label.place == *place)
        };
        path.iter().map_while(number).map(|number| number as u32).collect()
    }

    /// The node at the end of a path of labels; as much of the path as there is.
    pub fn walk(&self, path: &[u32]) -> Option<NodeId> {
        let mut at = ROOT;
        for label in path {
            let Some(next) = self.children.get(&(at, *label)) else { break };
            at = *next;
        }
        (at != ROOT).then_some(at)
    }

    /// Nodes from the root to `node`.
    pub fn path_to(&self, node: NodeId) -> Vec<NodeId> {
        let mut path = Vec::new();
        let mut at = node;
        while at != ROOT {
            path.push(at);
            at = self.parent[at as usize];
        }
        path.reverse();
        path
    }
}
