//! A template's CUDA source as C++ for `emulate.hpp`: names of what the hardware does, and inline PTX by its meaning.
//! An instruction without a meaning here is a panic, so that nothing is left out in silence.

/// Names and instructions of a sort of template, in addition and first: by what stands there or how it begins, and what means
/// the same.
pub(crate) struct Dialect {
    pub(crate) names: &'static [(&'static str, &'static str)],
    pub(crate) instructions: &'static [(&'static str, &'static str)],
}

/// Names of the device and what stands for them.
const NAMES: &[(&str, &str)] = &[
    ("#include <cute/arch/cluster_sm90.hpp>\n", ""),
    ("#include <cute/arch/copy_sm90_tma.hpp>\n", ""),
    (
        "#define CG_DEVICE [[maybe_unused]] __device__ __forceinline__",
        "#define CG_DEVICE [[maybe_unused]] inline",
    ),
    ("extern \"C\" __global__", "extern \"C\""),
    ("__device__ static", "static"),
    ("__launch_bounds__(BLOCK + PRODUCERS, BESIDE)", ""),
    ("__launch_bounds__((WRITERS + 1) * BLOCK + PRODUCERS, BESIDE)", ""),
    ("__launch_bounds__(BLOCK, BESIDE)", ""),
    ("__launch_bounds__(BLOCK)", ""),
    ("__launch_bounds__(FOLD_THREADS)", ""),
    ("__launch_bounds__(256)", ""),
    ("__launch_bounds__(1024)", ""),
    (
        "#define CG_FN __device__ inline\n#define CG_METHOD __device__ inline\nusing int64_t = long long;\n",
        "#define CG_FN inline\n#define CG_METHOD inline\nconstexpr int BLOCK = 1024;\n",
    ),
    ("__shared__ acc parts[1024];", "acc* parts = emu_shared<acc>();"),
    ("__shared__ int64_t parts[1024];", "int64_t* parts = emu_shared<int64_t>();"),
    ("extern __shared__ __align__(128) unsigned char stages[];", "unsigned char* stages = emu_dynamic();"),
    ("__shared__ Shared shared;", "Shared& shared = *emu_shared<Shared>();"),
    ("__shared__ Slots slots;", "Slots& slots = *emu_shared<Slots>();"),
    ("__shared__ FoldSlots slots;", "FoldSlots& slots = *emu_shared<FoldSlots>();"),
    ("const uint32_t to = set_block_rank(cast_smem_ptr_to_uint(at), uint32_t(block));\n", "\n"),
    ("asm volatile(\"\" ::: \"memory\");", ""),
    ("asm volatile(\"\" : \"+r\"(words(w)));", ";"),
    ("__syncthreads()", "emu_syncthreads()"),
    ("__syncwarp()", "emu_syncwarp()"),
    ("cluster_arrive_relaxed()", "(void)0"),
    ("cluster_arrive()", "(void)0"),
    ("cluster_wait()", "emu_cluster_wait()"),
    ("block_rank_in_cluster()", "emu_block->rank"),
    ("initialize_barrier(", "emu_initialize("),
    ("set_barrier_transaction_bytes(", "emu_arrive_with("),
    ("arrive_barrier(", "emu_arrive("),
    ("wait_barrier(", "emu_wait("),
];

/// Instructions by how they begin, and the statement that means the same in the scope where it stands.
const INSTRUCTIONS: &[(&str, &str)] = &[
    ("ld.global.L1", "emu_move(src, dst)"),
    ("st.global.cs", "emu_move(src, dst)"),
    ("ex2.approx.ftz.f32", "y = exp2f(x)"),
    ("rcp.approx.ftz.f32", "y = 1.0f / x"),
    ("max.NaN.f32", "y = emu_max(a, b)"),
    ("min.NaN.f32", "y = emu_min(a, b)"),
    (
        "cvt.rn.f16x2.e4m3x2",
        "h = __half_as_ushort(__float2half_rn((x.bits & 0x7f) == 0x7f ? NAN : emu_f8_value(x.bits, 3, 7)))",
    ),
    ("cvt.rn.satfinite.e4m3x2", "both = uint16_t(emu_f8(lo, 3, 7, 0x7e) | emu_f8(hi, 3, 7, 0x7e) << 8)"),
    ("cvt.rn.satfinite.e5m2x2", "both = uint16_t(emu_f8(lo, 2, 15, 0x7b) | emu_f8(hi, 2, 15, 0x7b) << 8)"),
    ("createpolicy.", "policy = 0"),
    ("cp.async.bulk.shared::cta", "emu_bulk_copy(from, &full, to, bytes)"),
    ("griddepcontrol.", "(void)0"),
    ("fence.mbarrier_init", "(void)0"),
    ("fence.proxy.async", "(void)0"),
    ("setmaxnreg.", "(void)0"),
    ("bar.sync 1", "emu_sync_named()"),
    ("st.shared::cluster.v2", "emu_store_remote(at, block, value)"),
    ("st.relaxed.gpu", "emu_publish(at, word)"),
    ("ld.relaxed.gpu", "word = emu_poll(at)"),
];

/// The source for the host, without a `main`.
pub(crate) fn translate(source: &str, dialect: &Dialect) -> String {
    let named =
        dialect.names.iter().chain(NAMES).fold(source.to_owned(), |text, (from, to)| text.replace(from, to));
    let mut out = String::from("#include \"emulate.hpp\"\n");
    let mut rest = named.as_str();
    while let Some((before, statement)) = next_assembly(rest) {
        out.push_str(before);
        out.push_str(meaning(statement, dialect));
        rest = &rest[before.len() + statement.len()..];
    }
    out + rest
}

/// The text before the next `asm` statement, and that statement without its semicolon.
fn next_assembly(text: &str) -> Option<(&str, &str)> {
    let start = ["asm(", "asm volatile("].iter().filter_map(|word| text.find(word)).min()?;
    let end = text[start..].find(");").expect("a statement ends") + 1;
    Some((&text[..start], &text[start..start + end]))
}

fn meaning(statement: &str, dialect: &Dialect) -> &'static str {
    let instruction = statement.split('"').nth(1).expect("a statement has an instruction");
    let found =
        dialect.instructions.iter().chain(INSTRUCTIONS).find(|(begins, _)| instruction.starts_with(begins));
    found.map(|(_, meaning)| *meaning).unwrap_or_else(|| panic!("`{instruction}` has no meaning here"))
}
