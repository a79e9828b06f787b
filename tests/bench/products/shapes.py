"""Specs of products: shapes drawn from a seed, the weights of Llama, and what a sweep is held against."""

import hashlib
import math
import pathlib
import random
import re

LEAST, MOST, COUNT, UNALIGNED, GATED = 64, 8192, 100, 33, 10
# the constants of cost estimates were fitted on shapes of this seed
FIT = 1

# name: columns and terms
WEIGHTS = {"qkv": (6144, 4096), "o": (4096, 4096), "gate_up": (28672, 4096), "down": (4096, 14336), "o70": (8192, 8192), "down70": (8192, 28672)}
ROWS = (1, 16, 64, 128, 512, 2048)
RANGED = (16, 128, 512, 2048)
# of KernelBench's 155 specs those that had no candidates before products and parts had templates; the seed is of the same digest as the first hundred shapes
FILLED = """
    kb01_square_matmul kb02_standard_matmul kb03_batched_matmul kb04_matvec kb06_matmul_large_k kb07_matmul_small_k kb08_matmul_irregular
    kb09_tall_skinny_matmul kb10_matmul_3d kb11_matmul_4d kb13_matmul_symmetric kb14_matmul_upper kb15_matmul_lower kb16_matmul_transposed_a
    kb17_matmul_transposed_b kb18_matmul_transposed_both kb2_12_gemm_multiply_leakyrelu kb2_14_gemm_divide_sum_scaling
    kb2_22_matmul_scale_residualadd_clamp_logsumexp_mish kb2_39_gemm_scale_batchnorm kb2_40_matmul_scaling_residualadd
    kb2_55_matmul_maxpool_sum_scale kb2_59_matmul_swish_scaling kb2_62_matmul_groupnorm_leakyrelu_sum
    kb2_64_gemm_logsumexp_leakyrelu_leakyrelu_gelu_gelu kb2_66_matmul_dropout_softmax kb2_70_gemm_sigmoid_scaling_residualadd
    kb2_75_gemm_groupnorm_min_biasadd kb2_84_gemm_batchnorm_scaling_softmax kb2_88_gemm_groupnorm_swish_multiply_swish
    kb2_94_gemm_biasadd_hardtanh_mish_groupnorm kb2_95_matmul_add_swish_tanh_gelu_hardtanh kb87_pointwise2d kb97_sdpa
""".split()
OF_FILLED, FILLED_SEED = 12, 4288502034
SWEPT = [(16, 6144, 4096), (64, 28672, 4096), (128, 4096, 14336), (512, 4096, 4096), (2048, 6144, 4096), (1024, 1024, 1024), (4096, 4096, 4096), (344, 776, 2504)]
SQUARES = (1024, 2048, 4096, 8192)
# how a product's second factor lies
FACTORS = {"nt": "n, k", "nn": "k, n"}


def extent(random, is_aligned):
    """Log-uniform: a multiple of 8, or none."""
    drawn = math.exp(random.uniform(math.log(LEAST), math.log(MOST)))
    if is_aligned:
        return max(LEAST, 8 * round(drawn / 8))
    drawn = round(drawn)
    return drawn + 1 if drawn % 8 == 0 else drawn


def drawn(seed):
    """(name, m, n, k) of each; the unaligned ones are a third, spread evenly."""
    source = random.Random(f"products {seed}")
    is_aligned = lambda at: at * UNALIGNED // COUNT == (at + 1) * UNALIGNED // COUNT
    return [(f"{'a' if is_aligned(at) else 'u'}{at:02}", *(extent(source, is_aligned(at)) for _ in range(3))) for at in range(COUNT)]


def gated(seed):
    """Names of those that go through the whole gate."""
    return sorted(random.Random(f"gate {seed}").sample([name for name, *_ in drawn(seed)], GATED))


def seed_of(digest):
    """The seed that a commit's digest gives."""
    return int(hashlib.sha256(digest.encode()).hexdigest()[:8], 16)


def product(name, m, n, k, workloads, factor="n, k"):
    m, n, k = (extent if isinstance(extent, int) else f'"{extent}"' for extent in (m, n, k))
    return f"""[kernels.{name}]
axes      = {{ m = {m}, n = {n}, k = {k} }}
inputs    = {{ x = "bf16[m, k]", w = "bf16[{factor}]" }}
outputs   = {{ y = "bf16[m, n]" }}
math      = "y[m, n] = sum(k, x[m, k] * w[{factor}])"
family    = "contraction"
targets   = ["sm_90a"]
workloads = [{", ".join(workloads)}]
"""


def fixed(prefix, shapes):
    return {f"{prefix}_{name}": product(f"{prefix}_{name}", m, n, k, ["{}"]) for name, m, n, k in shapes}


def squares():
    """Squares, by how the second factor lies."""
    return {f"squares_{layout}_{side}": product(f"squares_{layout}_{side}", side, side, side, ["{}"], factor) for layout, factor in FACTORS.items() for side in SQUARES}


def kernels_of(text):
    """Texts of a spec file's kernels by name."""
    parts = re.split(r"(?m)^(?=\[kernels\.)", text)[1:]
    return {re.match(r"\[kernels\.(\w+)\]", part)[1]: part.strip() for part in parts}


def kernelbench():
    """Those of KernelBench that are timed beside PyTorch: drawn, and written down with their peers."""
    drawn = sorted(random.Random(f"kernelbench {FILLED_SEED}").sample(FILLED, OF_FILLED))
    written = kernels_of(pathlib.Path(__file__).with_name("kernelbench.toml").read_text())
    assert sorted(written) == drawn, "kernelbench.toml has other kernels than are drawn"
    return written


def sm90():
    """What is tuned as `sm_90` on a Hopper card."""
    return kernels_of(pathlib.Path(__file__).with_name("sm90.toml").read_text())


def sets(seed):
    """Texts of kernels by set and name; `commit` is of this seed."""
    rows = [f"{{ m = {m} }}" for m in ROWS]
    some = [f"{{ m = {m} }}" for m in RANGED]
    all_of = [f"{{ m = {m}, n = {n}, k = {k} }}" for n, k in WEIGHTS.values() for m in RANGED]
    return {"fit": fixed("fit", drawn(FIT)), "commit": fixed("commit", drawn(seed)),
            "mma": {f"mma_{name}": product(f"mma_{name}", "1..=8192", n, k, rows) for name, (n, k) in WEIGHTS.items()},
            "ranged": {f"ranged_{name}": product(f"ranged_{name}", "1..=8192", n, k, some) for name, (n, k) in WEIGHTS.items()}
            | {"ranged_any": product("ranged_any", "1..=8192", "1..=32768", "1..=32768", all_of)},
            "kernelbench": kernelbench(), "sm90": sm90(), "squares": squares(),
            "sweep": fixed("sweep", [(f"{m}_{n}_{k}", m, n, k) for m, n, k in SWEPT])}
