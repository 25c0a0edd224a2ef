//! What is taken out is nowhere in what goes out, and what is left is as it was.

use crate::support::{data_dirs, files, import};
use std::collections::BTreeSet;
use std::io::Read;
use tracedrop::analysis::{self, Query};
use tracedrop::engine::format_title;
use tracedrop::export::redact::{Classes, Outgoing, Sort, outgoing};
use tracedrop::export::{self, Input, Options};
use tracedrop::report::{Cells, Content};
use tracedrop::trace::{Run, Trace};

const ALL: Classes = Classes { paths: true, hosts: true, symbols: true, arguments: true, prompts: true };

fn with<T>(run: &Run, redact: Classes, act: impl FnOnce(&Input<'_>) -> T) -> T {
    let reports = analysis::reports(run, &Query::default());
    let document = analysis::document(run, &reports, &format_title);
    let options = Options { redact, ..Options::default() };
    act(&Input::new(run, &document, &Query::default(), &options))
}

fn written(id: &str, run: &Run, redact: Classes) -> String {
    with(run, redact, |input| {
        let mut out = Vec::new();
        export::render(export::find(id).unwrap(), input, &mut out).unwrap();
        if id == "pprof" {
            // Its texts stand as they are between numbers.
            let mut unpacked = Vec::new();
            flate2::read::GzDecoder::new(&out[..]).read_to_end(&mut unpacked).unwrap();
            return String::from_utf8_lossy(&unpacked).into_owned();
        }
        // Some formats are binary.
        String::from_utf8_lossy(&out).into_owned()
    })
}

fn texts_of(id: &str, run: &Run, redact: Classes) -> Outgoing {
    with(run, redact, |input| outgoing(export::find(id).unwrap(), input).unwrap())
}

fn traces() -> Vec<(String, Trace)> {
    let mut traces = Vec::new();
    for (system, ending) in [
        ("chrome", ".json"),
        ("pytorch", ".gz"),
        ("pysampling", ".jsonl"),
        ("stacks", ".txt"),
        ("sway", ".jsonl"),
    ] {
        for path in data_dirs(system).iter().flat_map(|dir| files(dir, &[ending])) {
            let bytes = std::fs::read(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            if bytes.len() < 100_000
                && let Ok(trace) = import(&name, &bytes, None)
            {
                traces.push((name, trace));
            }
        }
    }
    traces
}

fn times(trace: &Trace) -> Vec<(i64, i64, u32)> {
    let slices = &trace.slices;
    let mut rows: Vec<_> =
        (0..slices.len()).map(|i| (slices.ts[i], slices.dur.get(i), slices.depth.get(i))).collect();
    rows.sort();
    rows
}

/// Names long enough that they are not by chance part of a word of the format.
fn long_names(trace: &Trace) -> BTreeSet<String> {
    let ids = trace.slices.name.iter().chain(&trace.frames.name);
    let functions = trace.profiles.iter().flat_map(|profile| &profile.frames.func);
    let names = ids.chain(functions).filter_map(|id| trace.strings.get_opt(*id));
    names.filter(|name| name.len() > 12 && !name.contains(['"', '\\'])).map(str::to_string).collect()
}

#[test]
fn no_name_of_code_is_left_and_times_stay() {
    let mut n_names = 0;
    for (name, trace) in traces() {
        let names = long_names(&trace);
        n_names += names.len();
        let run = Run::single(trace);
        let chrome = written("chrome-trace", &run, ALL);
        let categories: BTreeSet<&str> = run.traces[0]
            .slices
            .category
            .iter()
            .filter_map(|id| run.traces[0].strings.get_opt(*id))
            .collect();
        let is_also_else = |text: &str| {
            let trace = &run.traces[0];
            categories.contains(text)
                || trace
                    .threads
                    .name
                    .iter()
                    .chain(&trace.processes.name)
                    .chain(&trace.counter_series.name)
                    .any(|id| trace.strings.get(*id).contains(text))
        };
        for text in names.iter().filter(|text| !is_also_else(text)) {
            assert!(!chrome.contains(&format!("\"name\":\"{text}\"")), "{name}: {text}");
        }
        let before =
            import("before.json", written("chrome-trace", &run, Classes::default()).as_bytes(), None);
        let after = import("after.json", chrome.as_bytes(), None);
        match (before, after) {
            (Ok(before), Ok(after)) => assert_eq!(times(&after), times(&before), "{name}"),
            (before, after) => assert_eq!(before.is_ok(), after.is_ok(), "{name}"),
        }
        // In a report a name may be a word of ours as well; those with signs of code in them are not.
        for id in ["html", "link", "json"] {
            let text = if id == "link" {
                texts_of(id, &run, ALL).texts.into_iter().map(|(_, text, _)| text + "\n").collect()
            } else {
                written(id, &run, ALL)
            };
            for symbol in names.iter().filter(|symbol| symbol.contains("::") || symbol.contains('(')) {
                assert!(!text.contains(symbol.as_str()), "{name}: {id}: {symbol}");
            }
        }
    }
    assert!(n_names > 500, "{n_names}");
}

#[test]
fn the_preview_lists_what_is_written_and_nothing_that_was_taken_out() {
    let json = br#"[{"name":"load /srv/secret/model.bin","cat":"io","ph":"X","ts":1,"dur":5,"pid":1,"tid":1,
        "args":{"host":"blue-harbour","url":"https://db.corp/x","prompt":"Tell me","n":7,"list":["/etc/secret"],"none":""}}]"#;
    let run = Run::single(import("a.json", json, None).unwrap());
    let all = texts_of("chrome-trace", &run, Classes::default());
    let sort_of = |outgoing: &Outgoing, text: &str| {
        outgoing.texts.iter().find(|(_, known, _)| known == text).map(|(sort, ..)| *sort)
    };
    assert_eq!(sort_of(&all, "load /srv/secret/model.bin"), Some(Sort::Path));
    assert_eq!(sort_of(&all, "https://db.corp/x"), Some(Sort::Host));
    assert_eq!(sort_of(&all, "blue-harbour"), Some(Sort::Other));
    assert_eq!(sort_of(&all, "prompt"), Some(Sort::Key));
    // A text without letters says nothing.
    assert_eq!((sort_of(&all, "none"), sort_of(&all, "")), (Some(Sort::Key), None));
    let classes = Classes { paths: true, hosts: true, prompts: true, ..Classes::default() };
    let text = written("chrome-trace", &run, classes);
    for secret in ["/srv", "secret", "blue-harbour", "db.corp", "Tell me"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    assert!(text.contains(r#""name":"load [path "#) && text.contains(r#""n":7"#), "{text}");
    let left = texts_of("chrome-trace", &run, classes);
    assert_eq!(sort_of(&left, "load [path 1]"), Some(Sort::Token));
    let without_args = written("chrome-trace", &run, Classes { arguments: true, ..Classes::default() });
    assert!(!without_args.contains("blue-harbour") && without_args.contains("/srv/secret"));
}

/// A column of names of code that is declared as plain text would be redacted only where its names are found elsewhere.
#[test]
fn columns_of_names_are_declared_as_such() {
    let mut n_columns = 0;
    let mut wrong = BTreeSet::new();
    for (name, trace) in traces() {
        let names: BTreeSet<String> =
            long_names(&trace).into_iter().filter(|name| name.contains("::") || name.contains('(')).collect();
        let run = Run::single(trace);
        for report in &analysis::reports(&run, &Query::default()) {
            for (table, column) in
                report.tables().flat_map(|table| table.columns.iter().map(move |c| (table, c)))
            {
                let Cells::Text(cells) = &column.cells else { continue };
                let texts = || (0..cells.len()).filter_map(|row| cells.get(row));
                let is_name = texts().next().is_some() && texts().all(|text| names.contains(text));
                // Sequences and names of steps are texts in which names are found.
                let is_text = column.id == "sequence" || column.id == "step";
                if is_name && column.content == Content::Plain && !is_text {
                    wrong.insert(format!("{}: {}: {} ({name})", report.id, table.id, column.id));
                }
                n_columns += usize::from(is_name);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(n_columns > 50, "{n_columns}");
}

/// Whatever the file is called, and wherever a report names it: titles of tables of several traces, too.
#[test]
fn names_of_files_are_paths() {
    let lines = r#"[{"name":"aten::mm","cat":"cpu_op","ph":"X","ts":1,"dur":5,"pid":1,"tid":1},{"name":"gemm","cat":"kernel","ph":"X","ts":9,"dur":5,"pid":0,"tid":7,"args":{"device":0,"stream":7}}]"#;
    let names = ["acme-prod.perf", "acme-test.ndjson"];
    let traces = names.map(|name| import(name, lines.as_bytes(), None).unwrap());
    let run = Run { traces: traces.to_vec() };
    let paths = Classes { paths: true, ..Classes::default() };
    let mut n_named = 0;
    for exporter in
        export::EXPORTERS.iter().filter(|exporter| exporter.can_redact && (exporter.applies)(&run))
    {
        // Archives are no text; `tests/tracedrop_file.rs` looks into those.
        if exporter.media_type.ends_with("zip") || exporter.id == "tracedrop" {
            continue;
        }
        n_named += usize::from(written(exporter.id, &run, Classes::default()).contains("acme"));
        let out = written(exporter.id, &run, paths);
        assert!(!out.contains("acme"), "{}", exporter.id);
        let told = texts_of(exporter.id, &run, Classes::default());
        assert!(told.texts.iter().any(|(_, text, _)| text.contains("aten::mm")), "{}", exporter.id);
    }
    assert!(n_named > 5, "{n_named}");
}

/// What Tracedrop says of a trace is no prompt, however long the sentence; what the trace quotes in one is.
#[test]
fn own_sentences_are_no_prompts() {
    let prompt = "Write a long story about a lighthouse keeper who finds a letter in a bottle on the shore, and answers it every night for a whole year";
    let json = format!(
        r#"[{{"ph":"X","ts":1,"dur":9,"name":"{prompt}","pid":1,"tid":1}},{{"ph":"X","ts":2,"dur":2,"name":"step","pid":1,"tid":1}}]"#
    );
    let run = Run::single(import("a.json", json.as_bytes(), None).unwrap());
    let redact = Classes { prompts: true, ..Classes::default() };
    let whole = written("markdown", &run, Classes::default());
    let redacted = written("markdown", &run, redact);
    assert!(whole.contains(prompt) && !redacted.contains("lighthouse"), "{redacted}");
    // Each line without the prompt is as it was.
    let is_kept = |line: &&str| !line.contains("Write a long story");
    for line in whole.lines().filter(is_kept) {
        let words = line.trim_matches(['|', ' ', '_', '*']);
        assert!(words.contains("---") || redacted.contains(words) || words.is_empty(), "{line}\n{redacted}");
    }
    // The preview calls only what has the prompt one.
    let prompts = texts_of("markdown", &run, Classes::default()).texts;
    let prompts: Vec<_> = prompts.into_iter().filter(|(sort, ..)| *sort == Sort::Prompt).collect();
    assert!(!prompts.is_empty());
    for (_, text, _) in &prompts {
        assert!(text.contains("Write a long story"), "{text}");
    }
}

#[test]
fn symbols_alone_are_not_left_in_arguments_and_arguments_not_in_tables() {
    let (mut n_names, mut n_shapes) = (0, 0);
    for (name, trace) in traces() {
        let names = long_names(&trace);
        let run = Run::single(trace);
        let chrome = written("chrome-trace", &run, Classes { symbols: true, ..Classes::default() });
        for symbol in &names {
            // Categories and the names of tracks are texts of their own.
            let quoted = format!(": \"{symbol}\"").replace(": ", ":");
            let as_argument = chrome.matches(&quoted).count();
            let as_other =
                ["cat", "id"].iter().map(|key| chrome.matches(&format!("\"{key}\"{quoted}")).count());
            assert_eq!(as_argument, as_other.sum::<usize>(), "{name}: {symbol}");
            n_names += 1;
        }
        let reports = analysis::reports(&run, &Query::default());
        let shapes: BTreeSet<String> = reports
            .iter()
            .flat_map(|report| report.tables())
            .flat_map(|table| &table.columns)
            .filter(|column| column.id == "shapes")
            .flat_map(|column| (0..column.cells.len()).map(|row| column.cells.get(row).plain()))
            .filter(|shapes| shapes.len() > 8)
            .collect();
        let json = written("json", &run, Classes { arguments: true, ..Classes::default() });
        for shape in &shapes {
            assert!(!json.contains(shape.as_str()), "{name}: {shape}");
            n_shapes += 1;
        }
    }
    assert!(n_names > 1000 && n_shapes > 20, "{n_names} {n_shapes}");
}

/// Files of frames and columns of files go by what they are, and a path in quotes of a sentence by its form.
#[test]
fn files_are_paths_whatever_their_form() {
    let paths = Classes { paths: true, ..Classes::default() };
    let stacks = "a (f.c:3);b (libm:4);c (lib m.so:5);d (foo.rs:1);e (Makefile:2);g (main.go:7) 3";
    let run = Run::single(import("rd.txt", stacks.as_bytes(), None).unwrap());
    for id in ["speedscope", "csv", "json", "markdown", "firefox"] {
        let text = written(id, &run, paths);
        for file in ["f.c", "libm", "lib m", "foo.rs", "Makefile", "main.go"] {
            assert!(!text.contains(file), "{id}: {file}: {text}");
        }
    }
    let calls = r#"{"ts": 1.0, "probe": "/home/bob/probe", "view_id": "base", "prompt_hash": "b", "top_k": 5, "op": "x", "wall_ms": 200.0, "hit": false}"#;
    let run = Run::single(import("a.jsonl", calls.as_bytes(), None).unwrap());
    for id in ["markdown", "json", "csv", "html", "terminal"] {
        assert!(!written(id, &run, paths).contains("/home/bob"), "{id}");
    }
}

/// Arguments in a table, cut or whole, are redacted as those of the event.
#[test]
fn arguments_in_tables_go_by_their_names_too() {
    let all = Classes { paths: true, hosts: true, prompts: true, ..Classes::default() };
    let long = "x".repeat(5000);
    let json = format!(
        r#"[{{"ph":"X","ts":1,"dur":9,"name":"x","pid":1,"tid":1,"args":{{"cwd":"/Users/Jane Doe/proj","n":1.50}}}},
        {{"ph":"X","ts":20,"dur":8,"name":"y","pid":1,"tid":1,"args":{{"hostname":"harbour","prompt":"Tell me","long":"{long}"}}}}]"#
    );
    let run = Run::single(import("a.json", json.as_bytes(), None).unwrap());
    for id in ["chrome-trace", "markdown", "json", "csv", "html"] {
        let text = written(id, &run, all);
        for secret in ["Doe", "harbour", "Tell me"] {
            assert!(!text.contains(secret), "{id}: {secret}: {text}");
        }
        assert!(text.contains("1.50") && text.contains("xxx"), "{id}: {text}");
    }
}

#[test]
fn metadata_stays_text_under_its_name() {
    let text =
        br#"{"traceEvents":[{"ph":"X","name":"f","ts":0,"dur":1,"pid":1,"tid":1}],"hostname":"gpu-node-17"}"#;
    let run = Run::single(import("a.json", text, None).unwrap());
    let hosts = Classes { hosts: true, ..Classes::default() };
    let json = written("chrome-trace", &run, hosts);
    assert!(json.contains(r#""hostname":"[host 1]""#), "{json}");
    let report = written("markdown", &run, ALL);
    assert!(report.contains("hostname") && !report.contains("gpu-node-17"), "{report}");
}
