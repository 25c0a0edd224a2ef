//! Time in which a GPU ran only kernels or copies of one group: all that could be saved on them. The durations of those that overlap
//! add up to more.
//!
//! ```text
//! stream 7  [GEMM            ]      [GEMM  ]
//! stream 8     [add ] [add ] [add ] [add ]      of four kernels, only the third has the GPU for itself
//! ```

use super::parts::rank;
use super::{GpuTrace, Work};
use crate::base::hash::HashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a kernel or copy is to the others that run at the same moment.
#[derive(Clone, Copy)]
pub struct Role {
    /// A moment counts if all that run in it have one group.
    pub group: u32,
    /// Share of the GPU that it uses, from 0 to 1.
    pub used: f64,
}

impl Role {
    /// One of a group that uses all of the GPU.
    pub fn of(group: u32) -> Role {
        Role { group, used: 1.0 }
    }
}

/// Parts of the time of a kernel or copy, in nanoseconds.
#[derive(Clone, Copy, Default, Debug)]
pub struct Alone {
    /// While nothing of another group ran, divided equally among what ran.
    pub ns: f64,
    /// The same, times the share of the GPU that nothing used.
    pub unused: f64,
}

impl Alone {
    pub fn add(&mut self, other: Alone) {
        self.ns += other.ns;
        self.unused += other.unused;
    }
}

/// Calls `each` with every kernel and copy that has a role, and with its time alone. Those without a role are as if they weren't there.
pub fn each_alone(
    gpu: &GpuTrace<'_>,
    role: &dyn Fn(&Work) -> Option<Role>,
    each: &mut dyn FnMut(&Work, Alone),
) {
    let mut devices: Vec<Device> = gpu.devices.iter().map(|_| Device::default()).collect();
    let mut give = |number: u32, alone| {
        if let Some(work) = gpu.work.get(number as usize) {
            each(work, alone);
        }
    };
    for (work, number) in gpu.work.iter().zip(0..) {
        let Some(role) = role(work).filter(|_| work.dur() > 0) else { continue };
        let device = &mut devices[gpu.streams[work.stream as usize].device as usize];
        device.end_until(work.start, &mut give);
        device.start((work.start, work.end), number, role);
    }
    devices.iter_mut().for_each(|device| device.end_until(i64::MAX, &mut give));
}

/// Calls `each` with the kernels and copies of a [`rank`], and with the time in which nothing of a lower rank ran: together, the exposed
/// communication or the exposed copies of the breakdown of GPU time, to the nanosecond but for rounding.
pub fn each_exposed(gpu: &GpuTrace<'_>, of: u8, each: &mut dyn FnMut(&Work, i64)) {
    let role = |work: &Work| {
        let rank = rank(gpu, work);
        (rank <= of).then(|| Role::of(u32::from(rank == of)))
    };
    each_alone(gpu, &role, &mut |work, alone| {
        if rank(gpu, work) == of {
            each(work, alone.ns.round() as i64);
        }
    });
}

/// What runs on a device.
#[derive(Default)]
struct Device {
    /// Ends and numbers.
    running: BinaryHeap<Reverse<(i64, u32)>>,
    /// By number: the role, and `sums` at the start.
    started: HashMap<u32, (Role, Alone)>,
    /// How many run, by group.
    groups: HashMap<u32, u32>,
    used: f64,
    /// Time up to which `sums` go, in nanoseconds on the trace's clock.
    at: i64,
    /// What anything that ran all the time would have had.
    sums: Alone,
}

impl Device {
    fn advance(&mut self, to: i64) {
        if self.groups.len() == 1 {
            let ns = to.saturating_sub(self.at).max(0) as f64 / self.running.len().max(1) as f64;
            self.sums.add(Alone { ns, unused: ns * (1.0 - self.used).max(0.0) });
        }
        self.at = to;
    }

    fn start(&mut self, (start, end): (i64, i64), number: u32, role: Role) {
        self.advance(start);
        self.running.push(Reverse((end, number)));
        self.started.insert(number, (role, self.sums));
        *self.groups.entry(role.group).or_default() += 1;
        self.used += role.used;
    }

    /// Ends what runs until `ts`.
    fn end_until(&mut self, ts: i64, give: &mut dyn FnMut(u32, Alone)) {
        while let Some(Reverse((end, number))) = self.running.peek().copied()
            && end <= ts
        {
            self.advance(end);
            self.running.pop();
            let Some((role, before)) = self.started.remove(&number) else { continue };
            self.used -= role.used;
            if let Some(n) = self.groups.get_mut(&role.group) {
                *n -= 1;
                if *n == 0 {
                    self.groups.remove(&role.group);
                }
            }
            if self.running.is_empty() {
                // Without what rounding has left.
                self.used = 0.0;
            }
            let alone = Alone { ns: self.sums.ns - before.ns, unused: self.sums.unused - before.unused };
            give(number, alone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times alone of kernels that start and end so, with their roles.
    fn alone(all: &[(i64, i64, Role)]) -> Vec<(i64, i64)> {
        let mut device = Device::default();
        let mut got = vec![(0, 0); all.len()];
        let mut give = |number: u32, alone: Alone| {
            got[number as usize] = (alone.ns.round() as i64, alone.unused.round() as i64);
        };
        for ((start, end, role), number) in all.iter().zip(0..) {
            device.end_until(*start, &mut give);
            device.start((*start, *end), number, *role);
        }
        device.end_until(i64::MAX, &mut give);
        got
    }

    #[test]
    fn time_alone() {
        let of = |group, used| Role { group, used };
        // Under another group from 10 to 30: 10 before and 20 after are its own.
        assert_eq!(alone(&[(0, 50, of(0, 0.25)), (10, 30, of(1, 1.0))]), [(30, 23), (0, 0)]);
        // Four quarters of a GPU fill it, and share the time.
        let quarter = (0, 100, of(0, 0.25));
        assert_eq!(alone(&[quarter; 4]), [(25, 0); 4]);
        // Two of one group, one after the other, the second one half as long beside the first.
        assert_eq!(alone(&[(0, 20, of(0, 0.5)), (10, 20, of(0, 0.25))]), [(15, 6), (5, 1)]);
    }
}
