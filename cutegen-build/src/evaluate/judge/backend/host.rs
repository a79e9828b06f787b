//! The host's memory backend: bytes of a mapping that the runner shares, references from a shared object of ours.

use std::rc::Rc;

use cutegen_spec::tensor::Role;

use super::{Differing, Filling, Holding, Inputs, MemoryBackend, OutOfBounds, Output, Slots, filled_with};
use crate::evaluate::device::clocks::CardId;
use crate::evaluate::error::Error;
use crate::evaluate::judge::compare::{self, Before, Compared, is_conclusive, poisoned};
use crate::evaluate::judge::content::{Bytes, Contents, drawn};
use crate::evaluate::judge::element;
use crate::evaluate::judge::image::Image;
use crate::evaluate::judge::reference::{Call, Expected, Reference, UNTOUCHED};
use crate::evaluate::judge::rms::{Moments, Rule, moments};
use crate::evaluate::judge::strided::Placed;
use crate::evaluate::wire::arena::{damage, fill_guard};
use crate::evaluate::wire::memory::SharedMemory;
use crate::evaluate::wire::protocol::{Memory, Region};
use crate::outcome::{Check, Checks};

/// Cost of a reference that takes a CPU core a few seconds.
pub(in crate::evaluate) const REACH: u64 = 1 << 30;

/// Bytes and a reference.
pub(in crate::evaluate) struct HostBackend {
    reference: Reference,
    /// Runners map arenas twice while they grow, so only half of their address space is an arena.
    most: u64,
}

/// A case in the host's memory.
pub(in crate::evaluate) struct HostCase {
    /// What each tensor holds before a launch; none for outputs.
    pub(in crate::evaluate) contents: Bytes,
    /// What each tensor must hold after it; none for inputs.
    pub(in crate::evaluate) expected: Vec<Option<Expected>>,
}

impl HostBackend {
    /// A backend for runners with this much address space.
    pub(in crate::evaluate) fn new(reference: Reference, address_space: u64) -> Self {
        Self { reference, most: address_space / 2 }
    }
}

/// What the reference says of `inputs`, by tensor.
pub(super) fn expect(reference: &Reference, inputs: &Inputs<'_>) -> Result<Vec<Option<Expected>>, Error> {
    let read: Vec<Vec<u8>> = drawn(inputs.contents.clone()).into_iter().flatten().collect();
    expect_of(reference, inputs, &read)
}

/// The same of what each input holds, whose bytes are `read`.
pub(super) fn expect_of(
    reference: &Reference,
    inputs: &Inputs<'_>,
    read: &[Vec<u8>],
) -> Result<Vec<Option<Expected>>, Error> {
    let Inputs { spec, axes, scalars, is_exact, sampled, .. } = inputs;
    let results = || (0..spec.tensors.len()).filter(|t| spec.tensors[*t].role != Role::Input);
    let spans = results().map(|t| Ok(Placed::new(&spec.tensors[t], axes)?.span));
    let outputs: Vec<usize> = spans.collect::<Result<_, Error>>()?;
    let call = Call { inputs: read, axes, scalars, outputs: &outputs, exact: *is_exact, sampled: *sampled };
    let mut expected: Vec<Option<Expected>> = vec![None; spec.tensors.len()];
    for (t, result) in results().zip(reference.call(&call)) {
        expected[t] = Some(result);
    }
    Ok(expected)
}

impl MemoryBackend for HostBackend {
    type Arena = SharedMemory;
    type Held = HostCase;
    type Left = Vec<Vec<u8>>;
    type Drawn = Vec<Rc<Contents>>;

    const DRAWS: Option<usize> = None;

    fn card(&self) -> Option<CardId> {
        None
    }

    fn reach(&self) -> u64 {
        REACH
    }

    fn given(&self, tensors: &[Vec<u8>]) -> Result<Vec<Vec<u8>>, Error> {
        Ok(tensors.to_vec())
    }

    fn most(&self, _: Option<&SharedMemory>) -> Result<u64, Error> {
        Ok(self.most)
    }

    fn arena(&self, bytes: u64) -> Result<SharedMemory, Error> {
        let mut arena = SharedMemory::create()?;
        self.grow(&mut arena, bytes)?;
        Ok(arena)
    }

    fn grow(&self, arena: &mut SharedMemory, bytes: u64) -> Result<bool, Error> {
        if bytes >= self.most {
            let most = self.most;
            return Err(Error::Shape(format!("an arena of {bytes} bytes exceeds the runner's {most}")));
        }
        arena.grow(bytes)?;
        Ok(true)
    }

    fn memory(&self, arena: &SharedMemory) -> Memory {
        Memory::Host { fd: arena.fd() }
    }

    fn hold(&self, inputs: Inputs<'_>) -> Result<Holding<HostCase>, Error> {
        let expected = expect(&self.reference, &inputs)?;
        let Inputs { spec, contents, .. } = inputs;
        let is_loose =
            |t: &usize| expected[*t].as_ref().is_some_and(|e| !is_conclusive(spec.tensors[*t].dtype, e));
        let loose_bounds = (0..spec.tensors.len()).filter(is_loose).collect();
        let is_finite = expected.iter().flatten().all(mostly_finite);
        let held = HostCase { contents: drawn(contents), expected };
        Ok(Holding { loose_bounds, is_finite, bytes: held.bytes(), held })
    }

    fn contents(&self, held: &HostCase) -> Result<Bytes, Error> {
        Ok(held.contents.clone())
    }

    fn fill(&self, arena: &mut SharedMemory, filling: &Filling<'_, HostCase>) -> Result<(), Error> {
        fill(arena, &filling.held.contents, filling)
    }

    fn has_gaps(&self, output: &Output<'_, Self>) -> bool {
        output.expected().is_none_or(|expected| expected.bound.contains(&UNTOUCHED))
    }

    fn stale(
        &self,
        arena: &mut SharedMemory,
        output: &Output<'_, Self>,
        region: Region,
        left: &Vec<Vec<u8>>,
    ) -> Result<(), Error> {
        let memory = arena.slice_mut(region)?;
        memory.copy_from_slice(&left[output.tensor]);
        memory.rotate_left(output.dtype.bytes().min(memory.len()));
        Ok(())
    }

    fn settle(&self) -> Result<(), Error> {
        Ok(())
    }

    fn out_of_bounds(
        &self,
        arena: &SharedMemory,
        image: &Image,
        held: &HostCase,
        checks: &Checks,
    ) -> Result<Option<OutOfBounds>, Error> {
        for guard in image.guards.iter().filter(|_| checks.has(Check::Guards)) {
            if let Some(at) = damage(arena.slice(*guard)?, guard.offset) {
                return Ok(Some(OutOfBounds::Guard(guard.offset + at as u64)));
            }
        }
        for (t, given) in held.contents.iter().enumerate().filter(|_| checks.has(Check::Inputs)) {
            let (Some(given), None) = (given, &held.expected[t]) else { continue };
            let found = arena.slice(image.tensors[t])?;
            if let Some(byte) = found.iter().zip(given).position(|(found, given)| found != given) {
                return Ok(Some(OutOfBounds::Input(t, byte)));
            }
        }
        Ok(None)
    }

    fn not_zero(&self, arena: &SharedMemory, regions: &[Region]) -> Result<Option<u64>, Error> {
        for region in regions {
            if let Some(at) = arena.slice(*region)?.iter().position(|byte| *byte != 0) {
                return Ok(Some(region.offset + at as u64));
            }
        }
        Ok(None)
    }

    fn left(&self, arena: &SharedMemory, regions: &[Region]) -> Result<Vec<Vec<u8>>, Error> {
        regions.iter().map(|region| arena.slice(*region).map(<[u8]>::to_vec)).collect()
    }

    fn same(&self, a: &Vec<Vec<u8>>, b: &Vec<Vec<u8>>) -> Result<bool, Error> {
        Ok(a == b)
    }

    fn touched(
        &self,
        output: &Output<'_, Self>,
        left: &Vec<Vec<u8>>,
        poison: u8,
    ) -> Result<Option<usize>, Error> {
        let Some(expected) = output.expected() else { return Ok(None) };
        let before =
            output.held.contents[output.tensor].as_deref().map_or(Before::Poison(poison), Before::Contents);
        Ok(compare::touched(output.dtype, &left[output.tensor], before, expected))
    }

    fn unwritten(
        &self,
        output: &Output<'_, Self>,
        [(first, poison), (again, again_poison)]: [(&Vec<Vec<u8>>, u8); 2],
        both: bool,
    ) -> Result<Option<(usize, u64)>, Error> {
        let Some(expected) = output.expected() else { return Ok(None) };
        let bits = |left: &[Vec<u8>], e: usize| element::bits(output.dtype, &left[output.tensor], e);
        let holds = |bits: u64, poison: u8, e: usize| bits == poisoned(output.dtype, poison, e);
        let written = (0..expected.bound.len()).filter(|e| expected.is_written(*e));
        let mut unwritten = written.filter(|e| {
            let (a, b) = (bits(first, *e), bits(again, *e));
            let held = (holds(a, poison, *e), holds(b, again_poison, *e));
            a != b && if both { held.0 && held.1 } else { held.0 || held.1 }
        });
        Ok(unwritten.next().map(|element| (element, 1 + unwritten.count() as u64)))
    }

    fn compare(&self, output: &Output<'_, Self>, left: &Vec<Vec<u8>>) -> Result<Compared, Error> {
        let Some(expected) = output.expected() else { return Ok(Compared::default()) };
        Ok(compare::compare(output.dtype, &left[output.tensor], expected))
    }

    fn differing(
        &self,
        output: &Output<'_, Self>,
        [first, again]: [&Vec<Vec<u8>>; 2],
    ) -> Result<Option<Differing>, Error> {
        let (Output { tensor, dtype, .. }, Some(expected)) = (output, output.expected()) else {
            return Ok(None);
        };
        if first[*tensor] == again[*tensor] {
            return Ok(None);
        }
        let bits = |left: &[Vec<u8>], e: usize| element::bits(*dtype, &left[*tensor], e);
        let mut written = (0..expected.bound.len()).filter(|e| expected.is_written(*e));
        Ok(written.find(|e| bits(first, *e) != bits(again, *e)).map(|element| {
            let [first, again] = [first, again].map(|left| element::read(*dtype, &left[*tensor], element));
            Differing { element, first, again }
        }))
    }

    fn moments(&self, output: &Output<'_, Self>, left: &Vec<Vec<u8>>, rule: Rule) -> Result<Moments, Error> {
        let Some(expected) = output.expected() else { return Ok(Moments::default()) };
        Ok(moments(rule, &left[output.tensor], expected))
    }

    fn drawn(&self, slots: Vec<Rc<Contents>>) -> Result<Self::Drawn, Error> {
        Ok(slots)
    }

    fn fill_rotation(
        &self,
        arena: &mut SharedMemory,
        drawn: &Self::Drawn,
        programs: &[Slots<'_>],
        guards: &[Region],
        poison: u8,
    ) -> Result<(), Error> {
        for guard in guards {
            fill_guard(arena.slice_mut(*guard)?, guard.offset);
        }
        for program in programs {
            arena.slice_mut(program.scratch)?.fill(poison);
            arena.slice_mut(program.kept_zero)?.fill(0);
            for (slot, contents) in program.slots.iter().zip(drawn.iter().cycle()) {
                for (region, contents) in slot.iter().zip(contents.iter()) {
                    match contents {
                        Some(content) => arena.slice_mut(*region)?.copy_from_slice(&content.bytes()),
                        None => arena.slice_mut(*region)?.fill(poison),
                    }
                }
            }
        }
        Ok(())
    }
}

impl Output<'_, HostBackend> {
    fn expected(&self) -> Option<&Expected> {
        self.held.expected[self.tensor].as_ref()
    }
}

/// Whether no more than half of an output is NaN or infinite.
fn mostly_finite(expected: &Expected) -> bool {
    let written = (0..expected.value.len()).filter(|e| expected.is_compared(*e));
    let (all, odd) = written.fold((0_usize, 0_usize), |(all, odd), e| {
        (all + 1, odd + usize::from(!expected.value[e].is_finite()))
    });
    2 * odd <= all
}

/// Fills an arena of the host.
pub(in crate::evaluate) fn fill<H>(
    arena: &mut SharedMemory,
    contents: &Bytes,
    filling: &Filling<'_, H>,
) -> Result<(), Error> {
    let Filling { image, contract, poison, found, checks, .. } = filling;
    for guard in &image.guards {
        fill_guard(arena.slice_mut(*guard)?, guard.offset);
    }
    for (t, (region, contents)) in image.tensors.iter().zip(contents).enumerate() {
        match contents {
            Some(contents) => arena.slice_mut(*region)?.copy_from_slice(contents),
            None if checks.has(Check::Poison) && found.fills_output(t) => {
                arena.slice_mut(*region)?.fill(*poison);
            }
            None => {}
        }
    }
    for (region, part) in image.parts.iter().zip(&contract.workspace).filter(|(_, part)| found.fills(part)) {
        arena.slice_mut(*region)?.fill(filled_with(part, *poison, checks));
    }
    Ok(())
}

impl HostCase {
    fn bytes(&self) -> usize {
        let held: usize = self.contents.iter().flatten().map(Vec::len).sum();
        let several = |e: &Expected| e.also.values().map(|v| 64 + 8 * v.len()).sum::<usize>();
        let wanted = |e: &Expected| 16 * e.value.len() + several(e);
        held + self.expected.iter().flatten().map(wanted).sum::<usize>()
    }
}
