//! Operators in the names of NVTX ranges, as `torch.autograd.profiler.emit_nvtx` writes them.
//!
//! PyTorch (`getNvtxStr` in `torch/csrc/profiler/util.cpp`) appends what it knows of the call to the name of the operator, so
//! nearly each range has a name of its own:
//!
//! ```text
//! aten::addmm, seq = 46286, op_id = 993812, sizes = [[768], [8, 768], [768, 768]], input_op_ids = [(993811, 0), (993810, 0)]
//! ```
//! `seq` is the sequence number of autograd. Each part may be missing.

/// Shapes of the inputs.
const SIZES: &str = "sizes";

/// The parts that may follow the name of an operator, and whether each is a list.
const PARTS: &[(&str, bool)] = &[("seq", false), ("op_id", false), (SIZES, true), ("input_op_ids", true)];

/// The operator in the name of a range: `aten::addmm` in the example. `None` if `name` has another form.
pub fn operator(name: &str) -> Option<&str> {
    parsed(name).map(|(operator, _)| operator)
}

/// Shapes of the inputs in the name of a range, as JSON like the `Input Dims` of Kineto: `[[768], [8, 768], [768, 768]]` in the
/// example. `None` if `name` has none, or another form.
pub fn sizes(name: &str) -> Option<&str> {
    parsed(name)?.1
}

/// Operator and sizes in the name of a range.
fn parsed(name: &str) -> Option<(&str, Option<&str>)> {
    let first =
        memchr::memchr_iter(b'=', name.as_bytes()).find_map(|at| start_of(name, at)).filter(|at| *at > 0)?;
    let (operator, mut rest) = name.split_at(first);
    let mut sizes = None;
    for (part, is_list) in PARTS {
        let Some(value) = rest
            .strip_prefix(", ")
            .and_then(|rest| rest.strip_prefix(*part))
            .and_then(|rest| rest.strip_prefix(" = "))
        else {
            continue;
        };
        let n_bytes = if *is_list { list_bytes(value)? } else { digits(value)? };
        let (value, after) = value.split_at(n_bytes);
        if *part == SIZES {
            sizes = Some(value);
        }
        rest = after;
    }
    rest.is_empty().then_some((operator, sizes))
}

/// Offset of the comma of `, PART = `, whose `=` is at `equals`.
fn start_of(name: &str, equals: usize) -> Option<usize> {
    let (before, after) = name.split_at_checked(equals)?;
    let before = before.strip_suffix(' ').filter(|_| after.starts_with("= "))?;
    let of_part = |(part, _): &(&str, bool)| before.strip_suffix(*part)?.strip_suffix(", ").map(str::len);
    PARTS.iter().find_map(of_part)
}

/// Length of the digits at the start of `text`; `None` without any.
fn digits(text: &str) -> Option<usize> {
    let n = text.bytes().take_while(u8::is_ascii_digit).count();
    (n > 0).then_some(n)
}

/// Length of a list in brackets at the start of `text`; `None` if it is none, or does not end.
fn list_bytes(text: &str) -> Option<usize> {
    let mut depth = 0u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 1 => return Some(at + 1),
            b']' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{operator, sizes};

    #[test]
    fn parts_of_a_call_are_split_off() {
        for (name, wanted) in [
            ("aten::view, op_id = 314290", Some("aten::view")),
            ("aten::detach_, seq = 46174, op_id = 993404", Some("aten::detach_")),
            ("aten::mm, seq = 12", Some("aten::mm")),
            ("aten::cat, op_id = 7, sizes = [[], [2, [3, 4]], []]", Some("aten::cat")),
            ("aten::add, sizes = [[8]], input_op_ids = [(5, 0), (4, 1)]", Some("aten::add")),
            ("FSDP::inputs_to_device, op_id = 317149", Some("FSDP::inputs_to_device")),
            ("a, seq = 1, op_id = 2", Some("a")),
            ("find, é, op_id = 2", Some("find, é")),
            ("aten::mm", None),
            ("aten::mm, seq = 12, layer = 3", None),
            ("aten::mm, op_id = 3, seq = 12", None),
            ("aten::mm, op_id = x", None),
            ("aten::mm, op_id = ", None),
            ("aten::mm, sizes = [[2]", None),
            ("aten::mm, sizes = []]", None),
            ("aten::mm, sizes = 8", None),
            ("step 12", None),
            (", op_id = 3", None),
            ("op_id = 3", None),
            ("", None),
        ] {
            assert_eq!(operator(name), wanted, "{name}");
        }
    }

    #[test]
    fn shapes_of_inputs_are_split_off() {
        for (name, wanted) in [
            ("aten::mm, seq = 1, op_id = 2, sizes = [[8, 4], [4, 2]]", Some("[[8, 4], [4, 2]]")),
            ("aten::add, sizes = [[8], []], input_op_ids = [(5, 0), (4, 1)]", Some("[[8], []]")),
            ("aten::mm, op_id = 2", None),
            ("aten::mm, op_id = 2, sizes = [[8]", None),
            ("aten::mm", None),
        ] {
            assert_eq!(sizes(name), wanted, "{name}");
        }
    }
}
