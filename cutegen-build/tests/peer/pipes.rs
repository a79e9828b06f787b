//! What the judge says when a worker lacks something, dies, hangs or talks nonsense.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cutegen_build::evaluate::timing::peer::{Device, Peer, Python, Starting, Stopped};

use crate::Test;
use crate::bench::{Bench, PATIENCE, planted, python};

pub(crate) const TESTS: &[Test] = &[
    ("pipes::a_missing_python_is_told", a_missing_python_is_told),
    ("pipes::a_missing_torch_is_told", a_missing_torch_is_told),
    ("pipes::a_broken_torch_is_told", a_broken_torch_is_told),
    ("pipes::torch_is_imported_ahead", torch_is_imported_ahead),
    ("pipes::a_worker_that_ends_is_told", a_worker_that_ends_is_told),
    (
        "pipes::a_worker_that_hangs_is_killed_with_its_children",
        a_worker_that_hangs_is_killed_with_its_children,
    ),
    ("pipes::a_worker_ends_with_its_starter", a_worker_ends_with_its_starter),
    ("pipes::nonsense_is_told", nonsense_is_told),
    ("pipes::only_expressions_over_tensors_are_run", only_expressions_over_tensors_are_run),
    ("pipes::what_is_called_may_import", what_is_called_may_import),
    ("pipes::endless_lines_are_nonsense", endless_lines_are_nonsense),
];

pub(crate) const TORCH_TESTS: &[Test] = &[
    (
        "pipes::an_expression_that_fails_leaves_the_worker_alive",
        an_expression_that_fails_leaves_the_worker_alive,
    ),
    ("pipes::an_expression_that_kills_or_hangs_is_told", an_expression_that_kills_or_hangs_is_told),
    ("pipes::cpu_torch_has_no_cuda", cpu_torch_has_no_cuda),
];

/// The folder that a second process of this test is given.
pub(crate) const STARTER: &str = "CUTEGEN_TEST_PEER_STARTER";
const SHORT: Duration = Duration::from_secs(20);

fn start(python: &Python, device: Device, deadline: Duration) -> Stopped {
    Peer::start_within(python, device, deadline).map(|_| ()).expect_err("it cannot start")
}

fn a_missing_python_is_told() {
    let missing = Python { command: "no-such-python".into(), env: Vec::new() };
    let said = start(&missing, Device::Cpu, SHORT).to_string();
    assert!(said.starts_with("not run: no no-such-python"), "{said}");
}

fn a_missing_torch_is_told() {
    let mut bare = python();
    bare.env.push(("PYTHONHASHSEED".into(), "0".into()));
    // without site packages there is no torch anywhere
    let wrapper = tempfile::tempdir().expect("a folder");
    let script = wrapper.path().join("python");
    let text = format!("#!/bin/sh\nexec {} -I -S \"$@\"\n", bare.command.display());
    std::fs::write(&script, text).expect("written");
    executable(&script);
    bare.command = script;
    assert_eq!(start(&bare, Device::Cpu, SHORT).to_string(), "not run: no torch");
}

fn executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

fn a_broken_torch_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let broken = planted("print('chatter')\nraise OSError('libfoo.so.1 is missing')", &folder);
    let said = start(&broken, Device::Cpu, SHORT).to_string();
    assert_eq!(said, "not run: torch cannot be imported: libfoo.so.1 is missing");
}

/// Before it is asked for anything; what is wrong with it is told when it is.
fn torch_is_imported_ahead() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "import os\n\
                open(os.path.join(os.path.dirname(__file__), 'imported'), 'w').close()\n\
                raise OSError('half of it is missing')";
    let starting = Starting::begin(&planted(text, &folder)).expect("it starts");
    let (imported, began) = (folder.path().join("imported"), Instant::now());
    while !imported.exists() {
        assert!(began.elapsed() < SHORT, "nothing was imported");
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = starting.ready(Device::Cpu).expect_err("torch is broken").to_string();
    assert_eq!(said, "not run: torch cannot be imported: half of it is missing");
}

fn a_worker_that_ends_is_told() {
    for (text, how) in
        [("import os\nos._exit(7)", "exit status: 7"), ("import os\nos.kill(os.getpid(), 11)", "signal: 11")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        match start(&planted(text, &folder), Device::Cpu, SHORT) {
            Stopped::Died(said) => assert!(said.contains(how), "{said}"),
            other => panic!("{other}"),
        }
    }
}

/// A `torch` that hangs when it is imported, beside a child of its own.
const HANGS: &str = "import os, subprocess, sys, time\n\
                     child = subprocess.Popen(['sleep', '300'])\n\
                     path = os.path.join(os.path.dirname(__file__), 'pids')\n\
                     open(path + '.part', 'w').write(f'{os.getpid()} {child.pid}')\n\
                     os.rename(path + '.part', path)\n\
                     time.sleep(300)";

/// Of the worker and its child, those that live.
fn alive(folder: &Path) -> Vec<String> {
    let pids = std::fs::read_to_string(folder.join("pids")).expect("it came so far");
    let lives = |pid: &&str| {
        let state = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state =
            state.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).unwrap_or("gone");
        !["gone", "Z", "X"].contains(&state)
    };
    pids.split_whitespace().filter(lives).map(str::to_owned).collect()
}

fn a_worker_that_hangs_is_killed_with_its_children() {
    let folder = tempfile::tempdir().expect("a folder");
    let began = Instant::now();
    let deadline = Duration::from_secs(3);
    assert_eq!(start(&planted(HANGS, &folder), Device::Cpu, deadline), Stopped::Late(deadline));
    assert!(began.elapsed() < Duration::from_secs(15));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(alive(folder.path()), Vec::<String>::new());
}

/// What a second process of this test does: it starts a worker, and waits for it.
pub(crate) fn starter(folder: &Path) {
    let mut python = python();
    python.env.push(("PYTHONPATH".into(), folder.into()));
    let _ = Peer::start_within(&python, Device::Cpu, Duration::from_secs(300));
}

/// A starter that is killed cannot end its worker, which may be at something long on the device.
fn a_worker_ends_with_its_starter() {
    let folder = tempfile::tempdir().expect("a folder");
    let _ = planted(HANGS, &folder);
    let this = std::env::current_exe().expect("a path");
    let mut starter = Command::new(this).env(STARTER, folder.path()).spawn().expect("it starts");
    wait_until(|| folder.path().join("pids").exists());
    assert_eq!(alive(folder.path()).len(), 2);
    starter.kill().expect("killed");
    starter.wait().expect("reaped");
    wait_until(|| alive(folder.path()).is_empty());
}

fn wait_until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < SHORT, "it takes too long");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Expressions as specs have them, and texts that would do something else.
const MATH: [&str; 6] = [
    "torch.nn.functional.gelu(x @ w.T, approximate='tanh') * -x[:, None]",
    "(lambda s: (s, torch.nn.functional.rms_norm(s, (4096,), w, 1e-5)))(x + eps)",
    "(lambda a: (a / a.abs().amax(-1)).to(torch.float8_e4m3fn))(x.float())",
    "torch._scaled_mm(x, w.T, eps, eps, out_dtype=torch.bfloat16)",
    "torch.where(x > 0, x, w) if len(x.shape) == 2 else x",
    "x.flip(-1).cumsum(-1).flip(-1)",
];
const NO_MATH: [&str; 20] = [
    "__import__('os').system('true')",
    "x.__class__.__mro__",
    "(lambda: 1).__globals__",
    "torch.os.system('true')",
    "torch.load('x')",
    "torch.nn.functional.torch.load('x')",
    "torch.functional.sys.modules",
    "torch.utils.cpp_extension.load('x')",
    "torch._C.x",
    "torch.relu.func_globals.x",
    "(lambda torch: torch.load)(x)",
    "torch",
    "torch.nn.functional",
    "open('f')",
    "getattr(x, 'y')",
    "x.numpy()",
    "f'{x}'",
    "[y for y in x]",
    "(y := x)",
    "x\nimport os",
];

/// The text is held against a list before anything of it is run, by the worker's own functions.
fn only_expressions_over_tensors_are_run() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/evaluate/timing/peer");
    let ask = "import json, sys, worker\n\
               def said(text):\n    try:\n        worker.allowed(text, ['x', 'w', 'eps'])\n\
               \x20   except worker.Refused:\n        return False\n    return True\n\
               print(json.dumps([said(text) for text in json.loads(sys.argv[1])]))";
    let texts = [&MATH[..], &NO_MATH].concat();
    let mut asked = std::process::Command::new(python().command);
    asked
        .args(["-B", "-c", ask])
        .arg(serde_json::to_string(&texts).expect("texts"))
        .env("PYTHONPATH", folder);
    let answer = asked.output().expect("python runs");
    let ran: Vec<bool> = serde_json::from_slice(&answer.stdout).expect("an answer for each");
    for (at, (text, ran)) in texts.iter().zip(&ran).enumerate() {
        assert_eq!(*ran, at < MATH.len(), "{text}");
    }
    assert_eq!(ran.len(), texts.len());
}

/// What a library does in C it does by the names of the frame that calls it: `time.strptime` stands for a function of torch.
fn what_is_called_may_import() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/evaluate/timing/peer");
    let ask = "import sys, time, types, worker\n\
               sys.modules.pop('_strptime', None)\n\
               torch = types.SimpleNamespace(where=time.strptime)\n\
               called = worker.function(torch, \"torch.where(x, '%d')\", ['x'], {}, 'eager')\n\
               print(called('3').tm_mday)";
    let mut asked = Command::new(python().command);
    let answer = asked.args(["-B", "-c", ask]).env("PYTHONPATH", folder).output().expect("python runs");
    let said = String::from_utf8_lossy(&answer.stderr);
    assert_eq!(String::from_utf8_lossy(&answer.stdout), "3\n", "{said}");
}

/// The descriptor of the worker's replies is the first one free: 3.
fn nonsense_is_told() {
    for text in ["b'{}\\n'", "b'hello\\n'", "b'{\"block\": {\"ns\": -1}}\\n'", "bytes([255, 10])"] {
        let folder = tempfile::tempdir().expect("a folder");
        let planted = planted(&format!("import os, time\nos.write(3, {text})\ntime.sleep(60)"), &folder);
        match start(&planted, Device::Cpu, SHORT) {
            Stopped::Garbled(_) => {}
            other => panic!("{text}: {other}"),
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let other = "import os, time\nos.write(3, b'{\"block\": {\"ns\": 1}}\\n')\ntime.sleep(60)";
    let said = start(&planted(other, &folder), Device::Cpu, SHORT).to_string();
    assert!(said.contains("nonsense") && said.contains("Block"), "{said}");
}

fn endless_lines_are_nonsense() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "import os\nwhile True:\n    os.write(3, b'x' * 65536)";
    match start(&planted(text, &folder), Device::Cpu, SHORT) {
        Stopped::Garbled(_) => {}
        other => panic!("{other}"),
    }
}

const SCALE: &str = "axes = { m = 4, n = 6 }\ninputs = { x = 'f32[m, n]' }\noutputs = { y = 'f32[m, n]' }\n\
                     math = 'y[m, n] = 2 * x[m, n]'\n";

fn an_expression_that_fails_leaves_the_worker_alive() {
    let mut bench = Bench::new(SCALE);
    for (expression, said) in [
        ("x +", "SyntaxError"),
        ("nothing * 2", "NameError: name 'nothing' is not defined"),
        ("x @ x", "RuntimeError"),
        ("3", "something else than tensors"),
        ("x * 2,\n    import os", "SyntaxError"),
    ] {
        match bench.peer.prepare(&bench.prepare(expression), PATIENCE) {
            Err(Stopped::Refused(reason)) => assert!(reason.contains(said), "{expression}: {reason}"),
            other => panic!("{expression}: {other:?}"),
        }
        assert_eq!(bench.peer.time(), Err(Stopped::Refused("nothing is prepared".to_owned())));
    }
    bench.peer.prepare(&bench.prepare("print('chatter') or x * 2"), PATIENCE).expect("it goes on");
    assert!(bench.peer.time().expect("a time") > 0);
}

fn an_expression_that_kills_or_hangs_is_told() {
    let mut bench = Bench::new(SCALE);
    match bench.peer.prepare(&bench.prepare("__import__('os')._exit(9)"), PATIENCE) {
        Err(Stopped::Died(how)) => assert!(how.contains("exit status: 9"), "{how}"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(bench.peer.time(), Err(Stopped::Died(_))), "it stays dead");
    let mut bench = Bench::new(SCALE);
    let deadline = Duration::from_secs(2);
    let hangs = bench.prepare("__import__('time').sleep(60)");
    assert_eq!(bench.peer.prepare(&hangs, deadline).map(|_| ()), Err(Stopped::Late(deadline)));
}

fn cpu_torch_has_no_cuda() {
    if let Err(Stopped::NotRun(said)) = Peer::start_within(&python(), Device::Cuda, PATIENCE).map(|_| ()) {
        assert!(said.contains("has no CUDA device"), "{said}");
        return;
    }
    let peer = Peer::start_within(&python(), Device::Cuda, PATIENCE).expect("there is a device");
    assert!(peer.ready().l2_bytes > 0 && peer.ready().sm_count > 0, "{:?}", peer.ready());
}
