//! Lock and store as a hostile repository may carry them: each is told by `check` with what is wrong, none is waited for or
//! read without end. What a library test says of the store alone is said here of the command.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use cutegen_spec::record::Record;
use cutegen_tests::must;

use super::package::{Package, patiently, seal};

const FIFTH: usize = 5000;

/// With `silu_mul` and `z_norm` accepted.
fn accepted() -> Package {
    let package = Package::new();
    package.done(&["accept", "silu_mul", "z_norm", "--results", "@tuned.tgz"]);
    package
}

/// The folder of an entry.
fn entry(package: &Package, kernel: &str) -> std::path::PathBuf {
    let lock = package.lock();
    let locked = lock.kernels.iter().find(|k| k.name == kernel).expect("locked");
    package.store().entry_dir(&locked.key)
}

fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    must(Command::new("mkfifo").arg(path));
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).expect("reads");
    let at = FIFTH.min(bytes.len() / 2);
    bytes[at] ^= 0x20;
    fs::write(path, bytes).expect("written");
}

fn relink(path: &Path, to: &Path) {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path).expect("removed")
    } else {
        fs::remove_file(path).expect("removed")
    }
    symlink(to, path).expect("linked");
}

fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("reads");
    let edited = text.replacen(from, to, 1);
    assert_ne!(edited, text, "nothing was edited");
    fs::write(path, edited).expect("written");
}

fn giant(path: &Path, bytes: u64) {
    let file = fs::File::options().write(true).open(path).expect("opens");
    file.set_len(bytes).expect("sparse");
}

type Corrupt = fn(&Package, &Path);
type SpoilLock = fn(&Path);

/// What is done to the entry of `silu_mul`, and what `check` says.
const ENTRIES: [(&str, Corrupt); 18] = [
    ("naive.o (", |_, entry| flip(&entry.join("naive.o"))),
    ("its sources cannot be trusted", |_, entry| flip(&entry.join("naive.cpp"))),
    ("edited or damaged", |_, entry| edit(&entry.join("record.toml"), "origin = \"", "origin = \"x")),
    ("record.toml is empty", |_, entry| fs::write(entry.join("record.toml"), "").expect("emptied")),
    ("naive.o is empty", |_, entry| fs::write(entry.join("naive.o"), "").expect("emptied")),
    ("answers another question", |package, mine| {
        let (theirs, aside) = (entry(package, "z_norm"), package.path("aside"));
        fs::rename(mine, &aside).expect("moved");
        fs::rename(&theirs, mine).expect("moved");
        fs::rename(&aside, &theirs).expect("moved");
    }),
    ("the entry is no folder", |package, entry| {
        fs::rename(entry, package.path("aside")).expect("moved");
        symlink(package.path("aside"), entry).expect("linked");
    }),
    ("the entry is no folder", |_, entry| {
        fs::remove_dir_all(entry).expect("removed");
        fs::write(entry, "x").expect("written");
    }),
    ("the entry is no folder", |_, entry| {
        fs::remove_dir_all(entry).expect("removed");
        pipe(entry);
    }),
    ("naive.o is no regular file", |package, entry| {
        fs::copy(entry.join("naive.o"), package.path("aside")).expect("copied");
        relink(&entry.join("naive.o"), &package.path("aside"));
    }),
    ("naive.o is no regular file", |_, entry| relink(&entry.join("naive.o"), Path::new("/dev/zero"))),
    ("naive.o is no regular file", |_, entry| pipe(&entry.join("naive.o"))),
    ("naive.o is no regular file", |_, entry| {
        fs::remove_file(entry.join("naive.o")).expect("removed");
        fs::create_dir(entry.join("naive.o")).expect("made");
    }),
    ("record.toml is no regular file", |_, entry| pipe(&entry.join("record.toml"))),
    ("record.toml is no regular file", |_, entry| relink(&entry.join("record.toml"), Path::new("/dev/zero"))),
    ("more than the 4194304 that are read", |_, entry| giant(&entry.join("record.toml"), (4 << 20) + 1)),
    ("more than the 67108864 that are read", |_, entry| giant(&entry.join("naive.o"), 10 << 40)),
    ("steps, more than the 128 that an entry may have", |_, entry| {
        let text = fs::read_to_string(entry.join("record.toml")).expect("a record");
        let mut record = Record::parse(text.split_once('\n').expect("a seal").1).expect("parses");
        let steps = &mut record.variants[0].contract.steps;
        *steps = steps.iter().cycle().take(600).cloned().collect();
        seal(&entry.join("record.toml"), &record.to_toml().expect("prints"));
    }),
];

/// What is done to the lock, and what `check` says.
const LOCKS: [(&str, SpoilLock); 8] = [
    ("not the one that", |lock| {
        let text = fs::read_to_string(lock).expect("reads");
        let at = text.find("stored = \"").expect("a digest") + 10;
        let digit = if &text[at..=at] == "0" { "1" } else { "0" };
        fs::write(lock, format!("{}{digit}{}", &text[..at], &text[at + 1..])).expect("written");
    }),
    ("it is no regular file", |lock| {
        fs::remove_file(lock).expect("removed");
        fs::create_dir(lock).expect("made");
    }),
    ("lock version 99 is not", |lock| {
        let text = fs::read_to_string(lock).expect("reads");
        let line = text.lines().find(|line| line.starts_with("version = ")).expect("a version");
        fs::write(lock, text.replacen(line, "version = 99", 1)).expect("written");
    }),
    ("conflict marker", |lock| edit(lock, "[[kernel]]", "<<<<<<< HEAD\n[[kernel]]")),
    ("is locked twice", |lock| {
        let text = fs::read_to_string(lock).expect("reads");
        let tables = &text[text.find("[[kernel]]").expect("a table")..];
        fs::write(lock, format!("{text}\n{tables}")).expect("written");
    }),
    ("it is no regular file", pipe),
    ("it is no regular file", |lock| relink(lock, Path::new("/dev/zero"))),
    ("more than are read", |lock| giant(lock, 10 << 40)),
];

#[test]
fn corrupt_entries_are_told() {
    for (at, (expected, corrupt)) in ENTRIES.into_iter().enumerate() {
        let package = accepted();
        corrupt(&package, &entry(&package, "silu_mul"));
        let ran = patiently(&mut package.command(&["check", "silu_mul"]));
        assert_eq!(ran.code, Some(1), "{at}, {expected}: {}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{at}, {expected}: {}", ran.stderr);
        // and the same answer again is the way out
        let ran =
            patiently(&mut package.command(&["accept", "silu_mul", "z_norm", "--results", "@tuned.tgz"]));
        assert!(ran.ok, "{at}, {expected}: {}", ran.stderr);
        package.done(&["check", "silu_mul", "z_norm"]);
    }
}

#[test]
fn corrupt_locks_are_told() {
    for (at, (expected, corrupt)) in LOCKS.into_iter().enumerate() {
        let package = accepted();
        corrupt(&package.path("cache/cutegen.lock"));
        for verb in [&["check", "silu_mul"][..], &["explain", "silu_mul"], &["lock", "silu_mul"]] {
            let ran = patiently(&mut package.command(verb));
            let is_mended = at == 0 && verb[0] == "lock";
            assert!(is_mended || ran.code == Some(1), "{at}, {verb:?}, {expected}: {}", ran.stderr);
            assert!(is_mended || ran.stderr.contains(expected), "{at}, {verb:?}, {expected}: {}", ran.stderr);
            if verb[0] == "explain" && at == 0 {
                break; // a lock of other bytes is mended by locking, which compiles
            }
        }
    }
}

/// The lock of writers as a pipe, a device, or a link that would make a file elsewhere.
#[test]
fn a_strange_lock_of_writers_stops_no_reader() {
    for (strange, to) in [("pipe", None), ("device", Some("/dev/zero")), ("link", Some("elsewhere"))] {
        let package = accepted();
        let lock = package.path("cache/.lock");
        match to {
            None => pipe(&lock),
            Some(to) => relink(&lock, &package.path("").join(to)),
        }
        let ran = patiently(&mut package.command(&["check", "silu_mul"]));
        assert!(ran.ok, "{strange}: {}", ran.stderr);
        // a miss waits for writers
        let ran = patiently(&mut package.command(&["check", "twice"]));
        assert!(ran.code == Some(1) && ran.stderr.contains("not in"), "{strange}: {}", ran.stderr);
        let ran = patiently(&mut package.command(&["accept", "--results", "@naive.tgz"]));
        assert_eq!(ran.code, Some(1), "{strange}: {}", ran.stderr);
        assert!(ran.stderr.contains(".lock: it is no regular file"), "{strange}: {}", ran.stderr);
        assert!(!package.path("elsewhere").exists(), "{strange}");
    }
}

/// A store that lies elsewhere is its owner's choice.
#[test]
fn a_store_or_a_prefix_that_is_a_link_is_followed() {
    let package = accepted();
    fs::rename(package.path("cache/v1"), package.path("aside")).expect("moved");
    symlink(package.path("aside"), package.path("cache/v1")).expect("linked");
    package.done(&["check", "silu_mul", "z_norm"]);
    fs::rename(package.path("cache"), package.path("elsewhere")).expect("moved");
    symlink(package.path("elsewhere"), package.path("cache")).expect("linked");
    package.done(&["check", "silu_mul", "z_norm"]);
    let prefix = entry(&package, "silu_mul").parent().expect("a prefix").to_path_buf();
    fs::rename(&prefix, package.path("prefix")).expect("moved");
    symlink(package.path("prefix"), &prefix).expect("linked");
    package.done(&["check", "silu_mul", "z_norm"]);
    package.done(&["accept", "--results", "@naive.tgz"]);
    package.done(&["check", "silu_mul", "z_norm"]);
}

#[test]
fn a_spec_file_that_is_a_link_is_reported() {
    let package = accepted();
    fs::write(package.path("aside.toml"), "edition = 1\n").expect("written");
    symlink(package.path("aside.toml"), package.path("specs/link.toml")).expect("linked");
    let ran = package.run(&["check", "silu_mul"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("link.toml is a link or no regular file"), "{}", ran.stderr);
}

/// What an entry, a lock or a spec says reaches no terminal as it is.
#[test]
fn escapes_are_written_out() {
    let package = accepted();
    let entry = entry(&package, "silu_mul");
    let text = fs::read_to_string(entry.join("record.toml")).expect("a record");
    let body = text.split_once('\n').expect("a seal").1;
    let hostile = "\\u001B]52;c;aGk=\\u0007\\u001B[2J\\u009B1m\\u202E";
    let body = body.replace("origin = \"", &format!("origin = \"{hostile}"));
    let body = body.replace("device = \"", &format!("device = \"{hostile}"));
    seal(&entry.join("record.toml"), &body);
    let lock = package.path("cache/cutegen.lock");
    edit(&lock, "name = \"z_norm\"", &format!("name = \"z{hostile}\""));
    for verb in
        [&["explain", "silu_mul"][..], &["check"], &["--json", "explain", "silu_mul"], &["--json", "check"]]
    {
        let ran = package.run(verb);
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            printed.to_lowercase().contains("u001b") || printed.contains("u{1b}"),
            "{verb:?}: it is shown: {printed}"
        );
        let raw = printed.chars().find(|c| (c.is_control() && *c != '\n' && *c != '\t') || *c == '\u{202e}');
        assert_eq!(raw, None, "{verb:?}: {printed:?}");
    }
}
