//! Kernel classes: the builtin table, names checked by hand, and classes of another tool on real recordings.

use crate::support::{all_files, data_dirs, files, own_dir, stem};
use std::path::PathBuf;
use tracedrop::gpu::kernels::{BUILTIN, Rules};
use tracedrop::gpu::names;
use tracedrop::gpu::reference::{Platform, operation, simple_type};

/// Maximum share of a recording's kernel time without a class.
const MOST_UNCLASSIFIED: f64 = 0.02;

/// A kernel of a recording and its reference class.
struct Row {
    name: String,
    total_us: f64,
    operation: String,
    pattern: String,
    simple_type: String,
}

struct Recording {
    name: String,
    platform: Platform,
    rows: Vec<Row>,
}

fn own_file(name: &str) -> String {
    let path = own_dir("kernels").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn own_recording(path: &PathBuf) -> Recording {
    let text = std::fs::read_to_string(path).unwrap();
    let is_amd = path.to_str().unwrap().ends_with(".amd.tsv");
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, total_us, operation, pattern, simple_type] = fields[..] else { panic!("{line}") };
        Row {
            name: name.to_string(),
            total_us: total_us.parse().unwrap(),
            operation: operation.to_string(),
            pattern: pattern.to_string(),
            simple_type: simple_type.to_string(),
        }
    };
    Recording {
        name: stem(path),
        platform: if is_amd { Platform::Amd } else { Platform::Nvidia },
        rows: lines(&text).map(row).collect(),
    }
}

/// `None` for a golden of a failed run, or without kernels.
fn golden_recording(path: &PathBuf) -> Option<Recording> {
    let golden: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_string();
    let row = |row: &serde_json::Value| Row {
        name: text(row, "name"),
        total_us: row["total_us"].as_f64().unwrap(),
        operation: text(row, "op"),
        pattern: text(row, "pattern"),
        simple_type: text(row, "simple_type"),
    };
    Some(Recording {
        name: stem(path),
        platform: if golden["platform"] == "AMD" { Platform::Amd } else { Platform::Nvidia },
        rows: golden["kernel_table"].as_array()?.iter().map(row).collect(),
    })
}

/// Goldens of the checkout, and of the collection if it is present.
fn recordings() -> Vec<Recording> {
    let own = own_dir("kernels");
    let mut all: Vec<Recording> =
        all_files(&own, &[".amd.tsv", ".nvidia.tsv"]).iter().map(own_recording).collect();
    for dir in data_dirs("pytorch").iter().skip(1) {
        all.extend(files(&dir.join("golden/wafer"), &[".json"]).iter().filter_map(golden_recording));
    }
    all
}

#[test]
fn the_table_is_sound() {
    if let Err(errors) = Rules::parse(BUILTIN) {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        panic!("{errors:#?}");
    }
    let shadowed = Rules::builtin().never_hit();
    assert!(shadowed.is_empty(), "lines that are never hit, and the line before them that is: {shadowed:?}");
    let used = |name: &str| {
        BUILTIN.lines().any(|line| line.split('|').next().is_some_and(|field| field.trim() == name))
    };
    let unused: Vec<&str> =
        Rules::builtin().operations().map(|operation| operation.name()).filter(|name| !used(name)).collect();
    assert!(unused.is_empty(), "operations without a rule: {unused:?}");
}

#[test]
fn names_checked_by_hand() {
    let text = own_file("classes.txt");
    let mut wrong = Vec::new();
    let mut n = 0;
    for line in lines(&text) {
        let fields: Vec<&str> = line.splitn(3, " | ").map(str::trim).collect();
        let [operation, family, name] = fields[..] else { panic!("{line}") };
        let class = Rules::builtin().classify(name);
        if (class.operation.name(), class.family) != (operation, family.trim_matches('-')) {
            wrong.push(format!(
                "{operation}, {family}: got {}, {} (line {}) for {}",
                class.operation.name(),
                class.family,
                class.line,
                &name[..name.len().min(80)]
            ));
        }
        n += 1;
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(n >= 120, "{n} names");
}

#[test]
fn what_kinds_of_operations_there_are() {
    let class = |name| Rules::builtin().classify(name);
    assert!(class("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)").operation.is_communication());
    assert!(class("void vllm::cross_device_reduce_2stage<float, 2>(int)").operation.is_communication());
    assert!(class("__amd_rocclr_copyBuffer").operation.is_copy());
    assert!(!class("nvjet_tst_64x8_TNT").operation.is_communication());
    assert!(class("no idea what this is").operation.is_other());
}

#[test]
fn libraries_are_known_by_their_namespaces() {
    let library = |name| Rules::builtin().classify(name).library;
    assert_eq!(library("void aiter::grouped_topk_kernel<int>(int)"), "AITER");
    assert_eq!(library("void flashinfer::RopeQuantizeKernel<true, 4u>(int)"), "FlashInfer");
    assert_eq!(library("void vllm::reshape_and_cache_flash_kernel<float>(float*)"), "vLLM");
    assert_eq!(library("volta_sgemm_128x64_nn"), "cuBLAS");
    assert_eq!(library("void mine::vllm_like(vllm::X)"), "");
}

#[test]
fn a_users_table_that_is_wrong_says_where() {
    let text = "GEMM | ours | us | base has our_gemm\nGEM | ours | us | base has our_gemm\nGEMM | ours | us | bases has x";
    let errors = Rules::builtin().with(text).err().unwrap();
    let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "line 2: unknown operation “GEM”; did you mean “GEMM”? \
             Otherwise, to declare it, add “operation | GEM | compute” above",
            "line 3: unknown part of a name “bases”; did you mean “base”?",
        ]
    );
}

#[test]
fn little_time_is_left_unclassified() {
    let mut wrong = Vec::new();
    for recording in recordings() {
        let total: f64 = recording.rows.iter().map(|row| row.total_us).sum();
        let mut unclassified: Vec<&Row> = recording
            .rows
            .iter()
            .filter(|row| Rules::builtin().classify(&row.name).operation.is_other())
            .collect();
        unclassified.sort_by(|a, b| b.total_us.total_cmp(&a.total_us));
        let share = unclassified.iter().map(|row| row.total_us).sum::<f64>() / total;
        println!("{:40} {:6.3}%", recording.name, 100. * share.abs());
        for row in &unclassified {
            println!("    {:10.1} {}", row.total_us, names::base_name(&row.name));
        }
        if share >= MOST_UNCLASSIFIED {
            wrong.push(format!("{}: {:.1}%", recording.name, 100. * share));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_reference_is_matched_on_recordings() {
    let mut wrong = Vec::new();
    for recording in recordings() {
        for row in &recording.rows {
            let got = (operation(&row.name, recording.platform), simple_type(&row.name));
            let expected = ((row.operation.as_str(), row.pattern.as_str()), row.simple_type.as_str());
            if got != expected {
                wrong.push(format!("{}: {}: {got:?}, expected {expected:?}", recording.name, row.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_reference_is_matched_on_made_up_names() {
    let text = own_file("made_up.tsv");
    for line in lines(&text) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, amd, amd_pattern, nvidia, nvidia_pattern, simple] = fields[..] else { panic!("{line}") };
        assert_eq!(operation(name, Platform::Amd), (amd, amd_pattern), "{name}");
        assert_eq!(operation(name, Platform::Nvidia), (nvidia, nvidia_pattern), "{name}");
        assert_eq!(simple_type(name), simple, "{name}");
    }
}

#[test]
#[ignore = "prints classes to look through"]
fn print_classes() {
    let mut seen = std::collections::BTreeMap::new();
    for recording in recordings() {
        for row in &recording.rows {
            let class = Rules::builtin().classify(&row.name);
            let base = names::split(&names::demangle(&row.name)).qualified();
            let base: String = base.chars().take(90).collect();
            let is_frame = base.contains("elementwise") || base.contains("multi_tensor");
            let args: String =
                if is_frame { row.name.chars().skip(30).take(150).collect() } else { String::new() };
            let key = (class.operation.name(), class.family, class.library, base, args);
            *seen.entry(key).or_insert(0.) += row.total_us;
        }
    }
    for ((operation, family, library, base, args), us) in seen {
        println!("{operation} | {family} | {library} | {base} | {args} | {us:.0}");
    }
}

#[test]
fn names_may_be_cut_anywhere() {
    for recording in recordings().iter().take(10) {
        for row in recording.rows.iter().take(20) {
            for (end, _) in row.name.char_indices().step_by(7) {
                let (start, rest) = row.name.split_at(end);
                Rules::builtin().classify(start);
                Rules::builtin().classify(rest);
                simple_type(rest);
            }
        }
    }
}

#[test]
fn many_names_are_cheap() {
    let recordings = recordings();
    let names: Vec<&str> =
        recordings.iter().flat_map(|recording| &recording.rows).map(|row| row.name.as_str()).collect();
    let started = std::time::Instant::now();
    let n = 10_000;
    for at in 0..n {
        Rules::builtin().classify(names[at % names.len()]);
    }
    let each = started.elapsed() / n as u32;
    println!("{each:?} a name");
    assert!(each.as_millis() < 1, "{each:?} a name");
}
