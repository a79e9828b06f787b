//! Against the C++ compiler's worker, from within: the compiler is a program of the attacker's. It stands for one that
//! a source has taken over.

use std::process::Command;
use std::time::Duration;

use cutegen_build::compile::{CompileFor, CompileJob, Limits, compile_unguarded};

use crate::bed::{Bed, CANARY, Layer, tight, without};
use crate::{Attack, Came, Side};

const BOTH: &[Layer] = &[Layer::Seccomp, Layer::Namespaces];

/// Names in `attempts.h`, and what stops each.
const TABLE: &[(&str, &[Layer])] = &[
    ("read_secret", &[Layer::Landlock]),
    ("read_environment_of_sibling", &[Layer::Landlock, Layer::Namespaces]),
    ("open_memory_of_sibling", &[Layer::Landlock, Layer::Namespaces]),
    ("write_outside", &[Layer::Landlock]),
    ("cut_a_header", &[Layer::Landlock]),
    ("plant_link", &[Layer::Landlock]),
    ("plant_pipe", &[Layer::Landlock, Layer::Seccomp]),
    ("socket_tcp", &[Layer::Seccomp]),
    ("socket_udp", &[Layer::Seccomp]),
    ("socket_unix", &[Layer::Seccomp]),
    ("socket_netlink", &[Layer::Seccomp]),
    ("ptrace_sibling", &[Layer::Seccomp, Layer::Landlock, Layer::Namespaces]),
    ("read_memory_of_sibling", &[Layer::Seccomp, Layer::Landlock, Layer::Namespaces]),
    ("kill_sibling", &[Layer::Landlock, Layer::Namespaces]),
    ("renice_sibling", BOTH),
    ("starve_sibling", BOTH),
    ("limit_sibling", BOTH),
    ("keep_in_keyring", &[Layer::Seccomp]),
    ("io_uring", &[Layer::Seccomp]),
    ("shared_memory_bomb", &[Layer::Seccomp]),
    ("clone_users", BOTH),
    ("leave_group", BOTH),
    ("fork_bomb", &[Layer::Limits, Layer::Namespaces]),
    ("stay_behind", BOTH),
    ("memory_bomb", &[Layer::Limits]),
    ("disk_bomb", &[Layer::Limits]),
    ("see_environment", &[Layer::Environment]),
];

pub(crate) fn attacks() -> impl Iterator<Item = Attack> {
    TABLE.iter().map(|(name, stopped_by)| Attack {
        name,
        against: "c++ taken over",
        stopped_by,
        run: Box::new(move |bed, side| match side {
            Side::On => tried(bed, name, tight()),
            Side::Off if *stopped_by == [Layer::Environment] => by_itself(bed, name),
            Side::Off => tried(bed, name, without(tight(), stopped_by)),
        }),
    })
}

fn line(bed: &Bed, name: &str) -> String {
    let outside = if name == "cut_a_header" { "headers/cute/own.h" } else { "outside/new" };
    let (secret, outside) = (bed.at("secret"), bed.at(outside));
    format!("// {name} {} {} {}\n", secret.display(), outside.display(), bed.sibling())
}

fn tried(bed: &Bed, name: &str, limits: Limits) -> Came {
    let mut setup = bed.setup(limits);
    setup.toolchain.cxx.as_mut().expect("a compiler").program = bed.at("tool/bin/c++");
    let job = CompileJob {
        source: line(bed, name),
        entries: vec!["k".to_owned()],
        compile_for: CompileFor::Host {
            triple: "x86_64-unknown-linux-gnu".to_owned(),
            level: "x86-64-v3".to_owned(),
        },
    };
    let answer = compile_unguarded(&job, &setup);
    if name == "stay_behind" {
        return Came::of(stays(&format!("behind-{}", bed.sibling())));
    }
    let seen = format!("{answer:?}");
    match answer {
        _ if seen.contains(CANARY) => Came::Through,
        Ok(Ok(raw)) => said(&raw.bytes),
        Ok(Err(_)) | Err(_) => Came::Stopped,
    }
}

/// Without a worker, in this process's own environment.
fn by_itself(bed: &Bed, name: &str) -> Came {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("kernel.cpp"), line(bed, name)).expect("written");
    Command::new(bed.at("tool/bin/c++")).current_dir(folder.path()).status().expect("it runs");
    said(&std::fs::read(folder.path().join("artifact")).unwrap_or_default())
}

fn said(bytes: &[u8]) -> Came {
    match bytes {
        b"through" => Came::Through,
        b"not here" => Came::NotHere,
        _ => Came::Stopped,
    }
}

/// Whether any process has this name once those that were killed had a second to go.
fn stays(name: &str) -> bool {
    (0..10).all(|_| {
        std::thread::sleep(Duration::from_millis(100));
        is_running(name)
    })
}

/// One that was not waited for is none.
fn is_running(name: &str) -> bool {
    let processes = std::fs::read_dir("/proc").expect("/proc").flatten();
    let mut stats = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats.any(|stat| stat.contains(&format!("({name}) ")) && !stat.contains(") Z "))
}
