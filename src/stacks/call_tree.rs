//! Stacks merged from the root by function: the tree of a flame graph, and what is added up over it.
//!
//! A function is a name with its file, or with its module where there is no file. Everything is exact: weights are digits with
//! the common places of their profiles.

use super::outermost::outermost;
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::{StringId, StringTable};
use crate::trace::Trace;
use crate::trace::samples::{FrameId, StackId};
use crate::trace::stack_profiles::{Amount, StackProfile};
use std::cmp::Reverse;

/// Name, and file or else module.
pub type Function = (StringId, StringId);

/// Node of a [`CallTree`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

impl NodeId {
    /// What is around the roots.
    pub const NONE: NodeId = NodeId(u32::MAX);

    fn at(self) -> usize {
        self.0 as usize
    }
}

/// Sums over samples, at the places of [`Weights::places`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Weights {
    pub n_samples: u64,
    pub n_no_stack: u64,
    /// Of the samples with a stack.
    pub total: i128,
    pub no_stack: i128,
    /// Decimal places of all weights.
    pub places: u8,
}

/// Stacks merged by function. Parents come before their children.
#[derive(Clone, Default)]
pub struct CallTree {
    /// Index into `functions`.
    pub function: Vec<u32>,
    pub parent: Vec<NodeId>,
    /// Weight of the samples that end in each node.
    pub self_weight: Vec<i128>,
    /// Number of samples that end in each node.
    pub n_self: Vec<u64>,
    /// Weight of the samples that pass each node or end in it.
    pub total: Vec<i128>,
    /// Distinct functions, in order of first appearance.
    pub functions: Vec<Function>,
    /// Node of each stack of the trace; [`NodeId::NONE`] for those without samples.
    pub node_of_stack: Vec<NodeId>,
    pub weights: Weights,
    /// Distinct frames in the stacks.
    pub n_frames: usize,
    pub max_depth: u32,
}

/// One function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionSum {
    pub function: Function,
    /// Samples that end in it.
    pub self_weight: i128,
    /// Samples that it is in, each counted once.
    pub total: i128,
}

/// Sums by file: its samples' weight, each counted once.
pub type FileSums = Vec<(StringId, i128, i128)>;

/// Who calls a function, and what it calls: `None` is the root, or the function itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sandwich {
    pub callers: Vec<(Option<Function>, i128)>,
    pub callees: Vec<(Option<Function>, i128)>,
}

impl CallTree {
    /// Merges the stacks of profiles, which should have one unit.
    pub fn new(trace: &Trace, profiles: &[&StackProfile]) -> CallTree {
        let places = profiles.iter().map(|profile| profile.weight.places()).max().unwrap_or(0);
        let mut weights = Weights { places, ..Weights::default() };
        let n_stacks = trace.stacks.len();
        let mut of_stack = vec![0i128; n_stacks];
        let mut n_of_stack = vec![0u64; n_stacks];
        for profile in profiles {
            let factor = 10i128.pow(u32::from(places - profile.weight.places()));
            for (row, stack) in profile.stack.iter().enumerate() {
                let weight = profile.weight.digits_at(row).unwrap_or(0).saturating_mul(factor);
                weights.n_samples += 1;
                match of_stack.get_mut(stack.0 as usize) {
                    Some(sum) => {
                        *sum = sum.saturating_add(weight);
                        n_of_stack[stack.0 as usize] += 1;
                        weights.total = weights.total.saturating_add(weight);
                    }
                    None => {
                        weights.n_no_stack += 1;
                        weights.no_stack = weights.no_stack.saturating_add(weight);
                    }
                }
            }
        }
        let mut is_used: Vec<bool> = n_of_stack.iter().map(|n| *n > 0).collect();
        for stack in (0..n_stacks).rev() {
            let parent = trace.stacks.parent[stack];
            if is_used[stack] && parent != StackId::NONE {
                is_used[parent.0 as usize] = true;
            }
        }
        let mut tree = CallTree { weights, ..CallTree::default() };
        tree.node_of_stack = vec![NodeId::NONE; n_stacks];
        let mut merge = Merge::default();
        let mut function_of_frame: Vec<u32> = vec![u32::MAX; trace.frames.len()];
        let mut depth: Vec<u32> = Vec::new();
        for stack in (0..n_stacks).filter(|stack| is_used[*stack]) {
            let parent = match trace.stacks.parent[stack] {
                StackId::NONE => NodeId::NONE,
                below => tree.node_of_stack[below.0 as usize],
            };
            let FrameId(frame) = trace.stacks.frame[stack];
            let mut function = function_of_frame[frame as usize];
            if function == u32::MAX {
                function = tree.function_number(&mut merge, trace.frames.get(FrameId(frame)).function());
                function_of_frame[frame as usize] = function;
            }
            let (node, is_new) = tree.child(&mut merge, parent, function);
            if is_new {
                let below = if parent == NodeId::NONE { 0 } else { depth[parent.at()] };
                depth.push(below + 1);
                tree.max_depth = tree.max_depth.max(below + 1);
            }
            tree.self_weight[node.at()] = tree.self_weight[node.at()].saturating_add(of_stack[stack]);
            tree.n_self[node.at()] += n_of_stack[stack];
            tree.node_of_stack[stack] = node;
        }
        let frames = function_of_frame.iter().zip(0u32..).filter(|(function, _)| **function != u32::MAX);
        // Frames that only a category divides are one.
        let distinct: crate::base::hash::HashSet<_> = frames
            .map(|(_, frame)| {
                let frame = trace.frames.get(FrameId(frame));
                (frame.name, frame.file, frame.line, frame.column, frame.module)
            })
            .collect();
        tree.n_frames = distinct.len();
        tree.add_up();
        tree
    }

    fn function_number(&mut self, merge: &mut Merge, function: Function) -> u32 {
        *merge.functions.entry(function).or_insert_with(|| {
            self.functions.push(function);
            self.functions.len() as u32 - 1
        })
    }

    /// The child of a node for a function, and whether it is new.
    fn child(&mut self, merge: &mut Merge, parent: NodeId, function: u32) -> (NodeId, bool) {
        let next = NodeId(self.function.len() as u32);
        let node = *merge.nodes.entry((parent, function)).or_insert(next);
        if node == next {
            self.function.push(function);
            self.parent.push(parent);
            self.self_weight.push(0);
            self.n_self.push(0);
        }
        (node, node == next)
    }

    /// Computes totals from self weights.
    fn add_up(&mut self) {
        self.total = self.self_weight.clone();
        for node in (0..self.len()).rev() {
            let parent = self.parent[node];
            if parent != NodeId::NONE {
                self.total[parent.at()] = self.total[parent.at()].saturating_add(self.total[node]);
            }
        }
    }

    /// Number of frames of each node's path.
    pub fn depths(&self) -> Vec<u32> {
        let mut depths: Vec<u32> = Vec::with_capacity(self.len());
        for parent in &self.parent {
            depths.push(1 + if *parent == NodeId::NONE { 0 } else { depths[parent.at()] });
        }
        depths
    }

    pub fn len(&self) -> usize {
        self.function.len()
    }

    pub fn is_empty(&self) -> bool {
        self.function.is_empty()
    }

    /// A weight of this tree as a number.
    pub fn amount(&self, digits: i128) -> Amount {
        Amount { digits, places: self.weights.places }
    }

    /// For each node, whether no node around it has the same number, which `number_of` says.
    fn is_outermost(&self, number_of: impl Fn(usize) -> u32, n_numbers: usize) -> Vec<bool> {
        outermost(self.len(), |node| self.parent[node].0, number_of, n_numbers)
    }

    /// Self and total weight of each function, in order of first appearance. A total counts a sample once, however often the
    /// function recurs in its stack.
    pub fn functions(&self) -> Vec<FunctionSum> {
        let mut sums: Vec<FunctionSum> = self
            .functions
            .iter()
            .map(|function| FunctionSum { function: *function, self_weight: 0, total: 0 })
            .collect();
        let is_outermost = self.is_outermost(|node| self.function[node], sums.len());
        for node in 0..self.len() {
            let sum = &mut sums[self.function[node] as usize];
            sum.self_weight = sum.self_weight.saturating_add(self.self_weight[node]);
            if is_outermost[node] {
                sum.total = sum.total.saturating_add(self.total[node]);
            }
        }
        sums
    }

    /// File (or else module), self weight and total weight, by descending self weight.
    pub fn files(&self, strings: &StringTable) -> FileSums {
        let mut numbers: HashMap<StringId, u32> = HashMap::default();
        let mut sums: FileSums = Vec::new();
        let file_of_function: Vec<u32> = self
            .functions
            .iter()
            .map(|(_, file)| {
                *numbers.entry(*file).or_insert_with(|| {
                    sums.push((*file, 0, 0));
                    sums.len() as u32 - 1
                })
            })
            .collect();
        let file_of = |node: usize| file_of_function[self.function[node] as usize];
        let is_outermost = self.is_outermost(file_of, sums.len());
        for node in 0..self.len() {
            let (_, self_weight, total) = &mut sums[file_of(node) as usize];
            *self_weight = self_weight.saturating_add(self.self_weight[node]);
            if is_outermost[node] {
                *total = total.saturating_add(self.total[node]);
            }
        }
        sort::by_key(&mut sums, |(file, self_weight, total)| {
            (Reverse(*self_weight), Reverse(*total), strings.get_opt(*file))
        });
        sums
    }

    /// Callers and callees of a function, where it is outermost in a stack; by descending weight, then by name.
    pub fn sandwich(&self, function: Function, strings: &StringTable) -> Sandwich {
        let Some(number) = self.functions.iter().position(|known| *known == function) else {
            return Sandwich::default();
        };
        let is_outermost = self.is_outermost(|node| self.function[node], self.functions.len());
        let is_center = |node: usize| self.function[node] == number as u32 && is_outermost[node];
        let (mut callers, mut callees) = (HashMap::default(), HashMap::default());
        let add = |sums: &mut HashMap<Option<Function>, i128>, key: Option<Function>, weight: i128| {
            let sum = sums.entry(key).or_insert(0);
            *sum = sum.saturating_add(weight);
        };
        let function_of = |node: NodeId| self.functions[self.function[node.at()] as usize];
        for node in 0..self.len() {
            let parent = self.parent[node];
            if is_center(node) {
                let caller = (parent != NodeId::NONE).then(|| function_of(parent));
                add(&mut callers, caller, self.total[node]);
                if self.n_self[node] > 0 {
                    add(&mut callees, None, self.self_weight[node]);
                }
            } else if parent != NodeId::NONE && is_center(parent.at()) {
                add(&mut callees, Some(function_of(NodeId(node as u32))), self.total[node]);
            }
        }
        let in_order = |sums: HashMap<Option<Function>, i128>| {
            let mut sums: Vec<(Option<Function>, i128)> = sums.into_iter().collect();
            let text = |id: StringId| strings.get_opt(id);
            sort::by_key(&mut sums, |(key, weight)| {
                (Reverse(*weight), key.map(|(name, file)| (text(name), text(file))))
            });
            sums
        };
        Sandwich { callers: in_order(callers), callees: in_order(callees) }
    }

    /// The tree from the leaves: each sample enters it once, at its leaf, and a node's children are its callers.
    pub fn inverted(&self) -> CallTree {
        let mut tree = CallTree {
            functions: self.functions.clone(),
            weights: self.weights,
            n_frames: self.n_frames,
            max_depth: self.max_depth,
            ..CallTree::default()
        };
        let mut merge = Merge::default();
        for leaf in (0..self.len()).filter(|node| self.n_self[*node] > 0) {
            let (mut at, mut inverted) = (NodeId(leaf as u32), NodeId::NONE);
            while at != NodeId::NONE {
                (inverted, _) = tree.child(&mut merge, inverted, self.function[at.at()]);
                at = self.parent[at.at()];
            }
            let sum = &mut tree.self_weight[inverted.at()];
            *sum = sum.saturating_add(self.self_weight[leaf]);
            tree.n_self[inverted.at()] += self.n_self[leaf];
        }
        tree.add_up();
        tree
    }
}

/// Tables that merging needs.
#[derive(Default)]
struct Merge {
    functions: HashMap<Function, u32>,
    nodes: HashMap<(NodeId, u32), NodeId>,
}

/// Sorts functions as tables list them: by self weight and total, descending, then by name and file.
pub fn functions_in_order(sums: &mut [FunctionSum], strings: &StringTable) {
    sort::by_cached_key(sums, |sum| {
        let (name, file) = sum.function;
        (Reverse(sum.self_weight), Reverse(sum.total), strings.get_opt(name), strings.get_opt(file))
    });
}
