//! Traces of more memory accesses, or of more regions, than there is memory for: reports are on those before, and say so.

use proptest::prelude::*;
use tracedrop::analysis::{self, Query};
use tracedrop::import::Import;
use tracedrop::memory::labelling::Stopped;
use tracedrop::memory::{LabelledTrace, Options};
use tracedrop::report::{Block, Report};
use tracedrop::trace::{Run, Trace};

/// As `perf script` prints accesses: weights, a cache of keys and values, activations on pages of their own.
fn perf_text(n_lines: usize) -> String {
    let line = |at: usize| {
        let (symbol, address) = match at % 3 {
            0 => ("llama_model_load_internal", 0x7f3a_4000_0000 + at * 64),
            1 => ("llama_kv_cache_update", 0x7f39_0000_0000 + at % 30 * 256),
            _ => ("ggml_silu_f32", 0x5570_1000_0000 + at * 4096),
        };
        format!(
            "       llama-cli  46817 [003] {}.{:06}:         cpu/mem-stores/P:     {address:x} {symbol}+0x10 /opt/llama/lib/libllama.so\n",
            12 + at / 1000,
            at % 1000 * 1000
        )
    };
    (0..n_lines).map(line).collect()
}

fn read(text: &str, max_accesses: Option<usize>) -> Trace {
    let mut import = Import::new("perf.txt", text.len() as u64);
    max_accesses.into_iter().for_each(|max| import.hold_at_most_accesses(max));
    text.as_bytes().chunks(4096).for_each(|chunk| import.feed(chunk));
    import.finish().expect("it is perf text")
}

fn reports(trace: Trace) -> Vec<Report> {
    analysis::reports(&Run { traces: vec![trace] }, &Query::default())
}

fn notes(report: &Report) -> String {
    let note = |block: &Block| match block {
        Block::Note(note) => Some(note.text.clone()),
        _ => None,
    };
    report.blocks.iter().filter_map(note).collect::<Vec<_>>().join("\n")
}

#[test]
fn accesses_that_there_is_no_room_for_are_accounted_for() {
    let text = perf_text(3000);
    for max in [1, 1000, 1024, 2999, 3000] {
        let (limited, cut) = (read(&text, Some(max)), read(&perf_text(max), None));
        assert!(limited.accesses.iter().eq(cut.accesses.iter()), "{max}: rows");
        let n_out = 3000 - max as u64;
        let ledger = &limited.ledger;
        assert_eq!((ledger.kept.records, ledger.skipped.records), (max as u64, n_out), "{max}");
        assert_eq!(ledger.count_of("too-many-accesses"), n_out, "{max}");
        let read_whole = read(&text, None).ledger;
        assert_eq!(ledger.kept.bytes + ledger.skipped.bytes, read_whole.kept.bytes, "{max}: bytes");

        let (told, plain) = (reports(limited), reports(cut));
        let mrm = |reports: &[Report]| reports.iter().find(|report| report.id == "mrm").cloned();
        let (Some(told), Some(plain)) = (mrm(&told), mrm(&plain)) else { panic!("{max}: no report") };
        assert_eq!(notes(&told).contains("The trace is too large for this page"), n_out > 0, "{max}");
        assert!(told.tables().eq(plain.tables()), "{max}: tables");
    }
}

#[test]
fn a_partial_report_accounts_for_them_as_well() {
    let text = perf_text(3000);
    let mut import = Import::new("perf.txt", text.len() as u64);
    import.hold_at_most_accesses(500);
    import.feed(&text.as_bytes()[..text.len() - 10]);
    let so_far = import.snapshot().expect("the format is known");
    assert_eq!(so_far.accesses.len(), 500);
    assert_eq!(so_far.ledger.count_of("too-many-accesses"), so_far.ledger.skipped.records);
    assert!(so_far.ledger.skipped.records > 2400);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn labelling_stops_where_there_is_no_room_for_regions(n_lines in 1..4000usize, max_regions in 1..1500usize) {
        let trace = read(&perf_text(n_lines), None);
        let all = LabelledTrace::new(&trace, &Options::default());
        let limited = LabelledTrace::new(&trace, &Options { max_regions: Some(max_regions), ..Options::default() });
        let n_labelled = limited.labels.len();
        prop_assert!(limited.labels.iter().eq(all.labels.iter().take(n_labelled)));
        // That of weights is one more.
        prop_assert!(limited.regions.regions().len() <= max_regions + 1);
        prop_assert_eq!(limited.stopped == Some(Stopped::Full), n_labelled < n_lines);
        prop_assert!(n_labelled == n_lines || limited.regions.regions().len() >= max_regions);

        let before = read(&perf_text(n_labelled), None);
        let before = LabelledTrace::new(&before, &Options::default());
        prop_assert_eq!(&before.metrics.regions, &limited.metrics.regions);
        prop_assert_eq!(before.coverage, limited.coverage);
        prop_assert_eq!(before.pages.len(), limited.pages.len());
    }
}
