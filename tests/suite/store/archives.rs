//! Hostile results files: what `accept --results` takes from another machine is regular files of an entry and nothing else,
//! within limits; what else an archive can hold is refused, and nothing of it is written anywhere.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

use cutegen_tests::{install_toolchain, must};

use super::package::{Package, patiently, place};

/// A member of an archive, as any program could write it.
struct Member {
    name: String,
    kind: u8,
    link: String,
    mode: u32,
    bytes: Vec<u8>,
}

const FILE: u8 = b'0';
const HARD_LINK: u8 = b'1';
const LINK: u8 = b'2';
const DEVICE: u8 = b'3';
const FOLDER: u8 = b'5';
const PIPE: u8 = b'6';

impl Member {
    fn file(name: &str, bytes: &[u8]) -> Self {
        Self { name: name.to_owned(), kind: FILE, link: String::new(), mode: 0o644, bytes: bytes.to_vec() }
    }

    fn other(name: &str, kind: u8, link: &str) -> Self {
        Self { kind, link: link.to_owned(), ..Self::file(name, b"") }
    }

    /// Header, contents and padding. Sums are of the header with blanks for the sum itself.
    fn blocks(&self) -> Vec<u8> {
        let mut header = [0_u8; 512];
        let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(0, &self.name);
        put(100, &format!("{:07o}", self.mode));
        put(124, &format!("{:011o}", self.bytes.len()));
        put(136, "00000000000");
        put(148, "        ");
        put(157, &self.link);
        put(257, "ustar\u{0}00");
        header[156] = self.kind;
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\u{0} ").as_bytes());
        let padding = vec![0; self.bytes.len().next_multiple_of(512) - self.bytes.len()];
        [header.as_slice(), &self.bytes, &padding].concat()
    }
}

fn gzip(path: &Path, write: impl FnOnce(&mut ChildStdin)) {
    let out = fs::File::create(path).expect("made");
    let mut child = Command::new("gzip").arg("-1").stdin(Stdio::piped()).stdout(out).spawn().expect("starts");
    write(&mut child.stdin.take().expect("piped"));
    assert!(child.wait().expect("ends").success());
}

fn archive(path: &Path, members: &[Member]) {
    gzip(path, |out| {
        for member in members {
            out.write_all(&member.blocks()).expect("written");
        }
        out.write_all(&[0; 1024]).expect("ended");
    });
}

/// The entry of `silu_mul`: its folder in an archive, and its members.
fn good(package: &Package) -> (String, Vec<Member>) {
    let entry = format!("v1/{}", place("silu_mul"));
    let folder = package.path("tuned").join(&entry);
    let mut names: Vec<PathBuf> =
        fs::read_dir(folder).expect("listed").map(|f| f.expect("f").path()).collect();
    names.sort();
    let member = |path: &PathBuf| {
        let name = format!("{entry}/{}", path.file_name().expect("named").display());
        Member::file(&name, &fs::read(path).expect("reads"))
    };
    let members = names.iter().map(member).collect();
    (entry, members)
}

fn accept(package: &Package) -> cutegen_tests::Ran {
    patiently(&mut package.command(&["accept", "silu_mul", "--results", "@r.tgz"]))
}

/// What an archive is refused for; nothing was written.
fn refused(case: &str, package: &Package, code: i32) -> String {
    let before = outside(package);
    let ran = accept(package);
    assert_eq!(ran.code, Some(code), "{case}: {}\n{}", ran.stdout, ran.stderr);
    assert!(!package.path("cache").exists(), "{case}: something was accepted");
    assert_eq!(outside(package), before, "{case}: something was written");
    ran.stderr
}

/// Names of all that lies in the library's folder.
fn outside(package: &Package) -> Vec<PathBuf> {
    package.files().into_keys().collect()
}

/// All that is no regular file of an entry, one at a time beside a good entry.
#[test]
fn strange_members_are_refused() {
    let package = Package::new();
    let entry = good(&package).0;
    let record = format!("{entry}/record.toml");
    let parent = entry.rsplit_once('/').expect("two folders").0.to_owned();
    let elsewhere = package.path("elsewhere");
    fs::create_dir_all(&elsewhere).expect("made");
    let away = elsewhere.display().to_string();
    let cases: Vec<(&str, &str, Vec<Member>)> = vec![
        ("traversal", "lies outside the archive", vec![Member::file("../evil", b"x")]),
        ("traversal inside", "lies outside the archive", vec![Member::file("v1/../../evil", b"x")]),
        ("absolute", "lies outside the archive", vec![Member::file(&format!("{away}/evil"), b"x")]),
        (
            "a file through a link",
            "no regular file",
            vec![Member::other("v1/evil", LINK, &away), Member::file("v1/evil/x", b"x")],
        ),
        ("hard link outside", "no regular file", vec![Member::other("v1/x", HARD_LINK, "/etc/passwd")]),
        ("hard link inside", "no regular file", vec![Member::other("v1/x", HARD_LINK, &record)]),
        ("pipe", "no regular file", vec![Member::other("v1/x", PIPE, "")]),
        ("pipe in the entry", "no regular file", vec![Member::other(&format!("{entry}/x"), PIPE, "")]),
        ("device", "no regular file", vec![Member::other("v1/x", DEVICE, "")]),
        ("twice", "is in it twice", vec![Member::file(&record, b"x")]),
    ];
    for (case, expected, strange) in cases {
        for first in [true, false] {
            let (_, good) = good(&package);
            let all: Vec<Member> = if first {
                strange.iter().map(clone).chain(good).collect()
            } else {
                good.into_iter().chain(strange.iter().map(clone)).collect()
            };
            archive(&package.path("r.tgz"), &all);
            let told = refused(case, &package, 2);
            assert!(told.contains(expected), "{case}: {told}");
        }
    }
    // folders as links, to where a good entry lies
    for (folder, target) in [
        ("v1".to_owned(), package.path("tuned/v1")),
        (parent.clone(), package.path("tuned").join(&parent)),
        (entry.clone(), package.path("tuned").join(&entry)),
    ] {
        archive(&package.path("r.tgz"), &[Member::other(&folder, LINK, &target.display().to_string())]);
        let told = refused(&folder, &package, 2);
        assert!(told.contains("is no regular file and no folder"), "{folder}: {told}");
    }
    assert_eq!(fs::read_dir(elsewhere).expect("listed").count(), 0);
}

fn clone(member: &Member) -> Member {
    Member { name: member.name.clone(), link: member.link.clone(), bytes: member.bytes.clone(), ..*member }
}

#[test]
fn what_is_no_whole_archive_is_refused() {
    let package = Package::new();
    archive(&package.path("r.tgz"), &good(&package).1);
    let whole = fs::read(package.path("r.tgz")).expect("reads");
    let cases: [(&str, &[u8]); 4] = [
        ("cut", &whole[..whole.len() / 2]),
        ("no gzip", b"not an archive"),
        ("empty", b""),
        ("a header cut", &whole[..9]),
    ];
    for (case, bytes) in cases {
        fs::write(package.path("r.tgz"), bytes).expect("written");
        let told = refused(case, &package, 2);
        assert!(told.contains("cannot read results"), "{case}: {told}");
    }
    fs::remove_file(package.path("r.tgz")).expect("removed");
    must(Command::new("mkfifo").arg(package.path("r.tgz")));
    let ran = accept(&package);
    assert!(ran.code == Some(2) && ran.stderr.contains("no regular file"), "a pipe: {}", ran.stderr);
}

/// Entries that are not what their place says.
#[test]
fn wrong_entries_are_refused() {
    let package = Package::new();
    type Corrupt = fn(&mut Vec<Member>);
    let cases: [(&str, &str, Corrupt); 4] = [
        ("bad seal", "edited or damaged", |members| {
            let record = members.iter_mut().find(|m| m.name.ends_with("record.toml")).expect("there");
            let text = String::from_utf8(record.bytes.clone()).expect("text");
            record.bytes = text.replacen("kind = \"naive\"", "kind = \"tuned\"", 1).into_bytes();
        }),
        ("bad digest", "has SHA-256", |members| {
            let object = members.iter_mut().find(|m| m.name.ends_with("naive.o")).expect("there");
            *object.bytes.last_mut().expect("bytes") ^= 1;
        }),
        ("a file missing", "is missing", |members| members.retain(|m| !m.name.ends_with("naive.cpp"))),
        ("no entry but an empty folder", "record.toml is missing", |members| {
            let folder = members[0].name.rsplit_once('/').expect("in a folder").0.to_owned();
            *members = vec![Member::other(&folder, FOLDER, "")];
        }),
    ];
    for (case, expected, corrupt) in cases {
        let (_, mut members) = good(&package);
        corrupt(&mut members);
        archive(&package.path("r.tgz"), &members);
        let told = refused(case, &package, 1);
        assert!(told.contains(expected), "{case}: {told}");
    }
    // another kernel's entry in its place
    let (mine, theirs) = (place("silu_mul"), place("rms_norm"));
    let other = package.path("tuned/v1").join(&theirs);
    let members: Vec<Member> = fs::read_dir(other)
        .expect("listed")
        .map(|file| file.expect("a file").path())
        .map(|path| {
            let name = path.file_name().expect("named").display().to_string();
            Member::file(&format!("v1/{mine}/{name}"), &fs::read(&path).expect("reads"))
        })
        .collect();
    archive(&package.path("r.tgz"), &members);
    let told = refused("another key", &package, 1);
    assert!(told.contains("answers another question"), "{told}");
}

/// Far more than any entry has, from a small file.
#[test]
fn bombs_are_refused() {
    let package = Package::new();
    let (_, members) = good(&package);
    let giant = |name: &str, bytes: usize| Member::file(name, &vec![0; bytes]);
    archive(&package.path("r.tgz"), &[giant("v1/giant", (64 << 20) + 1)]);
    let told = refused("one giant", &package, 2);
    assert!(told.contains("has more than 67108864 bytes"), "{told}");

    gzip(&package.path("r.tgz"), |out| {
        for member in &members {
            out.write_all(&member.blocks()).expect("written");
        }
        let part = vec![0; 64 << 20];
        for number in 0..8 {
            let part = Member::file(&format!("v1/part{number}"), &part);
            out.write_all(&part.blocks()).expect("written");
        }
        out.write_all(&[0; 1024]).expect("ended");
    });
    assert!(fs::metadata(package.path("r.tgz")).expect("there").len() < 8 << 20, "a small file");
    let told = refused("many parts", &package, 2);
    assert!(told.contains("more than 536870912 bytes together"), "{told}");
}

/// What is harmless is taken, and only what the record names is copied.
#[test]
fn what_is_good_is_accepted() {
    let package = Package::new();
    let (entry, mut members) = good(&package);
    let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
    for member in &mut members {
        member.mode = 0o6777;
    }
    members.push(Member::file(&format!("{entry}/stranger"), b"x"));
    members.extend((0..20_000).map(|n| Member::file(&format!("v1/more/{n}"), b"")));
    archive(&package.path("r.tgz"), &members);
    let ran = accept(&package);
    assert!(ran.ok, "{}", ran.stderr);
    package.done(&["check", "silu_mul"]);
    install_toolchain();
    let judged = package.done(&["verify", "silu_mul"]).stdout;
    assert!(judged.contains("silu_mul on host") && judged.contains("passed"), "{judged}");
    let accepted: Vec<PathBuf> =
        package.cache().into_keys().filter(|name| name.starts_with("cache/v1")).collect();
    assert_eq!(accepted, names.iter().map(|name| Path::new("cache").join(name)).collect::<Vec<_>>());
    for name in accepted {
        use std::os::unix::fs::PermissionsExt as _;
        let mode =
            fs::metadata(package.path(&name.display().to_string())).expect("there").permissions().mode();
        assert_eq!(mode & 0o7133, 0, "{}: {mode:o}", name.display());
    }
}
