//! Where kernels are cut, and what passes from part to part.

use cutegen_spec::dtype::DType;
use cutegen_spec::edition::spec_file;
use cutegen_spec::math::Place;
use cutegen_spec::target::Target;
use cutegen_spec::tensor::Role;

use super::{Part, split};
use crate::plan::Plan;
use crate::plan::family::Family;
use crate::plan::matmul::Matmul;

fn plan(kernel: &str) -> Plan {
    let text = format!("edition = 1\n[kernels.k]\n{kernel}");
    let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
    Plan::new(&kernels[0], &Target::parse("sm_90a").expect("a target"))
}

/// What stands for templates here.
fn is_of_one_family(plan: &Plan) -> bool {
    match &plan.family {
        Family::Contraction { .. } => Matmul::of(&plan.spec, &plan.schedule).is_some(),
        Family::Rowwise { rows, .. } => rows.is_some(),
        Family::Elementwise { .. } | Family::Scan { .. } => true,
        Family::Window | Family::General { .. } => false,
    }
}

fn parts(kernel: &str) -> Vec<Part> {
    split(&plan(kernel), &is_of_one_family).expect("parts")
}

/// `contraction x w -> temp0`, for each part.
fn told(parts: &[Part]) -> Vec<String> {
    let one = |part: &Part| {
        let names = |role: Role| {
            let tensors = part.plan.spec.tensors.iter().filter(|tensor| tensor.role == role);
            tensors.map(|tensor| format!(" {}", tensor.name)).collect::<String>()
        };
        let (given, placed) = (names(Role::Input), names(Role::Inout));
        format!("{}{given}{placed} ->{}", part.plan.family.name(), names(Role::Output))
    };
    parts.iter().map(one).collect()
}

const AXES: &str = "axes = { m = '1..=64', n = 64, k = 32, k2 = 'k', o = 16 }\n";

fn of(tensors: &str, math: &str) -> Vec<Part> {
    parts(&format!("{AXES}{tensors}\nmath = '''\n{math}\n'''"))
}

const TWO: &str =
    "inputs = { x = 'f32[m, k]', w = 'f32[n, k]', v = 'f32[o, n]' }\noutputs = { y = 'f32[m, o]' }";
const PRODUCT: &str =
    "inputs = { x = 'f32[m, k]', w = 'f32[n, k]', b = 'f32[n]' }\noutputs = { y = 'f32[m, n]' }";

#[test]
fn a_product_and_its_softmax() {
    let found = of(PRODUCT, "t[m, n] = sum(k, x[m, k] * w[n, k]) + b[n]\ny[m, n] = softmax(n, t[m, n])");
    assert_eq!(told(&found), ["contraction x w -> temp0", "rowwise b temp0 -> y"]);
    let between = &found[0].plan.spec.tensors[2];
    assert_eq!((between.dtype, between.dims.len(), between.constant), (DType::F32, 2, false));
}

#[test]
fn what_a_product_multiplies_is_held() {
    let math = "c[m, k] = x[m, k] - mean(k2, x[m, k2])\ny[m, n] = sum(k, c[m, k] * w[n, k]) + b[n]";
    assert_eq!(told(&of(PRODUCT, math)), ["rowwise x -> temp2", "contraction w b temp2 -> y"]);
    let two = "t[m, n] = relu(sum(k, x[m, k] * w[n, k]))\ny[m, o] = sum(n, t[m, n] * v[o, n])";
    let found = of(TWO, two);
    assert_eq!(told(&found), ["contraction x w -> temp2", "contraction v temp2 -> y"]);
}

#[test]
fn what_a_kernel_may_round_is_passed_rounded() {
    let math = "t[m, n] = relu(sum(k, x[m, k] * w[n, k]))\ny[m, o] = sum(n, t[m, n] * v[o, n])";
    let dtypes = |intermediates: &str| {
        let found = of(&format!("{TWO}\n{intermediates}"), math);
        let outputs = found.iter().flat_map(|part| &part.plan.spec.tensors);
        outputs.filter(|tensor| tensor.role == Role::Output).map(|tensor| tensor.dtype).collect::<Vec<_>>()
    };
    assert_eq!(dtypes("intermediates = { t = 'bf16' }"), [DType::Bf16, DType::F32]);
    assert_eq!(dtypes(""), [DType::F32, DType::F32], "rounded only where the spec allows it");
}

#[test]
fn as_few_parts_as_fit() {
    let one = of(PRODUCT, "y[m, n] = gelu(sum(k, x[m, k] * w[n, k]) + b[n])");
    assert_eq!(told(&one), ["contraction x w b -> y"]);
    let math = "t[m, n] = sum(k, x[m, k] * w[n, k])\nc[n] = mean(m, t[m, n])\n\
                y[m, n] = softmax(n, t[m, n] + b[n] - c[n])";
    let three = of(PRODUCT, math);
    assert_eq!(
        told(&three),
        ["contraction x w -> temp0", "rowwise temp0 -> temp1", "rowwise b temp0 temp1 -> y"]
    );
    assert_eq!(three[2].places, [Place::Tensor(2), Place::Temp(0), Place::Temp(1), Place::Tensor(3)]);
}

#[test]
fn what_lowering_holds_twice_is_one() {
    let math = "t[m, n] = sum(k, x[m, k] * w[n, k])\nv[n] = mean(m, t[m, n] * t[m, n])\n\
                y[m, n] = softmax(n, t[m, n] * rsqrt(v[n] + b[n]))";
    let found = of(PRODUCT, math);
    assert_eq!(
        told(&found),
        ["contraction x w -> temp0", "rowwise b temp0 -> temp1 temp2", "rowwise b temp0 temp1 temp2 -> y"]
    );
}

#[test]
fn a_scan_is_written_as_it_was() {
    for bound in ["j <= n", "j < n", "j >= n", "j > n"] {
        let tensors = "inputs = { x = 'f32[m, n]' }\noutputs = { y = 'f32[m]' }";
        let math = format!("c[m, n] = sum({bound}, x[m, j])\ny[m] = sum(n, c[m, n] * c[m, n])");
        let whole =
            plan(&format!("axes = {{ m = '1..=64', n = 64, j = 'n' }}\n{tensors}\nmath = '''\n{math}\n'''"));
        let parts = split(&whole, &|part| part.schedule.steps.len() <= 2).expect("parts");
        assert_eq!(parts[0].plan.schedule.steps[0].value, whole.schedule.steps[0].value, "{bound}");
    }
}

#[test]
fn the_step_that_fits_nowhere_is_told() {
    let tensors = "inputs = { x = 'f32[m, n]' }\noutputs = { y = 'f32[m, k]' }";
    let math = "s[m] = sum(n, x[m, n])\ny[m, k] = s[m] * sum(o, x[m, k + o])";
    let whole = plan(&format!("{AXES}{tensors}\nmath = '''\n{math}\n'''"));
    let lacking = split(&whole, &is_of_one_family).expect_err("no template").expect("a kernel");
    assert_eq!(lacking.family, Family::Window);
}
