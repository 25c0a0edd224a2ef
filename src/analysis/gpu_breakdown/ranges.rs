//! User annotations (`record_function`, steps, collectives), with the GPU activity launched in them.

use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::stats::{Durations, deviation, share};
use crate::analysis::gpu::{Kind, NamedTrace};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::{Column, Content, Table};
use crate::trace::slices::{Class, UNFINISHED};
use crate::trace::tracks::Place;

/// Annotations of one name, on the CPU or on the GPU.
struct Ranges {
    kind: Kind,
    name: StringId,
    durations: Durations,
    /// How many have no end; they count to the end of the trace.
    n_unfinished: u64,
    /// Total duration and number of kernels and copies launched in them; only for annotations on the CPU that begin and end on one
    /// thread: nobody knows what others are around.
    work: Option<(i64, u64)>,
}

/// The same while they are collected.
#[derive(Default)]
struct Found {
    durations: Vec<i64>,
    n_unfinished: u64,
    is_of_thread: bool,
}

/// One row per name and place (CPU or GPU). `None` without annotations.
pub fn table(named: &NamedTrace<'_, '_>) -> Option<Table> {
    let gpu = named.gpu;
    let slices = &gpu.trace.slices;
    let trace_end = gpu.trace.extent().map_or(0, |(_, end)| end);
    let mut found: HashMap<(Kind, StringId), Found> = HashMap::default();
    for i in 0..slices.len() {
        let kind = gpu.kind_of(i);
        if matches!(kind, Kind::Annotation | Kind::GpuAnnotation) {
            let of_name = found.entry((kind, gpu.group_name(i))).or_default();
            of_name.durations.push(slices.length(i, trace_end));
            of_name.n_unfinished += u64::from(slices.dur.get(i) == UNFINISHED);
            of_name.is_of_thread |= Class::of(slices.kind[i]) == Class::Thread;
        }
    }
    if found.is_empty() {
        return None;
    }
    let work = work_in(named);
    let total = gpu.work.iter().fold(0i64, |sum, work| sum.saturating_add(work.dur()));
    let mut rows: Vec<Ranges> = found
        .into_iter()
        .map(|((kind, name), of_name)| Ranges {
            kind,
            name,
            durations: Durations::new(of_name.durations),
            n_unfinished: of_name.n_unfinished,
            work: (kind == Kind::Annotation && of_name.is_of_thread)
                .then(|| work.get(&name).copied().unwrap_or((0, 0))),
        })
        .collect();
    let text = |id: StringId| gpu.group_text(id).unwrap_or("");
    sort::by(&mut rows, |a, b| {
        (a.kind, b.durations.total(), text(a.name)).cmp(&(b.kind, a.durations.total(), text(b.name)))
    });
    let n_left_out = cut(&mut rows);
    let each = |get: &dyn Fn(&Durations) -> Option<i64>| {
        rows.iter().map(|row| get(&row.durations)).collect::<Vec<_>>()
    };
    let place = |row: &Ranges| if row.kind == Kind::Annotation { "CPU" } else { "GPU" };
    let mut table = Table::new(
        named.id("ranges"),
        named.title("User annotations"),
        vec![
            Column::key("name", "name", Content::Symbol, texts(rows.iter().map(|row| Some(text(row.name))))),
            Column::key("where", "where", Content::Plain, texts(rows.iter().map(|row| Some(place(row))))),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.durations.count())),
            integers("total", "total", Unit::Ns, rows.iter().map(|row| row.durations.total())).with_bar(),
            Column::integer("mean", "mean", Unit::Ns, each(&Durations::mean)),
            Column::integer("deviation", "deviation", Unit::Ns, each(&deviation))
                .hint("standard deviation"),
            Column::integer("min", "min", Unit::Ns, each(&Durations::min)),
            Column::integer("max", "max", Unit::Ns, each(&Durations::max)),
            Column::integer("work_time", "kernel time", Unit::Ns, rows.iter().map(|row| Some(row.work?.0)).collect())
                .hint("total duration of kernels and copies launched inside, on the same thread"),
            Column::float(
                "work_share",
                "% of kernel time",
                Unit::Ratio,
                rows.iter().map(|row| share(row.work?.0, total)).collect(),
            ),
            Column::unsigned("work", "kernels", Unit::Count, rows.iter().map(|row| Some(row.work?.1)).collect())
                .hint("kernels, copies and fills launched inside"),
        ],
    )
    .caption(
        "Annotations such as record_function. On the GPU, an annotation spans the first to the last kernel or copy launched \
         inside. Consecutive ones may overlap there, so their times don't add up.",
    );
    if rows.iter().any(|row| row.n_unfinished > 0) {
        table.columns.push(
            Column::counts("unfinished", "unfinished", Unit::Count, rows.iter().map(|row| row.n_unfinished))
                .hint("without an end; they count to the end of the trace"),
        );
    }
    Some(with_left_out(table, n_left_out))
}

/// Total duration and number of kernels and copies by annotation name; nested annotations of one name count once.
fn work_in(named: &NamedTrace<'_, '_>) -> HashMap<StringId, (i64, u64)> {
    let gpu = named.gpu;
    let (slices, tracks) = (&gpu.trace.slices, &gpu.trace.tracks);
    let mut of_launch: HashMap<u32, (i64, u64)> = HashMap::default();
    for work in gpu.work.iter().filter(|work| work.launch != NONE) {
        let (time, n) = of_launch.entry(work.launch).or_default();
        (*time, *n) = (time.saturating_add(work.dur()), *n + 1);
    }
    // In order, to go through beside the slices: there may be many millions.
    let mut launches: Vec<(u32, (i64, u64))> = of_launch.into_iter().collect();
    sort::by_key(&mut launches, |launch| launch.0);
    let mut launches = launches.into_iter().peekable();
    let place = |slice: u32| tracks.place(slices.track[slice as usize]);
    // Annotations of each thread that may not have ended, in order of start, as slices are. Those that overlap only in part are on
    // tracks of their own, so not all of them are parents of the launch.
    let mut open: HashMap<Place, Vec<u32>> = HashMap::default();
    let mut sums: HashMap<StringId, (i64, u64)> = HashMap::default();
    let mut names: Vec<StringId> = Vec::new();
    for slice in 0..slices.len() as u32 {
        if gpu.kind_of(slice as usize) == Kind::Annotation {
            open.entry(place(slice)).or_default().push(slice);
        }
        let Some((_, (time, n))) = launches.next_if(|(launch, _)| *launch == slice) else { continue };
        names.clear();
        let mut at = slice;
        while let Some(range) = gpu.around(at, |_, kind| kind == Kind::Annotation) {
            names.push(gpu.group_name(range as usize));
            at = range;
        }
        // Of a call on a track of its own, the thread that made it.
        let caller = gpu.parent_of(slice).unwrap_or(slice);
        if let Some(open) = open.get_mut(&place(caller)) {
            let (start, end) = (slices.ts[slice as usize], gpu.end_of(slice));
            open.retain(|range| gpu.end_of(*range) >= start);
            let holding = open.iter().filter(|range| gpu.end_of(**range) >= end);
            names.extend(holding.map(|range| gpu.group_name(*range as usize)));
        }
        sort::by(&mut names, Ord::cmp);
        names.dedup();
        for name in &names {
            let (of_name, n_of_name) = sums.entry(*name).or_default();
            (*of_name, *n_of_name) = (of_name.saturating_add(time), *n_of_name + n);
        }
    }
    sums
}
