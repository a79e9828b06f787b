//! The device's memory backend: memory that the judge makes, fills and reads in a context of its own, and lends to runners by
//! descriptor or handle. References lie in memory that no runner maps.

mod case;
mod draw;
mod piece;
mod pieces;
mod read;
mod spare;

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use cutegen_spec::dtype::DType;

use super::kernels::{Kernels, NONE, Word};
use super::{Differing, Filling, Holding, Inputs, MemoryBackend, OutOfBounds, Output, Slots, filled_with};
use crate::evaluate::device::clocks::CardId;
use crate::evaluate::device::memory::{DeviceMemory, Lent, Sharing};
use crate::evaluate::device::session::Session;
use crate::evaluate::error::Error;
use crate::evaluate::judge::compare::{Compared, Wrong, nothing};
use crate::evaluate::judge::content::{Bytes, Contents};
use crate::evaluate::judge::element;
use crate::evaluate::judge::image::Image;
use crate::evaluate::judge::rms::{MOST, Moments, Rule};
use crate::evaluate::wire::protocol::{Memory, Region};
use crate::outcome::{Check, Checks};
use case::Oracle;
pub(in crate::evaluate) use case::{Choice, CudaCase, Totals};
pub use draw::{Drawing, drawing};
use pieces::{Found, Pieces};
use spare::{Left, Spare};

/// The longest that work of the judge's own may take.
const WALL: Duration = Duration::from_secs(120);
/// What an arena begins with: most cases fit, so that most runners are never replaced.
const ARENA_LEAST: u64 = 64 << 20;
/// What a new runner's context takes of the device beside its arena, and more.
const BESIDE_ARENA: u64 = 1 << 30;
/// Offsets of tensors that no launch left are multiples of this.
const GIVEN_ALIGNMENT: u64 = 256;

/// A context, kernels of ours, and what gives references.
pub(in crate::evaluate) struct CudaBackend {
    spare: Spare,
    oracle: Oracle,
    kernels: Kernels,
    sharing: Sharing,
    session: Rc<Session>,
}

/// Memory that a runner maps.
pub(in crate::evaluate) struct Arena {
    memory: DeviceMemory,
    lent: Lent,
}

impl CudaBackend {
    /// Opens the device; `kernels` is the cubin of [`super::KERNELS`].
    pub(in crate::evaluate) fn open(kernels: &Path, oracle: Choice, sharing: Sharing) -> Result<Self, Error> {
        let session = Rc::new(Session::open(WALL)?);
        let kernels = Kernels::load(&session, kernels)?;
        let oracle = Oracle::open(oracle)?;
        Ok(Self { spare: Spare::default(), oracle, kernels, sharing, session })
    }

    /// A launch that notes a first position; that position.
    fn first(&self, launch: impl FnOnce(Word) -> Result<(), Error>) -> Result<Option<u64>, Error> {
        launch(Word::Wide(self.kernels.clear(&[NONE])?))?;
        self.kernels.first()
    }

    fn read_element(&self, dtype: DType, memory: &DeviceMemory, at: u64, index: usize) -> Result<f64, Error> {
        let bits = u64::from(dtype.bits());
        let (first, end) = (index as u64 * bits / 8, (index as u64 + 1) * bits);
        let mut bytes = vec![0; (end.div_ceil(8) - first) as usize];
        memory.read(at + first, &mut bytes)?;
        Ok(element::read(dtype, &bytes, if bits < 8 { index % 2 } else { 0 }))
    }
}

/// The code of a type in `kernels.cu`.
fn code(dtype: DType) -> Word {
    Word::Narrow(match dtype {
        DType::F64 => 0,
        DType::F32 => 1,
        DType::F16 => 2,
        DType::Bf16 => 3,
        DType::F8e4m3 => 4,
        DType::F8e5m2 => 5,
        DType::I8 => 6,
        DType::I32 => 7,
        DType::I64 => 8,
        DType::I4 => 9,
        DType::U8 => 10,
        DType::Bool => 11,
        DType::U4 => 12,
    })
}

impl MemoryBackend for CudaBackend {
    type Arena = Arena;
    type Held = CudaCase;
    type Left = Left;
    type Drawn = Vec<Vec<Option<DeviceMemory>>>;

    const DRAWS: Option<usize> = Some(draw::LEAST);

    fn card(&self) -> Option<CardId> {
        self.session.card()
    }

    fn reach(&self) -> u64 {
        self.oracle.reach()
    }

    fn given(&self, tensors: &[Vec<u8>]) -> Result<Left, Error> {
        let mut regions = Vec::with_capacity(tensors.len());
        let mut end = 0_u64;
        for tensor in tensors {
            regions.push(Region { offset: end, bytes: tensor.len() as u64 });
            end += (tensor.len() as u64).next_multiple_of(GIVEN_ALIGNMENT);
        }
        let memory = DeviceMemory::new(&self.session, end)?;
        for (region, tensor) in regions.iter().zip(tensors) {
            memory.write(region.offset, tensor)?;
        }
        self.spare.copy((&self.session, &self.kernels), &memory, &regions)
    }

    fn most(&self, present: Option<&Arena>) -> Result<u64, Error> {
        let present = present.map_or(0, |arena| arena.memory.bytes());
        Ok(present.max((self.session.free_bytes()? + present).saturating_sub(BESIDE_ARENA)) + 1)
    }

    fn arena(&self, bytes: u64) -> Result<Arena, Error> {
        let (memory, lent) = DeviceMemory::share(&self.session, bytes.max(ARENA_LEAST), self.sharing)?;
        Ok(Arena { memory, lent })
    }

    fn grow(&self, arena: &mut Arena, bytes: u64) -> Result<bool, Error> {
        Ok(bytes <= arena.memory.bytes())
    }

    fn memory(&self, arena: &Arena) -> Memory {
        arena.lent.named(arena.memory.bytes())
    }

    fn hold(&self, inputs: Inputs<'_>) -> Result<Holding<CudaCase>, Error> {
        self.spare.free();
        let drawn = self.place(&inputs.contents)?;
        let mut held = self.oracle.hold(&self.session, &inputs, drawn)?;
        let (mut loose_bounds, mut is_finite) = (Vec::new(), true);
        for (t, expected) in held.expected.iter_mut().enumerate() {
            let Some(expected) = expected else { continue };
            let dtype = inputs.spec.tensors[t].dtype;
            let at = self.kernels.clear(&[0, 0, 0, 0])?;
            let words = [
                code(dtype),
                Word::Wide(expected.value()?),
                Word::Wide(expected.bound()?),
                Word::Wide(expected.elements),
                Word::Real(nothing(dtype)),
                Word::Wide(at),
            ];
            self.kernels.go("cutegen_loose", expected.elements, &words)?;
            let [written, untold, odd, gaps] = self.kernels.results(4)?[..] else { continue };
            is_finite &= 2 * odd <= written;
            expected.has_gaps = gaps > 0;
            if written == 0 || untold * 100 > written {
                loose_bounds.push(t);
            }
        }
        Ok(Holding { loose_bounds, is_finite, bytes: held.bytes(), held })
    }

    fn contents(&self, held: &CudaCase) -> Result<Bytes, Error> {
        let read = |memory: &Option<DeviceMemory>| memory.as_ref().map(DeviceMemory::to_vec).transpose();
        Ok(held.inputs.iter().map(read).collect::<Result<_, _>>()?)
    }

    fn fill(&self, arena: &mut Arena, filling: &Filling<'_, CudaCase>) -> Result<(), Error> {
        let Filling { image, held, contract, poison, found, checks } = filling;
        let mut pieces = Pieces::default();
        for guard in &image.guards {
            pieces.guard(&arena.memory, *guard)?;
        }
        for (t, (region, input)) in image.tensors.iter().zip(&held.inputs).enumerate() {
            match input {
                Some(input) => pieces.copy(&arena.memory, *region, input, 0)?,
                None if checks.has(Check::Poison) && found.fills_output(t) => {
                    pieces.fill(&arena.memory, *region, *poison)?;
                }
                None => {}
            }
        }
        for (region, part) in
            image.parts.iter().zip(&contract.workspace).filter(|(_, part)| found.fills(part))
        {
            pieces.fill(&arena.memory, *region, filled_with(part, *poison, checks))?;
        }
        pieces.go(&self.kernels)
    }

    fn has_gaps(&self, output: &Output<'_, Self>) -> bool {
        output.expected().is_none_or(|expected| expected.has_gaps)
    }

    fn stale(
        &self,
        arena: &mut Arena,
        output: &Output<'_, Self>,
        region: Region,
        left: &Left,
    ) -> Result<(), Error> {
        let step = (output.dtype.bytes() as u64).min(region.bytes);
        let (memory, from) = (left.memory(), left.regions()[output.tensor].offset);
        let most = Region { offset: region.offset, bytes: region.bytes - step };
        arena.memory.copy(most, memory, from + step)?;
        Ok(arena.memory.copy(Region { offset: region.offset + most.bytes, bytes: step }, memory, from)?)
    }

    fn settle(&self) -> Result<(), Error> {
        Ok(self.session.wait()?)
    }

    fn out_of_bounds(
        &self,
        arena: &Arena,
        image: &Image,
        held: &CudaCase,
        checks: &Checks,
    ) -> Result<Option<OutOfBounds>, Error> {
        let guards: &[Region] = if checks.has(Check::Guards) { &image.guards } else { &[] };
        let inputs: Vec<(usize, &DeviceMemory)> =
            if checks.has(Check::Inputs) { held.read_only().collect() } else { Vec::new() };
        let mut pieces = Pieces::default();
        for guard in guards {
            pieces.damage(&arena.memory, *guard)?;
        }
        for (t, given) in &inputs {
            pieces.differ(&arena.memory, image.tensors[*t], given, 0)?;
        }
        let found = pieces.first(&self.kernels)?;
        Ok(found.map(|Found { range, byte }| match guards.get(range) {
            Some(guard) => OutOfBounds::Guard(guard.offset + byte),
            None => OutOfBounds::Input(inputs[range - guards.len()].0, byte as usize),
        }))
    }

    fn not_zero(&self, arena: &Arena, regions: &[Region]) -> Result<Option<u64>, Error> {
        for region in regions {
            let mut bytes = vec![0; region.bytes as usize]; // a mebibyte at most
            arena.memory.read(region.offset, &mut bytes)?;
            if let Some(at) = bytes.iter().position(|byte| *byte != 0) {
                return Ok(Some(region.offset + at as u64));
            }
        }
        Ok(None)
    }

    fn left(&self, arena: &Arena, regions: &[Region]) -> Result<Left, Error> {
        self.spare.copy((&self.session, &self.kernels), &arena.memory, regions)
    }

    fn same(&self, a: &Left, b: &Left) -> Result<bool, Error> {
        if a.regions() != b.regions() {
            return Ok(false);
        }
        let mut pieces = Pieces::default();
        for region in a.regions() {
            pieces.differ(a.memory(), *region, b.memory(), region.offset)?;
        }
        Ok(pieces.first(&self.kernels)?.is_none())
    }

    fn touched(&self, output: &Output<'_, Self>, left: &Left, poison: u8) -> Result<Option<usize>, Error> {
        let Some(expected) = output.expected().filter(|e| e.has_gaps) else { return Ok(None) };
        let before = match &output.held.inputs[output.tensor] {
            Some(input) => input.at(Region { offset: 0, bytes: input.bytes() })?,
            None => 0,
        };
        let found = self.first(|first| {
            let words = [
                code(output.dtype),
                Word::Wide(left.at(output.tensor)?),
                Word::Wide(before),
                Word::Narrow(poison.into()),
                Word::Wide(expected.bound()?),
                Word::Wide(expected.elements),
                first,
            ];
            self.kernels.go("cutegen_touched", expected.elements, &words)
        })?;
        Ok(found.map(|element| element as usize))
    }

    fn unwritten(
        &self,
        output: &Output<'_, Self>,
        [(first, poison), (again, again_poison)]: [(&Left, u8); 2],
        both: bool,
    ) -> Result<Option<(usize, u64)>, Error> {
        let Some(expected) = output.expected() else { return Ok(None) };
        let at = self.kernels.clear(&[NONE, 0])?;
        let words = [
            code(output.dtype),
            Word::Wide(first.at(output.tensor)?),
            Word::Wide(again.at(output.tensor)?),
            Word::Narrow(poison.into()),
            Word::Narrow(again_poison.into()),
            Word::Narrow(both.into()),
            Word::Wide(expected.bound()?),
            Word::Wide(expected.elements),
            Word::Wide(at),
        ];
        self.kernels.go("cutegen_unwritten", expected.elements, &words)?;
        let found = self.kernels.results(2)?;
        Ok((found[0] != NONE).then(|| (found[0] as usize, found[1])))
    }

    fn compare(&self, output: &Output<'_, Self>, left: &Left) -> Result<Compared, Error> {
        let (t, dtype) = (output.tensor, output.dtype);
        let Some(expected) = output.expected() else { return Ok(Compared::default()) };
        let at = self.kernels.clear(&[NONE, 0, 0, 0, 0, 0])?;
        let words = [
            code(dtype),
            Word::Wide(left.at(t)?),
            Word::Wide(expected.value()?),
            Word::Wide(expected.bound()?),
            Word::Wide(expected.several()?),
            Word::Wide(expected.elements),
            Word::Real(element::overflow_threshold(dtype)),
            Word::Wide(at),
        ];
        self.kernels.go("cutegen_compare", expected.elements, &words)?;
        let [wrong, judged, not_judged, share, wrongs, last] = self.kernels.results(6)?[..] else {
            return Err(Error::Worker("the judge's device: a comparison without results".to_owned()));
        };
        let offset = left.regions()[t].offset;
        let found = |element: usize| self.read_element(dtype, left.memory(), offset, element);
        let several =
            if expected.also.is_empty() { None } else { expected.judge_several(dtype, &left.bytes(t)?) };
        let first = [(wrong != NONE).then_some(wrong as usize), several].into_iter().flatten().min();
        // of elements with several right values the first alone is known
        let (elements, last) = (wrongs.max(1), last as usize);
        let wrong = first.map(|element| {
            let (expected, bound) = expected.element(element)?;
            let last = last.max(element);
            Ok(Wrong { element, found: found(element)?, expected, bound, elements, last })
        });
        let judged = judged + expected.also.len() as u64;
        let wrong = wrong.transpose().map_err(|error: Error| error)?;
        Ok(Compared { wrong, judged, not_judged, worst_share: f64::from_bits(share) })
    }

    fn differing(
        &self,
        output: &Output<'_, Self>,
        [first, again]: [&Left; 2],
    ) -> Result<Option<Differing>, Error> {
        let Some(expected) = output.expected() else { return Ok(None) };
        let found = self.first(|at| {
            let words = [
                code(output.dtype),
                Word::Wide(first.at(output.tensor)?),
                Word::Wide(again.at(output.tensor)?),
                Word::Wide(expected.bound()?),
                Word::Wide(expected.elements),
                at,
            ];
            self.kernels.go("cutegen_repeat", expected.elements, &words)
        })?;
        let Some(element) = found.map(|element| element as usize) else { return Ok(None) };
        let read = |left: &Left| {
            self.read_element(output.dtype, left.memory(), left.regions()[output.tensor].offset, element)
        };
        Ok(Some(Differing { element, first: read(first)?, again: read(again)? }))
    }

    fn moments(&self, output: &Output<'_, Self>, left: &Left, rule: Rule) -> Result<Moments, Error> {
        let Some(expected) = output.expected() else { return Ok(Moments::default()) };
        let at = self.kernels.clear(&[0, 0, 0, 0, 0])?;
        let (dtype, u) = (rule.dtype, rule.dtype.unit_roundoff());
        let words = [
            code(dtype),
            Word::Wide(left.at(output.tensor)?),
            Word::Wide(expected.value()?),
            Word::Wide(expected.bound()?),
            Word::Wide(expected.several()?),
            Word::Wide(expected.elements),
            Word::Narrow((u > rule.accumulate.unit_roundoff()).into()),
            Word::Narrow(rule.only_sums.into()),
            Word::Real(u),
            Word::Real(dtype.underflow()),
            Word::Real(rule.accumulate.unit_roundoff()),
            Word::Real(MOST),
            Word::Wide(at),
        ];
        self.kernels.go("cutegen_moments", expected.elements, &words)?;
        let [count, squares, values, slack, largest] = self.kernels.results(5)?[..] else {
            return Err(Error::Worker("the judge's device: moments without results".to_owned()));
        };
        let [squares, value_squares, slack_squares, largest] =
            [squares, values, slack, largest].map(f64::from_bits);
        Ok(Moments { count, squares, value_squares, slack_squares, largest })
    }

    fn drawn(&self, slots: Vec<Rc<Contents>>) -> Result<Self::Drawn, Error> {
        slots.iter().map(|slot| self.place(slot)).collect()
    }

    fn fill_rotation(
        &self,
        arena: &mut Arena,
        drawn: &Self::Drawn,
        programs: &[Slots<'_>],
        guards: &[Region],
        poison: u8,
    ) -> Result<(), Error> {
        let (mut pieces, mut filled) = (Pieces::default(), BTreeSet::new());
        for guard in guards {
            pieces.guard(&arena.memory, *guard)?;
        }
        for program in programs {
            pieces.fill(&arena.memory, program.scratch, poison)?;
            pieces.fill(&arena.memory, program.kept_zero, 0)?;
            for (slot, inputs) in program.slots.iter().zip(drawn.iter().cycle()) {
                // programs share their inputs
                for (region, input) in slot.iter().zip(inputs).filter(|(r, _)| filled.insert(r.offset)) {
                    match input {
                        Some(input) => pieces.copy(&arena.memory, *region, input, 0)?,
                        None => pieces.fill(&arena.memory, *region, poison)?,
                    }
                }
            }
        }
        pieces.go(&self.kernels)?;
        Ok(self.session.wait()?)
    }
}

impl Output<'_, CudaBackend> {
    fn expected(&self) -> Option<&case::Expectation> {
        self.held.expected[self.tensor].as_ref()
    }
}
