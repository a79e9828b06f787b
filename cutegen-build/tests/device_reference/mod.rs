//! The reference for devices against that for the host, by numbers: its kernels run on the host over a few lines that
//! stand for CUDA, on every kernel of the library and on what the library has little of. Functions are the same there,
//! so both must agree in every bit but where sums of errors may round otherwise.

mod device;
mod draws;
mod pieces;
mod sampled;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cutegen_build::evaluate::judge::inputs::draw_scalar;
use cutegen_build::evaluate::{Call, Distribution, Expected, Reference, contents};
use cutegen_build::plan::Plan;
use cutegen_build::print::reference::{DeviceReference, print_cuda};
use cutegen_spec::dtype::DType;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;
use cutegen_spec::target::Target;
use cutegen_spec::tensor::Role;

use crate::bound::library;
use crate::sample;
use device::Device;

/// Relative errors between the two: of values, and of bounds.
const VALUES: f64 = 1e-12;
const BOUNDS: f64 = 1e-6;

/// Of a bound: what sums in f64 lose of f32's, at most.
const ORDER: f64 = 1e-6;

/// Multiply-adds and elements at a shape.
const CAP: u64 = 1 << 16;

/// What is drawn, and whether sums are said to be exact.
const CASES: [(Distribution, bool); 5] = [
    (Distribution::Normal, false),
    (Distribution::Specials, false),
    (Distribution::Uniform, true),
    (Distribution::OneHotLast, false),
    (Distribution::LargeMean, false),
];

/// Both references of a plan.
struct Both<'a> {
    plan: &'a Plan,
    host: &'a Reference,
    device: Device,
}

impl Both<'_> {
    /// The first difference at any shape and distribution, and how many elements have several right values.
    fn compared(&self) -> Result<usize, String> {
        let mut several = 0;
        for (number, axes) in shapes(self.plan).iter().enumerate() {
            for (distribution, exact) in CASES {
                let found = self.case(axes, distribution, (number as u64, exact));
                several +=
                    found.map_err(|e| format!("{} at {axes:?}, {distribution}: {e}", self.plan.spec.name))?;
            }
        }
        Ok(several)
    }

    fn case(
        &self,
        axes: &[i64],
        distribution: Distribution,
        (seed, exact): (u64, bool),
    ) -> Result<usize, String> {
        let spec = &self.plan.spec;
        let drawn = contents(spec, seed, axes, distribution).expect("inputs can be drawn");
        let inputs: Vec<Vec<u8>> = drawn.into_iter().flatten().collect();
        let scalar = |(i, s)| draw_scalar(distribution, seed, i, s);
        let scalars: Vec<_> = spec.scalars.iter().enumerate().map(scalar).collect();
        let results = spec.tensors.iter().filter(|t| t.role != Role::Input);
        let outputs: Vec<usize> = results.map(|t| t.span(axes).expect("a size") as usize).collect();
        let call = Call { inputs: &inputs, axes, scalars: &scalars, outputs: &outputs, exact, sampled: None };
        let mut host = self.host.call(&call);
        host.iter_mut().flat_map(|e| e.also.values_mut()).for_each(|all| all.sort_by(f64::total_cmp));
        let device = self.device.call(self.device.serial(), spec, &call)?;
        for (result, (host, device)) in host.iter().zip(&device).enumerate() {
            difference(host, device).map_or(Ok(()), |e| Err(format!("result {result}: {e}")))?;
        }
        if distribution == Distribution::Normal {
            sampled::agrees(self, &call, [&host, &device])?;
        }
        if let Some(contract) = self.device.large() {
            let large = self.device.call(contract, spec, &call).map_err(|e| format!("large: {e}"))?;
            for (result, (host, large)) in host.iter().zip(&large).enumerate() {
                farther(host, large).map_or(Ok(()), |e| Err(format!("large: result {result}: {e}")))?;
            }
        }
        Ok(host.iter().map(|e| e.also.len()).sum())
    }
}

/// The shapes of a plan: for sums of products whole tiles, what is left of one, and less than one.
fn shapes(plan: &Plan) -> Vec<Vec<i64>> {
    match plan.spec.name.as_str() {
        "products" => {
            [[2, 66, 34, 18], [1, 64, 32, 32], [1, 1, 1, 17], [2, 3, 33, 40]].map(Vec::from).to_vec()
        }
        _ => library::telling_shapes(plan, CAP),
    }
}

fn difference(host: &Expected, device: &Expected) -> Option<String> {
    let near = |a: f64, b: f64, relative: f64| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= relative * a.abs().min(b.abs())
    };
    let touched = |e: &Expected, i| e.is_written(i);
    let differs = |i: &usize| {
        let values = touched(host, *i) && !near(host.value[*i], device.value[*i], VALUES);
        values || touched(host, *i) != touched(device, *i) || !near(host.bound[*i], device.bound[*i], BOUNDS)
    };
    let at = |i: usize| {
        let of = |e: &Expected| format!("{:e} +- {:e}", e.value[i], e.bound[i]);
        format!("element {i} is {} by the device, {} by the host", of(device), of(host))
    };
    let also = (host.also != device.also)
        .then(|| format!("{:?} are right as well by the device, {:?} by the host", device.also, host.also));
    (0..host.value.len()).find(differs).map(at).or(also)
}

/// The first element where sums in another order have another value than f64 rounds to, or a wider bound.
fn farther(host: &Expected, large: &Expected) -> Option<String> {
    let differs = |i: &usize| {
        let (value, bound) = (host.value[*i], host.bound[*i]);
        let apart = (value - large.value[*i]).abs();
        let same =
            value.to_bits() == large.value[*i].to_bits() || (value.is_nan() && large.value[*i].is_nan());
        let near = same || apart <= VALUES * value.abs() + ORDER * bound || bound == f64::INFINITY;
        // beside NaN and infinities a bound only tells whether they are judged
        let is_wider = if value.is_finite() {
            large.bound[*i] > bound * (1.0 + BOUNDS)
        } else {
            large.bound[*i].is_finite() != bound.is_finite()
        };
        !near || is_wider || host.is_written(*i) != large.is_written(*i)
    };
    let of = |e: &Expected, i: usize| format!("{:e} +- {:e}", e.value[i], e.bound[i]);
    let found = (0..host.value.len()).find(differs);
    found.map(|i| format!("element {i} is {} on tensor cores, {} one by one", of(large, i), of(host, i)))
}

/// `work` of every plan on all cores, and what it found wrong.
fn each(plans: &[Plan], work: impl Fn(&Plan) -> Result<usize, String> + Sync) -> (usize, Vec<String>) {
    let (next, found) = (AtomicUsize::new(0), Mutex::new((0, Vec::new())));
    let run = || {
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = work(plan);
            let mut found = found.lock().expect("no plan panicked");
            match result {
                Ok(several) => found.0 += several,
                Err(wrong) => found.1.push(wrong),
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run))));
    found.into_inner().expect("no plan panicked")
}

fn agree(plans: &[Plan]) -> usize {
    let (several, wrong) = each(plans, |plan| {
        let Some(printed) = print_cuda(plan) else {
            let is_wide = plan.spec.precision.accumulate == DType::F64;
            return if is_wide { Ok(0) } else { Err(format!("{}: has none for devices", plan.spec.name)) };
        };
        let host = library::reference(plan);
        let device = Device::new(printed, plan.spec.name.as_str());
        Both { plan, host: &host, device }.compared()
    });
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), plans.len(), wrong.join("\n"));
    several
}

/// The kernels of a text, for a GPU.
fn plans(text: &str) -> Vec<Plan> {
    let kernels = spec_file(text, &Settings::default()).into_kernels().expect("right specs");
    let target = Target::parse("sm_90a").expect("a target");
    kernels.iter().map(|spec| Plan::new(spec, &target)).collect()
}

const SPECS: &str = include_str!("specs.toml");
const FUNCTIONS: &str = include_str!("../../../tests/golden/specs/functions.toml");

#[test]
fn the_library_agrees() {
    agree(&sample::of(library::all(), |plan| plan.spec.name.to_string()));
}

#[test]
fn every_function_and_operator_agrees() {
    agree(&plans(FUNCTIONS));
}

#[test]
fn strides_scatter_packing_and_ties_agree() {
    let several = agree(&plans(SPECS));
    assert!(several > 20, "only {several} elements have several right values");
}

#[test]
fn what_only_the_host_can_has_no_kernels() {
    let kernel = |dtype: &str, math: &str| {
        let text = format!(
            "edition = 1\n[kernels.a]\naxes = {{ n = '1..=8', k = 'n' }}\ninputs = {{ x = '{dtype}[n]' }}\n\
             outputs = {{ y = '{dtype}[n]' }}\nmath = 'y[n] = {math}'"
        );
        print_cuda(&plans(&text)[0]).is_some()
    };
    assert!(kernel("f32", "argmax(k, x[k]) * x[n]"));
    assert!(!kernel("f64", "2 * x[n]"), "it accumulates in f64");
    assert!(!kernel("f32", "argmax(k <= n, x[k]) * x[n]"), "a running index");
}

/// A fault in the kernels of a spec: what stands there, and what instead.
type Fault = (&'static str, &'static str, &'static str);

const PLANTED: &[Fault] = &[
    ("strided", "out.v)", "-out.v)"),
    ("strided", "error_of(out)", "0.999 * error_of(out)"),
    ("strided", "bound1[i] = -1", "bound1[i] = 0"),
    ("strided", "v0 * (2 * a1)", "v0 * (1 * a1)"),
    ("scattered", " * constant(real(s0))) +", " * constant(real(s0))) -"),
    ("scattered", "int64_t(t1[v0])", "v0"),
    ("packed", "s.add(term(", "s.add(-term("),
    ("packed", "s.result(sum_scale)", "s.result(1)"),
    ("packed", "cg_load_i4", "cg_load_u4"),
    ("ties", "if (s.again(", "if (!s.again("),
    ("ties", "hand_over(others, 1, at,", "hand_over(others, 1, 0,"),
    ("ties", "(1);", "(-1);"),
    ("bounded", "v4 < end4", "v4 < a1"),
    ("bounded", "- w", "+ w"),
    ("decided", "cg_lt(", "cg_gt("),
    ("products", "row_factor, column_factor", "row_factor, row_factor"),
    (
        "products",
        "Extents{int64_t(1) * a0, int64_t(1) * a1,",
        "Extents{int64_t(1) * a0, int64_t(1) * a1 - 1,",
    ),
    (
        "products",
        "column_factor = [&](int64_t batch, int64_t column, int64_t k) {\n",
        "column_factor = [&](int64_t batch, int64_t column, int64_t k) {\n    k = k / 2 * 2;\n",
    ),
];

/// Faults in what makes sums of products: in all it has.
const PLANTED_IN_PRODUCTS: &[(&str, &str)] = &[
    ("k < size.depth; k += DEPTH", "k + DEPTH <= size.depth; k += DEPTH"),
    ("first + line < lines && k + at < depth", "first + line < lines"),
    ("magnitude.template add<true>", "magnitude.template add<false>"),
    ("error.template add<true>(a.v, b.e), ", ""),
    ("bits |= unsigned(v[line][at] != 0)", "bits |= unsigned(v[line][at] > 0)"),
    ("s.e = error.at[i], s.n = n[i]", "s.e = error.at[i], s.n = n[i] + 1"),
    ("tile / (down * across)", "0"),
    ("s.n = n[i]", "s.n = n[i] + (r == size.rows - 1 && c == size.columns - 1)"),
];

#[test]
fn a_planted_fault_is_found() {
    let plans = plans(SPECS);
    let mut survivors = Vec::new();
    for fault in PLANTED {
        if compared(&plans, fault).is_ok() {
            survivors.push(fault);
        }
    }
    assert!(survivors.is_empty(), "{survivors:?}");
}

#[test]
fn writing_past_an_end_is_found_and_harms_nothing() {
    let rows_apart = ("strided", "v0 * (2 * a1)", "v0 * (3 * a1)");
    let told = compared(&plans(SPECS), &rows_apart).expect_err("it ends outside");
    assert!(told.contains("writes past the end of part"), "{told}");
}

/// What the reference on the host says of kernels with a fault.
fn compared(plans: &[Plan], (name, right, wrong): &Fault) -> Result<usize, String> {
    let plan = plans.iter().find(|p| p.spec.name.as_str() == *name).expect("a spec");
    let printed = print_cuda(plan).expect("it has kernels");
    let planted = DeviceReference { source: planted(&printed.source, right, wrong), ..printed };
    let host = library::reference(plan);
    let device = Device::new(planted, &format!("{name} with {wrong}"));
    Both { plan, host: &host, device }.compared()
}

/// Of computed factors terms may repeat, and products vanish where no factor does: their bound takes a look at each.
#[test]
fn sums_of_what_is_computed_are_made_one_by_one() {
    let is_large = |inputs: &str, math: &str| {
        let text = format!(
            "edition = 1\n[kernels.a]\naxes = {{ m = '1..=64', n = 'm', k = 64 }}\ninputs = {{ {inputs} }}\n\
             outputs = {{ y = 'f32[m, n]' }}\nmath = '{math}'"
        );
        print_cuda(&plans(&text)[0]).expect("it has kernels").large.is_some()
    };
    let two = "x = 'f32[m, k]', w = 'bf16[n, k]'";
    assert!(is_large(two, "y[m, n] = exp(sum(k, x[m, k] * w[n, k]) * 0.3)"));
    assert!(!is_large(
        "x = 'f32[m, k]'",
        "mu[m] = mean(k, x[m, k]); y[m, n] = sum(k, (x[m, k] - mu[m]) * (x[n, k] - mu[n]))"
    ));
    assert!(!is_large(
        "x = 'bool[m, k]', w = 'bool[n, k]'",
        "y[m, n] = sum(k, where(x[m, k], 1.1, 0) * where(w[n, k], 1, 0))"
    ));
    assert!(!is_large(two, "y[m, n] = sum(k, exp(-x[m, k] * x[m, k]) * exp(-w[n, k] * w[n, k]))"));
}

#[test]
fn a_wrong_sum_of_products_is_crossed() {
    let plans = plans(SPECS);
    let plan = plans.iter().find(|p| p.spec.name.as_str() == "products").expect("a spec");
    let host = library::reference(plan);
    let mut survivors = Vec::new();
    for (right, wrong) in PLANTED_IN_PRODUCTS {
        let printed = print_cuda(plan).expect("it has kernels");
        assert!(printed.source.contains(right), "no `{right}`");
        let planted = DeviceReference { source: printed.source.replace(right, wrong), ..printed };
        let device = Device::new(planted, &format!("products with {wrong}"));
        match (Both { plan, host: &host, device }).compared() {
            Err(told) if told.contains("two ways to a sum differ") => {}
            found => survivors.push((wrong, found)),
        }
    }
    assert!(survivors.is_empty(), "{survivors:?}");
}

/// The text with the first `right` of its kernels made wrong.
fn planted(source: &str, right: &str, wrong: &str) -> String {
    let (rules, kernels) = source.split_at(source.find("extern \"C\"").expect("kernels"));
    assert!(kernels.contains(right), "no `{right}` in\n{kernels}");
    format!("{rules}{}", kernels.replacen(right, wrong, 1))
}

#[test]
fn many_small_things_are_done_to_memory() {
    pieces::are_done();
}

#[test]
fn inputs_are_drawn_as_on_the_host() {
    draws::agree();
}

#[test]
fn a_fault_in_what_draws_is_found() {
    draws::planted_faults_are_found();
}
