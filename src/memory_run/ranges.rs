//! Files that say what lies at which addresses: `kv_ranges.json`, lists of tensors.

use crate::base::json::Json;

/// A stretch of addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AddressRange {
    pub start: u64,
    /// Behind the last byte; a range is at least one byte long whatever this says.
    pub end: u64,
    pub region_type: String,
    /// Name of the tensor, or the layer and whether it holds keys or values.
    pub name: Option<String>,
}

impl AddressRange {
    /// First and last page.
    pub fn pages(&self) -> (u64, u64) {
        let end = self.end.max(self.start.saturating_add(1));
        (self.start >> crate::trace::accesses::PAGE_BITS, (end - 1) >> crate::trace::accesses::PAGE_BITS)
    }
}

/// Reads a list of objects with `addr_start`, `addr_end` and `region_type`, or an object that holds such a list. Gives how many
/// entries were left out because they have no start or no region type; a sentence fragment if there is no list.
pub fn read(bytes: &[u8]) -> Result<(Vec<AddressRange>, usize), String> {
    let json = Json::parse(bytes).ok_or("it is not JSON")?;
    let is_list = |value: &&Json| {
        let entries = value.as_array().unwrap_or_default();
        entries.iter().any(|entry| entry.get("addr_start").is_some())
    };
    let list = match &json {
        Json::Array(entries) => Some(entries.as_slice()),
        Json::Object(members) => {
            members.iter().map(|(_, value)| value).find(is_list).and_then(Json::as_array)
        }
        _ => None,
    };
    let entries = list.ok_or("it holds no list of address ranges")?;
    let ranges: Vec<AddressRange> = entries.iter().filter_map(range).collect();
    let n_left_out = entries.len() - ranges.len();
    Ok((ranges, n_left_out))
}

fn range(entry: &Json) -> Option<AddressRange> {
    let start = address(entry.get("addr_start")?)?;
    let size = entry.get("size_bytes").and_then(Json::as_u64).unwrap_or(0);
    let end = entry.get("addr_end").and_then(address).unwrap_or(start.saturating_add(size));
    let region_type = entry.get("region_type")?.as_str()?.to_string();
    let name = entry.get("name").and_then(Json::as_str).map(str::to_string);
    let layer = entry.get("layer").map(|layer| layer.to_python_text(0));
    let kind = entry.get("type").and_then(Json::as_str).unwrap_or_default();
    let name = name
        .or(layer.map(|layer| format!("layer {} {kind}", layer.trim_matches('"')).trim_end().to_string()));
    Some(AddressRange { start, end, region_type, name })
}

/// A number, or a text with one in decimal or, with `0x`, hexadecimal digits.
fn address(value: &Json) -> Option<u64> {
    match value {
        Json::String(text) => match text.trim().strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.trim().parse().ok(),
        },
        other => other.as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_objects_of_lists() {
        let text = r#"{"captured_ns": 5, "ranges": [
            {"layer": 3, "type": "key", "region_type": "kv_cache", "addr_start": 8192, "addr_end": 8192},
            {"name": "w", "region_type": "weight", "addr_start": "0x3000", "size_bytes": 4097},
            {"addr_start": 1}]}"#;
        let (ranges, n_left_out) = read(text.as_bytes()).unwrap();
        assert_eq!(n_left_out, 1);
        assert_eq!(ranges[0].name.as_deref(), Some("layer 3 key"));
        assert_eq!((ranges[0].pages(), ranges[1].pages()), ((2, 2), (3, 4)));
        assert!(read(b"{}").is_err() && read(b"[").is_err());
        assert_eq!(read(b"[]"), Ok((Vec::new(), 0)));
        let last = AddressRange { start: u64::MAX, end: 0, ..AddressRange::default() };
        assert_eq!(last.pages().1, (u64::MAX - 1) >> 12);
    }
}
