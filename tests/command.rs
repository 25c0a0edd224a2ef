//! Outputs and exit codes of the command when something goes wrong.

#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const TRACE: &str = r#"[{"name":"=1+1","cat":"c","ph":"X","ts":1,"dur":5,"pid":1,"tid":1},{"name":"a\u001b[31m\u0007\u0000b","cat":"c","ph":"X","ts":9,"dur":3,"pid":1,"tid":1},{"name":"@property","cat":"c","ph":"X","ts":19,"dur":2,"pid":1,"tid":1}]"#;

fn folder(name: &str) -> PathBuf {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("a.json"), TRACE).unwrap();
    dir
}

fn tracedrop(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tracedrop"));
    command.current_dir(dir).stdin(Stdio::null());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn an_output_is_replaced_once_all_of_it_is_written() {
    let dir = folder("replaced");
    fs::write(dir.join("out.json"), "before").unwrap();
    std::os::unix::fs::symlink("out.json", dir.join("link.json")).unwrap();
    let export = |to: &str, out: &str| {
        tracedrop(&dir).args(["export", "a.json", "--to", to, "-o", out]).output().unwrap()
    };
    // A failed export leaves the old file.
    assert_eq!(export("collapsed-samples", "out.json").status.code(), Some(1));
    assert_eq!(fs::read_to_string(dir.join("out.json")).unwrap(), "before");
    assert!(export("chrome-trace", "link.json").status.success());
    assert!(fs::read_to_string(dir.join("out.json")).unwrap().contains("traceEvents"));
    assert!(fs::symlink_metadata(dir.join("link.json")).unwrap().is_symlink());
    let refused = export("chrome-trace", "no/such/folder.json");
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert_eq!(names(&dir), ["a.json", "link.json", "out.json"]);
}

/// With a limited file size, as on a full disk, only the failed output is gone.
#[test]
fn a_full_disk_leaves_what_was_there() {
    let dir = folder("full");
    fs::write(dir.join("out.html"), "before").unwrap();
    let program = env!("CARGO_BIN_EXE_tracedrop");
    let limited = format!("trap '' XFSZ; ulimit -f 1; exec '{program}' export a.json --to html -o out.html");
    let output = Command::new("sh").current_dir(&dir).args(["-c", &limited]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("cannot write out.html"), "{}", said(&output));
    assert_eq!(fs::read_to_string(dir.join("out.html")).unwrap(), "before");
    assert_eq!(names(&dir), ["a.json", "out.html"]);
}

/// Ctrl-C while an output is written leaves the old file, and nothing unfinished.
#[test]
fn ctrl_c_leaves_what_was_there() {
    let dir = folder("interrupted");
    // So many events that writing them takes a while.
    let mut trace = fs::File::create(dir.join("long.json")).unwrap();
    trace.write_all(b"[").unwrap();
    for i in 0..400_000 {
        let comma = if i == 0 { "" } else { "," };
        write!(trace, "{comma}{{\"name\":\"op {i}\",\"ph\":\"X\",\"ts\":{i},\"dur\":1,\"pid\":1,\"tid\":1}}")
            .unwrap();
    }
    trace.write_all(b"]").unwrap();
    drop(trace);
    fs::write(dir.join("out.json"), "before").unwrap();
    let before = names(&dir);
    let mut child = tracedrop(&dir)
        .args(["export", "long.json", "--to", "chrome-trace", "-o", "out.json"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while names(&dir) == before {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it wrote anything");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_to_string(dir.join("out.json")).unwrap(), "before");
    assert_eq!(names(&dir), before);
}

#[test]
fn output_that_cannot_be_written_ends_with_2() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let dir = folder("devfull");
    for args in [
        &["report", "a.json"][..],
        &["report", "a.json", "--format", "csv"],
        &["report", "--list"],
        &["export", "a.json", "--to", "chrome-trace"],
        &["export", "a.json", "--to", "chrome-trace", "-o", "/dev/full"],
        &["formats"],
        &["rules", "kernels"],
        &["compare", "a.json", "a.json"],
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = tracedrop(&dir).args(args).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains("cannot write"), "{args:?}: {}", said(&output));
    }
    let missing = tracedrop(&dir).args(["report", "missing.json"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(1));
}

#[test]
fn a_named_pipe_is_read_once() {
    let dir = folder("pipe");
    for args in [
        &["report", "pipe"][..],
        &["export", "pipe", "--to", "link"],
        &["export", "pipe", "--to", "tracedrop"],
        &["export", "pipe", "--to", "chrome-trace"],
    ] {
        let pipe = dir.join("pipe");
        let _ = fs::remove_file(&pipe);
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let child = tracedrop(&dir).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let writer = std::thread::spawn(move || {
            fs::OpenOptions::new().write(true).open(pipe).unwrap().write_all(TRACE.as_bytes()).unwrap();
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(output.status.success(), "{args:?}: {}", said(&output));
        assert!(!output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn control_characters_and_formulas_of_names_do_nothing() {
    let dir = folder("controls");
    for format in ["csv", "markdown", "terminal", "html"] {
        let output = tracedrop(&dir).args(["report", "a.json", "--format", format]).output().unwrap();
        assert!(output.status.success());
        assert!(!output.stdout.iter().any(|byte| matches!(byte, 0x1b | 7 | 0)), "{format}");
    }
    let csv =
        tracedrop(&dir).args(["report", "a.json", "--format", "csv", "--table", "slices"]).output().unwrap();
    let csv = String::from_utf8(csv.stdout).unwrap();
    assert!(csv.contains("\r\n'=1+1,") && csv.contains("\r\n@property,"), "{csv}");
}

#[test]
fn an_export_that_has_nothing_to_write_says_what_it_needs() {
    let dir = folder("needs");
    let output = tracedrop(&dir).args(["export", "a.json", "--to", "collapsed-samples"]).output().unwrap();
    assert!(said(&output).contains("needs samples;"), "{}", said(&output));
    let formats = tracedrop(&dir).arg("formats").output().unwrap();
    assert!(String::from_utf8_lossy(&formats.stdout).contains("needs memory accesses"));
}

#[test]
fn secrets_are_shown_on_request_only() {
    let dir = folder("secrets");
    fs::write(dir.join("s.json"), r#"{"metadata":{"argv":["x","--api-key","FAKE0001"]},"traceEvents":[{"name":"a","ph":"X","ts":1,"dur":1,"args":{"url":"http://a:FAKE0002@b"}}]}"#).unwrap();
    let run = |more: &[&str]| {
        let output =
            tracedrop(&dir).args(["export", "s.json", "--to", "chrome-trace"]).args(more).output().unwrap();
        (String::from_utf8_lossy(&output.stdout).matches("FAKE").count(), said(&output))
    };
    let (n, words) = run(&[]);
    assert_eq!(n, 0);
    assert!(
        words.contains("hidden in reports and exports")
            && words.contains("1 password, token or key in arguments"),
        "{words}"
    );
    assert_eq!(run(&["--show-secrets"]).0, 2);
}

/// Reports that are made only on demand are made of several files too.
#[test]
fn several_files_have_the_reports_that_are_asked_for() {
    let dir = folder("on-demand");
    fs::write(dir.join("a.txt"), "main;work 3\nmain;rest 1\n").unwrap();
    fs::write(dir.join("b.txt"), "main;work 5\n").unwrap();
    let report = |id: &str, files: &[&str]| {
        let arguments = ["report", "--quiet", "--together", "--report", id];
        let output = tracedrop(&dir).args(arguments).args(files).output().unwrap();
        assert!(output.status.success(), "{id}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(report("flame-graph", &["a.txt", "b.txt"]).contains("b.txt"));
    assert!(report("timeline", &["a.json", "a.json"]).contains("Timeline"));
    // Each section says which file it is of.
    let text = report("stack-functions", &["a.txt", "b.txt"]);
    for title in ["Stacks by samples: a.txt", "Functions by samples: b.txt", "a.txt: work "] {
        assert!(text.contains(title), "{title}: {text}");
    }
}

#[test]
fn rows_are_chosen_by_a_filter() {
    let dir = folder("filter");
    let report = |filter: &str| {
        let arguments =
            ["report", "--quiet", "--format", "json", "--report", "slices", "--where", filter, "a.json"];
        tracedrop(&dir).args(arguments).output().unwrap()
    };
    let output = report("name=@property total>1us");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("@property") && !text.contains("[\"=1+1\""), "{text}");
    let output = report("total>1");
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("1 needs a unit: total>1ms") && text.contains("^^^^^^^"), "{text}");
    // A filter may look like an option.
    for command in [&["report", "a.json"][..], &["compare", "a.json", "a.json"]] {
        let output = tracedrop(&dir).args(command).args(["--where", "-property"]).output().unwrap();
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(output.status.success() && !text.contains("property"), "{text}{}", said(&output));
    }
    let output = tracedrop(&dir).args(["report", "a.json", "--only", "-1..2"]).output().unwrap();
    assert!(said(&output).contains("'-1' is not a time after the start"), "{}", said(&output));
    // There are samples, but no times.
    fs::write(dir.join("a.folded"), "main;f 1\n").unwrap();
    let output = tracedrop(&dir).args(["report", "a.folded", "--only", "1..2"]).output().unwrap();
    assert!(said(&output).contains("--only needs times, and this file has none"), "{}", said(&output));
    let output = tracedrop(&dir).args(["export", "a.folded", "--to", "collapsed"]).output().unwrap();
    assert!(
        said(&output).contains("Export as Collapsed stacks (samples) (collapsed-samples)"),
        "{}",
        said(&output)
    );
}

/// One file with samples and slices: `self` is a time in two tables and counts samples in the third.
#[test]
fn tables_that_a_filter_leaves_out_are_named() {
    let dir = folder("left-out");
    let trace = r#"{"traceEvents":[{"ph":"X","name":"s1","pid":1,"tid":1,"ts":0,"dur":100},
        {"ph":"P","name":"x","pid":1,"tid":1,"ts":5,"sf":1},{"ph":"P","name":"x","pid":1,"tid":1,"ts":6,"sf":2}],
        "stackFrames":{"1":{"name":"main","category":"py"},"2":{"name":"leaf","category":"py","parent":"1"}}}"#;
    fs::write(dir.join("mixed.json"), trace).unwrap();
    let report = |filter: &str| {
        let arguments = ["report", "mixed.json", "--report", "slices", "--format", "csv", "--where", filter];
        let output = tracedrop(&dir).args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap(), said(&output))
    };
    let (code, text, message) = report("self>10us");
    assert_eq!(code, Some(0), "{message}");
    assert!(text.contains("\ns1,") && !text.contains("leaf"), "{text}");
    let note = "note: --where leaves out 1 table without its columns or units: Samples by frame";
    assert!(message.contains(note), "{message}");
    let (code, _, message) = report("self>1");
    assert!(code == Some(2) && message.contains("1 needs a unit"), "{message}");
    // Columns of all tables, not of the first one.
    let (code, _, message) = report("zzz=1");
    assert!(code == Some(2) && message.contains("kind") && message.contains("samples"), "{message}");
    let compared = tracedrop(&dir).args(["compare", "a.json", "a.json", "--where", "/(/"]).output().unwrap();
    assert_eq!(compared.status.code(), Some(2), "{}", said(&compared));
    // Of several files, those that have the columns are written.
    let some = ["report", "mixed.json", "a.json", "--format", "csv", "--where", "samples>0"];
    let output = tracedrop(&dir).args(some).output().unwrap();
    assert!(output.status.code() == Some(1) && !output.stdout.is_empty(), "{}", said(&output));
}

/// Rows of two files; a column says which file a row is of.
#[test]
fn several_files_are_one_table_in_csv() {
    let dir = folder("csv-of-several");
    fs::write(dir.join("b.json"), r#"[{"name":"b","ph":"X","ts":0,"dur":7,"pid":1,"tid":1}]"#).unwrap();
    let csv = |arguments: &[&str]| {
        let output = tracedrop(&dir).args(["report", "--format", "csv"]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let one = csv(&["b.json", "--table", "slices"]);
    let text = csv(&["a.json", "b.json", "--table", "slices"]);
    let lines: Vec<&str> = text.lines().collect();
    // A header, three slices, one slice.
    assert_eq!(lines.len(), 5, "{text}");
    let (header, row) = one.split_once("\r\n").unwrap();
    assert_eq!(lines[0], format!("file,{header}"));
    assert!(lines[1..4].iter().all(|line| line.starts_with("a.json,")), "{text}");
    assert_eq!(lines[4], format!("b.json,{}", row.trim_end()));
    // A file without the table is named, and the others are written.
    fs::write(dir.join("s.folded"), "main;work 3\n").unwrap();
    let some = ["report", "--format", "csv", "--table", "slices"];
    let output = tracedrop(&dir).args(some).args(["a.json", "s.folded", "b.json"]).output().unwrap();
    assert!(output.status.code() == Some(1) && said(&output).contains("s.folded: unknown table 'slices'"));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), text);
    let output = tracedrop(&dir).args(some).args(["s.folded", "s.folded"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    // Whole documents start with their names, after an empty line.
    assert!(csv(&["a.json", "b.json"]).contains("\r\n\r\nb.json\r\n"));
}

/// Notes beside traces are skipped, and are all that a folder without traces has to show.
#[test]
fn texts_beside_traces_are_skipped() {
    let dir = folder("texts");
    for name in ["traces", "texts"] {
        fs::create_dir(dir.join(name)).unwrap();
        fs::write(dir.join(name).join("README.txt"), "Measured on Monday.\n").unwrap();
        fs::write(dir.join(name).join("settings.txt"), "The batch size is eight.\n").unwrap();
    }
    fs::write(dir.join("traces/a.json"), TRACE).unwrap();
    fs::write(dir.join("traces/stacks.txt"), "main;parse 12\nmain;write 3\n").unwrap();
    let run = |arguments: &[&str]| tracedrop(&dir).args(arguments).output().unwrap();
    let output = run(&["report", "traces"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", said(&output));
    assert!(text.contains("==> traces/a.json <==") && text.contains("==> traces/stacks.txt <=="), "{text}");
    assert_eq!(
        said(&output),
        "tracedrop: traces/settings.txt: note: skipped: text, but not a supported trace\n"
    );
    let refused = run(&["report", "texts"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("texts/settings.txt: unrecognized trace format"), "{}", said(&refused));
}

/// The list is as long as asked for; 0 leaves it out, as with the list of slowest forward passes.
#[test]
fn lists_of_longest_slices_have_as_many_rows_as_asked_for() {
    let dir = folder("top");
    let n_rows = |top: &str| {
        let arguments = ["report", "a.json", "--quiet", "--top", top, "--format", "csv"];
        let output = tracedrop(&dir).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let (_, list) = text.split_once("Longest thread slices\r\n").unwrap_or_default();
        list.lines().skip(1).take_while(|line| !line.is_empty()).count()
    };
    assert_eq!([n_rows("0"), n_rows("2"), n_rows("10")], [0, 2, 3]);
}

#[test]
fn amounts_are_shown_as_percent_of_all_rows_and_per_step() {
    let dir = folder("amounts");
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/samples/gpu-serving.json");
    let report = |arguments: &[&str], file: &Path| {
        let common = ["report", "--quiet", "--format", "csv"];
        tracedrop(&dir).args(common).args(arguments).arg(file).output().unwrap()
    };
    let table = |arguments: &[&str], file: &Path| {
        let output = report(arguments, file);
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let slices = ["--report", "slices", "--table", "slices"];
    let percent =
        table(&[&slices[..], &["--show", "percent", "--where", "property"]].concat(), Path::new("a.json"));
    let lines: Vec<&str> = percent.lines().collect();
    assert!(lines[0].contains("total"), "{percent}");
    // 2 of 10 microseconds, 1 of 3 slices. The share of self time is in a column of its own, so self time stays as it is.
    assert!(lines[0].contains(",count_share_ratio,total_share_ratio,self_ns,self_share_ratio,"), "{percent}");
    assert!(lines.len() == 2 && lines[1].contains(",0.3333333333333333,0.2,2000,0.2,"), "{percent}");
    // Only the report of the kernels is asked for; the number of steps is in another one.
    let kernels = ["--report", "gpu-kernels", "--table", "kernels"];
    let absolute = table(&kernels, &trace);
    let per_step = table(&[&kernels[..], &["--show", "per-step"]].concat(), &trace);
    assert!(absolute.lines().next().is_some_and(|header| header.contains(",count,total_ns,")), "{absolute}");
    assert!(
        per_step.lines().next().is_some_and(|header| header.contains(",count_per_step,total_per_step_ns,"))
    );
    let count = |text: &str, heading: &str| -> Vec<f64> {
        let at = text.lines().next().unwrap().split(',').position(|it| it.starts_with(heading)).unwrap();
        text.lines()
            .skip(1)
            .filter_map(|line| {
                line.split(',')
                    .rev()
                    .nth(text.lines().next().unwrap().split(',').count() - 1 - at)?
                    .parse()
                    .ok()
            })
            .collect()
    };
    let (all, each) = (count(&absolute, "count"), count(&per_step, "count"));
    assert!(all.len() > 3 && all.len() == each.len(), "{per_step}");
    let n_steps = all[0] / each[0];
    assert!(n_steps > 1.5 && all.iter().zip(&each).all(|(all, each)| (all / each - n_steps).abs() < 1e-6));
    let refused = report(&["--show", "per-step"], Path::new("a.json"));
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("doesn't have several steps"), "{}", said(&refused));
}

/// What needs Python, or an agent, says so.
#[test]
fn sql_and_agents_have_instructions() {
    let dir = folder("instructions");
    let sql = tracedrop(&dir).args(["sql", "a.json", "select 1"]).output().unwrap();
    assert_eq!(sql.status.code(), Some(2));
    assert!(said(&sql).contains("pip install 'tracedrop[sql]'"), "{}", said(&sql));
    let guide = tracedrop(&dir).arg("agent-guide").output().unwrap();
    assert!(guide.status.success() && String::from_utf8_lossy(&guide.stdout).contains("tracedrop check"));
    let mcp = tracedrop(&dir).args(["mcp", "no-such-folder"]).output().unwrap();
    assert_eq!(mcp.status.code(), Some(2));
    let check = tracedrop(&dir).args(["check", "00000000/a/b/c/d=1"]).output().unwrap();
    assert_eq!(check.status.code(), Some(1));
    assert!(check.stdout.starts_with(b"cannot tell, because "));
    let check = tracedrop(&dir).args(["check", "00000000/a/b/c/d=1", "--in", "nowhere"]).output().unwrap();
    assert_eq!(check.status.code(), Some(2));
    assert!(said(&check).contains("--in nowhere: no such file or folder"), "{}", said(&check));
    let mcp = tracedrop(&dir).args(["mcp", ".", "--exports", "nowhere"]).output().unwrap();
    assert!(said(&mcp).contains("--exports nowhere: "), "{}", said(&mcp));
}

/// Answers of the server for agents to these questions, in order, about the situations.
fn answers(asks: &[(&str, String)]) -> Vec<String> {
    answers_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/situations"), asks)
}

/// The same about the traces in `dir`.
fn answers_in(dir: &Path, asks: &[(&str, String)]) -> Vec<String> {
    let ask = |(name, arguments): &(&str, String)| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        )
    };
    let lines: Vec<String> = asks.iter().map(ask).collect();
    let mut command = tracedrop(dir);
    command.args(["mcp", "."]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    server.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
    let out = String::from_utf8(server.wait_with_output().unwrap().stdout).unwrap();
    let text = |line: &str| {
        let reply: serde_json::Value = serde_json::from_str(line).unwrap();
        reply["result"]["content"][0]["text"].as_str().unwrap().to_string()
    };
    out.lines().map(text).collect()
}

/// The question that opens these paths, by themselves or together.
fn open_of(paths: &[&str], together: bool) -> (&'static str, String) {
    ("open", format!(r#"{{"paths":{paths:?},"together":{together},"max_bytes":65536}}"#))
}

/// The handle in an answer to opening.
fn handle_of(answer: &str) -> &str {
    answer.split([' ', ':']).nth(1).unwrap()
}

/// What a comparison says first on the page comes first for agents too.
#[test]
fn agents_read_the_headline_and_warnings_of_a_comparison() {
    let open = |name: &str| ("open", format!(r#"{{"paths":["{name}.json"]}}"#));
    let files = ["graphs-all-recorded", "graphs-every-second-recorded"];
    let opened = answers(&files.map(open));
    let [a, b] = [0, 1].map(|side| opened[side].split([' ', ':']).nth(1).unwrap().to_string());
    // The warning of the findings is that of another report too.
    assert_eq!(opened[1].matches("have no timed device record").count(), 1, "{}", opened[1]);
    let compare = |a: &str, b: &str| ("compare", format!(r#"{{"a":"{a}","b":"{b}","max_bytes":20000}}"#));
    let all = answers(&[open(files[0]), open(files[1]), compare(&a, &b), compare(&a, &a)]);
    let [.., changed, same] = &all[..] else { panic!("{all:?}") };
    let lines: Vec<&str> = changed.lines().collect();
    assert!(lines[2].starts_with("compare-gpu: \""), "{changed}");
    assert!(lines[3].starts_with("warning: \"B is incomplete: "), "{changed}");
    let first = lines.iter().position(|line| line.starts_with("difference: ")).unwrap();
    assert!(lines[first - 1].starts_with("Largest changes: \"Differences "), "{changed}");
    assert!(lines[first].contains("a = ") || lines[first].contains("b = "), "{changed}");
    assert!(same.starts_with("nothing found: \"No changes.\" \"No changes in “Operators”.\" "), "{same}");
    assert!(same.contains("\ncompare-gpu: \"No change: "), "{same}");
}

/// A number is right as an answer shows it, with its sign: the finding of a comparison, `difference: +5.000 µs, 3.3%: …`.
#[test]
fn differences_are_checked_with_their_sign() {
    let open = |name: &str| ("open", format!(r#"{{"paths":["{name}.json"]}}"#));
    let files = ["one-large-change", "one-large-change-after"].map(open);
    let opened = answers(&files);
    let [a, b] = [0, 1].map(|side| opened[side].split([' ', ':']).nth(1).unwrap().to_string());
    let compare = ("compare", format!(r#"{{"a":"{a}","b":"{b}","max_bytes":20000}}"#));
    let all = answers(&[files[0].clone(), files[1].clone(), compare]);
    let line = all[2].lines().find_map(|line| line.strip_prefix("difference: ")).unwrap();
    let shown = line.split([',', ':']).next().unwrap();
    assert!(shown.starts_with(['+', '−']), "{line}");
    let other = match shown.strip_prefix('+') {
        Some(rest) => format!("−{rest}"),
        None => shown.replace('−', "+"),
    };
    let check = |value: &str| {
        let claim = format!("{a}-{b}/finding/difference/time_ns={value}");
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/situations");
        let output =
            tracedrop(Path::new(".")).arg("check").arg(claim).arg("--in").arg(place).output().unwrap();
        output.status.code()
    };
    let typed = shown.replace('−', "-").replace('µ', "u");
    assert_eq!([shown, &typed, &other].map(check), [Some(0), Some(0), Some(1)], "{line}");
}

/// Steps of a server, one after another: a kernel in each, which is a prefill or a decode and takes so many microseconds.
fn serving(steps: &[(bool, u64)]) -> String {
    let mut start = 0;
    let mut events = Vec::new();
    for (number, (is_prefill, us)) in steps.iter().enumerate() {
        let name = match is_prefill {
            true => "execute_context_1(100)_generation_0(0)",
            false => "execute_context_0(0)_generation_8(8)",
        };
        let (step_us, launch, kernel) = (us + 95, start + 5, start + 20);
        let ids = format!(r#""args":{{"correlation":{}}}"#, number + 1);
        events.extend([
            format!(r#"{{"ph":"X","cat":"user_annotation","name":"{name}","pid":1,"tid":1,"ts":{start},"dur":{step_us}}}"#),
            format!(r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{launch},"dur":2,{ids}}}"#),
            format!(r#"{{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{kernel},"dur":{us},{ids}}}"#),
        ]);
        start += us + 100;
    }
    format!(r#"{{"traceEvents":[{}]}}"#, events.join(",\n"))
}

/// Prefills take 300 µs in A and 600 µs in B, decodes 100 and 150 µs. Each phase has numbers of its own, so it has its own ids, and
/// both numbers are right.
#[test]
fn a_comparison_of_one_phase_has_its_own_ids() {
    let dir = folder("phases");
    let steps = |prefill: u64, decode: u64| {
        let decodes = [(false, decode)].repeat(9);
        [vec![(true, prefill)], decodes].concat().repeat(2)
    };
    fs::write(dir.join("before.json"), serving(&steps(300, 100))).unwrap();
    fs::write(dir.join("after.json"), serving(&steps(600, 150))).unwrap();
    let files = ["before.json", "after.json"].map(|name| open_of(&[name], false));
    let opened = answers_in(&dir, &files);
    let [a, b] = [0, 1].map(|side| handle_of(&opened[side]));
    let of_phase = |phase: &str| ("compare", format!(r#"{{"a":"{a}","b":"{b}","phase":"{phase}"}}"#));
    let phases = ["all", "prefill", "decode"].map(of_phase);
    let all = answers_in(&dir, &[&files[..], &phases].concat());
    assert!(all[2].contains(&format!("handle of the comparison: {a}-{b} ")), "{}", all[2]);
    for (answer, phase, time) in [(&all[3], "prefill", "+300.0 µs"), (&all[4], "decode", "+50.00 µs")] {
        assert!(answer.contains(&format!("\ndifference: {time}, ")), "{answer}");
        assert!(answer.contains(&format!("handle of the comparison: {a}-{b}-{phase} ")), "{answer}");
        let claim = format!("{a}-{b}-{phase}/finding/difference/time_ns={time}");
        let check = tracedrop(&dir).args(["check", &claim]).output().unwrap();
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    }
    let claim = format!("{a}-{b}-decoding/finding/difference/time_ns=1");
    let check = tracedrop(&dir).args(["check", &claim]).output().unwrap();
    assert!(check.stdout.starts_with(b"cannot tell, because phase is all, prefill or decode: "));
}

/// Up to eight traces stay open: the ninth closes the one that was not used for longest, and that is said.
#[test]
fn the_handle_that_was_not_used_for_longest_is_closed() {
    let dir = folder("many-open");
    let names: Vec<String> = (0..9).map(|number| format!("{number}.json")).collect();
    for (number, name) in (2..).zip(&names) {
        fs::write(dir.join(name), serving(&[(true, 100 * number)])).unwrap();
    }
    let open: Vec<(&str, String)> = names.iter().map(|name| open_of(&[name], false)).collect();
    let opened = answers_in(&dir, &open);
    let handles: Vec<&str> = opened.iter().map(|answer| handle_of(answer)).collect();
    let findings = |at: usize| ("findings", format!(r#"{{"handle":"{}"}}"#, handles[at]));
    let asks = [&open[..8], &[findings(0), open[1].clone(), open[8].clone()]].concat();
    let asks = [&asks[..], &[findings(0), findings(1), findings(2), findings(3)]].concat();
    let all = answers_in(&dir, &asks);
    let [first, second, third, fourth] = &all[11..] else { panic!("{all:?}") };
    for open in [first, second, fourth] {
        assert!(!open.starts_with("wrong question"), "{open}");
    }
    let closed = format!("wrong question: '{}' was closed, because up to 8 stay open ", handles[2]);
    assert!(third.starts_with(&closed), "{third}");
}

/// A trace that is open already has the same answer, with its parsing issues.
#[test]
fn opening_again_answers_the_same() {
    let dir = folder("open-again");
    fs::write(dir.join("cut.json"), &TRACE[..TRACE.len() - 10]).unwrap();
    let open = open_of(&["cut.json"], false);
    let all = answers_in(&dir, &[open.clone(), open]);
    assert!(all[0].contains("\nparsing: \""), "{}", all[0]);
    assert_eq!(all[1], all[0]);
}

/// Of two ranks, the second has no launches and is cut in its second kernel: each is said of this file, and the grade is the lowest.
/// The first kernels take 300 and 400 µs, which is the GPU time of each rank; that of the second has a number.
#[test]
fn agents_read_what_one_of_several_ranks_lacks() {
    let dir = folder("unlike-ranks");
    let without_launches = |text: String| {
        text.lines().filter(|line| !line.contains("cudaLaunch")).collect::<Vec<_>>().join("\n")
    };
    let second = without_launches(serving(&[(true, 400), (true, 400)]));
    fs::write(dir.join("rank0.json"), serving(&[(true, 300)])).unwrap();
    fs::write(dir.join("rank1.json"), &second[..second.len() - 20]).unwrap();
    let open = open_of(&["rank0.json", "rank1.json"], true);
    let opened = &answers_in(&dir, std::slice::from_ref(&open))[0];
    for line in [
        "detail grade: D (A to D), the lowest: \"rank1.json\"",
        "recorded: device records (needed for idle time, step time, time per token)",
        "not recorded in \"rank1.json\": launches; cannot answer: ",
        "not recorded in \"rank1.json\": whole file; cannot answer: ",
        "not recorded: modules; cannot answer: ",
    ] {
        assert!(opened.contains(&format!("\n{line}")), "{line}: {opened}");
    }
    assert!(opened.contains("; of \"GPU: rank1.json\": fact/gpu_time~2, …"), "{opened}");
    let id = format!("{}/gpu-breakdown/fact/gpu_time", handle_of(opened));
    let explain = |id: String| ("explain", format!(r#"{{"id":"{id}"}}"#));
    let all = answers_in(&dir, &[open, explain(id.clone()), explain(format!("{id}~2"))]);
    assert!(
        all[1].starts_with(&format!("{id} = 300.0 µs ")) && all[1].contains("\"GPU: rank0.json\""),
        "{}",
        all[1]
    );
    assert!(
        all[2].starts_with(&format!("{id}~2 = 400.0 µs ")) && all[2].contains("\"GPU: rank1.json\""),
        "{}",
        all[2]
    );
}

/// Numbers of ranks that were opened together are checked with their folder, which may be below, or with all files in their order.
/// The first rank computes for 300 µs, the second for 400 µs.
#[test]
fn numbers_of_several_ranks_can_be_checked() {
    let dir = folder("ranks-to-check");
    let ranks = dir.join("runs/monday");
    fs::create_dir_all(&ranks).unwrap();
    for (name, us) in [("rank0.json", 300), ("rank1.json", 400)] {
        fs::write(ranks.join(name), serving(&[(true, us)])).unwrap();
    }
    let files = ["runs/monday/rank0.json", "runs/monday/rank1.json"];
    let opened = answers_in(&dir, &[open_of(&["runs/monday"], true), open_of(&files, false)]);
    let check = |handle: &str, places: &[&str]| {
        let claim = format!("{handle}/gpu-breakdown/fact/gpu_time~2=400.0 us");
        let places = places.iter().flat_map(|place| ["--in", place]);
        let output = tracedrop(&dir).arg("check").arg(claim).args(places).output().unwrap();
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.success(), out.starts_with("ok: "), "{out}");
        output.status.success()
    };
    let [folder, paths] = [0, 1].map(|at| handle_of(&opened[at]));
    assert!(check(folder, &["."]) && check(folder, &["runs"]) && check(folder, &["runs/monday"]));
    assert!(check(paths, &files) && !check(paths, &[files[1], files[0]]) && !check(paths, &["."]));
}

/// A folder of several traces is not opened as one run unless asked for: the error lists them whole, so that one can be chosen.
#[test]
fn several_traces_in_a_folder_are_listed() {
    let dir =
        folder("listed").join("a-folder-with-a-long-name-so-that-no-path-in-it-fits-into-eighty-characters");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("one.json"), TRACE).unwrap();
    fs::write(dir.join("two.json"), TRACE).unwrap();
    let all = answers_in(&dir, &[open_of(&["."], false), open_of(&["."], true)]);
    let start = "wrong question: several traces: open one of them, or all as the ranks of one run, with together=true: ";
    let names = all[0].strip_prefix(start).unwrap_or_else(|| panic!("{}", all[0]));
    let names: Vec<&str> = names.trim_end().trim_matches('"').split("\", \"").collect();
    let names: Vec<Option<&str>> = names.iter().map(|name| Path::new(name).file_name()?.to_str()).collect();
    assert_eq!(names, [Some("one.json"), Some("two.json")], "{}", all[0]);
    assert!(all[1].starts_with("handle "), "{}", all[1]);
}

/// Five names with a fifth of the time each: none stands out, and that was looked for. Allocations have times, but nothing is drawn.
#[test]
fn agents_read_why_there_are_no_findings_or_times() {
    let dir = folder("nothing-stands-out");
    let slice = |at: u64| format!(r#"{{"name":"f{at}","ph":"X","ts":{},"dur":9,"pid":1,"tid":1}}"#, 10 * at);
    fs::write(dir.join("even.json"), format!("[{}]", [0, 1, 2, 3, 4].map(slice).join(","))).unwrap();
    let situations = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/situations");
    fs::copy(situations.join("snapshot-with-events.pickle"), dir.join("m.pickle")).unwrap();
    let files = ["even.json", "m.pickle"].map(|name| open_of(&[name], false));
    let opened = answers_in(&dir, &files);
    let findings = ("findings", format!(r#"{{"handle":"{}"}}"#, handle_of(&opened[0])));
    let window = ("window", format!(r#"{{"handle":"{}","range":"0..1ms"}}"#, handle_of(&opened[1])));
    let all = answers_in(&dir, &[&files[..], &[findings, window]].concat());
    assert!(all[2].starts_with("nothing found: nothing stands out; "), "{}", all[2]);
    let why = "cannot tell, because nothing in this trace is drawn over time; ";
    assert!(all[3].starts_with(why), "{}", all[3]);
}

/// A wrong part of an id is an error that lists what there is in its place.
#[test]
fn errors_list_what_there_is() {
    let open = open_of(&["graphs-all-recorded.json"], false);
    let handle = &handle_of(&answers(std::slice::from_ref(&open))[0]).to_string();
    let explain = |rest: &str| ("explain", format!(r#"{{"id":"{handle}/{rest}"}}"#));
    let ids = [
        ("finding/host-bound/time_ns", "no finding 'host-bound'; there are: largest-"),
        (
            "finding/largest-operation/time",
            "no 'time' in finding 'largest-operation'; there are: time_ns, share",
        ),
        ("gpu-breakdown/fact/gpus", "no value 'gpus' in report 'gpu-breakdown'; there are: gpu_time, busy, "),
        ("gpu-kernels/kernels/0/total", "no such row in table 'kernels'; ask table for its rows"),
        ("window/0..1s/0/total", "no name '0' in 0..1s; ask window for its rows"),
    ];
    let asks: Vec<_> = ids.iter().map(|(id, _)| explain(id)).collect();
    let all = answers(&[&[open], &asks[..]].concat());
    for (answer, (_, start)) in all[1..].iter().zip(ids) {
        assert!(answer.starts_with(&format!("wrong question: {start}")), "{answer}");
    }
}

/// What was not recorded cannot be told; what no trace can have, or what doesn't fit into the answer, is a wrong question.
#[test]
fn agents_read_whether_the_data_or_the_question_is_wrong() {
    let open = ("open", r#"{"paths":["graphs-all-recorded.json"]}"#.to_string());
    let opened = answers(std::slice::from_ref(&open));
    let handle = opened[0].split([' ', ':']).nth(1).unwrap();
    let table = |rest: &str| ("table", format!(r#"{{"handle":"{handle}",{rest}}}"#));
    let all = answers(&[
        open,
        table(r#""report":"gpu-memory","table":"allocations""#),
        table(r#""report":"gpu-memory","table":"allocation""#),
        table(r#""report":"slices","table":"slices","max_bytes":399"#),
        table(r#""report":"slices","table":"slices","max_bytes":400"#),
    ]);
    let starts = [
        "cannot tell, because the data for this table is not in the trace: no ",
        "wrong question: no ",
        "wrong question: max_bytes is 399; the least is 400",
        "wrong question: max_bytes is too small for the next row",
    ];
    for (answer, start) in all[1..].iter().zip(starts) {
        assert!(answer.starts_with(start), "{answer}");
    }
}

/// Traces in folders of a folder are not lost in silence.
#[test]
fn folders_in_a_folder_are_named() {
    let dir = folder("nested");
    let inner = dir.join("ranks/rank0");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::create_dir_all(dir.join("empty")).unwrap();
    std::fs::copy(dir.join("a.json"), inner.join("b.json")).unwrap();
    let report = |dir: &str| {
        let output = tracedrop(&std::env::temp_dir()).args(["report", dir, "--report", "overview"]).output();
        let output = output.unwrap();
        (output.status.code(), said(&output))
    };
    let (code, words) = report(dir.to_str().unwrap());
    assert!(code == Some(0) && words.contains("are not read; name them to read them: ranks\n"), "{words}");
    let (code, words) = report(dir.join("ranks").to_str().unwrap());
    assert!(code == Some(1) && words.contains("name them to read them: rank0\n"), "{words}");
    let (code, words) = report(inner.to_str().unwrap());
    assert!(code == Some(0) && !words.contains("not read"), "{words}");
}

/// A test of a column that no table has is an error, and no search for the text.
#[test]
fn a_filter_of_an_unknown_column_is_an_error() {
    let dir = folder("filters");
    let slices = |filter: &str| {
        let mut command = tracedrop(&dir);
        command.args(["report", "a.json", "--report", "slices", "--format", "json", "--where", filter]);
        command.output().unwrap()
    };
    for filter in ["fase=decode", "fase!=decode", "fase>1"] {
        let output = slices(filter);
        assert_eq!(output.status.code(), Some(2), "{filter}");
        assert!(said(&output).contains("There is no column “fase” here"), "{}", said(&output));
    }
    let quoted = slices("\"fase=decode\"");
    assert_eq!(quoted.status.code(), Some(0), "{}", said(&quoted));
    // By the heading in CSV.
    assert_eq!(slices("self_ns>1ns").stdout, slices("self>1ns").stdout);
}

/// Data that is there is needed for an answer, and may not be enough for it. Memory has no time.
#[test]
fn agents_read_which_data_is_recorded() {
    let open = |name: &str| ("open", format!(r#"{{"paths":["{name}"]}}"#));
    let opened = answers(&["graphs-all-recorded.json", "snapshot-without-events.pickle"].map(open));
    assert!(opened[0].contains("\nrecorded: ") && opened[0].contains("\nnot recorded: "), "{}", opened[0]);
    assert!(!opened[0].contains("\ncan answer"), "{}", opened[0]);
    let handle = opened[1].split([' ', ':']).nth(1).unwrap();
    let findings = ("findings", format!(r#"{{"handle":"{handle}"}}"#));
    let found = &answers(&[open("snapshot-without-events.pickle"), findings])[1];
    assert!(found.contains("\nlive: 71.4%: \""), "{found}");
    let together = r#"{"paths":["sound-slices.json","late-launch.json"],"together":true}"#.to_string();
    let both = &answers(&[("open", together)])[0];
    assert!(both.contains("    \"sound-slices.json\": fact/"), "{both}");
}

/// Limits as a test report: names of traces and limits are text, not markup.
#[test]
fn limits_are_a_test_report() {
    let dir = folder("junit");
    fs::write(dir.join("a&b.json"), TRACE).unwrap();
    let args = ["compare", "a.json", "a&b.json", "--format", "junit", "--fail-on", "slices.slices.self > 1%"];
    let compared = tracedrop(&dir).args(args).output().unwrap();
    let text = String::from_utf8(compared.stdout.clone()).unwrap();
    assert!(compared.status.success(), "{}", said(&compared));
    assert!(text.contains(r#"<testsuites tests="2" failures="0" errors="0" time="0">"#), "{text}");
    assert!(text.contains("a&amp;b.json") && text.contains("slices.slices.self &gt; 1%"), "{text}");
}

/// What is alike in many files is said once: a fleet dataset has hundreds of parts.
#[test]
fn what_many_files_have_in_common_is_said_once() {
    let output = tracedrop(Path::new("."))
        .arg("report")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fleet"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("tracedrop: 10 files: note: no report shows this table of a fleet"), "{errors}");
    assert_eq!(errors.matches("no report shows").count(), 2, "{errors}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("16 files\n  Files     table=collectives/run=monday/part-"), "{text}");
    assert_eq!(text.matches("  Format    ").count(), 1, "{text}");
}

/// A Tracedrop file with its index opens with the settings it was made with.
#[test]
fn a_tracedrop_file_keeps_the_settings_of_its_sender() {
    let dir = folder("sent-settings");
    let access = |at: u64, page: u64, op: &str| {
        format!("app 100 [000] {at}.000000000: cpu/mem-{op}/P: {:x} f (/usr/lib/l.so)\n", page << 12)
    };
    let text: String = (1..5).map(|at| access(at, 0x30 + at % 2, "stores")).collect();
    fs::write(dir.join("m.txt"), text).unwrap();
    let ranges = r#"[{"addr_start": 196608, "addr_end": 204800, "region_type": "weight"}]"#;
    fs::write(dir.join("ranges.json"), ranges).unwrap();
    let run = |args: &[&str]| tracedrop(&dir).args(args).output().unwrap();
    let of_range = ["--report", "mrm", "--format", "csv", "--table", "kinds"];
    let made = run(&[
        "export",
        "m.txt",
        "--address-ranges",
        "ranges.json",
        "--to",
        "tracedrop",
        "--with-index",
        "-o",
        "m.tracedrop",
    ]);
    assert!(made.status.success(), "{}", said(&made));
    let sent = run(&[&["report", "m.txt", "--address-ranges", "ranges.json"], &of_range[..]].concat());
    let got = run(&[&["report", "m.tracedrop"], &of_range[..]].concat());
    assert!(String::from_utf8_lossy(&sent.stdout).contains("weight"), "{}", said(&sent));
    assert_eq!(String::from_utf8_lossy(&got.stdout), String::from_utf8_lossy(&sent.stdout), "{}", said(&got));
    assert!(!said(&got).contains("have no effect"), "{}", said(&got));
}
