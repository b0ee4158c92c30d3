//! What happened: blocks, the host around them, actions, notes.

use crate::source::RUN;
use crate::table::{Column, Table, integer, real, text, time};
use crate::value::Value;

const BLOCK: Column = integer("block", "the block's number");

pub(crate) static BLOCKS: Table = Table {
    name: "blocks",
    about: "A replicate of a run.",
    key: &["run", "block"],
    parts: [
        &[RUN],
        &[
            BLOCK,
            text("status", "`done`: its windows are results; `void`, `running`: they are not"),
            text("note", "why it is void, or what else is worth knowing").or_null(),
            text("seed", "of all that is random in it; text, for it uses all 64 bits"),
            time("started_at", "when it began"),
            time("finished_at", "when it ended").or_null(),
            text("restored_by", "how data were made equal: `reflink`, `copy` or `load`"),
            integer("tests", "how many tests it measures"),
        ],
    ],
    fill: |source, sink| {
        for block in &source.run.blocks {
            sink(&[
                (&source.name).into(),
                block.number.into(),
                block.status.key().into(),
                block.note.as_ref().into(),
                block.seed.to_string().into(),
                Value::Time(block.started_at_ms),
                block.finished_at_ms.map_or(Value::Null, Value::Time),
                (&block.restored_by).into(),
                block.tests.len().into(),
            ])?;
        }
        Ok(())
    },
};

pub(crate) static BLOCK_ARMS: Table = Table {
    name: "block_arms",
    about: "What was drawn for an arm in a block.",
    key: &["run", "block", "arm"],
    parts: [
        &[RUN],
        &[
            BLOCK,
            text("arm", "the arm"),
            integer("start_position", "its turn when servers were started, from 1"),
            text("side", "the directory and socket that it had"),
            text("cpus", "the CPUs of its sessions"),
        ],
    ],
    fill: |source, sink| {
        for block in &source.run.blocks {
            for arm in &block.arms {
                sink(&[
                    (&source.name).into(),
                    block.number.into(),
                    (&arm.arm).into(),
                    arm.start_position.into(),
                    (&arm.side).into(),
                    (&arm.cpus).into(),
                ])?;
            }
        }
        Ok(())
    },
};

pub(crate) static CANARIES: Table = Table {
    name: "canaries",
    about: "Small fixed work of the host itself around a block.",
    key: &["run", "block", "moment", "canary"],
    parts: [
        &[RUN],
        &[
            BLOCK,
            text("moment", "`before` or `after` the block"),
            text("canary", "what was measured, unit last: `spin_ns`, `memory_ns`, `fsync_us`"),
            real("value", "", "the time, in the unit of the name"),
        ],
    ],
    fill: |source, sink| {
        for canary in &source.run.canaries {
            sink(&[
                (&source.name).into(),
                canary.block.into(),
                canary.moment.key().into(),
                (&canary.name).into(),
                canary.value.into(),
            ])?;
        }
        Ok(())
    },
};

pub(crate) static ACTIONS: Table = Table {
    name: "actions",
    about: "A finished action of a run.",
    key: &["run", "seq"],
    parts: [
        &[RUN],
        &[
            integer("seq", "its number"),
            text("arm", "the arm"),
            text("kind", "`start`, `load`, `vacuum`, `settle`, `measure`, `count`, `profile` or `stop`"),
            text("step", "the step; empty for starts and stops"),
            integer("attempt", "which attempt ended it, from 1"),
            time("started_at", "when it began"),
            time("finished_at", "when it ended"),
            text("outcome", "`done`, or `invalid`: its result must not be used"),
            text("note", "why").or_null(),
        ],
    ],
    fill: |source, sink| {
        for action in &source.run.actions {
            sink(&[
                (&source.name).into(),
                action.seq.into(),
                (&action.arm).into(),
                (&action.kind).into(),
                (&action.step).into(),
                action.attempt.into(),
                Value::Time(action.started_at_ms),
                Value::Time(action.finished_at_ms),
                action.outcome.key().into(),
                action.note.as_ref().into(),
            ])?;
        }
        Ok(())
    },
};

pub(crate) static NOTES: Table = Table {
    name: "notes",
    about: "What happened to a run.",
    key: &["run", "number"],
    parts: [
        &[RUN],
        &[
            integer("number", "its place, oldest first, from 1"),
            time("noted_at", "when"),
            text("arm", "the arm that it concerns").or_null(),
            text("text", "what happened"),
        ],
    ],
    fill: |source, sink| {
        for (number, note) in (1u32..).zip(&source.run.notes) {
            sink(&[
                (&source.name).into(),
                number.into(),
                Value::Time(note.at_ms),
                note.arm.as_ref().into(),
                (&note.text).into(),
            ])?;
        }
        Ok(())
    },
};
