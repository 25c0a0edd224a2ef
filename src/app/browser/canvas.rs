//! Drawing on a canvas.

use wasm_bindgen::prelude::{Closure, JsValue};
use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

/// Width of a letter where nothing can measure it, in pixels.
const LETTER: f64 = 8.0;

/// A canvas that is drawn on in pixels of the page, whatever the number of dots each has.
pub struct Canvas {
    element: HtmlCanvasElement,
    context: CanvasRenderingContext2d,
    scale: f64,
}

/// Lines of pixels, one below the other, each drawn stretched.
pub struct Lines {
    element: HtmlCanvasElement,
    width: u32,
}

impl Canvas {
    /// `None` if the browser has none.
    pub fn of(element: HtmlCanvasElement) -> Option<Canvas> {
        let context = element.get_context("2d").ok()??.dyn_into().ok()?;
        Some(Canvas { element, context, scale: 1.0 })
    }

    /// Starts a drawing of this size.
    pub fn start(&mut self, width: f64, height: f64) {
        self.scale = dots_per_pixel();
        let dots = |pixels: f64| (pixels * self.scale).round().max(1.0) as u32;
        let (width_dots, height_dots) = (dots(width), dots(height));
        // Setting a size empties the canvas, even if it is the same one.
        if self.element.width() != width_dots {
            self.element.set_width(width_dots);
        }
        if self.element.height() != height_dots {
            self.element.set_height(height_dots);
        }
        let _ = self.context.set_transform(self.scale, 0.0, 0.0, self.scale, 0.0, 0.0);
        self.context.clear_rect(0.0, 0.0, width, height);
        self.context.set_image_smoothing_enabled(false);
    }

    pub fn fill(&self, color: &str, [x, y, width, height]: [f64; 4]) {
        self.context.set_fill_style_str(color);
        self.context.fill_rect(x, y, width, height);
    }

    pub fn frame(&self, color: &str, thickness: f64, [x, y, width, height]: [f64; 4]) {
        self.context.set_stroke_style_str(color);
        self.context.set_line_width(thickness);
        self.context.stroke_rect(x, y, width, height);
    }

    /// Sets the font of texts.
    pub fn font(&self, font: &str) {
        self.context.set_font(font);
        self.context.set_text_baseline("middle");
    }

    pub fn text(&self, color: &str, text: &str, x: f64, y: f64) {
        self.context.set_fill_style_str(color);
        let _ = self.context.fill_text(text, x, y);
    }

    /// A curve between two points with an arrow head at its end.
    pub fn arrow(&self, color: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let context = &self.context;
        context.set_stroke_style_str(color);
        context.set_fill_style_str(color);
        context.set_line_width(2.0);
        context.begin_path();
        context.move_to(x1, y1);
        context.bezier_curve_to(x1 + 30.0, y1, x2 - 30.0, y2, x2, y2);
        context.stroke();
        context.begin_path();
        context.move_to(x2, y2);
        context.line_to(x2 - 6.0, y2 - 4.0);
        context.line_to(x2 - 6.0, y2 + 4.0);
        context.fill();
    }

    /// A filled shape; where it is thin, a line remains.
    pub fn shape(&self, color: &str, corners: &[(f64, f64)]) {
        let context = &self.context;
        context.set_fill_style_str(color);
        context.set_stroke_style_str(color);
        context.set_line_width(0.5);
        context.begin_path();
        for (x, y) in corners {
            context.line_to(*x, *y);
        }
        context.close_path();
        context.fill();
        context.stroke();
    }

    /// Only what is in this part is drawn, until [`Canvas::unclip`].
    pub fn clip(&self, [x, y, width, height]: [f64; 4]) {
        self.context.save();
        self.context.begin_path();
        self.context.rect(x, y, width, height);
        self.context.clip();
    }

    pub fn unclip(&self) {
        self.context.restore();
    }

    /// Draws `n` pixels of a line from `from` on, stretched.
    pub fn line(&self, lines: &Lines, number: u32, (from, n): (f64, f64), [x, y, width, height]: [f64; 4]) {
        let from = from.max(0.0);
        let n = n.min(f64::from(lines.width) - from);
        if n > 0.0 {
            let _ =
                self.context.draw_image_with_html_canvas_element_and_sw_and_sh_and_dx_and_dy_and_dw_and_dh(
                    &lines.element,
                    from,
                    f64::from(number),
                    n,
                    1.0,
                    x,
                    y,
                    width,
                    height,
                );
        }
    }
}

impl Lines {
    /// Lines from their pixels: red, green, blue and strength. `None` if the browser has no room for them.
    pub fn new(width: u32, height: u32, pixels: &[u8]) -> Option<Lines> {
        let element = leptos::prelude::document().create_element("canvas").ok()?;
        let element: HtmlCanvasElement = element.dyn_into().ok()?;
        element.set_width(width);
        element.set_height(height);
        let context: CanvasRenderingContext2d = element.get_context("2d").ok()??.dyn_into().ok()?;
        let image = ImageData::new_with_u8_clamped_array_and_sh(Clamped(pixels), width, height).ok()?;
        context.put_image_data(&image, 0.0, 0.0).ok()?;
        Some(Lines { element, width })
    }
}

impl Canvas {
    /// Saves what is drawn as a PNG file.
    pub fn save(&self, name: &str) {
        let name = name.to_string();
        let save = Closure::once_into_js(move |blob: JsValue| {
            if let Ok(blob) = blob.dyn_into::<web_sys::Blob>() {
                super::files::download(&name, &blob);
            }
        });
        let _ = self.element.to_blob(save.unchecked_ref());
    }
}

/// Width of a text in pixels; `None` if the browser has no canvas.
pub fn text_px(text: &str, font: &str) -> Option<f64> {
    let element = leptos::prelude::document().create_element("canvas").ok()?;
    let context = element.unchecked_into::<HtmlCanvasElement>().get_context("2d").ok()??;
    let context = context.dyn_into::<CanvasRenderingContext2d>().ok()?;
    context.set_font(font);
    context.measure_text(text).ok().map(|size| size.width())
}

/// How wide letters are in a font, in pixels. What a text is wide is at most their sum.
pub struct Letters {
    /// Of ASCII.
    widths: Vec<f64>,
    ellipsis: f64,
    /// Of all others, at least.
    wide: f64,
}

impl Letters {
    pub fn of(font: &str) -> Letters {
        let px = |letter: char| text_px(letter.encode_utf8(&mut [0; 4]), font).unwrap_or(LETTER);
        let widths = (0..0x80_u8).map(|letter| px(char::from(letter))).collect();
        Letters { widths, ellipsis: px('…'), wide: px('漢').max(px('W')) }
    }

    pub fn px(&self, letter: char) -> f64 {
        match letter {
            '…' => self.ellipsis,
            _ => self.widths.get(letter as usize).copied().unwrap_or(self.wide),
        }
    }
}

/// Dots of the screen in a pixel of the page.
pub fn dots_per_pixel() -> f64 {
    let scale = leptos::prelude::window().device_pixel_ratio();
    if scale.is_finite() { scale.clamp(0.5, 4.0) } else { 1.0 }
}

/// Value of a custom property of the page's style sheet: a color, or several.
pub fn style_value(name: &str) -> String {
    let window = leptos::prelude::window();
    let root = leptos::prelude::document().document_element();
    let style = root.and_then(|root| window.get_computed_style(&root).ok().flatten());
    style.and_then(|style| style.get_property_value(name).ok()).unwrap_or_default().trim().to_string()
}
