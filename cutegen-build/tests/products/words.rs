//! The words of the product template for the host, in addition to those of all templates.

use crate::translate::Dialect;

pub(crate) const DIALECT: Dialect = Dialect {
    names: &[
        ("__launch_bounds__(THREADS)", ""),
        ("__launch_bounds__(THREADS, 2)", ""),
        ("constexpr int THREADS = 32", "constexpr int BLOCK = 0, THREADS = 32"),
        (
            "extern __shared__ __align__(1024) unsigned char smem[];",
            "unsigned char* const smem = emu_dynamic();",
        ),
        ("__shared__ bool is_last;", "static bool is_last;"),
        ("cast_smem_ptr_to_uint(", "emu_shared_address("),
        ("cp_async_fence()", "emu_copy_commit()"),
        ("cp_async_wait<", "emu_copy_wait<"),
        ("using Mma = SM80_16x8x16_F32BF16BF16F32_TN;", "using Mma = EmuMma<EmuBf16>;"),
        ("using Mma = SM80_16x8x16_F32F16F16F32_TN;", "using Mma = EmuMma<EmuF16>;"),
    ],
    instructions: &[
        ("cp.async.cg.shared.global", "emu_copy_async(to, from, 16, bytes)"),
        ("cp.async.ca.shared.global", "emu_copy_async(to, from, BYTES, bytes)"),
        ("st.shared.v4.b32", "emu_store_shared(tile + Tile::of(line, column), v)"),
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", "emu_ldmatrix<4, false>(from, {&a, &b, &c, &d})"),
        ("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", "emu_ldmatrix<4, true>(from, {&a, &b, &c, &d})"),
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16", "emu_ldmatrix<2, false>(from, {&a, &b})"),
        ("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "emu_ldmatrix<2, true>(from, {&a, &b})"),
        ("cvt.rn.f16x2.e4m3x2", "halves = emu_halves(pair, 3, 7)"),
        ("cvt.rn.f16x2.e5m2x2", "halves = emu_halves(pair, 2, 15)"),
        (
            "cvt.rn.satfinite.e4m3x2",
            "pair = uint16_t(emu_f8(low, 3, 7, 0x7e) | emu_f8(high, 3, 7, 0x7e) << 8)",
        ),
        (
            "cvt.rn.satfinite.e5m2x2",
            "pair = uint16_t(emu_f8(low, 2, 15, 0x7b) | emu_f8(high, 2, 15, 0x7b) << 8)",
        ),
    ],
};
