//! Two processes and one device: the one that times has it alone, and one that dies gives it up.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use cutegen_build::evaluate::{Lease, VARIABLE};

use crate::Test;

/// What makes this binary a process that times.
pub(crate) const HOLD: &str = "hold-lease";
const FOLDER: &str = "CUTEGEN_LEASE_FOLDER";
const KEY: &str = "a plain key";

pub(crate) const TESTS: &[Test] = &[("lease::two_processes", two_processes)];

/// The other process: says that it has the device, and keeps it until its input ends.
pub(crate) fn hold() {
    let folder = std::env::var_os(FOLDER).expect("named");
    let _held = Lease::named(folder.as_ref(), KEY).alone();
    println!("held");
    let _ = std::io::stdin().lines().count();
}

fn start(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.env(VARIABLE, HOLD).env(FOLDER, folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().expect("starts")
}

fn has_it(child: &mut Child) -> mpsc::Receiver<String> {
    let (said, hears) = mpsc::channel();
    let output = child.stdout.take().expect("piped");
    std::thread::spawn(move || {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).expect("read");
        let _ = said.send(line); // a test that has failed does not listen
    });
    hears
}

fn two_processes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (soon, late) = (Duration::from_millis(300), Duration::from_secs(20));
    let mine = Lease::named(folder.path(), KEY).shared();
    let mut other = start(folder.path());
    let other_has_it = has_it(&mut other);
    assert!(other_has_it.recv_timeout(soon).is_err(), "it is judged on here");
    drop(mine);
    assert_eq!(other_has_it.recv_timeout(late).as_deref(), Ok("held\n"));
    let mut third = start(folder.path());
    let third_has_it = has_it(&mut third);
    assert!(third_has_it.recv_timeout(soon).is_err(), "the other one times");
    other.kill().expect("killed");
    other.wait().expect("ends");
    assert_eq!(third_has_it.recv_timeout(late).as_deref(), Ok("held\n"), "the dead hold nothing");
    drop(third.stdin.take());
    assert!(third.wait().expect("ends").success());
}
