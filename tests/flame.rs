//! Flame graphs: their sums are those of the tables, whatever is merged or hidden.

use crate::support::{data_dirs, files, import, own_dir};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tracedrop::analysis::flame::{self, Direction, FlameQuery, FlameView, Scale};
use tracedrop::analysis::gpu::parts::{Activity, Parts};
use tracedrop::analysis::{Context, Query};
use tracedrop::engine::{Compared, Session, Shown};
use tracedrop::export::{EXPORTERS, Options};
use tracedrop::report::Block;
use tracedrop::stacks::CallTree;
use tracedrop::stacks::graph::{FrameClass, StackGraph};
use tracedrop::stacks::merged::{By, LIBRARIES, Merged, StackQuery};
use tracedrop::trace::{Run, Trace};

/// Deeper than most stacks of the corpus.
const MAX_DEPTH: u32 = 300;

fn trace_of(path: &Path) -> Option<Trace> {
    import(path.file_name()?.to_str()?, &std::fs::read(path).ok()?, None).ok()
}

/// Traces below 2 MB.
fn traces(dirs: &[PathBuf]) -> Vec<(PathBuf, Trace)> {
    let paths = dirs.iter().flat_map(|dir| files(dir, &[""]));
    let small =
        paths.filter(|path| path.metadata().is_ok_and(|data| data.is_file() && data.len() < 2_000_000));
    small.filter_map(|path| trace_of(&path).map(|trace| (path, trace))).collect()
}

fn graphs(trace: &Trace) -> Vec<StackGraph> {
    let run = Run::single(trace.clone());
    let query = Query::default();
    flame::graphs(&Context::new(&run, &query))
}

fn view(graphs: &[StackGraph], query: FlameQuery) -> FlameView {
    flame::view(graphs, &query, &mut flame::Cache::default()).unwrap().unwrap()
}

fn has_negative(graph: &StackGraph) -> bool {
    graph.own.iter().any(|own| own.weight < 0.0)
}

fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-3)
}

/// What holds for every graph, however it is looked at.
fn check_graph(what: &str, graph: &StackGraph) {
    assert!(graph.is_sound(), "{what}");
    let all = std::slice::from_ref(graph);
    let total = graph.total();
    let query = StackQuery::default();
    let mut drawn = Merged::new(graph, &query, (1.0, 1.0)).unwrap();
    // What is below zero has no width.
    let drawn_total = total - drawn.leave_out_negative();
    let directions = [Direction::Callers, Direction::Ends, Direction::Around, Direction::Time];
    for direction in directions {
        let shown = view(all, FlameQuery { direction, ..FlameQuery::default() });
        let what = format!("{what}, {}, {direction:?}", graph.title);
        if matches!(direction, Direction::Callers | Direction::Ends) {
            assert!(is_near(shown.flame.total, drawn_total), "{what}: {} of {total}", shown.flame.total);
        }
        // Each box is compared with all others.
        for it in shown.flame.boxes.iter().take(150) {
            assert!(
                it.start >= 0.0 && it.start + it.weight <= shown.flame.total * (1.0 + 1e-9) + 1e-9,
                "{what}"
            );
            // Each box is within one box of the row above, and no narrower than what is in it.
            let within: f64 = shown
                .flame
                .boxes
                .iter()
                .filter(|other| other.depth == it.depth + 1)
                .map(|other| {
                    ((other.start + other.weight).min(it.start + it.weight) - other.start.max(it.start))
                        .max(0.0)
                })
                .sum();
            assert!(
                within + it.own <= it.weight * (1.0 + 1e-9) + 1e-6,
                "{what}: {} {within} {}",
                it.name,
                it.own
            );
        }
    }
    let merged = Merged::new(graph, &query, (1.0, 1.0)).unwrap();
    let sums = merged.sums();
    let own: f64 = sums.iter().map(|sum| sum.own.weight).sum();
    assert!(is_near(own, total), "{what}: self weights add up to {own} of {total}");
    for (sum, label) in drawn.sums().iter().zip(drawn.labels.iter()) {
        assert!(sum.own.weight <= sum.total.weight * (1.0 + 1e-9) + 1e-9, "{what}: {}", label.name);
        assert!(sum.total.weight <= drawn_total * (1.0 + 1e-9) + 1e-9, "{what}: {}", label.name);
    }
    // Merging otherwise and hiding frames loses no weight.
    for by in By::ALL {
        let merged = Merged::new(graph, &StackQuery { by, ..StackQuery::default() }, (1.0, 1.0)).unwrap();
        assert!(is_near(merged.total.weight, total), "{what}, {by:?}");
    }
    let libraries = LIBRARIES.map(str::to_string).to_vec();
    let hiding = [
        StackQuery { libraries, folds_recursion: true, ..StackQuery::default() },
        StackQuery { hidden: vec!["/[a-m]/".to_string()], ..StackQuery::default() },
        StackQuery { hidden_classes: FrameClass::ALL.to_vec(), ..StackQuery::default() },
    ];
    for query in hiding {
        let merged = Merged::new(graph, &query, (1.0, 1.0)).unwrap();
        assert!(is_near(merged.total.weight, total), "{what}, {query:?}");
    }
    // Threads are parts of the whole.
    let of_thread = |thread| {
        let query = StackQuery { thread: Some(thread), ..StackQuery::default() };
        Merged::new(graph, &query, (1.0, 1.0)).unwrap().total.weight
    };
    let n_threads = graph.threads.len() as u32;
    if (1..50).contains(&n_threads) {
        assert!(is_near((0..n_threads).map(of_thread).sum(), total), "{what}: threads");
    }
    // A graph against itself has no change; reduced ones keep the weight.
    let same = StackGraph::difference(graph, graph);
    assert!(same.own.iter().all(|own| own.weight == own.before), "{what}");
    assert!(is_near(graph.reduced(50).total(), total), "{what}");
}

#[test]
fn graphs_add_up_whatever_is_merged_or_hidden() {
    let dirs: Vec<PathBuf> = ["stacks", "chrome", "pytorch"]
        .iter()
        .flat_map(|name| data_dirs(name))
        .chain([own_dir("situations")])
        .collect();
    let mut n_graphs = 0;
    for (path, trace) in traces(&dirs) {
        if trace.slices.len() > 8_000 || trace.stacks.len() > 8_000 {
            continue;
        }
        for graph in graphs(&trace) {
            check_graph(&path.display().to_string(), &graph);
            n_graphs += 1;
        }
    }
    assert!(n_graphs > 60, "{n_graphs}");
}

#[test]
fn gpu_graphs_have_the_times_of_the_gpu_reports() {
    let mut n_checked = 0;
    for (path, trace) in traces(&data_dirs("pytorch")) {
        let run = Run::single(trace);
        let query = Query::default();
        let context = Context::new(&run, &query);
        let all = flame::graphs(&context);
        let of = |title: &str| all.iter().find(|graph| graph.title == title);
        let Some(busy) = of("Kernel time by caller") else { continue };
        let work: i64 = context.gpu().iter().flat_map(|gpu| gpu.work.iter().map(|work| work.dur())).sum();
        assert_eq!(busy.total(), work as f64, "{}", path.display());
        let wall = of("GPU time by caller, busy and idle").unwrap();
        let mut breakdown = Parts::default();
        for gpu in context.gpu() {
            for device in 0..gpu.devices.len() as u32 {
                let activity = Activity::new(gpu, device);
                if let Some(window) = activity.window {
                    breakdown.add(&activity.parts(window));
                }
            }
        }
        let idle: f64 = wall
            .own
            .iter()
            .filter(|own| {
                let frame = wall.frames[wall.node_frame[own.node as usize] as usize];
                frame.class == FrameClass::Idle
            })
            .map(|own| own.weight)
            .sum();
        assert_eq!(wall.total(), breakdown.total as f64, "{}", path.display());
        assert_eq!(idle, (breakdown.idle + breakdown.unrecorded) as f64, "{}", path.display());
        n_checked += 1;
    }
    assert!(n_checked > 8, "{n_checked}");
}

#[test]
fn forms_of_one_profile_give_the_same_graph() {
    let mut n_pairs = 0;
    for dir in data_dirs("pysampling") {
        for gecko in files(&dir, &[".gecko.gz"]) {
            let collapsed = PathBuf::from(gecko.display().to_string().replace(".gecko.", ".collapsed."));
            let (Some(a), Some(b)) = (trace_of(&gecko), trace_of(&collapsed)) else { continue };
            let own = |trace: &Trace| {
                let all = graphs(trace);
                let merged = Merged::new(&all[0], &StackQuery::default(), (1.0, 1.0)).unwrap();
                // Threads are frames of collapsed stacks; files are written otherwise.
                let mut sums: Vec<(String, f64)> = merged
                    .labels
                    .iter()
                    .zip(merged.sums())
                    .filter(|(_, sum)| sum.own.weight > 0.0)
                    .map(|(label, sum)| (label.name.split(" (").next().unwrap().to_string(), sum.own.weight))
                    .collect();
                sums.sort_by(|a, b| a.partial_cmp(b).unwrap());
                sums
            };
            let total = |sums: &[(String, f64)]| sums.iter().map(|sum| sum.1).sum::<f64>();
            let (a, b) = (own(&a), own(&b));
            assert_eq!(total(&a), total(&b), "{}", gecko.display());
            n_pairs += 1;
        }
    }
    if !data_dirs("pysampling").iter().all(|dir| files(dir, &[".gecko.gz"]).is_empty()) {
        assert!(n_pairs > 0);
    }
}

#[test]
fn a_session_answers_questions_about_stacks() {
    let trace = import("a.folded", b"main;work;gemm 8\nmain;work;copy 2\nmain;idle 5\n", None).unwrap();
    let mut session = Session::of_trace(trace, Query::default());
    let query = FlameQuery { search: "work".to_string(), ..FlameQuery::default() };
    let view = session.flame(&query).unwrap().unwrap();
    assert_eq!((view.total.0, view.matched), (15.0, Some((10.0, 10.0 / 15.0))));
    assert_eq!(view.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["work"]);
    assert!(session.flame(&FlameQuery { search: "/(/".to_string(), ..FlameQuery::default() }).is_err());
    // Shares are of what is drawn: weights below zero are not.
    let trace = import("a.folded", b"main;work 8\nmain;freed -5\n", None).unwrap();
    let view = Session::of_trace(trace, Query::default()).flame(&query).unwrap().unwrap();
    assert_eq!((view.total.0, view.matched), (3.0, Some((8.0, 1.0))));
}

fn exported(shown: &mut dyn Shown, id: &str) -> String {
    let mut out = Vec::new();
    shown.export(tracedrop::export::find(id).unwrap(), &Options::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn session(stacks: &[u8]) -> Session {
    let mut session = Session::of_trace(import("a.folded", stacks, None).unwrap(), Query::default());
    session.finish_reports();
    session
}

#[test]
fn html_reports_draw_flame_graphs_and_others_name_them() {
    let page = exported(&mut session(b"main;work;gemm 8\nmain;idle 5\n"), "html");
    assert!(page.contains("<h2 id=\"flame-graph\">Flame graph</h2>"));
    assert!(
        page.contains("<title>gemm\n8 samples (61.5%)") || page.contains("<title>gemm\n8 (61.5%)"),
        "{page}"
    );
    // Only that report, and only another one.
    let mut only = session(b"main;work 8\n");
    only.make_only(vec!["flame-graph".to_string()]);
    only.set_query(Query { top: 7, ..Query::default() }).unwrap();
    let text = exported(&mut only, "markdown");
    assert!(text.contains("Flame graphs not drawn here: Stacks by samples;"), "{text}");
    assert!(exported(&mut only, "html").matches("bottom-up").count() > 0);
    let mut other = session(b"main;work 8\n");
    other.make_only(vec!["stack-functions".to_string()]);
    other.set_query(Query { top: 7, ..Query::default() }).unwrap();
    assert!(!exported(&mut other, "html").contains("flame-graph"));
    // Two sides.
    let side = |stacks: &[u8]| session(stacks).side().unwrap();
    let query = tracedrop::compare::CompareQuery::default();
    let mut compared =
        Compared::new(side(b"main;work 8\n"), side(b"main;work 4\nmain;new 2\n"), &query).unwrap();
    let page = exported(&mut compared, "html");
    assert!(page.contains("<title>work\nA 8") && page.contains("(−50.0%)"), "{page}");
    compared.keep_reports(&|_| true);
    assert!(!exported(&mut compared, "html").contains("flame-graph"));
}

/// Widths are B, so stacks without any weight there have no box: `main;c;d` and `only_a`.
#[test]
fn what_only_a_has_is_said_beside_a_difference() {
    let side = |stacks: &[u8]| session(stacks).side().unwrap();
    let (a, b) = (side(b"main;a 10\nmain;c;d 5\nonly_a 7\n"), side(b"main;a 15\nmain;c;e 6\nonly_b 3\n"));
    let query = tracedrop::compare::CompareQuery::default();
    let mut compared = Compared::new(a, b, &query).unwrap();
    compared.add_flame_graphs();
    compared.keep_reports(&|id| id == "flame-graph");
    for format in ["html", "svg"] {
        let text = exported(&mut compared, format);
        assert!(text.contains("Stacks that only A has are not drawn: 12 samples in all."), "{text}");
        assert!(text.contains("Widths are B."), "{text}");
    }
}

#[test]
fn differences_are_folded_stacks_with_two_weights() {
    let side = |stacks: &[u8]| session(stacks).side().unwrap();
    let (a, b) = (side(b"main;work 8\nmain;old 1\n"), side(b"main 2\nmain;work 4\nmain;new 3\n"));
    let mut compared = Compared::new(a, b, &tracedrop::compare::CompareQuery::default()).unwrap();
    let mut folded = Vec::new();
    assert_eq!(compared.write_folded(&mut folded).unwrap().0, ["Stacks by samples"]);
    let text = String::from_utf8(folded.clone()).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["main 0 2", "main;new 0 3", "main;old 1 0", "main;work 8 4"]);
    // It opens again, with a graph for each side.
    let again = import("difference.folded", &folded, None).unwrap();
    for (graph, total) in graphs(&again).iter().zip([9.0, 9.0]) {
        assert_eq!(graph.total(), total, "{}", graph.title);
    }
    assert_eq!(own_by_name(&again, "Stacks by before")["work"], 8.0);
    assert_eq!(own_by_name(&again, "Stacks by after")["work"], 4.0);
}

/// Times are the same in any unit, and graphs of one side are named.
#[test]
fn graphs_of_one_kind_are_compared_whatever_their_unit_of_time() {
    let sampled = |unit: &str, weights: &str| {
        let text = format!(
            r#"{{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{{"frames":[{{"name":"f"}}]}},
                "profiles":[{{"type":"sampled","name":"t","unit":"{unit}","startValue":0,"endValue":9,"samples":[[0],[0]],"weights":{weights}}}]}}"#
        );
        graphs(&import("s.json", text.as_bytes(), None).unwrap())
    };
    let (a, b) = (sampled("seconds", "[4,2.5]"), sampled("milliseconds", "[4,2.5]"));
    let both = flame::differences(&a, &b);
    assert_eq!(both.len(), 1);
    let report = flame::report_of_differences(&both, &a, &b);
    assert_eq!(report.summary, "6.500 s in A, 6.500 ms in B.");
    let said = |a: &[StackGraph], b: &[StackGraph]| {
        let report = flame::report_of_differences(&flame::differences(a, b), a, b);
        let notes = report.blocks.iter().filter_map(|block| match block {
            Block::Note(note) => Some(note.text.clone()),
            _ => None,
        });
        (report.summary.clone(), notes.collect::<Vec<_>>())
    };
    let samples = graphs(&import("f.folded", b"main;work 8\n", None).unwrap());
    assert_eq!(
        said(&a, &samples),
        (
            "Nothing to compare: A and B have no flame graph in common.".to_string(),
            vec![
                "Only A has \u{201c}Stacks by time\u{201d}.".to_string(),
                "Only B has \u{201c}Stacks by samples\u{201d}.".to_string()
            ]
        )
    );
    assert_eq!(said(&a, &b).1, [""; 0]);
}

/// Summary and warnings of the flame graphs of folded stacks.
fn told(stacks: &str) -> (String, Vec<String>) {
    let report = flame::report(&graphs(&import("a.folded", stacks.as_bytes(), None).unwrap()));
    let warnings = report.warnings().map(str::to_string).collect();
    (report.summary, warnings)
}

/// Negative weights are added to those of the same stack, and samples without a stack are in no share, as in the report on functions.
#[test]
fn pictures_have_the_numbers_of_the_functions() {
    // a: 5 − 3 = 2, so b has 8 of 10.
    let (summary, warnings) = told("main;a 5\nmain;a -3\nmain;b 8\n");
    assert_eq!(summary, "b is hottest: 80.0% self (8 of 10 samples).");
    assert!(warnings.is_empty(), "{warnings:?}");
    // 100 − 40 of 100 − 40 − 10; what is left of b cannot be drawn.
    let netted = "main;a 100\nmain;a -40\nmain;b -10\n";
    let (summary, warnings) = told(netted);
    assert_eq!(summary, "a is hottest: 120.0% self (60 of 50 samples).");
    let note = "Weights below zero are not drawn: −10 samples in all. Widths are shares of the rest.";
    assert_eq!(warnings, [note]);
    let shown = view(&graphs(&import("a.folded", netted.as_bytes(), None).unwrap()), FlameQuery::default());
    assert_eq!((shown.flame.total, shown.total.0, &*shown.notes), (60.0, 50.0, &[note.to_string()][..]));
    // 8 of 10 samples have no stack; a has both of the others.
    let without = told("main;a 2\n 8\n");
    assert_eq!(without.0, "a is hottest: 100.0% self (2 of 2 samples with a stack).");
    assert_eq!(without.1, ["Widths include 8 samples without a stack."]);
    // A comparison has what each stack has in all.
    let side = |stacks: &[u8]| session(stacks).side().unwrap();
    let (a, b) = (side(b"main;a 6\n 4\nmain;b 2\n"), side(b"main;a 5\nmain;a -3\nmain;b 8\n"));
    let mut compared = Compared::new(a, b, &tracedrop::compare::CompareQuery::default()).unwrap();
    let mut folded = Vec::new();
    compared.write_folded(&mut folded).unwrap();
    let text = String::from_utf8(folded).unwrap();
    assert!(text.contains("main;a 6 2\n") && text.contains("main;b 2 8\n"), "{text}");
    // Read back, samples without a stack are no function: 4 of A, beside 6 + 2 with one; 0 of B, beside 2 + 8.
    let again = import("a.folded", text.as_bytes(), None).unwrap();
    let sums = again.stack_profiles.iter().map(|profile| {
        let weights = CallTree::new(&again, &[profile]).weights;
        (weights.total, weights.no_stack)
    });
    assert_eq!(sums.collect::<Vec<_>>(), [(8, 4), (10, 0)]);
    assert_eq!(told("main;a 2\n(no stack) 8\n"), told("main;a 2\n 8\n"));
}

#[test]
fn summaries_of_differences_are_of_samples_with_a_stack() {
    let side = |stacks: &[u8]| session(stacks).side().unwrap();
    let (a, b) = (side(b"main;a 42\n 3\n"), side(b"main;a 41\n 4\n"));
    let report = flame::report(&flame::differences(&a.graphs, &b.graphs));
    assert_eq!(report.summary, "42 samples in A, 41 samples in B.");
    let notes: Vec<&str> = report.warnings().collect();
    assert_eq!(notes, ["Widths include 3 samples in A and 4 samples in B without a stack."]);
}

#[test]
fn folded_differences_have_the_decimals_of_the_files() {
    let folded = |a: &[u8], b: &[u8]| {
        let (a, b) = (session(a).side().unwrap(), session(b).side().unwrap());
        let mut compared = Compared::new(a, b, &tracedrop::compare::CompareQuery::default()).unwrap();
        let mut folded = Vec::new();
        let (_, left_out) = compared.write_folded(&mut folded).unwrap();
        (String::from_utf8(folded).unwrap(), left_out.0)
    };
    // 0.1 + 0.2
    let (text, left_out) = folded(b"main;a 0.1\nmain;a 0.2\n", b"main;a 0.25\n");
    assert_eq!((&*text, &left_out[..]), ("main;a 0.3 0.25\n", &[][..]));
    let (_, left_out) = folded(b"main;a 9007199254740993\n", b"main;a 1\n");
    assert_eq!(left_out, ["the last digits of 1 weight of 2^53 or more"]);
}

/// A recording that is twice as long has twice the weight, and the same weight per second.
#[test]
fn recordings_of_unlike_length_are_compared_by_the_second() {
    let slices = |seconds: u64| {
        let all = seconds * 1_000_000;
        let text = format!(
            r#"[{{"ph":"X","name":"main","pid":1,"tid":1,"ts":0,"dur":{all}}},
                {{"ph":"X","name":"work","pid":1,"tid":1,"ts":0,"dur":{}}}]"#,
            all / 4
        );
        graphs(&import("a.json", text.as_bytes(), None).unwrap()).remove(0)
    };
    let (a, b) = (slices(1), slices(2));
    assert_eq!((a.seconds, b.seconds), ((1.0, 1.0), (2.0, 2.0)));
    let difference = [StackGraph::difference(&a, &b)];
    let shown = |scale| view(&difference, FlameQuery { scale, ..FlameQuery::default() });
    assert_eq!(shown(Scale::None).total, (2e9, 1e9));
    let by_second = shown(Scale::Second);
    assert!(by_second.graphs[0].has_seconds && is_near(by_second.total.0, 1e9), "{:?}", by_second.total);
    for row in &by_second.rows {
        assert!(is_near(row.own, row.own_before) && row.total > 0.0, "{row:?}");
    }
    // Several files: their weights, by the seconds of all.
    assert_eq!(StackGraph::sum(&[&a, &b]).unwrap().seconds, (3.0, 3.0));

    let sampled = br#"{"$schema":"https://www.speedscope.app/file-format-schema.json","shared":{"frames":[{"name":"f"}]},
        "profiles":[{"type":"sampled","name":"t","unit":"milliseconds","startValue":500,"endValue":2000,"samples":[[0],[0]],"weights":[1000,500]}]}"#;
    assert_eq!(graphs(&import("a.json", sampled, None).unwrap())[0].seconds, (1.5, 1.5));
    // Folded stacks have no times.
    let folded = graphs(&import("a.folded", b"main;work 8\n", None).unwrap());
    assert_eq!(folded[0].seconds, (0.0, 0.0));
    assert!(!view(&folded, FlameQuery::default()).graphs[0].has_seconds);
}

/// Self weights by function name, of the graph with that title, or else of the first one.
fn own_by_name(trace: &Trace, title: &str) -> BTreeMap<String, f64> {
    let all = graphs(trace);
    let Some(graph) = all.iter().find(|graph| graph.title == title).or(all.first()) else {
        return BTreeMap::new();
    };
    let mut own = BTreeMap::new();
    for it in &graph.own {
        let frame = graph.frames[graph.node_frame[it.node as usize] as usize];
        *own.entry(graph.text(frame.name).to_string()).or_insert(0.0) += it.weight;
    }
    own.retain(|name, weight| {
        *weight != 0.0 && !name.starts_with("(no stack)") && !name.starts_with("[no stack]")
    });
    own
}

/// Frames in lines of text have their places beside their names.
fn plain_names(own: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let mut plain = BTreeMap::new();
    for (name, weight) in own {
        // Semicolons separate frames, and control characters become visible.
        let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
        *plain.entry(name).or_insert(0.0) += weight;
    }
    plain
}

#[test]
fn own_exports_open_again_with_the_same_weights() {
    let mut n_checked = [0; 4];
    let dirs: Vec<PathBuf> = ["stacks", "pysampling"].iter().flat_map(|name| data_dirs(name)).collect();
    for (path, trace) in traces(&dirs) {
        let total: usize = trace.stack_profiles.iter().map(|profile| profile.len()).sum();
        if total == 0 || total > 20_000 || trace.stacks.len() > 8_000 {
            continue;
        }
        let all = graphs(&trace);
        let Some(first) = all.first().filter(|graph| !has_negative(graph)) else { continue };
        let wanted = own_by_name(&trace, &first.title);
        for (at, (id, name)) in [
            ("speedscope", "a.speedscope.json"),
            ("firefox", "a.json"),
            ("collapsed-samples", "a.folded"),
            ("pprof", "a.pb.gz"),
        ]
        .into_iter()
        .enumerate()
        {
            let what = format!("{} as {id}", path.display());
            let mut session = Session::of_trace(trace.clone(), Query::default());
            let exporter = EXPORTERS.iter().find(|exporter| exporter.id == id).unwrap();
            let mut bytes = Vec::new();
            session.export(exporter, &Options::default(), &mut bytes).unwrap();
            let again = import(name, &bytes, None).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            let found = own_by_name(&again, &first.title);
            // The sum says most; names may have places in them.
            let sum = |own: &BTreeMap<String, f64>| own.values().sum::<f64>();
            let unit_of = |trace: &Trace| graphs(trace).first().map(|graph| graph.unit);
            if id == "pprof" && sum(&wanted) > 9e18 {
                // Beyond its 64 bits, which it says.
                continue;
            }
            let rounding = if id == "pprof" {
                wanted.len() as f64 * 0.5 + 1e-6 * sum(&wanted)
            } else {
                1e-6 * sum(&wanted)
            };
            // A line has no unit, so times are numbers of another one.
            if id != "collapsed-samples" || unit_of(&again) == Some(first.unit) {
                assert!(
                    (sum(&found) - sum(&wanted)).abs() <= rounding,
                    "{what}: {} of {}",
                    sum(&found),
                    sum(&wanted)
                );
                if matches!(id, "speedscope" | "firefox") {
                    let (found, wanted) = (plain_names(found), plain_names(wanted.clone()));
                    for (name, weight) in &wanted {
                        let got = found.get(name).copied().unwrap_or(0.0);
                        assert!(is_near(got, *weight), "{what}: {name}: {got} of {weight}");
                    }
                }
            }
            n_checked[at] += 1;
        }
    }
    assert!(n_checked.iter().all(|n| *n > 10), "{n_checked:?}");
}

/// The stacks of a graph, by the labels of their frames, with the weights of B and A.
fn by_stack(graph: &StackGraph) -> BTreeMap<Vec<String>, (f64, f64)> {
    let merged = Merged::new(graph, &StackQuery::default(), (1.0, 1.0)).unwrap();
    let mut stacks = BTreeMap::new();
    for (node, own) in (0..).zip(merged.own.iter()).filter(|(_, own)| own.weight > 0.0 || own.before > 0.0) {
        let labels = merged.path_to(node).into_iter().map(|node| {
            let label = &merged.labels[merged.key[node as usize] as usize];
            format!("{} ({})", label.name, label.place)
        });
        stacks.insert(labels.collect(), (own.weight, own.before));
    }
    stacks
}

proptest! {
    /// Whatever A and B are: their difference keeps both sides to the digit, so A minus B plus B is A; and swapped sides are swapped
    /// weights.
    #[test]
    fn a_minus_b_plus_b_is_a(
        a in prop::collection::vec(("[ab]{1,3}(;[a-d]){0,4}", 1u32..100), 1..12),
        b in prop::collection::vec(("[ab]{1,3}(;[a-d]){0,4}", 1u32..100), 1..12),
    ) {
        let graph = |stacks: &[(String, u32)]| {
            let lines: String = stacks.iter().map(|(stack, n)| format!("{stack} {n}\n")).collect();
            graphs(&import("a.folded", lines.as_bytes(), None).unwrap()).remove(0)
        };
        let (a, b) = (graph(&a), graph(&b));
        let (of_a, of_b) = (by_stack(&a), by_stack(&b));
        let difference = by_stack(&StackGraph::difference(&a, &b));
        let swapped = by_stack(&StackGraph::difference(&b, &a));
        for (stack, (weight, before)) in &difference {
            let change = weight - before;
            let of = |side: &BTreeMap<Vec<String>, (f64, f64)>| side.get(stack).map_or(0.0, |it| it.0);
            prop_assert_eq!((of(&of_a), of(&of_b)), (*before, *weight));
            prop_assert_eq!(of(&of_b) - change, of(&of_a));
            prop_assert_eq!(swapped.get(stack), Some(&(*before, *weight)));
        }
        prop_assert!(of_a.keys().chain(of_b.keys()).all(|stack| difference.contains_key(stack)));
        // Adding B to A and taking it away again.
        let both = StackGraph::sum(&[&a, &b]).unwrap();
        for (stack, (weight, _)) in by_stack(&both) {
            let of = |side: &BTreeMap<Vec<String>, (f64, f64)>| side.get(&stack).map_or(0.0, |it| it.0);
            prop_assert_eq!(weight - of(&of_b), of(&of_a));
        }
    }
}

/// What the independent reader of the corpus says of the one profile that a file has: sums by function, each stack once; callers and
/// callees; the number of boxes from either end. By file and by line, the same weight.
#[test]
fn graphs_say_what_the_independent_reader_says() {
    let (mut n_checked, mut n_around) = (0, 0);
    for dir in data_dirs("stacks") {
        for path in files(&dir, &[""]) {
            let name = path.file_name().unwrap().to_str().unwrap();
            let Ok(expected) = std::fs::read(dir.join("expected").join(format!("{name}.json"))) else {
                continue;
            };
            let expected: Value = serde_json::from_slice(&expected).unwrap();
            let Some([profile]) = expected["profiles"].as_array().map(Vec::as_slice) else { continue };
            // What has no width cannot be drawn; that weights beyond 2^53 are doubles is known.
            let total = profile["total_weight"].as_f64().unwrap();
            let Some(trace) = trace_of(&path).filter(|_| total > 0.0 && total < 9e15) else { continue };
            let all = graphs(&trace);
            let Some(graph) = all.first().filter(|graph| !has_negative(graph)) else { continue };
            // Nanoseconds for any unit of time.
            let factor = (graph.total() / (total + profile["no_stack_weight"].as_f64().unwrap())).round();
            let is = |got: f64, wanted: &Value| is_near(got, wanted.as_f64().unwrap() * factor);
            let merged = Merged::new(graph, &StackQuery::default(), (1.0, 1.0)).unwrap();
            let sums = merged.sums();
            let label_of = |row: &Value| {
                let place = row["file"].as_str().unwrap_or("");
                let name = row["name"].as_str().unwrap();
                merged.labels.iter().position(|label| label.name == name && label.place == place)
            };
            for row in profile["self_by_function"].as_array().unwrap() {
                // Names of control characters are shown otherwise.
                let Some(label) = label_of(row) else { continue };
                assert!(is(sums[label].own.weight, &row["self"]), "{name}: {row} {:?}", sums[label]);
                assert!(is(sums[label].total.weight, &row["total"]), "{name}: {row} {:?}", sums[label]);
                n_checked += 1;
            }
            let Some(sandwich) = profile.get("sandwich") else { continue };
            let Some(center) = label_of(sandwich) else { continue };
            let (callers, callees) = merged.around(center as u32, MAX_DEPTH);
            for (tree, rows) in [(&callers, &sandwich["callers"]), (&callees, &sandwich["callees"])] {
                for row in rows.as_array().unwrap() {
                    let Some(label) = label_of(row) else { continue };
                    let found = tree.children(0).find(|node| tree.key[*node as usize] == label as u32);
                    // Thin ones are counted together.
                    let Some(node) = found else { continue };
                    assert!(is(tree.totals.get(node as usize).weight, &row["weight"]), "{name}: {row}");
                    n_around += 1;
                }
            }
        }
    }
    assert!(n_checked > 100 && n_around > 20, "{n_checked} {n_around}");
}

#[test]
fn the_function_that_is_looked_at_is_in_the_table() {
    let lines: String = (0..400).map(|at| format!("main;f{at} {}\n", 1_000 - at)).collect();
    let all = graphs(&import("a.folded", lines.as_bytes(), None).unwrap());
    let names = |query: FlameQuery| -> Vec<String> {
        view(&all, query).rows.into_iter().map(|row| row.name).collect()
    };
    assert_eq!(names(FlameQuery::default()).len(), 200);
    let focus = vec![("main".to_string(), String::new()), ("f390".to_string(), String::new())];
    let rows = names(FlameQuery { focus, ..FlameQuery::default() });
    assert_eq!((rows.len(), rows[200].as_str()), (201, "f390"));
    let center = Some(("f2".to_string(), String::new()));
    let rows = names(FlameQuery { direction: Direction::Around, center, ..FlameQuery::default() });
    assert_eq!((rows.len(), rows[2].as_str()), (200, "f2"));
}

#[test]
fn samples_whose_times_go_back_are_in_order_of_time() {
    let sample =
        |time: &str, name: &str| format!("prog 7/7 [000] {time}: 1 cycles:\n\t10 {name}+0x0 (/app)\n\n");
    let lines =
        [sample("2.000000", "late"), sample("1.000000", "early"), sample("3.000000", "last")].concat();
    let all = graphs(&import("a.txt", lines.as_bytes(), None).unwrap());
    let mut boxes =
        view(&all, FlameQuery { direction: Direction::Time, ..FlameQuery::default() }).flame.boxes;
    boxes.sort_by(|a, b| a.start.total_cmp(&b.start));
    assert_eq!(boxes.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["early", "late", "last"]);
}
