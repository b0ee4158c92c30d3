//! Virtual users of TPROC-C: each draws transactions and runs them on its session, by stored procedures or statement
//! by statement. Phases, quotas and figures are those of any client.

mod procedures;
mod statements;

use crate::clock::Moment;
use crate::event::Tallies;
use crate::repeated::Repeated;
use crate::result::Marks;
pub use crate::users::Users;
use procedures::Procedures;
use rqps_model::random::Stream;
use rqps_wire::{Error, Outcome, Session};
use rqps_workloads::Dialect;
use rqps_workloads::tproc_c::Transaction;
use rqps_workloads::tproc_c::inputs::{Inputs, VirtualUser, waits_s};
use rqps_workloads::tproc_c::schema::Routines;
use std::time::Duration;

/// How a server runs stored code.
fn routines_of<S: Session>(session: &mut S, dialect: Dialect) -> Result<Routines, Error> {
    if dialect == Dialect::Mysql {
        return Ok(Routines::Procedures);
    }
    Ok(Routines::of_version(session.number(Routines::VERSION_SQL)?))
}

/// A session that runs the transactions of a virtual user.
pub struct Terminal<S: Session> {
    session: S,
    user: VirtualUser,
    waits: bool,
    /// None: the client sends each statement.
    procedures: Option<Procedures<S>>,
    /// The kind of the transaction in work.
    current: Transaction,
    /// The kind of the last finished transaction.
    last: Option<Transaction>,
    committed: Marks,
}

impl<S: Session> Terminal<S> {
    /// Prepares every statement.
    ///
    /// # Errors
    /// If the server rejects one.
    pub fn new(mut session: S, dialect: Dialect, users: Users, user: VirtualUser) -> Result<Self, Error> {
        let procedures = users.stored_procedures.then(|| Procedures::prepare(&mut session, dialect));
        Ok(Self {
            user,
            waits: users.keying_and_think_time,
            procedures: procedures.transpose()?,
            session,
            current: Transaction::NewOrder,
            last: None,
            committed: Marks::default(),
        })
    }

    /// Draws a transaction and runs it; returns its inputs once the server has answered.
    ///
    /// # Errors
    /// If the server reports an error, or the connection is lost.
    pub fn transact(&mut self, stream: &mut Stream) -> Result<(Inputs, Outcome), Error> {
        let inputs = self.user.draw(stream);
        self.current = inputs.transaction;
        let outcome = match &mut self.procedures {
            Some(procedures) => procedures.run(&mut self.session, &inputs)?,
            None => statements::run(&mut self.session, &inputs)?,
        };
        let [new_orders, paid, deliveries] = &mut self.committed;
        match inputs.transaction {
            Transaction::NewOrder => *new_orders += u64::from(!inputs.rolls_back()),
            Transaction::Payment => *paid += u64::from(inputs.amount),
            Transaction::Delivery => *deliveries += 1,
            Transaction::StockLevel | Transaction::OrderStatus => {}
        }
        Ok((inputs, outcome))
    }

    /// What was committed: new orders, the sum of payments, and deliveries.
    pub fn committed(&self) -> Marks {
        self.committed
    }

    /// Ends the transaction that a failed call left open.
    ///
    /// # Errors
    /// If the connection is lost.
    pub fn roll_back(&mut self) -> Result<(), Error> {
        match &self.procedures {
            Some(procedures) => procedures.roll_back(&mut self.session),
            None => self.session.simple("ROLLBACK").map(|_| ()),
        }
    }
}

impl<S: Session> Repeated for Terminal<S> {
    fn backend_id(&self) -> u32 {
        self.session.backend_id()
    }

    fn run(&mut self, sql: &str) -> Result<(), Error> {
        self.session.simple(sql).map(|_| ())
    }

    /// The think time after the last transaction, and the keying of the next. Draws from a copy of the stream.
    fn wait(&mut self, stream: &Stream) -> Duration {
        /// Longest think time, as a multiple of its mean.
        const THINK_MAX: f64 = 10.0;
        if !self.waits {
            return Duration::ZERO;
        }
        let mut stream = stream.clone();
        let (keying, _) = waits_s(self.user.draw(&mut stream).transaction);
        let think = self.last.map_or(0.0, |last| {
            let exponential = -(1.0 - stream.unit()).ln();
            waits_s(last).1 * exponential.min(THINK_MAX)
        });
        Duration::from_secs_f64(keying + think)
    }

    fn event(&mut self, stream: &mut Stream, tallies: &mut Tallies, sent: Moment) -> Result<Moment, Error> {
        let (inputs, outcome) = self.transact(stream)?;
        let done = Moment::now();
        let kind = if inputs.rolls_back() { Transaction::ALL.len() } else { inputs.transaction as usize };
        self.last = Some(inputs.transaction);
        let tally = &mut tallies.statements[kind];
        tally.answers.count += 1;
        tally.answers.rows += outcome.rows;
        tally.sent_ns.saturating_record(done.ns_since(sent));
        tallies.rows += outcome.rows;
        tallies.changed_rows += outcome.affected;
        Ok(done)
    }

    fn roll_back(&mut self, tallies: &mut Tallies) -> Result<(), Error> {
        tallies.statements[self.current as usize].retries += 1;
        Terminal::roll_back(self)
    }

    /// New orders, the sum of payments, and deliveries.
    fn marks(&self) -> Marks {
        self.committed
    }
}
