//! A run that was cut off: when, in what, and what a resume keeps of it.

use crate::human;
use rqps_model::counted;
use rqps_store::{ActionRecord, Block, BlockStatus, CUT_OFF, Run, Status};

/// Why a run is in its state. Of one that was cut off also when, and in what: of a schedule in the action that is
/// `next`. Whoever killed rqps, nobody could write that down.
pub fn reason(run: &Run, next: Option<&str>) -> Option<String> {
    let written = &run.status;
    let how = match (run.state(), written.status, &written.reason) {
        (Status::Interrupted, Status::Running, _) => {
            format!(
                "rqps was killed, or the host went down, at {} UTC or later",
                human::utc(last_sign_ms(run))
            )
        }
        (Status::Interrupted, _, reason) => {
            let by = reason.as_deref().unwrap_or_default();
            format!("interrupted {by} at {} UTC", human::utc(written.changed_at_ms))
        }
        (_, _, reason) => return reason.clone(),
    };
    let what = match run.meta.protocol.as_str() {
        "isolated" => Some(in_blocks(run)),
        _ => next.map(|next| format!("in {next}")),
    };
    Some([how].into_iter().chain(what).collect::<Vec<_>>().join(", "))
}

/// `in block 3, after new point-query`, `before block 1`
fn in_blocks(run: &Run) -> String {
    match cut_off_block(run) {
        Some(block) => {
            let of_block = |action: &&ActionRecord| action.started_at_ms >= block.started_at_ms;
            let after = run.scheduled().filter(of_block).max_by_key(|action| action.finished_at_ms);
            let after = after.map(|last| format!(", after {} {}", last.arm, action_name(last)));
            format!("in block {}{}", block.number, after.unwrap_or_default())
        }
        None => format!("before block {}", last_block(run).map_or(0, |block| block.number) + 1),
    }
}

fn last_block(run: &Run) -> Option<&Block> {
    run.blocks.iter().max_by_key(|block| block.number)
}

/// The block that was under way; an earlier one that was cut off has been measured again.
fn cut_off_block(run: &Run) -> Option<&Block> {
    let is_cut_off =
        |block: &&Block| block.status == BlockStatus::Running || block.note.as_deref() == Some(CUT_OFF);
    last_block(run).filter(is_cut_off)
}

/// When the run wrote something last.
fn last_sign_ms(run: &Run) -> i64 {
    let actions = run.scheduled().map(|action| action.finished_at_ms);
    let blocks = run.blocks.iter().map(|block| block.finished_at_ms.unwrap_or(block.started_at_ms));
    let progress = run.folder.last_progress().map(|progress| progress.at_ms);
    actions.chain(blocks).chain(progress).fold(run.status.changed_at_ms, i64::max)
}

/// An action as tables name it.
pub fn action_name(action: &ActionRecord) -> &str {
    if action.step.is_empty() { &action.kind } else { &action.step }
}

/// What a run that did not end has measured, and what a resume does with the rest.
pub fn kept(run: &Run) -> Option<String> {
    if run.meta.protocol == "isolated" {
        let done = run.blocks_done();
        return Some(match (done, run.loads.is_empty()) {
            (0, true) => "nothing yet: no block was measured to its end".to_owned(),
            (0, false) => "the loads that were made; no block was measured to its end".to_owned(),
            _ if cut_off_block(run).is_some() => {
                format!("{}; the one that was cut off is measured again", counted(done, "block"))
            }
            _ => counted(done, "block"),
        });
    }
    let (done, all) = (run.scheduled().count(), run.meta.actions_total);
    (all > 0).then(|| format!("{done} of {all} actions; the one that was cut off is done again"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rqps_store::RunFolder;
    use rqps_verdicts::testing::{Spec, write_run};

    #[test]
    fn a_run_that_was_cut_off_says_when_and_in_what() {
        let dir = tempfile::tempdir().unwrap();
        let folder = write_run(dir.path(), &Spec { blocks: 2, ..Spec::default() }).unwrap();
        let as_written = |status, why: Option<&str>| {
            RunFolder::open_for_writing(&folder).unwrap().set_status(status, why).unwrap();
            RunFolder::open(&folder).unwrap()
        };
        let killed = "rqps was killed, or the host went down, at ";
        let mut run = as_written(Status::Running, None);
        run.status.changed_at_ms = 0;
        let text = reason(&run, None).unwrap();
        // The last block ended later than the run's state was written.
        assert!(text.starts_with(killed) && text.ends_with(" UTC or later, before block 3"), "{text}");
        assert!(!text.contains("1970-01-01"), "{text}");
        run.blocks.last_mut().unwrap().status = BlockStatus::Running;
        let text = reason(&run, None).unwrap();
        assert!(text.contains(" UTC or later, in block 2, after "), "{text}");
        run.meta.protocol = "sequence".to_owned();
        let text = reason(&run, Some("new load")).unwrap();
        assert!(text.ends_with(" or later, in new load"), "{text}");
        let mut run = as_written(Status::Interrupted, Some("by the user"));
        run.blocks.last_mut().unwrap().note = Some(CUT_OFF.to_owned());
        let text = reason(&run, None).unwrap();
        assert!(
            text.starts_with("interrupted by the user at 2") && text.contains(" UTC, in block 2"),
            "{text}"
        );
        let run = as_written(Status::Complete, Some("the 3 blocks of its plan are done"));
        assert_eq!(reason(&run, None).as_deref(), Some("the 3 blocks of its plan are done"));
        assert_eq!(reason(&as_written(Status::Complete, None), None), None);
    }
}
