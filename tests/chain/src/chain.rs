//! [`Chain`]: the eight products on emitted wrappers.

use std::sync::Arc;

use cutegen_runtime::cuda::cudarc::driver::CudaSlice;
use cutegen_runtime::cuda::{CudaStream, Workspace};
use cutegen_runtime::{AsView as _, AsViewMut as _, Error};
use half::bf16;

use crate::Fail;
use crate::check;
use crate::draw::Draw;
use crate::judge::Verdict;
use crate::kernels::cuda::{Down, GateUp, Kernels, O, Qkv};

/// A product: columns of the result, terms, and columns of the input, of which the first terms are read.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub n: usize,
    pub k: usize,
    pub columns: usize,
}

/// Query, key and value; attention's output; gate and up; down.
pub const LAYER: [Link; 4] = [
    Link { n: 6144, k: 4096, columns: 4096 },
    Link { n: 4096, k: 4096, columns: 6144 },
    Link { n: 28_672, k: 4096, columns: 4096 },
    Link { n: 4096, k: 14_336, columns: 28_672 },
];
/// Layers.
const LAYERS: usize = 2;

/// One weight, here and on the device.
pub struct Weight {
    pub link: Link,
    pub host: Vec<bf16>,
    pub device: CudaSlice<bf16>,
}

/// The products of one number of rows.
pub struct Chain<'a> {
    pub m: usize,
    pub weights: &'a [Weight],
    /// The first input.
    pub x: CudaSlice<bf16>,
    results: Vec<CudaSlice<bf16>>,
    kernels: &'a Kernels,
    stream: Arc<CudaStream>,
    workspace: Workspace,
}

/// Distinct weights, of variance 1 / k, so that values neither grow nor vanish.
pub fn weights(stream: &Arc<CudaStream>) -> Result<Vec<Weight>, Fail> {
    let all = (0..LAYERS).flat_map(|_| LAYER).enumerate();
    all.map(|(at, link)| {
        let host = Draw::new(at as u64).values(link.n * link.k, (3.0 / link.k as f32).sqrt());
        let device = stream.clone_htod(&host)?;
        Ok(Weight { link, host, device })
    })
    .collect()
}

impl<'a> Chain<'a> {
    /// Of so many rows; results begin as NaN.
    pub fn new(
        stream: &Arc<CudaStream>,
        kernels: &'a Kernels,
        weights: &'a [Weight],
        m: usize,
    ) -> Result<Self, Fail> {
        let x = stream.clone_htod(&Draw::new(99).values(m * LAYER[0].columns, 3.0_f32.sqrt()))?;
        let results = weights.iter().map(|w| stream.clone_htod(&vec![bf16::NAN; m * w.link.n]));
        let results = results.collect::<Result<_, _>>()?;
        let workspace = kernels.workspace(stream)?;
        Ok(Self { m, weights, x, results, kernels, stream: Arc::clone(stream), workspace })
    }

    /// Puts the products on the stream, which may be capturing.
    pub fn launch(&mut self) -> Result<(), Error> {
        for at in 0..self.weights.len() {
            self.product(at)?;
        }
        Ok(())
    }

    fn product(&mut self, at: usize) -> Result<(), Error> {
        let (m, Link { n, k, columns }) = (self.m, self.weights[at].link);
        let (before, results) = self.results.split_at_mut(at);
        let x = before.last().unwrap_or(&self.x).view([m, columns]);
        let (w, y) = (self.weights[at].device.view([n, k]), results[0].view_mut([m, n]));
        let (stream, workspace) = (&self.stream, &mut self.workspace);
        match at % LAYER.len() {
            0 => self.kernels.qkv(stream, workspace, Qkv { m, x, w, y }),
            1 => self.kernels.o(stream, workspace, O { m, x, w, y }),
            2 => self.kernels.gate_up(stream, workspace, GateUp { m, x, w, y }),
            _ => self.kernels.down(stream, workspace, Down { m, x, w, y }),
        }
    }

    /// Launches them once, and compares each with f64 on the input that it got.
    pub fn checked(&mut self) -> Result<Verdict, Fail> {
        self.launch()?;
        check::chain(&self.stream, &self.x, &self.results, self.weights)
    }

    /// What is launched, in the order in which variants are tried.
    pub fn variants(&self) -> Vec<String> {
        let all = self.kernels.explain();
        let names = |kernel: &cutegen_runtime::dispatch::Explain| {
            kernel.variants.iter().map(|variant| variant.name.to_string()).collect::<Vec<_>>().join(" ")
        };
        all.iter().map(|kernel| format!("{}: {}", kernel.kernel, names(kernel))).collect()
    }
}
