//! The flame graphs of a trace, or of the difference of two: the worker merges the stacks and sends the boxes to draw.
//!
//! What one looks at is a [`FlameQuery`] in the address, so Back undoes each step.

use crate::app::blocks::{FlameDrawing, InReports};
use crate::app::browser::{self, Pause, Resizing};
use crate::app::client::Answer;
use crate::app::erased::{For, Show, effect, memo};
use crate::app::state::Tab;
use crate::app::view_state::{Action, usual_libraries};
use crate::app::widgets::{Icon, SearchField, Shape};
use crate::app::words::words;
use leptos::html::Div;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::base::sort;
use tracedrop::base::units::{format_float, format_ratio, in_words};
use tracedrop::engine::protocol::{
    By, Direction, FlameInfo, FlameQuery, FlameRow, FlameView, FrameClass, LabelKey, Request, RowOrder,
    Scale, Widths,
};
use tracedrop::report::Chart;
use tracedrop::report::chart::{Flame, FlameBox, Plot};
use tracedrop::scene::{flame, svg};

/// `id` of the flame graphs among the reports.
pub const FLAME: &str = "flame-graph";

/// The row of the current box.
const CURRENT_ROW: &str = "tr[aria-current]";

/// Rows of functions that are made with the graph; the others follow.
const FIRST_ROWS: usize = 40;
/// Time after which they do.
const REST_AFTER_MS: u32 = 200;

/// Pause in typing after which a search starts.
const TYPING_MS: u32 = 150;

/// Values of the choice of a scale.
const SCALES: [(&str, Scale); 4] =
    [("none", Scale::None), ("total", Scale::Total), ("step", Scale::Step), ("second", Scale::Second)];

/// What one looks at, and how to change it.
#[derive(Clone, Copy)]
struct Look {
    tab: Tab,
    query: Memo<FlameQuery>,
    /// What the worker sent last.
    view: RwSignal<Option<Arc<FlameView>>>,
    /// The box that was chosen last.
    chosen: RwSignal<Option<FlameBox>>,
    /// The box under the pointer, or the one that keys moved to.
    pointed: RwSignal<Option<FlameBox>>,
    /// Part of a graph in order of time in full width: start and end, as shares.
    zoom: RwSignal<(f64, f64)>,
    /// The first row is at the bottom.
    from_bottom: RwSignal<bool>,
}

impl Look {
    fn change(self, change: impl FnOnce(&mut FlameQuery)) {
        self.set(change, true);
    }

    fn set(self, change: impl FnOnce(&mut FlameQuery), is_step: bool) {
        let before = self.query.get_untracked();
        let mut look = Box::new(before.clone());
        change(&mut look);
        if *look != before {
            self.tab.app.act(Action::LookAtFlame { tab: self.tab.id, look, is_step });
        }
    }

    /// Another set of boxes: what was in full width may not be there.
    fn change_boxes(self, change: impl FnOnce(&mut FlameQuery)) {
        self.chosen.set(None);
        self.zoom.set((0.0, 1.0));
        self.change(|query| {
            query.focus.clear();
            change(query);
        });
    }

    fn info<T>(self, read: impl FnOnce(&FlameInfo) -> T) -> Option<T> {
        self.view.with(|view| view.as_ref().and_then(|view| view.graphs.get(view.graph as usize).map(read)))
    }

    fn is_difference(self) -> bool {
        self.info(|info| info.is_difference).unwrap_or(false)
    }

    fn amount(self, weight: f64) -> String {
        self.view
            .with(|view| view.as_ref().map(|view| format_float(weight, view.flame.unit)))
            .unwrap_or_default()
    }
}

#[component]
pub fn FlameScreen(tab: Tab) -> impl IntoView {
    let query = memo(move || {
        tab.app.view.with(|view| view.tab(tab.id).map(|tab| tab.flame.clone()).unwrap_or_default())
    });
    let problem = RwSignal::new(None::<String>);
    let look = Look {
        tab,
        query,
        view: tab.flame,
        chosen: RwSignal::new(None),
        pointed: RwSignal::new(None),
        zoom: RwSignal::new((0.0, 1.0)),
        from_bottom: RwSignal::new(false),
    };
    // The revision is that of the document: another range or side has other stacks.
    let is_read = memo(move || {
        tab.document
            .with(|it| it.as_ref().filter(|it| it.is_read).map(|it| (it.revision, it.sides.is_some())))
    });
    let n_asked = StoredValue::new(0_u32);
    effect(move || {
        if is_read.get().is_none() {
            return;
        }
        let query = Box::new(query.get());
        n_asked.update_value(|n| *n += 1);
        let number = n_asked.get_value();
        tab.ask(
            move |ticket| Request::Flame { ticket, query },
            move |answer| {
                // A later question is on its way.
                if n_asked.try_get_value() != Some(number) {
                    return;
                }
                match answer {
                    Answer::Flame(view) => {
                        look.view.set(Some(Arc::from(view)));
                        problem.try_set(None);
                    }
                    Answer::Refused(failure) => drop(problem.try_set(Some(failure.to_string()))),
                    _ => {}
                }
            },
        );
    });
    let has_view = memo(move || look.view.with(Option::is_some));
    let summary = move || {
        look.view.with(|view| {
            let view = view.as_ref()?;
            let amount = |weight| in_words(weight, view.flame.unit);
            Some(match view.graphs.get(view.graph as usize)?.is_difference {
                true => format!(
                    "A {}, B {}",
                    amount(view.total.1 - view.no_stack.1),
                    amount(view.total.0 - view.no_stack.0)
                ),
                false => {
                    // With a search the table has the found ones only.
                    let most = view.hottest().filter(|_| view.matched.is_none());
                    let most = most.and_then(|(row, share)| Some((row.name.clone(), share?)));
                    (words().flame.summary)(&amount(view.total.0 - view.no_stack.0), most)
                }
            })
        })
    };
    let status = move || match (is_read.get(), problem.get()) {
        (_, Some(problem)) => problem,
        (None, _) => words().flame.not_read.to_string(),
        _ => words().flame.making.to_string(),
    };
    view! {
        <header class="report-head">
            <div>
                <h2 tabindex="-1">{words().flame.title}</h2>
                <p class="report-summary">{summary}</p>
            </div>
        </header>
        <Show
            when=move || has_view.get()
            fallback=move || view! { <p class="empty" role="status">{status}</p> }
        >
            <section class="flame-screen" aria-label=words().flame.title>
                <Tools look problem />
                <Trail look />
                <div class="flame-body">
                    <Graph look />
                    <Functions look />
                </div>
                {move || look.view.with(|view| view.as_ref().map(|view| {
                    view.notes.iter().map(|note| view! { <p class="note">{note.clone()}</p> }).collect_view()
                }))}
            </section>
        </Show>
    }
}

/// Which graph, from where, merged how; the search.
#[component]
fn Tools(look: Look, problem: RwSignal<Option<String>>) -> impl IntoView {
    let words = || &words().flame;
    let Look { query, view, .. } = look;
    let titles = memo(move || {
        view.with(|view| {
            let of =
                |view: &Arc<FlameView>| view.graphs.iter().map(|info| info.title.clone()).collect::<Vec<_>>();
            view.as_ref().map(of).unwrap_or_default()
        })
    });
    let threads = memo(move || look.info(|info| info.threads.clone()).unwrap_or_default());
    let directions = memo(move || {
        let has_order = look.info(|info| info.has_order).unwrap_or(false);
        let mut all = vec![Direction::Callers, Direction::Ends, Direction::Around];
        if has_order {
            all.insert(2, Direction::Time);
        }
        all
    });
    let is_difference = memo(move || look.is_difference());
    let has_steps = memo(move || look.info(|info| info.has_steps).unwrap_or(false));
    let has_seconds = memo(move || look.info(|info| info.has_seconds).unwrap_or(false));
    let has_scale = move |scale: Scale| match scale {
        Scale::None | Scale::Total => true,
        Scale::Step => has_steps.get(),
        Scale::Second => has_seconds.get(),
    };
    let typed = RwSignal::new(query.get_untracked().search);
    let typing = Pause::new();
    // Back and links change it too.
    effect(move || {
        let search = query.with(|query| query.search.clone());
        if typed.get_untracked().trim() != search {
            typed.set(search);
        }
    });
    let search = move |text: String| {
        typed.set(text.clone());
        typing.start(TYPING_MS, move || look.set(|query| query.search = text.trim().to_string(), false));
    };
    let matched = move || {
        if let Some(problem) = problem.get() {
            return Some(problem);
        }
        view.with(|view| {
            let view = view.as_ref()?;
            let (weight, share) = view.matched?;
            Some((words().matched)(&in_words(weight, view.flame.unit), &format_ratio(share)))
        })
    };
    view! {
        <div class="flame-tools">
            <Show when=move || titles.with(|titles| titles.len() > 1)>
                <label class="flame-choice">
                    <span class="off-screen">{words().graph}</span>
                    <select on:change:target=move |event| {
                        let graph = event.target().value().parse().unwrap_or(0);
                        look.change_boxes(|query| {
                            let FlameQuery { direction, search, rows, widths, scale, .. } = query.clone();
                            *query = FlameQuery { graph, direction, search, rows, widths, scale, ..FlameQuery::default() };
                        });
                    }>
                        {move || titles.get().into_iter().enumerate().map(|(at, title)| {
                            let is_it = move || view.with(|view| view.as_ref().is_some_and(|view| view.graph as usize == at));
                            view! { <option value=at.to_string() selected=is_it>{title}</option> }
                        }).collect_view()}
                    </select>
                </label>
            </Show>
            <div class="switch" role="group" aria-label=words().from>
                {move || directions.get().into_iter().map(|direction| {
                    let (label, hint) = (words().direction)(direction);
                    view! {
                        <button
                            type="button"
                            class="switch-choice"
                            title=hint
                            aria-pressed=move || (query.with(|query| query.direction) == direction).to_string()
                            on:click=move |_| look.change_boxes(|query| query.direction = direction)
                        >
                            {label}
                        </button>
                    }
                }).collect_view()}
            </div>
            <label class="flame-choice">
                <span class="off-screen">{words().by}</span>
                <select on:change:target=move |event| {
                    let at: usize = event.target().value().parse().unwrap_or(0);
                    look.change_boxes(|query| query.stacks.by = By::ALL.get(at).copied().unwrap_or_default());
                }>
                    {By::ALL.into_iter().enumerate().map(|(at, by)| view! {
                        <option value=at.to_string() selected=move || query.with(|query| query.stacks.by == by)>
                            {(words().by_name)(by)}
                        </option>
                    }).collect_view()}
                </select>
            </label>
            <Show when=move || threads.with(|threads| threads.len() > 1)>
                <label class="flame-choice">
                    <span class="off-screen">{words().thread}</span>
                    <select on:change:target=move |event| {
                        let thread = event.target().value().parse().ok();
                        look.change_boxes(|query| query.stacks.thread = thread);
                    }>
                        {move || {
                            let is_in_time = query.with(|query| query.direction) == Direction::Time;
                            (!is_in_time).then(|| view! {
                                <option value="" selected=move || query.with(|query| query.stacks.thread.is_none())>{words().all_threads}</option>
                            })
                        }}
                        {move || threads.get().into_iter().enumerate().map(|(at, name)| {
                            let is_it = move || view.with(|view| view.as_ref().is_some_and(|view| view.thread == Some(at as u32)));
                            view! { <option value=at.to_string() selected=is_it>{name}</option> }
                        }).collect_view()}
                    </select>
                </label>
            </Show>
            <FrameOptions look />
            <Show when=move || is_difference.get()>
                <div class="switch" role="group" aria-label=words().widths>
                    {[Widths::Before, Widths::Weight, Widths::Change].map(|widths| view! {
                        <button
                            type="button"
                            class="switch-choice"
                            title=format!("{}: {}", words().widths, (words().width)(widths))
                            aria-pressed=move || (query.with(|query| query.widths) == widths).to_string()
                            on:click=move |_| look.change(|query| query.widths = widths)
                        >
                            {(words().width)(widths)}
                        </button>
                    }).collect_view()}
                </div>
            </Show>
            <Show when=move || is_difference.get()>
                <label class="flame-choice">
                    <span class="off-screen">{words().scale}</span>
                    <select on:change:target=move |event| {
                        let chosen = event.target().value();
                        let scale = SCALES.iter().find(|(value, _)| *value == chosen);
                        let scale = scale.map_or(Scale::None, |(_, scale)| *scale);
                        look.change(|query| query.scale = scale);
                    }>
                        {SCALES.map(|(value, scale)| view! {
                            <option
                                value=value
                                hidden=move || !has_scale(scale)
                                selected=move || query.with(|query| query.scale == scale)
                            >
                                {(words().scale_name)(scale)}
                            </option>
                        }).collect_view()}
                    </select>
                </label>
            </Show>
            <search class="flame-search">
                <SearchField
                    label=Signal::stored(words().search.to_string())
                    placeholder=words().search_hint
                    text=typed
                    on_text=search
                    is_wrong=Signal::derive(move || problem.with(Option::is_some))
                />
                <span class="flame-matched" role="status">{matched}</span>
            </search>
        </div>
    }
}

/// Which frames take part.
#[component]
fn FrameOptions(look: Look) -> impl IntoView {
    let words = || &words().flame;
    let query = look.query;
    let classes = memo(move || look.info(|info| info.classes.clone()).unwrap_or_default());
    let is_mine = move || query.with(|query| !query.stacks.libraries.is_empty());
    let n_changed = move || {
        query.with(|query| {
            let stacks = &query.stacks;
            usize::from(!stacks.libraries.is_empty())
                + usize::from(stacks.folds_recursion)
                + stacks.hidden_classes.len()
        })
    };
    let checkbox = |label: &'static str, hint: &'static str, is_on: Signal<bool>, change: Callback<bool>| {
        view! {
            <label class="flame-check" title=hint>
                <input type="checkbox" prop:checked=move || is_on.get() on:change:target=move |event| change.run(event.target().checked()) />
                {label}
            </label>
        }
    };
    view! {
        <details class="flame-options">
            <summary class="button">
                <Icon shape=Shape::Columns />
                {words().options}
                {move || (n_changed() > 0).then(|| format!(" ({})", n_changed()))}
            </summary>
            <div class="flame-options-body">
                {checkbox(
                    words().only_mine,
                    words().only_mine_hint,
                    Signal::derive(is_mine),
                    Callback::new(move |is_on| look.change_boxes(|query| {
                        query.stacks.libraries = if is_on { usual_libraries() } else { Vec::new() };
                    })),
                )}
                <Show when=is_mine>
                    <label class="flame-libraries">
                        {words().libraries}
                        <textarea
                            rows="6"
                            spellcheck="false"
                            prop:value=move || query.with(|query| query.stacks.libraries.join("\n"))
                            on:change:target=move |event| {
                                let text = event.target().value();
                                let lines = text.lines().filter(|line| !line.trim().is_empty()).map(str::to_string).collect();
                                look.change_boxes(|query| query.stacks.libraries = lines);
                            }
                        ></textarea>
                    </label>
                </Show>
                {checkbox(
                    words().folds,
                    words().folds_hint,
                    Signal::derive(move || query.with(|query| query.stacks.folds_recursion)),
                    Callback::new(move |is_on| look.change_boxes(|query| query.stacks.folds_recursion = is_on)),
                )}
                {checkbox(
                    words().from_bottom,
                    "",
                    Signal::derive(move || look.from_bottom.get()),
                    Callback::new(move |is_on| look.from_bottom.set(is_on)),
                )}
                <Show when=move || classes.with(|classes| classes.len() > 1)>
                    <fieldset>
                        <legend>{words().classes}</legend>
                        {move || classes.get().into_iter().map(|class: FrameClass| {
                            checkbox(
                                (words().class)(class),
                                "",
                                Signal::derive(move || query.with(|query| !query.stacks.hidden_classes.contains(&class))),
                                Callback::new(move |is_on: bool| look.change_boxes(|query| {
                                    query.stacks.hidden_classes.retain(|hidden| *hidden != class);
                                    if !is_on {
                                        query.stacks.hidden_classes.push(class);
                                    }
                                })),
                            )
                        }).collect_view()}
                    </fieldset>
                </Show>
            </div>
        </details>
    }
}

/// Where one is: what is in full width, what is left out; and what can be done with the box that was chosen.
#[component]
fn Trail(look: Look) -> impl IntoView {
    let words = || &words().flame;
    let query = look.query;
    let is_deep = memo(move || query.with(|query| !query.focus.is_empty()) || look.zoom.get() != (0.0, 1.0));
    let left_out = memo(move || {
        query.with(|query| {
            let of = |texts: &[String], is_ignored: bool| {
                texts.iter().map(|text| (text.clone(), is_ignored)).collect::<Vec<_>>()
            };
            [of(&query.stacks.hidden, false), of(&query.stacks.ignored, true)].concat()
        })
    });
    let to_all = move |_| {
        look.chosen.set(None);
        look.zoom.set((0.0, 1.0));
        look.change(|query| query.focus.clear());
    };
    let path = move || {
        query
            .with(|query| query.focus.clone())
            .into_iter()
            .enumerate()
            .map(|(at, (name, place))| {
                view! {
                    <span aria-hidden="true">" › "</span>
                    <button type="button" class="link" title=place on:click=move |_| {
                        look.change(|query| query.focus.truncate(at + 1));
                    }>{name}</button>
                }
            })
            .collect_view()
    };
    view! {
        <nav class="flame-trail" aria-label=words().all>
            <Show when=move || is_deep.get()>
                <button type="button" class="link" on:click=to_all>{words().all}</button>
                {path}
            </Show>
        </nav>
        <Show when=move || left_out.with(|left_out| !left_out.is_empty())>
            <p class="flame-left-out">
                {words().hidden}": "
                {move || left_out.get().into_iter().map(|(text, is_ignored)| {
                    let name = text.trim_matches('"').to_string();
                    let label = (words().show_again)(&name);
                    view! {
                        <button type="button" class="flame-chip" title=label.clone() aria-label=label on:click=move |_| {
                            look.change_boxes(|query| {
                                let stacks = &mut query.stacks;
                                let texts = if is_ignored { &mut stacks.ignored } else { &mut stacks.hidden };
                                texts.retain(|it| *it != text);
                            });
                        }>{name}" ×"</button>
                    }
                }).collect_view()}
            </p>
        </Show>
    }
}

/// Part of a graph between two shares of its width, as wide as all of it.
fn zoomed(flame: &Flame, (from, to): (f64, f64)) -> Flame {
    let (from, to) = (from * flame.total, to * flame.total);
    let within = flame.boxes.iter().filter(|it| it.start < to && it.start + it.weight > from);
    let boxes = within.map(|it| {
        let start = it.start.max(from);
        FlameBox { start: start - from, weight: (it.start + it.weight).min(to) - start, ..it.clone() }
    });
    Flame { boxes: boxes.collect(), total: to - from, unit: flame.unit }
}

/// Names and places of a box and its callers, from the root.
fn path_of(flame: &Flame, number: usize) -> Vec<LabelKey> {
    let Some(it) = flame.boxes.get(number) else { return Vec::new() };
    let middle = it.start + it.weight / 2.0;
    let is_around = |other: &&FlameBox| {
        other.depth <= it.depth
            && !other.is_rest
            && other.start <= middle
            && middle <= other.start + other.weight
    };
    let mut path: Vec<&FlameBox> = flame.boxes.iter().filter(is_around).collect();
    sort::by_key(&mut path, |it| it.depth);
    path.dedup_by_key(|it| it.depth);
    path.into_iter().map(|it| (it.name.clone(), it.place.clone())).collect()
}

/// Name and place of a box that stands for a function.
fn key_of(it: &FlameBox) -> Option<LabelKey> {
    (!it.is_rest).then(|| (it.name.clone(), it.place.clone()))
}

/// A search for exactly that name.
fn exactly(name: &str) -> String {
    format!("\"{name}\"")
}

#[component]
fn Graph(look: Look) -> impl IntoView {
    let words = || &words().flame;
    let Look { tab, query, view, chosen, pointed, zoom, .. } = look;
    let (current, current_caller) = (RwSignal::new(None::<usize>), RwSignal::new(None::<usize>));
    let empty = || Flame { boxes: Vec::new(), total: 0.0, unit: tracedrop::base::units::Unit::None };
    let is_in_time = move || query.with(|query| query.direction) == Direction::Time;
    let main = memo(move || {
        view.with(|view| {
            let flame = view.as_ref().map_or_else(empty, |view| view.flame.clone());
            if is_in_time() && zoom.get() != (0.0, 1.0) { zoomed(&flame, zoom.get()) } else { flame }
        })
    });
    let callers = memo(move || view.with(|view| view.as_ref().and_then(|view| view.callers.clone())));
    effect(move || {
        main.track();
        current.set(None);
        current_caller.set(None);
    });
    let is_searching = Signal::derive(move || query.with(|query| !query.search.is_empty()));
    let center = move || {
        main.with(|main| {
            main.boxes.iter().find(|it| it.depth == 0).map(|it| it.name.clone()).unwrap_or_default()
        })
    };
    let choose = move |number: usize| {
        let Some(it) = main.with_untracked(|main| main.boxes.get(number).cloned()) else { return };
        let total = main.with_untracked(|main| main.total);
        chosen.set(Some(it.clone()));
        match query.with_untracked(|query| query.direction) {
            Direction::Around => look.change(|query| query.center = Some((it.name, it.place))),
            Direction::Time => {
                let (from, to) = zoom.get_untracked();
                let share = |at: f64| from + (to - from) * at / total;
                if it.weight < total {
                    zoom.set((share(it.start), share(it.start + it.weight)));
                }
            }
            Direction::Callers | Direction::Ends => {
                let path = main.with_untracked(|main| path_of(main, number));
                look.change(|query| query.focus = path);
            }
        }
    };
    let choose_caller = move |number: usize| {
        let it =
            callers.with_untracked(|callers| callers.as_ref().and_then(|it| it.boxes.get(number).cloned()));
        if let Some(it) = it {
            chosen.set(Some(it.clone()));
            look.change(|query| query.center = Some((it.name, it.place)));
        }
    };
    let out = move || {
        zoom.set((0.0, 1.0));
        look.change(|query| drop(query.focus.pop()));
    };
    let about = move || {
        let it = pointed.get().or_else(|| chosen.get())?;
        Some(main.with(|main| flame::title_of(&it, main)))
    };
    let from_bottom = move || look.from_bottom.get();
    let save = move |_| {
        let chart = view.with_untracked(|view| {
            let view = view.as_ref()?;
            let info = view.graphs.get(view.graph as usize)?;
            let (title, caption) = (info.title.clone(), info.caption.clone());
            Some(Chart {
                id: "flame_graph_chart".into(),
                title,
                caption,
                plot: Plot::Flame(view.flame.clone()),
            })
        });
        if let Some(chart) = chart {
            browser::download_text(
                "flame-graph.svg",
                &svg::picture(&chart, svg::FILE_WIDTH),
                "image/svg+xml",
            );
        }
    };
    let chosen_key = memo(move || chosen.with(|chosen| key_of(chosen.as_ref()?)));
    let with_chosen = move |act: &dyn Fn(FlameBox)| {
        if let Some(it) = chosen.get_untracked() {
            act(it);
        }
    };
    let can_go = memo(move || tab.has_timeline());
    view! {
        <div class="flame-graph">
            <div class="flame-head">
                <p class="flame-about">{move || about().unwrap_or_else(|| {
                    look.info(|info| info.caption.clone()).unwrap_or_default()
                })}</p>
                // Where the window is narrow they have their place before, so that nothing moves when they show.
                <p class="flame-actions" class:flame-no-box=move || chosen_key.with(Option::is_none)>
                    <button type="button" class="button" title=words().around_hint on:click=move |_| with_chosen(&|it| look.change_boxes(|query| {
                        query.direction = Direction::Around;
                        query.center = Some((it.name, it.place));
                    }))>{words().around}</button>
                    <button type="button" class="button" title=words().hide_hint on:click=move |_| with_chosen(&|it| look.change_boxes(|query| {
                        query.stacks.hidden.push(exactly(&it.name));
                    }))>{words().hide}</button>
                    <button type="button" class="button" title=words().ignore_hint on:click=move |_| with_chosen(&|it| look.change_boxes(|query| {
                        query.stacks.ignored.push(exactly(&it.name));
                    }))>{words().ignore}</button>
                    <button type="button" class="button" on:click=move |_| with_chosen(&|it| {
                        browser::copy_text(it.name, |_| {});
                    })>{words().copy_name}</button>
                    <Show when=move || can_go.get()>
                        <button type="button" class="button" on:click=move |_| with_chosen(&|it| {
                            tab.find_in_timeline(exactly(&it.name));
                        })>{words().in_timeline}</button>
                    </Show>
                </p>
                <button
                    type="button"
                    class="button button-icon button-quiet"
                    title=crate::app::words::words().reports.save_svg
                    aria-label=crate::app::words::words().reports.save_svg
                    on:click=save
                >
                    <Icon shape=Shape::Export />
                </button>
            </div>
            {move || callers.with(Option::is_some).then(|| view! {
                <h3 class="flame-part">{words().callers}</h3>
                <div class="flame-callers">
                    <FlameDrawing
                        id=format!("flame-{}-callers", tab.id)
                        label=Signal::derive(move || (words().callers_of)(&center()))
                        flame=Signal::derive(move || callers.get().unwrap_or_else(empty))
                        from_bottom=Signal::stored(true)
                        is_searching
                        current=current_caller
                        on_point=move |it| pointed.set(it)
                        on_choose=choose_caller
                        on_out=move |_| out()
                    />
                </div>
                <h3 class="flame-part">{words().callees}</h3>
            })}
            <FlameDrawing
                id=format!("flame-{}-boxes", tab.id)
                label=Signal::stored(words().drawing.to_string())
                flame=main
                from_bottom=Signal::derive(move || from_bottom() && callers.with(Option::is_none))
                is_searching
                current
                on_point=move |it| pointed.set(it)
                on_choose=choose
                on_out=move |_| out()
            />
            <p class="timeline-keys">{words().hint}</p>
            // Below what is looked at, which it would move.
            <div class="flame-reports">
                {move || chosen_key.get().map(|(name, place)| view! { <InReports tab name place /> })}
            </div>
        </div>
    }
}

/// Functions by weight; each lights its boxes.
#[component]
fn Functions(look: Look) -> impl IntoView {
    let words = || &words().flame;
    let Look { query, view, chosen, pointed, .. } = look;
    let is_difference = memo(move || look.is_difference());
    let frame = NodeRef::<Div>::new();
    // Of each graph, whatever the direction: most looks show the same functions.
    let rows = memo(move || {
        Arc::new(
            view.with(|view| view.as_ref().map(|view| (view.graph, view.rows.clone())).unwrap_or_default()),
        )
    });
    // Rows that are out of sight are made once the graph is there: they are most of what the screen consists of.
    let whole = RwSignal::new(None::<Arc<(u32, Vec<FlameRow>)>>);
    effect(move || {
        let rows = rows.get();
        browser::after(REST_AFTER_MS, move || drop(whole.try_set(Some(rows))));
    });
    let made = move || {
        let rows = rows.get();
        let (graph, all) = &*rows;
        // By value: a memo may hold another copy of the same rows.
        let is_whole = whole.with(|whole| whole.as_ref() == Some(&rows));
        let n = if is_whole { all.len() } else { all.len().min(FIRST_ROWS) };
        all[..n].iter().map(|row| (*graph, row.clone())).collect::<Vec<_>>()
    };
    // The row of the box that is pointed at, or else of the chosen one.
    let pointed = memo(move || pointed.with(|it| key_of(it.as_ref()?)));
    let chosen = memo(move || chosen.with(|it| key_of(it.as_ref()?)));
    let current = memo(move || pointed.get().or_else(|| chosen.get()));
    effect(move || {
        rows.track();
        whole.track();
        if let (Some(frame), true) = (frame.get(), chosen.with(Option::is_some)) {
            browser::reveal_in(&frame, CURRENT_ROW);
        }
    });
    // Its last row is whole, also when rows change.
    let resizing = StoredValue::new_local(Vec::<Resizing>::new());
    effect(move || {
        rows.track();
        if let Some(frame) = frame.get() {
            resizing.set_value(browser::keep_rows_whole(&frame));
        }
    });
    let count = move || {
        view.with(|view| view.as_ref().map(|view| (words().n_functions)(view.n_rows, view.rows.len())))
    };
    let heading = move |label: &'static str, order: RowOrder| {
        let is_on = move || query.with(|query| query.rows) == order;
        view! {
            <th scope="col" class="number" aria-sort=move || is_on().then_some("descending")>
                <button type="button" class="flame-sort" title=(words().sort_by)(order) on:click=move |_| look.change(|query| query.rows = order)>
                    {label}
                    {move || is_on().then_some(" ↓")}
                </button>
            </th>
        }
    };
    let row = move |row: FlameRow| {
        let FlameRow { name, place, own, total, own_before, .. } = row;
        let (lit, key) = (exactly(&name), (name.clone(), place.clone()));
        let is_current = {
            let key = key.clone();
            memo(move || current.with(|current| current.as_ref() == Some(&key)))
        };
        let is_lit = {
            let lit = lit.clone();
            move || is_current.get() || query.with(|query| query.search == lit)
        };
        let title = format!("{}\n{place}", (words().light)(&name));
        let change = own - own_before;
        view! {
            <tr class:row-lit=is_lit aria-current=move || is_current.get().then_some("true")>
                <th scope="row">
                    <button type="button" class="flame-name" title=title on:click=move |_| {
                        look.change(|query| query.search = if query.search == lit { String::new() } else { lit.clone() });
                    }>
                        <span>{name.clone()}</span>
                        <small>{place}</small>
                    </button>
                </th>
                {match is_difference.get() {
                    true => view! {
                        <td class="number">{look.amount(own_before)}</td>
                        <td class="number">{look.amount(own)}</td>
                        <td class="number">{signed(look.amount(change.abs()), change)}</td>
                    }.into_any(),
                    false => view! {
                        <td class="number">{look.amount(own)}</td>
                        <td class="number">{look.amount(total)}</td>
                    }.into_any(),
                }}
                <td>
                    <button type="button" class="button button-icon button-quiet" title=words().around_hint aria-label=format!("{}: {name}", words().around) on:click=move |_| {
                        look.change_boxes(|query| {
                            query.direction = Direction::Around;
                            query.center = Some(key.clone());
                        });
                    }><Icon shape=Shape::Swap /></button>
                </td>
            </tr>
        }
    };
    view! {
        <section class="flame-functions" aria-label=words().functions>
            <h3>{words().functions} <small>{count}</small></h3>
            <div class="flame-table" node_ref=frame tabindex="0" role="group" aria-label=words().functions>
                <table>
                    <thead>
                        <tr>
                            <th scope="col">{words().function}</th>
                            {move || match is_difference.get() {
                                true => view! {
                                    <th scope="col" class="number">{(words().own_of)(false)}</th>
                                    {heading((words().own_of)(true), RowOrder::Own)}
                                    {heading(words().change, RowOrder::Change)}
                                }.into_any(),
                                false => view! {
                                    {heading(words().own, RowOrder::Own)}
                                    {heading(words().total, RowOrder::Total)}
                                }.into_any(),
                            }}
                            <th><span class="off-screen">{words().around}</span></th>
                        </tr>
                    </thead>
                    <tbody>
                        <For each=made key=key_of_row let((_, it))>{row(it)}</For>
                    </tbody>
                </table>
            </div>
        </section>
    }
}

/// What a row of a graph shows, which has its unit.
fn key_of_row((graph, row): &(u32, FlameRow)) -> (u32, String, String, [u64; 4]) {
    let FlameRow { name, place, own, total, own_before, total_before } = row;
    let weights = [own, total, own_before, total_before].map(|weight| weight.to_bits());
    (*graph, name.clone(), place.clone(), weights)
}

/// A change with its sign.
fn signed(amount: String, change: f64) -> String {
    match change {
        change if change > 0.0 => format!("+{amount}"),
        change if change < 0.0 => format!("−{amount}"),
        _ => amount,
    }
}
