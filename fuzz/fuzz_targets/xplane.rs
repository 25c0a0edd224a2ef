// seeds: xplane
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::reader(&tracedrop::import::xplane::INFO, data));
