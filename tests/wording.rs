//! Turns that texts and comments do without: readers had to read them twice, or the field has a word for them.

use std::path::{Path, PathBuf};

/// What stands in no text, in either case of letters.
const BANNED: &[&str] = &[
    "of which",
    "can not",
    "told by",
    "told apart",
    "tells apart",
    "is told",
    "lets go",
    "let go of",
    "that which",
    "says of itself",
    "stands beside",
    "so many",
    "nobody can tell",
    "counts for nothing",
    "mind:",
    "at hand",
    "piece of work",
    "pieces of work",
    "ran itself",
    "held against",
    "hold against",
    "with all below",
    "oddities",
    "what became of",
    "with remarks",
    "really means",
    "points of the chart",
    "as the reference does",
    "the reference reader",
    "list of contents",
    "gets the one of",
    "got the one of",
    "the one of the",
    "not said",
    "is more than the whole",
    "nobody could",
    "looks at first",
    "to look at first",
    "work of the gpu",
    "without an end. their",
];

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs" || end == "md") {
            found.push(path);
        }
    }
}

/// A number, a blank and a percent sign in a text, as in `73.4 %`; a remainder in code has an operand behind it.
fn has_blank_before_percent(line: &str) -> bool {
    line.match_indices(" %").any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let behind = line[at + 2..].trim_start().chars().next();
        let is_text = line[..at].contains(['"', '`', '|']) || !line.contains(['"', ';', '(']);
        let is_operand = behind.is_some_and(|letter| letter.is_ascii_digit());
        is_text && !is_operand && before.is_some_and(|letter| letter.is_ascii_digit() || letter == '}')
    })
}

#[test]
fn texts_do_without_turns_that_are_read_twice() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "embed/README.md"];
    let mut found: Vec<PathBuf> = pages.iter().map(|page| root.join(page)).collect();
    ["src", "docs"].iter().for_each(|dir| files(&root.join(dir), &mut found));
    let mut problems = Vec::new();
    for path in found {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        for (number, line) in (1..).zip(std::fs::read_to_string(&path).unwrap().lines()) {
            let lower = line.to_lowercase();
            for turn in BANNED.iter().filter(|turn| lower.contains(**turn)) {
                problems.push(format!("{name}:{number}: “{turn}”: {}", line.trim()));
            }
            // Limits may be written with a blank, and a test does.
            if has_blank_before_percent(line) && !line.contains("passed(") {
                problems.push(format!("{name}:{number}: a blank before %: {}", line.trim()));
            }
        }
    }
    assert!(problems.is_empty(), "{} places:\n{}", problems.len(), problems.join("\n"));
}
