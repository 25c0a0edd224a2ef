//! A picture: the marks of a scene as SVG, as wide as there is room.

use crate::app::browser::{self, Resizing};
use crate::app::erased::{Show, effect, memo};
use crate::app::state::app;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::ev::KeyboardEvent;
use leptos::html::Div;
use leptos::prelude::*;
use leptos::svg::Svg;
use tracedrop::report::Chart;
use tracedrop::report::chart::{Plot, Source, SourceTrace};
use tracedrop::scene::{Chosen, Direction, Mark, Scene, cell_at, layout, next_cell, svg, time_at, tone_name};

/// Width of one that is saved without having been laid out.
pub(super) const DEFAULT_WIDTH: f64 = 800.0;

#[component]
pub fn ChartBlock(
    #[prop(into)] chart: Signal<Option<Chart>>,
    /// Takes the time that was clicked, in nanoseconds, where it is over time.
    #[prop(optional)]
    on_time: Option<Callback<i64>>,
) -> impl IntoView {
    let place = NodeRef::<Div>::new();
    let picture = NodeRef::<Svg>::new();
    let width = width_of(place);
    let cell = RwSignal::new(None::<Chosen>);
    let app = app();
    // A frame on another page opens no files.
    let has_sources = memo(move || app.embed.is_none() && chart.with(has_sources));
    let has_cells = memo(move || has_sources.get() || chart.with(has_memory));
    let hint = move || match has_sources.get() {
        true => words().reports.choose_cell,
        false => words().reports.choose_block,
    };
    let head = move || {
        chart.get().map(|chart| {
            let picture = chart.clone();
            view! {
                <div class="chart-head">
                    <h3>{chart.title.clone()}</h3>
                    <button
                        type="button"
                        class="button button-icon button-quiet"
                        title=words().reports.save_svg
                        aria-label=words().reports.save_svg
                        on:click=move |_| save(&picture, width.get_untracked().unwrap_or(DEFAULT_WIDTH))
                    >
                        <Icon shape=Shape::Export />
                    </button>
                </div>
                {(!chart.caption.is_empty()).then(|| view! { <p class="table-caption">{chart.caption}</p> })}
            }
        })
    };
    let drawing = move || {
        chart.get().zip(width.get()).map(|(chart, width)| {
            let scene = layout(&chart, width);
            view! { {legend(&scene)} {drawing(&scene, chart.title, picture, cell.into())} }
        })
    };
    let of_chart = move |get: &dyn Fn(&Chart, f64) -> Option<Chosen>| {
        let width = width.get_untracked()?;
        chart.with_untracked(|chart| get(chart.as_ref()?, width))
    };
    let choose = move || {
        let source = |chart: &Option<Chart>| source_of(chart.as_ref()?, cell.get_untracked()?.at);
        if let Some((trace, source)) = chart.with_untracked(source) {
            app.want_trace(trace.file, source.time);
        }
    };
    let click_cell = move |x: i32, y: i32| {
        let Some(picture) = picture.get_untracked() else { return };
        let corner = picture.get_bounding_client_rect();
        let at = (f64::from(x) - corner.left(), f64::from(y) - corner.top());
        if let Some(clicked) = of_chart(&|chart, width| cell_at(chart, width, at)) {
            cell.set(Some(clicked));
            choose();
        }
    };
    let press = move |event: KeyboardEvent| {
        if !has_cells.get_untracked() || event.alt_key() || event.ctrl_key() || event.meta_key() {
            return;
        }
        let direction = match event.key().as_str() {
            "ArrowLeft" => Direction::Left,
            "ArrowRight" => Direction::Right,
            "ArrowUp" => Direction::Up,
            "ArrowDown" => Direction::Down,
            "Enter" => {
                event.prevent_default();
                return choose();
            }
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        let from = cell.get_untracked().map(|cell| (cell.at, direction));
        cell.set(of_chart(&|chart, width| next_cell(chart, width, from)));
    };
    let title =
        move || chart.with(|chart| chart.as_ref().map(|chart| chart.title.clone())).unwrap_or_default();
    view! {
        <figure class="chart">
            <figcaption>{head}</figcaption>
            <div
                node_ref=place
                class:chart-clickable=on_time.is_some()
                class:chart-cells=move || has_cells.get()
                tabindex=move || has_cells.get().then_some(0)
                role=move || has_cells.get().then_some("group")
                aria-label=move || has_cells.get().then(|| (words().reports.cells)(&title()))
                on:keydown=press
                on:blur=move |_| cell.set(None)
                on:focus=move |_| {
                    if has_cells.get_untracked() && cell.with_untracked(Option::is_none) {
                        cell.set(of_chart(&|chart, width| next_cell(chart, width, None)));
                    }
                }
                on:click=move |event| {
                    if has_cells.get_untracked() {
                        return click_cell(event.client_x(), event.client_y());
                    }
                    let (Some(on_time), Some(place)) = (on_time, place.get_untracked()) else { return };
                    let x = f64::from(event.client_x()) - place.get_bounding_client_rect().left();
                    let at = |chart: &Chart| time_at(chart, width.get_untracked()?, x);
                    if let Some(ns) = chart.with_untracked(|chart| chart.as_ref().and_then(at)) {
                        on_time.run(ns);
                    }
                }
            >
                {drawing}
            </div>
            <Show when=move || has_cells.get()>
                <p class="chart-cell" aria-live="polite">
                    {move || cell.get().map_or_else(|| hint().to_string(), |cell| cell.title)}
                </p>
                {move || cell.get().filter(|cell| !cell.lines.is_empty()).map(|cell| view! {
                    <ol class="chart-stack">
                        {cell.lines.into_iter().map(|line| view! { <li>{line}</li> }).collect_view()}
                    </ol>
                })}
            </Show>
        </figure>
    }
}

/// Whether its cells are of other traces.
fn has_sources(chart: &Option<Chart>) -> bool {
    let plot = chart.as_ref().map(|chart| &chart.plot);
    matches!(plot, Some(Plot::Heat(heat)) if heat.sources.is_some())
}

/// Whether it shows memory, whose parts can be chosen.
fn has_memory(chart: &Option<Chart>) -> bool {
    matches!(chart.as_ref().map(|chart| &chart.plot), Some(Plot::Addresses(_)))
}

fn source_of(chart: &Chart, at: (usize, usize)) -> Option<(SourceTrace, Source)> {
    match &chart.plot {
        Plot::Heat(heat) => heat.source(at).map(|(trace, source)| (trace.clone(), source)),
        _ => None,
    }
}

/// Width of a place in pixels, once it is known: drawing twice takes twice as long.
pub(super) fn width_of(place: NodeRef<Div>) -> RwSignal<Option<f64>> {
    let width = RwSignal::new(None::<f64>);
    let resizing = StoredValue::new_local(None::<Resizing>);
    effect(move || {
        if let Some(element) = place.get() {
            let measured = element.clone();
            let measure = move || {
                let now = f64::from(measured.client_width());
                let is_other = |before: Option<f64>| before.is_none_or(|before| (now - before).abs() >= 1.0);
                if now > 0.0 && width.try_get_untracked().is_some_and(is_other) {
                    width.set(Some(now));
                }
            };
            resizing.set_value(Some(browser::on_resize(&element, measure)));
        }
    });
    width
}

/// Saves the picture as it is shown, on white paper.
pub(super) fn save(chart: &Chart, width: f64) {
    let name = chart.id.replace("_chart", "").replace('_', "-");
    browser::download_text(&format!("{name}.svg"), &svg::picture(chart, width), "image/svg+xml");
}

fn legend(scene: &Scene) -> impl IntoView + use<> {
    (!scene.legend.is_empty()).then(|| {
        let entries = scene.legend.iter().map(|(name, tone)| {
            view! {
                <li>
                    <span class=format!("swatch tone-{}", tone_name(*tone)) aria-hidden="true"></span>
                    {name.clone()}
                </li>
            }
        });
        view! { <ul class="legend">{entries.collect_view()}</ul> }
    })
}

fn drawing(
    scene: &Scene,
    title: String,
    picture: NodeRef<Svg>,
    chosen: Signal<Option<Chosen>>,
) -> impl IntoView + use<> {
    let (width, height) = (scene.width, scene.height);
    view! {
        <svg
            node_ref=picture
            class="drawing"
            role="img"
            aria-label=title
            width=width
            height=height
            viewBox=format!("0 0 {width} {height}")
        >
            {scene.marks.iter().map(mark_view).collect_view()}
            {move || chosen.get().map(|cell| view! {
                <rect class="chosen" x=cell.x y=cell.y width=cell.width height=cell.height></rect>
            })}
        </svg>
    }
}

fn mark_view(mark: &Mark) -> AnyView {
    match mark {
        Mark::Rect { x, y, width, height, tone, title } => view! {
            <rect class=format!("tone-{}", tone_name(*tone)) x=*x y=*y width=*width height=*height>
                <title>{title.clone()}</title>
            </rect>
        }
        .into_any(),
        Mark::Cell { x, y, width, height, tone, strength, title } => view! {
            <rect
                class=format!("tone-{}", tone_name(*tone))
                x=*x
                y=*y
                width=*width
                height=*height
                fill-opacity=*strength
            >
                <title>{title.clone()}</title>
            </rect>
        }
        .into_any(),
        Mark::Dot { x, y, radius, tone, title } => view! {
            <circle class=format!("tone-{}", tone_name(*tone)) cx=*x cy=*y r=*radius>
                <title>{title.clone()}</title>
            </circle>
        }
        .into_any(),
        Mark::Path { corners, tone, base } => view! {
            <path
                class=format!("tone-{}", tone_name(*tone))
                class:area=base.is_some()
                d=svg::path(corners, *base)
            ></path>
        }
        .into_any(),
        Mark::Rule { from, to, is_limit } => view! {
            <line class:limit=*is_limit x1=from.0 y1=from.1 x2=to.0 y2=to.1></line>
        }
        .into_any(),
        Mark::Text { x, y, anchor, text } => view! {
            <text x=*x y=*y text-anchor=anchor.name()>
                {text.clone()}
            </text>
        }
        .into_any(),
    }
}
