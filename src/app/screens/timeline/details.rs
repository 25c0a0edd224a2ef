//! All about the selected box, and what is in the selected stretch of time.

use super::stage::Stage;
use crate::app::annotations::Writing;
use crate::app::blocks::InReports;
use crate::app::browser;
use crate::app::erased::Show;
use crate::app::state::Tab;
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::base::json::{Dialect, Json, Parser, Token, unescape_to_string};
use tracedrop::base::units::{Unit, format_float, format_ns, group_digits};
use tracedrop::report::Anchor;
use tracedrop::timeline::answers::{BoxLink, Details, SameName, Stretch};

/// Rows of a list that show.
const MAX_SHOWN: usize = 12;

#[component]
pub fn DetailsPanel(stage: Stage) -> impl IntoView {
    let tab = stage.tab;
    let state = tab.timeline;
    // What is pressed in the panel goes with what the panel shows, and would take the focus with it.
    let go = Callback::new(move |link: BoxLink| {
        stage.select(&link);
        stage.focus();
    });
    // A mark stays: it is no part of the panel.
    let close = move |_| {
        stage.clear_selection();
        stage.focus();
    };
    let words = || &words().timeline;
    let is_open = move || {
        state.details.with(Option::is_some)
            || state.sums.with(Option::is_some) && state.stretch.with(Option::is_some)
    };
    view! {
        <Show when=is_open>
            <aside class="timeline-panel" aria-label=words().panel node_ref=stage.panel>
                <button
                    type="button"
                    class="button button-quiet timeline-close"
                    title=words().close
                    aria-label=words().close
                    on:click=close
                >"✕"</button>
                {move || state.details.get().map(|details| view! { <BoxDetails tab details go /> })}
                {move || {
                    let sums = state.sums.get().filter(|_| state.stretch.with(Option::is_some));
                    sums.map(|sums| view! { <StretchSums tab sums go /> })
                }}
            </aside>
        </Show>
    }
}

fn number(n: u64) -> String {
    group_digits(i128::from(n))
}

fn duration(ns: Option<u64>) -> String {
    ns.map_or_else(|| words().timeline.no_end.to_string(), |ns| format_ns(ns as i64))
}

#[component]
fn Links(title: &'static str, links: Vec<BoxLink>, n: u64, go: Callback<BoxLink>) -> impl IntoView {
    let n_more = n.saturating_sub(links.len() as u64);
    (!links.is_empty()).then(|| {
        view! {
            <section>
                <h4>{title}</h4>
                <ul>
                    {links.into_iter().map(|link| {
                        let (name, time) = (link.name.clone(), duration(link.dur_ns));
                        view! {
                            <li>
                                <button type="button" class="link" on:click=move |_| go.run(link.clone())>{name}</button>
                                <span class="unit">{time}</span>
                            </li>
                        }
                    }).collect_view()}
                    {(n_more > 0).then(|| view! { <li>{(words().timeline.and_more)(n_more)}</li> })}
                </ul>
            </section>
        }
    })
}

#[component]
pub fn BoxDetails(tab: Tab, details: Arc<Details>, go: Callback<BoxLink>) -> impl IntoView {
    let words = &words().timeline;
    let json = as_json(&details);
    let copy = move |_| {
        let app = tab.app;
        browser::copy_text(json.clone(), move |copied| match copied {
            true => app.say(words.copied.to_string()),
            false => app.alert(crate::app::words::words().table.not_copied.to_string()),
        });
    };
    let can_write = tab.app.embed.is_none();
    let anchor = Anchor::Event { name: details.link.name.clone(), at_ns: details.link.start_ns as i64 };
    let Details {
        link,
        category,
        self_ns,
        group,
        track,
        args,
        parents,
        children,
        n_children,
        from,
        to,
        same_name,
        places,
    } = (*details).clone();
    let place = if group.is_empty() { track } else { format!("{group} · {track}") };
    let mut facts =
        vec![(words.duration, duration(link.dur_ns)), (words.start, format_ns(link.start_ns as i64))];
    facts.extend(self_ns.map(|ns| (words.self_title, format_ns(ns as i64))));
    facts.push((words.track, place));
    if !category.is_empty() {
        facts.push((words.category, category));
    }
    facts.push((words.among, among(&same_name, link.dur_ns)));
    let args = args_of(&args);
    view! {
        <div class="timeline-box">
            <h3>{link.name.clone()}</h3>
            <dl>
                {facts.into_iter().map(|(name, value)| view! { <div><dt>{name}</dt><dd>{value}</dd></div> }).collect_view()}
                {places.into_iter().map(|(place, link)| {
                    let name = link.name.clone();
                    view! {
                        <div>
                            <dt>{(words.place)(place)}</dt>
                            <dd><button type="button" class="link" on:click=move |_| go.run(link.clone())>{name}</button></dd>
                        </div>
                    }
                }).collect_view()}
            </dl>
            <p class="timeline-actions">
                <button type="button" class="link" on:click=copy>{words.copy_json}</button>
                {can_write.then(|| view! {
                    <button
                        type="button"
                        class="link"
                        on:click=move |_| tab.writing.set(Some(Writing::New(vec![anchor.clone()])))
                    >{words.add_note}</button>
                })}
            </p>
            <div class="timeline-lists">
                {(!args.is_empty()).then(|| view! {
                    <section>
                        <h4>{words.arguments}</h4>
                        <dl class="timeline-args">
                            {args.into_iter().map(|(name, value)| view! { <div><dt>{name}</dt><dd>{value}</dd></div> }).collect_view()}
                        </dl>
                    </section>
                })}
                <InReports tab name=link.name.clone() place=String::new() />
                <Links title=words.from n=from.len() as u64 links=from go />
                <Links title=words.to n=to.len() as u64 links=to go />
                <Links title=words.parents n=parents.len() as u64 links=parents go />
                <Links title=words.children n=n_children links=children go />
            </div>
        </div>
    }
}

/// A box as JSON, with times in nanoseconds from the start of the trace.
fn as_json(details: &Details) -> String {
    let text = |text: &str| Json::String(text.to_string());
    let number = |n: Option<u64>| n.map_or(Json::Null, |n| Json::Number(n.to_string()));
    let args = match details.args.is_empty() {
        true => Json::Null,
        false => Json::parse(details.args.as_bytes()).unwrap_or_else(|| text(&details.args)),
    };
    let members = [
        ("name", text(&details.link.name)),
        ("category", text(&details.category)),
        ("process", text(&details.group)),
        ("track", text(&details.track)),
        ("start_ns", number(Some(details.link.start_ns))),
        ("duration_ns", number(details.link.dur_ns)),
        ("self_ns", number(details.self_ns)),
        ("args", args),
    ];
    let members = members.into_iter().map(|(name, value)| (name.to_string(), value));
    Json::Object(members.collect()).to_python_text_unescaped(2)
}

/// Which of all of its name it is.
fn among(same: &SameName, dur_ns: Option<u64>) -> String {
    let words = &words().timeline;
    if same.count < 2 {
        return words.only_one.to_string();
    }
    let mean = same.total_ns / same.count.max(1);
    let rank = dur_ns.map(|_| same.n_longer + 1);
    (words.one_of)(same.number, same.count, rank, mean, same.min_ns, same.max_ns)
}

/// Names and values of arguments, as they are written.
fn args_of(json: &str) -> Vec<(String, String)> {
    match members_of(json) {
        Some(members) => members,
        None if json.is_empty() => Vec::new(),
        None => vec![(String::new(), json.to_string())],
    }
}

fn members_of(json: &str) -> Option<Vec<(String, String)>> {
    let mut parser = Parser::new(json.as_bytes(), Dialect::Python);
    let (Ok(Token::Object), mut first) = (parser.token(), true) else { return None };
    let mut members = Vec::new();
    while let Some(name) = parser.next_key(&mut first).ok()? {
        let value = match parser.peek() {
            Some(b'"') => unescape_to_string(parser.string().ok()?),
            _ => String::from_utf8_lossy(parser.skip_value().ok()?).into_owned(),
        };
        members.push((unescape_to_string(name), value));
    }
    Some(members)
}

/// How long each device was busy in a stretch of time.
pub fn device_texts(sums: &Stretch) -> Vec<String> {
    let length = sums.to_ns.saturating_sub(sums.from_ns);
    let text = |(name, busy_ns): (&str, u64)| {
        (words().timeline.device_busy)(name, busy_ns, length.saturating_sub(busy_ns))
    };
    sums.devices.iter().map(|device| text((&device.name, device.busy_ns))).collect()
}

#[component]
fn StretchSums(tab: Tab, sums: Arc<Stretch>, go: Callback<BoxLink>) -> impl IntoView {
    let words = &words().timeline;
    let length = sums.to_ns - sums.from_ns;
    let can_read_again = tab.document.with_untracked(|it| it.as_ref().is_some_and(|it| it.range.again));
    let (from, to) = (sums.from_ns, sums.to_ns);
    view! {
        <div class="timeline-box">
            <h3>{(words.stretch)(length, Some(sums.n))}</h3>
            {sums.devices.iter().zip(device_texts(&sums)).map(|(device, busy)| {
                let known: u64 = device.idle.iter().map(|(_, ns)| ns).sum();
                let rest = length.saturating_sub(device.busy_ns + known);
                let why = (!device.idle.is_empty()).then(|| (words.idle_by_cause)(&device.idle, rest));
                view! {
                    <p>{busy}</p>
                    {why.map(|why| view! { <p class="table-caption">{why}</p> })}
                }
            }).collect_view()}
            {can_read_again.then(|| view! {
                <button
                    type="button"
                    class="button"
                    on:click=move |_| tab.read_only(from as i64, to as i64)
                >{words.report_on_stretch}</button>
            })}
            <div class="timeline-scroll">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">{words.name}</th>
                            <th scope="col" class="numeric">{words.count}</th>
                            <th scope="col" class="numeric">{words.total}</th>
                            <th scope="col" class="numeric">{words.self_title}</th>
                            <th scope="col" class="numeric">{words.share}</th>
                        </tr>
                    </thead>
                    <tbody>
                        {sums.names.iter().take(MAX_SHOWN).map(|it| {
                            let link = it.longest.clone();
                            view! {
                                <tr>
                                    <th scope="row">
                                        <button type="button" class="link" on:click=move |_| go.run(link.clone())>{it.name.clone()}</button>
                                    </th>
                                    <td class="numeric">{number(it.count)}</td>
                                    <td class="numeric">{format_ns(it.total_ns as i64)}</td>
                                    <td class="numeric">{format_ns(it.self_ns as i64)}</td>
                                    <td class="numeric">{format!("{:.1}%", 100.0 * it.total_ns as f64 / (length as f64).max(1.0))}</td>
                                </tr>
                            }
                        }).collect_view()}
                    </tbody>
                </table>
                {(sums.names.len() > MAX_SHOWN || sums.n_more > 0).then(|| view! {
                    <p class="table-caption">{(words.more_names)(sums.names.len().saturating_sub(MAX_SHOWN) as u64 + sums.n_more)}</p>
                })}
                {(!sums.counters.is_empty()).then(|| view! {
                    <table>
                        <thead>
                            <tr>
                                <th scope="col">{words.counter}</th>
                                <th scope="col" class="numeric">{words.min}</th>
                                <th scope="col" class="numeric">{words.mean}</th>
                                <th scope="col" class="numeric">{words.max}</th>
                            </tr>
                        </thead>
                        <tbody>
                            {sums.counters.iter().map(|it| {
                                let value = |value: f64| format_float(value, Unit::None);
                                view! {
                                    <tr>
                                        <th scope="row">{it.name.clone()}</th>
                                        <td class="numeric">{value(it.min)}</td>
                                        <td class="numeric">{value(it.mean)}</td>
                                        <td class="numeric">{value(it.max)}</td>
                                    </tr>
                                }
                            }).collect_view()}
                        </tbody>
                    </table>
                })}
            </div>
        </div>
    }
}
