//! [`Theirs`]: the same products on cuBLASLt, each by the fastest of 32 heuristics, timed with two weights by turns.

use std::path::PathBuf;
use std::sync::Arc;

use cutegen_build::evaluate::runner::cublaslt::{CublasLt, Product, Slot, Workspace};
use cutegen_build::evaluate::wire::gemm::{Compute, Element, Gemm, Matrix};
use cutegen_runtime::cuda::CudaStream;
use cutegen_runtime::cuda::cudarc::driver::{CudaSlice, DevicePtr as _};
use half::bf16;

use crate::Fail;
use crate::chain::{Chain, LAYER, Link, Weight};
use crate::check;
use crate::judge::Verdict;

/// Bytes that the library may use in a launch.
const WORKSPACE: usize = 64 << 20;
/// Where the library is, if the loader does not find it.
const FOLDER: &str = "CUBLASLT_DIR";

/// The products, with results of their own.
pub struct Theirs {
    /// Library, and the heuristic of each product.
    pub about: Vec<String>,
    x: CudaSlice<bf16>,
    products: Vec<(Product, Slot)>,
    results: Vec<CudaSlice<bf16>>,
    stream: Arc<CudaStream>,
    _workspace: CudaSlice<u8>,
}

/// `y[m, n] = sum(k, x[m, k] * w[n, k])`, all row-major, as a column-major product.
fn gemm(m: usize, link: Link) -> Gemm {
    let matrix = |tensor: usize, transposed: bool, ld: usize| Matrix {
        tensor,
        element: Element::Bf16,
        transposed,
        ld: ld as u64,
        batch_stride: 0,
    };
    Gemm {
        m: link.n as u64,
        n: m as u64,
        k: link.k as u64,
        batch: 1,
        a: matrix(1, true, link.k),
        b: matrix(0, false, link.columns),
        d: matrix(2, false, link.n),
        compute: Compute::F32,
        fast_accumulation: false,
        scales: Vec::new(),
    }
}

impl Theirs {
    /// Beside `chain`: with its weights, and its first input.
    pub fn new(stream: &Arc<CudaStream>, chain: &Chain<'_>) -> Result<Self, Fail> {
        let folders: Vec<PathBuf> = std::env::var_os(FOLDER).into_iter().map(PathBuf::from).collect();
        let library = CublasLt::open(&folders)?;
        let (m, x) = (chain.m, stream.clone_dtod(&chain.x)?);
        let result = |weight: &Weight| stream.clone_htod(&vec![bf16::NAN; m * weight.link.n]);
        let results = chain.weights.iter().map(result).collect::<Result<Vec<_>, _>>()?;
        let memory = stream.alloc_zeros::<u8>(WORKSPACE)?;
        let workspace = Workspace { at: memory.device_ptr(stream).0, bytes: WORKSPACE as u64 };
        let address = |of: &CudaSlice<bf16>| of.device_ptr(stream).0;
        let slots: Vec<Slot> = chain
            .weights
            .iter()
            .enumerate()
            .map(|(at, weight)| Slot {
                a: address(&weight.device),
                b: address(at.checked_sub(1).map_or(&x, |before| &results[before])),
                d: address(&results[at]),
                scales: Vec::new(),
            })
            .collect();
        let mut about = vec![library.describe()];
        let mut products = Vec::new();
        for (at, weight) in chain.weights.iter().enumerate() {
            let alike: Vec<Slot> =
                slots.iter().skip(at % LAYER.len()).step_by(LAYER.len()).cloned().collect();
            let mut product = Product::new(&library, &gemm(m, weight.link), workspace, &alike)?;
            // SAFETY: the context is current, and addresses are those of live tensors of these extents.
            let tuned = unsafe { product.tune(stream.cu_stream(), &alike)? };
            about.push(format!(
                "heuristic {} of {}, of which {} ran",
                tuned.fastest, tuned.offered, tuned.ran
            ));
            products.push((product, slots[at].clone()));
        }
        let stream = Arc::clone(stream);
        Ok(Self { about, x, products, results, stream, _workspace: memory })
    }

    /// Puts the products on the stream, which may be capturing.
    pub fn launch(&self) -> Result<(), Fail> {
        for (product, slot) in &self.products {
            // SAFETY: as when they were timed; everything lives as long as this.
            unsafe { product.launch(self.stream.cu_stream(), slot)? };
        }
        Ok(())
    }

    /// Launches them once, and compares each with f64 on the input that it got.
    pub fn checked(&self, weights: &[Weight]) -> Result<Verdict, Fail> {
        self.launch()?;
        check::chain(&self.stream, &self.x, &self.results, weights)
    }
}
