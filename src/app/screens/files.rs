//! Several files combined: parsing details of each, skipped files, and the offer to combine.

use super::ledger::{account_view, issues_view, severity_mark, verdict_of, worst_of};
use crate::app::erased::{Show, memo};
use crate::app::state::{Tab, app};
use crate::app::words::words;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::base::text;
use tracedrop::engine::protocol::{DocumentView, Failure, FileAccount, LeftOutView, SeverityView};

/// What was to be read together with the others, and could not.
#[component]
pub fn LeftOut(document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let left_out = memo(move || {
        document
            .with(|document| document.as_ref().map(|document| document.left_out.clone()).unwrap_or_default())
    });
    let line = |file: LeftOutView| {
        let LeftOutView { file_name, why: Failure { code, what, hint } } = file;
        view! {
            <li data-code=code>
                {severity_mark(Some(SeverityView::Skipped))}
                <span>{(words().files.left_out)(&text::visible(&file_name), &text::visible(&what), &hint)}</span>
            </li>
        }
    };
    view! {
        <Show when=move || left_out.with(|left_out| !left_out.is_empty())>
            <ul class="left-out" aria-label=words().files.left_out_title data-testid="left-out">
                {move || left_out.get().into_iter().map(line).collect_view()}
            </ul>
        </Show>
    }
}

/// Offers to read this file together with others that were opened at once.
#[component]
pub fn Fellows(tab: Tab) -> impl IntoView {
    let app = app();
    let is_offered = move || tab.fellows.with(|fellows| fellows.len() > 1);
    view! {
        <Show when=is_offered>
            <p class="fellows" data-testid="fellows">
                {move || (words().files.fellows)(tab.fellows.with(Vec::len) as u64)}
                " "
                <button type="button" class="link" on:click=move |_| app.read_together(&tab.fellows.get_untracked())>
                    {words().files.read_them_together}
                </button>
            </p>
        </Show>
    }
}

/// Parsing details of each of several files. `open_alone` opens the file of that name in a tab of its own.
pub fn accounts_view(document: &DocumentView, open_alone: Option<Callback<String>>) -> impl IntoView + use<> {
    let one = |FileAccount { file, ledger }: &FileAccount| {
        let (size, rank, name) = (file.bytes, file.rank, StoredValue::new(file.name.clone()));
        let open_alone = open_alone.map(|open_alone| {
            view! {
                <button type="button" class="link" on:click=move |_| open_alone.run(name.get_value())>
                    {words().files.open_alone}
                </button>
            }
        });
        view! {
            <li class="file-account">
                <div class="verdict">
                    {severity_mark(worst_of(ledger))}
                    <h3><bdi>{text::visible(&file.name)}</bdi></h3>
                    {rank.map(|rank| view! { <span class="file-rank">{(words().compare.rank)(rank.rank)}</span> })}
                    <p>{verdict_of(file, ledger, false)}</p>
                    {open_alone}
                </div>
                <div class="account-body">
                    {issues_view(&ledger.issues)}
                    {account_view(ledger, size)}
                </div>
            </li>
        }
    };
    view! { <ul class="file-accounts" aria-label=words().files.files_title>{document.files.iter().map(one).collect_view()}</ul> }
}
