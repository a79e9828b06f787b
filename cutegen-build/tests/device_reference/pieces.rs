//! The gate's kernel that does many small things to memory, run on the host: what it copies, fills, patterns and
//! compares, byte by byte.

use std::ffi::c_void;
use std::process::Command;

use cutegen_build::evaluate::KERNELS;
use cutegen_build::evaluate::arena::fill_guard;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::device::CUDA;

/// What the gate's kernels name besides.
const MORE: &str = "
#define __device__
#define __shared__
#define __syncthreads()
struct ulonglong2 { unsigned long long x, y; };
static inline unsigned long long atomicMin(unsigned long long* to, unsigned long long n) {
  const unsigned long long before = *to;
  if (n < before) *to = n;
  return before;
}
static inline unsigned long long atomicMax(unsigned long long* to, unsigned long long n) {
  const unsigned long long before = *to;
  if (n > before) *to = n;
  return before;
}
static inline double atomicAdd(double* to, double n) { const double before = *to; *to += n; return before; }
static inline float __int_as_float(int word) { float x; std::memcpy(&x, &word, 4); return x; }
static inline long long __double_as_longlong(double x) { long long word; std::memcpy(&word, &x, 8); return word; }
";

const LAUNCH: &str = "
extern \"C\" void launch_pieces(void** args, unsigned grid, unsigned block) { launched(cutegen_pieces, args, grid, block); }
";

type Launch = unsafe extern "C" fn(*mut *mut c_void, u32, u32);

const COPY: u64 = 0;
const FILL: u64 = 1;
const GUARD: u64 = 2;
const DIFFER: u64 = 3;
const NONE: u64 = u64::MAX;

/// The kernel on these pieces, and the first that differs.
fn run(object: &Library, pieces: &[[u64; 4]]) -> u64 {
    let mut first = NONE;
    let mut values = [pieces.as_ptr() as u64, pieces.len() as u64, &raw mut first as u64];
    let mut args: Vec<*mut c_void> = values.iter_mut().map(|v| (&raw mut *v).cast()).collect();
    // SAFETY: our own text, and pieces of live memory
    unsafe {
        let launch = object.get::<Launch>(b"launch_pieces\0").expect("it is there");
        // fewer blocks than pieces, and fewer threads than most have bytes
        launch(args.as_mut_ptr(), 3, 8);
    }
    first
}

/// Bytes that start this far behind a multiple of 16.
fn place(bytes: &mut [u8], off: usize) -> u64 {
    let at = bytes.as_mut_ptr() as u64;
    at.next_multiple_of(16) + off as u64
}

pub(crate) fn are_done() {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, shared) = (folder.path().join("gate.cpp"), folder.path().join("gate.so"));
    // shared memory is not what this looks at
    std::fs::write(&source, format!("{CUDA}{MORE}{KERNELS}u32 shared[64];{LAUNCH}")).expect("written");
    let flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno"];
    let ran =
        Command::new("c++").args(flags).arg("-o").arg(&shared).arg(&source).output().expect("c++ starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    // SAFETY: our own text, without constructors
    let object = unsafe { Library::open(Some(&shared), RTLD_NOW | RTLD_LOCAL) }.expect("it loads");
    for bytes in [0, 1, 15, 16, 17, 200] {
        for off in [0, 1, 8] {
            one(&object, bytes, off);
        }
    }
    many(&object);
}

/// Each kind on a range of this length and alignment.
fn one(object: &Library, bytes: usize, off: usize) {
    let mut from: Vec<u8> = (0..bytes + 64).map(|i| (i * 37) as u8).collect();
    let source = place(&mut from, off);
    let skip = (source - from.as_ptr() as u64) as usize;
    let wanted = |kind: u64| -> Vec<u8> {
        let mut wanted = from[skip..skip + bytes].to_vec();
        match kind {
            FILL => wanted.fill(0x7c),
            GUARD => fill_guard(&mut wanted, 12_345),
            _ => {}
        }
        wanted
    };
    for (kind, word) in [(COPY, source), (FILL, 0x7c), (GUARD, 12_345)] {
        let mut to = vec![0xee_u8; bytes + 64];
        let at = place(&mut to, off);
        run(object, &[[at, word, bytes as u64, kind]]);
        let start = (at - to.as_ptr() as u64) as usize;
        assert_eq!(to[start..start + bytes], wanted(kind), "{kind} of {bytes}, {off} off");
        let mut outside = to[..start].iter().chain(&to[start + bytes..]);
        assert!(outside.all(|byte| *byte == 0xee), "{kind} of {bytes}, {off} off: nothing else");
        if kind == COPY {
            compared(object, (at, source, bytes), (&mut to, start));
        }
    }
}

/// Equal ranges, and such that differ in one byte.
fn compared(object: &Library, (at, source, bytes): (u64, u64, usize), (to, start): (&mut [u8], usize)) {
    let piece = [at, source, bytes as u64, DIFFER];
    assert_eq!(run(object, &[piece]), NONE);
    for byte in 0..bytes {
        to[start + byte] ^= 0x10;
        assert_eq!(run(object, &[[at, source, 0, DIFFER], piece]), 1, "byte {byte} of {bytes}");
        to[start + byte] ^= 0x10;
    }
}

/// More pieces than blocks; of two that differ the first is told.
fn many(object: &Library) {
    let mut to = vec![0_u8; 1 << 12];
    let start = place(&mut to, 0);
    let fills: Vec<[u64; 4]> = (0..100).map(|i| [start + 40 * i, i + 1, 40, FILL]).collect();
    run(object, &fills);
    let skip = (start - to.as_ptr() as u64) as usize;
    assert!((0..4000).all(|i| to[skip + i] == (i / 40) as u8 + 1));
    let pieces: Vec<[u64; 4]> = (0..100).map(|i| [start + 40 * i, start, 40, DIFFER]).collect();
    assert_eq!(run(object, &pieces), 1);
}
