//! Queue depth: kernels and copies launched but not started.

use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::stats::SumNs;
use crate::analysis::gpu::{GpuTrace, NamedTrace};
use crate::analysis::timeline::{self, texts};
use crate::base::sort;
use crate::base::units::Unit;
use crate::report::chart::{Chart, Line, Lines, Over, Plot, Tone};
use crate::report::{Column, Content, Table};

/// The queue of one stream over time.
#[derive(Default)]
pub struct Queue {
    /// Time, and depth from then on; times ascend, consecutive depths differ.
    pub points: Vec<(i64, i32)>,
}

impl Queue {
    /// Queue of each stream: +1 at the start of a launch call, −1 at the start of its kernel, as HTA counts. At equal times the
    /// call comes first, so no depth is negative. A graph launch counts once, until its first kernel starts.
    pub fn all(gpu: &GpuTrace<'_>) -> Vec<Queue> {
        let mut changes: Vec<Vec<(i64, i32)>> = vec![Vec::new(); gpu.streams.len()];
        let mut last_launch = vec![NONE; gpu.streams.len()];
        let mut seen_graphs = crate::base::hash::HashSet::default();
        for work in &gpu.work {
            let stream = work.stream as usize;
            if work.timed_launch() == NONE {
                continue;
            }
            if gpu.is_graph_launch(work.launch) && !seen_graphs.insert((stream, work.launch)) {
                continue;
            }
            last_launch[stream] = work.launch;
            let call = gpu.trace.slices.ts[work.launch as usize];
            changes[stream].push((call.min(work.start), 1));
            changes[stream].push((work.start, -1));
        }
        changes
            .into_iter()
            .map(|mut changes| {
                changes.sort_unstable_by_key(|(ts, by)| (*ts, -by));
                Queue::of(&changes)
            })
            .collect()
    }

    fn of(changes: &[(i64, i32)]) -> Queue {
        let mut points: Vec<(i64, i32)> = Vec::new();
        let mut length = 0;
        for (ts, by) in changes {
            length += by;
            match points.last_mut() {
                Some(last) if last.0 == *ts => last.1 = length,
                _ => points.push((*ts, length)),
            }
        }
        points.dedup_by(|point, before| point.1 == before.1);
        Queue { points }
    }

    fn max(&self) -> Option<i32> {
        self.points.iter().map(|point| point.1).max()
    }

    /// Mean over time, from the first change to the last.
    fn mean(&self) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let area: f64 = self
            .points
            .windows(2)
            .map(|pair| f64::from(pair[0].1) * pair[1].0.saturating_sub(pair[0].0) as f64)
            .sum();
        (last.0 > first.0).then(|| area / last.0.saturating_sub(first.0) as f64)
    }

    /// Share of time with an empty queue, from the first change to the last.
    fn empty(&self) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let empty: i64 = self
            .points
            .windows(2)
            .filter(|pair| pair[0].1 == 0)
            .map(|pair| pair[1].0.saturating_sub(pair[0].0))
            .sum_ns();
        (last.0 > first.0).then(|| empty as f64 / last.0.saturating_sub(first.0) as f64)
    }
}

/// Maximum points of a line.
const MAX_POINTS: usize = 800;
/// Streams with a line of their own.
const MAX_LINES: usize = 6;

/// Queue depth over time, as a chart and a table. `None` if nothing was queued.
pub fn over_time(named: &NamedTrace<'_, '_>, queues: &[Queue]) -> Option<(Chart, Table)> {
    let gpu = named.gpu;
    let start = gpu.trace.span().map_or(0, |(start, _)| start);
    let mut queues: Vec<(usize, &Queue)> = queues.iter().enumerate().collect();
    queues.retain(|(_, queue)| queue.points.len() > 1);
    sort::by_key(&mut queues, |(stream, queue)| (std::cmp::Reverse(queue.points.len()), *stream));
    let n_more = queues.len().saturating_sub(MAX_LINES);
    let lines: Vec<Line> = queues
        .into_iter()
        .take(MAX_LINES)
        .enumerate()
        .map(|(number, (stream, queue))| {
            let name = gpu.stream_of_device_label(stream as u32);
            let points = queue
                .points
                .iter()
                .map(|(ts, length)| (ts.saturating_sub(start), f64::from(*length)))
                .collect();
            Line { name, tone: Tone::Other(number as u8), points }.at_most(MAX_POINTS)
        })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let caption = match n_more {
        0 => String::new(),
        n => format!("Streams with the most launches; {n} more in the table."),
    };
    let lines = Lines::new(lines, Unit::Count, Over::Time);
    let title = named.title("Queue depth over time");
    let columns = [("stream", "stream"), ("queued", "queue depth")];
    let table = timeline::over_time(named.id("queue_over_time"), title.clone(), &lines, columns);
    Some((Chart { id: named.id("queue_chart"), title, caption, plot: Plot::Lines(lines) }, table))
}

/// Queue statistics of all streams.
pub fn table(named: &NamedTrace<'_, '_>, queues: &[Queue]) -> Table {
    let gpu = named.gpu;
    let rows: Vec<(usize, &Queue)> =
        queues.iter().enumerate().filter(|(_, queue)| !queue.points.is_empty()).collect();
    let device = |stream: usize| gpu.device_label(gpu.streams[stream].device);
    Table::new(
        named.id("queues"),
        named.title("Queue depth"),
        vec![
            Column::key("device", "GPU", Content::Plain, texts(rows.iter().map(|row| Some(device(row.0))))),
            Column::key("stream", "stream", Content::Plain, texts(rows.iter().map(|row| Some(gpu.stream_label(row.0 as u32))))),
            Column::unsigned(
                "max",
                "max",
                Unit::Count,
                rows.iter().map(|row| row.1.max().and_then(|max| u64::try_from(max).ok())).collect(),
            )
            .with_bar(),
            Column::float("mean", "mean", Unit::Plain, rows.iter().map(|row| row.1.mean()).collect())
                .hint("time-weighted, from the first launch to the last start"),
            Column::float("empty", "empty", Unit::Ratio, rows.iter().map(|row| row.1.empty()).collect())
                .hint("share of that time with nothing queued"),
        ],
    )
    .caption(
        "Kernels and copies launched but not started. A queue that is rarely empty hides launch overhead; a mostly empty one means \
         the GPU is host-bound.",
    )
    .if_empty(super::launches::none_told(gpu))
}
