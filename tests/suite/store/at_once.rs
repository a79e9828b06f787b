//! Several commands on one lock and store: none loses what another pinned, a reader beside them sees a lock and a store
//! that belong together, and one that is killed at any moment costs the others nothing. As often as `CUTEGEN_STRESS` says.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Instant;

use cutegen_tests::store_sample::noise;
use cutegen_tests::stress;

use super::package::{Files, Package};
use super::remains;

fn start(package: &Package, args: &[&str]) -> Child {
    package.command(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts")
}

fn ends(child: Child, case: &str) {
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
}

fn locked(package: &Package) -> Vec<String> {
    package.lock().kernels.iter().map(|kernel| kernel.name.clone()).collect()
}

/// After both, all is locked, and fits the store.
fn pairs(name: &str, before: &Files, commands: [&[&str]; 2], expected: &[&str]) {
    for round in 0..stress() {
        let package = Package::of(before);
        let case = format!("{name}, round {round} of {}", stress());
        commands.map(|args| start(&package, args)).into_iter().for_each(|child| ends(child, &case));
        assert_eq!(locked(&package), expected, "{case}");
        let kernels: Vec<&str> = ["check"].into_iter().chain(expected.iter().copied()).collect();
        let checked = package.run(&kernels);
        assert!(checked.ok, "{case}: {}", checked.stderr);
        assert!(remains(&package.path("cache")).is_empty(), "{case}");
    }
}

#[test]
fn accepts_of_two_kernels() {
    let before = Package::new().files();
    let [one, other] = [["accept", "--results", "@silu.tgz"], ["accept", "--results", "@norm.tgz"]];
    pairs("two accepts", &before, [&one, &other], &["silu_mul", "twin", "z_norm"]);
}

#[test]
fn accepts_of_other_bytes_for_one_kernel() {
    let before = Package::new().files();
    let [one, other] = ["@tuned.tgz", "@naive.tgz"].map(|file| ["accept", "silu_mul", "--results", file]);
    pairs("accepts of other bytes", &before, [&one, &other], &["silu_mul"]);
}

/// `lock` drops a kernel, and pins `twin`, while another one is accepted.
#[test]
fn lock_beside_accept() {
    let package = Package::new();
    package.done(&["accept", "silu_mul", "--results", "@silu.tgz"]);
    let [one, other] = [&["lock", "twin"][..], &["accept", "--results", "@norm.tgz"]];
    pairs("lock beside accept", &package.files(), [one, other], &["silu_mul", "twin", "z_norm"]);
}

#[test]
fn check_beside_accepts_of_other_bytes() {
    let package = Package::new();
    package.done(&["accept", "silu_mul", "--results", "@tuned.tgz"]);
    let answers = ["@naive.tgz", "@tuned.tgz"];
    let mut seen = BTreeSet::new();
    for round in 0..stress() {
        let mut accept = start(&package, &["accept", "silu_mul", "--results", answers[round % 2]]);
        while accept.try_wait().expect("asked").is_none() {
            let checked = package.run(&["check", "silu_mul"]);
            assert!(checked.ok, "round {round}: {}", checked.stderr);
            seen.insert(checked.stdout.contains("untuned"));
        }
        ends(accept, "accept");
    }
    assert_eq!(seen.len(), 2, "both answers were seen");
}

/// Kills that come at random; every few of them together with another command.
#[test]
fn random_kills_lose_nothing() {
    let package = Package::new();
    package.done(&["accept", "silu_mul", "--results", "@naive.tgz"]);
    let before = package.files();
    let args: &[&str] = &["accept", "--results", "@tuned.tgz"];
    let started = Instant::now();
    package.done(args);
    let mut whole = started.elapsed();
    let after = package.cache();
    let delays = noise(23, 2 * stress());
    let mut killed = 0;
    for round in 0..stress() {
        let package = Package::of(&before);
        let beside = (round % 4 == 0).then(|| start(&package, &["accept", "--results", "@norm.tgz"]));
        let mut child = start(&package, args);
        let moment = u16::from_le_bytes([delays[2 * round], delays[2 * round + 1]]);
        let delay = whole * u32::from(moment) / (1 << 16); // evenly over what the last whole accept took here
        thread::sleep(delay);
        let _ended = child.kill();
        killed += usize::from(child.wait().expect("ends").signal() == Some(9));
        let case = format!("round {round} of {}, after {delay:?}", stress());
        beside.into_iter().for_each(|child| ends(child, &case));
        for key in package.store().keys().expect("listed") {
            assert!(package.store().get_full(&key).hit().is_some(), "{case}: {key}");
        }
        assert!(locked(&package).contains(&"silu_mul".to_owned()), "{case}");
        let started = Instant::now();
        let ran = package.run(args);
        whole = started.elapsed();
        assert!(ran.ok, "{case}, again: {}", ran.stderr);
        assert!(package.cache() == after, "{case}: another end");
    }
    assert!(killed * 3 > stress(), "only {killed} of {} were killed", stress());
    println!("{killed} of {} killed", stress());
}

/// What a killed write of the lock left beside a package's manifest goes with the next one, although the number in its name
/// is that of a living process.
#[test]
fn remains_beside_the_lock_are_swept() {
    let package = Package::new();
    for folder in ["cache/.cutegen-tmp-1-1", "cache/v1/ab/.cutegen-tmp-1-2"] {
        std::fs::create_dir_all(package.path(folder)).expect("made");
        std::fs::write(package.path(folder).join("file"), "half").expect("written");
    }
    package.done(&["accept", "--results", "@silu.tgz"]);
    assert!(remains(&package.path("cache")).is_empty(), "{:?}", remains(&package.path("cache")));
}
