//! `propose`: a kernel that somebody wrote, through the same gate as every candidate of a search. Its verdict is told as text
//! or JSON; what is accepted is in the user store, from where `accept` brings it into the package.

pub(crate) mod told;

use std::path::Path;

use cutegen_build::discover::Project;
use cutegen_build::generate::Candidate;
use cutegen_build::generate::prompt;
use cutegen_build::generate::proposal::{self, BYTES_MAX, Problem, Proposal};
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::digest;
use cutegen_build::search::Searcher;
use cutegen_build::store::replay::replay_full;
use cutegen_build::store::{Store, lock_file};
use cutegen_spec::contract::Contract;
use cutegen_spec::provenance::{Provenance, Short, Word};

use crate::args::{Command, Propose, Select};
use crate::failure::Failure;
use crate::outfile::OutFile;
use crate::output::Output;
use crate::{pack, project};
use told::{Source, Told};

/// Writes the prompt, or has a source judged.
pub(crate) fn run(command: &Command, verb: &Propose, out: &Output) -> Result<(), Failure> {
    let project = project::open(command)?;
    let plan = one(&project, verb)?;
    match (&verb.prompt, &verb.source) {
        (Some(file), _) => ask(&plan, file, out),
        (None, Some(source)) => submit(&project, &plan, source, verb, out),
        (None, None) => Err(Failure::Usage("--source or --prompt is needed".to_owned())),
    }
}

/// Writes what is asked.
fn ask(plan: &Plan, file: &Path, out: &Output) -> Result<(), Failure> {
    let prompt = prompt::proposal(plan, &prompt::kit(plan));
    OutFile::open(file, "--prompt")?.write(prompt.text.as_bytes())?;
    let (title, file) = (plan.title(), file.display());
    out.note(&format!("{title}: {file} has prompt {} ({})", prompt.version, prompt.digest()));
    Ok(())
}

/// Compiles the kernel, has it judged where there is a device for that, and says what became of it.
fn submit(
    project: &Project,
    plan: &Plan,
    source: &Path,
    verb: &Propose,
    out: &Output,
) -> Result<(), Failure> {
    let (points, first, reply) = read(plan, source, verb.contract.as_deref())?;
    let failed = |error| Failure::search(&plan.title(), &error);
    let searcher = Searcher::new().map_err(Failure::machine)?.with_peers(verb.peers);
    let toolchain = searcher.fingerprint(&plan.target).map_err(failed)?;
    let by = verb.by.as_deref();
    let candidates: Vec<Candidate> =
        points.iter().map(|point| point.candidate(&toolchain, &origin(point, &reply, by))).collect();
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let locked = replay_full(&request(plan, project, &lock, &Store::new(&project.store))).ok();
    let symbols: Vec<Contract> = candidates.iter().map(|candidate| candidate.contract.clone()).collect();
    let became =
        searcher.submit_points(plan, locked.as_ref(), candidates, &mut out.reporter()).map_err(failed)?;
    let sources = points.iter().zip(&symbols);
    let sources = sources.map(|(proposal, symbols)| Source { proposal, first, symbols });
    let told = told::all(plan, sources.zip(became));
    told.iter().for_each(|point| out.result(&point.text(), point));
    if let Some(file) = verb.results.as_deref().filter(|_| told.iter().any(Told::is_accepted)) {
        pack::write_results(searcher.store(), &[plan.key], OutFile::open(file, "--results")?)?;
    }
    told::end(&told)
}

/// The points of the text in a file, its first line there, and the file's text.
fn read(
    plan: &Plan,
    source: &Path,
    contract: Option<&Path>,
) -> Result<(Vec<Proposal>, usize, String), Failure> {
    let reply = text(source, "--source")?;
    let contract = contract.map(|path| text(path, "--contract")).transpose()?;
    let unread = |problems: Vec<Problem>| unread(plan, source, &problems);
    let (text, first) = proposal::source(&reply).map_err(|problem| unread(vec![problem]))?;
    let below = |problems: Vec<Problem>| problems.into_iter().map(|problem| problem.below(first)).collect();
    let points =
        Proposal::points(plan, text, contract.as_deref()).map_err(|problems| unread(below(problems)))?;
    Ok((points, first, reply))
}

/// The plan of the kernel on its target.
fn one(project: &Project, verb: &Propose) -> Result<Plan, Failure> {
    let select = Select { kernels: vec![verb.kernel.clone()], target: verb.target.clone() };
    let mut plans = project::select(project, &select)?;
    if plans.len() > 1 {
        let targets: Vec<String> = plans.iter().map(|plan| plan.target.to_string()).collect();
        let (kernel, targets) = (&verb.kernel, targets.join(" or "));
        return Err(Failure::Usage(format!(
            "`{kernel}` is for several targets: a source is for one\nrun: cargo cutegen propose {kernel} --target {targets}"
        )));
    }
    plans.pop().ok_or_else(|| Failure::Usage(format!("no kernel `{}`", verb.kernel)))
}

/// A file's text; what is longer than a proposal may be is not read.
fn text(path: &Path, flag: &str) -> Result<String, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::Usage(format!("{flag} {}: {why}", path.display()));
    let bytes = std::fs::metadata(path).map_err(|error| wrong(&error))?.len();
    if bytes > BYTES_MAX as u64 {
        return Err(wrong(&format!("{bytes} bytes; at most {BYTES_MAX} are read")));
    }
    std::fs::read_to_string(path).map_err(|error| wrong(&error))
}

fn unread(plan: &Plan, path: &Path, problems: &[Problem]) -> Failure {
    let lines: Vec<String> = problems.iter().map(|problem| format!("  {problem}")).collect();
    let (title, path) = (plan.title(), path.display());
    Failure::Disagreement(format!("{title}: {path} is no proposal:\n{}", lines.join("\n")))
}

/// Of a person or program by this name, if it gave one. The reply is FILE as it came.
fn origin(proposal: &Proposal, reply: &str, by: Option<&str>) -> String {
    let generator = Word::parse("submitted").expect("lower-case letters");
    let short = |digest: String| Short::of(&digest).expect("64 hex digits");
    let identity = short(proposal.identity.to_string());
    Provenance {
        model: by.map(str::to_owned),
        reply: Some(short(digest(reply).to_string())),
        ..Provenance::new(generator, identity)
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use cutegen_build::discover::Project;
    use cutegen_build::generate::proposal::Proposal;
    use cutegen_build::plan::Plan;
    use cutegen_spec::provenance::Provenance;
    use tempfile::TempDir;

    use super::{origin, read};
    use crate::project::sample::library;

    const SOURCE: &str = "// contract:\n// steps = [{ entry = \"@ENTRY@\", args = [\"ptr(x)\", \"ptr(y)\"] }]\n\
                          extern \"C\" void @ENTRY@(void** params) {}\n";

    fn plan(folder: &TempDir) -> Plan {
        let project = Project::library(folder.path(), folder.path()).expect("a library");
        Plan::all(&project.specs).remove(0)
    }

    fn read_of(folder: &TempDir, text: &str) -> (Proposal, String) {
        let file = folder.path().join("reply.md");
        std::fs::write(&file, text).expect("written");
        let (mut points, _, reply) =
            read(&plan(folder), &file, None).unwrap_or_else(|failure| panic!("{failure}"));
        (points.remove(0), reply)
    }

    #[test]
    fn the_reply_as_it_came_is_in_the_origin() {
        let (folder, _) = library(&[("one", "'host'")]);
        let reply = "abc\n";
        let (plain, _) = read_of(&folder, SOURCE);
        let told = Provenance::parse(&origin(&plain, reply, Some("a model"))).expect("a provenance");
        // of `printf 'abc\n' | sha256sum`
        assert_eq!(told.reply.map(|reply| reply.to_string()).as_deref(), Some("edeaaff3f1774ad2"));
        assert_eq!(told.model.as_deref(), Some("a model"));
        // the same kernel in other words is another reply
        let (fenced, words) = read_of(&folder, &format!("Here it is.\n\n```cpp\n{SOURCE}```\n"));
        assert_eq!(fenced.identity, plain.identity);
        assert!(words.starts_with("Here it is."));
        assert_ne!(origin(&fenced, &words, None), origin(&plain, SOURCE, None));
    }
}
