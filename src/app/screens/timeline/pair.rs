//! Two timelines of a comparison, one below the other: one scale, aligned where a step of each starts, moving together.

use super::Body;
use super::details::DetailsPanel;
use super::layout::{Choice, Layout};
use super::marks;
use super::ribbon::Ribbon;
use super::stage::Stage;
use crate::app::client::Answer;
use crate::app::erased::{Show, effect, memo};
use crate::app::state::Tab;
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::{AlignedKernel, AlignedStep, Request};
use tracedrop::timeline::Viewport;
use tracedrop::timeline::answers::Tracks;

/// Times that differ by less are the same: half a nanosecond.
const SAME_NS: f64 = 0.5;

#[component]
pub fn PairScreen(tab: Tab) -> impl IntoView {
    let sides = memo(move || tab.timeline_pair().map(|sides| sides.map(|side| side.id)));
    let words = || &words().timeline;
    view! {
        <header class="report-head">
            <div>
                <h2 tabindex="-1">{words().title}</h2>
                <p class="report-summary">{words().pair_summary}</p>
            </div>
        </header>
        {move || {
            let sides = sides.get()?;
            let [Some(a), Some(b)] = sides.map(|id| tab.app.tab(id)) else { return None };
            Some(view! { <Pair tab sides=[a, b] /> })
        }}
    }
}

/// Tracks of devices if there are any, else all of them.
fn layout_of(tab: Tab, tracks: &Tracks) -> Layout {
    let state = tab.timeline;
    let has_devices = tracks.tracks.iter().any(|track| track.is_device);
    let shown = (0..).zip(&tracks.tracks).filter(|(_, track)| track.is_device || !has_devices);
    let shown: Vec<u32> = shown.map(|(number, _)| number).collect();
    let has_steps = state.has_steps();
    state
        .folded
        .with(|folded| Layout::of(tracks, &shown, &Choice { folded, only: "", pinned: &[], has_steps }))
}

fn stage_of(tab: Tab) -> Stage {
    let state = tab.timeline;
    let layout = memo(move || {
        state.tracks.with(|tracks| tracks.as_ref().map(|it| layout_of(tab, it)).unwrap_or_default())
    });
    let stage = Stage::new(tab, layout, memo(move || marks::flags_of(tab)));
    effect(move || {
        if untrack(|| state.tracks.with(Option::is_none) || state.is_of_part()) {
            stage.ask_for_tracks();
        }
        marks::ask_for_steps(tab, false);
    });
    stage
}

/// Where a step of a side starts; 0 without steps.
fn start_of(tab: Tab, step: usize) -> f64 {
    tab.timeline.steps.with(|steps| steps.iter().flatten().nth(step).map_or(0.0, |step| step.from))
}

/// Typical steps of both sides, aligned kernel by kernel. `None` until they are known.
fn aligned_steps_of(tab: Tab) -> RwSignal<Option<Vec<Arc<AlignedStep>>>> {
    let steps = RwSignal::new(None);
    // Other sides or another phase have other steps.
    let revision =
        memo(move || tab.document.with(|it| it.as_ref().filter(|it| it.is_read).map(|it| it.revision)));
    effect(move || {
        if revision.get().is_some() {
            tab.ask(
                |ticket| Request::AlignedSteps { ticket },
                move |answer| {
                    if let Answer::AlignedSteps(found) = answer {
                        steps.try_set(Some(found.into_iter().map(Arc::new).collect()));
                    }
                },
            );
        }
    });
    steps
}

/// First and last nanosecond of a side's kernels in a step.
fn span_of(step: &AlignedStep, side: usize) -> Option<(f64, f64)> {
    let spans = || step.kernels.iter().filter_map(|kernel| kernel.spans[side]);
    let from = spans().map(|(start, _)| start).min()?;
    let to = spans().map(|(start, dur)| start.saturating_add(dur)).max()?;
    Some((from as f64, to as f64))
}

#[component]
fn Pair(tab: Tab, sides: [Tab; 2]) -> impl IntoView {
    let [a, b] = sides;
    let stages = sides.map(stage_of);
    stages[0].focus_if_led_to(tab);
    let steps = aligned_steps_of(tab);
    // The aligned step that is lined up; `None` for the steps chosen below.
    let typical = RwSignal::new(Some(0_usize));
    let lined_up = memo(move || {
        let at = typical.get()?;
        steps.with(|steps| steps.as_ref()?.get(at).cloned())
    });
    // By side: the step whose start is aligned.
    let aligned = [RwSignal::new(0_usize), RwSignal::new(0_usize)];
    // By how much times of B are later than those of A.
    let offset = memo(move || {
        let of_kernels = lined_up.with(|step| step.as_ref().and_then(|step| step.offset()));
        of_kernels
            .map(|ns| ns as f64)
            .unwrap_or_else(|| start_of(b, aligned[1].get()) - start_of(a, aligned[0].get()))
    });
    let is_ready = StoredValue::new(false);
    let shift = |view: Viewport, other: Viewport, ns: f64| Viewport {
        start_ns: view.start_ns + ns,
        ns_per_pixel: view.ns_per_pixel * view.width / other.width,
        ..other
    };
    let follow = move |leader: Tab, other: Tab, ns: f64| {
        let (Some(view), Some(before)) = (leader.timeline.view.get(), other.timeline.view.get_untracked())
        else {
            return;
        };
        let after = shift(view, before, ns);
        let is_same = (after.start_ns - before.start_ns).abs() < SAME_NS
            && (after.ns_per_pixel - before.ns_per_pixel).abs() * after.width < SAME_NS;
        if !is_same {
            other.timeline.view.set(Some(after));
        }
    };
    let show_all = move || {
        let views = sides.map(|side| side.timeline.view.get_untracked());
        let [Some(of_a), Some(of_b)] = views else { return };
        let offset = offset.get_untracked();
        let from = f64::min(0.0, -offset);
        let to = of_a.span_ns.max(of_b.span_ns - offset);
        a.timeline.view.set(Some(Viewport {
            start_ns: from,
            ns_per_pixel: (to - from) / of_a.width,
            ..of_a
        }));
    };
    // What both sides take of A's time.
    let show = move |spans: [Option<(f64, f64)>; 2]| {
        let offset = offset.get_untracked();
        let of_b = spans[1].map(|(from, to)| (from - offset, to - offset));
        let both = spans[0].into_iter().chain(of_b).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        if let (Some((from, to)), Some(view)) = (both, a.timeline.view.get_untracked()) {
            a.timeline.view.set(Some(view.around(from, to)));
        }
    };
    let show_step = move || match lined_up.get_untracked() {
        Some(step) => show([0, 1].map(|side| span_of(&step, side))),
        None => show_all(),
    };
    let show_kernel = Callback::new(move |kernel: AlignedKernel| {
        show(kernel.spans.map(|span| span.map(|(start, dur)| (start as f64, (start + dur) as f64))));
    });
    // The aligned step at first; without one, both in full.
    effect(move || {
        let are_there = sides.iter().all(|side| side.timeline.view.with(Option::is_some));
        if are_there && steps.with(Option::is_some) && !is_ready.get_value() {
            is_ready.set_value(true);
            show_step();
        }
    });
    effect(move || {
        let ns = offset.get();
        follow(a, b, ns);
    });
    effect(move || {
        follow(b, a, -offset.get_untracked());
    });
    let words = || &words().timeline;
    let choose = move |side: usize| {
        let tab = sides[side];
        let steps = move || tab.timeline.steps.get().unwrap_or_default();
        view! {
            <Show when=move || { steps().len() > 1 }>
                <label class="choice">
                    <span>{(words().align)(side == 0)}</span>
                    <select on:change:target=move |event| aligned[side].set(event.target().value().parse().unwrap_or(0))>
                        {move || steps().into_iter().enumerate().map(|(at, step)| view! {
                            <option value=at.to_string() selected=move || aligned[side].get() == at>{step.name}</option>
                        }).collect_view()}
                    </select>
                </label>
            </Show>
        }
    };
    let both = move |act: fn(Stage)| act(stages[0]);
    let side = move |at: usize| {
        let (tab, stage) = (sides[at], stages[at]);
        view! {
            <section class=format!("timeline timeline-side side-{}", ["a", "b"][at]) aria-label=move || tab.label()>
                <h3><span class="side-letter">{["A", "B"][at]}</span> <bdi>{move || tab.label()}</bdi></h3>
                <Show
                    when=move || tab.timeline.tracks.with(Option::is_some)
                    fallback=move || view! { <p class="empty" role="status">{move || tab.timeline.problem.get().unwrap_or_else(|| words().making.to_string())}</p> }
                >
                    <Body stage />
                </Show>
                <DetailsPanel stage />
            </section>
        }
    };
    let titles = memo(move || {
        let of =
            |steps: &Vec<Arc<AlignedStep>>| steps.iter().map(|step| step.title.clone()).collect::<Vec<_>>();
        steps.with(|steps| steps.as_ref().map(of)).unwrap_or_default()
    });
    let views = Signal::derive(move || Some([a.timeline.view.get()?, b.timeline.view.get()?]));
    view! {
        <div class="timeline-tools">
            <Show when=move || { !titles.with(Vec::is_empty) }>
                <label class="choice">
                    <span>{words().align_by}</span>
                    <select on:change:target=move |event| {
                        typical.set(event.target().value().parse().ok());
                        show_step();
                    }>
                        {move || titles.get().into_iter().enumerate().map(|(at, title)| view! {
                            <option value=at.to_string() selected=move || typical.get() == Some(at)>{(words().median_step)(&title)}</option>
                        }).collect_view()}
                        <option value="chosen" selected=move || typical.get().is_none()>{words().chosen_steps}</option>
                    </select>
                </label>
            </Show>
            <Show when=move || lined_up.with(Option::is_none)>
                {choose(0)}
                {choose(1)}
            </Show>
            <div class="timeline-zoom">
                <button type="button" class="button button-quiet" title=words().zoom_out aria-label=words().zoom_out on:click=move |_| both(|it| it.zoom(1.6))>"−"</button>
                <button type="button" class="button button-quiet" title=words().zoom_in aria-label=words().zoom_in on:click=move |_| both(|it| it.zoom(1.0 / 1.6))>"+"</button>
                <button type="button" class="button button-quiet" on:click=move |_| show_all()>{words().show_all}</button>
            </div>
        </div>
        {side(0)}
        <Show when=move || lined_up.with(Option::is_some)>
            <Ribbon step=lined_up views go=show_kernel />
        </Show>
        {side(1)}
        <p class="timeline-keys">{words().keys}</p>
    }
}
