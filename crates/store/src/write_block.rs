//! Writes blocks: their start and end, canaries, and the fixed work of tests.

use rqps_model::HostFigure;
use rusqlite::params;

use crate::block::{Block, BlockStatus, Canary, Moment, TestWork};
use crate::error::{Error, Result};
use crate::folder::now_ms;
use crate::put::Put;
use crate::write_observation::json;
use crate::writer::RunWriter;

impl RunWriter {
    /// Records a block with the draws for its arms. The arms must be recorded before it, its observations after it.
    /// Numbers are never reused: an existing one is an error.
    pub fn begin_block(&mut self, block: &Block) -> Result<()> {
        let ids: Vec<i64> =
            block.arms.iter().map(|arm| self.arm_id(&arm.arm)).collect::<Result<Vec<i64>>>()?;
        self.transact(|transaction| {
            transaction.insert(
                "blocks",
                "number, seed, status, note, started_at_ms, finished_at_ms, restored_by, tests",
                params![
                    block.number,
                    block.seed.to_string(),
                    block.status,
                    block.note,
                    block.started_at_ms,
                    block.finished_at_ms,
                    block.restored_by,
                    json(&block.tests)?
                ],
            )?;
            for (arm, arm_id) in block.arms.iter().zip(ids) {
                transaction.insert(
                    "block_arms",
                    "block, arm_id, start_position, side, cpus, data_seq, copy",
                    params![
                        block.number,
                        arm_id,
                        arm.start_position,
                        arm.side,
                        arm.cpus,
                        arm.data_seq,
                        arm.copy
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Records the end of a block now, with the reason if it is void.
    pub fn finish_block(&mut self, number: u32, status: BlockStatus, note: Option<&str>) -> Result<()> {
        let changed = self.transact(|transaction| {
            transaction.put(
                "UPDATE blocks SET status = ?2, note = coalesce(?3, note), finished_at_ms = ?4 WHERE number = ?1",
                params![number, status, note, now_ms()],
            )
        })?;
        if changed == 0 { Err(Error::UnknownBlock(number)) } else { Ok(()) }
    }

    /// Records canaries of blocks that have begun, or replaces their values.
    pub fn put_canaries(&mut self, canaries: &[Canary]) -> Result<()> {
        self.transact(|transaction| {
            for canary in canaries {
                transaction.put(
                    "INSERT INTO canaries (block, moment, name, value) VALUES (?1, ?2, ?3, ?4) \
                     ON CONFLICT (block, moment, name) DO UPDATE SET value = excluded.value",
                    params![canary.block, canary.moment, canary.name, canary.value],
                )?;
            }
            Ok(())
        })
    }

    /// Records a certificate of the host, or replaces it.
    pub fn put_certificate(&mut self, moment: Moment, figures: &[HostFigure]) -> Result<()> {
        self.transact(|transaction| {
            transaction.put("DELETE FROM certificates WHERE moment = ?1", [moment])?;
            figures.iter().try_for_each(|figure| {
                transaction.insert(
                    "certificates",
                    "moment, quantity, value, low, high",
                    params![moment, figure.quantity.key(), figure.value, figure.low, figure.high],
                )
            })
        })
    }

    /// Whether there is a certificate of this moment.
    pub fn has_certificate(&self, moment: Moment) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT 1 FROM certificates WHERE moment = ?1)";
        let found = self.connection.query_row(sql, [moment], |row| row.get(0));
        found.map_err(Error::sql(&self.folder().db_path()))
    }

    /// Records the fixed work of a test, or replaces it.
    pub fn put_work(&mut self, work: &TestWork) -> Result<()> {
        self.transact(|transaction| {
            transaction.put(
                "INSERT INTO works (test, warmup_events, window_events, slice_events, count_events) \
                 VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (test) DO UPDATE SET warmup_events = excluded.warmup_events, \
                 window_events = excluded.window_events, slice_events = excluded.slice_events, \
                 count_events = excluded.count_events",
                params![
                    work.test,
                    work.warmup_events as i64,
                    work.window_events as i64,
                    work.slice_events as i64,
                    work.count_events as i64
                ],
            )?;
            Ok(())
        })
    }

    /// The number of the last block that has begun, whatever its status.
    pub fn last_block(&self) -> Result<Option<u32>> {
        self.query_value("SELECT max(number) FROM blocks")
    }

    /// The first `seq` above all ever used, for runs that create their schedule as they go.
    pub fn next_seq(&self) -> Result<u32> {
        self.query_value(
            "SELECT 1 + max(coalesce((SELECT max(seq) FROM actions), -1), \
             coalesce((SELECT max(seq) FROM attempts), -1))",
        )
    }

    /// Appends a parameter of the method, or replaces its value.
    pub fn add_method(&mut self, name: &str, value: &str) -> Result<()> {
        self.transact(|transaction| {
            transaction.put(
                "INSERT INTO method (position, name, value) \
                 VALUES ((SELECT coalesce(max(position), -1) + 1 FROM method), ?1, ?2) \
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                params![name, value],
            )?;
            Ok(())
        })
    }

    fn query_value<T: rusqlite::types::FromSql>(&self, sql: &str) -> Result<T> {
        let value = self.connection.query_row(sql, [], |row| row.get(0));
        value.map_err(Error::sql(&self.folder().db_path()))
    }
}
