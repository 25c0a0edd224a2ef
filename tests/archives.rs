//! Zip archives: reading run directories and other traces in them, and writing them.

use crate::support;
use crate::support::{data_dirs, own_dir, unpacked};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tracedrop::archive::tar::list_tar;

/// Archive of folders, each under its name; at the top level if the name is empty.
fn zip(folders: &[(&str, &Path)], is_packed: bool) -> Vec<u8> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (name, dir) in folders {
        for path in support::all_files(dir, &["parquet", "json", "csv"]) {
            let file = path.file_name().unwrap().to_str().unwrap();
            let inside = if name.is_empty() { file.to_string() } else { format!("{name}/{file}") };
            add(&mut archive, &inside, &std::fs::read(&path).unwrap(), is_packed);
        }
    }
    archive.finish().unwrap()
}

fn add(archive: &mut ZipArchiveWriter<Vec<u8>>, path: &str, bytes: &[u8], is_packed: bool) {
    let method = if is_packed { CompressionMethod::DEFLATE } else { CompressionMethod::STORE };
    let (mut entry, config) = archive.new_file(path).compression_method(method).start().unwrap();
    let descriptor = if is_packed {
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
        writer.write_all(bytes).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        descriptor
    } else {
        let mut writer = config.wrap(&mut entry);
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap().1
    };
    entry.finish(descriptor).unwrap();
}

/// An empty folder for the output of a test.
fn fresh(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("archives").join(name);
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn run(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tracedrop")).current_dir(dir).args(args).output().unwrap()
}

fn text(dir: &Path, args: &[&str]) -> String {
    let output = run(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The two runs of a dataset.
fn runs() -> [(&'static str, PathBuf); 2] {
    let dir = own_dir("mrm").join("runs-latest");
    [
        ("demo_mem_rep1", dir.join("node-a/demo-model/demo_mem_rep1")),
        ("demo_memsym_rep1", dir.join("node-b/demo-model/demo_memsym_rep1")),
    ]
}

#[test]
fn a_run_in_an_archive_is_that_run() {
    let dir = fresh("one");
    let [(name, folder), _] = runs();
    let args = |path: &str| ["report", path, "--format", "json"].map(str::to_string);
    let read = |path: &str| text(&dir, &args(path).each_ref().map(String::as_str));
    let wanted = read(folder.to_str().unwrap());
    for (inside, is_packed) in [("", false), ("", true), (name, false), ("results/deep/demo_mem_rep1", true)]
    {
        std::fs::write(dir.join(format!("{name}.zip")), zip(&[(inside, &folder)], is_packed)).unwrap();
        support::assert_same_text(inside, &read(&format!("{name}.zip")), &wanted);
    }
}

#[test]
fn several_runs_in_archives_are_a_data_set() {
    let dir = fresh("several");
    let [(a, first), (b, second)] = runs();
    std::fs::write(dir.join("both.zip"), zip(&[(a, &first), (b, &second)], true)).unwrap();
    std::fs::write(dir.join("a.zip"), zip(&[(a, &first)], false)).unwrap();
    std::fs::write(dir.join("b.zip"), zip(&[(b, &second)], false)).unwrap();
    let folder = fresh("several-folder");
    for name in ["a.zip", "b.zip"] {
        std::fs::copy(dir.join(name), folder.join(name)).unwrap();
    }
    let read =
        |paths: &[&str]| text(&dir, &[&["report", "--together", "--report", "mrm-run"], paths].concat());
    let wanted = read(&[first.to_str().unwrap(), second.to_str().unwrap()]);
    assert!(wanted.contains("2 runs, both valid."));
    assert_eq!(read(&["both.zip"]), wanted);
    assert_eq!(read(&["a.zip", "b.zip"]), wanted);
    assert_eq!(read(&[folder.to_str().unwrap()]), wanted);
    let wrong = run(&dir, &["export", "both.zip", "--to", "mrm-run", "-o", "out"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("the input contains 2 traces"));
}

#[test]
fn a_folder_of_tables_is_one_file() {
    let dir = fresh("tables");
    let folder = dir.join("sub/report1_pqtdir");
    std::fs::create_dir_all(&folder).unwrap();
    let archive = unpacked(&own_dir("nsys_parquet").join("made_odd.tar.gz"));
    for file in list_tar(&archive).files {
        let bytes = &archive[file.range.start as usize..file.range.end as usize];
        std::fs::write(folder.join(file.path), bytes).unwrap();
    }
    let read = |path: &str| text(&dir, &["report", path, "--format", "json"]);
    let wanted = read("sub/report1_pqtdir");
    assert!(wanted.contains("folder of Parquet tables") && wanted.contains("\"report1_pqtdir\""));
    // In another folder, and in archives.
    support::assert_same_text("folder", &read("sub"), &wanted);
    for is_packed in [false, true] {
        std::fs::write(dir.join("report1_pqtdir.zip"), zip(&[("", &folder)], is_packed)).unwrap();
        support::assert_same_text("zip", &read("report1_pqtdir.zip"), &wanted);
    }
    let compared = text(&dir, &["compare", "sub/report1_pqtdir", "report1_pqtdir.zip"]);
    assert!(compared.contains("report1_pqtdir"));
}

#[test]
fn a_trace_of_another_kind_in_an_archive_is_that_trace() {
    let dir = fresh("other");
    let source = own_dir("chrome").join("hand_flows.json");
    let bytes = std::fs::read(&source).unwrap();
    let mut archive = ZipArchiveWriter::new(Vec::new());
    add(&mut archive, "notes/README", b"nothing", true);
    add(&mut archive, "../../logs/hand_flows.json", &bytes, true);
    std::fs::write(dir.join("logs.zip"), archive.finish().unwrap()).unwrap();
    let wanted = text(&dir, &["report", source.to_str().unwrap(), "--format", "json"]);
    assert_eq!(text(&dir, &["report", "logs.zip", "--format", "json"]), wanted);
}

#[test]
fn a_large_packed_trace_is_unpacked_while_it_is_read() {
    let dir = fresh("large");
    let event = r#"{"ph":"X","pid":1,"tid":1,"ts":7,"dur":1,"name":"a name that packs well","args":{"pad":"                                  "}},"#;
    let n = (33 << 20) / event.len();
    let mut text_of = String::from("[");
    (0..n).for_each(|_| text_of.push_str(event));
    text_of.pop();
    text_of.push(']');
    let mut archive = ZipArchiveWriter::new(Vec::new());
    add(&mut archive, "big.json", text_of.as_bytes(), true);
    let bytes = archive.finish().unwrap();
    assert!(bytes.len() < 1 << 20);
    std::fs::write(dir.join("big.zip"), bytes).unwrap();
    let report = text(&dir, &["report", "big.zip", "--format", "md"]);
    assert!(report.contains("a name that packs well"));
}

#[test]
fn archives_of_which_nothing_can_be_had_say_why() {
    let dir = fresh("useless");
    let (_, folder) = &runs()[0];
    let whole = zip(&[("run", folder)], true);
    let mut encrypted = whole.clone();
    let heads: Vec<usize> =
        whole.windows(4).enumerate().filter(|(_, four)| *four == b"PK\x01\x02").map(|(at, _)| at).collect();
    heads.iter().for_each(|at| encrypted[at + 8] |= 1);
    let mut empty = ZipArchiveWriter::new(Vec::new());
    add(&mut empty, "notes.md", b"x", false);
    let mut broken = whole.clone();
    // Somewhere in the compressed bytes of the trace.
    let trace = whole.windows(17).position(|name| name == b"run/trace.parquet").unwrap();
    broken[trace + 500] ^= 0x55;
    for (name, bytes, why) in [
        ("encrypted.zip", encrypted, "it is encrypted"),
        ("cut.zip", whole[..whole.len() / 2].to_vec(), "no file list at its end"),
        ("empty.zip", empty.finish().unwrap(), "unrecognized trace format"),
        ("broken.zip", broken, "its "),
    ] {
        std::fs::write(dir.join(name), bytes).unwrap();
        let output = run(&dir, &["report", name]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(why), "{name}: {said}");
    }
    // A file that only has the name of an archive is read as what it is.
    std::fs::copy(own_dir("chrome").join("hand_flows.json"), dir.join("json.zip")).unwrap();
    text(&dir, &["report", "json.zip"]);
}

#[test]
fn an_exported_archive_opens_again_as_the_same_run() {
    for data in data_dirs("mrm") {
        for input in ["runs-latest/node-a/demo-model/demo_mem_rep1", "real/real-pf-addrsym.txt.gz"] {
            let (dir, input) = (fresh("again"), data.join(input));
            if !input.exists() {
                continue;
            }
            let input = input.to_str().unwrap();
            text(&dir, &["export", input, "--to", "mrm-run", "--run-id", "once", "-o", "once.zip"]);
            text(&dir, &["export", "once.zip", "--to", "mrm-run", "-o", "twice.zip"]);
            text(&dir, &["export", "once.zip", "--to", "mrm-run", "-o", "once"]);
            let about = text(&dir, &["report", "once.zip", "--report", "mrm-run"]);
            assert!(about.contains("match the manifest.") && about.contains("All "), "{about}");
            let reports = |path: &str| {
                let only = ["mrm", "mrm-kv", "mrm-time"].map(|id| ["--report", id]).concat();
                text(&dir, &[&["report", path, "--format", "csv"], only.as_slice()].concat())
            };
            let wanted = reports("once");
            assert_eq!(reports("once.zip"), wanted);
            assert_eq!(reports("twice.zip"), wanted);
            let figure = std::fs::read_to_string(dir.join("once/write_once.svg")).unwrap();
            assert!(figure.starts_with("<svg ") && figure.contains("Write-once"), "{figure}");
            // Tables are stored uncompressed, so that they can be read in place.
            let whole = std::fs::read(dir.join("once.zip")).unwrap();
            let listed = tracedrop::archive::list(&whole).unwrap();
            let trace = listed.files.iter().find(|file| file.path == "once/trace.parquet").unwrap();
            assert_eq!(trace.packing, tracedrop::archive::Packing::Stored);
            assert!(listed.files.iter().any(|file| file.path == "once/working_set.svg"));
        }
    }
}

/// With the usual libraries, if `make readers` has installed them.
#[test]
fn other_libraries_read_what_is_exported() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("target/readers/bin/python");
    if !python.exists() {
        eprintln!("skipped: no pandas, pyarrow and duckdb; run `make readers` to install them");
        return;
    }
    let dir = fresh("libraries");
    let (_, folder) = &runs()[1];
    text(&dir, &["export", folder.to_str().unwrap(), "--to", "mrm-run", "-o", "run.zip"]);
    let output =
        Command::new(python).arg(root.join("tools/read-run.py")).arg(dir.join("run.zip")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
    let csv = text(&dir, &["report", "run.zip", "--format", "csv", "--table", "region_map"]);
    let n_regions = csv.lines().count() - 1;
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains(&format!("region_map {n_regions} rows")), "{told}");
}

/// Copies a run to a folder, with `metadata.json` changed by `change`.
fn copied(dir: &Path, run: &Path, name: &str, change: impl Fn(String) -> String) {
    let folder = dir.join(name);
    std::fs::create_dir_all(&folder).unwrap();
    for entry in std::fs::read_dir(run).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
        std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let metadata = std::fs::read_to_string(run.join("metadata.json")).unwrap();
    std::fs::remove_file(folder.join("metadata.json")).unwrap();
    std::fs::write(folder.join("metadata.json"), change(metadata)).unwrap();
}

fn bytes_in(archive: &dyn tracedrop::trace::args::Content, path: &str) -> Vec<u8> {
    let entry =
        tracedrop::archive::list(archive).unwrap().files.into_iter().find(|file| file.path == path).unwrap();
    let mut content = Vec::new();
    tracedrop::archive::unpack(archive, &entry, &mut |piece| {
        content.extend_from_slice(piece);
        Ok(())
    })
    .unwrap();
    content
}

#[test]
fn a_contaminated_run_says_so_on_every_export() {
    use tracedrop::parquet::ParquetFile;
    const SAID: &str = "Contaminated run";
    let dir = fresh("contaminated");
    let (_, run_of) = &runs()[1];
    copied(&dir, run_of, "run", |metadata| {
        let mut value: serde_json::Value = serde_json::from_str(&metadata).unwrap();
        value["run_validity"] = "contaminated".into();
        value.to_string()
    });
    let svgs = |folder: &Path| {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|it| it == "svg")).collect::<Vec<_>>()
    };
    text(&dir, &["report", "run", "--format", "svg", "-o", "pictures", "-q"]);
    text(&dir, &["export", "run", "--to", "mrm-run", "-o", "again"]);
    for folder in ["pictures", "again"] {
        let pictures = svgs(&dir.join(folder));
        assert!(pictures.len() > 8, "{folder}");
        for picture in pictures {
            let drawn = std::fs::read_to_string(&picture).unwrap();
            assert!(drawn.contains(&format!(">{SAID}: ")), "{}", picture.display());
        }
    }
    let metadata = std::fs::read_to_string(dir.join("again/metadata.json")).unwrap();
    assert!(metadata.contains("\"run_validity\": \"contaminated\""));
    for report in ["mrm", "mrm-kv", "mrm-time", "mrm-run"] {
        for format in ["terminal", "markdown", "json", "csv", "html", "svg"] {
            let told = text(&dir, &["report", "run", "--report", report, "--format", format]);
            assert!(told.contains(SAID), "{report} as {format}");
        }
    }
    text(&dir, &["export", "run", "--to", "parquet", "-o", "tables.zip"]);
    let archive = std::fs::read(dir.join("tables.zip")).unwrap();
    for file in tracedrop::archive::list(&archive).unwrap().files {
        let content = bytes_in(&archive, &file.path);
        let table = ParquetFile::open(content.as_slice()).unwrap();
        let told = table.key_values().iter().find(|(key, _)| key == "tracedrop.warning");
        let is_of_memory = file.path.starts_with("mrm");
        assert_eq!(told.is_some_and(|(_, text)| text.contains(SAID)), is_of_memory, "{}", file.path);
    }
    let trace = text(&dir, &["export", "run", "--to", "chrome-trace"]);
    let trace: serde_json::Value = serde_json::from_str(&trace).unwrap();
    assert_eq!(trace["otherData"]["run_validity"], "contaminated");
    assert!(trace["otherData"]["warning"].as_str().unwrap().starts_with(SAID));
    let name = trace["traceEvents"][0]["args"]["name"].as_str().unwrap();
    assert!(name.ends_with(" (contaminated run)"), "{name}");
}

#[test]
fn an_exported_run_knows_its_phases_and_lists_bare_names() {
    let dir = fresh("phases");
    std::fs::copy(own_dir("mrm").join("inputs/tiny-24.txt"), dir.join("perf.txt")).unwrap();
    let phases = r#"[{"phase": "löad", "start_ns": 12345000000000, "end_ns": 12349000000000}]"#;
    std::fs::write(dir.join("phases.json"), phases).unwrap();
    let export = ["export", "perf.txt", "--to", "mrm-run", "-o", "run", "--phases", "phases.json"];
    text(&dir, &export);
    let metadata = std::fs::read_to_string(dir.join("run/metadata.json")).unwrap();
    assert_eq!(
        metadata,
        "{\n  \"run_id\": \"perf\",\n  \"collector\": {\n    \"type\": \"perf_mem\"\n  },\n  \"phase_boundaries\": [\n    {\n      \
         \"phase\": \"l\\u00f6ad\",\n      \"start_ns\": 12345000000000,\n      \"end_ns\": 12349000000000\n    }\n  ]\n}"
    );
    let manifest = std::fs::read_to_string(dir.join("run/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    for file in manifest["files"].as_array().unwrap() {
        let path = file["path"].as_str().unwrap();
        assert!(!path.contains('/') && dir.join("run").join(path).is_file(), "{path}");
    }
    let about = text(&dir, &["report", "run", "--report", "mrm-run"]);
    assert!(about.contains("match the manifest."), "{about}");
    let told = text(&dir, &["report", "run", "--report", "mrm", "--format", "json"]);
    assert!(told.contains("löad 12345.000000 s–12349.000000 s"), "{told}");
    // Phases given by the user replace the stored ones.
    std::fs::write(dir.join("phases.json"), phases.replace("löad", "run")).unwrap();
    text(&dir, &["export", "run", "--to", "mrm-run", "-o", "other", "--phases", "phases.json"]);
    let other = std::fs::read_to_string(dir.join("other/metadata.json")).unwrap();
    assert_eq!(other, metadata.replace("l\\u00f6ad", "run"));
}

#[test]
fn what_is_wrong_with_an_option_is_said_with_its_file() {
    let dir = fresh("options");
    std::fs::copy(own_dir("mrm").join("inputs/tiny-24.txt"), dir.join("perf.txt")).unwrap();
    std::fs::write(dir.join("odd.json"), "{1}").unwrap();
    for option in ["--phases", "--memory-rules", "--address-ranges"] {
        let output = run(&dir, &["report", "perf.txt", option, "odd.json"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(&format!("{option}: odd.json: ")), "{said}");
    }
    let inverted = r#"[{"phase": "a", "start_ns": 9, "end_ns": 3}]"#;
    std::fs::write(dir.join("odd.json"), inverted).unwrap();
    let told =
        text(&dir, &["report", "perf.txt", "--report", "mrm", "--phases", "odd.json", "--format", "json"]);
    assert!(told.contains("the phase 'a' ends before it starts."), "{told}");
}

/// Peaks for the name of the GPU as reports show it, in a file that an editor on Windows saved. 12 MB in 20 µs at 1,000 GB/s are 60%, a product
/// of 1,024 × 512 × 256 numbers in 10 µs at 100 TFLOP/s is 26.8%.
#[test]
fn custom_peaks_replace_those_of_the_data_sheet() {
    let dir = fresh("peaks");
    let laptop = own_dir("situations").join("gpu-of-a-laptop.json");
    let trace = std::fs::read_to_string(laptop).unwrap();
    std::fs::write(dir.join("trace.json"), trace.replace("GeForce RTX 4090 Laptop GPU", "A100-SXM4-80GB"))
        .unwrap();
    let told = |table: &str| {
        std::fs::write(dir.join("peaks.tsv"), table).unwrap();
        let ops = ["report", "trace.json", "--report", "gpu-ops", "--format", "json", "--peaks", "peaks.tsv"];
        text(&dir, &ops)
    };
    let name = "NVIDIA A100-SXM4-80GB";
    let all = told(&format!("\u{feff}gpu\tmem_gb_s\tmatrix_bf16\n{name}\t1000\t100\n"));
    assert!(
        all.contains("The roofline uses the custom peaks of NVIDIA A100-SXM4-80GB, and data sheet peaks,"),
        "{all}"
    );
    assert!(all.contains("0.268435456") && all.contains("0.6"), "{all}");
    // At the data sheet's 312 TFLOP/s, the product is bound by its 1,835,008 bytes: 1.835 of 10 µs.
    let bandwidth = told(&format!("gpu\tmem_gb_s\n{name}\t1000\n"));
    assert!(bandwidth.contains("0.1835008") && bandwidth.contains("0.6"), "{bandwidth}");
    let other = told("gpu\tmem_gb_s\nH100\t1000\n");
    assert!(
        other.contains("The roofline uses data sheet peaks of NVIDIA A100-SXM4-80GB, without sparsity."),
        "{other}"
    );
}

#[test]
fn a_run_without_its_trace_is_read_from_what_was_captured() {
    let dir = fresh("raw");
    let perf = own_dir("mrm").join("inputs/tiny-24.txt");
    std::fs::create_dir_all(dir.join("set/run/raw")).unwrap();
    std::fs::copy(perf, dir.join("set/run/raw/perf_script.txt")).unwrap();
    for folder in ["set/run", "set"] {
        assert!(text(&dir, &["report", folder, "--report", "mrm"]).contains("24 memory accesses"));
    }
    let (_, run_of) = &runs()[1];
    copied(&dir, run_of, "set/run", |metadata| metadata);
    std::fs::remove_file(dir.join("set/run/trace.parquet")).unwrap();
    let output = run(&dir, &["report", "set/run", "--report", "mrm"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success() && said.contains("run directory without trace.parquet; reading raw instead"),
        "{said}"
    );
    std::fs::remove_dir_all(dir.join("set/run/raw")).unwrap();
    let output = run(&dir, &["report", "set/run"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(1) && said.contains("run directory without trace.parquet"),
        "{said}"
    );
}
