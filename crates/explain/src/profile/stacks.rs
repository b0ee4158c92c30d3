//! Aggregates folded stacks by function: own samples, samples including callees, and samples by enclosing
//! function.

use std::collections::{BTreeMap, BTreeSet};

/// Processes that work for a measured client; all others are in the background.
pub(super) const SESSIONS: [&str; 2] = ["backend", "parallel worker"];
/// Suffixes that compilers append to copies of a function.
const COPIES: [&str; 6] = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm."];
/// Suffix of kernel frames.
const KERNEL_MARK: &str = "_[k]";
/// Placeholder for all stacks that were too rare to keep.
const RARE: &str = "[rare]";

/// A function in the stacks of one profile.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Function {
    pub own: u64,
    /// Samples in it or its callees.
    pub with_callees: u64,
    /// Of these, those outside the kernel.
    pub in_user_space: u64,
    /// Its own samples by function on the stack, itself included.
    pub by_caller: BTreeMap<String, u64>,
}

/// The stacks of processes or threads of some roles.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stacks {
    pub samples: u64,
    pub kernel: u64,
    /// Samples in unresolved functions.
    pub unnamed: u64,
    pub functions: BTreeMap<String, Function>,
}

impl Stacks {
    /// Parses lines `role;frame;frame… samples`, outermost frame first, of these roles. Other lines are ignored.
    pub(super) fn parse(folded: &str, roles: &[&str]) -> Self {
        let mut stacks = Self::default();
        for line in folded.lines() {
            let Some((stack, samples)) = line.rsplit_once(' ') else { continue };
            let (Some((role, frames)), Ok(samples)) = (stack.split_once(';'), samples.parse()) else {
                continue;
            };
            if roles.contains(&role) {
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
        // A recursive function is on a stack several times but counts once per sample.
        let frames: BTreeSet<&str> = frames.iter().copied().collect();
        for frame in &frames {
            let function = self.functions.entry((*frame).to_owned()).or_default();
            function.with_callees += samples;
            function.in_user_space += if is_kernel(leaf) { 0 } else { samples };
        }
        let function = self.functions.entry((*leaf).to_owned()).or_default();
        function.own += samples;
        for frame in frames {
            *function.by_caller.entry(frame.to_owned()).or_default() += samples;
        }
    }
}

/// Strips compilers' suffixes from a frame's name.
fn name(frame: &str) -> &str {
    let (base, is_kernel) = match frame.strip_suffix(KERNEL_MARK) {
        Some(base) => (base, true),
        None => (frame, false),
    };
    let end = COPIES.iter().filter_map(|copy| base.find(copy)).min();
    match end {
        // Appending the kernel mark to a shortened name would need an allocation, so kernel frames keep their
        // suffixes.
        Some(end) if !is_kernel && end > 0 => &frame[..end],
        _ => frame,
    }
}

pub(super) fn is_kernel(frame: &str) -> bool {
    frame.ends_with(KERNEL_MARK)
}

/// Whether a frame is a function and not only a file name in brackets.
pub(super) fn is_named(frame: &str) -> bool {
    !frame.starts_with('[')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sample_of_a_session_counts_once() {
        let stacks = Stacks::parse(
            "backend;main;exec;hash_search.constprop.0 30\nbackend;main;exec;exec;hash_search 10\n\
             backend;main;[postgres] 5\nbackend;main;read;copy_[k] 7\ncheckpointer;main;write 900\nnonsense\n",
            &SESSIONS,
        );
        assert_eq!((stacks.samples, stacks.kernel, stacks.unnamed), (52, 7, 5));
        let hash = &stacks.functions["hash_search"];
        assert_eq!((hash.own, hash.with_callees), (40, 40), "a copy is the function");
        assert_eq!(hash.by_caller["exec"], 40);
        assert_eq!(stacks.functions["exec"].with_callees, 40, "a recursion counts once");
        assert_eq!(stacks.functions["main"].with_callees, 52);
        assert_eq!(hash.by_caller["main"], 40);
    }
}
