//! How far reading is.

use super::RangeChooser;
use crate::app::state::{Phase, Reading, Tab};
use crate::app::widgets::{Icon, Number, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::base::text;

/// Readers of the page hear of progress this often: at each such part of the whole.
const SPOKEN_STEPS: u64 = 5;

/// Part of the whole that is read, from 0 to 1. `None` if the size is unknown.
fn part(reading: &Reading) -> Option<f64> {
    let progress = &reading.progress;
    (progress.file_bytes > 0).then(|| (progress.file_bytes_read as f64 / progress.file_bytes as f64).min(1.0))
}

#[component]
pub fn ReadingCard(tab: Tab) -> impl IntoView {
    let reading = tab.reading;
    let finishing = Memo::new(move |_| reading.with(|reading| reading.progress.finishing));
    let stopping = Memo::new(move |_| tab.phase.with(|phase| *phase == Phase::Stopping));
    let share = Memo::new(move |_| reading.with(part));
    let spoken = Memo::new(move |_| share.get().map(|share| (share * SPOKEN_STEPS as f64) as u64));
    let format = Memo::new(move |_| reading.with(|reading| reading.progress.format.clone()));
    let file = Memo::new(move |_| reading.with(|reading| reading.progress.file.clone()));
    let title = move || match (stopping.get(), finishing.get()) {
        (true, _) => words().stopping,
        (_, true) => words().making_reports,
        _ => words().reading,
    };
    let number = move |text: fn(&Reading) -> Option<String>| {
        move || {
            reading
                .with(text)
                .map(|text| view! { <Number text /> }.into_any())
                .unwrap_or_else(|| "–".into_any())
        }
    };
    view! {
        <section class="reading" aria-label=words().reading>
            <div class="reading-head">
                <div class="reading-title">
                    <p class="reading-what">{title}</p>
                    <h1><bdi>{move || tab.name.get()}</bdi></h1>
                </div>
                <button type="button" class="button" on:click=move |_| tab.stop()>
                    {move || match stopping.get() {
                        true => view! { <Icon shape=Shape::Close /> {words().discard} }.into_any(),
                        false => view! { <Icon shape=Shape::Stop /> {words().stop} }.into_any(),
                    }}
                </button>
            </div>
            <div
                class="progress"
                class:progress-unknown=move || finishing.get() || share.get().is_none()
                role="progressbar"
                aria-label=words().reading
                aria-valuemin="0"
                aria-valuemax="100"
                aria-valuenow=move || (!finishing.get()).then(|| share.get()).flatten().map(|share| format!("{:.0}", share * 100.0))
                aria-valuetext=move || reading.with(|reading| (words().bytes_of)(reading.progress.file_bytes_read, reading.progress.file_bytes))
            >
                <div class="progress-bar" style=("--share", move || share.get().unwrap_or(0.0).to_string())></div>
            </div>
            <dl class="reading-facts">
                <div>
                    <dt>{words().read_so_far}</dt>
                    <dd>{move || reading.with(|reading| (words().bytes_of)(reading.progress.file_bytes_read, reading.progress.file_bytes))}</dd>
                </div>
                <div>
                    <dt>{words().speed}</dt>
                    <dd>{number(|reading| reading.bytes_per_second.map(words().bytes_per_second))}</dd>
                </div>
                <div>
                    <dt>{words().time_left}</dt>
                    // How long the reports take is not known.
                    <dd>{number(|reading| reading.seconds_left.filter(|_| !reading.progress.finishing).map(words().seconds_left))}</dd>
                </div>
                <div>
                    <dt>{words().records}</dt>
                    <dd>{number(|reading| Some((words().count)(reading.progress.records)))}</dd>
                </div>
                {move || {
                    file.get()
                        .map(|file| {
                            view! {
                                <div class="reading-format" data-testid="reading-file">
                                    <dt>{(words().file_number)(file.number, file.n_files)}</dt>
                                    <dd><bdi>{text::visible(&file.name)}</bdi></dd>
                                </div>
                            }
                        })
                }}
                <div class="reading-format">
                    <dt>{words().format}</dt>
                    <dd>{move || format.get().unwrap_or_else(|| words().format_unknown_yet.to_string())}</dd>
                </div>
            </dl>
            <Show when=move || !stopping.get() && !finishing.get()>
                <RangeChooser tab />
            </Show>
            <p class="off-screen" role="status">
                {move || {
                    spoken.get().map(|step| (words().spoken_progress)(step * 100 / SPOKEN_STEPS))
                }}
            </p>
        </section>
    }
}
