//! Tensors as the arguments of operators describe them.

use super::facts::{integer, text};
use crate::trace::builder::{find_member, for_each_element};

/// Type and number of elements.
pub type Tensor = (String, u64);

/// Type and number of elements of the first input; `None` if that is not a tensor.
pub fn first_tensor(raw: &[u8]) -> Option<Tensor> {
    let first = |name: &str| {
        let mut first = None;
        for_each_element(find_member(raw, name)?, |element| {
            first.get_or_insert(element);
        });
        first
    };
    let (mut elements, mut n_dims) = (Some(1u64), 0);
    for_each_element(first("Input Dims").or_else(|| first("Input dims"))?, |dim| {
        let dim = integer(dim).and_then(|dim| u64::try_from(dim).ok());
        elements = dim.and_then(|dim| elements?.checked_mul(dim));
        n_dims += 1;
    });
    let dtype = text(first("Input type")?)?;
    // Lists of tensors have no dimensions here.
    Some((dtype.trim_start_matches("c10::").to_string(), elements.filter(|_| n_dims > 0)?))
}
