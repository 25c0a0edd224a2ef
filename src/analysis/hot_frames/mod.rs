//! Hot spots of a sampled Python program by frame, function, line, file and package.
//!
//! Takes [`ProfileRun`]s; gives facts, inconsistencies and tables of counts for each run.
//! There is no call tree or timeline, because the counts come without stacks and timestamps.

mod findings;
pub mod places;
pub mod totals;

use super::{AnalysisInfo, Context, Group, TableHandle};
use crate::analysis::several::numbered;
use crate::base::sort;
use crate::base::strings::{StringId, StringTable};
use crate::base::units::{Unit, counted, format_ratio, group_digits};
use crate::report::{Cells, Column, Content, Facts, Report, Table, TextCells};
use crate::trace::Trace;
use crate::trace::profiles::ProfileRun;
use std::borrow::Cow;
use std::cmp::Reverse;
use totals::{FunctionKey, Total};

pub const INFO: AnalysisInfo = AnalysisInfo {
    id: "hot-frames",
    title: "Hot frames",
    applies: |run| run.traces.iter().any(|trace| !trace.profiles.is_empty()),
    run: report,
    group: Group::Summary,
    is_late: false,
};

/// Table that findings link to.
pub const FUNCTIONS: TableHandle = TableHandle { report: &INFO, id: "functions" };

/// Limit on runs with tables of their own; files typically contain one or a few.
const MAX_DETAILED_RUNS: usize = 64;

fn report(context: &Context<'_>) -> Report {
    let run = context.run;
    let mut report = Report::new(INFO.id, INFO.title);
    let all: Vec<(&Trace, &ProfileRun)> = run
        .traces
        .iter()
        .flat_map(|trace| trace.profiles.iter().map(move |profile| (trace, profile)))
        .collect();
    // Both the summary and a table use the functions.
    let functions: Vec<_> =
        all.iter().take(MAX_DETAILED_RUNS).map(|(_, profile)| totals::functions(profile)).collect();
    // The largest leads, numbered by its place in the file.
    let mut by_size: Vec<usize> = (0..functions.len()).collect();
    sort::by_key(&mut by_size, |number| Reverse(all[*number].1.samples()));
    let largest = by_size.first().map(|number| (all[*number], &functions[*number]));
    report.summary = match largest {
        Some(((trace, profile), functions)) if all.len() == 1 => headline(trace, profile, functions),
        Some(((trace, profile), functions)) => format!(
            "{} profiles. In the largest, {}: {}",
            group_digits(all.len() as i128),
            short_id(profile),
            headline(trace, profile, functions)
        ),
        None => "No profiles.".to_string(),
    };
    // What the file cannot show, before what it does.
    report.info(
        "The file has counts per code location, without stacks, threads or timestamps, so there is no flame graph, call tree \
         or timeline. To get those, run the profiler with --flamegraph or --gecko.",
    );
    if all.len() > MAX_DETAILED_RUNS {
        report.warning(format!(
            "Only the first {MAX_DETAILED_RUNS} profiles have detailed tables; the other {} are only listed. To see them, \
             split the file by run_id.",
            group_digits((all.len() - MAX_DETAILED_RUNS) as i128)
        ));
    }
    if all.len() > 1 {
        report.table(runs_table(&all));
    }
    for number in by_size {
        let ((trace, profile), functions) = (all[number], &functions[number]);
        let of = if all.len() > 1 { format!(" of {}", short_id(profile)) } else { String::new() };
        run_blocks(&mut report, trace, profile, functions, (number, &of));
    }
    report
}

/// One sentence: the hottest function.
fn headline(trace: &Trace, profile: &ProfileRun, functions: &[Total<FunctionKey>]) -> String {
    let samples = profile.whole();
    let hottest = functions.first().copied().filter(|total| total.self_samples > 0);
    let Some(hottest) = hottest else { return "The profile has no samples.".to_string() };
    let name = function_name(profile, hottest.first_row as usize, &trace.strings);
    let share = ratio(hottest.self_samples, samples).unwrap_or(0.0);
    format!(
        "{} is hottest: {} self ({} of {}{}).",
        name.as_deref().unwrap_or("An unnamed function"),
        format_ratio(share),
        group_digits(hottest.self_samples as i128),
        counted(samples as u64, "sample", "samples"),
        sampled(profile)
    )
}

/// Which samples the counts are of, where the mode leaves threads out: to follow "samples".
fn sampled(profile: &ProfileRun) -> &'static str {
    match profile.mode.as_deref() {
        Some("cpu") => " of threads on a CPU",
        Some("gil") => " of threads holding the GIL",
        Some("exception") => " of threads handling an exception",
        _ => "",
    }
}

fn short_id(profile: &ProfileRun) -> String {
    match &profile.run_id {
        id if id.is_empty() => "no id".to_string(),
        id => id.chars().take(8).collect(),
    }
}

/// The profiler's name of the mode, and what it samples.
fn mode_in_words(mode: Option<&str>) -> (String, &'static str) {
    let meaning = match mode {
        Some("wall") => "counts every thread sample, running or waiting",
        Some("cpu") => "counts only threads running on a CPU",
        Some("gil") => "counts only threads holding the GIL",
        Some("all") => "counts CPU, GIL and waiting samples together",
        Some("exception") => "counts only threads handling an exception",
        Some(_) => "unknown mode number from the profiler",
        None => "the file doesn't say which threads were sampled",
    };
    (mode.unwrap_or("not recorded").to_string(), meaning)
}

/// `count` samples as nanoseconds of thread time.
fn thread_time_ns(profile: &ProfileRun, count: u128) -> Option<u64> {
    let interval_ns = u128::from(profile.sample_interval_us?).checked_mul(1000)?;
    u64::try_from(count.checked_mul(interval_ns)?).ok()
}

/// `part / samples`; `None` if there are no samples, or if the part of a damaged file is larger.
fn ratio(part: u128, samples: u128) -> Option<f64> {
    (samples > 0 && part <= samples).then(|| part as f64 / samples as f64)
}

const THREAD_TIME_HINT: &str = "samples × interval, summed over all sampled threads, so it can exceed wall \
    time; assumes a constant sampling rate";

fn runs_table(all: &[(&Trace, &ProfileRun)]) -> Table {
    let texts = |text: &dyn Fn(&Trace, &ProfileRun) -> Option<String>| {
        let mut cells = TextCells::default();
        all.iter().for_each(|(trace, profile)| cells.push(text(trace, profile).as_deref()));
        cells
    };
    let counts = |count: &dyn Fn(&ProfileRun) -> Option<u64>| -> Vec<Option<u64>> {
        all.iter().map(|(_, profile)| count(profile)).collect()
    };
    let samples = counts(&|profile| u64::try_from(profile.samples()).ok());
    Table::new(
        "runs",
        "Profiles",
        vec![
            Column::key("run_id", "run", Content::Plain, texts(&|_, profile| Some(profile.run_id.clone()))),
            Column::key(
                "file",
                "file",
                Content::Path,
                texts(&|trace, _| Some(trace.source.file_name.clone())),
            ),
            Column::text("mode", "mode", Content::Plain, texts(&|_, profile| profile.mode.clone())),
            Column::unsigned(
                "interval_ns",
                "interval",
                Unit::Ns,
                counts(&|profile| profile.sample_interval_us?.checked_mul(1000)),
            ),
            Column::unsigned("samples", "samples", Unit::Samples, samples).with_bar(),
            Column::unsigned(
                "thread_time_ns",
                "thread time",
                Unit::Ns,
                counts(&|profile| thread_time_ns(profile, profile.samples())),
            )
            .hint(THREAD_TIME_HINT),
            Column::unsigned("frames", "frames", Unit::Count, counts(&|profile| Some(profile.n_frames()))),
            Column::bool(
                "complete",
                "complete",
                all.iter().map(|(_, profile)| Some(profile.complete)).collect(),
            )
            .hint("whether the profile finished cleanly, with a closing record"),
        ],
    )
    .caption("One row per profile, in file order.")
}

fn run_blocks(
    report: &mut Report,
    trace: &Trace,
    profile: &ProfileRun,
    functions: &[Total<FunctionKey>],
    (number, of): (usize, &str),
) {
    let files = totals::files(profile);
    let none = StringId::NONE;
    let n_functions = functions.iter().filter(|total| total.key != (none, none)).count();
    let n_files = files.iter().filter(|total| total.key != none).count();
    let id = |name| numbered(name, number);
    // With several profiles, each profile's findings precede its own tables.
    if let Some(findings) = findings::of(trace, profile, functions, &id(FUNCTIONS.id), of) {
        report.findings(findings);
    }
    report.facts(facts(profile, n_functions, n_files));
    for warning in warnings(profile) {
        report.warning(warning);
    }
    let view = ProfileTables { profile, strings: &trace.strings, whole: profile.whole() };
    report.table(view.functions(id(FUNCTIONS.id), format!("Functions{of}"), functions));
    report.table(view.frames(id("frames"), format!("Frames{of}")));
    report.table(view.lines(id("lines"), format!("Lines{of}")));
    report.table(view.files(id("files"), format!("Files{of}"), &files));
    report.table(view.packages(id("packages"), format!("Packages{of}")));
}

fn facts(profile: &ProfileRun, n_functions: usize, n_files: usize) -> Facts {
    let (mode, meaning) = mode_in_words(profile.mode.as_deref());
    let mut facts = Facts::new(format!("Run {} ({mode})", short_id(profile)));
    let samples = profile.samples();
    let origin = match (profile.end_samples_total, profile.agg_samples_total) {
        (Some(_), _) => "from the closing record",
        (None, Some(_)) => "from the last record of counts, as there is no usable closing record",
        (None, None) => "the sum of the self counts, as the file has no total",
    };
    facts
        .push("samples", "Samples", u64::try_from(samples).ok(), Unit::Samples)
        .hint(format!("thread stacks counted, {origin}; each profiler tick counts every sampled thread"));
    facts
        .push("thread_time_ns", "Thread time (estimate)", thread_time_ns(profile, samples), Unit::Ns)
        .hint(THREAD_TIME_HINT);
    facts.push("mode", "Mode", mode, Unit::None).hint(meaning);
    let interval_ns = profile.sample_interval_us.and_then(|interval| interval.checked_mul(1000));
    facts.push("interval_ns", "Interval", interval_ns, Unit::Ns).hint("requested time between two samples");
    facts
        .push("complete", "Complete", profile.complete, Unit::None)
        .hint("whether the profile finished cleanly, with a closing record");
    facts
        .push("frames", "Frames", profile.n_frames(), Unit::Count)
        .hint("code locations; a function can have several");
    facts.push("functions", "Functions", n_functions as u64, Unit::Count);
    facts.push("files", "Files", n_files as u64, Unit::Count);
    facts.push("run_id", "Run id", profile.run_id.as_str(), Unit::None).hint("differs between exports");
    facts
}

/// Warnings about misleading data, as sentences.
fn warnings(profile: &ProfileRun) -> Vec<String> {
    let n = |count: u64| group_digits(i128::from(count));
    let mut warnings = Vec::new();
    if profile.n_unsupported_version > 0 {
        warnings.push(format!(
            "The file is from a newer profiler. Skipped {} of unsupported format version {}; their content is missing here.",
            counted(profile.n_unsupported_version, "record", "records"),
            profile.unsupported_version.as_deref().unwrap_or("?")
        ));
    }
    if !profile.complete {
        warnings.push(
            "The profile has no closing record: the file is truncated or still being written.".to_string(),
        );
    }
    if !profile.has_meta {
        warnings.push("The profile has no usable header, so mode and interval are unknown.".to_string());
    }
    if profile.n_skipped_entries > 0 {
        warnings.push(format!(
            "Skipped {}.",
            counted(profile.n_skipped_entries, "damaged table entry", "damaged table entries")
        ));
    }
    if profile.n_counts_without_frame() > 0 {
        warnings.push(format!(
            "{} no description and appear by number.",
            counted(profile.n_counts_without_frame(), "frame with counts has", "frames with counts have")
        ));
    }
    if profile.n_frames_without_counts() > 0 {
        let frames = counted(profile.n_frames_without_counts(), "frame has", "frames have");
        warnings.push(format!("{frames} no counts and appear with 0."));
    }
    let checks = profile.checks();
    if let Some(sum) = checks.sum_self_differs {
        warnings.push(format!(
            "The self counts add up to {}, but the file reports {} samples. Percentages use the larger number.",
            group_digits(sum as i128),
            group_digits(profile.samples() as i128)
        ));
    }
    if let Some((agg, end)) = checks.totals_differ {
        warnings.push(format!(
            "The last record of counts reports {} samples, the closing record {}. Tracedrop uses the latter.",
            n(agg),
            n(end)
        ));
    }
    if checks.n_self_over_cumulative > 0 {
        warnings.push(format!(
            "{} more self than cumulative samples, which is impossible.",
            counted(checks.n_self_over_cumulative, "frame has", "frames have")
        ));
    }
    if checks.n_cumulative_over_total > 0 {
        warnings.push(format!(
            "{} more cumulative samples than the whole profile.",
            counted(checks.n_cumulative_over_total, "frame has", "frames have")
        ));
    }
    warnings
}

/// Display name of a frame's function; a frame without a description goes by its number.
fn function_name<'a>(profile: &ProfileRun, row: usize, strings: &'a StringTable) -> Option<Cow<'a, str>> {
    if !profile.frames.has_frame[row] {
        return Some(format!("frame {}", profile.frames.frame_id[row]).into());
    }
    strings.get_opt(profile.frames.func[row]).map(Cow::Borrowed)
}

/// Data shared by the tables of one run.
struct ProfileTables<'a> {
    profile: &'a ProfileRun,
    strings: &'a StringTable,
    /// Denominator of all shares, in samples.
    whole: u128,
}

const SELF_HINT: &str = "samples in which this was executing (top of the stack)";
const SHARE_HINT: &str = "% of all counted stacks";
const KIND_HINT: &str = "python: code with a source; native: compiled code; gc: the garbage collector; task: an \
    asyncio task, by name; start-up: the interpreter running a script or module, near 100% cumulative on the main \
    thread; unknown: not described in the file";
const EXACT_HINT: &str = "whether the cumulative count is exact; if not, several of these frames can share a \
    stack, and the count is a lower bound (≥)";

impl<'a> ProfileTables<'a> {
    fn names(&self, (path, func): FunctionKey) -> (Option<&'a str>, Option<&'a str>) {
        (self.strings.get_opt(path), self.strings.get_opt(func))
    }

    fn counts(&self, self_samples: &[u128]) -> [Column; 3] {
        let narrow = |count: &u128| u64::try_from(*count).ok();
        [
            Column::unsigned("self", "self", Unit::Samples, self_samples.iter().map(narrow).collect())
                .hint(SELF_HINT)
                .with_bar()
                .adds_up(),
            Column::float(
                "self_share",
                "self %",
                Unit::Ratio,
                self_samples.iter().map(|count| ratio(*count, self.whole)).collect(),
            )
            .hint(SHARE_HINT),
            Column::unsigned(
                "self_time_ns",
                "thread time",
                Unit::Ns,
                self_samples.iter().map(|count| thread_time_ns(self.profile, *count)).collect(),
            )
            .hint(THREAD_TIME_HINT)
            .adds_up(),
        ]
    }

    fn frames(&self, id: Cow<'static, str>, title: String) -> Table {
        let frames = &self.profile.frames;
        let rows: Vec<usize> =
            totals::rows_by_self(self.profile).into_iter().map(|row| row as usize).collect();
        let (mut functions, mut names) = (TextCells::default(), TextCells::default());
        let (mut spans, mut kinds, mut paths) =
            (TextCells::default(), TextCells::default(), TextCells::default());
        let mut span = String::new();
        for row in &rows {
            let (path, func) =
                (self.strings.get_opt(frames.path[*row]), self.strings.get_opt(frames.func[*row]));
            functions.push(function_name(self.profile, *row, self.strings).as_deref());
            names.push(path.map(places::display_name));
            spans.push(places::span(
                &mut span,
                frames.line.get(*row),
                frames.end_line.get(*row),
                frames.col.get(*row),
                frames.end_col.get(*row),
            ));
            kinds.push(Some(if frames.has_frame[*row] { places::kind(path, func) } else { "unknown" }));
            paths.push(path);
        }
        let cumulative = |row: &usize| u128::from(frames.cumulative[*row]);
        let self_samples: Vec<u128> = rows.iter().map(|row| u128::from(frames.self_samples[*row])).collect();
        let [self_count, self_share, self_time] = self.counts(&self_samples);
        Table::new(
            id,
            title,
            vec![
                Column::key("function", "function", Content::Symbol, functions).hint("qualified name"),
                Column::text("file", "file", Content::Path, names),
                Column::key("place", "place", Content::Plain, spans)
                    .hint("line:columns, or line–last line; columns are 0-based byte offsets, end exclusive"),
                self_count,
                self_share,
                Column::counts(
                    "cumulative",
                    "cumulative",
                    Unit::Samples,
                    rows.iter().map(|row| frames.cumulative[*row]),
                )
                .hint("samples in which this was on the stack; recursion counts once")
                .by_row(),
                Column::float(
                    "cumulative_share",
                    "cumulative %",
                    Unit::Ratio,
                    rows.iter().map(|row| ratio(cumulative(row), self.whole)).collect(),
                )
                .hint(SHARE_HINT),
                self_time,
                Column::text("kind", "kind", Content::Plain, kinds).hint(KIND_HINT),
                Column::key("path", "path", Content::Path, paths),
                Column::counts("frame_id", "frame", Unit::Id, rows.iter().map(|row| frames.frame_id[*row]))
                    .hint("frame number in the file"),
            ],
        )
        .sorted_by("self", true)
        .caption("One row per code location.")
        .if_empty("The profile has no frames.")
        // An extra line at the top of a file moves every frame below it, so profiles are compared by function and by line instead.
        .not_compared()
    }

    /// Columns that follow the names in every table of totals.
    fn totals<Key>(&self, totals: &[Total<Key>]) -> Vec<Column> {
        let self_samples: Vec<u128> = totals.iter().map(|total| total.self_samples).collect();
        let [self_count, self_share, self_time] = self.counts(&self_samples);
        vec![
            self_count,
            self_share,
            Column::unsigned(
                "cumulative_at_least",
                "cumulative (at least)",
                Unit::Samples,
                totals.iter().map(|total| u64::try_from(total.cumulative_at_least()).ok()).collect(),
            )
            .hint("samples in which any of its frames was on the stack; see “exact”")
            .by_row(),
            Column::float(
                "cumulative_share_at_least",
                "cumulative % (at least)",
                Unit::Ratio,
                totals.iter().map(|total| ratio(total.cumulative_at_least(), self.whole)).collect(),
            )
            .hint(SHARE_HINT),
            Column::bool(
                "cumulative_exact",
                "exact",
                totals.iter().map(|total| Some(total.is_exact(self.whole))).collect(),
            )
            .hint(EXACT_HINT)
            .exactness(),
            self_time,
            Column::counts("frames", "frames", Unit::Count, totals.iter().map(|total| total.n_frames)),
        ]
    }

    fn functions(&self, id: Cow<'static, str>, title: String, totals: &[Total<FunctionKey>]) -> Table {
        let names = || totals.iter().map(|total| self.names(total.key));
        let mut columns = vec![
            Column::key("function", "function", Content::Symbol, names().map(|(_, func)| func).collect())
                .hint("qualified name"),
            Column::text(
                "file",
                "file",
                Content::Path,
                names().map(|(path, _)| path.map(places::display_name)).collect(),
            ),
        ];
        columns.extend(self.totals(totals));
        columns.push(
            Column::text(
                "kind",
                "kind",
                Content::Plain,
                names().map(|(path, func)| places::kind(path, func)).collect(),
            )
            .hint(KIND_HINT),
        );
        columns.push(Column::key("path", "path", Content::Path, names().map(|(path, _)| path).collect()));
        Table::new(id, title, columns)
            .sorted_by("self", true)
            .caption("Sums over the frames with the same name and file.")
            .if_empty("The profile has no frames.")
    }

    fn lines(&self, id: Cow<'static, str>, title: String) -> Table {
        let totals = totals::lines(self.profile);
        let mut names = TextCells::default();
        let mut paths = TextCells::default();
        let mut functions = TextCells::default();
        for total in &totals {
            let path = self.strings.get_opt(total.key.0);
            names.push(path.map(places::display_name));
            paths.push(path);
            let function = function_name(self.profile, total.first_row as usize, self.strings);
            // Several frames without a description have no common name.
            functions.push(function.as_deref().filter(|_| total.key.1.is_some() || total.n_frames == 1));
        }
        let mut columns = vec![
            Column::text("file", "file", Content::Path, names),
            Column::new("line", "line", Unit::Id, Content::Plain, line_cells(&totals))
                .as_key()
                .hint("0: no source"),
            Column::text("function", "function", Content::Symbol, functions)
                .hint("function of the first frame on the line"),
        ];
        columns.extend(self.totals(&totals));
        columns.push(Column::key("path", "path", Content::Path, paths));
        Table::new(id, title, columns)
            .sorted_by("self", true)
            .caption("Sums over the frames that start on the same line.")
            .if_empty("The profile has no frames.")
    }

    fn files(&self, id: Cow<'static, str>, title: String, totals: &[Total<StringId>]) -> Table {
        let path = |total: &Total<_>| self.strings.get_opt(total.key);
        let mut columns = vec![Column::text(
            "file",
            "file",
            Content::Path,
            totals.iter().map(|t| path(t).map(places::display_name)).collect(),
        )];
        columns.extend(self.totals(totals));
        columns.push(Column::key("path", "path", Content::Path, totals.iter().map(path).collect()));
        Table::new(id, title, columns)
            .sorted_by("self", true)
            .caption("Sums over the frames of a file.")
            .if_empty("The profile has no frames.")
    }

    fn packages(&self, id: Cow<'static, str>, title: String) -> Table {
        let totals = totals::packages(self.profile, self.strings);
        let names = totals.iter().map(|total| total.key).collect();
        let mut columns = vec![Column::key("package", "package", Content::Plain, names)];
        columns.extend(self.totals(&totals));
        Table::new(id, title, columns)
            .sorted_by("self", true)
            .caption(
                "Derived from paths: packages in site-packages by name, the standard library as one row, other code by \
                 directory.",
            )
            .if_empty("The profile has no frames.")
    }
}

/// Line numbers of up to 64 bits; the column is unsigned if one needs all 64.
fn line_cells(totals: &[Total<totals::LineKey>]) -> Cells {
    let lines = || totals.iter().map(|total| total.key.1);
    if lines().flatten().any(|line| line > i128::from(i64::MAX)) {
        return Cells::Unsigned(lines().map(|line| line?.try_into().ok()).collect());
    }
    Cells::Integer(lines().map(|line| line?.try_into().ok()).collect())
}
