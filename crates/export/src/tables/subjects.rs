//! What was compared, where and how: runs, hosts, arms with their settings, steps.

use rqps_store::{Arm, BlockStatus};

use crate::error::Result;
use crate::source::{RUN, Source};
use crate::table::{Sink, Table, boolean, integer, text, time};
use crate::value::Value;

const ARM: crate::table::Column = text("arm", "the arm");

pub(crate) static RUNS: Table = Table {
    name: "runs",
    about: "A run.",
    key: &["run"],
    parts: [
        &[RUN],
        &[
            text("plan", "the plan's name"),
            time("created_at", "when it was created"),
            text("status", "`running`, `complete`, `failed` or `interrupted`"),
            text("status_reason", "why, for `failed` and `interrupted`").or_null(),
            text("protocol", "`sequence` or `isolated`"),
            text("workload", "the workload"),
            text("workload_revision", "changes with its statements and their order"),
            text("seed", "of all random choices; text, for it uses all 64 bits"),
            integer("tables", "tables"),
            integer("rows_per_table", "rows in each"),
            integer("clients", "clients of a measured step, unless the step says otherwise"),
            integer("blocks_done", "replicates that count"),
            text("rqps_version", "of the rqps that made it"),
            text("path", "where it was read from"),
        ],
    ],
    fill: |source, sink| {
        let (run, meta) = (source.run, &source.run.meta);
        let done = run.blocks.iter().filter(|block| block.status == BlockStatus::Done);
        sink(&[
            (&source.name).into(),
            (&meta.name).into(),
            Value::Time(meta.created_at_ms),
            run.status.status.key().into(),
            run.status.reason.as_ref().into(),
            (&meta.protocol).into(),
            (&meta.workload).into(),
            (&meta.workload_revision).into(),
            meta.seed.to_string().into(),
            meta.tables.into(),
            meta.rows_per_table.into(),
            meta.clients.into(),
            done.count().into(),
            (&meta.program_version).into(),
            run.folder.path().to_string_lossy().into_owned().into(),
        ])
    },
};

pub(crate) static HOST: Table = Table {
    name: "host",
    about: "A fact about a run's host.",
    key: &["run", "fact"],
    parts: [
        &[RUN],
        &[
            text("fact", "its name"),
            text("value", "its value"),
            boolean("is_compared", "true: runs that differ in it are not comparable"),
        ],
    ],
    fill: |source, sink| {
        for fact in &source.run.host {
            sink(&[(&source.name).into(), (&fact.key).into(), (&fact.value).into(), fact.comparable.into()])?;
        }
        Ok(())
    },
};

pub(crate) static ARMS: Table = Table {
    name: "arms",
    about: "An arm of a run: a build with a config.",
    key: &["run", "arm"],
    parts: [
        &[RUN],
        &[
            ARM,
            integer("position", "place in the plan, from 1"),
            text("role", "`base` or `candidate`"),
            boolean("is_control", "true: the base measured again"),
            text("variant", "how tables name it: `postgres-18.1.sized`"),
            text("dbms", "the DBMS"),
            text("version", "of the build: `18.1`"),
            integer("major", "the version up to its first dot: 18").or_null(),
            text("version_text", "what the server says of itself"),
            text("build_hash", "of the build's program files"),
            text("build_origin", "where the build came from"),
            text("config", "name of the config"),
            text("config_hash", "of the config's content"),
            text("config_text", "the config as used"),
        ],
    ],
    fill: |source, sink| {
        for (position, arm) in (1u32..).zip(&source.run.arms) {
            sink(&[
                (&source.name).into(),
                (&arm.name).into(),
                position.into(),
                arm.role.key().into(),
                arm.control.into(),
                arm.variant().into(),
                (&arm.dbms).into(),
                (&arm.build_version).into(),
                arm.build_version.split('.').next().and_then(|major| major.parse::<u32>().ok()).into(),
                (&arm.build_version_text).into(),
                (&arm.build_hash).into(),
                (&arm.build_origin).into(),
                (&arm.config_name).into(),
                (&arm.config_hash).into(),
                (&arm.config_text).into(),
            ])?;
        }
        Ok(())
    },
};

pub(crate) static SETTINGS: Table = Table {
    name: "settings",
    about: "A setting of an arm, or another fact of how its server was built and started.",
    key: &["run", "arm", "kind", "name"],
    parts: [
        &[RUN],
        &[
            ARM,
            text(
                "kind",
                "`server`: as the server says; `managed`: set by rqps; `left-out`: in the config, but not known to the build; `build`: how it was compiled; `environment`; `after-load`: a statement run on this arm alone",
            ),
            text("name", "its name; of `after-load` its number"),
            text("value", "its value, with its unit"),
            text("source", "where the server has it from; of `left-out` the reason").or_null(),
            boolean(
                "is_default",
                "whether it is what the build uses when nobody sets it; null: not recorded",
            )
            .or_null(),
        ],
    ],
    fill: |source, sink| {
        for arm in &source.run.arms {
            settings(source, arm, sink)?;
        }
        Ok(())
    },
};

fn settings(source: &Source<'_>, arm: &Arm, sink: &mut Sink<'_>) -> Result<()> {
    let mut put = |kind: &str, name: &str, value: &str, from: Option<&str>, is_default: Option<bool>| {
        sink(&[
            (&source.name).into(),
            (&arm.name).into(),
            kind.into(),
            name.into(),
            value.into(),
            from.into(),
            is_default.into(),
        ])
    };
    for setting in &arm.settings {
        put("server", &setting.name, &setting.value, Some(&setting.source), Some(setting.default))?;
    }
    if arm.settings.is_empty() {
        for (name, value, from) in settings_before_first_window(source, arm)? {
            put("server", &name, &value, from.as_deref(), None)?;
        }
    }
    for setting in &arm.managed {
        put("managed", &setting.name, &setting.value, None, None)?;
    }
    for option in &arm.left_out {
        put("left-out", &option.option, &option.value, Some(&option.reason), None)?;
    }
    for fact in &arm.facts {
        put("build", &fact.name, &fact.value, None, None)?;
    }
    for (name, value) in &arm.env {
        put("environment", name, value, None, None)?;
    }
    for (number, statement) in (1u32..).zip(&arm.after_load) {
        put("after-load", &number.to_string(), statement, None, None)?;
    }
    Ok(())
}

/// Name, value and source of settings, from the state that was recorded before the arm's first window with one; runs
/// that did not record all settings have those that were not at their default.
fn settings_before_first_window(
    source: &Source<'_>,
    arm: &Arm,
) -> Result<Vec<(String, String, Option<String>)>> {
    for window in source.run.windows.iter().filter(|window| window.action.arm == arm.name) {
        let state = source.run.fingerprint(window.action.seq)?;
        let settings = state.iter().filter_map(|(key, value)| {
            let (value, from) = match value.strip_suffix(')').and_then(|value| value.rsplit_once(" (")) {
                Some((value, from)) => (value, Some(from.to_owned())),
                None => (value.as_str(), None),
            };
            Some((key.strip_prefix("setting.")?.to_owned(), value.to_owned(), from))
        });
        let settings: Vec<_> = settings.collect();
        if !settings.is_empty() {
            return Ok(settings);
        }
    }
    Ok(Vec::new())
}

pub(crate) static STEPS: Table = Table {
    name: "steps",
    about: "A step of a run's workload, the same for every arm.",
    key: &["run", "step"],
    parts: [
        &[RUN],
        &[
            integer("position", "place in the order, from 1"),
            text("step", "its name"),
            text("kind", "`measure` or `settle`"),
            text("test", "the test that it measures").or_null(),
            text("test_group", "the test's group").or_null(),
            integer("clients", "clients"),
            text("amount", "how long or how much"),
        ],
    ],
    fill: |source, sink| {
        for step in &source.run.steps {
            sink(&[
                (&source.name).into(),
                step.position.into(),
                (&step.name).into(),
                (&step.kind).into(),
                step.test.as_ref().into(),
                step.group.as_ref().into(),
                step.clients.into(),
                (&step.amount).into(),
            ])?;
        }
        Ok(())
    },
};
