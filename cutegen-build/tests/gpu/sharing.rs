//! Memory lent by a handle of CUDA IPC, as where the driver exports no descriptors: what passes by descriptor passes,
//! what falls falls, and times are times.

use cutegen_build::evaluate::{Outcome, Sharing};

use crate::{Test, bench, faults};

pub(crate) const TESTS: &[Test] = &[("sharing::by_handle_as_by_descriptor", by_handle_as_by_descriptor)];

/// Written past an end, not at all, where it must not be; and what takes a runner with it, so that the next one opens
/// another handle.
const FAULTS: [&str; 4] = ["out of bounds by one", "writes nothing", "writes an input", "null pointer"];

fn by_handle_as_by_descriptor() {
    let mut judge = bench::judge_of(bench::spec(), None, |settings| settings.sharing = Sharing::Handle);
    bench::passes(&mut judge, &bench::honest());
    for fault in FAULTS {
        faults::falls(&mut judge, fault);
        bench::passes(&mut judge, &bench::honest());
    }
    let outcome = judge.full(&[bench::honest()]).expect("the machine works");
    assert!(matches!(outcome, Outcome::Passed { .. }), "{outcome}");
    // the second takes a larger arena, and with it another runner
    for axes in [[1, 64], [4096, 4096]] {
        let compared = judge.compare(&bench::honest(), &bench::honest(), &axes).expect("the machine works");
        let timed = compared.expect("it is timed");
        println!("    {axes:?}: {timed:?}");
        assert!((timed.speedup - 1.0).abs() <= 0.01, "{axes:?}: {timed:?}");
    }
}
