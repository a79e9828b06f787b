//! The judge process: reads what it is asked, judges, and replies. It compiles nothing, writes no store and loads no
//! candidate.

use std::io::{BufReader, Write as _};
use std::rc::Rc;

use super::wire::{self, Batch, Request, Response, Start};
use crate::env;
use crate::evaluate::timing::peer::Python;
use crate::evaluate::{
    Baseline, Error, Floor, Judge, Linker, OnDevice, Question, Sampling, Settings, Terms, die_with_parent,
};
use crate::plan::sample::Sample;
use crate::plan::sums::{exact_integers, only_sums};
use crate::plan::{Plan, cost, roofline};
use crate::print;

/// What a peer's interpreter inherits.
const PYTHON_KEEPS: [&str; 9] = [
    "PATH",
    "HOME",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_HOME",
    "CC",
    "TORCHINDUCTOR_CACHE_DIR",
];

/// The body of a judge process: serves questions until its input closes. Call it before anything else when the worker
/// variable says `judge`.
#[must_use]
pub(crate) fn main() -> i32 {
    match serve() {
        Ok(()) => 0,
        Err(_) => 70,
    }
}

fn serve() -> Result<(), String> {
    die_with_parent()?;
    let mut requests = BufReader::new(std::io::stdin().lock());
    let Request::Start(start) = wire::read(&mut requests)? else { return Err("no start".to_owned()) };
    let seed = start.seed.unwrap_or_else(fresh_seed);
    let mut judge = match open(*start, seed) {
        Ok(judge) => {
            tell(&Response::Ready { seed, not_watched: judge.not_watched() })?;
            judge
        }
        Err(error) => return tell(&Response::Failed(error.to_string())),
    };
    // at the end of input the command is gone
    while let Ok(ask) = wire::read(&mut requests) {
        tell(&answer(&mut judge, ask).unwrap_or_else(|error| Response::Failed(error.to_string())))?;
    }
    Ok(())
}

fn tell(tell: &Response) -> Result<(), String> {
    let mut bytes = Vec::new();
    ciborium::into_writer(tell, &mut bytes).map_err(|error| error.to_string())?;
    let mut replies = std::io::stdout().lock();
    replies.write_all(&bytes).and_then(|()| replies.flush()).map_err(|error| error.to_string())
}

fn answer(judge: &mut Judge, ask: Request) -> Result<Response, Error> {
    Ok(match ask {
        Request::Start(_) => Response::Failed("a second start".to_owned()),
        Request::Screen(candidate) => Response::Judged(Box::new(judge.screen(&candidate)?)),
        Request::Full(variants) => Response::Judged(Box::new(judge.full(&variants)?)),
        Request::Batch(Batch { batch_reference, others, axes, rounds }) => {
            Response::Ranked(judge.batch(&batch_reference, &others, &axes, rounds)?)
        }
        Request::Measure { candidate, incumbent, axes, regime } => {
            Response::Measured(Box::new(judge.measure(&candidate, &incumbent, &axes, regime)?))
        }
        Request::ExpectPeer => {
            judge.expect_peer();
            Response::Expecting
        }
        Request::Run(user_launch) => Response::Ran(Box::new(judge.run(&user_launch)?)),
        Request::Sanitize { candidates, program, tools } => {
            Response::Sanitized(judge.sanitize(&candidates, &program, &tools)?)
        }
        Request::Profile { candidate, axes, program } => {
            Response::Profiled(judge.profile(&candidate, &axes, &program)?)
        }
    })
}

/// A session for what the command wants judged.
fn open(start: Start, seed: u64) -> Result<Judge, Error> {
    let plan = Plan::new(&start.spec, &start.target);
    let judged = plan.clone();
    let price = move |axes: &[i64]| cost::judging(&judged, axes);
    let question = Question {
        spec: plan.spec.clone(),
        reference: start.reference.unwrap_or_default(),
        exact_integers: exact_integers(&plan),
        cost: Box::new(price),
        tiles: start.tiles,
        scalar: None,
    };
    let mut settings = Settings::new(start.workers, seed);
    settings.baseline = Some(Baseline { candidate: start.baseline, only_sums: only_sums(&plan) });
    settings.linker = Linker(start.linker.unwrap_or_default());
    settings.device = start.device.map(|files| {
        let printed = || print::reference::print_cuda(&plan);
        let reference = files.reference.and_then(|cubin| Some((cubin, printed()?)));
        let total = plan.clone();
        let totals = cost::has_total(&plan).then(|| Terms(Rc::new(move |axes| cost::total(&total, axes))));
        OnDevice { kernels: files.kernels, reference, totals }
    });
    settings.sampling = sampling(&plan);
    settings.smaller = plan.target.smaller_shared_memory();
    settings.libraries = start.libraries;
    settings.python = Some(python());
    settings.floor = roofline::floor(&plan).map(|floor| Floor(Rc::from(floor)));
    if plan.target.is_host() && arithmetic_bound(&plan) {
        (settings.rotation_bytes, settings.pairs) = (0, 12);
    }
    Judge::new(question, settings)
}

/// What references cost that compute a sample, where the math allows one.
fn sampling(plan: &Plan) -> Option<Sampling> {
    let sample = Sample::of(&plan.spec, &plan.schedule)?;
    let plan = plan.clone();
    let price = move |axes: &[i64], share| cost::judging_sample(&plan, &sample, axes, share);
    Some(Sampling(Rc::new(price)))
}

/// The interpreter that is found first, with what it needs to find PyTorch, a compiler and the device.
fn python() -> Python {
    let kept = PYTHON_KEEPS.iter().filter_map(|name| Some(((*name).into(), env::variable_os(name)?)));
    Python { command: "python3".into(), env: kept.collect() }
}

/// A seed that no candidate can have been made for; it is recorded.
fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher as _, RandomState};
    RandomState::new().hash_one("cutegen seed")
}

/// Whether a workload takes a CPU core so long that cold caches do not matter and blocks are dear.
fn arithmetic_bound(plan: &Plan) -> bool {
    let extents = plan.spec.workloads.iter().filter_map(|w| plan.spec.bind(&w.axes).ok());
    extents.map(|axes| cost::cost(&plan.spec, &plan.schedule, &axes).flops).any(|flops| flops > 1e8)
}
