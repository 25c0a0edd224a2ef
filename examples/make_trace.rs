//! Writes a synthetic trace of a given size, deterministically: for benches and for testing large files.
//!
//! `cargo run --release --example make_trace -- chrome 300 trace.json` (sizes in MB; `sway`, `python`, `perf`, `mrm` likewise)
//!
//! `serving 0 www/samples/serving.json` writes the page's sample, which has a fixed size.

use std::io::{self, BufWriter, Write};

/// xorshift64*, so that every run writes the same bytes.
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

/// Counts the bytes written.
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
        eprintln!("usage: make_trace chrome|chrome-lines|sway|python|perf|mrm|serving MEGABYTES FILE");
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
        "chrome-lines" => chrome_lines(&mut out, megabytes * 1_000_000)?,
        "sway" => sway(&mut out, megabytes * 1_000_000)?,
        "python" => python(&mut out, megabytes * 1_000_000)?,
        "perf" => perf(&mut out, megabytes * 1_000_000)?,
        "mrm" => mrm(&mut out, megabytes * 1_000_000)?,
        "serving" => serving(&mut out)?,
        other => {
            eprintln!("make_trace: there is no kind '{other}'");
            std::process::exit(2);
        }
    }
    out.flush()
}

/// As the PyTorch profiler writes it: nested operators on some threads, launches, kernels on one stream, flow arrows.
/// One operator in a hundred ends slightly after its parent, as in real files.
fn chrome(out: &mut Counted<impl Write>, size: u64) -> io::Result<()> {
    const THREADS: usize = 4;
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
    let micros = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
    let mut clocks = [1_700_000_000_000_000u64; THREADS];
    let mut stream = clocks[0];
    let mut id = 0u64;
    while out.bytes < size {
        let thread = random.below(THREADS as u64) as usize;
        let (tid, start) = (100 + thread, clocks[thread]);
        let n_inner = 1 + random.below(3);
        let outer = 4_000 + n_inner * 9_000;
        clocks[thread] = start + outer + 500 + random.below(4_000);
        for i in 0..=n_inner {
            // The first encloses the others.
            let late = if random.below(100) == 0 { 9_500 } else { 0 };
            let (ts, dur) = if i == 0 { (start, outer) } else { (start + i * 9_000 - 7_000, 8_000 + late) };
            id += 1;
            let rows = 1 + random.below(64);
            writeln!(
                out,
                "  {{\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::{}_{}\", \"pid\": 7, \"tid\": {tid},\n    \
                 \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {id}, \"Record function id\": 0, \
                 \"Concrete Inputs\": [\"\", \"\", \"1.0\"], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"], \
                 \"Input Strides\": [[4096, 1], [4096, 1], []], \"Input Dims\": [[{rows}, 4096], [4096, 4096], []], \"Ev Idx\": {id}\n    }}\n  }},",
                if i == 0 { "linear" } else { "addmm" },
                random.below(24),
                micros(ts),
                micros(dur),
            )?;
            if i == 0 || random.below(2) == 0 {
                continue;
            }
            let launch = ts + 2_000;
            stream = stream.max(launch + 3_000) + 200;
            let (kernel, length) =
                (kernels[random.below(kernels.len() as u64) as usize], 1_000 + random.below(3_000));
            writeln!(
                out,
                "  {{\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 7, \"tid\": {tid},\n    \
                 \"ts\": {}, \"dur\": 3.125,\n    \"args\": {{\n      \"External id\": {id}, \"cbid\": 211, \"correlation\": {id}\n    }}\n  }},",
                micros(launch),
            )?;
            writeln!(
                out,
                "  {{\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"{kernel}\", \"pid\": 0, \"tid\": 7,\n    \
                 \"ts\": {}, \"dur\": {},\n    \"args\": {{\n      \"External id\": {id}, \"queued\": 0, \"device\": 0, \"context\": 1, \
                 \"stream\": 7, \"correlation\": {id}, \"registers per thread\": 168, \"shared memory\": 49152, \"blocks per SM\": {}.25, \
                 \"warps per SM\": 8.5,\n      \"grid\": [{rows}, 1, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %\": {}\n    }}\n  }},",
                micros(stream),
                micros(length),
                random.below(8),
                random.below(100),
            )?;
            for (phase, pid, tid, ts, bind) in
                [("s", 7, tid, launch, ""), ("f", 0, 7, stream, r#", "bp": "e""#)]
            {
                writeln!(
                    out,
                    "  {{\n    \"ph\": \"{phase}\", \"id\": {id}, \"pid\": {pid}, \"tid\": {tid}, \"ts\": {},\n    \
                     \"cat\": \"ac2g\", \"name\": \"ac2g\"{bind}\n  }},",
                    micros(ts)
                )?;
            }
            stream += length;
        }
    }
    writeln!(out, r#"  {{"name":"end","ph":"i","s":"g","ts":{},"pid":7,"tid":100}}"#, clocks[0] / 1000)?;
    writeln!(out, "]}}")
}

/// Some steps of an inference server: requests, a scheduler, kernel launches and kernels, a growing KV cache.
/// One decode step is slow because the cache is compacted on the host while the GPU waits.
fn serving(out: &mut Counted<impl Write>) -> io::Result<()> {
    const SCHEDULER: (u32, u32) = (1, 11);
    const RUNNER: (u32, u32) = (1, 12);
    const STREAM: (u32, u32) = (2, 7);
    const COMM: (u32, u32) = (2, 20);
    let mut random = Random(0xd20b);
    let micros = |ns: u64| {
        if ns.is_multiple_of(1000) {
            format!("{}", ns / 1000)
        } else {
            format!("{}.{:03}", ns / 1000, ns % 1000)
        }
    };
    writeln!(
        out,
        r#"{{"displayTimeUnit":"ms","otherData":{{"engine":"example 1.0","model":"example-8b","gpu":"example"}},"traceEvents":["#
    )?;
    let names = [
        (1, 0, "process_name", "server"),
        (2, 0, "process_name", "GPU 0"),
        (SCHEDULER.0, SCHEDULER.1, "thread_name", "scheduler"),
        (RUNNER.0, RUNNER.1, "thread_name", "model runner"),
        (STREAM.0, STREAM.1, "thread_name", "stream 7"),
        (COMM.0, COMM.1, "thread_name", "stream 20 (NCCL)"),
    ];
    for (pid, tid, what, name) in names {
        writeln!(out, r#"{{"ph":"M","name":"{what}","pid":{pid},"tid":{tid},"args":{{"name":"{name}"}}}},"#)?;
    }
    let complete =
        |out: &mut Counted<_>, at: (u32, u32), name: &str, cat: &str, ts: u64, dur: u64, args: &str| {
            let args = if args.is_empty() { String::new() } else { format!(r#","args":{{{args}}}"#) };
            writeln!(
                out,
                r#"{{"ph":"X","name":"{name}","cat":"{cat}","pid":{},"tid":{},"ts":{},"dur":{}{args}}},"#,
                at.0,
                at.1,
                micros(ts),
                micros(dur)
            )
        };
    // Kernels of one layer: name, launch interval on the host, duration in prefill and decode, in nanoseconds.
    let layer: [(&str, &str, u64, u64, u64); 8] = [
        ("rms_norm", "norm", 4_200, 9_000, 2_900),
        ("gemm_qkv_bf16", "gemm", 5_100, 96_000, 11_800),
        ("rotary_embedding", "elementwise", 3_900, 7_500, 2_200),
        ("flash_attention", "attention", 6_400, 142_000, 17_500),
        ("gemm_o_bf16", "gemm", 4_800, 64_000, 8_100),
        ("gemm_gate_up_bf16", "gemm", 5_000, 210_000, 27_300),
        ("silu_and_mul", "elementwise", 3_800, 15_000, 3_000),
        ("gemm_down_bf16", "gemm", 4_900, 105_000, 14_600),
    ];
    let mut now = 1_000_000u64;
    let mut gpu = now;
    let mut launch = 0u64;
    let mut blocks = 96u64;
    for request in 0..6u64 {
        writeln!(
            out,
            r#"{{"ph":"b","name":"request","cat":"request","id":"0x{request:x}","pid":1,"tid":11,"ts":{},"args":{{"prompt_tokens":{},"max_tokens":{}}}}},"#,
            micros(now - 400_000 + request * 61_000),
            180 + 57 * request,
            4 + request
        )?;
    }
    for step in 0..10u64 {
        let prefill = step == 0;
        let n_running = if prefill { 6 } else { 6u64.saturating_sub(step.saturating_sub(4)) };
        let start = now;
        let schedule = 38_000 + random.below(9_000);
        complete(out, SCHEDULER, "schedule", "host", now, schedule, &format!(r#""running":{n_running}"#))?;
        now += schedule + 2_000;
        if step == 6 {
            complete(out, SCHEDULER, "compact_kv_cache", "host", now, 2_640_000, r#""moved_blocks":71"#)?;
            now += 2_645_000;
        }
        let forward = now;
        for n_layer in 0..4 {
            let layer_start = now;
            for (name, cat, host, in_prefill, in_decode) in layer {
                let host = host + random.below(1_400);
                complete(
                    out,
                    RUNNER,
                    "cudaLaunchKernel",
                    "cuda_runtime",
                    now,
                    host - 600,
                    &format!(r#""correlation":{launch}"#),
                )?;
                writeln!(
                    out,
                    r#"{{"ph":"s","name":"ac2g","cat":"ac2g","id":{launch},"pid":1,"tid":12,"ts":{}}},"#,
                    micros(now)
                )?;
                let time = if prefill { in_prefill } else { in_decode };
                let time = time + random.below(time / 12 + 1);
                gpu = gpu.max(now + 3_600);
                complete(
                    out,
                    STREAM,
                    name,
                    cat,
                    gpu,
                    time,
                    &format!(r#""correlation":{launch},"layer":{n_layer}"#),
                )?;
                writeln!(
                    out,
                    r#"{{"ph":"f","bp":"e","name":"ac2g","cat":"ac2g","id":{launch},"pid":2,"tid":7,"ts":{}}},"#,
                    micros(gpu)
                )?;
                gpu += time + 700;
                now += host;
                launch += 1;
            }
            complete(
                out,
                COMM,
                "all_reduce_bf16",
                "communication",
                gpu,
                if prefill { 52_000 } else { 13_400 },
                r#""bytes":65536,"ranks":2"#,
            )?;
            gpu += if prefill { 53_000 } else { 14_000 };
            complete(out, RUNNER, &format!("layer {n_layer}"), "module", layer_start, now - layer_start, "")?;
            now += 1_500;
        }
        complete(
            out,
            RUNNER,
            if prefill { "forward (prefill)" } else { "forward (decode)" },
            "module",
            forward,
            now - forward,
            &format!(r#""step":{step}"#),
        )?;
        complete(out, RUNNER, "wait for GPU", "sync", now, gpu.saturating_sub(now) + 4_000, "")?;
        now = gpu.max(now) + 5_000;
        let sample = 61_000 + random.below(20_000);
        complete(out, RUNNER, "sample", "host", now, sample, &format!(r#""tokens":{n_running}"#))?;
        now += sample + 4_000;
        blocks = if step == 6 { blocks - 71 } else { blocks + if prefill { 92 } else { n_running } };
        writeln!(
            out,
            r#"{{"ph":"C","name":"KV cache blocks","pid":1,"ts":{},"args":{{"used":{blocks},"free":{}}}}},"#,
            micros(now),
            256 - blocks
        )?;
        writeln!(
            out,
            r#"{{"ph":"C","name":"requests","pid":1,"ts":{},"args":{{"running":{n_running}}}}},"#,
            micros(now)
        )?;
        complete(
            out,
            SCHEDULER,
            if prefill { "prefill step" } else { "decode step" },
            "step",
            start,
            now - start,
            &format!(r#""step":{step},"requests":{n_running}"#),
        )?;
        if step >= 4 {
            writeln!(
                out,
                r#"{{"ph":"e","name":"request","cat":"request","id":"0x{:x}","pid":1,"tid":11,"ts":{}}},"#,
                step - 4,
                micros(now)
            )?;
        }
        now += 6_000 + random.below(3_000);
    }
    writeln!(
        out,
        r#"{{"ph":"i","s":"g","name":"all requests done","cat":"step","pid":1,"tid":11,"ts":{}}}"#,
        micros(now)
    )?;
    writeln!(out, "]}}")
}

/// A long evaluation, in the format of dlm-sway.
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

/// Loads and stores of a model on CPUs, recorded by perf mem, as perf script prints them.
fn perf(out: &mut Counted<impl Write>, size: u64) -> io::Result<()> {
    let mut random = Random(0x5eed);
    let symbols = ["ggml_vec_dot_f16", "ggml_mul_mat_one_chunk", "kv_read_rows", "ggml_rope_f32", "free"];
    let levels = [("681000142", "L1"), ("681000442", "L2"), ("681000842", "L3"), ("681001042", "RAM")];
    let mut micros = 12_345_000_000u64;
    while out.bytes < size {
        micros += random.below(200);
        let (source, level) = levels[random.below(4) as usize];
        writeln!(
            out,
            "       llama-cli  46{:03} [{:03}] {}.{:06}:       4000   cpu/mem-loads,ldlat=30/P:     7f3a4{:07x}        {source} |OP LOAD|LVL {level} hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A                          {:2}     7f3b000{:05x} {}+{:#x} (/opt/llama/lib/libggml-cpu.so)",
            random.below(8),
            random.below(8),
            micros / 1_000_000,
            micros % 1_000_000,
            random.below(1 << 21) * 64,
            random.below(90),
            random.below(1 << 20),
            symbols[random.below(5) as usize],
            random.below(900) + 1,
        )?;
    }
    Ok(())
}

/// A model run for mrm-trace: 4 GiB of weights are stored once and read at random, blocks of a 512 MiB KV cache are stored and
/// read back, activations and the allocator touch some thousand pages. About 120 bytes per line.
fn mrm(out: &mut Counted<impl Write>, size: u64) -> io::Result<()> {
    const WEIGHT_LINES: u64 = 1 << 26;
    const KV_BLOCKS: u64 = 1 << 21;
    let kernels = ["ggml_vec_dot_f16", "ggml_mul_mat_one_chunk", "ggml_vec_dot_q6_K_q8_K"];
    let others = ["ggml_silu_f32", "ggml_rms_norm_f32", "ggml_compute_forward_add", "ggml_rope_f32"];
    let mut random = Random(0x5eed);
    let mut micros = 12_345_000_000u64;
    let (mut n_loaded, mut n_blocks) = (0u64, 1u64);
    let mut line = |micros: u64, is_store: bool, address: u64, symbol: &str, dso: &str| {
        let event = if is_store { "cpu/mem-stores/P" } else { "cpu/mem-loads,ldlat=30/P" };
        writeln!(
            out,
            "       llama-cli  46817 [{:03}] {}.{:06}: {event:>26}:     {address:x} {symbol}+{:#x} /opt/llama/lib/{dso}",
            micros % 8,
            micros / 1_000_000,
            micros % 1_000_000,
            micros % 900 + 16,
        )?;
        Ok::<bool, io::Error>(out.bytes < size)
    };
    // One line in sixteen is from loading the weights.
    let load_bytes = size / 16;
    let n_to_load = load_bytes / 125;
    loop {
        micros += random.below(120) + 1;
        let more = if n_loaded < n_to_load {
            let at = n_loaded * WEIGHT_LINES / n_to_load.max(1);
            n_loaded += 1;
            line(micros, true, 0x7f3a_4000_0000 + at * 64, "llama_model_load_internal", "libllama.so")?
        } else {
            match random.below(100) {
                0..60 => {
                    let address = 0x7f3a_4000_0000 + random.below(WEIGHT_LINES) * 64;
                    line(micros, false, address, kernels[random.below(3) as usize], "libggml-cpu.so")?
                }
                60..65 => {
                    n_blocks += 1;
                    let address = 0x7f39_0000_0000 + n_blocks % KV_BLOCKS * 256;
                    line(micros, true, address, "llama_kv_cache_update", "libllama.so")?
                }
                65..80 => {
                    let block = n_blocks - random.below(n_blocks.min(KV_BLOCKS));
                    let address = 0x7f39_0000_0000 + block % KV_BLOCKS * 256;
                    line(micros, false, address, "attn_cache_gather", "libllama.so")?
                }
                80..95 => {
                    let address = 0x5570_1000_0000 + random.below(4096 * 64) * 64;
                    line(
                        micros,
                        random.below(3) == 0,
                        address,
                        others[random.below(4) as usize],
                        "libggml-cpu.so",
                    )?
                }
                _ => {
                    let address = 0x5571_0000_0000 + random.below(1 << 16) * 16;
                    line(micros, random.below(2) == 0, address, "malloc", "libc.so.6")?
                }
            }
        };
        if !more {
            return Ok(());
        }
    }
}

/// Spans as a server logs them: one event per line, no brackets, some nested, occasional counters.
fn chrome_lines(out: &mut Counted<impl Write>, size: u64) -> io::Result<()> {
    const THREADS: usize = 8;
    let mut random = Random(0x5eed);
    let mut clocks = [1_700_000_000_000_000u64; THREADS];
    let mut n_requests = 0u64;
    while out.bytes < size {
        let thread = random.below(THREADS as u64) as usize;
        let tid = 100 + thread;
        n_requests += 1;
        let start = clocks[thread];
        let n_inner = 1 + random.below(5);
        clocks[thread] = start + n_inner * 100 + 20 + random.below(50);
        writeln!(
            out,
            r#"{{"name":"request","cat":"http","ph":"X","ts":{start},"dur":{},"pid":7,"tid":{tid},"args":{{"id":{n_requests},"path":"/v1/items/{}","status":200}}}}"#,
            n_inner * 100 + 10,
            random.below(5_000),
        )?;
        for inner in 0..n_inner {
            writeln!(
                out,
                r#"{{"name":"query_{}","cat":"db","ph":"X","ts":{}.{:03},"dur":{},"pid":7,"tid":{tid},"args":{{"rows":{},"sql":"select * from items where id = ?"}}}}"#,
                random.below(40),
                start + inner * 100 + 5,
                random.below(1_000),
                40 + random.below(50),
                random.below(200),
            )?;
        }
        if n_requests.is_multiple_of(50) {
            writeln!(
                out,
                r#"{{"name":"in flight","ph":"C","ts":{start},"pid":7,"args":{{"requests":{}}}}}"#,
                random.below(20)
            )?;
        }
    }
    Ok(())
}

/// A profile of a large program from CPython's sampling profiler: many code locations, few strings.
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
