//! What command and judge say to each other: CBOR items over the judge's stdin and stdout, each question answered by
//! one reply. Candidates and our own compiled references are files; no seed is ever asked for, and no reference leaves.

use std::io::Read;
use std::path::PathBuf;

use cutegen_spec::spec::KernelSpec;
use cutegen_spec::target::Target;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::evaluate::judge::profile::Profiled;
use crate::evaluate::judge::sanitize::{Sanitized, Tool};
use crate::evaluate::wire::protocol::Regime;
use crate::evaluate::{
    Candidate, Comparison, Incumbent, Measured, Outcome, Ran, Unmeasured, UserLaunch, Workers,
};
use crate::search::compiled::DeviceFiles;

/// Levels of an item: the math of a spec nests up to 96 deep, with a few levels for each.
const LEVELS: usize = 2048;

/// Command to judge.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    Start(Box<Start>),
    Screen(Candidate),
    Full(Vec<Candidate>),
    Batch(Batch),
    Run(Box<UserLaunch>),
    Measure {
        candidate: Candidate,
        incumbent: Incumbent,
        axes: Vec<i64>,
        regime: Regime,
    },
    Sanitize {
        candidates: Vec<Candidate>,
        program: PathBuf,
        tools: Vec<Tool>,
    },
    Profile {
        candidate: Candidate,
        axes: Vec<i64>,
        program: PathBuf,
    },
    /// PyTorch will be asked: its worker may start now.
    ExpectPeer,
}

/// What a judge must know before it judges.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) spec: KernelSpec,
    pub(super) target: Target,
    /// How runners are started.
    pub(super) workers: Workers,
    /// The seed that was asked for; the judge draws one otherwise.
    pub(super) seed: Option<u64>,
    /// Links host objects.
    pub(super) linker: Option<PathBuf>,
    /// The compiled reference of the host.
    pub(super) reference: Option<PathBuf>,
    pub(super) device: Option<DeviceFiles>,
    /// Tile extents whose edges are probed.
    pub(super) tiles: Vec<i64>,
    /// The naive kernel, whose errors are what is usual.
    pub(super) baseline: Candidate,
    /// Folders in which the vendor's libraries may lie.
    pub(super) libraries: Vec<PathBuf>,
}

/// What is timed against the batch reference candidate, and at which extents.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Batch {
    pub(super) batch_reference: Candidate,
    pub(super) others: Vec<Candidate>,
    pub(super) axes: Vec<i64>,
    /// Rounds of blocks, at most.
    pub(super) rounds: usize,
}

/// Judge to command.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Response {
    /// It judges; the seed is told for the record, when it is too late to use it.
    Ready {
        seed: u64,
        /// Why the card's state is not read, where there is a card.
        not_watched: Option<String>,
    },
    Judged(Box<Outcome>),
    Ranked(Vec<Result<Comparison, Outcome>>),
    Measured(Box<Result<Measured, Unmeasured>>),
    Ran(Box<Result<Ran, Outcome>>),
    Sanitized(Vec<Sanitized>),
    Profiled(Profiled),
    Expecting,
    /// This machine or this program is at fault.
    Failed(String),
}

/// The next item.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<T, String> {
    ciborium::de::from_reader_with_recursion_limit(from, LEVELS).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Batch, Request, Response, read};
    use crate::evaluate::judge::profile::Profiled;
    use crate::evaluate::timing::peer::Mode;
    use crate::evaluate::wire::protocol::{Regime, ScalarValue};
    use crate::evaluate::{
        Candidate, Distribution, Fault, Incumbent, Outcome, Place, Unmeasured, UserLaunch,
    };

    #[test]
    fn nan_comes_back() {
        let place = Place {
            axes: vec![3],
            distribution: Distribution::Normal,
            tensor: "y".to_owned(),
            index: vec![1],
        };
        let fault =
            Fault::NonFinite { place, found: f64::NAN, expected: f64::INFINITY, spread: Default::default() };
        let mut bytes = Vec::new();
        let told = Response::Judged(Box::new(Outcome::Incorrect(fault)));
        ciborium::into_writer(&told, &mut bytes).expect("written");
        let Ok(Response::Judged(outcome)) = read(&mut bytes.as_slice()) else { panic!("read") };
        let Outcome::Incorrect(Fault::NonFinite { found, expected, .. }) = *outcome else {
            panic!("a fault")
        };
        assert!(found.is_nan() && expected == f64::INFINITY);
    }

    fn candidate() -> Candidate {
        Candidate {
            artifact: "k.o".into(),
            contract: Default::default(),
            eligibility: Default::default(),
            prefer: Default::default(),
            tiles: vec![(0, 96)],
            shared_memory: Some(101_376),
        }
    }

    #[test]
    fn incumbents_and_what_became_of_them_come_back() {
        let torch = Incumbent::Torch("torch.softmax(x, -1)".to_owned(), Mode::Compile);
        for incumbent in [Incumbent::Variant(candidate()), torch, Incumbent::InPeer(candidate())] {
            let (candidate, regime) = (candidate(), Regime::Sustained);
            let ask = Request::Measure { candidate, incumbent: incumbent.clone(), axes: vec![7], regime };
            let mut bytes = Vec::new();
            ciborium::into_writer(&ask, &mut bytes).expect("written");
            let Ok(Request::Measure { incumbent: read, regime, .. }) = read(&mut bytes.as_slice()) else {
                panic!("read")
            };
            assert_eq!((read, regime), (incumbent, Regime::Sustained));
        }
        let absent = Unmeasured::Incumbent("no libcublasLt.so.13".to_owned());
        let mut bytes = Vec::new();
        ciborium::into_writer(&Response::Measured(Box::new(Err(absent.clone()))), &mut bytes)
            .expect("written");
        let Ok(Response::Measured(told)) = read(&mut bytes.as_slice()) else { panic!("read") };
        assert_eq!(*told, Err(absent));
    }

    #[test]
    fn profiles_and_what_they_tell_come_back() {
        let (candidate, program) = (candidate(), "/opt/ncu".into());
        let ask = Request::Profile { candidate, axes: vec![7, -1], program };
        let mut bytes = Vec::new();
        ciborium::into_writer(&ask, &mut bytes).expect("written");
        let Ok(Request::Profile { axes, program, .. }) = read(&mut bytes.as_slice()) else { panic!("read") };
        assert_eq!((axes, program.to_str()), (vec![7, -1], Some("/opt/ncu")));
        let metrics = Profiled::Metrics([("dram-read-mb".to_owned(), 134.2)].into());
        for profiled in [metrics, Profiled::NotRun { reason: "no device".to_owned() }] {
            let mut bytes = Vec::new();
            ciborium::into_writer(&Response::Profiled(profiled.clone()), &mut bytes).expect("written");
            let Ok(Response::Profiled(told)) = read(&mut bytes.as_slice()) else { panic!("read") };
            assert_eq!(told, profiled);
        }
    }

    #[test]
    fn user_launches_come_back() {
        let user_launch = UserLaunch {
            folder: "x".into(),
            axes: vec![3, 5],
            scalars: vec![ScalarValue::F32(0.1_f32.to_bits()), ScalarValue::F64(f64::NAN.to_bits())],
            launches: vec![vec![candidate()], vec![]],
            reference: true,
        };
        let mut bytes = Vec::new();
        ciborium::into_writer(&Request::Run(Box::new(user_launch.clone())), &mut bytes).expect("written");
        let Ok(Request::Run(told)) = read(&mut bytes.as_slice()) else { panic!("read") };
        assert_eq!(
            (told.axes, told.scalars, told.launches),
            (user_launch.axes, user_launch.scalars, user_launch.launches)
        );
    }

    #[test]
    fn items_follow_one_another() {
        let candidate = candidate();
        let mut bytes = Vec::new();
        for axes in [[1, 2], [3, 4]] {
            let (batch_reference, others) = (candidate.clone(), vec![candidate.clone(); 2]);
            let ask = Request::Batch(Batch { batch_reference, others, axes: axes.to_vec(), rounds: 8 });
            ciborium::into_writer(&ask, &mut bytes).expect("written");
        }
        let mut rest = bytes.as_slice();
        for axes in [[1, 2], [3, 4]] {
            let Ok(Request::Batch(batch)) = read(&mut rest) else { panic!("read") };
            assert_eq!((batch.axes, batch.others), (axes.to_vec(), vec![candidate.clone(); 2]));
        }
        assert!(rest.is_empty() && read::<Request>(&mut rest).is_err());
    }
}
