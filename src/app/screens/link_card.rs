//! Where a report that came with a link is from.

use super::ledger::{CloseButton, TabTitle, bar_place};
use super::{ExportMenus, SearchButton};
use crate::app::erased::{Show, memo};
use crate::app::state::Tab;
use crate::app::widgets::{Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::base::text;
use tracedrop::engine::protocol::DocumentView;

#[component]
pub fn LinkCard(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let link = memo(move || document.with(|document| document.as_ref()?.link.clone()));
    view! {
        <section class="file" aria-label=words().file.file_card>
            <div class="file-bar file-head" node_ref=bar_place()>
                <TabTitle tab />
                <div class="file-tools">
                    <SearchButton />
                    <ExportMenus tab document />
                    <CloseButton tab />
                </div>
            </div>
            <div class="from-link" data-testid="from-link">
                <Icon shape=Shape::Info />
                <div>
                    <p>
                        {move || {
                            link.with(|link| match link {
                                Some(link) if link.is_file => (words().sharing.from_file)(link.files.len()),
                                link => (words().sharing.from_link)(link.as_ref().map_or(0, |link| link.files.len())),
                            })
                        }}
                    </p>
                    {move || {
                        let problem = link.get().and_then(|link| link.problem);
                        problem.map(|why| view! { <p class="wrong">{(words().sharing.no_index)(&text::visible(&why))}</p> })
                    }}
                    {move || {
                        let parsed = link.get().and_then(|link| link.parsed);
                        parsed.map(|parsed| view! { <p class="wrong">{text::visible(&parsed)}</p> })
                    }}
                    {move || {
                        let n = link.with(|link| link.as_ref().map_or(0, |link| link.n_secrets));
                        (n > 0).then(|| view! { <p>{(words().sharing.secrets_hidden)(n)}</p> })
                    }}
                    <ul>
                        {move || {
                            let files = link.get().map(|link| link.files).unwrap_or_default();
                            files
                                .into_iter()
                                .map(|file| {
                                    let digest = file.sha256.clone().map(|digest| text::visible(&digest));
                                    view! {
                                        <li>
                                            <bdi>{(words().sharing.drop_file)(&text::visible(&file.name), file.bytes)}</bdi>
                                            {digest.map(|digest| view! { <span class="digest">" " {words().file.digest} " " <code>{digest}</code></span> })}
                                        </li>
                                    }
                                })
                                .collect_view()
                        }}
                    </ul>
                    <Show when=move || link.with(|link| link.as_ref().is_some_and(|link| link.own_tables))>
                        <p>{words().sharing.own_tables}</p>
                    </Show>
                    <p class="hint">{move || link.get().map(|link| (words().sharing.made_by)(&text::visible(&link.by)))}</p>
                </div>
            </div>
            <p class="exporting" role="status">
                {move || tab.run.exporting.get().map(|exporting| (words().export.exporting)(&exporting.title, exporting.bytes))}
            </p>
        </section>
    }
}
