//! [`Checker`]: judges many candidates for one spec. It draws the cases, has its memory backend hold them and fill arenas, has
//! runners launch candidates on those, and has every element compared. It never loads candidate code.

use std::rc::Rc;
use std::time::Duration;

use cutegen_spec::contract::Contract;
use cutegen_spec::eligibility::{Eligibility, dispatch};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;

use super::backend::MemoryBackend;
use super::baseline::Known;
use super::candidate::{Candidate, Loadable};
use super::case::{Case, Cases};
use super::checks::Repeats;
use super::dispatch_predicates::{Needed, Price, needed};
use super::image::{Image, Lay, image};
use super::octaves::octaves;
use super::runner_slot::{Halt, Launchable, RunnerSlot, settle};
use super::sampling::{LAUNCH, Means, REFERENCE, Shares};
use super::shapes::{Budget, beyond, shapes};
use crate::evaluate::error::Error;
use crate::evaluate::settings::{Cost, Question, Settings};
use crate::evaluate::wire::arena::Alignment;
use crate::outcome::{Check, Correctness, Distribution, Inconclusive, Outcome};

/// Judges candidates for one spec in the memory of a backend, launching them in its runner. Bound to the thread that made it, as that is.
pub(in crate::evaluate) struct Checker<D: MemoryBackend> {
    pub(in crate::evaluate) runner: RunnerSlot<D>,
    pub(in crate::evaluate) spec: KernelSpec,
    pub(in crate::evaluate) settings: Rc<Settings>,
    pub(in crate::evaluate) cases: Cases<D>,
    shapes: Vec<Vec<i64>>,
    /// Workloads that cost too much for a full pass.
    large: Vec<Vec<i64>>,
    /// Shapes between powers of two; they keep their numbers too.
    octaves: Vec<Vec<i64>>,
    /// What lists needed besides; they keep their numbers, which their inputs are drawn by.
    further: Vec<Vec<i64>>,
    tiles: Vec<i64>,
    pub(in crate::evaluate) baseline: Known,
    /// Cost of a shape, see [`Question`].
    pub(in crate::evaluate) cost: Cost,
}

/// What is drawn at workloads that are too large for all distributions, and at edges.
pub const LARGE: [Distribution; 4] =
    [Distribution::Normal, Distribution::OneHotLast, Distribution::Integers, Distribution::WideIntegers];

/// What is drawn at shapes between powers of two.
pub(in crate::evaluate) const OCTAVE: [Distribution; 2] = [Distribution::Normal, Distribution::OneHotLast];

/// Where large workloads are not judged, a variant that serves no cheaper shape is judged at one of so many times the cap.
const DEAR: u64 = 32;

/// Which case is judged.
#[derive(Clone, Copy)]
pub(in crate::evaluate) struct CaseId {
    /// The number of its shape.
    pub(in crate::evaluate) shape: usize,
    /// How inputs are drawn.
    pub(in crate::evaluate) distribution: Distribution,
    /// How bases are aligned.
    pub(in crate::evaluate) alignment: Alignment,
}

/// How much of the domain a pass covers.
#[derive(Clone)]
pub(in crate::evaluate) struct Scope {
    pub(in crate::evaluate) shapes: usize,
    pub(in crate::evaluate) reach: Reach,
    pub(in crate::evaluate) distributions: Vec<Distribution>,
    /// Launches of one case of the first shape that a variant serves: at least, and where they soon end.
    pub(in crate::evaluate) least: u32,
    pub(in crate::evaluate) repeats: u32,
    pub(in crate::evaluate) patience: Duration,
}

/// Whether a pass goes beyond the first shapes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::evaluate) enum Reach {
    /// These alone.
    Shapes,
    /// What the dispatch predicates of a list need besides, and large workloads.
    Dispatch,
}

/// How long a finalist's repeats go on where they need not all be.
pub(in crate::evaluate) const PATIENCE: Duration = Duration::from_secs(1);
/// The same while screening, where most candidates are right and one that is not meets the full pass.
const GLANCE: Duration = Duration::from_millis(6);

impl<D: MemoryBackend> Checker<D> {
    /// What judges answers to `question`, with this backend.
    pub(in crate::evaluate) fn new(
        question: Question,
        settings: Rc<Settings>,
        backend: Rc<D>,
    ) -> Result<Self, Error> {
        let Question { spec, reference: _, exact_integers, cost, tiles, scalar } = question;
        let (cap, most) = (settings.cost_cap, settings.shapes_most);
        let shapes = shapes(&spec, &Budget { cost: &cost, cap, most, tiles: &tiles });
        if shapes.is_empty() {
            return Err(Error::Shape(format!("kernel `{}` has no shape", spec.name)));
        }
        let (sampling, large_cap) = (settings.sampling.as_ref(), settings.large_cap);
        let means = Means { spec: &spec, cost: &cost, sampling, cap, large_cap };
        let is_larger = |axes: &[i64]| cost(axes) > settings.large_cap;
        let mut large = beyond(&spec, &shapes, |axes| cost(axes) > cap && !is_larger(axes));
        large.extend(beyond(&spec, &shapes, |axes| {
            is_larger(axes) && means.share_of_workload(axes).is_some()
        }));
        let budget = Budget { cost: &cost, cap, most, tiles: &tiles };
        let known: Vec<Vec<i64>> = shapes.iter().chain(&large).cloned().collect();
        let octaves = octaves(&spec, (&budget, &|axes| means.share(axes).is_some()), settings.seed, &known);
        let mut cases =
            Cases::new(Rc::clone(&backend), settings.seed, exact_integers, scalar, settings.keep_bytes);
        let workloads = large.iter().filter(|axes| is_larger(axes));
        let workloads = workloads.filter_map(|axes| Some((axes.clone(), means.share_of_workload(axes)?)));
        let between = octaves.iter().filter(|axes| cost(axes) > cap.saturating_mul(REFERENCE));
        let between = between.filter_map(|axes| Some((axes.clone(), means.share(axes)?)));
        cases.shares = workloads.chain(between).collect::<Shares>();
        let runner = RunnerSlot::new(Rc::clone(&settings), backend)?;
        let baseline = Known::default();
        Ok(Self {
            runner,
            spec,
            settings,
            cases,
            shapes,
            large,
            octaves,
            further: Vec::new(),
            tiles,
            baseline,
            cost,
        })
    }

    /// The shapes that a full pass judges.
    pub(in crate::evaluate) fn shapes(&self) -> &[Vec<i64>] {
        &self.shapes
    }

    /// Judges one candidate where it is eligible, on few shapes and distributions.
    pub(in crate::evaluate) fn screen(&mut self, candidate: &Candidate) -> Result<Outcome, Error> {
        let (shapes, count) = self.settings.screening;
        let distributions = self.distributions().take(count).collect();
        let repeats = self.settings.repeats.0;
        let scope =
            Scope { shapes, reach: Reach::Shapes, distributions, least: 2, repeats, patience: GLANCE };
        self.judge(std::slice::from_ref(candidate), &scope)
    }

    /// Judges a list of variants as the runtime would dispatch it, on every shape and distribution.
    pub(in crate::evaluate) fn full(&mut self, variants: &[Candidate]) -> Result<Outcome, Error> {
        let distributions = self.distributions().collect();
        let (shapes, repeats) = (self.shapes.len(), self.settings.repeats.1);
        let reach = Reach::Dispatch;
        let scope = Scope { shapes, reach, distributions, least: repeats, repeats, patience: PATIENCE };
        let outcome = self.judge(variants, &scope)?;
        if let Outcome::Passed { correctness, .. } = &outcome {
            self.check_conclusive(correctness)?;
        }
        Ok(outcome)
    }

    pub(in crate::evaluate) fn distributions(&self) -> impl Iterator<Item = Distribution> + '_ {
        let is_on =
            |d: &Distribution| self.settings.checks.has(Check::Distribution(*d)) && self.cases.tells(*d);
        Distribution::ALL.into_iter().filter(is_on)
    }

    fn judge(&mut self, variants: &[Candidate], scope: &Scope) -> Result<Outcome, Error> {
        verdict(self.try_judge(variants, scope))
    }

    fn try_judge(&mut self, variants: &[Candidate], scope: &Scope) -> Result<Correctness, Halt> {
        let asked = self.asked(variants, scope);
        let list = self.runner.load(variants)?;
        let mut passed = vec![Correctness::default(); variants.len()];
        for shape in &asked {
            self.judge_shape(&list, *shape, scope, &mut passed)?;
        }
        if scope.reach == Reach::Dispatch {
            self.judge_on_smaller(&list, (&asked, scope), &mut passed)?;
        }
        match idle(variants, &passed) {
            Some(reason) => Err(Outcome::Blocked(reason).into()),
            None => Ok(Correctness::of_list(passed)),
        }
    }

    /// The numbers of all shapes that a list is judged at, in order.
    pub(in crate::evaluate) fn asked(
        &mut self,
        variants: &[Candidate],
        scope: &Scope,
    ) -> Vec<(usize, Price)> {
        let needed = self.needed(variants, scope);
        self.sample(&needed);
        let first = 0..scope.shapes.min(self.shapes.len());
        let mut asked: Vec<_> = first.map(|shape| (shape, Price::Affordable)).collect();
        asked.extend(needed.into_iter().map(|Needed { axes, price }| (self.number(&axes), price)));
        if scope.reach == Reach::Dispatch {
            let large = self.shapes.len()..self.shapes.len() + self.large.len();
            asked.extend(large.map(|shape| (shape, Price::Large)));
            let octaves = self.octaves.clone();
            asked.extend(octaves.iter().map(|axes| (self.number(axes), Price::Octave)));
        }
        asked
    }

    /// The shapes that the dispatch predicates of this list need besides those that are judged anyway. Screening needs none
    /// where it launches the list at its own.
    fn needed(&self, variants: &[Candidate], scope: &Scope) -> Vec<Needed> {
        let predicates: Vec<_> = variants.iter().map(|v| (&v.eligibility, &v.prefer)).collect();
        let aligned = vec![0; self.spec.tensors.len()];
        let is_served = |axes: &Vec<i64>| dispatch(&predicates, axes, &aligned).is_some();
        let is_screening = scope.reach == Reach::Shapes;
        let judged = &self.shapes[..scope.shapes.min(self.shapes.len())];
        if is_screening && judged.iter().any(is_served) {
            return Vec::new();
        }
        let (cap, most) = (self.settings.cost_cap, self.settings.shapes_most);
        let budget = Budget { cost: &self.cost, cap, most, tiles: &self.tiles };
        let dear = self.settings.large_cap.max(cap.saturating_mul(DEAR));
        let tiles: Vec<&[(usize, i64)]> = variants.iter().map(|v| v.tiles.as_slice()).collect();
        let beyond: Vec<Vec<i64>> = self.large.iter().chain(&self.octaves).cloned().collect();
        let sampled = |axes: &[i64]| self.means().share(axes).is_some();
        let means = (&budget, dear, &sampled as _);
        let mut needed = needed(&self.spec, means, (&predicates, &tiles), [judged, &beyond]);
        if is_screening {
            needed.retain(|needed| needed.price == Price::Affordable);
            needed.truncate(scope.shapes);
        }
        needed
    }

    fn means(&self) -> Means<'_> {
        let Settings { cost_cap: cap, large_cap, sampling, .. } = &*self.settings;
        let (spec, cost, sampling) = (&self.spec, &self.cost, sampling.as_ref());
        Means { spec, cost, sampling, cap: *cap, large_cap: *large_cap }
    }

    /// Notes which of these shapes, at tiles, cost so much that their references are sampled.
    fn sample(&mut self, needed: &[Needed]) {
        for Needed { axes, price } in needed {
            let is_dear =
                matches!(price, Price::Edge | Price::Octave) && (self.cost)(axes) > self.settings.cost_cap;
            let is_known = self.large.contains(axes) || self.octaves.contains(axes);
            if let Some(share) = self.means().share(axes).filter(|_| is_dear && !is_known) {
                self.cases.shares.insert(axes.clone(), share);
            }
        }
    }

    /// Whether a sampled shape is so large that only a variant that declares its tiles is launched there: others may be no
    /// faster than the naive kernel.
    fn is_left_out(&self, variants: &[Loadable], axes: &[i64]) -> Result<bool, Halt> {
        let whoever = self.settings.cost_cap.saturating_mul(LAUNCH);
        if (self.cost)(axes) <= whoever || !self.cases.shares.contains_key(axes) {
            return Ok(false);
        }
        let chosen = self.dispatched(variants, axes, Alignment::Allocator)?;
        Ok(chosen.is_none_or(|(chosen, _)| variants[chosen].candidate.tiles.is_empty()))
    }

    /// The number of this shape, which it keeps for the rest of the session.
    fn number(&mut self, axes: &[i64]) -> usize {
        let known = self.shapes.iter().chain(&self.large).chain(&self.further);
        let (before, found) = (known.clone().count(), known.clone().position(|shape| shape == axes));
        found.unwrap_or_else(|| {
            self.further.push(axes.to_vec());
            before
        })
    }

    /// Judges a list at one shape; where that is an edge or large, on few distributions.
    pub(in crate::evaluate) fn judge_shape(
        &mut self,
        variants: &[Loadable],
        (shape, price): (usize, Price),
        scope: &Scope,
        passed: &mut [Correctness],
    ) -> Result<(), Halt> {
        if self.is_left_out(variants, &self.axes(shape))? {
            return Ok(());
        }
        let is_whole = price == Price::Affordable;
        let some = if price == Price::Octave { &OCTAVE[..] } else { &LARGE[..] };
        for distribution in scope.distributions.iter().filter(|d| is_whole || some.contains(d)) {
            let id = CaseId { shape, distribution: *distribution, alignment: Alignment::Allocator };
            self.judge_case(variants, id, (scope, price), passed)?;
        }
        if is_whole && self.settings.checks.has(Check::Misalignment) {
            let id = CaseId { shape, distribution: Distribution::Normal, alignment: Alignment::Element };
            self.judge_case(variants, id, (scope, price), passed)?;
        }
        self.fence_shape(variants, (shape, price), scope)
    }

    fn judge_case(
        &mut self,
        variants: &[Loadable],
        id: CaseId,
        (scope, price): (&Scope, Price),
        passed: &mut [Correctness],
    ) -> Result<(), Halt> {
        let axes = self.axes(id.shape);
        let Some((chosen, image)) = self.dispatched(variants, &axes, id.alignment)? else { return Ok(()) };
        let variant = &variants[chosen];
        let what = Launchable::from(variant);
        // the baseline is ours, and slow: 1,000 launches of it may take minutes
        let least = if self.is_baseline(&variant.candidate) { self.settings.repeats.0 } else { scope.least };
        let scope = Scope { least: least.min(scope.least), ..scope.clone() };
        let changed = self.changed(id, (&scope, price))?;
        self.judge_on((&what, &image), id, (&scope, changed.as_deref()), &mut passed[chosen])
    }

    fn is_baseline(&self, candidate: &Candidate) -> bool {
        self.settings.baseline.as_ref().is_some_and(|baseline| baseline.candidate == *candidate)
    }

    /// How often a case is launched of what has passed this much.
    fn repeats_of(&self, id: CaseId, scope: &Scope, passed: &Correctness) -> Repeats {
        let CaseId { shape, distribution, alignment } = id;
        let axes = self.axes(shape);
        let before = passed.shapes.iter().position(|known| *known == axes).unwrap_or(passed.shapes.len());
        let few = scope.repeats.min(self.settings.repeats.0);
        let is_large = shape >= self.shapes.len() && (self.cost)(&axes) > self.settings.cost_cap;
        let (least, most) = match distribution {
            Distribution::Normal if alignment == Alignment::Element => (2, 2),
            Distribution::Normal if before == 0 && !is_large => (scope.least, scope.repeats),
            Distribution::Normal if before == 0 => (few, scope.repeats),
            Distribution::Normal if is_large => (2, 2),
            Distribution::Normal if self.octaves.contains(&axes) => (2, 2),
            Distribution::Normal if before < self.settings.screening.0 => (few, scope.repeats),
            Distribution::Normal => (few, few),
            _ => (2, 2),
        };
        Repeats { least: least.min(scope.least), most, patience: scope.patience }
    }

    /// Judges what is launched on one case.
    pub(in crate::evaluate) fn judge_on(
        &mut self,
        (what, image): (&Launchable, &Image),
        id: CaseId,
        (scope, changed): (&Scope, Option<&Case<D::Held>>),
        passed: &mut Correctness,
    ) -> Result<(), Halt> {
        let CaseId { shape, distribution, alignment } = id;
        // a case at a time: a timing elsewhere need not wait for all of them
        let _shared = self.runner.lease.shared();
        let axes = self.axes(shape);
        let case = self.cases.get(&self.spec, shape, &axes, distribution)?;
        let repeats = self.repeats_of(id, scope, passed);
        self.launches((what, &case, image), repeats, changed, passed)?;
        let loose = case.loose_bounds.iter().map(|t| self.spec.tensors[*t].name.clone());
        if alignment == Alignment::Allocator {
            let told = (0..self.spec.tensors.len()).filter(|t| !case.loose_bounds.contains(t));
            for told in told.map(|t| (distribution, t)) {
                if !passed.told.contains(&told) {
                    passed.told.push(told);
                }
            }
            passed.inconclusive.extend(loose.map(|output| Inconclusive {
                axes: axes.clone(),
                distribution,
                output,
            }));
        }
        if case.is_sampled && !passed.sampled.contains(&axes) {
            passed.sampled.push(axes.clone());
        }
        if !passed.shapes.contains(&axes) {
            passed.shapes.push(axes);
        }
        if !passed.distributions.contains(&distribution) {
            passed.distributions.push(distribution);
        }
        Ok(())
    }

    /// Extents of the shape with this number: one of a full pass, a large workload, or what a list needed besides.
    pub(in crate::evaluate) fn axes(&self, shape: usize) -> Vec<i64> {
        self.shapes.iter().chain(&self.large).chain(&self.further).nth(shape).cloned().unwrap_or_default()
    }

    /// The place of the variant that the runtime would launch, and its arena; none when none is eligible.
    pub(in crate::evaluate) fn dispatched(
        &self,
        variants: &[Loadable],
        axes: &[i64],
        lay: impl Into<Lay>,
    ) -> Result<Option<(usize, Image)>, Halt> {
        let lay = lay.into();
        let Some(chosen) = self.chosen(variants, axes, lay)? else { return Ok(None) };
        match image(&self.spec, &variants[chosen].candidate.contract, axes, lay)? {
            Ok(image) => self.runner.room(image.bytes, image.workspace.bytes).map(|()| Some((chosen, image))),
            Err(unplaced) => Err(Outcome::Blocked(format!("{unplaced} at {axes:?}")).into()),
        }
    }

    /// Its place alone.
    pub(in crate::evaluate) fn chosen(
        &self,
        variants: &[Loadable],
        axes: &[i64],
        lay: Lay,
    ) -> Result<Option<usize>, Halt> {
        let predicates: Vec<(&Eligibility, &Eligibility)> =
            variants.iter().map(|v| (&v.candidate.eligibility, &v.candidate.prefer)).collect();
        // tensors lie first, so their addresses do not depend on a variant's workspace
        let bare = image(&self.spec, &Contract::default(), axes, lay)?;
        let addresses: Vec<u64> = bare.iter().flat_map(|i| &i.tensors).map(|r| r.offset).collect();
        Ok(dispatch(&predicates, axes, &addresses))
    }

    /// The same, with the variant itself.
    pub(in crate::evaluate) fn dispatch<'a>(
        &self,
        variants: &'a [Loadable],
        axes: &[i64],
        alignment: Alignment,
    ) -> Result<Option<(&'a Loadable, Image)>, Halt> {
        let found = self.dispatched(variants, axes, alignment)?;
        Ok(found.map(|(chosen, image)| (&variants[chosen], image)))
    }

    /// Every output must have been told right from wrong by at least three distributions.
    fn check_conclusive(&self, passed: &Correctness) -> Result<(), Error> {
        const ODD: [Distribution; 2] = [Distribution::Specials, Distribution::PairedSpecials];
        for (t, tensor) in self.spec.tensors.iter().enumerate().filter(|(_, t)| t.role != Role::Input) {
            let count = passed.told.iter().filter(|(d, told)| *told == t && !ODD.contains(d)).count();
            if count < 3 {
                let name = &tensor.name;
                return Err(Error::Shape(format!(
                    "only {count} distributions tell a right `{name}` from a wrong one"
                )));
            }
        }
        Ok(())
    }
}

/// What is said where a variant ran nowhere: then nothing is known of it. The last of several, where it takes every
/// launch, is what they fall back to, and may be needed nowhere.
fn idle(variants: &[Candidate], passed: &[Correctness]) -> Option<String> {
    let count = variants.len();
    if passed.iter().all(|passed| passed.shapes.is_empty()) {
        return Some("is eligible for none of the test shapes".to_owned());
    }
    let may_idle = |at: usize| at > 0 && at + 1 == count && variants[at].eligibility.0.is_empty();
    let at = (0..count).find(|at| passed[*at].shapes.is_empty() && !may_idle(*at))?;
    Some(format!("variant {} of {count} is dispatched at none of the test shapes", at + 1))
}

/// What came of judging, as an outcome.
pub(in crate::evaluate) fn verdict(judged: Result<Correctness, Halt>) -> Result<Outcome, Error> {
    let passed = |correctness| Outcome::Passed { correctness, performance: None };
    Ok(settle(judged)?.map_or_else(|outcome| *outcome, passed))
}
