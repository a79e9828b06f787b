//! A full and a read-only file system, mounted in a namespace of its own. Permissions would not do: root ignores them.
//! Where no namespace can be had the test says so; with `CUTEGEN_REQUIRE_MOUNT=1` it fails instead.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use cutegen_build::store::Put;
use cutegen_tests::store_sample::Sample;

use super::Fixture;

const WRITER: &str = env!("CARGO_BIN_EXE_store-writer");

/// Runs a script in a namespace with its own mounts; none where the system gives none.
fn in_namespace(folder: &Path, script: &str) -> Option<String> {
    let run = |script: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-ec", script, WRITER]).arg(folder);
        unshare.stdin(std::process::Stdio::null()).output()
    };
    let probe = run("mount -t tmpfs tmpfs \"$1\"");
    if !probe.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("CUTEGEN_REQUIRE_MOUNT").is_none(), "no mount namespace");
        println!("skipped: no mount namespace");
        return None;
    }
    let output = run(script).expect("runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    Some(text(&output.stdout))
}

/// 16 pages, of which scaffold and first entry take 7: ever smaller entries run out of room at ever later files.
#[test]
fn a_full_disk_is_a_clean_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "mount -t tmpfs -o size=64k tmpfs \"$1\"
        for size in 1000 100000 36000 32000 28000 24000 20000; do \"$0\" put \"$1/store\" $size $size; done
        echo remains: $(find \"$1\" -name '.cutegen-tmp-*' | wc -l)";
    let Some(output) = in_namespace(folder.path(), script) else { return };
    let (puts, rest): (Vec<&str>, Vec<&str>) = output.lines().partition(|line| !line.starts_with("get: "));
    assert_eq!((puts[0], rest[0]), ("put: Written", "get: hit template relu 1000"), "{output}");
    assert_eq!(puts.last(), Some(&"remains: 0"), "{output}");
    let mut failed_at = BTreeSet::new();
    for error in puts.iter().filter_map(|put| put.strip_prefix("error: store: cannot write ")) {
        assert!(error.contains("No space left") && error.contains(" | run: df -h "), "{error}");
        failed_at.extend(error.split(": No space").next().and_then(|path| path.rsplit('/').next()));
    }
    assert!(failed_at.len() >= 3, "{failed_at:?}: {output}");
    assert!(rest.iter().all(|get| get.starts_with("get: hit template relu ")), "{output}");
    println!("full disk met while writing {failed_at:?}");
}

#[test]
fn no_room_for_any_byte_is_a_clean_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "mount -t tmpfs -o size=4k,nr_inodes=4 tmpfs \"$1\"
        \"$0\" put \"$1/store\" 1 1000
        echo remains: $(find \"$1\" -name '.cutegen-tmp-*' | wc -l)";
    let Some(output) = in_namespace(folder.path(), script) else { return };
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].starts_with("error: store: cannot ") && lines[0].contains("No space left"), "{output}");
    assert_eq!(lines[1..], ["get: miss", "remains: 0"], "{output}");
}

#[test]
fn a_read_only_store_serves_and_refuses() {
    let fixture = Fixture::empty();
    assert_eq!(Sample::new(64, 1, 1000).put(&fixture.store), Ok(Put::Written));
    let read_only = "mount --bind \"$1\" \"$1\" && mount -o remount,ro,bind \"$1\"";
    let script = format!("{read_only}\n\"$0\" put \"$1/store\" 1 1000\n\"$0\" put \"$1/store\" 2 1000");
    let Some(output) = in_namespace(fixture.folder.path(), &script) else { return };
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[..2], ["put: Already", "get: hit template relu 1"], "an equal entry needs no write");
    assert!(lines[2].contains("Read-only file system") && lines[2].contains(" | run: ls -ld "), "{output}");
    assert_eq!(lines[3], "get: hit template relu 1", "{output}");
    fs::remove_dir_all(fixture.store.root()).expect("removed");
    let Some(output) = in_namespace(fixture.folder.path(), &script) else { return };
    assert!(output.starts_with("error: store: cannot create "), "{output}");
    assert!(output.lines().nth(1) == Some("get: miss"), "{output}");
}
