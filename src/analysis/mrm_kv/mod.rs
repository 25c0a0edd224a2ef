//! Key/value cache: block lifetimes, and the page table as stored in run directories.

use super::mrm::charts::{PLAIN, cumulative};
use super::mrm::clock::Clock;
use super::mrm::{append_part, glance, trust};
use super::timeline::{MAX_ROWS, cut, texts, with_left_out};
use super::{AnalysisInfo, Context, Group};
use crate::base::units::{Unit, counted};
use crate::memory::LabelledTrace;
use crate::memory::kept::Kept;
use crate::memory::kv::{KvBlocks, KvLife, KvPage};
use crate::report::chart::{Chart, Line, Lines, Over, Plot};
use crate::report::{Column, Content, Facts, Report, Table};
use crate::trace::Run;

pub const INFO: AnalysisInfo =
    AnalysisInfo { id: "mrm-kv", title: "KV cache", applies, run, group: Group::Memory, is_late: false };

/// Applies to every trace with accesses: their kind is only known after labelling. Without a cache, all tables are empty,
/// and the report is left out.
fn applies(run: &Run) -> bool {
    run.traces.iter().any(|trace| !trace.accesses.is_empty())
}

fn run(context: &Context<'_>) -> Report {
    let mut report = Report::new(INFO.id, INFO.title);
    for (number, view) in context.memory().iter().enumerate() {
        let mut part = Report::new(INFO.id, INFO.title);
        trust::tell_of_clock(view, &mut part);
        let sums = Sums::new(&view.kv_blocks);
        let clock = trust::clock_of(view);
        add_trace(view, &sums, clock, &mut part);
        trust::mark(view.trace, &context.query.memory, &mut part);
        part.summary = headline(&sums, clock);
        append_part(part, number, context.memory(), &mut report);
    }
    report
}

/// Totals over block lifetimes.
struct Sums {
    n_lives: usize,
    n_addresses: u64,
    n_evicted: u64,
    n_unwritten: u64,
    kept: Kept,
}

impl Sums {
    fn new(blocks: &KvBlocks) -> Sums {
        let mut sums = Sums {
            n_lives: blocks.len(),
            n_addresses: 0,
            n_evicted: 0,
            n_unwritten: 0,
            kept: Kept::of_blocks(blocks),
        };
        for life in blocks.lives() {
            // Each address has a generation 0.
            sums.n_addresses += u64::from(life.generation == 0);
            sums.n_evicted += u64::from(life.evict_ns.is_some());
            sums.n_unwritten += u64::from(life.write_ns.is_none());
        }
        sums
    }
}

fn headline(sums: &Sums, clock: Clock) -> String {
    if sums.n_lives == 0 {
        return "No KV cache accesses.".to_string();
    }
    match sums.kept.n {
        0 => format!("{}, none with a store in the trace.", counted(sums.n_lives as u64, "block", "blocks")),
        _ => format!("{}.", glance::kept_in_words(&sums.kept, "block", true, clock)),
    }
}

fn add_trace(view: &LabelledTrace<'_>, sums: &Sums, clock: Clock, report: &mut Report) {
    let mut facts = Facts::new("Blocks");
    facts.push("addresses", "Addresses", sums.n_addresses, Unit::Count);
    facts
        .push("lives", "Block lifetimes", sums.n_lives as u64, Unit::Count)
        .hint("a store after a read starts a new one");
    facts.push("evicted", "Overwritten", sums.n_evicted, Unit::Count);
    facts.push("written", "Store in trace", sums.kept.n as u64, Unit::Count);
    facts.push("unwritten", "No store in trace", sums.n_unwritten, Unit::Count);
    facts
        .push("never_read", "Never read", sums.kept.never_read(), Unit::Ratio)
        .hint("blocks without a read after the store");
    let (median, unit) = clock.value(sums.kept.quantile(0.5));
    facts
        .push("median_lifetime", "Block lifetime (p50)", median, unit)
        .hint("of the other blocks, from the store to the last read; that of a block, not interpolated");
    report.facts(facts);
    // Durations that the clock can't tell from 0 have no distribution.
    if sums.kept.ns().last().is_some_and(|longest| clock.can_tell(*longest)) {
        let line = Line { name: "blocks".to_string(), tone: PLAIN, points: cumulative(sums.kept.ns()) };
        report.chart(Chart {
            id: "kv_lifetime_chart".into(),
            title: "Block lifetime CDF (% of blocks read after the store)".to_string(),
            caption: "From the store to the last read. Logarithmic time axis; lifetimes below 1 µs are plotted at 1 µs."
                .to_string(),
            plot: Plot::Lines(Lines::new(vec![line], Unit::Ratio, Over::Duration)),
        });
    }
    let start = view.trace.accesses.span().map_or(0, |(start, _)| start);
    report.table(lives_table(&view.kv_blocks, start));
    report.info(
        "mrm-trace counts by page, not by address: blocks on the same page share an entry, and a store to a neighbor counts as \
         eviction. Blocks stored before the trace start at time 0, and reads after eviction still count. The exported \
         table follows mrm-trace.",
    );
    if !view.trace.accesses.is_in_time_order() {
        report.info(
            "Accesses aren't sorted by time. Block lifetimes sort them; the exported table uses file order, as in mrm-trace.",
        );
    }
    report.table(pages_table(view.kv_pages.pages()));
}

/// Block lifetimes with times relative to `start`, as everywhere except in tables for other tools.
fn lives_table(blocks: &KvBlocks, start: i64) -> Table {
    let rows: Vec<KvLife> = blocks.lives().take(MAX_ROWS).collect();
    let n_left_out = blocks.len().saturating_sub(rows.len()) as u64;
    let at = |id, label: &str, value: fn(&KvLife) -> Option<i64>| {
        let from_start = |row: &KvLife| Some(value(row)?.saturating_sub(start));
        Column::integer(id, label, Unit::NsOffset, rows.iter().map(from_start).collect())
    };
    let addresses = rows.iter().map(|row| Some(format!("{:#x}", row.address)));
    let columns = vec![
        Column::counts("block_id", "block", Unit::Id, rows.iter().map(|row| u64::from(row.block_id)))
            .as_key(),
        Column::counts(
            "generation",
            "generation",
            Unit::Id,
            rows.iter().map(|row| u64::from(row.generation)),
        )
        .as_key()
        .hint("per address, from 0"),
        Column::text("address", "address", Content::Plain, texts(addresses)),
        at("write_ns", "stored", |row| row.write_ns).hint("from the first access in the trace"),
        at("last_read_ns", "last read", |row| row.last_read_ns),
        at("evict_ns", "overwritten", |row| row.evict_ns),
        Column::counts("writes", "stores", Unit::Count, rows.iter().map(|row| row.writes)),
        Column::counts("reads", "reads", Unit::Count, rows.iter().map(|row| row.reads)),
        Column::integer("lifetime_ns", "lifetime", Unit::Ns, rows.iter().map(KvLife::lifetime_ns).collect())
            .hint("from the store to the last read; empty without either"),
    ];
    let table = Table::new("kv_lives", "Block lifetimes", columns)
        .caption("One row per address and generation, in order of start.")
        .if_empty("No KV cache accesses.");
    with_left_out(table, n_left_out)
}

/// Page table as stored in run directories.
fn pages_table(pages: &[KvPage]) -> Table {
    let mut rows: Vec<&KvPage> = pages.iter().collect();
    let n_left_out = cut(&mut rows);
    let ns = |id, label: &str, unit, value: fn(&KvPage) -> Option<i64>| {
        Column::integer(id, label, unit, rows.iter().map(|row| value(row)).collect())
    };
    let counts = |id, label: &str, unit, value: fn(&KvPage) -> u64| {
        Column::counts(id, label, unit, rows.iter().map(|row| value(row)))
    };
    let columns = vec![
        counts("block_id", "block", Unit::Id, |row| row.block_id.into()).as_key(),
        counts("address", "address", Unit::Address, |row| row.address),
        counts("address_page", "page", Unit::Address, |row| row.page).hint("address / 4096"),
        ns("write_ns", "stored", Unit::NsClock, |row| Some(row.write_ns)),
        ns("last_read_ns", "last read", Unit::NsClock, |row| Some(row.last_read_ns)),
        ns("evict_ns", "overwritten", Unit::NsClock, |row| row.evict_ns),
        counts("total_reads", "reads", Unit::Count, |row| row.total_reads),
        ns("lifetime_ns", "lifetime", Unit::Ns, |row| Some(row.lifetime_ns())),
    ];
    let table = Table::new("kv_block_lifecycle", "Blocks by page, as exported", columns)
        .caption("One row per page, as in mrm-trace. 0 means not in the trace.")
        .if_empty("No KV cache accesses.");
    with_left_out(table, n_left_out)
}
