//! Against a fork of the zygote, from within: the NVRTC that it was given is the attacker's. It stands for one that a
//! source has taken over; the zygote and the forks beside it must be out of its reach.

use std::path::PathBuf;

use cutegen_build::compile::{CompileFor, CompileJob, Limits};

use crate::bed::{Bed, Layer, tight, without};
use crate::place::{HEADERS, Place};
use crate::{Attack, Came, Side};

const BOTH: &[Layer] = &[Layer::Seccomp, Layer::Namespaces];

/// Names in `attempts.h`, and what stops each.
const TABLE: &[(&str, &[Layer])] = &[
    ("read_secret", &[Layer::Landlock]),
    ("write_outside", &[Layer::Landlock]),
    ("write_beside", &[Layer::Landlock]),
    ("write_to_brother", &[Layer::Landlock]),
    ("spoil_headers", &[Layer::Landlock]),
    ("cut_a_header", &[Layer::Landlock]),
    ("plant_link", &[Layer::Landlock]),
    ("open_memory_of_sibling", &[Layer::Landlock, Layer::Namespaces]),
    ("ptrace_sibling", &[Layer::Seccomp, Layer::Landlock, Layer::Namespaces]),
    ("read_memory_of_sibling", &[Layer::Seccomp, Layer::Landlock, Layer::Namespaces]),
    ("kill_sibling", &[Layer::Seccomp, Layer::Landlock, Layer::Namespaces]),
    ("tgkill_sibling", &[Layer::Seccomp, Layer::Landlock, Layer::Namespaces]),
    ("renice_sibling", BOTH),
    ("limit_sibling", BOTH),
    ("socket_tcp", &[Layer::Seccomp]),
    ("socket_unix", &[Layer::Seccomp]),
    ("start_program", &[Layer::Seccomp]),
    ("fork_once", &[Layer::Seccomp]),
    ("leave_group", &[Layer::Seccomp]),
    ("shared_memory_bomb", &[Layer::Seccomp]),
    ("memory_bomb", &[Layer::Limits]),
    ("disk_bomb", &[Layer::Limits]),
];

pub(crate) fn attacks() -> impl Iterator<Item = Attack> {
    TABLE.iter().map(|(name, stopped_by)| Attack {
        name,
        against: "nvrtc taken over, in a fork",
        stopped_by,
        run: Box::new(move |bed, side| match side {
            Side::On => tried(bed, name, tight()),
            Side::Off => tried(bed, name, without(tight(), stopped_by)),
        }),
    })
}

fn tried(bed: &Bed, name: &str, limits: Limits) -> Came {
    let mut setup = bed.setup(limits);
    let nvrtc = setup.toolchain.nvrtc.as_mut().expect("an NVRTC");
    let taken = bed.at("tool/lib/libnvrtc.so");
    nvrtc.linker.as_mut().expect("a linker").library.clone_from(&taken);
    (nvrtc.library, nvrtc.builtins) = (taken.clone(), taken);
    let place = Place::fork(&setup);
    let outside = match name {
        "cut_a_header" => bed.at("headers/cute/own.h"),
        "write_to_brother" => brother(&place).join("planted"),
        _ => bed.at("outside/new"),
    };
    let (secret, outside) = (bed.at("secret"), outside);
    let asked = format!("// {name} {} {} {}", secret.display(), outside.display(), bed.sibling());
    let job = CompileJob {
        source: format!("{HEADERS}{asked}\n"),
        entries: Vec::new(),
        compile_for: CompileFor::Cuda { arch: "sm_90a".to_owned() },
    };
    match place.unguarded(&job).map(|raw| raw.bytes).as_deref() {
        Ok(b"through") => Came::Through,
        Ok(b"not here") => Came::NotHere,
        _ => Came::Stopped,
    }
}

/// The folder that another fork of the same zygote would have.
fn brother(place: &Place) -> PathBuf {
    let Place::Fork(batch) = place else { panic!("attacks here are on forks") };
    let folder = batch.folder().join("brother");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
