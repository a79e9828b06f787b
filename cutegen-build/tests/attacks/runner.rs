//! Against runners: native code in the host runner, judged as any candidate is, and the same code behind the sandbox layers of a
//! CUDA runner, which need no device.

use std::ffi::{CString, c_char, c_int};
use std::process::{Command, Stdio};

use cutegen_build::evaluate::wire::protocol::Backend;
use cutegen_build::evaluate::{Candidate, Judge, Outcome, VARIABLE, runner};

use crate::bed::{ATTEMPTS, Bed, Layer};
use crate::bench::Bench;
use crate::kernels::GEMM;
use crate::{Attack, Came, Side};

/// A worker of this test's own: a process behind the sandbox layers of a CUDA runner.
pub(crate) const DEVICE: &str = "attack-device";

const HOST: &[&str] = &[
    "read_secret",
    "read_environment_of_sibling",
    "open_memory_of_sibling",
    "write_outside",
    "socket_tcp",
    "socket_udp",
    "socket_unix",
    "socket_netlink",
    "ptrace_sibling",
    "read_memory_of_sibling",
    "kill_sibling",
    "tgkill_sibling",
    "queue_signal_to_sibling",
    "renice_sibling",
    "starve_sibling",
    "limit_sibling",
    "start_program",
    "fork_once",
    "fork_bomb",
    "start_thread",
    "memory_file_bomb",
    "shared_memory_bomb",
    "keep_in_keyring",
    "io_uring",
    "unshare_users",
    "leave_group",
    "outlive_judge",
    "old_gate",
];

const CUDA: &[&str] = &[
    "read_secret",
    "write_outside",
    "socket_tcp",
    "socket_unix",
    "ptrace_sibling",
    "read_memory_of_sibling",
    "tgkill_sibling",
    "start_program",
    "fork_bomb",
    "io_uring",
    "keep_in_keyring",
    "unshare_users",
    "old_gate",
];

pub(crate) fn attacks() -> impl Iterator<Item = Attack> {
    let attack =
        |name: &'static str, against, run| Attack { name, against, stopped_by: &[Layer::Sandbox], run };
    let host = HOST
        .iter()
        .map(move |name| attack(name, "host runner", Box::new(move |bed, side| host(bed, name, side))));
    let cuda = CUDA
        .iter()
        .map(move |name| attack(name, "cuda runner", Box::new(move |bed, side| cuda(bed, name, side))));
    host.chain(cuda).chain([linker()])
}

/// An object that is a linker's script: it takes in a file from elsewhere.
fn linker() -> Attack {
    let run = |bed: &Bed, side| {
        let mut host = bed.host();
        let mut candidate = host.candidate.clone();
        candidate.artifact = bed.at("outside/script.o");
        let script = format!("INPUT(\"{}\")\n", host.candidate.artifact.display());
        std::fs::write(&candidate.artifact, script).expect("written");
        candidate.contract.steps[0].entry = HOST[0].to_owned();
        Came::of(match side {
            Side::On => {
                let outcome = host.walled.screen(&candidate).expect("the machine works");
                let told = outcome.to_string();
                told.contains('/') || !matches!(outcome, Outcome::CompileFailed(_))
            }
            Side::Off => {
                let mut link = Command::new("c++");
                link.args(["-shared", "-o"]).arg(bed.at("outside/script.so")).arg(&candidate.artifact);
                link.status().expect("c++ runs").success()
            }
        })
    };
    let stopped_by = &[Layer::Landlock];
    Attack { name: "script_takes_in_a_file", against: "linker", stopped_by, run: Box::new(run) }
}

/// One object with an entry for each attempt, so that it is compiled once.
pub(crate) struct Host {
    _bench: Bench,
    candidate: Candidate,
    walled: Judge,
    open: Judge,
}

impl Host {
    pub(crate) fn new(bed: &Bed) -> Host {
        let (secret, outside) = (bed.at("secret"), bed.at("outside/new"));
        let sibling = bed.sibling();
        let entry = |name: &&str| {
            format!(
                "extern \"C\" void {name}(void** p) {{
                   static int came = attempt(\"{name}\", {secret:?}, {outside:?}, {sibling});
                   EACH {{ float s = 0; for (int64_t l = 0; l < K; ++l) s += A(l) * B(l); OUT = came == 1 ? s + 1000 : s; }}
                 }}\n"
            )
        };
        let entries: String = HOST.iter().map(entry).collect();
        let source = format!("{ATTEMPTS}{}{entries}", GEMM.arguments);
        let bench = Bench::new(&GEMM);
        let candidate = bench.whole(&source, GEMM.args);
        let layers = |up: bool| bench.judge_with(|settings| settings.workers.limits.sandboxed = up);
        let (walled, open) = (layers(true), layers(false));
        Host { _bench: bench, candidate, walled, open }
    }
}

fn host(bed: &Bed, name: &str, side: Side) -> Came {
    if side == Side::Off && cuda(bed, name, side) == Came::NotHere {
        return Came::NotHere;
    }
    let mut host = bed.host();
    let mut candidate = host.candidate.clone();
    candidate.contract.steps[0].entry = name.to_owned();
    let judge = match side {
        Side::On => &mut host.walled,
        Side::Off => &mut host.open,
    };
    // on a busy machine one may come too late
    let mut outcomes = (0..3).map(|_| judge.screen(&candidate).expect("the machine works"));
    match outcomes.find(|outcome| !matches!(outcome, Outcome::TimedOut(_))).expect("one in three is in time")
    {
        // wrong by 1000: it got through
        Outcome::Incorrect(_) => Came::Through,
        Outcome::Passed { .. } | Outcome::Crashed(_) => Came::Stopped,
        other => panic!("{name}: {other:?}"),
    }
}

fn cuda(bed: &Bed, name: &str, side: Side) -> Came {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.env(VARIABLE, DEVICE).arg(name).arg(format!("{}", side == Side::On));
    command
        .args([bed.at("candidates"), bed.at("secret"), bed.at("outside/new")])
        .arg(bed.sibling().to_string());
    let status = command.stdin(Stdio::null()).status().expect("it runs");
    match status.code() {
        Some(11) => Came::Through,
        Some(10) => Came::Stopped,
        Some(9) => Came::NotHere,
        other => panic!("{name}: {other:?}"),
    }
}

/// The body of [`DEVICE`]: raises the sandbox layers, then loads and calls the attempt. Ends with 10 and what it said.
pub(crate) fn device() -> i32 {
    type Attempt = unsafe extern "C" fn(*const c_char, *const c_char, *const c_char, c_int) -> c_int;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, layers, candidates, secret, outside, sibling] = arguments.as_slice() else { return 1 };
    // SAFETY: integers only
    unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    let open = runner::sandbox::raise(Backend::Cuda, layers == "true", candidates.as_ref());
    if layers == "true" && open.iter().any(|what| what.contains("(no ")) {
        return 2;
    }
    let [name, secret, outside] =
        [name, secret, outside].map(|text| CString::new(text.as_str()).expect("no zero"));
    let sibling: c_int = sibling.parse().expect("a number");
    // SAFETY: our own library, and its function's type
    unsafe {
        let library =
            libloading::Library::new(format!("{candidates}/attack.so")).expect("candidates are readable");
        let attempt = library.get::<Attempt>(b"attack").expect("it is there");
        10 + attempt(name.as_ptr(), secret.as_ptr(), outside.as_ptr(), sibling)
    }
}
