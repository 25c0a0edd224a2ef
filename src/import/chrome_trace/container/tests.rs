//! Files that are broken, truncated or cut into chunks anywhere.

use super::recovery::FREE_SEARCH_BYTES;
use super::*;

/// Records kept and skipped, and the issue codes.
fn read(text: &[u8], max_element: usize, step: usize) -> (u64, u64, Vec<&'static str>) {
    let mut container = Container::with_max_element(max_element);
    let mut out = TraceBuilder::default();
    for chunk in text.chunks(step) {
        container.feed(chunk, &mut out);
    }
    container.finish(&mut out).unwrap();
    let ledger = &out.trace.ledger;
    let codes = ledger.issues.iter().map(|issue| issue.kind.code).collect();
    (ledger.kept.records, ledger.skipped.records, codes)
}

#[test]
fn long_values_are_stepped_over_wherever_they_are_cut() {
    let long = format!(r#"{{"a":["{}\"]",{{}}]}}"#, "x".repeat(500));
    let event = r#"{"name":"n","ph":"X","ts":1,"dur":1}"#;
    let text = format!(
        r#"{{"big":{long},"traceEvents":[{event},{long},"{{]",{event}],"stackFrames":{{"1":{long}}}}}"#
    );
    for step in 1..text.len() {
        let (kept, skipped, codes) = read(text.as_bytes(), 100, step);
        assert_eq!((kept, skipped), (2, 2), "{step}");
        assert_eq!(codes, ["huge-member", "huge-event", "element-not-object"], "{step}");
    }
}

#[test]
fn broken_syntax_costs_little() {
    let event = r#"{"name":"n","ph":"X","ts":1,"dur":1}"#;
    for (broken, n_skipped) in [
        (r#"{"name":"q" "ph":"X","args":{"a":[{},{}]}}"#, 1),
        (r#"{"name":"q","ph":"X","ts":1,"dur":1]"#, 1),
        (r#"{"name":"q"""#, 1),
    ] {
        let text = format!("[{event},{broken},{event},{event}]");
        for step in 1..text.len() {
            assert_eq!(read(text.as_bytes(), 1 << 20, step).0, 3, "{broken} {step}");
            assert_eq!(read(text.as_bytes(), 1 << 20, step).1, n_skipped, "{broken} {step}");
        }
    }
}
#[test]
fn what_is_swallowed_comes_out_again() {
    let event = r#"{"name":"n","ph":"X","ts":1,"dur":1,"args":{"a":"],[","b":[{},{"c":1}]}}"#;
    let long = "x".repeat(2000);
    for (broken, n_skipped) in [
        // A stray quote.
        (r#"{"name":"q","ph":"X","ts":1,"args":{"a":"b"c"}}"#.to_string(), 1),
        (r#"{"name":"q"r","ph":"X","ts":1,"args":{"a":"],["}}"#.to_string(), 1),
        (format!(r#"{{"name":"q","ph":"X","ts":1,"args":{{"a":"b"{long}"}}}}"#), 1),
        (
            format!(
                r#"{{"name":"q","ph":"X","ts":1,"args":{{"a":"b"{long}"}}}},{{"name":"q","ph":"X","ts":1,"args":{{"a":"b"c"}}}}"#
            ),
            2,
        ),
        // A missing bracket.
        (r#"{"name":"q","ph":"X","ts":1,"args":{"a":1"#.to_string(), 1),
        (r#"{"name":"q","ph":"X","ts":1,"args":{"a":[1"#.to_string(), 1),
        (r#"{"name":"q","ph":"X","ts":1,"args":{"a":{"b":2}"#.to_string(), 1),
        // Stray text.
        (r#"""#.to_string(), 0),
        (r#"["#.to_string(), 0),
    ] {
        for text in [
            format!("[\n{event},\n{event},\n{broken},\n{event},{event},\n{event}\n]"),
            format!(
                r#"{{"traceEvents":[{event},{event},{broken},{event},{event},{event}],"otherData":{{"a":1}}}}"#
            ),
            format!("[{event},{event},{broken},{event},{event},{event}"),
        ] {
            let whole = read(text.as_bytes(), 1 << 20, text.len());
            assert_eq!((whole.0, whole.1), (5, n_skipped), "{text}: {whole:?}");
            for step in (1..text.len()).step_by(1 + text.len() / 300) {
                assert_eq!(read(text.as_bytes(), 1 << 20, step), whole, "{text} {step}");
            }
        }
    }
}

#[test]
fn what_is_sound_swallows_nothing() {
    let event = r#"{"name":"n","ph":"X","ts":1,"dur":1}"#;
    let many = format!("{event},\n").repeat(100);
    for sound in [
        format!(r#"{{"name":"q","ph":"i","ts":1,"args":{{"a":[{many}{event}]}}}}"#),
        format!(r#"[{many}{event}]"#),
        format!(r#""{}""#, many.replace('"', "\\\"")),
    ] {
        let text = format!("[{event},{sound},{event}]");
        for step in [1, 7, 1000, text.len()] {
            let (kept, skipped, _) = read(text.as_bytes(), 1 << 20, step);
            assert_eq!(kept + skipped, 3, "{sound} {step}");
        }
    }
}

#[test]
fn a_line_that_was_cut_costs_no_other_line() {
    let event = r#"{"name":"n","ph":"X","ts":1,"dur":1}"#;
    for broken in [
        r#"{"name":"n","ph":"X","ts":1,"na"#,
        r#"{"name":"n","ph":"X","args":{"a":[1,2"#,
        r#"{"name":"n","ph":"X","ts""#,
        r#"{"name":"n","ph":"X",,"#,
    ] {
        let text = format!("{event}\n{broken}\n{event}\n{event}\n");
        for step in 1..text.len() {
            assert_eq!(read(text.as_bytes(), 1 << 24, step).0, 3, "{broken} {step}");
            assert_eq!(read(text.as_bytes(), 1 << 24, step).1, 1, "{broken} {step}");
        }
    }
    // Also if more follows than fits for one event.
    let text = format!("{event}\n{{\"args\":{{\"a\":[\n{}", format!("{event}\n").repeat(60_000));
    for step in [1000, text.len()] {
        assert_eq!(read(text.as_bytes(), 1 << 24, step).0, 60_001, "{step}");
    }
}

#[test]
fn a_list_that_is_closed_too_early_goes_on() {
    let event = r#"{"name":"n","ph":"X","ts":1,"dur":1,"args":{"a":"],[","b":[{},{"c":1}]}}"#;
    let log = r#"W0722 14:03 cuda.cpp:77] Warning: "foo" {bar}, [x]"#;
    for (hurt, n_lost) in [
        (format!("{event},\n],{event}"), 0),
        (format!("{event}]\n,\n{event}"), 0),
        (format!("{event},]{event}"), 0),
        (format!("{event}]}},{event}"), 0),
        (format!("{event}]}}\n{event}"), 0),
        (format!("{event},\nW0722 14:03 cuda.cpp:77] Warning\n{event}"), 0),
        (format!("{event},\n{log}\n{event}"), 0),
        (format!("{event},\n{log}\n{log}\n{event}"), 0),
    ] {
        for text in [
            format!("[\n{event},\n{hurt},\n{event}\n]"),
            format!(r#"{{"a":1,"traceEvents":[{event},{hurt},{event}],"b":{{"c":1}}}}"#),
        ] {
            let whole = read(text.as_bytes(), 1 << 20, text.len());
            assert!(whole.0 >= 4 - n_lost, "{text}: {whole:?}");
            assert!(whole.1 <= n_lost, "{text}: {whole:?}");
            assert!(whole.2.contains(&"list-closed-early"), "{text}: {whole:?}");
            for step in 1..text.len() {
                assert_eq!(read(text.as_bytes(), 1 << 20, step), whole, "{text} {step}");
            }
        }
    }
    // Text that is not part of the trace is not read as such.
    for behind in [
        format!("[{event},\n{event}]"),
        format!("\n{{\"traceEvents\":[\n{event},\n{event}]}}"),
        format!("{{}}\n{event}"),
        "\0\0\0".to_string(),
    ] {
        let text = format!("[{event},{event}]{behind}");
        for step in 1..text.len() {
            let expected = (2, 0, vec!["text-after-end"]);
            assert_eq!(read(text.as_bytes(), 1 << 20, step), expected, "{text} {step}");
        }
    }
}

#[test]
fn an_event_without_its_first_bracket_is_one_record() {
    let event = r#"{"name":"n","ph":"X","ts":1,"dur":1,"args":{"a":1}}"#;
    for separator in [",", ",\n"] {
        let events = [event, &event[1..], event, event].join(separator);
        for text in [format!("[{events}]"), format!(r#"{{"traceEvents":[{events}],"a":"b"}}"#)] {
            for step in 1..text.len() {
                let expected = (3, 1, vec!["broken-event"]);
                assert_eq!(read(text.as_bytes(), 1 << 20, step), expected, "{text} {step}");
            }
        }
    }
}

#[test]
fn text_that_is_not_used_is_counted_apart() {
    let event = r#"{"name":"n","ph":"X","ts":1,"dur":1}"#;
    for (text, unused_bytes) in [
        (format!("[{event},\n{event}\n]\n"), 0),
        (format!("[{event},\0\0\0\0{event}]"), 4),
        (format!("[{event},stray text\n{event}]"), 9),
        (format!("[{event},{event}]\n\0\0\0\0\n"), 4),
        (format!("[{event},{event}][{event}]"), event.len() as u64 + 2),
        (format!(r#"{{"traceEvents":[{event},{event}]; "a":1}}"#), 1),
    ] {
        for step in 1..text.len() {
            let mut container = Container::new();
            let mut out = TraceBuilder::default();
            text.as_bytes().chunks(step).for_each(|chunk| container.feed(chunk, &mut out));
            container.finish(&mut out).unwrap();
            assert_eq!(out.trace.ledger.kept.records, 2, "{text} {step}");
            assert_eq!(out.trace.ledger.unused_bytes, unused_bytes, "{text} {step}");
        }
    }
}

/// If many events are broken, the others are still found, and each costs one look at its neighborhood.
#[test]
fn many_broken_events_take_no_quadratic_time() {
    let text = format!("[{}", r#"{"a" [,"#.repeat(300_000));
    assert_eq!(read(text.as_bytes(), 1 << 20, text.len()), read(text.as_bytes(), 1 << 20, 1 << 16));
    let sound = r#"{"name":"n","ph":"X","ts":1,"dur":1,"args":{"a":{"b":"c"}}}"#;
    let line = |text: &str| format!("{text}\n");
    let element = |text: &str| format!("{text},\n");
    let cut = |n: usize| sound[..sound.len() - n].to_string();
    const N: usize = 40_000;
    for (start, pair, kept) in [
        ("[", element(&cut(2)) + &element(sound), N),
        ("[", element(&cut(1)) + &element(sound), N),
        ("[", element(&cut(25)) + &element(sound), N - 1),
        ("[", format!("[{}", element(sound).repeat(2)), 2 * N),
        ("[", element(&sound.replace("{\"b\":\"c\"}", "[1")) + &element(sound), N),
        ("", line(&cut(2)) + &line(sound), N),
        ("", line(&cut(1)) + &line(sound), N),
        ("", line(&cut(25)) + &line(sound), N - 1),
        ("", line(&cut(2)), 0),
    ] {
        let text = format!("{start}{}{}", element(sound), pair.repeat(N));
        let mut results = Vec::new();
        for step in [1 << 20, text.len()] {
            let mut container = Container::with_max_element(1 << 24);
            let mut out = TraceBuilder::default();
            text.as_bytes().chunks(step).for_each(|chunk| container.feed(chunk, &mut out));
            container.finish(&mut out).unwrap();
            let most = 40 * text.len() as u64 + 16 * FREE_SEARCH_BYTES;
            assert!(container.budget.looked_at_bytes < most, "{pair}: {}", container.budget.looked_at_bytes);
            let ledger = &out.trace.ledger;
            results.push((ledger.kept.records, ledger.skipped.records));
        }
        assert!(results[0].0 > kept as u64, "{pair}: {results:?}");
        assert_eq!(results[0], results[1], "{pair}");
    }
}
