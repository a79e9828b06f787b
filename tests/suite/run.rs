//! `run` on the host: values against those computed here, tensors of every layout, and files that are not what a kernel
//! takes: each is told, and leaves no output.

mod reference;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cutegen_build::inspect;
use cutegen_spec::digest::ArtifactDigest;
use cutegen_spec::lock::{Lock, Locked};
use cutegen_spec::record::Record;
use cutegen_tests::safetensors::{Tensor, as_f32s, as_f64s, f32s, read, write};
use cutegen_tests::{Ran, cutegen, install_toolchain, must, run, scratch, workspace};
use half::bf16;

/// A folder for a test's files, and a library's kernels.
struct Bench {
    folder: PathBuf,
    specs: PathBuf,
    cache: PathBuf,
}

impl Bench {
    /// With the kernels of this repository.
    fn new(name: &str) -> Self {
        install_toolchain();
        let (root, folder) = (workspace(), scratch(&format!("run-{name}")));
        Self { folder, specs: root.join("kernel-specs"), cache: root.join("cache") }
    }

    /// With those of `specs`, locked in its folder.
    fn library(name: &str, specs: &str) -> Self {
        let Self { folder, .. } = Self::new(name);
        let bench = Self { specs: folder.join("specs"), cache: folder.join("cache"), folder };
        cutegen_tests::write(&bench.specs.join("one.toml"), specs);
        must(&mut bench.command(&["lock"]));
        bench
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn given(&self, tensors: &[(&str, Tensor)]) -> String {
        let path = self.file("in.safetensors");
        write(&path, tensors);
        path.display().to_string()
    }

    /// `cargo cutegen ARGS` on its library.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = cutegen(&workspace().join("target/suite/run-home"));
        command.args(args).arg("--specs").arg(&self.specs).arg("--cache").arg(&self.cache);
        command
    }

    /// `cargo cutegen run ARGS --out out.safetensors` on it.
    fn run(&self, args: &[&str]) -> Ran {
        run(self.command(&["run"]).args(args).arg("--out").arg(self.file("out.safetensors")))
    }

    /// The outputs of a run that must succeed.
    fn done(&self, args: &[&str]) -> cutegen_tests::safetensors::Contents {
        let ran = self.run(args);
        assert!(ran.ok, "{args:?}\n--- stdout\n{}\n--- stderr\n{}", ran.stdout, ran.stderr);
        read(&self.file("out.safetensors"))
    }

    /// The message of a run that must fail so, and leave nothing behind.
    fn refused(&self, args: &[&str], code: i32) -> String {
        let before = names(&self.folder);
        let ran = self.run(args);
        assert_eq!(ran.code, Some(code), "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        assert_eq!(names(&self.folder), before, "{args:?} left a file");
        ran.stderr
    }
}

fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    names.sort();
    names
}

/// Numbers without a pattern, in -4..4.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1_u32 << 31) * 8.0 - 4.0
    };
    (0..count).map(|_| next()).collect()
}

fn bf16s(values: &[f64]) -> (Vec<f64>, Vec<u8>) {
    let rounded: Vec<bf16> = values.iter().map(|value| bf16::from_f64(*value)).collect();
    let bytes = rounded.iter().flat_map(|value| value.to_le_bytes()).collect();
    (rounded.iter().map(|value| value.to_f64()).collect(), bytes)
}

fn as_bf16s(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks().0.iter().map(|word| bf16::from_le_bytes(*word).to_f64()).collect()
}

/// Every value within this share of the wanted one.
fn near(found: impl IntoIterator<Item = f64>, wanted: &[f64], share: f64) {
    let found: Vec<f64> = found.into_iter().collect();
    assert_eq!(found.len(), wanted.len());
    for (at, (found, wanted)) in found.iter().zip(wanted).enumerate() {
        assert!(
            (found - wanted).abs() <= share * wanted.abs() + 1e-30,
            "element {at}: {found}, not {wanted}"
        );
    }
}

#[test]
fn silu_mul_with_all_three() {
    let bench = Bench::new("silu-mul");
    let ((g, g_bytes), (u, u_bytes)) = (bf16s(&numbers(1001, 1)), bf16s(&numbers(1001, 2)));
    let wanted: Vec<f64> = g.iter().zip(&u).map(|(g, u)| g / (1.0 + (-g).exp()) * u).collect();
    let given = bench.given(&[("g", ("BF16", vec![1001], g_bytes)), ("u", ("BF16", vec![1001], u_bytes))]);
    for with in ["tuned", "naive"] {
        let out = bench.done(&["silu_mul", "--target", "host", "--in", &given, "--with", with]);
        let (dtype, shape, y) = &out.tensors["y"];
        assert_eq!((dtype.as_str(), shape.as_slice(), out.tensors.len()), ("BF16", &[1001][..], 1));
        near(as_bf16s(y), &wanted, 0.00393); // half a place of bf16, and a little for f32
        let said = |key: &str| out.metadata[key].as_str();
        assert_eq!((said("kernel"), said("with"), said("axes")), ("silu_mul", with, "n=1001"));
        assert_eq!(said("variant") == "naive", with == "naive", "{}", said("variant"));
        assert!(said("digest").starts_with("sha256:") && said("digest").len() == 71);
        assert!(said("target").starts_with("host:"));
    }
    let out = bench.done(&["silu_mul", "--target", "host", "--in", &given, "--with", "reference"]);
    assert_eq!((out.tensors["y"].0.as_str(), out.metadata.contains_key("variant")), ("F64", false));
    near(as_f64s(&out.tensors["y"].2), &wanted, 1e-14);
}

#[test]
fn softmax_with_its_distance_from_the_reference() {
    let bench = Bench::new("softmax");
    let x: Vec<f32> = numbers(3 * 4096, 3).into_iter().map(|x| x as f32).collect();
    let wanted: Vec<f64> = x
        .chunks(4096)
        .flat_map(|row| {
            let most = row.iter().copied().fold(f32::MIN, f32::max);
            let powers: Vec<f64> = row.iter().map(|x| (f64::from(*x) - f64::from(most)).exp()).collect();
            let sum: f64 = powers.iter().sum();
            powers.into_iter().map(move |power| power / sum)
        })
        .collect();
    let given = bench.given(&[("x", ("F32", vec![3, 4096], f32s(&x)))]);
    let ran = bench.run(&["softmax", "--in", &given, "--axes", "m=3", "--compare", "reference", "--json"]);
    assert!(ran.ok, "{}", ran.stderr);
    let found: Vec<f64> =
        as_f32s(&read(&bench.file("out.safetensors")).tensors["y"].2).into_iter().map(f64::from).collect();
    near(found.iter().copied(), &wanted, 1e-5); // 4096 terms, one after another in f32
    let told: serde_json::Value = serde_json::from_str(ran.stdout.trim()).expect("one value");
    let row = &told["compared"][0];
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    // the largest difference from the values of this test, which are as exact as the reference's
    let largest = found.iter().zip(&wanted).map(|(found, wanted)| (found - wanted).abs()).fold(0.0, f64::max);
    assert!((number(&row["absolute"]) / largest - 1.0).abs() < 1e-6, "{row} for {largest}");
    let share = number(&row["bound"]["worst-share"]);
    assert!(share > 0.0 && share < 1.0, "{share}");
    assert_eq!(
        (row["bound"]["judged"].as_u64(), row["bound"]["not-judged"].as_u64()),
        (Some(3 * 4096), Some(0))
    );
    let out = bench.done(&["softmax", "--in", &given, "--with", "reference", "--target", "host"]);
    near(as_f64s(&out.tensors["y"].2), &wanted, 1e-13);
}

#[test]
fn what_an_inout_kernel_does_not_name_stays() {
    let bench = Bench::new("inout");
    let row = 2 * 128;
    let cache: Vec<u8> = (0..256 * row).flat_map(|at| (at as u16 % 1000).to_le_bytes()).collect();
    let news: Vec<u8> = (0..2 * row).flat_map(|at| (0x3f80 + at as u16 % 64).to_le_bytes()).collect();
    let ids = |ids: [i32; 2]| ids.iter().flat_map(|id| id.to_le_bytes()).collect::<Vec<u8>>();
    let tensors = |slot: [i32; 2]| {
        [
            ("k", ("BF16", vec![2, 2, 128], news.clone())),
            ("v", ("BF16", vec![2, 2, 128], news.clone())),
            ("slot", ("I32", vec![2], ids(slot))),
            ("k_cache", ("BF16", vec![256, 2, 128], cache.clone())),
            ("v_cache", ("BF16", vec![256, 2, 128], cache.clone())),
        ]
    };
    let args = |given: &'static str| ["kv_append", "--target", "host", "--in", given];
    let given: &'static str = bench.given(&tensors([255, 7])).leak();
    let out = bench.done(&args(given));
    let mut wanted = cache.clone();
    for (from, slot) in [255, 7].into_iter().enumerate() {
        wanted[slot * 2 * row..][..2 * row].copy_from_slice(&news[from * 2 * row..][..2 * row]);
    }
    assert!(out.tensors["k_cache"].2 == wanted && out.tensors["v_cache"].2 == wanted);
    assert_eq!(out.tensors.len(), 2, "inouts are results; inputs are not");

    fs::remove_file(bench.file("out.safetensors")).expect("removed");
    bench.given(&tensors([256, 7]));
    let told = bench.refused(&args(given), 2);
    assert!(told.contains("element 0 of `slot` is 256; its spec declares 0..256"), "{told}");
    bench.given(&tensors([7, 7]));
    let told = bench.refused(&args(given), 2);
    assert!(told.contains("element 1 of `slot` is 7, as one before it is"), "{told}");
}

const LAID_OUT: &str = "edition = 1
[kernels.laid_out]
axes = { m = '1..=64', n = 6, ld = '6..=64' }
inputs = { x = { type = 'f32[m, n]', strides = ['ld', 1] }, q = 'i4[m, n]' }
outputs = { y = { type = 'f32[m, n]', strides = ['ld', 1] } }
math = 'y[m, n] = x[m, n] * q[m, n]'
";

#[test]
fn strided_tensors_are_dense_in_a_file_and_nibbles_share_bytes() {
    let bench = Bench::library("laid-out", LAID_OUT);
    let x: Vec<f32> = (0..18).map(|at| at as f32 - 8.5).collect();
    // low nibble first: -8, -7 ... 7, -8, -7
    let q: Vec<i8> = (0..18).map(|at| at % 16 - 8).collect();
    let packed = q.chunks(2).map(|pair| (pair[0] as u8 & 15) | (pair[1] as u8) << 4).collect();
    let given = bench.given(&[("x", ("F32", vec![3, 6], f32s(&x))), ("q", ("U8", vec![3, 3], packed))]);
    for (with, extents) in [("tuned", "ld=9"), ("naive", "ld=6"), ("reference", "ld=64")] {
        let out = bench.done(&["laid_out", "--in", &given, "--axes", extents, "--with", with]);
        let (dtype, shape, y) = &out.tensors["y"];
        let found: Vec<f64> = match dtype.as_str() {
            "F64" => as_f64s(y),
            _ => as_f32s(y).into_iter().map(f64::from).collect(),
        };
        let wanted: Vec<f64> = x.iter().zip(&q).map(|(x, q)| f64::from(*x) * f64::from(*q)).collect();
        assert_eq!((shape.as_slice(), found), (&[3, 6][..], wanted), "{with}, {extents}");
    }
}

/// Puts an object of this source in place of the only variant that is locked, under digests that all agree.
fn replace_kernel(cache: &Path, source: impl Fn(&str) -> String) {
    let lock_path = cache.join("cutegen.lock");
    let mut lock = Lock::parse(&fs::read_to_string(&lock_path).expect("a lock")).expect("parses");
    let locked = lock.kernels[0].clone();
    let key = locked.key.to_string();
    let entry = cache.join("v1").join(&key[..2]).join(&key);
    let text = fs::read_to_string(entry.join("record.toml")).expect("a record");
    let mut record = Record::parse(&text).expect("parses");
    let variant = &mut record.variants[0];
    let object = entry.join(&variant.artifact.file);
    let cpp = cache.join("other.cpp");
    cutegen_tests::write(&cpp, &source(&variant.contract.steps[0].entry));
    must(Command::new("g++").args(["-c", "-fPIC", "-O1", "-o"]).arg(&object).arg(&cpp));
    let entries = [variant.contract.steps[0].entry.clone()];
    let bytes = inspect::object::canonical(&fs::read(&object).expect("compiled"), &entries).expect("allowed");
    fs::write(&object, &bytes).expect("written");
    let digest = ArtifactDigest::of(&bytes);
    (variant.artifact.artifact, variant.artifact.stored) = (digest, digest);
    variant.artifact.bytes = bytes.len() as u64;
    let body = record.to_toml().expect("prints");
    let seal = ArtifactDigest::of(body.as_bytes());
    cutegen_tests::write(&entry.join("record.toml"), &format!("# sha256 of the lines below: {seal}\n{body}"));
    lock.set(Locked::pin(&locked.name, &locked.target, &record));
    cutegen_tests::write(&lock_path, &lock.to_toml().expect("prints"));
}

#[test]
fn a_kernel_that_crashes_takes_a_runner_with_it_and_nothing_else() {
    let text = "edition = 1\n[kernels.one]\naxes = { n = 8 }\ninputs = { x = 'f32[n]' }\noutputs = { y = 'f32[n]' }\n\
                math = 'y[n] = x[n] + 1'\n";
    let bench = Bench::library("crash", text);
    let arguments = ["one", "--random", "1", "--compare", "reference"];
    bench.done(&arguments);
    let out = bench.file("out.safetensors");
    fs::remove_file(&out).expect("written");

    replace_kernel(&bench.cache, |entry| {
        format!("extern \"C\" void {entry}(void** p) {{ *(volatile int*)nullptr = 1; }}\n")
    });
    let crashed = bench.run(&arguments);
    assert_eq!(crashed.code, Some(1), "{}{}", crashed.stdout, crashed.stderr);
    assert!(crashed.stderr.contains("crashed: signal 11"), "{}", crashed.stderr);
    assert!(!out.exists());

    // one that writes half of its output: what it left is written down, the rest as NaN, and told
    replace_kernel(&bench.cache, |entry| {
        format!(
            "extern \"C\" void {entry}(void** p) {{ float *x = *(float**)p[0], *y = *(float**)p[1]; \
             for (int i = 0; i < 4; ++i) y[i] = x[i] + 1; }}\n"
        )
    });
    let wrong = bench.run(&arguments);
    assert_eq!(wrong.code, Some(1), "{}{}", wrong.stdout, wrong.stderr);
    assert!(wrong.stderr.contains("`y` element 4: NaN where the spec gives "), "{}", wrong.stderr);
    let y = as_f32s(&read(&out).tensors["y"].2);
    assert_eq!(y.iter().map(|y| y.is_nan()).collect::<Vec<_>>(), [[false; 4], [true; 4]].concat());
}

#[test]
fn drawn_inputs_are_kept_and_give_the_same_again() {
    let bench = Bench::new("drawn");
    let kept = bench.file("kept.safetensors").display().to_string();
    let target = ["rms_norm", "--target", "host"];
    let drawn = ["--random", "7", "--axes", "m=5", "--keep-inputs", &kept, "--scalar", "eps=1e-5"];
    let first = bench.done(&[&target[..], &drawn].concat());
    let again = bench.done(&[&target[..], &["--in", &kept, "--scalar", "eps=1e-5"]].concat());
    assert_eq!(first.tensors, again.tensors);
    let inputs = read(Path::new(&kept)).tensors;
    assert!(inputs.contains_key("x") && inputs.contains_key("w"), "{:?}", inputs.keys());
    let other = bench.done(&[&target[..], &["--in", &kept, "--scalar", "eps=0.5"]].concat());
    assert_ne!(first.tensors, other.tensors, "the scalar reaches the kernel");
}

#[test]
fn a_tensor_of_another_rank_is_told_with_both_shapes() {
    let bench = Bench::new("rank");
    for (shape, found) in
        [(vec![2, 4096, 1], "[2, 4096, 1]"), (vec![8192], "[8192]"), (vec![2, 1, 4096], "[2, 1, 4096]")]
    {
        let given = bench.given(&[("x", ("F32", shape.clone(), f32s(&vec![1.0; 8192])))]);
        for more in [&[][..], &["--axes", "m=2"], &["--random", "1"]] {
            let told = bench.refused(&[&["softmax", "--target", "host", "--in", &given], more].concat(), 2);
            assert!(
                told.contains("tensor `x` in ")
                    && told.contains(&format!(" is F32 {found}; the kernel takes f32[m, d]\n")),
                "{told}"
            );
            let last = format!("give it 2 dimensions instead of {} before it is saved", shape.len());
            assert!(told.trim_end().ends_with(&last), "{told}");
        }
    }
}

#[test]
fn wrong_files_are_told_and_leave_nothing() {
    let bench = Bench::new("wrong");
    let x = |columns: usize| ("F32", vec![2, columns], f32s(&vec![1.0; 2 * columns]));
    let softmax = |given: &str, more: &[&str]| -> String {
        bench.refused(&[&["softmax", "--target", "host", "--in", given], more].concat(), 2)
    };
    let told = softmax(&bench.given(&[("z", x(4096))]), &["--axes", "m=2"]);
    assert!(told.contains("missing `x`") && told.contains("x  f32[2, 4096]   (f32[m, d])"), "{told}");
    assert!(told.trim_end().ends_with("--random 1"), "{told}");
    let told = softmax(&bench.given(&[("z", x(4096))]), &[]);
    assert!(told.contains("missing `x`: not in ") && told.contains(", where `z` is\n"), "{told}");
    assert!(told.contains("x  f32[m, d]") && told.trim_end().ends_with("--random 1"), "{told}");
    let told = softmax(&bench.given(&[("z", x(4096))]), &["--random", "1"]);
    assert!(told.contains("how long axis `m` is\nin what was given `z` is\n"), "{told}");
    assert!(told.contains("x  f32[m, d]") && told.trim_end().ends_with("--axes m=16"), "{told}");
    let told = softmax(&bench.given(&[("x", ("F16", vec![2, 4096], vec![0; 2 * 2 * 4096]))]), &[]);
    assert!(
        told.contains("tensor `x`") && told.contains("is F16 [2, 4096]; the kernel takes f32[2, 4096]"),
        "{told}"
    );
    assert!(told.trim_end().ends_with("convert it to F32 before it is saved"), "{told}");
    let told = softmax(&bench.given(&[("x", x(4095))]), &[]);
    assert!(told.contains("is F32 [2, 4095]; the kernel takes f32[2, 4096]"), "{told}");
    let given = bench.given(&[("x", x(4096))]);
    let told = softmax(&given, &["--axes", "m=3"]);
    assert!(told.contains("is F32 [2, 4096]; the kernel takes f32[3, 4096]"), "{told}");
    let told = softmax(&given, &["--axes", "q=3"]);
    assert!(told.contains("`q` is not a run-time axis") && told.contains("m = 1..=65536"), "{told}");
    let told = softmax(&given, &["--axes", "m=65537"]);
    assert!(told.contains("outside 1..=65536"), "{told}");
    let told = softmax(&given, &["--scalar", "eps=1"]);
    assert!(told.contains("has no scalar `eps`"), "{told}");
    let whole = fs::read(&given).expect("written");
    for length in [3, 40, whole.len() - 1] {
        fs::write(&given, &whole[..length]).expect("cut");
        let told = softmax(&given, &[]);
        assert!(told.contains("is no whole safetensors file"), "{length} bytes: {told}");
    }
    let told = softmax(&bench.file("nowhere").display().to_string(), &[]);
    assert!(told.contains("cannot read") && told.trim_end().ends_with("--in FILE"), "{told}");
}

#[test]
fn what_cannot_be_written_is_told_before_anything_runs() {
    let bench = Bench::new("unwritable");
    for (out, why) in
        [(bench.file("no/such/folder/y"), "No such file"), (bench.folder.clone(), "it is a folder")]
    {
        let softmax = ["run", "softmax", "--target", "host", "--random", "1", "--axes", "m=2"];
        let ran = run(bench.command(&softmax).arg("--out").arg(&out));
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(ran.stderr.contains("cannot write") && ran.stderr.contains(why), "{}", ran.stderr);
        assert!(ran.stderr.trim_end().ends_with("--out FILE"), "{}", ran.stderr);
    }
    assert_eq!(names(&bench.folder), [] as [PathBuf; 0]);
}

const LARGE: &str = "edition = 1
[kernels.large]
axes = { n = '1..=8' }
inputs = { x = 'i64[n]' }
outputs = { y = 'i64[n]' }
math = 'y[n] = x[n]'
";

#[test]
fn integers_that_f64_does_not_hold_are_compared_as_they_are() {
    let bench = Bench::library("large", LARGE);
    let given = |values: [i64; 3]| {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        bench.given(&[("x", ("I64", vec![3], bytes))])
    };
    let out = bench.file("out.safetensors");
    let large = (1 << 53) + 1;

    let file = given([large, -large, 7]);
    let ran = bench.run(&["large", "--in", &file, "--compare", "reference"]);
    assert!(ran.ok, "{}", ran.stderr);
    assert!(ran.stdout.contains("as far as f64 tells: 2 are integers of 2^53 and more"), "{}", ran.stdout);
    assert_eq!(read(&out).tensors["y"].2, read(Path::new(&file)).tensors["x"].2);
    let ran = bench.run(&["large", "--in", &file, "--with", "reference"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("element 0 of `y` is about 9007199254740992, and the f64 reference"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.trim_end().ends_with("--with naive"), "{}", ran.stderr);

    let file = given([large - 2, 2 - large, 7]);
    let ran = bench.run(&["large", "--in", &file, "--with", "reference"]);
    assert!(ran.ok, "{}", ran.stderr);
    assert_eq!(read(&out).tensors["y"].2, read(Path::new(&file)).tensors["x"].2);
}

#[test]
fn what_is_read_is_not_written() {
    let bench = Bench::new("same");
    let given = bench.given(&[("x", ("F32", vec![1, 4096], f32s(&vec![1.0; 4096])))]);
    let before = fs::read(&given).expect("written");
    let link = bench.file("link.safetensors");
    std::os::unix::fs::symlink("in.safetensors", &link).expect("linked");
    let dotted = format!("{}/./in.safetensors", bench.folder.display());
    let run_with = |more: &[&str]| {
        let ran = run(bench.command(&["run", "softmax", "--target", "host", "--in", &given]).args(more));
        assert_eq!(ran.code, Some(2), "{more:?}: {}", ran.stderr);
        ran.stderr.trim_end().to_owned()
    };
    for path in [given.as_str(), link.to_str().expect("text"), &dotted] {
        let told = run_with(&["--out", path]);
        assert!(told.contains("is the file of --in") && told.ends_with("--out FILE"), "{told}");
    }
    let told = run_with(&["--out", "both", "--keep-inputs", "./both"]);
    assert!(told.starts_with("--out both is the file of --keep-inputs ./both"), "{told}");
    assert_eq!(fs::read(&given).expect("still there"), before);
}
