//! Rows of 2^22 columns: bounds still tell right from wrong, and leave no room for a kernel that adds all terms of a row in one
//! chain.

use cutegen_build::evaluate::Distribution;
use cutegen_build::evaluate::judge::compare::{compare, is_conclusive};
use cutegen_build::evaluate::judge::element;
use cutegen_build::plan::Plan;
use cutegen_spec::dtype::DType;
use cutegen_spec::edition::spec_file;
use cutegen_spec::settings::Settings;

use super::{library, specs};

const ROWS: i64 = 2;
const COLUMNS: i64 = 1 << 22;

const SPECS: &str = "edition = 1
[kernels.layer_norm]
axes = { m = '1..=8', n = '1..=4194304' }
inputs = { x = 'f32[m, n]' }
outputs = { y = 'f32[m, n]' }
scalars = { eps = 'f32' }
math = 'y[m, n] = layer_norm(n, x[m, n], eps)'
[kernels.softmax]
axes = { m = '1..=8', n = '1..=4194304' }
inputs = { x = 'f32[m, n]' }
outputs = { y = 'f32[m, n]' }
math = 'y[m, n] = softmax(n, x[m, n])'
[kernels.sum]
axes = { m = '1..=8', n = '1..=4194304' }
inputs = { x = 'f32[m, n]' }
outputs = { y = 'f32[m]' }
math = 'y[m] = sum(n, x[m, n])'
";

/// How many distributions may tell nothing.
const LOOSE: usize = 2;

#[test]
fn rows_of_millions_are_judged() {
    for spec in spec_file(SPECS, &Settings::default()).into_kernels().expect("right specs") {
        let plan = Plan::new(&spec, &spec.targets[0]);
        let (reference, name) = (library::reference(&plan), spec.name.to_string());
        let (mut loose, mut caught) = (Vec::new(), Vec::new());
        for distribution in specs::distributions(&plan) {
            let drawn = specs::draw(&plan, &reference, &[ROWS, COLUMNS], distribution, 7);
            let expected = drawn.expected[1].as_ref().expect("an output");
            if !is_conclusive(DType::F32, expected) {
                loose.push(distribution);
            }
            let x = drawn.contents[0].as_deref().expect("an input");
            let found = chained(&name, x, drawn.scalars.first().copied().unwrap_or(0.0) as f32);
            if compare(DType::F32, &found, expected).wrong.is_some() {
                caught.push(distribution);
            }
        }
        println!("{name}: nothing is told by {loose:?}, a chain falls to {caught:?}");
        let needed = [Distribution::Normal, Distribution::LargeMean];
        assert!(loose.len() <= LOOSE && !needed.iter().any(|d| loose.contains(d)), "{name}: {loose:?}");
        assert!(
            caught.iter().any(|d| !matches!(d, Distribution::Specials | Distribution::PairedSpecials)),
            "{name}"
        );
    }
}

/// The output of a kernel that adds all terms of a row one after another in f32.
fn chained(name: &str, x: &[u8], eps: f32) -> Vec<u8> {
    let row = |row: i64| {
        let at = |j: i64| element::read(DType::F32, x, (row * COLUMNS + j) as usize) as f32;
        let values: Vec<f32> = (0..COLUMNS).map(at).collect();
        let sum = |of: &dyn Fn(f32) -> f32| values.iter().fold(0.0_f32, |sum, x| sum + of(*x));
        let n = COLUMNS as f32;
        match name {
            "sum" => vec![sum(&|x| x)],
            "softmax" => {
                let top = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let total = sum(&|x| (x - top).exp());
                values.iter().map(|x| (x - top).exp() / total).collect()
            }
            _ => {
                let mean = sum(&|x| x) / n;
                let variance = sum(&|x| (x - mean) * (x - mean)) / n;
                values.iter().map(|x| (x - mean) / (variance + eps).sqrt()).collect()
            }
        }
    };
    (0..ROWS).flat_map(row).flat_map(f32::to_le_bytes).collect()
}
