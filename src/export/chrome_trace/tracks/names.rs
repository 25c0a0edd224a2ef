//! Names and order of processes and threads.

use super::super::writer::Writer;
use super::layout::Layout;
use crate::base::strings::StringId;
use crate::trace::builder::OVERLAP_EVENT;
use crate::trace::tracks::Key;

impl<'a> Layout<'a> {
    /// Names and order of processes and threads, process by process.
    ///
    /// This also fixes the order in which a reader first sees processes and threads.
    pub fn write_names(&self, w: &mut Writer<'_>) {
        let (processes, threads) = (&self.trace.processes, &self.trace.threads);
        let mut rest = self.thread_order.iter().copied().peekable();
        let is_sorted = (
            processes.sort_index.iter().any(Option::is_some),
            threads.sort_index.iter().any(Option::is_some),
        );
        let mut position = 0;
        for process in 0..processes.len() {
            let name = self.name_or_key(processes.name[process], processes.key[process]);
            let index = processes.sort_index[process].unwrap_or(if is_sorted.0 { 0 } else { process as i32 });
            let main = self.main_tid(process);
            w.name_and_index(self.pids[process], None, main, name, i64::from(index));
            if let Some(labels) = self.text(processes.labels[process]) {
                w.metadata("process_labels", self.pids[process], main, "labels", &|w| w.string(labels));
            }
            while let Some(thread) =
                rest.next_if(|thread| self.process_of_thread(*thread as usize) == process)
            {
                self.write_thread_names(thread as usize, is_sorted.1, &mut position, w);
            }
        }
    }

    /// A thread and its overflow lanes. `position` counts them over the whole trace.
    fn write_thread_names(&self, thread: usize, is_sorted: bool, position: &mut i32, w: &mut Writer<'_>) {
        let threads = &self.trace.threads;
        let pid = self.pid(self.process_of_thread(thread));
        let tid = self.tids[thread];
        let process_key = self.trace.processes.key.get(self.process_of_thread(thread));
        // The main thread of a process with a text key shares that key, which is not a thread name.
        let name = match threads.key[thread] {
            key if Some(&key) == process_key => {
                self.text(threads.name[thread]).filter(|name| !name.is_empty())
            }
            key => self.name_or_key(threads.name[thread], key),
        };
        let mut index = |shown_as: usize| {
            *position += 1;
            i64::from(threads.sort_index[shown_as].unwrap_or(if is_sorted { 0 } else { *position - 1 }))
        };
        w.name_and_index(pid, Some(tid), None, name, index(thread));
        for (lane, (track, lane_tid)) in self.lanes[thread].iter().enumerate() {
            let name = match name {
                Some(name) => format!("{name} (overlap {})", lane + 2),
                None => format!("thread {tid} (overlap {})", lane + 2),
            };
            let shown_as = self.trace.tracks.shown_as[*track as usize].map_or(thread, |lane| lane.0 as usize);
            w.metadata(OVERLAP_EVENT, pid, Some(*lane_tid), "of", &|w| w.unsigned(tid));
            w.name_and_index(pid, Some(*lane_tid), None, Some(&name), index(shown_as));
        }
    }

    /// Text ids are often the only name.
    fn name_or_key(&self, name: StringId, key: Key) -> Option<&'a str> {
        match (self.text(name), key) {
            (None | Some(""), Key::Text(text)) => self.text(text),
            (name, _) => name,
        }
        // Readers treat an empty name as none.
        .filter(|name| !name.is_empty())
    }
}
