//! Layout of charts, a file a plot.

mod addresses;
mod axes;
mod bars;
mod boxes;
mod chosen;
pub mod flame;
mod heat;
mod lines;
mod points;
mod spans;
mod texts;

use super::Scene;
use crate::report::chart::{Chart, Plot};
use addresses::blocks_by_address;
use bars::{lying_bars, strip};
use boxes::boxes_over_time;
pub use chosen::{Chosen, Direction};
use heat::heat_map;
use lines::drawn_lines;
use points::scatter;
use spans::rows_of_spans;

/// Height of the plot above the time axis.
const PLOT_HEIGHT: f64 = 200.0;
/// Space below it for axis texts.
const FOOT: f64 = 24.0;
/// Space above it, so that the text of the highest tick is not clipped.
const HEAD: f64 = 10.0;
/// Space for texts left of the plot.
const GUTTER: f64 = 72.0;
/// Space right of the plot, for half a text.
const RIGHT: f64 = 24.0;
/// A horizontal bar, and the space around it.
const LYING_BAR: f64 = 18.0;
const LYING_ROW: f64 = 26.0;
/// Height of a line of text.
const LABEL: f64 = 18.0;
/// Approximate width of a character.
const LETTER: f64 = 6.6;
/// Approximate width of a character in texts of mostly digits, which are wider.
const DIGIT: f64 = LETTER * 1.15;

fn clamped(width: f64) -> f64 {
    if width.is_finite() { width.clamp(240.0, 4000.0) } else { 800.0 }
}

/// Lays out a chart on `width` pixels. The number of marks is proportional to the chart's content.
pub fn layout(chart: &Chart, width: f64) -> Scene {
    let width = clamped(width);
    match &chart.plot {
        Plot::Bars(bars) if bars.is_strip => strip(bars, width),
        Plot::Bars(bars) => lying_bars(bars, &[], width),
        Plot::Lines(lines) => drawn_lines(lines, width),
        Plot::Heat(heat) => heat_map(heat, width),
        Plot::Points(points) => scatter(points, width),
        Plot::Spans(spans) => rows_of_spans(spans, width),
        Plot::Flame(flame) => flame::flame_graph(flame, width),
        Plot::Boxes(boxes) => boxes_over_time(boxes, width),
        Plot::Addresses(map) => blocks_by_address(map, width),
        Plot::Measured(measured) => lying_bars(&measured.bars, &measured.thresholds, width),
    }
}

/// Nanoseconds at `x` of a chart laid out on `width` pixels; beside the plot, those of its nearer end. `None` for charts that are not
/// lines over time.
pub fn time_at(chart: &Chart, width: f64, x: f64) -> Option<i64> {
    match &chart.plot {
        Plot::Lines(lines) => lines::time_at(lines, width, x),
        _ => None,
    }
}

/// What can be chosen at a position in pixels of a chart laid out on `width` pixels: a cell of another trace in a heat map, or a part
/// of memory.
pub fn cell_at(chart: &Chart, width: f64, at: (f64, f64)) -> Option<Chosen> {
    match &chart.plot {
        Plot::Heat(heat) => heat::cell_at(heat, clamped(width), at),
        Plot::Addresses(map) => addresses::at(map, clamped(width), at),
        _ => None,
    }
}

/// What can be chosen next in a direction from [`Chosen::at`], which is that one at the end; the first one without one.
pub fn next_cell(chart: &Chart, width: f64, from: Option<((usize, usize), Direction)>) -> Option<Chosen> {
    match &chart.plot {
        Plot::Heat(heat) => heat::next_cell(heat, clamped(width), from),
        Plot::Addresses(map) => {
            addresses::next(map, clamped(width), from.map(|((_, at), direction)| (at, direction)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::points::clip;
    use super::texts::first_words;
    use super::*;
    use crate::base::units::Unit;
    use crate::report::address_map::{AddressMap, Band, MapBlock, MapCell, Moment, Reserved};
    use crate::report::chart::{
        Axis, Bars, Boxes, Grid, Heat, Limit, Line, Lines, Measured, Over, Part, Period, Point, Points,
        Threshold, Tone, ValueBox,
    };
    use crate::scene::{Anchor, Mark};

    fn chart(plot: Plot) -> Chart {
        Chart { id: "c".into(), title: String::new(), caption: String::new(), plot }
    }

    fn bars(labels: &[&str], values: &[f64], is_strip: bool) -> Plot {
        Plot::Bars(Bars {
            labels: labels.iter().map(|label| (*label).to_string()).collect(),
            parts: vec![Part { name: "p".into(), tone: Tone::Computation, values: values.to_vec() }],
            unit: Unit::Ns,
            is_strip,
            what: "step".into(),
        })
    }

    fn heat(labels: Vec<String>, grids: Vec<Vec<Vec<f64>>>, span: i64) -> Plot {
        let grid = |rows| Grid { name: "reads".into(), tone: Tone::Other(0), rows };
        Plot::Heat(Heat {
            is_apart: vec![true; labels.len()],
            labels,
            grids: grids.into_iter().map(grid).collect(),
            mixed: ("both".into(), Tone::Other(3)),
            what: "accesses".into(),
            unit: Unit::Count,
            over: Over::Time,
            span,
            periods: Vec::new(),
            names: Vec::new(),
            sources: None,
        })
    }

    /// Values below zero lie left of it, to one scale with those above.
    #[test]
    fn bars_lie_on_both_sides_of_zero() {
        let scene = layout(&chart(bars(&["a", "b", "c"], &[300.0, -100.0, 0.0], false)), 600.0);
        let of = |mark: &Mark| match mark {
            Mark::Rect { x, width, .. } => Some((*x, *x + *width)),
            _ => None,
        };
        let [(zero, right), (left, also_zero)] = scene.marks.iter().filter_map(of).collect::<Vec<_>>()[..]
        else {
            panic!("not two bars")
        };
        assert!((zero - also_zero).abs() < 1e-9 && left < zero);
        assert!(((right - zero) - 3.0 * (zero - left)).abs() < 1e-9);
        let ticks: Vec<&str> = scene
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Text { x, anchor: Anchor::Middle, text, .. } if *x < zero => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(ticks, ["−100 ns"]);
    }

    /// Cells without a difference look the same in each map, and the scale is for the others, with the strengths that they have.
    #[test]
    fn cells_without_a_difference_are_not_in_the_scale() {
        let map = |slower: Vec<f64>, near: Vec<f64>| {
            let grids = vec![vec![slower], vec![near]];
            let Plot::Heat(mut map) = heat(vec!["rank 0".into()], grids, 3) else { unreachable!() };
            map.grids[0].tone = Tone::More;
            (map.grids[1].tone, map.mixed.1) = (Tone::Idle, Tone::Idle);
            (map.over, map.unit) = (Over::Number, Unit::Ratio);
            layout(&chart(Plot::Heat(map)), 600.0)
        };
        let strengths = |scene: &Scene| -> Vec<(Tone, f64)> {
            let of = |mark: &Mark| match mark {
                Mark::Cell { tone, strength, title, .. } if !title.is_empty() => Some((*tone, *strength)),
                _ => None,
            };
            scene.marks.iter().filter_map(of).collect()
        };
        let n_steps = |scene: &Scene| {
            let is_step = |mark: &&Mark| matches!(mark, Mark::Cell { title, .. } if title.is_empty());
            scene.marks.iter().filter(is_step).count()
        };
        let same = map(vec![0.0; 3], vec![1e-9, 0.004, 0.009]);
        let [(Tone::Idle, neutral), ..] = strengths(&same)[..] else { panic!("no cells") };
        assert_eq!(strengths(&same), [(Tone::Idle, neutral); 3]);
        assert_eq!(n_steps(&same), 0);
        let one = map(vec![0.0, 0.06, 0.05], vec![1e-9, 0.0, 0.0]);
        assert_eq!(strengths(&one), [(Tone::Idle, neutral), (Tone::More, 1.0), (Tone::More, 1.0)]);
        assert_eq!(n_steps(&one), 1);
    }

    #[test]
    fn periods_are_marked_over_lines_and_cells() {
        let period = |name: &str, start, end| Period { name: name.into(), start, end };
        // The last period is too short for its name.
        let periods =
            vec![period("weight_load", -5, 40), period("generation", 40, 99), period("teardown", 99, 100)];
        let line = Line { name: "l".into(), tone: Tone::Other(0), points: vec![(0, 1.0), (100, 2.0)] };
        let mut lines = Lines::new(vec![line], Unit::Bytes, Over::Time);
        lines.periods.clone_from(&periods);
        let Plot::Heat(mut cells) = heat(vec!["a".into()], vec![vec![vec![1.0; 10]]], 100) else { return };
        cells.periods = periods;
        for plot in [Plot::Lines(lines), Plot::Heat(cells)] {
            let scene = layout(&chart(plot), 600.0);
            let edges = scene.marks.iter().filter(|mark| matches!(mark, Mark::Rule { is_limit: true, .. }));
            assert_eq!(edges.count(), 4);
            let has = |name: &str| {
                scene.marks.iter().any(|mark| matches!(mark, Mark::Text { text, .. } if text == name))
            };
            assert_eq!(["weight_load", "generation", "teardown"].map(has), [true, true, false]);
        }
    }

    /// Numbers that no picture has.
    fn odd_addresses(text: &str) -> AddressMap {
        let block = MapBlock {
            band: 0,
            low: u64::MAX,
            address: -1,
            bytes: u64::MAX,
            start: i64::MAX,
            end: i64::MIN,
            is_open: (true, false),
            name: 9,
            tone: Tone::Other(200),
            stack: 9,
        };
        let cell = |band, row, column, share| MapCell {
            band,
            row,
            column,
            tone: Tone::Idle,
            share,
            n: 2,
            largest: block,
        };
        let moment = |at| Moment { at, name: text.into(), text: String::new(), is_bad: true };
        AddressMap {
            over: Over::Number,
            start: i64::MIN,
            end: i64::MAX,
            n_columns: 0,
            bands: vec![
                Band {
                    label: text.into(),
                    bytes: 0,
                    n_rows: 0,
                    reserved: vec![Reserved { start: 9, end: 3, low: 7, high: 5 }],
                },
                Band { label: String::new(), bytes: u64::MAX, n_rows: 3, reserved: Vec::new() },
            ],
            legend: Vec::new(),
            texts: Vec::new(),
            stacks: Vec::new(),
            blocks: vec![
                block,
                MapBlock { band: 7, ..block },
                MapBlock { band: 1, low: 0, start: 0, end: 9, ..block },
            ],
            cells: vec![cell(1, u32::MAX, u32::MAX, f64::NAN), cell(1, 0, 0, 1e300), cell(4, 0, 0, 0.0)],
            moments: vec![moment(i64::MIN), moment(0), moment(i64::MAX)],
        }
    }

    fn boxes(of: &[(i64, i64, f64, f64)], over: Over) -> Plot {
        let of = of.iter().map(|(start, end, low, high)| ValueBox {
            name: "b".into(),
            tone: Tone::Other(1),
            start: *start,
            end: *end,
            low: *low,
            high: *high,
        });
        Plot::Boxes(Boxes { unit: Unit::Bytes, over, legend: Vec::new(), boxes: of.collect() })
    }

    #[test]
    fn boxes_lie_where_their_numbers_are() {
        let plot = boxes(&[(0, 50, 0.0, 1024.0), (50, 100, 1024.0, 4096.0)], Over::Number);
        let scene = layout(&chart(plot), 600.0);
        let rects: Vec<(f64, f64, f64, f64, &str)> = scene
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Rect { x, y, width, height, title, .. } => Some((*x, *y, *width, *height, &**title)),
                _ => None,
            })
            .collect();
        let [a, b] = rects.as_slice() else { panic!("{rects:?}") };
        let middle = GUTTER + (600.0 - GUTTER - RIGHT) / 2.0;
        assert!((a.0 - GUTTER).abs() < 1e-9 && (b.0 - middle).abs() < 1e-9, "{rects:?}");
        assert!(b.1 < a.1 && b.3 > 2.0 * a.3, "{rects:?}");
        assert_eq!((a.4, b.4), ("b: 1.00 KiB, 0 to 50", "b: 3.00 KiB, 50 to 100"));
    }

    #[test]
    fn shares_of_durations_stay_as_they_are_at_the_longest() {
        let points = vec![(2_000, 0.5), (30_000, 1.0)];
        let line = Line { name: "l".into(), tone: Tone::Other(0), points };
        let lines = Plot::Lines(Lines::new(vec![line], Unit::Ratio, Over::Duration));
        let marks = layout(&chart(lines), 600.0).marks;
        let path = marks.iter().find_map(|mark| match mark {
            Mark::Path { corners, .. } => Some(corners.as_slice()),
            _ => None,
        });
        let Some([.., longest, end]) = path else { panic!("{path:?}") };
        // 30 µs, on an axis that ends at 100 µs.
        assert!(longest.0 < end.0 && (end.0 - (600.0 - RIGHT)).abs() < 1e-9, "{path:?}");
        assert_eq!(longest.1, end.1);
    }

    #[test]
    fn cells_say_what_they_hold() {
        let grids = vec![vec![vec![9.0, 0.0], vec![1.0, 0.0]], vec![vec![1.0, 0.0], vec![1.0, 1000.0]]];
        let scene = layout(&chart(heat(vec!["a".into(), "b".into()], grids, 100)), 600.0);
        let cells: Vec<(f64, Tone, f64, &str)> = scene
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Cell { y, tone, strength, title, .. } if !title.is_empty() => {
                    Some((*y, *tone, *strength, title.as_str()))
                }
                _ => None,
            })
            .collect();
        let [a, b, c] = cells.as_slice() else { panic!("{cells:?}") };
        assert!(a.0 > b.0 && b.0 == c.0, "the first row is the lowest");
        assert_eq!((a.1, b.1, c.2), (Tone::Other(0), Tone::Other(3), 1.0));
        assert!(b.2 < a.2 && a.2 < c.2);
        assert_eq!(b.3, "b · 0 to 50 ns: reads 1, reads 1");
        assert_eq!(scene.legend.last().unwrap().0, "both");
    }

    #[test]
    fn what_cells_stand_for_is_whole_however_narrow() {
        let grids = vec![vec![vec![1.0, 900_000.0]]];
        for width in [220.0, 326.0, 900.0] {
            let scene = layout(&chart(heat(vec!["0x7f0000001000".into()], grids.clone(), 100)), width);
            let is_step = |mark: &&Mark| matches!(mark, Mark::Cell { title, .. } if title.is_empty());
            assert_eq!(scene.marks.iter().filter(is_step).count(), 5, "{width}");
            let cell_tops = scene.marks.iter().filter_map(|mark| match mark {
                Mark::Cell { y, height, title, .. } => Some((title.is_empty(), *y, y + height)),
                _ => None,
            });
            let (scale, cells): (Vec<_>, Vec<_>) = cell_tops.partition(|cell| cell.0);
            let end = scale.iter().map(|cell| cell.2).fold(0.0, f64::max);
            assert!(cells.iter().all(|cell| cell.1 >= end), "{width}: the map is below");
        }
    }

    #[test]
    fn labels_of_places_keep_their_first_words_where_there_is_little_room() {
        let labels = vec!["0x7f0000001000 76.0 KiB unknown".to_string(), "0x7f0000014000 4 KiB".to_string()];
        let grids = vec![vec![vec![1.0, 2.0], vec![3.0, 4.0]]];
        let texts = |width: f64| -> Vec<(f64, String)> {
            let scene = layout(&chart(heat(labels.clone(), grids.clone(), 1_000)), width);
            let is_label = |mark: &Mark| match mark {
                Mark::Text { x, text, anchor: Anchor::End, .. } => Some((*x, text.clone())),
                _ => None,
            };
            scene.marks.iter().filter_map(is_label).collect()
        };
        let of = |width| texts(width).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        assert_eq!(of(330.0), ["0x7f0000001000", "0x7f0000014000"]);
        assert_eq!(of(800.0), labels);
        assert!(texts(330.0).iter().all(|(x, text)| text.len() as f64 * DIGIT <= *x));
        assert_eq!(first_words("abcdef ghi", 4), "abc…");
        assert_eq!(first_words("ab cd ef", 6), "ab cd");
    }

    #[test]
    fn everything_lies_inside_whatever_the_numbers() {
        let odd = [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300, 5.0];
        let long = "x".repeat(500);
        let labels = [long.as_str(), "", "b", "c", "d", "e"];
        let line = |points| Line { name: "l".into(), tone: Tone::Other(9), points };
        let point = |x, y| Point { name: "p".into(), x, y, weight: f64::NAN, tone: Tone::Idle };
        let axis = |unit| Axis { label: "a".into(), unit };
        let threshold = |value| Threshold { name: long.clone(), value };
        let thresholds = odd.map(threshold).to_vec();
        let Plot::Bars(lying) = bars(&labels, &odd, false) else { return };
        let plots = [
            bars(&labels, &odd, true),
            bars(&labels, &odd, false),
            bars(&[], &[], true),
            bars(&[], &[], false),
            Plot::Lines(Lines::new(
                vec![line(vec![(0, f64::NAN), (5, 3.0), (9, -1.0)])],
                Unit::Bytes,
                Over::Time,
            )),
            Plot::Lines(Lines::new(Vec::new(), Unit::Count, Over::Number)),
            Plot::Lines(Lines::new(
                vec![line(vec![(0, 0.0), (5, f64::NAN), (i64::MAX, 1.0)]), line(vec![(7, 0.5)])],
                Unit::Ratio,
                Over::Duration,
            )),
            Plot::Lines(Lines::new(vec![line(vec![(i64::MAX, 1.0)])], Unit::Ratio, Over::Duration)),
            Plot::Lines(Lines::new(Vec::new(), Unit::Ratio, Over::Duration)),
            heat(
                vec!["0x1000".into(), long.clone(), String::new()],
                vec![
                    vec![vec![0.0, f64::NAN, -1.0, f64::INFINITY, 1e9], Vec::new()],
                    vec![vec![7.0; 5], vec![1e300; 9]],
                ],
                i64::MAX,
            ),
            heat(Vec::new(), Vec::new(), 0),
            boxes(&[], Over::Time),
            boxes(
                &[(i64::MIN, i64::MAX, f64::NAN, f64::INFINITY), (5, 3, 7.0, -1.0), (0, 9, 1e300, 2e300)],
                Over::Time,
            ),
            boxes(&[(7, 7, 1.0, 1.0)], Over::Duration),
            Plot::Addresses(odd_addresses(&long)),
            Plot::Measured(Measured { bars: lying, thresholds }),
            Plot::Points(Points {
                points: odd.iter().flat_map(|x| odd.iter().map(move |y| point(*x, *y))).collect(),
                limits: vec![Limit { name: "l".into(), corners: vec![(1e-9, 1.0), (1.0, 1e9), (1e12, 1e9)] }],
                legend: Vec::new(),
                x: axis(Unit::Plain),
                y: axis(Unit::FlopsPerSecond),
            }),
        ];
        for plot in plots {
            for width in [f64::NAN, 0.0, 320.0, 1e9] {
                let scene = layout(&chart(plot.clone()), width);
                let fits = |x: f64, y: f64| {
                    x.is_finite()
                        && y.is_finite()
                        && (-1.0..=scene.width + 1.0).contains(&x)
                        && (-1.0..=scene.height + 1.0).contains(&y)
                };
                for mark in &scene.marks {
                    let is_inside = match mark {
                        Mark::Rect { x, y, width, height, .. } | Mark::Cell { x, y, width, height, .. } => {
                            fits(*x, *y) && fits(x + width, y + height)
                        }
                        Mark::Path { corners, .. } => corners.iter().all(|(x, y)| fits(*x, *y)),
                        Mark::Dot { x, y, .. } | Mark::Text { x, y, .. } => fits(*x, *y),
                        Mark::Rule { from, to, .. } => fits(from.0, from.1) && fits(to.0, to.1),
                    };
                    assert!(is_inside, "{mark:?} in {} x {}", scene.width, scene.height);
                }
            }
        }
    }

    #[test]
    fn limits_are_cut_where_they_leave_the_picture() {
        let near =
            |a: (f64, f64), b: (f64, f64)| (a.0 / b.0 - 1.0).abs() < 1e-9 && (a.1 / b.1 - 1.0).abs() < 1e-9;
        // y = 100 x, seen from x 0.1 and y 100 on.
        let (from, to) = clip((1e-6, 1e-4), (50.0, 5000.0), (0.1, 10.0), 100.0).unwrap();
        assert!(near(from, (1.0, 100.0)) && near(to, (10.0, 1000.0)), "{from:?} {to:?}");
        assert_eq!(clip((1e-6, 1e-4), (0.5, 50.0), (0.1, 10.0), 100.0), None);
        assert_eq!(clip((20.0, 1.0), (50.0, 1.0), (0.1, 10.0), 0.5), None);
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let scene = layout(&chart(bars(&["a", "b"], &[10.0, 5.0], false)), 600.0);
        let widths: Vec<f64> = scene
            .marks
            .iter()
            .filter_map(|mark| match mark {
                Mark::Rect { width, .. } => Some(*width),
                _ => None,
            })
            .collect();
        assert!((widths[0] - 2.0 * widths[1]).abs() < 1e-9);
    }
}
