//! Objects, memory dumps and clock synchronization.

use super::super::writer::Writer;
use super::layout::Layout;
use crate::trace::objects::ObjectEvent;

impl Layout<'_> {
    pub(super) fn write_objects(&self, w: &mut Writer<'_>) {
        let objects = &self.trace.objects;
        for i in 0..objects.len() {
            let phase = match objects.event[i] {
                ObjectEvent::Created => "N",
                ObjectEvent::Snapshot => "O",
                ObjectEvent::Destroyed => "D",
                ObjectEvent::ProcessMemoryDump => "v",
                ObjectEvent::GlobalMemoryDump => "V",
                ObjectEvent::ClockSync => "c",
            };
            w.open(self.trace.strings.get(objects.name[i]), None, phase);
            w.time(self.time(objects.ts[i]));
            let process = objects.process[i].0 as usize;
            w.place(self.pid(process), self.main_tid(process));
            if let Some(id) = self.text(objects.id[i]) {
                w.raw(",\"id\":");
                w.string(id);
            }
            self.write_raw_args(objects.args[i], w);
            w.close();
        }
    }
}
