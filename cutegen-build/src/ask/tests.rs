//! Programs that answer, fail, and do not end; `sh` by its arguments stands in for all of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;

fn sh(script: &str, args: &[&str]) -> Program {
    let argv = ["sh", "-c", script, "sh"].iter().chain(args).map(|word| (*word).to_owned()).collect();
    Program { argv, limits: Limits { seconds: 60, bytes: 1 << 16 }, env: Vec::new() }
}

fn within(program: Program, seconds: u32, bytes: usize) -> Program {
    Program { limits: Limits { seconds, bytes }, ..program }
}

fn text(program: &Program, prompt: &str) -> String {
    program.answer(prompt).expect("an answer").text
}

/// Waits until a process is no more; a zombie that nothing reaps is none.
fn is_gone(process: &str) -> bool {
    assert!(process.parse::<u32>().is_ok_and(|process| process > 1), "no process `{process}`");
    let state = || {
        let stat = std::fs::read_to_string(Path::new("/proc").join(process).join("stat")).ok()?;
        stat.rsplit(')').next()?.trim_start().chars().next()
    };
    (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        matches!(state(), None | Some('Z' | 'X'))
    })
}

#[test]
fn the_prompt_goes_in_and_the_answer_comes_out() {
    assert_eq!(text(&sh("cat", &[]), "a prompt\nτ\n"), "a prompt\nτ\n");
    // more than a pipe holds, in both directions at once
    let long = "0123456789abcde\n".repeat(1 << 16);
    let program = within(sh("cat", &[]), 60, long.len());
    assert!(text(&program, &long) == long);
    assert_eq!(text(&sh("exit 0", &[]), "a"), "");
}

#[test]
fn a_program_that_reads_nothing_answers() {
    let long = "x".repeat(1 << 20);
    assert_eq!(text(&sh("echo yes", &[]), &long), "yes\n");
    assert_eq!(text(&sh("exec <&-; echo yes", &[]), &long), "yes\n");
}

#[test]
fn no_shell_reads_the_arguments() {
    let words = ["$HOME", "a b", "", "; exit 3", "`id`", "*", "'", "\n"];
    assert_eq!(text(&sh("for word; do printf '[%s]' \"$word\"; done", &words), ""), {
        words.map(|word| format!("[{word}]")).concat()
    });
}

#[test]
fn it_runs_in_an_empty_folder_that_is_removed() {
    let said = text(&sh("pwd -P; ls -A | wc -l; echo left > left", &[]), "");
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[1].trim(), "0", "{said}");
    let here = std::env::current_dir().expect("a folder");
    assert!(Path::new(lines[0]) != here && !PathBuf::from(lines[0]).exists(), "{said}");
}

#[test]
fn the_environment_is_what_was_allowed() {
    // cargo sets these for every test
    let names = |env: &[&str]| {
        let program = Program { env: env.iter().map(|name| (*name).to_owned()).collect(), ..sh("env", &[]) };
        let said = text(&program, "");
        said.lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, _)| name.to_owned())
            .collect::<Vec<_>>()
    };
    let of_shell = ["PWD", "OLDPWD", "SHLVL", "_"];
    for name in names(&[]) {
        assert!(PASSED_ON.contains(&name.as_str()) || of_shell.contains(&name.as_str()), "{name}");
    }
    assert!(names(&[]).contains(&"PATH".to_owned()));
    assert!(names(&["CARGO_PKG_NAME", "NO_SUCH_NAME", "A=B", ""]).contains(&"CARGO_PKG_NAME".to_owned()));
    assert!(!names(&["CARGO_PKG_NAME"]).contains(&"CARGO_PKG_VERSION".to_owned()));
}

#[test]
fn a_path_is_one_from_here() {
    let folder = tempfile::tempdir_in(".").expect("a folder");
    let script = folder.path().join("program");
    std::fs::write(&script, "echo here\n").expect("written");
    let there = Program { argv: vec![script.to_str().expect("a path").to_owned()], ..sh("", &[]) };
    assert!(matches!(there.answer(""), Err(Failed::NotStarted { .. })), "it may not be executed");
    std::os::unix::fs::symlink("/bin/sh", folder.path().join("linked")).expect("a link");
    let linked = folder.path().join("linked").to_str().expect("a path").to_owned();
    let linked = Program { argv: vec![linked, "-c".to_owned(), "echo here".to_owned()], ..sh("", &[]) };
    assert_eq!(text(&linked, ""), "here\n");
}

#[test]
fn what_cannot_be_started_is_told() {
    for argv in [vec![], vec![""], vec!["no-such-program-of-ours"], vec!["/"], vec!["sh", "a\0b"]] {
        let program = Program { argv: argv.iter().map(|word| (*word).to_owned()).collect(), ..sh("", &[]) };
        let failed = program.answer("").expect_err("not started");
        assert!(matches!(failed, Failed::NotStarted { .. }), "{argv:?}: {failed:?}");
        assert!(
            failed.to_string().ends_with("\ninstall it, or give the path of another program"),
            "{failed}"
        );
    }
}

#[test]
fn a_deadline_ends_the_program_and_what_it_started() {
    let script = "sleep 1000 & echo $! >&2; (sleep 1000 & echo $! >&2; wait) & echo half; wait";
    let failed = within(sh(script, &[]), 2, 100).answer("").expect_err("too late");
    let Failed::TimedOut { seconds: 2, said, .. } = &failed else { panic!("{failed:?}") };
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.lines().all(is_gone), "{said}");
    assert!(failed.to_string().starts_with("`sh` did not answer within 2 s; it said:\n  "), "{failed}");
    assert!(failed.to_string().ends_with("\nask again, or allow it more seconds"), "{failed}");
}

#[test]
fn signals_that_are_ignored_do_not_help() {
    let failed =
        within(sh("trap '' TERM INT HUP; echo $$ >&2; while :; do sleep 1; done", &[]), 1, 100).answer("");
    let Err(Failed::TimedOut { said, .. }) = failed else { panic!("{failed:?}") };
    assert!(is_gone(said.trim()), "{said}");
}

#[test]
fn what_a_program_leaves_behind_ends_with_it() {
    // the one behind holds the pipe: the answer is whole all the same
    let said = text(&sh("sleep 1000 & echo $!", &[]), "");
    assert!(is_gone(said.trim()), "{said}");
    let failed = sh("sleep 1000 & echo $! >&2; exit 3", &[]).answer("").expect_err("a code");
    let Failed::Exit { code: 3, said, .. } = &failed else { panic!("{failed:?}") };
    assert!(is_gone(said.trim()), "{said}");
}

#[test]
fn an_answer_has_as_many_bytes_as_it_may() {
    let program = |bytes| within(sh("printf 12345678", &[]), 60, bytes);
    assert_eq!(text(&program(8), ""), "12345678");
    let failed = program(7).answer("").expect_err("too long");
    assert!(matches!(failed, Failed::TooLong { bytes: 7, .. }), "{failed:?}");
    let endless = within(sh("sleep 1000 & echo $! >&2; exec yes", &[]), 60, 100_000).answer("");
    let Err(Failed::TooLong { said, .. }) = &endless else { panic!("{endless:?}") };
    assert!(is_gone(said.trim()), "{said}");
    assert!(failed.to_string().ends_with("or have it print the answer alone"), "{failed}");
}

#[test]
fn the_end_of_what_it_said_is_told() {
    let script = "i=0; while [ $i -lt 400 ]; do echo line $i of many >&2; i=$((i+1)); done; exit 7";
    let failed = sh(script, &[]).answer("").expect_err("a code");
    let Failed::Exit { program, code: 7, said } = &failed else { panic!("{failed:?}") };
    assert_eq!((program.as_str(), said.len()), ("sh", 2048));
    assert!(said.ends_with("line 398 of many\nline 399 of many\n"), "{said}");
    let told = failed.to_string();
    assert!(
        told.starts_with("`sh` ended with code 7; it said:\n  ") && told.contains("\n  line 399 of many\n")
    );
    assert!(told.ends_with("\nrun it by hand with a prompt on its standard input"), "{told}");
    let silent = sh("exit 1", &[]).answer("").expect_err("a code").to_string();
    assert!(silent.starts_with("`sh` ended with code 1; it said nothing of why\n"), "{silent}");
}

#[test]
fn a_signal_is_told() {
    let failed = sh("echo before; echo why >&2; kill -SEGV $$", &[]).answer("").expect_err("a signal");
    let Failed::Signal { signal: 11, said, .. } = &failed else { panic!("{failed:?}") };
    assert_eq!(said, "why\n");
    assert!(failed.to_string().contains("was ended by signal 11"), "{failed}");
}

#[test]
fn what_is_no_text_is_no_answer() {
    let failed = sh("printf 'ab\\377'", &[]).answer("").expect_err("no text");
    assert!(matches!(failed, Failed::NotText { at: 2, .. }), "{failed:?}");
    assert!(failed.to_string().ends_with("\nhave it print text"), "{failed}");
    // a character of which the end is missing
    assert!(matches!(sh("printf '\\317'", &[]).answer(""), Err(Failed::NotText { at: 0, .. })));
}
