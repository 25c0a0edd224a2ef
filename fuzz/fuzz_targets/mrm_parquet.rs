// seeds: mrm/parquet-variants
#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::reader(&tracedrop::import::mrm_parquet::INFO, data));
