//! `tune --dry-run`: what a new run of `refine` would ask an endpoint first, where that would go, and what it may cost. The run begins
//! as `refine` begins it, in memory alone. Nothing is sent or written.

use cutegen_build::discover::Project;
use cutegen_build::model::ledger::Account;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{Entry, Log};
use cutegen_build::strategy::{Next, Question, Strategy};
use serde::Serialize;

use super::kinds::Kinds;
use crate::args::{Tune, quoted};
use crate::failure::Failure;
use crate::output::Output;
use crate::project::short;
use crate::refine;
use crate::runs::model::{Model, ledger};
use crate::runs::{Runs, warm};

/// A run that is not begun.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Run {
    kernel: String,
    target: String,
    endpoint: String,
    host: String,
    model: String,
    #[serde(flatten)]
    first: First,
    /// Of the kernel, spent or reserved.
    tokens_spent: u64,
    /// Of the kernel.
    tokens_allowed: u64,
    /// What begins it.
    command: String,
}

/// What it would do first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case", untagged)]
enum First {
    Ask(Request),
    /// A stored kernel, which it begins from, is judged: the verdict decides what is asked.
    #[serde(rename_all = "kebab-case")]
    Judge {
        warm_start: String,
    },
}

/// A request that is not made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Request {
    prompt: String,
    /// Of the body that would be sent.
    bytes: u64,
    max_tokens: u64,
    /// The most that the request may take.
    tokens_at_most: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dollars_at_most: Option<f64>,
}

/// Prints the first request of each plan.
pub(super) fn dry_run(
    (project, plans): (&Project, &[Plan]),
    verb: &Tune,
    name: &str,
    out: &Output,
) -> Result<(), Failure> {
    let kinds = verb.generators.is_some().then(|| Kinds::of(verb, plans, out)).transpose()?;
    let model = Model::of(name, verb.how.model.as_deref())?;
    for plan in plans.iter().filter(|plan| kinds.as_ref().is_none_or(|kinds| kinds.asks_model(plan))) {
        if let Some(first) = First::of((project, plan), verb, &model, out)? {
            let run = Run::of((project, plan), verb, (name, &model), first)?;
            out.result(&run.text(), &run);
        }
    }
    Ok(())
}

impl First {
    /// What a run of a plan does first; none where there is nothing to do.
    fn of(
        (project, plan): (&Project, &Plan),
        verb: &Tune,
        model: &Model,
        out: &Output,
    ) -> Result<Option<Self>, Failure> {
        let mut log = begun((project, &Runs::of(project)), plan, verb, out)?;
        let entered = warm::known((project, plan), &log, out)?;
        let warm_start = entered.as_ref().map(|entered| entered.by.clone());
        if let Some(entered) = entered {
            log.push(Entry::Candidate(entered));
        }
        let Some(strategy) = Strategy::of(&log.start) else { return Ok(None) };
        Ok(match (strategy.next(plan, &log), warm_start) {
            (Next::Ask(question), _) => Some(Self::Ask(Request::of(model, question))),
            (_, warm_start) => warm_start.map(|warm_start| Self::Judge { warm_start }),
        })
    }

    fn text(&self, Run { host, model, .. }: &Run) -> String {
        match self {
            Self::Ask(request) => {
                format!("`refine` would send this to {host}, for {model}\n{}", request.text())
            }
            Self::Judge { warm_start } => format!(
                "`refine` begins from a kernel ({warm_start})\n\
                 it is judged first, and the verdict decides what {host} is asked, for {model}\n\
                 the prompt of a run that begins from nothing: --set warm-start=0"
            ),
        }
    }
}

impl Run {
    fn of(
        (project, plan): (&Project, &Plan),
        verb: &Tune,
        (name, model): (&str, &Model),
        first: First,
    ) -> Result<Self, Failure> {
        let (endpoint, limit) = (model.endpoint(), model.limit());
        let account = Account::new(&ledger(&Runs::of(project).of_plan(plan)), "dry-run", limit);
        Ok(Self {
            kernel: plan.spec.name.to_string(),
            target: plan.target.to_string(),
            endpoint: name.to_owned(),
            host: endpoint.address.host(),
            model: endpoint.model.clone(),
            first,
            tokens_spent: account.spent().map_err(Failure::machine)?.tokens,
            tokens_allowed: limit.tokens,
            command: command(plan, verb, name),
        })
    }

    fn text(&self) -> String {
        let Self { kernel, target, tokens_spent, tokens_allowed, command, .. } = self;
        let prompt = match &self.first {
            First::Ask(request) => format!("{}\n\n", request.prompt.trim_end()),
            First::Judge { .. } => String::new(),
        };
        format!(
            "{prompt}{kernel} on {target}: nothing was sent. {}\n\
             of the kernel's {tokens_allowed} tokens {tokens_spent} are spent or reserved\nrun: {command}",
            self.first.text(self)
        )
    }
}

impl Request {
    fn of(model: &Model, question: Question) -> Self {
        let cost = model.cost(&question);
        let most = cost.most();
        Self {
            prompt: question.prompt.text,
            bytes: cost.bytes,
            max_tokens: cost.max_tokens,
            tokens_at_most: most.tokens,
            dollars_at_most: cost.prices.map(|_| most.micro_dollars as f64 / 1e6),
        }
    }

    fn text(&self) -> String {
        let Self { bytes, max_tokens, tokens_at_most, .. } = self;
        let price = self
            .dollars_at_most
            .map_or("its prices are not known".to_owned(), |most| format!("${most:.4} at most"));
        format!(
            "{bytes} bytes and an answer of {max_tokens} tokens: {tokens_at_most} tokens at most, {price}"
        )
    }
}

/// The log of a new run as `refine` begins it. Marks in its prompts derive from its name too.
fn begun((project, runs): (&Project, &Runs), plan: &Plan, verb: &Tune, out: &Output) -> Result<Log, Failure> {
    let start = refine::settled(plan, runs.unused(plan)?, &verb.begin)?;
    Ok(Log::new(refine::frozen((project, runs), plan, start, out)?))
}

/// The command line that begins such a run.
fn command(plan: &Plan, verb: &Tune, endpoint: &str) -> String {
    let (kernel, target) = (&plan.spec.name, short(&plan.target));
    let mut words =
        format!("cargo cutegen refine {kernel} --target {target} --endpoint {}", quoted(endpoint));
    let strategy = verb.begin.strategy.map(|strategy| format!(" --strategy {}", strategy.name()));
    let model = verb.how.model.as_deref().map(|model| format!(" --model {}", quoted(model)));
    words.extend([strategy, model].into_iter().flatten());
    words.extend(verb.begin.set.iter().map(|(name, number)| format!(" --set {name}={number}")));
    words
}
