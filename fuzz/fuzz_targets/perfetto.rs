// seeds: perfetto
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::reader(&tracedrop::import::perfetto::INFO, data));
