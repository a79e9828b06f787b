//! Why templates have nothing for a plan, in words: the first thing that each kernel of that sort lacks. Whether they have
//! anything, the templates themselves say.

use cutegen_spec::arch::Feature;
use cutegen_spec::dtype::DType;
use cutegen_spec::math::Kind;
use cutegen_spec::spec::Multiply;
use cutegen_spec::tensor::{Role, Tensor};

use super::device;
use crate::plan::Plan;
use crate::plan::family::{Family, lacking};
use crate::plan::matmul::Matmul;
use crate::plan::schedule::Value;

/// Of a plan without candidates, of whose parts this one has none either.
pub(super) fn reason(plan: &Plan, part: Option<&Plan>) -> String {
    let is_general = |plan: &Plan| matches!(plan.family, Family::General { .. });
    match part.filter(|part| is_general(plan) && !is_general(part)) {
        Some(part) => {
            format!("{}, and of its parts the {} has none: {}", whole(plan), part.family.name(), whole(part))
        }
        None => whole(plan),
    }
}

fn whole(plan: &Plan) -> String {
    let of_family = match (&plan.family, plan.target.is_host()) {
        (Family::General { why, .. }, _) => return format!("it is general: {why}"),
        (Family::Window, _) => Some("windows have no template yet"),
        (Family::Scan { .. }, true) => Some("scans have none for the host yet"),
        (Family::Contraction { .. } | Family::Elementwise { .. } | Family::Rowwise { .. }, _)
        | (Family::Scan { .. }, false) => None,
    };
    let text = of_family.map(str::to_owned).or_else(|| precision(plan)).or_else(|| feature(plan));
    let text = text
        .or_else(|| if plan.target.is_host() { lacking(&plan.spec, &plan.schedule) } else { tensor(plan) });
    text.unwrap_or_else(|| steps(plan).to_owned())
}

fn precision(plan: &Plan) -> Option<String> {
    let precision = &plan.spec.precision;
    match precision.multiply {
        _ if precision.accumulate != DType::F32 => {
            Some(format!("it accumulates in {}, templates in f32", precision.accumulate))
        }
        Multiply::Native => None,
        Multiply::Tf32 => Some("it multiplies in tf32".to_owned()),
    }
}

/// What its architecture lacks.
fn feature(plan: &Plan) -> Option<String> {
    let arch = plan.target.arch()?;
    let of_products = || matches!(plan.family, Family::Contraction { .. }).then_some(Feature::Wgmma);
    let lacking = device::lacking(plan)
        .or_else(|| of_products().filter(|feature| is_f32(plan) && !arch.has(*feature)))?;
    Some(format!("{} has no {}", arch.name(), lacking.name()))
}

/// Whether its factors are f32, which wgmma alone multiplies.
fn is_f32(plan: &Plan) -> bool {
    let matmul = Matmul::of(&plan.spec, &plan.schedule);
    matmul.is_some_and(|matmul| plan.spec.tensors[matmul.a().tensor].dtype == DType::F32)
}

/// The first tensor that those of devices cannot hold.
fn tensor(plan: &Plan) -> Option<String> {
    let rows = matches!(plan.family, Family::Rowwise { .. });
    let why = |tensor: &Tensor| match tensor.dtype {
        DType::F64 => Some("f64".to_owned()),
        dtype if dtype.bits() < 8 => Some(format!("{dtype}: packed")),
        _ if tensor.role == Role::Inout && rows => Some("written in place".to_owned()),
        _ => None,
    };
    plan.spec.tensors.iter().find_map(|tensor| Some(format!("tensor `{}` is {}", tensor.name, why(tensor)?)))
}

fn steps(plan: &Plan) -> &'static str {
    let outputs = plan.spec.tensors_with(Role::Output).count();
    let is_exact = plan.schedule.steps.iter().any(|step| match &step.value {
        Value::Reduce { body, .. } => body.kind(&|place| plan.schedule.kind(&plan.spec, place)) != Kind::Real,
        Value::Map(_) | Value::Scan { .. } => false,
    });
    match (&plan.family, plan.target.is_host()) {
        (_, true) if outputs > 1 => "it has several outputs",
        (Family::Contraction { .. }, true) => {
            "it is not one product of matrices, `[m, k]` by `[n, k]` or `[k, n]`"
        }
        (Family::Rowwise { .. }, true) => {
            "it is not sums, maxima or minima of rows of one axis, and maps of the rows"
        }
        (_, true) => "its tensors have not all one shape",
        (Family::Contraction { .. }, false) => products(plan),
        (Family::Rowwise { .. }, false) if is_exact => "it reduces integers or conditions, templates reals",
        (Family::Rowwise { .. }, false) => "its steps are not all over the same rows",
        (Family::Scan { .. }, false) => "it is more than one scan along the last axis and maps of its result",
        _ => "its outputs have different loops, or an access that no vector has",
    }
}

/// What a contraction has that those of devices have not.
fn products(plan: &Plan) -> &'static str {
    let Some(matmul) = Matmul::of(&plan.spec, &plan.schedule) else {
        return "it is not one sum of products of two tensors, or a pair that shares one, and maps of it";
    };
    let dtype = |tensor: usize| plan.spec.tensors[tensor].dtype;
    let a = dtype(matmul.a().tensor);
    let same = matmul.products.iter().all(|product| dtype(product.b.tensor) == a);
    match a {
        _ if !same => "its factors have different types",
        DType::Bf16 | DType::F16 => "its outputs have different loops, or an access that no vector has",
        DType::F32 => {
            "its outputs have different loops, or an f32 factor is contiguous along none of its dimensions"
        }
        _ => "its factors are neither bf16, f16 nor f32",
    }
}

#[cfg(test)]
mod tests {
    use cutegen_spec::edition::spec_file;
    use cutegen_spec::target::Target;

    use crate::generate::template::unfilled;
    use crate::plan::Plan;

    fn plan(target: &str, kernel: &str) -> Plan {
        plan_of(target, "1..=64", kernel)
    }

    /// With so many rows.
    fn plan_of(target: &str, m: &str, kernel: &str) -> Plan {
        let text = format!("edition = 1\n[kernels.k]\naxes = {{ m = '{m}', d = 128, e = 64 }}\n{kernel}");
        let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
        Plan::new(&kernels[0], &Target::parse(target).expect("a target"))
    }

    fn told(target: &str, kernel: &str) -> Option<String> {
        unfilled(&plan(target, kernel))
    }

    /// Row sums of this type to that one.
    fn sums(from: &str, to: &str) -> String {
        let tensors = format!("inputs = {{ x = '{from}[m, d]' }}\noutputs = {{ y = '{to}[m]' }}\n");
        tensors + "math = 'y[m] = sum(d, x[m, d])'"
    }

    #[test]
    fn what_has_candidates_has_no_reason() {
        assert_eq!(told("sm_90a", &sums("f32", "f32")), None);
        let map =
            "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[m, d]' }\nmath = 'y[m, d] = x[m, d] + 1'";
        assert_eq!((told("host", map), told("sm_90a", map)), (None, None));
    }

    #[test]
    fn an_alias_or_a_difference_costs_no_template() {
        let told = |target: &str, axes: &str, kernel: &str| {
            let text = format!("edition = 1\n[kernels.k]\naxes = {{ {axes} }}\n{kernel}");
            let kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
            unfilled(&Plan::new(&kernels[0], &Target::parse(target).expect("a target")))
        };
        let square = "inputs = { a = 'f32[m, k]', b = 'f32[k, n]' }\noutputs = { y = 'f32[m, n]' }\n\
                      math = 'y[m, n] = sum(k, a[m, k] * b[k, n])'";
        assert_eq!(told("host", "m = '1..=64', n = 'm', k = 'm'", square), None);
        let norm = "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[m, d]' }\n\
                    math = 'y[m, d] = x[m, d] / sqrt(sum(e, x[m, e] * x[m, e]))'";
        let axes = "m = '1..=64', d = 32, e = 'd'";
        assert_eq!((told("host", axes, norm), told("sm_90a", axes, norm)), (None, None));
        let causal = "inputs = { x = 'f32[b, s, t]' }\noutputs = { y = 'f32[b, s, t]' }\nscalars = { slope = 'f32' }\n\
                      math = 'y[b, s, t] = softmax(t, where(t <= s, x[b, s, t] + slope * (t - s), -inf))'";
        assert_eq!(told("sm_90a", "b = 2, s = '1..=64', t = 's'", causal), None);
    }

    #[test]
    fn the_first_thing_that_is_lacking_is_told() {
        let is = |target: &str, kernel: &str, why: &str| {
            assert_eq!(told(target, kernel).as_deref(), Some(why), "{kernel}");
        };
        is("sm_90a", &sums("f64", "f64"), "it accumulates in f64, templates in f32");
        is("sm_90a", &sums("i32", "i32"), "it reduces integers or conditions, templates reals");
        let wanted = "tensor `x` is i32: those of the host want floats of 16 bits and more";
        is("host", &sums("i32", "i32"), wanted);
        let place = "inputs = { x = 'f32[m, d]' }\ninout = { c = 'f32[m]' }\n\
                     math = 'c[m] = c[m] * sum(d, x[m, d])'";
        assert_eq!(plan("sm_90a", place).family.name(), "rowwise");
        assert_eq!(told("sm_90a", place), None, "its second part is a map");
        let chosen = "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[m, d]' }\n\
                      math = 'y[m, d] = where(x[m, d] > 0, x[m, d], 0)'";
        is("host", chosen, "it has `where`, which those of the host have not");
        assert_eq!(told("sm_90a", chosen), None);
        let counted =
            "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[m, d]' }\nmath = 'y[m, d] = x[m, d] * d'";
        is("host", counted, "it has an integer other than an extent, which those of the host have not");
        is(
            "host",
            &sums("f32", "f32"),
            "it is not sums, maxima or minima of rows of one axis, and maps of the rows",
        );
        let product = "inputs = { x = 'f32[m, d]', w = 'f32[e, d]' }\noutputs = { y = 'f32[m, e]' }\n\
                       math = 'y[m, e] = sum(d, x[m, d] * w[e, d])'";
        assert_eq!(told("host", product), None);
        assert_eq!(told("sm_90a", product), None);
        assert_eq!(told("sm_90a", &product.replace("f32", "bf16")), None);
        let bytes = product.replace("x = 'f32", "x = 'f8e4m3").replace("w = 'f32", "w = 'f8e4m3");
        is("sm_90a", &bytes, "its factors are neither bf16, f16 nor f32");
        let strided =
            product.replace("w = 'f32[e, d]'", "w = { type = 'f32[e, d]', strides = ['2 * d', 2] }");
        is(
            "sm_90a",
            &strided,
            "its outputs have different loops, or an f32 factor is contiguous along none of its dimensions",
        );
        let other = product.replacen("f32", "bf16", 1).replacen("f32", "f16", 1);
        is("sm_90a", &other, "its factors have different types");
        assert_eq!(told("sm_80", product), None, "few rows need no tensor cores");
        let many = unfilled(&plan_of("sm_80", "9..=64", product));
        assert_eq!(many.as_deref(), Some("sm_80 has no wgmma"));
        assert_eq!(told("sm_80", &product.replace("f32", "bf16")), None);
        is("sm_86", &sums("f8e4m3", "f32"), "sm_86 has no conversions of 8-bit floats");
        is(
            "sm_80",
            &sums("f32", "f32").replace("x[m, d])", "cast(f8e5m2, x[m, d]))"),
            "sm_80 has no conversions of 8-bit floats",
        );
        assert_eq!(told("sm_89", &sums("f8e4m3", "f32")), None);
        let three = "inputs = { x = 'bf16[m, d]', w = 'bf16[e, d]', s = 'bf16[d]' }\noutputs = { y = 'bf16[m, e]' }\n\
                     math = 'y[m, e] = sum(d, x[m, d] * w[e, d] * s[d])'";
        let why = "it is not one sum of products of two tensors, or a pair that shares one, and maps of it";
        is("sm_90a", three, why);
        let general = "inputs = { x = 'f32[m, d]' }\noutputs = { y = 'f32[m]' }\n\
                       math = 'y[m] = sum(d, x[m, d]) * max(e, x[m, m + e])'";
        assert!(told("sm_90a", general).is_some_and(|why| why.ends_with("windows have no template yet")));
    }
}
