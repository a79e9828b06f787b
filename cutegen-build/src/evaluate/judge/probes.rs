//! Launches of a case besides its repeats: once more at the same addresses with a few elements of the inputs changed, and
//! on the host between pages that cannot be touched, with inputs that cannot be written.
//!
//! The first shows what is kept from launch to launch, wherever that is, and served by a part of the inputs; the others
//! what is read beside a tensor, and what is written over itself.

use std::rc::Rc;

use super::backend::MemoryBackend;
use super::candidate::Loadable;
use super::case::Case;
use super::checker::{CaseId, Checker, LARGE, OCTAVE, Reach, Scope};
use super::checks::Before;
use super::dispatch_predicates::Price;
use super::image::{Image, place};
use super::runner_slot::{Halt, Launchable};
use crate::evaluate::wire::arena::{Alignment, Fence, POISON};
use crate::evaluate::wire::protocol::Backend;
use crate::outcome::{Check, Correctness, Distribution, Fault, Outcome};

/// What alignment a base keeps where its tensor ends at a page: of an element, of vectors, as allocators give.
const KEPT: [u64; 4] = [1, 16, 64, 256];

impl<D: MemoryBackend> Checker<D> {
    /// The case of this shape with a few elements changed, which a full pass adds to the normal one.
    pub(in crate::evaluate) fn changed(
        &mut self,
        CaseId { shape, distribution, alignment }: CaseId,
        (scope, price): (&Scope, Price),
    ) -> Result<Option<Rc<Case<D::Held>>>, Halt> {
        let is_full = scope.reach == Reach::Dispatch && price == Price::Affordable;
        let is_plain = distribution == Distribution::Normal && alignment == Alignment::Allocator;
        if !is_full || !is_plain || !self.settings.checks.has(Check::Changed) {
            return Ok(None);
        }
        let axes = self.axes(shape);
        Ok(self.cases.changed(&self.spec, shape, &axes)?)
    }

    /// Launches this case where another one was launched just before; nothing is loaded anew, and the stack stays.
    pub(in crate::evaluate) fn launch_changed(
        &mut self,
        what: &Launchable,
        changed: &Case<D::Held>,
        image: &Image,
    ) -> Result<(), Halt> {
        let left = self.launch(what, changed, image, Before::Changed)?;
        self.right(changed, &left)
    }

    /// Launches the cases of a shape between pages that cannot be touched. What is misaligned has fallen before.
    pub(in crate::evaluate) fn fence_shape(
        &mut self,
        variants: &[Loadable],
        (shape, price): (usize, Price),
        scope: &Scope,
    ) -> Result<(), Halt> {
        let is_host = self.settings.workers.backend == Backend::Host;
        if !is_host || scope.reach != Reach::Dispatch || !self.settings.checks.has(Check::Pages) {
            return Ok(());
        }
        let axes = self.axes(shape);
        let Some((chosen, _)) = self.dispatched(variants, &axes, Alignment::Allocator)? else {
            return Ok(());
        };
        let is_whole = price == Price::Affordable;
        let some = if price == Price::Octave { &OCTAVE[..] } else { &LARGE[..] };
        let what = Launchable::from(&variants[chosen]);
        for distribution in scope.distributions.iter().filter(|d| is_whole || some.contains(d)) {
            let case = self.cases.get(&self.spec, shape, &axes, *distribution)?;
            let mut fenced = Vec::new();
            for kept in KEPT {
                if fenced.is_empty() {
                    fenced.extend(self.fenced(variants, chosen, &axes, Fence::Behind(kept))?);
                }
            }
            if is_whole && *distribution == Distribution::Normal {
                fenced.extend(self.fenced(variants, chosen, &axes, Fence::Before)?);
            }
            for (fence, image) in fenced {
                let left = self.launch(&what, &case, &image, Before::Fenced);
                let left = left.map_err(|halt| self.at_pages(halt, &case, fence))?;
                self.right(&case, &left)?;
            }
        }
        Ok(())
    }

    /// The image of this fence, where this variant is dispatched there and an arena is long enough.
    fn fenced(
        &self,
        variants: &[Loadable],
        chosen: usize,
        axes: &[i64],
        fence: Fence,
    ) -> Result<Option<(Fence, Image)>, Halt> {
        let most = self.cases.backend.most(self.runner.live.as_ref().map(|bench| &bench.arena))?;
        let found = self.dispatched(variants, axes, fence)?;
        let found = found.filter(|(other, image)| *other == chosen && image.bytes < most);
        Ok(found.map(|(_, image)| (fence, image)))
    }

    fn right(&self, case: &Case<D::Held>, left: &D::Left) -> Result<(), Halt> {
        self.untouched(case, left, POISON)?;
        self.values(case, left, &mut Correctness::default())
    }

    /// What a runner dies of between pages, and nowhere else, is an access to them.
    fn at_pages(&self, halt: Halt, case: &Case<D::Held>, fence: Fence) -> Halt {
        match halt {
            Halt::Outcome(outcome) => match *outcome {
                Outcome::Crashed(crash) => {
                    let t = self.results().next().unwrap_or(0);
                    let (place, pages) = (place(&self.spec, case, t, 0), fence.to_string());
                    Outcome::Incorrect(Fault::Pages { place, pages, crash }).into()
                }
                other => other.into(),
            },
            error @ Halt::Error(_) => error,
        }
    }
}
