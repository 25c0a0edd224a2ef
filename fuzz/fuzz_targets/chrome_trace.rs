// seeds: chrome pytorch situations
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::reader(&tracedrop::import::chrome_trace::INFO, data));
