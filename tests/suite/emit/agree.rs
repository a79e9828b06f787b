//! The emitted Rust means what the contract means: for many random contracts, conditions and arguments, the wrappers
//! are compiled against a runtime that writes down each call, and that is compared with the contract interpreted
//! here. Grids, blocks, clusters, shared memory, attributes, every parameter, zeroed parts, offsets, sizes, the
//! choice of the variant, and which launches are refused.

mod random;

use std::fmt::Write as _;

use cutegen_build::emit;
use cutegen_spec::axis;
use cutegen_spec::contract::tensor_map::{Base, TensorMap};
use cutegen_spec::contract::{Arg, Contract, Initial, Step};
use cutegen_spec::int_expr::{DeviceProp, IntExpr};
use cutegen_spec::record::{Kind, Record, Variant};
use cutegen_tests::{must, scratch, workspace};

use super::fixture::{Answered, Crates, PACKAGE, manifest, plans, untuned, variant};
use random::Random;

const KERNELS: usize = 48;
const VARIANTS: usize = 3;
const CALLS: usize = 24;

/// How the writing runtime reads a parameter: 4 bytes for `f`, a descriptor for `m`, else 8.
fn kind(arg: &Arg) -> char {
    match arg {
        Arg::Scalar(0) => 'f',
        Arg::Map(_) => 'm',
        Arg::Ptr(_) | Arg::Axis(_) | Arg::Scalar(_) | Arg::Workspace(_) | Arg::Int(_) => 'w',
    }
}

/// Arguments of one call.
struct Call {
    m: i64,
    n: i64,
    x: u64,
    y: u64,
}

const BASE: u64 = 1 << 40;
/// Bytes of shared memory that a block can have.
const SHARED_MEMORY: u32 = 232_448;
/// Where what is kept zero lies.
const KEPT_ZERO: u64 = 1 << 41;
const SCALARS: (f32, f64) = (1.5, -2.25);

/// The extents of a call where all have a value, and what conditions see.
fn extents(answered: &Answered, call: &Call) -> (Option<Vec<i64>>, Vec<i64>) {
    let bound = axis::resolve(&answered.plan.spec.axes, &|i| if i == 0 { call.m } else { call.n });
    let seen = bound.clone().unwrap_or_else(|| vec![call.m, call.n, 512]);
    (bound, seen)
}

/// Whether a call passes over what it would get on a device that holds all blocks.
fn passes_over(answered: &Answered, call: &Call) -> bool {
    let (record, (_, extents)) = (&answered.record, extents(answered, call));
    record.choose(&extents, &[call.x, call.y]) != Some(chosen(record, &extents, &[call.x, call.y]))
}

/// What the runtime must write down, by the contract.
fn expected(answered: &Answered, call: &Call) -> String {
    let (bound, extents) = extents(answered, call);
    let chosen = chosen(&answered.record, &extents, &[call.x, call.y]);
    let contract = &answered.record.variants[chosen].contract;
    let bytes = contract.workspace_layout(&extents).map_or(usize::MAX, |layout| layout.bytes as usize);
    let mut text = format!("bytes {bytes}\n");
    let end = match bound {
        None => None,
        Some(_) if call.n == 0 => Some(()),
        Some(extents) => launches(contract, chosen, &extents, call, &mut text),
    };
    let _ = writeln!(text, "{}", if end.is_some() { "ok" } else { "refused" });
    text
}

/// As [`Record::choose`], but for what has to be resident at once on a device that does not hold it, or needs more shared
/// memory than that has.
fn chosen(record: &Record, extents: &[i64], addresses: &[u64]) -> usize {
    let fits = |variant: &Variant| {
        let mut waiting = variant.contract.steps.iter().filter(|step| step.co_resident);
        let is_held = waiting.all(|step| configured(step, extents).is_some_and(|config| config.is_resident));
        is_held && variant.shared_memory.is_none_or(|bytes| bytes <= SHARED_MEMORY)
    };
    let eligible = |v: &Variant| v.eligibility.holds(extents, addresses) && fits(v);
    let preferred = |v: &Variant| eligible(v) && v.prefer.holds(extents, addresses);
    let of = |is: &dyn Fn(&Variant) -> bool| record.variants.iter().position(is);
    let second = || of(&|v: &Variant| !v.prefer.0.is_empty() && eligible(v));
    of(&preferred).or_else(second).unwrap_or(record.variants.len() - 1)
}

fn launches(
    contract: &Contract,
    variant: usize,
    extents: &[i64],
    call: &Call,
    text: &mut String,
) -> Option<()> {
    let (mut offsets, mut scratch, mut kept_zero) = (Vec::new(), Some(0_i64), Some(0_i64));
    for part in &contract.workspace {
        let (base, next) = match part.initial {
            Initial::Undefined | Initial::Zeroed => (BASE, &mut scratch),
            Initial::KeptZero => (KEPT_ZERO, &mut kept_zero),
        };
        offsets.push(base + u64::try_from((*next)?).ok()?);
        let bytes = part.bytes.eval_axes(extents).filter(|bytes| *bytes >= 0);
        if part.initial == Initial::Zeroed {
            let _ = writeln!(text, "zero {} {}", offsets[offsets.len() - 1], bytes?);
        }
        *next = bytes.and_then(|bytes| (*next)?.checked_add(bytes.checked_add(255)? / 256 * 256));
    }
    for (i, step) in contract.steps.iter().enumerate() {
        launch(step, (variant, i), extents, &offsets, call, text)?;
    }
    Some(())
}

fn launch(
    step: &Step,
    (variant, position): (usize, usize),
    extents: &[i64],
    offsets: &[u64],
    call: &Call,
    text: &mut String,
) -> Option<()> {
    let Configured { grid, block, cluster, smem, is_resident } = configured(step, extents)?;
    if step.co_resident && !is_resident {
        return None;
    }
    let is_computed = step.args.iter().any(|arg| matches!(arg, Arg::Int(_) | Arg::Map(_)));
    if is_computed && grid.contains(&0) {
        return Some(()); // nothing is launched, so nothing is computed
    }
    let value = |arg| {
        argument(
            arg,
            (&|e| e.eval(extents, &|prop| occupied(prop, block, cluster, smem)), extents),
            offsets,
            call,
        )
    };
    let values = step.args.iter().map(value).collect::<Option<Vec<_>>>()?;
    let _ = write!(text, "launch {variant} {position} {grid:?} {block:?} {cluster:?} {smem}");
    let _ = write!(text, " {} {}", step.pdl, step.co_resident);
    values.iter().for_each(|value| text.push_str(&format!(" {value}")));
    text.push('\n');
    Some(())
}

/// An expression of a launch.
type Value<'a> = dyn Fn(&IntExpr) -> Option<i64> + 'a;

/// An argument as the runtime writes it down.
fn argument(
    arg: &Arg,
    (value, extents): (&Value<'_>, &[i64]),
    offsets: &[u64],
    call: &Call,
) -> Option<String> {
    let word = match arg {
        Arg::Ptr(0) => call.x,
        Arg::Ptr(_) => call.y,
        Arg::Axis(axis) => extents[*axis] as u64,
        Arg::Scalar(0) => u64::from(SCALARS.0.to_bits()),
        Arg::Scalar(_) => SCALARS.1.to_bits(),
        Arg::Workspace(part) => offsets[*part],
        Arg::Int(number) => value(number)? as u64,
        Arg::Map(map) => return descriptor(map, value, offsets, call),
    };
    Some(word.to_string())
}

fn descriptor(map: &TensorMap, value: &Value<'_>, offsets: &[u64], call: &Call) -> Option<String> {
    let base = match map.base {
        Base::Tensor(0) => call.x,
        Base::Tensor(_) => call.y,
        Base::Workspace(part) => offsets[part],
    };
    let count = |number: &IntExpr| usize::try_from(value(number)?).ok();
    let counts = |numbers: &[IntExpr]| numbers.iter().map(count).collect::<Option<Vec<usize>>>();
    let bytes = i64::try_from(count(&map.offset)?).ok()?.checked_mul(map.dtype.bytes() as i64)?;
    let address = base.checked_add(bytes as u64)?;
    let (dims, strides) = (counts(&map.dims)?, counts(&map.strides)?);
    let TensorMap { dtype, tile, every, swizzle, promotion, fill, .. } = map;
    let name = dtype.name();
    Some(format!("[{name} {address} {dims:?} {strides:?} {tile:?} {every:?} {swizzle} {promotion} {fill:?}]"))
}

/// The occupancy that the writing runtime makes up.
fn occupied(prop: DeviceProp, block: [u32; 3], cluster: [u32; 3], smem: u32) -> Option<i64> {
    match prop {
        DeviceProp::SmCount => Some(132),
        DeviceProp::DeviceSmem => Some(232_448),
        DeviceProp::MaxActiveClusters => Some(i64::from(3 + cluster[0] % 11 + smem % 7)),
        DeviceProp::MaxBlocksPerSm => {
            Some(i64::from(1 + block[0].wrapping_mul(block[1]).wrapping_mul(block[2]) % 5))
        }
    }
}

/// A launch but for its arguments, and whether the device holds all its blocks at once.
struct Configured {
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    smem: u32,
    is_resident: bool,
}

fn configured(step: &Step, extents: &[i64]) -> Option<Configured> {
    let fixed = |prop| match prop {
        DeviceProp::SmCount => Some(132),
        DeviceProp::DeviceSmem => Some(232_448),
        DeviceProp::MaxActiveClusters | DeviceProp::MaxBlocksPerSm => None,
    };
    let block = blocks(&step.block, &|e| e.eval(extents, &fixed))?;
    let cluster = blocks(&step.cluster, &|e| e.eval(extents, &fixed))?;
    let smem = u32::try_from(step.smem.eval(extents, &fixed)?).ok()?;
    let per_sm = 1 + block[0].wrapping_mul(block[1]).wrapping_mul(block[2]) % 5;
    let grid = blocks(&step.grid, &|e| e.eval(extents, &|prop| occupied(prop, block, cluster, smem)))?;
    let total: usize = grid.iter().map(|count| *count as usize).product();
    let fits = match cluster {
        [1, 1, 1] => per_sm as usize * 132,
        [x, y, z] => (3 + x % 11 + smem % 7) as usize * (x * y * z) as usize,
    };
    Some(Configured { grid, block, cluster, smem, is_resident: total <= fits })
}

fn blocks(counts: &[IntExpr; 3], value: &dyn Fn(&IntExpr) -> Option<i64>) -> Option<[u32; 3]> {
    let limits = [i64::from(i32::MAX), 65_535, 65_535];
    let mut out = [0; 3];
    for d in 0..3 {
        out[d] = u32::try_from(value(&counts[d]).filter(|count| (0..=limits[d]).contains(count))?).ok()?;
    }
    Some(out)
}

/// Kernels of one shape with random contracts.
fn answered(random: &mut Random) -> Vec<Answered> {
    let derived = ["m * 3 - n", "(m + n) / 4", "m * m * m * m", "n % 5 + 1"];
    let kernel = |i: usize| {
        format!(
            "[kernels.c{i}]\naxes = {{ m = '0..=100000', n = '0..=4096', k = 512, p = '{}' }}\n{}\n\
             scalars = {{ s = 'f32', e = 'f64' }}\ntargets = ['sm_90a']\n",
            derived[i % derived.len()],
            MEMORIES[i / derived.len() % MEMORIES.len()]
        )
    };
    let text: String = (0..KERNELS).map(kernel).collect();
    let all = plans(&text).into_iter().map(untuned);
    all.enumerate().map(|(i, one)| randomised(random, one, i % 3 == 0)).collect()
}

/// Tensors of every kind, two of them with the math over them: an update in place, packed and strided ones, a count that
/// is kept in a workspace of integers.
const MEMORIES: [&str; 4] = [
    "inputs = { x = 'f32[m]' }\noutputs = { y = 'f32[n]' }\nmath = 'y[n] = sum(m, x[m]) * s + e'",
    "inputs = { x = 'f32[m]' }\ninout = { y = 'f32[n]' }\nmath = 'y[n] = y[n] + sum(m, x[m]) * s + e'",
    "inputs = { x = { type = 'u4[m]', range = '0..n + 16' } }\noutputs = { y = { type = 'f16[n]', strides = ['m + 1'] } }\n\
     math = 'y[n] = sum(m, x[m]) * s + e'",
    "inputs = { x = 'f8e4m3[m]' }\noutputs = { y = 'bf16[n]' }\n\
     math = 'y[n] = sum(m, where(x[m] > n, 1, 0)) * s + e'",
];

/// Random contracts; the naive kernel's own one is kept where that is asked.
fn randomised(random: &mut Random, mut answered: Answered, keeps_naive: bool) -> Answered {
    let (name, target) = (answered.plan.spec.name.to_string(), answered.plan.target.clone());
    let contract = &mut answered.record.variants[0].contract;
    if keeps_naive {
        for (i, step) in contract.steps.iter_mut().enumerate() {
            let kinds: String = step.args.iter().map(kind).collect();
            step.entry = format!("{name}_naive_{i}_k{kinds}");
        }
    } else {
        *contract = random.contract(&format!("{name}_naive"));
    }
    for i in 0..VARIANTS {
        let contract = random.contract(&format!("{name}_v{i}"));
        let mut tuned = variant(&target, &format!("v{i}"), Kind::Tuned, contract, b"cubin");
        tuned.eligibility = random.conditions();
        tuned.prefer = random.conditions();
        tuned.shared_memory =
            random.pick(&[None, Some(1 << 10), Some(SHARED_MEMORY), Some(SHARED_MEMORY + 1)]);
        answered = answered.prefer(tuned, b"cubin".to_vec());
    }
    answered
}

fn calls(random: &mut Random) -> Vec<Call> {
    let extent = |random: &mut Random, most: i64| match random.below(5) {
        0 => random.pick(&[0, 1, 2, most]),
        1 => random.below(64) as i64 * 8,
        _ => random.below(most as u64) as i64,
    };
    let address = |random: &mut Random| (1 << 32) + random.below(64) * 4;
    let call = |_| Call {
        m: extent(random, 100_000).min(100_000),
        n: extent(random, 4096).min(4096),
        x: address(random),
        y: address(random),
    };
    (0..CALLS).map(call).collect()
}

fn program(all: &[(Answered, Vec<Call>)]) -> String {
    let mut text =
        "//! Calls every wrapper and lets the runtime write down what comes of it.\nuse std::sync::Arc;\n\
                    mod kernels { use cutegen_runtime; include!(concat!(env!(\"OUT_DIR\"), \"/cutegen/kernels.rs\")); }\n\n"
            .to_owned();
    let mut main = String::new();
    for (answered, calls) in all {
        let name = &answered.plan.spec.name;
        let rows: Vec<String> =
            calls.iter().map(|c| format!("({}, {}, {}, {})", c.m, c.n, c.x, c.y)).collect();
        let _ = write!(
            text,
            "fn {name}(kernels: &kernels::cuda::Kernels) {{\n    let calls = [{}];\n    for (m, n, x, y) in calls {{\n\
             \x20       println!(\"bytes {{}}\", kernels.{name}_workspace_bytes(m, n, x, y));\n\
             \x20       let stream = std::ptr::null_mut();\n\
             \x20       let end = unsafe {{ kernels.{name}_raw(stream, {BASE}, {KEPT_ZERO}, m, n, x, y, {:?}, {:?}) }};\n\
             \x20       println!(\"{{}}\", if end.is_ok() {{ \"ok\" }} else {{ \"refused\" }});\n    }}\n}}\n",
            rows.join(", "),
            SCALARS.0,
            SCALARS.1
        );
        let _ = writeln!(main, "    {name}(&kernels);");
    }
    let _ = write!(
        text,
        "fn main() {{\n    let kernels = kernels::cuda::load(&Arc::new(cutegen_runtime::cuda::CudaContext)).unwrap();\n\
         {main}}}\n"
    );
    text
}

#[test]
fn emitted_launches_are_the_contracts() {
    let mut random = Random(20_240_607);
    let all: Vec<(Answered, Vec<Call>)> =
        answered(&mut random).into_iter().map(|one| (one, calls(&mut random))).collect();
    let kernels: Vec<_> = all.iter().map(|(answered, _)| answered.emit()).collect();
    let emitted = emit::emit(&PACKAGE, &kernels, &scratch("emit-agree-out")).expect("emits");

    let mut crates = Crates::new("agree");
    let real = workspace().join("cutegen-runtime");
    let dependency = format!("real = {{ package = \"cutegen-runtime\", path = {real:?} }}\n");
    let mock = [("src/lib.rs", include_str!("mock_runtime.rs.in"))];
    crates.member("mock", &manifest("cutegen-runtime", "9.9.9", &dependency), &mock, None);
    let dependency = "cutegen-runtime = { path = \"../mock\" }\n";
    let main = [("src/main.rs", program(&all))];
    let main = main.each_ref().map(|(path, text)| (*path, text.as_str()));
    crates.member("agree", &manifest("agree", "0.1.0", dependency), &main, Some(&emitted.lib_dir));
    let ran = must(&mut crates.cargo(&["run", "--quiet", "-p", "agree"]));

    let mut lines = ran.stdout.lines();
    let (mut launched, mut mapped, mut refused, mut chosen) = (0, 0, 0, [0; VARIANTS + 1]);
    for (answered, calls) in &all {
        for call in calls {
            for line in expected(answered, call).lines() {
                let Call { m, n, x, y } = call;
                assert_eq!(lines.next(), Some(line), "{} m={m} n={n} x={x} y={y}", answered.plan.spec.name);
                launched += usize::from(line.starts_with("launch"));
                mapped += usize::from(line.contains('[') && line.contains("Zero"));
                refused += usize::from(line == "refused");
                let variant =
                    line.strip_prefix("launch ").and_then(|rest| rest.split(' ').next()?.parse().ok());
                variant.into_iter().for_each(|variant: usize| chosen[variant] += 1);
            }
        }
    }
    assert_eq!(lines.next(), None);
    let over = |(answered, calls): &(Answered, Vec<Call>)| {
        calls.iter().filter(|call| passes_over(answered, call)).count()
    };
    let over: usize = all.iter().map(over).sum();
    let calls = KERNELS * CALLS;
    assert!(over > calls / 50, "{over} of {calls} calls pass over a variant");
    assert!(
        launched > calls / 4 && refused > calls / 20,
        "{launched} launches, {refused} of {calls} refused"
    );
    assert!(chosen.iter().all(|count| *count > calls / 50), "variants launched {chosen:?} times");
    assert!(mapped > calls / 50, "{mapped} launches with tensor maps");
    println!(
        "{calls} calls, {launched} launches, {mapped} with tensor maps, {refused} refused, variants {chosen:?}"
    );
}
