//! Blocks of a timing: one captured graph per program, all of the same number of launches over the same rotation,
//! put into the stream in the judge's order with events between them.
//!
//! The device never waits for the host inside a burst: all blocks of one are queued behind an untimed lead-in, and a
//! block's time runs from the end of the one before it. A burst lasts at most 50 ms, with a pause behind it, so that
//! the power limit is not what is measured; [`Regime::Sustained`] leaves both out.

use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::graph::{Event, Graph};
use super::vendor::Once;
use crate::evaluate::cuda::session::Session;
use crate::evaluate::protocol::{Regime, TimePlan, Timed};
use crate::evaluate::runner::Stop;

const BURST_NS: u64 = 50_000_000;
const PAUSE: Duration = Duration::from_millis(20);
/// Blocks are kept together by fours: one ABBA of two programs.
const TOGETHER: usize = 4;
/// Most launches of a block.
const LAUNCHES_MAX: usize = 1 << 16;
/// Most blocks that are queued at once.
const QUEUE_MAX: usize = 512;

/// The graphs of all programs, and how long each lasts.
pub(super) struct Bench {
    graphs: Vec<Graph>,
    launches: usize,
    estimates: Vec<u64>,
    regime: Regime,
    session: Rc<Session>,
    /// Graphs refer to what these were resolved from.
    _programs: Vec<Vec<Once>>,
}

impl Bench {
    /// Captures the programs, each given as its launches over the rotation, in blocks that last long enough; warms up.
    pub(super) fn prepare(
        session: &Rc<Session>,
        programs: Vec<Vec<Once>>,
        plan: &TimePlan,
    ) -> Result<Self, Stop> {
        for launches in &programs {
            launches.iter().try_for_each(|launch| launch.go(session))?;
            session.wait()?; // a fault is better met outside a graph
        }
        let (graphs, launches, estimates) = calibrate(session, &programs, plan.min_block_ns)?;
        let (session, regime) = (Rc::clone(session), plan.regime);
        let bench = Self { graphs, launches, estimates, regime, session, _programs: programs };
        bench.warm_up(plan.warm_up_ns)?;
        Ok(bench)
    }

    /// Times these blocks.
    pub(super) fn time(&self, order: &[usize]) -> Result<Timed, Stop> {
        if order.iter().any(|program| *program >= self.graphs.len()) {
            return Err(Stop::Failed("a block names no program".to_owned()));
        }
        let mut block_ns = Vec::with_capacity(order.len());
        for burst in bursts(order, &self.estimates, self.regime) {
            block_ns.extend(run_burst(&self.session, &self.graphs, &order[burst])?);
            // a single block is one of a comparison across processes, whose pace is the judge's
            if self.regime == Regime::Burst && order.len() > 1 {
                std::thread::sleep(PAUSE);
            }
        }
        let launches = u32::try_from(self.launches).map_err(|_| Stop::Failed("launches".to_owned()))?;
        Ok(Timed { launches, block_ns })
    }

    fn warm_up(&self, ns: u64) -> Result<(), Stop> {
        let start = Instant::now();
        let each: Vec<usize> = (0..self.graphs.len()).collect();
        while start.elapsed().as_nanos() < u128::from(ns) {
            run_burst(&self.session, &self.graphs, &each)?;
        }
        Ok(())
    }
}

/// Graphs of equal numbers of launches, long enough, and how long each lasts.
fn calibrate(
    session: &Rc<Session>,
    programs: &[Vec<Once>],
    min_block_ns: u64,
) -> Result<(Vec<Graph>, usize, Vec<u64>), Stop> {
    let each: Vec<usize> = (0..programs.len()).collect();
    let mut launches = programs.iter().map(Vec::len).max().unwrap_or(1).max(1);
    loop {
        let capture = |turns: &Vec<Once>| {
            let all = turns.iter().cycle().take(launches);
            Graph::capture(session, &|| all.clone().try_for_each(|launch| launch.go(session)))
        };
        let graphs = programs.iter().map(capture).collect::<Result<Vec<_>, _>>()?;
        run_burst(session, &graphs, &each)?; // the first run of a graph pays for its upload
        let (first, second) = (run_burst(session, &graphs, &each)?, run_burst(session, &graphs, &each)?);
        let lasted: Vec<u64> = first.iter().zip(&second).map(|(a, b)| *a.min(b)).collect();
        let fastest = lasted.iter().copied().min().unwrap_or(u64::MAX);
        match longer(launches, fastest, min_block_ns) {
            Some(more) => launches = more,
            None => return Ok((graphs, launches, lasted)),
        }
    }
}

/// Launches of a block that lasts long enough, by doubling; `None` when it does already or can't.
fn longer(launches: usize, lasted_ns: u64, min_ns: u64) -> Option<usize> {
    let (mut more, mut expected) = (launches, lasted_ns.max(1));
    while expected < min_ns && more * 2 <= LAUNCHES_MAX {
        (more, expected) = (more * 2, expected * 2);
    }
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

/// Nanoseconds of each block of `order`, queued behind a lead-in.
fn run_burst(session: &Rc<Session>, graphs: &[Graph], order: &[usize]) -> Result<Vec<u64>, Stop> {
    let events = (0..=order.len()).map(|_| Event::new(session)).collect::<Result<Vec<_>, _>>()?;
    let Some(last) = order.last() else { return Ok(Vec::new()) };
    graphs[*last].go()?;
    events[0].record()?;
    for (program, event) in order.iter().zip(&events[1..]) {
        graphs[*program].go()?;
        event.record()?;
    }
    session.wait()?;
    events.windows(2).map(|pair| pair[0].until(&pair[1])).collect()
}

#[cfg(test)]
mod tests {
    use super::{LAUNCHES_MAX, Regime, bursts, longer};

    #[test]
    fn blocks_grow_by_doubling() {
        assert_eq!(longer(10, 30_000, 200_000), Some(80));
        assert_eq!(longer(10, 200_000, 200_000), None);
        assert_eq!(longer(LAUNCHES_MAX, 1, 200_000), None);
        assert_eq!(longer(3, 0, 4), Some(12));
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
