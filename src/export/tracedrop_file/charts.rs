//! Conversion of charts to and from JSON.
//!
//! ```text
//! { "charts": [{ report, before: 2, id, title, caption?,
//!   one of  bars: BARS · measured: { bars: BARS, thresholds: [[name, value]] }
//!           lines: { unit, over: "time" | "duration" | "number", lines: [[name, tone, [[x, y]]]] }
//!           heat: { labels, apart: [row], what, unit, over, span_ns, mixed: [name, tone], grids: [[name, tone, [[value]]]] }
//!           points: { x: [label, unit], y: [label, unit], legend: [[name, tone]], limits: [[name, [[x, y]]]],
//!                     points: [[name, tone, x, y, weight]] }
//!           boxes: { unit, over, legend: [[name, tone]], boxes: [[name, tone, start, end, low, high]] }
//!           addresses: see `address_map` }] }
//! BARS    { labels, unit, what, strip: true?, parts: [[name, tone, [value]]] }
//! ```
//! `before` is the number of the block in `report.json` that follows the chart. Readers skip charts of an unknown
//! kind. Drawing clips all values to the chart (`scene::layout`), so only their count is limited.

use super::address_map::{self, AddressMapContent};
use crate::base::json::typed::{self, First, Float, Lenient};
use crate::base::sort;
use crate::base::strings::StringTable;
use crate::base::units::Unit;
use crate::export::link::Refusal;
use crate::export::link::content::{short, unit_name, unit_of};
use crate::export::link::json::JsonWriter;
use crate::export::{ExporterInfo, LeftOut, TextsIn, WriteFn, always};
use crate::report::chart::{
    Axis, Bars, Boxes, Chart, Flame, FlameBox, Grid, Heat, Limit, Line, Lines, Measured, Over, Part, Period,
    Plot, Point, Points, Spans, Stretch, Threshold, Tone, ValueBox,
};
use crate::report::{Block, Report, Value};
use serde::Deserialize;

/// Rows of a flame graph.
const MAX_DEPTH: u32 = 2_000;
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
    let is_read = typed::read(text.as_bytes()).is_ok_and(|content| read_into(content, &mut []).is_ok());
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
        Plot::Boxes(boxes) => {
            json.key("boxes");
            json.object(|json| write_boxes(boxes, json));
        }
        Plot::Addresses(map) => {
            json.key("addresses");
            json.object(|json| address_map::write(map, json));
        }
        Plot::Flame(Flame { boxes, total, unit }) => {
            json.key("flame");
            json.object(|json| {
                json.member("unit", unit_name(*unit));
                json.key("total");
                float(*total, json);
                json.key("boxes");
                json.list(boxes, |FlameBox { name, start, weight, depth, is_rest, .. }, json| {
                    tuple(json, |json| {
                        json.text(name);
                        float(*start, json);
                        float(*weight, json);
                        json.number(depth);
                        json.number(u8::from(*is_rest));
                    });
                });
                if boxes.iter().any(|it| it.own > 0.0) {
                    json.key("self");
                    json.list(boxes, |it, json| float(it.own, json));
                }
                if boxes.iter().any(|it| !it.place.is_empty()) {
                    let mut texts = StringTable::default();
                    let places: Vec<u32> = boxes.iter().map(|it| texts.intern(&it.place).0).collect();
                    json.key("texts");
                    json.list(texts.all(), |text, json| json.text(text));
                    json.key("places");
                    json.list(&places, |place, json| json.number(place));
                }
                if boxes.iter().any(|it| it.sides.is_some()) {
                    json.key("sides");
                    json.list(boxes, |it, json| {
                        let (a, b) = it.sides.unwrap_or_default();
                        tuple(json, |json| {
                            float(a, json);
                            float(b, json);
                        });
                    });
                }
            });
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
    json.member("unit", unit_name(heat.unit));
    json.member("over", over_name(heat.over));
    json.key("span_ns");
    json.number(heat.span);
    write_periods(&heat.periods, json);
    if !heat.names.is_empty() {
        json.key("names");
        json.list(&heat.names, |name, json| json.text(name));
    }
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
    if spans.has_names {
        json.key("named");
        json.number(true);
    }
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

fn write_boxes(boxes: &Boxes, json: &mut JsonWriter) {
    json.member("unit", unit_name(boxes.unit));
    json.member("over", over_name(boxes.over));
    json.key("legend");
    json.list(&boxes.legend, |(name, tone), json| named(name, *tone, json, |_| {}));
    json.key("boxes");
    json.list(&boxes.boxes, |ValueBox { name, tone, start, end, low, high }, json| {
        named(name, *tone, json, |json| {
            json.number(start);
            json.number(end);
            float(*low, json);
            float(*high, json);
        });
    });
}

/// A heterogeneous list.
pub(super) fn tuple(json: &mut JsonWriter, write: impl FnOnce(&mut JsonWriter)) {
    let mut write = Some(write);
    json.list([()], |(), json| {
        if let Some(write) = write.take() {
            write(json);
        }
    });
}

/// A list that starts with a name and a tone.
pub(super) fn named<T>(
    name: &str,
    tone: Tone,
    json: &mut JsonWriter,
    rest: impl FnOnce(&mut JsonWriter) -> T,
) {
    tuple(json, |json| {
        json.text(name);
        json.text(&tone_name(tone));
        rest(json);
    });
}

pub(super) fn float(value: f64, json: &mut JsonWriter) {
    json.value(&Value::Float(value));
}

/// Names of tones in the file; more may be added.
const TONES: [(&str, Tone); 8] = [
    ("computation", Tone::Computation),
    ("communication", Tone::Communication),
    ("copies", Tone::Copies),
    ("idle", Tone::Idle),
    ("a", Tone::SideA),
    ("b", Tone::SideB),
    ("more", Tone::More),
    ("less", Tone::Less),
];

pub(super) fn tone_name(tone: Tone) -> String {
    match tone {
        Tone::Other(number) => number.to_string(),
        tone => TONES.iter().find(|(_, known)| *known == tone).map_or("", |(name, _)| name).to_string(),
    }
}

/// An unknown tone becomes the first of [`Tone::Other`].
pub(super) fn tone_of(name: &str) -> Tone {
    let known = TONES.iter().find(|(known, _)| *known == name).map(|(_, tone)| *tone);
    known.unwrap_or_else(|| Tone::Other(name.parse().unwrap_or(0)))
}

/// Names of the x axes of line charts; frozen.
const OVERS: [(&str, Over); 3] =
    [("time", Over::Time), ("duration", Over::Duration), ("number", Over::Number)];

/// Time for an unknown name.
pub(super) fn over_of(name: &str) -> Over {
    OVERS.iter().find(|(known, _)| *known == name).map_or(Over::Time, |(_, over)| *over)
}

pub(super) fn over_name(over: Over) -> &'static str {
    OVERS.iter().find(|(_, known)| *known == over).map_or("", |(name, _)| name)
}

/// The charts of a file.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Content {
    charts: Option<Vec<ChartContent>>,
}

/// A chart of one kind; of none if a later version wrote it.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ChartContent {
    report: Lenient<String>,
    before: Lenient<Option<u64>>,
    id: Lenient<String>,
    title: Lenient<String>,
    caption: Lenient<String>,
    bars: Option<BarsContent>,
    measured: Option<MeasuredContent>,
    lines: Option<LinesContent>,
    heat: Option<HeatContent>,
    points: Option<PointsContent>,
    spans: Option<SpansContent>,
    flame: Option<FlameContent>,
    boxes: Option<BoxesContent>,
    addresses: Option<AddressMapContent>,
}

/// Name, tone, and what has them.
type Named<T> = First<(String, String, T)>;
/// Name and tone.
pub(super) type Legend = First<(String, String)>;
/// Name, start, end.
type PeriodContent = (String, i64, i64);

#[derive(Deserialize, Default)]
#[serde(default)]
struct BarsContent {
    labels: Option<Vec<String>>,
    unit: Lenient<String>,
    what: Lenient<String>,
    strip: Lenient<bool>,
    parts: Option<Vec<Named<Vec<Float>>>>,
}

#[derive(Deserialize)]
struct MeasuredContent {
    bars: BarsContent,
    #[serde(default)]
    thresholds: Option<Vec<First<(String, Float)>>>,
}

/// Time in nanoseconds and value.
type LineContent = Vec<(i64, Float)>;
/// Values of a heat map, row by row.
type GridContent = Vec<Vec<Float>>;
/// Name of a limit and its points.
type LimitContent = (String, Vec<(Float, Float)>);
/// Name, tone, x, y, weight.
type PointContent = (String, String, Float, Float, Float);
/// Name, tone, row, start, duration.
type SpanContent = (String, String, u32, i64, i64);
/// Name, tone, start, end, low, high.
type BoxContent = (String, String, i64, i64, Float, Float);

#[derive(Deserialize, Default)]
#[serde(default)]
struct LinesContent {
    unit: Lenient<String>,
    over: Lenient<String>,
    periods: Option<Vec<PeriodContent>>,
    lines: Option<Vec<Named<LineContent>>>,
}

#[derive(Deserialize)]
struct HeatContent {
    #[serde(default)]
    labels: Option<Vec<String>>,
    #[serde(default)]
    apart: Option<Vec<u64>>,
    #[serde(default)]
    what: Lenient<String>,
    #[serde(default)]
    unit: Option<String>,
    #[serde(default)]
    over: Lenient<String>,
    span_ns: i64,
    #[serde(default)]
    periods: Option<Vec<PeriodContent>>,
    #[serde(default)]
    names: Option<Vec<String>>,
    mixed: Legend,
    #[serde(default)]
    grids: Option<Vec<Named<GridContent>>>,
}

#[derive(Deserialize)]
struct PointsContent {
    x: (String, String),
    y: (String, String),
    #[serde(default)]
    legend: Option<Vec<Legend>>,
    #[serde(default)]
    limits: Option<Vec<LimitContent>>,
    #[serde(default)]
    points: Option<Vec<PointContent>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SpansContent {
    labels: Option<Vec<String>>,
    legend: Option<Vec<Legend>>,
    spans: Option<Vec<SpanContent>>,
    named: Lenient<bool>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct BoxesContent {
    unit: Lenient<String>,
    over: Lenient<String>,
    legend: Option<Vec<Legend>>,
    boxes: Option<Vec<BoxContent>>,
}

/// Name, start, weight, depth, and 1 if it stands for several.
type FlameContentBox = (String, Float, Float, u32, u8);

#[derive(Deserialize, Default)]
#[serde(default)]
struct FlameContent {
    unit: Lenient<String>,
    total: Option<Float>,
    boxes: Option<Vec<FlameContentBox>>,
    /// Self weight of each box.
    #[serde(rename = "self")]
    own: Option<Vec<Float>>,
    texts: Option<Vec<String>>,
    /// Where the function of each box is: index into `texts`.
    places: Option<Vec<u32>>,
    /// Weights of A and B, for each box of a difference.
    sides: Option<Vec<(Float, Float)>>,
}

/// Inserts the charts of a file into its reports.
pub(super) fn read_into(content: Content, reports: &mut [Report]) -> Result<(), Refusal> {
    let mut budget = Budget(MAX_VALUES);
    let mut charts: Vec<(String, usize, Chart)> = Vec::new();
    for item in short(content.charts, MAX_CHARTS)? {
        let (report, id) = (item.report.0.clone(), item.id.0.clone());
        let (title, caption) = (item.title.0.clone(), item.caption.0.clone());
        let before = item.before.0.unwrap_or(u64::MAX);
        if let Some(plot) = budget.plot(item)? {
            if charts.iter().any(|(of, _, chart)| *of == report && chart.id == id) {
                return Err(Refusal::NoReport("two charts have the same id".into()));
            }
            let chart = Chart { id: id.into(), title, caption, plot };
            charts.push((report, usize::try_from(before).unwrap_or(usize::MAX), chart));
        }
    }
    // In reverse, so that earlier positions stay valid.
    sort::by_key(&mut charts, |(_, before, _)| *before);
    for (of, before, chart) in charts.into_iter().rev() {
        if let Some(report) = reports.iter_mut().find(|report| report.id == of) {
            let at = before.min(report.blocks.len());
            report.blocks.insert(at, Block::Chart(chart));
        }
    }
    Ok(())
}

pub(super) fn not_whole() -> Refusal {
    Refusal::NoReport("a chart is incomplete".into())
}

pub(super) fn legend_of(legend: Vec<Legend>) -> Vec<(String, Tone)> {
    legend.into_iter().map(|First((name, tone))| (name, tone_of(&tone))).collect()
}

/// Values that further charts may have.
pub(super) struct Budget(usize);

impl Budget {
    /// Checks the length of a list.
    fn take<T>(&mut self, list: Vec<T>) -> Result<Vec<T>, Refusal> {
        let too_many = || Refusal::NoReport("the charts have too many numbers".into());
        self.0 = self.0.checked_sub(list.len()).ok_or_else(too_many)?;
        Ok(list)
    }

    /// Checks the length of a list of labels and the like.
    pub fn short<T>(&mut self, list: Option<Vec<T>>) -> Result<Vec<T>, Refusal> {
        self.take(short(list, MAX_ITEMS)?)
    }

    /// A list that has something for each of `n` items, if it is there.
    fn of_each<T>(&mut self, n: usize, list: Option<Vec<T>>) -> Result<Option<Vec<T>>, Refusal> {
        match list {
            Some(list) if list.len() != n => Err(not_whole()),
            Some(list) => Ok(Some(self.take(list)?)),
            None => Ok(None),
        }
    }

    /// `None` for an unknown kind.
    fn plot(&mut self, chart: ChartContent) -> Result<Option<Plot>, Refusal> {
        Ok(Some(if let Some(bars) = chart.bars {
            Plot::Bars(self.bars(bars)?)
        } else if let Some(measured) = chart.measured {
            let threshold = |First((name, value)): First<(String, Float)>| Threshold { name, value: value.0 };
            Plot::Measured(Measured {
                bars: self.bars(measured.bars)?,
                thresholds: self.short(measured.thresholds)?.into_iter().map(threshold).collect(),
            })
        } else if let Some(lines) = chart.lines {
            Plot::Lines(self.lines(lines)?)
        } else if let Some(heat) = chart.heat {
            Plot::Heat(self.heat(heat)?)
        } else if let Some(points) = chart.points {
            Plot::Points(self.points(points)?)
        } else if let Some(spans) = chart.spans {
            Plot::Spans(self.spans(spans)?)
        } else if let Some(boxes) = chart.boxes {
            Plot::Boxes(self.boxes(boxes)?)
        } else if let Some(map) = chart.addresses {
            Plot::Addresses(address_map::read(map, self)?)
        } else if let Some(flame) = chart.flame {
            let boxes = self.short(flame.boxes)?;
            let of = |(name, start, weight, depth, is_rest): FlameContentBox| FlameBox {
                name,
                start: start.0,
                weight: weight.0,
                depth: depth.min(MAX_DEPTH),
                is_rest: is_rest != 0,
                ..FlameBox::default()
            };
            let mut boxes: Vec<FlameBox> = boxes.into_iter().map(of).collect();
            let n_boxes = boxes.len();
            let texts = self.short(flame.texts)?;
            if let Some(own) = self.of_each(n_boxes, flame.own)? {
                boxes.iter_mut().zip(own).for_each(|(it, own)| it.own = own.0);
            }
            if let Some(places) = self.of_each(n_boxes, flame.places)? {
                for (it, place) in boxes.iter_mut().zip(places) {
                    it.place = texts.get(place as usize).ok_or_else(not_whole)?.clone();
                }
            }
            if let Some(sides) = self.of_each(n_boxes, flame.sides)? {
                boxes.iter_mut().zip(sides).for_each(|(it, (a, b))| it.sides = Some((a.0, b.0)));
            }
            Plot::Flame(Flame {
                boxes,
                total: flame.total.map_or(0.0, |total| total.0),
                unit: unit_of(&flame.unit.0),
            })
        } else {
            return Ok(None);
        }))
    }

    fn floats(&mut self, values: Vec<Float>) -> Result<Vec<f64>, Refusal> {
        Ok(self.take(values)?.into_iter().map(|value| value.0).collect())
    }

    fn bars(&mut self, bars: BarsContent) -> Result<Bars, Refusal> {
        let labels = self.short(bars.labels)?;
        let mut parts = Vec::new();
        for First((name, tone, values)) in short(bars.parts, MAX_ITEMS)? {
            if values.len() != labels.len() {
                return Err(not_whole());
            }
            parts.push(Part { name, tone: tone_of(&tone), values: self.floats(values)? });
        }
        let (unit, what) = (unit_of(&bars.unit.0), bars.what.0);
        Ok(Bars { labels, parts, unit, is_strip: bars.strip.0, what })
    }

    fn lines(&mut self, content: LinesContent) -> Result<Lines, Refusal> {
        let mut lines = Vec::new();
        for First((name, tone, points)) in short(content.lines, MAX_ITEMS)? {
            let points = self.take(points)?.into_iter().map(|(x, y)| (x, y.0)).collect();
            lines.push(Line { name, tone: tone_of(&tone), points });
        }
        let over = over_of(&content.over.0);
        let periods = self.periods(content.periods)?;
        Ok(Lines { lines, unit: unit_of(&content.unit.0), over, periods })
    }

    /// Older files have no periods.
    fn periods(&mut self, periods: Option<Vec<PeriodContent>>) -> Result<Vec<Period>, Refusal> {
        let periods = self.short(periods)?.into_iter();
        Ok(periods.map(|(name, start, end)| Period { name, start, end }).collect())
    }

    fn heat(&mut self, content: HeatContent) -> Result<Heat, Refusal> {
        let labels = self.short(content.labels)?;
        let mut is_apart = vec![false; labels.len()];
        for row in short(content.apart, MAX_ITEMS)? {
            let row = usize::try_from(row).ok().and_then(|row| is_apart.get_mut(row));
            *row.ok_or_else(not_whole)? = true;
        }
        let mut grids = Vec::new();
        for First((name, tone, values)) in short(content.grids, MAX_ITEMS)? {
            let mut rows = Vec::new();
            for row in values {
                rows.push(self.floats(row)?);
            }
            if rows.len() != labels.len() || rows.iter().any(|row| row.len() != rows[0].len()) {
                return Err(not_whole());
            }
            grids.push(Grid { name, tone: tone_of(&tone), rows });
        }
        let First((name, tone)) = content.mixed;
        let periods = self.periods(content.periods)?;
        let (mixed, span) = ((name, tone_of(&tone)), content.span_ns);
        // Older files have counts over time.
        let unit = content.unit.map_or(Unit::Count, |unit| unit_of(&unit));
        let over = over_of(&content.over.0);
        let names = self.short(content.names)?;
        let what = content.what.0;
        Ok(Heat { labels, is_apart, grids, mixed, what, unit, over, span, periods, names, sources: None })
    }

    fn points(&mut self, content: PointsContent) -> Result<Points, Refusal> {
        let axis = |(label, unit): (String, String)| Axis { label, unit: unit_of(&unit) };
        let mut limits = Vec::new();
        for (name, corners) in short(content.limits, MAX_ITEMS)? {
            let corners = self.take(corners)?.into_iter().map(|(x, y)| (x.0, y.0)).collect();
            limits.push(Limit { name, corners });
        }
        let legend = legend_of(self.short(content.legend)?);
        let points = self.short(content.points)?.into_iter().map(|(name, tone, x, y, weight)| Point {
            name,
            x: x.0,
            y: y.0,
            weight: weight.0,
            tone: tone_of(&tone),
        });
        Ok(Points { points: points.collect(), limits, legend, x: axis(content.x), y: axis(content.y) })
    }

    fn boxes(&mut self, content: BoxesContent) -> Result<Boxes, Refusal> {
        let legend = legend_of(self.short(content.legend)?);
        let of = |(name, tone, start, end, low, high): BoxContent| ValueBox {
            name,
            tone: tone_of(&tone),
            start,
            end,
            low: low.0,
            high: high.0,
        };
        let boxes = self.short(content.boxes)?.into_iter().map(of).collect();
        Ok(Boxes { unit: unit_of(&content.unit.0), over: over_of(&content.over.0), legend, boxes })
    }

    fn spans(&mut self, content: SpansContent) -> Result<Spans, Refusal> {
        let labels = self.short(content.labels)?;
        let legend = legend_of(self.short(content.legend)?);
        let mut spans = Vec::new();
        for (name, tone, row, start, dur) in self.short(content.spans)? {
            if row as usize >= labels.len() {
                return Err(not_whole());
            }
            spans.push(Stretch { name, tone: tone_of(&tone), row, start, dur: dur.max(0) });
        }
        Ok(Spans { labels, legend, spans, has_names: content.named.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            Plot::Flame(Flame {
                boxes: vec![FlameBox {
                    name: "<main>".into(),
                    place: "app.rs".into(),
                    start: 0.5,
                    weight: 2.25,
                    own: 0.25,
                    depth: 3,
                    is_rest: true,
                    sides: Some((1.0, 2.25)),
                    ..FlameBox::default()
                }],
                total: 4.5,
                unit: Unit::Samples,
            }),
            Plot::Lines(Lines::new(vec![line], Unit::Bytes, Over::Duration)),
            Plot::Heat(Heat {
                labels: vec!["low".into(), "high".into()],
                is_apart: vec![false, true],
                grids: vec![grid],
                mixed: ("both".into(), Tone::Other(3)),
                what: "accesses".into(),
                unit: Unit::Ratio,
                over: Over::Number,
                span: 100,
                periods: vec![Period { name: "generation".into(), start: 30, end: 100 }],
                names: vec!["step 1".into(), "step 2".into()],
                sources: None,
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
                has_names: true,
            }),
            Plot::Boxes(Boxes {
                unit: Unit::Bytes,
                over: Over::Number,
                legend: vec![("forward".into(), Tone::Other(2))],
                boxes: vec![ValueBox {
                    name: "forward (a.py:7)".into(),
                    tone: Tone::Other(2),
                    start: 1,
                    end: i64::MAX,
                    low: 0.0,
                    high: 512.0,
                }],
            }),
            Plot::Addresses(address_map::tests::map()),
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
        read_into(typed::read(text.as_bytes()).unwrap(), &mut read).unwrap();
        assert!(read[0] == whole, "{text}");
    }

    #[test]
    fn what_is_not_whole_is_refused_and_what_is_unknown_is_stepped_over() {
        let text = write(&[report()]).unwrap();
        let read = |text: &str| {
            let mut reports = [Report::new("r", "R")];
            let content = typed::read(text.as_bytes()).map_err(Refusal::from)?;
            read_into(content, &mut reports).map(|()| reports[0].charts().count())
        };
        assert_eq!(read(&text), Ok(9));
        assert_eq!(read("{}"), Ok(0));
        assert_eq!(read(&text.replace("\"report\":\"r\"", "\"report\":\"other\"")), Ok(0));
        assert_eq!(read(&text.replace("\"heat\":", "\"spiral\":")), Ok(8));
        assert_eq!(read(&text.replace("\"before\":1", "\"before\":-1")), Ok(9));
        for (from, to) in [
            ("chart_1", "chart_0"),
            ("[1.5,0]", "[1.5]"),
            ("[1.5,0]", "[1.5,null]"),
            ("\"apart\":[1]", "\"apart\":[9]"),
            ("[[1,2],[0,4]]", "[[1,2],[0]]"),
            ("[-5,0.25]", "[-5]"),
            ("\"computation\",1,2,0.5", "\"computation\",1,2"),
            ("[\"<main>\",0.5,2.25,3,1]", "[\"<main>\",0.5,2.25,3]"),
            ("\"span_ns\":100", "\"span_ns\":1e99"),
        ] {
            assert!(text.contains(from), "{from} in {text}");
            assert!(read(&text.replace(from, to)).is_err(), "{from} to {to}");
        }
    }
}
