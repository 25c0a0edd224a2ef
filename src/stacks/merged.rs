//! Stacks merged for one view: by function, file, module, line or class, without what someone hid.

use super::divided::{Divided, Division, Item};
use super::graph::{FrameClass, NO_LINE, NO_TEXT, NodeId, ROOT, StackGraph};
use super::lanes::{LaneColumn, Lanes};
use super::outermost::outermost;
use super::pseudo::ALL_HIDDEN;
use super::tree::{self, IGNORED, Place, Tree};
use crate::base::hash::HashMap;
use crate::base::pattern::Pattern;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::rc::Rc;

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

/// A kind of box.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Label {
    pub name: String,
    /// File or module, and line; may be empty.
    pub place: String,
    pub class: FrameClass,
}

/// Merged stacks. Nodes are in depth-first order; siblings have different labels.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// Shared by all forms of the same stacks.
    pub labels: Rc<Vec<Label>>,
    /// Index into `labels`, by node.
    pub key: Vec<u32>,
    pub parent: Vec<NodeId>,
    /// By node, the one after all that are below it.
    pub end: Vec<NodeId>,
    /// Weight of the stacks that end in each node.
    pub own: LaneColumn,
    /// Weight of the stacks through each node.
    pub totals: LaneColumn,
    /// Weight of all stacks.
    pub total: Lanes,
    /// By node, its children too thin to be nodes: how many, and their weight.
    pub rest: BTreeMap<NodeId, (u64, Lanes)>,
}

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
            let text =
                if text.contains('\\') { Cow::Owned(text.replace('\\', "/")) } else { Cow::Borrowed(text) };
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

impl Rules {
    /// Whether each node of the graph is one of the merged stacks.
    fn keeps_all(&self) -> bool {
        let is_none = |of: &[bool]| !of.contains(&true);
        !self.folds
            && self.labels.len() == self.label.len()
            && is_none(&self.is_hidden)
            && is_none(&self.is_ignored)
    }

    fn place(&self, frame: u32, around: Option<u32>) -> Place {
        let frame = frame as usize;
        let label = self.label[frame];
        match () {
            () if self.is_ignored[frame] => Place::Nowhere,
            () if self.is_hidden[frame] || self.folds && around == Some(label) => Place::Around,
            () => Place::Child { label },
        }
    }
}

impl Merged {
    /// The stacks of a graph that take part. `scale` is what the weights of B and A are multiplied by. An error if a pattern is
    /// none.
    pub fn new(graph: &StackGraph, query: &StackQuery, scale: (f64, f64)) -> Result<Merged, String> {
        let (mut merged, node_of) = Merged::of_nodes(graph, query)?;
        let mut all_hidden = None;
        for own in &graph.own {
            if query.thread.is_some_and(|thread| own.thread != thread) {
                continue;
            }
            let node = match node_of.get(own.node as usize).copied().unwrap_or(ROOT) {
                IGNORED => continue,
                ROOT => *all_hidden.get_or_insert_with(|| merged.all_hidden()),
                node => node,
            };
            let (weight, before) = (own.weight * scale.0, own.before * scale.1);
            merged.own.add(node as usize, Lanes { weight, before, change: 0.0 });
        }
        merged.own.set_changes();
        merged.add_up();
        Ok(merged)
    }

    /// The merged nodes without weights; and by node of the graph its merged one, [`ROOT`], or [`IGNORED`].
    pub fn of_nodes(graph: &StackGraph, query: &StackQuery) -> Result<(Merged, Vec<NodeId>), String> {
        let rules = Rules::new(graph, query)?;
        let (key, parent, node_of) = if rules.keeps_all() {
            let key = graph.node_frame.iter().map(|frame| rules.label[*frame as usize]).collect();
            (key, graph.parent.clone(), (0..graph.parent.len() as NodeId).collect())
        } else {
            let place = |node: NodeId, around| rules.place(graph.node_frame[node as usize], around);
            let Tree { label, parent, node_of, .. } = tree::merge(&graph.parent, rules.labels.len(), place);
            (label, parent, node_of)
        };
        let own = LaneColumn::new(key.len(), graph.is_difference);
        let end = tree::ends(&parent);
        let labels = Rc::new(rules.labels);
        Ok((Merged { labels, key, parent, end, own, ..Merged::default() }, node_of))
    }

    /// The node for stacks without a frame to show.
    pub fn all_hidden(&mut self) -> NodeId {
        let known = self.labels.iter().position(|label| label.name == ALL_HIDDEN);
        let label = known.unwrap_or_else(|| {
            let (name, place) = (ALL_HIDDEN.to_string(), String::new());
            Rc::make_mut(&mut self.labels).push(Label { name, place, class: FrameClass::Other });
            self.labels.len() - 1
        });
        self.child(ROOT, label as u32).unwrap_or_else(|| {
            let node = self.key.len() as NodeId;
            self.key.push(label as u32);
            self.parent.push(ROOT);
            self.end.push(node + 1);
            self.own.push(Lanes::default());
            node
        })
    }

    /// Sets the sums of weights.
    fn add_up(&mut self) {
        self.total = Lanes::default();
        self.own.iter().for_each(|own| self.total.add(own));
        self.totals = self.own.clone();
        for (node, (_, rest)) in &self.rest {
            self.total.add(*rest);
            if *node != ROOT {
                self.totals.add(*node as usize, *rest);
            }
        }
        self.totals.add_to_parents(&self.parent, ROOT);
    }

    /// Leaves out the weights that are below zero once equal stacks are added, which no box can show. Returns their sum.
    pub fn leave_out_negative(&mut self) -> f64 {
        let negative = self.own.take_negative();
        if negative < 0.0 {
            self.add_up();
        }
        negative
    }

    /// The nodes right below one, or below the root.
    pub fn children(&self, parent: NodeId) -> impl Iterator<Item = NodeId> {
        let (first, end) = match parent {
            ROOT => (0, self.key.len() as NodeId),
            parent => (parent + 1, self.end[parent as usize]),
        };
        let of = move |node: NodeId| (node < end).then_some(node);
        std::iter::successors(of(first), move |node| of(self.end[*node as usize]))
    }

    fn child(&self, parent: NodeId, label: u32) -> Option<NodeId> {
        self.children(parent).find(|node| self.key[*node as usize] == label)
    }

    /// Number of nodes around each node.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.key.len());
        for parent in &self.parent {
            depths.push(if *parent == ROOT { 0 } else { depths[*parent as usize] + 1 });
        }
        depths
    }

    /// A tree with the same labels.
    fn like(&self, Divided { key, parent, own, rest }: Divided) -> Merged {
        let (labels, end) = (self.labels.clone(), tree::ends(&parent));
        let mut merged = Merged { labels, key, parent, end, own, rest, ..Merged::default() };
        merged.add_up();
        merged
    }

    /// Stacks from their ends: what ends in a box, by who called it. `focus` is the path of labels to what shows in full width.
    /// Only what can be seen is divided: see `divided`.
    pub fn inverted(&self, max_depth: u32, focus: &[u32]) -> Merged {
        let ends = (0..).zip(self.own.iter()).filter(|(_, own)| !own.is_nothing()).map(|(node, _)| node);
        self.callers(&self.own, ends, max_depth, focus)
    }

    /// Nodes with some of `weights` each, and their callers below them.
    fn callers(
        &self,
        weights: &LaneColumn,
        nodes: impl Iterator<Item = NodeId>,
        max_depth: u32,
        focus: &[u32],
    ) -> Merged {
        let item = |node: NodeId, source| Item { label: self.key[node as usize], node, source };
        let division = Division { n_labels: self.labels.len(), max_depth, focus };
        self.like(division.divide(weights, nodes.map(|node| item(node, node)), |it, below, own| {
            match self.parent[it.node as usize] {
                ROOT => own.add(weights.get(it.source as usize)),
                parent => below.push(item(parent, it.source)),
            }
        }))
    }

    /// One box with all that calls it, and with all that it calls; where it recurs in a stack, from the outermost one. Only what
    /// can be seen is divided: see `divided`.
    pub fn around(&self, label: u32, max_depth: u32) -> (Merged, Merged) {
        let centers = self.outermost_of(|key| key == label);
        let callers = self.callers(&self.totals, centers.iter().copied(), max_depth, &[]);
        let item = |node: NodeId| Item { label: self.key[node as usize], node, source: node };
        let division = Division { n_labels: self.labels.len(), max_depth, focus: &[] };
        let callees = division.divide(&self.totals, centers.into_iter().map(item), |it, below, own| {
            own.add(self.own.get(it.node as usize));
            below.extend(self.children(it.node).map(item));
        });
        (callers, self.like(callees))
    }

    /// The nodes whose label `is_it`, without those within another one.
    fn outermost_of(&self, is_it: impl Fn(u32) -> bool) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut node = 0;
        while let Some(key) = self.key.get(node as usize) {
            node = if is_it(*key) {
                found.push(node);
                self.end[node as usize]
            } else {
                node + 1
            };
        }
        found
    }

    /// Weight of the stacks with a box whose label `is_it`, each counted once.
    pub fn weight_of(&self, is_it: &[bool]) -> Lanes {
        let mut sum = Lanes::default();
        let found = self.outermost_of(|key| is_it[key as usize]);
        found.iter().for_each(|node| sum.add(self.totals.get(*node as usize)));
        sum
    }

    /// Self and total weight by label.
    pub fn sums(&self) -> Vec<LabelSum> {
        let mut sums = vec![LabelSum::default(); self.labels.len()];
        let label_of = |node: usize| self.key[node];
        let is_outermost = outermost(self.key.len(), |node| self.parent[node], label_of, sums.len());
        for (node, is_outermost) in is_outermost.into_iter().enumerate() {
            let sum = &mut sums[self.key[node] as usize];
            sum.own.add(self.own.get(node));
            if is_outermost {
                sum.total.add(self.totals.get(node));
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
            let Some(next) = self.child(at, *label) else { break };
            at = next;
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
