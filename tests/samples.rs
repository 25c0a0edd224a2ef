//! The answers on the start page are those of the reports that its samples open on.

use serde_json::Value;
use std::path::Path;
use tracedrop::analysis::Query;
use tracedrop::compare::CompareQuery;
use tracedrop::engine::{Compared, Session, Shown};
use tracedrop::export::{self, Options};

fn read(folder: &Path, name: &str) -> Session {
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let mut session = Session::new(name, bytes.len() as u64, None, Query::default());
    session.feed(&bytes);
    session.finish().unwrap();
    session
}

fn text(shown: &mut dyn Shown) -> String {
    let mut text = Vec::new();
    // As the page lays it out, not as a reference tool does.
    let options = Options { width: 400, own_layout: true, ..Options::default() };
    shown.export(export::find("terminal").unwrap(), &options, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn answers_are_in_the_reports() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("www/samples");
    let list: Value = serde_json::from_slice(&std::fs::read(folder.join("index.json")).unwrap()).unwrap();
    for sample in list.as_array().unwrap() {
        let of = |member: &str| sample[member].as_str().unwrap();
        let mut first = read(&folder, of("name"));
        let text = match sample["also"][0].as_str() {
            Some(other) => {
                let (a, b) = (first.side().unwrap(), read(&folder, other).side().unwrap());
                text(&mut Compared::new(a, b, &CompareQuery::default()).unwrap())
            }
            None => text(&mut first),
        };
        let numbers = of("answer")
            .split_whitespace()
            .filter(|word| word.contains(|letter: char| letter.is_ascii_digit()));
        for number in numbers {
            assert!(text.contains(number), "{}: {number} is in no report", of("title"));
        }
        let parts: f64 = sample["parts"].as_array().unwrap().iter().filter_map(Value::as_f64).sum();
        assert!((99.0..101.0).contains(&parts), "{}: parts are {parts}%", of("title"));
    }
}
