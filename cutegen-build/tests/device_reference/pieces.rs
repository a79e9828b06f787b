//! The gate's kernel that does many small things to memory, run on the host: what it writes and what it finds, against
//! plain Rust, byte by byte. An access of 16 bytes at a place that is no multiple of 16 ends the test.

use std::ffi::c_void;
use std::process::Command;

use cutegen_build::evaluate::KERNELS;
use cutegen_build::evaluate::wire::arena::fill_guard;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use super::device::CUDA;

/// An `asm volatile(...)` is nothing.
const NO_PTX: &str = "#define asm\n#define volatile(...)\n";

/// What the gate's kernels name besides.
const MORE: &str = "
#define __device__
#undef __shared__
#define __shared__
struct alignas(16) ulonglong2 { unsigned long long x, y; };
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
static inline float __double2float_rn(double x) { return static_cast<float>(x); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(a) * b) >> 64);
}
static inline unsigned atomicAdd(unsigned* to, unsigned n) { const unsigned before = *to; *to += n; return before; }
static inline double atomicAdd(double* to, double n) { const double before = *to; *to += n; return before; }
static inline float __int_as_float(int word) { float x; std::memcpy(&x, &word, 4); return x; }
static inline long long __double_as_longlong(double x) { long long word; std::memcpy(&word, &x, 8); return word; }
";

const LAUNCH: &str = "
extern \"C\" void launch_pieces(void** args, unsigned grid, unsigned block) { launched(cutegen_pieces, args, grid, block); }
extern \"C\" void launch_cutegen_draw(void** args, unsigned grid, unsigned block) { launched(cutegen_draw, args, grid, block); }
extern \"C\" void launch_cutegen_plant(void** args, unsigned grid, unsigned block) { launched(cutegen_plant, args, grid, block); }
";

pub(crate) type Launch = unsafe extern "C" fn(*mut *mut c_void, u32, u32);

const COPY: u64 = 0;
const FILL: u64 = 1;
const GUARD: u64 = 2;
const DIFFER: u64 = 3;
const DAMAGE: u64 = 4;
const NONE: u64 = u64::MAX;

/// Lengths without a whole vector, with one, with more than a block has threads; and distances from a vector's place.
const LENGTHS: [usize; 9] = [0, 1, 15, 16, 17, 31, 32, 47, 200];
const OFFS: [usize; 4] = [0, 1, 8, 15];
/// Where the pattern of a guard starts: vectors may begin at any place of it.
const PLACE: u64 = 12_345;

/// The kernel on these pieces, and the position that it notes.
fn run(object: &Library, pieces: &[[u64; 5]]) -> u64 {
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

/// The gate's kernels, or such with a fault, for the host.
pub(crate) fn object_of(kernels: &str) -> Library {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, shared) = (folder.path().join("gate.cpp"), folder.path().join("gate.so"));
    // shared memory is not what this looks at, nor what is said in PTX
    let text = format!("{CUDA}{MORE}{NO_PTX}{kernels}u32 shared[64];{LAUNCH}");
    std::fs::write(&source, text).expect("written");
    let flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno"];
    let traps = ["-fsanitize=alignment", "-fsanitize-undefined-trap-on-error"];
    let ran = Command::new("c++")
        .args(flags)
        .args(traps)
        .arg("-o")
        .arg(&shared)
        .arg(&source)
        .output()
        .expect("c++ starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    // SAFETY: our own text, without constructors
    unsafe { Library::open(Some(&shared), RTLD_NOW | RTLD_LOCAL) }.expect("it loads")
}

pub(crate) fn are_done() {
    let object = object_of(KERNELS);
    for bytes in LENGTHS {
        for (off, other) in OFFS.into_iter().flat_map(|off| [(off, off), (off, 3)]) {
            written(&object, bytes, (off, other));
            compared(&object, bytes, (off, other));
        }
    }
    many(&object);
}

/// Bytes that lie this far behind a multiple of 16, among others.
struct Placed {
    all: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Placed {
    fn new(bytes: usize, off: usize, content: impl Fn(usize) -> u8) -> Self {
        let mut all = vec![0xee; bytes + 64];
        let start = all.as_ptr().align_offset(16) + off;
        all[start..start + bytes].iter_mut().enumerate().for_each(|(i, byte)| *byte = content(i));
        Self { all, start, bytes }
    }

    fn at(&mut self) -> u64 {
        self.all[self.start..].as_mut_ptr() as u64
    }

    fn held(&self) -> &[u8] {
        &self.all[self.start..self.start + self.bytes]
    }

    fn is_alone(&self) -> bool {
        let (before, after) = (&self.all[..self.start], &self.all[self.start + self.bytes..]);
        before.iter().chain(after).all(|byte| *byte == 0xee)
    }
}

fn content(i: usize) -> u8 {
    (i * 37 + 5) as u8
}

fn pattern(bytes: usize) -> Vec<u8> {
    let mut pattern = vec![0; bytes];
    fill_guard(&mut pattern, PLACE);
    pattern
}

/// What each kind writes, and that it writes nothing else.
fn written(object: &Library, bytes: usize, (off, other): (usize, usize)) {
    let mut from = Placed::new(bytes, other, content);
    // only the last byte of the word fills
    let kinds = [
        (COPY, from.at(), from.held().to_vec()),
        (FILL, 0xab7c, vec![0x7c; bytes]),
        (GUARD, PLACE, pattern(bytes)),
    ];
    for (kind, word, wanted) in kinds {
        let mut to = Placed::new(bytes, off, |_| 0);
        assert_eq!(run(object, &[[to.at(), word, bytes as u64, kind, 0]]), NONE);
        assert_eq!(to.held(), wanted, "{kind} of {bytes}, {off} and {other} off");
        assert!(to.is_alone(), "{kind} of {bytes}, {off} and {other} off: nothing else");
    }
    assert!(from.is_alone() && from.held().iter().enumerate().all(|(i, byte)| *byte == content(i)));
}

/// What each kind finds: nothing in equal ranges, else the first byte, wherever it stands, and writes nothing.
fn compared(object: &Library, bytes: usize, (off, other): (usize, usize)) {
    let mut from = Placed::new(bytes, other, content);
    let pattern = pattern(bytes);
    let kinds = [(DIFFER, from.at(), from.held().to_vec()), (DAMAGE, PLACE, pattern)];
    for (kind, word, wanted) in kinds {
        let mut found = Placed::new(bytes, off, |i| wanted[i]);
        let piece = [found.at(), word, bytes as u64, kind, 1000];
        assert_eq!(run(object, &[piece]), NONE, "{kind} of {bytes}, {off} and {other} off");
        for byte in 0..bytes {
            // the last byte as well: of two the first is told
            for spoiled in [vec![byte], vec![byte, bytes - 1]] {
                let mut hurt = Placed::new(bytes, off, |i| wanted[i] ^ u8::from(spoiled.contains(&i)));
                let before = hurt.all.clone();
                let piece = [hurt.at(), word, bytes as u64, kind, 1000];
                assert_eq!(
                    run(object, &[piece]),
                    1000 + byte as u64,
                    "{kind} of {bytes}, {off}, {other} off"
                );
                assert_eq!(hurt.all, before);
            }
        }
        assert!(found.is_alone() && found.held() == wanted);
    }
}

/// More pieces than blocks; of several that differ the first is told, in the order of their positions.
fn many(object: &Library) {
    let mut to = Placed::new(4000, 0, |_| 0);
    let start = to.at();
    let each = |kind: u64, word: &dyn Fn(u64) -> u64| -> Vec<[u64; 5]> {
        (0..100).map(|i| [start + 40 * i, word(i), 40, kind, 40 * i]).collect()
    };
    run(object, &each(FILL, &|i| i + 1));
    assert!(to.held().iter().enumerate().all(|(i, byte)| *byte == (i / 40) as u8 + 1));
    let mut pieces = each(DIFFER, &|_| start);
    assert_eq!(run(object, &pieces), 40);
    pieces.reverse();
    assert_eq!(run(object, &pieces), 40);
    run(object, &each(GUARD, &|i| 40 * i));
    let mut pieces = each(DAMAGE, &|i| 40 * i);
    assert_eq!(run(object, &pieces), NONE);
    pieces[77][1] += 2;
    assert!((77 * 40..78 * 40).contains(&run(object, &pieces)));
}
