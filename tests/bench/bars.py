"""Runs the bar table of tests/bars/ on a GPU node, from a bundle: tunes its kernels, and times them against PyTorch, the naive kernel and
copies; with the programs that node.py packs also the sweep, the wrapper and the example.

    cargo cutegen pack --specs tests/bars/specs --cache tests/bars/cache --with-nvrtc --out bars.tar.gz      # at home
    python3 tests/bench/bars.py run FOLDER --bundle cutegen-pack [--phases compile,bench] [--seconds 1500]   # there, as often as it takes
    ... --bundle cutegen-pack --programs PACK --groups torch --lanes 4 --phases compile,bench,copies,sweep,wrapper,example   # all that has a bar
    python3 tests/bench/bars.py table FOLDER
    python3 tests/bench/bars.py rows FOLDER --commit C [--reports FOLDER]                                    # at home: results/raw/bars_h200.json

FOLDER holds a file for each finished job and is the whole state: what is there is not run again, what failed is. `tune` takes the
kernels that no search has tuned (all with `--again`); `compile` has PyTorch's compiler fill its cache, in parallel and before anything is timed;
`bench` times under the gate's protocol (docs/gate.md), PyTorch before the naive kernel. Both use every GPU that they are given, a
kernel one of them. `compile` is passed over where no job of `bench` over PyTorch is open, as nothing else uses what it fills. `copies` takes
some kernels a job, which share its start and its copies; what one that was stopped has in full is kept. `bench`, `copies` and `sweep` have two
lanes on each GPU, or as many as `--lanes` says: the gate's lease has the others wait while one times, so that only what comes before overlaps,
and a job waits until its tensors have room. `tune` has one lane, for most of a search is on the device; `--gpus 0,0` gives it two, which
saves time where the search's own is not asked for. `accept --results FOLDER/tune/KERNEL.tar.gz` brings a winner home. The bars are in
bar_table.py, how jobs run in bar_jobs.py, times in tests/bars/README.md.
"""

import argparse
import pathlib
import subprocess
import sys
import threading
import time

import bar_table
import raw
from bar_jobs import CACHE, Job, Measurement, copies, do

PHASES = ("tune", "compile", "bench", "copies", "sweep", "wrapper", "example")
# those that take programs of node.py's, and which
PROGRAMS = {"copies": "gpu", "sweep": "gpu", "wrapper": "overhead", "example": "example"}
# what has a cell against copies moves so many bytes
COPIED_BYTES = 128e6
# with 100 points and more, timed for no constant of the forecast and no rule of what is tried when they were chosen
SWEPT = ("rope_half", "swiglu_packed", "batch_norm", "layer_norm_8192", "rms_norm_32768", "add_rms_norm_8192", "softmax_bf16_8192", "log_softmax_32768")
# by group: who a kernel is timed against
GROUPS = {"torch": "torch-eager,torch-compile", "naive": "naive"}
# families that have templates
TEMPLATES = ("elementwise", "rowwise", "scan")
# those that have two lanes on a device: they time under the gate's lease, alone, so that only what comes before overlaps
PAIRED = ("bench", "copies", "sweep")


class Table:
    """The kernels of the bundle, and how its program is called."""

    def __init__(self, options):
        bundle = pathlib.Path(options.bundle or ".")
        self.program = pathlib.Path(options.program or bundle / "cargo-cutegen").resolve()
        self.specs = pathlib.Path(options.specs or bundle / "project/specs").resolve()
        self.cache = pathlib.Path(options.cache or bundle / "project/cache").resolve()
        self.target, self.folder = options.target, pathlib.Path(options.folder).resolve()
        self.only, self.again, self.accepting = options.only or "", options.again, threading.Lock()
        self.groups, self.programs = options.groups.split(","), options.programs and pathlib.Path(options.programs).resolve()
        for path, flag in ((self.program, "--program"), (self.specs, "--specs"), (self.cache, "--cache")):
            if not path.exists():
                raise SystemExit(f"no {path}\nunpack a bundle and name it: --bundle DIR; or give {flag}")
        self.kernels = [k for k in self.checked() if raw.wanted(k["kernel"], self.only)]
        if not self.kernels:
            raise SystemExit(f"no kernel for {self.target} has `{self.only}` in its name")

    def accept_again(self):
        """Winners that were found before, perhaps from another copy of the bundle; what is said where one is not taken."""
        found = [(k["kernel"], self.folder / f"tune/{k['kernel']}.tar.gz") for k in self.kernels if k["state"] != "tuned" or self.again]
        return [said for kernel, path in found if path.is_file() and (said := self.accept(kernel, path))]

    def cutegen(self, verb, *arguments):
        return [self.program, "cutegen", verb, *arguments, "--specs", self.specs, "--cache", self.cache]

    def checked(self):
        """What `check` says of each kernel: its state, workloads and bytes."""
        ran = subprocess.run([str(a) for a in self.cutegen("check", "--target", self.target, "--json")], capture_output=True, text=True)
        if ran.returncode:
            raise SystemExit(f"`check` fails: {ran.stderr.strip()}")
        return [row for row in raw.said(ran.stdout) if "state" in row]

    def jobs(self, phase):
        """Lists of jobs; one list is done before the next is begun."""
        if phase == "tune":
            wanted = [k for k in self.kernels if k["family"] in TEMPLATES]
            return [[self.tune(k) for k in wanted if k["state"] != "tuned" or self.again]]
        if phase == "bench":
            return [[self.bench(group, k) for k in self.kernels] for group in (["naive"] if self.is_host() else self.groups)]
        if phase in PROGRAMS:
            return [self.programmed(phase, self.programs / PROGRAMS[phase])]
        job = Job("compile", "compile", CACHE, f"compiled-{self.only or 'all'}.json")
        job.argv = [sys.executable, pathlib.Path(__file__).with_name("compile_ahead.py"), self.specs, job.part(), self.only]
        return [[job]]

    def programmed(self, phase, program):
        """Jobs of a program of node.py's: of some kernels each for what the GPU tests measure, else one that prints all."""
        if phase == "sweep":
            return [Measurement(phase, kernel, [kernel], self) for kernel in SWEPT if raw.wanted(kernel, self.only)]
        if phase == "copies":
            cells = {k["kernel"]: sum(workload["bytes"] >= COPIED_BYTES for workload in k["workloads"]) for k in self.kernels}
            return copies({kernel: count for kernel, count in cells.items() if count}, {k["kernel"]: largest(k) for k in self.kernels}, self)
        job = Job(phase, phase, self.folder, f"{phase}/{phase}.txt")
        job.argv, job.says = [program], True
        return [job]

    def passed_over(self, phase, phases):
        """Why a phase has no use; none where it has."""
        if phase != "compile":
            return None
        if "bench" not in phases:
            return "`bench` is not among the phases"
        waiting = [job for jobs in self.jobs("bench") for job in jobs if job.label.startswith("bench/torch/") and not job.is_done()]
        return None if waiting else "no job of `bench` over PyTorch is open"

    def lanes(self, phase, devices, count):
        if phase in ("compile", "wrapper", "example") or (self.is_host() and phase not in PROGRAMS):
            return devices[:1]
        return devices * (count if phase in PAIRED else 1)

    def is_host(self):
        return self.target == "host" or "linux" in self.target

    def tune(self, row):
        kernel = row["kernel"]
        job = Job("tune", kernel, self.folder, f"tune/{kernel}.tar.gz", largest(row))
        job.argv = self.cutegen("tune", kernel, "--target", self.target, "--json", "--results", job.part())
        job.then = lambda: self.accept(kernel, job.part())
        return job

    def accept(self, kernel, results):
        """Into the bundle's own store, so that `bench` times it. One at a time: they write one lock."""
        with self.accepting:
            argv = self.cutegen("accept", kernel, "--target", self.target, "--results", results)
            ran = subprocess.run([str(a) for a in argv], capture_output=True, text=True)
        return f"not accepted: {ran.stderr.strip()}" if ran.returncode else None

    def bench(self, group, kernel):
        job = Job("bench", kernel["kernel"], self.folder, f"bench/{group}/{kernel['kernel']}.json", largest(kernel))
        job.argv = self.cutegen("bench", job.name, "--target", self.target, "--json", "--against", GROUPS[group], "--results", job.part())
        return job


def largest(row):
    """Bytes that a kernel moves at its largest workload."""
    return max((workload["bytes"] for workload in row["workloads"]), default=0)


def run(options):
    began = time.monotonic()
    deadline = began + options.seconds
    phases = options.phases.split(",")
    if unknown := [p for p in phases if p not in PHASES]:
        raise SystemExit(f"no phase `{unknown[0]}`; there are: {', '.join(PHASES)}")
    if (bare := [p for p in phases if p in PROGRAMS]) and not options.programs:
        raise SystemExit(f"phase `{bare[0]}` takes a program\npack it: python3 tests/bench/node.py pack PACK; then give --programs PACK")
    table, devices, failed = Table(options), options.gpus.split(",") if options.gpus else raw.devices(), {}
    for said in table.accept_again():
        print(said)
    for phase in (p for p in PHASES if p in phases):
        if said := table.passed_over(phase, phases):
            print(f"{phase}: passed over: {said}", flush=True)
            continue
        lists = table.jobs(phase)
        jobs = [job for jobs in lists for job in jobs]
        print(f"{phase}: {len(jobs)} jobs, {sum(job.is_done() for job in jobs)} done before", flush=True)
        for some in lists:
            failed |= do([job for job in some if not job.is_done()], table.lanes(phase, devices, options.lanes), deadline)
    print(bar_table.text(bar_table.samples(table.folder)))
    for label, reason in failed.items():
        print(f"open: {label}: {reason}")
    print(f"phases: {','.join(phases)}\nlanes: {options.lanes}")
    print(f"{time.monotonic() - began:.0f} s; {'all is done' if not failed else 'run it again to go on'}")
    return 1 if failed else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("run", help="tune and time what is not done yet")
    one.add_argument("folder", help="where results are kept")
    one.add_argument("--bundle", help="the unpacked bundle")
    one.add_argument("--program", help="cargo-cutegen, if it is not the bundle's")
    one.add_argument("--specs", help="folder of specs, if it is not the bundle's")
    one.add_argument("--cache", help="their lock and store, if they are not the bundle's")
    one.add_argument("--programs", help="what `node.py pack` wrote: for copies, sweep, wrapper and example")
    one.add_argument("--phases", default=",".join(phase for phase in PHASES if phase not in PROGRAMS), help=f"of {', '.join(PHASES)}; in this order")
    one.add_argument("--seconds", type=float, default=1500, help="when to stop")
    one.add_argument("--gpus", help="devices, `0,1`; all that are visible unless given")
    one.add_argument("--lanes", type=int, default=2, help="how many of `bench`, `copies` and `sweep` prepare side by side on a device, as far as it has room; none times beside another")
    one.add_argument("--groups", choices=[*GROUPS, ",".join(GROUPS)], default=",".join(GROUPS), help="against whom `bench` times")
    one.add_argument("--only", help="kernels with one of these texts in their names, `softmax,cumsum`; `=softmax` is one name")
    one.add_argument("--again", action="store_true", help="have `tune` search anew for tuned kernels, too")
    one.add_argument("--target", default="sm_90a", help="as specs name it")
    two = verbs.add_parser("table", help="say what has been measured")
    two.add_argument("folder")
    three = verbs.add_parser("rows", help="write rows of results/raw/")
    three.add_argument("folder")
    three.add_argument("--commit", required=True, help="what was measured")
    three.add_argument("--reports", help="what CUTEGEN_GPU_REPORT kept of bars::copies and bars::sweep, in folders of their own; FOLDER/reports unless given")
    three.add_argument("--out", default=str(bar_table.RAW), help="the file")
    three.add_argument("--keep", action="store_true", help="cells that FOLDER lacks stay as the file has them")
    three.add_argument("--note", default="", help="added to each row")
    three.add_argument("--note-of", nargs=2, action="append", default=[], metavar=("BAR", "NOTE"), help="added to one row")
    three.add_argument("--without", nargs="*", default=[], metavar="KERNEL", help="kernels whose cells are withdrawn, those of earlier files too")
    three.add_argument("--logs", nargs="*", default=[], help="what `run` printed, of each time that it was called for the whole table")
    return parser.parse_args()


def main():
    options = arguments()
    if options.verb == "run":
        return run(options)
    folder = pathlib.Path(options.folder)
    if not folder.is_dir():
        raise SystemExit(f"no folder {folder}\nrun: python3 tests/bench/bars.py run {folder}")
    if options.verb == "table":
        print(bar_table.text(bar_table.samples(folder)))
        return 0
    return bar_table.write(folder, options)


if __name__ == "__main__":
    sys.exit(main())
