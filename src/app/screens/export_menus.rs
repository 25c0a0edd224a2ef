//! What leaves the page: a menu of formats, and one of ways to hand results to someone else.

use super::share::{ShareDialog, Way};
use crate::app::erased::{Show, memo};
use crate::app::state::{Phase, Tab};
use crate::app::widgets::{Menu, MenuItem, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::engine::protocol::{DocumentView, ExporterView};

/// The entry of the export menu that is no format.
const WITH_LESS: &str = "with-less";
/// Entries of the share menu.
const HAND_ON: &str = "hand-on";
const LINK: &str = "copy-link";
const TO_PERFETTO: &str = "open-in-perfetto";

fn item(id: &str, label: &str, detail: &str) -> MenuItem {
    MenuItem {
        id: id.to_string(),
        label: label.to_string(),
        detail: detail.to_string(),
        ..MenuItem::default()
    }
}

/// Export and Share, once there is something complete to write.
#[component]
pub fn ExportMenus(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let exporters = memo(move || {
        document.with(|document| document.as_ref().map(|it| it.exporters.clone()).unwrap_or_default())
    });
    let is_complete = memo(move || {
        document.with(|document| document.as_ref().is_none_or(|document| !document.partial))
            && tab.run.phase.with(|phase| *phase == Phase::Done)
            && exporters.with(|all| !all.is_empty())
    });
    let has_reports =
        memo(move || document.with(|document| document.as_ref().is_some_and(|it| !it.reports.is_empty())));
    view! {
        <Show when=move || is_complete.get()>
            <ExportMenu tab document exporters has_reports />
            <ShareMenu tab exporters has_reports />
            <ShareDialog tab document />
        </Show>
    }
}

/// Writes the reports or the trace in some format.
#[component]
fn ExportMenu(
    tab: Tab,
    document: Memo<Option<Arc<DocumentView>>>,
    exporters: Memo<Vec<ExporterView>>,
    has_reports: Memo<bool>,
) -> impl IntoView {
    let not_exported = memo(move || {
        document.with(|document| document.as_ref().map(|it| it.not_exported.clone()).unwrap_or_default())
    });
    let items = Signal::derive(move || {
        let formats = exporters.get();
        let formats = formats.iter().map(|it| item(&it.id, &it.title, &format!(".{}", it.extension)));
        let missing = not_exported.get();
        let missing = missing.iter().map(|(label, needs)| MenuItem {
            unavailable: true,
            ..item(label, label, &(words().export.export_needs)(needs))
        });
        let with_less = has_reports.get().then(|| item(WITH_LESS, words().sharing.with_less, ""));
        formats.chain(missing).chain(with_less).collect::<Vec<_>>()
    });
    let export = Callback::new(move |id: String| {
        if id == WITH_LESS {
            return tab.share.set(Some(Way::File));
        }
        if let Some(exporter) = exporters.get_untracked().into_iter().find(|exporter| exporter.id == id) {
            tab.export(exporter);
        }
    });
    view! {
        <Menu
            label=Signal::stored(words().export.export.to_string())
            shape=Shape::Export
            key="e"
            items
            on_pick=export
        />
    }
}

/// Hands results to someone else, or to Perfetto.
#[component]
fn ShareMenu(tab: Tab, exporters: Memo<Vec<ExporterView>>, has_reports: Memo<bool>) -> impl IntoView {
    let has_timeline = move || exporters.with(|all| all.iter().any(|exporter| exporter.opens_in_perfetto));
    let items = Signal::derive(move || {
        let mut items = Vec::new();
        if has_reports.get() {
            items.push(item(LINK, words().sharing.copy_link, ""));
            items.push(item(HAND_ON, words().sharing.hand_on, ".tracedrop"));
        }
        if has_timeline() {
            items.push(item(TO_PERFETTO, words().sharing.open_in_perfetto, ""));
        }
        items
    });
    let share = Callback::new(move |id: String| {
        let way = match id.as_str() {
            LINK => Way::Link,
            HAND_ON => Way::HandOn,
            _ => Way::Perfetto,
        };
        tab.share.set(Some(way));
    });
    view! {
        <Show when=move || items.with(|items| !items.is_empty())>
            <Menu
                label=Signal::stored(words().sharing.share.to_string())
                shape=Shape::Share
                key="h"
                items
                on_pick=share
            />
        </Show>
    }
}
