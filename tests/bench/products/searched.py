"""Makes rows of results/raw/products.json from what searches of products, `f32_errors.py` and `decode-chain` left.

    python3 tests/bench/products/searched.py results/runs/products/searched COMMIT "NVIDIA H200, sm_90, driver ..." [weights f32 fused chain kernelbench sm90 gate clock]

Only rows of the named parts are made anew, and those of other measurements stay.
"""

import json
import pathlib
import statistics
import sys
import tarfile
import tomllib

import shapes
from run import raw

WEIGHTS = {name.replace("70", "_70b"): extents for name, extents in shapes.WEIGHTS.items()}
F32 = [f"f32_{layout}_{n}" for n in (2048, 4096) for layout in ("nt", "nn")]
FUSED = [f"{rest}_{weight}" for rest in ("bias_gelu", "residual", "swiglu") for weight in ("gate_up", "o")]
MANY = 2**37  # operations
TUNE = "cargo cutegen tune --target sm_90a --specs results/runs/products/searched --cache CACHE"
GATE = "python3 tests/bench/products/run.py pack FOLDER && python3 FOLDER/run.py gate --out OUT"
SCALAR = "a roof of f32 is that of scalar cores, which planes of bf16 on tensor cores exceed"
INTERVAL = "lower end, middle and upper end of the interval that the record has"


def timings(file):
    """All timings of an entry's variants."""
    with tarfile.open(file) as tar:
        record = next(name for name in tar.getnames() if name.endswith("record.toml"))
        variants = tomllib.loads(tar.extractfile(record).read().decode())["variants"]
    return [timing for variant in variants for timing in variant.get("evidence", {}).get("timings", [])]


def cells(file, kernel, against):
    """A cell for each workload that was timed against one of these."""
    found, shares = {}, {}
    for timing in timings(file):
        if timing["incumbent"] in against:
            at = " ".join([kernel, *(f"{axis}={extent}" for axis, extent in timing["workload"].items())])
            interval = [round(timing[end], 3) for end in ("low", "speedup", "high")]
            found.setdefault((tuple(timing["workload"].values()), at), {}).setdefault(timing["incumbent"], interval)
            shares.setdefault(at, []).append(timing)
    return [(axes, {"at": at, "against": samples, **roofed(shares[at])}) for (axes, at), samples in sorted(found.items())]


def roofed(some):
    """A cell's field: the share of the roof that ours reaches by these timings; nothing where a record has no roof."""
    known = [timing["roof-micros"] / timing["micros"] for timing in some if "roof-micros" in timing]
    return {"roof": round(statistics.median(known), 3)} if known else {}


def weights(folder):
    """The six weights, by rows and by operations."""
    found = [(m, 2 * m * n * k, cell) for kernel, (n, k) in WEIGHTS.items() for (m,), cell in cells(folder / f"{kernel}.tar.gz", f"llama_{kernel}", ["cublaslt"])]
    row = lambda rows, bounded_by, bar, worst, wanted: {
        "bar": f"products with six weights of Llama 3, {rows}", "shows": "our speed over the fastest of cuBLASLt's heuristics at the workload, under the gate's protocol; judged by gate 8", "unit": "times",
        "at_least": bar, "worst_at_least": worst, "bounded_by": bounded_by, "note": f"{INTERVAL}; searches of 46 to 48 candidates", "command": f"{TUNE} --again {' '.join(WEIGHTS)}",
        "cells": [cell for m, operations, cell in found if wanted(m, operations)]}
    yield row("1 to 128 rows", "memory from 100 MB of weights on: both read 4.0 to 4.3 TB/s; below, at 64 and 128 rows, a tile's start and end", 1.12, 0.97, lambda m, _: m <= 128)
    yield row("512 to 8192 rows, below 2^37 operations", "tensor cores: both run at 650 to 820 TFLOP/s", 1.03, 0.95, lambda m, operations: m > 128 and operations < MANY)
    yield row("512 to 8192 rows, above 2^37 operations", "the card's power limit, under both", 0.97, 0.92, lambda m, operations: m > 128 and operations >= MANY)


def f32(folder):
    """Speed, then errors beside SGEMM's."""
    yield {"bar": "products of f32 as planes of bf16, 2048 and 4096 cubed", "shows": "our speed over the fastest of cuBLASLt's f32 heuristics without TF32, under the gate's protocol; judged by gate 8", "unit": "times",
           "at_least": 1.8, "worst_at_least": 1.8, "bounded_by": "six products of bf16: a sixth of that rate, less the step that cuts", "note": f"{INTERVAL}; {SCALAR}", "command": f"{TUNE} {' '.join(F32)}",
           "cells": [cell for kernel in F32 for _, cell in cells(folder / f"{kernel}.tar.gz", kernel, ["cublaslt"])]}
    errors = [json.loads(line) for line in (folder / "f32_errors_h200.jsonl").read_text().splitlines()]
    for what, word in (("max", "largest"), ("rms", "root mean square")):
        yield {"bar": f"products of f32, {word} error", "shows": f"{word} error against f64 of ours over that of cuBLAS's SGEMM (PyTorch, no TF32), the same inputs: normal, and normal by 2^-12 to 2^12", "unit": "of SGEMM's error",
               "statistic": "max", "at_most": 1, "bounded_by": "nothing: each is below 1", "note": f"{', '.join(F32)}, each by both inputs", "command": f"python3 results/runs/products/searched/f32_errors.py cargo-cutegen {' '.join(F32)}",
               "samples": [round(error["ours"][what] / error["sgemm"][what], 3) for error in errors]}


def fused(folder):
    """Those that were timed beside PyTorch, once more behind their search."""
    found = []
    for kernel in json.loads((folder / "fused_h200.json").read_text())["kernels"]:
        by_cell = {}
        for timing in (time["timing"] for time in kernel["times"]):
            if timing["incumbent"] in ("torch-eager", "torch-compile"):
                by_cell.setdefault(f"{kernel['kernel']} m={timing['workload']['m']}", []).append(timing)
        interval = lambda timing: [round(timing[end], 3) for end in ("low", "speedup", "high")]
        found += [{"at": at, "against": {timing["incumbent"]: interval(timing) for timing in some}, **roofed(some)} for at, some in by_cell.items()]
    yield {"bar": "products with bias and GELU, SwiGLU, or residual, 16 to 4096 rows", "shows": "our speed over the better of PyTorch eager and torch.compile in mode max-autotune-no-cudagraphs, under the gate's protocol", "unit": "times",
           "at_least": 1.15, "worst_at_least": 0.97, "bounded_by": "memory at 16 rows of the large weight, tensor cores from 512 on; loads of a residual stand before its products' last wave",
           "note": f"{INTERVAL}; variants judged by gate 8 are timed again", "cells": found, "command": f"cargo cutegen bench --peers --target sm_90a --specs results/runs/products/searched --cache CACHE {' '.join(FUSED)}"}


def chain(folder):
    """A row each for graph and stream; processes are samples."""
    said = [json.loads(line) for line in (folder / "chain_h200.jsonl").read_text().splitlines()]
    assert all(line["wrong"] == [0, 0] for line in said), "a product is wrong"
    middle = lambda value: value[1] if isinstance(value, list) else value  # quartiles, before decode-chain gave intervals
    for how in ("graph", "stream"):
        speeds = {}
        for line in said:
            speeds.setdefault(line["rows"], []).append(round(middle(line.get("times", line)[how]["speedup"]), 3))
        yield {"bar": f"chain of eight decode products of Llama 3 8B, in a {how}", "shows": "our speed over cuBLASLt's by the fastest of its heuristics: qkv, o, gate-up, down, twice, distinct weights, emitted wrappers with programmatic launch where the search chose it",
               "unit": "times", "at_least": 1.18, "worst_at_least": 1.18, "bounded_by": "at 16 rows gate-up, whose variant is slower than cuBLASLt's; of eight launches four are programmatic", "note": "a median of each process, by turns; all products right",
               "cells": [{"at": f"{m} rows", "against": {"cublaslt": found}} for m, found in sorted(speeds.items())], "command": "cargo run --release -p decode-chain"}


def kernelbench(folder):
    """Each of those that are there; what is not is said."""
    names = sorted(shapes.kernelbench())
    there = [name for name in names if (folder / f"kernelbench/{name}.tar.gz").is_file()]
    found = [cell for name in there for _, cell in cells(folder / f"kernelbench/{name}.tar.gz", name, ["torch-eager", "torch-compile"])]
    lacking = [name for name in names if name not in there]
    yield {"bar": "KernelBench, kernels that products fill, beside PyTorch", "shows": "our speed over the better of PyTorch eager and torch.compile, under the gate's protocol; judged by gate 8", "unit": "times",
           "at_least": 1.2, "bounded_by": "tensor cores: six products of bf16 for one of f32; at 128 rows of a large weight memory, since planes are written and read", "cells": found, "command": "python3 tests/bench/products/run.py pack FOLDER && python3 FOLDER/run.py kernelbench --out OUT",
           "note": f"twelve drawn of 34; {SCALAR}", **({"missing": lacking} if lacking else {})}


def sm90(folder):
    """Of those that are there, how many have a variant that passed."""
    names = sorted(shapes.sm90())
    passed = [name for name in names if (folder / f"sm90/{name}.tar.gz").is_file() and timings(folder / f"sm90/{name}.tar.gz")]
    yield {"bar": "products built for sm_90 that pass the whole gate on a Hopper card", "shows": "searches for sm_90 whose answer is a tuned kernel, judged by gate 8 at all its shapes", "unit": "kernels", "statistic": "median",
           "at_least": len(names), "samples": [len(passed)], "bounded_by": "nothing", "note": f"{', '.join(passed)} of {', '.join(names)}", "command": "python3 tests/bench/products/run.py pack FOLDER && python3 FOLDER/run.py sm90 --out OUT"}


def gate(folder):
    """Drawn shapes whose search ended with a kernel that passed."""
    passed = [file.name.removesuffix(".tar.gz") for file in sorted((folder / "gate").glob("*.tar.gz")) if timings(file)]
    yield {"bar": "drawn shapes that pass the whole gate", "shows": "of ten shapes drawn by the commit's digest those whose search ended with a tuned kernel, judged by gate 8", "unit": "kernels", "statistic": "median",
           "at_least": shapes.GATED, "samples": [len(passed)], "bounded_by": "nothing", "note": ", ".join(passed), "command": GATE}


def clock(folder):
    """How long searches took, and of how many candidates."""
    searches = [json.loads(line) for line in (folder / "clock_h200.jsonl").read_text().splitlines()]
    alone = [search for search in searches if search["cores"] == 16]
    told = lambda some, key: {"samples": [search[key] for search in some], "statistic": "max", "note": ", ".join(f"{search['kernel']} {search[key]}" for search in some)}
    jobs = "python3 tests/bench/products/run.py pack FOLDER && python3 FOLDER/run.py JOB --lanes 1 --out OUT, of kernelbench and sm90"
    yield {"bar": "search of products, to ranked candidates", "shows": "compiling, screening and timing on 16 cores, with nothing compiled before", "unit": "s", "at_most": 30,
           "bounded_by": "timing of candidates and of the naive kernel where launches take milliseconds; compiling takes 1 to 5 s", "command": jobs, **told(alone, "ranked_s")}
    yield {"bar": "search of products, candidates of one bucket", "shows": "candidates that were compiled of kernels with one workload", "unit": "candidates", "at_most": 16,
           "bounded_by": "18 chosen by cost estimates and by kind, and what lies around the fastest two", "command": GATE, **told([search for search in searches if search["kernel"] != "sm90_nt"], "candidates")}


PARTS = {"weights": weights, "f32": f32, "fused": fused, "chain": chain, "kernelbench": kernelbench, "sm90": sm90, "gate": gate, "clock": clock}


def main(folder, commit, machine, *parts):
    folder, path = pathlib.Path(folder), raw.ROOT / "results/raw/products.json"
    rows = [{**row, "machine": machine, "commit": commit} for part in parts or PARTS for row in PARTS[part](folder)]
    raw.write(path, raw.merged(raw.read(path), rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
