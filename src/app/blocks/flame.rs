//! The boxes of a flame graph, which a pointer and the arrow keys move through.

use super::chart::width_of;
use crate::app::browser::{self, Nearing};
use crate::app::erased::memo;
use leptos::attr::custom::custom_attribute;
use leptos::ev::KeyboardEvent;
use leptos::html::Div;
use leptos::prelude::*;
use leptos::svg::Svg;
use std::fmt::Write;
use tracedrop::base::sort;
use tracedrop::report::chart::{Flame, FlameBox, Tone};
use tracedrop::scene::flame::{self, Frame, Placed, ROW};
use tracedrop::scene::tone_name;

/// Boxes of a row that the tree of a screen reader has.
const MAX_IN_ROW: usize = 30;

#[component]
pub fn FlameDrawing(
    /// What the ids of boxes begin with.
    id: String,
    /// What it shows, for screen readers.
    #[prop(into)]
    label: Signal<String>,
    #[prop(into)] flame: Signal<Flame>,
    /// The first row is at the bottom.
    #[prop(into)]
    from_bottom: Signal<bool>,
    /// Boxes that the search does not find are pale.
    #[prop(into)]
    is_searching: Signal<bool>,
    /// The box that keys move from, by number.
    current: RwSignal<Option<usize>>,
    /// A box is pointed at.
    #[prop(into)]
    on_point: Callback<Option<FlameBox>>,
    /// A box is chosen, by pointer or with Enter.
    #[prop(into)]
    on_choose: Callback<usize>,
    /// Escape.
    #[prop(into)]
    on_out: Callback<()>,
) -> impl IntoView {
    let place = NodeRef::<Div>::new();
    let width = width_of(place);
    let frame = move || Frame { width: width.get().unwrap_or(0.0), from_bottom: from_bottom.get() };
    let drawn = memo(move || flame.with(|flame| frame().drawn(flame)));
    let n_rows = memo(move || flame.with(flame::n_rows));
    let outline = memo(move || flame.with(|flame| frame().place_of(flame, current.get()?)));
    let pointed_at = RwSignal::new(None::<usize>);
    let pointed = memo(move || flame.with(|flame| frame().place_of(flame, pointed_at.get()?)));
    let n_blocks = memo(move || n_rows.get().div_ceil(BLOCK));
    let rows = Rows { drawn, n_rows, outline, pointed, is_searching };
    let box_at = move |event: &leptos::ev::MouseEvent| {
        let corner = place.get_untracked()?.get_bounding_client_rect();
        let (x, y) =
            (f64::from(event.client_x()) - corner.left(), f64::from(event.client_y()) - corner.top());
        flame.with_untracked(|flame| untrack(frame).at(flame, x, y))
    };
    let choose = move |number: usize| {
        if flame.with_untracked(|flame| flame.boxes.get(number).is_some_and(|it| !it.is_rest)) {
            current.set(Some(number));
            on_choose.run(number);
        }
    };
    let on_key = move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        let at = current.get_untracked();
        let to = |way| flame.with_untracked(|flame| neighbor(flame, at, way));
        let (up, down) = match from_bottom.get_untracked() {
            true => (Way::In, Way::Out),
            false => (Way::Out, Way::In),
        };
        let next = match event.key().as_str() {
            "ArrowUp" => to(up),
            "ArrowDown" => to(down),
            "ArrowLeft" => to(Way::Left),
            "ArrowRight" => to(Way::Right),
            "Home" => flame.with_untracked(|flame| neighbor(flame, None, Way::In)),
            "Enter" | " " => {
                if let Some(at) = at {
                    choose(at);
                }
                at
            }
            "Escape" => {
                on_out.run(());
                None
            }
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        if let Some(next) = next {
            current.set(Some(next));
            if let (Some(place), Some(it)) = (place.get_untracked(), outline.get_untracked()) {
                browser::reveal_part(&place, it.y, it.height);
            }
            on_point.run(flame.with_untracked(|flame| flame.boxes.get(next).cloned()));
        }
    };
    let items = memo(move || flame.with(|flame| tree_items(flame, current.get())));
    let id = StoredValue::new(id);
    let id_of = move |number: usize| id.with_value(|id| format!("{id}-{number}"));
    view! {
        <div
            class="flame-drawing"
            node_ref=place
            tabindex="0"
            role=move || if items.with(Vec::is_empty) { "group" } else { "tree" }
            aria-label=move || label.get()
            aria-activedescendant=move || current.get().map(id_of)
            on:click=move |event| {
                if let Some(number) = box_at(&event) {
                    choose(number);
                }
            }
            on:mousemove=move |event| {
                let found = box_at(&event);
                pointed_at.set(found);
                on_point.run(flame.with_untracked(|flame| flame.boxes.get(found?).cloned()));
            }
            on:mouseleave=move |_| {
                pointed_at.set(None);
                on_point.run(None);
            }
            on:keydown=on_key
        >
            {move || (0..n_blocks.get()).map(|number| rows.block(number)).collect_view()}
            // What screen readers have in place of the boxes.
            {move || items.get().into_iter().map(|item| view! {
                <span
                    class="off-screen"
                    role="treeitem"
                    id=id_of(item.number)
                    {..custom_attribute("aria-level", (item.depth + 1).to_string())}
                    aria-posinset=item.position.to_string()
                    aria-setsize=item.n_in_row.to_string()
                    aria-expanded=item.is_open.map(|is_open| is_open.to_string())
                    aria-selected=item.is_current.to_string()
                >
                    {item.text}
                </span>
            }).collect_view()}
        </div>
    }
}

/// Rows that are drawn at once.
const BLOCK: u32 = 32;

/// The rows of a drawing, in blocks. Only those in or near the window have elements: stacks may be hundreds of frames deep.
#[derive(Clone, Copy)]
struct Rows {
    drawn: Memo<Vec<Placed>>,
    n_rows: Memo<u32>,
    /// The current box.
    outline: Memo<Option<Placed>>,
    /// The box below the pointer.
    pointed: Memo<Option<Placed>>,
    is_searching: Signal<bool>,
}

impl Rows {
    fn block(self, number: u32) -> impl IntoView {
        let Rows { drawn, n_rows, outline, pointed, is_searching } = self;
        let top = f64::from(number * BLOCK) * ROW;
        let height = move || f64::from(n_rows.get().saturating_sub(number * BLOCK).min(BLOCK)) * ROW;
        let place = NodeRef::<Svg>::new();
        let is_near = RwSignal::new(number == 0);
        let nearing = StoredValue::new_local(None::<Nearing>);
        place.on_load(move |place| {
            nearing.set_value(Some(browser::on_nearing(&place, is_near)));
        });
        let boxes = move || {
            if !is_near.get() {
                return None;
            }
            let is_searching = is_searching.get();
            let strength = |it: &Placed| match is_searching {
                true if it.is_hit => 0.8,
                true => 0.12,
                false => it.strength,
            };
            let text = |it: &Placed| {
                let (x, y) = (it.x + 4.0, it.y - top + 13.0);
                (!it.text.is_empty()).then(|| view! { <text x=x y=y>{it.text.clone()}</text> })
            };
            drawn.with(|drawn| {
                let before = |y: f64| drawn.partition_point(|it| it.y < y);
                let own = &drawn[before(top)..before(top + f64::from(BLOCK) * ROW)];
                let shapes = shapes(own, top, strength).into_iter();
                let shape = |(tone, strength, boxes): (String, f64, String)| {
                    view! { <path class=tone fill-opacity=strength d=boxes></path> }
                };
                Some((shapes.map(shape).collect_view(), own.iter().map(text).collect_view()))
            })
        };
        let around = move |place: Memo<Option<Placed>>, class: &'static str| {
            let it = place.get().filter(|it| (top..top + height()).contains(&it.y))?;
            Some(view! { <rect class=class x=it.x y=it.y - top width=it.width height=it.height></rect> })
        };
        view! {
            <svg class="flame" aria-hidden="true" width="100%" height=height node_ref=place>
                {boxes}
                {move || around(pointed, "flame-pointed")}
                {move || around(outline, "flame-current")}
            </svg>
        }
    }
}

/// Boxes of one color as one shape: its class, opacity and path. A picture has thousands of boxes, and an element for each would
/// take most of the time to show it. `top` is the upper edge of the drawing.
fn shapes(boxes: &[Placed], top: f64, strength: impl Fn(&Placed) -> f64) -> Vec<(String, f64, String)> {
    let mut shapes: Vec<(Tone, f64, String)> = Vec::new();
    for it in boxes {
        let strength = strength(it);
        let is_own = |shape: &(Tone, f64, String)| shape.0 == it.tone && shape.1 == strength;
        let at = shapes.iter().position(is_own).unwrap_or_else(|| {
            shapes.push((it.tone, strength, String::new()));
            shapes.len() - 1
        });
        let Placed { x, y, width, height, .. } = it;
        // Writing to a string does not fail.
        let _ = write!(shapes[at].2, "M{x:.2} {:.2}h{width:.2}v{height:.2}h-{width:.2}z", y - top);
    }
    let named = |(tone, strength, path)| (format!("tone-{}", tone_name(tone)), strength, path);
    shapes.into_iter().map(named).collect()
}

/// A box as screen readers have it.
#[derive(Clone, PartialEq, Debug)]
struct TreeItem {
    number: usize,
    depth: u32,
    /// Among the boxes below the same caller, from 1.
    position: usize,
    n_in_row: usize,
    /// Whether what it calls is in the tree; `None` if it calls nothing.
    is_open: Option<bool>,
    is_current: bool,
    text: String,
}

/// The tree as far as one went: the boxes of the first row, and below each box on the way to the current one, what it calls.
fn tree_items(flame: &Flame, current: Option<usize>) -> Vec<TreeItem> {
    let mut way: Vec<usize> = Vec::new();
    let mut at = current.filter(|at| *at < flame.boxes.len());
    while let Some(number) = at {
        way.push(number);
        at = neighbor(flame, at, Way::Out);
    }
    way.reverse();
    let mut items = Vec::new();
    push_row(flame, None, &way, current, &mut items);
    items
}

/// Adds the boxes below a caller, and what is below that on the way.
fn push_row(
    flame: &Flame,
    caller: Option<usize>,
    way: &[usize],
    current: Option<usize>,
    items: &mut Vec<TreeItem>,
) {
    let row = below(flame, caller);
    let next = way.first().copied();
    for (at, number) in row.iter().copied().enumerate() {
        let is_on_way = next == Some(number);
        if at >= MAX_IN_ROW && !is_on_way {
            continue;
        }
        let it = &flame.boxes[number];
        items.push(TreeItem {
            number,
            depth: it.depth,
            position: at + 1,
            n_in_row: row.len(),
            is_open: (!below(flame, Some(number)).is_empty()).then_some(is_on_way),
            is_current: current == Some(number),
            text: flame::title_of(it, flame).replace('\n', ", "),
        });
        if is_on_way {
            push_row(flame, Some(number), &way[1..], current, items);
        }
    }
}

/// Boxes right below a caller, or those of the first row, from left to right.
fn below(flame: &Flame, caller: Option<usize>) -> Vec<usize> {
    let (depth, start, end) = match caller.and_then(|caller| flame.boxes.get(caller)) {
        Some(it) => (it.depth + 1, it.start, it.start + it.weight),
        None => (0, f64::NEG_INFINITY, f64::INFINITY),
    };
    let is_there = |it: &FlameBox| {
        let middle = it.start + it.weight / 2.0;
        !it.is_rest && it.depth == depth && start <= middle && middle <= end
    };
    let mut found: Vec<usize> =
        (0..flame.boxes.len()).filter(|number| is_there(&flame.boxes[*number])).collect();
    sort::by(&mut found, |a, b| flame.boxes[*a].start.total_cmp(&flame.boxes[*b].start));
    found
}

/// Where a key leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// To what a box calls.
    In,
    /// To its caller.
    Out,
    Left,
    Right,
}

/// The box next to one; the first box if there is none.
fn neighbor(flame: &Flame, at: Option<usize>, way: Way) -> Option<usize> {
    let boxes = || flame.boxes.iter().enumerate().filter(|(_, it)| !it.is_rest);
    let Some(from) = at.and_then(|at| flame.boxes.get(at)) else {
        return boxes().find(|(_, it)| it.depth == 0).map(|(number, _)| number);
    };
    let found = match way {
        // The widest of those that it calls.
        Way::In => {
            let weight = |number: &usize| flame.boxes[*number].weight;
            return below(flame, at).into_iter().max_by(|a, b| weight(a).total_cmp(&weight(b)));
        }
        Way::Out => {
            let middle = from.start + from.weight / 2.0;
            boxes().find(|(_, it)| {
                it.depth + 1 == from.depth && it.start <= middle && middle <= it.start + it.weight
            })
        }
        Way::Left => boxes()
            .filter(|(_, it)| it.depth == from.depth && it.start < from.start)
            .max_by(|a, b| a.1.start.total_cmp(&b.1.start)),
        Way::Right => boxes()
            .filter(|(_, it)| it.depth == from.depth && it.start > from.start)
            .min_by(|a, b| a.1.start.total_cmp(&b.1.start)),
    };
    found.map(|(number, _)| number)
}
