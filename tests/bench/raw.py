"""Files of results/raw/: what every measurement says about itself. Rows are lists of the fields in tests/src/results.rs."""

import json
import os
import pathlib
import platform
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def wanted(kernel, only):
    """Whether one of the texts between commas is in the name; one that begins with `=` is all of it."""
    return any(text[1:] == kernel if text.startswith("=") else text in kernel for text in only.split(","))


def machine():
    """The machine in words; no name and no folder of it."""
    model = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    flags = next((l for l in open("/proc/cpuinfo") if l.startswith("flags")), "").split()
    wide = "AVX-512" if "avx512f" in flags else "AVX2"
    return f"{os.cpu_count()} virtual cores of an {model.replace('(R)', '')} with {wide}, Linux"


def devices():
    """Numbers of the GPUs that may be used; one nameless one where nobody knows."""
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
        return visible.split(",")
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.splitlines() if shutil.which("nvidia-smi") else []
    return [str(number) for number, line in enumerate(listed) if line.startswith("GPU")] or [None]


def commit():
    """The commit that is measured."""
    return subprocess.check_output(["git", "-C", ROOT, "rev-parse", "--short=10", "HEAD"], text=True).strip()


def load():
    return f"load average {os.getloadavg()[0]:.1f} at the end"


def running():
    """Threads that want a core now, this one among them."""
    return int(open("/proc/loadavg").read().split()[3].split("/")[0])


def wait_until_quiet(seconds):
    """Waits until nothing else has run for a second, at most so long; says whether it came to that."""
    end, still = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        still = still + 1 if running() <= 1 else 0
        if still == 10:
            return True
        time.sleep(0.1)
    return False


def read(path):
    """The rows of a file; none where it is not there."""
    return json.loads(path.read_text()) if path.is_file() else []


def merged(before, rows):
    """Earlier rows in their order, each replaced by the new one of its bar; behind them what is new."""
    new, held = {row["bar"]: row for row in rows}, {row["bar"] for row in before}
    return [new.get(row["bar"], row) for row in before] + [row for row in rows if row["bar"] not in held]


def said(text):
    """What a program printed as JSON, a line each; its other lines are for people."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def write(path, rows):
    """One sample list a line would hide a change; json's own layout with samples joined reads well in a diff."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = lambda row: ",\n".join(f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in row.items())
    path.write_text("[\n" + ",\n".join("  {\n" + fields(row) + "\n  }" for row in rows) + "\n]\n")
