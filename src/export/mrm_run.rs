//! A memory trace as a run directory of mrm-trace: labelled trace, regions, key/value cache, metrics, charts and
//! manifest. The exporter writes a zip archive.

use super::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn};
use crate::analysis;
use crate::analysis::memory_query::MemoryQuery;
use crate::analysis::mrm::trust::run_validity;
use crate::analysis::mrm_run::metrics_rows;
use crate::analysis::run_files::{thresholds_of, view_in_steps};
use crate::archive::{ArchiveWriter, Effort};
use crate::base::compat::python::float_repr;
use crate::base::json::Json;
use crate::base::steps::{self, Steps};
use crate::base::text::file_name;
use crate::base::units::counted;
use crate::memory::labeller::Region;
use crate::memory::labelling::Stopped;
use crate::memory::phases::Boundary;
use crate::memory::suitability::Thresholds;
use crate::memory::{Kinds, LabelledTrace, UnknownPolicy, kv};
use crate::memory_run::metadata::{CHOICES, SUITABILITY};
use crate::memory_run::run_id::run_id;
use crate::memory_run::tables::{KvRow, RegionRow};
use crate::memory_run::{self, Contents, Files};
use crate::report::{Chart, Report};
use crate::scene::svg;
use crate::trace::accesses::{Access, RegionType};
use crate::trace::builder::issues::ACCESSES_LEFT_OUT;
use crate::trace::{Run, Trace};
use std::collections::BTreeSet;
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "mrm-run",
    title: "mrm-trace run directory (zip)",
    extension: "zip",
    media_type: "application/zip",
    in_menu: true,
    needs: "memory accesses",
    applies,
    write: WriteFn::InSteps(|input, out| {
        Steps::new(async move { write(input, out).await.map(LeftOut::nothing) })
    }),
    reference: None,
    converts: None,
    texts: TextsIn::Document,
    takes_part: false,
    can_redact: false,
    takes_notes: false,
};

fn applies(run: &Run) -> bool {
    run.traces.iter().any(applies_to)
}

/// Whether a trace is a memory trace.
pub fn applies_to(trace: &Trace) -> bool {
    trace.accesses.is_expected()
}

/// Writes each trace with accesses as a folder in the archive.
async fn write(input: &Input<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut archive = ArchiveWriter::new(out, input.options.now_ms);
    let mut folders = BTreeSet::new();
    for (number, trace) in input.run.traces.iter().enumerate() {
        let run_id = run_id(trace);
        let figures = figures(input.document.reports, number);
        if !applies_to(trace) {
            continue;
        }
        let mut folder = folder_name(&run_id);
        if !folders.insert(folder.clone()) {
            folder = format!("{folder}-{}", number + 1);
        }
        let files = &mut InArchive { archive: &mut archive, folder };
        write_run_in_steps(trace, &input.query.memory, &run_id, input.options.now_ms, figures, files).await?;
    }
    archive.finish().map(drop)
}

/// A directory in an archive.
pub struct InArchive<'a, W> {
    pub archive: &'a mut ArchiveWriter<W>,
    /// Folder name.
    pub folder: String,
}

impl<W: Write> Files for InArchive<'_, W> {
    fn file(
        &mut self,
        path: &str,
        write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        self.archive.add(&format!("{}/{path}", self.folder), Effort::of_file(path), |out| write(out))
    }
}

/// Folder name of a run.
pub fn folder_name(run_id: &str) -> String {
    let name = file_name(run_id);
    if name.is_empty() { "run".to_string() } else { name }
}

/// The charts of one trace as SVG, keyed by bare file name. Charts that mrm-trace also makes have the same
/// names as there.
pub fn figures(reports: &[Report], number: usize) -> Vec<(String, Vec<u8>)> {
    let charts = reports.iter().filter(|report| analysis::is_labelled(&report.id)).flat_map(Report::charts);
    let figure = |chart: &Chart| {
        // Charts of further traces have their number in the id.
        let is_numbered = chart.id.ends_with(|c: char| c.is_ascii_digit());
        let id = match number {
            0 => Some(&*chart.id).filter(|_| !is_numbered),
            _ => chart.id.strip_suffix(&format!("_{}", number + 1)),
        }?;
        let name = Chart::name_of(id);
        Some((format!("{name}.svg"), svg::picture(chart, svg::FILE_WIDTH).into_bytes()))
    };
    charts.filter_map(figure).collect()
}

/// Labels the accesses of a trace with `query` and writes the same files as mrm-trace, with `figures` keyed by bare name.
/// Without accesses, tables are empty. Returns notes for the user as sentence fragments.
pub fn write_run(
    trace: &Trace,
    query: &MemoryQuery,
    run_id: &str,
    now_ms: u64,
    figures: Vec<(String, Vec<u8>)>,
    files: &mut dyn Files,
) -> io::Result<Vec<String>> {
    steps::run(write_run_in_steps(trace, query, run_id, now_ms, figures, files))
}

/// [`write_run`], with the labelling in steps. Writing is one step, as files are written from functions.
async fn write_run_in_steps(
    trace: &Trace,
    query: &MemoryQuery,
    run_id: &str,
    now_ms: u64,
    figures: Vec<(String, Vec<u8>)>,
    files: &mut dyn Files,
) -> io::Result<Vec<String>> {
    let view = view_in_steps(trace, query).await;
    let beside = memory_run::read_sidecar_files(&trace.sidecar_files);
    // Texts that are not in the file: kinds from rules, and given phases.
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
    let metadata = metadata_of(&view, query, run_id, beside.metadata);
    let contents = Contents {
        run_id,
        rows,
        strings: &strings,
        regions: &regions,
        kv_blocks: &kv_blocks,
        metrics: &metrics,
        metadata: Some(&metadata),
        prompt_outputs: beside.prompt_outputs.as_ref(),
        figures,
        now_ms,
    };
    memory_run::write(contents, files)?;
    let mut notes = Vec::new();
    if view.n_left_out > 0 {
        notes.push(format!("skipped {} of unknown kind", counted(view.n_left_out, "access", "accesses")));
    }
    match view.stopped {
        Some(Stopped::Unclassified(_)) => notes
            .push("labeling stopped at the first access of unknown kind; the rest is skipped".to_string()),
        Some(Stopped::Full) => {
            notes.push("out of memory for regions; the remaining accesses are skipped".to_string());
        }
        None => {}
    }
    let n_left_out = trace.ledger.count_of(ACCESSES_LEFT_OUT.code);
    if n_left_out > 0 {
        let accesses = counted(n_left_out, "access", "accesses");
        notes.push(format!("the trace is too large to keep in memory; the last {accesses} are skipped"));
    }
    Ok(notes)
}

/// Metadata of a run: existing metadata, else facts from the trace; plus phases set by the user, and
/// non-default settings of labels and metrics.
fn metadata_of(view: &LabelledTrace<'_>, query: &MemoryQuery, run_id: &str, before: Option<Json>) -> Json {
    let phase = |phase: &Boundary| {
        let times = [("start_ns", phase.start_ns), ("end_ns", phase.end_ns)];
        let times = times.map(|(name, ns)| (name, Json::Number(ns.to_string())));
        object([("phase", text(&phase.phase))].into_iter().chain(times))
    };
    let phases = || Json::Array(view.phases.boundaries.iter().map(phase).collect());
    const PHASES: &str = "phase_boundaries";
    let mut members = match before {
        Some(Json::Object(mut members)) => {
            if !query.options().phases.is_empty() {
                set(&mut members, PHASES, Some(phases()));
            }
            members
        }
        Some(other) => return other,
        None => {
            let mut members = vec![("run_id".to_string(), text(run_id))];
            let collector = match view.trace.source.format {
                "perf-text" | "perf-text-seed" => Some("perf_mem"),
                "memray" | "memray-seed" => Some("memray"),
                _ => None,
            };
            let collector = collector.map(|collector| object([("type", text(collector))]));
            set(&mut members, "collector", collector);
            let validity = run_validity(view.trace, query).0;
            set(&mut members, "run_validity", validity.map(|validity| text(validity.name())));
            set(&mut members, PHASES, Some(phases()).filter(|_| !view.phases.is_empty()));
            members
        }
    };
    let noted = members.iter().find(|(name, _)| name == CHOICES).map(|(_, noted)| noted.clone());
    let choices = choices_of(view, query, noted);
    set(&mut members, CHOICES, choices);
    Json::Object(members)
}

fn text(text: &str) -> Json {
    Json::String(text.to_string())
}

fn object(members: impl IntoIterator<Item = (&'static str, Json)>) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect())
}

/// Replaces or appends a member; removes it without a value.
fn set(members: &mut Vec<(String, Json)>, name: &str, value: Option<Json>) {
    match (members.iter().position(|(known, _)| known == name), value) {
        (Some(at), Some(value)) => members[at].1 = value,
        (Some(at), None) => drop(members.remove(at)),
        (None, Some(value)) => members.push((name.to_string(), value)),
        (None, None) => {}
    }
}

/// Non-default settings of labels and metrics. If the labels of the file are kept, so are the settings recorded
/// with them.
fn choices_of(view: &LabelledTrace<'_>, query: &MemoryQuery, noted: Option<Json>) -> Option<Json> {
    const OF_LABELS: [&str; 3] = ["rules", "unknown", "address_ranges"];
    let mut members = match noted {
        Some(Json::Object(members)) => members,
        _ => Vec::new(),
    };
    if !view.has_labels_of_source {
        members.retain(|(name, _)| !OF_LABELS.contains(&name.as_str()));
        let options = query.options();
        let given = |is_own: bool, json: &str| Json::parse(json.as_bytes()).filter(|_| is_own);
        let has_rules = options.rules.as_ref().is_some_and(|rules| !rules.are_builtin());
        let unknown = text(query.unknown.trim());
        let of_labels = [
            given(has_rules, &query.rules),
            Some(unknown).filter(|_| options.unknown != UnknownPolicy::default()),
            given(!options.ranges.is_empty(), &query.ranges),
        ];
        OF_LABELS.iter().zip(of_labels).for_each(|(name, value)| set(&mut members, name, value));
    }
    let own = thresholds_of(view.trace, query);
    let Thresholds { high_ratio, high_p99_s, medium_ratio, medium_p50_s } = own;
    let thresholds = [
        ("high_ratio", high_ratio),
        ("high_p99_s", high_p99_s),
        ("medium_ratio", medium_ratio),
        ("medium_p50_s", medium_p50_s),
    ];
    let thresholds = object(thresholds.map(|(name, value)| (name, Json::Number(float_repr(value)))));
    set(&mut members, SUITABILITY, Some(thresholds).filter(|_| own != Thresholds::default()));
    set(&mut members, "validity_rules", query.has_later_rules().then(|| text("later")));
    (!members.is_empty()).then_some(Json::Object(members))
}

/// Files store times as unsigned numbers; negative times become 0.
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
