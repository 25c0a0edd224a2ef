//! What weighted stacks say: stacks merged by function, sums by function and file, callers and callees.

mod call_tree;

pub use call_tree::{
    CallTree, FileSums, Function, FunctionSum, NodeId, Sandwich, Weights, functions_in_order,
};
