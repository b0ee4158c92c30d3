//! Measures the host before a run and after it.

use crate::error::Result;
use crate::progress::Progress;
use crate::run::Execution;
use rqps_plan::Protocol;
use rqps_store::Moment;
use rqps_verdicts::{WindowOrder, host_changes, host_doubt};

impl Execution {
    /// Measures and records a certificate, unless the plan leaves it out or the one before the run exists. Says what
    /// speaks against this host, and what changed.
    pub(crate) fn certify(&mut self, moment: Moment, progress: &mut dyn Progress) -> Result<()> {
        if !self.plan().certificate || (moment == Moment::Before && self.writer.has_certificate(moment)?) {
            return Ok(());
        }
        progress
            .stage("measuring the host for a few seconds (`certificate = false` in a plan turns that off)");
        let figures = match self.measure_host() {
            Ok(figures) => figures,
            Err(error) => {
                progress.note(&format!("the host's certificate is missing: {}", error.short_text()));
                return Ok(());
            }
        };
        self.writer.put_certificate(moment, &figures)?;
        match moment {
            Moment::Before => {
                if let Some(doubt) = host_doubt(&figures, self.window_order()) {
                    progress.note(&format!("this host is {doubt}"));
                }
            }
            Moment::After => {
                let before = self.writer.run()?.certificates.before;
                for change in host_changes(&before, &figures) {
                    let text = change.text("before", "after");
                    progress.note(&format!("the host changed during the run: {text}"));
                }
            }
        }
        Ok(())
    }

    fn window_order(&self) -> WindowOrder {
        let plan = self.plan();
        if self.measures_places() {
            return WindowOrder::OfDirectories;
        }
        let mut steps = plan.workload.steps.iter().filter_map(|name| plan.step(name));
        let can = plan.work.has_independent_tests() && steps.all(|step| self.driver().takes_turns(&step));
        match (can, plan.protocol) {
            (false, _) => WindowOrder::OneAfterTheOther,
            (true, Protocol::Sequence) if !self.several_passes() => WindowOrder::CouldBeInTurns,
            (true, _) => WindowOrder::InTurns,
        }
    }
}
