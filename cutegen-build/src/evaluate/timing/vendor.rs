//! What a library computes, held against the reference: on the first slot, and where a reference is cheap.

use super::rotation::Rotation;
use super::{Halted, Timing};
use crate::evaluate::error::Error;
use crate::evaluate::judge::backend::{Inputs, MemoryBackend, Output};
use crate::evaluate::judge::case::prepared;
use crate::evaluate::rng::mix;
use crate::evaluate::stats::INCUMBENT;
use crate::outcome::Distribution;

impl<D: MemoryBackend> Timing<'_, D> {
    /// What is said of a library's product after its untimed launches, and how it differs from the spec's. Of a variant,
    /// which the gate has judged, nothing.
    pub(super) fn held_to_reference(
        &mut self,
        rotation: &Rotation<D>,
        about: Option<String>,
    ) -> Result<(Option<String>, Option<String>), Halted> {
        let Some(about) = about else { return Ok((None, None)) };
        let Some(held) = self.reference(&rotation.axes, rotation.seed)? else {
            return Ok((Some(format!("{about}; its results were not compared: too large")), None));
        };
        let Some(bench) = &self.checker.runner.live else {
            return Err(Error::Worker("vanished".to_owned()).into());
        };
        let left = self.checker.cases.backend.left(&bench.arena, &rotation.programs[INCUMBENT].slots[0])?;
        Ok((Some(about), self.difference(&held, &left)?))
    }

    /// What the first slot of a rotation must give, unless computing that takes long.
    pub(super) fn reference(&self, axes: &[i64], seed: u64) -> Result<Option<D::Held>, Error> {
        if (self.checker.cost)(axes) > self.checker.cases.backend.reach() {
            return Ok(None);
        }
        let contents = prepared(&self.checker.spec, (mix(seed), Distribution::Normal), axes, D::DRAWS)?;
        let scalars = self.checker.cases.scalars(&self.checker.spec, seed, Distribution::Normal);
        let inputs = Inputs {
            spec: &self.checker.spec,
            axes,
            scalars: &scalars,
            contents,
            is_exact: false,
            is_drawn: true,
            sampled: None,
        };
        Ok(Some(self.checker.cases.backend.hold(inputs)?.held))
    }

    /// The first element outside its bound, in words.
    pub(super) fn difference(&self, held: &D::Held, left: &D::Left) -> Result<Option<String>, Error> {
        for tensor in self.checker.results() {
            let (name, dtype) =
                (&self.checker.spec.tensors[tensor].name, self.checker.spec.tensors[tensor].dtype);
            let compared = self.checker.cases.backend.compare(&Output { held, tensor, dtype }, left)?;
            if let Some(wrong) = compared.wrong {
                return Ok(Some(wrong.told(name)));
            }
        }
        Ok(None)
    }
}
