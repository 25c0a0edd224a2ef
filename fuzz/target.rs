//! All fuzz targets in one program: the variable `TRACEDROP_FUZZ` names one. Without it, the names are printed.
#![no_main]

use std::sync::OnceLock;

static TARGET: OnceLock<String> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        match std::env::var("TRACEDROP_FUZZ") {
            Ok(name) => TARGET.get_or_init(|| name),
            Err(_) => {
                check::targets().for_each(|name| println!("{name}"));
                std::process::exit(0);
            }
        };
    },
    |data: &[u8]| check::run(TARGET.get().expect("set at the start"), data)
);
