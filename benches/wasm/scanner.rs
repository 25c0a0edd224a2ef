//! The scanner as a program for the web that needs no browser; `tools/bench-scanner.mjs` times it in the engine of Node.js.
//!
//! As a native program it does nothing.

#[cfg(target_arch = "wasm32")]
mod exports {
    use std::cell::RefCell;
    use tracedrop::import::chrome_trace;

    const CHUNK_BYTES: usize = 1 << 20;
    const STRETCH_BYTES: usize = 16 << 20;

    thread_local! {
        static INPUT: RefCell<Vec<u8>> = RefCell::default();
    }

    /// Makes room for a trace of `n` bytes; gives the place where they are to be put.
    #[unsafe(no_mangle)]
    extern "C" fn room(n: usize) -> *mut u8 {
        INPUT.with_borrow_mut(|input| {
            input.resize(n, 0);
            input.as_mut_ptr()
        })
    }

    /// Reads the trace from bytes to rows of events and no further; gives their number.
    #[unsafe(no_mangle)]
    extern "C" fn rows() -> usize {
        let Some(parts) = chrome_trace::INFO.parts else { return 0 };
        let mut reader = (parts.reader)();
        INPUT.with_borrow(|bytes| {
            let mut rows = 0;
            // In stretches, as workers do it.
            for start in (0..bytes.len()).step_by(STRETCH_BYTES) {
                reader.start(start as u64, (start + STRETCH_BYTES) as u64);
                bytes[start..].chunks(CHUNK_BYTES).any(|chunk| !reader.feed(chunk));
                rows += reader.finish().n_rows();
            }
            rows
        })
    }
}

fn main() {}
