//! Timing: a cubin against itself reads 1, a slowed one less, at large and at small sizes.

use crate::Test;
use crate::bench;

pub(crate) const TESTS: &[Test] =
    &[("speed::the_same_cubin_is_as_fast_as_itself", the_same_cubin_is_as_fast_as_itself)];

fn the_same_cubin_is_as_fast_as_itself() {
    let mut judge = bench::judge();
    for axes in [[4096, 4096], [256, 1024], [1, 64]] {
        let compared = judge.compare(&bench::honest(), &bench::honest(), &axes).expect("the machine works");
        let timed = compared.expect("it is timed");
        println!("    {axes:?}: {timed:?}");
        assert!((timed.speedup - 1.0).abs() <= 0.01, "{axes:?}: {timed:?}");
    }
}
