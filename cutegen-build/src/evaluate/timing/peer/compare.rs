//! Timing across processes: blocks of ours and of a peer in turn, in the same order as blocks of one process; and
//! whether a peer computes what the spec asks for.

use cutegen_spec::spec::KernelSpec;
use cutegen_spec::tensor::Role;

use super::protocol::{Output, Prepared};
use crate::evaluate::judge::compare::compare as compare_values;
use crate::evaluate::judge::reference::Expected;
use crate::evaluate::judge::strided::Placed;
use crate::evaluate::stats::{self, CANDIDATE};
use crate::outcome::Comparison;

/// Something whose blocks can be timed one at a time. A block is a captured graph, queued behind an untimed run of the
/// same, so that the device does not wait for the host; both sides of a comparison do this alike.
pub trait Blocks {
    /// Launches of a block.
    fn launches(&self) -> u32;

    /// Nanoseconds of the next block; the words say why there is none.
    fn block(&mut self) -> Result<u64, String>;
}

/// Times `pairs` pairs of blocks, ABBA or BAAB by the seed. One side at a time works on the device. A speed-up above 1
/// means that ours is faster.
pub fn compare(
    ours: &mut dyn Blocks,
    peer: &mut dyn Blocks,
    pairs: usize,
    seed: u64,
) -> Result<Comparison, String> {
    let launches = ours.launches();
    if launches != peer.launches() {
        return Err(format!("blocks of {launches} and of {} launches", peer.launches()));
    }
    ours.block()?; // neither side's first block counts
    peer.block()?;
    let order = stats::interleave(2, pairs, seed);
    let mut block_ns = Vec::with_capacity(order.len());
    for program in &order {
        block_ns.push(if *program == CANDIDATE { ours.block()? } else { peer.block()? });
    }
    stats::compare(&order, launches, &block_ns, seed).ok_or_else(|| "no pairs of times".to_owned())
}

/// What a peer's outputs are to the spec's.
#[derive(Clone, Debug, PartialEq)]
pub enum Agreement {
    /// Every element is within the bound.
    Within {
        /// Largest error, as a share of its bound.
        worst_share: f64,
    },
    /// Something is not what the spec asks for: such a peer is reported beside its times, not hidden.
    Differs(String),
}

/// Holds what a peer gave for the first slot against what each tensor must be, by position among the spec's tensors; an
/// error where an output cannot be read.
pub fn agreement(
    spec: &KernelSpec,
    axes: &[i64],
    expected: &[Option<Expected>],
    prepared: &Prepared,
) -> Result<Agreement, String> {
    let given = match given(spec, axes, prepared)? {
        Ok(given) => given,
        Err(difference) => return Ok(Agreement::Differs(difference)),
    };
    let mut worst = 0.0_f64;
    for (t, bytes) in results(spec).zip(given) {
        let wanted = expected.get(t).and_then(Option::as_ref).ok_or("a result without a reference")?;
        let placed = Placed::new(&spec.tensors[t], axes).map_err(|error| error.to_string())?;
        let found = compare_values(spec.tensors[t].dtype, &bytes, &dense(wanted, &placed));
        if let Some(wrong) = found.wrong {
            return Ok(Agreement::Differs(wrong.told(&spec.tensors[t].name)));
        }
        worst = worst.max(found.worst_share);
    }
    Ok(Agreement::Within { worst_share: worst })
}

fn results(spec: &KernelSpec) -> impl Iterator<Item = usize> + '_ {
    (0..spec.tensors.len()).filter(|t| spec.tensors[*t].role != Role::Input)
}

/// What a peer gave for the first slot, each result's elements in row-major order without gaps; or, in words, how these
/// are not the tensors that the spec has. An error where an output cannot be read.
pub fn given(
    spec: &KernelSpec,
    axes: &[i64],
    prepared: &Prepared,
) -> Result<Result<Vec<Vec<u8>>, String>, String> {
    if !prepared.same_when_captured {
        return Ok(Err("leaves other results when captured in a graph".to_owned()));
    }
    let (gives, wants) = (prepared.outputs.len(), results(spec).count());
    if gives != wants {
        return Ok(Err(format!("gives {gives} tensors, the spec has {wants}")));
    }
    prepared.outputs.iter().zip(results(spec)).map(|(output, t)| one(spec, t, axes, output)).collect()
}

/// The bytes of one result, or how it is another tensor than the spec's.
fn one(
    spec: &KernelSpec,
    t: usize,
    axes: &[i64],
    output: &Output,
) -> Result<Result<Vec<u8>, String>, String> {
    let tensor = &spec.tensors[t];
    let name = &tensor.name;
    let shape: Option<Vec<i64>> = tensor.dims.iter().map(|dim| dim.eval_axes(axes)).collect();
    let shape = shape.ok_or("an output without a shape")?;
    if output.element() != Some(tensor.dtype) {
        return Ok(Err(format!("`{name}` is {}, the spec has {}", output.dtype, tensor.dtype.name())));
    }
    if output.shape != shape {
        return Ok(Err(format!("`{name}` is {:?}, the spec has {shape:?}", output.shape)));
    }
    let bytes = std::fs::read(&output.file).map_err(|e| format!("{}: {e}", output.file.display()))?;
    let elements = Placed::new(tensor, axes).map_err(|error| error.to_string())?.elements();
    if bytes.len() != crate::evaluate::judge::element::bytes(tensor.dtype, elements) {
        return Err(format!("`{name}` came as {} bytes", bytes.len()));
    }
    Ok(Ok(bytes))
}

/// What is expected of each element in row-major order, without gaps.
fn dense(expected: &Expected, placed: &Placed) -> Expected {
    let offsets: Vec<usize> = placed.offsets().collect();
    let also = offsets.iter().enumerate();
    let also = also.filter_map(|(element, at)| Some((element, expected.also.get(at)?.clone())));
    Expected {
        value: offsets.iter().map(|at| expected.value[*at]).collect(),
        bound: offsets.iter().map(|at| expected.bound[*at]).collect(),
        also: also.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Blocks, compare};

    /// Blocks of a device that slows down steadily, with noise; ends after some.
    struct Recorded<'a> {
        base: f64,
        clock: &'a std::cell::Cell<u32>,
        left: u32,
        launches: u32,
    }

    impl Blocks for Recorded<'_> {
        fn launches(&self) -> u32 {
            self.launches
        }

        fn block(&mut self) -> Result<u64, String> {
            self.left = self.left.checked_sub(1).ok_or("the worker died")?;
            let turn = self.clock.replace(self.clock.get() + 1);
            let noise = 1.0 + (f64::from((turn.wrapping_mul(2_654_435_761) >> 7) % 101) / 100.0 - 0.5) * 0.02;
            Ok((400_000.0 * self.base * (1.0 + 0.002 * f64::from(turn)) * noise) as u64)
        }
    }

    fn timed(ours: f64, peer: f64, left: u32, launches: u32) -> Result<super::Comparison, String> {
        let clock = std::cell::Cell::new(0);
        let mut ours = Recorded { base: ours, clock: &clock, left: 100, launches: 20 };
        let mut peer = Recorded { base: peer, clock: &clock, left, launches };
        compare(&mut ours, &mut peer, 30, 7)
    }

    #[test]
    fn ratios_are_of_neighbouring_blocks() {
        let same = timed(1.0, 1.0, 100, 20).expect("timed");
        assert!((same.speedup - 1.0).abs() < 0.01 && same.low <= 1.0 && same.high >= 1.0, "{same:?}");
        let faster = timed(0.8, 1.0, 100, 20).expect("timed");
        assert!((faster.speedup - 1.25).abs() < 0.02 && faster.low > 1.0, "{faster:?}");
        assert_eq!(faster.samples, 30);
        assert!((faster.incumbent_us / 20.0 - 1.06).abs() < 0.05, "a launch of 20: {faster:?}");
    }

    #[test]
    fn what_cannot_be_paired_is_told() {
        assert_eq!(timed(1.0, 1.0, 5, 20), Err("the worker died".to_owned()));
        assert_eq!(timed(1.0, 1.0, 100, 10), Err("blocks of 20 and of 10 launches".to_owned()));
    }
}
