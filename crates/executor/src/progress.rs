//! Who watches a run: the executor tells, the command line draws.

/// Told of a run's progress. Calls come from the thread that runs the schedule.
pub trait Progress {
    /// An action begins: its place in the schedule, the arm's name and the action's.
    fn begins(&mut self, seq: u32, arm: &str, action: &str);
    /// It goes on: what it is doing, for how long, and the rate so far with what it counts in a second,
    /// where it has one.
    fn goes_on(&mut self, doing: &str, elapsed_s: f64, rate: Option<(f64, &str)>);
    /// It has ended, with its result in a few words.
    fn ends(&mut self, seq: u32, arm: &str, action: &str, result: &str);
    /// A stage of a run without a fixed number of actions is reached.
    fn says(&mut self, text: &str);
    /// How much of such a run is behind, from 0 to 1, and how many seconds are probably left.
    fn stands(&mut self, share: f64, seconds_left: Option<f64>);
    /// Something a user should know.
    fn note(&mut self, text: &str);
}
