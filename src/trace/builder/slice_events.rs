//! Event of each slice, in the memory of the order in which events are processed: an event makes one slice at most, nearly always.
//!
//! ```text
//! [events of slices 0..n_slices | free | events from next on, not processed yet]
//! ```

/// Least room that is made for more slices than events.
const MIN_GAP: usize = 1024;

/// Events of slices, and those that are still to be processed.
#[derive(Default)]
pub struct SliceEvents {
    events: Vec<u32>,
    n_slices: usize,
    /// Invariant: not less than `n_slices`.
    next: usize,
}

impl SliceEvents {
    /// No slices, and events to be processed in this order.
    pub fn of_order(order: Vec<u32>) -> SliceEvents {
        SliceEvents { events: order, n_slices: 0, next: 0 }
    }

    /// The next event to be processed.
    #[inline]
    pub fn next_event(&mut self) -> Option<u32> {
        let event = self.events.get(self.next).copied()?;
        self.next += 1;
        Some(event)
    }

    /// Adds the event of the next slice.
    #[inline]
    pub fn push(&mut self, event: u32) {
        if self.n_slices == self.next {
            // In proportion to what has to be moved, so that moving stays linear.
            let n = MIN_GAP.max((self.events.len() - self.next) / 4);
            self.events.splice(self.next..self.next, std::iter::repeat_n(0, n));
            self.next += n;
        }
        self.events[self.n_slices] = event;
        self.n_slices += 1;
    }

    /// Event of a slice.
    #[inline]
    pub fn get(&self, slice: u32) -> Option<u32> {
        self.events[..self.n_slices].get(slice as usize).copied()
    }

    /// The event of each slice.
    pub fn into_events(mut self) -> Vec<u32> {
        self.events.truncate(self.n_slices);
        self.events.shrink_to_fit();
        self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_and_events_share_memory() {
        for n_slices_of_event in [0, 1, 3] {
            let order: Vec<u32> = (0..3000).map(|i| i * 7 % 3000).collect();
            let mut all = SliceEvents::of_order(order.clone());
            let (mut seen, mut expected) = (Vec::new(), vec![42]);
            // A slice before any event.
            all.push(42);
            while let Some(event) = all.next_event() {
                seen.push(event);
                for _ in 0..n_slices_of_event {
                    all.push(event);
                    expected.push(event);
                }
                assert_eq!(all.get(expected.len() as u32 - 1), expected.last().copied());
                assert_eq!(all.get(expected.len() as u32), None);
            }
            assert_eq!(seen, order);
            assert_eq!(all.into_events(), expected);
        }
    }
}
