//! A client of the Model Context Protocol, written by hand: a JSON value a line. Each line of the server must be one.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::MOST;

/// How long an answer may take.
const LONGEST: Duration = Duration::from_secs(20);

/// A client of a server that it started.
pub(super) struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Client {
    /// Starts a server and shakes hands.
    pub(super) fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let input = server.stdin.take().expect("it is piped");
        let output = BufReader::new(server.stdout.take().expect("it is piped"));
        let mut client = Self { server, input, output, id: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "a test", "version": "1" },
        });
        let answer = client.request("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "cutegen", "{answer}");
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        assert!(answer["result"]["capabilities"]["tools"].is_object(), "{answer}");
        client.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        client
    }

    /// Writes as it is.
    pub(super) fn write(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).and_then(|()| self.input.flush()).expect("the server reads");
    }

    /// The answer to a request. What is between belongs to no request, and is JSON-RPC too.
    pub(super) fn request(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        let asked = Instant::now();
        self.write(&format!("{request}\n"));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("UTF-8") > 0, "the server ended at {method}");
            let answer = message(&line);
            if answer["id"] == self.id {
                let took = asked.elapsed();
                assert!(took <= LONGEST, "{method} {params}: {took:?}");
                return answer;
            }
        }
    }

    /// What a tool answers, all texts of it.
    pub(super) fn text(&mut self, tool: &str, arguments: &Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {text}");
        text
    }

    /// What a tool says of a call that is wrong.
    pub(super) fn error(&mut self, tool: &str, arguments: &Value) -> String {
        let (text, is_error) = self.call(tool, arguments);
        assert!(is_error, "{tool}: {text}");
        text
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> (String, bool) {
        let answer = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        let blocks = result["content"].as_array().unwrap_or_else(|| panic!("{tool}: {answer}"));
        let texts: Vec<&str> = blocks.iter().map(|block| block["text"].as_str().expect("a text")).collect();
        let characters: usize = texts.iter().map(|text| text.chars().count()).sum();
        assert!(characters <= MOST, "{tool}: {characters} characters");
        (texts.join("\n"), result["isError"] == true)
    }

    /// Closes standard input: the server ends by itself, and has written nothing else.
    pub(super) fn end(mut self) {
        drop(self.input);
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("UTF-8");
        rest.lines().for_each(|line| drop(message(line)));
        let status = self.server.wait().expect("it ends");
        assert!(status.success(), "{status}");
    }
}

/// A line of the protocol.
fn message(line: &str) -> Value {
    let value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(value["jsonrpc"], "2.0", "{line}");
    value
}
