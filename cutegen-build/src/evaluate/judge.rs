//! [`Session`]: judges many candidates for one spec. It draws the cases, has its desk hold them and fill arenas, has
//! runners launch candidates on those, and has every element compared. It never loads candidate code.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use cutegen_spec::contract::Contract;
use cutegen_spec::eligibility::{Eligibility, dispatch};
use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;

use super::arena::Alignment;
use super::baseline::Known;
use super::candidate::{Candidate, Loadable};
use super::case::Cases;
use super::desk::{Contents, Desk};
use super::error::Error;
use super::fault::Check;
use super::image::{Image, image};
use super::inputs::Distribution;
use super::launches::Repeats;
use super::lease::Lease;
use super::outcome::{Correctness, NotCounted, Outcome};
use super::peer::{Peer, Starting};
use super::session::{Bench, Halt, Launchable, settle};
use super::settings::{Cost, Question, Settings};
use super::shapes::{Budget, beyond, shapes};
use super::timing::{Given, Watch};

/// A judging session at a desk. Bound to the thread that made it, as its runners are. The runner goes before the desk:
/// what it maps is the desk's.
pub(super) struct Session<D: Desk> {
    pub(super) spec: KernelSpec,
    pub(super) settings: Settings,
    pub(super) bench: Option<Bench<D::Arena>>,
    /// Inputs of the slots of shapes that were timed last: drawing them anew for every comparison would take most of it.
    pub(super) drawn: Vec<Drawn<D>>,
    /// What a peer was given last.
    pub(super) given: Option<Given>,
    /// The slots that were drawn last, for a peer, and their seed.
    pub(super) contents: Option<(u64, Vec<Rc<Contents>>)>,
    pub(super) cases: Cases<D>,
    shapes: Vec<Vec<i64>>,
    /// Workloads that cost too much for a full pass.
    large: Vec<Vec<i64>>,
    pub(super) folder: tempfile::TempDir,
    pub(super) linked: u64,
    pub(super) baseline: Known,
    /// Cost of a shape, see [`Question`].
    pub(super) cost: Cost,
    /// Whether runners open cuBLASLt.
    pub(super) with_cublaslt: bool,
    pub(super) watch: Watch,
    pub(super) lease: Lease,
    /// The peer worker, once one was needed.
    pub(super) peer: Option<Peer>,
    /// One that was started ahead of that.
    pub(super) starting: Option<Starting>,
}

/// Inputs of a rotation's slots.
pub(super) struct Drawn<D: Desk> {
    /// What they were drawn from.
    pub(super) seed: u64,
    pub(super) bytes: usize,
    pub(super) held: Rc<D::Drawn>,
}

/// What is drawn at workloads that are too large for all distributions.
pub const LARGE: [Distribution; 4] =
    [Distribution::Normal, Distribution::OneHotLast, Distribution::Integers, Distribution::WideIntegers];

/// How much of the domain a pass covers.
pub(super) struct Scope {
    pub(super) shapes: usize,
    pub(super) large: bool,
    pub(super) distributions: Vec<Distribution>,
    /// Launches of one case of the first shape: at least, and where they soon end.
    pub(super) least: u32,
    pub(super) repeats: u32,
    pub(super) patience: Duration,
}

/// How long a finalist's repeats go on where they need not all be.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);
/// The same while screening, where most candidates are right and one that is not meets the full pass.
const GLANCE: Duration = Duration::from_millis(6);

impl<D: Desk> Session<D> {
    /// A session for `question`, at this desk.
    pub(super) fn new(question: Question, settings: Settings, desk: D) -> Result<Self, Error> {
        let Question { spec, reference: _, exact_integers, cost, tiles, scalar } = question;
        let (cap, most) = (settings.cost_cap, settings.shapes_most);
        let shapes = shapes(&spec, &Budget { cost: &cost, cap, most, tiles: &tiles });
        if shapes.is_empty() {
            return Err(Error::Shape(format!("kernel `{}` has no shape", spec.name)));
        }
        let large = beyond(&spec, &shapes, |axes| (cap + 1..=settings.large_cap).contains(&cost(axes)));
        let cases = Cases::new(desk, settings.seed, exact_integers, scalar, settings.keep_bytes);
        let folder = tempfile::tempdir().map_err(|e| Error::system("make a temporary folder", e))?;
        let baseline = Known::default();
        let card = cases.desk.card();
        let lease =
            card.as_ref().map_or_else(Lease::none, |card| Lease::named(&std::env::temp_dir(), card.name()));
        Ok(Self {
            spec,
            settings,
            bench: None,
            drawn: Vec::new(),
            given: None,
            contents: None,
            cases,
            shapes,
            large,
            folder,
            linked: 0,
            baseline,
            cost,
            with_cublaslt: false,
            watch: Watch::open(card.as_ref()),
            lease,
            peer: None,
            starting: None,
        })
    }

    /// See [`Judge::expect_peer`](super::Judge::expect_peer).
    pub(super) fn expect_peer(&mut self) {
        if self.peer.is_none() && self.starting.is_none() {
            // one that cannot be started is tried again, and told, when it is needed
            self.starting = self.settings.python.as_ref().and_then(|python| Starting::begin(python).ok());
        }
    }

    /// Why the card's state is not read, where there is a card.
    pub(super) fn not_watched(&self) -> Option<String> {
        self.watch.missing().map(str::to_owned)
    }

    /// The shapes that a full pass judges.
    pub(super) fn shapes(&self) -> &[Vec<i64>] {
        &self.shapes
    }

    /// Judges one candidate where it is eligible, on few shapes and distributions.
    pub(super) fn screen(&mut self, candidate: &Candidate) -> Result<Outcome, Error> {
        let (shapes, count) = self.settings.screening;
        let distributions = self.distributions().take(count).collect();
        let repeats = self.settings.repeats.0;
        let scope = Scope { shapes, large: false, distributions, least: 2, repeats, patience: GLANCE };
        self.judge(std::slice::from_ref(candidate), &scope)
    }

    /// Judges a list of variants as the runtime would dispatch it, on every shape and distribution.
    pub(super) fn full(&mut self, variants: &[Candidate]) -> Result<Outcome, Error> {
        let distributions = self.distributions().collect();
        let (few, repeats) = self.settings.repeats;
        // the baseline is ours, and slow: 1,000 launches of it may take minutes
        let least = if self.is_baseline(variants) { few.min(repeats) } else { repeats };
        let shapes = self.shapes.len();
        let scope = Scope { shapes, large: true, distributions, least, repeats, patience: PATIENCE };
        let outcome = self.judge(variants, &scope)?;
        if let Outcome::Passed { correctness, .. } = &outcome {
            self.check_telling(correctness)?;
        }
        Ok(outcome)
    }

    fn is_baseline(&self, variants: &[Candidate]) -> bool {
        let baseline = self.settings.baseline.as_ref().map(|baseline| &baseline.candidate);
        matches!(variants, [only] if Some(only) == baseline)
    }

    pub(super) fn distributions(&self) -> impl Iterator<Item = Distribution> + '_ {
        let is_on =
            |d: &Distribution| self.settings.checks.has(Check::Distribution(*d)) && self.cases.tells(*d);
        Distribution::ALL.into_iter().filter(is_on)
    }

    fn judge(&mut self, variants: &[Candidate], scope: &Scope) -> Result<Outcome, Error> {
        verdict(self.try_judge(variants, scope))
    }

    fn try_judge(&mut self, variants: &[Candidate], scope: &Scope) -> Result<Correctness, Halt> {
        let variants = self.load(variants)?;
        let mut passed = Correctness::default();
        for shape in 0..scope.shapes.min(self.shapes.len()) {
            for distribution in &scope.distributions {
                self.judge_case(&variants, (shape, *distribution, Alignment::Allocator), scope, &mut passed)?;
            }
            if self.settings.checks.has(Check::Misalignment) {
                let case = (shape, Distribution::Normal, Alignment::Element);
                self.judge_case(&variants, case, scope, &mut passed)?;
            }
        }
        for workload in (0..self.large.len()).filter(|_| scope.large) {
            for distribution in scope.distributions.iter().filter(|d| LARGE.contains(d)) {
                let case = (self.shapes.len() + workload, *distribution, Alignment::Allocator);
                self.judge_case(&variants, case, scope, &mut passed)?;
            }
        }
        if passed.shapes.is_empty() {
            return Err(Outcome::Blocked("is eligible for none of the test shapes".to_owned()).into());
        }
        Ok(passed)
    }

    fn judge_case(
        &mut self,
        variants: &[Loadable],
        (shape, distribution, alignment): (usize, Distribution, Alignment),
        scope: &Scope,
        passed: &mut Correctness,
    ) -> Result<(), Halt> {
        let axes = self.axes(shape);
        let Some((variant, image)) = self.dispatch(variants, &axes, alignment)? else { return Ok(()) };
        let what = Launchable::from(variant);
        self.judge_on(&what, &image, (shape, distribution, alignment), scope, passed)
    }

    /// Judges what is launched on one case.
    pub(super) fn judge_on(
        &mut self,
        what: &Launchable,
        image: &Image,
        (shape, distribution, alignment): (usize, Distribution, Alignment),
        scope: &Scope,
        passed: &mut Correctness,
    ) -> Result<(), Halt> {
        // a case at a time: who wants to time something need not wait for all of them
        let _shared = self.lease.shared();
        let axes = self.axes(shape);
        let case = self.cases.get(&self.spec, shape, &axes, distribution)?;
        let few = scope.repeats.min(self.settings.repeats.0);
        let (least, most) = match distribution {
            Distribution::Normal if alignment == Alignment::Element || shape >= self.shapes.len() => (2, 2),
            Distribution::Normal if shape == 0 => (scope.least, scope.repeats),
            Distribution::Normal if shape < self.settings.screening.0 => (few, scope.repeats),
            Distribution::Normal => (few, few),
            _ => (2, 2),
        };
        let repeats = Repeats { least: least.min(scope.least), most, patience: scope.patience };
        self.launches(what, &case, image, repeats, passed)?;
        passed.not_enforced = self.not_enforced();
        passed.device = self.device();
        let loose = case.loose.iter().map(|t| self.spec.tensors[*t].name.clone());
        if alignment == Alignment::Allocator {
            passed.not_counted.extend(loose.map(|output| NotCounted {
                axes: axes.clone(),
                distribution,
                output,
            }));
        }
        if !passed.shapes.contains(&axes) {
            passed.shapes.push(axes);
        }
        if !passed.distributions.contains(&distribution) {
            passed.distributions.push(distribution);
        }
        Ok(())
    }

    /// Extents of the shape with this number, or of the large workload behind the shapes.
    pub(super) fn axes(&self, shape: usize) -> Vec<i64> {
        self.shapes.iter().chain(&self.large).nth(shape).cloned().unwrap_or_default()
    }

    /// The variant that the runtime would launch, and its arena; none when none is eligible.
    pub(super) fn dispatch<'a>(
        &self,
        variants: &'a [Loadable],
        axes: &[i64],
        alignment: Alignment,
    ) -> Result<Option<(&'a Loadable, Image)>, Halt> {
        let claims: Vec<(&Eligibility, &Eligibility)> =
            variants.iter().map(|v| (&v.candidate.eligibility, &v.candidate.prefer)).collect();
        // tensors lie first, so their addresses do not depend on a variant's workspace
        let bare = image(&self.spec, &Contract::default(), axes, alignment)?;
        let addresses: Vec<u64> = bare.iter().flat_map(|i| &i.tensors).map(|r| r.offset).collect();
        let Some(chosen) = dispatch(&claims, axes, &addresses) else { return Ok(None) };
        let variant = &variants[chosen];
        match image(&self.spec, &variant.candidate.contract, axes, alignment)? {
            Some(image) => self.room(image.bytes, image.workspace.bytes).map(|()| Some((variant, image))),
            None => Err(Outcome::Blocked(format!("its workspace has no size at {axes:?}")).into()),
        }
    }

    /// Every output must have been told right from wrong by at least three distributions.
    fn check_telling(&self, passed: &Correctness) -> Result<(), Error> {
        let mut loose: BTreeMap<(&str, Distribution), usize> = BTreeMap::new();
        for case in &passed.not_counted {
            *loose.entry((&case.output, case.distribution)).or_default() += 1;
        }
        for tensor in self.spec.tensors.iter().filter(|t| t.role != Role::Input) {
            let tells = |d: &&Distribution| {
                let counted =
                    loose.get(&(tensor.name.as_str(), **d)).copied().unwrap_or(0) < passed.shapes.len();
                counted && **d != Distribution::Specials
            };
            let count = passed.distributions.iter().filter(tells).count();
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

/// What came of judging, as an outcome.
pub(super) fn verdict(judged: Result<Correctness, Halt>) -> Result<Outcome, Error> {
    let passed = |correctness| Outcome::Passed { correctness, performance: None };
    Ok(settle(judged)?.map_or_else(|outcome| *outcome, passed))
}
