//! Made-up runs of directories: what the writes and syncs of fio take.

mod common;

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
        first.sentence.starts_with("on new a sync takes 450 us, 2.25 times old's 200"),
        "{}",
        first.sentence
    );
    assert!(found.findings.iter().all(|one| one.cause != Cause::Unknown), "{:?}", found.findings);
}
