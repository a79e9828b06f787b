//! [`text`]: a candidate as a person would submit it: its contract in a comment at the top, by the names of the spec, then its source.
//! [`Proposal::read`](super::Proposal::read) reads the same kernel in it. It must not know where the candidate comes from.

use std::collections::BTreeMap;

use cutegen_spec::contract::tensor_map::{Base, TensorMap};
use cutegen_spec::contract::{Arg, Contract, Step, WorkspacePart, ones};
use cutegen_spec::eligibility::Eligibility;
use cutegen_spec::int_expr::IntExpr;
use cutegen_spec::spec::KernelSpec;

use super::header;
use crate::generate::{Candidate, ENTRY};
use crate::kit;
use crate::plan::Plan;

/// What symbols of ours begin with, and their length up to what a source adds.
const SYMBOL: &str = "cutegen_";
const SYMBOL_LENGTH: usize = SYMBOL.len() + 16;

/// The text of a candidate for the kernel of `plan`, with the kit's headers by name.
///
/// # Errors
/// Its kernels do not have one symbol of ours in front.
pub fn text(plan: &Plan, candidate: &Candidate) -> Result<String, String> {
    let symbol = symbol(&candidate.contract)?;
    let spec = &plan.spec;
    let steps = candidate.contract.steps.iter().map(|step| written_step(spec, step, &symbol));
    let mut lines = vec!["contract:".to_owned(), "steps = [".to_owned()];
    lines.extend(steps.map(|step| format!("  {step},")));
    lines.push("]".to_owned());
    lines.extend(workspace(spec, &candidate.contract.workspace));
    if candidate.eligibility != Eligibility::default() {
        lines.push(format!("eligibility = \"{}\"", eligibility(spec, &candidate.eligibility)));
    }
    lines.extend(tiles(spec, &candidate.tiles));
    let comment: String = lines.iter().map(|line| format!("// {line}\n")).collect();
    let body = body(plan, &candidate.source).replace(&symbol, ENTRY);
    // comments of the source are none of the contract
    let between = if body.trim_start().starts_with("//") { "\n" } else { "" };
    Ok(format!("{comment}{between}{body}"))
}

/// The symbol that stands in place of [`ENTRY`].
fn symbol(contract: &Contract) -> Result<String, String> {
    let of = |step: &Step| {
        let begin = step.entry.get(..SYMBOL_LENGTH).filter(|begin| begin.starts_with(SYMBOL));
        begin.map(str::to_owned).ok_or_else(|| format!("its symbol `{}` is none of ours", step.entry))
    };
    let first = contract.steps.first().map(of).ok_or("it has no kernel")??;
    match contract.steps.iter().find(|step| !step.entry.starts_with(&first)) {
        None => Ok(first),
        Some(other) => Err(format!("its symbols `{first}` and `{}` begin otherwise", other.entry)),
    }
}

/// The source without the kit's headers, and without the contract that it was submitted with.
fn body(plan: &Plan, source: &str) -> String {
    let source = kit::body(source, &plan.target);
    let is_kit = |line: &&str| line.starts_with("#include <kit/");
    let named: String = source.split_inclusive('\n').take_while(is_kit).collect();
    let rest = &source[named.len()..];
    match header::split(rest) {
        (Some(_), body) => named + body,
        (None, _) => named + rest,
    }
}

fn number(spec: &KernelSpec, number: &IntExpr) -> String {
    number.text(&|axis| spec.axes[axis].name.clone())
}

/// A number as TOML has it: in quotes, unless it is a constant.
fn quoted(spec: &KernelSpec, value: &IntExpr) -> String {
    match value {
        IntExpr::Const(constant) => constant.to_string(),
        _ => format!("\"{}\"", number(spec, value)),
    }
}

fn written_step(spec: &KernelSpec, step: &Step, symbol: &str) -> String {
    let mut fields = vec![format!("entry = \"{}\"", step.entry.replace(symbol, ENTRY))];
    for (name, three) in [("grid", &step.grid), ("block", &step.block), ("cluster", &step.cluster)] {
        if *three != ones() {
            fields.push(format!("{name} = [{}]", three.each_ref().map(|one| quoted(spec, one)).join(", ")));
        }
    }
    if step.smem != IntExpr::Const(0) {
        fields.push(format!("smem = {}", quoted(spec, &step.smem)));
    }
    let args: Vec<String> = step.args.iter().map(|one| format!("\"{}\"", arg(spec, one))).collect();
    fields.push(format!("args = [{}]", args.join(", ")));
    let flags = [("pdl", step.pdl), ("co-resident", step.co_resident)];
    fields.extend(flags.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| format!("{name} = true")));
    format!("{{ {} }}", fields.join(", "))
}

fn arg(spec: &KernelSpec, arg: &Arg) -> String {
    match arg {
        Arg::Ptr(tensor) => format!("ptr({})", spec.tensors[*tensor].name),
        Arg::Axis(axis) => format!("axis({})", spec.axes[*axis].name),
        Arg::Scalar(scalar) => format!("scalar({})", spec.scalars[*scalar].name),
        Arg::Workspace(part) => format!("workspace(w{part})"),
        Arg::Int(value) => format!("int({})", number(spec, value)),
        Arg::Map(map) => format!("tma({})", tensor_map(spec, map)),
    }
}

fn tensor_map(spec: &KernelSpec, map: &TensorMap) -> String {
    let base = |base| match base {
        Base::Tensor(at) => spec.tensors[at].name.clone(),
        Base::Workspace(at) => format!("w{at}"),
    };
    map.text(&base, &|axis| spec.axes[axis].name.clone())
}

fn workspace(spec: &KernelSpec, parts: &[WorkspacePart]) -> Option<String> {
    let part = |part: &WorkspacePart| {
        format!("{{ bytes = {}, initial = \"{}\" }}", quoted(spec, &part.bytes), part.initial.name())
    };
    let parts: Vec<String> = parts.iter().map(part).collect();
    (!parts.is_empty()).then(|| format!("workspace = [{}]", parts.join(", ")))
}

fn eligibility(spec: &KernelSpec, eligibility: &Eligibility) -> String {
    let (tensor, axis) = (|at: usize| spec.tensors[at].name.clone(), |at: usize| spec.axes[at].name.clone());
    eligibility.0.iter().map(|condition| condition.text(&tensor, &axis)).collect::<Vec<_>>().join(" and ")
}

fn tiles(spec: &KernelSpec, tiles: &[(usize, i64)]) -> Option<String> {
    let mut by_axis: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (axis, extent) in tiles {
        by_axis.entry(*axis).or_default().push(extent.to_string());
    }
    let axes = by_axis.iter();
    let axes = axes.map(|(axis, extents)| format!("{} = [{}]", spec.axes[*axis].name, extents.join(", ")));
    let axes: Vec<String> = axes.collect();
    (!axes.is_empty()).then(|| format!("tiles = {{ {} }}", axes.join(", ")))
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;

    use super::text;
    use crate::generate::proposal::Proposal;
    use crate::generate::template::Templates;
    use crate::generate::{Answer, Candidate, Feedback, Generator as _};
    use crate::plan::Plan;

    fn plans(kernel: &str) -> Vec<Plan> {
        let text = format!("edition = 1\n[kernels.k]\n{kernel}\ntargets = ['host', 'sm_90a', 'sm_80']\n");
        Plan::all(&spec_file(&text, &Default::default()).into_kernels().expect("a right text"))
    }

    fn candidates(plan: &Plan) -> Vec<Candidate> {
        match Templates::new("a compiler").propose(plan, &Feedback::default()) {
            Answer::Candidates(candidates) => candidates,
            Answer::Exhausted | Answer::Failed(_) => Vec::new(),
        }
    }

    /// The kernel that a text is read as has the candidate's contract, conditions, tiles and code.
    fn assert_same(plan: &Plan, candidate: &Candidate) {
        let told = |problems: Vec<_>| format!("{}: {problems:?}", candidate.name);
        let text = text(plan, candidate).expect("a symbol of ours");
        let read = Proposal::read(plan, &text, None).unwrap_or_else(|problems| panic!("{}", told(problems)));
        let again = read.candidate("a compiler", "again");
        let symbols = [candidate, &again].map(|one| one.contract.steps[0].entry[..24].to_owned());
        let renamed = |one: &Candidate, from: &str| {
            let mut contract = one.contract.clone();
            contract.steps.iter_mut().for_each(|step| step.entry = step.entry.replace(from, "E"));
            (contract, one.eligibility.clone())
        };
        assert_eq!(renamed(candidate, &symbols[0]), renamed(&again, &symbols[1]), "{text}");
        let mut tiles = [candidate.tiles.clone(), again.tiles.clone()];
        tiles.iter_mut().for_each(|all| all.sort_unstable());
        assert_eq!(tiles[0], tiles[1], "{}", candidate.name);
        let code = candidate.source.replace(&symbols[0], "E");
        assert!(again.source.replace(&symbols[1], "E").ends_with(&code), "{}", candidate.name);
        // what is stored of that is told as the same kernel
        let stored = super::text(plan, &again).expect("a symbol of ours");
        let stored =
            Proposal::read(plan, &stored, None).unwrap_or_else(|problems| panic!("{}", told(problems)));
        assert_eq!((stored.contract, stored.eligibility), (read.contract, read.eligibility));
    }

    #[test]
    fn templates_are_read_again_as_the_same_kernels() {
        let kernels = [
            "axes = { m = '1..=512', d = 512 }\ninputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[m, d]' }\n\
             math = 'y[m, d] = softmax(d, x[m, d])'",
            "axes = { m = '1..=4096', n = 4096, k = 4096 }\ninputs = { x = 'bf16[m, k]', w = 'bf16[n, k]', b = 'bf16[n]' }\n\
             outputs = { y = 'bf16[m, n]' }\nmath = 'y[m, n] = gelu_tanh(sum(k, x[m, k] * w[n, k]) + b[n])'",
            "axes = { m = '1..=64', d = 96 }\ninputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[m, d]' }\n\
             scalars = { eps = 'f32' }\nmath = 'y[m, d] = rms_norm(d, x[m, d], eps)'",
            "axes = { m = '1..=4096', n = 1024, k = 512 }\ninputs = { x = 'f32[m, k]', w = 'f32[k, n]' }\n\
             outputs = { y = 'f32[m, n]' }\nmath = 't[m, n] = sum(k, x[m, k] * w[k, n]); y[m, n] = softmax(n, t[m, n])'",
        ];
        let (mut seen, mut maps, mut steps) = (0, 0, 0);
        for plan in kernels.iter().flat_map(|kernel| plans(kernel)) {
            let all = candidates(&plan);
            // every point differs in numbers: some of each space tell
            for candidate in all.iter().step_by(all.len() / 16 + 1) {
                assert_same(&plan, candidate);
                seen += 1;
                steps += usize::from(candidate.contract.steps.len() > 1);
                let args = candidate.contract.steps.iter().flat_map(|step| &step.args);
                maps += args.filter(|arg| arg.to_string().starts_with("tma(")).count();
            }
        }
        assert!(
            seen > 60 && maps > 0 && steps > 0,
            "{seen} kernels, {maps} descriptors, {steps} of several steps"
        );
    }

    #[test]
    fn a_foreign_symbol_is_none_of_ours() {
        let plan = plans(
            "axes = { m = 8 }\ninputs = { x = 'f32[m]' }\noutputs = { y = 'f32[m]' }\nmath = 'y[m] = x[m]'",
        )
        .remove(0);
        let mut candidate = candidates(&plan).remove(0);
        candidate.contract.steps[0].entry = "main".to_owned();
        assert_eq!(text(&plan, &candidate), Err("its symbol `main` is none of ours".to_owned()));
        candidate.contract.steps.clear();
        assert_eq!(text(&plan, &candidate), Err("it has no kernel".to_owned()));
    }
}
