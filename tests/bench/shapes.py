"""Specs of matrix products of drawn shapes, each axis log-uniform in 64..8192; of every third one an axis is no multiple of 8.

    python3 tests/bench/shapes.py COUNT SEED > FILE

SEED is any text: the digest of a commit, so that nobody chose the shapes. `gpu bars::products` times them
(CUTEGEN_BARS_SPECS=FILE), `cargo cutegen tune` takes them, too.
"""

import hashlib
import math
import random
import sys

LOW, HIGH, MULTIPLE = 64, 8192, 8


def shape(draw, is_aligned):
    extents = [round(math.exp(draw.uniform(math.log(LOW), math.log(HIGH)))) for _ in range(3)]
    extents = [max(LOW, extent // MULTIPLE * MULTIPLE) for extent in extents]
    if not is_aligned:
        extents[draw.randrange(3)] += draw.randrange(1, MULTIPLE)
    return extents


def specs(count, seed):
    draw = random.Random(int.from_bytes(hashlib.sha256(seed.encode()).digest(), "big"))
    yield "edition = 1\n"
    for at in range(count):
        m, n, k = shape(draw, at % 3 != 2)
        yield f"""
[kernels.{"aligned" if at % 3 != 2 else "unaligned"}_{at:03}]
axes      = {{ m = {m}, n = {n}, k = {k} }}
inputs    = {{ x = "bf16[m, k]", w = "bf16[n, k]" }}
outputs   = {{ y = "bf16[m, n]" }}
math      = "y[m, n] = sum(k, x[m, k] * w[n, k])"
targets   = ["sm_90a"]
workloads = [{{}}]
"""


if __name__ == "__main__":
    sys.stdout.writelines(specs(int(sys.argv[1]), sys.argv[2]))
