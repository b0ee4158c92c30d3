//! What a client repeats on its session: the events of a test, or the transactions of a virtual user.

use crate::clock::Moment;
use crate::event::Tallies;
use crate::result::Marks;
use rqps_model::random::Stream;
use rqps_wire::Error;
use std::time::Duration;

pub(crate) trait Repeated {
    /// The session's id on the server.
    fn backend_id(&self) -> u32;

    /// Runs SQL that is not counted.
    fn run(&mut self, sql: &str) -> Result<(), Error>;

    /// Time to wait before the next event, in a closed loop too.
    fn wait(&mut self, _stream: &Stream) -> Duration {
        Duration::ZERO
    }

    /// Runs one event that starts at `sent`; returns when its last answer was complete. On an error the caller rolls
    /// back and may retry the event with the stream reset.
    fn event(&mut self, stream: &mut Stream, tallies: &mut Tallies, sent: Moment) -> Result<Moment, Error>;

    /// Rolls back the transaction of a failed event, if one is open. The event will be retried.
    fn roll_back(&mut self, tallies: &mut Tallies) -> Result<(), Error>;

    /// What its events left in the tables.
    fn marks(&self) -> Marks {
        Marks::default()
    }
}
