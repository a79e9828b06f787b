//! Lanes of accesses as specs have them.

use cutegen_spec::edition::spec_file;
use cutegen_spec::math::Place;

use super::{Lanes, Vectors};

/// Where lanes of vectors of 8 columns find the one load of `y[m, d] = ...`.
fn address(tensors: &str, load: &str, assumed: &[usize]) -> Option<Lanes> {
    let text = format!(
        "edition = 1\n[kernels.k]\naxes = {{ m = '1..=64', d = 128, n = '1..=64', h = 'n / 2' }}\n\
         inputs = {{ {tensors} }}\noutputs = {{ y = 'f32[m, d]' }}\nmath = 'y[m, d] = {load}'"
    );
    let mut kernels = spec_file(&text, &Default::default()).into_kernels().expect("right specs");
    let spec = kernels.remove(0);
    let inner = *spec.math.assigns[0].vars.last().expect("a column");
    let vectors = Vectors { spec: &spec, inner, width: 8, assumed: assumed.to_vec() };
    let mut found = None;
    spec.math.assigns[0].value.visit(&mut |expr| {
        if let cutegen_spec::math::Expr::Load(place @ Place::Tensor(_), index) = expr {
            found = Some(vectors.address(*place, index));
        }
    });
    found.expect("a load")
}

fn offsets(tensors: &str, load: &str) -> Vec<i64> {
    address(tensors, load, &[]).expect("lanes").offsets().to_vec()
}

#[test]
fn lanes_of_common_accesses() {
    assert_eq!(offsets("x = 'f32[m, d]'", "x[m, d]"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(offsets("x = 'f32[m]'", "x[m]"), [0; 8]);
    assert_eq!(offsets("x = 'f32[m, 64]'", "x[m, d / 2]"), [0, 0, 1, 1, 2, 2, 3, 3]);
    assert_eq!(offsets("x = 'f32[m, d]'", "x[m, d / 2 * 2 + 1 - d % 2]"), [1, 0, 3, 2, 5, 4, 7, 6]);
    assert_eq!(offsets("x = 'f32[m, d]'", "x[m, (d + 64) % 128]"), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(offsets("x = 'f32[m, 2 * d]'", "x[m, 2 * d + 1]"), [1, 3, 5, 7, 9, 11, 13, 15]);
    assert_eq!(offsets("x = 'f32[m, 2]'", "x[m, d / 64]"), [0; 8]);
}

#[test]
fn lanes_that_differ_by_more_than_constants_are_none() {
    let table = "i = { type = 'i32[d]', range = '0..128' }, x = 'f32[m, d]'";
    assert_eq!(address(table, "x[m, i[d]]", &[]), None);
    assert_eq!(address("x = 'f32[m, d]'", "x[m, (d + 3) % 128]", &[]), None);
    assert_eq!(address("x = 'f32[d, m]'", "x[d, m]", &[]), None);
}

#[test]
fn alignment_follows_from_extents() {
    let divisor = |tensors, load, assumed: &[usize]| {
        address(tensors, load, assumed).map(|lanes| lanes.divisor()).expect("lanes")
    };
    assert_eq!(divisor("x = 'f32[m, d]'", "x[m, d]", &[]), 8);
    assert_eq!(divisor("x = 'f32[m, 130]'", "x[m, d + 2]", &[]), 2);
    assert_eq!(divisor("x = 'f32[m, d + n]'", "x[m, d]", &[]), 1);
    assert_eq!(divisor("x = 'f32[m, d + n]'", "x[m, d]", &[2]), 8);
}
