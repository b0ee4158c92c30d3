//! Made-up runs with known causes: what findings report, and what they do not.

use crate::common;
use rqps_explain::{Cause, Explanation, Word};
use rqps_verdicts::testing::{Extra, Observed, Spec};

const TEST: &str = "update-index";
const TABLES: &str = "pg_stat_all_tables";
const TABLES_IO: &str = "pg_statio_all_tables";

fn explained(spec: &Spec, arm: usize) -> Explanation {
    common::explained(spec, TEST, arm)
}

fn figure(what: Observed, base: f64, arm: f64) -> [Extra; 3] {
    common::figure(TEST, what, base, arm)
}

fn counter(view: &'static str, column: &'static str) -> Observed {
    Observed::Counter(view, "all", column)
}

/// An operation of 250 us: 180 us of the session, 40 us of the client, 30 us of waiting.
fn spec(effect: (f64, f64), session_us: f64, extra: Vec<[Extra; 3]>) -> Spec {
    Spec {
        effects: vec![(2, TEST, effect.0, effect.1)],
        extra: common::cpu_times(TEST, session_us).into_iter().chain(extra).flatten().collect(),
        ..Spec::default()
    }
}

fn causes(found: &Explanation) -> Vec<(Word, Cause)> {
    found.findings.iter().map(|finding| (finding.word, finding.cause)).collect()
}

#[test]
fn more_log_without_more_time_is_more_work() {
    let wal = figure(Observed::Metric("server_wal_bytes"), 540.0, 720.0);
    let found = explained(&spec((1.0, 1.0), 180.0, vec![wal]), 2);
    assert_eq!(causes(&found), [(Word::MoreWork, Cause::Wal)], "{found:?}");
    assert_eq!(found.findings[0].sentence, "new writes 720 bytes of WAL per query, against 540 on old");
}

/// Blocks of tables are some of all blocks, whose verdict is `same`.
#[test]
fn a_little_of_what_a_verdict_calls_the_same_explains_nothing() {
    let touched = |base: f64, arm: f64| {
        let found = explained(&spec((0.92, 1.12), 200.0, common::blocks(TEST, base, arm)), 2);
        common::finding(&found, Cause::BlocksTouched).is_some()
    };
    assert!(!touched(1.11, 1.08), "2.4 % of them, 0.7 % of all blocks");
    assert!(touched(1.0, 2.0));
}

#[test]
fn shares_of_a_change_of_the_rate_that_no_verdict_shows_are_not_told() {
    let found = |rate: f64| explained(&spec((rate, 1.12), 230.0, vec![]), 2);
    let undecided = found(0.999);
    assert!(!undecided.has_shares && undecided.findings.iter().all(|one| one.share().is_none()));
    assert!(!undecided.may_be_chance, "its cost changed: {undecided:?}");
    let decided = found(0.85);
    assert!(decided.has_shares && decided.findings.iter().any(|one| one.share().is_some()), "{decided:?}");
}

#[test]
fn the_control_has_no_causes() {
    let found = explained(&spec((0.95, 1.04), 195.0, vec![]), 1);
    assert_eq!(causes(&found), [], "{found:?}");
}

#[test]
fn figures_without_a_changed_verdict_are_no_findings() {
    let heap = figure(counter(TABLES_IO, "heap_blks_hit"), 2.0, 7.0);
    let read = figure(counter(TABLES_IO, "heap_blks_read"), 0.0, 0.0);
    let found = explained(&spec((1.0, 1.0), 180.0, vec![heap, read]), 2);
    assert_eq!(causes(&found), [], "{found:?}");
    assert!(!found.searched, "{found:?}");
}

#[test]
fn of_a_named_inconclusive_test_causes_are_searched_that_may_be_chance() {
    let noisy = Spec { block_sd: 0.3, ..spec((0.8, 1.0), 230.0, common::blocks(TEST, 2.0, 7.0)) };
    let found = explained(&noisy, 2);
    assert!(found.searched && found.may_be_chance, "{found:?}");
    assert!(causes(&found).contains(&(Word::MoreWork, Cause::BlocksTouched)), "{found:?}");
}

#[test]
fn dead_rows_are_one_finding_with_all_its_figures() {
    let entries = figure(counter("pg_stat_all_indexes", "idx_tup_read"), 1.0, 6.0);
    let fetched = figure(counter(TABLES, "idx_tup_fetch"), 1.0, 1.0);
    let extra = [entries, fetched].into_iter().chain(common::blocks(TEST, 2.0, 7.0)).collect();
    let found = explained(&spec((0.92, 1.12), 200.0, extra), 2);
    assert_eq!(causes(&found)[0], (Word::MoreWork, Cause::DeadRows), "{found:?}");
    let first = &found.findings[0];
    assert!(first.sentence.contains("6 index entries for each row that it fetches"), "{}", first.sentence);
    let instructions = "instructions per query: ";
    assert!(first.sentence.contains(instructions), "{}", first.sentence);
    assert!(!first.sentence.contains("up 12 %"), "the verdict tells the ratio: {}", first.sentence);
    let evidence: Vec<&str> = first.evidence.iter().map(|figure| figure.what.as_str()).collect();
    assert_eq!(
        evidence,
        [
            "index entries read for each row fetched",
            "instructions in user mode",
            "CPU time of the sessions",
            "table blocks touched"
        ]
    );
}

#[test]
fn few_more_blocks_do_not_explain_many_more_instructions() {
    let found = explained(&spec((0.8, 1.3), 230.0, common::blocks(TEST, 100.0, 103.0)), 2);
    let causes = causes(&found);
    assert_eq!(causes[0], (Word::MoreWork, Cause::Instructions), "{found:?}");
    assert!(causes.contains(&(Word::MoreWork, Cause::BlocksTouched)), "{found:?}");
}

#[test]
fn same_instructions_in_more_time_are_slower_work() {
    // Counted by the processor in the same windows.
    let found = explained(&Spec { counted: false, ..spec((0.9, 1.0), 207.0, vec![]) }, 2);
    assert_eq!(causes(&found)[0], (Word::SlowerWork, Cause::Cycles), "{found:?}");
    let split = found.decomposition.unwrap();
    let instructions = &split.parts[0].of[0];
    assert!(instructions.change_us_per_op.abs() < 0.1, "{instructions:?}");
}

/// A count saw 44 times the instructions but the windows took 5.6 times the CPU time, and vice versa.
#[test]
fn count_that_contradicts_the_windows_gives_no_speed_for_writes() {
    for (rate, work, session_us) in
        [(0.23, 44.0, 1008.0), (0.9, 1.0, 207.0), (0.9, 0.9, 207.0), (1.1, 1.1, 160.0)]
    {
        let found = explained(&spec((rate, work), session_us, vec![]), 2);
        let is_speed = |word: Word| matches!(word, Word::SlowerWork | Word::FasterWork);
        assert!(!causes(&found).iter().any(|(word, _)| is_speed(*word)), "{found:?}");
        let instructions = common::finding(&found, Cause::Instructions);
        assert_eq!(instructions.is_some(), work > 1.1, "{found:?}");
        if let Some(first) = instructions {
            // Verdicts tell the ratios.
            assert!(first.weight > 0.9 && first.sentence.contains("against 300,005 on old"), "{found:?}");
            assert!(first.sentence.contains("us of CPU, against 180 on old"), "{found:?}");
        }
    }
}

/// What changed by 2 % does not explain 28 % of the CPU time.
#[test]
fn count_of_hardly_less_work_accounts_for_as_much_of_the_time() {
    let found = explained(&spec((1.25, 0.98), 130.0, vec![]), 2);
    assert_eq!(causes(&found)[0], (Word::NotExplained, Cause::CpuTime), "{found:?}");
    assert!(found.findings[0].sentence.contains("130 us of CPU per query, against 180 on old"), "{found:?}");
    let counted = common::finding(&found, Cause::Instructions).unwrap();
    assert!(counted.weight < 0.2 && !counted.sentence.contains("us of CPU"), "{counted:?}");
}

/// A small pool: 3.9 times the instructions in a count, 2.8 times the CPU time. That is not faster work.
#[test]
fn count_of_different_work_gives_no_speed_for_reads() {
    let reads = "point-query";
    let times = common::figure(reads, Observed::SessionCpuUs, 18.0, 50.0);
    let client = common::figure(reads, Observed::Metric("client_cpu_us"), 4.0, 4.0);
    let made = Spec {
        effects: vec![(2, reads, 0.4, 3.9)],
        extra: times.into_iter().chain(client).collect(),
        ..Spec::default()
    };
    let found = common::explained(&made, reads, 2);
    let words: Vec<Word> = found.findings.iter().map(|finding| finding.word).collect();
    assert_eq!(words, [Word::MoreWork, Word::MoreWaiting], "{found:?}");
    assert!(found.findings[0].sentence.contains("us of CPU, against 18 on old"), "{found:?}");
}

#[test]
fn fsyncs_are_waiting_only_if_clients_wait() {
    let fsyncs = || {
        vec![
            figure(Observed::Metric("server_fsyncs"), 0.2, 1.0),
            figure(Observed::Counter("pg_stat_io", "client backend/wal/normal", "fsyncs"), 0.2, 1.0),
        ]
    };
    let waiting = explained(&spec((0.5, 1.0), 180.0, fsyncs()), 2);
    assert_eq!(causes(&waiting), [(Word::MoreWaiting, Cause::Fsync)], "{waiting:?}");
    assert!(waiting.findings[0].sentence.contains("clients wait 250 us longer"), "{waiting:?}");
    assert!(waiting.findings[0].weight > 0.9, "{waiting:?}");
    let working = explained(&spec((1.0, 1.0), 180.0, fsyncs()), 2);
    assert_eq!(causes(&working), [(Word::MoreWork, Cause::Fsync)], "{working:?}");
}

#[test]
fn small_pool_explains_cpu_time_and_waiting_only_if_misses_suffice() {
    let misses = |base: f64, arm: f64| {
        vec![
            figure(counter(TABLES_IO, "heap_blks_hit"), 10.0, 10.0 - arm + base),
            figure(counter(TABLES_IO, "heap_blks_read"), base, arm),
            figure(counter(TABLES_IO, "idx_blks_hit"), 3.0, 3.0),
            figure(counter(TABLES_IO, "idx_blks_read"), 0.0, 0.0),
        ]
    };
    let found = explained(&spec((0.5, 1.0), 300.0, misses(0.0, 8.0)), 2);
    let first = &found.findings[0];
    assert_eq!((first.word, first.cause), (Word::MoreWork, Cause::BufferMisses), "{found:?}");
    assert!(
        first.sentence.contains("8 blocks into shared buffers per query, none on old"),
        "{}",
        first.sentence
    );
    assert!(first.sentence.contains("clients wait"), "{}", first.sentence);
    let few = explained(&spec((0.8, 1.3), 230.0, misses(0.0, 0.1)), 2);
    assert_eq!(causes(&few)[0], (Word::MoreWork, Cause::Instructions), "{few:?}");
}

#[test]
fn background_process_is_named_from_a_minimum_share() {
    let roles = |writer_us: f64| {
        vec![
            figure(Observed::Metric("server_role.wal_writer_us"), 1.0, writer_us),
            figure(Observed::Metric("server_role.checkpointer_us"), 0.1, 0.1),
        ]
    };
    let background = |found: &Explanation| {
        common::finding(found, Cause::Background).map(|finding| finding.sentence.clone())
    };
    let busy = explained(&spec((0.9, 1.0), 180.0, roles(20.0)), 2);
    let sentence = background(&busy).unwrap_or_default();
    assert!(sentence.contains("us of CPU per query in the wal writer"), "{busy:?}");
    assert!(busy.decomposition.unwrap().background.unwrap().change_us_per_op > 18.0);
    let idle = explained(&spec((0.9, 1.0), 180.0, roles(3.0)), 2);
    assert_eq!(background(&idle), None, "2 us beside 250 are nothing: {idle:?}");
}

/// What is little of an operation's time, most of which is waiting, may be all that changed of its CPU time.
#[test]
fn a_change_of_cpu_time_is_told_of_the_processes_whose_it_is() {
    let extra = vec![
        figure(Observed::Metric("server_cpu_us"), 187.0, 181.5),
        figure(Observed::Metric("server_role.wal_writer_us"), 6.0, 1.5),
    ];
    let spec = Spec { counted: false, ..spec((1.0, 1.0), 179.0, extra) };
    let found = common::explained_after(&spec, TEST, 2, |run| {
        for window in &mut run.windows {
            window.metrics.remove("server_instructions_user");
        }
    });
    assert_eq!(causes(&found), [(Word::LessCpuTime, Cause::Background)], "{found:?}");
}

/// Whoever saves most of the CPU time is told first, and no process that does is left out.
#[test]
fn sessions_and_processes_that_save_cpu_time_come_by_their_size() {
    let found = |session_us: f64| {
        let extra = vec![
            figure(Observed::Metric("server_cpu_us"), 180.0 + 22.0, session_us + 3.0),
            figure(Observed::Metric("server_role.walsummarizer_us"), 6.0, 1.0),
            figure(Observed::Metric("server_role.wal_writer_us"), 16.0, 2.0),
        ];
        let spec = Spec { counted: false, ..spec((1.0, 1.0), session_us, extra) };
        common::explained_after(&spec, TEST, 2, |run| {
            for window in &mut run.windows {
                window.metrics.remove("server_instructions_user");
            }
        })
    };
    let (processes, sessions) =
        ((Word::LessCpuTime, Cause::Background), (Word::NotExplained, Cause::CpuTime));
    let [few, many] = [170.0, 140.0].map(found);
    assert_eq!(causes(&few)[..2], [processes, sessions], "{few:?}");
    assert_eq!(causes(&many)[..2], [sessions, processes], "{many:?}");
    let sentence = &few.findings[0].sentence;
    let places = ["the wal writer", "the walsummarizer"].map(|name| sentence.find(name));
    assert!(places[0].is_some() && places[0] < places[1], "{sentence}");
}

#[test]
fn checkpoint_is_named_with_the_images_that_it_causes() {
    let checkpoints = |per_query: f64| {
        vec![
            figure(Observed::Counter("pg_stat_checkpointer", "", "num_timed"), 0.0, per_query),
            figure(Observed::Counter("pg_stat_checkpointer", "", "num_requested"), 0.0, 0.0),
            figure(Observed::Counter("pg_stat_wal", "", "wal_fpi"), 0.0, 0.05),
            figure(Observed::Metric("server_wal_bytes"), 540.0, 900.0),
        ]
    };
    let found = explained(&spec((1.0, 1.0), 180.0, checkpoints(1e-4)), 2);
    assert_eq!(causes(&found), [(Word::MoreWork, Cause::Wal)], "{found:?}");
    let sentence = &found.findings[0].sentence;
    assert!(sentence.contains("0.05 full-page images per query (base: 0)"), "{sentence}");
    assert!(sentence.contains("checkpoints in the windows: 10 on new, 0 on old"), "{sentence}");
}

#[test]
fn unaccounted_time_is_reported_as_unexplained() {
    // Without session times there is no split; the rate changes, and nothing else does.
    let alone = Spec { effects: vec![(2, TEST, 0.8, 1.0)], ..Spec::default() };
    let found = explained(&alone, 2);
    assert_eq!(causes(&found), [(Word::NotExplained, Cause::Unknown)], "{found:?}");
    assert!(found.remarks.iter().any(|remark| remark.contains("not split")), "{found:?}");
}

/// CPU time of the client that varies by a fifth hides how long clients wait in all, but not a wait that was measured.
#[test]
fn waiting_that_was_measured_is_named_though_all_waiting_together_is_noise() {
    let spec = |queued: [Extra; 3]| Spec {
        effects: vec![(2, TEST, 0.95, 1.0)],
        extra: [
            figure(Observed::SessionCpuUs, 30.0, 30.0),
            figure(Observed::Noisy("client_cpu_us"), 120.0, 120.0),
            queued,
        ]
        .concat(),
        block_sd: 0.02,
        blocks: 8,
        ..Spec::default()
    };
    let steady = explained(&spec(figure(Observed::Metric("server_backends_queued_us"), 5.0, 16.0)), 2);
    assert_eq!(causes(&steady), [(Word::MoreWaiting, Cause::CpuQueue)], "{steady:#?}");
    let sentence = &steady.findings[0].sentence;
    assert!(sentence.contains("11 us more per query waiting for a CPU than old"), "{sentence}");

    let unsteady = explained(&spec(figure(Observed::Noisy("server_backends_queued_us"), 75.0, 88.0)), 2);
    assert_eq!(causes(&unsteady), [(Word::NotExplained, Cause::Unknown)], "{unsteady:#?}");
    let sentence = &unsteady.findings[0].sentence;
    assert!(sentence.contains("; most of it is waiting for a CPU, +"), "{sentence}");
    assert!(sentence.contains("us, which is within noise"), "{sentence}");
}

#[test]
fn what_most_blocks_lack_is_no_figure() {
    let read = "server_read_bytes";
    let spec = spec((0.9, 1.1), 200.0, vec![figure(Observed::Metric(read), 100.0, 9_000.0)]);
    let reads_of_blocks = |blocks: u32| {
        let found = common::explained_after(&spec, TEST, 2, |run| {
            let windows = run.windows.iter_mut();
            let others = windows.filter(|window| window.placement.is_some_and(|at| at.block > blocks));
            others.for_each(|window| {
                window.metrics.remove(read);
            });
        });
        common::finding(&found, Cause::Reads).is_some()
    };
    assert_eq!([5, 3, 2].map(reads_of_blocks), [true, true, false]);
}

/// The queue for a CPU grew by 55 us, all waiting by 42.
#[test]
fn a_part_of_waiting_is_not_more_than_the_whole() {
    let of_queue = |us: f64| {
        let queued = figure(Observed::Metric("server_backends_queued_us"), 5.0, us);
        let found = explained(&spec((0.8, 1.0), 200.0, vec![queued]), 2);
        common::finding(&found, Cause::CpuQueue).map_or_else(String::new, |one| one.sentence.clone())
    };
    assert!(of_queue(60.0).ends_with("; all of it for a CPU"), "{}", of_queue(60.0));
    assert!(of_queue(40.0).ends_with("; 35 us of it for a CPU"), "{}", of_queue(40.0));
}
