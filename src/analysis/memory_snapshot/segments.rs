//! Segments and their blocks at the end, and out-of-memory events.

use super::places::{Choice, Places};
use super::{Snapshot, device_column, ratio, signed};
use crate::analysis::timeline::{cut, texts, with_left_out};
use crate::base::sort;
use crate::base::units::Unit;
use crate::report::{Column, Content, Table};
use crate::trace::memory_snapshot::{Action, Segment, Usage};

/// Sums over segments, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fragmentation {
    pub n_segments: u64,
    /// Reserved.
    pub total: u64,
    pub allocated: u64,
    pub active: u64,
    /// `None` if some segment doesn't have it.
    pub requested: Option<u64>,
    pub inactive: u64,
    pub n_inactive: u64,
    pub largest_inactive: u64,
}

impl Fragmentation {
    pub fn of<'a>(segments: impl IntoIterator<Item = &'a Segment>) -> Fragmentation {
        let mut sum = Fragmentation { requested: Some(0), ..Fragmentation::default() };
        for segment in segments {
            let (inactive, n_inactive, largest) = segment.inactive();
            sum.n_segments += 1;
            sum.total = sum.total.saturating_add(segment.total_size);
            sum.allocated = sum.allocated.saturating_add(segment.allocated_size);
            sum.active = sum.active.saturating_add(segment.active_size);
            sum.requested = sum.requested.zip(segment.requested()).map(|(sum, own)| sum.saturating_add(own));
            sum.inactive = sum.inactive.saturating_add(inactive);
            sum.n_inactive += n_inactive;
            sum.largest_inactive = sum.largest_inactive.max(largest);
        }
        sum
    }

    /// Active bytes beyond what was asked for, if that is known.
    pub fn rounding(&self) -> Option<u64> {
        Some(self.active.saturating_sub(self.requested?))
    }
}

/// Columns of sums.
fn columns(rows: &[Fragmentation]) -> Vec<Column> {
    let bytes = |id: &'static str, label: &str, hint: &str, get: fn(&Fragmentation) -> Option<u64>| {
        Column::integer(id, label, Unit::Bytes, rows.iter().map(|row| get(row).map(signed)).collect())
            .hint(hint)
            .adds_up()
    };
    vec![
        bytes("reserved", "reserved", "held from the driver", |it| Some(it.total)).with_bar(),
        bytes("allocated", "allocated", "not freed by the program", |it| Some(it.allocated)),
        bytes("active", "active", "allocated, or freed but still used by a stream", |it| Some(it.active)),
        bytes("requested", "requested", "what active blocks were asked for", |it| it.requested),
        bytes("rounding", "rounding", "active beyond what was asked for", Fragmentation::rounding),
        bytes("inactive", "inactive", "in no active block", |it| Some(it.inactive)),
        Column::float(
            "inactive_share",
            "% inactive",
            Unit::Ratio,
            rows.iter().map(|row| ratio(row.inactive, row.total)).collect(),
        ),
        Column::counts(
            "inactive_blocks",
            "inactive blocks",
            Unit::Count,
            rows.iter().map(|row| row.n_inactive),
        )
        .adds_up(),
        Column::integer(
            "largest_inactive",
            "largest inactive",
            Unit::Bytes,
            rows.iter().map(|row| Some(signed(row.largest_inactive))).collect(),
        )
        .hint("largest inactive block: larger requests need a new segment")
        .by_row(),
    ]
}

/// Pool of a segment: its kind, and its number if it isn't the default one.
fn pool_name(snapshot: &Snapshot<'_>, segment: &Segment) -> String {
    let kind = snapshot.trace.strings.get_opt(segment.kind).unwrap_or("unknown");
    let kind = if segment.is_expandable { format!("{kind}, expandable") } else { kind.to_string() };
    match private_pool(segment) {
        None => kind,
        Some(pool) => format!("{kind}, {pool}"),
    }
}

/// Name of the pool of a segment; `None` for the default one.
fn private_pool(segment: &Segment) -> Option<String> {
    let (a, b) = segment.pool;
    (segment.pool != (0, 0)).then(|| format!("private pool ({a}, {b})"))
}

/// Sums by device, pool and stream.
pub fn pools(snapshot: &Snapshot<'_>, id: String, title: String) -> Table {
    let key = |segment: &Segment| (segment.device, pool_name(snapshot, segment), segment.stream);
    let mut segments: Vec<&Segment> = snapshot.snapshot.segments.iter().collect();
    sort::by_cached_key(&mut segments, |segment| key(segment));
    let groups = segments.chunk_by(|a, b| key(a) == key(b));
    let mut groups: Vec<(&Segment, Fragmentation)> =
        groups.map(|group| (group[0], Fragmentation::of(group.iter().copied()))).collect();
    sort::by_key(&mut groups, |(_, sum)| std::cmp::Reverse(sum.total));
    let (firsts, sums): (Vec<&Segment>, Vec<Fragmentation>) = groups.into_iter().unzip();
    let mut all = vec![
        device_column(firsts.iter().map(|it| it.device as usize)),
        Column::key(
            "pool",
            "pool",
            Content::Plain,
            texts(firsts.iter().map(|it| Some(pool_name(snapshot, it)))),
        ),
        Column::integer("stream", "stream", Unit::Id, firsts.iter().map(|it| Some(it.stream)).collect())
            .as_key(),
        Column::counts("segments", "segments", Unit::Count, sums.iter().map(|sum| sum.n_segments)).adds_up(),
    ];
    all.extend(columns(&sums));
    Table::new(id, title, all)
        .sorted_by("reserved", true)
        .caption("One row per device, pool and stream, when the snapshot was taken.")
        .if_empty("The snapshot has no segments.")
}

/// One row for each segment.
pub fn all(snapshot: &Snapshot<'_>, id: String, title: String) -> Table {
    let mut segments: Vec<&Segment> = snapshot.snapshot.segments.iter().collect();
    sort::by_key(&mut segments, |segment| std::cmp::Reverse(segment.total_size));
    let n_left_out = cut(&mut segments);
    let sums: Vec<Fragmentation> = segments.iter().map(|segment| Fragmentation::of([*segment])).collect();
    let mut own = vec![
        device_column(segments.iter().map(|it| it.device as usize)),
        Column::integer(
            "address",
            "address",
            Unit::Address,
            segments.iter().map(|it| Some(it.address)).collect(),
        )
        .as_key(),
        Column::text(
            "pool",
            "pool",
            Content::Plain,
            texts(segments.iter().map(|it| Some(pool_name(snapshot, it)))),
        ),
        Column::integer("stream", "stream", Unit::Id, segments.iter().map(|it| Some(it.stream)).collect()),
        Column::counts("blocks", "blocks", Unit::Count, segments.iter().map(|it| it.blocks.len() as u64)),
    ];
    own.extend(columns(&sums));
    let table = Table::new(id, title, own)
        .sorted_by("reserved", true)
        .caption("One row per segment, when the snapshot was taken.")
        .if_empty("The snapshot has no segments.")
        .not_compared();
    with_left_out(table, n_left_out)
}

/// An out-of-memory event.
pub struct OutOfMemory {
    pub device: usize,
    /// Index in the events of the device.
    pub row: usize,
    pub requested: i64,
    pub device_free: i64,
    pub usage: Usage,
    /// Bytes of the inactive blocks, and of the largest one; `None` if the allocator changed between the event and the end, or the
    /// blocks are unknown.
    pub inactive: Option<(u64, u64)>,
}

/// Bytes up to which requests are for the small pool.
const SMALL_REQUEST: i64 = 1 << 20;

impl OutOfMemory {
    /// Reserved bytes that were in no active block; at most that where the blocks are unknown.
    pub fn unused(&self) -> i64 {
        match self.inactive {
            Some((bytes, _)) => signed(bytes),
            None => self.usage.reserved.saturating_sub_unsigned(self.usage.in_blocks).max(0),
        }
    }

    /// Bytes of the segment that the allocator reserves where no block fits: 2 MiB for requests of up to 1 MiB, 20 MiB for those below
    /// 10 MiB, else the request as a multiple of 2 MiB.
    pub fn new_segment(&self) -> i64 {
        const MIB: i64 = 1 << 20;
        match self.requested {
            ..=SMALL_REQUEST => 2 * MIB,
            requested if requested < 10 * MIB => 20 * MIB,
            requested => requested.saturating_add(2 * MIB - 1) / (2 * MIB) * (2 * MIB),
        }
    }

    /// What blocks of a segment have that the request could not use, such as another stream; empty if it could use them.
    fn apart(&self, snapshot: &Snapshot<'_>, segment: &Segment) -> Vec<String> {
        let stream = snapshot.snapshot.devices.get(self.device).and_then(|it| it.events.stream.get(self.row));
        let mut apart = Vec::new();
        if let Some(stream) = stream.filter(|stream| **stream != segment.stream) {
            apart.push(format!("stream {} (the request: stream {stream})", segment.stream));
        }
        apart.extend(private_pool(segment));
        let kind = if self.requested <= SMALL_REQUEST { "small" } else { "large" };
        let own = snapshot.trace.strings.get_opt(segment.kind);
        if let Some(own @ ("small" | "large")) = own.filter(|own| *own != kind) {
            apart.push(format!("the {own} pool (the request: {kind})"));
        }
        apart
    }

    /// Inactive blocks for the request; `None` as for [`OutOfMemory::inactive`].
    pub fn blocks(&self, snapshot: &Snapshot<'_>) -> Option<InactiveBlocks> {
        self.inactive?;
        let mut blocks = InactiveBlocks::default();
        for segment in snapshot.snapshot.segments_of(self.device) {
            let (bytes, _, largest) = segment.inactive();
            if bytes == 0 {
                continue;
            }
            let apart = self.apart(snapshot, segment);
            if apart.is_empty() {
                blocks.usable = blocks.usable.saturating_add(bytes);
                blocks.largest_usable = blocks.largest_usable.max(largest);
            } else if largest > blocks.largest_other {
                blocks.largest_other = largest;
                blocks.other = apart.join(" and ");
            }
        }
        Some(blocks)
    }
}

/// Inactive blocks by whether a request could use them: the allocator hands out blocks of the stream and of the pool only. Which
/// private pool a request is for is not recorded, so all of them count as others.
#[derive(Default)]
pub struct InactiveBlocks {
    /// Bytes of those that it could use.
    pub usable: u64,
    pub largest_usable: u64,
    pub largest_other: u64,
    /// Where the largest other one belongs.
    pub other: String,
}

/// All of them, in order.
pub fn all_out_of_memory(snapshot: &Snapshot<'_>) -> Vec<OutOfMemory> {
    let mut all = Vec::new();
    for (number, device) in snapshot.devices() {
        let events = &device.events;
        if !events.action.contains(&Action::Oom) {
            continue;
        }
        let is_change = |action: &Action| {
            !matches!(action, Action::Oom | Action::Snapshot | Action::WorkspaceSnapshot | Action::Skipped)
        };
        let n_before_end = events.action.iter().rposition(is_change).map_or(0, |last| last + 1);
        let end = &snapshot.at_end[number];
        let has_blocks = end.n_segments > 0 && snapshot.snapshot.segments_of(number).all(Segment::has_blocks);
        snapshot.snapshot.replay(number, |row, usage| {
            let Some(row) = row.filter(|row| events.action[*row] == Action::Oom) else { return };
            let is_known = row >= n_before_end && has_blocks;
            all.push(OutOfMemory {
                device: number,
                row,
                requested: events.size[row],
                device_free: events.address[row],
                usage,
                inactive: is_known.then_some((end.inactive, end.largest_inactive)),
            });
        });
    }
    all
}

pub fn out_of_memory(snapshot: &Snapshot<'_>, id: String, title: String) -> Table {
    let mut rows = all_out_of_memory(snapshot);
    let n_left_out = cut(&mut rows);
    let number = |id: &'static str, label: &str, unit, get: &dyn Fn(&OutOfMemory) -> Option<i64>| {
        Column::integer(id, label, unit, rows.iter().map(get).collect())
    };
    let mut places = Places::new(snapshot.trace, Choice::Program);
    let stack = |it: &OutOfMemory| snapshot.snapshot.devices[it.device].events.stack[it.row];
    let place_of: Vec<usize> = rows.iter().map(|it| places.number(stack(it))).collect();
    let time = |it: &OutOfMemory| snapshot.snapshot.devices[it.device].events.time_us[it.row];
    let table = Table::new(
        id,
        title,
        vec![
            device_column(rows.iter().map(|it| it.device)),
            number("index", "event", Unit::Id, &|it| Some(signed(it.row as u64)))
                .hint("index in the file, counted from zero")
                .as_key(),
            number("at", "time", Unit::NsOffset, &|it| snapshot.offset(time(it))),
            Column::text(
                "function",
                "function",
                Content::Symbol,
                texts(place_of.iter().map(|at| Some(&*places.get(*at).function))),
            ),
            Column::text(
                "file",
                "file",
                Content::Path,
                texts(place_of.iter().map(|at| Some(&*places.get(*at).file))),
            ),
            Column::integer(
                "line",
                "line",
                Unit::Id,
                place_of.iter().map(|at| places.get(*at).line).collect(),
            ),
            number("requested", "requested", Unit::Bytes, &|it| Some(it.requested)),
            number("device_free", "free on device", Unit::Bytes, &|it| Some(it.device_free)),
            number("reserved", "reserved", Unit::Bytes, &|it| Some(it.usage.reserved)),
            number("active", "active", Unit::Bytes, &|it| Some(signed(it.usage.active))),
            number("unused", "reserved, not active", Unit::Bytes, &|it| Some(it.unused()))
                .hint("in no active block; at most that if something changed until the snapshot was taken"),
            number("largest_inactive", "largest inactive", Unit::Bytes, &|it| {
                it.inactive.map(|(_, largest)| signed(largest))
            })
            .hint("largest inactive block; known if nothing changed until the snapshot was taken"),
        ],
    )
    .not_compared()
    .if_empty("No out-of-memory events.");
    with_left_out(table, n_left_out)
}
