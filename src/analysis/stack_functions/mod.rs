//! Functions and files of stack profiles by self and total weight, and the threads.
//!
//! Weights of one kind are added over all threads. A total counts each stack once, however often a function recurs in it.

pub mod amounts;

use super::{AnalysisInfo, Context, Group, TableHandle, overview};
use crate::analysis::several::{self, numbered};
use crate::base::hash::{HashMap, HashSet};
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::{Unit, counted, format_ratio, group_digits};
use crate::report::{Column, Content, Facts, Report, Table, TextCells, Value};
use crate::stacks::{CallTree, FunctionSum, Weights, functions_in_order, is_pseudo_frame};
use crate::trace::Trace;
use crate::trace::labels::{numbered_thread, with_number};
use crate::trace::stack_profiles::{Amount, StackProfile, namesakes, nanoseconds_exponent};
use amounts::{Measure, is_of_time, ratio};
use std::borrow::Cow;

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "stack-functions",
    title: "Functions by stack",
    applies: |run| run.traces.iter().any(|trace| !trace.stack_profiles.is_empty()),
    run: report,
    group: Group::Summary,
    is_late: false,
};

/// Functions of the first weight; those of further ones end with a number.
pub const FUNCTIONS: TableHandle = TableHandle { report: &INFO, id: "functions" };

/// Unit of weights that are numbers only, as speedscope writes it.
pub const NO_UNIT: &str = "none";

/// Limit on kinds of weights with tables of their own; heap profiles of Go have four.
const MAX_DETAILED: usize = 16;
/// Limit on weights of the GPUs of a memory snapshot, which has eight for each.
const MAX_OF_GPUS: usize = 32;
/// Frames at which perf stops by default.
const PERF_LIMIT: u32 = 127;
/// Names of functions without one: those that perf has no symbol for, and those of other formats.
const UNKNOWN: [&str; 2] = ["[unknown]", "(unknown)"];
/// Share of self weight in functions without a name from which the report says so.
const MUCH_UNKNOWN: f64 = 0.1;
const SYMBOLS_ADVICE: &str =
    "Record where the programs' symbols are available, or let the profiler resolve them before saving.";

/// What is measured: profiles of one trace with the same event, measure and unit. GPUs of a memory snapshot are separate memories with
/// peaks at different moments, so each has weights of its own.
pub struct Weight<'a> {
    pub trace: &'a Trace,
    pub profiles: Vec<&'a StackProfile>,
    /// By profile: see [`namesakes`].
    namesakes: Vec<u32>,
    /// Name of the GPU, if several have weights of this kind; else [`StringId::NONE`].
    gpu: StringId,
    /// Another weight before it has the same name in comparisons, with another unit of time.
    is_in_other_unit: bool,
}

impl<'a> Weight<'a> {
    /// Time from the earliest start to the latest end; `None` without times, or in a unit that is no time.
    pub fn duration_ns(&self) -> Option<i64> {
        let mut span: Option<(Amount, Amount)> = None;
        let first = self.profiles[0].time_unit;
        for profile in self.profiles.iter().filter(|profile| profile.time_unit == first) {
            let Some((start, mut end)) = profile.span_of_file() else { continue };
            // The last sample can last longer than the file says.
            if profile.unit == profile.time_unit
                && let Some(last) = profile.len().checked_sub(1)
                && let Some((time, weight)) = profile.time_of(last).zip(profile.weight.get(last))
            {
                end = end.max(time.plus(weight));
            }
            span = Some(span.map_or((start, end), |(a, b)| (a.min(start), b.max(end))));
        }
        let (start, end) = span?;
        end.minus(start).nanoseconds(nanoseconds_exponent(self.text(first)?)?)
    }

    /// Whether samples have no times, so that they are in any range of time.
    fn has_untimed_samples(&self) -> bool {
        let strings = &self.trace.strings;
        self.profiles.iter().any(|profile| !profile.is_empty() && profile.time_exponent(strings).is_none())
    }

    /// All weights of a trace; the one that the file shows first comes first.
    pub fn all(trace: &'a Trace) -> Vec<Weight<'a>> {
        let mut weights: Vec<Weight<'a>> = Vec::new();
        let is_by_gpu = trace.memory_snapshot.as_ref().is_some_and(|it| it.has_several_devices());
        let mut number_of: HashMap<_, usize> = HashMap::default();
        let namesakes = namesakes(trace.stack_profiles.iter());
        for (profile, namesake) in trace.stack_profiles.iter().zip(namesakes) {
            let gpu = if is_by_gpu { profile.thread } else { StringId::NONE };
            let key = (profile.event, profile.measure, profile.unit, gpu);
            let number = *number_of.entry(key).or_insert_with(|| {
                let (profiles, namesakes) = (Vec::new(), Vec::new());
                weights.push(Weight { trace, profiles, namesakes, gpu, is_in_other_unit: false });
                weights.len() - 1
            });
            weights[number].profiles.push(profile);
            weights[number].namesakes.push(namesake);
        }
        sort::by_key(&mut weights, |weight| !weight.profiles.iter().any(|profile| profile.is_default));
        let mut names = HashSet::default();
        for weight in &mut weights {
            weight.is_in_other_unit = !names.insert((weight.compared_name(), weight.compared_unit()));
        }
        weights
    }

    /// The first weights of `n` kinds; of each kind those of all GPUs, up to 32 weights in all.
    pub fn of_first_kinds<'b>(
        weights: impl IntoIterator<Item = &'b Weight<'a>>,
        n: usize,
    ) -> impl Iterator<Item = &'b Weight<'a>>
    where
        'a: 'b,
    {
        let mut kinds: Vec<&Weight<'a>> = Vec::new();
        let is_of_first = move |weight: &&'b Weight<'a>| {
            let is_known = kinds.iter().any(|kind| kind.is_of_kind(weight));
            if !is_known && kinds.len() < n {
                kinds.push(*weight);
                return true;
            }
            is_known
        };
        weights.into_iter().filter(is_of_first).take(n.max(MAX_OF_GPUS))
    }

    /// Whether both are of one kind: the same of two GPUs, or the same.
    pub fn is_of_kind(&self, other: &Weight<'_>) -> bool {
        let key = |it: &Weight<'_>| {
            let first = it.profiles[0];
            (first.event, first.measure, first.unit)
        };
        std::ptr::eq(self.trace, other.trace) && key(self) == key(other)
    }

    /// Name of the GPU; `None` unless there are several.
    pub fn gpu(&self) -> Option<&'a str> {
        self.text(self.gpu)
    }

    fn text(&self, id: StringId) -> Option<&'a str> {
        self.trace.strings.get_opt(id).filter(|text| !text.is_empty())
    }

    pub fn unit(&self) -> &'a str {
        self.text(self.profiles[0].unit).unwrap_or(NO_UNIT)
    }

    /// GPU, event and measure, as far as there are any: `cycles, period`.
    pub fn name(&self) -> String {
        match self.gpu() {
            Some(gpu) => format!("{gpu}, {}", self.name_of_kind()),
            None => self.name_of_kind(),
        }
    }

    /// The name without the GPU.
    pub fn name_of_kind(&self) -> String {
        let first = self.profiles[0];
        let parts: Vec<&str> =
            [first.event, first.measure].into_iter().filter_map(|id| self.text(id)).collect();
        match parts[..] {
            [] if self.is_bare() => "weight".to_string(),
            [] => self.unit().to_string(),
            _ => parts.join(", "),
        }
    }

    /// Whether it is a number of nothing that the file names, such as `none` in speedscope.
    fn is_bare(&self) -> bool {
        let first = self.profiles[0];
        self.unit() == NO_UNIT && self.text(first.event).or(self.text(first.measure)).is_none()
    }

    /// The words behind "weights" that say which ones: `by bytes`, or `without a unit`.
    pub fn which(&self) -> String {
        if self.is_bare() { "without a unit".to_string() } else { format!("by {}", self.name_of_kind()) }
    }

    /// The unit for comparisons: times are all shown in the same one, whichever the file has.
    fn compared_unit(&self) -> &'a str {
        let unit = self.unit();
        if nanoseconds_exponent(unit).is_some() { "time" } else { unit }
    }

    /// The name for comparisons, the same in files with other units of time. Weights of one trace have different ones, as they are
    /// never added.
    pub fn compared_name(&self) -> String {
        let name = self.name();
        let name = if name == self.unit() { self.compared_unit().to_string() } else { name };
        if self.is_in_other_unit { format!("{name} ({})", self.unit()) } else { name }
    }

    pub fn threads(&self) -> Vec<Thread<'a>> {
        let mut threads: Vec<Thread<'a>> = Vec::new();
        let key = |profile: &StackProfile| {
            (profile.process_id, profile.thread_id, profile.thread, self.thread_name(profile))
        };
        let mut numbers = HashMap::default();
        for (profile, namesake) in self.profiles.iter().zip(&self.namesakes) {
            let number = *numbers.entry((key(profile), *namesake)).or_insert_with(|| {
                threads.push(Thread {
                    process: self.text(profile.process_id),
                    thread: self.text(profile.thread_id),
                    name: with_number(self.thread_name(profile), *namesake),
                    profiles: Vec::new(),
                });
                threads.len() - 1
            });
            threads[number].profiles.push(profile);
        }
        threads
    }

    /// Name of the thread, or of the profile where that is no measure.
    fn thread_name(&self, profile: &StackProfile) -> Option<&'a str> {
        // Measures of one name are numbered.
        let measure = self.text(profile.measure).unwrap_or_default();
        let is_measure = |name: &str| {
            measure.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
        };
        let name = self.text(profile.name).filter(|name| !is_measure(name));
        self.text(profile.thread).or(name)
    }
}

/// Samples of one thread.
pub struct Thread<'a> {
    process: Option<&'a str>,
    thread: Option<&'a str>,
    name: Option<Cow<'a, str>>,
    pub profiles: Vec<&'a StackProfile>,
}

impl Thread<'_> {
    /// Name and numbers, as far as they are known: `worker (thread 12, process 3)`.
    pub fn label(&self) -> String {
        numbered_thread(self.name.as_deref(), self.thread, self.process)
    }
}

fn report(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    let weights: Vec<Weight<'_>> = context.run.traces.iter().flat_map(Weight::all).collect();
    let with_stacks: Vec<_> =
        weights.iter().filter(|weight| weight.profiles.iter().any(|profile| !profile.is_empty())).collect();
    if with_stacks.is_empty() {
        let is_part = context.run.traces.iter().any(|trace| trace.part.is_some());
        report.summary = no_samples(is_part).to_string();
    }
    let detailed: Vec<_> = Weight::of_first_kinds(with_stacks.iter().copied(), MAX_DETAILED).collect();
    if with_stacks.len() > detailed.len() {
        report.warning(format!(
            "Only the first {} weights have tables; the file has {}.",
            detailed.len(),
            with_stacks.len()
        ));
    }
    let mut without = None;
    for (number, weight) in detailed.into_iter().enumerate() {
        let tree = CallTree::new(weight.trace, &weight.profiles);
        let n_before = report.blocks.len();
        match add_weight(&mut report, weight, &tree, number, weights.len() > 1, context.run.traces.len()) {
            Ok(headline) if report.summary.is_empty() => report.summary = headline,
            Ok(_) => {}
            Err(why) => without = without.or(Some(why)),
        }
        several::name_notes(&mut report, n_before, weight.trace, context.run.traces.len());
    }
    if report.summary.is_empty() {
        report.summary = without.unwrap_or_default();
    }
    // The overview, which has the metadata of traces, says nothing of files that are only profiles.
    if !overview::applies(context.run) {
        let traces = &context.run.traces;
        for (number, trace) in traces.iter().enumerate() {
            if let Some(mut table) = overview::metadata_table(trace) {
                table.id = numbered("metadata", number);
                table.title = several::titled(&table.title, trace, traces.len());
                report.table(table);
            }
        }
    }
    report
}

/// Adds facts and tables of a weight. Returns its [`headline`].
fn add_weight(
    report: &mut Report,
    weight: &Weight<'_>,
    tree: &CallTree,
    number: usize,
    is_one_of_many: bool,
    n_traces: usize,
) -> Result<String, String> {
    let strings = &weight.trace.strings;
    let measure = Measure::of(weight.unit(), tree.weights.places);
    let mut functions = tree.functions();
    functions_in_order(&mut functions, strings);
    let mut threads = weight.threads();
    if weight.trace.part.is_some() {
        threads.retain(|thread| thread.profiles.iter().any(|profile| !profile.is_empty()));
    }
    let name = weight.name();
    let titled = |what: &str| {
        let title = if is_one_of_many { format!("{what} by {name}") } else { what.to_string() };
        several::titled(&title, weight.trace, n_traces)
    };
    report.facts(facts(weight, tree, &measure, threads.len(), titled("Stacks")));
    let which = match is_one_of_many {
        true if weight.is_bare() => format!(" {}", weight.which()),
        true => format!(" by {name}"),
        false => String::new(),
    };
    warn(report, weight, tree, &functions, &which);
    let whole = tree.weights.total;
    let id = |name| numbered(name, number);
    // Weights of other kinds or units are never added to these.
    let scope = match (weight.compared_name(), weight.compared_unit()) {
        // The measure can be the unit: `cycles, samples`.
        (name, unit) if name.rsplit(", ").next() == Some(unit) || weight.is_bare() => name,
        (name, unit) => format!("{name}, {unit}"),
    };

    let texts = |ids: &dyn Fn(&FunctionSum) -> StringId| -> TextCells {
        functions.iter().map(|sum| strings.get_opt(ids(sum))).collect()
    };
    let mut columns = vec![
        Column::key("function", "function", Content::Symbol, texts(&|sum| sum.function.0)),
        Column::key("file", "file", Content::Path, texts(&|sum| sum.function.1))
            .hint("source file, or else the module (library, package)"),
    ];
    let sums = |self_weight: Vec<i128>, total: Vec<i128>| sum_columns(&measure, self_weight, total, whole);
    columns.extend(sums(
        functions.iter().map(|sum| sum.self_weight).collect(),
        functions.iter().map(|sum| sum.total).collect(),
    ));
    report.table(
        Table::new(id(FUNCTIONS.id), titled("Functions"), columns)
            .sorted_by("self", true)
            .caption("One row per function: a name in a file, or in a module.")
            .if_empty("No sample has a stack.")
            .of(&scope),
    );

    let files = tree.files(strings);
    if files.iter().any(|(file, ..)| !file.is_none()) {
        let names: TextCells = files.iter().map(|(file, ..)| strings.get_opt(*file)).collect();
        let mut columns = vec![
            Column::key("file", "file", Content::Path, names)
                .hint("source file, or else the module (library, package)"),
        ];
        columns.extend(sums(
            files.iter().map(|(_, self_weight, _)| *self_weight).collect(),
            files.iter().map(|(_, _, total)| *total).collect(),
        ));
        report.table(
            Table::new(id("files"), titled("Files"), columns)
                .sorted_by("self", true)
                .caption("A total counts a stack once, however many functions of the file are in it.")
                .of(&scope),
        );
    }
    if threads.len() > 1 {
        report.table(thread_table(id("threads"), titled("Threads"), &threads, &measure, tree).of(&scope));
    }
    headline(weight, tree, &functions, &measure, number > 0).map(|headline| match n_traces {
        1 => headline,
        _ => format!("{}: {headline}", weight.trace.source.file_name),
    })
}

fn no_samples(is_part: bool) -> &'static str {
    if is_part { "No samples in the chosen time range." } else { "The profile has no samples." }
}

/// The function with the most self weight; with `says_which`, by what weight. An error, in words, if none has any.
fn headline(
    weight: &Weight<'_>,
    tree: &CallTree,
    functions: &[FunctionSum],
    measure: &Measure,
    says_which: bool,
) -> Result<String, String> {
    let whole = tree.weights.total;
    let text = |id| weight.trace.strings.get_opt(id).unwrap_or_default();
    let is_pseudo =
        |sum: &&FunctionSum| text(sum.function.1).is_empty() && is_pseudo_frame(text(sum.function.0));
    let above = || functions.iter().take_while(|sum| sum.self_weight > 0);
    // Where nothing has weight above zero, as in freed memory alone, the most is what is furthest below.
    let below = || functions.iter().rev().take_while(|sum| sum.self_weight < 0);
    let first = above().find(|sum| !is_pseudo(sum)).or_else(|| above().next());
    let first = first.or_else(|| below().find(|sum| !is_pseudo(sum))).or_else(|| below().next());
    let Some(first) = first else {
        let n_samples = counted(tree.weights.n_samples, "sample", "samples");
        return Err(match tree.weights {
            Weights { n_samples: 0, .. } => no_samples(weight.trace.part.is_some()).to_string(),
            weights if weights.n_no_stack == weights.n_samples => format!("{n_samples}, none with a stack."),
            _ => format!("The weights of {n_samples} add up to 0."),
        });
    };
    let name = text(first.function.0);
    // A part of a sum of another sign is no share of it.
    let share = ratio(first.self_weight, whole).filter(|share| *share > 0.0);
    let share = share.map_or(String::new(), |share| format!("{} ", format_ratio(share)));
    // Other reports sum up all of them.
    let of_which = if tree.weights.no_stack != 0 { " with a stack" } else { "" };
    Ok(format!(
        "{} {}{}{}: {share}self ({} of {}{of_which}).",
        if name.is_empty() { "An unnamed function" } else { name },
        if is_of_time(measure.unit) && first.self_weight > 0 { "is hottest" } else { "has the most" },
        if says_which { format!(" by {}", weight.name_of_kind()) } else { String::new() },
        weight.gpu().map_or(String::new(), |gpu| format!(" on {gpu}")),
        measure.number(first.self_weight),
        measure.display(whole)
    ))
}

fn facts(weight: &Weight<'_>, tree: &CallTree, measure: &Measure, n_threads: usize, title: String) -> Facts {
    let sums = &tree.weights;
    let mut facts = Facts::new(title);
    facts
        .push("total", "Total", measure.value(sums.total), measure.unit)
        .hint("of the samples with a stack, over all threads");
    // The total has these units beside it.
    if !matches!(measure.unit, Unit::Samples | Unit::Bytes) {
        facts.push("unit", "Unit", weight.unit(), Unit::None).hint("as the file has it");
    }
    let is_count_of_records =
        measure.unit == Unit::Samples && measure.value(sums.total) == Value::Integer(sums.n_samples as i64);
    if !is_count_of_records {
        facts
            .push("samples", "Sample records", sums.n_samples, Unit::Count)
            .hint("a record can stand for many samples");
    }
    if sums.n_no_stack > 0 {
        facts.push("no_stack", "Samples without a stack", sums.n_no_stack, Unit::Count);
        facts
            .push("no_stack_weight", "Weight without a stack", measure.value(sums.no_stack), measure.unit)
            .hint("not in the total, nor in any share");
    }
    facts.push("threads", "Threads", n_threads as u64, Unit::Count);
    facts.push("functions", "Functions", tree.functions.len() as u64, Unit::Count);
    facts
        .push("frames", "Frames", tree.n_frames as u64, Unit::Count)
        .hint("code locations; a function can have several");
    facts
        .push("stacks", "Stacks", tree.len() as u64, Unit::Count)
        .hint("distinct call paths from the root, also those without self weight");
    facts.push("max_depth", "Deepest stack", u64::from(tree.max_depth), Unit::Count).hint("in frames");
    if weight.trace.part.is_some() && weight.has_untimed_samples() {
        facts
            .push("range", "Time range", "whole file (no times)", Unit::None)
            .hint("these samples have no times, so the chosen range leaves none of them out");
    } else if let Some(range) = weight.trace.part.and_then(|_| weight.trace.reported()) {
        facts
            .push("range", "Time range", overview::time_of(weight.trace, range), Unit::None)
            .hint("all numbers here are of this range only");
    }
    if let Some(ns) = weight.duration_ns() {
        facts
            .push("duration_ns", "Duration", ns, Unit::Ns)
            .hint("from the start to the end of the profile, as in the file; samples can start later");
    }
    facts
}

/// What can mislead in a profile; `which` are the weights, if there are several: ` by bytes`.
fn warn(report: &mut Report, weight: &Weight<'_>, tree: &CallTree, functions: &[FunctionSum], which: &str) {
    if functions.iter().any(|sum| sum.self_weight < 0) {
        report.warning(format!(
            "Some weights{which} are below zero, as in differences and freed memory. Shares are of the sum, so they can exceed 100%.",
        ));
    }
    let strings = &weight.trace.strings;
    let is_address =
        |sum: &&FunctionSum| strings.get_opt(sum.function.0).is_some_and(|name| name.starts_with("0x"));
    let n_addresses = functions.iter().filter(is_address).count();
    if n_addresses * 2 > functions.len() {
        report.info(format!(
            "{} of {} functions are addresses: the profile has no symbols for them. {SYMBOLS_ADVICE}",
            group_digits(n_addresses as i128),
            group_digits(functions.len() as i128)
        ));
    } else {
        let is_nameless = |sum: &&FunctionSum| {
            is_address(sum) || strings.get_opt(sum.function.0).is_none_or(|name| UNKNOWN.contains(&name))
        };
        let of_nameless = functions.iter().filter(is_nameless).map(|sum| sum.self_weight).sum();
        let share = ratio(of_nameless, tree.weights.total).filter(|share| *share >= MUCH_UNKNOWN);
        if let Some(share) = share {
            report.info(format!(
                "{} of self weight{which} is in functions without a name (unknown or an address): the profile has no symbols for \
                 them. {SYMBOLS_ADVICE}",
                format_ratio(share)
            ));
        }
    }
    // A limit of the recorder shows as many stacks that end at one depth.
    let n_ends: u64 = tree.n_self.iter().sum();
    let depths = tree.depths();
    let n_deepest: u64 =
        depths.iter().zip(&tree.n_self).filter(|(depth, _)| **depth == tree.max_depth).map(|(_, n)| n).sum();
    let is_limit =
        tree.max_depth == PERF_LIMIT && n_deepest > 1 || tree.max_depth > 20 && n_deepest * 2 > n_ends;
    if is_limit {
        report.info(format!(
            "{} of {} samples have {} frames, the most of all. The recorder may have cut deeper stacks there.",
            group_digits(n_deepest.into()),
            group_digits(n_ends.into()),
            tree.max_depth
        ));
    }
}

const SELF_HINT: &str = "of the samples in which this was executing (top of the stack)";
const TOTAL_HINT: &str = "of the samples in which this was anywhere on the stack; recursion counts once";
const SHARE_HINT: &str = "% of all samples with a stack";

/// Columns of self and total, each with its share.
fn sum_columns(measure: &Measure, self_weight: Vec<i128>, total: Vec<i128>, whole: i128) -> Vec<Column> {
    let shares = |sums: &[i128]| sums.iter().map(|sum| ratio(*sum, whole)).collect();
    vec![
        measure.column("self", "self", &self_weight).hint(SELF_HINT).with_bar().adds_up(),
        Column::float("self_share", "self %", Unit::Ratio, shares(&self_weight)).hint(SHARE_HINT),
        measure.column("total", "total", &total).hint(TOTAL_HINT).by_row(),
        Column::float("total_share", "total %", Unit::Ratio, shares(&total)).hint(SHARE_HINT),
    ]
}

fn thread_table(
    id: std::borrow::Cow<'static, str>,
    title: String,
    threads: &[Thread<'_>],
    measure: &Measure,
    tree: &CallTree,
) -> Table {
    let mut order: Vec<(i128, &Thread<'_>)> =
        threads.iter().map(|thread| (sum_of(&thread.profiles, tree), thread)).collect();
    sort::by_key(&mut order, |(sum, _)| std::cmp::Reverse(*sum));
    let texts = |text: &dyn Fn(&Thread<'_>) -> Option<String>| {
        let mut cells = TextCells::default();
        order.iter().for_each(|(_, thread)| cells.push(text(thread).as_deref()));
        cells
    };
    let sums: Vec<i128> = order.iter().map(|(sum, _)| *sum).collect();
    let n_samples =
        order.iter().map(|(_, thread)| thread.profiles.iter().map(|profile| profile.len() as u64).sum());
    Table::new(
        id,
        title,
        vec![
            Column::key(
                "thread",
                "thread",
                Content::Plain,
                texts(&|thread| thread.name.as_deref().map(str::to_string)),
            ),
            Column::key(
                "process_id",
                "process",
                Content::Plain,
                texts(&|thread| thread.process.map(str::to_string)),
            ),
            Column::key(
                "thread_id",
                "thread ID",
                Content::Plain,
                texts(&|thread| thread.thread.map(str::to_string)),
            ),
            measure.column("total", "total", &sums).hint("of the samples with a stack").with_bar().adds_up(),
            Column::float(
                "share",
                "total %",
                Unit::Ratio,
                sums.iter().map(|sum| ratio(*sum, tree.weights.total)).collect(),
            ),
            Column::counts("samples", "samples", Unit::Count, n_samples),
        ],
    )
    .sorted_by("total", true)
}

/// Weight of the samples with a stack, at the places of `tree`.
fn sum_of(profiles: &[&StackProfile], tree: &CallTree) -> i128 {
    let mut sum = 0i128;
    for profile in profiles {
        let factor = 10i128.pow(u32::from(tree.weights.places.saturating_sub(profile.weight.places())));
        for (row, stack) in profile.stack.iter().enumerate() {
            if *stack != crate::trace::samples::StackId::NONE {
                sum = sum.saturating_add(profile.weight.digits_at(row).unwrap_or(0).saturating_mul(factor));
            }
        }
    }
    sum
}
