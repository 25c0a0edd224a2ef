// seeds: archives
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::archive(data));
