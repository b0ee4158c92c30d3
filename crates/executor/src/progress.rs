//! The interface by which a run reports its progress.

/// Receives a run's progress, on the thread that executes the schedule.
pub trait Progress {
    /// Actions start, of several arms if they take turns: their numbers in the schedule, the names of arms, the action.
    fn action_started(&mut self, seqs: &[u32], arms: &str, action: &str);
    /// What the action is doing, for how long, and its rate so far with the unit, if it has one.
    fn action_progress(&mut self, doing: &str, elapsed_s: f64, rate: Option<(f64, &str)>);
    /// An action has finished, with a short result.
    fn action_finished(&mut self, seq: u32, arm: &str, action: &str, result: &str);
    /// A run without a fixed number of actions enters a stage.
    fn stage(&mut self, text: &str);
    /// The share of such a run that is done, from 0 to 1, and the estimated seconds left.
    fn overall(&mut self, share: f64, seconds_left: Option<f64>);
    /// Blocks that count so far, and the most that the run may measure.
    fn blocks(&mut self, done: u32, most: u32);
    /// Something the user should know.
    fn note(&mut self, text: &str);
}
