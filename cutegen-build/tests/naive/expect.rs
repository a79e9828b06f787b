//! What each line of `checks.cpp` must say, by slow definitions.

use cutegen_runtime::element::{F8E4M3, F8E5M2};
use half::{bf16, f16};

/// A narrow float: bits behind the point, exponent of the smallest normal number, largest finite value, saturating.
type Format = (i32, i32, f64, bool);

const F16: Format = (10, -14, 65504.0, false);
const BF16: Format = (7, -126, 3.389_531_389_251_535_5e38, false);
const E4M3: Format = (3, -6, 448.0, true);
const E5M2: Format = (2, -14, 57344.0, true);

/// What is wrong with a line.
pub(crate) fn disagrees(line: &str) -> Option<String> {
    let (call, found) = line.split_once(" = ").expect("a result");
    let mut words = call.split(' ');
    let (name, arguments) = (words.next().unwrap_or_default(), words.collect::<Vec<_>>());
    let expected = match arguments[..] {
        [code] if name.starts_with("load_") => hex(load(name, code.parse().expect("a code"))),
        [input] => unary(name, f64::from_bits(u64::from_str_radix(input, 16).expect("bits"))),
        [a, b] => integer(name, a.parse().expect("an integer"), b.parse().expect("an integer")).to_string(),
        _ => panic!("{line}"),
    };
    (!same(name, found, &expected)).then(|| format!("{line}, expected {expected}"))
}

/// All NaNs are one.
fn same(name: &str, found: &str, expected: &str) -> bool {
    let value = |text: &str| match name {
        "store_f16" => f16::from_bits(text.parse().expect("a code")).to_f64(),
        "store_bf16" => bf16::from_bits(text.parse().expect("a code")).to_f64(),
        "store_f8e4m3" => F8E4M3(text.parse().expect("a code")).to_f64(),
        "store_f8e5m2" => F8E5M2(text.parse().expect("a code")).to_f64(),
        _ => u64::from_str_radix(text, 16).map_or(0.0, f64::from_bits),
    };
    found == expected || value(found).is_nan() && value(expected).is_nan()
}

fn hex(x: f64) -> String {
    format!("{:x}", x.to_bits())
}

fn load(name: &str, code: u16) -> f64 {
    match name {
        "load_f16" => f16::from_bits(code).to_f64(),
        "load_bf16" => bf16::from_bits(code).to_f64(),
        "load_f8e4m3" => F8E4M3(code as u8).to_f64(),
        "load_f8e5m2" => F8E5M2(code as u8).to_f64(),
        other => panic!("{other}"),
    }
}

fn unary(name: &str, x: f64) -> String {
    match name {
        "cast_f64" => hex(x),
        "cast_f32" => hex(f64::from(x as f32)),
        "cast_f16" => hex(rounded(x, F16)),
        "cast_bf16" => hex(rounded(x, BF16)),
        "cast_f8e4m3" => hex(rounded(x, E4M3)),
        "cast_f8e5m2" => hex(rounded(x, E5M2)),
        "store_f16" => f16::from_f64(rounded(x, F16)).to_bits().to_string(),
        "store_bf16" => bf16::from_f64(rounded(x, BF16)).to_bits().to_string(),
        "store_f8e4m3" => nearest_code(x, E4M3, |code| F8E4M3(code).to_f64()).to_string(),
        "store_f8e5m2" => nearest_code(x, E5M2, |code| F8E5M2(code).to_f64()).to_string(),
        "cast_i4" => (x as i64).clamp(-8, 7).to_string(),
        "cast_u4" => (x as i64).clamp(0, 15).to_string(),
        "cast_i8" => (x as i8).to_string(),
        "cast_u8" => (x as u8).to_string(),
        "cast_i32" => (x as i32).to_string(),
        "cast_i64" => (x as i64).to_string(),
        "floor" => hex(x.floor()),
        "ceil" => hex(x.ceil()),
        "round" => hex(x.round_ties_even()),
        "sign" => hex(if x == 0.0 || x.is_nan() { x } else { x.signum() }),
        other => panic!("{other}"),
    }
}

/// `x` rounded to a format once, halves to even.
fn rounded(x: f64, (fraction, least, most, saturates): Format) -> f64 {
    if !x.is_finite() || x == 0.0 {
        return if saturates { x.clamp(-most, most) } else { x };
    }
    let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
    let ulp = 2.0_f64.powi(exponent.max(least) - fraction);
    let near = (x / ulp).round_ties_even() * ulp;
    match near.abs() > most {
        true if saturates => most.copysign(x),
        true => f64::INFINITY.copysign(x),
        false => near,
    }
}

/// The code whose value is nearest, the even one of two.
fn nearest_code(x: f64, (_, _, most, _): Format, value: fn(u8) -> f64) -> u8 {
    let sign = if x.is_sign_negative() { 0x80 } else { 0 };
    let codes = (0..0x7f).filter(|code| value(*code).is_finite());
    let size = x.abs().min(most);
    let near = |code: &u8| (value(*code) - size).abs();
    let best = codes.min_by(|a, b| near(a).total_cmp(&near(b)).then((a & 1).cmp(&(b & 1))));
    if x.is_nan() { 0x7f } else { sign | best.expect("a code") }
}

fn integer(name: &str, a: i64, b: i64) -> i64 {
    let pack = |low: i64, high: i64| (low & 15) | (high & 15) << 4;
    match name {
        "id" | "to_i64" => a,
        "holds" => 1,
        "abs" => a.abs(),
        "sign" => a.signum(),
        "max" => a.max(b),
        "min" => a.min(b),
        "lt" => i64::from(a < b),
        "le" => i64::from(a <= b),
        "eq" => i64::from(a == b),
        "to_i4" => a.clamp(-8, 7),
        "to_u4" => a.clamp(0, 15),
        "to_i8" => a.clamp(-128, 127),
        "to_u8" => a.clamp(0, 255),
        "to_i32" => a.clamp(i64::from(i32::MIN), i64::from(i32::MAX)),
        "floor_div" => a.div_euclid(b),
        "mod" => a.rem_euclid(b),
        "pack_i4" => pack(a.clamp(-8, 7), b.clamp(-8, 7)),
        "pack_u4" => pack(a.clamp(0, 15), b.clamp(0, 15)),
        "load_u4" => a >> (4 * b) & 15,
        "load_i4" => ((a >> (4 * b) & 15) + 8) % 16 - 8,
        other => panic!("{other}"),
    }
}
