//! Reports as one HTML file: complete, shut off, and safe whatever the trace holds.

use crate::support::{data_dirs, files, import};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fmt::Write;
use tracedrop::analysis::{self, Query};
use tracedrop::engine::{Session, Shown, format_title};
use tracedrop::export::redact::Classes;
use tracedrop::export::{self, Input, Options};
use tracedrop::trace::Run;

fn html(name: &str, content: &str) -> String {
    let run = Run::single(import(name, content.as_bytes(), None).unwrap());
    let (query, options) = (Query::default(), Options::default());
    let reports = analysis::reports(&run, &query);
    let document = analysis::document(&run, &reports, &format_title);
    let input = Input::new(&run, &document, &query, &options);
    String::from_utf8(export::to_bytes(export::find("html").unwrap(), &input)).unwrap()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = &text[text.find(start).unwrap_or_else(|| panic!("no {start}")) + start.len()..];
    &rest[..rest.find(end).unwrap()]
}

#[test]
fn names_in_a_trace_are_nothing_but_text() {
    let hostile = r#"</td><script>alert(1)</script>"' onload=x &amp; <img src=x onerror=y>"#;
    let name = serde_json::to_string(hostile).unwrap();
    let content = format!(
        r#"[{{"name":{name},"ph":"X","ts":1,"dur":5,"pid":1,"tid":1}},{{"ph":"C","name":{name},"ts":2,"pid":1,"args":{{{name}:3}}}},{{"ph":{name}}}]"#
    );
    let page = html("<b>\u{202e}trace.json", &content);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("<img") && !page.contains("<b>") && !page.contains('\u{202e}'));
    assert!(page.contains("&lt;/td&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;"));
}

#[test]
fn only_its_own_style_and_script_may_run() {
    let page = html("a.json", r#"[{"name":"a","ph":"X","ts":1,"dur":5,"pid":1,"tid":1}]"#);
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\"");
    assert!(policy.starts_with("default-src 'none'; connect-src 'none';"), "{policy}");
    for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
        let content = between(&page, &format!("<{tag}>"), &format!("</{tag}>"));
        let told = between(policy, &format!("{directive} 'sha256-"), "'");
        let bits: Vec<u8> = told.trim_end_matches('=').bytes().map(six_bits).collect();
        let mut digest = Vec::new();
        for chunk in bits.chunks(4) {
            let n = chunk.iter().fold(0u32, |n, bits| n << 6 | u32::from(*bits)) << (6 * (4 - chunk.len()));
            digest.extend_from_slice(&n.to_be_bytes()[1..chunk.len()]);
        }
        assert_eq!(digest, Sha256::digest(content.as_bytes()).to_vec(), "{tag}");
    }
    // Nothing in it leads anywhere else.
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("style=\""));
}

fn six_bits(letter: u8) -> u8 {
    match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    }
}

#[test]
fn facts_have_their_units_and_tables_say_how_they_are_sorted() {
    let page = html(
        "a.jsonl",
        r#"{"wall_ms": 12.5, "probe": "p", "view_id": "base", "op": "logprob_of", "hit": false, "t": 1}"#,
    );
    assert!(page.contains("<dt>Total time</dt><dd>12.50 ms</dd>"), "{page}");
    assert!(page.contains("<th scope=\"col\" aria-sort=\"descending\" class=\"number\""));
    assert!(page.contains("role=\"region\" aria-label=\"Time by probe\""));
}

#[test]
fn long_tables_are_cut_and_that_is_said() {
    let events: Vec<String> = (0..1500)
        .map(|i| format!(r#"{{"name":"op {i}","ph":"X","ts":{i},"dur":1,"pid":1,"tid":1}}"#))
        .collect();
    let page = html("many.json", &format!("[{}]", events.join(",")));
    assert!(page.contains("500 more rows not shown."));
    assert!(page.len() < 4 << 20);
}

fn session(name: &str, content: &[u8]) -> Session {
    let mut session = Session::of_trace(import(name, content, None).unwrap(), Query::default());
    session.finish_reports();
    session
}

fn exported(session: &mut Session, id: &str, redact: Classes) -> String {
    let mut out = Vec::new();
    let options = Options { redact, ..Options::default() };
    session.export(export::find(id).unwrap(), &options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn timeline_of(page: &str) -> &str {
    between(page, "<h2 id=\"timeline\">Timeline</h2>", "</section>")
}

/// A trace with `n_threads` threads, each with `n` events of a tenth of a microsecond, one every `every` microseconds.
fn ticks(n_threads: usize, n: usize, every: f64) -> String {
    let mut text = String::new();
    for thread in 0..n_threads {
        for at in 0..n {
            let ts = at as f64 * every;
            let _ = write!(
                text,
                r#",{{"name":"tick {thread}","ph":"X","ts":{ts:.1},"dur":0.1,"pid":1,"tid":{}}}"#,
                thread + 2
            );
        }
    }
    text
}

#[test]
fn the_timeline_is_a_picture_with_names() {
    let name = serde_json::to_string("all <b>\"\u{202e}day</title><script>").unwrap();
    let content =
        format!(r#"[{{"name":{name},"ph":"X","ts":0,"dur":1000,"pid":1,"tid":1}}{}]"#, ticks(1, 5000, 0.2));
    let mut session = session("a.json", content.as_bytes());
    let page = exported(&mut session, "html", Classes::default());
    let timeline = timeline_of(&page);
    assert!(timeline.contains("5,001 events in 2 tracks over 1.000 ms."), "{timeline}");
    assert!(timeline.contains("0 ns to 1.000 ms, 2 of 2 tracks. Colors stand for names."), "{timeline}");
    let escaped = "all &lt;b&gt;&quot;\\u{202e}day&lt;/title&gt;&lt;script&gt;";
    // As a text in its box, and with its duration where one points at it.
    assert!(timeline.contains(&format!("<title>{escaped}: 1.000 ms</title>")), "{timeline}");
    assert!(timeline.contains(&format!(">{escaped}</text>")), "{timeline}");
    // A pixel has 2,048 ns.
    let n_merged = timeline.matches("<title>tick 0 and ").count();
    let n_of_ten = timeline.matches("<title>tick 0 and 9 more: 1.000 µs</title>").count();
    assert!((480..=489).contains(&n_merged) && n_of_ten > 50, "{n_merged}, {n_of_ten}: {timeline}");
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.contains("style=\"") && !page.contains("<b>"));
    // Text has the tables of reports only, and so has a page of chosen reports.
    assert!(!exported(&mut session, "markdown", Classes::default()).contains("Events over time"));
    session.make_only(vec!["slices".to_string()]);
    session.set_query(Query { top: 7, ..Query::default() }).unwrap();
    assert!(!exported(&mut session, "html", Classes::default()).contains("id=\"timeline\""));
}

#[test]
fn pictures_of_timelines_stay_small() {
    let content =
        format!(r#"[{{"name":"process_name","ph":"M","pid":1,"args":{{}}}}{}]"#, ticks(60, 1000, 5.0));
    let page = exported(&mut session("many.json", content.as_bytes()), "html", Classes::default());
    let timeline = timeline_of(&page);
    assert!(timeline.contains(", 40 of 60 tracks."), "{}", &timeline[..2000]);
    let n_boxes = timeline.matches("<rect ").count();
    assert!((2_000..=8_000).contains(&n_boxes), "{n_boxes}");
    assert!(timeline.len() < 2 << 20, "{}", timeline.len());
}

#[test]
fn names_that_are_taken_out_are_not_in_the_timeline() {
    let redact = Classes { symbols: true, paths: true, ..Classes::default() };
    let mut n_names = 0;
    for path in ["chrome", "pytorch"]
        .iter()
        .flat_map(|system| data_dirs(system))
        .flat_map(|dir| files(&dir, &[".json", ".gz"]))
    {
        let bytes = std::fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(trace) = import(name, &bytes, None).ok().filter(|_| bytes.len() < 100_000) else { continue };
        let ids: HashSet<_> = trace.slices.name.iter().copied().collect();
        let names: Vec<String> =
            ids.iter().filter_map(|id| trace.strings.get_opt(*id)).map(str::to_string).collect();
        let mut session = Session::of_trace(trace, Query::default());
        session.finish_reports();
        let page = exported(&mut session, "html", redact);
        if !page.contains("<h2 id=\"timeline\">") {
            continue;
        }
        for symbol in names.iter().filter(|name| name.contains("::") || name.contains('(')) {
            let start: String = symbol.chars().take(30).collect();
            let mut escaped = String::new();
            tracedrop::scene::svg::push_text(&start, &mut escaped);
            assert!(!timeline_of(&page).contains(&escaped), "{name}: {symbol}");
            n_names += 1;
        }
    }
    assert!(n_names > 100, "{n_names}");
}
