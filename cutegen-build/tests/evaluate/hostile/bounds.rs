//! Memory that is not the candidate's to write, or to read.

use cutegen_build::evaluate::Check::{Guards, Inputs, Misalignment, Pages, Repeats, Untouched, Values};

use super::row::Row;
use super::subjects::{PADDED, REVERSED, SCATTER, SILU};

pub(super) const ROWS: &[Row] = &[
    Row::new(
        ("reads far behind an input", "S5"),
        SILU,
        "for (int k = 0; k < 900; ++k) (void)((volatile const bf16*)X)[SIZE + k]; HONEST",
        Pages,
    ),
    Row::new(
        ("reads before an input", "S5"),
        SILU,
        "for (int k = 1; k < 900; ++k) (void)((volatile const bf16*)G)[-k]; HONEST",
        Pages,
    ),
    Row::new(
        ("loads its last vector whole", "S5"),
        SILU,
        "for (int64_t i = 0; i < SIZE; i += 16) for (int64_t k = 0; k < 16; ++k) (void)((volatile const bf16*)X)[i + k]; HONEST",
        Pages,
    ),
    Row::new(("reads its output's neighbour", "S5"), SILU, "HONEST (void)((volatile bf16*)Y)[SIZE];", Pages),
    Row::new(("writes an input over itself", "B6"), SILU, "HONEST ((volatile bf16*)X)[0] = X[0];", Pages),
    Row::new(("writes before an output", "B7"), SILU, "HONEST Y[-1] = 0;", Guards).behind(&[Pages]),
    Row::new(("writes behind an output", "B7"), SILU, "HONEST Y[SIZE] = 0;", Guards).behind(&[Pages]),
    Row::new(("writes far behind an output", "B7"), SILU, "HONEST ((char*)Y)[2 * SIZE + 4000] = 0;", Guards)
        .behind(&[Pages]),
    Row::new(("writes before an input", "B7"), SILU, "HONEST ((bf16*)X)[-1] = 7;", Guards).behind(&[Pages]),
    Row::new(("writes behind its workspace", "B7"), SILU, "HONEST PTR(char, 5)[1000] = 1;", Guards)
        .behind(&[Pages])
        .args("ptr(t0) ptr(t1) ptr(t2) axis(a0) axis(a1) workspace(w0):undefined"),
    Row::new(("edits an input", "B6"), SILU, "HONEST ((bf16*)X)[SIZE - 1] ^= 1;", Inputs).behind(&[Pages]),
    Row::new(
        ("takes an input for scratch", "B6"),
        SILU,
        "for (int64_t i = 0; i < SIZE; ++i) { ((bf16*)G)[i] = one(X[i], G[i]); Y[i] = G[i]; }",
        Inputs,
    )
    .behind(&[Pages]),
    Row::new(
        ("reads behind an input", "S5"),
        SILU,
        "for (int64_t i = 0; i < SIZE; ++i) Y[i] = one(X[i + (i + 1 == SIZE)], G[i]);",
        Values,
    )
    .behind(&[Repeats, Pages]), // a guard holds another NaN in another place
    Row::new(
        ("zeros in the gaps of an output", "S4"),
        PADDED,
        "HONEST for (int64_t i = 0; i + 1 < M; ++i) Y[8 * i + 6] = 0;",
        Untouched,
    ),
    Row::new(
        ("NaN in the gaps of an output", "S4"),
        PADDED,
        "HONEST for (int64_t i = 0; i + 1 < M; ++i) Y[8 * i + 6] = NAN;",
        Untouched,
    ),
    Row::new(
        ("touches a row of an inout that nothing addresses", "S9"),
        SCATTER,
        "int hit = 0; for (int64_t i = 0; i < B; ++i) hit |= AT[i] == 300; HONEST if (!hit) C[300] = 7;",
        Untouched,
    ),
    Row::new(
        ("one value for all that is scattered", "A1"),
        SCATTER,
        "for (int64_t i = 0; i < B; ++i) C[AT[i]] += X[0];",
        Values,
    ),
    Row::new(
        ("overwrites an inout", "S9"),
        SCATTER,
        "for (int64_t i = 0; i < B; ++i) C[AT[i]] = X[i];",
        Values,
    ),
    Row::new(
        ("reads an inout after it is written", "S9"),
        REVERSED,
        "for (int64_t i = 0; i < N; ++i) C[i] = C[N - 1 - i] + X[i];",
        Values,
    ),
    Row::new(
        ("takes every base for aligned", "S3"),
        SILU,
        "if (uintptr_t(Y) % 16) __builtin_trap(); HONEST",
        Misalignment,
    )
    .behind(&[Pages]),
];
