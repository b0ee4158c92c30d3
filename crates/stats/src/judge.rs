//! From an experiment to its verdicts.

use crate::experiment::{Archive, Experiment, Misshapen};
use crate::rules::Rules;
use crate::verdict::Judgement;

/// Judges every arm of every test against base.
///
/// # Errors
/// Where the data or the rules contradict themselves.
pub fn judge(experiment: &Experiment, rules: &Rules, _archive: &Archive) -> Result<Judgement, Misshapen> {
    experiment.check()?;
    rules.check()?;
    Ok(Judgement { verdicts: Vec::new(), priors: Vec::new(), variances: Vec::new() })
}
