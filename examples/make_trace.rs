//! Writes a made-up trace of a given size, always the same one: for benches and for trying large files.
//!
//! `cargo run --release --example make_trace -- chrome 300 trace.json` (sizes in MB; `sway`, `python` likewise)

use std::io::{self, BufWriter, Write};

/// xorshift64*, so that every run makes the same bytes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Counts what passes through.
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

fn main() -> io::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [kind, megabytes, path] = &args[..] else {
        eprintln!("usage: make_trace chrome|sway|python MEGABYTES FILE");
        std::process::exit(2);
    };
    let Ok(megabytes) = megabytes.parse::<u64>() else {
        eprintln!("make_trace: '{megabytes}' is no number of megabytes");
        std::process::exit(2);
    };
    let mut out =
        Counted { inner: BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?), bytes: 0 };
    match kind.as_str() {
        "chrome" => chrome(&mut out, megabytes * 1_000_000)?,
        "sway" => sway(&mut out, megabytes * 1_000_000)?,
        "python" => python(&mut out, megabytes * 1_000_000)?,
        other => {
            eprintln!("make_trace: there is no kind '{other}'");
            std::process::exit(2);
        }
    }
    out.flush()
}

/// An inference server in the manner of the PyTorch profiler: nested CPU ops, launches, kernels with arguments, flows.
fn chrome(out: &mut Counted<impl Write>, size: u64) -> io::Result<()> {
    let mut random = Random(0x5eed);
    let kernels =
        ["gemm_bf16_128x128", "flash_fwd_splitkv", "rms_norm", "silu_and_mul", "rotary", "all_reduce"];
    write!(out, "{{\n\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ms\",\n\"traceEvents\": [\n")?;
    for (pid, name) in [(7, "server"), (0, "GPU 0")] {
        writeln!(
            out,
            r#"{{"name":"process_name","ph":"M","ts":0,"pid":{pid},"tid":0,"args":{{"name":"{name}"}}}},"#
        )?;
    }
    let mut ns: u64 = 1_700_000_000_000_000;
    let mut id = 0u64;
    while out.bytes < size {
        ns += 2_000 + random.below(3_000);
        let op = random.below(24);
        let dur = 9_000 + random.below(40_000);
        let micros = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
        writeln!(
            out,
            "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op_{op}\", \"pid\": 7, \"tid\": {},\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {id},\"Record function id\": 0, \"Input Dims\": [[{}, 4096], [4096, 4096]]\n    }}\n  }},",
            100 + random.below(4),
            micros(ns),
            micros(dur),
            1 + random.below(64),
        )?;
        id += 1;
        if op.is_multiple_of(2) {
            let kernel = kernels[random.below(kernels.len() as u64) as usize];
            writeln!(
                out,
                "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{kernel}\", \"pid\": 0, \"tid\": 7,\n    \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {id}, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": {id},\n      \"grid\": [{}, 1, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %\": {}\n    }}\n  }},",
                micros(ns + 1_500),
                micros(1_000 + random.below(1_900)),
                1 + random.below(512),
                random.below(100),
            )?;
            writeln!(
                out,
                r#"  {{"ph": "s", "id": {id}, "pid": 7, "tid": 100, "ts": {}, "cat": "ac2g", "name": "ac2g"}},"#,
                micros(ns)
            )?;
            writeln!(
                out,
                r#"  {{"ph": "f", "id": {id}, "pid": 0, "tid": 7, "ts": {}, "cat": "ac2g", "name": "ac2g", "bp": "e"}},"#,
                micros(ns + 1_500)
            )?;
        }
    }
    writeln!(out, r#"  {{"name":"end","ph":"i","s":"g","ts":{},"pid":7,"tid":100}}"#, ns / 1000)?;
    writeln!(out, "]}}")
}

/// A long evaluation as dlm-sway writes it.
fn sway(out: &mut Counted<impl Write>, size: u64) -> io::Result<()> {
    let mut random = Random(0x5eed);
    let views = ["base", "ft", "scaled_0.50", "scaled_1.25", "null_1000", "null_1001"];
    let ops = ["next_token_dist", "rolling_logprob", "logprob_of"];
    let mut ts = 1_790_000_000.0;
    while out.bytes < size {
        let hit = random.below(4) == 0;
        let wall_ms = if hit { 0.001 } else { 0.2 } * (1.0 + random.below(1_000_000) as f64 / 9_973.0);
        ts += wall_ms / 1000.0;
        writeln!(
            out,
            r#"{{"ts": {ts}, "probe": "probe_{}", "view_id": "{}", "prompt_hash": "{:012x}", "top_k": {}, "op": "{}", "wall_ms": {wall_ms}, "hit": {hit}}}"#,
            random.below(8),
            views[random.below(6) as usize],
            random.below(50_000) * 5_629_499_534,
            [0, 8, 256][random.below(3) as usize],
            ops[random.below(3) as usize],
        )?;
    }
    Ok(())
}

/// A profile of a large program: many places, few strings, as CPython's sampling profiler writes it.
fn python(out: &mut Counted<impl Write>, size: u64) -> io::Result<()> {
    let mut random = Random(0x5eed);
    let common = r#""v":0,"run_id":"00112233445566778899aabbccddeeff""#;
    writeln!(out, r#"{{"type":"meta",{common},"sample_interval_usec":1000,"mode":"wall"}}"#)?;
    for chunk in 0..8 {
        let strings: Vec<String> = (0..256)
            .map(|i| chunk * 256 + i)
            .map(|i| {
                if i < 64 {
                    format!(r#"{{"str_id":{i},"value":"/srv/app/module_{i}.py"}}"#)
                } else {
                    format!(r#"{{"str_id":{i},"value":"Worker.step_{i}"}}"#)
                }
            })
            .collect();
        writeln!(out, r#"{{"type":"string_table",{common},"strings":[{}]}}"#, strings.join(","))?;
    }
    // A frame takes about 100 bytes in its table and 40 in its counts.
    let n_frames = size.saturating_sub(out.bytes) / 150;
    for first in (0..n_frames).step_by(256) {
        let frames: Vec<String> = (first..n_frames.min(first + 256))
            .map(|id| {
                let line = 1 + random.below(4_000);
                let col = random.below(40);
                format!(
                    r#"{{"frame_id":{id},"path_str_id":{},"func_str_id":{},"line":{line},"end_line":{line},"col":{col},"end_col":{}}}"#,
                    random.below(64),
                    64 + random.below(1_984),
                    col + 1 + random.below(60),
                )
            })
            .collect();
        writeln!(out, r#"{{"type":"frame_table",{common},"frames":[{}]}}"#, frames.join(","))?;
    }
    let mut total = 0;
    for first in (0..n_frames).step_by(256) {
        let entries: Vec<String> = (first..n_frames.min(first + 256))
            .map(|id| {
                let own = random.below(20) * random.below(2);
                total += own;
                format!(r#"{{"frame_id":{id},"self":{own},"cumulative":{}}}"#, own + random.below(100))
            })
            .collect();
        writeln!(
            out,
            r#"{{"type":"agg",{common},"kind":"frame","scope":"final","samples_total":{total},"entries":[{}]}}"#,
            entries.join(",")
        )?;
    }
    writeln!(out, r#"{{"type":"end",{common},"samples_total":{total}}}"#)
}
