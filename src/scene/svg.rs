//! Standalone SVG of a scene, without style sheet. Flame graphs come with a script for zoom and search; nothing else does.

use super::{Anchor, Mark, N_OTHER, Scene, layout, tone_name};
use crate::base::text;
use crate::report::Chart;
use crate::report::chart::{Plot, Tone};
use std::fmt::Write;

/// Colors on light and dark background. Parts of time, the sides of a comparison, more and less, and series have disjoint palettes,
/// so that no color has two meanings on one screen. Within a palette, colors are distinct with color vision deficiency. The style
/// sheets of the page and of reports have the same ones.
pub fn color(tone: Tone) -> (&'static str, &'static str) {
    const OTHER: [(&str, &str); N_OTHER as usize] = [
        ("#7a2a8c", "#cf86e8"),
        ("#3f6212", "#5f8f35"),
        ("#7387f0", "#6a78f2"),
        ("#d76a8e", "#ffb9ce"),
        ("#7d7f14", "#d2c84f"),
        ("#39424e", "#a3b0bf"),
    ];
    match tone {
        Tone::Computation => ("#0072b2", "#56b4e9"),
        Tone::Communication => ("#d55e00", "#e69f00"),
        Tone::Copies => ("#009e73", "#1f9d74"),
        Tone::Idle => ("#d5dbe2", "#39434f"),
        Tone::SideA => ("#4b3fb0", "#9d93ff"),
        Tone::SideB => ("#a8740a", "#f6dca4"),
        Tone::More => ("#a3123f", "#ff8196"),
        Tone::Less => ("#0b7f8c", "#62dbe6"),
        Tone::Other(number) => OTHER[usize::from(number % N_OTHER)],
    }
}

/// Appends the drawing of a chart with colors of its own. Every text is escaped. Where it is a flame graph, the document ends with
/// [`push_script`].
pub fn write(scene: &Scene, chart: &Chart, out: &mut String) {
    let alone = r#" xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="12""#;
    let attributes = match is_interactive(chart) {
        true => format!("{alone}{FLAME}"),
        false => alone.to_string(),
    };
    let paper = r##"<rect width="100%" height="100%" fill="#ffffff"/>"##;
    push_drawing(scene, &chart.title, &attributes, paper, Paint::Colors, out);
}

const END: &str = "</svg>\n";
/// What the script knows flame graphs by.
const FLAME: &str = r#" class="flame""#;

/// Whether a script makes more of a chart than a picture.
pub fn is_interactive(chart: &Chart) -> bool {
    matches!(chart.plot, Plot::Flame(_))
}

/// Appends the script for zoom and search in the flame graphs of a document, which needs nothing else and fetches nothing.
pub fn push_script(out: &mut String) {
    out.push_str("<script><![CDATA[\n");
    out.push_str(include_str!("flame_graph.js"));
    out.push_str("]]></script>\n");
}

/// Height of the title, and of a row of the legend.
const TITLE: f64 = 30.0;
const LEGEND_ROW: f64 = 18.0;
/// Approximate width of a character.
const LETTER: f64 = 6.6;
/// Margin, as text widths are approximate.
const MARGIN: f64 = 8.0;

/// Width of a chart file, in pixels: about that of a text page.
pub const FILE_WIDTH: f64 = 960.0;

/// Standalone SVG of a chart: title, legend and drawing, on white.
pub fn picture(chart: &Chart, width: f64) -> String {
    let mut scene = layout(chart, width - 2.0 * MARGIN);
    let legend = std::mem::take(&mut scene.legend);
    let mut marks = vec![Mark::Text { x: MARGIN, y: 20.0, anchor: Anchor::Start, text: chart.title.clone() }];
    let (mut x, mut y) = (MARGIN, TITLE);
    for (name, tone) in legend {
        let needed = 18.0 + name.chars().count() as f64 * LETTER + 16.0;
        if x > MARGIN && x + needed > scene.width {
            (x, y) = (MARGIN, y + LEGEND_ROW);
        }
        marks.push(Mark::Rect { x, y, width: 12.0, height: 12.0, tone, title: name.clone() });
        marks.push(Mark::Text { x: x + 18.0, y: y + 10.0, anchor: Anchor::Start, text: name });
        x += needed;
    }
    let head = if marks.len() > 1 { y + LEGEND_ROW + 6.0 } else { TITLE };
    marks.extend(scene.marks.into_iter().map(|mark| mark.moved(MARGIN, head)));
    let scene = Scene {
        width: scene.width + 2.0 * MARGIN,
        height: scene.height + head + MARGIN,
        marks,
        legend: Vec::new(),
    };
    let mut out = String::new();
    write(&scene, chart, &mut out);
    if is_interactive(chart) {
        out.truncate(out.len() - END.len());
        push_script(&mut out);
        out.push_str(END);
    }
    out
}

/// Appends the drawing for a page whose style sheet knows the classes of [`tone_name`], and `grid`, `limit`, `line` and
/// `area`. Every text is escaped.
pub fn write_in_page(scene: &Scene, title: &str, out: &mut String) {
    push_drawing(scene, title, "", "", Paint::Classes, out);
}

/// The element with more `attributes`, and with `behind` behind the marks.
fn push_drawing(scene: &Scene, title: &str, attributes: &str, behind: &str, paint: Paint, out: &mut String) {
    // Writing to a string does not fail.
    let _ = write!(
        out,
        r#"<svg width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img"{attributes}><title>"#,
        scene.width.round(),
        scene.height.round()
    );
    push_text(title, out);
    out.push_str("</title>");
    out.push_str(behind);
    for mark in &scene.marks {
        push_mark(mark, paint, out);
    }
    out.push_str(END);
}

/// How a drawing is colored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Paint {
    /// Inline colors.
    Colors,
    /// Classes of a style sheet.
    Classes,
}

impl Paint {
    /// Fill attributes.
    fn fill(self, tone: Tone) -> String {
        match self {
            Paint::Colors => format!(r#"fill="{}""#, color(tone).0),
            Paint::Classes => format!(r#"class="{}""#, tone_name(tone)),
        }
    }

    /// Attributes of a line, or of an area.
    fn stroke(self, tone: Tone, is_area: bool) -> String {
        match self {
            Paint::Colors => {
                let color = color(tone).0;
                let fill = if is_area { color } else { "none" };
                format!(r#"stroke="{color}" stroke-width="1.5" fill="{fill}" fill-opacity="0.25""#)
            }
            Paint::Classes => {
                format!(r#"class="{} {}""#, tone_name(tone), if is_area { "area" } else { "line" })
            }
        }
    }
}

fn push_mark(mark: &Mark, paint: Paint, out: &mut String) {
    let _ = match mark {
        Mark::Rect { x, y, width, height, tone, title } => {
            let _ = write!(
                out,
                r#"<rect x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{height:.2}" {}><title>"#,
                paint.fill(*tone)
            );
            push_text(title, out);
            write!(out, "</title></rect>")
        }
        Mark::Cell { x, y, width, height, tone, strength, title } => {
            let _ = write!(
                out,
                r#"<rect x="{x:.2}" y="{y:.2}" width="{width:.2}" height="{height:.2}" {} fill-opacity="{strength:.2}"><title>"#,
                paint.fill(*tone)
            );
            push_text(title, out);
            write!(out, "</title></rect>")
        }
        Mark::Dot { x, y, radius, tone, title } => {
            let _ = write!(
                out,
                r#"<circle cx="{x:.2}" cy="{y:.2}" r="{radius:.2}" {} fill-opacity="0.7"><title>"#,
                paint.fill(*tone)
            );
            push_text(title, out);
            write!(out, "</title></circle>")
        }
        Mark::Path { corners, tone, base } => {
            write!(out, r#"<path d="{}" {}/>"#, path(corners, *base), paint.stroke(*tone, base.is_some()))
        }
        Mark::Rule { from, to, is_limit } => {
            let _ = write!(
                out,
                r#"<line x1="{:.2}" y1="{:.2}" x2="{:.2}" y2="{:.2}""#,
                from.0, from.1, to.0, to.1
            );
            match (paint, is_limit) {
                (Paint::Colors, true) => write!(out, r##" stroke="#16202c"/>"##),
                (Paint::Colors, false) => write!(out, r##" stroke="#e0e5eb"/>"##),
                (Paint::Classes, true) => write!(out, r#" class="limit"/>"#),
                (Paint::Classes, false) => write!(out, r#" class="grid"/>"#),
            }
        }
        Mark::Text { x, y, anchor, text } => {
            let _ = write!(out, r#"<text x="{x:.2}" y="{y:.2}" text-anchor="{}""#, Anchor::name(*anchor));
            out.push_str(if paint == Paint::Colors { r##" fill="#4f5c6b">"## } else { ">" });
            push_text(text, out);
            write!(out, "</text>")
        }
    };
}

/// The `d` attribute of a path. An area goes down to its base at both ends.
pub fn path(corners: &[(f64, f64)], base: Option<f64>) -> String {
    let mut d = String::with_capacity(corners.len() * 14);
    let (Some(first), Some(last)) = (corners.first(), corners.last()) else { return d };
    let mut push = |letter: char, x: f64, y: f64| {
        let _ = write!(d, "{letter}{x:.1} {y:.1}");
    };
    if let Some(base) = base {
        push('M', first.0, base);
    }
    for (at, (x, y)) in corners.iter().enumerate() {
        push(if at == 0 && base.is_none() { 'M' } else { 'L' }, *x, *y);
    }
    if let Some(base) = base {
        push('L', last.0, base);
    }
    d
}

/// Appends a text, escaped for XML and HTML.
pub fn push_text(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML allows no other control characters.
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            // Nothing reorders or hides text.
            c if !c.is_control() && text::is_control(c) => text::push_visible(c, out),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_its_title_and_its_legend() {
        use crate::base::units::Unit;
        use crate::report::chart::{Bars, Part, Plot};
        let part = |name: &str, tone| Part { name: name.to_string(), tone, values: vec![3.0] };
        let bars = Bars {
            labels: vec!["a".to_string()],
            parts: vec![part("computation", Tone::Computation), part("idle", Tone::Idle)],
            unit: Unit::Ns,
            is_strip: false,
            what: String::new(),
        };
        let chart = Chart {
            id: "c".into(),
            title: "Time & idle".to_string(),
            caption: String::new(),
            plot: Plot::Bars(bars),
        };
        let picture = picture(&chart, 300.0);
        for text in
            ["Time &amp; idle</text>", ">computation</text>", ">idle</text>", "http://www.w3.org/2000/svg"]
        {
            assert!(picture.contains(text), "{text} in {picture}");
        }
    }

    #[test]
    fn texts_are_escaped() {
        let mark = Mark::Text { x: 1.0, y: 2.0, anchor: Anchor::Start, text: "<script>&\"\0\u{202e}".into() };
        let scene = Scene { width: 10.0, height: 10.0, marks: vec![mark], legend: Vec::new() };
        let mut out = String::new();
        write_in_page(&scene, "a<b", &mut out);
        assert!(
            out.contains("&lt;script&gt;&amp;&quot;\u{fffd}\\u{202e}</text>")
                && out.contains("<title>a&lt;b</title>")
        );
    }

    /// The page, reports as one file, and pictures paint the same tones.
    #[test]
    fn the_style_sheets_have_these_colors() {
        let page = include_str!("../../www/styles/chart.css");
        let report = include_str!("../export/html/report.css");
        let tones = [
            Tone::Computation,
            Tone::Communication,
            Tone::Copies,
            Tone::Idle,
            Tone::SideA,
            Tone::SideB,
            Tone::More,
            Tone::Less,
        ];
        let mut seen = Vec::new();
        for tone in tones.into_iter().chain((0..N_OTHER).map(Tone::Other)) {
            let (name, (light, dark)) = (tone_name(tone), color(tone));
            let value = format!("light-dark({light}, {dark})");
            assert!(page.contains(&format!("--tone-{name}: {value};")), "chart.css: {name}");
            assert!(
                page.contains(&format!(".tone-{name} {{ --tone: var(--tone-{name}); }}")),
                "chart.css: {name}"
            );
            assert!(report.contains(&format!(".{name} {{ --tone: {value}; }}")), "report.css: {name}");
            assert!(!seen.contains(&light) && !seen.contains(&dark), "{name} has the color of another tone");
            seen.extend([light, dark]);
        }
    }
}
