//! [`Generator`]: what answers the requests of a run.

use std::time::Duration;

use cutegen_build::ask::{Failed, Limits, Program, presets};
use cutegen_build::run_log::Sequence;

use super::exchange::Exchange;
use crate::args::{How, Preset};
use crate::failure::Failure;

/// What answers.
pub(crate) enum Generator {
    /// Files: an answer may come at any time.
    Exchange,
    /// A program, which is asked at once.
    Program(Program),
}

/// An answer.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) took: Option<Duration>,
}

impl Generator {
    /// As the command line says.
    pub(crate) fn of(how: &How) -> Self {
        let limits = Limits { seconds: how.answer_seconds, ..Limits::default() };
        let model = how.model.as_deref();
        let program = match (how.preset, how.command.as_slice()) {
            (None, []) => return Self::Exchange,
            (None, argv) => Program { argv: argv.to_vec(), limits, env: how.pass.clone() },
            (Some(Preset::Claude), _) => presets::claude(model),
            (Some(Preset::Codex), _) => presets::codex(model),
        };
        Self::Program(Program { limits, ..program })
    }

    /// Its name, for logs: with the model as it was given.
    pub(crate) fn name(&self, model: Option<&str>) -> String {
        let kind = match self {
            Self::Exchange => "exchange",
            Self::Program(program) => program.argv.first().map_or("command", |path| {
                std::path::Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or("command")
            }),
        };
        model.map_or_else(|| kind.to_owned(), |model| format!("{kind}, {model}"))
    }

    /// The answer to a prompt; none where it is still awaited.
    pub(crate) fn answer(
        &self,
        exchange: &Exchange,
        request: Sequence,
        prompt: &str,
    ) -> Result<Option<Answer>, Failure> {
        match self {
            Self::Exchange => {
                exchange.ask(prompt)?;
                Ok(exchange.answer()?.map(|text| Answer { text, took: None }))
            }
            Self::Program(program) => match program.answer(prompt) {
                Ok(answer) => Ok(Some(Answer { text: answer.text, took: Some(answer.took) })),
                Err(failed) => Err(told(request, &failed)),
            },
        }
    }
}

/// The request stands: the next step asks again.
fn told(request: Sequence, failed: &Failed) -> Failure {
    Failure::Machine(format!("request {request} has no answer: {failed}\nask again: cargo cutegen step"))
}
