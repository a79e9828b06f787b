"""Times PyTorch's side of the window kernels of results/runs/refine/ in both layouts that PyTorch has: dense and channels last.

    python3 tests/bench/layouts.py OUT.json [--rounds 20]       # on a GPU node with PyTorch

A peer of a spec gets its tensors dense and row-major. Where PyTorch is faster with channels last, a peer so given would
understate it: this says by how much. Inputs are in the layout beforehand, so that no conversion is timed. Each way is a captured
CUDA graph of one call, checked against the first way, and the graphs are replayed in turn. Inputs exceed L2 by far.
"""

import argparse
import gc
import json
import statistics

import torch
import torch.nn.functional as F

# name: x's shape and w's, the expression, the layout by its name
KERNELS = {
    "kb46_avg_pool3d": ((16, 32, 128, 128, 256), None, lambda x, w: F.avg_pool3d(x, 3, 2, 1), torch.channels_last_3d),
    "kb42_max_pool2d": ((32, 64, 512, 512), None, lambda x, w: F.max_pool2d(x, 4, 1, 1, 1), torch.channels_last),
    "kb82_depthwise_conv2d": ((16, 64, 512, 512), (64, 1, 3, 3), lambda x, w: F.conv2d(x, w, groups=64), torch.channels_last),
}
MODES = {"eager": lambda call: call, "compile": lambda call: torch.compile(call, dynamic=False)}


def captured(call):
    """A graph of one call, and what it writes."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):  # compiles, and chooses algorithms
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = call()
    return graph, out


def micros(graph):
    """Microseconds of one replay."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000


def timed(name, rounds):
    """Samples of every way by layout and mode, or why a way has none."""
    shape, filter_shape, call, layout = KERNELS[name]
    gen = torch.Generator("cuda").manual_seed(7)
    dense = torch.randn(shape, generator=gen, device="cuda")
    w = None if filter_shape is None else torch.randn(filter_shape, generator=gen, device="cuda")
    ways, failed, expected = {}, {}, None
    for of, x in (("dense", dense), ("channels-last", dense.to(memory_format=layout))):
        for mode, made in MODES.items():
            try:
                graph, out = captured(lambda made=made(call), x=x: made(x, w))
                graph.replay()
                torch.cuda.synchronize()
                part = out[:1].contiguous().clone()
            except (RuntimeError, torch.OutOfMemoryError) as error:
                failed[f"{of} {mode}"] = str(error).splitlines()[0][:200]
                continue
            expected = part if expected is None else expected
            torch.testing.assert_close(part, expected, rtol=1e-3, atol=1e-3)
            ways[f"{of} {mode}"] = graph
    samples = {way: [] for way in ways}
    for _ in range(rounds):
        for way, graph in ways.items():
            samples[way].append(round(micros(graph), 2))
    return samples, failed


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("out")
    arguments.add_argument("--rounds", type=int, default=20)
    asked = arguments.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    result = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "kernels": {}}
    for name in KERNELS:
        samples, failed = timed(name, asked.rounds)
        result["kernels"][name] = {"micros": samples, "failed": failed}
        best = {of: min(statistics.median(s) for way, s in samples.items() if way.startswith(of)) for of in ("dense", "channels-last")
                if any(way.startswith(of) for way in samples)}
        print(name, {way: statistics.median(s) for way, s in samples.items()}, "best", best, failed)
        with open(asked.out, "w") as file:
            json.dump(result, file)
        gc.collect()
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
