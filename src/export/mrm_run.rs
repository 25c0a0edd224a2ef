//! A trace of memory accesses as a run directory of mrm-trace: the labelled trace, its regions, the cache of keys and values,
//! metrics and a manifest.

use crate::analysis::memory_query::MemoryQuery;
use crate::analysis::mrm_run::{metrics_rows, view_of};
use crate::memory::labeller::Region;
use crate::memory::{Kinds, kv};
use crate::memory_run::tables::{KvRow, RegionRow};
use crate::memory_run::{self, Contents};
use crate::trace::Trace;
use crate::trace::accesses::{Access, RegionType};

/// A directory, ready to be written.
pub struct RunFiles {
    /// Bare names and contents; the manifest is the last one.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// What whoever asked for it should know, in sentences.
    pub notes: Vec<String>,
}

/// Labels the accesses of a trace as `query` says and writes what mrm-trace would. `None` if it has no accesses.
pub fn files(trace: &Trace, query: &MemoryQuery, run_id: &str, now_ms: u64) -> Option<RunFiles> {
    if trace.accesses.is_empty() {
        return None;
    }
    let view = view_of(trace, query);
    let beside = memory_run::read_beside(&trace.beside);
    // Texts that were not in the file: kinds of rules, and phases that were given.
    let mut strings = trace.strings.clone();
    for kind in view.kinds.sorted() {
        strings.intern(view.kinds.name(kind));
    }
    for at in 0.. {
        let Some(name) = view.phases.name(at) else { break };
        strings.intern(name);
    }
    let rows = || {
        view.in_phases().map(|(row, label, phase)| {
            let name = view.kinds.name(label.kind);
            let region = RegionType::of_name(name);
            let region_text = (region == RegionType::Other).then(|| strings.find(name)).flatten();
            let phase = phase.and_then(|phase| strings.find(phase));
            Access { phase, region, region_text, region_id: label.region_id, ..row }
        })
    };
    let regions: Vec<RegionRow> =
        view.regions.regions().iter().map(|region| region_row(region, &view.kinds)).collect();
    let kv_blocks: Vec<KvRow> = view.kv_pages.pages().iter().map(kv_row).collect();
    let metrics = metrics_rows(&view, query);
    let files = memory_run::write(Contents {
        run_id,
        rows,
        strings: &strings,
        regions: &regions,
        kv_blocks: &kv_blocks,
        metrics: &metrics,
        metadata: beside.metadata.as_ref(),
        prompt_outputs: beside.prompt_outputs.as_ref(),
        now_ms,
    });
    let mut notes = Vec::new();
    if view.n_left_out > 0 {
        notes.push(format!("{} accesses of no known kind are left out", view.n_left_out));
    }
    if view.stopped.is_some() {
        notes.push(
            "labelling stopped at the first access of no known kind; what follows is left out".to_string(),
        );
    }
    Some(RunFiles { files, notes })
}

/// Files hold times as unsigned numbers; what is before 0 is 0 there.
fn unsigned(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

fn region_row(region: &Region, kinds: &Kinds) -> RegionRow {
    RegionRow {
        region_id: region.id.into(),
        region_type: kinds.name(region.kind).to_string(),
        page_min: region.page_min,
        page_max: region.page_max,
        first_seen_ns: unsigned(region.first_seen_ns),
        last_seen_ns: unsigned(region.last_seen_ns),
        access_count: region.access_count,
    }
}

fn kv_row(page: &kv::KvPage) -> KvRow {
    KvRow {
        block_id: page.block_id.into(),
        address: page.address,
        address_page: page.page,
        write_ns: unsigned(page.write_ns),
        last_read_ns: unsigned(page.last_read_ns),
        evict_ns: page.evict_ns.map(unsigned),
        total_reads: page.total_reads,
        lifetime_ns: unsigned(page.lifetime_ns()),
    }
}
