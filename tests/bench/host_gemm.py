"""Checks and times the host gemm template against NumPy (independent reference; OpenBLAS on one thread as the incumbent).

    python3 tests/bench/host_gemm.py --headers DIR [--check] [--bench] [--sweep]
    python3 tests/bench/host_gemm.py --json results/raw/host_gemm.json

The second form times what cache/ holds: the committed objects, checked against the lock and linked as they are.

DIR is where `pip install --no-deps --target DIR` put the pinned CUTLASS and CUDA headers. Blocks of one source are filled in
here as the Rust generator fills them; see cutegen-build/src/generate/template/host/README.md.
"""

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import ctypes
import hashlib
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

import numpy as np

import raw

BUILD = pathlib.Path(__file__).resolve().parents[2] / "cutegen-build"
CACHE = BUILD.parent / "cache"
TEMPLATES = BUILD / "src/generate/template/host"
FLAGS = ("-std=c++17 -O3 -march=x86-64-v3 -fPIC -fno-exceptions -fno-rtti -ffp-contract=fast -DNDEBUG "
         "-fno-math-errno -fno-trapping-math -fvisibility=hidden").split()
ALLOWED = re.compile(r"^(mem(cpy|set|move)|(exp|log|sin|cos|pow|erf|erfc|tanh|log2|log1p|exp2|expm1|floor|ceil|rint)f?)$")
CTYPE = {"bf16": "bf16", "f32": "float"}

TILED = {"MR": 6, "NR": 16, "KC": 256, "MC": 96, "NC": 512, "KU": 4, "PACK_B": "true"}
THIN = {"MR": 1, "NR": 64, "KC": 256, "MC": 8, "NC": 512, "KU": 1, "PACK_B": "false"}


def fill(template, blocks, lanes=8):
    text = (TEMPLATES / template).read_text()
    blocks = {"HEADER": "// " + template, "ENTRY": "entry", **blocks}
    blocks["PRELUDE"] = (TEMPLATES / "prelude.hpp.in").read_text()
    text = re.sub(r"@([A-Z]+)@", lambda m: blocks[m[1]] if m[1] in blocks else m[0], text)
    text = text.replace("@LANES@", str(lanes))
    assert "@" not in text, re.findall(r"@\w*", text)
    return text


def config(values):
    return "\n".join(f"constexpr {'bool' if isinstance(v, str) else 'int'} {k} = {v};" for k, v in values.items())


def compile_source(text, headers, folder, flags=FLAGS):
    """Returns (library, seconds) after holding the object to the rules: one global function, nothing run at load."""
    name = f"c{len(os.listdir(folder))}"  # never a loaded library's name again
    src, obj, lib = (pathlib.Path(folder) / f"{name}{ext}" for ext in (".cpp", ".o", ".so"))
    src.write_text(text)
    include = [f"-I{BUILD / 'shim'}", *(f"-isystem{p}" for p in headers)]
    start = time.perf_counter()
    subprocess.run(["c++", *flags, *include, "-c", src, "-o", obj], check=True)
    seconds = time.perf_counter() - start
    symbols = [line.split() for line in subprocess.check_output(["nm", obj], text=True).splitlines()]
    undefined = [s[-1] for s in symbols if s[-2] == "U" and s[-1] != "_GLOBAL_OFFSET_TABLE_"]
    defined = [s[-1] for s in symbols if s[-2].isupper() and s[-2] != "U" or s[-2] in "vwu"]
    sections = subprocess.check_output(["readelf", "-SW", obj], text=True)
    assert defined == ["entry"], defined
    assert all(map(ALLOWED.match, undefined)), undefined
    assert ".init_array" not in sections and ".ctors" not in sections and ".tdata" not in sections
    subprocess.run(["c++", "-shared", "-nostdlib", obj, "-o", lib, "-lm", "-lc"], check=True)
    return ctypes.CDLL(str(lib)), seconds


def call(library, *values):
    """The kernel ABI: an array of pointers to argument values."""
    cells = []
    for v in values:
        if isinstance(v, np.ndarray):
            cells.append(ctypes.c_void_p(v.ctypes.data))
        else:
            cells.append(ctypes.c_float(v) if isinstance(v, float) else ctypes.c_int64(v))
    params = (ctypes.c_void_p * len(cells))(*(ctypes.addressof(c) for c in cells))
    entry = library.entry
    entry.restype, entry.argtypes = None, [ctypes.c_void_p]
    return lambda: (entry(params), cells, values)  # keeps both alive


def gemm_source(cfg, dtype="f32", nt=True, out="f32", epilogue="acc0", gated=False, extra="", lanes=8):
    """y[m, n] = epilogue(x w (, x w2), t2..): t0 = x, t1 = w, t2 = w2 when gated, then extra, y, workspace, m, n, k."""
    t, o = CTYPE[dtype], CTYPE[out]
    tensors = [t, t] + ([t] if gated else []) + ([extra] if extra else [])
    y = len(tensors)
    k_n = "make_shape(a1, a2)" if nt else "make_shape(a2, a1)"
    extents = ["make_shape(a0, a2)", k_n] + [k_n] * gated + (["make_shape(a1)" if extra == "bf16" else "make_shape(a0, a1)"] if extra else [])
    params = [f"const int64_t a{i} = value<int64_t>(params[{y + 2 + i}]);" for i in range(3)]
    params += [f"const auto t{i} = view<const {c}>(params[{i}], {e});" for i, (c, e) in enumerate(zip(tensors, extents))]
    params += [f"const auto t{y} = view<{o}>(params[{y}], make_shape(a0, a1));", f"void* const workspace = value<void*>(params[{y + 1}]);"]
    operands = (f"const int64_t L = 1, M = a0, N = a1, K = a2, lda = a2, ldb = {'a2' if nt else 'a1'}, batch_a = 0, batch_b = 0;\n"
                f"{t} const *const A = t0.data(), *const B = t1.data(), *const B2 = {'t2' if gated else 't1'}.data();")
    types = f"using TA = {t};\nusing TB = {t};\nconstexpr bool B_NT = {str(nt).lower()};\nconstexpr bool GATED = {str(gated).lower()};"
    return fill("gemm.cpp.in", {
        "TYPES": types, "CONFIG": config(cfg), "PARAMS": "\n".join(params), "OPERANDS": operands,
        "EPILOGUE": f"t{y}(m, n) = from_f32<{o}>({epilogue});"}, lanes)


def workspace_bytes(cfg, nt, k, gated=False):
    sums, packed = 1 + gated, cfg["PACK_B"] == "true"
    row = cfg["KC"] + 16 if packed else -(-k // 16) * 16 + 16
    strip = (cfg["NC"] if packed else 0 if nt else cfg["NR"]) * k
    return 4 * (cfg["MC"] * row + sums * (cfg["MC"] * cfg["NC"] + strip)) + 64


def to_bf16(x):
    u = x.astype(np.float32).view(np.uint32)
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(x):
    return (x.astype(np.uint32) << 16).view(np.float32)


def stored(x, dtype):
    return to_bf16(x) if dtype == "bf16" else x.astype(np.float32)


def real(x, dtype):
    return (from_bf16(x) if dtype == "bf16" else x).astype(np.float64)


def guarded(shape, dtype, fill_byte=0x7F):
    """An array that ends where a page of poison begins (ends at the mapping's edge, so that a read past it would fault)."""
    import mmap
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    pages = -(-size // 4096) + 1
    area = mmap.mmap(-1, pages * 4096)
    libc = ctypes.CDLL(None)
    base = ctypes.addressof(ctypes.c_char.from_buffer(area))
    libc.mprotect(ctypes.c_void_p(base + (pages - 1) * 4096), 4096, 0)
    flat = np.frombuffer(area, np.uint8, size, (pages - 1) * 4096 - size)
    flat[:] = fill_byte
    array = flat.view(dtype).reshape(shape)
    guarded.alive.append(area)
    return array


guarded.alive = []


def check_gemm(headers, folder):
    rng = np.random.default_rng(1)
    cases = [
        ("f32 nt", TILED, dict(), "acc0"),
        ("f32 nn", TILED, dict(nt=False), "acc0"),
        ("bf16 nt gelu bias", TILED, dict(dtype="bf16", out="bf16", extra="bf16"), "cg_gelu_tanh(acc0 + to_f32(t2(n)))"),
        ("bf16 nn residual", TILED | {"KC": 48, "MC": 12, "NC": 32}, dict(dtype="bf16", nt=False, extra="float"), "acc0 + t2(m, n)"),
        ("bf16 gated", TILED | {"NC": 48}, dict(dtype="bf16", gated=True), "cg_silu(acc0) * acc1"),
        ("4x24", TILED | {"MR": 4, "NR": 24, "NC": 480}, dict(), "acc0"),
        ("thin f32 nt", THIN, dict(), "acc0"),
        ("thin bf16 nt gated", THIN | {"MR": 4, "NR": 24, "NC": 48}, dict(dtype="bf16", gated=True, out="bf16"), "cg_silu(acc0) * acc1"),
        ("thin f32 nn", THIN, dict(nt=False), "acc0"),
        ("thin bf16 nn gated", THIN | {"MR": 4, "NR": 24, "NC": 48}, dict(dtype="bf16", nt=False, gated=True), "cg_silu(acc0) * acc1"),
    ]
    shapes = [(1, 1, 1), (1, 17, 3), (5, 15, 7), (6, 16, 8), (7, 17, 257), (13, 31, 255), (97, 65, 129), (96, 512, 256), (101, 521, 263), (3, 1, 600)]
    for name, cfg, kind, epilogue in cases:
        dtype, nt, out, gated = kind.get("dtype", "f32"), kind.get("nt", True), kind.get("out", "f32"), kind.get("gated", False)
        library, seconds = compile_source(gemm_source(cfg, epilogue=epilogue, **kind), headers, folder)
        worst = 0.0
        for m, n, k in shapes:
            def tensor(shape, d):
                a = guarded(shape, np.uint16 if d == "bf16" else np.float32)
                a[...] = stored(rng.standard_normal(shape), d)
                return a
            x, w = tensor((m, k), dtype), tensor((n, k) if nt else (k, n), dtype)
            w2 = [tensor(w.shape, dtype)] if gated else []
            product = lambda b: real(x, dtype) @ (real(b, dtype).T if nt else real(b, dtype))
            bound = lambda b: np.abs(real(x, dtype)) @ np.abs(real(b, dtype).T if nt else real(b, dtype))
            acc, size, more = product(w), bound(w), []
            if "gelu" in epilogue:
                more = [tensor((n,), "bf16")]
                v = acc + real(more[0], "bf16")
                acc = 0.5 * v * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))
            elif "t2" in epilogue:
                more = [tensor((m, n), "f32")]
                acc = acc + more[0]
            elif gated:
                gate, acc = acc, product(w2[0])
                size = size * (1.2 * np.abs(acc) + 1) + bound(w2[0]) * np.abs(gate)
                acc = acc * gate / (1 + np.exp(-gate))
            y = guarded((m, n), np.uint16 if out == "bf16" else np.float32)
            ws = guarded((workspace_bytes(cfg, nt, k, gated),), np.uint8)
            call(library, x, w, *w2, *more, y, ws, m, n, k)()
            limit = (2 * math.sqrt(k) + k / 8 + 4) * 2.0**-24 * (size + 1) + (2.0**-8 if out == "bf16" else 2.0**-23) * np.abs(acc) + 1e-30
            error = np.abs(real(y, out) - acc) / limit
            assert np.all(error <= 1), (name, m, n, k, error.max())
            worst = max(worst, error.max())
        print(f"check {name:22} worst error / bound {worst:.3f}  compile {seconds:.1f} s", flush=True)


def rows_source(template, cfg, tensors, body, more=()):
    """Tensors are (type, extents) in spec order, the output last, then the workspace, then a0 (rows) and a1 (columns)."""
    y = len(tensors) - 1
    params = [f"const int64_t a{i} = value<int64_t>(params[{y + 2 + i}]);" for i in range(2)]
    params += [f"const auto t{i} = view<{'' if i == y else 'const '}{c}>(params[{i}], make_shape({e}));" for i, (c, e) in enumerate(tensors)]
    params += ["[[maybe_unused]] void* const workspace = value<void*>(params[%d]);" % (y + 1), *more]
    return fill(template, {"CONFIG": config(cfg), "PARAMS": "\n".join(params), "SHAPE": "const int64_t rows = a0, cols = a1;", "BODY": body})


RMS = """const auto r0 = reduce<Sum>(n, cols, [&](int q, int64_t j) { const float v = to_f32(t0(first + q, j)); return v * v; });
each(n, cols, [&](int q, int64_t j) {
  t2(first + q, j) = from_f32<bf16>(to_f32(t0(first + q, j)) * cg_rsqrt(r0[q] / float(a1) + 1e-5f) * to_f32(t1(j)));
});"""
SOFTMAX = """const auto r0 = reduce<Max>(n, cols, [&](int q, int64_t j) { return to_f32(t0(first + q, j)); });
const Keep e1 = keep(workspace, cols);
const auto r1 = reduce<Sum>(n, cols, [&](int q, int64_t j) { return cg_exp(to_f32(t0(first + q, j)) - r0[q]); }, e1);
each(n, cols, [&](int q, int64_t j) { t1(first + q, j) = from_f32<float>(e1(q, j) / r1[q]); });"""
SILU_MUL = "t2(i, j) = from_f32<float>(cg_silu(to_f32(t0(i, j))) * to_f32(t1(i, j)));"


def silu(x):
    return x / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def rms(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + type(x.flat[0])(1e-5)) * w


ROW_CASES = {
    "rms_norm bf16": ("rowwise.cpp.in", [("bf16", "a0, a1"), ("bf16", "a1"), ("bf16", "a0, a1")], RMS, rms),
    "softmax f32": ("rowwise.cpp.in", [("float", "a0, a1"), ("float", "a0, a1")], SOFTMAX, softmax),
    "silu_mul f32": ("elementwise.cpp.in", [("float", "a0, a1")] * 3, SILU_MUL, lambda a, b: silu(a) * b),
}
ROW_CONFIGS = {"rowwise.cpp.in": [{"UNROLL": u, "ROWS": r} for u, r in ((4, 1), (8, 1), (16, 1), (4, 2), (8, 2), (4, 4))],
               "elementwise.cpp.in": [{"VEC": v} for v in (1, 2, 4, 8, 16, 32)]}


def check_rows(headers, folder, time_shape=None):
    rng = np.random.default_rng(3)
    for name, (template, tensors, body, reference) in ROW_CASES.items():
        for cfg in ROW_CONFIGS[template] if time_shape else ROW_CONFIGS[template][3:4]:
            library, seconds = compile_source(rows_source(template, cfg, tensors, body), headers, folder)
            kind = ["bf16" if c == "bf16" else "f32" for c, _ in tensors]
            worst, note = 0.0, ""
            for m, n in [time_shape] if time_shape else [(1, 1), (3, 7), (5, 63), (2, 64), (7, 65), (4, 1021)]:
                arrays = []
                for k, (_, extents) in zip(kind, tensors):
                    arrays.append(guarded((n,) if extents == "a1" else (m, n), np.uint16 if k == "bf16" else np.float32))
                for k, a in zip(kind[:-1], arrays):
                    a[...] = stored(rng.standard_normal(a.shape) * 3, k)
                ws = guarded((4 * cfg.get("ROWS", 1) * (n + 2048) + 64,), np.uint8)
                run = call(library, *arrays, ws, m, n)
                run()
                want = reference(*(real(a, k) for k, a in zip(kind[:-1], arrays)))
                error = np.abs(real(arrays[-1], kind[-1]) - want) / ((2.0**-8 if kind[-1] == "bf16" else 32 * 2.0**-24) * np.abs(want) + 1e-35)
                assert np.all(error < 1.1), (name, m, n, error.max())
                worst = max(worst, error.max())
                if time_shape:
                    floats = [real(a, k).astype(np.float32) for k, a in zip(kind[:-1], arrays)]
                    med, lo, hi, ours, _ = ratio(run, lambda: reference(*floats))
                    size = sum(a.nbytes for a in arrays)
                    note = f"{med:.2f}x NumPy [{lo:.2f} {hi:.2f}]  {size / ours / 1e9:.1f} GB/s at best"
            print(f"{name:14} {cfg} worst error {worst:.2f} of 16 ulp (f32), 1/2 ulp (bf16)  compile {seconds:.1f} s  {note}", flush=True)


def ratio(ours, theirs, rounds=31):
    """Interleaved ABBA; the median ratio of times theirs / ours with its quartiles, then the best time of each."""
    ratios, mine, other = [], [], []
    for i in range(rounds + 2):
        order = (ours, theirs) if i % 2 else (theirs, ours)
        took = {}
        for f in order:
            start = time.perf_counter()
            f()
            took[f] = time.perf_counter() - start
        if i >= 2:
            ratios.append(took[theirs] / took[ours])
            mine.append(took[ours])
            other.append(took[theirs])
    q = statistics.quantiles(ratios, n=4)
    return statistics.median(ratios), q[0], q[2], min(mine), min(other)


def bench_gemm(headers, folder, configs, shapes, kinds=("f32", "bf16")):
    rng = np.random.default_rng(2)
    for cfg in configs:
        for dtype in kinds:
            library, seconds = compile_source(gemm_source(cfg, dtype), headers, folder)
            for m, n, k in shapes:
                x, w = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((n, k)).astype(np.float32)
                y, ws, ref = np.empty((m, n), np.float32), np.empty(workspace_bytes(cfg, True, k), np.uint8), np.empty((m, n), np.float32)
                run = call(library, stored(x, dtype), stored(w, dtype), y, ws, m, n, k)
                med, lo, hi, ours, theirs = ratio(run, lambda: np.matmul(x, w.T, out=ref))
                flops = 2 * m * n * k
                print(f"{dtype:4} {m}x{n}x{k} MR {cfg['MR']} NR {cfg['NR']} KC {cfg['KC']} MC {cfg['MC']} NC {cfg['NC']} KU {cfg['KU']} pack {cfg['PACK_B']}: "
                      f"{med:.3f}x NumPy [{lo:.3f} {hi:.3f}]  {flops / ours / 1e9:.0f} / {flops / theirs / 1e9:.0f} GFLOP/s at best  compile {seconds:.1f} s", flush=True)


def committed(name, folder):
    """The tuned kernel of the library as the lock pins it: (library, its variant in the record)."""
    lock = tomllib.loads((CACHE / "cutegen.lock").read_text())
    locked = next(k for k in lock["kernel"] if k["name"] == name and k["target"].startswith("host"))
    entry = CACHE / "v1" / locked["key"][:2] / locked["key"]
    variant = tomllib.loads((entry / "record.toml").read_text())["variants"][0]
    obj = entry / variant["artifact"]["file"]
    assert variant["kind"] == "tuned"
    assert hashlib.sha256(obj.read_bytes()).hexdigest() == locked["variants"][0]["stored"], obj
    lib = pathlib.Path(folder) / f"{name}.so"
    subprocess.run(["c++", "-shared", "-nostdlib", obj, "-o", lib, "-lm", "-lc"], check=True)
    return ctypes.CDLL(str(lib)), variant


def by_contract(library, variant, tensors, axes):
    """A launch with the arguments in the contract's order."""
    step, = variant["contract"]["steps"]
    names = {f"a{i}": a for i, a in enumerate(axes)}
    buffers = [np.empty(eval(w["bytes"], {"__builtins__": {}}, names), np.uint8) for w in variant["contract"].get("workspace", [])]
    values = {"ptr": {f"t{i}": t for i, t in enumerate(tensors)}, "axis": names, "workspace": {f"w{i}": b for i, b in enumerate(buffers)}}
    args = [values[kind][which] for kind, which in (re.fullmatch(r"(\w+)\((\w+)\)", a).groups() for a in step["args"])]
    library.entry = getattr(library, step["entry"])
    return call(library, *args)


def bench_committed(folder, size=512, rounds=101):
    """NumPy, our f32 and our bf16 in turn, the order turning with each round: seconds of each, per round."""
    rng = np.random.default_rng(4)
    x, w = (rng.standard_normal((size, size)).astype(np.float32) for _ in range(2))
    ref, runs = np.empty((size, size), np.float32), {}
    runs["numpy"] = lambda: np.matmul(x, w.T, out=ref)
    for dtype in ("f32", "bf16"):
        a, b = stored(x, dtype), stored(w, dtype)
        y = np.zeros((size, size), a.dtype)
        runs[dtype] = by_contract(*committed(f"gemm_{dtype}", folder), [a, b, y], [size] * 3)
        runs[dtype]()
        error = np.abs(real(y, dtype) - real(a, dtype) @ real(b, dtype).T).max()
        assert error < (1e-3 if dtype == "f32" else 0.5), (dtype, error)
    order, took = list(runs), {name: [] for name in runs}
    for i in range(rounds + 3):
        for name in order[i % 3:] + order[:i % 3]:
            start = time.perf_counter()
            runs[name]()
            took[name].append(time.perf_counter() - start)
    return {name: times[3:] for name, times in took.items()}


def ratios(took, theirs, ours):
    return [round(a / b, 4) for a, b in zip(took[theirs], took[ours])]


def write_results(path):
    with tempfile.TemporaryDirectory() as folder:
        took = bench_committed(folder)
    gflops = {name: round(2 * 512**3 / statistics.median(times) / 1e9, 1) for name, times in took.items()}
    note = f"medians {gflops['numpy']} (NumPy), {gflops['f32']} (f32), {gflops['bf16']} (bf16) GFLOP/s; {raw.load()}"
    haswell = {**os.environ, "OPENBLAS_CORETYPE": "Haswell"}
    narrow = json.loads(subprocess.check_output([sys.executable, __file__, "--ratios"], env=haswell))
    shared = {"unit": "x", "statistic": "median", "machine": raw.machine(), "commit": raw.commit(),
              "command": "python3 tests/bench/host_gemm.py --json results/raw/host_gemm.json"}
    raw.write(path, [
        {"bar": "host GEMM f32", "shows": f"committed `gemm_f32`, 512 cubed, against NumPy {np.__version__} (OpenBLAS) on one thread: their time over ours",
         "at_least": 0.4, **shared, "note": note, "samples": ratios(took, "numpy", "f32"),
         "bounded_by": "the target's vectors: x86-64-v3 has 8 lanes of f32, and OpenBLAS picks the machine's own kernel, here AVX-512 with 16"},
        {"bar": "host GEMM bf16", "shows": "committed `gemm_bf16`, 512 cubed, against our f32: its time over ours",
         "at_least": 0.8, **shared, "note": note, "samples": ratios(took, "f32", "bf16"),
         "bounded_by": "the same f32 multiply-adds; bf16 is widened once, while it is packed"},
        {"bar": "host GEMM f32, equal vectors", "shows": "the first row's kernel against the same NumPy held to AVX2 by OPENBLAS_CORETYPE=Haswell",
         **shared, "note": "what the width of the vectors costs the first row", "samples": narrow,
         "bounded_by": "multiply-adds of one core: two of 8 lanes a cycle"},
    ])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--headers")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path)
    for flag in ("check", "bench", "sweep"):
        parser.add_argument("--" + flag, action="store_true")
    parser.add_argument("--ratios", action="store_true", help="NumPy's time over ours for the committed f32 kernel, as JSON")
    args = parser.parse_args()
    if args.ratios:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(ratios(bench_committed(folder), "numpy", "f32")))
    if args.json:
        write_results(args.json)
    if not args.headers:
        return
    root = pathlib.Path(args.headers)
    headers = [root / "cutlass_library/source/include", root / "nvidia/cu13/include", root / "nvidia/cu13/include/cccl"]
    with tempfile.TemporaryDirectory() as folder:
        if args.check:
            check_gemm(headers, folder)
            check_rows(headers, folder)
        if args.bench:
            bench_gemm(headers, folder, [TILED], [(512, 512, 512), (1024, 1024, 1024), (128, 2048, 1024)])
            bench_gemm(headers, folder, [THIN, THIN | {"KU": 2}], [(1, 4096, 4096), (1, 1024, 1024)])
            bench_gemm(headers, folder, [THIN | {"MR": 4, "NR": 24, "NC": 480}], [(4, 4096, 4096), (8, 4096, 4096)])
            check_rows(headers, folder, (512, 4096))
        if args.sweep:
            tiles = [(6, 16), (4, 24), (5, 16), (3, 32), (14, 8)]
            bench_gemm(headers, folder, [TILED | {"MR": a, "NR": b, "MC": 96 // a * a, "NC": 480 if b == 24 else 512, "KU": u} for a, b in tiles for u in (1, 4)],
                       [(512, 512, 512)], ("f32",))


if __name__ == "__main__":
    main()
