//! [`CudaCase`]: a case in the judge's own memory of the device, and [`Oracle`], which computes what it must give: with
//! the kernels of the printed reference, or with the host's for what only the host can.

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use cutegen_runtime::cuda::CUdeviceptr;
use cutegen_spec::contract::Contract;
use cutegen_spec::dtype::DType;
use cutegen_spec::spec::KernelSpec;

use crate::evaluate::device::launch::{Launch, Loaded, Placed};
use crate::evaluate::device::memory::DeviceMemory;
use crate::evaluate::device::session::Session;
use crate::evaluate::error::Error;
use crate::evaluate::judge::backend::{Inputs, host};
use crate::evaluate::judge::element;
use crate::evaluate::judge::reference::{Expected, Reference, Sampled};
use crate::evaluate::judge::strided;
use crate::evaluate::settings::Terms;
use crate::evaluate::wire::protocol::Region;
use crate::print::reference::{DeviceReference, Large, OTHERS_MAX, others};

/// Offsets of the reference's parts are multiples of this.
const ALIGNMENT: u64 = 256;
/// Cost of a reference that takes a device about a second: in serial sums, and on its f64 tensor cores.
const REACH: u64 = 1 << 38;
const REACH_LARGE: u64 = 1 << 42;
/// Products beyond which tensor cores sum them: as many as no shape has that is judged with all distributions, so that
/// terms are independent.
const LARGE: u64 = 1 << 32;

/// Terms of a total from which on the host adds them sooner than a thread of a device: that takes about 0.1 us for each.
const LONG_TOTAL: u64 = 1 << 15;

/// Inputs and expectations of a case.
pub(in crate::evaluate) struct CudaCase {
    /// What each tensor holds before a launch; none for outputs.
    pub(super) inputs: Vec<Option<DeviceMemory>>,
    /// What each tensor must hold after it; none for inputs.
    pub(super) expected: Vec<Option<Expectation>>,
}

/// What an inout or output must be.
pub(in crate::evaluate) struct Expectation {
    /// Values, and then bounds.
    memory: DeviceMemory,
    pub(super) elements: u64,
    /// Whether there are elements that no assignment addresses.
    pub(super) has_gaps: bool,
    /// Elements with several right values, and those values, the reference's first.
    pub(super) also: BTreeMap<usize, Vec<f64>>,
    several: Option<DeviceMemory>,
}

/// Which reference a backend uses.
pub(in crate::evaluate) enum Choice {
    /// The host's.
    Host(Reference),
    /// Kernels: their cubin, and how they are launched.
    Device(Rc<Path>, Box<DeviceReference>, Option<Totals>),
}

/// The host's reference for totals that a device's would add in one thread.
pub(in crate::evaluate) struct Totals {
    pub(in crate::evaluate) reference: Reference,
    /// Terms of the longest at these extents.
    pub(in crate::evaluate) terms: Terms,
}

/// What computes references.
pub(super) enum Oracle {
    Host(Reference),
    Device(Box<Kernels>, Option<Totals>),
}

/// The printed reference, loaded.
pub(super) struct Kernels {
    image: Vec<u8>,
    printed: DeviceReference,
}

impl Oracle {
    pub(super) fn open(choice: Choice) -> Result<Self, Error> {
        Ok(match choice {
            Choice::Host(reference) => Oracle::Host(reference),
            Choice::Device(cubin, printed, totals) => {
                let file = |error: std::io::Error| Error::File {
                    path: cubin.to_path_buf(),
                    reason: error.to_string(),
                };
                let image = std::fs::read(&*cubin).map_err(file)?;
                Oracle::Device(Box::new(Kernels { image, printed: *printed }), totals)
            }
        })
    }

    /// Cost of the dearest reference that takes no more than seconds.
    pub(super) fn reach(&self) -> u64 {
        match self {
            Oracle::Host(_) => host::REACH,
            Oracle::Device(kernels, _) => match &kernels.printed.large {
                Some(large) if large.is_all => REACH_LARGE,
                Some(_) | None => REACH,
            },
        }
    }

    /// Computes what the inputs must give, which lie in `held`.
    pub(super) fn hold(
        &self,
        session: &Rc<Session>,
        inputs: &Inputs<'_>,
        held: Vec<Option<DeviceMemory>>,
    ) -> Result<CudaCase, Error> {
        let expected = match self {
            Oracle::Host(reference) => placed(session, host::expect(reference, inputs)?)?,
            Oracle::Device(_, Some(totals)) if totals.are_long(inputs.axes) => {
                let read = held.iter().flatten().map(DeviceMemory::to_vec).collect::<Result<Vec<_>, _>>()?;
                placed(session, host::expect_of(&totals.reference, inputs, &read)?)?
            }
            Oracle::Device(kernels, _) => kernels.expect(session, inputs, &held)?,
        };
        Ok(CudaCase { inputs: held, expected })
    }
}

impl Totals {
    fn are_long(&self, axes: &[i64]) -> bool {
        (self.terms.0)(axes) > LONG_TOTAL
    }
}

/// What the host's reference found, where kernels of the judge's own read it.
fn placed(session: &Rc<Session>, expected: Vec<Option<Expected>>) -> Result<Vec<Option<Expectation>>, Error> {
    let place = |e: Option<Expected>| e.map(|e| Expectation::of(session, e)).transpose();
    expected.into_iter().map(place).collect()
}

/// Bytes in memory of their own.
pub(super) fn uploaded(session: &Rc<Session>, bytes: &[u8]) -> Result<DeviceMemory, Error> {
    let memory = DeviceMemory::new(session, bytes.len() as u64)?;
    memory.write(0, bytes)?;
    Ok(memory)
}

impl Kernels {
    fn expect(
        &self,
        session: &Rc<Session>,
        inputs: &Inputs<'_>,
        held: &[Option<DeviceMemory>],
    ) -> Result<Vec<Option<Expectation>>, Error> {
        let Inputs { spec, axes, scalars, is_exact, is_drawn, sampled, .. } = inputs;
        let DeviceReference { parts, .. } = &self.printed;
        // what sums on tensor cores makes all elements
        let contract = self.contract(axes, *is_drawn && sampled.is_none());
        let mut places = Vec::new();
        let mut end = 0_u64;
        for part in &contract.workspace {
            let bytes = part.bytes.eval_axes(axes).and_then(|bytes| u64::try_from(bytes).ok());
            let bytes =
                bytes.ok_or_else(|| Error::Shape(format!("the reference has no size at {axes:?}")))?;
            places.push(Region { offset: end, bytes });
            end += bytes.next_multiple_of(ALIGNMENT);
        }
        let memory = DeviceMemory::new(session, end)?;
        let scale = if *is_exact { 0.0_f64 } else { 1.0 };
        let words = [scale, Sampled::word(*sampled)].map(f64::to_le_bytes).concat();
        memory.write(places[parts.sum_scale].offset, &words)?;
        let address = |memory: &Option<DeviceMemory>| match memory {
            Some(memory) => memory.at(Region { offset: 0, bytes: memory.bytes() }),
            None => Ok(0),
        };
        let tensors: Vec<CUdeviceptr> = held.iter().map(address).collect::<Result<_, _>>()?;
        let workspace = places.iter().map(|part| Ok((memory.at(*part)?, part.bytes)));
        let workspace: Vec<(CUdeviceptr, u64)> = workspace.collect::<Result<_, Error>>()?;
        let loaded = Loaded::load(session, &self.image, contract, scalars)?;
        let placed = Placed { axes, scalars, tensors: &tensors, workspace: &workspace };
        Launch::of(&loaded, contract, &placed)?.go(session)?;
        session.wait()?;
        self.agrees(spec, &memory, places[parts.crossed])?;
        let also = match parts.others {
            Some(part) => self.others(&memory, places[part])?,
            None => BTreeMap::new(),
        };
        let mut expected: Vec<Option<Expectation>> = spec.tensors.iter().map(|_| None).collect();
        for result in &parts.results {
            let tensor = &spec.tensors[result.tensor];
            let elements = strided::Placed::new(tensor, axes)?.span as u64;
            let both = DeviceMemory::new(session, 16 * elements)?;
            for (half, part) in [result.value, result.bound].into_iter().enumerate() {
                let region = Region { offset: half as u64 * 8 * elements, bytes: 8 * elements };
                both.copy(region, &memory, places[part].offset)?;
            }
            session.wait()?;
            let also = also.get(&result.tensor).cloned().unwrap_or_default();
            expected[result.tensor] = Some(Expectation::with(session, both, elements, also)?);
        }
        Ok(expected)
    }

    /// How it is launched at these extents.
    fn contract(&self, axes: &[i64], is_drawn: bool) -> &Contract {
        let beyond = |large: &Large| large.terms.eval_axes(axes).is_none_or(|terms| terms > LARGE as i64);
        let is_large = |large: &&Large| is_drawn && beyond(large);
        let large = self.printed.large.as_ref().filter(is_large);
        large.map_or(&self.printed.contract, |large| &large.contract)
    }

    /// An error where sums on tensor cores are others than the same made one term after another.
    fn agrees(&self, spec: &KernelSpec, memory: &DeviceMemory, crossed: Region) -> Result<(), Error> {
        let mut word = [0; 8];
        memory.read(crossed.offset, &mut word)?;
        let twofold =
            "has two values for a sum: one of its kernels is wrong, or this device computes wrongly";
        match f64::from_le_bytes(word) {
            0.0 => Ok(()),
            _ => Err(Error::Shape(format!("the reference of `{}` {twofold}", spec.name))),
        }
    }

    /// Further right values, by tensor and element.
    fn others(
        &self,
        memory: &DeviceMemory,
        part: Region,
    ) -> Result<BTreeMap<usize, BTreeMap<usize, Vec<f64>>>, Error> {
        let mut count = [0; 8];
        memory.read(part.offset, &mut count)?;
        let record = part.bytes / (1 + OTHERS_MAX as u64);
        let bytes = (u64::from_le_bytes(count).saturating_add(1).saturating_mul(record)).min(part.bytes);
        let mut records = vec![0; bytes as usize];
        memory.read(part.offset, &mut records)?;
        let found = others(&records).map_err(|overflow| Error::Shape(overflow.to_string()))?;
        let mut also: BTreeMap<usize, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
        for other in found {
            also.entry(other.tensor).or_default().entry(other.element).or_default().push(other.value);
        }
        Ok(also)
    }
}

impl CudaCase {
    /// Inputs that nothing may write, by position.
    pub(super) fn read_only(&self) -> impl Iterator<Item = (usize, &DeviceMemory)> {
        let all = self.inputs.iter().zip(&self.expected).enumerate();
        all.filter_map(|(t, (input, expected))| match expected {
            None => input.as_ref().map(|input| (t, input)),
            Some(_) => None,
        })
    }

    pub(super) fn bytes(&self) -> usize {
        let inputs = self.inputs.iter().flatten().map(DeviceMemory::bytes);
        let expected = self.expected.iter().flatten().map(|e| e.memory.bytes());
        inputs.chain(expected).sum::<u64>() as usize
    }
}

impl Expectation {
    fn of(session: &Rc<Session>, expected: Expected) -> Result<Self, Error> {
        let elements = expected.value.len() as u64;
        let words = expected.value.iter().chain(&expected.bound);
        let bytes: Vec<u8> = words.flat_map(|word| word.to_le_bytes()).collect();
        let memory = uploaded(session, &bytes)?;
        Self::with(session, memory, elements, expected.also)
    }

    fn with(
        session: &Rc<Session>,
        memory: DeviceMemory,
        elements: u64,
        mut also: BTreeMap<usize, Vec<f64>>,
    ) -> Result<Self, Error> {
        let several = if also.is_empty() {
            None
        } else {
            let mut mask = vec![0; elements as usize];
            for element in also.keys().filter(|element| **element < elements as usize) {
                mask[*element] = 1;
            }
            Some(uploaded(session, &mask)?)
        };
        // the backend looks for gaps when it holds the case
        let mut held = Self { memory, elements, has_gaps: true, also: BTreeMap::new(), several };
        for (element, values) in &mut also {
            values.insert(0, held.element(*element)?.0);
        }
        held.also = also;
        Ok(held)
    }

    pub(super) fn value(&self) -> Result<CUdeviceptr, Error> {
        Ok(self.memory.at(Region { offset: 0, bytes: 8 * self.elements })?)
    }

    pub(super) fn bound(&self) -> Result<CUdeviceptr, Error> {
        Ok(self.memory.at(Region { offset: 8 * self.elements, bytes: 8 * self.elements })?)
    }

    /// A byte for each element: 1 where several values are right. No address where none has.
    pub(super) fn several(&self) -> Result<CUdeviceptr, Error> {
        match &self.several {
            Some(mask) => Ok(mask.at(Region { offset: 0, bytes: mask.bytes() })?),
            None => Ok(0),
        }
    }

    /// Value and bound of one element.
    pub(super) fn element(&self, element: usize) -> Result<(f64, f64), Error> {
        let read = |at: u64| {
            let mut word = [0; 8];
            self.memory.read(at, &mut word).map(|()| f64::from_le_bytes(word))
        };
        let at = 8 * element as u64;
        Ok((read(at)?, read(8 * self.elements + at)?))
    }

    /// All of it, read back.
    pub(super) fn all(&self) -> Result<Expected, Error> {
        let bytes = self.memory.to_vec()?;
        let words = bytes.as_chunks::<8>().0.iter().map(|word| f64::from_le_bytes(*word));
        let mut value: Vec<f64> = words.collect();
        let bound = value.split_off(self.elements as usize);
        Ok(Expected { value, bound, also: self.also.clone() })
    }

    /// The first element of `bytes` with several right values that has none of them.
    pub(super) fn judge_several(&self, dtype: DType, bytes: &[u8]) -> Option<usize> {
        let wrong = |(element, values): &(&usize, &Vec<f64>)| {
            !values.contains(&element::read(dtype, bytes, **element))
        };
        self.also.iter().find(wrong).map(|(element, _)| *element)
    }
}
