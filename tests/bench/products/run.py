"""Measures products on a GPU node: packed here, run there, made rows of results here.

    python3 tests/bench/products/run.py pack FOLDER [--digest HEX] [--with-nvrtc]   # here: needs Rust and the toolchain, no GPU
    python3 FOLDER/run.py JOB --out OUT [--seconds 560] [--part 1/2] [--done FOLDER] [--only REGEX]   # there: neither Rust nor network

Jobs: `fit` and `commit` screen a hundred shapes each, those of the fixed seed and those of the commit's; `mma` the weights of Llama by
mma.sync alone, after its peak; `ranged` one kernel of any columns and terms and one for each weight; `sweep` eight shapes against 320
points; `squares` 1024 to 8192 cubed, nt and nn. These tune: `gate` ten of the commit's shapes, `kernelbench` twelve kernels beside PyTorch,
`sm90` products built for sm_90. A job writes OUT/JOB.PART.TIME.json, and one that tunes OUT/JOB.tar with results that `accept` takes. What a
file of DONE has, of the same text, is not measured again, so a job goes on where another call ended. `rows.py` and `searched.py` make rows of results of the files.
"""

import argparse
import hashlib
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))  # on a node it lies beside this
import raw
import shapes

ROOT = HERE.joinpath("../../..").resolve()  # here; on a node it is nothing
SCREENED = {"fit": [], "commit": [], "mma": ["--instruction", "mma-sync"], "ranged": [], "sweep": ["--points", "320"], "squares": []}
TUNED = ("gate", "kernelbench", "sm90")
# what a kernel takes at least
LEAST_S = 8


def cargo(*arguments, folder=ROOT):
    """The program that cargo builds."""
    command = ["cargo", *arguments, "--release", "--message-format", "json-render-diagnostics"]
    said = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [path for line in said.splitlines() if line.startswith("{") and (path := json.loads(line).get("executable"))][-1]


def pack(folder, digest, with_nvrtc):
    head = subprocess.check_output(["git", "-C", ROOT, "rev-parse", "HEAD"], text=True).strip()
    digest = digest or head
    specs = folder / "specs"
    specs.mkdir(parents=True, exist_ok=True)
    for name, kernels in shapes.sets(shapes.seed_of(digest)).items():
        (specs / f"{name}.toml").write_text("edition = 1\n\n" + "\n".join(kernels.values()))
    cutegen = cargo("build", "-p", "cargo-cutegen", "--locked")
    bundle = ["pack", "--specs", specs, "--cache", folder / "empty", "--out", folder / "bundle.tar.gz", *(["--with-nvrtc"] if with_nvrtc else [])]
    subprocess.run([cutegen, "cutegen", *bundle], check=True)
    programs = {"screen": cargo("build", "-p", "cutegen-build", "--features", "search", "--example", "screen", "--locked")}
    for name, path in programs.items():
        subprocess.run(["strip", "-o", folder / name, path], check=True)
    dirty = subprocess.check_output(["git", "-C", ROOT, "status", "--porcelain"], text=True).strip()
    about = {"commit": head[:10] + ("-dirty" if dirty else ""), "digest": digest, "gate": shapes.gated(shapes.seed_of(digest))}
    (folder / "about.json").write_text(json.dumps(about))
    [shutil.copy(HERE / script, folder) for script in ("run.py", "shapes.py", "../raw.py", "mma_peak.cu")]
    print(f"{folder}: {sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 1e6:.1f} MB of {about['commit']}")


def digest_of(text):
    """Of a kernel's text: what was measured of another text is not taken for it."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12]


def share(names, part):
    """`2/3`: every third, from the second on."""
    at, of = map(int, part.split("/"))
    assert 1 <= at <= of, part
    return names[at - 1::of]


def trimmed(screened):
    """Times to a hundredth of a per mille; what was tried as it is."""
    def short(value):
        if isinstance(value, float):
            return float(f"{value:.6g}")
        if isinstance(value, dict):
            return {key: short(inner) for key, inner in value.items()}
        return [short(inner) for inner in value] if isinstance(value, list) else value
    return short(screened)


class Node:
    def __init__(self, options):
        self.began, self.options, self.out = time.monotonic(), options, options.out.resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.about = json.loads((HERE / "about.json").read_text())
        self.work = pathlib.Path(options.work) / self.about["commit"]
        bundle = self.work / "cutegen-pack"
        if not bundle.is_dir():
            with tarfile.open(HERE / "bundle.tar.gz") as packed:
                packed.extractall(self.work, filter="fully_trusted")
        self.cutegen, self.project = bundle / "cargo-cutegen", bundle / "project"
        folders = [str(folder) for folder in libraries()]
        self.env = dict(os.environ, CUTEGEN_TOOLCHAIN=str(bundle / "toolchain"), CUTEGEN_HOME=str(self.work / "home"),
                        LD_LIBRARY_PATH=":".join([*folders, os.environ.get("LD_LIBRARY_PATH", "")]).strip(":"))
        self.folders, self.telling = folders, threading.Lock()
        self.log = open(self.out / "log.txt", "a")
        # files of several calls go into one folder
        self.file = self.out / f"{options.job}.{options.part.replace('/', '-of-')}.{int(time.time())}.json"

    def left(self):
        return self.options.seconds - (time.monotonic() - self.began)

    def say(self, line):
        with self.telling:
            print(line, file=self.log, flush=True)
            print(line, flush=True)

    def child(self, argv, gpu=None, cores=None):
        """Exit code, or None where time ran out; and what was printed."""
        env = self.env | ({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {})
        pin = (lambda: os.sched_setaffinity(0, cores)) if cores else None
        child = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, start_new_session=True, preexec_fn=pin)
        try:
            return child.communicate(timeout=max(1, self.left()))[0], child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return child.communicate()[0], None

    def each(self, names, work):
        """`work(name, gpu, cores)` of every name, some at a time on each GPU, each with its share of the cores. One compiles while
        another times: a lease gives it the GPU alone, and what is timed are graphs."""
        waiting, gpus, all_cores = queue.Queue(), raw.devices() * self.options.lanes, sorted(os.sched_getaffinity(0))
        [waiting.put(name) for name in names]
        def lane(at):
            while self.left() > LEAST_S:
                try:
                    name = waiting.get_nowait()
                except queue.Empty:
                    return
                work(name, gpus[at], set(all_cores[at::len(gpus)]))
        lanes = [threading.Thread(target=lane, args=(at,)) for at in range(len(gpus))]
        [thread.start() for thread in lanes]
        [thread.join() for thread in lanes]
        return waiting.qsize()

    def screen(self, job):
        specs = self.project / f"specs/{job}.toml"
        texts = shapes.kernels_of(specs.read_text())
        done = measured(self.options.done, job, texts)
        names = [name for name in share(sorted(texts), self.options.part) if name not in done and re.search(self.options.only, name)]
        cells, failed, path = {}, {}, self.file
        extra = {"peak": self.peak()} if job == "mma" else {}
        def keep():
            with self.telling:
                path.write_text(json.dumps({"job": job, "about": self.about, "cells": cells, "failed": failed, **extra}, separators=(",", ":")))
        def work(name, gpu, cores):
            began, out = time.monotonic(), self.work / f"{name}.json"
            out.unlink(missing_ok=True)
            said, code = self.child([HERE / "screen", specs, name, out, *SCREENED[job]], gpu, cores)
            if out.is_file():
                cells[name] = {"digest": digest_of(texts[name]), **trimmed(json.loads(out.read_text()))}
                told = " ".join(line(winner) for winner in cells[name]["workloads"])
            else:
                told = failed[name] = f"{'no time left' if code is None else code}: {' | '.join(said.splitlines()[-3:])[-400:]}"
            keep()
            self.say(f"{name} {time.monotonic() - began:.0f} s: {told}")
        left = self.each(names, work)
        keep()
        self.say(f"{job}: {len(cells)} measured, {len(failed)} failed, {left} not begun, {len(done)} done before; {path.name}")

    def peak(self):
        built = self.work / "mma_peak"
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        said, code = self.child([nvcc, "-O3", "-std=c++17", "-gencode=arch=compute_90,code=sm_90", "-o", built, HERE / "mma_peak.cu"])
        said, code = (said, code) if code else self.child([built])
        self.say(f"mma.sync: {said.strip()}")
        return json.loads(said) if code == 0 else None

    def tune(self, job, texts, *flags):
        """Searches by the command; what `accept` takes goes into one archive."""
        seen, done = {}, measured(self.options.done, job, texts)
        folder, path = self.work / job, self.file
        folder.mkdir(parents=True, exist_ok=True)
        def work(name, gpu, cores):
            argv = [self.cutegen, "cutegen", "tune", name, "--again", "--json", *flags, "--results", folder / f"{name}.tar.gz"]
            said, code = self.child([*argv, "--specs", self.project / "specs", "--cache", self.project / "cache"], gpu, cores)
            (folder / f"{name}.log").write_text(said)
            last = next((json.loads(line) for line in reversed(said.splitlines()) if line.startswith('{"event":"tuned"')), {})
            if last:
                seen[name] = {**last, "digest": digest_of(texts[name])}
            self.say(f"{name}: {code} {last or said[-300:]}")
            path.write_text(json.dumps({"job": job, "about": self.about, "tuned": seen}))
            with self.telling, tarfile.open(self.out / f"{job}.tar", "w") as kept:
                [kept.add(file, file.name) for file in sorted(folder.iterdir())]
        names = [name for name in share(sorted(texts), self.options.part) if name not in done and re.search(self.options.only, name)]
        left = self.each(names, work)
        self.say(f"{job}: {len(seen)} tuned, {left} not begun, {len(done)} done before")

    def tuned(self, job):
        target, *more = {"gate": ("sm_90a",), "kernelbench": ("sm_90a", "--peers"), "sm90": ("sm_90",)}[job]
        texts = shapes.kernels_of((self.project / f"specs/{'commit' if job == 'gate' else job}.toml").read_text())
        drawn = {f"commit_{name}" for name in self.about["gate"]} if job == "gate" else set(texts)
        return self.tune(job, {name: text for name, text in texts.items() if name in drawn}, "--target", target, *more)


def line(winner):
    times = winner["cublaslt"]["times"]
    over = f"{times['speedup']:.3f} ({times['candidate_us']:.1f} us)" if times else winner["cublaslt"]["about"]
    swept = winner.get("swept")
    swept = f", {swept[1]['times']['speedup']:.3f} of {swept[0]}" if swept and swept[1]["times"] else ""
    return f"{' '.join(str(m) for m in winner['workload'].values())} {winner['name']} {over}{swept}".strip()


def libraries():
    """Folders of cuBLASLt beside Python's packages; the toolkit's own is looked into anyway."""
    roots = {pathlib.Path(path) for path in sys.path if path.endswith("-packages")}
    return sorted({found.parent for root in roots for found in root.glob("nvidia/*/lib/libcublasLt.so.*")})


def files(folder):
    return sorted(pathlib.Path(folder).rglob("*.json")) if folder else []


def measured(folder, job, texts):
    """Names that files of this folder have, measured or tuned, with the same text."""
    held = [file.get("cells") or file.get("tuned", {}) for file in (json.loads(path.read_text()) for path in files(folder)) if file.get("job") == job]
    return {name for some in held for name, cell in some.items() if name in texts and cell.get("digest") == digest_of(texts[name])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=["pack", *SCREENED, *TUNED])
    parser.add_argument("what", nargs="*", type=pathlib.Path)
    parser.add_argument("--digest", default="")
    parser.add_argument("--with-nvrtc", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default="out")
    parser.add_argument("--work", default="/tmp/cutegen-products")
    parser.add_argument("--seconds", type=float, default=560)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--done", default="")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    if options.job == "pack":
        return pack(options.what[0].resolve(), options.digest, options.with_nvrtc)
    node = Node(options)
    return node.screen(options.job) if options.job in SCREENED else node.tuned(options.job)


if __name__ == "__main__":
    main()
