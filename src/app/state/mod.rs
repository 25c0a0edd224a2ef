//! State of the page, in three: what one looks at ([`ViewState`], changed by [`App::act`]), the worker of each tab and how far it is
//! ([`TabRuntime`]), and what all tabs share ([`AppServices`]). Besides these a tab has its document and its notes.
//!
//! One signal per fact. Everything else is derived where it is shown.

mod exports;
mod inspected;
mod lost_files;
mod runtime;
mod services;
mod source;
mod tabs;
mod timeline;
mod toasts;
mod view;
mod wanted;

pub use exports::Exporting;
pub use inspected::Inspected;
pub use lost_files::LostFile;
pub use runtime::{Phase, Reading, TabRuntime};
pub use services::AppServices;
pub use source::{Shows, Source};
pub use timeline::{TimelineState, earlier_ns, has_place, row_times};
pub use toasts::{Tip, Toast};

use super::annotations::Writing;
use super::browser::{self, Half, Local, Ranges, Theme};
use super::custom_rules::CustomRules;
use super::embed::{self, Embed};
use super::link_matching::LinkMatch;
use super::screens::Way;
use super::view_state::{Log, TabView, ViewState};
use super::words::words;
use crate::app::erased::memo;
use leptos::prelude::*;
use std::sync::Arc;
use tabs::Closed;
use tracedrop::analysis::Query;
use tracedrop::base::text;
use tracedrop::engine::protocol::{DocumentView, FlameView, FormatView, Request, TableSpot};
use tracedrop::report::{Notes, RowsOf};
use wanted::Wanted;

/// Selector of the heading of the report that shows.
const SHOWN_REPORT: &str = "[role=tabpanel]:not([hidden]) .report:not([hidden]) h2";
/// Selector of the selected tab.
const SHOWN_TAB: &str = "[role=tab][aria-selected=true]";

/// Delay of reading the list of cached files after the page has opened.
const RECENT_FILES_AFTER_MS: u32 = 300;

/// Tables with up to this many rows are shown in full and have no filter.
pub const FULL_ROWS: u64 = 20;

/// The whole page.
#[derive(Clone, Copy)]
pub struct App {
    pub tabs: RwSignal<Vec<Tab>>,
    /// What one looks at; [`App::act`] changes it.
    pub view: RwSignal<ViewState>,
    log: StoredValue<Log>,
    /// The visible tab; `None` for the start screen.
    pub active: Memo<Option<u32>>,
    /// Supported formats, once a worker has listed them.
    pub formats: RwSignal<Vec<FormatView>>,
    pub theme: RwSignal<Theme>,
    /// The half of the window over which files are dragged.
    pub hover: RwSignal<Option<Half>>,
    /// Whether the dialog of shortcuts is open.
    pub keys: RwSignal<bool>,
    /// The search over everything is open.
    pub search: Memo<bool>,
    /// A tab to close that has unsaved notes: a dialog asks first.
    pub closing: RwSignal<Option<Tab>>,
    /// Whether the privacy screen is shown instead of the start screen.
    pub privacy: Memo<bool>,
    /// State of an embedded page; `None` for a standalone page.
    pub embed: Option<Embed>,
    pub toasts: RwSignal<Vec<Toast>>,
    pub tip: RwSignal<Option<Tip>>,
    pub services: AppServices,
    /// Tabs to compare, A and B, once both are parsed.
    pub to_compare: StoredValue<Vec<[u32; 2]>>,
    /// A trace that the user was asked for.
    wanted: StoredValue<Option<Wanted>>,
    /// Files that were open before the page was loaded anew.
    pub lost_files: RwSignal<Vec<LostFile>>,
    /// Tabs that were closed, the last one last.
    closed: Local<Vec<Closed>>,
    next_id: StoredValue<u32>,
    /// Signals of tabs belong to the page, not to the click that opened them. Large values are dropped when the tab is
    /// closed; the few bytes of its signals stay until the page is left, so that late callbacks find them.
    owner: StoredValue<Owner>,
}

/// An open file, or several combined.
#[derive(Clone, Copy)]
pub struct Tab {
    pub id: u32,
    /// As shown: control characters visible.
    pub name: RwSignal<String>,
    pub run: TabRuntime,
    pub document: RwSignal<Option<Arc<DocumentView>>>,
    /// Number of failed requests to rebuild the reports, which are then unchanged.
    pub n_refused: RwSignal<u32>,
    /// `id` of the visible report; `None` for the first one.
    pub report: Memo<Option<String>>,
    /// See [`crate::app::view_state::TabView::file`].
    pub file: Memo<Option<String>>,
    /// Rows that are led to; their table scrolls there and takes the value.
    pub led_to: RwSignal<Option<RowsOf>>,
    /// Text of a finding to show.
    pub led_to_finding: RwSignal<Option<String>>,
    /// `id` of the format to parse it as, if not detected.
    format: StoredValue<Option<&'static str>>,
    /// Time range to keep when it is parsed, in nanoseconds from its start; `None` for all.
    only: StoredValue<Option<(i64, i64)>>,
    /// Address ranges from a file.
    pub ranges: RwSignal<Option<Ranges>>,
    /// Kind of the open share dialog.
    pub share: RwSignal<Option<Way>>,
    /// Time range to open in Perfetto, in nanoseconds from the start of the trace.
    pub window: StoredValue<Option<(i64, i64)>>,
    /// Notes and title.
    pub notes: RwSignal<Notes>,
    /// Notes and title that are saved: in the file or link they came from, or in an export.
    pub saved_notes: RwSignal<Notes>,
    /// Content of the note dialog while it is open.
    pub writing: RwSignal<Option<Writing>>,
    /// Whether that dialog has unsaved changes.
    pub half_written: RwSignal<bool>,
    /// Report and tables as a sender saw them, which the address of a link stands for.
    pub as_sent: StoredValue<Option<(Option<String>, Vec<TableSpot>)>>,
    /// What is asked of it when it is read first, where it was closed and reopened.
    asked: StoredValue<Option<Query>>,
    /// It was closed and reopened, so it is looked at as it was left.
    is_reopened: StoredValue<bool>,
    /// Current order and filters of tables, as far as they differ from the default.
    pub looks: Memo<Vec<TableSpot>>,
    /// What is typed into tables of one's own, and not applied yet.
    pub drafts: StoredValue<Vec<(CustomRules, String)>>,
    /// Link that the file may belong to, until its SHA-256 is known.
    pub link_match: StoredValue<Option<LinkMatch>>,
    /// Whether a link may belong to this comparison, pending the SHA-256 of A and B.
    pub awaits_digests: StoredValue<bool>,
    /// SHA-256 of each parsed file, hexadecimal, in the order of the document, once known.
    pub digests: RwSignal<Option<Vec<Option<String>>>>,
    /// Tabs opened together with this one that are not all parsed yet, including this one.
    pub batch: StoredValue<Vec<u32>>,
    /// Tabs whose files can be combined with this one's, including this one.
    pub fellows: RwSignal<Vec<u32>>,
    /// Scroll position from when the tab was last left.
    pub top_px: StoredValue<f64>,
    /// The timeline as one looks at it.
    pub timeline: TimelineState,
    /// The row that is looked at closely, where the window has room for it.
    pub inspected: RwSignal<Option<Arc<Inspected>>>,
    /// The flame graph that the worker sent last.
    pub flame: RwSignal<Option<Arc<FlameView>>>,
    pub app: App,
    pub source: Local<Option<Source>>,
}

impl App {
    pub fn new() -> App {
        let asked = browser::asked();
        let view = RwSignal::new(ViewState::default());
        App {
            tabs: RwSignal::default(),
            view,
            log: StoredValue::default(),
            active: memo(move || view.with(|view| view.active)),
            formats: RwSignal::default(),
            theme: RwSignal::new(asked.as_ref().map_or_else(browser::stored_theme, embed::theme_of)),
            hover: RwSignal::new(None),
            keys: RwSignal::new(false),
            search: memo(move || view.with(|view| view.search.is_some())),
            closing: RwSignal::new(None),
            privacy: memo(move || view.with(|view| view.is_privacy)),
            embed: asked.map(Embed::new),
            toasts: RwSignal::default(),
            tip: RwSignal::new(None),
            services: AppServices::new(),
            to_compare: StoredValue::default(),
            wanted: StoredValue::default(),
            lost_files: RwSignal::new(LostFile::stored()),
            closed: StoredValue::new_local(Vec::new()),
            next_id: StoredValue::new(0),
            owner: StoredValue::new(Owner::current().unwrap_or_default()),
        }
    }

    fn id(self) -> u32 {
        let id = self.next_id.get_value() + 1;
        self.next_id.set_value(id);
        id
    }

    /// Shows the browser's dialog to choose files.
    pub fn choose_files(self) {
        browser::press("[data-key=o]");
    }

    /// Shows the browser's dialog to choose a folder.
    pub fn choose_folder(self) {
        browser::press("[data-key=f]");
    }

    pub fn tab(self, id: u32) -> Option<Tab> {
        self.tabs.with_untracked(|tabs| tabs.iter().find(|tab| tab.id == id).copied())
    }

    pub fn active_tab(self) -> Option<Tab> {
        self.active.get_untracked().and_then(|id| self.tab(id))
    }

    /// Opens files given at the start of the page, and those that the system passes later.
    pub fn open_what_came_along(self) {
        match browser::given_files() {
            Ok(files) if files.is_empty() => {}
            Ok(files) => self.open(files),
            Err(why) => self.alert((words().opening.not_given)(&why)),
        }
        browser::on_launch(move |files, n_lost| {
            if n_lost > 0 {
                self.alert((words().opening.not_launched)(n_lost as u64));
            }
            self.open(files);
        });
    }

    /// Removes the file with that key from the cache, or all files.
    pub fn forget(self, key: Option<String>) {
        let n_kept =
            self.services.recent_files.entries.with_untracked(|entries| entries.as_ref().map_or(0, Vec::len));
        self.say((words().start.forgotten)(if key.is_some() { 1 } else { n_kept }));
        match key {
            Some(key) => self.services.recent_files.forget(key),
            None => {
                self.services.recent_files.forget_all();
                self.lost_files.set(Vec::new());
                if self.tabs.with_untracked(Vec::is_empty) {
                    browser::remember_session(&[]);
                }
            }
        }
    }

    /// Switches caching on or off.
    pub fn set_keeps(self, keeps: bool) {
        if !keeps {
            self.tabs.with_untracked(|tabs| tabs.iter().for_each(|tab| tab.send(&Request::KeepNothing)));
        }
        self.services.recent_files.set_keeps(keeps);
    }

    pub fn choose_theme(self, theme: Theme) {
        self.theme.set(theme);
    }
}

impl Tab {
    fn new(app: App, source: Source) -> Tab {
        let (id, view) = (app.id(), app.view);
        Tab {
            id,
            name: RwSignal::new(text::visible(&source.name())),
            run: TabRuntime::new(),
            document: RwSignal::new(None),
            n_refused: RwSignal::default(),
            report: memo(move || view.with(|view| view.tab(id).and_then(|tab| tab.report.clone()))),
            file: memo(move || view.with(|view| view.tab(id).and_then(|tab| tab.file.clone()))),
            led_to: RwSignal::new(None),
            led_to_finding: RwSignal::new(None),
            format: StoredValue::new(None),
            only: StoredValue::new(None),
            ranges: RwSignal::new(source.ranges()),
            share: RwSignal::new(None),
            window: StoredValue::new(None),
            notes: RwSignal::default(),
            saved_notes: RwSignal::default(),
            writing: RwSignal::new(None),
            half_written: RwSignal::new(false),
            as_sent: StoredValue::default(),
            asked: StoredValue::default(),
            is_reopened: StoredValue::new(false),
            looks: memo(move || view.with(|view| view.tab(id).map(TabView::queries).unwrap_or_default())),
            drafts: StoredValue::default(),
            link_match: StoredValue::default(),
            awaits_digests: StoredValue::default(),
            digests: RwSignal::new(None),
            batch: StoredValue::default(),
            fellows: RwSignal::default(),
            top_px: StoredValue::new(0.0),
            timeline: TimelineState::new(),
            inspected: RwSignal::new(None),
            flame: RwSignal::new(None),
            app,
            source: StoredValue::new_local(Some(source)),
        }
    }

    /// Its title, else its name.
    pub fn title(self) -> String {
        let title = self.notes.with(|notes| text::visible(&notes.title));
        if title.is_empty() { self.name.get() } else { title }
    }

    /// Label of the tab, with a number if an earlier tab has the same name.
    pub fn label(self) -> String {
        let name = self.name.get();
        if self.notes.with(|notes| !notes.title.is_empty()) {
            return self.title();
        }
        let earlier = self.app.tabs.with(|tabs| {
            tabs.iter()
                .take_while(|tab| tab.id != self.id)
                .filter(|tab| tab.name.with(|other| *other == name))
                .count()
        });
        if earlier == 0 { name } else { (words().header.numbered)(&name, earlier + 1) }
    }

    fn drop_contents(self) {
        self.let_helpers_go();
        self.run.client.set_value(None);
        self.run.waiting.set_value(Vec::new());
        self.source.set_value(None);
        self.document.set(None);
    }
}

/// The page's state, from any component.
pub fn app() -> App {
    expect_context::<App>()
}
