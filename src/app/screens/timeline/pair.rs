//! Two timelines of a comparison, one below the other: one scale, aligned where a step of each starts, moving together.

use super::Body;
use super::details::DetailsPanel;
use super::layout::{Choice, Layout};
use super::marks;
use super::stage::Stage;
use crate::app::state::Tab;
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::timeline::Viewport;
use tracedrop::timeline::answers::{BoxLink, Tracks};

/// Times that differ by less are the same: half a nanosecond.
const SAME_NS: f64 = 0.5;

#[component]
pub fn PairScreen(tab: Tab) -> impl IntoView {
    let sides = Memo::new(move |_| tab.timeline_pair().map(|sides| sides.map(|side| side.id)));
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
            Some(view! { <Pair sides=[a, b] /> })
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
    let layout = Memo::new(move |_| {
        state.tracks.with(|tracks| tracks.as_ref().map(|it| layout_of(tab, it)).unwrap_or_default())
    });
    let stage = Stage::new(tab, layout, Memo::new(move |_| marks::flags_of(tab)));
    Effect::new(move |_| {
        if state.tracks.with_untracked(Option::is_none) {
            stage.ask_for_tracks();
        }
        marks::ask_for_steps(tab);
    });
    stage
}

/// Where a step of a side starts; 0 without steps.
fn start_of(tab: Tab, step: usize) -> f64 {
    tab.timeline.steps.with(|steps| steps.iter().flatten().nth(step).map_or(0.0, |step| step.from))
}

#[component]
fn Pair(sides: [Tab; 2]) -> impl IntoView {
    let [a, b] = sides;
    let stages = sides.map(stage_of);
    // By side: the step whose start is aligned.
    let aligned = [RwSignal::new(0_usize), RwSignal::new(0_usize)];
    // By how much times of B are later than those of A.
    let offset = Memo::new(move |_| start_of(b, aligned[1].get()) - start_of(a, aligned[0].get()));
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
    // Both in full at first.
    Effect::new(move |_| {
        let are_there = sides.iter().all(|side| side.timeline.view.with(Option::is_some));
        if are_there && !is_ready.get_value() {
            is_ready.set_value(true);
            show_all();
        }
    });
    Effect::new(move |_| {
        let ns = offset.get();
        follow(a, b, ns);
    });
    Effect::new(move |_| {
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
                <DetailsPanel tab go=Callback::new(move |link: BoxLink| stage.select(&link)) />
            </section>
        }
    };
    view! {
        <div class="timeline-tools">
            {choose(0)}
            {choose(1)}
            <div class="timeline-zoom">
                <button type="button" class="button button-quiet" title=words().zoom_out aria-label=words().zoom_out on:click=move |_| both(|it| it.zoom(1.6))>"−"</button>
                <button type="button" class="button button-quiet" title=words().zoom_in aria-label=words().zoom_in on:click=move |_| both(|it| it.zoom(1.0 / 1.6))>"+"</button>
                <button type="button" class="button button-quiet" on:click=move |_| show_all()>{words().show_all}</button>
            </div>
        </div>
        {side(0)}
        {side(1)}
        <p class="timeline-keys">{words().keys}</p>
    }
}
