//! `tune --dry-run`: what an endpoint would be asked first, where that would go, and what it may cost. Nothing is sent.

use cutegen_build::discover::Project;
use cutegen_build::model::client::cost;
use cutegen_build::model::ledger::Account;
use cutegen_build::plan::Plan;
use cutegen_build::run_log::{Log, RunId};
use cutegen_build::strategy::{Next, Strategy};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
use crate::runs::model::{blocks, endpoint, ledger};
use crate::runs::{Runs, start, warm};

/// A first request that is not made.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct Request {
    kernel: String,
    target: String,
    endpoint: String,
    host: String,
    model: String,
    prompt: String,
    /// Of the body that would be sent.
    bytes: u64,
    max_tokens: u64,
    /// The most that the request may take.
    tokens_at_most: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dollars_at_most: Option<f64>,
    /// What a run begins from unless it is told otherwise: then its first prompt is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    warm_start: Option<String>,
    /// Of the kernel, spent or reserved.
    tokens_spent: u64,
    /// Of the kernel.
    tokens_allowed: u64,
}

/// Prints the first request of each plan.
pub(super) fn dry_run(project: &Project, plans: &[Plan], name: &str, out: &Output) -> Result<(), Failure> {
    let (endpoint, config) = endpoint(name)?;
    let runs = Runs::of(project);
    for plan in plans {
        let run = RunId::parse("dry-run").map_err(Failure::Usage)?;
        let Next::Ask(question) = Strategy::Refine.next(plan, &Log::new(start(plan, run))) else { continue };
        let cost = cost(&endpoint, &blocks(&question.prompt));
        let account = Account::new(&ledger(&runs.of_plan(plan)), "dry-run", config.limit);
        let (most, spent) = (cost.most(), account.spent().map_err(Failure::machine)?);
        let request = Request {
            kernel: plan.spec.name.to_string(),
            target: plan.target.to_string(),
            endpoint: name.to_owned(),
            host: endpoint.address.host(),
            model: endpoint.model.clone(),
            prompt: question.prompt.text,
            bytes: cost.bytes,
            max_tokens: cost.max_tokens,
            tokens_at_most: most.tokens,
            dollars_at_most: cost.prices.map(|_| most.micro_dollars as f64 / 1e6),
            warm_start: warm::best(project, plan)?.map(|candidate| candidate.name),
            tokens_spent: spent.tokens,
            tokens_allowed: config.limit.tokens,
        };
        out.result(&request.text(), &request);
    }
    Ok(())
}

impl Request {
    fn text(&self) -> String {
        let Self { kernel, target, host, model, bytes, max_tokens, tokens_at_most, tokens_spent, .. } = self;
        let price = self
            .dollars_at_most
            .map_or("its prices are not known".to_owned(), |most| format!("${most:.4} at most"));
        let (begins, cold) = match &self.warm_start {
            None => (String::new(), ""),
            Some(name) => (
                format!("a run begins from {name}; without it this is its first prompt\n"),
                " --set warm-start=0",
            ),
        };
        format!(
            "{}\n\n{kernel} on {target}: nothing was sent. `refine` would send this to {host}, for {model}\n\
             {bytes} bytes and an answer of {max_tokens} tokens: {tokens_at_most} tokens at most, {price}\n\
             of the kernel's {} tokens {tokens_spent} are spent or reserved\n\
             {begins}run: cargo cutegen refine {kernel} --endpoint {}{cold}",
            self.prompt.trim_end(),
            self.tokens_allowed,
            self.endpoint
        )
    }
}
