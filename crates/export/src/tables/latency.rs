//! Latencies of a window by kind of statement: percentiles, and the whole distribution.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;

use crate::error::{Error, Result};
use crate::source::{PLACE, Source};
use crate::table::{Sink, Table, integer, real, text};
use crate::value::Value;

const NS_PER_US: f64 = 1e3;

pub(crate) static LATENCIES: Table = Table {
    name: "latencies",
    about: "Latencies of a kind of statement in a window.",
    key: &["run", "seq", "statement", "measured_from"],
    parts: [
        &PLACE,
        &[
            text("statement", "kind of statement"),
            text("measured_from", "`sent`, or in an open loop `scheduled`"),
            integer("count", "latencies"),
            real("mean_us", "us", "mean"),
            real("min_us", "us", "smallest"),
            real("p50_us", "us", "median"),
            real("p90_us", "us", "90th percentile"),
            real("p95_us", "us", "95th percentile"),
            real("p99_us", "us", "99th percentile"),
            real("p999_us", "us", "99.9th percentile"),
            real("p9999_us", "us", "99.99th percentile"),
            real("max_us", "us", "largest"),
        ],
    ],
    fill: |source, sink| {
        of_windows(source, sink, |place, statement, histogram, sink| {
            let us = |quantile: f64| histogram.value_at_quantile(quantile) as f64 / NS_PER_US;
            let count = statement.count;
            let of_some = |value: f64| (count > 0).then_some(value);
            let mut row = place.to_vec();
            row.extend([
                (&statement.statement).into(),
                statement.from.key().into(),
                count.into(),
                of_some(statement.mean_us).into(),
                of_some(histogram.min() as f64 / NS_PER_US).into(),
            ]);
            let [p50, p95, p99] = [statement.p50_us, statement.p95_us, statement.p99_us];
            let rest = [p50, us(0.9), p95, p99, us(0.999), us(0.9999), statement.max_us];
            row.extend(rest.map(|value| Value::from(of_some(value))));
            sink(&row)
        })
    },
};

pub(crate) static LATENCY_BUCKETS: Table = Table {
    name: "latency_buckets",
    about: "A bucket of the distribution of latencies in a window. Buckets without latencies have no row.",
    key: &["run", "seq", "statement", "measured_from", "from_us"],
    parts: [
        &PLACE,
        &[
            text("statement", "kind of statement"),
            text("measured_from", "`sent`, or in an open loop `scheduled`"),
            real("from_us", "us", "smallest latency of the bucket"),
            real("below_us", "us", "the bucket's latencies are below this"),
            integer("count", "latencies in it"),
        ],
    ],
    fill: |source, sink| {
        of_windows(source, sink, |place, statement, histogram, sink| {
            for bucket in histogram.iter_recorded() {
                let highest = bucket.value_iterated_to();
                let from = histogram.lowest_equivalent(highest) as f64 / NS_PER_US;
                let below = histogram.next_non_equivalent(highest) as f64 / NS_PER_US;
                let mut row = place.to_vec();
                row.extend([
                    (&statement.statement).into(),
                    statement.from.key().into(),
                    from.into(),
                    below.into(),
                    bucket.count_since_last_iteration().into(),
                ]);
                sink(&row)?;
            }
            Ok(())
        })
    },
};

type Fill = fn(&[Value<'_>], &rqps_store::Histogram, &Histogram<u64>, &mut Sink<'_>) -> Result<()>;

fn of_windows(source: &Source<'_>, sink: &mut Sink<'_>, fill: Fill) -> Result<()> {
    for window in &source.run.windows {
        let (result, seq) = (&window.result, window.action.seq);
        let place = source.place(window, Some((&result.test, &result.group)));
        for statement in source.run.histograms(seq)? {
            let histogram: Histogram<u64> =
                Deserializer::new().deserialize(&mut &*statement.v2).map_err(|_| Error::Histogram {
                    run: source.name.clone(),
                    seq,
                    statement: statement.statement.clone(),
                })?;
            fill(&place, &statement, &histogram, sink)?;
        }
    }
    Ok(())
}
