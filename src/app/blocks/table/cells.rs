//! What stands in the cells of a table.

use crate::app::widgets::Number;
use leptos::prelude::*;
use tracedrop::base::text;
use tracedrop::engine::protocol::ColumnView;
use tracedrop::report::amounts::Scale;
use tracedrop::report::{Value, cell_text};

/// Text longer than this keeps its end when there is not enough room.
const KEEP_END_CHARS: usize = 24;
const END_CHARS: usize = 14;
/// A function behind its file stays whole up to this.
const MAX_END_CHARS: usize = 30;

/// One cell, of the column at that place. `scale` says how its value is shown, `bars` is the range that bars of
/// the column are drawn in; `mark` stands at its end.
pub fn cell_view(
    at: usize,
    column: &ColumnView,
    scale: Scale,
    value: Option<&Value>,
    bars: (f64, f64),
    mark: Option<AnyView>,
) -> AnyView {
    let index = (at + 1).to_string();
    let Some(value) = value else { return view! { <td aria-colindex=index>{mark}</td> }.into_any() };
    let shown = || cell_text(&scale.value(value), scale.unit(column.unit), &column.label);
    match value {
        Value::Missing => view! {
            <td class="cell-missing" class:cell-number=column.numeric aria-colindex=index>
                {value.display(column.unit)}
                {mark}
            </td>
        }
        .into_any(),
        Value::Text(text) => text_cell(index, &text::visible(text), mark),
        value if column.bar => {
            let (from, share) = bar_of(value, bars);
            view! {
                <td
                    class="cell-number cell-bar"
                    style=("--from", from.to_string())
                    style=("--share", share.to_string())
                    aria-colindex=index
                >
                    <Number text=shown() />
                    {mark}
                </td>
            }
            .into_any()
        }
        _ => view! {
            <td class:cell-number=column.numeric aria-colindex=index>
                <Number text=shown() />
                {mark}
            </td>
        }
        .into_any(),
    }
}

/// Start and length of a bar as shares of a cell: from zero to the value, to the left where that is negative.
fn bar_of(value: &Value, (least, most): (f64, f64)) -> (f64, f64) {
    let value = value.as_f64().unwrap_or(0.0).clamp(least, most);
    let share = |length: f64| {
        let share = length / (most - least);
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    };
    (share(value.min(0.0) - least), share(value.abs()))
}

fn text_cell(index: String, text: &str, mark: Option<AnyView>) -> AnyView {
    let n_chars = text.chars().count();
    if n_chars <= KEEP_END_CHARS {
        return view! { <td class="cell-text" aria-colindex=index><bdi>{text.to_string()}</bdi> {mark}</td> }
            .into_any();
    }
    let (returned, name, parameters) = signature(text);
    let (start, end) = name.split_at(end_of(name));
    // What says the least goes first.
    let least =
        |text: &str| (!text.is_empty()).then(|| view! { <span class="cell-least">{text.to_string()}</span> });
    view! {
        <td class="cell-text" title=text.to_string() aria-colindex=index>
            <bdi class="cell-long">
                {least(returned)}
                <span class="cell-start">{start.to_string()}</span>
                <span class="cell-end">{end.to_string()}</span>
                {least(parameters)}
            </bdi>
            {mark}
        </td>
    }
    .into_any()
}

/// Where what stays of a name in any case begins: the function of `vllm/worker.py(128): execute_model`, else some letters.
fn end_of(name: &str) -> usize {
    let function = name.rfind("): ").map(|at| at + 3);
    let fits = |at: &usize| (1..=MAX_END_CHARS).contains(&name[*at..].chars().count());
    let letters = || name.char_indices().rev().nth(END_CHARS - 1).map_or(0, |(at, _)| at);
    function.filter(fits).unwrap_or_else(letters)
}

/// A function of C++ in three: what it returns, its name with what it is a template of, and its parameters.
fn signature(text: &str) -> (&str, &str, &str) {
    const RETURNED: &str = "void ";
    let (returned, rest) = text.split_at(if text.starts_with(RETURNED) { RETURNED.len() } else { 0 });
    let mut depth = 0_i32;
    let opening = rest.char_indices().rev().find(|(_, char)| {
        depth += match char {
            ')' => 1,
            '(' => -1,
            _ => 0,
        };
        depth <= 0
    });
    match opening {
        Some((at, '(')) if rest.ends_with(')') && at > END_CHARS && rest[..at].contains(['<', ':', '_']) => {
            (returned, &rest[..at], &rest[at..])
        }
        _ => (returned, rest, ""),
    }
}
