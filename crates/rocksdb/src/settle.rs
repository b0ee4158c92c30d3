//! Settles a database: memtables written, level 0 compacted, and no compaction left. The shape that steps start from
//! then depends on the entries and the release, not on how far compactions happened to be.

use std::time::{Duration, Instant};

use rqps_executor::{Debt, Error, Result, SettleTick};
use rqps_model::{Settle, SettleCondition};
use rqps_rocksdb_engine::protocol::{Request, Shape};

use crate::connection::Connection;

/// Pause between two looks at the tree.
const POLL: Duration = Duration::from_millis(100);

/// The tree must be at rest for this long: a finished compaction may cause the next one.
const AT_REST: Duration = Duration::from_millis(300);

const ACTIONS: [&str; 4] = ["flush", "wait", "compact level 0", "wait"];

struct Settling<'a, 't> {
    connection: Connection,
    debt: &'a Debt<'a>,
    start: Instant,
    tick: &'a mut SettleTick<'t>,
}

/// See the module; `None` if `tick` ended it early.
pub(crate) fn settle(
    connection: Connection,
    debt: &Debt<'_>,
    tick: &mut SettleTick<'_>,
) -> Result<Option<Settle>> {
    let mut settling = Settling { connection, debt, start: Instant::now(), tick };
    let before = settling.shape()?;
    settling.ask(&Request::Flush, "flush")?;
    if !settling.wait("wait for compactions", |shape| !shape.is_busy())? {
        return Ok(None);
    }
    settling.ask(&Request::CompactLevel0(true), "compact level 0")?;
    let waited = settling.wait("compact level 0", |shape| !shape.is_busy() && shape.level0_files() == 0);
    settling.ask(&Request::CompactLevel0(false), "compact level 0")?;
    if !waited? || !settling.wait("wait for compactions", |shape| !shape.is_busy())? {
        return Ok(None);
    }
    let after = settling.shape()?;
    let conditions = conditions(&before, &after);
    Ok(Some(Settle {
        actions: ACTIONS.map(str::to_owned).to_vec(),
        reached: conditions.iter().all(|condition| condition.after <= condition.target),
        conditions,
        elapsed_us: settling.start.elapsed().as_micros() as u64,
        cap_us: debt.cap.as_micros() as u64,
    }))
}

impl Settling<'_, '_> {
    fn failed(&self, doing: &str) -> impl FnOnce(rqps_wire::Error) -> Error + use<> {
        let (arm, doing) = (self.debt.arm.to_owned(), doing.to_owned());
        move |source| Error::Session { arm, doing, source: Box::new(source) }
    }

    fn ask(&mut self, request: &Request, doing: &'static str) -> Result<()> {
        let failed = self.failed(doing);
        self.connection.ask(request, doing).map(drop).map_err(failed)
    }

    fn shape(&mut self) -> Result<Shape> {
        let failed = self.failed("settling");
        self.connection.shape().map_err(failed)
    }

    /// Waits until the tree is as wanted and stays so, or the cap is reached; false if `tick` ended it.
    fn wait(&mut self, what: &'static str, wanted: impl Fn(&Shape) -> bool) -> Result<bool> {
        let mut since = None;
        while self.start.elapsed() < self.debt.cap {
            if !(self.tick)(what, self.start.elapsed().as_secs_f64()) {
                return Ok(false);
            }
            match wanted(&self.shape()?) {
                true if since.get_or_insert_with(Instant::now).elapsed() >= AT_REST => break,
                true => {}
                false => since = None,
            }
            std::thread::sleep(POLL);
        }
        Ok(true)
    }
}

fn conditions(before: &Shape, after: &Shape) -> Vec<SettleCondition> {
    let condition = |name: &str, before: f64, after: f64, target: f64| SettleCondition {
        name: name.to_owned(),
        before,
        after,
        target,
    };
    let jobs = |shape: &Shape| {
        (shape.running_compactions + shape.running_flushes + u64::from(shape.is_pending)) as f64
    };
    let level0 = |shape: &Shape| shape.level0_files() as f64;
    vec![
        condition("level0_files", level0(before), level0(after), 0.0),
        condition("compactions_and_flushes", jobs(before), jobs(after), 0.0),
    ]
}
