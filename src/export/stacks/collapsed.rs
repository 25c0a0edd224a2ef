//! Collapsed stacks for flamegraph.pl, inferno and speedscope: one line per stack, `root;…;leaf weight`.
//!
//! The first frame is process and thread. The format has no units, so there is one exporter for each:
//! self times of slices in nanoseconds, and samples with the weights of the file.
//! Semicolons separate frames, so those in names become colons; control characters become visible. In a name that ends in a number,
//! such as `worker 1`, the last blank becomes a no-break space: readers take two numbers for a difference.
//! Samples without a stack are one line with a weight only, as py-spy writes them; it is the last one, and of no thread.

use super::{ByTrack, Out, file_prefix, has_samples, has_thread_slices};
use super::{Place, Profile, is_first, other_weights, profiles};
use super::{last_digits_of, may_be_rounded};
use super::{place_name, profile_name, thread_path};
use crate::analysis::timeline::shown;
use crate::base::hash::HashMap;
use crate::base::steps::{Steps, pause};
use crate::base::strings::StringId;
use crate::base::text::{is_decimal, push_visible};
use crate::base::units::{counted, group_digits};
use crate::export::{ExporterInfo, Input, LeftOut, TextsIn, WriteFn};
use crate::stacks::graph::{ROOT, StackGraph};
use crate::stacks::merged::{Label, Merged, StackQuery};
use crate::trace::Trace;
use crate::trace::samples::StackId;
use crate::trace::slices::Class;
use crate::trace::stack_profiles::Amount;
use crate::trace::tracks::TrackKind;
use std::io::{self, Write};

pub const INFO: ExporterInfo = ExporterInfo {
    id: "collapsed",
    title: "Collapsed stacks (self time in ns)",
    extension: "collapsed.txt",
    media_type: "text/plain; charset=utf-8",
    in_menu: true,
    needs: "thread slices",
    applies: has_thread_slices,
    write: WriteFn::InSteps(|input, out| Steps::new(async move { write_slices(input, out).await })),
    reference: None,
    converts: None,
    texts: TextsIn::Stacks,
    takes_part: true,
    can_redact: true,
    takes_notes: false,
};

pub const SAMPLES_INFO: ExporterInfo = ExporterInfo {
    id: "collapsed-samples",
    title: "Collapsed stacks (samples)",
    extension: "samples.collapsed.txt",
    media_type: "text/plain; charset=utf-8",
    in_menu: true,
    needs: "samples",
    applies: has_samples,
    write: WriteFn::InSteps(|input, out| {
        Steps::new(async move {
            let mut left_out = write_samples(input, out).await?;
            left_out.0.append(&mut other_weights(input.run, is_first).0);
            Ok(left_out)
        })
    }),
    reference: None,
    converts: None,
    texts: TextsIn::Stacks,
    takes_part: true,
    can_redact: true,
    takes_notes: false,
};

/// Limit on the frames of one line. Each line repeats all frames of its stack, so without a limit the file size would grow
/// with the number of stacks times their depth.
const MAX_FRAMES: u32 = 2000;
/// Placeholder for deeper frames.
const FURTHER_IN: &str = "[deeper frames]";

/// Samples per step.
const SAMPLES_A_STEP: usize = 4096;

/// Stands for the last blank of a name that ends in a number.
const NO_BREAK_SPACE: &str = "\u{a0}";

/// Parent of the outermost frames.
const NO_NODE: u32 = u32::MAX;

/// A tree of stacks with their weights.
struct Tree {
    /// By node: name of its frame, already escaped for a line.
    names: Vec<String>,
    by_name: HashMap<String, u32>,
    /// By node: number of the name, parent node ([`NO_NODE`] at the root), depth.
    nodes: Vec<(u32, u32, u32)>,
    by_place: HashMap<(u32, u32), u32>,
    /// Nodes that stand for the frames beyond [`MAX_FRAMES`].
    n_cut: u64,
}

impl Tree {
    fn new() -> Tree {
        Tree {
            names: Vec::new(),
            by_name: HashMap::default(),
            nodes: Vec::new(),
            by_place: HashMap::default(),
            n_cut: 0,
        }
    }

    fn name(&mut self, text: &str) -> u32 {
        let mut name = String::with_capacity(text.len());
        for c in text.chars() {
            push_visible(if c == ';' { ':' } else { c }, &mut name);
        }
        // A number at the end of a stack would be its weight in A.
        if let Some((before, _)) = name.rsplit_once(' ').filter(|(_, word)| is_decimal(word)) {
            let blank = before.len();
            name.replace_range(blank..=blank, NO_BREAK_SPACE);
        }
        let next = self.names.len() as u32;
        let number = *self.by_name.entry(name.clone()).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        number
    }

    /// The child node of that name in `parent`.
    fn node(&mut self, parent: u32, name: u32) -> u32 {
        let depth = self.nodes.get(parent as usize).map_or(0, |node| node.2);
        if depth > MAX_FRAMES {
            return parent;
        }
        let name = if depth == MAX_FRAMES { self.name(FURTHER_IN) } else { name };
        let next = self.nodes.len() as u32;
        let node = *self.by_place.entry((parent, name)).or_insert(next);
        if node == next {
            self.nodes.push((name, parent, depth + 1));
            self.n_cut += u64::from(depth == MAX_FRAMES);
        }
        node
    }

    /// What is missing of the stacks.
    fn left_out(&self) -> Option<String> {
        let lines = || counted(self.n_cut, "line", "lines");
        (self.n_cut > 0)
            .then(|| format!("frames deeper than {}, in {}", group_digits(i128::from(MAX_FRAMES)), lines()))
    }

    fn root(&mut self, text: &str) -> u32 {
        let name = self.name(text);
        self.node(NO_NODE, name)
    }

    /// Writes a line.
    fn line(&self, node: u32, weight: impl FnOnce(&mut Out<'_>), out: &mut Out<'_>) -> io::Result<()> {
        let mut path = Vec::new();
        let mut at = node;
        while let Some((name, parent, _)) = self.nodes.get(at as usize) {
            path.push(*name);
            at = *parent;
        }
        for (i, name) in path.iter().rev().enumerate() {
            out.raw(if i > 0 { ";" } else { "" });
            out.raw(&self.names[*name as usize]);
        }
        // Without a semicolon, it would be a comment.
        if let [only] = path[..]
            && self.names[only as usize].starts_with('#')
        {
            out.raw(";");
        }
        out.raw(" ");
        weight(out);
        out.raw("\n");
        out.pass_on()
    }
}

async fn write_slices(input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
    let mut tree = Tree::new();
    let mut self_ns: Vec<i64> = Vec::new();
    for trace in &input.run.traces {
        let by_track = ByTrack::new(trace);
        let prefix = file_prefix(input.run, trace);
        let mut names: HashMap<StringId, u32> = HashMap::default();
        // Indexed by slice.
        let mut nodes = vec![NO_NODE; trace.slices.len()];
        for track in 0..trace.tracks.len() {
            let is_of_thread =
                matches!(trace.tracks.kind[track], TrackKind::Thread | TrackKind::ThreadOverflow);
            let Some(thread) = trace.tracks.thread[track].filter(|_| is_of_thread) else { continue };
            if !by_track.takes_time(trace, track) {
                continue;
            }
            let root = tree.root(&format!("{prefix}{}", thread_path(trace, thread.0 as usize)));
            for slice in by_track.of(track).iter().map(|slice| *slice as usize) {
                if Class::of(trace.slices.kind[slice]) == Class::Instant {
                    continue;
                }
                let id = trace.slices.name[slice];
                let text = || shown(trace.strings.get_opt(id));
                let name = *names.entry(id).or_insert_with(|| tree.name(text()));
                // A parent comes before its children.
                let around = by_track.timed_parent(trace, slice).filter(|parent| (*parent as usize) < slice);
                let node = tree.node(around.map_or(root, |parent| nodes[parent as usize]), name);
                nodes[slice] = node;
                self_ns.resize(tree.nodes.len(), 0);
                let sum = &mut self_ns[node as usize];
                *sum = sum.saturating_add(trace.slices.self_ns.get(slice));
            }
            pause().await;
        }
    }
    let mut out = Out::new(out);
    for (node, ns) in self_ns.iter().enumerate().filter(|(_, ns)| **ns > 0) {
        tree.line(node as u32, |out| out.integer(*ns), &mut out)?;
    }
    out.flush()?;
    Ok(LeftOut(tree.left_out().into_iter().collect()))
}

async fn write_samples(input: &Input<'_>, out: &mut dyn Write) -> io::Result<LeftOut> {
    let mut tree = Tree::new();
    let mut exact: Vec<Amount> = Vec::new();
    let mut weights: Vec<f64> = Vec::new();
    let (mut exact_without, mut without) = (Amount::ZERO, 0.0);
    let mut add = |node: u32, weight: f64, n_nodes: usize| {
        weights.resize(n_nodes, 0.0);
        if weight.is_finite() {
            weights[node as usize] += weight;
        }
    };
    for trace in &input.run.traces {
        let prefix = file_prefix(input.run, trace);
        let mut roots: HashMap<u32, u32> = HashMap::default();
        let mut known: HashMap<(u32, StackId), u32> = HashMap::default();
        let samples = &trace.samples;
        for i in 0..samples.len() {
            if i % SAMPLES_A_STEP == 0 {
                pause().await;
            }
            if samples.stack[i] == StackId::NONE {
                without += if samples.weight[i].is_finite() { samples.weight[i] } else { 0.0 };
                continue;
            }
            let thread = samples.thread[i].0;
            let root = *roots
                .entry(thread)
                .or_insert_with(|| tree.root(&format!("{prefix}{}", thread_path(trace, thread as usize))));
            let place = (root, samples.stack[i]);
            let node = match known.get(&place) {
                Some(node) => *node,
                None => {
                    let node = stack_node(trace, samples.stack[i], root, &mut tree);
                    known.insert(place, node);
                    node
                }
            };
            add(node, samples.weight[i], tree.nodes.len());
        }
        // A line has one weight: the first one.
        let of_first: Vec<Profile<'_>> =
            profiles(trace, |unit| unit).into_iter().filter(|it| it.is_first).collect();
        let is_one_thread = of_first.windows(2).all(|pair| pair[0].thread == pair[1].thread);
        let mut nodes: HashMap<(u32, StackId), u32> = HashMap::default();
        for of in of_first {
            let root = match is_one_thread && prefix.is_empty() {
                true => NO_NODE,
                false => tree.root(&format!("{prefix}{}", of.thread)),
            };
            for (row, stack) in of.profile.stack.iter().enumerate() {
                if row % SAMPLES_A_STEP == 0 {
                    pause().await;
                }
                let Some(weight) = of.profile.weight.get(row) else { continue };
                if *stack == StackId::NONE {
                    exact_without = exact_without.plus(weight);
                    continue;
                }
                let node = *nodes
                    .entry((root, *stack))
                    .or_insert_with(|| stack_node(trace, *stack, root, &mut tree));
                exact.resize(tree.nodes.len(), Amount::ZERO);
                exact[node as usize] = exact[node as usize].plus(weight);
            }
        }
        for (number, profile) in trace.profiles.iter().enumerate() {
            let name = profile_name(profile, number + 1, trace.profiles.len());
            let root = tree.root(&format!("{prefix}{name}"));
            for row in 0..profile.frames.len() {
                let name = tree.name(&place_name(trace, profile, row));
                let node = tree.node(root, name);
                add(node, profile.frames.self_samples[row] as f64, tree.nodes.len());
            }
        }
    }
    let mut out = Out::new(out);
    for (node, weight) in exact.iter().enumerate().filter(|(_, weight)| **weight != Amount::ZERO) {
        tree.line(node as u32, |out| out.raw(&weight.to_string()), &mut out)?;
    }
    for (node, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
        tree.line(node as u32, |out| out.float(*weight), &mut out)?;
    }
    if exact_without != Amount::ZERO {
        tree.line(NO_NODE, |out| out.raw(&exact_without.to_string()), &mut out)?;
    }
    if without != 0.0 {
        tree.line(NO_NODE, |out| out.float(without), &mut out)?;
    }
    out.flush()?;
    Ok(LeftOut(tree.left_out().into_iter().collect()))
}

/// Writes a difference as `difffolded.pl` does: a line per stack with its weight in A and in B. Frames are functions, with file or
/// module in brackets.
///
/// Weights are doubles of the graph: fractions have 15 digits, and what may be rounded is said.
pub fn write_difference(graph: &StackGraph, out: &mut dyn Write) -> io::Result<LeftOut> {
    let mut tree = Tree::new();
    // Queries without patterns have no errors.
    let merged = Merged::new(graph, &StackQuery::default(), (1.0, 1.0)).unwrap_or_default();
    let name_of = |label: &Label| match label.place.as_str() {
        "" => label.name.clone(),
        place => format!("{} ({place})", label.name),
    };
    let names: Vec<u32> = merged.labels.iter().map(|label| tree.name(&name_of(label))).collect();
    let mut nodes: Vec<u32> = Vec::with_capacity(merged.key.len());
    let mut weights: Vec<(f64, f64)> = Vec::new();
    for ((key, parent), own) in merged.key.iter().zip(&merged.parent).zip(merged.own.iter()) {
        let around = if *parent == ROOT { NO_NODE } else { nodes[*parent as usize] };
        let node = tree.node(around, names[*key as usize]);
        nodes.push(node);
        weights.resize(tree.nodes.len(), (0.0, 0.0));
        let (before, after) = &mut weights[node as usize];
        (*before, *after) = (*before + own.before, *after + own.weight);
    }
    let mut out = Out::new(out);
    let weights = (0u32..).zip(weights).filter(|(_, (before, after))| *before != 0.0 || *after != 0.0);
    let mut n_large = 0;
    for (node, (before, after)) in weights {
        n_large += u64::from(may_be_rounded(before)) + u64::from(may_be_rounded(after));
        let number = |weight: f64| without_noise(weight).to_string();
        tree.line(node, |out| out.raw(&format!("{} {}", number(before), number(after))), &mut out)?;
    }
    out.flush()?;
    Ok(LeftOut(tree.left_out().into_iter().chain(last_digits_of(n_large)).collect()))
}

/// A fraction as 15 digits: sums of doubles differ from those of the decimals beyond.
fn without_noise(weight: f64) -> f64 {
    if weight.fract() == 0.0 { weight } else { format!("{weight:.14e}").parse().unwrap_or(weight) }
}

/// `function (file:line)` or `function (module)`, as py-spy writes it; what has no place is its name.
fn line_name(place: &Place) -> String {
    match (&place.file, place.line) {
        (Some(file), Some(line)) => format!("{} ({file}:{line})", place.name),
        (Some(file), None) => format!("{} ({file})", place.name),
        (None, _) => place.name.clone(),
    }
}

/// The node of a stack below `root`.
fn stack_node(trace: &Trace, stack: StackId, root: u32, tree: &mut Tree) -> u32 {
    let frames = super::stack_frames(trace, stack);
    frames.iter().fold(root, |node, frame| {
        let name = tree.name(&line_name(&super::place_of(trace, *frame)));
        tree.node(node, name)
    })
}
