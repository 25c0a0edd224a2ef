//! Findings: a ranked list, each with what is at stake, its numbers, and the way to their rows.

use crate::app::browser;
use crate::app::erased::effect;
use crate::app::state::Tab;
use crate::app::widgets::prose;
use crate::app::words::words;
use leptos::html::Li;
use leptos::prelude::*;
use tracedrop::base::text;
use tracedrop::base::units::{format_ns, format_signed_ns};
use tracedrop::report::{Finding, Findings, Stakes};

#[component]
pub fn FindingsBlock(tab: Tab, #[prop(into)] findings: Signal<Option<Findings>>) -> impl IntoView {
    move || {
        findings.get().map(|Findings { title, caption, empty, stakes, findings }| {
            view! {
                <section class="findings">
                    <h3>{title}</h3>
                    {if findings.is_empty() {
                        view! { <p class="empty">{empty}</p> }.into_any()
                    } else {
                        view! {
                            <p class="table-caption">{caption}</p>
                            <ol>{findings.into_iter().map(|finding| finding_view(tab, finding, stakes)).collect_view()}</ol>
                        }
                            .into_any()
                    }}
                </section>
            }
        })
    }
}

fn finding_view(tab: Tab, finding: Finding, stakes: Stakes) -> impl IntoView {
    let stake = finding.time.map(|ns| {
        let share = finding.share.unwrap_or(0.0);
        // Of the whole time, so that bars of several lists compare.
        let width = 100.0 * share.abs().min(1.0);
        let (time, share, tone) = match stakes {
            Stakes::Gain | Stakes::Spent => (format_ns(ns), (words().reports.of_the_time)(share), ""),
            Stakes::SelfTime => (format_ns(ns), (words().reports.of_self_time)(share), ""),
            Stakes::Samples => (format_ns(ns), (words().reports.of_samples)(share), ""),
            Stakes::Difference => {
                let tone = if ns < 0 { "tone-less" } else { "tone-more" };
                (format_signed_ns(ns), (words().compare.of_side_a)(share), tone)
            }
        };
        view! {
            <div class="finding-stake">
                <span class="finding-time">{time}</span>
                <span class="finding-share">{share}</span>
                <span class=format!("finding-bar {tone}") aria-hidden="true">
                    <span style:width=format!("{width:.1}%")></span>
                </span>
            </div>
        }
    });
    let evidence = finding
        .further_evidence(finding.time.filter(|_| stakes != Stakes::Difference))
        .map(|fact| {
            view! {
                <div>
                    <dt>{fact.label.clone()}</dt>
                    <dd><bdi>{text::visible(&fact.display())}</bdi></dd>
                </div>
            }
        })
        .collect_view();
    let rows = finding.rows.map(|rows| {
        let label = rows.label.clone();
        let in_timeline = tab.has_in_timeline(&rows).then(|| {
            let rows = rows.clone();
            view! {
                <button type="button" class="link" on:click=move |_| tab.show_in_timeline(rows.clone())>
                    {words().table.show_in_timeline}
                </button>
            }
        });
        view! {
            <button type="button" class="link" on:click=move |_| tab.lead_to(rows.clone())>
                {label}
            </button>
            {in_timeline}
        }
    });
    let place = NodeRef::<Li>::new();
    let text = finding.text.clone();
    effect(move || {
        let is_it = tab.led_to_finding.with(|meant| meant.as_ref() == Some(&text));
        if let (true, Some(place)) = (is_it, place.get()) {
            tab.led_to_finding.set(None);
            browser::lead_to(&place);
        }
    });
    view! {
        <li class="finding" node_ref=place tabindex="-1">
            {stake}
            <div class="finding-body">
                <p class="finding-text"><bdi>{prose(&text::visible(&finding.text))}</bdi></p>
                <div class="finding-ways">
                    <dl class="finding-evidence">{evidence}</dl>
                    {rows}
                </div>
            </div>
        </li>
    }
}
