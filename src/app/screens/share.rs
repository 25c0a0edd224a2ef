//! Before anything leaves: where it goes, how much it is, which part of the trace.

use crate::app::browser::{self, Blob, HandedOver, Local};
use crate::app::client::Answer;
use crate::app::state::{Phase, Tab};
use crate::app::times::{millis, nanoseconds};
use crate::app::widgets::{DecimalField, Dialog, Icon, Shape};
use crate::app::words::words;
use leptos::prelude::*;
use std::iter;
use std::sync::Arc;
use tracedrop::base::text;
use tracedrop::base::units::group_digits;
use tracedrop::engine::protocol::{
    Classes, Cut, DocumentView, ExporterView, FileView, LinkOptions, LinkedFile, PreviewView, Request,
    ShareOptions, TextSort,
};

/// Of larger files only a part is offered first.
const LARGE_BYTES: u64 = 100 << 20;
/// Exporter for Perfetto.
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

/// How far it is.
#[derive(Clone)]
enum Stage {
    /// Something is to be chosen first.
    Asking,
    /// Bytes written so far.
    Packing(u64),
    Ready(Packed),
    /// The other page is called.
    Calling(Packed),
    Over(String),
    Failed(String, Option<Packed>),
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

#[component]
fn ToPerfetto(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let (n_bytes, span) = document.with_untracked(|document| {
        document.as_ref().map_or((0, None), |document| (document.file.bytes, document.span_ns))
    });
    let is_large = n_bytes > LARGE_BYTES;
    // The first part of a large one that is about as much as may go without asking.
    let first = match span {
        Some(span) if is_large => (span as f64 * (LARGE_BYTES as f64 / n_bytes as f64)) as i64,
        _ => span.unwrap_or(0),
    };
    let asked = tab.window.try_update_value(Option::take).flatten();
    let part = PartDraft::new(asked.unwrap_or((0, first)));
    let cut = Memo::new(move |_| part.cut(span));
    let stage = RwSignal::new(Stage::Asking);
    // What was packed last.
    let held: Local<Option<Blob>> = StoredValue::new_local(None);
    let classes = RwSignal::new(Classes::default());
    // New for every request, to detect late answers.
    let turn = StoredValue::new(0u32);
    let pack = move || {
        let Ok(cut) = cut.get_untracked() else { return };
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        stage.set(Stage::Packing(0));
        let options = ShareOptions { cut, redact: classes.get_untracked(), ..ShareOptions::default() };
        tab.ask(
            |ticket| Request::Share { ticket, exporter: PACKED_TRACE.to_string(), options },
            move |answer| {
                if turn.try_get_value() != Some(this_turn) {
                    return;
                }
                match answer {
                    Answer::ExportProgress(bytes) => stage.set(Stage::Packing(bytes)),
                    Answer::Exported { file_name, bytes, left_out, blob } => {
                        held.set_value(Some(blob));
                        stage.set(Stage::Ready(Packed { file_name, bytes, left_out }));
                    }
                    Answer::Refused(failure) => {
                        let text = (words().export.refused)(&failure.what, &failure.hint);
                        stage.set(Stage::Failed(text, None));
                    }
                    _ => {}
                }
            },
        );
    };
    // Packed at once, and anew whenever something else is to go out; of a large one only when asked.
    Effect::new(move |before: Option<()>| {
        let is_sound = cut.with(Result::is_ok);
        classes.track();
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        if is_large || !is_sound {
            return stage.set(Stage::Asking);
        }
        stage.set(Stage::Packing(0));
        let pause = if before.is_some() { TYPING_MS } else { 0 };
        browser::after(pause, move || {
            if turn.try_get_value() == Some(this_turn) {
                pack();
            }
        });
    });
    let options = Signal::derive(move || {
        let cut = cut.get().unwrap_or_default();
        ShareOptions { cut, redact: classes.get(), ..ShareOptions::default() }
    });
    let hand_over = move |packed: Packed| {
        let Some(blob) = held.get_value() else { return };
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        stage.set(Stage::Calling(packed.clone()));
        let title = packed.file_name.clone();
        // Pass nothing on after the dialog was closed or cancelled.
        let is_wanted = move || {
            turn.try_get_value() == Some(this_turn)
                && stage.try_with_untracked(|stage| matches!(stage, Stage::Calling(_))) == Some(true)
        };
        browser::hand_over(&blob, &title, is_wanted, move |how| {
            let after = match how {
                HandedOver::Dropped => return,
                HandedOver::Done => Stage::Over((words().sharing.handed_over)(packed.bytes)),
                HandedOver::Blocked => {
                    Stage::Failed(words().sharing.window_blocked.to_string(), Some(packed))
                }
                HandedOver::NoAnswer => Stage::Failed(words().sharing.no_answer.to_string(), Some(packed)),
                HandedOver::Failed => {
                    Stage::Failed(words().sharing.not_handed_over.to_string(), Some(packed))
                }
            };
            // The dialog may be closed by now.
            let _ = stage.try_set(after);
        });
    };
    let download = move |packed: &Packed| {
        if let Some(blob) = held.get_value() {
            browser::download(&packed.file_name, &blob);
        }
    };
    let is_calling = move || stage.with(|stage| matches!(stage, Stage::Calling(_)));
    view! {
        <p>{words().sharing.perfetto_about}</p>
        {span
            .map(|span| {
                view! {
                    <PartFields part cut span disabled=Signal::derive(is_calling) />
                    {is_large.then(|| view! { <p class="hint">{(words().sharing.is_large)(n_bytes)}</p> })}
                }
            })}
        <Redaction tab exporter=PACKED_TRACE.to_string() options classes />
        <div class="share-state" role="status">
            {move || match stage.get() {
                Stage::Asking => {
                    view! {
                        <div class="actions">
                            <button
                                type="button"
                                class="button button-main"
                                disabled=move || cut.with(Result::is_err)
                                on:click=move |_| pack()
                            >
                                {if is_large { words().sharing.pack } else { words().sharing.open_perfetto }}
                            </button>
                        </div>
                    }
                        .into_any()
                }
                Stage::Packing(bytes) => view! { <p>{(words().sharing.packing)(bytes)}</p> }.into_any(),
                Stage::Calling(packed) => {
                    view! {
                        <p>{words().sharing.calling}</p>
                        <div class="actions">
                            <button type="button" class="button" on:click=move |_| stage.set(Stage::Ready(packed.clone()))>
                                {words().sharing.call_off}
                            </button>
                        </div>
                    }
                        .into_any()
                }
                Stage::Over(text) => view! { <p><Icon shape=Shape::Check />" "{text}</p> }.into_any(),
                Stage::Ready(packed) => {
                    let name = text::visible(&packed.file_name);
                    let about = (words().sharing.goes_out)(&name, packed.bytes, browser::PERFETTO, &packed.left_out);
                    let again = packed.clone();
                    view! {
                        <p>{about}</p>
                        <div class="actions">
                            <button type="button" class="button button-main" on:click=move |_| hand_over(packed.clone())>
                                {words().sharing.open_perfetto}
                            </button>
                            <button type="button" class="button" on:click=move |_| download(&again)>
                                {words().sharing.download_instead}
                            </button>
                        </div>
                    }
                        .into_any()
                }
                Stage::Failed(text, packed) => {
                    view! {
                        <p class="wrong"><Icon shape=Shape::Alert />" "{text}</p>
                        {packed
                            .map(|packed| {
                                let again = packed.clone();
                                view! {
                                    <div class="actions">
                                        <button type="button" class="button button-main" on:click=move |_| download(&packed)>
                                            {words().sharing.download_instead}
                                        </button>
                                        <button type="button" class="button" on:click=move |_| hand_over(again.clone())>
                                            {words().privacy.try_again}
                                        </button>
                                    </div>
                                }
                            })}
                    }
                        .into_any()
                }
            }}
        </div>
    }
}

/// Rows of each table to choose from.
const ROWS: [u32; 4] = [10, 25, 100, 1000];
/// What writes the part of a link behind `#`.
const LINK: &str = "link";

/// How far a link is.
#[derive(Clone)]
enum LinkStage {
    Making,
    Ready(String),
    Refused(String),
}

/// Whether there are SHA-256: only of files that were read, as an index is another file than its trace.
fn has_digests(tab: Tab, read: &DocumentView) -> bool {
    let is_read = match tab.file_bytes() {
        Some(bytes) => bytes == read.file.bytes,
        None => tab.is_of_several(),
    };
    is_read && !tab.was_handed_on()
}

/// The files whose SHA-256 goes along, with the tab that has them computed: those that were read, or those of both sides of a
/// comparison while their tabs are open.
struct Digests {
    of: Vec<(Tab, Vec<LinkedFile>)>,
    n_files: usize,
}

impl Digests {
    fn of(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> StoredValue<Digests> {
        let linked = |FileView { name, bytes, .. }: &FileView| LinkedFile {
            name: name.clone(),
            bytes: *bytes,
            sha256: None,
            side: None,
        };
        let with_files = |tab: Tab, document: Option<Arc<DocumentView>>| {
            let document = document.filter(|it| has_digests(tab, it))?;
            let files = match document.files.is_empty() {
                true => vec![linked(&document.file)],
                false => document.files.iter().map(|account| linked(&account.file)).collect(),
            };
            Some((tab, files))
        };
        let of: Vec<(Tab, Vec<LinkedFile>)> = match tab.side_tabs() {
            // A first: order distinguishes files of the same name and size.
            Some(mut sides) => {
                if document.with_untracked(|it| it.as_ref()?.sides.as_ref().map(|it| it.is_swapped))
                    == Some(true)
                {
                    sides.reverse();
                }
                sides
                    .into_iter()
                    .filter(|side| side.run.phase.with_untracked(|phase| *phase == Phase::Done))
                    .filter_map(|side| with_files(side, side.document.get_untracked()))
                    .collect()
            }
            None => with_files(tab, document.get_untracked()).into_iter().collect(),
        };
        for (tab, _) in &of {
            // Computed once.
            if tab.digests.with_untracked(Option::is_none) {
                tab.send(&Request::WantDigests);
            }
        }
        let n_files = document.with_untracked(|it| it.as_ref().map_or(0, |it| it.files.len().max(1)));
        StoredValue::new(Digests { of, n_files })
    }

    /// Whether every file has one.
    fn are_all(&self) -> bool {
        let are_known = |files: &Vec<LinkedFile>| files.iter().all(|file| file.sha256.is_some());
        self.known().is_some_and(|files| files.len() == self.n_files && are_known(&files))
    }

    /// The files with their SHA-256; `None` until all are computed. Those of a tab that was closed meanwhile stay behind.
    fn known(&self) -> Option<Vec<LinkedFile>> {
        let with_digests = |(tab, files): &(Tab, Vec<LinkedFile>)| {
            let digests = tab.digests.try_get()?;
            Some(digests.map(|digests| {
                let digests = digests.into_iter().chain(iter::repeat(None));
                let with_digest = |(file, sha256): (&LinkedFile, _)| LinkedFile { sha256, ..file.clone() };
                files.iter().zip(digests).map(with_digest).collect::<Vec<_>>()
            }))
        };
        let known: Option<Vec<Vec<LinkedFile>>> = self.of.iter().filter_map(with_digests).collect();
        known.map(|files| files.concat())
    }

    /// How many bytes there are to read.
    fn n_bytes(&self) -> u64 {
        self.of.iter().flat_map(|(_, files)| files).map(|file| file.bytes).fold(0, u64::saturating_add)
    }
}

/// File information of a link. For a comparison it includes names, because there is no single run with all files.
fn of_files(tab: Tab, files: Vec<LinkedFile>) -> LinkOptions {
    match tab.is_comparison() {
        true => LinkOptions { files, ..LinkOptions::default() },
        false => LinkOptions {
            sha256: files.into_iter().map(|file| file.sha256).collect(),
            ..LinkOptions::default()
        },
    }
}

#[component]
fn AsLink(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let rows = RwSignal::new(ROWS[0]);
    let all_reports = RwSignal::new(false);
    let wants_short = RwSignal::new(true);
    // Whoever wants more than ten rows has no use for it.
    let can_be_short = Memo::new(move |_| !all_reports.get() && rows.get() == ROWS[0]);
    let classes = RwSignal::new(Classes::default());
    let asked = RwSignal::new(ShareOptions::default());
    let stage = RwSignal::new(LinkStage::Making);
    let turn = StoredValue::new(0u32);
    let digests = Digests::of(tab, document);
    Effect::new(move |_| {
        let (files, rows, all_reports) = (digests.with_value(Digests::known), rows.get(), all_reports.get());
        let is_short = can_be_short.get() && wants_short.get();
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        stage.set(LinkStage::Making);
        let Some(files) = files else { return };
        let redact = classes.get();
        let link = LinkOptions {
            report: tab.report.get_untracked(),
            all_reports,
            rows,
            is_short,
            tables: tab.looks.get_untracked(),
            ..of_files(tab, files)
        };
        let options = tab.with_notes(ShareOptions { link, redact, ..ShareOptions::default() });
        asked.set(options.clone());
        tab.ask(
            |ticket| Request::Share { ticket, exporter: LINK.to_string(), options },
            move |answer| {
                let is_late = turn.try_get_value() != Some(this_turn);
                match answer {
                    _ if is_late => {}
                    Answer::Exported { blob, .. } => browser::text_of_blob(&blob, move |fragment| {
                        let is_late = turn.try_get_value() != Some(this_turn);
                        if let (Some(fragment), false) = (fragment, is_late) {
                            stage.set(LinkStage::Ready(browser::address_with(&fragment)));
                        }
                    }),
                    Answer::Refused(failure) => {
                        stage.set(LinkStage::Refused((words().export.refused)(&failure.what, &failure.hint)));
                    }
                    _ => {}
                }
            },
        );
    });
    let shown = move || {
        document.with(|document| {
            let document = document.as_ref()?;
            let chosen = tab.report.get();
            let at = document.reports.iter().position(|report| Some(&report.id) == chosen.as_ref());
            document.reports.get(at.unwrap_or(0)).map(|report| (report.id.clone(), report.title.clone()))
        })
    };
    let copy = move |address: String| {
        let app = tab.app;
        browser::copy_text(address, move |copied| match copied {
            true => {
                app.say(words().sharing.link_copied.to_string());
                let ShareOptions { notes, redact, link, .. } = asked.get_untracked();
                if let (Some(notes), true) = (notes, redact.is_none()) {
                    // Those on rows of reports that stay behind are not in it.
                    let report = untrack(shown).filter(|_| !link.all_reports);
                    tab.mark_saved(&report.map_or_else(|| notes.clone(), |(id, _)| notes.with_report(&id)));
                }
                tab.share.set(None);
            }
            false => app.alert(words().table.not_copied.to_string()),
        });
    };
    view! {
        <p>{words().sharing.link_about}</p>
        <fieldset>
            <label>
                <span>{words().sharing.link_rows}</span>
                <select on:change:target=move |event| {
                    if let Ok(n) = event.target().value().parse() {
                        rows.set(n);
                    }
                }>
                    {ROWS.map(|n| view! { <option value=n.to_string() selected=move || rows.get() == n>{n.to_string()}</option> }).collect_view()}
                </select>
            </label>
            <label>
                <input
                    type="checkbox"
                    prop:checked=move || all_reports.get()
                    on:change:target=move |event| all_reports.set(event.target().checked())
                />
                <span>{words().sharing.link_all}</span>
            </label>
            <label>
                <input
                    type="checkbox"
                    prop:checked=move || wants_short.get() && can_be_short.get()
                    disabled=move || !can_be_short.get()
                    on:change:target=move |event| wants_short.set(event.target().checked())
                />
                <span>{words().sharing.link_short}</span>
            </label>
        </fieldset>
        <Redaction tab exporter=LINK.to_string() options=asked classes />
        <div class="share-state" role="status">
            {move || match stage.get() {
                LinkStage::Making => {
                    let text = digests.with_value(|digests| match digests.known() {
                        Some(_) => words().sharing.link_making.to_string(),
                        None => (words().sharing.digests_making)(digests.n_bytes()),
                    });
                    view! { <p>{text}</p> }.into_any()
                }
                LinkStage::Refused(text) => {
                    view! { <p class="wrong"><Icon shape=Shape::Alert />" "{text}</p> }.into_any()
                }
                LinkStage::Ready(address) => {
                    let n_letters = address.len() as u64;
                    let title = shown().filter(|_| !all_reports.get()).map(|(_, title)| title).unwrap_or_default();
                    let tells_digest = digests.with_value(Digests::are_all) || document.with_untracked(|it| it.as_ref().is_some_and(|it| files_have_digests(it)));
                    view! {
                        <p>{(words().sharing.link_length)(n_letters, &title, tells_digest)}</p>
                        {address.starts_with('#').then(|| view! { <p>{words().sharing.link_on_disk}</p> })}
                        <div class="actions">
                            <button type="button" class="button button-main" on:click=move |_| copy(address.clone())>
                                <Icon shape=Shape::Copy />
                                <span>{words().sharing.link_copy_now}</span>
                            </button>
                        </div>
                    }
                        .into_any()
                }
            }}
        </div>
    }
}

/// Texts in the preview at first; *Show more* multiplies their number by `MORE_TEXTS`. The others are counted, and included in
/// the saved list.
const PREVIEW_TEXTS: u32 = 200;
const MORE_TEXTS: u32 = 10;
/// No more are ever on the page, which would become slow.
const MAX_TEXTS: u32 = 20_000;
/// In the dialog that is open: the first of the texts that more were asked for, and the buttons below the list.
const NEW_TEXT: &str = "dialog[open] .share-texts tr.new";
const PREVIEW_BUTTON: &str = "dialog[open] .share-preview .actions button";
/// Typing pauses this long before texts are looked through.
const TYPING_MS: u64 = 200;

/// Redaction options and preview of the exported text.
#[component]
fn Redaction(
    tab: Tab,
    #[prop(into)] exporter: Signal<String>,
    #[prop(into)] options: Signal<ShareOptions>,
    classes: RwSignal<Classes>,
) -> impl IntoView {
    let open = RwSignal::new(false);
    let search = RwSignal::new(String::new());
    let limit = RwSignal::new(PREVIEW_TEXTS);
    let preview = RwSignal::new(None::<Result<PreviewView, String>>);
    // How many texts there were when more were asked for: the list goes on at the first one behind them.
    let shown_before = StoredValue::new(None::<usize>);
    let turn = StoredValue::new(0u32);
    Effect::new(move |_| {
        let (exporter, options, search, limit) = (exporter.get(), options.get(), search.get(), limit.get());
        if !open.get() {
            return;
        }
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        browser::after(TYPING_MS, move || {
            if turn.try_get_value() != Some(this_turn) {
                return;
            }
            tab.ask(
                move |ticket| Request::Preview { ticket, exporter, options, search, limit },
                move |answer| {
                    if turn.try_get_value() != Some(this_turn) {
                        return;
                    }
                    match answer {
                        Answer::Preview(view) => preview.set(Some(Ok(view))),
                        Answer::Refused(failure) => {
                            preview.set(Some(Err((words().export.refused)(&failure.what, &failure.hint))));
                        }
                        _ => {}
                    }
                    browser::after(0, || {
                        browser::to_top(NEW_TEXT);
                        // The button that was pressed was made anew with the list above it, or is gone as there is no more.
                        browser::catch_focus(&[PREVIEW_BUTTON]);
                    });
                },
            );
        });
    });
    let save = move || {
        let (exporter, options) = (exporter.get_untracked(), options.get_untracked());
        let search = search.get_untracked();
        tab.ask(
            |ticket| Request::Preview { ticket, exporter, options, search, limit: u32::MAX },
            move |answer| match answer {
                Answer::Preview(view) => {
                    let list = list_of(&view);
                    browser::download_text(words().sharing.preview_name, &list, "text/tab-separated-values");
                    let n_bytes = list.len() as u64;
                    tab.app.say((words().export.exported)(words().sharing.preview_name, n_bytes, &[]));
                }
                Answer::Refused(failure) => {
                    tab.app.alert((words().export.refused)(&failure.what, &failure.hint));
                }
                _ => {}
            },
        );
    };
    let is_on = move |name: &'static str| {
        let mut classes = classes.get();
        classes.by_name(name).is_some_and(|is_on| *is_on)
    };
    view! {
        <fieldset>
            <legend>{words().sharing.take_out}</legend>
            {words()
                .sharing
                .classes
                .map(|(name, label, hint)| {
                    view! {
                        <label title=hint>
                            <input
                                type="checkbox"
                                prop:checked=move || is_on(name)
                                on:change:target=move |event| {
                                    let is_checked = event.target().checked();
                                    classes.update(|classes| {
                                        if let Some(is_on) = classes.by_name(name) {
                                            *is_on = is_checked;
                                        }
                                    });
                                }
                            />
                            <span>{label}</span>
                        </label>
                    }
                })
                .collect_view()}
        </fieldset>
        <details class="share-preview" on:toggle=move |_| open.update(|open| *open = !*open)>
            <summary>{words().sharing.preview}</summary>
            <p class="hint">{words().sharing.preview_about}</p>
            <label class="field">
                <Icon shape=Shape::Search />
                <input
                    type="search"
                    placeholder=words().sharing.preview_search
                    aria-label=words().sharing.preview_search
                    autocomplete="off"
                    spellcheck="false"
                    prop:value=move || search.get()
                    on:input:target=move |event| search.set(event.target().value())
                />
            </label>
            {move || match preview.get() {
                None => view! { <p>{words().sharing.previewing}</p> }.into_any(),
                Some(Err(text)) => view! { <p class="wrong">{text}</p> }.into_any(),
                Some(Ok(preview)) => {
                    let n_shown = preview.texts.len();
                    let n_hidden = preview.n_matching.saturating_sub(n_shown as u64);
                    let has_more = move || n_hidden > 0 && limit.get() < MAX_TEXTS;
                    let show_more = move || {
                        shown_before.set_value(Some(n_shown));
                        limit.update(|limit| *limit *= MORE_TEXTS);
                    };
                    view! {
                        {preview_view(preview, shown_before.try_update_value(Option::take).flatten())}
                        <div class="actions">
                            <Show when=has_more>
                                <button type="button" class="button" on:click=move |_| show_more()>
                                    {words().sharing.preview_more}
                                </button>
                            </Show>
                            <button type="button" class="button" on:click=move |_| save()>{words().sharing.preview_save}</button>
                        </div>
                    }
                        .into_any()
                }
            }}
        </details>
    }
}

/// A line for each text: what it looks like, how often it is there, the text.
fn list_of(preview: &PreviewView) -> String {
    let line = |(sort, text, n): &(TextSort, String, u64)| {
        format!("{}\t{n}\t{}\n", (words().sharing.sort)(*sort), text::visible(text))
    };
    let more = match preview.n_more {
        0 => String::new(),
        n => (words().sharing.preview_untold)(n),
    };
    preview.texts.iter().map(line).chain([more]).collect()
}

/// `first_new` is the text that was not there before.
fn preview_view(preview: PreviewView, first_new: Option<usize>) -> impl IntoView {
    let PreviewView { sorts, n_matching, texts, n_more } = preview;
    let n_shown = texts.len() as u64;
    let sorts: Vec<String> = sorts
        .into_iter()
        .map(|(sort, n)| format!("{}: {}", (words().sharing.sort)(sort), group_digits(i128::from(n))))
        .collect();
    view! {
        <p>{sorts.join(" · ")}</p>
        <div class="share-texts" tabindex="0" role="region" aria-label=words().sharing.preview>
            <table>
                <tbody>
                    {texts
                        .into_iter()
                        .enumerate()
                        .map(|(at, (sort, text, n))| {
                            let shown = text::shortened(&text::visible(&text), 300);
                            view! {
                                <tr class:new=first_new == Some(at)>
                                    <td>{(words().sharing.sort)(sort)}</td>
                                    <td class="share-count">{group_digits(i128::from(n))}</td>
                                    <td><bdi>{shown}</bdi></td>
                                </tr>
                            }
                        })
                        .collect_view()}
                </tbody>
            </table>
        </div>
        <p class="hint">{(words().sharing.preview_count)(n_shown, n_matching, n_more)}</p>
    }
}

/// Which part of a trace is written, as someone writes it.
#[derive(Clone, Copy)]
struct PartDraft {
    /// Milliseconds since the start of the trace.
    from: RwSignal<String>,
    to: RwSignal<String>,
    /// Slices that may be one inside the other; empty for all.
    depth: RwSignal<String>,
}

/// What is wrong with a part as it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wrong {
    From,
    To,
    /// It ends before it starts.
    Order,
    /// It starts when the trace is over.
    Beyond,
    Depth,
}

impl PartDraft {
    fn new((from, to): (i64, i64)) -> PartDraft {
        PartDraft {
            from: RwSignal::new(millis(from.max(0))),
            to: RwSignal::new(millis(to.max(0))),
            depth: RwSignal::default(),
        }
    }

    /// What is kept of a trace of that length.
    fn cut(self, span: Option<i64>) -> Result<Cut, Wrong> {
        let window = match span {
            Some(span) => {
                let from = nanoseconds(&self.from.get()).ok_or(Wrong::From)?;
                let to = nanoseconds(&self.to.get()).ok_or(Wrong::To)?;
                match () {
                    () if from > to => return Err(Wrong::Order),
                    () if from > span => return Err(Wrong::Beyond),
                    () => (from > 0 || to < span).then_some((from, to)),
                }
            }
            None => None,
        };
        let max_depth = match self.depth.get().trim() {
            "" => None,
            depth => Some(depth.parse().ok().filter(|depth| *depth > 0).ok_or(Wrong::Depth)?),
        };
        Ok(Cut { window, max_depth })
    }
}

fn words_for(wrong: Wrong, span: i64) -> String {
    match wrong {
        Wrong::From | Wrong::To => words().notes.bad_time.to_string(),
        Wrong::Order => words().notes.bad_range.to_string(),
        Wrong::Beyond => (words().sharing.beyond)(&millis(span)),
        Wrong::Depth => words().sharing.bad_depth.to_string(),
    }
}

/// Where a part of a trace is written, and what is wrong with it.
#[component]
fn PartFields(
    part: PartDraft,
    cut: Memo<Result<Cut, Wrong>>,
    /// Length of the trace.
    span: i64,
    /// Slices may be left out by their depth, too.
    #[prop(optional)]
    with_depth: bool,
    #[prop(optional, into)] disabled: Signal<bool>,
) -> impl IntoView {
    let wrong = move || cut.with(|cut| cut.as_ref().err().copied());
    let field = move |label: &'static str, value: RwSignal<String>, concerns: &'static [Wrong]| {
        let invalid = Signal::derive(move || wrong().is_some_and(|wrong| concerns.contains(&wrong)));
        view! { <DecimalField label value invalid /> }
    };
    view! {
        <fieldset disabled=disabled>
            <legend>{(words().sharing.part)(&millis(span))}</legend>
            {field(words().sharing.from, part.from, &[Wrong::From, Wrong::Order, Wrong::Beyond])}
            {field(words().sharing.to, part.to, &[Wrong::To, Wrong::Order])}
            {with_depth.then(|| field(words().sharing.depth, part.depth, &[Wrong::Depth]))}
        </fieldset>
        <p class="wrong" role="status">{move || wrong().map(|wrong| words_for(wrong, span))}</p>
    }
}

/// A file with less in it than there is.
#[component]
fn AsFile(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let exporters: Vec<ExporterView> = document.with_untracked(|document| {
        let all = document.as_ref().map(|document| document.exporters.clone()).unwrap_or_default();
        all.into_iter().filter(|exporter| exporter.can_redact).collect()
    });
    let first = exporters.iter().find(|exporter| exporter.id == "html").or(exporters.first());
    let chosen = RwSignal::new(first.map(|exporter| exporter.id.clone()).unwrap_or_default());
    let classes = RwSignal::new(Classes { paths: true, hosts: true, ..Classes::default() });
    let known = StoredValue::new(exporters.clone());
    let span = document.with_untracked(|document| document.as_ref().and_then(|document| document.span_ns));
    let part = PartDraft::new((0, span.unwrap_or(0)));
    let takes_part = Memo::new(move |_| {
        chosen.with(|id| known.with_value(|all| all.iter().any(|it| it.id == *id && it.takes_part)))
    });
    let cut = Memo::new(move |_| if takes_part.get() { part.cut(span) } else { Ok(Cut::default()) });
    let options = Signal::derive(move || {
        let cut = cut.get().unwrap_or_default();
        tab.with_notes(ShareOptions { cut, redact: classes.get(), ..ShareOptions::default() })
    });
    let export = move || {
        if cut.with_untracked(Result::is_err) {
            return;
        }
        let id = chosen.get_untracked();
        let exporter = known.with_value(|all| all.iter().find(|exporter| exporter.id == id).cloned());
        if let Some(exporter) = exporter {
            tab.export_with(exporter, options.get_untracked());
            tab.share.set(None);
        }
    };
    view! {
        <p>{words().sharing.file_about}</p>
        <fieldset>
            <label>
                <span>{words().sharing.file_format}</span>
                <select on:change:target=move |event| chosen.set(event.target().value())>
                    {exporters
                        .into_iter()
                        .map(|exporter| {
                            let id = exporter.id.clone();
                            view! {
                                <option value=exporter.id selected=move || chosen.with(|chosen| *chosen == id)>
                                    {exporter.title}
                                </option>
                            }
                        })
                        .collect_view()}
                </select>
            </label>
        </fieldset>
        <Show when=move || takes_part.get()>
            {span.map(|span| view! { <PartFields part cut span with_depth=true /> })}
        </Show>
        <Redaction tab exporter=chosen options classes />
        <div class="actions">
            <button type="button" class="button button-main" disabled=move || cut.with(Result::is_err) on:click=move |_| export()>
                {words().sharing.file_export}
            </button>
        </div>
    }
}

/// Whether what was handed on has the SHA-256 of its files with it.
fn files_have_digests(document: &DocumentView) -> bool {
    let files = document.link.as_ref().map(|link| &link.files);
    let files = files.or(document.sent.as_ref().map(|sent| &sent.files));
    files.is_some_and(|files| !files.is_empty() && files.iter().all(|file| file.sha256.is_some()))
}

/// What writes a Tracedrop file, and what writes an index: where there is one it may go along.
const TRACEDROP_FILE: &str = "tracedrop";
const INDEX: &str = "index";

/// A Tracedrop file that was written, without or with what was read.
#[derive(Clone, Default)]
struct Written {
    packed: [Option<Packed>; 2],
    failed: Option<String>,
}

/// Report, notes and view as one file, with or without all that was read.
#[component]
fn AsTracedropFile(tab: Tab, document: Memo<Option<Arc<DocumentView>>>) -> impl IntoView {
    let (can_index, is_large) = document.with_untracked(|document| {
        document.as_ref().map_or((false, false), |document| {
            let has_index = document.exporters.iter().any(|exporter| exporter.id == INDEX);
            (has_index, document.file.bytes > LARGE_BYTES)
        })
    });
    let wants_all = RwSignal::new(false);
    let classes = RwSignal::new(Classes::default());
    let takes_out = Memo::new(move |_| !classes.get().is_none());
    let with_all = Memo::new(move |_| can_index && wants_all.get() && !takes_out.get());
    let digests = Digests::of(tab, document);
    let written = RwSignal::new(Written::default());
    let blobs: [Local<Option<Blob>>; 2] = [StoredValue::new_local(None), StoredValue::new_local(None)];
    let turn = StoredValue::new(0u32);
    let options_with = move |with_index: bool, files: Vec<LinkedFile>| {
        let link = LinkOptions {
            report: tab.report.get_untracked(),
            tables: tab.looks.get_untracked(),
            ..of_files(tab, files)
        };
        tab.with_notes(ShareOptions { link, redact: classes.get(), with_index, ..ShareOptions::default() })
    };
    let pack = move |with_index: bool, options: ShareOptions, this_turn: u32| {
        let at = usize::from(with_index);
        tab.ask(
            |ticket| Request::Share { ticket, exporter: TRACEDROP_FILE.to_string(), options },
            move |answer| match answer {
                _ if turn.try_get_value() != Some(this_turn) => {}
                Answer::Exported { file_name, bytes, left_out, blob } => {
                    blobs[at].set_value(Some(blob));
                    written
                        .update(|written| written.packed[at] = Some(Packed { file_name, bytes, left_out }));
                }
                Answer::Refused(failure) => {
                    let text = (words().export.refused)(&failure.what, &failure.hint);
                    written.update(|written| written.failed = Some(text));
                }
                _ => {}
            },
        );
    };
    // Both are written at once, so that it is known how large they are; of a large one only what is asked for.
    Effect::new(move |_| {
        let files = digests.with_value(Digests::known);
        let (takes_out, wants_all) = (takes_out.get(), is_large && wants_all.get());
        let this_turn = turn.get_value() + 1;
        turn.set_value(this_turn);
        written.set(Written::default());
        let Some(files) = files else { return };
        pack(false, options_with(false, files.clone()), this_turn);
        if can_index && !takes_out && (wants_all || !is_large) {
            pack(true, options_with(true, files), this_turn);
        }
    });
    let options = Signal::derive(move || {
        options_with(with_all.get(), digests.with_value(Digests::known).unwrap_or_default())
    });
    let save = move |packed: &Packed| {
        // Redacted notes are not saved.
        if !takes_out.get_untracked() {
            tab.mark_saved(&tab.notes.get_untracked());
        }
        if let Some(blob) = blobs[usize::from(with_all.get_untracked())].get_value() {
            browser::download(&packed.file_name, &blob);
            let name = text::visible(&packed.file_name);
            tab.app.say((words().export.exported)(&name, packed.bytes, &packed.left_out));
            tab.share.set(None);
        }
    };
    let all_label =
        move || (words().sharing.everything)(written.with(|it| it.packed[1].as_ref().map(|it| it.bytes)));
    view! {
        <p>{words().sharing.hand_on_about}</p>
        {can_index
            .then(|| {
                view! {
                    <fieldset>
                        <label>
                            <input
                                type="checkbox"
                                prop:checked=move || with_all.get()
                                disabled=move || takes_out.get()
                                on:change:target=move |event| wants_all.set(event.target().checked())
                            />
                            <span>{all_label}</span>
                        </label>
                    </fieldset>
                    <p class="hint">
                        {move || match takes_out.get() {
                            true => words().sharing.everything_not,
                            false => words().sharing.everything_about,
                        }}
                    </p>
                }
            })}
        <Redaction tab exporter=TRACEDROP_FILE.to_string() options classes />
        <div class="share-state" role="status">
            {move || {
                let Written { packed, failed } = written.get();
                let [without, with] = packed;
                match (if with_all.get() { with } else { without }, failed) {
                    (Some(packed), _) => {
                        let name = text::visible(&packed.file_name);
                        let n_notes = tab.notes.with(|notes| notes.list.len() as u64);
                        view! {
                            <p>{(words().sharing.hand_on_ready)(&name, packed.bytes, n_notes)}</p>
                            <div class="actions">
                                <button type="button" class="button button-main" on:click=move |_| save(&packed)>
                                    {words().sharing.hand_on_save}
                                </button>
                            </div>
                        }
                            .into_any()
                    }
                    (None, Some(text)) => {
                        view! { <p class="wrong"><Icon shape=Shape::Alert />" "{text}</p> }.into_any()
                    }
                    (None, None) => view! { <p>{(words().sharing.packing)(0)}</p> }.into_any(),
                }
            }}
        </div>
    }
}
