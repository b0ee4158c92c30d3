//! fio's output in its format `json+`.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use rqps_driver::latency_histogram;
use serde::Deserialize;

#[derive(Debug, Deserialize)]
struct Output {
    jobs: Vec<Job>,
}

#[derive(Debug, Deserialize)]
struct Job {
    error: i32,
    write: WriteFigures,
    sync: SyncFigures,
}

#[derive(Debug, Deserialize)]
struct WriteFigures {
    io_bytes: u64,
    iops: f64,
    total_ios: u64,
    lat_ns: Latency,
    clat_ns: Latency,
}

#[derive(Debug, Deserialize)]
struct SyncFigures {
    lat_ns: Latency,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Latency {
    mean: f64,
    #[serde(rename = "N")]
    count: u64,
    max: u64,
    /// Counts by nanoseconds.
    bins: BTreeMap<String, u64>,
}

/// What the jobs of one run did together.
#[derive(Debug)]
pub(crate) struct Figures {
    pub writes: u64,
    /// The sum over jobs.
    pub writes_per_s: f64,
    pub bytes: u64,
    /// Writes of each job.
    pub each: Vec<u64>,
    /// Sums of latencies, ns.
    pub write_ns: f64,
    pub sync_ns: f64,
    pub syncs: u64,
    pub write_histogram: Histogram<u64>,
    pub sync_histogram: Histogram<u64>,
}

/// Reads the output of a run. fio may print warnings before the JSON.
///
/// # Errors
/// If it is no such output, or a job failed.
pub(crate) fn parse(bytes: &[u8]) -> Result<Figures, String> {
    let text = String::from_utf8_lossy(bytes);
    let json = text.find('{').map_or("", |start| &text[start..]);
    let output: Output = serde_json::from_str(json).map_err(|error| match text.trim().is_empty() {
        true => "fio ended without any output".to_owned(),
        false => format!("fio's output is not the JSON that it was asked for ({error})"),
    })?;
    if let Some(failed) = output.jobs.iter().find(|job| job.error != 0) {
        return Err(std::io::Error::from_raw_os_error(failed.error).to_string());
    }
    let jobs = output.jobs;
    let of_writes =
        |figure: &dyn Fn(&WriteFigures) -> f64| jobs.iter().map(|job| figure(&job.write)).sum::<f64>();
    let total_ns = |latency: &Latency| latency.mean * latency.count as f64;
    Ok(Figures {
        writes: jobs.iter().map(|job| job.write.total_ios).sum(),
        writes_per_s: of_writes(&|write| write.iops),
        bytes: jobs.iter().map(|job| job.write.io_bytes).sum(),
        each: jobs.iter().map(|job| job.write.total_ios).collect(),
        write_ns: of_writes(&|write| total_ns(&write.lat_ns)),
        sync_ns: jobs.iter().map(|job| total_ns(&job.sync.lat_ns)).sum(),
        syncs: jobs.iter().map(|job| job.sync.lat_ns.count).sum(),
        write_histogram: histogram(jobs.iter().map(|job| &job.write.clat_ns))?,
        sync_histogram: histogram(jobs.iter().map(|job| &job.sync.lat_ns))?,
    })
}

/// The latencies of all jobs. A bucket has the value in its middle; one latency of the highest is the job's maximum.
fn histogram<'a>(latencies: impl Iterator<Item = &'a Latency>) -> Result<Histogram<u64>, String> {
    let mut all = latency_histogram().map_err(|error| error.to_string())?;
    for latency in latencies {
        let mut bins = Vec::with_capacity(latency.bins.len());
        for (ns, count) in latency.bins.iter().filter(|(_, count)| **count > 0) {
            let ns: u64 = ns.parse().map_err(|_| format!("its histogram has a bucket `{ns}`"))?;
            bins.push((ns.clamp(1, latency.max.max(1)), *count));
        }
        if let Some((_, count)) = bins.iter_mut().max_by_key(|(ns, _)| *ns) {
            *count -= 1;
            all.saturating_record(latency.max.max(1));
        }
        bins.into_iter().for_each(|(ns, count)| all.saturating_record_n(ns, count));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_JOBS: &str = r#"fio: a warning
{"fio version": "fio-3.33", "jobs": [
 {"error": 0, "write": {"io_bytes": 327680, "bw_bytes": 163840, "iops": 10.0, "runtime": 2000, "total_ios": 20,
   "lat_ns": {"mean": 100.0, "N": 20}, "clat_ns": {"mean": 90.0, "N": 20, "max": 400, "bins": {"80": 19, "408": 1}}},
  "sync": {"total_ios": 0, "lat_ns": {"mean": 2000.0, "N": 20, "max": 9000, "bins": {"1000": 15, "5000": 5}}}},
 {"error": 0, "write": {"io_bytes": 163840, "bw_bytes": 81920, "iops": 5.0, "runtime": 1999, "total_ios": 10,
   "lat_ns": {"mean": 200.0, "N": 10}, "clat_ns": {"mean": 190.0, "N": 10, "max": 200, "bins": {"190": 10}}},
  "sync": {"total_ios": 0, "lat_ns": {"mean": 8000.0, "N": 10, "max": 9000, "bins": {"8000": 10}}}}]}"#;

    #[test]
    fn rates_of_jobs_are_summed_and_their_latencies_averaged() {
        let figures = parse(TWO_JOBS.as_bytes()).unwrap();
        assert_eq!((figures.writes, figures.writes_per_s, figures.bytes), (30, 15.0, 491_520));
        assert_eq!(figures.each, [20, 10]);
        assert_eq!((figures.syncs, figures.sync_ns / 30.0), (30, 4000.0));
        assert_eq!(figures.write_ns, 4000.0);
        assert_eq!(figures.write_histogram.len(), 30);
        assert_eq!(figures.write_histogram.max() / 256, 1, "the maximum, in the histogram's first buckets");
        assert_eq!(figures.sync_histogram.value_at_quantile(0.5) / 100, 10);
        // The last buckets are those of 5000 and 8000.
        assert_eq!((figures.sync_histogram.len(), figures.sync_histogram.max() / 256), (30, 9000 / 256));
    }

    #[test]
    fn failures_are_named() {
        let failed = TWO_JOBS.replace(
            "\"error\": 0, \"write\": {\"io_bytes\": 163840",
            "\"error\": 28, \"write\": {\"io_bytes\": 1",
        );
        assert!(parse(failed.as_bytes()).unwrap_err().contains("No space left on device"));
        assert!(parse(b"fio: no").unwrap_err().contains("not the JSON"));
    }
}
