//! `run`: a locked kernel, the naive one or the f64 reference on the user's own tensors. Candidate code runs in a runner
//! process, as in the gate; this one reads files, asks and writes files.

mod axes;
mod deviation;
mod expected;
mod files;
mod scalars;
mod strides;
mod tensors;
mod told;
mod values;

use std::path::Path;

use cutegen_build::discover::Project;
use cutegen_build::evaluate::judge::user_launch;
use cutegen_build::evaluate::wire::protocol::ScalarValue;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::search::{Launch, Searcher, Which};
use cutegen_build::store::replay::replay;
use cutegen_build::store::{Entry, Store, lock_file};
use cutegen_spec::target::Target;
use cutegen_spec::tensor::{Role, Tensor};

use crate::args::{Command, Compare, Run, Select, With};
use crate::failure::Failure;
use crate::outfile::OutFile;
use crate::output::Output;
use crate::project;
use tensors::Brought;

/// A kernel with everything that a launch needs, whichever way it came.
struct Subject {
    plan: Plan,
    axes: Vec<i64>,
    scalars: Vec<ScalarValue>,
    /// Dense bytes of inputs and inouts, by position.
    given: Vec<Option<Vec<u8>>>,
}

/// Runs the kernel, writes what it left, says how far that is from what it is compared with.
pub(crate) fn run(command: &Command, verb: &Run, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plan = choose(&project, verb)?;
    files::distinct(verb)?;
    let brought = Brought::read(&verb.input)?;
    let subject = prepare(plan, verb, &brought)?;
    // before anything runs: whoever cannot write learns it now
    let file = verb.out.as_deref().map(|path| OutFile::open(path, "--out")).transpose()?;
    let kept = verb.keep_inputs.as_deref();
    let kept = kept.map(|path| OutFile::open(path, "--keep-inputs")).transpose()?;
    let entry = locked(&project, &subject.plan)?;
    let searcher = Searcher::new().map_err(Failure::machine)?;
    searcher.can_judge(&subject.plan.target).map_err(Failure::Machine)?;
    let folder = tempfile::tempdir().map_err(|e| Failure::Machine(format!("no temporary folder: {e}")))?;
    let launch = launch(&subject, verb, folder.path())?;
    let ran = searcher.launch(&subject.plan, &entry, &launch).map_err(Failure::machine)?;
    let ran = ran.map_err(|outcome| Failure::Disagreement(format!("{}: {outcome}", subject.plan.title())))?;
    let told = told::Told::new(&subject, verb, &entry, &ran, folder.path())?;
    if let Some(file) = kept {
        tensors::write(file, &tensors::inputs(&subject), told.metadata("inputs"))?;
    }
    if let Some(file) = file {
        let results = tensors::results(&subject, verb.with, folder.path())?;
        tensors::write(file, &results, told.metadata(verb.with.name()))?;
    }
    out.result(&told.text(), &told);
    told.verdict()
}

/// The kernel on the named target; else on its only one, else on the host.
fn choose(project: &Project, verb: &Run) -> Result<Plan, Failure> {
    let select = Select { kernels: vec![verb.kernel.clone()], target: verb.target.clone() };
    let mut plans = project::select(project, &select)?;
    let asked = verb.target.as_deref().map_or_else(|| Ok(Target::host()), Target::parse);
    let asked = asked.map_err(Failure::Usage)?;
    let at = if plans.len() == 1 { Some(0) } else { plans.iter().position(|plan| plan.target == asked) };
    let which = || {
        let targets: Vec<String> =
            plans.iter().map(|plan| format!("--target {}", project::short(&plan.target))).collect();
        let (name, targets) = (&verb.kernel, targets.join(", "));
        Failure::Usage(format!("which target of kernel `{name}`? give one of: {targets}"))
    };
    let at = at.ok_or_else(which)?;
    Ok(plans.swap_remove(at))
}

fn prepare(plan: Plan, verb: &Run, brought: &Brought) -> Result<Subject, Failure> {
    let views = brought.views()?;
    tensors::ranks(&plan, &views)?;
    let is_absent =
        |tensor: &Tensor| tensor.role != Role::Output && !views.iter().any(|view| view.name == tensor.name);
    let absent: Vec<usize> =
        (0..plan.spec.tensors.len()).filter(|t| is_absent(&plan.spec.tensors[*t])).collect();
    let axes = match axes::bind(&plan.spec, verb, &views) {
        // a tensor under another name is no matter of extents
        Err(_) if verb.random.is_none() && !absent.is_empty() => {
            return Err(Failure::Usage(expected::missing(&plan, None, &absent, (&verb.input, &views))));
        }
        bound => bound?,
    };
    let scalars = scalars::bind(&plan.spec, verb)?;
    let mut given = tensors::take(&plan, &axes, &views)?;
    if let (Some(seed), false) = (verb.random, absent.is_empty()) {
        let mut drawn = user_launch::drawn(&plan.spec, seed, &axes).map_err(Failure::machine)?;
        absent.iter().for_each(|t| given[*t] = drawn[*t].take());
    } else if !absent.is_empty() {
        return Err(Failure::Usage(expected::missing(&plan, Some(&axes), &absent, (&verb.input, &views))));
    }
    for (tensor, bytes) in plan.spec.tensors.iter().zip(&given) {
        values::check(tensor, &axes, bytes.as_deref()).map_err(Failure::Usage)?;
        let told = |told| Failure::Usage(format!("{}: {told}", plan.title()));
        strides::check(tensor, &axes, bytes.as_deref()).map_err(told)?;
    }
    Ok(Subject { plan, axes, scalars, given })
}

/// The pinned entry; also for the naive kernel, whose locked bytes are launched.
fn locked(project: &Project, plan: &Plan) -> Result<Entry, Failure> {
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let entry = replay(&request(plan, project, &lock, &Store::new(&project.store)));
    entry.map(Entry::dispatched).map_err(Failure::project)
}

fn launch(subject: &Subject, verb: &Run, folder: &Path) -> Result<Launch, Failure> {
    for (t, bytes) in subject.given.iter().enumerate() {
        let Some(bytes) = bytes else { continue };
        let path = user_launch::given(folder, t);
        let failed = |e| Failure::Machine(format!("cannot write {}: {e}", path.display()));
        std::fs::write(&path, bytes).map_err(failed)?;
    }
    let mut launches = match verb.with {
        With::Tuned => vec![Which::Dispatched],
        With::Naive => vec![Which::Naive],
        With::Reference => Vec::new(),
    };
    if verb.compare == Some(Compare::Naive) {
        launches.push(Which::Naive);
    }
    let reference = verb.with == With::Reference || verb.compare == Some(Compare::Reference);
    let (axes, scalars) = (subject.axes.clone(), subject.scalars.clone());
    Ok(Launch { folder: folder.to_owned(), axes, scalars, launches, reference })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use cutegen_build::discover::Project;

    use crate::args::{Cargo, Verb};
    use crate::project::sample::library;

    fn chosen(project: &Project, kernel: &str, target: Option<&str>) -> Result<String, String> {
        let words = ["cargo", "cutegen", "run", kernel, "--out", "x"];
        let target = target.iter().flat_map(|target| ["--target", target]);
        let Cargo::Cutegen(command) = Cargo::parse_from(words.into_iter().chain(target));
        let Verb::Run(verb) = command.verb else { panic!("{:?}", command.verb) };
        let chosen = super::choose(project, &verb);
        chosen.map(|plan| plan.target.to_string()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn the_target_that_was_named_goes_before_one_that_it_means() {
        let (_folder, project) = library(&[
            ("both", r#""sm_90a:h200", "sm_90a""#),
            ("narrow", r#""sm_90a:h100", "host", "sm_90a:h200""#),
            ("one", r#""sm_90a:h200""#),
        ]);
        let is = |kernel, target, expected: &str| {
            assert_eq!(chosen(&project, kernel, target), Ok(expected.to_owned()), "{kernel} {target:?}");
        };
        is("both", Some("sm_90a"), "sm_90a");
        is("both", Some("sm_90a:h200"), "sm_90a:h200");
        is("one", Some("sm_90a"), "sm_90a:h200");
        is("one", None, "sm_90a:h200");
        is("narrow", None, "host:x86_64-unknown-linux-gnu:x86-64-v3");
        let which =
            "which target of kernel `narrow`? give one of: --target sm_90a:h100, --target sm_90a:h200";
        assert_eq!(chosen(&project, "narrow", Some("sm_90a")), Err(which.to_owned()));
        assert!(chosen(&project, "one", Some("host")).is_err_and(|told| told.contains("sm_90a:h200")));
    }
}
