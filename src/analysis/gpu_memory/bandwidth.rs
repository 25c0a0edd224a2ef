//! Bytes moved by copies and fills, over time.

use crate::analysis::gpu::{GpuTrace, Kind, NamedTrace};
use crate::analysis::timeline::{integers, texts};
use crate::base::units::{Unit, format_ns};
use crate::report::chart::{Chart, Line, Lines, Over, Plot, Tone};
use crate::report::{Column, Content, Table};
use crate::trace::links::LinkTable;

/// Number of time intervals from the first kernel or copy to the end of the last.
const N_STRETCHES: usize = 100;

/// Directions of copies, by words in their names: those of Kineto, and those of XLA for CUDA and ROCm.
const WAYS: [(&[&str], &str); 5] = [
    (&["HtoD", "H2D", "HostToDevice"], "host to device"),
    (&["DtoH", "D2H", "DeviceToHost"], "device to host"),
    (&["DtoD", "D2D", "DeviceToDevice"], "device to device"),
    (&["PtoP", "P2P", "PeerToPeer"], "GPU to GPU"),
    (&["Memset"], "fills"),
];
const OTHER: &str = "other";

/// Bytes and time of one direction.
struct Way {
    name: &'static str,
    /// By interval.
    bytes: Vec<u64>,
    busy: Vec<i64>,
}

/// Chart and table; `None` if no copy has its size recorded.
pub fn over_time(named: &NamedTrace<'_, '_>) -> Option<(Chart, Table)> {
    let gpu = named.gpu;
    let start = gpu.work.first()?.start;
    let end = gpu.work.iter().map(|work| work.end).max()?;
    let length = end.saturating_sub(start).checked_div(N_STRETCHES as i64)?.max(1);
    let ways = ways(gpu, start, length);
    if ways.is_empty() {
        return None;
    }
    let zero = gpu.trace.span().map_or(0, |(start, _)| start);
    let at =
        |stretch: usize| start.saturating_sub(zero).saturating_add((stretch as i64).saturating_mul(length));
    let rate = |bytes: u64| bytes as f64 / (length as f64 / 1e9);
    let line = |(number, way): (usize, &Way)| {
        let points = way.bytes.iter().enumerate().map(|(stretch, bytes)| (at(stretch), rate(*bytes)));
        Line {
            name: way.name.to_string(),
            tone: Tone::Other(number as u8),
            points: points.chain([(at(way.bytes.len()), 0.0)]).collect(),
        }
    };
    let caption =
        format!("Copies and fills of all streams, averaged over intervals of {}.", format_ns(length));
    let chart = Chart {
        id: named.id("bandwidth_chart"),
        title: named.title("Bandwidth over time"),
        caption: caption.clone(),
        plot: Plot::Lines(Lines::new(
            ways.iter().enumerate().map(line).collect(),
            Unit::BytesPerSecond,
            Over::Time,
        )),
    };
    let rows: Vec<(usize, &Way)> = (0..=N_STRETCHES)
        .flat_map(|stretch| ways.iter().map(move |way| (stretch, way)))
        .filter(|(stretch, way)| way.bytes.get(*stretch).is_some_and(|bytes| *bytes > 0))
        .collect();
    let table = Table::new(
        named.id("bandwidth"),
        named.title("Bytes moved over time"),
        vec![
            integers("start", "start", Unit::NsOffset, rows.iter().map(|row| at(row.0))).as_key(),
            Column::key("way", "direction", Content::Plain, texts(rows.iter().map(|row| Some(row.1.name)))),
            Column::counts("bytes", "bytes", Unit::Bytes, rows.iter().map(|row| row.1.bytes[row.0])),
            Column::float(
                "bandwidth",
                "bandwidth",
                Unit::BytesPerSecond,
                rows.iter().map(|row| Some(rate(row.1.bytes[row.0]))).collect(),
            )
            .with_bar(),
            integers("busy", "busy time", Unit::Ns, rows.iter().map(|row| row.1.busy[row.0]))
                .hint("sum of durations; exceeds the interval where copies overlap"),
        ],
    )
    .caption(format!("{caption} Intervals without copies are left out."));
    Some((chart, table))
}

/// Bytes and time by direction and interval; directions without bytes are left out. The bytes of a copy are spread evenly over
/// its duration and add up exactly.
fn ways(gpu: &GpuTrace<'_>, start: i64, length: i64) -> Vec<Way> {
    let names = WAYS.iter().map(|way| way.1).chain([OTHER]);
    let empty = |name| Way { name, bytes: vec![0; N_STRETCHES + 1], busy: vec![0; N_STRETCHES + 1] };
    let mut ways: Vec<Way> = names.map(empty).collect();
    for work in gpu.work.iter().filter(|work| work.kind != Kind::Kernel) {
        let given = gpu.link_of(work).map(|link| link.bytes).filter(|bytes| *bytes != LinkTable::NONE);
        let Some(bytes) = given.and_then(|bytes| u64::try_from(bytes).ok()) else { continue };
        let name = gpu.name(work.slice);
        let way = WAYS.iter().position(|(words, _)| words.iter().any(|word| name.contains(word)));
        let way = way.unwrap_or(WAYS.len());
        let way = &mut ways[way];
        let dur = work.dur().max(1);
        let moved_by = |ts: i64| {
            let part = i128::from(ts.saturating_sub(work.start).clamp(0, dur));
            (i128::from(bytes) * part / i128::from(dur)) as u64
        };
        let end = work.start.saturating_add(dur);
        let stretch_at = |ts: i64| ts.saturating_sub(start) / length;
        let first = stretch_at(work.start).clamp(0, N_STRETCHES as i64);
        let last = stretch_at(end.saturating_sub(1)).clamp(first, N_STRETCHES as i64);
        for stretch in first..=last {
            let from = start.saturating_add(stretch.saturating_mul(length));
            let to = if stretch == last { end } else { from.saturating_add(length) };
            let from = if stretch == first { work.start } else { from };
            // Sizes in files may be absurdly large.
            let (bytes, busy) = (&mut way.bytes[stretch as usize], &mut way.busy[stretch as usize]);
            *bytes = bytes.saturating_add(moved_by(to).saturating_sub(moved_by(from)));
            *busy = busy.saturating_add(to.min(work.end).saturating_sub(from).max(0));
        }
    }
    ways.retain(|way| way.bytes.iter().any(|bytes| *bytes > 0));
    ways
}
