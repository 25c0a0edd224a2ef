//! A picture: the marks of a scene as SVG, as wide as there is room.

use crate::app::browser::{self, Resizing};
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::html::Div;
use leptos::prelude::*;
use tracedrop::report::Chart;
use tracedrop::scene::{Mark, Scene, layout, svg, time_at, tone_name};

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
    let width = width_of(place);
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
            view! { {legend(&scene)} {drawing(&scene, chart.title)} }
        })
    };
    view! {
        <figure class="chart">
            <figcaption>{head}</figcaption>
            <div
                node_ref=place
                class:chart-clickable=on_time.is_some()
                on:click=move |event| {
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
        </figure>
    }
}

/// Width of a place in pixels, once it is known: drawing twice takes twice as long.
pub(super) fn width_of(place: NodeRef<Div>) -> RwSignal<Option<f64>> {
    let width = RwSignal::new(None::<f64>);
    let resizing = StoredValue::new_local(None::<Resizing>);
    Effect::new(move |_| {
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

fn drawing(scene: &Scene, title: String) -> impl IntoView + use<> {
    let (width, height) = (scene.width, scene.height);
    view! {
        <svg
            class="drawing"
            role="img"
            aria-label=title
            width=width
            height=height
            viewBox=format!("0 0 {width} {height}")
        >
            {scene.marks.iter().map(mark_view).collect_view()}
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
