//! Tables of time: breakdown, phases, equal tokens, layers.

use super::side::{Slot, Stretch, whole};
use super::{Pair, per_step, samples_of};
use crate::analysis::gpu::parts::STEP_EXTENT;
use crate::analysis::gpu::stats::SumNs;
use crate::base::units::Unit;
use crate::compare::noise::{RULE, Sample, verdict};
use crate::compare::tables::ratio;
use crate::report::{Column, Content, Table, TextCells};
use std::collections::BTreeMap;

/// A number on both sides, in total and per step.
#[derive(Default)]
pub struct Row {
    pub slot: Slot,
    pub name: String,
    /// Of all steps.
    pub total: [i64; 2],
    pub count: [u64; 2],
    /// Number of steps of the phase.
    pub n: [usize; 2],
    /// Per step, over [`whole`] steps.
    pub samples: [Sample; 2],
    /// Kernels, copies and fills per step, over the same steps.
    pub count_per_step: [f64; 2],
    /// Whether the trace of a side does not tell the number.
    pub is_unknown: [bool; 2],
}

impl Row {
    /// Nanoseconds per step on a side.
    pub fn per_step(&self, side: usize) -> Option<i64> {
        // Activity outside steps has no step count.
        let is_known = self.slot != Slot::Outside && self.n[side] > 0 && !self.is_unknown[side];
        is_known.then(|| self.samples[side].mean.round() as i64)
    }

    /// Whether the time of a side is missing, not 0: it is unknown, or the row counts kernels, and the side has none.
    fn lacks(&self, side: usize) -> bool {
        self.is_unknown[side] || self.count != [0, 0] && self.count[side] == 0
    }

    /// B − A per step.
    pub fn difference(&self) -> Option<i64> {
        Some(self.per_step(1)?.saturating_sub(self.per_step(0)?))
    }

    /// B − A of the totals.
    pub fn total_difference(&self) -> i64 {
        self.total[1].saturating_sub(self.total[0])
    }

    /// Significance of the difference, or the side of one-sided rows.
    pub fn verdict(&self) -> &'static str {
        match (self.total[0], self.total[1]) {
            _ if self.is_unknown == [true, true] => "unknown",
            _ if self.is_unknown[0] => "unknown in A",
            _ if self.is_unknown[1] => "unknown in B",
            _ if self.n[0] == 0 && self.n[1] > 0 => "△ no such steps in A",
            _ if self.n[1] == 0 && self.n[0] > 0 => "▽ no such steps in B",
            (0, 0) => "= same",
            (_, 0) => "▽ only in A",
            (0, _) => "△ only in B",
            _ if self.n == [0, 0] => "unknown",
            _ => verdict(&self.samples[0], &self.samples[1]).name(),
        }
    }
}

/// Text cells, one per row.
pub fn column_of<'a>(texts: impl Iterator<Item = &'a str>) -> TextCells {
    texts.collect()
}

/// Inserts the column of phases: first, or last where all rows are of one phase, so that it takes no room.
pub fn insert_phase<'a>(columns: &mut Vec<Column>, phases: impl Iterator<Item = &'a str> + Clone) {
    let first = phases.clone().next();
    let is_one = phases.clone().all(|phase| Some(phase) == first);
    let column = Column::key("phase", "phase", Content::Plain, column_of(phases));
    columns.insert(if is_one { columns.len() } else { 0 }, column);
}

/// What columns divide by: `per step`, or `per GPU` where whole traces are compared.
pub fn per(rows: &[&Row]) -> &'static str {
    let is_whole = !rows.is_empty() && rows.iter().all(|row| row.slot == Slot::Whole);
    if is_whole { "per GPU" } else { "per step" }
}

/// Time columns shared by tables by phase.
pub fn time_columns(rows: &[&Row]) -> Vec<Column> {
    let integers = |get: &dyn Fn(&Row) -> Option<i64>| rows.iter().map(|row| get(row)).collect::<Vec<_>>();
    let ratios = |get: &dyn Fn(&Row) -> Option<f64>| rows.iter().map(|row| get(row)).collect::<Vec<_>>();
    let per = per(rows);
    vec![
        Column::integer(
            "per_step_a",
            &format!("A, {per}"),
            Unit::Ns,
            integers(&|row| row.per_step(0).filter(|_| !row.lacks(0))),
        ),
        Column::integer(
            "per_step_b",
            &format!("B, {per}"),
            Unit::Ns,
            integers(&|row| row.per_step(1).filter(|_| !row.lacks(1))),
        ),
        Column::integer(
            "per_step_difference",
            &format!("B − A, {per}"),
            Unit::Ns,
            integers(&Row::difference),
        )
        .with_bar(),
        Column::text("status", "status", Content::Plain, column_of(rows.iter().map(|row| row.verdict())))
            .hint(RULE),
        Column::float(
            "ratio",
            &format!("B / A {per}"),
            Unit::Plain,
            ratios(&|row| ratio(i128::from(row.per_step(0)?), i128::from(row.per_step(1)?))),
        ),
        Column::float(
            "noise",
            "noise",
            Unit::Ns,
            ratios(&|row| super::band(&row.samples[0], &row.samples[1])),
        )
        .hint("smaller differences are noise; missing with too few steps"),
        Column::integer(
            "total_a",
            "A, total",
            Unit::Ns,
            integers(&|row| (!row.lacks(0)).then_some(row.total[0])),
        )
        .adds_up(),
        Column::integer(
            "total_b",
            "B, total",
            Unit::Ns,
            integers(&|row| (!row.lacks(1)).then_some(row.total[1])),
        )
        .adds_up(),
        Column::integer(
            "total_difference",
            "B − A, total",
            Unit::Ns,
            integers(&|row| (row.is_unknown == [false; 2]).then(|| row.total_difference())),
        )
        .adds_up(),
    ]
}

/// Names of idle time and its parts, and of parts of the busy time.
pub const IDLE: &str = "idle";
pub const IDLE_FOR_HOST: &str = "host-bound idle";
pub const IDLE_QUEUED: &str = "idle between queued kernels";
pub const IDLE_UNKNOWN: &str = "idle, cause unknown";
pub const EXPOSED_COMMUNICATION: &str = "exposed communication";
pub const EXPOSED_COPIES: &str = "exposed copies";

/// A part of the time of a step, in nanoseconds.
type Part = fn(&Stretch) -> i64;

/// Parts that add up to the busy time.
const BUSY: [(&str, Part); 3] = [
    ("computation", |stretch| stretch.time.computation),
    (EXPOSED_COMMUNICATION, |stretch| stretch.time.exposed_communication),
    (EXPOSED_COPIES, |stretch| stretch.time.exposed_copies),
];

/// Parts that add up to the idle time.
const IDLE_BY_CAUSE: [(&str, Part); 3] = [
    (IDLE_FOR_HOST, |stretch| stretch.time.idle_for_host),
    (IDLE_QUEUED, |stretch| stretch.time.idle_queued()),
    (IDLE_UNKNOWN, |stretch| stretch.time.idle_unknown),
];
const IDLE_AS_A_WHOLE: [(&str, Part); 1] = [(IDLE, |stretch| stretch.time.idle)];

/// Share of idle time of unknown cause from which idle time is not compared by cause.
pub const MOSTLY_UNKNOWN: f64 = 0.5;

/// Whether only one side tells the causes of most of its idle time in a phase, or of any of it. These are then missing among the
/// causes on the other side, which has them as well.
fn has_causes_of_one_side(pair: &Pair<'_>, slot: Slot) -> bool {
    let unknown = [0, 1].map(|side| unknown_share(pair, side, slot));
    let is_of_one = |from: f64| {
        let [a, b] = unknown.map(|share| share.is_some_and(|share| share >= from));
        a != b
    };
    let is_common = pair.n(0, slot) > 0 && pair.n(1, slot) > 0;
    is_common && (is_of_one(MOSTLY_UNKNOWN) || is_of_one(1.0))
}

/// Parts of the time of a phase that can be compared.
fn parts_of(pair: &Pair<'_>, slot: Slot) -> impl Iterator<Item = (&'static str, Part)> {
    let idle: &'static [(&'static str, Part)] = if pair.is_busy_only(slot) {
        // Idle time is unknown, and must not show as 0.
        &[]
    } else if has_causes_of_one_side(pair, slot) {
        &IDLE_AS_A_WHOLE
    } else {
        &IDLE_BY_CAUSE
    };
    BUSY.iter().chain(idle).copied()
}

/// Whether a side does not tell the cause of any of the idle time in a phase, for instance because it has no launches.
pub fn has_unknown_causes(pair: &Pair<'_>, side: usize, slot: Slot) -> bool {
    unknown_share(pair, side, slot).is_some_and(|share| share == 1.0)
}

/// Share of the idle time of a phase whose cause is unknown. `None` without idle time.
pub fn unknown_share(pair: &Pair<'_>, side: usize, slot: Slot) -> Option<f64> {
    let idle = pair.sum(side, slot, |stretch| stretch.time.idle);
    let unknown = pair.sum(side, slot, |stretch| stretch.time.idle_unknown);
    (idle > 0).then(|| unknown as f64 / idle as f64)
}

/// A part of the time of a phase.
pub fn row(pair: &Pair<'_>, slot: Slot, name: &str, get: impl Fn(&Stretch) -> i64) -> Row {
    let is_cause = [IDLE_FOR_HOST, IDLE_QUEUED].contains(&name);
    Row {
        slot,
        name: name.to_string(),
        total: [0, 1].map(|side| pair.sum(side, slot, &get)),
        n: [0, 1].map(|side| pair.n(side, slot)),
        samples: pair.samples(slot, |_, stretch| get(stretch)),
        is_unknown: [0, 1].map(|side| is_cause && has_unknown_causes(pair, side, slot)),
        ..Row::default()
    }
}

/// The last step, for captions.
const LAST_STEP: &str = "The last step of each GPU has no such end: it counts in totals, and in numbers per step only if the phase has \
                         no other.";

/// Time breakdown by phase.
pub fn parts(pair: &Pair<'_>) -> Table {
    let of_slot = |slot: Slot| parts_of(pair, slot).map(move |(name, get)| row(pair, slot, name, get));
    let all = pair.slots.iter().flat_map(|slot| of_slot(*slot));
    let is_optional = |row: &Row| row.slot == Slot::Outside || row.name == IDLE_UNKNOWN;
    let all: Vec<Row> = all.filter(|row| row.total != [0, 0] || !is_optional(row)).collect();
    let rows: Vec<&Row> = all.iter().collect();
    let mut columns = vec![Column::key(
        "part",
        "part",
        Content::Plain,
        column_of(rows.iter().map(|row| row.name.as_str())),
    )];
    columns.extend(time_columns(&rows));
    insert_phase(&mut columns, rows.iter().map(|row| row.slot.name()));
    Table::new("time", "GPU time", columns).caption(format!(
        "Parts add up to 100%. Computation counts first; communication and copies count only where nothing is computed. The GPU \
         is waiting for the host if the next kernel wasn't launched before it ran out of work. Idle time before page migrations counts as between queued kernels. If only one side tells the causes of idle time, it is one part. \
         {STEP_EXTENT}, whatever runs in that time. {LAST_STEP} {RULE}"
    ))
}

/// One row per phase.
pub fn phases(pair: &Pair<'_>) -> Table {
    let all: Vec<Row> =
        pair.slots.iter().map(|slot| row(pair, *slot, slot.name(), |stretch| stretch.time.wall())).collect();
    let rows: Vec<&Row> = all.iter().collect();
    let tokens = |side: usize, slot: Slot| -> Option<u64> {
        let mut tokens: Vec<u64> =
            pair.side(side).of_slot(slot).filter_map(|stretch| stretch.tokens).collect();
        tokens.sort_unstable();
        tokens.get(tokens.len() / 2).copied()
    };
    let per_token = |side: usize, slot: Slot| -> Option<i64> {
        let known = || whole(pair.side(side).of_slot(slot)).filter(|stretch| stretch.tokens.is_some());
        let n: u64 = known().filter_map(|stretch| stretch.tokens).fold(0, u64::saturating_add);
        per_step(known().map(|stretch| stretch.time.wall()).sum_ns(), usize::try_from(n).ok()?)
    };
    let mut columns = vec![Column::key(
        "phase",
        "phase",
        Content::Plain,
        column_of(rows.iter().map(|row| row.slot.name())),
    )];
    for (side, letter) in ["a", "b"].into_iter().enumerate() {
        let name = letter.to_uppercase();
        let id = |what: &str| format!("{what}_{letter}");
        let named = |what: &str, mut column: Column| {
            column.id = id(what).into();
            column
        };
        columns.extend([
            named(
                "steps",
                Column::counts(
                    "",
                    &format!("{name}, steps"),
                    Unit::Count,
                    rows.iter().map(|row| row.n[side] as u64),
                )
                .adds_up(),
            ),
            named(
                "median",
                Column::float(
                    "",
                    &format!("{name}, median"),
                    Unit::Ns,
                    rows.iter()
                        .map(|row| Some(row.samples[side].median).filter(|_| row.n[side] > 0))
                        .collect(),
                ),
            ),
            named(
                "deviation",
                Column::float(
                    "",
                    &format!("{name}, deviation"),
                    Unit::Ns,
                    rows.iter()
                        .map(|row| {
                            Some(row.samples[side].variance.sqrt()).filter(|_| row.samples[side].n > 1)
                        })
                        .collect(),
                ),
            )
            .hint("standard deviation over steps of the same kind on the same GPU"),
            named(
                "tokens",
                Column::unsigned(
                    "",
                    &format!("{name}, tokens"),
                    Unit::Count,
                    rows.iter().map(|row| tokens(side, row.slot)).collect(),
                ),
            )
            .hint("of the median step, from its annotation"),
            named(
                "per_token",
                Column::integer(
                    "",
                    &format!("{name}, per token"),
                    Unit::Ns,
                    rows.iter().map(|row| per_token(side, row.slot)).collect(),
                )
                .hint("mean time of a step on a GPU divided by its tokens, however many GPUs work on it"),
            ),
        ]);
    }
    columns.extend(time_columns(&rows));
    Table::new("phases", "Phases", columns).caption(format!(
        "Wall time of steps by phase. Steps are only comparable with similar token counts; see time per token, and steps with \
         equal tokens. {STEP_EXTENT}. {LAST_STEP} Unlike in the report GPU time, that includes time when only kernels launched outside steps ran."
    ))
}

/// Steps with equal numbers of tokens on both sides. `None` if there are none.
pub fn by_tokens(pair: &Pair<'_>) -> Option<Table> {
    let mut groups: BTreeMap<(Slot, u64), [Vec<&Stretch>; 2]> = BTreeMap::new();
    for slot in &pair.slots {
        for side in [0, 1] {
            for stretch in pair.side(side).of_slot(*slot) {
                if let Some(tokens) = stretch.tokens {
                    groups.entry((*slot, tokens)).or_default()[side].push(stretch);
                }
            }
        }
    }
    groups.retain(|_, [a, b]| !a.is_empty() && !b.is_empty());
    if groups.is_empty() {
        return None;
    }
    let all: Vec<(u64, Row)> = groups
        .into_iter()
        .map(|((slot, tokens), steps)| {
            let row = Row {
                slot,
                total: [0, 1].map(|side: usize| steps[side].iter().map(|step| step.time.wall()).sum_ns()),
                n: [0, 1].map(|side: usize| steps[side].len()),
                samples: samples_of([0, 1].map(|side: usize| steps[side].iter().copied()), |_, step| {
                    step.time.wall()
                }),
                ..Row::default()
            };
            (tokens, row)
        })
        .collect();
    let rows: Vec<&Row> = all.iter().map(|(_, row)| row).collect();
    let mut columns = vec![
        Column::key("phase", "phase", Content::Plain, column_of(rows.iter().map(|row| row.slot.name()))),
        Column::counts("tokens", "tokens", Unit::Id, all.iter().map(|(tokens, _)| *tokens)).as_key(),
        Column::counts("steps_a", "A, steps", Unit::Count, rows.iter().map(|row| row.n[0] as u64)),
        Column::counts("steps_b", "B, steps", Unit::Count, rows.iter().map(|row| row.n[1] as u64)),
    ];
    columns.extend(time_columns(&rows));
    Some(
        Table::new("equal_tokens", "Steps with equal tokens", columns).not_compared().caption(
            "Only steps with the same token count on both sides, so differences aren't due to load.",
        ),
    )
}

/// A layer on both sides: number of steps, busy nanoseconds, kernels.
type Layers = [(u64, i64, u64); 2];

/// Layers of the model by their numbers, phase by phase.
pub fn layers(pair: &Pair<'_>) -> Option<Table> {
    let mut groups: BTreeMap<(Slot, u32), Layers> = BTreeMap::new();
    for side in [0, 1] {
        for layer in pair.side(side).layers.iter().filter(|layer| pair.slots.contains(&layer.slot)) {
            let of = &mut groups.entry((layer.slot, layer.number)).or_default()[side];
            *of = (of.0 + layer.steps, of.1.saturating_add(layer.busy), of.2 + layer.kernels);
        }
    }
    if groups.len() < 2 {
        return None;
    }
    let rows: Vec<((Slot, u32), Layers)> = groups.into_iter().collect();
    let mean = |side: usize| -> Vec<Option<i64>> {
        rows.iter().map(|(_, of)| per_step(of[side].1, of[side].0 as usize)).collect()
    };
    let (a, b) = (mean(0), mean(1));
    let both = |get: fn(i64, i64) -> Option<f64>| -> Vec<Option<f64>> {
        a.iter().zip(&b).map(|(a, b)| get((*a)?, (*b)?)).collect()
    };
    let kernels = |side: usize| -> Vec<Option<f64>> {
        rows.iter().map(|(_, of)| (of[side].0 > 0).then(|| of[side].2 as f64 / of[side].0 as f64)).collect()
    };
    let difference = a.iter().zip(&b).map(|(a, b)| Some((*b)?.saturating_sub((*a)?))).collect();
    let columns = vec![
        Column::key("phase", "phase", Content::Plain, column_of(rows.iter().map(|row| row.0.0.name()))),
        Column::counts("layer", "layer", Unit::Id, rows.iter().map(|row| u64::from(row.0.1))).as_key(),
        Column::integer("busy_a", "A, busy", Unit::Ns, a.clone()),
        Column::integer("busy_b", "B, busy", Unit::Ns, b.clone()),
        Column::integer("busy_difference", "B − A", Unit::Ns, difference).with_bar(),
        Column::float("ratio", "B / A", Unit::Plain, both(|a, b| ratio(i128::from(a), i128::from(b)))),
        Column::float("kernels_a", "A, kernels", Unit::Plain, kernels(0)),
        Column::float("kernels_b", "B, kernels", Unit::Plain, kernels(1)),
    ];
    Some(Table::new("layers", "Layers", columns).caption(
        "A layer runs from one attention or SSM kernel to the next after a matrix product, on the stream of each GPU with the most of \
         them; means over the steps and GPUs of the phase. Kernels before the first layer belong to none, so layers don't add up to \
         steps.",
    ))
}
