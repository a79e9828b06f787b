//! Which kinds of generators `tune` asks of a kernel, in which order, and what people are told of the order. It must not know how
//! a kind is asked.

use cutegen_build::plan::Plan;
use cutegen_spec::generators::{GeneratorKind, Generators};
use serde::Serialize;

use crate::args::{How, Tune};
use crate::failure::Failure;
use crate::output::Output;

/// What to add to a command line so that it names something to ask.
const NAME_IT: &str = "name what to ask: --endpoint NAME, --preset NAME or -- PROGRAM";

/// The orders of a command's kernels.
pub(super) struct Kinds<'a> {
    /// Of the command line, in place of what specs say.
    given: Option<&'a Generators>,
    /// Whether the command line names a program or an endpoint.
    has_means: bool,
}

/// A kind is asked after another one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event", rename = "asking")]
pub(super) struct NextKind<'a> {
    kernel: String,
    kind: &'static str,
    after: &'static str,
    /// The fastest right kernel of that kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    best: Option<&'a Best>,
    min_speedup: f64,
}

/// No kind has what meets `accept`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "event", rename = "unmet")]
pub(super) struct Unmet<'a> {
    kernel: String,
    best: &'a Best,
    min_speedup: f64,
}

/// A right kernel.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Best {
    pub(super) name: String,
    pub(super) over_naive: f64,
}

impl<'a> Kinds<'a> {
    /// As the command line says. What nothing is there to ask is told.
    pub(super) fn of(verb: &'a Tune, plans: &[Plan], out: &Output) -> Result<Self, Failure> {
        let kinds = Self { given: verb.generators.as_ref(), has_means: has_means(&verb.how) };
        let asks = plans.iter().any(|plan| kinds.order(plan).has(GeneratorKind::Model));
        match (asks, kinds.has_means) {
            (true, false) => out.note(&format!("`model` is left out: {NAME_IT}")),
            (false, true) => {
                return Err(Failure::Usage(
                    "no kernel has `model` among its generators, so that nothing would be asked\n\
                     run: cargo cutegen tune --generators template,model"
                        .to_owned(),
                ));
            }
            (true, true) | (false, false) => {}
        }
        Ok(kinds)
    }

    /// The kinds that are asked for a kernel; at least one.
    pub(super) fn of_plan(&self, plan: &Plan) -> Result<Vec<GeneratorKind>, Failure> {
        let order = self.order(plan);
        let can_be_asked = |kind: &GeneratorKind| *kind != GeneratorKind::Model || self.has_means;
        let kinds: Vec<GeneratorKind> = order.kinds().iter().copied().filter(can_be_asked).collect();
        if kinds.is_empty() {
            let title = plan.title();
            return Err(Failure::Usage(format!(
                "{title}: of its generators ({order}) none is left\n{NAME_IT}"
            )));
        }
        Ok(kinds)
    }

    /// Whether a model may be asked for a kernel.
    pub(super) fn asks_model(&self, plan: &Plan) -> bool {
        self.has_means && self.order(plan).has(GeneratorKind::Model)
    }

    fn order<'p>(&'p self, plan: &'p Plan) -> &'p Generators {
        self.given.unwrap_or(&plan.spec.generators)
    }
}

/// Says which kind is asked next, and why.
pub(super) fn tell_next(
    plan: &Plan,
    (before, next): (GeneratorKind, GeneratorKind),
    best: Option<&Best>,
    out: &Output,
) {
    let (kernel, min_speedup) = (plan.title(), plan.spec.min_speedup);
    let [after, kind] = [before, next].map(GeneratorKind::name);
    let why = match best {
        Some(Best { over_naive, .. }) => {
            format!("{over_naive:.2}x naive, and accept asks that the lower end exceed {min_speedup}")
        }
        None => "no kernel that is right".to_owned(),
    };
    out.news(
        &format!("{kernel}: {after}: {why}: asking {kind}"),
        &NextKind { kernel: kernel.clone(), kind, after, best, min_speedup },
    );
}

/// Says that nothing meets `accept`, and what came nearest.
pub(super) fn tell_unmet(plan: &Plan, best: &Best, out: &Output) {
    let (kernel, min_speedup) = (plan.title(), plan.spec.min_speedup);
    let Best { name, over_naive } = best;
    out.news(
        &format!("{kernel}: nothing meets accept, which asks for {min_speedup}; the best is {name}, {over_naive:.2}x naive"),
        &Unmet { kernel: kernel.clone(), best, min_speedup },
    );
}

/// Whether a command line names what can be asked at once.
fn has_means(how: &How) -> bool {
    how.endpoint.is_some() || how.preset.is_some() || !how.command.is_empty()
}
