//! Wrapper and raw launch side by side: blocks of launches in the order wrapper, raw, raw, wrapper, the device idle
//! before each, and one ratio for each four.

use std::sync::Arc;
use std::time::Instant;

use cutegen_runtime::cuda::cudarc::driver::CudaSlice;
use cutegen_runtime::cuda::launch::make_current;
use cutegen_runtime::cuda::{CudaContext, CudaStream, Device, Workspace, context};
use cutegen_runtime::{AsView as _, AsViewMut as _, Error};
use half::bf16;

use crate::kernels::cuda::{Kernels, LlamaNorm, SiluMul, load};
use crate::raw::Raw;
use crate::{Fail, quartiles};

/// Launches of a block: fewer than the driver queues before it waits for the device.
const LAUNCHES: usize = 200;
const FOURS: usize = 250;
/// Elements of the tiny kernel, and the width of the norm.
const D: usize = 4096;

/// Memory of one stream, for both kernels.
struct On {
    stream: Arc<CudaStream>,
    workspace: Workspace,
    inputs: [CudaSlice<bf16>; 3],
    outputs: [CudaSlice<bf16>; 2],
}

/// The wrappers as they were emitted for this build.
const WRAPPERS: &str = include_str!(concat!(env!("OUT_DIR"), "/cutegen/kernels.rs"));

/// A comparison. Whether its launch may begin before its predecessor ends is what the wrapper asks for; a graph of one
/// launch does not tell.
struct Case<'a> {
    name: &'a str,
    programmatic: bool,
}

/// The device, or what is missing.
pub fn device() -> Result<Device, Error> {
    Device::of(&context(0)?)
}

/// What launches: half of every figure is the CPU's.
fn cpu() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| "an unknown CPU".to_owned(), |(_, model)| model.to_owned())
}

/// Every case, a line each. Event tracking is a context's, so each case has its own of the same device.
pub fn print(device: &Device) -> Result<(), Fail> {
    let (name, driver) = (&device.name, device.driver);
    println!("{{\"device\": \"{name}\", \"driver\": \"{driver}\", \"cpu\": \"{}\"}}", cpu());
    let (one, own, tracked) = (context(0)?, context(0)?, context(0)?);
    let kernels = load(&one)?;
    kernels.warm()?; // captures load none
    // SAFETY: each of these streams is used alone, by this thread.
    unsafe { own.disable_event_tracking() };
    let capturing = own.new_stream()?;
    calls(&own, &capturing, &tracked)?;
    let streams = [
        ("the default stream", one.default_stream()),
        ("a stream of its own, event tracking off", own.new_stream()?),
        ("a stream of its own, event tracking on", tracked.new_stream()?),
    ];
    for (told, stream) in streams {
        let mut on = On::new(&kernels, stream)?;
        on.silu_mul(&kernels, &capturing, told)?;
        on.llama_norm(&kernels, &capturing, told)?;
    }
    Ok(())
}

/// What one call costs of those that a wrapper makes besides the launch.
fn calls(own: &Arc<CudaContext>, stream: &Arc<CudaStream>, tracked: &Arc<CudaContext>) -> Result<(), Fail> {
    let say = |name: &str, ns: f64| println!("{{\"call\": \"{name}\", \"ns\": {ns:.1}}}");
    say("the context made current", block(stream, || Ok(make_current(own)?))?);
    say(
        "the same, and whether the stream is captured",
        block(stream, || stream.capture_status().map(drop).map_err(Fail::from))?,
    );
    let stream = tracked.new_stream()?;
    let event = stream.record_event(None)?;
    say("an event recorded", block(&stream, || Ok(event.record(&stream)?))?);
    say("an event waited for", block(&stream, || Ok(stream.wait(&event)?))?);
    Ok(())
}

impl On {
    fn new(kernels: &Kernels, stream: Arc<CudaStream>) -> Result<Self, Fail> {
        let zeros = || stream.alloc_zeros::<bf16>(D);
        let (inputs, outputs) = ([zeros()?, zeros()?, zeros()?], [zeros()?, zeros()?]);
        Ok(Self { workspace: kernels.workspace(&stream)?, inputs, outputs, stream })
    }

    fn silu_mul(&mut self, kernels: &Kernels, capturing: &Arc<CudaStream>, told: &str) -> Result<(), Fail> {
        let Self { stream, workspace, inputs: [g, u, _], outputs: [y, _] } = self;
        let mut launch = |stream: &Arc<CudaStream>| {
            let args = SiluMul { n: D, g: g.view([D]), u: u.view([D]), y: y.view_mut([D]) };
            kernels.silu_mul(stream, workspace, args)
        };
        let raw = captured(capturing, stream, &mut launch)?;
        let case = Case {
            name: &format!("silu_mul, {D} elements, {told}"),
            programmatic: is_programmatic("silu_mul")?,
        };
        case.compare(stream, launch, &raw)
    }

    fn llama_norm(&mut self, kernels: &Kernels, capturing: &Arc<CudaStream>, told: &str) -> Result<(), Fail> {
        let Self { stream, workspace, inputs: [x, r, w], outputs: [s, y] } = self;
        let mut launch = |stream: &Arc<CudaStream>| {
            let (x, r, w) = (x.view([1, D]), r.view([1, D]), w.view([D]));
            let (s, y) = (s.view_mut([1, D]), y.view_mut([1, D]));
            kernels.llama_norm(stream, workspace, LlamaNorm { m: 1, x, r, w, s, y, eps: 1e-5 })
        };
        let raw = captured(capturing, stream, &mut launch)?;
        let case = Case {
            name: &format!("llama_norm, 1 token, {told}"),
            programmatic: is_programmatic("llama_norm")?,
        };
        case.compare(stream, launch, &raw)
    }
}

/// Whether the tuned variants of a kernel are launched with programmatic dependent launch: all, or none of them.
fn is_programmatic(kernel: &str) -> Result<bool, Fail> {
    let of_kernel = format!("{kernel}_sm_90a_");
    let bodies = WRAPPERS.split("unsafe fn ").filter_map(|text| text.strip_prefix(&of_kernel));
    let mut asks = bodies.filter(|body| !body.starts_with("naive(")).map(|body| body.contains("pdl: true"));
    let first = asks.next().ok_or("no tuned variant")?;
    if asks.any(|next| next != first) {
        Err("variants that are launched in two ways".into())
    } else {
        Ok(first)
    }
}

/// The wrapper's launch as the driver saw it, taken on a stream that can be captured whatever the case's may be.
fn captured(
    capturing: &Arc<CudaStream>,
    stream: &Arc<CudaStream>,
    launch: &mut impl FnMut(&Arc<CudaStream>) -> Result<(), Error>,
) -> Result<Raw, Fail> {
    launch(stream)?; // loaded by now, and the stream idle
    stream.synchronize()?;
    let context = stream.context();
    let tracks = context.is_event_tracking();
    // SAFETY: nothing is in flight, and capture launches nothing.
    unsafe { context.disable_event_tracking() };
    let raw = Raw::of(capturing, || launch(capturing));
    if tracks {
        // SAFETY: the case's memory was allocated while tracking was on.
        unsafe { context.enable_event_tracking() };
    }
    raw
}

impl Case<'_> {
    fn compare(
        &self,
        stream: &Arc<CudaStream>,
        mut wrapper: impl FnMut(&Arc<CudaStream>) -> Result<(), Error>,
        raw: &Raw,
    ) -> Result<(), Fail> {
        let mut ours = || block(stream, || Ok(wrapper(stream)?));
        let theirs = || block(stream, || Ok(raw.launch(stream.cu_stream(), self.programmatic)?));
        let (mut ratios, mut times) = (Vec::new(), [Vec::new(), Vec::new()]);
        for four in 0..=FOURS {
            let (first, raws, last) = (ours()?, [theirs()?, theirs()?], ours()?);
            if four > 0 {
                // the first warms up
                times[0].extend([first, last]);
                times[1].extend(raws);
                ratios.push((first + last) / (raws[0] + raws[1]));
            }
        }
        self.print(&ratios, times.map(|times| quartiles(&times)[1]));
        Ok(())
    }

    fn print(&self, ratios: &[f64], [wrapper, raw]: [f64; 2]) {
        let [low, ratio, high] = quartiles(ratios);
        let each = ratios.iter().map(|ratio| format!("{ratio:.4}")).collect::<Vec<_>>().join(", ");
        println!(
            "{{\"case\": \"{}\", \"wrapper_ns\": {wrapper:.0}, \"raw_ns\": {raw:.0}, \"ratio\": {ratio:.4}, \
             \"low\": {low:.4}, \"high\": {high:.4}, \"ratios\": [{each}]}}",
            self.name
        );
    }
}

/// Nanoseconds of a launch on this side, over a block of them; then waits for the device.
fn block(stream: &Arc<CudaStream>, mut launch: impl FnMut() -> Result<(), Fail>) -> Result<f64, Fail> {
    let start = Instant::now();
    for _ in 0..LAUNCHES {
        launch()?;
    }
    let ns = start.elapsed().as_nanos() as f64 / LAUNCHES as f64;
    stream.synchronize()?;
    Ok(ns)
}
