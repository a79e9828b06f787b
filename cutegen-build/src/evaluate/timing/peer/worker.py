"""The peer worker: PyTorch expressions, or a cubin of ours, timed in a process of their own.

Speaks JSON, one object a line, on the pipes that it was started with; `protocol.rs` beside this file says what. Whatever
torch prints goes to stderr. A failure of the expression is an answer ("refused"), and the worker goes on; what this machine
lacks is an answer too ("absent"). CUDA blocks are replays of a captured graph; without CUDA a block is the same launches one
after another, for tests of everything but speed.
"""

import ast
import contextlib
import ctypes
import importlib.util
import json
import os
import pathlib
import signal
import struct
import sys
import threading
import time

DTYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
          "f8e5m2": "float8_e5m2", "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64", "bool": "bool"}
MODES = {"compile": {}, "compile-max-autotune": {"mode": "max-autotune-no-cudagraphs"}}
SAID_MAX = 600


class Absent(Exception):
    """Something that this machine lacks."""


class Refused(Exception):
    """Something that the expression or cubin asks for and does not get."""


def load_torch(device):
    """Imports torch and checks that it has the device."""
    if importlib.util.find_spec("torch") is None:
        raise Absent("no torch")
    try:
        import torch
    except Exception as error:
        raise Absent(f"torch cannot be imported: {error}") from error
    if device == "cuda" and not torch.cuda.is_available():
        raise Absent(f"torch {torch.__version__} has no CUDA device")
    torch.backends.cudnn.benchmark = True  # the fastest of its convolutions, as a user would ask
    return torch


def library_folders():
    """Folders of NVIDIA's libraries that came with torch."""
    found = {p.parent for entry in sys.path if entry for p in pathlib.Path(entry).glob("nvidia/*/lib/libcublasLt.so.*")}
    return sorted(map(str, found))


def versions(torch, device):
    """What a record says of this worker."""
    spec = importlib.util.find_spec
    said = {"python": sys.version.split()[0], "torch": torch.__version__, "device": "cpu", "l2-bytes": 0, "sm-count": 0,
            "smem-max": 0, "library-folders": library_folders()}
    if spec("triton"):
        import triton
        said["triton"] = triton.__version__
    if device == "cuda":
        card = torch.cuda.get_device_properties(0)
        said |= {"device": card.name, "cuda": torch.version.cuda, "l2-bytes": card.L2_cache_size, "sm-count": card.multi_processor_count,
                 "smem-max": getattr(card, "shared_memory_per_block_optin", 0)}
    return said


class Bench:
    """Blocks of launches on one device."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device
        self.stream = torch.cuda.Stream() if device == "cuda" else None

    def on_stream(self):
        return self.torch.cuda.stream(self.stream) if self.stream else contextlib.nullcontext()

    def wait(self):
        """Until this bench's stream is done, and what was put into torch's own."""
        if self.stream:
            self.torch.cuda.synchronize()

    def capture(self, launch, slots, launches):
        """A block of `launches` calls of `launch(slot)` over the slots in turn. What a launch returns is kept until its
        slot comes round again, so that results rotate as inputs do."""
        kept = [None] * slots

        def run():
            for turn in range(launches):
                kept[turn % slots] = launch(turn % slots)

        if not self.stream:
            return Block(self, run, kept, launch)
        with self.on_stream():
            for slot in range(min(3, slots)):
                launch(slot)  # compiles and chooses algorithms outside the capture
            self.wait()
            graph = self.torch.cuda.CUDAGraph()
            with self.torch.cuda.graph(graph, stream=self.stream):
                run()
        return Block(self, graph.replay, kept, launch)


class Block:
    """Launches that are run and timed together. Keeps all that they read and write."""

    def __init__(self, bench, replay, kept, launch):
        self.bench, self.replay, self.kept, self.launch = bench, replay, kept, launch
        if bench.stream:
            self.events = [bench.torch.cuda.Event(enable_timing=True) for _ in range(2)]

    def run(self):
        with self.bench.on_stream():
            self.replay()
        self.bench.wait()

    def ns(self):
        """The time of one block, queued behind an untimed one so that the device does not wait for the host."""
        if not self.bench.stream:
            start = time.perf_counter_ns()
            self.replay()
            return time.perf_counter_ns() - start
        start, end = self.events
        with self.bench.on_stream():
            self.replay()
            start.record()
            self.replay()
            end.record()
        end.synchronize()
        return round(start.elapsed_time(end) * 1e6)


def tensor(torch, device, described, path):
    """A tensor over the memory in `path`, gaps included, strides in elements."""
    if described["dtype"] not in DTYPES:
        raise Refused(f"torch has no {described['dtype']}")
    dtype = getattr(torch, DTYPES[described["dtype"]])
    size = pathlib.Path(path).stat().st_size
    if not size:
        return torch.empty(described["shape"], dtype=dtype, device=device)
    # mapped, not read: an input may have gigabytes
    flat = torch.from_file(str(path), shared=False, size=size, dtype=torch.uint8).to(device, copy=True).view(dtype)
    return flat.as_strided(described["shape"], described["strides"])


def copied(torch, held):
    """The same in memory of its own, gaps included."""
    if not held.numel():
        return torch.empty_like(held)
    span = 1 + sum((n - 1) * stride for n, stride in zip(held.shape, held.stride()))
    return held.as_strided((span,), (1,)).clone().as_strided(held.shape, held.stride())


def rotation(torch, device, tensors, slots):
    """Each slot's inputs by name: the judge's contents in turn, each slot in memory of its own."""
    contents = max((len(t["files"]) for t in tensors), default=0)
    first = [{t["name"]: tensor(torch, device, t, t["files"][c]) for t in tensors} for c in range(contents)] or [{}]
    return [first[s] if s < len(first) else {name: copied(torch, held) for name, held in first[s % len(first)].items()} for s in range(slots)]


def scalar(described):
    """A scalar from its bits."""
    word = struct.pack("<Q", described["bits"])
    return struct.unpack("<f", word[:4])[0] if described["dtype"] == "f32" else struct.unpack("<d", word)[0]


# What an expression may be made of: no statements, no comprehensions, no strings that format, no assignments.
NODES = (ast.Expression, ast.Call, ast.keyword, ast.Attribute, ast.Name, ast.Load, ast.Constant, ast.Tuple, ast.List,
         ast.UnaryOp, ast.BinOp, ast.Compare, ast.BoolOp, ast.IfExp, ast.Subscript, ast.Slice, ast.Lambda, ast.arguments, ast.arg,
         ast.unaryop, ast.operator, ast.cmpop, ast.boolop)
# Names of torch that lead on; another is a function, a dtype, or the name of a method.
FOLDERS = {("torch", "nn"), ("torch", "nn", "functional"), ("torch", "linalg"), ("torch", "special"), ("torch", "fft")}
# Functions of torch that are no math: they read or write files, load or compile code, or change how torch works.
NO_MATH = {"load", "save", "compile", "from_file", "set_default_device", "set_default_dtype", "set_num_threads", "manual_seed", "seed",
           "from_numpy", "frombuffer", "from_dlpack", "to_dlpack", "hub", "jit", "ops", "utils", "classes", "library", "export", "package",
           "cuda", "backends", "serialization", "storage", "multiprocessing", "distributed", "numpy", "data_ptr", "register_hook",
           "map_", "map2_", "apply_", "tolist", "share_memory_", "set_", "untyped_storage", "typename", "os", "sys", "random"}
# With one underscore in front, the few that are products.
PRODUCTS = {"_int_mm", "_scaled_mm", "_weight_int8pack_mm"}


def path(node):
    """The names of a chain of attributes, outermost last; none where it begins with something else."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()


def allowed(expression, names):
    """The tree of an expression over tensors, or why it is none."""
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refused(f"SyntaxError: {getattr(error, 'msg', error)}") from error
    bound = {arg.arg for node in ast.walk(tree) if isinstance(node, ast.Lambda) for arg in ast.walk(node.args) if isinstance(arg, ast.arg)}
    known = {"torch", "float", "len", *names, *bound}
    if "torch" in bound | set(names):
        raise Refused("`torch` names torch and nothing else")
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if not isinstance(node, NODES):
            raise Refused(f"an expression over tensors has no {type(node).__name__}")
        if isinstance(node, ast.Name) and node.id not in known:
            raise Refused(f"`{node.id}` is no tensor, no scalar and not torch")
        if isinstance(node, ast.Name) and node.id == "torch" and id(node) not in inner:
            raise Refused("torch itself is no value")
        if isinstance(node, ast.Attribute):
            attribute(node, id(node) in inner)
    return tree


def attribute(node, leads_on):
    """Refuses an attribute that is not math."""
    name, whole = node.attr, path(node)
    if (name.startswith("_") and (whole[:1] != ("torch",) or name not in PRODUCTS)) or name in NO_MATH:
        raise Refused(f"`{name}` is no math")
    if whole[:1] == ("torch",) and (leads_on or whole in FOLDERS) and (whole not in FOLDERS or not leads_on):
        raise Refused(f"`{'.'.join(whole)}` is no function of torch")


def function(torch, expression, names, scalars, mode):
    """The expression as a function of its tensors; scalars are constants of it."""
    tree = allowed(expression, [*names, *scalars])
    # torch imports modules of its own by the names of the frame that calls it; an expression cannot name this
    scope = {"__builtins__": {"__import__": __import__}, "torch": torch, "float": float, "len": len, **scalars}
    arguments = ast.arguments(posonlyargs=[], args=[ast.arg(name) for name in names], kwonlyargs=[], kw_defaults=[], defaults=[])
    whole = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, tree.body)))
    plain = eval(compile(whole, "<peer>", "eval"), scope)
    if mode == "eager":
        return plain
    return torch.compile(plain, dynamic=False, **MODES[mode])


def raw(torch, held):
    """Elements in row-major order, as bytes in memory of their own where they lie."""
    return held.detach().clone(memory_format=torch.contiguous_format).reshape(-1).view(torch.uint8)


def write(path, flat):
    """Writes what `raw` gave, without another copy of it."""
    here = flat.cpu()
    path.write_bytes((ctypes.c_char * here.numel()).from_address(here.data_ptr()) if here.numel() else b"")


def named(torch, held):
    """The word for its type in a spec, or torch's own."""
    known = {getattr(torch, there): here for here, there in DTYPES.items()}
    return known.get(held.dtype, str(held.dtype))


class Cubin:
    """A cubin of ours in torch's own context, through the driver."""

    def __init__(self, torch, described, tensors, slots):
        self.driver = ctypes.CDLL("libcuda.so.1")
        torch.zeros(1, device="cuda")  # makes the context current
        self.module = ctypes.c_void_p()
        self.image = pathlib.Path(described["file"]).read_bytes()
        self.check("cuModuleLoadData", ctypes.byref(self.module), self.image)
        results = [described["outputs"] for _ in range(slots)]
        self.outputs = [[torch.full((max(o["bytes"], 1),), 255, dtype=torch.uint8, device="cuda") for o in each] for each in results]
        self.workspace = torch.zeros(max(described["workspace-bytes"], 1), dtype=torch.uint8, device="cuda")
        self.zeroed = described["zeroed"]
        self.launches = [[self.launch(step, self.addresses(described, tensors[s], self.outputs[s])) for step in described["steps"]]
                         for s in range(slots)]

    def addresses(self, described, inputs, outputs):
        found = {o["name"]: held.data_ptr() for o, held in zip(described["outputs"], outputs)}
        found |= {name: held.data_ptr() for name, held in inputs.items()}
        return [found[name] for name in described["order"]]

    def launch(self, step, tensors):
        if step["unusual"]:
            raise Refused(f"the peer worker launches nothing with {step['unusual']}")
        handle = ctypes.c_void_p()
        self.check("cuModuleGetFunction", ctypes.byref(handle), self.module, step["entry"].encode())
        self.check("cuFuncSetAttribute", handle, 8, step["smem"])  # MAX_DYNAMIC_SHARED_SIZE_BYTES
        base = self.workspace.data_ptr()
        value = {"tensor": lambda at: tensors[at], "workspace": lambda offset: base + offset, "word": lambda bits: bits}
        words = [ctypes.c_uint64(value[kind](given)) for param in step["params"] for kind, given in param.items()]
        params = (ctypes.c_void_p * len(words))(*(ctypes.addressof(word) for word in words))
        return handle, step["grid"], step["block"], step["smem"], words, params

    def run(self, slot, stream):
        for offset, count in self.zeroed:
            self.check("cuMemsetD8Async", ctypes.c_uint64(self.workspace.data_ptr() + offset), 0, ctypes.c_size_t(count), ctypes.c_void_p(stream))
        for handle, grid, block, smem, _, params in self.launches[slot]:
            self.check("cuLaunchKernel", handle, *grid, *block, smem, ctypes.c_void_p(stream), params, None)
        return self.outputs[slot]

    def check(self, name, *arguments):
        code = getattr(self.driver, name)(*arguments)
        if code:
            raise Refused(f"{name} returned {code}")


class Worker:
    """What the judge's requests do."""

    def start(self, asked):
        self.device = asked["device"]
        self.torch = load_torch(self.device)
        self.bench = Bench(self.torch, self.device)
        return {"ready": versions(self.torch, self.device)}

    def prepare(self, asked):
        torch, began = self.torch, time.monotonic()
        self.block_of = None  # frees the results and slots of the block before
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = asked["tf32"]
        with torch.no_grad():
            slots = self.filled(asked)
            launch, told = self.cubin(asked, slots) if "cubin" in asked["what"] else self.expression(asked, slots)
            with self.bench.on_stream():
                once = launch(0)
            self.bench.wait()
            alone = [raw(torch, held) for held in once]
            self.bench.wait()
            block = self.bench.capture(launch, len(slots), asked["launches"])
            block.run()
        kept = [raw(torch, held) for held in block.kept[0]]
        same = len(kept) == len(alone) and all(map(torch.equal, kept, alone))
        self.bench.wait()
        outputs = []
        for number, (held, data) in enumerate(zip(once, alone)):
            path = pathlib.Path(asked["folder"]) / f"output_{number}"
            write(path, data)
            outputs.append({"file": str(path), **(told[number] if told else {"dtype": named(torch, held), "shape": list(held.shape)})})
        self.block_of = block
        took = round((time.monotonic() - began) * 1e3)
        return {"prepared": {"outputs": outputs, "launches": asked["launches"], "same-when-captured": same, "took-ms": took}}

    def filled(self, asked):
        """Slots with these inputs. Those of the block before serve again where they are the same files' and nothing was written to them."""
        key = [(t["files"], t["shape"], t["strides"]) for t in asked["tensors"]], asked["slots"]
        known, self.slots = getattr(self, "slots", None), None
        if known and known[0] == key and all(held._version == version for held, version in known[2]):
            slots = known[1]
        else:
            known = None  # first, or both are there at once
            slots = rotation(self.torch, self.device, asked["tensors"], asked["slots"])
            self.bench.wait()  # they were filled on another stream
        if "expression" in asked["what"]:  # torch does not know what a cubin writes
            self.slots = key, slots, [(held, held._version) for slot in slots for held in slot.values()]
        return slots

    def expression(self, asked, slots):
        what = asked["what"]["expression"]
        scalars = {s["name"]: scalar(s) for s in asked["scalars"]}
        names = [t["name"] for t in asked["tensors"]]
        called = function(self.torch, what["text"], names, scalars, what["mode"])

        def launch(slot):
            given = called(*(slots[slot][name] for name in names))
            given = given if isinstance(given, (tuple, list)) else (given,)
            if not all(isinstance(held, self.torch.Tensor) for held in given):
                raise Refused("the expression gives something else than tensors")
            return given

        return launch, None

    def cubin(self, asked, slots):
        if self.device != "cuda":
            raise Refused("a cubin needs a CUDA device")
        described = asked["what"]["cubin"]
        loaded = Cubin(self.torch, described, slots, len(slots))
        stream = self.bench.stream.cuda_stream
        self.bench.wait()
        return lambda slot: loaded.run(slot, stream), [{"dtype": o["dtype"], "shape": o["shape"]} for o in described["outputs"]]

    def block(self, _):
        if getattr(self, "block_of", None) is None:
            raise Refused("nothing is prepared")
        return {"block": {"ns": self.block_of.ns()}}

    def answer(self, line):
        (name, asked), = json.loads(line).items()
        try:
            return {"start": self.start, "prepare": self.prepare, "block": self.block}[name](asked)
        except Absent as absent:
            return {"absent": str(absent)}
        except Refused as refused:
            return {"refused": str(refused)[:SAID_MAX]}
        except Exception as error:
            return {"refused": f"{type(error).__name__}: {error}"[:SAID_MAX]}


def import_ahead():
    """Torch and its compiler take seconds to import, and need no device: the judge may do something else meanwhile."""
    if importlib.util.find_spec("torch") is not None:
        with contextlib.suppress(Exception):  # what is wrong with it is told when it is asked for
            import torch._inductor.compile_fx  # noqa: F401


def end_with(parent):
    """Ends this process and what it started once its starter is gone, which may be killed while an expression runs or compiles for
    minutes: it would go on using the device, and slow down whatever is timed there next."""
    while os.getppid() == parent:
        time.sleep(0.2)
    os.killpg(0, signal.SIGKILL)


def main():
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import_ahead()
    worker = Worker()
    for line in sys.stdin:
        print(json.dumps(worker.answer(line)), file=replies, flush=True)


if __name__ == "__main__":
    main()
