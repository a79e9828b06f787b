"""Measures cuBLASLt, torch eager and torch.compile on one NVIDIA device under the gate's protocol.

    python3 tests/bench/baselines.py --partial FILE [--seconds N] [--only TEXT] [--json results/raw/incumbents_h200.json --commit C [--keep]]

Per shape: every incumbent as one captured graph of as many launches over one rotation of random inputs, at least three times
the L2 cache, at least 200 us a graph; graphs in turn (ABBA), queued in bursts of at most 50 ms with a pause behind each; 30
blocks an incumbent, whose times a launch are the samples. cuBLASLt: 32 heuristics timed, the fastest taken. Results
of each shape are appended to FILE at once, and what FILE holds is not measured again: a run that ends early is gone on with.
What was not measured is printed, and named in the last row's note. Shapes are in baseline_cells.py.
"""

import argparse
import ctypes
import gc
import importlib.util
import json
import pathlib
import random
import statistics
import time

import raw
from baseline_cells import LT, cells
from cublaslt import CublasLt, Product

MIN_BLOCK_NS, BURST_NS, PAUSE_S, BLOCKS, WARM_NS = 200_000, 50_000_000, 0.02, 30, 20_000_000
SLOTS = (3, 4096)
LAUNCHES_MAX = 1 << 16
BYTES = {"f32": 4, "bf16": 2, "f16": 2, "f8e4m3": 1, "u8": 1}


def peer_worker():
    path = raw.ROOT / "cutegen-build/src/evaluate/timing/peer/worker.py"
    spec = importlib.util.spec_from_file_location("worker", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Card:
    """Clocks and throttle reasons through NVML; nothing where there is none."""

    def __init__(self, torch):
        try:
            self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
            self.device = ctypes.c_void_p()
            uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}".encode()
            if self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(self.device)):
                self.nvml = None
            else:
                self.reasons = self.nvml.nvmlDeviceGetCurrentClocksThrottleReasons
        except (OSError, AttributeError):
            self.nvml = None

    def sample(self):
        if self.nvml is None:
            return None
        clock, reasons = ctypes.c_uint(), ctypes.c_ulonglong()
        self.nvml.nvmlDeviceGetClockInfo(self.device, 1, ctypes.byref(clock))
        self.reasons(self.device, ctypes.byref(reasons))
        return clock.value, reasons.value


def drawn(torch, described, generator):
    """Standard normal values, scaled down where there is little range; scales are near one."""
    shape, dtype = described["shape"], described["dtype"]
    if dtype == "u8":
        return torch.randint(0, 256, shape, dtype=torch.uint8, device="cuda", generator=generator)
    values = torch.randn(shape, device="cuda", generator=generator)
    if not shape:
        values = 1 + values.abs() / 16
    kinds = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f8e4m3": torch.float8_e4m3fn}
    return values.to(kinds[dtype])


def size(inputs):
    total = 0
    for described in inputs.values():
        elements = 1
        for extent in described["shape"]:
            elements *= extent
        total += elements * BYTES[described["dtype"]]
    return total


class Cell:
    """One shape: its rotation and the graphs of its incumbents."""

    def __init__(self, torch, worker, bench, lt, described):
        self.torch, self.worker, self.bench, self.lt, self.described = torch, worker, bench, lt, described
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = described["tf32"]
        generator = torch.Generator(device="cuda").manual_seed(20)
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self.bytes = size(described["inputs"])
        self.slots = max(SLOTS[0], min(SLOTS[1], -(-3 * l2 // self.bytes)))
        self.rotation = [{name: drawn(torch, d, generator) for name, d in described["inputs"].items()} for _ in range(self.slots)]
        torch.cuda.synchronize()
        self.notes, self.blocks, self.results = {}, {}, {}

    def launcher(self, incumbent):
        if incumbent == LT:
            return self.product()
        names = list(self.described["inputs"])
        scope = {"F": self.torch.nn.functional}
        called = self.worker.function(self.torch, self.described["expression"], names, scope, incumbent)
        if "backend" in self.described:
            from torch.nn.attention import SDPBackend, sdpa_kernel
            backend, inner = getattr(SDPBackend, self.described["backend"]), called

            def called(*given):
                with sdpa_kernel(backend):
                    return inner(*given)
        return lambda slot: called(*self.rotation[slot].values())

    def product(self):
        torch, asked = self.torch, self.described["gemm"]
        product = Product(self.lt, torch, **asked)
        kind = {"bf16": torch.bfloat16, "f32": torch.float32}[asked["types"][2]]
        results = [torch.empty((asked["m"], asked["n"]), dtype=kind, device="cuda") for _ in range(self.slots)]
        stream = self.bench.stream.cuda_stream

        def launch(slot):
            given = self.rotation[slot]
            scales = (given["sx"], given["sw"]) if "sx" in given else None
            product.launch(given["x"], given["w"], results[slot], stream, scales)
            return results[slot]

        launch(0)
        self.bench.wait()
        few = min(self.slots, 64)

        def timing():
            block = self.bench.capture(launch, few, few)
            return block.ns

        self.notes[LT] = product.tune(timing)
        return launch

    def prepare(self, incumbent):
        """One launch kept for comparison, then graphs that double until they last long enough."""
        launch = self.launcher(incumbent)
        with self.bench.on_stream():
            once = launch(0)
        self.bench.wait()
        once = once[0] if isinstance(once, (tuple, list)) else once
        self.results[incumbent] = once.float().clone() if once.numel() < 1 << 28 else None
        self.blocks[incumbent] = launch, None

    def capture(self):
        """Equal numbers of launches for all, as many as the fastest needs."""
        launches = self.slots
        while True:
            graphs = {name: self.bench.capture(launch, self.slots, launches) for name, (launch, _) in self.blocks.items()}
            times = {}
            for name, graph in graphs.items():
                graph.run()
                times[name] = min(graph.ns(), graph.ns())
            short = min(times.values())
            if short >= MIN_BLOCK_NS or launches * 2 > LAUNCHES_MAX:
                return graphs, times, launches
            while short < MIN_BLOCK_NS and launches * 2 <= LAUNCHES_MAX:
                short, launches = short * 2, launches * 2
            del graphs
            gc.collect()

    def agree(self):
        """Largest difference to the first incumbent's result, by the result's norm."""
        first = next(iter(self.results))
        known = self.results[first]
        for name, result in self.results.items():
            if known is not None and name != first:
                off = ((result - known).norm() / known.norm().clamp_min(1e-30)).item()
                self.notes.setdefault(name, {})[f"off-{first}"] = float(f"{off:.2g}")
        self.results.clear()

    def measure(self, card):
        graphs, times, launches = self.capture()
        names, chance = list(graphs), random.Random(7)
        order = []
        for _ in range(BLOCKS // 2):
            turn = chance.sample(names, len(names))
            order += turn + turn[::-1]
        started = time.monotonic()
        while (time.monotonic() - started) * 1e9 < WARM_NS:
            [graphs[name].run() for name in names]
        samples, clocks = {name: [] for name in names}, []
        group = 2 * len(names)  # one ABBA stays together
        at = 0
        while at < len(order):
            end = at + group
            while end < len(order) and sum(times[name] for name in order[at:end + group]) < BURST_NS:
                end += group
            clocks.append(card.sample())
            for name, ns in zip(order[at:end], self.burst([graphs[name] for name in order[at:end]])):
                samples[name].append(ns / launches / 1e3)
            clocks.append(card.sample())
            time.sleep(PAUSE_S)
            at = end
        return samples, launches, [c for c in clocks if c]

    def burst(self, graphs):
        """Nanoseconds of each block, queued behind a lead-in."""
        events = [self.torch.cuda.Event(enable_timing=True) for _ in range(len(graphs) + 1)]
        with self.bench.on_stream():
            graphs[-1].replay()
            events[0].record()
            for graph, event in zip(graphs, events[1:]):
                graph.replay()
                event.record()
        self.bench.wait()
        return [before.elapsed_time(after) * 1e6 for before, after in zip(events, events[1:])]


def measure(torch, worker, bench, lt, card, described):
    began, failed = time.monotonic(), {}
    with torch.no_grad():
        cell = Cell(torch, worker, bench, lt, described)
        for incumbent in described["incumbents"]:
            try:
                cell.prepare(incumbent)
            except Exception as error:
                failed[incumbent] = f"{type(error).__name__}: {error}"[:300]
        if not cell.blocks:
            return {"failed": failed}
        cell.agree()
        samples, launches, clocks = cell.measure(card)
    done = {"samples": {name: [float(f"{us:.5g}") for us in each] for name, each in samples.items()}, "launches": launches, "slots": cell.slots,
            "failed": failed, "notes": cell.notes, "took": round(time.monotonic() - began, 1)}
    if clocks:
        done |= {"sm-mhz": [min(c for c, _ in clocks), max(c for c, _ in clocks)], "throttle": sorted({f"{bits:#x}" for _, bits in clocks})}
    return done


def title(described, incumbent):
    what = {"cublaslt": "cuBLASLt, the fastest of its heuristics", "eager": "torch eager", "compile": "torch.compile",
            "compile-max-autotune": "torch.compile, max-autotune"}
    return f"{what[incumbent]}: {described['family']} {described['name']}"


def note(done, incumbent):
    said = [f"{done['launches']} launches a graph over {done['slots']} slots"]
    said += [f"{k.replace('-', ' ')} {v}" for k, v in done["notes"].get(incumbent, {}).items()]
    if "sm-mhz" in done:
        said.append(f"SM {done['sm-mhz'][0]} to {done['sm-mhz'][1]} MHz, NVML's reasons {', '.join(done['throttle'])}")
    return "; ".join(said)


def shows(described):
    inputs = ", ".join(f"{name} {d['dtype']}{d['shape']}" for name, d in described["inputs"].items())
    return f"`{described['expression']}` on {inputs}; microseconds a launch"


def rows(partial, header, commit):
    kept = [json.loads(line) for line in partial.read_text().splitlines()] if partial.exists() else []
    found = {(d["family"], d["name"]): d["done"] for d in kept}
    every, missing, written = list(cells()), [], []
    for described in every:
        done = found.get((described["family"], described["name"]))
        for incumbent in described["incumbents"]:
            if incumbent == "eager" and described["name"].endswith(" tuned"):
                continue  # timed beside it, and on the page once already
            if not done or incumbent not in done.get("samples", {}):
                reason = (done or {}).get("failed", {}).get(incumbent, "no time left")
                missing.append(f"{title(described, incumbent)} ({reason})")
            else:
                written.append({"bar": title(described, incumbent), "shows": shows(described), "unit": "us", "statistic": "median",
                                "note": note(done, incumbent), "bounded_by": "what the library does", "samples": done["samples"][incumbent],
                                "machine": header["machine"], "commit": commit,
                                "command": "python3 tests/bench/baselines.py --partial FILE"})
    return written, missing


def noted(rows, versions, missing):
    """The last row says what holds for all."""
    for row in rows:
        row["note"] = row["note"].split("; versions ")[0]
    if rows:
        rows[-1]["note"] += "; versions " + versions + ("; not measured: " + ", ".join(missing) if missing else "")
    return rows


def header(torch, lt):
    card = torch.cuda.get_device_properties(0)
    driver = "unknown driver"
    try:
        nvml, text = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.create_string_buffer(96)
        if not nvml.nvmlInit_v2() and not nvml.nvmlSystemGetDriverVersion(text, 96):
            driver = f"driver {text.value.decode()}"
    except OSError:
        pass
    lt = f"cuBLASLt {lt.version()}" if lt else "no cuBLASLt"
    return {"machine": f"{card.name}, sm_{card.major}{card.minor}, {driver}", "versions": f"torch {torch.__version__}, CUDA {torch.version.cuda}, {lt}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partial", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--commit")
    parser.add_argument("--keep", action="store_true", help="rows that FILE lacks stay as --json has them")
    asked = parser.parse_args()
    began, worker = time.monotonic(), peer_worker()
    about = asked.partial.with_suffix(".about.json")
    if asked.seconds > 0:
        run(asked, began, worker, about)
    head = json.loads(about.read_text())
    written, missing = rows(asked.partial, head, asked.commit or "unknown")
    if asked.keep and asked.json and asked.json.is_file():
        before = json.loads(asked.json.read_text())
        held = {row["bar"] for row in before}
        written, missing = raw.merged(before, written), [said for said in missing if said.split(" (")[0] not in held]
    noted(written, head["versions"], missing)
    print(f"{len(written)} rows; not measured: {len(missing)}", *missing, sep="\n  ", flush=True)
    if asked.json:
        raw.write(asked.json, written)


def run(asked, began, worker, about):
    torch = worker.load_torch("cuda")
    bench, card = worker.Bench(torch, "cuda"), Card(torch)
    torch.zeros(1, device="cuda")  # the context comes before the library
    try:
        lt = CublasLt()
    except (OSError, RuntimeError) as error:
        print("no cuBLASLt:", error, flush=True)
        lt = None
    about.write_text(json.dumps(header(torch, lt)))
    known = set()
    if asked.partial.exists():
        known = {(d["family"], d["name"]) for d in map(json.loads, asked.partial.read_text().splitlines())}
    for described in cells():
        here = (described["family"], described["name"])
        if here in known or asked.only not in " ".join(here):
            continue
        if time.monotonic() - began > asked.seconds:
            break
        try:
            done = measure(torch, worker, bench, lt, card, described)
        except Exception as error:
            done = {"failed": {i: f"{type(error).__name__}: {error}"[:300] for i in described["incumbents"]}}
        with asked.partial.open("a") as out:
            out.write(json.dumps({"family": here[0], "name": here[1], "done": done}) + "\n")
        medians = {name: round(statistics.median(each), 2) for name, each in done.get("samples", {}).items()}
        print(round(time.monotonic() - began, 1), *here, medians, done.get("failed") or "", flush=True)
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
