//! The user's config: endpoints and limits. It is a file of the user's, never one of a package: neither a spec nor a Cargo.toml
//! says where a prompt goes, with which key, or what may be spent.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::client::{Address, Deadlines};
use super::ledger::{Limit, Prices, TOKENS};
use super::wire::Wire;

/// Tokens that an answer may have unless the user says otherwise, thought among them.
const MAX_TOKENS: u64 = 16_384;

/// Parameters that are ours, or that make one request several.
const OURS: &[&str] = &[
    "model",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "stream",
    "stream_options",
    "n",
    "best_of",
    "tools",
];

/// All of the file that is about models.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Endpoints by name.
    pub models: BTreeMap<String, Endpoint>,
    /// What a kernel may cost.
    pub limit: Limit,
}

/// Where a model answers.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// What is spoken there.
    pub wire: Wire,
    /// The base URL, `/v1` included.
    pub address: Address,
    /// The endpoint's name of the model.
    pub model: String,
    /// The variable of the environment that holds the key; local servers need none.
    pub key_variable: Option<String>,
    /// Headers beside ours.
    pub headers: BTreeMap<String, String>,
    /// Tokens that an answer may have.
    pub max_tokens: u64,
    /// What tokens cost.
    pub prices: Option<Prices>,
    /// Parameters of requests, as the endpoint has them.
    pub parameters: Map<String, Value>,
    /// Another endpoint, which corrects answers.
    pub fixes: Option<String>,
    /// When to give up.
    pub deadlines: Deadlines,
}

/// The file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    #[serde(default)]
    models: BTreeMap<String, Written>,
    #[serde(default)]
    limits: Limits,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Limits {
    tokens: Option<u64>,
    dollars: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    #[serde(default = "openai")]
    wire: Wire,
    url: String,
    model: String,
    key_variable: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    max_tokens: Option<u64>,
    prices: Option<Prices>,
    #[serde(default)]
    parameters: Map<String, Value>,
    fixes: Option<String>,
    #[serde(default)]
    deadlines: Deadlines,
}

fn openai() -> Wire {
    Wire::Openai
}

impl Config {
    /// Reads the file's text.
    ///
    /// # Errors
    /// What is wrong, with the place.
    pub fn read(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let read = |(name, written): (String, Written)| {
            let endpoint = written.read().map_err(|why| format!("[models.{name}]: {why}"))?;
            Ok((name, endpoint))
        };
        let models = file.models.into_iter().map(read).collect::<Result<BTreeMap<_, _>, String>>()?;
        let dollars = file.limits.dollars;
        if dollars.is_some_and(|dollars| !dollars.is_finite() || dollars < 0.0) {
            return Err("[limits]: `dollars` is no amount".to_owned());
        }
        let missing = models.iter().find_map(|(name, endpoint)| {
            let fixes = endpoint.fixes.as_ref().filter(|fixes| !models.contains_key(*fixes))?;
            Some(format!("[models.{name}]: there is no endpoint `{fixes}` for fixes"))
        });
        let limit = Limit { tokens: file.limits.tokens.unwrap_or(TOKENS), dollars };
        missing.map_or(Ok(Self { models, limit }), Err)
    }
}

impl Written {
    fn read(self) -> Result<Endpoint, String> {
        let address = Address::parse(&self.url)?;
        let ours = self.parameters.keys().find(|name| OURS.contains(&name.as_str()));
        if let Some(name) = ours {
            return Err(format!("`parameters.{name}` is not yours to set"));
        }
        if self.prices.is_some_and(|prices| !prices.are_prices()) {
            return Err("`prices` are dollars for a million tokens, 0 or more".to_owned());
        }
        let max_tokens = self.max_tokens.unwrap_or(MAX_TOKENS);
        if max_tokens == 0 {
            return Err("`max-tokens` is 0".to_owned());
        }
        Ok(Endpoint {
            wire: self.wire,
            address,
            model: self.model,
            key_variable: self.key_variable,
            headers: self.headers,
            max_tokens,
            prices: self.prices,
            parameters: self.parameters,
            fixes: self.fixes,
            deadlines: self.deadlines,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Config;
    use crate::model::ledger::{Limit, TOKENS};
    use crate::model::wire::Wire;

    const LOCAL: &str = "[models.local]\nurl = 'http://127.0.0.1:8080/v1'\nmodel = 'qwen'\n";

    #[test]
    fn a_local_server_needs_a_url_and_a_model() {
        let config = Config::read(LOCAL).expect("a config");
        let local = &config.models["local"];
        assert_eq!((local.wire, local.max_tokens, &local.key_variable), (Wire::Openai, 16_384, &None));
        assert_eq!(config.limit, Limit { tokens: TOKENS, dollars: None });
        assert_eq!(local.deadlines.total.as_secs(), 1800);
        assert!(Config::read("").expect("nothing").models.is_empty());
    }

    #[test]
    fn all_of_an_endpoint_is_read() {
        let text = "[limits]\ntokens = 7\ndollars = 2.5\n[models.a]\nwire = 'anthropic'\nurl = 'https://host.example/v1/'\n\
                    model = 'm'\nkey-variable = 'A_KEY'\nmax-tokens = 9\nprices = { input = 3, output = 15 }\nfixes = 'a'\n\
                    headers = { x-title = 'y' }\nparameters = { temperature = 0.5, thinking = { type = 'enabled' } }\n\
                    deadlines = { idle = 0.5 }\n";
        let config = Config::read(text).expect("a config");
        let endpoint = &config.models["a"];
        assert_eq!(config.limit, Limit { tokens: 7, dollars: Some(2.5) });
        assert_eq!((endpoint.wire, endpoint.address.host().as_str()), (Wire::Anthropic, "host.example"));
        assert_eq!(endpoint.parameters["thinking"]["type"], "enabled");
        assert_eq!((endpoint.deadlines.idle.as_millis(), endpoint.deadlines.connect.as_secs()), (500, 10));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let with = |line: &str| Config::read(&format!("{LOCAL}{line}\n")).expect_err("wrong");
        let cases = [
            ("fixes = 'other'", "[models.local]: there is no endpoint `other` for fixes"),
            ("parameters = { n = 4 }", "[models.local]: `parameters.n` is not yours to set"),
            (
                "parameters = { max_tokens = 4 }",
                "[models.local]: `parameters.max_tokens` is not yours to set",
            ),
            ("prices = { input = -1, output = 0 }", "[models.local]: `prices` are dollars"),
            ("max-tokens = 0", "[models.local]: `max-tokens` is 0"),
            ("[limits]\ndollars = nan", "[limits]: `dollars` is no amount"),
            ("keyvariable = 'x'", "unknown field `keyvariable`"),
            ("deadlines = { total = -1 }", "seconds"),
        ];
        for (line, why) in cases {
            assert!(with(line).contains(why), "{line}: {}", with(line));
        }
        let plain =
            Config::read("[models.a]\nurl = 'http://example.com/v1'\nmodel = 'm'\n").expect_err("plain http");
        assert!(plain.starts_with("[models.a]: ") && plain.contains("https"), "{plain}");
    }
}
