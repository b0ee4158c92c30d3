//! What jobs of fio did together, as the metrics and histograms of rqps' own measurements of sync latency.

use rqps_store::Histogram;
use serde_json::Value as Json;

use crate::histogram::Buckets;
use crate::model::{Measurement, WRITES};

/// Percentiles as fio prints them, microseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies {
    /// Percent, and the latency that so many do not exceed.
    pub percentiles: Vec<(f64, f64)>,
    pub max_us: Option<f64>,
}

impl Latencies {
    /// So many latencies that have these percentiles; between two of them, all are as long as the longer.
    pub fn add_to(&self, buckets: &mut Buckets, count: u64) {
        let mut done = 0;
        for (percent, us) in &self.percentiles {
            let upto = (percent / 100.0 * count as f64).ceil() as u64;
            buckets.add(*us, upto.saturating_sub(done));
            done = done.max(upto);
        }
        if let (Some(us), false) = (self.max_us, self.percentiles.is_empty()) {
            buckets.add(us, count.saturating_sub(done));
        }
    }
}

/// What all jobs of a test that only writes did together.
#[derive(Default)]
pub struct Figures {
    pub written_mb: Option<f64>,
    /// Sums of latencies.
    pub write_us: f64,
    pub sync_us: f64,
    pub syncs: f64,
    pub write_buckets: Buckets,
    pub sync_buckets: Buckets,
}

impl Figures {
    /// Adds a job of fio's JSON that made `total` requests; one that reads leaves no figures of writes.
    pub fn add_json(&mut self, job: &Json, total: f64) {
        let (write, sync) = (&job["write"], &job["sync"]["lat_ns"]);
        let number = |value: &Json| value.as_f64().unwrap_or(0.0);
        if number(&write["total_ios"]) < total {
            self.written_mb = None;
        }
        self.written_mb = self.written_mb.map(|mb| mb + number(&write["io_bytes"]) / 1e6);
        let sum_us = |latency: &Json| number(&latency["mean"]) * number(&latency["N"]) / 1e3;
        self.write_us += sum_us(&write["lat_ns"]);
        self.syncs += number(&sync["N"]);
        self.sync_us += sum_us(sync);
        for (buckets, latency) in
            [(&mut self.write_buckets, &write["clat_ns"]), (&mut self.sync_buckets, sync)]
        {
            let max_us = number(&latency["max"]) / 1e3;
            match latency["bins"].as_object() {
                // Of json+.
                Some(bins) => {
                    for (ns, count) in bins {
                        if let (Ok(ns), Some(count)) = (ns.parse::<f64>(), count.as_u64()) {
                            buckets.add((ns / 1e3).min(max_us), count);
                        }
                    }
                }
                None => {
                    let all = latency["percentile"].as_object().into_iter().flatten();
                    let pair =
                        |(percent, ns): (&String, &Json)| Some((percent.parse().ok()?, ns.as_f64()? / 1e3));
                    let mut percentiles: Vec<(f64, f64)> = all.filter_map(pair).collect();
                    percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
                    Latencies { percentiles, max_us: Some(max_us) }
                        .add_to(buckets, number(&latency["N"]) as u64);
                }
            }
        }
    }

    /// Adds them as the metrics and histograms of rqps' own measurements of sync latency.
    pub fn add_to(&self, measured: &mut Measurement, writes: f64) {
        let Some(work) = &mut measured.work else { return };
        work.unit = WRITES.clone();
        let mut put = |name: &str, value: f64| {
            measured.metrics.insert(name.to_owned(), value);
        };
        let Some(written_mb) = self.written_mb else { return };
        put("fio_written_mb", written_mb);
        if self.write_us > 0.0 {
            put("fio_write_us", self.write_us);
        }
        if self.syncs > 0.0 {
            put("fio_syncs", self.syncs);
            put("fio_sync_us", self.sync_us);
        }
        let name = measured.test.as_deref().unwrap_or_default();
        let of_sync = if name.contains("fdatasync=") { "fdatasync" } else { "fsync" };
        let write = (&self.write_buckets, "write", self.write_us / writes);
        let sync = (&self.sync_buckets, of_sync, self.sync_us / self.syncs);
        let event = if self.syncs > 0.0 { (sync.0, "event", sync.2) } else { (write.0, "event", write.2) };
        let all = [write, sync, event].into_iter().filter_map(|(buckets, name, mean_us)| {
            let histogram = buckets.histogram(name)?;
            // Buckets know it less exactly.
            let mean_us = if mean_us.is_finite() && mean_us > 0.0 { mean_us } else { histogram.mean_us };
            Some(Histogram { mean_us, ..histogram })
        });
        measured.histograms = all.collect();
    }
}
