//! Zip archives: run directories and other traces in them, and those that are written.

mod support;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, ZipArchiveWriter};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::{data_dirs, own_dir};

/// An archive with the files of folders, each in the folder of that name in it; none if that is empty.
fn zip(folders: &[(&str, &Path)], is_packed: bool) -> Vec<u8> {
    let mut archive = ZipArchiveWriter::new(Vec::new());
    for (name, dir) in folders {
        for path in support::files(dir, &["parquet", "json", "csv"]) {
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

/// A folder for what a test writes, empty.
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

/// The two runs of a data set.
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
    assert!(wanted.contains("2 runs, none of which is known to be contaminated."));
    assert_eq!(read(&["both.zip"]), wanted);
    assert_eq!(read(&["a.zip", "b.zip"]), wanted);
    assert_eq!(read(&[folder.to_str().unwrap()]), wanted);
    let wrong = run(&dir, &["export", "both.zip", "--to", "mrm-run", "-o", "out"]);
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("there are 2 traces in it"));
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
    // Somewhere in the packed bytes of the trace.
    let trace = whole.windows(17).position(|name| name == b"run/trace.parquet").unwrap();
    broken[trace + 500] ^= 0x55;
    for (name, bytes, why) in [
        ("encrypted.zip", encrypted, "it is encrypted"),
        ("cut.zip", whole[..whole.len() / 2].to_vec(), "no list of contents at its end"),
        ("empty.zip", empty.finish().unwrap(), "no traces in this archive"),
        ("broken.zip", broken, "its "),
    ] {
        std::fs::write(dir.join(name), bytes).unwrap();
        let output = run(&dir, &["report", name]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(why), "{name}: {said}");
    }
    // What is no archive but in name is what it is.
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
            assert!(about.contains("files are as the manifest says.") && about.contains("All "), "{about}");
            let reports = |path: &str| {
                let only = ["mrm", "mrm-kv", "mrm-time"].map(|id| ["--report", id]).concat();
                text(&dir, &[&["report", path, "--format", "csv"], only.as_slice()].concat())
            };
            let wanted = reports("once");
            assert_eq!(reports("once.zip"), wanted);
            assert_eq!(reports("twice.zip"), wanted);
            let figure = std::fs::read_to_string(dir.join("once/figures/write_once.svg")).unwrap();
            assert!(figure.starts_with("<svg ") && figure.contains("written once"), "{figure}");
            // Tables lie in it as they are, so that they can be read where they lie.
            let whole = std::fs::read(dir.join("once.zip")).unwrap();
            let listed = tracedrop::archive::list(&whole).unwrap();
            let trace = listed.files.iter().find(|file| file.path == "once/trace.parquet").unwrap();
            assert_eq!(trace.packing, tracedrop::archive::Packing::Stored);
            assert!(listed.files.iter().any(|file| file.path == "once/figures/working_set.svg"));
        }
    }
}

/// With the libraries that people use, where `make readers` has installed them.
#[test]
fn other_libraries_read_what_is_exported() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("target/readers/bin/python");
    if !python.exists() {
        eprintln!("left out: no pandas, pyarrow and duckdb; `make readers` installs them");
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
