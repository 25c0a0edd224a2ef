//! Files that may be read, and what identifies their content.

use crate::cli::content;
use std::path::{Path, PathBuf};
use tracedrop::base::hash::HashMap;

/// Characters of a key: the first of a SHA-256.
pub const KEY_LETTERS: usize = 8;
/// Folder levels searched for a file.
const MAX_DEPTH: usize = 4;
/// Files that are looked at in a search.
const MAX_FILES: usize = 10_000;
/// Files that are hashed in a search.
const MAX_HASHED: usize = 2 * MAX_FILES;

/// Folders that questions are confined to.
pub struct Folders(Vec<PathBuf>);

impl Folders {
    /// The error says which of `paths` does not exist.
    pub fn new(paths: &[PathBuf]) -> Result<Folders, String> {
        let canonical =
            |path: &PathBuf| path.canonicalize().map_err(|error| format!("{}: {error}", path.display()));
        paths.iter().map(canonical).collect::<Result<_, _>>().map(Folders)
    }

    /// No folder: nothing is found by name.
    pub fn none() -> Folders {
        Folders(Vec::new())
    }

    /// The path, if it and everything in it lies in the folders; links are followed. A relative path is one in any of the folders.
    pub fn find(&self, path: &str) -> Result<PathBuf, String> {
        let candidates =
            [PathBuf::from(path)].into_iter().chain(self.0.iter().map(|folder| folder.join(path)));
        let inside = |path: &PathBuf| path.canonicalize().ok().filter(|path| self.has(path));
        let found = candidates.filter_map(|path| inside(&path)).next();
        let found = found.ok_or_else(|| {
            let folders: Vec<String> = self.0.iter().map(|folder| folder.display().to_string()).collect();
            format!("no such file in the folders of this server: {}", folders.join(", "))
        })?;
        match leads_outside(self, &found, MAX_DEPTH) {
            true => Err("a link in this folder leads out of the folders of this server".to_string()),
            false => Ok(found),
        }
    }

    fn has(&self, canonical: &Path) -> bool {
        self.0.iter().any(|folder| canonical.starts_with(folder))
    }
}

fn leads_outside(folders: &Folders, path: &Path, n_levels: usize) -> bool {
    let Ok(entries) = std::fs::read_dir(path) else { return false };
    entries.filter_map(Result::ok).any(|entry| {
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let is_outside = || entry.path().canonicalize().is_ok_and(|target| !folders.has(&target));
        (is_link && is_outside())
            || (!is_link && n_levels > 0 && leads_outside(folders, &entry.path(), n_levels - 1))
    })
}

/// Key of one file, or of the files in a folder with their names. `None` if nothing can be read.
pub fn key_of(path: &Path) -> Option<String> {
    key_by(path, &mut content::sha256)
}

/// [`key_of`] with the SHA-256 of files from `sha256`.
fn key_by(path: &Path, sha256: &mut dyn FnMut(&Path) -> Option<String>) -> Option<String> {
    if path.is_file() {
        return sha256(path).map(|hash| short(&hash));
    }
    let (mut files, _) = below(path);
    files.sort();
    let mut hashes = String::new();
    for file in files {
        hashes.push_str(&file.strip_prefix(path).unwrap_or(&file).to_string_lossy());
        hashes.push_str(&sha256(&file)?);
    }
    (!hashes.is_empty()).then(|| hash_of(&hashes))
}

/// Key of several files that are one run, in this order.
pub fn key_of_all(keys: &[String]) -> String {
    match keys {
        [key] => key.clone(),
        keys => hash_of(&keys.join("+")),
    }
}

/// Hash of a text, as short as a key.
pub fn hash_of(text: &str) -> String {
    use sha2::{Digest, Sha256};
    short(&tracedrop::base::text::hex(&Sha256::digest(text.as_bytes())))
}

fn short(hash: &str) -> String {
    hash.chars().take(KEY_LETTERS).collect()
}

/// Files in a folder and its folders, and these folders with itself; links are skipped.
fn below(path: &Path) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut found, mut folders) = (Vec::new(), Vec::new());
    let mut todo = vec![(path.to_path_buf(), MAX_DEPTH)];
    while let Some((folder, n_levels)) = todo.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_file() && found.len() < MAX_FILES {
                found.push(entry.path());
            } else if kind.is_dir() && n_levels > 0 {
                todo.push((entry.path(), n_levels - 1));
            }
        }
        folders.push(folder);
    }
    (found, folders)
}

/// Files and folders that are found by their keys. Each file is hashed once.
pub struct Search<'a> {
    /// Where they are: files, or folders that contain them.
    places: &'a [PathBuf],
    hashes: HashMap<PathBuf, Option<String>>,
}

impl Search<'_> {
    pub fn new(places: &[PathBuf]) -> Search<'_> {
        Search { places, hashes: HashMap::default() }
    }

    fn key_of(&mut self, path: &Path) -> Option<String> {
        let hashes = &mut self.hashes;
        key_by(path, &mut |file| {
            if let Some(known) = hashes.get(file) {
                return known.clone();
            }
            // Folders far down contain files that are beyond the depth of the search.
            let hash = if hashes.len() < MAX_HASHED { content::sha256(file) } else { None };
            hashes.insert(file.to_path_buf(), hash.clone());
            hash
        })
    }

    /// What has that key: a file or a folder among the places and everything below them, or else all places, in their order.
    pub fn with_key(&mut self, key: &str) -> Option<Vec<PathBuf>> {
        let (mut files, mut folders) = (Vec::new(), Vec::new());
        for place in self.places {
            if place.is_file() {
                files.push(place.clone());
            } else {
                let (inside, with_folders) = below(place);
                files.extend(inside);
                folders.extend(with_folders);
            }
        }
        files.sort();
        folders.sort();
        let mut one = files.into_iter().chain(folders);
        if let Some(found) = one.find(|path| self.key_of(path).is_some_and(|found| found == key)) {
            return Some(vec![found]);
        }
        let keys: Vec<String> = self.places.iter().map(|place| self.key_of(place)).collect::<Option<_>>()?;
        (key_of_all(&keys) == key).then(|| self.places.to_vec())
    }
}
