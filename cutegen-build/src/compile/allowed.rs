//! The guard's lists, apart from its rules so that a review of either reads as one page.

pub(super) const FOLDERS: &[&str] = &["cute/", "cutlass/", "cuda/", "cooperative_groups/"];
pub(super) const CUDA_HEADERS: &[&str] = &[
    "cooperative_groups.h",
    "cuComplex.h",
    "cuda.h",
    "cuda_bf16.h",
    "cuda_fp16.h",
    "cuda_fp4.h",
    "cuda_fp6.h",
    "cuda_fp8.h",
    "cuda_pipeline.h",
    "cuda_runtime.h",
    "math_constants.h",
    "mma.h",
    "nv/target",
    "vector_types.h",
];
pub(super) const STANDARD_HEADERS: &[&str] = &[
    "algorithm",
    "array",
    "cassert",
    "cfloat",
    "climits",
    "cmath",
    "cstddef",
    "cstdint",
    "cstring",
    "functional",
    "initializer_list",
    "limits",
    "numeric",
    "tuple",
    "type_traits",
    "utility",
];
pub(super) const HOST_HEADERS: &[&str] = &["emmintrin.h", "immintrin.h", "smmintrin.h", "xmmintrin.h"];

pub(super) const DIRECTIVES: &[&str] =
    &["include", "define", "undef", "if", "ifdef", "ifndef", "elif", "else", "endif", "error", "pragma"];

pub(super) const WORDS: &[&str] = &[
    "__pragma",
    "__has_include",
    "__has_include_next",
    "__has_include__",
    "__has_include_next__",
    "__has_embed",
    "__has_embed__",
    "__DATE__",
    "__TIME__",
    "__TIMESTAMP__",
    "__builtin_FILE",
    "__declspec",
    "gnu",
    "__gnu__",
    "clang",
];

/// Other projects' internal macros: some paste what they are given into pragmas or assembler names.
pub(super) const INTERNAL_PREFIXES: &[&str] =
    &["_CCCL", "_LIBCUDACXX", "_LIBCPP", "_GLIBCXX", "__REDIRECT", "__ASMNAME"];

/// On the host, where libc's macros reach the assembler, reserved names are refused but for these.
pub(super) const HOST_RESERVED: &[&str] = &[
    "__attribute__",
    "__attribute",
    "__restrict__",
    "__restrict",
    "__inline__",
    "__cplusplus",
    "__asm__",
    "__asm",
];
pub(super) const HOST_RESERVED_PREFIXES: &[&str] =
    &["__builtin_", "__m128", "__m256", "__m512", "__mmask", "__AVX", "__SSE", "__FMA"];

pub(super) const ATTRIBUTES: &[&str] = &[
    "aligned",
    "always_inline",
    "assume_aligned",
    "cold",
    "const",
    "device",
    "externally_visible",
    "flatten",
    "global",
    "hot",
    "host",
    "may_alias",
    "noinline",
    "nonnull",
    "nothrow",
    "packed",
    "pure",
    "shared",
    "unused",
    "vector_size",
    "visibility",
];

pub(super) const ASSEMBLER_DIRECTIVES: &[&str] = &[
    ".incbin", ".include", ".section", ".file", ".loc", ".pragma", ".extern", ".visible", ".weak", ".entry",
    ".func",
];
