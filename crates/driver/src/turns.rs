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
use crate::spec::{Observer, StepSpec, Turn};
use crate::step::{Clients, add_up, warm_up};
use crate::worker::Shared;
use rqps_model::random::{Stream, name_word};
use std::time::{Duration, Instant};

/// Part of the seed: separates the order of turns from draws of keys.
const TURNS_WORD: u64 = 0x0074_7572_6e73;

/// One of several arms that take turns in a step.
pub struct Member<'a> {
    /// All members have the same turn and limit. Where that is a time, the first member's events are fixed by time and
    /// share of rows, and the others do as many.
    pub spec: StepSpec,
    pub clients: Clients<'a>,
}

/// Runs one step of several arms in turns, each with its own observer. Blocks until all clients have ended. Members
/// that fail drop out, the others go on; a member that is cancelled ends all, if the observers of the others want that
/// too.
pub fn run_in_turns(
    members: &[Member<'_>],
    observers: &mut [&mut dyn Observer],
) -> Vec<Result<StepResult, StepError>> {
    let shared: Result<Vec<_>, StepError> = members.iter().map(|one| Shared::new(&one.spec)).collect();
    let shared = match shared {
        Ok(shared) => shared,
        Err(error) => {
            let text = if let StepError::Histogram(text) = error { text } else { error.to_string() };
            return members.iter().map(|_| Err(StepError::Histogram(text.clone()))).collect();
        }
    };
    let work: Vec<_> = members
        .iter()
        .zip(&shared)
        .map(|(member, shared)| move |number: u32| member.clients.run(shared, number))
        .collect();
    let threads: Vec<_> = shared.iter().map(Shared::threads).collect();
    let participants = shared.iter().zip(observers).map(|(shared, observer)| Participant {
        shared,
        lead: Lead { control: &shared.control, flush: shared.spec.flush.as_ref(), observer: &mut **observer },
        led: Ok(Led::default()),
    });
    let mut participants: Vec<Participant<'_>> = participants.collect();
    let joined = std::thread::scope(|scope| {
        let mut started = Vec::new();
        for ((threads, work), participant) in threads.iter().zip(&work).zip(&mut participants) {
            let (some, outcome) = threads.start(scope, work);
            started.push(some);
            participant.keep(outcome);
        }
        Rounds { participants: &mut participants }.lead();
        for participant in &participants {
            if participant.led.is_err() {
                participant.shared.control.abort();
            }
            participant.shared.control.open(Phase::Tail);
        }
        started.into_iter().map(join).collect::<Vec<_>>()
    });
    let led: Vec<_> = participants.into_iter().map(|participant| participant.led).collect();
    let mut results = Vec::new();
    for (at, (joined, led)) in joined.into_iter().zip(led).enumerate() {
        let result = threads[at].collect(joined, led).and_then(|(led, reports)| {
            let mut result = add_up(&shared[at], &reports, led.warmup)?;
            for (slice, others_cpu_us) in result.slices.iter_mut().zip(led.others_cpu_us) {
                slice.others_cpu_us = others_cpu_us;
            }
            Ok(result)
        });
        results.push(result);
    }
    results
}

/// What the coordinator learns of a member.
#[derive(Default)]
struct Led {
    /// The duration of its warm-up.
    warmup: Duration,
    /// CPU time that other processes of the instance used in each of its slices, us.
    others_cpu_us: Vec<f64>,
    /// How long its turns took in all.
    spent: Duration,
}

/// A member and the coordinator of its clients.
struct Participant<'a> {
    shared: &'a Shared<'a>,
    lead: Lead<'a>,
    /// Why it dropped out, if it did.
    led: Result<Led, Stop>,
}

impl Participant<'_> {
    /// Lets the member drop out if this failed.
    fn keep(&mut self, outcome: Result<(), Stop>) {
        if let (Ok(_), Err(stop)) = (&self.led, outcome) {
            self.led = Err(stop);
        }
    }

    fn spec(&self) -> &StepSpec {
        self.shared.spec
    }

    fn warm_up(&mut self) {
        self.lead.observer.turn_begins();
        match warm_up(self.shared, &mut self.lead) {
            Ok(took) => self.led = Ok(Led { warmup: took, ..Led::default() }),
            Err(stop) => self.led = Err(stop),
        }
        self.lead.observer.turn_ends();
    }

    fn open_window(&mut self) {
        let threads = self.shared.client_threads.lock().map(|threads| threads.clone()).unwrap_or_default();
        self.lead.observer.client_threads(&threads);
        self.lead.observer.window_opens(&self.shared.backends());
        let _ = self.shared.session_clocks.set(self.lead.observer.session_clocks());
    }

    /// Has the clients go on up to these events; returns how long that took.
    fn turn(&mut self, goals: &[u64]) -> Duration {
        self.shared.set_goals(goals);
        self.lead.observer.turn_begins();
        let began = Instant::now();
        self.lead.observer.slice_begins();
        let outcome = self.lead.phase(Phase::Slice, "measure", None);
        let others_cpu_us = self.lead.observer.slice_ends();
        let took = began.elapsed();
        self.lead.observer.turn_ends();
        if let Ok(led) = &mut self.led {
            led.others_cpu_us.push(others_cpu_us);
            led.spent += took;
        }
        self.keep(outcome);
        took
    }

    /// Tells the observer how far the window is; a member that is to stop drops out.
    fn report(&mut self) {
        let Ok(led) = &self.led else { return };
        let events = self.shared.done().iter().sum();
        self.lead.observer.progress("measure", led.spent.as_secs_f64(), events);
        if self.lead.observer.cancelled() {
            self.shared.control.abort();
            self.keep(Err(Stop::Cancelled));
        }
    }
}

/// All members.
struct Rounds<'s, 'a> {
    participants: &'s mut [Participant<'a>],
}

impl<'a> Rounds<'_, 'a> {
    fn lead(&mut self) {
        self.each(|participant| participant.lead.observer.turn_ends());
        self.warm_up();
        self.each(|participant| participant.lead.observer.turn_begins());
        self.flush(Phase::FlushBefore);
        self.each(Participant::open_window);
        self.each(|participant| participant.lead.observer.turn_ends());
        self.rounds();
        self.each(|participant| participant.lead.observer.turn_begins());
        self.each(|participant| participant.lead.observer.window_closes());
        self.flush(Phase::FlushAfter);
        self.each(|participant| {
            participant.lead.observer.statistics_complete();
            let outcome = participant.lead.phase(Phase::Tail, "finish", None);
            participant.keep(outcome);
        });
    }

    /// The members that have not dropped out. If one was cancelled, those whose observers want that too drop out first.
    fn active(&mut self) -> impl Iterator<Item = &mut Participant<'a>> {
        if self.participants.iter().any(|participant| matches!(participant.led, Err(Stop::Cancelled))) {
            for participant in self.participants.iter_mut().filter(|participant| participant.led.is_ok()) {
                if participant.lead.observer.cancelled() {
                    participant.keep(Err(Stop::Cancelled));
                }
            }
        }
        self.participants.iter_mut().filter(|participant| participant.led.is_ok())
    }

    fn each(&mut self, work: impl FnMut(&mut Participant<'a>)) {
        self.active().for_each(work);
    }

    /// Warms up one member after the other. Where time limits the first one's warm-up, the others do as many events.
    fn warm_up(&mut self) {
        let mut first: Option<Vec<u64>> = None;
        for at in 0..self.participants.len() {
            if self.active().next().is_none() {
                return;
            }
            let participant = &mut self.participants[at];
            if participant.led.is_err() {
                continue;
            }
            if let Some(events) = &first {
                let _ = participant.shared.warmup.set(events.clone());
            }
            participant.warm_up();
            if participant.led.is_ok() && first.is_none() {
                first = Some(participant.shared.done());
            }
        }
    }

    /// Flushes the statistics of all members' sessions after one idle time for all.
    fn flush(&mut self, phase: Phase) {
        std::thread::sleep(
            self.active().map(|participant| participant.lead.flush_idle()).max().unwrap_or_default(),
        );
        self.each(|participant| {
            let outcome = participant.lead.flush_now(phase);
            participant.keep(outcome);
        });
        self.each(|participant| participant.lead.observer.sessions_handed_in());
    }

    fn rounds(&mut self) {
        let Some(first) = self.active().next() else { return };
        let spec = first.spec();
        let words = [spec.seed, name_word(&spec.step), u64::from(spec.draws), TURNS_WORD];
        let mut order = Stream::new(&words);
        let removes = spec.removed_rows_max.is_some();
        let mut length = Length::of(first);
        let mut goals = vec![0; spec.clients as usize];
        let mut polled = Instant::now();
        loop {
            length.advance(&mut goals);
            let mut turns = order.permutation(self.participants.len());
            let Some(first) = self.participants.iter().position(|participant| participant.led.is_ok()) else {
                return;
            };
            if removes {
                // It decides how far the others go.
                turns.retain(|at| *at != first);
                turns.insert(0, first);
            }
            let mut is_last = length.is_reached(&goals);
            for at in turns {
                let participant = &mut self.participants[at];
                if participant.led.is_err() {
                    continue;
                }
                let took = participant.turn(&goals);
                if at == first {
                    length.adapt(took);
                    if participant.led.is_ok() && participant.shared.control.phase_ended() {
                        goals = participant.shared.done();
                        is_last = true;
                    }
                }
            }
            let spent =
                self.active().filter_map(|participant| participant.led.as_ref().ok()).map(|led| led.spent);
            let (sum, count) = spent.fold((Duration::ZERO, 0), |(sum, count), one| (sum + one, count + 1));
            if is_last || count == 0 || length.is_over(sum / count) {
                return;
            }
            if polled.elapsed() >= TICK {
                polled = Instant::now();
                self.each(Participant::report);
            }
        }
    }
}

/// How long turns are, and how many there are.
struct Length {
    /// The events of a turn on each client.
    events: u64,
    /// How long turns of the first member should take, as long as theirs grow.
    grows_to: Option<Duration>,
    /// Each client's events in the window, if they are fixed.
    quotas: Option<Vec<u64>>,
    /// The window's time, if that is fixed.
    time: Option<Duration>,
}

impl Length {
    fn of(first: &Participant<'_>) -> Self {
        let spec = first.spec();
        let warmup = first.led.as_ref().map_or(Duration::ZERO, |led| led.warmup);
        let (events, grows_to) = match spec.turn {
            Some(Turn::Events(events)) => (events, None),
            Some(Turn::Time(time)) => {
                let share = time.as_secs_f64() / warmup.as_secs_f64().max(time.as_secs_f64());
                let done = first.shared.done().iter().sum::<u64>() as f64;
                ((done * share / f64::from(spec.clients)) as u64, Some(time))
            }
            None => (u64::MAX, None),
        };
        let quotas = first.shared.quotas();
        Self { events: events.max(1), grows_to, quotas, time: spec.limit.time() }
    }

    fn advance(&self, goals: &mut [u64]) {
        for (client, goal) in goals.iter_mut().enumerate() {
            let quota = self.quotas.as_ref().and_then(|quotas| quotas.get(client));
            *goal = goal.saturating_add(self.events).min(quota.copied().unwrap_or(u64::MAX));
        }
    }

    /// Whether these are all events of the window.
    fn is_reached(&self, goals: &[u64]) -> bool {
        self.quotas.as_ref().is_some_and(|quotas| goals == quotas)
    }

    fn is_over(&self, mean_spent: Duration) -> bool {
        self.time.is_some_and(|time| mean_spent >= time)
    }

    /// Doubles turns that the warm-up showed no rate for, until one is long enough.
    fn adapt(&mut self, took: Duration) {
        if self.grows_to.is_some_and(|time| took < time / 2) {
            self.events = self.events.saturating_mul(2);
        } else {
            self.grows_to = None;
        }
    }
}
