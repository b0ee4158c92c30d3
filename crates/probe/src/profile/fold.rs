//! Folds the output of `perf script`: a line per distinct stack, with the role of the process, its frames from the
//! outermost, and the number of samples.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead};

use super::recorder::Moment;

/// Maximum bytes of folded stacks; beyond it the rarest stacks are merged.
const TEXT_BYTES_MAX: usize = 2_000_000;
/// Share of the samples below which a stack is rare, if there are too many stacks.
const RARE_SHARE: f64 = 0.0002;
/// The merged rare stacks of a role.
const RARE: &str = "[rare]";
/// perf's name of an unknown frame.
const UNKNOWN: &str = "[unknown]";
/// The start of threads: functions of the C library, unnamed if its symbols are not installed.
const UNNAMED_START: &str = "[libc.so.6]";
/// Role of processes and threads that ended before roles were read.
const ENDED: &str = "ended";
/// First kernel address, on every 64-bit machine.
const KERNEL_FROM: u64 = 1 << 63;
/// Suffix of kernel frames, used for colours.
const KERNEL_MARK: &str = "_[k]";

/// Functions by which processes and threads that ended early are recognized, and their roles.
const ROLES_BY_FUNCTION: [(&str, &str); 6] = [
    ("ParallelWorkerMain", "parallel worker"),
    ("AutoVacWorkerMain", "autovacuum worker"),
    ("StartAutoVacWorker", "autovacuum worker"),
    ("ApplyWorkerMain", "logical replication"),
    ("handle_connection", "other session"),
    ("handle_one_connection", "other session"),
];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Folded {
    /// Lines `role;frame;frame… samples`, sorted by stack. Kernel frames end in `_[k]`; an unnamed frame is its file's
    /// name in brackets: `[postgres]`.
    pub text: String,
    pub samples: u64,
    pub lost_samples: u64,
    /// Samples whose innermost frame is unnamed.
    pub unresolved_samples: u64,
    /// The files (programs, libraries) of the innermost frames: samples, and samples whose innermost frame is unnamed.
    pub modules: BTreeMap<String, (u64, u64)>,
    /// Samples of merged rare stacks.
    pub rare_samples: u64,
    /// Samples whose stack does not reach the program's first function.
    pub cut_samples: u64,
}

/// Selects samples, and names the roles of their threads.
pub(super) struct Selection<'a> {
    pub from: Moment,
    pub until: Moment,
    /// By kernel thread id; that of a process with one thread is the process id.
    pub roles: &'a HashMap<u32, String>,
    /// Processes and threads that exist only for sampling.
    pub ignored: &'a HashSet<u32>,
}

/// Folds the output of `perf script -F tid,time,ip,sym,dso --show-lost-events`.
///
/// # Errors
/// If it cannot be read.
pub(super) fn fold(script: impl BufRead, selection: &Selection<'_>) -> io::Result<Folded> {
    let mut folder = Folder { selection, stacks: HashMap::new(), current: None, folded: Folded::default() };
    for line in script.lines() {
        folder.add_line(&line?);
    }
    Ok(folder.finish())
}

/// The sample being read.
struct Sample {
    tid: u32,
    /// From the innermost.
    frames: Vec<String>,
    module: String,
}

struct Folder<'a> {
    selection: &'a Selection<'a>,
    stacks: HashMap<String, u64>,
    current: Option<Sample>,
    folded: Folded,
}

impl Folder<'_> {
    fn add_line(&mut self, line: &str) {
        if line.is_empty() {
            return self.end_sample();
        }
        if line.starts_with('\t') {
            if let (Some(sample), Some((name, module))) = (&mut self.current, parse_frame(line)) {
                if sample.frames.is_empty() {
                    sample.module = module;
                }
                sample.frames.push(name);
            }
            return;
        }
        self.end_sample();
        let Some((tid, at, rest)) = parse_header(line) else {
            return;
        };
        let is_selected = self.selection.from <= at && at < self.selection.until;
        if !is_selected || self.selection.ignored.contains(&tid) {
            return;
        }
        if let Some((_, lost)) = rest.split_once("PERF_RECORD_LOST") {
            let number = lost.split_whitespace().last().and_then(|word| word.parse().ok());
            self.folded.lost_samples += number.unwrap_or(0u64);
            return;
        }
        self.current = Some(Sample { tid, frames: Vec::new(), module: UNKNOWN.to_owned() });
    }

    fn end_sample(&mut self) {
        let Some(sample) = self.current.take() else {
            return;
        };
        let Sample { tid, mut frames, module } = sample;
        let folded = &mut self.folded;
        folded.samples += 1;
        let known = folded.modules.entry(module).or_default();
        known.0 += 1;
        if frames.first().is_none_or(|leaf| leaf.starts_with('[')) {
            folded.unresolved_samples += 1;
            known.1 += 1;
        }
        while frames.len() > 1 && frames.last().is_some_and(|outermost| outermost == UNKNOWN) {
            frames.pop();
        }
        if !is_complete(&frames) {
            folded.cut_samples += 1;
        }
        if frames.is_empty() {
            frames.push(UNKNOWN.to_owned());
        }
        let role = match self.selection.roles.get(&tid) {
            Some(role) => role.as_str(),
            None => role_by_function(&frames),
        };
        frames.push(role.to_owned());
        frames.reverse();
        *self.stacks.entry(frames.join(";")).or_default() += 1;
    }

    fn finish(mut self) -> Folded {
        self.end_sample();
        let mut stacks: BTreeMap<String, u64> = self.stacks.into_iter().collect();
        let mut rare = (self.folded.samples as f64 * RARE_SHARE).max(1.0);
        while bytes(&stacks) > TEXT_BYTES_MAX {
            self.folded.rare_samples += merge_rare(&mut stacks, rare);
            rare *= 2.0;
        }
        for (stack, samples) in stacks {
            self.folded.text.push_str(&format!("{stack} {samples}\n"));
        }
        self.folded
    }
}

/// Merges stacks of at most `samples_max` samples, role by role. Returns the number of merged samples.
fn merge_rare(stacks: &mut BTreeMap<String, u64>, samples_max: f64) -> u64 {
    let mut rare: BTreeMap<String, u64> = BTreeMap::new();
    stacks.retain(|stack, samples| {
        let role = stack.split(';').next().unwrap_or_default();
        let keep = *samples as f64 > samples_max || *stack == format!("{role};{RARE}");
        if !keep {
            *rare.entry(format!("{role};{RARE}")).or_default() += *samples;
        }
        keep
    });
    let merged = rare.values().sum();
    for (stack, samples) in rare {
        *stacks.entry(stack).or_default() += samples;
    }
    merged
}

fn bytes(stacks: &BTreeMap<String, u64>) -> usize {
    const NUMBER: usize = 8;
    stacks.keys().map(|stack| stack.len() + NUMBER).sum()
}

fn role_by_function(frames: &[String]) -> &'static str {
    let known = ROLES_BY_FUNCTION.iter().find(|(name, _)| frames.iter().any(|frame| frame == name));
    known.map_or(ENDED, |(_, role)| role)
}

/// Whether the outermost frame is the start of a program, of a thread, or of a new process that is still in the kernel.
fn is_complete(frames: &[String]) -> bool {
    const STARTS: [&str; 7] =
        ["_start", "__libc_start_main", "main", "ret_from_fork", "start_thread", "clone", "__clone"];
    match frames.last() {
        Some(outermost) if outermost == UNNAMED_START => frames.len() > 1,
        Some(outermost) => STARTS.iter().any(|start| outermost.starts_with(start)),
        None => false,
    }
}

/// A sample's first line, `  1234 25050.341581: `: thread, time, and the rest.
fn parse_header(line: &str) -> Option<(u32, Moment, &str)> {
    let (tid, rest) = line.trim_start().split_once(char::is_whitespace)?;
    let (time, rest) = rest.trim_start().split_once(':')?;
    Some((tid.parse().ok()?, Moment::parse(time)?, rest))
}

/// A frame's name and file: `\t  3c583f SearchCatCache (/opt/pg/bin/postgres)`.
fn parse_frame(line: &str) -> Option<(String, String)> {
    let (address, rest) = line.trim().split_once(' ')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    // `(deleted)`: the file has been replaced since, such as a server's by an upgrade.
    let rest = rest.strip_suffix(" (deleted))").or(rest.strip_suffix(')'))?;
    let (symbol, path) = rest.rsplit_once(" (")?;
    let module = path.rsplit('/').next().unwrap_or(path).trim_matches(['[', ']']);
    // A high address in no module is garbage of a truncated stack.
    let is_kernel = address >= KERNEL_FROM && format!("[{module}]") != UNKNOWN;
    let mut name = match symbol.trim() {
        "[unknown]" | "" => format!("[{module}]"),
        symbol => symbol.replace(';', ":"),
    };
    if is_kernel {
        name.push_str(KERNEL_MARK);
    }
    Some((name, if is_kernel { format!("{module}{KERNEL_MARK}") } else { path.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "\
32138 25050.000000:
\t          3c583f TooEarly (/opt/pg/bin/postgres)

32138 25051.341581:
\tffffffff813a2413 finish_task_switch.isra.0 ([kernel.kallsyms])
\t          204daa [unknown] (/opt/pg/bin/postgres)
\t           6cbf8 _start (/opt/pg/bin/postgres)

 1861 25051.400000: PERF_RECORD_LOST lost 14
32138 25051.341582:
\tffffffff813a2413 finish_task_switch.isra.0 ([kernel.kallsyms])
\t          204daa [unknown] (/opt/pg/bin/postgres)
\t           6cbf8 _start (/opt/pg/bin/postgres)

   77 25051.341583:
\t          204daa [unknown] (/opt/pg/bin/postgres)
\t          204dab ParallelWorkerMain (/opt/pg/bin/postgres)
\tfffffffff6600001 [unknown] ([unknown])

   99 25051.341583:
\t          204daa OurOwn (/opt/pg/bin/postgres)

   78 25051.341584:
\t              a9 operator new(unsigned long) (/lib/libstdc++.so.6 (deleted))
\t           6cbf8 _start (/opt/pg/bin/postgres)

   79 25051.341584:

   80 25051.341585:
\t          204daa fetch(int) (/opt/my/bin/mysqld)
\t          204dab handle_connection (/opt/my/bin/mysqld)
\t          891f5 [unknown] (/lib/libc.so.6)

   78 25060.000000:
\t          3c583f TooLate (/opt/pg/bin/postgres)
";

    fn folded(script: &str) -> Folded {
        let roles = HashMap::from([(32138, "backend".to_owned()), (78, "checkpointer".to_owned())]);
        let ignored = HashSet::from([99]);
        let moment = |text| Moment::parse(text).unwrap();
        let (from, until) = (moment("25051.0"), moment("25060.0"));
        let selection = Selection { from, until, roles: &roles, ignored: &ignored };
        fold(script.as_bytes(), &selection).unwrap()
    }

    #[test]
    fn selected_stacks_are_folded_by_role() {
        let folded = folded(SCRIPT);
        assert_eq!(
            folded.text,
            "backend;_start;[postgres];finish_task_switch.isra.0_[k] 2\n\
             checkpointer;_start;operator new(unsigned long) 1\n\
             ended;[unknown] 1\n\
             other session;[libc.so.6];handle_connection;fetch(int) 1\n\
             parallel worker;ParallelWorkerMain;[postgres] 1\n"
        );
        assert_eq!((folded.samples, folded.lost_samples), (6, 14));
        assert_eq!((folded.unresolved_samples, folded.cut_samples), (2, 2));
        assert_eq!(folded.modules["/opt/pg/bin/postgres"], (1, 1));
        assert_eq!(folded.modules["kernel.kallsyms_[k]"], (2, 0));
    }

    #[test]
    fn the_rarest_of_too_many_stacks_are_merged_without_losing_samples() {
        let mut script = String::new();
        for number in 0..60_000u32 {
            let name = if number % 10 == 0 { "hot".to_owned() } else { format!("f{number:050}") };
            script.push_str(&format!("32138 25051.5: \n\t aa {name} (/opt/pg/bin/postgres)\n\n"));
        }
        let folded = folded(&script);
        assert!(folded.text.len() < TEXT_BYTES_MAX, "{}", folded.text.len());
        assert_eq!(folded.text, "backend;[rare] 54000\nbackend;hot 6000\n");
        assert_eq!((folded.samples, folded.rare_samples), (60_000, 54_000));
    }
}
