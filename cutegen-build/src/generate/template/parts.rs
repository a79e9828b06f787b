//! Candidates of several parts: of a kernel that no template fills whole, each part is filled by its own, and all are launched
//! one after the other by one contract. Temporaries between parts lie in the workspace.
//!
//! It knows neither sources nor launches of templates: texts are put into a namespace each, and positions of arguments are
//! those of the whole.

use cutegen_spec::contract::tensor_map::{Base, TensorMap};
use cutegen_spec::contract::{Arg, Contract, Initial, Step, WorkspacePart};
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::eligibility::{Condition, Eligibility};
use cutegen_spec::int_expr::{IntExpr, IntOp};
use cutegen_spec::math::Place;
use cutegen_spec::record::Kind;

use crate::generate::{Candidate, ENTRY};
use crate::plan::Plan;
use crate::plan::split::Part;

/// What a compiler reads before all else, in this order.
const DIRECTIVES: [&str; 3] = ["#include", "#define", "#undef"];

/// Candidates of the whole from those of its parts, best first: the n-th of each together. A part that has fewer begins again.
pub(super) fn joined(whole: &Plan, parts: &[Part], of_parts: &[Vec<Candidate>]) -> Vec<Candidate> {
    let most = of_parts.iter().map(Vec::len).max().unwrap_or(0);
    let nth = |n: usize| of_parts.iter().map(|all| &all[n % all.len()]).collect::<Vec<_>>();
    (0..most).map(|n| join(whole, parts, &nth(n))).collect()
}

fn join(whole: &Plan, parts: &[Part], chosen: &[&Candidate]) -> Candidate {
    let names = |of: &dyn Fn(&Candidate) -> String| chosen.iter().map(|c| of(c)).collect::<Vec<_>>();
    // names of parts together are longer than a name may be
    let digest = ArtifactDigest::of(names(&|candidate| candidate.name.clone()).join(" ").as_bytes());
    let name = format!("parts-{}", &digest.to_string()[..8]);
    let mut contract = Contract { workspace: between(parts), steps: Vec::new() };
    let passed = temps(parts);
    let mut conditions: Vec<Condition> = Vec::new();
    for (n, (part, candidate)) in parts.iter().zip(chosen).enumerate() {
        let places = Places { part, passed: &passed, first: contract.workspace.len() };
        contract.workspace.extend(candidate.contract.workspace.iter().cloned());
        contract.steps.extend(candidate.contract.steps.iter().map(|step| places.step(step, n)));
        for condition in candidate.eligibility.0.iter().filter_map(|condition| places.condition(condition)) {
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
    }
    let mut tiles: Vec<(usize, i64)> = chosen.iter().flat_map(|candidate| candidate.tiles.clone()).collect();
    tiles.sort_unstable();
    tiles.dedup();
    Candidate {
        kind: Kind::Tuned,
        origin: names(&|candidate| candidate.origin.clone()).join(", then "),
        source: source(whole, &name, chosen),
        name,
        contract,
        eligibility: Eligibility(conditions),
        tiles,
        cost_features: None,
    }
}

/// Temporaries that pass from part to part, each once.
fn temps(parts: &[Part]) -> Vec<usize> {
    let mut found = Vec::new();
    for place in parts.iter().flat_map(|part| &part.places) {
        match place {
            Place::Temp(temp) if !found.contains(temp) => found.push(*temp),
            Place::Temp(_) | Place::Tensor(_) => {}
        }
    }
    found
}

/// Where these lie.
fn between(parts: &[Part]) -> Vec<WorkspacePart> {
    let bytes = |temp: &usize| {
        let tensor = |part: &Part| {
            let at = part.places.iter().position(|place| *place == Place::Temp(*temp))?;
            Some(part.plan.spec.tensors[at].clone())
        };
        let tensor = parts.iter().find_map(tensor).expect("a part has it");
        let bytes = IntExpr::Const(i64::from(tensor.dtype.bits()).div_euclid(8));
        tensor.dims.into_iter().fold(bytes, |bytes, dim| IntExpr::op(IntOp::Mul, dim, bytes))
    };
    let part = |temp: &usize| WorkspacePart { bytes: bytes(temp), initial: Initial::Undefined };
    temps(parts).iter().map(part).collect()
}

/// What positions in a part's launch are to the whole.
struct Places<'a> {
    part: &'a Part,
    /// The temporaries at the front of the workspace.
    passed: &'a [usize],
    /// Where the part's own workspace begins.
    first: usize,
}

impl Places<'_> {
    fn step(&self, step: &Step, n: usize) -> Step {
        Step {
            entry: numbered(&step.entry, n),
            args: step.args.iter().map(|arg| self.arg(arg)).collect(),
            ..step.clone()
        }
    }

    fn tensor(&self, position: usize) -> Base {
        match self.part.places[position] {
            Place::Tensor(tensor) => Base::Tensor(tensor),
            Place::Temp(temp) => {
                let at = self.passed.iter().position(|passed| *passed == temp);
                Base::Workspace(at.expect("temporaries of parts are passed"))
            }
        }
    }

    fn arg(&self, arg: &Arg) -> Arg {
        let base = |base: Base| match base {
            Base::Tensor(position) => self.tensor(position),
            Base::Workspace(at) => Base::Workspace(self.first + at),
        };
        let address = |of: Base| match base(of) {
            Base::Tensor(tensor) => Arg::Ptr(tensor),
            Base::Workspace(at) => Arg::Workspace(at),
        };
        match arg {
            Arg::Ptr(position) => address(Base::Tensor(*position)),
            Arg::Workspace(at) => address(Base::Workspace(*at)),
            Arg::Map(map) => Arg::Map(Box::new(TensorMap { base: base(map.base), ..map.as_ref().clone() })),
            Arg::Axis(_) | Arg::Scalar(_) | Arg::Int(_) => arg.clone(),
        }
    }

    /// A condition on the whole; parts of a workspace are aligned to more than any asks.
    fn condition(&self, condition: &Condition) -> Option<Condition> {
        let Condition::Aligned { tensor, bytes } = condition else { return Some(condition.clone()) };
        match self.tensor(*tensor) {
            Base::Tensor(tensor) => Some(Condition::Aligned { tensor, bytes: *bytes }),
            Base::Workspace(_) => None,
        }
    }
}

/// A part's name for one of its entries, or a text with all of them, among those of the whole.
fn numbered(text: &str, n: usize) -> String {
    text.replace(ENTRY, &format!("{ENTRY}_{n}"))
}

/// All sources as one: what they include first, then a namespace each.
fn source(whole: &Plan, name: &str, chosen: &[&Candidate]) -> String {
    let mut first: Vec<&str> = Vec::new();
    let mut bodies = String::new();
    for (n, candidate) in chosen.iter().enumerate() {
        bodies += &format!("\nnamespace part_{n} {{\n\n");
        for line in candidate.source.lines() {
            if !DIRECTIVES.iter().any(|directive| line.starts_with(directive)) {
                bodies += &format!("{}\n", numbered(line, n));
            } else if !first.contains(&line) {
                first.push(line);
            }
        }
        bodies += &format!("\n}}  // namespace part_{n}\n");
    }
    let math = whole.spec.math.canonical().trim_end().replace('\n', "\n// ");
    format!("// {name}: {math}\n{}\n{bodies}", first.join("\n"))
}
