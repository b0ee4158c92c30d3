//! `site`: a static site of many runs.

use crate::args::SiteArgs;
use crate::context::Context;
use crate::site_folder::SiteFolder;
use crate::{EXIT_FAILED, Usage, out};
use rqps_report::{SiteRun, site_pages, site_run, site_stems};
use rqps_store::RunFolder;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the threads that write runs' pages share.
struct Work<'a> {
    folder: &'a SiteFolder,
    runs: Vec<(PathBuf, String)>,
    next: AtomicUsize,
    done: Mutex<Vec<SiteRun>>,
    failures: Mutex<Vec<(usize, String)>>,
}

pub fn run(context: &Context, args: &SiteArgs) -> anyhow::Result<ExitCode> {
    let (paths, mut failures) = paths(context, args)?;
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned())
        .collect();
    let folder = SiteFolder::open(&args.dir)?;
    let work = Work {
        folder: &folder,
        runs: paths.into_iter().zip(site_stems(&names)).collect(),
        next: AtomicUsize::new(0),
        done: Mutex::default(),
        failures: Mutex::default(),
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| -> anyhow::Result<()> {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work.pages())).collect();
        for worker in workers {
            worker.join().map_err(|_| anyhow::anyhow!("a thread that wrote pages ended early"))??;
        }
        Ok(())
    })?;
    let mut unread = work.failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    unread.sort_unstable();
    failures.extend(unread.into_iter().map(|(_, failure)| failure));
    failures.iter().for_each(|failure| out::message(failure));
    let runs = work.done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if runs.is_empty() {
        return Err(Usage(format!("no run can be read: {} is unchanged", args.dir.display())).into());
    }
    let count = runs.len();
    for file in site_pages(runs)? {
        folder.stage(&file.path, &file.content)?;
    }
    let written = folder.publish()?;
    out::message(&format!(
        "{} in {}: {written}",
        rqps_model::counted(count, "run"),
        args.dir.join("index.html").display()
    ));
    Ok(if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(EXIT_FAILED) })
}

/// The folders of the runs, each once, in an order that does not depend on the arguments'; and what is not a run.
fn paths(context: &Context, args: &SiteArgs) -> anyhow::Result<(Vec<PathBuf>, Vec<String>)> {
    let mut failures = Vec::new();
    let mut paths = BTreeSet::new();
    if args.runs.is_empty() {
        paths.extend(RunFolder::list(&context.results)?.into_iter().map(|run| run.folder.path().to_owned()));
    }
    for name in &args.runs {
        match context.run_path(name) {
            Ok(path) => {
                let path =
                    if path.ends_with("run.db") { path.parent().unwrap_or(&path).to_owned() } else { path };
                paths.insert(path.canonicalize().unwrap_or(path));
            }
            Err(error) => failures.push(format!("left out: {error:#}")),
        }
    }
    if paths.is_empty() && failures.is_empty() {
        return Err(Usage(format!(
            "no run in {}; name run folders, or give another folder with --results",
            context.results.display()
        ))
        .into());
    }
    let mut paths: Vec<PathBuf> = paths.into_iter().collect();
    paths.sort_by(|a, b| (a.file_name(), a).cmp(&(b.file_name(), b)));
    Ok((paths, failures))
}

impl Work<'_> {
    /// Writes pages until no run is left. A run that cannot be read is a failure of that run alone.
    fn pages(&self) -> anyhow::Result<()> {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((path, stem)) = self.runs.get(index) else { return Ok(()) };
            let page =
                RunFolder::open(path).map_err(rqps_report::Error::from).and_then(|run| site_run(&run, stem));
            match page {
                Ok((file, run)) => {
                    self.folder.stage(&file.path, &file.content)?;
                    lock(&self.done).push(run);
                }
                Err(error) => {
                    lock(&self.failures).push((index, format!("left out: {}: {error}", path.display())))
                }
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
