//! File card: the file, its parse result and parsing details.

use super::files::{Fellows, LeftOut, accounts_view};
use super::{ExportMenus, FarAwayNote, RangeAgain, RangeNote, SearchButton};
use crate::app::annotations::Writing;
use crate::app::browser::{self, Dropped, Resizing};
use crate::app::erased::{Show, effect, memo};
use crate::app::state::{Phase, Tab, app};
use crate::app::widgets::{Icon, Menu, Number, Shape};
use crate::app::words::words;
use leptos::html;
use leptos::prelude::*;
use std::sync::Arc;
use tracedrop::analysis::Query;
use tracedrop::base::sort;
use tracedrop::base::text;
use tracedrop::base::units::Unit;
use tracedrop::engine::protocol::{DocumentView, FileView, IndexView, IssueView, LedgerView, SeverityView};
use tracedrop::report::Value;

/// Part of a whole, from 0 to 1.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn number(value: u64, unit: Unit) -> impl IntoView {
    view! { <Number text=Value::Unsigned(value).display(unit) /> }
}

#[component]
pub fn FileCard(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let file =
        memo(move || document.with(|document| document.as_ref().map(|document| document.file.clone())));
    let ledger =
        memo(move || document.with(|document| document.as_ref().map(|document| document.ledger.clone())));
    let partial =
        memo(move || document.with(|document| document.as_ref().is_some_and(|document| document.partial)));
    // The parse result is known once the file is parsed, while reports may still be building.
    let so_far =
        memo(move || document.with(|document| document.as_ref().is_some_and(|document| !document.is_read)));
    // While reading goes on its own card says so.
    let range = memo(move || {
        document.with(|document| document.as_ref().filter(|document| !document.partial)?.range.chosen)
    });
    let is_of_several = memo(move || {
        document.with(|document| document.as_ref().is_some_and(|document| !document.files.is_empty()))
    });
    let worst = memo(move || {
        let has_left_out =
            document.with(|document| document.as_ref().is_some_and(|document| !document.left_out.is_empty()));
        let left_out = has_left_out.then_some(SeverityView::Skipped);
        ledger.with(|ledger| ledger.as_ref().and_then(worst_of)).max(left_out)
    });
    // The header says how much was skipped. Details come first where most was, or reading ended early.
    let is_mostly_lost = memo(move || {
        document.with(|document| {
            document.as_ref().is_some_and(|document| {
                let DocumentView { file, ledger, is_read, .. } = &**document;
                let n_kept = ledger.kept.records + ledger.repaired.records;
                let is_cut = *is_read && ledger.file_bytes_read < file.bytes;
                ledger.is_unreadable() || ledger.skipped.records > n_kept || is_cut
            })
        })
    });
    // That all was read says nothing of what it is worth.
    let warnings = memo(move || {
        document.with(|document| {
            let warnings = document.as_ref()?.warnings();
            Some((warnings.len() as u64, warnings.first()?.0.to_string()))
        })
    });
    // Parsing was stopped early, and the file is available.
    let can_read_on = memo(move || {
        document.with(|document| {
            document.as_ref().is_some_and(|it| {
                !it.partial
                    && it.files.is_empty()
                    && it.range.chosen.is_none()
                    && it.ledger.file_bytes_read < it.file.bytes
            })
        }) && tab.can_be_read_again()
    });
    // Opened and closed by hand, or by what there is to tell.
    let chosen = RwSignal::new(None::<bool>);
    let open = memo(move || chosen.get().unwrap_or_else(|| is_mostly_lost.get()));
    let open_alone = Callback::new(move |name: String| tab.app.open_alone(tab, &name));
    let details_id = format!("account-{}", tab.id);
    let controls = details_id.clone();
    view! {
        <section class="file" aria-label=words().file.file_card>
            <div class="file-bar" class:file-head=move || !partial.get() node_ref=bar_place()>
                <Show when=move || !partial.get()>
                    <TabTitle tab />
                </Show>
                <div class="verdict">
                    <Show when=move || !so_far.get() fallback=|| view! { <span class="mark mark-note"><Icon shape=Shape::Info /></span> }>
                        {move || match warnings.with(Option::is_some) && worst.get() < Some(SeverityView::Repaired) {
                            true => view! { <span class="mark mark-repaired"><Icon shape=Shape::Alert /></span> }.into_any(),
                            false => severity_mark(worst.get()).into_any(),
                        }}
                    </Show>
                    <p>{move || document.get().map(|document| verdict(&document))}</p>
                    // Where the header has room for two words only; screen readers have the sentence.
                    <span class="verdict-short" aria-hidden="true">
                        {move || document.get().map(|document| verdict_in_short(&document))}
                    </span>
                    {move || {
                        warnings
                            .get()
                            .map(|(n, report)| {
                                view! {
                                    <button
                                        type="button"
                                        class="link verdict-warnings"
                                        data-testid="warnings"
                                        on:click=move |_| tab.show_report(Some(report.clone()))
                                    >
                                        <Icon shape=Shape::Alert />
                                        {(words().file.n_warnings)(n)}
                                    </button>
                                }
                            })
                    }}
                    <Show when=move || can_read_on.get()>
                        <button type="button" class="link" data-testid="read-whole" on:click=move |_| tab.read_again()>
                            {words().file.read_again}
                        </button>
                    </Show>
                    <button
                        type="button"
                        class="link"
                        aria-expanded=move || open.get().to_string()
                        aria-controls=controls
                        on:click=move |_| chosen.set(Some(!open.get_untracked()))
                    >
                        {move || if open.get() { words().file.hide_account } else { words().file.show_account }}
                    </button>
                </div>
                <Show when=move || !partial.get()>
                    <div class="file-tools">
                        <Show when=move || tab.app.embed.is_none()>
                            <SearchButton />
                        </Show>
                        <CompareMenu tab />
                        <ExportMenus tab document />
                        <CloseButton tab />
                    </div>
                </Show>
            </div>
            <LeftOut document />
            {move || file.get().filter(|_| !is_of_several.get()).and_then(|file| Some((file.index?, file.name))).map(|(index, name)| view! { <FromIndex tab index name /> })}
            {move || range.get().map(|range| view! { <RangeNote tab range /> })}
            <FarAwayNote tab document />
            <p class="exporting" role="status">
                {move || tab.run.exporting.get().map(|exporting| (words().export.exporting)(&exporting.title, exporting.bytes))}
            </p>
            <Fellows tab />
            <div id=details_id hidden=move || !open.get() class="account-body">
                <Show when=move || open.get()>
                    {move || {
                        let file_bytes = file.with(|file| file.as_ref().map_or(0, |file| file.bytes));
                        ledger.get().filter(|ledger| is_uneven(ledger, file_bytes)).map(|ledger| view! { <AccountBar ledger file_bytes /> })
                    }}
                    {move || file.get().map(meta_view)}
                    <SecretsSwitch tab document />
                    <RangeAgain tab document />
                </Show>
                {move || (open.get() && is_of_several.get()).then(|| document.get().map(|document| accounts_view(&document, Some(open_alone))))}
                {move || {
                    (open.get() && !is_of_several.get())
                        .then(|| {
                            ledger
                                .get()
                                .map(|ledger| {
                                    let file_bytes = file.with(|file| file.as_ref().map_or(0, |file| file.bytes));
                                    view! {
                                        {issues_view(&ledger.issues)}
                                        {account_view(&ledger, file_bytes)}
                                        {move || tab.digests.get().and_then(|digests| digests.into_iter().next().flatten()).map(digest_view)}
                                    }
                                })
                        })
                }}
            </div>
        </section>
    }
}

/// Shows the passwords, tokens and keys that were hidden in this tab, and hides them again. What comes from an index has none.
#[component]
fn SecretsSwitch(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let query = memo(move || {
        let document = document.get()?;
        let is_hidden =
            document.ledger.hides_secrets() || document.files.iter().any(|file| file.ledger.hides_secrets());
        let can_be_shown = document.is_read && document.file.index.is_none();
        (can_be_shown && (is_hidden || document.query.show_secrets)).then(|| document.query.clone())
    });
    view! {
        {move || {
            let query = query.get()?;
            let is_shown = query.show_secrets;
            Some(view! {
                <label class="keep">
                    <input
                        type="checkbox"
                        data-testid="show-secrets"
                        prop:checked=is_shown
                        on:change:target=move |event| {
                            let show_secrets = event.target().checked();
                            tab.set_query(Query { show_secrets, ..query.clone() });
                        }
                    />
                    <span>{words().file.show_secrets}</span>
                </label>
            })
        }}
    }
}

/// The name of what someone gave a title to.
#[component]
pub fn FileName(tab: Tab) -> impl IntoView {
    view! {
        <Show when=move || tab.notes.with(|notes| !notes.title.is_empty())>
            <p class="file-name"><bdi>{move || tab.name.get()}</bdi></p>
        </Show>
    }
}

/// What the tab is called; pressing it gives another title.
#[component]
pub fn TabTitle(tab: Tab) -> impl IntoView {
    let can_write = tab.app.embed.is_none();
    view! {
        <div class="file-title">
            <h1>
                <bdi>{move || tab.title()}</bdi>
            </h1>
            <Show when=move || can_write>
                <button
                    type="button"
                    class="button button-icon file-rename"
                    aria-label=words().notes.rename
                    title=words().notes.rename
                    on:click=move |_| tab.writing.set(Some(Writing::Title))
                >
                    <Icon shape=Shape::Note />
                </button>
            </Show>
            <FileName tab />
        </div>
    }
}

/// For the bar of a file: tabs take the room that it leaves in the header.
pub fn bar_place() -> NodeRef<html::Div> {
    let place = NodeRef::<html::Div>::new();
    let resizing = StoredValue::new_local(None::<Resizing>);
    effect(move || {
        if let Some(bar) = place.get() {
            resizing.set_value(Some(browser::tell_width(&bar, "--bar-used")));
        }
    });
    place
}

/// Closes the tab.
#[component]
pub fn CloseButton(tab: Tab) -> impl IntoView {
    let app = app();
    let label = (words().header.close_tab)(tab.shows());
    view! {
        <button
            type="button"
            class="button button-icon file-close"
            aria-label=label
            title=label
            on:click=move |_| app.close(tab.id)
        >
            <Icon shape=Shape::Close />
        </button>
    }
}

/// Compares this file with another.
#[component]
fn CompareMenu(tab: Tab) -> impl IntoView {
    let app = app();
    let input = NodeRef::<html::Input>::new();
    let items = Signal::derive(move || app.ways_to_compare(tab));
    let pick = Callback::new(move |id: String| {
        app.compare_by(tab, &id, || {
            if let Some(input) = input.get_untracked() {
                input.click();
            }
        });
    });
    view! {
        <input
            type="file"
            multiple
            hidden
            aria-hidden="true"
            tabindex="-1"
            node_ref=input
            data-testid="compare-input"
            on:change=move |_| {
                if let Some(input) = input.get_untracked() {
                    let dropped = Dropped { files: browser::picked(&input), ..Dropped::default() };
                    app.with_archives_opened(dropped, move |dropped| app.open_dropped_against(tab, dropped));
                }
            }
        />
        <Show when=move || tab.run.phase.with(|phase| *phase == Phase::Done)>
            <Menu
                label=Signal::stored(words().compare.compare.to_string())
                shape=Shape::Swap
                key="c"
                items
                on_pick=pick
            />
        </Show>
    }
}

pub(super) fn worst_of(ledger: &LedgerView) -> Option<SeverityView> {
    let tallies = [(ledger.skipped, SeverityView::Skipped), (ledger.repaired, SeverityView::Repaired)];
    let counted =
        tallies.into_iter().filter(|(tally, _)| tally.records > 0).map(|(_, severity)| severity).max();
    ledger.issues.iter().map(|issue| issue.severity).chain(counted).max()
}

fn verdict(document: &DocumentView) -> String {
    let DocumentView { file, ledger, files, left_out, is_read, range, .. } = document;
    if !left_out.is_empty() {
        let n_read = files.len().max(1) as u64;
        let n_files = n_read + left_out.len() as u64;
        return (words().file.verdict_left_out)(n_read, n_files, ledger.records(), &ledger.record_noun);
    }
    if !*is_read && range.chosen.is_some() {
        return (words().file.verdict_held_so_far)(ledger.records(), &ledger.record_noun);
    }
    verdict_of(file, ledger, !*is_read)
}

/// The worst that is to be said, in two words: `7 skipped`.
fn verdict_in_short(document: &DocumentView) -> String {
    let (file, ledger) = (&document.file, &document.ledger);
    let words = &words().file;
    let notes = ledger.issues.len() as u64;
    match (document.left_out.len() as u64, ledger.skipped.records, ledger.repaired.records) {
        (n @ 1.., ..) => (words.short_left_out)(n),
        _ if ledger.is_unreadable() => words.short_unreadable.to_string(),
        _ if !document.is_read || ledger.file_bytes_read < file.bytes => words.short_partly.to_string(),
        _ if ledger.is_truncated() => words.short_truncated.to_string(),
        _ if ledger.is_damaged() => words.short_damaged.to_string(),
        (_, n @ 1.., _) => (words.short_skipped)(n),
        (_, _, n @ 1..) => (words.short_repaired)(n),
        _ if !ledger.unused().is_empty() => words.short_unused.to_string(),
        _ if notes > 0 => (words.short_notes)(notes),
        _ => String::new(),
    }
}

pub(super) fn verdict_of(file: &FileView, ledger: &LedgerView, is_so_far: bool) -> String {
    let counts = (ledger.kept.records, ledger.repaired.records, ledger.skipped.records);
    let noun = &ledger.record_noun;
    if is_so_far {
        (words().file.verdict_so_far)(ledger.records(), noun)
    } else if ledger.file_bytes_read < file.bytes {
        (words().file.verdict_stopped)(ledger.file_bytes_read, file.bytes, ledger.records(), noun)
    } else if ledger.is_unreadable() {
        words().file.verdict_unreadable.to_string()
    } else if let unused = ledger.unused()
        && !unused.is_empty()
    {
        (words().file.verdict_unused)(counts, noun, &unused)
    } else if ledger.is_clean() {
        (words().file.verdict_clean)(ledger.records(), noun)
    } else if counts.1 + counts.2 == 0 {
        (words().file.verdict_notes)(ledger.records(), noun, ledger.issues.len() as u64)
    } else {
        (words().file.verdict_counts)(counts, noun)
    }
}

/// Size, format, compression, producer.
pub(super) fn meta_view(file: FileView) -> impl IntoView {
    let parts = [
        Some((words().file.format, file.format_title)).filter(|(_, title)| !title.is_empty()),
        file.producer.map(|producer| (words().file.written_by, text::visible(&producer))),
        (file.bytes > 0).then(|| (words().file.size, Value::Unsigned(file.bytes).display(Unit::Bytes))),
        (!file.compression.is_empty()).then(|| (words().file.compression, file.compression.join(" → "))),
    ];
    view! {
        <dl class="meta">
            {parts
                .into_iter()
                .flatten()
                .map(|(label, value)| view! { <div><dt>{label}</dt><dd><bdi>{value}</bdi></dd></div> })
                .collect_view()}
        </dl>
    }
}

/// Says that the file was not read this time.
#[component]
fn FromIndex(tab: Tab, index: IndexView, name: String) -> impl IntoView {
    let when = (index.made_ms > 0).then(|| browser::local_time(index.made_ms));
    view! {
        <p class="from-index" data-testid="from-index">
            <Icon shape=Shape::Info />
            <span>
                {(words().file.from_index)(&name, &index, when.as_deref())} " "
                {(!index.is_alone)
                    .then(|| {
                        view! {
                            <button type="button" class="link" on:click=move |_| tab.read_again()>
                                {words().file.read_again}
                            </button>
                        }
                    })}
                {tab.lacks_file()
                    .then(|| {
                        view! {
                            <button type="button" class="link" on:click=move |_| tab.app.choose_files()>
                                {words().file.choose_trace}
                            </button>
                        }
                    })}
            </span>
        </p>
    }
}

/// SHA-256 of the file.
fn digest_view(digest: String) -> impl IntoView {
    view! { <p class="digest" data-testid="digest">{words().file.digest} " " <code>{digest}</code></p> }
}

/// Whether a bar says something: one of kept records only would not.
fn is_uneven(ledger: &LedgerView, file_bytes: u64) -> bool {
    let is_whole = ledger.records() == ledger.kept.records && ledger.file_bytes_read >= file_bytes;
    !ledger.is_clean() && !is_whole
}

/// How much was kept, repaired and skipped, as a bar.
#[component]
fn AccountBar(ledger: LedgerView, file_bytes: u64) -> impl IntoView {
    let records = ledger.records();
    // Of a file that was not read to its end, the rest stays empty.
    let read = if file_bytes > 0 { share(ledger.file_bytes_read, file_bytes).min(1.0) } else { 1.0 };
    let parts = [
        ("kept", ledger.kept.records),
        ("repaired", ledger.repaired.records),
        ("skipped", ledger.skipped.records),
    ];
    view! {
        <div class="account-bar" aria-hidden="true">
            {parts
                .into_iter()
                .filter(|(_, n)| *n > 0)
                .map(|(name, n)| {
                    view! { <span class=format!("account-part account-{name}") style=("--share", (share(n, records) * read).to_string())></span> }
                })
                .collect_view()}
        </div>
    }
}

/// Parsing details as a table that adds up.
pub(super) fn account_view(ledger: &LedgerView, file_bytes: u64) -> impl IntoView + use<> {
    let words = &words().file;
    let rows = [
        ("kept", words.kept, ledger.kept),
        ("repaired", words.repaired, ledger.repaired),
        ("skipped", words.skipped, ledger.skipped),
    ];
    let (records, bytes) = (ledger.records(), ledger.bytes());
    let (framing, unused) = (ledger.framing_bytes, ledger.unused_bytes);
    let compressed = ledger.file_bytes_read != ledger.content_bytes;
    let unread = file_bytes.saturating_sub(ledger.file_bytes_read);
    let file_bytes_read = ledger.file_bytes_read;
    let noun = ledger.record_noun.clone();
    view! {
        <table class="account">
            <caption>{words.account_title}</caption>
            <thead>
                <tr>
                    <td></td>
                    <th scope="col">{noun}</th>
                    <th scope="col">{words.share}</th>
                    <th scope="col">{words.bytes}</th>
                </tr>
            </thead>
            <tbody>
                {rows
                    .into_iter()
                    .map(|(name, label, tally)| {
                        view! {
                            <tr class:account-none=tally.records == 0>
                                <th scope="row"><span class=format!("swatch account-{name}")></span>{label}</th>
                                <td>{number(tally.records, Unit::Count)}</td>
                                <td><Number text=Value::Float(share(tally.records, records)).display(Unit::Ratio) /></td>
                                <td>{number(tally.bytes, Unit::Count)}</td>
                            </tr>
                        }
                    })
                    .collect_view()}
                <tr class:account-none=framing == 0>
                    <th scope="row"><span class="swatch"></span>{words.between}</th>
                    <td></td>
                    <td></td>
                    <td>{number(framing, Unit::Count)}</td>
                </tr>
                {(unused > 0)
                    .then(|| {
                        view! {
                            <tr>
                                <th scope="row"><span class="swatch account-skipped"></span>{words.not_used}</th>
                                <td></td>
                                <td></td>
                                <td>{number(unused, Unit::Count)}</td>
                            </tr>
                        }
                    })}
            </tbody>
            <tfoot>
                <tr>
                    <th scope="row">{words.read}</th>
                    <td>{number(records, Unit::Count)}</td>
                    <td></td>
                    <td>{number(bytes, Unit::Count)}</td>
                </tr>
                {compressed
                    .then(|| {
                        view! {
                            <tr class="account-aside">
                                <th scope="row">{words.unpacked_from}</th>
                                <td></td>
                                <td></td>
                                <td>{number(file_bytes_read, Unit::Count)}</td>
                            </tr>
                        }
                    })}
                {(unread > 0)
                    .then(|| {
                        view! {
                            <tr class="account-aside">
                                <th scope="row">{words.not_read}</th>
                                <td></td>
                                <td></td>
                                <td>{number(unread, Unit::Count)}</td>
                            </tr>
                        }
                    })}
            </tfoot>
        </table>
    }
}

pub(super) fn severity_mark(severity: Option<SeverityView>) -> impl IntoView {
    let (class, shape) = match severity {
        None => ("mark-good", Shape::Check),
        Some(SeverityView::Note) => ("mark-note", Shape::Info),
        Some(SeverityView::Repaired) => ("mark-repaired", Shape::Repair),
        Some(SeverityView::Skipped) => ("mark-skipped", Shape::Skip),
    };
    view! { <span class=format!("mark {class}")><Icon shape /></span> }
}

pub(super) fn issues_view(issues: &[IssueView]) -> impl IntoView + use<> {
    let mut issues = issues.to_vec();
    sort::by_key(&mut issues, |issue| std::cmp::Reverse(issue.severity));
    (!issues.is_empty()).then(|| {
        view! {
            <ul class="issues" aria-label=words().file.issues_title>
                {issues.into_iter().map(issue_view).collect_view()}
            </ul>
        }
    })
}

fn issue_view(issue: IssueView) -> impl IntoView {
    let word = match issue.severity {
        SeverityView::Note => words().file.note,
        SeverityView::Repaired => words().file.repaired,
        SeverityView::Skipped => words().file.skipped,
    };
    let IssueView { code, severity, what, hint, count, first_byte, first_line, example } = issue;
    view! {
        <li class="issue" data-code=code>
            {severity_mark(Some(severity))}
            <div class="issue-body">
                <p class="issue-what">
                    <span class="issue-word">{word}</span>
                    <span>{what}</span>
                    <span class="issue-count">{(words().file.times)(count)}</span>
                </p>
                {first_byte.map(|byte| view! { <p class="issue-where">{(words().file.first_at)(first_line, byte)}</p> })}
                {(!example.is_empty()).then(|| view! {
                    <pre class="issue-example"><bdi>{example.lines().map(text::visible).collect::<Vec<_>>().join("\n")}</bdi></pre>
                })}
                {(!hint.is_empty()).then(|| view! { <p class="issue-hint">{hint}</p> })}
            </div>
        </li>
    }
}
