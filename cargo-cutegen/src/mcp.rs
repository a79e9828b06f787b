//! `mcp`: the loop as tools of a coding agent, over the Model Context Protocol on standard input and output. An agent reads what
//! is asked, proposes sources and reads verdicts; what is accepted is in the user store, and `accept` stays a person's command.
//!
//! Standard output carries the protocol alone. What happens meanwhile goes to standard error, one JSON value a line.

mod bench;
mod history;
mod id;
mod jobs;
mod kit;
mod runs;
mod server;
mod session;
mod submitter;
mod told;
mod tools;

#[cfg(test)]
mod tests;

use std::time::{SystemTime, UNIX_EPOCH};

use cutegen_build::discover::Project;
use cutegen_build::event::Event;
use cutegen_build::pipeline::request;
use cutegen_build::plan::Plan;
use cutegen_build::store::replay::replay_full;
use cutegen_build::store::{Entry, Store, lock_file};
use cutegen_spec::printable::printable_json;

use crate::args::Command;
use crate::failure::Failure;
use crate::project;
use crate::runs::Runs;
use jobs::Tools;
use session::Session;
use submitter::Submitter;

/// Serves until the client closes standard input.
pub(crate) fn run(command: &Command) -> Result<(), Failure> {
    let project = project::open(command)?;
    let (runs, locking) = (Runs::of(&project).folder(), project.clone());
    let tools = Tools {
        bench: Box::new(Submitter::new()),
        locked: Box::new(move |plan| locked(&locking, plan)),
        events: told,
    };
    let session =
        Session::open(project, &runs, (when(), command.place()), tools).map_err(Failure::machine)?;
    server::serve(session).map_err(Failure::Machine)
}

/// What a candidate has to beat, which may have been accepted a moment ago.
fn locked(project: &Project, plan: &Plan) -> Option<Entry> {
    let lock = lock_file::read(&project.lock).ok()?;
    replay_full(&request(plan, project, &lock, &Store::new(&project.store))).ok()
}

/// Distinguishes this server from every other one.
fn when() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{} {}", since.as_nanos(), std::process::id())
}

/// An event for the log of the client; progress is left to `verdict`.
fn told(event: &Event) {
    if !matches!(event, Event::Progress { .. }) {
        let line = serde_json::to_string(event).unwrap_or_default();
        eprintln!("{}", printable_json(&line));
    }
}
