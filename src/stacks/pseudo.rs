//! Frames that are no functions: those that profilers add to stacks, such as threads, processes and idle time, and those that stand
//! for what has no frames to show.

pub use crate::trace::stack_profiles::NO_STACK;

/// Name of the frame for stacks all of whose frames are left out.
pub const ALL_HIDDEN: &str = "(only hidden frames)";

/// Whether a frame without a file is none of a function.
///
/// py-spy writes `thread (28277): MainThread` and `process 12:"python work.py"` below the frames, V8 `(root)` and `(idle)`.
pub fn is_pseudo_frame(name: &str) -> bool {
    let is_number = |text: &str| {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let is_thread = || {
        let (number, rest) = name.strip_prefix("thread (")?.split_once(')')?;
        Some(is_number(number) && (rest.is_empty() || rest.starts_with(':')))
    };
    let is_process = || {
        let (number, _) = name.strip_prefix("process ")?.split_once(':')?;
        Some(is_number(number))
    };
    matches!(name, "(root)" | "(idle)" | NO_STACK | ALL_HIDDEN)
        || is_thread().or_else(is_process).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::is_pseudo_frame;

    #[test]
    fn threads_and_processes_are_no_functions() {
        for name in [
            "thread (28277): MainThread",
            "thread (28277)",
            "thread (0x7F3A): worker",
            "process 12:\"python a.py\"",
            "(idle)",
            "(no stack)",
        ] {
            assert!(is_pseudo_frame(name), "{name}");
        }
        for name in ["thread", "thread (main)", "thread (1)x", "process 12", "process: run", "fib", ""] {
            assert!(!is_pseudo_frame(name), "{name}");
        }
    }
}
