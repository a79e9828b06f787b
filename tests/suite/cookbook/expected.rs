//! What the kernels of the pages are to compute, from their inputs alone: loops over f64, written from the description
//! of each operation elsewhere (papers, GGUF's block layouts) and not from the specs. Knows nothing of CuTeGen.

use std::collections::BTreeMap;
use std::ops::Index;

use cutegen_tests::safetensors::Contents;
use half::{bf16, f16};

/// A dense row-major tensor.
pub(super) struct Tensor {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f64>,
}

impl Tensor {
    /// Of this shape, each element from its index.
    fn of(shape: &[usize], value: impl Fn(&[usize]) -> f64) -> Tensor {
        let count = shape.iter().product();
        let mut index = vec![0; shape.len()];
        let mut values = Vec::with_capacity(count);
        for flat in 0..count {
            let mut rest = flat;
            for (place, extent) in index.iter_mut().zip(shape).rev() {
                *place = rest % extent;
                rest /= extent;
            }
            values.push(value(&index));
        }
        Tensor { shape: shape.to_vec(), values }
    }

    fn at(&self, index: &[usize]) -> f64 {
        let flat = index.iter().zip(&self.shape).fold(0, |flat, (place, extent)| {
            assert!(place < extent, "{index:?} in {:?}", self.shape);
            flat * extent + place
        });
        self.values[flat]
    }

    fn place(&self, index: &[usize]) -> usize {
        self.at(index) as usize
    }
}

/// Tensors by name.
pub(super) struct Given(BTreeMap<String, Tensor>);

impl Given {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Index<&str> for Given {
    type Output = Tensor;

    fn index(&self, name: &str) -> &Tensor {
        self.0.get(name).unwrap_or_else(|| panic!("no tensor {name}"))
    }
}

impl From<Contents> for Given {
    fn from(contents: Contents) -> Given {
        let tensors = contents.tensors.into_iter();
        Given(
            tensors
                .map(|(name, (dtype, shape, bytes))| {
                    (name, Tensor { shape, values: numbers(&dtype, &bytes) })
                })
                .collect(),
        )
    }
}

/// Elements under a type's word of safetensors.
fn numbers(dtype: &str, bytes: &[u8]) -> Vec<f64> {
    let twos = || bytes.as_chunks::<2>().0.iter();
    let fours = || bytes.as_chunks::<4>().0.iter();
    match dtype {
        "F32" => fours().map(|word| f64::from(f32::from_le_bytes(*word))).collect(),
        "I32" => fours().map(|word| f64::from(i32::from_le_bytes(*word))).collect(),
        "BF16" => twos().map(|word| bf16::from_le_bytes(*word).to_f64()).collect(),
        "F16" => twos().map(|word| f16::from_le_bytes(*word).to_f64()).collect(),
        "I8" => bytes.iter().map(|byte| f64::from(byte.cast_signed())).collect(),
        "U8" => bytes.iter().map(|byte| f64::from(*byte)).collect(),
        other => panic!("no reader of {other}"),
    }
}

type Outputs = Vec<(&'static str, Tensor)>;

/// The share of one of the first `count` scores.
fn share(score: impl Fn(usize) -> f64, count: usize, place: usize) -> f64 {
    if place >= count {
        return 0.0;
    }
    let top = (0..count).map(&score).fold(f64::NEG_INFINITY, f64::max);
    (score(place) - top).exp() / (0..count).map(|place| (score(place) - top).exp()).sum::<f64>()
}

pub(super) fn causal_softmax(given: &Given) -> Outputs {
    let x = &given["x"];
    let row = |b, h, s, t| share(|t| 0.5 * x.at(&[b, h, s, t]), s + 1, t);
    vec![("y", Tensor::of(&x.shape, |i| row(i[0], i[1], i[2], i[3])))]
}

pub(super) fn length_softmax(given: &Given) -> Outputs {
    let (x, len) = (&given["x"], &given["len"]);
    vec![("y", Tensor::of(&x.shape, |i| share(|s| x.at(&[i[0], s]), len.place(&[i[0]]), i[1])))]
}

/// The places of a row, largest value first and lower place first among equals.
fn ranked(x: &Tensor, row: usize) -> Vec<usize> {
    let mut places: Vec<usize> = (0..x.shape[1]).collect();
    places.sort_by(|a, b| x.at(&[row, *b]).total_cmp(&x.at(&[row, *a])).then(a.cmp(b)));
    places
}

pub(super) fn top2(given: &Given) -> Outputs {
    let x = &given["x"];
    let rows = [x.shape[0]];
    let weight = |row: usize, of: usize| share(|rank| x.at(&[row, ranked(x, row)[rank]]), 2, of);
    vec![
        ("i0", Tensor::of(&rows, |i| ranked(x, i[0])[0] as f64)),
        ("i1", Tensor::of(&rows, |i| ranked(x, i[0])[1] as f64)),
        ("w0", Tensor::of(&rows, |i| weight(i[0], 0))),
        ("w1", Tensor::of(&rows, |i| weight(i[0], 1))),
    ]
}

/// Two numbers as a complex one, turned: its real or its imaginary part.
fn turned(pair: [f64; 2], [co, si]: [f64; 2], imaginary: bool) -> f64 {
    if imaginary { pair[1] * co + pair[0] * si } else { pair[0] * co - pair[1] * si }
}

fn angle(given: &Given, token: usize, frequency: usize) -> [f64; 2] {
    let at = [given["pos"].place(&[token]), frequency];
    [given["co"].at(&at), given["si"].at(&at)]
}

pub(super) fn rope(given: &Given) -> Outputs {
    let x = &given["x"];
    let half = x.shape[2] / 2;
    let value = |t, h, d: usize| {
        let first = d % half;
        let pair = [x.at(&[t, h, first]), x.at(&[t, h, first + half])];
        turned(pair, angle(given, t, first), d >= half)
    };
    vec![("y", Tensor::of(&x.shape, |i| value(i[0], i[1], i[2])))]
}

pub(super) fn rope_pairs(given: &Given) -> Outputs {
    let x = &given["x"];
    let value = |t, h, f, c| {
        let pair = [x.at(&[t, h, f, 0]), x.at(&[t, h, f, 1])];
        turned(pair, angle(given, t, f), c == 1)
    };
    vec![("y", Tensor::of(&x.shape, |i| value(i[0], i[1], i[2], i[3])))]
}

pub(super) fn paged_append(given: &Given) -> Outputs {
    let (before, k, slot) = (&given["cache"], &given["k"], &given["slot"]);
    let token = |place: usize| (0..k.shape[0]).find(|token| slot.place(&[*token]) == place);
    let value = |i: &[usize]| token(i[0]).map_or_else(|| before.at(i), |token| k.at(&[token, i[1], i[2]]));
    vec![("cache", Tensor::of(&before.shape, value))]
}

pub(super) fn paged_gather(given: &Given) -> Outputs {
    let (cache, table) = (&given["cache"], &given["table"]);
    let [pages, heads, width] = [table.shape[1], cache.shape[2], cache.shape[3]];
    let mut rows: BTreeMap<(usize, usize), (usize, usize)> = BTreeMap::new();
    for b in 0..table.shape[0] {
        for page in 0..pages {
            rows.extend((0..16).map(|at| ((b, page * 16 + at), (table.place(&[b, page]), at))));
        }
    }
    let value = |i: &[usize]| {
        let (page, at) = rows[&(i[0], i[1])];
        cache.at(&[page, at, i[2], i[3]])
    };
    vec![("k", Tensor::of(&[table.shape[0], pages * 16, heads, width], value))]
}

/// A row's weights, block by block.
fn dequantised(given: &Given, block: impl Fn(&[f64]) -> Vec<f64>) -> Outputs {
    let (scale, q) = (&given["scale"], &given["q"]);
    let [rows, blocks, bytes] = q.shape[..] else { panic!("{:?}", q.shape) };
    let mut values = Vec::new();
    for (at, held) in q.values.chunks(bytes).enumerate() {
        values.extend(block(held).into_iter().map(|value| value * scale.values[at]));
    }
    let shape = vec![rows, values.len() / rows];
    assert_eq!(shape[1], blocks * 32);
    vec![("w", Tensor { shape, values })]
}

pub(super) fn dequant_q8_0(given: &Given) -> Outputs {
    dequantised(given, <[f64]>::to_vec)
}

/// `Q4_0`: first the low halves of the block's bytes, then the high ones, less 8.
pub(super) fn dequant_q4_0(given: &Given) -> Outputs {
    dequantised(given, |block| {
        let bytes = || block.iter().map(|byte| *byte as u8);
        let halves = bytes().map(|byte| byte & 15).chain(bytes().map(|byte| byte >> 4));
        halves.map(|half| f64::from(half) - 8.0).collect()
    })
}

pub(super) fn unpack_u4(given: &Given) -> Outputs {
    let (w, s) = (&given["w"], &given["s"]);
    let half = |i: &[usize]| {
        let byte = w.at(&[i[0], i[1] / 2]) as u8;
        f64::from(if i[1].is_multiple_of(2) { byte & 15 } else { byte >> 4 })
    };
    vec![("y", Tensor::of(&[w.shape[0], 2 * w.shape[1]], |i| s.at(&[i[0]]) * half(i)))]
}

pub(super) fn q_norm(given: &Given) -> Outputs {
    let (qkv, w) = (&given["qkv"], &given["w"]);
    let width = qkv.shape[2];
    let root = |t, h| {
        let squares: f64 = (0..width).map(|d| qkv.at(&[t, h, d]).powi(2)).sum();
        (squares / width as f64 + 1e-6).sqrt()
    };
    vec![("q", Tensor::of(&qkv.shape, |i| qkv.at(i) / root(i[0], i[1]) * w.at(&[i[2]])))]
}

pub(super) fn kv_split(given: &Given) -> Outputs {
    let (qkv, bias) = (&given["qkv"], &given["bias"]);
    let part = |behind: usize| {
        let value = |i: &[usize]| qkv.at(&[i[0], behind + i[1], i[2]]) + bias.at(&[behind + i[1], i[2]]);
        Tensor::of(&[qkv.shape[0], 8, qkv.shape[2]], value)
    };
    // 32 heads of queries, 8 of keys, 8 of values
    vec![("k", part(32)), ("v", part(40))]
}

pub(super) fn causal_max(given: &Given) -> Outputs {
    let x = &given["x"];
    let top = |s: usize| (0..=s).map(|t| x.at(&[s, t])).fold(f64::NEG_INFINITY, f64::max);
    vec![("y", Tensor::of(&[x.shape[0]], |i| top(i[0])))]
}

pub(super) fn cumsum_columns(given: &Given) -> Outputs {
    let x = &given["x"];
    vec![("y", Tensor::of(&x.shape, |i| (0..=i[1]).map(|m| x.at(&[i[0], m])).sum()))]
}

pub(super) fn count_positive(given: &Given) -> Outputs {
    let x = &given["x"];
    let count = |row: usize| {
        x.values.chunks(x.shape[1]).nth(row).map_or(0, |row| row.iter().filter(|v| **v > 0.0).count())
    };
    vec![("n", Tensor::of(&[x.shape[0]], |i| count(i[0]) as f64))]
}
