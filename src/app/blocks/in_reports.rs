//! Links from an event or a function to its rows in the tables of the reports.

use crate::app::client::Answer;
use crate::app::state::Tab;
use crate::app::words::words;
use leptos::prelude::*;
use tracedrop::engine::protocol::{Request, SearchHits};
use tracedrop::report::RowsOf;
use tracedrop::report::view::filter_for;

/// Tables with a row of this name, which lead to it; in a comparison, the rows have both sides. `place` is the file or module of a
/// function, if known: then rows of other functions of that name are left out.
#[component]
pub fn InReports(tab: Tab, name: String, place: String) -> impl IntoView {
    let found = RwSignal::new(Vec::<(String, RowsOf)>::new());
    let place = without_line(&place).to_string();
    let text = match place.is_empty() {
        true => filter_for(&name),
        false => format!("{} {}", filter_for(&name), filter_for(&place)),
    };
    tab.ask(
        move |ticket| Request::Search { ticket, text },
        move |answer| {
            let Answer::Searched(hits) = answer else { return };
            let of_name = |hits: &SearchHits| {
                let (_, filter) = hits.rows.iter().find(|(label, _)| is_row_of(label, &name, &place))?;
                let rows = RowsOf {
                    report: hits.report.clone(),
                    table: hits.table.clone(),
                    filter: filter.clone(),
                    label: String::new(),
                };
                Some((format!("{} › {}", hits.report_title, hits.table_title), rows))
            };
            let _ = found.try_set(hits.iter().filter_map(of_name).collect());
        },
    );
    move || {
        let found = found.get();
        (!found.is_empty()).then(|| {
            view! {
                <section class="in-reports" aria-label=words().timeline.in_reports>
                    <p>{words().timeline.in_reports}</p>
                    <ul>
                        {found.into_iter().map(|(label, rows)| view! {
                            <li><button type="button" class="link" on:click=move |_| tab.lead_to(rows.clone())>{label}</button></li>
                        }).collect_view()}
                    </ul>
                </section>
            }
        })
    }
}

/// A place without the line at its end.
fn without_line(place: &str) -> &str {
    let parts = place.rsplit_once(':');
    parts.filter(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit())).map_or(place, |(file, _)| file)
}

/// Whether a row is of this name: its keys, or a Python frame as PyTorch names it, `file.py(12): name`.
fn is_row_of(label: &str, name: &str, place: &str) -> bool {
    let is_key = label.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "));
    let is_python =
        || label.strip_suffix(name).is_some_and(|rest| rest.starts_with(place) && rest.ends_with("): "));
    is_key || !place.is_empty() && is_python()
}
