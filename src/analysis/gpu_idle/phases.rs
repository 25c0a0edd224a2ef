//! Idle time by phase of the steps.

use super::{LATE_HINT, by_cause};
use crate::analysis::gpu::NamedTrace;
use crate::analysis::gpu::annotation::Phase;
use crate::analysis::gpu::gaps::{Cause, Gap};
use crate::analysis::gpu::parts::{STEP_EXTENT, StepWindow, window_at};
use crate::analysis::gpu::stats::{Durations, SumNs, share};
use crate::analysis::gpu_breakdown::times_of_steps;
use crate::analysis::timeline::{integers, texts};
use crate::base::units::Unit;
use crate::report::{Column, Content, Table};

struct Row {
    phase: Phase,
    cause: Cause,
    gaps: Durations,
    after_late_launch: Option<i64>,
    /// Time of all steps of the phase, as in GPU time.
    time: i64,
}

/// Causes by phase; `None` if annotations name no phase. A gap belongs to the step in whose GPU time it begins.
pub fn table(named: &NamedTrace<'_, '_>, by_device: &[Vec<Gap>]) -> Option<Table> {
    let gpu = named.gpu;
    // One per gap; there may be hundreds of thousands.
    let mut phases: Vec<Option<Phase>> = Vec::with_capacity(by_device.iter().map(Vec::len).sum());
    let mut times: Vec<(Phase, i64)> = Vec::new();
    for (device, gaps) in by_device.iter().enumerate() {
        let steps = times_of_steps(named, device as u32);
        let phase = |step: &StepWindow| gpu.annotation(step.step).map(|what| what.phase);
        times.extend(steps.iter().filter_map(|(step, parts)| Some((phase(step)?, parts.total))));
        let windows: Vec<StepWindow> =
            steps.into_iter().map(|(step, _)| step).filter(|step| step.start().is_some()).collect();
        for gap in gaps {
            phases.push(window_at(&windows, gap.start(gpu)).and_then(phase));
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for phase in [Phase::Prefill, Phase::Decode, Phase::Mixed, Phase::Idle] {
        let time = times.iter().filter(|of| of.0 == phase).map(|of| of.1).sum_ns();
        let gaps = phases.iter().zip(by_device.iter().flatten()).filter(|of| *of.0 == Some(phase));
        rows.extend(by_cause(gpu, gaps.map(|of| of.1)).into_iter().map(|of| Row {
            phase,
            cause: of.cause,
            gaps: Durations::new(of.times),
            after_late_launch: of.late.map(|(_, ns)| ns),
            time,
        }));
    }
    if rows.is_empty() {
        return None;
    }
    let table = Table::new(
        named.id(super::IDLE_BY_PHASE.id),
        named.title("Idle time by phase"),
        vec![
            Column::key(
                "phase",
                "phase",
                Content::Plain,
                texts(rows.iter().map(|row| Some(row.phase.name()))),
            ),
            Column::key(
                "cause",
                "cause",
                Content::Plain,
                texts(rows.iter().map(|row| Some(row.cause.name()))),
            ),
            Column::counts("gaps", "gaps", Unit::Count, rows.iter().map(|row| row.gaps.count())),
            integers("time", "time", Unit::Ns, rows.iter().map(|row| row.gaps.total())).with_bar(),
            Column::float(
                "share",
                "% of phase",
                Unit::Ratio,
                rows.iter().map(|row| share(row.gaps.total(), row.time)).collect(),
            )
            .hint("of the GPU time of the phase's steps, which excludes time when only kernels launched outside steps ran"),
            Column::integer(
                "after_late_launch",
                "after late launch",
                Unit::Ns,
                rows.iter().map(|row| row.after_late_launch).collect(),
            )
            .hint(LATE_HINT),
            Column::integer("p50", "p50", Unit::Ns, rows.iter().map(|row| row.gaps.quantile(0.5)).collect()),
            Column::integer("max", "longest", Unit::Ns, rows.iter().map(|row| row.gaps.max()).collect()),
        ],
    );
    Some(table.caption(format!(
        "A gap belongs to the step it falls in. {STEP_EXTENT}. Host work between two steps counts toward the earlier one."
    )))
}
