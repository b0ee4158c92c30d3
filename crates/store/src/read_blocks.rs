//! Queries that read blocks, their canaries, placements, counts and fixed work.

use std::collections::BTreeMap;

use rqps_model::HostFigure;
use rusqlite::Connection;

use crate::block::{Block, BlockArm, Canary, Count, Moment, Placement, TestWork};
use crate::meta::Certificates;
use crate::read_rows::{count, grouped, json, rows, seed};
use crate::text_enum::word;

pub(crate) fn read_blocks(connection: &Connection) -> rusqlite::Result<Vec<Block>> {
    let mut arms: BTreeMap<u32, Vec<_>> = grouped(
        connection,
        "SELECT b.block, m.name, b.start_position, b.side, b.cpus, b.data_seq, b.copy FROM block_arms b JOIN arms m ON m.id = b.arm_id \
         ORDER BY b.block, b.arm_id",
        |row| {
            let arm = BlockArm {
                arm: row.get(1)?,
                start_position: row.get(2)?,
                side: row.get(3)?,
                cpus: row.get(4)?,
                data_seq: row.get(5)?,
                copy: row.get(6)?,
            };
            Ok((row.get(0)?, arm))
        },
    )?;
    rows(
        connection,
        "SELECT number, seed, status, note, started_at_ms, finished_at_ms, restored_by, tests FROM blocks \
         ORDER BY number",
        |row| {
            let number = row.get(0)?;
            Ok(Block {
                number,
                seed: seed(row, 1)?,
                status: row.get(2)?,
                note: row.get(3)?,
                started_at_ms: row.get(4)?,
                finished_at_ms: row.get(5)?,
                restored_by: row.get(6)?,
                tests: json(row, 7)?,
                arms: arms.remove(&number).unwrap_or_default(),
            })
        },
    )
}

pub(crate) fn read_canaries(connection: &Connection) -> rusqlite::Result<Vec<Canary>> {
    rows(
        connection,
        "SELECT block, moment, name, value FROM canaries ORDER BY block, moment DESC, name",
        |row| Ok(Canary { block: row.get(0)?, moment: row.get(1)?, name: row.get(2)?, value: row.get(3)? }),
    )
}

pub(crate) fn read_certificates(connection: &Connection) -> rusqlite::Result<Certificates> {
    let figures = rows(connection, "SELECT moment, quantity, value, low, high FROM certificates", |row| {
        let figure =
            HostFigure { quantity: word(row, 1)?, value: row.get(2)?, low: row.get(3)?, high: row.get(4)? };
        Ok((row.get(0)?, figure))
    })?;
    let mut certificates = Certificates::default();
    for (moment, figure) in figures {
        match moment {
            Moment::Before => certificates.before.push(figure),
            Moment::After => certificates.after.push(figure),
        }
    }
    for figures in [&mut certificates.before, &mut certificates.after] {
        figures.sort_by_key(|figure| figure.quantity);
    }
    Ok(certificates)
}

pub(crate) fn read_placements(connection: &Connection) -> rusqlite::Result<BTreeMap<u32, Placement>> {
    let placements = rows(connection, "SELECT seq, block, window_number, slot FROM placements", |row| {
        Ok((row.get(0)?, Placement { block: row.get(1)?, window: row.get(2)?, slot: row.get(3)? }))
    })?;
    Ok(placements.into_iter().collect())
}

pub(crate) fn read_counts(connection: &Connection) -> rusqlite::Result<Vec<(u32, Count)>> {
    rows(
        connection,
        "SELECT seq, test, test_group, events, operations, instructions, counted_by FROM counts ORDER BY seq",
        |row| {
            let counted = Count {
                test: row.get(1)?,
                group: row.get(2)?,
                events: count(row, 3)?,
                operations: row.get(4)?,
                instructions: row.get(5)?,
                counted_by: row.get(6)?,
            };
            Ok((row.get(0)?, counted))
        },
    )
}

pub(crate) fn read_works(connection: &Connection) -> rusqlite::Result<Vec<TestWork>> {
    rows(
        connection,
        "SELECT test, warmup_events, window_events, slice_events, count_events FROM works ORDER BY test",
        |row| {
            Ok(TestWork {
                test: row.get(0)?,
                warmup_events: count(row, 1)?,
                window_events: count(row, 2)?,
                slice_events: count(row, 3)?,
                count_events: count(row, 4)?,
            })
        },
    )
}
