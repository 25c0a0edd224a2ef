//! Invalid input gives a clear error, or a report on what could be read.

use crate::support::Random;
use std::io::Write;
use tracedrop::analysis::Query;
use tracedrop::engine::{Session, Shown};
use tracedrop::export::{self, Options};
use tracedrop::import::{FORMATS, ImportError};

#[test]
fn content_is_judged_the_same_however_it_is_cut() {
    let late = format!("{{\"about\":\"{}\",\"traceEvents\":[]}}", "x".repeat(70_000));
    let blank = format!("{}{{\"ts\":", " \n".repeat(60_000));
    for text in [late, blank] {
        let result = |step: usize| {
            let chunks = text.as_bytes().chunks(step).map(<[u8]>::to_vec);
            open("a.json", chunks)
                .map(|session| session.run().traces[0].source.format)
                .map_err(|e| e.to_string())
        };
        assert_eq!(result(usize::MAX), result(13));
    }
}

/// Opens `chunks` as a file of unknown size.
fn open(name: &str, chunks: impl IntoIterator<Item = Vec<u8>>) -> Result<Session, ImportError> {
    let mut session = Session::new(name, 0, None, Query::default());
    for chunk in chunks {
        session.feed(&chunk);
    }
    session.finish().map(|()| session)
}

/// Calls everything a session offers; nothing may panic.
fn exercise(session: &mut Session) {
    assert!(session.document().is_some());
    for exporter in session.exporters() {
        session.export(exporter, &Options::default(), &mut std::io::sink()).unwrap();
    }
}

/// Checks the error of a file, in the words shown to users.
fn refused(name: &str, bytes: &[u8], code: &str, what: &str) {
    match open(name, [bytes.to_vec()]) {
        Err(error) => {
            assert_eq!(error.code, code, "{error}");
            assert!(error.to_string().contains(what), "{error}");
        }
        Ok(_) => panic!("{name} was read"),
    }
}

#[test]
fn what_is_no_trace_is_refused_with_a_hint() {
    refused("empty.json", b"", "empty", "0 bytes");
    refused("a.zip", b"PK\x03\x04rest", "unknown-format", "zip");
    refused("a.pdf", b"%PDF-1.7", "unknown-format", "PDF");
    refused("perf.data", b"PERFILE2\0\0\0", "unknown-format", "perf script");
    refused("a.bin", &[0xde, 0xad, 0, 0xbe, 0xef], "unknown-format", "binary");
    // Random bytes without a 0 are no text, whatever they begin with.
    let mut random = Random(7);
    let noise: Vec<u8> = (0..4000).map(|_| (random.next() % 255) as u8 + 1).collect();
    refused("a.bin", &noise, "unknown-format", "binary file of an unknown format");
    refused("a.bin", &[b"{", &noise[..]].concat(), "unknown-format", "binary file of an unknown format");
    // Text in an old encoding is text.
    refused("a.txt", b"Gr\xfc\xdfe aus K\xf6ln.\n", "unknown-format", "text");
    refused("a.json", b"{\"hello\": [1, 2]}", "unknown-format", "JSON");
    refused("a.txt", b"It was a dark and stormy night.\n", "unknown-format", "text");
    refused("a.json", b"  \n\t ", "unknown-format", "white space");
    refused("a.json", "\u{feff}".as_bytes(), "unknown-format", "");
    refused("a.gz", b"\x1f\x8b\x08", "packed-cut-off", "compressed data");
    refused("a.zst", b"\x28\xb5\x2f\xfd", "packed-cut-off", "compressed data");
    refused("a.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\0garbage garbage garbage", "packed-damaged", "damaged");
    // Too long to be judged by its start alone.
    let settings = format!("{{\"name\":\"x\",\"lines\":[{}0]}}", "12345,".repeat(20_000));
    refused("a.json", settings.as_bytes(), "no-events", "members name, lines");
    // Text of other encodings.
    let text = r#"[{"name":"a","ph":"X","ts":1}]"#;
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    refused("a.json", &utf16, "unknown-format", "UTF-16");
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    refused("a.json", &utf16, "unknown-format", "UTF-16");
    let utf32: Vec<u8> = "\u{feff}[{}]".chars().flat_map(|char| (char as u32).to_le_bytes()).collect();
    refused("a.json", &utf32, "unknown-format", "UTF-32");
    // Cut before the events.
    let head = b"{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,";
    refused("a.json", head, "no-events", "is truncated");
    // Compressed, but empty.
    let nothing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()).finish().unwrap();
    refused("a.json.gz", &nothing, "empty", "inside gzip");
    // The start is quoted, and harmless.
    refused("a.txt", b"\x1b[31m<script>alert(1)</script>", "unknown-format", "\\x1b[31m<script>");
}

#[test]
fn noise_never_panics() {
    let mut random = Random(0x1234_5678);
    for round in 0..400 {
        let len = random.below(3000) as usize;
        let bytes: Vec<u8> = (0..len)
            .map(|_| match round % 3 {
                0 => random.next() as u8,
                1 => b"{}[]\",:0123456789.eE-+ntf\\u \n"[random.below(29) as usize],
                _ => b"{\"ph\":\"X\",\"ts\":1}\n[]"[random.below(20) as usize],
            })
            .collect();
        for format in FORMATS {
            let mut session = Session::new("noise", 0, Some(format), Query::default());
            session.feed(&bytes);
            if session.finish().is_ok() {
                exercise(&mut session);
            }
        }
        let _ = open("noise", [bytes]);
    }
}

/// 10 GB from 10 MB: zeros, white space before an event, one endless line.
#[test]
fn bombs_need_no_memory() {
    let block = vec![b' '; 1 << 20];
    let bomb = |head: &[u8], fill: &[u8], n_blocks: usize, tail: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(head).unwrap();
        for _ in 0..n_blocks {
            encoder.write_all(fill).unwrap();
        }
        encoder.write_all(tail).unwrap();
        encoder.finish().unwrap()
    };
    let event = br#"[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1},"#;
    let mut session = open("spaces.json.gz", [bomb(event, &block, 600, b"]")]).ok().unwrap();
    assert_eq!(session.run().traces[0].slices.len(), 1);
    exercise(&mut session);

    // An unterminated string inside an event.
    let open_string = [&event[..], br#"{"name":""#].concat();
    let letters = vec![b'x'; 1 << 20];
    let mut session = open("string.json.gz", [bomb(&open_string, &letters, 600, b"")]).ok().unwrap();
    assert_eq!(session.run().traces[0].slices.len(), 1);
    assert!(!session.run().traces[0].ledger.issues.is_empty());
    exercise(&mut session);

    let line = br#"{"ts": 1.0, "probe": null, "view_id": "base", "prompt_hash": "00", "top_k": 0, "op": "x", "wall_ms": 1.0, "hit": false}"#;
    let head = [&line[..], b"\n", b"{\"view_id\": \""].concat();
    let tail = [b"\"}\n", &line[..], b"\n"].concat();
    let session = open("line.jsonl.gz", [bomb(&head, &letters, 600, &tail)]).ok().unwrap();
    let ledger = &session.run().traces[0].ledger;
    assert_eq!((ledger.kept.records, ledger.skipped.records), (2, 1));

    refused("zeros.gz", &bomb(b"", &vec![0; 1 << 20], 600, b""), "unknown-format", "binary");
}

#[test]
fn deep_nesting_is_no_danger() {
    let n = 100_000;
    let deep = format!("{}1{}", "[".repeat(n), "]".repeat(n));
    let objects = format!("{}1{}", "{\"a\":".repeat(n), "}".repeat(n));
    for args in [&deep, &objects] {
        let event = r#"{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"args":{"deep":"#;
        let text = format!("[{event}{args}}}}},{event}1}}}}]");
        let mut session = open("deep.json", [text.into_bytes()]).ok().unwrap();
        assert_eq!(session.run().traces[0].slices.len(), 2);
        exercise(&mut session);
    }
    // Deep stacks: begins without ends, then as many ends.
    let mut text = String::from("[");
    for i in 0..n {
        text.push_str(&format!(r#"{{"name":"f","ph":"B","ts":{i},"pid":1,"tid":1}},"#));
    }
    for i in 0..n {
        text.push_str(&format!(r#"{{"name":"f","ph":"E","ts":{},"pid":1,"tid":1}},"#, n + i));
    }
    let mut session = open("stack.json", [text.into_bytes()]).ok().unwrap();
    let slices = &session.run().traces[0].slices;
    assert_eq!((slices.len(), slices.depth.iter().max()), (n, Some(n as u32 - 1)));
    exercise(&mut session);
}

#[test]
fn hostile_names_stay_text() {
    let names = [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\u{1b}]0;owned\u{7}",
        "\u{202e}gnp.exe",
        "a|b\n| c",
        "](javascript:alert(1))",
        "=cmd()",
        "\u{0}\u{ffff}\u{2028}",
    ];
    let events: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            let name = serde_json::to_string(name).unwrap();
            format!(r#"{{"name":{name},"cat":{name},"ph":"X","ts":{i},"dur":1,"pid":1,"tid":1,"args":{{{name}:{name}}}}}"#)
        })
        .collect();
    let mut session = open("names.json", [format!("[{}]", events.join(",")).into_bytes()]).ok().unwrap();
    let mut export = |id: &str| {
        let mut bytes = Vec::new();
        session.export(export::find(id).unwrap(), &Options::default(), &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let markdown = export("markdown");
    for bad in ["\u{1b}", "\u{202e}", "\u{0}", "\u{2028}"] {
        assert!(!markdown.contains(bad), "{bad:?} in {markdown}");
    }
    // A backslash or an entity disarms what opens a tag or a link.
    let opens = |at: usize| !markdown[..at].ends_with('\\');
    assert!(markdown.match_indices('<').all(|(at, _)| !opens(at)), "{markdown}");
    assert!(markdown.match_indices("](").all(|(at, _)| !opens(at)), "{markdown}");
    let csv = export("csv");
    assert!(!csv.contains(",=cmd()") && !csv.contains("\n=cmd()"), "{csv}");
    serde_json::from_str::<serde_json::Value>(&export("json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&export("chrome-trace")).unwrap();
}

#[test]
fn a_file_that_changes_or_ends_early_says_so() {
    let event = br#"[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1},"#;
    let mut session = Session::new("a.json", 1000, None, Query::default());
    session.feed(event);
    session.finish().ok().unwrap();
    assert_eq!(session.run().traces[0].ledger.count_of("size-changed"), 1);

    let mut session = Session::new("a.json", 1000, None, Query::default());
    session.feed(event);
    session.stop("the disk is gone").ok().unwrap();
    let issue = session.run().traces[0].ledger.issue("read-stopped").unwrap();
    assert_eq!(issue.example, "the disk is gone");
    assert_eq!(session.run().traces[0].slices.len(), 1);

    let mut session = Session::new("a.json", 1000, None, Query::default());
    let error = session.stop("the disk is gone").err().unwrap();
    assert!(error.to_string().contains("the disk is gone"), "{error}");
}
