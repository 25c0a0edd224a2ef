//! Rows of a dataset by run: ranks, steps, and the medians over ranks.

use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::trace::fleet::{FileRow, FleetRows, StepRow};
use crate::trace::{Run, Trace};
use std::collections::{BTreeMap, BTreeSet};

/// Time of a step that is compared between ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    GpuTime,
    Computation,
}

impl Measure {
    pub const ALL: [Measure; 2] = [Measure::GpuTime, Measure::Computation];

    fn of(self, row: &StepRow) -> Option<i64> {
        match self {
            Measure::GpuTime => Some(row.gpu_time),
            Measure::Computation => row.computation,
        }
    }
}

/// A run.
#[derive(Default)]
pub struct RunOfFleet<'a> {
    /// `None` if the name of the folder does not tell.
    pub name: Option<&'a str>,
    /// Files that cannot be read come last, others by rank and GPU.
    pub ranks: Vec<RankOfRun<'a>>,
    pub steps: Vec<StepOfRun<'a>>,
    pub has_files: bool,
    /// Steps of parts without files.
    pub n_interrupted: u64,
    /// Steps that may be of several files.
    pub n_ambiguous: u64,
}

/// What makes a rank one, however many GPUs and files it has: its number, or else the name of its file.
type RankKey<'a> = Result<i64, Option<&'a str>>;

/// A GPU of a rank, or a file without steps.
pub struct RankOfRun<'a> {
    pub rank: Option<i64>,
    /// GPU; `None` without steps.
    pub device: Option<&'a str>,
    pub file: Option<FileOf<'a>>,
    /// Steps, with their index in [`RunOfFleet::steps`].
    pub steps: Vec<(usize, &'a StepRow)>,
    /// Sums over its steps, and of the medians of the same steps, by [`Measure`].
    sums: [Option<(i64, f64)>; 2],
}

/// What the dataset says about a file.
#[derive(Clone, Copy)]
pub struct FileOf<'a> {
    pub file: Option<&'a str>,
    pub host: Option<&'a str>,
    pub grade: Option<&'a str>,
    pub error: Option<&'a str>,
}

/// A step of all ranks.
pub struct StepOfRun<'a> {
    pub name: &'a str,
    pub phase: Option<&'a str>,
    pub n_ranks: u64,
    /// By [`Measure`]; `None` without values.
    medians: [Option<f64>; 2],
    /// Longest GPU time, and the rank that has it; `None` if several do.
    pub max: i64,
    pub slowest: Option<String>,
}

impl StepOfRun<'_> {
    pub fn median(&self, measure: Measure) -> Option<f64> {
        self.medians[measure as usize]
    }
}

/// A row with the trace whose texts it has.
type StepOfPart<'a> = (&'a Trace, &'a StepRow);

impl<'a> RunOfFleet<'a> {
    pub fn label(&self) -> String {
        self.name.map_or("unknown run".to_string(), |name| format!("run {name}"))
    }

    /// Ranks that can be read, each once however many GPUs and files it has.
    pub fn n_ranks(&self) -> usize {
        n_ranks(self.ranks.iter().filter(|rank| rank.is_readable()))
    }

    /// Whether a rank has steps on several GPUs.
    pub fn has_several_devices(&self) -> bool {
        has_several_devices(&self.ranks)
    }

    /// How far the step of a rank is above the median of ranks: 0.1 is 10%. `None` if unknown.
    pub fn over_median(&self, measure: Measure, (step, row): (usize, &StepRow)) -> Option<f64> {
        let median = self.steps.get(step)?.median(measure).filter(|median| *median > 0.0)?;
        Some(measure.of(row)? as f64 / median - 1.0)
    }
}

/// Number of ranks, each once however many GPUs and files it has.
pub fn n_ranks<'b, 'a: 'b>(ranks: impl Iterator<Item = &'b RankOfRun<'a>>) -> usize {
    ranks.map(RankOfRun::key).collect::<BTreeSet<_>>().len()
}

fn has_several_devices(ranks: &[RankOfRun<'_>]) -> bool {
    let mut seen = BTreeSet::new();
    ranks.iter().filter(|rank| rank.device.is_some()).any(|rank| !seen.insert(rank.rank))
}

/// Name of the one rank that has all of these GPUs, with the GPU if it is one of several; `None` if they are of several ranks.
pub fn label_of_one(ranks: &[&RankOfRun<'_>], has_several_devices: bool) -> Option<String> {
    let (first, others) = ranks.split_first()?;
    match others.iter().all(|other| other.key() == first.key()) {
        true => Some(first.label(has_several_devices && others.is_empty())),
        false => None,
    }
}

impl<'a> RankOfRun<'a> {
    fn key(&self) -> RankKey<'a> {
        self.rank.ok_or(self.file.and_then(|file| file.file))
    }

    pub fn is_readable(&self) -> bool {
        self.file.is_none_or(|file| file.error.is_none())
    }

    /// Name, with the GPU if wanted.
    pub fn label(&self, with_device: bool) -> String {
        let rank = match (self.rank, self.file.and_then(|file| file.file)) {
            (Some(rank), _) => format!("rank {rank}"),
            (None, Some(file)) => file.to_string(),
            (None, None) => "unknown rank".to_string(),
        };
        match self.device.filter(|_| with_device) {
            Some(device) => format!("{rank}, {device}"),
            None => rank,
        }
    }

    /// Sum over its steps; `None` if a step has no value, or without steps.
    pub fn sum(&self, get: impl Fn(&StepRow) -> Option<i64>) -> Option<i64> {
        let values = self.steps.iter().map(|(_, row)| get(row));
        let sum = values.reduce(|sum, value| Some(sum?.saturating_add(value?)))?;
        sum.filter(|_| !self.steps.is_empty())
    }

    /// How far its steps are above the medians of the same steps, in sum.
    pub fn over_median(&self, measure: Measure) -> Option<f64> {
        let (sum, medians) = self.sums[measure as usize]?;
        (medians > 0.0).then(|| sum as f64 / medians - 1.0)
    }
}

/// Rows of one run, before they are joined.
#[derive(Default)]
struct Rows<'a> {
    files: Vec<(&'a Trace, &'a FileRow)>,
    /// Names of the parts with files.
    parts: BTreeSet<&'a str>,
    has_files: bool,
    /// With the name of their part.
    steps: Vec<(&'a Trace, &'a str, &'a StepRow)>,
}

/// Runs of the dataset, by name.
pub fn of(run: &Run) -> Vec<RunOfFleet<'_>> {
    let mut by_run: BTreeMap<Option<&str>, Rows<'_>> = BTreeMap::new();
    for trace in &run.traces {
        let Some(part) = &trace.fleet else { continue };
        let name = trace.strings.get_opt(part.name).unwrap_or_default();
        let run = trace.strings.get_opt(part.run);
        match &part.rows {
            FleetRows::Files(files) => {
                let rows = by_run.entry(run).or_default();
                rows.has_files = true;
                rows.parts.insert(name);
                rows.files.extend(files.iter().map(|row| (trace, row)));
            }
            FleetRows::Steps(steps) => {
                let rows = by_run.entry(run).or_default();
                rows.steps.extend(steps.iter().map(|row| (trace, name, row)));
            }
            FleetRows::Runs(_) | FleetRows::NotRead => {}
        }
    }
    by_run.into_iter().map(|(name, rows)| joined(name, rows)).collect()
}

fn joined<'a>(name: Option<&'a str>, rows: Rows<'a>) -> RunOfFleet<'a> {
    let Rows { files, parts, has_files, steps } = rows;
    let mut run = RunOfFleet { name, has_files, ..RunOfFleet::default() };
    // Files by rank, to find those of its steps.
    let mut by_rank: BTreeMap<Option<i64>, Vec<FileOf<'a>>> = BTreeMap::new();
    let mut unreadable = Vec::new();
    for (trace, row) in files {
        let text = |id: StringId| trace.strings.get_opt(id);
        let file = FileOf {
            file: text(row.file),
            host: text(row.host),
            grade: text(row.grade),
            error: text(row.error),
        };
        match file.error {
            Some(_) => unreadable.push((row.rank, file)),
            None => by_rank.entry(row.rank).or_default().push(file),
        }
    }
    let mut by_device: BTreeMap<(Option<i64>, &str), Vec<StepOfPart<'_>>> = BTreeMap::new();
    for (trace, part, row) in steps {
        if has_files && !parts.contains(part) {
            run.n_interrupted += 1;
        } else if by_rank.get(&row.rank).is_some_and(|files| files.len() > 1) {
            run.n_ambiguous += 1;
        } else {
            let device = trace.strings.get_opt(row.device).unwrap_or_default();
            by_device.entry((row.rank, device)).or_default().push((trace, row));
        }
    }
    let mut columns = Columns::default();
    for ((rank, device), mut rows) in by_device {
        sort::by_key(&mut rows, |(_, row)| row.start);
        let mut n_of_name: HashMap<&str, usize> = HashMap::default();
        let steps = rows.into_iter().map(|(trace, row)| {
            let name = trace.strings.get(row.step);
            let number = n_of_name.entry(name).or_default();
            *number += 1;
            (columns.number(name, *number, trace.strings.get_opt(row.phase), row), row)
        });
        let steps = steps.collect();
        let file = by_rank.get(&rank).and_then(|files| files.first()).copied();
        run.ranks.push(RankOfRun { rank, device: Some(device), file, steps, sums: [None; 2] });
    }
    let with_steps: BTreeSet<Option<i64>> = run.ranks.iter().map(|rank| rank.rank).collect();
    let without = by_rank.into_iter().filter(|(rank, _)| !with_steps.contains(rank));
    let without = without.flat_map(|(rank, files)| files.into_iter().map(move |file| (rank, file)));
    let bare =
        |(rank, file)| RankOfRun { rank, device: None, file: Some(file), steps: Vec::new(), sums: [None; 2] };
    run.ranks.extend(without.map(bare));
    sort::by_key(&mut run.ranks, |rank| (rank.rank.is_none(), rank.rank));
    run.ranks.extend(unreadable.into_iter().map(bare));
    columns.into_order(&mut run);
    measure(&mut run);
    run
}

/// Steps in order of first appearance.
#[derive(Default)]
struct Columns<'a> {
    /// By name, and the how-manieth step of that name of a rank it is.
    numbers: HashMap<(&'a str, usize), usize>,
    steps: Vec<(StepOfRun<'a>, Option<i64>)>,
}

impl<'a> Columns<'a> {
    fn number(&mut self, name: &'a str, of_name: usize, phase: Option<&'a str>, row: &StepRow) -> usize {
        let next = self.steps.len();
        let number = *self.numbers.entry((name, of_name)).or_insert(next);
        if number == next {
            let step = StepOfRun { name, phase, n_ranks: 0, medians: [None; 2], max: 0, slowest: None };
            self.steps.push((step, row.start));
        }
        if let Some((_, start)) = self.steps.get_mut(number) {
            *start = [*start, row.start].into_iter().flatten().min();
        }
        number
    }

    /// Orders steps by the number in their names (`ProfilerStep#12`) if all have one of their own, else by first start.
    fn into_order(self, run: &mut RunOfFleet<'a>) {
        let mut order: Vec<usize> = (0..self.steps.len()).collect();
        let named: Vec<Option<u64>> = self.steps.iter().map(|(step, _)| number_at_end(step.name)).collect();
        let distinct: BTreeSet<u64> = named.iter().flatten().copied().collect();
        if distinct.len() == self.steps.len() {
            sort::by_key(&mut order, |step| named[*step]);
        } else {
            sort::by_key(&mut order, |step| (self.steps[*step].1, *step));
        }
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, step)| place[*step] = at);
        let mut steps: Vec<(usize, StepOfRun<'a>)> =
            self.steps.into_iter().enumerate().map(|(number, (step, _))| (place[number], step)).collect();
        sort::by_key(&mut steps, |(at, _)| *at);
        run.steps = steps.into_iter().map(|(_, step)| step).collect();
        for rank in &mut run.ranks {
            rank.steps.iter_mut().for_each(|(step, _)| *step = place[*step]);
            sort::by_key(&mut rank.steps, |(step, _)| *step);
        }
    }
}

fn number_at_end(name: &str) -> Option<u64> {
    let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    name[stem.len()..].parse().ok()
}

/// Computes medians, slowest ranks and sums.
fn measure(run: &mut RunOfFleet<'_>) {
    let mut by_step: Vec<Vec<(usize, &StepRow)>> = vec![Vec::new(); run.steps.len()];
    for (number, rank) in run.ranks.iter().enumerate() {
        rank.steps.iter().for_each(|(step, row)| by_step[*step].push((number, row)));
    }
    let has_several_devices = has_several_devices(&run.ranks);
    for (step, rows) in run.steps.iter_mut().zip(&by_step) {
        step.n_ranks = n_ranks(rows.iter().map(|(number, _)| &run.ranks[*number])) as u64;
        step.medians = Measure::ALL.map(|measure| median(rows.iter().map(|(_, row)| measure.of(row))));
        step.max = rows.iter().map(|(_, row)| row.gpu_time).max().unwrap_or(0);
        let longest = rows.iter().filter(|(_, row)| row.gpu_time == step.max);
        let longest: Vec<_> = longest.map(|(number, _)| &run.ranks[*number]).collect();
        step.slowest = label_of_one(&longest, has_several_devices);
    }
    for rank in &mut run.ranks {
        rank.sums = Measure::ALL.map(|measure| {
            let sum = rank.sum(|row| measure.of(row))?;
            let medians = rank.steps.iter().map(|(step, _)| run.steps[*step].median(measure));
            Some((sum, medians.sum::<Option<f64>>()?))
        });
    }
}

/// Middle value, or the mean of both; `None` without values, or if one is unknown.
fn median(values: impl Iterator<Item = Option<i64>>) -> Option<f64> {
    let mut values: Vec<i64> = values.collect::<Option<_>>()?;
    values.sort_unstable();
    let (low, high) = (values.get(values.len().checked_sub(1)? / 2)?, values.get(values.len() / 2)?);
    Some((*low as f64 + *high as f64) / 2.0)
}
