// seeds: nsys rocpd
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::reader(&tracedrop::import::sqlite_captures::NSYS, data));
