//! [`Reference`]: our own compiled f64 reference, which gives each output element its value and its bound. It is the
//! only code loaded into the judge, and we generated and compiled it ourselves.
//!
//! ABI: `extern "C" void cutegen_reference(void** params)`. As for host kernels, `params[i]` points at the i-th
//! argument's value: the pointers of inputs and inouts (storage dtype, dense row-major, in the spec's order, inouts as
//! they are before the launch); all axes as `int64_t`; scalars as `float` or `double`; for each inout and output, in
//! the spec's order, `double* value` and `double* bound`; and a `double`, the scale of the bound's summation term: 1,
//! or 0 where inputs are such that every sum is exact.

use std::ffi::c_void;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::error::Error;
use super::protocol::ScalarValue;

/// A loaded reference.
#[derive(Debug)]
pub struct Reference {
    entry: Entry,
    /// Keeps `entry` mapped.
    _library: Library,
}

type Entry = unsafe extern "C" fn(*mut *mut c_void);

/// What an output must be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expected {
    /// The exact result, in f64.
    pub value: Vec<f64>,
    /// The largest allowed error of the final, rounded element.
    pub bound: Vec<f64>,
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
    /// Number of elements of each inout and output.
    pub outputs: &'a [usize],
    /// Whether every sum over these inputs is exact.
    pub exact: bool,
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
        let blank = |n: &usize| Expected { value: vec![f64::NAN; *n], bound: vec![f64::NAN; *n] };
        let mut outputs: Vec<Expected> = call.outputs.iter().map(blank).collect();
        let aligned: Vec<Vec<u64>> = call.inputs.iter().map(|bytes| words(bytes)).collect();
        let mut values: Vec<u64> = aligned.iter().map(|input| input.as_ptr() as u64).collect();
        values.extend(call.axes.iter().map(|extent| extent.cast_unsigned()));
        values.extend(call.scalars.iter().map(|scalar| scalar.parameter()));
        for output in &mut outputs {
            values.extend([output.value.as_mut_ptr() as u64, output.bound.as_mut_ptr() as u64]);
        }
        values.push(if call.exact { 0.0_f64 } else { 1.0 }.to_bits());
        let mut params: Vec<*mut c_void> = values.iter_mut().map(|v| (&raw mut *v).cast()).collect();
        // SAFETY: parameters lie as the ABI above has it; buffers outlive the call and hold the spec's elements.
        unsafe { (self.entry)(params.as_mut_ptr()) };
        outputs
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
