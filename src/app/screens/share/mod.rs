//! Before anything leaves: where it goes, how much it is, which part of the trace. A file for each way out.

mod digests;
mod file;
mod link;
mod part;
mod perfetto;
mod redaction;
mod tracedrop_file;

use crate::app::state::Tab;
use crate::app::widgets::Dialog;
use crate::app::words::words;
use file::AsFile;
use leptos::prelude::*;
use link::AsLink;
use perfetto::ToPerfetto;
use std::sync::Arc;
use tracedrop::engine::protocol::DocumentView;
use tracedrop_file::AsTracedropFile;

/// Of larger files only a part is offered first.
const LARGE_BYTES: u64 = 100 << 20;
/// Exporter for Perfetto: its own format.
const PERFETTO_TRACE: &str = "perfetto";
/// Exporter for Perfetto of samples, which the other one leaves out.
const PACKED_TRACE: &str = "chrome-trace-gz";

/// Where something is to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    Perfetto,
    Link,
    /// A file with less in it.
    File,
    /// A Tracedrop file.
    HandOn,
}

/// What goes out.
#[derive(Clone)]
struct Packed {
    file_name: String,
    bytes: u64,
    left_out: Vec<String>,
}

/// The dialog of a tab, open while `tab.share` says so.
#[component]
pub fn ShareDialog(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    view! {
        <Dialog
            open=Signal::derive(move || tab.share.with(Option::is_some))
            on_close=move |_: ()| tab.share.set(None)
            title_id=format!("share-title-{}", tab.id)
            title=Signal::derive(move || tab.share.get().map(title_of).unwrap_or_default().to_string())
            class="share"
        >
            {move || match tab.share.get() {
                Some(Way::Perfetto) => view! { <ToPerfetto tab document /> }.into_any(),
                Some(Way::Link) => view! { <AsLink tab document /> }.into_any(),
                Some(Way::File) => view! { <AsFile tab document /> }.into_any(),
                Some(Way::HandOn) => view! { <AsTracedropFile tab document /> }.into_any(),
                None => ().into_any(),
            }}
        </Dialog>
    }
}

fn title_of(way: Way) -> &'static str {
    match way {
        Way::Perfetto => words().sharing.perfetto_title,
        Way::Link => words().sharing.link_title,
        Way::File => words().sharing.file_title,
        Way::HandOn => words().sharing.hand_on_title,
    }
}
