//! The first screen: the promise, a place to drop files, samples, what can be read.

use super::{KeepChoice, KeptFiles};
use crate::app::browser::{self, Picked};
use crate::app::erased::Show;
use crate::app::state::{LostFile, app};
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;
use tracedrop::engine::protocol::FormatView;
use tracedrop::report::chart::Tone;
use tracedrop::scene::tone_name;

/// Digits of the build hash to show.
const SHORT_BUILD: usize = 16;

#[component]
pub fn StartScreen() -> impl IntoView {
    let app = app();
    view! {
        <div class="start" hidden=move || app.active.get().is_some() || app.privacy.get()>
            <div class="start-columns">
                <div class="start-own">
                    <div class="start-promise">
                        <h1>{words().start.headline}</h1>
                        <p class="start-lead">{words().start.lead}</p>
                    </div>
                    <Reopen />
                    <button type="button" class="drop-area" on:click=move |_| app.choose_files()>
                        <span class="drop-area-icon"><Icon shape=Shape::ArrowDown /></span>
                        <span class="drop-area-title">{words().start.drop_here}</span>
                        <span class="drop-area-hint">{words().start.drop_hint}</span>
                    </button>
                    <p class="start-folder">
                        <button type="button" class="link" on:click=move |_| app.choose_folder()>{words().files.open_folder}</button>
                        " "
                        {words().files.folder_hint}
                    </p>
                    <p class="start-lock"><Icon shape=Shape::Lock /> <span><strong>{words().start.stays_here}</strong> " " {words().start.why_it_stays} " " <button type="button" class="link" on:click=move |_| app.show_privacy()>{words().privacy.see_for_yourself}</button></span></p>
                    <KeptFiles />
                </div>
                // Before the formats, as the Tab key goes: what there is to try is one key behind what opens files.
                <Samples />
                <div class="start-formats">
                    <section class="start-section" aria-labelledby="formats-title">
                        <h2 id="formats-title">{words().start.formats_title}</h2>
                        <FormatChips />
                    </section>
                    <KeepChoice />
                </div>
            </div>
            <footer class="start-foot">
                <Build />
                <button type="button" class="link" on:click=move |_| app.show_privacy()>{words().privacy.link}</button>
                <button type="button" class="link" on:click=move |_| app.keys.set(true)>{words().keys.keys_title} " " <kbd>"?"</kbd></button>
            </footer>
        </div>
    }
}

/// Version and build of the page, and whether it starts without a network.
#[component]
fn Build() -> impl IntoView {
    let build = browser::build();
    let short = build.chars().take(SHORT_BUILD).collect::<String>();
    view! {
        <span>
            {(words().start.version)(&browser::version())}
            {", "}
            <span title=build data-testid="build">{(words().privacy.build)(&short)}</span>
            {browser::is_kept_offline().then_some(words().privacy.works_offline)}
        </span>
    }
}

/// Traces that come with the page, each with the answer that its report gives.
#[component]
fn Samples() -> impl IntoView {
    let app = app();
    let samples = browser::samples();
    (!samples.is_empty()).then(|| {
        view! {
            <section class="start-section start-samples" aria-labelledby="samples-title">
                <h2 id="samples-title">{words().start.samples_title}</h2>
                <ul class="samples">
                    {samples
                        .into_iter()
                        .map(|sample| {
                            let files = sample.files.into_iter().map(|(name, blob)| Picked::of_blob(name, blob));
                            let picked: browser::Local<Vec<Picked>> = StoredValue::new_local(files.collect());
                            view! {
                                <li>
                                    <button
                                        type="button"
                                        class="sample"
                                        on:click=move |_| app.open(picked.get_value())
                                    >
                                        <span class="sample-title">{sample.title}</span>
                                        <span class="sample-answer">{sample.answer}</span>
                                        <span class="sample-parts" aria-hidden="true">
                                            {sample
                                                .parts
                                                .into_iter()
                                                .enumerate()
                                                .map(|(at, part)| {
                                                    let series = || tone_name(Tone::Other(at as u8));
                                                    let tone = sample.tones.get(at).cloned().unwrap_or_else(series);
                                                    view! { <span class=format!("tone-{tone}") style:flex-grow=part.to_string()></span> }
                                                })
                                                .collect_view()}
                                        </span>
                                        <span class="sample-about">{sample.description}</span>
                                    </button>
                                </li>
                            }
                        })
                        .collect_view()}
                </ul>
            </section>
        }
    })
}

/// A format read as another version of a tool reads it, which is chosen in the settings of a report.
fn is_variant(format: &FormatView) -> bool {
    format.id.ends_with("-seed")
}

const CHIPS: &str = ".chip";

/// What can be read, a line of names; the one that is pressed says more.
#[component]
fn FormatChips() -> impl IntoView {
    let app = app();
    let open = RwSignal::new(None::<String>);
    // One stop for the Tab key; arrows move between them.
    let place = NodeRef::<html::Ul>::new();
    let reachable = RwSignal::new(0_usize);
    let chip = move |(at, format): (usize, FormatView)| {
        let FormatView { id, title, .. } = format;
        let (is_open, pressed) = (id.clone(), id);
        view! {
            <li>
                <button
                    type="button"
                    class="chip"
                    tabindex=move || if reachable.get() == at { "0" } else { "-1" }
                    on:focus=move |_| reachable.set(at)
                    aria-expanded=move || (open.get().as_ref() == Some(&is_open)).to_string()
                    on:click=move |_| {
                        let id = pressed.clone();
                        open.update(|open| *open = (open.as_ref() != Some(&id)).then_some(id));
                    }
                >
                    {title}
                </button>
            </li>
        }
    };
    let details = move || {
        let format = app.formats.get().into_iter().find(|format| Some(&format.id) == open.get().as_ref());
        format.map(|format| {
            let endings =
                format.extensions.iter().map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(" ");
            view! {
                <p class="chip-details">
                    <span class="format-from">{format.producers}</span>
                    " "
                    <span class="format-endings">{endings}</span>
                </p>
            }
        })
    };
    view! {
        <ul
            class="chips"
            node_ref=place
            on:keydown=move |event| {
                let Some(place) = place.get_untracked() else { return };
                match event.key().as_str() {
                    "ArrowRight" | "ArrowDown" => browser::focus_sibling(&place, CHIPS, 1),
                    "ArrowLeft" | "ArrowUp" => browser::focus_sibling(&place, CHIPS, -1),
                    "Home" => browser::focus_sibling(&place, CHIPS, i32::MIN),
                    "End" => browser::focus_sibling(&place, CHIPS, i32::MAX),
                    _ => return,
                }
                event.prevent_default();
            }
        >
            {move || app.formats.get().into_iter().filter(|format| !is_variant(format)).enumerate().map(chip).collect_view()}
        </ul>
        <div role="status">{details}</div>
    }
}

/// Offers the files that were open when the page was loaded anew.
#[component]
fn Reopen() -> impl IntoView {
    let app = app();
    let files = move || app.lost_files.get();
    view! {
        <Show when=move || app.lost_files.with(|files| !files.is_empty())>
            <section class="start-section" aria-labelledby="lost-title" data-testid="lost-files">
                <h2 id="lost-title">{words().start.lost_title}</h2>
                <ul class="lost">
                    {move || {
                        files()
                            .into_iter()
                            .map(|LostFile { name, .. }| {
                                let kept = app.services.recent_files.entry_of(&name);
                                let is_kept =
                                    kept.is_some() || app.services.recent_files.reopenable.with(|names| names.contains(&name));
                                let again = name.clone();
                                view! {
                                    <li>
                                        <button
                                            type="button"
                                            class="link"
                                            on:click=move |_| match is_kept {
                                                true => app.open_again(again.clone(), kept.clone()),
                                                false => app.choose_files(),
                                            }
                                        >
                                            {if is_kept { words().start.lost_open } else { words().start.lost_choose }}
                                            " "
                                            <bdi>{name}</bdi>
                                            " "
                                            {words().start.lost_again}
                                        </button>
                                    </li>
                                }
                            })
                            .collect_view()
                    }}
                </ul>
            </section>
        </Show>
    }
}

/// What can be read, as the worker says.
#[component]
pub fn FormatList() -> impl IntoView {
    let app = app();
    view! {
        <ul class="formats">
            {move || {
                app.formats
                    .get()
                    .into_iter()
                    .filter(|format| !is_variant(format))
                    .map(|format| {
                        let endings = format.extensions.iter().map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(" ");
                        view! {
                            <li>
                                <span class="format-title">{format.title}</span>
                                <span class="format-from">{format.producers}</span>
                                <span class="format-endings">{endings}</span>
                            </li>
                        }
                    })
                    .collect_view()
            }}
        </ul>
    }
}
