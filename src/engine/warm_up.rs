//! Parses small synthetic files so that the browser optimizes this code before it is needed.
//!
//! Browsers start wasm with quickly compiled, slow code, and recompile a function after it has run for a while. Large functions
//! take longer, and on a computer with few cores that delays the running code. A function that is called once, with a long loop,
//! stays slow to its end. Without the warm-up the first file is parsed at half the speed, and its reports take even longer.

use super::{Session, Shown};
use crate::analysis::Query;
use crate::base::strings::StringTable;
use crate::import::part_scheduler::{Next, PartScheduler};
use crate::import::parts::Part;
use crate::memory_run::trace_table;
use crate::trace::accesses::{Access, Op};
use std::fmt::Write;
use std::rc::Rc;

/// Pieces of the trace of events. Each step generates or parses one piece, or builds one report, in a few tens of milliseconds at
/// most, so that other work can run in between.
const PIECES: usize = 16;
/// Operations per piece, each with its calls and launches.
const OPERATIONS_A_PIECE: u64 = 150;
/// Pieces parsed front to back; the others are parsed as parts, like those from helpers.
const PIECES_ALONE: usize = 6;
/// Number of times the same file is parsed, because functions called once per file are recompiled only after that.
const ROUNDS: usize = 2;

/// Memory accesses in the other file, and per row group.
const ACCESSES: u64 = 24_000;
const ACCESSES_A_GROUP: usize = 4_000;

/// Generates and parses the files step by step.
pub fn steps() -> impl Iterator<Item = ()> {
    of_events().chain(of_accesses())
}

/// A trace of events of a GPU.
fn of_events() -> impl Iterator<Item = ()> {
    let mut content = Rc::new(Vec::new());
    let mut ends = vec![0];
    let mut reading: Option<(Session, usize)> = None;
    let mut n_rounds = 0;
    std::iter::from_fn(move || {
        if ends.len() <= PIECES {
            // No other reference exists yet.
            let content = Rc::get_mut(&mut content)?;
            content.extend_from_slice(piece(ends.len() as u64 - 1).as_bytes());
            ends.push(content.len());
            return Some(());
        }
        let Some((mut session, n_read)) = reading.take() else {
            if n_rounds == ROUNDS {
                return None;
            }
            n_rounds += 1;
            let mut session = Session::new("warm-up", 0, None, Query::default());
            session.can_read_again(content.clone());
            reading = Some((session, 0));
            return Some(());
        };
        let is_over = match (ends.get(n_read), ends.get(n_read + 1)) {
            (Some(from), Some(to)) if n_read < PIECES_ALONE => {
                session.feed(content.get(*from..*to)?);
                false
            }
            (Some(_), Some(to)) => {
                join(&mut session, &content, *to);
                false
            }
            _ if n_read == PIECES => {
                session.make_partial();
                drop(session.document());
                false
            }
            // Errors do not matter here.
            _ if n_read == PIECES + 1 => !session.finish_early().unwrap_or_default(),
            _ => !session.make_next_report(),
        };
        if is_over {
            drop(session.document());
        } else {
            reading = Some((session, n_read + 1));
        }
        Some(())
    })
}

/// Memory accesses as Parquet.
fn of_accesses() -> impl Iterator<Item = ()> {
    let mut content: Option<Rc<Vec<u8>>> = None;
    let mut reading: Option<(Session, usize)> = None;
    let mut n_rounds = 0;
    std::iter::from_fn(move || {
        let Some(content) = &content else {
            content = Some(Rc::new(accesses()));
            return Some(());
        };
        let Some((mut session, n_done)) = reading.take() else {
            if n_rounds == ROUNDS {
                return None;
            }
            n_rounds += 1;
            let mut session = Session::new("warm-up", 0, None, Query::default());
            session.can_read_again(content.clone());
            session.feed(content.get(..content.len() / 2)?);
            reading = Some((session, 0));
            return Some(());
        };
        let is_over = match n_done {
            0 => {
                join(&mut session, content, content.len());
                false
            }
            1 => !session.finish_early().unwrap_or_default(),
            _ => !session.make_next_report(),
        };
        if is_over {
            drop(session.document());
        } else {
            reading = Some((session, n_done + 1));
        }
        Some(())
    })
}

/// Output of a collector of memory accesses.
fn accesses() -> Vec<u8> {
    let mut strings = StringTable::default();
    let [malloc, product, cache, level, object] =
        ["malloc", "ggml_vec_dot_q4_0", "llama_kv_cache_update", "L1", "libllama.so"]
            .map(|text| Some(strings.intern(text)));
    let row = |i: u64| Access {
        sample: i,
        // Too far apart for delta encoding, unlike positions, so that both decoders are warmed up.
        ts: ((i << 36) + i * 2_654_435_761 % (1 << 35)) as i64,
        address: 0x7f00_0000_0000 + i % 7 * 0x10_0000 + i * 2654 % 65_536 * 8,
        op: if i.is_multiple_of(3) { Op::Store } else { Op::Load },
        symbol: [product, cache, malloc][i as usize % 3],
        dso: object,
        latency: Some(i * 7919 % 400),
        cache_level: level,
        cpu: Some((i % 16) as u32),
        thread: Some(4_000 + (i % 3) as i64),
        ..Access::default()
    };
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let _ = trace_table::write_in_groups(
        "warm-up",
        || (0..ACCESSES).map(row),
        &strings,
        ACCESSES_A_GROUP,
        &mut out,
    );
    out
}

/// Parses up to byte `upto` of `content` like a helper, and joins the result.
fn join(session: &mut Session, content: &Rc<Vec<u8>>, upto: usize) {
    let Some(import) = session.import() else { return };
    let Some(parts) = import.parts() else { return };
    let rest = import.position()..upto as u64;
    let mut scheduler = PartScheduler::new(rest.clone(), u64::MAX);
    let mut reader = (parts.reader)();
    while let Some(range) = scheduler.next_range() {
        reader.lend(content.clone());
        reader.start(range.start, range.end);
        // The start of the next part is found after this one.
        let _ = reader.feed(content.get(range.start as usize..).unwrap_or_default());
        scheduler.put_back(&range, Part::from_bytes(reader.finish().into_bytes()));
    }
    while let Next::Feed(range) = scheduler.advance(import) {
        import.feed(content.get(range.start as usize..range.end as usize).unwrap_or_default());
    }
}

/// Events as from the PyTorch profiler: operations, their calls and launches, and GPU activity.
fn piece(number: u64) -> String {
    let mut text = String::new();
    if number == 0 {
        text.push_str("{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"GPU\", \"numSms\": 100}],\n\"traceEvents\": [\n");
    }
    for i in number * OPERATIONS_A_PIECE..(number + 1) * OPERATIONS_A_PIECE {
        // Writing to a string cannot fail.
        let _ = operation(&mut text, i);
    }
    if number + 1 == PIECES as u64 {
        text.push_str("{}]}");
    }
    text
}

fn operation(out: &mut String, i: u64) -> std::fmt::Result {
    const KERNELS: [&str; 6] = [
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
        "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
        "Cijk_Ailk_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x64_MI16x16x1",
        "triton_poi_fused_add_mul_3",
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4> >(Flash_fwd_params)",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    ];
    const OPERATIONS: [&str; 4] = ["aten::linear", "aten::add", "aten::softmax", "aten::layer_norm"];
    let (kernel, name) = (KERNELS[i as usize % 6], OPERATIONS[i as usize % 4]);
    let (ts, id, correlation) = (1_000_000_000 + i * 100, 100 + i * 3, 1_000 + i);
    let ns = i % 1000;
    let dims = 1 + i % 8;
    let steps_us = 100 * OPERATIONS_A_PIECE;
    let mut event = |ph: &str,
                     cat: &str,
                     name: &str,
                     track: (u64, u64),
                     ts: u64,
                     rest: std::fmt::Arguments| {
        let (pid, tid) = track;
        write!(
            out,
            "  {{\n    \"ph\": \"{ph}\", \"cat\": \"{cat}\", \"name\": \"{name}\", \"pid\": {pid}, \"tid\": {tid},\n    \"ts\": {ts}.{ns:03}{rest}\n  }},\n"
        )
    };
    let (cpu, gpu) = ((10, 10 + i % 2), (0, 7));
    if i.is_multiple_of(OPERATIONS_A_PIECE) {
        let step = format!("ProfilerStep#{}", i / OPERATIONS_A_PIECE);
        event("X", "user_annotation", &step, (10, 10), ts, format_args!(", \"dur\": {steps_us}.000"))?;
        event("X", "gpu_user_annotation", &step, gpu, ts, format_args!(", \"dur\": {steps_us}.000"))?;
        event(
            "X",
            "cuda_runtime",
            "cudaDeviceSynchronize",
            cpu,
            ts + 95,
            format_args!(", \"dur\": 3.100,\n    \"args\": {{\"correlation\": 0}}"),
        )?;
        event(
            "X",
            "gpu_memcpy",
            "Memcpy HtoD (Pinned -> Device)",
            gpu,
            ts + 2,
            format_args!(
                ", \"dur\": 4.500,\n    \"args\": {{\"device\": 0, \"stream\": 7, \"bytes\": 4096, \"memory bandwidth (GB/s)\": 0.9}}"
            ),
        )?;
    }
    event(
        "X",
        "python_function",
        "model.py(10): forward",
        cpu,
        ts,
        format_args!(
            ", \"dur\": 96.000,\n    \"args\": {{\"Python id\": {id}, \"Python parent id\": null, \"Ev Idx\": {i}}}"
        ),
    )?;
    event(
        "X",
        "cpu_op",
        name,
        cpu,
        ts + 3,
        format_args!(
            ", \"dur\": 60.000,\n    \"args\": {{\n      \"External id\": {id}, \"Sequence number\": {i}, \"Fwd thread id\": 0, \"Record function id\": 0, \"Input type\": [\"float\", \"float\"], \"Input Dims\": [[{dims}, 4096], [4096, 4096]], \"Ev Idx\": {i}\n    }}"
        ),
    )?;
    event(
        "X",
        "cpu_op",
        "aten::empty",
        cpu,
        ts + 5,
        format_args!(
            ", \"dur\": 2.000,\n    \"args\": {{\n      \"External id\": {}, \"Ev Idx\": {i}\n    }}",
            id + 1
        ),
    )?;
    event(
        "i",
        "cpu_instant_event",
        "[memory]",
        cpu,
        ts + 6,
        format_args!(
            ", \"s\": \"t\",\n    \"args\": {{\n      \"Total Reserved\": 8388608, \"Total Allocated\": {}, \"Bytes\": {}, \"Device Id\": 0, \"Device Type\": 1, \"Addr\": {}\n    }}",
            4096 * (i % 64),
            if i.is_multiple_of(2) { 4096 } else { -4096 },
            0x7f00_0000 + (i / 2) * 4096
        ),
    )?;
    event(
        "X",
        "cuda_runtime",
        "cudaLaunchKernel",
        cpu,
        ts + 10,
        format_args!(
            ", \"dur\": 5.000,\n    \"args\": {{\n      \"External id\": {id}, \"cbid\": 211, \"correlation\": {correlation}\n    }}"
        ),
    )?;
    event("s", "ac2g", "ac2g", cpu, ts + 10, format_args!(", \"id\": {correlation}"))?;
    event(
        "X",
        "kernel",
        kernel,
        gpu,
        ts + 20,
        format_args!(
            ", \"dur\": 70.500,\n    \"args\": {{\n      \"External id\": {id}, \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": 7, \"correlation\": {correlation}, \"registers per thread\": 32, \"shared memory\": 0, \"blocks per SM\": 1.5, \"warps per SM\": 6.25, \"grid\": [{dims}, 1, 1], \"block\": [128, 1, 1], \"est. achieved occupancy %\": 10\n    }}"
        ),
    )?;
    event("f", "ac2g", "ac2g", gpu, ts + 20, format_args!(", \"id\": {correlation}, \"bp\": \"e\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis;

    #[test]
    fn the_made_up_file_is_one_of_a_gpu_and_is_read_in_parts() {
        let content: String = (0..PIECES as u64).map(piece).collect();
        let content = Rc::new(content.into_bytes());
        let mut session = Session::new("warm-up", 0, None, Query::default());
        session.can_read_again(content.clone());
        let first = piece(0).len();
        session.feed(&content[..first]);
        let mut upto = first;
        for number in 1..PIECES as u64 {
            upto += piece(number).len();
            join(&mut session, &content, upto);
            // The offset of the next event.
            assert!(session.import().unwrap().position() as usize >= upto, "{number}");
        }
        session.finish().unwrap();
        let ledger = &session.run().traces[0].ledger;
        assert_eq!(ledger.kept.records, PIECES as u64 * (OPERATIONS_A_PIECE * 8 + 4));
        assert!(analysis::has_late_reports(session.run()));
        assert!(steps().count() > ROUNDS * PIECES);
    }

    #[test]
    fn the_made_up_accesses_are_read_in_parts() {
        let content = Rc::new(accesses());
        let mut session = Session::new("warm-up", 0, None, Query::default());
        session.can_read_again(content.clone());
        session.feed(&content[..content.len() / 2]);
        join(&mut session, &content, content.len());
        assert_eq!(session.import().unwrap().position(), content.len() as u64);
        assert!(session.finish_early().unwrap());
        assert_eq!(session.run().traces[0].ledger.kept.records, ACCESSES);
    }
}
