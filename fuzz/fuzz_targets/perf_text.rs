// seeds: mrm/inputs
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::reader(&tracedrop::import::perf_text::INFO, data));
