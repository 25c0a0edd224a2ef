//! Multi-threaded reading of the rest of a file.

use crate::cli::content::{CHUNK_BYTES, FileContent, fill};
use crate::cli::watch;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use tracedrop::base::threads;
use tracedrop::import::Import;
use tracedrop::import::hand_out::HandOut;
use tracedrop::import::part_scheduler::{Next, PartScheduler};
use tracedrop::import::parts::{Part, PartsInfo, SentPart};

/// Smaller files are read by one thread: starting more does not pay.
const MIN_FILE_BYTES: u64 = 32 << 20;
/// Bytes a thread reads per job.
const STRETCH_BYTES: u64 = 16 << 20;
/// More threads are no faster, since a single one joins their results.
const MAX_THREADS: usize = 16;
/// Jobs queued per thread, so that it never waits for the joining thread.
const AHEAD: usize = 2;
/// Upper bound per thread for jobs running or waiting to be joined.
const MAX_UNJOINED: usize = 4;

/// Thread number, byte range and its rows; `None` if it could not be read.
type Done = (usize, Range<u64>, Option<SentPart>);

/// Whether several threads speed up a file of `size` bytes. A single extra thread would only add the joining.
pub fn is_worth_starting(size: u64) -> bool {
    size >= MIN_FILE_BYTES && thread::available_parallelism().is_ok_and(|n_threads| n_threads.get() > 1)
}

/// Reads the rest of the file of `size` bytes, from the position of `import`; reports byte offsets to `progress`.
/// On a read error `import` stands at the end of what was read.
pub fn read_rest(
    path: &Path,
    size: u64,
    import: &mut Import,
    info: &'static PartsInfo,
    progress: &dyn Fn(u64),
) -> io::Result<()> {
    let n_threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let crew = PartScheduler::new(import.position()..size, STRETCH_BYTES).cut_at(import.starts());
    let mut file = File::open(path)?;
    thread::scope(|scope| {
        let (done, results) = mpsc::channel::<Done>();
        let mut jobs: Vec<Sender<Range<u64>>> = Vec::new();
        for thread in 0..n_threads {
            // Fewer threads are fine.
            let Ok(file) = File::open(path) else { break };
            let (send, receive) = mpsc::channel();
            let done = done.clone();
            scope.spawn(move || read_parts(path, file, info, thread, &receive, &done));
            jobs.push(send);
        }
        drop(done);
        let max_unjoined = (jobs.len() * MAX_UNJOINED).max(1);
        let mut parts = HandOut::new(crew, jobs.len(), AHEAD, max_unjoined);
        loop {
            let next = parts.advance(import);
            for (thread, job) in jobs.iter().enumerate() {
                while let Some(stretch) = parts.give(thread) {
                    if job.send(stretch).is_err() {
                        parts.lose(thread);
                    }
                }
            }
            match next {
                Next::Feed(range) => {
                    // If the file was truncated meanwhile, the import reports it.
                    if !feed(&mut file, range, import)? {
                        return Ok(());
                    }
                }
                Next::Wait => {
                    let Ok((thread, stretch, sent)) = results.recv() else {
                        return Err(io::Error::other("the reading threads ended unexpectedly"));
                    };
                    parts.take_back(thread, &stretch, sent.and_then(Part::from_sent));
                }
                Next::Idle if parts.is_under_way() => {}
                Next::Idle => match parts.give_own() {
                    Some(stretch) => parts.take_back_own(&stretch, None),
                    // If the file has grown meanwhile, the rest is read too.
                    None => {
                        import.set_limit(u64::MAX);
                        return feed(&mut file, import.position()..u64::MAX, import).map(drop);
                    }
                },
            }
            progress(import.position());
            if watch::is_stopped() {
                return Ok(());
            }
        }
    })
}

fn read_parts(
    path: &Path,
    mut file: File,
    parts: &PartsInfo,
    thread: usize,
    jobs: &Receiver<Range<u64>>,
    done: &Sender<Done>,
) {
    threads::be_one_of_several();
    let mut reader = (parts.reader)();
    if let Some(content) = FileContent::open(path) {
        reader.lend(Rc::new(content));
    }
    let mut chunk = Vec::new();
    for stretch in jobs {
        reader.start(stretch.start, stretch.end);
        let read = file.seek(SeekFrom::Start(stretch.start)).and_then(|_| {
            while fill(&mut file, &mut chunk, CHUNK_BYTES)? && reader.feed(&chunk) {}
            Ok(())
        });
        let part = reader.finish();
        if done.send((thread, stretch, read.ok().map(|()| part.into_sent()))).is_err() {
            return;
        }
    }
}

/// Feeds a byte range to `import`; false if the file ends before it.
fn feed(file: &mut File, range: Range<u64>, import: &mut Import) -> io::Result<bool> {
    file.seek(SeekFrom::Start(range.start))?;
    let mut chunk = Vec::new();
    let mut left = range.end - range.start;
    while left > 0 {
        if !fill(file, &mut chunk, left.min(CHUNK_BYTES))? {
            return Ok(false);
        }
        left -= chunk.len() as u64;
        import.feed(&chunk);
        if import.is_at_merge_point() || import.has_given_up() {
            break;
        }
    }
    Ok(!import.has_given_up())
}
