"""Jobs of bars.py: commands that each leave one file or one folder of reports, and the lanes that run them. What a job's command measures
it does not know, but for the kernels of a report.

A job leaves what it is asked for whole, under its own name, or not at all. Only of the copies, where one process measures many kernels,
does one that is not whole leave something: the kernels that are, each as if it had been measured by itself.
"""

import collections
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import bar_table

# a program that exits with 1 has missed a bar, and tells by how much all the same
TELLING = ("bench", "copies")
# where PyTorch's compiler keeps what it compiled: of this machine, and no result
CACHE = pathlib.Path(tempfile.gettempdir()) / f"cutegen-inductor-{os.getuid()}"
# what a job takes at least: none begins that could not end
LEAST_S = {"tune": 30, "compile": 20, "bench": 10, "copies": 10, "sweep": 30, "wrapper": 15, "example": 30}
# kernels of one process of the copies: it starts and compiles for about as long as it measures five of them
TOGETHER = 12


class Job:
    """A command that leaves one file, or one folder of reports; it is there when the command has ended well."""

    def __init__(self, phase, name, folder, label, size=0):
        self.phase, self.name, self.path, self.label, self.size = phase, name, folder / label, label, size
        self.argv, self.env, self.then, self.says = [], {}, None, False

    def part(self):
        return self.path.with_name(self.path.name + ".part")

    def is_done(self):
        return self.path.exists()

    def left(self):
        """What is to be said of what a killed command left."""
        return None

    def run(self, deadline, env):
        """None when it left its file, else why not."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        removed(self.part())
        log = self.path.parent / f"{self.name}.log"
        with open(self.part() if self.says else log, "w") as out, open(log.with_suffix(".err"), "w") as err:
            child = subprocess.Popen([str(a) for a in self.argv], stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=env | self.env, start_new_session=True)
            try:
                code = child.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                return "; ".join(filter(None, ("no time left: killed", self.left())))
        return self.ended(code, log.with_suffix(".err")) or self.renamed()

    def ended(self, code, err):
        """Why what it left does not count."""
        # what could not time everything, or missed a bar, says so in its file, too
        if code and not (self.phase in TELLING and code == 1 and self.part().exists()):
            said = err.read_text().strip().splitlines()
            errors = [line for line in said if line.startswith("error")] + said[-1:]
            return f"exit {code}: {errors[0] if errors else 'nothing was said'}"
        if not self.part().exists():
            return "it left no file"
        return self.then and self.then()

    def renamed(self):
        removed(self.path)
        self.part().rename(self.path)


class Measurement(Job):
    """A measurement of the GPU tests over some kernels."""

    def __init__(self, phase, name, kernels, table, size=0):
        super().__init__(phase, name, table.folder, f"reports/{phase}/{name}", size)
        self.kernels, self.then = kernels, self.checked
        self.argv = [table.programs / "gpu", f"bars::{phase}"]
        self.env = {"CUTEGEN_REQUIRE_GPU": "1", "CUTEGEN_GPU_REPORT": str(self.part()), "CUTEGEN_BARS_ONLY": ",".join(f"={kernel}" for kernel in kernels),
                    "CUTEGEN_BARS": str(table.specs.parent), "CUTEGEN_TOOLCHAIN": str(table.program.parent / "toolchain")}

    def report(self):
        return json.loads((self.part() / f"bars_{self.phase}.json").read_text())

    def checked(self):
        report = self.report()
        return lacking([kernel for kernel in self.kernels if kernel not in self.whole(report)], report)

    def whole(self, report):
        """Which of its kernels the report has in full."""
        return self.kernels if report["found"] else []


class Copies(Measurement):
    """Kernels against copies, in one process. `cells` says how many shapes each of them has there."""

    def __init__(self, cells, table, size):
        first, *more = cells
        super().__init__("copies", f"{first}-and-{len(more)}-more" if more else first, list(cells), table, size)
        self.cells = cells

    def is_done(self):
        return False  # it is made of what is open

    def whole(self, report):
        return whole(report, self.cells)

    def checked(self):
        said = super().checked()
        if said:
            self.kept(self.report())
        return said

    def left(self):
        try:
            report = self.report()
        except (OSError, ValueError):  # killed before it wrote, or while it did
            return None
        self.kept(report)
        return lacking([kernel for kernel in self.kernels if kernel not in self.whole(report)], report)

    def kept(self, report):
        """Leaves what it has in full, a folder for each kernel."""
        for kernel in self.whole(report):
            path = self.path.with_name(kernel) / "bars_copies.json"
            path.parent.mkdir(exist_ok=True)
            mine = [row for row in report["rows"] if row["kernel"] == kernel]
            path.with_suffix(".new").write_text(json.dumps({**report, "rows": mine, "not_measured": []}))
            path.with_suffix(".new").replace(path)


def lacking(kernels, report):
    """In words what a report lacks; none where it is whole."""
    said = report["not_measured"]
    missing = said + [kernel for kernel in kernels if kernel not in {one.split()[0] for one in said}]
    return f"not measured: {', '.join(missing)}" if missing else None


def whole(report, cells):
    """Kernels of which a report has as many rows as there are cells."""
    rows = collections.Counter(row["kernel"] for row in report["rows"])
    left = {said.split()[0] for said in report["not_measured"]}
    return [kernel for kernel, count in cells.items() if rows[kernel] == count and kernel not in left]


def copies(cells, sizes, table):
    """A job for each report that is there, whether of one kernel or of several, and jobs for the kernels that none has in full."""
    found = {path.parent.name: whole(report, cells) for path, report in bar_table.reports(table.folder / "reports/copies", "copies")}
    done = [Job("copies", name, table.folder, f"reports/copies/{name}") for name, kernels in found.items() if kernels]
    there = {kernel for kernels in found.values() for kernel in kernels}
    waiting = [kernel for kernel in cells if kernel not in there]
    count = -(-len(waiting) // TOGETHER)
    groups = [waiting[len(waiting) * at // count : len(waiting) * (at + 1) // count] for at in range(count)]
    return done + [Copies({kernel: cells[kernel] for kernel in group}, table, sum(sizes[kernel] for kernel in group)) for group in groups]


def removed(path):
    """What an earlier command left there."""
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def environment(gpu):
    env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(CACHE))
    return env | ({"CUDA_VISIBLE_DEVICES": gpu} if gpu is not None else {})


class Room:
    """What is at work on each device: jobs wait until theirs fits, by twice the largest of all, which is what two lanes come to."""

    def __init__(self, jobs):
        self.most, self.taken, self.changed = 2 * max((job.size for job in jobs), default=0), collections.Counter(), threading.Condition()

    def enter(self, gpu, size, seconds):
        """Whether it came to it in that time."""
        with self.changed:
            fits = seconds >= 0 and self.changed.wait_for(lambda: self.taken[gpu] + size <= self.most, seconds)
            self.taken[gpu] += size if fits else 0
            return fits

    def leave(self, gpu, size):
        with self.changed:
            self.taken[gpu] -= size
            self.changed.notify_all()


def do(jobs, lanes, deadline):
    """All jobs, a thread a lane; what failed, by job. A device's first lane begins with the largest and the others with the smallest, and
    no more is at work on it than it has room for: the tensors of the largest fill nearly half of it."""
    waiting, failed, firsts, room = collections.deque(sorted(jobs, key=lambda job: -job.size)), {}, len(set(lanes)), Room(jobs)

    def work(lane, gpu):
        while waiting:
            try:
                job = waiting.popleft() if lane < firsts else waiting.pop()
            except IndexError:
                return
            if not room.enter(gpu, job.size, deadline - LEAST_S[job.phase] - time.monotonic()):
                failed[job.label] = "no time left: not begun"
                continue
            try:
                began = time.monotonic()
                reason = job.run(deadline, environment(gpu))
            finally:
                room.leave(gpu, job.size)
            if reason:
                failed[job.label] = reason
            print(f"{job.label}: {reason or 'done'}, {time.monotonic() - began:.1f} s", flush=True)

    threads = [threading.Thread(target=work, args=lane) for lane in enumerate(lanes)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return failed
