// seeds: stacks
#![no_main]
use tracedrop::import::stacks::{firefox, folded, perf, pprof, python_binary, speedscope, v8};
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    check::reader(&folded::INFO, data);
    check::reader(&speedscope::INFO, data);
    check::reader(&v8::CPU, data);
    check::reader(&v8::HEAP, data);
    check::reader(&firefox::INFO, data);
    check::reader(&pprof::INFO, data);
    check::reader(&perf::INFO, data);
    check::reader(&python_binary::INFO, data);
});
