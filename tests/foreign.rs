//! Unsupported files are named, and supported ones are never mistaken for them.

use crate::support::{files, import};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::{Path, PathBuf};
use tracedrop::analysis::Query;
use tracedrop::engine::Session;

fn refusal(name: &str, bytes: &[u8]) -> String {
    let mut session = Session::new(name, 0, None, Query::default());
    session.feed(bytes);
    match session.finish() {
        Err(error) => error.to_string(),
        Ok(()) => session.why_useless().map_or_else(|| "read".to_string(), |why| why.to_string()),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// Files of one system in the corpus; none without the corpus.
fn corpus(system: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus").join(system);
    if dir.is_dir() { files(&dir, &[""]) } else { Vec::new() }
}

#[test]
fn each_kind_is_named_also_inside_gzip() {
    let cases: &[(&[u8], &str)] = &[
        (br#"{"log":{"version":"1.2","creator":{"name":"x"},"entries":[]}}"#, "HAR"),
        (br#"{"resourceSpans":[{"scopeSpans":[]}]}"#, "OTLP"),
        (br#"{"data":[{"traceID":"a","spans":[]}]}"#, "Jaeger"),
        (b"SQLite format 3\0....", "the SQLite database is damaged or encrypted"),
        (b"\x80\x04\x95\x18\0\0\0\0\0\0\0}\x94\x8c\x07weights\x94]", "without a memory snapshot"),
        (b"\x80\x04\x95\x18\0\0\0\0\0\0\0}\x94.", "a Python pickle"),
        (b"FLR\0\0\x02\0\0", "Java Flight Recorder"),
        (b"\x0a\xef\xbf\xbd\xef\xbf\xbd\x06\x08\x02\x12\x0d/device:TPU:0\x1a", "XPlane"),
        (
            &[
                0, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0,
                0, 0, 0, 0, 0, 0, 0, 0, 0,
            ],
            "gperftools",
        ),
        (br#"{"profileJSON":{"meta":1}}"#, "a legacy Firefox profile"),
        (b"\x7fELF\x02\x01\x01\0", "ELF"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"\xff\xd8\xff\xe0", "JPEG"),
        (b"\n <!DOCTYPE HTML><html></html>", "an HTML page"),
        (b"# tracer: nop\n#\n", "ftrace text"),
        (b"GIF89a", "GIF"),
        (b"PK\x03\x04rest", "save it as a file whose name ends in .zip"),
        (&[&[b'a'; 257][..], b"ustar\x0000"].concat(), "extract it first"),
        (b"app 12 \n\t1 f+0x1 (/x)\n\t2 main (/x)\n\n", "`perf script -F +time`"),
        (b"app \n\t1 f+0x1 (/x)\n\n", "perf script text without times"),
        (br#"{"rocprofiler-sdk-tool": [{"metadata": {}}]}"#, "`--output-format rocpd`"),
        (b"{\"data\":[\"x\"]}\n{\"Type\":48,\"CudaEvent\":{\"startNs\":\"1\"}}\n", "`nsys export -t sqlite`"),
        (br#"[{"children": [], "frame": {"name": "ROOT"}, "metrics": {"count": 0}}]"#, "Triton Proton"),
        (br#"[{"startH2dMs": 1.0, "startComputeMs": 1.2}]"#, "a trtexec timing file"),
        (br#"[{"count": 1}, {"name": "a", "timeMs": 1, "averageMs": 1, "percentage": 80}]"#, "a trtexec layer profile"),
        (
            br#"[{"id": 1, "model_name": "a"}, {"id": 1, "timestamps": [{"name": "REQUEST_START", "ns": 1}]}]"#,
            "Triton Inference Server",
        ),
        (b"[[1715000000000000, 1715000000001000], [[0, 0], [100, 0]]]", "a PyTorch memory timeline"),
        (b"[[-1, 0, 1024, 5], [1715000000001000, 2, -1024, 5]]", "a PyTorch memory timeline"),
        (br#"{"schema": "1.1.1-chakra.0.0.4", "nodes": [{"id": 1, "ctrl_deps": 1}]}"#, "Chakra"),
        (br#"{"version": "2.5", "entries": [{"record_id": 0, "time_created_ns": 1}]}"#, "flight recorder"),
        (br#"{"duration": 1.5, "sample_count": 9, "root_frame": {"time": 1.5}}"#, "`pyinstrument -r speedscope`"),
        (br#"{"elapsed_time_sec": 1.5, "files": {}, "max_footprint_mb": 10}"#, "a Scalene profile"),
        (b"MOJ\x03\x01mode\0wall\0", "mojo2austin"),
        (b"go 1.22 trace\0\0\0", "a Go execution trace"),
        (b"goroutine profile: total 5\n3 @ 0x1\n", "fetch it again without `debug=`"),
        (b"heap profile: 3: 300 [ 4: 400] @ heap_v2/524288\n", "`pprof -proto`"),
        (b"heap_v2/524288\n  t*: 3: 300 [0: 0]\n", "`jeprof --collapsed`"),
        (b"Nettrace\x14\0\0\0!FastSerialization.1", "dotnet-trace"),
        (b"SIMPLEPERF\x01\0", "report_sample.py"),
        (b"v 10500 3\nx /usr/bin/foo\n", "`heaptrack_print -F stacks.txt FILE`"),
        (b"# To display the perf.data header info, use\n#\n# Samples: 100 of event 'cycles'\n", "perf report"),
        (br#"{"linux-perf-json-version": 1, "samples": []}"#, "print the samples with `perf script`"),
        (b"Attaching 1 probe...\n\n@[bash]: 12\n", "stackcollapse-bpftrace.pl"),
        (b"v8-version,11,3,244\ntick,0x1,100,0,0x0,6\n", "`node --cpu-prof`"),
        (br#"[{"method": "Tracing.dataCollected", "params": {"value": []}}]"#, "Chrome DevTools Protocol"),
        (br#"{"jsonrpc": "2.0", "result": {"type": "Timeline", "traceEvents": []}}"#, "save its `result`"),
        (b"tracy\0\x0b\x01", "a Tracy capture"),
        (b"\x0d\xf0\xad\x0b\0\0\0\0\x01\0", "a Spall trace"),
        (br#"{"profile": {"samples": [{"elapsed_since_start_ns": "100"}]}}"#, "a Sentry profile"),
        (br#"{"version": 1, "flamebearer": {"names": []}}"#, "export it as pprof"),
        (b"events: Ticks\n\nfl=a.py\nfn=main\n1 100\n", "a callgrind profile"),
    ];
    for (bytes, wanted) in cases {
        for bytes in [bytes.to_vec(), gzip(bytes)] {
            let said = refusal("unknown", &bytes);
            assert!(said.contains(wanted), "{wanted}: {said}");
        }
        // In pieces, too.
        let mut session = Session::new("unknown", 0, None, Query::default());
        bytes.chunks(1).for_each(|piece| session.feed(piece));
        assert!(session.finish().is_err_and(|error| error.to_string().contains(wanted)), "{wanted}");
    }
}

/// Content of each corpus folder; odd files may get another name, but none is read as a trace or mistaken for text.
#[test]
fn recordings_of_other_tools_are_named() {
    let is_one = |path: &PathBuf, endings: &[&str]| {
        let name = path.file_name().unwrap().to_str().unwrap();
        endings.iter().any(|ending| name.trim_end_matches(".gz").ends_with(ending))
    };
    for (system, endings, wanted) in [
        ("memsnapshot", &["odd_other_pickle.pickle"][..], "without a memory snapshot"),
        ("stacks", &[".prof"], "gperftools"),
    ] {
        for path in corpus(system).into_iter().filter(|path| is_one(path, endings)) {
            let name = path.file_name().unwrap().to_str().unwrap();
            // Too broken to recognize, or of another kind on purpose.
            if ["odd_one_byte", "odd_fields", "odd_text_converted"].iter().any(|odd| name.starts_with(odd)) {
                continue;
            }
            let said = refusal(name, &std::fs::read(&path).unwrap());
            assert!(said.contains(wanted), "{system}/{name}: {said}");
        }
    }
}

/// Text that is no profile is not read as folded stacks because its lines end with numbers, or have semicolons.
#[test]
fn other_text_is_no_folded_stacks() {
    for text in [
        "openat(AT_FDCWD, \"/etc/ld.so.cache\", O_RDONLY|O_CLOEXEC) = 3\nclose(3)                = 0\n",
        "2024-05-06 10:00:00 INFO step 1\n2024-05-06 10:00:01 INFO step 2\n",
        "name;calls;total ns\nvecadd;3;900\ngemm;2;500\n",
        "int main() {\n  int x = 5;\n  return 0;\n}\n",
        "var trace = {\"traceEvents\": []};",
    ] {
        let said = refusal("x.txt", text.as_bytes());
        assert!(said.contains("looks like text, but not a supported trace"), "{text}: {said}");
    }
    // Functions without calls may be a profile: that is for the reader to judge.
    let trace = import("x.txt", b"/usr/bin 500\n/usr/lib 800\n", None).unwrap();
    assert_eq!((trace.source.format, trace.ledger.count_of("stacks-one-frame")), ("folded", 1));
}

/// Tests supported files under their own names.
#[test]
fn what_was_read_is_still_read() {
    for (name, bytes) in [
        ("a.json", &br#"{"traceEvents":[{"ph":"X","name":"nodes","ts":1,"dur":1,"args":{"callFrame":1,"nodes":2}}]}"#[..]),
        ("b.json", br#"[{"ph":"X","name":"a","ts":1,"dur":1,"args":{"resourceSpans":1,"traceID":"x","spans":[]}}]"#),
    ] {
        assert!(import(name, bytes, None).is_ok(), "{name}");
    }
}
