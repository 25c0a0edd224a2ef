//! Shared helpers of the integration tests: test data, and reading a file in all ways that must give the same result.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use tracedrop::import::part_scheduler::{Next, PartScheduler};
use tracedrop::import::parts::Part;
use tracedrop::import::{FormatInfo, Import, ImportError};
use tracedrop::trace::Trace;
use tracedrop::trace::slices::SliceKind;

/// `tests/data/<name>`: data in the repository.
pub fn own_dir(name: &str) -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    assert!(own.is_dir(), "{} is missing", own.display());
    own
}

/// Input folders of one system: `tests/data/<name>`, and `../shared/corpus/<name>` if it exists next to the checkout. With
/// `TRACEDROP_REQUIRE_CORPUS` set, the second is required.
pub fn data_dirs(name: &str) -> Vec<PathBuf> {
    let own = own_dir(name);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus").join(name);
    if corpus.is_dir() {
        return vec![own, corpus];
    }
    assert!(
        std::env::var_os("TRACEDROP_REQUIRE_CORPUS").is_none(),
        "TRACEDROP_REQUIRE_CORPUS is set but {} is missing",
        corpus.display()
    );
    vec![own]
}

/// [`all_files`] without those of `tests/data` that lie in the corpus too, with the same content: whoever goes over [`data_dirs`] meets
/// them there.
pub fn files(dir: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let is_in_corpus = |path: &PathBuf| {
        let Ok(place) = path.strip_prefix(root.join("tests/data")) else { return false };
        let twin = root.join("../shared/corpus").join(place);
        let n_bytes = |path: &Path| path.metadata().map(|it| it.len()).ok();
        n_bytes(&twin) == n_bytes(path) && std::fs::read(&twin).ok() == std::fs::read(path).ok()
    };
    let mut files = all_files(dir, endings);
    files.retain(|path| !is_in_corpus(path));
    files
}

/// Files directly in `dir` whose name ends with one of `endings`, sorted by name.
pub fn all_files(dir: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.is_file() && endings.iter().any(|ending| path.to_str().unwrap().ends_with(ending))
        })
        .collect();
    files.sort();
    files
}

/// Content of a file, unpacked if its name ends in `.gz`.
pub fn unpacked(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    if path.extension().is_none_or(|extension| extension != "gz") {
        return bytes;
    }
    let mut content = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes.as_slice()), &mut content).unwrap();
    content
}

/// File name up to its first dot after the stem: `large_20k.jsonl.gz` → `large_20k`.
pub fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap().to_str().unwrap();
    name.split('.').next().unwrap().to_string()
}

/// Reads `bytes` whole, without random access.
pub fn import(name: &str, bytes: &[u8], format: Option<&'static FormatInfo>) -> Result<Trace, ImportError> {
    let mut import = Import::with_format(name, bytes.len() as u64, format);
    import.feed(bytes);
    import.finish()
}

/// Reads `bytes` in chunks whose sizes `next_len` returns, given the number of bytes left. Arguments stay in the file.
pub fn import_cut(
    name: &str,
    bytes: &[u8],
    format: Option<&'static FormatInfo>,
    next_len: &mut dyn FnMut(usize) -> usize,
) -> Result<Trace, ImportError> {
    let mut import = Import::with_format(name, bytes.len() as u64, format);
    import.can_read_again(Rc::new(bytes.to_vec()));
    let mut rest = bytes;
    while !rest.is_empty() {
        let len = next_len(rest.len()).clamp(1, rest.len());
        import.feed(&rest[..len]);
        rest = &rest[len..];
    }
    import.finish()
}

/// Reads the start of `bytes` sequentially and the rest in parts, as several workers do: cut where `next_len` says, read in
/// random order, and sent as bytes.
pub fn import_in_parts(
    name: &str,
    bytes: &[u8],
    format: Option<&'static FormatInfo>,
    random: &mut Random,
    max_stretch: u64,
) -> Result<Trace, ImportError> {
    let import = Import::with_format(name, bytes.len() as u64, format);
    finish_in_parts(import, bytes, random, max_stretch)
}

/// Like [`import_in_parts`], with an import that has not been fed.
pub fn finish_in_parts(
    mut import: Import,
    bytes: &[u8],
    random: &mut Random,
    max_stretch: u64,
) -> Result<Trace, ImportError> {
    import.can_read_again(Rc::new(bytes.to_vec()));
    let mut at = 0;
    // The format is known only after some bytes.
    while at < bytes.len() && import.parts().is_none() {
        let len = (random.below(max_stretch) as usize + 1).min(bytes.len() - at);
        import.feed(&bytes[at..at + len]);
        at += len;
    }
    let Some(parts) = import.parts() else { return import.finish() };
    let cuts = if random.below(2) == 0 { import.starts() } else { Vec::new() };
    let mut scheduler =
        PartScheduler::new(at as u64..bytes.len() as u64, random.below(max_stretch) + 1).cut_at(cuts);
    let mut reader = (parts.reader)();
    reader.lend(Rc::new(bytes.to_vec()));
    let mut out = Vec::new();
    loop {
        if random.below(3) > 0 {
            out.extend(scheduler.next_range());
        }
        if !out.is_empty() && random.below(3) > 0 {
            let stretch = out.swap_remove(random.below(out.len() as u64) as usize);
            if random.below(10) == 0 {
                scheduler.put_back(&stretch, None);
                continue;
            }
            reader.start(stretch.start, stretch.end);
            let mut rest = &bytes[stretch.start as usize..];
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at((random.below(max_stretch) as usize + 1).min(rest.len()));
                rest = after;
                if !reader.feed(chunk) {
                    break;
                }
            }
            let sent = reader.finish().into_bytes();
            scheduler.put_back(&stretch, Some(Part::from_bytes(sent).unwrap()));
        }
        match scheduler.advance(&mut import) {
            Next::Feed(range) => import.feed(&bytes[range.start as usize..range.end as usize]),
            Next::Wait => {}
            Next::Idle => match scheduler.next_range() {
                Some(stretch) => out.push(stretch),
                None => return import.finish(),
            },
        }
    }
}

/// Small deterministic random generator (xorshift), so that failures are reproducible.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

/// Calls `check` with traces read whole and in several ways of cutting; it must accept all of them alike.
pub fn for_each_cut(
    name: &str,
    bytes: &[u8],
    format: Option<&'static FormatInfo>,
    check: &mut dyn FnMut(&str, Result<Trace, ImportError>),
) {
    check("whole", import(name, bytes, format));
    if bytes.len() <= 40_000 {
        check("bytes", import_cut(name, bytes, format, &mut |_| 1));
    }
    check("chunks of 4099", import_cut(name, bytes, format, &mut |_| 4099));
    for seed in 1..=3u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let cut = &mut |_| {
            let largest = 1 << random.below(17);
            random.below(largest) as usize + 1
        };
        check(&format!("random pieces, seed {seed}"), import_cut(name, bytes, format, cut));
    }
    for seed in 1..=4u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let max_stretch = 1 << (6 + 3 * seed);
        check(
            &format!("in parts, seed {seed}"),
            import_in_parts(name, bytes, format, &mut random, max_stretch),
        );
    }
}

/// One slice.
pub struct Slice {
    /// Index of its thread; `usize::MAX` if it has none.
    pub thread: usize,
    pub category: String,
    pub name: String,
    /// Nanoseconds.
    pub start: i64,
    pub dur: i64,
    pub is_instant: bool,
    pub args: Value,
}

/// All slices with their arguments.
pub fn slices(trace: &Trace) -> Vec<Slice> {
    let table = &trace.slices;
    let text = |id| trace.strings.get_opt(id).unwrap_or_default().to_string();
    (0..table.len())
        .map(|i| {
            let mut raw = Vec::new();
            trace.push_slice_args(i, &mut raw);
            let thread = trace.tracks.thread[table.track[i].0 as usize];
            Slice {
                thread: thread.map_or(usize::MAX, |thread| thread.0 as usize),
                category: text(table.category[i]),
                name: text(table.name[i]),
                start: table.ts[i],
                dur: table.dur.get(i),
                is_instant: matches!(table.kind[i], SliceKind::Instant),
                args: if raw.is_empty() { Value::Null } else { serde_json::from_slice(&raw).unwrap() },
            }
        })
        .collect()
}

/// Slices and the ledger, as text.
pub fn dump(trace: &Trace) -> String {
    let mut out = format!("{:?}\n", trace.source);
    for slice in slices(trace) {
        let Slice { thread, category, name, start, dur, args, .. } = slice;
        out.push_str(&format!("{thread} {category} {name} {start} {dur} {args}\n"));
    }
    let ledger = &trace.ledger;
    out.push_str(&format!("{:?} {:?} {:?}\n", ledger.kept, ledger.skipped, ledger.unused_bytes));
    for issue in &ledger.issues {
        out.push_str(&format!("{} {} {:?} {}\n", issue.kind.code, issue.count, issue.first, issue.example));
    }
    out
}

/// Panics with the first line that differs instead of two long texts.
pub fn assert_same_text(what: &str, got: &str, expected: &str) {
    if got == expected {
        return;
    }
    for (number, (got, expected)) in got.split('\n').zip(expected.split('\n')).enumerate() {
        assert!(
            got == expected,
            "{what}: line {} differs\n     got: {got:?}\nexpected: {expected:?}",
            number + 1
        );
    }
    panic!("{what}: {} lines instead of {}", got.split('\n').count(), expected.split('\n').count());
}

/// Replaces digits by other digits, so that times overlap as no program writes them; sometimes other bytes.
#[allow(dead_code)]
pub fn changed(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let n_changes = 1 + random.below(1 + bytes.len() as u64 / 100);
    for _ in 0..n_changes {
        let at = random.below(bytes.len() as u64) as usize;
        if bytes[at].is_ascii_digit() {
            bytes[at] = b'0' + random.below(10) as u8;
        } else if random.below(40) == 0 {
            bytes[at] = random.next() as u8;
        } else if matches!(bytes[at], b'B' | b'E' | b'X' | b'b' | b'e') {
            bytes[at] = *b"BEXbe".get(random.below(5) as usize).unwrap();
        }
    }
    bytes
}
