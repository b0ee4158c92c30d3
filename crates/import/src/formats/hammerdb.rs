//! HammerDB: its output, CSVs of results by arm, and its jobs database.

use std::io::{Read, Write};

use rqps_model::{Series, Unit};
use rusqlite::{Connection, OpenFlags};

use crate::error::Broken;
use crate::lines::{FILE_BYTES_MAX, Lines};
use crate::model::{Document, Measurement, Value, Work, number};
use crate::names::version_of;

pub static NEW_ORDERS: Unit = Unit::new("new_orders", "a new order", "new order", "new orders");

const RESULT: &str = "TEST RESULT : System achieved ";
/// Samples kept of a job.
const SAMPLES_MAX: usize = 1_000_000;

/// `Vuser 1:TEST RESULT : System achieved 42332 NOPM from 97427 PostgreSQL TPM`, or before 4.0
/// `achieved 97427 PostgreSQL TPM at 42332 NOPM`.
struct TestResult {
    nopm: f64,
    tpm: f64,
    dbms: String,
}

fn result(line: &str) -> Option<TestResult> {
    let words: Vec<&str> = line.split_once(RESULT)?.1.split_whitespace().collect();
    let before =
        |unit: &str| number(words.get(words.iter().position(|word| *word == unit)?.checked_sub(1)?)?);
    let at = words.iter().position(|word| *word == "TPM")?;
    let dbms = words[..at].iter().rev().take_while(|word| number(word).is_none()).copied();
    let dbms: Vec<&str> = dbms.collect::<Vec<_>>().into_iter().rev().collect();
    // The rate stands before its unit, and TPM's before the name of the DBMS.
    let tpm = number(words.get(at.checked_sub(dbms.len() + 1)?)?)?;
    Some(TestResult {
        nopm: before("NOPM")?,
        tpm,
        dbms: dbms.join(" ").to_lowercase().replace("postgresql", "postgres"),
    })
}

/// New orders per minute, which alone compare: transactions are counted otherwise by each version.
fn measurement(found: &TestResult, clients: Option<u32>, line: u32) -> Measurement {
    let value = |name: &'static str, value: f64| Value {
        name: name.into(),
        unit: "1/min".into(),
        value: Some(value),
        published: Some(format!("{value}")),
        line,
    };
    Measurement {
        dbms: Some(found.dbms.clone()).filter(|dbms| !dbms.is_empty()),
        clients,
        work: Some(Work::rate(&NEW_ORDERS, found.nopm / 60.0)),
        values: vec![value("nopm", found.nopm), value("tpm", found.tpm)],
        line,
        ..Measurement::default()
    }
}

/// The value with the number of virtual users that failed.
pub const FAILED_USERS: &str = "failed_users";

/// Whether a virtual user failed: `Vuser 3:FINISHED FAILED`.
fn is_failure(line: &str) -> bool {
    line.contains("FINISHED FAILED")
}

/// Adds to the results of a run how many of its virtual users failed, and counts anew.
fn add_failures(failed: &mut u32, results: &mut [Measurement]) {
    let count = std::mem::take(failed);
    for one in results.iter_mut().filter(|_| count > 0) {
        one.values.push(Value::number(FAILED_USERS, "", &count.to_string(), one.line));
    }
}

/// `Vuser 1:4 Active Virtual Users configured`.
fn virtual_users(line: &str) -> Option<u32> {
    let words: Vec<&str> = line.split_once(" Active Virtual Users configured")?.0.split([' ', ':']).collect();
    words.last()?.parse().ok()
}

/// Whether a line without its end may have been one of a virtual user, and has no whole result. The last line may be a
/// prompt.
fn is_cut_off(line: &str) -> bool {
    const USER: &str = "Vuser";
    let is_of_user = line.starts_with(USER) || (!line.is_empty() && USER.starts_with(line));
    is_of_user && result(line).is_none()
}

pub fn parse(input: impl Read) -> Result<Document, Broken> {
    let mut lines = Lines::new(input);
    let mut document = Document::default();
    let (mut users, mut failed, mut of_run) = (None, 0, 0);
    while let Some((at, line, has_end)) = lines.next_with_end()? {
        if !has_end && is_cut_off(line) {
            return Err(Broken::cut_off(at));
        }
        if let Some(version) = line.strip_prefix("HammerDB CLI v") {
            document.tool = Some(format!("HammerDB {}", version.trim()));
        }
        users = virtual_users(line).or(users);
        if line.ends_with(":RUNNING") && document.measurements.len() > of_run {
            add_failures(&mut failed, &mut document.measurements[of_run..]);
            of_run = document.measurements.len();
        }
        failed += u32::from(is_failure(line));
        if line.contains(RESULT) {
            let found = result(line).ok_or_else(|| Broken::at(at, format!("no NOPM and TPM in {line:?}")))?;
            document.measurements.push(measurement(&found, users, at));
        }
    }
    if document.measurements.is_empty() {
        return Err(Broken::at(lines.number().max(1), "no TEST RESULT in it: the run did not end"));
    }
    add_failures(&mut failed, &mut document.measurements[of_run..]);
    Ok(document)
}

/// A CSV of arms and their new orders per minute, or of ratios of them.
#[derive(Debug, Clone, PartialEq)]
pub struct CsvRow {
    pub arm: String,
    pub cell: String,
    pub line: u32,
}

/// Whether a line is a row: `pg1222,33781`.
pub fn is_row(line: &str) -> bool {
    let mut cells = line.trim().split(',');
    let (Some(arm), Some(figure), None) = (cells.next(), cells.next(), cells.next()) else { return false };
    version_of(arm.split('_').next().unwrap_or(arm)).is_some() && number(figure).is_some()
}

pub fn parse_rows(input: impl Read) -> Result<Vec<CsvRow>, Broken> {
    let mut lines = Lines::new(input);
    let mut rows = Vec::new();
    while let Some((at, line)) = lines.next_whole()? {
        if line.trim().is_empty() {
            continue;
        }
        let (arm, cell) =
            line.trim().split_once(',').ok_or_else(|| Broken::at(at, "an arm and a figure expected"))?;
        if number(cell).is_none() || arm.is_empty() {
            return Err(Broken::at(at, format!("{cell:?} is not a number")));
        }
        rows.push(CsvRow { arm: arm.to_owned(), cell: cell.to_owned(), line: at });
    }
    if rows.is_empty() {
        return Err(Broken::at(1, "no rows in it"));
    }
    Ok(rows)
}

pub fn parse_csv(input: impl Read) -> Result<Document, Broken> {
    let rows = parse_rows(input)?;
    let mut measurements = Vec::new();
    for row in rows {
        if row.cell.contains('.') {
            return Err(Broken::derived(row.line, "ratios are no rates: give the table of absolute rates"));
        }
        let nopm = number(&row.cell).unwrap_or_default();
        measurements.push(Measurement {
            arm: Some(row.arm),
            work: Some(Work::rate(&NEW_ORDERS, nopm / 60.0)),
            values: vec![Value::number("nopm", "1/min", &row.cell, row.line)],
            line: row.line,
            ..Measurement::default()
        });
    }
    Ok(Document { measurements, is_table: true, ..Document::default() })
}

/// The jobs database, which HammerDB keeps from 4.6 on: each job with a result.
pub fn parse_jobs(input: impl Read) -> Result<Document, Broken> {
    let broken = |why: &dyn std::fmt::Display| Broken::at(1, format!("HammerDB's jobs database: {why}"));
    // SQLite reads files only.
    let mut copy = tempfile::NamedTempFile::new().map_err(|error| broken(&error))?;
    std::io::copy(&mut input.take(FILE_BYTES_MAX), copy.as_file_mut()).map_err(|error| broken(&error))?;
    copy.flush().map_err(|error| broken(&error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(copy.path(), flags).map_err(|error| broken(&error))?;
    jobs(&connection).map_err(|error| broken(&error)).and_then(|document| {
        match document.measurements.is_empty() {
            true => Err(broken(&"no job with a TEST RESULT")),
            false => Ok(document),
        }
    })
}

/// What a job printed.
#[derive(Default)]
struct Job {
    id: String,
    users: Option<u32>,
    failed: u32,
    results: Vec<TestResult>,
}

fn jobs(connection: &Connection) -> rusqlite::Result<Document> {
    let mut document = Document { tool: Some("HammerDB".to_owned()), ..Document::default() };
    let mut select = connection.prepare("SELECT jobid, output FROM JOBOUTPUT ORDER BY jobid, rowid")?;
    let lines = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))?;
    let mut jobs: Vec<Job> = Vec::new();
    for line in lines {
        let (id, output) = line?;
        if jobs.last().is_none_or(|job| job.id != id) {
            jobs.push(Job { id, ..Job::default() });
        }
        let Some(job) = jobs.last_mut() else { continue };
        for text in output.lines() {
            // Virtual users are separate processes: their lines may come in any order.
            job.users = virtual_users(text).or(job.users);
            job.failed += u32::from(is_failure(text));
            job.results.extend(result(text));
        }
    }
    for job in &jobs {
        for found in &job.results {
            let mut measured = measurement(found, job.users, 1);
            add_failures(&mut job.failed.clone(), std::slice::from_mut(&mut measured));
            measured.values.push(Value::words("job", job.id.clone(), 1));
            measured.values.extend(warehouses(connection, &job.id)?);
            measured.values.extend(timings(connection, &job.id)?);
            measured.series.extend(counts(connection, &job.id)?);
            document.measurements.push(measured);
        }
    }
    Ok(document)
}

/// The size of the database that a job worked on, of its dict: `tpcc {pg_count_ware 100 …}`.
fn warehouses(connection: &Connection, job: &str) -> rusqlite::Result<Option<Value>> {
    if !has_table(connection, "JOBMAIN")? {
        return Ok(None);
    }
    let mut select = connection.prepare("SELECT jobdict FROM JOBMAIN WHERE jobid = ?1")?;
    let mut dicts = select.query_map([job], |row| row.get::<_, Option<String>>(0))?;
    let dict = dicts.next().transpose()?.flatten().unwrap_or_default();
    let mut words =
        dict.split(|c: char| c.is_whitespace() || "{}".contains(c)).filter(|word| !word.is_empty());
    let count = words.find(|word| word.ends_with("count_ware")).and_then(|_| words.next());
    let count = count.filter(|count| count.parse::<u32>().is_ok());
    Ok(count.map(|count| Value::number("warehouses", "", count, 1)))
}

fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE";
    connection.query_row(sql, [name], |row| row.get::<_, i64>(0)).map(|count| count > 0)
}

/// Latencies of each procedure over all virtual users.
fn timings(connection: &Connection, job: &str) -> rusqlite::Result<Vec<Value>> {
    if !has_table(connection, "JOBTIMING")? {
        return Ok(Vec::new());
    }
    let sql = "SELECT procname, sum(calls * avg_ms) / sum(calls), max(p95_ms), max(p99_ms) FROM JOBTIMING \
               WHERE jobid = ?1 AND calls > 0 GROUP BY procname ORDER BY procname";
    let mut select = connection.prepare(sql)?;
    let mut values = Vec::new();
    let rows = select.query_map([job], |row| {
        Ok((row.get::<_, String>(0)?, [row.get::<_, Option<f64>>(1)?, row.get(2)?, row.get(3)?]))
    })?;
    for row in rows {
        let (procedure, figures) = row?;
        for (name, value) in ["avg", "p95", "p99"].into_iter().zip(figures) {
            let name = format!("{}_latency_{name}_ms", procedure.to_lowercase());
            values.push(Value::computed(name, "ms", value, 1));
        }
    }
    Ok(values)
}

/// Transactions per minute, as HammerDB's counter saw them every few seconds.
fn counts(connection: &Connection, job: &str) -> rusqlite::Result<Option<Series>> {
    if !has_table(connection, "JOBTCOUNT")? {
        return Ok(None);
    }
    let mut select = connection.prepare("SELECT counter FROM JOBTCOUNT WHERE jobid = ?1 ORDER BY rowid")?;
    let values = select.query_map([job], |row| row.get::<_, f64>(0))?.take(SAMPLES_MAX);
    let values = values.collect::<rusqlite::Result<Vec<f64>>>()?;
    Ok((!values.is_empty()).then(|| Series { name: "tpm".to_owned(), unit: "1/min".to_owned(), values }))
}
