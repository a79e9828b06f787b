//! The ways in which all attacks are run: as which user, and whether users may make namespaces. Each is a child of this test.

use std::fmt;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use cutegen_build::toolchain::{Places, locate};

use crate::bed::{Bed, TOKEN};

/// Names the mode of a child.
const MODE: &str = "CUTEGEN_ATTACK_MODE";
/// A user without rights on most systems; any user without privileges does. The one before has the other mode: a bomb of one user takes
/// none of the other's processes.
const UNPRIVILEGED: u32 = 65534;

/// As which user, and with or without user namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    user: User,
    namespaces: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Ordinary,
    Root,
}

const ALL: [Mode; 4] = [
    Mode { user: User::Ordinary, namespaces: true },
    Mode { user: User::Ordinary, namespaces: false },
    Mode { user: User::Root, namespaces: true },
    Mode { user: User::Root, namespaces: false },
];

impl Mode {
    pub(crate) fn of_this_process() -> Option<Mode> {
        let name = std::env::var(MODE).ok()?;
        ALL.into_iter().find(|mode| mode.to_string() == name)
    }

    pub(crate) fn is_root(self) -> bool {
        self.user == User::Root
    }

    /// Whose id it has, if root starts it.
    fn uid(self) -> Option<u32> {
        (!self.is_root()).then_some(UNPRIVILEGED - u32::from(!self.namespaces))
    }

    /// Whether each attack is also tried without what stops it: as the ordinary user that the bar is about.
    pub(crate) fn shows_reality(self) -> bool {
        !self.is_root()
    }

    /// Whether the mode itself leaves nothing of an attack.
    pub(crate) fn lacks(self, attack: &str) -> bool {
        !self.namespaces && attack.ends_with("_users")
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = match self.user {
            User::Ordinary => "user",
            User::Root => "root",
        };
        write!(f, "{user} {} namespaces", if self.namespaces { "with" } else { "without" })
    }
}

/// Runs every mode that this user can take.
pub(crate) fn run_all(filters: &[String]) -> ExitCode {
    if !Places::from_env()
        .is_ok_and(|places| locate(&places).is_ok_and(|t| t.nvrtc.is_some() && t.cxx.is_some()))
    {
        println!("skipped: no toolchain is installed");
        let required = std::env::var_os("CUTEGEN_REQUIRE_TOOLCHAIN").is_some();
        return if required { ExitCode::FAILURE } else { ExitCode::SUCCESS };
    }
    // SAFETY: geteuid has no preconditions
    let is_root = unsafe { libc::geteuid() } == 0;
    let (mine, others): (Vec<Mode>, Vec<Mode>) = ALL.into_iter().partition(|mode| is_root || !mode.is_root());
    let shared = Shared::new(is_root);
    let mut totals = Vec::new();
    let mut failed = 0;
    // side by side, since much of an attack is waiting for a limit; but not as one user, whose processes are counted together
    for pair in mine.chunks(if is_root { 2 } else { 1 }) {
        let children: Vec<Child> = pair.iter().map(|mode| start(*mode, is_root, &shared, filters)).collect();
        for child in children {
            let (passed, said) = end(child);
            println!("{said}");
            failed += u32::from(!passed);
            totals.push(said.lines().last().unwrap_or_default().to_owned());
        }
    }
    println!();
    totals.iter().for_each(|total| println!("{total}"));
    others.iter().for_each(|mode| println!("{mode}: not run, since this user is not root"));
    let verdict = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {} passed; {failed} failed; 0 ignored", mine.len() as u32 - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What an ordinary user must be able to read: this binary and the toolchain, outside of root's folders.
struct Shared {
    folder: tempfile::TempDir,
    exe: PathBuf,
}

impl Shared {
    fn new(is_root: bool) -> Shared {
        let folder =
            tempfile::Builder::new().permissions(Permissions::from_mode(0o755)).tempdir().expect("a folder");
        let mine = std::env::current_exe().expect("this binary");
        if !is_root {
            return Shared { folder, exe: mine };
        }
        let exe = folder.path().join("attacks");
        std::fs::copy(&mine, &exe).expect("copied");
        let home = Places::from_env().expect("places").home;
        let links = |flags| {
            let mut copy = Command::new("cp");
            copy.arg(flags).arg(&home).arg(folder.path().join("home")).stderr(Stdio::null());
            copy.status().expect("cp runs").success()
        };
        assert!(links("-al") || links("-a"), "the toolchain can be copied");
        let shared = Shared { folder, exe };
        for uid in ALL.into_iter().filter_map(Mode::uid) {
            let scratch = shared.scratch(uid);
            std::fs::create_dir(&scratch).expect("a folder");
            std::os::unix::fs::chown(&scratch, Some(uid), Some(UNPRIVILEGED)).expect("root may");
        }
        shared
    }

    fn scratch(&self, uid: u32) -> PathBuf {
        self.at(&format!("scratch-{uid}"))
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn start(mode: Mode, is_root: bool, shared: &Shared, filters: &[String]) -> Child {
    let mut command = Command::new(&shared.exe);
    command.args(filters).env(MODE, mode.to_string()).stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(uid) = mode.uid().filter(|_| is_root) {
        command.uid(uid).gid(UNPRIVILEGED).current_dir("/");
        command
            .env("CUTEGEN_HOME", shared.at("home"))
            .env("TMPDIR", shared.scratch(uid))
            .env("HOME", "/nonexistent");
    }
    if !mode.namespaces {
        // SAFETY: system calls on constants only
        unsafe { command.pre_exec(refuse_namespaces) };
    }
    command.spawn().expect("it starts")
}

/// Whether it found all as it should be, and what it said.
fn end(child: Child) -> (bool, String) {
    let output = child.wait_with_output().expect("it ends");
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// As a system does that lets no user make namespaces.
fn refuse_namespaces() -> io::Result<()> {
    const fn step(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
        libc::sock_filter { code: code as u16, jt, jf, k }
    }
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const IS: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const HAS: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    const ERROR: u32 = libc::SECCOMP_RET_ERRNO;
    static STEPS: [libc::sock_filter; 9] = [
        step(LOAD, 0, 0, 0),
        step(IS, libc::SYS_unshare as u32, 5, 0),
        step(IS, libc::SYS_clone3 as u32, 5, 0),
        step(IS, libc::SYS_clone as u32, 0, 2),
        step(LOAD, 16, 0, 0),
        step(HAS, libc::CLONE_NEWUSER as u32, 1, 0),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
        step(RETURN, ERROR | libc::EPERM as u32, 0, 0),
        step(RETURN, ERROR | libc::ENOSYS as u32, 0, 0),
    ];
    let program = libc::sock_fprog { len: STEPS.len() as u16, filter: STEPS.as_ptr().cast_mut() };
    // SAFETY: integers, and a program that is valid for the call
    let set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            | libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
    };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets what compilers obey, in this process, which is the client of all workers.
pub(crate) fn poison_environment(bed: &Bed) {
    let set = |name: &str, value: &Path| {
        // SAFETY: there is one thread
        unsafe { std::env::set_var(name, value) };
    };
    set("CPATH", &bed.at("by-name"));
    set("DEPENDENCIES_OUTPUT", &bed.at("outside/rules"));
    set(TOKEN, Path::new("set"));
}

/// Another process of the user, which lets itself be traced where only that is missing.
pub(crate) fn sleep_as_sibling() -> ! {
    // SAFETY: integers only
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    loop {
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}
