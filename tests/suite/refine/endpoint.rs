//! `refine --endpoint` against a scripted endpoint on a loopback socket: config, limits, fixes elsewhere, TLS, and a key that no
//! file has.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use cutegen_tests::{Ran, run, scratch, workspace, write};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use super::certificates::Authority;
use super::script::{Library, answers, decided};
use super::secrets::{Pieces, writings};
use super::{DECISIONS, all};

const KEY: &str = "sk-scripted-Zq83vNw0pLr5tYx2bH";
/// A secret that stands in a header of the config.
const TOKEN: &str = "gw-token/5HnXc3+Uf8YsDg6Rk1QzWm";

/// An endpoint that answers in order, and what it was asked.
struct Endpoint {
    scheme: &'static str,
    port: u16,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Endpoint {
    fn start() -> Self {
        Self::serving("http", serve)
    }

    /// The same behind TLS.
    fn secure(config: ServerConfig) -> Self {
        let config = Arc::new(config);
        Self::serving("https", move |stream, kept| {
            let connection = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let mut stream = StreamOwned::new(connection, stream);
            serve(&mut stream, kept);
            stream.conn.send_close_notify();
            let _ = stream.flush();
        })
    }

    fn serving(scheme: &'static str, serve: impl Fn(TcpStream, &Mutex<Vec<Value>>) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                serve(stream, &kept);
            }
        });
        Self { scheme, port, asked }
    }

    fn asked(&self) -> Vec<Value> {
        self.asked.lock().expect("no panic").clone()
    }

    /// The config of the library's user.
    fn config(&self, library: &Library, limits: &str) {
        let endpoint = |name: &str, more: &str| {
            let url = format!("{}://127.0.0.1:{}/v1", self.scheme, self.port);
            format!(
                "[models.{name}]\nurl = '{url}'\nmodel = '{name}-model'\nkey-variable = 'SCRIPTED_KEY'\n\
                 headers = {{ x-gateway = 'Bearer {TOKEN}' }}\n{more}\n"
            )
        };
        let prices = "prices = { input = 3, output = 15 }\nfixes = 'second'\n";
        let text = format!("{limits}\n{}{}", endpoint("first", prices), endpoint("second", ""));
        write(&library.folder.join("config/cutegen/config.toml"), &text);
    }
}

/// One request: a key, a header of the config, and the next answer as a stream.
fn serve(mut stream: impl Read + Write, kept: &Mutex<Vec<Value>>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
    let mut body = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
    let secrets = [format!("authorization: Bearer {KEY}\r\n"), format!("x-gateway: Bearer {TOKEN}\r\n")];
    if stream.read_exact(&mut body).is_err() || !secrets.iter().all(|secret| head.contains(secret)) {
        let _ = stream.write_all(b"HTTP/1.1 401 No\r\nconnection: close\r\n\r\n");
        return;
    }
    let mut asked = kept.lock().expect("no panic");
    let answer = answers().into_iter().nth(asked.len()).unwrap_or_default();
    let answer = format!("{}{answer}", echo(asked.len()));
    asked.push(serde_json::from_slice(&body).expect("JSON"));
    let delta = json!({ "choices": [{ "delta": { "content": answer } }] });
    let end = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }], "usage": { "prompt_tokens": 900, "completion_tokens": 100 } });
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n\r\n";
    let _ = stream.write_all(format!("{head}data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n").as_bytes());
}

/// Both secrets in words before an answer, in another writing each time.
fn echo(number: usize) -> String {
    let writing = |secret: &str| {
        let all = writings(secret);
        all[number % all.len()].clone()
    };
    format!("You sent {} and {}.\n\n", writing(KEY), writing(TOKEN))
}

fn command(library: &Library, args: &[&str]) -> Ran {
    let mut command: Command = library.cutegen(args);
    run(command.env("XDG_CONFIG_HOME", library.folder.join("config")).env("SCRIPTED_KEY", KEY))
}

/// Files below a folder that hold the key or the token in any writing. The config is the user's own, and has the token.
fn holds_secrets(folder: &Path) -> Vec<String> {
    let config = folder.join("config/cutegen/config.toml").display().to_string();
    let held = Pieces::of(&[KEY, TOKEN]).held_below(folder);
    assert!(held.contains(&config), "a token is found where it is");
    held.into_iter().filter(|path| *path != config).collect()
}

#[test]
fn a_model_is_asked_within_its_limits_until_a_kernel_is_accepted() {
    let (library, endpoint) = (Library::new("refine-endpoint"), Endpoint::start());
    let refine = ["refine", "squares", "--run", "scripted", "--endpoint", "first"];
    endpoint.config(&library, "[limits]\ntokens = 5000");
    let told = dry(&library, &["squares"]);
    assert!(
        told["host"] == format!("127.0.0.1:{}", endpoint.port) && told["model"] == "first-model",
        "{told}"
    );
    let (bytes, most) =
        (told["bytes"].as_u64().expect("bytes"), told["tokens-at-most"].as_u64().expect("tokens"));
    assert_eq!(most, bytes + 16_384);
    assert_eq!(told["dollars-at-most"], (bytes * 3 + 16_384 * 15) as f64 / 1e6);
    let ran = command(&library, &refine);
    assert_eq!(ran.code, Some(3), "{}", all(&ran));
    assert!(all(&ran).contains("raise `tokens`") && endpoint.asked().is_empty(), "{}", all(&ran));

    endpoint.config(&library, "");
    let ran = command(&library, &refine);
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    assert_eq!(decided(&library.log()), DECISIONS);
    assert!(all(&ran).contains("900 tokens read and 100 written (reported)"), "{}", all(&ran));
    let asked = endpoint.asked();
    assert_eq!(asked.len(), answers().len(), "each answer was asked for once");
    assert!(asked.len() > writings(KEY).len(), "each writing of a secret was echoed");
    assert_eq!(library.log().matches("You sent [key]").count(), asked.len(), "{}", library.log());
    assert_eq!(asked[0]["messages"][0]["content"], told["prompt"], "what a dry run shows is what is sent");
    assert_eq!(asked[0].to_string().len() as u64, bytes);
    assert!(library.command(&["replay"]).ok);
    let by = |model: &str| asked.iter().filter(|body| body["model"] == model).count();
    let fixes =
        DECISIONS.iter().filter(|entry| entry.starts_with("whole") || entry.starts_with("patch")).count();
    assert_eq!((by("second-model"), by("first-model")), (fixes, asked.len() - fixes));
    assert!(library.log().contains("\"by\":\"second, second-model\""));
    let spent = command(&library, &["tune", "squares", "--dry-run", "--endpoint", "first"]);
    assert!(
        all(&spent).contains(&format!("{} are spent or reserved", 1000 * asked.len())),
        "{}",
        all(&spent)
    );
    let judged_first = "it is judged first, and the verdict decides what 127.0.0.1:";
    assert!(all(&spent).contains(judged_first) && !all(&spent).contains("# Answer"), "{}", all(&spent));
    let warm = dry(&library, &["squares"]);
    assert!(warm["warm-start"].as_str().is_some_and(|by| by.starts_with("store, ")), "{warm}");
    assert!(warm.get("prompt").is_none() && warm.get("bytes").is_none(), "{warm}");
    let cold = dry(&library, &["squares", "--set", "warm-start=0"]);
    assert!(cold.get("warm-start").is_none() && cold["prompt"] == told["prompt"], "{cold}");
    assert_eq!(holds_secrets(&library.folder), [""; 0]);
}

/// What a dry run says.
fn dry(library: &Library, words: &[&str]) -> Value {
    let dry = ["--dry-run", "--endpoint", "first", "--json"];
    let ran = command(library, &[&["tune"], words, &dry[..]].concat());
    let told = ran.stdout.lines().last().and_then(|line| serde_json::from_str(line).ok());
    told.unwrap_or_else(|| panic!("no JSON: {}", all(&ran)))
}

/// The first prompt that `refine` leaves as a file.
fn left(library: &Library, words: &[&str], run_name: &str) -> String {
    let ran = library.command(&[&["refine"], words].concat());
    assert_eq!(ran.code, Some(4), "{}", all(&ran));
    std::fs::read_to_string(library.exchange(run_name).join("1-prompt.md")).expect("a prompt")
}

#[test]
fn a_dry_run_shows_the_prompt_that_refine_would_send() {
    let (library, endpoint) = (Library::new("refine-dry"), Endpoint::start());
    endpoint.config(&library, "");
    let islands = ["squares", "--strategy", "islands", "--set", "islands=2"];
    let cases: [&[&str]; 3] = [&["squares"], &["squares", "--set", "requests=3"], &islands];
    let mut prompts = Vec::new();
    for (number, words) in (1..).zip(cases) {
        let told = dry(&library, &[words, &["--model", "another"]].concat());
        assert_eq!(told["model"], "another");
        let begins = told["command"].as_str().expect("a command");
        assert!(begins.contains("--target host") && begins.contains("--model another"), "{begins}");
        let prompt = left(&library, words, &format!("squares-{number}"));
        assert_eq!(told["prompt"], prompt, "{words:?}");
        prompts.push(prompt);
    }
    assert!(prompts[0] == prompts[1] && prompts[1] != prompts[2], "an island has a role");
    let none = command(&library, &["tune", "--dry-run", "--endpoint", "first", "--generators", "template"]);
    assert!(none.code == Some(2) && all(&none).contains("nothing would be asked"), "{}", all(&none));
    let both = dry(&library, &["squares", "--generators", "template,model"]);
    assert_eq!(both["prompt"], prompts[0]);
    let wrong = command(&library, &["tune", "--dry-run", "--endpoint", "first", "--set", "loss=1"]);
    assert!(wrong.code == Some(2) && all(&wrong).contains("no setting `loss`;"), "{}", all(&wrong));
    assert!(endpoint.asked().is_empty(), "nothing is sent");
}

#[test]
fn a_dry_run_of_islands_shows_the_kernels_beside_and_their_marks() {
    let (library, endpoint) = (Library { folder: scratch("refine-dry-seeds") }, Endpoint::start());
    endpoint.config(&library, "");
    for (from, to) in [("kernel-specs", "specs"), ("cache", "cache")] {
        let copied =
            Command::new("cp").arg("-r").arg(workspace().join(from)).arg(library.folder.join(to)).status();
        assert!(copied.expect("cp").success());
    }
    let words = ["softmax", "--target", "sm_90a", "--strategy", "islands"];
    let warm = dry(&library, &words);
    assert!(warm["warm-start"].is_string() && warm.get("prompt").is_none(), "{warm}");
    let words = [&words[..], &["--set", "warm-start=0"]].concat();
    let told = dry(&library, &words);
    let prompt = left(&library, &words, "softmax-1");
    // marks between which foreign text is quoted derive from all that a run begins with
    assert!(prompt.contains("# Other kernels\n"), "{prompt}");
    assert_eq!(told["prompt"], prompt);
}

#[test]
fn an_endpoint_that_is_not_there_is_told() {
    let (library, endpoint) = (Library::new("refine-no-endpoint"), Endpoint::start());
    let ran = command(&library, &["refine", "squares", "--endpoint", "first"]);
    assert_eq!(ran.code, Some(2), "{}", all(&ran));
    assert!(all(&ran).contains("no endpoint `first`") && all(&ran).contains("it has none"), "{}", all(&ran));
    endpoint.config(&library, "");
    let ran = command(&library, &["refine", "squares", "--endpoint", "third"]);
    assert!(ran.code == Some(2) && all(&ran).contains("it has: first, second"), "{}", all(&ran));
    let ran = command(&library, &["tune", "--dry-run"]);
    assert_eq!(ran.code, Some(2), "{}", all(&ran));
}

#[test]
fn a_key_goes_to_certified_endpoints_alone() {
    let library = Library::new("refine-tls");
    let (known, unknown) = (Authority::new("known"), Authority::new("unknown"));
    let trusted = library.folder.join("trusted.pem");
    write(&trusted, &known.pem());
    let ask = |run_name: &str, endpoint: &Endpoint| {
        endpoint.config(&library, "");
        let words = ["refine", "squares", "--run", run_name, "--set", "requests=1", "--endpoint", "first"];
        let mut command = library.cutegen(&words);
        command.env("XDG_CONFIG_HOME", library.folder.join("config")).env("SCRIPTED_KEY", KEY);
        run(command.env("SSL_CERT_FILE", &trusted).env_remove("SSL_CERT_DIR"))
    };
    let certified = Endpoint::secure(known.server("127.0.0.1"));
    let ran = ask("certified", &certified);
    assert_eq!(decided(&library.log_of("certified")), ["first", "unreadable"], "{}", all(&ran));
    assert_eq!(certified.asked().len(), 1, "{}", all(&ran));
    let others = [("unknown", unknown.server("127.0.0.1")), ("elsewhere", known.server("other.example"))];
    for (run_name, config) in others {
        let endpoint = Endpoint::secure(config);
        let ran = ask(run_name, &endpoint);
        assert_eq!(ran.code, Some(3), "{}", all(&ran));
        assert!(all(&ran).contains("certificate"), "{run_name}: {}", all(&ran));
        assert_eq!(decided(&library.log_of(run_name)), ["first"]);
        assert!(endpoint.asked().is_empty(), "{run_name}: nothing is said before the certificate is right");
    }
    assert_eq!(holds_secrets(&library.folder), [""; 0]);
}
