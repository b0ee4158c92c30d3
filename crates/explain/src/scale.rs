//! Makes times agree with verdicts: the blocks that count are those of the verdict, and means over them have its ratio.
//!
//! A verdict's ratio is the exponential of a mean of logarithms, parts of a time are means of times. Their quotient
//! differs by little, and so does each arm's figure: what they are multiplied by is close to 1.

use rqps_stats::{Detector, Metric, OfBlock, Verdict, base_figure, blocks_of};
use rqps_store::{Recorded, Window};
use rqps_verdicts::RunVerdicts;

use crate::figures::{BACKENDS, CLIENT_TIME, Cell, Figures, ROLE, sessions_of};
use crate::foreground::Foreground;

/// How far means of logarithms and of values are apart if blocks differ by a standard deviation of 20 %.
const CPU_APART_MAX: f64 = 0.02;

/// By what an arm's times and CPU times are multiplied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    time: f64,
    cpu: f64,
}

impl Scale {
    pub const NONE: Self = Self { time: 1.0, cpu: 1.0 };

    pub fn of(&self, metric: &str) -> f64 {
        match metric {
            CLIENT_TIME => self.time,
            BACKENDS => self.cpu,
            role if role.starts_with(ROLE) => self.cpu,
            _ => 1.0,
        }
    }
}

/// A verdict's ratio, arm over base, with its blocks.
type Rests = (f64, Vec<OfBlock>);

/// The blocks of the verdicts on a test.
pub(crate) struct Judged {
    rate: Option<Rests>,
    cpu: Option<Rests>,
}

impl Judged {
    pub fn of(judged: &RunVerdicts, test: &str, arm: usize) -> Self {
        let of = |detectors: &[Detector], metric: Metric| {
            let mut verdicts = detectors.iter().filter_map(|one| judged.verdict(test, arm, *one));
            let one: &Verdict = verdicts.find(|one| one.metric == metric && one.ratio.is_finite())?;
            let blocks = blocks_of(&judged.experiment, one);
            (!blocks.is_empty()).then_some((one.ratio, blocks))
        };
        Self {
            rate: of(&[Detector::Rate], Metric::Rate),
            cpu: of(&[Detector::Cost, Detector::Cpu], Metric::CpuUs),
        }
    }

    /// Whether a verdict rests on a block; on all if there is none.
    pub fn is_counted(&self, block: u32) -> bool {
        let blocks = self.rate.as_ref().or(self.cpu.as_ref()).map(|(_, blocks)| blocks);
        blocks.is_none_or(|blocks| blocks.iter().any(|of| of.block == block))
    }

    /// Of base and of the arm.
    pub fn scales(&self, figures: &Figures, windows: &[&Recorded<Window>]) -> [Scale; 2] {
        let mut scales = [Scale::NONE; 2];
        let sessions = windows.first().map_or(0, |window| sessions_of(window));
        let time = figures.per_op(CLIENT_TIME).zip(self.rate.as_ref());
        if let Some((time, (ratio, blocks))) = time
            && let Some(rate) = base_figure(blocks)
        {
            let base_us = f64::from(sessions) * 1e6 / rate;
            scales[0].time = base_us / time.base;
            scales[1].time = base_us / ratio / time.arm;
        }
        // A verdict on CPU time is on the whole server: sessions, and what runs beside them.
        let is_whole = |window: &&Recorded<Window>| Foreground::from_window(window).is_none();
        let of_server = |cell: Cell<'_>| {
            let roles: f64 = cell.roles()?.iter().filter_map(|name| cell.metric(name)).sum();
            Some((cell.metric(BACKENDS)? + roles) / cell.operations())
        };
        let cpu = figures.quantity(of_server).filter(|_| windows.iter().all(is_whole));
        if let Some((cpu, (ratio, blocks))) = cpu.zip(self.cpu.as_ref())
            && let Some(base_us) = base_figure(blocks)
        {
            let [base, arm] = [base_us / cpu.base, base_us * ratio / cpu.arm];
            // Further apart, they do not have all of the server's CPU time in them.
            if [base, arm].iter().all(|one| (one - 1.0).abs() <= CPU_APART_MAX) {
                (scales[0].cpu, scales[1].cpu) = (base, arm);
            }
        }
        scales
    }
}
