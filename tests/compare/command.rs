//! The command: exit codes, formats, groups.

use crate::support::own_dir;
use std::process::{Command, Output};

fn compare(args: &[&str]) -> Output {
    let dir = own_dir("pytorch");
    Command::new(env!("CARGO_BIN_EXE_tracedrop")).current_dir(dir).arg("compare").args(args).output().unwrap()
}

fn code(args: &[&str]) -> i32 {
    compare(args).status.code().unwrap()
}

const A: &str = "small-bert-mi300.json.gz";
const B: &str = "small-bert-h100.json.gz";

#[test]
fn exit_codes_tell_what_became_of_limits() {
    assert_eq!(code(&[A, B]), 0);
    assert_eq!(code(&[A, A, "--fail-on", "gpu.per_step > 0%"]), 0);
    assert_eq!(code(&[A, B, "--fail-on", "gpu.work < -1%"]), 3);
    assert_eq!(code(&[A, B, "--fail-on", "gpu.work < -1%", "--fail-on", "gpu.work > 100 s"]), 3);
    // Unreadable files, traces that cannot be compared, invalid arguments.
    assert_eq!(code(&[A, "no-such-file.json"]), 1);
    assert_eq!(code(&[A, "../sway/one_event.jsonl"]), 1);
    assert_eq!(code(&[A, B, "--phase", "decode"]), 1);
    for wrong in
        [&[A][..], &[A, B, A], &[A, B, "--fail-on", "gpu.per_step"], &[A, B, "--fail-on", "no.such > 1"]]
    {
        assert_eq!(code(wrong), 2, "{wrong:?}");
    }
    // No data for a metric that is spelled right.
    const NO_GPU: &str = "../sway/one_event.jsonl";
    for (metric, expected) in [("gpu.per_step", 1), ("gpu.op.GEMM", 1), ("gpu.perstep", 2)] {
        assert_eq!(code(&[NO_GPU, NO_GPU, "--fail-on", &format!("{metric} > 3%")]), expected, "{metric}");
    }
}

#[test]
fn every_format_is_written() {
    let text = |args: &[&str]| {
        let output = compare(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let comment = text(&[A, B, "--format", "markdown"]);
    assert!(comment.starts_with(&format!("## A: {A} vs B: {B}\n")), "{comment:.200}");
    assert!(comment.len() < 65_536 && comment.contains("<details><summary>Operations"));
    let json: serde_json::Value = serde_json::from_str(&text(&[A, B, "--format", "json"])).unwrap();
    assert_eq!(json["reports"][0]["id"], "compare-gpu");
    assert!(text(&[A, B, "--format", "csv"]).contains("per_step_a"));
    assert!(text(&[A, B, "--width", "120"]).contains("What changed\n"));
    assert!(text(&["--list"]).contains("gpu.per_step"));
    assert!(text(&[A, B, "--list"]).contains("slices.slices.self"));
    let groups = text(&[
        "dlrm8/rank0.json.gz",
        "--against",
        "dlrm8/rank0.json.gz",
        "dlrm8/rank1.json.gz",
        "--format",
        "markdown",
    ]);
    assert!(groups.starts_with("## A: rank0.json.gz vs B: rank0.json.gz and 1 more file"), "{groups:.200}");
}

/// Charts are written as separate files into a new folder.
#[test]
fn pictures_are_written_to_a_folder() {
    let folder = std::env::temp_dir().join(format!("tracedrop-pictures-{}", std::process::id()));
    let place = folder.to_str().unwrap();
    let report = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tracedrop"))
            .current_dir(own_dir("pytorch"))
            .arg("report")
            .args(args)
            .output();
        output.unwrap()
    };
    let names = || -> Vec<String> {
        let names = std::fs::read_dir(&folder).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let output = report(&[A, "--report", "gpu-kernels", "--format", "svg", "-o", place]);
    assert!(
        output.status.success() && output.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(names(), ["gpu-kernels-durations.svg", "gpu-kernels-operations.svg"]);
    let text = std::fs::read_to_string(folder.join("gpu-kernels-operations.svg")).unwrap();
    assert!(text.starts_with("<svg ") && text.contains(">Time by operation</text>"));
    // With several files, each has its own.
    assert!(report(&[A, B, "--report", "gpu-breakdown", "--format", "svg", "-o", place]).status.success());
    assert_eq!(names().iter().filter(|name| name.contains("json.gz-gpu-breakdown")).count(), 2);
    assert!(compare(&[A, B, "--format", "svg", "-o", place]).status.success());
    assert!(names().iter().any(|name| name.starts_with("compare-gpu")));
    std::fs::remove_dir_all(&folder).unwrap();
    // A folder with another format is an error; without a folder, a single chart goes to standard output.
    assert_eq!(report(&[A, "-o", place]).status.code(), Some(2));
    assert!(report(&[A, "--format", "svg"]).stdout.starts_with(b"<svg "));
    assert_eq!(report(&[A, B, "--format", "svg"]).status.code(), Some(2));
    assert_eq!(code(&[A, B, "--format", "svg"]), 0);
}

/// Timelines of both sides: in the HTML page, and alone as a picture.
#[test]
fn timelines_are_drawn_a_above_b() {
    let text = |args: &[&str]| {
        let output = compare(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let html = text(&[A, B, "--format", "html"]);
    assert!(html.contains("id=\"timeline\"") && html.contains("A above B on one scale"), "{}", html.len());
    assert!(html.contains("Kernels of the median step") && html.contains("times are those of A"));
    let svg = text(&[A, B, "--format", "svg", "--report", "timeline"]);
    assert!(svg.starts_with("<svg") && svg.contains("gemm"), "{}", svg.len());
    // Traces without GPUs have no kernels to align.
    let made = ["../situations/long-pause.json"; 2];
    let markdown = text(&[made[0], made[1], "--report", "timeline", "--format", "markdown"]);
    assert!(markdown.contains("aligned at their starts"), "{markdown}");
    // Without the report there is no timeline to make.
    assert!(!text(&[A, B, "--format", "html", "--report", "compare-gpu"]).contains("A above B"));
}
