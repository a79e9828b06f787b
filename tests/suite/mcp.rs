//! `mcp` as agents meet it: JSON-RPC over standard input and output, written out here; and the official Python client, where
//! `CUTEGEN_MCP_PYTHON` names a Python that has it.

mod client;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use cutegen_tests::{cutegen, install_toolchain, must, run, scratch, workspace, write};
use serde_json::{Value, json};

use crate::propose::{SOURCE, SPEC};
use client::Client;

/// What a server says of its work, beside the protocol.
const EVENTS: &str = "events.jsonl";

/// Characters that an answer may have: 6,000 tokens of three.
const MOST: usize = 18_000;

fn library(name: &str) -> PathBuf {
    install_toolchain();
    let folder = scratch(name);
    write(&folder.join("specs/squares.toml"), SPEC);
    folder
}

fn server(folder: &std::path::Path) -> Command {
    let mut command = cutegen(&folder.join("home"));
    command.current_dir(folder).args(["mcp", "--specs", "specs", "--cache", "cache"]);
    let events = File::options().create(true).append(true).open(folder.join(EVENTS));
    command.stderr(events.expect("a file"));
    command
}

/// States of a candidate whose verdict is still to come.
const OPEN: [&str; 5] = ["waiting", "compiling", "screening", "timing", "whole gate"];

/// The verdict of a source, waited for.
fn judged(client: &mut Client, source: &str) -> Value {
    let proposed =
        client.text("propose", &json!({ "kernel": "squares", "source": source, "note": "32 lanes" }));
    let mut told: Value = serde_json::from_str(&proposed).expect("JSON");
    while OPEN.iter().any(|state| told["state"] == *state) {
        let text = client.text("verdict", &json!({ "id": told["id"], "wait_seconds": 15 }));
        told = serde_json::from_str(&text).expect("JSON");
    }
    told
}

#[test]
fn an_agent_gets_a_kernel_accepted_with_its_tools_alone() {
    let folder = library("mcp-accepted");
    let mut client = Client::start(&mut server(&folder));
    let listed = client.request("tools/list", &json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert_eq!(names, ["kernels", "task", "kit", "propose", "verdict", "history", "best"]);
    assert_eq!(
        client.text("kernels", &json!({})),
        "squares on host: not locked; best candidate so far: none"
    );
    let task = client.text("task", &json!({ "kernel": "squares" }));
    for told in [
        "y[m] = sum(k, x[m, k] * x[m, k])",
        "axis m = 1..=512",
        "void @ENTRY@(void** params)",
        "k = 512, m = 512:",
    ] {
        assert!(task.contains(told), "no {told} in\n{task}");
    }
    let kit = client.text("kit", &json!({ "header": "kit/host.hpp" }));
    assert!(kit.starts_with("### kit/host.hpp") && task.contains("kit/host.hpp"), "{kit}");

    let wrong =
        judged(&mut client, &SOURCE.replacen("for (; at < k; ++at) sum", "for (; at < k - 1; ++at) sum", 1));
    assert_eq!(wrong["state"], "wrong", "{wrong}");
    assert!(wrong["reason"].as_str().is_some_and(|reason| reason.contains('y')), "{wrong}");
    let refused = judged(&mut client, &SOURCE.replacen("sum = 0;", "sum = zero;", 1));
    let said = &refused["facts"]["diagnostics"][0];
    assert_eq!((&refused["state"], &said["line"]), (&json!("refused"), &json!(9)), "{refused}");
    let unread = judged(&mut client, &SOURCE.replacen("ptr(x)", "ptr(z)", 1));
    assert_eq!(
        (&unread["state"], &unread["facts"]["diagnostics"][0]["line"]),
        (&json!("unreadable"), &json!(2))
    );

    let right = judged(&mut client, &format!("```cpp\n{SOURCE}```\n"));
    assert_eq!(right["state"], "accepted", "{right}");
    let checked = right["reason"].as_str().expect("a text");
    assert!(checked.starts_with("right at ") && checked.contains(" elements were compared"), "{checked}");
    let speed = &right["facts"]["speed"][0];
    assert_eq!(speed["workload"], json!({ "k": 512, "m": 512 }));
    assert!(speed["micros"].as_f64().is_some_and(|micros| micros > 0.0), "{right}");
    assert!(right["over-naive"].as_f64().is_some_and(|times| times > 1.01), "{right}");
    let next = right["next"].as_str().expect("a text");
    assert!(
        next.ends_with("cargo cutegen accept squares --target host --specs specs --cache cache"),
        "{next}"
    );

    let history = client.text("history", &json!({ "kernel": "squares" }));
    let states: Vec<&str> = history.lines().filter_map(|line| line.split([' ', ',']).nth(1)).collect();
    assert_eq!(states, ["wrong", "refused", "unreadable", "accepted"], "{history}");
    assert!(history.lines().all(|line| line.contains("(by mcp, a test)")), "{history}");
    let best = client.text("best", &json!({ "kernel": "squares" }));
    assert!(best.contains("\"accepted\"") && best.ends_with(SOURCE), "{best}");
    assert!(client.text("kernels", &json!({})).contains("the naive kernel, accepted into the user store"));
    client.end();
    let events = std::fs::read_to_string(folder.join(EVENTS)).expect("events");
    assert!(events.contains("\"event\":\"judged\""), "{events}");

    // a person reads the source, and accepts it by its digest
    let accept = |digest: &[&str]| {
        let mut accept = cutegen(&folder.join("home"));
        accept.current_dir(&folder).args(["accept", "squares"]).args(digest);
        accept.args(["--specs", "specs", "--cache", "cache"]);
        accept
    };
    let told = cutegen_tests::run(&mut accept(&[])).stderr;
    let (_, rest) = told.split_once("--host-source ").expect("a digest");
    let digest = rest.split_whitespace().next().expect("a digest");
    let accepted = must(&mut accept(&["--host-source", digest]));
    let name = right["candidate"].as_str().expect("a name");
    assert!(format!("{}{}", accepted.stdout, accepted.stderr).contains(name), "{accepted:?}");
    let mut again = Client::start(&mut server(&folder));
    assert!(again.text("kernels", &json!({})).starts_with("squares on host: locked, tuned; "));
    assert_eq!(again.text("history", &json!({ "kernel": "squares" })), history);
    again.end();
}

#[test]
fn what_is_wrong_with_a_call_is_an_error_of_the_tool() {
    let folder = library("mcp-errors");
    let mut client = Client::start(&mut server(&folder));
    let wrong = |client: &mut Client, tool: &str, arguments: Value, why: &str| {
        let told = client.error(tool, &arguments);
        assert!(told.contains(why) && told.contains("next: "), "{told}");
    };
    let oversize = "x".repeat(300 * 1024);
    wrong(
        &mut client,
        "propose",
        json!({ "kernel": "squares", "source": oversize }),
        "307200 bytes, 262144 at most",
    );
    wrong(&mut client, "propose", json!({ "kernel": "squares", "source": 7 }), "invalid type: integer `7`");
    wrong(&mut client, "propose", json!({ "kernel": "squares" }), "missing field `source`");
    wrong(&mut client, "task", json!({ "kernel": "cubes" }), "no kernel `cubes`; there are: squares");
    wrong(
        &mut client,
        "task",
        json!({ "kernel": "squares", "target": "sm_90a" }),
        "not declared for `sm_90a`",
    );
    wrong(&mut client, "verdict", json!({ "id": "mcp-squares-01234567/1" }), "there is no candidate");
    wrong(&mut client, "best", json!({ "kernel": "squares" }), "nothing was proposed yet; next: `task`");
    let unknown = client.request("tools/call", &json!({ "name": "accept", "arguments": {} }));
    assert!(
        unknown["error"]["message"].as_str().is_some_and(|why| why.contains("no tool `accept`")),
        "{unknown}"
    );
    // no JSON, and the next call is answered all the same
    client.write("{\"jsonrpc\": \n");
    client.write("propose squares\n");
    assert!(client.text("kernels", &json!({})).starts_with("squares on host"));
    client.end();
}

#[test]
fn the_official_python_client_gets_a_kernel_accepted() {
    let Some(python) = std::env::var_os("CUTEGEN_MCP_PYTHON") else {
        // not by `println!`, which is not shown of a test that passes
        let why = "skipped: CUTEGEN_MCP_PYTHON names no Python with the package `mcp`";
        writeln!(std::io::stderr(), "{why}").expect("it is open");
        return;
    };
    let folder = library("mcp-python");
    write(&folder.join("source.cpp"), SOURCE);
    let server = server(&folder);
    let mut client = Command::new(python);
    client.current_dir(&folder).arg(workspace().join("tests/mcp/client.py")).args(["squares", "source.cpp"]);
    client.arg(server.get_program()).args(server.get_args());
    client.env("XDG_CACHE_HOME", folder.join("home")).env_remove("CUTEGEN_HOME");
    let ran = run(&mut client);
    assert!(ran.ok && ran.stdout.ends_with("accepted\n"), "{}\n{}", ran.stdout, ran.stderr);
}
