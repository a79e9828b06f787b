//! [`Model`]: a language model as a generator. It reads the user's config, cuts prompts into blocks, and keeps to the ledger of the
//! kernel.

use std::path::{Path, PathBuf};

use cutegen_build::generate::prompt::{self, parts};
use cutegen_build::model::client::{Answer as Answered, Client, Pace};
use cutegen_build::model::config::{Config, Endpoint};
use cutegen_build::model::ledger::{Account, Limit};
use cutegen_build::model::wire::prompt::{Block, Prompt};
use cutegen_build::model::wire::reply::{Finish, Usage};
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{Ask, Tokens};
use cutegen_build::{env, home};

use super::generator::{Answer, Asked};
use crate::failure::Failure;

/// The ledger of a kernel, beside the logs of its runs.
const LEDGER: &str = "model-ledger";

/// An endpoint, and the one that corrects its answers.
pub(crate) struct Model {
    client: Client,
    name: String,
    endpoint: Endpoint,
    fixes: Option<(String, Endpoint)>,
    limit: Limit,
}

impl Model {
    /// The endpoint of this name, with another model if one is named.
    pub(crate) fn of(name: &str, model: Option<&str>) -> Result<Self, Failure> {
        let (mut endpoint, mut config) = endpoint(name)?;
        if let Some(model) = model {
            model.clone_into(&mut endpoint.model);
        }
        let fixes = endpoint.fixes.clone().and_then(|name| config.models.remove_entry(&name));
        let client = Client::start(Pace::default()).map_err(Failure::machine)?;
        Ok(Self { client, name: name.to_owned(), endpoint, fixes, limit: config.limit })
    }

    /// Its name, for logs.
    pub(crate) fn name(&self) -> String {
        named(&self.name, &self.endpoint)
    }

    /// Asks, and waits for the answer.
    pub(crate) fn answer(&self, asked: &Asked<'_>) -> Result<Answer, Failure> {
        let (name, endpoint) = self.endpoint_for(asked.question.ask);
        let prompt = blocks(asked.plan, &asked.question.prompt.text);
        let account = Account::new(&ledger(asked.folder), asked.run.as_str(), self.limit);
        let request = asked.request.to_string();
        let answer = self.client.answer(endpoint, &prompt, &account, &request).map_err(|failed| {
            Failure::Machine(format!("request {request} of {} has no answer: {failed}", asked.run))
        })?;
        let note = told(&request, endpoint, &answer);
        Ok(Answer {
            text: answer.text,
            took: Some(answer.took),
            usage: reported(answer.usage),
            by: Some(named(name, endpoint)),
            note: Some(note),
        })
    }

    /// What corrects an answer may be asked elsewhere.
    fn endpoint_for(&self, ask: Ask) -> (&str, &Endpoint) {
        match (ask, &self.fixes) {
            (Ask::Patch | Ask::Whole, Some((name, endpoint))) => (name, endpoint),
            (
                Ask::Patch
                | Ask::Whole
                | Ask::First
                | Ask::Diagnose
                | Ask::Optimise
                | Ask::Ideas
                | Ask::Variant,
                _,
            ) => (&self.name, &self.endpoint),
        }
    }
}

/// The endpoint of this name in the user's config, and the config.
pub(crate) fn endpoint(name: &str) -> Result<(Endpoint, Config), Failure> {
    let path = home::config(env::variable_os).map_err(Failure::machine)?;
    let config = read(&path)?;
    let Some(endpoint) = config.models.get(name).cloned() else {
        let names: Vec<&str> = config.models.keys().map(String::as_str).collect();
        let there =
            if names.is_empty() { "it has none".to_owned() } else { format!("it has: {}", names.join(", ")) };
        let path = path.display();
        return Err(Failure::Usage(format!(
            "no endpoint `{name}` in {path}; {there}\nadd [models.{name}] there"
        )));
    };
    Ok((endpoint, config))
}

/// A config that is not there is empty.
fn read(path: &Path) -> Result<Config, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::Machine(format!("{}: {error}", path.display()))),
    };
    Config::read(&text).map_err(|why| Failure::Usage(format!("{}: {why}\ncorrect the file", path.display())))
}

/// The ledger in the folder of a kernel's runs.
pub(crate) fn ledger(folder: &Path) -> PathBuf {
    folder.join(LEDGER)
}

/// A prompt in blocks: what all of a run begin with, then the rest, of which example and advice may go.
pub(crate) fn blocks(plan: &Plan, text: &str) -> Prompt {
    let parts = parts(plan, &prompt::kit(plan));
    let Some(mut rest) = text.strip_prefix(parts.base.as_str()) else {
        return Prompt { stable: Vec::new(), rest: vec![Block::needed(text)] };
    };
    let mut found: Vec<(usize, u8, &str)> = (0..)
        .zip(&parts.optional)
        .filter(|(_, part)| !part.is_empty())
        .filter_map(|(rank, part)| Some((rest.find(part.as_str())?, rank, part.as_str())))
        .collect();
    found.sort_unstable();
    let mut blocks = Vec::new();
    for (_, rank, part) in found {
        let Some((before, after)) = rest.split_once(part) else { continue };
        blocks.extend([Block::needed(before), Block::ranked(part, rank)]);
        rest = after;
    }
    blocks.push(Block::needed(rest));
    Prompt { stable: vec![Block::needed(parts.base)], rest: blocks }
}

fn named(name: &str, endpoint: &Endpoint) -> String {
    format!("{name}, {}", endpoint.model)
}

fn reported(usage: Usage) -> Option<Tokens> {
    match usage {
        Usage::Reported { input, output } => Some(Tokens { input, output }),
        Usage::Estimated { .. } | Usage::Unknown => None,
    }
}

/// What an answer took, in a line.
fn told(request: &str, endpoint: &Endpoint, answer: &Answered) -> String {
    let mut said = format!("request {request}: {} answered", endpoint.address.host());
    match answer.usage {
        Usage::Reported { input, output } => {
            said += &format!(", {input} tokens read and {output} written (reported)")
        }
        Usage::Estimated { input, output } => {
            said += &format!(", {input} bytes read and {output} written (estimated)")
        }
        Usage::Unknown => said += ", usage unknown",
    }
    if answer.finish == Finish::Length {
        said += "; cut off at `max-tokens`";
    }
    if !answer.dropped.is_empty() {
        said += &format!("; without {}, which it does not know", answer.dropped.join(", "));
    }
    if answer.is_shortened {
        said += "; the prompt was too long, and shortened";
    }
    said
}

#[cfg(test)]
mod tests {
    use cutegen_build::discover::Project;
    use cutegen_build::generate::prompt;
    use cutegen_build::plan::Plan;

    use super::blocks;
    use crate::project::sample::library;

    #[test]
    fn the_blocks_are_the_prompt_and_some_may_go() {
        let (folder, _) = library(&[("one", "'host'")]);
        let project = Project::library(folder.path(), folder.path()).expect("a library");
        let plan = Plan::all(&project.specs).remove(0);
        let text = prompt::proposal(&plan, &prompt::kit(&plan)).text;
        let cut = blocks(&plan, &text);
        assert_eq!(cut.prefix() + &cut.tail(), text);
        assert!(
            cut.prefix().len() > text.len() / 4,
            "{} of {} bytes are stable",
            cut.prefix().len(),
            text.len()
        );
        let shorter = cut.shorter().expect("example and advice may go");
        assert!(shorter.bytes() < text.len() && shorter.prefix() == cut.prefix());
        assert_eq!(blocks(&plan, "another text").tail(), "another text");
    }
}
