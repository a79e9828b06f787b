//! [`Session`]: all that the server is and does, without the protocol: a project, its runs and the queue. Each tool is a method
//! from arguments to texts. A `String` in place of them is for the agent, and says what to do next.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use cutegen_build::discover::Project;
use cutegen_build::generate::prompt;
use cutegen_build::generate::proposal::BYTES_MAX;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::render::command::placed;
use cutegen_build::run_log::{self, Log};
use cutegen_build::store::replay::{Cause, replay};
use cutegen_build::store::{Store, lock_file};
use cutegen_spec::lock::State;
use cutegen_spec::target::Target;
use serde_json::{Map, Value};

use super::id::{self, Id};
use super::jobs::{Jobs, Tools};
use super::told::{MOST, Told, fitted};
use super::{history, kit, runs, tools};
use crate::args::Select;
use crate::project::{self, short};

/// The longest wait for a verdict: an answer comes within 20 seconds.
const WAIT_MOST: Duration = Duration::from_secs(15);
/// Characters of a note.
const NOTE_MOST: usize = 2_000;

/// Characters of a client's name.
const CLIENT_MOST: usize = 60;

/// What a tool answers: texts, or what is wrong and what to do next.
pub(super) type Answer = Result<Vec<String>, String>;

/// A server.
pub(super) struct Session {
    project: Project,
    plans: Vec<Plan>,
    /// The folder of all runs.
    runs: PathBuf,
    /// What distinguishes this server from others: when it began, and its process.
    when: String,
    /// The arguments that name the project, for commands in messages.
    place: String,
    jobs: Jobs,
    /// Held while a run begins, so that each begins once.
    beginning: Mutex<()>,
}

impl Session {
    /// Over a project whose runs are in `runs`.
    pub(super) fn open(
        project: Project,
        runs: &Path,
        (when, place): (String, String),
        tools: Tools,
    ) -> std::io::Result<Self> {
        let (plans, runs) = (Plan::all(&project.specs), runs.to_owned());
        let (jobs, beginning) = (Jobs::start(tools)?, Mutex::new(()));
        Ok(Self { project, plans, runs, when, place, jobs, beginning })
    }

    /// Calls a tool for a client of this name; none where there is no such tool.
    pub(super) fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        client: Option<&str>,
    ) -> Option<Answer> {
        let answer = match tool {
            "kernels" => tools::read(tool, arguments).map(|tools::None {}| vec![self.kernels()]),
            "task" => tools::read(tool, arguments).and_then(|asked| self.task(&asked)),
            "kit" => tools::read(tool, arguments).and_then(|asked| self.kit(&asked)),
            "propose" => tools::read(tool, arguments).and_then(|asked| self.propose(&asked, client)),
            "verdict" => tools::read(tool, arguments).and_then(|asked| self.verdict(&asked)),
            "history" => tools::read(tool, arguments).and_then(|asked| self.history(&asked)),
            "best" => tools::read(tool, arguments).and_then(|asked| self.best(&asked)),
            _ => return None,
        };
        Some(answer.map_err(|why| fitted(&placed(&why, &self.place), MOST, "an error is cut there")))
    }

    /// All kernels with their targets.
    pub(super) fn kernels(&self) -> String {
        let lines: Vec<String> = self.plans.iter().map(|plan| self.kernel(plan)).collect();
        fitted(&lines.join("\n"), MOST, "`cargo cutegen check` lists all; `task` takes any name")
    }

    fn kernel(&self, plan: &Plan) -> String {
        let (logs, _) = runs::all(&self.runs, plan);
        let best = history::best(&logs).map_or_else(|| "none".to_owned(), |best| best.text());
        let (name, target) = (&plan.spec.name, short(&plan.target));
        format!("{name} on {target}: {}; best candidate so far: {best}", self.locked(plan))
    }

    /// What the package has locked now: the lock may have been changed since.
    fn locked(&self, plan: &Plan) -> String {
        let lock = match lock_file::read(&self.project.lock) {
            Ok(lock) => lock,
            Err(_) => return "its lock cannot be read".to_owned(),
        };
        let store = Store::new(&self.project.store);
        let state = match replay(&request(plan, &self.project, &lock, &store)) {
            Ok(entry) => return format!("locked, {}", State::of(&entry.record).name()),
            Err(error) if matches!(*error.cause, Cause::NotLocked { .. }) => "not locked",
            Err(_) => "locked otherwise",
        };
        state.to_owned()
    }

    /// What a kernel must compute.
    pub(super) fn task(&self, asked: &tools::Kernel) -> Answer {
        let plan = self.plan(&asked.kernel, asked.target.as_deref())?;
        let (name, target) = (&plan.spec.name, short(&plan.target));
        let kit =
            format!("{}\n\nThe tool `kit` has the reference of each header.", kit::summary(&plan.target));
        let answer = format!(
            "The answer is a call of the tool `propose` with kernel `{name}`, target `{target}`, and the whole source, contract \
             first, as `source`."
        );
        let asked = prompt::proposal_by(plan, &kit, &answer);
        let note = "`cargo cutegen propose NAME --prompt FILE` writes all of them";
        let text = fitted(&asked.text, MOST - answer.chars().count(), note);
        Ok(vec![answer, text])
    }

    /// The kit's reference.
    pub(super) fn kit(&self, asked: &tools::Kit) -> Answer {
        let target = self.target(asked.target.as_deref())?;
        let text = match &asked.header {
            Some(header) => kit::part(&target, header)?,
            None => kit::whole(&target),
        };
        Ok(vec![fitted(&text, MOST, "call `kit` with one header")])
    }

    /// Records a source, puts it into the queue, and waits a while for its verdict.
    pub(super) fn propose(&self, asked: &tools::Propose, client: Option<&str>) -> Answer {
        let plan = self.plan(&asked.kernel, asked.target.as_deref())?;
        let (bytes, note) = (asked.source.len(), asked.note.as_ref().map_or(0, |note| note.chars().count()));
        if bytes > BYTES_MAX {
            return Err(format!(
                "the source has {bytes} bytes, {BYTES_MAX} at most; next: propose a shorter one"
            ));
        }
        if note > NOTE_MOST {
            return Err(format!("the note has {note} characters, {NOTE_MOST} at most; next: shorten it"));
        }
        let run = id::run(plan.spec.name.as_str(), &plan.key.to_string(), &self.when);
        self.begin(plan, &run).map_err(|why| {
            format!(
                "the run cannot be recorded: {why}\nnext: a person makes {} writable",
                self.runs.display()
            )
        })?;
        let by = client.map_or_else(|| runs::STRATEGY.to_owned(), by);
        let id = self.jobs.submit(&run, &by, &asked.source, asked.note.clone())?;
        self.told(&id, WAIT_MOST)
    }

    fn begin(&self, plan: &Plan, run: &run_log::RunId) -> Result<(), String> {
        let _one = self.beginning.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if self.jobs.has_run(run) {
            return Ok(());
        }
        let file = runs::begin(&self.runs, plan, run.clone()).map_err(|error| error.to_string())?;
        self.jobs.add_run(plan, runs::kept(&self.runs, plan), file);
        Ok(())
    }

    /// How far a candidate is, or its verdict.
    pub(super) fn verdict(&self, asked: &tools::Verdict) -> Answer {
        let id = Id::parse(&asked.id)?;
        let wait = Duration::from_secs(asked.wait_seconds.unwrap_or(0));
        if wait > WAIT_MOST {
            return Err(
                "wait_seconds is 15 at most; next: call `verdict` again until there is one".to_owned()
            );
        }
        self.told(&id, wait)
    }

    fn told(&self, id: &Id, wait: Duration) -> Answer {
        let told = match self.jobs.wait(id, wait) {
            Some((stage, log)) => Told::of(id, &log, Some(&stage)),
            None => self.recorded(id).and_then(|log| Told::of(id, &log, None)),
        };
        let json = told.map(|told| vec![told.at(&self.place).json()]);
        json.ok_or_else(|| format!("there is no candidate `{id}`; next: `history` lists those of a kernel"))
    }

    /// The log of a run of another server.
    fn recorded(&self, id: &Id) -> Option<Log> {
        let read = |plan: &Plan| run_log::read(&runs::folder(&self.runs, plan), &id.run).ok();
        self.plans.iter().find_map(read)
    }

    /// All candidates of agents for a kernel, a line each, the last ones where there are too many.
    pub(super) fn history(&self, asked: &tools::Kernel) -> Answer {
        let plans = self.plans_of(&asked.kernel, asked.target.as_deref())?;
        let mut lines = Vec::new();
        for plan in plans {
            let (logs, unread) = runs::all(&self.runs, plan);
            lines.extend(unread.into_iter().map(|why| format!("a run cannot be read: {why}")));
            for log in logs.iter().filter(|log| log.start.strategy == runs::STRATEGY) {
                lines.extend(history::lines(log, &self.jobs.open(&log.start.run)));
            }
        }
        if lines.is_empty() {
            lines.push("nothing yet; next: `task` says what to write".to_owned());
        }
        Ok(vec![latest(&lines)])
    }

    /// The best right candidate so far.
    pub(super) fn best(&self, asked: &tools::Kernel) -> Answer {
        let plan = self.plan(&asked.kernel, asked.target.as_deref())?;
        let (logs, _) = runs::all(&self.runs, plan);
        let Some(best) = history::best(&logs) else {
            let next = if logs.iter().any(|log| log.candidates().next().is_some()) {
                "no candidate is right yet; next: `history` says why"
            } else {
                "nothing was proposed yet; next: `task` says what to write"
            };
            return Err(format!("{}: {next}", plan.title()));
        };
        let told = Told::of(&best.id, best.log, None).map(|told| told.at(&self.place).json());
        let source = best.source.chars().count();
        // where the source is long, the head is a line
        let head = told.filter(|told| told.chars().count() + source <= MOST).unwrap_or_else(|| best.text());
        let source = fitted(best.source, MOST - head.chars().count(), "the log of its run has them");
        Ok(vec![head, source])
    }

    /// The one plan of a kernel on a target.
    fn plan(&self, kernel: &str, target: Option<&str>) -> Result<&Plan, String> {
        let plans = self.plans_of(kernel, target)?;
        match plans[..] {
            [plan] => Ok(plan),
            _ => {
                let targets: Vec<String> = plans.iter().map(|plan| short(&plan.target)).collect();
                let targets = targets.join(" or ");
                Err(format!("`{kernel}` is for several targets; next: call it with target {targets}"))
            }
        }
    }

    /// The plans of a kernel, at least one.
    fn plans_of(&self, kernel: &str, target: Option<&str>) -> Result<Vec<&Plan>, String> {
        let select = Select { kernels: vec![kernel.to_owned()], target: target.map(str::to_owned) };
        let selected = project::select(&self.project, &select)
            .map_err(|failure| format!("{failure}\nnext: `kernels` lists what there is"))?;
        let is_selected =
            |plan: &&Plan| selected.iter().any(|one| one.key == plan.key && one.spec.name == plan.spec.name);
        Ok(self.plans.iter().filter(is_selected).collect())
    }

    /// The target of a kit: that of the project, where it has one kind.
    fn target(&self, asked: Option<&str>) -> Result<Target, String> {
        if let Some(asked) = asked {
            return Target::parse(asked).map_err(|why| format!("{why}\nnext: `kernels` lists the targets"));
        }
        let mut targets = self.plans.iter().map(|plan| &plan.target);
        let first = targets.next().ok_or("the project has no kernel")?;
        match targets.find(|other| other.is_host() != first.is_host()) {
            None => Ok(first.clone()),
            Some(other) => {
                let (first, other) = (short(first), short(other));
                Err(format!(
                    "there are kits of two kinds of targets; next: call `kit` with target {first} or {other}"
                ))
            }
        }
    }
}

/// What a client of this name is called in logs and records.
fn by(client: &str) -> String {
    let printable = client.chars().filter(|c| c.is_ascii_graphic() || *c == ' ');
    format!("{}, {}", runs::STRATEGY, printable.take(CLIENT_MOST).collect::<String>())
}

/// As many of the last lines as an answer holds.
fn latest(lines: &[String]) -> String {
    let mut room = MOST - 60;
    let fits = |line: &&String| {
        let length = line.chars().count() + 1;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    let kept = lines.iter().rev().take_while(fits).count();
    let cut = lines.len() - kept;
    let head = if cut > 0 { format!("[{cut} earlier lines were left out]\n") } else { String::new() };
    head + &lines[cut..].join("\n")
}
