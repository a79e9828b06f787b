//! `--preset`: programs of these names on `PATH`, which keep what they are started with and answer with a right kernel.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use cutegen_tests::{run, write};
use serde_json::Value;

use super::all;
use super::script::{Library, decided, fenced, lanes};

/// Keeps its arguments, one a line, the files of its folder, its variables and its prompt beside itself; then it answers.
const PROGRAM: &str = r#"#!/bin/sh
beside=$(dirname "$0")
printf '[%s]\n' "$@" > "$beside/arguments"
ls -A > "$beside/files"
pwd > "$beside/folder"
env > "$beside/variables"
cat > "$beside/prompt"
cat "$beside/answer"
"#;

const CLAUDE: [&str; 6] = ["-p", "--output-format", "text", "--tools", "", "--strict-mcp-config"];
const CODEX: [&str; 4] = ["exec", "--skip-git-repo-check", "--sandbox", "read-only"];

#[test]
fn claude_is_asked_without_tools_in_an_empty_folder() {
    asked("claude", &["--model", "some model"], &[&CLAUDE[..], &["--model", "some model"]].concat());
    let kept = asked("claude", &[], &CLAUDE);
    assert!(kept.has_variable("ANTHROPIC_API_KEY=of-claude") && !kept.has_variable("CODEX_API_KEY="));
}

#[test]
fn codex_is_asked_in_its_sandbox_that_reads_and_in_an_empty_folder() {
    asked("codex", &["--model", "some model"], &[&CODEX[..], &["-m", "some model", "-"]].concat());
    let kept = asked("codex", &[], &[&CODEX[..], &["-"]].concat());
    assert!(kept.has_variable("CODEX_API_KEY=of-codex") && !kept.has_variable("ANTHROPIC_API_KEY="));
}

/// What the program kept.
struct Kept {
    variables: String,
}

impl Kept {
    fn has_variable(&self, start: &str) -> bool {
        self.variables.lines().any(|line| line.starts_with(start))
    }
}

/// A run that asks a preset with `further` flags once, which must start its program with these arguments.
fn asked(preset: &str, further: &[&str], arguments: &[&str]) -> Kept {
    let library = Library::new(&format!("presets-{preset}-{}", further.len()));
    let programs = library.folder.join("programs");
    install(&programs, preset);
    let once = ["refine", "squares", "--run", "r", "--set", "requests=1", "--preset", preset];
    let mut command = library.cutegen(&[&once[..], further].concat());
    let path = std::env::var("PATH").expect("a PATH");
    command.env("PATH", format!("{}:{path}", programs.display())).env("UNNAMED", "a secret");
    let ran = run(command.env("ANTHROPIC_API_KEY", "of-claude").env("CODEX_API_KEY", "of-codex"));
    assert_eq!(ran.code, Some(0), "{}", all(&ran));
    let kept = |name: &str| std::fs::read_to_string(programs.join(name)).expect(name);
    let wanted: Vec<String> = arguments.iter().map(|argument| format!("[{argument}]")).collect();
    assert_eq!(kept("arguments").lines().collect::<Vec<_>>(), wanted);
    assert_eq!(kept("files"), "", "its folder is empty");
    let folder = kept("folder");
    assert!(folder.contains("cutegen-ask-") && !Path::new(folder.trim_end()).exists(), "{folder}");
    assert!(kept("prompt").contains("y[m] = sum(k, x[m, k] * x[m, k])"), "{}", kept("prompt"));
    is_logged(&library, preset, further.last().copied());
    let kept = Kept { variables: kept("variables") };
    assert!(!kept.has_variable("UNNAMED="), "{}", kept.variables);
    kept
}

fn install(programs: &Path, preset: &str) {
    write(&programs.join(preset), PROGRAM);
    std::fs::set_permissions(programs.join(preset), Permissions::from_mode(0o755)).expect("a mode");
    write(&programs.join("answer"), &fenced(&lanes(8)));
}

/// The log has the answer, by the program and its model.
fn is_logged(library: &Library, preset: &str, model: Option<&str>) {
    let log = library.log_of("r");
    assert_eq!(decided(&log)[..4], ["first", "kernel", "compiled 2", "right 2"], "{log}");
    let answer: Value = serde_json::from_str(log.lines().nth(2).expect("an answer")).expect("JSON");
    let by = model.map_or_else(|| preset.to_owned(), |model| format!("{preset}, {model}"));
    assert_eq!(answer["candidate"]["by"], by.as_str(), "{answer}");
    assert_eq!(answer["candidate"]["text"], fenced(&lanes(8)).as_str(), "{answer}");
}
