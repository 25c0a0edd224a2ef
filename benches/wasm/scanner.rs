//! The scanner and the memory-access readers as a wasm program that needs no browser; `tools/bench-scanner.mjs` times it in
//! Node.js.
//!
//! As a native program it does nothing.

#[cfg(target_arch = "wasm32")]
mod exports {
    use std::cell::RefCell;
    use std::rc::Rc;
    use tracedrop::import::parts::PartsInfo;
    use tracedrop::import::{Import, chrome_trace, perf_text};
    use tracedrop::trace::args::Content;

    const CHUNK_BYTES: usize = 1 << 20;
    const STRETCH_BYTES: usize = 16 << 20;

    thread_local! {
        static INPUT: RefCell<Vec<u8>> = RefCell::default();
    }

    /// Allocates a trace of `n` bytes; returns its address.
    #[unsafe(no_mangle)]
    extern "C" fn room(n: usize) -> *mut u8 {
        INPUT.with_borrow_mut(|input| {
            input.resize(n, 0);
            input.as_mut_ptr()
        })
    }

    /// Reads the trace into event rows; returns their number.
    #[unsafe(no_mangle)]
    extern "C" fn rows() -> usize {
        in_stretches(chrome_trace::INFO.parts)
    }

    /// Reads `perf script` text; returns the number of rows.
    #[unsafe(no_mangle)]
    extern "C" fn perf_rows() -> usize {
        in_stretches(perf_text::INFO.parts)
    }

    /// Reads in ranges, as workers do it.
    fn in_stretches(parts: Option<&'static PartsInfo>) -> usize {
        let Some(parts) = parts else { return 0 };
        let mut reader = (parts.reader)();
        INPUT.with_borrow(|bytes| {
            let mut rows = 0;
            for start in (0..bytes.len()).step_by(STRETCH_BYTES) {
                reader.start(start as u64, (start + STRETCH_BYTES) as u64);
                bytes[start..].chunks(CHUNK_BYTES).any(|chunk| !reader.feed(chunk));
                rows += reader.finish().n_rows();
            }
            rows
        })
    }

    /// Reads a Parquet file of memory accesses; returns their number.
    #[unsafe(no_mangle)]
    extern "C" fn parquet_rows() -> usize {
        INPUT.with_borrow(|bytes| {
            let content: Rc<dyn Content> = Rc::new(bytes.clone());
            let mut import = Import::new("trace.parquet", bytes.len() as u64);
            import.can_read_again(content);
            bytes.chunks(CHUNK_BYTES).for_each(|chunk| import.feed(chunk));
            import.finish().map_or(0, |trace| trace.accesses.len())
        })
    }
}

fn main() {}
