//! Many programs raced on one device over one rotation of memory: a captured graph each, of as many launches, blocks of
//! all of them in turn in bursts with a pause behind each, as `docs/gate.md` has it for two. Knows addresses and
//! parameters; not what is computed.

use std::ffi::{CString, c_void};
use std::time::{Duration, Instant};

use cutegen_build::evaluate::stats::interleave;
use cutegen_runtime::cuda::cudarc::driver::{result, sys};
use cutegen_runtime::cuda::{CUdeviceptr, CUfunction, CUstream, LaunchConfig, launch};

const MIN_BLOCK_NS: u64 = 200_000;
const WARM_UP: Duration = Duration::from_millis(20);
const BURST_NS: u64 = 50_000_000;
const PAUSE: Duration = Duration::from_millis(20);

/// A loaded cubin; it stays as long as the process.
#[derive(Clone, Copy)]
pub(super) struct Module(sys::CUmodule);

impl Module {
    pub(super) fn load(image: &[u8]) -> Self {
        // SAFETY: a whole cubin that outlives the call; a context is current, as all callers have asked for memory.
        Self(unsafe { result::module::load_data(image.as_ptr().cast()) }.expect("it loads"))
    }

    pub(super) fn function(self, entry: &str) -> CUfunction {
        let name = CString::new(entry).expect("a name");
        // SAFETY: the module is loaded and never unloaded.
        unsafe { result::module::get_function(self.0, name) }
            .unwrap_or_else(|error| panic!("{entry}: {error}"))
    }
}

/// Memory of the device.
pub(super) struct Memory {
    pub(super) at: CUdeviceptr,
    bytes: usize,
}

impl Memory {
    pub(super) fn new(bytes: usize) -> Self {
        // SAFETY: a fresh allocation in the current context.
        let at = unsafe { result::malloc_sync(bytes.max(1)) }.expect("memory of the device");
        Self { at, bytes }
    }

    pub(super) fn write(&self, from: &[u8]) {
        assert!(from.len() <= self.bytes);
        // SAFETY: as long as that, and used by nothing else now.
        unsafe { result::memcpy_htod_sync(self.at, from) }.expect("copied");
    }

    /// Clears all of it, in the stream.
    pub(super) fn cleared(&self) -> Action {
        Action::Clear(self.at, self.bytes)
    }

    /// `count` bytes from `offset`.
    pub(super) fn read(&self, offset: usize, count: usize) -> Vec<u8> {
        assert!(offset + count <= self.bytes);
        let mut held = vec![0; count];
        // SAFETY: inside the allocation; whatever wrote it has been waited for.
        unsafe { result::memcpy_dtoh_sync(&mut held, self.at + offset as u64) }.expect("copied");
        held
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed once; all launches have been waited for.
        unsafe { result::free_sync(self.at) }.expect("freed");
    }
}

/// One launch of a kernel, or the clearing of memory before one.
pub(super) enum Action {
    Clear(CUdeviceptr, usize),
    Launch { function: CUfunction, config: LaunchConfig, params: Vec<u64> },
}

impl Action {
    fn go(&self, stream: CUstream) {
        match self {
            Action::Clear(at, bytes) => {
                // SAFETY: inside a live allocation that this stream alone uses.
                unsafe { launch::memset_d8_async(*at, 0, *bytes, stream) }.expect("cleared");
            }
            Action::Launch { function, config, params } => {
                let mut words: Vec<*mut c_void> =
                    params.iter().map(|word| (&raw const *word).cast_mut().cast()).collect();
                // SAFETY: function and stream are live, each parameter has a word, and its memory outlives the race.
                unsafe { launch::launch(*function, stream, config, &mut words) }.expect("launched");
            }
        }
    }

    /// Asks for what the launch needs of its function.
    pub(super) fn prepare(&self) {
        if let Action::Launch { function, config, .. } = self {
            let nonportable = config.cluster.iter().product::<u32>() > 8;
            // SAFETY: the function is live.
            unsafe { launch::prepare(*function, config.dynamic_smem, nonportable) }.expect("prepared");
        }
    }
}

/// A program: by slot of the rotation, what one launch of it does.
pub(super) type Program = Vec<Vec<Action>>;

/// The stream on which everything runs.
pub(super) struct Track(CUstream);

impl Track {
    pub(super) fn new() -> Self {
        Self(result::stream::create(result::stream::StreamKind::NonBlocking).expect("a stream"))
    }

    /// Microseconds of a launch, by program and block; `rounds` blocks each, an even number.
    pub(super) fn race(&self, programs: &[Program], rounds: usize, seed: u64) -> Vec<Vec<f64>> {
        let (graphs, paces, launches) = self.calibrated(programs);
        let each: Vec<usize> = (0..programs.len()).collect();
        let began = Instant::now();
        while began.elapsed() < WARM_UP {
            drop(self.burst(&graphs, &each));
        }
        let mut times = vec![Vec::new(); programs.len()];
        for burst in bursts(&interleave(programs.len(), rounds, seed), &paces) {
            for (program, ns) in burst.iter().zip(self.burst(&graphs, &burst)) {
                times[*program].push(ns as f64 / launches as f64 / 1e3);
            }
            std::thread::sleep(PAUSE);
        }
        times
    }

    /// Runs a program once on every slot.
    pub(super) fn once(&self, program: &Program) {
        program.iter().flatten().for_each(|action| action.go(self.0));
        self.wait();
    }

    fn wait(&self) {
        // SAFETY: the stream is live.
        unsafe { result::stream::synchronize(self.0) }.expect("it ends");
    }

    /// Graphs that last long enough, how long each lasts, and their launches.
    fn calibrated(&self, programs: &[Program]) -> (Vec<Graph>, Vec<u64>, usize) {
        let each: Vec<usize> = (0..programs.len()).collect();
        let mut launches = programs.iter().map(Vec::len).max().expect("programs");
        loop {
            let graphs: Vec<Graph> = programs.iter().map(|program| self.capture(program, launches)).collect();
            self.burst(&graphs, &each); // pays for the upload
            let (first, second) = (self.burst(&graphs, &each), self.burst(&graphs, &each));
            let paces: Vec<u64> = first.iter().zip(&second).map(|(a, b)| *a.min(b)).collect();
            let least = paces.iter().copied().min().unwrap_or(MIN_BLOCK_NS).max(1);
            if least >= MIN_BLOCK_NS {
                return (graphs, paces, launches);
            }
            launches *= (MIN_BLOCK_NS * 21 / 20).div_ceil(least) as usize;
        }
    }

    fn capture(&self, program: &Program, launches: usize) -> Graph {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: nothing is being captured on this stream; the capture is ended here, its graph destroyed once.
        unsafe {
            result::stream::begin_capture(self.0, mode).expect("a capture");
            program.iter().cycle().take(launches).flatten().for_each(|action| action.go(self.0));
            let graph = result::stream::end_capture(self.0).expect("captured");
            let exec =
                result::graph::instantiate(graph, sys::CUgraphInstantiate_flags(0)).expect("instantiated");
            result::graph::destroy(graph).expect("destroyed");
            result::graph::upload(exec, self.0).expect("uploaded");
            Graph(exec)
        }
    }

    /// Nanoseconds of each block, all queued behind an untimed one.
    fn burst(&self, graphs: &[Graph], order: &[usize]) -> Vec<u64> {
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let events: Vec<sys::CUevent> =
            (0..=order.len()).map(|_| result::event::create(flags).expect("an event")).collect();
        // SAFETY: stream, graphs and events are live; events are destroyed once, after the stream has passed them.
        unsafe {
            result::graph::launch(graphs[order[order.len() - 1]].0, self.0).expect("launched");
            result::event::record(events[0], self.0).expect("recorded");
            for (program, event) in order.iter().zip(&events[1..]) {
                result::graph::launch(graphs[*program].0, self.0).expect("launched");
                result::event::record(*event, self.0).expect("recorded");
            }
            self.wait();
            let elapsed = |pair: &[sys::CUevent]| {
                let ms = result::event::elapsed(pair[0], pair[1]).expect("both have passed");
                (f64::from(ms) * 1e6).round() as u64
            };
            let lasted = events.windows(2).map(elapsed).collect();
            events.into_iter().for_each(|event| result::event::destroy(event).expect("destroyed"));
            lasted
        }
    }
}

impl Drop for Track {
    fn drop(&mut self) {
        // SAFETY: created by `new`, destroyed once.
        unsafe { result::stream::destroy(self.0) }.expect("destroyed");
    }
}

struct Graph(sys::CUgraphExec);

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: instantiated by `capture`, destroyed once, when its launches are done.
        unsafe { result::graph::exec_destroy(self.0) }.expect("destroyed");
    }
}

/// The order in pieces that last 50 ms at most, or are one block.
fn bursts(order: &[usize], paces: &[u64]) -> Vec<Vec<usize>> {
    let (mut pieces, mut lasts) = (vec![Vec::new()], 0);
    for program in order {
        if lasts + paces[*program] > BURST_NS && !pieces[pieces.len() - 1].is_empty() {
            pieces.push(Vec::new());
            lasts = 0;
        }
        lasts += paces[*program];
        if let Some(piece) = pieces.last_mut() {
            piece.push(*program);
        }
    }
    pieces
}

/// What bursts promise; called by the test that needs no device.
pub(super) fn check_bursts() {
    let all = interleave(21, 30, 7);
    let pieces = bursts(&all, &[3_000_000; 21]);
    assert_eq!(pieces.concat(), all);
    assert!(pieces.iter().all(|piece| piece.len() <= 16 && !piece.is_empty()), "bursts are short");
    assert_eq!(bursts(&[0, 0], &[2 * BURST_NS]).len(), 2);
}
