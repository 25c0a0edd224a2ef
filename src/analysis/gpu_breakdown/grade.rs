//! Detail grade of a trace: the data recorded about GPU activity, and what needs the missing data.

use crate::analysis::gpu::advice::Way;
use crate::analysis::gpu::model::NONE;
use crate::analysis::gpu::stats::share;
use crate::analysis::gpu::steps::NO_STEP;
use crate::analysis::gpu::{GpuTrace, Kind, Lack, Tool};
use crate::analysis::timeline::texts;
use crate::base::units::{Unit, counted, group_digits};
use crate::report::{Column, Content, Table};
use crate::trace::builder::find_member;
use crate::trace::losses::Loss;
use std::borrow::Cow;

/// The row on what of the file was not read.
pub const WHOLE_FILE: &str = "whole file";

/// Note on frames that were recorded, but none of them around a launch.
pub const NO_FRAMES_AROUND: &str = "with_stack was on, but no Python frame is around a launch";

/// Meaning of the grades.
pub const HINT: &str = "A: launches, operators, Python frames and steps for at least 95% of kernel time. B: launches and two of \
                        the others. C: launches for half of kernel time. D: less. A and B also need device records for 95% of \
                        launches, C for half";

/// Share of kernel time that counts as complete.
pub const ENOUGH: f64 = 0.95;

/// Number of operators checked for shapes.
const N_LOOKED_AT: usize = 64;

/// Shares of kernel time linked to each kind of data.
pub struct Grade {
    rows: Vec<Row>,
    has_work: bool,
    /// Share of kernel and graph launches with a device record; 1 without launches.
    recorded: f64,
}

struct Row {
    what: &'static str,
    /// What a trace without it lacks; `None` if no tool records it.
    lack: Option<Lack>,
    /// Share of kernel time; `None` where that doesn't apply.
    coverage: Option<f64>,
    has: bool,
    /// Results that need it.
    without: &'static str,
    /// Why it may be missing.
    note: String,
}

impl Row {
    fn is_complete(&self) -> bool {
        self.has && self.coverage.is_none_or(|share| share >= ENOUGH)
    }

    /// Adds how to record it to the note.
    fn add_advice(&mut self, gpu: &GpuTrace<'_>) {
        let advice = match self.lack.map(|lack| gpu.way(lack)) {
            Some(Way::Do(how)) => how.to_string(),
            Some(Way::Never) => Tool::of(gpu.trace).not_in_files(),
            Some(Way::Unknown) | None => return,
        };
        self.note = if self.note.is_empty() { advice } else { format!("{}. {advice}", self.note) };
    }
}

/// Context of a launch.
struct Around {
    launch: u32,
    is_graph: bool,
    has_frame: bool,
    has_module: bool,
}

impl Default for Around {
    fn default() -> Around {
        Around { launch: NONE, is_graph: false, has_frame: false, has_module: false }
    }
}

impl Around {
    fn new(gpu: &GpuTrace<'_>, launch: u32) -> Around {
        Around {
            launch,
            is_graph: gpu.is_graph_launch(launch),
            has_frame: gpu.frame_of(launch).is_some(),
            has_module: gpu.module_of(launch).is_some(),
        }
    }
}

impl Grade {
    pub fn new(gpu: &GpuTrace<'_>) -> Grade {
        // Files in whole microseconds may have nothing but kernels of 0 ns: each counts the same.
        let takes_time = gpu.work.iter().any(|work| !gpu.is_migration(work) && work.dur() > 0);
        let mut time = 0i64;
        let mut linked = [0i64; 5];
        let mut by_graph = 0i64;
        let mut not_in_window = 0u64;
        // Kernels of a graph come one after the other and share their launch.
        let mut around = Around::default();
        for work in gpu.work.iter().filter(|work| !gpu.is_migration(work)) {
            let dur = if takes_time { work.dur() } else { 1 };
            let add = |sum: &mut i64, counts: bool| *sum = sum.saturating_add(if counts { dur } else { 0 });
            add(&mut time, true);
            let has_launch = work.launch != NONE;
            if has_launch && around.launch != work.launch {
                around = Around::new(gpu, work.launch);
            }
            add(&mut by_graph, has_launch && around.is_graph);
            not_in_window += u64::from(!has_launch);
            for (linked, is) in linked.iter_mut().zip([
                has_launch,
                work.op != NONE,
                has_launch && around.has_frame,
                work.step != NO_STEP,
                has_launch && around.has_module,
            ]) {
                add(linked, is);
            }
        }
        let coverage = linked.map(|linked| share(linked, time));
        let graph = share(by_graph, time).unwrap_or(0.0);
        let graph_note = if graph > 0.0 {
            format!("{:.1}% of kernel time was launched as graphs, which have no operators", 100.0 * graph)
        } else {
            String::new()
        };
        let has_shapes = has_shapes(gpu);
        let (n_skipped, loss) = (gpu.trace.ledger.skipped.records, gpu.trace.ledger.loss());
        let of = |lack: Lack, coverage: Option<f64>, without, note: String| Row {
            what: lack.name(),
            lack: Some(lack),
            coverage,
            has: coverage.is_some_and(|share| share > 0.0),
            without,
            note,
        };
        let flag = |lack: Lack, has, without| Row { has, ..of(lack, None, without, String::new()) };
        let launch_note = if not_in_window > 0 {
            let kernels = counted(not_in_window, "kernel or copy was", "kernels and copies were");
            format!("{kernels} launched before recording started, or by calls that were not recorded")
        } else {
            String::new()
        };
        let recorded = gpu.recorded.share();
        let records_note = match gpu.recorded.n_missing() {
            0 => String::new(),
            n => format!(
                "{} of {} kernel and graph launches have none",
                group_digits(i128::from(n)),
                group_digits(i128::from(gpu.recorded.n_launches))
            ),
        };
        let launch_note = match gpu.ambiguous.n() {
            0 => launch_note,
            _ => gpu.ambiguous.told().collect::<Vec<_>>().join("; "),
        };
        let are_of_no_kernel = !gpu.steps.is_empty() && coverage[3].unwrap_or(0.0) <= 0.0;
        let steps_note = match (are_of_no_kernel, coverage[0].unwrap_or(0.0) > 0.0) {
            (true, false) => "no kernel is linked to a step: launches are missing",
            (true, true) => "no kernel is linked to a step",
            (false, _) => "",
        };
        let are_of_no_launch = gpu.facts.has_option("with_stack") && coverage[2].unwrap_or(0.0) <= 0.0;
        let frames_note = if are_of_no_launch { NO_FRAMES_AROUND } else { "" };
        let mut rows = vec![
            of(
                Lack::Launches,
                coverage[0],
                "launch delays; operator, frame and step of each kernel",
                launch_note,
            ),
            Row {
                coverage: recorded,
                has: recorded.is_none_or(|share| share >= 1.0),
                ..of(Lack::DeviceRecords, recorded, "idle time, step time, time per token", records_note)
            },
            of(Lack::Operators, coverage[1], "PyTorch operator of each kernel", graph_note),
            of(Lack::Frames, coverage[2], "Python line that launched each kernel", frames_note.to_string()),
            Row {
                // Steps are useful even without GPU activity.
                has: !gpu.steps.is_empty(),
                // To mark steps is no advice where they were recorded.
                lack: (!are_of_no_kernel).then_some(Lack::Steps),
                ..of(Lack::Steps, coverage[3], "time per step; prefill and decode", steps_note.to_string())
            },
            of(Lack::Modules, coverage[4], "time by nn.Module and layer", String::new()),
            flag(Lack::Shapes, has_shapes, "FLOPs, bytes and roofline of operators"),
            flag(Lack::Syncs, gpu.kinds.has(|kind| kind == Kind::Sync), "exact critical path across streams"),
            Row {
                what: WHOLE_FILE,
                lack: None,
                coverage: None,
                has: n_skipped == 0 && loss.is_none(),
                without: "complete numbers; skipped records are missing from all of them",
                note: match loss {
                    Some(Loss::Truncated) => "the file is truncated".to_string(),
                    Some(Loss::Damaged) => "the file is damaged".to_string(),
                    Some(Loss::Stopped) => "the file was read only in part".to_string(),
                    None if n_skipped > 0 => counted(n_skipped, "record was skipped", "records were skipped"),
                    None => String::new(),
                },
            },
        ];
        if gpu.ambiguous.n() > 0 {
            // No recording brings more.
            rows[0].lack = None;
        }
        for row in rows.iter_mut().filter(|row| !row.is_complete()) {
            row.add_advice(gpu);
        }
        Grade { rows, has_work: time > 0, recorded: recorded.unwrap_or(1.0) }
    }

    /// Grade from A to D.
    pub fn letter(&self) -> &'static str {
        let share = |row: usize| self.rows[row].coverage.unwrap_or(0.0);
        let n_others = (2..5).filter(|row| share(*row) >= ENOUGH).count();
        match share(0) {
            _ if !self.has_work || self.recorded < 0.5 => "D",
            launches if launches >= ENOUGH && self.recorded >= ENOUGH && n_others == 3 => "A",
            launches if launches >= ENOUGH && self.recorded >= ENOUGH && n_others == 2 => "B",
            launches if launches >= 0.5 => "C",
            _ => "D",
        }
    }

    /// Table of the data that the grade rests on.
    pub fn table(&self, id: Cow<'static, str>, title: String) -> Table {
        let rows = &self.rows;
        Table::new(
            id,
            title,
            vec![
                Column::key("what", "data", Content::Plain, texts(rows.iter().map(|row| Some(row.what)))),
                Column::bool("there", "present", rows.iter().map(|row| Some(row.has)).collect()),
                Column::float(
                    "coverage",
                    "% of kernel time",
                    Unit::Ratio,
                    rows.iter().map(|row| row.coverage).collect(),
                )
                .with_bar()
                .hint(
                    "share of total kernel time linked to this data, or of kernels if none takes time, without page migrations, which \
                     nothing launches; for device records, share of launches",
                ),
                Column::text(
                    "without",
                    "needed for",
                    Content::Plain,
                    texts(rows.iter().map(|row| Some(row.without))),
                ),
                Column::text(
                    "note",
                    "note",
                    Content::Plain,
                    texts(rows.iter().map(|row| (!row.note.is_empty()).then_some(row.note.as_str()))),
                ),
            ],
        )
        .caption(format!("Trace detail: {} (of A–D). {HINT}.", self.letter()))
    }
}

/// Whether operators have the shapes of their inputs.
fn has_shapes(gpu: &GpuTrace<'_>) -> bool {
    if gpu.facts.has_option("record_shapes") {
        return true;
    }
    let slices = &gpu.trace.slices;
    let ops = gpu.work.iter().filter(|work| work.op != NONE).map(|work| work.op);
    ops.take(N_LOOKED_AT).any(|op| {
        let in_args = gpu.trace.args.get(slices.args_of(op as usize)).is_some_and(|raw| {
            find_member(&raw, "Input Dims").or_else(|| find_member(&raw, "Input dims")).is_some()
        });
        in_args || gpu.sizes_of(op).is_some()
    })
}
