//! Steps of made traces: the last one, several phases and kinds, kernels outside of them, and causes of their idle time.
//! Times are in microseconds.

use crate::compare::sides::{answer, compared, digest_of, number, sum, table, text};
use tracedrop::compare::limits::{Limit, Outcome};
use tracedrop::compare::{CompareQuery, Comparison, Digest, PhaseFilter, aligned_steps, compare};
use tracedrop::report::view::{TableQuery, row_order};
use tracedrop::report::{Block, NoteLevel};

const GEMM: &str = "nvjet_hsh_128x64";
const ATTENTION: &str = "void flash_fwd_kernel<float>(int)";
const SAMPLING: &str = "void vllm::apply_repetition_penalties_kernel<float>(float*)";
const REDUCE: &str = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)";

/// A trace in the making.
#[derive(Default)]
struct Made {
    events: Vec<String>,
}

impl Made {
    fn event(&mut self, category: &str, name: &str, track: i64, [start, dur]: [i64; 2], args: &str) {
        self.events.push(format!(
            r#"{{"ph":"X","cat":"{category}","name":"{name}","pid":0,"tid":{track},"ts":{start},"dur":{dur},"args":{{{args}}}}}"#
        ));
    }

    fn step(&mut self, name: &str, start: i64, dur: i64) {
        self.event("user_annotation", name, 1, [start, dur], "");
    }

    /// A kernel without a launch.
    fn kernel(&mut self, name: &str, stream: i64, start: i64, dur: i64) {
        self.kernel_on(0, name, stream, start, dur);
    }

    fn kernel_on(&mut self, device: i64, name: &str, stream: i64, start: i64, dur: i64) {
        let args = format!(r#""device":{device},"stream":{stream},"correlation":{}"#, self.events.len());
        let event = format!(
            r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":{device},"tid":{stream},"ts":{start},"dur":{dur},"args":{{{args}}}}}"#
        );
        self.events.push(event);
    }

    /// A launch that takes 5 µs, of the next event.
    fn launch(&mut self, start: i64) {
        let args = format!(r#""correlation":{}"#, self.events.len() + 1);
        self.event("cuda_runtime", "cudaLaunchKernel", 1, [start, 5], &args);
    }

    /// A kernel, and its launch that takes 5 µs.
    fn launched(&mut self, name: &str, launch: i64, stream: i64, start: i64, dur: i64) {
        self.launch(launch);
        self.kernel(name, stream, start, dur);
    }

    fn digest_on(self, model: &str) -> Digest {
        let events = self.events.join(",");
        let content = format!(
            r#"{{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"{model}"}}],"traceEvents":[{events}]}}"#
        );
        digest_of("made.json", &content)
    }

    fn digest(self) -> Digest {
        self.digest_on("NVIDIA H100")
    }
}

fn summary(comparison: &Comparison) -> &str {
    &comparison.reports.iter().find(|report| report.id == "compare-gpu").unwrap().summary
}

fn is_exceeded(comparison: &Comparison, limit: &str) -> bool {
    matches!(Limit::parse(limit).unwrap().check(comparison).unwrap(), Outcome::Passed(_))
}

const DECODE: &str = "execute_context_0(0)_generation_8(8)";
const PREFILL: &str = "execute_context_1(64)_generation_0(0)";

/// Steps that keep the GPU busy for 500 µs, and then wait for the host.
fn host_bound(n: i64, idle: i64) -> Digest {
    let mut made = Made::default();
    for start in (0..n).map(|i| i * (500 + idle)) {
        made.step(DECODE, start, 490 + idle);
        made.launched(GEMM, start + idle, 7, start + idle + 6, 500);
    }
    made.digest()
}

/// Each step takes 500 µs and the idle time, also on average: what follows the last one is unknown, not 0.
#[test]
fn a_last_step_is_in_no_mean() {
    let comparison = compared(&host_bound(6, 500), &host_bound(6, 1000));
    assert_eq!(
        summary(&comparison),
        "B takes 50.0% more time per decode step: 1.000 ms per decode step in A, 1.500 ms in B, mostly host-bound idle (+500.0 µs)."
    );
    for (limit, exceeds) in [
        ("gpu.per_step > 49%", true),
        ("gpu.per_step > 51%", false),
        ("gpu.idle > 499 us", true),
        ("gpu.idle > 501 us", false),
        ("gpu.busy > 0", false),
    ] {
        assert_eq!(is_exceeded(&comparison, limit), exceeds, "{limit}");
    }
    let phases = table(&comparison, "compare-gpu", "phases");
    let cells = ["steps_a", "per_step_a", "per_step_b", "per_token_a", "total_a"];
    // Totals have all that was recorded: five periods and the last kernel.
    assert_eq!(cells.map(|id| number(phases, 0, id)), [6, 1_000_000, 1_500_000, 125_000, 5_500_000]);
    assert_eq!(text(phases, 0, "status"), "▲ slower in B");
    // A single step has nothing else to go by.
    let single = compared(&host_bound(1, 500), &host_bound(1, 500));
    assert_eq!(number(table(&single, "compare-gpu", "phases"), 0, "per_step_a"), 500_000);
}

/// Each step keeps the GPU busy for 500 µs; how long the only one of A took, nothing tells.
#[test]
fn a_single_step_is_not_compared_with_whole_ones_by_its_time() {
    let (one, eight) = (host_bound(1, 500), host_bound(8, 500));
    for (a, b, side) in [(&one, &eight, "A"), (&eight, &one, "B")] {
        let comparison = compared(a, b);
        assert_eq!(
            summary(&comparison),
            format!(
                "No step follows the only decode step in {side}, so only busy time is compared. No change: 500.0 µs per decode \
                 step in A, 500.0 µs in B."
            )
        );
        let said = all_text(&comparison, "compare-gpu");
        assert!(said.contains("Only busy time per decode step is compared."), "{said}");
        let has = |id: &str| comparison.measures.iter().any(|measure| measure.id == id);
        assert_eq!(
            ["gpu.per_step", "gpu.idle", "gpu.decode", "gpu.busy"].map(has),
            [false, false, false, true]
        );
        assert!(answer(&comparison).unwrap().findings.is_empty());
    }
}

/// Every step takes 1 ms. In decode steps the GEMM takes 20 µs more, and the GPU waits 20 µs less for the host.
#[test]
fn parts_that_make_up_for_each_other_are_changes() {
    let side = |decode: i64| {
        let mut made = Made::default();
        for i in 0..12 {
            let (name, dur) = if i < 6 { (PREFILL, 400) } else { (DECODE, decode) };
            made.step(name, 1000 * i, 990);
            made.launched(GEMM, 1000 * i + 10, 7, 1000 * i + 16, dur);
        }
        made.digest()
    };
    let comparison = compared(&side(100), &side(120));
    assert_eq!(
        summary(&comparison),
        "No change: 1.000 ms per prefill step in A, 1.000 ms in B; no significant change per decode step, but in its parts."
    );
    let lists: Vec<_> = crate::compare::sides::lists(&comparison.reports[0]).collect();
    assert_eq!(
        lists.iter().map(|list| &*list.title).collect::<Vec<_>>(),
        ["Largest changes per decode step"]
    );
    let changes: Vec<_> = lists[0].findings.iter().map(|line| (line.time, &*line.text)).collect();
    assert_eq!(
        changes,
        [
            (Some(20_000), "GEMM (same kernel count, 1.20× longer each)"),
            (Some(-20_000), "less host-bound idle time"),
        ]
    );
    let same = compared(&side(100), &side(100));
    assert!(summary(&same).ends_with("1.000 ms in B."), "{}", summary(&same));
    assert_eq!(answer(&same).unwrap().title, "Largest changes");
}

/// Steps without gaps, each with its kernels.
fn queued(steps: &[(&str, &[(&str, i64)])]) -> Made {
    let mut made = Made::default();
    let (mut cpu, mut at) = (0, 100);
    for (name, kernels) in steps {
        made.step(name, cpu, 10 * kernels.len() as i64 + 5);
        for (kernel, dur) in *kernels {
            at = at.max(cpu + 10);
            made.launched(kernel, cpu + 1, 7, at, *dur);
            (cpu, at) = (cpu + 10, at + dur);
        }
        cpu += 10;
    }
    made
}

/// The prefill step takes most of the time and did not change; decode steps did.
#[test]
fn every_phase_that_changed_is_told_first() {
    let side = |attention: i64, prefill: i64| {
        let decode: &[(&str, i64)] = &[(GEMM, 240), (ATTENTION, attention)];
        let prefill: &[(&str, i64)] = &[(GEMM, prefill)];
        let mut steps = vec![(PREFILL, prefill); 5];
        steps.extend(vec![(DECODE, decode); 7]);
        queued(&steps).digest()
    };
    let a = side(100, 3000);
    let comparison = compared(&a, &side(150, 3000));
    assert_eq!(
        summary(&comparison),
        "B takes 14.7% more time per decode step: 340.0 µs per decode step in A, 390.0 µs in B, mostly Attention (+50.00 µs); no \
         significant change per prefill step."
    );
    assert!(is_exceeded(&comparison, "gpu.per_step > 3%") && is_exceeded(&comparison, "gpu.decode > 3%"));
    assert!(!is_exceeded(&comparison, "gpu.prefill > 0"));
    let both = compared(&a, &side(150, 2400));
    assert!(
        summary(&both).ends_with("; 14.7% more time per decode step (340.0 µs in A, 390.0 µs in B)."),
        "{}",
        summary(&both)
    );
    let lists =
        crate::compare::sides::lists(&both.reports[0]).map(|list| list.title.clone()).collect::<Vec<_>>();
    assert_eq!(lists, ["Largest changes", "Largest changes per decode step"]);
}

/// B has no decode steps: that is no equal time of 0.
#[test]
fn phases_that_one_side_lacks_are_not_the_same() {
    let (decode, prefill): (&[_], &[_]) = (&[(GEMM, 240)], &[(GEMM, 3000)]);
    let side = |name, kernels| queued(&[(name, kernels); 6]).digest();
    let (a, b) = (side(DECODE, decode), side(PREFILL, prefill));
    for (left, right, wanted) in [(&a, &b, "▽ no such steps in B"), (&b, &a, "△ no such steps in A")] {
        let query = CompareQuery { phase: PhaseFilter::Decode };
        let comparison = compare(left, right, &query).unwrap();
        let time = table(&comparison, "compare-gpu", "time");
        let known: Vec<String> = (0..time.n_rows()).map(|row| text(time, row, "status")).collect();
        assert!(known.len() >= 3 && known.iter().all(|status| status == wanted), "{known:?}");
    }
}

/// Speculative decoding drafts and verifies in turns. Steps of one kind take the same time, so what changed is no noise.
#[test]
fn steps_of_two_kinds_are_no_noise() {
    let side = |verify: i64, n_turns: usize| {
        let verify: &[(&str, i64)] = &[(ATTENTION, verify)];
        let turn: [(&str, &[(&str, i64)]); 2] =
            [("step[DRAFT bs=4]", &[(GEMM, 240)]), ("step[TARGET_VERIFY bs=4]", verify)];
        queued(&turn.repeat(n_turns)).digest()
    };
    // The last step, which is left out, is not missed by its kind: (240 + 1500) / 2 and (240 + 1800) / 2.
    let wanted = "B takes 17.2% more time per decode step: 870.0 µs per decode step in A, 1.020 ms in B";
    for n_turns in [10, 20] {
        let comparison = compared(&side(1500, 10), &side(1800, n_turns));
        assert!(summary(&comparison).starts_with(wanted), "{}", summary(&comparison));
    }
    let unchanged = compared(&side(1500, 10), &side(1500, 20));
    assert!(summary(&unchanged).starts_with("No change"), "{}", summary(&unchanged));
}

/// A sampler runs between steps: nothing overlaps.
#[test]
fn kernels_outside_steps_are_not_overlap() {
    let side = |sampling: i64| {
        let mut made = Made::default();
        for start in (0..8).map(|i| i * (700 + sampling)) {
            made.step(DECODE, start, 50);
            made.launched(GEMM, start + 10, 7, start + 20, 700);
            if sampling > 0 {
                made.launched(SAMPLING, start + 60, 7, start + 720, sampling);
            }
        }
        made.digest()
    };
    let comparison = compared(&side(0), &side(300));
    let wanted = "mostly kernels launched outside steps (Sampling) (+300.0 µs).";
    assert!(summary(&comparison).ends_with(wanted), "{}", summary(&comparison));
    let lines: Vec<_> = answer(&comparison).unwrap().findings.iter().map(|line| line.time).collect();
    assert_eq!(lines, [Some(300_000)]);
}

/// The all-reduce takes as long as before, but nothing is computed meanwhile.
#[test]
fn communication_that_is_no_longer_overlapped_is_exposed() {
    let side = |is_exposed: bool| {
        let mut made = Made::default();
        for start in (0..7).map(|i| i * if is_exposed { 1300 } else { 1000 }) {
            made.step(DECODE, start, 100);
            made.launched(GEMM, start + 10, 7, start + 20, 980);
            made.launched(REDUCE, start + 20, 22, start + if is_exposed { 1000 } else { 30 }, 290);
        }
        made.digest()
    };
    let (apart, together) = (side(true), side(false));
    let comparison = compared(&together, &apart);
    let wanted = "mostly exposed communication (+290.0 µs).";
    assert!(summary(&comparison).ends_with(wanted), "{}", summary(&comparison));
    // The same numbers as in the row that it leads to: 290 µs run behind the GEMM, or within it.
    let first = &answer(&comparison).unwrap().findings[0];
    let evidence: Vec<String> =
        first.evidence.iter().map(|fact| format!("{} {}", fact.label, fact.display())).collect();
    assert_eq!(evidence, ["A 0 ns", "B 290.0 µs", "status △ only in B"]);
    let less = compared(&apart, &together);
    let first = &answer(&less).unwrap().findings[0];
    assert_eq!(first.text, "less exposed communication (more overlap with compute)");
}

/// The same of a copy: 80 of its 100 µs run behind the GEMM.
#[test]
fn copies_that_are_no_longer_overlapped_are_exposed() {
    let side = |start_of_copy: i64| {
        let mut made = Made::default();
        for start in (0..7).map(|i| i * 1000) {
            made.step(DECODE, start, 100);
            made.launched(GEMM, start + 10, 7, start + 20, 300);
            made.launch(start + 20);
            let args = format!(r#""device":0,"stream":9,"bytes":4096,"correlation":{}"#, made.events.len());
            let name = "Memcpy DtoH (Device -> Pinned)";
            made.event("gpu_memcpy", name, 9, [start + start_of_copy, 100], &args);
        }
        made.digest()
    };
    let comparison = compared(&side(100), &side(300));
    let changes: Vec<_> =
        answer(&comparison).unwrap().findings.iter().map(|line| (line.time, &*line.text)).collect();
    assert!(
        changes.contains(&(Some(80_000), "more exposed copies (less overlap with kernels)")),
        "{changes:?}"
    );
}

/// Without launches, nothing tells what the GPU waited for.
#[test]
fn idle_time_of_unknown_cause_is_not_between_queued_kernels() {
    let side = |gap: i64| {
        let mut made = Made::default();
        (0..20).for_each(|i| made.kernel([GEMM, ATTENTION][i as usize % 2], 7, i * (100 + gap), 100));
        made.digest()
    };
    let comparison = compared(&side(10), &side(300));
    assert!(
        summary(&comparison).contains("mostly idle, cause unknown (+5.510 ms)"),
        "{}",
        summary(&comparison)
    );
    let time = table(&comparison, "compare-gpu", "time");
    let row = |part: &str| (0..time.n_rows()).find(|row| text(time, *row, "part") == part).unwrap();
    for part in ["host-bound idle", "idle between queued kernels"] {
        let cells = ["per_step_a", "per_step_b", "total_a", "status"].map(|id| text(time, row(part), id));
        assert_eq!(cells, ["", "", "", "unknown"], "{part}");
    }
    assert_eq!(number(time, row("idle, cause unknown"), "total_b"), 19 * 300_000);
}

/// If only B has no launches, idle time is compared as a whole, and the finding leads to all its parts.
#[test]
fn idle_time_of_unknown_cause_on_one_side_is_compared_as_a_whole() {
    let side = |gap: i64, has_launches: bool| {
        let mut made = Made::default();
        for start in (0..20).map(|i| i * (100 + gap)) {
            if has_launches {
                made.launch(start - 6);
            }
            made.kernel(GEMM, 7, start, 100);
        }
        made.digest()
    };
    let comparison = compared(&side(10, true), &side(300, false));
    let first = &answer(&comparison).unwrap().findings[0];
    assert_eq!(first.text, "more idle time, cause unknown in B");
    // 19 gaps on each side.
    assert_eq!(first.time, Some(19 * 290_000));
    let rows = first.rows.clone().unwrap();
    let time = table(&comparison, &rows.report, &rows.table);
    let query = TableQuery { filter: rows.filter, ..TableQuery::default() };
    let found = row_order(time, &query).unwrap();
    let total = |id: &str| found.iter().map(|row| number(time, *row as usize, id)).sum::<i128>();
    assert_eq!([total("total_a"), total("total_b")], [19 * 10_000, 19 * 300_000]);
    // It changed by as much in the table: no cause of A is missing in B. All of the time changed by nothing else.
    assert_eq!([total("total_difference"), sum(time, "total_difference")], [19 * 290_000; 2]);
    let parts: Vec<String> = (0..time.n_rows()).map(|row| text(time, row, "part")).collect();
    assert_eq!(parts, ["computation", "exposed communication", "exposed copies", "idle"]);
}

/// Steps of 50, 100 and 50 µs; of the second kernel of some of them, only the launch is recorded.
fn incomplete(n: i64, missing: &[i64]) -> Digest {
    let mut made = Made::default();
    for i in 0..n {
        made.step(DECODE, i * 220, 40);
        let mut start = i * 220 + 50;
        for (at, (name, dur)) in [("rms_norm_kernel", 50), (GEMM, 100), (ATTENTION, 50)].iter().enumerate() {
            made.launch(i * 220 + 1 + 10 * at as i64);
            if at != 1 || !missing.contains(&i) {
                made.kernel(name, 7, start, *dur);
            }
            start += dur;
        }
    }
    made.digest()
}

fn all_text(comparison: &Comparison, report: &str) -> String {
    let report = comparison.reports.iter().find(|known| known.id == report).unwrap();
    let notes = report.blocks.iter().filter_map(|block| match block {
        Block::Note(note) => Some(note.text.as_str()),
        _ => None,
    });
    std::iter::once(&*report.summary).chain(notes).collect::<Vec<_>>().join("\n")
}

/// If all steps lack a record, what is recorded is compared, but no idle time.
#[test]
fn steps_that_all_lack_a_record_are_compared_by_busy_time() {
    let comparison = compared(&incomplete(8, &[]), &incomplete(8, &[0, 1, 2, 3, 4, 5, 6, 7]));
    let said = all_text(&comparison, "compare-gpu");
    assert!(said.starts_with("B is incomplete, so only busy time is compared. "), "{said}");
    assert!(said.contains("200.0 µs per decode step in A, 100.0 µs in B"), "{said}");
    assert!(said.contains("8 of 24 kernel and graph launches have no timed device record"), "{said}");
    assert!(!said.contains("No kernels in B"), "{said}");
    assert!(is_exceeded(&comparison, "gpu.busy < -49%"));
    let fusion = table(&comparison, "compare-sequence", "fusion");
    assert_eq!(text(fusion, 0, "finding"), "Not recorded or removed in B");
    let said = all_text(&comparison, "compare-sequence");
    assert!(said.contains("kernels only in A may have run in B too"), "{said}");
}

/// Steps that lack a record are left out if there are others, and the typical step is one of those.
#[test]
fn a_typical_step_lacks_no_record() {
    let comparison = compared(&incomplete(9, &[]), &incomplete(9, &[0, 2, 4, 6, 8]));
    let said = all_text(&comparison, "compare-gpu");
    assert!(
        said.contains("200.0 µs per decode step in A, 220.0 µs in B") || said.contains("No change: 220.0 µs"),
        "{said}"
    );
    assert!(said.contains("5 affected steps are left out."), "{said}");
    let said = all_text(&comparison, "compare-sequence");
    assert!(said.starts_with("3 kernels aligned; 3 identical; 0 only in A, 0 only in B."), "{said}");
}

/// In B, attention of GPU 1 takes 170 µs in every step instead of 70. Nothing varies from step to step.
#[test]
fn a_constant_difference_between_gpus_is_no_noise() {
    let side = |attention: i64| {
        let mut made = Made::default();
        for start in (0..7).map(|i| i * 400) {
            made.step(DECODE, start, 40);
            for (device, dur) in [(0, 50), (1, attention)] {
                for (at, name, start, dur) in [(0, GEMM, start + 50, 100), (1, ATTENTION, start + 150, dur)] {
                    made.launch(start - 45 - 100 * at + 10 * device + 5 * at);
                    made.kernel_on(device, name, 7, start, dur);
                }
            }
        }
        made.digest()
    };
    let comparison = compared(&side(70), &side(170));
    // (50 + 70) / 2 and (50 + 170) / 2 on each GPU, besides 100 of the other kernel.
    for limit in ["gpu.op.Attention > 83%", "gpu.busy > 31%", "gpu.computation > 31%"] {
        assert!(is_exceeded(&comparison, limit), "{limit}");
    }
    let time = table(&comparison, "compare-gpu", "time");
    assert_eq!(
        (text(time, 0, "part"), text(time, 0, "status")),
        ("computation".into(), "▲ slower in B".into())
    );
}

/// What has one cause for all kernels is told by it.
#[test]
fn one_cause_for_all_kernels_is_told() {
    // The last step is in no number per step.
    let with_last = |percent: i64, last: i64, model: &str| {
        let kernels = |percent: i64| {
            [(GEMM, 200), (ATTENTION, 100), (SAMPLING, 20), ("layer_norm_kernel", 40)]
                .map(|(name, dur)| (name, dur * percent / 100))
        };
        let (kernels, last) = (kernels(percent), kernels(last));
        queued(&[vec![(DECODE, &kernels[..]); 6], vec![(DECODE, &last[..])]].concat()).digest_on(model)
    };
    let side = |percent: i64, model: &str| with_last(percent, percent, model);
    let a = with_last(100, 900, "NVIDIA H100");
    let comparison = compared(&a, &side(105, "NVIDIA H100"));
    let wanted = ", nearly all kernels 5.0% slower. That suggests lower clocks in B.";
    assert!(summary(&comparison).ends_with(wanted), "{}", summary(&comparison));
    let other = compared(&a, &side(80, "NVIDIA B200"));
    assert!(summary(&other).ends_with(", nearly all kernels 20.0% faster."), "{}", summary(&other));
    let Block::Note(first) = &other.reports[0].blocks[0] else { panic!("a warning") };
    assert_eq!(first.level, NoteLevel::Warning);
    let wanted = "A and B ran on different GPUs: NVIDIA H100 in A, NVIDIA B200 in B.";
    assert!(first.text.starts_with(wanted), "{}", first.text);
}

/// Three kernels in each of 8 steps, in B of no known step: a step of A is not aligned with all of B.
#[test]
fn a_step_is_not_aligned_with_a_whole_trace() {
    let side = |has_launches: bool| {
        let mut made = Made::default();
        for step in (0..8).map(|i| i * 1000) {
            made.step(DECODE, step, 990);
            for (start, name) in [(100, GEMM), (300, ATTENTION), (500, SAMPLING)] {
                if has_launches {
                    made.launch(step + start - 50);
                }
                made.kernel(name, 7, step + start, 100);
            }
        }
        made.digest()
    };
    let (linked, unlinked) = (side(true), side(false));
    for (a, b, letter) in [(&linked, &unlinked, "B"), (&unlinked, &linked, "A")] {
        let comparison = compared(a, b);
        assert!(comparison.reports.iter().all(|report| report.id != "compare-sequence"));
        assert_eq!(aligned_steps(a, b, PhaseFilter::All), []);
        let said = all_text(&comparison, "compare-gpu");
        let wanted = format!("No kernel is linked to a step in {letter}, so whole traces are compared, and");
        assert!(said.contains(&wanted), "{said}");
    }
    for (side, n, what) in [(&linked, 3, "the median step of each side"), (&unlinked, 24, "all of a GPU")] {
        let said = all_text(&compared(side, side), "compare-sequence");
        let wanted = format!("{n} kernels aligned; {n} identical; 0 only in A, 0 only in B.");
        assert!(said.starts_with(&wanted) && said.contains(&format!("Aligns {what}")), "{said}");
    }
}

/// Two prefill steps are too few to test: that they take 700 µs instead of 400 is said, and exceeds no limit on the time of a step.
#[test]
fn changes_of_few_steps_are_told_as_untested() {
    let side = |n_prefill: usize, prefill: i64, decode: i64| {
        let (prefill, decode): (&[_], &[_]) = (&[(GEMM, prefill)], &[(GEMM, decode)]);
        let steps = [vec![(PREFILL, prefill); n_prefill], vec![(DECODE, decode); 18]].concat();
        queued(&steps).digest()
    };
    let a = side(2, 400, 200);
    let comparison = compared(&a, &side(2, 700, 200));
    assert_eq!(
        summary(&comparison),
        "No change: 200.0 µs per decode step in A, 200.0 µs in B; 75.0% more time per prefill step (400.0 µs in A, 700.0 µs in B, \
         not tested)."
    );
    let lists: Vec<_> = crate::compare::sides::lists(&comparison.reports[0]).collect();
    let [list] = &lists[..] else { panic!("one list") };
    let changes: Vec<_> = list.findings.iter().map(|line| (line.time, &*line.text)).collect();
    assert_eq!(list.title, "Largest changes per prefill step");
    assert_eq!(changes, [(Some(300_000), "GEMM (same kernel count, 1.75× longer each)")]);
    assert!(!is_exceeded(&comparison, "gpu.per_step > 3%") && is_exceeded(&comparison, "gpu.prefill > 3%"));
    let both = compared(&a, &side(2, 700, 300));
    let wanted = "; 75.0% more time per prefill step (400.0 µs in A, 700.0 µs in B, not tested).";
    assert!(
        summary(&both).starts_with("B takes 50.0% more") && summary(&both).ends_with(wanted),
        "{}",
        summary(&both)
    );
    // Less than 1% is no change.
    let little = compared(&a, &side(2, 403, 200));
    assert_eq!(summary(&little), "No change: 200.0 µs per decode step in A, 200.0 µs in B.");
}

/// 2 · 400 µs of A have no counterpart.
#[test]
fn phases_of_one_side_are_named() {
    let side = |n_prefill: usize| {
        let (prefill, decode): (&[_], &[_]) = (&[(GEMM, 400)], &[(GEMM, 200)]);
        queued(&[vec![(PREFILL, prefill); n_prefill], vec![(DECODE, decode); 18]].concat()).digest()
    };
    for (a, b, letter) in [(2, 0, "A"), (0, 2, "B")] {
        let comparison = compared(&side(a), &side(b));
        let Block::Note(first) = &comparison.reports[0].blocks[0] else { panic!("a warning") };
        let wanted =
            format!("Only {letter} has prefill steps (2 steps, 800.0 µs), so they are not compared.");
        assert_eq!((first.level, &*first.text), (NoteLevel::Warning, &*wanted));
    }
    assert!(!all_text(&compared(&side(2), &side(2)), "compare-gpu").contains("Only "));
}

/// The GEMM takes 1 ms in the last step of A, which no number per step is of, 100 µs in the others, and 110 µs in B.
#[test]
fn kernels_are_of_the_steps_that_are_compared() {
    let first = |comparison: &Comparison| {
        let line = &answer(comparison).unwrap().findings[0];
        (line.time, line.text.clone())
    };
    let decode = |kernels: &[&[(&str, i64)]]| {
        queued(&kernels.iter().map(|kernels| (DECODE, *kernels)).collect::<Vec<_>>()).digest()
    };
    let (usual, last, later): (&[_], &[_], &[_]) = (&[(GEMM, 100)], &[(GEMM, 1000)], &[(GEMM, 110)]);
    let a = decode(&[vec![usual; 7], vec![last]].concat());
    let comparison = compared(&a, &decode(&[later; 8]));
    assert_eq!(first(&comparison), (Some(10_000), "GEMM (same kernel count, 1.10× longer each)".to_string()));
    // Attention of A is in its last step only.
    let more: &[_] = &[(GEMM, 100), (ATTENTION, 50)];
    let comparison = compared(&decode(&[vec![usual; 7], vec![more]].concat()), &decode(&[more; 8]));
    assert_eq!(first(&comparison), (Some(50_000), "Attention (1 kernel per step, was 0)".to_string()));
    // Of 39 steps one has another kernel: 450 / 39 µs.
    let once: &[_] = &[(GEMM, 100), (SAMPLING, 450)];
    let b = decode(&[vec![usual; 5], vec![once], vec![usual; 34]].concat());
    let comparison = compared(&decode(&[usual; 40]), &b);
    assert_eq!(first(&comparison), (Some(11_538), "Sampling (only in B, 0.02564 per step)".to_string()));
}

/// B has launches only: that says all, and nothing of when they ran.
#[test]
fn a_side_without_records_has_no_kernels() {
    let mut launches = Made::default();
    (0..16).for_each(|i| launches.launch(100 * i));
    let said = all_text(&compared(&host_bound(8, 500), &launches.digest()), "compare-gpu");
    assert!(said.starts_with("Only A has GPU activity."), "{said}");
    let wanted = "No kernels in B: 16 of 16 kernel and graph launches have no timed device record.";
    assert!(said.contains(wanted), "{said}");
    assert!(!said.contains("incomplete") && !said.contains("None of these"), "{said}");
}

/// Of 1,000 µs the GEMM takes 100 more, another kernel 5 and a third 4.
#[test]
fn smaller_changes_are_counted() {
    let side = |gemm: i64, attention: i64, sampling: i64| {
        let kernels: &[_] = &[(GEMM, gemm), (ATTENTION, attention), (SAMPLING, sampling)];
        queued(&[(DECODE, kernels); 7]).digest()
    };
    let a = side(600, 200, 200);
    for (b, wanted) in [
        (side(700, 205, 200), "1 smaller change, below 1% of A’s time"),
        (side(700, 205, 204), "2 smaller changes, each below 1% of A’s time"),
    ] {
        let comparison = compared(&a, &b);
        let last = answer(&comparison).unwrap().findings.last().unwrap();
        assert_eq!(last.text, wanted);
    }
}
