//! Known but unsupported file kinds, recognized by content: the name of each, and how to get a supported file.
//!
//! The first matching row wins. Nothing here keeps a format from reading a file; it only words the refusal.

use crate::base::protobuf::{Fields, Value};

/// How a kind of file is recognized.
enum Sign {
    /// These bytes at this place.
    Magic(usize, &'static [u8]),
    /// A JSON object or list, with all of these texts near its start.
    Json(&'static [&'static str]),
    /// The function decides.
    Judged(fn(&[u8]) -> bool),
}

/// An unsupported kind of file.
pub struct Foreign {
    /// With its article: `a perf.data file`.
    pub what: &'static str,
    /// A trace or profile that Tracedrop may support some day; all others are neither.
    pub is_recording: bool,
    /// How to get a supported file; empty if there is no way.
    pub instead: &'static str,
    sign: Sign,
}

const fn recording(what: &'static str, sign: Sign, instead: &'static str) -> Foreign {
    Foreign { what, is_recording: true, instead, sign }
}

const fn other(what: &'static str, sign: Sign, instead: &'static str) -> Foreign {
    Foreign { what, is_recording: false, instead, sign }
}

const RECORD_CHROME: &str = "open the original trace, or record a Chrome trace (JSON)";
const RECORD_TORCH: &str = "record with torch.profiler and export_chrome_trace instead";
const RECORD_NSYS: &str = "record with `nsys profile` and export with `nsys export -t sqlite` instead";
const RECORD_PERF: &str = "record with `perf record -g` and print with `perf script`; for Python, use `python -m profiling.sampling`";
const RECORD_PYTHON: &str = "record with `python -m profiling.sampling --jsonl` instead";
const RECORD_PERFETTO: &str = "record with Perfetto instead";
const UTF8: &str = "save it as UTF-8";
const UNPACK: &str = "decompress it first";
const EXTRACT: &str = "extract it first, then open the files in it";

use Sign::{Json, Judged, Magic};

/// Known kinds, the most certain first.
static KINDS: &[Foreign] = &[
    // Captures of GPUs and frameworks.
    recording("an Nsight Compute report", Magic(0, b"NVR\0"), RECORD_TORCH),
    recording(
        "an Nsight Systems report (.nsys-rep)",
        Judged(is_nsys_report),
        "export it with `nsys export -t sqlite FILE.nsys-rep` and open that",
    ),
    recording(
        "an XPlane profile (JAX, TensorFlow) that was converted as text, which destroyed it",
        Judged(is_converted_xplane),
        "copy the original file as binary data, without conversion to UTF-8",
    ),
    recording(
        "a kernel statistics file of TensorFlow's profiler",
        Judged(is_kernel_statistics),
        "open the .xplane.pb file beside it",
    ),
    recording(
        "a rocprofv3 JSON file",
        Json(&["\"rocprofiler-sdk-tool\""]),
        "record with `--output-format rocpd` or `pftrace`",
    ),
    recording(
        "an Nsight Systems JSON export",
        Json(&["{\"Type\":", "Event\":{"]),
        "export the report with `nsys export -t sqlite`",
    ),
    recording(
        "a hatchet profile (Triton Proton)",
        Json(&["\"frame\"", "\"metrics\"", "\"children\""]),
        "record with `proton.start(data=\"trace\")`, which writes a Chrome trace",
    ),
    recording("a trtexec timing file", Json(&["\"startComputeMs\""]), RECORD_NSYS),
    recording("a trtexec layer profile", Json(&["\"averageMs\"", "\"percentage\""]), RECORD_NSYS),
    recording(
        "a Triton Inference Server trace",
        Json(&["\"model_name\"", "\"timestamps\"", "\"ns\""]),
        RECORD_NSYS,
    ),
    recording(
        "a PyTorch memory timeline",
        Judged(is_memory_timeline),
        "record with torch.cuda.memory._record_memory_history() and _dump_snapshot()",
    ),
    recording("a PyTorch execution trace (Chakra)", Json(&["\"nodes\"", "\"ctrl_deps\""]), RECORD_TORCH),
    recording(
        "a PyTorch flight recorder dump",
        Json(&["\"entries\"", "\"record_id\"", "\"time_created_ns\""]),
        RECORD_TORCH,
    ),
    recording("an old profile of gperftools", Judged(is_legacy_pprof), "convert it with `pprof -proto`"),
    other(
        "a Python pickle without a memory snapshot",
        Judged(is_pickle),
        "of pickles, only CUDA memory snapshots are read; nothing in a pickle is ever executed",
    ),
    // Profiles of programs.
    recording("a Java Flight Recorder file", Magic(0, b"FLR\0"), RECORD_CHROME),
    recording("a Java heap dump", Magic(0, b"JAVA PROFILE "), ""),
    recording("a cProfile dump (pstats)", Judged(is_pstats), RECORD_PYTHON),
    recording(
        "a pyinstrument JSON profile",
        Json(&["\"root_frame\"", "\"sample_count\""]),
        "write it with `pyinstrument -r speedscope`",
    ),
    recording("a Scalene profile", Json(&["\"elapsed_time_sec\"", "\"max_footprint_mb\""]), RECORD_PYTHON),
    recording("an Austin profile in binary (MOJO)", Magic(0, b"MOJ"), "convert it with `mojo2austin`"),
    recording(
        "a Go execution trace",
        Judged(|head| head.starts_with(b"go 1.") && has(&head[..head.len().min(16)], " trace\0")),
        "convert it with `go tool trace -pprof=sched`, or record a CPU profile",
    ),
    recording(
        "a Go profile in text form",
        Judged(|head| {
            starts_with_any(
                head,
                &["goroutine profile:", "threadcreate profile:", "--- mutex:", "--- contention:"],
            )
        }),
        "fetch it again without `debug=`",
    ),
    recording(
        "a heap profile in text form (Go, tcmalloc)",
        Magic(0, b"heap profile:"),
        "convert it with `pprof -proto`; in Go, fetch it without `debug=`",
    ),
    recording("a jemalloc heap profile", Magic(0, b"heap_v2/"), "convert it with `jeprof --collapsed`"),
    recording(
        "a .NET trace (nettrace)",
        Magic(0, b"Nettrace"),
        "convert it with `dotnet-trace convert --format Speedscope`",
    ),
    recording(
        "a heaptrack recording",
        Judged(|head| head.starts_with(b"v ") && has(&head[..head.len().min(200)], "\nx ")),
        "print folded stacks with `heaptrack_print -F stacks.txt FILE`",
    ),
    recording("a V8 log (--prof)", Magic(0, b"v8-version,"), "record with `node --cpu-prof`, or in DevTools"),
    recording("a Sentry profile", Json(&["\"elapsed_since_start_ns\""]), ""),
    recording("a Pyroscope profile", Json(&["\"flamebearer\""]), "export it as pprof"),
    recording("a Tracy capture", Judged(is_tracy), ""),
    recording("a Spall trace (binary)", Magic(0, b"\x0d\xf0\xad\x0b\0\0\0\0"), RECORD_CHROME),
    recording(
        "a dump of Chrome DevTools Protocol messages",
        Json(&["\"Tracing.dataCollected\""]),
        "save the events in `params.value` as one JSON list",
    ),
    recording(
        "a reply of the Dart VM service",
        Json(&["\"jsonrpc\"", "\"traceEvents\""]),
        "save its `result` as a file",
    ),
    recording(
        "a perf.data file",
        Magic(0, b"PERFILE2"),
        "convert it with `perf script`; call chains (`perf record -g`) and memory-access samples are supported",
    ),
    recording(
        "a simpleperf report (protobuf)",
        Magic(0, b"SIMPLEPERF"),
        "print the recording with simpleperf's `report_sample.py`",
    ),
    recording(
        "`perf report` output",
        Magic(0, b"# To display the perf.data header"),
        "print the samples with `perf script`",
    ),
    recording(
        "a `perf data convert` JSON file",
        Json(&["\"linux-perf-json-version\""]),
        "print the samples with `perf script`",
    ),
    recording(
        "bpftrace output",
        Judged(|head| starts_with_any(head, &["attaching "]) && has(head, "\n@") || head.starts_with(b"@[")),
        "fold its stacks with `stackcollapse-bpftrace.pl`",
    ),
    recording(
        "perf script text without times",
        Judged(super::stacks::perf::is_without_times),
        "print the default fields, or add time: `perf script -F +time`",
    ),
    recording("a trace-cmd recording", Magic(0, b"\x17\x08\x44tracing"), RECORD_PERFETTO),
    recording("an LTTng trace (CTF)", Magic(0, b"\xc1\x1f\xfc\xc1"), RECORD_CHROME),
    recording("gprof data (gmon.out)", Magic(0, b"gmon"), RECORD_PERF),
    recording("ftrace text", Magic(0, b"# tracer:"), RECORD_PERFETTO),
    recording(
        "a callgrind profile",
        Judged(|head| {
            starts_with_any(head, &["# callgrind format", "version: 1\ncreator: callgrind"])
                || starts_with_any(head, &["events:"]) && has(head, "\nfn=")
        }),
        RECORD_PERF,
    ),
    recording(
        "a massif profile",
        Judged(|head| starts_with_any(head, &["desc: --massif", "desc: --"]) && has(head, "\ncmd: ")),
        "",
    ),
    recording("a legacy Firefox profile", Json(&["\"profileJSON\""]), RECORD_CHROME),
    recording(
        "a V8 heap snapshot",
        Json(&["\"snapshot\"", "\"node_fields\""]),
        "record a performance trace in DevTools instead",
    ),
    recording(
        "an HTTP archive (HAR)",
        Json(&["\"log\"", "\"entries\"", "\"creator\""]),
        "record a performance trace in DevTools instead",
    ),
    recording(
        "an HTTP archive (HAR)",
        Json(&["\"log\"", "\"entries\"", "\"startedDateTime\""]),
        "record a performance trace in DevTools instead",
    ),
    recording("OpenTelemetry spans (OTLP JSON)", Json(&["\"resourceSpans\""]), "export a Chrome trace"),
    recording(
        "OpenTelemetry metrics or logs (OTLP JSON)",
        Json(&["\"resourceMetrics\""]),
        "export spans as a Chrome trace",
    ),
    recording(
        "OpenTelemetry metrics or logs (OTLP JSON)",
        Json(&["\"resourceLogs\""]),
        "export spans as a Chrome trace",
    ),
    recording("a Jaeger trace", Json(&["\"traceID\"", "\"spans\""]), "export a Chrome trace"),
    recording("a Zipkin trace", Json(&["\"traceId\"", "\"localEndpoint\""]), "export a Chrome trace"),
    recording(
        "a Lighthouse report",
        Json(&["\"lighthouseVersion\"", "\"audits\""]),
        "open the trace that Lighthouse saves with --save-assets",
    ),
    other("a Jupyter notebook", Json(&["\"cells\"", "\"nbformat\""]), ""),
    // Archives and packed files.
    other(
        "a zip archive",
        Magic(0, b"PK\x03\x04"),
        "save it as a file whose name ends in .zip and open that file",
    ),
    other("an empty zip archive", Magic(0, b"PK\x05\x06"), ""),
    other("a bzip2 file", Magic(0, b"BZh"), UNPACK),
    other("an xz file", Magic(0, b"\xfd7zXZ\0"), UNPACK),
    other("a 7z archive", Magic(0, b"7z\xbc\xaf\x27\x1c"), EXTRACT),
    other("a RAR archive", Magic(0, b"Rar!\x1a\x07"), EXTRACT),
    other("a tar archive", Magic(257, b"ustar"), EXTRACT),
    // Programs, data and documents.
    other("a program or library (ELF)", Magic(0, b"\x7fELF"), "profile a run of it and open the profile"),
    other(
        "a program or library (Mach-O)",
        Magic(0, b"\xcf\xfa\xed\xfe"),
        "profile a run of it and open the profile",
    ),
    other(
        "a Windows program",
        Judged(|head| head.starts_with(b"MZ") && head.len() > 64 && head.contains(&0)),
        "profile a run of it and open the profile",
    ),
    other("a Java class file", Magic(0, b"\xca\xfe\xba\xbe"), ""),
    other("a WebAssembly module", Magic(0, b"\0asm"), ""),
    other("a NumPy array", Magic(0, b"\x93NUMPY"), ""),
    other("an HDF5 file", Magic(0, b"\x89HDF"), ""),
    other("an Arrow file", Magic(0, b"ARROW1"), "write it as Parquet"),
    other("a model (GGUF)", Magic(0, b"GGUF"), ""),
    other(
        "a model (safetensors)",
        Judged(|head| head.get(8..10) == Some(b"{\"") && head.get(4..8) == Some(&[0; 4])),
        "",
    ),
    other("a PNG image", Magic(0, b"\x89PNG"), ""),
    other("a JPEG image", Magic(0, b"\xff\xd8\xff"), ""),
    other("a GIF image", Magic(0, b"GIF8"), ""),
    other("a WebP image", Magic(8, b"WEBP"), ""),
    other("a PDF document", Magic(0, b"%PDF"), ""),
    other(
        "an HTML page",
        Judged(|head| starts_with_any(head, &["<!doctype html", "<html"])),
        "save the data itself instead",
    ),
    other(
        "an SVG image",
        Judged(|head| {
            starts_with_any(head, &["<svg", "<?xml"]) && has(&head[..head.len().min(2000)], "<svg")
        }),
        "open the data it was drawn from",
    ),
    other("an XML document", Judged(|head| starts_with_any(head, &["<?xml"])), ""),
    other("UTF-32 text", Magic(0, b"\xff\xfe\0\0"), UTF8),
    other("UTF-32 text", Magic(0, b"\0\0\xfe\xff"), UTF8),
    other("UTF-16 text", Magic(0, b"\xff\xfe"), UTF8),
    other("UTF-16 text", Magic(0, b"\xfe\xff"), UTF8),
    other("UTF-16 text", Judged(is_utf16), UTF8),
];

/// Kind of the content that starts with `head`; `None` if unknown.
pub fn find(head: &[u8]) -> Option<&'static Foreign> {
    KINDS.iter().find(|kind| match kind.sign {
        Magic(at, magic) => head.get(at..).is_some_and(|rest| rest.starts_with(magic)),
        Json(texts) => is_json(head) && texts.iter().all(|text| has(head, text)),
        Judged(judge) => judge(head),
    })
}

impl Foreign {
    /// Refusal as a sentence fragment.
    pub fn refusal(&self) -> String {
        match self.is_recording {
            true => format!("this is {}, which Tracedrop does not support yet", self.what),
            false => format!("this is {}, not a trace", self.what),
        }
    }
}

fn has(head: &[u8], text: &str) -> bool {
    memchr::memmem::find(head, text.as_bytes()).is_some()
}

fn text_start(head: &[u8]) -> &[u8] {
    head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start()
}

fn is_json(head: &[u8]) -> bool {
    text_start(head).first().is_some_and(|byte| b"{[".contains(byte))
}

/// Ignores case and leading white space.
fn starts_with_any(head: &[u8], texts: &[&str]) -> bool {
    let head = text_start(head);
    texts
        .iter()
        .any(|text| head.get(..text.len()).is_some_and(|start| start.eq_ignore_ascii_case(text.as_bytes())))
}

/// Whether every other byte of the beginning is 0, and the others are not, as in UTF-16 of Latin text without a byte order mark.
fn is_utf16(head: &[u8]) -> bool {
    let (pairs, _) = head[..head.len().min(64)].as_chunks::<2>();
    pairs.len() >= 4
        && (pairs.iter().all(|[low, high]| low.is_ascii() && *low != 0 && *high == 0)
            || pairs.iter().all(|[high, low]| low.is_ascii() && *low != 0 && *high == 0))
}

fn is_nsys_report(head: &[u8]) -> bool {
    head.contains(&0)
        && ["NsightSystems", "Nsight Systems", "QuadDAnalysis", "QDSTRM"]
            .iter()
            .any(|text| has(&head[..head.len().min(4096)], text))
}

fn is_converted_xplane(head: &[u8]) -> bool {
    let start = &head[..head.len().min(200)];
    super::xplane::is_converted(head)
        && ["/host:", "/device:", "Task Environment"].iter().any(|name| has(start, name))
}

/// Reports, each with the name of a kernel, the sizes of its blocks and its grid as packed numbers, and its time.
fn is_kernel_statistics(head: &[u8]) -> bool {
    let Some((1, Value::Bytes(report))) = Fields::new(head).next() else { return false };
    let is_of_name = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let is_told = |(field, value): (u64, Value<'_>)| match value {
        Value::Bytes(name) if field == 1 => name.iter().all(is_of_name),
        Value::Bytes(_) => matches!(field, 5 | 6),
        Value::Number(_) => field == 7,
    };
    Fields::new(report).filter(|field| is_told(*field)).count() == 4
}

/// Lists of times in microseconds since 1970, or of what was there before (-1).
fn is_memory_timeline(head: &[u8]) -> bool {
    let Some(first) = text_start(head).strip_prefix(b"[[") else { return false };
    first.starts_with(b"-1, ") || first.iter().take_while(|byte| byte.is_ascii_digit()).count() >= 13
}

fn is_tracy(head: &[u8]) -> bool {
    [&b"tracy\0"[..], b"tlZ\x04", b"tZst"].iter().any(|magic| head.starts_with(magic))
}

/// Samples of the C++ profiler: words of the machine.
fn is_legacy_pprof(head: &[u8]) -> bool {
    let words = |size: usize| {
        let word = |at: usize| {
            let bytes = head.get(at * size..(at + 1) * size)?;
            Some(bytes.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte)))
        };
        (word(0), word(1), word(2)) == (Some(0), Some(3), Some(0)) && word(4) == Some(0)
    };
    words(8) || words(4)
}

fn is_pickle(head: &[u8]) -> bool {
    matches!(
        head,
        [0x80, 2..=5, b'\x95' | b'}' | b']' | b'(' | b'c' | b'K' | b'X' | b'\x8c' | b'q' | b'.', ..]
    ) || head.starts_with(b"(dp0\n")
        || head.starts_with(b"(lp0\n")
}

/// A dict as marshal writes it.
fn is_pstats(head: &[u8]) -> bool {
    matches!(head, [b'{', b'(' | 0xa9, ..]) && head.contains(&0)
}
