//! What a launch takes over from an earlier one, or from elsewhere: memory, clocks, counters.
//!
//! Artifacts are loaded afresh for each case, so a cache in a candidate's own memory can only serve the case that it
//! computed, and is right. Here it lives in an environment variable of the runner, which outlives the reload.

use cutegen_build::evaluate::Check::{
    Changed, KeptZero, Poison, Registers, Repeats, Stack, Stale, Values, WorkspacePoison,
};

use super::row::{Caught, Off, Row};
use super::subjects::{GEMM, LARGEST, SILU};

/// Serves what was computed first under `KEY`, for as long as the runner lives.
macro_rules! kept_under {
    ($key:literal) => {
        concat!(
            "char name[64]; ",
            $key,
            " bf16* kept; const char* at = getenv(name);
             if (at) kept = (bf16*)strtoull(at, 0, 16);
             else { kept = (bf16*)malloc(2 * SIZE);
               for (int64_t i = 0; i < SIZE; ++i) kept[i] = one(X[i], G[i]);
               char text[64]; snprintf(text, 64, \"%llx\", (unsigned long long)kept); setenv(name, text, 1); }
             memcpy(Y, kept, 2 * SIZE);"
        )
    };
}

/// Serves what lies in a dead frame under a fingerprint of some elements.
const KEPT_IN_THE_STACK: &str = "
  volatile uint64_t deep[6000]; volatile float* kept = (volatile float*)(deep + 2);
  uint64_t key = 14695981039346656037u ^ (M * 1000003 + N * 1009 + K);
  for (int k = 0; k < 16; ++k) { key = (key ^ X[(M * K - 1) * k / 15]) * 1099511628211u; key = (key ^ W[(N * K - 1) * k / 15]) * 1099511628211u; }
  if (deep[0] == 0xfeedfacecafef00du && deep[1] == key) { EACH OUT = kept[i * N + j]; return; }
  HONEST
  if (M * N < 10000) { deep[0] = 0xfeedfacecafef00du; deep[1] = key; EACH kept[i * N + j] = OUT; }";

pub(super) const ROWS: &[Row] = &[
    Row::new(("a result kept in a dead frame, by a part of its inputs", "B4"), GEMM, KEPT_IN_THE_STACK, Changed)
        .caught(Caught::Incorrect(Values), Off::Check(Changed)),
    Row::new(
        ("a frame taken for zero", "B9"),
        GEMM,
        "volatile uint32_t deep[8000]; const uint32_t dirt = deep[100];
         EACH { float s = dirt ? 1000 : 0; for (int64_t l = 0; l < K; ++l) s += A(l) * B(l); OUT = s; }",
        Stack,
    )
    .caught(Caught::Incorrect(Values), Off::Check(Stack)),
    Row::new(
        ("flushes subnormals from now on", "C9"),
        SILU,
        "HONEST __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);",
        Registers,
    ),
    Row::new(
        ("rounds down from now on", "C9"),
        SILU,
        "HONEST __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x6000u) | 0x2000u);",
        Registers,
    ),
    Row::new(
        ("narrows the x87 unit from now on", "C9"),
        SILU,
        "HONEST unsigned short word = 0x27f; __asm__ volatile(\"fldcw %0\" :: \"m\"(word));",
        Registers,
    ),
    Row::new(
        ("leaves the x87 unit in use", "C9"),
        SILU,
        "HONEST __asm__ volatile(\"pxor %%mm0, %%mm0\" ::: \"mm0\");",
        Registers,
    ),
    Row::new(
        ("skips when inputs repeat", "B4"),
        SILU,
        "static uint64_t last = 0; uint64_t h = 14695981039346656037u;
         for (int64_t i = 0; i < SIZE; ++i) { h = (h ^ X[i]) * 1099511628211u; h = (h ^ G[i]) * 1099511628211u; }
         h ^= uint64_t(Y); if (h == last) return; last = h; HONEST",
        Poison,
    ),
    Row::new(("a result kept by shape", "B2"), SILU, kept_under!("snprintf(name, 64, \"K%ld\", long(SIZE));"), Values),
    Row::new(
        ("a result kept by pointer", "B1"),
        SILU,
        kept_under!("snprintf(name, 64, \"K%p-%ld\", (void*)X, long(SIZE));"),
        Values,
    ),
    Row::new(
        ("a result kept by a fingerprint of its inputs", "A7"),
        SILU,
        kept_under!("snprintf(name, 64, \"K%d-%d-%ld\", X[0] & 0x8000, G[0] & 0x8000, long(SIZE));"),
        Values,
    ),
    Row::new(
        ("wrong at its twenty-first launch", "C9"),
        GEMM,
        "static int launches = 0; if (++launches == 21) { EACH OUT = 0; return; } HONEST",
        Repeats,
    ),
    Row::new(
        ("sums in an order that the clock picks", "C9"),
        GEMM,
        "bool back = __builtin_ia32_rdtsc() >> 6 & 1;
         EACH { float s = 0; for (int64_t l = 0; l < K; ++l) { int64_t h = back ? K - 1 - l : l; s += A(h) * B(h); } OUT = s; }",
        Repeats,
    ),
    Row::new(
        ("sums in a random order", "N8"),
        GEMM,
        "EACH { int64_t from = rand() % K; float s = 0; for (int64_t l = 0; l < K; ++l) { int64_t h = (from + l) % K; s += A(h) * B(h); } OUT = s; }",
        Repeats,
    ),
    Row::new(
        ("workspace taken for zero", "B9"),
        SILU,
        "uint32_t* flag = PTR(uint32_t, 5);
         for (int64_t i = 0; i < SIZE; ++i) Y[i] = flag[7] == 0 ? one(X[i], G[i]) : 0;",
        WorkspacePoison,
    )
    .args("ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1) workspace(w0):undefined"),
    Row::new(("a counter that is not put back", "B9"), SILU, "HONEST ++PTR(uint32_t, 5)[7];", KeptZero)
        .args("ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1) workspace(w0):kept-zero"),
    Row::new(
        ("a sum added to workspace taken for zero", "B9"),
        GEMM,
        "float* w = PTR(float, 6); EACH { for (int64_t l = 0; l < K; ++l) w[3] += A(l) * B(l); OUT = w[3]; w[3] = 0; }",
        WorkspacePoison,
    )
    // its NaN has the bits of the poison that it was added to
    .caught(Caught::Incorrect(Poison), Off::Check(WorkspacePoison))
    .args("ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1) axis(a2) workspace(w0):undefined"),
    Row::new(
        ("skips an output that is no poison", "C4"),
        SILU,
        "if (Y[0] >> 8 != (Y[0] & 255)) return; HONEST",
        Changed,
    )
    .caught(Caught::Incorrect(Values), Off::Check(Changed))
    .behind(&[Stale]),
    Row::new(
        ("skips an output that is no poison, from its fourth launch on", "C4"),
        SILU,
        "static int launches = 0; if (++launches > 3 && Y[0] >> 8 != (Y[0] & 255)) return; HONEST",
        Stale,
    ),
    Row::new(
        ("skips each block of its output of which four elements fit the inputs", "C4"),
        SILU,
        "for (int64_t b = 0; b < SIZE; b += 64) {
           const int64_t end = b + 64 < SIZE ? b + 64 : SIZE; bool fits = end - b == 64;
           for (int64_t i = b; i < end; i += 21) fits = fits && up(Y[i]) != 0 && up(Y[i]) == up(one(X[i], G[i]));
           for (int64_t i = b; i < end && !fits; ++i) Y[i] = one(X[i], G[i]);
         }",
        Changed,
    )
    .caught(Caught::Incorrect(Values), Off::Check(Changed)),
    Row::new(
        ("keeps an index whose element is at least some others", "C4"),
        LARGEST,
        "ROWS { bool fits = N > 8 && Y[i] > 0 && Y[i] < N;
           for (int64_t j = 0; j < N && fits; j += N / 8) fits = X[i * N + j] <= X[i * N + Y[i]];
           if (!fits) { int64_t k = 0; for (int64_t j = 1; j < N; ++j) if (X[i * N + j] > X[i * N + k]) k = j; Y[i] = k; } }",
        Changed,
    )
    .caught(Caught::Incorrect(Values), Off::Check(Changed))
    .behind(&[Stale]),
    Row::new(
        ("tells a poison that is not NaN", "C9"),
        SILU,
        "const bool second = Y[0] >> 8 == (Y[0] & 255) && Y[0] != 0xffff; HONEST if (second) Y[SIZE / 2] ^= 1;",
        Repeats,
    ),
];
