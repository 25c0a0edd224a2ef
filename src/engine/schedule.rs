//! The order of a worker's jobs: what a person waits for goes first, and anything can be cancelled.
//!
//! A job is done in steps. After each one, the queue is asked again, so a more urgent job that has arrived meanwhile goes first.
//! A further kind of job gets a variant of [`JobKind`], at its place in the order.

/// Kind of a job, the most urgent first. Jobs of one kind are done in the order of their arrival.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum JobKind {
    /// Someone looks for the answer: rows, text to copy, search hits.
    Answer,
    /// A question to the timeline. The first one makes its index.
    Timeline,
    /// The first reports, or those for changed settings.
    Reports,
    /// An export, or whatever else needs the traces for itself.
    Export,
    /// Reports that follow others.
    LateReports,
    /// What someone will probably ask for next, while nobody waits.
    Ahead,
}

/// A job, with its place in the queue.
pub struct Queued<J> {
    pub kind: JobKind,
    /// Number of the request whose answer it is.
    pub ticket: Option<u32>,
    pub job: J,
    number: u64,
}

/// Jobs to do.
pub struct Queue<J> {
    jobs: Vec<Queued<J>>,
    n_added: u64,
}

impl<J> Default for Queue<J> {
    fn default() -> Queue<J> {
        Queue { jobs: Vec::new(), n_added: 0 }
    }
}

impl<J> Queue<J> {
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Whether there is a job of that kind.
    pub fn has(&self, kind: JobKind) -> bool {
        self.jobs.iter().any(|queued| queued.kind == kind)
    }

    /// Adds a job behind all others of its kind.
    pub fn add(&mut self, kind: JobKind, ticket: Option<u32>, job: J) {
        self.n_added += 1;
        self.jobs.push(Queued { kind, ticket, job, number: self.n_added });
    }

    /// Takes the job whose turn it is, for a step.
    pub fn take(&mut self) -> Option<Queued<J>> {
        let at = (0..self.jobs.len()).min_by_key(|at| (self.jobs[*at].kind, self.jobs[*at].number))?;
        Some(self.jobs.swap_remove(at))
    }

    /// Returns a job that has more steps, to the place where it was.
    pub fn put_back(&mut self, queued: Queued<J>) {
        self.jobs.push(queued);
    }

    /// Drops the jobs of these kinds, started or not; returns their tickets.
    pub fn cancel(&mut self, kinds: &[JobKind]) -> Vec<u32> {
        let mut tickets = Vec::new();
        self.jobs.retain(|queued| {
            let stays = !kinds.contains(&queued.kind);
            if !stays {
                tickets.extend(queued.ticket);
            }
            stays
        });
        tickets.sort_unstable();
        tickets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use JobKind::{Answer, Export, LateReports, Reports};

    /// Does steps until the queue is empty; `arrivals` are jobs that arrive before the step of that number. A job is its name and
    /// the number of its steps.
    fn order(arrivals: &[(usize, JobKind, &'static str, u32)]) -> Vec<&'static str> {
        let mut queue = Queue::default();
        let mut done = Vec::new();
        for step in 0.. {
            for (_, kind, name, n_steps) in arrivals.iter().filter(|(at, ..)| *at == step) {
                queue.add(*kind, None, (*name, *n_steps));
            }
            let Some(mut queued) = queue.take() else { break };
            done.push(queued.job.0);
            queued.job.1 -= 1;
            if queued.job.1 > 0 {
                queue.put_back(queued);
            }
        }
        done
    }

    #[test]
    fn what_a_person_waits_for_goes_first() {
        let jobs = [
            (0, LateReports, "late", 3),
            (0, Export, "export", 2),
            (1, Answer, "rows", 1),
            (1, Answer, "copy", 1),
            (3, Reports, "query", 2),
            (4, Answer, "search", 1),
        ];
        let steps = ["export", "rows", "copy", "query", "search", "query", "export", "late", "late", "late"];
        assert_eq!(order(&jobs), steps);
    }

    #[test]
    fn jobs_of_one_kind_do_not_alternate() {
        let jobs = [(0, Export, "a", 2), (0, Export, "b", 2), (1, Export, "c", 1)];
        assert_eq!(order(&jobs), ["a", "a", "b", "b", "c"]);
    }

    #[test]
    fn cancelled_jobs_do_no_more_steps() {
        let mut queue = Queue::default();
        for (ticket, kind) in [(7, Export), (3, Export), (4, Answer)] {
            queue.add(kind, Some(ticket), ());
        }
        queue.add(LateReports, None, ());
        // One of them has begun.
        let begun = queue.take().filter(|queued| queued.ticket == Some(4)).unwrap();
        queue.put_back(begun);
        assert_eq!(queue.cancel(&[Export, LateReports]), [3, 7]);
        assert_eq!(queue.take().and_then(|queued| queued.ticket), Some(4));
        assert!(queue.is_empty() && queue.cancel(&[Answer]).is_empty());
    }
}
