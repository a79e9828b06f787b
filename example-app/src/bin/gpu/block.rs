//! The MLP block of Llama 3 8B on emitted wrappers: the residual sum and its norm, gate and up with SwiGLU, down and
//! residual. Captured into a CUDA graph, replayed, and each kernel compared with f64 on the inputs that it got.

use std::sync::Arc;

use cutegen_runtime::cuda::cudarc::driver::CudaSlice;
use cutegen_runtime::cuda::{CudaStream, Workspace};
use cutegen_runtime::dispatch::{Explain, Origin};
use cutegen_runtime::{AsView as _, AsViewMut as _, Error};
use half::bf16;

use crate::Fail;
use crate::capture::capture;
use crate::draw::Draw;
use crate::graph::micros;
use crate::judge::{Verdict, Which, judge};
use crate::kernels::cuda::{Kernels, LlamaDown, LlamaGateUp, LlamaNorm};
use crate::reference::{self, exact};

/// The model's width.
pub const D: usize = 4096;
/// Its hidden width.
pub const F: usize = 14_336;
/// Of its norm.
pub const EPS: f32 = 1e-5;

const TOKENS: [usize; 3] = [1, 16, 512];
/// Up to so many tokens every element of the products is compared; a whole reference of 512 would take 90 billion
/// multiplications in f64.
const EVERY_MAX: usize = 16;
/// Of more tokens, so many elements of each product.
const DRAWN: usize = 1 << 18;

/// Weights here and on the device.
pub struct Block {
    host: Weights<Vec<bf16>>,
    device: Weights<CudaSlice<bf16>>,
}

struct Weights<M> {
    norm: M,
    gate: M,
    up: M,
    down: M,
}

/// Where the block is launched.
pub struct On<'a> {
    pub kernels: &'a Kernels,
    pub stream: Arc<CudaStream>,
    pub workspace: Workspace,
}

/// The block's tensors of so many tokens, on the device.
pub struct Memory {
    m: usize,
    pub x: CudaSlice<bf16>,
    pub r: CudaSlice<bf16>,
    s: CudaSlice<bf16>,
    y: CudaSlice<bf16>,
    h: CudaSlice<bf16>,
    z: CudaSlice<bf16>,
}

/// What each kernel's results were like.
pub struct Verdicts {
    pub norm: Verdict,
    pub gate_up: Verdict,
    pub down: Verdict,
}

/// The part.
pub fn run() -> Result<bool, Fail> {
    let (context, kernels) = crate::device()?;
    // SAFETY: all is used on one stream. Capture needs it.
    unsafe { context.disable_event_tracking() };
    let stream = context.new_stream()?;
    let block = Block::drawn(&stream)?;
    let mut on = On { kernels: &kernels, workspace: kernels.workspace(&stream)?, stream };
    let mut right = true;
    for m in TOKENS {
        right &= block.tokens(&mut on, m)?;
    }
    println!(
        "times: graph replays on the same memory, warm in L2 where they fit; not compared with another library"
    );
    Ok(right)
}

impl Block {
    /// Weights of a size that keeps the block's values near 1.
    pub fn drawn(stream: &Arc<CudaStream>) -> Result<Self, Fail> {
        let mut draw = Draw::new(7);
        let near_one = |w: &bf16| bf16::from_f32(1.0 + w.to_f32());
        let host = Weights {
            norm: draw.values(D, 0.125).iter().map(near_one).collect(),
            gate: draw.values(F * D, 0.03),
            up: draw.values(F * D, 0.03),
            down: draw.values(D * F, 0.03),
        };
        let copy = |from: &Vec<bf16>| stream.clone_htod(from);
        let device = Weights {
            norm: copy(&host.norm)?,
            gate: copy(&host.gate)?,
            up: copy(&host.up)?,
            down: copy(&host.down)?,
        };
        Ok(Self { host, device })
    }

    /// One graph of the three launches at so many tokens: replayed, compared, timed, and each kernel timed alone.
    fn tokens(&self, on: &mut On<'_>, m: usize) -> Result<bool, Fail> {
        let mut draw = Draw::new(m as u64);
        let (x, r) = (draw.values(m * D, 1.0), draw.values(m * D, 1.0));
        let mut memory = Memory::of(&on.stream, &x, &r)?;
        let stream = Arc::clone(&on.stream);
        let whole = capture(&stream, || self.launch(on, &mut memory))?;
        whole.launch()?;
        let products = if m <= EVERY_MAX { Which::Every } else { Which::Drawn(DRAWN, m as u64) };
        let verdicts = self.judge(&stream, &memory, (&x, &r), products)?;

        println!("{m} tokens: {:.1} us, one graph of three launches", micros(&stream, &whole)?);
        let norm = capture(&stream, || self.norm(on, &mut memory))?;
        let gate_up = capture(&stream, || self.gate_up(on, &mut memory))?;
        let down = capture(&stream, || self.down(on, &mut memory))?;
        let explained = on.kernels.explain();
        for (kernel, graph, verdict) in [
            ("llama_norm", norm, verdicts.norm),
            ("llama_gate_up", gate_up, verdicts.gate_up),
            ("llama_down", down, verdicts.down),
        ] {
            print(kernel, &explained, micros(&stream, &graph)?, verdict);
        }
        Ok(verdicts.wrong() == 0)
    }

    /// The three launches.
    pub fn launch(&self, on: &mut On<'_>, memory: &mut Memory) -> Result<(), Error> {
        self.norm(on, memory)?;
        self.gate_up(on, memory)?;
        self.down(on, memory)
    }

    fn norm(&self, on: &mut On<'_>, memory: &mut Memory) -> Result<(), Error> {
        let m = memory.m;
        let (x, r, w) = (memory.x.view([m, D]), memory.r.view([m, D]), self.device.norm.view([D]));
        let (s, y) = (memory.s.view_mut([m, D]), memory.y.view_mut([m, D]));
        on.kernels.llama_norm(&on.stream, &mut on.workspace, LlamaNorm { m, x, r, w, s, y, eps: EPS })
    }

    fn gate_up(&self, on: &mut On<'_>, memory: &mut Memory) -> Result<(), Error> {
        let m = memory.m;
        let (wg, wu) = (self.device.gate.view([F, D]), self.device.up.view([F, D]));
        let args = LlamaGateUp { m, y: memory.y.view([m, D]), wg, wu, h: memory.h.view_mut([m, F]) };
        on.kernels.llama_gate_up(&on.stream, &mut on.workspace, args)
    }

    fn down(&self, on: &mut On<'_>, memory: &mut Memory) -> Result<(), Error> {
        let m = memory.m;
        let (h, w, s) = (memory.h.view([m, F]), self.device.down.view([D, F]), memory.s.view([m, D]));
        let args = LlamaDown { m, h, w, s, z: memory.z.view_mut([m, D]) };
        on.kernels.llama_down(&on.stream, &mut on.workspace, args)
    }

    /// Compares every element of the sum and the norm, and those of `products` of the others.
    pub fn judge(
        &self,
        stream: &Arc<CudaStream>,
        memory: &Memory,
        (x, r): (&[bf16], &[bf16]),
        products: Which,
    ) -> Result<Verdicts, Fail> {
        let read = |from: &CudaSlice<bf16>| stream.clone_dtoh(from);
        let (s, y, h, z) = (read(&memory.s)?, read(&memory.y)?, read(&memory.h)?, read(&memory.z)?);
        let Weights { norm, gate, up, down } = &self.host;
        let sum = |i| exact(x[i]).plus(exact(r[i]));
        let sum = judge(&s, Which::Every, sum);
        Ok(Verdicts {
            norm: sum.and(judge(&y, Which::Every, reference::norm(&s, norm))),
            gate_up: judge(&h, products, reference::gate_up(&y, gate, up)),
            down: judge(&z, products, reference::down(&h, down, &s)),
        })
    }
}

impl Memory {
    /// For these inputs; what the kernels write begins as NaN.
    pub fn of(stream: &Arc<CudaStream>, x: &[bf16], r: &[bf16]) -> Result<Self, Fail> {
        let m = x.len() / D;
        let poison = |n: usize| stream.clone_htod(&vec![bf16::NAN; n]);
        let (x, r) = (stream.clone_htod(x)?, stream.clone_htod(r)?);
        Ok(Self { m, x, r, s: poison(m * D)?, y: poison(m * D)?, h: poison(m * F)?, z: poison(m * D)? })
    }
}

impl Verdicts {
    /// Elements that are wrong.
    pub fn wrong(&self) -> usize {
        self.norm.wrong + self.gate_up.wrong + self.down.wrong
    }
}

fn print(kernel: &str, explained: &[Explain], micros: f64, verdict: Verdict) {
    let Verdict { elements, compared, wrong, worst } = verdict;
    let runs = runs(kernel, explained);
    println!("  {kernel:14} {runs:46} {micros:10.1} us, worst error / bound {:5.1}%", worst * 100.0);
    println!("  {:14} {compared} of {elements} elements compared, {wrong} wrong", "");
}

/// What `explain` says is tried first.
fn runs(kernel: &str, explained: &[Explain]) -> String {
    let variants = explained.iter().find(|explain| explain.kernel == kernel).map(|e| e.variants.as_slice());
    match variants {
        Some([first, ..]) if first.origin == Origin::Tuned => {
            format!("{}, tuned on {}", first.name, first.tuned_on)
        }
        Some([first, ..]) => format!("{}, NOT tuned", first.name),
        Some([]) | None => "?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The norm of two tokens as an f32 kernel computes it.
    fn norm(s: &[bf16], w: &[bf16]) -> Vec<bf16> {
        let row = |row: &[bf16]| {
            let square = row.iter().map(|v| v.to_f32() * v.to_f32()).sum::<f32>() / D as f32;
            let scale = 1.0 / (square + EPS).sqrt();
            row.iter()
                .zip(w)
                .map(|(v, w)| bf16::from_f32(v.to_f32() * scale * w.to_f32()))
                .collect::<Vec<_>>()
        };
        s.chunks(D).flat_map(row).collect()
    }

    #[test]
    fn an_honest_kernel_passes_and_a_wrong_element_is_found() {
        let mut draw = Draw::new(1);
        let (s, w) = (draw.values(2 * D, 1.0), draw.values(D, 1.0));
        let mut y = norm(&s, &w);
        let honest = judge(&y, Which::Every, reference::norm(&s, &w));
        assert_eq!((honest.compared, honest.elements, honest.wrong), (2 * D, 2 * D, 0));
        assert!(honest.worst > 0.5 && honest.worst <= 1.0, "{}", honest.worst);

        let far = (0..y.len()).max_by(|a, b| y[*a].to_f32().abs().total_cmp(&y[*b].to_f32().abs()));
        let far = far.expect("elements");
        y[far] = bf16::from_f32(y[far].to_f32() * 1.02);
        y[0] = bf16::NAN;
        assert_eq!(judge(&y, Which::Every, reference::norm(&s, &w)).wrong, 2);
        let drawn = judge(&y, Which::Drawn(100, 3), reference::norm(&s, &w));
        assert!(drawn.compared == 100 && drawn.wrong >= 1, "what was not written is found wherever it is");
    }
}
