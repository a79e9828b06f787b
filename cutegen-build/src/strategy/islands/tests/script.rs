//! What scripts of `islands` have besides: hints that ship, requests of several islands, and steps of one.

use crate::experience::{Library, SEED, fitting};
use crate::run_log::{self, Ask, Facts, Frozen, Outcome, Sequence};
use crate::strategy::Strategy;
use crate::strategy::script::{self, Script, rows};

/// Times over others alone, at a share of the roofline.
pub(super) fn speed(roofline: f64, over: &[(Sequence, f64)]) -> Facts {
    let mut facts = script::speed(roofline, 1.0, over);
    facts.speed.iter_mut().for_each(|speed| speed.over_naive = None);
    Facts { profile: Default::default(), ..facts }
}

/// A run with the hints that ship.
pub(super) fn islands(settings: &[(&str, f64)]) -> Script {
    let mut run = Script::of(Strategy::Islands, rows(), settings);
    let hints = fitting(&Library::read(SEED).expect("the library that ships").hints, &run.plan);
    run.log.start.experience = Some(Frozen { library: run_log::digest(SEED), hints });
    run
}

/// One step at a time.
pub(super) fn serial(settings: &[(&str, f64)]) -> Script {
    islands(&[&[("parallel", 1.0)], settings].concat())
}

impl Script {
    /// This is asked next, whatever else is awaited; its request, and its prompt.
    #[track_caller]
    pub(super) fn requested(&mut self, ask: Ask, about: Option<Sequence>) -> (Sequence, String) {
        let (request, question) = self.question();
        assert_eq!((question.ask, question.about), (ask, about));
        (request, question.prompt.text)
    }

    /// A first kernel of the island whose turn it is, so much faster than those that are named; the kernel, and the prompt.
    #[track_caller]
    pub(super) fn seeded(&mut self, source: &str, over: &[(Sequence, f64)]) -> (Sequence, String) {
        let (request, prompt) = self.requested(Ask::First, None);
        let kernel = self.kernel_for(request, source);
        self.judged(kernel, Outcome::Right, speed(0.3, over));
        (kernel, prompt)
    }

    /// A change of this kernel, so much faster than those that are named.
    #[track_caller]
    pub(super) fn changed(
        &mut self,
        parent: Sequence,
        source: &str,
        over: &[(Sequence, f64)],
    ) -> (Sequence, String) {
        let (request, prompt) = self.requested(Ask::Optimise, Some(parent));
        let kernel = self.kernel_for(request, source);
        self.judged(kernel, Outcome::Right, speed(0.3, over));
        (kernel, prompt)
    }
}
