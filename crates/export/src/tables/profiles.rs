//! CPU profiles: one row for each, and one for each stack.

use crate::source::PLACE;
use crate::table::{Table, integer, real, text};

pub(crate) static PROFILES: Table = Table {
    name: "profiles",
    about: "A CPU profile of a test on an arm, taken in a pass of its own.",
    key: &["run", "seq"],
    parts: [
        &PLACE,
        &[
            integer("clients", "clients"),
            integer("events", "events while samples were taken"),
            real("operations", "operations", "operations in them"),
            integer("elapsed_us", "how long samples were taken").unit("us"),
            text("sampled_by", "what took them"),
            text("event", "what a sample stands for: `cycles`, `cpu-clock`"),
            real("frequency_hz", "1/s", "samples asked for, per second of CPU time"),
            text("call_graph", "how stacks were followed: `dwarf`, `fp` or `none`"),
            integer("samples", "samples taken"),
            integer("lost_samples", "samples lost"),
            integer("unresolved_samples", "samples whose innermost frame has no name"),
            text("note", "what must be known to read it").or_null(),
        ],
    ],
    fill: |source, sink| {
        for profile in &source.run.profiles {
            let result = &profile.result;
            let mut row = source.place(profile, Some((&result.test, &result.group)));
            row.extend([
                result.clients.into(),
                result.events.into(),
                result.operations.into(),
                result.elapsed_us.into(),
                (&result.sampled_by).into(),
                (&result.event).into(),
                result.frequency_hz.into(),
                (&result.call_graph).into(),
                result.samples.into(),
                result.lost_samples.into(),
                result.unresolved_samples.into(),
                result.note.as_ref().into(),
            ]);
            sink(&row)?;
        }
        Ok(())
    },
};

pub(crate) static STACKS: Table = Table {
    name: "stacks",
    about: "A stack of a CPU profile.",
    key: &["run", "seq", "stack"],
    parts: [
        &PLACE,
        &[
            text("role", "the process: `backend`, `checkpointer`, …"),
            text("function", "the innermost frame"),
            text("stack", "all frames, the role first, parted by `;`"),
            integer("samples", "samples with it"),
            real("samples_per_op", "samples", "samples for one operation"),
        ],
    ],
    fill: |source, sink| {
        let is_there = |profile: &&rqps_store::Recorded<_>| source.has_stacks(&profile.result);
        for profile in source.run.profiles.iter().filter(is_there) {
            let result = &profile.result;
            let folded = source.run.folded(result)?;
            for line in folded.lines() {
                let Some((stack, samples)) = line.rsplit_once(' ') else { continue };
                let Ok(samples) = samples.parse::<u64>() else { continue };
                let role = stack.split(';').next().unwrap_or(stack);
                let function = stack.rsplit(';').next().unwrap_or(stack);
                let mut row = source.place(profile, Some((&result.test, &result.group)));
                row.extend([
                    role.into(),
                    function.into(),
                    stack.into(),
                    samples.into(),
                    (samples as f64 / result.operations).into(),
                ]);
                sink(&row)?;
            }
        }
        Ok(())
    },
};
