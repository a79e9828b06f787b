//! Two streams that share memory through the emitted wrappers. A slow kernel on the first stream writes what a quick
//! one on the second reads, and reads what a quick one on the second overwrites. cudarc's guards, which wrappers take
//! part in, must keep both in order; with event tracking off the same launches must be seen to go wrong, or the trial
//! would show nothing.

use cutegen_runtime::cuda::CudaContext;
use cutegen_runtime::cuda::cudarc::driver::CudaSlice;
use cutegen_runtime::{AsView as _, AsViewMut as _};
use half::bf16;

use crate::block::{D, F, On};
use crate::draw::Draw;
use crate::judge::{Which, judge};
use crate::kernels::cuda::{LlamaDown, SiluMul};
use crate::{Fail, reference};

const TRIALS: usize = 20;
/// Elements of the slow kernel's result that are compared.
const DRAWN: usize = 64;

/// The memory that both streams use. `z` is written by the first and read by the second, `h` the other way round.
struct Shared {
    down: CudaSlice<bf16>,
    s: CudaSlice<bf16>,
    h: CudaSlice<bf16>,
    z: CudaSlice<bf16>,
    g: CudaSlice<bf16>,
    u: CudaSlice<bf16>,
    q: CudaSlice<bf16>,
    host_down: Vec<bf16>,
    draw: Draw,
}

/// Trials that went wrong, of [`TRIALS`].
struct Wrong {
    read_after_write: usize,
    write_after_read: usize,
}

/// The part.
pub fn run() -> Result<bool, Fail> {
    let (context, kernels) = crate::device()?;
    let on = |stream| -> Result<On<'_>, Fail> {
        let workspace = kernels.workspace(&stream)?;
        Ok(On { kernels: &kernels, stream, workspace })
    };
    let (mut first, mut second) = (on(context.new_stream()?)?, on(context.new_stream()?)?);
    let mut shared = Shared::drawn(&first)?;
    let ordered = trials(&mut first, &mut second, &mut shared)?;
    let loose = untracked(&context, || trials(&mut first, &mut second, &mut shared))?;
    for (told, wrong) in [("ordered by cudarc's guards", &ordered), ("event tracking off", &loose)] {
        println!(
            "two streams, {told}: of {TRIALS} trials each, {} read too early, {} written too early",
            wrong.read_after_write, wrong.write_after_read
        );
    }
    let is_ordered = ordered.read_after_write + ordered.write_after_read == 0;
    let shows_it = loose.read_after_write > 0 && loose.write_after_read > 0;
    if !shows_it {
        println!("without order nothing went wrong, so these trials show nothing");
    }
    Ok(is_ordered && shows_it)
}

/// `work` with event tracking off.
fn untracked<T>(context: &CudaContext, work: impl FnOnce() -> Result<T, Fail>) -> Result<T, Fail> {
    // SAFETY: trials allocate and free nothing, and each ends when both streams are done: values go wrong, no memory.
    unsafe { context.disable_event_tracking() };
    let done = work();
    // SAFETY: all memory was allocated while tracking was on.
    unsafe { context.enable_event_tracking() };
    done
}

fn trials(first: &mut On<'_>, second: &mut On<'_>, shared: &mut Shared) -> Result<Wrong, Fail> {
    let mut wrong = Wrong { read_after_write: 0, write_after_read: 0 };
    for trial in 0..TRIALS {
        wrong.read_after_write += usize::from(!shared.reads_what_was_written(first, second)?);
        wrong.write_after_read += usize::from(!shared.writes_after_reading(first, second, trial as u64)?);
    }
    Ok(wrong)
}

impl Shared {
    fn drawn(on: &On<'_>) -> Result<Self, Fail> {
        let mut draw = Draw::new(11);
        let host_down = draw.values(D * F, 0.03);
        let nothing = |n: usize| on.stream.alloc_zeros::<bf16>(n);
        let shared = Self {
            down: on.stream.clone_htod(&host_down)?,
            s: nothing(D)?,
            h: nothing(F)?,
            z: nothing(D)?,
            g: nothing(F)?,
            u: nothing(F)?,
            q: nothing(D)?,
            host_down,
            draw,
        };
        on.stream.synchronize()?;
        Ok(shared)
    }

    /// The first stream writes `z` slowly, the second computes `q` from it. Begins with a `z` of zeros.
    fn reads_what_was_written(&mut self, first: &mut On<'_>, second: &mut On<'_>) -> Result<bool, Fail> {
        let (h, s) = (self.draw.values(F, 1.0), self.draw.values(D, 1.0));
        first.stream.memcpy_htod(&h, &mut self.h)?;
        first.stream.memcpy_htod(&s, &mut self.s)?;
        first.stream.memset_zeros(&mut self.z)?;
        first.stream.memset_zeros(&mut self.q)?;
        first.stream.synchronize()?;

        self.slow(first)?;
        let args = SiluMul { n: D, g: self.z.view([D]), u: self.z.view([D]), y: self.q.view_mut([D]) };
        second.kernels.silu_mul(&second.stream, &mut second.workspace, args)?;
        both_done(first, second)?;

        let (z, q) = (first.stream.clone_dtoh(&self.z)?, first.stream.clone_dtoh(&self.q)?);
        Ok(judge(&q, Which::Every, reference::silu_mul(&z, &z)).wrong == 0)
    }

    /// The first stream reads `h` slowly, the second overwrites it.
    fn writes_after_reading(
        &mut self,
        first: &mut On<'_>,
        second: &mut On<'_>,
        seed: u64,
    ) -> Result<bool, Fail> {
        let [h, g, u] = [(); 3].map(|()| self.draw.values(F, 1.0));
        let s = self.draw.values(D, 1.0);
        for (from, to) in [(&h, &mut self.h), (&g, &mut self.g), (&u, &mut self.u), (&s, &mut self.s)] {
            first.stream.memcpy_htod(from, to)?;
        }
        first.stream.synchronize()?;

        self.slow(first)?;
        let args = SiluMul { n: F, g: self.g.view([F]), u: self.u.view([F]), y: self.h.view_mut([F]) };
        second.kernels.silu_mul(&second.stream, &mut second.workspace, args)?;
        both_done(first, second)?;

        let z = first.stream.clone_dtoh(&self.z)?;
        let expected = reference::down(&h, &self.host_down, &s);
        Ok(judge(&z, Which::Drawn(DRAWN, seed), expected).wrong == 0)
    }

    /// `z` from `h`, on one token: a long loop in few blocks, beside which the other stream's kernel has room.
    fn slow(&mut self, on: &mut On<'_>) -> Result<(), Fail> {
        let (h, w, s) = (self.h.view([1, F]), self.down.view([D, F]), self.s.view([1, D]));
        let args = LlamaDown { m: 1, h, w, s, z: self.z.view_mut([1, D]) };
        Ok(on.kernels.llama_down(&on.stream, &mut on.workspace, args)?)
    }
}

fn both_done(first: &On<'_>, second: &On<'_>) -> Result<(), Fail> {
    first.stream.synchronize()?;
    second.stream.synchronize()?;
    Ok(())
}
