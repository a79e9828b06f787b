"""cuBLASLt through ctypes, for baselines.py: products of row-major tensors, every heuristic timed, the fastest kept.

Numbers of enumerations and layouts are those of the public header cublasLt.h (CUDA 12 and 13), as in
cutegen-build/src/evaluate/runner/cuda/cublaslt/.
"""

import ctypes
import glob
import os
import statistics
import sys

HEURISTICS = 32
WORKSPACE = 32 << 20
TYPES = {"f32": 0, "f16": 2, "bf16": 14, "f8e4m3": 28}
COMPUTE_F32, COMPUTE_TF32 = 68, 77
TRANS_A, TRANS_B, A_SCALE, B_SCALE = 3, 4, 17, 18
WORKSPACE_BYTES = 1


class Algorithm(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t; the first 64 bytes are the algorithm."""
    _fields_ = [("bits", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int), ("waves", ctypes.c_float),
                ("reserved", ctypes.c_int * 4)]


assert ctypes.sizeof(Algorithm) == 96


def load():
    """The library that torch brought, else the system's."""
    folders = [f for entry in sys.path if entry for f in glob.glob(os.path.join(entry, "nvidia", "*", "lib"))] + ["/usr/local/cuda/lib64"]
    names = [os.path.join(f, n) for f in folders for n in ("libcublasLt.so.13", "libcublasLt.so.12")] + ["libcublasLt.so.13", "libcublasLt.so.12"]
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


class CublasLt:
    def __init__(self):
        self.library = load()
        if self.library is None:
            raise OSError("no libcublasLt.so.13 and no libcublasLt.so.12")
        self.library.cublasLtGetStatusName.restype = ctypes.c_char_p
        self.library.cublasLtGetVersion.restype = ctypes.c_size_t
        self.handle = self.made("cublasLtCreate")

    def version(self):
        return self.library.cublasLtGetVersion()

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError(f"{name}: {self.library.cublasLtGetStatusName(status).decode()}")

    def made(self, name, *arguments):
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made

    def set(self, kind, descriptor, attribute, value):
        self.call(f"cublasLt{kind}SetAttribute", descriptor, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))


class Product:
    """`d[m, n] = sum over k of x[m, k] * w`, all row-major; w is [n, k] (`nt`) or [k, n]. Column-major, that is the
    transposed product of w and x."""

    def __init__(self, lt, torch, m, n, k, nt, types, tf32=False):
        self.lt, self.torch = lt, torch
        x, w, d = (TYPES[t] for t in types)
        u64, i64 = ctypes.c_uint64, ctypes.c_int64
        self.operation = lt.made("cublasLtMatmulDescCreate", COMPUTE_TF32 if tf32 else COMPUTE_F32, TYPES["f32"])
        if nt:
            lt.set("MatmulDesc", self.operation, TRANS_A, ctypes.c_int32(1))
        rows, columns = (k, n) if nt else (n, k)
        layout = lambda kind, r, c: lt.made("cublasLtMatrixLayoutCreate", kind, u64(r), u64(c), i64(r))
        self.a, self.b, self.d = layout(w, rows, columns), layout(x, k, m), layout(d, n, m)
        self.workspace = torch.empty(WORKSPACE, dtype=torch.uint8, device="cuda")
        self.alpha, self.beta = ctypes.c_float(1), ctypes.c_float(0)
        self.offered, self.chosen = None, 0

    def algorithms(self):
        """Asked once scales are set: which kernels there are depends on them."""
        preference = self.lt.made("cublasLtMatmulPreferenceCreate")
        self.lt.set("MatmulPreference", preference, WORKSPACE_BYTES, ctypes.c_uint64(WORKSPACE))
        found, count = (Algorithm * HEURISTICS)(), ctypes.c_int()
        self.lt.call("cublasLtMatmulAlgoGetHeuristic", self.lt.handle, self.operation, self.a, self.b, self.d, self.d, preference, HEURISTICS,
                     found, ctypes.byref(count))
        return [f for f in found[:count.value] if f.state == 0 and f.workspace <= WORKSPACE]

    def scales(self, x_scale, w_scale):
        self.lt.set("MatmulDesc", self.operation, A_SCALE, ctypes.c_uint64(w_scale))
        self.lt.set("MatmulDesc", self.operation, B_SCALE, ctypes.c_uint64(x_scale))

    def launch(self, x, w, d, stream, scales=None):
        if scales:
            self.scales(*(s.data_ptr() for s in scales))
        if self.offered is None:
            self.offered = self.algorithms()
            if not self.offered:
                raise RuntimeError("cuBLASLt offers no algorithm")
        chosen, pointer = self.offered[self.chosen], ctypes.c_void_p
        self.lt.call("cublasLtMatmul", self.lt.handle, self.operation, ctypes.byref(self.alpha), pointer(w.data_ptr()), self.a,
                     pointer(x.data_ptr()), self.b, ctypes.byref(self.beta), pointer(d.data_ptr()), self.d, pointer(d.data_ptr()), self.d,
                     ctypes.byref(chosen.bits), pointer(self.workspace.data_ptr()), ctypes.c_size_t(chosen.workspace), pointer(stream))

    def tune(self, time_ns):
        """`time_ns()` gives a timer of the chosen algorithm; the median of three timings counts, two of long ones, and one
        of those that are hopeless."""
        times = {}
        for number in range(len(self.offered)):
            self.chosen = number
            try:
                timing = time_ns()
                first = timing()
                hopeless = first > 1.15 * min(times.values(), default=first)
                more = 0 if hopeless else 2 if first < 10_000_000 else 1
                times[number] = statistics.median([first] + [timing() for _ in range(more)])
            except RuntimeError:
                continue  # offered, but not for this
        if not times:
            raise RuntimeError("no algorithm of cuBLASLt ran")
        self.chosen = min(times, key=times.get)
        first = times[min(times)]
        return {"offered": len(self.offered), "ran": len(times), "fastest": self.chosen, "first-over-fastest": round(first / times[self.chosen], 3)}
