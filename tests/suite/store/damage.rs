//! Every way of damaging an entry at rest.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, symlink};
use std::process::Command;

use cutegen_build::store::{FILE_LIMIT, Lookup, Put, Reason};
use cutegen_spec::digest::ArtifactDigest;
use cutegen_tests::store_sample::Sample;

use super::Fixture;

#[test]
fn no_flipped_byte_is_returned() {
    let fixture = Fixture::checked_out();
    let mut cases = 0;
    for (name, bytes) in fixture.files() {
        let path = fixture.entry_dir().join(&name);
        let file = File::options().write(true).open(&path).expect("opens");
        for (at, byte) in bytes.iter().enumerate() {
            for mask in [0x01, 0x20, 0x80] {
                file.write_all_at(&[byte ^ mask], at as u64).expect("written");
                cases += 1;
                assert!(matches!(fixture.full(), Lookup::Corrupt(_)), "{name}, byte {at}, mask {mask:#x}");
                let replayed = fixture.store.get(&fixture.sample.record.key).hit();
                assert!(
                    replayed.is_none_or(|e| name.ends_with(".cu") && fixture.is_sample(&e)),
                    "{name} {at}"
                );
            }
            file.write_all_at(&[*byte], at as u64).expect("restored");
        }
        assert!(fixture.full().hit().is_some_and(|entry| fixture.is_sample(&entry)), "{name} is whole again");
    }
    assert!(cases > 9_000, "{cases} flips");
    println!("{cases} flips, none returned");
}

#[test]
fn no_truncation_is_returned() {
    let fixture = Fixture::checked_out();
    let mut cases = 0;
    for (name, bytes) in fixture.files() {
        let path = fixture.entry_dir().join(&name);
        let file = File::options().write(true).open(&path).expect("opens");
        for length in (0..bytes.len()).rev() {
            file.set_len(length as u64).expect("cut");
            cases += 1;
            let reason = fixture.reason();
            assert_eq!(length == 0, reason == Reason::Empty { file: name.clone() }, "{name} to {length}");
        }
        fs::write(&path, [bytes.as_slice(), b"\n"].concat()).expect("written");
        assert!(matches!(fixture.full(), Lookup::Corrupt(_)), "{name}, one byte longer");
        fs::remove_file(&path).expect("removed");
        assert_eq!(fixture.reason(), Reason::Missing { file: name });
        fs::write(&path, &bytes).expect("restored");
    }
    assert!(cases > 3_000, "{cases} truncations");
    println!("{cases} truncations, none returned");
}

#[test]
fn a_foreign_version_or_question_is_named() {
    let fixture = Fixture::new();
    let path = fixture.entry_dir().join("record.toml");
    let text = fs::read_to_string(&path).expect("reads");
    let body = text.split_once('\n').expect("a seal").1;
    let sealed =
        |body: &str| format!("# sha256 of the lines below: {}\n{body}", ArtifactDigest::of(body.as_bytes()));
    assert_eq!(sealed(body), text, "the seal is what `tail -n +2 record.toml | sha256sum` prints");

    let foreign = body.replacen("version = 2", "version = 3", 1);
    for text in [sealed(&foreign), foreign] {
        fs::write(&path, text).expect("written");
        assert_eq!(
            fixture.reason().to_string(),
            "record.toml: record version 3 is not 2; this CuTeGen does not know it, a newer one may"
        );
    }
    fs::write(&path, body).expect("written");
    assert_eq!(fixture.reason().to_string(), "record.toml: its first line is no seal");
    fs::write(&path, sealed(&body.replacen("1..=64", "1..=65", 1))).expect("written");
    assert!(fixture.reason().to_string().contains("the question's key is"), "{}", fixture.reason());
    fs::write(&path, text.replace('\n', "\r\n")).expect("written");
    assert!(matches!(fixture.reason(), Reason::Seal(_)), "line endings converted");

    let other = Sample::new(65, 1, 300);
    other.put(&fixture.store).expect("put");
    fs::copy(fixture.store.entry_dir(&other.record.key).join("record.toml"), &path).expect("copied");
    assert_eq!(fixture.reason(), Reason::OtherKey(other.record.key));
}

#[test]
fn links_folders_pipes_and_giants_are_not_read() {
    let fixture = Fixture::new();
    let outside = fixture.folder.path().join("outside");
    for (name, bytes) in fixture.files() {
        let path = fixture.entry_dir().join(&name);
        let not_regular = Reason::NotRegular { file: name.clone() };
        fs::write(&outside, &bytes).expect("written");
        fs::remove_file(&path).expect("removed");
        symlink(&outside, &path).expect("linked");
        assert_eq!(fixture.reason(), not_regular, "{name}: a link to the very bytes");
        fs::remove_file(&path).expect("removed");
        symlink("/dev/zero", &path).expect("linked");
        assert_eq!(fixture.reason(), not_regular, "{name}: a link to a device");
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("made");
        assert_eq!(fixture.reason(), not_regular, "{name}: a folder");
        fs::remove_dir(&path).expect("removed");
        if Command::new("mkfifo").arg(&path).status().is_ok_and(|status| status.success()) {
            assert_eq!(fixture.reason(), not_regular, "{name}: a pipe");
            fs::remove_file(&path).expect("removed");
        }
        let giant = File::create(&path).expect("made");
        giant.set_len(FILE_LIMIT + 1).expect("sparse");
        assert!(matches!(fixture.reason(), Reason::TooLarge { .. }), "{name}: a giant");
        fs::write(&path, &bytes).expect("restored");
    }
}

#[test]
fn an_entry_that_is_no_folder_is_refused_and_replaced() {
    let fixture = Fixture::new();
    let (dir, elsewhere) = (fixture.entry_dir(), fixture.folder.path().join("elsewhere"));
    fs::rename(&dir, &elsewhere).expect("moved");
    symlink(&elsewhere, &dir).expect("linked");
    assert_eq!(fixture.reason(), Reason::NotAFolder, "a link to a whole entry");
    assert_eq!(fixture.sample.put(&fixture.store), Ok(Put::Replaced));
    assert!(elsewhere.join("record.toml").exists(), "what the link pointed at stays");
    assert!(!dir.is_symlink(), "a folder again");

    for corrupt in ["file", "empty folder", "folder with a stranger"] {
        fs::remove_dir_all(&dir).expect("removed");
        match corrupt {
            "file" => fs::write(&dir, b"x").expect("written"),
            _ => fs::create_dir(&dir).expect("made"),
        }
        if corrupt == "folder with a stranger" {
            fs::write(dir.join("stranger"), b"x").expect("written");
        }
        assert!(matches!(fixture.full(), Lookup::Corrupt(_)), "{corrupt}");
        assert_eq!(fixture.sample.put(&fixture.store), Ok(Put::Replaced), "{corrupt}");
        assert!(fixture.full().hit().is_some_and(|entry| fixture.is_sample(&entry)), "{corrupt}");
    }
    fs::remove_dir_all(fixture.store.root()).expect("removed");
    fs::write(fixture.store.root(), b"x").expect("written");
    assert!(matches!(fixture.reason(), Reason::Unreadable { .. }), "the root is a file");
    assert!(fixture.sample.put(&fixture.store).is_err());
}

#[test]
fn git_takes_the_objects_and_leaves_the_scaffold() {
    let fixture = Fixture::empty();
    let root = fixture.folder.path();
    let git = |args: &[&str]| Command::new("git").current_dir(root).args(args).output();
    if !git(&["init", "-q"]).is_ok_and(|output| output.status.success()) {
        println!("skipped: no git");
        return;
    }
    fs::write(root.join(".gitignore"), "*.o\n*.zst\n*.lock\n").expect("written");
    fixture.sample.put(&fixture.store).expect("put");
    fs::write(fixture.entry_dir().join("host.o"), b"x").expect("written");
    fs::create_dir(root.join("store/v1/.cutegen-tmp-1-1")).expect("made");
    fs::write(root.join("store/v1/.cutegen-tmp-1-1/half"), b"x").expect("written");
    let listed = git(&["ls-files", "--others", "--exclude-standard", "store"]).expect("runs").stdout;
    let listed = String::from_utf8(listed).expect("text");
    let names: Vec<&str> = listed.lines().filter_map(|line| line.rsplit('/').next()).collect();
    let expected = "fast.cu fast.cubin.zst host.o naive.cu naive.cubin.zst record.toml";
    let entry: Vec<&str> = names.iter().copied().filter(|name| !name.starts_with('.')).collect();
    assert_eq!(entry.join(" "), expected);
    assert!(!listed.contains(".lock") && !listed.contains(".cutegen-tmp-"), "{listed}");
}
