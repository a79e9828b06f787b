//! [`Generator`]: what answers the requests of a run.

use std::path::Path;
use std::time::Duration;

use cutegen_build::ask::{Failed, Limits, Program, presets};
use cutegen_build::run_log::{RunId, Sequence, Tokens};
use cutegen_build::strategy::Question;

use super::exchange::Exchange;
#[cfg(feature = "model")]
use super::model::Model;
use crate::args::{How, Preset};
use crate::failure::Failure;

/// What answers.
pub(crate) enum Generator {
    /// Files: an answer may come at any time.
    Exchange,
    /// A program, which is asked at once.
    Program(Program),
    /// A language model behind an endpoint of the user's.
    #[cfg(feature = "model")]
    Model(Box<Model>),
}

/// A question of a run.
pub(crate) struct Asked<'a> {
    pub(crate) run: &'a RunId,
    /// The folder of the plan's logs.
    pub(crate) folder: &'a Path,
    pub(crate) request: Sequence,
    pub(crate) question: &'a Question,
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) took: Option<Duration>,
    /// Tokens, where they were reported.
    pub(crate) usage: Option<Tokens>,
    /// Bytes of the prompt that was sent, where the whole one was too long.
    pub(crate) sent_bytes: Option<u64>,
    /// What answered, where it was another one than usual.
    pub(crate) by: Option<String>,
    /// What people are told of it.
    pub(crate) note: Option<String>,
}

impl Answer {
    fn plain(text: String, took: Option<Duration>) -> Self {
        Self { text, took, usage: None, sent_bytes: None, by: None, note: None }
    }
}

impl Generator {
    /// As the command line says.
    pub(crate) fn of(how: &How) -> Result<Self, Failure> {
        if let Some(endpoint) = &how.endpoint {
            return model(endpoint, how.model.as_deref());
        }
        let limits = Limits { seconds: how.answer_seconds, ..Limits::default() };
        let model = how.model.as_deref();
        let program = match (how.preset, how.command.as_slice()) {
            (None, []) => return Ok(Self::Exchange),
            (None, argv) => Program { argv: argv.to_vec(), limits, env: how.pass.clone() },
            (Some(Preset::Claude), _) => presets::claude(model),
            (Some(Preset::Codex), _) => presets::codex(model),
        };
        Ok(Self::Program(Program { limits, ..program }))
    }

    /// Its name, for logs: with the model as it was given.
    pub(crate) fn name(&self, model: Option<&str>) -> String {
        let kind = match self {
            Self::Exchange => "exchange",
            Self::Program(program) => program.argv.first().map_or("command", |path| {
                Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or("command")
            }),
            #[cfg(feature = "model")]
            Self::Model(model) => return model.name(),
        };
        model.map_or_else(|| kind.to_owned(), |model| format!("{kind}, {model}"))
    }

    /// The answer to a question; none where it is still awaited.
    pub(crate) fn answer(&self, exchange: &Exchange, asked: &Asked<'_>) -> Result<Option<Answer>, Failure> {
        let prompt = &asked.question.prompt.text;
        match self {
            Self::Exchange => {
                exchange.ask(prompt)?;
                Ok(exchange.answer()?.map(|text| Answer::plain(text, None)))
            }
            Self::Program(program) => match program.answer(prompt) {
                Ok(answer) => Ok(Some(Answer::plain(answer.text, Some(answer.took)))),
                Err(failed) => Err(told(asked.request, &failed)),
            },
            #[cfg(feature = "model")]
            Self::Model(model) => model.answer(asked).map(Some),
        }
    }
}

#[cfg(feature = "model")]
fn model(endpoint: &str, model: Option<&str>) -> Result<Generator, Failure> {
    Model::of(endpoint, model).map(Box::new).map(Generator::Model)
}

#[cfg(not(feature = "model"))]
fn model(_: &str, _: Option<&str>) -> Result<Generator, Failure> {
    Err(no_models())
}

/// Of a program that was built without the feature.
#[cfg(not(feature = "model"))]
pub(crate) fn no_models() -> Failure {
    let build = "cargo install cargo-cutegen --features model";
    Failure::Usage(format!("this program was built without language models\nrun: {build}"))
}

/// The request stands: the next step asks again.
fn told(request: Sequence, failed: &Failed) -> Failure {
    Failure::Machine(format!("request {request} has no answer: {failed}\nask again: cargo cutegen step"))
}
