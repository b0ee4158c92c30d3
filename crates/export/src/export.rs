//! From runs to files: every table once through all runs, all formats at the same time.
//!
//! Files get their names when all of them are whole, so that a directory holds an export or none of it.

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

/// Rows between two looks at whether to stop.
const ROWS_A_LOOK: u64 = 1024;

/// What to export, and how.
#[derive(Debug)]
pub struct Options<'a> {
    pub tables: Vec<&'static Table>,
    pub formats: Vec<Format>,
    /// Whether files that are there are replaced.
    pub replace: bool,
    /// Set from outside when the export is to stop; nothing is written then.
    pub stop: &'a AtomicBool,
}

#[derive(Debug)]
pub struct Exported {
    /// The files, table by table.
    pub files: Vec<File>,
    /// What could not be exported, and why.
    pub remarks: Vec<String>,
}

#[derive(Debug)]
pub struct File {
    pub path: PathBuf,
    pub table: &'static str,
    pub rows: u64,
    pub bytes: u64,
}

/// Writes tables of all `runs` into `dir`, which is made where there is none: `TABLE.FORMAT`.
///
/// # Errors
/// When files are there and are not to be replaced, a run cannot be read, or a file cannot be written.
pub fn export(runs: &[Run], dir: &Path, options: &Options<'_>) -> Result<Exported> {
    fs::create_dir_all(dir).map_err(Error::write(dir))?;
    if !options.replace {
        refuse_to_replace(dir, options)?;
    }
    let (sources, remarks) = sources(runs, &options.tables)?;
    let _moments = moments(runs)?;
    let mut whole = Vec::new();
    for table in &options.tables {
        let mut open = Vec::new();
        for format in &options.formats {
            open.push(NewFile::create(dir, table, *format)?);
        }
        let mut rows = 0;
        let mut put = |row: Row| {
            rows += 1;
            if rows % ROWS_A_LOOK == 0 && options.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            open.iter_mut().try_for_each(|file| file.rows.put(&row).map_err(Error::write(&file.path)))
        };
        sources.iter().try_for_each(|source| source.rows(table, &mut put))?;
        for file in open {
            file.rows.finish().map_err(Error::write(&file.path))?;
            whole.push((table.name, rows, file.path, file.data));
        }
    }
    if options.stop.load(Ordering::Relaxed) {
        return Err(Error::Stopped);
    }
    let mut files = Vec::new();
    for (table, rows, path, data) in whole {
        let moved = if options.replace { data.persist(&path) } else { data.persist_noclobber(&path) };
        let file = moved.map_err(|error| Error::write(&path)(error.error))?;
        let bytes = file.metadata().map_err(Error::write(&path))?.len();
        files.push(File { path, table, rows, bytes });
    }
    Ok(Exported { files, remarks })
}

/// Writes one table of all `runs` as text. Returns what could not be written, and why.
///
/// # Errors
/// When the format is no text, a run cannot be read, or `out` cannot be written.
pub fn print(runs: &[Run], table: &'static Table, format: Format, out: impl Write) -> Result<Vec<String>> {
    let (sources, remarks) = sources(runs, &[table])?;
    let _moments = moments(runs)?;
    let name = Path::new("standard output");
    let mut rows = write::text(table, format, out)?;
    let mut put = |row: Row| rows.put(&row).map_err(Error::write(name));
    sources.iter().try_for_each(|source| source.rows(table, &mut put))?;
    rows.finish().map_err(Error::write(name))?;
    Ok(remarks)
}

/// What lets all tables of a run be of one moment.
fn moments(runs: &[Run]) -> Result<Vec<impl Sized>> {
    Ok(runs.iter().map(Run::at_one_moment).collect::<rqps_store::Result<Vec<_>>>()?)
}

/// The runs with their verdicts where a table wants them, and what is in the way of verdicts.
fn sources<'a>(runs: &'a [Run], tables: &[&Table]) -> Result<(Vec<Source<'a>>, Vec<String>)> {
    let wants = |name: &str| tables.iter().any(|table| table.name == name);
    let (mut sources, mut remarks, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for run in runs {
        let mut judged = None;
        if wants(WITH_VERDICTS) && has_blocks(run) {
            match rules_of(run).and_then(|rules| judge_run(run, &rules)) {
                Ok(verdicts) => judged = Some(verdicts),
                Err(error) => remarks.push(format!("no verdicts of {}: {error}", run.folder.name())),
            }
        }
        let name = run.folder.name();
        if wants(WITH_STACKS) {
            let lost = run.profiles.iter().filter(|profile| !has_stacks(run, &profile.result));
            remarks.extend(lost.map(|lost| format!("no stacks of {name}: {} is gone", lost.result.file)));
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
    let mut there = paths.filter(|path| path.exists());
    match there.next() {
        Some(path) => Err(Error::Exists { path, others: there.count() }),
        None => Ok(()),
    }
}

/// A file that has no name yet: it is gone when anything fails.
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
