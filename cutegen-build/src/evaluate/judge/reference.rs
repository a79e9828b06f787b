//! [`Reference`]: our own compiled f64 reference, which gives each output element its value and its bound. It is the
//! only code loaded into the judge, and we generated and compiled it ourselves.
//!
//! ABI: `extern "C" void cutegen_reference(void** params)`. As for host kernels, `params[i]` points at the i-th
//! argument's value: the pointers of inputs and inouts (storage dtype, strides as declared, in the spec's order, inouts
//! as they are before the launch); all axes as `int64_t`; scalars as `float` or `double`; for each inout and output, in
//! the spec's order, `double* value`, `double* bound`, `void (*also)(void*, int64_t element, double value)` and
//! `void* context`; a `double`, the scale of the bound's summation term: 1, or 0 where inputs are such that every
//! sum is exact; and a `double` that says which elements are computed, see [`Sampled`]: all by 0.
//!
//! `value` and `bound` have an element for each of the tensor's memory, gaps included. Every bound is [`UNTOUCHED`]
//! before the call: an element that keeps it must be left alone by a kernel; one that is written and not computed has
//! [`UNSAMPLED`]. `also(context, element, value)` adds a
//! value that is as right as the first; an element with such values must equal one of them, and its bound is not used.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::evaluate::error::Error;
use crate::evaluate::wire::protocol::ScalarValue;
use crate::plan::sample::Share;

/// A loaded reference.
#[derive(Debug)]
pub struct Reference {
    entry: Entry,
    /// Keeps `entry` mapped.
    _library: Library,
}

type Entry = unsafe extern "C" fn(*mut *mut c_void);

/// The bound of an element that no assignment addresses.
pub const UNTOUCHED: f64 = -1.0;

/// The bound of an element that a kernel writes and the reference leaves out.
pub const UNSAMPLED: f64 = -2.0;

/// Which elements a reference computes, where not all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// What rows and columns are chosen by.
    pub seed: u64,
    /// What is computed of them.
    pub share: Share,
}

impl Sampled {
    /// As a reference is told.
    #[must_use]
    pub fn word(sampled: Option<Self>) -> f64 {
        let seed = |seed: u64| ((seed >> 12) | 1) as f64;
        match sampled {
            None => 0.0,
            Some(Self { seed: of, share: Share::Lines }) => seed(of),
            Some(Self { seed: of, share: Share::Grid }) => -seed(of),
        }
    }
}

/// What an inout or output must be, by element of its memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// The exact result, in f64.
    pub value: Vec<f64>,
    /// The largest allowed error of the final, rounded element; [`UNTOUCHED`] for what must keep its contents.
    pub bound: Vec<f64>,
    /// Further right values of elements that have several.
    pub also: BTreeMap<usize, Vec<f64>>,
}

impl Expected {
    /// Whether a kernel writes `element`.
    #[must_use]
    pub fn is_written(&self, element: usize) -> bool {
        self.bound[element] != UNTOUCHED
    }

    /// Whether the reference has a value for `element`.
    #[must_use]
    pub fn is_compared(&self, element: usize) -> bool {
        self.is_written(element) && self.bound[element] != UNSAMPLED
    }

    fn blank(elements: usize) -> Self {
        Self { value: vec![f64::NAN; elements], bound: vec![UNTOUCHED; elements], also: BTreeMap::new() }
    }
}

/// What a reference is called on.
#[derive(Debug)]
pub struct Call<'a> {
    /// Contents of inputs and inouts.
    pub inputs: &'a [Vec<u8>],
    /// Extents of all axes.
    pub axes: &'a [i64],
    /// Values of all scalars.
    pub scalars: &'a [ScalarValue],
    /// Elements of the memory of each inout and output.
    pub outputs: &'a [usize],
    /// Whether every sum over these inputs is exact.
    pub exact: bool,
    /// Which elements are computed; all of them by none.
    pub sampled: Option<Sampled>,
}

impl Reference {
    /// Loads the shared object that we compiled from the math.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let failed = |reason: String| Error::File { path: path.to_owned(), reason };
        // SAFETY: our own generated code, compiled by us; it has no constructors.
        let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
        let library = library.map_err(|error| failed(error.to_string()))?;
        // SAFETY: the printer of references gives this symbol this type.
        let entry = unsafe { library.get::<Entry>(b"cutegen_reference") }.map(|symbol| *symbol);
        Ok(Self { entry: entry.map_err(|error| failed(error.to_string()))?, _library: library })
    }

    /// Values and bounds of every inout and output.
    #[must_use]
    pub fn call(&self, call: &Call<'_>) -> Vec<Expected> {
        let mut outputs: Vec<Expected> = call.outputs.iter().map(|n| Expected::blank(*n)).collect();
        let aligned: Vec<Vec<u64>> = call.inputs.iter().map(|bytes| words(bytes)).collect();
        let mut values: Vec<u64> = aligned.iter().map(|input| input.as_ptr() as u64).collect();
        values.extend(call.axes.iter().map(|extent| extent.cast_unsigned()));
        values.extend(call.scalars.iter().map(|scalar| scalar.parameter()));
        for output in &mut outputs {
            values.extend([output.value.as_mut_ptr() as u64, output.bound.as_mut_ptr() as u64]);
            values.extend([also as *const () as u64, (&raw mut output.also) as u64]);
        }
        values.push(if call.exact { 0.0_f64 } else { 1.0 }.to_bits());
        values.push(Sampled::word(call.sampled).to_bits());
        let mut params: Vec<*mut c_void> = values.iter_mut().map(|v| (&raw mut *v).cast()).collect();
        // SAFETY: parameters lie as the ABI above has it; buffers outlive the call and hold the spec's elements.
        unsafe { (self.entry)(params.as_mut_ptr()) };
        outputs
    }
}

/// Called by the reference: `value` is right for `element` too.
extern "C" fn also(context: *mut c_void, element: i64, value: f64) {
    // SAFETY: `call` passes the map of this output as the context, and touches it only after the reference returned.
    let values = unsafe { &mut *context.cast::<BTreeMap<usize, Vec<f64>>>() };
    if let Ok(element) = usize::try_from(element) {
        values.entry(element).or_default().push(value);
    }
}

/// A copy of `bytes` that any element type may be read from.
fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(8).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::{Call, Expected, Reference, UNTOUCHED, c_void};
    use libloading::os::unix::Library;
    use std::collections::BTreeMap;

    /// What a printed reference of `y[0] = argmax(n, x[n])` over memory of three elements does, in Rust.
    unsafe extern "C" fn tie(params: *mut *mut c_void) {
        // SAFETY: the test below passes one input, one axis and one output.
        unsafe {
            let param = |i: usize| *params.add(i);
            let scale = *param(6).cast::<f64>();
            **param(2).cast::<*mut f64>() = 1.0;
            **param(3).cast::<*mut f64>() = scale;
            let also = *param(4).cast::<extern "C" fn(*mut c_void, i64, f64)>();
            also(*param(5).cast(), 0, 7.0);
            also(*param(5).cast(), -1, 7.0);
        }
    }

    #[test]
    fn alternatives_and_untouched_elements_arrive() {
        let reference = Reference { entry: tie, _library: Library::this() };
        let call = Call {
            inputs: &[vec![1, 2, 3]],
            axes: &[3],
            scalars: &[],
            outputs: &[3],
            exact: false,
            sampled: None,
        };
        let got = reference.call(&call).remove(0);
        let also = BTreeMap::from([(0, vec![7.0])]);
        assert_eq!(got.bound, [1.0, UNTOUCHED, UNTOUCHED]);
        assert_eq!(
            (got.value[0], &got.also, got.is_written(0), got.is_written(1)),
            (1.0, &also, true, false)
        );
        assert_eq!(Expected::default().also, BTreeMap::new());
    }
}
