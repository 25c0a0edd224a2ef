//! What weighted stacks say: stacks merged by function, sums by function and file, callers and callees; and the graphs that
//! flame graphs are made of.

mod call_tree;
mod divided;
pub mod graph;
pub mod lanes;
pub mod merged;
mod outermost;
mod pseudo;
pub mod tree;

pub use call_tree::{
    CallTree, FileSums, Function, FunctionSum, NodeId, Sandwich, Weights, functions_in_order,
};
pub use pseudo::{ALL_HIDDEN, NO_STACK, is_pseudo_frame};
