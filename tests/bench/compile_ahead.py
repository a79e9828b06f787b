"""Has torch.compile fill its cache for every expression of spec files, several processes at a time: `bars.py run` does this before it times.

    TORCHINDUCTOR_CACHE_DIR=FOLDER python3 tests/bench/compile_ahead.py SPECS OUT.json [TEXT,TEXT]

Nothing is timed here, and nothing that was tried out while others used the device is kept: a compiled kernel that has several
configurations is raced again, alone, by the peer worker that is timed. Tensors are not filled; their contents decide nothing.
"""

import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import raw

WORKER = pathlib.Path(__file__).resolve().parents[2] / "cutegen-build/src/evaluate/timing/peer/worker.py"
# each holds one cell's tensors at a time, 5 GB at most, beside a context
PROCESSES = max(1, min(8, (os.cpu_count() or 2) // 2))


def tensor(declared, axes):
    """Type and extents of `bf16[m, 4096]`, or of a table with that as its `type`."""
    text = declared["type"] if isinstance(declared, dict) else declared
    dtype, dims = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
    return dtype, [axes[d] if d in axes else int(d) for d in map(str.strip, dims.split(",")) if d]


def cells(specs, only):
    """(kernel, expression, names, tensors) of every workload that PyTorch is asked about."""
    import tomllib  # Python 3.11
    for path in sorted(pathlib.Path(specs).rglob("*.toml")):
        for name, spec in tomllib.loads(path.read_text())["kernels"].items():
            if "torch" not in spec.get("peers", {}) or not raw.wanted(name, only):
                continue
            for workload in spec["workloads"]:
                axes = {a: e for a, e in spec["axes"].items() if isinstance(e, int)} | workload
                yield name, spec["peers"]["torch"], list(spec["inputs"]), [tensor(t, axes) for t in spec["inputs"].values()]


def compile_all(mine):
    spec = importlib.util.spec_from_file_location("worker", WORKER)
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    torch, done = worker.load_torch("cuda"), []
    for name, expression, names, tensors in mine:
        began = time.monotonic()
        empty = [torch.zeros(shape, dtype=getattr(torch, worker.DTYPES[dtype]), device="cuda") for dtype, shape in tensors]
        told = {"kernel": name}
        try:
            with torch.no_grad():
                worker.function(torch, expression, names, {}, "compile")(*empty)
            torch.cuda.synchronize()
        except Exception as error:  # the peer worker meets it again, and says so in the record
            told["error"] = f"{type(error).__name__}: {error}"[:300]
        done.append(told | {"seconds": round(time.monotonic() - began, 2)})
        del empty
        torch._dynamo.reset()
        torch.cuda.empty_cache()
    return done


def main(specs, out, only=""):
    if share := os.environ.get("CUTEGEN_COMPILE_SHARE"):
        at, of = map(int, share.split("/"))
        print(json.dumps(compile_all(list(cells(specs, only))[at::of])))
        return 0
    argv = [sys.executable, __file__, specs, out, only]
    share = lambda at: subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env=dict(os.environ, CUTEGEN_COMPILE_SHARE=f"{at}/{PROCESSES}"))
    children = [share(at) for at in range(PROCESSES)]
    said = [(child.communicate()[0], child.returncode) for child in children]
    if cache := os.environ.get("TORCHINDUCTOR_CACHE_DIR"):
        [path.unlink() for path in pathlib.Path(cache).rglob("*.best_config")]
    if any(code for _, code in said):
        return 1
    done = [cell for text, _ in said for cell in json.loads(text.splitlines()[-1])]
    pathlib.Path(out).write_text(json.dumps(done))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
