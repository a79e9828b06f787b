//! Blocks of a timing: one captured graph per program, all of the same number of launches over the same rotation,
//! put into the stream in the judge's order with events around them.
//!
//! The device never waits for the host inside a burst: all blocks of one are queued behind an untimed lead-in. What makes
//! a program's memory as good as new comes before its block's time begins. A burst lasts at most 50 ms, with a pause behind
//! it, so that the power limit is not what is measured; [`Regime::Sustained`] leaves both out.

use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

use cutegen_runtime::cuda::CUdeviceptr;

use super::graph::{Event, Graph};
use super::vendor::Once;
use crate::evaluate::device::error::DeviceError;
use crate::evaluate::device::launch::fill;
use crate::evaluate::device::session::Session;
use crate::evaluate::runner::rng::Rng;
use crate::evaluate::wire::protocol::{Regime, TimePlan, Timed};

const BURST_NS: u64 = 50_000_000;
const PAUSE: Duration = Duration::from_millis(20);
/// Blocks are kept together by fours: one ABBA of two programs.
const TOGETHER: usize = 4;
/// How long a block of a slow program is at most, or it is a single launch: it stands for one of as many launches as
/// the others'. A rotation exceeds the cache threefold, so what a cache could save a part of one is what reading all of
/// it takes, some 45 us of an H200's 20 ms. One launch that takes so long is not launched to find out how long a block is.
const SLOW_NS: u64 = 20_000_000;
/// Most launches of a block.
const LAUNCHES_MAX: usize = 1 << 16;
/// Most blocks that are queued at once.
const QUEUE_MAX: usize = 512;
/// Bytes that are poisoned before a block: the host must stay ahead of the device.
const POISONED: usize = 8;

/// The graphs of all programs, and how long each lasts.
pub(super) struct Bench {
    graphs: Vec<Graph>,
    /// What a block's time is of.
    launches: usize,
    /// What is launched of it, by program.
    counts: Vec<usize>,
    estimates: Vec<u64>,
    regime: Regime,
    /// Graphs refer to what its launches were resolved from.
    stage: Stage,
}

/// What the launches of a timing are made of.
struct Stage {
    session: Rc<Session>,
    programs: Vec<Turns>,
    rng: Rng,
}

/// A program's launches over its rotation: as many rounds as are wanted so far, one behind another.
struct Turns {
    launches: Vec<Once>,
    slots: usize,
    /// What may be poisoned, by slot.
    poisoned: Vec<Vec<Poisoned>>,
}

/// What a program writes on a slot.
pub(super) struct Poisoned {
    pub(super) at: CUdeviceptr,
    /// Bytes of elements.
    pub(super) bytes: Vec<u64>,
}

/// A program's launches in this round of its rotation, by its place.
type Round<'a> = &'a mut dyn FnMut(usize, usize) -> Result<Vec<Once>, DeviceError>;

impl Bench {
    /// Captures the programs over their rotations, in blocks that last long enough; warms up. Of each is given what may be
    /// poisoned.
    pub(super) fn prepare(
        session: &Rc<Session>,
        poisoned: Vec<Vec<Vec<Poisoned>>>,
        plan: &TimePlan,
        round: Round<'_>,
    ) -> Result<Self, DeviceError> {
        let mut programs = Vec::with_capacity(poisoned.len());
        for (program, poisoned) in poisoned.into_iter().enumerate() {
            let launches = round(program, 0)?;
            programs.push(Turns { slots: launches.len(), launches, poisoned });
        }
        let mut paces = Vec::with_capacity(programs.len());
        for Turns { launches, .. } in &programs {
            let pace = pace(session, launches)?; // a fault is better met outside a graph
            // a first launch may load its kernel
            let again = if pace < SLOW_NS {
                pace
            } else {
                self::pace(session, launches.get(..1).unwrap_or_default())?
            };
            paces.push(pace.min(again));
        }
        let stage = Stage { session: Rc::clone(session), programs, rng: Rng::new() };
        let mut bench = Self::calibrated(stage, &paces, plan, round)?;
        bench.warm_up(plan.warm_up_ns)?;
        Ok(bench)
    }

    /// Graphs whose blocks last long enough, and how long each lasts.
    fn calibrated(
        mut stage: Stage,
        paces: &[u64],
        plan: &TimePlan,
        round: Round<'_>,
    ) -> Result<Self, DeviceError> {
        let each: Vec<usize> = (0..paces.len()).filter(|program| paces[*program] < SLOW_NS).collect();
        let most_ns = SLOW_NS.max(2 * plan.min_block_ns);
        let mut launches = stage.programs.iter().map(|turns| turns.slots).max().unwrap_or(1).max(1);
        loop {
            let counts: Vec<usize> = paces.iter().map(|pace| count(launches, *pace, most_ns)).collect();
            let graphs = stage.captured(&counts, round)?;
            let mut estimates: Vec<u64> =
                paces.iter().zip(&counts).map(|(pace, count)| pace.saturating_mul(*count as u64)).collect();
            let lead = each.last().copied();
            stage.burst(&graphs, lead, &each)?; // the first run of a graph pays for its upload
            for again in 0..2 {
                for (program, ns) in each.iter().zip(stage.burst(&graphs, lead, &each)?) {
                    estimates[*program] = if again == 0 { ns } else { ns.min(estimates[*program]) };
                }
            }
            let whole = estimates.iter().zip(&counts).map(|(ns, count)| of_all(*ns, launches, *count));
            match longer(launches, whole.min().unwrap_or(u64::MAX), plan.min_block_ns) {
                Some(more) => launches = more,
                None => {
                    return Ok(Self { graphs, launches, counts, estimates, regime: plan.regime, stage });
                }
            }
        }
    }

    /// Times the blocks of a plan; only the first pair where that is enough.
    pub(super) fn begin(&mut self, plan: &TimePlan) -> Result<Timed, DeviceError> {
        let estimates = self.estimates.iter().zip(&self.counts);
        let estimates: Vec<u64> = estimates.map(|(ns, count)| of_all(*ns, self.launches, *count)).collect();
        let Some((pair, others)) = plan.order.split_at_checked(2).filter(|_| plan.is_enough(&estimates))
        else {
            return self.time(&plan.order);
        };
        let mut timed = self.time(pair)?;
        if !plan.ends_behind(&timed.block_ns) {
            timed.block_ns.extend(self.time(others)?.block_ns);
        }
        Ok(timed)
    }

    /// Times these blocks.
    pub(super) fn time(&mut self, order: &[usize]) -> Result<Timed, DeviceError> {
        if order.iter().any(|program| *program >= self.graphs.len()) {
            return Err(DeviceError::Failed("a block names no program".to_owned()));
        }
        let mut block_ns = Vec::with_capacity(order.len());
        for burst in bursts(order, &self.estimates, self.regime) {
            let order = &order[burst];
            let lasted = self.stage.burst(&self.graphs, lead(order, &self.estimates), order)?;
            block_ns
                .extend(order.iter().zip(lasted).map(|(p, ns)| of_all(ns, self.launches, self.counts[*p])));
            // a single block is one of a comparison across processes, whose pace is the judge's
            if self.regime == Regime::Burst && order.len() > 1 {
                std::thread::sleep(PAUSE);
            }
        }
        let launches =
            u32::try_from(self.launches).map_err(|_| DeviceError::Failed("launches".to_owned()))?;
        Ok(Timed { launches, block_ns })
    }

    /// Launches what a block of each program begins with, up to the end of one of its rounds, with something poisoned of every
    /// slot; which round it was.
    pub(super) fn settle(&mut self) -> Result<Vec<usize>, DeviceError> {
        let mut rounds = Vec::with_capacity(self.counts.len());
        for (program, count) in self.counts.iter().enumerate() {
            self.stage.renew(program)?;
            let Stage { session, programs, rng } = &mut self.stage;
            let Turns { launches, slots, poisoned } = &programs[program];
            poisoned.iter().flatten().try_for_each(|poisoned| poisoned.poison(session, rng))?;
            let round = rng.round((count / slots).min(launches.len() / slots));
            launches.iter().take((round + 1) * slots).try_for_each(|launch| launch.go(session))?;
            session.wait()?;
            rounds.push(round);
        }
        Ok(rounds)
    }

    fn warm_up(&mut self, ns: u64) -> Result<(), DeviceError> {
        let start = Instant::now();
        let each: Vec<usize> = (0..self.graphs.len()).collect();
        while start.elapsed().as_nanos() < u128::from(ns) {
            self.stage.burst(&self.graphs, lead(&each, &self.estimates), &each)?;
        }
        Ok(())
    }
}

impl Stage {
    /// A graph of each program, of so many launches.
    fn captured(&mut self, counts: &[usize], round: Round<'_>) -> Result<Vec<Graph>, DeviceError> {
        let session = &self.session;
        let mut graphs = Vec::with_capacity(counts.len());
        for (program, (turns, count)) in self.programs.iter_mut().zip(counts).enumerate() {
            // as many rounds as there are slots: then each has had what is written of every other
            while turns.launches.len() < (*count).min(turns.slots * turns.slots) {
                turns.launches.extend(round(program, turns.launches.len() / turns.slots)?);
            }
            let all = turns.launches.iter().cycle().take(*count);
            graphs.push(Graph::capture(session, &|| all.clone().try_for_each(|launch| launch.go(session)))?);
        }
        Ok(graphs)
    }

    /// Nanoseconds of each block of `order`, queued behind a lead-in.
    fn burst(
        &mut self,
        graphs: &[Graph],
        lead: Option<usize>,
        order: &[usize],
    ) -> Result<Vec<u64>, DeviceError> {
        let Some(lead) = lead else { return Ok(Vec::new()) };
        let event = || Event::new(&self.session);
        let around =
            order.iter().map(|_| Ok((event()?, event()?))).collect::<Result<Vec<_>, DeviceError>>()?;
        graphs[lead].go()?;
        for (program, (before, after)) in order.iter().zip(&around) {
            self.renew(*program)?;
            before.record()?;
            graphs[*program].go()?;
            after.record()?;
        }
        self.session.wait()?;
        around.iter().map(|(before, after)| before.until(after)).collect()
    }

    /// Undefined workspace as if no launch had been there, and other values for something of what was written.
    fn renew(&mut self, program: usize) -> Result<(), DeviceError> {
        let Self { session, programs, rng } = self;
        let turns = &programs[program];
        turns.launches.first().map_or(Ok(()), |launch| launch.poison(session))?;
        for _ in 0..POISONED {
            let Some(poisoned) = rng.pick(&turns.poisoned).and_then(|slot| rng.pick(slot)) else { break };
            poisoned.poison(session, rng)?;
        }
        Ok(())
    }
}

impl Poisoned {
    /// Another value for one of the bytes.
    fn poison(&self, session: &Session, rng: &mut Rng) -> Result<(), DeviceError> {
        let Some(byte) = rng.pick(&self.bytes) else { return Ok(()) };
        // SAFETY: the judge names bytes of the region that begins here, in the arena, which outlives this.
        unsafe { fill(session, (self.at + byte, 1), rng.next() as u8) }
    }
}

/// Nanoseconds of a launch, one behind another, with what the host takes for them.
fn pace(session: &Rc<Session>, launches: &[Once]) -> Result<u64, DeviceError> {
    let started = Instant::now();
    launches.iter().try_for_each(|launch| launch.go(session))?;
    session.wait()?;
    Ok(started.elapsed().as_nanos() as u64 / launches.len().max(1) as u64)
}

/// What is launched, untimed, before these blocks: the last of them, or the fastest where that would take longer than a
/// burst.
fn lead(order: &[usize], estimates: &[u64]) -> Option<usize> {
    let estimate = |program: usize| estimates.get(program).copied().unwrap_or(0);
    let last = order.last().copied().filter(|last| estimate(*last) <= BURST_NS);
    last.or_else(|| order.iter().copied().min_by_key(|program| estimate(*program)))
}

/// Launches of a block of a program that takes `pace` nanoseconds for one.
fn count(launches: usize, pace: u64, most_ns: u64) -> usize {
    let fit = usize::try_from(most_ns / pace.max(1)).unwrap_or(usize::MAX);
    launches.min(fit.max(1))
}

/// What all launches of a block take, by the `count` that were launched.
fn of_all(ns: u64, launches: usize, count: usize) -> u64 {
    (u128::from(ns) * launches as u128 / count.max(1) as u128) as u64
}

/// Launches of a block that lasts long enough, a little more than that in whole rotations; `None` when it does already
/// or can't.
fn longer(launches: usize, lasted_ns: u64, min_ns: u64) -> Option<usize> {
    if lasted_ns >= min_ns {
        return None;
    }
    let wanted = (u128::from(min_ns) * 21 / 20).div_ceil(u128::from(lasted_ns.max(1)));
    let most = (LAUNCHES_MAX / launches.max(1)) as u128;
    let more = launches * wanted.min(most) as usize;
    (more > launches).then_some(more)
}

/// Splits an order into bursts.
fn bursts(order: &[usize], estimates: &[u64], regime: Regime) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut lasts) = (0, 0);
    for at in (0..order.len()).step_by(TOGETHER) {
        let end = (at + TOGETHER).min(order.len());
        let group: u64 = order[at..end].iter().map(|p| estimates.get(*p).copied().unwrap_or(0)).sum();
        let too_long = regime == Regime::Burst && lasts + group > BURST_NS;
        if at > start && (too_long || end - start > QUEUE_MAX) {
            found.push(start..at);
            (start, lasts) = (at, 0);
        }
        lasts += group;
    }
    if start < order.len() {
        found.push(start..order.len());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{BURST_NS, LAUNCHES_MAX, Regime, SLOW_NS, bursts, count, lead, longer, of_all};

    #[test]
    fn blocks_grow_by_whole_rotations() {
        assert_eq!(longer(10, 30_000, 200_000), Some(70));
        assert_eq!(longer(10, 200_000, 200_000), None);
        assert_eq!(longer(LAUNCHES_MAX, 1, 200_000), None);
        assert_eq!(longer(3, 0, 4), Some(12));
        assert_eq!(longer(1000, 1, u64::MAX), Some(65_000), "as far as a graph goes");
    }

    #[test]
    fn a_slow_program_is_launched_less_often_and_counts_as_much() {
        assert_eq!(count(100, 1_000_000, SLOW_NS), 20);
        assert_eq!(count(100, 1_000, SLOW_NS), 100);
        assert_eq!(count(100, SLOW_NS, SLOW_NS), 1);
        assert_eq!(count(100, 10 * SLOW_NS, SLOW_NS), 1);
        assert_eq!(count(2, SLOW_NS / 4, SLOW_NS), 2);
        assert_eq!(of_all(20_000_000, 100, 20), 100_000_000);
        assert_eq!(of_all(7, 100, 100), 7);
    }

    #[test]
    fn what_leads_in_is_no_longer_than_a_burst() {
        assert_eq!(lead(&[0, 1, 1, 0], &[5, 9]), Some(0));
        assert_eq!(lead(&[0, 1], &[5, BURST_NS]), Some(1));
        assert_eq!(lead(&[2, 0, 1], &[5, BURST_NS + 1, 3]), Some(2), "the fastest of them");
        assert_eq!(lead(&[1, 1], &[5, BURST_NS + 1]), Some(1), "there is no other");
        assert_eq!(lead(&[], &[5]), None);
    }

    #[test]
    fn bursts_are_short_and_whole() {
        let order = [0, 1, 1, 0].repeat(4);
        let split = |ns: u64, regime| bursts(&order, &[ns, ns], regime);
        assert_eq!(split(200_000, Regime::Burst), vec![0..16]);
        assert_eq!(split(6_000_000, Regime::Burst), vec![0..8, 8..16]);
        assert_eq!(
            split(30_000_000, Regime::Burst),
            vec![0..4, 4..8, 8..12, 12..16],
            "never less than an ABBA"
        );
        assert_eq!(split(30_000_000, Regime::Sustained), vec![0..16]);
        assert_eq!(bursts(&[], &[], Regime::Burst), Vec::<std::ops::Range<usize>>::new());
    }
}
