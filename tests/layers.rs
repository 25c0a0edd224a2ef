//! Allowed dependencies between layers. The table is the architecture; `use` lines and paths of the sources are checked with
//! it.

use std::path::{Path, PathBuf};

/// A layer and the layers it may name.
const LAYERS: &[(&str, &[&str])] = &[
    ("base", &["base"]),
    ("gpu", &["base", "gpu"]),
    ("trace", &["base", "trace"]),
    ("timeline", &["base", "trace", "timeline"]),
    ("stacks", &["base", "trace", "stacks"]),
    ("archive", &["base", "trace", "archive"]),
    ("memory", &["base", "trace", "memory"]),
    ("parquet", &["base", "parquet"]),
    ("sqlite", &["base", "sqlite"]),
    ("memory_run", &["base", "trace", "parquet", "memory_run"]),
    ("memory_config", &["base", "memory_config"]),
    ("import", &["base", "trace", "archive", "parquet", "sqlite", "memory_run", "import"]),
    ("filter", &["base", "filter"]),
    ("report", &["base", "filter", "report"]),
    ("scene", &["base", "report", "scene"]),
    (
        "analysis",
        &[
            "base",
            "gpu",
            "trace",
            "timeline",
            "stacks",
            "memory",
            "memory_run",
            "memory_config",
            "filter",
            "report",
            "analysis",
        ],
    ),
    ("compare", &["base", "trace", "filter", "report", "analysis", "compare"]),
    ("index", &["base", "trace", "import", "report", "analysis", "index"]),
    (
        "export",
        &[
            "base",
            "trace",
            "archive",
            "parquet",
            "memory",
            "memory_run",
            "filter",
            "report",
            "scene",
            "stacks",
            "analysis",
            "index",
            "export",
        ],
    ),
    (
        "engine",
        &[
            "base",
            "trace",
            "archive",
            "memory_run",
            "import",
            "filter",
            "report",
            "analysis",
            "compare",
            "index",
            "export",
            "timeline",
            "stacks",
            "engine",
        ],
    ),
];

/// Parts of the library the page may use.
const PAGE: &[&str] = &[
    "base",
    "report",
    "scene",
    "timeline::line::Window",
    "timeline::Window",
    "timeline::viewport",
    "timeline::Viewport",
    "timeline::answers",
    "engine::protocol",
    "engine::folder",
    "analysis::Group",
    "analysis::Query",
    "compare::CompareQuery",
    "compare::PhaseFilter",
];

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Paths after `prefix`, with grouped imports (`{a::b, c}`) expanded; test modules and comments are skipped.
fn paths(text: &str, prefix: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or("");
    let code: String =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        if at > 0 && code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        spread(&code[at + prefix.len()..], "", &mut found);
    }
    found
}

fn spread(rest: &str, stem: &str, found: &mut Vec<String>) {
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
    let path = format!("{stem}{}", &rest[..end]);
    if !rest[end..].starts_with('{') {
        found.push(path);
        return;
    }
    let mut depth = 0;
    let mut start = end + 1;
    for (at, c) in rest.char_indices().skip_while(|(at, _)| *at < end) {
        match c {
            '{' => depth += 1,
            ',' | '}' if depth == 1 => {
                let item = rest[start..at].trim();
                if !item.is_empty() {
                    spread(item, &path, found);
                }
                start = at + 1;
                if c == '}' {
                    return;
                }
            }
            '}' => depth -= 1,
            _ => {}
        }
    }
}

/// Paths of `super::` in a file of `src`, from the root of the crate. Those of inline modules come out one level too high.
fn super_paths(text: &str, file: &Path) -> Vec<String> {
    let stem = file.with_extension("");
    let mut module: Vec<&str> = stem.iter().filter_map(|part| part.to_str()).collect();
    if module.last() == Some(&"mod") {
        module.pop();
    }
    let from_root = |path: String| {
        let rest = path.trim_start_matches("super::");
        let n_up = 1 + (path.len() - rest.len()) / "super::".len();
        let stem = module.get(..module.len().checked_sub(n_up)?)?;
        Some([stem, &[rest]].concat().join("::"))
    };
    paths(text, "super::").into_iter().filter_map(from_root).collect()
}

fn allowed(path: &str, layers: &[&str]) -> bool {
    layers.iter().any(|layer| path == *layer || path.starts_with(&format!("{layer}::")))
}

#[test]
fn layers_use_only_what_lies_below() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (layer, may) in LAYERS {
        for file in sources(&src.join(layer)) {
            let text = std::fs::read_to_string(&file).unwrap();
            for path in paths(&text, "crate::").into_iter().filter(|path| !allowed(path, may)) {
                wrong.push(format!("{}: crate::{path}", file.strip_prefix(&src).unwrap().display()));
            }
            let name = file.strip_prefix(&src).unwrap();
            let is_of_layer = |path: &str| LAYERS.iter().any(|(layer, _)| allowed(path, &[layer]));
            let up = super_paths(&text, name).into_iter();
            for path in up.filter(|path| is_of_layer(path) && !allowed(path, may)) {
                wrong.push(format!("{}: super path to {path}", name.display()));
            }
            for browser in ["web_sys", "js_sys", "wasm_bindgen", "leptos", "gloo"] {
                if text.contains(&format!("{browser}::")) {
                    wrong.push(format!("{}: {browser}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn super_paths_are_paths_from_the_root() {
    let text = "use super::super::trace::{Run, args};\nuse super::x;\n";
    assert_eq!(super_paths(text, Path::new("base/json/mod.rs")), ["trace::Run", "trace::args", "base::x"]);
    assert_eq!(super_paths(text, Path::new("base/lines.rs")), ["trace::Run", "trace::args", "base::x"]);
    assert_eq!(super_paths("super::super::y", Path::new("base/json/skip.rs")), ["base::y"]);
}

/// A new folder has to be put into the table, or it could use everything.
#[test]
fn every_folder_is_a_layer_or_a_program() {
    const PROGRAMS: &[&str] = &["app", "cli", "worker"];
    const FILES: &[&str] = &["lib.rs", "main.rs"];
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut layers: Vec<&str> = LAYERS.iter().map(|(layer, _)| *layer).collect();
    for entry in std::fs::read_dir(&src).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        layers.retain(|layer| *layer != name);
        let is_layer = LAYERS.iter().any(|(layer, _)| *layer == name);
        let is_program = PROGRAMS.contains(&name.as_str()) || FILES.contains(&name.as_str());
        assert!(is_layer || is_program, "src/{name} is in no layer: add it to LAYERS");
    }
    assert!(layers.is_empty(), "no folder: {layers:?}");
}

#[test]
fn the_page_uses_protocol_and_report_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut files = vec![src.join("main.rs")];
    if src.join("app").is_dir() {
        files.extend(sources(&src.join("app")));
    }
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for path in paths(&text, "tracedrop::").into_iter().filter(|path| !allowed(path, PAGE)) {
            wrong.push(format!("{}: tracedrop::{path}", file.display()));
        }
        let may_touch_browser = file.components().any(|part| part.as_os_str() == "browser");
        if !may_touch_browser && text.contains("web_sys::") {
            wrong.push(format!("{}: web_sys outside app/browser", file.display()));
        }
        for unsafe_html in ["inner_html", "set_inner_html", "insert_adjacent_html", "set_outer_html"] {
            if text.contains(unsafe_html) {
                wrong.push(format!("{}: {unsafe_html}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Leptos compiles its own anew for each use, so they would be most of the page again.
#[test]
fn the_page_uses_its_own_control_flow() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for file in sources(&src.join("app")).into_iter().filter(|file| !file.ends_with("erased.rs")) {
        let text = std::fs::read_to_string(&file).unwrap();
        let imports: String =
            text.lines().filter(|line| line.starts_with("use crate::app::erased::")).collect();
        for name in ["Show", "For"] {
            let is_used = [' ', '\n'].iter().any(|end| text.contains(&format!("<{name}{end}")));
            if is_used && !imports.contains(name) {
                wrong.push(format!("{}: {name} is not that of app::erased", file.display()));
            }
        }
        for leptos in ["Effect::new", "Memo::new(move |_|", "serde_json::"] {
            if text.contains(leptos) {
                wrong.push(format!("{}: {leptos}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_one_looks_at_knows_no_browser() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for file in sources(&src.join("app/view_state")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for name in ["web_sys", "js_sys", "wasm_bindgen", "leptos", "gloo", "crate::", "super::super"] {
            if text.contains(name) {
                wrong.push(format!("{}: {name}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A file of tests that is not listed in `tests/main.rs` would not run, without a word.
#[test]
fn every_file_of_tests_is_run() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let main = std::fs::read_to_string(tests.join("main.rs")).unwrap();
    for file in std::fs::read_dir(&tests).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let Some(module) = name.strip_suffix(".rs") else { continue };
        // A program of its own, by `Cargo.toml`.
        let is_program = ["main", "command"].contains(&module);
        assert!(is_program || main.contains(&format!("mod {module};")), "{name} is not in tests/main.rs");
    }
}
