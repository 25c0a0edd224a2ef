//! Where an event of a GPU trace belongs: the step, module, operator and Python frame of its launch, or around it.

use super::Context;
use super::gpu::GpuTrace;
use super::gpu::model::NONE;
use crate::timeline::Timeline;
use crate::timeline::answers::{Details, Place};

/// What a slice belongs to, each kind at most once. Work of a GPU belongs to what its launch call does, as in the reports.
pub fn places(gpu: &GpuTrace<'_>, slice: u32) -> Vec<(Place, u32)> {
    let mut places = Vec::new();
    let mut add = |place: Place, of: Option<u32>| {
        places.extend(of.filter(|of| *of != NONE && *of != slice).map(|of| (place, of)));
    };
    let step = |number: u32| gpu.step(number).map(|step| step.slice);
    let start = gpu.trace.slices.ts[slice as usize];
    let first = gpu.work.partition_point(|work| work.start < start);
    let mut same_start = gpu.work[first..].iter().take_while(|work| work.start == start);
    match same_start.find(|work| work.slice == slice) {
        Some(work) => {
            let launch = Some(work.launch).filter(|launch| *launch != NONE);
            add(Place::Step, step(work.step));
            add(Place::Module, launch.and_then(|launch| gpu.module_of(launch)));
            add(Place::Operator, Some(work.op));
            add(Place::Frame, launch.and_then(|launch| gpu.frame_of(launch)));
        }
        None => {
            let process = gpu.process_of(slice as usize);
            // Steps are times of the CPU; what runs on a GPU meanwhile may belong to an earlier one.
            let is_on_gpu = gpu.devices.iter().any(|device| Some(device.process) == process);
            if !is_on_gpu {
                add(
                    Place::Step,
                    step(gpu.steps.at(start, process, Some(gpu.trace.slices.track[slice as usize]))),
                );
                add(Place::Module, gpu.module_of(slice));
            }
        }
    }
    places
}

/// Adds them to the details of a box of a timeline of the same run. Nothing if its trace is not of a GPU.
pub fn add_to(context: &Context<'_>, timeline: &Timeline, details: &mut Details) {
    let Some((number, slice)) = timeline.slice_of(context.run, details.link.of) else { return };
    let trace = &context.run.traces[number];
    let Some(gpu) = context.gpu().iter().find(|gpu| std::ptr::eq(gpu.trace, trace)) else { return };
    let of = |(place, slice)| Some((place, timeline.link_to_slice(context.run, number, slice)?));
    details.places = places(gpu, slice).into_iter().filter_map(of).collect();
}
