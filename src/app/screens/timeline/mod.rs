//! The timeline of a trace: tracks from top to bottom, time from left to right.
//!
//! The worker sends rows of pixels for what is in view and as much beside it; the page stretches the last ones until sharper ones
//! come, so nothing is ever blank. The page scrolls, and the canvas stays in view meanwhile.

pub mod details;
mod keys;
mod layout;
mod marks;
mod painter;
mod pair;
mod ribbon;
mod stage;
mod strip;
mod tree;

pub use marks::Step;
pub use pair::PairScreen;
pub use strip::LoadStrip;

use crate::app::browser::{self, Canvas, Resizing};
use crate::app::erased::{For, Show, effect, memo};
use crate::app::state::Tab;
use crate::app::widgets::{Icon, SearchField, Shape};
use crate::app::words::words;
use details::DetailsPanel;
use layout::{Choice, Layout, RULER, What};
use leptos::attr::custom::custom_attribute;
use leptos::ev::KeyboardEvent;
use leptos::html;
use leptos::prelude::*;
use painter::box_color;
use stage::{Hover, Stage};
use tracedrop::base::text;
use tracedrop::base::units::format_ns;
use tracedrop::engine::protocol::DocumentView;
use tracedrop::timeline::answers::{At, ColorBy, TrackView};

/// `id` of the timeline among the reports.
pub const TIMELINE: &str = "timeline";

/// Pause in typing after which a search starts.
const TYPING_MS: u32 = 200;

#[component]
pub fn TimelineScreen(tab: Tab) -> impl IntoView {
    let state = tab.timeline;
    let layout = memo(move || {
        state.tracks.with(|tracks| {
            tracks
                .as_ref()
                .map(|tracks| {
                    let has_steps = state.has_steps();
                    let (only, pinned) = (state.only.get(), state.pinned.get());
                    state.folded.with(|folded| {
                        Layout::new(tracks, &Choice { folded, only: only.trim(), pinned: &pinned, has_steps })
                    })
                })
                .unwrap_or_default()
        })
    });
    let flags = memo(move || marks::flags_of(tab));
    let stage = Stage::new(tab, layout, flags);
    // Whether all is parsed, and until then the revision: each has more than the one before.
    let parsed = memo(move || {
        let of = |it: &DocumentView| (it.is_read, if it.is_read { 0 } else { it.revision });
        tab.document.with(|it| it.as_deref().map(of))
    });
    let is_read = move || parsed.get().is_some_and(|(is_read, _)| is_read);
    effect(move || {
        if parsed.get().is_some() && untrack(|| state.tracks.with(Option::is_none) || state.is_of_part()) {
            stage.ask_for_tracks();
        }
        if is_read() {
            marks::ask_for_steps(tab, false);
        }
    });
    // Rules decide which operations and phases there are.
    let query = memo(move || {
        let of = |it: &DocumentView| (!it.partial).then(|| it.query.clone());
        tab.document.with(|it| it.as_deref().and_then(of))
    });
    effect(move || {
        let Some(query) = query.get() else { return };
        let before = state.query.try_update_value(|it| it.replace(query.clone())).flatten();
        if before.is_some_and(|before| before != query) {
            stage.has_other_settings();
        }
    });
    effect(move || {
        if state.tracks.with(Option::is_some) {
            stage.count_unless_done();
        }
    });
    stage.follow_address();
    stage.focus_if_led_to(tab);
    let words = || &words().timeline;
    view! {
        <header class="report-head">
            <div>
                <h2 tabindex="-1">{words().title}</h2>
                <p class="report-summary">{move || state.tracks.with(|tracks| tracks.as_ref().map(|tracks| {
                    (words().summary)(tracks.tracks.len(), tracks.tracks.iter().map(TrackView::n_events).sum(), tracks.span_ns)
                }))}</p>
            </div>
        </header>
        <Show
            when=move || state.tracks.with(Option::is_some)
            fallback=move || view! {
                <p class="empty" role="status">{move || state.problem.get().unwrap_or_else(|| {
                    (if is_read() { words().making } else { words().not_read }).to_string()
                })}</p>
            }
        >
            {move || state.tracks.with(|tracks| tracks.as_ref().and_then(|tracks| tracks.so_far)).map(|share| view! {
                <p class="note" role="status">{(words().so_far)(share)}</p>
            })}
            {move || state.tracks.with(|tracks| tracks.as_ref().is_some_and(|tracks| tracks.is_partial)).then(|| view! {
                <p class="note">{words().is_partial}</p>
            })}
            {move || state.tracks.with(|tracks| tracks.as_ref().is_some_and(|tracks| tracks.is_each_from_zero)).then(|| view! {
                <p class="note">{words().each_from_zero}</p>
            })}
            <section
                class="timeline"
                aria-label=words().title
                on:pointerdown=move |_| stage.is_used()
                on:keydown=move |_| stage.is_used()
                on:input=move |_| stage.is_used()
            >
                <Tools stage />
                <Body stage />
                <DetailsPanel stage />
                <p class="timeline-keys">{words().keys}</p>
                <p class="off-screen" role="status">{move || stage.spoken()}</p>
                <ul class="off-screen" aria-label=words().in_view>
                    {move || stage.in_view.get().into_iter().map(|event| view! { <li>{event.text}</li> }).collect_view()}
                </ul>
            </section>
        </Show>
    }
}

/// Search, zoom and what the keys do.
#[component]
fn Tools(stage: Stage) -> impl IntoView {
    let words = || &words().timeline;
    let state = stage.tab.timeline;
    let find = move |is_back: bool| stage.find(is_back, false);
    let has_phases =
        memo(move || state.tracks.with(|it| it.as_ref().is_some_and(|tracks| tracks.has_phases)));
    let choices = move || {
        let has_phases = has_phases.get();
        ColorBy::ALL.into_iter().filter(move |by| has_phases || *by != ColorBy::Phase)
    };
    let is_searching = move || state.lit.with(|text| !text.is_empty());
    let has_hits = move || match is_searching() {
        true => state.found.with(|found| found.as_ref().is_some_and(|found| found.n > 1)),
        false => state.times.with(|times| times.len() > 1),
    };
    let has_problem =
        move || state.found.with(|found| found.as_ref().is_some_and(|found| !found.problem.is_empty()));
    view! {
        <div class="timeline-tools">
            <search class="timeline-search">
                <SearchField
                    label=Signal::stored(words().search.to_string())
                    placeholder=words().search_hint
                    text=state.lit
                    on_text=move |text: String| {
                        state.lit.set(text);
                        stage.typing.start(TYPING_MS, move || stage.find(false, true));
                    }
                    on_key=move |event: KeyboardEvent| {
                        match event.key().as_str() {
                            "Enter" => find(event.shift_key()),
                            "Escape" => {
                                state.lit.set(String::new());
                                stage.find(false, true);
                            }
                            _ => return,
                        }
                        event.prevent_default();
                        event.stop_propagation();
                    }
                />
                <span class="timeline-count" class:timeline-problem=has_problem role="status">{move || {
                    if !is_searching() {
                        let n = state.times.with(Vec::len) as u64;
                        return (n > 0).then(|| (words().times)(state.time_number().map(|at| at as u64 + 1), n));
                    }
                    state.found.get().map(|found| match found.problem.is_empty() {
                        true => (words().found)(found.number, found.n, found.left),
                        false => found.problem,
                    })
                }}</span>
                // They have their place before, so that nothing moves when they show.
                <span class="timeline-hits" class:timeline-no-hits=move || !has_hits()>
                    <button type="button" class="button button-quiet" title=words().previous aria-label=words().previous on:click=move |_| find(true)>"↑"</button>
                    <button type="button" class="button button-quiet" title=words().next aria-label=words().next on:click=move |_| find(false)>"↓"</button>
                </span>
            </search>
            <SearchField
                label=Signal::stored(words().only.to_string())
                placeholder=words().only
                text=state.only
                on_text=move |text: String| state.only.set(text)
                on_key=move |event: KeyboardEvent| {
                    if event.key() == "Escape" {
                        state.only.set(String::new());
                    }
                    event.stop_propagation();
                }
                class="timeline-only"
            />
            <label class="choice">
                <span>{words().color_by}</span>
                <select on:change:target=move |event| {
                    let chosen = event.target().value();
                    let by = ColorBy::ALL.into_iter().find(|by| by.id() == chosen);
                    state.color_by.set(by.unwrap_or_default());
                }>
                    {move || choices().map(|by| view! {
                        <option value=by.id() selected=move || state.color_by.get() == by>{(words().color_by_name)(by)}</option>
                    }).collect_view()}
                </select>
            </label>
            <div class="timeline-zoom">
                <button type="button" class="button button-quiet" title=words().zoom_out aria-label=words().zoom_out on:click=move |_| stage.zoom(1.6)>"−"</button>
                <button type="button" class="button button-quiet" title=words().zoom_in aria-label=words().zoom_in on:click=move |_| stage.zoom(1.0 / 1.6)>"+"</button>
                <button type="button" class="button button-quiet" on:click=move |_| stage.show_all()>{words().show_all}</button>
                <button type="button" class="button button-quiet" title=words().save_picture aria-label=words().save_picture on:click=move |_| stage.save_picture()><Icon shape=Shape::Export /></button>
            </div>
        </div>
        <Legend tab=stage.tab />
    }
}

/// What the colors stand for, unless it is the names on the boxes.
#[component]
fn Legend(tab: Tab) -> impl IntoView {
    let state = tab.timeline;
    let words = || &words().timeline;
    let entries = move || {
        // The color of a number is in the style sheet.
        let entry = |(text, number): (String, u8)| {
            let text = if text.is_empty() { words().no_category.to_string() } else { text };
            view! {
                <li>
                    <span class="swatch" style:background=box_color(number) aria-hidden="true"></span>
                    <bdi>{text::visible(&text)}</bdi>
                </li>
            }
        };
        tab.app.theme.track();
        state.legend.get().into_iter().map(entry).collect_view()
    };
    view! {
        <Show when=move || state.legend.with(|legend| !legend.is_empty())>
            <ul class="legend" aria-label=words().color_by>{entries}</ul>
        </Show>
    }
}

/// The load, the names of tracks, and the canvas.
#[component]
fn Body(stage: Stage) -> impl IntoView {
    let words = || &words().timeline;
    let state = stage.tab.timeline;
    let canvas = NodeRef::<html::Canvas>::new();
    let (place, body) = (stage.place, stage.body);
    let resizing = StoredValue::new_local(None::<Resizing>);
    effect(move || {
        let (Some(canvas), Some(place)) = (canvas.get(), place.get()) else { return };
        stage.draw_on(Canvas::of(canvas));
        let measured = place.clone();
        let measure = move || {
            let (width, height) = (f64::from(measured.client_width()), f64::from(measured.client_height()));
            if width > 0.0 {
                stage.height.set(height);
                stage.has_width(width);
            }
        };
        resizing.set_value(Some(browser::on_resize(&place, measure)));
    });
    let scroll = move || {
        if let Some(body) = body.get_untracked() {
            let above = browser::header_px() - body.get_bounding_client_rect().top();
            let most =
                (stage.layout.with_untracked(|it| it.height) + RULER - stage.height.get_untracked()).max(0.0);
            stage.scrolled.set(above.clamp(0.0, most));
        }
    };
    browser::on_scroll(scroll);
    // Whatever shows is drawn again when it changes.
    effect(move || {
        state.view.track();
        state.folded.track();
        state.details.track();
        state.stretch.track();
        state.times.track();
        state.mark.track();
        state.steps.track();
        state.color_by.track();
        stage.layout.track();
        stage.flags.track();
        stage.tab.app.theme.track();
        stage.height.track();
        stage.scrolled.track();
        stage.draw_soon();
    });
    let titles = memo(move || {
        let (top, height) = (stage.scrolled.get(), stage.height.get());
        stage.layout.with(|layout| layout.between(top - 200.0, top + height + 200.0).to_vec())
    });
    // The canvas stays below the header of the page.
    let header = move || {
        stage.height.track();
        format!("{}px", browser::header_px())
    };
    let items = memo(move || {
        let current = stage.current_track();
        let details = state.details.get();
        let selected = details.as_ref().map(|details| &details.link);
        state.tracks.with(|tracks| {
            let tracks = tracks.as_ref()?;
            let of = |layout: &Layout| {
                stage.in_view.with(|in_view| tree::items(tracks, layout, current, in_view, selected))
            };
            Some(stage.layout.with(of))
        })
    });
    let items = move || items.get().unwrap_or_default();
    let tab = stage.tab.id;
    let current = move || items().into_iter().find(|item| item.is_current).map(|item| item.of.id(tab));
    effect(move || {
        state.view.track();
        stage.layout.track();
        stage.height.track();
        stage.scrolled.track();
        stage.has_moved();
    });
    let track_view = move |number: u32| {
        state.tracks.with_untracked(|tracks| tracks.as_ref()?.tracks.get(number as usize).cloned())
    };
    view! {
        <div
            class="timeline-body"
            node_ref=body
            style=("height", move || format!("{}px", stage.layout.with(|layout| layout.height) + RULER))
        >
            <div class="timeline-corner" style=("top", header)></div>
            <ul class="timeline-titles" aria-label=words().tracks>
                <For each=move || titles.get() key=|item| format!("{item:?}") let(item)>
                    {match item.what {
                        What::Steps => view! {
                            <li class="timeline-heading timeline-steps" style=("top", format!("{}px", RULER + item.top))>{words().steps}</li>
                        }.into_any(),
                        What::Heading(ref text) => view! {
                            <li class="timeline-heading" style=("top", format!("{}px", RULER + item.top)) title=text.clone()>{text.clone()}</li>
                        }.into_any(),
                        What::Track { number, .. } => {
                            track_view(number).map(|track| {
                                let (title, about) = (track.title.clone(), about(&track));
                                let can_fold = track.n_rows > 1;
                                view! {
                                    <li style=("top", format!("{}px", RULER + item.top))>
                                        <button
                                            type="button"
                                            disabled=!can_fold
                                            aria-expanded=move || can_fold.then(|| (!state.folded.with(|folded| folded.contains(&number))).to_string())
                                            title=format!("{title}\n{about}")
                                            on:click=move |_| stage.fold(number)
                                        >
                                            <span class="timeline-fold" aria-hidden="true">
                                                {move || match can_fold {
                                                    false => "",
                                                    true if state.folded.with(|folded| folded.contains(&number)) => "▸",
                                                    true => "▾",
                                                }}
                                            </span>
                                            <span class="timeline-name">{title.clone()}</span>
                                            <span class="timeline-busy">{busy_text(&track)}</span>
                                        </button>
                                        <button
                                            type="button"
                                            class="timeline-pin"
                                            aria-pressed=move || state.pinned.with(|pinned| pinned.contains(&number)).to_string()
                                            aria-label=(words().pin)(&title)
                                            title=(words().pin)(&title)
                                            on:click=move |_| stage.pin(number)
                                        >"⇧"</button>
                                    </li>
                                }
                            }).into_any()
                        }
                    }}
                </For>
            </ul>
            <div
                class="timeline-view"
                style=("--stuck", header)
                node_ref=place
                tabindex="0"
                role=move || if items().is_empty() { "application" } else { "tree" }
                aria-label=words().canvas
                aria-activedescendant=current
                on:wheel=move |event| stage.wheel(&event)
                on:pointerdown=move |event| stage.press(&event)
                on:pointermove=move |event| stage.move_to(&event)
                on:pointerup=move |event| stage.release(&event)
                on:pointercancel=move |event| stage.cancel(&event)
                on:pointerleave=move |_| stage.hover.set(None)
                on:dblclick=move |_| stage.zoom_to_selected()
                on:keydown=move |event| stage.key(&event)
            >
                <canvas node_ref=canvas aria-hidden="true"></canvas>
                // What screen readers have in place of the canvas.
                {move || items().into_iter().map(|item| view! {
                    <span
                        class="off-screen"
                        role="treeitem"
                        id=item.of.id(tab)
                        {..custom_attribute("aria-level", item.level.to_string())}
                        aria-posinset=item.position.map(|(position, _)| position.to_string())
                        aria-setsize=item.position.map(|(_, n)| n.to_string())
                        aria-expanded=item.is_open.map(|is_open| is_open.to_string())
                        aria-selected=item.is_current.to_string()
                    >
                        {item.text}
                    </span>
                }).collect_view()}
                {move || stage.hover.get().map(|hover| view! {
                    <div
                        aria-hidden="true"
                        class="timeline-tip"
                        class:timeline-tip-left=move || state.view.with_untracked(|view| view.is_some_and(|view| hover.x > view.width / 2.0))
                        style=("left", format!("{}px", hover.x))
                        style=("top", format!("{}px", hover.y))
                    >
                        <strong>{hover.at.name.clone()}</strong>
                        <span>{tip_text(&hover)}</span>
                    </div>
                })}
            </div>
        </div>
    }
}

fn busy_text(track: &TrackView) -> String {
    if track.busy > 0.0 { (words().timeline.busy)(track.busy) } else { String::new() }
}

fn about(track: &TrackView) -> String {
    (words().timeline.about_track)(track.n_boxes, track.busy)
}

fn tip_text(hover: &Hover) -> String {
    let At { dur_ns, self_ns, count, value, .. } = &hover.at;
    let words = &words().timeline;
    if let Some(value) = value {
        return (words.counter_value)(*value);
    }
    let mut parts = vec![dur_ns.map_or_else(|| words.no_end.to_string(), |ns| format_ns(ns as i64))];
    if let Some(self_ns) = self_ns.filter(|ns| Some(*ns) != *dur_ns) {
        parts.push((words.self_time)(self_ns));
    }
    if *count > 1 {
        parts.push((words.boxes_here)(*count, hover.cover.unwrap_or(0.0)));
    }
    parts.join(" · ")
}
