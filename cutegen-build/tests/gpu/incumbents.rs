//! Incumbents that are not ours on a real device: cuBLASLt multiplies exactly what is described, for every type; PyTorch's
//! expressions agree with the spec; one cubin timed in two peer workers is as fast as itself; and the card's state is read.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use cutegen_build::evaluate::device::clocks::{CardId, Clocks};
use cutegen_build::evaluate::judge::element;
use cutegen_build::evaluate::runner::cublaslt::{CublasLt, Product, Slot, Workspace};
use cutegen_build::evaluate::timing::peer::{
    Agreement, Cubin, Device, Inputs, Mode, Peer, Prepared, Python, What, agreement, compare, describe,
    slots, write,
};
use cutegen_build::evaluate::wire::gemm::{Gemm, gemm_of};
use cutegen_build::evaluate::wire::protocol::WORKSPACE_BYTES;
use cutegen_build::evaluate::{Call, Distribution, Expected, Reference, contents};
use cutegen_build::plan::Plan;
use cutegen_runtime::cuda::CUdeviceptr;
use cutegen_runtime::cuda::cudarc::driver::result;
use cutegen_spec::dtype::DType;
use cutegen_spec::edition::spec_file;

use crate::{Test, bench, fixtures};

pub(crate) const TESTS: &[Test] = &[
    ("incumbents::the_card_tells_its_state", the_card_tells_its_state),
    ("incumbents::cublaslt_multiplies_what_is_described", cublaslt_multiplies_what_is_described),
    ("incumbents::torch_agrees_with_the_spec", torch_agrees_with_the_spec),
    (
        "incumbents::a_cubin_is_as_fast_in_one_peer_worker_as_in_another",
        a_cubin_is_as_fast_in_one_peer_worker_as_in_another,
    ),
];

fn the_card_tells_its_state() {
    let context = cutegen_runtime::cuda::context(0).expect("a device");
    let uuid = context.uuid().expect("it has one").bytes.map(|byte| byte.cast_unsigned());
    let clocks = match Clocks::open(&CardId::from_uuid(uuid)) {
        Ok(clocks) => clocks,
        Err(absent) => panic!("{absent}"),
    };
    let sample = clocks.sample();
    println!("    {:?}\n    {sample:?}", clocks.card());
    assert!(sample.sm_mhz.is_some_and(|mhz| (100..4000).contains(&mhz)), "{sample:?}");
    assert!(sample.throttle.is_some(), "{sample:?}");
}

pub(crate) fn python() -> Python {
    let kept = ["PATH", "HOME", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_HOME", "CC"];
    let env = kept.iter().filter_map(|name| Some(((*name).into(), std::env::var_os(name)?))).collect();
    Python { command: "python3".into(), env }
}

const PATIENCE: Duration = Duration::from_secs(240);

/// Where cuBLASLt may lie: PyTorch may have brought it along.
pub(crate) fn library_folders() -> Vec<PathBuf> {
    static FOLDERS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let look = || {
        let peer = Peer::start(&python(), Device::Cuda);
        let brought = peer.map(|peer| peer.ready().library_folders.clone()).unwrap_or_default();
        [brought, vec![PathBuf::from("/usr/local/cuda/lib64")]].concat()
    };
    FOLDERS.get_or_init(look).clone()
}

fn peer() -> Peer {
    Peer::start(&python(), Device::Cuda).unwrap_or_else(|stopped| panic!("{stopped}"))
}

/// Types of the factors and the result, whether each factor has k last, and what else the spec says.
const PRODUCTS: &[(&str, &str, bool, bool, &str)] = &[
    ("f32", "f32", true, true, ""),
    ("f32", "f32", false, false, ""),
    ("f32", "f32", true, false, "precision = { multiply = 'tf32' }"),
    ("f64", "f64", true, true, ""),
    ("f16", "f16", true, true, ""),
    ("f16", "f32", false, true, ""),
    ("bf16", "bf16", true, true, ""),
    ("bf16", "bf16", true, false, ""),
    ("bf16", "bf16", false, true, ""),
    ("bf16", "f32", false, false, ""),
    ("f8e4m3", "bf16", true, true, ""),
    ("i8", "i32", true, true, ""),
];
const SIZES: [usize; 4] = [3, 64, 48, 80]; // batch, m, n, k

fn cublaslt_multiplies_what_is_described() {
    let context = cutegen_runtime::cuda::context(0).expect("a device");
    context.bind_to_thread().expect("current");
    let library = CublasLt::open(&library_folders()).expect("the library");
    println!("    {}", library.describe());
    for (factor, result, x_last, w_last, more) in PRODUCTS {
        for batch in [1, SIZES[0]] {
            let case = Exact::new(factor, result, *x_last, *w_last, more, batch);
            case.check(&library);
        }
    }
}

/// A product of small integers, which every type holds and sums exactly.
struct Exact {
    gemm: Gemm,
    dtype: (DType, DType),
    inputs: [Vec<u8>; 2],
    expected: Vec<u8>,
}

impl Exact {
    fn new(factor: &str, result: &str, x_last: bool, w_last: bool, more: &str, batch: usize) -> Self {
        let [_, m, n, k] = SIZES;
        let x = if x_last { "b, m, k" } else { "b, k, m" };
        let w = if w_last { "b, n, k" } else { "b, k, n" };
        let text = format!(
            "edition = 1\n[kernels.p]\naxes = {{ b = {batch}, m = {m}, n = {n}, k = {k} }}\n\
             inputs = {{ x = '{factor}[{x}]', w = '{factor}[{w}]' }}\noutputs = {{ y = '{result}[b, m, n]' }}\n{more}\n\
             math = 'y[b, m, n] = sum(k, x[{x}] * w[{w}])'"
        );
        let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
        let plan = Plan::new(&kernels[0], &kernels[0].targets[0]);
        let axes = [batch, m, n, k].map(|extent| extent as i64);
        let gemm = gemm_of(&plan, &axes).expect("a product");
        let dtype = (plan.spec.tensors[0].dtype, plan.spec.tensors[2].dtype);
        let small = |seed: usize| move |at: usize| (((at * 2_654_435_761 + seed) >> 7) % 5) as f64 - 2.0;
        let (x, w) = (small(1), small(77));
        let x_at =
            |z: usize, i: usize, l: usize| if x_last { (z * m + i) * k + l } else { (z * k + l) * m + i };
        let w_at =
            |z: usize, j: usize, l: usize| if w_last { (z * n + j) * k + l } else { (z * k + l) * n + j };
        let mut expected = vec![0; element::bytes(dtype.1, batch * m * n)];
        for at in 0..batch * m * n {
            let (z, i, j) = (at / (m * n), at / n % m, at % n);
            let sum: f64 = (0..k).map(|l| x(x_at(z, i, l)) * w(w_at(z, j, l))).sum();
            element::write(dtype.1, &mut expected, at, sum);
        }
        let stored = |count: usize, value: &dyn Fn(usize) -> f64| {
            let mut bytes = vec![0; element::bytes(dtype.0, count)];
            (0..count).for_each(|at| element::write(dtype.0, &mut bytes, at, value(at)));
            bytes
        };
        let inputs = [stored(batch * m * k, &x), stored(batch * n * k, &w)];
        Self { gemm, dtype, inputs, expected }
    }

    fn check(&self, library: &std::rc::Rc<CublasLt>) {
        let [x, w] = self.inputs.each_ref().map(|bytes| upload(bytes));
        let d = upload(&vec![0xff; self.expected.len()]);
        let workspace = Workspace { at: upload(&vec![0; WORKSPACE_BYTES as usize]), bytes: WORKSPACE_BYTES };
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).expect("a stream");
        let slots = vec![Slot::of(&self.gemm, &[x, w, d]).expect("addresses"); 3];
        let mut product = Product::new(library, &self.gemm, workspace, &slots)
            .unwrap_or_else(|error| panic!("{:?} {:?}: {error}", self.dtype, self.gemm));
        // SAFETY: all addresses are of live allocations of the described sizes, in the current context.
        let tuned = unsafe { product.tune(stream, &slots) }.expect("it is timed");
        println!("    {:?}, batch {}: {tuned:?}", self.dtype, self.gemm.batch);
        let mut found = vec![0_u8; self.expected.len()];
        // SAFETY: as above; the stream is waited for before the result is read.
        unsafe {
            result::memset_d8_sync(d, 0xff, found.len()).expect("set");
            product.launch(stream, &slots[0]).expect("it runs");
            result::stream::synchronize(stream).expect("it ends");
            result::memcpy_dtoh_sync(&mut found, d).expect("read");
            [x, w, d, workspace.at].into_iter().for_each(|at| result::free_sync(at).expect("freed"));
            result::stream::destroy(stream).expect("destroyed");
        }
        assert!(found == self.expected, "{:?} {:?}", self.dtype, self.gemm);
        assert!(tuned.fastest_ns <= tuned.first_ns && tuned.ran > 0, "{tuned:?}");
    }
}

fn upload(bytes: &[u8]) -> CUdeviceptr {
    // SAFETY: a fresh allocation of that many bytes.
    unsafe {
        let at = result::malloc_sync(bytes.len()).expect("memory");
        result::memcpy_htod_sync(at, bytes).expect("copied");
        at
    }
}

const AXES: [i64; 2] = [256, 1024];

const LAUNCHES_LEAST: u32 = 64;

/// Inputs of the usual spec, in two slots.
fn drawn(axes: &[i64]) -> Vec<Vec<Option<Vec<u8>>>> {
    let draw = |seed| contents(&bench::spec(), seed, axes, Distribution::Normal).expect("drawn");
    vec![draw(3), draw(4)]
}

/// A block over a rotation that exceeds the cache; its launches.
fn prepared(peer: &mut Peer, what: What, axes: &[i64], folder: &Path) -> (Prepared, u32) {
    let (spec, drawn) = (bench::spec(), drawn(axes));
    let contents: Vec<&[Option<Vec<u8>>]> = drawn.iter().map(Vec::as_slice).collect();
    let inputs = Inputs { axes, scalars: &[], slots: &contents };
    let slots = slots(&spec, axes, peer.ready().l2_bytes).expect("sizes");
    let launches = slots.max(LAUNCHES_LEAST);
    let written = write(&spec, &inputs, folder).expect("written");
    let asked = describe(&spec, &written, what, (slots, launches), folder);
    (peer.prepare(&asked, PATIENCE).unwrap_or_else(|stopped| panic!("{stopped}")), launches)
}

fn torch_agrees_with_the_spec() {
    let (mut peer, spec) = (peer(), bench::spec());
    println!("    {:?}", peer.ready());
    let expected = expected(&AXES);
    for mode in [Mode::Eager, Mode::Compile, Mode::CompileMaxAutotune] {
        let folder = tempfile::tempdir().expect("a folder");
        let text = "torch.nn.functional.silu(g.float()).mul(x.float()).to(x.dtype)".to_owned();
        let what = What::Expression { text, mode };
        let (prepared, launches) = prepared(&mut peer, what, &AXES, folder.path());
        let found = agreement(&spec, &AXES, &expected, &prepared).expect("it can be read");
        let ns = peer.time().expect("a time");
        println!(
            "    {mode:?}: {found:?}, {ns} ns a block of {launches}, prepared in {} ms",
            prepared.took_ms
        );
        assert!(matches!(found, Agreement::Within { .. }), "{mode:?}: {found:?}");
        assert!(ns > u64::from(launches) * 400, "{launches} launches take longer than {ns} ns");
    }
}

fn expected(axes: &[i64]) -> Vec<Option<Expected>> {
    let reference = Reference::load(&fixtures::reference()).expect("it loads");
    let inputs: Vec<Vec<u8>> = drawn(axes)[0].iter().flatten().cloned().collect();
    let elements = axes.iter().product::<i64>() as usize;
    let call =
        Call { inputs: &inputs, axes, scalars: &[], outputs: &[elements], exact: false, sampled: None };
    vec![None, None, Some(reference.call(&call).remove(0))]
}

fn a_cubin_is_as_fast_in_one_peer_worker_as_in_another() {
    let mut workers = two_workers();
    prepare_cubin(&mut workers, &AXES);
    let [one, other] = &mut workers;
    let compared = compare(one, other, 100, 9).expect("timed");
    println!("    {compared:?}");
    assert!((compared.speedup - 1.0).abs() <= 0.01, "{compared:?}");
}

pub(crate) fn two_workers() -> [Peer; 2] {
    [peer(), peer()]
}

/// Makes both workers ready to time the honest cubin, which each has launched and had compared.
pub(crate) fn prepare_cubin(workers: &mut [Peer; 2], axes: &[i64]) {
    let (spec, candidate, expected) = (bench::spec(), bench::honest(), expected(axes));
    for worker in workers {
        let folder = tempfile::tempdir().expect("a folder");
        let cubin = Cubin::of(&spec, &candidate.artifact, &candidate.contract, axes, &[], worker.ready());
        let what = What::Cubin(cubin.expect("launches"));
        let (prepared, _) = prepared(worker, what, axes, folder.path());
        let found = agreement(&spec, axes, &expected, &prepared).expect("it can be read");
        assert!(matches!(found, Agreement::Within { .. }), "{found:?}");
    }
}
