"""Takes everything that measures this checkout on a GPU node along, as one folder, and runs a list of it there.

    python3 tests/bench/node.py pack FOLDER [--with-nvrtc]                   # at home: needs Rust and the toolchain, no GPU
    python3 FOLDER/node.py run --work WORK --out OUT --seconds 585 JOB...    # there: needs neither Rust nor a network

Jobs begin in their order, on each device as many at a time as `--lanes` says: one where anything is timed. None begins that has no time
left, and what is running then is ended. A job:

    overhead | example | runtime     the example's programs; the runtime's device tests: before all others, with the node to themselves
    gpu:FILTER[@KERNELS]             tests of the GPU group (CONTRIBUTING.md); KERNELS is CUTEGEN_BARS_ONLY
    tune:SET/KERNEL                  a search anew; SET is specs, bars or example
    verify:SET/KERNEL                judge it anew for its record; KERNEL `older` is what an older gate judged, but for what a job
                                     before names: the oldest first, of these what takes least

OUT gets `log/` as a line a job and what each printed, `reports/` for gpu_gate.py and bars.py, `tune/` and `verify/` with the results
that `accept --results` takes, all in OUT/kept.tar.gz. WORK holds what is unpacked and compiled: jobs of a later call find it.
"""

import argparse
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

import raw

ROOT = pathlib.Path(__file__).resolve().parents[2]
# by set: how its bundle is packed here, and named there
SETS = {"specs": (["--specs", "kernel-specs", "--cache", "cache"], ["--specs", "specs", "--cache", "cache"]),
        "bars": (["--specs", "tests/bars/specs", "--cache", "tests/bars/cache"], ["--specs", "specs", "--cache", "cache"]),
        "example": (["--manifest-path", "example-app/Cargo.toml"], ["--manifest-path", "Cargo.toml"])}
PROGRAMS = {"gpu": ["test", "-p", "cutegen-build", "--features", "search", "--test", "gpu", "--no-run"],
            "runtime": ["test", "-p", "cutegen-runtime", "--all-features", "--test", "device", "--no-run"],
            "overhead": ["build", "-p", "example-app", "--bin", "overhead"], "example": ["build", "-p", "example-app", "--bin", "gpu"]}
# what a job takes at least
LEAST_S = 8


def built(arguments):
    """The program that cargo builds."""
    command = ["cargo", *arguments, "--release", "--locked", "--message-format", "json-render-diagnostics"]
    said = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = [json.loads(line).get("executable") for line in said.splitlines() if line.startswith("{")]
    return [path for path in found if path][-1]


def pack(folder, more):
    folder.mkdir(parents=True, exist_ok=True)
    cutegen = built(["build", "-p", "cargo-cutegen"])
    for name, (arguments, _) in SETS.items():
        subprocess.run([cutegen, "cutegen", "pack", *arguments, *(more if name == "bars" else []), "--out", (folder / f"{name}.tar.gz").resolve()], cwd=ROOT, check=True)
    for name, arguments in PROGRAMS.items():
        subprocess.run(["strip", "-o", folder / name, built(arguments)], check=True)
    gate = re.search(r"pub const GATE: u32 = (\d+);", (ROOT / "cutegen-spec/src/record/evidence.rs").read_text())
    commit = subprocess.check_output(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=10", "--exclude", "*"], text=True).strip()
    (folder / "about.json").write_text(json.dumps({"commit": commit, "gate": int(gate[1])}))
    [shutil.copy(script, folder) for script in (__file__, raw.__file__)]
    print(f"{folder}: {sum(file.stat().st_size for file in folder.iterdir()) / 1e6:.0f} MB of {commit}")


class Node:
    """What is unpacked on a node, and the time that is left."""

    def __init__(self, options):
        self.began, self.folder = time.monotonic(), pathlib.Path(__file__).resolve().parent
        self.about = json.loads((self.folder / "about.json").read_text())
        self.out, self.seconds, self.failed = options.out.resolve(), options.seconds, 0
        self.work = options.work.resolve() / self.about["commit"]  # nothing of another checkout
        for part in ("log", "reports", "tune", "verify"):
            (self.out / part).mkdir(parents=True, exist_ok=True)
        for name in SETS:
            if not (self.work / name).is_dir():
                with tarfile.open(self.folder / f"{name}.tar.gz") as bundle:
                    bundle.extractall(self.work / f"{name}.part", filter="fully_trusted")
                (self.work / f"{name}.part").rename(self.work / name)
        bundle = self.work / "bars/cutegen-pack"
        self.cutegen, self.fixtures = bundle / "cargo-cutegen", self.work / "fixtures"
        self.telling = threading.Lock()
        self.env = dict(os.environ, CUTEGEN_TOOLCHAIN=str(bundle / "toolchain"), CUTEGEN_HOME=str(self.work / "home"), CUTEGEN_REQUIRE_GPU="1",
                        CUTEGEN_BARS=str(bundle / "project"), CUTEGEN_GPU_FIXTURES=str(self.fixtures))

    def spent(self):
        return time.monotonic() - self.began

    def run(self, name, argv, env=()):
        """Whether it ended well; what it printed is kept, and its end shown."""
        began, left = self.spent(), self.seconds - self.spent()
        if left < LEAST_S:
            return self.told(f"{name}: not begun, no time left", False)
        log = self.out / "log" / f"{re.sub('[^A-Za-z0-9_.-]+', '-', name)}.log"
        with open(log, "w") as out:
            child = subprocess.Popen([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, env=self.env | dict(env), start_new_session=True)
            try:
                code = child.wait(left)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                code = "no time left"
        last = " | ".join(log.read_text(errors="replace").splitlines()[-2:])
        return self.told(f"{began:5.0f} s {name}: {'done' if code == 0 else code}, {self.spent() - began:.0f} s: {last[:300]}", code == 0)

    def told(self, line, is_done):
        with self.telling, open(self.out / "log/jobs.txt", "a") as jobs:
            self.failed += not is_done
            print(line, file=jobs)
            print(line, flush=True)
        return is_done

    def project(self, name):
        return self.work / name / "cutegen-pack/project"

    def at(self, name):
        """How the command is told of a set."""
        return [argument if argument.startswith("--") else self.project(name) / argument for argument in SETS[name][1]]

    def judge(self, verb, name, kernel, env):
        """`tune` or `verify`, whose results are kept under the set's name."""
        results = self.out / verb / f"{name}.{kernel}.tar.gz"
        more = ["--again", "--json"] if verb == "tune" else ["--record"]
        argv = [self.cutegen, "cutegen", verb, kernel, "--target", "sm_90a", *more, "--results", results, *self.at(name)]
        self.run(f"{verb}:{name}/{kernel}", argv, env)

    def older(self, name):
        """What an older gate judged of a set: the oldest first, of these what takes least."""
        import tomllib  # Python 3.11
        found, project = [], self.project(name)
        lock = next(path for path in (project / "cutegen.lock", project / "cache/cutegen.lock") if path.is_file())
        records = {path.parent.name: path for path in project.rglob("record.toml")}
        for kernel in tomllib.loads(lock.read_text())["kernel"]:
            if kernel["target"].startswith("sm_90a"):
                variants = tomllib.loads(records[kernel["key"]].read_text())["variants"]
                evidence = [variant.get("evidence", {}) for variant in variants]
                gate = min(e.get("gate", 0) for e in evidence)
                if gate < self.about["gate"]:
                    found.append((gate, sum(e.get("judge-seconds", 0) for e in evidence), kernel["name"]))
        return [kernel for _, _, kernel in sorted(found)]

    def listed(self, jobs):
        """With what `older` means in place of it."""
        every = []
        for job in jobs:
            verb, _, what = job.partition(":")
            name, _, kernel = what.partition("/")
            kernels = self.older(name) if (verb, kernel) == ("verify", "older") else None
            named = {each.partition(":")[2] for each in every}
            every += [job] if kernels is None else [f"verify:{name}/{k}" for k in kernels if f"{name}/{k}" not in named]
        return every

    def prepare(self):
        if not self.fixtures.is_dir() and self.run("prepare", [self.folder / "gpu", "--prepare", self.work / "fixtures.part"]):
            (self.work / "fixtures.part").rename(self.fixtures)

    def gpu(self, what, env):
        tests, _, only = what.partition("@")
        # a folder for each: several may report on one bar
        reports = self.out / "reports" / re.sub("[^A-Za-z0-9_.-]+", "-", what)
        env = env | {"CUTEGEN_GPU_REPORT": str(reports), "CUTEGEN_BARS_SECONDS": str(max(1, self.seconds - self.spent() - LEAST_S))}
        self.run(f"gpu:{what}", [self.folder / "gpu", *tests.split("+")], env | ({"CUTEGEN_BARS_ONLY": only} if only else {}))

    def do(self, job, device):
        env = {} if device is None else {"CUDA_VISIBLE_DEVICES": device}
        kind, _, what = job.partition(":")
        if job in PROGRAMS:
            self.run(kind, [self.folder / kind], env)
        elif kind == "gpu":
            self.gpu(what, env)
        else:
            self.judge(kind, *what.split("/"), env)

    def do_all(self, jobs, lanes):
        """All jobs, as many at a time as there are lanes; each lane is a device's."""
        waiting = queue.SimpleQueue()
        [self.do(job, raw.devices()[0]) for job in jobs if job in PROGRAMS]  # they time the processor
        [waiting.put(job) for job in self.listed(jobs) if job not in PROGRAMS]
        if any(job.startswith("gpu:") for job in jobs):
            self.prepare()

        def work(device):
            while self.seconds - self.spent() > LEAST_S:
                try:
                    job = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    self.do(job, device)
                except OSError as error:
                    self.told(f"{job}: {error}", False)

        threads = [threading.Thread(target=work, args=(device,)) for device in raw.devices() * lanes]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        if waiting.qsize():
            self.told(f"{waiting.qsize()} jobs not begun, no time left", False)


def run(options):
    wrong = [job for job in options.jobs if not re.fullmatch(rf"overhead|example|runtime|gpu:\S+|(tune|verify):({'|'.join(SETS)})/\w+", job)]
    if wrong:
        raise SystemExit(f"no job `{wrong[0]}`: see the top of {__file__}")
    node = Node(options)
    try:
        node.do_all(options.jobs, options.lanes)
    finally:
        with tarfile.open(node.out / "kept.tar.gz", "w:gz") as kept:
            [kept.add(node.out / part, part) for part in ("log", "reports", "tune", "verify")]
    print(f"{node.spent():.0f} s at {node.about['commit']}, {node.failed} not done: {node.out / 'kept.tar.gz'}")
    return 1 if node.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    packing = verbs.add_parser("pack", help="build and pack all of it")
    packing.add_argument("folder", type=pathlib.Path)
    packing.add_argument("--with-nvrtc", action="store_true", help="for a node without CUDA's compiler")
    running = verbs.add_parser("run", help="run jobs on a node")
    running.add_argument("--work", type=pathlib.Path, required=True, help="what is unpacked and compiled, for later calls too")
    running.add_argument("--out", type=pathlib.Path, required=True, help="what is kept")
    running.add_argument("--seconds", type=float, default=585, help="when to stop")
    running.add_argument("--lanes", type=int, default=1, help="jobs at a time on each device; more than one only where nothing is timed")
    running.add_argument("jobs", nargs="+", metavar="JOB")
    options = parser.parse_args()
    return pack(options.folder, ["--with-nvrtc"] * options.with_nvrtc) if options.verb == "pack" else run(options)


if __name__ == "__main__":
    sys.exit(main())
