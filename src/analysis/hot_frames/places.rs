//! Kind, short name and package of a frame, derived from its path and function name.

use std::fmt::Write;

/// Part after the last `/` or `\`; all of it where there is nothing after.
pub fn display_name(path: &str) -> &str {
    match path.rfind(['/', '\\']) {
        Some(at) if at + 1 < path.len() => &path[at + 1..],
        _ => path,
    }
}

/// Kind of frame as a word to filter by.
pub fn kind(path: Option<&str>, func: Option<&str>) -> &'static str {
    match (path, func) {
        (None, None) => "unknown",
        (Some("~"), Some("<GC>")) => "gc",
        (Some("~"), Some("<native>")) => "native",
        (Some("~"), _) => "synthetic",
        (Some("<task>"), _) => "task",
        (Some("<frozen runpy>"), Some("_run_code" | "_run_module_as_main")) => "start-up",
        _ => "python",
    }
}

/// The package of a path, as far as the path shows it.
///
/// Installed packages are under `site-packages`, the standard library under `lib/python3.N` (`Lib` on Windows);
/// anything else goes by its directory.
pub fn package(path: Option<&str>) -> &str {
    let Some(path) = path else { return "(unknown)" };
    match path {
        "" => return "(no path)",
        "~" => return "(interpreter and native code)",
        "<task>" => return "(tasks)",
        _ => {}
    }
    if path.starts_with("<frozen ") && path.ends_with('>') {
        return STANDARD_LIBRARY;
    }
    if path.starts_with('<') && path.ends_with('>') {
        return "(generated code)";
    }
    // The last match wins: an environment can be inside a library.
    let mut found = None;
    let mut before = "";
    let mut segments = path.split(['/', '\\']).peekable();
    while let Some(segment) = segments.next() {
        let Some(next) = segments.peek() else { break };
        if matches!(segment, "site-packages" | "dist-packages") {
            found = Some(next.strip_suffix(".py").unwrap_or(next));
        } else if is_library(before, segment) {
            found = Some(STANDARD_LIBRARY);
        }
        before = segment;
    }
    found.unwrap_or_else(|| directory(path))
}

const STANDARD_LIBRARY: &str = "Python standard library";

/// `lib/python3.15`, `lib64/python3.15t`, `Python315\Lib`.
fn is_library(before: &str, segment: &str) -> bool {
    let digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let unix = matches!(before, "lib" | "lib64") && segment.strip_prefix("python3.").is_some_and(digits);
    let windows = segment.eq_ignore_ascii_case("lib") && before.strip_prefix("Python3").is_some_and(digits);
    unix || windows
}

fn directory(path: &str) -> &str {
    match path.rfind(['/', '\\']) {
        Some(0) => &path[..1],
        Some(at) => &path[..at],
        None => "(no directory)",
    }
}

/// Writes the code location: `10`, `10–12`, `10:17–40` (columns from 0, end exclusive), `10:17–12:4`. Overwrites `text`,
/// to avoid an allocation for each of millions of locations.
pub fn span(
    text: &mut String,
    line: Option<i128>,
    end_line: Option<i128>,
    col: Option<i128>,
    end_col: Option<i128>,
) -> Option<&str> {
    text.clear();
    let line = line.filter(|line| *line != 0)?;
    let mut number = |before: &str, number: i128| {
        text.push_str(before);
        // Division of 128-bit numbers is slow, and hardly any source needs it.
        let written = match i64::try_from(number) {
            Ok(number) => write!(text, "{number}"),
            Err(_) => write!(text, "{number}"),
        };
        debug_assert!(written.is_ok());
    };
    number("", line);
    if let Some(col) = col {
        number(":", col);
    }
    let end_line = end_line.filter(|end| *end != line);
    if let Some(end) = end_line {
        number("–", end);
    }
    if let Some(end_col) = end_col.filter(|_| col.is_some()) {
        number(if end_line.is_some() { ":" } else { "–" }, end_col);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_all_systems() {
        for (path, name, in_package) in [
            ("/srv/app/main.py", "main.py", "/srv/app"),
            ("C:\\Users\\Ana\\app.py", "app.py", "C:\\Users\\Ana"),
            ("/usr/lib/python3.15/json/decoder.py", "decoder.py", STANDARD_LIBRARY),
            ("C:\\Python315\\Lib\\random.py", "random.py", STANDARD_LIBRARY),
            ("/v/lib/python3.15/site-packages/numpy/core/a.py", "a.py", "numpy"),
            ("/v/lib/python3.15t/site-packages/six.py", "six.py", "six"),
            ("<frozen importlib._bootstrap>", "<frozen importlib._bootstrap>", STANDARD_LIBRARY),
            ("<string>", "<string>", "(generated code)"),
            ("main.py", "main.py", "(no directory)"),
            ("/", "/", "/"),
            ("dir/", "dir/", "dir"),
            ("", "", "(no path)"),
        ] {
            assert_eq!((display_name(path), package(Some(path))), (name, in_package), "{path}");
        }
    }

    #[test]
    fn spans_with_parts_missing() {
        let text = |line, end_line, col, end_col| {
            span(&mut "before".to_string(), line, end_line, col, end_col).unwrap_or_default().to_string()
        };
        assert_eq!(text(Some(10), Some(10), Some(17), Some(40)), "10:17–40");
        assert_eq!(text(Some(10), Some(12), Some(17), Some(4)), "10:17–12:4");
        assert_eq!(text(Some(10), Some(12), None, None), "10–12");
        assert_eq!(text(Some(10), None, Some(3), None), "10:3");
        assert_eq!(text(Some(10), None, None, Some(4)), "10");
        assert_eq!(text(Some(0), Some(3), None, None), "");
        assert_eq!(text(None, None, None, None), "");
    }
}
