//! Kernels by launch configuration: grid, block, registers, shared memory and occupancy.

use crate::analysis::gpu::alone::{Alone, Role, each_alone};
use crate::analysis::gpu::facts::integer;
use crate::analysis::gpu::stats::{Durations, share};
use crate::analysis::gpu::{Kind, NamedTrace, Work, kernel_names};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::{Unit, counted};
use crate::report::{Column, Content, Table};
use crate::trace::builder::{for_each_element, for_each_member};

/// Maximum configurations whose arguments are read from the file, longest total time first.
const MAX_READ: usize = 5_000;

/// Kernels of one name with the same launch configuration.
struct Group {
    name: StringId,
    class: u32,
    /// Signature of the configuration; 0 if not recorded.
    hash: u64,
    /// Slice whose arguments stand for the group.
    of: u32,
    /// The slice of the call that launched it, or [`NONE`].
    by: u32,
    durations: Durations,
    launch: Launch,
}

/// Launch configuration, from the arguments of a kernel and its launch call.
#[derive(Default)]
struct Launch {
    /// Blocks in x, y and z.
    grid: Vec<i64>,
    /// Threads per block in x, y and z.
    block: Vec<i64>,
    registers: Option<u64>,
    shared_bytes: Option<u64>,
    blocks_per_sm: Option<f64>,
    warps_per_sm: Option<f64>,
    /// 0 to 1.
    occupancy: Option<f64>,
}

impl Launch {
    /// Reads the arguments of a kernel.
    fn read(raw: &[u8]) -> Launch {
        let mut launch = Launch::default();
        for_each_member(raw, |key, value| {
            let count = || integer(value).and_then(|number| u64::try_from(number).ok());
            match key.bytes {
                b"grid" => launch.grid = numbers(value),
                b"block" => launch.block = numbers(value),
                b"registers per thread" => launch.registers = count(),
                b"shared memory" => launch.shared_bytes = count(),
                b"blocks per SM" => launch.blocks_per_sm = float(value),
                b"warps per SM" => launch.warps_per_sm = float(value),
                b"est. achieved occupancy %" => {
                    launch.occupancy = float(value).map(|percent| percent / 100.0);
                }
                _ => {}
            }
        });
        launch
    }

    /// Fills in grid and block from the launch call. Its shared memory is only the dynamic part, so it is not taken.
    fn complete(&mut self, call: Launch) {
        for (own, of_call) in [(&mut self.grid, call.grid), (&mut self.block, call.block)] {
            if own.is_empty() {
                *own = of_call;
            }
        }
    }
}

fn numbers(value: &[u8]) -> Vec<i64> {
    let mut numbers = Vec::new();
    for_each_element(value, |element| numbers.extend(integer(element)));
    numbers.truncate(3);
    numbers
}

fn float(value: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(value).ok()?.trim_matches('"');
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// `8 × 1 × 1`; `None` for an empty list.
fn shown(numbers: &[i64]) -> Option<String> {
    let texts: Vec<String> = numbers.iter().map(i64::to_string).collect();
    (!texts.is_empty()).then(|| texts.join(" × "))
}

/// Total number; `None` if not recorded.
fn product(numbers: &[i64]) -> Option<u64> {
    let numbers = numbers.iter().map(|number| u64::try_from(*number).ok());
    numbers.reduce(|a, b| a?.checked_mul(b?))?
}

/// One row per kernel and configuration. `None` where configurations are not recorded or cannot be read. `total` is the total
/// duration of all kernels, copies and fills.
pub fn table(named: &NamedTrace<'_, '_>, total: i64) -> Option<Table> {
    let gpu = named.gpu;
    let words = gpu.vendor.words();
    let unit = words.unit;
    let trace = gpu.trace;
    // Not every kernel has a call.
    let signature = |slice: u32| {
        let slice = Some(slice as usize).filter(|slice| *slice < trace.slices.len())?;
        trace.signatures.get(trace.slices.offset(slice))
    };
    // Name, class and signature.
    let key = |work: &Work| {
        let hash = signature(work.slice).or_else(|| signature(work.launch)).unwrap_or(0);
        (trace.slices.name[work.slice as usize], work.class, hash)
    };
    // Durations, and the first kernel with its launch.
    let mut found = HashMap::default();
    for work in gpu.work.iter().filter(|work| work.kind == Kind::Kernel) {
        let (durations, ..) =
            found.entry(key(work)).or_insert_with(|| (Vec::<i64>::new(), work.slice, work.launch));
        durations.push(work.dur());
    }
    if found.keys().all(|(_, _, hash)| *hash == 0) {
        return None;
    }
    let mut rows: Vec<Group> = found
        .into_iter()
        .map(|((name, class, hash), (durations, of, by))| Group {
            name,
            class,
            hash,
            of,
            by,
            durations: Durations::new(durations),
            launch: Launch::default(),
        })
        .collect();
    sort::by_key(&mut rows, |row| (std::cmp::Reverse(row.durations.total()), row.of));
    // In file order, for the read cache.
    let mut order: Vec<usize> = (0..rows.len().min(MAX_READ)).collect();
    sort::by_key(&mut order, |at| trace.slices.offset(rows[*at].of as usize));
    let mut n_read = 0u64;
    for at in order {
        let Group { of, by, launch, .. } = &mut rows[at];
        if let Some(raw) = trace.args.get(trace.slices.args_of(*of as usize)) {
            *launch = Launch::read(&raw);
            n_read += 1;
        }
        if (launch.grid.is_empty() || launch.block.is_empty())
            && signature(*by).is_some()
            && let Some(raw) = trace.args.get(trace.slices.args_of(*by as usize))
        {
            launch.complete(Launch::read(&raw));
        }
    }
    if n_read == 0 {
        return None;
    }
    let used = gpu.devices.iter().map(|device| device.number);
    let n_sms = gpu.facts.common(used, |gpu| gpu.n_sms).filter(|n| *n > 0);
    let unused = |row: &Group| {
        if gpu.classes.get(row.class).is_communication {
            return None;
        }
        let by_grid = || Some(product(&row.launch.grid)? as f64 / n_sms? as f64);
        Some((1.0 - row.launch.blocks_per_sm.or_else(by_grid)?).clamp(0.0, 1.0))
    };
    // Time of each row alone: kernels that run beside large ones cost nothing, and several small ones may fill the GPU.
    let small: HashMap<(StringId, u32, u64), (usize, f64)> = (rows.iter().zip(0..))
        .filter_map(|(row, at)| {
            let unused = unused(row).filter(|unused| *unused > 0.0)?;
            Some(((row.name, row.class, row.hash), (at, unused)))
        })
        .collect();
    let row_of = |work: &Work| (work.kind == Kind::Kernel).then(|| small.get(&key(work))).flatten();
    let mut alone = vec![Alone::default(); rows.len()];
    if !small.is_empty() {
        let role = |work: &Work| match row_of(work) {
            Some((_, unused)) => Role { group: 0, used: 1.0 - unused },
            None => Role::of(1),
        };
        each_alone(gpu, &|work| Some(role(work)), &mut |work, ns| {
            if let Some(sum) = row_of(work).and_then(|(at, _)| alone.get_mut(*at)) {
                sum.add(ns);
            }
        });
    }
    let n_not_read = rows.len().saturating_sub(MAX_READ);
    let n_left_out = cut(&mut rows);
    let of_small = |get: fn(&Alone) -> f64| {
        let cell =
            |(row, alone)| unused(row).filter(|unused| *unused > 0.0).map(|_| get(alone).round() as i64);
        rows.iter().zip(&alone).map(cell).collect::<Vec<_>>()
    };
    let each = |get: &dyn Fn(&Durations) -> Option<i64>| {
        rows.iter().map(|row| get(&row.durations)).collect::<Vec<_>>()
    };
    let count = |get: &dyn Fn(&Launch) -> Option<u64>| rows.iter().map(|row| get(&row.launch)).collect();
    let number = |get: &dyn Fn(&Launch) -> Option<f64>| rows.iter().map(|row| get(&row.launch)).collect();
    let mut caption = "One row per kernel and launch configuration. Grid and block come from the launch call if the kernel has \
                       none. Occupancy is the profiler's estimate."
        .to_string();
    if n_not_read > 0 {
        caption.push_str(&format!(
            " {} with the least time {} not read.",
            counted(n_not_read as u64, "configuration", "configurations"),
            if n_not_read == 1 { "was" } else { "were" }
        ));
    }
    let mut table = Table::new(
        named.id(super::CONFIGURATIONS.id),
        named.title("Kernels by launch configuration"),
        vec![
            Column::key("grid", "grid", Content::Plain, texts(rows.iter().map(|row| shown(&row.launch.grid))))
                .hint("blocks in x, y and z"),
            Column::key("block", "block", Content::Plain, texts(rows.iter().map(|row| shown(&row.launch.block))))
                .hint("threads per block in x, y and z"),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.durations.count())),
            integers("total", "total", Unit::Ns, rows.iter().map(|row| row.durations.total())).with_bar(),
            Column::float(
                "share",
                "share",
                Unit::Ratio,
                rows.iter().map(|row| share(row.durations.total(), total)).collect(),
            )
            .hint("of the total duration of all kernels, copies and fills"),
            Column::integer("mean", "mean", Unit::Ns, each(&Durations::mean)),
            Column::integer("p50", "p50", Unit::Ns, each(&|row| row.quantile(0.5))),
            Column::integer("p99", "p99", Unit::Ns, each(&|row| row.quantile(0.99))),
            Column::unsigned("blocks", "blocks", Unit::Count, count(&|launch| product(&launch.grid))),
            Column::unsigned(
                "threads",
                "threads per block",
                Unit::Count,
                count(&|launch| product(&launch.block)),
            ),
            Column::unsigned(
                "registers",
                "registers per thread",
                Unit::Count,
                count(&|launch| launch.registers),
            )
            .as_key(),
            Column::unsigned("shared", "shared memory", Unit::Bytes, count(&|launch| launch.shared_bytes))
                .as_key()
                .hint("per block"),
            Column::float(
                "blocks_per_sm",
                &format!("blocks per {unit}"),
                Unit::Plain,
                number(&|launch| launch.blocks_per_sm),
            )
            .hint(&format!("grid size divided by the number of {unit}s")),
            Column::float("unused", &format!("unused {unit}s"), Unit::Ratio, rows.iter().map(unused).collect())
                .hint(&format!(
                    "share of {unit}s that get no thread block; not for communication kernels, which use few {unit}s on purpose"
                )),
            Column::integer("alone", "not overlapped", Unit::Ns, of_small(|alone| alone.ns))
                .hint(&format!(
                    "time in which only kernels with unused {unit}s ran on the GPU; divided equally among those that ran at once"
                ))
                .adds_up(),
            Column::integer("lost", &format!("unused {unit} time"), Unit::Ns, of_small(|alone| alone.unused))
                .hint(&format!("that time × the share of {unit}s without a thread block of any of them"))
                .adds_up(),
            Column::float(
                "warps_per_sm",
                &format!("{}s per {unit}", words.warp),
                Unit::Plain,
                number(&|launch| launch.warps_per_sm),
            ),
            Column::float("occupancy", "occupancy", Unit::Ratio, number(&|launch| launch.occupancy)),
            Column::text(
                "operation",
                "operation", Content::Plain,
                texts(rows.iter().map(|row| Some(&gpu.classes.get(row.class).operation))),
            ),
        ],
    )
    .caption(caption);
    let names = rows.iter().map(|row| trace.strings.get_opt(row.name));
    kernel_names::insert(&mut table.columns, 0, ("name", "name"), names);
    // By place of the column, so after the names.
    Some(with_left_out(table.sorted_by("total", true), n_left_out))
}
