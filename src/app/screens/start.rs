//! The first screen: the promise, a place to drop files, samples, what can be read.

use super::{KeepChoice, KeptFiles};
use crate::app::browser::{self, Picked};
use crate::app::state::app;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;

/// So many digits tell builds apart.
const SHORT_BUILD: usize = 16;

#[component]
pub fn StartScreen() -> impl IntoView {
    let app = app();
    view! {
        <div class="start" hidden=move || app.active.get().is_some() || app.privacy.get()>
            <div class="start-promise">
                <h1>{words().headline}</h1>
                <p class="start-lead">{words().lead}</p>
            </div>
            <button type="button" class="drop-area" on:click=move |_| app.choose_files()>
                <span class="drop-area-icon"><Icon shape=Shape::ArrowDown /></span>
                <span class="drop-area-title">{words().drop_here}</span>
                <span class="drop-area-hint">{words().drop_hint}</span>
            </button>
            <p class="start-folder">
                <button type="button" class="link" on:click=move |_| app.choose_folder()>{words().open_folder}</button>
                " "
                {words().folder_hint}
            </p>
            <p class="start-lock"><Icon shape=Shape::Lock /> <span><strong>{words().stays_here}</strong> " " {words().why_it_stays} " " <button type="button" class="link" on:click=move |_| app.show_privacy()>{words().privacy.see_for_yourself}</button></span></p>
            <KeptFiles />
            <Samples />
            <section class="start-section" aria-labelledby="formats-title">
                <h2 id="formats-title">{words().formats_title}</h2>
                <FormatList />
            </section>
            <KeepChoice />
            <footer class="start-foot">
                <Build />
                <button type="button" class="link" on:click=move |_| app.show_privacy()>{words().privacy.link}</button>
                <button type="button" class="link" on:click=move |_| app.keys.set(true)>{words().keys_title} " " <kbd>"?"</kbd></button>
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
            {(words().version)(&browser::version())}
            {", "}
            <span title=build data-testid="build">{(words().privacy.build)(&short)}</span>
            {browser::is_kept_offline().then_some(words().privacy.works_offline)}
        </span>
    }
}

#[component]
fn Samples() -> impl IntoView {
    let app = app();
    let samples = browser::samples();
    (!samples.is_empty()).then(|| {
        view! {
            <section class="start-section" aria-labelledby="samples-title">
                <h2 id="samples-title">{words().samples_title}</h2>
                <ul class="samples">
                    {samples
                        .into_iter()
                        .map(|sample| {
                            let picked: browser::Local<Picked> = StoredValue::new_local(Picked::of_blob(
                                sample.name.clone(),
                                sample.blob.clone(),
                            ));
                            view! {
                                <li>
                                    <button
                                        type="button"
                                        class="sample"
                                        on:click=move |_| app.open(vec![picked.get_value()])
                                    >
                                        <span class="sample-title">{sample.title}</span>
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
