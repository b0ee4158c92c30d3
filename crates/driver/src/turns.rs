//! A step of several arms at once: in each round every arm has a turn of some milliseconds, in drawn order, while the
//! clients of all others stand still. What changes on the machine from one second to the next then meets all arms
//! alike.
//!
//! Interleaved trials: A. Abedi, T. Brecht, Conducting Repeatable Experiments in Highly Variable Cloud Computing
//! Environments, ICPE 2017; L. Bulej and others, Duet Benchmarking, ICPE 2020.

use crate::client_threads::{Stop, join};
use crate::control::Phase;
use crate::error::StepError;
use crate::lead::{Lead, TICK};
use crate::result::StepResult;
use crate::spec::{Observer, StepSpec};
use crate::step::{Clients, Stretches, add_up, warm_up};
use crate::worker::Shared;
use rqps_model::random::{Stream, name_word};
use std::time::{Duration, Instant};

/// Keeps the order of turns apart from draws of keys.
const TURNS_WORD: u64 = 0x0074_7572_6e73;

/// One arm of a step that several run in turns.
pub struct Member<'a> {
    /// Its fixed work and its slice are those of all members.
    pub spec: StepSpec,
    pub clients: Clients<'a>,
}

/// Runs one step of several arms in turns; each has its own observer. Blocks until all clients are gone.
///
/// # Errors
/// With the member, by its place, that a failure is of.
pub fn run_in_turns(
    members: &[Member<'_>],
    observers: &mut [&mut dyn Observer],
) -> Result<Vec<StepResult>, (usize, StepError)> {
    let mut shared = Vec::new();
    for (at, member) in members.iter().enumerate() {
        shared.push(Shared::new(&member.spec).map_err(|error| (at, error))?);
    }
    let lives: Vec<_> = members
        .iter()
        .zip(&shared)
        .map(|(member, shared)| move |number: u32| member.clients.live(shared, number))
        .collect();
    let threads: Vec<_> = shared.iter().map(Shared::threads).collect();
    let mut leads: Vec<Lead<'_>> = shared
        .iter()
        .zip(observers)
        .map(|(shared, observer)| Lead {
            control: &shared.control,
            flush: shared.spec.flush.as_ref(),
            observer: &mut **observer,
        })
        .collect();
    let (led, joined) = std::thread::scope(|scope| {
        let (mut started, mut all) = (Vec::new(), Ok(()));
        for (at, (threads, life)) in threads.iter().zip(&lives).enumerate() {
            let (some, outcome) = threads.start(scope, life);
            started.push(some);
            if let Err(stop) = outcome {
                all = Err((at, stop));
                break;
            }
        }
        let led = all.and_then(|()| lead_in_turns(&shared, &mut leads));
        for shared in &shared {
            if led.is_err() {
                shared.control.abort();
            }
            shared.control.open(Phase::Tail);
        }
        (led, started.into_iter().map(join).collect::<Vec<_>>())
    });
    drop(leads);
    let (stretches, slices) = match led {
        Ok(led) => led,
        Err((at, stop)) => {
            let joined = joined.into_iter().nth(at).unwrap_or_default();
            let error = threads[at].sort_out::<_, ()>(joined, Err(stop)).err();
            return Err((at, error.unwrap_or(StepError::Cancelled)));
        }
    };
    let mut results = Vec::new();
    for (at, (joined, stretches)) in joined.into_iter().zip(stretches).enumerate() {
        let result = threads[at]
            .sort_out(joined, Ok(stretches))
            .and_then(|(stretches, reports)| add_up(&shared[at], &reports, &stretches))
            .map_err(|error| (at, error))?;
        results.push(result);
    }
    for (result, others_cpu_us) in results.iter_mut().zip(slices) {
        for (slice, others_cpu_us) in result.slices.iter_mut().zip(others_cpu_us) {
            slice.others_cpu_us = others_cpu_us;
        }
    }
    Ok(results)
}

/// How long each member's phases took, and the CPU time that other processes used in each of its slices.
type Led = (Vec<Stretches>, Vec<Vec<f64>>);

fn lead_in_turns(shared: &[Shared<'_>], leads: &mut [Lead<'_>]) -> Result<Led, (usize, Stop)> {
    let mut stretches = Vec::new();
    for (at, (shared, lead)) in shared.iter().zip(leads.iter_mut()).enumerate() {
        stretches.push(warm_up(shared, lead).map_err(|stop| (at, stop))?);
    }
    hand_in(leads, Phase::FlushBefore)?;
    for (shared, lead) in shared.iter().zip(leads.iter_mut()) {
        let backends = shared.backends();
        let threads = shared.client_threads.lock().map(|threads| threads.clone()).unwrap_or_default();
        lead.observer.client_threads(&threads);
        lead.observer.window_opens(&backends);
        let _ = shared.session_clocks.set(lead.observer.session_clocks());
    }
    let slices = rounds(shared, leads)?;
    for lead in leads.iter_mut() {
        lead.observer.window_closes();
    }
    hand_in(leads, Phase::FlushAfter)?;
    for (at, lead) in leads.iter_mut().enumerate() {
        lead.observer.statistics_complete();
        lead.phase(Phase::Tail, "finish", None).map_err(|stop| (at, stop))?;
    }
    Ok((stretches, slices))
}

/// All sessions stand still at the same time before they hand their statistics in.
fn hand_in(leads: &mut [Lead<'_>], phase: Phase) -> Result<(), (usize, Stop)> {
    std::thread::sleep(leads.iter().map(Lead::flush_idle).max().unwrap_or_default());
    for (at, lead) in leads.iter_mut().enumerate() {
        lead.hand_in(phase).map_err(|stop| (at, stop))?;
    }
    leads.iter_mut().for_each(|lead| lead.observer.sessions_handed_in());
    Ok(())
}

fn rounds(shared: &[Shared<'_>], leads: &mut [Lead<'_>]) -> Result<Vec<Vec<f64>>, (usize, Stop)> {
    let mut others_cpu_us = vec![Vec::new(); leads.len()];
    let Some(first) = shared.first() else {
        return Ok(others_cpu_us);
    };
    let spec = first.spec;
    let words = [spec.seed, name_word(&spec.step), u64::from(spec.draws), TURNS_WORD];
    let mut order = Stream::new(&words);
    let mut spent = vec![Duration::ZERO; leads.len()];
    let mut looked = Instant::now();
    for round in 0..spec.rounds() {
        for at in order.permutation(leads.len()) {
            let lead = &mut leads[at];
            let began = Instant::now();
            lead.observer.slice_begins();
            lead.phase(Phase::Slice, "measure", None).map_err(|stop| (at, stop))?;
            others_cpu_us[at].push(lead.observer.slice_ends());
            spent[at] += began.elapsed();
        }
        if looked.elapsed() < TICK {
            continue;
        }
        looked = Instant::now();
        let events = (round + 1) * spec.slice_events();
        for (at, (lead, spent)) in leads.iter_mut().zip(&spent).enumerate() {
            lead.observer.progress("measure", spent.as_secs_f64(), events);
            if lead.observer.cancelled() {
                lead.control.abort();
                return Err((at, Stop::Cancelled));
            }
        }
    }
    Ok(others_cpu_us)
}

impl StepSpec {
    /// Turns until every client has done its part of a fixed work.
    fn rounds(&self) -> u64 {
        let (Some(slice), rqps_model::Limit::Work(work)) = (self.slice, &self.limit) else {
            return 0;
        };
        work.window.iter().map(|events| events.div_ceil(slice.events.max(1))).max().unwrap_or(0)
    }

    /// Events of all clients in a turn.
    fn slice_events(&self) -> u64 {
        self.slice.map_or(0, |slice| slice.events * u64::from(self.clients))
    }
}
