//! What names of files say, before anything is read: which of a folder may be traces, and which belong together.

use super::protocol::FormatView;
use crate::base::text::number_behind;
use crate::memory_run;

/// Endings of packed files and of indexes, which every format may have.
const ENDINGS_OF_ANY: [&str; 4] = ["gz", "zst", "lz4", "tdx"];

/// Whether a file of that name in a folder is taken for a trace, by its ending.
pub fn may_be_trace(name: &str, formats: &[FormatView]) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let is_ending = |known: &str| known.eq_ignore_ascii_case(ending);
    // Files that start with a dot are the system's own.
    !stem.is_empty()
        && (ENDINGS_OF_ANY.into_iter().any(is_ending)
            || formats.iter().flat_map(|format| &format.extensions).any(|known| is_ending(known)))
}

/// The file that is read of a run's directory.
pub const TRACE_OF_RUN: &str = memory_run::TRACE;

/// Whether files of these bare names are the directory of a run of memory accesses.
pub fn is_run<'a>(names: impl Iterator<Item = &'a str> + Clone) -> bool {
    memory_run::is_directory(names)
}

/// Whether a file beside the trace of a run is worth being read.
pub fn is_read_in_run(name: &str, n_bytes: u64) -> bool {
    memory_run::is_read(name, n_bytes)
}

/// Whether names say that files are of the ranks of one run: the same up to the number of a rank, which is another in each.
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
    ranks.sort_unstable();
    ranks.dedup();
    n > 1 && ranks.len() == n
}

/// The number of a rank in a file's name, and at which byte it stands; see [`number_behind`].
fn rank_in_name(name: &str) -> Option<(usize, i64)> {
    number_behind(name, &["rank", "worker"])
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
        for name in [".DS_Store", "README", "notes.md", ".json", "", "gz", "été"] {
            assert!(!may_be_trace(name, &formats), "{name}");
        }
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
}
