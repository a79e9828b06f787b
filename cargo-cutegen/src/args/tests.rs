//! Commands that messages and documents name, against the command line: who runs one must not learn that there is none.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory as _};
use cutegen_build::render::command::placed;

use super::Cargo;

/// Folders and files of the repository whose texts name commands.
const TEXTS: [&str; 14] = [
    "cutegen-spec/src",
    "cutegen-runtime/src",
    "cutegen-build/src",
    "cutegen-build/toolchain.lock.toml",
    "cargo-cutegen/src",
    "docs",
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "kernel-specs/README.md",
    "cache/README.md",
    "tests/bars/README.md",
    "results",
];

/// How a command line begins: as cargo is asked for it, in a bundle, in a checkout.
const BEGINNINGS: [&str; 3] = ["cargo cutegen", "cargo-cutegen cutegen", "cargo-cutegen -- cutegen"];

/// What a command cannot go on behind: the end of a line or of a literal, quotes, what a shell or HTML takes for its own.
const ENDS: [char; 12] = ['\n', '\\', '"', '\'', '`', '&', '|', ';', '#', '<', '>', '('];

#[test]
fn every_command_that_is_named_is_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (mut named, mut wrong) = (0, Vec::new());
    for file in TEXTS.iter().flat_map(|text| files(&root.join(text))) {
        let commands = commands(&fs::read_to_string(&file).expect("a text"));
        named += commands.len();
        let found = commands.iter().filter_map(|command| refused(command));
        wrong.extend(found.map(|why| format!("{}: {why}", file.display())));
    }
    assert!(named > 100, "only {named} are named: are they looked for as they are written?");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_command_that_is_none_is_found() {
    // written apart, as the other test reads this file too
    let refusals = |text: &str| {
        let commands = commands(&text.replace('$', "cargo cutegen "));
        commands.iter().filter_map(|command| refused(command)).collect::<Vec<_>>()
    };
    for wrong in [
        "lost, `$doctor` examines it",
        "`$toolchain remove`",
        "`$tune {kernel} && $agree {kernel}`",
        "$verify --recrod",
        "\"run: $chekc\\nelse\"",
        "run `$\\\n                 doctor`",
        "and `$\ndoctor`",
    ] {
        assert_eq!(refusals(wrong).len(), 1, "{wrong}");
    }
    for right in [
        "`$tune {kernel} --again && $accept {kernel}`",
        "`$toolchain show`, `$toolchain`",
        "run: $verify {kernel} --target {target} --record\\n  see --what",
        "$report [KERNEL...] [--out report.html]",
        "`$schema --cargo` prints it, `$...`, `$`, `${verb} {what}`",
        "$check --specs kernel-specs --cache cache --json",
    ] {
        assert_eq!(refusals(right), Vec::<String>::new(), "{right}");
    }
}

/// Verbs that work on no project.
const PROJECTLESS: [&str; 2] = ["toolchain", "schema"];

/// Messages put the project's arguments on commands of verbs that take them: a verb that they don't know leads into another
/// project.
#[test]
fn messages_know_every_verb_that_works_on_a_project() {
    let root = Cargo::command();
    let cutegen = root.find_subcommand("cutegen").expect("cargo's word for us");
    let verbs: Vec<&str> = cutegen.get_subcommands().map(Command::get_name).collect();
    assert!(verbs.len() > 15, "{verbs:?}");
    assert!(PROJECTLESS.iter().all(|verb| verbs.contains(verb)), "{verbs:?}");
    for verb in verbs {
        // without a word behind it, `explain` is about codes
        let command = format!("run: cargo cutegen {verb} softmax");
        let is_placed = placed(&command, " -p engine") == format!("{command} -p engine");
        assert_ne!(is_placed, PROJECTLESS.contains(&verb), "{verb}: is it in VERBS of render/command.rs?");
    }
}

/// The files of a folder and of those in it, or the file that it is.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let mut found = Vec::new();
    for item in fs::read_dir(path).expect("a folder") {
        let path = item.expect("it can be listed").path();
        let is_text =
            path.extension().is_some_and(|ending| ["rs", "md", "html", "css"].iter().any(|e| ending == *e));
        if path.is_dir() || is_text {
            found.extend(files(&path));
        }
    }
    found
}

/// The words of each command that a text names. A placeholder in place of the verb is no command.
fn commands(text: &str) -> Vec<Vec<String>> {
    // a literal over several lines
    let mut pieces = text.split("\\\n");
    let first = pieces.next().unwrap_or_default().to_owned();
    let text = pieces.fold(first, |text, piece| text + piece.trim_start());
    let behind = BEGINNINGS.iter().flat_map(|beginning| text.split(beginning).skip(1));
    let words = behind.filter_map(|rest| {
        let command = rest.strip_prefix([' ', '\n'])?.trim_start().split(ENDS).next().unwrap_or_default();
        let bare = |word: &str| word.trim_matches(['[', ']', ',', '.', ':', ')']).to_owned();
        let words: Vec<String> = command.split_whitespace().map(bare).collect();
        words.first().is_some_and(|verb| verb.starts_with(|c: char| c.is_alphanumeric())).then_some(words)
    });
    words.collect()
}

/// Why the command line would not take these words; the values of arguments are not looked at.
fn refused(words: &[String]) -> Option<String> {
    let mut root = Cargo::command();
    root.build();
    let mut command: &Command = root.find_subcommand("cutegen").expect("cargo's word for us");
    for word in words {
        let known = match word.strip_prefix("--") {
            Some(flag) => {
                flag.is_empty() || command.get_arguments().any(|known| known.get_long() == Some(flag))
            }
            None if command.has_subcommands() => match command.find_subcommand(word) {
                Some(verb) => {
                    command = verb;
                    true
                }
                None => false,
            },
            None => true,
        };
        if !known {
            return Some(format!("there is no `{word}` in: cargo {} {}", "cutegen", words.join(" ")));
        }
    }
    None
}
