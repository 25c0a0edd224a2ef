//! CSV as written by pandas and read by Python's `csv`.

use std::borrow::Cow;

/// Parses rows of fields; quoted fields can contain commas, doubled quotes and line ends. Empty lines are skipped.
pub fn read(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let (mut quoted, mut any) = (false, false);
    let mut chars = text.strip_prefix('\u{feff}').unwrap_or(text).chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if field.is_empty() => (quoted, any) = (true, true),
            ',' if !quoted => {
                row.push(std::mem::take(&mut field));
                any = true;
            }
            '\n' | '\r' if !quoted => {
                if any || !field.is_empty() {
                    row.push(std::mem::take(&mut field));
                    rows.push(std::mem::take(&mut row));
                }
                any = false;
            }
            c => field.push(c),
        }
    }
    if any || !field.is_empty() {
        row.push(field);
        rows.push(row);
    }
    rows
}

/// Appends a row, with quotes only where needed.
pub fn push_row<'a>(fields: impl IntoIterator<Item = Cow<'a, str>>, out: &mut String) {
    for (n, field) in fields.into_iter().enumerate() {
        out.push_str(if n > 0 { "," } else { "" });
        if field.contains([',', '"', '\n', '\r']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&field);
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let rows = [vec!["a", "", "b,c"], vec!["\"", "x\ny", "é"], vec!["", "", ""]];
        let mut text = String::new();
        for row in &rows {
            push_row(row.iter().map(|field| Cow::Borrowed(*field)), &mut text);
        }
        assert_eq!(text, "a,,\"b,c\"\n\"\"\"\",\"x\ny\",é\n,,\n");
        assert_eq!(read(&text), rows);
        assert_eq!(read("a,b\r\n\r\nc,d"), [["a", "b"], ["c", "d"]]);
    }
}
