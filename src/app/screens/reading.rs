//! How far reading is.

use super::RangeChooser;
use crate::app::erased::{Show, memo};
use crate::app::state::{Phase, Reading, Tab};
use crate::app::widgets::{Icon, Number, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use std::borrow::Cow;
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
    let reading = tab.run.reading;
    let finishing = memo(move || reading.with(|reading| reading.progress.finishing));
    let stopping = memo(move || tab.run.phase.with(|phase| *phase == Phase::Stopping));
    let share = memo(move || reading.with(part));
    // What the bar shows: of reading, or of the reports.
    let done = memo(move || {
        if finishing.get() {
            reading.with(|reading| reading.progress.made_percent.map(|percent| f64::from(percent) / 100.0))
        } else {
            share.get()
        }
    });
    let spoken = memo(move || done.get().map(|done| (finishing.get(), (done * SPOKEN_STEPS as f64) as u64)));
    let format = memo(move || reading.with(|reading| reading.progress.format.clone()));
    let file = memo(move || reading.with(|reading| reading.progress.file.clone()));
    let title = move || match (stopping.get(), finishing.get()) {
        (true, _) => Cow::Borrowed(words().reading.stopping),
        (_, true) => match reading.with(|reading| reading.progress.made_percent) {
            Some(percent) => (words().reading.making_percent)(percent).into(),
            None => words().reading.making_reports.into(),
        },
        _ => words().reading.reading.into(),
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
        <section class="reading" aria-label=words().reading.reading>
            <div class="reading-head">
                <div class="reading-title">
                    <p class="reading-what">{title}</p>
                    <h1><bdi>{move || tab.name.get()}</bdi></h1>
                </div>
                <button type="button" class="button" on:click=move |_| tab.stop()>
                    {move || match stopping.get() {
                        true => view! { <Icon shape=Shape::Close /> {words().reading.discard} }.into_any(),
                        false => view! { <Icon shape=Shape::Stop /> {words().reading.stop} }.into_any(),
                    }}
                </button>
            </div>
            <div
                class="progress"
                class:progress-unknown=move || done.get().is_none()
                role="progressbar"
                aria-label=words().reading.reading
                aria-valuemin="0"
                aria-valuemax="100"
                aria-valuenow=move || done.get().map(|done| format!("{:.0}", done * 100.0))
                aria-valuetext=move || reading.with(|reading| match reading.progress.made_percent {
                    Some(percent) if !stopping.get() => (words().reading.making_percent)(percent),
                    _ => (words().reading.bytes_of)(reading.progress.file_bytes_read, reading.progress.file_bytes),
                })
            >
                <div class="progress-bar" style=("--share", move || done.get().or(share.get()).unwrap_or(0.0).to_string())></div>
            </div>
            <dl class="reading-facts">
                <div>
                    <dt>{words().reading.read_so_far}</dt>
                    <dd>{move || reading.with(|reading| (words().reading.bytes_of)(reading.progress.file_bytes_read, reading.progress.file_bytes))}</dd>
                </div>
                <div>
                    <dt>{words().reading.speed}</dt>
                    <dd>{number(|reading| reading.bytes_per_second.map(words().reading.bytes_per_second))}</dd>
                </div>
                <div>
                    <dt>{words().reading.time_left}</dt>
                    <dd>{number(|reading| reading.seconds_left.map(words().reading.seconds_left))}</dd>
                </div>
                <div>
                    <dt>{words().reading.records}</dt>
                    <dd data-testid="records">{number(|reading| (reading.progress.records > 0).then(|| (words().reading.count)(reading.progress.records)))}</dd>
                </div>
                {move || {
                    file.get()
                        .map(|file| {
                            view! {
                                <div class="reading-format" data-testid="reading-file">
                                    <dt>{(words().files.file_number)(file.number, file.n_files)}</dt>
                                    <dd><bdi>{text::visible(&file.name)}</bdi></dd>
                                </div>
                            }
                        })
                }}
                <div class="reading-format">
                    <dt>{words().file.format}</dt>
                    <dd>{move || format.get().unwrap_or_else(|| {
                        // A quick file is read before it is said what it is.
                        (if finishing.get() { "–" } else { words().reading.format_unknown_yet }).to_string()
                    })}</dd>
                </div>
            </dl>
            <Show when=move || !stopping.get() && !finishing.get()>
                <RangeChooser tab />
            </Show>
            <p class="off-screen" role="status">
                {move || {
                    spoken.get().map(|(finishing, step)| match step * 100 / SPOKEN_STEPS {
                        _ if finishing && stopping.get() => words().reading.stopping.to_string(),
                        percent if finishing => (words().reading.making_percent)(percent as u8),
                        percent => (words().reading.spoken_progress)(percent),
                    })
                }}
            </p>
        </section>
    }
}
