//! State of the page: one signal per fact. Everything else is derived where it is shown.

use super::annotations::Writing;
use super::archives::Work;
use super::browser::{self, Half, Local, Picked, Port, Ranges, Spot, Theme};
use super::client::{Answer, Client, Event};
use super::compare_tabs::Sides;
use super::embed::{self, Embed};
use super::helper_pool::{Helper, HelperPool};
use super::link_matching::LinkMatch;
use super::recent_files::RecentFiles;
use super::rest::{Rest, Waiting};
use super::screens::Way;
use super::words::words;
use crate::app::custom_rules::{CustomRules, first_query};
use leptos::prelude::*;
use std::rc::Rc;
use std::sync::Arc;
use tracedrop::analysis::Query;
use tracedrop::base::pace::Pace;
use tracedrop::base::text;
use tracedrop::engine::protocol::{
    BlockView, DocumentView, ExporterView, Failure, FormatView, Keep, KeptView, NamedFile, OpenFile,
    Progress, Request, ShareOptions, TableSpot,
};
use tracedrop::report::view::TableQuery;
use tracedrop::report::{Notes, RowsOf};

/// Selector of the heading of the report that shows.
const SHOWN_REPORT: &str = "[role=tabpanel]:not([hidden]) .report:not([hidden]) h2";
/// Selector of the selected tab.
const SHOWN_TAB: &str = "[role=tab][aria-selected=true]";

/// Toasts disappear after this time; errors stay longer.
const TOAST_MS: u64 = 5_000;
const ALERT_MS: u64 = 12_000;

/// Time after which the same button discards a tab that is stopping.
const SURELY_MS: f64 = 1_500.0;

/// Delay of reading the list of cached files after the page has opened.
const RECENT_FILES_AFTER_MS: u64 = 300;

/// Tables with up to this many rows are shown in full and have no filter.
pub const FULL_ROWS: u64 = 20;

/// Closed tabs that can be opened again.
const MAX_CLOSED: usize = 10;

/// Smaller files are parsed without helpers.
const MIN_HELPED_BYTES: f64 = 1e6;

/// Parsing smaller files is as fast as opening them from an index.
const MIN_KEPT_BYTES: f64 = 4e6;

/// The whole page.
#[derive(Clone, Copy)]
pub struct App {
    pub tabs: RwSignal<Vec<Tab>>,
    /// The visible tab; `None` for the start screen.
    pub active: RwSignal<Option<u32>>,
    /// Supported formats, once a worker has listed them.
    pub formats: RwSignal<Vec<FormatView>>,
    pub theme: RwSignal<Theme>,
    /// The half of the window over which files are dragged.
    pub hover: RwSignal<Option<Half>>,
    /// Whether the dialog of shortcuts is open.
    pub keys: RwSignal<bool>,
    /// The search over everything is open.
    pub search: RwSignal<bool>,
    /// A tab to close that has unsaved notes: a dialog asks first.
    pub closing: RwSignal<Option<Tab>>,
    /// Whether the privacy screen is shown instead of the start screen.
    pub privacy: RwSignal<bool>,
    /// State of an embedded page; `None` for a standalone page.
    pub embed: Option<Embed>,
    pub toasts: RwSignal<Vec<Toast>>,
    pub tip: RwSignal<Option<Tip>>,
    /// Cached files.
    pub recent_files: RecentFiles,
    /// Started with the page to list the formats; parses the first file.
    spare: Local<Option<Client>>,
    /// Workers that help with large files.
    helper_pool: Local<HelperPool>,
    /// Worker that opens archives.
    pub unpacker: Local<Option<Client>>,
    /// Number of archives it is working on.
    pub n_unpacking: StoredValue<u32>,
    /// Continuations for when those archives are opened or have failed.
    pub unpacking: Local<Vec<Work>>,
    /// Tabs to compare, A and B, once both are parsed.
    pub to_compare: StoredValue<Vec<[u32; 2]>>,
    /// Names of the files that were open before the page was loaded anew.
    pub lost_files: RwSignal<Vec<String>>,
    /// Tabs that were closed, the last one last.
    closed: Local<Vec<Closed>>,
    next_id: StoredValue<u32>,
    /// Signals of tabs belong to the page, not to the click that opened them. Large values are dropped when the tab is
    /// closed; the few bytes of its signals stay until the page is left, so that late callbacks find them.
    owner: StoredValue<Owner>,
}

/// A tab that was closed.
pub struct Closed {
    id: u32,
    source: Source,
    query: Option<Query>,
    ranges: Option<Ranges>,
    columns: Vec<(String, String, Vec<String>)>,
    drafts: Vec<(CustomRules, String)>,
    format: Option<&'static str>,
    only: Option<(i64, i64)>,
    report: Option<String>,
    looks: Vec<TableSpot>,
    notes: Notes,
}

/// A short message at the edge of the page.
#[derive(Clone)]
pub struct Toast {
    pub id: u32,
    pub text: String,
    pub alert: bool,
    /// The closed tab that it offers to reopen, by id.
    pub reopens: Option<u32>,
}

/// An explanation next to the element with the focus or the pointer.
#[derive(Clone, PartialEq, Debug)]
pub struct Tip {
    pub text: String,
    pub at: Spot,
}

/// State of a tab.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Parsed when first shown: meanwhile the file is parsed as part of a run.
    Waiting,
    Reading,
    /// Asked to stop; the report on what was parsed is pending.
    Stopping,
    Done,
    /// The file has nothing to show.
    Failed(Failure),
    /// The worker crashed, with the browser's message.
    Died(String),
}

/// Parsing progress with its timing.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reading {
    pub progress: Progress,
    pub bytes_per_second: Option<f64>,
    pub seconds_left: Option<f64>,
}

/// Pace of parsing, in bytes, and of building reports, in percent.
#[derive(Clone, Default)]
struct Paces {
    reading: Pace,
    making: Pace,
}

/// An export that is being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exporting {
    pub title: String,
    pub bytes: u64,
}

/// Kind of a tab, for its labels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shows {
    File,
    Files,
    Comparison,
    Link,
}

/// Source of a tab.
#[derive(Clone)]
pub enum Source {
    File(Picked),
    /// Several files as one run, in this order.
    Together(Vec<Picked>),
    /// A cached index, without its file.
    Kept(KeptView),
    /// A comparison of two other tabs.
    Sides(Sides),
    /// The fragment of a link.
    Link(String),
}

impl Source {
    fn name(&self) -> String {
        match self {
            Source::File(file) => file.name.clone(),
            Source::Together(files) => super::file_groups::name(files),
            Source::Kept(entry) => entry.file_name.clone(),
            Source::Sides(sides) => sides.name(),
            Source::Link(_) => words().sharing.link.to_string(),
        }
    }

    /// Address ranges opened with it.
    fn ranges(&self) -> Option<Ranges> {
        match self {
            Source::File(file) => file.ranges.clone(),
            Source::Together(files) => files.iter().find_map(|file| file.ranges.clone()),
            Source::Kept(_) | Source::Sides(_) | Source::Link(_) => None,
        }
    }

    fn file_bytes(&self) -> u64 {
        match self {
            Source::File(file) => file.blob.size() as u64,
            Source::Together(files) => files.iter().map(|file| file.blob.size() as u64).sum(),
            Source::Kept(entry) => entry.file_bytes,
            Source::Sides(sides) => sides.n_bytes(),
            Source::Link(_) => 0,
        }
    }
}

/// An open file, or several combined.
#[derive(Clone, Copy)]
pub struct Tab {
    pub id: u32,
    /// As shown: control characters visible.
    pub name: RwSignal<String>,
    pub phase: RwSignal<Phase>,
    pub reading: RwSignal<Reading>,
    /// Percentage of the reports that are rebuilt after a change of settings, if that takes a while.
    pub made_again: RwSignal<Option<u8>>,
    pub document: RwSignal<Option<Arc<DocumentView>>>,
    /// Number of failed requests to rebuild the reports, which are then unchanged.
    pub n_refused: RwSignal<u32>,
    /// `id` of the visible report; `None` for the first one.
    pub report: RwSignal<Option<String>>,
    /// Rows to navigate to; their table takes the value.
    pub led_to: RwSignal<Option<RowsOf>>,
    /// `id` of the format to parse it as, if not detected.
    format: StoredValue<Option<&'static str>>,
    /// Time range to keep when it is parsed, in nanoseconds from its start; `None` for all.
    only: StoredValue<Option<(i64, i64)>>,
    /// Address ranges from a file.
    pub ranges: RwSignal<Option<Ranges>>,
    pub exporting: RwSignal<Option<Exporting>>,
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
    pub looks: RwSignal<Vec<TableSpot>>,
    /// Ids of the columns that are chosen, by report and table.
    pub columns: StoredValue<Vec<(String, String, Vec<String>)>>,
    /// What is typed into tables of one's own, and not applied yet.
    pub drafts: StoredValue<Vec<(CustomRules, String)>>,
    /// Incremented when Back or Forward leads to other looks.
    pub gone_to: RwSignal<u32>,
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
    pub app: App,
    pace: StoredValue<Paces>,
    /// Time of the user's stop request.
    pub stopped_ms: StoredValue<f64>,
    /// Time when it was last shown.
    pub seen_ms: StoredValue<f64>,
    pub source: Local<Option<Source>>,
    pub client: Local<Option<Client>>,
    pub rest: StoredValue<Rest>,
    /// Requests queued until the worker is back.
    pub waiting: Local<Vec<Waiting>>,
    /// Helpers of this tab's worker.
    helpers: Local<Vec<Helper>>,
}

impl App {
    pub fn new() -> App {
        let asked = browser::asked();
        App {
            tabs: RwSignal::default(),
            active: RwSignal::new(None),
            formats: RwSignal::default(),
            theme: RwSignal::new(asked.as_ref().map_or_else(browser::stored_theme, embed::theme_of)),
            hover: RwSignal::new(None),
            keys: RwSignal::new(false),
            search: RwSignal::new(false),
            closing: RwSignal::new(None),
            privacy: RwSignal::new(false),
            embed: asked.map(Embed::new),
            toasts: RwSignal::default(),
            tip: RwSignal::new(None),
            recent_files: RecentFiles::new(),
            spare: StoredValue::new_local(None),
            helper_pool: StoredValue::new_local(HelperPool::default()),
            unpacker: StoredValue::new_local(None),
            n_unpacking: StoredValue::new(0),
            unpacking: StoredValue::new_local(Vec::new()),
            to_compare: StoredValue::default(),
            lost_files: RwSignal::new(browser::session_names()),
            closed: StoredValue::new_local(Vec::new()),
            next_id: StoredValue::new(0),
            owner: StoredValue::new(Owner::current().unwrap_or_default()),
        }
    }

    /// Starts a worker before there is a file, to list the formats.
    pub fn warm_up(self) {
        let client = Client::start(move |event| {
            if let Event::Ready { formats } = event {
                self.formats.set(formats);
            }
        });
        self.spare.set_value(client.ok());
        self.helper_pool.update_value(HelperPool::start);
        // The list of cached files can wait until everything else is ready.
        if self.embed.is_none() {
            browser::after(RECENT_FILES_AFTER_MS, move || self.recent_files.follow());
        }
    }

    /// Prepares helpers before a file is chosen or dropped.
    pub fn expect_file(self) {
        self.helper_pool.update_value(HelperPool::expect_file);
    }

    fn id(self) -> u32 {
        let id = self.next_id.get_value() + 1;
        self.next_id.set_value(id);
        id
    }

    /// Opens a file from its index, without the file.
    pub fn open_kept(self, entry: KeptView) {
        self.open_tab(Source::Kept(entry));
    }

    /// Opens a tab, shows it and parses its source.
    pub fn open_tab(self, source: Source) -> Tab {
        let tab = self.add_tab(source);
        self.show(Some(tab.id));
        tab
    }

    /// Adds a tab that parses its source when shown.
    pub fn add_tab(self, source: Source) -> Tab {
        let tab = self.owner.with_value(|owner| owner.with(|| Tab::new(self, source)));
        self.tabs.update(|tabs| tabs.push(tab));
        tab
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

    /// Shows a tab, or the start screen, as it was left.
    pub fn show(self, id: Option<u32>) {
        if let Some(tab) = self.active_tab() {
            tab.top_px.set_value(browser::window_top());
            tab.seen_ms.set_value(browser::now_ms());
        }
        self.tip.set(None);
        self.privacy.set(false);
        if self.active.get_untracked() != id {
            self.active.set(id);
            let top = id.and_then(|id| self.tab(id)).map_or(0.0, |tab| tab.top_px.get_value());
            browser::after(0, move || {
                browser::catch_focus(&[SHOWN_TAB, ".brand"]);
                browser::scroll_window_to(top);
            });
        }
        if let Some(tab) = self.active_tab().filter(|tab| tab.phase.get_untracked() == Phase::Waiting) {
            tab.start();
        }
    }

    /// Shows the privacy screen.
    pub fn show_privacy(self) {
        self.show(None);
        self.privacy.set(true);
        browser::after(0, || {
            browser::scroll_window_to(0.0);
            browser::focus_first("#main");
        });
    }

    /// Opens files given at the start of the page, and those that the system passes later.
    pub fn open_what_came_along(self) {
        match browser::given_files() {
            Ok(files) if files.is_empty() => {}
            Ok(files) => self.open(files),
            Err(why) => self.alert((words().not_given)(&why)),
        }
        browser::on_launch(move |files, n_lost| {
            if n_lost > 0 {
                self.alert((words().not_launched)(n_lost as u64));
            }
            self.open(files);
        });
    }

    /// Shows the tab at a place of the strip.
    pub fn show_at(self, at: usize) -> bool {
        let id = self.tabs.with_untracked(|tabs| tabs.get(at).map(|tab| tab.id));
        if id.is_some() {
            self.show(id);
        }
        id.is_some()
    }

    /// Shows the tab `step` places further, wrapping around.
    pub fn step(self, step: isize) -> bool {
        let n_tabs = self.tabs.with_untracked(Vec::len);
        if n_tabs == 0 {
            return false;
        }
        let at = self.place(self.active.get_untracked());
        let to = match at {
            Some(at) => (at as isize + step).rem_euclid(n_tabs as isize) as usize,
            None if step < 0 => n_tabs - 1,
            None => 0,
        };
        self.show_at(to)
    }

    fn place(self, id: Option<u32>) -> Option<usize> {
        self.tabs.with_untracked(|tabs| tabs.iter().position(|tab| Some(tab.id) == id))
    }

    /// Closes a tab; asks first if notes would be lost with it.
    pub fn close(self, id: u32) {
        match self.tab(id).filter(|tab| tab.would_lose_notes()) {
            Some(tab) => self.closing.set(Some(tab)),
            None => self.close_unasked(id),
        }
    }

    /// Closes a tab without asking.
    pub fn close_unasked(self, id: u32) {
        let Some(at) = self.place(Some(id)) else { return };
        let tab = self.tabs.with_untracked(|tabs| tabs[at]);
        if self.active.get_untracked() == Some(id) {
            let next = self.tabs.with_untracked(|tabs| {
                tabs.get(at + 1)
                    .or_else(|| at.checked_sub(1).and_then(|before| tabs.get(before)))
                    .map(|tab| tab.id)
            });
            self.show(next);
        }
        self.tabs.update(|tabs| tabs.retain(|tab| tab.id != id));
        self.remember_closed(tab);
        tab.drop_contents();
        self.settled(tab);
    }

    /// Keeps what it takes to open a tab again, and offers to.
    fn remember_closed(self, tab: Tab) {
        // A comparison needs the tabs of its sides, which may be closed next.
        let source = tab.source.get_value().filter(|source| !matches!(source, Source::Sides(_)));
        let Some(source) = source.filter(|_| self.embed.is_none()) else { return };
        let id = tab.id;
        let closed = Closed {
            id,
            source,
            query: tab.document.with_untracked(|document| Some(document.as_ref()?.query.clone())),
            ranges: tab.ranges.get_untracked(),
            columns: tab.columns.get_value(),
            drafts: tab.drafts.get_value(),
            format: tab.format.get_value(),
            only: tab.only.get_value(),
            report: tab.report.get_untracked(),
            looks: tab.looks.get_untracked(),
            notes: tab.notes.get_untracked(),
        };
        self.closed.update_value(|list| {
            list.push(closed);
            if list.len() > MAX_CLOSED {
                list.remove(0);
            }
        });
        self.toast((words().tab_closed)(&tab.name.get_untracked()), false, Some(id));
    }

    /// Opens a closed tab again as it was left: the one that had this id, else the one closed last.
    pub fn reopen(self, id: Option<u32>) {
        let closed = self.closed.try_update_value(|list| {
            let at = match id {
                Some(id) => list.iter().position(|closed| closed.id == id),
                None => list.len().checked_sub(1),
            };
            at.map(|at| list.remove(at))
        });
        let Some(Closed {
            source, query, ranges, columns, drafts, format, only, report, looks, notes, ..
        }) = closed.flatten()
        else {
            return;
        };
        let tab = self.add_tab(source);
        tab.format.set_value(format);
        tab.only.set_value(only);
        tab.asked.set_value(query);
        tab.ranges.set(ranges);
        tab.columns.set_value(columns);
        tab.drafts.set_value(drafts);
        tab.report.set(report);
        tab.looks.set(looks);
        tab.notes.set(notes);
        tab.is_reopened.set_value(true);
        self.show(Some(tab.id));
    }

    /// Continues what waited for a tab to be parsed or to fail.
    fn settled(self, tab: Tab) {
        self.look_at_batch(tab);
        self.compare_what_is_read();
        self.let_idle_rest();
    }

    pub fn say(self, text: String) {
        self.toast(text, false, None);
    }

    pub fn alert(self, text: String) {
        self.toast(text, true, None);
    }

    fn toast(self, text: String, alert: bool, reopens: Option<u32>) {
        let id = self.id();
        self.toasts.update(|toasts| {
            // Show the same message only once.
            toasts.retain(|toast| toast.text != text);
            toasts.push(Toast { id, text, alert, reopens });
        });
        browser::after(if alert { ALERT_MS } else { TOAST_MS }, move || self.dismiss(id));
    }

    pub fn dismiss(self, id: u32) {
        self.toasts.update(|toasts| toasts.retain(|toast| toast.id != id));
    }

    /// Removes the file with that key from the cache, or all files.
    pub fn forget(self, key: Option<String>) {
        let n_kept = self.recent_files.entries.with_untracked(|entries| entries.as_ref().map_or(0, Vec::len));
        self.say((words().forgotten)(if key.is_some() { 1 } else { n_kept }));
        match key {
            Some(key) => self.recent_files.forget(key),
            None => self.recent_files.forget_all(),
        }
    }

    /// Switches caching on or off.
    pub fn set_keeps(self, keeps: bool) {
        if !keeps {
            self.tabs.with_untracked(|tabs| tabs.iter().for_each(|tab| tab.send(&Request::KeepNothing)));
        }
        self.recent_files.set_keeps(keeps);
    }

    pub fn choose_theme(self, theme: Theme) {
        self.theme.set(theme);
    }
}

impl Tab {
    fn new(app: App, source: Source) -> Tab {
        Tab {
            id: app.id(),
            name: RwSignal::new(text::visible(&source.name())),
            phase: RwSignal::new(Phase::Waiting),
            reading: RwSignal::default(),
            made_again: RwSignal::default(),
            document: RwSignal::new(None),
            n_refused: RwSignal::default(),
            report: RwSignal::new(None),
            led_to: RwSignal::new(None),
            format: StoredValue::new(None),
            only: StoredValue::new(None),
            ranges: RwSignal::new(source.ranges()),
            exporting: RwSignal::new(None),
            share: RwSignal::new(None),
            window: StoredValue::new(None),
            notes: RwSignal::default(),
            saved_notes: RwSignal::default(),
            writing: RwSignal::new(None),
            half_written: RwSignal::new(false),
            as_sent: StoredValue::default(),
            asked: StoredValue::default(),
            is_reopened: StoredValue::new(false),
            looks: RwSignal::default(),
            columns: StoredValue::default(),
            drafts: StoredValue::default(),
            gone_to: RwSignal::new(0),
            link_match: StoredValue::default(),
            awaits_digests: StoredValue::default(),
            digests: RwSignal::new(None),
            batch: StoredValue::default(),
            fellows: RwSignal::default(),
            top_px: StoredValue::new(0.0),
            app,
            pace: StoredValue::default(),
            stopped_ms: StoredValue::new(0.0),
            seen_ms: StoredValue::new(browser::now_ms()),
            source: StoredValue::new_local(Some(source)),
            client: StoredValue::new_local(None),
            rest: StoredValue::default(),
            waiting: StoredValue::new_local(Vec::new()),
            helpers: StoredValue::new_local(Vec::new()),
        }
    }

    /// Opens the file in a new worker: from its index if cached, else by parsing it.
    pub fn start(self) {
        self.start_with(false);
    }

    /// Parses the file again, as the format of that `id`; `None` to detect it.
    pub fn read_as(self, format: Option<&'static str>) {
        self.format.set_value(format);
        // Not inside a component that this removes.
        browser::after(0, move || self.read_again());
    }

    /// Parses the file from the beginning, ignoring the cache.
    pub fn read_again(self) {
        self.only.set_value(None);
        self.start_with(true);
    }

    /// Parses the file again and keeps only what overlaps a time range: first and last nanosecond from its start.
    pub fn read_only(self, from_ns: i64, to_ns: i64) {
        self.only.set_value(Some((from_ns, to_ns)));
        // Not inside a component that this removes.
        browser::after(0, move || self.start_with(true));
    }

    /// Whether it shows a cached index for a file of that name and size, without the file.
    pub fn misses(self, file: &Picked) -> bool {
        self.source.with_value(|source| match source {
            Some(Source::Kept(entry)) => {
                (entry.file_name.as_str(), entry.file_bytes) == (file.name.as_str(), file.blob.size() as u64)
            }
            _ => false,
        })
    }

    /// Adds the file to a tab opened from its index, keeping the notes. Opens it from the index, or parses it if it differs.
    pub fn take_file(self, file: Picked) {
        self.source.set_value(Some(Source::File(file)));
        self.start();
        self.app.say((words().file_at_hand)(&self.name.get_untracked()));
    }

    /// Whether it shows a cached index, without the file.
    pub fn lacks_file(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::Kept(_))))
    }

    fn start_with(self, afresh: bool) {
        let Some(source) = self.source.with_value(Clone::clone) else { return };
        // Keep the query if it is parsed again.
        let asked = self.document.with_untracked(|document| Some(document.as_ref()?.query.clone()));
        let asked = asked.or_else(|| self.asked.try_update_value(Option::take).flatten());
        let query = asked.unwrap_or_else(|| match self.ranges.get_untracked() {
            Some(ranges) => CustomRules::MemoryRanges.put(first_query(), ranges.text),
            None => first_query(),
        });
        self.document.set(None);
        self.exporting.set(None);
        self.digests.set(None);
        self.pace.set_value(Paces::default());
        let progress = Progress { file_bytes: source.file_bytes(), ..Progress::default() };
        self.reading.set(Reading { progress, ..Reading::default() });
        self.phase.set(Phase::Reading);
        self.stopped_ms.set_value(0.0);
        self.rest.set_value(Rest::Awake);
        self.start_worker(source, query, afresh);
    }

    /// Starts a worker that opens the source.
    pub fn start_worker(self, source: Source, query: Query, afresh: bool) {
        // End the old worker before the new one takes memory.
        self.client.set_value(None);
        let spare = self.app.spare.try_update_value(Option::take).flatten().filter(|spare| !spare.is_dead());
        let client = match spare {
            Some(spare) => {
                spare.listen(move |event| self.hear(event));
                Ok(spare)
            }
            None => Client::start(move |event| self.hear(event)),
        };
        match client {
            Ok(client) => {
                match source {
                    Source::File(file) => self.open_file(&client, file, query, afresh),
                    Source::Together(files) => self.send_files(&client, files, None, query),
                    Source::Kept(entry) => client.send(&Request::OpenKept { key: entry.key, query }),
                    Source::Sides(sides) => client.send(&sides.request()),
                    Source::Link(fragment) => client.send(&Request::OpenLink { fragment }),
                }
                self.client.set_value(Some(client));
            }
            Err(why) => self.hear(Event::Died { why, was_idle: false }),
        }
    }

    fn open_file(self, client: &Client, file: Picked, query: Query, afresh: bool) {
        let keep = self.kept_as(&file).map(|modified_ms| Keep { modified_ms, afresh });
        self.send_files(client, vec![file], keep, query);
    }

    /// Modification time of a file whose index may be cached, in milliseconds since the Unix epoch.
    fn kept_as(self, file: &Picked) -> Option<u64> {
        let Picked { blob, modified_ms, beside, .. } = file;
        // An index would not contain the other files of the run.
        // An embedded page caches nothing: the content belongs to the host.
        let is_large = self.app.embed.is_none()
            && blob.size() >= MIN_KEPT_BYTES
            && beside.is_empty()
            && self.app.recent_files.keeps.get_untracked();
        // An index must not depend on settings.
        let is_usual = self.format.with_value(Option::is_none) && self.only.with_value(Option::is_none);
        modified_ms.filter(|_| is_large && is_usual)
    }

    /// Whether an index of its file may be cached.
    pub fn may_be_kept(self) -> bool {
        self.source.with_value(|source| match source {
            Some(Source::File(file)) => self.kept_as(file).is_some(),
            _ => false,
        })
    }

    /// Parses files one after the other, with the same helpers, and combines them.
    fn send_files(self, client: &Client, files: Vec<Picked>, keep: Option<Keep>, query: Query) {
        let is_large = files.iter().any(|file| file.blob.size() >= MIN_HELPED_BYTES);
        let ports = if is_large { self.take_helpers() } else { Vec::new() };
        let only = self.only.get_value().filter(|_| files.len() == 1);
        let (files, blobs) = as_sent(files, keep, self.format.get_value(), only);
        client.send_with(&Request::Open { files, query }, &blobs, ports);
    }

    /// Takes the idle helpers; returns ports to them.
    fn take_helpers(self) -> Vec<Port> {
        self.let_helpers_go();
        let helpers = self.app.helper_pool.try_update_value(HelperPool::take).unwrap_or_default();
        let ports = helpers.iter().enumerate().map_while(|(index, helper)| {
            helper.help(move || self.send(&Request::HelperLost { index: index as u32 }))
        });
        let ports = ports.collect();
        self.helpers.set_value(helpers);
        ports
    }

    /// Ends the helpers after parsing. New ones start before another file is opened.
    fn let_helpers_go(self) {
        let helpers = self.helpers.try_update_value(std::mem::take).unwrap_or_default();
        if !helpers.is_empty() {
            self.app.helper_pool.update_value(|pool| pool.dismiss(helpers));
        }
    }

    /// Size of the only file; `None` for anything else.
    pub fn file_bytes(self) -> Option<u64> {
        self.source.with_value(|source| match source {
            Some(Source::File(file)) => Some(file.blob.size() as u64),
            _ => None,
        })
    }

    /// Kind of the tab, for labels.
    pub fn shows(self) -> Shows {
        self.source.with_value(|source| match source {
            Some(Source::Together(_)) => Shows::Files,
            Some(Source::Sides(_)) => Shows::Comparison,
            Some(Source::Link(_)) => Shows::Link,
            Some(Source::File(_) | Source::Kept(_)) | None => Shows::File,
        })
    }

    /// Whether it combines several files.
    pub fn is_of_several(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::Together(_))))
    }

    pub fn send(self, request: &Request) {
        // Without a worker there is nothing to stop and nothing to cache.
        if matches!(request, Request::SetQuery(_) | Request::WantDigests)
            && self.keep_waiting(Waiting::Told(request.clone())).is_none()
        {
            return;
        }
        self.client.with_value(|client| {
            if let Some(client) = client {
                client.send(request);
            }
        });
    }

    fn hear(self, event: Event) {
        let is_read = match &event {
            Event::Document(document) => !document.partial,
            Event::Progress(progress) => progress.finishing,
            Event::Failed(_) | Event::Died { .. } => true,
            Event::Ready { .. } | Event::KeptChanged | Event::Digests(_) | Event::Stale(_) => false,
        };
        if is_read {
            self.let_helpers_go();
        }
        if !matches!(event, Event::Progress(_)) && self.made_again.with_untracked(Option::is_some) {
            self.made_again.set(None);
        }
        if self.rest.get_value() == Rest::Waking {
            match &event {
                // The visible document is complete already.
                Event::Document(document) if document.partial => return,
                Event::Failed(failure) => return self.stays_asleep(failure),
                Event::Died { .. } => {
                    let what = words().died_what.to_string();
                    let failure = Failure { code: String::new(), what, hint: String::new() };
                    return self.stays_asleep(&failure);
                }
                _ => {}
            }
        }
        match event {
            Event::Ready { formats } => self.app.formats.set(formats),
            Event::Progress(progress) if self.phase.get_untracked() == Phase::Done => {
                let Progress { file_bytes_read, file_bytes, .. } = progress;
                let is_waking = self.rest.get_value() == Rest::Waking && file_bytes > 0;
                let read_percent =
                    is_waking.then(|| (file_bytes_read as f64 / file_bytes as f64 * 100.0) as u8);
                self.made_again.set(progress.made_percent.or(read_percent));
            }
            Event::Progress(progress) => {
                let now = browser::now_ms();
                let mut pace = self.pace.get_value();
                // Without progress messages, the time for reports is unknown.
                let seconds_left = match (progress.finishing, progress.made_percent) {
                    (false, _) => {
                        pace.reading.note(now, progress.file_bytes_read);
                        pace.reading.seconds_left(progress.file_bytes)
                    }
                    (true, None) => None,
                    (true, Some(percent)) => {
                        pace.making.note(now, percent.into());
                        pace.making.seconds_left(100)
                    }
                };
                let bytes_per_second = pace.reading.per_second_of(progress.file_bytes);
                self.pace.set_value(pace);
                let reading = Reading { bytes_per_second, seconds_left, progress };
                self.reading.set(reading);
            }
            Event::Document(document) => {
                let is_whole = !document.partial;
                if is_whole {
                    if self.phase.get_untracked() == Phase::Stopping {
                        // The Stop button is gone.
                        browser::after(0, || browser::catch_focus(&[SHOWN_TAB]));
                    }
                    if let Some(name) = super::compare_tabs::name_of(&document)
                        .or_else(|| super::file_groups::name_of_fellows(&document))
                    {
                        self.name.set(name);
                    }
                    self.phase.set(Phase::Done);
                }
                let is_first = is_whole
                    && self.document.with_untracked(|before| before.as_ref().is_none_or(|it| it.partial));
                if is_first {
                    self.show_as_sent(&document);
                }
                self.document.set(Some(document));
                if is_first {
                    self.app.match_links(self);
                    // From where the file was chosen, and not from where someone is already.
                    if self.app.embed.is_none() && self.app.active.get_untracked() == Some(self.id) {
                        browser::after(0, || browser::catch_focus(&[SHOWN_REPORT, SHOWN_TAB]));
                    }
                }
                if is_whole {
                    self.woke_up();
                    self.app.settled(self);
                }
            }
            Event::Failed(failure) => {
                self.document.set(None);
                self.refuse_waiting(&failure);
                self.phase.set(Phase::Failed(failure));
                self.end_worker();
                self.app.settled(self);
            }
            Event::KeptChanged => self.app.recent_files.has_changed(),
            Event::Digests(digests) => {
                self.check_link_match(&digests);
                self.digests.set(Some(digests));
                self.app.match_links_compared_with(self);
            }
            Event::Stale(failure) => {
                self.n_refused.update(|n| *n += 1);
                self.app.recent_files.has_changed();
                if self.can_be_read_again() {
                    self.app.alert((words().read_again_because)(&failure.what));
                    // Not inside a message handler of the worker that this ends.
                    browser::after(0, move || {
                        self.read_again();
                        self.app.compare_anew(self.id);
                    });
                } else {
                    self.app.alert((words().refused)(&failure.what, &failure.hint));
                }
            }
            // The report stays; a new worker starts on demand.
            Event::Died { why, was_idle: true } if why.is_empty() && self.can_come_back() => {
                self.rest.set_value(Rest::Asleep);
            }
            Event::Died { why, .. } => {
                self.exporting.set(None);
                self.phase.set(Phase::Died(why));
                self.end_worker();
                self.app.settled(self);
            }
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
        if earlier == 0 { name } else { (words().numbered)(&name, earlier + 1) }
    }

    /// Whether its file is available.
    pub fn can_be_read_again(self) -> bool {
        self.source.with_value(|source| matches!(source, Some(Source::File(_))))
    }

    /// How a table is looked at; `None` if that is in its own order and whole.
    pub fn look_at(self, report: &str, table: &str) -> Option<TableQuery> {
        self.looks.with_untracked(|looks| {
            looks
                .iter()
                .find(|look| look.report == report && look.table == table)
                .map(|look| look.query.clone())
        })
    }

    /// Ids of the columns of a table that are chosen.
    pub fn columns_of(self, report: &str, table: &str) -> Option<Vec<String>> {
        self.columns.with_value(|all| {
            let found = all.iter().find(|(of, it, _)| of == report && it == table);
            found.map(|(.., chosen)| chosen.clone())
        })
    }

    pub fn set_columns(self, report: String, table: String, chosen: Vec<String>) {
        self.columns.update_value(|all| {
            all.retain(|(of, it, _)| *of != report || *it != table);
            all.push((report, table, chosen));
        });
    }

    pub fn set_look(self, report: String, table: String, query: TableQuery) {
        if self.look_at(&report, &table).unwrap_or_default() == query {
            return;
        }
        self.looks.update(|looks| {
            looks.retain(|look| look.table != table || look.report != report);
            if query != TableQuery::default() {
                looks.push(TableSpot { report, table, query, chosen: None });
            }
        });
    }

    /// Shows a report and orders and filters of tables as a sender saw them.
    pub fn look_as(self, report: Option<String>, mut tables: Vec<TableSpot>) {
        tables.retain(|spot| spot.query != TableQuery::default());
        self.as_sent.set_value(Some((report.clone(), tables.clone())));
        if !self.is_reopened.get_value() {
            self.report.set(report);
            self.looks.set(tables);
            self.gone_to.update(|n| *n += 1);
        }
    }

    /// Shows rows of a table of some report.
    pub fn lead_to(self, rows: RowsOf) {
        // With the report, so that both are one step back. A table that is shown in full takes no filter.
        let takes_filter = self.document.with_untracked(|document| {
            let reports = document.iter().flat_map(|document| &document.reports);
            let blocks = reports.filter(|report| report.id == rows.report).flat_map(|report| &report.blocks);
            blocks.into_iter().any(|block| matches!(block, BlockView::Table(table) if table.id == rows.table && table.n_rows > FULL_ROWS))
        });
        if takes_filter {
            let query = self.look_at(&rows.report, &rows.table).unwrap_or_default();
            let query = TableQuery { filter: rows.filter.clone(), ..query };
            self.set_look(rows.report.clone(), rows.table.clone(), query);
            self.gone_to.update(|n| *n += 1);
        }
        self.report.set(Some(rows.report.clone()));
        self.led_to.set(Some(rows));
    }

    /// Stops parsing and keeps what was parsed; called a second time, closes the tab.
    pub fn stop(self) {
        match self.phase.get_untracked() {
            Phase::Reading => {
                self.phase.set(Phase::Stopping);
                self.stopped_ms.set_value(browser::now_ms());
                self.send(&Request::Stop);
            }
            // Ignore a double click on the Stop button.
            Phase::Stopping if browser::now_ms() - self.stopped_ms.get_value() < SURELY_MS => {}
            _ => self.app.close(self.id),
        }
    }

    /// Keeps only a time range of the file being parsed: nanoseconds from `start_ns` on the trace's clock.
    pub fn hold_only(self, start_ns: i64, from_ns: i64, to_ns: i64) {
        self.send(&Request::HoldOnly { start_ns, from_ns, to_ns });
    }

    pub fn set_query(self, query: Query) {
        self.send(&Request::SetQuery(query));
    }

    /// Sends a request to the worker, restarting it if it has ended; a tab without one does not answer.
    pub fn ask(self, request: impl FnOnce(u32) -> Request + 'static, answer: impl Fn(Answer) + 'static) {
        let asked = Waiting::Asked { request: Box::new(request), answer: Rc::new(answer) };
        let Some(Waiting::Asked { request, answer }) = self.keep_waiting(asked) else { return };
        self.client.with_value(|client| {
            if let Some(client) = client {
                client.ask(request, move |it| answer(it));
            }
        });
    }

    pub fn export(self, exporter: ExporterView) {
        self.export_with(exporter, ShareOptions::default());
    }

    /// The same for a part or redacted. Includes notes if the format can contain them.
    pub fn export_with(self, exporter: ExporterView, options: ShareOptions) {
        let options = self.with_notes(options);
        if self.exporting.with_untracked(Option::is_some) {
            return;
        }
        let ExporterView { id, title, takes_notes, .. } = exporter;
        // Redacted notes are not saved.
        let saved = options.notes.clone().filter(|_| takes_notes && options.redact.is_none());
        self.exporting.set(Some(Exporting { title, bytes: 0 }));
        let app = self.app;
        self.ask(
            |ticket| Request::Share { ticket, exporter: id, options },
            move |answer| match answer {
                Answer::ExportProgress(bytes) => self.exporting.update(|exporting| {
                    if let Some(exporting) = exporting {
                        exporting.bytes = bytes;
                    }
                }),
                Answer::Exported { file_name, bytes, left_out, blob } => {
                    self.exporting.set(None);
                    browser::download(&file_name, &blob);
                    if let Some(notes) = &saved {
                        self.mark_saved(notes);
                    }
                    app.say((words().exported)(&text::visible(&file_name), bytes, &left_out));
                }
                Answer::Refused(failure) => {
                    self.exporting.set(None);
                    app.alert((words().refused)(&failure.what, &failure.hint));
                }
                _ => {}
            },
        );
    }

    /// Adds the current notes.
    pub fn with_notes(self, options: ShareOptions) -> ShareOptions {
        ShareOptions { notes: Some(self.notes.get_untracked()), ..options }
    }

    fn drop_contents(self) {
        self.let_helpers_go();
        self.client.set_value(None);
        self.waiting.set_value(Vec::new());
        self.source.set_value(None);
        self.document.set(None);
    }
}

/// Files for a request, and their `Blob`s to attach.
fn as_sent(
    files: Vec<Picked>,
    keep: Option<Keep>,
    format: Option<&str>,
    only: Option<(i64, i64)>,
) -> (Vec<OpenFile>, Vec<browser::Blob>) {
    let (mut named, mut blobs) = (Vec::new(), Vec::new());
    for Picked { name, blob, beside, .. } in files {
        blobs.push(blob);
        let beside = beside.into_iter().map(|other| {
            let n_bytes = other.n_bytes();
            blobs.push(other.blob);
            NamedFile { name: other.name, n_bytes }
        });
        let format = format.map(str::to_string);
        named.push(OpenFile { name, format, keep, beside: beside.collect(), only });
    }
    (named, blobs)
}

/// The page's state, from any component.
pub fn app() -> App {
    expect_context::<App>()
}
