//! Tables of layers.

use super::{Basis, Layer, Layers};
use crate::analysis::gpu::active::per_step;
use crate::analysis::gpu::stats::{Durations, SumNs, share};
use crate::analysis::gpu::steps::NO_STEP;
use crate::analysis::gpu::{GpuTrace, NamedTrace, kernel_names};
use crate::analysis::timeline::{cut, integers, texts, with_left_out};
use crate::base::hash::HashMap;
use crate::base::sort;
use crate::base::strings::StringId;
use crate::base::units::{Unit, counted};
use crate::report::{Column, Content, Table};
use std::collections::BTreeSet;

/// What layers are kept apart by: phase, since their kernels differ, and device.
type Place = (&'static str, u32);

fn place(gpu: &GpuTrace<'_>, layer: &Layer) -> Place {
    (gpu.annotation(layer.step).map_or("", |what| what.phase.name()), layer.device)
}

/// Columns of the phases and, if there are several, of the GPUs of rows.
fn place_columns(
    gpu: &GpuTrace<'_>,
    layers: &Layers,
    places: impl Iterator<Item = Place> + Clone,
) -> Vec<Column> {
    let phases = places.clone().map(|(phase, _)| Some(phase).filter(|phase| !phase.is_empty()));
    let mut columns = vec![Column::key("phase", "phase", Content::Plain, texts(phases))];
    if layers.n_devices() > 1 {
        let devices = texts(places.map(|(_, device)| Some(gpu.device_label(device))));
        columns.push(Column::key("device", "GPU", Content::Plain, devices));
    }
    columns
}

/// A layer of a phase, over all steps.
struct OfLayer {
    place: Place,
    number: u32,
    busy: Durations,
    length: Durations,
    kernels: u64,
    steps: u64,
}

/// One row per layer of a step.
pub fn layers(named: &NamedTrace<'_, '_>, layers: &Layers) -> Table {
    let gpu = named.gpu;
    let mut by_key: HashMap<(Place, u32), Vec<&Layer>> = HashMap::default();
    for layer in &layers.layers {
        by_key.entry((place(gpu, layer), layer.number)).or_default().push(layer);
    }
    let length = |layer: &&Layer| {
        let first = layer.work.first().map_or(0, |at| gpu.work[*at].start);
        layer.work.iter().map(|at| gpu.work[*at].end).max().unwrap_or(first).saturating_sub(first)
    };
    let mut rows: Vec<OfLayer> = by_key
        .into_iter()
        .map(|((place, number), layers)| OfLayer {
            place,
            number,
            busy: Durations::new(layers.iter().map(|layer| layer.busy(gpu)).collect()),
            length: Durations::new(layers.iter().map(length).collect()),
            kernels: layers.iter().map(|layer| layer.work.len() as u64).sum(),
            steps: layers.len() as u64,
        })
        .collect();
    sort::by_key(&mut rows, |row| (row.place, row.number));
    let n_left_out = cut(&mut rows);
    let mut columns = place_columns(gpu, layers, rows.iter().map(|row| row.place));
    columns.extend([
        Column::counts("layer", "layer", Unit::Id, rows.iter().map(|row| u64::from(row.number))).as_key(),
        Column::counts("steps", "steps", Unit::Count, rows.iter().map(|row| row.steps)),
        Column::integer("busy", "busy, mean", Unit::Ns, rows.iter().map(|row| row.busy.mean()).collect())
            .with_bar(),
        Column::integer("busy_max", "busy, max", Unit::Ns, rows.iter().map(|row| row.busy.max()).collect()),
        Column::integer(
            "length",
            "duration, mean",
            Unit::Ns,
            rows.iter().map(|row| row.length.mean()).collect(),
        )
        .hint("from the first kernel to the end of the last, including gaps"),
        Column::float(
            "kernels",
            "kernels, mean",
            Unit::Plain,
            rows.iter().map(|row| Some(row.kernels as f64 / row.steps.max(1) as f64)).collect(),
        ),
    ]);
    let table = Table::new(named.id("layers"), named.title("Layers"), columns).caption(caption(gpu, layers));
    with_left_out(table, n_left_out)
}

fn caption(gpu: &GpuTrace<'_>, layers: &Layers) -> String {
    let steps: BTreeSet<u32> =
        layers.layers.iter().map(|layer| layer.step).filter(|step| *step != NO_STEP).collect();
    let over = if steps.is_empty() {
        "in the whole trace".to_string()
    } else {
        format!("in {}", counted(steps.len() as u64, "step", "steps"))
    };
    let of_each = if layers.n_devices() > 1 { " of each GPU" } else { "" };
    match layers.basis {
        Basis::Mixer => format!(
            "A layer starts with {mixers} and runs to the first {mixers} kernel after a matrix product (after any other kernel where \
             there are none), on the stream{of_each} with the most of them, {over}. Kernels before the first layer of a step belong to none; those after the last, such as \
             sampling, belong to the last layer.",
            mixers = layers.mixers(gpu)
        ),
        Basis::Repeated => format!(
            "A layer is one repetition of a kernel sequence, on the stream{of_each} with the most kernels, {over}. Kernels that \
             don't repeat belong to no layer. Without step annotations, a repetition may be a whole step."
        ),
    }
}

/// One row per operation and layer.
pub fn operations(named: &NamedTrace<'_, '_>, layers: &Layers) -> Table {
    let gpu = named.gpu;
    let mut found: HashMap<(Place, u32, &str), Vec<i64>> = HashMap::default();
    let mut n_layers: HashMap<(Place, u32), (u64, i64)> = HashMap::default();
    for layer in &layers.layers {
        let place = place(gpu, layer);
        let (n, time) = n_layers.entry((place, layer.number)).or_default();
        *n += 1;
        for work in layer.work.iter().map(|at| &gpu.work[*at]) {
            let operation = gpu.class(work).operation.as_str();
            found.entry((place, layer.number, operation)).or_default().push(work.dur());
            *time = time.saturating_add(work.dur());
        }
    }
    let of_layer = |place: Place, number: u32| n_layers.get(&(place, number)).copied().unwrap_or((0, 0));
    let mut rows: Vec<((Place, u32, &str), Durations)> =
        found.into_iter().map(|(key, durations)| (key, Durations::new(durations))).collect();
    sort::by(&mut rows, |a, b| (a.0.0, a.0.1, b.1.total(), a.0.2).cmp(&(b.0.0, b.0.1, a.1.total(), b.0.2)));
    let n_left_out = cut(&mut rows);
    let each =
        |get: &dyn Fn(&Durations) -> Option<i64>| rows.iter().map(|row| get(&row.1)).collect::<Vec<_>>();
    let mut columns = place_columns(gpu, layers, rows.iter().map(|row| row.0.0));
    columns.extend([
        Column::counts("layer", "layer", Unit::Id, rows.iter().map(|row| u64::from(row.0.1))).as_key(),
        Column::key("operation", "operation", Content::Plain, texts(rows.iter().map(|row| Some(row.0.2)))),
        Column::counts("count", "count", Unit::Count, rows.iter().map(|row| row.1.count())),
        integers("total", "total", Unit::Ns, rows.iter().map(|row| row.1.total())).with_bar(),
        Column::integer(
            "per_step",
            "per step",
            Unit::Ns,
            rows.iter().map(|row| per_step(row.1.total(), of_layer(row.0.0, row.0.1).0)).collect(),
        )
        .hint("total divided by the steps that have the layer"),
        Column::float(
            "share",
            "% of layer",
            Unit::Ratio,
            rows.iter().map(|row| share(row.1.total(), of_layer(row.0.0, row.0.1).1)).collect(),
        ),
        Column::integer("mean", "mean", Unit::Ns, each(&Durations::mean)),
        Column::integer("p50", "p50", Unit::Ns, each(&|row| row.quantile(0.5))),
        Column::integer("p99", "p99", Unit::Ns, each(&|row| row.quantile(0.99))),
    ]);
    with_left_out(
        Table::new(named.id("layer_operations"), named.title("Operations by layer"), columns),
        n_left_out,
    )
}

/// A kernel in all layers of a phase.
struct OfKernel {
    place: Place,
    name: StringId,
    class: u32,
    durations: Durations,
    layers: u64,
    slowest: u32,
}

/// Phase and device, name and class.
type KernelKey = (Place, StringId, u32);

/// One row per kernel, over all layers.
pub fn kernels(named: &NamedTrace<'_, '_>, layers: &Layers) -> Table {
    let gpu = named.gpu;
    let mut found: HashMap<KernelKey, Vec<(u32, i64)>> = HashMap::default();
    let mut instances: HashMap<Place, u64> = HashMap::default();
    for layer in &layers.layers {
        let place = place(gpu, layer);
        *instances.entry(place).or_default() += 1;
        for work in layer.work.iter().map(|at| &gpu.work[*at]) {
            let name = gpu.trace.slices.name[work.slice as usize];
            found.entry((place, name, work.class)).or_default().push((layer.number, work.dur()));
        }
    }
    let mut rows: Vec<OfKernel> = found
        .into_iter()
        .map(|((place, name, class), mut times)| {
            sort::by_key(&mut times, |(number, _)| *number);
            let mean = |layer: &[(u32, i64)]| {
                layer.iter().map(|(_, ns)| *ns).sum_ns() / i64::try_from(layer.len()).unwrap_or(i64::MAX)
            };
            let by_layer: Vec<(i64, u32)> =
                times.chunk_by(|a, b| a.0 == b.0).map(|layer| (mean(layer), layer[0].0)).collect();
            // At equal means, the first layer.
            let slowest = by_layer.iter().max_by_key(|(mean, number)| (*mean, u32::MAX - number));
            OfKernel {
                place,
                name,
                class,
                layers: by_layer.len() as u64,
                slowest: slowest.map_or(0, |(_, number)| *number),
                durations: Durations::new(times.into_iter().map(|(_, ns)| ns).collect()),
            }
        })
        .collect();
    let text = |id: StringId| gpu.trace.strings.get_opt(id).unwrap_or("");
    sort::by(&mut rows, |a, b| {
        (a.place, b.durations.total(), text(a.name), a.class).cmp(&(
            b.place,
            a.durations.total(),
            text(b.name),
            b.class,
        ))
    });
    let mut totals: HashMap<Place, i64> = HashMap::default();
    for row in &rows {
        let total = totals.entry(row.place).or_default();
        *total = total.saturating_add(row.durations.total());
    }
    let n_left_out = cut(&mut rows);
    let each = |get: &dyn Fn(&Durations) -> Option<i64>| {
        rows.iter().map(|row| get(&row.durations)).collect::<Vec<_>>()
    };
    let n_of = |place: &Place| instances.get(place).copied().unwrap_or(0);
    let mut columns = place_columns(gpu, layers, rows.iter().map(|row| row.place));
    let n_places = columns.len();
    columns.extend([
        Column::key(
            "operation",
            "operation",
            Content::Plain,
            texts(rows.iter().map(|row| Some(&gpu.classes.get(row.class).operation))),
        ),
        Column::float(
            "per_layer",
            "count per layer",
            Unit::Plain,
            rows.iter()
                .map(|row| {
                    let n = n_of(&row.place);
                    (n > 0).then(|| row.durations.count() as f64 / n as f64)
                })
                .collect(),
        ),
        Column::counts("layers", "in layers", Unit::Count, rows.iter().map(|row| row.layers))
            .hint("number of layers in a step that have it"),
        integers("total", "total", Unit::Ns, rows.iter().map(|row| row.durations.total())).with_bar(),
        Column::float(
            "share",
            "% of layers",
            Unit::Ratio,
            rows.iter()
                .map(|row| share(row.durations.total(), totals.get(&row.place).copied().unwrap_or(0)))
                .collect(),
        ),
        Column::integer("mean", "mean", Unit::Ns, each(&Durations::mean)),
        Column::integer("p50", "p50", Unit::Ns, each(&|row| row.quantile(0.5))),
        Column::integer("p99", "p99", Unit::Ns, each(&|row| row.quantile(0.99))),
        Column::counts("slowest", "slowest layer", Unit::Id, rows.iter().map(|row| u64::from(row.slowest)))
            .hint("layer with the largest mean"),
    ]);
    kernel_names::insert(
        &mut columns,
        n_places,
        ("name", "name"),
        rows.iter().map(|row| Some(text(row.name))),
    );
    with_left_out(Table::new(named.id("layer_kernels"), named.title("Kernels by layer"), columns), n_left_out)
}
