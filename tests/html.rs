//! Reports as one HTML file: complete, shut off, and safe whatever the trace holds.

mod support;

use sha2::{Digest, Sha256};
use support::import;
use tracedrop::analysis::{self, Query};
use tracedrop::engine::format_title;
use tracedrop::export::{self, Input, Options};
use tracedrop::trace::Run;

fn html(name: &str, content: &str) -> String {
    let run = Run::single(import(name, content.as_bytes(), None).unwrap());
    let (query, options) = (Query::default(), Options::default());
    let reports = analysis::reports(&run, &query);
    let document = analysis::document(&run, &reports, &format_title);
    let input = Input { run: &run, document: &document, query: &query, options: &options };
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
