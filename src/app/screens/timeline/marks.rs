//! What stands above the tracks: steps and phases as the reports have them, and notes on times.

use crate::app::client::Answer;
use crate::app::state::{Tab, row_times};
use leptos::prelude::*;
use tracedrop::base::hash::HashSet;
use tracedrop::base::sort;
use tracedrop::base::units::Unit;
use tracedrop::engine::protocol::{BlockView, ColumnView, DocumentView, Request, TableAsk, TableView};
use tracedrop::report::{Anchor, Remark, Value};
use tracedrop::timeline::answers::{N_COLORS, color_of};

/// Steps that are asked for.
const MAX_STEPS: u64 = 5_000;

/// A step or phase, in nanoseconds from the start of the trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub name: String,
    pub from: f64,
    pub to: f64,
    /// Number of its color among those of boxes, from 1.
    pub color: u8,
}

/// A note on a time.
#[derive(Clone, PartialEq, Debug)]
pub struct Flag {
    pub text: String,
    pub from: f64,
    pub to: f64,
}

/// The table that says when steps or phases were: its rows have a name, a phase or kind, and times.
fn steps_table(document: &DocumentView) -> Option<(TableAsk, &TableView)> {
    let is_steps = |table: &TableView| {
        let has_time =
            table.columns.iter().any(|column| column.unit == Unit::NsOffset && column.id == "start");
        has_time && matches!(table.id.as_str(), "steps" | "host_steps" | "phases")
    };
    document.reports.iter().find_map(|report| {
        report.blocks.iter().find_map(|block| match block {
            BlockView::Table(table) if is_steps(table) => {
                Some((TableAsk::whole(&report.id, &table.id), table))
            }
            _ => None,
        })
    })
}

/// Asks for the steps of a tab: once, or again if settings have changed them.
pub fn ask_for_steps(tab: Tab, again: bool) {
    let state = tab.timeline;
    if !again && state.steps.with_untracked(Option::is_some) {
        return;
    }
    let found = tab.document.with_untracked(|document| {
        let document = document.as_ref().filter(|document| document.files.is_empty())?;
        let (ask, view) = steps_table(document)?;
        Some((ask, view.columns.clone()))
    });
    let Some((ask, columns)) = found else { return state.steps.set(None) };
    tab.ask(
        move |ticket| Request::Rows { ticket, ask, offset: 0, limit: MAX_STEPS },
        move |answer| {
            if let Answer::Rows { rows, .. } = answer {
                state.steps.set(Some(steps_of(&columns, &rows.rows)));
            }
        },
    );
}

/// Steps of the first device that has some.
fn steps_of(columns: &[ColumnView], rows: &[Vec<Value>]) -> Vec<Step> {
    let place = |id: &str| columns.iter().position(|column| column.id == id);
    let text = |row: &[Value], at: Option<usize>| at.and_then(|at| row.get(at)).map(Value::plain);
    let (device, name, kind) = (place("device"), place("step").or(place("phase")), place("phase"));
    let first = rows.first().and_then(|row| text(row, device));
    // Each kind with the color that boxes of its first step's name have.
    let mut kinds: Vec<(String, u8)> = Vec::new();
    let mut steps: Vec<(Step, usize)> = Vec::new();
    for row in rows.iter().filter(|row| text(row, device) == first) {
        let Some((from, to)) = row_times(columns, row).filter(|(from, to)| to > from) else { continue };
        let of_kind = text(row, kind).unwrap_or_default();
        let name = text(row, name).unwrap_or_default();
        let kind = kinds.iter().position(|(known, _)| *known == of_kind).unwrap_or_else(|| {
            kinds.push((of_kind, color_of(&name)));
            kinds.len() - 1
        });
        steps.push((Step { name, from, to, color: 0 }, kind));
    }
    // Kinds must differ, as prefill and decode whose names differ in digits only.
    let colors: HashSet<u8> = kinds.iter().map(|(_, color)| *color).collect();
    let differ = colors.len() == kinds.len();
    let color = |kind: usize| if differ { kinds[kind].1 } else { 1 + (kind % usize::from(N_COLORS)) as u8 };
    let mut steps: Vec<Step> =
        steps.into_iter().map(|(step, kind)| Step { color: color(kind), ..step }).collect();
    sort::by(&mut steps, |a, b| a.from.total_cmp(&b.from));
    steps
}

/// Notes of a tab that are on a time.
pub fn flags_of(tab: Tab) -> Vec<Flag> {
    tab.notes.with(|notes| {
        let flag = |text: &str, from: i64, to: i64| Flag {
            text: text.to_string(),
            from: from as f64,
            to: to as f64,
        };
        let of = |note: &Remark| match &note.on {
            Anchor::Range { from_ns, to_ns } => Some(flag(&note.text, *from_ns, *to_ns)),
            Anchor::Event { at_ns, .. } => Some(flag(&note.text, *at_ns, *at_ns)),
            _ => None,
        };
        notes.list.iter().filter_map(of).collect()
    })
}
