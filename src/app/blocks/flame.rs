//! A flame graph: a click shows a box in full width, a search lights boxes.

use super::chart::{DEFAULT_WIDTH, save, width_of};
use crate::app::widgets::{Icon, SearchField, Shape};
use crate::app::words::words;
use leptos::html::Div;
use leptos::prelude::*;
use tracedrop::base::units::{format_float, format_ratio};
use tracedrop::report::Chart;
use tracedrop::report::chart::{Flame, Plot, Tone};
use tracedrop::scene::{Mark, Scene, flame, layout, tone_name};

/// Whether a search finds a name; `wanted` is in small letters.
fn is_hit(name: &str, wanted: &str) -> bool {
    name.to_lowercase().contains(wanted)
}

#[component]
pub fn FlameBlock(chart: Chart) -> impl IntoView {
    let (title, caption) = (chart.title.clone(), chart.caption.clone());
    let whole = match &chart.plot {
        Plot::Flame(flame) => flame.clone(),
        _ => return ().into_any(),
    };
    let whole = StoredValue::new(whole);
    let chart = StoredValue::new(chart);
    // What is in full width, from the root: names, and the graphs around it.
    let trail = RwSignal::new(Vec::<(String, Flame)>::new());
    let shown = Memo::new(move |_| {
        trail.with(|trail| trail.last().map_or_else(|| whole.get_value(), |(_, flame)| flame.clone()))
    });
    let picture = Memo::new(move |_| {
        chart.with_value(|chart| Chart { plot: Plot::Flame(shown.get()), ..chart.clone() })
    });
    let typed = RwSignal::new(String::new());
    let wanted = move || typed.get().trim().to_lowercase();
    let place = NodeRef::<Div>::new();
    let width = width_of(place);
    let matched = move || {
        let wanted = wanted();
        (!wanted.is_empty()).then(|| {
            shown.with(|flame| {
                let weight = flame.weight_of(|name| is_hit(name, &wanted));
                (words().reports.flame_matched)(
                    &format_float(weight, flame.unit),
                    &format_ratio(weight / flame.total),
                )
            })
        })
    };
    let scene = Memo::new(move |_| Some(layout(&picture.get(), width.get()?)));
    let drawn = move || {
        let wanted = wanted();
        scene.get().map(|scene: Scene| {
            let (wide, high) = (scene.width, scene.height);
            let marks: Vec<AnyView> = scene.marks.iter().map(|mark| mark_view(mark, &wanted)).collect();
            view! { <svg class="drawing flame" aria-hidden="true" width=wide height=high viewBox=format!("0 0 {wide} {high}")>{marks}</svg> }
        })
    };
    let go = move |event: leptos::ev::MouseEvent| {
        let at = (f64::from(event.offset_x()), f64::from(event.offset_y()));
        let found = shown.with_untracked(|shown| {
            let number = flame::box_at(shown, width.get_untracked()?, at.0, at.1)?;
            let it = shown.boxes.get(number).filter(|it| !it.is_rest)?;
            // Around all that shows already.
            (it.weight < shown.total).then(|| (it.name.clone(), shown.focused(number)))
        });
        if let Some(found) = found {
            trail.update(|trail| trail.push(found));
        }
    };
    let listed = move || {
        shown.with(|flame| {
            let mut boxes: Vec<_> = flame.boxes.iter().filter(|it| !it.is_rest).collect();
            boxes.sort_by(|a, b| b.weight.total_cmp(&a.weight));
            let text = |it: &&tracedrop::report::chart::FlameBox| {
                format!(
                    "{}: {} ({})",
                    it.name,
                    format_float(it.weight, flame.unit),
                    format_ratio(it.weight / flame.total)
                )
            };
            boxes.iter().take(30).map(text).collect::<Vec<_>>()
        })
    };
    view! {
        <figure class="chart flame-chart">
            <figcaption>
                <div class="chart-head">
                    <h3>{title.clone()}</h3>
                    <SearchField
                        label=Signal::stored(words().reports.flame_search.to_string())
                        placeholder=words().reports.flame_search
                        text=typed
                        on_text=move |text: String| typed.set(text)
                        class="flame-search"
                    />
                    <button
                        type="button"
                        class="button button-icon button-quiet"
                        title=words().reports.save_svg
                        aria-label=words().reports.save_svg
                        on:click=move |_| {
                            save(&picture.get_untracked(), width.get_untracked().unwrap_or(DEFAULT_WIDTH));
                        }
                    >
                        <Icon shape=Shape::Export />
                    </button>
                </div>
                {(!caption.is_empty()).then(|| view! { <p class="table-caption">{caption}</p> })}
                <p class="flame-trail" role="status">
                    <Show when=move || trail.with(|trail| !trail.is_empty())>
                        <button type="button" class="link" on:click=move |_| trail.set(Vec::new())>{words().reports.flame_all}</button>
                        {move || trail.with(|names| names.iter().enumerate().map(|(at, (name, _))| {
                            let name = name.clone();
                            view! {
                                <span aria-hidden="true">" › "</span>
                                <button type="button" class="link" on:click=move |_| trail.update(|trail| trail.truncate(at + 1))>{name}</button>
                            }
                        }).collect_view())}
                    </Show>
                    {move || matched().map(|text| view! { <span class="flame-matched">{text}</span> })}
                </p>
            </figcaption>
            <div node_ref=place on:click=go>{drawn}</div>
            <ul class="off-screen" aria-label=title>
                {move || listed().into_iter().map(|text| view! { <li>{text}</li> }).collect_view()}
            </ul>
        </figure>
    }
    .into_any()
}

fn mark_view(mark: &Mark, wanted: &str) -> AnyView {
    match mark {
        Mark::Cell { x, y, width, height, tone, strength, title } => {
            // The name stands before the line break.
            let name = title.split('\n').next().unwrap_or_default();
            let is_dim = !is_hit(name, wanted);
            let (tone, strength) = if is_dim { (Tone::Idle, 0.35) } else { (*tone, *strength) };
            let strength = if is_dim || wanted.is_empty() { strength } else { 0.8 };
            view! {
                <rect
                    class=format!("tone-{}", tone_name(tone))
                    x=*x
                    y=*y
                    width=*width
                    height=*height
                    fill-opacity=strength
                >
                    <title>{title.clone()}</title>
                </rect>
            }
            .into_any()
        }
        Mark::Text { x, y, text, .. } => view! { <text x=*x y=*y>{text.clone()}</text> }.into_any(),
        _ => ().into_any(),
    }
}
