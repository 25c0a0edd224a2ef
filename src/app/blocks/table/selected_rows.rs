//! Number of the selected rows of a table, and sums of its columns that add up, from the worker.

use crate::app::client::Answer;
use crate::app::erased::effect;
use crate::app::state::Tab;
use crate::app::view_state::RowSet;
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::{Request, TableAsk, TableView};
use tracedrop::report::Value;
use tracedrop::report::amounts::Scale;
use tracedrop::report::view::ColumnSum;

#[component]
pub fn SelectedRows(
    tab: Tab,
    table: Memo<Option<Arc<TableView>>>,
    /// How each column is shown.
    scales: Memo<Vec<Scale>>,
    selected: Memo<RowSet>,
    /// The question about the rows that match; `None` once the table is gone.
    ask: Callback<(), Option<TableAsk>>,
) -> impl IntoView {
    let sums = RwSignal::new(Vec::<ColumnSum>::new());
    effect(move || {
        let rows = selected.get();
        table.track();
        sums.set(Vec::new());
        if rows.is_empty() {
            return;
        }
        let Some(ask) = ask.run(()) else { return };
        let ranges = rows.ranges().to_vec();
        tab.ask(
            move |ticket| Request::Sums { ticket, ask, rows: ranges },
            move |answer| {
                let revision =
                    tab.document.with_untracked(|document| document.as_ref().map(|it| it.revision));
                if let Answer::Sums { revision: of, sums: found } = answer
                    && Some(of) == revision
                    && selected.try_get_untracked().as_ref() == Some(&rows)
                {
                    let _ = sums.try_set(found);
                }
            },
        );
    });
    let text = move || {
        let n_rows = selected.with(RowSet::n_rows);
        let list = table.with(|table| {
            let table = table.as_ref()?;
            let one = |sum: &ColumnSum| {
                let column = table.columns.get(sum.column as usize)?;
                let scale = scales.with(|scales| scales.get(sum.column as usize).copied())?;
                let display = |value: &Value| scale.value(value).display(scale.unit(column.unit));
                let (total, mean) = (display(&sum.sum), display(&Value::Float(sum.mean)));
                Some((words().table.sum_of)(&scale.label(&column.label), &total, &mean))
            };
            Some(sums.with(|sums| sums.iter().filter_map(one).collect::<Vec<_>>()))
        });
        (words().table.selected)(n_rows, &list.unwrap_or_default())
    };
    view! {
        <p class="table-selected" role="status">
            {move || selected.with(|rows| !rows.is_empty()).then(text)}
        </p>
    }
}
