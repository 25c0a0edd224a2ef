//! Synthetic server traces with known speedups, slowdowns, fusions and noise.

use crate::compare::sides::{answer, compared, digest, digest_of, number, sum, table, text};
use crate::support::{Random, import};
use tracedrop::base::units::Unit;
use tracedrop::compare::limits::{Limit, Outcome};
use tracedrop::compare::{CompareQuery, Comparison, Digest, PhaseFilter, Problem, aligned_steps, compare};
use tracedrop::report::view::{TableQuery, row_order};
use tracedrop::trace::Trace;

/// A kernel of a step: name, nanoseconds.
type Kernel = (&'static str, i64);

const NORM: Kernel = ("void vllm::rms_norm_kernel<c10::BFloat16>(int)", 5_000);
const QUANT: Kernel = ("void vllm::dynamic_scaled_fp8_quant_kernel<float>(int)", 4_000);
const NORM_QUANT: Kernel = ("void vllm::rms_norm_dynamic_per_token_quant_kernel<float>(int)", 6_000);
const GEMM: Kernel = ("nvjet_hsh_128x64", 40_000);
const ATTENTION: Kernel = ("void flash_fwd_kernel<float>(int)", 30_000);
const REDUCE: Kernel = ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)", 20_000);

/// A server trace: steps as named, each with its kernels, a gap after each kernel, and up to `jitter` nanoseconds more per kernel.
fn server(steps: &[&str], kernels: &[Kernel], gap: i64, jitter: u64, seed: u64) -> String {
    let mut random = Random(seed);
    let mut events =
        vec![r#"{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"python"}}"#.to_string()];
    let (mut cpu, mut gpu, mut correlation) = (1_000i64, 500_000i64, 1);
    let us = |ns: i64| format!("{}.{:03}", ns / 1000, ns % 1000);
    for step in steps {
        let start = cpu;
        for (name, dur) in kernels {
            let dur = dur + random.below(jitter + 1) as i64;
            events.push(format!(
                r#"{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":0,"tid":1,"ts":{},"dur":1,"args":{{"correlation":{correlation}}}}}"#,
                us(cpu + 100)
            ));
            events.push(format!(
                r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{},"dur":{},"args":{{"device":0,"stream":7,"correlation":{correlation}}}}}"#,
                us(gpu),
                us(dur)
            ));
            correlation += 1;
            cpu += 2_000;
            gpu += dur + gap;
        }
        cpu += 1_000;
        events.push(format!(
            r#"{{"ph":"X","cat":"user_annotation","name":"{step}","pid":0,"tid":1,"ts":{},"dur":{}}}"#,
            us(start),
            us(cpu - start)
        ));
    }
    format!(
        r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"NVIDIA H100"}}],"traceEvents":[{}]}}"#,
        events.join(",")
    )
}

const DECODE: &str = "execute_context_0(0)_generation_8(8)";
const PREFILL: &str = "execute_context_1(64)_generation_0(0)";

fn decode(n: usize, kernels: &[Kernel], gap: i64, jitter: u64, seed: u64) -> Digest {
    digest_of("server.json", &server(&vec![DECODE; n], kernels, gap, jitter, seed))
}

fn gpu(comparison: &Comparison) -> &tracedrop::report::Report {
    comparison.reports.iter().find(|report| report.id == "compare-gpu").unwrap()
}

const MODEL: [Kernel; 5] = [NORM, QUANT, GEMM, ATTENTION, REDUCE];

#[test]
fn noise_is_called_noise() {
    let a = decode(20, &MODEL, 500, 3_000, 1);
    let b = decode(30, &MODEL, 500, 3_000, 2);
    let comparison = compared(&a, &b);
    assert!(gpu(&comparison).summary.starts_with("No significant change: "), "{}", gpu(&comparison).summary);
    let time = table(&comparison, "compare-gpu", "time");
    for row in 0..time.n_rows() {
        let status = text(time, row, "status");
        assert!(status == "≈ within noise" || status == "= same", "{status}");
    }
    let limit = |text: &str| Limit::parse(text).unwrap().check(&comparison).unwrap();
    assert!(matches!(limit("gpu.per_step > -3%"), Outcome::Kept(why) if why.contains("within noise")));
    // The numbers of steps differ, so totals differ, but numbers per step don't.
    let operations = table(&comparison, "compare-gpu", "operations");
    assert!(sum(operations, "total_b") > sum(operations, "total_a") * 14 / 10);
}

#[test]
fn slower_attention_comes_first() {
    let mut slow = MODEL;
    slow[3].1 = 60_000;
    slow[4].1 = 15_000;
    let comparison = compared(&decode(12, &MODEL, 500, 100, 1), &decode(9, &slow, 500, 100, 2));
    let report = gpu(&comparison);
    assert!(
        report.summary.starts_with("B takes 24.") && report.summary.contains("more time per decode step: "),
        "{}",
        report.summary
    );
    let answer = answer(&comparison).unwrap();
    let line = |at: usize| answer.line(&answer.findings[at]);
    let status = |at: usize| answer.findings[at].evidence[2].value.display(Unit::None);
    let first = line(0);
    assert!(
        first.starts_with("+30.")
            && first.contains("Attention (same kernel count, ")
            && first.contains("× longer each)"),
        "{first}"
    );
    let rows = answer.findings[0].rows.clone().unwrap();
    assert_eq!(
        (&*status(0), &*rows.table, &*rows.filter),
        ("▲ slower in B", "kernels", "operation=Attention")
    );
    for line in &answer.findings {
        let rows = line.rows.clone().unwrap();
        let led_to = table(&comparison, &rows.report, &rows.table);
        let query = TableQuery { filter: rows.filter.clone(), ..TableQuery::default() };
        assert!(!row_order(led_to, &query).unwrap().is_empty(), "{} leads to rows", line.text);
    }
    // Communication is exposed here, so less of it is a gain.
    let second = line(1);
    assert!(second.starts_with('−') && status(1) == "▼ faster in B", "{second}");
    let outcome = |text: &str| Limit::parse(text).unwrap().check(&comparison).unwrap();
    assert!(matches!(outcome("gpu.per_step > 3%"), Outcome::Passed(_)));
    assert!(matches!(outcome("gpu.decode > 30%"), Outcome::Kept(_)));
    assert!(matches!(outcome("gpu.op.Attention > 20 us"), Outcome::Passed(_)));
    assert!(matches!(outcome("gpu.exposed_communication > 0"), Outcome::Kept(_)));
}

#[test]
fn a_gpu_that_waits_is_said() {
    let comparison = compared(&decode(8, &MODEL, 500, 10, 1), &decode(8, &MODEL, 20_000, 10, 2));
    let answer = answer(&comparison).unwrap();
    let first = &answer.findings[0];
    assert!(first.text.contains("idle") && first.time > Some(0), "{first:?}");
}

/// B takes less time and its kernels take more: neither may hide the other.
#[test]
fn less_waiting_does_not_hide_slower_kernels() {
    let mut slow = MODEL;
    slow[3].1 = 60_000;
    let comparison = compared(&decode(8, &MODEL, 40_000, 10, 1), &decode(8, &slow, 500, 10, 2));
    let summary = &gpu(&comparison).summary;
    let first = summary.split(". ").next().unwrap();
    assert!(summary.starts_with("B takes ") && first.contains("less time per decode step: "), "{summary}");
    assert!(first.contains(" less ") && first.contains("; its kernels take "), "{summary}");
    assert!(summary.contains("% more, mostly Attention (+"), "{summary}");
    // What is below 1% has one line.
    let answer = answer(&comparison).unwrap();
    let small = |finding: &tracedrop::report::Finding| finding.share.unwrap().abs() < 0.01;
    let n_small = answer.findings.iter().filter(|finding| small(finding)).count();
    assert!(n_small <= 1, "{:?}", answer.findings);
}

#[test]
fn aligned_kernels_are_where_they_are_in_their_traces() {
    let without: Vec<Kernel> = MODEL.iter().copied().filter(|kernel| *kernel != QUANT).collect();
    let (a, b) = (decode(5, &MODEL, 100, 0, 1), decode(5, &without, 300, 0, 1));
    let [step] = &aligned_steps(&a, &b, PhaseFilter::All)[..] else { panic!("one phase") };
    assert_eq!(step.title, "decode step");
    // The third of five equal steps; traces start with the first step, at 1 µs.
    let spans = |kernels: &[Kernel], gap: i64| -> Vec<(i64, i64)> {
        let all: i64 = kernels.iter().map(|(_, dur)| dur + gap).sum();
        let mut at = 500_000 + 2 * all - 1_000;
        let place = |(_, dur): &Kernel| {
            let start = at;
            at += dur + gap;
            (start, *dur)
        };
        kernels.iter().map(place).collect()
    };
    for (side, expected) in [spans(&MODEL, 100), spans(&without, 300)].into_iter().enumerate() {
        let found: Vec<(i64, i64)> = step.kernels.iter().filter_map(|kernel| kernel.spans[side]).collect();
        assert_eq!(found, expected);
    }
    let only_a: Vec<usize> =
        (0..step.kernels.len()).filter(|at| step.kernels[*at].spans[1].is_none()).collect();
    assert_eq!(only_a, [1]);
    for kernel in step.kernels.iter().filter(|kernel| kernel.spans[1].is_some()) {
        assert_eq!(kernel.names[0], kernel.names[1]);
    }
    assert_eq!(aligned_steps(&a, &b, PhaseFilter::Prefill), []);
}

#[test]
fn fusion_needs_neighbours() {
    let layers = |layer: &[Kernel]| layer.repeat(6);
    let apart = layers(&[NORM, QUANT, GEMM, ATTENTION]);
    let fused = layers(&[NORM_QUANT, GEMM, ATTENTION]);
    let without = layers(&[NORM, GEMM, ATTENTION]);
    let steps = |kernels: &[Kernel]| decode(6, kernels, 100, 0, 3);
    let find = |a: &Digest, b: &Digest| {
        let comparison = compared(a, b);
        let fusion = table(&comparison, "compare-sequence", "fusion");
        let of = |row: usize| {
            (
                text(fusion, row, "only_a"),
                text(fusion, row, "only_b"),
                text(fusion, row, "finding"),
                number(fusion, row, "times"),
            )
        };
        (0..fusion.n_rows()).map(of).collect::<Vec<_>>()
    };
    let found = find(&steps(&apart), &steps(&fused));
    assert!(
        found
            .iter()
            .any(|row| row.0 == "Quantisation" && row.2.starts_with("Possibly fused in B") && row.3 >= 5),
        "{found:?}"
    );
    let found = find(&steps(&apart), &steps(&without));
    assert!(
        found.iter().any(|row| row.0 == "Quantisation" && row.2.starts_with("Removed in B") && row.3 >= 5),
        "{found:?}"
    );
    let found = find(&steps(&without), &steps(&apart));
    assert!(found.iter().any(|row| row.1 == "Quantisation" && row.2.starts_with("Added in B")), "{found:?}");
    // A different attention kernel in the same place is a substitution.
    let mut other = apart.clone();
    other.iter_mut().filter(|kernel| **kernel == ATTENTION).for_each(|kernel| {
        *kernel = ("void BatchDecodeWithPagedKVCacheKernel<float>(int)", 25_000);
    });
    let comparison = compared(&steps(&apart), &steps(&other));
    let choices = table(&comparison, "compare-sequence", "choices");
    assert_eq!((choices.n_rows(), number(choices, 0, "times"), number(choices, 0, "stake")), (1, 6, -30_000));
}

#[test]
fn phases_meet_their_like() {
    let mixed = |n: usize, slow: bool| {
        let mut kernels = MODEL;
        kernels[2].1 = if slow { 80_000 } else { 40_000 };
        digest_of(
            "server.json",
            &server(&[[PREFILL].repeat(n), [DECODE].repeat(10)].concat(), &kernels, 10, 50, 5),
        )
    };
    let (a, b) = (mixed(6, false), mixed(8, true));
    let decode = compare(&a, &b, &CompareQuery { phase: PhaseFilter::Decode }).unwrap();
    let phases = |comparison: &Comparison| {
        let operations = table(comparison, "compare-gpu", "operations");
        let mut phases: Vec<String> =
            (0..operations.n_rows()).map(|row| text(operations, row, "phase")).collect();
        phases.sort();
        phases.dedup();
        phases
    };
    assert_eq!(phases(&decode), ["decode"]);
    assert_eq!(phases(&compared(&a, &b)), ["decode", "prefill"]);
    let equal = compared(&a, &b);
    let tokens = table(&equal, "compare-gpu", "equal_tokens");
    assert_eq!(tokens.n_rows(), 2);
    // Steps of different kinds are not compared and don't count as a speed difference.
    let only_prefill = digest_of("server.json", &server(&[PREFILL; 6], &MODEL, 10, 50, 5));
    let problem =
        compare(&only_prefill, &only_prefill, &CompareQuery { phase: PhaseFilter::Decode }).unwrap_err();
    assert_eq!(problem.to_string(), "no decode steps to compare: A has prefill, B has prefill");
    let unlike = compared(&only_prefill, &digest_of("server.json", &server(&[DECODE; 6], &MODEL, 10, 50, 5)));
    assert_eq!(table(&unlike, "compare-gpu", "time").n_rows(), 5);
    assert!(
        gpu(&unlike).blocks.iter().any(|block| format!("{block:?}").contains("whole traces are compared"))
    );
}

#[test]
fn too_few_steps_are_said() {
    let comparison = compared(&decode(2, &MODEL, 10, 50, 1), &decode(9, &MODEL, 10, 5_000, 2));
    assert!(
        gpu(&comparison)
            .summary
            .ends_with("Not enough to test significance: 1 step in A, 8 steps in B, not counting the last (need 5 whole ones per side)."),
        "{}",
        gpu(&comparison).summary
    );
}

/// Repeated runs without steps count as samples: their spread is the noise.
#[test]
fn repeats_make_noise_known() {
    let run = |kernels: &[Kernel], seed: u64| -> Trace {
        let content = server(&["no step"; 4], kernels, 10, 400, seed);
        import("run.json", content.as_bytes(), None).unwrap()
    };
    let group =
        |kernels: &[Kernel], from: u64| digest((from..from + 6).map(|seed| run(kernels, seed)).collect());
    let mut slow = MODEL;
    slow[2].1 += 8_000;
    let comparison = compared(&group(&MODEL, 1), &group(&slow, 20));
    let summary = &gpu(&comparison).summary;
    assert!(summary.starts_with("B takes 7.") || summary.starts_with("B takes 8."), "{summary}");
    assert!(!summary.contains("Not enough"), "{summary}");
    let comparison = compared(&group(&MODEL, 1), &group(&MODEL, 20));
    assert!(gpu(&comparison).summary.starts_with("No significant change"), "{}", gpu(&comparison).summary);
}

/// Three runs take a sixth less each than two others: 1.25 times the time in all is no slowdown.
#[test]
fn unlike_groups_of_gpu_files_are_told_by_file() {
    let group = |n: usize, us: u32| {
        let content = format!(
            r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"NVIDIA H100"}}],"traceEvents":[
                {{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":0,"tid":1,"ts":0,"dur":{us}}},
                {{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":0,"tid":1,"ts":1,"dur":2,"args":{{"correlation":1}}}},
                {{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10,"dur":{us},"args":{{"device":0,"stream":7,"correlation":1}}}}]}}"#
        );
        let read = |number| import(&format!("rank{number}.json"), content.as_bytes(), None).unwrap();
        digest((0..n).map(read).collect())
    };
    let comparison = compared(&group(2, 1200), &group(3, 1000));
    // Files named after ranks of one run: other ranks may have other loads.
    let warning = "A has ranks 0, 1, B has ranks 0, 1, 2. Ranks may differ in load";
    assert!(format!("{:?}", gpu(&comparison).blocks).contains(warning));
    let measure = |id: &str| comparison.measures.iter().find(|it| it.id == id).unwrap();
    let direct = measure("gpu-ops.ops.direct");
    assert_eq!((direct.a, direct.b), (2.4e6, 3e6));
    let mean = measure("gpu-ops.ops.direct.per_file");
    assert_eq!((mean.a, mean.b, mean.noise), (1.2e6, 1e6, None));
    let outcome = |text: &str| Limit::parse(text).unwrap().check(&comparison).unwrap();
    assert!(matches!(outcome("gpu-ops.ops.direct.per_file > 1%"), Outcome::Kept(_)));
    let sums = outcome("gpu-ops.ops.direct > 1%");
    assert!(
        matches!(&sums, Outcome::Passed(why) if why.ends_with("different numbers of files, see gpu-ops.ops.direct.per_file")),
        "{sums:?}"
    );
    let report = comparison.reports.iter().find(|report| report.id == "compare-gpu-ops").unwrap();
    assert!(
        report.summary.contains(" per file: 1.200 ms in A, 1.000 ms in B (−16.7%)."),
        "{}",
        report.summary
    );
    // Tables of all files don't have the name of one.
    assert!(report.tables().all(|table| !table.title.contains("rank0.json")));
    // As many files: sums are compared, and means can be limited.
    let equal = compared(&group(2, 1200), &group(2, 1000));
    assert!(!format!("{:?}", gpu(&equal).blocks).contains("Ranks may differ"));
    assert!(equal.measures.iter().any(|it| it.id == "gpu-ops.ops.direct.per_file"));
    let report = equal.reports.iter().find(|report| report.id == "compare-gpu-ops").unwrap();
    assert!(report.summary.contains(": 2.400 ms in A, 2.000 ms in B (−16.7%)."), "{}", report.summary);
}

#[test]
fn unlike_kinds_are_told() {
    let server = decode(3, &MODEL, 10, 50, 1);
    let sway = r#"{"ts":1.5,"wall_ms":1.0,"probe":"p","view_id":"base","prompt_hash":"h","op":"logprob_of","top_k":0,"hit":false}"#;
    let sway = digest_of("sway.jsonl", &format!("{sway}\n{sway}\n"));
    let problem = compare(&server, &sway, &CompareQuery::default()).unwrap_err();
    assert!(matches!(problem, Problem::Unlike(..)), "{problem:?}");
    assert!(
        problem.to_string().contains("nothing in common") && problem.to_string().contains("Forward passes"),
        "{problem}"
    );
}

/// Truncated and damaged files are compared by what could be parsed.
#[test]
fn damaged_files_are_no_trouble() {
    let content = server(&[DECODE; 5], &MODEL, 500, 100, 1);
    let whole = digest_of("server.json", &content);
    let mut random = Random(77);
    for _ in 0..60 {
        let at = random.below(content.len() as u64) as usize;
        let Ok(trace) = import("cut.json", &content.as_bytes()[..at], None) else { continue };
        let cut = digest(vec![trace]);
        for (a, b) in [(&whole, &cut), (&cut, &whole)] {
            if let Ok(comparison) = compare(a, b, &CompareQuery::default()) {
                assert!(
                    comparison
                        .reports
                        .iter()
                        .flat_map(|report| report.tables())
                        .all(|table| table.is_sound())
                );
            }
        }
    }
}

/// The last two kernels of a step are one in B, and the first one is new.
#[test]
fn fusion_at_the_ends_of_a_step_is_found() {
    const ADD: Kernel =
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", 3_000);
    const FUSED: Kernel = ("triton_poi_fused_add_mul_0", 2_000);
    let comparison = compared(
        &decode(8, &[GEMM, ATTENTION, ADD, ADD], 500, 0, 1),
        &decode(8, &[NORM, GEMM, ATTENTION, FUSED], 500, 0, 1),
    );
    let fusion = table(&comparison, "compare-sequence", "fusion");
    let row = |row: usize| {
        ["before", "only_a", "only_b", "after", "finding"].map(|id| text(fusion, row, id)).join("|")
    };
    let mut rows: Vec<String> = (0..fusion.n_rows()).map(row).collect();
    rows.sort();
    assert_eq!(
        rows,
        [
            "(start)||Normalisation|GEMM|Added in B (same neighbors)",
            "Attention|Elementwise + Elementwise|Triton fused pointwise|(end)|Replaced by other kernels"
        ]
    );
    // An operation of one side has the same status in the finding and in the table.
    let operations = table(&comparison, "compare-gpu", "operations");
    let status = |name: &str| {
        let row = (0..operations.n_rows()).find(|row| text(operations, *row, "operation") == name).unwrap();
        text(operations, row, "status")
    };
    let found = answer(&comparison).unwrap().findings.iter();
    let added = found.clone().find(|finding| finding.text.starts_with("Normalisation")).unwrap();
    let last = added.evidence.last().unwrap();
    assert_eq!((last.display(), status("Normalisation")), ("△ only in B".into(), "△ only in B".into()));
}
