//! Attacks on the compiler's worker and on runners: by a source's text, by a compiler that a source has taken over, and
//! by native code in a runner. Each is tried with every layer up, where it must fail; and, as an ordinary user, without the
//! layer that is said to stop it, where it must succeed, or it would show nothing.
//!
//! All of it runs in up to four ways: as an ordinary user and as root, with user namespaces and without. Root becomes
//! an ordinary user for that; an ordinary user cannot become root, and says so. This binary is its own worker.

mod bed;
#[path = "../evaluate/bench.rs"]
#[expect(dead_code, reason = "the session of another test; half of it is needed here")]
mod bench;
#[path = "../evaluate/bodies.rs"]
mod bodies;
mod fork;
#[path = "../evaluate/kernels.rs"]
#[expect(dead_code, reason = "the kernels of another test; one is needed here")]
mod kernels;
mod modes;
mod place;
mod runner;
mod source;
mod tool;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use cutegen_build::compile::{WORKER_KIND, ZYGOTE_KIND, worker_main, zygote_main};
use cutegen_build::evaluate::{RUN, VARIABLE};

use bed::{Bed, Layer, SIBLING};
use modes::Mode;

/// One thing to try.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) against: &'static str,
    pub(crate) stopped_by: &'static [Layer],
    pub(crate) run: Run,
}

type Run = Box<dyn Fn(&Bed, Side) -> Came>;

/// With every layer, or without those that stop the attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    On,
    Off,
}

/// What came of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    Through,
    Stopped,
    /// The system itself has no such thing.
    NotHere,
}

impl Came {
    pub(crate) fn of(through: bool) -> Came {
        if through { Came::Through } else { Came::Stopped }
    }
}

/// As root, that get through: the limit on processes does not bind root, and a compiler must start some.
const OPEN_TO_ROOT: &[(&str, &str)] = &[("c++ taken over", "fork_bomb")];

fn main() -> ExitCode {
    match std::env::var(VARIABLE).as_deref() {
        Ok(WORKER_KIND) => worker_main(),
        Ok(ZYGOTE_KIND) => zygote_main(),
        Ok(RUN) => std::process::exit(cutegen_build::evaluate::runner::main()),
        Ok(SIBLING) => modes::sleep_as_sibling(),
        Ok(runner::DEVICE) => std::process::exit(runner::device()),
        Ok(_) | Err(_) => {}
    }
    let filters: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if std::env::args().any(|argument| argument == "--list") {
        println!("attacks: test");
        return ExitCode::SUCCESS;
    }
    match Mode::of_this_process() {
        Some(mode) => attack_all(mode, &filters),
        None => modes::run_all(&filters),
    }
}

/// Tries every attack here; the last line is the total.
fn attack_all(mode: Mode, filters: &[String]) -> ExitCode {
    let start = Instant::now();
    let bed = Bed::new();
    modes::poison_environment(&bed);
    let compilers = source::attacks().into_iter().chain(tool::attacks()).chain(fork::attacks());
    let all = compilers.chain(runner::attacks());
    let is_wanted = |attack: &Attack| {
        let title = format!("{}/{}", attack.against, attack.name);
        filters.is_empty() || filters.iter().any(|filter| title.contains(filter))
    };
    let (mut tried, mut succeeded, mut wrong) = (0, 0, 0);
    for attack in all.filter(is_wanted) {
        // first with sandbox layers: without them, some leave traces for a while
        let on = (attack.run)(&bed, Side::On);
        let off = match mode.shows_reality() {
            true if mode.lacks(attack.name) => Came::NotHere,
            true => without_its_layer(&attack, &bed),
            false => Came::Through,
        };
        println!("{}", told(mode, &attack, on, off));
        match (off, on) {
            (Came::NotHere, _) | (_, Came::NotHere) => {}
            (Came::Stopped, _) => wrong += 1,
            (Came::Through, Came::Stopped) => tried += 1,
            (Came::Through, Came::Through) => {
                (tried, succeeded) = (tried + 1, succeeded + 1);
                let known = OPEN_TO_ROOT.contains(&(attack.against, attack.name)) && mode.is_root();
                wrong += u32::from(!known);
            }
        }
    }
    println!("{mode}: {succeeded} of {tried} succeeded ({:.0} s)", start.elapsed().as_secs_f32());
    if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What came of it without its layer. What earlier bombs left of a user's quotas comes back within seconds, and
/// only one of all tries has to get through.
fn without_its_layer(attack: &Attack, bed: &Bed) -> Came {
    for pause in [0, 1, 4, 10] {
        std::thread::sleep(Duration::from_secs(pause));
        let came = (attack.run)(bed, Side::Off);
        if came != Came::Stopped {
            return came;
        }
    }
    Came::Stopped
}

fn told(mode: Mode, attack: &Attack, on: Came, off: Came) -> String {
    let came = match (off, on) {
        (Came::NotHere, _) | (_, Came::NotHere) => "not on this system".to_owned(),
        (Came::Stopped, _) => "PROVES NOTHING: stopped without the layer too".to_owned(),
        (Came::Through, Came::Stopped) => "stopped".to_owned(),
        (Came::Through, Came::Through) => "SUCCEEDED".to_owned(),
    };
    format!("  {mode}: {}, {}: {came}, by {:?}", attack.against, attack.name, attack.stopped_by)
}
