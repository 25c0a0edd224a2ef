//! Texts of flame graphs.

use tracedrop::base::text;
use tracedrop::base::units::{counted, format_ratio, group_digits};
use tracedrop::engine::protocol::{By, Direction, FrameClass, RowOrder, Scale, Widths};

/// Texts of flame graphs.
pub struct FlameWords {
    pub title: &'static str,
    pub making: &'static str,
    pub not_read: &'static str,
    pub search: &'static str,
    pub search_hint: &'static str,
    /// Weight and its share of all.
    pub matched: fn(&str, &str) -> String,
    pub all: &'static str,
    pub hint: &'static str,
    pub graph: &'static str,
    pub from: &'static str,
    /// A choice and what it means.
    pub direction: fn(Direction) -> (&'static str, &'static str),
    pub by: &'static str,
    pub by_name: fn(By) -> &'static str,
    pub thread: &'static str,
    pub all_threads: &'static str,
    pub options: &'static str,
    pub only_mine: &'static str,
    pub only_mine_hint: &'static str,
    pub libraries: &'static str,
    pub folds: &'static str,
    pub folds_hint: &'static str,
    pub classes: &'static str,
    pub class: fn(FrameClass) -> &'static str,
    pub from_bottom: &'static str,
    pub hidden: &'static str,
    /// Name of what shows again.
    pub show_again: fn(&str) -> String,
    pub hide: &'static str,
    pub hide_hint: &'static str,
    pub ignore: &'static str,
    pub ignore_hint: &'static str,
    pub around: &'static str,
    pub around_hint: &'static str,
    pub copy_name: &'static str,
    pub in_timeline: &'static str,
    pub widths: &'static str,
    pub width: fn(Widths) -> &'static str,
    pub scale: &'static str,
    pub scale_name: fn(Scale) -> &'static str,
    pub callers_of: fn(&str) -> String,
    pub callers: &'static str,
    pub callees: &'static str,
    pub functions: &'static str,
    /// Number of functions, and how many the table has.
    pub n_functions: fn(u64, usize) -> String,
    pub function: &'static str,
    pub own: &'static str,
    pub total: &'static str,
    pub own_of: fn(bool) -> &'static str,
    pub change: &'static str,
    /// Weight of all, and the function with the most of its own, with the share of that.
    pub summary: fn(&str, Option<(String, f64)>) -> String,
    /// Heading to sort by.
    pub sort_by: fn(RowOrder) -> &'static str,
    pub drawing: &'static str,
    /// Name of a function whose boxes light.
    pub light: fn(&str) -> String,
}

pub const ENGLISH: FlameWords = FlameWords {
    title: "Flame graph",
    making: "Merging stacks…",
    not_read: "Flame graphs appear once the file is parsed.",
    search: "Find functions",
    search_hint: "Name or /regex/",
    summary: |all, most| match most {
        Some((name, share)) => {
            format!(
                "{all} in total; {} self in {}.",
                format_ratio(share),
                text::shortened(&name, text::IN_A_SENTENCE)
            )
        }
        None => all.to_string(),
    },
    matched: |weight, share| format!("Found: {weight}, {share}"),
    all: "All",
    hint: "Click a box to zoom in. Arrow keys move between boxes, Enter zooms in, Escape zooms out. Boxes below 0.025% of the view are merged.",
    graph: "Graph",
    from: "Start at",
    direction: |direction| match direction {
        Direction::Callers => ("Top-down", "From the outermost callers down"),
        Direction::Ends => ("Bottom-up", "From the hottest frames up to their callers"),
        Direction::Time => ("Time", "Samples of one thread in order of time"),
        Direction::Around => ("One function", "Callers of one function above it, what it calls below"),
    },
    by: "Boxes are",
    by_name: |by| match by {
        By::Function => "functions",
        By::File => "files",
        By::Module => "packages",
        By::Line => "lines",
        By::Class => "kinds of frames",
    },
    thread: "Thread",
    all_threads: "All threads",
    options: "Frames",
    only_mine: "Only my code",
    only_mine_hint: "Hides frames of libraries; what they call moves to their callers",
    libraries: "Library paths contain (one per line)",
    folds: "Fold direct recursion",
    folds_hint: "A function that calls itself is one box",
    classes: "Kinds of frames",
    class: FrameClass::name,
    from_bottom: "First row at the bottom",
    hidden: "Hidden or ignored",
    show_again: |name| format!("Show {name} again"),
    hide: "Hide",
    hide_hint: "Hides all functions of this name; what they call moves to their callers",
    ignore: "Ignore stacks",
    ignore_hint: "Excludes all stacks with a function of this name",
    around: "Callers and callees",
    around_hint: "Shows all callers of this function, and what it calls",
    copy_name: "Copy name",
    in_timeline: "Show in the timeline",
    widths: "Widths",
    width: |widths| match widths {
        Widths::Weight => "B",
        Widths::Before => "A",
        Widths::Change => "Change",
    },
    scale: "Compare",
    scale_name: |scale| match scale {
        Scale::None => "absolute",
        Scale::Total => "A scaled to B’s total",
        Scale::Step => "per step",
        Scale::Second => "per second",
    },
    callers_of: |name| format!("Callers of {name}"),
    callers: "Callers",
    callees: "Callees",
    functions: "Functions",
    n_functions: |n, n_listed| match n as usize > n_listed {
        true => format!("{n_listed} of {} functions", group_digits(n.into())),
        false => counted(n, "function", "functions"),
    },
    function: "function",
    own: "self",
    total: "total",
    own_of: |is_b| if is_b { "self in B" } else { "self in A" },
    change: "change",
    sort_by: |order| match order {
        RowOrder::Own => "Sort by self weight",
        RowOrder::Total => "Sort by total weight",
        RowOrder::Change => "Sort by change",
    },
    drawing: "Boxes of the flame graph",
    light: |name| format!("Highlight {name}"),
};
