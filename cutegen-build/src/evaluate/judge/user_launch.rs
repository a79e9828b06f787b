//! [`UserLaunch`]: variants launched on tensors that somebody brings, and what the reference gives for them. Nothing is
//! accepted here; the gate draws its own inputs. Tensors come and go as files of dense row-major elements, so that what
//! a pipe carries stays small.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;
use serde::{Deserialize, Serialize};

use super::backend::read::Reading;
use super::backend::{Inputs, Slots};
use super::candidate::{Candidate, Loadable};
use super::case::contents;
use super::checker::Checker;
use super::compare::{Compared, compare, is_judged};
use super::content::{Content, Contents};
use super::element;
use super::image::Image;
use super::reference::Expected;
use super::runner_slot::{Halt, code, program, settle};
use super::strided::Placed;
use crate::evaluate::error::Error;
use crate::evaluate::wire::arena::{Alignment, POISON};
use crate::evaluate::wire::protocol::{Action, Job, Reply, Run, ScalarValue};
use crate::outcome::{Distribution, Outcome};

/// The longest that a launch on tensors of a user may take.
const DEADLINE: Duration = Duration::from_secs(300);

/// What is to be launched, and on what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserLaunch {
    /// Where the tensors lie, see [`given`], [`left`] and [`exact`].
    pub folder: PathBuf,
    /// Extents of all axes.
    pub axes: Vec<i64>,
    /// Values of all scalars.
    pub scalars: Vec<ScalarValue>,
    /// Lists of variants, each launched once as the runtime would dispatch it.
    pub launches: Vec<Vec<Candidate>>,
    /// Whether the f64 reference is computed, written, and held against every launch.
    pub reference: bool,
}

/// What became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// One for each launch.
    pub launched: Vec<Launched>,
}

/// One launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Launched {
    /// Position of the variant in its list.
    pub variant: usize,
    /// The device, in words.
    pub device: String,
    /// Isolation that the system did not give the runner.
    pub not_enforced: Vec<String>,
    /// By tensor, inouts and outputs against the reference, where that was computed.
    pub compared: Vec<Option<Compared>>,
}

/// The file of an input or inout before a launch.
#[must_use]
pub fn given(folder: &Path, tensor: usize) -> PathBuf {
    folder.join(format!("given.{tensor}"))
}

/// The file of an inout or output after launch number `launch`.
#[must_use]
pub fn left(folder: &Path, launch: usize, tensor: usize) -> PathBuf {
    folder.join(format!("left.{launch}.{tensor}"))
}

/// The file of what the reference gives for an inout or output, in f64: what an inout held where nothing is written.
#[must_use]
pub fn exact(folder: &Path, tensor: usize) -> PathBuf {
    folder.join(format!("exact.{tensor}"))
}

/// The file that says of each of these, by a byte, whether any value would be right there: 1 where it is not judged.
#[must_use]
pub fn unjudged(folder: &Path, tensor: usize) -> PathBuf {
    folder.join(format!("unjudged.{tensor}"))
}

/// What the gate would draw for every input and inout, dense; none for outputs.
pub fn drawn(spec: &KernelSpec, seed: u64, axes: &[i64]) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let contents = contents(spec, seed, axes, Distribution::Normal)?.into_iter().zip(&spec.tensors);
    let dense = |(held, tensor): (Option<Vec<u8>>, _)| {
        held.map(|memory| Ok(Placed::new(tensor, axes)?.gather(memory))).transpose()
    };
    contents.map(dense).collect()
}

impl<D: Reading> Checker<D> {
    /// See [`Judge::run`](super::Judge::run).
    pub(in crate::evaluate) fn run(
        &mut self,
        user_launch: &UserLaunch,
    ) -> Result<Result<Ran, Outcome>, Error> {
        Ok(settle(self.try_run(user_launch))?.map_err(|outcome| *outcome))
    }

    fn try_run(&mut self, user_launch: &UserLaunch) -> Result<Ran, Halt> {
        let _shared = self.runner.lease.shared();
        let contents = self.brought(user_launch)?;
        let expected =
            if user_launch.reference { self.expected(user_launch, &contents)? } else { Vec::new() };
        let mut launched = Vec::new();
        for (number, variants) in user_launch.launches.iter().enumerate() {
            launched.push(self.one(user_launch, (number, variants), &contents, &expected)?);
        }
        Ok(Ran { launched })
    }

    /// What each tensor holds before a launch, laid out as the spec has it.
    fn brought(&self, user_launch: &UserLaunch) -> Result<Contents, Error> {
        let read = |(t, tensor): (usize, &cutegen_spec::tensor::Tensor)| {
            if tensor.role == Role::Output {
                return Ok(None);
            }
            let (path, placed) = (given(&user_launch.folder, t), Placed::new(tensor, &user_launch.axes)?);
            let dense = std::fs::read(&path).map_err(|error| unusable(&path, error.to_string()))?;
            let bytes = element::bytes(tensor.dtype, placed.elements());
            if dense.len() != bytes {
                return Err(unusable(&path, format!("has {} bytes instead of {bytes}", dense.len())));
            }
            Ok(Some(Content::Bytes(placed.scatter(dense))))
        };
        self.spec.tensors.iter().enumerate().map(read).collect()
    }

    /// Computes the reference and writes it.
    fn expected(
        &self,
        user_launch: &UserLaunch,
        contents: &Contents,
    ) -> Result<Vec<Option<Expected>>, Error> {
        let UserLaunch { folder, axes, scalars, .. } = user_launch;
        let before = contents;
        let contents = contents.clone();
        let inputs = Inputs {
            spec: &self.spec,
            axes,
            scalars,
            contents,
            is_exact: false,
            is_drawn: false,
            sampled: None,
        };
        let held = self.cases.backend.hold(inputs)?.held;
        let expected = self.cases.backend.expected(&held)?;
        for (t, expected) in expected.iter().enumerate() {
            let Some(expected) = expected else { continue };
            let (tensor, held) = (&self.spec.tensors[t], before[t].as_ref().map(Content::bytes));
            let value = |at| match &held {
                Some(held) if !expected.is_written(at) => element::read(tensor.dtype, held, at),
                _ => expected.value[at],
            };
            let open = |at| expected.is_written(at) && !is_judged(tensor.dtype, expected, at);
            let placed = Placed::new(tensor, axes)?;
            let dense: Vec<u8> = placed.offsets().flat_map(|at| value(at).to_le_bytes()).collect();
            write(&exact(folder, t), &dense)?;
            write(&unjudged(folder, t), &placed.offsets().map(|at| u8::from(open(at))).collect::<Vec<u8>>())?;
        }
        Ok(expected)
    }

    fn one(
        &mut self,
        user_launch: &UserLaunch,
        (number, variants): (usize, &[Candidate]),
        contents: &Contents,
        expected: &[Option<Expected>],
    ) -> Result<Launched, Halt> {
        let loaded = self.runner.load(variants)?;
        let Some((chosen, image)) = self.dispatch(&loaded, &user_launch.axes, Alignment::Allocator)? else {
            return Err(Outcome::Blocked(format!("is not eligible at {:?}", user_launch.axes)).into());
        };
        let variant = loaded.iter().position(|one| std::ptr::eq(one, chosen)).unwrap_or(0);
        let found = self.launch_on(chosen, &image, user_launch, contents)?;
        let mut compared = vec![None; self.spec.tensors.len()];
        let results: Vec<usize> = self.results().collect();
        for t in results {
            let (tensor, memory) = (&self.spec.tensors[t], self.cases.backend.bytes(&found, t)?);
            let expected = expected.get(t).and_then(Option::as_ref);
            compared[t] = expected.map(|expected| compare(tensor.dtype, &memory, expected));
            let dense = Placed::new(tensor, &user_launch.axes)?.gather(memory);
            write(&left(&user_launch.folder, number, t), &dense)?;
        }
        Ok(Launched {
            variant,
            device: self.runner.device(),
            not_enforced: self.runner.not_enforced(),
            compared,
        })
    }

    /// One launch; what it left in inouts and outputs. What it did not write holds [`POISON`].
    fn launch_on(
        &mut self,
        variant: &Loadable,
        image: &Image,
        user_launch: &UserLaunch,
        contents: &Contents,
    ) -> Result<D::Left, Halt> {
        let slots = vec![image.tensors.clone()];
        let drawn = self.cases.backend.drawn(vec![Rc::new(contents.clone())])?;
        self.runner.bench(image.bytes)?;
        let Some(bench) = &mut self.runner.live else {
            return Err(Error::Worker("vanished".to_owned()).into());
        };
        let (scratch, kept_zero) = image.regions();
        let placed = [Slots { slots: &slots, scratch, kept_zero }];
        self.cases.backend.fill_rotation(&mut bench.arena, &drawn, &placed, &image.guards, POISON)?;
        let job = Job {
            arena_bytes: image.bytes,
            axes: user_launch.axes.clone(),
            scalars: user_launch.scalars.clone(),
            programs: vec![program(code(variant), slots, vec![image.workspace])],
            action: Action::Run(Run::AFRESH),
        };
        match self.runner.answer(job, DEADLINE)? {
            Reply::Done(_) => {}
            other => return Err(self.runner.unexpected(&other)),
        }
        self.copies(image)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    std::fs::write(path, bytes).map_err(|error| unusable(path, error.to_string()))
}

fn unusable(path: &Path, reason: String) -> Error {
    Error::File { path: path.to_owned(), reason }
}
