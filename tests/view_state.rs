//! What one looks at on the page: actions, addresses, and what is a step back. The module is part of the page's program, which
//! runs in browsers only; it is pure, so it is tested here.

#[path = "../src/app/view_state/mod.rs"]
#[expect(clippy::module_inception, reason = "both are named after what they are about")]
mod view_state;

use proptest::prelude::*;
use tracedrop::engine::protocol::{
    By, Direction, FlameQuery, FrameClass, RowOrder, Scale, StackQuery, Widths,
};
use tracedrop::engine::protocol::{ColorBy, TableSpot};
use tracedrop::report::view::TableQuery;
use tracedrop::report::{Amounts, Sort};
use view_state::{
    Action, Entry, Log, Place, RowSet, TabView, TableName, TimelineLook, ViewState, reduce, usual_libraries,
};

const LOAD: &str = "m3k9x";

fn slices() -> TableName {
    TableName::new("slices", "slices")
}

fn filter(text: &str) -> Action {
    Action::Filter { tab: 2, table: slices(), filter: text.to_string() }
}

fn after(actions: impl IntoIterator<Item = Action>) -> ViewState {
    actions.into_iter().fold(ViewState::default(), reduce)
}

fn spot(filter: &str) -> TableSpot {
    let query = TableQuery { sort: None, filter: filter.to_string() };
    TableSpot { report: "slices".to_string(), table: "slices".to_string(), query, chosen: None }
}

#[test]
fn an_address_says_what_shows() {
    let sort = Some(Sort { column: 4, descending: true });
    let mut rows = RowSet::of(4..10);
    rows.toggle(0);
    let columns = Some(vec!["name".to_string(), "total".to_string()]);
    let state = after([
        Action::ShowTab(Some(2)),
        Action::ShowReport { tab: 2, report: Some("slices".to_string()) },
        Action::ShowFile { tab: 2, file: Some("rank 1.json".to_string()) },
        Action::Sort { tab: 2, table: slices(), sort },
        filter("self>1ms"),
        Action::ChooseColumns { tab: 2, table: slices(), columns },
        Action::ShowAmounts { tab: 2, table: slices(), amounts: Amounts::Percent },
        Action::SelectRows { tab: 2, table: slices(), rows },
        Action::Search(Some("ge mm".to_string())),
    ]);
    let fragment = state.place().fragment(LOAD);
    assert_eq!(
        fragment,
        "tab=m3k9x.2&report=slices&file=rank%201.json&sort=slices/slices:-4&filter=slices/slices:self%3E1ms\
         &columns=slices/slices:name,total&show=slices/slices:percent&rows=slices/slices:0,4-9&search=ge%20mm"
    );
    assert_eq!(Place::parse(&fragment, LOAD), Some(state.place()));
    let of_all = after([Action::ShowTab(Some(2)), Action::ShowFile { tab: 2, file: Some(String::new()) }]);
    assert_eq!(of_all.place().fragment(LOAD), "tab=m3k9x.2&file=");
    assert_eq!(Place::parse("tab=m3k9x.2&file=", LOAD), Some(of_all.place()));
    let look = TimelineLook {
        view: (0, u64::MAX),
        selected: Some((0, 4_000_000_000)),
        stretch: Some((5, 6)),
        search: "a&b".to_string(),
        tracks: "stream".to_string(),
        pinned: vec![4, 0],
        color_by: ColorBy::Category,
        folds: vec![7],
    };
    let at_time = after([
        Action::ShowTab(Some(2)),
        Action::ShowReport { tab: 2, report: Some("timeline".to_string()) },
        Action::LookAtTime { tab: 2, look: Some(look), is_step: true },
    ]);
    let address = at_time.place().fragment(LOAD);
    assert_eq!(
        address,
        "tab=m3k9x.2&report=timeline&time=0-18446744073709551615&event=0-4000000000&stretch=5-6&find=a%26b\
         &tracks=stream&pinned=4,0&colors=category&folds=7"
    );
    assert_eq!(Place::parse(&address, LOAD), Some(at_time.place()));
    // Of another load of the page nothing is left but the search.
    let other = Place::parse(&fragment, "another").unwrap();
    assert_eq!((other.tab, other.search.as_deref()), (None, Some("ge mm")));
    assert_eq!(Place::parse("", LOAD), Some(Place::default()));
    assert_eq!(Place::parse("privacy", LOAD).map(|place| place.is_privacy), Some(true));
    assert_eq!(Place::parse("main", LOAD), None);
}

#[test]
fn what_no_program_has_written_is_left_out() {
    for fragment in [
        "tab=m3k9x.2&filter=slices:x",
        "tab=m3k9x.2&filter=slices/slices",
        "tab=m3k9x.2&filter=slices/slices:%",
        "tab=m3k9x.2&filter=slices/slices:%+1",
        "tab=m3k9x.2&filter=slices/slices:%FF",
        "tab=m3k9x.2&sort=slices/slices:x",
        "tab=m3k9x.2&rows=slices/slices:x-,9-4",
        "tab=m3k9x.2&columns=slices/slices:",
        "tab=m3k9x.2&show=slices/slices:ratio",
    ] {
        assert_eq!(
            Place::parse(fragment, LOAD).and_then(|place| place.tab),
            Some(TabView::new(2)),
            "{fragment}"
        );
    }
}

#[test]
fn another_filter_or_order_selects_nothing() {
    let rows = RowSet::of(0..3);
    let selected = Action::SelectRows { tab: 2, table: slices(), rows };
    let n_selected = |action: Action| {
        let state = after([filter("a"), selected.clone(), action]);
        state.tab(2).and_then(|tab| tab.look("slices", "slices")).map_or(0, |look| look.rows.n_rows())
    };
    assert_eq!(n_selected(filter("a")), 3);
    assert_eq!(n_selected(filter("b")), 0);
    assert_eq!(n_selected(Action::Sort { tab: 2, table: slices(), sort: None }), 0);
    let filter = Some("b".to_string());
    assert_eq!(n_selected(Action::LeadTo { tab: 2, table: slices(), filter }), 0);
    assert_eq!(n_selected(Action::LeadTo { tab: 2, table: slices(), filter: None }), 3);
}

#[test]
fn tables_that_show_as_by_default_are_left_out() {
    let state = after([filter("a"), filter("")]);
    assert_eq!(state.tab(2), Some(&TabView::new(2)));
    let sent = [spot("a")];
    let look_as = Action::LookAs { tab: 2, report: None, tables: sent.to_vec() };
    let columns = Some(vec!["name".to_string()]);
    let chosen = Action::ChooseColumns { tab: 2, table: slices(), columns };
    let state = after([filter("b"), look_as.clone()]);
    assert_eq!(state.tab(2).map(TabView::queries), Some(sent.to_vec()));
    assert!(state.tab(2).is_some_and(|tab| tab.is_as_sent(&None, &sent)));
    let state = after([filter("b"), chosen, look_as]);
    assert_eq!(state.tab(2).map(TabView::queries), Some(sent.to_vec()));
    assert!(state.tab(2).is_some_and(|tab| !tab.is_as_sent(&None, &sent)));
}

#[test]
fn a_closed_tab_shows_as_it_was_left() {
    let open = after([Action::ShowTab(Some(2)), filter("a")]);
    let view = open.tab(2).cloned().unwrap();
    let closed = reduce(open, Action::Close(2));
    assert_eq!((closed.active, closed.tab(2)), (None, None));
    let again = reduce(closed, Action::Restore(TabView { id: 3, ..view.clone() }));
    assert_eq!(again.tab(3).map(TabView::queries), Some(view.queries()));
}

#[test]
fn moved_columns_keep_the_selected_rows() {
    let sort = |column| Some(Sort { column, descending: true });
    let rows = RowSet::of(0..2);
    let select = Action::SelectRows { tab: 2, table: slices(), rows: rows.clone() };
    let moved = Action::MoveSort { tab: 2, table: slices(), sort: sort(3) };
    let state = after([Action::Sort { tab: 2, table: slices(), sort: sort(1) }, select, moved]);
    let look = state.tab(2).and_then(|tab| tab.look("slices", "slices")).unwrap();
    assert_eq!((look.query.sort, &look.rows), (sort(3), &rows));
}

#[test]
fn the_privacy_screen_is_no_tab() {
    let state = after([Action::ShowTab(Some(2)), Action::ShowPrivacy]);
    assert_eq!(state.place().fragment(LOAD), "privacy");
    let state = reduce(state, Action::ShowTab(Some(2)));
    assert_eq!(state.place().fragment(LOAD), "tab=m3k9x.2");
}

/// Applies actions, each at its time, as the page does.
struct Page {
    state: ViewState,
    log: Log,
}

impl Page {
    fn new() -> Page {
        Page { state: ViewState::default(), log: Log::default() }
    }

    fn at(&mut self, now_ms: f64, actions: impl IntoIterator<Item = Action>) -> Entry {
        for action in actions {
            let after = reduce(self.state.clone(), action.clone());
            if after != self.state {
                self.log.note(&action);
                self.state = after;
            }
        }
        self.log.settle(&self.state.place(), now_ms)
    }
}

#[test]
fn typing_on_in_a_filter_is_one_step_back() {
    let mut page = Page::new();
    assert_eq!(page.at(0.0, [Action::ShowTab(Some(2))]), Entry::Push);
    assert_eq!(page.at(100.0, [filter("g")]), Entry::Push);
    assert_eq!(page.at(200.0, [filter("ge")]), Entry::Replace);
    assert_eq!(page.at(300.0, [filter("ge")]), Entry::None);
    assert_eq!(page.at(9_000.0, [filter("gem")]), Entry::Push);
    let other = Action::Filter { tab: 2, table: TableName::new("slices", "other"), filter: "x".to_string() };
    assert_eq!(page.at(9_100.0, [other]), Entry::Push);
    // Something else in between.
    assert_eq!(
        page.at(9_200.0, [Action::ShowReport { tab: 2, report: Some("gpu".to_string()) }]),
        Entry::Push
    );
    assert_eq!(page.at(9_300.0, [filter("gemm")]), Entry::Push);
}

#[test]
fn details_are_no_steps_and_what_happens_at_once_is_one() {
    let mut page = Page::new();
    page.at(0.0, [Action::ShowTab(Some(2))]);
    let select = Action::SelectRows { tab: 2, table: slices(), rows: RowSet::of(0..2) };
    assert_eq!(page.at(1.0, [Action::Search(Some("a".to_string()))]), Entry::Replace);
    assert_eq!(page.at(2.0, [select.clone()]), Entry::Replace);
    assert_eq!(page.at(3.0, [Action::Search(None), filter("a"), select]), Entry::Push);
    // What is done and undone is nothing.
    assert_eq!(
        page.at(
            4.0,
            [
                filter("b"),
                filter("a"),
                Action::SelectRows { tab: 2, table: slices(), rows: RowSet::of(0..2) }
            ]
        ),
        Entry::None
    );
    // Zooming and panning is one step as long as it goes on; what is selected in between is a step of its own.
    let look = |to, selected| Action::LookAtTime {
        tab: 2,
        look: Some(TimelineLook { view: (0, to), selected, ..TimelineLook::default() }),
        is_step: selected.is_some(),
    };
    assert_eq!(page.at(100.0, [look(10, None)]), Entry::Push);
    assert_eq!(page.at(101.0, [look(20, None)]), Entry::Replace);
    assert_eq!(page.at(102.0, [look(20, Some((0, 7)))]), Entry::Push);
    assert_eq!(page.at(200.0, [look(30, None)]), Entry::Push);
    // What leads to a place in the timeline is one step, however late what it shows there is known.
    let report = |id: &str| Action::ShowReport { tab: 2, report: Some(id.to_string()) };
    let arrive = |selected| Action::ArriveAtTime {
        tab: 2,
        look: Some(TimelineLook { view: (0, 40), selected, ..TimelineLook::default() }),
    };
    assert_eq!(page.at(300.0, [report("timeline")]), Entry::Push);
    assert_eq!(page.at(301.0, [arrive(None)]), Entry::Replace);
    assert_eq!(page.at(320.0, [arrive(Some((0, 9)))]), Entry::Replace);
    assert_eq!(page.at(321.0, [look(50, Some((0, 9)))]), Entry::Push);
    assert_eq!(page.at(322.0, [report("slices"), report("timeline"), arrive(None)]), Entry::Push);
    // Several tabs that open at once.
    assert_eq!(page.at(5.0, [Action::ShowTab(Some(3)), Action::ShowTab(Some(4))]), Entry::Push);
    // Back.
    let place = Place { tab: Some(TabView::new(2)), ..Place::default() };
    page.state = reduce(page.state.clone(), Action::GoTo(place.clone()));
    page.log.went_to(place.clone());
    assert_eq!(page.log.settle(&page.state.place(), 6.0), Entry::None);
    assert_eq!(page.state.place(), place);
}

proptest! {
    #[test]
    fn row_sets_are_sets(rows in proptest::collection::vec((0u64..40, 0u64..6), 0..30)) {
        let mut set = RowSet::default();
        let mut expected = std::collections::BTreeSet::new();
        for (start, n) in rows {
            if n == 0 {
                set.toggle(start);
                if !expected.remove(&start) {
                    expected.insert(start);
                }
            } else {
                set.insert(start..start + n);
                expected.extend(start..start + n);
            }
        }
        let all: Vec<u64> = set.ranges().iter().cloned().flatten().collect();
        prop_assert_eq!(&all, &expected.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(set.n_rows(), expected.len() as u64);
        prop_assert!((0..50).all(|row| set.contains(row) == expected.contains(&row)));
        prop_assert_eq!(RowSet::parse(&set.to_text()), set);
    }

    #[test]
    fn any_text_survives_the_address(report in "\\PC*", table in "\\PC*", text in "\\PC*", search in "\\PC*") {
        let table = TableName::new(report.clone(), table);
        let state = after([
            Action::ShowTab(Some(2)),
            Action::ShowReport { tab: 2, report: Some(report) },
            Action::Filter { tab: 2, table, filter: text },
            Action::Search(Some(search)),
        ]);
        let fragment = state.place().fragment(LOAD);
        prop_assert!(fragment.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
        prop_assert_eq!(Place::parse(&fragment, LOAD), Some(state.place()));
    }

    #[test]
    fn any_address_is_read(fragment in "[#%&=/:,.a-z0-9+-]*", load in "[a-z0-9]{0,4}") {
        let _ = Place::parse(&fragment, &load);
    }
}

#[test]
fn a_flame_graph_stands_in_the_address_and_a_search_in_it_is_one_step() {
    let key = |name: &str, place: &str| (name.to_string(), place.to_string());
    let stacks = StackQuery {
        by: By::Line,
        thread: Some(3),
        hidden: vec!["\"a,b:c\"".to_string()],
        hidden_classes: vec![FrameClass::Module, FrameClass::Other],
        ignored: vec!["/x|y/".to_string()],
        libraries: usual_libraries(),
        folds_recursion: true,
    };
    let look = FlameQuery {
        graph: 2,
        direction: Direction::Around,
        stacks,
        center: Some(key("f(int, char)", "src/a b.rs:12")),
        focus: vec![key("main", ""), key("größe", "ü.py")],
        search: "50%, &".to_string(),
        widths: Widths::Change,
        scale: Scale::Step,
        rows: RowOrder::Total,
    };
    let other = FlameQuery {
        stacks: StackQuery { libraries: vec!["my lib/".to_string()], ..StackQuery::default() },
        ..FlameQuery::default()
    };
    for look in [look, other, FlameQuery::default()] {
        let is_step = true;
        let state = reduce(
            reduce(ViewState::default(), Action::ShowTab(Some(4))),
            Action::LookAtFlame { tab: 4, look: Box::new(look.clone()), is_step },
        );
        let place = state.place();
        let again = Place::parse(&place.fragment("load"), "load").unwrap();
        assert_eq!(again, place);
        assert_eq!(again.tab.unwrap().flame, look);
    }
    for odd in ["flame=", "flame=,,g,dx,b99,t,a,f:,c77,%,s%zz", "flame=aname"] {
        let place = Place::parse(&format!("tab=load.4&{odd}"), "load").unwrap();
        assert_eq!(place.tab.unwrap().flame.direction, Direction::Callers);
    }
    let mut log = Log::default();
    let letter = |search: &str, log: &mut Log| {
        let look = FlameQuery { search: search.to_string(), ..FlameQuery::default() };
        let action = Action::LookAtFlame { tab: 4, look: Box::new(look), is_step: false };
        log.note(&action);
        let state = reduce(reduce(ViewState::default(), Action::ShowTab(Some(4))), action);
        log.settle(&state.place(), 1000.0)
    };
    assert_eq!(letter("g", &mut log), Entry::Push);
    assert_eq!(letter("ge", &mut log), Entry::Replace);
}
