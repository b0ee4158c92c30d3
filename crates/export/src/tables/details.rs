//! The details of observations: metrics, counters, seconds, query plans, the state before.

use rqps_store::{Recorded, Run};

use crate::error::Result;
use crate::source::{PLACE, Source};
use crate::table::{Sink, Table, integer, real, text};
use crate::value::Value;

/// Series that hold a value for each client instead of each second: of the warm-up, of the window.
pub(crate) const WORK: [&str; 2] = ["work-warmup", "work-window"];

pub(crate) static METRICS: Table = Table {
    name: "metrics",
    about: "A total over an observed stretch: a window, load, settle step, count or profile.",
    key: &["run", "seq", "metric"],
    parts: [
        &PLACE,
        &[
            text("metric", "its name, with its unit"),
            real("value", "", "the total, in the unit of the name"),
            real("per_op", "", "the same for one operation; null where there is none"),
        ],
    ],
    fill: |source, sink| {
        let run = source.run;
        for window in &run.windows {
            let result = &window.result;
            metrics(source, window, Some((&result.test, &result.group)), result.operations, sink)?;
        }
        for count in &run.counts {
            let result = &count.result;
            metrics(source, count, Some((&result.test, &result.group)), f64::NAN, sink)?;
        }
        for profile in &run.profiles {
            let result = &profile.result;
            metrics(source, profile, Some((&result.test, &result.group)), result.operations, sink)?;
        }
        for load in &run.loads {
            metrics(source, load, None, load.result.rows as f64, sink)?;
        }
        run.settles.iter().try_for_each(|settle| metrics(source, settle, None, f64::NAN, sink))
    },
};

fn metrics<T>(
    source: &Source<'_>,
    recorded: &Recorded<T>,
    test: Option<(&str, &str)>,
    operations: f64,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let place = source.place(recorded, test);
    for (name, value) in &recorded.metrics {
        put(&place, [name.into(), (*value).into(), (value / operations).into()], sink)?;
    }
    Ok(())
}

/// Hands over a row that begins with `place`.
fn put<const N: usize>(place: &[Value<'_>], own: [Value<'_>; N], sink: &mut Sink<'_>) -> Result<()> {
    let mut row = Vec::with_capacity(place.len() + N);
    row.extend_from_slice(place);
    row.extend(own);
    sink(&row)
}

pub(crate) static COUNTERS: Table = Table {
    name: "counters",
    about: "A counter that the server keeps about itself, before and after a window or load.",
    key: &["run", "seq", "view", "object", "counter"],
    parts: [
        &PLACE,
        &[
            text("view", "the view that it comes from"),
            text("object", "the row of the view, such as a table; empty for views of one row"),
            text("counter", "the column of the view"),
            real("before", "", "its value before"),
            real("after", "", "its value after"),
            real("delta", "", "after minus before"),
            real("per_op", "", "delta for one operation; of a load for one row"),
        ],
    ],
    fill: |source, sink| {
        for window in &source.run.windows {
            let result = &window.result;
            counters(source, window, Some((&result.test, &result.group)), result.operations, sink)?;
        }
        for load in &source.run.loads {
            counters(source, load, None, load.result.rows as f64, sink)?;
        }
        Ok(())
    },
};

fn counters<T>(
    source: &Source<'_>,
    recorded: &Recorded<T>,
    test: Option<(&str, &str)>,
    operations: f64,
    sink: &mut Sink<'_>,
) -> Result<()> {
    let place = source.place(recorded, test);
    for counter in source.run.counters(recorded.action.seq)? {
        let delta = counter.delta();
        let own = [
            (&counter.view).into(),
            (&counter.object).into(),
            (&counter.column).into(),
            counter.before.into(),
            counter.after.into(),
            delta.into(),
            delta.map(|delta| delta / operations).into(),
        ];
        put(&place, own, sink)?;
    }
    Ok(())
}

pub(crate) static SERIES: Table = Table {
    name: "series",
    about: "A second of a window.",
    key: &["run", "seq", "series", "second"],
    parts: [
        &PLACE,
        &[
            text("series", "what was sampled"),
            text("unit", "unit of the values"),
            integer("second", "from the window's start: 0 is its first second").unit("s"),
            real("value", "", "the value; null where the second was missed"),
        ],
    ],
    fill: |source, sink| {
        for window in &source.run.windows {
            let result = &window.result;
            let place = source.place(window, Some((&result.test, &result.group)));
            for series in source.run.series(window.action.seq)? {
                if WORK.contains(&&*series.name) {
                    continue;
                }
                for (second, value) in (0u32..).zip(&series.values) {
                    let own = [(&series.name).into(), (&series.unit).into(), second.into(), (*value).into()];
                    put(&place, own, sink)?;
                }
            }
        }
        Ok(())
    },
};

pub(crate) static PLANS: Table = Table {
    name: "plans",
    about: "A query plan that the server chose. In blocks the first window of the first block that is done has them.",
    key: &["run", "seq", "statement"],
    parts: [
        &PLACE,
        &[
            text("statement", "kind of statement"),
            text("sql", "the statement as planned"),
            text("plan", "the plan as text"),
            text("plan_json", "the plan as JSON, where the server gave it").or_null(),
        ],
    ],
    fill: |source, sink| {
        of_windows(source, sink, |run, seq, put| {
            for plan in run.plans(seq)? {
                let json = (!plan.json.is_empty()).then_some(&plan.json);
                put([(&plan.statement).into(), (&plan.sql).into(), (&plan.text).into(), json.into()])?;
            }
            Ok(())
        })
    },
};

pub(crate) static FINGERPRINTS: Table = Table {
    name: "fingerprints",
    about: "State of the server just before a window: rows, sizes, debt. Settings are in `settings`.",
    key: &["run", "seq", "key"],
    parts: [
        &PLACE,
        &[
            text("key", "what it is"),
            text("value", "its value"),
            real("number", "", "the same where it is a number"),
        ],
    ],
    fill: |source, sink| {
        of_windows(source, sink, |run, seq, put| {
            for (key, value) in run.fingerprint(seq)? {
                if !key.starts_with("setting.") {
                    let number = value.parse::<f64>().ok();
                    put([(&key).into(), (&value).into(), number.into()])?;
                }
            }
            Ok(())
        })
    },
};

/// Where the rows of one window go, without their beginning.
type Put<'p, const N: usize> = dyn FnMut([Value<'_>; N]) -> Result<()> + 'p;

fn of_windows<const N: usize>(
    source: &Source<'_>,
    sink: &mut Sink<'_>,
    fill: fn(&Run, u32, &mut Put<'_, N>) -> Result<()>,
) -> Result<()> {
    for window in &source.run.windows {
        let result = &window.result;
        let place = source.place(window, Some((&result.test, &result.group)));
        fill(source.run, window.action.seq, &mut |own| put(&place, own, sink))?;
    }
    Ok(())
}
