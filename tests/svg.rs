//! Reports as a picture: well-formed, alone, and safe whatever the trace holds.

use crate::support::import;
use tracedrop::analysis::{self, Query};
use tracedrop::engine::{Session, Shown, format_title};
use tracedrop::export::{self, Input, Options};
use tracedrop::scene::svg;
use tracedrop::trace::Run;

fn pictures(name: &str, content: &[u8]) -> Vec<String> {
    let run = Run::single(import(name, content, None).unwrap());
    let (query, options) = (Query::default(), Options::default());
    let reports = analysis::reports(&run, &query);
    (0..reports.len())
        .map(|at| {
            let document = analysis::document(&run, &reports[at..], &format_title);
            let input = Input::new(&run, &document, &query, &options);
            String::from_utf8(export::to_bytes(export::find("svg").unwrap(), &input)).unwrap()
        })
        .collect()
}

/// Every tag is closed, and no text holds a sign that begins one.
fn check_xml(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in text.split('<').skip(1) {
        let (tag, rest) = part.split_once('>').unwrap_or_else(|| panic!("not closed: {part}"));
        assert!(!rest.contains('>'), "{rest}");
        let name = tag.split([' ', '/']).find(|name| !name.is_empty()).unwrap();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, true) => {}
            (false, false) => open.push(name),
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
    }
    assert!(open.is_empty(), "{open:?}");
}

/// The height that it says it has, and the lowest baseline in it.
fn heights(text: &str) -> (f64, f64) {
    let number = |text: &str| text.split('"').next().unwrap().parse::<f64>().unwrap();
    let height = number(text.split(" height=\"").nth(1).unwrap());
    let lowest = text.split("<text ").skip(1).map(|mark| number(mark.split(" y=\"").nth(1).unwrap()));
    (height, lowest.fold(0.0, f64::max))
}

#[test]
fn every_report_has_a_picture_that_stands_alone() {
    for sample in ["serving.json", "gpu-serving.json", "scoring-suite.jsonl", "python-threads.jsonl"] {
        let path = format!("{}/www/samples/{sample}", env!("CARGO_MANIFEST_DIR"));
        let pictures = pictures(sample, &std::fs::read(path).unwrap());
        assert!(!pictures.is_empty());
        for picture in pictures {
            check_xml(&picture);
            assert!(picture.starts_with("<svg xmlns=") && picture.len() < 300_000, "{}", picture.len());
            for outside in ["<script", "<style", "<image", "<foreignObject", "href", "url("] {
                assert!(!picture.contains(outside), "{sample}: {outside}");
            }
            assert!(picture.contains(sample) && picture.contains("Made by Tracedrop"));
            let (height, lowest) = heights(&picture);
            assert!(lowest < height && lowest > 60.0, "{sample}: {lowest} of {height}");
        }
    }
}

#[test]
fn names_in_a_trace_are_nothing_but_text() {
    let hostile = r#"</text><script>alert(1)</script>"' onload=x &amp; ]]> <!-- "#;
    let name = serde_json::to_string(&format!("{hostile}{}", "é".repeat(500))).unwrap();
    let content = format!(
        r#"[{{"name":{name},"ph":"X","ts":1,"dur":5,"pid":1,"tid":1}},{{"ph":"C","name":{name},"ts":2,"pid":1,"args":{{{name}:3}}}}]"#
    );
    let pictures = pictures("<b>\u{202e}trace.json", content.as_bytes());
    for picture in &pictures {
        check_xml(picture);
        assert!(!picture.contains("<script") && !picture.contains("<b>") && !picture.contains('\u{202e}'));
    }
    // Not every report names a slice.
    let n_named = pictures.iter().filter(|picture| picture.contains("&lt;/text&gt;&lt;script&gt;")).count();
    assert!(n_named >= 2, "{n_named} of {}", pictures.len());
}

#[test]
fn a_trace_with_nothing_in_it_has_a_picture_too() {
    for picture in pictures("empty.json", b"[]") {
        check_xml(&picture);
    }
}

/// Flame graphs have a script for zoom and search: the only one there is, without any address.
#[test]
fn flame_graphs_are_interactive_and_alone() {
    let mut session = Session::of_trace(
        import("a.folded", b"main;<b>]]>;gemm 8\nmain;idle 5\n", None).unwrap(),
        Query::default(),
    );
    session.make_only(vec!["flame-graph".to_string()]);
    session.set_query(Query { top: 7, ..Query::default() }).unwrap();
    let mut out = Vec::new();
    session.export(export::find("svg").unwrap(), &Options::default(), &mut out).unwrap();
    let report = String::from_utf8(out).unwrap();
    let chart = session.reports()[0].charts().next().unwrap();
    for (picture, n_graphs) in [(svg::picture(chart, 960.0), 1), (report, 2)] {
        let (before, rest) = picture.split_once("<script><![CDATA[").unwrap();
        let (script, after) = rest.split_once("]]></script>").unwrap();
        check_xml(&format!("{before}{after}"));
        assert!(!script.contains("]]>") && !script.contains("http") && !after.contains("<script"));
        assert_eq!(before.matches(r#" class="flame""#).count(), n_graphs);
        assert!(before.contains("<title>gemm\n8 samples (61.5%)</title>"), "{before}");
        assert!(before.contains("&lt;b&gt;]]&gt;"));
    }
}
