//! `ls`: list runs and fleets, newest last.

use crate::args::LsArgs;
use crate::context::Context;
use crate::listing::{Cell, Column, Listing, Tint};
use crate::{human, out, search};
use rqps_fleet::Fleet;
use rqps_report::Detector;
use rqps_store::{Run, RunFolder, RunSummary};
use rqps_verdicts::Tally;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// More arms than this are shortened to the first and the last.
const VERSIONS_NAMED_MAX: usize = 4;
/// Maximum depth at which files count towards a run folder's size.
const FOLDER_DEPTH_MAX: u32 = 8;

pub fn run(context: &Context, args: &LsArgs) -> anyhow::Result<ExitCode> {
    let mut runs = RunFolder::list(&context.results)?;
    if let Some(part) = &args.name {
        runs.retain(|run| run.folder.name().contains(part));
    }
    let mut fleets = Fleet::list(&context.results);
    if let Some(part) = &args.name {
        fleets.retain(|fleet| name_of(fleet).contains(part));
    }
    let mut found: Vec<(i64, Found)> =
        runs.into_iter().map(|run| (run.created_at_ms, Found::Run(run))).collect();
    found.extend(fleets.into_iter().map(|fleet| (fleet.created_at_ms(), Found::Fleet(Box::new(fleet)))));
    found.sort_by_key(|(created_at_ms, _)| *created_at_ms);
    let newest = args.newest.map_or(found.len(), |most| most as usize).min(found.len());
    let found = found.split_off(found.len() - newest);
    if found.is_empty() {
        let which = args.name.as_ref().map(|part| format!(" with `{part}` in its name")).unwrap_or_default();
        out::message(&format!("no run{which} in {}", context.results.display()));
    }
    let rows: Vec<Row> = found.iter().map(|(created_at_ms, found)| Row::new(*created_at_ms, found)).collect();
    let mut listing = Listing::new(vec![
        Column::text("run"),
        Column::text("started (UTC)").optional(1),
        Column::number("age").optional(4),
        Column::text("state"),
        Column::number("done").optional(3),
        Column::number("size").optional(2),
        Column::elastic("compared"),
        Column::elastic("tests"),
    ]);
    let now_ms = rqps_store::now_ms();
    for row in &rows {
        listing.row(row.cells(now_ms));
    }
    listing.print(context, || Ok(rows.iter().map(Row::json).collect()))?;
    let searches = search::names(&context.results);
    if let Some(last) = searches.last().filter(|_| args.name.is_none()) {
        out::message(&format!(
            "searches    {}; the same command prints the answer, `rqps --results {} ls` lists the runs of one",
            searches.join(", "),
            context.results.join(last).display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// What a results directory has.
enum Found {
    Run(RunSummary),
    Fleet(Box<Fleet>),
}

/// A row of the list.
enum Row<'a> {
    Run(RunRow<'a>),
    Fleet(FleetRow<'a>),
}

impl<'a> Row<'a> {
    fn new(created_at_ms: i64, found: &'a Found) -> Self {
        match found {
            Found::Run(run) => Row::Run(RunRow::new(run)),
            Found::Fleet(fleet) => Row::Fleet(FleetRow::new(created_at_ms, fleet)),
        }
    }

    fn cells(&self, now_ms: i64) -> Vec<Cell> {
        match self {
            Row::Run(run) => run.cells(now_ms),
            Row::Fleet(fleet) => fleet.cells(now_ms),
        }
    }

    fn json(&self) -> Value {
        match self {
            Row::Run(run) => run.json(),
            Row::Fleet(fleet) => fleet.json(),
        }
    }
}

struct RunRow<'a> {
    summary: &'a RunSummary,
    compared: String,
    /// What came out, by what was judged.
    tallies: Vec<(Detector, Tally)>,
    /// Blocks that the first verdicts take.
    blocks_needed: u32,
    bytes: u64,
}

impl<'a> RunRow<'a> {
    fn new(summary: &'a RunSummary) -> Self {
        let run = RunFolder::open(summary.folder.path()).ok();
        let (tallies, blocks_needed) = run.as_ref().and_then(tallies).unwrap_or_default();
        Self {
            summary,
            compared: run.as_ref().map(compared).unwrap_or_default(),
            tallies,
            blocks_needed,
            bytes: size_of(summary.folder.path(), FOLDER_DEPTH_MAX),
        }
    }

    fn cells(&self, now_ms: i64) -> Vec<Cell> {
        let summary = self.summary;
        let state = state(summary);
        let (started, age) = match summary.problem {
            Some(_) => (Cell::default(), String::new()),
            None => {
                let text = human::utc_minute(summary.created_at_ms);
                let exact = human::utc(summary.created_at_ms);
                (Cell::with_exact(text, exact), human::age(summary.created_at_ms, now_ms))
            }
        };
        let verdicts = match &summary.problem {
            Some(problem) => Cell::from(problem.as_str()).tinted(Some(Tint::Red)),
            None if self.tallies.is_empty() => Cell::default(),
            None if summary.blocks_done < self.blocks_needed => {
                format!("no verdicts yet: {} of {} blocks", summary.blocks_done, self.blocks_needed).into()
            }
            None => {
                let texts = self.tallies.iter().map(|(detector, tally)| tally_text(*detector, *tally));
                Cell::from(texts.collect::<Vec<_>>().join("; ")).tinted(tint(&self.tallies))
            }
        };
        vec![
            summary.folder.name().into(),
            started,
            age.into(),
            Cell::from(&*state).tinted(tint_of_state(&state)),
            summary.problem.as_ref().map_or_else(|| summary.progress(), |_| String::new()).into(),
            Cell::with_exact(human::bytes(self.bytes), self.bytes),
            self.compared.as_str().into(),
            verdicts,
        ]
    }

    fn json(&self) -> Value {
        let run = self.summary;
        let tally = |(detector, tally): &(Detector, Tally)| {
            let counts = json!({
                "worse": tally.regressions,
                "better": tally.improvements,
                "mixed": tally.mixed,
                "same": tally.same,
                "inconclusive": tally.inconclusive,
            });
            (detector.key().to_owned(), counts)
        };
        json!({
            "kind": "run",
            "name": run.folder.name(),
            "path": run.folder.path(),
            "state": state(run),
            "created_at_ms": run.created_at_ms,
            "variants": run.variants,
            "actions_done": run.actions_done,
            "actions_total": run.actions_total,
            "blocks_done": run.blocks_done,
            "verdicts": self.tallies.iter().map(tally).collect::<serde_json::Map<_, _>>(),
            "bytes": self.bytes,
            "problem": run.problem,
        })
    }
}

/// A fleet; its tasks' runs are in its folder, and `fleet` shows them.
struct FleetRow<'a> {
    fleet: &'a Fleet,
    created_at_ms: i64,
    tasks_done: usize,
    bytes: u64,
}

impl<'a> FleetRow<'a> {
    fn new(created_at_ms: i64, fleet: &'a Fleet) -> Self {
        let tasks_done = fleet.done().map_or(0, |done| done.len());
        Self { fleet, created_at_ms, tasks_done, bytes: size_of(&fleet.folder, FOLDER_DEPTH_MAX) }
    }

    fn state(&self) -> &'static str {
        match self.tasks_done < self.fleet.spec.tasks.len() {
            true if self.fleet.is_cancelled() => "cancelled",
            true => "open",
            false => "complete",
        }
    }

    fn cells(&self, now_ms: i64) -> Vec<Cell> {
        let (name, state) = (name_of(self.fleet), self.state());
        let is_open = state != "complete";
        let next = format!("rqps fleet {} {name}", if is_open { "status" } else { "collect" });
        vec![
            name.into(),
            Cell::with_exact(human::utc_minute(self.created_at_ms), human::utc(self.created_at_ms)),
            human::age(self.created_at_ms, now_ms).into(),
            Cell::from(state).tinted(is_open.then_some(Tint::Yellow)),
            format!("{}/{} tasks", self.tasks_done, self.fleet.spec.tasks.len()).into(),
            Cell::with_exact(human::bytes(self.bytes), self.bytes),
            few(self.fleet.spec.arms.clone()).into(),
            next.into(),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "kind": "fleet",
            "name": name_of(self.fleet),
            "path": self.fleet.folder,
            "state": self.state(),
            "created_at_ms": self.created_at_ms,
            "variants": self.fleet.spec.arms,
            "tasks_done": self.tasks_done,
            "tasks_total": self.fleet.spec.tasks.len(),
            "bytes": self.bytes,
        })
    }
}

fn name_of(fleet: &Fleet) -> String {
    fleet.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The run's state: without a live rqps process a run is not running, whatever its database says.
pub fn state(run: &RunSummary) -> String {
    let status = run.status.as_ref();
    status.map_or_else(|| "unreadable".to_owned(), |status| run.folder.state(status.status).to_string())
}

/// The colour of a state; `None` if it is complete.
pub fn tint_of_state(state: &str) -> Option<Tint> {
    match state {
        "running" => Some(Tint::Green),
        "complete" => None,
        "interrupted" => Some(Tint::Yellow),
        _ => Some(Tint::Red),
    }
}

/// `postgres 17.11, 18.6 (sized)`: each variant once, in the plan's order.
fn compared(run: &Run) -> String {
    let mut variants: Vec<(&str, &str, &str)> = Vec::new();
    // Of imported arms nobody may have said what they are, or several may be of one version.
    if run.meta.is_imported() {
        return few(run.arms.iter().map(|arm| arm.name.clone()).collect());
    }
    for arm in &run.arms {
        let variant = (&*arm.dbms, &*arm.build_version, &*arm.config_name);
        if !variants.contains(&variant) {
            variants.push(variant);
        }
    }
    let Some((dbms, _, config)) = variants.first().copied() else {
        return String::new();
    };
    let only_versions_differ = variants.iter().all(|variant| (variant.0, variant.2) == (dbms, config));
    let name = |(dbms, version, config): &(&str, &str, &str)| match only_versions_differ {
        true => (*version).to_owned(),
        false if config.is_empty() => format!("{dbms}-{version}"),
        false => format!("{dbms}-{version}.{config}"),
    };
    let names = few(variants.iter().map(name).collect());
    match (only_versions_differ, config) {
        (false, _) => names,
        (true, "") => format!("{dbms} {names}"),
        (true, config) => format!("{dbms} {names} ({config})"),
    }
}

/// The first and the last of many.
fn few(names: Vec<String>) -> String {
    match names.as_slice() {
        [first, .., last] if names.len() > VERSIONS_NAMED_MAX => {
            format!("{first} … {last}, {} variants", names.len())
        }
        few => few.join(", "),
    }
}

/// What came out, and how many blocks the first verdicts take.
fn tallies(run: &Run) -> Option<(Vec<(Detector, Tally)>, u32)> {
    if !rqps_verdicts::has_blocks(run) {
        return None;
    }
    let rules = rqps_verdicts::rules_of(run).ok()?;
    let tallies = rqps_verdicts::judge_run(run, &rules).ok()?.tallies();
    Some((tallies, rules.looks.first()?.blocks as u32))
}

/// `rate: 2 worse, 1 better, 29 same`.
fn tally_text(detector: Detector, tally: Tally) -> String {
    let parts = [
        (tally.regressions, "worse"),
        (tally.improvements, "better"),
        (tally.mixed, "mixed"),
        (tally.same, "same"),
        (tally.inconclusive, "inconclusive"),
    ];
    let present = parts.iter().filter(|(tests, _)| *tests > 0);
    let present: Vec<String> = present.map(|(tests, word)| format!("{tests} {word}")).collect();
    format!("{}: {}", detector.key(), present.join(", "))
}

fn tint(tallies: &[(Detector, Tally)]) -> Option<Tint> {
    let any = |count: fn(&Tally) -> usize| tallies.iter().any(|(_, tally)| count(tally) > 0);
    match (any(|tally| tally.regressions), any(|tally| tally.improvements)) {
        (false, false) => None,
        (false, true) => Some(Tint::Green),
        (true, _) => Some(Tint::Red),
    }
}

/// Bytes of all files in a folder; unreadable ones count as 0.
fn size_of(folder: &Path, depth_max: u32) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(meta) if meta.is_dir() && depth_max > 0 => size_of(&entry.path(), depth_max - 1),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
