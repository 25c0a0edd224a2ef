// seeds: .
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::anything(data));
