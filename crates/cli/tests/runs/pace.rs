//! The open loop: events at a given rate, latencies since they were due and since they were sent.

use rqps_store::{Histogram, LatencyFrom, Recorded, Run, Window};

use crate::bench::Bench;

fn event_histogram(run: &Run, window: &Recorded<Window>, from: LatencyFrom) -> Histogram {
    let histograms = run.histograms(window.action.seq).unwrap();
    let mut events = histograms.into_iter().filter(|h| h.statement == "event" && h.from == from);
    events.next().unwrap()
}

#[test]
fn a_rate_that_can_be_kept_is_kept_and_one_that_cannot_shows_in_the_latency() {
    let bench = Bench::new();
    let workload = "clients = 2\nread_seconds = 2\nsteps = [\"point-query\", \"read-only-count\", \"scan\"]\n\
        [test.point-query]\nrate_per_second = 150\n[test.read-only-count]\nrate_per_second = 2_000_000\n";
    let plan = bench.plan("", workload, &["18"]);
    bench.call(&["run", plan.to_str().unwrap()]).expect(0);
    let run = bench.run();
    let [kept, missed, closed] = &run.windows[..] else {
        panic!("{:?}", run.windows);
    };
    assert_eq!(kept.result.target_events_per_s, Some(150.0));
    // Never more, and not much less on a busy machine; in a closed loop clients do thousands.
    let rate = kept.result.per_second(kept.result.events.unwrap()).unwrap();
    assert!((75.0..152.0).contains(&rate), "{rate}");
    let [sent, due] = [LatencyFrom::Sent, LatencyFrom::Scheduled];
    for window in [kept, missed] {
        let (from_sent, from_due) = (event_histogram(&run, window, sent), event_histogram(&run, window, due));
        assert_eq!(
            (from_sent.count, from_due.count),
            (window.result.events.unwrap(), window.result.events.unwrap())
        );
        assert!(from_due.p50_us >= from_sent.p50_us, "{from_due:?} {from_sent:?}");
    }
    // Nearly all events of the two seconds are late by most of a second.
    let missed_rate = missed.result.per_second(missed.result.events.unwrap()).unwrap();
    assert!(missed_rate < 1_000_000.0, "{missed_rate}");
    let late_us = event_histogram(&run, missed, due).p50_us;
    assert!(late_us > 100_000.0, "{late_us}");
    assert!(event_histogram(&run, missed, sent).p50_us < late_us / 2.0);
    assert_eq!(closed.result.target_events_per_s, None);
    let histograms = run.histograms(closed.action.seq).unwrap();
    assert!(histograms.iter().all(|histogram| histogram.from == sent));
}
