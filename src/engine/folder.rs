//! Decisions by file name, before parsing: which files of a folder may be traces, and which belong together.

use super::protocol::{FormatView, LinkedFile, LinkedSide};
use crate::analysis::mrm_run;
pub use crate::archive::tar::{Piece, tar_of};
use crate::base::sort;
use crate::base::text::number_behind;
use crate::import::sqlite_captures::parquet_folder;
use crate::import::{Confidence, address_ranges, detect, foreign};
use crate::memory_run;
use std::collections::{BTreeMap, BTreeSet};

/// Extensions for any format: compressed files, indexes and Tracedrop files.
const ENDINGS_OF_ANY: [&str; 5] = ["gz", "zst", "lz4", "tdx", "tracedrop"];

/// Whether a file in a folder is taken for a trace, by its extension.
pub fn may_be_trace(name: &str, formats: &[FormatView]) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let is_ending = |known: &str| known.eq_ignore_ascii_case(ending);
    // Files that start with a dot belong to the system.
    !stem.is_empty()
        && !NAMES_OF_TEXTS.into_iter().any(|known| known.eq_ignore_ascii_case(name))
        && (ENDINGS_OF_ANY.into_iter().any(is_ending)
            || formats.iter().flat_map(|format| &format.extensions).any(|known| is_ending(known)))
}

/// Texts that lie beside traces, in either case of letters.
const NAMES_OF_TEXTS: [&str; 2] = ["readme.txt", "license.txt"];

/// Bytes of a file that [`is_other_text`] needs.
pub const HEAD_BYTES: usize = detect::HEAD_BYTES;

/// Whether a file may be a text of another kind, such as notes, by an ending that any text has; its beginning decides, see
/// [`is_other_text`].
pub fn may_be_other_text(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("txt"))
}

/// Whether a file of such a name, with this beginning, is no trace or profile.
pub fn is_other_text(name: &str, head: &[u8]) -> bool {
    let is_known =
        detect::detect(head, name).is_some() || foreign::find(head).is_some_and(|kind| kind.is_recording);
    may_be_other_text(name) && !is_known && detect::describe(head).is_some()
}

/// Whether a file may be an archive, by its name; the content decides.
pub fn may_be_archive(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("zip"))
}

/// Name of an archive without its extension.
pub fn archive_stem(name: &str) -> &str {
    if may_be_archive(name) { &name[..name.len() - ".zip".len()] } else { name }
}

/// How to extract a compressed file from an archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unpacking {
    /// Decompress it before parsing.
    Whole,
    /// Wrap it as a gzip file, decompressed while parsing.
    AsGzip,
    /// Not possible: it would have to be decompressed first, and is too large for that.
    TooLarge,
}

/// Files up to this size are decompressed first, because some formats are read from the end.
const MAX_WHOLE_BYTES: u64 = 32 << 20;
/// Parquet files need random access, so they are decompressed first; this is their maximum size.
pub const MAX_TABLE_BYTES: u64 = 1 << 30;

/// Chooses the extraction by name and uncompressed size.
pub fn unpacking(name: &str, n_bytes: u64) -> Unpacking {
    let is_table = name.to_ascii_lowercase().ends_with(".parquet");
    match n_bytes {
        n if n <= MAX_WHOLE_BYTES || is_read_in_run(name, n) => Unpacking::Whole,
        n if is_table && n <= MAX_TABLE_BYTES => Unpacking::Whole,
        _ if is_table => Unpacking::TooLarge,
        _ => Unpacking::AsGzip,
    }
}

/// A run directory among other files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunIn<T> {
    /// Its path.
    pub folder: String,
    pub trace: T,
    /// Its other files, ordered by path; then lists of data sets.
    pub beside: Vec<T>,
}

/// Splits files with `/`-separated paths into run directories and others, both ordered by path. A run directory includes its
/// folder of figures; the list of runs of a data set goes with the first run, after its other files.
pub fn runs_among<T>(mut files: Vec<T>, path: impl Fn(&T) -> &str) -> (Vec<RunIn<T>>, Vec<T>) {
    sort::by(&mut files, |a, b| path(a).cmp(path(b)));
    let mut names: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for file in &files {
        let (folder, name) = split(path(file));
        names.entry(folder).or_default().push(name);
    }
    names.retain(|_, names| is_run(names.iter().copied()));
    let of_run = |file: &T| {
        let (folder, _) = split(path(file));
        let above =
            folder.strip_suffix(memory_run::FIGURES).map(|above| above.strip_suffix('/').unwrap_or(above));
        [Some(folder), above]
            .into_iter()
            .flatten()
            .find(|folder| names.contains_key(folder))
            .map(str::to_string)
    };
    let of_runs: Vec<Option<String>> = files.iter().map(of_run).collect();
    let mut runs: BTreeMap<String, (Option<T>, Vec<T>)> = BTreeMap::new();
    let mut others = Vec::new();
    for (file, folder) in files.into_iter().zip(of_runs) {
        let Some(folder) = folder else {
            others.push(file);
            continue;
        };
        let is_trace = split(path(&file)) == (folder.as_str(), TRACE_OF_RUN);
        let (trace, beside) = runs.entry(folder).or_default();
        match trace {
            None if is_trace => *trace = Some(file),
            _ => beside.push(file),
        }
    }
    let run = |(folder, (trace, beside))| Some(RunIn { folder, trace: trace?, beside });
    let mut runs: Vec<RunIn<T>> = runs.into_iter().filter_map(run).collect();
    let (lists, others) = others.into_iter().partition(|file| split(path(file)).1 == memory_run::DATASET);
    let mut others: Vec<T> = others;
    for list in lists {
        let (folder, _) = split(path(&list));
        match runs.iter_mut().find(|run| is_below(&run.folder, folder)) {
            Some(first) => first.beside.push(list),
            None => others.push(list),
        }
    }
    (runs, others)
}

/// A folder of tables that are read as one file, with the files in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableFolder<T> {
    /// Its path.
    pub folder: String,
    /// Ordered by path.
    pub tables: Vec<T>,
}

/// Splits files with `/`-separated paths into Parquet exports of Nsight Systems and others, both ordered by path.
pub fn table_folders_among<T>(mut files: Vec<T>, path: impl Fn(&T) -> &str) -> (Vec<TableFolder<T>>, Vec<T>) {
    sort::by(&mut files, |a, b| path(a).cmp(path(b)));
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in &files {
        let (folder, name) = split(path(file));
        names.entry(folder.to_string()).or_default().push(name.to_string());
    }
    names.retain(|_, names| is_table_folder(names.iter().map(String::as_str)));
    let mut folders: BTreeMap<String, Vec<T>> = BTreeMap::new();
    let mut others = Vec::new();
    for file in files {
        let (folder, name) = split(path(&file));
        match names.contains_key(folder) && is_in_table_folder(name) {
            true => folders.entry(folder.to_string()).or_default().push(file),
            false => others.push(file),
        }
    }
    let folders = folders.into_iter().map(|(folder, tables)| TableFolder { folder, tables }).collect();
    (folders, others)
}

/// Whether these file names form a Parquet export of Nsight Systems.
pub fn is_table_folder<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    parquet_folder::is_export(names)
}

/// Whether a file of such an export is a table.
pub fn is_in_table_folder(name: &str) -> bool {
    name.ends_with(parquet_folder::ENDING)
}

/// Splits off tables of a run whose trace is missing: they are not traces.
pub fn without_tables_of_runs<T>(files: Vec<T>, path: impl Fn(&T) -> &str) -> (Vec<T>, Vec<T>) {
    let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in &files {
        let (folder, name) = split(path(file));
        names.entry(folder.to_string()).or_default().push(name.to_string());
    }
    names.retain(|_, names| memory_run::is_without_trace(names.iter().map(String::as_str)));
    files.into_iter().partition(|file| {
        let (folder, name) = split(path(file));
        !(names.contains_key(folder) && memory_run::is_beside(name))
    })
}

/// Whether `path` is inside `folder`.
fn is_below(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Path of a file relative to the run directory `folder`: a file name, or a figure in its folder. The list of a data set is in a
/// parent folder.
pub fn name_in_run<'a>(path: &'a str, folder: &str) -> &'a str {
    let inside = path.strip_prefix(folder).filter(|_| is_below(path, folder));
    match inside {
        Some(rest) => rest.strip_prefix('/').unwrap_or(rest),
        None if split(path).1 == memory_run::DATASET => memory_run::DATASET_ABOVE,
        None => path,
    }
}

/// Name of a part of a fleet dataset with the folders that name its table and run, from its path:
/// `table=steps/run=monday/part-….parquet`. `None` for other files.
pub fn name_in_dataset(path: &str) -> Option<&str> {
    let (folder, name) = split(path);
    let (above, run) = split(folder);
    let (_, table) = split(above);
    let is_part = name.ends_with(".parquet") && run.starts_with("run=") && is_table_of_dataset(table);
    is_part.then(|| &path[path.len() - table.len() - run.len() - name.len() - 2..])
}

/// Whether a folder of that name is a table of a fleet dataset.
pub fn is_table_of_dataset(name: &str) -> bool {
    name.starts_with("table=")
}

/// Folder and file name.
fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// The trace in a run directory.
pub const TRACE_OF_RUN: &str = memory_run::TRACE;

/// `id` of the report on run directories.
pub const REPORT_ON_RUNS: &str = mrm_run::INFO.id;

/// Whether these file names form a run directory of memory accesses.
pub fn is_run<'a>(names: impl Iterator<Item = &'a str> + Clone) -> bool {
    memory_run::is_directory(names)
}

/// Whether a file of a run directory is used.
pub fn is_read_in_run(name: &str, n_bytes: u64) -> bool {
    memory_run::is_read(name, n_bytes)
}

/// Whether a file may be a list of address ranges, by name and size; its beginning decides, see [`starts_ranges`].
pub fn may_be_ranges(name: &str, n_bytes: u64) -> bool {
    let is_json = name.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("json"));
    is_json && n_bytes <= MAX_RANGES_BYTES
}

/// Whether a file with this beginning is a list of address ranges for a trace of memory accesses.
pub fn starts_ranges(head: &str) -> bool {
    (address_ranges::INFO.sniff)(head.as_bytes()) == Confidence::Certain
}

/// Maximum size of a list of address ranges.
const MAX_RANGES_BYTES: u64 = 8 << 20;

/// Whether names indicate the ranks of one run: equal except for a rank number, which differs in each.
pub fn are_ranks_of_one_run<'a>(names: impl Iterator<Item = &'a str>) -> bool {
    let mut ranks: Vec<i64> = Vec::new();
    let mut before = None;
    for name in names {
        let Some((at, rank)) = rank_in_name(name) else { return false };
        if *before.get_or_insert(&name[..at]) != &name[..at] {
            return false;
        }
        ranks.push(rank);
    }
    let n = ranks.len();
    sort::by_key(&mut ranks, |rank| *rank);
    ranks.dedup();
    n > 1 && ranks.len() == n
}

/// Rank number in a file name, and its byte position; see [`number_behind`].
fn rank_in_name(name: &str) -> Option<(usize, i64)> {
    number_behind(name, &["rank", "worker"])
}

/// Assigns `files` (path and size) to A and B of a linked comparison: by folder, if there are two and each has the sizes of A or
/// of B; else by name and size, and the rest by size alone. `None` if the files differ from those of the link, or if the link does
/// not state A and B.
pub fn sides_among(linked: &[LinkedFile], files: &[(&str, u64)]) -> Option<Vec<LinkedSide>> {
    let n_of = |side| linked.iter().filter(|file| file.side == Some(side)).count();
    let (n_a, n_b) = (n_of(LinkedSide::A), n_of(LinkedSide::B));
    if n_a == 0 || n_b == 0 || n_a + n_b != linked.len() || linked.len() != files.len() {
        return None;
    }
    if let Some(sides) = sides_by_folder(linked, files) {
        return Some(sides);
    }
    let is_called = |path: &str, name: &str| {
        path.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let mut sides = vec![None; files.len()];
    let mut left: Vec<&LinkedFile> = linked.iter().collect();
    for counts_name in [true, false] {
        left.retain(|wanted| {
            let is_it = |(side, (path, bytes)): (&Option<LinkedSide>, &(&str, u64))| {
                side.is_none() && *bytes == wanted.bytes && (!counts_name || is_called(path, &wanted.name))
            };
            let found = sides.iter().zip(files).position(is_it);
            if let Some(at) = found {
                sides[at] = wanted.side;
            }
            found.is_none()
        });
    }
    sides.into_iter().collect()
}

fn sides_by_folder(linked: &[LinkedFile], files: &[(&str, u64)]) -> Option<Vec<LinkedSide>> {
    let folder = |path: &str| path.rsplit_once('/').map_or(0, |(folder, _)| folder.len());
    let folders: BTreeSet<&str> = files.iter().map(|(path, _)| &path[..folder(path)]).collect();
    let first = folders.first().filter(|_| folders.len() == 2)?;
    let told = |of_first, of_other| {
        let side =
            |(path, _): &(&str, u64)| if path[..folder(path)] == **first { of_first } else { of_other };
        files.iter().map(side).collect::<Vec<LinkedSide>>()
    };
    let fit = |sides: &Vec<LinkedSide>| {
        let sizes = |wanted| {
            let of_side = files.iter().zip(sides).filter(|(_, side)| **side == wanted);
            let mut sizes: Vec<u64> = of_side.map(|((_, bytes), _)| *bytes).collect();
            sort::by_key(&mut sizes, |size| *size);
            sizes
        };
        let linked_sizes = |wanted| {
            let of_side = linked.iter().filter(|file| file.side == Some(wanted));
            let mut sizes: Vec<u64> = of_side.map(|file| file.bytes).collect();
            sort::by_key(&mut sizes, |size| *size);
            sizes
        };
        [LinkedSide::A, LinkedSide::B].iter().all(|side| sizes(*side) == linked_sizes(*side))
    };
    [told(LinkedSide::A, LinkedSide::B), told(LinkedSide::B, LinkedSide::A)].into_iter().find(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_told_by_their_endings() {
        let formats = crate::engine::formats();
        for name in ["rank0.json", "a.pt.trace.JSON", "b.jsonl.gz", "run.tdx", "c.zst"] {
            assert!(may_be_trace(name, &formats), "{name}");
        }
        for name in [".DS_Store", "README", "ReadMe.txt", "notes.md", ".json", "", "gz", "été"] {
            assert!(!may_be_trace(name, &formats), "{name}");
        }
    }

    #[test]
    fn texts_beside_traces_are_told_by_their_content() {
        let is_other = |text: &str| is_other_text("a.TXT", text.as_bytes());
        assert!(is_other("Measured on Monday.\n") && is_other(""));
        // Folded stacks; a recording that cannot be read; what has an ending of its own.
        assert!(!is_other("main;parse 12\nmain;write 3\n"));
        assert!(!is_other("# tracer: nop\n#\n"));
        assert!(!is_other_text("a.json", b"Measured on Monday.\n"));
        assert!(!is_other_text("a.txt", &[0xde, 0xad, 0, 0xbe]));
    }

    #[test]
    fn runs_are_told_from_other_files() {
        let files =
            ["z.json", "a/trace.parquet", "a/figures/x.svg", "a/metrics.csv", "trace.parquet", "a/b/x.json"];
        let (runs, others) = runs_among(files.to_vec(), |path| path);
        let beside = vec!["a/figures/x.svg", "a/metrics.csv"];
        assert_eq!(runs, [RunIn { folder: "a".to_string(), trace: "a/trace.parquet", beside }]);
        assert_eq!(others, ["a/b/x.json", "trace.parquet", "z.json"]);
        let (runs, others) = runs_among(vec!["trace.parquet", "figures/x.svg", "manifest.json"], |path| path);
        assert_eq!((runs.len(), others.len()), (1, 0));
        assert_eq!(name_in_run("figures/x.svg", ""), "figures/x.svg");
        assert_eq!(name_in_run("a/b/figures/x.svg", "a/b"), "figures/x.svg");
        let files =
            ["d/manifest.csv", "d/m/a/trace.parquet", "d/m/a/metrics.csv", "e/manifest.csv", "manifest.csv"];
        let (runs, others) = runs_among(files.to_vec(), |path| path);
        assert_eq!(runs[0].beside, ["d/m/a/metrics.csv", "d/manifest.csv", "manifest.csv"]);
        assert_eq!(others, ["e/manifest.csv"]);
        for folder in ["d/m/a", "d/m"] {
            assert_eq!(name_in_run("d/manifest.csv", folder), "../manifest.csv");
        }
        assert_eq!(name_in_run("d/m/manifest.csv", "d/m"), "manifest.csv");
        assert_eq!(name_in_run("manifest.csv", ""), "manifest.csv");
    }

    #[test]
    fn tables_of_an_export_belong_together() {
        let files = [
            "b/x/StringIds.parquet",
            "a/notes.txt",
            "a/StringIds.parquet",
            "b/x/NVTX_EVENTS.parquet",
            "a/OTHER.parquet",
            "a/CUPTI_ACTIVITY_KIND_KERNEL.parquet",
            "c/trace.parquet",
        ];
        let (folders, others) = table_folders_among(files.to_vec(), |path| path);
        let found: Vec<(&str, usize)> =
            folders.iter().map(|folder| (folder.folder.as_str(), folder.tables.len())).collect();
        assert_eq!(found, [("a", 3), ("b/x", 2)]);
        assert_eq!(others, ["a/notes.txt", "c/trace.parquet"]);
    }

    #[test]
    fn parts_of_a_dataset_keep_their_table_and_run() {
        let name = "table=steps/run=été/part-1.parquet";
        for above in ["", "fleet/", "/a/b/"] {
            assert_eq!(name_in_dataset(&format!("{above}{name}")), Some(name));
        }
        for other in [
            "part-1.parquet",
            "run=a/part-1.parquet",
            "steps/run=a/p.parquet",
            "table=steps/run=a/.part-1.99",
        ] {
            assert_eq!(name_in_dataset(other), None, "{other}");
        }
    }

    #[test]
    fn tables_without_their_trace_are_no_traces() {
        let files = ["a/manifest.json", "a/metrics.csv", "a/raw/memray.bin", "a/x.json", "b/metadata.json"];
        let (files, tables) = without_tables_of_runs(files.to_vec(), |path| path);
        assert_eq!(files, ["a/raw/memray.bin", "a/x.json", "b/metadata.json"]);
        assert_eq!(tables, ["a/manifest.json", "a/metrics.csv"]);
        let run = ["trace.parquet", "manifest.json", "metadata.json"];
        assert_eq!(without_tables_of_runs(run.to_vec(), |path| path).1.len(), 0);
    }

    #[test]
    fn what_is_read_from_its_end_is_unpacked_first() {
        assert!(may_be_archive("A.ZIP") && !may_be_archive("zip") && archive_stem("é.zip") == "é");
        assert_eq!(unpacking("trace.parquet", 1 << 29), Unpacking::Whole);
        assert_eq!(unpacking("trace.parquet", 1 << 40), Unpacking::TooLarge);
        assert_eq!(unpacking("trace.json", 1 << 40), Unpacking::AsGzip);
        assert_eq!(unpacking("trace.json", 1 << 10), Unpacking::Whole);
    }

    #[test]
    fn ranks_of_one_run_differ_in_their_number() {
        let are = |names: &[&str]| are_ranks_of_one_run(names.iter().copied());
        assert!(are(&["rank0.json.gz", "rank1.json.gz", "rank10.json.gz"]));
        assert!(are(&["worker7_step_1.169.pt.trace.json", "worker8_step_1.170.pt.trace.json"]));
        assert!(!are(&["rank0.json", "rank0.json"]));
        assert!(!are(&["rank0.json"]));
        assert!(!are(&["a-rank0.json", "b-rank1.json"]));
        assert!(!are(&["rank0.json", "notes.json"]));
        assert!(!are(&[]));
    }

    #[test]
    fn files_of_a_linked_comparison_find_their_sides() {
        let linked =
            |name: &str, bytes, side| LinkedFile { name: name.to_string(), bytes, sha256: None, side };
        let of = |a: &[(&str, u64)], b: &[(&str, u64)]| {
            let side = |files: &[(&str, u64)], side| {
                files.iter().map(|(name, bytes)| linked(name, *bytes, side)).collect::<Vec<_>>()
            };
            [side(a, Some(LinkedSide::A)), side(b, Some(LinkedSide::B))].concat()
        };
        let told = |linked: &[LinkedFile], files: &[(&str, u64)]| {
            let sides = sides_among(linked, files)?;
            Some(sides.iter().map(|side| side.letter()).collect::<String>())
        };
        let link = of(&[("run0.json", 5), ("run1.json", 6)], &[("run2.json", 5), ("run3.json", 7)]);
        for (files, sides) in [
            // In any order, by name; by size alone if renamed.
            (&[("run3.json", 7), ("run2.json", 5), ("run1.json", 6), ("run0.json", 5)][..], Some("bbaa")),
            (&[("w", 7), ("x", 6), ("run2.json", 5), ("y", 5)], Some("baba")),
            // By folder, whatever the file names; by name if folders do not decide.
            (&[("t/after/x", 5), ("t/after/y", 7), ("t/before/x", 6), ("t/before/y", 5)], Some("bbaa")),
            (
                &[("t/p/run0.json", 5), ("t/q/run1.json", 6), ("t/p/run2.json", 5), ("t/q/run3.json", 7)],
                Some("aabb"),
            ),
            // One is missing, different, or extra.
            (&[("run0.json", 5), ("run1.json", 6), ("run2.json", 5)], None),
            (&[("run0.json", 5), ("run1.json", 6), ("run2.json", 5), ("run3.json", 8)], None),
            (&[("run0.json", 5), ("run1.json", 6), ("run2.json", 5), ("run3.json", 7), ("x", 1)], None),
        ] {
            assert_eq!(told(&link, files).as_deref(), sides, "{files:?}");
        }
        // Links to combined files, and old links to comparisons, state no A and B.
        let untold = link.iter().map(|file| LinkedFile { side: None, ..file.clone() }).collect::<Vec<_>>();
        assert_eq!(
            told(&untold, &[("run0.json", 5), ("run1.json", 6), ("run2.json", 5), ("run3.json", 7)]),
            None
        );
        assert_eq!(told(&[], &[]), None);
    }
}
