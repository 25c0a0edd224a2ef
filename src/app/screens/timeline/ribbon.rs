//! Between two timelines: which kernel of A became which kernel of B, and how much longer it takes.

use super::strip::canvas_and_width;
use crate::app::browser::{self, Canvas, style_value};
use crate::app::erased::effect;
use crate::app::state::app;
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::{AlignedKernel, AlignedStep, Change};
use tracedrop::timeline::Viewport;

/// Height in pixels, as in the style sheet.
const HEIGHT: f64 = 56.0;
/// One-sided kernels end in a point at this share of the height.
const POINT: f64 = 0.45;

/// Colors of the theme, as in the style sheet.
struct Colors {
    more: String,
    less: String,
    same: String,
    lit: String,
}

impl Colors {
    fn of_theme() -> Colors {
        Colors {
            more: style_value("--timeline-more"),
            less: style_value("--timeline-less"),
            same: style_value("--timeline-same"),
            lit: style_value("--timeline-accent"),
        }
    }
}

/// Corners of a kernel's shape, clockwise: what it takes in A above, what it takes in B below.
fn corners(kernel: &AlignedKernel, views: &[Viewport; 2]) -> [(f64, f64); 4] {
    let edges = |side: usize| {
        kernel.spans[side].map(|(start, dur)| {
            let (from, to) = (views[side].x_of(start as f64), views[side].x_of((start + dur) as f64));
            (from, to.max(from + 1.0))
        })
    };
    let middle = |(from, to): (f64, f64)| (from + to) / 2.0;
    match [edges(0), edges(1)] {
        [Some(a), Some(b)] => [(a.0, 0.0), (a.1, 0.0), (b.1, HEIGHT), (b.0, HEIGHT)],
        [Some(a), None] => [(a.0, 0.0), (a.1, 0.0), (middle(a), HEIGHT * POINT), (middle(a), HEIGHT * POINT)],
        [None, Some(b)] => {
            let y = HEIGHT * (1.0 - POINT);
            [(middle(b), y), (middle(b), y), (b.1, HEIGHT), (b.0, HEIGHT)]
        }
        [None, None] => [(f64::NAN, 0.0); 4],
    }
}

fn is_in_view(corners: &[(f64, f64); 4], width: f64) -> bool {
    corners.iter().any(|(x, _)| *x >= 0.0) && corners.iter().any(|(x, _)| *x <= width)
}

/// Whether a point is in a shape.
fn holds(corners: &[(f64, f64); 4], x: f64, y: f64) -> bool {
    let [(left, top), (right, _), (right_end, bottom), (left_end, _)] = *corners;
    let share = (y - top) / (bottom - top);
    let at = |from: f64, to: f64| from + (to - from) * share;
    // A pixel of leeway, as most are thin.
    (0.0..=1.0).contains(&share) && (at(left, left_end) - 1.0..=at(right, right_end) + 1.0).contains(&x)
}

fn color<'a>(kernel: &AlignedKernel, colors: &'a Colors) -> &'a str {
    match kernel.change() {
        Change::Same => &colors.same,
        Change::Less => &colors.less,
        Change::More => &colors.more,
    }
}

fn draw(canvas: &mut Canvas, step: &AlignedStep, views: &[Viewport; 2], lit: Option<usize>) {
    let (width, colors) = (views[0].width, Colors::of_theme());
    canvas.start(width, HEIGHT);
    for kernel in &step.kernels {
        let corners = corners(kernel, views);
        if is_in_view(&corners, width) {
            canvas.shape(color(kernel, &colors), &corners);
        }
    }
    if let Some(kernel) = lit.and_then(|lit| step.kernels.get(lit)) {
        canvas.shape(&colors.lit, &corners(kernel, views));
    }
}

/// The shapes of a step's kernels between the timelines of A and B; the text is about the one under the pointer, and a click
/// zooms to it.
#[component]
pub fn Ribbon(
    #[prop(into)] step: Signal<Option<Arc<AlignedStep>>>,
    #[prop(into)] views: Signal<Option<[Viewport; 2]>>,
    /// Zooms to these spans of A and B.
    go: Callback<AlignedKernel>,
) -> impl IntoView {
    let words = || &words().timeline;
    let place = NodeRef::<html::Canvas>::new();
    let (canvas, width) = canvas_and_width(place);
    let lit = RwSignal::new(None::<usize>);
    let theme = app().theme;
    effect(move || {
        let (step, views, lit) = (step.get(), views.get(), lit.get());
        theme.track();
        width.track();
        let (Some(step), Some(views)) = (step, views) else { return };
        browser::with_next_frame(move || {
            let _ = canvas.try_update_value(|canvas| {
                if let Some(canvas) = canvas {
                    draw(canvas, &step, &views, lit);
                }
            });
        });
    });
    let at = move |x: f64, y: f64| {
        let (step, views) = (step.get_untracked()?, views.get_untracked()?);
        // The shortest, as others are easier to hit.
        let under =
            step.kernels.iter().enumerate().filter(|(_, kernel)| holds(&corners(kernel, &views), x, y));
        let length = |kernel: &AlignedKernel| kernel.spans.iter().flatten().map(|(_, dur)| *dur).max();
        under.min_by_key(|(_, kernel)| length(kernel)).map(|(number, _)| number)
    };
    let kernel = move |number: usize| step.with(|step| step.as_ref()?.kernels.get(number).copied());
    let text = move || {
        let about = lit.get().and_then(kernel).map(|kernel| {
            let name = |side: usize| {
                let number = kernel.names[side]? as usize;
                step.with(|step| step.as_ref()?.names.get(number).cloned())
            };
            let side = |side: usize| Some((name(side)?, kernel.spans[side]?.1));
            (words().aligned)(side(0), side(1))
        });
        about.or_else(|| step.with(|step| Some((words().aligned_step)(step.as_ref()?))))
    };
    view! {
        <div class="timeline-ribbon">
            <p>{text}</p>
            <canvas
                node_ref=place
                aria-hidden="true"
                on:pointermove=move |event| {
                    let under = at(event.offset_x().into(), event.offset_y().into());
                    if lit.get_untracked() != under {
                        lit.set(under);
                    }
                }
                on:pointerleave=move |_| lit.set(None)
                on:click=move |event| {
                    let under = at(event.offset_x().into(), event.offset_y().into());
                    if let Some(kernel) = under.and_then(kernel) {
                        go.run(kernel);
                    }
                }
            ></canvas>
        </div>
    }
}
