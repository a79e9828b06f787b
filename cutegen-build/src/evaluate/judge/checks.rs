//! One case on one program: launching it again and again on freshly filled arenas, and looking at everything after
//! each launch.
//!
//! Order of checks: out of bounds, inputs, kept state, registers, kept zeros, untouched, unwritten, values, repeats, baseline; the first that
//! fails is the verdict.

use std::time::{Duration, Instant};

use cutegen_spec::contract::Contract;
use cutegen_spec::tensor::Role;

use super::backend::{Differing, Filling, Found, MemoryBackend, OutOfBounds, Output};
use super::case::Case;
use super::checker::Checker;
use super::element;
use super::image::{Image, place};
use super::runner_slot::{Halt, Launchable, program};
use crate::evaluate::error::Error;
use crate::evaluate::rng::mix;
use crate::evaluate::wire::arena::{POISON, poison};
use crate::evaluate::wire::protocol::{Action, Done, Job, Program, Region, Reply, Run};
use crate::outcome::{Check, Correctness, Distribution, Fault, Outcome};

/// Most repeats of one job. A runner and the judge take turns on a device, and a turn takes longer than a launch.
const TOGETHER: usize = 64;
/// The arena that they share, which most runners have anyway.
const TOGETHER_BYTES: u64 = 64 << 20;

/// How late a kernel before one that may start early writes, nanoseconds: what is right by luck at one is wrong at another. At
/// the second what is read before the wait is followed soon by what is right, at the third by none for long.
const LATE_NS: [u64; 3] = [100_000, 20_000, 1_000_000];

/// How often a case is launched.
pub(in crate::evaluate) struct Repeats {
    pub(in crate::evaluate) least: u32,
    pub(in crate::evaluate) most: u32,
    /// How long repeats beyond the least go on, and about how long those of one job may take.
    pub(in crate::evaluate) patience: Duration,
}

/// What a launch finds in outputs, and whether its module has been launched before.
pub(in crate::evaluate) enum Before<'a, D: MemoryBackend> {
    /// Poison, and a module freshly loaded.
    Loaded,
    /// This poison.
    Poisoned(u8),
    /// This poison, and before each kernel that may start early one that writes tensors and workspace so many nanoseconds
    /// late.
    Late(u8, u64),
    /// What an earlier launch left, an element further on: values that are plausible, and wrong where they lie.
    Stale(&'a D::Left),
    /// What the launch before left, which had other inputs: in outputs without gaps, in undefined workspace and on the stack.
    Changed,
    /// Poison, on pages of its own.
    Fenced,
}

impl<D: MemoryBackend> Checker<D> {
    /// Launches a case at least twice.
    pub(in crate::evaluate) fn launches(
        &mut self,
        (what, case, image): (&Launchable, &Case<D::Held>, &Image),
        Repeats { least, most, patience }: Repeats,
        changed: Option<&Case<D::Held>>,
        passed: &mut Correctness,
    ) -> Result<(), Halt> {
        let begun = Instant::now();
        let first = self.launch(what, case, image, Before::Loaded)?;
        // of this candidate's runner: the baseline may have one of its own
        (passed.device, passed.not_enforced) = (self.runner.device(), self.runner.not_enforced());
        self.untouched(case, &first, POISON)?;
        // at the same addresses, so that a kernel that knows them again is found out
        let started = Instant::now();
        let again = self.launch(what, case, image, self.late(case, 1))?;
        let took = started.elapsed();
        self.written(case, [&first, &again], 1)?;
        self.values(case, &first, passed)?;
        self.repeat(case, [&first, &again], 1, passed)?;
        passed.repeats = passed.repeats.max(2);
        if let Some(changed) = changed {
            self.launch_changed(what, changed, image)?;
        }
        let next = if self.may_start_early(&what.contract) { 4.min(most) } else { 2 };
        for repeat in 2..next {
            let again = self.launch(what, case, image, self.late(case, repeat))?;
            self.written(case, [&first, &again], repeat)?;
            self.repeat(case, [&first, &again], repeat, passed)?;
            passed.repeats = passed.repeats.max(repeat + 1);
        }
        let repeats: Vec<u32> = (next..most).collect();
        for several in repeats.chunks(at_once(image, took, patience)) {
            if several[0] >= least && begun.elapsed() > patience {
                break;
            }
            self.repeats((what, case, image), &first, several, passed)?;
            passed.repeats = passed.repeats.max(several[0] + several.len() as u32);
        }
        self.near_baseline(case, &first)
    }

    /// These repeats in one job, side by side in the arena.
    fn repeats(
        &mut self,
        (what, case, image): (&Launchable, &Case<D::Held>, &Image),
        first: &D::Left,
        repeats: &[u32],
        passed: &mut Correctness,
    ) -> Result<(), Halt> {
        let slots: Vec<(Image, Before<'_, D>)> = (0..)
            .zip(repeats)
            .map(|(slot, repeat)| {
                let before = match repeat % 4 {
                    2 if self.settings.checks.has(Check::Stale) => Before::Stale(first),
                    _ => Before::Poisoned(self.poison(case, *repeat)),
                };
                (image.further(slot * image.bytes), before)
            })
            .collect();
        let done = self.go(what, case, &slots)?;
        for ((image, _), repeat) in slots.iter().zip(repeats) {
            let again = self.left_by(case, image, &done)?;
            self.written(case, [first, &again], *repeat)?;
            self.repeat(case, [first, &again], *repeat, passed)?;
        }
        Ok(())
    }

    /// A repeat wrote all that the math writes, and nothing else of its outputs.
    fn written(&self, case: &Case<D::Held>, [first, again]: [&D::Left; 2], repeat: u32) -> Result<(), Halt> {
        let poison = self.poison(case, repeat);
        self.untouched(case, again, poison)?;
        self.unwritten(case, [(first, POISON), (again, poison)])
    }

    /// What this repeat of a case finds where the kernel before it is late.
    fn late<'a>(&self, case: &Case<D::Held>, repeat: u32) -> Before<'a, D>
    where
        D::Left: 'a,
    {
        let poison = self.poison(case, repeat);
        if self.settings.checks.has(Check::Late) {
            Before::Late(poison, late_ns(case.distribution, repeat))
        } else {
            Before::Poisoned(poison)
        }
    }

    /// Whether a kernel may run while the one before it is late.
    fn may_start_early(&self, contract: &Contract) -> bool {
        self.settings.checks.has(Check::Late) && contract.steps.iter().any(|step| step.pdl)
    }

    /// What outputs hold before this repeat of a case.
    fn poison(&self, case: &Case<D::Held>, repeat: u32) -> u8 {
        poison(self.settings.seed ^ mix(case.distribution as u64), repeat)
    }

    /// One launch on a freshly filled arena; copies of all inouts and outputs after it.
    pub(in crate::evaluate) fn launch(
        &mut self,
        what: &Launchable,
        case: &Case<D::Held>,
        image: &Image,
        before: Before<'_, D>,
    ) -> Result<D::Left, Halt> {
        let slot = [(image.clone(), before)];
        let done = self.go(what, case, &slot)?;
        self.left_by(case, image, &done)
    }

    /// Fills these slots, and launches once on each.
    fn go(
        &mut self,
        what: &Launchable,
        case: &Case<D::Held>,
        slots: &[(Image, Before<'_, D>)],
    ) -> Result<Done, Halt> {
        let arena_bytes = slots.iter().map(|(image, _)| image.bytes).max().unwrap_or(0);
        self.runner.bench(arena_bytes)?;
        slots.iter().try_for_each(|(image, before)| self.fill(what, case, image, before))?;
        self.cases.backend.settle()?;
        let reload = slots.iter().any(|(_, before)| matches!(before, Before::Loaded));
        let checks = &self.settings.checks;
        let (scramble, watch_globals) = (checks.has(Check::Scramble), checks.has(Check::Globals));
        let is_changed = slots.iter().any(|(_, before)| matches!(before, Before::Changed));
        let poison_stack = checks.has(Check::Stack) && !is_changed;
        let fenced = slots.iter().any(|(_, before)| matches!(before, Before::Fenced));
        let late_ns = slots.iter().find_map(|(_, before)| match before {
            Before::Late(_, late_ns) => Some(*late_ns),
            _ => None,
        });
        let tensors = slots.iter().map(|(image, _)| image.tensors.clone()).collect();
        let workspaces = slots.iter().map(|(image, _)| image.workspace).collect();
        let job = Job {
            arena_bytes,
            axes: case.axes.clone(),
            scalars: case.scalars.clone(),
            programs: vec![Program {
                only_read: self.spec.tensors_with(Role::Input).collect(),
                constant: (0..self.spec.tensors.len()).filter(|t| self.spec.tensors[*t].constant).collect(),
                ..program(what.code.clone(), tensors, workspaces)
            }],
            action: Action::Run(Run { reload, scramble, watch_globals, poison_stack, fenced, late_ns }),
        };
        match self.runner.answer(job, self.settings.deadline)? {
            Reply::Done(done) => Ok(done),
            Reply::Lacking(reason) => Err(Outcome::Blocked(reason).into()),
            other => Err(self.runner.unexpected(&other)),
        }
    }

    fn fill(
        &mut self,
        what: &Launchable,
        case: &Case<D::Held>,
        image: &Image,
        before: &Before<'_, D>,
    ) -> Result<(), Halt> {
        // what is kept in the workspace, or taken for done in outputs, would be found there
        let found = match before {
            Before::Changed => Found::Left(self.without_gaps(case)),
            _ => Found::Poison,
        };
        let (backend, checks) = (&self.cases.backend, &self.settings.checks);
        let Some(bench) = &mut self.runner.live else {
            return Err(Error::Worker("vanished".to_owned()).into());
        };
        let contract = &what.contract;
        let poison = match before {
            // of what is changed only gaps hold it
            Before::Loaded | Before::Stale(_) | Before::Changed | Before::Fenced => POISON,
            Before::Poisoned(poison) | Before::Late(poison, _) => *poison,
        };
        let filling = Filling { image, held: &case.held, contract, poison, found: &found, checks };
        backend.fill(&mut bench.arena, &filling)?;
        if let Before::Stale(left) = before {
            for t in self.spec.tensors_with(Role::Output) {
                let output = Output { held: &case.held, tensor: t, dtype: self.spec.tensors[t].dtype };
                if !backend.has_gaps(&output) {
                    backend.stale(&mut bench.arena, &output, image.tensors[t], left)?;
                }
            }
        }
        Ok(())
    }

    /// Positions of outputs whose elements are all assigned: in gaps poison proves that nothing was written.
    fn without_gaps(&self, case: &Case<D::Held>) -> Vec<usize> {
        let has_gaps = |t: &usize| self.cases.backend.has_gaps(&self.output(case, *t));
        self.spec.tensors_with(Role::Output).filter(|t| !has_gaps(t)).collect()
    }

    /// Copies of all inouts and outputs after a launch that wrote nothing else.
    fn left_by(&self, case: &Case<D::Held>, image: &Image, done: &Done) -> Result<D::Left, Halt> {
        self.out_of_bounds(case, image, done)?;
        self.kept_zero(case, image)?;
        self.copies(image)
    }

    /// Copies of all inouts and outputs.
    pub(in crate::evaluate) fn copies(&self, image: &Image) -> Result<D::Left, Halt> {
        let results: Vec<Region> = (0..image.tensors.len())
            .map(|t| if self.is_result(t) { image.tensors[t] } else { Region::default() })
            .collect();
        let Some(bench) = &self.runner.live else { return Err(Error::Worker("vanished".to_owned()).into()) };
        Ok(self.cases.backend.left(&bench.arena, &results)?)
    }

    /// What was written besides inouts and outputs.
    fn out_of_bounds(&self, case: &Case<D::Held>, image: &Image, done: &Done) -> Result<(), Halt> {
        let Some(bench) = &self.runner.live else { return Err(Error::Worker("vanished".to_owned()).into()) };
        let found =
            self.cases.backend.out_of_bounds(&bench.arena, image, &case.held, &self.settings.checks)?;
        match (found, &done.changed_global) {
            (Some(OutOfBounds::Guard(at)), _) => {
                Err(incorrect(Fault::OutOfBounds { place: image.nearest(&self.spec, case, at) }))
            }
            (Some(OutOfBounds::Input(t, byte)), _) => {
                let element = element::of_byte(self.spec.tensors[t].dtype, byte as i64) as usize;
                Err(incorrect(Fault::InputWritten { place: place(&self.spec, case, t, element) }))
            }
            (None, Some(section)) => {
                let t = self.results().next().unwrap_or(0);
                let (place, section) = (place(&self.spec, case, t, 0), section.clone());
                Err(incorrect(Fault::StateKept { place, section }))
            }
            (None, None) => self.kept_registers(case, done),
        }
    }

    /// What the contract keeps zero is so.
    fn kept_zero(&self, case: &Case<D::Held>, image: &Image) -> Result<(), Halt> {
        let Some(bench) = &self.runner.live else { return Err(Error::Worker("vanished".to_owned()).into()) };
        if image.kept_zero.is_empty() || !self.settings.checks.has(Check::KeptZero) {
            return Ok(());
        }
        let Some(at) = self.cases.backend.not_zero(&bench.arena, &image.kept_zero)? else { return Ok(()) };
        let t = self.results().next().unwrap_or(0);
        let (place, (part, byte)) = (place(&self.spec, case, t, 0), image.part(at));
        Err(incorrect(Fault::NotZero { place, part, byte }))
    }

    /// What a caller relies on is as it was.
    fn kept_registers(&self, case: &Case<D::Held>, done: &Done) -> Result<(), Halt> {
        match &done.changed_register {
            Some(register) if self.settings.checks.has(Check::Registers) => {
                let t = self.results().next().unwrap_or(0);
                let (place, register) = (place(&self.spec, case, t, 0), register.clone());
                Err(incorrect(Fault::RegisterChanged { place, register }))
            }
            _ => Ok(()),
        }
    }

    /// Elements that no assignment addresses hold what they held before the launch.
    pub(in crate::evaluate) fn untouched(
        &self,
        case: &Case<D::Held>,
        left: &D::Left,
        poison: u8,
    ) -> Result<(), Halt> {
        let checks = &self.settings.checks;
        for t in self.results().filter(|_| checks.has(Check::Untouched)) {
            let is_filled = self.spec.tensors[t].role == Role::Inout || checks.has(Check::Poison);
            if !is_filled {
                continue;
            }
            if let Some(element) = self.cases.backend.touched(&self.output(case, t), left, poison)? {
                let place = place(&self.spec, case, t, element);
                return Err(incorrect(Fault::Touched { place, element: element as u64 }));
            }
        }
        Ok(())
    }

    /// Elements that still hold the poison of this launch, or of the first, where the other launch has something else.
    /// Without promised repeatability only the poisons of both prove it.
    fn unwritten(&self, case: &Case<D::Held>, left: [(&D::Left, u8); 2]) -> Result<(), Halt> {
        let outputs = self.spec.tensors_with(Role::Output);
        for t in outputs.filter(|_| self.settings.checks.has(Check::Poison)) {
            let both = !self.spec.deterministic;
            let found = self.cases.backend.unwritten(&self.output(case, t), left, both)?;
            if let Some((element, elements)) = found {
                let place = place(&self.spec, case, t, element);
                return Err(incorrect(Fault::Unwritten { place, elements }));
            }
        }
        Ok(())
    }

    pub(in crate::evaluate) fn values(
        &self,
        case: &Case<D::Held>,
        left: &D::Left,
        passed: &mut Correctness,
    ) -> Result<(), Halt> {
        if !self.settings.checks.has(Check::Values) {
            return Ok(());
        }
        for t in self.results() {
            let compared = self.cases.backend.compare(&self.output(case, t), left)?;
            if let Some(wrong) = compared.wrong {
                let last = place(&self.spec, case, t, wrong.last).index;
                return Err(incorrect(wrong.fault(place(&self.spec, case, t, wrong.element), last)));
            }
            passed.elements += compared.judged;
            passed.not_judged += compared.not_judged;
            passed.worst_share = passed.worst_share.max(compared.worst_share);
        }
        Ok(())
    }

    /// Bit-equality with the first launch; where the spec gives that up, each launch is judged by its values.
    fn repeat(
        &self,
        case: &Case<D::Held>,
        [first, again]: [&D::Left; 2],
        repeat: u32,
        passed: &mut Correctness,
    ) -> Result<(), Halt> {
        if !self.spec.deterministic {
            return self.values(case, again, passed);
        }
        for t in self.results().filter(|_| self.settings.checks.has(Check::Repeats)) {
            let differing = self.cases.backend.differing(&self.output(case, t), [first, again])?;
            if let Some(Differing { element, first, again: found }) = differing {
                let place = place(&self.spec, case, t, element);
                return Err(incorrect(Fault::NotRepeatable { place, repeat, first, found }));
            }
        }
        Ok(())
    }

    pub(in crate::evaluate) fn output<'a>(&self, case: &'a Case<D::Held>, tensor: usize) -> Output<'a, D> {
        Output { held: &case.held, tensor, dtype: self.spec.tensors[tensor].dtype }
    }

    fn is_result(&self, tensor: usize) -> bool {
        self.spec.tensors[tensor].role != Role::Input
    }

    /// Positions of inouts and outputs.
    pub(in crate::evaluate) fn results(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.spec.tensors.len()).filter(|t| self.is_result(*t))
    }
}

/// Repeats of one job: as many as fit beside one another in little memory and do not take long.
fn at_once(image: &Image, took: Duration, patience: Duration) -> usize {
    let fit = TOGETHER_BYTES / image.bytes.max(1);
    let soon = patience.as_nanos() / took.as_nanos().max(1);
    u128::from(fit).min(soon).clamp(1, TOGETHER as u128) as usize
}

/// Normal inputs are launched behind each of these in turn; others, launched once so, share them out.
fn late_ns(distribution: Distribution, repeat: u32) -> u64 {
    LATE_NS[(distribution as usize + repeat as usize - 1) % LATE_NS.len()]
}

fn incorrect(fault: Fault) -> Halt {
    Outcome::Incorrect(fault).into()
}

#[cfg(test)]
mod tests {
    use super::{LATE_NS, late_ns};
    use crate::outcome::Distribution;

    #[test]
    fn normal_inputs_meet_each_delay_and_other_distributions_share_them_out() {
        let each = |of: &dyn Fn(u64) -> usize| LATE_NS.map(of);
        let of_normal = |late: u64| (1..4).filter(|n| late_ns(Distribution::Normal, *n) == late).count();
        assert_eq!(each(&of_normal), [1; 3]);
        let all = Distribution::ALL;
        let once = |late: u64| all.iter().filter(|d| late_ns(**d, 1) == late).count();
        assert_eq!(each(&once), [all.len() / 3; 3]);
    }
}
