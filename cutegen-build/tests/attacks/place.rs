//! Where an attacker's source is compiled: by a worker of its own, or in a fork of a zygote that has forked before.

use std::time::{Duration, Instant};

use cutegen_build::compile::{
    Batch, CompileFailure, CompileFor, CompileJob, CompileOutcome, CompileSetup, Error, RawArtifact, compile,
    compile_in, compile_unguarded, compile_unguarded_in,
};

/// Headers that a zygote has read; sources for its forks begin with them.
pub(crate) const HEADERS: &str = "#include <cuda_fp16.h>\n";

pub(crate) enum Place {
    Alone(CompileSetup),
    Fork(Batch),
}

impl Place {
    /// A zygote that has compiled: what comes is not measured together with its start.
    pub(crate) fn fork(setup: &CompileSetup) -> Place {
        let batch = Batch::start(setup, "sm_90a", HEADERS).expect("a zygote starts");
        let job = CompileJob {
            source: format!("{HEADERS}// \nextern \"C\" __global__ void k() {{}}\n"),
            entries: vec!["k".to_owned()],
            compile_for: CompileFor::Cuda { arch: "sm_90a".to_owned() },
        };
        let first = patiently(|| compile_unguarded_in(&batch, &job)).expect("an artifact");
        assert!(first.precompiled || first.bytes == b"nothing asked", "forks find the headers read");
        Place::Fork(batch)
    }

    pub(crate) fn unguarded(&self, job: &CompileJob) -> Result<RawArtifact, CompileFailure> {
        self.timed(job).0
    }

    /// What came, and how long that one try took.
    pub(crate) fn timed(&self, job: &CompileJob) -> (Result<RawArtifact, CompileFailure>, Duration) {
        patiently(|| {
            let start = Instant::now();
            let answer = match self {
                Place::Alone(setup) => compile_unguarded(job, setup),
                Place::Fork(batch) => compile_unguarded_in(batch, job),
            };
            Ok((answer?, start.elapsed()))
        })
    }

    pub(crate) fn guarded(&self, job: &CompileJob) -> CompileOutcome {
        patiently(|| match self {
            Place::Alone(setup) => compile(job, setup),
            Place::Fork(batch) => compile_in(batch, job),
        })
    }
}

/// What a compiler says of a hostile source, which is no error. That there was no process for it says nothing of the source: what
/// a bomb before took from this user comes back within seconds.
fn patiently<T>(compile: impl Fn() -> Result<T, Error>) -> T {
    let no_process = std::io::Error::from_raw_os_error(libc::EAGAIN).to_string();
    for pause in [1, 2, 4, 8] {
        match compile() {
            Err(error) if error.to_string().contains(&no_process) => {
                println!("  once more in {pause} s: {error}");
                std::thread::sleep(Duration::from_secs(pause));
            }
            said => return said.expect("a hostile source is no error"),
        }
    }
    compile().expect("a hostile source is no error")
}
