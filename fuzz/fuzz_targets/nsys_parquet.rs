// seeds: nsys_parquet
#![no_main]
use tracedrop::import::sqlite_captures::parquet_folder;
libfuzzer_sys::fuzz_target!(|data: &[u8]| check::reader(&parquet_folder::INFO, data));
