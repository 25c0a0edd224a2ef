//! How a flame graph is looked at, as a part of the address: items with a letter each, separated by commas.
//!
//! `g2,d1,smatmul` is the third graph from its ends, with a search for matmul.

use super::address::{decoded, encoded};
use tracedrop::engine::protocol::{
    By, Direction, FlameQuery, FrameClass, LIBRARIES, LabelKey, RowOrder, Scale, Widths,
};

const DIRECTIONS: [Direction; 4] = [Direction::Callers, Direction::Ends, Direction::Time, Direction::Around];
const WIDTHS: [Widths; 3] = [Widths::Weight, Widths::Before, Widths::Change];
const SCALES: [Scale; 4] = [Scale::None, Scale::Total, Scale::Step, Scale::Second];
const ORDERS: [RowOrder; 3] = [RowOrder::Own, RowOrder::Total, RowOrder::Change];

/// The paths of libraries that are left out with *Only my code* unless someone changes them.
pub fn usual_libraries() -> Vec<String> {
    LIBRARIES.map(str::to_string).to_vec()
}

/// Position among choices, except for the first, which is the default.
fn number<T: PartialEq>(letter: char, choices: &[T], choice: &T) -> Option<String> {
    let at = choices.iter().position(|it| it == choice)?;
    (at > 0).then(|| format!("{letter}{at}"))
}

fn label((name, place): &LabelKey) -> String {
    format!("{}:{}", encoded(name), encoded(place))
}

/// Empty for what opens by default.
pub fn to_text(query: &FlameQuery) -> String {
    let FlameQuery { graph, direction, stacks, center, focus, search, widths, scale, rows } = query;
    let texts = |letter: char, texts: &[String]| -> Vec<String> {
        texts.iter().map(|text| format!("{letter}{}", encoded(text))).collect()
    };
    let mut items: Vec<String> = Vec::new();
    items.extend((*graph > 0).then(|| format!("g{graph}")));
    items.extend(number('d', &DIRECTIONS, direction));
    items.extend(number('b', &By::ALL, &stacks.by));
    items.extend(stacks.thread.map(|thread| format!("t{thread}")));
    items.extend(stacks.folds_recursion.then(|| "r".to_string()));
    match stacks.libraries == usual_libraries() {
        true => items.push("m".to_string()),
        false => items.extend(texts('l', &stacks.libraries)),
    }
    items.extend(texts('h', &stacks.hidden));
    items.extend(texts('i', &stacks.ignored));
    let class = |class: &FrameClass| FrameClass::ALL.iter().position(|it| it == class);
    items.extend(stacks.hidden_classes.iter().filter_map(class).map(|at| format!("c{at}")));
    items.extend(center.as_ref().map(|center| format!("a{}", label(center))));
    items.extend(focus.iter().map(|key| format!("f{}", label(key))));
    items.extend((!search.is_empty()).then(|| format!("s{}", encoded(search))));
    items.extend(number('w', &WIDTHS, widths));
    items.extend(number('n', &SCALES, scale));
    items.extend(number('o', &ORDERS, rows));
    items.join(",")
}

/// What no program has written counts as not there.
pub fn parse(text: &str) -> FlameQuery {
    let mut query = FlameQuery::default();
    for item in text.split(',') {
        let mut letters = item.chars();
        let (letter, rest) = (letters.next(), letters.as_str());
        let at = || rest.parse::<usize>().unwrap_or(usize::MAX);
        let key = || {
            let (name, place) = rest.split_once(':')?;
            Some((decoded(name)?, decoded(place)?))
        };
        let stacks = &mut query.stacks;
        match letter {
            Some('g') => query.graph = rest.parse().unwrap_or_default(),
            Some('d') => query.direction = DIRECTIONS.get(at()).copied().unwrap_or_default(),
            Some('b') => stacks.by = By::ALL.get(at()).copied().unwrap_or_default(),
            Some('t') => stacks.thread = rest.parse().ok(),
            Some('r') => stacks.folds_recursion = true,
            Some('m') => stacks.libraries = usual_libraries(),
            Some('l') => stacks.libraries.extend(decoded(rest)),
            Some('h') => stacks.hidden.extend(decoded(rest)),
            Some('i') => stacks.ignored.extend(decoded(rest)),
            Some('c') => stacks.hidden_classes.extend(FrameClass::ALL.get(at())),
            Some('a') => query.center = key(),
            Some('f') => query.focus.extend(key()),
            Some('s') => query.search = decoded(rest).unwrap_or_default(),
            Some('w') => query.widths = WIDTHS.get(at()).copied().unwrap_or_default(),
            Some('n') => query.scale = SCALES.get(at()).copied().unwrap_or_default(),
            Some('o') => query.rows = ORDERS.get(at()).copied().unwrap_or_default(),
            _ => {}
        }
    }
    query
}
