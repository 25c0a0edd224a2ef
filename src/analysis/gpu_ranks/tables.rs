//! Tables of the ranks report.

use super::clocks::Clock;
use super::waits::{RankWaits, Shared, Times};
use super::{RankTime, Ranks};
use crate::analysis::gpu::collective::Collective;
use crate::analysis::gpu::parts::{NOT_RECORDED, Parts};
use crate::analysis::gpu::stats::share;
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::units::Unit;
use crate::report::{Column, Content, Table};

/// Collectives of one kind.
struct Kind<'a> {
    first: &'a Shared,
    n: u64,
    latency: i64,
    /// Number of those with known times.
    n_timed: u64,
    start_skew: i64,
    end_skew: i64,
    wait: i64,
}

impl Ranks<'_, '_> {
    /// Time breakdown of each rank.
    pub(super) fn ranks_table(&self) -> Table {
        let rows = &self.times;
        let part = |id, label: &str, get: fn(&Parts) -> i64| {
            integers(id, label, Unit::Ns, rows.iter().map(move |row| get(&row.parts)))
        };
        let rank = |row: &RankTime| self.files.ranks.get(row.rank);
        let clock = |row: &RankTime| self.clocks.clocks.get(row.rank).copied().flatten();
        let of_clock = |id, label: &str, get: fn(Clock) -> i64| {
            Column::integer(id, label, Unit::Ns, rows.iter().map(|row| clock(row).map(get)).collect())
        };
        let reference = |row: &RankTime| clock(row).map(|clock| self.label(clock.reference));
        let mut columns = vec![
            Column::integer("rank", "rank", Unit::Id, rows.iter().map(|row| Some(rank(row)?.rank)).collect())
                .as_key(),
            Column::text(
                "file",
                "file",
                Content::Path,
                texts(rows.iter().map(|row| Some(rank(row)?.gpu.trace.source.file_name.as_str()))),
            ),
            Column::key(
                "device",
                "GPU",
                Content::Plain,
                texts(rows.iter().map(|row| Some(rank(row)?.gpu.device_label(row.device)))),
            ),
            part("total", "total", |parts| parts.total),
            part("busy", "busy", Parts::busy),
            part("computation", "computation", |parts| parts.computation).with_bar(),
            part("exposed_communication", "exposed comm.", |parts| parts.exposed_communication),
            part("exposed_copies", "exposed copies", |parts| parts.exposed_copies),
            part("idle", "idle", |parts| parts.idle),
        ];
        let compared = self.computation();
        if let Some((per_step, true)) = &compared {
            columns.push(
                integers(super::PER_STEP, "computation per step", Unit::Ns, per_step.iter().copied())
                    .hint("computation divided by the steps of the rank, since ranks recorded different numbers of steps"),
            );
        }
        let has_unrecorded = rows.iter().any(|row| row.parts.unrecorded > 0);
        if has_unrecorded {
            columns.push(
                part("unrecorded", NOT_RECORDED, |parts| parts.unrecorded)
                    .hint("time in which launches without a device record may have run"),
            );
        }
        columns.extend([
            part("communication", "communication", |parts| parts.communication),
            of_clock("offset", "clock offset", |clock| clock.offset)
                .hint("added to its times to get reference clock times"),
            of_clock("uncertainty", "uncertainty", |clock| clock.uncertainty).hint("± error of the offset"),
        ]);
        let references = rows.iter().filter_map(reference).collect::<std::collections::BTreeSet<_>>();
        if references.len() > 1 {
            columns.push(
                Column::text("reference", "reference", Content::Plain, texts(rows.iter().map(reference)))
                    .hint(
                        "rank whose clock is the reference; ranks with different references are not compared",
                    ),
            );
        }
        let parts = if has_unrecorded {
            "exposed copies, idle and not recorded time"
        } else {
            "exposed copies and idle time"
        };
        let caption = format!(
            "Computation, exposed communication, {parts} add up to the total (first kernel or copy to the end of the last). Clock \
             offsets are estimated from collectives that end on all ranks at once; 0 if the clocks agree within the uncertainty."
        );
        Table::new(super::RANKS.id, "Ranks", columns)
            .caption(caption)
            .sorted_by("rank", false)
            .if_empty("No comparable files.")
    }

    /// Files that were not compared.
    pub(super) fn left_out_table(&self) -> Table {
        let rows = &self.files.left_out;
        Table::new(
            "left_out",
            "Files not compared",
            vec![
                Column::key("file", "file", Content::Path, texts(rows.iter().map(|row| Some(row.file)))),
                Column::integer("rank", "rank", Unit::Id, rows.iter().map(|row| row.rank).collect()),
                Column::text(
                    "why",
                    "reason",
                    Content::Plain,
                    texts(rows.iter().map(|row| Some(row.why.as_str()))),
                ),
            ],
        )
    }

    /// Stragglers and waits by rank.
    pub(super) fn stragglers_table(&self) -> Table {
        let waits = &self.waits.ranks;
        let mut rows: Vec<usize> = (0..waits.len()).filter(|rank| waits[*rank].n_collectives > 0).collect();
        sort::by_key(&mut rows, |rank| (std::cmp::Reverse(waits[*rank].held_up), waits[*rank].wait));
        let time = |id, label: &str, get: fn(&RankWaits) -> i64| {
            integers(id, label, Unit::Ns, rows.iter().map(|rank| get(&waits[*rank])))
        };
        let count = |id, label: &str, get: fn(&RankWaits) -> u64| {
            Column::counts(id, label, Unit::Count, rows.iter().map(|rank| get(&waits[*rank])))
        };
        // Unknown where the clocks tell it of no collective.
        let place = |id, label: &str, get: fn(&RankWaits) -> (u64, u64)| {
            let known = |rank: &usize| {
                let (n_known, n) = get(&waits[*rank]);
                (n_known > 0).then_some(n)
            };
            Column::unsigned(id, label, Unit::Count, rows.iter().map(known).collect())
        };
        let held_up = |rank: &usize| (waits[*rank].n_last_known > 0).then_some(waits[*rank].held_up);
        let caused = |rank: &usize| (waits[*rank].n_last_known > 0).then_some(waits[*rank].caused_wait);
        let of = |rank: usize| self.files.ranks.get(rank);
        Table::new(
            super::STRAGGLERS.id,
            "Stragglers",
            vec![
                Column::integer("rank", "rank", Unit::Id, rows.iter().map(|rank| Some(of(*rank)?.rank)).collect()).as_key(),
                Column::integer("held_up", "delay caused", Unit::Ns, rows.iter().map(held_up).collect())
                    .with_bar()
                    .hint("time after the second-to-last rank, summed over collectives in which it was last"),
                Column::integer("caused_wait", "wait caused", Unit::Ns, rows.iter().map(caused).collect())
                    .hint("waits of the other ranks for it alone, summed over them"),
                place("last", "times last", |waits| (waits.n_last_known, waits.n_last))
                    .hint("if the clock uncertainty is small enough to decide"),
                place("first", "times first", |waits| (waits.n_first_known, waits.n_first))
                    .hint("if the clock uncertainty is small enough to decide"),
                count("last_known", "last known", |waits| waits.n_last_known)
                    .hint("collectives whose last rank the clocks can tell"),
                count("collectives", "collectives", |waits| waits.n_collectives),
                time("wait", "waiting", |waits| waits.wait).hint("from its own start to the start of the last rank"),
                Column::integer(
                    "mean_wait",
                    "mean wait",
                    Unit::Ns,
                    rows.iter().map(|rank| mean(waits[*rank].wait, waits[*rank].n_collectives)).collect(),
                ),
                time("wire", "transfer", RankWaits::wire).hint("time in collectives without waiting"),
                time("communication", "collective time", |waits| waits.communication),
                Column::float(
                    "share",
                    "% waiting",
                    Unit::Ratio,
                    rows.iter().map(|rank| share(waits[*rank].wait, waits[*rank].communication)).collect(),
                ),
            ],
        )
        .sorted_by("held_up", true)
        .caption(
            "A straggler arrives last, delays the others and waits least itself. Covers synchronizing collectives, on aligned \
             clocks.",
        )
        .if_empty("No synchronizing collectives.")
    }

    /// Sums by collective, group, type and size.
    pub(super) fn kinds_table(&self) -> Table {
        let mut rows = self.kinds();
        let n_left_out = cut(&mut rows);
        let of = |row: &Kind<'_>| self.collective(row.first);
        let integer = |id, label: &str, get: fn(&Kind<'_>) -> Option<i64>| {
            Column::integer(id, label, Unit::Ns, rows.iter().map(get).collect())
        };
        let table = Table::new(
            "collective_kinds",
            "Collectives by kind",
            vec![
                Column::key(
                    "collective",
                    "collective",
                    Content::Argument,
                    texts(rows.iter().map(|row| Some(of(row)?.name.as_str()))),
                ),
                Column::key(
                    "group",
                    "group",
                    Content::Argument,
                    texts(rows.iter().map(|row| self.group(row.first))),
                ),
                Column::key(
                    "dtype",
                    "type",
                    Content::Argument,
                    texts(
                        rows.iter().map(|row| Some(of(row)?.dtype.as_str()).filter(|text| !text.is_empty())),
                    ),
                ),
                Column::unsigned(
                    "message",
                    "message",
                    Unit::Bytes,
                    rows.iter().map(|row| row.first.message).collect(),
                )
                .as_key(),
                Column::counts(
                    "ranks",
                    "ranks",
                    Unit::Count,
                    rows.iter().map(|row| row.first.n_ranks as u64),
                )
                .hint("with files to compare"),
                Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.n)),
                integers("latency", "latency", Unit::Ns, rows.iter().map(|row| row.latency))
                    .with_bar()
                    .hint("shortest duration over ranks, summed"),
                integer("mean_latency", "mean latency", |row| mean(row.latency, row.n)),
                integer("mean_start_skew", "mean start skew", |row| mean(row.start_skew, row.n_timed))
                    .hint("latest start minus earliest"),
                integer("mean_end_skew", "mean end skew", |row| mean(row.end_skew, row.n_timed)),
                integer("wait", "waiting", |row| (row.n_timed > 0).then_some(row.wait))
                    .hint("sum over all ranks"),
            ],
        );
        with_left_out(table.sorted_by("latency", true), n_left_out)
    }

    fn kinds(&self) -> Vec<Kind<'_>> {
        let mut numbers: HashMap<(usize, u32, Option<u64>), usize> = HashMap::default();
        let mut rows: Vec<Kind<'_>> = Vec::new();
        for shared in &self.waits.collectives {
            let number =
                *numbers.entry((shared.sequence, shared.kind, shared.message)).or_insert_with(|| {
                    let (latency, n_timed, start_skew, end_skew, wait) = (0, 0, 0, 0, 0);
                    rows.push(Kind { first: shared, n: 0, latency, n_timed, start_skew, end_skew, wait });
                    rows.len() - 1
                });
            let row = &mut rows[number];
            row.n += 1;
            row.latency = row.latency.saturating_add(shared.latency);
            if let Some(times) = &shared.times {
                row.n_timed += 1;
                row.start_skew = row.start_skew.saturating_add(times.start_skew);
                row.end_skew = row.end_skew.saturating_add(times.end_skew);
                row.wait = row.wait.saturating_add(times.total_wait);
            }
        }
        sort::by_key(&mut rows, |row| std::cmp::Reverse(row.latency));
        rows
    }

    /// Each collective on several ranks, longest wait first.
    pub(super) fn collectives_table(&self) -> Table {
        let mut rows: Vec<&Shared> = self.waits.collectives.iter().collect();
        let wait = |row: &Shared| row.times.as_ref().map_or(-1, |times| times.longest_wait);
        sort::by_key(&mut rows, |row| (std::cmp::Reverse(wait(row)), row.sequence, row.k));
        let n_left_out = cut(&mut rows);
        let start = rows.iter().filter_map(|row| Some(row.times.as_ref()?.start)).min().unwrap_or(0);
        let timed = |id, label: &str, unit, get: &dyn Fn(&Times) -> i64| {
            Column::integer(id, label, unit, rows.iter().map(|row| row.times.as_ref().map(get)).collect())
        };
        let rank = |id, label: &str, get: fn(&Times) -> Option<usize>| {
            let number = |row: &&Shared| Some(self.files.ranks.get(get(row.times.as_ref()?)?)?.rank);
            Column::integer(id, label, Unit::Id, rows.iter().map(number).collect())
        };
        let held_up = |row: &Shared| {
            let times = row.times.as_ref().filter(|times| times.is_last_certain)?;
            Some(times.held_up)
        };
        let bandwidth = |row: &Shared| {
            let bytes = row.message.filter(|bytes| *bytes > 0)?;
            Some(share(i64::try_from(bytes).ok()?, row.latency)? * 1e9)
        };
        let bus = |row: &Shared| Some(bandwidth(row)? * self.collective(row)?.bus_factor()?);
        let matched = |row: &Shared| Some(self.sequences.sequences.get(row.sequence)?.matched_by.name());
        let table = Table::new(
            "collectives_across_ranks",
            "Collectives across ranks",
            vec![
                Column::key("group", "group", Content::Argument, texts(rows.iter().map(|row| self.group(row)))),
                Column::key("collective", "collective", Content::Argument, texts(rows.iter().map(|row| Some(self.collective(row)?.name.as_str())))),
                Column::counts("number", "number", Unit::Id, rows.iter().map(|row| row.k as u64 + 1))
                    .as_key()
                    .hint("index within its group and name"),
                Column::text("matched_by", "matched by", Content::Plain, texts(rows.iter().map(|row| matched(row)))),
                timed("start", "start", Unit::NsOffset, &|times| times.start.saturating_sub(start))
                    .hint("on the first rank"),
                Column::counts("ranks", "ranks", Unit::Count, rows.iter().map(|row| row.n_ranks as u64)),
                Column::unsigned("message", "message", Unit::Bytes, rows.iter().map(|row| row.message).collect()),
                integers("latency", "latency", Unit::Ns, rows.iter().map(|row| row.latency)).hint("shortest duration over ranks"),
                timed("start_skew", "start skew", Unit::Ns, &|times| times.start_skew).hint("latest start minus earliest"),
                Column::integer(
                    "uncertainty",
                    "clock uncertainty",
                    Unit::Ns,
                    rows.iter().map(|row| row.times.as_ref()?.uncertainty).collect(),
                )
                .hint("between the first and last rank; ignore smaller skews"),
                timed("end_skew", "end skew", Unit::Ns, &|times| times.end_skew),
                timed("longest_wait", "longest wait", Unit::Ns, &|times| times.longest_wait)
                    .with_bar()
                    .hint("by the rank that waited longest"),
                rank("first", "first", |times| times.is_first_certain.then_some(times.first))
                    .hint("the rank that arrived first, if the clock uncertainty is small enough to decide"),
                rank("last", "last", |times| times.is_last_certain.then_some(times.last))
                    .hint("the rank that arrived last, if the clock uncertainty is small enough to decide"),
                Column::integer("held_up", "delay caused", Unit::Ns, rows.iter().map(|row| held_up(row)).collect())
                    .hint("arrival of the last rank minus the second-to-last"),
                Column::float("algorithm", "algorithm bandwidth", Unit::BytesPerSecond, rows.iter().map(|row| bandwidth(row)).collect())
                    .hint("message size divided by latency"),
                Column::float("bus", "bus bandwidth", Unit::BytesPerSecond, rows.iter().map(|row| bus(row)).collect())
                    .hint("algorithm bandwidth × 2(n − 1)/n for all-reduce, × (n − 1)/n for reduce-scatter, all-gather and \
                           all-to-all"),
            ],
        );
        with_left_out(table.sorted_by("longest_wait", true), n_left_out)
    }

    fn collective(&self, shared: &Shared) -> Option<&Collective> {
        self.sequences.kinds.get(shared.kind as usize)
    }

    fn group(&self, shared: &Shared) -> Option<&str> {
        Some(self.sequences.sequences.get(shared.sequence)?.group.as_str())
    }
}

/// Mean of `n` values with sum `sum`, rounded to nearest.
fn mean(sum: i64, n: u64) -> Option<i64> {
    let n = i64::try_from(n).ok().filter(|n| *n > 0)?;
    Some(sum.saturating_add(n / 2) / n)
}
