//! Kernels for the host that no template wrote, on a system without Landlock: a filter of system calls stands in for one, since what
//! asks the system then gets the answer of an old kernel.

use std::process::Command;

use cutegen_tests::{Ran, run, write};

use super::all;
use super::script::{Library, decided, fenced, lanes};

/// Runs a command as if the system had no Landlock: `landlock_create_ruleset` is not implemented.
const WITHOUT_LANDLOCK: &str = r#"
import ctypes, os, sys

class Rule(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

class Program(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Rule))]

# load the number of the call; of 444 the errno is ENOSYS; all else is allowed
rules = (Rule * 4)(Rule(0x20, 0, 0, 0), Rule(0x15, 0, 1, 444), Rule(0x06, 0, 0, 0x00050026), Rule(0x06, 0, 0, 0x7FFF0000))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0, "no new privileges"
assert libc.prctl(22, 2, ctypes.byref(Program(4, rules)), 0, 0) == 0, "a filter"
os.execv(sys.argv[1], sys.argv[1:])
"#;

/// The same command on such a system.
fn without_landlock(library: &Library, command: &Command) -> Ran {
    let script = library.folder.join("without_landlock.py");
    write(&script, WITHOUT_LANDLOCK);
    let mut wrapped = Command::new("python3");
    wrapped.arg(script).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    run(&mut wrapped)
}

#[test]
fn foreign_kernels_wait_for_a_system_that_confines_them() {
    let library = Library::with("refine-confined", &[fenced(&lanes(8))]);
    // the compiler's answer is in the cache with what confined it then
    assert!(library.command(&["propose", "squares", "--source", "answers/answer-1.md"]).ok);
    let ran = without_landlock(&library, &library.refining_with(&["--set", "warm-start=0"]));
    assert_eq!(decided(&library.log()), ["first", "kernel", "compiled 2"], "{}", all(&ran));
    assert!(all(&ran).contains("runs only where the system has Landlock and seccomp"), "{}", all(&ran));
    // the whole gate asks the system too
    let proposed = library.cutegen(&["propose", "squares", "--source", "answers/answer-1.md"]);
    let ran = without_landlock(&library, &proposed);
    assert!(
        all(&ran).contains("compiled, not judged: a kernel for `host` that no template"),
        "{}",
        all(&ran)
    );
    // where the system has both, the run goes on
    let ran = library.refine();
    assert!(decided(&library.log()).contains(&"right 2".to_owned()), "{}", all(&ran));
}
