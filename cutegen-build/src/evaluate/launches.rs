//! One case on one variant: launching it again and again on freshly filled arenas, and looking at everything after
//! each launch.
//!
//! Order of checks: out of bounds, inputs, untouched, unwritten, values, repeats, baseline; the first that fails is the
//! verdict.

use super::arena::{POISON, SECOND_POISON};
use super::candidate::Loadable;
use super::case::Case;
use super::compare::{Before, compare, poisoned, touched};
use super::element;
use super::fault::{Check, Fault};
use super::image::{Image, place};
use super::judge::Judge;
use super::outcome::{Correctness, Outcome};
use super::protocol::{Action, Backend, Done, Job, Reply, Run};
use super::session::{Halt, program, running};

impl Judge {
    /// Launches a case `repeats` times.
    pub(super) fn launches(
        &mut self,
        variant: &Loadable,
        case: &Case,
        image: &Image,
        repeats: u32,
        passed: &mut Correctness,
    ) -> Result<(), Halt> {
        let first = self.launch(variant, case, image, POISON, true)?;
        self.untouched(case, &first, POISON)?;
        for repeat in 1..repeats.max(2) {
            let poison = if repeat % 2 == 0 { POISON } else { SECOND_POISON };
            let again = self.launch(variant, case, image, poison, false)?;
            self.untouched(case, &again, poison)?;
            self.unwritten(case, &first, &again, poison)?;
            if repeat == 1 {
                self.values(case, &first, passed)?;
            }
            self.repeat(case, &first, &again, repeat, passed)?;
            if self.settings.workers.backend == Backend::Cuda {
                self.repeats_on_device(variant, case, image, repeats)?;
                break;
            }
        }
        self.near_baseline(case, &first)
    }

    /// One launch on a freshly filled arena; the contents of all tensors after it.
    pub(super) fn launch(
        &mut self,
        variant: &Loadable,
        case: &Case,
        image: &Image,
        poison: u8,
        reload: bool,
    ) -> Result<Vec<Vec<u8>>, Halt> {
        let run = Run { repeats: 1, reload };
        self.run(variant, case, image, poison, run)?;
        let worker = self.worker()?;
        let read = |t: usize| match case.expected[t] {
            Some(_) => worker.arena.slice(image.tensors[t]).map(<[u8]>::to_vec),
            None => Ok(Vec::new()),
        };
        Ok((0..image.tensors.len()).map(read).collect::<Result<_, _>>()?)
    }

    fn run(
        &mut self,
        variant: &Loadable,
        case: &Case,
        image: &Image,
        poison: u8,
        run: Run,
    ) -> Result<Done, Halt> {
        self.check_size(image.bytes)?;
        let worker = running(&mut self.worker, &self.settings.workers, self.folder.path())?;
        worker.arena.grow(image.bytes)?;
        image.fill(&mut worker.arena, case, &variant.candidate.contract, poison, &self.settings.checks)?;
        let program = program(variant, vec![image.tensors.clone()], image.workspace);
        let job = Job {
            arena_bytes: image.bytes,
            axes: case.axes.clone(),
            scalars: case.scalars.clone(),
            programs: vec![program],
            action: Action::Run(run),
        };
        let done = match self.answer(job, self.settings.deadline)? {
            Reply::Done(done) => done,
            other => return Err(self.unexpected(&other)),
        };
        let arena = &running(&mut self.worker, &self.settings.workers, self.folder.path())?.arena;
        let fault = image.trespass(arena, &self.spec, case, &self.settings.checks)?;
        fault.map_or(Ok(done), |fault| Err(incorrect(fault)))
    }

    fn repeats_on_device(
        &mut self,
        variant: &Loadable,
        case: &Case,
        image: &Image,
        repeats: u32,
    ) -> Result<(), Halt> {
        if !self.spec.deterministic || !self.settings.checks.has(Check::Repeats) {
            return Ok(());
        }
        let done = self.run(variant, case, image, POISON, Run { repeats, reload: false })?;
        let result = (0..self.spec.tensors.len()).find(|t| case.expected[*t].is_some());
        match (done.differing_repeats, result) {
            (0, _) | (_, None) => Ok(()),
            (repeat, Some(t)) => {
                let place = place(&self.spec, case, t, 0);
                Err(incorrect(Fault::NotRepeatable { place, repeat, first: f64::NAN, found: f64::NAN }))
            }
        }
    }

    /// Elements that no assignment addresses hold what they held before the launch.
    fn untouched(&self, case: &Case, found: &[Vec<u8>], poison: u8) -> Result<(), Halt> {
        for (t, tensor) in self.spec.tensors.iter().enumerate() {
            let Some(expected) = &case.expected[t] else { continue };
            let (before, filled) = match &case.contents[t] {
                Some(contents) => (Before::Contents(contents), true),
                None => (Before::Poison(poison), self.settings.checks.has(Check::Poison)),
            };
            if !filled || !self.settings.checks.has(Check::Untouched) {
                continue;
            }
            if let Some(element) = touched(tensor.dtype, &found[t], before, expected) {
                let place = place(&self.spec, case, t, element);
                return Err(incorrect(Fault::Touched { place, element: element as u64 }));
            }
        }
        Ok(())
    }

    /// Elements that still hold the poison of this launch, or of the first, where the other launch has something else.
    /// Without promised repeatability only the poisons of both prove it.
    fn unwritten(&self, case: &Case, first: &[Vec<u8>], again: &[Vec<u8>], poison: u8) -> Result<(), Halt> {
        let outputs = self.spec.tensors.iter().enumerate().filter(|(t, _)| case.contents[*t].is_none());
        for (t, tensor) in outputs.filter(|_| self.settings.checks.has(Check::Poison)) {
            let Some(expected) = &case.expected[t] else { continue };
            let written = (0..expected.bound.len()).filter(|e| expected.is_written(*e));
            let unwritten = written.filter(|element| {
                let bits = |bytes: &[u8]| element::bits(tensor.dtype, bytes, *element);
                let holds = |bits: u64, poison: u8| bits == poisoned(tensor.dtype, poison, *element);
                let (a, b) = (bits(&first[t]), bits(&again[t]));
                a != b && {
                    let held = (holds(a, POISON), holds(b, poison));
                    if self.spec.deterministic { held.0 || held.1 } else { held.0 && held.1 }
                }
            });
            let mut unwritten = unwritten.peekable();
            if let Some(element) = unwritten.peek().copied() {
                let place = place(&self.spec, case, t, element);
                return Err(incorrect(Fault::Unwritten { place, elements: unwritten.count() as u64 }));
            }
        }
        Ok(())
    }

    fn values(&self, case: &Case, found: &[Vec<u8>], passed: &mut Correctness) -> Result<(), Halt> {
        if !self.settings.checks.has(Check::Values) {
            return Ok(());
        }
        for (t, tensor) in self.spec.tensors.iter().enumerate() {
            let Some(expected) = &case.expected[t] else { continue };
            let compared = compare(tensor.dtype, &found[t], expected);
            if let Some(wrong) = compared.wrong {
                return Err(incorrect(Fault::of(wrong, place(&self.spec, case, t, wrong.element))));
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
        case: &Case,
        first: &[Vec<u8>],
        again: &[Vec<u8>],
        repeat: u32,
        passed: &mut Correctness,
    ) -> Result<(), Halt> {
        if !self.spec.deterministic {
            return self.values(case, again, passed);
        }
        if !self.settings.checks.has(Check::Repeats) {
            return Ok(());
        }
        for (t, tensor) in self.spec.tensors.iter().enumerate() {
            let Some(expected) = case.expected[t].as_ref().filter(|_| first[t] != again[t]) else { continue };
            let bits = |bytes: &[u8], element: usize| element::bits(tensor.dtype, bytes, element);
            let mut written = (0..expected.bound.len()).filter(|e| expected.is_written(*e));
            let Some(index) = written.find(|e| bits(&first[t], *e) != bits(&again[t], *e)) else { continue };
            let [first, found] =
                [&first[t], &again[t]].map(|bytes| element::read(tensor.dtype, bytes, index));
            let place = place(&self.spec, case, t, index);
            return Err(incorrect(Fault::NotRepeatable { place, repeat, first, found }));
        }
        Ok(())
    }
}

fn incorrect(fault: Fault) -> Halt {
    Outcome::Incorrect(fault).into()
}
