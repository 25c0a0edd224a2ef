//! Comparison of two traces, or of two groups of traces.
//!
//! ```text
//! Run, reports ── Digest::of ──┐
//!                              ├── compare ── reports, measures
//! Run, reports ── Digest::of ──┘
//! ```
//! A is the first side and B the second; every difference is B − A. Each side is reduced to its [`Digest`]: small, plain data, so
//! that sides can be read in different places.
//!
//! There are two layers. The general one joins tables of one kind by their keys ([`tables`]) and knows nothing about traces. The
//! one for GPUs ([`gpu`]) compares steps of the same phase and tests significance.

pub mod align;
mod calls;
pub mod gpu;
pub mod limits;
pub mod noise;
mod repeats;
pub mod tables;
pub mod timelines;
mod words;

use crate::analysis::{self, AnalysisCache, Context, Query};
use crate::base::sort;
use crate::base::units::{Unit, counted, format_integer, format_ns, group_decimal, group_digits, with_noun};
use crate::report::{Block, Document, Facts, Note, NoteLevel, Report, Table};
use crate::trace::{Run, losses};
pub use gpu::aligned_steps;
pub use gpu::sequence::{AlignedKernel, AlignedStep, Change};
use gpu::side::GpuSide;
use repeats::Repeats;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use tables::{Joined, Total, essence, is_comparable, join, narrow, ratio};

/// Options of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CompareQuery {
    /// Steps included in the GPU report.
    pub phase: PhaseFilter,
}

/// Filter for steps by phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum PhaseFilter {
    /// All phases, each compared with itself, and activity outside steps.
    #[default]
    All,
    /// Prefill steps only.
    Prefill,
    /// Decode steps only.
    Decode,
}

/// Input of a comparison from one side.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Digest {
    /// File names.
    pub files: Vec<String>,
    /// Distinct format ids.
    pub formats: Vec<String>,
    /// One list per file: name, format, producer.
    pub source: Vec<Facts>,
    /// Parsing details.
    pub ledger: Report,
    /// Reports reduced to comparable tables and columns.
    pub reports: Vec<Report>,
    /// What is missing from the files, as sentences on their names.
    pub losses: Vec<String>,
    /// Distinct sampling settings of Python profiles.
    pub sampling: Vec<Sampling>,
    /// `None` without GPU activity.
    pub gpu: Option<GpuSide>,
    /// If a side has several files (repeated runs): the reports of each file, see `repeats`.
    pub each: Vec<Vec<Report>>,
}

/// Sampling settings of a profile.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sampling {
    /// Which threads were sampled; `None` if not recorded.
    pub mode: Option<String>,
    /// Sampling interval; `None` if not recorded.
    pub interval_us: Option<u64>,
}

/// A number that a performance budget can limit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Measure {
    /// Name used in limits: `gpu.per_step`, `slices.slices.self`.
    pub id: String,
    /// Description.
    pub what: String,
    pub unit: Unit,
    pub a: f64,
    pub b: f64,
    /// Differences up to this are noise; `None` if unknown.
    pub noise: Option<f64>,
}

/// Result of a comparison.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// `A: one.json vs B: other.json`.
    pub title: String,
    pub reports: Vec<Report>,
    pub measures: Vec<Measure>,
}

/// Reason why two sides cannot be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// Different kinds: the contents of A and of B.
    Unlike(String, String),
    /// Different sampling modes of A and B.
    UnlikeModes(String, String),
    /// No steps of the selected phase; the phases of A and of B.
    NoSuchPhase(&'static str, String, String),
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Problem::Unlike(a, b) => {
                write!(f, "these traces have nothing in common to compare: A contains {a}, B contains {b}")
            }
            Problem::UnlikeModes(a, b) => {
                write!(f, "profiles with different sampling modes are not comparable: A is {a}, B is {b}")
            }
            Problem::NoSuchPhase(phase, a, b) => {
                write!(f, "no {phase} steps to compare: A has {a}, B has {b}")
            }
        }
    }
}

impl Digest {
    /// Digest of the files of one side. `reports` are those of `run` for `query`; `format_title` names a format by its id. `run` is
    /// unchanged afterwards. `found` is the cached GPU model of the reports, if available.
    pub fn of(
        run: &mut Run,
        reports: &[Report],
        query: &Query,
        format_title: &dyn Fn(&str) -> String,
        found: AnalysisCache,
    ) -> Digest {
        let each = repeats::of(run, query);
        let document = analysis::document(run, reports, format_title);
        let mut formats: Vec<String> =
            run.traces.iter().map(|trace| trace.source.format.to_string()).collect();
        formats.sort_unstable();
        formats.dedup();
        let mut kept: Vec<Report> = reports.iter().filter_map(comparable).collect();
        if let Some(report) = calls::report(run) {
            kept.push(report);
        }
        let context = Context::from_cache(run, query, found);
        Digest {
            files: run.traces.iter().map(|trace| trace.source.file_name.clone()).collect(),
            formats,
            source: document.source,
            ledger: document.ledger,
            reports: kept,
            losses: losses::of_named_files(run)
                .into_iter()
                .chain(calls::without_duration(run))
                .chain(run.traces.iter().filter_map(analysis::memory_snapshot::without_events))
                .collect(),
            sampling: sampling(run),
            gpu: GpuSide::of(context.gpu()),
            each,
        }
    }

    /// Whether there are steps of this phase; for all phases, whether there are any at all.
    pub fn has_steps_of(&self, phase: PhaseFilter) -> bool {
        self.gpu.as_ref().is_some_and(|gpu| gpu.slots().iter().any(|slot| slot.passes(phase)))
    }

    /// File names for a title, shortened if there are many.
    pub fn label(&self) -> String {
        match &self.files[..] {
            [] => "nothing".to_string(),
            [one] => one.clone(),
            [first, rest @ ..] => {
                format!("{first} and {}", counted(rest.len() as u64, "more file", "more files"))
            }
        }
    }

    /// Its contents, in words.
    fn kinds(&self) -> String {
        if self.reports.is_empty() {
            return format!("nothing to compare ({})", self.formats.join(", "));
        }
        let titles: Vec<&str> = self.reports.iter().map(|report| report.title.as_str()).collect();
        format!("{} ({})", titles.join(", "), self.formats.join(", "))
    }

    fn is_like(&self, other: &Digest) -> bool {
        let shares_report = self.reports.iter().any(|report| other.report(&report.id).is_some());
        shares_report || self.formats.iter().any(|format| other.formats.contains(format))
    }

    fn report(&self, id: &str) -> Option<&Report> {
        self.reports.iter().find(|report| report.id == id)
    }
}

fn sampling(run: &Run) -> Vec<Sampling> {
    let of_profiles = run
        .traces
        .iter()
        .flat_map(|trace| trace.profiles.iter())
        .map(|profile| Sampling { mode: profile.mode.clone(), interval_us: profile.sample_interval_us });
    // Stacks of a Python profile: the file says beside them how they were sampled.
    let with_stacks = run.traces.iter().filter(|trace| !trace.stack_profiles.is_empty());
    let of_stacks = with_stacks.filter_map(|trace| {
        let told = |name: &str| trace.source.metadata.iter().find(|(known, _)| known == name);
        let interval_us = told("sample_interval_usec")?.1.parse().ok().filter(|us| *us > 0);
        Some(Sampling { mode: told("mode").map(|(_, mode)| mode.clone()), interval_us })
    });
    let mut all: Vec<Sampling> = Vec::new();
    for own in of_profiles.chain(of_stacks) {
        if !all.contains(&own) {
            all.push(own);
        }
    }
    all
}

/// What to know before sample counts of two sides are compared.
enum Unlike {
    /// Samples of the two sides stand for different times; the warning says so.
    Intervals(String),
    /// Perhaps something else was sampled.
    Perhaps(String),
}

/// Returns an error if the sampling modes of A and B differ, and a warning if the rates differ or a mode is not recorded.
fn unlike_sampling(a: &Digest, b: &Digest) -> Result<Option<Unlike>, Problem> {
    let modes = |side: &Digest| {
        let mut modes: Vec<&str> =
            side.sampling.iter().map(|own| own.mode.as_deref().unwrap_or("not recorded")).collect();
        modes.sort_unstable();
        modes.dedup();
        modes.join(", ")
    };
    let intervals = |side: &Digest| {
        let interval = |own: &Sampling| match own.interval_us {
            Some(us) => format_ns(i64::try_from(us).unwrap_or(i64::MAX).saturating_mul(1000)),
            None => "not recorded".to_string(),
        };
        let mut intervals: Vec<String> = side.sampling.iter().map(interval).collect();
        intervals.sort_unstable();
        intervals.dedup();
        intervals.join(", ")
    };
    if a.sampling.is_empty() || b.sampling.is_empty() {
        return Ok(None);
    }
    let has_times = |side: &Digest| side.report(analysis::hot_frames::INFO.id).is_some();
    let of_modes = [modes(a), modes(b)];
    if of_modes[0] != of_modes[1] {
        let is_known = |side: &Digest| side.sampling.iter().all(|own| own.mode.is_some());
        let [in_a, in_b] = of_modes;
        if is_known(a) && is_known(b) {
            return Err(Problem::UnlikeModes(in_a, in_b));
        }
        return Ok(Some(Unlike::Perhaps(format!(
            "Sampling modes of A ({in_a}) and B ({in_b}) may differ, so counts may not be comparable."
        ))));
    }
    let of_intervals = [intervals(a), intervals(b)];
    if of_intervals[0] == of_intervals[1] {
        return Ok(None);
    }
    let [in_a, in_b] = of_intervals;
    let are_known = [a, b].iter().all(|side| side.sampling.iter().all(|own| own.interval_us.is_some()));
    Ok(Some(match are_known {
        true => Unlike::Intervals(format!(
            "A was sampled every {in_a}, B every {in_b}: compare shares{}, not samples.",
            if has_times(a) && has_times(b) { " and thread time" } else { "" }
        )),
        false => Unlike::Perhaps(format!(
            "Sampling intervals of A ({in_a}) and B ({in_b}) may differ: compare shares, not samples."
        )),
    }))
}

/// The side with the thread time of each function in the place of its samples, as main column of its tables. `None` where it was
/// not kept, as in sides that other versions wrote.
fn by_thread_time(side: &Digest) -> Option<Digest> {
    let mut side = side.clone();
    let of_files = side.each.iter_mut().flatten();
    for table in side.reports.iter_mut().chain(of_files).flat_map(Report::tables_mut) {
        if tables::main_measure(table).is_none_or(|main| table.columns[main].unit != Unit::Samples) {
            continue;
        }
        let time = table.columns.iter().position(tables::is_time)?;
        table.columns.iter_mut().enumerate().for_each(|(at, column)| column.bar = at == time);
        table.sort = None;
    }
    Some(side)
}

/// A report reduced to its comparable tables.
fn comparable(report: &Report) -> Option<Report> {
    let mut out = Report { blocks: Vec::new(), ..report.clone() };
    report.tables().filter(|table| is_comparable(table)).for_each(|table| out.table(essence(table)));
    (!out.blocks.is_empty()).then_some(out)
}

/// Compares B with A.
pub fn compare(a: &Digest, b: &Digest, query: &CompareQuery) -> Result<Comparison, Problem> {
    if !a.is_like(b) {
        return Err(Problem::Unlike(a.kinds(), b.kinds()));
    }
    let unlike_sampling = unlike_sampling(a, b)?;
    let by_time = match &unlike_sampling {
        Some(Unlike::Intervals(_)) => by_thread_time(a).zip(by_thread_time(b)),
        _ => None,
    };
    let [a, b] = by_time.as_ref().map_or([a, b], |(a, b)| [a, b]);
    let title = format!("A: {} vs B: {}", a.label(), b.label());
    let mut comparison = Comparison { title, ..Comparison::default() };
    if a.gpu.is_some() || b.gpu.is_some() {
        gpu::compare(a, b, query, &mut comparison)?;
    }
    let reports = a.reports.iter().chain(b.reports.iter().filter(|report| a.report(&report.id).is_none()));
    // GPU reports are compared above, per step.
    for report in reports.filter(|report| !IN_GPU_REPORT.contains(&&*report.id)) {
        let pair = [a.report(&report.id), b.report(&report.id)];
        general(report, pair, [a, b], &mut comparison);
    }
    if let Some(Unlike::Intervals(warning) | Unlike::Perhaps(warning)) = unlike_sampling {
        let ids = [analysis::hot_frames::INFO.id, analysis::stack_functions::INFO.id].map(compared_id);
        let is_of_profiles = |report: &&mut Report| ids.contains(&report.id.to_string());
        if let Some(report) = comparison.reports.iter_mut().find(is_of_profiles) {
            report.blocks.insert(0, Block::Note(Note { level: NoteLevel::Warning, text: warning }));
        }
    }
    if comparison.reports.is_empty() {
        let mut report = Report::new("compare", "B vs A");
        report.summary = "Nothing to compare on either side.".to_string();
        comparison.reports.push(report);
    }
    if let Some(first) = comparison.reports.first_mut() {
        let of_side = |(side, letter): (&Digest, &str)| -> Vec<Block> {
            let warn = |text: &String| {
                Block::Note(Note { level: NoteLevel::Warning, text: format!("{letter}: {text}") })
            };
            side.losses.iter().map(warn).collect()
        };
        first.blocks.splice(0..0, [(a, "A"), (b, "B")].into_iter().flat_map(of_side));
    }
    Ok(comparison)
}

/// Reports that the GPU report replaces.
const IN_GPU_REPORT: [&str; 2] = [analysis::gpu_breakdown::INFO.id, analysis::gpu_kernels::INFO.id];

/// Tables that split up what a side has anyway, by something that not every file records: those of a report, or all of it. A side
/// without one has not 0 of it.
const BREAKDOWNS: [(&str, Option<&str>); 4] = [
    (analysis::stack_functions::INFO.id, Some("files")),
    (analysis::stack_functions::INFO.id, Some("threads")),
    (analysis::memory_snapshot::INFO.id, Some("metadata")),
    (analysis::gpu_ops::INFO.id, None),
];

/// The only side that has such a table, if it is of [`BREAKDOWNS`].
fn only_side_of_breakdown(pair: [Option<&Report>; 2], report: &str, id: &str) -> Option<&'static str> {
    let is = |(of, table): &(&str, Option<&str>)| *of == report && table.is_none_or(|table| table == id);
    match pair.map(|report| tables_of(report, id).is_empty()) {
        [false, true] if BREAKDOWNS.iter().any(is) => Some("A"),
        [true, false] if BREAKDOWNS.iter().any(is) => Some("B"),
        _ => None,
    }
}

/// The id of the comparison of a report.
fn compared_id(id: &str) -> String {
    format!("compare-{id}")
}

/// Base of a table's id: if a report has several of a kind, those after the first end with a number.
fn base_id<'a>(id: &'a str, report: &Report) -> &'a str {
    match id.rsplit_once('_') {
        Some((base, number))
            if number.bytes().all(|byte| byte.is_ascii_digit())
                && report.tables().any(|table| table.id == base) =>
        {
            base
        }
        _ => id,
    }
}

/// The tables of a kind. The one without a number comes first, as its id becomes that of the comparison.
fn tables_of<'a>(report: Option<&'a Report>, id: &str) -> Vec<&'a Table> {
    let Some(report) = report else { return Vec::new() };
    let mut tables: Vec<&Table> = report.tables().filter(|table| base_id(&table.id, report) == id).collect();
    sort::by_key(&mut tables, |table| table.id != id);
    tables
}

/// The tables of a kind that are joined with each other: those on one thing, see [`tables::apart`]; `None`: all of them.
fn tables_on<'a>(report: Option<&'a Report>, id: &str, scope: Option<&str>) -> Vec<Cow<'a, Table>> {
    let all = tables_of(report, id);
    match scope {
        None => all.into_iter().map(Cow::Borrowed).collect(),
        Some(scope) => {
            tables::apart(&all).into_iter().filter(|(of, _)| of == scope).map(|(_, table)| table).collect()
        }
    }
}

/// What the tables of a kind are on, in order, with the sides that have it. One `None` if no side has several things.
fn scopes(pair: [Option<&Report>; 2], id: &str) -> Vec<(Option<String>, [bool; 2])> {
    let mut scopes: Vec<(Option<String>, [bool; 2])> = Vec::new();
    for (side, report) in pair.into_iter().enumerate() {
        for (of, _) in tables::apart(&tables_of(report, id)) {
            match scopes.iter_mut().find(|(known, _)| known.as_ref() == Some(&of)) {
                Some((_, is_in)) => is_in[side] = true,
                None => scopes.push((Some(of), [side == 0, side == 1])),
            }
        }
    }
    let n_of = |side: usize| scopes.iter().filter(|(_, is_in)| is_in[side]).count();
    if n_of(0) <= 1 && n_of(1) <= 1 { vec![(None, [true; 2])] } else { scopes }
}

/// The tables of a kind in each file of a side that has their report or could have it: a file of another format has not 0 of it.
fn in_each_file(side: &Digest, report: &str, id: &str, scope: Option<&str>) -> Repeats {
    let of_files: Vec<Vec<Cow<'_, Table>>> = if side.files.len() == 1 {
        vec![tables_on(side.report(report), id, scope)]
    } else if side.each.is_empty() {
        return Repeats::unknown(side.files.len());
    } else {
        let format = |facts: &Facts| facts.facts.iter().find(|fact| fact.id == "format").cloned();
        let formats = side.source.iter().map(format);
        let files =
            || side.each.iter().map(|file| file.iter().find(|of| of.id == report)).zip(formats.clone());
        let mut with_it: Vec<_> = files().filter(|(of, _)| of.is_some()).map(|(_, format)| format).collect();
        with_it.dedup();
        let files = files().filter(|(_, format)| with_it.contains(format));
        files.map(|(of_file, _)| tables_on(of_file, id, scope)).collect()
    };
    Repeats::new(&of_files)
}

/// Distinct base ids of the tables of a report on either side.
fn table_ids(pair: [Option<&Report>; 2]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for report in pair.into_iter().flatten() {
        for table in report.tables() {
            let id = base_id(&table.id, report);
            if !ids.iter().any(|known| known == id) {
                ids.push(id.to_string());
            }
        }
    }
    ids
}

/// Compares the tables of two reports of one kind.
fn general(like: &Report, pair: [Option<&Report>; 2], sides: [&Digest; 2], comparison: &mut Comparison) {
    let n_files = sides.map(|side| side.files.len());

    let ids = table_ids(pair);
    let mut report = Report::new("", like.title.clone());
    report.id = compared_id(&like.id).into();
    let mut all = Vec::new();
    for id in &ids {
        if let Some(only) = only_side_of_breakdown(pair, &like.id, id) {
            let what = pair.into_iter().find_map(|report| tables_of(report, id).first().copied());
            report.info(words::only_on_one_side(what, "", only));
            continue;
        }
        for (number, (scope, is_in)) in scopes(pair, id).into_iter().enumerate() {
            let scope = scope.as_deref();
            if let Some((only, of)) = (is_in != [true; 2]).then(|| (if is_in[0] { "A" } else { "B" }, scope))
            {
                let what = pair
                    .into_iter()
                    .flatten()
                    .find_map(|report| tables_of(Some(report), id).first().copied());
                report.info(words::only_on_one_side(what, of.unwrap_or_default(), only));
                continue;
            }
            let [a, b] = pair.map(|report| tables_on(report, id, scope));
            let each = match n_files {
                [1, 1] => Default::default(),
                _ => sides.map(|side| in_each_file(side, &like.id, id, scope)),
            };
            let Some(mut joined) = join(&by_ref(&a), &by_ref(&b), &each) else { continue };
            name(&mut joined.table, id, scope, number, &sides);
            all.push(joined);
        }
    }
    // What changed comes first: a trace may have nothing but asynchronous slices.
    let counts = |joined: &&Joined| !joined.totals.is_empty();
    let first = all.iter().find(counts);
    let changed = first
        .filter(|joined| joined.n_changed == 0)
        .and_then(|_| all.iter().filter(counts).find(|joined| joined.n_changed > 0));
    if let Some(first) = first {
        report.summary = words::summary(first);
        if let Some(changed) = changed {
            report.summary.push_str(&format!(" {}: {}", changed.table.title, words::summary(changed)));
        }
        let told = changed.unwrap_or(first);
        if let Some(warning) = words::unlike_groups(told.n_files_of(n_files), n_files) {
            report.warning(warning);
        }
        for warning in words::not_counted(&like.id, first) {
            report.warning(warning);
        }
        report.findings(words::findings(told, &report));
        if let Some(chart) = words::chart(told) {
            report.chart(chart);
        }
    }
    if report.summary.is_empty() {
        let of = |joined: &Joined| {
            let n_rows = counted(joined.n_rows.iter().sum(), "row", "rows");
            let differ = if joined.n_changed == 1 { "differs" } else { "differ" };
            let unknown = match joined.n_unknown {
                0 => String::new(),
                n if n == joined.n_rows.iter().sum::<u64>() => {
                    return format!(
                        "{}: not compared, as values of several files don't add up.",
                        joined.table.title
                    );
                }
                n => {
                    let are = if n == 1 { "is" } else { "are" };
                    format!("; {n} {are} not compared, as values of several files don't add up")
                }
            };
            format!("{}: {} of {n_rows} {differ}{unknown}.", joined.table.title, joined.n_changed)
        };
        report.summary =
            all.iter().filter(|joined| joined.table.n_rows() > 0).map(of).collect::<Vec<_>>().join(" ");
    }
    let is_said =
        |joined: &Joined| joined.unlike_units.is_empty() && joined.one_sided.iter().all(Vec::is_empty);
    if report.summary.is_empty() && !(report.blocks.is_empty() && all.iter().all(is_said)) {
        report.summary = "A and B have nothing in common to compare.".to_string();
    }
    for joined in all {
        let n_files = joined.n_files_of(n_files);
        add(joined, &like.id, n_files, &mut report, comparison);
    }
    if !report.blocks.is_empty() {
        comparison.reports.push(report);
    }
}

fn by_ref<'a>(tables: &'a [Cow<'_, Table>]) -> Vec<&'a Table> {
    tables.iter().map(|table| &**table).collect()
}

/// Names the comparison of tables of a kind on one thing, the one with that number, counted from 0. It has the title of one of them.
fn name(table: &mut Table, id: &str, scope: Option<&str>, number: usize, sides: &[&Digest]) {
    // Of several files, the title names one.
    let groups = sides.iter().filter(|side| side.files.len() > 1);
    let file = groups.flat_map(|side| &side.files).filter_map(|file| table.title.strip_suffix(file.as_str()));
    if let Some(title) = file.filter_map(|title| title.strip_suffix(": ")).min_by_key(|title| title.len()) {
        table.title = title.to_string();
    }
    let Some(scope) = scope else { return };
    table.id = analysis::several::numbered(id, number).into_owned().into();
    if scope.is_empty() || table.title.contains(scope) {
        return;
    }
    // The title may end with the first parts of it: `Functions by cycles, period` of `cycles, period, events`.
    let rest = scope.match_indices(", ").filter(|(at, _)| {
        let title = table.title.strip_suffix(&scope[..*at]);
        title.is_some_and(|title| title.ends_with(' '))
    });
    match rest.last() {
        Some((at, _)) => table.title.push_str(&scope[at..]),
        None => table.title = format!("{}: {scope}", table.title),
    }
}

fn shown(value: i128, unit: Unit) -> String {
    with_noun(format_integer(value, unit), value.unsigned_abs() == 1, unit)
}

/// Relative difference of B from A: `+20.0%`, `<0.1%`, `no change`, `from zero`; from tenfold on, the ratio: `12.5×`.
pub fn percent(a: f64, b: f64) -> String {
    if a == b {
        return "no change".to_string();
    }
    if a == 0.0 {
        return "from zero".to_string();
    }
    match b / a {
        // Percentages of this size are read as ratios anyway.
        ratio if ratio >= 100.0 => format!("{}×", group_decimal(ratio, 0)),
        ratio if ratio >= 10.0 => format!("{ratio:.1}×"),
        ratio if (ratio - 1.0).abs() < 0.0005 => "<0.1%".to_string(),
        _ => format!("{:+.1}%", 100.0 * (b - a) / a).replace('-', "−"),
    }
}

/// Measures for performance budgets: the column totals of a table; with several files, also the mean of the main one per file.
fn add_measures(
    table: &Table,
    totals: &[Total],
    n_files: [usize; 2],
    of_report: &str,
    out: &mut Vec<Measure>,
) {
    // In units of the column, not of 10^-places.
    let noise = |total: &Total| Some(total.by_file?.noise? / 10f64.powi(total.places as i32));
    let [n_a, n_b] = n_files.map(|n| n as f64);
    for total in totals {
        let Total { id, label, unit, a, b, .. } = total;
        out.push(Measure {
            id: format!("{of_report}.{}.{id}", table.id),
            what: format!("{label}, total of table {}", table.title),
            unit: *unit,
            a: total.scale().number(*a),
            b: total.scale().number(*b),
            // With equal numbers of files, the noise of the sums is that of one file times their number.
            noise: noise(total).filter(|_| n_a == n_b).map(|noise| noise * n_a),
        });
    }
    if let Some(total) = totals.first().filter(|_| n_files != [1, 1]) {
        let Total { id, label, unit, a, b, .. } = total;
        out.push(Measure {
            id: format!("{of_report}.{}.{id}{PER_FILE}", table.id),
            what: format!("{label} per file, mean of table {}", table.title),
            unit: *unit,
            a: total.scale().number(*a) / n_a.max(1.0),
            b: total.scale().number(*b) / n_b.max(1.0),
            noise: noise(total),
        });
    }
}

/// End of the ids of means per file.
const PER_FILE: &str = ".per_file";

/// Measures of a single side, as `a` of each measure; `b` is unused.
pub fn measures_of(side: &Digest) -> Vec<Measure> {
    let mut out = Vec::new();
    gpu::add_measures_of(side, &mut out);
    for report in side.reports.iter().filter(|report| !IN_GPU_REPORT.contains(&&*report.id)) {
        for id in table_ids([Some(report), None]) {
            for (number, (scope, _)) in scopes([Some(report), None], &id).iter().enumerate() {
                let scope = scope.as_deref();
                let each = match side.files.len() {
                    1 => Default::default(),
                    // The same for both, as noise needs two sides.
                    _ => [(), ()].map(|()| in_each_file(side, &report.id, &id, scope)),
                };
                let tables = tables_on(Some(report), &id, scope);
                if let Some(mut joined) = join(&by_ref(&tables), &[], &each) {
                    name(&mut joined.table, &id, scope, number, &[side]);
                    let n_files = joined.n_files_of([side.files.len(); 2]);
                    add_measures(&joined.table, &joined.totals, n_files, &report.id, &mut out);
                }
            }
        }
    }
    out
}

fn add(
    joined: Joined,
    of_report: &str,
    n_files: [usize; 2],
    report: &mut Report,
    comparison: &mut Comparison,
) {
    let Joined { mut table, totals, n_rows: [only_a, only_b, both], n_left_out, .. } = joined;
    let Joined { unlike_units, one_sided, .. } = joined;
    let has_rows = unlike_units.is_empty() && one_sided.iter().all(Vec::is_empty)
        || !table.columns.iter().all(|column| column.key || column.id == "change");
    for (label, [a, b]) in unlike_units {
        let (a, b) = (words::unit_name(a), words::unit_name(b));
        report.warning(match a == b {
            true => format!(
                "\u{201c}{label}\u{201d} is not compared: it is text in some tables, and a number in others."
            ),
            false => format!("\u{201c}{label}\u{201d} is not compared: A has it in {a}, B in {b}."),
        });
    }
    for (labels, side) in one_sided.iter().zip(["A", "B"]).filter(|(labels, _)| !labels.is_empty()) {
        report.info(words::recorded_on_one_side(&table, labels, side));
    }
    if !has_rows {
        return;
    }
    add_measures(&table, &totals, n_files, of_report, &mut comparison.measures);
    if !totals.is_empty() {
        report.table(totals_table(&table, &totals));
    }
    if n_left_out > 0 {
        report.warning(format!(
            "Input tables were truncated: {} missing from the next table and its totals.",
            counted(n_left_out, "row is", "rows are")
        ));
    }
    // Said of all rows, as filters may leave some.
    let rows = format!(
        "All rows: {} in both, {} only in A, {} only in B{}.",
        group_digits(both.into()),
        group_digits(only_a.into()),
        group_digits(only_b.into()),
        if totals.is_empty() { "" } else { "; largest changes first" }
    );
    table.caption = format!("{} {rows}", table.caption).trim().to_string();
    report.table(table);
}

/// Column totals of a table on both sides.
fn totals_table(table: &Table, totals: &[Total]) -> Table {
    use crate::report::{Column, Content};
    let text = |total: &Total, value: i128| total.scale().value(value).display(total.unit);
    let texts = |get: &dyn Fn(&Total) -> String| {
        let mut cells = crate::report::TextCells::default();
        totals.iter().for_each(|total| cells.push(Some(&get(total))));
        cells
    };
    // Units differ by row, so sums are given as text and as exact numbers in the smallest unit.
    let has_fractions = totals.iter().any(|total| total.places > 0);
    let numbers = |id: &'static str, label: &str, get: &dyn Fn(&Total) -> i128| match has_fractions {
        true => {
            let values = totals.iter().map(|total| Some(total.scale().number(get(total)))).collect();
            Column::float(id, label, Unit::Plain, values)
        }
        false => {
            let values = totals.iter().map(|total| Some(narrow(get(total)))).collect();
            Column::integer(id, label, Unit::Plain, values)
        }
    };
    Table::new(
        format!("{}_totals", table.id),
        format!("{}: totals", table.title),
        vec![
            Column::key("total", "total", Content::Plain, texts(&|total| total.label.clone())),
            Column::text("a_text", "A", Content::Plain, texts(&|total| text(total, total.a))),
            Column::text("b_text", "B", Content::Plain, texts(&|total| text(total, total.b))),
            Column::text(
                "difference_text",
                "B − A",
                Content::Plain,
                texts(&|total| total.scale().signed(total.difference())),
            ),
            Column::text("gained_text", "gained", Content::Plain, texts(&|total| text(total, total.gained)))
                .hint("sum of increases over rows"),
            Column::text("lost_text", "lost", Content::Plain, texts(&|total| text(total, total.lost)))
                .hint("sum of decreases over rows; gained − lost is the difference"),
            Column::float(
                "ratio",
                "B / A",
                Unit::Plain,
                totals.iter().map(|total| ratio(total.a, total.b)).collect(),
            ),
            numbers("a", "A, exact", &|total| total.a),
            numbers("b", "B, exact", &|total| total.b),
            numbers("difference", "B − A, exact", &Total::difference),
            numbers("gained", "gained, exact", &|total| total.gained),
            numbers("lost", "lost, exact", &|total| total.lost),
        ],
    )
    .caption(format!(
        "The rows of {} add up to these totals. Exact numbers are in nanoseconds, bytes, samples or counts.",
        table.title
    ))
}

/// Document for exports: the sources and parsing details of both sides, and the comparison.
pub fn document<'a>(a: &Digest, b: &Digest, comparison: &'a Comparison) -> Document<'a> {
    let mut source = Vec::new();
    let mut ledger = Report::new("ledger", "Parsing details");
    for (letter, side) in [("A", a), ("B", b)] {
        for facts in &side.source {
            source.push(Facts { title: format!("{letter}: {}", facts.title), facts: facts.facts.clone() });
        }
        for block in &side.ledger.blocks {
            let mut block = block.clone();
            match &mut block {
                crate::report::Block::Facts(facts) => facts.title = format!("{letter}: {}", facts.title),
                crate::report::Block::Table(table) => {
                    table.title = format!("{letter}: {}", table.title);
                    table.id = format!("{}_{}", table.id, letter.to_lowercase()).into();
                }
                crate::report::Block::Note(note) => note.text = format!("{letter}: {}", note.text),
                crate::report::Block::Chart(_) | crate::report::Block::Findings(_) => {}
            }
            ledger.blocks.push(block);
        }
    }
    Document { title: comparison.title.clone(), source, ledger, reports: &comparison.reports }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_say_once_what_tables_are_of_and_name_no_single_file() {
        let named = |title: &str, scope: Option<&str>, files: &[&str]| {
            let files = files.iter().map(|file| file.to_string()).collect();
            let side = Digest { files, ..Digest::default() };
            let mut table = Table::new("t", title, Vec::new());
            name(&mut table, "t", scope, 1, &[&side]);
            (table.title, table.id)
        };
        let title = |title: &str, scope| named(title, scope, &["a.txt"]).0;
        let scope = Some("cycles, period, events");
        assert_eq!(title("Functions by cycles, period", scope), "Functions by cycles, period, events");
        assert_eq!(title("Functions", scope), "Functions: cycles, period, events");
        assert_eq!(title("Functions by samples", Some("samples")), "Functions by samples");
        assert_eq!(named("Stacks", Some("GPU 1"), &["a"]), ("Stacks: GPU 1".to_string(), "t_2".into()));
        assert_eq!(named("Operators: a.json", None, &["a.json", "b.json"]).0, "Operators");
        assert_eq!(named("Operators: a.json", None, &["a.json"]).0, "Operators: a.json");
    }
}
