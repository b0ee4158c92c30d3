//! A step of several arms that take turns: in each round every arm runs for some milliseconds, in random
//! order, while the clients of all others wait. Changes of the machine from one second to the next then
//! affect all arms alike.
//!
//! Interleaved trials: A. Abedi, T. Brecht, Conducting Repeatable Experiments in Highly Variable Cloud
//! Computing Environments, ICPE 2017; L. Bulej and others, Duet Benchmarking, ICPE 2020.

use crate::client_threads::{Stop, join};
use crate::control::Phase;
use crate::error::StepError;
use crate::lead::{Lead, TICK};
use crate::result::StepResult;
use crate::spec::{Observer, StepSpec};
use crate::step::{Clients, add_up, warm_up};
use crate::worker::Shared;
use rqps_model::random::{Stream, name_word};
use std::time::{Duration, Instant};

/// Part of the seed: separates the order of turns from draws of keys.
const TURNS_WORD: u64 = 0x0074_7572_6e73;

/// One of several arms that take turns in a step.
pub struct Member<'a> {
    /// All members have the same fixed work and slice.
    pub spec: StepSpec,
    pub clients: Clients<'a>,
}

/// Runs one step of several arms in turns, each with its own observer. Blocks until all clients have ended.
///
/// # Errors
/// With the index of the member that failed.
pub fn run_in_turns(
    members: &[Member<'_>],
    observers: &mut [&mut dyn Observer],
) -> Result<Vec<StepResult>, (usize, StepError)> {
    let mut shared = Vec::new();
    for (at, member) in members.iter().enumerate() {
        shared.push(Shared::new(&member.spec).map_err(|error| (at, error))?);
    }
    let work: Vec<_> = members
        .iter()
        .zip(&shared)
        .map(|(member, shared)| move |number: u32| member.clients.run(shared, number))
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
        for (at, (threads, work)) in threads.iter().zip(&work).enumerate() {
            let (some, outcome) = threads.start(scope, work);
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
    let (warmups, others_cpu_us) = match led {
        Ok(led) => led,
        Err((at, stop)) => {
            let joined = joined.into_iter().nth(at).unwrap_or_default();
            let error = threads[at].collect::<_, ()>(joined, Err(stop)).err();
            return Err((at, error.unwrap_or(StepError::Cancelled)));
        }
    };
    let mut results = Vec::new();
    for (at, (joined, warmup)) in joined.into_iter().zip(warmups).enumerate() {
        let mut result = threads[at]
            .collect(joined, Ok(warmup))
            .and_then(|(warmup, reports)| add_up(&shared[at], &reports, warmup))
            .map_err(|error| (at, error))?;
        for (slice, others_cpu_us) in result.slices.iter_mut().zip(&others_cpu_us[at]) {
            slice.others_cpu_us = *others_cpu_us;
        }
        results.push(result);
    }
    Ok(results)
}

/// Per member: the duration of its warm-up, and the CPU time that other processes used in each of its slices.
type Led = (Vec<Duration>, Vec<Vec<f64>>);

fn lead_in_turns(shared: &[Shared<'_>], leads: &mut [Lead<'_>]) -> Result<Led, (usize, Stop)> {
    let mut warmups = Vec::new();
    for (at, (shared, lead)) in shared.iter().zip(leads.iter_mut()).enumerate() {
        warmups.push(warm_up(shared, lead).map_err(|stop| (at, stop))?);
    }
    flush(leads, Phase::FlushBefore)?;
    for (shared, lead) in shared.iter().zip(leads.iter_mut()) {
        let backends = shared.backends();
        let threads = shared.client_threads.lock().map(|threads| threads.clone()).unwrap_or_default();
        lead.observer.client_threads(&threads);
        lead.observer.window_opens(&backends);
        let _ = shared.session_clocks.set(lead.observer.session_clocks());
    }
    let others_cpu_us = rounds(shared, leads)?;
    for lead in leads.iter_mut() {
        lead.observer.window_closes();
    }
    flush(leads, Phase::FlushAfter)?;
    for (at, lead) in leads.iter_mut().enumerate() {
        lead.observer.statistics_complete();
        lead.phase(Phase::Tail, "finish", None).map_err(|stop| (at, stop))?;
    }
    Ok((warmups, others_cpu_us))
}

/// Flushes the statistics of all members' sessions after one idle time for all.
fn flush(leads: &mut [Lead<'_>], phase: Phase) -> Result<(), (usize, Stop)> {
    std::thread::sleep(leads.iter().map(Lead::flush_idle).max().unwrap_or_default());
    for (at, lead) in leads.iter_mut().enumerate() {
        lead.flush_now(phase).map_err(|stop| (at, stop))?;
    }
    leads.iter_mut().for_each(|lead| lead.observer.sessions_handed_in());
    Ok(())
}

/// Runs all rounds; returns each member's [`Observer::slice_ends`].
fn rounds(shared: &[Shared<'_>], leads: &mut [Lead<'_>]) -> Result<Vec<Vec<f64>>, (usize, Stop)> {
    let mut others_cpu_us = vec![Vec::new(); leads.len()];
    let Some(first) = shared.first() else {
        return Ok(others_cpu_us);
    };
    let spec = first.spec;
    let words = [spec.seed, name_word(&spec.step), u64::from(spec.draws), TURNS_WORD];
    let mut order = Stream::new(&words);
    let mut spent = vec![Duration::ZERO; leads.len()];
    let mut polled = Instant::now();
    for round in 0..spec.rounds() {
        for at in order.permutation(leads.len()) {
            let lead = &mut leads[at];
            let began = Instant::now();
            lead.observer.slice_begins();
            lead.phase(Phase::Slice, "measure", None).map_err(|stop| (at, stop))?;
            others_cpu_us[at].push(lead.observer.slice_ends());
            spent[at] += began.elapsed();
        }
        if polled.elapsed() < TICK {
            continue;
        }
        polled = Instant::now();
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
    /// Rounds until every client has done its fixed work.
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
