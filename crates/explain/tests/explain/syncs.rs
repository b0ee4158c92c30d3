//! Made-up runs of directories: what the writes and syncs of fio take.

use crate::common;
use rqps_explain::{Cause, Word};
use rqps_verdicts::testing::{Observed, Spec};

#[test]
fn slower_syncs_are_named_before_anything_else() {
    let test = "update-index";
    let write = common::figure(test, Observed::Metric("fio_write_us"), 20.0, 20.0);
    let sync = common::figure(test, Observed::Metric("fio_sync_us"), 200.0, 450.0);
    let spec = Spec {
        effects: vec![(2, test, 0.47, 1.0)],
        extra: write.into_iter().chain(sync).collect(),
        ..Spec::default()
    };
    let found = common::explained(&spec, test, 2);
    let first = &found.findings[0];
    assert_eq!((first.word, first.cause), (Word::MoreWaiting, Cause::Fsync), "{:?}", found.findings);
    assert!(
        first.sentence.starts_with("on new the sync takes 450 us per write, 2.25 times old's 200"),
        "{}",
        first.sentence
    );
    assert!(found.findings.iter().all(|one| one.cause != Cause::Unknown), "{:?}", found.findings);
}

#[test]
fn a_write_and_its_sync_that_both_take_longer_are_one_finding() {
    let test = "update-index";
    let write = common::figure(test, Observed::Metric("fio_write_us"), 20.0, 60.0);
    let sync = common::figure(test, Observed::Metric("fio_sync_us"), 200.0, 450.0);
    let extra = write.into_iter().chain(sync).collect();
    let spec = Spec { effects: vec![(2, test, 0.43, 1.0)], extra, ..Spec::default() };
    let found = common::explained(&spec, test, 2).findings;
    let waits: Vec<_> = found.iter().filter(|one| one.word == Word::MoreWaiting).collect();
    let [one] = &waits[..] else { panic!("{found:?}") };
    for part in ["the sync takes 450 us per write", "the write takes 60 us per write", "3 times old's 20"] {
        assert!(one.sentence.contains(part), "{part}: {}", one.sentence);
    }
    assert!(!one.sentence.contains("clients wait"), "the parts are the whole wait: {}", one.sentence);
}
