//! Conversion of charts to and from JSON.
//!
//! ```text
//! { "charts": [{ report, before: 2, id, title, caption?,
//!   one of  bars: BARS · measured: { bars: BARS, thresholds: [[name, value]] }
//!           lines: { unit, over: "time" | "duration" | "number", lines: [[name, tone, [[x, y]]]] }
//!           heat: { labels, apart: [row], what, span_ns, mixed: [name, tone], grids: [[name, tone, [[value]]]] }
//!           points: { x: [label, unit], y: [label, unit], legend: [[name, tone]], limits: [[name, [[x, y]]]],
//!                     points: [[name, tone, x, y, weight]] } }] }
//! BARS    { labels, unit, what, strip: true?, parts: [[name, tone, [value]]] }
//! ```
//! `before` is the number of the block in `report.json` that follows the chart. Readers skip charts of an unknown
//! kind. Drawing clips all values to the chart (`scene::layout`), so only their count is limited.

use crate::base::json::Json;
use crate::export::link::Refusal;
use crate::export::link::content::{short_list, text, unit_name, unit_of};
use crate::export::link::json::JsonWriter;
use crate::export::{ExporterInfo, LeftOut, TextsIn, WriteFn, always};
use crate::report::chart::{
    Axis, Bars, Chart, Grid, Heat, Limit, Line, Lines, Measured, Over, Part, Period, Plot, Point, Points,
    Spans, Stretch, Threshold, Tone,
};
use crate::report::{Block, Report, Value};

/// Limits on the charts of a file, and on the items of a list in a chart.
const MAX_CHARTS: usize = 1_000;
const MAX_ITEMS: usize = 20_000;
/// Limit on the numbers in all charts: each may become a mark on the page.
const MAX_VALUES: usize = 500_000;

/// Writes only the charts, for the preview of exported texts.
pub static INFO: ExporterInfo = ExporterInfo {
    id: "charts",
    title: "Charts of a Tracedrop file",
    extension: "json",
    media_type: "application/json",
    in_menu: false,
    needs: "",
    applies: always,
    write: WriteFn::AtOnce(|input, out| {
        let charts = write(input.document.reports).unwrap_or_default();
        out.write_all(charts.as_bytes()).map(LeftOut::nothing)
    }),
    reference: None,
    converts: None,
    texts: TextsIn::Document,
    takes_part: false,
    can_redact: true,
    takes_notes: false,
};

/// The charts of these reports; `None` if there are none, or more than readers accept.
pub(super) fn write(reports: &[Report]) -> Option<String> {
    reports.iter().find(|report| report.charts().next().is_some())?;
    let mut json = JsonWriter::default();
    json.object(|json| {
        json.key("charts");
        json.list(reports.iter().flat_map(placed), |(report, before, chart), json| {
            json.object(|json| {
                json.member("report", report);
                json.key("before");
                json.number(before);
                write_chart(chart, json);
            });
        });
    });
    let text = json.into_text();
    let is_read = Json::parse(text.as_bytes()).is_some_and(|json| read_into(&json, &mut []).is_ok());
    is_read.then_some(text)
}

/// The charts of a report, each with its id and the number of other blocks before it.
fn placed(report: &Report) -> impl Iterator<Item = (&str, usize, &Chart)> {
    report
        .blocks
        .iter()
        .scan(0, |n_before, block| {
            Some(match block {
                Block::Chart(chart) => Some((report.id.as_ref(), *n_before, chart)),
                _ => {
                    *n_before += 1;
                    None
                }
            })
        })
        .flatten()
}

fn write_chart(chart: &Chart, json: &mut JsonWriter) {
    let Chart { id, title, caption, plot } = chart;
    json.member("id", id);
    json.member("title", title);
    json.member("caption", caption);
    match plot {
        Plot::Bars(bars) => write_bars(bars, json),
        Plot::Measured(Measured { bars, thresholds }) => {
            json.key("measured");
            json.object(|json| {
                write_bars(bars, json);
                json.key("thresholds");
                json.list(thresholds, |Threshold { name, value }, json| {
                    tuple(json, |json| {
                        json.text(name);
                        float(*value, json);
                    });
                });
            });
        }
        Plot::Lines(Lines { lines, unit, over, periods }) => {
            json.key("lines");
            json.object(|json| {
                json.member("unit", unit_name(*unit));
                json.member("over", over_name(*over));
                write_periods(periods, json);
                json.key("lines");
                json.list(lines, |Line { name, tone, points }, json| {
                    named(name, *tone, json, |json| {
                        json.list(points, |(x, y), json| {
                            tuple(json, |json| {
                                json.number(x);
                                float(*y, json);
                            });
                        });
                    });
                });
            });
        }
        Plot::Heat(heat) => {
            json.key("heat");
            json.object(|json| write_heat(heat, json));
        }
        Plot::Points(points) => {
            json.key("points");
            json.object(|json| write_points(points, json));
        }
        Plot::Spans(spans) => {
            json.key("spans");
            json.object(|json| write_spans(spans, json));
        }
    }
}

fn write_bars(bars: &Bars, json: &mut JsonWriter) {
    json.key("bars");
    json.object(|json| {
        json.key("labels");
        json.list(&bars.labels, |label, json| json.text(label));
        json.member("unit", unit_name(bars.unit));
        json.member("what", &bars.what);
        if bars.is_strip {
            json.key("strip");
            json.number(true);
        }
        json.key("parts");
        json.list(&bars.parts, |Part { name, tone, values }, json| {
            named(name, *tone, json, |json| json.list(values, |value, json| float(*value, json)));
        });
    });
}

fn write_heat(heat: &Heat, json: &mut JsonWriter) {
    json.key("labels");
    json.list(&heat.labels, |label, json| json.text(label));
    json.key("apart");
    let apart = heat.is_apart.iter().enumerate().filter(|(_, is_apart)| **is_apart);
    json.list(apart, |(row, _), json| json.number(row));
    json.member("what", &heat.what);
    json.key("span_ns");
    json.number(heat.span);
    write_periods(&heat.periods, json);
    json.key("mixed");
    named(&heat.mixed.0, heat.mixed.1, json, |_| {});
    json.key("grids");
    json.list(&heat.grids, |Grid { name, tone, rows }, json| {
        named(name, *tone, json, |json| {
            json.list(rows, |row, json| json.list(row, |value, json| float(*value, json)));
        });
    });
}

fn write_periods(periods: &[Period], json: &mut JsonWriter) {
    if periods.is_empty() {
        return;
    }
    json.key("periods");
    json.list(periods, |Period { name, start, end }, json| {
        tuple(json, |json| {
            json.text(name);
            json.number(start);
            json.number(end);
        });
    });
}

fn write_points(points: &Points, json: &mut JsonWriter) {
    for (key, axis) in [("x", &points.x), ("y", &points.y)] {
        json.key(key);
        tuple(json, |json| {
            json.text(&axis.label);
            json.text(unit_name(axis.unit));
        });
    }
    json.key("legend");
    json.list(&points.legend, |(name, tone), json| named(name, *tone, json, |_| {}));
    json.key("limits");
    json.list(&points.limits, |Limit { name, corners }, json| {
        tuple(json, |json| {
            json.text(name);
            json.list(corners, |(x, y), json| {
                tuple(json, |json| {
                    float(*x, json);
                    float(*y, json);
                });
            });
        });
    });
    json.key("points");
    json.list(&points.points, |Point { name, x, y, weight, tone }, json| {
        named(name, *tone, json, |json| [x, y, weight].map(|value| float(*value, json)));
    });
}

fn write_spans(spans: &Spans, json: &mut JsonWriter) {
    json.key("labels");
    json.list(&spans.labels, |label, json| json.text(label));
    json.key("legend");
    json.list(&spans.legend, |(name, tone), json| named(name, *tone, json, |_| {}));
    json.key("spans");
    json.list(&spans.spans, |Stretch { name, tone, row, start, dur }, json| {
        named(name, *tone, json, |json| {
            json.number(row);
            json.number(start);
            json.number(dur);
        });
    });
}

/// A heterogeneous list.
fn tuple(json: &mut JsonWriter, write: impl FnOnce(&mut JsonWriter)) {
    let mut write = Some(write);
    json.list([()], |(), json| {
        if let Some(write) = write.take() {
            write(json);
        }
    });
}

/// A list that starts with a name and a tone.
fn named<T>(name: &str, tone: Tone, json: &mut JsonWriter, rest: impl FnOnce(&mut JsonWriter) -> T) {
    tuple(json, |json| {
        json.text(name);
        json.text(&tone_name(tone));
        rest(json);
    });
}

fn float(value: f64, json: &mut JsonWriter) {
    json.value(&Value::Float(value));
}

/// Names of tones in the file; frozen.
const TONES: [(&str, Tone); 6] = [
    ("computation", Tone::Computation),
    ("communication", Tone::Communication),
    ("copies", Tone::Copies),
    ("idle", Tone::Idle),
    ("a", Tone::SideA),
    ("b", Tone::SideB),
];

fn tone_name(tone: Tone) -> String {
    match tone {
        Tone::Other(number) => number.to_string(),
        tone => TONES.iter().find(|(_, known)| *known == tone).map_or("", |(name, _)| name).to_string(),
    }
}

/// An unknown tone becomes the first of [`Tone::Other`].
fn tone_of(name: &str) -> Tone {
    let known = TONES.iter().find(|(known, _)| *known == name).map(|(_, tone)| *tone);
    known.unwrap_or_else(|| Tone::Other(name.parse().unwrap_or(0)))
}

/// Names of the x axes of line charts; frozen.
const OVERS: [(&str, Over); 3] =
    [("time", Over::Time), ("duration", Over::Duration), ("number", Over::Number)];

fn over_name(over: Over) -> &'static str {
    OVERS.iter().find(|(_, known)| *known == over).map_or("", |(name, _)| name)
}

/// Inserts the charts of a file into its reports.
pub(super) fn read_into(json: &Json, reports: &mut [Report]) -> Result<(), Refusal> {
    let mut budget = MAX_VALUES;
    let mut charts: Vec<(String, usize, Chart)> = Vec::new();
    for item in short_list(json, "charts", MAX_CHARTS)? {
        if let Some(plot) = read_plot(item, &mut budget)? {
            let (report, id) = (text(item, "report"), text(item, "id"));
            if charts.iter().any(|(of, _, chart)| *of == report && chart.id == id) {
                return Err(Refusal::NoReport("two charts have the same id"));
            }
            let before = item.get("before").and_then(Json::as_u64).unwrap_or(u64::MAX);
            let chart =
                Chart { id: id.into(), title: text(item, "title"), caption: text(item, "caption"), plot };
            charts.push((report, usize::try_from(before).unwrap_or(usize::MAX), chart));
        }
    }
    // In reverse, so that earlier positions stay valid.
    charts.sort_by_key(|(_, before, _)| *before);
    for (of, before, chart) in charts.into_iter().rev() {
        if let Some(report) = reports.iter_mut().find(|report| report.id == of) {
            let at = before.min(report.blocks.len());
            report.blocks.insert(at, Block::Chart(chart));
        }
    }
    Ok(())
}

const NOT_WHOLE: Refusal = Refusal::NoReport("a chart is incomplete");

/// `None` for an unknown kind.
fn read_plot(json: &Json, budget: &mut usize) -> Result<Option<Plot>, Refusal> {
    Ok(Some(if json.get("bars").is_some() {
        Plot::Bars(read_bars(json, budget)?)
    } else if let Some(measured) = json.get("measured") {
        let threshold = |item: &Json| match item.as_array() {
            Some([Json::String(name), value]) => {
                Ok(Threshold { name: name.clone(), value: read_float(value)? })
            }
            _ => Err(NOT_WHOLE),
        };
        Plot::Measured(Measured {
            bars: read_bars(measured, budget)?,
            thresholds: all(short_list(measured, "thresholds", MAX_ITEMS)?, budget, threshold)?,
        })
    } else if let Some(lines) = json.get("lines") {
        Plot::Lines(read_lines(lines, budget)?)
    } else if let Some(heat) = json.get("heat") {
        Plot::Heat(read_heat(heat, budget)?)
    } else if let Some(points) = json.get("points") {
        Plot::Points(read_points(points, budget)?)
    } else if let Some(spans) = json.get("spans") {
        Plot::Spans(read_spans(spans, budget)?)
    } else {
        return Ok(None);
    }))
}

/// Parses each item of a list, after checking its length against the budget.
fn all<T>(
    list: &[Json],
    budget: &mut usize,
    read: impl Fn(&Json) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    *budget = budget.checked_sub(list.len()).ok_or(Refusal::NoReport("the charts have too many numbers"))?;
    list.iter().map(read).collect()
}

fn read_float(json: &Json) -> Result<f64, Refusal> {
    match json {
        Json::String(_) => Ok(f64::NAN),
        number => number.as_f64().ok_or(NOT_WHOLE),
    }
}

fn read_text(json: &Json) -> Result<String, Refusal> {
    json.as_str().map(str::to_string).ok_or(NOT_WHOLE)
}

/// A list that starts with a name and a tone.
fn read_named(json: &Json) -> Result<(String, Tone, &[Json]), Refusal> {
    match json.as_array() {
        Some([Json::String(name), Json::String(tone), rest @ ..]) => Ok((name.clone(), tone_of(tone), rest)),
        _ => Err(NOT_WHOLE),
    }
}

/// The list that follows name and tone.
fn only_list(rest: &[Json]) -> Result<&[Json], Refusal> {
    rest.first().and_then(Json::as_array).ok_or(NOT_WHOLE)
}

fn read_bars(json: &Json, budget: &mut usize) -> Result<Bars, Refusal> {
    let bars = json.get("bars").ok_or(NOT_WHOLE)?;
    let labels = all(short_list(bars, "labels", MAX_ITEMS)?, budget, read_text)?;
    let mut parts = Vec::new();
    for part in short_list(bars, "parts", MAX_ITEMS)? {
        let (name, tone, rest) = read_named(part)?;
        let values = all(only_list(rest)?, budget, read_float)?;
        if values.len() != labels.len() {
            return Err(NOT_WHOLE);
        }
        parts.push(Part { name, tone, values });
    }
    Ok(Bars {
        labels,
        parts,
        unit: unit_of(&text(bars, "unit")),
        is_strip: bars.get("strip") == Some(&Json::Bool(true)),
        what: text(bars, "what"),
    })
}

fn read_lines(json: &Json, budget: &mut usize) -> Result<Lines, Refusal> {
    let point = |point: &Json| match point.as_array() {
        Some([x, y]) => Ok((x.as_i64().ok_or(NOT_WHOLE)?, read_float(y)?)),
        _ => Err(NOT_WHOLE),
    };
    let mut lines = Vec::new();
    for line in short_list(json, "lines", MAX_ITEMS)? {
        let (name, tone, rest) = read_named(line)?;
        lines.push(Line { name, tone, points: all(only_list(rest)?, budget, point)? });
    }
    let over = text(json, "over");
    let over = OVERS.iter().find(|(known, _)| *known == over).map_or(Over::Time, |(_, over)| *over);
    let periods = read_periods(json, budget)?;
    Ok(Lines { lines, unit: unit_of(&text(json, "unit")), over, periods })
}

fn read_periods(json: &Json, budget: &mut usize) -> Result<Vec<Period>, Refusal> {
    let period = |period: &Json| match period.as_array() {
        Some([name, start, end]) => Ok(Period {
            name: read_text(name)?,
            start: start.as_i64().ok_or(NOT_WHOLE)?,
            end: end.as_i64().ok_or(NOT_WHOLE)?,
        }),
        _ => Err(NOT_WHOLE),
    };
    match json.get("periods") {
        // Older files have no periods.
        None => Ok(Vec::new()),
        Some(_) => all(short_list(json, "periods", MAX_ITEMS)?, budget, period),
    }
}

fn read_heat(json: &Json, budget: &mut usize) -> Result<Heat, Refusal> {
    let labels = all(short_list(json, "labels", MAX_ITEMS)?, budget, read_text)?;
    let mut is_apart = vec![false; labels.len()];
    for row in short_list(json, "apart", MAX_ITEMS)? {
        let row = row.as_u64().and_then(|row| is_apart.get_mut(row as usize));
        *row.ok_or(NOT_WHOLE)? = true;
    }
    let mut grids = Vec::new();
    for grid in short_list(json, "grids", MAX_ITEMS)? {
        let (name, tone, rest) = read_named(grid)?;
        let mut rows = Vec::new();
        for row in only_list(rest)? {
            rows.push(all(row.as_array().ok_or(NOT_WHOLE)?, budget, read_float)?);
        }
        if rows.len() != labels.len() || rows.iter().any(|row| row.len() != rows[0].len()) {
            return Err(NOT_WHOLE);
        }
        grids.push(Grid { name, tone, rows });
    }
    let (name, tone, _) = read_named(json.get("mixed").ok_or(NOT_WHOLE)?)?;
    let span = json.get("span_ns").and_then(Json::as_i64).ok_or(NOT_WHOLE)?;
    let periods = read_periods(json, budget)?;
    Ok(Heat { labels, is_apart, grids, mixed: (name, tone), what: text(json, "what"), span, periods })
}

fn read_points(json: &Json, budget: &mut usize) -> Result<Points, Refusal> {
    let axis = |key: &str| match json.get(key).and_then(Json::as_array) {
        Some([Json::String(label), Json::String(unit)]) => {
            Ok(Axis { label: label.clone(), unit: unit_of(unit) })
        }
        _ => Err(NOT_WHOLE),
    };
    let corner = |corner: &Json| match corner.as_array() {
        Some([x, y]) => Ok((read_float(x)?, read_float(y)?)),
        _ => Err(NOT_WHOLE),
    };
    let mut limits = Vec::new();
    for limit in short_list(json, "limits", MAX_ITEMS)? {
        let Some([Json::String(name), corners]) = limit.as_array() else { return Err(NOT_WHOLE) };
        let corners = all(corners.as_array().ok_or(NOT_WHOLE)?, budget, corner)?;
        limits.push(Limit { name: name.clone(), corners });
    }
    let point = |point: &Json| match read_named(point)? {
        (name, tone, [x, y, weight]) => {
            Ok(Point { name, x: read_float(x)?, y: read_float(y)?, weight: read_float(weight)?, tone })
        }
        _ => Err(NOT_WHOLE),
    };
    let legend = all(short_list(json, "legend", MAX_ITEMS)?, budget, |item| {
        read_named(item).map(|(name, tone, _)| (name, tone))
    })?;
    let points = all(short_list(json, "points", MAX_ITEMS)?, budget, point)?;
    Ok(Points { points, limits, legend, x: axis("x")?, y: axis("y")? })
}

fn read_spans(json: &Json, budget: &mut usize) -> Result<Spans, Refusal> {
    let labels = all(short_list(json, "labels", MAX_ITEMS)?, budget, read_text)?;
    let legend = all(short_list(json, "legend", MAX_ITEMS)?, budget, |item| {
        read_named(item).map(|(name, tone, _)| (name, tone))
    })?;
    let spans = all(short_list(json, "spans", MAX_ITEMS)?, budget, |item| {
        let (name, tone, rest) = read_named(item)?;
        let [row, start, dur] = rest else { return Err(NOT_WHOLE) };
        let row =
            row.as_u64().and_then(|row| u32::try_from(row).ok()).filter(|row| (*row as usize) < labels.len());
        let ns = |json: &Json| json.as_i64().ok_or(NOT_WHOLE);
        Ok(Stretch { name, tone, row: row.ok_or(NOT_WHOLE)?, start: ns(start)?, dur: ns(dur)?.max(0) })
    })?;
    Ok(Spans { labels, legend, spans })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::units::Unit;
    use crate::report::Facts;

    fn of_each_kind() -> Vec<Plot> {
        let bars = Bars {
            labels: vec!["one".into(), "two \"<b>".into()],
            parts: vec![
                Part { name: "p".into(), tone: Tone::Idle, values: vec![1.5, 0.0] },
                Part { name: "q".into(), tone: Tone::Other(7), values: vec![2.0, 1e300] },
            ],
            unit: Unit::Ns,
            is_strip: true,
            what: "step".into(),
        };
        let line = Line { name: "l".into(), tone: Tone::SideB, points: vec![(-5, 0.25), (i64::MAX, 3.0)] };
        let grid =
            Grid { name: "reads".into(), tone: Tone::Copies, rows: vec![vec![1.0, 2.0], vec![0.0, 4.0]] };
        vec![
            Plot::Measured(Measured {
                bars: Bars { is_strip: false, ..bars.clone() },
                thresholds: vec![Threshold { name: "t".into(), value: 0.5 }],
            }),
            Plot::Bars(bars),
            Plot::Lines(Lines::new(vec![line], Unit::Bytes, Over::Duration)),
            Plot::Heat(Heat {
                labels: vec!["low".into(), "high".into()],
                is_apart: vec![false, true],
                grids: vec![grid],
                mixed: ("both".into(), Tone::Other(3)),
                what: "accesses".into(),
                span: 100,
                periods: vec![Period { name: "generation".into(), start: 30, end: 100 }],
            }),
            Plot::Spans(Spans {
                labels: vec!["CPU".into()],
                legend: vec![("decode".into(), Tone::Other(1))],
                spans: vec![Stretch {
                    name: "step".into(),
                    tone: Tone::Other(1),
                    row: 0,
                    start: -7,
                    dur: i64::MAX,
                }],
            }),
            Plot::Points(Points {
                points: vec![Point {
                    name: "k".into(),
                    x: 1.0,
                    y: 2.0,
                    weight: 0.5,
                    tone: Tone::Computation,
                }],
                limits: vec![Limit { name: "roof".into(), corners: vec![(0.1, 1.0), (10.0, 1.0)] }],
                legend: vec![("bound".into(), Tone::Communication)],
                x: Axis { label: "x".into(), unit: Unit::Plain },
                y: Axis { label: "y".into(), unit: Unit::FlopsPerSecond },
            }),
        ]
    }

    /// A report with facts before, between and after charts.
    fn report() -> Report {
        let mut report = Report::new("r", "R");
        report.facts(Facts::new("first"));
        for (at, plot) in of_each_kind().into_iter().enumerate() {
            let id = format!("chart_{at}").into();
            report.chart(Chart { id, title: format!("Chart {at}"), caption: String::new(), plot });
            if at == 1 {
                report.facts(Facts::new("between"));
            }
        }
        report.facts(Facts::new("last"));
        report
    }

    #[test]
    fn what_is_written_is_read_at_its_place() {
        let whole = report();
        let text = write(std::slice::from_ref(&whole)).unwrap();
        let mut bare = whole.clone();
        bare.blocks.retain(|block| !matches!(block, Block::Chart(_)));
        assert_eq!(write(std::slice::from_ref(&bare)), None);
        let mut read = [bare];
        read_into(&Json::parse(text.as_bytes()).unwrap(), &mut read).unwrap();
        assert!(read[0] == whole, "{text}");
    }

    #[test]
    fn what_is_not_whole_is_refused_and_what_is_unknown_is_stepped_over() {
        let text = write(&[report()]).unwrap();
        let read = |text: &str| {
            let mut reports = [Report::new("r", "R")];
            read_into(&Json::parse(text.as_bytes()).unwrap(), &mut reports)
                .map(|()| reports[0].charts().count())
        };
        assert_eq!(read(&text), Ok(6));
        assert_eq!(read("{}"), Ok(0));
        assert_eq!(read(&text.replace("\"report\":\"r\"", "\"report\":\"other\"")), Ok(0));
        assert_eq!(read(&text.replace("\"heat\":", "\"spiral\":")), Ok(5));
        assert_eq!(read(&text.replace("\"before\":1", "\"before\":-1")), Ok(6));
        for (from, to) in [
            ("chart_1", "chart_0"),
            ("[1.5,0]", "[1.5]"),
            ("[1.5,0]", "[1.5,null]"),
            ("\"apart\":[1]", "\"apart\":[9]"),
            ("[[1,2],[0,4]]", "[[1,2],[0]]"),
            ("[-5,0.25]", "[-5]"),
            ("\"computation\",1,2,0.5", "\"computation\",1,2"),
            ("\"span_ns\":100", "\"span_ns\":1e99"),
        ] {
            assert!(text.contains(from), "{from} in {text}");
            assert!(read(&text.replace(from, to)).is_err(), "{from} to {to}");
        }
    }
}
