//! What `gemm_of` says is a plain matrix product, multiplied here as a BLAS library reads the description, against the
//! host reference of the spec: column-major addressing is written out again, from the library's documentation.

use std::collections::BTreeMap;

use cutegen_build::evaluate::Distribution;
use cutegen_build::evaluate::judge::{compare, element};
use cutegen_build::evaluate::wire::gemm::{Compute, Element, Gemm, Matrix, gemm_of};
use cutegen_build::plan::Plan;
use cutegen_spec::dtype::DType;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;

use super::report::CAP;
use super::{library, specs};

/// The specs of `kernel-specs/` that are plain products, and whether they have scales.
const PLAIN: [(&str, usize); 14] = [
    ("conv2d_pointwise", 0),
    ("gemm_batched_nn_bf16", 0),
    ("gemm_batched_nt_f32", 0),
    ("gemm_bf16", 0),
    ("gemm_f32", 0),
    ("gemm_fp8_tensor", 2),
    ("gemm_nn_bf16", 0),
    ("gemm_nt_bf16", 0),
    ("gemm_nt_f16", 0),
    ("gemm_tn_bf16", 0),
    ("gemv_nt_bf16", 0),
    ("gemv_nt_f32", 0),
    ("gemv_tn_bf16", 0),
    ("gemv_tn_f32", 0),
];

#[test]
fn plain_products_of_the_library_are_found_and_right() {
    let mut found = BTreeMap::new();
    for plan in library::all() {
        let shapes = library::telling_shapes(&plan, CAP);
        if gemm_of(&plan, &shapes[0]).is_none() {
            continue;
        }
        let reference = library::reference(&plan);
        for axes in &shapes {
            let gemm = gemm_of(&plan, axes).expect("at every shape");
            found.insert(plan.spec.name.to_string(), gemm.scales.len());
            for distribution in [Distribution::Normal, Distribution::OneHotLast] {
                check(&plan, &gemm, &specs::draw(&plan, &reference, axes, distribution, 11));
            }
        }
    }
    let plain: BTreeMap<String, usize> = PLAIN.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
    assert_eq!(found, plain);
}

/// Axes, tensors, the sum, then what the description must say.
struct Case {
    axes: &'static str,
    tensors: &'static str,
    math: &'static str,
    /// `m n k batch`, and the factors by tensor, `T` behind those that are transposed.
    says: &'static str,
    compute: Compute,
}

const CASES: &[Case] = &[
    Case {
        axes: "b = 3, c = 4, o = 5, h = 2, v = 6",
        tensors: "inputs = { x = 'f32[b, c, h, v]', w = 'f32[o, c]' }\noutputs = { y = 'f32[b, o, h, v]' }",
        math: "y[b, o, h, v] = sum(c, w[o, c] * x[b, c, h, v])",
        says: "12 5 4 3: 0 1",
        compute: Compute::F32,
    },
    Case {
        axes: "m = 5, n = 3, k = 7",
        tensors: "inputs = { x = 'f32[m, k]', w = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }",
        math: "y[m, n] = sum(k, x[m, k] * w[n, k])",
        says: "3 5 7 1: 1T 0",
        compute: Compute::F32,
    },
    Case {
        axes: "m = 5, n = 3, k = 7",
        tensors: "inputs = { x = 'f16[m, k]', w = 'f16[k, n]' }\noutputs = { y = 'f32[m, n]' }",
        math: "y[m, n] = sum(k, w[k, n] * x[m, k])",
        says: "3 5 7 1: 1 0",
        compute: Compute::F32,
    },
    Case {
        axes: "m = 5, n = 3, k = 7",
        tensors: "inputs = { x = 'bf16[k, m]', w = 'bf16[n, k]' }\noutputs = { y = 'bf16[m, n]' }",
        math: "y[m, n] = cast(bf16, sum(k, x[k, m] * w[n, k]))",
        says: "3 5 7 1: 1T 0T",
        compute: Compute::F32,
    },
    Case {
        axes: "m = 5, n = 3, k = 7",
        tensors: "inputs = { x = 'f64[k, m]', w = 'f64[k, n]' }\noutputs = { y = 'f64[n, m]' }",
        math: "y[n, m] = sum(k, x[k, m] * w[k, n])",
        says: "5 3 7 1: 0 1T",
        compute: Compute::F64,
    },
    Case {
        axes: "b = 2, c = 3, m = 5, n = 4, k = 7",
        tensors: "inputs = { x = 'f32[b, c, m, k]', w = 'f32[b, c, k, n]' }\noutputs = { y = 'f32[b, c, m, n]' }",
        math: "y[b, c, m, n] = sum(k, x[b, c, m, k] * w[b, c, k, n])",
        says: "4 5 7 6: 1 0",
        compute: Compute::F32,
    },
    Case {
        axes: "b = 2, s = 3, n = 4, k = 6, l = 2",
        tensors: "inputs = { x = 'f32[b, s, k, l]', w = 'f32[n, k, l]' }\noutputs = { y = 'f32[b, s, n]' }",
        math: "y[b, s, n] = sum((k, l), x[b, s, k, l] * w[n, k, l])",
        says: "4 6 12 1: 1T 0",
        compute: Compute::F32,
    },
    Case {
        axes: "b = 2, m = 5, n = 4, k = 7",
        tensors: "inputs = { x = 'f32[m, b, k]', w = 'f32[n, b, k]' }\noutputs = { y = 'f32[b, m, n]' }",
        math: "y[b, m, n] = sum(k, x[m, b, k] * w[n, b, k])",
        says: "4 5 7 2: 1T 0",
        compute: Compute::F32,
    },
    Case {
        axes: "m = 5, n = 3, k = 7",
        tensors: "inputs = { x = { type = 'f32[m, k]', strides = ['12', '1'] }, w = { type = 'f32[n, k]', strides = ['1', '4'] } }\n\
                  outputs = { y = { type = 'f32[m, n]', strides = ['9', '1'] } }",
        math: "y[m, n] = sum(k, x[m, k] * w[n, k])",
        says: "3 5 7 1: 1 0",
        compute: Compute::F32,
    },
    Case {
        axes: "m = 5, n = 3, k = 7",
        tensors: "inputs = { x = 'f32[m, k]', w = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }\nprecision = { multiply = 'tf32' }",
        math: "y[m, n] = sum(k, x[m, k] * w[n, k])",
        says: "3 5 7 1: 1T 0",
        compute: Compute::Tf32,
    },
    Case {
        axes: "m = 5, n = 3, k = 7",
        tensors: "inputs = { x = 'i8[m, k]', w = 'i8[n, k]' }\noutputs = { y = 'i32[m, n]' }",
        math: "y[m, n] = sum(k, x[m, k] * w[n, k])",
        says: "3 5 7 1: 1T 0",
        compute: Compute::I32,
    },
    Case {
        axes: "m = 1, n = 1, k = 7",
        tensors: "inputs = { x = 'f32[m, k]', w = 'f32[k, n]' }\noutputs = { y = 'f32[m, n]' }",
        math: "y[m, n] = sum(k, x[m, k] * w[k, n])",
        says: "1 1 7 1: 1T 0",
        compute: Compute::F32,
    },
    Case {
        axes: "m = 4, k = 7",
        tensors: "inputs = { x = 'f8e4m3[m, k]', w = 'f8e5m2[k]', s = 'f32[]' }\noutputs = { y = 'f16[m]' }",
        math: "y[m] = sum(k, x[m, k] * w[k]) * s[]",
        says: "4 1 7 1: 0T 1",
        compute: Compute::F32,
    },
];

fn plan(axes: &str, tensors: &str, math: &str) -> Plan {
    let text = format!("edition = 1\n[kernels.p]\naxes = {{ {axes} }}\n{tensors}\nmath = '''{math}'''");
    let kernels = spec_file(&text, &Settings::default()).into_kernels().expect("right specs");
    Plan::new(&kernels[0], &kernels[0].targets[0])
}

fn extents(plan: &Plan) -> Vec<i64> {
    plan.spec.bind(&BTreeMap::new()).expect("constant axes")
}

#[test]
fn every_order_of_indices_has_its_description() {
    for (number, case) in CASES.iter().enumerate() {
        let plan = plan(case.axes, case.tensors, case.math);
        let axes = extents(&plan);
        let gemm = gemm_of(&plan, &axes).unwrap_or_else(|| panic!("{}: no product", case.tensors));
        let factor = |x: &Matrix| format!("{}{}", x.tensor, if x.transposed { "T" } else { "" });
        let said = format!(
            "{} {} {} {}: {} {}",
            gemm.m,
            gemm.n,
            gemm.k,
            gemm.batch,
            factor(&gemm.a),
            factor(&gemm.b)
        );
        assert_eq!((said.as_str(), gemm.compute), (case.says, case.compute), "{}", case.tensors);
        let text = serde_json::to_string(&gemm).expect("prints");
        assert_eq!(serde_json::from_str::<Gemm>(&text).expect("reads"), gemm);
        let reference = library::reference(&plan);
        for distribution in [Distribution::Normal, Distribution::Integers] {
            check(&plan, &gemm, &specs::draw(&plan, &reference, &axes, distribution, number as u64));
        }
    }
}

#[test]
fn a_wrong_description_is_seen() {
    let case = &CASES[5];
    let plan = plan(case.axes, case.tensors, case.math);
    let axes = extents(&plan);
    let reference = library::reference(&plan);
    let drawn = specs::draw(&plan, &reference, &axes, Distribution::Normal, 3);
    let gemm = gemm_of(&plan, &axes).expect("a product");
    let swapped = |m: Matrix| Matrix { transposed: !m.transposed, ..m };
    for wrong in [
        Gemm { a: swapped(gemm.a), ..gemm.clone() },
        Gemm { b: Matrix { ld: gemm.b.ld - 1, ..gemm.b }, ..gemm.clone() },
        Gemm { a: Matrix { batch_stride: 0, ..gemm.a }, ..gemm.clone() },
        Gemm { k: gemm.k - 1, ..gemm.clone() },
        Gemm { n: gemm.n - 1, ..gemm.clone() },
    ] {
        assert!(!is_right(&plan, &wrong, &drawn), "{wrong:?}");
    }
    assert!(is_right(&plan, &gemm, &drawn));
}

#[test]
fn what_no_library_multiplies_is_none() {
    let none = |axes: &str, tensors: &str, math: &str| {
        let plan = plan(axes, tensors, math);
        assert_eq!(gemm_of(&plan, &extents(&plan)), None, "{tensors} {math}");
    };
    let (axes, sum) = ("m = 5, n = 3, k = 7", "y[m, n] = sum(k, x[m, k] * w[n, k])");
    let two = |x: &str, y: &str| {
        format!("inputs = {{ x = '{x}[m, k]', w = '{x}[n, k]' }}\noutputs = {{ y = '{y}[m, n]' }}")
    };
    none(axes, &two("f8e5m2", "f16"), sum);
    none(axes, &two("f8e4m3", "f8e4m3"), sum);
    none(axes, &two("f16", "bf16"), sum);
    none(axes, &two("f32", "bf16"), sum);
    none(axes, &(two("f32", "f32") + "\nprecision = { accumulate = 'f64' }"), sum);
    none(axes, &two("f32", "f32"), "y[m, n] = relu(sum(k, x[m, k] * w[n, k]))");
    none("m = 5, n = 3, k = 0", &two("f32", "f32"), sum);
    let scaled = "inputs = { x = 'f32[m, k]', w = 'f32[n, k]', s = 'f32[]' }\noutputs = { y = 'f32[m, n]' }";
    none(axes, scaled, "y[m, n] = s[] * sum(k, x[m, k] * w[n, k])");
    let apart = "inputs = { x = { type = 'f32[m, k]', strides = ['20', '2'] }, w = 'f32[n, k]' }\noutputs = { y = 'f32[m, n]' }";
    none(axes, apart, sum);
    let split = "inputs = { x = 'f32[c, b, m, k]', w = 'f32[n, k]' }\noutputs = { y = 'f32[b, m, c, n]' }";
    none("b = 2, c = 4, m = 5, n = 3, k = 7", split, "y[b, m, c, n] = sum(k, x[c, b, m, k] * w[n, k])");
}

fn check(plan: &Plan, gemm: &Gemm, drawn: &specs::Drawn) {
    assert!(
        is_right(plan, gemm, drawn),
        "{} {:?} {:?}\n{gemm:?}",
        plan.spec.name,
        drawn.axes,
        drawn.distribution
    );
}

/// Whether what the description multiplies is what the spec asks for, element by element.
fn is_right(plan: &Plan, gemm: &Gemm, drawn: &specs::Drawn) -> bool {
    let out = gemm.d.tensor;
    let tensor = &plan.spec.tensors[out];
    let expected = drawn.expected[out].as_ref().expect("an output");
    let mut written = vec![0xff; tensor.bytes(&drawn.axes).expect("it has a size") as usize];
    multiply(gemm, &drawn.contents, &mut written);
    let compared = compare::compare(tensor.dtype, &written, expected);
    compared.wrong.is_none() && compared.judged > 0
}

/// `D = scales * op(A) * op(B)` with every matrix column-major, as the library documents it; sums in f64.
fn multiply(gemm: &Gemm, contents: &[Option<Vec<u8>>], out: &mut [u8]) {
    let read = |matrix: &Matrix, at: usize| {
        let bytes = contents[matrix.tensor].as_ref().expect("an input");
        element::read(dtype(matrix.element), bytes, at)
    };
    let scale: f64 = gemm
        .scales
        .iter()
        .map(|s| element::read(DType::F32, contents[*s].as_ref().expect("an input"), 0))
        .product();
    for z in 0..gemm.batch as usize {
        for j in 0..gemm.n as usize {
            for i in 0..gemm.m as usize {
                let term =
                    |l: usize| read(&gemm.a, at(&gemm.a, z, i, l)) * read(&gemm.b, at(&gemm.b, z, l, j));
                let sum: f64 = (0..gemm.k as usize).map(term).sum();
                let to = z * gemm.d.batch_stride as usize + j * gemm.d.ld as usize + i;
                element::write(dtype(gemm.d.element), out, to, sum * scale);
            }
        }
    }
}

/// Where `op(matrix)(row, column)` of batch number `z` is stored.
fn at(matrix: &Matrix, z: usize, row: usize, column: usize) -> usize {
    let (row, column) = if matrix.transposed { (column, row) } else { (row, column) };
    z * matrix.batch_stride as usize + column * matrix.ld as usize + row
}

fn dtype(element: Element) -> DType {
    match element {
        Element::F64 => DType::F64,
        Element::F32 => DType::F32,
        Element::F16 => DType::F16,
        Element::Bf16 => DType::Bf16,
        Element::F8e4m3 => DType::F8e4m3,
        Element::F8e5m2 => DType::F8e5m2,
        Element::I8 => DType::I8,
        Element::I32 => DType::I32,
    }
}
