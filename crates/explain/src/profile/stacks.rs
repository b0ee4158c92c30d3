//! Folded stacks as samples by function: in it, in it and what it calls, and below which others it is found.

use std::collections::{BTreeMap, BTreeSet};

/// Processes that work for a measured client; all others run beside.
const ROLES: [&str; 2] = ["backend", "parallel worker"];
/// What compilers append to the name of a copy of a function.
const COPIES: [&str; 6] = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."];
/// Ends the name of a frame of the kernel.
const KERNEL_MARK: &str = "_[k]";
/// Stands for all stacks that were too rare to be kept.
const RARE: &str = "[rare]";

/// A function in the stacks of one profile.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Function {
    pub own: u64,
    /// Samples in it or in what it calls.
    pub with_called: u64,
    /// Of the samples in it, those below each function, itself included.
    pub below: BTreeMap<String, u64>,
}

/// The stacks of the sessions of measured clients.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stacks {
    pub samples: u64,
    pub kernel: u64,
    /// Those in unresolved functions.
    pub unnamed: u64,
    pub functions: BTreeMap<String, Function>,
}

impl Stacks {
    /// Reads lines `role;frame;frame… samples`, the outermost frame first. Lines that are none are passed by.
    pub(super) fn parse(folded: &str) -> Self {
        let mut stacks = Self::default();
        for line in folded.lines() {
            let Some((stack, samples)) = line.rsplit_once(' ') else { continue };
            let (Some((role, frames)), Ok(samples)) = (stack.split_once(';'), samples.parse()) else {
                continue;
            };
            if ROLES.contains(&role) {
                let frames: Vec<&str> = frames.split(';').map(name).collect();
                stacks.add(&frames, samples);
            }
        }
        stacks
    }

    fn add(&mut self, frames: &[&str], samples: u64) {
        let Some(leaf) = frames.last() else { return };
        self.samples += samples;
        self.kernel += if is_kernel(leaf) { samples } else { 0 };
        self.unnamed += if is_named(leaf) || *leaf == RARE { 0 } else { samples };
        // A function that calls itself is in a stack several times and in a sample once.
        let frames: BTreeSet<&str> = frames.iter().copied().collect();
        for frame in &frames {
            self.functions.entry((*frame).to_owned()).or_default().with_called += samples;
        }
        let function = self.functions.entry((*leaf).to_owned()).or_default();
        function.own += samples;
        for frame in frames {
            *function.below.entry(frame.to_owned()).or_default() += samples;
        }
    }
}

/// The function that a frame is a copy of.
fn name(frame: &str) -> &str {
    let (base, is_kernel) = match frame.strip_suffix(KERNEL_MARK) {
        Some(base) => (base, true),
        None => (frame, false),
    };
    let end = COPIES.iter().filter_map(|copy| base.find(copy)).min();
    match end {
        // A mark behind a cut name would need a new text; the kernel's copies keep their names.
        Some(end) if !is_kernel && end > 0 => &frame[..end],
        _ => frame,
    }
}

/// Whether a frame is the kernel's.
pub(super) fn is_kernel(frame: &str) -> bool {
    frame.ends_with(KERNEL_MARK)
}

/// Whether a frame has the name of a function, and not only that of a file in brackets.
pub(super) fn is_named(frame: &str) -> bool {
    !frame.starts_with('[')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_counted_once_each_and_for_the_sessions_only() {
        let stacks = Stacks::parse(
            "backend;main;exec;hash_search.constprop.0 30\nbackend;main;exec;exec;hash_search 10\n\
             backend;main;[postgres] 5\nbackend;main;read;copy_[k] 7\ncheckpointer;main;write 900\nnonsense\n",
        );
        assert_eq!((stacks.samples, stacks.kernel, stacks.unnamed), (52, 7, 5));
        let hash = &stacks.functions["hash_search"];
        assert_eq!((hash.own, hash.with_called), (40, 40), "a copy is the function");
        assert_eq!(hash.below["exec"], 40);
        assert_eq!(stacks.functions["exec"].with_called, 40, "a recursion counts once");
        assert_eq!(stacks.functions["main"].with_called, 52);
        assert_eq!(hash.below["main"], 40);
    }
}
