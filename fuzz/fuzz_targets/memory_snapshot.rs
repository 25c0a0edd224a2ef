// seeds: memsnapshot
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::reader(&tracedrop::import::memory_snapshot::INFO, data));
