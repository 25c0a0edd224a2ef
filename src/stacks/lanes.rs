//! Weights of one profile, or of both sides of a difference.

/// A weight of B, or the only one; and of A.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Lanes {
    pub weight: f64,
    pub before: f64,
    /// Sum of the changes of all nodes within, whatever their sign; 0 without a difference.
    pub change: f64,
}

impl Lanes {
    pub fn add(&mut self, other: Lanes) {
        self.weight += other.weight;
        self.before += other.before;
        self.change += other.change;
    }

    pub(super) fn times(self, factor: f64) -> Lanes {
        let Lanes { weight, before, change } = self;
        Lanes { weight: weight * factor, before: before * factor, change: change * factor }
    }

    /// Whether any of its numbers reaches that of `least`.
    pub(super) fn reaches(self, least: Lanes) -> bool {
        let reaches = |own: f64, least: f64| own > 0.0 && own >= least;
        reaches(self.weight, least.weight)
            || reaches(self.before, least.before)
            || reaches(self.change, least.change)
    }

    pub(super) fn is_nothing(self) -> bool {
        self.weight <= 0.0 && self.before <= 0.0
    }
}

/// Weights by node. A profile has one number a node, as most graphs are of one and may have millions of nodes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LaneColumn {
    weight: Vec<f64>,
    /// A and the change, in a difference.
    sides: Option<Vec<(f64, f64)>>,
}

impl LaneColumn {
    /// Nothing for `n` nodes.
    pub fn new(n: usize, is_difference: bool) -> LaneColumn {
        LaneColumn { weight: vec![0.0; n], sides: is_difference.then(|| vec![(0.0, 0.0); n]) }
    }

    pub fn is_difference(&self) -> bool {
        self.sides.is_some()
    }

    pub fn len(&self) -> usize {
        self.weight.len()
    }

    pub fn is_empty(&self) -> bool {
        self.weight.is_empty()
    }

    pub fn get(&self, node: usize) -> Lanes {
        let (before, change) = self.sides.as_ref().map_or((0.0, 0.0), |sides| sides[node]);
        Lanes { weight: self.weight[node], before, change }
    }

    pub fn iter(&self) -> impl Iterator<Item = Lanes> + '_ {
        (0..self.len()).map(|node| self.get(node))
    }

    pub fn push(&mut self, lanes: Lanes) {
        if let Some(sides) = &mut self.sides {
            sides.push((lanes.before, lanes.change));
        }
        self.weight.push(lanes.weight);
    }

    pub fn add(&mut self, node: usize, lanes: Lanes) {
        self.weight[node] += lanes.weight;
        if let Some(sides) = &mut self.sides {
            sides[node].0 += lanes.before;
            sides[node].1 += lanes.change;
        }
    }

    /// Adds each node to its parent, from the last one; parents come before their children.
    pub(super) fn add_to_parents(&mut self, parents: &[u32], root: u32) {
        for (node, parent) in parents.iter().enumerate().rev() {
            if *parent != root {
                self.add(*parent as usize, self.get(node));
            }
        }
    }

    /// Sets the change of each node to that between its two weights.
    pub(super) fn set_changes(&mut self) {
        for (weight, (before, change)) in self.weight.iter().zip(self.sides.iter_mut().flatten()) {
            *change = (weight - *before).abs();
        }
    }

    /// Makes weights below zero nothing. Returns their sum.
    pub(super) fn take_negative(&mut self) -> f64 {
        let before = self.sides.iter_mut().flatten().map(|(before, _)| before);
        let negative = self.weight.iter_mut().chain(before).filter(|weight| **weight < 0.0);
        negative.map(std::mem::take).sum()
    }
}
