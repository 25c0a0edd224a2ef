//! Plain text tables for terminals: columns without borders, a centered title.
//!
//! Takes headers and cells as text and returns lines that fit the width. The layout is that of the Python library rich for a
//! table without a box, so that reports of tools that use it can be matched byte for byte: one blank on either side of each
//! cell, columns that are too wide reduced toward the next widest, words wrapped, words that do not fit truncated with `…`.
//! Tracedrop's own reports are laid out by [`crate::export::terminal`], which shows units, marks and omitted rows; only what must
//! match another tool is laid out here.
//!
//! Control characters are up to the caller ([`crate::base::text::visible`]); only LF, which splits lines, and tab stops every
//! eight cells are handled.

use crate::base::compat::python::is_space;
use std::borrow::Cow;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    Left,
    Right,
}

/// Blanks around each cell's text, both sides together.
const PADDING: usize = 2;

/// Lays out a table in at most `width` terminal cells: title, header, rows; without line ends.
///
/// A row may be shorter than the header; missing cells are blank.
pub fn layout_table(
    title: &str,
    columns: &[(&str, Align)],
    rows: &[Vec<String>],
    width: usize,
) -> Vec<String> {
    let headers = columns.iter().map(|(header, _)| (*header).to_string()).collect();
    let cell = |row: &Vec<String>, column: usize| row.get(column).cloned().unwrap_or_default();
    let natural = (0..columns.len()).map(|column| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(String::as_str);
        let text = cells.chain([columns[column].0]).flat_map(|cell| cell.split('\n')).map(cell_width);
        (text.max().unwrap_or(0) + PADDING).min(width)
    });
    let widths = fit_widths(natural.collect(), width);
    let table_width = widths.iter().sum();
    let mut lines = Vec::new();
    if !title.is_empty() {
        for line in wrap(title, table_width, Overflow::Fold) {
            lines.push(centre(&line, table_width));
        }
    }
    for row in std::iter::once(&headers).chain(rows) {
        let cells: Vec<Vec<String>> = (0..columns.len())
            .map(|column| layout_cell(&cell(row, column), columns[column].1, widths[column]))
            .collect();
        for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0) {
            let parts = cells.iter().zip(&widths).map(|(cell, width)| match cell.get(line) {
                Some(text) => text.clone(),
                None => " ".repeat(*width),
            });
            lines.push(parts.collect());
        }
    }
    lines
}

/// Wraps a paragraph at words; words longer than `width` are split. Blanks before a break are kept.
pub fn wrap_paragraph(text: &str, width: usize) -> Vec<String> {
    wrap(text, width, Overflow::Fold)
}

/// Number of terminal cells of `text`. A tab counts as none, since its width depends on its position.
pub fn cell_width(text: &str) -> usize {
    let n_tabs = text.bytes().filter(|byte| *byte == b'\t').count();
    match n_tabs {
        0 if text.is_ascii() => text.len(),
        0 => text.width(),
        _ => text.split('\t').map(cell_width).sum(),
    }
}

/// Cells between tab stops.
const TAB_CELLS: usize = 8;

/// `text` with tabs expanded; lines of the cell start at a tab stop.
fn expand_tabs(text: &str) -> Cow<'_, str> {
    if !text.contains('\t') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + TAB_CELLS);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let mut at = 0;
        let mut parts = line.split('\t').peekable();
        while let Some(part) = parts.next() {
            out.push_str(part);
            at += cell_width(part);
            if parts.peek().is_some() {
                let n_blanks = TAB_CELLS - at % TAB_CELLS;
                out.extend(std::iter::repeat_n(' ', n_blanks));
                at += n_blanks;
            }
        }
    }
    Cow::Owned(out)
}

/// Treatment of words longer than a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overflow {
    /// Continues on the next line.
    Fold,
    /// Truncated, with `…` as the last cell.
    Ellipsis,
}

/// Reduces the widest columns toward the second widest until all fit in `max_width` together.
fn fit_widths(mut widths: Vec<usize>, max_width: usize) -> Vec<usize> {
    loop {
        let total: usize = widths.iter().sum();
        let excess = total.saturating_sub(max_width);
        let widest = widths.iter().copied().max().unwrap_or(0);
        if excess == 0 || widest == 0 {
            return widths;
        }
        let second = widths.iter().copied().filter(|width| *width != widest).max().unwrap_or(0);
        let largest_cut = excess.min(widest - second);
        let mut columns_left = widths.iter().filter(|width| **width == widest).count();
        let mut remaining = excess;
        for width in widths.iter_mut().filter(|width| **width == widest) {
            let cut = largest_cut.min(divide_to_even(remaining, columns_left));
            *width -= cut;
            remaining -= cut;
            columns_left -= 1;
        }
    }
}

/// `n / d` rounded to the nearest, halves to even.
fn divide_to_even(n: usize, d: usize) -> usize {
    let (quotient, twice) = (n / d, n % d * 2);
    quotient + usize::from(twice > d || (twice == d && quotient % 2 == 1))
}

/// Lines of one cell, each exactly `width` wide.
fn layout_cell(text: &str, align: Align, width: usize) -> Vec<String> {
    let Some(inner) = width.checked_sub(PADDING).filter(|inner| *inner > 0) else {
        return vec![" ".repeat(width)];
    };
    wrap(&expand_tabs(text), inner, Overflow::Ellipsis)
        .into_iter()
        .map(|line| {
            let line = match align {
                Align::Left => truncate(line, inner, Overflow::Ellipsis),
                Align::Right => {
                    truncate(line.trim_end_matches(is_space).to_string(), inner, Overflow::Ellipsis)
                }
            };
            let free = " ".repeat(inner.saturating_sub(cell_width(&line)));
            match align {
                Align::Left => format!(" {line}{free} "),
                Align::Right => format!(" {free}{line} "),
            }
        })
        .collect()
}

fn centre(line: &str, width: usize) -> String {
    let line = truncate(line.trim_end_matches(is_space).to_string(), width, Overflow::Fold);
    let free = width.saturating_sub(cell_width(&line));
    format!("{}{line}{}", " ".repeat(free / 2), " ".repeat(free - free / 2))
}

/// Truncates lines wider than `width`.
fn truncate(line: String, width: usize, overflow: Overflow) -> String {
    if cell_width(&line) <= width {
        return line;
    }
    match overflow {
        Overflow::Fold => crop(&line, width),
        Overflow::Ellipsis => crop(&line, width.saturating_sub(1)) + "…",
    }
}

/// Start of `line`, exactly `width` wide: a wide character at the edge becomes a blank.
fn crop(line: &str, width: usize) -> String {
    let mut used = 0;
    let mut out = String::new();
    for c in line.chars() {
        let cells = c.width().unwrap_or(0);
        if used + cells > width {
            break;
        }
        used += cells;
        out.push(c);
    }
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(used)));
    out
}

/// Wraps text at LF, then at words.
fn wrap(text: &str, width: usize, overflow: Overflow) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut start = 0;
        for end in break_positions(paragraph, width, overflow).into_iter().chain([paragraph.len()]) {
            lines.push(trim_excess(&paragraph[start..end], width).to_string());
            start = end;
        }
    }
    lines
}

/// Trims trailing blanks as long as there are more characters than `width`.
fn trim_excess(line: &str, width: usize) -> &str {
    let excess = line.chars().count().saturating_sub(width);
    let blanks = line.chars().rev().take_while(|c| is_space(*c)).take(excess);
    &line[..line.len() - blanks.map(char::len_utf8).sum::<usize>()]
}

/// Byte offsets at which new lines start.
fn break_positions(text: &str, width: usize, overflow: Overflow) -> Vec<usize> {
    let mut breaks = Vec::new();
    let mut used = 0;
    let mut start = 0;
    while let Some(len) = word_len(&text[start..]) {
        let word = &text[start..start + len];
        let solid = cell_width(word.trim_end_matches(is_space));
        if used + solid <= width {
            used += cell_width(word);
        } else if solid > width && overflow == Overflow::Fold {
            used = 0;
            if start > 0 {
                breaks.push(start);
            }
            for (at, c) in word.char_indices() {
                let cells = c.width().unwrap_or(0);
                if used > 0 && used + cells > width {
                    breaks.push(start + at);
                    used = 0;
                }
                used += cells;
            }
        } else {
            if start > 0 && (used > 0 || solid > width) {
                breaks.push(start);
            }
            used = cell_width(word);
        }
        start += len;
    }
    breaks
}

/// Length of the next word including blanks around it; `None` if only blanks remain.
fn word_len(text: &str) -> Option<usize> {
    let blank = text.len() - text.trim_start_matches(is_space).len();
    let solid = text[blank..].find(is_space).unwrap_or(text.len() - blank);
    let end = blank + solid;
    (solid > 0).then(|| text.len() - text[end..].trim_start_matches(is_space).len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(rows: &[[&str; 2]], width: usize) -> Vec<String> {
        let rows: Vec<Vec<String>> = rows.iter().map(|row| row.map(str::to_string).to_vec()).collect();
        layout_table("title", &[("name", Align::Left), ("n", Align::Right)], &rows, width)
    }

    #[test]
    fn fits_and_aligns() {
        assert_eq!(
            layout(&[["a", "1"], ["計算", "1,000"]], 80),
            ["    title    ", " name      n ", " a         1 ", " 計算  1,000 "]
        );
    }

    #[test]
    fn wraps_words_and_cuts_long_ones() {
        assert_eq!(
            layout(&[["one two three", "1"], ["abcdefghijkl", "2"]], 12),
            ["   title    ", " name     n ", " one two  1 ", " three      ", " abcdef…  2 ",]
        );
    }

    #[test]
    fn any_width_is_met() {
        for width in 0..40 {
            for line in layout(&[["計算 one\ntwo three", "1"], ["abcdefghijkl 👩‍💻", "2,000.5"]], width)
            {
                assert!(cell_width(&line) <= width.max(1), "{width}: {line:?}");
            }
        }
        assert_eq!(wrap_paragraph("aa bbbbb c", 4), ["aa ", "bbbb", "b c"]);
        assert_eq!(divide_to_even(5, 2), 2);
        assert_eq!(divide_to_even(7, 2), 4);
    }
}
