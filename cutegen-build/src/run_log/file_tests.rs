//! A log's file: what is appended is there, what was torn is not, and what stands in its place is refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::sample::*;
use super::*;

fn id(run: &str) -> RunId {
    RunId::parse(run).expect("a name")
}

fn place(folder: &Path, run: &str) -> PathBuf {
    folder.join(format!("{run}.jsonl"))
}

fn all() -> Vec<Entry> {
    vec![request(), candidate(kernel()), verdict(2, Outcome::Compiled), full_verdict()]
}

fn why<T>(result: Result<T, LogError>) -> String {
    result.err().expect("an error").to_string()
}

#[test]
fn what_is_appended_is_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("0123456789abcdef");
    let mut file = written(&inner, "a-1", &[]);
    for (sequence, entry) in (1..).zip(all()) {
        assert_eq!(file.append(entry).expect("appended"), sequence);
        assert_eq!(&read(&inner, &id("a-1")).expect("a log"), file.log(), "read while it is written");
    }
    assert_eq!(file.path(), place(&inner, "a-1"));
    drop(file);
    let mut again = LogFile::open(&inner, &id("a-1")).expect("a log");
    assert_eq!((&again.log().start, &again.log().entries), (&start("a-1"), &all()));
    assert_eq!(again.append(verdict(2, Outcome::Right)).expect("appended"), 5);
    let lines = fs::read_to_string(place(&inner, "a-1")).expect("a text");
    assert_eq!(lines.matches('\n').count(), 6);
    assert!(lines.ends_with("\"right\"}}\n"), "{lines}");
}

#[test]
fn a_log_that_is_torn_anywhere_in_its_last_line_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(written(folder.path(), "a-1", &[request(), candidate(kernel())]));
    let bytes = fs::read(place(folder.path(), "a-1")).expect("bytes");
    let last = bytes[..bytes.len() - 1].iter().rposition(|byte| *byte == b'\n').expect("a line") + 1;
    let tau = bytes.iter().position(|byte| *byte == 0xcf).expect("the first byte of two");
    assert!(last < tau && std::str::from_utf8(&bytes[..=tau]).is_err(), "a cut falls into a character");
    for cut in last..bytes.len() {
        fs::write(place(folder.path(), "a-1"), &bytes[..cut]).expect("written");
        let seen = read(folder.path(), &id("a-1")).expect("a log");
        assert_eq!(seen.entries, [request()], "cut at {cut}");
        let mut file = LogFile::open(folder.path(), &id("a-1")).expect("a log");
        assert_eq!(file.log(), &seen);
        file.append(candidate(kernel())).expect("appended");
        assert!(fs::read(place(folder.path(), "a-1")).expect("bytes") == bytes, "cut at {cut}");
    }
}

#[test]
fn a_run_that_was_cut_in_its_first_line_begins_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(written(folder.path(), "a-1", &[]));
    let bytes = fs::read(place(folder.path(), "a-1")).expect("bytes");
    for cut in [0, 1, bytes.len() - 1] {
        fs::write(place(folder.path(), "a-1"), &bytes[..cut]).expect("written");
        let said = why(LogFile::open(folder.path(), &id("a-1")));
        assert!(said.ends_with("a-1.jsonl: line 1: the log is empty"), "{said}");
        assert_eq!(fs::read(place(folder.path(), "a-1")).expect("bytes").len(), cut, "it stays as it is");
        drop(written(folder.path(), "a-1", &[]));
        assert!(fs::read(place(folder.path(), "a-1")).expect("bytes") == bytes, "cut at {cut}");
    }
    let said = why(LogFile::create(folder.path(), start("a-1")));
    assert!(said.contains("exists"), "a run with a whole line stays: {said}");
    assert!(fs::read(place(folder.path(), "a-1")).expect("bytes") == bytes);
}

#[test]
fn there_is_one_writer() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = written(folder.path(), "a-1", &[request()]);
    for second in [LogFile::open(folder.path(), &id("a-1")), LogFile::create(folder.path(), start("a-1"))] {
        assert!(matches!(second, Err(LogError::Busy(path)) if path == file.path()));
    }
    drop(written(folder.path(), "a-2", &[]));
    drop(file);
    assert!(LogFile::open(folder.path(), &id("a-1")).is_ok());
}

#[test]
fn a_child_that_shares_the_file_holds_no_lock() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = place(folder.path(), "a-1");
    drop(written(folder.path(), "a-1", &[]));
    // a duplicate, as a fork makes of every open file
    let file = fs::OpenOptions::new().append(true).read(true).open(&path).expect("a file");
    let shared = file.try_clone().expect("a duplicate");
    file.try_lock().expect("locked");
    assert!(LogFile::open(folder.path(), &id("a-1")).is_err());
    drop(super::file::Held(file));
    assert!(LogFile::open(folder.path(), &id("a-1")).is_ok());
    drop(shared);
}

#[test]
fn a_wrong_line_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(written(folder.path(), "a-1", &[request(), candidate(kernel()), verdict(2, Outcome::Right)]));
    let text = fs::read_to_string(place(folder.path(), "a-1")).expect("a text");
    let with = |number: usize, line: &[u8]| {
        let mut lines: Vec<&[u8]> = text.lines().map(str::as_bytes).collect();
        lines[number - 1] = line;
        let mut bytes = lines.join(&b'\n');
        bytes.push(b'\n');
        fs::write(place(folder.path(), "a-1"), &bytes).expect("written");
        let said = [why(read(folder.path(), &id("a-1"))), why(LogFile::open(folder.path(), &id("a-1")))];
        assert!(fs::read(place(folder.path(), "a-1")).expect("bytes") == bytes, "it stays as it is");
        assert_eq!(said[0], said[1]);
        assert!(said[0].contains(&format!("a-1.jsonl: line {number}: ")), "{}", said[0]);
        said[0].clone()
    };
    for number in 1..=4 {
        for line in ["", "{}", "{\"verdict\":", "[]"] {
            with(number, line.as_bytes());
        }
    }
    with(3, b"{\"candidate\":{\"by\":\"\xff\",\"text\":\"\",\"content\":\"words\"}}");
    let other = text.lines().next().expect("a line").replace("\"version\":1", "\"version\":2,\"more\":[]");
    assert!(with(1, other.as_bytes()).ends_with("version 2; this program reads 1"));
}

#[test]
fn an_end_of_a_line_of_another_system_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(written(folder.path(), "a-1", &all()));
    let text = fs::read_to_string(place(folder.path(), "a-1")).expect("a text");
    fs::write(place(folder.path(), "a-1"), text.replace('\n', "\r\n")).expect("written");
    assert_eq!(read(folder.path(), &id("a-1")).expect("a log").entries, all());
}

#[test]
fn what_stands_in_its_place_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, elsewhere) = (place(folder.path(), "a-1"), folder.path().join("elsewhere"));
    drop(written(folder.path(), "a-2", &[]));
    let refused = || {
        let said = [
            why(read(folder.path(), &id("a-1"))),
            why(LogFile::open(folder.path(), &id("a-1"))),
            why(LogFile::create(folder.path(), start("a-1"))),
        ];
        said.iter().for_each(|said| assert!(said.ends_with("it is no regular file"), "{said}"));
    };
    symlink(place(folder.path(), "a-2"), &path).expect("a link");
    refused();
    fs::remove_file(&path).expect("removed");
    symlink(&elsewhere, &path).expect("a link to nothing");
    refused();
    assert!(!elsewhere.exists(), "nothing is made where a link leads");
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("a folder");
    refused();
    fs::remove_dir(&path).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
    assert!(made.success());
    refused();
}

#[test]
fn a_file_that_vanishes_takes_no_entry() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = place(folder.path(), "a-1");
    let mut file = written(folder.path(), "a-1", &[request()]);
    let moved = folder.path().join("moved");
    fs::rename(&path, &moved).expect("moved");
    assert!(why(file.append(request())).contains("a-1.jsonl"));
    fs::copy(&moved, &path).expect("copied");
    assert!(why(file.append(request())).contains("another file took its place"));
    fs::rename(&moved, &path).expect("moved back");
    assert_eq!(file.log().entries, [request()]);
    assert_eq!(file.append(request()).expect("appended"), 2);
    fs::write(&path, "cut").expect("written");
    assert!(why(file.append(request())).contains("changed by another program"));
    assert_eq!(file.log().entries.len(), 2);
    drop(file);
    fs::remove_file(&path).expect("removed");
    assert!(matches!(read(folder.path(), &id("a-1")), Err(LogError::File(..))));
    assert!(matches!(LogFile::open(folder.path(), &id("a-1")), Err(LogError::File(..))));
    assert!(!path.exists(), "opening makes no file");
}

#[test]
fn a_number_that_is_not_finite_never_reaches_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut file = written(folder.path(), "a-1", &[request()]);
    let before = fs::read(file.path()).expect("bytes");
    let set: [fn(&mut Facts); 4] = [
        |facts| facts.speed[0].micros = f64::NAN,
        |facts| facts.speed[0].over_naive = Some(f64::INFINITY),
        |facts| facts.mismatch.as_mut().expect("one").bound = Some(f64::NAN),
        |facts| facts.profile.extend([("x".to_owned(), f64::NEG_INFINITY)]),
    ];
    for set in set {
        let Entry::Verdict(mut wrong) = full_verdict() else { panic!("a verdict") };
        set(&mut wrong.facts);
        let said = why(file.append(Entry::Verdict(wrong)));
        assert!(said.contains("line 3") && said.contains("not finite"), "{said}");
    }
    assert!(fs::read(file.path()).expect("bytes") == before && file.log().entries.len() == 1);
    let mut start = start("a-2");
    start.settings.insert("gain".to_owned(), f64::NAN);
    assert!(why(LogFile::create(folder.path(), start)).contains("not finite"));
    assert!(!place(folder.path(), "a-2").exists());
}

#[test]
fn runs_are_listed_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(runs(&folder.path().join("none")).expect("a list"), []);
    for run in ["b", "a-2", "a-10"] {
        drop(written(folder.path(), run, &[]));
    }
    fs::create_dir(folder.path().join("kept")).expect("a folder");
    fs::write(folder.path().join("Not A Run.jsonl"), "").expect("written");
    assert_eq!(runs(folder.path()).expect("a list"), [id("a-10"), id("a-2"), id("b")]);
    assert!(runs(&place(folder.path(), "b")).is_err(), "a file is no folder");
}
