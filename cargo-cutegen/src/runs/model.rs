//! [`Model`]: a language model as a generator. It reads the user's config, cuts prompts into blocks, and keeps to the ledger of the
//! kernel.

use std::ops::Range;
use std::path::{Path, PathBuf};

use cutegen_build::generate::prompt::{self, Optional};
use cutegen_build::model::client::{self, Answer as Answered, Client, Pace};
use cutegen_build::model::config::{Config, Endpoint};
use cutegen_build::model::ledger::{Account, Cost, Limit};
use cutegen_build::model::wire::prompt::{Block, Keep, Prompt};
use cutegen_build::model::wire::reply::{Finish, Usage};
use cutegen_build::run_log::{Ask, Tokens};
use cutegen_build::strategy::Question;
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
        let prompt = blocks(&asked.question.prompt);
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
            sent_bytes: answer.shortened,
            by: Some(named(name, endpoint)),
            note: Some(note),
        })
    }

    /// What may be spent on a kernel.
    pub(crate) fn limit(&self) -> Limit {
        self.limit
    }

    /// What is asked, but for corrections.
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What a question would cost at most. Nothing is sent.
    pub(crate) fn cost(&self, question: &Question) -> Cost {
        let (_, endpoint) = self.endpoint_for(question.ask);
        client::cost(endpoint, &blocks(&question.prompt))
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
fn endpoint(name: &str) -> Result<(Endpoint, Config), Failure> {
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

/// A prompt in blocks: what all of a run begin with, then the rest, and in both what may go.
fn blocks(prompt: &prompt::Prompt) -> Prompt {
    let block = |(range, keep): (Range<usize>, Keep)| Block { text: prompt.text[range].to_owned(), keep };
    let (stable, rest): (Vec<_>, Vec<_>) =
        cut(prompt).into_iter().partition(|(range, _)| range.end <= prompt.base);
    Prompt { stable: stable.into_iter().map(block).collect(), rest: rest.into_iter().map(block).collect() }
}

/// The text cut behind its base and around all that may go.
fn cut(prompt: &prompt::Prompt) -> Vec<(Range<usize>, Keep)> {
    let ranked = |part: &Optional| (part.range.clone(), Keep::Rank(part.worth as u8));
    let mut cuts: Vec<(Range<usize>, Keep)> = prompt.optional.iter().map(ranked).collect();
    cuts.extend([prompt.base, prompt.text.len()].map(|at| (at..at, Keep::Always)));
    cuts.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut all, mut at) = (Vec::new(), 0);
    for (range, keep) in cuts {
        all.extend([(at..range.start, Keep::Always), (range.clone(), keep)]);
        at = range.end;
    }
    all.retain(|(range, _)| !range.is_empty());
    all
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
    if let Some(bytes) = answer.shortened {
        said += &format!("; the prompt was too long, and shortened to {bytes} bytes");
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
        let prompt = prompt::proposal(&plan, &prompt::kit(&plan));
        let cut = blocks(&prompt);
        assert_eq!(cut.prefix() + &cut.tail(), prompt.text);
        assert_eq!(cut.prefix(), prompt.text[..prompt.base]);
        assert!(prompt.base > prompt.text.len() / 4, "{} of {}", prompt.base, prompt.text.len());
        let mut shorter = cut.clone();
        while let Some(next) = shorter.shorter() {
            assert!(next.bytes() < shorter.bytes());
            shorter = next;
        }
        let all = prompt.optional.iter().map(|part| part.range.len()).sum::<usize>();
        assert_eq!((shorter.bytes(), prompt.optional.len()), (prompt.text.len() - all, 3));
        let told = shorter.prefix() + &shorter.tail();
        for gone in ["# Example\n\n\n", "this class\n\n\n", "# Headers\n\n"] {
            assert!(told.contains(gone) && !prompt.text.contains(&format!("{gone}\n#")), "{gone} in {told}");
        }
        assert!(told.contains("# Computation") && told.contains("Which source is that?"), "{told}");
    }
}
