//! Privacy screen: tries every way out of the page, and lists what cannot be blocked.

use crate::app::browser::{self, Outcome, WayOut};
use crate::app::erased::{Show, memo};
use crate::app::state::app;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;
use leptos::task::spawn_local;

/// Reserved for examples: nobody is bothered if something does get out.
const ELSEWHERE: &str = "https://example.com/";

/// The page's own server, and another one.
const N_ADDRESSES: usize = 2;
const N_ATTEMPTS: usize = WayOut::ALL.len() * N_ADDRESSES;

type Attempts = [[Option<Outcome>; N_ADDRESSES]; WayOut::ALL.len()];

#[component]
pub fn PrivacyScreen() -> impl IntoView {
    let app = app();
    view! {
        <Show when=move || app.privacy.get()>
            <Privacy />
        </Show>
    }
}

#[component]
fn Privacy() -> impl IntoView {
    let privacy = &words().privacy;
    let attempts = RwSignal::new(Attempts::default());
    let running = RwSignal::new(false);
    let problem = RwSignal::new(None);
    let input = NodeRef::<html::Input>::new();
    let host = RwSignal::new(host_of(ELSEWHERE));
    // Attempts stop when the page is left.
    let here = RwSignal::new(());
    let try_all = move || {
        let Some(input) = input.get_untracked() else { return };
        let Some(elsewhere) = browser::web_address(&input.value()) else {
            problem.set(Some(privacy.no_address));
            return;
        };
        problem.set(None);
        host.set(host_of(&elsewhere));
        attempts.set(Attempts::default());
        running.set(true);
        spawn_local(async move {
            let addresses = [browser::own_address(), elsewhere];
            for (row, way) in WayOut::ALL.into_iter().enumerate() {
                for (column, address) in addresses.iter().enumerate() {
                    if here.is_disposed() {
                        return;
                    }
                    let outcome = browser::try_way_out(way, address).await;
                    // No longer there when the page was left meanwhile.
                    let _ = attempts.try_update(|attempts| attempts[row][column] = Some(outcome));
                }
            }
            let _ = running.try_set(false);
        });
    };
    let count = move |which: fn(&Outcome) -> bool| {
        attempts.with(|attempts| attempts.iter().flatten().flatten().filter(|outcome| which(outcome)).count())
    };
    let n_done = memo(move || count(|_| true));
    let n_refused = memo(move || count(Outcome::is_refused));
    let state = move || match (n_done.get(), running.get()) {
        (0, false) => String::new(),
        (N_ATTEMPTS, false) => (privacy.result)(n_refused.get(), N_ATTEMPTS),
        (n, _) => (privacy.trying)(n, N_ATTEMPTS),
    };
    let is_over = move || n_done.get() == N_ATTEMPTS && !running.get();
    view! {
        <article class="privacy" aria-labelledby="privacy-title">
            <h1 id="privacy-title">{privacy.title}</h1>
            <p class="start-lead">{privacy.lead}</p>
            <form
                class="privacy-try"
                on:submit=move |event| {
                    event.prevent_default();
                    if !running.get_untracked() {
                        try_all();
                    }
                }
            >
                <label class="privacy-address">
                    <span>{privacy.address}</span>
                    <input
                        type="text"
                        inputmode="url"
                        spellcheck="false"
                        autocomplete="off"
                        value=ELSEWHERE
                        node_ref=input
                        aria-invalid=move || problem.get().is_some().to_string()
                        aria-describedby="privacy-address-hint"
                    />
                </label>
                <button type="submit" class="button button-main" aria-disabled=move || running.get().to_string()>
                    {move || if n_done.get() == 0 { privacy.try_all } else { privacy.try_again }}
                </button>
                <p id="privacy-address-hint" class="privacy-hint" class:privacy-problem=move || problem.get().is_some()>
                    {move || problem.get().unwrap_or(privacy.address_hint)}
                </p>
            </form>
            <p
                class="privacy-state"
                role="status"
                class:privacy-good=move || is_over() && n_refused.get() == N_ATTEMPTS
                class:privacy-bad=move || is_over() && n_refused.get() != N_ATTEMPTS
            >
                {state}
            </p>
            <table class="privacy-ways" aria-label=privacy.table>
                <thead>
                    <tr>
                        <th scope="col">{privacy.way}</th>
                        <th scope="col">{privacy.own_server}</th>
                        <th scope="col"><bdi>{move || (privacy.elsewhere)(&host.get())}</bdi></th>
                    </tr>
                </thead>
                <tbody>
                    {WayOut::ALL
                        .into_iter()
                        .enumerate()
                        .map(|(row, way)| {
                            let (name, how) = (privacy.ways)(way);
                            let cell = move |column: usize| {
                                let outcome = memo(move || attempts.with(|attempts| attempts[row][column].clone()));
                                view! { <td><OutcomeView outcome /></td> }
                            };
                            view! {
                                <tr>
                                    <th scope="row">
                                        <span class="privacy-way">{name}</span>
                                        " "
                                        <span class="privacy-how">{how}</span>
                                    </th>
                                    {cell(0)}
                                    {cell(1)}
                                </tr>
                            }
                        })
                        .collect_view()}
                </tbody>
            </table>
            <Points title=privacy.not_blocked_title points=privacy.not_blocked />
            <Points title=privacy.before_title points=privacy.before />
            <Points title=privacy.check_title points=privacy.check />
            <p class="privacy-build">
                {privacy.this_build}
                " "
                <code>{browser::build()}</code>
            </p>
        </article>
    }
}

#[component]
fn OutcomeView(outcome: Memo<Option<Outcome>>) -> impl IntoView {
    let privacy = &words().privacy;
    move || {
        let Some(outcome) = outcome.get() else {
            return view! { <span class="privacy-said">{privacy.not_tried}</span> }.into_any();
        };
        let (class, shape, word) = match &outcome {
            Outcome::Policy(_) | Outcome::Thrown(_) => ("privacy-good", Shape::Check, privacy.refused),
            Outcome::Absent => ("privacy-good", Shape::Check, privacy.absent),
            Outcome::Failed(_) => ("privacy-bad", Shape::Alert, privacy.failed),
            Outcome::Through => ("privacy-bad", Shape::Alert, privacy.through),
        };
        view! {
            <span class=format!("privacy-word {class}")>
                <Icon shape />
                {word}
            </span>
            " "
            <span class="privacy-said">{(privacy.said)(&outcome)}</span>
        }
        .into_any()
    }
}

#[component]
fn Points(title: &'static str, points: &'static [&'static str]) -> impl IntoView {
    view! {
        <section class="start-section">
            <h2>{title}</h2>
            <ul class="privacy-points">{points.iter().map(|point| view! { <li>{*point}</li> }).collect_view()}</ul>
        </section>
    }
}

/// What of an address stands above its column.
fn host_of(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest).to_string()
}
