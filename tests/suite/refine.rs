//! `refine` as its users meet it: a program that makes mistakes is asked until a kernel is accepted, every decision stands in
//! the log, and neither kills nor another machine's verdicts change one.

mod branch;
mod certificates;
mod confined;
mod endpoint;
mod experience;
mod generators;
mod islands;
mod kills;
mod presets;
mod script;
mod secrets;
mod stands;
mod sweeps;

use cutegen_tests::{Ran, cutegen, run, scratch, workspace, write};
use script::{Library, answers, decided};

/// What a run of the scripted program comes to, entry by entry.
const DECISIONS: &[&str] = &[
    "first",
    "unreadable",
    "whole about 2",
    "kernel",
    "refused 4",
    "diagnose about 4",
    "words",
    "patch about 4",
    "unreadable",
    "whole about 9",
    "kernel",
    "compiled 11",
    "wrong 11",
    "diagnose about 11",
    "words",
    "patch about 11",
    "kernel",
    "compiled 17",
    "right 17",
    "optimise about 17",
    "repeat of 17",
    "optimise about 17",
    "kernel",
    "compiled 23",
    "right 23",
    "optimise about 23",
    "kernel",
    "compiled 27",
    "right 27",
    "optimise about 23",
    "kernel",
    "refused 31",
    "diagnose about 31",
    "words",
    "patch about 31",
    "kernel",
    "compiled 36",
    "right 36",
    "optimise about 23",
    "kernel",
    "compiled 40",
    "right 40",
    "accepted 23",
];

fn all(ran: &Ran) -> String {
    format!("{}\n{}", ran.stdout, ran.stderr)
}

#[test]
fn a_program_that_errs_is_led_to_an_accepted_kernel() {
    let library = Library::new("refine-program");
    let ran = library.refine();
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    assert_eq!(decided(&library.log()), DECISIONS);
    assert!(all(&ran).contains("further rounds brought no gain"), "{}", all(&ran));
    let asked = library.asked();
    assert_eq!(asked.len(), answers().len(), "each answer was asked for once: {asked:?}");
    let told = |request: usize, word: &str| {
        let prompt = library.prompt(request);
        assert!(prompt.contains(word), "request {request} does not say `{word}`:\n{prompt}");
    };
    told(2, "`ptr(z)` is no argument");
    told(3, "zero");
    told(4, "`zero` is declared nowhere"); // the diagnosis
    told(6, "values");
    told(9, "+1"); // of the attempts, the one that was repeated
    // every prompt and every decision comes of the log alone
    let replayed = library.command(&["replay"]);
    assert!(replayed.ok && all(&replayed).contains("every prompt and decision"), "{}", all(&replayed));
    let again = library.command(&["replay", "--verify"]);
    assert!(again.ok && all(&again).contains("0 not judged here"), "{}", all(&again));
    let accepted = library.command(&["explain", "squares"]);
    assert!(accepted.code.is_some(), "{}", all(&accepted));
}

#[test]
fn a_log_that_was_changed_diverges_where_it_was() {
    let library = Library::new("refine-diverged");
    assert!(library.refine().ok);
    let (path, text) = (library.log_path(), library.log());
    let line = |number: usize| text.lines().nth(number).expect("a line").to_owned();
    // a verdict that was worse would have had another question behind it
    let (right, refused) = (line(19), line(19).replace("\"right\"", "\"wrong\""));
    assert_ne!(right, refused);
    write(&path, &text.replace(&right, &refused));
    let replayed = library.command(&["replay"]);
    assert!(replayed.code == Some(1) && all(&replayed).contains("diverged at step 20"), "{}", all(&replayed));
    // a reply that reads otherwise
    write(&path, &text.replace("lanes[32]", "lanes[64]"));
    let replayed = library.command(&["replay"]);
    assert!(replayed.code == Some(1) && all(&replayed).contains("diverged at step 23"), "{}", all(&replayed));
    // a compiler that says otherwise: the log calls a kernel refused that compiles
    let (compiled, refused) = (line(24), line(24).replace("\"compiled\"", "\"refused\""));
    assert_ne!(compiled, refused);
    let cut: Vec<&str> = text.lines().take(24).collect();
    write(&path, &format!("{}\n{refused}\n", cut.join("\n")));
    assert!(library.command(&["replay"]).ok, "no decision before it differs");
    let replayed = library.command(&["replay", "--verify"]);
    assert!(replayed.code == Some(1) && all(&replayed).contains("diverged at step 24"), "{}", all(&replayed));
}

#[test]
fn prompts_and_answers_as_files_and_verdicts_from_elsewhere() {
    let library = Library::new("refine-exchange");
    let ran = library.command(&["refine", "squares", "--run", "r", "--model", "a writer", "--json"]);
    assert_eq!(ran.code, Some(4), "an answer is awaited, and nothing else: {}", all(&ran));
    let exchange = library.exchange("r");
    let value: serde_json::Value = ran
        .stdout
        .lines()
        .find_map(|line| {
            serde_json::from_str(line).ok().filter(|v: &serde_json::Value| v.get("state").is_some())
        })
        .expect("where the run stands");
    assert_eq!((value["state"].as_str(), value["sequence"].as_u64()), (Some("reply"), Some(1)));
    let prompt = std::fs::read_to_string(exchange.join("1-prompt.md")).expect("a prompt");
    assert!(prompt.contains("y[m] = sum(k, x[m, k] * x[m, k])"), "{prompt}");
    let again = library.command(&["step"]);
    assert_eq!(again.code, Some(4), "still awaited: {}", all(&again));
    // a file that is made before it is written is no answer
    write(&exchange.join("1-reply.md"), "\n");
    assert_eq!(library.command(&["step"]).code, Some(4));
    assert_eq!(decided(&library.log_of("r")), ["first"]);
    // the kernel that is right at once; then the run waits for the next answer
    write(&exchange.join("1-reply.md"), &script::fenced(&script::lanes(8)));
    let stepped = library.command(&["step"]);
    assert_eq!(stepped.code, Some(4), "{}", all(&stepped));
    assert_eq!(
        decided(&library.log_of("r")),
        ["first", "kernel", "compiled 2", "right 2", "optimise about 2"],
        "{}",
        all(&stepped)
    );
    // another machine judges the next candidate: it asks for nothing, and its verdict is merged here
    let node = library.copy("refine-node");
    write(&node.exchange("r").join("5-reply.md"), &script::fenced(&script::lanes(32)));
    assert_eq!(node.command(&["step"]).code, Some(4));
    let results = node.folder.join("home.tar.gz").display().to_string();
    let judged = node.command(&["step", "--results", &results, "--deadline", "600"]);
    assert_eq!(judged.code, Some(0), "{}", all(&judged));
    // here the same answer was read, and nothing has judged it
    let answered: Vec<String> = node.log_of("r").lines().take(7).map(str::to_owned).collect();
    write(&library.path_of("r"), &format!("{}\n", answered.join("\n")));
    let merged = library.command(&["step", "--merge", &results]);
    assert!(all(&merged).contains("2 new verdicts, 2 known"), "{}", all(&merged));
    assert_eq!(decided(&library.log_of("r")), decided(&node.log_of("r")));
    let known = library.command(&["step", "--merge", &results]);
    assert!(all(&known).contains("0 new verdicts, 4 known"), "{}", all(&known));
}

#[test]
fn committed_runs_give_their_prompts_and_decisions_again() {
    let replay = |runs: &str| {
        let folder = workspace().join("results/runs").join(runs);
        let mut command = cutegen(&scratch("refine-committed"));
        command
            .args(["replay", "--specs"])
            .arg(folder.join("specs"))
            .arg("--cache")
            .arg(folder.join("cache"));
        run(&mut command)
    };
    let ran = replay("agentic");
    assert!(ran.ok && ran.stdout.contains("triplet-loss-1"), "{}", all(&ran));
    let ran = replay("refine");
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    let told = "every decision as recorded; prompts are of version 2, this program writes version";
    assert_eq!(ran.stdout.matches(told).count(), 6, "{}", all(&ran));
    assert_eq!(ran.stdout.matches("so they were not compared").count(), 6, "{}", all(&ran));
}

#[test]
fn what_cannot_be_begun_or_gone_on_with_says_why() {
    let library = Library::new("refine-refused");
    let none = library.command(&["step"]);
    assert!(none.code == Some(2) && all(&none).contains("cargo cutegen refine KERNEL"), "{}", all(&none));
    let setting = library.command(&["refine", "squares", "--set", "patience=3"]);
    assert!(setting.code == Some(2) && all(&setting).contains("`patience`"), "{}", all(&setting));
    let failed = library.command(&["refine", "squares", "--run", "r", "--", "false"]);
    assert_eq!(failed.code, Some(3), "{}", all(&failed));
    assert!(all(&failed).contains("request 1 has no answer"), "{}", all(&failed));
    // the request stands, and is asked again
    assert_eq!(decided(&library.log_of("r")), ["first"]);
    let older = older(&library.log_of("r"));
    write(&library.path_of("r"), &older);
    let other = library.command(&["step"]);
    let told = all(&other);
    assert!(
        other.code == Some(1) && told.contains("begun with prompts of version 1, and this program"),
        "{told}"
    );
    assert!(told.contains("begin a new one: cargo cutegen refine squares"), "{told}");
    // its decisions can be checked, and a prompt that is of no version is none of them
    let replayed = library.command(&["replay"]);
    let told = all(&replayed);
    assert!(
        replayed.code == Some(0) && told.contains("every decision as recorded; prompts are of version 1"),
        "{told}"
    );
    write(&library.path_of("r"), &older.replace("rowwise-1", "rowwise-2"));
    let replayed = library.command(&["replay"]);
    assert!(replayed.code == Some(1) && all(&replayed).contains("diverged at step 1"), "{}", all(&replayed));
}

/// The log as a program with prompts of version 1 would have written it.
fn older(log: &str) -> String {
    let (start, entries) = log.split_once('\n').expect("a line");
    let parsed: serde_json::Value = serde_json::from_str(start).expect("JSON");
    let number = parsed["prompts"].as_u64().expect("a version");
    let start = start.replace(&format!("\"prompts\":{number},"), "\"prompts\":1,");
    format!("{start}\n{}", entries.replace(&format!("rowwise-{number}\""), "rowwise-1\""))
}
