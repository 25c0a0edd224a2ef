//! Ranges that the program named (`record_function`, steps, collectives), with the work that was launched in them.

use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::stats::{Durations, deviation, share};
use crate::analysis::gpu::{Kind, Named};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::strings::StringId;
use crate::base::units::Unit;
use crate::report::{Column, Table};

/// Ranges of one name, on the CPU or on the GPU.
struct Ranges {
    kind: Kind,
    name: StringId,
    durations: Durations,
    /// Durations and number of the work launched in them; of ranges on the CPU only.
    work: Option<(i64, u64)>,
}

/// A row for each name, on the CPU and on the GPU. `None` without ranges.
pub fn table(named: &Named<'_, '_>) -> Option<Table> {
    let gpu = named.gpu;
    let slices = &gpu.trace.slices;
    let mut found: HashMap<(Kind, StringId), Vec<i64>> = HashMap::default();
    for i in 0..slices.len() {
        let kind = gpu.kinds.get(slices.category[i]);
        if matches!(kind, Kind::Annotation | Kind::GpuAnnotation) && slices.dur.get(i) >= 0 {
            found.entry((kind, slices.name[i])).or_default().push(slices.dur.get(i));
        }
    }
    if found.is_empty() {
        return None;
    }
    let work = work_in(named);
    let total = gpu.work.iter().fold(0i64, |sum, work| sum.saturating_add(work.dur()));
    let mut rows: Vec<Ranges> = found
        .into_iter()
        .map(|((kind, name), durations)| Ranges {
            kind,
            name,
            durations: Durations::new(durations),
            work: (kind == Kind::Annotation).then(|| work.get(&name).copied().unwrap_or((0, 0))),
        })
        .collect();
    let text = |id: StringId| gpu.trace.strings.get_opt(id).unwrap_or("");
    rows.sort_by(|a, b| {
        (a.kind, b.durations.total(), text(a.name)).cmp(&(b.kind, a.durations.total(), text(b.name)))
    });
    let n_left_out = cut(&mut rows);
    let each = |get: &dyn Fn(&Durations) -> Option<i64>| {
        rows.iter().map(|row| get(&row.durations)).collect::<Vec<_>>()
    };
    let place = |row: &Ranges| if row.kind == Kind::Annotation { "CPU" } else { "GPU" };
    let table = Table::new(
        named.id("ranges"),
        named.title("Ranges named by the program"),
        vec![
            Column::key("name", "name", texts(rows.iter().map(|row| Some(text(row.name))))),
            Column::key("where", "where", texts(rows.iter().map(|row| Some(place(row))))),
            Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.durations.count())),
            integers("total", "total", Unit::Ns, rows.iter().map(|row| row.durations.total())).with_bar(),
            Column::integer("mean", "mean", Unit::Ns, each(&Durations::mean)),
            Column::integer("deviation", "deviation", Unit::Ns, each(&deviation))
                .hint("standard deviation of the single ranges"),
            Column::integer("min", "min", Unit::Ns, each(&Durations::min)),
            Column::integer("max", "max", Unit::Ns, each(&Durations::max)),
            Column::integer("work_time", "GPU work", Unit::Ns, rows.iter().map(|row| Some(row.work?.0)).collect())
                .hint("durations of the work launched in it, on the thread of the range"),
            Column::float(
                "work_share",
                "share of GPU work",
                Unit::Ratio,
                rows.iter().map(|row| share(row.work?.0, total)).collect(),
            ),
            Column::unsigned("work", "work", Unit::Count, rows.iter().map(|row| Some(row.work?.1)).collect())
                .hint("kernels, copies and fills launched in it"),
        ],
    )
    .caption(
        "Ranges such as those of record_function. On the CPU they are as long as the program was in them; on the GPU from the first to \
         the last work that was launched in them, so ranges that follow each other may overlap there, and their times do not add up.",
    );
    Some(with_left_out(table, n_left_out))
}

/// Durations and number of the work launched in ranges of each name; in ranges inside of others of their name it counts once.
fn work_in(named: &Named<'_, '_>) -> HashMap<StringId, (i64, u64)> {
    let gpu = named.gpu;
    let mut sums: HashMap<StringId, (i64, u64)> = HashMap::default();
    let mut seen: HashMap<u32, Vec<StringId>> = HashMap::default();
    for work in gpu.work.iter().filter(|work| work.launch != NONE) {
        let around = seen.entry(work.launch).or_insert_with(|| {
            let mut names = Vec::new();
            let mut at = work.launch;
            while let Some(range) = gpu.around(at, |_, kind| kind == Kind::Annotation) {
                names.push(gpu.trace.slices.name[range as usize]);
                at = range;
            }
            names.sort_unstable();
            names.dedup();
            names
        });
        for name in around {
            let (time, n) = sums.entry(*name).or_default();
            (*time, *n) = (time.saturating_add(work.dur()), *n + 1);
        }
    }
    sums
}
