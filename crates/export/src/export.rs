//! Exports runs to files: one table at a time over all runs, in all formats at once.
//!
//! Files get their names once all are complete, so that a directory contains the whole export or none of it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rqps_store::Run;
use rqps_verdicts::{has_blocks, judge_run, rules_of};
use tempfile::NamedTempFile;

use crate::error::{Error, Result};
use crate::format::Format;
use crate::rows::{Source, WITH_STACKS, WITH_VERDICTS, has_stacks};
use crate::table::Table;
use crate::write::{self, Row, Rows};

/// Rows between two checks of the stop flag.
const ROWS_PER_CHECK: u64 = 1024;

/// What to export, and how.
#[derive(Debug)]
pub struct Options<'a> {
    pub tables: Vec<&'static Table>,
    pub formats: Vec<Format>,
    /// Whether existing files are replaced.
    pub replace: bool,
    /// The caller sets this to stop the export; then nothing is written.
    pub stop: &'a AtomicBool,
}

#[derive(Debug)]
pub struct Exported {
    /// The files, table by table.
    pub files: Vec<File>,
    /// What could not be exported and why.
    pub remarks: Vec<String>,
}

#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    pub table: &'static str,
    pub rows: u64,
    pub bytes: u64,
}

/// Writes tables of all `runs` into `dir` as `TABLE.FORMAT`, and creates the directory if necessary.
///
/// # Errors
/// If files exist and must not be replaced, a run cannot be read, or a file cannot be written.
pub fn export(runs: &[Run], dir: &Path, options: &Options<'_>) -> Result<Exported> {
    fs::create_dir_all(dir).map_err(Error::write(dir))?;
    if !options.replace {
        refuse_to_replace(dir, options)?;
    }
    let (sources, remarks) = sources(runs, &options.tables)?;
    let _snapshots = snapshots(runs)?;
    let mut complete = Vec::new();
    for table in &options.tables {
        let mut open = Vec::new();
        for format in &options.formats {
            open.push(NewFile::create(dir, table, *format)?);
        }
        let mut rows = 0;
        let mut put = |row: Row| {
            rows += 1;
            if rows % ROWS_PER_CHECK == 0 && options.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            open.iter_mut().try_for_each(|file| file.rows.put(&row).map_err(Error::write(&file.path)))
        };
        sources.iter().try_for_each(|source| source.rows(table, &mut put))?;
        for file in open {
            file.rows.finish().map_err(Error::write(&file.path))?;
            complete.push((table.name, rows, file.path, file.data));
        }
    }
    if options.stop.load(Ordering::Relaxed) {
        return Err(Error::Stopped);
    }
    let mut files = Vec::new();
    for (table, rows, path, data) in complete {
        let moved = if options.replace { data.persist(&path) } else { data.persist_noclobber(&path) };
        let file = moved.map_err(|error| Error::write(&path)(error.error))?;
        let bytes = file.metadata().map_err(Error::write(&path))?.len();
        files.push(File { path, table, rows, bytes });
    }
    Ok(Exported { files, remarks })
}

/// Writes one table of all `runs` as text. Returns what could not be written and why.
///
/// # Errors
/// If the format is binary, a run cannot be read, or `out` cannot be written.
pub fn print(runs: &[Run], table: &'static Table, format: Format, out: impl Write) -> Result<Vec<String>> {
    let (sources, remarks) = sources(runs, &[table])?;
    let _snapshots = snapshots(runs)?;
    let name = Path::new("standard output");
    let mut rows = write::text(table, format, out)?;
    let mut put = |row: Row| rows.put(&row).map_err(Error::write(name));
    sources.iter().try_for_each(|source| source.rows(table, &mut put))?;
    rows.finish().map_err(Error::write(name))?;
    Ok(remarks)
}

/// Read transactions, so that all tables of a run show the same state.
fn snapshots(runs: &[Run]) -> Result<Vec<impl Sized>> {
    Ok(runs.iter().map(Run::at_one_moment).collect::<rqps_store::Result<Vec<_>>>()?)
}

/// The runs, with verdicts if a table needs them, and remarks on missing verdicts and stacks.
fn sources<'a>(runs: &'a [Run], tables: &[&Table]) -> Result<(Vec<Source<'a>>, Vec<String>)> {
    let includes = |name: &str| tables.iter().any(|table| table.name == name);
    let (mut sources, mut remarks, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for run in runs {
        let mut judged = None;
        if WITH_VERDICTS.iter().any(|name| includes(name)) && has_blocks(run) {
            match rules_of(run).and_then(|rules| judge_run(run, &rules)) {
                Ok(verdicts) => judged = Some(verdicts),
                Err(error) => remarks.push(format!("no verdicts for {}: {error}", run.folder.name())),
            }
        }
        let name = run.folder.name();
        if includes(WITH_STACKS) {
            let files = run.profiles.iter().map(|profile| &profile.result);
            let missing = files.filter(|profile| !has_stacks(run, profile));
            remarks
                .extend(missing.map(|profile| format!("no stacks for {name}: {} is missing", profile.file)));
        }
        if !names.insert(name.clone()) {
            return Err(Error::SameName(name));
        }
        sources.push(Source { run, judged });
    }
    Ok((sources, remarks))
}

fn path_of(dir: &Path, table: &Table, format: Format) -> PathBuf {
    dir.join(format!("{}.{format}", table.name))
}

fn refuse_to_replace(dir: &Path, options: &Options<'_>) -> Result<()> {
    let paths = options
        .tables
        .iter()
        .flat_map(|table| options.formats.iter().map(|format| path_of(dir, table, *format)));
    let mut existing = paths.filter(|path| path.exists());
    match existing.next() {
        Some(path) => Err(Error::Exists { path, others: existing.count() }),
        None => Ok(()),
    }
}

/// A temporary file in the target directory; removed on drop unless it is persisted.
struct NewFile {
    path: PathBuf,
    data: NamedTempFile,
    rows: Box<dyn Rows>,
}

impl NewFile {
    fn create(dir: &Path, table: &'static Table, format: Format) -> Result<Self> {
        let path = path_of(dir, table, format);
        let mut builder = tempfile::Builder::new();
        builder.prefix(".rqps-export-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let data = builder.tempfile_in(dir).map_err(Error::write(&path))?;
        let out = BufWriter::new(data.reopen().map_err(Error::write(&path))?);
        let rows = write::file(table, format, out).map_err(Error::write(&path))?;
        Ok(Self { path, data, rows })
    }
}
