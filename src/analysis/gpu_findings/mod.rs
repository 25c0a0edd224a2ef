//! Findings in plain words, each derived from rows of the other reports: where the time goes, then what could be saved.
//!
//! A rule reads finished tables and reports only what they contain, so every finding has evidence and its numbers match the rows
//! it links to. Rules that need launches stay silent where too few launches were recorded.

mod idle;
mod ranks;
mod reader;
mod steps;
mod transfers;
mod work;

use super::ConclusionInfo;
use super::findings::{LEAST, consumers, opportunities};
use super::gpu::advice::Way;
use super::gpu::captures::captures_graphs;
use super::gpu::gaps::NO_DEVICE_RECORD;
use super::gpu::parts::NOT_RECORDED;
use super::gpu::stats::{SumNs, percent};
use super::gpu::{Lack, Tool};
use super::{gpu_breakdown, gpu_idle, gpu_ranks};
use crate::base::sort;
use crate::base::text::{capitalized, first_names};
use crate::base::units::counted;
use crate::report::of_file::file_of_title;
use crate::report::{Block, Facts, Finding, Findings, Report, Value};
use crate::trace::{Run, Trace};
use gpu_breakdown::ENOUGH;
use reader::{Reader, Row};

pub const INFO: ConclusionInfo = ConclusionInfo {
    id: "gpu-findings",
    title: "Findings",
    before: &[&gpu_ranks::INFO, &gpu_breakdown::INFO],
    run,
};

/// Minimum share of GPU time for a finding.
const WORTH: f64 = 0.02;

/// Files that a note names.
const MAX_NAMED: usize = 3;

/// Findings of other ranks of at least this share of the largest are not called smaller.
const ALIKE: f64 = 0.99;

/// Maximum number of findings of a kind.
const N_FINDINGS: usize = 12;

/// Input of a rule.
struct Evidence<'a> {
    reader: Reader<'a>,
    /// Time of all GPUs from their first kernel or copy to their last, in nanoseconds; above 0.
    time: i64,
    /// Whether idle time is only partly known, because launches without a device record may have run in gaps.
    idle_is_partial: bool,
    /// Whether the run has other ranks.
    is_one_of_several: bool,
    /// What recorded the trace.
    tool: Tool,
}

/// Appends the findings of one kind.
type Rule = fn(&Evidence<'_>, &mut Vec<Finding>);

/// Rules for idle time that could be saved.
const IDLE_RULES: &[Rule] = &[
    idle::waits_for_host,
    idle::waits_for_launches,
    idle::gaps_between_kernels,
    idle::waits_on_gpu,
    idle::unknown_launches,
    idle::unknown_clocks,
];

/// Rules for what else could be saved.
const RULES: &[Rule] = &[
    transfers::exposed_communication,
    transfers::uneven_collectives,
    transfers::exposed_copies,
    steps::slow_steps,
    work::far_from_roofline,
    work::unfused,
    work::few_blocks,
];

fn run(run: &Run, reports: &[Report]) -> Option<Report> {
    // As `Context::gpu` numbers them.
    let traces: Vec<&Trace> =
        run.traces.iter().filter(|trace| crate::analysis::gpu::is_of_gpu(trace)).collect();
    let n_traces = traces.len();
    // Findings with the number of their file.
    let mut largest: Vec<(usize, Finding)> = Vec::new();
    let mut gains: Vec<(usize, Finding)> = Vec::new();
    let mut are_all_ranks = true;
    let mut without_launches: Vec<String> = Vec::new();
    let mut any_ambiguous = false;
    let mut any_idle_unknown = false;
    let mut any_capture = false;
    // Largest share of a file.
    let mut idle = 0f64;
    let mut n_gpus = 0;
    let mut n_with_work = 0usize;
    for (number, trace) in traces.iter().enumerate() {
        let reader = Reader::new(reports, number);
        let Some(time) = reader.table(gpu_breakdown::BREAKDOWN).map(|table| table.sum("time")) else {
            continue;
        };
        if time <= 0 {
            continue;
        }
        n_with_work += 1;
        any_ambiguous |= reader.ambiguous_launches().is_some();
        n_gpus = n_gpus.max(reader.n_gpus());
        let idle_is_partial = reader
            .table(gpu_breakdown::BREAKDOWN)
            .is_some_and(|table| table.rows().any(|row| row.text("part") == NOT_RECORDED));
        any_idle_unknown |= idle_is_partial;
        let of_idle = reader.table(gpu_idle::IDLE).map_or(0, |table| {
            table
                .rows()
                .filter(|row| row.text("cause") != NO_DEVICE_RECORD)
                .filter_map(|row| row.integer("time"))
                .sum_ns()
        });
        idle = idle.max(of_idle as f64 / time as f64);
        if of_idle > 0 && !reader.knows_launches() {
            without_launches.push(name_of(reports, &trace.source.file_name));
        }
        let (is_one_of_several, tool) = (n_traces > 1, Tool::of(trace));
        let evidence = Evidence { reader, time, idle_is_partial, is_one_of_several, tool };
        let (mut spent, mut saved) = (Vec::new(), Vec::new());
        work::largest(&evidence, &mut spent);
        // While graphs are captured, nothing is meant to run.
        let is_capture = captures_graphs(trace);
        any_capture |= is_capture;
        let of_idle = if is_capture { &[] } else { IDLE_RULES };
        of_idle.iter().chain(RULES).for_each(|rule| rule(&evidence, &mut saved));
        if n_traces > 1 {
            let file = &trace.source.file_name;
            // As charts and the headline call it.
            let rank = ranks::rank_of(reports, file);
            are_all_ranks &= rank.is_some();
            let name = rank.unwrap_or_else(|| file.clone());
            let all = spent.iter_mut().chain(&mut saved);
            all.for_each(|finding| finding.text = format!("{name}: {}", finding.text));
        }
        largest.extend(spent.into_iter().map(|finding| (number, finding)));
        gains.extend(saved.into_iter().map(|finding| (number, finding)));
    }
    if n_with_work == 0 {
        return None;
    }
    let words = if are_all_ranks { ["other rank", "other ranks"] } else { ["other file", "other files"] };
    let mut largest = worst_of_each(largest, words);
    let mut gains = worst_of_each(gains, words);
    gains.extend(ranks::findings(reports));
    for findings in [&mut largest, &mut gains] {
        findings.retain(|finding| finding.share.is_none_or(|share| share >= LEAST));
        // Findings without a known gain come last.
        sort::by_key(findings, |finding| std::cmp::Reverse(finding.time));
        findings.truncate(N_FINDINGS);
    }
    let mut report = Report::new(INFO.id, INFO.title);
    // With several ranks, the chart covers all of them.
    let find = |id: &str| reports.iter().find(|report| report.id == id);
    let lead = find(gpu_ranks::INFO.id).or_else(|| find(gpu_breakdown::INFO.id))?;
    let waits = gains.iter().find(|finding| finding.id == idle::HOST_BOUND);
    report.summary = match waits.and_then(|finding| finding.share) {
        Some(share) if n_traces == 1 => with_wait(&lead.summary, share),
        _ => lead.summary.clone(),
    };
    // Warnings come before the numbers they qualify.
    for id in [gpu_ranks::INFO.id, gpu_breakdown::INFO.id] {
        for warning in find(id).iter().flat_map(|report| report.warnings()) {
            if !report.warnings().any(|own| own == warning) {
                report.warning(warning);
            }
        }
    }
    if let Some(chart) = lead.blocks.iter().find(|block| matches!(block, Block::Chart(_))) {
        report.blocks.push(chart.clone());
    }
    // Times of several GPUs add up to more than the trace lasts.
    let summed = match (n_gpus, n_traces) {
        (0 | 1, _) => String::new(),
        (n, 1) => format!(" Times are summed over {n} GPUs."),
        _ => " Times are summed over the GPUs of a file.".to_string(),
    };
    let mut opportunities = opportunities(gains);
    if !opportunities.findings.is_empty() {
        opportunities.caption.push_str(&summed);
    }
    if !largest.is_empty() {
        let mut consumers = consumers(largest);
        consumers.caption.push_str(&summed);
        report.findings(consumers);
    }
    report.findings(Findings {
        empty: if any_capture {
            "Nothing stands out. Idle time while graphs are captured is no opportunity.".to_string()
        } else if any_idle_unknown {
            "Nothing stands out, but idle time is unknown: no wait, gap, copy or communication that was recorded takes 2% of the \
             time."
                .to_string()
        } else if idle >= WORTH {
            format!(
                "Nothing stands out: no copy or communication takes 2% of the time, and idle time ({}) has no large known cause.",
                percent(idle)
            )
        } else {
            "Nothing stands out: no wait, gap, copy or communication takes 2% of the time.".to_string()
        },
        ..opportunities
    });
    if !without_launches.is_empty() {
        let known = if any_ambiguous { "known" } else { "recorded" };
        let of = match without_launches.len() == n_with_work {
            true => String::new(),
            false => format!(" of {}", first_names(&without_launches, MAX_NAMED)),
        };
        report.info(format!(
            "Most idle time{of} has no known cause, as the kernels after it have no {known} launch. See “Data available in this \
             trace” in GPU time."
        ));
    }
    if let Some(grade) = find(gpu_breakdown::INFO.id).and_then(|report| grade_of(report, reports, &traces)) {
        report.info(grade);
    }
    Some(report)
}

/// A summary that ends with the share of idle time, with that of waits for the host in it.
fn with_wait(summary: &str, share: f64) -> String {
    match summary.strip_suffix('.').filter(|summary| summary.contains("; idle ")) {
        Some(busy_and_idle) => format!("{busy_and_idle} ({} waiting for the host).", percent(share)),
        None => summary.to_string(),
    }
}

/// A file within a sentence: `rank 1`, or its name.
fn name_of(reports: &[Report], file: &str) -> String {
    ranks::rank_of(reports, file).map_or_else(|| file.to_string(), |rank| rank.to_lowercase())
}

/// Detail grades of the traces with a number each, from the GPU time report.
fn grades<'a>(report: &'a Report, traces: &[&Trace]) -> Vec<(usize, &'a str)> {
    let names: Vec<&str> = traces.iter().map(|trace| trace.source.file_name.as_str()).collect();
    let of_block = |block: &'a Block| {
        let Block::Facts(facts) = block else { return None };
        let grade = facts.facts.iter().find(|fact| fact.id == "grade")?;
        let Value::Text(letter) = &grade.value else { return None };
        let number = if names.len() == 1 { Some(0) } else { file_of_title(&facts.title, &names) };
        Some((number?, letter.as_str()))
    };
    report.blocks.iter().filter_map(of_block).collect()
}

/// The lowest detail grade and the data that its trace lacks, in a sentence.
fn grade_of(report: &Report, reports: &[Report], traces: &[&Trace]) -> Option<String> {
    let grades = grades(report, traces);
    let (number, letter) =
        *grades.iter().reduce(|lowest, other| if other.1 > lowest.1 { other } else { lowest })?;
    let n_better = grades.iter().filter(|(_, other)| *other != letter).count();
    let of = match n_better {
        0 => String::new(),
        n => {
            let lowest = grades.iter().filter(|(_, other)| *other == letter);
            let names: Vec<String> = lowest
                .filter_map(|(number, _)| Some(name_of(reports, &traces.get(*number)?.source.file_name)))
                .collect();
            let others = counted(n as u64, "other", "others");
            format!(" in {}, better in {others}", first_names(&names, MAX_NAMED))
        }
    };
    let tool = Tool::of(traces.get(number)?);
    let coverage = Reader::new(reports, number).table(gpu_breakdown::COVERAGE)?;
    // What such files never have is nothing that a better recording would bring.
    let is_never = |row: &Row<'_>| {
        row.flag("there") != Some(true)
            && Lack::of_name(&row.text("what")).is_some_and(|lack| tool.way(lack) == Way::Never)
    };
    let is_lacking = |row: &Row<'_>| {
        row.flag("there")
            .is_some_and(|there| !there || row.float("coverage").is_some_and(|share| share < ENOUGH))
    };
    let (never, other): (Vec<Row<'_>>, Vec<Row<'_>>) = coverage.rows().filter(is_lacking).partition(is_never);
    let never: Vec<String> = never.iter().map(|row| row.text("what")).collect();
    // Data that is partly there, by how much of what it covers, in the order of the table.
    let mut partly: Vec<(String, Vec<String>)> = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    let mut is_incomplete = false;
    for row in &other {
        let name = row.text("what");
        if name == gpu_breakdown::WHOLE_FILE {
            is_incomplete = true;
            continue;
        }
        let is_of_launches = Lack::of_name(&name) == Some(Lack::DeviceRecords);
        let Some(share) = row
            .float("coverage")
            .filter(|share| row.flag("there") == Some(true) || is_of_launches && *share > 0.0)
        else {
            let is_elsewhere = row.text("note") == gpu_breakdown::NO_FRAMES_AROUND;
            missing.push(if is_elsewhere { format!("{name} around launches") } else { name });
            continue;
        };
        let of = format!("{} of {}", percent(share), if is_of_launches { "launches" } else { "kernel time" });
        match partly.iter_mut().find(|(known, _)| *known == of) {
            Some((_, names)) => names.push(name),
            None => partly.push((of, vec![name])),
        }
    }
    let mut text = format!("Trace detail: {letter} (of A–D){of}.");
    let mut lacks: Vec<String> =
        partly.iter().map(|(of, names)| format!("{} cover only {of}", enumerated(names, "and"))).collect();
    let in_file = "parts of the file";
    match (lacks.is_empty(), missing.is_empty() && !is_incomplete) {
        (true, true) if never.is_empty() => text.push_str(" Nothing missing."),
        (true, true) => {}
        (true, false) => {
            missing.extend(is_incomplete.then(|| in_file.to_string()));
            text.push_str(&format!(" Missing: {}.", missing.join(", ")));
        }
        (false, _) => {
            if !missing.is_empty() {
                lacks.push(format!("no {}", enumerated(&missing, "or")));
            }
            if is_incomplete {
                lacks.push(format!("{in_file} are missing"));
            }
            text.push_str(&format!(" {}.", capitalized(&lacks.join("; "))));
        }
    }
    if !never.is_empty() {
        text.push_str(&format!(" {}: {}.", tool.not_in_files(), never.join(", ")));
    }
    // Of a file that is cut, and of what was recorded elsewhere, nothing says how.
    let is_told = |row: &Row<'_>| {
        row.text("what") != gpu_breakdown::WHOLE_FILE && row.text("note") != gpu_breakdown::NO_FRAMES_AROUND
    };
    if other.iter().any(is_told) {
        text.push_str(" See “Data available in this trace” in GPU time for how to record it.");
    }
    Some(text)
}

/// `launches, operators and steps`.
fn enumerated(names: &[String], word: &str) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} {word} {last}", first.join(", ")),
    }
}

/// Key that findings of several files share: the kind; for operations and operators, which a file may have several of, also their
/// rows and types.
fn key(finding: &Finding) -> (&str, &str, String) {
    let is_one_of_several = [work::LARGEST_OPERATION, work::FAR_FROM_ROOFLINE].contains(&finding.id.as_str());
    let rows = finding.rows.as_ref().filter(|_| is_one_of_several);
    let types = finding.evidence.iter().find(|fact| fact.id == "types" && is_one_of_several);
    let types = types.map_or(String::new(), |fact| fact.value.plain());
    (&finding.id, rows.map_or("", |rows| &rows.filter), types)
}

/// A finding with its file, and the files and times of the same one elsewhere.
type Shared = (usize, Finding, Vec<(usize, Option<i64>)>);

/// The largest of findings that several files share, with the number of others in `words` (of one, of several). Findings come with
/// the number of their file.
fn worst_of_each(mut findings: Vec<(usize, Finding)>, words: [&str; 2]) -> Vec<Finding> {
    sort::by_key(&mut findings, |(_, finding)| std::cmp::Reverse(finding.time));
    let mut kept: Vec<Shared> = Vec::new();
    for (file, finding) in findings {
        let is_same = |(first, known, others): &&mut Shared| {
            let is_of_other_file = *first != file && others.iter().all(|(other, _)| *other != file);
            is_of_other_file && key(known) == key(&finding)
        };
        match kept.iter_mut().find(is_same) {
            Some((.., others)) => others.push((file, finding.time)),
            None => kept.push((file, finding, Vec::new())),
        }
    }
    let with_others = |(_, mut finding, others): Shared| {
        if !others.is_empty() {
            let n = counted(others.len() as u64, words[0], words[1]);
            let times: Vec<Option<i64>> = others.into_iter().map(|(_, time)| time).collect();
            finding.text.push_str(&format!(" Also in {n}{}.", in_others(finding.time, &times)));
        }
        finding
    };
    kept.into_iter().map(with_others).collect()
}

/// Clause on how large a finding is in other ranks, next to the largest. Empty if that is unknown.
fn in_others(largest: Option<i64>, others: &[Option<i64>]) -> &'static str {
    let Some(largest) = largest else { return "" };
    let is_alike = |time: &Option<i64>| time.is_some_and(|time| time as f64 >= ALIKE * largest as f64);
    match others.iter().filter(|time| is_alike(time)).count() {
        0 => ", smaller",
        n if n == others.len() => ", about as large",
        _ => ", not larger",
    }
}

impl Evidence<'_> {
    /// Share of all GPU time; 0 if negative.
    fn share(&self, ns: i64) -> f64 {
        ns.max(0) as f64 / self.time as f64
    }

    fn is_worth_saying(&self, ns: i64) -> bool {
        self.share(ns) >= WORTH
    }

    /// Share of all GPU time that the GPU was idle, as text: `8.5%`, or `at least 8.5%` where more may have been idle.
    fn idle_share(&self, ns: i64) -> String {
        format!("{}{}", self.at_least(), percent(self.share(ns)))
    }

    /// `at least ` before idle times, if they are only partly known.
    fn at_least(&self) -> &'static str {
        if self.idle_is_partial { "at least " } else { "" }
    }

    /// See [`Reader::knows_launches`].
    fn knows_launches(&self) -> bool {
        self.reader.knows_launches()
    }

    /// Finding with an upper bound of `time` nanoseconds.
    fn finding(&self, id: &str, text: String, time: Option<i64>) -> Finding {
        let share = time.map(|ns| self.share(ns));
        Finding { id: id.to_string(), text, time, share, evidence: Vec::new(), rows: None }
    }
}

/// Adds the evidence to a finding.
fn with_facts(mut finding: Finding, facts: Facts) -> Finding {
    finding.evidence = facts.facts;
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::RowsOf;

    #[test]
    fn of_several_traces_the_worst_is_kept() {
        let finding = |id: &str, time| Finding {
            id: id.to_string(),
            text: format!("{time}"),
            time: Some(time),
            share: None,
            evidence: Vec::new(),
            rows: None,
        };
        let findings =
            vec![(0, finding("a", 1)), (0, finding("b", 5)), (1, finding("a", 3)), (2, finding("a", 2))];
        let words = ["other rank", "other ranks"];
        let texts =
            |findings| worst_of_each(findings, words).into_iter().map(|it| it.text).collect::<Vec<_>>();
        assert_eq!(texts(findings), ["5", "3 Also in 2 other ranks, smaller."]);
        // One file has two operators far from the roofline, the other has one of them.
        let far = |time, filter: &str| Finding {
            rows: Some(RowsOf {
                filter: filter.to_string(),
                report: String::new(),
                table: String::new(),
                label: String::new(),
            }),
            ..finding(work::FAR_FROM_ROOFLINE, time)
        };
        let findings = vec![(0, far(5, "a")), (0, far(4, "b")), (1, far(6, "b"))];
        assert_eq!(texts(findings), ["6 Also in 1 other rank, smaller.", "5"]);
        let of = |times: &[i64]| in_others(Some(1000), &times.iter().map(|ns| Some(*ns)).collect::<Vec<_>>());
        assert_eq!(of(&[1000, 995]), ", about as large");
        assert_eq!(of(&[1000, 500]), ", not larger");
        assert_eq!(of(&[989]), ", smaller");
        assert_eq!(in_others(None, &[None]), "");
    }
}
