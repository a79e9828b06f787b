//! What is known of a kernel: for each target its locked variants, doubts about them, and the commands that judge
//! them again.

use cutegen_build::discover::Project;
use cutegen_build::pipeline::{request, trust};
use cutegen_build::plan::Plan;
use cutegen_build::store::replay::replay;
use cutegen_build::store::trust::Doubt;
use cutegen_build::store::{Store, lock_file};
use cutegen_spec::diagnostic::nearest;
use cutegen_spec::lock::State;
use cutegen_spec::record::{Record, Variant};
use serde::Serialize;

use super::speed::{Roof, roofs};
use super::variant::{self, wrapped};
use crate::args::{Command, Select};
use crate::check::doubted;
use crate::evidence::witnesses;
use crate::failure::Failure;
use crate::output::Output;
use crate::project::{self, short};

/// Names that a wrong one may have meant.
const NEAR: usize = 8;

/// A kernel on one target, as programs get it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Row<'a> {
    kernel: String,
    target: String,
    key: String,
    state: &'static str,
    doubts: Vec<Doubt>,
    variants: &'a [Variant],
    roofs: Vec<Roof>,
    commands: Vec<String>,
}

/// Prints the kernel on each of its targets; fails on those that cannot be replayed or are below `min-gate`.
pub(super) fn print(
    command: &Command,
    name: &str,
    target: Option<&str>,
    out: &Output,
) -> Result<(), Failure> {
    let project = project::open(command).map_err(|failure| match failure {
        Failure::Usage(why) => {
            Failure::Usage(format!("there is neither a kernel nor a code `{name}`: {why}"))
        }
        other @ (Failure::Disagreement(_) | Failure::Machine(_) | Failure::Awaited(_)) => other,
    })?;
    let names: Vec<&str> = project.specs.iter().map(|spec| spec.name.as_str()).collect();
    if !names.contains(&name) {
        return Err(Failure::Usage(unknown(name, &names)));
    }
    let select = Select { kernels: vec![name.to_owned()], target: target.map(str::to_owned) };
    let plans = project::select(&project, &select)?;
    let problems = tell(command, &project, &plans, out)?;
    if problems.is_empty() { Ok(()) } else { Err(Failure::Disagreement(problems.join("\n\n"))) }
}

/// Prints each plan; what is wrong with some comes back.
fn tell(command: &Command, project: &Project, plans: &[Plan], out: &Output) -> Result<Vec<String>, Failure> {
    let lock = lock_file::read(&project.lock).map_err(Failure::project)?;
    let store = Store::new(&project.store);
    let mut problems = Vec::new();
    for plan in plans {
        match replay(&request(plan, project, &lock, &store)) {
            Err(error) => problems.push(error.to_string()),
            Ok(entry) => {
                let (commands, roofs) = (commands(plan, &command.place()), roofs(plan, &entry.record));
                let text = sheet(plan, &entry.record, &commands, &roofs).join("\n");
                out.result(&text, &row(plan, &entry.record, commands, roofs));
                problems.extend(trust(plan, project, &entry.record).err().map(|below| below.to_string()));
            }
        }
    }
    Ok(problems)
}

fn row<'a>(plan: &Plan, record: &'a Record, commands: Vec<String>, roofs: Vec<Roof>) -> Row<'a> {
    Row {
        kernel: plan.spec.name.to_string(),
        target: plan.target.to_string(),
        key: plan.key.to_string(),
        state: state(record),
        doubts: doubted(plan, record),
        variants: &record.variants,
        roofs,
        commands,
    }
}

/// The text for one target.
pub(super) fn sheet(plan: &Plan, record: &Record, commands: &[String], roofs: &[Roof]) -> Vec<String> {
    let (kernel, target, state) = (&plan.spec.name, short(&plan.target), state(record));
    let mut lines = vec![format!("{kernel} on {target}: {state}, key {}", plan.key)];
    for doubt in doubted(plan, record) {
        let variant = doubt.variant().map(|variant| format!("{variant}: ")).unwrap_or_default();
        let at = doubt.at().map(|at| format!(": {at}")).unwrap_or_default();
        lines.push(format!("warning: {variant}{doubt}{at}"));
    }
    for (at, one) in record.variants.iter().enumerate() {
        lines.push(String::new());
        lines.extend(variant::lines(plan, at + 1, one, roofs));
    }
    lines.push(String::new());
    if let Some(witnesses) = witnesses(record) {
        lines.extend(wrapped(
            "evidence",
            &format!("came with the record, {witnesses}; nothing was judged here"),
        ));
        lines.push(String::new());
    }
    lines.extend(["to re-verify it, write that down, compile it again, search again:".to_owned()]);
    lines.extend(commands.iter().map(|command| format!("   {command}")));
    lines
}

fn state(record: &Record) -> &'static str {
    State::of(record).name()
}

/// The exact commands about this plan's entry.
pub(super) fn commands(plan: &Plan, flags: &str) -> Vec<String> {
    let what = format!("{} --target {}", plan.spec.name, short(&plan.target));
    let command = |verb: &str, more: &str| format!("cargo cutegen {verb} {what}{more}{flags}");
    vec![
        command("verify", ""),
        command("verify", " --record"),
        command("verify", " --rebuild"),
        command("tune", " --again"),
    ]
}

/// The message for a name that no kernel has.
pub(super) fn unknown(name: &str, names: &[&str]) -> String {
    let word = name.to_lowercase();
    let mut near: Vec<&str> = nearest(&word, names.iter().copied()).into_iter().collect();
    let alike = |other: &&&str| other.contains(&word) || word.contains(**other);
    near.extend(
        names.iter().filter(alike).filter(|other| !near.contains(other)).copied().collect::<Vec<_>>(),
    );
    near.truncate(NEAR);
    let near: Vec<String> = near.iter().map(|name| format!("`{name}`")).collect();
    let meant = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
    format!("there is neither a kernel nor a code `{name}`{meant}\nrun: cargo cutegen check")
}
