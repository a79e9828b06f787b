"""kernel-specs/gemv/"""

from case import kernel

SIZES = [{"n": 1}, {"n": 67}, {"n": 257}]


def product(name, dtype, transposed):
    @kernel(name, *SIZES)
    def golden(case, n):
        x = case.normal("x", dtype, 1024)
        w = case.normal("w", dtype, *((1024, n) if transposed else (n, 1024)))
        return {"y": (w.T if transposed else w).dot(x)}


for element in ("f32", "bf16"):
    product(f"gemv_nt_{element}", element, transposed=False)
    product(f"gemv_tn_{element}", element, transposed=True)
