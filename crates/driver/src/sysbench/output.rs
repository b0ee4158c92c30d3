//! Parses sysbench's output: the lines of our gate, one line per second, and the final statistics. The format
//! is that of 1.0.20; later versions differ only in the heading above the number of events, which is ignored.

use super::error::Error;
use std::collections::BTreeMap;

/// Prefix of the lines of our gate.
const GATE_PREFIX: &str = "rqps ";

/// A line of sysbench's output.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Line {
    /// A thread waits for the window. `session` is its session's id on the server.
    Waits {
        thread: u32,
        session: u32,
    },
    /// Events that a thread restarted because of the SQLSTATE `state`.
    Restarted {
        state: String,
        count: u64,
    },
    /// A thread has done its last event: its number of events, and the seconds they took.
    Done {
        thread: u32,
        events: u64,
        seconds: f64,
    },
    /// An error of a thread that ends the run.
    Failed {
        words: String,
    },
    /// The rates of the last second.
    Second {
        queries_per_s: f64,
        events_per_s: f64,
    },
    Other(String),
}

impl Line {
    pub fn parse(line: &str) -> Result<Self, Error> {
        if let Some(rest) = line.strip_prefix(GATE_PREFIX) {
            return gate_line(rest).ok_or_else(|| Error::Output(format!("the line `{line}`")));
        }
        let Some((_, figures)) = line.strip_prefix("[ ").and_then(|rest| rest.split_once("s ] thds: "))
        else {
            return Ok(Line::Other(line.to_owned()));
        };
        let after = |name: &str| -> Option<f64> {
            let (_, rest) = figures.split_once(name)?;
            rest.split_whitespace().next()?.parse().ok()
        };
        match (after(" qps: "), after(" tps: ")) {
            (Some(queries_per_s), Some(events_per_s)) => Ok(Line::Second { queries_per_s, events_per_s }),
            _ => Err(Error::Output(format!("the line `{line}`"))),
        }
    }
}

fn gate_line(line: &str) -> Option<Line> {
    let mut words = line.split(' ');
    let (event, thread) = (words.next()?, words.next()?.parse().ok()?);
    Some(match event {
        "waits" => Line::Waits { thread, session: words.next()?.parse().ok()? },
        "restarted" => {
            Line::Restarted { state: words.next()?.to_owned(), count: words.next()?.parse().ok()? }
        }
        "done" => {
            Line::Done { thread, events: words.next()?.parse().ok()?, seconds: words.next()?.parse().ok()? }
        }
        "failed" => Line::Failed { words: words.collect::<Vec<_>>().join(" ") },
        _ => return None,
    })
}

/// The final statistics.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Statistics {
    /// Statements that returned a result set.
    pub reads: u64,
    pub writes: u64,
    /// Everything else: BEGIN, COMMIT, statements that changed nothing.
    pub other: u64,
    pub events: u64,
    /// Latency histogram of events: the middle of each bucket in ms, and its count.
    pub latencies: Vec<(f64, u64)>,
}

impl Statistics {
    /// Parses what was printed after the last event.
    pub fn parse<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Self, Error> {
        let mut figures = BTreeMap::new();
        let mut latencies = Vec::new();
        for line in lines {
            if let Some(bucket) = bucket(line) {
                latencies.push(bucket);
            } else if let Some((name, rest)) = line.split_once(':')
                && let Some(Ok(value)) = rest.split_whitespace().next().map(str::parse::<u64>)
            {
                figures.insert(name.trim(), value);
            }
        }
        let figure = |name: &str| {
            figures.get(name).copied().ok_or_else(|| Error::Output(format!("no figure `{name}`")))
        };
        Ok(Self {
            reads: figure("read")?,
            writes: figure("write")?,
            other: figure("other")?,
            events: figure("total number of events")?,
            latencies,
        })
    }
}

/// Parses a bucket of the histogram: `0.074 |*********** 15`.
fn bucket(line: &str) -> Option<(f64, u64)> {
    let (value, rest) = line.split_once('|')?;
    let count = rest.rsplit(['*', ' ']).next()?;
    Some((value.trim().parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of sysbench 1.0.20 for three seconds of write-only, shortened.
    const PRINTED: &str = "\
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       0.074 |*********************                    15
       1.791 |*                                        1
      11.681 |                                         8339

SQL statistics:
    queries performed:
        read:                            2
        write:                           33420
        other:                           16710
        total:                           50132
    transactions:                        8355   (2776.63 per sec.)
    queries:                             50132  (16660.45 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          3.0053s
    total number of events:              8355

Latency (ms):
         min:                                    0.10
         sum:                                 5990.55
";

    #[test]
    fn statistics_are_read_and_a_missing_figure_is_named() {
        let statistics = Statistics::parse(PRINTED.lines()).unwrap();
        assert_eq!((statistics.reads, statistics.writes, statistics.other), (2, 33_420, 16_710));
        assert_eq!(statistics.events, 8355);
        assert_eq!(statistics.latencies, [(0.074, 15), (1.791, 1), (11.681, 8339)]);
        let error = Statistics::parse(PRINTED.lines().take(12)).unwrap_err();
        assert!(error.to_string().contains("no figure `total number of events`"), "{error}");
    }

    #[test]
    fn lines_of_the_gate_and_of_seconds_are_distinguished_from_others() {
        let parse = |line| Line::parse(line).unwrap();
        assert_eq!(parse("rqps waits 3 4711"), Line::Waits { thread: 3, session: 4711 });
        assert_eq!(
            parse("rqps done 1 573 0.106462364"),
            Line::Done { thread: 1, events: 573, seconds: 0.106462364 }
        );
        assert_eq!(
            parse("rqps failed 0 SQL error, errno = 0, state = '42P01': no"),
            Line::Failed { words: "SQL error, errno = 0, state = '42P01': no".to_owned() }
        );
        let second = "[ 1s ] thds: 2 tps: 1870.31 qps: 11228.87 (r/w/o: 2.00/7484.25/3742.62) lat (ms,99%): 8.74 \
                      err/s: 0.00 reconn/s: 0.00";
        assert_eq!(parse(second), Line::Second { queries_per_s: 11228.87, events_per_s: 1870.31 });
        assert_eq!(parse("Threads started!"), Line::Other("Threads started!".to_owned()));
        assert!(Line::parse("rqps done 1").is_err());
    }
}
