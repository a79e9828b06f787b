//! A benchmark batch: many candidates timed in one runner, over one rotation of inputs, while they are ranked. Each round gives
//! every one a block, in random order, and each is compared with the last of its round, the batch reference candidate. Setting a comparison up takes
//! longer than its blocks do, and a batch is set up once. What it finds decides nothing but who gets into the final evaluation,
//! which are timed in pairs.

use super::rotation::Entrant;
use super::{Halted, Timing, Turn};
use crate::evaluate::error::Error;
use crate::evaluate::judge::backend::MemoryBackend;
use crate::evaluate::judge::candidate::Candidate;
use crate::evaluate::judge::strided::Placed;
use crate::evaluate::stats::{interleave, rankings};
use crate::evaluate::wire::protocol::Regime;
use crate::outcome::{Comparison, Crash, Outcome};
use cutegen_spec::tensor::Role;

/// Memory that the programs of a batch may take together.
const BYTES_MOST: u64 = 24 << 30;
/// Programs of a batch at most.
const PROGRAMS_MOST: u64 = 32;

/// What came of each candidate of a batch.
type Rankings = Vec<Result<Comparison, Outcome>>;

impl<D: MemoryBackend> Timing<'_, D> {
    /// See [`Judge::batch`](crate::evaluate::Judge::batch).
    pub(in crate::evaluate) fn batch(
        &mut self,
        batch_reference: &Candidate,
        others: &[Candidate],
        axes: &[i64],
        rounds: usize,
    ) -> Result<Rankings, Error> {
        self.checker.runner.bench(0)?; // its cache sizes the rotation
        let mut all = Vec::with_capacity(others.len());
        for some in others.chunks(self.lanes(axes)?) {
            match (self.together(batch_reference, some, axes, rounds.min(self.checker.settings.pairs)), some)
            {
                (Ok(rankings), _) => all.extend(rankings),
                (Err(Halted::Error(error)), _) => return Err(error),
                (Err(Halted::Unmeasured(unmeasured)), [_]) => all.push(Err(unmeasured.into_outcome())),
                // whose fault it is shows when each runs with the batch reference candidate alone
                (Err(Halted::Unmeasured(_)), _) => {
                    for candidate in some {
                        all.extend(self.batch(
                            batch_reference,
                            std::slice::from_ref(candidate),
                            axes,
                            rounds,
                        )?);
                    }
                }
            }
        }
        Ok(all)
    }

    /// How many candidates run beside the batch reference candidate.
    fn lanes(&self, axes: &[i64]) -> Result<usize, Error> {
        let (slots, mut inputs, mut outputs) = (self.slots(axes, Turn::Ranking)?, 0, 1);
        for tensor in &self.checker.spec.tensors {
            let bytes = slots * Placed::new(tensor, axes)?.bytes() as u64;
            match tensor.role {
                Role::Input => inputs += bytes,
                Role::Inout | Role::Output => outputs += bytes,
            }
        }
        let programs = BYTES_MOST.saturating_sub(inputs) / outputs;
        Ok((programs.clamp(2, PROGRAMS_MOST) - 1) as usize)
    }

    fn together(
        &mut self,
        batch_reference: &Candidate,
        others: &[Candidate],
        axes: &[i64],
        count: usize,
    ) -> Result<Rankings, Halted> {
        let list: Vec<Candidate> = others.iter().chain([batch_reference]).cloned().collect();
        let entrants: Vec<Entrant> = self.variants(&list)?;
        let shared = self.checker.runner.lease.shared();
        let rotation = self.ready(&entrants, axes, Turn::Ranking)?;
        drop(shared);
        let _alone = self.checker.runner.lease.alone();
        let untimed = self.untimed(&rotation)?;
        let order = interleave(list.len(), count, rotation.seed);
        let (timed, _) = self.timed(&rotation, &order, (Turn::Ranking, Regime::Burst))?;
        let strayed = self.strayed(&rotation, &untimed.left)?;
        if strayed.contains(&others.len()) {
            return Err(self.timed_otherwise(axes).into());
        }
        let found = rankings(list.len(), &order, timed.launches, &timed.block_ns, rotation.seed);
        let found = found
            .ok_or_else(|| Halted::from(Outcome::Crashed(Crash::Protocol("timed no rounds".to_owned()))))?;
        let mut all = Rankings::with_capacity(others.len());
        for (program, comparison) in found.into_iter().enumerate() {
            let otherwise = strayed.contains(&program).then(|| self.timed_otherwise(axes));
            let wrong = otherwise.or_else(|| self.check_floor(axes, &comparison));
            all.push(wrong.map_or(Ok(comparison), Err));
        }
        Ok(all)
    }
}
